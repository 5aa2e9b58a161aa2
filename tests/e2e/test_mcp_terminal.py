"""MCP servers in the interactive program: questions of a server, and tools that change."""
import json
import os
import re
import signal
import sys
import threading

from agent_support import chat_results
from fake_llm import Answer, Call
from mcp_http_peer import McpHttp
from repl_support import ReplTest
from support import ROOT

PEER = os.path.join(ROOT, "tests", "mcp_peer.py")


class Terminal(ReplTest):
    def begin(self, script, **options):
        log = os.path.join(self.dir, "wire.log")
        peer = {"log": log, **options}
        self.serve(script, mcpServers={"s": {"command": sys.executable,
                                             "args": [PEER, json.dumps(peer)]}})
        return self.start(first=True), log

    def results(self, number):
        return [json.loads(text)["result"] for _, text in chat_results(self.llm.requests[number].json)]

    def test_a_server_asks(self):
        t, _ = self.begin([Answer(calls=[Call("s__asking", {})]), Answer("Thanks."),
                           Answer(calls=[Call("s__asking", {})]), Answer("Never mind.")])
        t.send("go\r")
        t.wait_for("s asks: Who are you? - Name")
        t.send("\r")
        t.wait_for("an answer is required")
        t.send("Ann\r")
        t.wait_for("age [7]")
        t.send("x\r")
        t.wait_for("a whole number, please")
        t.send("\r")
        t.wait_for("colour (1 red, 2 green)")
        t.send("2\r")
        t.wait_for("Thanks.")
        self.assertEqual(json.loads(self.results(1)[0]["output"]), {
            "action": "accept", "content": {"name": "Ann", "age": 7, "colour": "green"}})
        t.send("again\r")
        t.wait_until(lambda: "\n".join(t.all_rows()).count("s asks: Who are you? - Name:") == 2,
                     "the second question")
        t.send("\x1b")
        t.wait_for("Never mind.")
        self.assertEqual(json.loads(self.results(3)[1]["output"]), {"action": "cancel"})
        self.assertEqual(self.leave(t), 0)

    def test_the_program_is_ended_while_a_server_asks(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                t, _ = self.begin([Answer(calls=[Call("s__asking", {})])])
                t.send("go\r")
                t.wait_for("s asks: Who are you? - Name")
                os.kill(t.pid, number)
                self.assertEqual(t.wait_exit(), 128 + number)

    def draft(self):
        """The message that is being typed, also while it is not shown."""
        folder = os.path.join(self.home, "drafts")
        text = ""
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                text += f.read()
        return text

    def type_when_asked(self, t, gate, attempt):
        """Types "halfz" while the question comes, in any number of keys. Whether all of it is in the
        draft: a machine that is busy for half a second looks like a user who pauses."""
        gate.clear()
        t.send("go\r")
        self.llm.wait_for_requests(2 * attempt + 1)
        t.send("half")
        t.wait_for("> half")
        gate.set()
        while "\n".join(t.all_rows()).count("s asks: Who are you? - Name:") <= attempt:
            t.send("y\x7f")
        t.send("z")
        t.wait_until(lambda: "z" in t.screen() or self.draft() == "halfz", "the last letter")
        return self.draft() == "halfz"

    def test_a_message_being_typed_is_no_answer(self):
        """The question waits until the user pauses; the message is there again afterwards."""
        gate = threading.Event()

        def script(request):
            if len(self.llm.requests) % 2 == 0:
                return Answer("Thanks.")
            gate.wait(60)
            return Answer(calls=[Call("s__asking", {})])
        t, _ = self.begin(script)
        attempt = 0
        while not self.type_when_asked(t, gate, attempt):
            attempt += 1
            self.assertLess(attempt, 10, "every message became an answer")
            t.send("\x1b")
            t.wait_until(lambda: "\n".join(t.all_rows()).count("Thanks.") == attempt, "the end")
            t.send("\x03")
            t.wait_for(re.compile("^>$", re.M))
        t.wait_until(lambda: "> halfz" not in t.screen(), "the pause")
        t.send("Ann\r")
        t.wait_for("age [7]")
        t.send("\r")
        t.wait_for("colour (1 red, 2 green)")
        t.send("2\r")
        t.wait_until(lambda: "\n".join(t.all_rows()).count("Thanks.") == attempt + 1, "the end")
        self.assertEqual(json.loads(self.results(2 * attempt + 1)[-1]["output"]), {
            "action": "accept", "content": {"name": "Ann", "age": 7, "colour": "green"}})
        t.wait_for("> halfz")
        t.send("\x03")
        self.assertEqual(self.leave(t), 0)

    def test_an_answer_that_is_no_longer_wanted_becomes_the_draft(self):
        t, _ = self.begin([Answer(calls=[Call("s__asking", {})]), Answer("Never.")])
        t.send("go\r")
        t.wait_for("s asks: Who are you? - Name")
        t.send("a long name")
        t.wait_for("a long name")
        t.send("\x1b")
        t.wait_for("> a long name")
        t.send("\x03")
        self.assertEqual(self.leave(t), 0)

    def test_answers_that_are_not_taken(self):
        form = {"message": "Say", "requestedSchema": {"type": "object", "properties": {
            "n": {"type": "number"}, "b": {"type": "boolean"}, "c": {"type": "string", "enum": ["red", "green"]},
            "s": {"type": "string"}}, "required": ["n"]}}
        t, _ = self.begin([Answer(calls=[Call("s__asking", {"params": form})]), Answer("Thanks.")])
        t.send("go\r")
        t.wait_for("s asks: Say - n:")
        for text in ("inf", "nan", "1e999", "0x"):
            t.send(text + "\r")
            t.wait_for("a number, please")
            t.send("\r")
            t.wait_for("an answer is required")
        t.send(" 1.5 \r")
        t.wait_for("b (yes or no)")
        t.send("yes \r")
        t.wait_for("c (1 red, 2 green)")
        t.send("red \r")
        t.wait_for("Say - s:")
        t.send("blank \r")
        t.wait_for("Thanks.")
        self.assertEqual(json.loads(self.results(1)[0]["output"]), {
            "action": "accept", "content": {"n": 1.5, "b": True, "c": "red", "s": "blank "}})
        self.assertEqual(self.leave(t), 0)

    def test_a_form_that_cannot_be_asked(self):
        schema = '{"type":"object","properties":{"n":{"type":"number",%s}}}'
        t, _ = self.begin([Answer(calls=[Call("s__asking", {"raw": '{"message":"Say","requestedSchema":%s}' % (
            schema % member)}) for member in ('"maximum":1e999', '"\\u0000":1')]), Answer("Thanks.")])
        t.send("go\r")
        t.wait_for("Thanks.")
        for result in self.results(1):
            self.assertEqual(json.loads(result["output"]), {
                "code": -32602, "message": "a number or name in the params is not supported"})
        self.assertEqual(self.leave(t), 0)

    def test_a_visit_before_the_call_can_work(self):
        t, log = self.begin([Answer(calls=[Call("s__visit", {})]), Answer("Thanks.")])
        t.send("go\r")
        t.wait_for("s asks: Allow it. Visit https://example.org/a?b=c [y/N]")
        t.send("y\r")
        t.wait_for("Thanks.")
        self.assertEqual(self.results(1), [{"output": "visited"}])
        self.assertEqual(self.methods(log).count("tools/call"), 2)
        self.assertEqual(self.leave(t), 0)

    def server_tools(self):
        """The tools of servers in each request to the model."""
        return [[tool["function"]["name"] for tool in r.json["tools"]
                 if tool["function"]["name"].split("__")[0] in ("s", "slow")] for r in self.llm.requests]

    def test_a_changed_list_is_read_once_before_the_next_turn(self):
        for era in ("legacy", "modern"):
            with self.subTest(era=era):
                t, log = self.begin([Answer(calls=[Call("s__change", {})]), Answer(calls=[Call("s__change", {})]),
                                     Answer("One."), Answer("Two."), Answer("Three.")],
                                    tools=["echo", "change"], era=era)
                self.say(t, "go", "One.")
                self.say(t, "go", "Two.")
                self.say(t, "go", "Three.")
                self.assertEqual(self.server_tools(), [["s__change", "s__echo"]] * 3 +
                                 [["s__change", "s__echo", "s__plain"]] * 2)
                methods = self.methods(log)
                self.assertEqual(methods.count("tools/list"), 2)
                self.assertEqual(methods[-3:], ["tools/call", "tools/call", "tools/list"])
                self.assertEqual(methods.count("subscriptions/listen"), 1 if era == "modern" else 0)
                self.assertEqual(self.leave(t), 0)
                os.remove(log)

    @staticmethod
    def methods(log):
        """The methods of the messages of ikigai, in order."""
        with open(log, encoding="utf-8") as f:
            return [json.loads(line[2:]).get("method") for line in f if line.startswith("> ")]

    def test_a_list_that_is_no_longer_fresh_is_read_before_the_next_turn(self):
        for era, least, most in (("modern", 2, 3), ("legacy", 1, 1)):
            with self.subTest(era=era):
                t, log = self.begin([Answer("One."), Answer("Two.")], tools=["echo"], era=era, ttl=1)
                self.say(t, "go", "One.")
                self.say(t, "go", "Two.")
                self.assertIn(self.methods(log).count("tools/list"), range(least, most + 1))
                self.assertEqual(self.leave(t), 0)
                os.remove(log)

    def test_a_list_that_comes_too_late_is_dropped(self):
        gate, log = os.path.join(self.dir, "gate"), os.path.join(self.dir, "wire.log")
        peer = {"log": log, "list_gate": gate, "tools": ["echo", "change"]}
        self.serve([Answer(calls=[Call("s__change", {})]), Answer("One."), Answer("Two."), Answer("Three.")],
                   mcpServers={"s": {"command": sys.executable, "args": [PEER, json.dumps(peer)],
                                     "start_timeout_seconds": 2}})
        t = self.start(first=True)
        self.say(t, "go", "One.")
        self.say(t, "go", "Two.")
        with open(gate, "w", encoding="utf-8"):
            pass

        def lists():
            with open(log, encoding="utf-8") as f:
                return sum(line.startswith("< ") and '"tools": [' in line for line in f)
        t.wait_until(lambda: lists() == 2, "the late list")
        self.say(t, "go", "Three.")
        self.assertEqual(self.server_tools(), [["s__change", "s__echo"]] * 4)
        self.assertEqual(self.leave(t), 0)

    def test_a_changed_list_over_http(self):
        """In the answer to a call, and on the server's own stream, which may have to be opened again."""
        before, after = ([{"name": n, "inputSchema": {"type": "object"}} for n in names]
                         for names in (["echo", "change"], ["echo", "change", "added"]))
        for options in ({"sse": True}, {"stream": True}, {"stream": True, "breaks": 2},
                        {"stream": True, "era": "modern"}):
            with self.subTest(**options):
                peer = McpHttp(tools=before, tools_then=after, change="change", **options).start()
                self.addCleanup(peer.stop)
                self.serve([Answer(calls=[Call("s__change", {})]), Answer("One."), Answer("Two."),
                            Answer("Three.")], mcpServers={"s": {"url": peer.url}})
                t = self.start(first=True)
                self.say(t, "go", "One.")
                self.say(t, "go", "Two.")
                self.say(t, "go", "Three.")
                self.assertEqual(self.server_tools(), [["s__change", "s__echo"]] * 2 +
                                 [["s__added", "s__change", "s__echo"]] * 2)
                self.assertEqual(len([r for r in peer.requests
                                      if (r["body"] or {}).get("method") == "tools/list"]), 2)
                self.assertEqual(self.leave(t), 0)

    def test_a_refresh_after_the_server_has_forgotten_the_session(self):
        before, after = ([{"name": n, "inputSchema": {"type": "object"}} for n in names]
                         for names in (["echo"], ["echo", "added"]))
        for lost in (404, 400):
            with self.subTest(lost=lost):
                peer = McpHttp(tools=before, lost=lost).start()
                self.addCleanup(peer.stop)
                self.serve([Answer(calls=[Call("s__echo", {})]), Answer("One."), Answer("Two.")],
                           mcpServers={"s": {"url": peer.url}})
                t = self.start(first=True)
                self.say(t, "go", "One.")
                peer.tools = after
                peer.sessions.clear()  # it was started again
                self.say(t, "/refresh", "Tools refreshed")
                self.say(t, "go", "Two.")
                self.assertEqual(self.server_tools(), [["s__echo"]] * 2 + [["s__added", "s__echo"]])
                self.assertEqual(self.leave(t), 0)

    def test_a_subscription_that_breaks_off_begins_again(self):
        """What changed in between is not told, so that the list is read again."""
        peer = McpHttp(era="modern", stream=True, breaks=1).start()
        self.addCleanup(peer.stop)
        self.serve([Answer("One."), Answer("Two.")], mcpServers={"s": {"url": peer.url}})
        t = self.start(first=True)
        methods = lambda: [(r["body"] or {}).get("method") for r in peer.requests]
        t.wait_until(lambda: methods().count("subscriptions/listen") == 2, "another subscription")
        self.say(t, "go", "One.")
        self.say(t, "go", "Two.")
        self.assertEqual(methods()[-4:], ["tools/list", *["subscriptions/listen"] * 2, "tools/list"])
        self.assertEqual(self.leave(t), 0)

    def test_a_slow_server_delays_neither_others_nor_the_prompt(self):
        gate, log = os.path.join(self.dir, "gate"), os.path.join(self.dir, "wire.log")
        self.serve([Answer("Hello.")], mcpServers={
            name: {"command": sys.executable, "args": [PEER, json.dumps(peer)]} for name, peer in {
                "slow": {"gate": gate, "tools": ["echo"]}, "s": {"log": log, "tools": ["echo"]}}.items()})
        t = self.start(first=True)
        t.send("typed meanwhile")
        t.wait_for("> typed meanwhile")

        def listed():
            with open(log, encoding="utf-8") as f:
                return any(line.startswith("< ") and '"tools": [' in line for line in f)
        t.wait_until(lambda: os.path.exists(log) and listed(), "the list of the other server")
        self.assertEqual(self.llm.requests, [])
        with open(gate, "w", encoding="utf-8"):
            pass
        self.say(t, "", "Hello.")
        self.assertEqual(self.server_tools(), [["s__echo", "slow__echo"]])
        self.assertEqual(self.leave(t), 0)
