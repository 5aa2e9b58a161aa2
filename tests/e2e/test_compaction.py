"""Summaries: when they are asked for, what is sent, and what is left of a conversation after them."""
import base64
import json
import os
import signal

import hostile
from agent_support import (FORMATS, PATIENCE, AgentTest, Turn, forbids_tools, per_format, sent_messages,
                           sent_results, sent_tools)
from fake_llm import Answer, Call, Failure, Raw, Usage, Wire
from image_support import png
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


def encoded(picture):
    return base64.b64encode(picture).decode()


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

    def resume(self, turn, script, *args, prompt="Go on", status=0, fair=True):
        """Continues the session in another process, with the same server; the turn has only the
        requests of this process."""
        llm = turn.llm
        llm.script = script if callable(script) else list(script)
        earlier = len(llm.requests)
        done = self.ikigai(*self.command(prompt, "--json", "-c", *args), status=status,
                           env=self.connect(llm))
        if fair:
            self.assertEqual(llm.problems, [], done.out)
        again = Turn(done.status, done.out.split("\n")[:-1], done.err, llm)
        again.requests = llm.requests[earlier:]
        return again

    def wait_for_requests(self, run, count):
        if not hostile.wait_until(lambda: len(run.llm.requests) >= count, PATIENCE):
            raise AssertionError(f"{len(run.llm.requests)} requests instead of {count}")

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
        asked, sent = turn.requests
        self.assertTrue(is_summary_request(asked))
        self.assertFalse(is_summary_request(sent))
        longer, shorter = blocks(asked), blocks(sent)
        self.assertEqual(longer[:-1], shorter)
        self.assertIn(MARK, longer[-1][1])
        self.assertEqual(sent_tools(asked), sent_tools(sent))
        self.assert_same_bytes(asked.body, sent.body)
        if self.format == "anthropic":
            self.assertNotIn("tool_choice", asked.json)
        else:
            self.assertTrue(forbids_tools(asked))

    def assert_same_bytes(self, longer, shorter):
        """Every byte of the messages, cache marks included; with Anthropic of all before them."""
        joined = b"]}]}" if self.format in ("anthropic", "google") else b"]}"
        list_ = {"chat": b'"messages":[', "local": b'"messages":[', "responses": b'"input":[',
                 "anthropic": b"{", "google": b'"contents":['}[self.format]
        self.assertTrue(shorter.endswith(joined))
        longer, shorter = (body[body.index(list_):] for body in (longer, shorter))
        self.assertTrue(longer.startswith(shorter[:-len(joined)]))

    def test_the_cache_holds(self):
        """The request for a summary begins with the bytes of the one before it, within a turn."""
        turn = self.run_full(Answer("I read r0 and r1.", usage=FULL), Answer("Done.", usage=SOME))
        before, asked = turn.llm.requests[2:4]
        self.assertEqual(blocks(asked)[:len(blocks(before))], blocks(before))
        self.assertEqual(len(sent_results(asked)), 3)
        if self.format == "anthropic":
            self.assertEqual(without_marks({**asked.json, "messages": 0}),
                             without_marks({**before.json, "messages": 0}))
            self.assertEqual(asked.body.count(b"cache_control"), 4)

    def test_images_become_markers(self):
        self.tool("shoot", """echo '{"images":[{"path":"b.png"}]}'""")
        first, second, third = (png(comment=name.encode()) for name in "abc")
        for name, picture in (("a", first), ("b", second), ("c", third)):
            with open(self.path(f"project/{name}.png"), "wb") as f:
                f.write(picture)
        turn = self.ask([Answer("Shot.", calls=[Call("shoot")], usage=SOME),
                         Answer("I saw " + "it " * 400, usage=FULL)],
                        "--image", "a.png", prompt="Look at this")
        turn = self.resume(turn, [Answer("Two pictures were seen.", usage=FULL),
                                  Answer("Yes.", usage=SOME)], "--image", "c.png", prompt="And this?")
        asked, later = turn.requests
        sent = [texts(sent_messages(r)) for r in (asked, later)]
        seen = [[encoded(p) in text for p in (first, second, third)] for text in sent]
        self.assertEqual(seen, [[True] * 3, [False, False, True]])
        self.assertIn("Two pictures were seen.", sent[1])
        self.assertRegex(sent[1], r"\[image a\.png, image/png, 1x1, \d+ bytes: ")
        self.assertNotIn("b.png", sent[1])
        again = self.resume(turn, [Answer("More.")])
        self.assertEqual(blocks(again.requests[0])[:len(blocks(later))], blocks(later))

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
        resumed = blocks(again.requests[0])
        self.assertEqual(resumed[:len(after)], after)


    def test_what_is_told(self):
        turn = self.run_full(Answer("I read r0 and r1.", usage=FULL))
        before, after = self.notices(turn)
        self.assertRegex(before, r"^The context is nearly full \([0-9,]+ tokens, \d+% of the context "
                         r"window\): asking the model for a summary\.$")
        self.assertRegex(after, "^The conversation was summarised: [0-9,]+ tokens before, [0-9,]+ "
                         "after$")
        events = [e["type"] for e in turn.events]
        at = events.index("notice")
        self.assertEqual(events[at:at + 4], ["notice", "usage", "message", "notice"])
        self.assertEqual(len(turn.of("usage")), 5)

    def test_bad_summaries(self):
        """Each leaves the conversation as it was; the turn goes on with trimmed results."""
        for name, summary, why in (
                ("a call", Answer("Sure.", calls=[Call("big", {"text": "no"})]), "called a tool"),
                ("nothing", Answer("  \n"), "the model's answer is empty"),
                ("too long", Answer("very long " * 2000), "not shorter than what it would replace"),
                ("an error", Failure("bad_request"), "The request is not valid"),
                ("a busy server", Failure("overloaded"), "Overloaded"),
                ("half an answer", Answer("Half", stop="incomplete"), "cut off"),
                ("a limit", Answer("Much", stop="max_tokens"), "cut at the output limit"),
                ("a refusal", Answer("No.", stop="refusal"), "refused")):
            with self.subTest(name):
                if name == "a refusal" and self.format != "anthropic":
                    continue  # the others have no word for it
                turn = self.run_full(summary, Answer("Done.", usage=SOME), fair=name != "an error")
                self.assertEqual((turn.text[-5:], turn.reason), ("Done.", "end_turn"))
                self.assertEqual([m["data"] for m in turn.messages("compaction")],
                                 [{"trimmed_results": 2}])
                self.assertEqual(len(turn.messages("tool_call")), 3)
                self.assertIn(why, self.notices(turn)[1])
                self.assertEqual(len(turn.llm.requests), 5)
                sent = texts(sent_messages(turn.llm.requests[-1]))
                self.assertNotIn(MARK, sent)
                for n in range(3):
                    self.assertIn(f"Step r{n}", sent)

    def test_one_failure_per_turn(self):
        turn = self.run_full(Answer("", calls=[Call("big", {"text": "no"})]),
                             self.big("r3", usage=FULL), self.big("r4", usage=FULL),
                             Answer("Done.", usage=FULL))
        self.assertEqual([is_summary_request(r) for r in turn.llm.requests].count(True), 1)

    def test_again_and_again(self):
        """A turn that never ends: each time the window is full, once, and the requests stay small."""
        state = {"n": 0, "asked": 0}

        def answer(request):
            size = len(request.body)
            usage = Usage(input=size // 40, output=10)
            if is_summary_request(request):
                state["asked"] += 1
                return Answer(f"Summary {state['asked']} of all.", usage=usage)
            state["n"] += 1
            return self.big(f"r{state['n']}", usage=usage) if state["n"] < 40 else Answer("Done.")
        self.limit(800)
        turn = self.ask(answer)
        self.assertEqual((turn.text[-5:], turn.reason), ("Done.", "end_turn"))
        summaries = turn.messages("compaction")
        self.assertEqual(len(summaries), state["asked"])
        self.assertGreater(len(summaries), 2)
        for n, message in enumerate(summaries):
            self.assertEqual(message["data"]["summary"], f"Summary {n + 1} of all.")
            self.assertLess(message["data"]["tokens_after"], message["data"]["tokens_before"])
        last = texts(sent_messages(turn.llm.requests[-1]))
        self.assertIn(f"Summary {len(summaries)} of all.", last)
        self.assertEqual(last.count(" of all."), 1)
        for request in turn.llm.requests:
            self.assertLess(len(request.body), 40 * 800)

    def test_what_the_user_said_survives(self):
        said = [f"Wish {n}: " + chr(0xe4 + n) * 400 for n in range(4)]
        turn = None
        for n, words in enumerate(said):
            script = [Answer(f"Answer {n} " + "blah " * 200, usage=SOME if n < 3 else FULL)]
            turn = self.ask(script, prompt=words) if turn is None else \
                self.resume(turn, script, prompt=words)
        turn = self.resume(turn, [Answer("Four wishes.", usage=SOME), Answer("Yes.", usage=SOME)],
                           prompt="And now?")
        self.assertEqual(turn.text, "Yes.")
        sent = texts(sent_messages(turn.requests[1]))
        places = [sent.index(words) for words in [*said, "And now?"]]
        self.assertEqual(places, sorted(places))
        self.assertIn("Four wishes.", sent)
        for n in range(3):
            self.assertNotIn(f"Answer {n}", sent)

    def test_not_more_than_32_kilobytes_of_it(self):
        self.limit(100000)
        turn = self.ask([Answer("ok " * 900, usage=SOME)], prompt="oldest " + "o" * 20000)
        turn = self.resume(turn, [Answer("ok " * 900, usage=SOME)], prompt="older " + "p" * 20000)
        turn = self.resume(turn, [Answer("fine", usage=Usage(input=90000))],
                           prompt="newest " + "q" * 10000)
        turn = self.resume(turn, [Answer("Short.", usage=SOME), Answer("Yes.")], prompt="now")
        sent = texts(sent_messages(turn.requests[1]))
        self.assertEqual(sent.count("q" * 10000), 1)
        self.assertEqual(sent.count("p" * 20000), 1)
        self.assertEqual(sent.count("o" * 3000), 0)
        self.assertEqual((sent.count("oldest oo"), sent.count("more bytes]")), (1, 1))

    def test_reasoning_that_was_summarised_is_not_sent(self):
        script = [*(self.big(f"r{n}", thinking=f"thought {n}", usage=SOME) for n in range(2)),
                  self.big("r2", thinking="thought 2", usage=FULL),
                  Answer("I read.", thinking="so", usage=FULL),
                  self.big("r3", thinking="thought 3", usage=SOME), Answer("Done.", usage=SOME)]
        turn = self.ask(script)
        self.assertEqual(turn.reason, "end_turn")
        for request in turn.llm.requests[4:]:
            sent = texts(sent_messages(request))
            for n in range(2):
                self.assertNotIn(f"thought {n}", sent)
            self.assertEqual(len(sent_results(request)), 1 + (request is turn.llm.requests[-1]))

    def test_usage_and_cost_count(self):
        self.write("home/.ikigai/models.json", json.dumps({"models": {
            FORMATS[self.format].target: {"limits": {"context": 1000},
                                          "prices": [{"input": 10, "output": 10}]}}}))
        turn = self.run_full(Answer("I read.", usage=FULL), Answer("Done.", usage=SOME))
        total = sum(event["cost_usd"] for event in turn.of("usage"))
        (message,) = turn.messages("compaction")
        self.assertAlmostEqual(message["data"]["cost_usd"], 910 * 10 / 1e6)
        (listed,) = json.loads(self.ikigai("session", "list", "--json").out)
        self.assertAlmostEqual(listed["cost_usd"], total)

    def test_interrupted(self):
        """Ctrl-C leaves the conversation as it was."""
        run = self.begin([self.big("r0", usage=SOME), self.big("r1", usage=FULL),
                          Answer("Half a summary", wire=Wire(stall_after=1))])
        self.wait_for_requests(run, 3)
        run.signal()
        turn = run.finish()
        self.assertEqual((turn.status, turn.reason), (130, "interrupted"))
        self.assertEqual(turn.messages("compaction"), [])
        self.assertEqual(turn.messages()[-1]["kind"], "tool_result")

    def test_killed_while_it_is_asked_for(self):
        run = self.begin([self.big("r0", usage=SOME), self.big("r1", usage=FULL),
                          Answer("Half a summary", wire=Wire(stall_after=1))])
        self.wait_for_requests(run, 3)
        run.signal(signal.SIGKILL)
        turn = run.finish()
        again = self.resume(turn, [Answer("Now it is whole.", usage=FULL), Answer("Done.")])
        self.assertEqual(again.text, "Done.")
        (message,) = again.messages("compaction")
        self.assertEqual(message["data"]["summary"], "Now it is whole.")

    def test_killed_after_it(self):
        run = self.begin([self.big("r0", usage=SOME), self.big("r1", usage=FULL),
                          Answer("I read r0.", usage=FULL), Answer("", wire=Wire(stall_after=1))])
        run.wait_for(lambda e: e["type"] == "message" and e["kind"] == "compaction")
        self.wait_for_requests(run, 4)
        run.signal(signal.SIGKILL)
        turn = run.finish()
        again = self.resume(turn, [Answer("Done.")])
        before, after = blocks(turn.llm.requests[3]), blocks(again.requests[0])
        self.assertEqual(after[:len(before)], before)
        self.assertIn("I read r0.", texts(after))

    def test_a_server_that_refuses_the_field(self):
        """The request for a summary is repeated without it."""
        if self.format in ("anthropic", "google"):
            return

        def answer(request):
            if is_summary_request(request) and "tool_choice" in request.json:
                return Raw(json.dumps({"error": {"message": "Unknown parameter: 'tool_choice'.",
                                                 "type": "invalid_request_error",
                                                 "param": "tool_choice",
                                                 "code": "unknown_parameter"}}), 400)
            if is_summary_request(request):
                return Answer("I read.", usage=FULL)
            state.append(1)
            return self.big("r", usage=FULL) if len(state) < 4 else Answer("Done.", usage=SOME)
        state = []
        turn = self.ask(answer, fair=False)
        self.assertEqual(turn.reason, "end_turn")
        self.assertIn("I read.", [m["data"].get("summary") for m in turn.messages("compaction")])

    def test_a_server_that_refuses_old_reasoning(self):
        """The request for a summary is repeated without it, once, and so are those after it."""
        if self.format in ("chat", "local"):
            return  # where nothing is signed
        script = [*(self.big(f"r{n}", thinking=f"thought {n}", usage=SOME) for n in range(2)),
                  self.big("r2", thinking="thought 2", usage=FULL), Failure("reasoning"),
                  Answer("I read.", usage=FULL), Answer("Done.", usage=SOME)]
        turn = self.ask(script)
        self.assertEqual((turn.text[-5:], turn.reason), ("Done.", "end_turn"))
        self.assertEqual([is_summary_request(r) for r in turn.llm.requests],
                         [False] * 3 + [True] * 2 + [False])
        dropped, summary = [m["data"] for m in turn.messages("compaction")]
        self.assertEqual((dropped["dropped"], dropped["target"]),
                         ("reasoning", FORMATS[self.format].target))
        self.assertEqual(summary["summary"], "I read.")
        self.assertIn("refused its earlier reasoning", self.notices(turn)[1])
        refused = [Failure("reasoning")] * (3 if self.format == "responses" else 2)
        turn = self.ask([*script[:3], *refused, Answer("Done.", usage=SOME)])
        self.assertEqual((turn.text[-5:], turn.reason), ("Done.", "end_turn"))
        self.assertIn("was not summarised", " ".join(self.notices(turn)))

    def test_a_server_that_refuses_images(self):
        """The request for a summary is repeated with markers in their place."""
        with open(self.path("project/a.png"), "wb") as f:
            f.write(png())
        turn = self.ask([Answer("I saw " + "it " * 400, usage=FULL)], "--image", "a.png")
        turn = self.resume(turn, [Raw(json.dumps({"error": {
            "message": "This model does not support image inputs"}}), 400),
            Answer("One picture was seen.", usage=FULL), Answer("Yes.", usage=SOME)], fair=False)
        refused, asked, later = turn.requests
        seen = [encoded(png()) in texts(sent_messages(r)) for r in (refused, asked, later)]
        self.assertEqual(seen, [True, False, False])
        self.assertEqual([is_summary_request(r) for r in turn.requests], [True, True, False])
        (message,) = turn.messages("compaction")
        self.assertEqual(message["data"]["summary"], "One picture was seen.")

    # ---- after an overflow error

    def overflow(self, room, prompt="And?"):
        """A conversation that is long by its text, and a server that takes only room bytes more than
        an empty one."""
        self.limit(1000000)
        turn = self.ask([Answer("a" * 6000)], prompt="first")
        most = len(turn.llm.requests[0].body) + room
        turn = self.resume(turn, [Answer("b" * 6000)], prompt="second")
        memory = turn.llm.memory

        def answer(request):
            if len(request.body) > most:
                memory.forget()
                return Failure("context")
            if is_summary_request(request):
                return Answer("Many letters.")
            return Answer("Here.")
        return self.resume(turn, answer, prompt=prompt)

    def test_text_is_summarised(self):
        """The last question does not fit; without it, the request for a summary does."""
        turn = self.overflow(16000, prompt="third " + "c" * 6000)
        self.assertEqual((turn.text, turn.reason), ("Here.", "end_turn"))
        (message,) = turn.messages("compaction")
        self.assertEqual((message["data"]["reason"], message["data"]["summary"]),
                         ("overflow", "Many letters."))
        sent = texts(sent_messages(turn.requests[-1]))
        for words in ("first", "second", "c" * 6000, "Many letters."):
            self.assertIn(words, sent)
        self.assertNotIn("a" * 6000, sent)

    def test_text_is_cut(self):
        """Not even the request for a summary fits."""
        turn = self.overflow(3000)
        self.assertEqual((turn.text, turn.reason), ("Here.", "end_turn"))
        message = turn.messages("compaction")[-1]
        self.assertEqual(message["data"]["reason"], "overflow")
        self.assertIn("removed", message["data"]["summary"])
        self.assertIn("was not summarised", " ".join(self.notices(turn)))
        sent = texts(sent_messages(turn.requests[-1]))
        for words in ("first", "second", "And?"):
            self.assertIn(words, sent)
        self.assertNotIn("a" * 6000, sent)
        self.assertNotIn("b" * 6000, sent)
        again = self.resume(turn, [Answer("More.")])
        before, after = blocks(turn.requests[-1]), blocks(again.requests[0])
        self.assertEqual(after[:len(before)], before)

    def test_nothing_fits(self):
        """The turn ends with the error, after few requests."""
        turn = self.ask([Answer("a" * 6000)], prompt="first")
        turn = self.resume(turn, lambda request: Failure("context"), prompt="second", status=1)
        self.assertEqual(turn.reason, "error")
        self.assertIn("new session", turn.error[1])
        self.assertLess(len(turn.requests), 6)

    def test_another_model_with_a_smaller_window(self):
        turn = self.ask([Answer("a" * 3000, usage=Usage(input=700))], prompt="first")
        self.limit(600)
        turn = self.resume(turn, [Answer("Letters.", usage=SOME), Answer("Here.", usage=SOME)],
                           prompt="second")
        (message,) = turn.messages("compaction")
        self.assertEqual((message["data"]["reason"], message["data"]["summary"]),
                         ("full", "Letters."))
        self.assertEqual(turn.text, "Here.")


per_format(Automatic, globals())


class PromptTest(Base, AgentTest):
    """The file with the prompt."""
    own = "home/.ikigai/compact.md"

    def compact(self):
        turn = self.ask([self.big("r0", usage=SOME), self.big("r1", usage=FULL),
                         Answer("I read.", usage=FULL), Answer("Done.", usage=SOME)])
        self.assertEqual(turn.messages("compaction")[0]["data"]["summary"], "I read.")
        (user, *_) = [m for m in reversed(turn.llm.requests[2].json["messages"])
                      if m["role"] == "user"]
        return user["content"], self.notices(turn)[0]

    def test_the_shipped_one(self):
        self.write("project/.ikigai/compact.md", "A project has no say in this.")
        self.write("project/compact.md", "Nor here.")
        words, notice = self.compact()
        self.assertEqual(words, PROMPT)
        self.assertIn("nearly full", notice)

    def test_the_users_own(self):
        self.write(self.own, "Fasse zusammen, grüß Gott.\n")
        words, notice = self.compact()
        self.assertEqual(words, "Fasse zusammen, grüß Gott.\n")
        self.assertIn("nearly full", notice)

    def test_one_that_cannot_be_used(self):
        for content, why in ((b"", "is empty"), (b" \n\t\n", "is empty"),
                             (b"\xff\xfe", "is not UTF-8 text"), (b"a\0b", "is not UTF-8 text"),
                             (b"x" * 70000, "is larger than")):
            with self.subTest(why=why, content=content[:5]):
                path = self.path(self.own)
                with open(path, "wb") as f:
                    f.write(content)
                words, notice = self.compact()
                self.assertEqual(words, PROMPT)
                self.assertIn(path, notice)
                self.assertIn(why, notice)
                self.assertIn("the shipped prompt is used", notice)

    def test_a_folder_or_a_pipe(self):
        os.mkfifo(self.path(self.own))
        words, notice = self.compact()
        self.assertEqual(words, PROMPT)
        self.assertIn("compact.md", notice)

