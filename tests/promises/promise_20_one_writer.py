#!/usr/bin/python3
"""Promise 20: two instances never corrupt one session. Eight want to go on with one session at
once, and one does; eight have sessions of their own in one file, also while it is being made;
copies go on while the session itself is in use; a holder that is dead is no holder, one that may
live is."""
import contextlib
import os
import re
import socket
import sqlite3
import sys
import threading
from dataclasses import dataclass

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.dirname(os.path.abspath(__file__))]
import hostile
from fake_llm import FakeLLM
from model_runs import CALLS, FORMATS, GO_ON, Stage, TurnScript, lines_of, messages
from saved import NAME, Saved, missing, plain, remove_database, went_unsaved

LIMIT = 60  # seconds that nothing here needs
WRITERS = 8
HOST = socket.gethostname()
IN_USE = re.compile(rb"ikigai: Session ([0-9a-f]{16}) is in use by pid (\d+) on (\S+)\. ")


class Gate:
    """Answers with the turn, but lets nothing through while it is closed."""

    def __init__(self):
        self.turns, self.open = TurnScript(), threading.Event()
        self.open.set()

    def __call__(self, request):
        answer = self.turns(request)
        self.open.wait(LIMIT)
        return answer


@dataclass
class Ended:
    pid: int
    status: int
    lines: list
    err: bytes


def is_whole(ended):
    """A turn to its end, in which nothing went unsaved."""
    return ended.status == 0 and ended.lines[-1] == {"type": "done", "reason": "end_turn"} \
        and not any(line["type"] in ("notice", "error") for line in ended.lines) \
        and not went_unsaved(ended.lines)


def read_start(pid):
    with open(f"/proc/{pid}/stat") as f:
        return int(f.read().rpartition(")")[2].split()[19])


class Round:
    """Everything once, in one home with one format."""

    def __init__(self, number, stage, llm, name):
        self.stage, self.llm, self.gate = stage, llm, llm.script
        self.model = FORMATS[name].model
        self.what = f"round {number}, {name}"
        self.prompts = 0
        self.prefix = number
        self.runs = self.refused = self.lost = self.corrupt = 0
        self.wrong = []

    # ---- programs

    def spawn(self, *args, prompt=None, model=None):
        self.prompts += 1
        self.runs += 1
        prompt = prompt or f"Do it. ({self.prefix}x{self.prompts})"
        return self.stage.spawn(self.stage.headless(model or self.model, *args, prompt=prompt))

    def hold(self, session):
        """An ikigai that goes on with the session and waits for its answer behind the gate."""
        self.gate.open.clear()
        before = len(self.llm.requests)
        child = self.spawn("-r", session)
        self.llm.wait_for_requests(before + 1, LIMIT)
        return child

    def end(self, child):
        out, err = child.communicate(timeout=LIMIT)
        return Ended(child.pid, child.returncode, lines_of(out), err)

    def release(self, child):
        self.gate.open.set()
        return self.end(child)

    def demand(self, condition, text):
        if not condition:
            self.wrong.append(f"{self.what}: {text}")

    def demand_refused(self, ended, session, pid, host=HOST):
        self.refused += 1
        said = IN_USE.match(ended.err)
        self.demand(ended.status == 1 and not ended.lines and said
                    and said.groups() == (session.encode(), b"%d" % pid, host.encode()),
                    f"should be refused for pid {pid} on {host}: {ended}")

    def look(self, expected):
        """expected: of each session, what was there, and the messages it was told of since."""
        now = Saved(self.stage.home)
        self.corrupt += bool(now.wrong)
        self.wrong += [f"{self.what}: {text}" for text in now.wrong]
        for session, (before, lines) in expected.items():
            told = [plain(line) for line in lines]
            stored = now.sessions.get(session, [])
            lost = missing(told, before, stored)
            self.lost += lost
            self.demand(not lost, f"{lost} messages of {session} are lost")
            self.demand(len(stored) == len(before) + len(told), f"{session} has too much: {stored}")
        self.demand(not now.holders, f"still held: {now.holders}")
        return now

    # ---- what is tried

    def run(self):
        for work in (self.making, self.own_sessions, self.one_session, self.copies, self.stale,
                     self.others):
            work()
        return self

    def run_all(self, **how):
        """Eight sessions at once."""
        ended = [self.end(child) for child in [self.spawn(**how) for _ in range(WRITERS)]]
        for each in ended:
            self.demand(is_whole(each), f"a turn is not whole: {each}")
        now = self.look({e.lines[0]["id"]: ([], messages(e.lines)) for e in ended if e.lines})
        return ended, now

    def making(self):
        """Eight short sessions in a file that is not there yet."""
        for _ in range(3):
            remove_database(self.stage.home)
            self.run_all(prompt="hello", model="offline/offline")

    def own_sessions(self):
        """Eight turns with tools in eight sessions of one file."""
        ended, now = self.run_all()
        for each in ended:
            self.demand(len(messages(each.lines, "tool_result")) == sum(CALLS), f"{each} is short")
        self.session = ended[0].lines[0]["id"]
        self.log = now.sessions[self.session]

    def one_session(self):
        """Eight want one session: one has it, and until it is done no other gets it."""
        self.gate.open.clear()
        children = [self.spawn("-r", self.session) for _ in range(WRITERS)]
        hostile.wait_until(lambda: sum(c.poll() is None for c in children) == 1, LIMIT)
        living = [child for child in children if child.poll() is None]
        self.demand(len(living) == 1, f"{len(living)} go on with one session")
        for child in children:
            if child not in living:
                self.demand_refused(self.end(child), self.session, living[0].pid if living else 0)
        for child in living:
            self.extend(self.release(child))

    def extend(self, ended):
        """That turn is part of the session now, and all of it."""
        self.demand(is_whole(ended), f"the turn is not whole: {ended}")
        self.log = self.look({self.session: (self.log, messages(ended.lines))}
                             ).sessions[self.session]

    def copies(self):
        """While the session is in use copies of it go on, and it cannot be deleted."""
        holder = self.hold(self.session)
        before = Saved(self.stage.home).sessions[self.session]
        self.demand_refused(self.end(self.spawn("-c")), self.session, holder.pid)
        asked = len(self.llm.requests)
        children = [self.spawn("-r", self.session, "--fork", prompt=GO_ON) for _ in range(3)]
        delete = self.stage.ikigai("session", "delete", self.session, "--yes", status=None)
        self.demand(delete.status == 1, f"a session in use was deleted: {delete.out}{delete.err}")
        self.llm.wait_for_requests(asked + len(children), LIMIT)
        ended = self.release(holder)
        copied = {e.lines[0]["id"]: e for e in map(self.end, children) if e.lines}
        self.demand(len(copied) == 3 and self.session not in copied, f"the copies are {copied}")
        for each in copied.values():
            self.demand(is_whole(each), f"a copy does not go on: {each}")
        self.extend(ended)
        self.look({i: (before, messages(e.lines)) for i, e in copied.items()})

    def stale(self):
        """A holder that was killed holds nothing, reaped or not."""
        for reap in (True, False):
            holder = self.hold(self.session)
            told = lines_of(os.read(holder.stdout.fileno(), 1 << 20))
            holder.kill()
            os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
            if reap:
                holder.wait()
            self.gate.open.set()
            self.log += messages(told)
            self.extend(self.end(self.spawn("-r", self.session, prompt=GO_ON)))
            holder.communicate()

    def others(self):
        """Holders as the file may say them: of this machine and another, living, dead, and with a
        pid that another process has now."""
        me, start = os.getpid(), read_start(os.getpid())
        dead = self.stage.spawn(["true"])
        dead.communicate()
        holders = [(me, start, HOST, True), (1, 1, "elsewhere", True),
                   (dead.pid, start, "elsewhere", True), (me, start - 1, HOST, False),
                   (dead.pid, 0, HOST, False), (dead.pid, start, HOST, False)]
        for pid, started, host, may_live in holders:
            self.write_holder(pid, started, host)
            ended = self.end(self.spawn("-r", self.session, prompt=GO_ON))
            if may_live:
                self.demand_refused(ended, self.session, pid, host)
            else:
                self.extend(ended)

    def write_holder(self, pid, started, host):
        path = os.path.join(self.stage.home, NAME)
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("REPLACE INTO holders(session_id, pid, started, host) VALUES(?, ?, ?, ?)",
                       (self.session, pid, started, host))


def run_rounds(name, numbers):
    """All rounds of a format, in one home and with one server."""
    rounds = []
    with FakeLLM(Gate(), FORMATS[name].dialect) as llm, Stage() as stage:
        stage.write("project/a.txt", "x\ny\n")
        stage.serve(llm)
        for number in numbers:
            rounds.append(Round(number, stage, llm, name).run())
        # A connection that breaks off with the program is no fault.
        rounds[-1].wrong += [p for p in llm.problems if not p.startswith("connection ")]
    return rounds


def main():
    count = 10 if "--quick" in sys.argv[1:] else 200
    rounds = []
    for n, name in enumerate(FORMATS):
        rounds += run_rounds(name, range(n, count, len(FORMATS)))

    def total(name):
        return sum(getattr(each, name) for each in rounds)
    wrong = [line for each in rounds for line in each.wrong]
    for line in wrong[:20]:
        print(line[:4000])
    hostile.conclude(20, not wrong and total("refused"), (
        f"{len(rounds)} rounds of {WRITERS} writers at one session and in one file, with copies, "
        f"dead holders and those of other machines: {total('runs')} runs, {total('refused')} of "
        f"them refused, 1 writer, {total('lost')} lost, {total('corrupt')} corrupt"))


if __name__ == "__main__":
    main()
