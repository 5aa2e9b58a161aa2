"""Streams of OpenAI's Responses API and of proxies for it."""
import json
import unittest

from support_provider import ProviderTest, stream

TEXT = "response.output_text"
ARGUMENTS = "response.function_call_arguments"
SUMMARY = "response.reasoning_summary_text"
USAGE = {"input_tokens": 5, "output_tokens": 6}


def event(type, **more):
    return {"type": type, "sequence_number": 0, **more}


def added(index, item):
    return event("response.output_item.added", output_index=index, item=item)


def done(index, item):
    return event("response.output_item.done", output_index=index, item=item)


def completed(**response):
    return event("response.completed", response={"id": "r", "status": "completed", **response})


def message(*texts, id="msg_1", **more):
    parts = [{"type": "output_text", "text": t, "annotations": []} for t in texts]
    return {"type": "message", "id": id, "role": "assistant", "content": parts, **more}


def call(arguments="", id="fc_1", call_id="call_1", name="read", **more):
    return {"type": "function_call", "id": id, "call_id": call_id, "name": name,
            "arguments": arguments, **more}


def reasoning(*texts, id="rs_1", encrypted="gAAA", **more):
    summary = [{"type": "summary_text", "text": t} for t in texts]
    return {"type": "reasoning", "id": id, "summary": summary,
            **({"encrypted_content": encrypted} if encrypted else {}), **more}


class ResponsesTest(ProviderTest):
    WIRE = "responses"

    def calls(self, got):
        return [(c["id"], c["name"], c["args"]) for c in got["tool_calls"]]


class Text(ResponsesTest):
    def test_two_messages_are_two_texts(self):
        got = self.stream([added(0, message()), event(TEXT + ".delta", output_index=0,
                                                      content_index=0, delta="One."),
                           done(0, message("One.")), added(1, message(id="msg_2")),
                           event(TEXT + ".delta", output_index=1, content_index=0, delta="Two."),
                           done(1, message("Two.", id="msg_2")), completed()])
        self.assertEqual((got["text"], got["order"], got["stop"]), ("One.Two.", "tt", "end"))

    def test_whole_texts_count_only_without_deltas(self):
        delta = event(TEXT + ".delta", output_index=0, content_index=0, delta="Hi")
        whole = event(TEXT + ".done", output_index=0, content_index=0, text="Hi")
        for events in ([delta, whole, done(0, message("Hi"))], [whole, done(0, message("Hi"))],
                       [delta, whole], [done(0, message("Hi"))], [whole]):
            with self.subTest(events=events):
                got = self.stream([added(0, message()), *events, completed()])
                self.assertEqual((got["text"], got["order"]), ("Hi", "t"))

    def test_parts_that_were_not_streamed(self):
        got = self.stream([added(0, message()), event(TEXT + ".delta", output_index=0,
                                                      content_index=0, delta="A"),
                           done(0, message("A", "B")), completed()])
        self.assertEqual(got["text"], "AB")

    def test_output_of_the_end_when_no_item_came(self):
        got = self.stream([completed(output=[reasoning("Hm"), message("Hi"), call("{}")])])
        self.assertEqual((got["text"], got["thinking"], got["stop"]), ("Hi", "Hm", "tool_use"))
        self.assertEqual(len(got["replay"]["responses"]), 3)

    def test_output_of_the_end_when_items_came(self):
        for output in ([], [message("Hi")], None):
            got = self.stream([done(0, message("Hi")), completed(output=output)])
            self.assertEqual((got["text"], len(got["replay"]["responses"])), ("Hi", 1))

    def test_an_end_of_nothing(self):
        for item in (None, "text", 7, []):
            with self.subTest(item=item):
                got = self.stream([done(0, message("Hi")), done(1, item), done(2, call("{}")),
                                   completed()])
                self.assertEqual((got["text"], self.calls(got)), ("Hi", [("call_1", "read", {})]))
                self.assertEqual(got["replay"]["responses"], [message("Hi"), call("{}")])

    def test_items_that_share_an_index(self):
        first, second = call('{"a":1}'), call('{"b":2}', id="fc_2", call_id="call_2", name="glob")
        both = [("call_1", "read", {"a": 1}), ("call_2", "glob", {"b": 2})]
        empty = [{**item, "arguments": ""} for item in (first, second)]

        def delta(item):
            return event(ARGUMENTS + ".delta", output_index=0, item_id=item["id"],
                         delta=item["arguments"])
        for events in ([done(0, first), done(0, second)],
                       [added(0, empty[0]), done(0, first), added(0, empty[1]), done(0, second)],
                       [added(0, empty[0]), added(0, empty[1]), delta(second), delta(first),
                        done(0, first), done(0, second)],
                       [delta(first), done(0, first), delta(second), done(0, second)],
                       [done(0, {**item, "id": None}) for item in (first, second)]):
            got = self.stream([*events, completed()])
            self.assertEqual(self.calls(got), both)
        got = self.stream([done(0, message("Let me look.")), done(0, first), completed()])
        self.assertEqual((got["text"], self.calls(got)), ("Let me look.", both[:1]))

    def test_one_item_whose_id_changes_from_event_to_event(self):
        got = self.stream([added(0, call(id="a")), event(ARGUMENTS + ".delta", output_index=0,
                                                         item_id="b", delta='{"a":1}'),
                           done(0, call('{"a":1}', id="c")), completed()])
        self.assertEqual(self.calls(got), [("call_1", "read", {"a": 1})])

    def test_items_without_an_index(self):
        got = self.stream([
            event("response.output_item.added", item=message()),
            event(TEXT + ".delta", item_id="msg_1", delta="Hi"),
            event("response.output_item.added", item=call()),
            event(ARGUMENTS + ".delta", item_id="fc_1", delta="{}"),
            event(TEXT + ".delta", item_id="msg_1", delta="!"),
            event("response.output_item.done", item=message("Hi!")),
            event("response.output_item.done", item=call("{}")), completed()])
        self.assertEqual((got["text"], self.calls(got)), ("Hi!", [("call_1", "read", {})]))
        self.assertEqual(got["replay"]["responses"], [message("Hi!"), call("{}")])

    def test_output_of_the_end_is_not_shown_twice(self):
        nameless = message("Hi", id=None)
        for events in ([event("response.output_item.added", item=message()),
                        event(TEXT + ".delta", item_id="msg_1", delta="Hi"),
                        completed(output=[message("Hi")])],
                       [event("response.output_item.done", item=nameless),
                        completed(output=[nameless])]):
            with self.subTest(events=events):
                self.assertEqual(self.stream(events)["text"], "Hi")

    def test_refusal(self):
        part = {"type": "refusal", "refusal": "No."}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}
        place = {"output_index": 0, "content_index": 0}
        for events in ([event("response.refusal.delta", **place, delta="No."), done(0, item)],
                       [event("response.refusal.done", **place, refusal="No.")], [done(0, item)]):
            with self.subTest(events=events):
                got = self.stream([*events, completed()])
                self.assertEqual((got["text"], got["stop"]), ("No.", "refusal"))


class Calls(ResponsesTest):
    def test_interleaved(self):
        got = self.stream([
            added(0, call(id="fc_1", call_id="a")), added(1, call(id="fc_2", call_id="b")),
            event(ARGUMENTS + ".delta", output_index=1, delta='{"p":'),
            event(ARGUMENTS + ".delta", output_index=0, delta='{"q":1}'),
            event(ARGUMENTS + ".delta", output_index=1, delta="2}"), completed(usage=USAGE)])
        self.assertEqual(self.calls(got), [("a", "read", {"q": 1}), ("b", "read", {"p": 2})])
        self.assertEqual((got["stop"], got["usage"]), ("tool_use", {"in": 5, "out": 6}))

    def test_the_final_form_is_right(self):
        got = self.stream([added(0, call(name="", call_id="")),
                           event(ARGUMENTS + ".delta", output_index=0, delta='{"a":'),
                           event(ARGUMENTS + ".done", output_index=0, arguments='{"a":1}'),
                           done(0, call('{"a":2}')), completed()])
        self.assertEqual(self.calls(got), [("call_1", "read", {"a": 2})])

    def test_only_the_final_form(self):
        got = self.stream([done(0, call('{"a":2}')), completed()])
        self.assertEqual(self.calls(got), [("call_1", "read", {"a": 2})])

    def test_without_an_opening(self):
        got = self.stream([event(ARGUMENTS + ".delta", output_index=0, delta='{"a":1}'),
                           done(0, call('{"a":1}')), completed()])
        self.assertEqual(self.calls(got), [("call_1", "read", {"a": 1})])

    def test_no_arguments(self):
        got = self.stream([added(0, call()), done(0, call()), completed()])
        self.assertEqual(self.calls(got), [("call_1", "read", {})])

    def test_arguments_as_an_object(self):
        """They are not dropped: a call with other arguments than the model's must not run."""
        for events in ([done(0, call({"a": 2}))],
                       [added(0, call()),
                        event(ARGUMENTS + ".done", output_index=0, arguments={"a": 2}),
                        done(0, call(None))]):
            got = self.stream([*events, completed()])
            self.assertEqual(self.calls(got), [("call_1", "read", {"a": 2})])
            self.assertIsNone(got["replay"])

    def test_custom_tools_are_passed_over(self):
        got = self.stream([added(0, {"type": "custom_tool_call", "id": "ctc_1", "input": ""}),
                           event("response.custom_tool_call_input.delta", output_index=0,
                                 delta="x"), completed()])
        self.assertEqual((got["tool_calls"], got["stop"]), ([], "end"))

    def test_cut_by_the_limit(self):
        got = self.stream([
            added(0, call(id="fc_1", call_id="a")),
            done(0, call('{"p":1}', id="fc_1", call_id="a")),
            added(1, call(id="fc_2", call_id="b")),
            event(ARGUMENTS + ".delta", output_index=1, delta='{"p":'),
            done(1, call('{"p":', id="fc_2", call_id="b", status="incomplete")),
            event("response.incomplete", response={
                "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}})])
        self.assertEqual((self.calls(got), got["stop"]), ([("a", "read", {"p": 1})], "max_tokens"))
        self.assertIsNone(got["replay"])

    def test_too_many_items_are_an_error_and_no_work(self):
        got = stream("whole", "responses",
                     [added(n, message(id=f"m{n}")) for n in range(4097)] + [completed()])
        self.assertEqual(got["stop"], "error")


class Reasoning(ResponsesTest):
    def test_parts_are_paragraphs(self):
        got = self.stream([
            added(0, reasoning()),
            event("response.reasoning_summary_part.added", output_index=0, summary_index=0,
                  part={}),
            event(SUMMARY + ".delta", output_index=0, summary_index=0, delta="One"),
            event(SUMMARY + ".delta", output_index=0, summary_index=0, delta="."),
            event(SUMMARY + ".done", output_index=0, summary_index=0, text="One."),
            event(SUMMARY + ".delta", output_index=0, summary_index=1, delta="Two."),
            done(0, reasoning("One.", "Two.", "Three.")), completed()])
        self.assertEqual(got["thinking"], "One.\n\nTwo.\n\nThree.")

    def test_raw(self):
        got = self.stream([
            added(0, reasoning()),
            event("response.reasoning_text.delta", output_index=0, content_index=0, delta="Hm"),
            event("response.reasoning_text.done", output_index=0, content_index=0, text="Hm"),
            completed()])
        self.assertEqual(got["thinking"], "Hm")

    def test_goes_back_with_what_it_led_to(self):
        items = [reasoning("a"), message("Hi", phase="commentary"), call("{}", status="completed")]
        got = self.stream([*(done(n, i) for n, i in enumerate(items)), completed()])
        self.assertEqual(got["replay"], {"responses": items})

    def test_in_the_order_of_the_output(self):
        got = self.stream([added(1, message()), added(0, reasoning()), done(1, message("Hi")),
                           done(0, reasoning("a")), completed()])
        self.assertEqual([i["type"] for i in got["replay"]["responses"]], ["reasoning", "message"])

    def test_bytes_of_items_are_kept(self):
        item = '{"type":"message" , "id":"msg_1","role":"assistant","n":1.50,' \
               '"content":[{"type":"output_text","text":"\\u0041\\/"}]}'
        data = 'data: {"type":"response.output_item.done","output_index":0,"item":' + item + \
               '}\n\ndata: {"type":"response.completed","response":{}}\n\n'
        self.assertEqual(self.stream(data)["replay"]["responses"], [json.loads(item)])

    def test_a_loose_end_stays_behind(self):
        got = self.stream([done(0, reasoning("a")), done(1, message("Hi")),
                           done(2, reasoning("b", id="rs_2")), completed()])
        self.assertEqual([i["type"] for i in got["replay"]["responses"]], ["reasoning", "message"])
        self.assertIsNone(self.stream([done(0, reasoning("a")), completed()])["replay"])

    def test_without_its_content_nothing_goes_back(self):
        items = [reasoning("a", encrypted=None), message("Hi")]
        got = self.stream([*(done(n, i) for n, i in enumerate(items)), completed()])
        self.assertIsNone(got["replay"])

    def test_open_models_send_it_in_the_clear(self):
        items = [reasoning(encrypted=None, content=[{"type": "reasoning_text", "text": "Hm"}]),
                 message("Hi")]
        events = [*(done(n, i) for n, i in enumerate(items)), completed()]
        self.assertEqual(self.stream(events)["replay"], {"responses": items})
        self.assertIsNone(self.stream(events, provider="openai")["replay"])

    def test_a_call_without_an_id_of_its_own(self):
        got = self.stream([done(0, reasoning("a")), done(1, call("{}", call_id="")), completed()])
        self.assertEqual((got["tool_calls"][0]["id"], got["replay"]), ("@1", None))

    def test_a_call_without_arguments_is_told_to_have_had_none(self):
        got = self.stream([done(0, reasoning("a")), done(1, call("")), completed()])
        self.assertEqual((got["tool_calls"][0]["args"], got["replay"]), ({}, None))

    def test_an_item_that_was_not_closed(self):
        got = self.stream([done(0, reasoning("a")), added(1, call("{}")), completed()])
        self.assertEqual((got["stop"], got["replay"]), ("tool_use", None))

    def test_lone_surrogates_do_not_go_back(self):
        data = 'data: {"type":"response.output_item.done","output_index":0,"item":{' \
               '"type":"message","id":"msg_1","role":"assistant","content":[' \
               '{"type":"output_text","text":"\\ud800 \\ud83d\\ude00 \\\\ud800 \\udc00"}]}}\n\n' \
               'data: {"type":"response.completed"}\n\n'
        text = self.stream(data)["replay"]["responses"][0]["content"][0]["text"]
        self.assertEqual(text, "\ufffd \U0001f600 \\ud800 \ufffd")


class Ends(ResponsesTest):
    def test_reasons(self):
        for reason, stop in [("max_output_tokens", "max_tokens"), ("content_filter", "filtered"),
                             ("max_messages", "cut"), ("steered", "cut"), ("new", "cut")]:
            with self.subTest(reason=reason):
                got = self.stream([done(0, message("Hi")), event("response.incomplete", response={
                    "incomplete_details": {"reason": reason}, "usage": USAGE})])
                self.assertEqual((got["stop"], got["usage"]), (stop, {"in": 5, "out": 6}))

    def test_incomplete_inside_a_completed_event(self):
        for more in ({}, {"incomplete_details": None}, {"incomplete_details": {}}):
            got = self.stream([done(0, message("Hi")), completed(status="incomplete", **more)])
            self.assertEqual((got["stop"], got["text"]), ("cut", "Hi"))
        got = self.stream([done(0, message("Hi", status="incomplete")), completed()])
        self.assertEqual(got["stop"], "cut")

    def test_a_cut_call_is_run_only_when_it_is_whole(self):
        for arguments, calls in (('{"a":1}', 1), ('{"a":', 0)):
            got = self.stream([done(0, call(arguments, status="incomplete")),
                               completed(status="incomplete")])
            self.assertEqual((got["stop"], len(got["tool_calls"])), ("cut", calls))

    def test_incomplete_without_an_end(self):
        got = self.stream([done(0, message("Hi")), done(1, call("{}"))])
        self.assertEqual((got["stop"], got["text"], got["tool_calls"]), ("incomplete", "Hi", []))

    def test_what_follows_the_end_is_nothing(self):
        got = self.stream([done(0, message("Hi")), completed(),
                           event(TEXT + ".delta", output_index=0, content_index=0, delta="x")])
        self.assertEqual(got["text"], "Hi")

    def test_tolerates_done(self):
        got = self.stream([done(0, message("Hi")), completed(), "[DONE]"])
        self.assertEqual(got["stop"], "end")

    def test_done_is_no_end(self):
        """Proxies write it after a stream that was cut off, too."""
        items = [done(0, message("Hi")), done(1, call("{}"))]
        for more in ({}, {"broken": 1}):
            got = self.stream([*items, "[DONE]"], **more)
            self.assertEqual((got["text"], got["stop"], got["tool_calls"]),
                             ("Hi", "incomplete", []))

    def test_failed(self):
        got = self.stream([event("response.failed", response={
            "status": "failed", "error": {"code": "server_error", "message": "boom"}})])
        self.assertEqual((got["stop"], got["error"]),
                         ("error", {"code": "server_error", "message": "boom"}))
        got = self.stream([event("response.failed", response={"error": None})])
        self.assertEqual(got["stop"], "error")
        self.assertTrue(got["error"]["message"])

    def test_error_without_a_type(self):
        got = self.stream(['{"error":{"message":"m","code":"c"}}'])
        self.assertEqual((got["stop"], got["error"]), ("error", {"code": "c", "message": "m"}))

    def test_types_nobody_knows(self):
        got = self.stream([event("response.created", response={"id": "r"}),
                           event("response.web_search_call.searching", output_index=7),
                           event("response.output_text.annotation.added", output_index=0),
                           event("response.content_part.added", output_index=0, part={}),
                           {"type": 5}, [1], done(0, message("Hi")), completed()])
        self.assertEqual((got["text"], got["order"]), ("Hi", "t"))


class PlainBody(ResponsesTest):
    def body(self, **value):
        return self.stream(json.dumps(value), content_type="application/json")

    def test_response(self):
        items = [reasoning("Hm"), message("Hi"), call('{"a":1}')]
        got = self.body(object="response", status="completed", output=items, usage=USAGE,
                        error=None)
        self.assertEqual((got["text"], got["thinking"], self.calls(got), got["stop"]),
                         ("Hi", "Hm", [("call_1", "read", {"a": 1})], "tool_use"))
        self.assertEqual((got["usage"], got["replay"]), ({"in": 5, "out": 6}, {"responses": items}))

    def test_incomplete(self):
        got = self.body(object="response", status="incomplete", output=[message("Hi")],
                        incomplete_details={"reason": "max_output_tokens"})
        self.assertEqual((got["text"], got["stop"]), ("Hi", "max_tokens"))

    def test_failed(self):
        got = self.body(object="response", status="failed", output=[],
                        error={"code": "server_error", "message": "boom"})
        self.assertEqual((got["stop"], got["error"]["message"]), ("error", "boom"))

    def test_error(self):
        got = self.body(error={"code": "invalid_api_key", "message": "bad key"})
        self.assertEqual((got["stop"], got["error"]["code"]), ("error", "invalid_api_key"))


if __name__ == "__main__":
    unittest.main()
