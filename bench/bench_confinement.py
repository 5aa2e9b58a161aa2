"""Measures confinement: a call in a room beside the same call without one, making a room, its memory,
and what it costs a session that needs none.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from bench_tools import IKIGAI, NOOP, process_cost, report, skip

ROUNDS = 400
# Starts a program where no user namespace can be made, which leaves Landlock and seccomp.
WITHOUT_NAMESPACES = ("unshare", "-Ur", "sh", "-c",
                      'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh")
LEVELS = (("full", ()), ("partial", WITHOUT_NAMESPACES))
# What a room consists of, as far as bwrap can do it.
BWRAP = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
         "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--die-with-parent"]


def make_folders(scratch):
    """A project with the places that a room protects, and a home with those that it hides."""
    for name in ("home/.ikigai/tools", "home/.ssh", "home/.aws", "home/.cache", "home/.cargo",
                 "project/.git/hooks", "project/.git/objects", "project/.vscode"):
        os.makedirs(os.path.join(scratch, name))
    for name in ("home/.netrc", "project/.git/config", "project/.envrc"):
        with open(os.path.join(scratch, name), "w"):
            pass


def bench_level(scratch, level, under):
    try:
        cost = process_cost([NOOP], ROUNDS, room=scratch, under=under)
    except (OSError, subprocess.CalledProcessError) as error:
        skip(f"a confined call, level {level}", f"this level cannot be had here: {error}")
        return
    if cost["level"] != level:
        skip(f"a confined call, level {level}", f"the level is {cost['level']} here")
        return
    report(f"added to a call by confinement, level {level}", cost["command"] - cost["noop"], "us",
           "the same call, unconfined", cost["noop"], 500, absolute=True)
    report(f"a room made, level {level}", cost["room"] / 1000, "ms", "", None, 8, absolute=True)
    if level == "full":
        report("copies of /tmp and the caches, once", (cost["first_room"] - cost["room"]) / 1000,
               "ms", "finding out the level", cost["detect"] / 1000, 12, absolute=True)
    report(f"resident memory of a room, level {level}", cost["room_kb"] / 1024, "MB", "", None, 1,
           absolute=True)
    bench_processes(scratch, level, under)


def count_calls(scratch, calls):
    """Returns a command that notes these system calls of what it starts, and a function that then
    says how many there were."""
    trace = os.path.join(scratch, "trace")

    def count():
        with open(trace) as f:
            return sum(any(f" {call}(" in line for call in calls) for line in f)
    return ("strace", "-f", "-o", trace, "-e", f"trace={','.join(calls)}"), count


def bench_processes(scratch, level, under):
    """Each round starts one process unconfined and one confined."""
    name = f"processes more per confined call, level {level}"
    if shutil.which("strace") is None:
        skip(name, "strace is not installed")
        return
    few, many = 5, 25
    strace, count = count_calls(scratch, ("fork", "vfork", "clone", "clone3"))
    started = []
    for rounds in (few, many):
        process_cost([NOOP], rounds, room=scratch, under=(*under, *strace))
        started.append(count())
    report(name, (started[1] - started[0]) / (many - few) - 2, "", "", None, 0, absolute=True)


def bench_bwrap(scratch):
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        skip("added to a call by bwrap", "bwrap is not installed")
        return
    noop = shutil.copy(NOOP, scratch)  # the build may be in /tmp, which is empty there
    cost = process_cost([bwrap, *BWRAP, noop], ROUNDS // 4)
    version = subprocess.run([bwrap, "--version"], stdout=subprocess.PIPE, text=True)
    print(json.dumps({"compared": {"bwrap": version.stdout.strip()}}), flush=True)
    print(json.dumps({"name": "added to a call by bwrap", "unit": "us",
                      "value": round(cost["command"] - cost["noop"], 1),
                      "yardstick": "the same call without it",
                      "yardstick_value": cost["noop"]}), flush=True)


def bench_unused(scratch):
    """Every room enters Landlock, and so does the trial that finds out the level, once."""
    name = "rooms made by a session without a call"
    if shutil.which("strace") is None:
        skip(name, "strace is not installed")
        return
    env = dict(os.environ, HOME=os.path.join(scratch, "home"), IKIGAI_MODEL="offline/offline")
    env.pop("IKIGAI_HOME", None)
    strace, count = count_calls(scratch, ("landlock_restrict_self",))
    subprocess.run([*strace, IKIGAI, "-p", "hello"], check=True, env=env,
                   cwd=os.path.join(scratch, "project"), stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)
    report(name, max(count() - 1, 0), "", "", None, 0, absolute=True)


def main():
    # Not in /tmp, of which a room has a copy.
    scratch = tempfile.mkdtemp(prefix="ikigai-bench-", dir="/var/tmp")
    try:
        make_folders(scratch)
        for level, under in LEVELS:
            bench_level(scratch, level, under)
        bench_bwrap(scratch)
        bench_unused(scratch)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.exit(main())
