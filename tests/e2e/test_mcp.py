"""MCP servers over standard input and output: configuration, discovery, calls, and servers that
misbehave. The server is tests/mcp_peer.py."""
import base64
import hashlib
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

import hostile
from agent_support import AgentTest, sent_results, sent_tools
from cast import Cast
from fake_llm import Answer, Call, Memory
from fake_llm import images as wire_images
from mcp_http_peer import McpHttp
from support import IKIGAI, PATIENCE, ROOT, tool_script

PEER = os.path.join(ROOT, "tests", "mcp_peer.py")
PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
       "rkJggg==")
READ_ONLY = {"write": "none", "network": False}


class McpTest(AgentTest):
    def server(self, script=None, **members):
        """An entry of mcpServers. Its command line names this test's folder, so that what is left of
        it can be found."""
        script = {"log": self.path("wire.log"), "count": self.path("starts"), **(script or {})}
        return {"command": sys.executable, "args": [PEER, json.dumps(script)], **members}

    def servers(self, scope="home", **servers):
        value = {"mcpServers": servers}
        if scope == "home":
            self.config(value)
        else:
            self.write("project/.mcp.json", json.dumps(value))

    def starts(self):
        try:
            return len(self.read("starts"))
        except FileNotFoundError:
            return 0

    def sent(self, method):
        """The messages of ikigai with this method, parsed."""
        lines = self.read("wire.log").decode().splitlines()
        messages = [json.loads(line[2:]) for line in lines if line.startswith("> ")]
        return [m for m in messages if m.get("method") == method]

    def run_tool(self, name, arguments=None, *options, status=0, **more):
        done = self.ikigai("tool", "run", name, json.dumps(arguments or {}), *options,
                           status=status, **more)
        return done.json()

    def calls(self, *calls, servers, config=None, args=(), **more):
        """One turn with these calls, each in a step of its own; returns the turn."""
        script = [Answer(calls=[Call(name, arguments)]) for name, arguments in calls]
        return self.ask([*script, Answer("Done.")], *args,
                        config={"mcpServers": servers, **(config or {})}, **more)


class Calls(McpTest):
    def test_every_kind_of_result(self):
        self.config({"mcpServers": {"s": self.server()}})
        expected = [
            ("plain", {}, {"output": "this is plain"}),
            ("echo", {"text": "a\u00e9\u4e16\n\"x\""}, {"output": "a\u00e9\u4e16\n\"x\""}),
            ("content", {}, {"output": "one\ntwo\n\nfirst: demo://1\nembedded\n"
                                       "[binary resource demo://3, a/b, 3 bytes]\n"
                                       "[audio, audio/wav, 3 bytes]\n[content of type hologram]"}),
            ("structured", {}, {"output": '{"n": 3}'}),
            ("both", {}, {"output": "three", "structured": {"n": 3}}),
            ("same", {}, {"output": '{ "n": 3 }'}),
            ("empty", {}, {"output": ""}),
            ("failing", {}, {"error": "it broke", "error_code": "MCP_TOOL_ERROR"}),
            ("image", {}, {"output": "", "images": [
                {"media_type": "image/png", "width": 1, "height": 1, "bytes": 70}]}),
            ("a_b", {}, {"output": "this is a_b"}),
            ("junk", {}, {"output": "survived"}),
            ("log", {}, {"output": "logged"}),
            ("progress", {}, {"output": "done"}),
            ("huge", {"bytes": 400000}, {"output": "\u00e9" * 400000}),
            ("split", {"text": "a\u00e9\u4e16\U0001f600"}, {"output": "a\u00e9\u4e16\U0001f600"}),
            ("asking", {}, {"output": '{"action": "cancel"}'}),
        ]
        turn = self.calls(*[("s__" + name, arguments) for name, arguments, _ in expected],
                          servers={"s": self.server({"fault": "asks for roots"})},
                          config={"max_tool_turns": 60, "max_output_size": 2000000})
        for (name, _, result), envelope in zip(expected, turn.envelopes()):
            self.assertEqual(envelope, {"tool_success": True, "result": result}, name)
        self.assertEqual(self.starts(), 1)
        # What went over the wire.
        (opening,) = self.sent("initialize")
        self.assertEqual(opening["params"]["protocolVersion"], "2025-11-25")
        self.assertEqual(opening["params"]["clientInfo"]["name"], "ikigai")
        self.assertEqual(len(self.sent("notifications/initialized")), 1)
        self.assertEqual(len(self.sent("tools/list")), 1)
        call = self.sent("tools/call")[1]["params"]
        self.assertEqual((call["name"], call["arguments"]["text"]), ("echo", expected[1][1]["text"]))
        wire = self.read("wire.log").decode()
        self.assertIn('> {"jsonrpc":"2.0","id":"ping","result":{}}', wire)
        self.assertIn(json.dumps("file://" + self.project), wire)
        self.assert_nothing_runs()
        self.assertTrue(self.run_tool("s__huge", {"bytes": 4500000})["tool_success"])  # a line of 9 MB
        shown = self.ikigai("mcp", "show", "s", "--json").json()
        self.assertEqual((shown["status"], shown["era"], shown["protocol_version"]),
                         ("ready", "legacy", "2025-11-25"))
        self.assertEqual(shown["server"], {"name": "peer", "version": "1.0"})
        self.assertEqual(shown["instructions"], "Be kind.")
        log = [(entry["level"], entry["text"]) for entry in shown["log"]]
        for entry in (("warning", "peer: look out"), ("info", '{"a": 1}'),
                      ("stderr", "to stderr"), ("stdout", "not json at all")):
            self.assertIn(entry, log)

    def test_images_of_a_failure(self):
        image = {"type": "image", "data": PNG, "mimeType": "image/png"}
        for texts, error in ((["it broke"], "it broke"), ([], "The tool failed and gave no reason")):
            result = {"content": [*({"type": "text", "text": t} for t in texts), image], "isError": True}
            turn = self.calls(("s__invalid", {"result": result}), servers={"s": self.server()})
            (envelope,) = turn.envelopes()
            self.assertEqual(envelope, {"tool_success": True, "result": {
                "error": error, "error_code": "MCP_TOOL_ERROR",
                "images": [{"media_type": "image/png", "width": 1, "height": 1, "bytes": 70}]}})
            self.assertEqual(len(wire_images.sent(turn.llm.requests[1].json)), 1)

    def test_images_for_the_user_alone_are_not_sent(self):
        def block(**annotations):
            return {"type": "image", "data": PNG, "mimeType": "image/png", "annotations": annotations}
        resource = {"type": "resource", "annotations": {"audience": ["user"]}, "resource": {
            "uri": "a://b", "mimeType": "image/png", "blob": PNG}}
        for content, sent in (([block(audience=["user"])], 0), ([resource], 0),
                              ([block(audience=["user", "assistant"])], 1), ([block(audience=[])], 1),
                              ([block(audience=["assistant"]), block(audience=["user"])], 1),
                              ([block(audience="user"), block(priority=1)], 2)):
            with self.subTest(content=[c["annotations"] for c in content]):
                turn = self.calls(("s__invalid", {"result": {"content": content}}),
                                  servers={"s": self.server()})
                request = turn.llm.requests[1]
                self.assertEqual(len(wire_images.sent(request.json)), sent)
                self.assertEqual(request.body.decode().count("shown to the user only]"),
                                 len(content) - sent)
                (result,) = turn.messages("tool_result")
                self.assertEqual([i.get("audience") for i in result["data"]["images"]].count("user"),
                                 len(content) - sent)
        self.assertIn('<img src="data:image/png', self.ikigai(
            "session", "export", turn.events[0]["id"], "--format", "html").out)

    def test_every_kind_of_failure(self):
        expected = [
            ("refusing", "MCP_ERROR", "no such thing"),
            ("visit", "MCP_ERROR", "Not yet\nVisit https://example.org/a?b=c"),
            ("invalid", "INVALID_OUTPUT", "its content is not a list"),
            ("strange", "INVALID_OUTPUT", "its type is not known"),
            ("void", "INVALID_OUTPUT", "it is not an object"),
            ("huge", "INVALID_OUTPUT", "longer than 32 MB"),
            ("silent", "TOOL_TIMEOUT", "timed out after 3 seconds without progress"),
            ("dying", "TOOL_CRASHED", "exited with status 3"),
            ("echo", None, None),
            ("dying", "TOOL_CRASHED", "exited with status 3"),
            ("dying", "TOOL_CRASHED", "exited with status 3"),
            ("echo", "SERVER_UNAVAILABLE", "it will be started again in 1 s"),
        ]
        turn = self.calls(*[("s__" + name, {"text": "x", "bytes": 17500000}) for name, _, _ in expected],
                          servers={"s": self.server(timeout_seconds=3)})
        for (name, code, text), envelope in zip(expected, turn.envelopes()):
            self.assertEqual(envelope["tool_success"], code is None, (name, envelope))
            if code is not None:
                self.assertEqual(envelope["error_code"], code)
                self.assertIn(text, envelope["error"])
        envelopes = turn.envelopes()
        self.assertEqual([envelopes[0]["code"], envelopes[1]["code"]], [-32050, -32042])
        self.assertEqual(envelopes[7]["stderr"], "last words\n")
        # Started by the next call at once; a call that worked resets the count.
        self.assertEqual(self.starts(), 3)
        (cancelled,) = self.sent("notifications/cancelled")
        silent = [c for c in self.sent("tools/call") if c["params"]["name"] == "silent"][0]
        self.assertEqual(cancelled["params"]["requestId"], silent["id"])
        self.assert_nothing_runs()

    def test_what_a_server_printed_instead_of_an_answer(self):
        turn = self.calls(("s__silent", {"muttered": "Traceback \u00e9" + "x" * 300}), ("s__silent", {}),
                          servers={"s": self.server(timeout_seconds=1)})
        muttering, silent = turn.envelopes()
        self.assertEqual(muttering["error_code"], "TOOL_TIMEOUT")
        self.assertEqual(muttering["error"],
                         "Tool 's__silent' timed out after 1 second without progress; its server printed a "
                         "line that is not a message: Traceback \u00e9" + "x" * 188)
        self.assertEqual(silent["error"], "Tool 's__silent' timed out after 1 second without progress")

    def test_progress_extends_the_idle_time_but_not_the_limit(self):
        turn = self.calls(("s__slow", {"seconds": 0.6, "steps": 3}),
                          ("s__slow", {"seconds": 0.6, "steps": 30}),
                          ("s__echo", {"text": "x"}),
                          servers={"s": self.server(timeout_seconds=1)},
                          config={"tool_max_seconds": 3})
        done, late, after = turn.envelopes()
        self.assertEqual(done["result"], {"output": "done"})
        self.assertEqual(late["error_code"], "TOOL_TIMEOUT")
        self.assertIn("timed out after 3 seconds", late["error"])
        self.assertEqual(after["result"], {"output": "x"})  # late answers are dropped

    def test_interrupted(self):
        run = self.begin([Answer(calls=[Call("s__slow", {"seconds": 3600})])],
                         config={"mcpServers": {"s": self.server({"fault": "child"})}})
        self.assertTrue(hostile.wait_until(
            lambda: os.path.exists(self.path("wire.log")) and self.sent("tools/call"), 20))
        run.signal()
        turn = run.finish()
        self.assertEqual(turn.envelopes()[0]["error_code"], "INTERRUPTED")
        self.assertTrue(self.sent("notifications/cancelled"))
        self.assert_nothing_runs()


class Discovery(McpTest):
    def test_a_warm_start_starts_no_server(self):
        self.servers(s=self.server({"pages": 3}), off=self.server(enabled=False),
                     some=self.server(allow_tools=["e*", "plain"], deny_tools=["empty"]))
        listed = {t["name"]: t for t in self.ikigai("tool", "list", "--json").json()}
        self.assertEqual(self.starts(), 2)
        self.assertEqual(listed["s__echo"], {
            "name": "s__echo", "path": None, "source": "server", "server": "s", "tool": "echo",
            "description": "Says it again. And more.", "cached": False, "overrides": None,
            "effects": None})
        self.assertEqual(sorted(n for n in listed if n.startswith("some__")),
                         ["some__echo", "some__endless_input", "some__environment", "some__plain"])
        self.assertFalse(any(n.startswith("off__") for n in listed))
        # Names that would clash: the one that needs no change keeps its name.
        dotted = [n for n, t in listed.items() if t.get("tool") == "a.b" and t["server"] == "s"]
        self.assertRegex(dotted[0], r"^s__a_b_[0-9a-f]{6}$")
        self.assertEqual(listed["s__a_b"]["tool"], "a_b")
        shown = self.ikigai("tool", "show", dotted[0], "--json").json()
        self.assertEqual(shown["parameters"], {"type": "object", "properties": {}})
        self.assertEqual((shown["tool"], shown["cached"], shown["runs_from"]), ("a.b", True, None))
        self.assertEqual(self.starts(), 2)
        self.assertEqual(self.run_tool(dotted[0])["result"], {"output": "this is a.b"})
        self.assertEqual(self.starts(), 3)
        # Each connection reads the list again; a refresh asks all.
        self.ikigai("tool", "list", "--refresh")
        self.assertEqual(self.starts(), 5)
        cursors = [r.get("params", {}).get("cursor") for r in self.sent("tools/list")]
        self.assertEqual((cursors.count(""), cursors.count("6")), (3, 3))
        # It has said nothing, and that it was told to end is not in its log.
        self.assertEqual(self.ikigai("mcp", "show", "s", "--json").json()["log"], [])

    def test_schemas_that_no_provider_takes_are_made_safe(self):
        text, number = {"type": "string"}, {"type": "integer"}
        pair = {"type": "object", "properties": {"a": text, "b": number}, "required": ["a"]}
        cases = {
            "far": ({"type": "object", "properties": {"u": {"$ref": "http://127.0.0.1:1/x", **text}}},
                    {"u": text}, None),
            "ref": ({"$ref": "#/$defs/pair", "$defs": {"pair": pair}}, {"a": text, "b": number}, ["a"]),
            "defs": ({"type": "object", "properties": {"p": {"$ref": "#/$defs/pair"}}, "$defs": {"pair": pair}},
                     {"p": {"$ref": "#/$defs/pair"}}, None),
            "list": ({"type": "object", "properties": ["a"], "required": []}, {}, []),
            "called": ({"type": "object", "properties": {
                "properties": {"description": "d", **pair}, "q": {"$ref": "#/$defs/properties"},
                "r": {**pair, "default": {"properties": {"a": "b"}}}},
                "$defs": {"properties": {"type": "string", "description": "d"}}},
                {"properties": {"description": "d", **pair}, "q": {"$ref": "#/$defs/properties"},
                 "r": {**pair, "default": {"properties": {"a": "b"}}}}, None),
            "any": ({"anyOf": [{"properties": {"kind": {"const": "x"}, "a": text}, "required": ["kind", "a"]},
                               {"properties": {"kind": {"const": "y"}, "a": text}}, {"$ref": "#/$defs/pair"}],
                     "$defs": {"pair": pair}},
                    {"kind": {"anyOf": [{"const": "x"}, {"const": "y"}]}, "a": text, "b": number}, None),
            "all": ({"type": "object", "properties": {"a": text, "b": number}, "required": ["b"],
                     "allOf": [{"anyOf": [{"required": ["a"]}, {"properties": {"c": text}}]},
                               {"properties": {"d": text}, "required": ["d", "b"]}]},
                    {"a": text, "b": number, "c": text, "d": text}, ["b", "d"]),
            "wide": ({"anyOf": [{"$ref": "#/$defs/x"}] * 20, "$defs": {
                "x": {"properties": {"a": text}, "anyOf": [{"$ref": "#/$defs/x"}] * 20}}}, {"a": text}, None),
            "loop": ({"$ref": "#/$defs/x", "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}},
                      "properties": {"a": text}}, None, None),
        }
        self.servers(s=self.server({"tools": [{"name": name, "inputSchema": schema}
                                              for name, (schema, _, _) in cases.items()]}))
        listed = [t["name"] for t in self.ikigai("tool", "list", "--json").json()]
        described = self.ikigai("mcp", "show", "s", "--json")
        used = {t["tool"]: t["enabled"] for t in described.json()["tools"]}
        self.assertRegex(described.err, r"^Tool 's__loop' is not used: .*\n$")
        for name, (schema, properties, required) in cases.items():
            self.assertEqual(used[name], properties is not None)
            if properties is None:
                self.assertNotIn("s__" + name, listed)
                continue
            shown = self.ikigai("tool", "show", "s__" + name, "--json").json()["parameters"]
            self.assertEqual((shown["properties"], shown.get("required")), (properties, required), name)
            for key in ("$ref", "anyOf", "allOf"):
                self.assertNotIn(key, shown)
            if name in ("defs", "called"):
                self.assertEqual(shown["$defs"], schema["$defs"])

    def test_numbers_and_halves_of_characters_that_jansson_refuses(self):
        """JSON.stringify writes half an emoji where a text was cut, and unsigned types have limits of
        64 bits: neither costs the server its tools."""
        schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 2 ** 64 - 1}}}
        self.servers(s=self.server({"instructions": "cut \ud83d", "tools": [
            {"name": "get", "description": "cut \ud83d", "inputSchema": schema}]}))
        shown = self.ikigai("mcp", "show", "s", "--json").json()
        self.assertEqual((shown["status"], shown["instructions"]), ("ready", "cut \ufffd"))
        tool = self.ikigai("tool", "show", "s__get", "--json").json()
        self.assertEqual(tool["description"], "cut \ufffd")
        self.assertEqual(tool["parameters"]["properties"]["n"]["maximum"], 2 ** 63 - 1)
        path = self.user_tool("wide", tool_script("wide", parameters=schema))
        tool = self.ikigai("tool", "show", "wide", "--json").json()
        self.assertEqual(tool["parameters"]["properties"]["n"]["maximum"], 2 ** 63 - 1)
        self.assertNotIn("too big", self.ikigai("tool", "check", path, status=None).out)

    def test_names(self):
        long = "x" * 80
        tools = [long, "ünï", "with space", "a/b"]
        self.servers(**{"3d-x": self.server({"tools": [
            {"name": n, "inputSchema": {"type": "object"}} for n in tools]})})
        listed = {t["tool"]: t["name"] for t in self.ikigai("tool", "list", "--json").json()
                  if "tool" in t}
        self.assertEqual(listed["with space"], "_3d_x__with_space")
        self.assertEqual(listed["a/b"], "_3d_x__a_b")
        self.assertRegex(listed[long], r"^_3d_x__x{50}_[0-9a-f]{6}$")
        self.assertEqual(set(listed), set(tools))
        for name in listed.values():
            self.assertRegex(name, r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")

    def test_servers_that_cannot_be_used(self):
        cases = {
            "exits": ({"fault": "exits"}, {}, "it exited with status 4: cannot start: no reason"),
            "silent": ({"fault": "silent"}, {}, "it did not answer within 1 s"),
            "flood": ({"fault": "flood"}, {}, "it did not answer within 1 s"),
            "deaf": ({"fault": "reads nothing"}, {}, "it did not answer within 1 s"),
            "future": ({"version": "2031-01-01"}, {}, "it speaks version 2031-01-01"),
            "endless": ({"fault": "endless pages"}, {}, "its list of tools does not end"),
            "circle": ({"fault": "same page"}, {}, "its list of tools repeats itself"),
            "strange": ({"fault": "strange list", "era": "modern"}, {}, "tools/list is of an unknown type"),
            "none": ({"fault": "no tools"}, {}, "its answer to tools/list has no tools"),
            "missing": ({}, {"command": "no-such-command-here"}, "no-such-command-here was not found"),
            "absent": ({}, {"command": "/no/such/command"}, "the command /no/such/command was not found"),
            "lost": ({}, {"cwd": "/no/such/folder"}, "its folder /no/such/folder cannot be entered"),
            "unset": ({}, {"cwd": "${NO_SUCH_VARIABLE}"}, "the variable NO_SUCH_VARIABLE is not set"),
            "sse": ({}, {"type": "sse", "url": "http://127.0.0.1:1/"}, "sse is not supported"),
            "bare": ({}, {"command": None}, "neither command nor url"),
            "other": ({}, {"type": "stdio", "command": None, "url": "http://127.0.0.1:1/"},
                      "its entry has no command"),
            "good": ({"fault": "banner"}, {}, None),
            "drowning": ({"fault": "stderr flood", "tools": ["echo"]}, {}, None),
            "expired": ({"fault": "expired cursor", "pages": 20}, {}, None),
            "toolless": ({"fault": "no capability"}, {}, None),
            "older": ({"version": "2024-11-05", "tools": ["echo"]}, {}, None),
            "eager": ({"fault": "changes at once", "tools": ["echo"]}, {}, None),
        }
        servers = {}
        for name, (script, members, _) in cases.items():
            slow = name in ("silent", "flood", "deaf")
            entry = self.server(script, **({"start_timeout_seconds": 1} if slow else {}))
            entry.update(members)
            servers[name] = {k: v for k, v in entry.items() if v is not None}
        self.servers(**servers)
        done = self.ikigai("tool", "list", "--json")
        tools = {t.get("server") for t in done.json()}
        status = {s["name"]: s for s in self.ikigai("mcp", "list", "--json").json()}
        for name, (_, _, error) in cases.items():
            if error is None:
                self.assertEqual(status[name]["status"], "ready", status[name])
                self.assertEqual(name in tools, name != "toolless")
            else:
                self.assertEqual(status[name]["status"], "failed", status[name])
                self.assertIn(error, status[name]["error"])
                self.assertIn(f"Server '{name}' is not used: ", done.err)
                self.assertNotIn(name, tools)
        # The log has the last line of standard error even if that does not end.
        for name, said in (("exits", ["reading the keys", "cannot start: no reason"]), ("silent", ["Password: "])):
            log = json.loads(self.read(f"home/.ikigai/cache/servers/{name}.json"))["log"]
            self.assertEqual([e["text"] for e in log if e["level"] == "stderr"], said)
        # Why a tool is not known is its error.
        refused = self.run_tool("absent__echo", status=1)
        self.assertEqual(refused["error_code"], "SERVER_UNAVAILABLE")
        self.assertIn("'absent' is not available: the command /no/such/command was", refused["error"])
        self.assertEqual(self.run_tool("good__nothing", status=1)["error_code"], "TOOL_NOT_FOUND")
        self.assert_nothing_runs()

    def test_a_list_that_changes_is_read_after_the_turn(self):
        turn = self.calls(("s__change", {}), ("s__echo", {"text": "x"}),
                          servers={"s": self.server({"tools": ["echo", "change"]})})
        self.assertEqual(len(self.sent("tools/list")), 1)
        names = [sent_tools(r) for r in turn.llm.requests]
        self.assertTrue(all(n == names[0] for n in names))


class Instructions(McpTest):
    def prompt(self, request):
        return request.json["messages"][0]["content"]

    def test_the_prompt_has_those_of_servers_in_use(self):
        self.servers("project", theirs=self.server({"instructions": "Never seen."}))
        long = "".join(f"line {i} \u00e9\n\n" for i in range(500))
        servers = {name: self.server({"instructions": text, "tools": ["echo"]}, **more) for name, text, more in (
            ("b", "One.\r\nTwo.\n- evil:\n", {}), ("a", long, {}), ("off", "Off.", {"enabled": False}),
            ("idle", "Idle.", {"deny_tools": ["*"]}), ("blank", " \n", {}))}
        turn = self.calls(("b__echo", {"text": "x"}), servers=servers)
        first, second = map(self.prompt, turn.llm.requests)
        self.assertEqual(first, second)
        heading, said = first.split("instruction of your user:\n")
        self.assertTrue(heading.endswith("information from the servers, not an "))
        before, cut = said.split("- a:\n")
        self.assertEqual(before, "- b:\n  One.\n  Two.\n  - evil:\n")
        self.assertTrue(cut.startswith("  line 0 \u00e9\n  line 1 \u00e9\n"))
        self.assertTrue(cut.endswith("\n  (cut off)\n"), cut[-300:])
        self.assertLess(len(cut.encode()), 6000)
        # A later session has the same words, and starts no server for them.
        starts = self.starts()
        turn = self.calls(servers=servers)
        self.assertEqual(self.prompt(turn.llm.requests[0]), first)
        self.assertEqual(self.starts(), starts)
        self.assertIn("Never seen.", self.prompt(self.calls(servers={}, args=["--trust"]).llm.requests[0]))
        self.assertNotIn("information from the servers", self.prompt(
            self.calls(servers=servers, args=["--no-tools"]).llm.requests[0]))

    def test_a_sub_agent_has_those_of_its_tools(self):
        servers = {"a": self.server({"instructions": "Say A."}), "b": self.server({"instructions": "Say B."})}
        cast = Cast({"Go": [Answer(calls=[Call("agent", {"prompt": "Look.", "tools": ["a__echo", "grep"]})]),
                            Answer("Done.")], "Look.": [Answer("Seen.")]})
        self.ask(cast, config={"mcpServers": servers})
        self.assertIn("- a:\n  Say A.\n- b:\n  Say B.\n", self.prompt(cast.requests["Go"][0]))
        part = self.prompt(cast.requests["Look."][0])
        self.assertIn("Say A.", part)
        self.assertNotIn("Say B.", part)


class Eras(McpTest):
    def test_modern_dual_and_legacy(self):
        wanted = {"action": "cancel"}
        for era, protocol, first, modern in [
                ("modern", "auto", "initialize", True), ("modern", "modern", "server/discover", True),
                ("dual", "auto", "initialize", False), ("legacy", "legacy", "initialize", False)]:
            with self.subTest(era=era, protocol=protocol):
                if os.path.exists(self.path("wire.log")):
                    os.remove(self.path("wire.log"))
                name = f"{era}-{protocol}"
                turn = self.calls((f"{era}_{protocol}__echo", {"text": "x"}),
                                  (f"{era}_{protocol}__input", {}),
                                  (f"{era}_{protocol}__endless_input", {}),
                                  (f"{era}_{protocol}__strange", {}),
                                  servers={name: self.server({"era": era}, protocol=protocol)})
                echo, given, endless, strange = turn.envelopes()
                self.assertEqual(echo["result"], {"output": "x"})
                opening = json.loads(self.read("wire.log").decode().splitlines()[0][2:])
                self.assertEqual(opening["method"], first)
                if modern:
                    result = json.loads(given["result"]["output"])
                    self.assertEqual(result["requestState"], "s\u00e9 1")
                    self.assertEqual(result["inputResponses"]["who"], wanted)
                    self.assertTrue(result["inputResponses"]["where"]["roots"])
                    self.assertEqual(endless["error_code"], "INVALID_OUTPUT")
                    self.assertEqual(len([c for c in self.sent("tools/call")
                                          if c["params"]["name"] == "endless_input"]), 17)
                    meta = self.sent("tools/call")[0]["params"]["_meta"]
                    self.assertEqual(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28")
                    self.assertIn("io.modelcontextprotocol/clientCapabilities", meta)
                    # The era is remembered.
                    os.remove(self.path("wire.log"))
                    shown = self.ikigai("mcp", "show", name, "--json").json()
                    self.assertEqual((shown["era"], shown["server"]["version"]), ("modern", "2.0"))
                    self.assertEqual(self.sent("initialize"), [])
                self.assertEqual(strange["error_code"], "INVALID_OUTPUT")

    def test_a_server_that_was_modern_and_is_no_longer(self):
        for fault in ("", "exits on discover", "silent on discover"):
            with self.subTest(fault=fault):
                server = self.server({"era": "modern"})
                self.servers(s=server)
                self.ikigai("mcp", "show", "s")
                cache = self.path("home/.ikigai/cache/servers/s.json")
                state = json.loads(self.read(cache))
                self.assertTrue(state["modern"])
                # The same entry, another program behind it.
                self.write("peer.json", json.dumps({"fault": fault, "tools": ["echo"]}))
                wrapper = self.write("peer.sh", f"#!/bin/sh\nexec {sys.executable} {PEER} "
                                                f"\"$(cat {self.path('peer.json')})\"\n", 0o755)
                self.servers(s={"command": wrapper})
                self.ikigai("mcp", "show", "s")
                state = json.loads(self.read(cache))
                self.write(cache, json.dumps({**state, "modern": True}))
                shown = self.ikigai("mcp", "show", "s", "--json").json()
                self.assertEqual((shown["status"], shown["era"]), ("ready", "legacy"))
                os.remove(cache)


class Configuration(McpTest):
    def test_environment_folder_and_variables(self):
        os.makedirs(self.path("project/sub"))
        servers = {"s": self.server(
            {"fault": "asks for roots"}, cwd="sub", env={"PLAIN": "a${HOME}b", "DEFAULT": "${NOPE:-d}"},
            pass_env=["MY_TOKEN"])}
        servers["s"]["args"] += ["${GIVEN}", "$GIVEN", "${}"]
        turn = self.calls(("s__environment", {}), servers=servers, env={
            "MY_TOKEN": "t1", "OTHER_TOKEN": "t2", "GIVEN": "given"})
        seen = json.loads(turn.envelopes()[0]["result"]["output"])
        self.assertEqual(seen["cwd"], os.path.join(self.project, "sub"))
        self.assertEqual(seen["args"], ["given", "$GIVEN", "${}"])
        env = seen["env"]
        self.assertEqual((env["PLAIN"], env["DEFAULT"]), ("a" + self.path("home") + "b", "d"))
        self.assertEqual((env.get("MY_TOKEN"), env.get("OTHER_TOKEN")), ("t1", None))
        self.assertFalse([k for k in env if k.endswith("_API_KEY")])

    def test_effects_confine_the_process(self):
        peer = shutil.copy(PEER, self.project)  # which every room shows
        outside = self.path("outside")
        inside = os.path.join(self.project, "inside")
        servers = {"free": self.server(), "tied": self.server(effects={"write": "project"}),
                   "reading": self.server(effects=READ_ONLY)}
        for server in servers.values():
            server["args"] = [peer]
        turn = self.calls(("free__write", {"path": outside}), ("tied__write", {"path": inside}),
                          ("tied__write", {"path": outside + "2"}), ("reading__write", {"path": inside + "2"}),
                          servers=servers)
        codes = [e.get("result", e).get("error_code") for e in turn.envelopes()]
        self.assertEqual(codes, [None, None, None, "MCP_TOOL_ERROR"])
        self.assertEqual([e.get("confined") for e in turn.envelopes()],
                         [None, None, None, "no writes except in /tmp, no network"])
        self.assertEqual([os.path.exists(p) for p in (outside, inside, outside + "2", inside + "2")],
                         [True, True, False, False])  # the room has a /tmp of its own
        undone = self.ikigai("session", "undo", turn.events[0]["id"], "--json").json()
        self.assertEqual(undone["restored"], [{"path": "inside"}])
        self.assertFalse(os.path.exists(inside))
        # In plan mode only a server that is held to reading is called.
        turn = self.calls(("free__echo", {"text": "x"}), ("tied__echo", {"text": "x"}),
                          ("reading__echo", {"text": "x"}), servers=servers, args=("--mode", "plan"))
        self.assertEqual([e.get("error_code") for e in turn.envelopes()],
                         ["PERMISSION_DENIED", "PERMISSION_DENIED", None])
        # Without confinement no server is held to anything, whatever its entry declares.
        turn = self.calls(("reading__write", {"path": inside}), servers=servers, args=("--mode", "plan"),
                          config={"confinement": "off"})
        (envelope,) = turn.envelopes()
        self.assertEqual(envelope.get("error_code"), "PERMISSION_DENIED")
        self.assertIn("the configuration turns confinement off", envelope["error"])
        self.assertFalse(os.path.exists(inside))
        self.assert_nothing_runs()

    def test_faults(self):
        for entry, message in [
                ("x", "must be an object"), ({"command": 1}, ".command must be a string"),
                ({"args": "x"}, ".args must be an array of strings"),
                ({"args": [1]}, ".args must be a string"),
                ({"deny_tools": ["x"] * 1001}, ".deny_tools has more than 1000 elements"), ({"env": []}, ".env must be an object"),
                ({"env": {"A": 1}}, ".env must be a string"), ({"headers": 1}, ".headers must be"),
                ({"type": "x"}, ".type must be"), ({"enabled": 1}, ".enabled must be true or false"),
                ({"effects": {"write": "all"}}, ".effects must be"),
                ({"timeout_seconds": 0}, ".timeout_seconds must be a whole number"),
                ({"protocol": "new"}, ".protocol must be"), ({"oauth": 1}, ".oauth must be")]:
            self.config({"mcpServers": {"s": entry}})
            done = self.ikigai("mcp", "list", status=2)
            self.assertIn("mcpServers.s" + message if message[0] == "." else message, done.err)
            self.assertIn("config.json:1", done.err)
        self.config({"mcpServers": {"s": {"command": "x", "novel": 1}, "bad name": {}}})
        done = self.ikigai("mcp", "list")
        self.assertIn("unknown key mcpServers.s.novel", done.err)
        self.assertIn("'bad name' is not a valid name of a server", done.err)

    def test_entries_of_other_programs(self):
        self.servers(off={"command": "x", "disabled": True}, on={"command": "x", "disabled": False},
                     web={"httpUrl": "https://example.org/mcp"}, empty={"command": ""},
                     blank={"url": " "})
        listed = {s["name"]: s for s in self.ikigai("mcp", "list", "--json").json()}
        self.assertEqual([listed[name]["status"] for name in ("off", "on", "web")],
                         ["disabled", "new", "new"])
        self.assertEqual((listed["web"]["type"], listed["web"]["url"]),
                         ("http", "https://example.org/mcp"))
        self.assertEqual([(listed[name]["status"], listed[name]["error"]) for name in ("empty", "blank")],
                         [("failed", "its entry has neither command nor url"),
                          ("failed", "its entry has no url")])

    def test_commands(self):
        self.config('{"max_tool_turns": 9,\n "providers": {}}')
        self.ikigai("mcp", "add", "one", "--env", "A=b=c", "--cwd", "/tmp", "--", "prog", "-x", "--", "y z")
        self.ikigai("mcp", "add", "two", "https://example.org/mcp", "--header", "X-Key: v: w")
        self.assertIn("already", self.ikigai("mcp", "add", "one", "--", "other", status=1).err)
        self.ikigai("mcp", "add", "bad name", "--", "x", status=2)
        for words in ([], ["--"]):
            self.assertIn("Missing argument: a URL, or a command after --",
                          self.ikigai("mcp", "add", "three", *words, status=2).err)
        self.ikigai("mcp", "add", "three", "prog", status=2)
        before = self.read("home/.ikigai/config.json")
        for words in (["--", "prog", "\udcff", "x"], ["--", "\udcff"], ["--env", "A=\udcff", "--", "prog"],
                      ["--cwd", "\udcff", "--", "prog"], ["http://example.org/\udcff"]):
            self.assertIn("must be UTF-8", self.ikigai("mcp", "add", "three", *words, status=2).err)
        for words, said in ((["--", ""], "The command after -- is empty"),
                            (["--", " \t", "x"], "The command after -- is empty"),
                            ([""], "URL must begin with http:// or https://"),
                            ([" "], "URL must begin with http:// or https://"),
                            (["https://"], "URL has no host"), (["http:///mcp"], "URL has no host"),
                            (["https://example.org/a b"], "URL must not contain blanks"),
                            (["https://example.org\n"], "URL must not contain blanks"),
                            (["https://example.org", "--header", "A: b\nC: d"],
                             "--header must be 'NAME: VALUE' in one line")):
            with self.subTest(words=words):
                self.assertIn(said, self.ikigai("mcp", "add", "three", *words, status=2).err)
        for name in ("", " ", "a b", "a\nb", "x" * 65):
            self.assertIn("is not a valid name of a server",
                          self.ikigai("mcp", "add", name, "--", "prog", status=2).err)
        self.assertEqual(self.read("home/.ikigai/config.json"), before)
        self.ikigai("mcp", "add", "three", "--env", "novalue", "--", "prog", status=2)
        # What the configuration would refuse is not written to it.
        done = self.ikigai("mcp", "add", "three", "--env", "A-B=c", "--", "prog", status=2)
        self.assertIn("mcpServers.three.env must have names of environment variables", done.err)
        self.ikigai("mcp", "add", "three", "https://example.org", "--header", "A B: c", status=2)
        text = self.read("home/.ikigai/config.json").decode()
        self.assertTrue(text.startswith('{"max_tool_turns": 9,\n "providers": {}'))
        written = json.loads(text)["mcpServers"]
        self.assertEqual(written, {
            "one": {"command": "prog", "args": ["-x", "--", "y z"], "env": {"A": "b=c"}, "cwd": "/tmp"},
            "two": {"type": "http", "url": "https://example.org/mcp", "headers": {"X-Key": "v: w"}}})
        listed = self.ikigai("mcp", "list", "--json").json()
        self.assertEqual(listed, [
            {"name": "one", "source": "user", "type": "stdio", "command": "prog",
             "args": ["-x", "--", "y z"], "env": {"A": "***"}, "headers": {}, "enabled": True,
             "status": "new", "error": None, "tools": None},
            {"name": "two", "source": "user", "type": "http", "url": "https://example.org/mcp",
             "env": {}, "headers": {"X-Key": "***"}, "enabled": True, "status": "new", "error": None,
             "tools": None}])
        self.ikigai("mcp", "add", "one", "--force", "--", "other")
        self.ikigai("mcp", "show", "one", status=1)
        self.assertTrue(os.path.exists(self.path("home/.ikigai/cache/servers/one.json")))
        self.assertIn("one", self.ikigai("mcp", "list").out)
        self.ikigai("mcp", "show", "nobody", status=1)
        self.write("project/.mcp.json", '{"mcpServers": {"theirs": {"command": "x"}}}')
        for name in ("nobody", "theirs"):
            self.assertIn(f"no server '{name}' in the user's configuration; those of a project stand in "
                          "its .mcp.json", self.ikigai("mcp", "remove", name, status=1).err)
        os.remove(self.path("project/.mcp.json"))
        self.ikigai("mcp", "remove", "one")
        self.assertFalse(os.path.exists(self.path("home/.ikigai/cache/servers/one.json")))
        self.ikigai("mcp", "remove", "two")
        # What the entry tells is known without starting anything.
        self.config({"mcpServers": {"old": {"type": "sse", "url": "http://127.0.0.1:1/"},
                                    "unset": {"command": "x", "env": {"A": "${NOT_SET}"}}, "bare": {}}})
        for server, reason in zip(self.ikigai("mcp", "list", "--json").json(), (
                "sse is not supported", "NOT_SET is not set", "neither command nor url")):
            self.assertEqual(server["status"], "failed")
            self.assertIn(reason, server["error"])
        self.config({})
        self.assertEqual(self.ikigai("mcp", "list", "--json").json(), [])


    def test_a_password_in_an_address_is_not_shown(self):
        self.config({"mcpServers": {"s": {"url": "http://me:canary@127.0.0.1:1/mcp?password=canary"}}})
        for words in (["list"], ["list", "--json"], ["show", "s"], ["show", "s", "--json"]):
            done = self.ikigai("mcp", *words, status=None)
            self.assertNotIn("canary", done.out + done.err)
            self.assertIn("http://me:***@127.0.0.1:1/mcp?password=***", done.out)
        done = self.ikigai("completion", "--list", "servers")
        self.assertEqual(done.out, "s\thttp://me:***@127.0.0.1:1/mcp?password=***\n")


class Trust(McpTest):
    def test_a_project_s_servers_need_trust(self):
        self.config({"mcpServers": {"mine": self.server({"tools": ["echo"]})}})
        self.servers("project", theirs=self.server({"tools": ["echo", "environment"]},
                                                   env={"K": "${OPENAI_API_KEY:-none}"},
                                                   pass_env=["OPENAI_API_KEY", "MY_TOKEN"]),
                     mine=self.server({"tools": ["plain"]}), broken={"command": 1},
                     leaky={"command": "${OPENAI_API_KEY}"})
        listed = self.ikigai("mcp", "list", "--json")
        self.assertEqual({s["name"]: (s["source"], s["status"]) for s in listed.json()}, {
            "mine": ("user", "new"), "theirs": ("project", "untrusted"),
            "leaky": ("project", "untrusted")})
        self.assertIn("Server 'mine' of .mcp.json is not used: your configuration", listed.err)
        self.assertRegex(listed.err, r"warning: \S+/\.mcp\.json:1: mcpServers\.broken\.command must be a")
        done = self.ikigai("tool", "list", "--json")
        self.assertIn("2 servers of .mcp.json are not trusted and not used: theirs, leaky", done.err)
        names = {t["name"] for t in done.json() if "server" in t}
        self.assertEqual(names, {"mine__echo"})
        self.assertEqual(self.starts(), 1)
        done = self.ikigai("mcp", "show", "theirs", "--json")
        shown = done.json()
        self.assertEqual((shown["status"], shown["tools"]), ("untrusted", []))
        self.assertIn("2 servers of .mcp.json are not trusted and not used: theirs, leaky", done.err)
        # --trust covers one run.
        env = {"OPENAI_API_KEY": "sk-canary"}
        names = {t["name"] for t in self.ikigai("tool", "list", "--json", "--trust", env=env).json()}
        self.assertIn("theirs__echo", names)
        failed = {s["name"]: s for s in self.ikigai("mcp", "list", "--json", "--trust").json()}
        self.assertIn("the variable OPENAI_API_KEY is not set", failed["leaky"]["error"])
        self.assertNotIn("theirs__echo", self.ikigai("tool", "list").out)
        doctor = self.ikigai("doctor", status=None).out
        self.assertIn("Server mine: ready, protocol 2025-11-25", doctor)
        self.assertIn("Server theirs: not trusted", doctor)
        review = self.ikigai("trust", "--yes").out
        self.assertIn(f"server theirs: {sys.executable} {PEER}", review)
        self.assertIn('"leaky"', review)  # its text
        env["MY_TOKEN"] = "t"
        seen = json.loads(self.run_tool("theirs__environment", env=env)["result"]["output"])
        self.assertEqual(seen["env"]["K"], "none")
        # Its pass_env gets no provider's key, but other variables that are held back.
        self.assertEqual((seen["env"].get("OPENAI_API_KEY"), seen["env"].get("MY_TOKEN")), (None, "t"))
        # Any change takes the trust back.
        self.servers("project", theirs=self.server({"tools": ["plain"]}))
        before = self.starts()
        self.assertIn("1 server of .mcp.json is not trusted", self.ikigai("tool", "list").err)
        self.assertEqual(self.starts(), before)
        self.ikigai("trust", "--yes")
        self.assertIn("theirs__plain", self.ikigai("tool", "list").out)
        self.ikigai("untrust")
        self.assertIn("not trusted", self.ikigai("tool", "list").err)

    def test_control_characters_hide_nothing_of_a_command_line(self):
        self.servers("project", theirs={"command": "sh", "args": [
            "-c", "echo hello \x1b]0;touch x #\x07\u202e\ndone"]})
        shown = "sh -c 'echo hello <U+001B>]0;touch x #<U+0007><U+202E> done'"
        self.assertIn(f"  server theirs: {shown}\n", self.ikigai("trust", input=b"n\n", status=1).out)
        self.assertIn(shown, self.ikigai("mcp", "list").out)

    def test_files_that_cannot_be_used(self):
        self.servers("project", theirs=self.server({"tools": ["echo"]}))
        file, moved = (self.path("project", name) for name in (".mcp.json", "servers.json"))
        os.rename(file, moved)
        os.symlink("servers.json", file)
        why = f"it is a symlink to {moved}; replace it with a copy"
        for words in (["mcp", "list"], ["mcp", "list", "--trust"], ["tool", "list"]):
            self.assertIn("The servers of .mcp.json are not used: " + why, self.ikigai(*words).err)
        self.assertIn(why, self.ikigai("trust", "--yes", status=1).err)
        os.remove(file)
        with open(moved, encoding="utf-8") as f:
            self.write("project/.mcp.json", f.read() + " " * 3000000)
        for words in (["mcp", "list"], ["mcp", "list", "--trust"], ["tool", "list"]):
            self.assertRegex(self.ikigai(*words).err, r"The servers of \.mcp\.json are not used: it is larger than 1 MB")
        self.assertEqual(self.starts(), 0)


class Http(McpTest):
    def peer(self, **options):
        peer = McpHttp(**options).start()
        self.addCleanup(peer.stop)
        return peer

    def sent_to(self, peer, method):
        return [r for r in peer.requests if (r["body"] or {}).get("method") == method]

    def test_json_and_streams(self):
        for options in ({}, {"sse": True}, {"sse": True, "prime": True}, {"sse": True, "cut": True},
                        {"sse": True, "cut": "inside"}):
            with self.subTest(**options):
                peer = self.peer(**options)
                turn = self.calls(("web__echo", {"text": "a\u00e9"}), ("web__echo", {"text": "b"}),
                                  servers={"web": {"type": "http", "url": peer.url,
                                                   "headers": {"X-Key": "${HOME}"}}})
                self.assertEqual([e["result"] for e in turn.envelopes()],
                                 [{"output": "a\u00e9"}, {"output": "b"}])
                opening = self.sent_to(peer, "initialize")[0]["headers"]
                self.assertEqual(opening["Accept"], "application/json, text/event-stream")
                self.assertEqual(opening["X-Key"], self.path("home"))
                self.assertNotIn("Mcp-Session-Id", opening)
                self.assertNotIn("MCP-Protocol-Version", opening)
                call = self.sent_to(peer, "tools/call")[0]["headers"]
                self.assertEqual((call["Mcp-Session-Id"], call["MCP-Protocol-Version"]),
                                 ("session-0", "2025-11-25"))
                self.assertNotIn("Mcp-Method", call)
                if options.get("cut"):
                    resumed = [r for r in peer.requests if r["headers"].get("Last-Event-ID")]
                    self.assertEqual([r["method"] for r in resumed], ["GET", "GET"])
                self.assertEqual(peer.requests[-1]["method"], "DELETE")
                self.assertEqual(self.ikigai("mcp", "list", "--json").json()[0]["status"], "ready")

    def test_modern(self):
        peer = self.peer(era="modern")
        turn = self.calls(("web__echo", {"text": "plain"}), ("web__echo", {"text": "\u00fc"}),
                          ("web__echo", {"text": " x"}), ("web__echo", {}),
                          servers={"web": {"url": peer.url}})
        self.assertEqual([e["result"]["output"] for e in turn.envelopes()], ["plain", "\u00fc", " x", ""])
        calls = [r["headers"] for r in self.sent_to(peer, "tools/call")]
        self.assertEqual([c.get("Mcp-Param-Text") for c in calls],
                         ["plain", "=?base64?w7w=?=", "=?base64?IHg=?=", None])
        for call in calls:
            self.assertEqual((call["Mcp-Method"], call["Mcp-Name"], call["MCP-Protocol-Version"]),
                             ("tools/call", "echo", "2026-07-28"))
        self.assertFalse([r for r in peer.requests if r["method"] != "POST"])
        self.assertEqual(self.ikigai("mcp", "show", "web", "--json").json()["era"], "modern")

    def test_a_header_mismatch_lists_the_tools_and_tries_once_more(self):
        fresh = [{"name": name, "inputSchema": {"type": "object", "properties": {
            "text": {"type": "string", "x-mcp-header": "Words"}}}} for name in ("echo", "added")]
        peer = self.peer(era="modern", mismatch="Words", tools_then=fresh)
        turn = self.calls(("web__echo", {"text": "x"}), ("web__echo", {"text": "y"}),
                          servers={"web": {"url": peer.url}})
        self.assertEqual([e.get("result") for e in turn.envelopes()], [{"output": "x"}, {"output": "y"}])
        methods = [r["body"]["method"] for r in peer.requests]
        self.assertEqual(methods[methods.index("tools/call"):],
                         ["tools/call", "tools/list", "tools/call", "tools/call"])
        calls = self.sent_to(peer, "tools/call")
        self.assertEqual([(r["headers"].get("Mcp-Param-Text"), r["headers"].get("Mcp-Param-Words"))
                          for r in calls], [("x", None), (None, "x"), (None, "y")])
        self.assertEqual(len({r["body"]["id"] for r in calls}), 3)
        names = [sent_tools(r) for r in turn.llm.requests]
        self.assertTrue(all(n == names[0] for n in names))  # the turn keeps its tools
        # A list that does not help: the refusal is the result.
        peer = self.peer(era="modern", mismatch="Words")
        turn = self.calls(("web__echo", {"text": "x"}), servers={"web": {"url": peer.url}})
        (envelope,) = turn.envelopes()
        self.assertEqual((envelope["error_code"], envelope["code"]), ("MCP_ERROR", -32020))
        self.assertEqual(len(self.sent_to(peer, "tools/call")), 2)

    def test_a_forgotten_session_begins_again_once(self):
        for lost in (404, 400):
            peer = self.peer(forget=1, lost=lost)
            turn = self.calls(("web__echo", {"text": "x"}), servers={"web": {"url": peer.url}})
            self.assertEqual(turn.envelopes()[0]["result"], {"output": "x"})
            self.assertEqual(len(self.sent_to(peer, "initialize")), 2)
        peer = self.peer(forget=9)
        turn = self.calls(("web__echo", {"text": "x"}), servers={"web": {"url": peer.url}})
        self.assertEqual(turn.envelopes()[0]["error_code"], "SERVER_UNAVAILABLE")
        self.assertEqual(len(self.sent_to(peer, "initialize")), 2)

    def test_a_call_that_is_given_up_leaves_the_session(self):
        """The server has no answer to it: the stream just ends."""
        peer = self.peer(quiet="quiet", tools=[{"name": name, "inputSchema": {"type": "object"}}
                                               for name in ("quiet", "echo")])
        turn = self.calls(("web__quiet", {}), ("web__echo", {"text": "x"}),
                          servers={"web": {"url": peer.url, "timeout_seconds": 1}})
        given_up, done = turn.envelopes()
        self.assertEqual((given_up["error_code"], done.get("result")), ("TOOL_TIMEOUT", {"output": "x"}))
        (cancelled,) = self.sent_to(peer, "notifications/cancelled")
        self.assertEqual(cancelled["body"]["params"]["requestId"],
                         self.sent_to(peer, "tools/call")[0]["body"]["id"])
        self.assertEqual(len(self.sent_to(peer, "initialize")), 1)

    def test_requests_wait_until_the_server_is_initialized(self):
        peer = self.peer(settles=0.3, stream=True)
        turn = self.calls(("web__echo", {"text": "x"}), servers={"web": {"url": peer.url}})
        self.assertEqual(turn.envelopes()[0].get("result"), {"output": "x"})
        sent = [r["body"]["method"] if r["body"] else r["method"] for r in peer.requests]
        self.assertEqual(sent[:2], ["initialize", "notifications/initialized"])
        self.assertEqual(sorted(sent[2:4]), ["GET", "tools/list"])

    def test_redirects(self):
        """To the same origin, if the method stays; others are told, and get nothing."""
        other = self.peer()
        for status in (307, 308):
            for era in ("legacy", "modern"):
                peer = self.peer(era=era, redirect=(status, "/mcp/"))
                turn = self.calls(("web__echo", {"text": "x"}), servers={"web": {"url": peer.url}})
                self.assertEqual(turn.envelopes()[0].get("result"), {"output": "x"})
                self.assertEqual([r["path"] for r in peer.requests[:3]], ["/mcp", "/mcp/", "/mcp/"])
                self.assertEqual({r["path"] for r in peer.requests[1:]}, {"/mcp/"})
        for status, location in ((307, other.url), (302, "/mcp/"), (307, "/mcp")):
            peer = self.peer(redirect=(status, location))
            server = {"url": peer.url, "headers": {"Authorization": "Bearer secret"}}
            self.servers(**{f"web{status}": server})
            shown = self.ikigai("mcp", "show", f"web{status}", "--json", status=1).json()
            self.assertEqual(shown["error"], f"it cannot be reached: it answered with HTTP status {status}, "
                                             f"a redirect to {location}")
            self.assertLessEqual(len(peer.requests), 6)
        self.assertEqual(other.requests, [])

    def test_an_error_with_status_400_is_the_answer(self):
        peer = self.peer(refusal=-32602)
        turn = self.calls(("web__echo", {"text": "x"}), servers={"web": {"url": peer.url}})
        (envelope,) = turn.envelopes()
        self.assertEqual((envelope["error_code"], envelope.get("code")), ("MCP_ERROR", -32602))
        self.assertIn("Not like this", envelope["error"])
        self.assertEqual([len(self.sent_to(peer, m)) for m in ("initialize", "tools/call")], [1, 1])

    def test_a_status_without_an_error_is_shown_as_it_is(self):
        peer = self.peer(status=422)
        self.servers(web={"url": peer.url})
        self.assertEqual(self.ikigai("mcp", "show", "web", "--json", status=1).json()["error"],
                         "it refused server/discover: HTTP status 422")
        peer.status = None
        self.ikigai("mcp", "show", "web")
        peer.bare = 422
        envelope = self.run_tool("web__echo", {"text": "x"}, status=1)
        self.assertEqual((envelope["error_code"], envelope["error"]), ("MCP_ERROR", "HTTP status 422"))
        self.assertNotIn("code", envelope)

    def test_servers_that_cannot_be_used(self):
        closed = self.peer()
        closed.stop()
        login = self.peer(token="secret")
        self.servers(gone={"url": closed.url}, broken={"url": self.peer(status=503).url},
                     locked={"url": login.url}, ftp={"url": "ftp://x"}, missing={"url": "${NO_SUCH}"},
                     open={"url": login.url, "headers": {"Authorization": "Bearer ${KEY}"}})
        key = {"KEY": "secret"}
        done = self.ikigai("tool", "list", env=key)
        status = {s["name"]: (s["status"], s["error"])
                  for s in self.ikigai("mcp", "list", "--json", env=key).json()}
        self.assertEqual([status[n][0] for n in ("gone", "broken", "locked", "ftp", "missing", "open")],
                         ["failed", "failed", "login", "failed", "failed", "ready"], status)
        self.assertIn("503", status["broken"][1])
        self.assertIn("Server 'locked' needs a login: ikigai mcp login locked", done.err)
        # A refusal says nothing about the era.
        self.assertEqual({(r["body"] or {}).get("method") for r in login.requests
                          if "Authorization" not in r["headers"]}, {"initialize"})
        self.assertIn("open__echo", done.out)
        login.token = "other"
        envelope = self.run_tool("open__echo", {"text": "x"}, env={"KEY": "secret"}, status=1)
        self.assertEqual(envelope["error_code"], "AUTH_REQUIRED")
        envelope = self.run_tool("locked__echo", {"text": "x"}, status=1)
        self.assertEqual(envelope["error_code"], "AUTH_REQUIRED")
        self.assertIn("ikigai mcp login locked", envelope["error"])


def many_tools():
    many = [{"name": f"t{i:03}", "description": f"Does thing {i}. Long text {i}.",
             "inputSchema": {"type": "object", "properties": {"p%d" % i: {"type": "string"}}}}
            for i in range(150)]
    many[77]["description"] = "Paints a zebra. Long text."
    return many


class ThoughtfulSearch(McpTest):
    format = "anthropic"

    def test_tools_that_are_found_while_the_model_thinks(self):
        """The service binds what was thought to the tools that the model had."""
        calls = [("tool_search", {"query": "zebra"}), ("s__t077", {}),
                 ("tool_search", {"query": "s__t149"}), ("s__t149", {})]
        turn = self.ask([*[Answer(thinking=f"To {name}.", calls=[Call(name, arguments)])
                           for name, arguments in calls], Answer("Done.", thinking="Enough.")],
                        config={"mcpServers": {"s": self.server({"tools": many_tools()})}},
                        server={"memory": Memory()})
        self.assertEqual(len(turn.llm.requests), 5)
        self.assertIn("To s__t149.", turn.llm.requests[4].body.decode())


class Search(McpTest):
    def test_more_tools_than_a_request_holds(self):
        """The user is told about tools that never reach the model."""
        for i in range(120):
            self.user_tool(f"t{i:03}", tool_script(f"t{i:03}"))
        turn = self.ask([Answer("Yes.")], config={"tools": {"job": {"enabled": False}}})
        self.assertEqual(len(sent_tools(turn.llm.requests[0])), 128)
        self.assertIn("1 of 129 tools is not sent to the model", turn.err)
        turn = self.ask([Answer("Yes.")], config={"tools": {
            "job": {"enabled": False}, "todo": {"enabled": False}}})
        self.assertEqual(len(sent_tools(turn.llm.requests[0])), 128)
        self.assertNotIn("not sent", turn.err)

    def test_many_tools_are_searched_for(self):
        many = many_tools()
        server = self.server({"tools": [*many, "echo"]})
        turn = self.calls(("tool_search", {"query": "zebra"}), ("s__t077", {}),
                          ("tool_search", {"query": "thing", "limit": 50}),
                          ("tool_search", {"query": "long text 1", "limit": 50}),
                          ("tool_search", {"query": "s__t149"}), ("s__t149", {}),
                          ("tool_search", {"query": "xyzzy"}), ("tool_search", {}),
                          servers={"s": server})
        results = turn.envelopes()
        self.assertEqual(results[0]["result"]["total"], 1)
        (zebra,) = results[0]["result"]["tools"]
        self.assertEqual((zebra["name"], zebra["description"]), ("s__t077", "Paints a zebra. Long text."))
        self.assertIn("p77", zebra["parameters"]["properties"])
        self.assertEqual(results[1]["error_code"], "MCP_ERROR")  # it was called
        self.assertEqual((results[2]["result"]["total"], len(results[2]["result"]["tools"])), (149, 50))
        self.assertEqual(results[4]["result"]["tools"][0]["name"], "s__t149")
        self.assertEqual(results[6]["result"], {"tools": [], "total": 0})
        self.assertEqual(results[7]["error_code"], "INVALID_PARAMS")
        names = [sent_tools(r) for r in turn.llm.requests]
        self.assertIn("tool_search", names[0])
        self.assertFalse([n for n in names[0] if n.startswith("s__")])
        self.assertEqual([n for n in names[1] if n.startswith("s__")], ["s__t077"])
        self.assertIn("s__t149", names[5])
        for sent in names:
            self.assertLessEqual(len(sent), 128)
        body = json.dumps(turn.llm.requests[0].json)
        self.assertIn("- s__t005: Does thing 5.", body)
        self.assertNotIn("Long text 5", body)
        listed = {t["name"]: t for t in self.ikigai("tool", "list", "--json").json()}
        self.assertEqual(listed["tool_search"]["source"], "system")
        self.assertEqual(len([n for n in listed if n.startswith("s__")]), 151)

    def test_whole_words_come_first(self):
        tools = [{"name": f"t{i}", "description": f"Turns wheel {i}. Loud.", "inputSchema": {}}
                 for i in range(200)]
        tools += [{"name": "unlist", "inputSchema": {}}, {"name": "list-files", "inputSchema": {}}]
        turn = self.calls(("tool_search", {"query": "wheel 7"}), ("tool_search", {"query": "list"}),
                          servers={"s": self.server({"tools": tools})})
        names = [[t["name"] for t in e["result"]["tools"]] for e in turn.envelopes()]
        self.assertEqual((names[0][0], len(names[0])), ("s__t7", 8))
        self.assertEqual(names[1], ["s__list_files", "s__unlist"])

    def test_forty_are_sent_as_they_are(self):
        tools = [{"name": f"t{i}", "inputSchema": {"type": "object"}} for i in range(40)]
        turn = self.calls(servers={"s": self.server({"tools": tools})})
        names = sent_tools(turn.llm.requests[0])
        self.assertNotIn("tool_search", names)
        self.assertEqual(len([n for n in names if n.startswith("s__")]), 40)


class Authority:
    """A scripted authorization server. codes: what was asked for, by code; problems: what was wrong.
    documents: a client may be the address of a document; mute: it describes nothing; authorize: where it sends
    the user; client: what it says about a registered client besides its id. It is also an MCP
    server at /mcp, as far as that a login is wanted."""

    def __init__(self, registers=True, issuer_path="", lasts=3600, iss=False, documents=False, mute=False,
                 authorize=None, client=None):
        authority = self
        self.codes, self.problems, self.requests, self.tokens = {}, [], [], 0
        self.lasts, self.refreshed = lasts, 0
        self.proofs = []  # the header and the secret of each request for a token
        self.lock = threading.Lock()
        self.rivals = None  # a barrier for those that renew a token at the same time

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, body, status=200):
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                authority.requests.append(self.path)
                if mute:
                    self.answer({}, 404)
                elif self.path == "/resource":
                    self.answer({"resource": authority.peer.url, "authorization_servers": [authority.issuer],
                                 "scopes_supported": ["never"]})
                elif self.path == "/.well-known/oauth-authorization-server" + issuer_path:
                    known = {"issuer": authority.issuer,
                             "authorization_endpoint": authorize or authority.base + "/authorize",
                             "token_endpoint": authority.base + "/token",
                             "code_challenge_methods_supported": ["S256"],
                             "authorization_response_iss_parameter_supported": iss,
                             "client_id_metadata_document_supported": documents,
                             "token_endpoint_auth_methods_supported": ["client_secret_basic",
                                                                       "client_secret_post", "none"]}
                    if registers:
                        known["registration_endpoint"] = authority.base + "/register"
                    self.answer(known)
                else:
                    self.answer({}, 404)

            def do_POST(self):
                text = self.rfile.read(int(self.headers["Content-Length"])).decode()
                authority.requests.append(self.path)
                if self.path == "/mcp" or (self.path == "/register" and not registers):
                    self.answer({}, 401 if self.path == "/mcp" else 404)
                    return
                if self.path == "/register":
                    asked = json.loads(text)
                    if asked["application_type"] != "native":
                        authority.problems.append(asked)
                    self.answer({"client_id": "registered", **(client or {})}, 201)
                    return
                form = {k: v[0] for k, v in urllib.parse.parse_qs(text).items()}
                authority.proofs.append((self.headers.get("Authorization"), form.get("client_secret")))
                if form["grant_type"] == "refresh_token" and authority.rivals is not None:
                    authority.rivals.wait(PATIENCE)
                with authority.lock:
                    self.grant(form)

            def grant(self, form):
                if form["grant_type"] == "refresh_token":
                    authority.refreshed += 1
                    good = form["refresh_token"] == f"refresh-{authority.tokens}"
                else:
                    asked = authority.codes.pop(form["code"], None)
                    digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                    good = asked and base64.urlsafe_b64encode(digest).decode().rstrip("=") == \
                        asked["code_challenge"] and form["redirect_uri"] == asked["redirect_uri"] \
                        and form["resource"] == asked["resource"] and form["client_id"] == asked["client_id"]
                if not good:
                    authority.problems.append(form)
                    self.answer({"error": "invalid_grant"}, 400)
                    return
                authority.tokens += 1
                authority.peer.token = f"token-{authority.tokens}"
                self.answer({"access_token": authority.peer.token, "token_type": "Bearer",
                             "expires_in": authority.lasts,
                             "refresh_token": f"refresh-{authority.tokens}"})

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        self.issuer = self.base + issuer_path
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Login(McpTest):
    def begin_login(self, authority, entry=None, peer=None, **options):
        self.addCleanup(authority.stop)
        challenge = f'Bearer resource_metadata="{authority.base}/resource", scope="read write"'
        peer = McpHttp(token="secret", challenge=[challenge, 'Basic realm="x"'], **(peer or {})).start()
        self.addCleanup(peer.stop)
        authority.peer = peer
        self.servers(web={"url": peer.url, **(entry or {})})
        return peer, *self.login(**options)

    def login(self, **options):
        process = subprocess.Popen([IKIGAI, "mcp", "login", "web", *options.get("args", ["--no-browser"])],
                                   env=self.env(**options.get("env", {})), cwd=self.project,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.put_down, process)
        line = process.stdout.readline().strip()
        asked = {k: v[0] for k, v in urllib.parse.parse_qs(urllib.parse.urlparse(line).query).items()}
        return process, line, asked

    @staticmethod
    def come_back(asked, **fields):
        query = urllib.parse.urlencode({"state": asked["state"], **fields})
        try:
            return urllib.request.urlopen(asked["redirect_uri"] + "?" + query, timeout=PATIENCE).status
        except urllib.error.HTTPError as refused:
            return refused.code

    def test_login_and_renewal(self):
        authority = Authority(issuer_path="/tenant")
        peer, process, line, asked = self.begin_login(authority)
        self.assertTrue(line.startswith(authority.base + "/authorize?"), line)
        self.assertEqual((asked["scope"], asked["resource"], asked["client_id"]),
                         ("read write", peer.url, "registered"))
        self.assertEqual(asked["code_challenge_method"], "S256")
        authority.codes["c1"] = asked
        self.assertEqual(self.come_back({**asked, "state": "forged"}, code="evil"), 404)
        self.assertEqual(self.come_back(asked, code="c1"), 200)
        self.assertEqual(process.wait(PATIENCE), 0, process.stderr.read())
        self.assertEqual(authority.problems, [])
        auth = self.path("home/.ikigai/mcp-auth.json")
        self.assertEqual(os.stat(auth).st_mode & 0o777, 0o600)
        self.assertEqual(self.run_tool("web__echo", {"text": "x"})["result"], {"output": "x"})
        # The token expires in the server's eyes, then in ours: it is renewed in both cases.
        peer.token = "changed"
        self.assertEqual(self.run_tool("web__echo", {"text": "y"})["result"], {"output": "y"})
        self.assertEqual(authority.refreshed, 1)
        kept = json.loads(self.read(auth))
        kept["servers"][peer.url]["expires_at"] = 1
        self.write(auth, json.dumps(kept))
        refused = len([r for r in peer.requests if "Authorization" not in r["headers"]])
        self.assertEqual(self.run_tool("web__echo", {"text": "z"})["result"], {"output": "z"})
        self.assertEqual(authority.refreshed, 2)
        self.assertEqual(refused, len([r for r in peer.requests if "Authorization" not in r["headers"]]))
        # What cannot be renewed needs another login.
        kept = json.loads(self.read(auth))
        kept["servers"][peer.url]["refresh_token"] = "stolen"
        self.write(auth, json.dumps(kept))
        peer.token = "changed"
        envelope = self.run_tool("web__echo", {"text": "x"}, status=1)
        self.assertEqual(envelope["error_code"], "AUTH_REQUIRED")
        self.assertIn("ikigai mcp login web", envelope["error"])
        self.ikigai("mcp", "remove", "web")
        self.assertEqual(json.loads(self.read(auth))["servers"], {})

    def test_renewals_at_the_same_time(self):
        """A refresh token counts once: who comes second uses what the first one got."""
        authority = Authority()
        peer, process, _, asked = self.begin_login(authority)
        authority.codes["c1"] = asked
        self.come_back(asked, code="c1")
        self.assertEqual(process.wait(PATIENCE), 0, process.stderr.read())
        auth = self.path("home/.ikigai/mcp-auth.json")
        kept = json.loads(self.read(auth))
        kept["servers"][peer.url]["expires_at"] = 1
        self.write(auth, json.dumps(kept))
        authority.rivals = threading.Barrier(3)
        runs = [subprocess.Popen([IKIGAI, "tool", "run", "web__echo", '{"text": "x"}'], env=self.env(),
                                 cwd=self.project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for _ in range(3)]
        for run in runs:
            self.addCleanup(self.put_down, run)
        self.assertEqual([json.loads(run.communicate(timeout=PATIENCE)[0]).get("result") for run in runs],
                         [{"output": "x"}] * 3)
        self.assertEqual((authority.refreshed, len(authority.problems)), (3, 2))
        self.assertEqual(json.loads(self.read(auth))["servers"][peer.url]["refresh_token"], "refresh-2")

    def test_a_renewal_beside_another_call(self):
        """The connection goes on with the new token, and so does the call that was not refused."""
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("slow", "echo")]
        for era in ("legacy", "modern"):
            authority = Authority()
            peer, process, _, asked = self.begin_login(
                authority, {"timeout_seconds": 30}, {"era": era, "tools": tools, "behind": "slow"})
            authority.codes["c1"] = asked
            self.come_back(asked, code="c1")
            self.assertEqual(process.wait(PATIENCE), 0, process.stderr.read())

            def calls(peer=peer):
                return [r for r in peer.requests if (r["body"] or {}).get("method") == "tools/call"]

            def change_token(_, peer=peer, calls=calls):
                self.assertTrue(hostile.wait_until(calls, PATIENCE))  # the slow one has arrived
                peer.token = "changed"
                return Answer(calls=[Call("web__echo", {"text": "x"})])
            cast = Cast({"Go": [Answer(calls=[Call("agent", {"prompt": "Wait."}),
                                              Call("agent", {"prompt": "Ask."})]), Answer("Done.")],
                         "Wait.": [Answer(calls=[Call("web__slow", {"text": "y"})]), Answer("Waited.")],
                         "Ask.": [change_token, Answer("Asked.")]})
            before = len(peer.requests)
            self.ask(cast, config={"mcpServers": {"web": {"url": peer.url, "timeout_seconds": 30}}})
            for name, text in (("Wait.", "y"), ("Ask.", "x")):
                ((_, envelope),) = sent_results(cast.requests[name][1])
                self.assertEqual(envelope.get("result"), {"output": text}, envelope)
            self.assertEqual(authority.refreshed, 1)
            made = [r["body"]["method"] for r in peer.requests[before:] if r["body"]]
            self.assertEqual([made.count(m) for m in ("tools/list", "tools/call")], [1, 3])
            if era == "modern":
                self.assertEqual([r["headers"].get("Mcp-Name") for r in calls()], ["slow", "echo", "echo"])

    def test_a_scope_that_is_missing(self):
        authority = Authority()
        peer, process, _, asked = self.begin_login(authority)
        authority.codes["c1"] = asked
        self.come_back(asked, code="c1")
        self.assertEqual(process.wait(PATIENCE), 0, process.stderr.read())
        peer.missing = "write audit"
        wait = {"command": "while [ ! -e go ]; do sleep 0.05; done"}
        run = self.begin([Answer(calls=[Call("web__echo", {"text": "x"})]),
                          Answer(calls=[Call("bash", wait)]),
                          Answer(calls=[Call("web__echo", {"text": "y"})]), Answer("Done.")],
                         config={"mcpServers": {"web": {"url": peer.url}}})
        self.assertTrue(hostile.wait_until(lambda: len(run.llm.requests) == 2, 60))
        # One call is refused; the server is not. A token is not renewed for it, and nothing is tried again.
        self.assertEqual(self.ikigai("mcp", "list", "--json").json()[0]["status"], "ready")
        self.assertEqual(len([r for r in peer.requests if (r["body"] or {}).get("method") == "tools/call"]), 1)
        self.assertEqual(authority.refreshed, 0)
        peer.missing = "admin"
        envelope = self.run_tool("web__echo", {"text": "x"}, status=1)
        self.assertEqual((envelope["error_code"], envelope["error"]), (
            "AUTH_REQUIRED", "The server 'web' needs a login with the scope admin: run ikigai mcp login web"))
        # The next login asks for all of it; the turn that is running goes on with the new token.
        process, _, asked = self.login()
        self.assertEqual(asked["scope"], "read write audit admin")
        authority.codes["c2"] = asked
        self.come_back(asked, code="c2")
        self.assertEqual(process.wait(PATIENCE), 0, process.stderr.read())
        peer.missing = None
        self.write("project/go", "")
        refused, _, done = run.finish().envelopes()
        self.assertIn("needs a login with the scope write audit: ", refused["error"])
        self.assertEqual(done.get("result"), {"output": "y"}, done)
        self.assertEqual(authority.refreshed, 0)
        kept = json.loads(self.read("home/.ikigai/mcp-auth.json"))["servers"][peer.url]
        self.assertEqual((kept["scope"], kept.get("wanted_scope")), ("read write audit admin", None))

    def test_a_modern_server(self):
        """It refuses the opening of the legacy era before it looks at the token."""
        for protocol, openings in (("auto", ["initialize", "server/discover"]), ("modern", ["server/discover"])):
            with self.subTest(protocol=protocol):
                authority = Authority()
                peer, process, _, asked = self.begin_login(
                    authority, {"protocol": protocol}, {"era": "modern", "era_first": True})
                self.assertEqual([r["body"]["method"] for r in peer.requests], openings)
                headers = peer.requests[-1]["headers"]
                self.assertEqual((headers["MCP-Protocol-Version"], headers["Mcp-Method"]),
                                 ("2026-07-28", "server/discover"))
                self.assertEqual((asked["scope"], asked["resource"]), ("read write", peer.url))
                authority.codes["c1"] = asked
                self.come_back(asked, code="c1")
                self.assertEqual(process.wait(PATIENCE), 0, process.stderr.read())
                self.assertEqual(self.run_tool("web__echo", {"text": "x"})["result"], {"output": "x"})

    def test_a_redirect(self):
        authority = Authority()
        peer, process, _, asked = self.begin_login(authority, {}, {"redirect": (307, "/mcp/")})
        self.assertEqual([r["path"] for r in peer.requests], ["/mcp", "/mcp/"])
        authority.codes["c1"] = asked
        self.come_back(asked, code="c1")
        self.assertEqual(process.wait(20), 0, process.stderr.read())
        self.assertEqual(self.run_tool("web__echo", {"text": "x"})["result"], {"output": "x"})

    def test_the_client(self):
        """The address of a document is a client where documents are read, and where no other is made."""
        document = "https://example.org/ikigai.json"
        for options, client in (({"documents": True}, document), ({}, "registered"),
                                ({"registers": False}, document)):
            with self.subTest(**options):
                authority = Authority(**options)
                _, process, _, asked = self.begin_login(authority, {"oauth": {"client_id": document}})
                self.assertEqual(asked["client_id"], client)
                authority.codes["c1"] = asked
                self.come_back(asked, code="c1")
                self.assertEqual(process.wait(PATIENCE), 0, process.stderr.read())
                self.assertEqual(authority.problems, [])
        # A server of 2025-03-26 that describes nothing has the addresses that this version names.
        for registers in (True, False):
            authority = Authority(mute=True, registers=registers)
            self.addCleanup(authority.stop)
            authority.peer = McpHttp()
            self.servers(web={"url": authority.base + "/mcp"})
            process, line, asked = self.login()
            if registers:
                self.assertTrue(line.startswith(authority.base + "/authorize?"), line)
                authority.codes["c1"] = asked
                self.come_back(asked, code="c1")
            self.assertEqual(process.wait(PATIENCE), 0 if registers else 1)
            self.assertEqual("does not describe how to log in" in process.stderr.read(), not registers)
        self.assertEqual(authority.problems, [])

    def test_how_the_client_proves_who_it_is(self):
        """As it was registered; a client that is public proves nothing."""
        header = "Basic " + base64.b64encode(b"registered:s%2B1").decode()
        for method, proof in ((None, (header, None)), ("client_secret_basic", (header, None)),
                              ("client_secret_post", (None, "s+1")), ("none", (None, None))):
            with self.subTest(method=method):
                authority = Authority(client={"client_secret": "s+1", **(
                    {"token_endpoint_auth_method": method} if method else {})})
                peer, process, _, asked = self.begin_login(authority)
                authority.codes["c1"] = asked
                self.come_back(asked, code="c1")
                self.assertEqual(process.wait(PATIENCE), 0, process.stderr.read())
                peer.token = "changed"
                self.assertEqual(self.run_tool("web__echo", {"text": "x"})["result"], {"output": "x"})
                self.assertEqual(authority.proofs, [proof] * 2)

    def test_another_authorization_server(self):
        """A client is registered with each; what one of them gave is not shown to another."""
        before, after = Authority(), Authority()
        self.addCleanup(after.stop)
        peer, process, _, asked = self.begin_login(before)
        before.codes["c1"] = asked
        self.come_back(asked, code="c1")
        self.assertEqual(process.wait(PATIENCE), 0, process.stderr.read())
        before.issuer, before.lasts, after.peer = after.issuer, 0, peer
        peer.token = "changed"
        kept = json.loads(self.read("home/.ikigai/mcp-auth.json"))
        del kept["servers"][peer.url]["refresh_token"]
        self.write("home/.ikigai/mcp-auth.json", json.dumps(kept))
        self.assertEqual(self.run_tool("web__echo", {"text": "x"}, status=1)["error_code"], "AUTH_REQUIRED")
        process, line, asked = self.login()
        self.assertTrue(line.startswith(after.base + "/authorize?"), line)
        after.codes["c2"] = asked
        self.come_back(asked, code="c2")
        self.assertEqual(process.wait(PATIENCE), 0, process.stderr.read())
        self.assertEqual([p for p in after.requests if p in ("/register", "/token")], ["/register", "/token"])
        self.assertEqual(before.requests.count("/token"), 1)
        self.assertEqual(after.problems, [])
        kept = json.loads(self.read("home/.ikigai/mcp-auth.json"))["servers"][peer.url]
        self.assertEqual((kept["issuer"], kept["token_endpoint"]), (after.issuer, after.base + "/token"))
        self.assertEqual(self.run_tool("web__echo", {"text": "y"})["result"], {"output": "y"})

    def test_failures(self):
        authority = Authority(registers=False)
        peer, process, line, asked = self.begin_login(authority)
        self.assertEqual((line, process.wait(PATIENCE)), ("", 1))
        self.assertIn("oauth.client_id", process.stderr.read())
        # A client of one's own; the browser; an answer of another issuer.
        self.write("browser", f"#!/bin/sh\necho \"$1\" > {self.path('visited')}\n", 0o755)
        authority = Authority(registers=False, iss=True)
        peer, process, line, asked = self.begin_login(
            authority, {"oauth": {"client_id": "mine", "scope": "all"}}, args=[],
            env={"BROWSER": self.path("browser")})
        self.assertEqual((asked["client_id"], asked["scope"]), ("mine", "all"))
        self.assertTrue(hostile.wait_until(lambda: os.path.exists(self.path("visited")), 20))
        self.come_back(asked, code="c", iss="http://elsewhere")
        self.assertEqual(process.wait(PATIENCE), 1)
        self.assertIn("another authorization server", process.stderr.read())
        # Over plain HTTP the browser is sent to this machine alone.
        for address in ("http://example.org/authorize", "http://127.0.0.1:80@example.org/authorize",
                        "http://127.0.0.1.example.org/authorize", "ftp://127.0.0.1/authorize"):
            peer, process, line, asked = self.begin_login(Authority(authorize=address))
            self.assertEqual((line, process.wait(PATIENCE)), ("", 1))
            self.assertIn("names no safe addresses", process.stderr.read())
        peer, process, line, asked = self.begin_login(Authority())
        self.come_back(asked, error="access_denied")
        self.assertEqual(process.wait(PATIENCE), 1)
        self.assertIn("access_denied", process.stderr.read())
        self.assertFalse(os.path.exists(self.path("home/.ikigai/mcp-auth.json")))
        self.servers(local=self.server())
        self.ikigai("mcp", "login", "local", status=1)
        self.ikigai("mcp", "login", "nobody", status=1)
