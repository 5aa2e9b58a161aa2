#!/usr/bin/python3
"""Promise 2: file_write and file_edit leave the old or the new file, never a mix or a leftover.

Every system call a tool makes after it has read its input is made to fail (EIO, ENOSPC) and is made
the moment of its death (SIGKILL), one run each. After each run the file must be the old or the new
one, whichever the tool's answer said, with the same owner and mode, alone in its folder.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import support

PROMISE = 2
OLD = b"old line\n" * 9000 + b"the needle\n" + b"more\n" * 5000
NEW_WRITE = b"completely new content\n" * 4000
NEW_EDIT = OLD.replace(b"needle", b"thread that is longer")
FAULTS = ["signal=KILL", "error=EIO", "error=ENOSPC"]
LEFTOVER_SECONDS = 3.0
ROOT = os.getuid() == 0


class Scenario:
    """One tool on one kind of file: how to set it up, and what may be there afterwards."""

    def __init__(self, name, tool, exists=True, link=None, special=False, named=False):
        self.name, self.tool, self.exists = name, tool, exists
        self.link, self.special, self.named = link, special, named
        self.new = NEW_WRITE if tool == "file_write" else NEW_EDIT
        self.always = []  # injections of every run
        self.names = {"f"} | ({"link"} if link else set())

    def params(self):
        path = "link" if self.link else "f"
        if self.tool == "file_write":
            return {"file_path": path, "content": NEW_WRITE.decode()}
        return {"file_path": path, "old_string": "needle", "new_string": "thread that is longer"}

    def prepare(self, folder):
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        path = os.path.join(folder, "f")
        if self.exists:
            with open(path, "wb") as f:
                f.write(OLD)
            os.chmod(path, 0o640)
            if self.special and ROOT:
                os.chown(path, 1234, 5678)
            if self.special:
                os.setxattr(path, "user.promise", b"kept")
        if self.link:
            os.symlink("f", os.path.join(folder, "link"))


def scenarios(quick):
    found = [
        Scenario("write a new file", "file_write", exists=False),
        Scenario("write over a file", "file_write"),
        Scenario("edit a file", "file_edit"),
        Scenario("edit a file of another with attributes", "file_edit", special=True),
        Scenario("write through a dangling link", "file_write", exists=False, link=True),
        Scenario("edit through a link", "file_edit", link=True),
    ]
    # Filesystems without O_TMPFILE: that open fails in every run, so the temporary file has a name.
    found += [
        Scenario("write a new file, named temporary", "file_write", exists=False, named=True),
        Scenario("edit, named temporary", "file_edit", named=True),
    ]
    return found[:4] + found[6:] if quick else found


def run(scenario, folder, inject=None):
    """Returns (CompletedProcess, trace)."""
    trace = folder + ".trace"
    command = ["strace", "-o", trace]
    for each in scenario.always + ([inject] if inject else []):
        command += ["-e", f"inject={each}"]
    done = subprocess.run(command + [support.tool_path(scenario.tool)], cwd=folder,
                          input=json.dumps(scenario.params()).encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env=support.clean_env(ASAN_OPTIONS="detect_leaks=0"))
    with open(trace, errors="replace") as f:
        return done, f.read()


def syscalls_after_input(trace):
    """[(name, n-th of that name)] of the calls behind the read that found the end of stdin."""
    calls, seen, reading = [], {}, True
    for line in trace.splitlines():
        match = re.match(r"(\w+)\(", line)
        if not match:
            continue
        name = match.group(1)
        seen[name] = seen.get(name, 0) + 1
        if not reading and name != "exit_group":
            calls.append((name, seen[name]))
        if reading and re.match(r'read\(0, "", \d+\) += 0', line):
            reading = False
    return calls


def refuse_nameless(trace):
    """The injection that makes the open of a nameless temporary file fail."""
    opens = [line for line in trace.splitlines() if line.startswith("openat(")]
    nth = 1 + next(i for i, line in enumerate(opens) if "O_TMPFILE" in line)
    return f"openat:error=EOPNOTSUPP:when={nth}"


def settle(folder, names):
    """Waits for the guard of a killed tool; returns what should not be there."""
    deadline = time.monotonic() + LEFTOVER_SECONDS
    while True:
        extra = set(os.listdir(folder)) - names
        if not extra or time.monotonic() > deadline:
            return extra
        time.sleep(0.002)


def content(folder):
    try:
        with open(os.path.join(folder, "f"), "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None


def judge(scenario, folder, done):
    """What is wrong after a run, as a list of texts."""
    wrong = []
    extra = settle(folder, scenario.names)
    if extra:
        wrong.append(f"leftover {sorted(extra)}")
    now = content(folder)
    old = OLD if scenario.exists else None
    if now not in (old, scenario.new):
        wrong.append(f"torn: {len(now or b'')} bytes")
    if done.stdout:
        answer = json.loads(done.stdout)
        wanted = old if "error" in answer else scenario.new
        if now != wanted:
            wrong.append(f"answered {done.stdout[:80]!r}, but the file is another")
    if scenario.exists and now is not None:
        st = os.stat(os.path.join(folder, "f"))
        owner = (1234, 5678) if scenario.special and ROOT else (os.getuid(), os.getgid())
        if (st.st_mode & 0o7777, st.st_uid, st.st_gid) != (0o640, *owner):
            wrong.append("mode or owner changed")
    if scenario.link and not os.path.islink(os.path.join(folder, "link")):
        wrong.append("the link is gone")
    return wrong


def was_hit(fault, done, trace):
    if fault == "signal=KILL":
        return done.returncode == -9
    name = fault.split("=")[1]
    return any("(INJECTED)" in line and name in line for line in trace.splitlines())


def prove(scenario, folder):
    """Returns (injections, problems)."""
    scenario.prepare(folder)
    done, trace = run(scenario, folder)
    if scenario.named:
        scenario.always.append(refuse_nameless(trace))
        scenario.prepare(folder)
        done, trace = run(scenario, folder)
    problems = judge(scenario, folder, done)
    if content(folder) != scenario.new:
        problems.append("does not work undisturbed")
    calls = syscalls_after_input(trace)
    if scenario.named:  # one rule per system call: openat has its rule already
        calls = [(name, nth) for name, nth in calls if name != "openat"]
    if len(calls) < 10:
        problems.append(f"only {len(calls)} calls seen")
    count = 0
    for name, nth in calls:
        for fault in FAULTS:
            scenario.prepare(folder)
            inject = f"{name}:{fault}:when={nth}"
            done, trace = run(scenario, folder, inject)
            count += 1
            wrong = judge(scenario, folder, done)
            if not was_hit(fault, done, trace):
                wrong.append("the injection did not hit")
            problems += [f"{scenario.name}, {inject}: {text}" for text in wrong]
    return count, problems


def main():
    quick = "--quick" in sys.argv
    base = tempfile.mkdtemp(prefix="ikigai-promise-")
    total, problems = 0, []
    try:
        for i, scenario in enumerate(scenarios(quick)):
            folder = os.path.join(base, str(i))
            os.mkdir(folder)
            count, wrong = prove(scenario, folder)
            print(f"{scenario.name}: {count} injections, {len(wrong)} problems")
            total += count
            problems += wrong
    finally:
        shutil.rmtree(base, ignore_errors=True)
    for text in problems[:20]:
        print(text)
    torn = sum(": torn" in p or "but the file is another" in p for p in problems)
    left = sum(": leftover" in p for p in problems)
    other = len(problems) - torn - left
    passed = not problems and total > 0
    figure = f"{total} injections: {torn} torn, {left} leftovers"
    figure += f", {other} other problems" if other else ""
    print(json.dumps({"promise": PROMISE, "passed": passed, "figure": figure}))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
