"""Keys of the interactive program: editing, queueing, interrupting, leaving, and drafts that survive."""
import glob
import os
import re
import signal
import unittest

from fake_llm import Answer, Call, Failure, Thinking, Text, Wire
from repl_support import ReplTest

UP, DOWN, LEFT, RIGHT = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b[C"
ESC = "\x1b"


def slow(text="word " * 400):
    """An answer that takes long enough to be interrupted."""
    return Answer(text, fragments=400, wire=Wire(delay_event=0.05))


def sent_user(request):
    return [m["content"] for m in request.json["messages"] if m["role"] == "user"]


class DraftTest(ReplTest):
    def draft(self, t):
        """The row with the prompt."""
        rows = [row for row in t.screen() if row.startswith(">")]
        return rows[-1]

    def check_draft(self, t, expected):
        t.wait_until(lambda: self.draft(t) == f"> {expected}".rstrip(),
                     f"draft {expected!r}: it is {self.draft(t)!r}")

    def test_emacs_keys(self):
        """What is typed, and the draft it makes."""
        cases = [  # a bar is typed at the end: it shows where the cursor is
            ("abc", "abc|"), ("abc\x01", "|abc"), ("abc\x02\x02", "a|bc"),
            ("abc\x01\x06", "a|bc"), ("abc\x01\x04", "|bc"), ("abc\x7f", "ab|"),
            ("one two\x17", "one |"), ("one two\x1bb\x1bd", "one |"),
            ("one two\x01\x1bf\x0b", "one|"), ("one two\x15", "|"),
            ("one two\x15\x19", "one two|"), ("one\x01\x05", "one|"), ("ab\x14", "ba|"),
            ("one two\x17\x17\x19", "one two|"), ("one\x15two\x19", "twoone|"),
            ("one\x15two\x15\x19\x1by", "one|"), ("word\x1b\x7f", "|"),
            ("abc" + LEFT + "\x1b[3~", "ab|"), ("abc\x1b[Hx\x1b[F", "xabc|"),
            ("one two\x1b[1;5D", "one |two"), ("gone\x15\x1f", "gone|"), ("äöü\x7f", "äö|"),
            ("👩‍👩‍👧x\x7f\x7f", "|"), ("e\u0301x\x7f\x7f", "|"), ("one two\x1bb\x1bu", "one TWO|"),
        ]
        for keys, expected in cases:
            with self.subTest(keys=keys):
                t = self.start()  # with nothing to yank or to undo
                t.send(keys + "|")
                self.check_draft(t, expected)
                t.close()

    def test_new_lines(self):
        t = self.ready([Answer("I see.")])
        t.send("one\x1b\rtwo\nthree\\\rfour\x1b[13;2ufive")
        t.wait_for("  five")
        self.say(t, "", "I see.")
        self.assertEqual(sent_user(self.llm.requests[0]), ["one\ntwo\nthree\nfour\nfive"])

    def test_history(self):
        t = self.ready([Answer("First."), Answer("Second."), Answer("Third.")])
        self.say(t, "alpha", "First.")
        self.say(t, "beta", "Second.")
        t.send(UP)
        self.check_draft(t, "beta")
        t.send(UP)
        self.check_draft(t, "alpha")
        t.send(DOWN + DOWN)
        self.check_draft(t, "")
        t.send("al" + UP)
        self.check_draft(t, "alpha")
        t.send("\x15\x12lph")
        t.wait_for(re.compile("alpha"))
        t.send("\r")
        self.check_draft(t, "alpha")
        self.say(t, "", "Third.")
        self.leave(t)
        with open(os.path.join(self.home, "history"), encoding="utf-8") as f:
            self.assertIn('"beta"', f.read())
        self.assertEqual(os.stat(os.path.join(self.home, "history")).st_mode & 0o777, 0o600)
        again = self.ready()
        again.send(UP)
        self.check_draft(again, "alpha")
        again.send(UP)  # it was sent twice and is there once
        self.check_draft(again, "beta")

    def test_pastes(self):
        t = self.ready([Answer("Thanks.")])
        lines = "".join(f"line {i}\n" for i in range(1, 121))
        t.paste(lines)
        t.wait_for("[pasted 120 lines #1]")
        t.send(" and ")
        t.paste("x" * 1200)
        t.wait_for("[pasted 1,200 characters #2]")
        t.send(" ")
        t.paste("short")
        t.wait_for("#2] short")
        self.say(t, "", "Thanks.")
        self.assertEqual(sent_user(self.llm.requests[0]),
                         [f"{lines} and {'x' * 1200} short"])

    def test_a_paste_cannot_press_enter_or_drive_the_terminal(self):
        t = self.ready()
        t.paste("echo one\recho two\x1b[2J\x1b]0;evil\x07")
        t.wait_for("  echo two")
        self.assertNotIn(b"evil", t.raw)

    def test_completion_of_files(self):
        for name in ("src/main.c", "src/other.c", "README", ".git/config"):
            self.write(name, "")
        t = self.ready([Answer("Fine.")])
        t.send("look at @smc")
        t.wait_for(re.compile(r"^\s+src/main\.c", re.M))
        t.send("\t")
        self.check_draft(t, "look at @src/main.c ")
        self.say(t, "now", "Fine.")
        self.assertEqual(sent_user(self.llm.requests[0]), ["look at @src/main.c now"])

    def test_enter_submits_while_a_list_is_open(self):
        t = self.ready()
        t.send("/he")
        t.wait_for("/help")
        t.send("\r")
        t.wait_for("There is no command /he")

    def test_an_external_editor(self):
        seen = os.path.join(self.dir, "environment")
        editor = self.write("editor", f"#!/bin/sh\nenv > {seen}\necho 'from the editor' >> \"$1\"\n",
                            0o755)
        t = self.ready([Answer("Read it.")],
                       env={"EDITOR": editor, "ANTHROPIC_API_KEY": "canary-key"})
        t.send("typed before\x07")
        t.wait_for("  from the editor")
        self.say(t, "", "Read it.")
        self.assertEqual(sent_user(self.llm.requests[0]), ["typed before\nfrom the editor"])
        with open(seen, encoding="utf-8") as f:
            self.assertNotIn("canary-key", f.read())

    def test_an_editor_that_fails_leaves_the_draft(self):
        t = self.ready(env={"EDITOR": "false"})
        t.send("precious\x18\x05")
        t.wait_for("The editor failed")
        self.check_draft(t, "precious")

    def test_the_editor_goes_with_the_program(self):
        mark = os.path.join(self.dir, "pid")
        editor = self.write("editor", f"#!/bin/sh\necho $$ > {mark}.new; mv {mark}.new {mark}\n"
                            "while :; do sleep 0.05; done\n", 0o755)
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(signal=number):
                t = self.ready(env={"EDITOR": f"sh -c 'exec {editor}'"})
                t.send("\x07")
                t.wait_until(lambda: os.path.exists(mark), "editor")
                with open(mark, encoding="utf-8") as f:
                    pid = int(f.read())
                t.check = False
                t.signal(number)
                t.wait_exit()
                t.wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "end of the editor")
                os.unlink(mark)

    def test_the_agent_works_while_the_editor_has_the_terminal(self):
        gate = os.path.join(self.dir, "gate")
        editor = self.write("editor", f"#!/bin/sh\nuntil [ -e {gate} ]; do sleep 0.05; done\n", 0o755)
        t = self.ready([Answer("", calls=[Call("bash", {"command": f"touch {gate}"})]),
                        Answer("Opened.")], env={"EDITOR": editor})
        t.send("go\r\x07")
        t.wait_for("Opened.")


class WorkingTest(ReplTest):
    def test_messages_queue_and_are_sent_in_order(self):
        t = self.ready([slow("one " * 40), Answer("Two."), Answer("Three.")])
        self.say(t, "first", "one one")
        t.send("second\r")
        t.wait_for("queued: second")
        t.send("third\r")
        t.wait_for("Three.", timeout=30)
        self.assertEqual([sent_user(r)[-1] for r in self.llm.requests],
                         ["first", "second", "third"])

    def test_escape_interrupts_and_gives_back(self):
        t = self.ready([slow(), Answer("Fine.")])
        self.say(t, "first", "word word")
        t.send("second\r")
        t.wait_for("queued: second")
        t.send("third\r")
        t.wait_for("queued: third")
        t.send("draft" + ESC)
        t.wait_for("interrupted")
        t.wait_for(re.compile(r"^> second\n  third\n  draft$", re.M))
        self.say(t, "", "Fine.")
        self.assertEqual(sent_user(self.llm.requests[1])[-1], "second\nthird\ndraft")

    def test_control_c_clears_then_interrupts_then_leaves(self):
        t = self.ready([slow()])
        self.say(t, "first", "word word")
        t.send("some draft")
        t.wait_for("> some draft")
        t.send("\x03")
        t.wait_gone("> some draft")
        self.assertNotIn("interrupted", "\n".join(t.all_rows()))
        t.send("\x03")
        t.wait_for("interrupted")
        t.send("\x03")
        t.wait_for("Ctrl-C again")
        t.send("\x03")
        self.assertEqual(t.wait_exit(), 0)

    def test_control_c_alone_does_not_leave(self):
        t = self.ready()
        t.send("\x03")
        t.wait_for("Ctrl-C again")
        t.send("x")
        t.wait_gone("Ctrl-C again")
        t.send("\x7f\x03")
        t.wait_for("Ctrl-C again")
        self.assertIsNone(t.child.poll())

    def test_control_d_leaves_only_from_an_empty_draft(self):
        t = self.ready()
        t.send("ab\x01\x04")
        t.wait_for(re.compile("^> b$", re.M))
        t.send("\x05\x7f\x04")
        self.assertEqual(t.wait_exit(), 0)

    def test_interrupted_tools_die(self):
        t = self.ready([Answer("", calls=[Call("bash", {"command": "echo started; sleep 600"})])])
        self.say(t, "go", "started")
        t.send(ESC)
        t.wait_for("INTERRUPTED")
        t.wait_for("interrupted")

    def test_a_retry_is_shown_and_can_be_interrupted(self):
        t = self.ready([Failure("rate_limit", headers={"retry-after": "30"})])
        self.say(t, "hello", re.compile("retry in (30|29|28) s"))
        t.send(ESC)
        t.wait_for("interrupted")

    def test_suspending(self):
        shell = self.terminal(["/bin/bash", "--norc", "--noprofile", "-i"], cwd=self.project,
                              env={**os.environ, "IKIGAI_HOME": self.home, "PS1": "shell$ ",
                                   "TERM": "xterm-256color"})
        shell.check = False
        shell.wait_for("shell$")
        from support import IKIGAI
        shell.send(f"{IKIGAI}\r")
        shell.wait_for("/help")
        shell.send("kept draft")
        shell.wait_for("> kept draft")
        shell.send("\x1a")
        shell.wait_for("Stopped")
        shell.send("stty -a | grep -o -- '[-]*icanon'; fg\r")
        shell.wait_for(re.compile(r"^icanon", re.M))
        shell.wait_until(lambda: "> kept draft" in shell.screen(), "draft again")
        shell.send("\x15\x04")
        shell.wait_for(re.compile(r"shell\$ *$"))


class SavedDraftTest(ReplTest):
    def drafts(self):
        return glob.glob(os.path.join(self.home, "drafts", "*"))

    def saved(self):
        texts = []
        for path in self.drafts():
            with open(path, encoding="utf-8") as f:
                texts.append(f.read())
        return "".join(texts)

    def test_a_draft_survives_a_killed_program(self):
        t = self.ready([Answer("Hello.")])
        self.say(t, "hi", "Hello.")
        t.send("half a thought\x1b\rand another")
        t.wait_until(lambda: "another" in self.saved(), "saved draft")
        self.assertEqual({os.stat(f).st_mode & 0o777 for f in self.drafts()}, {0o600})
        t.check = False
        t.signal(signal.SIGKILL)
        t.wait_exit()
        again = self.start(None, "-c")
        again.wait_for(re.compile(r"^> half a thought\n  and another$", re.M))
        again.wait_for("Hello.")  # the earlier conversation, too

    def test_a_draft_of_a_session_that_never_began(self):
        t = self.ready()
        t.send("only a draft")
        t.wait_until(self.drafts, "saved draft")
        t.check = False
        t.signal(signal.SIGKILL)
        t.wait_exit()
        again = self.start(None, "-c")
        again.wait_for("> only a draft")

    def test_a_draft_that_was_sent_is_gone(self):
        t = self.ready([Answer("Hello.")])
        t.send("hi")
        t.wait_until(self.drafts, "saved draft")
        self.say(t, "", "Hello.")
        t.wait_until(lambda: not self.drafts(), "no draft")
        self.assertEqual(self.leave(t), 0)

    def test_signals_save_the_draft(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                t = self.ready()
                t.send(f"before {number}")
                t.wait_for(f"> before {number}")
                t.signal(number)
                self.assertEqual(t.wait_exit(), 128 + number)
                again = self.start(None, "-c")
                again.wait_for(f"> before {number}")
                again.send("\x15")
                again.wait_until(lambda: not self.drafts(), "no draft")
                self.leave(again)


class ThinkingTest(ReplTest):
    def test_reasoning_is_shown_and_folded(self):
        t = self.ready([Answer(parts=[Thinking("deep thoughts\n" * 8), Text("42")], fragments=20,
                               wire=Wire(delay_event=0.05))])
        self.say(t, "why", "deep thoughts")
        t.wait_for("42")
        t.wait_for(re.compile(r"thought for [0-9.]+ s, 8 lines"))
        t.wait_gone("deep thoughts")


if __name__ == "__main__":
    unittest.main()
