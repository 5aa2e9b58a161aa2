"""Vi keys of the interactive program ("keys": "vi"): modes, Esc, sending, history, the sign of the mode
and the shape of the cursor."""
import json
import re
import signal
import time
import unittest

from fake_llm import Answer, Wire
from repl_support import ReplTest
from support import IKIGAI, clean_env
from terminal_modes import OFF, switched_on
from terminal_support import DA1, DARK, KITTY, SIMPLE, SYNCHRONISED, version

ESC = "\x1b"
LEFT = "\x1b[D"
KNOWN = [DARK, version("XTerm(370)"), DA1]  # its keyboard is not kitty's
KITTYS = [KITTY, SYNCHRONISED, DARK, version("kitty(0.32)"), DA1]
BLOCK, BAR, OWN = b"\x1b[2 q", b"\x1b[6 q", b"\x1b[0 q"


def slow(text="word " * 400):
    """An answer that takes long enough to be interrupted."""
    return Answer(text, fragments=400, wire=Wire(delay_event=0.05))


def sent_user(request):
    return [m["content"] for m in request.json["messages"] if m["role"] == "user"]


class ViTest(ReplTest):
    def serve(self, script, **config):
        super().serve(script, **{"keys": "vi", **config})

    def ready(self, script=None, *args, **options):
        if script is None:
            self.configure(keys="vi", model="offline/offline")
        return super().ready(script, *args, **options)

    def draft_row(self, t):
        return max(i for i, row in enumerate(t.screen()) if row.startswith(">"))

    def wait_draft(self, t, text):
        """The draft is this, with its lines."""
        wanted = [f"{'  ' if i else '> '}{line}".rstrip()
                  for i, line in enumerate(text.split("\n"))]
        t.wait_until(lambda: t.screen()[self.draft_row(t):][:len(wanted)] == wanted,
                     f"draft {text!r}")

    def wait_mode(self, t, normal):
        t.wait_until(lambda: t.cell(self.draft_row(t), 0)["reverse"] == normal,
                     "normal mode" if normal else "insert mode")

    def wait_cursor(self, t, column):
        t.wait_until(lambda: t.cursor()[1] == column, f"cursor in column {column}")


class ModeTest(ViTest):
    def test_commands_change_the_draft(self):
        """What is typed at once, and the draft; a bar shows where the next text is inserted."""
        cases = [
            ("abc" + ESC + "i", "ab|c"), ("abc" + ESC + "a", "abc|"), ("abc" + ESC + "hi", "a|bc"),
            ("abc" + ESC + "0i", "|abc"), ("abc" + ESC + "0li", "a|bc"),
            ("  ab" + ESC + "^i", "  |ab"), ("ab" + ESC + "0$a", "ab|"),
            ("one two" + ESC + "0wi", "one |two"), ("one two" + ESC + "bi", "one |two"),
            ("one two" + ESC + "0ea", "one| two"), ("one" + ESC + "I", "|one"),
            ("one" + ESC + "0A", "one|"), ("abc" + ESC + "xa", "ab|"),
            ("abc" + ESC + "0lDa", "a|"), ("abc" + ESC + "0lC", "a|"), ("abc" + ESC + "ddi", "|"),
            ("one two" + ESC + "0dwi", "|two"), ("one two" + ESC + "0cw", "| two"),
            ("abc" + ESC + "xui", "ab|c"), ("abc" + ESC + "0xpa", "ba|c"),
            ("abc" + ESC + "ddpi", "|abc"), ("a b c" + ESC + "02dwi", "|c"),
            ("日本語" + ESC + "hxa", "日語|"), ("👩‍👩‍👧x" + ESC + "0xi", "|x"),
            ("abc" + LEFT + ESC + "i", "a|bc"), ("ab" + ESC + "xPi", "|ba"),
            ("abc" + ESC + "^i", "|abc"), ("a" + ESC + "Xi", "|a"),
        ]
        t = self.ready(answers=KNOWN)
        for typed, expected in cases:
            t.send(typed + "|")
            self.wait_draft(t, expected)
            t.send("\x03")
            self.wait_draft(t, "")

    def test_insert_mode_at_the_start_and_after_sending(self):
        t = self.ready([Answer("First."), Answer("Second.")])
        self.say(t, "hi", "First.")
        self.assertEqual(sent_user(self.llm.requests[0]), ["hi"])
        self.wait_mode(t, False)
        t.send("xdd")
        self.wait_draft(t, "xdd")
        t.send(ESC)
        self.wait_mode(t, True)
        t.send("x\r")  # Enter sends in normal mode, too
        t.wait_for("Second.")
        self.assertEqual(sent_user(self.llm.requests[1])[-1], "xd")
        self.wait_mode(t, False)
        t.send("i")
        self.wait_draft(t, "i")
        t.send("\x03")
        self.assertEqual(self.leave(t), 0)

    def test_escape_leaves_insert_mode_and_interrupts_in_normal_mode(self):
        t = self.ready([slow(), Answer("Fine.")])
        t.send("go\r")
        t.wait_for("word word")
        t.send("draft")
        self.wait_draft(t, "draft")
        t.send(ESC)
        self.wait_mode(t, True)
        time.sleep(0.3)
        self.assertNotIn("interrupted", "\n".join(t.all_rows()))
        t.send(ESC)
        t.wait_for("interrupted")
        self.wait_draft(t, "draft")
        self.wait_mode(t, True)
        t.send("A!\r")
        t.wait_for("Fine.")
        self.assertEqual(sent_user(self.llm.requests[1])[-1], "draft!")

    def test_escape_and_a_command_typed_fast(self):
        """ESC and a letter in one piece are Esc and a command, not Alt."""
        t = self.ready(answers=SIMPLE)
        for keys, expected in ((f"one{ESC}b", "one"), (f"{ESC}x", "ne"), (f"A two{ESC}kx", "ne tw"),
                               (f"{ESC}O", "\nne tw"), ("up", "up\nne tw"), (f"{ESC}P", "uop\nne tw")):
            t.send(keys)
            self.wait_draft(t, expected)

    def test_a_terminal_that_reports_escape_as_a_key(self):
        t = self.ready(answers=KITTYS)
        t.send("one two\x1b[27u")
        self.wait_mode(t, True)
        t.send("bx")
        self.wait_draft(t, "one wo")
        t.send("A\x1b[98;3u|")  # Alt-B still moves by words in insert mode
        self.wait_draft(t, "one |wo")

    def test_escape_closes_a_list_first(self):
        t = self.ready([slow(), Answer("Fine.")])
        t.send("go\r")
        t.wait_for("word word")
        t.send("/usa")
        t.wait_for("/usage")
        t.send(ESC)
        t.wait_gone("/usage")
        self.wait_draft(t, "/usa")
        self.wait_mode(t, False)
        t.send(ESC)
        self.wait_mode(t, True)
        self.assertNotIn("interrupted", "\n".join(t.all_rows()))
        t.send(ESC)
        t.wait_for("interrupted")

    def test_control_keys_work_in_both_modes(self):
        t = self.ready([Answer("Fine."), Answer("Good.")])
        self.enter(t, "earlier", "Fine.")
        t.send("one\x1b\rtwo")  # Alt-Enter
        self.wait_draft(t, "one\ntwo")
        t.send("\x17\x12earl")  # Ctrl-W, Ctrl-R
        t.wait_for("search: earl")
        t.send("\r")
        self.wait_draft(t, "earlier")
        t.send(ESC)
        self.wait_mode(t, True)
        t.send("\x12earl")
        t.wait_for("search: earl")
        t.send(ESC)
        self.wait_draft(t, "earlier")
        t.send("\x03")
        self.wait_draft(t, "")
        self.wait_mode(t, False)
        self.assertEqual(self.leave(t), 0)

    def test_history(self):
        t = self.ready([Answer("First."), Answer("Second.")])
        self.enter(t, "alpha", "First.")
        self.enter(t, "beta", "Second.")
        t.send(ESC + "k")
        self.wait_draft(t, "beta")
        t.send("k")
        self.wait_draft(t, "alpha")
        t.send("jj")
        self.wait_draft(t, "")
        t.send("2k")
        self.wait_draft(t, "alpha")
        t.send("ddione\x1b\rtwo" + ESC + "kx")  # first within the draft
        self.wait_draft(t, "on\ntwo")

    def test_a_question_is_answered_in_insert_mode(self):
        self.write(".ikigai/tools/mine", "#!/bin/sh\nexit 0\n", 0o755)
        t = self.ready()
        t.send("/trust" + ESC + ESC)
        self.wait_mode(t, True)
        t.send("\r")
        t.wait_for("q close")
        t.send("q")
        t.wait_for("[y/N]")
        t.send("n\r")
        t.wait_for(re.compile(r"^>", re.M))
        self.wait_mode(t, False)

    def test_a_paste_in_normal_mode_presses_no_keys(self):
        t = self.ready()
        t.send("ab" + ESC)
        self.wait_mode(t, True)
        t.paste("dd\nxx")
        self.wait_draft(t, "abdd\nxx")


class SignTest(ViTest):
    def test_the_status_line_says_so(self):
        t = self.ready()
        t.send("abc" + ESC)
        t.wait_until(lambda: self.status(t).endswith(" · normal mode"), "normal mode")
        t.send("i")
        t.wait_until(lambda: not self.status(t).endswith("mode"), "insert mode")

    def test_the_shape_of_the_cursor_where_it_is_known(self):
        t = self.ready(answers=KNOWN)
        t.wait_until(lambda: t.raw.count(BAR) == 1, "bar")
        t.send("abc" + ESC)
        t.wait_until(lambda: t.raw.count(BLOCK) == 1, "block")
        self.wait_cursor(t, 4)
        t.send("l")
        self.wait_cursor(t, 4)
        t.send("a")
        t.wait_until(lambda: t.raw.count(BAR) == 2, "bar")
        self.wait_cursor(t, 5)
        t.send("\x03")
        self.assertEqual(self.leave(t), 0)
        self.assertEqual(switched_on(t.raw), OFF)
        self.assertGreater(t.raw.rindex(OWN), t.raw.rindex(BAR))

    def test_the_shape_is_restored_however_it_ends(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGABRT):
            with self.subTest(number=number):
                t = self.ready(answers=KNOWN)
                t.wait_until(lambda: BAR in t.raw, "bar")
                t.signal(number)
                t.wait_exit()
                self.assertEqual(switched_on(t.raw), OFF)

    def test_an_unknown_terminal_gets_only_the_mark(self):
        t = self.ready(answers=SIMPLE)
        t.send("abc" + ESC)
        self.wait_mode(t, True)
        t.send("i")
        self.wait_mode(t, False)
        t.send("\x03")
        self.assertEqual(self.leave(t), 0)
        self.assertNotIn(b" q", re.sub(rb"\x1b\[>q", b"", t.raw))

    def test_emacs_keys_set_no_shape(self):
        self.configure(keys="emacs", model="offline/offline")
        t = self.start(answers=KNOWN)
        t.send("one two\x1bb\x1bd!")
        self.wait_draft(t, "one !")
        t.send("\x03")
        self.assertEqual(self.leave(t), 0)
        self.assertNotIn(b" q", re.sub(rb"\x1b\[>q", b"", t.raw))


class ConfigTest(ViTest):
    def test_an_unknown_value_is_an_error(self):
        self.configure(keys="ed")
        t = self.terminal([IKIGAI], cwd=self.project, env=clean_env(IKIGAI_HOME=self.home))
        self.assertEqual(t.wait_exit(), 2)
        self.assertIn("keys", "\n".join(t.all_rows()))

    def test_a_project_cannot_set_it(self):
        self.configure(model="offline/offline")
        self.write(".ikigai/config.json", json.dumps({"keys": "vi"}))
        t = self.start()
        t.send("abc" + ESC + "b|")  # Alt-B
        self.wait_draft(t, "|abc")


if __name__ == "__main__":
    unittest.main()
