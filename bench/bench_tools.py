"""Measures tools: a call, a schema, discovery, reading far into a file, memory.

Each figure is measured alternately with its yardstick, in the same run.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.abspath(os.environ.get("IKIGAI_OUT", ROOT))
BUILD = os.path.join(ROOT, "build/obj") if OUT == ROOT else os.path.join(OUT, "obj")
IKIGAI = os.path.join(OUT, "bin/ikigai")
TOOLS = os.path.join(OUT, "libexec/ikigai")


def report(name, value, unit, yardstick, yardstick_value, budget, absolute=False, peers=None):
    """absolute: the budget applies to the value, not to the ratio. peers: figures that other
    programs publish."""
    ratio = value / yardstick_value if yardstick_value else None
    measured = value if absolute else ratio
    print(json.dumps({"name": name, "value": round(value, 6), "unit": unit, "yardstick": yardstick,
                      "yardstick_value": yardstick_value and round(yardstick_value, 6),
                      "ratio": ratio and round(ratio, 3), "budget": budget,
                      "budget_of": "value" if absolute else "ratio", "met": measured <= budget,
                      "peers": peers}), flush=True)


def skip(name, reason):
    print(json.dumps({"name": name, "skipped": reason}), flush=True)


def seconds(command, **options):
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   **options)
    return time.monotonic() - start


NOOP = os.path.join(BUILD, "bench/noop")


def process_cost(command, rounds, given="", env=None, room=None, under=()):
    """Median cost of a command and of a no-op started the same way, and the command's memory.
    room: the command runs in a room made for this folder. under: a command that starts it all."""
    done = subprocess.run([*under, os.path.join(BUILD, "bench/process_cost"),
                           *(("--room", room) if room else ()),
                           os.path.join(OUT, "lib/ikigai/keeper"), NOOP, str(rounds), given]
                          + command, check=True, stdout=subprocess.PIPE, env=env)
    return json.loads(done.stdout)


def bench_calls():
    for name, arguments in (("file-read", {"file_path": "/etc/hostname"}),
                            ("glob", {"pattern": "/etc/h*"}),
                            ("grep", {"pattern": "root", "path": "/etc/passwd"})):
        tool = os.path.join(TOOLS, name)
        call = process_cost([tool], 400, json.dumps(arguments))
        report(f"{name} call, stdin to parsed result", call["command"], "us", "static no-op",
               call["noop"], 1.5)
        schema = process_cost([tool, "--schema"], 400)
        report(f"{name} --schema", schema["command"], "us", "static no-op", schema["noop"], 1.2)


def write_tools(folder, count, script):
    os.makedirs(folder)
    for i in range(count):
        path = os.path.join(folder, f"tool-{i}")
        with open(path, "w") as f:
            f.write(script.replace("@", str(i)))
        os.chmod(path, 0o755)
        os.utime(path, (time.time() - 60, time.time() - 60))


SH_TOOL = """#!/bin/sh
echo '{"name":"tool_@","description":"t","parameters":{"type":"object","properties":{}}}'
"""
PYTHON_TOOL = """#!/usr/bin/python3
import json
print(json.dumps({"name": "tool_@", "description": "t", "parameters": {}}))
"""


def listed(home):
    env = dict(os.environ, IKIGAI_HOME=home)
    done = subprocess.run([IKIGAI, "tool", "list", "--json"], check=True, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=home)
    return json.loads(done.stdout)


def bench_discovery(scratch):
    home = os.path.join(scratch, "sh")
    write_tools(os.path.join(home, "tools"), 200, SH_TOOL)
    env = dict(os.environ, IKIGAI_HOME=home)
    names = "\n".join(os.path.join(home, "tools", f"tool-{i}") for i in range(200))
    cold, direct = [], {p: [] for p in (2, 4, 8, 16)}
    for _ in range(7):
        for p, times in direct.items():
            # xargs cannot run the name itself as the command; sh is what #!/bin/sh starts.
            times.append(seconds(["xargs", "-P", str(p), "-I{}", "/bin/sh", "{}", "--schema"],
                                 input=names.encode()))
        shutil.rmtree(os.path.join(home, "cache"), ignore_errors=True)
        cold.append(seconds([IKIGAI, "tool", "list"], env=env, cwd=home))
    best = min(direct, key=lambda p: sorted(direct[p])[3])
    report("discovery of 200 sh tools, cold", sorted(cold)[3], "s", f"xargs -P {best}",
           sorted(direct[best])[3], 1.1)
    bench_warm(home, env)

    home = os.path.join(scratch, "python")
    write_tools(os.path.join(home, "tools"), 200, PYTHON_TOOL)
    lost = 200 - sum(tool["name"].startswith("tool_") for tool in listed(home))
    report("discovery of 200 Python tools: lost", lost, "tools", "", None, 0, absolute=True)


def bench_warm(home, env):
    """A warm start executes only ikigai itself."""
    if shutil.which("strace") is None:
        skip("programs started by a warm start", "strace is not installed")
        return
    listed(home)
    trace = os.path.join(home, "trace")
    subprocess.run(["strace", "-f", "-o", trace, "-e", "trace=execve,vfork,fork,clone,clone3",
                    IKIGAI, "tool", "list"], check=True, env=env, cwd=home,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(trace) as f:
        started = sum("exec" in line or "fork" in line or "clone" in line for line in f) - 1
    report("programs started by a warm start", started, "", "", None, 0, absolute=True)


def bench_file_read(scratch):
    big = os.path.join(scratch, "big")
    line = b"".join(b"line %07d of a large file, with some text behind it\n" % i
                    for i in range(20000))
    with open(big, "wb") as f:
        while f.tell() < 1 << 30:
            f.write(line)
    count = os.path.getsize(big) // len(line) * 20000
    first, last = count - 5000, count - 4901
    ours, sed = [], []
    call = json.dumps({"file_path": big, "offset": first, "limit": 100}).encode()
    for _ in range(3):
        sed.append(seconds(["sed", "-n", f"{first},{last}p;{last}q", big]))
        ours.append(seconds([os.path.join(TOOLS, "file-read")], input=call))
    report("file_read of 100 lines near the end of 1 GB", min(ours), "s", "sed -n N,Mp", min(sed),
           0.5)


def bench_memory(scratch):
    env = dict(os.environ, IKIGAI_HOME=os.path.join(scratch, "sh"))
    cost = process_cost([IKIGAI, "tool", "list", "--json"], 3, env=env)
    report("resident memory of ikigai tool list (206 tools)", cost["rss_kb"] / 1024, "MB", "",
           None, 8, absolute=True)


def main():
    scratch = tempfile.mkdtemp(prefix="ikigai-bench-")
    try:
        bench_calls()
        bench_discovery(scratch)
        bench_memory(scratch)
        bench_file_read(scratch)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.exit(main())
