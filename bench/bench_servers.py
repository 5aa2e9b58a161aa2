"""Measures MCP servers: a call through one that runs, beside the server's own answer, and what ten
configured servers add to a warm start."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from bench_extend import bench_start
from bench_tools import BUILD, IKIGAI, report

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


def main():
    scratch = tempfile.mkdtemp(prefix="ikigai-bench-")
    try:
        bench_call(scratch)
        bench_start(scratch, ten, "ten configured servers", 0.3)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.exit(main())
