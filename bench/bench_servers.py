"""Measures MCP servers: a call through one that runs, beside the server's own answer, and what ten
configured servers add to a warm start."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from bench_extend import alternate, homes
from bench_tools import BUILD, IKIGAI, report
from bench_turns import Server

OBJECTS = os.path.join(BUILD, "bench")
ECHO = os.path.join(OBJECTS, "mcp_echo")


def ten(home):
    path = os.path.join(home, "config.json")
    config = {}
    if os.path.exists(path):
        with open(path) as f:
            config = json.load(f)
    config["mcpServers"] = {f"echo{i}": {"command": ECHO} for i in range(10)}
    with open(path, "w") as f:
        json.dump(config, f)
    os.chmod(path, 0o600)


def bench_call(scratch):
    home = os.path.join(scratch, "home-call")
    os.makedirs(home)
    with open(os.path.join(home, "config.json"), "w") as f:
        json.dump({"mcpServers": {"echo": {"command": ECHO}}}, f)
    os.chmod(os.path.join(home, "config.json"), 0o600)
    done = subprocess.run([os.path.join(OBJECTS, "server_cost"), ECHO, "2000", IKIGAI], check=True, text=True,
                          stdout=subprocess.PIPE, cwd=scratch, env={**os.environ, "IKIGAI_HOME": home})
    times = json.loads(done.stdout)
    report("what a call through a running server takes beside its answer",
           max(times["call"] - times["server"], 0) / 1000, "ms", "the server's own answer",
           times["server"] / 1000, 0.5, absolute=True)


def bench_start(scratch):
    with Server(scratch, "--fast", "0", "--tool", "glob", "--args", "{}") as server:
        runs = alternate(homes(scratch, server.url, ten), 40)
    received = [t[0] for t in server.times()]

    def first_request(run):
        return next(t for t in received if t >= run.begin) - run.begin
    ours, bare = (statistics.mean(sorted(map(first_request, some))[:10]) / 1e6 for some in runs)
    report("what ten configured servers add to exec to first request", max(ours - bare, 0), "ms",
           "exec to first request without them", bare, 0.3, absolute=True)


def main():
    scratch = tempfile.mkdtemp(prefix="ikigai-bench-")
    try:
        bench_call(scratch)
        bench_start(scratch)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.exit(main())
