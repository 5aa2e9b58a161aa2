#!/usr/bin/env python3
"""How fast grep and glob are beside ripgrep and fd, on a large tree of sources.

Prints one JSON object per line. Both sides run in turn, with the same number of threads, the same
files and output to a file; the fastest of several runs counts. The tree is IKIGAI_BENCH_TREE, else an
unpacked kernel source, else whatever large tree there is.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.abspath(os.environ.get("IKIGAI_OUT", ROOT))
RUNS = int(os.environ.get("IKIGAI_BENCH_RUNS", "9"))

PATTERNS = [
    ("literal", "PM_RESUME"),
    ("alternation", "ERR_SYS|PME_TURN_OFF|LINK_REQ_RST|CFG_BME_EVT"),
    ("character class", "[A-Z]+_RESUME"),
    ("no match", "zzqqxxjj_nowhere"),
    ("many matches", "return"),
]


def find_tree():
    trees = [os.environ.get("IKIGAI_BENCH_TREE"), *sorted(glob.glob("/var/tmp/kernel/linux-source-*"))]
    for tree in trees:
        if tree and os.path.isdir(tree):
            return tree
    print("bench_search: no large tree; for a real measurement: apt-get install linux-source-6.1; "
          "mkdir -p /var/tmp/kernel; tar -C /var/tmp/kernel -xf /usr/src/linux-source-6.1.tar.xz",
          file=sys.stderr)
    return next(tree for tree in ("/usr/include", "/usr/share", "/usr") if os.path.isdir(tree))


def run(argv, stdin, tree, sink):
    """Seconds and peak memory (KiB) of one run."""
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        sink.seek(0)
        sink.truncate()
        start = time.monotonic()
        pid = subprocess.Popen(argv, stdin=given, stdout=sink, cwd=tree).pid
        _, status, usage = os.wait4(pid, 0)
        seconds = time.monotonic() - start
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"{argv[0]} failed with status {status}")
    return seconds, usage.ru_maxrss


def compare(name, ours, theirs, yardstick, tree, budget=1.0, memory_budget=None):
    best = [[], []]
    memory = [0, 0]
    with tempfile.TemporaryFile() as sink:
        for _ in range(RUNS):
            for i, (argv, stdin) in enumerate((ours, theirs)):
                seconds, peak = run(argv, stdin, tree, sink)
                best[i].append(seconds)
                memory[i] = max(memory[i], peak)
    report(name, min(best[0]), "s", yardstick, min(best[1]), budget)
    if memory_budget is not None:
        report(name + " memory", memory[0] / 1024, "MB", yardstick, memory[1] / 1024, memory_budget)


def report(name, value, unit, yardstick, yardstick_value, budget):
    ratio = value / yardstick_value
    print(json.dumps({"name": name, "value": round(value, 4), "unit": unit, "yardstick": yardstick,
                      "yardstick_value": round(yardstick_value, 4), "ratio": round(ratio, 3),
                      "budget": budget, "met": ratio <= budget}), flush=True)


def skip(name, reason):
    print(json.dumps({"name": name, "skipped": reason}), flush=True)


def bench_grep(tree, threads):
    grep = os.path.join(OUT, "libexec", "ikigai", "grep")
    for name, pattern in PATTERNS:
        name = "grep " + name
        if shutil.which("rg") is None:
            skip(name, "ripgrep is not installed")
            continue
        # Debian's kernel source excludes itself in its .gitignore, so neither side reads those.
        params = json.dumps({"pattern": pattern, "no_ignore": True}).encode()
        rg = ["rg", "-n", "--no-heading", f"-j{threads}", "-uu", "-e", pattern, "."]
        compare(name, ([grep], params), (rg, b""), "rg", tree, memory_budget=2.0)


def bench_glob(tree, threads):
    program = os.path.join(OUT, "libexec", "ikigai", "glob")
    fd = shutil.which("fdfind") or shutil.which("fd")
    if fd is None:
        skip("glob **/*.c", "fd is not installed")
        return
    sorted_fd = ["sh", "-c", f"{fd} -j{threads} -I -e c | LC_ALL=C sort"]
    compare("glob **/*.c", ([program], b'{"pattern":"**/*.c"}'), (sorted_fd, b""), "fd | sort", tree)


def main():
    threads = len(os.sched_getaffinity(0))
    tree = find_tree()
    os.environ.pop("IKIGAI_MAX_OUTPUT", None)  # it would cut the answers
    bench_grep(tree, threads)
    bench_glob(tree, threads)


if __name__ == "__main__":
    main()
