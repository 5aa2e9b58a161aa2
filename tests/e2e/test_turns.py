"""The model loop: what is asked, run and asked again, for every API alike."""
import json
import os

from agent_support import (FORMATS, AgentTest, forbids_tools, per_format, sent_messages,
                           sent_results, sent_tools)
from fake_llm import Answer, Call, Failure, Memory, Raw, Text, Thinking, Usage, Wire
from support import SHIPPED

TEXT_PARAM = {"type": "object", "properties": {"text": {"type": "string"},
                                               "extra": {"type": "string"}}, "required": ["text"]}
# Waits until the other one is there, too: two of these end only if they overlap.
MEET = """read -r input; other=$(echo "$input" | sed 's/.*"other": *"\\([a-z]*\\)".*/\\1/')
me=$(echo "$input" | sed 's/.*"me": *"\\([a-z]*\\)".*/\\1/')
: > "here-$me"
until [ -e "here-$other" ]; do sleep 0.01; done
echo "{\\"met\\":\\"$other\\"}" """
MEET_PARAMS = {"type": "object", "properties": {"me": {"type": "string"},
                                                "other": {"type": "string"}},
               "required": ["me", "other"]}
# Gives a second one a chance to start beside it, and says whether it did.
ALONE = """mkdir busy 2> /dev/null || { echo '{"alone":false}'; exit; }
for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.02; done
rmdir busy; echo '{"alone":true}'"""
# Ends as soon as (and not before) the file with its argument's name exists.
AWAIT = """name=$(sed 's/.*"text": *"\\([a-z]*\\)".*/\\1/')
until [ -e "$name" ]; do sleep 0.01; done; echo "{\\"saw\\":\\"$name\\"}" """
BIG = """read -r input; printf '{"output":"%s %s"}' "$(head -c 12000 /dev/zero | tr '\\0' x)" \\
"$(echo "$input" | tr -d '"{}\\\\')" """


class Turns:
    """What holds for every format."""

    def echo(self, **schema):
        self.tool("echo_back", "cat", parameters=TEXT_PARAM, **schema)

    def call(self, text="x", **more):
        return Call("echo_back", {"text": text}, **more)

    # ---- answers and calls

    def test_plain_answer(self):
        turn = self.ask([Answer("Grüße, 世界 👋", fragments=3)], prompt="Say hello")
        self.assertEqual(turn.text, "Grüße, 世界 👋")
        self.assertEqual([(m["kind"], m["content"]) for m in turn.messages()][1:],
                         [("user", "Say hello"), ("assistant", "Grüße, 世界 👋")])
        self.assertEqual(turn.messages()[0]["kind"], "system")
        self.assertEqual((turn.reason, turn.err), ("end_turn", ""))
        (request,) = turn.llm.requests
        self.assertEqual((request.format, request.model),
                         (FORMATS[self.format].wire, FORMATS[self.format].model))
        self.assertEqual(sent_tools(request), SHIPPED)

    def test_one_call(self):
        self.write("project/a.c")
        self.write("project/b.c")
        turn = self.ask([Answer("Let me look.", calls=[Call("glob", {"pattern": "*.c"})]),
                         Answer("Two files.")])
        self.assertEqual([m["kind"] for m in turn.messages()],
                         ["system", "user", "assistant", "tool_call", "tool_result", "assistant"])
        call, result = turn.messages("tool_call", "tool_result")
        self.assertEqual(call["content"], 'glob(pattern="*.c")')
        self.assertEqual(call["data"]["type"], "function")
        self.assertEqual(call["data"]["function"], {"name": "glob",
                                                    "arguments": '{"pattern":"*.c"}'})
        self.assertEqual(result["content"], "2 files found")
        self.assertEqual((result["data"]["tool_call_id"], result["data"]["name"],
                          result["data"]["success"]), (call["data"]["id"], "glob", True))
        envelope = {"tool_success": True, "result": {"output": "a.c\nb.c", "count": 2}}
        self.assertEqual(json.loads(result["data"]["output"]), envelope)
        first, second = turn.llm.requests
        self.assertEqual([e for _, e in sent_results(second)], [envelope])
        self.assertEqual(first.connection, second.connection)

    def test_a_call_without_words_or_arguments(self):
        self.tool("now", "cat > seen; echo '{\"time\":12}'")
        turn = self.ask([Answer(calls=[Call("now")]), Answer("Noon.")])
        self.assertEqual(turn.envelopes(), [{"tool_success": True, "result": {"time": 12}}])
        self.assertEqual(json.loads(self.read("project/seen")), {})
        self.assertEqual([m["kind"] for m in turn.messages()][2:],
                         ["tool_call", "tool_result", "assistant"])

    def test_many_tool_turns_grow_at_the_end_only(self):
        self.echo()
        turn = self.ask([*(Answer(f"Step {n}.", thinking=f"thought {n}",
                                  calls=[self.call(f"t{n}")]) for n in range(6)), Answer("Done.")])
        requests = turn.llm.requests
        self.assertEqual({r.connection for r in requests}, {1})
        for before, after in zip(requests, requests[1:]):
            earlier, later = (without_marks(sent_messages(r)) for r in (before, after))
            self.assertEqual(later[:len(earlier)], earlier)
            self.assertGreater(len(later), len(earlier))
            self.assertEqual(rest_of(before), rest_of(after))

    def test_parallel_calls_overlap(self):
        self.tool("meet", MEET, parameters=MEET_PARAMS, parallel=True)
        calls = [Call("meet", {"me": a, "other": b}) for a, b in
                 (("ann", "bob"), ("bob", "cid"), ("cid", "ann"))]
        turn = self.ask([Answer(calls=calls), Answer("They met.")])
        self.assertEqual([e["result"]["met"] for e in turn.envelopes()], ["bob", "cid", "ann"])

    def test_other_calls_wait_for_each_other(self):
        self.tool("alone", ALONE)
        turn = self.ask([Answer(calls=[Call("alone") for _ in range(3)]), Answer("Done.")])
        self.assertEqual([e["result"] for e in turn.envelopes()], [{"alone": True}] * 3)

    def test_only_adjacent_parallel_calls_overlap(self):
        """ann and bob meet; the one that is not parallel neither starts before they are done nor
        lets cid start before it is done."""
        self.tool("meet", MEET, parameters=MEET_PARAMS, parallel=True)
        self.tool("note", "ls here-* > seen 2> /dev/null; sleep 0.2; rm here-ann; echo '{}'")
        self.tool("look", "[ -e here-ann ] && echo '{\"early\":true}' || echo '{\"early\":false}'",
                  parallel=True)
        calls = [Call("meet", {"me": "ann", "other": "bob"}),
                 Call("meet", {"me": "bob", "other": "ann"}), Call("note"), Call("look")]
        turn = self.ask([Answer(calls=calls), Answer("Done.")])
        self.assertEqual(self.read("project/seen"), b"here-ann\nhere-bob\n")
        self.assertEqual(turn.envelopes()[3]["result"], {"early": False})

    def test_results_keep_the_order_of_the_calls(self):
        self.tool("wait_for", AWAIT, parameters=TEXT_PARAM, parallel=True)
        self.tool("open_door", ": > door; echo '{\"open\":true}'", parallel=True)
        calls = [Call("wait_for", {"text": "door"}), Call("open_door")]
        turn = self.ask([Answer(calls=calls), Answer("Done.")])
        self.assertEqual([e["result"] for e in turn.envelopes()], [{"saw": "door"}, {"open": True}])
        self.assertEqual([e["result"] for _, e in sent_results(turn.llm.requests[1])],
                         [{"saw": "door"}, {"open": True}])
        ids = [m["data"]["id"] for m in turn.messages("tool_call")]
        self.assertEqual([m["data"]["tool_call_id"] for m in turn.messages("tool_result")], ids)

    def test_arguments_in_many_fragments(self):
        self.echo()
        text = "größer \"und\" \\ länger\n" + "täglich 😀 " * 40
        turn = self.ask([Answer(calls=[self.call(text)], fragments=150), Answer("Done.")])
        self.assertEqual(turn.envelopes()[0]["result"], {"text": text})

    def test_text_between_and_after_calls(self):
        self.echo()
        turn = self.ask([Answer(parts=[Text("First. "), self.call("a"), Text("Then. "),
                                       self.call("b"), Text("Last.")]), Answer("Done.")])
        self.assertEqual([e["result"]["text"] for e in turn.envelopes()], ["a", "b"])
        self.assertEqual(turn.text.replace("\n", ""), "First. Then. Last.Done.")
        said = "".join(m["content"] for m in turn.messages("assistant"))
        self.assertEqual(said, "First. Then. Last.Done.")

    def test_ids_that_repeat(self):
        self.echo()
        turn = self.ask([Answer(calls=[self.call("a", id="same1"), self.call("b", id="same1")]),
                         Answer(calls=[self.call("c", id="same1")]), Answer("Done.")])
        self.assertEqual([e["result"]["text"] for e in turn.envelopes()], ["a", "b", "c"])
        ids = [m["data"]["id"] for m in turn.messages("tool_call")]
        self.assertEqual(len(set(ids)), 3)
        self.assertEqual([m["data"]["tool_call_id"] for m in turn.messages("tool_result")], ids)
        self.assertEqual([e["result"]["text"] for _, e in sent_results(turn.llm.requests[2])],
                         ["a", "b", "c"])

    def test_reasoning_is_shown_and_sent_back(self):
        """The server complains when what it signed does not come back as it was."""
        self.echo()
        turn = self.ask([
            Answer("One.", thinking="first thought", calls=[self.call("a"), self.call("b")]),
            Answer(thinking="second thought", calls=[self.call("c")]),
            Answer("Three.", thinking="third thought")])
        self.assertEqual(turn.text, "One.Three.")
        if self.format != "chat":  # OpenAI's Chat Completions shows none
            self.assertEqual("".join(e["text"] for e in turn.of("reasoning_delta")),
                             "first thoughtsecond thoughtthird thought")
            self.assertEqual(turn.messages("assistant")[0]["data"]["reasoning"], "first thought")

    # ---- what is wrong with a call is the model's business

    def test_unknown_tool(self):
        turn = self.ask([Answer(calls=[Call("no_such_tool", {"a": 1})]), Answer("Sorry.")])
        (envelope,) = turn.envelopes()
        self.assertEqual((envelope["tool_success"], envelope["error_code"]),
                         (False, "TOOL_NOT_FOUND"))
        self.assertIn("no_such_tool", envelope["error"])
        self.assertFalse(turn.messages("tool_result")[0]["data"]["success"])
        self.assertEqual([e for _, e in sent_results(turn.llm.requests[1])], [envelope])
        self.assertEqual((turn.text, turn.reason), ("Sorry.", "end_turn"))

    def test_a_name_no_tool_can_have(self):
        turn = self.ask([Answer(calls=[Call("../bin/sh -c", {"a": 1}), Call("x" * 200)]),
                         Answer("Sorry.")])
        self.assertEqual([e["error_code"] for e in turn.envelopes()], ["TOOL_NOT_FOUND"] * 2)
        self.assertEqual(turn.text, "Sorry.")

    def test_arguments_that_are_no_object(self):
        if self.format == "google":
            return  # where they cannot be anything else
        self.echo()
        broken = ['{"text": "x"', "[1]", '"text"', "nonsense"]
        turn = self.ask([Answer(calls=[Call("echo_back", raw=raw) for raw in broken]),
                         Answer("Sorry.")])
        self.assertEqual([e["error_code"] for e in turn.envelopes()], ["INVALID_PARAMS"] * 4)
        self.assertEqual(turn.text, "Sorry.")
        for call, raw in zip(turn.messages("tool_call"), broken):
            self.assertEqual(call["data"]["function"]["arguments"], raw)

    def test_half_a_character(self):
        """A lone surrogate is legal JSON, but services refuse a body that holds one."""
        self.tool("half", "cat answer", parameters=TEXT_PARAM)
        self.write("project/answer", '{"name":"a\\\\udcff\\udcff"}')
        turn = self.ask([Answer(calls=[Call("half", {"text": "x"})]), Answer("Done.")])
        (_, envelope), = sent_results(turn.llm.requests[1])
        self.assertIn(envelope["result"]["name"], ("a\\udcff\ufffd", "a\\udcff\udcff"))
        if self.format != "google":
            turn = self.ask([Answer(calls=[Call("half", raw='{"text":"\\ud800"}')]),
                             Answer("Done.")])
            self.assertTrue(turn.envelopes()[0]["tool_success"])

    def test_null_for_what_is_optional(self):
        """In OpenAI's strict mode null says absent; elsewhere it is what the model wrote."""
        self.echo()
        turn = self.ask([Answer(calls=[Call("echo_back", {"text": "x", "extra": None})]),
                         Answer("Done.")])
        expected = {"text": "x"} if self.format in ("chat", "responses") \
            else {"text": "x", "extra": None}
        self.assertEqual(turn.envelopes()[0]["result"], expected)

    def test_a_tool_that_fails_fails_alone(self):
        self.tool("broken", "echo oops >&2; exit 3")
        self.echo()
        turn = self.ask([Answer(calls=[Call("broken"), self.call("fine")]), Answer("Done.")])
        broken, fine = turn.envelopes()
        self.assertEqual((broken["error_code"], broken["exit_code"], broken["stderr"]),
                         ("TOOL_CRASHED", 3, "oops\n"))
        self.assertEqual(fine["result"], {"text": "fine"})

    def test_stderr_of_a_success_is_kept_but_not_sent(self):
        self.tool("chatty", "echo 'cache is stale' >&2; echo '{\"n\":1}'")
        turn = self.ask([Answer(calls=[Call("chatty")]), Answer("Done.")])
        (result,) = turn.messages("tool_result")
        self.assertEqual(result["data"]["stderr"], "cache is stale\n")
        self.assertEqual(turn.envelopes(), [{"tool_success": True, "result": {"n": 1}}])
        self.assertNotIn(b"cache is stale", turn.llm.requests[1].body)

    def test_stderr_of_a_success_is_bounded(self):
        self.tool("chatty", "head -c 200000 /dev/zero | tr '\\0' x >&2; echo '{}'")
        turn = self.ask([Answer(calls=[Call("chatty")]), Answer("Done.")])
        kept = turn.messages("tool_result")[0]["data"]["stderr"]
        self.assertEqual(kept, "x" * 16384 + "\n[... 183616 bytes omitted ...]\n")

    def test_progress_of_a_tool(self):
        self.tool("slow", "echo '{\"text\":\"half way\"}' >&$IKIGAI_PROGRESS_FD; echo '{}'")
        turn = self.ask([Answer(calls=[Call("slow")]), Answer("Done.")])
        (progress,) = turn.of("tool_progress")
        call = turn.messages("tool_call")[0]["data"]["id"]
        self.assertEqual(progress, {"type": "tool_progress", "tool_call_id": call,
                                    "text": "half way"})

    # ---- figures

    def test_usage(self):
        turn = self.ask([Answer("Hi.", usage=Usage(input=1000, cached=600, output=50,
                                                   reasoning=30))])
        (usage,) = turn.of("usage")
        expected = {"in": 1000, "out": 50}
        if self.format != "local":  # which does not say
            expected.update(cached=600, reasoning=30)
        self.assertEqual({k: usage[k] for k in expected}, expected)
        cost = {"responses": (400 * 2 + 600 * 0.10 + 50 * 10) / 1e6}.get(self.format)
        if cost is not None:
            self.assertAlmostEqual(usage["cost_usd"], cost, places=6)
        self.assertEqual("cost_usd" in usage, self.format not in ("chat", "local"))
        stored = turn.messages("assistant")[0]["data"]["usage"]
        self.assertEqual(stored, {k: v for k, v in usage.items() if k not in ("type", "cost_usd")})

    # ---- why the model stopped

    def test_output_limit(self):
        turn = self.ask([Answer("Half an ans", stop="max_tokens")])
        self.assertEqual((turn.text, turn.reason), ("Half an ans", "end_turn"))
        self.assertIn("max_output_tokens", turn.of("notice")[0]["text"])
        self.assertEqual(turn.messages("assistant")[0]["data"]["stop"], "max_tokens")

    def test_output_limit_inside_a_call(self):
        """The broken call is dropped, the whole one runs."""
        if self.format == "google":
            return  # where calls arrive whole
        self.echo()
        turn = self.ask([Answer("So:", calls=[self.call("a"), Call("echo_back",
                                                                   raw='{"text":"b')],
                                stop="max_tokens"), Answer("Done.")])
        self.assertEqual([e["result"]["text"] for e in turn.envelopes()], ["a"])
        turn = self.ask([Answer("So:", calls=[Call("echo_back", raw='{"text":"b')],
                                stop="max_tokens")])
        self.assertEqual((turn.envelopes(), turn.text), ([], "So:"))
        self.assertIn("max_output_tokens", turn.of("notice")[0]["text"])

    def test_refusal(self):
        turn = self.ask([Answer(refusal="I can't do that.")])
        self.assertEqual(turn.reason, "end_turn")
        self.assertIn("I can't do that.", turn.text)

    def test_filter(self):
        turn = self.ask([Answer("Half", stop="filtered")], status=1)
        self.assertEqual((turn.text, turn.reason), ("Half", "error"))
        self.assertEqual(turn.error[0], "filtered")
        self.assertIn("blocked the answer", turn.error[1])

    def test_arguments_without_end_are_not_asked_for_again(self):
        """A piece at a time, so that it is the whole that is too long and no event."""
        turn = self.ask([Answer(calls=[Call("bash", {"command": "x" * (9 << 20)})], fragments=20)],
                        status=1)
        self.assertEqual((turn.error[0], len(turn.llm.requests)), ("answer_too_long", 1))
        self.assertEqual(turn.messages("tool_call"), [])

    def test_a_cut_result_keeps_its_marker_and_exit_code(self):
        command = Call("bash", {"command": "seq 1000; exit 3"})
        for size in (1, 10, 50, 70, 127, 128, 200):
            turn = self.ask([Answer(calls=[command]), Answer("Done.")],
                            config={"max_output_size": size})
            (envelope,) = turn.envelopes()
            result = envelope["result"]
            self.assertEqual((result["exit_code"], result["truncated"], result["total_bytes"]),
                             (3, True, 3893), envelope)
            self.assertLessEqual(len(result["output"]), size)

    # ---- the limit of tool turns

    def test_limit(self):
        self.echo()
        turn = self.ask([*(Answer(calls=[self.call(f"a{n}"), self.call(f"b{n}")])
                           for n in range(3)), Answer("That is all.")], "--max-turns", "3")
        self.assertEqual((turn.text, turn.reason), ("That is all.", "limit"))
        last = turn.envelopes()[-1]
        self.assertEqual(last, {"tool_success": True, "result": {
            "text": "b2", "limit_reached": True,
            "limit_message": "Tool call limit reached (3). Stopping tool loop."}})
        self.assertNotIn("limit_reached", json.dumps(turn.envelopes()[:-1]))
        requests = turn.llm.requests
        self.assertEqual([e for _, e in sent_results(requests[3])][-1], last)
        self.assertEqual([forbids_tools(r) for r in requests[1:]], [False, False, True])
        self.assertEqual(sent_tools(requests[3]), sent_tools(requests[0]))

    def test_limit_of_the_configuration_and_results_that_are_no_object(self):
        self.tool("list", "echo '[1,2]'")
        turn = self.ask([Answer(calls=[Call("list")]), Answer("That is all.")],
                        config={"max_tool_turns": 1})
        self.assertEqual(turn.reason, "limit")
        self.assertEqual(turn.envelopes(), [{
            "tool_success": True, "result": [1, 2], "limit_reached": True,
            "limit_message": "Tool call limit reached (1). Stopping tool loop."}])

    def test_limit_and_the_deepest_results(self):
        for levels, code in ((511, None), (512, "INVALID_OUTPUT")):
            with self.subTest(levels=levels):
                self.tool("deep", f"echo '{'[' * levels}{']' * levels}'")
                turn = self.ask([Answer(calls=[Call("deep")]), Answer("That is all.")],
                                "--max-turns", "1")
                self.assertEqual((turn.status, turn.reason), (0, "limit"), turn.err)
                (envelope,) = turn.envelopes()
                self.assertEqual((envelope.get("error_code"), envelope["limit_reached"]), (code, True))

    def test_calls_after_the_limit_are_not_run(self):
        self.tool("once", "echo x >> runs; echo '{}'")
        turn = self.ask([Answer(calls=[Call("once")]),
                         Answer("Once more!", thinking="?", calls=[Call("once")])],
                        "--max-turns", "1")
        self.assertEqual((turn.text, turn.reason), ("Once more!", "limit"))
        self.assertEqual(self.read("project/runs"), b"x\n")
        self.assertEqual(len(turn.messages("tool_call")), 1)

    def test_a_turn_below_the_limit_ends_by_itself(self):
        self.echo()
        turn = self.ask([Answer(calls=[self.call()]), Answer(calls=[self.call()]), Answer("Done.")],
                        "--max-turns", "3")
        self.assertEqual(turn.reason, "end_turn")
        self.assertNotIn("limit_reached", json.dumps(turn.envelopes()))

    def test_no_tools(self):
        turn = self.ask([Answer("Hm.", calls=[Call("bash", {"command": "touch ran"})]),
                         Answer("Well.")], "--no-tools")
        self.assertEqual(turn.events[0]["tools"], [])
        self.assertEqual([sent_tools(r) for r in turn.llm.requests], [[], []])
        self.assertEqual(turn.envelopes()[0]["error_code"], "TOOL_NOT_FOUND")
        self.assertFalse(os.path.exists(os.path.join(self.project, "ran")))

    # ---- the context is full

    def overflow_script(self, room, steps, memory):
        """A server that takes room bytes more than the first request has. When it refuses, the
        client may start over: data it should have sent back is not missed."""
        state = {"n": 0, "first": None}

        def answer(request):
            state["first"] = state["first"] or len(request.body)
            if len(request.body) > state["first"] + room:
                memory.turns.clear()
                return Failure("context")
            state["n"] += 1
            return Answer(f"Step {state['n']}.", thinking="hm", calls=[
                Call("big", {"text": f"r{state['n']}"})]) if state["n"] <= steps else Answer("Done.")
        return answer

    def test_overflow_is_answered_by_compaction(self):
        self.tool("big", BIG, parameters=TEXT_PARAM)
        memory = Memory()
        turn = self.ask(self.overflow_script(40000, 8, memory), server={"memory": memory})
        self.assertEqual((turn.text[-5:], turn.reason), ("Done.", "end_turn"))
        compactions = turn.messages("compaction")
        self.assertGreaterEqual(len(compactions), 2)
        counts = [m["data"]["trimmed_results"] for m in compactions]
        self.assertEqual(counts, sorted(set(counts)))
        self.assertIn(str(counts[0]), compactions[0]["content"])
        answered = [r for r in turn.llm.requests if len(r.body) <= 40000 +
                    len(turn.llm.requests[0].body)]
        self.assert_prefix_changes(answered, counts)

    def assert_prefix_changes(self, requests, counts):
        """In every request the oldest results are markers, as many as a compaction said, and all
        requests between two compactions begin alike."""
        for before, after in zip(requests, requests[1:]):
            trimmed = [count_markers(r) for r in (before, after)]
            self.assertIn(trimmed[1], [0, *counts])
            if trimmed[0] == trimmed[1]:
                earlier, later = (without_marks(sent_messages(r)) for r in (before, after))
                self.assertEqual(later[:len(earlier)], earlier)
            for n, (_, envelope) in enumerate(sent_results(after)):
                self.assertEqual(is_marker(envelope), n < trimmed[1])

    def test_overflow_again_and_again(self):
        self.tool("big", BIG, parameters=TEXT_PARAM)
        step = [Answer(calls=[Call("big", {"text": f"r{n}"})]) for n in range(3)]
        turn = self.ask([*step, Failure("context"), Failure("context"), Answer("Done.")])
        self.assertEqual(turn.text, "Done.")
        self.assertEqual(turn.messages("compaction")[-1]["data"], {"trimmed_results": 3})
        self.assertEqual(count_markers(turn.llm.requests[5]), 3)

    def test_nothing_left_to_trim(self):
        turn = self.ask([Failure("context")], prompt="x" * 5000, status=1)
        self.assertEqual((turn.reason, turn.messages("compaction")), ("error", []))
        self.assertIn("new session", turn.error[1])
        self.tool("big", BIG, parameters=TEXT_PARAM)
        turn = self.ask([Answer(calls=[Call("big", {"text": "a"})]), Failure("context"),
                         Failure("context")], status=1)
        self.assertEqual((turn.reason, len(turn.messages("compaction"))), ("error", 1))
        self.assertIn("new session", turn.error[1])


def without_marks(messages):
    """Messages without the marks of a cache, which move along."""
    if isinstance(messages, list):
        return [without_marks(m) for m in messages]
    if isinstance(messages, dict):
        return {k: without_marks(v) for k, v in messages.items() if k != "cache_control"}
    return messages


def rest_of(request):
    """The body without its messages."""
    return without_marks({k: v for k, v in request.json.items()
                          if k not in ("messages", "input", "contents")})


def is_marker(envelope):
    result = envelope.get("result", envelope)
    return isinstance(result, dict) and "removed" in result


def count_markers(request):
    return sum(is_marker(envelope) for _, envelope in sent_results(request))


def stream(*events):
    """An answer of exactly these events."""
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return Raw(body, 200, {"content-type": "text/event-stream"})


class GoogleOnly(AgentTest):
    format = "google"

    def chunk(self, text="", finish=None, **more):
        candidate = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}
        return {"candidates": [{**candidate, **({"finishReason": finish} if finish else {})}],
                **more}

    def cut(self, text, token):
        return stream(self.chunk(text), self.chunk(finish="CONTINUATION", continuationToken=token))

    def test_a_call_that_google_could_not_read_is_asked_for_again_once(self):
        bad = Answer("", stop="bad_tool_call")
        turn = self.ask([bad, Answer(calls=[Call("glob", {"pattern": "*"})]), Answer("Done.")])
        self.assertEqual(turn.text, "Done.")
        first, second = turn.llm.requests[:2]
        self.assertEqual(first.body, second.body)
        turn = self.ask([bad, bad], status=1)
        self.assertEqual((turn.error[0], len(turn.llm.requests)), ("bad_tool_call", 2))

    def test_what_was_said_before_such_a_call_is_kept_and_not_said_twice(self):
        turn = self.ask([Answer("Let me see.", stop="bad_tool_call")], status=1)
        self.assertEqual((turn.error[0], turn.text), ("bad_tool_call", "Let me see."))
        (answer,) = turn.messages("assistant")
        self.assertEqual((answer["content"], answer["data"]["incomplete"]), ("Let me see.", True))

    def test_a_blocked_prompt(self):
        turn = self.ask([Answer("", stop="filtered")], status=1)
        self.assertEqual(turn.error, ("filtered", "the provider's filter blocked the prompt "
                                      "(PROHIBITED_CONTENT)"))
        feedback = {"blockReason": "SAFETY", "blockReasonMessage": "It is about knives."}
        turn = self.ask([stream({"promptFeedback": feedback})], status=1)
        self.assertEqual(turn.error[1], "the provider's filter blocked the prompt (SAFETY: It is "
                         "about knives.)")

    def test_an_answer_in_several_pieces(self):
        turn = self.ask([self.cut("One, ", "t1"), self.cut("two, ", "t2"), Answer("three.")])
        self.assertEqual((turn.text, turn.reason), ("One, two, three.", "end_turn"))
        (answer,) = turn.messages("assistant")
        self.assertEqual(answer["content"], "One, two, three.")
        tokens = [r.json.pop("continuationToken", None) for r in turn.llm.requests]
        self.assertEqual(tokens, [None, "t1", "t2"])
        first, second, third = [r.json for r in turn.llm.requests]
        self.assertTrue(first == second == third)

    def test_pieces_and_then_calls(self):
        turn = self.ask([self.cut("One, ", "t1"),
                         Answer("two.", calls=[Call("glob", {"pattern": "*"})]), Answer("Done.")])
        self.assertEqual("".join(m["content"] for m in turn.messages("assistant")),
                         "One, two.Done.")
        self.assertNotIn("continuationToken", turn.llm.requests[2].json)

    def test_pieces_whose_rest_does_not_come(self):
        """What was shown is kept and marked, however it ends."""
        turn = self.ask([self.cut("One, ", "t1"), Failure("bad_request", "No more.")], status=1)
        self.assert_marked(turn, "One, ")
        turn = self.ask([self.cut("One, ", "t1"), Answer("two, three", stop="incomplete")],
                        status=1)
        self.assert_marked(turn, "One, two, three")
        run = self.begin([self.cut("One, ", "t1"), Answer("two", wire=Wire(delay_head=60))])
        run.llm.wait_for_requests(2)
        run.signal()
        turn = run.finish()
        self.assertEqual(turn.status, 130)
        self.assert_marked(turn, "One, ")

    def assert_marked(self, turn, text):
        answers = turn.messages("assistant")
        self.assertEqual("".join(m["content"] for m in answers), text)
        self.assertIs(answers[0]["data"]["incomplete"], True)

    def test_pieces_without_end(self):
        turn = self.ask(lambda request: self.cut("more ", f"t{request.number}"), status=1)
        self.assertEqual((turn.error[0], turn.reason), ("resume", "error"))
        self.assertLess(len(turn.llm.requests), 50)
        self.assertEqual(turn.messages("assistant")[0]["content"], turn.text)


class AnthropicOnly(AgentTest):
    format = "anthropic"

    def test_a_turn_that_pauses_goes_on(self):
        """What came is sent back as it is; the model goes on from there."""
        def paused(text):
            return stream(
                {"type": "message_start", "message": {
                    "id": "msg_1", "type": "message", "role": "assistant", "content": [],
                    "model": "m", "stop_reason": None, "usage": {"input_tokens": 5,
                                                                 "output_tokens": 1}}},
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text",
                                                                              "text": ""}},
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta",
                                                                      "text": text}},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": "pause_turn"},
                 "usage": {"output_tokens": 5}}, {"type": "message_stop"})
        turn = self.ask([paused("Searching."), Answer("Found.")], server={"validate": False})
        self.assertEqual((turn.text, turn.reason), ("Searching.Found.", "end_turn"))
        last = sent_messages(turn.llm.requests[1])[-1]
        self.assertEqual((last["role"], last["content"][0]["text"]), ("assistant", "Searching."))

    def test_the_prompt_is_marked_for_the_cache(self):
        turn = self.ask([Answer(calls=[Call("glob", {"pattern": "*"})]), Answer("Done.")])
        for request in turn.llm.requests:
            self.assertIn("cache_control", request.json["tools"][-1])
            self.assertIn("cache_control", request.json["system"][-1])
            self.assertIn("cache_control", sent_messages(request)[-1]["content"][-1])

    def test_a_model_with_a_full_context(self):
        turn = self.ask([Answer("Half", stop="context_full")])
        self.assertIn("context window", turn.of("notice")[0]["text"])

    def test_redacted_and_unsigned_thinking(self):
        turn = self.ask([Answer(parts=[Thinking("c2VjcmV0", redacted=True), Thinking("hm"),
                                       Call("glob", {"pattern": "*"})]),
                         Answer("Done.", thinking=Thinking("", signature="AAAA"))])
        self.assertEqual(turn.text, "Done.")

    def test_thinking_goes_back_where_ids_repeat(self):
        look = Call("glob", {"pattern": "*"}, id="toolu_1")
        turn = self.ask([Answer(thinking=f"Thought {n}.", calls=[look]) for n in range(3)]
                        + [Answer("Done.")])
        blocks = [b for m in turn.llm.requests[3].json["messages"] if m["role"] == "assistant"
                  for b in m["content"]]
        self.assertEqual([b["thinking"] for b in blocks if b["type"] == "thinking"],
                         ["Thought 0.", "Thought 1.", "Thought 2."])
        self.assertEqual(len({b["id"] for b in blocks if b["type"] == "tool_use"}), 3)


class ResponsesOnly(AgentTest):
    format = "responses"

    def test_an_answer_that_is_incomplete_is_said_to_be_cut(self):
        response = {"id": "r", "object": "response", "status": "incomplete", "output": [
            {"type": "message", "id": "msg_1", "role": "assistant",
             "content": [{"type": "output_text", "text": "Half", "annotations": []}]}]}
        for details, words in ((None, "The provider cut the answer"),
                               ({"reason": "steered"}, "The provider cut the answer (steered)")):
            turn = self.ask([stream({"type": "response.completed", "response": {
                **response, "incomplete_details": details}})])
            self.assertEqual((turn.text, turn.reason), ("Half", "end_turn"))
            self.assertEqual([n["text"] for n in turn.of("notice")], [words])
            self.assertEqual(turn.messages("assistant")[0]["data"]["stop"], "cut")


class OpenAIOnly(AgentTest):
    format = "chat"

    def test_a_model_that_wants_everything_at_once(self):
        """Hundreds of calls are no hundreds of processes: the machine has limits, and they end."""
        calls = [Call("glob", {"pattern": f"*{n}"}) for n in range(400)]
        turn = self.ask([Answer(calls=calls), Answer("Done.")])
        self.assertEqual([e["tool_success"] for e in turn.envelopes()], [True] * 400)

    def test_strict_schemas(self):
        self.tool("free", "echo '{}'", parameters={"type": "object", "additionalProperties": True})
        turn = self.ask([Answer("Done.")])
        strict = {t["function"]["name"]: t["function"]["strict"]
                  for t in turn.llm.requests[0].json["tools"]}
        self.assertEqual(strict, {**dict.fromkeys(SHIPPED, True), "free": False})

    def test_chosen_by_the_base_url(self):
        """A server that is not OpenAI's is asked with Chat Completions unless told otherwise."""
        self.assertEqual(self.ask([Answer("Done.")]).llm.requests[0].format, "chat")


class LocalOnly(AgentTest):
    """What servers make of Chat Completions."""
    format = "local"

    def test_quirks_of_calls(self):
        self.write("project/a.c")
        for quirk in ("no_index", "index_zero", "no_ids", "empty_ids", "repeat_ids", "whole_calls",
                      "object_arguments", "arguments_first", "interleave", "finish_stop",
                      "finish_empty", "repeat_finish", "no_done", "no_role", "message_field",
                      "null_choices", "extra_content", "usage_every_chunk",
                      "finish_everywhere"):
            with self.subTest(quirk):
                calls = [Call("glob", {"pattern": "*.c"}), Call("glob", {"pattern": "*.h"})]
                turn = self.ask([Answer("Hm.", calls=calls, fragments=3, quirks={quirk}),
                                 Answer(calls=calls[:1], quirks={quirk}),
                                 Answer("Done.", quirks={quirk})])
                self.assertEqual(turn.text, "Hm.Done.")
                self.assertEqual([e["result"]["count"] for e in turn.envelopes()], [1, 0, 1])

    def test_a_reason_that_says_the_answer_was_cut(self):
        half = {"choices": [{"index": 0, "delta": {"content": "Half"},
                             "finish_reason": "insufficient_system_resource"}]}
        turn = self.ask([stream(half)])
        self.assertEqual((turn.text, turn.messages("assistant")[0]["data"]["stop"]), ("Half", "cut"))
        self.assertEqual([n["text"] for n in turn.of("notice")],
                         ["The provider cut the answer (insufficient_system_resource)"])

    def test_where_servers_put_their_thinking(self):
        for quirks in ({"reasoning_content"}, {"reasoning"}, {"reasoning_content", "reasoning"},
                       {"reasoning", "reasoning_details"}, {"think_tags"}, {"content_array"}):
            with self.subTest(quirks):
                turn = self.ask([Answer("Hm.", thinking="Let me see.", quirks=quirks,
                                        calls=[Call("glob", {"pattern": "*"})]), Answer("Done.")])
                self.assertEqual(turn.text, "Hm.Done.")
                self.assertEqual("".join(e["text"] for e in turn.of("reasoning_delta")),
                                 "Let me see.")

    def test_thinking_goes_back_where_ids_repeat(self):
        """Some servers count their calls from 0 in every answer."""
        look = Call("glob", {"pattern": "*"}, id="call_0")
        turn = self.ask([Answer(thinking=f"Thought {n}.", calls=[look], quirks={"reasoning_content"})
                         for n in range(3)] + [Answer("Done.")])
        sent = [m for m in turn.llm.requests[3].json["messages"] if m["role"] == "assistant"]
        self.assertEqual([m["reasoning_content"] for m in sent],
                         ["Thought 0.", "Thought 1.", "Thought 2."])
        self.assertEqual(len({m["tool_calls"][0]["id"] for m in sent}), 3)

    def test_other_dialects(self):
        for dialect in ("mistral", "deepseek"):
            with self.subTest(dialect):
                llm = self.serve([Answer(thinking="hm", calls=[Call("glob", {"pattern": "*"}),
                                                               Call("nosuch")]),
                                  Answer("Done.")], dialect=dialect)
                self.config({"providers": {dialect: {"type": "openai", "api_key_env": "MY_KEY",
                                                     "base_url": llm.base_url("openai")}}})
                done = self.ikigai("-p", "Go", "-m", f"{dialect}/x", env={"MY_KEY": "k-12345678"})
                self.assertEqual((done.out, llm.problems), ("Done.\n", []))

    def test_no_strict_schemas(self):
        turn = self.ask([Answer("Done.")])
        for tool in turn.llm.requests[0].json["tools"]:
            self.assertNotIn("strict", json.dumps(tool))

    def test_a_key_is_sent_when_one_is_named(self):
        llm = self.serve([Answer("Done.")])
        self.config({"providers": {"local": {"type": "openai", "api_key_env": "MY_KEY",
                                             "base_url": llm.base_url("openai")}}})
        self.ikigai(*self.command("Go"), env={"MY_KEY": "k-123"})
        self.assertEqual(llm.requests[0].headers["authorization"], "Bearer k-123")


per_format(Turns, globals())
