"""The host channel: tools that ask ikigai for something while they run (docs/tool-protocol.md)."""
import json
import os
import subprocess
import time
import unittest

import hostile
from agent_support import AgentTest, per_format, sent_messages, sent_tools
from fake_llm import Answer, Call, Failure, Usage, Wire
from support import IKIGAI, tool_path, tool_script

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

    def run_calls(self, *calls, after=(Answer("Done."),), args=(), **more):
        """One turn that makes these calls, one after the other; returns their results."""
        turn = self.ask([Answer(calls=list(calls)), *after], *args, **more)
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
first = hear()
run = __import__("subprocess").run
done = run([os.environ["IKIGAI_BIN"], "host", "ask", "q"], pass_fds=[4], stderr=-1, text=True)
give(answer=first, command=[done.returncode, done.stderr.split(":")[0]], network=network)
""", effects={"write": "none", "network": False}))
        self.assertEqual(answer.get("answer", answer)["error_code"], "NO_USER", answer)
        self.assertEqual(answer["command"], [1, "NO_USER"])
        self.assertNotEqual(answer["network"], True)

    def test_tools_without_it_have_no_channel(self):
        """Even if ikigai itself was started by a tool that has one."""
        self.tool("plain", "printf '{\"host\": \"%s\", \"bin\": \"%s\"}' "
                  "\"$IKIGAI_HOST_FD\" \"$IKIGAI_BIN\"")
        [result] = self.run_calls(Call("plain", {}), env={"IKIGAI_HOST_FD": "4"})
        self.assertEqual(result, {"host": "", "bin": ""})


class Offline(HostTest):
    def test_complete(self):
        """The offline model answers, too."""
        self.probe("thinks", '''
say(id=1, op="complete", prompt="hi")
say(id=2, op="complete", prompt="As JSON.", schema={"type": "object"})
first, second = hear(), hear()
give(text=first["result"]["text"], usage=first["result"]["usage"], code=second["error_code"])
''', host=["complete"])
        done = self.ikigai("-m", "offline/offline", "--json", "-p", "thinks {}")
        events = [json.loads(line) for line in done.out.splitlines()]
        (result,) = [json.loads(e["data"]["output"])["result"] for e in events
                     if e.get("kind") == "tool_result"]
        self.assertIn("offline", result["text"])
        self.assertEqual(result["code"], "MODEL_ERROR")

    def test_a_host_error_is_not_confined(self):
        [asked] = self.ask([Answer(calls=[Call("ask_user", {"question": "Why?"})]),
                            Answer("Done.")]).envelopes()
        self.assertEqual(asked["result"]["error_code"], "NO_USER")
        self.assertNotIn("confined", asked)


class Complete:
    """One answer of the session's model, with every API."""

    def test_it(self):
        probe = self.probe("asks", """
say(id=1, op="complete", prompt="Two and two?", system="You are brief.", max_tokens=77)
first = hear()
say(id=2, op="complete", prompt="As JSON.", schema={"type": "object", "properties": {}})
second = hear()
say(id=3, op="complete", prompt="As JSON.", schema={"type": "object"})
third = hear()
say(id=4, op="complete", prompt="p", schema="s")
say(id=5, op="complete", prompt="p", max_tokens=0)
say(id=6, op="complete", system="p")
give(answers=[first, second, third, hear(), hear(), hear()])
""", host=["complete"])
        turn = self.ask([Answer(calls=[probe]),
                         Answer("Four.", usage=Usage(input=100, output=10)),
                         Answer('```json\n{"n": 4}\n```'), Answer("Four, I think."),
                         Answer("Done.")])
        [envelope] = turn.envelopes()
        answers = envelope["result"]["answers"]
        self.assertEqual(answers[0]["result"]["text"], "Four.")
        usage = answers[0]["result"]["usage"]
        self.assertEqual((usage["in"], usage["out"]), (100, 10))
        self.assertEqual(answers[1]["result"]["text"], '{"n": 4}')
        self.assertEqual([a.get("error_code") for a in answers],
                         [None, None, "MODEL_ERROR", *["INVALID_REQUEST"] * 3])
        asked = turn.llm.requests[1]
        text = asked.body.decode()
        self.assertIn("Two and two?", text)
        self.assertIn("You are brief.", text)
        self.assertIn("77", text)
        self.assertEqual((sent_tools(asked), len([m for m in sent_messages(asked)
                                                  if m.get("role") not in ("system", "developer")])),
                         ([], 1))
        self.assertIn("JSON Schema", turn.llm.requests[2].body.decode())
        # what it costs is the agent's
        self.assertEqual(len(turn.of("usage")), 5)
        [result] = turn.messages("tool_result")
        self.assertGreater(result["data"]["completions"]["usage"]["in"], 100)
        sums = [sum(u.get(k, 0) for u in turn.of("usage")) for k in ("in", "out")]
        listed = self.ikigai("session", "list", "--json").json()[0]
        self.assertEqual([listed["usage"]["in"], listed["usage"]["out"]], sums, listed)


per_format(Complete, globals(), base=HostTest)


class Completions(HostTest):
    def test_failures_cancel_and_retries(self):
        probe = self.probe("tries", """
say(id=1, op="complete", prompt="limited")
first = [hear(), hear()]
say(id=2, op="complete", prompt="slow")
time.sleep(0.2)
say(op="cancel", id=2)
second = hear()
say(id=3, op="complete", prompt="locked")
give(first=first, second=second, third=hear())
""", host=["complete"])
        limits = iter([Failure("rate_limit", headers={"retry-after": "0"})])
        answers = {"limited": lambda: next(limits, None) or Answer("p"), "locked": lambda: Failure(
            "auth"), "slow": lambda: Answer("q", wire=Wire(delay_head=60))}

        def answer(request):
            last = sent_messages(request)[-1]
            if last["role"] == "tool":
                return Answer("Done.")
            return answers.get(last["content"], lambda: Answer(calls=[probe]))()
        [envelope] = self.ask(answer).envelopes()
        result = envelope["result"]
        self.assertIn("429", result["first"][0]["progress"]["text"])
        self.assertEqual(result["first"][1]["result"]["text"], "p")
        self.assertEqual(result["second"]["error_code"], "CANCELLED")
        self.assertEqual(result["third"]["error_code"], "MODEL_ERROR")
        self.assertIn("not valid", result["third"]["error"])

class Command(HostTest):
    """`ikigai host` in a tool that is a shell script."""

    def sh(self, name, body, host=("ask", "complete")):
        self.tool(name, body, host=list(host))
        return Call(name, {})

    def test_it(self):
        quote = "sed 's/.*/\"&\"/'"
        results = self.run_calls(
            self.sh("says", f'"$IKIGAI_BIN" host complete "Two and two?" --max-tokens 7 | {quote}'),
            self.sh("reads", f'echo from stdin | "$IKIGAI_BIN" host complete - --system s --json'),
            self.sh("schema", '"$IKIGAI_BIN" host complete p --schema \'{"type": "object"}\''),
            self.sh("asks", '"$IKIGAI_BIN" host ask "Sure?" --choice yes --choice no --default no '
                    '> out 2> err; printf \'[%d, "%s", "%s"]\' $? "$(cat out)" "$(cat err)"'),
            self.sh("wrong", '"$IKIGAI_BIN" host complete p --schema "{" 2> err; '
                    'printf \'[%d, "%s"]\' $? "$(cat err)"'),
            self.sh("agents", '"$IKIGAI_BIN" host agent p --agent a --tools a,b --model m '
                    '--mode plan 2> err; printf \'[%d, "%s"]\' $? "$(cut -d: -f1 err)"'),
            self.sh("large", 'head -c 2000000 /dev/zero | tr "\\0" x | "$IKIGAI_BIN" host complete - '
                    '2> err; printf \'[%d, "%s"]\' $? "$(cat err)"'),
            self.sh("none", 'IKIGAI_HOST_FD= "$IKIGAI_BIN" host ask q 2> err; a=$?; '
                    'IKIGAI_HOST_FD=0 "$IKIGAI_BIN" host ask q 2> err; '
                    'printf \'[%d, %d]\' $a $?'),
            self.sh("limited", '"$IKIGAI_BIN" host complete limited > /dev/null; echo {}'),
            self.sh("nul", 'printf "one\\0two" | "$IKIGAI_BIN" host complete - 2> err; '
                    'printf \'[%d, "%s"]\' $? "$(cut -d: -f1 err)"'),
            # what a program that was killed left of a line
            self.probe("half", """
import subprocess
host.sendall(b'{"id":"x","op":"comp')
done = subprocess.run([os.environ["IKIGAI_BIN"], "host", "complete", "whole"], stdout=subprocess.PIPE,
                      pass_fds=[host.fileno()], text=True)
give(said=done.stdout)
""", host=("complete",)),
            # several at a time take turns; one that is killed leaves nothing open
            self.sh("several", """
for i in 1 2 3 4; do "$IKIGAI_BIN" host complete "p$i" > "out$i" & done
wait
timeout 0.2 "$IKIGAI_BIN" host complete slow
"$IKIGAI_BIN" host complete after > out5
printf '"%s"' "$(cat out1 out2 out3 out4 | sort | tr -d '\\n')$(cat out5)" """),
            after=self.answer)
        self.assertEqual(results[0], "Two and two?")
        self.assertEqual(results[1]["text"], "from stdin")
        self.assertIn("usage", results[1])
        self.assertEqual(results[2], {"p": 1})
        self.assertEqual(results[3][:2], [1, ""])
        self.assertRegex(results[3][2], r"\ANO_USER: \w.*\Z")
        self.assertEqual(results[4][0], 1)
        self.assertRegex(results[4][1], r"\AINVALID_REQUEST: ")
        self.assertEqual(results[5], [1, "NOT_DECLARED"])
        self.assertEqual(results[6], [1, "TOO_LARGE: The request is longer than 1 MiB"])
        self.assertEqual(results[7], [2, 2])
        self.assertEqual(results[9], [1, "INVALID_REQUEST"])
        self.assertEqual(results[10], {"said": "whole\n"})
        self.assertEqual(results[11], "p1p2p3p4after")
        [progress] = self.turn.of("tool_progress")
        self.assertRegex(progress["text"], r"\AHTTP 429: .*\n\Z")

    def answer(self, request):
        """Echoes a prompt, or the JSON that it asks for."""
        last = sent_messages(request)[-1]
        text = last["content"]
        if last["role"] == "tool":
            return Answer("Done.")
        if text == "slow":
            return Answer("slow", wire=Wire(delay_head=60))
        if text == "limited" and not self.limited:
            self.limited = True
            return Failure("rate_limit", headers={"retry-after": "0"})
        return Answer('{"p": 1}' if text == "p" else text.rstrip())

    def run_calls(self, *calls, after=(), **more):
        if not callable(after):
            return super().run_calls(*calls, after=after, **more)
        script = iter([Answer(calls=list(calls))])
        self.limited = False
        self.turn = self.ask(lambda request: next(script, None) or after(request), **more)
        return [e["result"] if e["tool_success"] else e for e in self.turn.envelopes()]


class Trust(HostTest):
    def test_a_project_s_tool_has_what_was_shown(self):
        """Not what its schema says later, until it is shown again."""
        schema = self.write("project/schema.json", json.dumps(
            {"name": "theirs", "description": "d", "host": ["complete"]}))
        hostile.write_program(os.path.join(self.project, ".ikigai", "tools", "theirs"),
                              hostile.python_text(f"cat '{schema}'", HOST + """
say(id=1, op="ask", question="q")
say(id=2, op="complete", prompt="p", max_tokens=0)
give(codes=[hear()["error_code"], hear()["error_code"]])
"""))
        def codes(*args):
            [result] = self.run_calls(Call("theirs", {}), config={"confinement": "off"}, args=args)
            return result["codes"]
        done = self.ikigai("trust", "--yes")
        self.assertIn("These tools ask ikigai for something while they run:\n"
                      "  theirs: host complete\n", done.out)
        self.assertEqual(codes(), ["NOT_DECLARED", "INVALID_REQUEST"])
        with open(schema, "w", encoding="utf-8") as f:
            json.dump({"name": "theirs", "description": "d", "host": ["ask", "complete"]}, f)
        self.ikigai("tool", "list", "--refresh")
        self.assertEqual(codes(), ["NOT_DECLARED", "NOT_DECLARED"])
        self.assertEqual(codes("--trust"), ["NO_USER", "INVALID_REQUEST"])
        done = self.ikigai("trust", "--yes")
        self.assertIn("Already trusted.\n", done.out)
        self.assertIn("  theirs: host ask, complete\n", done.out)
        self.assertEqual(codes(), ["NO_USER", "INVALID_REQUEST"])


class AskUser(HostTest):
    def test_without_a_user(self):
        [result, wrong] = self.run_calls(
            Call("ask_user", {"question": "Which?", "choices": ["a", "b"], "default": "a"}),
            Call("ask_user", {"question": "Which?", "choices": "a"}))
        self.assertEqual(result["error_code"], "NO_USER")
        self.assertEqual(wrong["error_code"], "INVALID_ARG")

    def test_by_hand(self):
        done = self.ikigai("tool", "run", "ask_user", '{"question": "q"}').json()
        self.assertEqual(done["result"]["error_code"], "NO_USER")
        done = subprocess.run([tool_path("ask_user")], input=b'{"question": "q"}',
                              stdout=subprocess.PIPE, check=True)
        self.assertEqual(json.loads(done.stdout)["error_code"], "NO_HOST")
        schema = json.loads(subprocess.check_output([tool_path("ask_user"), "--schema"]))
        self.assertEqual(schema["host"], ["ask"])
        self.assertEqual(schema["parameters"]["properties"]["choices"]["items"],
                         {"type": "string"})


if __name__ == "__main__":
    unittest.main()
