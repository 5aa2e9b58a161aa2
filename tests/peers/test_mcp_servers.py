"""Other people's MCP servers are used by `ikigai -p`: every tool of server-everything over standard
input and output and over HTTP, the small servers, and the SDK's servers of both eras."""
import json
import os
import socket
import subprocess

import hostile
from agent_support import AgentTest
from fake_llm import Answer, Call
from peer_support import MODULES, PEERS, PeerTest

EVERYTHING = os.path.join(MODULES, "@modelcontextprotocol/server-everything/dist/index.js")
# Tools with arguments, and what the output or the error contains.
TOOLS = [
    ("echo", {"message": "hi"}, "Echo: hi"),
    ("get_annotated_message", {"messageType": "error", "includeImage": True}, "Operation failed"),
    ("get_env", {}, "PATH"),
    ("get_resource_links", {"count": 2}, "Text Resource 2: demo://resource/dynamic/text/2"),
    ("get_resource_reference", {"resourceType": "Text", "resourceId": 1}, "plaintext resource"),
    ("get_resource_reference", {"resourceType": "Blob", "resourceId": 1}, "[binary resource demo://"),
    ("get_roots_list", {}, "file:///"),
    ("get_structured_content", {"location": "Chicago"}, "temperature"),
    ("get_sum", {"a": 1, "b": 2}, "is 3."),
    ("get_sum", {"a": "x"}, "Invalid arguments"),
    ("get_tiny_image", {}, "The image above is the MCP logo"),
    ("gzip_file_as_resource", {"name": "x", "data": "data:text/plain,hello",
                               "outputType": "resource"}, "application/gzip"),
    ("toggle_simulated_logging", {}, "Started"),
    ("toggle_subscriber_updates", {}, "Started"),
    ("trigger_elicitation_request", {}, "cancelled"),
    ("trigger_long_running_operation", {"duration": 1, "steps": 2}, "completed"),
    ("trigger_url_elicitation", {"url": "https://example.org/", "message": "m"}, "cancel"),
]


class Servers(PeerTest, AgentTest):
    def turn(self, servers, calls):
        script = [Answer(calls=[Call(name, arguments)]) for name, arguments in calls]
        turn = self.ask([*script, Answer("Done.")],
                        config={"mcpServers": servers, "max_tool_turns": len(calls) + 5})
        return turn.envelopes()

    def check_everything(self, entry):
        results = self.turn({"e": entry}, [(f"e__{name}", arguments) for name, arguments, _ in TOOLS])
        for (name, _, expected), envelope in zip(TOOLS, results):
            self.assertTrue(envelope["tool_success"], (name, envelope))
            result = envelope["result"]
            self.assertIn(expected, result.get("output") or result.get("error"), name)
        self.assertEqual([len(r["result"].get("images", [])) for r in results].count(1), 2)
        tools = self.ikigai("mcp", "show", "e", "--json").json()["tools"]
        self.assertEqual({t["name"] for t in tools}, {f"e__{name}" for name, _, _ in TOOLS})
        self.assert_nothing_runs()

    def test_everything_over_pipes(self):
        self.check_everything({"command": "node", "args": [EVERYTHING, "stdio", self.dir]})

    def test_everything_over_http(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        server = subprocess.Popen(["node", EVERYTHING, "streamableHttp"],
                                  env={**os.environ, "PORT": str(port)},
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)

        def listens():
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return True
            except OSError:
                return False
        self.assertTrue(hostile.wait_until(listens, 60))
        self.check_everything({"url": f"http://127.0.0.1:{port}/mcp"})

    def test_small_servers(self):
        def node(name, *args, **more):
            return {"command": "node", "args": [os.path.join(
                MODULES, f"@modelcontextprotocol/server-{name}/dist/index.js"), *args], **more}
        self.write("project/a.txt", "hello\n")
        results = self.turn({
            "fs": node("filesystem", self.project),
            "mem": node("memory", self.dir, env={"MEMORY_FILE_PATH": self.path("memory.json")}),
            "think": node("sequential-thinking", self.dir)}, [
                ("fs__read_text_file", {"path": os.path.join(self.project, "a.txt")}),
                ("fs__write_file", {"path": os.path.join(self.project, "b.txt"), "content": "x"}),
                ("fs__read_text_file", {"path": "/etc/passwd"}),
                ("mem__create_entities", {"entities": [{"name": "n", "entityType": "t",
                                                        "observations": ["o"]}]}),
                ("mem__read_graph", {}),
                ("think__sequentialthinking", {"thought": "a", "nextThoughtNeeded": False,
                                               "thoughtNumber": 1, "totalThoughts": 1})])
        self.assertEqual(results[0]["result"]["output"], "hello\n")
        self.assertEqual(self.read("project/b.txt"), b"x")
        self.assertEqual(results[2]["result"]["error_code"], "MCP_TOOL_ERROR")
        self.assertIn('"o"', results[4]["result"]["output"])
        self.assertIn("thoughtNumber", results[5]["result"]["output"])
        self.assert_nothing_runs()

    def test_both_eras(self):
        script = os.path.join(PEERS, "mcp_server.mjs")
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcp_server.mjs"),
                  encoding="utf-8") as source, open(script, "w", encoding="utf-8") as target:
            target.write(source.read())  # modules are looked for beside the script
        entries = {name: {"command": "node", "args": [script, legacy, self.dir], "protocol": protocol}
                   for name, legacy, protocol in (
                       ("dual", "accept", "auto"), ("dual_modern", "accept", "modern"),
                       ("modern", "reject", "auto"), ("forced", "reject", "modern"))}
        results = self.turn(entries, [call for name in entries for call in (
            (f"{name}__greet", {"name": name}), (f"{name}__greet", {"name": 1}))])
        self.assertEqual([r["result"]["output"] for r in results[::2]],
                         [f"Hello {name}" for name in entries])
        for refused in results[1::2]:
            self.assertIn("error_code", json.dumps(refused))
        eras = [self.ikigai("mcp", "show", name, "--json").json()["era"] for name in entries]
        self.assertEqual(eras, ["legacy", "modern", "modern", "modern"])
        self.assert_nothing_runs()
