"""Shared by the tests of the model loop: `ikigai -p` against tests/fake_llm, with any of its APIs.

A test class names one of FORMATS; per_format makes a class for each of them from one set of
scenarios.
"""
import json
import os
import queue
import signal
import subprocess
import threading
from dataclasses import dataclass, field

import hostile
from fake_llm import FakeLLM
from support import IKIGAI, PATIENCE, IkigaiTest

KEYS = {"openai": "sk-canary-of-openai", "anthropic": "sk-canary-of-anthropic",
        "google": "canary-of-google"}
VARIABLES = {"openai": "OPENAI", "anthropic": "ANTHROPIC", "google": "GEMINI"}


@dataclass
class Format:
    """One way to talk to a model: ikigai's name of the provider, and the server's name of the API that
    ikigai uses for it."""
    provider: str
    model: str
    wire: str
    dialect: str = "openai"
    config: dict = field(default_factory=dict)  # of the provider

    @property
    def target(self):
        return f"{self.provider}/{self.model}"


FORMATS = {
    "chat": Format("openai", "gpt-5", "chat"),
    "responses": Format("openai", "gpt-6.1-sol", "responses", config={"api": "responses"}),
    "anthropic": Format("anthropic", "claude-opus-5-5", "anthropic"),
    "google": Format("google", "gemini-4-argon", "gemini"),
    "local": Format("local", "qwen3", "chat", "plain", config={"type": "openai"}),
}


def per_format(scenarios, names, *formats, base=None):
    """Adds to names, a module's globals(), one test class per format."""
    for name in formats or FORMATS:
        title = scenarios.__name__ + name.capitalize()
        names[title] = type(title, (scenarios, base or AgentTest),
                            {"format": name, "__module__": scenarios.__module__})


# ---- what the server was sent

def sent_results(request):
    """The tool results in a request, in order, as (id or None, parsed envelope)."""
    return [(key, json.loads(text) if isinstance(text, str) else text)
            for key, text in RESULTS[request.format](request.json)]


def chat_results(body):
    return [(m["tool_call_id"], m["content"]) for m in body["messages"] if m["role"] == "tool"]


def responses_results(body):
    return [(i["call_id"], plain_text(i["output"])) for i in body["input"]
            if i.get("type") == "function_call_output"]


def anthropic_results(body):
    blocks = [b for m in body["messages"] if not isinstance(m["content"], str)
              for b in m["content"]]
    return [(b["tool_use_id"], plain_text(b["content"])) for b in blocks
            if b["type"] == "tool_result"]


def gemini_results(body):
    return [(p["functionResponse"].get("id"), p["functionResponse"]["response"])
            for c in body["contents"] for p in c["parts"] if "functionResponse" in p]


def plain_text(content):
    """The text of a content, without its images."""
    return content if isinstance(content, str) else "".join(
        part.get("text", "") for part in content)


RESULTS = {"chat": chat_results, "responses": responses_results, "anthropic": anthropic_results,
           "gemini": gemini_results}


def sent_messages(request):
    """The messages in a request: the part of the body that grows from request to request."""
    return request.json[{"chat": "messages", "responses": "input", "anthropic": "messages",
                         "gemini": "contents"}[request.format]]


def sent_tools(request):
    """The names of the tools in a request, in order."""
    body = request.json
    if request.format == "gemini":
        return [f["name"] for t in body.get("tools", []) for f in t["functionDeclarations"]]
    return [tool.get("function", tool)["name"] for tool in body.get("tools", [])]


def forbids_tools(request):
    body = request.json
    if request.format == "gemini":
        return body["toolConfig"]["functionCallingConfig"]["mode"] == "NONE"
    choice = body.get("tool_choice")
    return choice == ({"type": "none"} if request.format == "anthropic" else "none")


# ---- a run

class Turn:
    """A finished `ikigai -p --json`: its parsed lines and the server with the requests."""

    def __init__(self, status, lines, err, llm):
        self.status, self.err, self.llm = status, err, llm
        self.events = [json.loads(line) for line in lines]

    def of(self, kind):
        """The events of a type."""
        return [event for event in self.events if event["type"] == kind]

    def messages(self, *kinds):
        return [m for m in self.of("message") if not kinds or m["kind"] in kinds]

    @property
    def text(self):
        return "".join(event["text"] for event in self.of("text_delta"))

    @property
    def reason(self):
        return self.events[-1].get("reason")

    @property
    def error(self):
        """(code, message) of the only error."""
        (event,) = self.of("error")
        return event["code"], event["message"]

    def envelopes(self):
        """The envelopes of the tool results, in the order in which they were stored."""
        return [json.loads(m["data"]["output"]) for m in self.messages("tool_result")]


class Running:
    """A running `ikigai -p`. A thread reads its lines, so that waiting for one can time out."""

    def __init__(self, process, llm):
        self.process, self.llm = process, llm
        self.lines, self.arrived = [], queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.arrived.put(line)
        self.arrived.put(None)

    def wait_for(self, matches):
        """Reads up to the first event for which matches() is true; returns it."""
        while True:
            line = self.arrived.get(timeout=PATIENCE)
            if line is None:
                raise AssertionError(f"ikigai ended without the expected event: {self.lines} "
                                     f"{self.process.stderr.read()}")
            self.lines.append(line)
            event = json.loads(line)
            if matches(event):
                return event

    def wait_for_type(self, kind):
        return self.wait_for(lambda event: event["type"] == kind)

    def signal(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def finish(self):
        err = self.process.stderr.read().decode()
        status = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        while not self.arrived.empty():
            line = self.arrived.get()
            self.lines += [] if line is None else [line]
        return Turn(status, self.lines, err, self.llm)


class AgentTest(IkigaiTest):
    """Talks to a scripted server in the format that the class names."""
    format = "chat"

    def setUp(self):
        super().setUp()
        self.addCleanup(hostile.kill_all, self.dir)

    def serve(self, script, **options):
        """Starts a server that runs until the test ends."""
        options.setdefault("dialect", FORMATS[self.format].dialect)
        llm = FakeLLM(script, **options).start()
        self.addCleanup(llm.stop)
        return llm

    def connect(self, llm, config=None, format=None):
        """Configures ikigai for this server; returns its environment."""
        form = FORMATS[format or self.format]
        known = form.provider in VARIABLES
        provider = {**form.config, **({} if known else {"base_url": llm.base_url("openai")})}
        config = dict(config or {})
        if provider:
            config["providers"] = {**config.get("providers", {}), form.provider: provider}
        self.config(config)
        if not known:
            return {}
        variable = VARIABLES[form.provider]
        return {f"{variable}_API_KEY": KEYS[form.provider],
                f"{variable}_BASE_URL": llm.base_url(form.provider)}

    def command(self, prompt, *args):
        return ["-p", prompt, "-m", FORMATS[self.format].target, *args]

    def ask(self, script, *args, prompt="Go", status=0, config=None, env=None, server=None,
            fair=True, **more):
        """Runs a whole turn with --json. fair: asserts that a real service would have accepted every
        request."""
        llm = self.serve(script, **(server or {}))
        env = {**self.connect(llm, config), **(env or {})}
        done = self.ikigai(*self.command(prompt, "--json", *args), status=status, env=env, **more)
        if fair:
            self.assertEqual(llm.problems, [], done.out)
        return Turn(done.status, done.out.split("\n")[:-1], done.err, llm)

    def ask_text(self, script, *args, prompt="Go", config=None, env=None, server=None, **more):
        """Runs a whole turn with text output; returns a Done with the server in llm."""
        llm = self.serve(script, **(server or {}))
        env = {**self.connect(llm, config), **(env or {})}
        done = self.ikigai(*self.command(prompt, *args), env=env, **more)
        self.assertEqual(llm.problems, [])
        done.llm = llm
        return done

    def begin(self, script, *args, prompt="Go", config=None, server=None, program=IKIGAI, **more):
        """Starts a turn with --json and returns while it is running."""
        llm = self.serve(script, **(server or {}))
        env = self.env(**self.connect(llm, config))
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **more}
        process = subprocess.Popen([program, *self.command(prompt, "--json", *args)], env=env,
                                   cwd=self.project, preexec_fn=hostile.default_signals, **options)
        self.addCleanup(self.put_down, process)
        return Running(process, llm)

    @staticmethod
    def put_down(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()

    # ---- tools that can be found among the processes: their arguments name this test's folder

    def tool(self, name, body, **schema):
        """Writes a user's tool in sh. It runs in the project."""
        return hostile.sh_tool(os.path.join(self.home, "tools"), name, body, **schema)

    def wait_for_file(self, name):
        if not hostile.wait_until(lambda: os.path.exists(os.path.join(self.project, name)),
                                  PATIENCE):
            raise AssertionError(f"{name} did not appear")

    def assert_nothing_runs(self):
        """Asserts that no process started by a tool of this test is left."""
        self.assertEqual(hostile.processes_with(self.dir), {})

