#!/usr/bin/python3
"""Promise 7: no process outlives its call, and nothing survives the agent. A tool that makes a
tree of eight processes, each hiding in another way, is ended in every way there is; afterwards
/proc is searched for what carries the scratch folder's name."""
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

ENDS = ("normal", "timeout", "interrupt", "kill", "hangup", "closed terminal",
        "interactive: closed terminal", "interactive: hangup", "interactive: kill")
# A call that has its result has left nothing. When ikigai itself is gone, the keeper needs a moment.
GONE_WITHIN_S = {"normal": 0, "timeout": 0}
GONE_OTHERWISE_S = 2
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

    def __init__(self, end):
        self.end = end
        self.left = {}
        self.gone_after = 0.0
        self.wrong = ""

    def run(self):
        with tempfile.TemporaryDirectory(prefix="ikigai-promise-") as self.scratch:
            hostile.python_tool(os.path.join(self.scratch, "home", "tools"), "tree", hostile.TREE)
            with open(os.path.join(self.scratch, "home", "config.json"), "w") as f:
                json.dump({"tool_timeout_seconds": 2 if self.end == "timeout" else 60}, f)
            os.mkdir(os.path.join(self.scratch, "ready"))
            try:
                self.go()
            finally:
                hostile.kill_all(self.scratch)
        return self

    def go(self):
        ready = os.path.join(self.scratch, "ready")
        env = clean_env(IKIGAI_HOME=os.path.join(self.scratch, "home"), TREE_READY=ready,
                        TREE_END=self.end)
        interactive, _, end = self.end.rpartition(": ")
        terminal = pty.openpty() if interactive or end == "closed terminal" else None
        ikigai = subprocess.Popen(
            [IKIGAI, "tree {}"] if interactive else [IKIGAI, "tool", "run", "tree", "{}"],
            cwd=self.scratch, env=env, stdin=terminal[1] if terminal else subprocess.DEVNULL,
            stdout=terminal[1] if interactive else subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=own_terminal if terminal else hostile.default_signals)
        if terminal:
            os.close(terminal[1])
        if not hostile.wait_until(lambda: os.path.exists(ready + ".all"), 30):
            self.wrong = "the tree never stood"
        elif end == "closed terminal":
            os.close(terminal[0])
        elif end in SIGNALS:
            ikigai.send_signal(SIGNALS[end])
        out = ikigai.communicate(timeout=60)[0]
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
        if self.end == "normal" and b'"note":"7 background processes ended"' not in out:
            self.wrong = self.wrong or f"not all of the tree was found: {out!r}"

    def survivors(self):
        return hostile.processes_with(self.scratch)


def main():
    quick = "--quick" in sys.argv[1:]
    count = 60 if quick else 1000
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        runs = list(pool.map(lambda i: Run(ENDS[i % len(ENDS)]).run(), range(count)))
    survivors = sum(len(run.left) for run in runs)
    for run in runs:
        for line in ([run.wrong] if run.wrong else []) + list(run.left.values()):
            print(f"{run.end}: {line}")
    slowest = max(run.gone_after for run in runs if run.end not in GONE_WITHIN_S)
    hostile.conclude(7, survivors == 0 and not any(run.wrong for run in runs), (
        f"{count:,} runs of a tree of {hostile.TREE_SIZE} ({', '.join(ENDS)}): {survivors} survivors; "
        f"a dead ikigai's tools are gone after {slowest * 1000:.0f} ms at most"))


main()
