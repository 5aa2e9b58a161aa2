"""Questions of tools in the terminal: the operation `ask` of the host channel, and ask_user."""
import json
import os
import re
import subprocess
import unittest

import hostile
from fake_llm import Answer, Call
from repl_support import ReplTest
from support import ROOT

ESC = "\x1b"
CTRL_C = "\x03"
CTRL_O = "\x0f"
DOWN = "\x1b[B"


def results(request):
    """The envelopes in a request to a chat server."""
    return [json.loads(m["content"]) for m in request.json["messages"] if m["role"] == "tool"]


class AskTest(ReplTest):
    def ask(self, *questions, args=(), **options):
        """Starts ikigai and has the model ask these questions, one after the other."""
        calls = [Call("ask_user", q) for q in questions]
        t = self.ready([Answer(calls=calls), Answer("It is over.")], *args, **options)
        t.send("go\r")
        t.wait_for("ask_user asks")
        return t

    def outcomes(self):
        """What the model got of the calls."""
        self.llm.wait_for_requests(2)
        return [e.get("result", e) for e in results(self.llm.requests[1])]

    def tool(self, name, body, **schema):
        return hostile.python_tool(os.path.join(self.home, "tools"), name, body, host=["ask"],
                                   **schema)


class Keys(AskTest):
    def test_answers(self):
        """A digit, text and Enter, a number and Enter, Enter alone, Esc."""
        t = self.ask({"question": "Which one?", "choices": ["red", "green", "blue"],
                      "default": "green"},
                     {"question": "What else?", "choices": ["x", "y"]},
                     {"question": "Which number?", "choices": [f"n{i}" for i in range(1, 13)]},
                     {"question": "And now?", "choices": ["1", "2"], "default": "as before"},
                     {"question": "Any text?"},
                     {"question": "Last one?"})
        t.wait_for("ask_user asks: Which one?")
        for i, colour in enumerate(("red", "green", "blue"), 1):
            t.wait_for(re.compile(rf"^  {i}  {colour}$", re.M))
        t.wait_for("1-3 chooses · or type an answer · Enter: green · Esc declines")
        t.send("3")
        t.wait_for("ask_user asks: What else?")
        t.send("\r")  # there is no default
        t.send("neither\r")
        t.wait_for("1-12 and Enter chooses")
        t.send("12\r")
        t.wait_for("Enter: as before")
        t.send("\r")
        t.wait_for("ask_user asks: Any text?")
        t.wait_for("type an answer · Esc declines")
        t.send("3 apples\r")
        t.wait_for("ask_user asks: Last one?")
        t.send(ESC)
        t.wait_for("It is over.")
        shown = "\n".join(t.all_rows())
        for text in ("Which one?", "What else?", "neither", "3 apples"):
            self.assertEqual(shown.count(text), 1, shown)
        self.assertEqual(self.leave(t), 0)
        answers = self.outcomes()
        self.assertEqual([a.get("answer") for a in answers],
                         ["blue", "neither", "n12", "as before", "3 apples", None])
        self.assertEqual(answers[-1]["error_code"], "DECLINED")

    def test_choices_that_are_numbers(self):
        """The number before a choice counts, not a choice that is called like it."""
        t = self.ask({"question": "How many?", "choices": ["2", "1", "4"]})
        t.wait_for(re.compile(r"^  2  1$", re.M))
        t.send("2")
        t.wait_for("It is over.")
        self.assertEqual(self.leave(t), 0)
        self.assertEqual(self.outcomes(), [{"answer": "1"}])

    def test_a_message_being_typed_is_no_answer(self):
        """The question waits until the user pauses; what was typed is sent as a message or kept."""
        self.tool("slow", "sys.stdin.read()\n"
                  "open('asked', 'w').close()\n"
                  "while not os.path.exists('typed'):\n    time.sleep(0.01)\n"
                  "import json, socket\n"
                  "host = socket.socket(fileno=4)\n"
                  "host.sendall(b'{\"id\": 1, \"op\": \"ask\", \"question\": \"Now?\"}\\n')\n"
                  "print(host.makefile().readline())")
        t = self.ready([Answer(calls=[Call("slow", {})]), Answer("It is over."), Answer("Yes.")])
        t.send("go\r")
        hostile.wait_until(lambda: os.path.exists(os.path.join(self.project, "asked")), 20)
        t.send("my draft")
        t.wait_for("> my draft")
        open(os.path.join(self.project, "typed"), "w").close()
        t.wait_for("slow asks: Now?")
        t.wait_until(lambda: "> my draft" not in t.screen(), "the draft is set aside")
        t.send("then\r")
        t.wait_for("It is over.")
        t.wait_for("> my draft")
        self.assertEqual(self.outcomes()[0]["result"], {"answer": "then"})
        t.send(CTRL_C)
        self.assertEqual(self.leave(t), 0)

    def test_ctrl_c_ends_the_turn(self):
        """Also for a tool that would ask again and again."""
        self.tool("pest", "import json, socket\n"
                  "host = socket.socket(fileno=4)\n"
                  "lines = host.makefile()\n"
                  "for i in range(10 ** 6):\n"
                  "    host.sendall(b'{\"id\": 1, \"op\": \"ask\", \"question\": \"Buy %d?\"}\\n' % i)\n"
                  "    lines.readline()\n")
        t = self.ready([Answer(calls=[Call("pest", {})]), Answer("Not reached.")])
        t.send("go\r")
        for i in range(3):
            t.wait_for(f"pest asks: Buy {i}?")
            t.send(ESC)
        t.wait_for("pest asks: Buy 3?")
        t.send(CTRL_C)
        t.wait_gone("pest asks")
        self.settle(t)
        self.assertEqual(len(self.llm.requests), 1)
        self.assertEqual(self.leave(t), 0)

    def test_hostile_text_and_little_room(self):
        """Escapes are not obeyed, long text is cut, and the pager shows it."""
        t = self.ask({"question": "\x1b]0;owned\x07\x1b[2J\x1b[31mSure?\u202e\n"
                                  + "\n".join(f"line {i}" for i in range(100)),
                      "choices": ["\x1b[2Jyes\nreally", "no"], "default": "x" * 1000},
                     columns=40, rows=20)
        t.wait_for("ask_user asks: Sure?<U+202E>")
        t.wait_for("more rows, Ctrl-O")
        t.send(CTRL_O)
        t.wait_until(lambda: self.in_pager(t), "pager")
        t.wait_for("line 3")
        self.close_pager(t)
        t.send("1")
        t.wait_for("It is over.")
        self.assertEqual(self.outcomes(), [{"answer": "yes\nreally"}])
        self.assertEqual(self.leave(t), 0)

    def test_the_end_of_a_call_takes_its_question_away(self):
        self.tool("impatient", "import socket\n"
                  "host = socket.socket(fileno=4)\n"
                  "host.sendall(b'{\"id\": 1, \"op\": \"ask\", '\n"
                  "             b'\"question\": \"Stay?\"}\\n')\n"
                  "while not os.path.exists('seen'):\n    time.sleep(0.01)\n"
                  "print('{}')")
        t = self.ready([Answer(calls=[Call("impatient", {})]), Answer("It is over.")])
        t.send("go\r")
        t.wait_for("impatient asks: Stay?")
        open(os.path.join(self.project, "seen"), "w").close()
        t.wait_gone("impatient asks")
        t.wait_for("It is over.")
        t.send("still here")
        t.wait_for("> still here")
        t.send(CTRL_C)
        self.assertEqual(self.leave(t), 0)

    def test_several_agents(self):
        """A question names its agent when there are several, and says how many wait."""
        def answer(request):
            words = [m for m in request.json["messages"] if m["role"] != "system"]
            if words[-1]["role"] == "tool":
                return Answer(f"It is {json.loads(words[-1]['content'])['result']['answer']}.")
            return Answer(calls=[Call("ask_user", {"question": words[-1]["content"] + "?"})])
        t = self.ready(answer)
        t.send("one\r")
        t.wait_for("ask_user asks: one?")
        t.send(" first\r")
        t.wait_for("It is first.")
        self.settle(t)
        t.send("/fork two\r")
        t.wait_for("ask_user asks (agent 2): two?")
        t.send("second\r")
        t.wait_for("It is second.")
        self.settle(t)
        self.assertEqual(self.leave(t), 0)

    def test_an_open_question_stops_both_clocks(self):
        self.tool("patient", "import socket\n"
                  "host = socket.socket(fileno=4)\n"
                  "host.sendall(b'{\"id\": 1, \"op\": \"ask\", \"question\": \"Wait?\"}\\n')\n"
                  "host.recv(1000)\n"
                  "print('{\"done\": true}')")
        self.serve([Answer(calls=[Call("patient", {})]), Answer("It is over.")],
                   tool_timeout_seconds=1, tool_max_seconds=2)
        t = self.ready()
        t.send("go\r")
        t.wait_for("patient asks: Wait?")
        hostile.wait_until(lambda: False, 2.5)
        t.send("yes\r")
        t.wait_for("It is over.")
        self.assertEqual(self.outcomes(), [{"done": True}])
        self.assertEqual(self.leave(t), 0)


class Documented(AskTest):
    """The examples of docs/tool-protocol.md, in a session."""

    def install(self, language, name, **arguments):
        with open(os.path.join(ROOT, "docs", "tool-protocol.md"), encoding="utf-8") as f:
            text = f.read()
        [source] = re.findall(rf"<!-- example: {language} -->\n```\w+\n(.*?)```\n", text, re.S)
        path = os.path.join(self.home, "tools", name)
        if language == "host_c":
            hostile.write_program(path + ".c", source)
            os.chmod(path + ".c", 0o600)
            subprocess.run(["cc", "-Wall", "-Werror", "-o", path, path + ".c", "-ljansson"],
                           check=True)
        else:
            hostile.write_program(path, source)
        return Call(name.replace("-", "_"), arguments)

    def answer(self, request):
        """What the model says to the agent and to the tools."""
        words = [m for m in request.json["messages"] if m["role"] != "system"]
        last = words[-1]["content"]
        if last.startswith("Describe this file"):
            return Answer("It says " + last.split("\n")[1])
        if "a change" in last:
            return Answer("docs: make a change")
        if words[-1]["role"] == "tool":
            return Answer("It is over.")
        return Answer(calls=self.calls)

    def test_them(self):
        git = ["git", "-c", "init.defaultBranch=main", "-C", self.project]
        self.write("file", "a change\n")
        self.write("first", "one\n")
        self.write("second", "two\n")
        subprocess.run([*git, "init", "-q"], check=True)
        for key, value in (("user.name", "A"), ("user.email", "a@example.org")):
            subprocess.run([*git, "config", key, value], check=True)
        subprocess.run([*git, "add", "file"], check=True)
        self.calls = [self.install("host_sh", "commit-staged"),
                      self.install("host_python", "describe-files", paths=["first", "second"]),
                      self.install("host_c", "choose-name", names=["Ann", "Bob"])]
        self.serve(self.answer, schema_timeout_ms=20000)
        t = self.ready()
        t.send("go\r")
        t.wait_for("commit_staged asks: Commit as: docs: make a change")
        t.send("1")
        t.wait_for("choose_name asks: Which name shall it have?")
        t.send("2")
        t.wait_for("It is over.")
        self.assertEqual([e.get("result", e) for e in results(self.llm.requests[-1])], [
            {"committed": True}, {"files": {"first": "It says one", "second": "It says two"}},
            {"answer": "Bob"}])
        log = subprocess.check_output([*git, "log", "--format=%s"], text=True)
        self.assertEqual(log, "docs: make a change\n")
        self.assertEqual(self.leave(t), 0)


class Plain(AskTest):
    def test_lines_answer(self):
        for options in {"args": ("--plain",)}, {"env": {"TERM": "dumb"}}:
            with self.subTest(options):
                t = self.ask({"question": "Which one?", "choices": ["red", "green"],
                              "default": "red"},
                             {"question": "No default?"}, {"question": "The default?",
                                                           "default": "d"},
                             {"question": "Refused?"}, {"question": "Last?"}, plain=True, answers=None, **options)
                t.wait_for("  1  red")
                t.wait_for("[1-2 chooses · or type an answer · Enter: red · Esc and Enter declines] ")
                t.send("2\n")
                t.wait_for("ask_user asks: No default?")
                t.send("\n")
                t.send("text\n")
                t.wait_for("ask_user asks: The default?")
                t.send("\n")
                t.wait_for("ask_user asks: Refused?")
                t.send(ESC + "\n")
                t.wait_for("ask_user asks: Last?")
                t.send("\x04")
                t.wait_for("It is over.")
                self.assertEqual([o.get("answer", o.get("error_code")) for o in self.outcomes()],
                                 ["green", "text", "d", "DECLINED", "DECLINED"])


if __name__ == "__main__":
    unittest.main()
