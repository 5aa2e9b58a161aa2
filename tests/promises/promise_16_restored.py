#!/usr/bin/python3
"""Promise 16: the terminal is always restored.

Every signal that a program can see, and every other end, in every state of the interactive program,
on terminals with both keyboard protocols: afterwards the settings are those it was started with and
every mode is off. A signal that does not end the program leaves it running, and it ends later. A program that is
stopped puts the terminal back, too, and takes it again.

ROUNDS=N repeats the states that are caught at a random moment.
"""
import concurrent.futures
import os
import random
import resource
import select
import signal
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import hostile
from fake_llm import Answer, Wire
from job_shell import Shell
from repl_support import PROMPT, ReplTest
from support import IKIGAI, clean_env, on_this_machine
from terminal_modes import OFF, switched_on
from terminal_support import MODERN, PATIENCE, SIMPLE

WORKERS = 4
SHOWN = 5  # problems
LATE_S = 1  # for the end of a program whose terminal is gone, on an idle machine
CALM = {signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT}
STOPS = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGSTOP}
# What ikigai ignores, and what is nothing to anyone.
HARMLESS = {signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH,
            signal.SIGCONT}
KEYS = {signal.SIGINT, signal.SIGQUIT}
SIGNALS = [n for n in signal.valid_signals() if n != signal.SIGKILL]
QUICK = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT,
         signal.SIGUSR1, signal.SIGRTMIN, signal.SIGTSTP, signal.SIGSTOP, signal.SIGWINCH]
TERMINALS = {"kitty": MODERN, "modifyOtherKeys": SIMPLE}
STATES = ("starting", "idle", "typing", "streaming", "tool", "pager", "editor")
# A sanitizer would make an ordinary exit of a crash.
SANITIZER = os.environ.get("ASAN_OPTIONS", "") + (
    ":handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0")
EDITOR = """#!/bin/sh
trap 'exit 1' HUP TERM
stty raw -echo
printf 'in the editor'
while :; do sleep 0.05; done
"""


class Case(ReplTest):
    """One end in one state on one terminal."""

    def __init__(self, state, way, keyboard):
        super().__init__("case")
        self.state, self.way, self.keyboard = state, way, keyboard
        self.rng = random.Random(f"{state}{way}{keyboard}")

    # ---- getting there

    def open(self):
        """The program as the job of a shell, on a terminal whose settings are known."""
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        hostile.write_program(self.path("editor"), EDITOR)
        if self.state == "streaming":
            self.serve([Answer("streamed words " * 2000, fragments=2000,
                               wire=Wire(delay_event=0.005))])
        self.shell = Shell(tempfile.mkdtemp(dir=self.dir), [IKIGAI])
        self.addCleanup(self.shell.close)
        gate = self.path("gate")
        wait = 'while [ ! -e "$0" ]; do sleep 0.002; done; exec "$@"'
        t = self.terminal(["sh", "-c", wait, gate, *self.shell.argv], cwd=self.project,
                          answers=TERMINALS[self.keyboard],
                          env=clean_env(IKIGAI_HOME=self.home, TERM="xterm-256color",
                                        EDITOR=self.path("editor"), ASAN_OPTIONS=SANITIZER))
        t.check = False  # what a signal cuts off may be anything
        t.before = t.settings()
        t.before[6][termios.VKILL] = b"\x18"
        termios.tcsetattr(t.slave, termios.TCSANOW, t.before)
        t.before = t.settings()
        open(gate, "w").close()
        t.job = self.shell.wait_started()
        return t

    def get_ready(self, t):
        t.wait_for(PROMPT)
        t.wait_gone("looking for tools")
        keyboard = "kitty" if self.keyboard == "kitty" else "keys"
        t.wait_until(lambda: {"2004", "1004", keyboard} <= switched_on(t.raw), "modes")

    def starting(self, t):
        time.sleep(self.rng.random() * 0.025)

    def idle(self, t):
        self.get_ready(t)

    def typing(self, t):
        self.get_ready(t)
        t.send("/mo")
        t.wait_for("/model")

    def streaming(self, t):
        self.get_ready(t)
        t.send("go\r")
        t.wait_for("streamed words")
        time.sleep(self.rng.random() * 0.1)

    def tool(self, t):
        self.get_ready(t)
        t.send("run echo begun; sleep 60\r")
        t.wait_for("1 tool running")

    def pager(self, t):
        self.get_ready(t)
        t.send("run echo said\r")
        t.wait_for("said\n")
        t.send("\x0f")
        t.wait_until(lambda: "1049" in switched_on(t.raw), "pager")
        t.wait_for("transcript")

    def editor(self, t):
        self.get_ready(t)
        t.send("\x07")
        t.wait_for("in the editor")

    # ---- and what happens then

    def case(self):
        t = self.open()
        getattr(self, self.state)(t)
        if self.way == "suspended":
            self.end_suspended(t)
        elif self.way == "closed":
            self.close_window(t)
        elif self.way == "keys":
            self.end_by_keys(t)
        elif self.way in STOPS:
            self.stop_and_go_on(t)
        else:
            self.kill(t)

    def is_harmless(self):
        """While an editor runs, keys that interrupt are its own business."""
        return self.way in HARMLESS or (self.state == "editor" and self.way in KEYS)

    def kill(self, t):
        os.kill(t.job, self.way)
        if self.is_harmless():
            self.end_later(t)
            return
        wanted = {128 + self.way} if self.way in CALM else {-self.way}
        if self.state == "starting":
            wanted.add(-self.way)  # nothing is changed yet
        self.assertIn(self.shell.wait_ended(), wanted)
        self.assert_restored(t)

    def end_later(self, t):
        if self.state == "starting":
            self.get_ready(t)
        os.kill(t.job, signal.SIGTERM)
        self.assertEqual(self.shell.wait_ended(), 128 + signal.SIGTERM)
        self.assert_restored(t)

    def stop_and_go_on(self, t):
        """A program that is stopped by a signal it can catch has put the terminal back."""
        if self.state == "starting":
            self.get_ready(t)
        before = switched_on(t.raw)
        os.kill(t.job, self.way)
        self.shell.wait_stopped()
        if self.way == signal.SIGTSTP and self.state != "editor":
            self.assert_restored(t)
        self.shell.order("fg")
        self.shell.events.wait("continued")
        t.wait_until(lambda: switched_on(t.raw) >= before - {"colour", "hidden", "2026"}, "modes again")
        self.end_later(t)

    def end_suspended(self, t):
        """As `kill %1` does it: the shell keeps the terminal."""
        number = self.rng.choice(sorted(CALM | {signal.SIGSEGV, signal.SIGUSR2}))
        t.send("\x1a")
        self.shell.wait_stopped()
        self.assert_restored(t)
        os.kill(t.job, number)
        self.shell.order("bg")
        self.assertEqual(self.shell.wait_ended(), 128 + number if number in CALM else -number)
        self.assert_restored(t)

    def end_by_keys(self, t):
        t.send({"idle": "\x04", "typing": "\x03\x04", "streaming": "\x03\x03\x03", "pager": "q\x04",
                "tool": "/exit\r"}[self.state])
        self.assertEqual(self.shell.wait_ended(), 0)
        self.assert_restored(t)

    def close_window(self, t):
        """There is nothing left to restore, but it does not live on."""
        end = os.pidfd_open(t.job)
        self.addCleanup(os.close, end)
        t.hang_up()
        begin = time.monotonic()
        self.assertTrue(select.select([end], [], [], PATIENCE)[0], "it lives on")
        self.assertLess(time.monotonic() - begin, on_this_machine(LATE_S))

    def assert_restored(self, t):
        """What was written last may still be on its way."""
        t.wait_until(lambda: switched_on(t.raw) == OFF, "end of all modes")
        self.assertEqual(t.settings(), t.before)


def run_case(case):
    """What was wrong; None: nothing."""
    result = unittest.TestResult()
    Case(*case)(result)
    wrong = result.failures + result.errors
    return wrong[0][1] if wrong else None


def choose(quick):
    rounds = int(os.environ.get("ROUNDS", 2 if quick else 20))
    ends = [(state, number) for state in STATES for number in (QUICK if quick else SIGNALS)]
    ends += [(state, "keys") for state in STATES[1:-1]]
    ends += [(state, "suspended") for state in ("idle", "typing", "streaming", "tool")]
    ends += [(state, "closed") for state in STATES[1:]]
    again = [end for end in ends if end[0] in ("starting", "streaming")]
    ends += random.Random(1).choices(again, k=rounds * 10)
    kinds = list(TERMINALS)
    if quick:  # each end on one of them
        return [(*end, kinds[i % 2]) for i, end in enumerate(ends)]
    return [(*end, kind) for end in ends for kind in kinds]


def main():
    cases = choose("--quick" in sys.argv[1:])
    with concurrent.futures.ProcessPoolExecutor(WORKERS) as executor:
        wrong = [(case, problem) for case, problem in zip(cases, executor.map(run_case, cases))
                 if problem]
    for (state, way, keyboard), problem in wrong[:SHOWN]:
        print(f"{state}, {way}, {keyboard}:\n{problem}")
    ways = {way for _, way, _ in cases}
    hostile.conclude(16, not wrong, (
        f"{len(cases):,} ends: {len([w for w in ways if isinstance(w, int)])} signals, keys, a closed "
        f"window, ended while suspended, in {len(STATES)} states on {len(TERMINALS)} kinds of "
        f"terminal: {len(wrong)} with a setting or mode left behind"))


if __name__ == "__main__":
    main()
