"""Gemini's generateContent: requests, streams, and the data that goes back unchanged."""
import json
import unittest

import support_provider  # noqa: F401: puts the tests' folder onto the path
from fake_llm.checks import Problems
from fake_llm.schemas import check_gemini_json
from support_provider import (ProviderTest, assistant, call, request, result, stream, user)

SKIP = "skip_thought_signature_validator"
OPEN = {"type": "object", "properties": {}}


def target(model="gemini-3.8-flash", **more):
    return {"wire": "google", "provider": "google", "model": model, **more}


def own(message):
    """A message with an id that Google gave."""
    message["data"]["provider"] = "google"
    return message


def step(parts, messages, calls=(), model="google/gemini-3.8-flash"):
    return {"model": model, "step": messages, "calls": list(calls), "google": {"google": parts}}


class Request(ProviderTest):
    def body(self, messages=None, model="gemini-3.8-flash", target_more=None, **more):
        return request(target(model, **(target_more or {})), messages or [user("hi")],
                       **more)["body"]

    def test_where_to(self):
        for model, path in [("gemini-4-argon", "gemini-4-argon"),
                            ("models/gemini-4-argon", "gemini-4-argon"),
                            ("a b/c?d#\u00e4", "a%20b%2Fc%3Fd%23%C3%A4")]:
            sent = request(target(model, base_url="http://127.0.0.1:9", api_key="k1"), [user("hi")])
            self.assertEqual(sent["url"], f"http://127.0.0.1:9/v1beta/models/{path}"
                             ":streamGenerateContent?alt=sse")
            self.assertEqual(sent["headers"], ["content-type: application/json",
                                               "x-goog-api-key: k1"])
        self.assertEqual(request(target(), [user("hi")])["headers"],
                         ["content-type: application/json"])

    def test_the_least(self):
        self.assertEqual(self.body(), {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]})

    def test_head(self):
        body = self.body(system="Be brief.", tools=[{"name": "pwd", "parameters": OPEN}],
                         max_output_tokens=100, continuation="tok\"en")
        self.assertEqual(body, {
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [{"functionDeclarations": [{"name": "pwd"}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
            "generationConfig": {"maxOutputTokens": 100}, "continuationToken": "tok\"en",
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}]})
        self.assertNotIn("systemInstruction", self.body(system=""))

    def test_forbidden_tools_stay(self):
        tools = [{"name": "pwd", "parameters": OPEN}]
        body = self.body(tools=tools, forbid_tools=True)
        self.assertEqual(body["toolConfig"], {"functionCallingConfig": {"mode": "NONE"}})
        self.assertEqual(len(body["tools"]), 1)
        self.assertNotIn("toolConfig",
                         self.body(tools=tools, forbid_tools=True, refused=["tool_choice"]))
        self.assertNotIn("toolConfig", self.body(forbid_tools=True))

    def test_thinking(self):
        on = {"includeThoughts": True}
        for thinking, more, expected in [
                ("unknown", {"effort": "high"}, None), ("none", {"effort": "high"}, None),
                ("level", {}, on), ("budget", {}, on),
                ("level", {"effort": "medium"}, {**on, "thinkingLevel": "MEDIUM"}),
                ("level", {"effort": "max"}, {**on, "thinkingLevel": "HIGH"}),
                ("level", {"effort": "none"}, {**on, "thinkingLevel": "MINIMAL"}),
                ("level", {"effort": "odd"}, on),
                ("budget", {"effort": "low"}, {**on, "thinkingBudget": 2048}),
                ("budget", {"effort": "none"}, {"thinkingBudget": 0}),
                ("level", {"effort": "low", "refused": ["effort"]}, on),
                ("level", {"effort": "low", "refused": ["thinking"]}, None)]:
            with self.subTest(thinking=thinking, **more):
                body = self.body(target_more={"thinking": thinking}, **more)
                config = body.get("generationConfig", {})
                self.assertEqual(config.get("thinkingConfig"), expected)
        both = self.body(target_more={"thinking": "level"}, max_output_tokens=7)
        self.assertEqual(both["generationConfig"], {"maxOutputTokens": 7, "thinkingConfig": on})

    def test_results_answer_the_calls_in_their_order(self):
        contents = self.body([
            user("go"), assistant("Looking."), call("f1", "read", '{"path":"x"}'),
            call("f2", "pwd", ""), result("f2", "pwd", '{"tool_success":false}', success=False),
            result("f1", "read"), user("and now?")], model="gemini-2.5-pro")["contents"]
        self.assertEqual(contents, [
            {"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": [
                {"text": "Looking."}, {"functionCall": {"name": "read", "args": {"path": "x"}}},
                {"functionCall": {"name": "pwd", "args": {}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "read",
                                      "response": {"tool_success": True, "result": 1}}},
                {"functionResponse": {"name": "pwd", "response": {"tool_success": False}}},
                {"text": "and now?"}]}])

    def test_an_id_goes_back_only_to_who_gave_it(self):
        def ids(*messages):
            contents = self.body([user("go"), *messages])["contents"]
            return (contents[1]["parts"][0]["functionCall"].get("id"),
                    contents[2]["parts"][0]["functionResponse"].get("id"))
        self.assertEqual(ids(own(call("f/1 ", "pwd")), own(result("f/1 ", "pwd"))),
                         ("f/1 ", "f/1 "))
        self.assertEqual(ids(own(call("ik_made", "pwd")), own(result("ik_made", "pwd"))),
                         (None, None))
        self.assertEqual(ids(call("c1", "pwd", provider="openai"),
                             result("c1", "pwd", provider="openai")), (None, None))

    def test_a_result_that_is_no_object_is_wrapped(self):
        contents = self.body([user("go"), call("a", "pwd"), result("a", "pwd", "plain")])["contents"]
        self.assertEqual(contents[2]["parts"][0]["functionResponse"]["response"],
                         {"output": "plain"})

    def test_the_first_call_of_a_step_without_signature_says_so(self):
        messages = [user("go"), call("a", "pwd"), call("b", "pwd"), result("a", "pwd"),
                    result("b", "pwd"), call("c", "pwd"), result("c", "pwd")]
        for model, wanted in [("gemini-3.8-flash", SKIP), ("gemini-4-argon", SKIP),
                              ("models/gemini-2.5-pro", None), ("gemini-1.5-flash", None)]:
            contents = self.body(messages, model=model)["contents"]
            got = [p.get("thoughtSignature") for i in (1, 3) for p in contents[i]["parts"]]
            self.assertEqual(got, [wanted, None, wanted])

    # --- private data ---

    def answer(self, parts, count=2, calls=("f1",), **more):
        return [user("go"), assistant("Looking.", **step(parts, count, calls, **more)),
                own(call("f1", "read", '{"path":"x"}')), own(result("f1", "read"))]

    def test_a_step_goes_back_as_it_came(self):
        parts = [{"text": "Th", "thought": True, "thoughtSignature": "S0"}, {"text": "Looking."},
                 {"functionCall": {}, "thoughtSignature": "S1"},
                 {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]
        sent = self.body(self.answer(parts))["contents"][1]["parts"]
        self.assertEqual(sent, [
            parts[0], parts[1],
            {"functionCall": {"id": "f1", "name": "read", "args": {"path": "x"}},
             "thoughtSignature": "S1"}, parts[3]])

    def test_its_first_call_is_never_without_signature(self):
        sent = self.body(self.answer([{"text": "Looking.", "thoughtSignature": "S0"},
                                      {"functionCall": {}}]))["contents"][1]["parts"]
        self.assertEqual([p.get("thoughtSignature") for p in sent], ["S0", SKIP])

    def test_a_step_that_does_not_fit_is_rebuilt(self):
        place = {"functionCall": {}, "thoughtSignature": "S1"}
        cases = {"fewer calls": self.answer([{"text": "x", "thoughtSignature": "S1"}]),
                 "more calls": self.answer([place, place]), "no list": self.answer("S1"),
                 "no parts": self.answer([place, "S1"]),
                 "another model": self.answer([place], model="google/gemini-4-argon"),
                 "another id": self.answer([place], calls=["f2"])}
        for name, messages in cases.items():
            with self.subTest(name):
                sent = self.body(messages)["contents"][1]["parts"]
                self.assertEqual(sent[0], {"text": "Looking."})
                self.assertEqual(sent[1]["thoughtSignature"], SKIP)
                self.assertEqual(len(sent), 2)
        dropped = self.body(self.answer([place]), drop_reasoning=True)
        self.assertNotIn("S1", json.dumps(dropped))

    def test_signatures_outlive_a_compaction(self):
        compaction = {"kind": "compaction", "content": "c", "data": {"trimmed_results": 1}}
        messages = self.answer([{"functionCall": {}, "thoughtSignature": "S1"}])
        self.assertIn("S1", json.dumps(self.body(messages + [compaction, user("on")])))

    def test_a_request_begins_with_the_one_before(self):
        messages = [user("go")]
        for i in range(4):
            place = [{"functionCall": {}, "thoughtSignature": f"S{i}"}]
            messages += [own(call(f"f{i}", "pwd", **step(place, 1, [f"f{i}"]))),
                         own(result(f"f{i}", "pwd"))]
        messages += [assistant("Done.", model="google/gemini-3.8-flash"), user("on")]
        bodies = request(target(), messages, turns=True)["bodies"]
        self.assertEqual(len(bodies), 6)
        for before, after in zip(bodies, bodies[1:]):
            old = before["contents"]
            self.assertEqual(after["contents"][:len(old)], old)


def schema(**properties):
    return {"type": "object", "properties": properties}


class Schema(ProviderTest):
    """Parameters converted to the subset, or unchanged where it cannot express them."""

    def declare(self, schemas, **more):
        tools = [{"name": f"t{i:03}", "description": "d", "parameters": s}
                 for i, s in enumerate(schemas)]
        body = request(target(), [user("hi")], tools=tools, **more)["body"]
        return body["tools"][0]["functionDeclarations"]

    def assert_plain(self, cases):
        """{schema of a property: its exact form in the subset}"""
        declared = self.declare([schema(a=before) for before, _ in cases])
        for (before, after), got in zip(cases, declared):
            with self.subTest(before):
                self.assertNotIn("parametersJsonSchema", got)
                self.assertEqual(got["parameters"], schema(a=after))

    def assert_foreign(self, cases):
        """{schema of a property: its closest form in the subset}. A schema of which the server
        supports every keyword is sent as JSON Schema instead."""
        schemas = [schema(a=before) for before, _ in cases]
        for got, sent, (_, nearest) in zip(self.declare(schemas), schemas, cases):
            problems = Problems()
            check_gemini_json(problems, sent, "")
            key = "parameters" if problems else "parametersJsonSchema"
            with self.subTest(sent):
                self.assertEqual(set(got), {"name", "description", key})
                self.assertEqual(got[key], schema(a=nearest) if problems else sent)
        for (before, after), got in zip(cases, self.declare(schemas, refused=["json_schema"])):
            with self.subTest(before):
                self.assertNotIn("parametersJsonSchema", got)
                self.assertEqual(got["parameters"], schema(a=after))

    def test_what_the_subset_can_say(self):
        words = {"type": "string", "title": "T", "description": "d", "pattern": "^a",
                 "minLength": 1, "maxLength": 9, "default": "x", "example": "y"}
        numbers = {"type": "integer", "minimum": 1, "maximum": 9.5, "format": "int64"}
        lists = {"type": "array", "items": {"type": "boolean"}, "minItems": 0, "maxItems": 3}
        inner = {"type": "object", "properties": {"b": {"type": "number"}}, "required": ["b"],
                 "minProperties": 1, "maxProperties": 2, "propertyOrdering": ["b"]}
        options = {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "d"}
        self.assert_plain([(s, s) for s in (words, numbers, lists, inner, options)])

    def test_other_words_for_the_same(self):
        text = {"type": "string"}
        self.assert_plain([
            ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
            ({"type": ["string"]}, text),
            ({"anyOf": [text, {"type": "null"}]}, {"type": "string", "nullable": True}),
            ({"const": "a"}, {"type": "string", "enum": ["a"]}),
            ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
            ({"type": ["string", "null"], "enum": ["a", None]},
             {"type": "string", "enum": ["a"], "nullable": True}),
            ({"properties": {"b": text}}, {"type": "object", "properties": {"b": text}}),
            ({"items": text}, {"type": "array", "items": text}),
            ({**text, "$schema": "s", "$id": "i", "$comment": "c", "examples": [1],
              "deprecated": True, "readOnly": True, "$defs": {"x": {}}}, text),
            ({**schema(b=text), "additionalProperties": False, "required": []}, schema(b=text)),
            ({**text, "format": "uri", "description": "Where."},
             {"type": "string", "description": "Where. (format: \"uri\")"}),
            # keys that have no meaning for the type
            ({"type": "string", "minimum": 1, "properties": {"b": text}}, text)])

    def test_names_of_properties_are_no_keys(self):
        names = ["$ref", "additionalProperties", "oneOf", "const", "type", "properties"]
        inner = schema(**{name: {"type": "string"} for name in names})
        self.assert_plain([(inner, inner)])

    def test_what_the_subset_cannot_say(self):
        text = {"type": "string"}
        self.assert_foreign([
            ({"type": ["string", "integer"], "description": "d", "minLength": 2},
             {"anyOf": [{"type": "string", "minLength": 2}, {"type": "integer"}],
              "description": "d"}),
            ({"oneOf": [text, {"type": "integer"}]}, {"anyOf": [text, {"type": "integer"}]}),
            ({"allOf": [schema(b=text), {**schema(c=text), "required": ["c"]}]},
             {**schema(b=text, c=text), "required": ["c"]}),
            ({"type": "integer", "enum": [1, 2], "description": "Which."},
             {"type": "integer", "description": "Which. (enum: [1,2])"}),
            ({"type": "string", "enum": ["", "a"]},
             {"type": "string", "description": "(enum: [\"\",\"a\"])"}),
            ({"type": "integer", "const": 3}, {"type": "integer", "description": "(const: 3)"}),
            ({"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5},
             {"type": "integer", "description": "(exclusiveMinimum: 0, multipleOf: 5)"}),
            ({"type": "array"}, {"type": "array", "items": text}),
            ({"type": "array", "items": [text, text]},
             {"type": "array", "items": text,
              "description": "(items: [{\"type\":\"string\"},{\"type\":\"string\"}])"}),
            ({"type": "object"}, {"type": "object"}),
            ({"type": "object", "additionalProperties": text},
             {"type": "object", "description": "(additionalProperties: {\"type\":\"string\"})"}),
            ({**schema(b=text), "required": ["b", "c"]}, {**schema(b=text), "required": ["b"]}),
            ({}, text), (True, text),
            ({"type": "object", "properties": {"b": text}, "anyOf": [{"required": ["b"]},
                                                                      {"required": ["c"]}]},
             schema(b=text)),
            ({**schema(b=text), "anyOf": [schema(c=text), schema(d=text)]}, schema(b=text)),
            ({"type": "any"}, {"type": "string", "description": "(type: \"any\")"})])

    def test_references(self):
        node = {"type": "object", "properties": {"name": {"type": "string"}}}
        root = {**schema(a={"$ref": "#/$defs/node", "description": "d"}), "$defs": {"node": node}}
        [got] = self.declare([root])
        self.assertEqual(got["parametersJsonSchema"], root)
        [got] = self.declare([root], refused=["json_schema"])
        self.assertEqual(got["parameters"], schema(a={**node, "description": "d"}))
        [got] = self.declare([schema(a={"$ref": "#/nowhere"})], refused=["json_schema"])
        self.assertEqual(got["parameters"]["properties"]["a"],
                         {"type": "string", "description": "($ref: \"#/nowhere\")"})

    def test_references_in_circles_end(self):
        node = schema(**{name: {"$ref": "#/$defs/node"} for name in "abcdef"})
        [got] = self.declare([{**node, "$defs": {"node": node}}], refused=["json_schema"])
        self.assertIn("parameters", got)
        deep = {"$ref": "#"}
        for _ in range(300):
            deep = {"type": "array", "items": deep}
        [got] = self.declare([schema(a=deep)], refused=["json_schema"])
        self.assertIn("parameters", got)

    def test_a_tool_without_parameters_has_none(self):
        silent = [OPEN, {"type": "object"}, {**OPEN, "additionalProperties": False, "required": [],
                                             "$schema": "s", "description": "d"}]
        for got in self.declare(silent):
            self.assertEqual(sorted(got), ["description", "name"])
        anything = {"type": "object", "additionalProperties": True}
        self.assertEqual(self.declare([anything])[0]["parametersJsonSchema"], anything)

    def test_returns(self):
        def declare(returns, **more):
            tool = {"name": "t", "parameters": OPEN, "returns": returns}
            body = request(target(), [user("hi")], tools=[tool], **more)["body"]
            return body["tools"][0]["functionDeclarations"][0]
        exact = {**schema(tool_success={"type": "boolean"}), "required": ["tool_success"]}
        self.assertEqual(declare(exact), {"name": "t", "response": exact})
        foreign = schema(result={"description": "d"})
        self.assertEqual(declare(foreign), {"name": "t", "responseJsonSchema": foreign})
        self.assertEqual(declare(foreign, refused=["json_schema"]), {
            "name": "t", "response": schema(result={"type": "string", "description": "d"})})


def chunk(*parts, finish=None, **more):
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **more}


def function(name="read", args=None, **more):
    return {"functionCall": {"name": name, "args": args or {}}, **more}


class Stream(ProviderTest):
    WIRE = "google"

    def test_why_it_stopped(self):
        filtered = ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"]
        bad = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"]
        for reason, stop in [("STOP", "end"), ("MAX_TOKENS", "max_tokens"), ("BRAND_NEW", "end"),
                             *((r, "filtered") for r in filtered),
                             *((r, "bad_tool_call") for r in bad)]:
            self.assert_result(self.stream([chunk({"text": "x"}, finish=reason)]),
                               {"text": "x", "stop": stop})

    def test_other_reasons_are_an_error(self):
        data = chunk({"text": "x"}, finish="OTHER")
        got = self.stream([data])
        self.assertEqual((got["stop"], got["error"]["code"], got["text"]), ("error", "OTHER", "x"))
        self.assertTrue(got["error"]["message"])
        data["candidates"][0]["finishMessage"] = "It \"broke\"."
        self.assertEqual(self.stream([data])["error"]["message"], "It \"broke\".")

    def test_a_blocked_prompt(self):
        self.assertEqual(self.stream([{"promptFeedback": {"blockReason": "SAFETY"}}])["stop"],
                         "filtered")
        unsaid = {"promptFeedback": {"blockReason": "BLOCK_REASON_UNSPECIFIED"}}
        self.assertEqual(self.stream([unsaid])["stop"], "incomplete")
        self.assertEqual(self.stream([unsaid, chunk({"text": "x"}, finish="STOP")])["stop"], "end")

    def test_without_a_reason_it_is_incomplete(self):
        got = self.stream([chunk({"text": "I will"}), chunk(function())])
        self.assert_result(got, {"text": "I will", "stop": "incomplete"})
        self.assertEqual(self.stream([{"candidates": [{"finishReason": ""}]}])["stop"],
                         "incomplete")
        got = self.stream([chunk({"text": "I will"}), chunk(function()), "[DONE]"])
        self.assert_result(got, {"text": "I will", "stop": "incomplete"})
        self.assertEqual(self.stream([chunk(function(), finish="STOP"), "[DONE]"])["stop"],
                         "tool_use")

    def test_a_reason_with_every_chunk_is_not_an_end(self):
        parts = [chunk({"text": "a"}, finish="STOP"), chunk({"text": "b"}, finish="STOP")]
        self.assert_result(self.stream(parts), {"text": "ab", "stop": "end"})
        self.assert_result(self.stream(parts, broken=1), {"text": "ab", "stop": "incomplete"})

    def test_it_goes_on_where_it_was_cut(self):
        got = self.stream([chunk({"text": "a"}, continuationToken="t1"),
                           chunk({"text": "b"}, finish="CONTINUATION", continuationToken="t2")])
        self.assertEqual((got["stop"], got["continuation"], got["text"]), ("resume", "t2", "ab"))
        done = self.stream([chunk({"text": "a"}, continuationToken="t1"), chunk(finish="STOP")])
        self.assertEqual((done["stop"], done["continuation"]), ("end", ""))

    def test_calls(self):
        got = self.stream([chunk(
            {"functionCall": {"id": "f1", "name": "read", "args": {"path": "a\u00fc"}}},
            {"functionCall": {"name": "pwd", "args": None}}, {"functionCall": {"args": {}}},
            {"functionCall": "rubbish"}, {"functionCall": {"id": "", "name": "ls"}},
            {"functionCall": {"name": "cd", "args": '{"path": "b"}'}}, finish="STOP")])
        self.assertEqual(got["tool_calls"], [
            {"id": "f1", "name": "read", "args": {"path": "a\u00fc"}},
            {"id": "@1", "name": "pwd", "args": {}}, {"id": "@2", "name": "ls", "args": {}},
            {"id": "@3", "name": "cd", "args": {"path": "b"}}])
        self.assertEqual(got["stop"], "tool_use")

    def test_usage_is_the_last_that_was_said(self):
        got = self.stream([
            chunk({"text": "x"}, usageMetadata={"promptTokenCount": 5, "thoughtsTokenCount": 2}),
            chunk(finish="STOP"),
            {"usageMetadata": {"promptTokenCount": 7, "toolUsePromptTokenCount": 3,
                               "candidatesTokenCount": 4, "cachedContentTokenCount": None}}])
        self.assertEqual(got["usage"], {"in": 10, "out": 6, "reasoning": 2})

    def test_errors(self):
        error = {"error": {"code": 503, "message": "Overloaded.", "status": "UNAVAILABLE"}}
        expected = {"stop": "error", "error": {"code": "UNAVAILABLE", "message": "Overloaded."}}
        for items in ([error], [[error]], [[chunk(), error, chunk({"text": "x"}, finish="STOP")]],
                      [error, chunk({"text": "x"}, finish="STOP")]):
            self.assert_result(self.stream(items), expected)
        body = stream("whole", "google", json.dumps([error]), content_type="application/json")
        self.assert_result(body, expected)

    def test_answers_that_were_not_streamed(self):
        chunks = [chunk({"text": "a"}), chunk({"text": "b"}), chunk(function(), finish="STOP")]
        for body in (chunks, chunk({"text": "ab"}, function(), finish="STOP")):
            got = self.stream(json.dumps(body), content_type="application/json")
            self.assertEqual((got["text"], got["order"], got["stop"]), ("ab", "tc", "tool_use"))

    def test_odd_shapes_do_no_harm(self):
        got = self.stream([
            "null", "7", "\"x\"", {"candidates": []}, {"candidates": {}}, {"candidates": [7]},
            {"candidates": [{"content": 7}]}, {"candidates": [{"content": {"parts": [
                7, None, {}, {"text": 7}, {"text": None}, {"thought": True}, {"new": None}]}}]},
            {"candidates": [{"finishReason": ""}, {"content": {"parts": [{"text": "second"}]}}]},
            {"error": None}, {"usageMetadata": 7, "promptFeedback": 7, "continuationToken": 7},
            chunk({"text": "x"}, finish="STOP")])
        self.assert_result(got, {"text": "x", "stop": "end"})
        self.assertIsNone(got["replay"])

    # --- what goes back ---

    def replay(self, *parts, finish="STOP"):
        got = self.stream([*(chunk(p) for p in parts), chunk(finish=finish)])["replay"]
        return got and got["google"]

    def test_a_signature_stays_on_its_part(self):
        self.assertEqual(self.replay(
            {"text": "a"}, {"text": "b"}, {"text": "c", "thoughtSignature": "S1"}, {"text": "d"},
            {"text": "", "thoughtSignature": "S2"}), [
                {"text": "ab"}, {"text": "c", "thoughtSignature": "S1"}, {"text": "d"},
                {"text": "", "thoughtSignature": "S2"}])
        self.assertEqual(self.replay({"text": "a"}, function(thoughtSignature="S1"), function()), [
            {"text": "a"}, {"functionCall": {}, "thoughtSignature": "S1"}, {"functionCall": {}}])

    def test_only_signed_thoughts_go_back(self):
        self.assertEqual(self.replay(
            {"text": "t", "thought": True}, {"text": "a"}, {"text": "u", "thought": True},
            {"text": "b", "thought": False},
            {"text": "v", "thought": True, "thoughtSignature": "S1"}), [
                {"text": "ab"}, {"text": "v", "thought": True, "thoughtSignature": "S1"}])

    def test_text_and_calls_alone_need_nothing_more(self):
        self.assertIsNone(self.replay({"text": "a"}, function()))
        self.assertIsNone(self.replay({"text": "a", "thoughtSignature": ""}))

    def test_parts_we_do_not_know_go_back(self):
        image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
        self.assertEqual(self.replay(image, {"text": "x"}, {"text": ""}), [image, {"text": "x"}])

    def test_calls_that_do_not_run_do_not_go_back(self):
        for finish in ("SAFETY", "CONTINUATION"):
            self.assertEqual(self.replay({"text": "a", "thoughtSignature": "S"}, function(),
                                         finish=finish), [{"text": "a", "thoughtSignature": "S"}])

    def test_bytes_that_are_no_text_are_replaced(self):
        data = ("data: " + json.dumps(chunk({"text": "\u00e4", "thoughtSignature": "\u00e4"},
                                            finish="STOP"), ensure_ascii=False) + "\n\n")
        got = self.stream(data.encode("latin-1"))
        self.assertEqual(got["text"], "\ufffd")
        self.assertEqual(got["replay"]["google"], [{"text": "\ufffd",
                                                    "thoughtSignature": "\ufffd"}])

    def test_there_and_back(self):
        items = [chunk({"text": "Think", "thought": True}), chunk({"text": "Look \u2713"}),
                 chunk({"functionCall": {"id": "f1", "name": "read", "args": {"path": "a/b"}},
                        "thoughtSignature": "S1"}, function("pwd")), chunk(finish="STOP")]
        sent = stream("replay", "google", items, model="gemini-4-argon")["contents"]
        self.assertEqual(sent[1], {"role": "model", "parts": [
            {"text": "Look \u2713"},
            {"functionCall": {"id": "f1", "name": "read", "args": {"path": "a/b"}},
             "thoughtSignature": "S1"}, {"functionCall": {"name": "pwd", "args": {}}}]})
        answers = [p["functionResponse"] for p in sent[2]["parts"][:2]]
        self.assertEqual([(a.get("id"), a["name"]) for a in answers],
                         [("f1", "read"), (None, "pwd")])


if __name__ == "__main__":
    unittest.main()
