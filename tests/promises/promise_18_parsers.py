#!/usr/bin/python3
"""Promise 18: parsers survive anything.

Every target of tests/fuzz is built with clang, ASan and UBSan, gets all inputs of its kept corpus
and then new ones: for a minute, or FUZZ_SECONDS; --quick: NEW_INPUTS of them, however long that takes, so that a
busy machine changes nothing. FUZZ_JOBS (2) targets at a time. What a full run finds, and every input that a target
does not survive, stays in the build folder: tests/fuzz/README.md.

    promise_18_parsers.py [--quick] [TARGET]...
"""
import concurrent.futures
import ctypes
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import hostile
from support import OBJECTS, ROOT, clean_env

WORKERS = int(os.environ.get("FUZZ_JOBS", "2"))
SHOWN = 60  # lines of a finding
NEW_INPUTS = 1000  # of a quick run, for each target
HANGS_S = 60  # an input that takes so long does not end; most take less than a millisecond
FUZZ = os.path.join(ROOT, "tests", "fuzz")
# Beside the objects of the tree under test, as make has it; a copy of that has links to them.
LIBRARY = os.path.join(OBJECTS, "libbase.a")
OUR_OBJECTS = (os.path.dirname(os.path.realpath(LIBRARY)) if os.path.exists(LIBRARY)
               else os.path.join(ROOT, "build", "obj"))
TREE = os.path.join(os.path.dirname(OUR_OBJECTS), "fuzz", "obj")
FOUND = os.path.join(TREE, "corpus")


def names():
    """Of all targets."""
    paths = sorted(glob.glob(os.path.join(FUZZ, "fuzz_*.c")))
    return [os.path.basename(path)[len("fuzz_"):-len(".c")] for path in paths]


def build():
    """What was wrong with it; empty: nothing."""
    # Called by another make, this one would look for the jobs of that.
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(["make", "-s", f"-j{WORKERS}", "-C", ROOT, "BUILD=" + OUR_OBJECTS,
                           "fuzz-tree"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    return done.stdout if done.returncode != 0 else ""


def keep_addresses():
    """Where the kernel puts things very much at random, older sanitizers find no room for theirs.
    Where this may not be asked for, they have to."""
    ADDR_NO_RANDOMIZE = 0x0040000
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)


class Run:
    """One target: inputs is how many it survived, finding what it did not, as text for people."""

    def __init__(self, name, seconds, quick, scratch):
        self.name, self.seconds, self.quick = name, seconds, quick
        self.scratch = scratch
        self.kept = os.path.join(FUZZ, "corpus", name)
        self.log = os.path.join(FOUND, name + ".log")
        self.inputs, self.finding = 0, None

    def bounds(self):
        if self.seconds:
            return [f"-max_total_time={self.seconds}"]
        return [f"-runs={len(os.listdir(self.kept)) + NEW_INPUTS}", "-seed=1"]

    def command(self):
        """A quick run is nearly the same every time; a full one goes on from all that were."""
        found = tempfile.mkdtemp(dir=self.scratch) if self.quick else os.path.join(FOUND, self.name)
        os.makedirs(found, exist_ok=True)
        words = os.path.join(FUZZ, self.name + ".dict")
        return [os.path.join(TREE, "tests", "fuzz", "fuzz_" + self.name),
                *self.bounds(), f"-timeout={HANGS_S}", "-rss_limit_mb=2048",
                "-print_final_stats=1", f"-artifact_prefix={FOUND}/{self.name}-",
                *(["-dict=" + words] if os.path.exists(words) else []), found, self.kept]

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def run(self):
        kept = os.listdir(self.kept) if os.path.isdir(self.kept) else []
        if not kept:
            self.finding = f"it has no corpus: {self.kept}"
            return self
        with open(self.log, "wb") as log:
            done = subprocess.run(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                  env=clean_env(TMPDIR=self.scratch), preexec_fn=keep_addresses)
        counted = re.search(r"stat::number_of_executed_units: (\d+)", self.text())
        self.inputs = int(counted[1]) if counted else 0
        if done.returncode != 0:
            self.finding = self.describe(done.returncode)
        elif self.inputs < len(kept):
            self.finding = f"it took {self.inputs} of {len(kept)} kept inputs"
        return self

    def describe(self, status):
        """The whole of it is in the log."""
        written = re.findall(r"Test unit written to (\S+)", self.text())
        where = written[-1] if written else "none was written"
        return "\n".join([f"exit status {status}, input: {where}, log: {self.log}",
                          *self.text().splitlines()[-SHOWN:]])


def main():
    quick = "--quick" in sys.argv[1:]
    seconds = int(os.environ.get("FUZZ_SECONDS", 0 if quick else 60))
    chosen = [word for word in sys.argv[1:] if word != "--quick"] or names()
    problem = build()
    if problem:
        print(problem)
        hostile.conclude(18, False, "the fuzz targets cannot be built")
    os.makedirs(FOUND, exist_ok=True)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ikigai-promise-", dir=memory) as scratch, \
            concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        runs = list(pool.map(Run.run, [Run(name, seconds, quick, scratch) for name in chosen]))
    findings = [run for run in runs if run.finding]
    for run in findings:
        print(f"--- {run.name}: {run.finding}")
    hostile.conclude(18, not findings, (
        f"{len(runs)} targets, {sum(run.inputs for run in runs):,} inputs, "
        f"{f'{seconds} s' if seconds else f'{NEW_INPUTS:,}'} of new ones each: {len(findings)} findings"))


if __name__ == "__main__":
    main()
