"""What the server remembers of its answers: signatures come back where they belong, unaltered, or
the request is refused."""
import copy
import unittest

from fake_llm import Answer, Call, Memory, Text, Thinking, validate
from fake_llm.render import Ask, render

PATHS = {"chat": None, "responses": None, "anthropic": None,
         "gemini": "/v1beta/models/gemini-4-argon:streamGenerateContent?alt=sse"}
MODELS = {"chat": "m", "responses": "gpt-6.1-sol", "anthropic": "claude-opus-5-5",
          "gemini": "gemini-4-argon"}


class Talk:
    """A conversation of a client that does everything right."""
    format = None

    def __init__(self, memory=None, dialect="openai"):
        self.memory, self.dialect = memory or Memory(), dialect
        self.number = 0
        self.body = self.first_body()

    def answer(self, answer):
        """The server answers what is in the body; the client takes it into its history."""
        self.number += 1
        ask = Ask(self.format, self.body, MODELS[self.format], number=self.number,
                  dialect=self.dialect)
        content = render(answer, ask).content
        self.memory.remember(self.format, copy.deepcopy(self.body), content, MODELS[self.format])
        self.take(copy.deepcopy(content))
        return self

    def problems(self, body=None):
        return validate(self.format, PATHS[self.format], None, body or self.body, self.dialect,
                        self.memory)


class AnthropicTalk(Talk):
    format = "anthropic"

    def first_body(self):
        return {"model": MODELS["anthropic"], "max_tokens": 100, "system": "Be brief.",
                "tools": [{"name": "read", "input_schema": {"type": "object"}}],
                "messages": [{"role": "user", "content": "go"}]}

    def take(self, blocks):
        results = [{"type": "tool_result", "tool_use_id": b["id"], "content": "x"}
                   for b in blocks if b["type"] == "tool_use"]
        self.body["messages"] += [{"role": "assistant", "content": blocks},
                                  {"role": "user", "content": results or "and?"}]


STEP = Answer("I look.", thinking="Hm.", calls=[Call("read"), Call("read")])


class Anthropic(unittest.TestCase):
    def setUp(self):
        self.talk = AnthropicTalk().answer(STEP)
        self.messages = self.talk.body["messages"]
        self.block = self.messages[1]["content"][0]

    def assert_problem(self, expected):
        found = self.talk.problems()
        self.assertIn(expected, "".join(found))

    def test_good(self):
        self.assertEqual(self.talk.problems(), [])
        for answer in (STEP, Answer("Done."), STEP):
            self.assertEqual(self.talk.answer(answer).problems(), [])

    def test_marks_of_the_cache_may_move(self):
        self.talk.body["system"] = [{"type": "text", "text": "Be brief.",
                                     "cache_control": {"type": "ephemeral"}}]
        self.messages[0]["content"] = [{"type": "text", "text": "go"}]
        self.messages[2]["content"][1]["cache_control"] = {"type": "ephemeral"}
        self.talk.body["tools"][0]["cache_control"] = {"type": "ephemeral"}
        self.assertEqual(self.talk.problems(), [])

    def test_altered_signature(self):
        self.block["signature"] = "A" + self.block["signature"][1:]
        self.assert_problem("Invalid `signature`")

    def test_altered_thinking(self):
        self.block["thinking"] = "Hm!"
        self.assert_problem("cannot be modified")

    def test_dropped_thinking(self):
        del self.messages[1]["content"][0]
        self.assert_problem("of the current turn must come back")

    def test_dropped_in_an_earlier_turn(self):
        self.talk.answer(Answer("Done."))
        del self.messages[1]["content"][0]
        self.assertEqual(self.talk.problems(), [])

    def test_changed_prefix(self):
        for change in ("system", "tools", "message"):
            self.setUp()
            if change == "system":
                self.talk.body["system"] = "Be brief. It is noon."
            elif change == "tools":
                del self.talk.body["tools"]
            else:
                self.messages[0]["content"] = "go on"
            with self.subTest(change):
                self.assert_problem("what was before this `thinking` block changed")
                self.talk.memory.preserved = False
                self.assertEqual(self.talk.problems(), [])

    def test_compaction_drops_thinking(self):
        """When what was before changed, the blocks must go, and may."""
        self.talk.answer(STEP)
        self.messages[2]["content"][0]["content"] = "[removed]"
        self.assert_problem("messages[3]")
        del self.messages[3]["content"][0]
        self.assertEqual(self.talk.problems(), [])

    def test_redacted(self):
        talk = AnthropicTalk().answer(Answer(thinking=Thinking("OPAQUE", redacted=True),
                                             calls=[Call("read")]))
        self.assertEqual(talk.problems(), [])
        talk.body["messages"][1]["content"][0]["data"] = "OTHER"
        self.assertIn("Invalid `signature`", "".join(talk.problems()))

    def test_another_memory_is_another_account(self):
        self.talk.memory = Memory()
        self.assert_problem("Invalid `signature`")

    def test_forgotten(self):
        self.talk.memory.forget()
        self.assert_problem("Invalid `signature`")
        del self.messages[1]["content"][0]
        self.assertEqual(self.talk.problems(), [])


class ResponsesTalk(Talk):
    format = "responses"

    def first_body(self):
        return {"model": MODELS["responses"], "store": False,
                "input": [{"role": "user", "content": "go"}]}

    def take(self, items):
        outputs = [{"type": "function_call_output", "call_id": item["call_id"], "output": "x"}
                   for item in items if item["type"] == "function_call"]
        self.body["input"] += items + (outputs or [{"role": "user", "content": "and?"}])


class Responses(unittest.TestCase):
    def setUp(self):
        self.talk = ResponsesTalk().answer(STEP)
        self.items = self.talk.body["input"]  # user, reasoning, message, call, call, output, output

    def assert_problem(self, expected):
        self.assertIn(expected, "".join(self.talk.problems()))

    def test_good(self):
        self.assertEqual(self.talk.problems(), [])
        for answer in (STEP, Answer("Done.", thinking="Hm."), STEP):
            self.assertEqual(self.talk.answer(answer).problems(), [])

    def test_ids_and_status_may_be_left_out(self):
        for item in self.items[2:5]:
            del item["id"], item["status"]
        self.assertEqual(self.talk.problems(), [])

    def test_altered(self):
        for key, value in (("encrypted_content", "gAAA"), ("id", "rs_9")):
            self.setUp()
            self.items[1][key] = value
            self.assert_problem("could not be verified")
        self.setUp()
        self.items[1]["summary"] = [{"type": "summary_text", "text": "x"}]
        self.assert_problem("summary: was changed")

    def test_the_item_that_follows(self):
        self.items[2]["content"][0]["text"] = "Changed."
        self.assert_problem("or that was changed")
        self.setUp()
        del self.items[2]["phase"]
        self.assert_problem("or that was changed")
        self.setUp()
        del self.items[2]
        self.assert_problem("or that was changed")

    def test_a_call_needs_its_reasoning(self):
        del self.items[1]
        self.assert_problem("without its required 'reasoning' item")
        for item in self.items:
            item.pop("id", None)
        self.assert_problem("without its required 'reasoning' item")  # the history is as it was

    def test_dropped_before_a_point(self):
        """Compaction drops the reasoning before it, and only there."""
        self.items[0]["content"] = "[removed]"
        del self.items[1]
        for item in self.items:
            item.pop("id", None)
        self.assertEqual(self.talk.problems(), [])
        self.talk.answer(STEP)
        self.assertEqual(self.talk.problems(), [])
        self.talk.answer(STEP)
        second = [n for n, item in enumerate(self.items) if item.get("type") == "reasoning"][1]
        del self.items[second]
        for item in self.items[second:]:
            item.pop("id", None)
        self.items[-1]["output"] = "changed"
        self.assert_problem("without its required 'reasoning' item")

    def test_forgotten(self):
        self.talk.memory.forget()
        self.assert_problem("could not be verified")
        del self.items[1]
        self.assertEqual(self.talk.problems(), [])


class GeminiTalk(Talk):
    format = "gemini"

    def first_body(self):
        return {"contents": [{"role": "user", "parts": [{"text": "go"}]}]}

    def take(self, parts):
        answers = []
        for part in parts:
            if "functionCall" in part:
                answer = {k: v for k, v in part["functionCall"].items() if k != "args"}
                answers.append({"functionResponse": {**answer, "response": {}}})
        self.body["contents"] += [{"role": "model", "parts": parts},
                                  {"role": "user", "parts": answers or [{"text": "and?"}]}]


class Gemini(unittest.TestCase):
    def setUp(self):
        self.talk = GeminiTalk().answer(STEP)
        self.parts = self.talk.body["contents"][1]["parts"]  # text, call, call
        self.responses = self.talk.body["contents"][2]["parts"]

    def assert_problem(self, expected):
        self.assertIn(expected, "".join(self.talk.problems()))

    def test_good(self):
        self.assertEqual(self.talk.problems(), [])
        for answer in (STEP, Answer("Done.", thinking="Hm."),
                       Answer("Done.", thinking="Hm.", quirks={"signature_at_end"}),
                       Answer(parts=[Text("Signed.", signature=None)])):
            self.assertEqual(self.talk.answer(answer).problems(), [])

    def test_altered(self):
        self.parts[1]["thoughtSignature"] = "AAAA"
        self.assert_problem("Corrupted thought signature")

    def test_moved(self):
        self.parts[0]["thoughtSignature"] = self.parts[1]["thoughtSignature"]
        self.assert_problem("belongs to another part")

    def test_altered_call(self):
        self.parts[1]["functionCall"]["args"] = {"path": "b"}
        self.assert_problem("belongs to another part")

    def test_texts_are_not_joined_across_a_signature(self):
        talk = GeminiTalk().answer(Answer("Hello there", thinking="Hm."))
        first, second = talk.body["contents"][1]["parts"]
        self.assertEqual(talk.problems(), [])
        talk.body["contents"][1]["parts"] = [{**second, "text": first["text"] + second["text"]}]
        self.assertIn("belongs to another part", "".join(talk.problems()))

    def test_ids_are_not_invented(self):
        talk = GeminiTalk().answer(Answer(calls=[Call("read")], quirks={"no_ids"}))
        self.assertEqual(talk.problems(), [])
        talk.body["contents"][1]["parts"][0]["functionCall"]["id"] = "mine"
        talk.body["contents"][2]["parts"][0]["functionResponse"]["id"] = "mine"
        self.assertIn("not an id the model gave", "".join(talk.problems()))

    def test_placeholder(self):
        self.parts[1]["thoughtSignature"] = "skip_thought_signature_validator"
        self.assertEqual(self.talk.problems(), [])


class ChatTalk(Talk):
    format = "chat"

    def first_body(self):
        return {"model": "m", "messages": [{"role": "user", "content": "go"}]}

    def take(self, message):
        message.pop("refusal")
        results = [{"role": "tool", "tool_call_id": call["id"], "content": "x"}
                   for call in message.get("tool_calls", ())]
        self.body["messages"] += [message] + (results or [{"role": "user", "content": "and?"}])


class Chat(unittest.TestCase):
    def talk(self, dialect, *quirks):
        return ChatTalk(dialect=dialect).answer(Answer(thinking="Hm.", calls=[Call("read")],
                                                       quirks=quirks))

    def test_deepseek(self):
        talk = self.talk("deepseek")
        self.assertEqual(talk.body["messages"][1]["reasoning_content"], "Hm.")
        self.assertEqual(talk.problems(), [])
        talk.body["messages"][1]["reasoning_content"] = ""
        self.assertIn("not what the model thought", "".join(talk.problems()))

    def test_echoes(self):
        for quirk, take in (("reasoning_details", lambda m: m.pop("reasoning_details")),
                            ("extra_content", lambda m: m["tool_calls"][0].pop("extra_content"))):
            talk = self.talk("plain", quirk)
            self.assertEqual(talk.problems(), [])
            take(talk.body["messages"][1])
            self.assertIn("must come back unchanged", "".join(talk.problems()))


if __name__ == "__main__":
    unittest.main()
