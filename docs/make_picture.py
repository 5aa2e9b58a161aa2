#!/usr/bin/python3
"""Makes the pictures of README and manual: real sessions of the built program in a real terminal.

    docs/make_picture.py [--check] [NAME]...

Each session runs in tmux, in a project and a home of its own, against the scripted model server of
the tests; docs/NAME.svg is the unedited content of screen and scrollback at its end. --check runs
the sessions again and compares the result, except for numbers, with the files, so that the pictures
show what the program does. IKIGAI_OUT is the build tree of the program, if it is not this one.
"""
import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # before our own are imported: the tree stays clean
DOCS = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [DOCS, os.path.join(os.path.dirname(DOCS), "tests")]
import terminal_svg
from fake_llm import Answer, Call, FakeLLM, Usage
from support import IKIGAI, clean_env, on_this_machine
from terminal_support import Tmux

MODEL = "local/qwen3-coder"
COLUMNS, ROWS = 92, 34
QUIET = 1  # seconds without a change on the screen: nothing is going on; a spinner turns faster
PROMPT = re.compile(r"^>( |$)", re.M)
SHELL_PROMPT = re.compile(r"^\$$", re.M)


def read_example(name):
    with open(os.path.join(os.path.dirname(DOCS), "examples", name), encoding="utf-8") as f:
        return f.read()


class Stage:
    """A shell in a terminal: its project, its home and its model are made for it."""

    def __init__(self, scratch, files, config):
        self.home, self.project = (os.path.join(scratch, name) for name in ("home", "project"))
        os.mkdir(self.project)
        for name, text in files.items():
            self.write(os.path.join(self.project, name), text)
        self.write(os.path.join(self.home, ".ikigai", "config.json"), json.dumps(config))
        self.write(os.path.join(self.home, ".shrc"), "PS1='$ '\n")
        path = f"{os.path.dirname(IKIGAI)}:{os.environ['PATH']}"
        self.env = clean_env(HOME=self.home, ENV=os.path.join(self.home, ".shrc"), PATH=path,
                             SHELL="/bin/sh", LC_ALL="C.UTF-8")
        for name in ("NO_COLOR", "COLORTERM", "TERM_PROGRAM"):
            self.env.pop(name, None)

    @staticmethod
    def write(path, text):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o755 if text.startswith("#!") else 0o600)

    def greet(self):
        """A user who was here before gets a short welcome."""
        subprocess.run([IKIGAI, "-p", "hello"], env=self.env, cwd=self.project, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def __enter__(self):
        self.tmux = Tmux(["/bin/sh"], columns=COLUMNS, rows=ROWS, env=self.env, cwd=self.project)
        return self

    def __exit__(self, *_):
        """ikigai ends before its home goes."""
        try:
            self.tmux.send_keys("C-d")
            self.settle()
            if not SHELL_PROMPT.search("\n".join(self.tmux.rows())):
                self.tmux.send_keys("C-d")  # the first one closed a list
            self.tmux.wait_for(SHELL_PROMPT)
        finally:
            self.tmux.close()

    def start(self):
        # What ikigai is told when it asks for the terminal's background.
        self.tmux.run("set-option", "-g", "window-style", f"bg={terminal_svg.BACKGROUND}")
        self.tmux.wait_for(SHELL_PROMPT)
        self.enter("ikigai", PROMPT)

    def enter(self, line, until):
        """Types a line and waits until the text is there and nothing happens any more."""
        self.tmux.send_text(line)
        self.tmux.send_keys("Enter")
        self.tmux.wait_for(until)
        self.settle()

    def settle(self):
        before = None
        while before != self.capture():
            before = self.capture()
            time.sleep(on_this_machine(QUIET))

    def capture(self):
        return self.tmux.run("capture-pane", "-e", "-p", "-S", "-")

    def cursor(self):
        """Counted from the first row of the scrollback."""
        row, column = self.tmux.cursor()
        return row + int(self.tmux.tell("#{history_size}")), column


class Picture:
    title = "ikigai"
    files = {}
    answers = []
    first = False  # the first start, without a model
    lists = 0  # requests for a list of models

    def config(self, llm):
        return {"model": MODEL,
                "providers": {"local": {"type": "openai", "base_url": llm.base_url("openai")}}}

    def play(self, stage):
        """What is typed."""
        raise NotImplementedError

    def make(self):
        """The picture as SVG."""
        script = [*([] if self.first else [Answer("Hello.")]), *self.answers]
        with tempfile.TemporaryDirectory(prefix="ikigai-picture-") as scratch, \
                FakeLLM(script, dialect="plain") as llm:
            stage = Stage(scratch, self.files, self.config(llm))
            if not self.first:
                stage.greet()
            with stage:
                stage.start()
                self.play(stage)
                captured, cursor = stage.capture(), stage.cursor()
            if llm.problems or len(llm.requests) != len(script) + self.lists:
                raise AssertionError(f"{len(llm.requests)} requests: {llm.problems}")
        description = " ".join(self.__doc__.split())
        return terminal_svg.draw(captured, COLUMNS, cursor, self.title, description)


class Session(Picture):
    """A terminal in which ikigai is asked to mend a small Python function and push the change: it
    reads the file, edits it, which is shown as a diff, runs the tests, and asks before a command
    gets the network."""
    files = {
        "slug.py": '''def slug(title):
    """The title of a page as a part of its address."""
    return title.lower().replace(" ", "-")
''',
        "test_slug.py": '''from slug import slug

assert slug("Hello") == "hello"
assert slug("One two") == "one-two"
assert slug("Two  spaces") == "two-spaces"
assert slug("And   three") == "and-three"
print("4 titles, 0 wrong")
''',
    }
    answers = [
        Answer("I read it first.", calls=[Call("file_read", {"file_path": "slug.py"})],
               usage=Usage(input=2210, output=31)),
        Answer("`replace` makes a dash of **every** space. Splitting at whitespace and joining "
               "again is shorter, and right:",
               calls=[Call("file_edit", {"file_path": "slug.py",
                                         "old_string": 'title.lower().replace(" ", "-")',
                                         "new_string": '"-".join(title.lower().split())'})],
               usage=Usage(input=2304, output=118)),
        Answer(calls=[Call("bash", {"command": "python3 -B test_slug.py"})],
               usage=Usage(input=2467, output=27)),
        Answer("All four titles come out right now:\n\n"
               "| title | before | now |\n|---|---|---|\n"
               "| `One two` | `one-two` | `one-two` |\n"
               "| `Two  spaces` | `two--spaces` | `two-spaces` |\n"
               "| `And   three` | `and---three` | `and-three` |\n",
               calls=[Call("bash", {"command": "git commit -am 'Join words by one dash' && git push",
                                    "permissions": "network",
                                    "reason": "to push to the server"})],
               usage=Usage(input=2533, output=96)),
    ]

    def play(self, stage):
        stage.tmux.send_text("two spaces in a title give two dashes; fix slug(), run the tests, push")
        stage.tmux.send_keys("Enter")
        stage.tmux.wait_for("n no")
        stage.settle()


class CustomTool(Picture):
    """A terminal in which a tool of ten lines of shell is copied into a folder and used at once by
    the ikigai that is already running."""
    title = "a tool of your own"
    files = {
        "unfinished": read_example("unfinished"),
        "parser.py": "# TODO: nested lists\n# TODO: escapes\n# FIXME: slow for long lines\n",
        "writer.py": "# TODO: keep the order of keys\n",
    }
    answers = [
        Answer(calls=[Call("unfinished", {})], usage=Usage(input=2290, output=14)),
        Answer("There are **3 TODOs** and **one FIXME**. I would begin with the `FIXME`.",
               usage=Usage(input=2341, output=22)),
    ]

    def play(self, stage):
        stage.enter("!cat unfinished", re.compile("^fi$", re.M))
        stage.enter("!mkdir -p ~/.ikigai/tools && mv unfinished ~/.ikigai/tools/",
                    re.compile(r"mv unfinished .*\n└ ok "))
        stage.enter("/refresh", "11 tools available")
        stage.enter("how much is left to do here?",
                    re.compile(r"^└ #1 ok .*todo: 3.*begin with", re.M | re.S))


class Setup(Picture):
    """A terminal in which ikigai starts for the first time. It offers what can be set up: Ollama,
    which runs on this machine, a provider with a key, another server, or to look around offline."""
    title = "the first start"
    first = True

    def config(self, llm):
        # What else listens on this machine is not looked for; nothing does on port 1.
        return {"providers": {"ollama": {"type": "openai", "base_url": llm.base_url("openai")}, **{
            name: {"type": "openai", "base_url": "http://127.0.0.1:1/v1"}
            for name in ("lmstudio", "llama", "vllm")}}}

    def play(self, stage):
        stage.tmux.wait_for("1 Ollama on this machine")
        stage.settle()


class Lists(Picture):
    """A terminal in which /model shows a list, filtered by what is typed: model, context window,
    price and whether there is a key."""
    title = "a list"
    lists = 1

    def play(self, stage):
        stage.enter("/model", "Which model?")
        stage.tmux.send_text("opus")
        stage.tmux.wait_for(re.compile("^› anthropic/claude-opus", re.M))
        stage.settle()


class Working(Picture):
    """A terminal in which a tool runs. Above the draft a row says what ikigai does, for how long and how
    to interrupt it; one text goes to the model after the tool, another one is sent after the
    turn."""
    title = "steering"
    files = {"Makefile": "test:\n\t@for i in 1 2 3; do echo \"test $$i ok\"; done; sleep 600\n"}
    answers = [Answer("I run the tests first.", calls=[Call("bash", {"command": "make test"})],
                      usage=Usage(input=2210, output=31))]

    def play(self, stage):
        stage.tmux.send_text("make the tests faster")
        stage.tmux.send_keys("Enter")
        stage.tmux.wait_for("test 3 ok")
        stage.tmux.send_text("the slow one is test 3")
        stage.tmux.send_keys("Enter")
        stage.tmux.wait_for("next: the slow one")
        stage.tmux.send_text("then update the manual")
        stage.tmux.send_keys("M-Enter")
        stage.tmux.wait_for("queued: then update")


class Question(Picture):
    """A terminal in which ikigai asks before it edits a file: the edit as a diff, and the answers to
    choose from, among them a rule that is kept."""
    title = "a question"
    files = {"counter.c": """#include <stdio.h>

int main(void)
{
    int lines = 0, c;
    while ((c = getchar()) != EOF)
        lines += c == '\\n';
    printf("%d\\n", lines);
}
"""}
    answers = [Answer("An `int` overflows after 2^31 lines; `long long` does not.",
                      calls=[Call("file_edit", {"file_path": "counter.c",
                                                "old_string": "int lines = 0, c;",
                                                "new_string": "long long lines = 0;\n    int c;"})],
                      usage=Usage(input=2210, output=64))]

    def config(self, llm):
        return {**super().config(llm), "mode": "ask"}

    def play(self, stage):
        stage.tmux.send_text("does this work for huge files?")
        stage.tmux.send_keys("Enter")
        stage.tmux.wait_for("n no")
        stage.settle()


PICTURES = {"session": Session, "custom-tool": CustomTool, "setup": Setup, "lists": Lists,
            "working": Working, "question": Question}


# ---- files

def path_of(name):
    return os.path.join(DOCS, f"{name}.svg")


def without_figures(svg):
    """What must stay the same from run to run: figures on the screen, and where things behind them
    stand, may differ."""
    svg = re.sub(r'(<tspan) x="[\d.]+" textLength="[\d.]+"', r"\1", svg)
    svg = re.sub("[⠋⠙⠸⠴⠦⠇]", "⠋", svg)
    return re.sub(r"(?<=>)[^<>]+(?=</tspan>)",
                  lambda text: re.sub(r"\d[\d.,]*( m?s\b)?", "N", text[0]), svg)


def check(name, svg):
    """Whether the file shows what was just seen; says where not."""
    with open(path_of(name), encoding="utf-8") as f:
        shown = without_figures(f.read())
    difference = list(difflib.unified_diff(shown.splitlines(), without_figures(svg).splitlines(),
                                           f"docs/{name}.svg", "the program now", "", "", 0, ""))
    for line in difference:
        print(line)
    return not difference


def main():
    parser = argparse.ArgumentParser(prog="docs/make_picture.py",
                                     description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    options = parser.parse_args()
    same = True
    for name in options.names or PICTURES:
        svg = PICTURES[name]().make()
        if options.check:
            same = check(name, svg) and same
        else:
            with open(path_of(name), "w", encoding="utf-8") as f:
                f.write(svg)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
