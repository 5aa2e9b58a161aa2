"""The host channel: tools that ask ikigai for something while they run (docs/tool-protocol.md)."""
import json
import os
import subprocess
import time
import unittest

import hostile
from agent_support import AgentTest
from fake_llm import Answer, Call
from support import IKIGAI, tool_path

# What the tools of these tests begin with.
HOST = """
import json, socket
host = socket.socket(fileno=int(os.environ["IKIGAI_HOST_FD"]))
lines = host.makefile("r", encoding="utf-8")
def say(**request):
    host.sendall(json.dumps(request).encode() + b"\\n")
def hear():
    return json.loads(lines.readline())
def give(**result):
    print(json.dumps(result))
"""


class HostTest(AgentTest):
    def probe(self, name, body, host=("ask",), **schema):
        """Writes a user's tool in Python that talks to ikigai."""
        hostile.python_tool(os.path.join(self.home, "tools"), name, HOST + body, host=list(host),
                            **schema)
        return Call(name, {})

    def run_calls(self, *calls, after=(Answer("Done."),), **more):
        """One turn that makes these calls, one after the other; returns their results."""
        turn = self.ask([Answer(calls=list(calls)), *after], **more)
        envelopes = turn.envelopes()
        self.assertEqual(len(envelopes), len(calls))
        return [e["result"] if e["tool_success"] else e for e in envelopes]


class Protocol(HostTest):
    """Without a user: what any front end does with the lines."""

    def test_lines(self):
        environment, errors, flood, limits = self.run_calls(
            self.probe("environment", """
give(type=host.type == socket.SOCK_STREAM, bin=os.environ["IKIGAI_BIN"], fd=host.fileno())
"""),
            self.probe("errors", """
say(id=1, op="ask", question="q")
say(id="two", op="complete", prompt="p")
say(id=3, op="dance")
say(op="ask", question="q")
say(id=4, op="ask")
host.sendall(b"\\xff{\\n\\n")
host.sendall(b'{"id": 5, "op": "ask", "question": "' + b"x" * (1 << 20) + b'"}\\n')
say(id=6, op="ask", question="q", choices=["a"], default="b")
give(answers=[hear() for _ in range(7)])
"""),
            self.probe("flood", """
import threading
def write():
    for _ in range(200000):
        host.sendall(b"x\\n")
    host.shutdown(socket.SHUT_WR)
threading.Thread(target=write).start()
give(lines=sum(1 for _ in lines))
"""),
            self.probe("declares", "say(id=1, op='ask', question='q'); give(answer=hear())",
                       host=["complete"]))
        self.assertEqual(environment, {"type": True, "bin": os.path.realpath(IKIGAI), "fd": 4})
        self.assertEqual([(a["id"], a["error_code"]) for a in errors["answers"]],
                         [(1, "NO_USER"), ("two", "NOT_DECLARED"), (3, "UNKNOWN_OP"),
                          (None, "INVALID_REQUEST"), (4, "INVALID_REQUEST"),
                          (None, "INVALID_REQUEST"), (None, "TOO_LARGE")])
        self.assertTrue(all(a["error"] for a in errors["answers"]))
        self.assertEqual(flood, {"lines": 200000})
        self.assertEqual(limits["answer"]["error_code"], "NOT_DECLARED")

    def test_a_tool_that_misbehaves_costs_only_its_call(self):
        started = time.monotonic()
        results = self.run_calls(
            self.probe("never_reads", """
host.setblocking(False)
sent = 0
try:
    while sent < 1 << 26:
        sent += host.send(b'x\\n' * 1000)
except BlockingIOError:
    pass
give(bounded=sent < 1 << 24)
"""),
            self.probe("half_line", "host.sendall(b'{\"id\": 1, \"op\"'); give(done=True)"),
            self.probe("closes", "say(id=1, op='ask', question='q'); lines.close(); host.close(); "
                       "give(done=True)"),
            self.probe("dies", "say(id=1, op='ask', question='q'); os.kill(os.getpid(), 9)"),
            self.probe("leaves_a_child", """
os.set_inheritable(host.fileno(), True)
if os.fork() == 0:
    os.setsid()
    os.close(1)
    while True:
        try:
            say(id=os.getpid(), op="ask", question="q")
            hear()
        except Exception:
            open("ended", "w").close()
            break
    time.sleep(600)
else:
    give(done=True)
"""))
        self.assertEqual(results[0], {"bounded": True})
        self.assertEqual(results[1:3], [{"done": True}] * 2)
        self.assertEqual(results[3]["error_code"], "TOOL_CRASHED")
        self.assertEqual(results[4], {"done": True})
        self.assert_nothing_runs()
        self.assertLess(time.monotonic() - started, 60)

    def test_the_channel_in_a_room(self):
        """A confined tool without network has it as well."""
        [answer] = self.run_calls(self.probe(
            "confined", """
say(id=1, op="ask", question="q")
try:
    socket.create_connection(("127.0.0.1", 9), 1)
    network = True
except OSError as e:
    network = str(e)
run = __import__("subprocess").run
alive = run([os.environ["IKIGAI_BIN"], "--version"], stdout=-1, text=True).stdout
give(answer=hear(), version=alive)
""", effects={"write": "none", "network": False}))
        self.assertEqual(answer["answer"]["error_code"], "NO_USER")
        self.assertIn("ikigai ", answer["version"])

    def test_tools_without_it_have_no_channel(self):
        """Even if ikigai itself was started by a tool that has one."""
        self.tool("plain", "printf '{\"host\": \"%s\", \"bin\": \"%s\"}' "
                  "\"$IKIGAI_HOST_FD\" \"$IKIGAI_BIN\"")
        [result] = self.run_calls(Call("plain", {}), env={"IKIGAI_HOST_FD": "4"})
        self.assertEqual(result, {"host": "", "bin": ""})


class AskUser(HostTest):
    def test_without_a_user(self):
        [result, wrong] = self.run_calls(
            Call("ask_user", {"question": "Which?", "choices": ["a", "b"], "default": "a"}),
            Call("ask_user", {"question": "Which?", "choices": "a"}))
        self.assertEqual(result["error_code"], "NO_USER")
        self.assertEqual(wrong["error_code"], "INVALID_ARG")

    def test_by_hand(self):
        done = subprocess.run([tool_path("ask_user")], input=b'{"question": "q"}',
                              stdout=subprocess.PIPE, check=True)
        self.assertEqual(json.loads(done.stdout)["error_code"], "NO_HOST")
        schema = json.loads(subprocess.check_output([tool_path("ask_user"), "--schema"]))
        self.assertEqual(schema["host"], ["ask"])
        self.assertEqual(schema["parameters"]["properties"]["choices"]["items"],
                         {"type": "string"})


if __name__ == "__main__":
    unittest.main()
