"""Streams of Chat Completions, with the deviations of servers that imitate OpenAI."""
import json
import unittest

from support_provider import ProviderTest, stream

DONE = "[DONE]"


def chunk(delta=None, finish=None, **more):
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def calls(*fragments, finish=None):
    return chunk({"tool_calls": list(fragments)}, finish)


def fragment(name=None, arguments=None, **more):
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    return {**more, "function": function}


class ChatTest(ProviderTest):
    WIRE = "chat"

    def finished(self, *chunks, finish="stop", **options):
        return self.stream([*chunks, chunk(finish=finish), DONE], **options)

    def assert_calls(self, got, *expected):
        self.assertEqual([(c["name"], c["args"]) for c in got["tool_calls"]], list(expected))
        self.assertEqual(got["stop"], "tool_use")


class Slots(ChatTest):
    """Finding the call to which a fragment belongs."""

    def test_by_id_without_index(self):
        got = self.finished(calls(fragment("read", '{"a', id="x")),
                            calls(fragment("list", "{", id="y")),
                            calls(fragment(None, '":1}', id="x")),
                            calls(fragment(None, "}", id="y")))
        self.assert_calls(got, ("read", {"a": 1}), ("list", {}))

    def test_by_name_without_index_and_id(self):
        got = self.finished(calls(fragment("read", '{"a":1}')), calls(fragment("read", '{"a":2}')))
        self.assert_calls(got, ("read", {"a": 1}), ("read", {"a": 2}))
        self.assertEqual([c["id"] for c in got["tool_calls"]], ["@1", "@2"])

    def test_the_last_one_without_anything(self):
        got = self.finished(calls(fragment("a", "{}", id="1")),
                            calls(fragment("b", '{"x"', id="2")), calls(fragment(None, ":2}")))
        self.assert_calls(got, ("a", {}), ("b", {"x": 2}))

    def test_position_is_no_index(self):
        got = self.finished(calls(fragment("a", "{}", id="1"), fragment("b", "{}", id="2")),
                            calls(fragment("c", "{}", id="3")))
        self.assert_calls(got, ("a", {}), ("b", {}), ("c", {}))

    def test_index_null_counts_as_missing(self):
        got = self.finished(calls(fragment("a", '{"x"', id="1", index=None)),
                            calls(fragment(None, ":1}", index=None)))
        self.assert_calls(got, ("a", {"x": 1}))

    def test_same_index_other_id(self):
        got = self.finished(calls(fragment("a", '{"x":', id="1", index=0)),
                            calls(fragment("a", '{"x":', id="2", index=0)),
                            calls(fragment(None, "1}", id="1", index=0)),
                            calls(fragment(None, "2}", id="2", index=0)))
        self.assert_calls(got, ("a", {"x": 1}), ("a", {"x": 2}))

    def test_same_index_second_whole_call_without_id(self):
        got = self.finished(calls(fragment("a", '{"x":1}', index=0)),
                            calls(fragment("a", '{"x":2}', index=0)),
                            calls(fragment("b", {"y": 3}, index=0)))
        self.assert_calls(got, ("a", {"x": 1}), ("a", {"x": 2}), ("b", {"y": 3}))

    def test_same_id_second_whole_call(self):
        """Two calls under one id are two; one that comes twice is one."""
        for more in ({"id": "x", "index": 0}, {"id": "x"}):
            with self.subTest(**more):
                got = self.finished(calls(fragment("a", '{"x":1}', **more)),
                                    calls(fragment("a", '{"x":2}', **more)),
                                    calls(fragment("b", {"x": 2}, **more)))
                self.assert_calls(got, ("a", {"x": 1}), ("a", {"x": 2}), ("b", {"x": 2}))
                self.assertEqual([c["id"] for c in got["tool_calls"]], ["x", "@1", "@2"])
                got = self.finished(calls(fragment("a", '{"x":1}', **more),
                                          fragment("a", '{"x":1}', **more)),
                                    calls(fragment("b", "{}", id="y")))
                self.assert_calls(got, ("a", {"x": 1}), ("b", {}))
                got = self.finished(calls(fragment("a", '{"x"', **more)),
                                    calls(fragment("a", ':{}}', **more)))
                self.assert_calls(got, ("a", {"x": {}}))

    def test_same_id_other_index(self):
        got = self.finished(calls(fragment("a", '{"x":1}', id="call", index=0)),
                            calls(fragment("b", '{"y":2}', id="call", index=1)))
        self.assert_calls(got, ("a", {"x": 1}), ("b", {"y": 2}))
        self.assertEqual([c["id"] for c in got["tool_calls"]], ["call", "@1"])

    def test_an_id_of_another_index_opens_a_call(self):
        got = self.finished(calls(fragment("a", "{}", id="1", index=0)),
                            calls(fragment("b", "{}", id="2", index=1)),
                            calls(fragment("c", "{}", id="1", index=1)))
        self.assert_calls(got, ("a", {}), ("b", {}), ("c", {}))

    def test_id_comes_later(self):
        got = self.finished(calls(fragment("a", '{"x"', index=0)),
                            calls(fragment(None, ":1}", index=0, id="late")))
        self.assert_calls(got, ("a", {"x": 1}))
        self.assertEqual(got["tool_calls"][0]["id"], "late")

    def test_id_and_name_repeated_in_every_fragment(self):
        for more in ({"id": "x", "index": 0}, {"id": "x"}, {"index": 0}):
            with self.subTest(**more):
                got = self.finished(calls(fragment("read", "", **more)),
                                    calls(fragment("read", '{"a', **more)),
                                    calls(fragment("read", '":1}', **more)))
                self.assert_calls(got, ("read", {"a": 1}))

    def test_name_in_pieces(self):
        got = self.finished(calls(fragment("file_", "", index=0, id="x")),
                            calls(fragment("read", "", index=0)),
                            calls(fragment(None, "{}", index=0)))
        self.assert_calls(got, ("file_read", {}))

    def test_another_name_amid_the_arguments_is_none(self):
        got = self.finished(calls(fragment("read", '{"a"', index=0, id="x")),
                            calls(fragment("else", ":1}", index=0)))
        self.assert_calls(got, ("read", {"a": 1}))

    def test_arguments_before_the_name(self):
        got = self.finished(calls(fragment(None, '{"a"', index=0)),
                            calls(fragment("read", ":1}", index=0, id="x")))
        self.assert_calls(got, ("read", {"a": 1}))

    def test_arguments_of_other_shapes(self):
        for arguments, expected in [('{"a":1}', {"a": 1}), ({"a": [1, "x"]}, {"a": [1, "x"]}),
                                    ("", {}), ([1], [1]), ("{broken", "{broken")]:
            with self.subTest(arguments=arguments):
                got = self.finished(calls(fragment("t", arguments, index=0, id="x")))
                self.assert_calls(got, ("t", expected))
        raw = '{"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"t",' \
              '"arguments":null}}]}}]}'
        self.assert_calls(self.finished(raw), ("t", {}))

    def test_a_call_without_a_name_cannot_be_told(self):
        got = self.finished(calls(fragment(None, "{}", index=0, id="x")))
        self.assertEqual((got["tool_calls"], got["stop"]), ([], "bad_tool_call"))

    def test_custom_tools_and_rubbish_are_passed_over(self):
        got = self.finished(calls({"index": 0, "id": "c", "type": "custom",
                                   "custom": {"name": "x", "input": "y"}}), calls(),
                            chunk({"tool_calls": "no"}), chunk({"tool_calls": [None, 1, "x"]}),
                            calls(fragment("t", "{}", index=1, id="x")))
        self.assert_calls(got, ("t", {}))

    def test_legacy_function_call(self):
        got = self.finished(chunk({"function_call": {"name": "read", "arguments": ""}}),
                            chunk({"function_call": {"arguments": '{"a"'}}),
                            chunk({"function_call": {"arguments": ":1}"}}), finish="function_call")
        self.assert_calls(got, ("read", {"a": 1}))

    def test_too_many_calls_are_an_error_and_no_work(self):
        many = [calls(fragment("t", "{}", id=f"c{n}")) for n in range(1025)]
        got = stream("whole", "chat", [*many, chunk(finish="tool_calls"), DONE])
        self.assertEqual((got["stop"], got["tool_calls"]), ("error", []))
        got = stream("whole", "chat", [*many[:-1], chunk(finish="tool_calls"), DONE])
        self.assertEqual((got["stop"], len(got["tool_calls"])), ("tool_use", 1024))


class Ends(ChatTest):
    def test_reasons(self):
        for reason, stop in [("stop", "end"), ("", "end"), ("eos", "end"), ("tool_calls", "end"),
                             ("length", "max_tokens"), ("model_length", "max_tokens"),
                             ("content_filter", "filtered"), ("function_call", "end"),
                             ("sensitive", "filtered"), ("network_error", "cut"),
                             ("insufficient_system_resource", "cut"), ("abort", "cut"),
                             ("model_context_window_exceeded", "context_full")]:
            with self.subTest(reason=reason):
                got = self.finished(chunk({"content": "x"}), finish=reason)
                self.assertEqual(got["stop"], stop)

    def test_calls_count_whatever_the_reason_says(self):
        for reason in ("stop", "", "tool_calls", "function_call"):
            with self.subTest(reason=reason):
                got = self.finished(calls(fragment("t", "{}", id="x")), finish=reason)
                self.assert_calls(got, ("t", {}))

    def test_calls_of_a_filtered_answer_do_not_run(self):
        got = self.finished(calls(fragment("t", "{}", id="x")), finish="content_filter")
        self.assertEqual((got["stop"], got["tool_calls"]), ("filtered", []))

    def test_the_last_reason_wins_but_an_empty_one(self):
        got = self.stream([chunk({"content": "x"}, "stop"), chunk(finish="length"), DONE])
        self.assertEqual(got["stop"], "max_tokens")
        got = self.stream([chunk({"content": "x"}, "length"), chunk(finish=""), DONE])
        self.assertEqual(got["stop"], "max_tokens")

    def test_no_done(self):
        got = self.stream([chunk({"content": "x"}), chunk(finish="stop")])
        self.assertEqual((got["text"], got["stop"]), ("x", "end"))

    def test_done_without_a_reason(self):
        got = self.stream([chunk({"content": "x"}), DONE])
        self.assertEqual((got["text"], got["stop"]), ("x", "end"))

    def test_neither_is_incomplete(self):
        got = self.stream([chunk({"content": "x"}), calls(fragment("t", "{}", id="x"))])
        self.assertEqual((got["text"], got["stop"], got["tool_calls"]), ("x", "incomplete", []))

    def test_a_reason_with_every_chunk_is_not_an_end(self):
        """Only a whole response tells whether all of the answer came."""
        for reason in ("stop", ""):
            with self.subTest(reason=reason):
                parts = [chunk({"role": "assistant", "content": ""}, reason),
                         chunk({"content": "a"}, reason), chunk({"content": "b"}, reason)]
                whole, broken = self.stream(parts), self.stream(parts, broken=1)
                self.assertEqual((whole["text"], whole["stop"]), ("ab", "end"))
                self.assertEqual((broken["text"], broken["stop"]), ("ab", "incomplete"))
                self.assertEqual(self.stream(parts[:1], broken=1)["stop"], "incomplete")
                self.assertEqual(self.stream([*parts, DONE], broken=1)["stop"], "end")
                cut = self.stream([*parts, calls(fragment("t", "{}", id="x"), finish=reason)],
                                  broken=1)
                self.assertEqual((cut["stop"], cut["tool_calls"]), ("incomplete", []))

    def test_a_response_that_ends_behind_the_end(self):
        """Wherever it is cut: the answer is there."""
        begin = "".join(f"data: {json.dumps(c)}\n\n" for c in (chunk({"content": "a"}),
                                                               chunk(finish="stop")))
        rest = 'data: {"choices": [], "usage": {"prompt_tokens": 1}}\n\ndata: [DONE]\n\n'
        for size in range(len(rest) + 1):
            got = stream("whole", "chat", begin + rest[:size])
            self.assertEqual((got["text"], got["stop"], got["error"]), ("a", "end", None), size)
        got = self.stream(begin + "data: {]\n\n" + rest)
        self.assertEqual(got["stop"], "error")

    def test_what_may_follow_the_end(self):
        parts = [chunk({"content": "a"}), chunk(finish="stop"), chunk({"content": ""}, "stop"),
                 {"choices": [], "usage": {"prompt_tokens": 1}}]
        got = self.stream(parts, broken=1)
        self.assertEqual((got["text"], got["stop"], got["usage"]), ("a", "end", {"in": 1}))

    def test_events_without_data_keep_the_connection_alive(self):
        got = self.stream("data:\n\n" + "data: \t\n\n".join(
            f"data: {json.dumps(c)}\n\n" for c in (chunk({"content": "a"}), chunk({"content": "b"}, "stop")))
            + "event: ping\ndata\n\ndata:\t[DONE]\t\n\n")
        self.assertEqual((got["text"], got["stop"]), ("ab", "end"))

    def test_named_events_of_others_are_passed_over(self):
        begin = f"data: {json.dumps(chunk({'content': 'a'}))}\n\n"
        end = f"data: {json.dumps(chunk({'content': 'b'}, 'stop'))}\n\ndata: [DONE]\n\n"
        for event in ("event: ping\ndata: ping", "event: keep-alive\ndata: 2026-11-18 12:00",
                      "event: x\ndata: -"):
            with self.subTest(event=event):
                got = self.stream(f"{begin}{event}\n\n{end}")
                self.assertEqual((got["text"], got["stop"]), ("ab", "end"))
        for event in ("data: ping", "event: message\ndata: ping", "event: ping\ndata: {]",
                      "event: error\ndata: broken"):
            with self.subTest(event=event):
                self.assertEqual(self.stream(f"{begin}{event}\n\n{end}")["stop"], "error")

    def test_done_with_spaces(self):
        data = json.dumps(chunk({"content": "x"}))
        got = self.stream(f"data:  {data}  \n\ndata:  [DONE]  \n\n")
        self.assertEqual((got["text"], got["stop"]), ("x", "end"))

    def test_nothing_at_all(self):
        got = self.stream([DONE])
        self.assertEqual((got["text"], got["stop"], got["order"]), ("", "end", ""))
        self.assertEqual(self.stream("")["stop"], "incomplete")

    def test_refusal(self):
        got = self.finished(chunk({"refusal": "I "}), chunk({"refusal": "can't."}))
        self.assertEqual((got["text"], got["stop"]), ("I can't.", "refusal"))
        self.assertEqual(self.finished(chunk({"content": "x", "refusal": None}))["stop"], "end")


class Chunks(ChatTest):
    def test_choices_empty_null_or_missing(self):
        usage = {"prompt_tokens": 3, "completion_tokens": 4}
        for more in ({"choices": []}, {"choices": None}, {}):
            with self.subTest(**more):
                got = self.finished(chunk({"content": "x"}), {**more, "usage": usage})
                self.assertEqual((got["text"], got["usage"]), ("x", {"in": 3, "out": 4}))

    def test_message_instead_of_delta(self):
        got = self.stream([{"choices": [{"message": {"content": "whole"},
                                         "finish_reason": "stop"}]}])
        self.assertEqual((got["text"], got["stop"]), ("whole", "end"))

    def test_further_choices_are_ignored(self):
        got = self.finished({"choices": [{"index": 1, "delta": {"content": "no"}},
                                         {"index": 0, "delta": {"content": "yes"}}]},
                            {"choices": [{"index": 2, "delta": {}, "finish_reason": "length"}]})
        self.assertEqual((got["text"], got["stop"]), ("yes", "end"))

    def test_content_as_an_array(self):
        got = self.finished(chunk({"content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
            {"type": "text", "text": "A"}, {"type": "reference", "reference_ids": [1]}, "B"]}),
            chunk({"content": [{"type": "thinking", "thinking": "m."}]}))
        self.assertEqual((got["text"], got["thinking"]), ("AB", "Hmm."))

    def test_text_around_calls_keeps_its_place(self):
        got = self.finished(chunk({"content": "a"}), calls(fragment("t", "{}", id="x")),
                            chunk({"content": "b"}))
        self.assertEqual((got["text"], got["order"]), ("ab", "tct"))

    def test_a_call_as_text_stays_text(self):
        text = '<tool_call>{"name":"read"}</tool_call>'
        got = self.finished(chunk({"content": text}))
        self.assertEqual((got["text"], got["tool_calls"]), (text, []))

    def test_unknown_events_and_values(self):
        got = self.finished({"moderation": {"x": 1}},
                            chunk({"audio": {"data": "x"}, "content": "ok"}), {"object": "ping"},
                            "[]", "1", '"text"', "null",
                            chunk({"content": 5, "refusal": [], "reasoning": {}}))
        self.assertEqual((got["text"], got["stop"]), ("ok", "end"))

    def test_unicode(self):
        got = self.finished('{"choices":[{"delta":{"content":"\\ud83d\\ude00 \\ud800 \\u0000|"}}]}')
        self.assertEqual(got["text"], "\U0001f600 \ufffd  |")
        data = b'data: {"choices":[{"delta":{"content":"a\xffb"},"finish_reason":"stop"}]}\n\n'
        self.assertEqual(self.stream(data)["text"], "a\ufffdb")

    def test_comments_crlf_and_missing_spaces(self):
        data = (": PROCESSING\r\n\r\ndata:" + json.dumps(chunk({"content": "x"})) +
                "\r\n\r\n: keep-alive\r\n\r\nid: 7\r\nretry: 5\r\ndata: " +
                json.dumps(chunk(finish="stop")) + "\r\n\r\ndata: [DONE]\r\n\r\n")
        self.assertEqual(self.stream(data)["text"], "x")


class Usage(ChatTest):
    def usage(self, *usages):
        return self.finished(*({"choices": [], "usage": u} for u in usages))["usage"]

    def test_details(self):
        self.assertEqual(
            self.usage({"prompt_tokens": 9, "completion_tokens": 8, "total_tokens": 17,
                        "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 2},
                        "completion_tokens_details": {"reasoning_tokens": 3}}),
            {"in": 9, "cached": 5, "cache_write": 2, "out": 8, "reasoning": 3})

    def test_overwritten_never_added_and_null_keeps(self):
        self.assertEqual(self.usage({"prompt_tokens": 9, "completion_tokens": 1},
                                    {"prompt_tokens": None, "completion_tokens": 2,
                                     "prompt_tokens_details": None}), {"in": 9, "out": 2})

    def test_deepseek(self):
        self.assertEqual(self.usage({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}),
                         {"in": 9, "cached": 4})

    def test_groq(self):
        got = self.finished(chunk({"content": "x"}),
                            {"choices": [], "x_groq": {"usage": {"prompt_tokens": 1,
                                                                 "completion_tokens": 2}}})
        self.assertEqual(got["usage"], {"in": 1, "out": 2})

    def test_inside_the_choice(self):
        got = self.stream([{"choices": [{"delta": {}, "finish_reason": "stop",
                                         "usage": {"prompt_tokens": 5}}]}])
        self.assertEqual(got["usage"], {"in": 5})

    def test_rubbish(self):
        self.assertEqual(self.usage({"prompt_tokens": -1, "completion_tokens": "7"}, [], 5), {})


class Reasoning(ChatTest):
    def test_the_first_that_is_not_empty(self):
        got = self.finished(chunk({"reasoning_content": "a", "reasoning": "a"}),
                            chunk({"reasoning_content": "", "reasoning": "b"}),
                            chunk({"thinking": "c"}), chunk({"content": "x"}))
        self.assertEqual((got["thinking"], got["text"]), ("abc", "x"))

    def test_only_reasoning_content_goes_back(self):
        got = self.finished(chunk({"reasoning": "b"}), calls(fragment("t", "{}", id="x")))
        self.assertIsNone(got["replay"])
        got = self.finished(chunk({"reasoning_content": "q\"\\n\\u00e9"}), chunk({"content": "x"}))
        self.assertEqual(got["replay"], {"chat": {"reasoning_content": "q\"\\n\\u00e9"}})
        got = self.finished(chunk({"reasoning_content": ""}), calls(fragment("t", "{}", id="x")))
        self.assertEqual(got["replay"], {"chat": {"reasoning_content": ""}})

    def test_halves_of_a_character_meet_again(self):
        got = self.finished('{"choices":[{"delta":{"reasoning_content":"\\ud83d"}}]}',
                            '{"choices":[{"delta":{"reasoning_content":"\\ude00 \\udc00"}}]}',
                            chunk({"content": "x"}))
        self.assertEqual(got["replay"]["chat"]["reasoning_content"], "\U0001f600 \ufffd")

    def test_details_are_put_together(self):
        text = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
        secrets = [{"type": "reasoning.encrypted", "data": d, "index": 1} for d in "AB"]
        got = self.finished(
            chunk({"reasoning": "Let", "reasoning_details": [{**text, "text": "Let"}]}),
            chunk({"reasoning": " me", "reasoning_details": [{**text, "text": " me"}]}),
            chunk({"reasoning_details": [{**text, "signature": "SIG"}]}),
            chunk({"reasoning_details": secrets}), calls(fragment("t", "{}", id="x")))
        self.assertEqual(got["thinking"], "Let me")
        self.assertEqual(got["replay"]["chat"]["reasoning_details"], [
            {**text, "text": "Let me", "signature": "SIG"}, *secrets])

    def test_details_without_an_index_are_whole(self):
        blocks = [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.text", "text": "b"}]
        got = self.finished(*(chunk({"reasoning_details": [b]}) for b in blocks),
                            calls(fragment("t", "{}", id="x")))
        self.assertEqual(got["replay"]["chat"]["reasoning_details"], blocks)

    def test_details_that_are_whole_stay_as_they_are(self):
        raw = '[{"type":"reasoning.text","text":"a\\u0062","n":1.50,"index":0},' \
              '{"type":"reasoning.text","text":"c","index":1},{"type":"x"},5]'
        event = '{"choices":[{"delta":{"reasoning_details":' + raw + "}}]}"
        sent = stream("replay", "chat", [event, calls(fragment("t", "{}", id="x")),
                                         chunk(finish="stop")])
        self.assertEqual(sent["messages"][1]["reasoning_details"], json.loads(raw))

    def test_extra_content_stays_with_its_call(self):
        signature = {"google": {"thought_signature": "S"}}
        chunks = [calls(fragment("a", "{}", id="1", extra_content=signature)),
                  calls(fragment("b", "{}", id="2")), chunk(finish="tool_calls"), DONE]
        got = self.stream(chunks)
        self.assertEqual(got["replay"], {"chat": {"extra_content": [signature, None]}})
        sent = stream("replay", "chat", chunks)["messages"][1]["tool_calls"]
        self.assertEqual(sent[0]["extra_content"], signature)
        self.assertNotIn("extra_content", sent[1])

    def test_extra_content_when_a_call_before_it_is_dropped(self):
        chunks = [calls(fragment("a", "{", id="1")),
                  calls(fragment("b", "{}", id="2", extra_content={"x": 1})),
                  chunk(finish="length"), DONE]
        sent = stream("replay", "chat", chunks)["messages"][1]["tool_calls"]
        self.assertEqual([(c["id"], c.get("extra_content")) for c in sent], [("2", {"x": 1})])


class Think(ChatTest):
    def split(self, *pieces, **options):
        got = self.finished(*(chunk({"content": p}) for p in pieces), **options)
        return got["thinking"], got["text"]

    def test_in_one_piece(self):
        self.assertEqual(self.split("<think>Hm.</think>Answer"), ("Hm.", "Answer"))

    def test_cut_anywhere(self):
        text = "\n<think>Is a < b </thin k> ü?</think>\n\nYes <think>no</think>"
        for cut in range(len(text)):
            with self.subTest(cut=cut):
                self.assertEqual(self.split(text[:cut], text[cut:]),
                                 ("Is a < b </thin k> ü?", "Yes <think>no</think>"))
        self.assertEqual(self.split(*text), ("Is a < b </thin k> ü?", "Yes <think>no</think>"))

    def test_only_at_the_very_beginning(self):
        self.assertEqual(self.split("So <think>x</think>"), ("", "So <think>x</think>"))
        self.assertEqual(self.split("<thinking>x"), ("", "<thinking>x"))
        self.assertEqual(self.split("<", "b>"), ("", "<b>"))
        self.assertEqual(self.split(" " * 100, "<think>x</think>"),
                         ("", " " * 100 + "<think>x</think>"))

    def test_what_is_held_back_comes_out_at_the_end(self):
        self.assertEqual(self.split("  <thi"), ("", "  <thi"))
        self.assertEqual(self.split("<think>a</thi"), ("a</thi", ""))

    def test_before_a_call(self):
        got = self.finished(chunk({"content": "<"}), calls(fragment("t", "{}", id="x")))
        self.assertEqual((got["text"], got["order"]), ("<", "tc"))

    def test_not_of_openai(self):
        self.assertEqual(self.split("<think>x</think>y", provider="openai"),
                         ("", "<think>x</think>y"))

    def test_is_not_sent_back(self):
        sent = stream("replay", "chat", [chunk({"content": "<think>x</think>y"}),
                                         chunk(finish="stop")])
        self.assertEqual(sent["messages"][1], {"role": "assistant", "content": "y"})


class Errors(ChatTest):
    def test_forms(self):
        for event, message in [
                ({"error": {"message": "m1", "code": "c"}}, "m1"), ({"error": "m2"}, "m2"),
                ({"object": "error", "message": "m3", "code": 400}, "m3"),
                ({"code": "c", "error": "m4"}, "m4"),
                ({"type": "error", "error": {"message": "m5"}}, "m5"),
                ({"message": "m6", "code": 500}, "m6"),
                ({"choices": [], "x_groq": {"id": "r", "error": "m8"}}, "m8"),
                ({"choices": [{"delta": {}, "finish_reason": "error",
                               "error": {"code": 502, "message": "m7"}}]}, "m7")]:
            with self.subTest(event=event):
                got = self.stream([chunk({"content": "x"}), event, chunk({"content": "y"}), DONE])
                self.assertEqual((got["stop"], got["text"], got["error"]["message"]),
                                 ("error", "x", message))

    def test_a_reason_error_without_an_error(self):
        got = self.finished(chunk({"content": "x"}), finish="error")
        self.assertEqual((got["stop"], got["text"]), ("error", "x"))
        self.assertTrue(got["error"]["message"])

    def test_event_named_error(self):
        got = self.stream('event: error\ndata: {"message":"no"}\n\n')
        self.assertEqual((got["stop"], got["error"]["message"]), ("error", "no"))

    def test_the_first_one_wins(self):
        got = self.stream([{"error": {"message": "1"}}, {"error": {"message": "2"}}])
        self.assertEqual(got["error"]["message"], "1")

    def test_error_null_is_none(self):
        for none in (None, False, "", {}, []):
            got = self.finished(chunk({"content": "x"}, error=none))
            self.assertEqual((got["stop"], got["text"]), ("end", "x"))
            got = self.stream([{**chunk({"content": "x"}), "error": none}, chunk(finish="stop")])
            self.assertEqual((got["stop"], got["text"]), ("end", "x"))

    def test_calls_before_an_error_do_not_run(self):
        got = self.stream([calls(fragment("t", "{}", id="x"), finish="tool_calls"),
                           {"error": {"message": "late"}}])
        self.assertEqual((got["stop"], got["tool_calls"]), ("error", []))


class PlainBody(ChatTest):
    """Answers with application/json where a stream was requested."""

    def body(self, value, **options):
        return self.stream(json.dumps(value), content_type="application/json", **options)

    def test_completion(self):
        got = self.body({"object": "chat.completion", "choices": [
            {"index": 0, "finish_reason": "tool_calls", "message": {
                "role": "assistant", "content": "Reading.", "reasoning_content": "Hm",
                "tool_calls": [
                    {"id": "1", "type": "function",
                     "function": {"name": "read", "arguments": '{"p":"a"}'}},
                    {"id": "2", "type": "function",
                     "function": {"name": "read", "arguments": '{"p":"b"}'}}]}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2}})
        self.assert_calls(got, ("read", {"p": "a"}), ("read", {"p": "b"}))
        self.assertEqual((got["text"], got["thinking"], got["usage"]),
                         ("Reading.", "Hm", {"in": 1, "out": 2}))

    def test_without_a_reason(self):
        got = self.body({"choices": [{"message": {"content": "x"}, "finish_reason": None}]})
        self.assertEqual((got["text"], got["stop"]), ("x", "end"))

    def test_error(self):
        got = self.body({"error": {"message": "no such model", "code": "model_not_found"}})
        self.assertEqual((got["stop"], got["error"]),
                         ("error", {"code": "model_not_found", "message": "no such model"}))

    def test_neither(self):
        for kind in ("application/json", "text/plain", "text/event-stream", ""):
            for body, words in (
                    ('{"msg": "over quota"}', 'not one of a model: {"msg": "over quota"}'),
                    ("[]", "not one of a model: []"), ("<html>", "a web page")):
                got = self.stream(body, content_type=kind)
                self.assertEqual(got["stop"], "error")
                self.assertIn(words, got["error"]["message"])
        for kind in ("application/json", "text/plain", ""):
            got = self.stream("Sorry,\nno", content_type=kind)
            self.assertEqual(got["error"]["message"], "the server's answer is not JSON: Sorry,")
            self.assertEqual(self.stream("null", content_type=kind)["stop"], "error")
            self.assertEqual(self.stream(" \n", content_type=kind)["stop"], "incomplete")

    def test_a_wrong_content_type(self):
        """The first byte tells a stream from a body."""
        body = json.dumps({"choices": [{"message": {"content": "x"}}]})
        events = 'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'
        for kind in ("application/json; charset=utf-8", "text/event-stream", "text/plain", ""):
            for text in (body, "\ufeff" + body, "\r\n " + body, events, ": hm\n\n" + events,
                         "\ufeff" + events, "event: x\n" + events):
                with self.subTest(kind=kind, text=text):
                    got = self.stream(text, content_type=kind)
                    self.assertEqual((got["text"], got["stop"]), ("x", "end"))

    def test_a_page(self):
        page = "<!DOCTYPE html>\n<html><head><title>Log in\x1b[2J</title></head>data: x</html>"
        for kind in ("text/html", "application/json", "text/event-stream"):
            got = self.stream(page, content_type=kind)
            self.assertEqual((got["stop"], got["error"]["message"]),
                             ("error", "the server answered with a web page, so base_url may be "
                                       "wrong: Log in[2J"))

    def test_an_error_that_is_text(self):
        got = self.stream("event: error\ndata: no\x1b[1m room\ndata: left " + "\u00e9" * 600 + "\n\n")
        self.assertEqual(got["error"]["message"], "the server reported an error: no[1m room")


if __name__ == "__main__":
    unittest.main()
