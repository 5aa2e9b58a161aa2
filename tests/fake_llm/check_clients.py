#!/usr/bin/python3
"""The vendors' own clients against the fake: they must understand what it says, and our validators
must accept what they send. And ikigai against a server that speaks HTTP/2, which Python does not.
Started by make check-fake.

    check_clients.py FOLDER IKIGAI      where the clients are, or are to be, installed; the program
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[0] = os.path.dirname(HERE)
sys.dont_write_bytecode = True

from fake_llm import Answer, Call, Failure, FakeLLM, Usage

CLIENTS = {"openai": "7.53.0", "@anthropic-ai/sdk": "1.8.0", "@google/genai": "2.32.0"}
SCRIPTS = {"chat": "openai", "responses": "openai", "anthropic": "anthropic", "gemini": "google"}
STOPS = {  # end, tool_use, max_tokens
    "chat": ("stop", "tool_calls", "length"),
    "responses": ("completed", "completed", "max_output_tokens"),
    "anthropic": ("end_turn", "tool_use", "max_tokens"),
    "gemini": ("STOP", "STOP", "MAX_TOKENS")}
folder = None
ikigai = None


def version(where, name):
    try:
        with open(os.path.join(where, "node_modules", name, "package.json")) as f:
            return json.load(f)["version"]
    except FileNotFoundError:
        return None


def install(where):
    """With ordinary npm, unless these very versions are there."""
    os.makedirs(where, exist_ok=True)
    if any(version(where, name) != wanted for name, wanted in CLIENTS.items()):
        with open(os.path.join(where, "package.json"), "w") as f:
            json.dump({"private": True, "dependencies": CLIENTS}, f)
        print("check-fake: npm installs", *(f"{n}@{v}" for n, v in CLIENTS.items()), flush=True)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock",
                        "--ignore-scripts", "--loglevel=error"], cwd=where, check=True,
                       stdin=subprocess.DEVNULL)
    for name in os.listdir(os.path.join(HERE, "clients")):  # a module finds its imports beside it
        shutil.copy(os.path.join(HERE, "clients", name), where)


def environment():
    """No proxy between the client and 127.0.0.1, no key and no certificates of anybody."""
    hidden = ("OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_", "CURL_CA", "SSL_CERT")
    return {k: v for k, v in os.environ.items()
            if not k.startswith(hidden) and not k.lower().endswith("_proxy")}


class ClientTest(unittest.TestCase):
    maxDiff = None

    def each(self, scenario, script, check):
        """check(format, what its client understood, the server) for every client; script() makes
        a script for each."""
        for format, provider in SCRIPTS.items():
            with self.subTest(format), FakeLLM(script()) as llm:
                done = subprocess.run(
                    ["node", os.path.join(folder, f"{format}.mjs"), llm.base_url(provider),
                     scenario], stdout=subprocess.PIPE, timeout=60, env=environment(), check=True)
                self.assertEqual(llm.problems, [])
                check(format, json.loads(done.stdout), llm)

    def assert_each(self, scenario, answer, **expected):
        """Every client understands this one answer as this."""
        self.each(scenario, lambda: [answer], lambda format, got, llm:
                  self.assert_understood(format, got, **expected))

    def assert_understood(self, format, got, text="", thinking="", calls=(), stop=0,
                          usage=(100, 20)):
        self.assertEqual(got["text"], text)
        if format != "chat":  # which has no thinking at all
            self.assertEqual(got["thinking"], thinking)
        self.assertEqual([(c["name"], c["args"]) for c in got["calls"]], list(calls))
        self.assertEqual(got["stop"], STOPS[format][stop])
        self.assertEqual(tuple(got["usage"]), usage)


class Clients(ClientTest):
    def test_text(self):
        usage = Usage(input=1000, cached=700, cache_write=200, output=33, reasoning=13)
        for fragments in (1, 5):
            self.assert_each("text", Answer("Grüß dich 👋", usage=usage, fragments=fragments),
                             text="Grüß dich 👋", usage=(1000, 33))

    def test_not_streamed(self):
        self.assert_each("whole", Answer("Whole.", thinking="Hm."), text="Whole.", thinking="Hm.")

    def test_thinking(self):
        self.assert_each("text", Answer("Yes.", thinking="First.\n\nSecond."), text="Yes.",
                         thinking="First.\n\nSecond.")

    def test_limit(self):
        self.assert_each("text", Answer("Ye", stop="max_tokens"), text="Ye", stop=2)

    def test_refusal(self):
        self.each("text", lambda: [Answer(refusal="I won't.")], lambda format, got, llm:
                  self.assertEqual(got["text" if format == "gemini" else "refusal"], "I won't."))

    def test_tools_and_results(self):
        """One answer with two calls, streamed in pieces; the client's own replay of it, signatures
        and all, must satisfy validator and memory."""
        first, second = {"pattern": "**/*.c", "limit": 3}, {"pattern": "ü*", "limit": None}

        for thinking in ("", "Look first."):
            def script():
                return [Answer("I look.", thinking=thinking or None, fragments=4,
                               calls=[Call("glob", first), Call("glob", second)]),
                        Answer("There is a.c.")]

            def check(format, got, llm):
                self.assert_understood(format, got[0], "I look.", thinking,
                                       [("glob", first), ("glob", second)], 1)
                self.assert_understood(format, got[1], "There is a.c.")
                self.assertEqual(len(llm.requests), 2)
            self.each("tools", script, check)

    STATUS = {"rate_limit": {"chat": 429, "responses": 429, "anthropic": 429, "gemini": 429},
              "overloaded": {"chat": 503, "responses": 503, "anthropic": 529, "gemini": 503},
              "auth": {"chat": 401, "responses": 401, "anthropic": 401, "gemini": 400}}

    def test_error_status(self):
        for kind, statuses in self.STATUS.items():
            def check(format, got, llm):
                self.assertIn("Not now.", got["error"]["message"])
                self.assertEqual(got["error"]["status"], statuses[format])
            self.each("text", lambda: [Failure(kind, "Not now.")], check)

    def test_error_in_stream(self):
        answer = Answer("Never seen in full", error=Failure("overloaded", "Not now."))
        self.each("text", lambda: [answer], lambda format, got, llm:
                  self.assertIn("Not now.", got["error"]["message"]))

    def test_models(self):
        def check(format, got, llm):
            vendor = SCRIPTS[format]
            prefix = "models/" if vendor == "google" else ""
            self.assertEqual(got, [prefix + name for name in llm.models[vendor]])
        self.each("models", list, check)


class Http2(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="ikigai-http2-")
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name
        self.key, self.cert = (os.path.join(self.scratch, n) for n in ("key.pem", "cert.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                        "-keyout", self.key, "-out", self.cert], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def test_requests_are_http2_on_one_connection(self):
        script = [Answer("Looking.", calls=[Call("glob", {"pattern": "*"})]), Answer("Done.")]
        with FakeLLM(script) as llm:
            front = subprocess.Popen(["node", os.path.join(folder, "http2_front.mjs"), llm.url,
                                      self.key, self.cert], stdout=subprocess.PIPE, text=True)
            try:
                port = int(front.stdout.readline())
                env = dict(environment(), OPENAI_API_KEY="k", SSL_CERT_FILE=self.cert,
                           IKIGAI_HOME=os.path.join(self.scratch, "home"),
                           OPENAI_BASE_URL=f"https://localhost:{port}/v1")
                done = subprocess.run([ikigai, "-p", "go", "-m", "openai/gpt-5"], env=env,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      timeout=60, cwd=self.scratch, text=True)
            finally:
                front.kill()
                lines = front.communicate()[0].splitlines()
        self.assertEqual((done.returncode, done.stdout), (0, "Looking.\nDone.\n"))
        self.assertEqual(llm.problems, [])
        self.assertEqual([json.loads(line) for line in lines],
                         [{"version": "2.0", "connection": 1}] * 2)


if __name__ == "__main__":
    folder = os.path.abspath(sys.argv.pop(1))
    ikigai = os.path.abspath(sys.argv.pop(1))
    install(folder)
    unittest.main(verbosity=2)
