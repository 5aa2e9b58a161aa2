#!/usr/bin/python3
"""Promise 7: no process outlives its call, and nothing survives the agent. A tool that makes a
tree of eight processes, each hiding in another way, is ended in every way there is; afterwards
/proc is searched for what carries the scratch folder's name. So is a tool with sixty processes that
fork and exit without end (comets.c), which are found by a pipe that they hold."""
import concurrent.futures
import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import hostile
from support import IKIGAI, clean_env

SERIAL = True  # its fork bombs would slow down whatever runs beside them
ENDS = ("normal", "timeout", "interrupt", "kill", "hangup", "closed terminal",
        "interactive: closed terminal", "interactive: hangup", "interactive: kill")
# A call that has its result has left nothing. When ikigai itself is gone, the keeper needs a moment;
# the promise is that there are no survivors, and this long a busy machine may take to show it.
GONE_WITHIN_S = {"normal": 0, "timeout": 0}
GONE_OTHERWISE_S = 30
SIGNALS = {"interrupt": signal.SIGINT, "kill": signal.SIGKILL, "hangup": signal.SIGHUP}
STATUS = {"normal": 0, "timeout": 1, "interrupt": -2, "kill": -9, "hangup": -1,
          "closed terminal": -1, "interactive: closed terminal": 129, "interactive: hangup": 129,
          "interactive: kill": -9}
WORKERS = 4


def own_terminal():
    hostile.default_signals()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Run:
    """One call in its own scratch folder, whose name all its processes carry."""

    tool = "tree"

    def __init__(self, end):
        self.end = end
        self.left = {}
        self.gone_after = 0.0
        self.wrong = ""

    def run(self):
        with tempfile.TemporaryDirectory(prefix="ikigai-promise-") as self.scratch:
            self.make_tool(os.path.join(self.scratch, "home", "tools"))
            with open(os.path.join(self.scratch, "home", "config.json"), "w") as f:
                json.dump({"tool_timeout_seconds": 2 if self.end == "timeout" else 60}, f)
            os.mkdir(os.path.join(self.scratch, "ready"))
            try:
                self.go()
            finally:
                hostile.kill_all(self.scratch)
        return self

    def make_tool(self, tools):
        hostile.python_tool(tools, self.tool, hostile.TREE)

    def environment(self):
        return {}

    def arguments(self):
        return "{}"

    def note(self):
        """What the result of a call says that ended by itself."""
        return b'"note":"Stopped 7 background processes"'

    def go(self):
        ready = os.path.join(self.scratch, "ready")
        env = clean_env(IKIGAI_HOME=os.path.join(self.scratch, "home"), TREE_READY=ready,
                        TREE_END=self.end, **self.environment())
        interactive, _, end = self.end.rpartition(": ")
        terminal = pty.openpty() if interactive or end == "closed terminal" else None
        ikigai = subprocess.Popen(
            [IKIGAI, f"{self.tool} {self.arguments()}"] if interactive
            else [IKIGAI, "tool", "run", self.tool, self.arguments()],
            cwd=self.scratch, env=env, stdin=terminal[1] if terminal else subprocess.DEVNULL,
            stdout=terminal[1] if interactive else subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=own_terminal if terminal else hostile.default_signals)
        if terminal:
            os.close(terminal[1])
        if not hostile.wait_until(lambda: os.path.exists(ready + ".all"), 120):
            self.wrong = "the tree never stood"
        elif end == "closed terminal":
            os.close(terminal[0])
        elif end in SIGNALS:
            ikigai.send_signal(SIGNALS[end])
        out = ikigai.communicate(timeout=120)[0]
        if terminal and end != "closed terminal":
            os.close(terminal[0])
        self.check(ikigai.returncode, out)

    def check(self, status, out):
        begin = time.monotonic()
        limit = GONE_WITHIN_S.get(self.end, GONE_OTHERWISE_S)
        hostile.wait_until(lambda: not self.survivors(), limit)
        self.left = self.survivors()
        self.gone_after = time.monotonic() - begin
        if status != STATUS[self.end]:
            self.wrong = self.wrong or f"{self.end}: exit status {status}: {out!r}"
        if self.end == "normal" and self.note() not in out:
            self.wrong = self.wrong or f"not all of the tree was found: {out!r}"

    def survivors(self):
        return hostile.processes_with(self.scratch)


class CometRun(Run):
    tool = "comets"

    def make_tool(self, tools):
        self.comets = hostile.Comets(self.scratch, tools)

    def environment(self):
        return {"TREE_FIFO": self.comets.fifo}

    def arguments(self):
        return '{"early":1}' if self.end == "normal" else "{}"

    def note(self):
        return b'"note":"Stopped '

    def survivors(self):
        return {} if self.comets.gone() else {0: "comets"}

    def go(self):
        try:
            super().go()
        finally:
            self.comets.close()


def main():
    quick = "--quick" in sys.argv[1:]
    count = 60 if quick else 1000
    comets = len(ENDS) * (1 if quick else 10)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        runs = list(pool.map(lambda i: Run(ENDS[i % len(ENDS)]).run(), range(count)))
    runs += [CometRun(ENDS[i % len(ENDS)]).run() for i in range(comets)]
    survivors = sum(len(run.left) for run in runs)
    for run in runs:
        for line in ([run.wrong] if run.wrong else []) + list(run.left.values()):
            print(f"{run.end}: {line}")
    slowest = max(run.gone_after for run in runs if run.end not in GONE_WITHIN_S)
    hostile.conclude(7, survivors == 0 and not any(run.wrong for run in runs), (
        f"{count:,} runs of a tree of {hostile.TREE_SIZE} and {comets} of 60 that fork and exit without end "
        f"({', '.join(ENDS)}): {survivors} survivors; "
        f"a dead ikigai's tools are gone after {slowest * 1000:.0f} ms at most"))


hostile.bounded(main)
