"""MCP servers in the interactive program: questions of a server, and tools that change."""
import json
import os
import sys

from agent_support import chat_results
from fake_llm import Answer, Call
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
        t.wait_for("s asks: Who are you? - Name")
        t.send("\x1b")
        t.wait_for("Never mind.")
        self.assertEqual(json.loads(self.results(3)[1]["output"]), {"action": "cancel"})
        self.assertEqual(self.leave(t), 0)

    def test_a_changed_list_is_read_once_before_the_next_turn(self):
        t, log = self.begin([Answer(calls=[Call("s__change", {})]), Answer("One."), Answer("Two."),
                             Answer("Three.")], tools=["echo", "change"])
        self.say(t, "go", "One.")
        self.say(t, "go", "Two.")
        self.say(t, "go", "Three.")
        names = [[tool["function"]["name"] for tool in r.json["tools"]
                  if tool["function"]["name"].startswith("s__")] for r in self.llm.requests]
        self.assertEqual(names, [["s__change", "s__echo"]] * 2 +
                         [["s__change", "s__echo", "s__plain"]] * 2)
        with open(log, encoding="utf-8") as f:
            lists = [line for line in f if line.startswith("> ") and '"tools/list"' in line]
        self.assertEqual(len(lists), 2)
        self.assertEqual(self.leave(t), 0)
