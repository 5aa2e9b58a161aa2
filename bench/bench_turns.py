"""Measures the model loop, headless, against a scripted server on the loopback interface: the
start, a tool turn, fifty and five hundred of them, memory, streaming, checkpoints, serialising.

The yardstick, measured in the same run, is a minimal program on libcurl.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from bench_tools import BUILD, IKIGAI, ROOT, TOOLS, process_cost, report

SERVER = os.path.join(ROOT, "tests/fake_llm/server.py")
YARDSTICK = os.path.join(BUILD, "bench/curl_yardstick")
CALL = {"pattern": "/etc/h*"}


class Server:
    """tests/fake_llm as a separate process; log has its lines once it has ended."""

    def __init__(self, scratch, *options):
        self.path = os.path.join(scratch, "log")
        self.process = subprocess.Popen(
            [sys.executable, SERVER, "--no-validate", "--log", self.path, *options],
            stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.log = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        with open(self.path) as f:
            self.log = f.read().splitlines()

    def times(self):
        """(request received, answer sent) in ns of CLOCK_MONOTONIC"""
        return [tuple(int(word) for word in line.split()[:2]) for line in self.log]


class Run:
    """One program from exec to its end."""

    def __init__(self, command, env=None, stdout=subprocess.DEVNULL, cwd="/"):
        self.begin = time.monotonic_ns()
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=stdout,
                                   stderr=subprocess.DEVNULL, cwd=cwd)
        _, status, usage = os.wait4(process.pid, 0)
        self.end = time.monotonic_ns()
        process.returncode = status
        if status:
            sys.exit(f"{command[0]} failed: {status}")
        self.wall_ms = (self.end - self.begin) / 1e6
        self.cpu_ms = (usage.ru_utime + usage.ru_stime) * 1000


def environment(scratch, url):
    home = os.path.join(scratch, "home")
    if not os.path.isdir(home):
        os.mkdir(home, 0o700)
        with open(os.path.join(home, "config.json"), "w") as f:
            json.dump({"max_tool_turns": 100000}, f)
        os.chmod(os.path.join(home, "config.json"), 0o600)
    return dict(os.environ, IKIGAI_HOME=home, OPENAI_BASE_URL=url + "/v1", OPENAI_API_KEY="none")


PROMPT = [IKIGAI, "-p", "go", "-m", "openai/gpt-5"]


def ikigai(scratch, url):
    return Run(PROMPT, environment(scratch, url))


def peak_mb(command, env=None, rounds=3):
    """Started by a small program, because the peak memory of a process includes that of its parent
    at the fork. It is started as a tool is, without keys in its environment."""
    quiet = ["/bin/sh", "-c", 'exec env OPENAI_API_KEY=none "$@" > /dev/null 2>&1', "sh", *command]
    return process_cost(quiet, rounds, env=env)["rss_kb"] / 1024


def bench_start(scratch):
    ours, theirs = [], []
    with Server(scratch, "--fast", "0", "--tool", "glob", "--args", "{}") as server:
        ikigai(scratch, server.url)  # fills the cache of schemas
        for _ in range(25):
            ours.append(ikigai(scratch, server.url))
            theirs.append(Run([YARDSTICK, server.url + "/v1/chat/completions", "1"]))
    received = [t[0] for t in server.times()]

    def first_request(run):
        return next(t for t in received if t >= run.begin) - run.begin
    report("exec to first request", statistics.median(map(first_request, ours)) / 1e6, "ms",
           "minimal curl program", statistics.median(map(first_request, theirs)) / 1e6, 15,
           absolute=True)


def gaps(server, begin):
    """ms from each answer to the next request, for requests from number begin on"""
    times = [t for t in server.times() if t[0] >= begin]
    return [(after[0] - before[1]) / 1e6 for before, after in zip(times, times[1:])]


def bench_turns(scratch):
    spawn = process_cost([os.path.join(TOOLS, "glob")], 400, json.dumps(CALL))["command"] / 1000
    runs = []
    with Server(scratch, "--fast", "50", "--tool", "glob", "--args", json.dumps(CALL)) as server:
        ikigai(scratch, server.url)
        for _ in range(9):
            runs.append(ikigai(scratch, server.url))
        peak = peak_mb(PROMPT, environment(scratch, server.url))
        bare_peak = peak_mb([YARDSTICK, server.url + "/v1/chat/completions", "51"])
    with Server(scratch, "--fast", "50", "--tool", "glob", "--args", json.dumps(CALL)) as bare:
        curl = Run([YARDSTICK, bare.url + "/v1/chat/completions", "51"])
    overhead = statistics.median(g for run in runs for g in gaps(server, run.begin)[:50])
    report("overhead of a tool turn, the tool's spawn taken off", max(overhead - spawn, 0), "ms",
           "minimal curl program, no tool", statistics.median(gaps(bare, curl.begin)), 2,
           absolute=True)
    report("50 tool turns, wall", statistics.median(r.wall_ms for r in runs), "ms",
           "minimal curl program, no tool", curl.wall_ms, 200, absolute=True)
    report("50 tool turns, peak resident", peak, "MB", "minimal curl program", bare_peak, 16,
           absolute=True)


def bench_long(scratch):
    ratios, early = [], []
    for _ in range(3):
        with Server(scratch, "--fast", "500", "--tool", "glob", "--args",
                    json.dumps(CALL)) as server:
            run = ikigai(scratch, server.url)
        each = gaps(server, run.begin)
        early.append(statistics.median(each[5:55]))
        ratios.append((statistics.median(each[450:500]), early[-1]))
    late, base = sorted(ratios, key=lambda r: r[0] / r[1])[1]
    report("a tool turn at 450 to 500", late, "ms", "at 5 to 55", base, 1.5)


def stream_script(scratch, tokens):
    """An answer of that many tokens, each in an event and a packet of its own."""
    path = os.path.join(scratch, f"script-{tokens}")
    with open(path, "w") as f:
        json.dump({"answers": [{"text": "token " * tokens, "fragments": tokens}], "repeat": True}, f)
    return path


def stream_cpu(scratch, tokens):
    with Server(scratch, "--script", stream_script(scratch, tokens)) as server:
        ikigai(scratch, server.url)
        ours = [ikigai(scratch, server.url).cpu_ms for _ in range(5)]
        curl = [Run([YARDSTICK, server.url + "/v1/chat/completions", "1"]).cpu_ms
                for _ in range(5)]
    return statistics.median(ours), statistics.median(curl)


def bench_stream(scratch):
    ours_few, curl_few = stream_cpu(scratch, 1000)
    ours_many, curl_many = stream_cpu(scratch, 11000)
    report("CPU of 1,000 streamed tokens", (ours_many - ours_few) / 10, "ms",
           "minimal curl program, which throws them away", (curl_many - curl_few) / 10, 5,
           absolute=True)


def checkout(scratch, files):
    """A clean git checkout of that many files."""
    root = os.path.join(scratch, f"checkout-{files}")
    for number in range(files):
        folder = os.path.join(root, f"d{number % 100}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"f{number}.c"), "w") as f:
            f.write(f"int f{number};\n" * 20)
    git = ["git", "-C", root, "-c", "user.name=x", "-c", "user.email=x@x"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"], ["status"]):
        subprocess.run(git + command, check=True, stdout=subprocess.DEVNULL)
    return root


def with_and_without(scratch, url, folder, rounds):
    """Runs with checkpoints and without them, alternately."""
    environments = []
    for name, files in (("with", 50000), ("without", 0)):
        home = os.path.join(scratch, f"home-{name}")
        os.makedirs(home, mode=0o700, exist_ok=True)
        path = os.path.join(home, "config.json")
        with open(path, "w") as f:
            json.dump({"max_tool_turns": 100000, "undo_max_files": files}, f)
        os.chmod(path, 0o600)
        environments.append(dict(environment(scratch, url), IKIGAI_HOME=home))
    runs = [[], []]
    for turn in range(rounds + 1):
        for number, env in enumerate(environments):
            run = Run(PROMPT, env, cwd=folder)
            if turn > 0:  # the first one fills caches and takes the first checkpoint
                runs[number].append(run)
    return runs


def added_gap(scratch, folder, tool, arguments):
    """ms from an answer to the next request, with checkpoints and without them: the median of the
    quietest run."""
    with Server(scratch, "--fast", "20", "--tool", tool, "--args", json.dumps(arguments)) as server:
        runs = with_and_without(scratch, server.url, folder, 5)

    def gap(some):
        return min(statistics.median(gaps(server, run.begin)[1:20]) for run in some)
    return gap(runs[0]), gap(runs[1])


def bench_checkpoints(scratch):
    root = checkout(scratch, 10000)
    status = []
    for _ in range(9):
        start = time.monotonic()
        subprocess.run(["git", "-C", root, "status", "--porcelain"], check=True,
                       stdout=subprocess.DEVNULL)
        status.append((time.monotonic() - start) * 1000)
    status = min(status)
    ours, bare = added_gap(scratch, root, "glob", CALL)
    report("a tool turn that writes nothing, with checkpoints", ours, "ms", "without them", bare,
           1.1)
    ours, bare = added_gap(scratch, root, "file_write", {"file_path": "d1/new", "content": "x"})
    report("what checkpoints add to a turn of file_write, 10,000 files", max(ours - bare, 0), "ms",
           "git status", status, 1)
    ours, bare = added_gap(scratch, root, "bash", {"command": "true"})
    report("what checkpoints add to a turn of bash, 10,000 files", max(ours - bare, 0), "ms",
           "git status, twice", 2 * status, 1.5)
    path = os.path.join(scratch, "slow-script")
    with open(path, "w") as f:
        json.dump({"answers": [{"calls": [{"name": "bash", "args": {"command": "true; true; true"}}],
                                "fragments": 8, "wire": {"delay_event": 0.05}},
                               {"text": "Done."}], "repeat": True}, f)
    with Server(scratch, "--script", path) as server:
        runs = with_and_without(scratch, server.url, root, 9)
    ours, bare = (min(run.wall_ms for run in some) for some in runs)
    report("the same while the answer takes 0.5 s: the first state is taken meanwhile",
           max(ours - bare, 0), "ms", "git status", status, 1.5)


def bench_serialise():
    done = subprocess.run([os.path.join(BUILD, "bench/wire_cost"), "200"], check=True,
                          stdout=subprocess.PIPE)
    cost = json.loads(done.stdout)
    for name in ("chat", "responses", "anthropic", "google"):
        report(f"{cost['bytes'] / 1e6:.1f} MB of conversation serialised, {name}",
               cost[name]["whole"] / 1000, "ms", "copying it", cost["copy"] / 1000, 2,
               absolute=True)
    worst = max(cost[name]["next"] for name in ("chat", "responses", "anthropic", "google"))
    report("the same when one turn is new", worst / 1000, "ms", "copying all of it",
           cost["copy"] / 1000, 2, absolute=True)


def main():
    scratch = tempfile.mkdtemp(prefix="ikigai-bench-")
    try:
        bench_start(scratch)
        bench_turns(scratch)
        bench_long(scratch)
        bench_stream(scratch)
        bench_checkpoints(scratch)
        bench_serialise()
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.exit(main())
