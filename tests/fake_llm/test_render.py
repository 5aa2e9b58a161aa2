"""An answer that is rendered and read again, by a small reader for each API, is the answer; so it
is with every quirk, and split however the pieces fall."""
import json
import re
import unittest

from fake_llm import Answer, Call, Failure, Text, Thinking, Usage
from fake_llm.answer import QUIRKS, from_json
from fake_llm.failures import KINDS, body_of, status_of
from fake_llm.render import Ask, render
from fake_llm.sse import pieces

MODELS = {"chat": "gpt-4.1", "responses": "gpt-6.1-sol", "anthropic": "claude-sonnet-5-5",
          "gemini": "gemini-4-argon"}
BODIES = {"chat": {"stream_options": {"include_usage": True}},
          "responses": {"reasoning": {"summary": "auto"}}, "anthropic": {},
          "gemini": {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}}


def sse(data):
    """Events of a stream, by the rules of the standard: (name, data)."""
    text = data.decode("utf-8")
    text = text[1:] if text.startswith("\ufeff") else text
    name, lines = None, []
    for line in re.split(r"\r\n|\n|\r", text):
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if not line:
            if lines:
                yield name, "\n".join(lines)
            name, lines = None, []
        elif field == "event":
            name = value
        elif field == "data":
            lines.append(value)
    if lines:
        yield name, "\n".join(lines)


class Read:
    """What a client makes of a stream."""

    def __init__(self):
        self.text, self.thinking, self.refusal = "", "", None
        self.calls = []  # [id, name, text of the arguments]
        self.stop = self.error = self.usage = None

    def result(self):
        return {"text": self.text, "thinking": self.thinking, "refusal": self.refusal,
                "calls": [(name, json.loads(text) if isinstance(text, str) else text)
                          for _, name, text in self.calls], "stop": self.stop,
                "error": self.error, "usage": self.usage}


def read_chat(data):
    out, slots = Read(), {}
    for _, text in sse(data):
        if text == "[DONE]":
            continue
        chunk = json.loads(text)
        if "error" in chunk:
            out.error = chunk["error"]["message"]
        usage = chunk.get("usage")
        if usage:
            cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
            out.usage = (usage["prompt_tokens"], cached, usage["completion_tokens"])
        for choice in chunk.get("choices") or ():
            read_delta(out, slots, choice.get("delta") or choice.get("message") or {})
            out.stop = choice["finish_reason"] if choice["finish_reason"] is not None else out.stop
    return out


def read_delta(out, slots, delta):
    content = delta.get("content") or ""
    for part in content if isinstance(content, list) else ():
        out.text += part.get("text", "")
        out.thinking += "".join(t["text"] for t in part.get("thinking", ()))
    out.text += content if isinstance(content, str) else ""
    out.thinking += delta.get("reasoning_content") or delta.get("reasoning") or ""
    out.thinking += "".join(d["text"] for d in delta.get("reasoning_details", ()))
    if delta.get("refusal"):
        out.refusal = (out.refusal or "") + delta["refusal"]
    for entry in delta.get("tool_calls", ()):
        read_call(out, slots, entry)


def read_call(out, slots, entry):
    """A new slot for a new id, a new index, or a name where neither tells."""
    function, known = entry["function"], entry.get("id")
    key = known if known in slots else entry.get("index")
    call = slots.get(key) if key is not None else (out.calls[-1] if out.calls else None)
    fresh = known and call and call[0] and known != call[0]
    if call is None or fresh or (key is None and not known and function.get("name")):
        call = [known, None, ""]
        out.calls.append(call)
        slots[entry.get("index")] = call
    if known:
        call[0] = known
        slots[known] = call
    call[1] = function.get("name") or call[1]
    arguments = function.get("arguments")
    if isinstance(arguments, dict) or arguments is None:
        call[2] = arguments if arguments is not None else call[2] or "{}"
    else:
        call[2] += arguments


def read_responses(data):
    out, number = Read(), 0
    for name, text in sse(data):
        if text == "[DONE]":
            continue
        event = json.loads(text)
        kind = event["type"]
        if kind == "brand_new.thing":
            continue
        assert event["sequence_number"] == number, (event, number)
        number += 1
        if kind == "response.output_text.delta":
            out.text += event["delta"]
        elif kind == "response.reasoning_summary_part.added":
            out.thinking += "\n\n" if event["summary_index"] else ""
        elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
            out.thinking += event["delta"]
        elif kind == "response.refusal.delta":
            out.refusal = (out.refusal or "") + event["delta"]
        elif kind == "response.function_call_arguments.delta":
            out.calls[-1][2] += event["delta"]
        elif kind == "response.output_item.added" and event["item"]["type"] == "function_call":
            out.calls.append([event["item"]["call_id"], event["item"]["name"], ""])
        elif kind == "error" and out.error is None:
            out.error = event.get("error", event)["message"]
        elif kind == "response.failed" and out.error is None:
            out.error = event["response"]["error"]["message"]
        elif kind in ("response.completed", "response.incomplete"):
            response = event["response"]
            out.stop = (response["incomplete_details"] or {}).get("reason") or response["status"]
            usage = response["usage"]
            out.usage = usage and (usage["input_tokens"], usage["input_tokens_details"]
                                   ["cached_tokens"], usage["output_tokens"])
    return out


def read_anthropic(data):
    out = Read()
    usage = {}
    for name, text in sse(data):
        if text == "[DONE]":
            continue
        event = json.loads(text)
        kind = event["type"]
        if kind == "message_start":
            usage.update(event["message"]["usage"])
        elif kind == "content_block_start" and event["content_block"]["type"] == "tool_use":
            out.calls.append([event["content_block"]["id"], event["content_block"]["name"], ""])
        elif kind == "content_block_delta":
            delta = event["delta"]
            out.text += delta.get("text", "")
            out.thinking += delta.get("thinking", "")
            if "partial_json" in delta:
                out.calls[-1][2] += delta["partial_json"]
        elif kind == "content_block_stop" and out.calls:
            out.calls[-1][2] = out.calls[-1][2] or "{}"
        elif kind == "message_delta":
            out.stop = event["delta"]["stop_reason"]
            details = event["delta"]["stop_details"]
            out.refusal = details["explanation"] if details else None
            usage.update({k: v for k, v in event["usage"].items() if v is not None})
        elif kind == "message_stop":
            out.usage = (usage["input_tokens"] + usage["cache_read_input_tokens"]
                         + usage["cache_creation_input_tokens"],
                         usage["cache_read_input_tokens"], usage["output_tokens"])
        elif kind == "error":
            out.error = event["error"]["message"]
    return out


def read_gemini(data, chunks=None):
    out = Read()
    for chunk in chunks or (json.loads(text) for _, text in sse(data) if text != "[DONE]"):
        chunk = chunk[0] if isinstance(chunk, list) else chunk
        out.error = chunk["error"]["message"] if "error" in chunk else out.error
        out.stop = chunk.get("promptFeedback", {}).get("blockReason", out.stop)
        usage = chunk.get("usageMetadata")
        if usage and "candidatesTokenCount" in usage:
            out.usage = (usage["promptTokenCount"], usage["cachedContentTokenCount"],
                         usage["candidatesTokenCount"] + usage["thoughtsTokenCount"])
        for candidate in chunk.get("candidates", ()):
            out.stop = candidate.get("finishReason", out.stop)
            for part in candidate.get("content", {}).get("parts", ()):
                if "functionCall" in part:
                    call = part["functionCall"]
                    out.calls.append([call.get("id"), call["name"], call["args"]])
                elif part.get("thought"):
                    out.thinking += part["text"]
                else:
                    out.text += part["text"]
    return out


READERS = {"chat": read_chat, "responses": read_responses, "anthropic": read_anthropic,
           "gemini": read_gemini}
USAGE = Usage(input=1000, cached=600, cache_write=100, output=50, reasoning=10)
STOPS = {"end": ("stop", "completed", "end_turn", "STOP"),
         "tool_use": ("tool_calls", "completed", "tool_use", "STOP"),
         "max_tokens": ("length", "max_output_tokens", "max_tokens", "MAX_TOKENS"),
         "context_full": ("length", "max_output_tokens", "model_context_window_exceeded",
                          "MAX_TOKENS"),
         "filtered": ("content_filter", "content_filter", "content_filter", "SAFETY"),
         "bad_tool_call": ("stop", "completed", "end_turn", "MALFORMED_FUNCTION_CALL"),
         "incomplete": (None,) * 4}


class RenderTest(unittest.TestCase):
    maxDiff = None

    def stream(self, format, answer, dialect="openai", **more):
        ask = Ask(format, {**BODIES[format], **more}, MODELS[format], dialect=dialect)
        return b"".join(render(answer, ask).body(ask, answer.quirks))

    def read(self, format, answer, **more):
        return READERS[format](self.stream(format, answer, **more)).result()

    def assert_reads(self, format, answer, text="", thinking="", calls=(), **more):
        got = self.read(format, answer, **more)
        self.assertEqual((got["text"], got["thinking"], got["calls"], got["error"]),
                         (text, thinking, list(calls), None))
        return got


TEXT = "Grüß dich 👋\nand \"more\" \\ of it"
ARGS = {"path": "ü/*.c", "list": [1, None, {"x": "\n"}]}
FULL = {"text": TEXT, "thinking": "Hm.", "calls": [("read", ARGS), ("pwd", {})]}


def full(**more):
    return Answer(TEXT, thinking="Hm.", calls=[Call("read", ARGS), Call("pwd")], usage=USAGE,
                  **more)


class RoundTrip(RenderTest):
    def test_everything(self):
        for format in READERS:
            for fragments in (1, 2, 7, 1000):
                with self.subTest(format, fragments=fragments):
                    expected = {**FULL, "thinking": ""} if format == "chat" else FULL
                    got = self.assert_reads(format, full(fragments=fragments), **expected)
                    self.assertEqual(got["usage"], (1000, 600, 50))

    def test_stops(self):
        for stop, names in STOPS.items():
            for format, name in zip(READERS, names):
                with self.subTest(format, stop=stop):
                    answer = Answer("Part.", stop=stop)
                    self.assertEqual(self.assert_reads(format, answer, "Part.")["stop"], name)

    def test_blocked_prompt(self):
        got = self.read("gemini", Answer(stop="filtered"))
        self.assertEqual((got["stop"], got["text"]), ("PROHIBITED_CONTENT", ""))

    def test_refusal(self):
        for format in READERS:
            got = self.read(format, Answer(refusal="I won't."))
            self.assertEqual(got["text" if format == "gemini" else "refusal"], "I won't.")

    def test_order_of_parts(self):
        answer = Answer(parts=[Text("a"), Call("x"), Thinking("hm"), Text("b"), Call("y")],
                        fragments=1)
        kinds = {"responses": ["message", "function_call", "reasoning", "message", "function_call"],
                 "anthropic": ["text", "tool_use", "thinking", "text", "tool_use"]}
        for format, expected in kinds.items():
            content = render(answer, Ask(format, {}, MODELS[format])).content
            self.assertEqual([part["type"] for part in content], expected)
        data = self.stream("gemini", answer)
        order = [key for _, text in sse(data) for part in
                 json.loads(text)["candidates"][0]["content"]["parts"]
                 for key in part if key in ("text", "functionCall") and part[key] != ""]
        self.assertEqual(order, ["text", "functionCall", "text", "text", "functionCall"])

    def test_broken_arguments(self):
        answer = Answer(calls=[Call("write", raw='{"text":"ab')], stop="max_tokens")
        for format in ("chat", "responses", "anthropic"):
            read = READERS[format](self.stream(format, answer))
            self.assertEqual(read.calls[0][2], '{"text":"ab')

    def test_not_streamed(self):
        for format in READERS:
            ask = Ask(format, BODIES[format], MODELS[format], stream=False)
            whole = json.loads(render(full(), ask).body(ask))
            self.assertIn(json.dumps(TEXT), json.dumps(whole))
        self.assertEqual(whole["candidates"][0]["finishReason"], "STOP")

    def test_array_of_gemini(self):
        ask = Ask("gemini", BODIES["gemini"], MODELS["gemini"], array=True)
        chunks = json.loads(b"".join(render(full(), ask).body(ask)))
        got = read_gemini(None, chunks).result()
        self.assertEqual({k: got[k] for k in FULL}, FULL)

    def test_errors_in_the_stream(self):
        for format in READERS:
            answer = full(error=Failure("overloaded", "Not now.", after=3))
            got = self.read(format, answer)
            self.assertEqual((got["error"], got["stop"]), ("Not now.", None))
            self.assertEqual(len(list(sse(self.stream(format, answer)))), 4)

    def test_what_was_not_asked_for(self):
        def data(format, **body):
            ask = Ask(format, body, MODELS[format])
            return b"".join(render(full(), ask).body(ask)).decode()
        self.assertNotIn('"usage"', data("chat"))
        self.assertIn("obfuscation", data("chat"))
        self.assertNotIn("obfuscation", data("chat", stream_options={"include_obfuscation": False}))
        self.assertNotIn("Hm.", data("responses") + data("gemini"))
        omitted = data("anthropic", thinking={"type": "adaptive", "display": "omitted"})
        self.assertNotIn("Hm.", omitted)
        self.assertIn("signature_delta", omitted)

    def test_summary_has_parts(self):
        answer = Answer("x", thinking="First.\n\nSecond.")
        self.assert_reads("responses", answer, "x", "First.\n\nSecond.")
        self.assertIn('"summary_index":1', self.stream("responses", answer).decode())


class Quirks(RenderTest):
    STREAM = ("crlf cr no_space bom comments ids split_data no_final_blank done ascii "
              "unknown_events").split()

    def test_of_any_stream(self):
        for format in READERS:
            for quirk in self.STREAM:
                with self.subTest(format, quirk=quirk):
                    expected = {**FULL, "thinking": ""} if format == "chat" else FULL
                    self.assert_reads(format, full(quirks={quirk}), **expected)
                    if (format, quirk) != ("chat", "done"):  # which has it anyway
                        self.assertNotEqual(self.stream(format, full(quirks={quirk})),
                                            self.stream(format, full()))

    # what must be in the stream of a quirk, and what must not
    CHAT = {
        "no_index": ("", '"tool_calls":[{"index"'), "index_zero": ('"index":0', '"index":1'),
        "no_ids": ("", '"id":"call_'), "empty_ids": ('"id":""', '"id":"call_'),
        "repeat_ids": ('"name":"read","arguments":"{', ""),
        "whole_calls": ('"arguments":"{}"', '"arguments":""'),
        "object_arguments": ('"arguments":{', ""), "null_arguments": ('"arguments":null', ""),
        "arguments_first": ('"function":{"name":"read"}}', ""), "interleave": ("", ""),
        "reasoning_content": ('"reasoning_content":"H', ""), "reasoning": ('"reasoning":"H', ""),
        "reasoning_details": ('"reasoning_details":[{', ""), "content_array": ('"content":[{', ""),
        "extra_content": ('"thought_signature":', ""), "no_role": ("", '"role"'),
        "message_field": ('"message":{', '"delta"'), "null_choices": ('"choices":null', ""),
        "finish_stop": ('"finish_reason":"stop"', '"tool_calls",'),
        "finish_empty": ('"finish_reason":""', ""), "repeat_finish": ("", ""),
        "finish_everywhere": ("", '"finish_reason":null'),
        "no_done": ("", "[DONE]"), "no_usage": ("", '"usage"'),
        "usage_with_finish": ("", '"choices":[]'), "usage_every_chunk": ("", '"usage":null'),
    }
    THINKING = {"reasoning_content", "reasoning", "reasoning_details", "content_array"}

    def test_of_chat(self):
        for quirk, (there, absent) in self.CHAT.items():
            with self.subTest(quirk):
                whole = {"whole_calls"} if quirk in ("no_index", "index_zero") else set()
                answer = full(quirks={quirk} | whole)
                data = self.stream("chat", answer).decode()
                self.assertNotEqual(data, self.stream("chat", full()).decode())
                self.assertIn(there, data)
                if absent:
                    self.assertNotIn(absent, data)
                thinking = "Hm." if quirk in self.THINKING else ""
                self.assert_reads("chat", answer, TEXT, thinking, FULL["calls"])

    def test_interleaved_fragments_share_chunks(self):
        both = [text for _, text in sse(self.stream("chat", full(quirks={"interleave"})))
                if '"index":0,"function"' in text and '"index":1,"function"' in text]
        self.assertTrue(both)

    def test_think_tags(self):
        self.assert_reads("chat", full(quirks={"think_tags"}), f"<think>Hm.</think>{TEXT}", "",
                          FULL["calls"])

    def test_error_with_choices(self):
        answer = full(error=Failure("server", "Upstream"), quirks={"error_with_choices"})
        data = self.stream("chat", answer).decode()
        self.assertIn('"finish_reason":"error"', data)
        self.assertTrue(data.endswith("data: [DONE]\n\n"))

    def test_errors_of_responses(self):
        for quirk, there, absent in [
                ("flat_error", '"code":"server_is_overloaded","message":"No', '"error":{"'),
                ("failed", "response.failed", '"type":"error"'),
                ("error_then_failed", "The response failed.", "")]:
            answer = full(error=Failure("overloaded", "Not now."), quirks={quirk})
            data = self.stream("responses", answer).decode()
            self.assertIn(there, data)
            if absent:
                self.assertNotIn(absent, data)
            self.assertEqual(self.read("responses", answer)["error"], "Not now.")

    def test_of_the_others(self):
        for format, quirk, there, absent in [
                ("responses", "no_deltas", "output_item.done", ".delta"),
                ("responses", "empty_output", '"output":[]', '"output":[{'),
                ("responses", "reasoning_text", "reasoning_text.delta", "summary_text"),
                ("responses", "no_usage", '"usage":null', '"usage":{'),
                ("responses", "no_events", "data: ", "event: "),
                ("anthropic", "no_events", "data: ", "event: "),
                ("anthropic", "pings", '"type":"ping"', ""),
                ("anthropic", "null_usage", '"input_tokens":null', ""),
                ("anthropic", "no_usage", '"usage":{}', ""),
                ("anthropic", "no_empty_delta", "input_json_delta", '"partial_json":""'),
                ("gemini", "no_ids", "functionCall", '"id"'),
                ("gemini", "no_parts", '"content":{"role":"model"}', ""),
                ("gemini", "no_content", '[{"finishReason"', ""),
                ("gemini", "finish_everywhere", '"finishReason"', '}],"role":"model"},"index"'),
                ("gemini", "no_usage", "candidates", "usageMetadata")]:
            with self.subTest(format, quirk=quirk):
                data = self.stream(format, full(quirks={quirk})).decode()
                self.assertIn(there, data)
                if absent:
                    self.assertNotIn(absent, data)
                if quirk != "no_deltas":
                    self.assert_reads(format, full(quirks={quirk}), **FULL)

    def test_signature_of_a_text(self):
        last = self.stream("gemini", Answer("Yes.", thinking="Hm.", quirks={"signature_at_end"}))
        self.assertIn('{"text":"","thoughtSignature":', last.decode().split("data: ")[-1])
        error = Answer("x", error=Failure(), quirks={"error_in_array"})
        self.assertIn('data: [{"error"', self.stream("gemini", error).decode())

    def test_all_are_tested(self):
        named = set(self.STREAM) | set(self.CHAT)
        with open(__file__, encoding="utf-8") as f:
            source = f.read()
        self.assertEqual([q for q in QUIRKS if q not in named and f'"{q}"' not in source], [])

    def test_unknown_ones_are_refused(self):
        self.assertRaises(ValueError, Answer, quirks={"crfl"})
        self.assertRaises(ValueError, Answer, stop="ended")


class Dialects(RenderTest):
    def test_thinking(self):
        for dialect, field in (("deepseek", '"reasoning_content":"H'), ("mistral", '"thinking":[{'),
                               ("plain", '"reasoning_content":"H')):
            data = self.stream("chat", full(), dialect).decode()
            self.assertIn(field, data)
            self.assertNotIn("obfuscation", data)

    def test_mistral(self):
        data = self.stream("chat", full(), "mistral", stream_options=None).decode()
        self.assertRegex(data, r'"id":"[A-Za-z0-9]{9}"')
        self.assertIn('"usage":{', data)
        self.assertIn("prompt_cache_hit_tokens", self.stream("chat", full(), "deepseek").decode())


class Failures(unittest.TestCase):
    def test_shapes(self):
        for kind in KINDS:
            for format in READERS:
                body = body_of(Failure(kind, "Not now.", headers={"retry-after": "2"}), format)
                self.assertEqual(body["error"]["message"], "Not now.")
                self.assertGreaterEqual(status_of(Failure(kind), format), 400)
                if format == "gemini":
                    self.assertIn({"@type": "type.googleapis.com/google.rpc.RetryInfo",
                                   "retryDelay": "2s"}, body["error"]["details"])
                if format == "anthropic":
                    self.assertEqual(body["type"], "error")
        flat = body_of(Failure("server", "x"), "chat", "mistral")
        self.assertEqual((flat["object"], flat["message"]), ("error", "x"))
        self.assertEqual(body_of(Failure(param="tools"), "chat")["error"]["param"], "tools")
        self.assertRaises(ValueError, body_of, Failure("no such kind"), "chat")


class Pieces(unittest.TestCase):
    def test_they_make_the_whole(self):
        for text in ("", "a", "abc", "abcdefgh"):
            for count in range(1, 12):
                made = pieces(text, count)
                self.assertEqual("".join(made), text)
                self.assertEqual(len(made), max(1, min(count, len(text))))


class JsonForm(unittest.TestCase):
    def test_answers(self):
        made = from_json({"thinking": "hm", "text": "x", "calls": [{"name": "a", "args": {"b": 1}}],
                          "usage": {"input": 5}, "quirks": ["crlf"], "wire": {"chunk": 1},
                          "error": {"kind": "server"}})
        self.assertEqual(made.parts, [Thinking("hm"), Text("x"), Call("a", {"b": 1})])
        self.assertEqual((made.usage.input, made.wire.chunk, made.error.kind), (5, 1, "server"))
        parts = from_json({"parts": [{"text": {"text": "a"}}, {"call": {"name": "b"}}]}).parts
        self.assertEqual(parts, [Text("a"), Call("b")])
        self.assertEqual(from_json({"failure": {"kind": "quota"}}), Failure("quota"))
        self.assertEqual(from_json({"raw": {"base64": "/w==", "status": 502}}).body, b"\xff")
        self.assertRaises(ValueError, from_json, {"txt": "x"})


if __name__ == "__main__":
    unittest.main()
