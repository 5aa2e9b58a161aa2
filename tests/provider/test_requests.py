"""Requests to Chat Completions and Responses: every field, the servers it is sent to, and validation
as strict as that of the real servers."""
import json
import random
import unittest

from support_provider import (FIELDS, ProviderTest, assistant, call, request, result, user)
from fake_llm.validators import validate

NINE = "[A-Za-z0-9]{9}"  # an id that was replaced

READ = {"name": "read", "description": "Read a file",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"},
                                                        "limit": {"type": "integer"}},
                       "required": ["path"]}}
STRICT_READ = {"type": "object", "properties": {"path": {"type": "string"},
                                                "limit": {"type": ["integer", "null"]}},
               "required": ["path", "limit"], "additionalProperties": False}
FREE = {"name": "free", "description": "Anything",
        "parameters": {"type": "object", "properties": {"map": {"type": "object"}}}}
HELLO = [user("hello")]


def target(wire="chat", provider="test", **more):
    return {"wire": wire, "provider": provider, **more}


OPENAI = target(provider="openai", model="gpt-4.1")
LOCAL = target(model="qwen")
RESPONSES = target("responses", "openai", model="gpt-6.1-sol")


def step(private, messages, calls=(), model="test/model", wire="chat", provider="test"):
    """The data of the first message of a step."""
    return {"model": model, "step": messages, "calls": list(calls), provider: {wire: private}}


class RequestTest(ProviderTest):
    def body(self, where, messages=HELLO, **more):
        return request(where, messages, **more)["body"]


class Endpoint(RequestTest):
    def test_where_to(self):
        for wire, path in (("chat", "/chat/completions"), ("responses", "/responses")):
            sent = request(target(wire, base_url="https://x.example/v1", api_key="k1"), HELLO)
            self.assertEqual(sent["url"], "https://x.example/v1" + path)
            self.assertEqual(sorted(sent["headers"]),
                             ["Accept: text/event-stream", "Authorization: Bearer k1",
                              "Content-Type: application/json"])

    def test_a_query_goes_behind_the_path(self):
        for wire, path in (("chat", "/chat/completions?"), ("responses", "/responses?"),
                           ("anthropic", "/v1/messages?"),
                           ("google", "/v1beta/models/m:streamGenerateContent?alt=sse&")):
            with self.subTest(wire):
                sent = request(target(wire, base_url="https://x.example/api/?v=1&w", model="m"),
                               HELLO)
                self.assertEqual(sent["url"], f"https://x.example/api{path}v=1&w")

    def test_no_key_no_header(self):
        self.assertFalse([h for h in request(LOCAL, HELLO)["headers"] if h.startswith("Auth")])


class ChatHead(RequestTest):
    def test_the_least(self):
        self.assertEqual(self.body(LOCAL), {
            "model": "qwen", "stream": True, "stream_options": {"include_usage": True},
            "messages": [{"role": "user", "content": "hello"}]})

    def test_openai(self):
        self.assertEqual(
            self.body(OPENAI, system="Be brief.", tools=[READ], cache_key="s1",
                      max_output_tokens=100),
            {"model": "gpt-4.1", "stream": True, "stream_options": {"include_usage": True},
             "store": False, "prompt_cache_key": "s1", "parallel_tool_calls": True,
             "max_completion_tokens": 100,
             "tools": [{"type": "function", "function": {
                 "name": "read", "description": "Read a file", "parameters": STRICT_READ,
                 "strict": True}}],
             "messages": [{"role": "system", "content": "Be brief."},
                          {"role": "user", "content": "hello"}]})

    def test_others_get_nothing_of_openais_own(self):
        body = self.body(LOCAL, tools=[READ], cache_key="s1", max_output_tokens=100)
        self.assertEqual(sorted(body), ["max_tokens", "messages", "model", "stream",
                                        "stream_options", "tools"])
        self.assertEqual(body["tools"], [{"type": "function", "function": {
            "name": "read", "description": "Read a file", "parameters": READ["parameters"]}}])

    def test_openai_is_who_is_named_so(self):
        here = target(provider="openai", base_url="http://127.0.0.1:9/v1")
        self.assertIs(self.body(here)["store"], False)
        there = target(provider="mine", base_url="https://api.openai.com/v1")
        self.assertNotIn("store", self.body(there))

    def test_a_schema_that_cannot_be_strict(self):
        tool = self.body(OPENAI, tools=[FREE])["tools"][0]["function"]
        self.assertEqual((tool["parameters"], tool["strict"]), (FREE["parameters"], False))

    def test_tool_choice(self):
        self.assertNotIn("tool_choice", self.body(LOCAL, tools=[READ]))
        self.assertEqual(self.body(LOCAL, tools=[READ], forbid_tools=True)["tool_choice"], "none")
        self.assertNotIn("tool_choice", self.body(LOCAL, forbid_tools=True))

    def test_tools_are_sorted(self):
        body = self.body(LOCAL, tools=[READ, FREE])
        self.assertEqual([t["function"]["name"] for t in body["tools"]], ["free", "read"])

    def test_effort(self):
        def effort(model, provider="openai", tools=(), thinking="unknown", effort="high"):
            where = target(provider=provider, model=model, thinking=thinking)
            return self.body(where, tools=list(tools), effort=effort).get("reasoning_effort")

        self.assertEqual(effort("gpt-5.1", tools=[READ]), "high")
        self.assertEqual(effort("o3", tools=[READ]), "high")
        self.assertEqual(effort("gpt-6-sol"), "high")
        self.assertIsNone(effort("gpt-5.1", effort=None))
        for model in ("gpt-5.4", "gpt-5.5-mini", "gpt-6-astra", "gpt-6.1-sol"):
            self.assertIsNone(effort(model, tools=[READ]), model)
        for model in ("gpt-5.6-luna", "gpt-5.7", "gpt-6-sol", "gpt-6-luna"):
            self.assertEqual(effort(model, tools=[READ]), "none", model)
            self.assertEqual(effort(model, tools=[READ], effort=None), "none", model)
        for model in ("gpt-4.1", "gpt-4o", "gpt-5-chat-latest", "whisper", "gpt-x"):
            self.assertIsNone(effort(model), model)
        self.assertEqual(effort("gpt-4-strange", thinking="effort"), "high")
        self.assertIsNone(effort("gpt-5", thinking="none"))
        # Other providers choose their own default.
        self.assertEqual(effort("gpt-5.6-luna", "test", [READ]), "high")
        self.assertIsNone(effort("qwen", "test", effort=None))
        self.assertIsNone(effort("qwen", "test", thinking="none"))

    def test_refused_fields_are_left_out(self):
        everything = dict(tools=[READ], forbid_tools=True, cache_key="s1", max_output_tokens=100,
                          effort="high")
        where = target(provider="openai", model="gpt-5.1")
        whole = self.body(where, **everything)
        for field, name in [("stream_options", "stream_options"), ("effort", "reasoning_effort"),
                            ("parallel_tool_calls", "parallel_tool_calls"), ("store", "store"),
                            ("tool_choice", "tool_choice"), ("cache_key", "prompt_cache_key")]:
            with self.subTest(field=field):
                expected = {k: v for k, v in whole.items() if k != name}
                self.assertIn(name, whole)
                self.assertEqual(self.body(where, refused=[field], **everything), expected)
        tool = self.body(where, refused=["strict"], **everything)["tools"][0]["function"]
        self.assertEqual((tool["parameters"], "strict" in tool), (READ["parameters"], False))

    def test_the_other_spelling_of_max_tokens(self):
        for where, first, other in [(OPENAI, "max_completion_tokens", "max_tokens"),
                                    (LOCAL, "max_tokens", "max_completion_tokens")]:
            body = self.body(where, max_output_tokens=7)
            self.assertEqual((body[first], other in body), (7, False))
            body = self.body(where, max_output_tokens=7, refused=["max_tokens"])
            self.assertEqual((body[other], first in body), (7, False))


class ChatMessages(RequestTest):
    def messages(self, messages, where=None, **more):
        return self.body(where or target(), messages, **more)["messages"]

    def test_a_step_is_one_message(self):
        got = self.messages([user("q"), assistant("Looking."), call("a", "read", '{"p":1}'),
                             call("b", "pwd"), result("a", "read", "A"), result("b", "pwd", "B"),
                             assistant("Done."), user("thanks")])
        self.assertEqual([m["role"] for m in got],
                         ["user", "assistant", "tool", "tool", "assistant", "user"])
        self.assertEqual(got[1]["content"], "Looking.")
        calls = got[1]["tool_calls"]
        self.assertEqual([c["function"] for c in calls],
                         [{"name": "read", "arguments": '{"p":1}'},
                          {"name": "pwd", "arguments": "{}"}])
        self.assertEqual([(m["tool_call_id"], m["content"]) for m in got[2:4]],
                         [(calls[0]["id"], "A"), (calls[1]["id"], "B")])
        self.assertEqual(got[4], {"role": "assistant", "content": "Done."})

    def test_content_is_null_only_with_calls(self):
        got = self.messages([user("q"), call("a", "read"), result("a", "read")])
        self.assertIsNone(got[1]["content"])
        got = self.messages([user("q"), assistant("", **step({"reasoning_content": "x"}, 1)),
                             user("r")])
        self.assertEqual([m["role"] for m in got], ["user", "user"])

    def test_texts_of_one_step(self):
        got = self.messages([user("q"), assistant("One.", **step({}, 3, ["a"])), call("a", "read"),
                             assistant("Two."), result("a", "read")])
        self.assertEqual(got[1]["content"], "One.\n\nTwo.")

    def test_ids(self):
        own = [user("q"), call("chatcmpl-tool:1.2", "read", provider="test"),
               result("chatcmpl-tool:1.2", "read", provider="test")]
        got = self.messages(own)
        self.assertEqual((got[1]["tool_calls"][0]["id"], got[2]["tool_call_id"]),
                         ("chatcmpl-tool:1.2",) * 2)
        for where in (target(provider="other"), target(base_url="https://api.mistral.ai/v1"),
                      target(provider="mistral")):
            got = self.messages(own, where)
            self.assertRegex(got[1]["tool_calls"][0]["id"], r"^[A-Za-z0-9]{9}$")
            self.assertEqual(got[2]["tool_call_id"], got[1]["tool_calls"][0]["id"])

    def test_broken_arguments_are_sent_as_none(self):
        for text in ("{broken", "[1]", "", "5"):
            got = self.messages([user("q"), call("a", "read", text), result("a", "read")])
            self.assertEqual(got[1]["tool_calls"][0]["function"]["arguments"], "{}")

    def test_trimmed_results(self):
        messages = [user("q"), call("a", "read"), result("a", "read", "LONG"), call("b", "read"),
                    result("b", "read", "kept")]
        got = self.messages(messages, trimmed_results=1)
        self.assertNotIn("LONG", got[2]["content"])
        self.assertEqual((json.loads(got[2]["content"])["tool_success"], got[4]["content"]),
                         (True, "kept"))

    def test_reasoning_goes_back_to_whom_it_came_from(self):
        def first(where=None, model="test/model", **more):
            private = {"reasoning_content": "Hm", "reasoning_details": [{"type": "x"}]}
            data = {**step(private, 1, ["a"], model), "provider": "test"}
            messages = [user("q"), call("a", "read", **data), result("a", "read")]
            return self.messages(messages, where, **more)[1]

        self.assertEqual((first()["reasoning_content"], first()["reasoning_details"]),
                         ("Hm", [{"type": "x"}]))
        for got in (first(model="test/other"), first(target(provider="mistral")),
                    first(target(base_url="https://api.mistral.ai/v1")),
                    first(refused=["reasoning_content"]), first(drop_reasoning=True)):
            self.assertEqual(sorted(got), ["content", "role", "tool_calls"])

    def test_deepseek_wants_it_even_when_there_is_none(self):
        messages = [user("q"), assistant("Hm."), user("r"), call("a", "read"), result("a", "read")]
        for where in (target(base_url="https://api.deepseek.com"), target(provider="deepseek"),
                      target(base_url="https://api.deepseek.com:443/v1")):
            got = self.messages(messages, where)
            self.assertEqual(got[3]["reasoning_content"], "")
            self.assertNotIn("reasoning_content", got[1])
        self.assertNotIn("reasoning_content", self.messages(
            messages, target(base_url="https://notdeepseek.com/deepseek.com"))[3])

    def test_steps_of_other_models_in_between(self):
        """Reasoning goes back to the model that wrote it; a server that misses it in other answers
        gets an empty one."""
        def own(id):
            return call(id, "read", **step({"reasoning_content": f"Hm {id}"}, 1, [id]),
                        provider="test")
        messages = [user("q"), own("a"), result("a", "read"),
                    call("b", "read", model="other/m"), result("b", "read"),
                    assistant("Well.", model="other/m"), user("and"), own("c"), result("c", "read")]
        for more, other in (({}, [None, None]), ({"refused": ["no_reasoning_content"]}, ["", ""])):
            got = [m.get("reasoning_content") for m in self.messages(messages, **more)
                   if m["role"] == "assistant"]
            self.assertEqual(got, ["Hm a", *other, "Hm c"])

    def test_mistral(self):
        mistral = target(base_url="https://api.mistral.ai/v1", model="devstral")
        self.assertEqual(sorted(self.body(mistral, tools=[READ], max_output_tokens=9)),
                         ["max_tokens", "messages", "model", "stream", "tools"])
        messages = [user("q"), call("a", "read"), result("a", "read"), user("stop"), user("now")]
        self.assertEqual([m["role"] for m in self.messages(messages, mistral)],
                         ["user", "assistant", "tool", "assistant", "user", "user"])
        self.assertEqual([m["role"] for m in self.messages(messages)],
                         ["user", "assistant", "tool", "user", "user"])

    def test_extra_content_is_only_for_its_call(self):
        private = {"extra_content": [None, {"google": {"thought_signature": "S"}}]}
        data = {**step(private, 2, ["a", "b"]), "provider": "test"}
        messages = [user("q"), call("a", "read", **data), call("b", "pwd", provider="test"),
                    result("a", "read"), result("b", "pwd")]
        calls = self.messages(messages)[1]["tool_calls"]
        self.assertNotIn("extra_content", calls[0])
        self.assertEqual(calls[1]["extra_content"], {"google": {"thought_signature": "S"}})


class ResponsesHead(RequestTest):
    def test_openai(self):
        self.assertEqual(
            self.body(RESPONSES, system="Be brief.", tools=[READ, FREE], cache_key="s1",
                      max_output_tokens=100, effort="medium"),
            {"model": "gpt-6.1-sol", "stream": True, "store": False, "instructions": "Be brief.",
             "include": ["reasoning.encrypted_content"],
             "reasoning": {"effort": "medium", "summary": "auto"},
             "parallel_tool_calls": True, "tool_choice": "auto", "max_output_tokens": 100,
             "prompt_cache_key": "s1",
             "tools": [{"type": "function", "name": "free", "description": "Anything",
                        "parameters": FREE["parameters"], "strict": False},
                       {"type": "function", "name": "read", "description": "Read a file",
                        "parameters": STRICT_READ, "strict": True}],
             "input": [{"type": "message", "role": "user",
                        "content": [{"type": "input_text", "text": "hello"}]}]})

    def test_the_least(self):
        self.assertEqual(sorted(self.body(target("responses", model="gpt-4.1"))),
                         ["input", "model", "store", "stream"])

    def test_others_get_the_plain_schema_and_are_told_so(self):
        tool = self.body(target("responses"), tools=[READ])["tools"][0]
        self.assertEqual((tool["parameters"], tool["strict"]), (READ["parameters"], False))

    def test_who_reasons(self):
        for model, thinking, reasons in [
                ("gpt-5", "unknown", True), ("gpt-5.6-luna", "unknown", True),
                ("o4", "unknown", True), ("gpt-6-astra", "unknown", True),
                ("gpt-4o", "unknown", False), ("gpt-4.1", "unknown", False),
                ("gpt-5-chat-latest", "unknown", False),
                ("omni", "unknown", False), ("qwen", "unknown", False), ("qwen", "effort", True),
                ("gpt-5", "none", False)]:
            with self.subTest(model=model, thinking=thinking):
                where = target("responses", model=model, thinking=thinking)
                body = self.body(where, effort="low")
                self.assertEqual(("reasoning" in body, "include" in body), (reasons, reasons))

    def test_without_effort_the_model_decides(self):
        self.assertEqual(self.body(RESPONSES)["reasoning"], {"summary": "auto"})

    def test_forbidden_tools_stay(self):
        body = self.body(RESPONSES, tools=[READ], forbid_tools=True)
        self.assertEqual((body["tool_choice"], len(body["tools"])), ("none", 1))

    def test_refused_fields_are_left_out(self):
        everything = dict(tools=[READ], cache_key="s1", max_output_tokens=100, effort="high")
        whole = self.body(RESPONSES, **everything)
        for field, name in [("parallel_tool_calls", "parallel_tool_calls"), ("store", "store"),
                            ("tool_choice", "tool_choice"), ("cache_key", "prompt_cache_key"),
                            ("include", "include"), ("thinking", "reasoning"),
                            ("max_tokens", "max_output_tokens")]:
            with self.subTest(field=field):
                expected = {k: v for k, v in whole.items() if k != name}
                self.assertEqual(self.body(RESPONSES, refused=[field], **everything), expected)
        for field, left in (("effort", {"summary": "auto"}), ("summary", {"effort": "high"})):
            self.assertEqual(self.body(RESPONSES, refused=[field], **everything)["reasoning"], left)
        self.assertNotIn("reasoning", self.body(RESPONSES, refused=["effort", "summary"],
                                                **everything))

    def test_refused_strict(self):
        """OpenAI itself is strict by default."""
        for where, strict in ((RESPONSES, {"strict": False}), (target("responses"), {})):
            tool = self.body(where, tools=[READ], refused=["strict"])["tools"][0]
            self.assertEqual(tool, {"type": "function", **READ, **strict})


class ResponsesItems(RequestTest):
    ITEMS = [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
             {"type": "message", "id": "msg_1", "role": "assistant", "phase": "commentary",
              "content": [{"type": "output_text", "text": "Looking.", "annotations": []}]},
             {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read",
              "arguments": "{}"}]

    def history(self, model="openai/gpt-6.1-sol", calls=("call_1",)):
        data = step(self.ITEMS, 2, calls, model, "responses", "openai")
        return [user("q"), assistant("Looking.", **data), call("call_1", "read", provider="openai"),
                result("call_1", "read", "A", provider="openai"), user("r")]

    def items(self, messages, where=RESPONSES, **more):
        return self.body(where, messages, **more)["input"]

    def test_items_go_back_as_they_came(self):
        got = self.items(self.history())
        self.assertEqual(got[1:4], self.ITEMS)
        self.assertEqual(got[4], {"type": "function_call_output", "call_id": "call_1",
                                  "output": "A"})
        self.assertEqual(got[5]["role"], "user")

    def test_rebuilt_without_ids_when_they_must_not(self):
        text = {"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": "Looking.", "annotations": []}]}
        for got, id in ((self.items(self.history(model="openai/gpt-5")), NINE),
                        (self.items(self.history(), drop_reasoning=True), "call_1"),
                        (self.items(self.history(calls=["other"])), NINE)):
            self.assertEqual(got[1], text)
            self.assertRegex(got[2]["call_id"], f"^{id}$")
            self.assertEqual(got[2], {"type": "function_call", "call_id": got[2]["call_id"],
                                      "name": "read", "arguments": "{}"})
            self.assertEqual(got[3]["call_id"], got[2]["call_id"])

    def test_items_that_call_something_else_do_not_go_back(self):
        second = {**self.ITEMS[2], "id": "fc_2", "call_id": "call_2"}
        for items in (self.ITEMS[:2], self.ITEMS + [second], self.ITEMS[:2] + [second],
                      self.ITEMS + [5], {}):
            data = step(items, 2, ["call_1"], "openai/gpt-6.1-sol", "responses", "openai")
            got = self.items([user("q"), assistant("Looking.", **data), *self.history()[2:]])
            self.assertEqual([i["type"] for i in got], [
                "message", "message", "function_call", "function_call_output", "message"])
            self.assertRegex(got[2]["call_id"], f"^{NINE}$")
            self.assertEqual(got[3]["call_id"], got[2]["call_id"])

    def test_calls_of_another_provider(self):
        got = self.items([user("q"), call("toolu_1", "read", provider="anthropic"),
                          result("toolu_1", "read", provider="anthropic")])
        self.assertRegex(got[1]["call_id"], r"^[A-Za-z0-9]{9}$")
        self.assertEqual(got[2]["call_id"], got[1]["call_id"])

    def test_empty_texts_are_no_items(self):
        data = step([], 1, (), "other/m", "chat", "other")
        got = self.items([user("q"), assistant("", **data), user("r")])
        self.assertEqual([i["role"] for i in got], ["user", "user"])


class Bytes(RequestTest):
    """Equal input gives equal bytes, and a conversation that grows gives the bytes of one that is
    formatted at once: prompt caches match only identical bytes."""

    MESSAGES = [user("q"), assistant("Looking.", model="test/model"), call("a", "read", '{"p":1}'),
                call("b", "pwd"), result("a", "read", "Ä\n"), result("b", "pwd", "B"),
                call("c", "pwd"), result("c", "pwd"), user("stop"), user("go on"),
                assistant("Yes."), user("thanks")]

    def test_growing(self):
        for wire in ("chat", "responses"):
            with self.subTest(wire=wire):
                sent = request(target(wire), self.MESSAGES, tools=[READ, FREE], system="S",
                               turns=True)
                self.assertEqual(len(sent["bodies"]), 4)
                self.assertEqual(sent["bodies"][-1], sent["body"])
                name = "messages" if wire == "chat" else "input"
                whole = sent["body"][name]
                for body in sent["bodies"]:
                    self.assertEqual(body[name], whole[:len(body[name])])

    def test_same_again(self):
        for where in (OPENAI, LOCAL, RESPONSES):
            first = request(where, self.MESSAGES, tools=[READ, FREE], system="S")
            again = request(where, self.MESSAGES, tools=[FREE, READ], system="S")
            self.assertEqual(json.dumps(first), json.dumps(again))

    def test_text_that_needs_escaping(self):
        text = "\"\\/\n\t\v Ä \u2028 \U0001f600"
        for where in (OPENAI, LOCAL, RESPONSES):
            body = self.body(where, [user(text)], system=text)
            self.assertEqual(json.dumps(body).count(json.dumps(text)), 2)


class Servers(RequestTest):
    """Random conversations against validators as strict as the real servers."""

    TARGETS = [("chat", "openai", OPENAI), ("chat", "plain", LOCAL),
               ("chat", "openai", target(provider="openai", model="gpt-5.6-luna")),
               ("chat", "mistral", target(base_url="https://api.mistral.ai/v1")),
               ("chat", "deepseek", target(provider="deepseek",
                                           base_url="https://api.deepseek.com")),
               ("responses", "openai", RESPONSES)]

    def history(self, rng):
        messages, ids = [], 0
        for _ in range(rng.randrange(1, 6)):
            for _ in range(rng.randrange(1, 3)):
                messages.append(user(rng.choice(["q", "ä" * 9, "\\"])))
            for _ in range(rng.randrange(3)):
                provider = rng.choice(["openai", "test", "mistral", "deepseek", "anthropic"])
                step_messages = [assistant(rng.choice(["Text.", " "]))] * rng.randrange(2)
                calls = []
                for _ in range(rng.randrange(3)):
                    ids += 1
                    arguments = rng.choice(['{"p":"a"}', "{}", "", "{broken"])
                    calls.append((f"call_{ids}", arguments))
                messages += step_messages
                messages += [call(i, "read", a, provider=provider) for i, a in calls]
                messages += [result(i, "read", provider=provider) for i, _ in calls
                             if rng.random() < 0.8]
        return messages + [user("go on")]

    def test_random_histories(self):
        rng = random.Random(7)
        for n in range(60):
            messages = self.history(rng)
            more = {"tools": rng.choice([[], [READ], [READ, FREE]]), "system": "S",
                    "max_output_tokens": rng.choice([0, 1000]), "effort": rng.choice([None, "low"]),
                    "forbid_tools": rng.random() < 0.2, "cache_key": "k"}
            for wire, dialect, where in self.TARGETS:
                sent = request({**where, "api_key": "k"}, messages, **more)
                headers = dict(h.lower().split(": ", 1) for h in sent["headers"])
                headers["authorization"] = "Bearer k"
                problems = validate(wire, sent["url"], headers, sent["body"], dialect)
                self.assertEqual(problems, [], f"{dialect}\n{json.dumps(sent['body'])}")


class Names(unittest.TestCase):
    def test_fields_are_those_of_the_driver(self):
        """The driver reports a field that it does not know as an error."""
        for name in FIELDS:
            request(LOCAL, HELLO, refused=[name])
        with self.assertRaises(AssertionError):
            request(LOCAL, HELLO, refused=["nothing"])


if __name__ == "__main__":
    unittest.main()
