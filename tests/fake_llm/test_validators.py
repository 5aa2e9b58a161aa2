"""Every rule of the validators: silent on a good request, and one complaint on the smallest change
that breaks it."""
import copy
import json
import time
import unittest

from fake_llm import Memory, validate

PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Er"
       "kJggg==")
GONE = object()  # the value of a field that is taken away


class Added:
    """A value put at the end of the list there."""

    def __init__(self, *values):
        self.values = values


def changed(value, path, new):
    """A copy with one place changed; path: 'messages/2/tool_calls/0/id'."""
    value = copy.deepcopy(value)
    at, *rest = [int(p) if p.lstrip("-").isdigit() else p for p in path.split("/")]
    place = value
    for step in rest:
        place, at = place[at], step
    if new is GONE:
        del place[at]
    elif isinstance(new, Added):
        place[at] = place[at] + list(new.values)
    else:
        place[at] = new
    return value


STRICT = {"type": "object", "properties": {
    "path": {"type": "string", "description": "Which"},
    "kind": {"type": ["string", "null"], "enum": ["a", "b", None]},
    "list": {"type": "array", "items": {"type": "string"}},
    "more": {"anyOf": [{"type": "object", "properties": {"n": {"type": "integer"}},
                        "required": ["n"], "additionalProperties": False}, {"type": "null"}]}},
    "required": ["path", "kind", "list", "more"], "additionalProperties": False}
PLAIN = {"type": "object", "properties": {
    "path": {"type": "string"}, "list": {"type": "array", "items": {"type": "integer"}}},
    "required": ["path"]}


class RuleTest(unittest.TestCase):
    maxDiff = None
    format = path = headers = None

    def problems(self, body, **more):
        given = {"path": self.path, "headers": self.headers, **more}
        return validate(self.format, given.pop("path"), given.pop("headers"), body, **given)

    def assert_good(self, body, **more):
        self.assertEqual(self.problems(body, **more), [])
        self.assertEqual(self.problems(json.dumps(body), **more), [])

    def assert_rules(self, base, rows, **more):
        """rows: (path, new value, what must be complained about); a change alone is enough."""
        self.assert_good(base, **more)
        for path, new, expected in rows:
            with self.subTest(path=path, new=str(new)[:60]):
                found = self.problems(changed(base, path, new), **more)
                self.assertTrue(any(expected in problem for problem in found),
                                f"expected {expected!r}, found {found}")

    def assert_accepts(self, base, rows, **more):
        for path, new in rows:
            with self.subTest(path=path, new=str(new)[:60]):
                self.assert_good(changed(base, path, new), **more)

    def assert_headers(self, body, rows):
        """rows: (header, value or None, what must be complained about)"""
        for name, value, expected in rows:
            headers = {k: v for k, v in {**self.headers, name: value}.items() if v is not None}
            with self.subTest(name, value=value):
                found = self.problems(body, headers=headers)
                self.assertTrue(any(expected in p for p in found), f"{expected!r}: {found}")


class Body(RuleTest):
    format = "chat"

    JUNK = (None, True, 0, -1.5, "", "x", [], {}, [[]], [{}], {"type": []}, {"role": {}},
            ["x", "x"])

    def places(self, value, path=()):
        """The paths of all values below."""
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, below in pairs:
            yield (*path, key)
            if isinstance(below, (dict, list)):
                yield from self.places(below, (*path, key))

    def test_nothing_upsets_it(self):
        """Whatever is at whatever place, it complains or accepts, and does not fail."""
        for format, path, good in [("chat", None, CHAT), ("responses", None, RESPONSES),
                                   ("anthropic", None, ANTHROPIC), ("gemini", Gemini.path, GEMINI),
                                   ("gemini", Gemini.path, changed(
                                       GEMINI, "tools/0/functionDeclarations/1/parameters",
                                       Schemas.SUBSET))]:
            memory = Memory()
            for place in self.places(good):
                for junk in self.JUNK:
                    body = changed(good, "/".join(map(str, place)), junk)
                    with self.subTest(format, place=place, junk=junk):
                        validate(format, path, None, body, memory=memory)

    def test_not_json(self):
        for body, expected in [
                (b"{", "not JSON"), (b"[]", "must be an object"), (b'{"a":1,"a":2}', "twice"),
                (b'{"a":NaN}', "NaN"), (b'{"a":"\xff"}', "not JSON"),
                (b'{"a":"\\ud800"}', "surrogate"), (b"{} x", "not JSON"), (b"", "not JSON")]:
            with self.subTest(body):
                self.assertIn(expected, validate("chat", None, None, body)[0])

    def test_surrogate_pairs_are_characters(self):
        body = b'{"model":"m","messages":[{"role":"user","content":"\\ud83d\\udc4b"}]}'
        self.assertEqual(validate("chat", None, None, body), [])

    def test_it_is_fast(self):
        """A hundred thousand histories go through it; a wide margin, for busy machines."""
        body = changed(CHAT, "tools", GONE)
        del body["tool_choice"], body["parallel_tool_calls"]
        begin = time.process_time()
        for _ in range(200):
            validate("chat", None, None, body)
        self.assertLess((time.process_time() - begin) / 200, 0.002)


# ---- Chat Completions

def chat_call(id, arguments="{}"):
    return {"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}}


CHAT = {
    "model": "gpt-4.1", "stream": True, "stream_options": {"include_usage": True},
    "max_completion_tokens": 100, "tool_choice": "auto", "parallel_tool_calls": True,
    "tools": [{"type": "function", "function": {"name": "read", "description": "Read",
                                                "parameters": STRICT, "strict": True}}],
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PNG}}]},
        {"role": "assistant", "content": None,
         "tool_calls": [chat_call("call_a", '{"path":"a"}'), chat_call("call_b")]},
        {"role": "tool", "tool_call_id": "call_b", "content": "b"},
        {"role": "tool", "tool_call_id": "call_a", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "thanks"}]}

PLAIN_CHAT = {
    "model": "m", "stream": True, "max_tokens": 100,
    "tools": [{"type": "function", "function": {"name": "read", "parameters": PLAIN}}],
    "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"},
                 {"role": "assistant", "content": "", "tool_calls": [chat_call("abcdefgh1")]},
                 {"role": "tool", "tool_call_id": "abcdefgh1", "content": "x"}]}


class Chat(RuleTest):
    format, path = "chat", "/v1/chat/completions"
    headers = {"authorization": "Bearer sk-1", "content-type": "application/json; charset=utf-8"}

    def test_path_and_headers(self):
        self.assertIn("path", self.problems(CHAT, path="/v1/completions")[0])
        self.assert_good(CHAT, headers={k.title(): v for k, v in self.headers.items()})
        self.assert_headers(CHAT, [
            ("authorization", None, "authorization: required"),
            ("authorization", "sk-1", "Bearer KEY"), ("authorization", "Bearer ", "Bearer KEY"),
            ("authorization", "Bearer a b", "Bearer KEY"),
            ("x-api-key", "k", "another vendor"), ("x-goog-api-key", "k", "another vendor"),
            ("content-type", None, "application/json"), ("content-type", "text/plain", "json")])

    def test_fields(self):
        self.assert_rules(CHAT, [
            ("model", GONE, "model: required"), ("model", "", "model"), ("model", 1, "model"),
            ("messages", GONE, "messages: required"), ("messages", [], "must not be empty"),
            ("messages", {}, "must be an array"), ("brand_new", 1, "brand_new: unknown field"),
            ("functions", [], "unknown field"), ("reasoning_content", "", "unknown field"),
            ("stream", 1, "stream"), ("temperature", 3, "temperature"),
            ("temperature", "1", "must be a number"), ("max_completion_tokens", 0, "at least 1"),
            ("max_completion_tokens", 1.5, "integer"), ("max_tokens", 5, "not together"),
            ("reasoning_effort", "huge", "reasoning_effort"), ("verbosity", "x", "verbosity"),
            ("stop", ["a"] * 5, "at most 4"), ("stop", [1], "strings"), ("store", "no", "store"),
            ("service_tier", "best", "service_tier"), ("top_p", 2, "top_p"),
            ("stream_options/x", True, "stream_options.x"), ("stream_options", [], "object"),
            ("stream_options/include_usage", 1, "include_usage"), ("n", 0, "n: must be"),
            ("stream", False, "stream_options: only allowed")])

    def test_tools(self):
        function = "tools/0/function"
        self.assert_rules(CHAT, [
            ("tools", [], "tools: must not be empty"), ("tools", GONE, "tool_choice: only"),
            ("tools", GONE, "parallel_tool_calls: only"), ("tools/0/type", "x", "function"),
            ("tools/0/name", "x", "unknown field"), (function, GONE, "function: required"),
            ("tools/0", "read", "must be an object"), (function, "read", "must be an object"),
            ("tool_choice", {"type": "allowed_tools"}, "allowed_tools: required"),
            (f"{function}/name", "a b", "no name"), (f"{function}/name", "", "no name"),
            (f"{function}/name", "x" * 65, "no name"), (f"{function}/name", GONE, "required"),
            (f"{function}/description", 1, "string"), (f"{function}/strict", "yes", "true or"),
            (f"{function}/returns", {}, "unknown field"),
            (f"{function}/parameters", GONE, "required in strict"),
            ("tools", Added(CHAT["tools"][0]), "names must differ"),
            ("tools", [CHAT["tools"][0]] * 129, "at most 128"),
            ("tool_choice", "maybe", "tool_choice"),
            ("tool_choice", {"type": "function", "function": {"name": "x"}}, "not in tools")])
        self.assert_accepts(CHAT, [
            ("tool_choice", {"type": "function", "function": {"name": "read"}}),
            ("tool_choice", "none"), ("tool_choice", "required"), (f"{function}/strict", False)])

    def test_messages(self):
        self.assert_rules(CHAT, [
            ("messages/0/role", "root", "no such role"), ("messages/1/role", "function", "role"),
            ("messages/0/x", 1, "messages[0].x: unknown"), ("messages/1/x", 1, "unknown field"),
            ("messages/1/content", None, "must be a string or an array"),
            ("messages/1/content", [], "must not be empty"),
            ("messages/1/content", GONE, "content: required"),
            ("messages/1/content/0/type", "thing", "no such part"),
            ("messages/1/content/0/text", GONE, "text: required"),
            ("messages/1/content/0/x", 1, "unknown field"),
            ("messages/1/content/1/image_url", "data:", "must be an object"),
            ("messages/0/content", CHAT["messages"][1]["content"], "no such part"),
            ("messages/4/content/0/type", "image_url", "no such part"),
            ("messages/5/content", "", "must have content or tool_calls"),
            ("messages/5/content", None, "must have content or tool_calls"),
            ("messages/5/reasoning_content", "x", "unknown field"),
            ("messages/5/refusal", 1, "refusal: must be a string"),
            ("messages/1/content/0/text", 1, "text: must be a string"),
            ("messages/1/content/1/image_url/url", "", "Expected a base64"),
            ("messages/6", GONE, "the last one must be")])

    def test_calls(self):
        calls = "messages/2/tool_calls"
        self.assert_rules(CHAT, [
            (calls, [], "tool_calls: must not be empty"), (calls, None, "must be an array"),
            (f"{calls}/0/id", "", "no id"), (f"{calls}/0/id", GONE, "id: required"),
            (f"{calls}/0", "read", "must be an object"), (f"{calls}/0/id", "x" * 41, "no id"),
            (f"{calls}/1/id", "call_a", "used twice"),
            (f"{calls}/0/type", GONE, "type: required"), (f"{calls}/0/type", "x", "be function"),
            (f"{calls}/0/index", 0, "unknown field"),
            (f"{calls}/0/function/name", "a.b", "no name"),
            (f"{calls}/0/function/arguments", {}, "must be a string"),
            (f"{calls}/0/function/arguments", "", "not JSON"),
            (f"{calls}/0/function/arguments", "{", "not JSON"),
            (f"{calls}/0/function/arguments", "[]", "JSON object"),
            (f"{calls}/0/function/arguments", "null", "JSON object"),
            ("messages/3", GONE, "no tool message for call_b"),
            ("messages/3/tool_call_id", "call_x", "answers no call"),
            ("messages/3/tool_call_id", "call_a", "answers no call"),
            ("messages/3/tool_call_id", GONE, "required"),
            ("messages/3/name", "read", "unknown field"),
            ("messages/3", {"role": "user", "content": "wait"}, "no tool message"),
            ("messages/5", {"role": "tool", "tool_call_id": "call_a", "content": ""}, "no call")])

    def test_unanswered_at_the_end(self):
        body = changed(CHAT, "messages", CHAT["messages"][:4])
        self.assertIn("no tool message for call_a", self.problems(body)[0])

    def test_reasoning_models(self):
        base = changed(CHAT, "model", "gpt-5.1")
        self.assert_rules(base, [
            ("temperature", 1, "temperature: not supported"), ("top_p", 1, "top_p"),
            ("max_tokens", 5, "use max_completion_tokens"),
            ("model", "gpt-5.6-sol", "reasoning_effort"), ("model", "gpt-6-luna", "need none"),
            ("model", "gpt-6.1-sol", "no tools here"), ("model", "gpt-6-astra", "no tools here")])
        none = {**base, "model": "gpt-6-sol", "reasoning_effort": "none"}
        self.assert_rules(none, [("model", "gpt-6.1-sol", "no tools here")])
        self.assert_accepts(none, [("temperature", 1)])
        middle = {**base, "model": "gpt-5.4"}
        self.assert_rules(middle, [("reasoning_effort", "low", "refuses it with tools")])

    def test_developer(self):
        self.assert_accepts(CHAT, [("messages/0/role", "developer")])


class Dialects(RuleTest):
    format, path = "chat", "/api/v1/chat/completions"
    headers = Chat.headers

    def test_plain(self):
        self.assert_rules(PLAIN_CHAT, [
            ("tools/0/function/strict", False, "strict: unknown field"),
            ("messages/0/role", "developer", "no such role"), ("store", False, "unknown field"),
            ("prompt_cache_key", "k", "unknown field"), ("thinking", {}, "unknown field"),
            ("messages", Added({"role": "system", "content": "s"},
                               {"role": "user", "content": "u"}), "first and only one")], dialect="plain")
        self.assert_accepts(PLAIN_CHAT, [
            ("messages/2/reasoning_content", "hm"), ("messages/2/reasoning_details", [{}]),
            ("messages/2/tool_calls/0/extra_content", {"google": {}}),
            ("stream_options", {"include_usage": True})], dialect="plain")
        no_key = {"content-type": "application/json"}
        self.assert_good(PLAIN_CHAT, dialect="plain", headers=no_key)

    def test_mistral(self):
        self.assert_rules(PLAIN_CHAT, [
            ("max_completion_tokens", 5, "unknown field"), ("metadata", {}, "unknown field"),
            ("stream_options", {}, "stream_options: unknown field"), ("store", False, "unknown"),
            ("messages/2/reasoning_content", "", "unknown field"),
            ("messages/1/name", "me", "unknown field"),
            ("tools/0/function/strict", True, "unknown field"),
            ("messages/2/tool_calls/0/id", "call_12345", "no id for this API"),
            ("messages/2/tool_calls/0/id", "abcdefg_1", "no id for this API"),
            ("messages", Added({"role": "user", "content": "u"}), "'user' after role 'tool'"),
        ], dialect="mistral")
        thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
        self.assert_accepts(PLAIN_CHAT, [("messages/2/content", thinking)], dialect="mistral")

    def test_deepseek(self):
        base = changed(PLAIN_CHAT, "messages/2/reasoning_content", "")
        self.assert_rules(base, [
            ("messages/2/reasoning_content", GONE, "must be passed back"),
            ("messages/2/reasoning_content", None, "must be passed back"),
            ("thinking", {"type": "off"}, "thinking.type"),
            ("tools/0/function/strict", True, "unknown field")], dialect="deepseek")
        without = changed(PLAIN_CHAT, "thinking", {"type": "disabled"})
        self.assert_good(without, dialect="deepseek")


# ---- schemas

REFUSED = ("allOf oneOf not if then else dependentRequired dependentSchemas dependencies "
           "patternProperties propertyNames unevaluatedProperties unevaluatedItems contains "
           "minContains maxContains uniqueItems minProperties maxProperties prefixItems "
           "contentEncoding contentMediaType contentSchema $anchor $dynamicRef $dynamicAnchor "
           "$recursiveRef $recursiveAnchor additionalItems").split()
GEMINI_UNKNOWN = ("additionalProperties $schema $id $ref $defs const oneOf allOf not "
                  "exclusiveMinimum exclusiveMaximum multipleOf uniqueItems propertyNames "
                  "patternProperties examples").split()


class Schemas(RuleTest):
    format = "chat"

    def tool(self, schema, strict):
        body = changed(CHAT, "tools/0/function/parameters", schema)
        return changed(body, "tools/0/function/strict", strict)

    def assert_schema(self, base, rows, strict):
        self.assert_rules(self.tool(base, strict), [
            (f"tools/0/function/parameters/{path}", new, expected) for path, new, expected in rows])

    def test_openai_strict(self):
        self.assert_schema(STRICT, [
            ("type", "string", 'type "object"'), ("type", GONE, 'type "object"'),
            ("anyOf", [{}], "not allowed at the root"),
            ("additionalProperties", GONE, "additionalProperties must be false"),
            ("additionalProperties", True, "additionalProperties must be false"),
            ("required", ["path"], "every property and nothing else"),
            ("required", STRICT["required"] + ["x"], "every property and nothing else"),
            ("required", GONE, "every property and nothing else"),
            ("required", ["path", "path"], "different strings"),
            ("properties/path/type", "text", "unknown type"),
            ("properties/path/type", ["string", "text"], "unknown type"),
            ("properties/path/type", GONE, "needs a type"),
            ("properties/path", True, "no schema"), ("properties/path", "string", "no schema"),
            ("properties/kind/enum", ["a", "b"], "must list null"),
            ("properties/kind/enum", [], "enum must be an array that is not empty"),
            ("properties/path/format", 1, "format must be a string"),
            ("properties/path/description", 1, "description"),
            ("properties/list/items", GONE, "needs items"),
            ("properties/list/items", [{"type": "string"}], "only one schema"),
            ("properties/more/anyOf/0/additionalProperties", GONE, "additionalProperties"),
            ("properties/more/anyOf/0/required", [], "every property"),
            ("properties/path/$ref", "http://x", "must be local"),
            ("properties/path/$ref", "#/$defs/x", "no siblings"),
            ("properties/path/default", "x", "default is not allowed"),
            ("properties", [], "must be an object")], True)

    def test_draft_2020_12(self):
        base = {"type": "object", "properties": {"path": {"type": "string"}},
                "$defs": {"d": {"type": "string"}}}
        self.assert_schema(base, [
            ("properties", GONE, "missing properties"), ("not", {}, "not allowed at the root"),
            ("enum", [{}], "not allowed at the root"),
            ("properties/path/required", True, "required must be an array"),
            ("properties/path/minLength", -1, "whole number"),
            ("properties/path/minLength", "1", "whole number"),
            ("properties/path/minimum", "1", "must be a number"),
            ("properties/path/exclusiveMinimum", True, "must be a number"),
            ("properties/path/multipleOf", 0, "above 0"),
            ("properties/path/uniqueItems", "yes", "must be a boolean"),
            ("properties/path/title", 1, "title must be a string"),
            ("properties/path/anyOf", [], "not empty"), ("properties/path/anyOf", {}, "not empty"),
            ("properties/path/examples", "x", "must be an array"),
            ("properties/path/items", [{}], "items must be a schema"),
            ("properties/path/pattern", "(", "is not a 'regex'"),
            ("properties/path/pattern", "\\p{L}", "is not a 'regex'"),
            ("properties/path/type", ["string", "string"], "different names"),
            ("properties/path/enum", [1], "does not validate"),
            ("properties/path/const", None, "does not validate"),
            ("properties/path", {"$ref": "#/$defs/nope"}, "was not found"),
            ("properties/path", {"$ref": "other.json"}, "was not found"),
            ("properties/path", {"$ref": "#/properties/path"}, "was not found")], False)
        self.assert_accepts(self.tool(base, False), [
            (f"tools/0/function/parameters/properties/path{path}", new) for path, new in (
                ("", {"$ref": "#/$defs/d"}), ("", {"$ref": "#"}), ("", {"type": "object"}),
                ("/enum", ["a"]), ("/pattern", "^a"), ("/minLength", 2.0), ("/const", "a"))])

    def test_openai_strict_refuses_keywords(self):
        for word in REFUSED:
            self.assert_schema(STRICT, [(f"properties/path/{word}", {}, f"{word} is not")], True)

    def test_openai_strict_accepts(self):
        extra = {"pattern": "x", "format": "uri", "minLength": 1, "title": "t", "const": "x"}
        self.assert_good(self.tool(changed(STRICT, "properties/path", {"type": "string", **extra}),
                                   True))
        self.assert_good(self.tool({**STRICT, "$defs": {"x": {"type": "string"}}}, True))

    def test_openai_not_strict(self):
        self.assert_schema(PLAIN, [
            ("type", GONE, 'type "object"'), ("properties/list/items", GONE, "needs items"),
            ("properties/path/type", "text", "unknown type")], False)
        self.assert_good(self.tool({**PLAIN, "additionalProperties": True, "default": {}}, False))
        self.assert_good(self.tool(changed(PLAIN, "properties/path", True), False))

    def anthropic(self, schema, strict):
        body = changed(ANTHROPIC, "tools/0/input_schema", schema)
        return validate("anthropic", None, None, changed(body, "tools/0/strict", strict))

    def test_anthropic(self):
        for schema, strict, expected in [
                ({}, False, 'type "object"'), ({"type": "string"}, False, 'type "object"'),
                ({"type": "object", "oneOf": []}, False, "oneOf is not allowed at the root"),
                (PLAIN, True, "additionalProperties must be false"),
                (changed(STRICT, "properties/path/format", "regex"), True, "unsupported format"),
                (changed(STRICT, "properties/list/minItems", 2), True, "minItems")]:
            with self.subTest(expected):
                self.assertIn(expected, "".join(self.anthropic(schema, strict)))
        self.assertEqual(self.anthropic(PLAIN, False), [])
        optional = changed(STRICT, "required", ["path"])  # need not be made nullable here
        self.assertEqual(self.anthropic(optional, True), [])

    def gemini(self, schema, field="parameters"):
        body = changed(GEMINI, "tools/0/functionDeclarations/0/parametersJsonSchema", GONE)
        return validate("gemini", None, None,
                        changed(body, f"tools/0/functionDeclarations/0/{field}", schema))

    SUBSET = {"type": "OBJECT", "properties": {
        "path": {"type": "string", "nullable": True, "enum": ["a"]},
        "list": {"type": "ARRAY", "items": {"type": "INTEGER", "format": "int32"}}},
        "required": ["path"]}

    def test_gemini_subset(self):
        for field in ("parameters", "response"):
            self.assertEqual(self.gemini(self.SUBSET, field), [])
            for path, new, expected in [
                    ("properties/path/type", ["string", "null"], "one string"),
                    ("properties/path/type", GONE, "one string"),
                    ("properties/path/enum", [1], "enum values must be strings"),
                    ("properties/path/enum", [""], "enum values must be strings"),
                    ("properties/list/items", GONE, "items: missing"),
                    ("properties/path/format", "uri", "unsupported format"),
                    ("required", ["x"], "not defined")]:
                with self.subTest(path, field=field):
                    found = self.gemini(changed(self.SUBSET, path, new), field)
                    self.assertIn(expected, "".join(found))
            for word in GEMINI_UNKNOWN:
                found = self.gemini(changed(self.SUBSET, f"properties/path/{word}", {}), field)
                self.assertIn(f'Unknown name "{word}"', "".join(found))

    def test_gemini_json_schema(self):
        field = "parametersJsonSchema"
        self.assertEqual(self.gemini({**PLAIN, "additionalProperties": False}, field), [])
        self.assertIn('type "object"', "".join(self.gemini({"type": "string"}, field)))
        for word in ("$schema", "const", "allOf", "default", "examples", "pattern"):
            found = self.gemini(changed(PLAIN, f"properties/path/{word}", "x"), field)
            self.assertIn(f"{word} is not honoured", "".join(found))
        self.assertEqual(self.gemini({"type": "string"}, "responseJsonSchema"), [])


# ---- Responses

def function_call(call, arguments="{}", **more):
    return {"type": "function_call", "call_id": call, "name": "read", "arguments": arguments,
            **more}


RESPONSES = {
    "model": "gpt-6.1-sol", "stream": True, "store": False, "instructions": "Be brief.",
    "include": ["reasoning.encrypted_content"], "max_output_tokens": 100,
    "reasoning": {"effort": "medium", "summary": "auto"}, "tool_choice": "auto",
    "parallel_tool_calls": True, "prompt_cache_key": "k",
    "tools": [{"type": "function", "name": "read", "description": "d", "parameters": STRICT,
               "strict": True}],
    "input": [
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "look"},
            {"type": "input_image", "image_url": "data:image/png;base64," + PNG,
             "detail": "auto"}]},
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA",
         "summary": [{"type": "summary_text", "text": "Plan."}]},
        {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
         "phase": "commentary",
         "content": [{"type": "output_text", "text": "Reading.", "annotations": []}]},
        function_call("call_a", '{"path":"a"}', id="fc_1", status="completed"),
        function_call("call_b"),
        {"type": "function_call_output", "call_id": "call_b", "output": "b"},
        {"type": "function_call_output", "call_id": "call_a",
         "output": [{"type": "input_text", "text": "a"}]},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "thanks"}]}


class Responses(RuleTest):
    format, path = "responses", "/v1/responses"
    headers = Chat.headers

    def test_path_and_headers(self):
        self.assertIn("path", self.problems(RESPONSES, path="/v1/response")[0])
        self.assert_headers(RESPONSES, [("authorization", None, "required"),
                                        ("x-api-key", "k", "another vendor")])

    def test_fields(self):
        self.assert_rules(RESPONSES, [
            ("model", GONE, "model: required"), ("input", GONE, "input: required"),
            ("input", "", "input"), ("input", [], "must not be empty"),
            ("messages", [], "unknown field"), ("max_tokens", 1, "unknown field"),
            ("reasoning_effort", "low", "unknown field"), ("max_output_tokens", 15, "at least 16"),
            ("include", ["everything"], "include[0]"), ("stream", "yes", "stream"),
            ("store", 0, "store"), ("instructions", 1, "instructions"),
            ("reasoning/effort", "huge", "reasoning.effort"), ("reasoning/x", 1, "reasoning.x"),
            ("reasoning/summary", "long", "reasoning.summary"),
            ("reasoning/context", "some", "reasoning.context"),
            ("reasoning/effort", "none", "does not know none"), ("truncation", "on", "truncation"),
            ("temperature", 1, "temperature: not supported"), ("top_p", 1, "top_p"),
            ("stream_options", {"include_usage": True}, "stream_options.include_usage"),
            ("text", {"verbosity": "x"}, "text.verbosity"), ("text", {"x": 1}, "text.x"),
            ("previous_response_id", "resp_1", "nothing was stored"),
            ("conversation", "c", "nothing was stored")])
        quiet = changed(RESPONSES, "stream", False)
        self.assert_rules(quiet, [("stream_options", {}, "only allowed when stream is true")])
        self.assert_accepts(RESPONSES, [("input", "hello"), ("instructions", ""),
                                        ("stream_options", {"include_obfuscation": False})])

    def test_tools(self):
        self.assert_rules(RESPONSES, [
            ("tools", [], "must not be empty"), ("tools", GONE, "tool_choice: only"),
            ("tools/0/strict", GONE, "strict: required"), ("tools/0/strict", 1, "true or false"),
            ("tools/0/function", {}, "unknown field"), ("tools/0/name", "é", "no name"),
            ("tools/0/parameters", GONE, "parameters: required"),
            ("tools/0/parameters/additionalProperties", True, "must be false"),
            ("tools/0/type", "custom", "must be function"),
            ("tools/0/description", 1, "must be a string"),
            ("tools", Added(RESPONSES["tools"][0]), "names must differ"),
            ("tool_choice", "any", "tool_choice"),
            ("tool_choice", {"type": "function", "name": "x"}, "not in tools"),
            ("tool_choice", {"type": "function", "function": {}}, "unknown field"),
            ("tool_choice", {"type": "allowed_tools", "mode": "auto"}, "tools: required")])

    def test_compaction(self):
        item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}
        self.assert_rules(changed(RESPONSES, "input", [item, *RESPONSES["input"]]), [
            ("input/0/encrypted_content", GONE, "encrypted_content: required"),
            ("input/0/x", 1, "unknown field")])

    def test_messages(self):
        self.assert_rules(RESPONSES, [
            ("input/2/content/0", {"type": "refusal", "refusal": ""}, "refusal: must not be empty"),
            ("input/0/role", "root", "no such item"), ("input/0/x", 1, "unknown field"),
            ("input/0/content", [], "must not be empty"), ("input/0/content", GONE, "required"),
            ("input/0/content/0/type", "text", "Invalid value: 'text'"),
            ("input/0/content/0/type", "output_text", "Supported values"),
            ("input/0/content/0/x", 1, "unknown field"), ("input/0/content/0/text", 1, "string"),
            ("input/0/content/1/image_url", "", "needs image_url"),
            ("input/2/content/0/type", "input_text", "Supported values"),
            ("input/2/content/0/annotations", 1, "annotations"),
            ("input/2/x", 1, "unknown field"), ("input/2/id", "fc_1", "must begin with msg_"), ("input/2/phase", "x", "phase"),
            ("input/2/status", "x", "status"), ("input/8", GONE, "the last item must be"),
            ("input/8", {"type": "item_reference", "id": "msg_1"}, "no such item"),
            ("input/8", "text", "must be an object")])
        self.assert_accepts(RESPONSES, [("input/8/role", "developer"), ("input/0/type", GONE)])

    def test_reasoning(self):
        self.assert_rules(RESPONSES, [
            ("input/1/encrypted_content", GONE, "nothing was stored"),
            ("input/1/encrypted_content", "", "nothing was stored"),
            ("input/1/id", GONE, "id: required"), ("input/1/id", "x", "must begin with rs_"),
            ("input/1/summary", GONE, "summary: required"), ("input/1/summary", "x", "an array"),
            ("input/1/id", "", "id: must not be empty"), ("input/1/summary/0/text", 1, "a string"),
            ("input/1/summary/0/type", "text", "summary_text"), ("input/1/x", 1, "unknown field"),
            ("input/8", RESPONSES["input"][1], "Duplicate item"),
            ("input/8", {**RESPONSES["input"][1], "id": "rs_2"}, "required following item"),
            ("input/2", {"role": "user", "content": "no"}, "required following item")])

    def test_calls(self):
        self.assert_rules(RESPONSES, [
            ("input/3/id", "call_a", "must begin with fc_"), ("input/3/call_id", "", "1 to 64"),
            ("input/3/call_id", "x" * 65, "1 to 64"), ("input/3/call_id", GONE, "required"),
            ("input/4/call_id", "call_a", "used twice"), ("input/3/arguments", {}, "a string"),
            ("input/3/arguments", "{", "not JSON"), ("input/3/arguments", "[]", "JSON object"),
            ("input/3/name", "", "no name"), ("input/3/x", 1, "unknown field"),
            ("input/5", GONE, "No tool output found for function call call_b"),
            ("input/5/call_id", "call_x", "No tool call found"),
            ("input/5/call_id", "call_a", "No tool call found"),
            ("input/5/output", GONE, "output: required"), ("input/5/output", {}, "a string or"),
            ("input/6/output/0/type", "output_text", "Supported values"),
            ("input/6/name", "read", "unknown field"),
            ("input/5", {"role": "user", "content": "wait"}, "No tool output found"),
            ("input/6", function_call("call_c"), "No tool output found for function call call_a")])

    def test_other_models(self):
        base = {**RESPONSES, "model": "gpt-6-sol", "reasoning": {"effort": "none"}}
        self.assert_good({**base, "temperature": 1})


# ---- Anthropic

EPHEMERAL = {"type": "ephemeral"}
ANTHROPIC = {
    "model": "claude-opus-5-5", "max_tokens": 4000, "stream": True,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": EPHEMERAL}],
    "thinking": {"type": "adaptive", "display": "summarized"},
    "output_config": {"effort": "medium"}, "tool_choice": {"type": "auto"},
    "tools": [{"name": "read", "description": "d", "input_schema": PLAIN}],
    "messages": [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "", "signature": "AAAA"},
            {"type": "redacted_thinking", "data": "BBBB"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}},
            {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": ""},
            {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True,
             "content": [{"type": "text", "text": "no"}, {"type": "image", "source": {
                 "type": "base64", "media_type": "image/png", "data": PNG}}]},
            {"type": "text", "text": "go on", "cache_control": EPHEMERAL}]},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": [{"type": "text", "text": "thanks"}]}]}


class Anthropic(RuleTest):
    format, path = "anthropic", "/v1/messages"
    headers = {"x-api-key": "k", "anthropic-version": "2026-10-21",
               "content-type": "application/json"}

    def test_path_and_headers(self):
        self.assertIn("path", self.problems(ANTHROPIC, path="/messages")[0])
        self.assert_headers(ANTHROPIC, [
            ("x-api-key", None, "required"), ("authorization", "Bearer k", "only one of them"),
            ("x-api-key", "", "must be KEY"), ("anthropic-version", None, "anthropic-version"),
            ("anthropic-version", "2020-01-01", "anthropic-version"),
            ("anthropic-beta", "no-such-beta", "Unexpected value"),
            ("x-goog-api-key", "k", "another vendor")])
        bearer = {**self.headers, "authorization": "Bearer k"}
        del bearer["x-api-key"]
        self.assert_good(ANTHROPIC, headers=bearer)
        self.assert_good(ANTHROPIC, headers={**self.headers, "anthropic-beta":
                                             "compact-2026-09-04, fast-mode-2026-02-01"})

    def test_sampling(self):
        older = {**self.headers, "anthropic-version": "2023-06-01"}
        for key, value in (("temperature", 1.0), ("top_p", 1.0), ("top_k", 5)):
            body = {**ANTHROPIC, key: value}
            self.assertIn("not accepted by version", self.problems(body)[0])
            self.assert_good(body, headers=older)

    def test_fields(self):
        self.assert_rules(ANTHROPIC, [
            ("model", GONE, "model: required"), ("max_tokens", GONE, "max_tokens: required"),
            ("max_tokens", -1, "at least 0"), ("max_tokens", "1", "integer"),
            ("messages", GONE, "messages: required"), ("messages", [], "must not be empty"),
            ("max_completion_tokens", 1, "unknown field"), ("stream", "x", "stream"),
            ("system", 5, "system: must be an array"), ("system", [], "must not be empty"),
            ("system/0/text", " ", "non-whitespace"), ("system/0/type", "image", "text block"),
            ("system/0/x", 1, "unknown field"), ("system/0/text", 1, "must be a string"),
            ("messages/0", "go", "must be an object"), ("output_config/effort", "none", "effort"),
            ("output_config/x", 1, "unknown field"), ("metadata", {"x": 1}, "unknown field"),
            ("stop_sequences", "x", "array of strings"), ("service_tier", "x", "service_tier"),
            ("speed", "x", "speed")])
        self.assert_accepts(ANTHROPIC, [("system", "Be brief."), ("system", GONE),
                                        ("metadata", {"user_id": "u"})])

    def test_thinking_field(self):
        manual = {"type": "enabled", "budget_tokens": 2000}
        older = changed({**ANTHROPIC, "thinking": manual}, "model", "claude-haiku-4-5")
        self.assert_rules(older, [
            ("thinking/budget_tokens", 1023, "at least 1024"),
            ("thinking/budget_tokens", 4000, "less than max_tokens"),
            ("thinking/budget_tokens", GONE, "integer"),
            ("thinking", {"type": "adaptive"}, "knows only enabled and disabled"),
            ("tool_choice", {"type": "any"}, "cannot be forced")])
        self.assert_rules(ANTHROPIC, [
            ("thinking", {"type": "on"}, "must be an object of type"), ("thinking", True, "object"),
            ("thinking/budget_tokens", 2000, "unknown field"), ("thinking/display", "x", "display"),
            ("thinking", manual, "always thinks"), ("thinking", {"type": "disabled"}, "always"),
            ("tool_choice", {"type": "tool", "name": "read"}, "cannot be forced")])

    def test_tools(self):
        self.assert_rules(ANTHROPIC, [
            ("tools", [], "must not be empty"), ("tools", GONE, "tool_choice: only"),
            ("tools/0/name", "a b", "no name"), ("tools/0/input_schema", GONE, "required"),
            ("tools/0/parameters", {}, "unknown field"), ("tools/0/type", "x", "custom"),
            ("tools", Added(ANTHROPIC["tools"][0]), "names must differ"),
            ("tools/0/description", 1, "must be a string"), ("tools/0/strict", 1, "true or false"),
            ("tool_choice", "auto", "object of type"), ("tool_choice", {"type": "x"}, "type auto"),
            ("tool_choice", {"type": "none", "disable_parallel_tool_use": True}, "unknown field"),
            ("tool_choice", {"type": "tool", "name": "x"}, "not in tools")])
        self.assert_accepts(ANTHROPIC, [
            ("tool_choice", {"type": "none"}),
            ("tool_choice", {"type": "auto", "disable_parallel_tool_use": True}),
            ("tools/0/eager_input_streaming", True)])

    def test_messages(self):
        self.assert_rules(ANTHROPIC, [
            ("messages/0", GONE, "the first message must be of the user"),
            ("messages/0/role", "root", "no such role"), ("messages/0/name", "x", "unknown field"),
            ("messages/0/content", "", "non-whitespace"), ("messages/0/content", GONE, "required"),
            ("messages/0/content", "\n ", "non-whitespace"), ("messages/0/content", [], "empty"),
            ("messages/3", GONE, "roles must alternate"),
            ("messages/4", GONE, "must not end with an assistant"),
            ("messages/4/content/0/text", "", "non-whitespace"),
            ("messages/4/content/0/type", "output_text", "no such block"),
            ("messages/4/content/0/x", 1, "unknown field"),
            ("messages/4/content/0/citations", [{}], "citations"),
            ("messages/1/content/2/type", "document", "no such block"),
            ("messages/2/content/1/content/0/text", "", "non-whitespace"),
            ("messages/2/content/1/content/1/source/media_type", "image/tiff", "media_type"),
            ("messages/2/content/1/content/1/source", "data:", "must be an object"),
            ("messages/2/content/1/content/1/source/x", 1, "unknown field"),
            ("messages/2/content/1/content/1/source/data", "", "image cannot be empty"),
            ("messages/4/content/0", {"type": "document", "source": "x"}, "must be an object"),
            ("messages/4/content/0", {"type": "search_result", "source": "x"}, "title: must be"),
            ("messages/4/content/0/cache_control", "yes", "must be an object")])

    def test_thinking_blocks(self):
        block = "messages/1/content/0"
        self.assert_rules(ANTHROPIC, [
            (f"{block}/signature", GONE, "signature: must be a string"),
            (f"{block}/signature", "", "signature: must not be empty"),
            (f"{block}/thinking", GONE, "thinking: must be a string"),
            (f"{block}/cache_control", EPHEMERAL, "cache_control: unknown field"),
            ("messages/1/content/1/data", GONE, "data: must be a string"),
            ("messages/4/content/0", {"type": "thinking", "thinking": "", "signature": "A"},
             "no such block here")])

    def test_tool_blocks(self):
        calls, results = "messages/1/content", "messages/2/content"
        self.assert_rules(ANTHROPIC, [
            (f"{calls}/3/id", "a.b", "must match"), (f"{calls}/3/id", "", "must match"),
            (f"{calls}/4/id", "toolu_1", "must be unique"), (f"{calls}/3/input", GONE, "object"),
            (f"{calls}/3/input", "{}", "must be an object"), (f"{calls}/3/name", "", "no name"),
            (f"{results}/0", GONE, "without `tool_result` blocks immediately after: toolu_2"),
            (f"{results}/0/tool_use_id", "toolu_9", "unexpected `tool_use_id`"),
            (f"{results}/0/tool_use_id", "toolu_1", "unexpected `tool_use_id`"),
            (f"{results}/1/content", "", "cannot be empty if `is_error`"),
            (f"{results}/1/is_error", "yes", "true or false"), (f"{results}/0/x", 1, "unknown"),
            (f"{results}/0/content", 5, "a string or an array"),
            (f"{results}/1/content/0/type", "thinking", "no such block"),
            (results, ANTHROPIC["messages"][2]["content"][::-1], "must come first"),
            (results, "later", "without `tool_result`"),
            ("messages/4/content/0", {"type": "tool_result", "tool_use_id": "toolu_1"},
             "unexpected `tool_use_id`")])

    def test_unanswered_at_the_end(self):
        body = changed(ANTHROPIC, "messages", ANTHROPIC["messages"][:2])
        self.assertIn("without `tool_result`", "".join(self.problems(body)))

    def test_ids_are_unique_over_the_whole_conversation(self):
        again = [{"role": "assistant", "content": [ANTHROPIC["messages"][1]["content"][3]]},
                 {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1"}]}]
        body = changed(ANTHROPIC, "messages", Added(*again))
        self.assertIn("must be unique", "".join(self.problems(body)))

    def test_cache_marks(self):
        marked = ANTHROPIC
        for path in ("tools/0", "messages/2/content/0", "messages/4/content/0"):
            self.assert_good(changed(marked, f"{path}/cache_control", EPHEMERAL))
        for path in ("tools/0", "messages/2/content/0"):
            marked = changed(marked, f"{path}/cache_control", EPHEMERAL)
        self.assert_rules(marked, [
            ("messages/4/content/0/cache_control", EPHEMERAL, "at most 4 marks, there are 5"),
            ("cache_control", EPHEMERAL, "there are 5"),
            ("tools/0/cache_control", {"type": "forever"}, "ephemeral"),
            ("tools/0/cache_control", {"type": "ephemeral", "ttl": "2h"}, "ttl"),
            ("tools/0/cache_control/x", 1, "unknown field"),
            ("messages/2/content/0/cache_control", {"type": "ephemeral", "ttl": "1h"},
             "must not come after one of 5m")])

    def test_system_in_the_middle(self):
        late = {"role": "system", "content": "Be briefer."}
        self.assert_accepts(ANTHROPIC, [("messages", Added(late))])
        older = changed(ANTHROPIC, "model", "claude-opus-4-7")
        self.assert_rules(older, [("messages", Added(late), "takes no system message")])
        early = changed(ANTHROPIC, "messages", [late] + ANTHROPIC["messages"])
        self.assertIn("must follow one of the user", "".join(self.problems(early)))


# ---- Gemini

GEMINI = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "tools": [{"functionDeclarations": [{"name": "read", "description": "d",
                                         "parametersJsonSchema": PLAIN},
                                        {"name": "pwd", "description": "d"}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    "generationConfig": {"maxOutputTokens": 100, "thinkingConfig": {"thinkingLevel": "LOW",
                                                                   "includeThoughts": True}},
    "contents": [
        {"role": "user", "parts": [{"text": "look"}]},
        {"role": "model", "parts": [
            {"text": "Think", "thought": True}, {"text": "I look."},
            {"functionCall": {"id": "f1", "name": "read", "args": {"path": "a"}},
             "thoughtSignature": "AAAA"},
            {"functionCall": {"name": "pwd"}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "f1", "name": "read", "response": {"output": "x"}}},
            {"functionResponse": {"name": "pwd", "response": {"error": "no"}}}]}]}
DONE = ({"role": "model", "parts": [{"text": "Done."}, {"text": "", "thoughtSignature": "BBBB"}]},
        {"role": "user", "parts": [{"text": "thanks"}]})


class Gemini(RuleTest):
    format, path = "gemini", "/v1beta/models/gemini-4-argon:streamGenerateContent?alt=sse"
    headers = {"x-goog-api-key": "k", "content-type": "application/json"}

    def test_path_and_headers(self):
        for path, expected in [
                ("/v1/models/gemini-4-argon:generateContent", "must be"),
                ("/v1beta/models/gemini-4-argon:generateContent?alt=sse", "unknown parameter"),
                (self.path + "&key=k", "belongs into x-goog-api-key"),
                (self.path + "&x=1", "unknown parameter")]:
            self.assertIn(expected, "".join(self.problems(GEMINI, path=path)))
        self.assert_good(GEMINI, path="/v1beta/models/gemini-4-argon:generateContent")
        self.assert_headers(GEMINI, [
            ("x-goog-api-key", None, "required"), ("authorization", "Bearer k", "another vendor")])

    def test_fields(self):
        self.assert_rules(GEMINI, [
            ("contents", GONE, "contents: required"), ("contents", [], "must not be empty"),
            ("maxOutputTokens", 5, "unknown field"), ("temperature", 1, "unknown field"),
            ("model", "gemini", "unknown field"), ("generation_config", {}, "unknown field"),
            ("generationConfig/x", 1, "unknown field"),
            ("generationConfig/maxOutputTokens", 0, "at least 1"),
            ("generationConfig/temperature", 3, "between 0 and 2"),
            ("generationConfig/stopSequences", ["x"] * 6, "at most 5"),
            ("contents/0", "look", "must be an object"),
            ("contents/0/parts/0", "look", "must be an object"),
            ("contents/0/parts/0", {"inlineData": {"mimeType": "image/png"}}, "data: required"),
            ("toolConfig", "AUTO", "must be an object"),
            ("toolConfig/functionCallingConfig", "AUTO", "must be an object"),
            ("toolConfig/functionCallingConfig/allowedFunctionNames", "read", "array of strings"),
            ("generationConfig/thinkingConfig/thinkingBudget", 5, "exclude each other"),
            ("generationConfig/thinkingConfig/thinkingLevel", "MAX", "thinkingLevel"),
            ("generationConfig/thinkingConfig/thinkingLevel", "MINIMAL", "thinkingLevel"),
            ("generationConfig/thinkingConfig/includeThoughts", 1, "true or false"),
            ("generationConfig/thinkingConfig", {"thinkingBudget": 5}, "wants thinkingLevel"),
            ("generationConfig/thinkingConfig/effort", "x", "unknown field"),
            ("systemInstruction", "Be brief.", "must be an object"),
            ("systemInstruction/parts/0/text", "", "must not be empty"),
            ("systemInstruction/parts", [], "must not be empty")])
        older = self.path.replace("4-argon", "2.5-pro")
        self.assertIn("only thinkingBudget", "".join(self.problems(GEMINI, path=older)))
        off = changed(GEMINI, "generationConfig/thinkingConfig",
                      {"thinkingBudget": 0, "includeThoughts": True})
        self.assertIn("only enabled when", "".join(self.problems(off, path=older)))
        budget = changed(GEMINI, "generationConfig/thinkingConfig", {"thinkingBudget": -1})
        self.assert_rules(budget, [("generationConfig/thinkingConfig/thinkingBudget", -2,
                                    "at least -1")], path=older)

    def test_tools(self):
        function = "tools/0/functionDeclarations/0"
        self.assert_rules(GEMINI, [
            ("tools", [], "must not be empty"), ("tools/0", {}, "must not be empty"),
            ("tools/0/functionDeclarations", [], "must not be empty"),
            ("tools/0/functions", [], "unknown field"), ("tools", GONE, "only allowed with tools"),
            (f"{function}/name", "1a", "no name"), (f"{function}/name", "pwd", "names must differ"),
            (f"{function}/description", GONE, "description: required"),
            (f"{function}/description", "", "description: must not be empty"),
            (f"{function}/strict", True, "unknown field"),
            (f"{function}/parameters", Schemas.SUBSET, "exclude each other"),
            ("toolConfig/functionCallingConfig/mode", "auto", "mode"),
            ("toolConfig/functionCallingConfig/allowedFunctionNames", ["read"], "only with mode"),
            ("toolConfig/functionCallingConfig", {"mode": "ANY", "allowedFunctionNames": ["x"]},
             "not declared"), ("toolConfig/x", 1, "unknown field")])
        self.assert_accepts(GEMINI, [("toolConfig/functionCallingConfig", {
            "mode": "ANY", "allowedFunctionNames": ["read"]})])

    def test_contents(self):
        base = changed(GEMINI, "contents", Added(*DONE))
        self.assert_rules(base, [
            ("contents/0/role", "system", "must be user or model"),
            ("contents/0/role", GONE, "role: required"), ("contents/0/x", 1, "unknown field"),
            ("contents/0/parts", [], "must not be empty"), ("contents/0/parts", GONE, "required"),
            ("contents/0/parts/0/text", "", "must not be empty"),
            ("contents/0/parts/0/text", 1, "must be a string"),
            ("contents/0/parts/0", {}, "exactly one kind"),
            ("contents/0/parts/0/inlineData", {}, "exactly one kind"),
            ("contents/0/parts/0/type", "text", "unknown field"),
            ("contents/0", GONE, "the first content must be of the user"),
            ("contents/4", GONE, "the last content must be of the user"),
            ("contents/3/parts/1/thoughtSignature", GONE, "text: must not be empty"),
            ("contents/1/parts/0/thought", 1, "true or false")])

    def test_calls_and_responses(self):
        call, response = "contents/1/parts/2/functionCall", "contents/2/parts/0/functionResponse"
        self.assert_rules(GEMINI, [
            ("contents/2/parts/1", GONE, "number of function response parts"),
            ("contents/2/parts", Added({"functionResponse": {"name": "pwd", "response": {}}}),
             "number of function response parts"),
            ("contents/2/parts", GEMINI["contents"][2]["parts"][::-1], "name: must be 'read'"),
            (f"{response}/name", "other", "name: must be 'read'"),
            (f"{response}/id", GONE, "id: must be that of the call"),
            ("contents/2/parts/1/functionResponse/id", "x", "id: must be that of the call"),
            (f"{response}/response", "text", "must be an object"),
            (f"{response}/response", GONE, "required"), (f"{response}/x", 1, "unknown field"),
            (f"{call}/args", "{}", "must be an object"), (f"{call}/name", "", "no name"),
            (f"{call}/partialArgs", [], "unknown field"), (f"{call}/id", "", "must not be empty"),
            ("contents/2", {"role": "user", "parts": [{"text": "no"}]}, "number of function"),
            ("contents/2", GONE, "calls without their responses"),
            ("contents/2/role", "model", "content of the user"),
            ("contents/0/parts/0", {"functionCall": {"name": "pwd"}}, "only the model calls"),
            ("contents/0/parts/0", {"functionResponse": {"name": "pwd", "response": {}}},
             "number of function response")])

    def test_signatures(self):
        self.assert_rules(GEMINI, [
            ("contents/1/parts/2/thoughtSignature", GONE, "missing a thought_signature"),
            ("contents/1/parts/2/thoughtSignature", "", "not empty"),
            ("contents/1/parts/2/thoughtSignature", "no base 64!", "Base64"),
            ("contents/0/parts/0/thoughtSignature", "AAAA", "only the model")])
        self.assert_accepts(GEMINI, [("contents/1/parts/2/thoughtSignature",
                                      "skip_thought_signature_validator")])
        unsigned = changed(GEMINI, "contents/1/parts/2/thoughtSignature", GONE)
        self.assert_good(changed(unsigned, "contents", Added(*DONE)))  # an earlier turn
        old = changed(unsigned, "generationConfig", {"thinkingConfig": {"thinkingBudget": 0}})
        self.assert_good(old, path=self.path.replace("4-argon", "2.5-pro"))

    def test_each_step_of_a_turn_is_signed(self):
        step = GEMINI["contents"][1:]
        body = changed(GEMINI, "contents", Added(*step))
        self.assert_rules(body, [("contents/3/parts/2/thoughtSignature", GONE,
                                  "contents[3].parts[2]: Function call is missing"),
                                 ("contents/1/parts/2/thoughtSignature", GONE,
                                  "contents[1].parts[2]: Function call is missing")])

    def test_chunks_of_a_stream_as_contents(self):
        """What the vendor's own client makes of them."""
        parts = GEMINI["contents"][1]["parts"] + [{"text": ""}]
        chunks = [{"role": "model", "parts": [part]} for part in parts]
        user, _, responses = GEMINI["contents"]
        body = changed(GEMINI, "contents", [user, *chunks, responses])
        self.assert_rules(body, [
            ("contents/3/parts/0/thoughtSignature", GONE, "missing a thought_signature"),
            ("contents/6/parts/1", GONE, "number of function response parts")])
        together = changed(GEMINI, "contents/1/parts", Added({"text": ""}))
        self.assertIn("must not be empty", "".join(self.problems(together)))


if __name__ == "__main__":
    unittest.main()
