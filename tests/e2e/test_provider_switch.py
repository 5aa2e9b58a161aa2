"""Conversations that go on with another model, or from a record, through agent_driver.c."""
import itertools
import json
import os
import shutil
import subprocess

from agent_support import (FORMATS, VARIABLES, AgentTest, Turn, per_format, sent_messages,
                           sent_results)
from fake_llm import Answer, Call, Failure, Memory
from support import OBJECTS, OUT

DRIVER = os.path.join(OBJECTS, "tests", "e2e", "agent_driver")
# Chat Completions and Responses are the same provider; one of them at a time.
WITH_RESPONSES = ["responses", "anthropic", "google", "local"]
WITH_CHAT = ["chat", "anthropic", "google", "local"]
CALLS = [Call("glob", {"pattern": "*.c"}), Call("file_read", {"file_path": "a.c"})]


def plain(messages):
    """Without the marks of a cache, which move along."""
    return json.loads(json.dumps(messages).replace(', "cache_control": {"type": "ephemeral"}', ""))


class Forgiving(Memory):
    """Does not miss reasoning that was dropped because the history was not the model's own."""

    def check_dropped(self, *_):
        pass

    def check_kept(self, *_):
        pass


class DriverTest(AgentTest):
    def setUp(self):
        super().setUp()
        self.assertTrue(os.path.exists(DRIVER), "make drivers builds agent_driver")
        self.write("project/a.c", "int a;\n")
        # A program finds its tools beside the folder it is in.
        os.makedirs(self.path("prefix", "bin"))
        self.driver = shutil.copy(DRIVER, self.path("prefix", "bin"))
        for name in ("lib", "libexec", "share"):
            os.symlink(os.path.join(OUT, name), self.path("prefix", name))

    def connect_all(self, servers):
        """Configures ikigai for a server per format."""
        env, providers = {}, {}
        for name, llm in servers.items():
            env.update(self.connect(llm, format=name))
            form = FORMATS[name]
            config = {**form.config, **({} if form.provider in VARIABLES
                                        else {"base_url": llm.base_url("openai")})}
            providers.update({form.provider: config} if config else {})
        self.config({"providers": providers} if providers else {})
        return env

    def drive(self, env, *turns, record=None):
        """turns: (format or provider/model, prompt); returns a Turn for each."""
        path = "-"
        if record is not None:
            path = self.write("record", "".join(json.dumps(event) + "\n" for event in record))
        words = [word for target, prompt in turns
                 for word in (FORMATS[target].target if target in FORMATS else target, prompt)]
        done = subprocess.run([self.driver, path, *words], cwd=self.project, env=self.env(**env),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        found, lines = [], []
        for line in done.stdout.split("\n")[:-1]:
            lines.append(line)
            if json.loads(line)["type"] == "done":
                found.append(Turn(0, lines, "", None))
                lines = []
        self.assertEqual(len(found), len(turns))
        return found

    def assert_ended(self, turns, servers):
        for name, llm in servers.items():
            self.assertEqual(llm.problems, [], name)
        for turn in turns:
            self.assertEqual((turn.reason, turn.of("error")), ("end_turn", []))


class Switch(DriverTest):
    def servers(self, names, turns):
        """A server per format, each with answers for so many turns of two requests each."""
        return {name: self.serve([each for n in range(turns) for each in (
            Answer(f"{name} looks {n}.", thinking=f"{name} thinks {n}", calls=CALLS),
            Answer(f"{name} is done {n}.", thinking=f"{name} is content"))],
            dialect=FORMATS[name].dialect, memory=Forgiving()) for name in names}

    def test_there_and_back(self):
        for first, second in {*itertools.permutations(WITH_RESPONSES, 2),
                              *itertools.permutations(WITH_CHAT, 2)}:
            with self.subTest(first=first, second=second):
                servers = self.servers((first, second), 2)
                turns = self.drive(self.connect_all(servers), (first, "One"), (second, "Two"),
                                   (first, "Three"))
                self.assert_ended(turns, servers)
                self.assert_carried_over(servers[first], servers[second], first == "local")

    def test_back_at_a_service_that_knows_its_calls(self):
        """It does not miss the reasoning that was dropped on the way, so nothing is refused."""
        for second in ("anthropic", "google", "local", "openai/gpt-5.6-luna"):
            with self.subTest(second=second):
                servers = self.servers(("responses", second) if second in FORMATS
                                       else ("responses",), 3)
                servers["responses"].memory = Memory()
                turns = self.drive(self.connect_all(servers), ("responses", "One"), (second, "Two"),
                                   ("responses", "Three"))
                self.assert_ended(turns, servers)
                self.assertEqual([turn.of("notice") for turn in turns], [[], [], []])

    def test_deepseek_under_another_name(self):
        """It wants its own reasoning back, and an empty one with the calls of others. That is learnt
        from its first refusal."""
        servers = self.servers(("local", "anthropic"), 2)
        servers["local"].dialect, servers["local"].memory = "deepseek", Memory()
        env = self.connect_all(servers)
        self.config({"providers": {"local": {"type": "openai", "api_key_env": "MY_KEY",
                                             "base_url": servers["local"].base_url("openai")}}})
        turns = self.drive({**env, "MY_KEY": "k-12345678"}, ("local", "One"), ("anthropic", "Two"),
                           ("local", "Three"))
        self.assertEqual([(turn.reason, turn.of("error")) for turn in turns], [("end_turn", [])] * 3)
        (problem,) = servers["local"].problems
        self.assertIn("must be passed back", problem)
        sent = [m["reasoning_content"] for m in servers["local"].requests[-1].json["messages"]
                if "tool_calls" in m]
        self.assertEqual(sent, ["local thinks 0", "", "local thinks 1"])

    def assert_carried_over(self, first, second, thoughts_return):
        """The second model got the first one's words, calls and results, in its own form, and
        nothing that was for the first one alone. Only thoughts that are bound to nothing else go
        back to the first one."""
        request = second.requests[0]
        body = request.body.decode()
        self.assertIn("looks 0.", body)
        self.assertIn("is done 0.", body)
        outputs = [envelope["result"]["output"] for _, envelope in sent_results(request)]
        self.assertEqual(outputs, ["a.c", "int a;\n"])
        self.assertNotIn("thinks", body)
        for key, _ in sent_results(request):
            if key is not None:
                self.assertRegex(key, r"\A[A-Za-z0-9]{9}\Z")
        back = first.requests[2].body.decode()
        self.assertEqual(len(sent_results(first.requests[2])), 4)
        self.assertEqual("thinks 0" in back, thoughts_return)

    def test_a_walk_through_all(self):
        """Every change there is, in one conversation."""
        for names in (WITH_RESPONSES, WITH_CHAT):
            walk, left = [names[0]], set(itertools.permutations(names, 2))
            while True:  # each change once; among four there is always a way on until all are used
                ways = [b for a, b in sorted(left) if a == walk[-1]]
                if not ways:
                    break
                ways.sort(key=lambda b: -sum(a == b for a, _ in left))
                left.remove((walk[-1], ways[0]))
                walk.append(ways[0])
            with self.subTest(walk=walk):
                self.assertGreaterEqual(len(walk), 10)
                servers = self.servers(names, len(walk))
                turns = self.drive(self.connect_all(servers), *((name, f"Turn {n}")
                                                                for n, name in enumerate(walk)))
                self.assert_ended(turns, servers)

    def test_another_model_of_the_same_provider(self):
        for name, other in (("responses", "openai/gpt-6-luna"), ("google", "google/gemini-2.5-pro"),
                            ("anthropic", "anthropic/claude-haiku-4-5"), ("local", "local/other"),
                            ("google", "google/gemini-3.8-flash"),
                            ("anthropic", "anthropic/claude-sonnet-5-5")):
            with self.subTest(other=other):
                servers = self.servers([name], 3)
                turns = self.drive(self.connect_all(servers), (name, "One"), (other, "Two"),
                                   (name, "Three"))
                self.assert_ended(turns, servers)
                models = [r.model for r in servers[name].requests]
                self.assertEqual(models, [m for m in (FORMATS[name].model, other.partition("/")[2],
                                                      FORMATS[name].model) for _ in range(2)])

    def test_when_the_first_one_fails(self):
        """Nothing came of the first turn but the user's words."""
        for first, second in itertools.permutations(WITH_RESPONSES, 2):
            with self.subTest(first=first, second=second):
                servers = {first: self.serve([Failure("bad_request")],
                                             dialect=FORMATS[first].dialect),
                           second: self.serve([Answer("Better.")], dialect=FORMATS[second].dialect)}
                failed, turn = self.drive(self.connect_all(servers), (first, "First words"),
                                          (second, "Second words"))
                self.assertEqual(failed.reason, "error")
                self.assert_ended([turn], servers)
                body = servers[second].requests[0].body
                self.assertIn(b"First words", body)
                self.assertIn(b"Second words", body)

    def test_a_turn_that_was_refused_is_left_out(self):
        """Anthropic wants it so; the others get what was said."""
        for refusal in ("No way.", ""):
            with self.subTest(refusal=refusal):
                llm = self.serve([Answer(refusal=refusal), Answer("Yes.")])
                turns = self.drive(self.connect(llm, format="anthropic"), ("anthropic", "Do bad"),
                                   ("anthropic", "Do good"))
                self.assert_ended(turns, {"anthropic": llm})
                self.assertNotIn(b"Do bad", llm.requests[1].body)
        llm = self.serve([Answer(refusal="No way."), Answer("Yes.")])
        self.drive(self.connect(llm, format="chat"), ("chat", "Do bad"), ("chat", "Do good"))
        self.assertIn(b"Do bad", llm.requests[1].body)

    def test_what_one_server_refused_is_not_kept_from_another(self):
        def picky(request):
            if "stream_options" in request.json:
                return Failure("bad_request", "Unsupported parameter: 'stream_options'",
                               param="stream_options")
            return Answer("Fine.")
        servers = {"local": self.serve(picky, dialect="plain"), "chat": self.serve(
            [Answer("Yes.")] * 2)}
        turns = self.drive(self.connect_all(servers), ("local", "One"), ("chat", "Two"),
                           ("local", "Three"))
        self.assert_ended(turns, servers)
        self.assertIn("stream_options", servers["chat"].requests[0].json)


class Record:
    """A conversation recorded in this format goes on from its record."""

    def resume(self, turn, record=None):
        """Goes on with what a turn printed, or the part of it that is left, against the same
        server. Returns the first request and the turn."""
        llm = turn.llm
        before = len(llm.requests)
        llm.script += [Answer("Going on.", thinking="again", calls=CALLS[:1]), Answer("Done.")]
        (again,) = self.drive(self.connect(llm), (self.format, "Go on"),
                              record=turn.events if record is None else record)
        self.assert_ended([again], {self.format: llm})
        self.assertEqual(len(llm.requests), before + 2)
        return llm.requests[before], again

    def test_goes_on_as_if_nothing_had_happened(self):
        turn = self.ask([
            Answer("One.", thinking="first", calls=CALLS),
            Answer(thinking="second", calls=CALLS[:1]), Answer("Three.", thinking="third")])
        request, _ = self.resume(turn)
        results = [e["result"]["output"] for _, e in sent_results(request)]
        self.assertEqual(results, ["a.c", "int a;\n", "a.c"])
        if self.format in ("responses", "anthropic", "google"):
            self.assertIn(self.mark(), request.body)

    def mark(self):
        """What only a request that carries reasoning along contains."""
        return {"responses": b"encrypted_content\":\"", "anthropic": b"\"signature\":",
                "google": b"thoughtSignature"}[self.format]

    def test_cut_off_anywhere(self):
        """Whatever a crash left of the record, the next request is one the server accepts."""
        turn = self.ask([Answer("One.", thinking="first", calls=CALLS),
                         Answer("Two.", thinking="second", calls=CALLS[:1]), Answer("Three.")],
                        server={"memory": Forgiving()})
        messages = turn.messages()
        for count in range(len(messages) + 1):
            with self.subTest(count=count):
                request, _ = self.resume(turn, messages[:count])
                codes = [e.get("error_code") for _, e in sent_results(request)]
                calls = sum(m["kind"] == "tool_call" for m in messages[:count])
                results = sum(m["kind"] == "tool_result" for m in messages[:count])
                self.assertEqual(len(codes), calls)
                self.assertEqual(codes.count("INTERRUPTED"), calls - results)

    def test_after_an_answer_that_broke_off(self):
        turn = self.ask([Answer("Half an answer", stop="incomplete")], status=1)
        request, _ = self.resume(turn)
        self.assertIn(b"Half an answer", request.body)

    def test_after_an_interruption(self):
        self.tool("hang", ": > here; sleep 300")
        run = self.begin([Answer("So.", thinking="hm", calls=[Call("hang"), *CALLS])])
        self.wait_for_file("here")
        run.signal()
        turn = run.finish()
        self.assertEqual(turn.status, 130)
        request, _ = self.resume(turn)
        codes = [e["error_code"] for _, e in sent_results(request)]
        self.assertEqual(codes, ["INTERRUPTED"] * 3)

    def test_after_a_compaction(self):
        """The same results are trimmed as before the end."""
        self.write("project/a.c", "x" * 9000)
        script = [Answer(calls=CALLS[1:]) for _ in range(3)]
        turn = self.ask([*script, Failure("context"), Answer("Done.")])
        trimmed = turn.messages("compaction")[0]["data"]["trimmed_results"]
        earlier = turn.llm.requests[-1]
        request, _ = self.resume(turn)
        markers = ["removed" in json.dumps(e) for _, e in sent_results(request)]
        self.assertEqual(markers, [True] * trimmed + [False] * (3 - trimmed))
        before, after = (plain(sent_messages(r)) for r in (earlier, request))
        self.assertEqual(after[:len(before)], before)

    def test_goes_on_with_another(self):
        record = self.ask([Answer("One.", thinking="first", calls=CALLS), Answer("Two.")]).events
        other = "google" if self.format == "anthropic" else "anthropic"
        llm = self.serve([Answer("Mine.")], dialect=FORMATS[other].dialect)
        (turn,) = self.drive(self.connect(llm, format=other), (other, "Go on"), record=record)
        self.assert_ended([turn], {other: llm})
        self.assertEqual(len(sent_results(llm.requests[0])), 2)


per_format(Record, globals(), base=DriverTest)


class Budget(AgentTest):
    """A model that thinks within a budget wants the thinking of the whole turn back."""
    format = "anthropic"

    def test_it_does_not_think_in_a_turn_that_lost_its_thinking(self):
        look = Answer(thinking="Hm.", calls=[Call("bash", {"command": "seq 3000"})])
        llm = self.serve([look, look, Failure("context"), Answer("One."), Answer("Two.")],
                         memory=Forgiving(preserved=False))
        env = self.connect(llm)
        self.config({"effort": "low"})
        for more in ([], ["-c"]):
            self.ikigai("-p", "Go", "-m", "anthropic/claude-haiku-4-5", *more, env=env)
        self.assertEqual(llm.problems, [])
        self.assertEqual(["thinking" in r.json for r in llm.requests],
                         [True, True, True, False, True])
