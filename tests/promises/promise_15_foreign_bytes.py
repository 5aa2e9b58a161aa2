#!/usr/bin/python3
"""Promise 15: no foreign byte drives the terminal.

Millions of hostile inputs go through every way that leads to a terminal (foreign_driver): what
comes out is read by a strict reader that knows our own sequences and nothing else. And whole
sessions in a pseudo terminal, in which everything is hostile: what the model says and thinks, its
arguments, the tools' schemas, output, progress and errors, names of files, what the user pastes;
all that is printed goes through terminal_checker, and no sequence in it may have been said by
anyone but us.

SEED=N chooses other inputs, INPUTS=N and SESSIONS=N how many.
"""
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import hostile
from fake_llm import Answer, Call
from repl_support import ReplTest
from support import IKIGAI, OBJECTS, clean_env
from terminal_support import SILENT

DRIVER = os.path.join(OBJECTS, "tests", "promises", "foreign_driver")
WORKERS = 2
SHOWN = 3  # problems

# What we never print; the strings among them have MARKS.
SEQUENCES = [
    "\x1b]0;EVIL\x07", "\x1b]2;EVIL\x1b\\", "\x1b]52;c;RVZJTA==\x07",
    "\x1b]8;;http://evil.invalid/\x1b\\", "\x1b]9;EVIL\x07", "\x1b]0;EVIL", "\u009d0;EVIL\u009c",
    "\x1bPEVIL\x1b\\", "\x1b_EVIL\x1b\\", "\x1b^EVIL\x1b\\", "\x1bXEVIL\x1b\\", "\x1b[2J",
    "\x1b[3J", "\x1b[H", "\x1b[5;5H", "\x1b[9A", "\x1b[1;5r", "\x1b[3S", "\x1b[2T", "\x1b[?1049h",
    "\x1b[?1000h", "\x1b[?7l", "\x1b[6n", "\x1b[c", "\x1b[21t", "\x1b[!p", "\x1b[>4;2m", "\x1bc",
    "\x1b(0", "\x1b#8", "\x1b7", "\x1b8", "\x1bM", "\x1b[", "\x1b]", "\x1bP", "\x1b", "\u009b2J",
    "\u009b5A", "\u0090", "\u0085", "\x07", "\x08", "\x0b", "\x0c", "\x0e", "\x0f", "\x05",
    "\x18", "\x1a", "\x7f", "\r", "\r\n"]
UNSEEN = ["\u202e", "\u2066", "\u200f", "\u061c", "\u200b", "\u2060", "\ufeff", "\u00ad", "\u2028",
          "\U000e0041", "\u3164", "\U0010ff00", "\ufe0f", "\u200d"]
TEXT = [
    "word ", "a", "\n", "\n\n", " ", "\t", "é", "日本", "👩", "\u0645", "\x1b[31m", "\x1b[0m",
    "\x1b[38;2;1;2;3m", "# ", "- ", "```\n", "`", "**", "[x](http://ok.invalid/", ")",
    "| a | b |\n|---|---|\n", "> ", "<b>", "&#27;[2J", "\\", "\"", "'", "$(", "x" * 90]
# A link that the model wrote is ours, wherever it leads, and so is one to a file it names, whose
# name is spelt in percent signs; that there is nothing else in a link is what the reader checks.
MARKS = re.compile(rb"\x1b(?!\]8;;(?:http://ok\.|file:///))[\]P_^X]"
                   rb"[^\x07\x1b]*(EVIL|RVZJ|evil\.invalid)")
ALTERNATE, MAIN = b"\x1b[?1049h", b"\x1b[?1049l"


def evil(rng, longest=25):
    parts = [rng.choice(rng.choice((SEQUENCES, SEQUENCES, UNSEEN, TEXT)))
             for _ in range(rng.randint(1, longest))]
    return "".join(parts)


def pasted(rng, longest):
    return "x" + evil(rng, longest).replace("\x1b[201~", "")


def evil_name(rng):
    text = evil(rng, 6).replace("/", "_").encode()[:200]
    extra = bytes(rng.choice((0x9b, 0xff, 0xc3, 0x80)) for _ in range(rng.randint(0, 2)))
    return text + extra + b".txt"


class Session(ReplTest):
    """One session, and what the commands print of it afterwards."""

    def __init__(self, seed):
        super().__init__("session")
        self.seed, self.rng = seed, random.Random(seed)
        self.pages = 0

    # ---- everybody is hostile

    def spread(self):
        for _ in range(3):
            with open(os.path.join(os.fsencode(self.project), evil_name(self.rng)), "w") as f:
                f.write(evil(self.rng))
        with open(os.path.join(self.project, "out"), "wb") as f:
            f.write(evil(self.rng, 60).encode() + b"\x9b2J\xff\xc3\n")
        answer = json.dumps({"output": evil(self.rng), evil(self.rng, 4): [evil(self.rng)]})
        parameter = {"type": "string", "description": evil(self.rng)}
        schema = json.dumps({"name": "evil", "description": evil(self.rng), "parameters": {
            "type": "object", "properties": {"text": parameter, evil(self.rng, 3): parameter}}})
        for name, text in (("schema", schema), ("answer", answer), ("said", evil(self.rng)),
                           ("progress", json.dumps({"text": evil(self.rng)}) + "\n")):
            with open(self.path(name), "w") as f:
                f.write(text)
        status = self.rng.choice((0, 0, 1))
        hostile.write_program(os.path.join(self.home, "tools", "evil"), f"""#!/bin/sh
[ "$1" = --schema ] && exec cat {self.path("schema")}
cat {self.path("progress")} >&"$IKIGAI_PROGRESS_FD"
cat {self.path("said")} >&2
cat {self.path("answer")}
exit {status}
""")

    def script(self):
        calls = [Call("evil", {"text": evil(self.rng)}),
                 Call("bash", {"command": "cat out; echo " + evil(self.rng, 3).replace("'", "")}),
                 Call("glob", {"pattern": "*"}), Call(evil(self.rng, 2), {evil(self.rng, 2): 1}),
                 Call("file_read", {"file_path": evil(self.rng, 3)}),
                 Call("file_write", {"file_path": "new.c", "content": evil(self.rng)})]
        chosen = self.rng.sample(calls, 3)
        return [Answer(evil(self.rng), thinking=evil(self.rng), calls=chosen,
                       quirks=("reasoning_content",), fragments=self.rng.randint(1, 20)),
                Answer(evil(self.rng, 60) + "\n\n~~~\n```\n\nEND-OF-ANSWER\n",
                       fragments=self.rng.randint(1, 40))]

    # ---- what the user does

    def settle(self, t):
        begin = time.monotonic()
        t.wait_until(lambda: time.monotonic() - max(begin, t.last_output) > 0.15, "silence")

    def read_pages(self, t, keys="\x0f"):
        self.pages += 1
        t.send(keys)
        t.wait_until(lambda: t.raw.count(ALTERNATE) == self.pages, "pager")
        self.settle(t)
        t.send("q")
        t.wait_until(lambda: t.raw.count(MAIN) == self.pages, "end of the pager")

    def show_result(self, t):
        self.read_pages(t, self.rng.choice(["/show 1\r", "/show 2\r"]))

    def search(self, t):
        """Earlier messages; Escape by itself is known after a while only."""
        t.send("\x12w")
        t.wait_for("search:")
        t.send("\x1b")
        t.wait_gone("search:")

    def list_sessions(self, t):
        t.send("/sessions\r")
        t.wait_for("Resume which session?")
        self.settle(t)
        t.send("\x1b")
        t.wait_gone("Resume which session?")

    def complete(self, t):
        t.send("@")
        self.settle(t)
        t.send("\x7f")

    def paste(self, t):
        t.paste(pasted(self.rng, 40))
        self.settle(t)
        t.send("\x03")

    def choose(self, t):
        t.send("/model x/")
        t.paste(pasted(self.rng, 3))
        t.send("\r")

    def use(self, t):
        t.paste(pasted(self.rng, 25))
        t.send(" go\r")
        t.wait_for("END-OF-ANSWER")
        self.settle(t)
        todo = ["/tool", "/tool evil", self.show_result, "!cat out; ls",
                self.list_sessions,
                "/search go", "/usage", self.read_pages, self.search, self.complete, self.paste,
                self.choose]
        for what in self.rng.sample(todo, 6):
            if callable(what):
                what(t)
            else:
                t.send(what + "\r")
            self.settle(t)
        t.send("\x03")
        self.settle(t)
        self.assertEqual(self.leave(t), 0)

    # ---- what came of it

    def look(self, t, pages):
        found = MARKS.search(t.raw)
        self.assertIsNone(found, found)
        self.assertEqual(t.raw.count(ALTERNATE), pages)

    def command(self, *args):
        """Without colours a command prints no escape at all."""
        t = self.terminal([IKIGAI, *args], cwd=self.project, answers=SILENT, dumb=True,
                          env=clean_env(IKIGAI_HOME=self.home, TERM="xterm-256color", NO_COLOR="1"))
        t.wait_exit()
        t.close()

    def session(self):
        self.spread()
        t = self.ready(self.script())
        self.use(t)
        t.close()
        self.look(t, self.pages)
        for args in (["session", "list"], ["session", "search", "go"], ["tool", "list"],
                     ["tool", "show", "evil"], ["tool", "run", "evil", "{}"]):
            self.command(*args)
        done = subprocess.run([IKIGAI, "session", "list", "--json"], cwd=self.project,
                              stdout=subprocess.PIPE, env=clean_env(IKIGAI_HOME=self.home))
        for session in json.loads(done.stdout):
            self.command("session", "show", session["id"])


def run_session(seed):
    """The seed and what was wrong; None: nothing."""
    result = unittest.TestResult()
    Session(seed)(result)
    wrong = result.failures + result.errors
    return seed, wrong[0][1] if wrong else None


def run_driver(count, seed):
    done = subprocess.run([DRIVER, str(count), str(seed)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def drive(inputs, seed):
    """What both halves of the inputs came to."""
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as executor:
        parts = list(executor.map(run_driver, [inputs // WORKERS] * WORKERS,
                                  range(seed * 1000, seed * 1000 + WORKERS)))
    for part in parts:
        for violation in part["violations"]:
            print(f"{violation['way']}: {violation['what']}: {bytes.fromhex(violation['hex'])!r}")
    return {key: sum(part[key] for part in parts) for key in ("inputs", "read", "styled", "bad")}


def main():
    quick = "--quick" in sys.argv[1:]
    seed = int(os.environ.get("SEED", "1"))
    inputs = int(os.environ.get("INPUTS", 10 ** 5 if quick else 10 ** 7))
    sessions = int(os.environ.get("SESSIONS", 6 if quick else 300))
    begin = time.monotonic()
    print(f"seed {seed}", flush=True)
    driven = drive(inputs, seed)
    with concurrent.futures.ProcessPoolExecutor(WORKERS) as executor:
        wrong = [(number, problem) for number, problem in
                 executor.map(run_session, range(seed * 10 ** 6, seed * 10 ** 6 + sessions))
                 if problem]
    for number, problem in wrong[:SHOWN]:
        print(f"session {number}:\n{problem}")
    print(f"{time.monotonic() - begin:.0f} s")
    # Where nothing comes out, nothing can be wrong with it.
    alive = driven["inputs"] == inputs and driven["styled"] > inputs // 4
    hostile.conclude(15, alive and driven["bad"] == 0 and not wrong, (
        f"{driven['inputs']:,} inputs, {driven['read']:,} rows, lines and frames of them: "
        f"{driven['bad']} with anything but text and our own sequences; {sessions} sessions in "
        f"which everyone is hostile: {len(wrong)} (seed {seed})"))


if __name__ == "__main__":
    main()
