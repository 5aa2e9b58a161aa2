"""Measures the store: an event, a resumed session, a search, a list, and the size of the file.

Messages are made from the sources of this repository, in the mix of a coding session: a question,
five calls with their results, an answer.
"""
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time

from bench_tools import BUILD, IKIGAI, ROOT, report

STORE_COST = os.path.join(BUILD, "bench/store_cost")
TEXTS = sorted(glob.glob(os.path.join(ROOT, "src/**/*.c"), recursive=True)
               + glob.glob(os.path.join(ROOT, "docs/*.md")))
MANY = 1_000_000
LONG = 100_000
SESSIONS = 10_000


def store_cost(*arguments):
    done = subprocess.run([STORE_COST, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"store_cost {arguments[0]} failed")
    return [[float(word) for word in line.split()] for line in done.stdout.splitlines()]


def bench_append(scratch):
    rounds = []
    for i in range(5):
        folder = os.path.join(scratch, f"append{i}")
        os.mkdir(folder)
        rounds.append(store_cost("append", folder, 24000, *TEXTS)[0])
    bare, ours = sorted(rounds, key=lambda r: r[1] / r[0])[2]
    report("an event stored", ours, "us", "bare INSERT, same pragmas", bare, 1.5)


def bench_resume(scratch):
    path = os.path.join(scratch, "long.db")
    store_cost("fill", path, LONG, 1, *TEXTS)
    runs = [store_cost("resume", path, "0" * 16)[0] for _ in range(5)]
    read, resumed, text, memory = sorted(runs, key=lambda r: r[1])[2]
    report(f"{LONG:,} messages resumed ({text / 1e6:.0f} MB of text)", resumed, "s",
           "reading the rows", read, 0.5, absolute=True)
    report("memory of the resumed session", memory / 1e6, "MB", "its text", text / 1e6, 2)
    os.remove(path)


def best_of(command, env):
    times = []
    for _ in range(9):
        begin = time.monotonic()
        subprocess.run(command, check=True, env=env, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)
        times.append(time.monotonic() - begin)
    return statistics.median(times) * 1000


def bench_many(scratch):
    """A large history: its size, searches in it, and the list of its sessions."""
    path = os.path.join(scratch, "many.db")
    text, index = store_cost("fill", path, MANY, SESSIONS, *TEXTS)[0]
    report(f"database of {MANY:,} messages", os.path.getsize(path) / 1e6, "MB",
           "the text it holds", text / 1e6, 1.6)
    queries = {"a rare word": "subreaper", "a word of half the messages": "return",
               "two of those": "const return", "a phrase": '"static void"',
               "the beginning of a word": "talloc*", "a name": "ik_json_find_members"}
    start = best_of([IKIGAI, "--version"], dict(os.environ))
    for (name, _), (spent, hits) in zip(queries.items(),
                                        store_cost("search", path, *queries.values())):
        if hits == 0:
            sys.exit(f"the search for {name} finds nothing")
        report(f"search among {MANY:,} messages: {name}", spent, "ms", "starting ikigai", start,
               50, absolute=True)
    env = dict(os.environ, IKIGAI_HOME=scratch, IKIGAI_DB=path)
    report(f"ikigai session list of {SESSIONS:,}", best_of([IKIGAI, "session", "list"], env), "ms",
           "starting ikigai", start, 50, absolute=True)
    report("indexing a message", index / MANY * 1e6, "us", None, None, 100, absolute=True)


def main():
    with tempfile.TemporaryDirectory(prefix="ikigai-bench-") as scratch:
        bench_append(scratch)
        bench_resume(scratch)
        bench_many(scratch)


if __name__ == "__main__":
    main()
