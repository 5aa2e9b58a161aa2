"""`ikigai acp` from outside: an editor that behaves, one that does not, and what both must get."""
import base64
import json
import os
import signal
import subprocess
import sys
import time

import hostile
from acp_client import Editor, texts
from agent_support import FORMATS, PATIENCE, AgentTest, sent_messages, sent_results, sent_tools
from fake_llm import Answer, Call, Failure, Wire
from image_support import png
from mcp_http_peer import McpHttp
from support import IKIGAI, ROOT, tool_script


def choose(option):
    return {"session/request_permission": lambda params: {
        "outcome": {"outcome": "selected", "optionId": option}}}


class AcpTest(AgentTest):
    def editor(self, script=(), *args, config=None, env=None, capabilities=None, server=None,
               model=True):
        """An editor whose ikigai talks to a scripted model."""
        self.llm = self.serve(script, **(server or {}))
        env = {**self.connect(self.llm, config), **(env or {})}
        flags = ["-m", FORMATS[self.format].target] if model else []
        editor = Editor(self, *flags, *args, env=env)
        editor.initialize(**(capabilities or {}))
        return editor

    def user_texts(self, number=0):
        return [m["content"] for m in sent_messages(self.llm.requests[number])
                if m["role"] == "user"]


class Connection(AcpTest):
    def test_initialize_and_errors(self):
        """Versions, ids, unknown methods, junk: the connection lives through all of it."""
        editor = Editor(self)
        new = {"cwd": self.project, "mcpServers": []}
        self.assertIn("initialize", editor.call("session/new", new, error=-32600))
        editor.call("initialize", {"protocolVersion": "1"}, error=-32602)
        editor.call("initialize", error=-32602)
        for version in (99, 1, 0):
            result = editor.call("initialize", {"protocolVersion": version})
            self.assertEqual(result["protocolVersion"], 1)
        able = result["agentCapabilities"]
        self.assertEqual((able["loadSession"], able["promptCapabilities"]),
                         (True, {"image": True, "audio": False, "embeddedContext": True}))
        self.assertEqual(able["mcpCapabilities"], {"http": True, "sse": False})
        self.assertEqual(able["sessionCapabilities"],
                         {"list": {}, "resume": {}, "close": {}, "delete": {}})
        self.assertEqual((result["agentInfo"]["name"], result["authMethods"]), ("ikigai", []))
        result = editor.initialize(auth={"terminal": True})
        (method,) = result["authMethods"]
        self.assertEqual((method["type"], method["id"], method["args"]),
                         ("terminal", "setup", ["--setup"]))
        self.assertEqual(editor.initialize(auth={"terminal": False})["authMethods"], [])
        for id in ("x", "setup"):
            editor.call("authenticate", {"methodId": id}, error=-32602)
        for id in ("a string", "5f0c-…", 0, -3):
            self.assertEqual(editor.answer_to(editor.ask("initialize", {"protocolVersion": 1},
                                                         id=id))["id"], id)
        for method in ("session/nothing", "logout", "session/set_model", "_own/x"):
            editor.call(method, {}, error=-32601)
        editor.notify("session/nothing", {})
        editor.notify("$/cancel_request", {"requestId": "nothing"})
        for line, code in ((b"{", -32700), (b"\xff\xfe", -32700), (b"[]", -32600),
                           (b'"x"', -32600), (b'{"jsonrpc":"2.0","id":1}', -32600),
                           (b'{"jsonrpc":"2.0","id":{},"method":"initialize"}', -32600),
                           (b"[" * 10000, -32700), (b'{"jsonrpc":"1.0","id":1,"method":"x"}',
                                                    -32600)):
            editor.raw(line + b"\n")
            answer = editor.next()
            self.assertEqual((answer["error"]["code"], answer["id"]), (code, None), line[:50])
        editor.raw(b"\n \r\n")
        editor.raw(b'{"jsonrpc":"2.0","method":"x","params":"' + b"x" * (16 << 20) + b'"}\n')
        editor.raw(b"x" * (70 << 20) + b"\n")
        self.assertEqual(editor.next()["error"]["code"], -32700)
        editor.initialize()
        self.assertEqual(editor.end(), 0)

    def test_an_editor_that_does_not_read_standard_error(self):
        """Each of these lines is reported there; the pipe holds a tenth of them."""
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        process = subprocess.Popen([IKIGAI, "acp"], cwd=self.project, env=self.env(),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=write)
        os.close(write)
        self.addCleanup(process.kill)
        initialize = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
                      "params": {"protocolVersion": 1}}
        out, _ = process.communicate(b"junk\n" * 10000 + json.dumps(initialize).encode() + b"\n",
                                     timeout=PATIENCE)
        self.assertEqual((json.loads(out.splitlines()[-1])["id"], process.returncode), (1, 0))

    def test_wrong_params(self):
        editor = self.editor([Answer("Yes.")])
        for cwd in ("relative", "", None, 3, "/no/such/folder", self.write("file")):
            editor.call("session/new", {"cwd": cwd, "mcpServers": []}, error=-32602)
        editor.call("session/new", {"cwd": self.project, "mcpServers": {}}, error=-32602)
        editor.call("session/new", error=-32602)
        text = [{"type": "text", "text": "Hi"}]
        for id in ("0123456789abcdef", "", "x" * 5000):
            editor.call("session/prompt", {"sessionId": id, "prompt": text}, error=-32002)
            editor.call("session/load", {"sessionId": id, "cwd": self.project, "mcpServers": []},
                        error=-32002)
            editor.call("session/close", {"sessionId": id}, error=-32002)
            editor.notify("session/cancel", {"sessionId": id})
        editor.call("session/prompt", {"prompt": text}, error=-32602)
        session = editor.open(self.project)
        for prompt in ("Hi", None, [], ["Hi"], [{}], [{"type": "text"}], [{"type": "text", "text": 1}],
                       [{"type": "text", "text": " "}], [{"type": "audio", "data": "", "mimeType": ""}],
                       [{"type": "image", "data": "?", "mimeType": "image/png"}],
                       [{"type": "image", "data": "AAAA", "mimeType": "image/png"}],
                       [{"type": "resource"}], [{"type": "resource_link", "name": "x"}]):
            editor.call("session/prompt", {"sessionId": session, "prompt": prompt}, error=-32602)
        for params in ({"configId": "x", "value": "y"}, {"configId": "mode", "value": "y"},
                       {"configId": "mode", "value": True}, {"configId": "model", "value": "y"},
                       {"configId": "model", "value": "no/such"}, {}):
            editor.call("session/set_config_option", {"sessionId": session, **params},
                        error=-32602)
        editor.call("session/set_mode", {"sessionId": session, "modeId": "yolo"}, error=-32602)
        editor.call("session/list", {"cursor": "x"}, error=-32602)
        editor.call("session/list", {"cwd": "x"}, error=-32602)
        self.assertEqual(self.llm.requests, [])
        self.assertEqual(editor.prompt(session, "Hi")[0], "end_turn")

    def test_keys(self):
        """Without any key the offline model answers; a chosen model without its key is an error."""
        editor = Editor(self)
        editor.initialize()
        session = editor.open(self.project)
        reason, updates = editor.prompt(session, "hi")
        self.assertEqual(reason, "end_turn")
        self.assertIn("ikigai setup", texts(updates))
        self.assertIn("ANTHROPIC_API_KEY", editor.call(
            "session/set_config_option",
            {"sessionId": session, "configId": "model", "value": "anthropic/claude-opus-5-5"},
            error=-32000))
        editor = Editor(self, "-m", "openai/gpt-5")
        editor.initialize()
        self.assertIn("OPENAI_API_KEY", editor.call(
            "session/new", {"cwd": self.project, "mcpServers": []}, error=-32000))
        self.write("home/.ikigai/keys.json", json.dumps({"openai": {"api_key": "sk-new"}}), 0o600)
        editor.open(self.project)  # the user has set it up meanwhile
        os.remove(self.path("home", ".ikigai", "keys.json"))
        editor = self.editor([Failure("auth", "Wrong key.")])
        session = editor.open(self.project)
        self.assertIn("Wrong key", editor.refused(session, "Hi", code=-32000))

    def test_usage(self):
        for args in (["acp", "x"], ["acp", "--mode", "yolo"], ["acp", "-m", "nonsense"],
                     ["acp", "--db", self.path("no", "such", "file")], ["acp", "--nothing"]):
            done = self.ikigai(*args, status=2)
            self.assertEqual(done.out, "")
        self.assertEqual(self.ikigai("acp", input=b"").out, "")

    def test_the_end_takes_everything_with_it(self):
        """Tools are killed when standard input ends, and by a signal; a reader that is gone, too."""
        forever = Answer(calls=[Call("bash", {"command": f"sleep 1000; : {self.dir}"})])
        editor = self.editor([forever, forever])
        sessions = [editor.open(self.project), editor.open(self.project)]
        for session in sessions:
            editor.start(session, "Go")
        for session in sessions:
            editor.wait_update("tool_call_update", status="in_progress")
        self.assertTrue(hostile.wait_until(
            lambda: len(hostile.processes_with(f"sleep 1000; : {self.dir}")) >= 2))
        self.assertEqual(editor.end(), 0)
        self.assertEqual(hostile.processes_with(self.dir), {})
        editor = self.editor([forever])
        editor.start(editor.open(self.project), "Go")
        editor.wait_update("tool_call_update", status="in_progress")
        editor.process.send_signal(signal.SIGTERM)
        self.assertEqual(editor.process.wait(PATIENCE), 128 + signal.SIGTERM)
        self.assertEqual(hostile.processes_with(self.dir), {})


class Turns(AcpTest):
    def test_order_and_updates(self):
        """The answer to session/new comes first; every update of a turn comes before its answer."""
        self.write("project/a", "hi\n")
        self.write("home/.ikigai/models.json", json.dumps({"models": {
            FORMATS["chat"].target: {"limits": {"context": 1000}}}}))
        editor = self.editor([Answer(thinking="Hm.", text="I read it.",
                                     calls=[Call("file_read", {"file_path": "a", "offset": 1})]),
                              Answer("It says hi.", fragments=3)], config={
                                  "providers": {"openai": {"api": "responses"}}})
        before = len(editor.log)
        new = editor.call("session/new", {"cwd": self.project, "mcpServers": []})
        self.assertNotIn("method", editor.log[before])
        session = new["sessionId"]
        self.assertRegex(session, "^[0-9a-f]{16}$")
        self.assertEqual([m["id"] for m in new["modes"]["availableModes"]],
                         ["plan", "auto", "ask", "full"])
        commands = editor.wait_update("available_commands_update")["availableCommands"]
        self.assertIn("compact", [c["name"] for c in commands])
        reason, updates = editor.prompt(session, "Read a")
        self.assertEqual(reason, "end_turn")
        kinds = [u["sessionUpdate"] for u in updates]
        self.assertEqual(list(dict.fromkeys(kinds)),
                         ["session_info_update", "agent_thought_chunk", "agent_message_chunk",
                          "usage_update", "tool_call", "tool_call_update"])
        self.assertEqual(texts(updates), "I read it.It says hi.")
        self.assertEqual([kind for _, kind in editor.messages[session]],
                         ["agent_thought_chunk", "agent_message_chunk", "agent_message_chunk"])
        (call,) = [u for u in updates if u["sessionUpdate"] == "tool_call"]
        self.assertEqual((call["title"], call["kind"], call["status"], call["rawInput"]),
                         ("file_read a", "read", "pending", {"file_path": "a", "offset": 1}))
        self.assertEqual(call["locations"], [{"path": self.path("project", "a"), "line": 1}])
        started, ended = [u for u in updates if u["sessionUpdate"] == "tool_call_update"]
        self.assertEqual(started["status"], "in_progress")
        self.assertEqual(ended["status"], "completed")
        self.assertEqual(ended["content"], [
            {"type": "content", "content": {"type": "text", "text": "```\nhi\n```"}}])
        self.assertEqual(ended["rawOutput"], {"output": "hi\n"})
        usage = [u for u in updates if u["sessionUpdate"] == "usage_update"][-1]
        self.assertEqual((usage["used"], usage["size"]), (120, 1000))
        count = len(editor.log)
        editor.call("session/list", {})
        self.assertEqual(len(editor.log), count + 1)  # nothing follows the answer

    def test_stop_reasons(self):
        editor = self.editor([Answer("A", stop="max_tokens"), Answer(refusal="No."),
                              Failure("server", "Down.", wire=Wire(headers={"retry-after": "9999"})),
                              Answer("B")])
        session = editor.open(self.project)
        self.assertEqual(editor.prompt(session, "1")[0], "max_tokens")
        self.assertEqual(editor.prompt(session, "2")[0], "refusal")
        self.assertIn("Down", editor.refused(session, "3", code=-32603))
        self.assertEqual(editor.prompt(session, "4")[0], "end_turn")
        looped = Answer(calls=[Call("glob", {"pattern": "*"})])
        editor = self.editor([looped, looped, Answer("Enough.")], config={"max_tool_turns": 2})
        self.assertEqual(editor.prompt(editor.open(self.project), "Go")[0], "max_turn_requests")

    def test_blocks(self):
        """Text, links, embedded files and images become one message."""
        self.write("project/src/a b.c", "int a;\n")
        shot = self.write("project/shot.png", png())
        other = png(2, 2)
        editor = self.editor([Answer("Yes.")] * 2)
        session = editor.open(self.project)
        uri = "file://" + self.path("project", "src", "a%20b.c")
        editor.prompt(
            session, "Look at ", {"type": "resource_link", "uri": uri + "#L3-9", "name": "a b.c"},
            " and", {"type": "resource_link", "uri": "https://example.org/x", "name": "x"},
            {"type": "resource", "resource": {"uri": uri, "text": "int b; // @no.png\n",
                                              "mimeType": "text/x-c"}},
            {"type": "resource", "resource": {"uri": "file:///x.bin", "blob": "AAAA",
                                              "mimeType": "application/x"}},
            {"type": "image", "data": base64.b64encode(other).decode(), "mimeType": "image/png"},
            {"type": "resource_link", "uri": "file://" + shot, "name": "shot.png"})
        (content,) = self.user_texts()
        text = "".join(p.get("text", "") for p in content)
        self.assertTrue(text.startswith('Look at @"src/a b.c" (L3-9) and [x](https://example.org/x)'),
                        text)
        self.assertIn("@/x.bin (application/x, not text)", text)
        self.assertIn(f'<context ref="{self.path("project", "src", "a b.c")}">\n'
                      "int b; // @no.png\n</context>", text)
        images = [p["image_url"]["url"] for p in content if p["type"] == "image_url"]
        self.assertEqual(sorted(base64.b64decode(i.split(",")[1]) for i in images),
                         sorted([png(), other]))
        self.assertEqual(editor.prompt(session, {"type": "image", "mimeType": "image/png",
                                                 "data": base64.b64encode(other).decode()})[0],
                         "end_turn")

    def test_base64_as_programs_write_it(self):
        """With line breaks, or as a data URL."""
        editor = self.editor([Answer("Yes.")] * 2)
        session = editor.open(self.project)
        shot = png(2, 2)
        for data in (base64.encodebytes(shot).decode(),
                     "data:image/png;base64," + base64.b64encode(shot).decode()):
            editor.prompt(session, "Look", {"type": "image", "data": data, "mimeType": "image/png"})
            url = self.user_texts(-1)[-1][1]["image_url"]["url"]
            self.assertEqual(url, "data:image/png;base64," + base64.b64encode(shot).decode())

    def test_nul_characters_end_nothing(self):
        def file(name, text):
            return {"type": "resource", "resource": {"uri": "file:///" + name, "text": text}}
        editor = self.editor([Answer("Yes.")])
        editor.prompt(editor.open(self.project), "Look\0at", file("x", "one\0two\n"), file("y", "three\n"))
        (text,) = self.user_texts()
        self.assertEqual(text, 'Look at @/x @/y\n\n<context ref="/x">\none two\n</context>\n\n'
                               '<context ref="/y">\nthree\n</context>')

    def test_an_image_for_a_model_that_sees_none(self):
        self.write("home/.ikigai/models.json", json.dumps({"models": {
            FORMATS["chat"].target: {"images": False}}}))
        editor = self.editor([Answer("Yes.")])
        session = editor.open(self.project)
        image = {"type": "image", "mimeType": "image/png",
                 "data": base64.b64encode(png()).decode()}
        self.assertIn("does not see images", editor.refused(session, image, code=-32602))
        self.assertEqual(self.llm.requests, [])

    def test_two_sessions_at_once(self):
        """Each has its own folder, model and mode; a slow turn in one does not hold up the other."""
        self.write("other/b", "of the other\n")
        self.write("project/b", "of the project\n")
        self.write("other/.ikigai/config.json", json.dumps({"system_prompt": "x"}))
        read = Answer(calls=[Call("file_read", {"file_path": "b"})])

        def script(request):
            text = json.dumps(request.json)
            if "slow" in text:
                return Answer("Slow.", wire=Wire(stall_after=1))
            return Answer("Done.") if "tool_call_id" in text else read
        editor = self.editor(script)
        slow, first, second = (editor.open(self.project), editor.open(self.project),
                               editor.open(self.path("other")))
        self.assertEqual(len({slow, first, second}), 3)
        editor.start(slow, "slow")
        self.llm.wait_for_requests(1)
        ids = {editor.start(first, "Go"): first, editor.start(second, "Go"): second}
        for _ in ids:
            answer = editor.wait(lambda m: m.get("id") in ids and "method" not in m)
            self.assertEqual(answer["result"], {"stopReason": "end_turn"})
        for session, text in ((first, "of the project\n"), (second, "of the other\n")):
            (ended,) = [u for u in editor.updates(session=session) if u.get("status") == "completed"]
            self.assertEqual(ended["rawOutput"], {"output": text})
        self.assertIn("prompt is running", editor.refused(slow, "More", code=-32600))
        editor.call("session/set_config_option",
                    {"sessionId": first, "configId": "mode", "value": "plan"})
        editor.notify("session/cancel", {"sessionId": slow})
        stopped = editor.wait(lambda m: m.get("result", {}).get("stopReason") is not None)
        self.assertEqual(stopped["result"]["stopReason"], "cancelled")
        listed = editor.call("session/list", {})["sessions"]
        self.assertEqual({s["sessionId"]: s["cwd"] for s in listed},
                         {slow: self.project, first: self.project, second: self.path("other")})

    def test_output_of_a_tool(self):
        """The whole text so far, fenced; what a tool prints to its standard output is never ours."""
        self.user_tool("noisy", tool_script("noisy", "echo '{\"jsonrpc\"' >&2; echo '{\"output\": "
                                            "\"a ```` b\"}'"), 0o755)
        command = "printf 'one\\n'; while [ ! -e go ]; do sleep 0.02; done; printf '\\033[31mtwo'"
        editor = self.editor([Answer(calls=[Call("bash", {"command": command}), Call("noisy")]),
                              Answer("Done.")])
        session = editor.open(self.project)
        id = editor.start(session, "Go")
        part = editor.wait(lambda m: "one" in json.dumps(m.get("params", {}).get("update", {}).get(
            "content", "")))["params"]["update"]
        self.assertEqual(part["content"][0]["content"]["text"], "```\none\n```")
        self.write("project/go")
        editor.answer_to(id)
        bash, noisy = [u for u in editor.updates() if u.get("status") == "completed"]
        self.assertEqual(bash["content"][0]["content"]["text"], "```\none\ntwo\n```")
        self.assertEqual(noisy["content"][0]["content"]["text"], "`````\na ```` b\n`````")

    def test_commands_with_images(self):
        """The message of a command file gets the images of the prompt and those that it names."""
        self.write("home/.ikigai/commands/compare.md", "Compare with @plan.png: $ARGUMENTS")
        self.write("project/plan.png", png(3, 3))
        self.write("project/shot.png", png())
        editor = self.editor([Answer("Yes.")])
        session = editor.open(self.project)
        block = {"type": "image", "data": base64.b64encode(png(2, 2)).decode(), "mimeType": "image/png"}
        shot = {"type": "resource_link", "uri": "file://" + self.path("project", "shot.png"), "name": "shot"}
        self.assertEqual(editor.prompt(session, "/compare all of ", shot, block)[0], "end_turn")
        (content,) = self.user_texts()
        self.assertEqual(content[0]["text"], "Compare with @plan.png: all of @shot.png")
        urls = [part["image_url"]["url"] for part in content[1:]]
        self.assertEqual({base64.b64decode(url.split(",")[1]) for url in urls},
                         {png(), png(2, 2), png(3, 3)})
        self.assertIn("takes no images", editor.refused(session, "/compact", block, code=-32602))

    def test_the_title_is_what_the_user_wrote(self):
        self.write("home/.ikigai/hooks/user_prompt/more", "#!/bin/sh\necho and more\n", 0o755)
        editor = self.editor([Answer("Yes.")])
        _, updates = editor.prompt(editor.open(self.project), "Hello")
        (info,) = [u for u in updates if u["sessionUpdate"] == "session_info_update"]
        self.assertEqual(info["title"], "Hello")
        self.assertEqual(self.user_texts(), ["Hello\n\nand more"])

    def test_commands(self):
        """Commands of files and skills are offered and run; other text with a slash is a message."""
        self.write("home/.ikigai/commands/review.md",
                   "---\ndescription: Reviews\nargument-hint: FILE\n---\nReview $1 now.")
        self.write("home/.ikigai/skills/count/SKILL.md",
                   "---\nname: count\ndescription: Counts\n---\nCount things.")
        editor = self.editor([Answer("Yes.")] * 4)
        session = editor.open(self.project)
        commands = {c["name"]: c for c in
                    editor.wait_update("available_commands_update")["availableCommands"]}
        self.assertEqual((commands["review"]["description"], commands["review"]["input"]["hint"]),
                         ("Reviews", "FILE"))
        self.assertIn("count", commands)
        reason, updates = editor.prompt(session, "/compact")
        self.assertEqual((reason, texts(updates)), ("end_turn", "There is nothing to compact.\n"))
        self.assertIn("Tokens", texts(editor.prompt(session, "/usage")[1]))
        self.assertEqual(editor.prompt(session, "/review a.c")[0], "end_turn")
        self.assertEqual(editor.prompt(session, "/count", " eggs")[0], "end_turn")
        self.assertEqual(editor.prompt(session, "/etc/passwd is what?")[0], "end_turn")
        asked = self.user_texts(2)
        self.assertEqual(asked[0], "Review a.c now.")
        self.assertTrue(asked[1].startswith("Count things.") and asked[1].endswith("eggs"))
        self.assertEqual(asked[2], "/etc/passwd is what?")

    def test_undo(self):
        """Takes back the turn with its files; the answer comes when that is done."""
        self.write("project/a", "one")
        editor = self.editor([Answer(calls=[Call("file_write", {"file_path": "a",
                                                                "content": "two"})]),
                              Answer("Done."), Answer("Yes.")])
        session = editor.open(self.project)
        editor.prompt(session, "Change it")
        for command, content in (("/undo", b"one"), ("/redo", b"two"), ("/undo", b"one")):
            reason, updates = editor.prompt(session, command)
            self.assertEqual((reason, self.read("project/a")), ("end_turn", content))
            self.assertIn("a", texts(updates))
        self.assertIn("Change it", texts(updates))
        editor.prompt(session, "Hello")
        self.assertEqual(self.user_texts(2), ["Hello"])

    def test_options(self):
        editor = self.editor([Answer(calls=[Call("bash", {"command": "while [ ! -e go ]; do sleep "
                                                                     "0.02; done"})]),
                              Answer("Done.")])
        new = editor.call("session/new", {"cwd": self.project, "mcpServers": []})
        session = new["sessionId"]
        values = {o["id"]: o["currentValue"] for o in new["configOptions"]}
        self.assertEqual(values, {"mode": "auto", "model": "openai/gpt-5"})
        self.assertEqual([o["category"] for o in new["configOptions"]], ["mode", "model"])
        answer = editor.call("session/set_config_option",
                             {"sessionId": session, "configId": "mode", "value": "ask"})
        self.assertEqual([o["currentValue"] for o in answer["configOptions"]],
                         ["ask", "openai/gpt-5"])
        editor.wait_update("current_mode_update", currentModeId="ask")
        self.assertEqual(editor.call("session/set_mode", {"sessionId": session, "modeId": "full"}),
                         {})
        options = editor.wait_update("config_option_update")["configOptions"]
        self.assertEqual(options[0]["currentValue"], "full")
        id = editor.start(session, "Go")
        editor.wait_update("tool_call_update", status="in_progress")
        editor.call("session/set_config_option",
                    {"sessionId": session, "configId": "model", "value": "openai/gpt-5-mini"})
        self.write("project/go")
        editor.answer_to(id)
        self.assertEqual([r.model for r in self.llm.requests], ["gpt-5", "gpt-5-mini"])


class Changes(AcpTest):
    def diffs(self, editor):
        return [(u["status"] if "status" in u else None, c) for u in editor.updates()
                for c in u.get("content", []) if isinstance(c, dict) and c["type"] == "diff"]

    def test_diffs(self):
        """A new file, an edit that keeps CRLF, and an edit that fails."""
        self.write("project/crlf", "one\r\ntwo\r\n")
        editor = self.editor([
            Answer(calls=[Call("file_write", {"file_path": "new", "content": "x\n"})]),
            Answer(calls=[Call("file_edit", {"file_path": self.path("project", "crlf"),
                                             "old_string": "one", "new_string": "1"})]),
            Answer(calls=[Call("file_edit", {"file_path": "crlf", "old_string": "no",
                                             "new_string": "yes"})]),
            Answer("Done.")])
        session = editor.open(self.project)
        editor.prompt(session, "Go")
        new = {"type": "diff", "path": self.path("project", "new"), "oldText": None,
               "newText": "x\n"}
        edit = {"type": "diff", "path": self.path("project", "crlf"),
                "oldText": "one\r\ntwo\r\n", "newText": "1\r\ntwo\r\n"}
        self.assertEqual(self.diffs(editor), [("pending", new), ("completed", new),
                                              ("pending", edit), ("completed", edit)])
        self.assertEqual(self.read("project/crlf"), b"1\r\ntwo\r\n")
        failed = editor.updates()[-2:]
        ended = [u for u in editor.updates() if u.get("status") == "failed"]
        self.assertEqual(ended[0]["rawOutput"]["error_code"], "NOT_FOUND", failed)

    def test_permission(self):
        """Asked with all that the editor shows; our own ids decide."""
        write = Answer(calls=[Call("file_write", {"file_path": "f", "content": "x"})])
        answers = [("allow_once", True), ("reject_once", False), ("something", False)]
        editor = self.editor([write, Answer("Done.")] * 6, config={"mode": "ask"})
        session = editor.open(self.project)
        for option, written in answers:
            editor.answers = choose(option)
            self.assertEqual(editor.prompt(session, "Go")[0], "end_turn")
            self.assertEqual(os.path.exists(self.path("project", "f")), written, option)
            if written:
                os.remove(self.path("project", "f"))
        question = editor.requests[0]["params"]
        self.assertEqual(question["sessionId"], session)
        call = question["toolCall"]
        self.assertEqual((call["title"], call["kind"], call["rawInput"]),
                         ("file_write f", "edit", {"file_path": "f", "content": "x"}))
        self.assertIn({"type": "diff", "path": self.path("project", "f"), "oldText": None,
                       "newText": "x"}, call["content"])
        self.assertEqual([o["optionId"] for o in question["options"]],
                         ["allow_once", "allow_always", "reject_once"])
        self.assertIn("file_write", question["options"][1]["name"])
        editor.answers = {}  # the editor knows no such request
        self.assertEqual(editor.prompt(session, "Go")[0], "end_turn")
        self.assertFalse(os.path.exists(self.path("project", "f")))
        editor.answers = {"session/request_permission": {"outcome": {"outcome": "cancelled"}}}
        self.assertEqual(editor.prompt(session, "Go")[0], "cancelled")
        self.assertFalse(os.path.exists(self.path("project", "f")))

    def test_always(self):
        """The rule in the name is kept, for this session and for later ones."""
        run = Answer(calls=[Call("bash", {"command": "touch t", "permissions": "network",
                                          "reason": "to see"})])
        editor = self.editor([run, Answer("Done.")] * 2)
        session = editor.open(self.project)
        editor.answers = choose("allow_always")
        editor.prompt(session, "Go")
        (question,) = editor.requests
        rules = json.loads(self.read("home/.ikigai/permissions.json"))
        kept = json.dumps(rules)
        name = question["params"]["options"][1]["name"]
        self.assertTrue(name.startswith("Always allow "))
        self.assertIn(json.dumps(name[len("Always allow "):])[1:-1], kept)
        self.assertIn("network. Reason: to see",
                      question["params"]["toolCall"]["content"][0]["content"]["text"])
        editor.prompt(session, "Go")
        self.assertEqual(len(editor.requests), 1)

    def test_a_sub_agent(self):
        """Its questions reach the editor; what it says is the result of the call."""
        def script(request):
            said = [m for m in sent_messages(request) if m["role"] != "system"]
            if said[0]["content"] == "Delegate":
                return Answer("All done.") if len(said) > 1 else Answer(
                    calls=[Call("agent", {"prompt": "Write f"})])
            return Answer("Written.") if len(said) > 1 else Answer(
                calls=[Call("file_write", {"file_path": "f", "content": "x"})])
        editor = self.editor(script, config={"mode": "ask"})
        editor.answers = choose("allow_once")
        session = editor.open(self.project)
        reason, updates = editor.prompt(session, "Delegate")
        self.assertEqual((reason, texts(updates)), ("end_turn", "All done."))
        self.assertEqual(self.read("project/f"), b"x")
        calls = [u for u in updates if u["sessionUpdate"] == "tool_call"]
        self.assertEqual([(c["title"], c["kind"]) for c in calls],
                         [("agent Write f", "think"), ("file_write f", "edit")])
        final = {u["toolCallId"]: u["status"] for u in updates if "status" in u}
        self.assertEqual(set(final.values()), {"completed"})
        (result,) = [u for u in updates if u.get("rawOutput")]
        self.assertEqual(result["rawOutput"]["text"], "Written.")

    def test_the_questions_of_a_sub_agent_name_it(self):
        self.write("home/.ikigai/agents/writer.md", "---\ndescription: Writes\n---\nWrite.")

        def script(request):
            said = [m for m in sent_messages(request) if m["role"] != "system"]
            if said[0]["content"] == "Delegate":
                return Answer("All done.") if len(said) > 1 else Answer(
                    calls=[Call("agent", {"prompt": "Go", "agent": "writer"}),
                           Call("ask_user", {"question": "And you?"})])
            return Answer("Done.") if len(said) > 1 else Answer(
                calls=[Call("ask_user", {"question": "Where to?"}),
                       Call("file_write", {"file_path": "f", "content": "x"})])
        editor = self.editor(script, config={"mode": "ask"}, capabilities={"elicitation": {"form": {}}})
        editor.answers = {**choose("allow_once"),
                          "elicitation/create": {"action": "accept", "content": {"answer": "there"}}}
        editor.prompt(editor.open(self.project), "Delegate")
        first, second, third = [r["params"] for r in editor.requests]
        self.assertEqual(first["message"], "Agent 2 (writer): Where to?")
        self.assertEqual(second["toolCall"]["content"][0]["content"]["text"],
                         "Agent 2 (writer) wants: write.")
        self.assertEqual(third["message"], "And you?")

    def test_a_question_that_nobody_waits_for_is_taken_back(self):
        """The tool whose sub-agent asks ends before the answer."""
        hostile.python_tool(self.path("home/.ikigai/tools"), "leaver", """
import socket, time
host = socket.socket(fileno=int(os.environ["IKIGAI_HOST_FD"]))
host.sendall(b'{"id": 1, "op": "agent", "prompt": "Write f"}\\n')
while not os.path.exists("leave"):
    time.sleep(0.02)
print("{}")
""", host=["agent"])

        def script(request):
            said = [m for m in sent_messages(request) if m["role"] != "system"]
            if said[0]["content"] == "Go":
                return Answer("All done.") if len(said) > 1 else Answer(calls=[Call("leaver", {})])
            return Answer(calls=[Call("file_write", {"file_path": "f", "content": "x"})])
        self.write("home/.ikigai/permissions.json", '{"ask": ["file_write"]}', 0o600)
        editor = self.editor(script)
        editor.answers = {"session/request_permission": None}
        session = editor.open(self.project)
        id = editor.start(session, "Go")
        asked = editor.wait(lambda m: m.get("method") == "session/request_permission")
        self.write("project/leave", "")
        self.assertEqual(editor.answer_to(id)["result"], {"stopReason": "end_turn"})
        (withdrawn,) = [m for m in editor.log if m.get("method") == "$/cancel_request"]
        self.assertEqual(withdrawn["params"], {"requestId": asked["id"]})
        editor.send(id=asked["id"], result={"outcome": {"outcome": "cancelled"}})
        self.assertEqual(editor.prompt(session, "Thanks")[0], "end_turn")
        self.assertFalse(os.path.exists(self.path("project/f")))

    def test_the_editor_dies_at_a_question(self):
        editor = self.editor([Answer(calls=[Call("file_write", {"file_path": "f",
                                                                "content": "x"})])],
                             config={"mode": "ask"})
        session = editor.open(self.project)
        editor.answers = {"session/request_permission": None}
        editor.start(session, "Go")
        editor.wait(lambda m: m.get("method") == "session/request_permission")
        self.assertEqual(editor.end(), 0)
        self.assertFalse(os.path.exists(self.path("project", "f")))


class Questions(AcpTest):
    FORMS = {"elicitation": {"form": {}}}
    QUESTION = Answer(calls=[Call("ask_user", {"question": "Which one?", "choices": ["red", "blue"],
                                               "default": "blue"})])

    def ask_user(self, answer, capabilities=FORMS):
        """What the tool gets when the editor answers so."""
        editor = self.editor([self.QUESTION, Answer("Done.")], capabilities=capabilities)
        editor.answers = {"elicitation/create": answer}
        self.assertEqual(editor.prompt(editor.open(self.project), "Go")[0], "end_turn")
        (_, envelope), = sent_results(self.llm.requests[1])
        return envelope["result"], editor.requests

    def test_forms(self):
        result, (request,) = self.ask_user({"action": "accept", "content": {"answer": "red"}})
        self.assertEqual(result, {"answer": "red"})
        params = request["params"]
        self.assertEqual((params["mode"], params["message"]), ("form", "Which one?"))
        self.assertEqual(params["requestedSchema"], {
            "type": "object", "required": ["answer"], "properties": {"answer": {
                "type": "string", "title": "Answer", "enum": ["red", "blue"],
                "default": "blue"}}})
        for answer in ({"action": "decline"}, {"action": "cancel"}, {}, -32601,
                       {"action": "accept"}, {"action": "accept", "content": {"answer": 3}}):
            result, _ = self.ask_user(answer)
            self.assertEqual(result["error_code"], "DECLINED", answer)

    def test_choices_that_are_numbers(self):
        self.QUESTION = Answer(calls=[Call("ask_user", {"question": "How many?",
                                                        "choices": ["2", "1", "4"]})])
        for choice in ("1", "2", "4"):
            result, _ = self.ask_user({"action": "accept", "content": {"answer": choice}})
            self.assertEqual(result, {"answer": choice})

    def test_an_editor_without_forms(self):
        """An empty object means none, unlike in MCP."""
        for capabilities in ({}, {"elicitation": {}}, {"elicitation": None}):
            result, requests = self.ask_user(None, capabilities)
            self.assertEqual((result["error_code"], requests), ("DECLINED", []))

    def test_cancelling_takes_the_form_back(self):
        editor = self.editor([self.QUESTION, Answer("Again.")], capabilities=self.FORMS)
        editor.answers = {"elicitation/create": None}
        session = editor.open(self.project)
        id = editor.start(session, "Go")
        asked = editor.wait(lambda m: m.get("method") == "elicitation/create")
        editor.notify("session/cancel", {"sessionId": session})
        self.assertEqual(editor.answer_to(id)["result"], {"stopReason": "cancelled"})
        (withdrawn,) = [m for m in editor.log if m.get("method") == "$/cancel_request"]
        self.assertEqual(withdrawn["params"], {"requestId": asked["id"]})
        editor.send(id=asked["id"], error={"code": -32800, "message": "cancelled"})
        self.assertEqual(editor.prompt(session, "Go on")[0], "end_turn")

    def test_a_question_of_the_start(self):
        """Whether a key may be sent to an address: asked when the editor knows the session."""
        self.config({"providers": {"openai": {"base_url": "http://gateway.invalid:8443/v1"}}})
        editor = Editor(self, "-m", "openai/gpt-5", env={"OPENAI_API_KEY": "sk-canary"})
        editor.initialize(**self.FORMS)
        editor.answers = {"elicitation/create": {"action": "decline"}}
        session = editor.open(self.project)
        asked = editor.wait(lambda m: m.get("method") == "elicitation/create")["params"]
        self.assertIn("http://gateway.invalid:8443", asked["message"])
        self.assertEqual((asked["sessionId"], asked["requestedSchema"]["properties"]["answer"]),
                         (session, {"type": "string", "title": "Answer", "enum": ["yes", "no"],
                                    "default": "no"}))
        answer = editor.answer_to(editor.start(session, "Hi"))
        self.assertIn("error", answer)
        self.assertNotIn("canary", json.dumps(editor.log))

    def test_plan(self):
        todos = [{"content": "First \u00e4", "status": "completed"},
                 {"content": "Second", "status": "in_progress"},
                 {"content": "Third", "status": "pending"}]
        editor = self.editor([Answer(calls=[Call("todo", {"todos": todos})]), Answer("Done.")])
        session = editor.open(self.project)
        editor.prompt(session, "Go")
        (plan,) = [u for u in editor.updates() if u["sessionUpdate"] == "plan"]
        entries = [{**todo, "priority": "medium"} for todo in todos]
        self.assertEqual(plan["entries"], entries)
        before = len(editor.log)
        editor.call("session/load", {"sessionId": session, "cwd": self.project, "mcpServers": []})
        (plan,) = [u for u in editor.updates(editor.log[before:]) if u["sessionUpdate"] == "plan"]
        self.assertEqual(plan["entries"], entries)


    def test_results_that_are_not_envelopes(self):
        """A log that was imported may have any JSON there."""
        key = "0" * 16
        lines = [{"type": "session", "version": 1, "id": key, "cwd": self.project, "host": "h",
                  "model": "offline/markov", "created_us": 1},
                 {"type": "agent", "number": 1, "parent": 0, "forked_at": 0, "created_us": 1}]
        events = [("user", "Hi", None)]
        for i, output in enumerate(('["a"]', '"a"', "1", "null", '{"result":[]}')):
            events += [("tool_call", "bash", {"id": f"c{i}", "type": "function", "function": {
                           "name": "bash", "arguments": "[1]"}}),
                       ("tool_result", "", {"tool_call_id": f"c{i}", "name": "bash", "output": output})]
        lines += [{"type": "message", "agent": 1, "seq": i + 1, "created_us": i + 2, "kind": kind,
                   "content": content, "data": data} for i, (kind, content, data) in enumerate(events)]
        self.ikigai("session", "import", "-", input="\n".join(map(json.dumps, lines)).encode() + b"\n")
        editor = self.editor([])
        editor.call("session/load", {"sessionId": key, "cwd": self.project, "mcpServers": []})
        ended = [u["status"] for u in editor.updates() if u["sessionUpdate"] == "tool_call_update"]
        self.assertEqual(ended, ["failed"] * 5)


class Servers(AcpTest):
    def server(self, name, **script):
        return {"name": name, "command": sys.executable,
                "args": [os.path.join(ROOT, "tests", "mcp_peer.py"), json.dumps(script)],
                "env": [{"name": "A", "value": "b"}]}

    def test_servers_of_the_editor(self):
        """They belong to their session; one that cannot start costs nothing else."""
        editor = self.editor([Answer(calls=[Call("my_server__echo", {"text": "Hello"})]),
                              Answer("Done."), Answer("Done.")])
        servers = [self.server("my server", tools=["echo"]),
                   {"name": "broken", "command": "/no/such/program", "args": [], "env": []},
                   {"type": "sse", "name": "old", "url": "http://127.0.0.1:9/", "headers": []}]
        new = editor.call("session/new", {"cwd": self.project, "mcpServers": servers})
        reason, updates = editor.prompt(new["sessionId"], "Go")
        self.assertEqual(reason, "end_turn")
        (call,) = [u for u in updates if u["sessionUpdate"] == "tool_call"]
        self.assertEqual((call["title"], call["kind"]), ("my_server__echo", "other"))
        (ended,) = [u for u in updates if u.get("status") == "completed"]
        self.assertIn("Hello", json.dumps(ended["content"]))
        self.assertIn("broken", texts(updates, "agent_thought_chunk") + "".join(editor.errors))
        editor.prompt(editor.open(self.project), "Go")
        self.assertIn("my_server__echo", sent_tools(self.llm.requests[0]))
        self.assertNotIn("my_server__echo", sent_tools(self.llm.requests[2]))
        self.assertEqual(editor.end(), 0)

    def test_names_that_become_one(self):
        editor = self.editor([Answer("Done.")])
        servers = [self.server(name, tools=["echo"]) for name in ("a b", "a_b", "a.b", "x" * 70, "x" * 71)]
        new = editor.call("session/new", {"cwd": self.project, "mcpServers": servers})
        editor.prompt(new["sessionId"], "Go")
        tools = sent_tools(self.llm.requests[0])
        for name in ("a_b__echo", "a_b_2__echo", "a_b_3__echo"):
            self.assertIn(name, tools)
        self.assertEqual(len([name for name in tools if name.startswith("xxx")]), 2)

    def test_variables_are_not_expanded(self):
        """What an editor passes is final."""
        editor = self.editor([Answer(calls=[Call("s__environment", {})]), Answer("Done.")])
        server = self.server("s", tools=["environment"])
        server["args"].append("a${NOT_SET}")
        server["env"].append({"name": "B", "value": "b${NOT_SET}"})
        new = editor.call("session/new", {"cwd": self.project, "mcpServers": [server]})
        editor.prompt(new["sessionId"], "Go")
        (result,) = [m for m in sent_messages(self.llm.requests[1]) if m["role"] == "tool"]
        seen = json.loads(json.loads(result["content"])["result"]["output"])
        self.assertEqual((seen["args"], seen["env"]["B"]), (["a${NOT_SET}"], "b${NOT_SET}"))

    def test_a_form_of_a_server(self):
        """It is shown as the server made it, and the answer goes back as it is."""
        for answer, sent in (
                ({"action": "accept", "content": {"name": "Ada", "colour": "red"}},) * 2,
                ({"action": "decline"}, {"action": "decline"}), ({"action": "?"}, {"action": "cancel"}),
                (-32603, {"action": "cancel"})):
            editor = self.editor([Answer(calls=[Call("s__asking", {})]), Answer("Done.")],
                                 capabilities={"elicitation": {"form": {}}})
            editor.answers["elicitation/create"] = lambda _, answer=answer: answer
            session = editor.call("session/new", {
                "cwd": self.project, "mcpServers": [self.server("s")]})["sessionId"]
            self.assertEqual(editor.prompt(session, "Ask me.")[0], "end_turn")
            (request,) = editor.requests
            self.assertEqual(request["params"]["message"], "s asks: Who are you?")
            schema = request["params"]["requestedSchema"]
            self.assertEqual((list(schema["properties"]), schema["required"]),
                             (["name", "age", "colour"], ["name", "colour"]))
            ((_, envelope),) = sent_results(self.llm.requests[1])
            self.assertEqual(json.loads(envelope["result"]["output"]), sent)
            self.assertEqual(editor.end(), 0)

    def test_cancelling_takes_the_form_of_a_server_back(self):
        """From the editor and from the server; later questions do not wait behind it."""
        log = self.path("wire.log")
        editor = self.editor([Answer(calls=[Call("s__asking", {})]),
                              Answer(calls=[Call("file_write", {"file_path": "f", "content": "x"})]),
                              Answer("Done.")], capabilities={"elicitation": {"form": {}}})
        editor.answers = {**choose("allow_once"), "elicitation/create": None}
        session = editor.call("session/new", {
            "cwd": self.project, "mcpServers": [self.server("s", log=log)]})["sessionId"]
        id = editor.start(session, "Ask me.")
        asked = editor.wait(lambda m: m.get("method") == "elicitation/create")
        editor.notify("session/cancel", {"sessionId": session})
        self.assertEqual(editor.answer_to(id)["result"], {"stopReason": "cancelled"})
        (taken_back,) = [m for m in editor.log if m.get("method") == "$/cancel_request"]
        self.assertEqual(taken_back["params"], {"requestId": asked["id"]})
        editor.call("session/set_mode", {"sessionId": session, "modeId": "ask"})
        self.assertEqual(editor.prompt(session, "Write.")[0], "end_turn")
        self.assertEqual(self.read("project/f"), b"x")
        self.assertEqual(editor.end(), 0)
        self.assertIn(b'> {"jsonrpc":"2.0","id":"s1","result":{"action":"cancel"}}\n', self.read("wire.log"))

    def test_the_time_of_the_user_is_not_that_of_the_call(self):
        """The idle time of a call begins again with the answer."""
        editor = self.editor([Answer(calls=[Call("s__asking", {"mute": True})]), Answer("Done.")],
                             config={"tool_timeout_seconds": 4}, capabilities={"elicitation": {"form": {}}})

        def hesitate(_):
            time.sleep(2)
            self.answered = time.monotonic()
            return {"action": "decline"}
        editor.answers["elicitation/create"] = hesitate
        session = editor.call("session/new", {
            "cwd": self.project, "mcpServers": [self.server("s")]})["sessionId"]
        self.assertEqual(editor.prompt(session, "Go")[0], "end_turn")
        ((_, envelope),) = sent_results(self.llm.requests[1])
        self.assertEqual(envelope["error_code"], "TOOL_TIMEOUT")
        self.assertGreater(time.monotonic() - self.answered, 3.99)

    def test_a_url_of_a_server(self):
        """An editor that opens URLs gets it as such, one with forms as a form without fields."""
        visit = {"mode": "url", "message": "Sign in.", "url": "https://example.org/x",
                 "elicitationId": "e"}
        call = Answer(calls=[Call("s__asking", {"params": visit})])
        for able, answer, sent in (
                ({"url": {}}, {"action": "accept"}, {"action": "accept"}),
                ({"url": {}, "form": {}}, {"action": "decline"}, {"action": "decline"}),
                ({"form": {}}, {"action": "accept", "content": {}}, {"action": "accept"}),
                ({"form": {}}, {"action": "cancel"}, {"action": "cancel"}),
                ({}, None, {"action": "cancel"})):
            editor = self.editor([call, Answer("Done.")], capabilities={"elicitation": able})
            editor.answers["elicitation/create"] = answer
            session = editor.call("session/new", {
                "cwd": self.project, "mcpServers": [self.server("s")]})["sessionId"]
            self.assertEqual(editor.prompt(session, "Go")[0], "end_turn")
            ((_, envelope),) = sent_results(self.llm.requests[1])
            self.assertEqual(json.loads(envelope["result"]["output"]), sent, able)
            asked = [r["params"] for r in editor.requests]
            if "url" in able:
                self.assertRegex(asked[0].pop("elicitationId"), "^[0-9A-Za-z]+$")
                self.assertEqual(asked, [{"sessionId": session, "mode": "url",
                                          "message": "s asks: Sign in.", "url": visit["url"]}])
            elif able:
                self.assertEqual(asked, [{
                    "sessionId": session, "mode": "form",
                    "message": "s asks: Sign in. Visit https://example.org/x",
                    "requestedSchema": {"type": "object", "properties": {}}}])
            else:
                self.assertEqual(asked, [])
            self.assertEqual(editor.end(), 0)

    def test_over_http(self):
        """With the headers that the editor gives; a server of the old kind of HTTP is named as such."""
        peer = McpHttp(sse=True, token="canary").start()
        self.addCleanup(peer.stop)
        editor = self.editor([Answer(calls=[Call("web__echo", {"text": "Hello"})]), Answer("Done.")])
        header = [{"name": "Authorization", "value": "Bearer canary"}]
        new = editor.call("session/new", {"cwd": self.project, "mcpServers": [
            {"type": "http", "name": "web", "url": peer.url, "headers": header},
            {"type": "http", "name": "gone", "url": "http://127.0.0.1:1/mcp", "headers": []},
            {"type": "sse", "name": "old", "url": peer.url, "headers": []}]})
        reason, updates = editor.prompt(new["sessionId"], "Go")
        self.assertEqual(reason, "end_turn")
        (ended,) = [u for u in updates if u.get("status") == "completed"]
        self.assertIn("Hello", json.dumps(ended["content"]))
        self.assertEqual({r["headers"].get("Authorization") for r in peer.requests},
                         {"Bearer canary"})
        self.assertEqual(editor.end(), 0)
        log = "".join(editor.errors)
        self.assertRegex(log, "'gone' is not used: it cannot be reached")
        self.assertRegex(log, "'old' is not used: the transport sse is not supported")
        self.assertNotIn("canary", log + json.dumps(editor.log))

    def test_wrong_entries(self):
        editor = self.editor()
        for entry in ("x", {}, {"name": "a"}, {"name": 1, "command": "x", "args": [], "env": []},
                      {"name": "a", "command": "x", "args": "y", "env": []},
                      {"name": "a", "command": "x", "args": [1], "env": []},
                      {"name": "a", "command": "x", "args": [], "env": {"A": "b"}},
                      {"type": "http", "name": "a", "headers": []}):
            editor.call("session/new", {"cwd": self.project, "mcpServers": [entry]}, error=-32602)


class Cancelling(AcpTest):
    def cancel(self, editor, session, id, twice=False):
        """Cancels; the prompt has exactly one answer, and nothing follows it."""
        editor.notify("session/cancel", {"sessionId": session})
        if twice:
            editor.notify("session/cancel", {"sessionId": session})
        answer = editor.answer_to(id)
        self.assertEqual(answer.get("result"), {"stopReason": "cancelled"}, answer)
        count = len(editor.log)
        editor.call("session/set_mode", {"sessionId": session, "modeId": "auto"})
        editor.wait_update("config_option_update")
        self.assertEqual(len(editor.log), count + 2)

    def test_everywhere(self):
        """Before the first token, while streaming, in a tool, at a question, twice, when idle."""
        script = [Answer("A", wire=Wire(delay_head=60)),
                  Answer("Streaming along.", fragments=4, wire=Wire(stall_after=3)),
                  Answer(calls=[Call("bash", {"command": "sleep 1000"}), Call("glob", {
                      "pattern": "*"})]),
                  Answer(calls=[Call("file_write", {"file_path": "f", "content": "x"})]),
                  Answer("Still here.")]
        editor = self.editor(script)
        session = editor.open(self.project)
        id = editor.start(session, "1")
        self.llm.wait_for_requests(1)
        self.cancel(editor, session, id)
        id = editor.start(session, "2")
        editor.wait_update("agent_message_chunk")
        self.cancel(editor, session, id, twice=True)
        id = editor.start(session, "3")
        editor.wait_update("tool_call_update", status="in_progress")
        editor.notify("$/cancel_request", {"requestId": id})
        self.cancel(editor, session, id)
        self.assertEqual([u["status"] for u in editor.updates() if u.get("status") in (
            "completed", "failed")], ["failed", "failed"])
        editor.call("session/set_mode", {"sessionId": session, "modeId": "ask"})
        editor.answers = {"session/request_permission": None}
        id = editor.start(session, "4")
        asked = editor.wait(lambda m: m.get("method") == "session/request_permission")
        editor.notify("session/cancel", {"sessionId": session})
        editor.send(id=asked["id"], result={"outcome": {"outcome": "cancelled"}})
        self.assertEqual(editor.answer_to(id)["result"], {"stopReason": "cancelled"})
        editor.notify("session/cancel", {"sessionId": session})  # idle
        editor.notify("session/cancel", {})
        self.assertEqual(editor.prompt(session, "5")[0], "end_turn")
        self.assertFalse(os.path.exists(self.path("project", "f")))

    def test_before_the_tools_are_found(self):
        """The prompt still waits: nothing is sent."""
        self.user_tool("slow", tool_script("slow", first="while [ ! -e %s ]; do sleep 0.02; done"
                                           % self.path("go")))
        editor = self.editor([Answer("Yes.")], config={"schema_timeout_ms": 60000})
        session = editor.open(self.project)
        id = editor.start(session, "Hi")
        editor.notify("session/cancel", {"sessionId": session})
        self.assertEqual(editor.answer_to(id)["result"], {"stopReason": "cancelled"})
        self.write("go")
        self.assertEqual(editor.prompt(session, "Hello")[0], "end_turn")
        self.assertEqual(self.user_texts(), ["Hello"])


class Sessions(AcpTest):
    def test_load_and_resume(self):
        """load sends the conversation and then answers; resume sends none of it."""
        self.write("project/a", "hi\n")
        talk = [Answer(thinking="Hm.", text="Reading.",
                       calls=[Call("file_read", {"file_path": "a"}),
                              Call("file_edit", {"file_path": "a", "old_string": "hi",
                                                 "new_string": "ho"})]),
                Answer("Done.")]
        config = {"providers": {"openai": {"api": "responses"}}}
        editor = self.editor(talk, config=config)
        session = editor.open(self.project)
        editor.prompt(session, "Read")
        memory = self.llm.memory
        self.assertEqual(editor.end(), 0)
        editor = self.editor([Answer("Again.")] * 2, config=config, server={"memory": memory})
        params = {"sessionId": session, "cwd": self.project, "mcpServers": []}
        before = len(editor.log)
        answer = editor.call("session/load", params)
        self.assertIn("configOptions", answer)
        replayed = editor.updates(editor.log[before:])
        kinds = [u["sessionUpdate"] for u in replayed]
        self.assertEqual(kinds[:4], ["user_message_chunk", "agent_thought_chunk",
                                     "agent_message_chunk", "tool_call"])
        self.assertEqual(texts(replayed, "user_message_chunk"), "Read")
        self.assertEqual(texts(replayed), "Reading.Done.")
        ended = [u for u in replayed if u["sessionUpdate"] == "tool_call_update"]
        self.assertEqual([u["status"] for u in ended], ["completed"] * 2)
        self.assertEqual(ended[1]["content"][0]["newText"], "ho")
        self.assertEqual(editor.prompt(session, "And now?")[0], "end_turn")
        self.assertIn("Read", json.dumps(self.llm.requests[0].json))
        self.assertIn("open in another folder", editor.call(
            "session/load", {**params, "cwd": self.path()}, error=-32600))
        self.assertIn("configOptions", editor.call("session/resume", params))  # open already
        self.assertEqual(editor.call("session/close", {"sessionId": session}), {})
        editor.call("session/close", {"sessionId": session}, error=-32002)
        before = len(editor.log)
        editor.call("session/resume", params)
        self.assertEqual(editor.updates(editor.log[before:]), [])
        editor.wait_update("available_commands_update")
        self.assertEqual(editor.prompt(session, "More?")[0], "end_turn")
        other = Editor(self, env=self.connect(self.llm, config))
        other.initialize()
        self.assertIn("in use", other.call("session/resume", params, error=-32603))

    def test_requests_while_it_is_opened(self):
        """A session has one workspace: nothing else opens or deletes it before it is there."""
        editor = self.editor(lambda request: Answer("Yes."))
        session = editor.open(self.project)
        editor.prompt(session, "One")
        editor.call("session/close", {"sessionId": session})
        params = {"sessionId": session, "cwd": self.project, "mcpServers": []}
        methods = ["session/load", "session/load", "session/resume", "session/delete"]
        editor.raw("".join(json.dumps({"jsonrpc": "2.0", "id": f"r{i}", "method": m, "params": params}) + "\n"
                           for i, m in enumerate(methods)).encode())  # all arrive at once
        answers = {}
        while len(answers) < len(methods):
            message = editor.wait(lambda m: "method" not in m)
            answers[message["id"]] = message
        self.assertIn("configOptions", answers["r0"]["result"])
        for i in range(1, len(methods)):
            self.assertEqual(answers[f"r{i}"]["error"],
                             {"code": -32600, "message": "The session is being opened"})
        for text in ("Two", "Three"):
            self.assertEqual(editor.prompt(session, text)[0], "end_turn")
            editor.call("session/close", {"sessionId": session})
            editor.call("session/load", params)
        self.assertEqual(editor.end(), 0)
        self.assertNotIn("not being saved", "".join(editor.errors))
        self.assertEqual(self.user_texts(2), ["One", "Two", "Three"])

    def test_list_close_delete(self):
        """Newest first, fifty at a time; deleting twice is no error."""
        editor = self.editor(lambda request: Answer("Yes."))
        self.assertEqual(editor.call("session/list", {}), {"sessions": []})
        made = []
        for i in range(3):
            made.append(editor.open(self.project))
            editor.prompt(made[-1], f"Number {i}")
        listed = editor.call("session/list", {"cwd": self.project})["sessions"]
        self.assertEqual([s["sessionId"] for s in listed], made[::-1])
        self.assertEqual(listed[0]["title"], "Number 2")
        self.assertRegex(listed[0]["updatedAt"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(editor.call("session/list", {"cwd": "/"}), {"sessions": []})
        for _ in range(2):
            self.assertEqual(editor.call("session/delete", {"sessionId": made[0]}), {})
        self.assertEqual(editor.call("session/delete", {"sessionId": "nonsense"}), {})
        self.assertEqual(len(editor.call("session/list", {})["sessions"]), 2)
        editor.call("session/prompt", {"sessionId": made[0], "prompt": []}, error=-32002)
        exported = json.loads(self.ikigai("session", "list", "--json").out)
        self.assertEqual([s["id"] for s in exported], made[:0:-1])

    def test_without_a_prompt(self):
        """It is listed while it is open, and can be loaded; lists of the terminal leave it out."""
        editor = self.editor([Answer("Yes.")] * 3)
        spoken = editor.open(self.project)
        editor.prompt(spoken, "Hi")
        silent, other = editor.open(self.project), editor.open(self.path())
        listed = editor.call("session/list", {"cwd": self.project})["sessions"]
        self.assertEqual([(s["sessionId"], s["cwd"], s.get("title")) for s in listed],
                         [(silent, self.project, None), (spoken, self.project, "Hi")])
        self.assertEqual([s["sessionId"] for s in editor.call("session/list", {})["sessions"]],
                         [other, silent, spoken])
        params = {"sessionId": silent, "cwd": self.project, "mcpServers": []}
        editor.call("session/load", params)
        self.assertEqual(editor.call("session/close", {"sessionId": silent}), {})
        self.assertEqual([s["sessionId"] for s in editor.call("session/list", {
            "cwd": self.project})["sessions"]], [spoken])
        editor.call("session/delete", {"sessionId": other})
        editor.call("session/load", {**params, "sessionId": other}, error=-32002)
        self.assertEqual(editor.end(), 0)
        listed = json.loads(self.ikigai("session", "list", "--json").out)
        self.assertEqual([s["id"] for s in listed], [spoken])
        done = self.ikigai("-c", "-p", "Again", env=self.connect(self.llm))
        self.assertIn("Hi", json.dumps(self.llm.requests[1].json), done)
        editor = self.editor([Answer("Yes.")])
        before = len(editor.log)
        editor.call("session/load", params)
        self.assertEqual(editor.updates(editor.log[before:]), [])
        self.assertEqual(editor.prompt(silent, "Now")[0], "end_turn")
        self.assertEqual([m["content"] for m in sent_messages(self.llm.requests[0])
                          if m["role"] != "system"], ["Now"])
        self.assertIn("system", [m["role"] for m in sent_messages(self.llm.requests[0])])
        self.assertEqual(editor.end(), 0)
        listed = json.loads(self.ikigai("session", "list", "--json").out)
        self.assertEqual([s["id"] for s in listed], [silent, spoken])

    def test_pages(self):
        editor = self.editor(lambda request: Answer("Yes."))
        session = editor.open(self.project)
        editor.prompt(session, "Hi")
        for _ in range(51):
            self.ikigai("session", "fork", session)
        first = editor.call("session/list", {})
        # The last one is used meanwhile, which makes it the newest; the forks have the time of the first.
        last = first["sessions"][-1]["sessionId"]
        editor.call("session/resume", {"sessionId": last, "cwd": self.project, "mcpServers": []})
        editor.prompt(last, "Hi")
        second = editor.call("session/list", {"cursor": first["nextCursor"]})
        ids = [s["sessionId"] for s in first["sessions"] + second["sessions"]]
        self.assertEqual((len(first["sessions"]), len(ids), len(set(ids)), "nextCursor" in second),
                         (50, 52, 52, False))

    def test_close_in_the_middle(self):
        """The prompt is answered before the session is gone; the others stay."""
        editor = self.editor([Answer("A", wire=Wire(delay_head=60)), Answer("B")])
        first, second = editor.open(self.project), editor.open(self.project)
        id = editor.start(first, "Go")
        self.llm.wait_for_requests(1)
        closing = editor.ask("session/close", {"sessionId": first})
        self.assertEqual(editor.answer_to(id)["result"], {"stopReason": "cancelled"})
        self.assertEqual(editor.answer_to(closing)["result"], {})
        self.assertEqual(editor.prompt(second, "Go")[0], "end_turn")


class Buffers(AcpTest):
    """Files that the editor has open and has not saved."""
    FS = {"fs": {"readTextFile": True, "writeTextFile": True}}

    def editor(self, *args, saves=True, **more):
        """An editor with buffers; a save also writes the disk."""
        editor = super().editor(*args, capabilities=more.pop("capabilities", self.FS), **more)
        editor.buffers, editor.read, editor.written = {}, [], []

        def read(params):
            editor.read.append(params["path"])
            text = editor.buffers.get(params["path"])
            return -32002 if text is None else {"content": text}

        def write(params):
            editor.written.append((params["path"], params["content"]))
            editor.buffers[params["path"]] = params["content"]
            if saves:
                with open(params["path"], "w", newline="") as file:
                    file.write(params["content"])
            return {}
        editor.answers = {"fs/read_text_file": read, "fs/write_text_file": write}
        return editor

    def results(self, number):
        return [e.get("result") for _, e in sent_results(self.llm.requests[number])]

    def test_unsaved_changes(self):
        """file_read sees them, file_edit works on them, and undo brings them back."""
        path = self.write("project/a", "disk\nlast\n")
        editor = self.editor([
            Answer(calls=[Call("file_read", {"file_path": "a", "limit": 1})]),
            Answer(calls=[Call("file_edit", {"file_path": path, "old_string": "unsaved",
                                             "new_string": "edited"})]),
            Answer(calls=[Call("file_edit", {"file_path": "a", "old_string": "none",
                                             "new_string": "x"})]),
            Answer(calls=[Call("file_write", {"file_path": "new", "content": "n\n"})]),
            Answer("Done.")])
        session = editor.open(self.project)
        editor.buffers[path] = "unsaved\nlast\n"
        editor.prompt(session, "Go")
        read, edited, failed, new = self.results(4)
        self.assertEqual(read, {"output": "unsaved\n"})
        self.assertEqual(edited, {"output": "Replaced 1 occurrence in a", "replacements": 1})
        self.assertEqual(failed["error_code"], "NOT_FOUND")
        self.assertEqual(new, {"output": "Wrote 2 bytes to new", "bytes": 2})
        self.assertEqual(editor.written, [
            (path, "unsaved\nlast\n"), (path, "edited\nlast\n"),
            (self.path("project", "new"), "n\n")])
        ended = [u for u in editor.updates() if u.get("status") == "completed"]
        self.assertEqual(ended[1]["content"], [{"type": "diff", "path": path,
                                                "oldText": "unsaved\nlast\n",
                                                "newText": "edited\nlast\n"}])
        editor.end()
        self.ikigai("session", "undo", session)
        self.assertEqual(self.read("project/a"), b"unsaved\nlast\n")
        self.assertFalse(os.path.exists(self.path("project", "new")))

    def test_a_nul_in_the_text(self):
        path = self.write("project/a", "disk\n")
        editor = self.editor([
            Answer(calls=[Call("file_write", {"file_path": "a", "content": "x\0y"})]), Answer("Done.")])
        session = editor.open(self.project)
        editor.buffers[path] = "disk\n"
        editor.prompt(session, "Go")
        self.assertEqual(self.results(1), [{"output": "Wrote 3 bytes to a", "bytes": 3}])
        self.assertEqual(self.read("project/a"), b"x\0y")
        editor.end()

    def test_what_the_editor_is_not_asked_for(self):
        """Hidden files, files elsewhere, and writing in plan mode; its errors lead to the disk."""
        self.write("project/.env", "hidden\n")
        self.write("project/b", "on the disk\n")
        os.symlink("/etc/passwd", self.path("project", "link"))
        outside = self.write("outside", "elsewhere\n")
        self.write("project/secret/key", "canary")
        calls = [Call("file_read", {"file_path": name})
                 for name in (".env", outside, "link", "b", "secret/key")]
        write = Call("file_write", {"file_path": "b", "content": "x"})
        editor = self.editor([Answer(calls=calls), Answer("Done."), Answer(calls=[write]),
                              Answer("Done.")], config={"hidden": [self.path("project", "secret")]})
        editor.buffers[self.path("project", "secret", "key")] = "canary"
        session = editor.open(self.project)
        editor.prompt(session, "Go")
        self.assertEqual(editor.read, [self.path("project", "b")])
        self.assertEqual([r.get("output") for r in self.results(1)][::3], ["hidden\n", "on the disk\n"])
        self.assertNotIn("canary", json.dumps(self.results(1)))
        editor.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
        editor.buffers[self.path("project", "b")] = "unsaved"
        editor.prompt(session, "Go")
        self.assertEqual((editor.written, self.read("project/b")), ([], b"on the disk\n"))

    def test_an_editor_that_only_reads(self):
        path = self.write("project/a", "disk")
        editor = self.editor([Answer(calls=[Call("file_read", {"file_path": "a"}),
                                            Call("file_write", {"file_path": "a",
                                                                "content": "x"})]),
                              Answer("Done.")], capabilities={"fs": {"readTextFile": True}})
        session = editor.open(self.project)
        editor.buffers[path] = "unsaved"
        editor.prompt(session, "Go")
        self.assertEqual(self.results(1)[0], {"output": "unsaved"})
        self.assertEqual((editor.written, self.read("project/a")), ([], b"x"))

    def test_an_editor_that_does_not_write(self):
        """With unsaved changes the call fails; otherwise it works on the disk."""
        path = self.write("project/a", "disk")
        call = Call("file_write", {"file_path": "a", "content": "x"})
        editor = self.editor([Answer(calls=[call]), Answer("Done.")] * 2)
        editor.answers["fs/write_text_file"] = -32603
        session = editor.open(self.project)
        editor.buffers[path] = "unsaved"
        editor.prompt(session, "Go")
        _, envelope = sent_results(self.llm.requests[1])[0]
        self.assertEqual(envelope["error_code"], "WRITE_FAILED")
        self.assertEqual(self.read("project/a"), b"disk")
        editor.buffers[path] = "disk"
        editor.prompt(session, "Go")
        self.assertEqual(self.read("project/a"), b"x")

    def test_cancelling_while_the_editor_is_asked(self):
        self.write("project/a", "disk")
        editor = self.editor([Answer(calls=[Call("file_read", {"file_path": "a"})])])
        editor.answers = {"fs/read_text_file": None}
        session = editor.open(self.project)
        id = editor.start(session, "Go")
        asked = editor.wait(lambda m: m.get("method") == "fs/read_text_file")
        editor.notify("session/cancel", {"sessionId": session})
        self.assertEqual(editor.answer_to(id)["result"], {"stopReason": "cancelled"})
        (taken_back,) = [m for m in editor.log if m.get("method") == "$/cancel_request"]
        self.assertEqual(taken_back["params"], {"requestId": asked["id"]})
