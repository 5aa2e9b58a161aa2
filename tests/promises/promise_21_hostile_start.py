#!/usr/bin/python3
"""Promise 21: hostile tools cannot hold up the start. 200 tools that hang, flood, fork and crash
when asked for their schema, and honest ones between them: the search ends in time, finds all the
honest ones and leaves no process."""
import json
import math
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import hostile
from support import IKIGAI, clean_env

# Each is asked for its schema and does this instead. $sleep is sleep under a path in the scratch
# folder, by which survivors are known.
HOSTILE = {
    "hang": "exec $sleep 300",
    "deaf": "trap '' TERM INT HUP; while :; do $sleep 300; done",
    "flood": "exec yes $0",
    "deaf_flood": "trap '' TERM; exec yes $0",
    "fork": "for i in 1 2 3; do (trap '' TERM; exec setsid $sleep 300) & done; wait",
    "daemon": "(env -i setsid $sleep 300 &) ; exec $sleep 300",
    "crash": "kill -SEGV $$",
    "rubbish": "echo this is not JSON",
    "stop": "kill -STOP $$",
    "quit": "$sleep 300 & exit 0",
}
# For all at once, and for the worst of them alone.
MIXTURES = [list(HOSTILE), ["deaf"], ["fork"], ["deaf_flood"]]
# The machine may be busy with something else: what is allowed is multiplied by how much longer plain
# work takes on it just then (hostile.contention), and what such a machine spoiled is tried again.
ATTEMPTS = 3
BUSY = 1.2


class Trial:
    def __init__(self, kinds, hostile_count, honest_count):
        self.kinds = kinds
        self.hostile_count = hostile_count
        self.honest_count = honest_count
        cores = len(os.sched_getaffinity(0))
        total = hostile_count + honest_count + 6
        self.allowed = 1 + 0.1 * math.ceil(total / (4 * cores))
        self.seconds = math.inf
        self.busy = 1.0
        self.lost = self.left = self.reasons = None

    def write_tools(self, folder):
        os.makedirs(folder)
        os.symlink("/bin/sleep", os.path.join(folder, "..", "survivor"))
        for i in range(self.hostile_count):
            kind = self.kinds[i % len(self.kinds)]
            hostile.write_program(os.path.join(folder, f"t{i:03}_{kind}"),
                                  f"#!/bin/sh\nsleep={folder}/../survivor\n{HOSTILE[kind]}\n")
        every = max(1, self.hostile_count // self.honest_count)
        for i in range(self.honest_count):
            name = f"t{i * every:03}_honest"
            if i % 4 == 0:
                hostile.write_program(os.path.join(folder, name), f"#!{hostile.PYTHON}\n"
                                      f"print({hostile.schema(name)!r})\n")
            else:
                hostile.sh_tool(folder, name, "cat")

    def measure(self):
        """Without a cache each time; what it finds the first time must be right, too."""
        with tempfile.TemporaryDirectory(prefix="ikigai-promise-") as scratch:
            home = os.path.join(scratch, "home")
            self.write_tools(os.path.join(home, "tools"))
            env = clean_env(IKIGAI_HOME=home)
            before = hostile.contention()
            begin = time.monotonic()
            done = subprocess.run([IKIGAI, "tool", "list", "--json"], cwd=scratch, env=env,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=300)
            self.seconds = time.monotonic() - begin
            self.busy = (before + hostile.contention()) / 2
            self.left = hostile.processes_with(scratch)
            hostile.kill_all(scratch)
        found = {tool["name"] for tool in json.loads(done.stdout)}
        self.lost = self.honest_count - sum(name.endswith("_honest") for name in found)
        self.reasons = done.stderr.count(b"schema failed")
        return self.lost == 0 and not self.left and self.reasons == self.hostile_count

    def run(self):
        """A process that is left is never the machine's fault."""
        for _ in range(ATTEMPTS):
            good = self.measure() and self.seconds <= self.allowed * self.busy
            if good or self.left or (self.lost and self.busy < BUSY):
                break
            print(f"{self.kinds}: {self.seconds:.2f} s of {self.allowed:.2f} on a machine "
                  f"{self.busy:.1f} times as slow as idle, {self.lost} lost; measured again")
        return good


def main():
    quick = "--quick" in sys.argv[1:]
    mixtures = MIXTURES[:2] if quick else MIXTURES
    trials = [Trial(kinds, 200, 20) for kinds in mixtures]
    passed = all([trial.run() for trial in trials])
    for trial in trials:
        if trial.lost or trial.left or trial.reasons != trial.hostile_count:
            print(f"{trial.kinds}: {trial.lost} lost, left {trial.left}, {trial.reasons} reasons")
    worst = max(trials, key=lambda trial: trial.seconds / trial.allowed / trial.busy)
    hostile.conclude(21, passed, (
        f"{len(trials)} x 200 hostile and 20 honest tools: {worst.seconds:.2f} s at most, "
        f"{worst.allowed:.2f} s allowed, on a machine {worst.busy:.1f} times as slow as idle; {sum(t.lost for t in trials)} honest tools lost, "
        f"{sum(len(t.left) for t in trials)} processes left"))


main()
