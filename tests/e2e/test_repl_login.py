"""/login and /logout in the terminal: keys that are typed unseen, tested with one request, stored, and
forgotten again."""
import json
import os
import re
import stat
import tempfile
import termios

from fake_llm import Answer, Failure, FakeLLM, Raw, Wire
from job_shell import Shell
from repl_support import PROMPT, ReplTest
from support import IKIGAI, clean_env

GOOD = "sk-good-canary-81f2"
BAD = "sk-bad-canary-77aa"
ASKED = "Key for {} (not shown; Esc or an empty line cancels):"
WORKS = re.compile(r"openai: works, \d+ ms")
LIST = Raw({"object": "list", "data": [{"id": "m-one"}, {"id": "m-two"}]})


def key_of(request):
    headers = request.headers
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or bearer


def judge(request):
    """A server that knows one key and quotes every other one."""
    if key_of(request) == GOOD:
        return LIST
    return Raw({"error": {"message": f"Incorrect API key provided: {key_of(request)}.",
                          "type": "invalid_request_error", "code": "invalid_api_key"}}, 401)


class LoginTest(ReplTest):
    def serve(self, models=judge, script=()):
        llm = FakeLLM(script, models=models, validate=False).start()
        self.addCleanup(llm.stop)
        return llm

    def start_with(self, llm, *args, **env):
        return self.ready(None, *args, columns=160, env={"OPENAI_BASE_URL": llm.base_url("openai"),
                                            "ANTHROPIC_BASE_URL": llm.base_url("anthropic"),
                                            "GEMINI_BASE_URL": llm.base_url("google"), **env})

    def begin(self, t, provider="openai"):
        self.enter(t, f"/login {provider}", ASKED.format(provider))

    def give(self, t, key, until):
        t.send(key + "\r")
        return t.wait_for(until)

    def stored(self):
        try:
            with open(os.path.join(self.home, "keys.json")) as f:
                return json.load(f)
        except FileNotFoundError:
            return None

    def assert_nowhere(self, t, *keys):
        """Neither on the screen or in its scrollback, nor in a file except keys.json."""
        for key in keys:
            self.assertNotIn(key, "\n".join(t.all_rows()))
            self.assertNotIn(key.encode(), t.raw)
            for folder, _, names in os.walk(self.home):
                for name in names:
                    if name != "keys.json":
                        with open(os.path.join(folder, name), "rb") as f:
                            self.assertNotIn(key.encode(), f.read(), name)


class Login(LoginTest):
    def test_a_key_that_works_is_stored_and_used(self):
        llm = self.serve(script=[Answer("Hello.")])
        t = self.start_with(llm)
        self.begin(t)
        self.give(t, f"  {GOOD} ", WORKS)
        t.wait_for("The key is stored in")
        self.assertEqual(self.stored(), {"openai": {"api_key": GOOD}})
        path = os.path.join(self.home, "keys.json")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        (request,) = llm.requests
        self.assertEqual((request.method, request.path), ("GET", "/v1/models"))
        self.assertEqual(key_of(request), GOOD)
        # There was no model, so that of the provider answers.
        t.wait_for("Model: openai/")
        self.say(t, "hi", "Hello.")
        self.assertEqual(key_of(llm.requests[1]), GOOD)
        self.assert_nowhere(t, GOOD)
        self.assertEqual(self.leave(t), 0)
        self.assert_nowhere(t, GOOD)

    def test_every_vendor_is_asked_in_its_own_way(self):
        llm = self.serve()
        t = self.start_with(llm)
        for number, (provider, path) in enumerate({
                "anthropic": "/v1/models?limit=1000",
                "google": "/v1beta/models?pageSize=1000"}.items()):
            self.begin(t, provider)
            self.give(t, GOOD, re.compile(rf"{provider}: works, \d+ ms"))
            self.assertEqual(llm.requests[number].path, path)
            self.assertEqual(key_of(llm.requests[number]), GOOD)
        self.assertEqual(self.stored(), {"anthropic": {"api_key": GOOD},
                                         "google": {"api_key": GOOD}})

    def test_a_refused_key_is_not_stored_and_asked_for_again(self):
        llm = self.serve()
        t = self.start_with(llm)
        self.begin(t)
        self.give(t, BAD, re.compile(r"The key is not stored. openai: Incorrect API key provided: \*+\."))
        t.wait_until(lambda: t.all_rows().count(ASKED.format("openai")) == 2, "asked again")
        self.assertIsNone(self.stored())
        self.give(t, GOOD, "works, ")
        self.assertEqual(self.stored(), {"openai": {"api_key": GOOD}})
        self.assert_nowhere(t, BAD, GOOD)

    def test_a_refusal_whose_body_breaks_off(self):
        """The status says that the key is wrong."""
        t = self.start_with(self.serve(lambda _: Raw({"error": {"message": "Wrong."}}, 401,
                                                     wire=Wire(cut_after=5))))
        self.begin(t)
        self.give(t, BAD, "The key is not stored. openai:")
        t.wait_until(lambda: t.all_rows().count(ASKED.format("openai")) == 2, "asked again")
        self.assertNotIn("connection", "\n".join(t.all_rows()))

    def test_escape_and_an_empty_line_end_it(self):
        llm = self.serve()
        t = self.start_with(llm)
        for end in ("\x1b", "\r", "   \r"):
            self.begin(t)
            count = t.all_rows().count("No key was entered for openai.")
            t.send(end)
            t.wait_until(lambda: t.all_rows().count("No key was entered for openai.") == count + 1,
                         "the end")
        self.begin(t)
        self.give(t, BAD, "not stored")
        t.wait_until(lambda: t.all_rows().count(ASKED.format("openai")) == 5, "asked again")
        t.send("\x1b")
        t.wait_until(lambda: t.all_rows().count("No key was entered for openai.") == 4, "the end")
        self.assertIsNone(self.stored())
        self.enter(t, "/help login", "Asks for the key")  # the prompt is back
        self.assertEqual(len(llm.requests), 1)

    def test_a_pasted_key(self):
        llm = self.serve()
        t = self.start_with(llm)
        self.begin(t)
        t.send(f"\x1b[200~\n {GOOD}\n\x1b[201~")
        t.wait_for("characters")  # of the answer, which is not shown
        self.assert_nowhere(t, GOOD)
        t.send("\r")
        t.wait_for("works, ")
        self.assertEqual(self.stored(), {"openai": {"api_key": GOOD}})
        self.assert_nowhere(t, GOOD)

    def test_a_short_key_is_not_quoted_either(self):
        t = self.start_with(self.serve())
        self.begin(t)
        self.give(t, "q7z", "Incorrect API key provided: ***.")

    def test_characters_that_no_key_has(self):
        llm = self.serve()
        t = self.start_with(llm)
        self.begin(t)
        self.give(t, "sk canary", "The key contains characters that no key can have")
        self.assertEqual(llm.requests, [])
        self.assertIsNone(self.stored())

    def test_other_entries_stay(self):
        os.makedirs(self.home, mode=0o700)
        path = os.path.join(self.home, "keys.json")
        with open(path, "w") as f:
            f.write('{"x" : {"api_key":"k", "note": [1 , 2]}}\n')
        os.chmod(path, 0o600)
        t = self.start_with(self.serve())
        self.begin(t)
        self.give(t, GOOD, "works, ")
        with open(path) as f:
            self.assertEqual(f.read(), '{"x" : {"api_key":"k", "note": [1 , 2]}, "openai": '
                                       f'{{"api_key": "{GOOD}"}}}}\n')

    def test_a_variable_wins_and_is_named(self):
        llm = self.serve(script=[Answer("Hello.")])
        t = self.start_with(llm, OPENAI_API_KEY=BAD)
        self.begin(t)
        self.give(t, GOOD, "OPENAI_API_KEY is set and takes precedence; unset it to use the stored key.")
        self.assertEqual(self.stored(), {"openai": {"api_key": GOOD}})
        self.say(t, "hi", "Hello.")
        self.assertEqual(key_of(llm.requests[1]), BAD)

    def test_a_provider_of_ones_own(self):
        llm = self.serve(script=[Answer("From the box.")])
        self.configure(model="box/m-one", providers={"box": {"base_url": llm.base_url("openai")}})
        t = self.start_with(llm)
        self.begin(t, "box")
        self.give(t, GOOD, re.compile(r"box: works, \d+ ms"))
        self.say(t, "hi", "From the box.")
        self.assertEqual(key_of(llm.requests[1]), GOOD)

    def test_unknown_providers(self):
        t = self.start_with(self.serve())
        for name in ("nobody", "offline"):
            below = "/login offline" if name == "offline" else "/login"
            rows = self.enter(t, f"/login {name}", "There is no such provider. Known providers:", below)
            self.assertIn("openrouter", " ".join(rows))

    def test_a_key_on_the_command_line_is_neither_repeated_nor_kept(self):
        t = self.start_with(self.serve())
        for line, kept, said in (
                (f"/login openai {GOOD}", "/login openai", "Usage: /login [PROVIDER]"),
                (f"/login {BAD}", "/login", "There is no such provider.")):
            self.enter(t, line, said, below=kept)
            t.wait_until(lambda: line not in "\n".join(t.all_rows()), "line without the key")
            t.send("\x1b[A")
            t.wait_until(lambda: t.screen()[t.cursor()[0]].rstrip() == f"> {kept}", "recalled line")
            t.send("\x03")
        # A cleared draft is kept for Up, an unfinished one in case the program is killed.
        t.send(f"/login {BAD}x")
        t.wait_for(f"/login {BAD}x")
        t.send("\x03")
        t.wait_until(lambda: BAD not in "\n".join(t.screen()), "empty draft")
        t.send(f"/login openai {GOOD}y")
        drafts = os.path.join(self.home, "drafts")
        t.wait_until(lambda: os.path.isdir(drafts) and os.listdir(drafts), "saved draft")
        for folder, _, names in os.walk(self.home):
            for name in names:
                with open(os.path.join(folder, name), "rb") as f:
                    content = f.read()
                for key in (GOOD, BAD):
                    self.assertNotIn(key.encode(), content, name)

    def test_plain_mode_switches_the_echo_off(self):
        llm = self.serve()
        t = self.start_with(llm, "--plain")
        t.send("/login openai\r")
        t.wait_for(ASKED.format("openai"))
        self.give(t, BAD, re.compile(r"Incorrect API key provided: \*+\."))
        t.wait_until(lambda: "\n".join(t.all_rows()).count("Key for openai") == 2, "asked again")
        self.give(t, GOOD, "works, ")
        self.assertEqual(self.stored(), {"openai": {"api_key": GOOD}})
        t.send("/help login\r")
        t.wait_for("/help login")  # the echo is back
        self.assert_nowhere(t, GOOD, BAD)

    def test_plain_mode_hides_a_key_after_a_stop(self):
        """A shell has the echo meanwhile."""
        def echoes():
            return t.settings()[3] & termios.ECHO != 0
        llm = self.serve()
        self.decline_setup()
        shell = Shell(tempfile.mkdtemp(dir=self.dir), [IKIGAI, "--plain"])
        self.addCleanup(shell.close)
        t = self.terminal(shell.argv, columns=160, cwd=self.project,
                          env=clean_env(IKIGAI_HOME=self.home, TERM="xterm-256color",
                                        OPENAI_BASE_URL=llm.base_url("openai")))
        shell.wait_started()
        t.wait_for(PROMPT)
        t.send("/login openai\r")
        t.wait_for(ASKED.format("openai"))
        t.wait_until(lambda: not echoes(), "no echo")
        for _ in range(2):
            t.send("\x1a")
            shell.wait_stopped()
            self.assertTrue(echoes())
            shell.order("fg")
            shell.events.wait("continued")
            t.wait_until(lambda: not echoes(), "no echo")
        self.give(t, GOOD, "works, ")
        t.wait_until(echoes, "echo")
        t.send("\x1a")  # has its usual effect
        shell.wait_stopped()
        shell.order("fg")
        t.send("/exit\r")
        self.assertEqual(shell.wait_ended(), 0)
        shell.order("quit")
        self.assertEqual(t.wait_exit(), 0)
        self.assert_nowhere(t, GOOD)


class Servers(LoginTest):
    """Whatever a server answers, the key is stored only when it is accepted."""

    def refused(self, models, words, patience=20):
        llm = self.serve(models=models)
        t = self.start_with(llm)
        self.begin(t)
        t.send(GOOD + "\r")
        t.wait_for(re.compile(f"The key is not stored. openai: .*{words}"), timeout=patience)
        self.assertIsNone(self.stored())
        self.assert_nowhere(t, GOOD)

    def test_no_list(self):
        for number, body in enumerate((b"", b"<html>", b"{}", b'{"data": 3}', b'"x"', b"\xff\xfe")):
            with self.subTest(body=body):
                self.refused(lambda _: Raw(body), "the answer is not a list of models")

    def test_redirects_are_not_followed(self):
        other = self.serve()
        self.refused(lambda _: Raw(b"", 302, {"location": other.url + "/v1/models"}),
                     "redirects are not followed")
        self.assertEqual(other.requests, [])

    def test_errors(self):
        self.refused(lambda _: Failure("server", "the disk is full"), "the disk is full")

    def test_a_cut_answer(self):
        self.refused(lambda _: Raw(b"x" * 1000, wire=Wire(cut_after=100, content_length=True)), "")

    def test_an_endless_answer(self):
        self.refused(lambda _: Raw(b'{"data":[' + b" " * (9 << 20)), "more than 8 MB")

    def test_silence(self):
        self.refused(lambda _: Raw(b"{}", wire=Wire(delay_head=60)), "no answer within 10 s", 40)

    def test_a_server_that_quotes_the_key_as_a_model_is_harmless(self):
        llm = self.serve(models=lambda _: Raw({"data": [{"id": GOOD}, {"id": "fine"}]}))
        t = self.start_with(llm)
        self.begin(t)
        self.give(t, GOOD, "works, ")
        self.assert_nowhere(t, GOOD)

    def test_a_server_without_a_list_cannot_test_a_key(self):
        llm = self.serve(models=lambda _: Raw({"detail": "Not Found"}, 404))
        t = self.start_with(llm)
        self.begin(t)
        self.give(t, GOOD, "openai: its key could not be tested. The key is stored in")
        self.assertEqual(self.stored(), {"openai": {"api_key": GOOD}})

    def test_a_server_that_does_not_listen(self):
        llm = self.serve()
        llm.stop()
        t = self.start_with(llm)
        self.begin(t)
        self.give(t, GOOD, "The key is not stored. openai: cannot connect to 127.0.0.1")
        self.assertIsNone(self.stored())


class Logout(LoginTest):
    def keys(self, **keys):
        os.makedirs(self.home, mode=0o700, exist_ok=True)
        path = os.path.join(self.home, "keys.json")
        with open(path, "w") as f:
            json.dump({name: {"api_key": key} for name, key in keys.items()}, f)
        os.chmod(path, 0o600)

    def test_the_key_is_removed_and_forgotten(self):
        self.keys(openai=GOOD, anthropic=BAD)
        llm = self.serve(script=[Answer("Hello.")])
        t = self.start_with(llm, "-m", "openai/gpt-5")
        self.say(t, "hi", "Hello.")
        self.settle(t)
        self.enter(t, "/logout openai", "forgotten.")
        self.assertEqual(self.stored(), {"anthropic": {"api_key": BAD}})
        self.say(t, "again", "openai has no key (enter a key with /login openai)")
        self.assertEqual(len(llm.requests), 1)
        rows = self.enter(t, "/model openai/gpt-5", "has no key")
        self.assertIn("OPENAI_API_KEY", " ".join(rows))

    def test_the_variable_that_still_provides_one_is_named(self):
        self.keys(openai=GOOD)
        llm = self.serve(script=[])
        t = self.start_with(llm, "-m", "openai/gpt-5", OPENAI_API_KEY=BAD)
        rows = " ".join(self.enter(t, "/logout openai", "OPENAI_API_KEY still provides one"))
        self.assertIn("the key is removed from", rows)
        self.assertEqual(self.stored(), {})
        self.say(t, "hi", "openai has no key")  # that of the variable is forgotten, too
        self.assertEqual(llm.requests, [])

    def test_nothing_to_forget(self):
        t = self.start_with(self.serve())
        self.enter(t, "/logout openai", "openai has no key")
        self.assertIsNone(self.stored())

    def test_log_in_again(self):
        self.keys(openai=BAD)
        llm = self.serve(script=[Answer("Hello.")])
        t = self.start_with(llm, "-m", "openai/gpt-5")
        self.enter(t, "/logout openai", "forgotten")
        self.begin(t)
        self.give(t, GOOD, "works, ")
        self.say(t, "hi", "Hello.")
        self.assertEqual(key_of(llm.requests[1]), GOOD)

    def test_a_file_that_others_can_read_is_left_alone(self):
        self.keys(openai=GOOD)
        t = self.start_with(self.serve())
        path = os.path.join(self.home, "keys.json")
        os.chmod(path, 0o644)
        rows = " ".join(self.enter(t, "/logout openai", "chmod 600"))
        self.assertIn(path, rows)
        self.assertEqual(self.stored(), {"openai": {"api_key": GOOD}})


class WhileAgentsWork(LoginTest):
    def test_both_wait(self):
        llm = self.serve(script=[Answer("Hello.", wire=Wire(delay_head=60))])
        t = self.start_with(llm, "-m", "openai/gpt-5", OPENAI_API_KEY=GOOD)
        t.send("hi\r")
        llm.wait_for_requests(1)
        for command in ("login", "logout"):
            t.send(f"/{command} openai\r")
            t.wait_for(f"/{command} has to wait until the turn has ended")
        self.assertIsNone(self.stored())
        self.assertEqual(len(llm.requests), 1)


class Lists(LoginTest):
    def test_login_without_a_name(self):
        llm = self.serve()
        t = self.start_with(llm, ANTHROPIC_API_KEY=BAD)
        t.send("/login\r")
        t.wait_for("Which provider?")
        t.wait_for("key from the environment (ANTHROPIC_API_KEY)")
        t.wait_for("no key (OPENROUTER_API_KEY is not set)")
        self.assertNotIn("ollama", "\n".join(t.screen()))
        t.send("openai\r")
        t.wait_for(ASKED.format("openai"))
        self.give(t, GOOD, WORKS)
        self.assertEqual(self.stored(), {"openai": {"api_key": GOOD}})
        self.assert_nowhere(t, GOOD, BAD)

    def test_logout_without_a_name(self):
        t = self.start_with(self.serve(), OPENAI_API_KEY=GOOD)
        t.send("/logout\r")
        t.wait_for("Which provider?")
        self.assertNotIn("anthropic", "\n".join(t.screen()))
        t.send("\r")
        t.wait_for("OPENAI_API_KEY still provides one")
        self.enter(t, "/logout", "No provider has a key.")

    def test_escape_changes_nothing(self):
        t = self.start_with(self.serve(), OPENAI_API_KEY=GOOD)
        for command in ("login", "logout"):
            t.send(f"/{command}\r")
            t.wait_for("Which provider?")
            t.send("\x1b")
            t.wait_gone("Which provider?")
        self.assertIsNone(self.stored())

    def test_numbers_in_plain_mode(self):
        t = self.start_with(self.serve(), "--plain")
        t.send("/login\r")
        found = t.wait_for(re.compile(r"(\d+)\W+anthropic"))
        t.send(f"{found[1]}\r")
        t.wait_for(ASKED.format("anthropic"))
