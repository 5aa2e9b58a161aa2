"""Keys of the interactive program: editing, queueing, interrupting, leaving, drafts that survive, and
that every key does what the help says of it."""
import contextlib
import glob
import os
import re
import signal
import time
import unittest

import hostile
from agent_support import sent_results
from fake_llm import Answer, Call, Failure, Thinking, Text, Wire
from repl_support import ReplTest
from support import IKIGAI

UP, DOWN, LEFT, RIGHT = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b[C"
ESC = "\x1b"


def slow(text="word " * 400):
    """An answer that takes long enough to be interrupted."""
    return Answer(text, fragments=400, wire=Wire(delay_event=0.05))


def sent_user(request):
    return [m["content"] for m in request.json["messages"] if m["role"] == "user"]


class DraftTest(ReplTest):
    def draft(self, t):
        """The row with the prompt; there is none while the screen is drawn again."""
        rows = [row for row in t.screen() if row.startswith(">")]
        return rows[-1] if rows else ""

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
            ("one two\x15\x19", "one two|"), ("one\x01\x05", "one|"),
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

    def test_a_sequence_that_arrives_while_the_program_cannot_run(self):
        """It is still one key when the time for it has passed. On a busy machine the time may pass
        before the program is stopped; then it is tried again."""
        t = self.start()
        for _ in range(20):
            t.send("one two\x01")
            self.check_draft(t, "one two")
            t.send("\x1b")
            time.sleep(0.01)
            t.signal(signal.SIGSTOP)
            time.sleep(0.1)
            t.send("d|")  # Alt-d
            t.signal(signal.SIGCONT)
            t.wait_until(lambda: "|" in self.draft(t), "the last key")
            if self.draft(t) == "> | two":
                return
            self.assertEqual(self.draft(t), "> d|one two")
            t.send("\x05\x15")
            self.check_draft(t, "")
        self.fail("Alt-d is never one key")

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
        t.wait_for(re.compile(r"^› src/main\.c", re.M))
        t.send("\t")
        self.check_draft(t, "look at @src/main.c ")
        self.say(t, "now", "Fine.")
        self.assertEqual(sent_user(self.llm.requests[0]), ["look at @src/main.c now"])

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
        gate = os.path.join(self.project, "gate")  # where a call may write
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
        t.wait_for("next: second")
        t.send("third\r")
        t.wait_for("Three.")
        self.assertEqual([sent_user(r)[-1] for r in self.llm.requests],
                         ["first", "second", "third"])

    def test_escape_interrupts_and_gives_back(self):
        t = self.ready([slow(), Answer("Fine.")])
        self.say(t, "first", "word word")
        t.send("second\r")
        t.wait_for("next: second")
        t.send("third\r")
        t.wait_for("next: third")
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
        t.wait_for(re.compile("^└ #1 interrupted", re.M))
        t.wait_for("interrupted")

    def interrupted_command(self, how):
        """A command that printed something before it was ended; the result the next turn sends."""
        command = {"command": "echo par''tial; touch here; sleep 600"}
        t = self.ready([Answer("", calls=[Call("bash", command)]), Answer("Seen.")])
        t.send("go\r")
        self.assertTrue(hostile.wait_until(
            lambda: os.path.exists(os.path.join(self.project, "here")), 60))
        how(t)
        return t

    def assert_sent(self):
        ((_, result),) = sent_results(self.llm.requests[1])
        self.assertEqual((result["error_code"], result["stdout"]), ("INTERRUPTED", "partial"))

    def test_what_an_interrupted_command_printed_stays(self):
        t = self.interrupted_command(lambda t: t.send(ESC))
        t.wait_for("interrupted")
        self.assertIn("partial", "\n".join(t.all_rows()))
        self.say(t, "on", "Seen.")
        self.assert_sent()
        self.assertEqual(self.leave(t), 0)

    def test_what_a_command_printed_stays_when_the_program_is_left(self):
        def end(t):
            t.send("\x04")
            self.assertEqual(t.wait_exit(), 0)

        def hang_up(t):
            t.signal(signal.SIGHUP)
            self.assertEqual(t.wait_exit(), 129)
        for how in (end, hang_up):
            with self.subTest(how=how.__name__):
                self.interrupted_command(how)
                t = self.start(None, "-c")
                self.say(t, "on", "Seen.")
                self.assert_sent()
                self.assertEqual(self.leave(t), 0)
                os.remove(os.path.join(self.project, "here"))

    def test_a_retry_is_shown_and_can_be_interrupted(self):
        t = self.ready([Failure("rate_limit", headers={"retry-after": "30"})])
        self.say(t, "hello", re.compile(
            r"attempt 2 of 5 in \d+ s: HTTP 429: Rate limit.* · \d+ s · esc to interrupt"))
        self.assertNotIn("attempt", self.status(t))
        t.send(ESC)
        t.wait_for("interrupted")

    def test_suspending(self):
        shell = self.terminal(["/bin/bash", "--norc", "--noprofile", "-i"], cwd=self.project,
                              env={**os.environ, "IKIGAI_HOME": self.home, "PS1": "shell$ ",
                                   "TERM": "xterm-256color"})
        shell.check = False
        shell.wait_for("shell$")
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

    def test_suspending_in_the_pager(self):
        """While it shows text, its keys, or a pattern that is being typed."""
        self.decline_setup()
        shell = self.terminal(["/bin/bash", "--norc", "--noprofile", "-i"], cwd=self.project,
                              env={**os.environ, "IKIGAI_HOME": self.home, "PS1": "shell$ ",
                                   "TERM": "xterm-256color"})
        shell.check = False
        shell.wait_for("shell$")
        shell.send(f"{IKIGAI}\r")
        shell.wait_for("/help")
        shell.send("!echo seen in the pager\r")
        shell.wait_for(re.compile("exit_code: 0\nseen in the pager", re.M))  # no longer in the live area
        for count, (keys, shown) in enumerate((("\x0f", "q close"), ("h", "Press any key"),
                                               ("x/patt", "/patt")), 1):
            shell.send(keys)
            shell.wait_until(lambda: self.in_pager(shell) and shown in "\n".join(shell.screen()),
                             f"{shown!r} in the pager")
            before = shell.screen()
            shell.send("\x1a")
            shell.wait_until(lambda: not self.in_pager(shell) and
                             "\n".join(shell.screen()).count("Stopped") == count, "the shell")
            shell.send("fg\r")
            shell.wait_until(lambda: self.in_pager(shell) and shell.screen() == before,
                             "the pager again")
        shell.send(ESC)
        shell.wait_for("q close")
        self.close_pager(shell)
        shell.send("\x04")
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
        self.enter(t, "hi", "Hello.")
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

    def test_plain_mode_prints_a_draft_and_keeps_it(self):
        t = self.ready([Answer("Hello."), Answer("Plain.")])
        self.enter(t, "hi", "Hello.")
        t.send("half a thought")
        t.wait_until(lambda: self.saved() == "half a thought", "saved draft")
        t.signal(signal.SIGTERM)
        t.wait_exit()
        plain = self.start(None, "-c", "--plain", plain=True)
        plain.wait_for("Not sent:\nhalf a thought\n")
        self.assertEqual(self.leave(plain), 0)
        self.assertEqual(self.saved(), "half a thought")
        plain = self.start(None, "-c", "--plain", plain=True)
        plain.wait_for("Not sent:\nhalf a thought\n")
        plain.send("whole\r")
        plain.wait_for("Plain.")
        plain.wait_until(lambda: not self.drafts(), "no draft")
        self.assertEqual(self.leave(plain), 0)

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


# ---- what the help says

def pressed(name):
    """What a terminal sends for a key of the help, "Ctrl-X Ctrl-E" too."""
    return "".join(press_one(key) for key in name.split(" "))


def press_one(name):
    held = 1
    for modifier, value in (("Ctrl-", 4), ("Alt-", 2), ("Shift-", 1)):
        if name.startswith(modifier):
            name, held = name[len(modifier):], held + value
    letters = {"Up": "A", "Down": "B", "Right": "C", "Left": "D", "End": "F", "Home": "H"}
    numbers = {"Delete": 3, "PageUp": 5, "PageDown": 6}
    codes = {"Enter": "\r", "Tab": "\t", "Backspace": "\x7f", "Esc": "\x1b", "Space": " "}
    if name in letters:
        return f"\x1b[{letters[name]}" if held == 1 else f"\x1b[1;{held}{letters[name]}"
    if name in numbers:
        return f"\x1b[{numbers[name]}~" if held == 1 else f"\x1b[{numbers[name]};{held}~"
    code = codes.get(name, name.lower() if held > 1 else name)
    if held == 5 and re.fullmatch("[a-z_]", code):
        return chr(ord(code) & 0x1f)
    if held in (1, 3):
        return ("" if held == 1 else "\x1b") + code
    return f"\x1b[{ord(code)};{held}u"


@contextlib.contextmanager
def naming(key, does):
    """Unlike a subTest it ends with the first failure: the draft is no longer what the next needs."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{key}: {does}\n{error}") from None


class HelpTest(ReplTest):
    """Each key that /help keys names is pressed, and does what the text beside it says."""

    def told(self, title):
        """The rows under one title: text -> names of keys."""
        t = self.ready(columns=120, rows=120)
        rows = self.enter(t, "/help keys", "closes the pager")
        t.close()
        start = rows.index(f"{title}:") + 1
        end = rows.index("", start) if "" in rows[start:] else len(rows)
        table, unfinished = {}, False
        for row in rows[start:end]:
            keys, text = row[2:27].strip(), row[27:]
            does = does if unfinished else text
            table.setdefault(does, []).extend(filter(None, keys.split(", ")))
            unfinished = keys.endswith(",")
            table[does][-1] = table[does][-1].rstrip(",")
        return table

    def check_all(self, title, cases, try_key):
        """A case for each text, tried with each of its keys."""
        table = self.told(title)
        self.assertEqual(sorted(table), sorted(cases))
        for does, keys in table.items():
            for key in keys:
                with naming(key, does):
                    try_key(pressed(key), *cases[does])

    def wait_draft(self, t, text):
        """The draft is this, with its lines."""
        wanted = [f"> {line}" if i == 0 else f"  {line}"
                  for i, line in enumerate(text.split("\n"))]

        def shown():
            rows = t.screen()
            starts = [i for i, row in enumerate(rows) if row.startswith(">")]
            return starts and [row.rstrip() for row in rows[starts[-1]:starts[-1] + len(wanted)]] \
                == [row.rstrip() for row in wanted]
        t.wait_until(shown, f"draft {text!r}")

    def test_vi(self):
        """The draft, where a bar is at the cursor, what follows the key, and the draft after it; then a
        bar is inserted."""
        self.configure(keys="vi", model="offline/offline")
        cases = {
            "moves left": ("ab|c", "i", "a|bc"),
            "moves right": ("|abc", "i", "a|bc"),
            "up, then earlier messages, as Up does": ("ab\n|cd", "i", "|ab\ncd"),
            "down, then newer messages, as Down does": ("|ab\ncd", "i", "ab\n|cd"),
            "moves to the start of the line": ("  a|b", "i", "|  ab"),
            "moves to the first character that is not blank": ("  a|b", "i", "  |ab"),
            "moves to the end of the line": ("|abc", "a", "abc|"),
            "moves to the next word": ("|one,two", "i", "one|,two"),
            "moves back to the start of a word": ("one t|wo", "i", "one |two"),
            "moves to the end of a word": ("|one two", "a", "one| two"),
            "as w; only blanks separate words": ("|a,b c", "i", "a,b |c"),
            "as b; only blanks separate words": ("a,|b c", "i", "|a,b c"),
            "as e; only blanks separate words": ("|a,b c", "a", "a,b| c"),
            "moves to the next CHARACTER of the line": ("|abc", "ca", "abc|"),
            "moves back to CHARACTER": ("ab|c", "ai", "|abc"),
            "moves to the place before the next CHARACTER": ("|abc", "ca", "ab|c"),
            "moves back to the place after CHARACTER": ("ab|c", "ai", "a|bc"),
            "repeats f, F, t or T": ("|abab", "i", "aba|b", "fb"),
            "repeats f, F, t or T in the other direction": ("|abab", "i", "a|bab", "fb;"),
            "moves to the first line, or to line N after N": ("a\nb\n|c", "i", "|a\nb\nc"),
            "moves to the last line, or to line N after N": ("|a\nb\nc", "i", "a\nb\n|c"),
            "inserts before the cursor": ("a|b", "", "a|b"),
            "inserts after the cursor": ("|ab", "", "a|b"),
            "inserts at the start of the line": (" a|b", "", " |ab"),
            "inserts at the end of the line": ("|ab", "", "ab|"),
            "starts a new line below and inserts": ("|ab", "", "ab\n|"),
            "starts a new line above and inserts": ("|ab", "", "|\nab"),
            "cuts the character at the cursor": ("|ab", "i", "|b"),
            "cuts the character before the cursor": ("a|b", "i", "|b"),
            "cuts the character at the cursor and inserts": ("a|bc", "", "a|c"),
            "replaces the character at the cursor": ("|ab", "xi", "|xb"),
            "cuts to where MOTION leads, as in dw": ("|one two", "wi", "|two"),
            "cuts to where MOTION leads and inserts, as in cw": ("|one two", "w", "| two"),
            "copies up to where MOTION leads": ("|one two", "wPi", "one| one two"),
            "as MOTION: the word at the cursor": ("one t|wo", "i", "one| ", "d"),
            "as MOTION: the word and the blanks after it": ("o|ne two", "i", "|two", "d"),
            "cuts the line": ("a\n|b\nc", "i", "a\n|c"),
            "cuts the text of the line and inserts": ("a\n|b\nc", "", "a\n|\nc"),
            "as cc does": ("a\n|b\nc", "", "a\n|\nc"),
            "copies the line": ("a|b", "Pi", "|ab\nab"),
            "cuts to the end of the line": ("a|bc", "i", "|a"),
            "cuts to the end of the line and inserts": ("a|bc", "", "a|"),
            "inserts after the cursor what was cut last": ("|ab", "i", "b|a", "x"),
            "inserts before the cursor what was cut last": ("|ab", "i", "|ab", "x"),
            "undoes the last change": ("|ab", "i", "|ab", "x"),
            "redoes what was undone": ("|ab", "i", "|b", "xu"),
        }
        table = self.told("Editing with vi keys, in normal mode")
        self.assertEqual(sorted(table), sorted(cases))
        t = self.ready()
        for does, keys in table.items():
            for key in keys:
                before, behind, expected, first = (*cases[does], "")[:4]
                key = {"Comma": ","}.get(key, pressed(key.split(" ")[0]))
                with naming(key, does):
                    text, rest = before.split("|")
                    inside = text != "" and not text.endswith("\n")  # Esc moves left
                    t.send((text + rest).replace("\n", "\x1b\r") + LEFT * len(rest) + ESC)
                    t.send("l" * inside + first + key + behind + "|")
                    self.wait_draft(t, expected)
                    t.send("\x03")
                    self.wait_draft(t, "")

    def test_editing(self):
        """What is typed before the key, and the draft behind it; a bar shows the cursor. Alt-_ with
        more behind it would begin a string of the terminal: there each step is waited for."""
        t = self.ready()

        def try_key(key, before, expected, steps=()):
            for keys, draft in steps:
                t.send(keys)
                self.wait_draft(t, draft)
            t.send(before + key)
            if steps:
                self.wait_draft(t, expected.replace("|", ""))
            t.send("|")
            self.wait_draft(t, expected)
            t.send("\x03")
            self.wait_draft(t, "")
        self.check_all("Editing the draft", {
            "moves back one character": ("abc", "ab|c"),
            "moves forward one character": ("abc\x01", "a|bc"),
            "moves back one word": ("one two", "one |two"),
            "moves forward one word": ("one two\x01", "one| two"),
            "moves to the start of the line": ("abc", "|abc"),
            "moves to the end of the line": ("abc\x01", "abc|"),
            "moves up one row": ("ab\x1b\rcd", "ab|\ncd"),
            "moves down one row": ("ab\x1b\rcd\x1b<", "ab\n|cd"),
            "moves to the start of the draft": ("ab\x1b\rcd", "|ab\ncd"),
            "moves to the end of the draft": ("ab\x1b\rcd\x1b<", "ab\ncd|"),
            "deletes the character before the cursor": ("abc", "ab|"),
            "deletes the character at the cursor": ("abc\x01", "|bc"),
            "cuts the word before the cursor": ("one two-three", "one two-|"),
            "cuts back to the previous white space": ("one two-three", "one |"),
            "cuts to the end of the word": ("one two\x01", "| two"),
            "cuts to the end of the line, or the newline there":
                ("one\x1b\rtwo\x1b\rthree\x1b<\x0b", "|two\nthree"),
            "cuts to the start of the line, or the newline there": ("one\x1b\rtwo\x15", "one|"),
            "inserts what was cut last": ("one\x15", "one|"),
            "after Ctrl-Y, inserts an earlier cut instead": ("one\x15two\x15\x19", "one|"),
            "converts the rest of the word to upper case": ("one two\x01", "ONE| two"),
            "converts the rest of the word to lower case": ("ONE TWO\x01", "one| TWO"),
            "capitalises the rest of the word": ("oNE two\x01", "One| two"),
            "undoes the last change": ("gone\x15", "gone|"),
            "redoes what was undone":
                ("", "|", [("gone", "gone"), ("\x15", ""), ("\x1f", "gone")]),
        }, try_key)

    def test_searching(self):
        """The draft, the pattern and moves before the key, what is typed behind it, and the draft
        then."""
        t = self.ready()
        for text in ("alpha", "item 1", "item 2", "item 3"):
            t.send(text)
            self.wait_draft(t, text)
            t.send("\x03")  # it is remembered
            self.wait_draft(t, "")

        def try_key(key, draft, pattern, moves, behind, expected):
            t.send(f"{draft}\x12{pattern}")
            t.wait_for(f"search: {pattern}")
            t.send(moves + key)
            if not behind:  # the key itself has closed the search
                self.wait_draft(t, expected)
                t.send("|")
            t.send(behind)
            t.wait_until(lambda: [row.replace("|", "") for row in t.screen()
                                  if row.startswith(">")] == [f"> {expected}"], expected)
            t.send("\x05\x15")
            self.wait_draft(t, "")
        self.check_all("Searching earlier messages", {
            "moves down the list": ("", "item", "", "\r", "item 2"),
            "moves up the list": ("", "item", DOWN + DOWN, "\r", "item 2"),
            "moves back to a newer message": ("", "item", DOWN + DOWN, "\r", "item 2"),
            "moves a page down": ("", "item", "", "\r", "item 1"),
            "moves a page up": ("", "item", DOWN + DOWN, "\r", "item 3"),
            "puts the message into the draft": ("", "alph", "", "", "alpha"),
            "puts it into the draft and moves there": ("", "alph", "", "", "alpha"),
            "erases the whole pattern": ("", "zzz", "", "alpha\r", "alpha"),
            "erases one character of the pattern": ("", "alphaz", "", "\r", "alpha"),
            "closes the list and keeps the draft": ("kept", "alph", "", "", "kept"),
        }, try_key)

    def test_lists(self):
        """What is typed in the list of /switch before the key and behind it, and the agent on the
        screen then; None: the list was closed."""
        t = self.ready()
        for number in range(2, 13):
            t.send("/fork\r")
            t.wait_for(f"── agent {number} ──")

        def current():
            return int(re.findall(r"── agent (\d+) ──", "\n".join(t.all_rows()))[-1])

        def try_key(key, before, behind, agent):
            if current() != 12:
                t.send("/switch 12\r")
                t.wait_until(lambda: current() == 12, "agent 12")
            t.send("/switch\r")
            t.wait_for("Switch to which agent?")
            t.send(before)
            t.send(key + behind)
            t.wait_gone("Switch to which agent?")
            t.wait_until(lambda: current() == (agent or 12), f"agent {agent}")
        self.check_all("In a list", {
            "takes the highlighted row": ("", "", 1),
            "also remembers it, where the list offers that": ("", "\x1b", None),
            "moves down the list": ("", "\r", 2),
            "moves up the list": (DOWN + DOWN + DOWN, "\r", 3),
            "moves a page down": ("", "\r", 7),
            "moves a page up": ("\x1b[F", "\r", 6),
            "moves to the first row": (DOWN + DOWN, "\r", 1),
            "moves to the last row": ("", DOWN + DOWN + "\r", 2),
            "completes the pattern and takes nothing": ("1" + DOWN, "\x7f\x7f9\r", 9),
            "erases the whole pattern": ("zzz", "7\r", 7),
            "erases one character of the pattern": ("7z", "\r", 7),
            "closes the list and keeps the draft": ("", "", None),
        }, try_key)

    def test_the_pager(self):
        """What is sent before the key, and the row that is at the top then."""
        lines = "\n".join(f"row {i}" for i in range(1, 201))
        t = self.ready([Answer(f"```\n{lines}\n```")], rows=24)
        self.say(t, "show", "row 200")
        self.settle(t)

        def wait_top(row):
            t.wait_until(lambda: t.show().dump()["alternate"] and
                         re.fullmatch(row, t.screen()[0].rstrip()), f"{row!r} at the top")

        def try_key(key, before, behind, top):
            t.send("\x0f" + before)
            wait_top("row 100")
            t.send(key + behind)
            if top is None:
                t.wait_until(lambda: not t.show().dump()["alternate"], "end of the pager")
                return
            wait_top(top)
            t.send("xq")  # x for the help, which any key closes
            t.wait_until(lambda: not t.show().dump()["alternate"], "end of the pager")
        for key in self.told("At the prompt")[
                "the whole transcript in a pager with keys as in less"]:
            t.send(pressed(key))
            t.wait_until(lambda: t.show().dump()["alternate"], f"pager after {key}")
            t.send("q")
            t.wait_until(lambda: not t.show().dump()["alternate"], "end of the pager")
        middle = "g/row 100\r"
        self.check_all("In the pager", {
            "moves down one line": (middle, "", "row 101"),
            "moves up one line": (middle, "", "row 99"),
            "moves down one page": (middle, "", "row 123"),
            "moves up one page": (middle, "", "row 77"),
            "moves down half a page": (middle, "", "row 112"),
            "moves up half a page": (middle, "", "row 88"),
            "moves to the beginning": (middle, "", "You are ikigai, .*"),
            "moves to the end": (middle, "", "row 179"),
            "searches forward, with smart case": (middle, "row 15\r", "row 150"),
            "searches backward": (middle, "row 9\r", "row 99"),
            "moves to the next match": (middle + "/row 10\r", "", "row 101"),
            "moves to the previous match": (middle + "/row 10\r", "", "row 10"),
            "shows these keys": (middle, "", "  j, Down, Enter, Ctrl-N, Ctrl-E      moves down one line"),
            "suspends ikigai; fg resumes it": (middle, "", "row 100"),  # no shell, so it goes on
            "closes the pager": (middle, "", None),
        }, try_key)

    def test_the_prompt(self):
        """Those that change the draft; the others have tests of their own above."""
        self.write("only.txt", "")
        t = self.ready()
        told = self.told("At the prompt")
        for text in ("first", "second"):
            t.send(text)
            self.wait_draft(t, text)
            t.send("\x03")
            self.wait_draft(t, "")
        for does, before, behind, expected in (
                ("starts a new line", "ab", "|", "ab\n|"),
                ("sends it after the turn; when idle, starts a line", "ab", "|", "ab\n|"),
                ("starts a new line and removes the backslash", "ab", "|", "ab\n|"),
                ("undoes the last change", "gone\x15", "|", "gone|"),
                ("completes /commands, their arguments and @files", "/syst", "", "/system "),
                ("completes /commands, their arguments and @files", "@onl", "", "@only.txt "),
                ("the next mode (auto, ask, plan); up in a list", "/re" + DOWN, "\t", "/redo "),
                ("up, waiting text, then earlier messages like this", "", "|", "second|"),
                ("up, waiting text, then earlier messages like this", "fi", "|", "first|"),
                ("down, then newer messages, back to the draft", UP + UP, "|", "second|"),
                ("leaves, on an empty draft; else deletes a character", "ab\x01", "|", "|b")):
            for key in told[does]:
                with naming(key, does):
                    t.send(before)
                    if does.startswith(("completes", "up in")):
                        t.wait_for(re.compile(r"^[› ] (/system|only\.txt|/refresh)", re.M))
                    t.send(pressed(key) + behind)
                    self.wait_draft(t, expected)
                    t.send("\x05\x15\x15\x15")
                    self.wait_draft(t, "")
        self.assertEqual([told[does] for does in (
            "runs a command of ikigai", "names a file of the project; attaches an image",
            "runs a shell command; the agent sees its output")], [["/COMMAND"], ["@FILE"], ["!CMD"]])


class ThinkingTest(ReplTest):
    def test_reasoning_is_shown_and_folded(self):
        t = self.ready([Answer(parts=[Thinking("deep thoughts\n" * 8), Text("42")], fragments=20,
                               wire=Wire(delay_event=0.05))])
        self.say(t, "why", "deep thoughts")
        t.wait_for("42")
        t.wait_for(re.compile(r"thought for [0-9.]+ m?s, 8 lines"))
        t.wait_gone("deep thoughts")


if __name__ == "__main__":
    unittest.main()
