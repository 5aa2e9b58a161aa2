"""Measures what extends ikigai: a before_tool hook beside its own spawn, and 200 skills at the start.

Each run is measured alternately with one that has no hook or skill.
"""
import json
import os
import shutil
import statistics
import sys
import tempfile

from bench_tools import NOOP, process_cost, report
from bench_turns import CALL, PROMPT, Run, Server, environment, gaps

SKILLS = 200
DESCRIPTION = "Use when the user wants to do task number @ in the way this project does it"


def homes(scratch, url, fill):
    """The environments of a home that fill() has filled, and of an empty one."""
    result = []
    for name in ("with", "without"):
        env = environment(scratch, url)
        home = os.path.join(scratch, f"home-{fill.__name__}-{name}")
        if not os.path.isdir(home):
            shutil.copytree(env["IKIGAI_HOME"], home)
            if name == "with":
                fill(home)
        result.append({**env, "IKIGAI_HOME": home})
    return result


def hook(home):
    os.makedirs(os.path.join(home, "hooks/before_tool"))
    shutil.copy(NOOP, os.path.join(home, "hooks/before_tool/noop"))


def skills(home):
    for number in range(SKILLS):
        folder = os.path.join(home, f"skills/skill-{number}")
        os.makedirs(folder)
        with open(os.path.join(folder, "SKILL.md"), "w") as f:
            f.write(f"---\nname: skill-{number}\ndescription: {DESCRIPTION.replace('@', str(number))}\n"
                    "---\n" + "Do it well.\n" * 100)


def alternate(environments, rounds):
    runs = [[], []]
    for turn in range(rounds + 1):
        for number, env in enumerate(environments):
            run = Run(PROMPT, env)
            if turn > 0:  # the first one fills caches
                runs[number].append(run)
    return runs


def bench_hook(scratch):
    spawn = process_cost([NOOP], 400, json.dumps(CALL))["command"] / 1000
    with Server(scratch, "--fast", "50", "--tool", "glob", "--args", json.dumps(CALL)) as server:
        runs = alternate(homes(scratch, server.url, hook), 9)
    ours, bare = (min(statistics.median(gaps(server, run.begin)[1:50]) for run in some)
                  for some in runs)
    report("what a before_tool hook that does nothing adds to a call", max(ours - bare, 0), "ms",
           "its own spawn", spawn, 1.2)


def bench_start(scratch, fill, name, most):
    """The quietest ten of forty starts, because the difference is a small part of a start."""
    with Server(scratch, "--fast", "0", "--tool", "glob", "--args", "{}") as server:
        runs = alternate(homes(scratch, server.url, fill), 40)
    received = [t[0] for t in server.times()]

    def first_request(run):
        return next(t for t in received if t >= run.begin) - run.begin
    ours, bare = (statistics.mean(sorted(map(first_request, some))[:10]) / 1e6 for some in runs)
    report(f"what {name} add to exec to first request", max(ours - bare, 0), "ms",
           "exec to first request without them", bare, most, absolute=True)


def main():
    scratch = tempfile.mkdtemp(prefix="ikigai-bench-")
    try:
        bench_hook(scratch)
        bench_start(scratch, skills, f"{SKILLS} skills", 1)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.exit(main())
