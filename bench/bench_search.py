#!/usr/bin/env python3
"""Measures grep and glob beside ripgrep and fd, on a large source tree.

Both sides run alternately, with the same number of threads and the same files, and with output to a
file; the fastest of several runs counts. The tree is IKIGAI_BENCH_TREE, else an unpacked kernel
source, else another large tree on this machine.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from bench_tools import TOOLS, report, skip

FD = shutil.which("fdfind") or shutil.which("fd")
RUNS = int(os.environ.get("IKIGAI_BENCH_RUNS", "9"))

PATTERNS = [
    ("literal", "PM_RESUME"),
    ("alternation", "ERR_SYS|PME_TURN_OFF|LINK_REQ_RST|CFG_BME_EVT"),
    ("character class", "[A-Z]+_RESUME"),
    ("no match", "zzqqxxjj_nowhere"),
    ("many matches", "return"),
]


def find_tree():
    trees = [os.environ.get("IKIGAI_BENCH_TREE"),
             *sorted(glob.glob("/var/tmp/kernel/linux-source-*"))]
    for tree in trees:
        if tree and os.path.isdir(tree):
            return tree
    print("bench_search: no large tree; for a real measurement: apt-get install linux-source-6.1; "
          "mkdir -p /var/tmp/kernel; tar -C /var/tmp/kernel -xf /usr/src/linux-source-6.1.tar.xz",
          file=sys.stderr)
    return next(tree for tree in ("/usr/include", "/usr/share", "/usr") if os.path.isdir(tree))


def start(argv, stdin, tree, sink):
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        sink.seek(0)
        sink.truncate()
        return subprocess.Popen(argv, stdin=given, stdout=sink, cwd=tree)


def seconds_of(argv, stdin, tree, sink):
    begin = time.monotonic()
    status = start(argv, stdin, tree, sink).wait()
    seconds = time.monotonic() - begin
    if status not in (0, 1):
        raise SystemExit(f"{argv[0]} failed with status {status}")
    return seconds


def megabytes_of(argv, stdin, tree, sink):
    """Peak memory, sampled often: what wait4 reports would include this interpreter's memory."""
    process = start(argv, stdin, tree, sink)
    peak = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status") as f:
                fields = dict(line.split(":", 1) for line in f)
            if fields["Name"].strip() == os.path.basename(argv[0]):
                peak = max(peak, int(fields.get("VmHWM", "0 kB").split()[0]))
        except (OSError, ValueError):
            pass
        time.sleep(0.002)
    return peak / 1024


def compare(name, ours, theirs, yardstick, tree, budget=1.0, memory_budget=None):
    sides = (ours, theirs)
    seconds = [[], []]
    with tempfile.TemporaryFile() as sink:
        for _ in range(RUNS):
            for i, (argv, stdin) in enumerate(sides):
                seconds[i].append(seconds_of(argv, stdin, tree, sink))
        report(name, min(seconds[0]), "s", yardstick, min(seconds[1]), budget)
        if memory_budget is not None:
            peaks = [max(megabytes_of(*side, tree, sink) for _ in range(3)) for side in sides]
            report(name + " memory", peaks[0], "MB", yardstick, peaks[1], memory_budget)


def version_of(program):
    """The first line of its output; None if it is not installed."""
    if program is None:
        return None
    done = subprocess.run([program, "--version"], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.partition("\n")[0].strip()


def describe_tree(tree):
    sizes = [os.lstat(os.path.join(folder, name)).st_size
             for folder, _, names in os.walk(tree) for name in names]
    return (f"{os.path.basename(tree.rstrip('/'))} ({len(sizes):,} files, "
            f"{sum(sizes) / 1e9:.1f} GB)")


def tell_compared(tree):
    """The versions of the yardsticks."""
    found = {"rg": version_of(shutil.which("rg")), "fd": version_of(FD),
             "tree": describe_tree(tree)}
    print(json.dumps({"compared": {k: v for k, v in found.items() if v}}), flush=True)


def bench_grep(tree, threads):
    grep = os.path.join(TOOLS, "grep")
    for name, pattern in PATTERNS:
        name = "grep " + name
        if shutil.which("rg") is None:
            skip(name, "ripgrep is not installed")
            continue
        # Without ignore files, both sides search the same files.
        params = json.dumps({"pattern": pattern, "no_ignore": True}).encode()
        rg = ["rg", "-n", "--no-heading", f"-j{threads}", "-uu", "-e", pattern, "."]
        compare(name, ([grep], params), (rg, b""), "rg", tree, memory_budget=2.0)


def bench_glob(tree, threads):
    program = os.path.join(TOOLS, "glob")
    if FD is None:
        skip("glob **/*.c", "fd is not installed")
        return
    sorted_fd = ["sh", "-c", f"{FD} -j{threads} -I -e c | LC_ALL=C sort"]
    compare("glob **/*.c", ([program], b'{"pattern":"**/*.c"}'), (sorted_fd, b""), "fd | sort",
            tree)


def main():
    threads = len(os.sched_getaffinity(0))
    tree = find_tree()
    os.environ.pop("IKIGAI_MAX_OUTPUT", None)  # it would cut the answers
    tell_compared(tree)
    bench_grep(tree, threads)
    bench_glob(tree, threads)


if __name__ == "__main__":
    main()
