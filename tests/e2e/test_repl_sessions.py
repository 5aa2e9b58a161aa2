"""The interactive program and its sessions: going on with one, from the command line and by
commands, those in use elsewhere, and a shared history that does not answer. Also the options of
the command line that the interactive program knows.
"""
import os
import re
import socket
import subprocess
import threading
import unittest

from agent_support import sent_results, sent_tools
from fake_llm import Answer, Call
from repl_support import CHOICE, ReplTest, words_of
from support import IKIGAI, clean_env, tool_script

WIDE = {"columns": 160}
ESC = "\x1b"


class SessionsTest(ReplTest):
    def held(self, script, words="first", until="One."):
        """A program in which something was said, and the id of its session."""
        t = self.ready(script, **WIDE)
        self.enter(t, words, until)
        self.settle(t)
        return t, self.newest()

    def stored(self):
        """The ids of all sessions, the one used last first."""
        out = subprocess.run([IKIGAI, "session", "list"], cwd=self.project, check=True,
                             env=clean_env(IKIGAI_HOME=self.home), stdout=subprocess.PIPE, text=True)
        return [row.split()[0] for row in out.stdout.splitlines()[1:]]

    def newest(self):
        return self.stored()[0]

    def finished(self, script, words="first", until="One."):
        """The id of a session that is not in use."""
        t, session = self.held(script, words, until)
        self.assertEqual(self.leave(t), 0)
        return session

    def assert_refused(self, status, reason, *args):
        """A program that ends by itself and says why."""
        t = self.terminal([IKIGAI, *args], cwd=self.project, env=clean_env(
            IKIGAI_HOME=self.home, TERM="xterm-256color"), **WIDE)
        self.assertEqual(t.wait_exit(), status)
        t.wait_for(reason)


# ---- the command line

class ContinueTest(SessionsTest):
    def test_the_last_one_of_this_folder(self):
        first = self.finished([Answer("One."), Answer("Two."), Answer("Three.")])
        t = self.ready(None, "-c", **WIDE)
        t.wait_for("One.")
        said = [row for row in t.all_rows() if row in ("> first", "One.")]
        self.assertEqual(said, ["> first", "One."])
        self.enter(t, "second", "Two.")
        self.assertEqual(words_of(self.llm.requests[1]), ["first", "One.", "second"])
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        t = self.ready(None, "-c", "third", **WIDE)
        t.wait_for("Three.")
        self.assertEqual(words_of(self.llm.requests[2]), ["first", "One.", "second", "Two.", "third"])
        self.assertEqual(self.stored(), [first])

    def test_there_is_none(self):
        t = self.ready([Answer("One."), Answer("Two.")], "-r", **WIDE)
        t.wait_for("No session in this folder")
        self.enter(t, "/sessions --all", "There are no sessions yet.")
        self.enter(t, "first", "One.")
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        self.project = os.path.join(self.dir, "elsewhere")
        os.mkdir(self.project)
        t = self.ready(None, "-c", **WIDE)
        t.wait_for("No session in this folder")
        self.enter(t, "second", "Two.")
        self.assertEqual(words_of(self.llm.requests[1]), ["second"])

    def test_results_keep_their_numbers(self):
        self.finished([Answer(calls=[Call("bash", {"command": "echo shown"})]), Answer("One."),
                       Answer(calls=[Call("bash", {"command": "echo again"})]), Answer("Two.")])
        t = self.ready(None, "-c", **WIDE)
        t.wait_for(re.compile("● bash  command: echo shown\n└ #1 ok .*\nshown"))
        self.enter(t, "second", "Two.")
        t.wait_for(re.compile("└ #2 ok .*\nagain"))
        self.assertIn("shown", self.show(t, 1, "└ #1 ok "))

    def test_what_the_user_ran_himself(self):
        t, _ = self.held([Answer("One.")])
        self.enter(t, "!echo by hand; false", "by hand", below="! echo by hand; false")
        self.assertEqual(self.leave(t), 0)
        t = self.ready(None, "-c", **WIDE)
        t.wait_for(re.compile("^! echo by hand; false\n(.*\n)?by hand$", re.M))

    def test_the_model_is_the_one_it_was_held_with(self):
        """test_resume.py has the other ways to choose one."""
        t, _ = self.held([Answer("One."), Answer("Two."), Answer("Three.")])
        self.enter(t, "/model local/other", "Model: local/other")
        self.enter(t, "second", "Two.")
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        t = self.ready(None, "-c", **WIDE)
        self.enter(t, "third", "Three.")
        self.assertEqual([r.model for r in self.llm.requests], ["qwen3", "other", "other"])


class ResumeOptionTest(SessionsTest):
    """test_repl_lists.py has the keys of the list."""

    def test_alone_it_lets_choose(self):
        self.finished([Answer("One."), Answer("Two."), Answer("Three.")], "about apples")
        self.finished(None, "about pears", "Two.")
        t = self.start(None, "--resume", "--fork", "and what", "else?", until=CHOICE, **WIDE)
        self.assertRegex("\n".join(t.screen()), r"› about pears +\d+s  1 turn  \S+/project  local/qwen3  [0-9a-f]{8}")
        t.send("\x1b[B\r")
        t.wait_for("Three.")
        self.assertEqual(words_of(self.llm.requests[2]), ["about apples", "One.", "and what else?"])
        self.assertEqual(len(self.stored()), 3)

    def test_none_is_chosen(self):
        self.finished([Answer("One."), Answer("Two.")])
        t = self.start(None, "-r", until=CHOICE, **WIDE)
        t.send("\x1b")
        t.wait_for("No session chosen; starting a new one.")
        self.enter(t, "second", "Two.")
        self.assertEqual(words_of(self.llm.requests[1]), ["second"])

    def test_a_chosen_one_in_use(self):
        other, session = self.held([Answer("One."), Answer("Two.")])
        t = self.start(None, "-r", until=CHOICE, **WIDE)
        t.send("\r")
        t.wait_for(f"pid {other.pid} ")
        self.enter(t, "second", "Two.")
        self.assertEqual(words_of(self.llm.requests[1]), ["second"])

    def test_choosing_in_plain_mode(self):
        self.finished([Answer("One."), Answer("Two."), Answer("Three.")], "about apples")
        self.finished(None, "about pears", "Two.")
        t = self.start(None, "-r", "--plain", **WIDE)
        t.wait_for(re.compile(r"^Resume which session\?\n1 +about pears +\d+s  1 turn .*\n"
                              r"2 +about apples .*\n>$", re.M))
        t.send(" 2 \r")
        t.wait_for("One.")
        t.wait_for(re.compile("^>$", re.M))
        t.send("more\r")
        t.wait_for("Three.")
        self.assertEqual(words_of(self.llm.requests[2]), ["about apples", "One.", "more"])

    def test_any_other_line_in_plain_mode_begins_a_new_session(self):
        for line in ("hello", "30", "0", "1 2"):
            with self.subTest(line=line):
                self.finished([Answer("One."), Answer("Two.")])
                t = self.start(None, "-r", "--plain", **WIDE)
                t.wait_for(re.compile(r"^1 +first", re.M))
                t.send(line + "\r")
                t.wait_for("Two.")
                self.assertEqual(words_of(self.llm.requests[1]), [line])
                rows = t.all_rows()
                self.assertEqual([row for row in rows[:rows.index("Two.")] if row.startswith(">")],
                                 [f"> {line}"])  # one mark per line
                t.send("\x04")
                t.wait_exit()

    def test_one_in_use(self):
        t, session = self.held([Answer("One."), Answer("Two."), Answer("Three.")])
        reason = f"pid {t.pid} "
        self.assert_refused(1, reason, "-r", session)
        self.assert_refused(1, reason, "-c")
        self.assert_refused(1, "No session matches 'zzzz'", "-r", "zzzz")
        copy = self.ready(None, "-r", session[:8], "--fork", **WIDE)
        copy.wait_for("One.")
        self.enter(copy, "second", "Two.")
        self.assertNotEqual(self.newest(), session)
        self.enter(t, "third", "Three.")
        self.assertEqual([words_of(r)[2:] for r in self.llm.requests[1:]], [["second"], ["third"]])


class OptionTest(SessionsTest):
    def test_a_prompt(self):
        t = self.start([Answer("Hello.")], "say hello", **WIDE)
        t.wait_for("Hello.")
        self.assertEqual(words_of(self.llm.requests[0]), ["say hello"])
        self.assertIn("bash", sent_tools(self.llm.requests[0]))
        self.assertEqual(self.leave(t), 0)

    def test_a_missing_key(self):
        self.assert_refused(2, "OPENAI_API_KEY", "-m", "openai/gpt-5")

    def test_an_unknown_provider(self):
        self.assert_refused(2, "there is no provider 'nobody'", "-m", "nobody/x")

    def test_the_limit_of_tool_turns(self):
        call = Call("bash", {"command": "echo once"})
        t = self.ready([Answer(calls=[call]), Answer("Enough."), Answer(calls=[call]),
                        Answer("Again.")], "--max-turns", "1", **WIDE)
        rows = self.enter(t, "go", "Enough.")
        self.assertIn("The limit of 1 tool turn is reached (max_tool_turns): the model answers without tools.",
                      rows)
        self.assertNotIn("limit_reached", "\n".join(rows))
        (_, envelope), = sent_results(self.llm.requests[1])
        self.assertTrue(envelope["result"]["limit_reached"])
        self.enter(t, "more", "Again.")
        self.assertEqual(self.llm.problems, [])

    def test_tools_of_the_project_are_not_run(self):
        self.write(".ikigai/tools/mine", tool_script("mine", first="touch ran"), 0o755)
        t = self.ready([Answer("One.")], **WIDE)
        t.wait_for("1 project tool is not trusted and not used. Review: /trust or ikigai trust")
        self.enter(t, "hi", "One.")
        self.assertNotIn("mine", sent_tools(self.llm.requests[0]))
        self.assertFalse(os.path.exists(os.path.join(self.project, "ran")))


# ---- commands

class ListTest(SessionsTest):
    def test_those_of_this_folder(self):
        old = self.finished([Answer("One."), Answer("Two."), Answer("Three.")])
        elsewhere = os.path.join(self.dir, "elsewhere")
        os.mkdir(elsewhere)
        here, self.project = self.project, elsewhere
        t = self.ready(None, **WIDE)
        self.enter(t, "/sessions", "There are no sessions in this folder yet.")
        self.enter(t, "far away", "Two.")
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        self.project = here
        t = self.ready(None, **WIDE)
        t.send("/sessions\r")
        t.wait_for(re.compile(r"^› first +\d+s  1 turn  \S+/project  local/qwen3  "
                              + old[:8], re.M))
        self.assertNotIn("far away", "\n".join(t.screen()))
        t.send(ESC)
        t.wait_gone("Resume which session?")
        t.send("/sessions --all\r")
        t.wait_for(re.compile(r"^› far away +\d+s  1 turn  \S+/elsewhere ", re.M))
        t.wait_for(re.compile(r"^  first +\d+s  1 turn  \S+/project ", re.M))
        t.send("elsewh")  # the folder is searched, too
        t.wait_gone("  first ")
        t.send("\r")
        t.wait_for("Two.")
        self.enter(t, "more", "Three.")
        self.assertEqual(words_of(self.llm.requests[2]), ["far away", "Two.", "more"])

    def test_search(self):
        session = self.finished([Answer("The albatross flies."), Answer("Two.")],
                                "tell me of birds", "albatross")
        t = self.ready(None, **WIDE)
        rows = self.enter(t, "/search albatross", session)
        self.assertTrue(rows[0].endswith("  assistant  tell me of birds"), rows)
        self.assertIn("The albatross flies.", rows[1])
        self.assertEqual(self.enter(t, "/search penguin", "No match"), ["No match."])
        self.enter(t, "just said pelican", "Two.")
        self.enter(t, "/search pelican", "just said pelican")


class ResumeTest(SessionsTest):
    def test_it_prints_the_conversation_and_goes_on(self):
        old = self.finished([Answer("One."), Answer("Two."), Answer("Three."), Answer("Four.")])
        t, new = self.held(None, "second", "Two.")
        self.enter(t, f"/resume {old[:6]}", "One.")
        shown = [row for row in self.below(t, f"/resume {old[:6]}") if row]
        self.assertEqual(shown, ["> first", "One."])
        self.enter(t, "third", "Three.")
        self.assertEqual(words_of(self.llm.requests[2]), ["first", "One.", "third"])
        self.assertEqual(self.newest(), old)
        other = self.ready(None, "-r", new, **WIDE)  # it is free again
        other.wait_for("Two.")
        self.enter(t, f"/resume {new}", f"pid {other.pid} ")
        self.enter(t, "fourth", "Four.")
        self.assertEqual(words_of(self.llm.requests[3]), ["first", "One.", "third", "Three.",
                                                          "fourth"])

    def test_an_unknown_id_changes_nothing(self):
        t, session = self.held([Answer("One."), Answer("Two.")])
        self.enter(t, "/resume zzzz", "No session matches 'zzzz'")
        self.enter(t, "second", "Two.")
        self.assertEqual(words_of(self.llm.requests[1]), ["first", "One.", "second"])
        self.assertEqual(self.newest(), session)

    def test_the_session_one_is_in(self):
        t, session = self.held([Answer("One."), Answer("Two.")])
        self.enter(t, f"/resume {session}", "This session is already open.")
        self.assert_refused(1, f"in use by pid {t.pid}", "-r", session)  # it is still held
        self.enter(t, "second", "Two.")
        self.assertEqual(words_of(self.llm.requests[1]), ["first", "One.", "second"])

    def test_ids_are_completed(self):
        old = self.finished([Answer("One.")])
        t = self.ready(None, **WIDE)
        t.send("/sessions\r")
        t.wait_for("› first")
        t.send(ESC)
        t.wait_gone("Resume which session?")
        t.send(f"/resume {old[:3]}\t")
        t.wait_for(re.compile(rf"^> /resume {old}", re.M))
        t.send("\r")
        t.wait_for("One.")


# ---- a shared history

class SilentServer:
    """A server that takes connections and never says a word."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = []
        self.asked = threading.Event()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                self.connections.append(self.listener.accept()[0])
            except OSError:
                return
            self.asked.set()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.connections:
            connection.close()


class SilentHistoryTest(SessionsTest):
    """The shared history is asked and does not answer: the local one is used after a while, and
    until then everything else goes on."""

    def setUp(self):
        super().setUp()
        self.server = SilentServer()
        self.addCleanup(self.server.close)
        address = f"x@127.0.0.1:{self.server.port}/x"
        self.shared = {"IKIGAI_DB": f"postgresql://{address}?sslmode=disable"}

    def test_keys_echo_while_it_is_asked(self):
        session = self.finished([Answer("One."), Answer("Two.")])
        t = self.ready(None, env=self.shared, **WIDE)
        t.send("/sessions\r")
        t.wait_for("… looking")
        t.send("fir")
        t.wait_for(re.compile(r"^Resume which session\? fir$", re.M))
        t.wait_for(session[:8])
        self.assertTrue(self.server.asked.is_set())
        t.send(ESC)
        t.wait_gone("Resume which session?")
        t.send("/sessions\r")  # closed before it answers
        t.wait_for("Resume which session?")
        t.send(ESC)
        t.wait_gone("Resume which session?")
        self.enter(t, "second", "Two.")

    def test_what_is_entered_while_a_session_opens_waits(self):
        self.finished([Answer("One."), Answer("Two."), Answer("Three.")])
        t = self.start(None, "-c", env=self.shared, **WIDE)
        t.send("second\r")
        t.wait_for("queued: second")
        t.wait_for("opening the session")
        t.send("third\r")
        t.wait_for("queued: third")
        t.wait_for("Three.")
        self.assertEqual([words_of(r) for r in self.llm.requests[1:]],
                         [["first", "One.", "second"],
                          ["first", "One.", "second", "Two.", "third"]])


if __name__ == "__main__":
    unittest.main()
