"""/undo, /redo, /rewind and /diff in the interactive program."""
import os
import re

from fake_llm import Answer, Call
from repl_support import ReplTest, words_of

ESC, ENTER, UP, DOWN, CLEAR = "\x1b", "\r", "\x1b[A", "\x1b[B", "\x15"


def write(path, content):
    return Call("file_write", {"file_path": path, "content": content})


def bash(command):
    return Call("bash", {"command": command})


def turn(*calls, then="Done."):
    return [Answer(calls=list(calls)), Answer(then)]


class UndoTest(ReplTest):
    def files(self):
        found = {}
        for where, _, names in os.walk(self.project):
            for name in names:
                path = os.path.join(where, name)
                with open(path, encoding="utf-8") as f:
                    found[os.path.relpath(path, self.project)] = f.read()
        return found

    def draft(self, t):
        """What is typed, without the mark."""
        rows = [row[2:] for row in t.screen() if row.startswith(">")]
        return rows[-1].rstrip() if rows else None

    def wait_draft(self, t, text):
        t.wait_until(lambda: self.draft(t) == text, f"the draft {text!r}")

    def ask(self, t, text, until):
        """A whole turn."""
        t.send(text + "\r")
        t.wait_for(until)
        self.settle(t)

    def undo(self, t, line="/undo", until="Took back 1 turn"):
        return self.enter(t, line, until)

    def clear(self, t):
        t.send(CLEAR)
        self.wait_draft(t, "")


class Undo(UndoTest):
    def test_files_conversation_and_draft(self):
        self.write("a.txt", "0\n")
        t = self.ready([*turn(write("a.txt", "1\n"), then="One."),
                        *turn(bash("echo 2 > a.txt; echo 2 > b.txt"), then="Two."),
                        Answer("Three.")])
        self.ask(t, "first", "One.")
        self.ask(t, "second", "Two.")
        rows = self.undo(t)
        self.assertEqual(rows, ["Took back 1 turn: second", "Restored 2 files:", "  a.txt",
                                "  b.txt"])
        self.assertEqual(self.files(), {"a.txt": "1\n"})
        self.wait_draft(t, "second")
        t.send(" again\r")
        t.wait_for("Three.")
        self.assertEqual(words_of(self.llm.requests[-1]), ["first", "One.", "second again"])
        self.assertEqual(self.leave(t), 0)

    def test_the_request_is_as_if_the_question_had_not_been_asked(self):
        t = self.ready([*turn(write("a.txt", "1\n"), then="One."),
                        *turn(write("a.txt", "2\n"), then="Two."), Answer("Three.")])
        self.ask(t, "first", "One.")
        self.ask(t, "second", "Two.")
        self.undo(t)
        self.wait_draft(t, "second")
        t.send("\r")
        t.wait_for("Three.")
        self.assertEqual(self.llm.requests[4].body, self.llm.requests[2].body)

    def test_agents_hides_the_undone_one(self):
        t = self.ready([*turn(write("a.txt", "1\n"), then="One.")])
        self.ask(t, "first", "One.")
        self.undo(t)
        self.clear(t)
        rows = self.enter(t, "/agents", " * ")
        self.assertEqual(len(rows), 1)
        self.assertTrue(rows[0].startswith("2 * from 1"), rows)
        self.enter(t, "/switch 1", "There is no agent 1")

    def test_redo_and_a_new_message(self):
        t = self.ready([*turn(write("a.txt", "1\n"), then="One."), Answer("Two."),
                        Answer("Three.")])
        self.ask(t, "first", "One.")
        self.undo(t)
        self.assertEqual(self.files(), {})
        self.clear(t)
        self.assertEqual(self.enter(t, "/redo", "Restored"),
                         ["Brought back 1 turn: first", "Restored 1 file:", "  a.txt"])
        self.assertEqual(self.files(), {"a.txt": "1\n"})
        self.enter(t, "/redo", "nothing to redo")
        self.ask(t, "second", "Two.")
        self.assertEqual(words_of(self.llm.requests[-1]), ["first", "One.", "second"])
        self.undo(t)
        self.clear(t)
        self.ask(t, "third", "Three.")
        self.enter(t, "/redo", "nothing to redo")

    def test_conflicts(self):
        t = self.ready([*turn(write("a.txt", "1\n"), write("b.txt", "1\n"), then="One.")])
        self.ask(t, "first", "One.")
        self.write("a.txt", "mine\n")
        rows = self.undo(t, until="--force")
        self.assertEqual(rows[1:], ["Restored 1 file:", "  b.txt",
                                    "Left alone, changed since: 1 file", "  a.txt",
                                    "/undo --force restores all of them, /undo PATH one."])
        self.assertEqual(self.files(), {"a.txt": "mine\n"})
        self.clear(t)
        self.enter(t, "/undo a.txt", "Finished the undo of 1 turn")
        self.assertEqual(self.files(), {})
        self.wait_draft(t, "")  # the question returned with the undo already
        self.enter(t, "/redo", "Restored 2 files")
        self.assertEqual(self.files(), {"a.txt": "mine\n", "b.txt": "1\n"})

    def test_names_leave_the_conversation(self):
        t = self.ready([*turn(write("a b.txt", "1\n"), write("c.txt", "1\n"), then="One."),
                        Answer("Two.")])
        self.ask(t, "first", "One.")
        rows = self.enter(t, '/undo "a b.txt"', "Restored 1 file")
        self.assertEqual(rows, ["The conversation stays.", "Restored 1 file:", "  a b.txt"])
        self.assertEqual(self.files(), {"c.txt": "1\n"})
        self.wait_draft(t, "")
        self.ask(t, "second", "Two.")
        self.assertEqual(words_of(self.llm.requests[-1]), ["first", "One.", "second"])

    def test_wrong_use(self):
        t = self.ready([Answer("One.")])
        self.enter(t, "/undo", "There is nothing to undo")
        self.enter(t, "/redo", "There is nothing to redo")
        self.ask(t, "first", "One.")
        self.enter(t, "/undo 2", "There is only 1 turn to undo")
        self.enter(t, "/undo 0", "Usage: /undo [N]")
        self.enter(t, "/undo --frob", "Usage: /undo [N]")
        self.enter(t, "/undo x 3", "Write ./3 for a file of that name")
        self.enter(t, "/undo ''", "A PATH is empty; write . for all files of the folder")
        self.enter(t, "/redo 1", "Usage: /redo")
        self.enter(t, "/rewind 5", "There is only 1 turn to undo")
        self.enter(t, "/rewind 1 all", "Usage: /rewind")
        self.enter(t, "/diff all", "Usage: /diff [turn] [--stat]")

    def test_refused_while_tools_run(self):
        t = self.ready([*turn(write("a.txt", "1\n"), then="One."),
                        *turn(bash("touch started; until test -e go; do sleep 0.05; done"),
                              then="Two.")])
        self.ask(t, "first", "One.")
        t.send("second\r")
        t.wait_until(lambda: "started" in self.files(), "the call runs")
        t.send("/undo\r")
        t.wait_for("/undo has to wait until the turn has ended")
        self.write("go", "")
        t.wait_for("Two.")
        self.assertEqual(self.files()["a.txt"], "1\n")

    def test_an_interrupted_turn(self):
        t = self.ready([*turn(bash("echo 1 > a.txt; touch started; sleep 60"), then="One.")])
        t.send("first\r")
        t.wait_until(lambda: "started" in self.files(), "the call runs")
        t.send(ESC)
        t.wait_for("interrupted")
        self.settle(t)
        self.undo(t)
        self.assertEqual(self.files(), {})

    def test_steering_belongs_to_the_turn_it_joined(self):
        t = self.ready([Answer(calls=[bash("echo 1 > a.txt; touch started;"
                                           " until test -e go; do sleep 0.05; done")]),
                        Answer(calls=[write("b.txt", "1\n")]), Answer("One.")])
        t.send("first\r")
        t.wait_until(lambda: "started" in self.files(), "the call runs")
        t.send("and b\r")
        t.wait_for("next: and b")
        self.write("go", "")
        t.wait_for("One.")
        self.settle(t)
        self.assertIn("and b", words_of(self.llm.requests[1]))
        self.undo(t, until="Took back 1 turn: first")
        self.wait_draft(t, "first")
        self.assertEqual(self.files(), {})

    def test_shell_notes_go_with_their_turn(self):
        t = self.ready([Answer("One."), Answer("Two.")])
        self.ask(t, "first", "One.")
        self.enter(t, "!echo note", "note", below="! echo note")
        self.undo(t, until="Took back 1 turn: first")
        self.clear(t)
        self.ask(t, "second", "Two.")
        self.assertEqual(words_of(self.llm.requests[-1]), ["second"])

    def test_going_on_after_leaving(self):
        t = self.ready([*turn(write("a.txt", "1\n"), then="One."),
                        *turn(write("a.txt", "2\n"), then="Two."), Answer("Three.")])
        self.ask(t, "first", "One.")
        self.ask(t, "second", "Two.")
        self.undo(t)
        self.clear(t)
        self.assertEqual(self.leave(t), 0)
        t = self.ready(None, "-c")
        self.assertNotIn("second", "\n".join(t.all_rows()))
        self.enter(t, "/redo", "Brought back 1 turn: second")
        self.assertEqual(self.files(), {"a.txt": "2\n"})
        self.ask(t, "third", "Three.")
        self.assertEqual(words_of(self.llm.requests[-1]),
                         ["first", "One.", "second", "Two.", "third"])

    def test_a_command_typed_ahead_waits_for_the_undo(self):
        t = self.ready([Answer("One."), *turn(write("a.txt", "2\n"), then="Two.")])
        self.ask(t, "first", "One.")
        self.enter(t, "/fork", "agent 2")
        self.ask(t, "second", "Two.")
        t.send("/undo\r/switch 1\r")  # in one read
        t.wait_for("── agent 1 ──")
        self.wait_draft(t, "second")
        rows = t.all_rows()
        self.assertLess(rows.index("Took back 1 turn: second"), rows.index("── agent 1 ──"))
        self.assertEqual(self.files(), {})
        self.clear(t)
        rows = self.enter(t, "/agents", "3   from 2")
        self.assertEqual([row[:4] for row in rows], ["1 * ", "3   "])

    def test_leaving_waits_for_the_undo(self):
        """Of many files, each of which is written to the disk."""
        t = self.ready(turn(bash("for i in $(seq 600); do echo $i > $i; done"), then="One."))
        self.ask(t, "first", "One.")
        self.assertEqual(len(self.files()), 600)
        t.send("/undo\r\x04")  # in one read
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(self.files(), {})
        self.assertIn("Took back 1 turn: first", t.all_rows())
        again = self.start(None, "-c")
        self.wait_draft(again, "first")

    def test_two_agents(self):
        t = self.ready([*turn(write("a.txt", "1\n"), then="One."),
                        *turn(write("b.txt", "1\n"), then="Two.")])
        self.ask(t, "first", "One.")
        self.ask(t, "/fork second", "Two.")
        self.undo(t)
        self.assertEqual(self.files(), {"a.txt": "1\n"})
        self.clear(t)
        rows = self.enter(t, "/agents", " * ")
        self.assertEqual([row.split()[0] for row in rows], ["1", "3"])


class Rewind(UndoTest):
    def begin(self):
        t = self.ready([*turn(write("a.txt", "1\n"), then="One."),
                        *turn(write("a.txt", "2\n"), write("b.txt", "2\n"), then="Two."),
                        *turn(write("a.txt", "3\n"), then="Three."), Answer("Four.")])
        self.ask(t, "first", "One.")
        self.ask(t, "second", "Two.")
        self.ask(t, "third", "Three.")
        return t

    def test_both(self):
        t = self.begin()
        self.enter(t, "/rewind 2", "Took back 2 turns: second")
        self.assertEqual(self.files(), {"a.txt": "1\n"})
        self.wait_draft(t, "second")

    def test_files(self):
        t = self.begin()
        self.enter(t, "/rewind 1 files", "Restored 2 files")
        self.assertEqual(self.files(), {})
        self.wait_draft(t, "")
        self.ask(t, "fourth", "Four.")
        self.assertEqual(words_of(self.llm.requests[-1])[-3:], ["third", "Three.", "fourth"])

    def test_redo_of_files(self):
        t = self.begin()
        self.enter(t, "/rewind 2 files", "Restored 2 files")
        self.assertEqual(self.files(), {"a.txt": "1\n"})
        self.enter(t, "/redo", "Restored 2 files")
        self.assertEqual(self.files(), {"a.txt": "3\n", "b.txt": "2\n"})

    def test_conversation(self):
        t = self.begin()
        self.enter(t, "/rewind 2 conversation", "Took back 2 turns: second")
        self.assertEqual(self.files(), {"a.txt": "3\n", "b.txt": "2\n"})
        self.wait_draft(t, "second")
        self.clear(t)
        self.ask(t, "fourth", "Four.")
        self.assertEqual(words_of(self.llm.requests[-1]), ["first", "One.", "fourth"])

    def test_list(self):
        t = self.begin()
        t.send("/rewind\r")
        t.wait_for("› 3  third")
        t.send(UP)
        t.wait_for("› 2  second")
        t.send(ENTER)
        t.wait_for("› both")
        t.send(DOWN)
        t.wait_for("› files")
        t.send(ENTER)
        t.wait_for("Restored 2 files")
        self.assertEqual(self.files(), {"a.txt": "1\n"})
        t.send("/rewind\r")
        t.wait_for("› 3  third")
        t.send(ESC)
        self.wait_draft(t, "")
        self.assertEqual(self.files(), {"a.txt": "1\n"})


class Diff(UndoTest):
    def test_short_and_long(self):
        self.write("a.txt", "0\n")
        t = self.ready([*turn(write("a.txt", "1\n"), then="One."),
                        *turn(write("b.txt", "".join(f"line {i}\n" for i in range(200))),
                              then="Two.")])
        self.enter(t, "/diff", "No changes are recorded")
        self.ask(t, "first", "One.")
        rows = self.enter(t, "/diff", "+1")
        self.assertIn("-0", rows)
        self.assertIn("+1", rows)
        self.ask(t, "second", "Two.")
        t.send("/diff turn\r")
        t.wait_until(lambda: self.in_pager(t) and "+line 3" in "\n".join(t.screen()),
                     "the patch in the pager")
        self.assertNotIn("a.txt", "\n".join(t.screen()))
        self.close_pager(t)
        self.enter(t, "/diff --stat", "2 files changed")
        self.enter(t, "/diff turn --stat", "1 file changed")


    def test_colours(self):
        """Those of the language, and changed words are marked, as in other diffs."""
        self.write("a.c", "int one = 1;\nint two = 2;\n")
        t = self.ready([*turn(write("a.c", "int one = 1;\nint three = 2;\n"), then="One.")])
        self.ask(t, "first", "One.")
        before = len(t.raw)
        self.enter(t, "/diff", "+int three = 2;")
        keyword, changed = rb"\+\x1b\[[0-9;]+mint", rb"\x1b\[[0-9;]*7mthree\x1b"
        self.assertRegex(t.raw[before:], keyword)
        self.assertRegex(t.raw[before:], changed)


class Plain(UndoTest):
    def test_undo_redo_rewind_diff(self):
        self.serve([*turn(write("a.txt", "1\n"), then="One."),
                    *turn(write("a.txt", "2\n"), then="Two."), Answer("Three.")])
        t = self.start(None, "--plain", first=True)
        t.send("first\r")
        t.wait_for("One.")
        t.send("/diff\r")
        t.wait_for(re.compile(r"^\+1", re.M))
        t.send("second\r")
        t.wait_for("Two.")
        t.send("/undo\r")
        t.wait_for("The question was:")
        self.assertEqual(self.files(), {"a.txt": "1\n"})
        t.send("/redo\r")
        t.wait_for("Brought back 1 turn: second")
        self.assertEqual(self.files(), {"a.txt": "2\n"})
        t.send("/rewind\r")
        t.wait_for("second")
        t.wait_for("before which message")
        t.send("1\r")
        t.wait_for("from message 1 on")
        t.send("2\r")
        t.wait_for("The conversation stays.")
        self.assertEqual(self.files(), {})
        t.send("third\r")
        t.wait_for("Three.")
        self.assertEqual(words_of(self.llm.requests[-1])[-3:], ["second", "Two.", "third"])
