"""OpenAI's strict schemas: every rule, and the nulls that come back because of them."""
import json
import unittest

from support_provider import run
from fake_llm.checks import Problems
from fake_llm.schemas import check_openai

TEXT = {"type": "string"}


def schema(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required)}


class StrictTest(unittest.TestCase):
    maxDiff = None

    def ask(self, schema, arguments="{}"):
        return run("request_driver",
                   input=json.dumps({"schema": schema, "arguments": arguments}).encode())

    def strict(self, schema):
        made = self.ask(schema)["strict"]
        if made is not None:
            problems = Problems()
            check_openai(problems, made, "schema", True)
            self.assertEqual(list(problems), [])
        return made

    def of(self, property, required=False):
        """The strict form of one property; None when it has none."""
        made = self.strict(schema(["x"] if required else [], x=property))
        return None if made is None else made["properties"]["x"]

    def assert_not_strict(self, *schemas):
        for each in schemas:
            with self.subTest(schema=each):
                self.assertIsNone(self.strict(each))


class Root(StrictTest):
    def test_all_required_and_closed(self):
        made = self.strict(schema(["a"], a=TEXT, b={"type": "integer", "description": "B"}))
        self.assertEqual(made, {
            "type": "object", "required": ["a", "b"], "additionalProperties": False,
            "properties": {"a": TEXT, "b": {"type": ["integer", "null"], "description": "B"}}})

    def test_no_parameters(self):
        self.assertEqual(self.strict(schema()), {"type": "object", "properties": {}, "required": [],
                                                 "additionalProperties": False})

    def test_what_is_no_root(self):
        self.assert_not_strict(
            {"type": "string"}, {"properties": {}}, {"type": ["object", "null"], "properties": {}},
            {"type": "object", "anyOf": [schema()]}, {"type": "object"},
            {**schema(), "enum": [{}]}, {**schema(), "oneOf": [schema()]})

    def test_open_ones(self):
        self.assert_not_strict({**schema(), "additionalProperties": True},
                               {**schema(), "additionalProperties": TEXT})
        self.assertIsNotNone(self.strict({**schema(), "additionalProperties": False}))

    def test_required_but_not_described(self):
        self.assert_not_strict({**schema(a=TEXT), "required": ["b"]},
                               {**schema(a=TEXT), "required": "a"})

    def test_dialect_and_identity_are_dropped(self):
        made = self.strict({"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "x",
                            **schema(["a"], a={**TEXT, "$comment": "c"})})
        self.assertEqual(made["properties"], {"a": TEXT})
        self.assertNotIn("$schema", made)
        self.assertNotIn("$id", made)

    def test_order_is_kept(self):
        made = self.strict(schema([], z=TEXT, a=TEXT, m=TEXT))
        self.assertEqual(list(made["properties"]), ["z", "a", "m"])
        self.assertEqual(made["required"], ["z", "a", "m"])


class Optional(StrictTest):
    def test_types(self):
        self.assertEqual(self.of(TEXT), {"type": ["string", "null"]})
        self.assertEqual(self.of({"type": ["string", "integer"]}),
                         {"type": ["string", "integer", "null"]})
        self.assertEqual(self.of({"type": ["string", "null"]}), {"type": ["string", "null"]})
        self.assertEqual(self.of({"type": "null"}), {"type": "null"})

    def test_enum(self):
        self.assertEqual(self.of({**TEXT, "enum": ["a", "b"]}),
                         {"type": ["string", "null"], "enum": ["a", "b", None]})
        self.assertEqual(self.of({"type": ["string", "null"], "enum": ["a", None]}),
                         {"type": ["string", "null"], "enum": ["a", None]})

    def test_const(self):
        self.assertEqual(self.of({**TEXT, "const": "a"}),
                         {"anyOf": [{**TEXT, "const": "a"}, {"type": "null"}]})

    def test_union(self):
        self.assertEqual(self.of({"anyOf": [TEXT, {"type": "integer"}]}),
                         {"anyOf": [TEXT, {"type": "integer"}, {"type": "null"}]})
        self.assertEqual(self.of({"anyOf": [TEXT, {"type": "null"}]}),
                         {"anyOf": [TEXT, {"type": "null"}]})

    def test_reference(self):
        made = self.strict({**schema(["a"], a={"$ref": "#/$defs/t"},
                                     b={"$ref": "#/$defs/t", "description": "B"}),
                            "$defs": {"t": schema(["x"], x=TEXT)}})
        self.assertEqual(made["properties"]["a"], {"$ref": "#/$defs/t"})
        self.assertEqual(made["properties"]["b"],
                         {"anyOf": [{"$ref": "#/$defs/t", "description": "B"}, {"type": "null"}]})
        self.assertIs(made["$defs"]["t"]["additionalProperties"], False)

    def test_required_ones_stay_as_they_are(self):
        for each in (TEXT, {**TEXT, "enum": ["a"]}, {"anyOf": [TEXT]}, {**TEXT, "const": "a"}):
            self.assertEqual(self.of(each, required=True), each)


class Nested(StrictTest):
    def test_objects(self):
        self.assertEqual(self.of(schema(["a"], a=TEXT, b=TEXT)), {
            "type": ["object", "null"], "additionalProperties": False, "required": ["a", "b"],
            "properties": {"a": TEXT, "b": {"type": ["string", "null"]}}})

    def test_arrays(self):
        self.assertEqual(self.of({"type": "array", "items": schema([], a=TEXT)}, True)["items"], {
            "type": "object", "additionalProperties": False, "required": ["a"],
            "properties": {"a": {"type": ["string", "null"]}}})
        self.assert_not_strict(schema(x={"type": "array"}),
                               schema(x={"type": "array", "items": [TEXT, TEXT]}),
                               schema(x={"type": "array", "items": True}))

    def test_maps(self):
        self.assert_not_strict(
            schema(x={"type": "object"}), schema(x={"type": "object", "properties": {}}),
            schema(x={"type": "object", "additionalProperties": TEXT}),
            schema(x={"type": ["object", "null"]}), schema(x={"type": "array", "items": {
                "type": "object"}}), schema(x={"anyOf": [{"type": "object"}, TEXT]}))
        self.assertIsNotNone(self.strict(schema(x={"type": "object", "properties": {},
                                                   "additionalProperties": False})))

    def test_unions(self):
        made = self.of({"anyOf": [schema([], a=TEXT), TEXT]}, required=True)
        self.assertEqual(made["anyOf"][0]["required"], ["a"])
        self.assert_not_strict(schema(x={"anyOf": []}), schema(x={"anyOf": [True]}),
                               schema(x={"anyOf": [{"oneOf": [TEXT]}]}))

    def test_definitions(self):
        self.assert_not_strict({**schema(), "$defs": {"t": {"type": "object"}}},
                               {**schema(), "$defs": []}, {**schema(), "definitions": {}})


class Keywords(StrictTest):
    def test_refused(self):
        for word in ("allOf oneOf not if then else dependentRequired dependentSchemas dependencies "
                     "patternProperties propertyNames unevaluatedProperties unevaluatedItems "
                     "contains minContains maxContains uniqueItems minProperties maxProperties "
                     "prefixItems contentEncoding contentMediaType contentSchema $anchor "
                     "$dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor additionalItems "
                     "default examples minLength x-mine").split():
            self.assert_not_strict(schema(x={**TEXT, word: 1}), {**schema(), word: {}})

    def test_allowed(self):
        for property in ({"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 2},
                         {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                         {**TEXT, "pattern": "^a$", "title": "T", "description": "D"},
                         {**TEXT, "format": "date-time"},
                         {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 2}):
            self.assertEqual(self.of(property, required=True), property)
        self.assert_not_strict(schema(x={**TEXT, "format": "uri"}))

    def test_references(self):
        self.assert_not_strict(schema(x={"$ref": "https://example.org/s"}),
                               schema(x={"$ref": "#/$defs/t", "minimum": 1}), schema(x={"$ref": 5}))

    def test_what_has_no_type(self):
        self.assert_not_strict(schema(x={}), schema(x=True), schema(x={"enum": ["a"]}),
                               schema(x={"const": "a"}), schema(x={"type": "text"}),
                               schema(x={"type": []}), schema(x={"type": ["string", 5]}),
                               schema(x={**TEXT, "enum": []}), schema(x={**TEXT, "enum": "a"}))

    def test_keywords_of_another_type(self):
        self.assert_not_strict(schema(x={**TEXT, "properties": {}}),
                               schema(x={**TEXT, "items": TEXT}),
                               schema(x={"anyOf": [TEXT], "required": ["a"]}))

    def test_bounds(self):
        def deep(levels):
            return TEXT if levels == 0 else schema(["x"], x=deep(levels - 1))

        self.assertIsNotNone(self.strict(deep(5)))
        self.assert_not_strict(deep(6), schema(**{f"p{n}": TEXT for n in range(101)}),
                               schema(x={**TEXT, "enum": [f"v{n}" for n in range(501)]}))


class Nulls(StrictTest):
    """Arguments as the tool gets them."""

    def left(self, schema, arguments):
        return self.ask(schema, arguments)["arguments"]

    def test_optional_ones_go_and_the_rest_keeps_its_bytes(self):
        s = schema(["a"], a={"type": ["string", "null"]}, b=TEXT, c={"type": "number"})
        self.assertEqual(self.left(s, '{ "a" : null, "b": null, "c" : 1.50 }'),
                         '{"a":null,"c":1.50}')
        self.assertEqual(self.left(s, '{"a":"\\u0041","b":null,"c":null}'), '{"a":"\\u0041"}')
        self.assertEqual(self.left(s, '{"b":null}'), "{}")

    def test_nothing_to_remove(self):
        s = schema(["a"], a=TEXT, b=TEXT)
        for arguments in ('{"a":"x","b":"y"}', "{}", '{"a":null}', '{"unknown":null}', "[null]",
                          "null", '{"a":[null]}'):
            self.assertIsNone(self.left(s, arguments))

    def test_nested(self):
        inner = schema(["x"], x=TEXT, y=TEXT)
        s = schema(["o", "l"], o=inner, l={"type": "array", "items": inner})
        self.assertEqual(
            self.left(s, '{"o":{"x":"1","y":null},"l":[{"x":null,"y":null},{"x":"2","y":"3"}]}'),
            '{"o":{"x":"1"},"l":[{"x":null},{"x":"2","y":"3"}]}')

    def test_elements_of_arrays_stay(self):
        s = schema([], l={"type": "array", "items": {"type": ["string", "null"]}}, b=TEXT)
        self.assertEqual(self.left(s, '{"l":[null,"a"],"b":null}'), '{"l":[null,"a"]}')

    def test_references(self):
        s = {**schema(["a"], a={"$ref": "#/$defs/t"}, next={"$ref": "#"}),
             "$defs": {"t": schema([], x=TEXT)}}
        self.assertEqual(self.left(s, '{"a":{"x":null},"next":{"a":{"x":"1"},"next":null}}'),
                         '{"a":{},"next":{"a":{"x":"1"}}}')

    def test_a_reference_to_itself(self):
        s = {**schema(["a"], a={"$ref": "#/$defs/t"}), "$defs": {"t": {"$ref": "#/$defs/t"}}}
        self.assertIsNone(self.left(s, '{"a":{"x":null}}'))

    def test_unions_by_their_members(self):
        s = schema(["u"], u={"anyOf": [schema(["x"], x=TEXT, k=TEXT), schema(["k"], y=TEXT, k={
            "type": ["string", "null"]}), {"type": "array", "items": schema([], z=TEXT)}]})
        self.assertEqual(self.left(s, '{"u":{"x":"1","k":null}}'), '{"u":{"x":"1"}}')
        self.assertEqual(self.left(s, '{"u":{"y":null,"k":null}}'), '{"u":{"k":null}}')
        self.assertEqual(self.left(s, '{"u":[{"z":null}]}'), '{"u":[{}]}')

    def test_a_schema_without_a_strict_form(self):
        s = schema([], a=TEXT, m={"type": "object"})
        self.assertIsNone(self.left(s, '{"a":null}'))

    def test_names_that_are_escaped(self):
        self.assertEqual(self.left(schema([], ab=TEXT), '{"\\u0061b":null}'), "{}")


if __name__ == "__main__":
    unittest.main()
