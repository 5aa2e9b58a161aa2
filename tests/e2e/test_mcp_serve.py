"""`ikigai mcp serve`: this machine's tools for other agents, in both eras of the protocol."""
import base64
import glob
import json
import os
import signal
import subprocess
import sys
import time
import unittest

import hostile
from agent_support import AgentTest
from image_support import png
from support import IKIGAI, ROOT, tool_script

PREFIX = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
NETWORK = {"command": "true", "permissions": "network", "reason": "to fetch"}


class Client:
    """A client that reads one message at a time."""

    def __init__(self, test, *args, elicitation=None):
        self.test, self.last = test, 0
        self.elicitation = elicitation  # what the client can do, or None
        self.process = subprocess.Popen(
            [IKIGAI, "mcp", "serve", *args], cwd=test.project, env=test.env(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        test.addCleanup(self.close)

    def close(self):
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()

    def send(self, message):
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(raw + b"\n")
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        self.test.assertTrue(line, "the server ended")
        message = json.loads(line)
        self.test.assertEqual(message["jsonrpc"], "2.0")
        return message

    def request(self, method, params=None, id=None):
        self.last += 1
        id = self.last if id is None else id
        self.send({"jsonrpc": "2.0", "id": id, "method": method,
                   **({} if params is None else {"params": params})})
        return id

    def ask(self, method, params=None, id=None):
        """The answer, which must come next."""
        id = self.request(method, params, id)
        answer = self.read()
        self.test.assertEqual(answer["id"], id, answer)
        return answer

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def initialize(self, version="2025-11-25"):
        capabilities = {} if self.elicitation is None else {"elicitation": self.elicitation}
        result = self.ask("initialize", {
            "protocolVersion": version, "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"}})["result"]
        self.notify("notifications/initialized")
        return result

    def meta(self, version=MODERN):
        capabilities = {} if self.elicitation is None else {"elicitation": self.elicitation}
        return {PREFIX + "protocolVersion": version, PREFIX + "clientCapabilities": capabilities,
                PREFIX + "clientInfo": {"name": "test", "version": "1"}}

    def modern(self, method, **params):
        return self.ask(method, {**params, "_meta": {**self.meta(), **params.get("_meta", {})}})

    def call(self, name, arguments=None, **params):
        return self.ask("tools/call", {"name": name, "arguments": arguments or {}, **params})["result"]

    def end(self):
        self.process.stdin.close()
        self.test.assertEqual(self.process.wait(timeout=60), 0)


class ServeTest(AgentTest):
    def client(self, *args, **options):
        client = Client(self, *args, **options)
        client.initialize()
        return client

    def alive(self, pid):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True

    def wait_until(self, condition, what):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.01)


class Openings(ServeTest):
    def test_legacy(self):
        for version, agreed in (("2024-11-05", None), ("2025-03-26", None), ("2025-06-18", None),
                                ("2025-11-25", None), ("2031-01-01", "2025-11-25")):
            with self.subTest(version=version):
                client = Client(self)
                result = client.initialize(version)
                self.assertEqual(result["protocolVersion"], agreed or version)
                self.assertEqual(result["capabilities"], {"tools": {}})
                self.assertEqual(result["serverInfo"]["name"], "ikigai")
                self.assertNotIn("resultType", result)
                client.end()

    def test_before_initialize(self):
        client = Client(self)
        self.assertEqual(client.ask("ping")["result"], {})
        for method in ("tools/list", "tools/call"):
            self.assertEqual(client.ask(method)["error"]["code"], -32600)
        self.assertEqual(client.ask("initialize", {})["error"]["code"], -32602)
        client.initialize()
        self.assertIn("tools", client.ask("tools/list", id=0)["result"])
        self.assertIn("tools", client.ask("tools/list", {}, id="x")["result"])
        self.assertEqual(client.ask("initialize", {"protocolVersion": "2025-06-18"})
                         ["error"]["code"], -32600)
        self.assertEqual(client.ask("resources/list")["error"]["code"], -32601)
        client.notify("notifications/unknown")
        client.end()

    def test_modern(self):
        client = Client(self)
        found = client.modern("server/discover")["result"]
        self.assertEqual(found["supportedVersions"], [MODERN])
        self.assertEqual(found["capabilities"], {"tools": {}})
        self.assertEqual(found["resultType"], "complete")
        self.assertEqual(found["_meta"][PREFIX + "serverInfo"]["name"], "ikigai")
        listed = client.modern("tools/list")["result"]
        self.assertEqual((listed["resultType"], listed["cacheScope"]), ("complete", "private"))
        self.assertGreaterEqual(listed["ttlMs"], 0)
        result = client.modern("tools/call", name="bash", arguments={"command": "echo hi"})["result"]
        self.assertEqual(result["structuredContent"], {"output": "hi", "exit_code": 0})
        self.assertEqual(result["resultType"], "complete")
        for _ in range(2):  # there is no state, so the other era can begin at any time
            error = client.ask("tools/list", {"_meta": client.meta("2031-01-01")})["error"]
            self.assertEqual(error["code"], -32022)
            self.assertEqual(error["data"], {"supported": [MODERN], "requested": "2031-01-01"})
            for meta in ({}, {PREFIX + "protocolVersion": MODERN},
                         {PREFIX + "clientCapabilities": {}}):
                self.assertEqual(client.ask("server/discover", {"_meta": meta})["error"]["code"], -32602)
            self.assertEqual(client.ask("server/discover")["error"]["code"], -32602)
            if client.elicitation is None:
                client.elicitation = {}
                client.initialize()
        self.assertNotIn("resultType", client.ask("tools/list")["result"])
        client.end()

    def test_junk(self):
        client = self.client()
        client.send(b"")
        for line, code in ((b"{", -32700), (b"[]", -32600), (b'{"jsonrpc":"2.0"}', -32600)):
            client.send(line)
            answer = client.read()
            self.assertEqual((answer["error"]["code"], answer["id"]), (code, None))
        client.process.stdin.write(b'{"jsonrpc":"2.0","id":9,"meth')
        client.process.stdin.flush()
        client.process.stdin.write(b'od":"ping"}\r\n')
        client.process.stdin.flush()
        self.assertEqual(client.read(), {"jsonrpc": "2.0", "id": 9, "result": {}})
        client.end()


class Tools(ServeTest):
    def test_list(self):
        self.tool("wild", "cat")  # declares no effects
        client = self.client()
        listed = client.ask("tools/list")["result"]
        self.assertEqual(set(listed), {"tools"})
        names = [tool["name"] for tool in listed["tools"]]
        self.assertEqual(names, sorted(names))
        tools = {tool["name"]: tool for tool in listed["tools"]}
        self.assertEqual(tools["grep"]["annotations"], {
            "readOnlyHint": True, "destructiveHint": False, "openWorldHint": False})
        self.assertEqual(tools["bash"]["annotations"], {
            "readOnlyHint": False, "destructiveHint": True, "openWorldHint": False})
        self.assertEqual(tools["wild"]["annotations"], {
            "readOnlyHint": False, "destructiveHint": True, "openWorldHint": True})
        self.assertEqual(tools["bash"]["inputSchema"]["required"], ["command"])
        self.assertIn("shell", tools["bash"]["description"])
        client.end()

    def test_some_of_them(self):
        client = self.client("--tools", "grep,bash")
        self.assertEqual([t["name"] for t in client.ask("tools/list")["result"]["tools"]],
                         ["bash", "grep"])
        self.assertEqual(client.ask("tools/call", {"name": "glob", "arguments": {}})["error"]["code"],
                         -32602)
        client.end()
        for args in (["--tools", "grep,nope"], ["--tools", ""], ["--mode", "wild"]):
            self.assertEqual(self.ikigai("mcp", "serve", *args, status=2).out, "")

    def test_not_those_of_other_servers(self):
        peer = os.path.join(ROOT, "tests", "mcp_peer.py")
        self.config({"mcpServers": {"s": {"command": sys.executable, "args": [peer, "{}"]}}})
        self.assertIn("s__plain", self.ikigai("tool", "list").out)
        client = self.client()
        self.assertNotIn("s__", json.dumps(client.ask("tools/list")))
        self.assertEqual(client.ask("tools/call", {"name": "s__plain"})["error"]["code"], -32602)
        client.end()
        self.ikigai("mcp", "serve", "--tools", "s__plain", status=2)

    def test_it_starts_no_other_server(self):
        """One of the servers may be this one; it would start itself without end."""
        log = self.path("started")
        self.config({"mcpServers": {
            "self": {"command": IKIGAI, "args": ["mcp", "serve"]},
            "other": {"command": "/bin/sh", "args": ["-c", f"echo x >> {log}"]}}})
        client = self.client()
        self.assertIn("bash", json.dumps(client.ask("tools/list")))
        client.end()
        self.assertFalse(os.path.exists(log))
        shown = self.ikigai("mcp", "show", "self").out
        self.assertIn("self__bash", shown)

    def test_a_tool_that_asks(self):
        client = self.client()
        result = client.call("ask_user", {"question": "Why?"})
        self.assertEqual((result["isError"], result["structuredContent"]["error_code"]),
                         (True, "NO_USER"))
        client.end()

    def test_a_projects_tools_need_trust(self):
        self.project_tool("mine", tool_script("mine", "echo '{\"a\":1}'"))
        client = self.client()
        self.assertEqual(client.ask("tools/call", {"name": "mine"})["error"]["code"], -32602)
        client.end()
        client = self.client("--trust")
        self.assertEqual(client.call("mine")["structuredContent"], {"a": 1})
        client.end()

    def test_bad_calls(self):
        client = self.client()
        for cursor in ("", "x", 3):
            self.assertEqual(client.ask("tools/list", {"cursor": cursor})["error"]["code"], -32602)
        self.assertIn("tools", client.ask("tools/list", {"cursor": None})["result"])
        for params in (None, {}, {"name": 1}, {"name": "nope"}, {"name": "bash", "arguments": []}):
            self.assertEqual(client.ask("tools/call", params)["error"]["code"], -32602, params)
        self.assertTrue(client.call("bash")["isError"])  # its own complaint
        client.end()

    def test_results(self):
        self.tool("text", "echo '\"plain\"'")
        self.tool("wrong", "echo '{\"error\":\"no\",\"error_code\":\"NOPE\"}'")
        self.tool("crash", "echo oops >&2; exit 3")
        client = self.client()
        result = client.call("bash", {"command": "echo hi"})
        self.assertEqual(result, {
            "content": [{"type": "text", "text": '{"output":"hi","exit_code":0}'}],
            "structuredContent": {"output": "hi", "exit_code": 0}, "isError": False})
        result = client.call("text")
        self.assertEqual(result, {"content": [{"type": "text", "text": '"plain"'}], "isError": False})
        result = client.call("wrong")
        self.assertEqual((result["isError"], result["structuredContent"]),
                         (True, {"error": "no", "error_code": "NOPE"}))
        # What ikigai says about a call is not among the content.
        for result in (client.call("bash", {"command": "exit 3"}),
                       client.modern("tools/call", name="bash",
                                     arguments={"command": "exit 3"})["result"]):
            self.assertEqual(result["content"],
                             [{"type": "text", "text": '{"output":"","exit_code":3}'}])
            self.assertEqual(result["structuredContent"], {"output": "", "exit_code": 3})
            self.assertIn(self.project, result["_meta"]["ikigai/notes"]["confined"])
        self.assertEqual(result["_meta"][PREFIX + "serverInfo"]["name"], "ikigai")
        result = client.call("crash")
        self.assertTrue(result["isError"])
        self.assertNotIn("tool_success", result["structuredContent"])
        self.assertEqual(json.loads(result["content"][0]["text"]), result["structuredContent"])
        self.assertEqual(result["structuredContent"]["error_code"], "TOOL_CRASHED")
        client.end()

    def test_images(self):
        image = png(8, 4)
        with open(os.path.join(self.project, "shot.png"), "wb") as f:
            f.write(image)
        client = self.client()
        blocks = client.call("file_read", {"file_path": "shot.png"})["content"]
        self.assertEqual([b["type"] for b in blocks], ["text", "image"])
        self.assertEqual((base64.b64decode(blocks[1]["data"]), blocks[1]["mimeType"]),
                         (image, "image/png"))
        client.end()


class Calls(ServeTest):
    def test_at_the_same_time(self):
        client = self.client()
        fifo = os.path.join(self.project, "fifo")
        os.mkfifo(fifo)
        ids = [client.request("tools/call", {"name": "bash", "arguments": {"command": command}})
               for command in ("cat fifo", "echo b > fifo")]
        answers = {answer["id"]: answer["result"] for answer in (client.read(), client.read())}
        self.assertEqual([answers[id]["structuredContent"]["output"] for id in ids], ["b", ""])
        client.end()

    def test_progress_only_with_a_token(self):
        client = self.client()
        command = {"command": "echo one; sleep 0.3; echo two"}
        self.assertFalse(client.call("bash", command)["isError"])  # the answer comes next
        for token in (0, "t"):
            id = client.request("tools/call", {"name": "bash", "arguments": command,
                                               "_meta": {"progressToken": token}})
            steps = []
            while True:
                message = client.read()
                if message.get("id") == id:
                    break
                self.assertEqual(message["method"], "notifications/progress")
                self.assertEqual(message["params"]["progressToken"], token)
                steps.append(message["params"]["progress"])
            self.assertTrue(steps)
            self.assertEqual(steps, sorted(set(steps)))
        client.end()

    def test_cancelled(self):
        client = self.client()
        pid_file = os.path.join(self.project, "pid")
        id = client.request("tools/call", {"name": "bash", "arguments": {
            "command": "sleep 600 & echo $! > tmp; mv tmp pid; wait"}}, id="long")
        self.wait_until(lambda: os.path.exists(pid_file), "the command starts")
        client.notify("notifications/cancelled", {"requestId": "other"})
        client.notify("notifications/cancelled", {"requestId": id})
        client.notify("notifications/cancelled", {"requestId": id})
        # The call gets no answer, also not when its tool has ended.
        done = client.call("bash", {"command": "while kill -0 $(cat pid); do sleep 0.05; done 2>&-; echo gone"})
        self.assertIn("gone", done["structuredContent"]["output"])
        self.assertEqual(client.ask("ping")["result"], {})
        client.end()

    def test_the_end_of_input_ends_the_tools(self):
        for ending in ("eof", "kill"):
            with self.subTest(ending=ending):
                client = self.client("--mode", "full")  # pids of this namespace
                pid_file = os.path.join(self.project, "pid" + ending)
                client.request("tools/call", {"name": "bash", "arguments": {
                    "command": f"sleep 600 & echo $! > tmp; mv tmp pid{ending}; wait"}})
                self.wait_until(lambda: os.path.exists(pid_file), "the command starts")
                with open(pid_file, encoding="utf-8") as f:
                    pid = int(f.read())
                if ending == "eof":
                    client.end()
                else:
                    client.process.send_signal(signal.SIGKILL)
                    client.process.wait()
                self.wait_until(lambda: not self.alive(pid), "the command ends")

    def test_a_signal_ends_the_tools_and_removes_their_files(self):
        """Clients end servers by SIGTERM. What the tools left in their /tmp goes with them."""
        rooms = os.path.join(self.home, "rooms")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(signal=number):
                client = self.client()
                started = os.path.join(self.project, f"started{number}")
                client.request("tools/call", {"name": "bash", "arguments": {
                    "command": f"echo x > /tmp/left; touch started{number}; sleep 600"}})
                self.wait_until(lambda: os.path.exists(started), "the command starts")
                client.process.send_signal(number)
                self.assertEqual(client.process.wait(60), 128 + number)
                self.assertEqual(glob.glob(os.path.join(rooms, "session-*")), [])

    def test_a_client_that_does_not_read(self):
        client = self.client()
        for _ in range(30):
            client.request("tools/call", {"name": "bash", "arguments": {"command": "seq 20000"}})
        client.process.stdout.close()
        client.process.stdin.close()
        self.assertEqual(client.process.wait(timeout=60), 0)
        client.process.stdout = open(os.devnull, "rb")


class Permissions(ServeTest):
    """bash asks for the network: a question."""

    def assert_denied(self, result):
        self.assertTrue(result["isError"])
        self.assertEqual(result["structuredContent"]["error_code"], "PERMISSION_DENIED", result)

    def test_a_client_that_cannot_ask(self):
        for elicitation in (None, {"url": {}}):
            client = Client(self, elicitation=elicitation)
            client.initialize()
            self.assert_denied(client.call("bash", NETWORK))
            self.assert_denied(client.modern("tools/call", name="bash", arguments=NETWORK)["result"])
            client.end()

    def test_modes(self):
        client = self.client("--mode", "full")
        self.assertFalse(client.call("bash", NETWORK)["isError"])
        client.end()
        client = self.client("--mode", "plan")
        result = client.call("file_write", {"file_path": "a", "content": "x"})
        self.assert_denied(result)
        self.assertFalse(os.path.exists(os.path.join(self.project, "a")))
        client.end()

    def test_legacy(self):
        client = Client(self, elicitation={})
        client.initialize()
        for answer, granted in (({"action": "accept", "content": {}}, True), ({"action": "decline"}, False),
                                ({"action": "cancel"}, False), ({}, False), (None, False)):
            id = client.request("tools/call", {"name": "bash", "arguments": NETWORK})
            asked = client.read()
            self.assertEqual(asked["method"], "elicitation/create")
            self.assertEqual(asked["params"]["requestedSchema"], {"type": "object", "properties": {}})
            for word in ("bash", "network", "to fetch", "true"):
                self.assertIn(word, asked["params"]["message"])
            client.send({"jsonrpc": "2.0", "id": asked["id"],
                         **({"error": {"code": -1, "message": "x"}} if answer is None
                            else {"result": answer})})
            result = client.read()
            self.assertEqual(result["id"], id)
            if granted:
                self.assertFalse(result["result"]["isError"], result)
            else:
                self.assert_denied(result["result"])
        id = client.request("tools/call", {"name": "bash", "arguments": NETWORK})
        asked = client.read()
        client.notify("notifications/cancelled", {"requestId": id})
        withdrawn = client.read()
        self.assertEqual((withdrawn["method"], withdrawn["params"]["requestId"]),
                         ("notifications/cancelled", asked["id"]))
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept"}})
        self.assertEqual(client.ask("ping")["result"], {})
        client.end()

    def question(self, client, arguments=None):
        result = client.modern("tools/call", name="bash", arguments=arguments or NETWORK)["result"]
        self.assertEqual(result["resultType"], "input_required", result)
        (key, asked), = result["inputRequests"].items()
        self.assertEqual(asked["method"], "elicitation/create")
        return key, result["requestState"]

    def answer(self, client, key, state, action="accept", arguments=None, name="bash"):
        return client.modern("tools/call", name=name, arguments=arguments or NETWORK,
                             inputResponses={key: {"action": action}}, requestState=state)["result"]

    def test_modern(self):
        client = Client(self, elicitation={"form": {}})
        key, state = self.question(client)
        result = self.answer(client, key, state)
        self.assertEqual((result["resultType"], result["isError"]), ("complete", False))
        # It granted one call.
        self.assertEqual(self.answer(client, key, state)["resultType"], "input_required")
        self.assertEqual(self.question(client)[0], key)
        for action in ("decline", "cancel", 7):
            self.assert_denied(self.answer(client, *self.question(client), action=action))
        client.end()

    def test_an_answer_grants_no_other_call(self):
        client = Client(self, elicitation={})
        other = {**NETWORK, "command": "touch stolen"}
        key, state = self.question(client)
        for wrong in (state, "forged", ""):
            result = self.answer(client, key, wrong, arguments=other)
            self.assertEqual(result["resultType"], "input_required")
        self.assertFalse(os.path.exists(os.path.join(self.project, "stolen")))
        # The same arguments in another order are the same call.
        same = dict(reversed(NETWORK.items()))
        self.assertEqual(self.answer(client, key, state, arguments=same)["resultType"], "complete")
        for _ in range(70):  # questions without an answer; the first is forgotten
            last = self.question(client)
            state = state if _ else last[1]
        self.assertEqual(self.answer(client, key, state)["resultType"], "input_required")
        self.assertEqual(self.answer(client, *last)["resultType"], "complete")
        client.end()


class Questions(ServeTest):
    """What tools ask over their host channel."""
    COLOUR = {"question": "Which\n\x1b[31mone?", "choices": ["red", "blue"], "default": "blue"}
    FORM = {"type": "object", "required": ["answer"], "properties": {"answer": {
        "type": "string", "title": "Answer", "enum": ["red", "blue"], "default": "blue"}}}
    ANSWERS = (({"action": "accept", "content": {"answer": "red"}}, "red"),
               ({"action": "accept", "content": {"answer": " "}}, "blue"),
               ({"action": "accept"}, None), ({"action": "decline"}, None), ({}, None))

    def asking_tool(self, name, body):
        """A tool in Python with ask(id, text), which sends a question, and answer(), which reads one."""
        parameters = {"type": "object", "properties": {"n": {"type": "integer"}}}
        hostile.python_tool(os.path.join(self.home, "tools"), name, f'''
import json, socket
with open("starts", "a") as f:
    f.write("x")
channel = socket.socket(fileno=int(os.environ["IKIGAI_HOST_FD"])).makefile("rw")
def send(**message):
    channel.write(json.dumps(message) + "\\n")
    channel.flush()
def ask(id, text):
    send(id=id, op="ask", question=text)
def answer():
    return json.loads(channel.readline())
{body}''', host=["ask"], parameters=parameters)

    def check(self, result, expected):
        content = result["structuredContent"]
        self.assertEqual(result["isError"], expected is None)
        self.assertEqual(content.get("answer"), expected, content)
        if expected is None:
            self.assertEqual(content["error_code"], "DECLINED")

    def test_legacy(self):
        client = Client(self, elicitation={"form": {}})
        client.initialize()
        for answer, expected in (*self.ANSWERS, (None, None)):
            id = client.request("tools/call", {"name": "ask_user", "arguments": self.COLOUR})
            asked = client.read()
            self.assertEqual(asked["method"], "elicitation/create")
            self.assertEqual(asked["params"], {"mode": "form", "message": "Which\none?",
                                               "requestedSchema": self.FORM})
            client.send({"jsonrpc": "2.0", "id": asked["id"],
                         **({"error": {"code": -1, "message": "x"}} if answer is None
                            else {"result": answer})})
            result = client.read()
            self.assertEqual(result["id"], id)
            self.check(result["result"], expected)
        id = client.request("tools/call", {"name": "ask_user", "arguments": self.COLOUR})
        asked = client.read()
        client.notify("notifications/cancelled", {"requestId": id})
        self.assertEqual(client.read(), {"jsonrpc": "2.0", "method": "notifications/cancelled",
                                         "params": {"requestId": asked["id"]}})
        client.end()

    def modern(self, client, name, arguments, state=None, answer=None):
        more = {} if state is None else {"requestState": state, "inputResponses": {"answer": answer}}
        return client.modern("tools/call", name=name, arguments=arguments, **more)["result"]

    def question(self, result):
        """The state, and what is asked."""
        self.assertEqual(result["resultType"], "input_required", result)
        (key, asked), = result["inputRequests"].items()
        self.assertEqual((key, asked["method"]), ("answer", "elicitation/create"))
        return result["requestState"], asked["params"]

    def test_modern(self):
        client = Client(self, elicitation={})
        for answer, expected in (*self.ANSWERS, (None, None)):
            state, asked = self.question(self.modern(client, "ask_user", self.COLOUR))
            self.assertEqual((asked["message"], asked["requestedSchema"]),
                             ("Which\none?", self.FORM))
            self.check(self.modern(client, "ask_user", self.COLOUR, state, answer), expected)
            again = self.modern(client, "ask_user", self.COLOUR, state, answer)
            self.question(again)  # an answer counts once
        client.end()

    def test_the_tool_goes_on_where_it_was(self):
        """Two questions at once and one after them are asked in order; the tool was started once."""
        self.asking_tool("three", '''
ask(1, "One?")
ask("two", "Two?")
got = {str(a["id"]): a["result"]["answer"] for a in (answer(), answer())}
ask(3, "Three?")
print(json.dumps({"got": got, "last": answer()["result"]["answer"]}))
''')
        client = Client(self, elicitation={})
        result = self.modern(client, "three", {"n": 1})
        for word in ("One", "Two", "Three"):
            state, asked = self.question(result)
            self.assertEqual(asked["message"], word + "?")
            other = self.modern(client, "three", {"n": 2}, state,
                                {"action": "accept", "content": {"answer": "stolen"}})
            self.assertEqual(self.question(other)[1]["message"], "One?")  # another call
            result = self.modern(client, "three", {"n": 1}, state,
                                 {"action": "accept", "content": {"answer": word.lower()}})
        self.assertEqual(result["structuredContent"],
                         {"got": {"1": "one", "two": "two"}, "last": "three"})
        self.assertEqual(self.read("project/starts"), b"x" * 4)
        client.end()
        self.wait_until(lambda: hostile.processes_with(self.path("home/.ikigai/tools/three")) == {},
                        "the tools end")

    def test_a_tool_that_does_not_wait(self):
        """Its result waits for the client, which comes back with an answer that is not needed."""
        self.asking_tool("hasty", '''
ask(1, "One?")
send(op="cancel", id=1)
assert answer()["error_code"] == "CANCELLED"
print('{"output": "done"}')
open("ended", "w").close()
''')
        client = Client(self, elicitation={})
        state, _ = self.question(self.modern(client, "hasty", {}))
        self.wait_until(lambda: os.path.exists(self.path("project", "ended")), "the tool ends")
        result = self.modern(client, "hasty", {}, state,
                             {"action": "accept", "content": {"answer": "x"}})
        self.assertEqual(result["structuredContent"], {"output": "done"})
        client.end()


class Hooks(ServeTest):
    def hook(self, event, name, body, place="home"):
        self.write(f"{place}/.ikigai/hooks/{event}/{name}", "#!/bin/sh\n" + body, 0o755)

    def test_hooks_guard_calls(self):
        """Those of the user, and of a project that is trusted; what they say joins the result."""
        self.write("project/a", "one\n")
        self.write("project/b", "two\n")
        log = self.path("log")
        self.hook("before_tool", "guard", f'''input=$(cat); echo "$input" >> {log}
case $input in
*secret*) echo "Not this one." >&2; exit 2 ;;
*'"a"'*) echo '{{"updatedInput": {{"file_path": "b"}}, "additionalContext": "b it is"}}' ;;
esac
''')
        self.hook("after_tool", "check", "cat > /dev/null; echo Well read.\n")
        self.hook("before_tool", "theirs", "echo 'The project says no.' >&2; exit 2\n",
                  place="project")
        client = self.client()
        denied = client.call("file_read", {"file_path": "secret"})
        self.assertEqual((denied["isError"], denied["structuredContent"]["error_code"],
                          denied["structuredContent"]["error"]),
                         (True, "PERMISSION_DENIED", "Not this one."))
        read = client.call("file_read", {"file_path": "a"})
        self.assertEqual(read["structuredContent"], {"output": "two\n"})
        self.assertEqual(read["_meta"]["ikigai/notes"]["hook"], "b it is\nWell read.")
        client.end()
        self.hook("before_tool", "careful", "cat >/dev/null; echo '{\"decision\": \"ask\"}'")
        client = self.client("--mode", "full")
        asked = client.call("file_read", {"file_path": "b"})["structuredContent"]["error"]
        self.assertTrue(asked.endswith("no user to ask: use a client that can ask its user"), asked)
        client.end()
        os.remove(self.path("home/.ikigai/hooks/before_tool/careful"))
        payload = json.loads(self.read("log").splitlines()[0])
        self.assertEqual((payload["session_id"], payload["tool_name"], payload["tool_input"],
                          payload["permission_mode"], payload["cwd"]),
                         ("mcp", "file_read", {"file_path": "secret"}, "auto", self.project))
        done = self.ikigai("tool", "run", "file_read", '{"file_path": "secret"}', status=1)
        self.assertEqual(json.loads(done.out)["error"], "Not this one.")
        done = self.ikigai("tool", "run", "file_read", '{"file_path": "a"}')
        self.assertEqual(json.loads(done.out), {"tool_success": True, "result": {"output": "two\n"},
                                                "hook": "b it is\nWell read."})
        done = self.ikigai("tool", "run", "file_read", "[]", status=1)  # no hook sees this
        self.assertNotIn("hook", json.loads(done.out))
        for run in (lambda: self.ikigai("tool", "run", "--trust", "file_read",
                                        '{"file_path": "b"}', status=1).out,
                    lambda: json.dumps(self.client("--trust").call("file_read",
                                                                   {"file_path": "b"}))):
            self.assertIn("The project says no.", run())


if __name__ == "__main__":
    unittest.main()
