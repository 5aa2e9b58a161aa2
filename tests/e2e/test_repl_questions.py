"""Modes and questions about tool calls in the terminal, one test for each sentence."""
import json
import os
import re
import threading
import time
import unittest

import hostile
from fake_llm import Answer, Call, Wire
from repl_support import ReplTest
from support import IKIGAI, clean_env

SHIFT_TAB = "\x1b[Z"
ESC = "\x1b"
CTRL_O = "\x0f"
CTRL_R = "\x12"


def bash(command, **more):
    return Answer(calls=[Call("bash", {"command": command, **more})])


def results(request):
    """The envelopes in a request to a chat server."""
    return [json.loads(m["content"]) for m in request.json["messages"] if m["role"] == "tool"]


class QuestionTest(ReplTest):
    def ask(self, command="touch file", until="Allow bash?", script=None, args=(), **more):
        """Starts ikigai and has the model ask for a call with permissions; returns the terminal."""
        more.setdefault("permissions", "all")
        t = self.ready(script or [bash(command, **more), Answer("It is over.")], *args)
        t.send("go\r")
        t.wait_for(until)
        return t

    def outcome(self):
        self.llm.wait_for_requests(2)
        return results(self.llm.requests[1])[-1]

    def made(self, name="file"):
        return os.path.exists(os.path.join(self.project, name))

    def rules(self):
        with open(os.path.join(self.home, "permissions.json")) as f:
            return json.load(f)

    def type_letters(self, t, mark, on_letter):
        """Types letters until a question about bash is there. None if one of them was taken for the
        answer, or the question has the keys: a machine that is busy for half a second looks like a
        user who pauses."""
        def state():
            screen = "\n".join(t.screen())
            return "answered" if self.made() else \
                "typed" if f"{mark}{typed}" in screen else \
                "paused" if "? y, a, n" in screen else None
        typed = ""
        while "Allow bash?" not in "\n".join(t.screen()) or len(typed) < 12:
            t.send("y")
            typed += "y"
            time.sleep(0.02)  # so that they fit into a row
            found = t.wait_until(state, f"{len(typed)} letters")
            on_letter()
            if found != "typed":
                t.close()
                if self.made():
                    os.remove(os.path.join(self.project, "file"))
                return None
        return typed


class Modes(QuestionTest):
    def test_shift_tab_cycles_and_the_status_line_names_the_mode(self):
        t = self.ready([])
        self.assertNotRegex(self.status(t), "auto|ask|plan|full")
        for mode in "ask", "plan":
            t.send(SHIFT_TAB)
            t.wait_until(lambda: self.status(t).startswith(mode + " · "), mode)
        t.send(SHIFT_TAB)
        t.wait_until(lambda: not re.search("auto|ask|plan", self.status(t)), "auto")
        self.assertEqual(self.leave(t), 0)

    def test_shift_tab_moves_in_an_open_list(self):
        t = self.ready([])
        t.send("/re")
        t.wait_for("/resume")
        t.send(SHIFT_TAB)
        t.send("\t")
        t.wait_for(re.compile("^> /re[a-z]+", re.M))
        self.assertNotRegex(self.status(t), "ask")
        t.send("\x03")
        self.assertEqual(self.leave(t), 0)

    def test_the_command(self):
        t = self.ready([])
        self.enter(t, "/mode", "Mode: auto")
        self.enter(t, "/mode", "Confinement of tools: full")
        self.enter(t, "/mode full", "Mode: full")
        self.assertTrue(self.status(t).startswith("full · "))
        t.send(SHIFT_TAB)
        t.wait_until(lambda: "full" not in self.status(t), "auto")
        self.enter(t, "/mode wild", "There is no mode 'wild'")
        self.enter(t, "/mode plan", "Mode: plan")
        self.assertEqual(self.leave(t), 0)

    def test_a_level_below_full_is_told_once(self):
        self.serve([])
        script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\""
        t = self.terminal(["unshare", "-Ur", "sh", "-c", script, "sh", IKIGAI], cwd=self.project,
                          env=clean_env(IKIGAI_HOME=self.home, TERM="xterm-256color"))
        t.wait_for("Confinement of tools: partial. The kernel does not allow user namespaces")
        self.assertEqual("\n".join(t.all_rows()).count("partial"), 1)
        self.enter(t, "/mode", "Confinement of tools: partial")
        self.assertEqual(self.leave(t), 0)

    def test_the_flag_and_a_narrow_window(self):
        t = self.start([], "--mode", "plan", columns=20)
        t.wait_until(lambda: self.status(t).startswith("plan"), "plan")
        self.assertEqual(self.leave(t), 0)

    def test_the_mode_is_kept_with_the_session_and_each_agent(self):
        t = self.ready([Answer("One."), Answer("Two."), Answer("Three.")])
        self.say(t, "hi", "One.")
        self.settle(t)
        self.enter(t, "/mode plan", "Mode: plan")
        self.enter(t, "/fork", "agent 2")
        t.wait_until(lambda: self.status(t).startswith("plan"), "the fork's mode")
        self.enter(t, "/mode ask", "Mode: ask")
        self.say(t, "hi", "Two.")
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        t = self.start(None, "-c")
        t.wait_until(lambda: self.status(t).startswith("ask"), "ask")
        self.enter(t, "/switch 1", "agent 1")
        t.wait_until(lambda: self.status(t).startswith("plan"), "plan")
        self.assertEqual(self.leave(t), 0)


class Questions(QuestionTest):
    def test_what_a_question_shows(self):
        t = self.ask("npm test --all", permissions="network", reason="needs the registry")
        screen = "\n".join(t.screen())
        for words in ("Allow bash?", "command: npm test --all", "reason: needs the registry",
                      "allows: network", "y once", "a always: bash(npm test --all)", "n no",
                      "Esc stop"):
            self.assertIn(words, screen)
        t.send("n")
        t.wait_for("It is over.")
        self.assertNotIn("allows:", "\n".join(t.screen()))
        self.assertEqual(self.leave(t), 0)

    def test_what_would_be_allowed(self):
        for permissions, mode, words in (("all", "auto", "no confinement"), ("", "ask", "write")):
            with self.subTest(permissions=permissions):
                t = self.ask(permissions=permissions, args=["--mode", mode])
                t.wait_for(f"allows: {words}")
                t.send("n")
                t.wait_for("It is over.")
                self.leave(t)

    def test_yes_runs_it_once(self):
        t = self.ask()
        t.send("y")
        t.wait_for("It is over.")
        self.assertTrue(self.made())
        self.assertFalse(os.path.exists(os.path.join(self.home, "permissions.json")))
        self.assertEqual(self.leave(t), 0)

    def test_always_adds_the_rule_for_this_project(self):
        t = self.ask(script=[bash("touch file", permissions="all"),
                             bash("touch file", permissions="all"), Answer("It is over.")])
        t.send("a")
        t.wait_for("It is over.")
        self.assertTrue(self.made())
        project = os.path.realpath(self.project)
        self.assertEqual(self.rules(), {"projects": {project: {"allow": ["bash(touch file)"]}}})
        mode = os.stat(os.path.join(self.home, "permissions.json")).st_mode
        self.assertEqual(mode & 0o777, 0o600)
        self.enter(t, "/permissions", re.compile(r"1 +allow +bash\(touch file\)"))
        self.assertNotIn("there is no tool", "\n".join(t.screen()))
        self.enter(t, "/permissions remove 2", "no rule 2")
        self.enter(t, "/permissions remove 1", "Removed")
        self.assertEqual(self.rules()["projects"][project], {"allow": []})
        self.enter(t, "/permissions", "There are no rules")
        self.assertEqual(self.leave(t), 0)

    def test_a_rule_about_a_tool_that_does_not_exist(self):
        self.write(os.path.join(self.home, "permissions.json"), '{"deny": ["bahs(rm *)"]}', 0o600)
        t = self.ready()
        self.enter(t, "/refresh", "Tools refreshed")
        self.enter(t, "/permissions", "1  deny   bahs(rm *)  (user)  there is no tool bahs here; did you "
                                      "mean bash?")
        self.assertEqual(self.leave(t), 0)

    def test_control_characters_are_shown_and_are_no_wildcard(self):
        t = self.ask(until="a always",
                     script=[bash("ls \x01\x1b[8m\x7f", permissions="network", reason="a\x08b"),
                             bash("ls /etc/passwd", permissions="all"), Answer("It is over.")])
        screen = "\n".join(t.screen())
        self.assertIn("command: ls <U+0001><U+001B>[8m<U+007F>", screen)
        self.assertIn("reason: a<U+0008>b", screen)
        self.assertIn("a always: bash(ls <U+0001><U+001B>[8m<U+007F>)", screen)
        t.send("a")
        t.wait_for("command: ls /etc/passwd")
        t.send("n")
        t.wait_for("It is over.")
        self.enter(t, "/permissions", re.compile(r"1 +allow +bash\(ls <U\+0001>"))
        self.assertEqual(self.leave(t), 0)

    def test_always_is_not_offered_for_a_compound_command(self):
        t = self.ask("touch file; true")
        self.assertNotIn("always", "\n".join(t.screen()))
        t.send("a different way\r")
        t.wait_for("It is over.")
        self.assertIn("a different way", self.outcome()["error"])
        self.assertFalse(self.made())
        self.assertEqual(self.leave(t), 0)

    def test_always_is_not_offered_where_a_rule_asks(self):
        """The rule would ask the next time as well."""
        self.write(os.path.join(self.home, "permissions.json"), '{"ask": ["bash(touch *)"]}', 0o600)
        t = self.ask()
        self.assertNotIn("always", "\n".join(t.screen()))
        t.send("y")
        t.wait_for("It is over.")
        self.assertTrue(self.made())
        self.assertEqual(self.leave(t), 0)

    def test_no_and_the_turn_goes_on(self):
        t = self.ask()
        t.send("n")
        t.wait_for("It is over.")
        self.assertEqual(self.outcome()["error_code"], "PERMISSION_DENIED")
        self.assertFalse(self.made())
        self.assertEqual(self.leave(t), 0)

    def test_escape_ends_the_turn(self):
        t = self.ask()
        t.send(ESC)
        t.wait_for("interrupted")
        self.assertFalse(self.made())
        self.assertEqual(len(self.llm.requests), 1)
        self.assertEqual(self.leave(t), 0)

    def test_a_text_denies_and_is_told(self):
        for typed, told in (("use make\r", "use make"), (" yes but later\r", "yes but later"),
                            ("\x1b[200~y\x1b[201~\r", "y"), ("\x1b[200~yes\x1b[201~\r", "yes"),
                            ("Yes\r", "Yes")):
            with self.subTest(typed=typed):
                t = self.ask()
                t.send(typed)
                t.wait_for("It is over.")
                outcome = self.outcome()
                self.assertEqual(outcome["error_code"], "PERMISSION_DENIED")
                self.assertTrue(outcome["error"].endswith(": " + told), outcome)
                self.assertFalse(self.made())
                self.leave(t)

    def test_enter_alone_does_not_answer(self):
        t = self.ask()
        t.send("\r")
        t.send("x\x7f")
        t.send("y")
        t.wait_for("It is over.")
        self.assertTrue(self.made())
        self.assertEqual(self.leave(t), 0)

    def ask_later(self):
        """A turn whose question comes when the event is set."""
        gate = threading.Event()

        def script(request):
            if len(self.llm.requests) == 1:
                gate.wait(60)
                return bash("touch file", permissions="all")
            return Answer("It is over.")
        t = self.ready(script)
        t.send("go\r")
        self.llm.wait_for_requests(1)
        return t, gate

    def test_a_draft_is_there_again(self):
        t, gate = self.ask_later()
        t.send("a long draft")
        t.wait_for("a long draft")
        t.send("\x1b[D" * 6)  # the cursor stays where it is, too
        time.sleep(0.6)       # the draft is no longer being typed
        gate.set()
        t.wait_for("Allow bash?")
        t.wait_until(lambda: not re.search("^> a long", "\n".join(t.screen()), re.M), "the answer")
        t.send("y")
        t.wait_for("It is over.")
        t.send("er")
        t.wait_for("> a longer draft")
        self.assertTrue(self.made())
        t.send("\x03")
        self.assertEqual(self.leave(t), 0)

    def type_until_asked(self, begin="", mark="> "):
        """Types while the question comes. None if the attempt says nothing, as type_letters."""
        t, gate = self.ask_later()
        t.send(begin)
        typed = self.type_letters(t, mark, gate.set)
        return typed and (t, typed)

    def test_keys_go_to_a_draft_that_is_being_typed(self):
        asked = next(filter(None, (self.type_until_asked() for _ in range(10))), None)
        self.assertIsNotNone(asked, "every time a key of a message became the answer")
        t, typed = asked
        self.assertIn("Allow bash?", "\n".join(t.screen()))
        self.assertFalse(self.made())
        t.wait_until(lambda: not re.search("^> y", "\n".join(t.screen()), re.M), "the pause")
        t.send("y")
        t.wait_for("It is over.")
        self.assertTrue(self.made())
        t.wait_for(f"> {typed}")
        t.send("\x03")
        self.assertEqual(self.leave(t), 0)

    def test_keys_go_to_a_search_that_is_being_typed(self):
        asked = next(filter(None, (self.type_until_asked(CTRL_R, "search: ") for _ in range(10))),
                     None)
        self.assertIsNotNone(asked, "every time a key of a search became the answer")
        t, typed = asked
        self.assertIn("Allow bash?", "\n".join(t.screen()))
        self.assertFalse(self.made())
        t.wait_gone("search: ")  # after a pause
        t.send("n")
        t.wait_for("It is over.")
        self.assertFalse(self.made())
        self.assertEqual(self.leave(t), 0)

    def test_an_edit_is_shown_as_its_diff(self):
        with open(os.path.join(self.project, "a.txt"), "w") as f:
            f.write("one\ntwo\nthree\n")
        call = Call("file_edit", {"file_path": "a.txt", "old_string": "two", "new_string": "2"})
        t = self.ask(script=[Answer(calls=[call]), Answer("It is over.")], args=["--mode", "ask"],
                     until="Allow file_edit?")
        screen = t.screen()
        for row in "-two", "+2", " three":
            self.assertIn(row, screen)
        self.assertIn("Allow file_edit? allows: write", screen)
        self.assertIn("a always: file_edit ", "\n".join(screen))
        t.send("y")
        t.wait_for("It is over.")
        with open(os.path.join(self.project, "a.txt")) as f:
            self.assertEqual(f.read(), "one\n2\nthree\n")
        self.assertEqual(self.leave(t), 0)

    def test_long_and_hostile_arguments(self):
        command = "echo \x1b[2J\x1b]0;x\x07 " + "word " * 2000 + "; touch file\n" * 30
        for columns, rows in ((80, 24), (40, 10), (20, 6)):
            with self.subTest(columns=columns):
                self.serve([bash(command, permissions="all", reason="r" * 500),
                            Answer("It is over.")])
                t = self.start(None, columns=columns, rows=rows)
                t.wait_gone("looking for tools")
                t.send("go\r")
                t.wait_for("Allow bash" if columns == 20 else "stop")
                if columns == 80:
                    self.assertIn("more rows", "\n".join(t.screen()))
                    self.assertIn("more rows, Ctrl-O", "\n".join(t.screen()))
                    t.send(CTRL_O)
                    t.wait_until(lambda: self.in_pager(t), "the pager")
                    t.send("G")
                    t.wait_for("permissions: all")
                    self.close_pager(t)
                t.send("n")
                t.wait_for("It is over.")
                self.assertFalse(self.made())
                self.leave(t)

    def ask_in_window(self, columns, rows, command, mode="auto", **more):
        self.serve([Answer(calls=[Call("bash", {**more, "command": command})]),
                    Answer("It is over.")])
        t = self.start(None, "--mode", mode, columns=columns, rows=rows)
        t.wait_gone("looking for tools")
        t.send("go\r")
        t.wait_for("Allow bash")
        return t

    def decline(self, t):
        t.send("n")
        t.wait_for("It is over.")
        self.assertEqual(self.leave(t), 0)

    def test_a_low_window_shows_the_beginning_of_the_command_and_that_there_is_more(self):
        """They come before the model's reason, the empty rows and the status line."""
        for columns, rows in ((80, 6), (80, 7), (40, 8), (80, 10), (80, 12), (80, 14)):
            with self.subTest(columns=columns, rows=rows):
                t = self.ask_in_window(columns, rows, "echo first\n" + "touch file\n" * 9,
                                       permissions="all", reason="it is harmless " * 9)
                screen = "\n".join(t.screen())
                self.assertRegex(screen, r"(?m)^  command: echo first$")
                self.assertRegex(screen, r"(?m)^  … \d+ more rows, Ctrl-O$")
                self.assertNotIn("reason:", screen)
                if rows >= 10:
                    self.assertIn("Allow bash? allows: no confinement", screen)
                    self.assertIn("y once", screen)
                self.decline(t)

    def test_all_of_a_question_that_fits(self):
        t = self.ask_in_window(80, 20, "touch file", permissions="all",
                               reason="it is harmless " * 9)
        screen = "\n".join(t.screen())
        for words in ("Allow bash? allows", "command: touch file", "reason: it is", "y once"):
            self.assertIn(words, screen)
        self.assertNotIn("Ctrl-O", screen)
        self.assertIn("qwen3", self.status(t))
        self.decline(t)

    def test_one_row_for_a_question(self):
        for command, shown in (("touch file", "  command: touch file"),
                               ("echo first\ntouch file", "  … 2 more rows, Ctrl-O")):
            with self.subTest(command=command):
                t = self.ask_in_window(80, 5, command, mode="ask")
                self.assertIn(shown, t.screen())
                self.decline(t)

    def test_plan_mode_that_is_set_meanwhile_holds(self):
        t = self.ask()
        t.send(SHIFT_TAB * 2)
        t.wait_until(lambda: self.status(t).startswith("plan"), "plan")
        t.send("y")
        t.wait_for("It is over.")
        self.assertFalse(self.made())
        self.assertEqual(self.leave(t), 0)


class SeveralAgents(QuestionTest):
    def test_questions_queue_and_stop_no_other_agent(self):
        gate = threading.Event()

        def script(request):
            messages = request.json["messages"]
            last = max(i for i, m in enumerate(messages) if m["role"] == "user")
            said = messages[last]["content"]
            asked = any(m["role"] == "tool" for m in messages[last:])
            if "slow" in said and not asked:
                gate.wait(60)
            if said.startswith("make") and not asked:
                return bash(f"touch {said.split()[-1]}", permissions="all")
            return Answer(f"Done with {said}.")
        t = self.ready(script)
        self.say(t, "hi", "Done with hi.")
        self.settle(t)
        t.send("make slow one\r")
        self.llm.wait_for_requests(2)
        t.send("/fork make two\r")
        t.wait_for("command: touch two")
        t.wait_for("Allow bash? (agent 2) allows: no confinement")
        gate.set()
        t.wait_for("1 more question waits")
        t.send("y")
        t.wait_for("Allow bash? (agent 1, in the background)")
        t.wait_for("Done with make two.")  # while agent 1 waits
        self.assertTrue(self.made("two"))
        self.assertFalse(self.made("one"))
        t.send("y")
        t.wait_for("/switch 1 shows its answer")
        self.assertTrue(self.made("one"))
        self.assertEqual(self.leave(t), 0)

    def type_while_a_question_gives_way(self):
        """Types an answer while its question ends and the next one comes. None if the attempt says
        nothing, as type_letters."""
        gate = threading.Event()
        for name in ("ask", "seen", "file"):
            if self.made(name):
                os.remove(os.path.join(self.project, name))

        def script(request):
            last = [m for m in request.json["messages"] if m["role"] != "system"][-1]
            if last["role"] == "tool":
                return Answer("It is over.")
            if last["content"] == "go":
                return Answer(calls=[Call("impatient", {})])
            gate.wait(60)
            return bash("touch file", permissions="all")
        t = self.ready(script)
        t.send("go\r")
        self.llm.wait_for_requests(1)
        t.send("/fork on\r")
        self.llm.wait_for_requests(2)
        open(os.path.join(self.project, "ask"), "w").close()
        t.wait_for("impatient asks (agent 1, in the background)")
        gate.set()
        t.wait_for("(1 more)")
        seen = os.path.join(self.project, "seen")
        typed = self.type_letters(t, "> ", lambda: open(seen, "w").close())
        return typed and (t, typed)

    def test_an_answer_to_a_question_that_ends_is_none_to_the_next_one(self):
        hostile.python_tool(os.path.join(self.home, "tools"), "impatient",
                            "import socket\n"
                            "while not os.path.exists('ask'):\n    time.sleep(0.01)\n"
                            "host = socket.socket(fileno=4)\n"
                            "host.sendall(b'{\"id\": 1, \"op\": \"ask\", '\n"
                            "             b'\"question\": \"Stay?\"}\\n')\n"
                            "while not os.path.exists('seen'):\n    time.sleep(0.01)\n"
                            "print('{}')", host=["ask"])
        asked = next(filter(None, (self.type_while_a_question_gives_way() for _ in range(10))),
                     None)
        self.assertIsNotNone(asked, "every time a key of an answer became the next one")
        t, typed = asked
        self.assertFalse(self.made())
        t.wait_until(lambda: not re.search("^> y", "\n".join(t.screen()), re.M), "the pause")
        t.send("n")
        t.wait_for("It is over.")
        self.assertFalse(self.made())
        t.wait_for(f"> {typed}")
        t.send("\x03")
        self.assertEqual(self.leave(t), 0)


class Plain(QuestionTest):
    def test_one_line_answered_by_a_line(self):
        for line, made, told in (("y", True, None), ("n", False, "denied"),
                                 ("do it in make", False, "do it in make")):
            with self.subTest(line=line):
                self.serve([bash("touch file", permissions="all", reason="because"),
                            Answer("It is over.")])
                t = self.terminal([IKIGAI, "--plain"], cwd=self.project, env=clean_env(
                    IKIGAI_HOME=self.home, TERM="xterm-256color"))
                t.wait_for(">")
                t.send("go\n")
                t.wait_for("what to do instead]")
                text = " ".join("".join(row.ljust(80) for row in t.all_rows()).split())
                self.assertRegex(text, r"Allow bash\? allows: no confinement; command: touch file; .*"
                                       r"reason: because; \[y once, a always \(bash\(touch file\)\), n no")
                t.send(line + "\n")
                t.wait_for("It is over.")
                self.assertEqual(self.made(), made)
                if told is not None:
                    self.assertIn(told, self.outcome()["error"])
                if made:
                    os.remove(os.path.join(self.project, "file"))
                t.send("\x04")
                t.wait_exit()

    def test_questions_after_the_end_of_input_are_declined(self):
        self.serve([Answer(calls=[Call("bash", {"command": "touch file", "permissions": "all"}),
                                  Call("ask_user", {"question": "Which one?"})],
                           wire=Wire(delay_head=1)),
                    Answer(calls=[Call("ask_user", {"question": "Which one?"})]), Answer("It is over.")])
        t = self.terminal([IKIGAI, "--plain"], cwd=self.project, env=clean_env(
            IKIGAI_HOME=self.home, TERM="xterm-256color"))
        t.wait_for(">")
        t.send("go\nagain\n\x04")
        self.assertEqual(t.wait_exit(), 0)
        self.assertFalse(self.made())
        self.assertIn("It is over.", "\n".join(t.all_rows()))


if __name__ == "__main__":
    unittest.main()
