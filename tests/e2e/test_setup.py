"""`ikigai setup` and the first start: choosing a server, its key and a model."""
import http.server
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import threading
import unittest

from fake_llm import Answer, FakeLLM
from repl_support import PROMPT, ReplTest
from support import IKIGAI, clean_env
from terminal_support import PATIENCE

KEY = "sk-ant-secret-0123456789"
TITLE = "No model is set up yet."
LAST = "Look around offline"
MODELS = ["small-1", "big-2", "claude-haiku-9"]


class Server:
    """A model server that records every request, and every connection."""

    def __init__(self, models=MODELS, status=200, body=None, key=None):
        self.models, self.status, self.body, self.key = models, status, body, key
        self.requests = []
        self.connections = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def setup(self):
                outer.connections += 1
                super().setup()

            def do_GET(self):
                outer.requests.append((self.path, dict(self.headers)))
                status, body = outer.answer(self.path, dict(self.headers))
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    def answer(self, path, headers):
        given = {k.lower(): v for k, v in headers.items()}
        key = given.get("x-api-key") or given.get("x-goog-api-key") or \
            given.get("authorization", "").removeprefix("Bearer ")
        if self.key is not None and key != self.key:
            return 401, {"error": {"type": "authentication_error",
                                   "message": f"invalid key {key} \x1b[31m"}}
        if self.body is not None:
            return self.status, self.body
        return self.status, {"data": [{"id": name, "type": "model", "object": "model"}
                                      for name in self.models]}

    def close(self):
        self.http.shutdown()
        self.http.server_close()


class SetupTest(ReplTest):
    def serve_models(self, *args, **options):
        server = Server(*args, **options)
        self.addCleanup(server.close)
        return server

    def address(self, server):
        return {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.port}"}

    def setup_program(self, *args, env=None, columns=80, rows=24, cwd=None,
                      command=None, **options):
        env = clean_env(**{"IKIGAI_HOME": self.home, "TERM": "xterm-256color", **(env or {})})
        return self.terminal([IKIGAI, *(command or ["setup"]), *args], columns=columns, rows=rows,
                             cwd=cwd or self.project, env=env, **options)

    def opened(self, *args, **options):
        t = self.setup_program(*args, **options)
        t.wait_for(LAST)
        return t

    def number_of(self, t, label):
        return re.search(rf"^[› ]*(\d+) +{re.escape(label)}", "\n".join(t.screen()), re.M)[1]

    def choose(self, t, label):
        t.wait_for(label)
        t.send(self.number_of(t, label))

    def read_file(self, name):
        try:
            with open(os.path.join(self.home, name), encoding="utf-8") as f:
                return f.read()
        except FileNotFoundError:
            return None

    def config(self):
        text = self.read_file("config.json")
        return None if text is None else json.loads(text)

    def keys(self):
        text = self.read_file("keys.json")
        return None if text is None else json.loads(text)

    def assert_nothing_stored(self):
        self.assertEqual((self.config() or {}).get("model"), None)
        self.assertIsNone(self.keys())
        self.assert_key_nowhere()

    def assert_key_nowhere(self, *except_files):
        for folder, _, names in os.walk(self.home):
            for name in names:
                with open(os.path.join(folder, name), "rb") as f:
                    if name not in except_files:
                        self.assertNotIn(KEY.encode(), f.read(), name)

    def assert_key_unseen(self, t):
        self.assertNotIn(KEY, "\n".join(t.all_rows()))
        self.assertNotIn(KEY.encode(), t.raw)

    def highlighted(self, t):
        return next((row for row in t.screen() if row.startswith("›")), None)


class Screen(SetupTest):
    def test_what_is_offered(self):
        t = self.opened()
        rows = t.all_rows()
        self.assertEqual(rows[0], TITLE)
        self.assertIn("OPENAI_API_KEY", rows[1])
        labels = ["Anthropic", "OpenAI", "Google", "OpenRouter",
                  "Another OpenAI-compatible server", LAST]
        numbers = [int(self.number_of(t, label)) for label in labels]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + 6)))
        self.assertRegex(self.highlighted(t), r"^› 1 ")
        t.send("\x1b[B")
        t.wait_until(lambda: self.highlighted(t).startswith("› 2 "), "second row")
        t.send("x")  # text is not for this list
        t.send("\x1b[A\x1b[A")
        t.wait_until(lambda: LAST in self.highlighted(t), "last row")
        t.send("\r")
        self.assertEqual(t.wait_exit(), 0)

    def test_an_editor_starts_it(self):
        """ikigai acp with its options and --setup behind them is the same dialogue."""
        t = self.opened("-m", "openai/gpt-5", "--setup", command=["acp"])
        self.assertIn("ikigai setup", "\n".join(t.screen()))
        self.choose(t, LAST)
        self.assertEqual(t.wait_exit(), 0)

    def test_local_servers_are_found_and_not_asked(self):
        """Three servers: one speaks, one is silent, one is elsewhere."""
        server = self.serve_models()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.configure(providers={
                "ollama": {"base_url": f"http://127.0.0.1:{server.port}/v1"},
                "lmstudio": {"base_url": f"http://localhost:{silent.getsockname()[1]}/v1"},
                "llama": {"base_url": "http://box.example:8080/v1"}})
            t = self.opened()
            rows = "\n".join(t.screen())
            self.assertRegex(rows, rf"(?m)^› 1 Ollama on this machine +found on port {server.port}$")
            self.assertRegex(rows, r"(?m)^  2 LM Studio on this machine +found on port \d+$")
            self.assertNotIn("llama.cpp", rows)
            silent.settimeout(PATIENCE)
            peer, _ = silent.accept()
            self.assertEqual(peer.recv(1), b"")  # connected, and said nothing
            peer.close()
        self.assertEqual(server.requests, [])
        t.send("\x1b")
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(server.requests, [])

    def test_ten_rows_are_all_shown(self):
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
        self.configure(providers={name: {"base_url": f"http://127.0.0.1:{s.getsockname()[1]}/v1"}
                                  for name, s in zip(("ollama", "lmstudio", "llama", "vllm"),
                                                     sockets)})
        t = self.opened()
        for label in ("Ollama", "LM Studio", "llama.cpp", "vLLM", "Anthropic", LAST):
            self.assertRegex("\n".join(t.screen()), rf"\d +{re.escape(label)}")
        for s in sockets:
            s.close()

    def test_forty_columns_and_a_resize(self):
        t = self.opened(columns=40)
        for row in t.screen():
            self.assertLess(len(row), 40)
        self.choose(t, "Anthropic")
        t.wait_for("Key for Anthropic:")
        t.paste(KEY)
        t.wait_for("characters)")
        t.resize(20, 10)
        t.wait_idle()
        t.resize(90, 30)
        t.wait_idle()
        t.send("\x1b")
        t.wait_for(LAST)
        self.assert_key_unseen(t)
        t.send("\x03")
        self.assertEqual(t.wait_exit(), 130)
        self.assert_nothing_stored()

    def test_a_model_that_is_set_up_is_named(self):
        self.configure(model="offline/offline")
        t = self.opened()
        self.assertEqual(t.all_rows()[0], "Model: offline/offline (user)")
        self.assertNotIn(TITLE, "\n".join(t.all_rows()))
        t.send("\x1b")
        self.assertEqual(t.wait_exit(), 0)
        self.assertIn("The model is still offline/offline", "\n".join(t.all_rows()))
        self.assertEqual(self.config(), {"model": "offline/offline"})
        self.assertIsNone(self.read_file("offline"))

    def test_a_key_in_the_environment_counts(self):
        t = self.opened(env={"ANTHROPIC_API_KEY": KEY})
        self.assertRegex(t.all_rows()[0], r"^Model: anthropic/\S+ \(default\)$")
        self.assert_key_unseen(t)
        t.send("\x03")
        self.assertEqual(t.wait_exit(), 130)

    def test_the_choice_is_remembered_once_offline(self):
        t = self.opened()
        t.send("\x1b")
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(self.read_file("offline"), "")
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.home, "offline")).st_mode), 0o600)


class Terminals(SetupTest):
    def test_it_needs_a_terminal(self):
        for stdin in (subprocess.DEVNULL, subprocess.PIPE):
            done = subprocess.run([IKIGAI, "setup"], stdin=stdin, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True,
                                  env=clean_env(IKIGAI_HOME=self.home), timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("needs a terminal", done.stderr)
            self.assertIn("ANTHROPIC_API_KEY", done.stderr)
        self.assertFalse(os.path.exists(self.home))

    def test_plain_and_dumb(self):
        server = self.serve_models(key=KEY)
        for args, env, dumb in ((["--plain"], {}, False), ([], {"TERM": "dumb"}, True)):
            with self.subTest(dumb=dumb):
                t = self.setup_program(*args, env={**env, **self.address(server)}, plain=True,
                                       dumb=dumb)
                t.wait_for("Enter a number:")
                t.wait_for(LAST)
                t.send("anthropic\n")
                t.wait_for("Enter one of the numbers.")
                t.wait_for(re.compile(r"one of the numbers\.\n(.*\n)*\d+ +Look around.*\n>"))
                found = re.findall(r"^(\d+) +Anthropic", "\n".join(t.all_rows()), re.M)
                t.send(found[-1] + "\n")
                t.wait_for("Key for Anthropic:")
                t.wait_until(lambda: not t.settings()[3] & 0o10, "echo off")  # ECHO
                t.send(f"  {KEY} \n")
                t.wait_for("Anthropic works, ")
                t.wait_for("Which model?")
                t.wait_for(re.compile(r"^\d+ +claude-haiku-9(.*\n)+>", re.M))
                self.assertTrue(t.settings()[3] & 0o10)
                found = re.findall(r"^(\d+) +big-2", "\n".join(t.all_rows()), re.M)
                t.send(found[-1] + "\n")
                self.assertEqual(t.wait_exit(), 0)
                self.assert_key_unseen(t)
                self.assertEqual(self.config()["model"], "anthropic/big-2")
                self.assertEqual(self.keys(), {"anthropic": {"api_key": KEY}})
                os.unlink(os.path.join(self.home, "config.json"))
                os.unlink(os.path.join(self.home, "keys.json"))

    def test_plain_by_name_and_the_end_of_input(self):
        server = self.serve_models()
        self.configure(providers={"ollama": {"base_url": f"http://127.0.0.1:{server.port}/v1"}})
        t = self.setup_program("--plain", plain=True)
        t.wait_for(LAST)
        t.send("1\n")
        t.wait_for("Which model?")
        t.send("another-name\n")  # a model need not be in the list
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(self.config()["model"], "ollama/another-name")
        t = self.setup_program("--plain", plain=True)
        t.wait_for(LAST)
        t.send("\x04")
        self.assertEqual(t.wait_exit(), 1)

    def test_echo_is_back_however_it_ends(self):
        for end, status in (("\x04", 1), ("\x03", 130)):
            t = self.setup_program("--plain", plain=True)
            t.wait_for(LAST)
            t.send(re.findall(r"^(\d+) +Anthropic", "\n".join(t.all_rows()), re.M)[0] + "\n")
            t.wait_for("Key for Anthropic:")
            t.wait_until(lambda: not t.settings()[3] & 0o10, "echo off")
            t.send(end)
            self.assertEqual(t.wait_exit(), status)
            self.assertTrue(t.settings()[3] & 0o10)
            self.assert_nothing_stored()


class Keys(SetupTest):
    def test_a_key_that_works(self):
        server = self.serve_models(key=KEY)
        self.configure(max_tool_turns=7, providers={"box": {"base_url": "http://box.example/v1"}})
        self.write("Makefile", "all:\n\ttrue\n\ntest: all\n\ttrue\n")
        t = self.opened(env=self.address(server))
        self.choose(t, "Anthropic")
        t.wait_for("Key for Anthropic:")
        self.assertEqual(server.connections, 0)
        t.paste(f" {KEY}\n")
        t.wait_for(f"({len(KEY) + 2} characters)")
        self.assert_nothing_stored()
        t.send("\r")
        t.wait_for(re.compile(r"^Anthropic works, \d+ ms\.", re.M))
        t.wait_for("Which model?")
        self.assertEqual(len(server.requests), 1)
        self.assertEqual(server.requests[0][0].split("?")[0], "/v1/models")
        self.assert_nothing_stored()  # not before a model is chosen
        t.send("bg2")  # fuzzy
        t.wait_until(lambda: "big-2" in (self.highlighted(t) or ""), "big-2")
        t.send("\r")
        self.assertEqual(t.wait_exit(), 0)
        rows = t.all_rows()
        self.assertIn("  explain this project", rows)
        self.assertIn("  run make test and fix what fails", rows)
        self.assertIn("  /init", rows)
        self.assertEqual(self.config(), {"max_tool_turns": 7, "model": "anthropic/big-2",
                                         "providers": {"box": {"base_url": "http://box.example/v1"}}})
        self.assertEqual(self.keys(), {"anthropic": {"api_key": KEY}})
        path = os.path.join(self.home, "keys.json")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assert_key_unseen(t)
        self.assert_key_nowhere("keys.json")
        self.assertEqual(len(server.requests), 1)

    def test_the_default_model_is_first(self):
        with open(os.path.join(os.path.dirname(IKIGAI), "..", "share", "ikigai", "models.json"),
                  encoding="utf-8") as f:
            models = json.load(f)["models"]
        usual = next(name for name, model in models.items()
                     if name.startswith("anthropic/") and model.get("default"))
        server = self.serve_models(["aaa", "bbb", usual.split("/", 1)[1], "ccc"])
        t = self.opened(env=self.address(server))
        self.choose(t, "Anthropic")
        t.wait_for("Key for Anthropic:")
        t.send(KEY + "\r")
        t.wait_for("Which model?")
        t.wait_until(lambda: self.highlighted(t) is not None, "a row")
        self.assertIn(usual.split("/", 1)[1], self.highlighted(t))
        t.send("\r")
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(self.config()["model"], usual)

    def test_a_refused_key_is_asked_for_again(self):
        server = self.serve_models(key=KEY)
        t = self.opened(env=self.address(server))
        self.choose(t, "Anthropic")
        t.wait_for("Key for Anthropic:")
        t.send("sk-wrong-key-00000\r")
        t.wait_for("Anthropic refused the request: invalid key ******************")
        t.wait_for(re.compile(r"refused.*\n(.*\n)*Key for Anthropic:"))
        self.assertNotIn("sk-wrong", "\n".join(t.all_rows()))
        self.assertNotIn(b"sk-wrong", t.raw)
        self.assert_nothing_stored()
        t.send(KEY + "\r")
        t.wait_for("Anthropic works, ")
        t.wait_for("Which model?")
        t.send("\r")
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(self.keys(), {"anthropic": {"api_key": KEY}})

    def test_a_server_that_repeats_the_key(self):
        """In the list of models, in an error, and in an answer that is no list."""
        cases = [(200, {"data": [{"id": KEY}, {"id": f"x-{KEY}"}, {"id": "good"}]}, "works, "),
                 (500, {"error": {"message": f"Your key {KEY} broke me"}}, "broke me"),
                 (200, f"<html>{KEY}</html>".encode(), "Anthropic:")]
        for status, body, shown in cases:
            with self.subTest(shown=shown):
                server = self.serve_models(status=status, body=body)
                t = self.opened(env=self.address(server))
                self.choose(t, "Anthropic")
                t.wait_for("Key for Anthropic:")
                t.send(KEY + "\r")
                t.wait_for(shown)
                t.wait_for("Which model?" if isinstance(body, dict) and "data" in body else
                           re.compile(rf"{shown}.*\n(.*\n)*Key for"))
                self.assert_key_unseen(t)
                t.close()
                self.assert_nothing_stored()

    def test_a_dead_server(self):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        t = self.opened(env={"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}"})
        self.choose(t, "Anthropic")
        t.wait_for("Key for Anthropic:")
        t.send(KEY + "\r")
        t.wait_for(re.compile(r"^Anthropic: ", re.M))
        t.wait_for(re.compile(r"^Anthropic: .*\n(.*\n)*Key for Anthropic:", re.M))
        t.send("\x1b")
        t.wait_for(LAST)
        t.send("\x03")
        self.assertEqual(t.wait_exit(), 130)
        self.assert_nothing_stored()

    def test_a_silent_server_can_be_left(self):
        for end, status in (("\x1b", None), ("\x03", 130), ("\x04", 1)):
            with self.subTest(end=end), socket.create_server(("127.0.0.1", 0)) as silent:
                t = self.opened(env={"ANTHROPIC_BASE_URL":
                                     f"http://127.0.0.1:{silent.getsockname()[1]}"})
                self.choose(t, "Anthropic")
                t.wait_for("Key for Anthropic:")
                t.send(KEY + "\r")
                t.wait_for("Testing the key")
                t.send(KEY)  # once more, by mistake
                t.wait_for("characters)")
                if status is None:
                    t.send(end)
                    t.wait_for(LAST)
                    t.send("\x03")
                    self.assertEqual(t.wait_exit(), 130)
                else:
                    t.send("\x15" + end)
                    self.assertEqual(t.wait_exit(), status)
                self.assert_key_unseen(t)
                self.assert_nothing_stored()

    def test_signals_leave_nothing_behind(self):
        server = self.serve_models(key=KEY)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for at in ("Key for Anthropic:", "Which model?"):
                with self.subTest(number=number, at=at):
                    t = self.opened(env=self.address(server))
                    self.choose(t, "Anthropic")
                    t.wait_for("Key for Anthropic:")
                    t.send(KEY)
                    t.wait_for(f"({len(KEY)} characters)")
                    t.send("\r" if at != "Key for Anthropic:" else "")
                    t.wait_for(at)
                    t.signal(number)
                    self.assertEqual(t.wait_exit(), 128 + number)
                    self.assert_nothing_stored()
                    self.assert_key_unseen(t)

    def test_esc_in_the_models_stores_nothing(self):
        server = self.serve_models(key=KEY)
        t = self.opened(env=self.address(server))
        self.choose(t, "Anthropic")
        t.wait_for("Key for Anthropic:")
        t.send(KEY + "\r")
        t.wait_for("Which model?")
        t.send("\x1b")
        t.wait_for("Nothing was stored.")
        t.wait_for(LAST)
        self.assert_nothing_stored()
        t.send("\x03")
        self.assertEqual(t.wait_exit(), 130)

    def test_empty_and_impossible_keys(self):
        t = self.opened()
        self.choose(t, "OpenAI")
        t.wait_for("Key for OpenAI:")
        t.send("\r")
        t.wait_for("Paste the key and press Enter; Esc goes back.")
        t.paste("two words\nof a page")
        t.send("\r")
        t.wait_for("The key contains characters that no key can have")
        self.assertNotIn("two words", "\n".join(t.all_rows()))
        t.send("\x03")
        self.assertEqual(t.wait_exit(), 130)

    def test_a_key_of_the_environment_can_be_kept(self):
        server = self.serve_models(key=KEY)
        t = self.opened(env={**self.address(server), "ANTHROPIC_API_KEY": KEY})
        self.choose(t, "Anthropic")
        t.wait_for("the one from ANTHROPIC_API_KEY")
        t.send("\r")
        t.wait_for("Anthropic works, ")
        t.wait_for("Which model?")
        t.send("\r")
        self.assertEqual(t.wait_exit(), 0)
        self.assertIsNone(self.keys())
        self.assertEqual(self.config()["model"], "anthropic/small-1")

    def test_each_vendor(self):
        for label, variable, path in (("OpenAI", "OPENAI_BASE_URL", "/v1/models"),
                                      ("Google", "GEMINI_BASE_URL", "/v1beta/models")):
            with self.subTest(label=label):
                llm = FakeLLM([])
                with llm:
                    vendor = "google" if label == "Google" else "openai"
                    t = self.opened(env={variable: llm.base_url(vendor)})
                    self.choose(t, label)
                    t.wait_for(f"Key for {label}:")
                    t.send(KEY + "\r")
                    t.wait_for(f"{label} works, ")
                    t.wait_for("Which model?")
                    t.send("\r")
                    self.assertEqual(t.wait_exit(), 0)
                self.assertTrue(self.config()["model"].startswith(vendor + "/"))
                self.assertEqual(self.keys()[vendor], {"api_key": KEY})

    def test_a_home_that_cannot_be_written(self):
        """Root can write everywhere, but not below a file."""
        server = self.serve_models(key=KEY)
        with open(os.path.join(self.dir, "file"), "w", encoding="utf-8"):
            pass
        self.home = os.path.join(self.dir, "file", "home")
        t = self.opened(env=self.address(server))
        self.choose(t, "Anthropic")
        t.wait_for("Key for Anthropic:")
        t.send(KEY + "\r")
        t.wait_for("Which model?")
        t.send("\r")
        self.assertEqual(t.wait_exit(), 1)
        self.assertIn("Nothing was set up: ", "\n".join(t.all_rows()))
        self.assert_key_unseen(t)
        t = self.opened()
        t.send("\x1b")  # offline cannot be remembered, which is no error
        self.assertEqual(t.wait_exit(), 0)


class Servers(SetupTest):
    def test_a_local_server(self):
        server = self.serve_models()
        self.configure(providers={"ollama": {"base_url": f"http://127.0.0.1:{server.port}/v1"}})
        t = self.opened()
        t.send("\r")  # it is the first row
        t.wait_for("Ollama works, ")
        t.wait_for("Which model?")
        self.assertEqual([path for path, _ in server.requests], ["/v1/models"])
        t.send("\r")
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(self.config()["model"], "ollama/small-1")
        self.assertIsNone(self.keys())

    def test_a_local_server_without_models(self):
        server = self.serve_models([], body={"object": "list", "data": None})  # Ollama's answer
        self.configure(providers={"ollama": {"base_url": f"http://127.0.0.1:{server.port}/v1"}})
        t = self.opened()
        t.send("1")
        t.wait_for("It has no models yet.")
        t.wait_for("Name of the model:")
        t.send("\r")
        t.send("qwen3\r")
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(self.config()["model"], "ollama/qwen3")

    def other(self, t, address, key=""):
        self.choose(t, "Another OpenAI-compatible server")
        t.wait_for("Address (http://HOST:PORT/v1):")
        t.send(address + "\r")
        t.wait_for("Key (Enter: none):")
        t.send(key + "\r")

    def test_another_server(self):
        server = self.serve_models(key=KEY)
        self.configure(effort="low")
        t = self.opened()
        self.other(t, f"http://127.0.0.1:{server.port}/v1/", KEY)
        t.wait_for(f"http://127.0.0.1:{server.port}/v1 works, ")
        t.wait_for("Which model?")
        t.send("big\r")
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(self.config(), {
            "effort": "low", "model": "local/big-2",
            "providers": {"local": {"base_url": f"http://127.0.0.1:{server.port}/v1"}}})
        self.assertEqual(self.keys(), {"local": {"api_key": KEY}})
        self.assert_key_unseen(t)

    def test_another_server_without_a_key_is_used(self):
        """What was set up works in a conversation."""
        llm = FakeLLM([Answer("I am here.")], dialect="plain")
        with llm:
            t = self.opened()
            self.other(t, llm.base_url("openai"))
            t.wait_for("Which model?")
            t.send("\r")
            self.assertEqual(t.wait_exit(), 0)
            self.assertIsNone(self.keys())
            t = self.ready(first=True)
            self.assertNotIn(TITLE, "\n".join(t.all_rows()))
            self.say(t, "hi", "I am here.")
            self.assertEqual(self.leave(t), 0)

    def test_an_address_without_path_and_scheme(self):
        server = self.serve_models()
        t = self.opened()
        self.other(t, f"localhost:{server.port}")
        t.wait_for(f"http://localhost:{server.port}/v1 works, ")
        t.wait_for("Which model?")
        t.send("\r")
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(self.config()["providers"]["local"]["base_url"],
                         f"http://localhost:{server.port}/v1")

    def test_a_server_without_a_list(self):
        server = self.serve_models(status=404, body={"error": {"message": "no such path"}})
        t = self.opened()
        self.other(t, f"http://127.0.0.1:{server.port}")
        t.wait_for("has no list of models, so nothing was tested.")
        self.assertEqual([path for path, _ in server.requests], ["/v1/models", "/models"])
        t.wait_for("Name of the model:")
        t.send("mine\r")
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(self.config()["model"], "local/mine")

    def test_a_wrong_address_is_asked_for_again(self):
        server = self.serve_models()
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        t = self.opened()
        self.choose(t, "Another OpenAI-compatible server")
        t.wait_for("Address (http://HOST:PORT/v1):")
        t.send("  \r")
        t.wait_for("Enter an address such as")
        t.send(f"http://127.0.0.1:{port}/v1\r")
        t.wait_for("Key (Enter: none):")
        t.send("\r")
        t.wait_for(re.compile(rf"^http://127.0.0.1:{port}/v1: ", re.M))
        t.wait_until(lambda: t.screen()[t.cursor()[0]].startswith("Address"), "the question")
        t.send(f"127.0.0.1:{server.port}/v1\r")
        t.wait_until(lambda: t.screen()[t.cursor()[0]].startswith("Key"), "the question")
        t.send("\r")
        t.wait_for("Which model?")
        t.send("\r")
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(list(self.config()["providers"]), ["local"])

    def test_a_server_that_wants_a_key(self):
        server = self.serve_models(key=KEY)
        t = self.opened()
        self.other(t, f"http://127.0.0.1:{server.port}/v1")
        t.wait_for("refused the request: ")
        t.wait_until(lambda: t.screen()[t.cursor()[0]].startswith("Key"), "the question")
        t.send(KEY + "\r")
        t.wait_for("Which model?")
        t.send("\r")
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(self.keys(), {"local": {"api_key": KEY}})


class FirstStart(SetupTest):
    def first(self, *args, **options):
        return self.start(None, *args, first=True, **options)

    def test_the_same_is_offered(self):
        t = self.first()
        t.wait_for(LAST)
        rows = t.all_rows()
        self.assertIn("ikigai", rows[0])
        self.assertEqual(rows[1], TITLE)
        self.assertIn("OPENAI_API_KEY", rows[2])
        self.assertTrue(any(row.startswith("> ") and "/help" in row for row in rows), rows)
        self.assertRegex(self.highlighted(t), r"^› 1 ")
        self.assertEqual(self.leave(t), 0)
        self.assertIsNone(self.read_file("offline"))

    def test_a_letter_begins_a_message(self):
        t = self.first()
        t.wait_for(LAST)
        t.send("hello")
        t.wait_for(re.compile(r"^> hello$", re.M))
        self.assertNotIn(LAST, "\n".join(t.screen()))
        self.say(t, "", "Try:")
        self.assertEqual(self.leave(t), 0)
        self.assertEqual(self.read_file("offline"), "")

    def test_everything_typed_at_once(self):
        """Before the list is there, too."""
        t = self.terminal([IKIGAI], cwd=self.project,
                          env=clean_env(IKIGAI_HOME=self.home, TERM="xterm-256color"))
        t.wait_until(lambda: b"\x1b[?2004h" in t.raw, "the first frame")
        t.send("hello\r")
        t.wait_for("Try:")
        t.wait_for(PROMPT)
        self.assertNotIn(LAST, "\n".join(t.screen()))
        self.assertEqual(self.leave(t), 0)

    def test_commands_and_pastes_begin_a_message_too(self):
        for text, shown in (("/help keys\r", "At the prompt"), ("!echo $((40+2))\r", "42")):
            t = self.first()
            t.wait_for(LAST)
            t.send(text)
            t.wait_for(shown)
            self.assertEqual(self.read_file("offline"), "")
            os.unlink(os.path.join(self.home, "offline"))
            t.close()
        t = self.first()
        t.wait_for(LAST)
        t.paste("7 words")
        t.wait_for("> 7 words")
        self.assertEqual(self.read_file("offline"), "")

    def test_offline_is_remembered(self):
        t = self.first()
        t.wait_for(LAST)
        t.send("\x1b")
        t.wait_gone(LAST)
        self.assertEqual(self.leave(t), 0)
        t = self.ready(first=True)
        rows = [row for row in t.all_rows() if row]
        self.assertIn("ikigai setup", rows[0])
        self.assertIn("offline", rows[0])
        self.assertIn("OPENAI_API_KEY", rows[0])
        self.assertEqual("\n".join(rows).count("ikigai setup"), 1)
        self.assertNotIn(TITLE, "\n".join(rows))
        self.assertEqual(self.leave(t), 0)

    def test_a_key_without_a_default_model_is_named(self):
        t = self.ready(first=True, env={"OPENROUTER_API_KEY": KEY})
        notice = " ".join(t.all_rows()[:3])
        self.assertIn("offline. There is a key for openrouter but no model: run ikigai setup, or choose one "
                      "with -m openrouter/MODEL. See /help.", notice)
        self.assertEqual(self.leave(t), 0)
        self.assert_key_unseen(t)

    def test_a_model_is_set_up_and_answers(self):
        llm = FakeLLM([Answer("From the model.")])
        with llm:
            self.write("package.json", '{"scripts": {"test": "true"}}')
            t = self.first(env={"ANTHROPIC_BASE_URL": llm.base_url("anthropic")})
            self.choose(t, "Anthropic")
            t.wait_for("Key for Anthropic:")
            self.assertEqual(llm.requests, [])
            t.send(KEY + "\r")
            t.wait_for("works, ")
            t.wait_for("Which model?")
            t.send("\r")
            t.wait_for("explain this project")
            t.wait_for("run npm test and fix what fails")
            t.wait_for(re.compile(r"^>$", re.M))
            self.say(t, "hi", "From the model.")
            self.assertIn("anthropic", self.status(t) + self.config()["model"])
            self.assertEqual(self.leave(t), 0)
            self.assert_key_unseen(t)
            self.assert_key_nowhere("keys.json")
            self.assertEqual(llm.problems, [])

    def test_the_key_does_not_reach_tools(self):
        llm = FakeLLM([Answer("Done.")])
        with llm:
            t = self.first(env={"ANTHROPIC_BASE_URL": llm.base_url("anthropic")})
            self.choose(t, "Anthropic")
            t.wait_for("Key for Anthropic:")
            t.send(KEY + "\r")
            t.wait_for("Which model?")
            t.send("\r")
            t.wait_for("explain this project")
            self.say(t, "!echo count $(env | grep -c sk-ant-) of keys", "count 0 of keys")
            self.assert_key_unseen(t)

    def test_keys_of_the_list(self):
        t = self.first()
        t.wait_for(LAST)
        t.send("\x03")  # asks once more, as at an empty prompt
        t.wait_idle()
        self.assertIn(LAST, "\n".join(t.screen()))
        t.send("\t\x7f")  # nothing to complete or to erase
        t.wait_idle()
        self.assertIn(LAST, "\n".join(t.screen()))
        self.assertEqual(self.leave(t), 0)
        self.assertIsNone(self.read_file("offline"))

    def test_keys_of_the_draft_begin_a_message(self):
        editor = self.write("editor", "#!/bin/sh\nprintf edited > \"$1\"\n", 0o755)
        for key, shown in (("\x07", "> edited"), ("\x12", "search: ")):
            t = self.first(env={"EDITOR": editor})
            t.wait_for(LAST)
            t.send(key)
            t.wait_for(shown)
            self.assertNotIn(LAST, "\n".join(t.screen()))
            self.assertEqual(self.read_file("offline"), "")
            os.unlink(os.path.join(self.home, "offline"))
            t.close()

    def test_esc_goes_back_and_ctrl_c_too(self):
        t = self.first()
        for key in ("\x1b", "\x03"):
            self.choose(t, "Google")
            t.wait_for("Key for Google:")
            t.send(key)
            t.wait_for(LAST)
            t.wait_gone("Key for Google:")
        self.assertEqual(self.leave(t), 0)

    def test_not_offered_when_something_is_set_up(self):
        cases = [([], {"OPENAI_API_KEY": "sk-test"}, {}), (["-m", "offline/offline"], {}, {}),
                 ([], {"IKIGAI_MODEL": "offline/offline"}, {}),
                 ([], {}, {"model": "offline/offline"}), (["run true"], {}, {})]
        for args, env, config in cases:
            with self.subTest(args=args, env=env, config=config):
                self.configure(**config)
                t = self.ready(None, *args, first=True, env=env)
                t.wait_idle(0.1)
                self.assertNotIn(TITLE, "\n".join(t.all_rows()))
                self.assertNotIn(LAST, "\n".join(t.all_rows()))
                t.send("\x15")
                self.assertEqual(self.leave(t), 0)

    def test_not_offered_with_a_key_in_the_file(self):
        self.configure()
        path = os.path.join(self.home, "keys.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"openai": {"api_key": KEY}}, f)
        os.chmod(path, 0o600)
        t = self.ready(first=True)
        self.assertNotIn(TITLE, "\n".join(t.all_rows()))
        self.assert_key_unseen(t)
        self.assertEqual(self.leave(t), 0)

    def test_plain(self):
        t = self.terminal([IKIGAI, "--plain"], plain=True, cwd=self.project,
                          env=clean_env(IKIGAI_HOME=self.home, TERM="xterm-256color"))
        t.wait_for(TITLE)
        t.wait_for(LAST)
        t.send("run echo number $((6 * 7))\n")
        t.wait_for("number 42")
        t.send("\x04")
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(self.read_file("offline"), "")

    def test_plain_end_of_input_decides_nothing(self):
        t = self.terminal([IKIGAI, "--plain"], plain=True, cwd=self.project,
                          env=clean_env(IKIGAI_HOME=self.home, TERM="xterm-256color"))
        t.wait_for(LAST)
        t.send("\x04")
        self.assertEqual(t.wait_exit(), 0)
        self.assertIsNone(self.read_file("offline"))

    def test_resuming_by_a_list_comes_first(self):
        t = self.ready()
        self.say(t, "hello", "Try:")
        self.assertEqual(self.leave(t), 0)
        os.unlink(os.path.join(self.home, "offline"))
        t = self.terminal([IKIGAI, "-r"], cwd=self.project,
                          env=clean_env(IKIGAI_HOME=self.home, TERM="xterm-256color"))
        t.wait_for("Resume which session?")
        t.wait_idle()
        self.assertNotIn(TITLE, "\n".join(t.all_rows()))
        t.send("\r")
        t.wait_for(LAST)
        t.send("\x1b")
        t.wait_gone(LAST)
        self.assertEqual(self.leave(t), 0)

    def test_no_network_until_chosen(self):
        """Only connections to ports of this machine, no name is looked up, libcurl is not loaded."""
        trace = os.path.join(self.dir, "trace")
        if not shutil.which("strace") or os.geteuid() != 0:
            self.skipTest("needs strace, and root: the names are in memory hidden from the user")
        env = clean_env(IKIGAI_HOME=self.home, TERM="xterm-256color")
        for args in ([], ["setup"]):
            t = self.terminal(["strace", "-f", "-o", trace, "-e", "trace=network,openat", IKIGAI,
                               *args], cwd=self.project, env=env)
            t.wait_for(LAST)
            t.wait_idle()
            t.send("\x03\x03")
            t.wait_exit()
            with open(trace, encoding="utf-8", errors="replace") as f:
                calls = f.read()
            for line in re.findall(r".*connect\(.*", calls):
                self.assertRegex(line, r'AF_UNIX|sin_addr=inet_addr\("127\.0\.0\.1"\)')
            self.assertNotRegex(calls, r"send(to|msg)\(.*AF_INET")
            self.assertNotIn("libcurl", calls)
            self.assertNotIn("resolv.conf", calls)


if __name__ == "__main__":
    unittest.main()
