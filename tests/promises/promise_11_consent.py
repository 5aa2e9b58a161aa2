#!/usr/bin/python3
"""Promise 11: nothing in a project folder runs before consent, and consent is to bytes.

Folders of canaries are put before every command while strace watches for an exec of anything of
theirs. Then they are trusted and changed, one byte at a time; and rewritten without pause while
ikigai asks for consent and runs them: what runs is what was reviewed, or nothing."""
import os
import random
import re
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import hostile
from support import IKIGAI, Sandbox, tool_script

COMMANDS = [
    (["tool", "list"], b""), (["tool", "list", "--json"], b""), (["doctor"], b""),
    (["tool", "show", "canary"], b""), (["tool", "run", "canary", "{}"], b""),
    (["tool", "run", "bash", '{"command":"true"}'], b""), (["trust"], b"n\n"), (["trust"], b""),
    (["untrust"], b""), (["tool", "new", "mine"], b""),
]


class Canaries(Sandbox):
    def setUp(self):
        super().setUp()
        self.tools = os.path.join(self.project, ".ikigai", "tools")
        # A confined canary could run and leave no mark: consent has to hold without confinement.
        self.config({"confinement": "off"})

    def mark(self, word):
        return self.path("ran-" + word)

    def script(self, word, name="canary"):
        """A tool that says which bytes ran; every word has the same length."""
        return tool_script(name, f"echo '{{\"word\":\"{word}\"}}'",
                           first=f"echo x >> '{self.mark(word)}'")

    def reset(self):
        shutil.rmtree(os.path.dirname(self.tools), ignore_errors=True)
        os.makedirs(self.tools)
        self.write("project/.ikigai/config.json", "{}", 0o644)

    def ran(self):
        return [n for n in os.listdir(self.dir) if n.startswith("ran-")]


def kinds(s):
    """Folders with something to execute in them."""
    def plain():
        s.project_tool("canary", s.script("plain"))

    def overriding():
        for name in ("bash", "file-read", "grep", "glob"):
            s.project_tool(name, s.script("overr", name.replace("-", "_")))

    def binary():
        shutil.copy("/bin/sh", os.path.join(s.tools, "canary"))

    def linked():
        s.project_tool("real", s.script("plain"))
        os.symlink("real", os.path.join(s.tools, "canary"))

    def linked_out():
        s.write("project/outside", s.script("plain"), 0o755)
        os.symlink("../../outside", os.path.join(s.tools, "canary"))

    def folder_linked():
        s.write("elsewhere/canary", s.script("plain"), 0o755)
        os.rmdir(s.tools)
        os.symlink(s.path("elsewhere"), s.tools)

    def python():
        s.project_tool("canary", f"#!/usr/bin/python3\nopen({s.mark('pytho')!r}, 'w')\n")

    def no_interpreter():
        s.project_tool("canary", f"echo x > '{s.mark('noint')}'\n")

    def setuid():
        s.project_tool("canary", s.script("setui"), 0o6755)

    def own_interpreter():
        s.project_tool("interp", s.script("inter"))
        s.project_tool("canary", f"#!{s.tools}/interp\n")

    return [plain, overriding, binary, linked, linked_out, folder_linked, python, no_interpreter,
            setuid, own_interpreter]


def watch(s, args, stdin):
    """(execs seen, those of the project's files)"""
    lines = s.trace("execve,execveat", *args, options=["-f"], input=stdin)
    execs = [line for line in lines if re.search(r"execve(at)?\(", line)]
    foreign = (os.path.realpath(s.project), os.path.realpath(s.dir) + "/elsewhere", "/trusted/")
    return len(execs), [e for e in execs if any(f in e for f in foreign) or "execveat" in e]


def before_consent(s):
    seen, bad, folders = 0, [], 0
    for kind in kinds(s):
        s.reset()
        kind()
        folders += 1
        for args, stdin in COMMANDS:
            execs, foreign = watch(s, args, stdin)
            seen += execs
            bad += foreign + [f"{kind.__name__} {args} left {m}" for m in s.ran()]
    # The watch itself must be able to see one.
    s.reset()
    s.project_tool("canary", s.script("plain"))
    _, foreign = watch(s, ["tool", "run", "--trust", "canary", "{}"], b"")
    if not foreign or s.ran() != ["ran-plain"]:
        bad.append(f"the watch is blind: {foreign} {s.ran()}")
    for name in s.ran():
        os.remove(s.path(name))
    return folders * len(COMMANDS), seen, bad


def one_byte(s, limit):
    """Every byte of every file, changed one at a time."""
    s.reset()
    files = {"canary": s.script("plain").encode(), "lib/data": bytes(range(256))}
    for name, content in files.items():
        s.project_tool(name, content, 0o755)
    s.ikigai("trust", "--yes")
    s.ikigai("tool", "run", "canary", "{}")
    os.remove(s.mark("plain"))
    places = [(n, i) for n, c in files.items() for i in range(len(c))]
    if limit:
        places = random.Random(11).sample(places, min(limit, len(places)))
    bad = []
    for name, at in places:
        content = bytearray(files[name])
        content[at] ^= 1 << (at % 8)
        path = os.path.join(s.tools, name)
        with open(path, "r+b") as f:
            f.write(content)
        done = s.ikigai("tool", "run", "canary", "{}", status=None)
        if done.status != 1 or f"{name} changed" not in done.err or s.ran():
            bad.append(f"{name} byte {at}: {done.out} {done.err} {s.ran()}")
        with open(path, "r+b") as f:
            f.write(files[name])
    s.ikigai("tool", "run", "canary", "{}")
    for mark in s.ran():
        os.remove(s.path(mark))
    return len(places), bad


class Swapper(threading.Thread):
    """Puts one text after the other in the tool's place, by renaming and by writing into it."""

    def __init__(self, path, texts, longest_pause):
        super().__init__()
        self.path, self.texts, self.longest_pause = path, texts, longest_pause
        self.over = threading.Event()
        self.count = 0

    def run(self):
        pause = random.Random(12)
        while not self.over.is_set():
            text = self.texts[self.count % len(self.texts)]
            self.count += 1
            if self.count % 3:
                with open(self.path + ".new", "w") as f:
                    os.fchmod(f.fileno(), 0o755)
                    f.write(text)
                os.replace(self.path + ".new", self.path)
            else:
                with open(self.path, "r+") as f:
                    f.write(text)
            self.over.wait(pause.random() * self.longest_pause)


def swapped(s, rounds):
    """Consent is given when the review shows the good bytes, and only then; the evil ones must
    never run. Where they came in between, the round ends in a refusal."""
    s.reset()
    path = os.path.join(s.tools, "canary")
    good, evil = s.script("good!"), s.script("evil!")
    assert len(good) == len(evil)
    s.project_tool("canary", good)
    shown = s.ikigai("trust", input=b"n\n", status=1).out
    review = re.search(r"(?m)^  canary .*sha256 [0-9a-f]{16}$", shown)[0]
    consents = runs = 0
    bad = []
    swapper = Swapper(path, [good, evil], 0.04)
    swapper.start()
    try:
        for _ in range(rounds):
            child = subprocess.Popen([IKIGAI, "trust"], cwd=s.project, env=s.env(),
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL)
            seen = b""
            while not seen.endswith(b"[y/N] "):
                part = child.stdout.read1(4096)
                if not part:
                    break
                seen += part
            tools = [line for line in seen.decode().splitlines() if "sha256" in line]
            child.communicate(b"y\n" if tools == [review] else b"n\n", timeout=60)
            consents += child.returncode == 0 and tools == [review]
            done = s.ikigai("tool", "run", "canary", "{}", status=None)
            runs += done.status == 0
            if "evil!" in done.out or os.path.exists(s.mark("evil!")):
                bad.append(f"evil bytes ran: {done.out}")
                break
            if done.status == 0 and "good!" not in done.out:
                bad.append(f"neither ran: {done.out}")
            s.ikigai("untrust")
    finally:
        swapper.over.set()
        swapper.join()
    return swapper.count, consents, runs, bad


def swap_after_consent(s, rounds):
    """Trusted once, then swapped while it is run again and again."""
    s.reset()
    path = os.path.join(s.tools, "canary")
    good, evil = s.script("good!"), s.script("evil!")
    runs, bad = 0, []
    s.project_tool("canary", good)
    s.ikigai("trust", "--yes")
    swapper = Swapper(path, [good, evil], 0.004)
    swapper.start()
    try:
        for _ in range(rounds):
            done = s.ikigai("tool", "run", "canary", "{}", status=None)
            runs += done.status == 0
            if os.path.exists(s.mark("evil!")):
                bad.append(f"evil bytes ran: {done.out}")
                break
    finally:
        swapper.over.set()
        swapper.join()
    return swapper.count, runs, bad


def main():
    quick = "--quick" in sys.argv[1:]
    if not shutil.which("strace"):
        hostile.conclude(11, False, "strace is missing")
    with Canaries() as s:
        commands, seen, bad = before_consent(s)
        places, bytes_bad = one_byte(s, 60 if quick else None)
    with Canaries() as s:
        asked_swaps, consents, asked_runs, asked_bad = swapped(s, 100 if quick else 2000)
    with Canaries() as s:
        swaps, runs, run_bad = swap_after_consent(s, 150 if quick else 3000)
    bad += bytes_bad + asked_bad + run_bad
    for line in bad:
        print(line)
    hostile.conclude(11, not bad, (
        f"{commands} commands before canary folders, {seen} execs seen; {places} single bytes "
        f"changed; {asked_swaps + swaps} swaps during {consents} consents and "
        f"{asked_runs + runs} runs: {len(bad)} unapproved execs"))


main()
