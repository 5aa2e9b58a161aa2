"""What can be done while the agent works: the row that says what it does, text for the running turn and
for after it, Esc, another model, a fork."""
import glob
import os
import re
import signal
import sqlite3
import threading
import unittest

from fake_llm import Answer, Call, Failure, FakeLLM, Memory, Text, Thinking, Wire
from repl_support import BUSY, ReplTest, words_of
from support import tool_script

ESC, UP, ALT_ENTER, CTRL_C = "\x1b", "\x1b[A", "\x1b\r", "\x03"


def slow(text="word " * 400):
    return Answer(text, fragments=400, wire=Wire(delay_event=0.05))


class Forgiving(Memory):
    """Does not miss reasoning that was dropped because another model has worked since."""

    def check_dropped(self, *_):
        pass

    def check_kept(self, *_):
        pass


def roles_of(request):
    return [m["role"] for m in request.json["messages"]]


class SteeringTest(ReplTest):
    def gated(self, name="wait_here", parallel=False):
        """A tool of the user's that runs until release()."""
        gate = os.path.join(self.dir, "gate")
        self.write(f"../home/tools/{name}", tool_script(
            name, parallel=parallel,
            body=f"touch {self.dir}/started-{name}; until [ -e {gate} ]; do sleep 0.02; done"), 0o755)
        return Call(name)

    def release(self):
        with open(os.path.join(self.dir, "gate"), "w"):
            pass

    def at_work(self, *answers, columns=80):
        """ikigai while its tool runs; answers follow the call."""
        call = self.gated()
        t = self.ready([Answer(calls=[call]), *answers], columns=columns)
        t.send("first\r")
        t.wait_until(lambda: os.path.exists(os.path.join(self.dir, "started-wait_here")), "tool")
        t.wait_for(BUSY)
        return t

    def check_draft(self, t, text):
        rows = ["> " + text.replace("\n", "\n  ")]
        t.wait_for(re.compile("^" + re.escape(rows[0]).rstrip() + r" *\n(local|\n)", re.M))

    def stored(self):
        db = sqlite3.connect(os.path.join(self.home, "ikigai.db"))
        try:
            return [row[0] for row in db.execute(
                "SELECT kind FROM messages WHERE kind != 'checkpoint' ORDER BY agent, seq")]
        finally:
            db.close()


class RowTest(SteeringTest):
    """One row says what is going on, since when, and how to interrupt it."""

    def check_row(self, t, what):
        t.wait_for(re.compile(rf"^\S {what} · \d+ s · esc to interrupt$", re.M))
        t.wait_for(re.compile(rf"^\S {what} · [1-9]\d* s · esc to interrupt$", re.M))

    def test_while_a_tool_runs(self):
        t = self.at_work(Answer("Done."))
        self.check_row(t, "1 tool running")
        self.assertNotIn("running", self.status(t))
        self.release()
        t.wait_for("Done.")
        t.wait_gone(BUSY)
        self.assertNotIn(BUSY, "\n".join(t.all_rows()))

    def test_while_the_model_is_silent(self):
        gate = threading.Event()
        t = self.ready([Answer("Done.", wire=Wire(gate=gate))])
        t.send("go\r")
        self.check_row(t, "Working")
        gate.set()
        t.wait_for("Done.")
        t.wait_gone(BUSY)

    def test_while_it_answers_and_thinks(self):
        t = self.ready([Answer(parts=[Thinking("so " * 60), Text("word " * 60)], fragments=60,
                               wire=Wire(delay_event=0.1))])
        t.send("go\r")
        self.check_row(t, "Thinking")
        self.check_row(t, "Answering")
        t.wait_gone(BUSY)
        self.assertNotIn(BUSY, "\n".join(t.all_rows()))

    def test_while_a_command_of_the_users_runs(self):
        t = self.ready()
        t.send("!sleep 60\r")
        self.check_row(t, "1 command running")
        t.send(ESC)
        t.wait_gone(BUSY)

    def test_a_stream_that_stalls(self):
        t = self.ready([Answer("word " * 20, fragments=20, wire=Wire(stall_after=10))])
        t.send("go\r")
        t.wait_for(re.compile(
            r"^\S Answering · \d+ s · nothing received for 3 s · esc to interrupt$", re.M))
        t.wait_for(re.compile("nothing received for [4-9] s"))
        t.send(ESC)
        t.wait_for("interrupted")
        t.wait_gone("nothing received")

    def test_no_wider_than_the_screen(self):
        for columns in (40, 24, 18):
            with self.subTest(columns=columns):
                t = self.at_work(Answer("Done."), columns=columns)
                t.wait_for(BUSY)
                if columns == 40:
                    t.wait_for(re.compile(r"^\S 1 tool.*… · \d+ s · esc to interrupt$", re.M))
                self.release()
                t.wait_gone(BUSY)
                self.assertEqual(self.leave(t), 0)
                for name in ("gate", "started-wait_here"):
                    os.remove(os.path.join(self.dir, name))

    def test_long_reasoning_moves(self):
        """Also without a single newline."""
        words = " ".join(f"thought{i}" for i in range(600))
        t = self.ready([Answer(parts=[Thinking(words), Text("42")], fragments=300,
                               wire=Wire(delay_event=0.01))])
        t.send("go\r")
        t.wait_for(re.compile(r"thought1\d\d\b"))
        t.wait_for(re.compile(r"thought5\d\d\b"))
        t.wait_for("42")

    def test_nothing_is_drawn_when_it_is_idle(self):
        t = self.ready([Answer("Done.")])
        self.say(t, "go", "Done.")
        t.wait_gone(BUSY)
        t.wait_idle(2.5)


class NextTest(SteeringTest):
    def test_it_follows_the_tool_results(self):
        t = self.at_work(Answer("Seen."))
        t.send("and this\r")
        t.wait_for(re.compile("^next: and this$", re.M))
        self.release()
        t.wait_for("Seen.")
        t.wait_gone("next: ")
        self.assertEqual(roles_of(self.llm.requests[1]),
                         ["system", "user", "assistant", "tool", "user"])
        self.assertEqual(words_of(self.llm.requests[1]), ["first", "and this"])
        rows = t.all_rows()
        self.assertEqual(rows.count("> and this"), 1)
        self.assertEqual(self.leave(t), 0)
        self.assertEqual(self.stored(), ["system", "user", "tool_call", "tool_result", "user",
                                         "assistant"])

    def test_several_follow_all_results_in_order(self):
        calls = [self.gated("left", parallel=True), self.gated("right", parallel=True)]
        t = self.ready([Answer(calls=calls), Answer("Seen.")])
        self.say(t, "first", "2 tools running")
        t.send("one\rtwo\r")
        t.wait_for("next: two")
        self.release()
        t.wait_for("Seen.")
        self.assertEqual(roles_of(self.llm.requests[1]),
                         ["system", "user", "assistant", "tool", "tool", "user", "user"])
        self.assertEqual(words_of(self.llm.requests[1]), ["first", "one", "two"])

    def test_without_a_call_it_starts_the_next_turn(self):
        gate = threading.Event()
        t = self.ready([Answer("One.", wire=Wire(gate=gate)), Answer("Two.")])
        t.send("first\r")
        t.wait_for(BUSY)
        t.send("second\r")
        t.wait_for("next: second")
        gate.set()
        t.wait_for("Two.")
        self.assertEqual(words_of(self.llm.requests[1]), ["first", "One.", "second"])

    def test_it_goes_with_the_attempt_that_follows(self):
        t = self.at_work(Failure("overloaded", headers={"retry-after": "2"}), Answer("Seen."))
        self.release()
        t.wait_for("attempt 2 of 5")
        t.send("and this\r")
        t.wait_for("Seen.")
        self.assertEqual(words_of(self.llm.requests[2]), ["first", "and this"])

    def test_it_survives_a_kill_before_and_after(self):
        t = self.at_work(slow())
        t.send("and this\r")
        t.wait_until(lambda: [open(f).read() for f in glob.glob(
            os.path.join(self.home, "drafts", "*"))] == ["and this"], "saved draft")
        self.release()
        self.llm.wait_for_requests(2)
        t.wait_until(lambda: not glob.glob(os.path.join(self.home, "drafts", "*")), "end of the draft")
        t.signal(signal.SIGKILL)
        t.wait_exit()
        t.check = False
        self.assertEqual(self.stored()[:5], ["system", "user", "tool_call", "tool_result", "user"])

    def test_lines_of_plain_mode(self):
        call = self.gated()
        t = self.start([Answer(calls=[call]), Answer("Seen.")], "--plain", plain=True)
        t.send("first\n")
        t.wait_until(lambda: os.path.exists(os.path.join(self.dir, "started-wait_here")), "tool")
        t.send("and this\n")
        t.wait_for("and this")
        t.wait_read()
        self.release()
        t.wait_for("Seen.")
        self.assertEqual(words_of(self.llm.requests[1]), ["first", "and this"])

    def test_every_wire_format(self):
        for kind, model, key, base in (
                ("openai", "openai/gpt-6-sol", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
                ("anthropic", "anthropic/claude-opus-5-5", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
                ("google", "google/gemini-3.8-flash", "GEMINI_API_KEY", "GEMINI_BASE_URL")):
            with self.subTest(kind=kind):
                call = self.gated()
                with FakeLLM([Answer(parts=[Thinking("Hm."), Text("Look."), call]),
                              Answer("Seen."), Answer("Again.")]) as llm:
                    self.configure(model=model)
                    t = self.ready(env={key: "k", base: llm.base_url(kind)})
                    self.say(t, "first", "1 tool running")
                    t.send("and this\r")
                    t.wait_for("next: and this")
                    self.release()
                    t.wait_for("Seen.")
                    t.wait_gone(BUSY)
                    self.enter(t, "more", "Again.")
                    self.assertIn("and this", llm.requests[1].body.decode())
                    self.assertEqual([r.outcome for r in llm.requests], ["sent"] * 3)
                    self.assertEqual(self.leave(t), 0)
                os.remove(os.path.join(self.dir, "gate"))


class ModelTest(SteeringTest):
    def test_from_provider_to_provider_within_a_turn(self):
        """Every request is valid for the server that gets it."""
        steps = (("anthropic", "anthropic/claude-opus-5-5"), ("openai", "openai/gpt-6-sol"),
                 ("google", "google/gemini-3.8-flash"), ("anthropic", "anthropic/claude-opus-5-5"))
        servers, env = {}, {}
        for kind, variable in (("anthropic", "ANTHROPIC"), ("openai", "OPENAI"),
                               ("google", "GEMINI")):
            calls = [Answer(parts=[Thinking("Hm."), Text("Look."), Call("bash", {
                "command": f"until [ -e {kind} ]; do sleep 0.02; done"})])]
            servers[kind] = FakeLLM([*calls, Answer("All done.")], memory=Forgiving()).start()
            self.addCleanup(servers[kind].stop)
            env.update({f"{variable}_API_KEY": "k", f"{variable}_BASE_URL":
                        servers[kind].base_url(kind)})
        self.configure(model=steps[0][1])
        t = self.ready(env=env)
        t.send("go\r")
        for (kind, _), (_, other) in zip(steps, steps[1:]):
            servers[kind].wait_for_outcome(1)
            t.wait_for("1 tool running")
            self.enter(t, f"/model {other}", f"Model: {other}, from the next request on")
            with open(os.path.join(self.project, kind), "w"):
                pass
        t.wait_for("All done.")
        self.assertEqual([len(servers[kind].requests) for kind in servers], [2, 1, 1])

    def test_while_it_waits_for_another_attempt(self):
        self.other = FakeLLM([Answer("Done by the other.")], dialect="plain").start()
        self.addCleanup(self.other.stop)
        self.serve([Failure("rate_limit", headers={"retry-after": "50"})])
        self.configure(model="local/a", providers={
            "local": {"type": "openai", "base_url": self.llm.base_url("openai")},
            "other": {"type": "openai", "base_url": self.other.base_url("openai")}})
        t = self.ready()
        self.say(t, "go", "attempt 2 of 5")
        t.send("/model other/x\r")
        t.wait_for("Done by the other.")


class QueueTest(SteeringTest):
    def test_it_is_sent_after_the_turn(self):
        t = self.at_work(Answer("One."), Answer("Two."))
        t.send("later" + ALT_ENTER)
        t.wait_for(re.compile("^queued: later$", re.M))
        t.send("now\r")
        t.wait_for(re.compile("^next: now\nqueued: later$", re.M))
        self.release()
        t.wait_for("Two.")
        self.assertEqual(words_of(self.llm.requests[1]), ["first", "now"])
        self.assertEqual(words_of(self.llm.requests[2]), ["first", "now", "One.", "later"])

    def test_when_idle_it_is_a_new_line(self):
        t = self.ready([Answer("One.")])
        t.send("two" + ALT_ENTER + "lines")
        self.check_draft(t, "two\nlines")
        self.say(t, "", "One.")
        self.assertEqual(words_of(self.llm.requests[0]), ["two\nlines"])

    def test_a_command_waits_as_well(self):
        t = self.at_work(Answer("One."))
        t.send("/usage" + ALT_ENTER)
        t.wait_for("queued: /usage")
        self.release()
        t.wait_for(re.compile("One.*^/usage$", re.M | re.S))

    def test_a_key_that_waits_is_not_shown(self):
        t = self.at_work(Answer("One."))
        t.send("/login openai sk-by-mistake" + ALT_ENTER)
        t.wait_for(re.compile("^queued: /login openai$", re.M))
        self.assertNotIn("sk-by", "\n".join(t.all_rows()))
        self.release()
        t.wait_for("Usage: /login [PROVIDER]")
        self.assertNotIn("sk-by", "\n".join(t.all_rows()))


class UpTest(SteeringTest):
    def test_the_latest_returns_to_the_empty_draft(self):
        t = self.at_work(Answer("One."))
        t.send("one\r")
        t.send("two" + ALT_ENTER)
        t.send("three\r")
        t.wait_for(re.compile("^next: one\nnext: three\nqueued: two$", re.M))
        for text, left in (("three", "next: one\nqueued: two"), ("two", "next: one")):
            t.send(UP)
            self.check_draft(t, text)
            t.wait_for(re.compile(f"interrupt\n{left}\n\n", re.M))
            t.send(CTRL_C)
            t.wait_for(re.compile("^>$", re.M))
        self.release()
        t.wait_for("One.")
        self.assertEqual(words_of(self.llm.requests[1]), ["first", "one"])

    def test_a_draft_looks_at_earlier_messages(self):
        t = self.at_work(Answer("One."))
        t.send("one\r")
        t.wait_for("next: one")
        t.send("fi" + UP)
        self.check_draft(t, "first")
        t.wait_for("next: one")


class EscapeTest(SteeringTest):
    def test_waiting_text_returns_to_the_draft(self):
        t = self.at_work(Answer("Never."))
        t.send("one\rtwo" + ALT_ENTER)
        t.wait_for("queued: two")
        t.send("half" + ESC)
        t.wait_for("interrupted")
        self.check_draft(t, "one\ntwo\nhalf")
        t.wait_gone(BUSY)
        self.assertEqual(len(self.llm.requests), 1)

    def test_twice_sends_it(self):
        t = self.at_work(Answer("Sent."))
        t.send("one\rtwo\r")
        t.wait_for("next: two")
        t.send("half" + ESC + ESC)
        t.wait_for("Sent.")
        self.assertEqual(words_of(self.llm.requests[1]), ["first", "one\ntwo"])
        self.check_draft(t, "half")
        self.assertIn("interrupted", "\n".join(t.all_rows()))

    def test_twice_sends_commands_by_themselves(self):
        t = self.at_work(Answer("Sent."))
        t.send("!echo of the shell" + ALT_ENTER + "touch the button" + ALT_ENTER + "twice" +
               ALT_ENTER + "/mode" + ALT_ENTER)
        t.wait_for("queued: twice")
        t.wait_for("1 more waiting")
        t.send(ESC + ESC)
        t.wait_for("Sent.")
        t.wait_for("Mode: auto")
        self.assertEqual(words_of(self.llm.requests[1])[-1], "touch the button\ntwice")
        self.assertEqual(os.listdir(self.project), [])
        self.check_draft(t, "")

    def test_twice_with_nothing_waiting(self):
        t = self.at_work(Answer("Never."))
        t.send("half" + ESC + ESC)
        t.wait_for("interrupted")
        t.wait_gone(BUSY)
        self.check_draft(t, "half")
        self.assertEqual(len(self.llm.requests), 1)

    def test_not_after_a_change(self):
        t = self.at_work(Answer("Never."))
        t.send("one\r")
        t.wait_for("next: one")
        t.send(ESC)
        self.check_draft(t, "one")
        t.send("x" + ESC)
        t.wait_gone(BUSY)
        self.check_draft(t, "onex")
        self.assertEqual(len(self.llm.requests), 1)

    def test_a_failure_returns_it_too(self):
        gate = threading.Event()
        t = self.ready([Failure("bad_request", wire=Wire(gate=gate))])
        t.send("first\r")
        t.wait_for(BUSY)
        t.send("one\r")
        t.wait_for("next: one")
        gate.set()
        t.wait_for("The request is not valid.")
        self.check_draft(t, "one")


class ForkTest(SteeringTest):
    def test_what_is_complete_is_copied(self):
        t = self.at_work(Answer("Two."), Answer("One."))
        t.send("/fork second\r")
        t.wait_for("Agent 1 keeps working.")
        t.wait_for("── agent 2 ──")
        t.wait_for("Two.")
        self.assertEqual(roles_of(self.llm.requests[1]), ["system", "user", "user"])
        self.release()
        t.wait_for("Agent 1: done.")
        self.assertEqual(roles_of(self.llm.requests[2]), ["system", "user", "assistant", "tool"])
        self.assertEqual(self.leave(t), 0)
        again = self.ready([Answer("Three.")], "-c")
        self.say(again, "/switch 2", "── agent 2 ──")
        self.say(again, "third", "Three.")
        self.assertEqual(words_of(self.llm.requests[0]), ["first", "second", "Two.", "third"])
        self.assertEqual(roles_of(self.llm.requests[0]),
                         ["system", "user", "user", "assistant", "user"])


if __name__ == "__main__":
    unittest.main()
