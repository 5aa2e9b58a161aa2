"""Anthropic's Messages API: requests, streams, and the data that goes back unchanged."""
import json
import unittest

from support_provider import (ProviderTest, assistant, call, events, request, result, stream, user)

MARK = {"cache_control": {"type": "ephemeral"}}
READ = {"name": "read", "description": "Read a file",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}},
                       "required": ["path"], "additionalProperties": False}}
PWD = {"name": "pwd", "description": "", "parameters": {"type": "object", "properties": {}}}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "SIG"}


def target(**more):
    return {"wire": "anthropic", "provider": "anthropic", "model": "claude-x", **more}


def without_marks(value):
    if isinstance(value, dict):
        return {k: without_marks(v) for k, v in value.items() if k != "cache_control"}
    return [without_marks(v) for v in value] if isinstance(value, list) else value


def count_marks(value):
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(count_marks(v) for v in value.values())
    return sum(count_marks(v) for v in value) if isinstance(value, list) else 0


def step(blocks, messages, calls=(), model="anthropic/claude-x", wire="anthropic"):
    """The data of the first message of a step."""
    return {"model": model, "step": messages, "calls": list(calls), "anthropic": {wire: blocks}}


def own(message):
    """A message with an id that Anthropic gave."""
    message["data"]["provider"] = "anthropic"
    return message


class Request(ProviderTest):
    def body(self, messages=None, target_more=None, **more):
        return request(target(**(target_more or {})), messages or [user("hi")], **more)["body"]

    def messages(self, messages, **more):
        return without_marks(self.body(messages, **more)["messages"])

    def test_where_to(self):
        for base, version in [("https://api.anthropic.com", "2026-10-21"),
                              ("https://API.Anthropic.com:443", "2026-10-21"),
                              ("https://api.anthropic.com.example", "2023-06-01"),
                              ("http://127.0.0.1:9/anthropic", "2023-06-01")]:
            sent = request(target(base_url=base, api_key="k1"), [user("hi")])
            self.assertEqual(sent["url"], base + "/v1/messages")
            self.assertEqual(sorted(sent["headers"]),
                             [f"anthropic-version: {version}", "content-type: application/json",
                              "x-api-key: k1"])

    def test_no_key_no_header(self):
        self.assertNotIn("key", " ".join(request(target(), [user("hi")])["headers"]))

    def test_the_least(self):
        self.assertEqual(self.body(), {
            "model": "claude-x", "max_tokens": 8192, "stream": True,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", **MARK}]}]})

    def test_max_tokens(self):
        for known, asked, sent in [(0, 0, 8192), (4096, 0, 4096), (128000, 0, 32000),
                                   (128000, 100000, 100000), (0, 500, 500)]:
            body = self.body(target_more={"max_output": known}, max_output_tokens=asked)
            self.assertEqual(body["max_tokens"], sent)

    def test_thinking(self):
        adaptive = {"type": "adaptive", "display": "summarized"}

        def budget(tokens):
            return {"type": "enabled", "budget_tokens": tokens}

        for thinking, more, expected, effort in [
                ("unknown", {"effort": "high"}, None, None),
                ("none", {"effort": "high"}, None, None),
                ("adaptive", {}, adaptive, None),
                ("adaptive", {"effort": "xhigh"}, adaptive, "xhigh"),
                ("adaptive", {"effort": "minimal"}, adaptive, "low"),
                ("adaptive", {"effort": "high", "refused": ["effort"]}, adaptive, None),
                ("adaptive", {"effort": "high", "refused": ["thinking"]}, None, "high"),
                ("adaptive", {"effort": "low", "drop_reasoning": True}, adaptive, "low"),
                ("budget", {}, None, None),
                ("budget", {"effort": "none"}, None, None),
                ("budget", {"effort": "low"}, budget(4096), None),
                ("budget", {"effort": "high"}, budget(16000), None),
                ("budget", {"effort": "low", "max_output_tokens": 3000}, budget(1500), None),
                ("budget", {"effort": "low", "max_output_tokens": 2047}, None, None),
                ("budget", {"effort": "low", "refused": ["thinking"]}, None, None),
                # the reasoning of this turn is dropped, so thinking must be off
                ("budget", {"effort": "low", "drop_reasoning": True}, None, None)]:
            with self.subTest(thinking=thinking, **more):
                body = self.body(target_more={"thinking": thinking, "max_output": 64000}, **more)
                self.assertEqual(body.get("thinking"), expected)
                self.assertEqual(body.get("output_config"), effort and {"effort": effort})

    def test_system_and_tools(self):
        body = self.body(system="Be \"brief\".", tools=[READ, PWD])
        self.assertEqual(body["system"], [{"type": "text", "text": "Be \"brief\".", **MARK}])
        self.assertEqual(body["tools"], [
            {"name": "pwd", "input_schema": PWD["parameters"]},
            {"name": "read", "description": "Read a file", "input_schema": READ["parameters"],
             **MARK}])
        self.assertNotIn("tool_choice", body)
        self.assertNotIn("system", self.body(system=" \n"))

    def test_forbidden_tools_stay(self):
        body = self.body(tools=[READ], forbid_tools=True)
        self.assertEqual(body["tool_choice"], {"type": "none"})
        self.assertEqual(len(body["tools"]), 1)
        self.assertNotIn("tool_choice",
                         self.body(tools=[READ], forbid_tools=True, refused=["tool_choice"]))
        self.assertNotIn("tool_choice", self.body(forbid_tools=True))

    def test_all_results_in_one_message_before_the_text(self):
        sent = self.messages([
            user("go"), assistant("Looking."), call("a", "read", '{"path":"x"}'), call("b", "pwd"),
            result("b", "pwd", '{"tool_success":false}', success=False), result("a", "read"),
            user("and now?")])
        self.assertEqual([m["role"] for m in sent], ["user", "assistant", "user"])
        self.assertEqual([b["type"] for b in sent[1]["content"]], ["text", "tool_use", "tool_use"])
        calls = sent[1]["content"][1:]
        self.assertEqual([(c["name"], c["input"]) for c in calls],
                         [("read", {"path": "x"}), ("pwd", {})])
        first, second, text = sent[2]["content"]
        self.assertEqual([first["tool_use_id"], second["tool_use_id"]], [c["id"] for c in calls])
        self.assertEqual(first["content"], '{"tool_success":true,"result":1}')
        self.assertNotIn("is_error", first)
        self.assertIs(second["is_error"], True)
        self.assertEqual(text, {"type": "text", "text": "and now?"})

    def test_ids(self):
        foreign = self.messages([user("go"), call("call|1/x", "pwd", provider="openai"),
                                 result("call|1/x", "pwd", provider="openai")])
        made = foreign[1]["content"][0]["id"]
        self.assertRegex(made, r"^[A-Za-z0-9]{9}$")
        self.assertEqual(foreign[2]["content"][0]["tool_use_id"], made)
        mine = self.messages([user("go"), own(call("toolu_1", "pwd")),
                              own(result("toolu_1", "pwd"))])
        self.assertEqual(mine[1]["content"][0]["id"], "toolu_1")
        self.assertEqual(mine[2]["content"][0]["tool_use_id"], "toolu_1")

    def test_rubbish_arguments_are_an_empty_object(self):
        for arguments in ["", "{\"a\":", "[1]", "null", "\"x\""]:
            sent = self.messages([user("go"), call("a", "pwd", arguments), result("a", "pwd")])
            self.assertEqual(sent[1]["content"][0]["input"], {})

    def test_text_of_nothing_but_space_is_left_out(self):
        sent = self.messages([user("go"), assistant(" \n\t"), call("a", "pwd"), result("a", "pwd")])
        self.assertEqual([b["type"] for b in sent[1]["content"]], ["tool_use"])
        # kept for the private data of another model
        sent = self.messages([user("go"), assistant("\n", **step([THOUGHT], 1, model="a/b")),
                              user("on")])
        self.assertNotIn("assistant", [m["role"] for m in sent])

    def test_a_trimmed_result_is_a_marker(self):
        sent = self.messages([user("go"), call("a", "pwd"), result("a", "pwd"), call("b", "pwd"),
                              result("b", "pwd")], trimmed_results=1)
        outputs = [m["content"][0]["content"] for m in sent[2::2]]
        self.assertNotIn('"result":1', outputs[0])
        self.assertEqual(outputs[1], '{"tool_success":true,"result":1}')

    # --- private data ---

    def answer(self, blocks, count=2, calls=("toolu_1",), **more):
        return [user("go"), assistant("Looking.", **step(blocks, count, calls, **more)),
                own(call("toolu_1", "read", '{"path":"x"}')), own(result("toolu_1", "read"))]

    def test_a_step_goes_back_as_it_came(self):
        blocks = [THOUGHT, {"type": "redacted_thinking", "data": "OPAQUE"},
                  {"type": "text", "text": "Looking. "},
                  {"type": "tool_use", "caller": {"type": "direct"}}]
        sent = self.messages(self.answer(blocks))
        self.assertEqual(sent[1]["content"], [
            THOUGHT, blocks[1], blocks[2],
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "x"},
             "caller": {"type": "direct"}}])

    def test_a_step_that_does_not_fit_is_rebuilt(self):
        place = {"type": "tool_use"}
        plain = [{"type": "text", "text": "Looking."},
                 {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "x"}}]
        cases = {"fewer calls": self.answer([THOUGHT]),
                 "more calls": self.answer([THOUGHT, place, place]),
                 "no list": self.answer({"a": 1}),
                 "no blocks": self.answer([THOUGHT, place, 7]),
                 "another model": self.answer([THOUGHT, place], model="anthropic/claude-y"),
                 "another format": self.answer([THOUGHT, place], wire="chat"),
                 "another id": self.answer([THOUGHT, place], calls=["toolu_2"])}
        for name, messages in cases.items():
            with self.subTest(name):
                self.assertEqual(self.messages(messages)[1]["content"], plain)
        dropped = self.messages(self.answer([THOUGHT, place]), drop_reasoning=True)
        self.assertEqual(dropped[1]["content"], plain)

    def test_a_compaction_voids_the_thoughts_before_it(self):
        messages = self.answer([THOUGHT, {"type": "tool_use"}])
        compaction = {"kind": "compaction", "content": "c", "data": {"trimmed_results": 1}}
        sent = self.messages(messages + [compaction, user("on")])
        self.assertNotIn("SIG", json.dumps(sent))
        self.assertIn("SIG", json.dumps(self.messages(messages + [user("on")])))

    # --- the cache ---

    def test_marks_move_and_nothing_else_changes(self):
        messages = [user("go")]
        for i in range(5):
            thought = [THOUGHT, {"type": "tool_use"}]
            messages += [own(call(f"toolu_{i}", "pwd", **step(thought, 1, [f"toolu_{i}"]))),
                         own(result(f"toolu_{i}", "pwd"))]
        messages += [assistant("Done.", model="anthropic/claude-x"), user("thanks")]
        bodies = request(target(), messages, system="S", tools=[READ], turns=True)["bodies"]
        self.assertEqual(len(bodies), 7)
        for before, after in zip([None] + bodies, bodies):
            self.assertLessEqual(count_marks(after), 4)
            ends = [m["content"][-1] for m in after["messages"] if m["role"] == "user"]
            self.assertTrue(all("cache_control" in end for end in ends[-2:]))
            self.assertEqual(count_marks(after["messages"]), len(ends[-2:]))
            if before:
                old = without_marks(before)["messages"]
                self.assertEqual(without_marks(after)["messages"][:len(old)], old)

    def test_no_marks_when_they_are_refused(self):
        self.assertEqual(count_marks(self.body(system="S", tools=[READ],
                                               refused=["cache_control"])), 0)


def start(index, block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index, kind, **members):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **members}}


def text(index, words):
    return [start(index, {"type": "text", "text": ""}), delta(index, "text_delta", text=words),
            {"type": "content_block_stop", "index": index}]


def thinking(index, words, signature="SIG"):
    return [start(index, {"type": "thinking", "thinking": "", "signature": ""}),
            delta(index, "thinking_delta", thinking=words),
            delta(index, "signature_delta", signature=signature),
            {"type": "content_block_stop", "index": index}]


def tool(index, *pieces, id="toolu_1", name="read", **more):
    return [start(index, {"type": "tool_use", "id": id, "name": name, "input": {}, **more}),
            *(delta(index, "input_json_delta", partial_json=p) for p in pieces),
            {"type": "content_block_stop", "index": index}]


BEGIN = {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 5,
                                                                   "output_tokens": 1}}}


def end(reason="end_turn", **more):
    return [{"type": "message_delta", "delta": {"stop_reason": reason, **more},
             "usage": {"output_tokens": 9}}, {"type": "message_stop"}]


class Stream(ProviderTest):
    WIRE = "anthropic"
    USAGE = {"in": 5, "out": 9}

    def answer(self, *blocks, reason="end_turn", **more):
        return self.stream([BEGIN, *sum(blocks, []), *end(reason, **more)])

    def replay(self, *blocks, reason="end_turn"):
        got = self.answer(*blocks, reason=reason)["replay"]
        return got and got["anthropic"]

    def test_why_it_stopped(self):
        for reason, stop in [("end_turn", "end"), ("stop_sequence", "end"), ("tool_use", "end"),
                             ("max_tokens", "max_tokens"), ("refusal", "refusal"),
                             ("model_context_window_exceeded", "context_full"),
                             ("pause_turn", "resume"), ("brand_new", "end")]:
            got = self.answer(text(0, "x"), reason=reason)
            self.assert_result(got, {"text": "x", "stop": stop, "usage": self.USAGE})
            self.assertEqual(got["refused"], reason == "refusal")

    def test_a_refusal_explains_itself_when_nothing_else_was_said(self):
        details = {"type": "refusal", "category": "x", "explanation": "Not this."}
        self.assertEqual(self.answer(reason="refusal", stop_details=details)["text"], "Not this.")
        self.assertEqual(self.answer(text(0, "No."), reason="refusal",
                                     stop_details=details)["text"], "No.")
        self.assertEqual(self.answer(reason="refusal", stop_details=None)["text"], "")

    def test_without_its_end_it_is_incomplete(self):
        whole = [BEGIN, *text(0, "I will"), *tool(1, '{"a":1}'), *end("tool_use")]
        for cut in (1, 2):
            got = self.stream(whole[:-cut])
            self.assert_result(got, {"text": "I will", "stop": "incomplete",
                                     "usage": {"in": 5, "out": 9 if cut == 1 else 1}})
            self.assertIsNone(got["replay"])
        self.assertEqual(self.stream(whole)["stop"], "tool_use")

    def test_done_is_an_end_only_after_a_reason(self):
        """Proxies write it after a stream that was cut off, too."""
        whole = [BEGIN, *text(0, "I will"), *tool(1, '{"a":1}'), *end("tool_use")]
        self.assertEqual(self.stream([*whole, "[DONE]"])["stop"], "tool_use")
        self.assertEqual(self.stream([*whole[:-1], "[DONE]"])["stop"], "tool_use")
        got = self.stream([*whole[:-2], "[DONE]"])
        self.assertEqual((got["stop"], got["text"], got["tool_calls"]), ("incomplete", "I will", []))

    def test_input_comes_in_pieces_or_at_once(self):
        given = [start(0, {"type": "tool_use", "id": "i", "name": "n", "input": {"a": 1}})]
        for blocks, args in [(tool(0, "", '{"p', '":"\u00fc', '"}'), {"p": "\u00fc"}),
                             (tool(0), {}), (tool(0, ""), {}), (given, {"a": 1}),
                             ([start(0, {"type": "tool_use", "id": "i", "name": "n",
                                         "input": '{"a": 1}'})], {"a": 1}),
                             (given + [delta(0, "input_json_delta", partial_json="")], {"a": 1}),
                             (given + [delta(0, "input_json_delta", partial_json='{"b":2}')],
                              {"b": 2})]:
            got = self.answer(blocks, reason="tool_use")
            self.assertEqual([c["args"] for c in got["tool_calls"]], [args])

    def test_blocks_are_found_by_index(self):
        mixed = [start(0, {"type": "text", "text": "A"}), *tool(1)[:1],
                 start(2, {"type": "tool_use", "id": "t2", "name": "b", "input": {}}),
                 delta(1, "input_json_delta", partial_json='{"n":1}'),
                 delta(2, "input_json_delta", partial_json='{"n":2}'),
                 delta(7, "input_json_delta", partial_json="lost")]
        got = self.answer(mixed, reason="tool_use")
        self.assertEqual([c["args"] for c in got["tool_calls"]], [{"n": 1}, {"n": 2}])
        # every block claims to be the first
        again = self.answer(text(0, "A"), tool(0, '{"n":3}'), reason="tool_use")
        self.assertEqual(again["tool_calls"][0]["args"], {"n": 3})
        self.assertEqual(again["order"], "tc")

    def test_deltas_of_another_kind_of_block_are_ignored(self):
        odd = [start(0, {"type": "text", "text": "a"}),
               delta(0, "input_json_delta", partial_json="{}"),
               delta(0, "thinking_delta", thinking="t"), delta(0, "brand_new", text="n"),
               delta(0, "citations_delta", citation={"text": "c"}),
               {"type": "content_block_delta", "index": 0}, {"type": "brand_new.event", "x": [1]},
               delta(0, "text_delta", text="b")]
        self.assert_result(self.answer(odd), {"text": "ab", "stop": "end", "usage": self.USAGE})

    def test_events_that_are_not_objects_do_no_harm(self):
        got = self.stream([BEGIN, "[1,2]", "null", "\"x\"", "{}", *text(0, "x"), *end()])
        self.assertEqual(got["stop"], "end")

    def test_the_name_of_the_event_is_not_needed(self):
        data = events("none", [BEGIN, *text(0, "x"), *end()])
        self.assertNotIn("event:", data)
        self.assertEqual(self.stream(data)["text"], "x")

    def test_usage_is_the_last_that_was_said(self):
        usage = {"input_tokens": 1, "cache_read_input_tokens": 20,
                 "cache_creation_input_tokens": 300, "output_tokens": 1}
        got = self.stream([
            {"type": "message_start", "message": {"usage": usage}},
            {"type": "message_delta", "delta": {}, "usage": {
                "output_tokens": 7, "input_tokens": None, "cache_read_input_tokens": 40,
                "output_tokens_details": {"thinking_tokens": 3}}},
            *end()])
        self.assertEqual(got["usage"], {"in": 341, "cached": 40, "cache_write": 300, "out": 9,
                                        "reasoning": 3})

    def test_errors_in_the_form_of_others(self):
        """Gateways answer in forms of their own, whichever vendor they stand for."""
        named = "event: error\ndata: %s\n\n"
        for wire in ("anthropic", "responses", "chat", "google"):
            for body, code in (({"detail": "no such key"}, None),
                               ({"code": "overloaded", "message": "no such key"}, "overloaded"),
                               ("no such key", None)):
                with self.subTest(wire=wire, body=body):
                    got = stream("whole", wire, named % json.dumps(body))
                    self.assertEqual(got["stop"], "error")
                    self.assertIn("no such key", got["error"]["message"])
        body = {"error": {"type": "authentication_error", "message": "no such key"}}
        got = self.stream(f"data: {json.dumps(body)}\n\n")
        self.assertEqual((got["stop"], got["fault"]), ("error", "auth"))

    def test_errors(self):
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        got = self.stream([BEGIN, error, *text(0, "x"), *end()])
        self.assert_result(got, {"stop": "error", "usage": {"in": 5, "out": 1}, "error": {
            "code": "overloaded_error", "message": "Overloaded"}})
        body = stream("whole", "anthropic", json.dumps(error), content_type="application/json")
        self.assertEqual((body["stop"], body["fault"]), ("error", "server"))

    def test_a_message_that_was_not_streamed(self):
        message = {"type": "message", "role": "assistant", "stop_reason": "tool_use",
                   "usage": {"input_tokens": 5, "output_tokens": 9},
                   "content": [THOUGHT, {"type": "text", "text": "Looking."}, 7,
                               {"type": "tool_use", "id": "t", "name": "read",
                                "input": {"path": "a"}}]}
        got = self.stream(json.dumps(message), content_type="application/json")
        self.assert_result(got, {
            "text": "Looking.", "thinking": "Hm.", "stop": "tool_use", "usage": self.USAGE,
            "tool_calls": [{"id": "t", "name": "read", "args": {"path": "a"}}]})
        self.assertEqual(got["replay"]["anthropic"], [
            THOUGHT, {"type": "text", "text": "Looking."}, {"type": "tool_use"}])

    # --- what goes back ---

    def test_a_signature_is_set_and_not_appended(self):
        twice = thinking(0, "t", "A")
        twice.insert(3, delta(0, "signature_delta", signature="B"))
        self.assertEqual(self.replay(twice, text(1, "x"))[0]["signature"], "B")

    def test_thoughts_without_a_signature_go_back_without(self):
        bare = [start(0, {"type": "thinking", "thinking": "t"})]
        self.assertEqual(self.replay(bare, text(1, "x"))[0], {"type": "thinking", "thinking": "t"})

    def test_text_and_calls_alone_need_nothing_more(self):
        self.assertIsNone(self.replay(text(0, "x"), tool(1, "{}"), reason="tool_use"))

    def test_blank_text_and_thoughts_at_the_end_are_refused_by_the_server(self):
        self.assertEqual(self.replay(thinking(0, "t"), text(1, "\n\n"), tool(2, "{}"),
                                     reason="tool_use"),
                         [{"type": "thinking", "thinking": "t", "signature": "SIG"},
                          {"type": "tool_use"}])
        redacted = [start(3, {"type": "redacted_thinking", "data": "D"})]
        self.assertEqual([b["type"] for b in self.replay(
            thinking(0, "t"), text(1, "x"), thinking(2, "u"), redacted, reason="max_tokens")],
                         ["thinking", "text"])
        self.assertIsNone(self.replay(thinking(0, "t"), reason="max_tokens"))

    def test_a_call_cut_off_by_the_limit_goes_nowhere(self):
        got = self.answer(thinking(0, "t"), tool(1, '{"a":1}'), tool(2, '{"b":', id="toolu_2"),
                          reason="max_tokens")
        self.assertEqual([c["id"] for c in got["tool_calls"]], ["toolu_1"])
        self.assertEqual([b["type"] for b in got["replay"]["anthropic"]], ["thinking", "tool_use"])

    def test_blocks_we_do_not_know_go_back_when_they_are_whole(self):
        whole = [start(0, {"type": "server_result", "content": [{"a": 1}]})]
        grown = [start(1, {"type": "server_tool_use", "id": "s", "name": "w", "input": {}}),
                 delta(1, "input_json_delta", partial_json="{}")]
        self.assertEqual(self.replay(whole, grown, text(2, "x")), [
            {"type": "server_result", "content": [{"a": 1}]}, {"type": "text", "text": "x"}])

    def test_what_is_attached_to_a_call_is_kept(self):
        self.assertEqual(self.replay(tool(0, "{}", caller={"type": "direct"}), reason="tool_use"),
                         [{"type": "tool_use", "caller": {"type": "direct"}}])

    def test_bytes_that_are_no_text_are_replaced(self):
        data = events("anthropic", [BEGIN, start(0, {"type": "odd", "x": "\u00e4"}),
                                    *text(1, "\u00e4"), *end()]).encode("latin-1")
        got = self.stream(data)
        self.assertEqual(got["text"], "\ufffd")
        self.assertEqual(got["replay"]["anthropic"][0], {"type": "odd", "x": "\ufffd"})

    def test_thoughts_are_paragraphs_and_part_the_text(self):
        got = self.answer(thinking(0, "One."), text(1, "A"), text(2, "B"), thinking(3, "Two."),
                          text(4, "C"))
        self.assertEqual(got["thinking"], "One.\n\nTwo.")
        self.assertEqual((got["text"], got["order"]), ("ABC", "tt"))

    def test_there_and_back(self):
        items = [BEGIN, *thinking(0, "Hm.", "S1"), *text(1, "Look \u2713\n"),
                 *tool(2, '{"path": "a/b"}'), *tool(3, id="toolu_2", name="pwd"),
                 *end("tool_use")]
        sent = without_marks(stream("replay", "anthropic", items)["messages"])
        self.assertEqual(sent[1], {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "S1"},
            {"type": "text", "text": "Look \u2713\n"},
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a/b"}},
            {"type": "tool_use", "id": "toolu_2", "name": "pwd", "input": {}}]})
        self.assertEqual([b.get("tool_use_id") for b in sent[2]["content"]],
                         ["toolu_1", "toolu_2", None])

    def test_an_id_that_is_missing_is_made_up_for_both_sides(self):
        block = [start(0, {"type": "tool_use", "name": "pwd", "input": {}})]
        sent = stream("replay", "anthropic", [BEGIN, *thinking(9, "t"), *block, *end("tool_use")])
        answer, results = sent["messages"][1:]
        made = answer["content"][-1]["id"]
        self.assertRegex(made, r"^[A-Za-z0-9_-]+$")
        self.assertEqual(results["content"][0]["tool_use_id"], made)


if __name__ == "__main__":
    unittest.main()
