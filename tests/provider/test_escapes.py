"""Every format sends text and results without their escape sequences. Arguments, thoughts and signed
data go back as they came, and stored messages are not changed, so that a longer conversation begins
with the same bytes."""
import json
import unittest

from support_provider import ProviderTest, assistant, call, request, result, user

WIRES = ("chat", "responses", "anthropic", "google")
RED = "\x1b[31mred\x1b[0m \x1b]0;title\x07\u009btext\r\n\tend \b\x01\u202e\u200b"
CLEAN = "red text\r\n\tend \b\x01\u202e\u200b"
ARGUMENTS = json.dumps({"text": "\x1b[31mred\u009b"})
ENVELOPE = json.dumps({"tool_success": True, "result": {"output": RED, "exit_code": 0}})


def strings(value):
    """Every string in a request, and in JSON inside its strings."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value
        if value.startswith(("{", "[")):
            yield from strings(json.loads(value))


def controls(text):
    return [c for c in text if c == "\x1b" or "\x80" <= c <= "\x9f"]


class Escapes(ProviderTest):
    def target(self, wire):
        return {"wire": wire, "provider": "test", "model": "model"}

    def body(self, wire, messages, **more):
        return request(self.target(wire), messages, **more)["body"]

    def step(self, wire, private, messages, calls=()):
        return {"model": "test/model", "step": messages, "calls": list(calls),
                "test": {wire: private}}

    def assert_words(self, body, *expected):
        found = list(strings(body))
        for text in found:
            self.assertEqual(controls(text), [], repr(text))
        for text in expected:
            self.assertIn(text, found)

    def test_words(self):
        for wire in WIRES:
            with self.subTest(wire):
                said = [user(RED), assistant(RED + "."), user("go on")]
                self.assert_words(self.body(wire, said), CLEAN, CLEAN + ".", "go on")

    def test_words_of_which_nothing_is_left(self):
        for wire in WIRES:
            with self.subTest(wire):
                said = [user("\x1b[2J"), assistant(" \x1b[2J\n"), user("\u009b")]
                found = list(strings(self.body(wire, said)))
                self.assertEqual(found.count("\ufffd"), 3, found)

    def test_results(self):
        for wire in WIRES:
            with self.subTest(wire):
                said = [user("go"), call("c1", "t"), result("c1", "t", ENVELOPE),
                        call("c2", "t"), result("c2", "t", RED)]
                self.assert_words(self.body(wire, said), CLEAN)

    def test_results_that_only_look_so(self):
        """A file with the words \\u001b in it is text."""
        text = "print('\\u001b[31m', r'\\b') # \\\\u001b"
        envelope = json.dumps({"tool_success": True, "result": {"output": text}})
        for wire in WIRES:
            with self.subTest(wire):
                said = [user("go"), call("c1", "t"), result("c1", "t", envelope)]
                found = list(strings(self.body(wire, said)))
                self.assertIn(text, found)
                if wire != "google":
                    self.assertIn(envelope, found)

    def test_arguments_are_not_touched(self):
        for wire in WIRES:
            with self.subTest(wire):
                said = [user("go"), call("c1", "t", ARGUMENTS), result("c1", "t")]
                self.assertIn(json.loads(ARGUMENTS)["text"], list(strings(self.body(wire, said))))

    def test_answers_that_go_back_as_items(self):
        items = {
            "anthropic": [{"type": "thinking", "thinking": RED, "signature": "s\x1b"},
                          {"type": "text", "text": RED},
                          {"type": "tool_use", "id": "c1", "name": "t", "input": {}}],
            "google": [{"text": RED, "thought": True}, {"text": RED},
                       {"text": RED + "!", "thoughtSignature": "s"},
                       {"functionCall": {"name": "t", "args": {}}}],
            "responses": [{"type": "reasoning", "id": "r", "summary": [],
                           "encrypted_content": RED},
                          {"type": "message", "id": "m", "role": "assistant",
                           "content": [{"type": "output_text", "text": RED}]},
                          {"type": "function_call", "id": "f", "call_id": "c1", "name": "t",
                           "arguments": ARGUMENTS}]}
        kept = {"anthropic": [RED, "s\x1b"], "google": [RED, RED + "!"],
                "responses": [RED, ARGUMENTS]}
        for wire, private in items.items():
            with self.subTest(wire):
                said = [user("go"),
                        assistant(RED, **self.step(wire, private, 2, ["c1"])),
                        call("c1", "t", ARGUMENTS, provider="test"),
                        result("c1", "t", provider="test")]
                found = list(strings(self.body(wire, said)))
                for text in kept[wire]:
                    self.assertEqual(found.count(text), 1, repr(text))
                self.assertEqual(found.count(CLEAN), 1, found)

    def test_thoughts_of_chat_go_back_as_they_came(self):
        said = [user("go"),
                assistant(RED, **self.step("chat", {"reasoning_content": RED}, 1)), user("and")]
        answer = self.body("chat", said)["messages"][1]
        self.assertEqual((answer["content"], answer["reasoning_content"]), (CLEAN, RED))

    def test_each_request_begins_like_the_one_before(self):
        for wire in WIRES:
            with self.subTest(wire):
                said = [user(RED), call("c1", "t", ARGUMENTS), result("c1", "t", ENVELOPE),
                        assistant(RED), user("go on"), assistant("yes"), user(RED)]
                bodies = request(self.target(wire), said, turns=True)["bodies"]
                last = self.body(wire, said)
                self.assertEqual(bodies[-1], last)
                key = {"responses": "input", "google": "contents"}.get(wire, "messages")
                for body in bodies:
                    count = len(body[key]) - 1
                    self.assertEqual(strip(body[key][:count]), strip(last[key][:count]))


def strip(messages):
    """Removes the cache marks, which move from request to request."""
    return json.loads(json.dumps(messages).replace(
        ', "cache_control": {"type": "ephemeral"}', ""))


if __name__ == "__main__":
    unittest.main()
