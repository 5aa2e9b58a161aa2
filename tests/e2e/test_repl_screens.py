"""Golden screens: what the interactive program shows in three sizes of the window, on a dark and on a
light background. Each scene has a file in tests/e2e/screens: the rows of the screen, and for each
background the runs of cells that have a style.

    IKIGAI_UPDATE_SCREENS=1 make test-repl_screens                  writes the files again
    IKIGAI_UPDATE_SCREENS=1 make test-repl_screens K=of_commands    only those of one scene

Times, numbers and random names differ from run to run: NORMAL says what stands for them.
"""
import difflib
import json
import os
import re
import shutil
import tempfile
import time
import unittest

from fake_llm import Answer, Call, Usage, Wire
from repl_support import ReplTest
from support import IKIGAI, clean_env
from terminal_support import DA1, DARK, KITTY, LIGHT, SYNCHRONISED, version, without_empty_end

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "screens")
UPDATE = os.environ.get("IKIGAI_UPDATE_SCREENS") == "1"
SIZES = [(80, 24), (120, 40), (40, 24)]
BACKGROUNDS = {"dark": DARK, "light": LIGHT}
NORMAL = [(re.compile("[⠋⠙⠸⠴⠦⠇]"), "⠋"),
          (re.compile(r"\b\d+(\.\d+)?( ms| s|s|m)\b"), "N s"), (re.compile("  +N s  +"), "  N s  "),
          (re.compile(r"ikigai \d+\.\d+\.\d+"), "ikigai VERSION"),
          (re.compile(r"… \d+ more$"), "… N more"),  # commands and models
          (re.compile("ikigai-test-[a-z0-9_]{8}"), "ikigai-test-xxxxxxxx"),
          (re.compile(r"\b[0-9a-f]{8}$"), "xxxxxxxx")]
FACTS = {"models": {"local/qwen3": {"limits": {"context": 200000, "max_output": 16384},
                                    "prices": [{"input": 2, "output": 10}]}}}
ESC, DOWN = "\x1b", "\x1b[B"
TOOL = "#!/bin/sh\n# A tool of the project.\n"
FILES = {"slug.py": None, "Makefile": "test:\n\t@true\n", "src/main.c": "", "src/map.c": "",
         "docs/map.md": ""}
FILES["slug.py"] = '''def slug(title):
    """The title of a page as a part of its address."""
    return title.lower().replace(" ", "-")
'''


def normal(text):
    for pattern, replacement in NORMAL:
        text = pattern.sub(replacement, text)
    return text


def path_of(name):
    return os.path.join(FOLDER, f"{name}.txt")


def look(t):
    """The screen as its file has it: rows and cursor, and runs of styled cells."""
    emulator = t.show()
    dump = emulator.dump()
    rows = "".join(f"|{normal(row)}\n" for row in without_empty_end(dump["screen"]))
    place = "cursor {} {}\n".format(*dump["cursor"]) if dump["visible"] else "no cursor\n"
    styles = "".join(f"{row} {style}: {normal(text).rstrip()}\n"
                     for row, style, text in emulator.ask("styles")["runs"])
    return rows + place, styles


def modern(background):
    """How a terminal answers."""
    return [KITTY, SYNCHRONISED, BACKGROUNDS[background], version("test(1)"), DA1]


class ScreenTest(ReplTest):
    def setUp(self):
        """A folder whose name is always as long."""
        super().setUp()
        place = tempfile.TemporaryDirectory(prefix="ikigai-test-", dir="/tmp")
        self.addCleanup(place.cleanup)
        self.home = os.path.join(place.name, "home")
        self.project = os.path.join(place.name, "project")
        os.mkdir(self.project)

    def take_all(self, name, play, **scene):
        """Plays a scene in every window. play gets the terminal and ends when the screen shows what
        matters, or will soon."""
        golden = {} if UPDATE else read_golden(name)
        seen = {}
        for columns, rows in SIZES:
            for background in BACKGROUNDS:
                place = f"{columns}x{rows}", background
                t = self.begin(columns, rows, background, **scene)
                play(t)
                seen[place] = settle(t) if UPDATE else self.compare(t, name, place, golden[place])
                t.close()
        for (size, _), (rows, _) in seen.items():
            self.assertEqual(rows, seen[size, "dark"][0], "colours move nothing")
        if UPDATE:
            write_golden(name, seen)

    def begin(self, columns, rows, background, script=(), files=None, args=(), **config):
        """A program in a home and a project of its own."""
        for folder in (self.home, self.project):
            shutil.rmtree(folder, ignore_errors=True)
        for name, text in (FILES if files is None else files).items():
            self.write(name, text, 0o755 if text.startswith("#!") else 0o644)
        self.serve(list(script), **config)
        for name, text in (("models.json", json.dumps(FACTS)), ("ikigai.db", "")):
            with open(os.path.join(self.home, name), "w", encoding="utf-8") as f:
                f.write(text)  # an empty database: one who was here before gets a short welcome
            os.chmod(f.name, 0o600)
        return self.ready(None, *args, columns=columns, rows=rows, env={"HOME": os.path.dirname(self.home)},
                          answers=modern(background))

    def compare(self, t, name, place, golden):
        """Waits until the screen is that of the file, and returns it."""
        try:
            t.wait_until(lambda: look(t) == golden, "golden screen")
        except AssertionError:
            difference = "\n".join(difflib.unified_diff(
                "".join(golden).splitlines(), "".join(look(t)).splitlines(),
                f"screens/{name}.txt, {' '.join(place)}", "now", lineterm=""))
            raise AssertionError(f"{difference}\n{__doc__.partition('Times')[0]}") from None
        return golden


def settle(t):
    """Waits until the screen stays as it is, and returns it."""
    before, since = look(t), time.monotonic()
    while time.monotonic() - since < 1.5:
        time.sleep(0.05)
        now = look(t)
        if now != before:
            before, since = now, time.monotonic()
    return before


def write_golden(name, seen):
    os.makedirs(FOLDER, exist_ok=True)
    with open(path_of(name), "w", encoding="utf-8") as f:
        for (size, background), (rows, styles) in seen.items():
            f.write(f"== {size}\n{rows}" if background == "dark" else "")
            f.write(f"-- {background}\n{styles}")


def read_golden(name):
    """(size, background) -> (rows, styles)"""
    with open(path_of(name), encoding="utf-8") as f:
        sections = re.split(r"^== (.*)\n", f.read(), flags=re.M)[1:]
    golden = {}
    for size, section in zip(sections[::2], sections[1::2]):
        rows, *styles = re.split(r"^-- (.*)\n", section, flags=re.M)
        for background, runs in zip(styles[::2], styles[1::2]):
            golden[size, background] = rows, runs
    return golden


class ListTest(ScreenTest):
    def test_the_list_of_commands(self):
        self.take_all("commands", lambda t: t.send("/"))

    def test_the_list_of_commands_filtered(self):
        self.take_all("commands-filtered", lambda t: t.send("/se" + DOWN))

    def test_the_list_of_files(self):
        self.take_all("files", lambda t: t.send("compare @ma"))

    def test_the_list_of_models(self):
        self.take_all("models", lambda t: t.send("/model\r"))

    def test_the_list_of_sessions(self):
        """Two sessions, one of two turns."""
        def play(t):
            for line, answer in (("what does slug() do", "An answer."),
                                 ("and with two spaces", "Another."), ("/clear", "New conversation."),
                                 ("write a test for it", "A third.")):
                self.say(t, line, answer)
                t.wait_gone("esc to interrupt")
            t.send("/resume\r")
        self.take_all("sessions", play,
                      script=[Answer("An answer."), Answer("Another."), Answer("A third.")])


class WorkingTest(ScreenTest):
    def test_the_model_answers(self):
        def play(t):
            t.send("explain slug.py\r")
            t.wait_for(re.compile(r"nothing received for|· [4-9] s|· \d\d s"))
        self.take_all("working", play, script=[
            Answer("The function `slug` makes a title part of an address. " * 4, fragments=40,
                   wire=Wire(stall_after=20))])

    def test_text_that_waits(self):
        def play(t):
            t.send("run the tests\r")
            t.wait_for("sleep 600")
            t.send("use pytest\r")
            t.wait_for("next: use pytest")
            t.send("then update the manual\x1b\r")
            t.wait_for("queued: then update")
            t.send("a draft")
        self.take_all("waiting", play, tool_timeout_seconds=3600, tool_max_seconds=3600,
                      script=[Answer("", calls=[Call("bash", {"command": "sleep 600"})])])


class ToolTest(ScreenTest):
    edit = Call("file_edit", {"file_path": "slug.py",
                              "old_string": 'title.lower().replace(" ", "-")',
                              "new_string": '"-".join(title.lower().split())'})

    def test_short_output(self):
        def play(t):
            t.send("look around\r")
            t.wait_for(re.compile(r"That is all.*\$", re.S))
        self.take_all("short-output", play, tool_output="short", script=[
            Answer("", calls=[Call("file_read", {"file_path": "slug.py"}),
                              Call("bash", {"command": "seq 1 30"})]), Answer("That is all.")])

    def test_a_diff(self):
        def play(t):
            t.send("fix slug()\r")
            t.wait_for(re.compile(r"Fixed.*\$", re.S))
        self.take_all("diff", play, script=[Answer("", calls=[self.edit]), Answer("Fixed.")])

    def test_the_status_line(self):
        def play(t):
            t.send("hello\r")
            t.wait_for(re.compile(r"Hello.*\$", re.S))
        self.take_all("status", play, script=[
            Answer("Hello.", usage=Usage(input=24500, output=120))])

    def test_a_context_that_is_nearly_full(self):
        def play(t):
            t.send("hello\r")
            t.wait_for(re.compile(r"Hello.*\$", re.S))
        self.take_all("nearly-full", play, script=[
            Answer("Hello.", usage=Usage(input=164500, output=120))])

    def test_a_question(self):
        def play(t):
            t.send("/trust\r")
            t.wait_for("q close")
            t.send("q")
            t.wait_for("[y/N]")
        self.take_all("question", play, files={**FILES, ".ikigai/tools/mine": TOOL})


class ViTest(ScreenTest):
    def test_normal_mode(self):
        self.take_all("vi-normal", lambda t: t.send("one\x1b\rtwo words" + ESC + "b"), keys="vi")


class SetupTest(ScreenTest):
    def begin(self, columns, rows, background, **scene):
        # Where no server listens, whatever else this machine runs.
        self.configure(providers={name: {"base_url": "http://127.0.0.1:1/v1"}
                                  for name in ("ollama", "lmstudio", "llama", "vllm")})
        return self.terminal([IKIGAI, "setup"], columns=columns, rows=rows, cwd=self.project,
                             answers=modern(background),
                             env=clean_env(IKIGAI_HOME=self.home, TERM="xterm-256color"))

    def test_setup(self):
        self.take_all("setup", lambda t: t.wait_for("Look around offline"))


if __name__ == "__main__":
    unittest.main()
