"""How the interactive program looks, and how it calls the user: themes, the status line, the warning about a
full context, notifications."""
import json
import os
import re

from fake_llm import Answer, Call, Usage, Wire
from repl_support import BUSY, ReplTest
from support import IKIGAI, clean_env
from terminal_support import DA1, DARK, LIGHT, SIMPLE

ANSWER = "# Title\n\nProse with `code` in it.\n\nEnd."
INDEXED = re.compile(rb"\x1b\[(?:[0-9;]*;)?[34]8;5;")
DEEP = re.compile(rb"\x1b\[(?:[0-9;]*;)?[34]8;2;")
COLOURED = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")


def luminance(colour):
    parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a, b):
    high, low = sorted((luminance(a) + 0.05, luminance(b) + 0.05), reverse=True)
    return high / low


def indexed(index):
    """The colour of an index from 16."""
    levels = [0, 95, 135, 175, 215, 255]
    if index < 232:
        return [levels[(index - 16) // 36], levels[(index - 16) // 6 % 6], levels[(index - 16) % 6]]
    return [8 + 10 * (index - 232)] * 3


class ThemeTest(ReplTest):
    def theme(self, text, name="theme.json"):
        """Writes a theme file beside the configuration; returns its path."""
        os.makedirs(self.home, mode=0o700, exist_ok=True)
        path = os.path.join(self.home, name)
        with open(path, "w") as f:
            f.write(text if isinstance(text, str) else json.dumps(text))
        return path

    def show(self, theme=None, answers=(DARK, DA1), env=None, **options):
        """A terminal that shows ANSWER, after the turn."""
        self.serve([Answer(ANSWER)], **({} if theme is None else {"theme": theme}))
        t = self.ready(answers=list(answers), env=env, **options)
        self.say(t, "show", re.compile("^End.$", re.M))
        t.wait_gone(BUSY)
        return t

    def colour(self, t, word):
        """The colour of the first row that begins with the word or contains it: None, an index or
        [r, g, b]."""
        rows = t.screen()
        row = next(i for i, text in enumerate(rows) if word in text)
        return t.cell(row, rows[row].index(word))["fg"]

    def test_a_dark_and_a_light_terminal(self):
        found = {}
        for name, answer, background in (("dark", DARK, (0x1e, 0x1e, 0x2e)),
                                         ("light", LIGHT, (255, 255, 255))):
            t = self.show(answers=(answer, DA1))
            found[name] = [self.colour(t, word) for word in ("Title", "code")]
            for colour in found[name]:
                self.assertGreaterEqual(contrast(indexed(colour), background), 3)
            t.close()
        self.assertNotEqual(found["dark"], found["light"])

    def test_named_themes_need_no_answer(self):
        """The same colours as on a terminal that reports such a background."""
        for name, answer in (("dark", DARK), ("light", LIGHT)):
            with self.subTest(name):
                reported, silent = self.show(answers=(answer, DA1)), self.show(name, SIMPLE)
                for word in ("Title", "code"):
                    self.assertEqual(self.colour(reported, word), self.colour(silent, word))

    def test_an_unknown_background(self):
        t = self.show(answers=SIMPLE)
        self.assertIn(self.colour(t, "Title"), range(16))

    def test_mono(self):
        t = self.show("mono")
        self.assertIsNone(COLOURED.search(t.raw))
        self.assertIn(b"\x1b[1m", t.raw)

    def test_a_theme_file(self):
        path = self.theme({"base": "dark", "colors": {"heading": "#ffaa01", "text": "#dddddd"}})
        for name in (path, "~/theme.json", "theme.json"):
            for depth in ("truecolor", "24bit"):
                t = self.show(name, env={"COLORTERM": depth, "HOME": self.home})
                self.assertEqual(self.colour(t, "Title"), [0xff, 0xaa, 0x01])
                self.assertEqual(self.colour(t, "Prose"), [0xdd, 0xdd, 0xdd])
                self.assertIsNone(INDEXED.search(t.raw))
                t.close()

    def test_the_nearest_of_256(self):
        path = self.theme({"base": "dark", "colors": {"heading": "#ffaa01", "code": "#60d8d6"}})
        for depth in ({}, {"COLORTERM": ""}, {"COLORTERM": "yes"}):
            t = self.show(path, env=depth)
            self.assertEqual(self.colour(t, "Title"), 214)  # ffaf00
            self.assertEqual(self.colour(t, "code"), 80)    # 5fd7d7
            self.assertIsNone(DEEP.search(t.raw))
            t.close()

    def test_too_little_contrast(self):
        """Colours of a file for the other background are replaced, with the same hue."""
        path = self.theme({"base": "light", "colors": {"heading": "#000060", "code": "#101010"}})
        t = self.show(path, env={"COLORTERM": "truecolor"})
        for word in ("Title", "code"):
            self.assertGreaterEqual(contrast(self.colour(t, word), (0x1e, 0x1e, 0x2e)), 3)
        red, green, blue = self.colour(t, "Title")
        self.assertGreater(blue, 1.5 * max(red, green))
        t = self.show(path)
        for word in ("Title", "code"):
            self.assertGreaterEqual(contrast(indexed(self.colour(t, word)), (0x1e, 0x1e, 0x2e)), 3)
        t = self.show(path, SIMPLE, env={"COLORTERM": "truecolor"})  # no answer, no check
        self.assertEqual(self.colour(t, "Title"), [0, 0, 0x60])

    def test_no_color_and_dumb_win(self):
        path = self.theme({"base": "dark", "colors": {"text": "#ffffff"}})
        for theme in (path, "dark"):
            t = self.show(theme, env={"NO_COLOR": "1", "COLORTERM": "truecolor"})
            self.assertIsNone(COLOURED.search(t.raw))
            t.close()
            t = self.show(theme, (), env={"TERM": "dumb"}, dumb=True)
            self.assertNotIn(b"\x1b", t.raw)
            t.close()

    def test_plain_lines_have_the_theme(self):
        self.theme({"colors": {"heading": "#ffaa01"}})
        self.serve([Answer(ANSWER)], theme="theme.json")
        t = self.start(None, "--plain", plain=True, env={"COLORTERM": "truecolor"})
        self.say(t, "show", re.compile("^End.$", re.M))
        self.assertIn(b"38;2;255;170;1m", t.raw)

    def test_a_late_answer_changes_only_what_is_still_live(self):
        """The theme follows the terminal, but no finished row is drawn again."""
        t = self.show(answers=SIMPLE)
        before = t.all_rows()
        title = self.colour(t, "Title")
        t.wait_idle()
        start = len(t.raw)
        t.send("\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
        t.wait_until(lambda: len(t.raw) > start, "a frame")
        t.wait_idle()
        self.assertEqual(t.all_rows(), before)
        self.assertEqual(self.colour(t, "Title"), title)
        self.assertNotIn(b"Title", t.raw[start:])
        self.assertEqual(t.cell(t.cursor()[0], 0)["fg"], 24)  # the mark before the draft

    def refused(self, theme):
        """What is printed when the program refuses to start."""
        self.configure(theme=theme)
        t = self.terminal([IKIGAI], columns=300, cwd=self.project, env=clean_env(
            IKIGAI_HOME=self.home, TERM="xterm-256color"))
        t.check = False
        self.assertEqual(t.wait_exit(), 2)
        return "\n".join(t.all_rows())

    def test_a_missing_or_broken_file(self):
        self.assertIn(f"there is no {self.home}/none.json", self.refused(f"{self.home}/none.json"))
        self.assertIn("theme must be auto, dark, light, mono or a file", self.refused("drak"))
        for text, words in (("{", "theme.json:1: broken JSON"), ("[]", "must be an object"),
                            ('{"base": "blue"}', 'base must be "dark" or "light"'),
                            ('{"colors": {"text": "white"}}', "colors.text must be written")):
            self.theme(text)
            self.assertIn(words, self.refused("theme.json"))

    def test_an_unknown_name(self):
        self.theme({"colors": {"headin": "#ffffff", "heading": "#ffaa01"}})
        t = self.show("theme.json", env={"COLORTERM": "truecolor"}, columns=160)
        t.wait_for("unknown colour headin; did you mean heading?")
        self.assertEqual(self.colour(t, "Title"), [0xff, 0xaa, 0x01])

    def test_a_project_has_no_say(self):
        path = self.theme({"colors": {"heading": "#ffaa01"}})
        self.write(".ikigai/config.json", json.dumps(
            {"theme": path, "notify": "off", "notify_after_seconds": 1}))
        t = self.show(columns=160)
        for key in ("theme", "notify", "notify_after_seconds"):
            t.wait_for(f"{key} is not honoured from a project's")
        self.assertNotEqual(self.colour(t, "Title"), 214)


class KnownModelTest(ReplTest):
    """With a model whose window and prices are known."""

    def know(self, context=200000, name="qwen3"):
        os.makedirs(self.home, mode=0o700, exist_ok=True)
        path = os.path.join(self.home, "models.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"models": {f"local/{name}": {
                "limits": {"context": context}, "prices": [{"input": 10, "output": 20}]}}}, f)
        os.chmod(path, 0o600)


class StatusTest(KnownModelTest):
    def shown(self, columns, used=24000, context=200000, name="qwen3"):
        """A terminal after an answer."""
        self.know(context, name)
        self.serve([Answer("Hi.", usage=Usage(input=used - 1000, output=1000))])
        t = self.ready(None, "-m", f"local/{name}", columns=columns)
        self.say(t, "hello", "Hi.")
        return t

    def wait_status(self, t, line):
        t.wait_until(lambda: self.status(t) == line, f"status line {line!r}")

    def test_at_three_widths(self):
        for columns in (120, 80, 40):
            with self.subTest(columns):
                t = self.shown(columns)
                self.wait_status(t, "local/qwen3 · 12% of 200k · $0.25")
                t.close()

    def test_what_matters_most_survives(self):
        """At 40 columns the provider may go; the percentage stays, whatever the model is called."""
        name = "a-model-with-a-long-name-20261116"
        for columns, line in ((80, f"local/{name} · 12% of 200k · $0.25"),
                              (60, f"{name} · 12% of 200k · $0.25"), (50, f"{name} · 12% · $0.25"),
                              (40, f"{name} · 12%"), (30, "a-model-with-a-long-na… · 12%"),
                              (12, "a-mo… · 12%"), (10, "12%")):
            with self.subTest(columns):
                t = self.shown(columns, name=name)
                self.wait_status(t, line)
                t.close()

    def test_the_usual_width_shows_context_and_cost(self):
        """Local servers name a model by its file."""
        name = "home/someone/models/Meta-Llama-3.1-70B-Instruct-Q4_K_M-00001-of-00002.gguf"
        for columns, line in ((80, f"{name[:56]}… · 12% of 200k · $0.25"),
                              (79, f"{name[:71]}… · 12%")):
            with self.subTest(columns):
                t = self.shown(columns, name=name)
                self.wait_status(t, line)
                t.close()

    def test_a_new_session_and_a_large_window(self):
        self.know(1048576)
        self.serve([])
        t = self.ready()
        self.wait_status(t, "local/qwen3 · 0% of 1M")

    def test_an_unknown_window(self):
        t = self.ready([Answer("Hi.", usage=Usage(input=1200, output=34))])
        self.say(t, "hello", "Hi.")
        t.wait_for(re.compile(r"^local/qwen3 · context 1\.2k$", re.M))

    def test_no_sum_of_tokens(self):
        """The context is that of the last answer; sums are for /usage."""
        self.know()
        self.serve([Answer("One.", usage=Usage(input=20000, output=0)),
                    Answer("Two.", usage=Usage(input=30000, output=0))])
        t = self.ready()
        self.say(t, "first", "One.")
        self.say(t, "second", "Two.")
        t.wait_for(re.compile(r"^local/qwen3 · 15% of 200k · \$0\.50$", re.M))
        self.enter(t, "/usage", "50,000 in")

    def test_work_is_not_said_twice(self):
        """What the agent does has a row of its own."""
        gate = os.path.join(self.project, "gate")  # a room may not see what appears in /tmp
        self.know()
        self.serve([Answer("", calls=[Call("bash", {
            "command": f"until [ -e {gate} ]; do sleep 0.05; done"})]), Answer("Done.")])
        t = self.ready()
        self.say(t, "go", re.compile("● bash"))
        self.assertNotIn("running", self.status(t))
        open(gate, "w").close()
        t.wait_for("Done.")

    def test_a_full_context_stands_out(self):
        t = self.shown(80, used=170000)
        t.wait_until(lambda: "85%" in self.status(t), "percentage")
        row = t.screen().index(self.status(t))
        self.assertEqual(t.cell(row, self.status(t).index("85%"))["fg"], 221)
        self.assertIsNone(t.cell(row, 0)["fg"])


class FullContextTest(KnownModelTest):
    LINE = re.compile(r"^Context (\d+)% full: /compact frees room\.$", re.M)

    def found(self, t):
        """The percentages that the user was told."""
        return self.LINE.findall("\n".join(t.all_rows()))

    def test_once_per_crossing(self):
        """Above 80 %: at 80 nothing is said yet, and again only after it was below."""
        self.know(100000)
        used = (70000, 80000, 82000, 90000, 50000, 81000)
        self.serve([Answer(f"At {n}.", usage=Usage(input=n - 10, output=10)) for n in used])
        t = self.ready(rows=50)
        seen = []
        for n in used:
            self.enter(t, f"use {n}", f"At {n}.")
            self.settle(t)
            seen.append(self.found(t))
        self.assertEqual(seen, [[], [], ["82"], ["82"], ["82"], ["82", "81"]])

    def test_within_a_turn(self):
        """As soon as the answer that crosses it is complete."""
        gate = os.path.join(self.project, "gate")  # a room may not see what appears in /tmp
        self.know(100000)
        self.serve([Answer("Text.", usage=Usage(input=85000, output=10), calls=[Call("bash", {
            "command": f"until [ -e {gate} ]; do sleep 0.05; done"})]),
            Answer("Done.", usage=Usage(input=86000, output=10))])
        t = self.ready()
        self.say(t, "go", self.LINE)
        open(gate, "w").close()
        t.wait_for("Done.")
        self.settle(t)
        self.assertEqual(self.found(t), ["85"])
        rows = t.all_rows()
        self.assertLess(rows.index("Text."), rows.index("Context 85% full: /compact frees room."))

    def test_a_resumed_session(self):
        self.know(100000)
        self.serve([Answer("Much.", usage=Usage(input=90000, output=10))])
        t = self.ready()
        self.say(t, "go", self.LINE)
        self.leave(t)
        t = self.ready(None, "-c")
        t.wait_for(self.LINE)
        self.assertEqual(self.found(t), ["90"])

    def test_another_model(self):
        """A smaller window is fuller."""
        path = os.path.join(self.home, "models.json")
        self.serve([Answer("Some.", usage=Usage(input=9000, output=10))])
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"models": {"local/qwen3": {"limits": {"context": 100000}},
                                  "local/small": {"limits": {"context": 10000}}}}, f)
        os.chmod(path, 0o600)
        t = self.ready()
        self.say(t, "go", "Some.")
        self.settle(t)
        self.assertEqual(self.found(t), [])
        self.enter(t, "/model local/small", self.LINE)

    def test_in_40_columns_and_in_plain_lines(self):
        self.know(100000)
        for plain in (False, True):
            self.serve([Answer("Much.", usage=Usage(input=82000, output=10))])
            t = self.start(None, *(["--plain"] if plain else []), columns=40, plain=plain)
            self.say(t, "go", self.LINE)
            t.close()


class NotificationTest(ReplTest):
    """Notifications need a window that is known not to have the focus. \\x1b[O and \\x1b[I report it."""
    SLOW = Wire(delay_head=1.2)
    OSC = re.compile(rb"\x1b\](?:9|99|777);")
    SEEN = {
        "auto": rb"\x1b\]9;ikigai: %s\x07\x07",
        "bell": rb"\x07",
        "osc9": rb"\x1b\]9;ikigai: %s\x07(?!\x07)",
        "osc99": rb"\x1b\]99;;ikigai: %s\x1b\\",
        "osc777": rb"\x1b\]777;notify;ikigai;%s\x1b\\",
    }

    def printed(self, t, start):
        """What was printed since, without the window title, which ends with a bell as well."""
        return re.sub(rb"\x1b\]2;[^\x07\x1b]*(?:\x07|\x1b\\)", b"", t.raw[start:])

    def turn(self, t, keys, answer="Done."):
        """Sends the keys and a message; returns what is printed until the program is idle."""
        start = len(t.raw)
        t.send(keys + "go\r")
        t.wait_until(lambda: answer in "\n".join(self.below(t, "> go") or []), "the answer")
        self.settle(t)
        t.wait_idle()
        return self.printed(t, start)

    def test_each_kind(self):
        for kind, pattern in self.SEEN.items():
            with self.subTest(kind):
                self.serve([Answer("Done.", wire=self.SLOW)], notify=kind, notify_after_seconds=1)
                t = self.ready()
                shown = self.turn(t, "\x1b[O")
                pattern = pattern.replace(b"%s", b"done: go")
                self.assertEqual(len(re.findall(pattern, shown)), 1, shown)
                if kind == "bell":
                    self.assertIsNone(self.OSC.search(shown))
                elif kind != "auto":
                    self.assertEqual(t.show().dump()["bells"], 0)
                t.close()

    def test_off(self):
        self.serve([Answer("Done.", wire=self.SLOW)], notify="off", notify_after_seconds=1)
        t = self.ready()
        shown = self.turn(t, "\x1b[O")
        self.assertIsNone(self.OSC.search(shown))
        self.assertNotIn(b"\x07", shown)

    def test_only_without_the_focus(self):
        """Not while the window has the focus, and not while nothing is known of it."""
        for keys in ("", "\x1b[I", "\x1b[O\x1b[I"):
            with self.subTest(keys):
                self.serve([Answer("Done.", wire=self.SLOW)], notify_after_seconds=1)
                t = self.ready()
                shown = self.turn(t, keys)
                self.assertIsNone(self.OSC.search(shown))
                self.assertNotIn(b"\x07", shown)
                t.close()

    def test_short_turns_do_not_notify(self):
        """The default is ten seconds; 0 means every turn."""
        self.serve([Answer("Done.")])
        t = self.ready()
        self.assertIsNone(self.OSC.search(self.turn(t, "\x1b[O")))
        t.close()
        self.serve([Answer("Done.")], notify_after_seconds=0)
        t = self.ready()
        self.assertIsNotNone(self.OSC.search(self.turn(t, "\x1b[O")))

    def test_a_failed_turn_and_an_interrupted_one(self):
        self.serve([Answer("", wire=Wire(status=400)), Answer("Never.", wire=Wire(delay_head=30))],
                   notify_after_seconds=0)
        t = self.ready()
        t.send("\x1b[Ogo\r")
        t.wait_until(lambda: b"\x1b]9;ikigai: failed: go\x07\x07" in t.raw, "notification")
        t.send("again\r")
        t.wait_until(lambda: len(self.llm.requests) == 2, "second request")
        start = len(t.raw)
        t.send("\x1b")
        t.wait_for("interrupted")
        t.wait_idle()
        self.assertIsNone(self.OSC.search(t.raw[start:]))

    def test_the_text_is_harmless(self):
        """It comes from a message, so that it is cleaned and cut."""
        self.serve([Answer("Done.")], notify_after_seconds=0)
        t = self.ready()
        t.send("\x1b[O")
        t.paste("a\x07b\x1b]0;evil\x07c\u009d" + "long " * 100)
        t.send("\r")
        found = t.wait_until(lambda: re.search(rb"\x1b\]9;([^\x07\x1b]*)\x07\x07", t.raw),
                             "notification")
        text = found[1].decode()
        self.assertNotIn("evil", text)
        self.assertTrue(text.startswith("ikigai: done: ab"), text)
        self.assertLess(len(text), 150)

    def test_a_question_waits(self):
        """However long it took until it was asked."""
        tool = self.write(".ikigai/tools/greet", "#!/bin/sh\necho '{}'\n", 0o755)
        t = self.ready()
        t.send("\x1b[O")
        t.send("/trust\r")
        found = t.wait_until(lambda: re.search(rb"\x1b\]9;ikigai: ([^\x07]+)\x07\x07", t.raw),
                             f"notification about {tool}")
        self.assertIn("?", found[1].decode())

    def test_in_the_pager(self):
        """The user is told even while the conversation is paged."""
        self.serve([Answer("One."), Answer("Two.", wire=self.SLOW)], notify_after_seconds=1)
        t = self.ready()
        self.say(t, "first", "One.")
        self.settle(t)
        t.send("second\r")
        t.wait_until(lambda: len(self.llm.requests) == 2, "second request")
        t.send("\x0f\x1b[O")
        t.wait_until(lambda: t.show().dump()["alternate"], "pager")
        t.wait_until(lambda: b"\x1b]9;ikigai: done: second\x07\x07" in t.raw, "notification")
        self.assertTrue(t.show().dump()["alternate"])
        t.send("q")
        t.wait_for("Two.")
