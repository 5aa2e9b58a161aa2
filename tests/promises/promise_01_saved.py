#!/usr/bin/python3
"""Promise 1: an event shown as saved survives SIGKILL. `ikigai -p --json` is killed in tool turns,
at random moments and right behind a line it printed, in new databases, in new sessions and again
and again in one session, with the file open elsewhere or not; and under strace at the very system
calls that make a database and that carry its log over into it. Whatever was printed as a message is
in the database then, in that order and unchanged, nothing that was there before is gone, the file
is sound, and the session goes on: no request of it is refused. Only kills that came before the end
of the run count. Names of formats as arguments restrict it to those."""
import concurrent.futures
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.dirname(os.path.abspath(__file__))]
import hostile
from fake_llm import FakeLLM
from model_runs import FORMATS, GO_ON, Stage, TurnScript, lines_of, messages, run_killed
from saved import (LOG, NAME, Saved, bystander, copy_database, missing, remove_database,
                   told_as_saved, went_unsaved)

LIMIT = 240  # seconds that nothing here needs, not even on a busy machine
LATE = 20  # kills per one that must be in time, at most
WAYS = ("new databases", "new sessions", "one session", "one session, the file open elsewhere")
OFFLINE = "offline/offline"


class Ledger:
    """What a home's database is known to hold, and what is wrong with it."""

    def __init__(self, stage):
        self.stage, self.in_place = stage, False
        self.kills = self.in_time = self.told = self.lost = self.corrupt = self.stuck = 0
        self.wrong = []
        self.forget()

    def forget(self):
        """The database begins empty."""
        self.sessions = {}

    def look(self, lines, when):
        """After a run that printed these lines."""
        now = Saved(self.stage.home, self.in_place)
        told = told_as_saved(lines)
        of = lines[0]["id"] if lines else None
        lost = 0
        for session in self.sessions.keys() | ({of} if told else set()):
            lost += missing(told if session == of else [], self.sessions.get(session, []),
                            now.sessions.get(session, []))
        self.told += len(told)
        self.lost += lost
        self.corrupt += bool(now.wrong)
        self.wrong += [f"{when}: {text}" for text in now.wrong]
        if lost:
            self.wrong.append(f"{when}: {lost} messages are lost of {told}")
        self.sessions = now.sessions

    def killed(self, lines, in_time, when):
        self.kills += 1
        self.in_time += in_time
        self.look(lines, when)

    def go_on(self, session, model, when):
        """The session goes on to the end of a turn; where there is none, a new one does."""
        known = session in self.sessions
        argv = self.stage.headless(model, *(["-r", session] if known else []), prompt=GO_ON)
        run = self.stage.run(argv, LIMIT)
        lines = lines_of(run.out)
        if run.status != 0 or lines[-1] != {"type": "done", "reason": "end_turn"} \
                or known and lines[0]["id"] != session or went_unsaved(lines):
            self.stuck += 1
            self.wrong.append(f"{when}: it does not go on: {run.out[-2000:]} {run.err}")
        self.look(lines, f"{when} and on")


# ---- at moments and lines

class Chain:
    """Kills in one home, one after the other, with one server of one format."""

    def __init__(self, name, number, kills):
        self.name, self.way = name, WAYS[number % len(WAYS)]
        self.model, self.kills = FORMATS[self.name].model, kills
        self.random = random.Random(f"{name} {number}")

    def run(self):
        with FakeLLM(TurnScript(), FORMATS[self.name].dialect) as llm, Stage() as stage, \
                contextlib.ExitStack() as stack:
            stage.write("project/a.txt", "x\ny\n")
            stage.serve(llm)
            ledger = Ledger(stage)
            self.measure(stage, ledger)
            ledger.in_place = self.way.endswith("open elsewhere")
            if ledger.in_place:
                stack.enter_context(bystander(stage.home))
            for number in range(LATE * self.kills):
                if ledger.in_time == self.kills:
                    break
                self.kill(stage, ledger, number)
            # A connection that breaks off with the program is no fault.
            ledger.wrong += [p for p in llm.problems if not p.startswith("connection ")]
        ledger.stage = None  # it need not travel back
        return ledger

    def measure(self, stage, ledger):
        """How long a turn takes that is not killed, how many lines it has, and in which session."""
        begin = time.monotonic()
        lines, _ = run_killed(stage, stage.headless(self.model, prompt="Do it. (0)"))
        self.seconds, self.lines = time.monotonic() - begin, len(lines)
        self.session = lines[0]["id"]
        ledger.look(lines, "undisturbed")
        if len(messages(lines, "tool_result")) < 5:
            ledger.wrong.append(f"the turn is not what it should be: {lines}")

    def kill(self, stage, ledger, number):
        resume = ["-r", self.session] if self.way.startswith("one session") else []
        if self.way == "new databases":
            remove_database(stage.home)
            ledger.forget()
        if number % 2:
            how = {"after": self.random.uniform(0, self.seconds)}
        else:
            how = {"count": self.random.randint(0, self.lines)}
        argv = stage.headless(self.model, *resume, prompt=f"Do it. ({number + 1})")
        lines, in_time = run_killed(stage, argv, **how)
        if not in_time and "after" in how:
            self.seconds = how["after"]  # the machine is faster now than when it was measured
        when = f"{self.name}, {self.way}, {how}"
        ledger.killed(lines, in_time, when)
        ledger.go_on(lines[0]["id"] if lines else self.session, self.model, when)


def run_chain(name, number, kills):
    return Chain(name, number, kills).run()


# ---- at system calls

WRITES = ("openat", "pwrite64", "write", "ftruncate", "fdatasync", "fsync", "unlink")
CALL = re.compile(r"(\w+)\(")


def trace(stage, argv, inject=None):
    """(lines, whether it was killed, lines of strace about the calls that write)"""
    log = stage.path("trace")
    command = ["strace", "-y", "-s", "0", "-o", log, "-e", "trace=" + ",".join(WRITES)]
    command += ["-e", f"inject={inject}:signal=KILL"] if inject else []
    child = stage.spawn(command + argv, stderr=subprocess.DEVNULL)
    out, _ = child.communicate(timeout=LIMIT)
    with open(log, errors="replace") as f:
        return lines_of(out), child.returncode == -signal.SIGKILL, f.read().splitlines()


def database_calls(lines, pattern):
    """["pwrite64:when=7"]: the calls that change a file of the database whose line has this."""
    seen, found = {}, []
    for line in lines:
        call = CALL.match(line)
        if call:
            name = call[1]
            seen[name] = seen.get(name, 0) + 1
            if re.search(pattern, line) and (name != "openat" or "O_CREAT" in line):
                found.append(f"{name}:when={seen[name]}")
    return found


def sample(found, most, seed):
    """At most so many of them, from all parts, and the first and the last."""
    if len(found) <= most:
        return found
    step = len(found) / most
    chance = random.Random(seed)
    chosen = [found[int((n + chance.random()) * step)] for n in range(1, most - 1)]
    return [found[0], *chosen, found[-1]]


def kill_at_calls(ledger, argv, pattern, most, prepare):
    """Kills at calls of the database's that match, each time in what prepare() makes; returns how
    many there were to choose from."""
    stage = ledger.stage
    prepare()
    _, _, seen = trace(stage, argv)
    found = database_calls(seen, pattern)
    for inject in sample(found, most, 1):
        prepare()
        ledger.look([], "prepared")
        lines, in_time, _ = trace(stage, argv, inject)
        ledger.killed(lines, in_time, inject)
        session = lines[0]["id"] if lines else next(iter(ledger.sessions), None)
        ledger.go_on(session, OFFLINE, inject)
    return len(found)


def kill_making(quick):
    """A database is being made, gets its first session, and is closed."""
    with Stage() as stage:
        ledger = Ledger(stage)
        argv = stage.headless(OFFLINE, prompt="run echo hi")
        stage.run(argv, LIMIT)  # tools are known from now on

        def prepare():
            remove_database(stage.home)
            ledger.forget()
        ledger.calls = kill_at_calls(ledger, argv, re.escape(NAME), 12 if quick else 1000, prepare)
        ledger.stage = None
        return ledger


def fill_log(stage, frames):
    """Turns until the log of the database has so many pages."""
    command = "run head -c 20000 /dev/urandom | base64 -w 0"
    with bystander(stage.home):
        while os.path.getsize(os.path.join(stage.home, LOG)) < frames * (4096 + 24):
            stage.run(stage.headless(OFFLINE, prompt=command), LIMIT)
        full = stage.path("full")
        copy_database(stage.home, full)
    return full


def kill_checkpoint(quick):
    """The log is so long that this turn carries it over into the file, in the middle of the turn
    and at the end."""
    with Stage() as stage:
        ledger = Ledger(stage)
        first = lines_of(stage.run(stage.headless(OFFLINE, prompt="run echo hi"), LIMIT).out)
        full = fill_log(stage, 850)  # at 1,000 it is carried over
        argv = stage.headless(OFFLINE, "-r", first[0]["id"],
                              prompt="run head -c 500000 /dev/urandom | base64 -w 0")

        def prepare():
            copy_database(full, stage.home)
            ledger.forget()
        # Only the file itself, not its log.
        ledger.calls = kill_at_calls(ledger, argv, re.escape(NAME) + r"[\">]", 12 if quick else 200,
                                     prepare)
        if ledger.calls < 200:
            ledger.wrong.append(f"only {ledger.calls} calls: that was no checkpoint")
        ledger.stage = None
        return ledger


def main():
    quick = "--quick" in sys.argv[1:]
    names = [name for name in FORMATS if name in sys.argv[1:]] or list(FORMATS)
    chains, kills = (5, 5) if quick else (40, 25)  # of each format
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        # Of a process that keeps its memory to itself only root is told what it does.
        begun = [pool.submit(work, quick) for work in (kill_making, kill_checkpoint)
                 if shutil.which("strace") and os.geteuid() == 0]
        jobs = [(name, number, kills) for number in range(chains) for name in names]
        ledgers = list(pool.map(run_chain, *zip(*jobs)))
        traced = [each.result() for each in begun]

    def total(name, of=ledgers + traced):
        return sum(getattr(ledger, name) for ledger in of)
    wrong = [line for ledger in ledgers + traced for line in ledger.wrong]
    if total("in_time", ledgers) < len(jobs) * kills or \
            total("in_time", traced) < total("kills", traced) / 2:
        wrong.append("too few runs were killed in time: nothing is proved")
    for line in wrong[:20]:
        print(line[:4000])
    at_calls = f"{total('kills', traced)} at system calls" if traced else "no strace by root"
    hostile.conclude(1, not wrong, (
        f"{chains * kills:,} kills in each of {len(names)} formats (and {at_calls}), "
        f"{total('told'):,} messages shown as saved: "
        f"{total('lost')} lost, {total('corrupt')} corrupt, {total('stuck')} that did not go on"))


if __name__ == "__main__":
    main()
