"""Several agents in the interactive program: forked, switched between, working at the same time,
killed, and there again when the session goes on.
"""
import itertools
import os
import re
import threading
import unittest

import hostile
from agent_support import sent_results, sent_tools
from fake_llm import Answer, Call, Failure, Wire
from repl_support import MODEL, ReplTest, words_of

SIMPLE = {"first": Answer("One."), "second": Answer("Two."), "third": Answer("Three."),
          "fourth": Answer("Four."), "fifth": Answer("Five.")}
ESCAPE = "\x1b"
WIDE = {"columns": 160}


class Model:
    """Answers by the last words of the user: one after the other of those written for them."""

    def __init__(self, answers):
        self.answers = {words: list(those) if isinstance(those, list) else [those]
                        for words, those in answers.items()}
        self.held = {}
        self.asked = []  # (words, request)
        self.lock = threading.Lock()

    def hold(self, words):
        """Their next answer waits until let_go(words)."""
        self.held[words] = threading.Event()

    def let_go(self, words):
        self.held[words].set()

    def end(self):
        for event in self.held.values():
            event.set()

    def request(self, words):
        """What came with these words, the last time."""
        return [request for said, request in self.asked if said == words][-1]

    def __call__(self, request):
        words = [m["content"] for m in request.json["messages"] if m["role"] == "user"][-1]
        with self.lock:
            self.asked.append((words, request))
            answer = self.answers[words].pop(0)
        if words in self.held:
            self.held[words].wait(60)
        return answer


class AgentsTest(ReplTest):
    def setUp(self):
        super().setUp()
        self.model = None
        self.addCleanup(hostile.kill_all, self.dir)

    def begin(self, answers, *args, hold=()):
        self.model = Model(answers)
        for words in hold:
            self.model.hold(words)
        t = self.ready(self.model, *args, **WIDE)
        self.addCleanup(self.model.end)
        return t

    def begin_forked(self, words, answers, hold=()):
        """An agent that heard "first", and its fork, which gets these words and is current."""
        t = self.begin({"first": Answer("One."), **answers}, hold=hold)
        self.enter(t, "first", "One.")
        self.fork(t, 2, words)
        return t

    def go_on(self, *args):
        """The same session in another process, with the same server."""
        return self.ready(None, *args, **WIDE)

    def said(self, words):
        self.llm.wait(lambda: words in [said for said, _ in self.model.asked])

    def wait_current(self, t, number):
        t.wait_until(lambda: re.search(rf" · agent {number}( ·|$)", self.status(t)),
                     f"agent {number}")

    def switch(self, t, number):
        t.send(f"/switch {number}\r")
        self.wait_current(t, number)

    def fork(self, t, number, prompt=""):
        self.enter(t, f"/fork {prompt}".rstrip(), f"── agent {number} ──")
        self.wait_current(t, number)

    def agents(self, t):
        """What /agents says: {number: (marked, state, the rest)}"""
        form = re.compile(r"(\d+) ([* ]) (?:from \d+)? *(working|has news|idle) +\d+ messages?  "
                          r"(.*)")
        rows = self.enter(t, "/agents", re.compile(r"^\d", re.M))
        # What an agent in the background reports may come right after the last one.
        rows = [form.fullmatch(row) for row in itertools.takewhile(lambda r: r[:1].isdigit(), rows)]
        self.assertNotIn(None, rows)
        return {int(row[1]): (row[2] == "*", row[3], row[4]) for row in rows}

    def count(self, t, row):
        return t.all_rows().count(row)

    def sleeper(self, name="sleeper"):
        """A tool that sleeps for a long time; the file started says that it does."""
        hostile.sh_tool(os.path.join(self.home, "tools"), name, "touch started; sleep 300")

    def wait_started(self):
        path = os.path.join(self.project, "started")
        self.assertTrue(hostile.wait_until(lambda: os.path.exists(path), 20))

    def assert_all_ended(self):
        tools = os.path.join(self.home, "tools")
        self.assertTrue(hostile.wait_until(lambda: not hostile.processes_with(tools)),
                        hostile.processes_with(tools))


class ForkTest(AgentsTest):
    def test_a_child_knows_the_conversation_and_the_parent_keeps_its_own(self):
        t = self.begin(SIMPLE)
        self.enter(t, "first", "One.")
        self.fork(t, 2)
        self.enter(t, "second", "Two.")
        self.assertEqual(words_of(self.model.request("second")), ["first", "One.", "second"])
        self.switch(t, 1)
        self.assertEqual(self.count(t, "One."), 1)
        self.enter(t, "third", "Three.")
        self.assertEqual(words_of(self.model.request("third")), ["first", "One.", "third"])
        first, second, _ = self.llm.requests
        self.assertEqual(sent_tools(first), sent_tools(second))
        self.assertEqual(first.json["messages"][0], second.json["messages"][0])
        self.assertEqual(self.llm.problems, [])

    def test_with_a_prompt(self):
        t = self.begin({"first": Answer("One."), "do it well": Answer("Done.")})
        self.enter(t, "first", "One.")
        self.fork(t, 2, "do it well")
        t.wait_for("Done.")
        self.assertEqual(words_of(self.model.request("do it well")),
                         ["first", "One.", "do it well"])

    def test_a_child_of_a_child(self):
        t = self.begin(SIMPLE)
        self.enter(t, "first", "One.")
        self.fork(t, 2)
        self.enter(t, "second", "Two.")
        self.fork(t, 3, "third")
        t.wait_for("Three.")
        self.assertEqual(words_of(self.model.request("third")),
                         ["first", "One.", "second", "Two.", "third"])

    def test_before_anything_was_said(self):
        t = self.begin({"first": Answer("One."), "other": Answer("Two.")})
        self.fork(t, 2)
        self.enter(t, "first", "One.")
        self.switch(t, 1)
        self.enter(t, "other", "Two.")
        one, other = self.model.request("first"), self.model.request("other")
        self.assertEqual(words_of(other), ["other"])
        self.assertEqual(one.json["messages"][0], other.json["messages"][0])
        self.assertEqual(one.json["messages"][0]["role"], "system")

    def test_while_it_works(self):
        t = self.begin({"first": Answer("One."), "second": Answer("Two.")}, hold=["first"])
        t.send("first\r")
        self.said("first")
        self.enter(t, "/fork second", "Agent 1 keeps working.")
        t.wait_for("Two.")
        self.model.let_go("first")
        t.wait_for("Agent 1: done.")
        self.switch(t, 1)
        t.wait_for("One.")
        self.assertEqual(words_of(self.model.request("second")), ["first", "second"])

    def test_each_has_its_model(self):
        t = self.begin(SIMPLE)
        self.enter(t, "first", "One.")
        self.fork(t, 2)
        self.enter(t, "/model local/other", "Model: local/other")
        self.enter(t, "second", "Two.")
        self.switch(t, 1)
        self.assertTrue(self.status(t).startswith(MODEL), self.status(t))
        self.enter(t, "third", "Three.")
        self.assertEqual([r.model for r in self.llm.requests], ["qwen3", "other", "qwen3"])
        agents = self.agents(t)
        self.assertTrue(agents[2][2].startswith("local/other"), agents)


class ListTest(AgentsTest):
    def test_one_line_each(self):
        t = self.begin({"first": Answer("One."), "second": Answer("Two.")})
        rows = self.enter(t, "/agents", "idle")
        self.assertEqual(rows[0].split(), ["1", "*", "idle", "0", "messages", MODEL])
        self.assertEqual(len(rows), 1)
        self.enter(t, "first", "One.")
        self.fork(t, 2)
        self.enter(t, "second", "Two.")
        rows = self.enter(t, "/agents", "second")
        self.assertRegex(rows[0], rf"^1   +idle +3 messages  {MODEL}  first$")
        self.assertRegex(rows[1], rf"^2 \* from 1 +idle +5 messages  {MODEL}  second$")
        self.assertEqual(len(rows), 2)

    def test_numbers_that_are_none(self):
        t = self.begin({})
        self.enter(t, "/switch 7", "There is no agent 7. /agents lists them.")
        self.enter(t, "/kill 7", "There is no agent 7. /agents lists them.")
        self.enter(t, "/switch 1", "You are already talking to agent 1.")
        self.enter(t, "/switch x", "Usage: /switch [N]")
        self.enter(t, "/kill 1", "Agent 1 is the only one.")


class BackgroundTest(AgentsTest):
    def test_two_turns_at_once(self):
        t = self.begin({"first": Answer("One."), "slow": Answer("Secret words."),
                        "quick": Answer("Quick words.")}, hold=["slow", "quick"])
        self.enter(t, "first", "One.")
        self.fork(t, 2, "slow")
        self.said("slow")
        self.switch(t, 1)
        t.send("quick\r")
        self.said("quick")
        for words in ("slow", "quick"):
            self.assertEqual(self.model.request(words).outcome, "open")
        self.assertRegex(self.status(t), " · agent 1 · .*1 busy in the background$")
        self.assertEqual([a[:2] for a in self.agents(t).values()],
                         [(True, "working"), (False, "working")])
        self.model.let_go("slow")
        t.wait_for("Agent 2: done. /switch 2 shows its answer.")
        self.assertNotIn("Secret words.", t.all_rows())
        self.assertEqual(self.agents(t)[2][:2], (False, "has news"))
        self.model.let_go("quick")
        t.wait_for("Quick words.")
        self.switch(t, 2)
        t.wait_for("Secret words.")
        self.assertEqual(self.agents(t)[2][:2], (True, "idle"))
        for number in (1, 2, 1, 2):
            self.switch(t, number)
        self.assertEqual(self.count(t, "Secret words."), 1)
        self.assertEqual(self.count(t, "Quick words."), 1)
        self.assertEqual(self.count(t, "> slow"), 1)
        self.assertEqual(self.llm.problems, [])

    def test_half_an_answer_goes_on_where_it_stopped(self):
        parts = [f"Part {n} of it." for n in range(1, 7)]
        t = self.begin({"first": Answer("One."), "long": Answer("\n\n".join(parts), fragments=6,
                                                                wire=Wire(delay_event=0.2))})
        self.enter(t, "first", "One.")
        self.fork(t, 2)
        t.send("long\r")
        t.wait_for(parts[1])
        self.switch(t, 1)
        self.switch(t, 2)
        t.wait_for(parts[3])
        self.switch(t, 1)
        t.wait_for("Agent 2: done.")
        self.switch(t, 2)
        t.wait_for(parts[5])
        self.assertEqual([row for row in t.all_rows() if row.startswith("Part")], parts)

    def test_tools_in_the_background_are_shown_later(self):
        t = self.begin({"first": Answer("One."),
                        "work": [Answer(calls=[Call("bash", {"command": "echo from a tool"})]),
                                 Answer("Worked.")],
                        "other": Answer("Two.")}, hold=["work"])
        self.enter(t, "first", "One.")
        self.fork(t, 2, "work")
        self.said("work")
        self.switch(t, 1)
        self.model.let_go("work")
        t.wait_for("Agent 2: done.")
        self.assertNotIn("from a tool", t.all_rows())
        self.enter(t, "other", "Two.")
        self.switch(t, 2)
        t.wait_for("Worked.")
        shown = [row for row in self.below(t, "── agent 2 ──") if row]
        self.assertEqual([shown[0], shown[2], shown[3]],
                         ["● bash  command: echo from a tool", "from a tool", "Worked."])
        self.assertRegex(shown[1], r"^└ #1 ok ")

    def test_a_failure_is_announced(self):
        t = self.begin_forked("fail", {"fail": Failure("bad_request", "no such thing"),
                              "again": Answer("Better.")}, hold=["fail"])
        self.said("fail")
        self.switch(t, 1)
        self.model.let_go("fail")
        t.wait_for("Agent 2: failed. /switch 2 shows its answer.")
        self.assertRegex("\n".join(t.all_rows()), "Agent 2: .*no such thing")
        self.switch(t, 2)
        self.enter(t, "again", "Better.")

    def test_esc_is_for_the_one_on_the_screen(self):
        t = self.begin_forked("slow", {"slow": Answer("Late."), "mine": Answer("Never.")},
                              hold=["slow", "mine"])
        self.said("slow")
        self.switch(t, 1)
        t.send("mine\r")
        self.said("mine")
        t.send(ESCAPE)
        t.wait_for(re.compile("^interrupted$", re.M))
        self.assertEqual([a[1] for a in self.agents(t).values()], ["idle", "working"])
        self.model.let_go("slow")
        t.wait_for("Agent 2: done.")

    def test_what_was_queued_goes_to_whom_it_was_for(self):
        t = self.begin_forked("slow", {"slow": Answer("Late."), "more": Answer("More."),
                              "mine": Answer("Mine.")}, hold=["slow"])
        self.said("slow")
        t.send("more\r")
        t.wait_for("next: more")
        t.send("!echo with $((1 + 1))\r")
        t.wait_for("queued: !echo")
        self.switch(t, 1)
        self.assertNotIn("queued", "\n".join(t.screen()))
        self.model.let_go("slow")
        self.said("more")
        t.wait_until(lambda: self.agents(t)[2][1] == "has news", "end of agent 2")
        self.enter(t, "mine", "Mine.")
        self.assertNotIn("with 2", t.all_rows())
        self.switch(t, 2)
        t.wait_for("with 2")
        self.assertEqual(words_of(self.model.request("mine")), ["first", "One.", "mine"])
        self.assertEqual(words_of(self.model.request("more")),
                         ["first", "One.", "slow", "Late.", "more"])

    def test_a_command_of_the_user_is_shown_where_it_was_run(self):
        t = self.begin({"first": Answer("One."), "second": Answer("Two.")})
        self.enter(t, "first", "One.")
        t.send("!touch started; while [ ! -e go ]; do sleep 0.02; done; echo through it\r")
        self.wait_started()
        self.enter(t, "/fork", "/fork has to wait")
        self.write("go", "")
        t.wait_for(re.compile("^└ ok .*\nthrough it$", re.M))
        self.fork(t, 2)
        os.remove(os.path.join(self.project, "go"))
        os.remove(os.path.join(self.project, "started"))
        t.send("!touch started; while [ ! -e go ]; do sleep 0.02; done; echo second time\r")
        self.wait_started()
        self.switch(t, 1)
        self.write("go", "")
        t.wait_for("Agent 2: the command has ended. /switch 2 shows its output.")
        self.assertNotIn("second time", t.all_rows())
        self.switch(t, 2)
        t.wait_for(re.compile("^second time$", re.M))
        self.switch(t, 1)
        self.switch(t, 2)
        self.assertEqual(self.count(t, "second time"), 1)
        self.enter(t, "second", "Two.")
        self.assertIn("second time", words_of(self.model.request("second"))[-2])


class KillTest(AgentsTest):
    def test_an_idle_one(self):
        t = self.begin(SIMPLE)
        self.enter(t, "first", "One.")
        self.fork(t, 2, "second")
        t.wait_for("Two.")
        self.switch(t, 1)
        self.enter(t, "/kill 2", "Agent 2 was ended.")
        self.assertEqual(list(self.agents(t)), [1])
        self.enter(t, "/switch 2", "There is no agent 2.")
        self.enter(t, "third", "Three.")

    def test_a_busy_one_and_its_tools(self):
        self.sleeper()
        t = self.begin_forked("sleep", {"sleep": Answer(calls=[Call("sleeper")]), "second": Answer("Two.")})
        self.wait_started()
        self.switch(t, 1)
        self.enter(t, "/kill 2", "Agent 2 was ended.")
        self.assert_all_ended()
        self.enter(t, "second", "Two.")
        self.assertEqual(words_of(self.model.request("second")), ["first", "One.", "second"])
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        t = self.go_on("-c")
        self.assertEqual(list(self.agents(t)), [1])

    def test_the_current_one(self):
        self.sleeper()
        t = self.begin_forked("sleep", {"sleep": Answer(calls=[Call("sleeper")]), "second": Answer("Two.")})
        self.wait_started()
        rows = self.enter(t, "/kill 2", "Agent 2 was ended.")
        self.assertIn("── agent 1 ──", rows)
        self.assert_all_ended()
        self.enter(t, "second", "Two.")
        self.assertEqual(words_of(self.model.request("second")), ["first", "One.", "second"])

    def test_what_waited_for_it_returns_to_the_draft(self):
        t = self.begin_forked("slow", {"slow": Answer("Never.")}, hold=["slow"])
        self.said("slow")
        t.send("precious words\r")
        t.wait_for("next: precious words")
        self.enter(t, "/kill 2", "Agent 2 was ended.")
        t.wait_for(re.compile("^> precious words$", re.M))

    def test_what_waited_for_it_in_the_background_too(self):
        t = self.begin_forked("slow", {"slow": Answer("Late.")}, hold=["slow"])
        self.said("slow")
        t.send("!echo later\r")
        t.wait_for("queued: !echo later")
        self.switch(t, 1)
        self.model.let_go("slow")
        t.wait_for("Agent 2: done.")
        self.enter(t, "/kill 2", "Agent 2 was ended.")
        t.wait_for(re.compile("^> !echo later$", re.M))

    def test_the_first_one(self):
        t = self.begin_forked("second", SIMPLE)
        t.wait_for("Two.")
        self.enter(t, "/kill 1", "Agent 1 was ended.")
        self.enter(t, "third", "Three.")
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        t = self.go_on("-c")
        self.assertEqual(list(self.agents(t)), [2])

    def test_a_command_of_the_user_lives_on(self):
        t = self.begin_forked("second", {"second": Answer("Two.")})
        t.wait_for("Two.")
        self.switch(t, 1)
        t.send("!touch started; while [ ! -e go ]; do sleep 0.02; done; echo still there\r")
        self.wait_started()
        self.enter(t, "/kill 2", "Agent 2 was ended.")
        self.write("go", "")
        t.wait_for(re.compile("^└ ok .*\nstill there$", re.M))


class RestoreTest(AgentsTest):
    def begin_two(self):
        """Agent 1 heard first and third, agent 2 first and second."""
        t = self.begin_forked("second", SIMPLE)
        t.wait_for("Two.")
        self.switch(t, 1)
        self.enter(t, "third", "Three.")
        return t

    def test_the_same_agents_with_their_conversations(self):
        t = self.begin_two()
        self.switch(t, 2)
        self.enter(t, "fourth", "Four.")
        before = self.agents(t)
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        t = self.go_on("-c")
        t.wait_for("Four.")  # agent 2 spoke last
        said = [row for row in t.all_rows() if row.startswith("> ")]
        self.assertEqual(said, ["> first", "> second", "> fourth"])
        self.assertEqual(self.agents(t), before)
        self.enter(t, "fifth", "Five.")
        self.assertEqual(words_of(self.model.request("fifth")),
                         ["first", "One.", "second", "Two.", "fourth", "Four.", "fifth"])
        self.switch(t, 1)
        t.wait_for("Three.")
        self.assertEqual(self.llm.problems, [])

    def test_the_parent_when_it_spoke_last(self):
        t = self.begin_two()
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        t = self.go_on("-c")
        t.wait_for("Three.")
        self.assertEqual({n: a[0] for n, a in self.agents(t).items()}, {1: True, 2: False})
        self.enter(t, "fifth", "Five.")
        self.assertEqual(words_of(self.model.request("fifth")),
                         ["first", "One.", "third", "Three.", "fifth"])

    def test_a_new_one_gets_a_new_number(self):
        t = self.begin_two()
        self.enter(t, "/kill 2", "Agent 2 was ended.")
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        t = self.go_on("-c")
        t.wait_for("Three.")
        self.fork(t, 3, "fourth")
        t.wait_for("Four.")
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        t = self.go_on("-c")
        t.wait_for("Four.")
        self.assertEqual(list(self.agents(t)), [1, 3])

    def test_a_killed_one_is_not_the_last_that_spoke(self):
        t = self.begin_two()
        self.fork(t, 3, "fourth")
        t.wait_for("Four.")
        self.enter(t, "/kill 2", "Agent 2 was ended.")
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        t = self.go_on("-c")
        t.wait_for("Four.")
        self.assertEqual({n: a[0] for n, a in self.agents(t).items()}, {1: False, 3: True})

    def test_one_that_never_said_anything_stays_away_when_killed(self):
        t = self.begin(SIMPLE)
        self.enter(t, "first", "One.")
        self.fork(t, 2)
        self.enter(t, "/kill 2", "Agent 2 was ended.")
        self.fork(t, 2)
        self.switch(t, 1)
        self.enter(t, "second", "Two.")
        self.enter(t, "/kill 2", "Agent 2 was ended.")
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        t = self.go_on("-c")
        t.wait_for("Two.")
        self.assertEqual(list(self.agents(t)), [1])
        self.enter(t, "third", "Three.")
        self.assertEqual(words_of(self.model.request("third")),
                         ["first", "One.", "second", "Two.", "third"])

    def test_agents_alone_are_no_session(self):
        t = self.begin(SIMPLE)
        self.fork(t, 2)
        self.fork(t, 3)
        self.enter(t, "/kill 2", "Agent 2 was ended.")
        self.enter(t, "/sessions", "There are no sessions in this folder yet.")
        self.enter(t, "first", "One.")
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        t = self.go_on("-c")
        t.wait_for("One.")
        self.assertEqual(list(self.agents(t)), [1, 3])

    def test_one_that_never_said_anything_knows_who_it_is(self):
        """Agent 1 was left for a child before it said a word."""
        t = self.begin(SIMPLE)
        self.fork(t, 2, "first")
        t.wait_for("One.")
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        t = self.go_on("-c")
        t.wait_for("One.")
        self.switch(t, 1)
        self.enter(t, "second", "Two.")
        self.assertEqual(words_of(self.model.request("second")), ["second"])
        self.assertEqual(self.model.request("second").json["messages"][0],
                         self.model.request("first").json["messages"][0])


class NewSessionTest(AgentsTest):
    def test_agents_that_work_are_not_forgotten(self):
        t = self.begin({"first": Answer("One."), "slow": Answer("Late."), "next": Answer("New.")},
                       hold=["slow"])
        self.enter(t, "first", "One.")
        self.fork(t, 2, "slow")
        self.said("slow")
        self.switch(t, 1)
        for line in ("/clear", "/resume 0"):
            self.enter(t, line, "Agent 2 is still working")
        self.model.let_go("slow")
        t.wait_for("Agent 2: done.")
        self.enter(t, "/clear", "New conversation.")
        self.assertEqual(list(self.agents(t)), [1])
        self.enter(t, "next", "New.")
        self.assertEqual(words_of(self.model.request("next")), ["next"])


if __name__ == "__main__":
    unittest.main()


class SubagentTest(AgentsTest):
    """Sub-agents, which the tool agent starts."""

    def begin_task(self, more=None, task=None, args=None):
        """A turn whose sub-agent runs a tool that sleeps."""
        self.sleeper()
        t = self.begin({"Go": [Answer("I ask.", calls=[Call("agent", {"prompt": "task", **(args or {})})]),
                               Answer("All is said.")],
                        "task": task or [Answer("I sleep.", calls=[Call("sleeper")]), Answer("Awake.")],
                        **(more or {})})
        t.send("Go\r")
        self.wait_started()
        return t

    def subagents(self, t):
        """The rows of /agents."""
        rows = [*self.enter(t, "/agents", re.compile(r"^\d", re.M)), ""]
        return rows[:rows.index("")]

    def test_watching_one_and_ending_it(self):
        os.makedirs(os.path.join(self.home, "agents"), exist_ok=True)
        with open(os.path.join(self.home, "agents", "helper.md"), "w") as f:
            f.write("---\ndescription: Helps\n---\nHelp.\n")
        t = self.begin_task(args={"agent": "helper"})
        t.wait_for("agent 2: sleeper()")                  # the row of the call shows what it does
        t.wait_until(lambda: "1 sub-agent" in self.status(t), "1 sub-agent")
        self.assertNotIn("agent 1", self.status(t))
        first, second = self.subagents(t)
        self.assertRegex(first, r"^1 \*  +working +4 messages")
        self.assertRegex(second, r"^2   from 1  working +4 messages  .*  helper  task  · sleeper\(\)$")
        self.switch(t, 2)
        t.wait_for("I sleep.")
        self.assertEqual(self.count(t, "> task"), 1)
        t.send(ESCAPE)
        t.wait_for("Agent 2 was interrupted. /switch 1 returns to its parent.")
        self.assert_all_ended()
        self.llm.wait(lambda: len(self.llm.requests) == 3)
        t.send("/switch 1\r")
        t.wait_for("All is said.")
        ((_, envelope),) = sent_results(self.llm.requests[2])
        self.assertEqual(envelope["result"]["error_code"], "CANCELLED")
        t.wait_until(lambda: "agent" not in self.status(t), "a status line without agents")
        self.settle(t)
        self.assertRegex(self.subagents(t)[1], r"^2   from 1  ended +5 messages  .*  helper  task$")
        t.send("/switch\r")
        t.wait_for("Switch to which agent?")
        self.assertNotIn("ended", "\n".join(t.screen()[-6:]))
        t.send(ESCAPE)
        t.wait_gone("Switch to which agent?")
        self.enter(t, "/switch 2", "── agent 2 ──")       # it can be looked at again
        self.assertEqual(self.count(t, "> task"), 1)       # what was shown is not repeated
        self.leave(t)
        t = self.go_on("-c")
        self.assertRegex(self.subagents(t)[1], r"^2   from 1  ended +\d messages  .*  helper  task$")
        self.enter(t, "/switch 2", "I sleep.")
        self.leave(t)

    def test_the_parent_is_interrupted(self):
        t = self.begin_task()
        t.wait_for("agent 2: sleeper()")
        t.send(ESCAPE)
        t.wait_for("interrupted")
        self.assert_all_ended()
        t.wait_until(lambda: "sub-agent" not in self.status(t), "an end")
        self.assertRegex(self.subagents(t)[1], r"^2   from 1  ended ")
        self.assertEqual(self.count(t, "Agent 2: interrupted"), 0)

    def test_kill(self):
        t = self.begin_task()
        self.enter(t, "/kill 2", "Agent 2 was ended.")
        t.wait_for("All is said.")
        ((_, envelope),) = sent_results(self.llm.requests[2])
        self.assertEqual(envelope["result"]["error_code"], "CANCELLED")
        self.settle(t)
        self.assertEqual(len(self.subagents(t)), 1)

    def test_questions_say_who_asks(self):
        t = self.begin({"Go": [Answer(calls=[Call("agent", {"prompt": "task"})]), Answer("All is said.")],
                        "task": [Answer(calls=[Call("bash", {"command": "echo hi", "permissions": "all",
                                                             "reason": "must"})]), Answer("Asked.")]})
        t.send("Go\r")
        t.wait_for("Allow bash? (agent 2, in the background) allows: no confinement")
        t.send("y")
        t.wait_for("All is said.")

    def test_what_is_typed_goes_to_the_one_on_the_screen(self):
        t = self.begin_task(more={"hurry": [Answer("Sure.")]})
        self.switch(t, 2)
        t.send("hurry\r")
        t.wait_for("hurry")
        path = os.path.join(self.project, "started")
        pids = hostile.processes_with(os.path.join(self.home, "tools"))
        for pid in pids:
            os.kill(pid, 15)
        self.assertTrue(os.path.exists(path))
        t.wait_for("Sure.")
        t.wait_for("Agent 2 is done. /switch 1 returns to its parent.")
        t.send("/switch 1\r")
        t.wait_for("All is said.")
