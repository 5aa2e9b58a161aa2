"""The lists of the interactive program: commands after /, files after @, and those that commands and
ikigai -r open. Typing narrows them, Enter takes the highlighted row, Tab completes, Esc leaves.
"""
import os
import re
import sqlite3
import subprocess
import unicodedata
import unittest

from fake_llm import Answer, Call
from repl_support import CHOICE, MODEL, ReplTest, words_of
from support import IKIGAI, clean_env

ESC, TAB, ENTER = "\x1b", "\t", "\r"
UP, DOWN, PAGE_UP, PAGE_DOWN = "\x1b[A", "\x1b[B", "\x1b[5~", "\x1b[6~"
HIGHLIGHTED = re.compile(r"^› .*$", re.M)


def width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class ListsTest(ReplTest):
    def highlighted(self, t):
        """The row that begins with ›, without it; None: no row is highlighted."""
        rows = [row[2:].rstrip() for row in t.screen() if row.startswith("› ")]
        self.assertLessEqual(len(rows), 1)
        return rows[0] if rows else None

    def wait_highlighted(self, t, pattern):
        return t.wait_until(lambda: re.match(pattern, self.highlighted(t) or ""),
                            f"{pattern!r} highlighted")

    def draft(self, t):
        """What is typed, without the mark."""
        rows = [row[2:] for row in t.screen() if row.startswith(">")]
        return rows[-1].rstrip() if rows else None

    def wait_draft(self, t, text):
        t.wait_until(lambda: self.draft(t) == text, f"the draft {text!r}")

    def talk(self, *messages):
        """Sessions of one message each."""
        for message in messages:
            subprocess.run([IKIGAI, "-p", message], cwd=self.project, check=True,
                           env=clean_env(IKIGAI_HOME=self.home), stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def change_history(self, statement, *values):
        with sqlite3.connect(os.path.join(self.home, "ikigai.db")) as db:
            db.execute(statement, values)
        db.close()


# ---- commands

class CommandsTest(ListsTest):
    def test_enter_runs_the_best_match(self):
        t = self.ready()
        t.send("/usg")
        self.wait_highlighted(t, "/usage ")
        t.send(ENTER)
        t.wait_for(re.compile("^/usage$", re.M))
        t.wait_for("Turns")
        self.wait_draft(t, "")

    def test_an_exact_name_is_the_best_match(self):
        t = self.ready()
        for name in ("copy", "show", "tool", "model", "sessions"):
            t.send(f"/{name}")
            self.wait_highlighted(t, f"/{name} ")
            t.send("\x15")
            self.wait_draft(t, "")

    def test_a_command_that_needs_an_argument_is_completed(self):
        t = self.ready()
        t.send("/sho")
        self.wait_highlighted(t, "/show ")
        t.send(ENTER)
        self.wait_draft(t, "/show")
        t.send("7" + ENTER)
        t.wait_for(re.compile("^/show 7$", re.M))  # behind a space

    def test_one_named_in_full_is_sent(self):
        t = self.ready()
        t.send("/show")
        self.wait_highlighted(t, "/show ")
        t.send(ENTER)
        t.wait_for("Usage: /show N")

    def test_another_name_of_it(self):
        t = self.ready()
        t.send("/quit")
        self.wait_highlighted(t, "/exit ")
        t.send(ENTER)
        self.assertEqual(t.wait_exit(), 0)

    def test_moving(self):
        t = self.ready()
        t.send("/")
        self.wait_highlighted(t, "/agents ")
        t.send(DOWN)
        self.wait_highlighted(t, "/clear ")
        t.send(UP + UP)
        self.wait_highlighted(t, "/usage ")  # around the end
        t.send(DOWN)
        self.wait_highlighted(t, "/agents ")
        t.send(PAGE_DOWN)
        self.wait_highlighted(t, "/(?!agents)")
        far = self.highlighted(t)
        t.send(PAGE_DOWN)
        t.wait_until(lambda: self.highlighted(t) not in (None, far), "another row")
        t.send(PAGE_UP + PAGE_UP)
        self.wait_highlighted(t, "/agents ")
        t.send(PAGE_UP)  # does not open the pager
        t.send(DOWN + ENTER)
        t.wait_for("New conversation.")

    def test_tab_completes_and_runs_nothing(self):
        t = self.ready()
        t.send("/clea" + TAB)
        self.wait_draft(t, "/clear")
        self.assertNotIn("New conversation.", "\n".join(t.all_rows()))
        t.send(ENTER)
        t.wait_for("New conversation.")

    def test_esc_keeps_the_draft(self):
        t = self.ready()
        t.send("/clea")
        self.wait_highlighted(t, "/clear ")
        t.send(ESC)
        t.wait_until(lambda: self.highlighted(t) is None, "no list")
        self.assertEqual(self.draft(t), "/clea")
        t.send(ENTER)
        t.wait_for("There is no command /clea. Did you mean /clear?")

    def test_esc_interrupts_nothing(self):
        self.write("slow", "")
        t = self.ready([Answer(calls=[Call("bash", {
            "command": "while [ ! -e on ]; do sleep 0.02; done"})]), Answer("Done.")])
        t.send("go" + ENTER)
        t.wait_for("sleep 0.02")
        for text in ("/us", "look @slo"):
            t.send(text)
            t.wait_for(HIGHLIGHTED)
            t.send(ESC)
            t.wait_until(lambda: self.highlighted(t) is None, "no list")
            t.send("\x03")
            self.wait_draft(t, "")
        t.send("/sessions" + ENTER)
        t.wait_for("Resume which session?")
        t.send(ESC)
        t.wait_gone("Resume which session?")
        self.write("on", "")
        t.wait_for("Done.")
        self.assertNotIn("interrupted", "\n".join(t.all_rows()))

    def test_nothing_matches(self):
        t = self.ready()
        t.send("/zzz" + ENTER)
        t.wait_for("There is no command /zzz.")

    def test_a_path_is_a_message(self):
        t = self.ready([Answer("A file.")])
        self.say(t, "/etc/hosts", "A file.")

    def test_arguments_that_were_typed_are_run(self):
        t = self.ready([])
        t.send("/model loc")
        t.wait_for(re.compile(r"^  local/", re.M))
        self.assertIsNone(self.highlighted(t))
        t.send("al/q" + ENTER)
        t.wait_for("Model: local/q")
        t.send("/model loc")
        t.wait_for(re.compile(r"^  local/", re.M))
        t.send(ENTER)  # what was typed, which is no model
        t.wait_for("provider/model")
        t.send("/model off")
        t.wait_for(re.compile(r"^  offline/offline", re.M))
        t.send(DOWN)
        self.wait_highlighted(t, "offline/offline")
        t.send(ENTER)
        t.wait_for("Model: offline/offline")
        t.send("/model loc" + TAB)
        self.wait_draft(t, "/model local/")
        t.send("big" + ENTER)
        t.wait_for("Model: local/big")


# ---- files

class FilesTest(ListsTest):
    def setUp(self):
        super().setUp()
        for name in ("src/main.c", "src/maintain.c", "docs/a b.md", "中文/文件.txt", "README"):
            self.write(name, "")

    def test_enter_inserts_and_sends_nothing(self):
        t = self.ready([Answer("Fine.")])
        t.send("look at @main")
        self.wait_highlighted(t, "src/main.c")
        t.send(ENTER)
        self.wait_draft(t, "look at @src/main.c")
        t.send("now" + ENTER)
        t.wait_for("Fine.")
        self.assertEqual(words_of(self.llm.requests[0]), ["look at @src/main.c now"])

    def test_one_named_in_full_is_sent(self):
        t = self.ready([Answer("Fine.")])
        t.send("look at @src/main.c")
        self.wait_highlighted(t, "src/main.c")
        t.send(ENTER)
        t.wait_for("Fine.")
        self.assertEqual(words_of(self.llm.requests[0]), ["look at @src/main.c"])

    def test_nothing_matches(self):
        t = self.ready([Answer("Fine.")])
        t.send("@REA")
        self.wait_highlighted(t, "README")
        t.send("zz" + ENTER)
        t.wait_for("Fine.")
        self.assertEqual(words_of(self.llm.requests[0]), ["@REAzz"])

    def test_keys(self):
        t = self.ready()
        t.send("@mai")
        self.wait_highlighted(t, "src/main.c")
        t.send(DOWN)
        self.wait_highlighted(t, "src/maintain.c")
        t.send(TAB)
        self.wait_draft(t, "@src/maintain.c")
        t.send("\x15@文")
        self.wait_highlighted(t, "中文/文件.txt")
        t.send(ESC)
        t.wait_until(lambda: self.highlighted(t) is None, "no list")
        self.assertEqual(self.draft(t), "@文")
        t.send("\x15@")
        t.wait_for(HIGHLIGHTED)
        first = self.highlighted(t)
        t.send(PAGE_DOWN)
        t.wait_until(lambda: self.highlighted(t) not in (None, first), "another")
        t.send(PAGE_UP)
        t.wait_until(lambda: self.highlighted(t) == first, first)

    def test_names_that_cannot_be_typed_are_left_out(self):
        """In the draft they would name another file."""
        for name in (b"zz plain", b"zz\nline", b"zz\x1b[31mred", b"zz\xe2\x80\xaebidi", b"zz\xff"):
            with open(os.path.join(os.fsencode(self.project), name), "w"):
                pass
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True,
                       env=clean_env(GIT_CONFIG_GLOBAL="/dev/null"))
        t = self.ready()
        t.send("@zz")
        self.wait_highlighted(t, "zz plain")
        t.wait_gone("looking")
        rows = [row[2:].rstrip() for row in t.screen() if row.startswith(("  zz", "› zz"))]
        self.assertEqual(rows, ["zz plain"])

    def test_the_repository_runs_nothing(self):
        """Its configuration may name a program that git starts when it looks at the files."""
        mark = os.path.join(self.dir, "mark")
        self.write(".gitignore", "*.log")
        self.write("kept.log", "")
        for command in (["init", "-q"], ["add", "-f", "kept.log"],
                        ["config", "core.fsmonitor", f"touch {mark}; true"]):
            subprocess.run(["git", *command], cwd=self.project, check=True,
                           env=clean_env(GIT_CONFIG_GLOBAL="/dev/null"))
        t = self.ready()
        t.send("@kept")
        self.wait_highlighted(t, "kept.log")  # git has listed it
        self.assertFalse(os.path.exists(mark))

    def test_wide_names_in_a_narrow_window(self):
        self.write("很长的文件夹名字很长的文件夹名字很长的文件夹名字/结尾.txt", "")
        t = self.ready(columns=40)
        t.send("@结尾")
        self.wait_highlighted(t, ".*结尾.txt")
        for row in t.screen():
            self.assertLess(width(row.rstrip()), 40)


# ---- lists that commands open

class SessionsTest(ListsTest):
    def test_commands_and_the_option_open_the_same_list(self):
        self.talk("about apples", "about pears", "about plums")
        for command in ("/resume", "/sessions", None):
            with self.subTest(command=command):
                if command is None:
                    t = self.start(None, "-r", until=CHOICE)
                else:
                    t = self.ready()
                    t.send(command + ENTER)
                t.wait_for(CHOICE)
                self.wait_highlighted(t, r"about plums +\d+\w  1 turn  \S*project")
                t.send("pear")
                self.wait_highlighted(t, "about pears ")
                t.send(TAB)
                t.wait_for(re.compile(r"^Resume which session\? about pears$", re.M))
                t.send("\x15" + DOWN + DOWN)
                self.wait_highlighted(t, "about apples ")
                t.send(PAGE_UP)
                self.wait_highlighted(t, "about plums ")
                t.send(PAGE_DOWN)
                self.wait_highlighted(t, "about apples ")
                t.send(ENTER)
                t.wait_for("> about apples")
                self.assertEqual(self.leave(t), 0)

    def test_esc_leaves_the_draft_and_the_session(self):
        self.talk("about apples")
        t = self.ready([Answer("One."), Answer("Two.")])
        self.enter(t, "first", "One.")
        self.settle(t)
        t.send("/resume" + ENTER)
        self.wait_highlighted(t, "first ")
        t.send(ESC)
        t.wait_gone("Resume which session?")
        self.enter(t, "second", "Two.")
        self.assertEqual(words_of(self.llm.requests[1]), ["first", "One.", "second"])

    def test_without_a_terminal(self):
        self.talk("about apples")
        done = subprocess.run([IKIGAI, "-r"], cwd=self.project, env=clean_env(IKIGAI_HOME=self.home),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("about apples", done.stderr)

    def test_hostile_titles(self):
        """A title cannot drive the terminal, break its row or hide what it says."""
        hostile = "\x1b[2J\x1b]0;evil\x07red\x1b[31m\u202eback\tone\ntwo 中文字 " + "很" * 60
        self.talk("harmless", "evil")
        self.change_history("UPDATE sessions SET title = ? WHERE title = 'evil'", hostile)
        for columns in (80, 40):
            with self.subTest(columns=columns):
                t = self.ready(columns=columns)
                t.send("/sessions" + ENTER)
                t.wait_for("Resume which session?")
                self.wait_highlighted(t, "red")
                self.assertNotIn(b"evil", t.raw)
                self.assertNotIn("\u202e", "\n".join(t.screen()))
                for row in t.screen():
                    self.assertLess(width(row.rstrip()), columns)
                t.send(TAB)
                t.wait_for(HIGHLIGHTED)
                t.send(ENTER)
                t.wait_gone("Resume which session?")
                t.wait_for("> ")
                self.assertEqual(self.leave(t), 0)

    def test_forty_columns(self):
        self.talk("an ordinary message that is longer than the window is wide")
        t = self.ready(columns=40)
        t.send("/sessions" + ENTER)
        t.wait_for(re.compile(r"^› an ordinary message…? .*\d+\w  1 turn$", re.M))

    def test_ten_thousand(self):
        """All of them are there, the oldest too, and none of their logs is read."""
        self.talk("the first")
        self.change_history("""
            WITH RECURSIVE count(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < 9999)
            INSERT INTO sessions(id, cwd, host, model, title, created_at, updated_at, turns)
            SELECT printf('%016x', n), cwd, host, model, 'session ' || n, created_at,
                   updated_at + n, 1 FROM sessions, count""")
        t = self.ready()
        t.send("/sessions" + ENTER)
        self.wait_highlighted(t, "session 9999 ")
        t.wait_for("… 9994 more")
        t.send("\x1b[F")
        self.wait_highlighted(t, "the first ")
        t.send("session 4711")
        self.wait_highlighted(t, "session 4711 ")


class AgentsTest(ListsTest):
    def test_switching(self):
        t = self.ready([Answer("One."), Answer("Two.")])
        self.enter(t, "about apples", "One.")
        self.settle(t)
        t.send("/fork" + ENTER)
        t.wait_for("── agent 2 ──")
        self.enter(t, "about pears", "Two.")
        self.settle(t)
        t.send("/switch" + ENTER)
        t.wait_for("Switch to which agent?")
        self.wait_highlighted(t, r"1  idle +about apples  " + MODEL)
        t.wait_for(re.compile(r"^  2  idle, current  about pears +" + MODEL, re.M))
        t.send("pears")  # the last words are searched, too
        self.wait_highlighted(t, "2 ")
        t.send("\x15" + DOWN + UP + ENTER)
        t.wait_for("── agent 1 ──")


class SmallWindowsTest(ListsTest):
    """Where the live area has two rows, they are the line being typed and the row that Enter takes."""
    SIZES = [(80, 4), (30, 5), (60, 6), (80, 7), (80, 8)]

    def check_row(self, t, pattern):
        self.wait_highlighted(t, pattern)
        self.assertNotIn("nothing found", "\n".join(t.screen()))

    def test_every_kind_of_list(self):
        self.talk("about apples")
        for columns, rows in self.SIZES:
            with self.subTest(columns=columns, rows=rows):
                t = self.start(None, "-r", columns=columns, rows=rows, until=CHOICE)
                self.check_row(t, "about apples")
                t.send(ESC)
                self.wait_draft(t, "")
                t.wait_gone("looking for tools")
                t.send("/mod")
                self.check_row(t, "/mode ")
                t.send(DOWN)
                self.check_row(t, "/model ")
                t.send("\x15")
                self.wait_draft(t, "")
                t.send("/model" + ENTER)
                self.check_row(t, "offline/offline")
                t.send("zz")
                t.wait_until(lambda: self.highlighted(t) is None, "no row")
                t.send(ESC)
                self.wait_draft(t, "")
                t.send("hello there")
                self.wait_draft(t, "hello there")
                t.send("\x03")
                self.wait_draft(t, "")
                t.send("\x12hello")
                self.check_row(t, "hello there")
                t.send("zz")
                t.wait_for(re.compile("^search: hellozz  nothing fou", re.M))
                t.send(ESC)
                self.wait_draft(t, "")
                self.assertEqual(self.leave(t), 0)

    def test_a_draft_of_several_lines(self):
        self.write("apples.txt", "")
        t = self.ready(rows=7)
        t.send("one\ntwo\nsee @app")
        self.check_row(t, "apples.txt")
        t.wait_for("see @app")

    def test_setup(self):
        for args in ([], ["setup"]):
            with self.subTest(args=args):
                t = self.start(None, *args, rows=7, first=True)
                self.check_row(t, "1 ")
                t.send(DOWN)
                self.check_row(t, "2 ")
                t.send(ESC)


class PlainTest(ListsTest):
    def start_plain(self, *args, **options):
        return self.start(None, "--plain", *args, **options)

    def test_a_number_takes_the_row(self):
        self.talk("about apples", "about pears")
        t = self.start_plain()
        t.send("/sessions" + ENTER)
        t.wait_for(re.compile(r"^1 +about pears .*\n2 +about apples ", re.M))
        t.send("2" + ENTER)
        t.wait_for(re.compile("^> about apples$", re.M))

    def test_it_may_be_typed_before_the_rows_are_there(self):
        self.talk("about apples", "about pears")
        t = self.start_plain()
        t.send("/sessions\r2\r")
        t.wait_for(re.compile("^> about apples$", re.M))

    def test_any_other_line_is_an_ordinary_line(self):
        self.talk("about apples")
        t = self.start_plain()
        t.send("/sessions" + ENTER)
        t.wait_for(re.compile(r"^1 +about apples ", re.M))
        t.send("/usage" + ENTER)
        t.wait_for("Turns")
        t.send("1" + ENTER)  # the list is closed: a message
        t.wait_for("I did not understand that.")

    def test_a_command_is_never_completed(self):
        t = self.start_plain()
        t.send("/ref" + ENTER)
        t.wait_for("There is no command /ref. Did you mean /refresh?")

    def test_models_and_agents(self):
        t = self.start_plain()
        t.send("/switch" + ENTER)
        t.wait_for(re.compile(r"^1 +1 +idle, current", re.M))
        t.send("1" + ENTER)
        t.wait_for("You are already talking to agent 1.")
        t.send("/model" + ENTER)
        t.wait_for(re.compile(r"^1 +offline/offline +not a language model", re.M))
        t.send("1" + ENTER)
        # The answer follows the prompt if it was typed before the whole list was printed.
        t.wait_for(re.compile(r"^(> )?Model: offline/offline\n> *$", re.M))  # the next line is wanted

    def test_rows_fit_forty_columns_and_a_dumb_terminal(self):
        self.talk("an ordinary message that is longer than the window is wide")
        t = self.start_plain(columns=40, env={"TERM": "dumb"})
        t.send("/sessions" + ENTER)
        t.wait_for(re.compile(r"^1 +an ordinary message", re.M))
        self.assertNotIn(b"\x1b", t.raw)
        self.assertTrue(all(width(row) <= 40 for row in t.all_rows()))


if __name__ == "__main__":
    unittest.main()
