"""Sub-agents from outside: `ikigai -p` with the tool agent, agent files, limits, what is stored."""
import json
import os
import re
import signal
import threading

import hostile
from agent_support import AgentTest, Turn, per_format, sent_results, sent_tools
from cast import Cast, user_words
from fake_llm import Answer, Call, Failure, Usage
from support import PATIENCE, ROOT


def agent(prompt, **more):
    return Call("agent", {"prompt": prompt, **more})


def write(path, content):
    return Call("file_write", {"file_path": path, "content": content})


def bash(command, **more):
    return Call("bash", {"command": command, **more})


def system_of(request):
    body = request.json
    if request.format == "anthropic":
        return "".join(block["text"] for block in body["system"])
    return body["messages"][0]["content"]


class SubagentTest(AgentTest):
    def play(self, parts, *args, **more):
        """A whole turn with "Go"; returns it and the cast."""
        cast = Cast(parts)
        return self.ask(cast, *args, **more), cast

    def show(self, turn):
        return self.ikigai("session", "show", turn.events[0]["id"], "--json").json()

    def outcome(self, parts, *args, **more):
        """What the agent gets of its only call."""
        turn, cast = self.play(parts, *args, **more)
        ((_, envelope),) = sent_results(cast.requests["Go"][-1])
        self.assertTrue(envelope["tool_success"], envelope)
        return envelope["result"]

    def define(self, name, head, body="Be brief.", scope="home"):
        return self.write(f"{scope}/.ikigai/agents/{name}.md", f"---\n{head}\n---\n{body}\n")


class Delegation(SubagentTest):
    def test_a_task(self):
        self.write("project/AGENTS.md", "Use tabs.\n")
        turn, cast = self.play({
            "Go": [Answer("Let me ask.", calls=[agent("Count.")], usage=Usage(input=10, output=1)),
                   Answer("Three.", usage=Usage(input=20, output=2))],
            "Count.": [Answer("I look.", calls=[Call("glob", {"pattern": "*"})],
                              usage=Usage(input=100, output=10)),
                       Answer("There are 3.", usage=Usage(input=200, output=20))]})
        first, *more = cast.requests["Count."]
        self.assertEqual(user_words(first), ["Count."])
        self.assertIn("that another agent gave you", system_of(first))
        self.assertIn("Use tabs.", system_of(first))
        self.assertNotIn("another agent gave you", system_of(cast.requests["Go"][0]))
        self.assertEqual(sent_tools(first), sent_tools(cast.requests["Go"][0]))
        ((call_id, envelope),) = sent_results(cast.requests["Go"][1])
        result = envelope["result"]
        self.assertEqual((result["text"], result["agent"]), ("There are 3.", 2))
        self.assertEqual((result["usage"]["in"], result["usage"]["out"]), (300, 30))
        started, ended = turn.of("agent")
        self.assertEqual(started, {"type": "agent", "agent": 2, "parent": 1, "name": None,
                                   "tool_call_id": call_id, "state": "started"})
        self.assertEqual(ended, {**started, "state": "ended", "reason": "end_turn",
                                 "usage": result["usage"]})
        inner = [e for e in turn.events if e.get("agent") == 2 and e["type"] != "agent"]
        self.assertEqual("".join(e["text"] for e in inner if e["type"] == "text_delta"),
                         "I look.There are 3.")
        self.assertEqual([e["kind"] for e in inner if e["type"] == "message"],
                         ["system", "user", "assistant", "tool_call", "tool_result", "assistant"])
        self.assertEqual(sum(e["in"] for e in turn.of("usage")), 330)
        self.assertEqual([e for e in turn.of("done")], [turn.events[-1]])
        self.assertLess(turn.events.index(started), turn.events.index(inner[0]))
        self.assertLess(turn.events.index(inner[-1]), turn.events.index(ended))
        progress = "".join(e["text"] for e in turn.of("tool_progress") if "agent" not in e)
        self.assertIn('agent 2: working\nagent 2: answering\nagent 2: glob(pattern="*")\n', progress)
        shown = self.show(turn)
        self.assertEqual([(a["number"], a["parent"], a["forked_at"]) for a in shown["agents"]],
                         [(1, 0, 0), (2, 1, 0)])
        self.assertEqual({key: shown["agents"][1][key] for key in ("name", "tool_call_id")},
                         {"name": None, "tool_call_id": call_id})
        self.assertNotIn("name", shown["agents"][0])
        self.assertEqual((shown["turns"], shown["title"]), (1, "Go"))
        self.assertEqual(shown["usage"]["in"], 330)
        text = self.ikigai("session", "show", shown["id"]).out
        self.assertIn("--- agent 2, sub-agent of agent 1 ---", text)
        self.ikigai("session", "export", shown["id"], "--output", "out.jsonl")
        self.ikigai("session", "delete", shown["id"], "--yes")
        self.ikigai("session", "import", "out.jsonl")
        self.assertEqual(self.show(turn), shown)
        for form, words in (("md", "*Sub-agent of agent 1.*"), ("html", "Sub-agent of <a href")):
            self.ikigai("session", "export", shown["id"], "--format", form, "--output", "out", "--force")
            with open(self.path("project", "out"), encoding="utf-8") as f:
                self.assertIn(words, f.read())

    def test_failures(self):
        def fails(code, call, **more):
            result = self.outcome({"Go": [Answer(calls=[call]), Answer("Oh.")], **more})
            self.assertEqual(set(result), {"error", "error_code"})
            self.assertEqual(result["error_code"], code)
            return result["error"]
        self.assertIn("no file describes it", fails("UNKNOWN_AGENT", agent("x", agent="nobody")))
        fails("INVALID_REQUEST", agent(" "))
        fails("INVALID_REQUEST", agent("x", mode="root"))
        fails("INVALID_REQUEST", agent("x", model="nope/nope"))
        self.assertIn("the account", fails("MODEL_ERROR", agent("x"),
                                           x=[Failure("quota", "the account is empty")]))

    def test_a_long_answer_is_cut(self):
        result = self.outcome({"Go": [Answer(calls=[agent("x")]), Answer("Oh.")],
                               "x": [Answer("ä" * 200_000)]})
        self.assertLess(len(result["text"].encode()), 100_000)
        self.assertTrue(result["text"].endswith(" of 400000 bytes]"))


per_format(Delegation, globals(), "chat", "anthropic", base=object)
del Delegation


class Files(SubagentTest):
    def test_what_a_file_says(self):
        self.define("reviewer", "description: Reviews code\ntools: Read Grep, Nothing\nmode: plan\n"
                                "model: sonnet", "You review.")
        self.define("b-none", "name: b-none")
        self.write("project/.claude/agents/theirs.md", "---\ndescription: Theirs\n---\n")
        turn, cast = self.play({
            "Go": [Answer(calls=[agent("Look.", agent="reviewer", tools=["grep", "bash"], mode="full")]),
                   Answer("Fine.")],
            "Look.": [Answer(calls=[Call("grep", {"pattern": "x"}), bash("touch made")]),
                      Answer("Good.")]})
        request = cast.requests["Look."][0]
        self.assertTrue(system_of(request).startswith("You review.\n"))
        self.assertIn("Plan mode is on", system_of(request))
        self.assertEqual(sent_tools(request), ["grep"])
        (_, found), (_, refused) = sent_results(cast.requests["Look."][1])
        self.assertTrue(found["tool_success"])
        self.assertEqual(refused["error_code"], "TOOL_NOT_FOUND")
        self.assertFalse(os.path.exists(self.path("project", "made")))
        self.assertEqual([e["name"] for e in turn.of("agent")], ["reviewer", "reviewer"])
        self.assertEqual(self.show(turn)["agents"][1]["name"], "reviewer")
        listed = "by name, for tasks that match their description:\n- reviewer: Reviews code\n"
        self.assertIn(listed, system_of(cast.requests["Go"][0]))
        self.assertNotIn("b-none", system_of(cast.requests["Go"][0]))
        notices = " ".join(e["text"] for e in turn.of("notice"))
        self.assertIn("The agent reviewer asks for the model sonnet, which is not used", notices)
        self.assertIn("1 agent of the project is not trusted and not used", notices + turn.err)
        self.assertIn("--- agent 2, sub-agent reviewer of agent 1 ---",
                      self.ikigai("session", "show", turn.events[0]["id"]).out)

    def test_trust(self):
        self.write("project/.claude/agents/theirs.md", "---\ndescription: Theirs\n---\nBe.\n")
        parts = {"Go": [Answer(calls=[agent("x", agent="theirs")]), Answer("Oh.")], "x": [Answer("Hi.")]}
        result = self.outcome(dict(parts))
        self.assertEqual(result["error_code"], "UNKNOWN_AGENT")
        self.assertIn("the project is not trusted", result["error"])
        self.assertEqual(self.outcome(dict(parts), "--trust")["text"], "Hi.")

    def test_a_limit_that_is_not_understood_is_none_of_all(self):
        """It would give the sub-agent more than the file wants."""
        for limit, why in (("tools:\n  Bash: false\n  Read: true", "its tools are not a list of names"),
                           ("mode: [plan]", "its mode is not auto, ask, plan or full"),
                           ("mode:\n- plan", "its mode is not auto, ask, plan or full")):
            self.define("limited", f"description: Limited\n{limit}")
            result = self.outcome({"Go": [Answer(calls=[agent("x", agent="limited")]), Answer("Oh.")]})
            self.assertEqual(result["error_code"], "UNKNOWN_AGENT", limit)
            self.assertIn(why, self.ikigai("status").out)
        for tools in ("tools:\n\n- Read", "tools:\n# only reading\n- Read"):
            self.define("limited", f"description: Limited\n{tools}")
            _, cast = self.play({"Go": [Answer(calls=[agent("x", agent="limited")]), Answer("Oh.")],
                                 "x": [Answer("Hi.")]})
            self.assertEqual(sent_tools(cast.requests["x"][0]), ["file_read"], tools)

    def test_a_file_without_tools(self):
        """An empty list names no tool; an empty value is none, and "*" means all of them."""
        self.define("none", "description: Thinks\ntools: []")
        self.define("all", "description: Works\ntools:")
        self.define("star", 'description: Works\ntools: ["*"]')
        turn, cast = self.play({"Go": [Answer(calls=[agent("x", agent="none"), agent("y", agent="all"),
                                                     agent("z", agent="star")]), Answer("Oh.")],
                                "x": [Answer("X.")], "y": [Answer("Y.")], "z": [Answer("Z.")]})
        self.assertEqual(sent_tools(cast.requests["x"][0]), [])
        for prompt in ("y", "z"):
            self.assertEqual(sent_tools(cast.requests[prompt][0]),
                             sent_tools(cast.requests["Go"][0]), prompt)

    def test_without_files(self):
        turn, cast = self.play({"Go": [Answer("Hi.")]})
        self.assertNotIn("by name", system_of(cast.requests["Go"][0]))

    def test_another_model(self):
        turn, cast = self.play({"Go": [Answer(calls=[agent("x", model="openai/gpt-5-mini")]),
                                       Answer("Oh.")], "x": [Answer("Hi.")]})
        self.assertEqual(cast.requests["x"][0].model, "gpt-5-mini")


class Limits(SubagentTest):
    def test_levels(self):
        turn, cast = self.play({"Go": [Answer(calls=[agent("one")]), Answer("0.")],
                                "one": [Answer(calls=[agent("two")]), Answer("1.")],
                                "two": [Answer(calls=[agent("three")]), Answer("2.")]})
        ((_, envelope),) = sent_results(cast.requests["two"][1])
        self.assertEqual(envelope["result"]["error_code"], "LIMIT")
        self.assertEqual([(e["agent"], e["parent"], e["state"]) for e in turn.of("agent")],
                         [(2, 1, "started"), (3, 2, "started"), (3, 2, "ended"), (2, 1, "ended")])
        shown = self.show(turn)["agents"]
        self.assertEqual([(a["number"], a["parent"]) for a in shown], [(1, 0), (2, 1), (3, 2)])

    def test_four_at_once(self):
        four = threading.Barrier(4)

        def meet(request):
            four.wait(PATIENCE)
            return Answer("Met.")
        names = [f"task {i}" for i in range(8)]
        turn, cast = self.play({"Go": [Answer(calls=[agent(name) for name in names]), Answer("Oh.")],
                                **{name: [meet] for name in names}})
        results = [envelope["result"] for _, envelope in sent_results(cast.requests["Go"][1])]
        self.assertEqual([result["text"] for result in results], ["Met."] * 8)
        self.assertEqual(cast.most, 4)
        self.assertEqual(sorted(result["agent"] for result in results), list(range(2, 10)))

    def test_modes_only_narrow(self):
        for own, asked, expected in (("plan", "full", "plan"), ("auto", "plan", "plan"),
                                     ("auto", "full", "auto"), ("ask", "auto", "ask"),
                                     ("full", "ask", "ask"), ("full", None, "full")):
            path = self.path("project", "made")
            outside = self.path("outside")
            turn, cast = self.play({
                "Go": [Answer(calls=[agent("x", **({"mode": asked} if asked else {}))]), Answer("Oh.")],
                "x": [Answer(calls=[bash("touch made"), bash(f"touch {outside}")]), Answer("Hi.")]},
                "--mode", own)
            self.assertEqual((os.path.exists(path), os.path.exists(outside)),
                             {"plan": (False, False), "ask": (False, False), "auto": (True, False),
                              "full": (True, True)}[expected], (own, asked))
            for made in (path, outside):
                if os.path.exists(made):
                    os.remove(made)

    def test_tools_are_cut_at_every_level(self):
        turn, cast = self.play({
            "Go": [Answer(calls=[agent("one", tools=["agent", "glob"])]), Answer("0.")],
            "one": [Answer(calls=[agent("two", tools=["glob", "bash"])]), Answer("1.")],
            "two": [Answer("2.")]})
        self.assertEqual(sent_tools(cast.requests["one"][0]), ["agent", "glob"])
        self.assertEqual(sent_tools(cast.requests["two"][0]), ["glob"])
        turn, cast = self.play({"Go": [Answer(calls=[agent("one", tools=[])]), Answer("0.")],
                                "one": [Answer("1.")]})
        self.assertEqual(sent_tools(cast.requests["one"][0]), [])


class Ends(SubagentTest):
    def parts(self):
        return {"Go": [Answer(calls=[agent("one", model="openai/gpt-5-mini")]), Answer("0.")],
                "one": [Answer(calls=[agent("two"), bash("touch never")]), Answer("1.")],
                "two": [Answer(calls=[bash(f": {self.dir}; touch running; sleep 60")]), Answer("2.")]}

    def test_interrupt(self):
        run = self.begin(Cast(self.parts()))
        self.wait_for_file("running")
        run.signal(signal.SIGINT)
        turn = run.finish()
        self.assertEqual((turn.status, turn.reason), (130, "interrupted"))
        self.assertEqual(sorted((e["agent"], e["reason"]) for e in turn.of("agent") if e["state"] == "ended"),
                         [(2, "interrupted"), (3, "interrupted")])
        self.assert_nothing_runs()
        self.assertFalse(os.path.exists(self.path("project", "never")))
        results = [m for m in self.show(turn)["messages"] if m["kind"] == "tool_result"]
        self.assertEqual([json.loads(m["data"]["output"])["error_code"] for m in results],
                         ["INTERRUPTED"] * 4)

    def test_crash(self):
        run = self.begin(Cast(self.parts()))
        key = run.wait_for_type("session")["id"]
        self.wait_for_file("running")
        run.process.kill()
        run.process.wait()
        hostile.wait_until(lambda: not hostile.processes_with(self.dir), 10)
        self.assert_nothing_runs()
        cast = Cast({"Go": [Answer("On.")]})
        llm = self.serve(cast)
        done = self.ikigai("-p", "Again", "-c", "--json", env=self.connect(llm))
        turn = Turn(0, done.out.splitlines(), done.err, llm)
        self.assertEqual(llm.problems, [])
        self.assertEqual((turn.events[0]["id"], turn.events[0]["model"]), (key, "openai/gpt-5"))
        ((_, envelope),) = sent_results(cast.requests["Go"][0])
        self.assertEqual(envelope["error_code"], "INTERRUPTED")
        self.assertEqual(user_words(cast.requests["Go"][0])[-1], "Again")
        shown = self.show(turn)
        self.assertEqual([(a["number"], a["parent"]) for a in shown["agents"]], [(1, 0), (2, 1), (3, 2)])
        self.assertEqual(shown["turns"], 2)

    def test_a_tool_cancels(self):
        hostile.python_tool(os.path.join(self.home, "tools"), "impatient", r"""
import json, os, socket
channel = socket.socket(fileno=int(os.environ["IKIGAI_HOST_FD"]))
lines = channel.makefile("rw")
def send(**line):
    lines.write(json.dumps(line) + "\n"); lines.flush()
send(id=1, op="agent", prompt="one")
while "bash" not in json.loads(lines.readline()).get("progress", {}).get("text", ""):
    pass
send(op="cancel", id=1)
while True:
    answer = json.loads(lines.readline())
    if "error_code" in answer:
        break
print(json.dumps({"code": answer["error_code"]}))
""", host=["agent"])
        turn, cast = self.play({"Go": [Answer(calls=[Call("impatient")]), Answer("0.")],
                                "one": [Answer(calls=[bash(f": {self.dir}; touch running; sleep 60")])]})
        ((_, envelope),) = sent_results(cast.requests["Go"][1])
        self.assertEqual(envelope["result"], {"code": "CANCELLED"})
        self.assertEqual([e["reason"] for e in turn.of("agent") if e["state"] == "ended"], ["interrupted"])
        self.assert_nothing_runs()


class Scripts(SubagentTest):
    def test_ikigai_host_agent(self):
        self.tool("delegate", """
            text=$("$IKIGAI_BIN" host agent --tools glob --mode plan "task one")
            json=$(echo "task two" | "$IKIGAI_BIN" host agent --json -)
            "$IKIGAI_BIN" host agent --agent nobody x 2>error; status=$?
            printf '{"text": "%s", "json": %s, "status": %d, "error": "%s"}' "$text" "$json" $status "$(cat error)"
            """, host=["agent"])
        turn, cast = self.play({"Go": [Answer(calls=[Call("delegate")]), Answer("Oh.")],
                                "task one": [Answer("One.")], "task two\n": [Answer("Two.")],
                                "task two": [Answer("Two.")]})
        ((_, envelope),) = sent_results(cast.requests["Go"][1])
        result = envelope["result"]
        self.assertEqual((result["text"], result["status"]), ("One.", 1))
        self.assertEqual((result["json"]["text"], result["json"]["agent"]), ("Two.", 3))
        self.assertTrue(result["error"].startswith("UNKNOWN_AGENT: "), result)
        self.assertEqual(sent_tools(cast.requests["task one"][0]), ["glob"])
        self.assertIn("Plan mode is on", system_of(cast.requests["task one"][0]))


class Undo(SubagentTest):
    def test_the_turn_takes_their_files_along(self):
        self.write("project/old", "old\n")
        turn, cast = self.play({
            "Go": [Answer(calls=[write("own", "own\n"), agent("a"), agent("b")]), Answer("Oh.")],
            "a": [Answer(calls=[bash("echo a > a; echo a >> old")]), Answer(calls=[write("a2", "a\n")]),
                  Answer("A.")],
            "b": [Answer(calls=[agent("c")]), Answer(calls=[bash("echo b > b; sleep .1; rm -f own")]),
                  Answer("B.")],
            "c": [Answer(calls=[write("c", "c\n")]), Answer("C.")]})
        made = {name: open(self.path("project", name)).read() for name in os.listdir(self.project)}
        self.assertEqual(set(made), {"old", "a", "a2", "b", "c"})
        key = turn.events[0]["id"]
        self.assertIn("+++ b/c", self.ikigai("session", "diff", key, "--turn").out)
        undone = self.ikigai("session", "undo", key, "--json").json()
        self.assertEqual(undone["conflicts"], [])
        self.assertEqual({name: open(self.path("project", name)).read() for name in os.listdir(self.project)},
                         {"old": "old\n"})
        self.ikigai("session", "redo", key)
        self.assertEqual({name: open(self.path("project", name)).read() for name in os.listdir(self.project)},
                         made)

    def test_changes_by_others_stay(self):
        turn, cast = self.play({"Go": [Answer(calls=[agent("a")]), Answer("Oh.")],
                                "a": [Answer(calls=[bash("echo a > a; echo a > b")]), Answer("A.")]})
        self.write("project/b", "mine\n")
        undone = self.ikigai("session", "undo", turn.events[0]["id"], "--json", status=None).json()
        self.assertEqual([file["path"] for file in undone["conflicts"]], ["b"])
        self.assertEqual(os.listdir(self.project), ["b"])


class Hooks(SubagentTest):
    def test_payload(self):
        self.define("helper", "description: Helps")
        for event in ("before_tool", "turn_end"):
            self.write(f"home/.ikigai/hooks/{event}/note.sh",
                       f"#!/bin/sh\ncat >> {self.path('noted')}\necho >> {self.path('noted')}\n", 0o755)
        self.play({"Go": [Answer(calls=[agent("x", agent="helper")]), Answer("Oh.")],
                   "x": [Answer(calls=[Call("glob", {"pattern": "*"})]), Answer("Hi.")]})
        with open(self.path("noted")) as f:
            noted = [json.loads(line) for line in f if line.strip()]
        self.assertEqual([(n["hook_event_name"], n["agent"], n.get("agent_id"), n.get("agent_type"))
                          for n in noted],
                         [("PreToolUse", 1, None, None), ("PreToolUse", 2, "2", "helper"),
                          ("SubagentStop", 2, "2", "helper"), ("Stop", 1, None, None)])


class Manual(SubagentTest):
    def test_the_example(self):
        with open(os.path.join(ROOT, "docs/extending.md"), encoding="utf-8") as f:
            (text,) = re.findall(r"^```markdown\n(---\ndescription: Reviews a change.*?)```$", f.read(),
                                 re.M | re.S)
        self.write("home/.ikigai/agents/reviewer.md", text)
        turn, cast = self.play({
            "Go": [Answer(calls=[agent("Review the change in src/parser.c.", agent="reviewer")]),
                   Answer("Fine.")],
            "Review the change in src/parser.c.": [Answer("src/parser.c:1: it is not there.")]})
        request = cast.requests["Review the change in src/parser.c."][0]
        self.assertEqual(sent_tools(request), ["file_read", "glob", "grep"])
        self.assertTrue(system_of(request).startswith("You review code."))
        self.assertIn("- reviewer: Reviews a change and reports faults. Use it before a commit.\n",
                      system_of(cast.requests["Go"][0]))
