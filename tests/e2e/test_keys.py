"""Keys of providers: from keys.json or the environment, sent to their provider and never shown; and
servers that are known by name."""
import json
import os

from fake_llm import Answer, Call, FakeLLM
from support import NOBODY, IkigaiTest, as_user

CANARY = "sk-canary-7d20b1"
OTHER = "sk-canary-of-the-environment"


class KeysTest(IkigaiTest):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.home, "keys.json")

    def keys(self, value, mode=0o600):
        text = value if isinstance(value, str) else json.dumps(value)
        os.makedirs(self.home, mode=0o700, exist_ok=True)
        with open(self.file, "w") as f:
            f.write(text)
        os.chmod(self.file, mode)

    def serve(self, script, **options):
        llm = FakeLLM(script, **options).start()
        self.addCleanup(llm.stop)
        return llm

    def ask(self, llm, *args, env=None, provider="openai", status=0):
        """One turn; returns the headers of the first request."""
        variable = {"openai": "OPENAI", "anthropic": "ANTHROPIC", "google": "GEMINI"}[provider]
        env = {f"{variable}_BASE_URL": llm.base_url(provider), **(env or {})}
        self.done = self.ikigai("-p", "hi", *args, env=env, status=status)
        return llm.requests[0].headers


class File(KeysTest):
    def test_the_key_of_the_file_is_sent(self):
        models = {"openai": "openai/gpt-5", "anthropic": "anthropic/claude-opus-5-5",
                  "google": "google/gemini-4-argon"}
        headers = {"openai": ("authorization", f"Bearer {CANARY}"),
                   "anthropic": ("x-api-key", CANARY), "google": ("x-goog-api-key", CANARY)}
        for provider, model in models.items():
            with self.subTest(provider=provider):
                self.keys({provider: {"api_key": CANARY}})
                name, value = headers[provider]
                sent = self.ask(self.serve([Answer("ok")]), "-m", model, provider=provider)
                self.assertEqual(sent[name], value)

    def test_a_key_alone_chooses_its_providers_default_model(self):
        self.keys({"anthropic": {"api_key": CANARY}})
        llm = self.serve([Answer("ok")])
        self.ask(llm, provider="anthropic")
        self.assertEqual(llm.requests[0].format, "anthropic")
        out = self.ikigai("doctor").out
        self.assertRegex(out, r"\AModel: anthropic/claude\S+ \(default\)\n")

    def test_the_environment_wins(self):
        self.keys({"openai": {"api_key": CANARY}})
        sent = self.ask(self.serve([Answer("ok")]), "-m", "openai/gpt-5",
                        env={"OPENAI_API_KEY": OTHER})
        self.assertEqual(sent["authorization"], f"Bearer {OTHER}")

    def test_no_tool_gets_it(self):
        self.keys({"openai": {"api_key": CANARY}})
        self.config({"tools": {"bash": {"pass_env": ["OPENAI_API_KEY"]}}})
        llm = self.serve([Answer(calls=[Call("bash", {"command": "env; cat /proc/$PPID/environ"})]),
                          Answer("done")])
        self.ask(llm, "-m", "openai/gpt-5")
        self.assertEqual(len(llm.requests), 2)
        self.assertIn("PATH=", llm.requests[1].body.decode())
        self.assertNotIn(CANARY, llm.requests[1].body.decode())
        self.assertNotIn(CANARY, self.done.out + self.done.err)

    def test_one_that_others_can_read_is_refused_with_the_chmod(self):
        for mode in (0o644, 0o640, 0o604, 0o660):
            with self.subTest(mode=oct(mode)):
                self.keys({"openai": {"api_key": CANARY}}, mode)
                for args in (("-p", "hi"), ("session", "list"), ("tool", "list")):
                    done = self.ikigai(*args, status=2)
                    self.assertEqual(done.out, "")
                    self.assertIn(f"chmod 600 {self.file}", done.err)
                out = self.ikigai("doctor", status=1).out
                self.assertIn(f"chmod 600 {self.file}", out)
        os.chmod(self.file, 0o600)
        self.ikigai("session", "list")

    def test_a_broken_one_is_refused_and_not_quoted(self):
        for text, words in (("", "broken JSON"), ("{", "broken JSON"),
                            (f'{{"openai": {{"api_key": "{CANARY}"}}}} x', "broken JSON"),
                            (f'["{CANARY}"]', "must be an object"),
                            (f'{{"{CANARY}": "{CANARY}"}}', "must be an object"),
                            (f'{{"openai": {{"api_key": ["{CANARY}"]}}}}', "must be a string"),
                            (f'{{"openai": {{"api_key": "{CANARY} x"}}}}', "characters")):
            with self.subTest(text=text):
                self.keys(text)
                done = self.ikigai("-p", "hi", status=2)
                self.assertIn(self.file, done.err)
                self.assertIn(words, done.err)
                self.assertEqual(len(done.err.splitlines()), 1)
                doctor = self.ikigai("doctor", status=1)
                self.assertIn(words, doctor.out)
                self.assertNotIn(CANARY, done.err + doctor.out + doctor.err)

    def test_a_folder_or_a_fifo_in_its_place(self):
        refusal = f"ikigai: {self.file} is not a regular file\n"
        for mode in (0o700, 0o755):
            os.makedirs(self.file)
            os.chmod(self.file, mode)
            self.assertEqual(self.ikigai("-p", "hi", status=2).err, refusal)
            os.rmdir(self.file)
        os.mkfifo(self.file, 0o600)
        self.assertEqual(self.ikigai("-p", "hi", status=2).err, refusal)

    def test_one_that_cannot_be_read(self):
        if os.getuid() != 0:
            self.skipTest("needs root")
        os.makedirs(self.home, exist_ok=True)
        self.keys({"openai": {"api_key": CANARY}})
        os.chmod(self.dir, 0o755)
        os.chown(self.home, NOBODY, NOBODY)
        done = self.ikigai("-p", "hi", status=2, preexec_fn=as_user())  # the file is root's
        self.assertIn(self.file, done.err)


class Doctor(KeysTest):
    def test_it_begins_with_the_model(self):
        def first(**env):
            return self.ikigai("doctor", env=env, status=None).out.splitlines()[0]
        self.assertEqual(first(), "Model: none. Run ikigai setup.")
        self.assertEqual(first(IKIGAI_MODEL="ollama/llama3"), "Model: ollama/llama3 (environment)")
        self.config({"model": "lmstudio/qwen"})
        self.assertEqual(first(), "Model: lmstudio/qwen (user)")
        self.config({"model": "vllm/a/b", "providers": {"vllm": {}}}, "project")
        self.assertEqual(first(), "Model: lmstudio/qwen (user)")
        self.config({})
        self.assertRegex(first(OPENAI_API_KEY="x"), r"^Model: openai/\S+ \(default\)$")
        # A key whose provider has no default model chooses none.
        self.assertEqual(first(OPENROUTER_API_KEY="x"), "Model: none. Run ikigai setup.")

    def test_where_each_key_is_from(self):
        self.keys({"anthropic": {"api_key": CANARY}, "openai": {"api_key": CANARY},
                   "box": {"api_key": CANARY}})
        self.config({"providers": {"box": {"base_url": "http://box:1/v1"}}})
        done = self.ikigai("doctor", env={"OPENAI_API_KEY": OTHER})
        rows = {row.split()[0]: row for row in done.out.partition("\nProviders:\n")[2]
                .partition("\n\n")[0].splitlines()}
        self.assertTrue(rows["anthropic"].endswith("  key from keys.json"), rows)
        self.assertTrue(rows["box"].endswith("  key from keys.json"), rows)
        self.assertTrue(rows["openai"].endswith("  key from the environment (OPENAI_API_KEY)"), rows)
        self.assertTrue(rows["google"].endswith("  no key (GEMINI_API_KEY is not set)"), rows)
        self.assertTrue(rows["ollama"].endswith("http://127.0.0.1:11434/v1  needs no key"), rows)
        self.assertNotIn(CANARY, done.out + done.err)
        self.assertNotIn(OTHER, done.out + done.err)


class KnownServers(KeysTest):
    def test_they_are_known_without_configuration(self):
        for name, port in (("ollama", 11434), ("lmstudio", 1234), ("llama", 8080), ("vllm", 8000)):
            out = self.ikigai("doctor", env={"IKIGAI_MODEL": f"{name}/some-model"}).out
            self.assertIn(f"Model: {name}/some-model (environment)\n", out)
            self.assertIn(f" http://127.0.0.1:{port}/v1 ", out)

    def test_a_request_goes_to_the_usual_address(self):
        """A server of this test listens there, unless another one does."""
        try:
            llm = self.serve([Answer("at home")], dialect="plain", port=11434)
        except OSError:
            self.skipTest("port 11434 is taken")
        self.assertEqual(self.ikigai("-m", "ollama/llama3", "-p", "hi").out, "at home\n")
        self.assertEqual(llm.requests[0].path, "/v1/chat/completions")

    def test_a_file_overrides_the_address(self):
        llm = self.serve([Answer("hello from the box")], dialect="plain")
        self.config({"providers": {"ollama": {"base_url": llm.base_url("openai")}}})
        done = self.ikigai("-m", "ollama/llama3", "-p", "hi")
        self.assertEqual(done.out, "hello from the box\n")
        (request,) = llm.requests
        self.assertEqual(request.model, "llama3")
        self.assertNotIn("authorization", request.headers)

    def test_the_key_of_vllm_is_sent_if_it_is_set(self):
        llm = self.serve([Answer("a"), Answer("b")], dialect="plain")
        self.config({"providers": {"vllm": {"base_url": llm.base_url("openai")}}})
        self.ikigai("-m", "vllm/m", "-p", "hi")
        self.ikigai("-m", "vllm/m", "-p", "hi", env={"VLLM_API_KEY": CANARY})
        self.assertNotIn("authorization", llm.requests[0].headers)
        self.assertEqual(llm.requests[1].headers["authorization"], f"Bearer {CANARY}")

    def test_openrouter_needs_its_key(self):
        done = self.ikigai("-m", "openrouter/a/b", "-p", "hi", status=2)
        self.assertIn("openrouter has no key: set OPENROUTER_API_KEY", done.err)
        llm = self.serve([Answer("ok")], dialect="plain")
        self.config({"providers": {"openrouter": {"base_url": llm.base_url("openai")}}})
        self.ikigai("-m", "openrouter/a/b", "-p", "hi", env={"OPENROUTER_API_KEY": CANARY})
        self.assertEqual(llm.requests[0].model, "a/b")
        self.assertEqual(llm.requests[0].headers["authorization"], f"Bearer {CANARY}")

    def test_their_variables_are_hidden_from_tools(self):
        done = self.ikigai("tool", "run", "bash", "--args", '{"command": "env"}',
                           env={"OPENROUTER_API_KEY": CANARY, "VLLM_API_KEY": CANARY},
                           status=None)
        self.assertNotIn(CANARY, done.out + done.err)
