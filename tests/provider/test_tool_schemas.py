"""No schema that discovery accepts makes a provider refuse a request: thousands of odd schemas, such as
people and generators write, are checked by the validators of all wire formats."""
import json
import os
import random
import subprocess
import unittest

import support_provider  # noqa: F401: puts the tests' folder onto the path
from fake_llm.validators import validate
from support import OBJECTS

TARGETS = {"chat": ("chat", "openai"), "chat_plain": ("chat", "openai"), "local": ("chat", "plain"),
           "responses": ("responses", "openai"), "anthropic": ("anthropic", "openai"),
           "gemini": ("gemini", "openai"), "gemini_old": ("gemini", "openai")}
COUNT = int(os.environ.get("IKIGAI_SCHEMAS", "3000"))


def ask(schemas):
    """The driver's answer for each schema."""
    text = "".join(json.dumps(schema) + "\n" for schema in schemas)
    done = subprocess.run([os.path.join(OBJECTS, "tests", "provider", "schema_driver")],
                          input=text.encode(), stdout=subprocess.PIPE, timeout=600, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(schemas)
    return answers


def find_problems(answer):
    return {name: found for name, body in answer["bodies"].items()
            for found in [validate(TARGETS[name][0], None, None, body, TARGETS[name][1])] if found}


class Writer:
    """Generates schemas: mostly valid, with occasional plausible mistakes."""
    TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"]
    ODD_TYPES = ["String", "int", "str", "strng", "bool", "any", "list", "", None, 5, [], "dict"]
    NAMES = ["path", "a", "b", "x-y", "x.y", "count", "type", "properties", "required", "items",
             "enum", "$ref", "a b", "ä", "", "x" * 65, "default", "anyOf"]
    PATTERNS = ["^a+$", "[a-z]{1,3}", "(?:x|y)", "\\d+", "(", "[", "a{3,1}", "*", "a**", "\\p{L}",
                "(?<n>a)", "(?P<n>a)", "[z-a]", "\\", "a|", "(?=a)b", "[[:alpha:]]", "\\1", "x{,3}",
                "[^]]", "(?i)a", "^*", "é+", "[a\\-z]", "\\/", "\\-", "\\c", "a{2}{3}", "(?#c)", "$?"]
    JUNK = [None, True, False, 0, -1, 1.5, 5, "", "true", "text", [], {}, ["a"], [1], {"a": 1}]

    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def tool(self):
        tool = {"name": self.random.choice(["tool", "my-tool", "x1"])}
        if self.chance(80):
            tool["description"] = self.random.choice(["Does it", "", "  "] if self.chance(10)
                                                     else ["Does it"])
        if self.chance(95):
            tool["parameters"] = self.root()
        if self.chance(40):
            tool["returns"] = self.schema(2) if self.chance(60) else self.properties(2)
        return tool

    def root(self):
        if self.chance(15):  # the short form
            return self.properties(2)
        root = {"type": "object", "properties": self.properties(3)}
        if self.chance(60):
            root["required"] = self.names(root["properties"])
        if self.chance(25):
            key = self.random.choice(["$defs", "definitions"])
            root[key] = {name: self.schema(2) for name in ("D", "E")}
        if self.chance(30):
            self.spoil(root, 1)
        if self.chance(20):
            root["additionalProperties"] = self.random.choice([True, False, {}])
        return root

    def names(self, properties):
        known = list(properties) if isinstance(properties, dict) else []
        return [n for n in known if self.chance(50)] + (["unknown"] if self.chance(5) else [])

    def properties(self, depth):
        count = self.random.choice([0, 1, 1, 2, 3])
        good = self.NAMES[:13]
        return {self.random.choice(self.NAMES if self.chance(4) else good):
                self.random.choice(self.JUNK) if self.chance(1) else self.schema(depth)
                for _ in range(count)}

    def schema(self, depth):
        schema = {}
        if self.chance(90):
            kind = self.random.choice(self.TYPES[:4] if depth == 0 else self.TYPES)
            schema["type"] = kind
            if self.chance(12):
                schema["type"] = [kind, self.random.choice(self.TYPES)]
            if self.chance(2):
                schema["type"] = self.random.choice(self.ODD_TYPES)
            getattr(self, "fill_" + kind, lambda *_: None)(schema, depth)
        if self.chance(50):
            schema["description"] = "About it"
        if depth > 0 and self.chance(12):
            key = self.random.choice(["anyOf", "oneOf", "allOf"])
            schema[key] = [self.schema(depth - 1) for _ in range(self.random.choice([1, 2, 2, 3]))]
            if self.chance(60):
                schema.pop("type", None)
        if self.chance(5):
            schema = {"$ref": self.random.choice(
                ["#/$defs/D", "#/definitions/E", "#", "#/$defs/None", "other.json",
                 "#/properties/a", "#D"])}
        for _ in range(2):
            if self.chance(6):
                self.spoil(schema, depth)
        return schema

    def fill_string(self, schema, depth):
        if self.chance(15):
            schema["enum"] = self.random.choice([["a", "b"], ["a", "a"], ["a", None], [""], [1], []]
                                                if self.chance(30) else [["a", "b"], ["x"]])
        if self.chance(15):
            schema["pattern"] = self.random.choice(self.PATTERNS)
        if self.chance(10):
            schema["format"] = self.random.choice(["date-time", "uri", "path", "email", "int32"])
        if self.chance(10):
            schema[self.random.choice(["minLength", "maxLength"])] = self.random.choice([0, 5, 2.0])

    def fill_integer(self, schema, depth):
        if self.chance(20):
            schema["minimum"] = self.random.choice([0, 1, -5])
        if self.chance(10):
            schema[self.random.choice(["exclusiveMinimum", "exclusiveMaximum"])] = \
                self.random.choice([True, False, 3])
        if self.chance(10):
            schema["multipleOf"] = self.random.choice([5, 0, 0.5])
        if self.chance(10):
            schema["enum"] = self.random.choice([[1, 2], ["1"], [1.0, 2], [None, 1]])

    fill_number = fill_integer

    def fill_boolean(self, schema, depth):
        if self.chance(5):
            schema["const"] = self.random.choice([True, "true"])

    def fill_array(self, schema, depth):
        if self.chance(80):
            schema["items"] = self.schema(depth - 1)
        if self.chance(8):
            schema["items"] = self.random.choice([True, False, [], [{"type": "string"}]])
        if self.chance(5):
            schema["prefixItems"] = [self.schema(depth - 1)]
        if self.chance(10):
            schema["minItems"] = 1

    def fill_object(self, schema, depth):
        if self.chance(85):
            schema["properties"] = self.properties(depth - 1)
            if self.chance(40):
                schema["required"] = self.names(schema["properties"])
            for value in schema["properties"].values():
                if isinstance(value, dict) and self.chance(12):
                    value["required"] = self.random.choice([True, False, "true", "false"])
        if self.chance(20):
            schema["additionalProperties"] = self.random.choice(
                [True, False, {"type": "string"}, self.schema(depth - 1)])

    KEYS = ("type description title enum const default examples format pattern minimum maximum "
            "exclusiveMinimum multipleOf minLength maxItems required properties items prefixItems "
            "anyOf oneOf allOf not if then additionalProperties patternProperties propertyNames "
            "$schema $id $comment $ref $defs definitions nullable uniqueItems deprecated readOnly "
            "dependentRequired dependencies unevaluatedProperties contains example x-own").split()

    def spoil(self, schema, depth):
        key = self.random.choice(self.KEYS)
        if self.chance(25) and depth > 0:
            schema[key] = self.schema(depth - 1)
        else:
            schema[key] = self.random.choice(self.JUNK)


class Schemas(unittest.TestCase):
    maxDiff = None

    def test_what_discovery_accepts_no_provider_refuses(self):
        seed = int(os.environ.get("IKIGAI_SEED", "1"))
        writer = Writer(seed)
        schemas = [writer.tool() for _ in range(COUNT)]
        accepted = repaired = 0
        for schema, answer in zip(schemas, ask(schemas)):
            if "error" in answer:
                self.assertNotEqual(answer["error"], "")
                continue
            accepted += 1
            repaired += bool(answer["repairs"])
            self.assertEqual(find_problems(answer), {}, json.dumps(schema))
        # The test would prove nothing if every schema were refused.
        self.assertGreater(accepted, COUNT * 0.4)
        self.assertGreater(repaired, COUNT * 0.1)

    def test_what_made_every_turn_fail(self):
        cases = [
            ({"type": "string", "required": True}, {"type": "string"}),
            ({"type": "array"}, {"type": "array", "items": {}}),
        ]
        tools = [{"name": "t", "parameters": {"type": "object", "properties": {"x": written}}}
                 for written, _ in cases]
        for (_, sent), answer in zip(cases, ask(tools)):
            (tool,) = answer["bodies"]["anthropic"]["tools"]
            self.assertEqual(tool["input_schema"]["properties"]["x"], sent)
            self.assertEqual(tool["description"], "t")
            self.assertEqual(find_problems(answer), {})


if __name__ == "__main__":
    unittest.main()
