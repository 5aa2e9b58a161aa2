"""Summaries: when they are asked for, what is sent, and what is left of a conversation after them."""
import json
import os
import signal

from agent_support import (FORMATS, AgentTest, forbids_tools, per_format, sent_messages,
                           sent_results, sent_tools)
from fake_llm import Answer, Call, Failure, Usage
from support import OUT

PROMPT = open(os.path.join(OUT, "share/ikigai/compact.md"), encoding="utf-8").read()
MARK = "The conversation above is about to be shortened."
TEXT_PARAM = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
# A result of 3,000 bytes that names its argument.
BIG = """read -r input; printf '{"output":"%s %s"}' "$(head -c 3000 /dev/zero | tr '\\0' x)" \\
"$(echo "$input" | tr -d '"{}\\\\')" """
FULL = Usage(input=900, output=10)  # of a window of 1,000 tokens
SOME = Usage(input=200, output=10)


def texts(value):
    """All strings in a request, joined."""
    return json.dumps(value, ensure_ascii=False)


def is_summary_request(request):
    return MARK in texts(sent_messages(request))


def without_marks(value):
    """Messages without the marks of a cache, which move along."""
    if isinstance(value, list):
        return [without_marks(v) for v in value]
    if isinstance(value, dict):
        return {k: without_marks(v) for k, v in value.items() if k != "cache_control"}
    return value


def blocks(request):
    """The messages of a request in their smallest parts, so that one user's message more is one part
    more, whether it joins the message before it or not."""
    parts = []
    for message in without_marks(sent_messages(request)):
        content = message.get("content", message.get("parts")) if "role" in message else None
        if isinstance(content, list):
            parts += [(message["role"], texts(part)) for part in content]
        else:
            parts.append(("", texts(message)))
    return parts


class Base:
    window = 1000

    def setUp(self):
        super().setUp()
        self.tool("big", BIG, parameters=TEXT_PARAM)
        self.limit(self.window)

    def limit(self, window):
        self.write("home/.ikigai/models.json", json.dumps(
            {"models": {FORMATS[self.format].target: {"limits": {"context": window}}}}))

    def big(self, text, **more):
        return Answer(f"Step {text}.", calls=[Call("big", {"text": text})], **more)

    def resume(self, turn, script, *args, prompt="Go on", server=None, **more):
        """Continues the session in another process. The server remembers what it answered."""
        return self.ask(script, "-c", *args, prompt=prompt,
                        server={"memory": turn.llm.memory, **(server or {})}, **more)

    def notices(self, turn):
        return [event["text"] for event in turn.of("notice")]


class Automatic(Base):
    """Before a request that would pass 85 % of the window."""

    def run_full(self, summary, *after, steps=3, **more):
        """Some tool steps, the last of which fills the window."""
        script = [*(self.big(f"r{n}", usage=SOME) for n in range(steps - 1)),
                  self.big(f"r{steps - 1}", usage=FULL), summary, *(after or [Answer("Done.")])]
        return self.ask(script, prompt="Read it all", **more)

    def test_summary_within_a_turn(self):
        turn = self.run_full(Answer("I read r0 and r1.", usage=FULL), Answer("Done.", usage=SOME))
        self.assertEqual((turn.text[-5:], turn.reason), ("Done.", "end_turn"))
        (message,) = turn.messages("compaction")
        data = message["data"]
        self.assertEqual((data["reason"], data["summary"]), ("full", "I read r0 and r1."))
        self.assertNotIn("focus", data)
        self.assertGreater(data["tokens_before"], 850)
        self.assertLess(data["tokens_after"], data["tokens_before"])
        kinds = [m["kind"] for m in turn.messages()]
        self.assertEqual(kinds[-2:], ["compaction", "assistant"])

    def test_the_request_for_it_is_the_next_one_and_one_message_more(self):
        """Nonsense leaves the conversation as it was; with no result to trim, the same request goes
        out without the prompt."""
        turn = self.ask([Answer("a " * 600, usage=FULL)], prompt="one")
        turn = self.resume(turn, [Answer(calls=[Call("big", {"text": "x"})]), Answer("Here.")],
                           prompt="two")
        asked, sent = turn.llm.requests
        self.assertTrue(is_summary_request(asked))
        self.assertFalse(is_summary_request(sent))
        longer, shorter = blocks(asked), blocks(sent)
        self.assertEqual(longer[:-1], shorter)
        self.assertIn(MARK, longer[-1][1])
        self.assertEqual(sent_tools(asked), sent_tools(sent))
        if self.format == "anthropic":
            self.assertNotIn("tool_choice", asked.json)
        else:
            self.assertTrue(forbids_tools(asked))

    def test_later_requests(self):
        turn = self.run_full(Answer("I read r0 and r1.", usage=FULL),
                             self.big("r3", usage=SOME), Answer("Done.", usage=SOME))
        later = turn.llm.requests[4:]
        self.assertEqual(len(later), 2)
        for request in later:
            sent = texts(sent_messages(request))
            self.assertIn("Read it all", sent)
            self.assertIn("I read r0 and r1.", sent)
            self.assertNotIn("Step r0", sent)
            self.assertNotIn("Step r1", sent)
            self.assertIn("Step r2", sent)
            self.assertNotIn(MARK, sent)
        self.assertEqual([len(sent_results(r)) for r in later], [1, 2])
        before, after = blocks(later[0]), blocks(later[1])
        self.assertEqual(after[:len(before)], before)
        again = self.resume(turn, [Answer("More.")])
        resumed = blocks(again.llm.requests[0])
        self.assertEqual(resumed[:len(after)], after)


per_format(Automatic, globals())
