"""What happens at the same time in the interactive program: sessions that change under the pager,
questions and editors that are open while turns end, and above all what was typed and not sent yet.
"""
import glob
import os
import re
import signal
import socket
import sqlite3
import threading
import time
import unittest

from fake_llm import Answer, Call, Failure, FakeLLM, Wire
from repl_support import MODEL, PROMPT, ReplTest
from support import IKIGAI, clean_env, tool_script

CTRL_C, CTRL_D, CTRL_G, CTRL_O, CTRL_Z = "\x03", "\x04", "\x07", "\x0f", "\x1a"
ESCAPE = "\x1b"


def slow():
    """An answer that takes long enough for anything."""
    return Answer("word " * 400, fragments=400, wire=Wire(delay_event=0.05))


def sent_user(request):
    return [m["content"] for m in request.json["messages"] if m["role"] == "user"]


class InterplayTest(ReplTest):
    def share_with_nobody(self):
        """A shared history whose server accepts and never answers: questions take some seconds."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        self.configure(model=MODEL, providers=self.providers(),
                       db=f"postgresql://127.0.0.1:{server.getsockname()[1]}/history")

    def providers(self):
        return {"local": {"type": "openai", "base_url": self.llm.base_url("openai")}}

    def draft(self, t):
        """What is typed, with all its rows: between the last prompt and the status line."""
        found = re.search(r"(?:.*^)?> ?(.*)^(local|offline)/", "\n".join(t.screen()), re.M | re.S)
        return found and re.sub("^  ", "", found[1].rstrip("\n"), flags=re.M)

    def check_draft(self, t, expected):
        t.wait_until(lambda: self.draft(t) == expected, f"draft {expected!r}")

    def saved(self):
        """The drafts that are saved."""
        texts = []
        for path in glob.glob(os.path.join(self.home, "drafts", "*")):
            with open(path, encoding="utf-8") as f:
                texts.append(f.read())
        return texts

    def finished(self, script):
        """A session with one turn, which is over. Returns the beginning of its id."""
        t = self.ready(script)
        self.enter(t, "first", "One.")
        self.assertEqual(self.leave(t), 0)
        return re.search("ikigai -r ([0-9a-f]{8})", "\n".join(t.all_rows()))[1]


class TypedTest(InterplayTest):
    """What was typed and not sent."""

    def busy(self):
        t = self.ready([slow(), Answer("Two.")])
        self.say(t, "first", "word")
        t.send("second\rthird\r")
        t.wait_for("next: third")
        t.send("half")
        t.wait_for("> half")
        return t

    def check_restored(self):
        t = self.ready(None, "-c")
        self.check_draft(t, "second\nthird\nhalf")

    def test_is_there_after_leaving(self):
        t = self.busy()
        t.send("\r/exit\r")
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(self.saved(), ["second\nthird\nhalf"])
        self.check_restored()

    def test_is_there_after_a_signal(self):
        t = self.busy()
        t.signal(signal.SIGTERM)
        self.assertEqual(t.wait_exit(), 128 + signal.SIGTERM)
        self.check_restored()

    def test_is_there_after_a_crash(self):
        t = self.busy()
        t.wait_until(lambda: self.saved() == ["second\nthird\nhalf"], "saved draft")
        t.signal(signal.SIGKILL)
        t.wait_exit()
        t.check = False
        self.check_restored()

    def test_is_saved_no_more_when_it_was_sent(self):
        gate = threading.Event()
        t = self.ready([Answer("One.", wire=Wire(gate=gate)), Answer("Two.")])
        t.send("first\rsecond\r")
        t.wait_until(lambda: self.saved() == ["second"], "saved draft")
        gate.set()
        t.wait_for("Two.")
        t.wait_until(lambda: self.saved() == [], "end of the saved draft")

    def test_is_there_when_the_session_was_not_opened_yet(self):
        self.finished([Answer("One.")])
        self.share_with_nobody()
        t = self.start(None, "-c")
        t.send("waits\rhalf a thought")
        t.wait_for("queued: waits")
        t.wait_for("opening the session")
        t.signal(signal.SIGTERM)
        self.assertEqual(t.wait_exit(), 128 + signal.SIGTERM)
        self.configure(model=MODEL, providers=self.providers())
        t = self.ready(None, "-c")
        self.check_draft(t, "waits\nhalf a thought")

    def test_behind_a_new_conversation_is_said_in_it(self):
        self.finished([Answer("One."), Answer("Two.")])
        self.share_with_nobody()
        t = self.start(None, "-c")
        t.send("/clear\rsecond\r")
        t.wait_for("Two.")
        self.assertEqual(sent_user(self.llm.requests[1]), ["second"])

    def test_while_a_session_is_opened_is_said_in_it(self):
        first = self.finished([Answer("One."), Answer("Two.")])
        self.share_with_nobody()
        t = self.ready()
        t.send(f"/resume {first}\rsecond\r")
        t.wait_for("Two.")
        self.assertEqual(sent_user(self.llm.requests[1]), ["first", "second"])

    def test_for_an_agent_that_is_killed_returns(self):
        t = self.ready([Answer("One."), slow()])
        self.say(t, "first", "One.")
        t.send("/fork second\r")
        t.wait_for("word")
        t.send("third\r")
        t.wait_for("next: third")
        t.send("/kill 2\r")
        t.wait_for("Agent 2 was ended.")
        self.check_draft(t, "third")

    def test_is_not_lost_to_the_editor(self):
        refusal, closed = threading.Event(), os.path.join(self.dir, "closed")
        editor = self.write("editor", f"#!/bin/sh\nuntil [ -e {closed} ]; do sleep 0.05; done\n"
                                      "echo edited >> \"$1\"\n", 0o755)
        t = self.ready([Failure("bad_request", wire=Wire(gate=refusal))], env={"EDITOR": editor})
        t.send("first\rqueued\r")
        t.wait_for("next: queued")
        t.send("draft" + CTRL_G)
        t.wait_until(lambda: b"\x1b[?2004l" in t.raw, "editor")
        refusal.set()
        t.wait_until(lambda: self.saved() == ["queued\ndraft"], "saved draft")
        with open(closed, "w"):
            pass
        t.wait_for("The request is not valid.")
        self.check_draft(t, "queued\ndraft\nedited")

    def test_what_an_editor_saved_survives_the_end_of_the_terminal(self):
        gate = os.path.join(self.dir, "saved")
        editor = self.write("editor", f"#!/bin/sh\nprintf 'a\\0b\\n' >> \"$1\"; : > {gate}\n"
                                      "while :; do sleep 0.05; done\n", 0o755)
        t = self.ready(env={"EDITOR": editor})
        t.send("draft" + CTRL_G)
        t.wait_until(lambda: os.path.exists(gate), "saved file")
        t.hang_up()
        t.wait_exit()
        self.assertEqual(self.saved(), ["draft\nab"])

    def test_together_with_the_key_of_the_editor(self):
        editor = self.write("editor", "#!/bin/sh\necho edited >> \"$1\"\n", 0o755)
        t = self.ready(env={"EDITOR": editor})
        t.send("before" + CTRL_G + " and behind")
        self.check_draft(t, "before and behind\nedited")

    def test_can_be_edited_before_there_is_a_home(self):
        editor = self.write("editor", "#!/bin/sh\necho edited > \"$1\"\n", 0o755)
        t = self.start(None, "--no-tools", first=True, env={"EDITOR": editor})
        self.assertFalse(os.path.exists(self.home))
        t.send(CTRL_G)
        self.check_draft(t, "edited")


class QuestionTest(InterplayTest):
    def setUp(self):
        super().setUp()
        self.write(".ikigai/tools/hello", tool_script("hello"), 0o755)

    def test_clearing_the_answer_leaves_the_draft(self):
        refusal = threading.Event()
        t = self.ready([Failure("bad_request", wire=Wire(gate=refusal))])
        t.send("first\rqueued\r/trust\r")
        t.wait_for("what the project adds")
        t.send("q")
        t.wait_for("[y/N]")
        refusal.set()
        t.wait_for("The request is not valid.")
        t.send("nonsense")
        t.wait_for("[y/N] nonsense")
        t.send(CTRL_C)
        t.wait_gone("nonsense")
        t.send("n\r")
        t.wait_for("Not trusted.")
        self.check_draft(t, "queued")

    def test_one_question_after_the_other(self):
        """Commands that wait for the tools, and what comes behind them."""
        self.write("../home/tools/slow", tool_script("slow", first="sleep 0.7"), 0o755)
        t = self.start([Answer("One.")])
        t.send("/trust\r/trust\rhello\r")
        t.wait_for("queued: hello")
        t.wait_for("what the project adds")
        t.send("q")
        t.wait_for("Trust them?")
        self.assertEqual(t.all_rows().count("Trust them?"), 1)
        t.send("n\r")
        t.wait_for("what the project adds")
        t.send("q")
        t.wait_until(lambda: t.all_rows().count("Trust them?") == 2, "second question")
        self.assertEqual(self.llm.requests, [])
        t.send(ESCAPE)
        t.wait_for("One.")
        self.assertEqual(t.all_rows().count("Not trusted."), 2)

    def test_the_end_of_input_is_no(self):
        t = self.start([Answer("One.")], "--plain", plain=True)
        t.send("/trust\n")
        t.wait_for("Trust them?")
        t.send(CTRL_D)
        self.assertEqual(t.wait_exit(), 0)
        self.assertIn("Not trusted.", t.all_rows())


class SessionTest(InterplayTest):
    def test_the_pager_goes_with_what_it_shows(self):
        first = self.finished([Answer("One."), Answer("Another."), Answer("Two.")])
        self.share_with_nobody()
        t = self.ready()
        self.enter(t, "other", "Another.")
        t.send(f"/resume {first}\r")
        t.wait_for(f"/resume {first}")
        t.send(CTRL_O)
        t.wait_until(lambda: t.show().dump()["alternate"], "pager")
        t.wait_until(lambda: not t.show().dump()["alternate"], "end of the pager")
        t.wait_for("One.")
        self.say(t, "second", "Two.")
        self.assertEqual(sent_user(self.llm.requests[2]), ["first", "second"])

    def damage(self):
        """A message of the only session cannot be read any more."""
        db = sqlite3.connect(os.path.join(self.home, "ikigai.db"))
        with db:
            db.execute("UPDATE messages SET content = x'28b52ffd20ff0102' WHERE kind = 'assistant'")
        db.close()

    def test_one_that_cannot_be_read_leaves_the_old_one(self):
        first = self.finished([Answer("One."), Answer("Two."), Answer("Three.")])
        self.damage()
        t = self.ready()
        self.enter(t, "second", "Two.")
        t.send(f"/resume {first}\r")
        t.wait_for("cannot be decompressed")
        self.enter(t, "third", "Three.")
        self.assertEqual(sent_user(self.llm.requests[2]), ["second", "third"])
        self.assertEqual(self.leave(t), 0)
        again = self.start(None, "-r", first[:4], until="cannot be decompressed")  # it is free again
        self.assertEqual(again.wait_exit(), 1)
        self.assertNotIn("in use", "\n".join(again.all_rows()))


class RefusedTest(InterplayTest):
    def test_in_the_background(self):
        """A refused turn is left out of what follows, with all that was shown of it."""
        refusal = threading.Event()
        self.llm = FakeLLM([Answer("One."), Answer(calls=[Call("bash", {"command": "echo a"}),
                                                          Call("bash", {"command": "echo b"})]),
                            Answer("I cannot.", stop="refusal", wire=Wire(gate=refusal)),
                            Answer(calls=[Call("bash", {"command": "echo c"})]), Answer("Three.")])
        self.llm.__enter__()
        self.addCleanup(self.llm.__exit__, None, None, None)
        self.configure(model="anthropic/claude-opus-5-5")
        t = self.ready(env={"ANTHROPIC_API_KEY": "k",
                            "ANTHROPIC_BASE_URL": self.llm.base_url("anthropic")})
        self.say(t, "first", "One.")
        t.send("/fork\r")
        t.wait_for("── agent 2 ──")
        t.send("/switch 1\r")
        t.wait_for("── agent 1 ──")
        t.send("second\r")
        t.wait_for("└ #2")
        t.wait_until(lambda: len(self.llm.requests) == 3, "the request that is refused")
        t.send("third\r")  # joins no request before that
        t.wait_for("next: third")
        t.send("/switch 2\r")
        t.wait_for(re.compile("── agent 2 ──.*── agent 2 ──", re.S))
        refusal.set()
        t.wait_for(re.compile("Agent 1: done.*Agent 1: done", re.S))
        t.send("/switch 1\r")
        t.wait_for("Three.")
        rows = t.all_rows()
        shown = rows[max(i for i, row in enumerate(rows) if row == "── agent 1 ──"):]
        self.assertIn("> third", shown)
        self.assertEqual([row[:5] for row in shown if row.startswith("└ #")], ["└ #1 "])
        self.show(t, 1, re.compile("^c$", re.M))


class CompletionTest(InterplayTest):
    def test_files_are_looked_for_again(self):
        """What is chosen stays chosen when more is found."""
        self.write("main.c", "")
        t = self.ready()
        t.send("@ma")
        t.wait_for(re.compile("^› main.c", re.M))
        t.send("\x15")
        self.write("more/main.h", "")
        time.sleep(5.2)  # for so long they are taken for all
        t.send("@ma")
        t.wait_for(re.compile("^[› ] more/main.h", re.M))
        t.send("\t")
        self.check_draft(t, "@main.c")


class TerminalTest(InterplayTest):
    def test_nothing_is_drawn_behind_the_pager(self):
        t = self.ready([slow()])
        self.say(t, "first", "word")
        t.send(CTRL_O)
        t.wait_until(lambda: t.show().dump()["alternate"], "pager")
        t.wait_idle(0.6)
        self.assertEqual(self.llm.requests[0].outcome, "open")
        t.send("q")
        t.wait_for("word word word")

    def test_stopping_is_ignored_where_the_shell_wants_that(self):
        t = self.terminal(["/bin/sh", "-c", 'trap "" TSTP; exec "$0"', IKIGAI], cwd=self.project,
                          env=clean_env(IKIGAI_HOME=self.home, TERM="xterm"))
        t.wait_for(PROMPT)
        t.send(CTRL_Z + "still here")
        t.wait_for("> still here")

    def test_the_window_changes_while_the_editor_has_it(self):
        gate = os.path.join(self.dir, "gate")
        editor = self.write("editor", f"#!/bin/sh\nuntil [ -e {gate} ]; do sleep 0.05; done\n"
                                      "echo edited >> \"$1\"\n", 0o755)
        t = self.ready(env={"EDITOR": editor})
        t.send(CTRL_G)
        t.wait_until(lambda: b"\x1b[?2004l" in t.raw, "editor")
        t.resize(40, 12)
        t.wait_idle()
        with open(gate, "w"):
            pass
        t.wait_for("  edited")
        t.send("x" * 60)
        t.wait_for(re.compile("^  editedx{31}$", re.M))

    def test_the_editor_waits_for_a_slow_terminal(self):
        """No row is lost to it."""
        editor = self.write("editor", "#!/bin/sh\necho edited > \"$1\"\n", 0o755)
        t = self.ready(env={"EDITOR": editor}, columns=200)
        t.pause_reading()
        for name in ("one", "two", "three"):
            t.send(f"!touch {name}; seq -f '{name} %g {'.' * 140}' 1 400\r")
        t.wait_until(lambda: os.path.exists(os.path.join(self.project, "three")), "last command")
        t.send(CTRL_G)
        time.sleep(1)  # it has its chance
        t.resume_reading()
        t.wait_for("> edited")
        for name in ("one", "two", "three"):
            t.wait_for(f"{name} 400 ")
            shown = [row.split()[1] for row in t.all_rows() if row.startswith(f"{name} ")]
            self.assertEqual(shown, [str(i) for i in range(1, 401)])


class PlainTest(InterplayTest):
    def test_the_end_of_input_waits_for_agents_in_the_background(self):
        t = self.start([Answer("One.", wire=Wire(delay_head=1))], "--plain", plain=True)
        t.send("/fork go on\n/switch 1\n" + CTRL_D)
        self.assertEqual(t.wait_exit(), 0)
        self.assertIn("Agent 2: done. /switch 2 shows its answer.", t.all_rows())
        self.assertEqual(self.llm.requests[0].outcome, "sent")


    def test_the_mark_of_a_line_that_does_not_come_ends(self):
        t = self.start(None, "--plain", plain=True)
        t.send(CTRL_D)
        self.assertEqual(t.wait_exit(), 0)
        self.assertTrue(t.raw.endswith(b"> \r\n"), t.raw[-20:])


if __name__ == "__main__":
    unittest.main()
