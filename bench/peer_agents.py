"""The agents that peers.py compares: how each is configured for a model server on this machine and
started, which tool of it runs a command, and how its prompt looks.

All run in their mode without questions and without confinement. What an agent would fetch or send
besides (updates, statistics, lists of models) is turned off where it has a setting for it.
"""
import json
import os
import re

from bench_tools import IKIGAI

MODEL = "gpt-5"
KEY = "none"


class Agent:
    name = None
    tool, command = "bash", "command"  # the tool that runs a command, and its argument
    more_arguments = {}
    prompt = None  # a pattern for the screen that takes input
    api = None
    remarks = []  # for the report

    def __init__(self, folder, home):
        """folder: where npm has installed it. home: an empty folder."""
        self.folder, self.home = folder, home

    @property
    def program(self):
        return os.path.join(self.folder, "node_modules", ".bin", self.name)

    def arguments(self, command):
        return {self.command: command, **self.more_arguments}

    def environment(self, url):
        env = {"HOME": self.home, "PATH": os.environ["PATH"], "TERM": "xterm-256color",
               "LANG": "C.UTF-8", "SHELL": "/bin/bash", "OPENAI_API_KEY": KEY}
        for name in ("CONFIG", "DATA", "STATE", "CACHE"):
            env[f"XDG_{name}_HOME"] = os.path.join(self.home, "xdg", name.lower())
        return env

    def configure(self, url, project):
        """Writes the files that it reads, for the model server at this URL."""

    def write(self, path, text):
        path = os.path.join(self.home, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text if isinstance(text, str) else json.dumps(text))
        os.chmod(path, 0o600)

    def headless(self, question):
        raise NotImplementedError

    def interactive(self):
        raise NotImplementedError


class Ikigai(Agent):
    name = "ikigai"
    api = "OpenAI Chat Completions"
    prompt = re.compile(r"^> ?", re.M)
    program = IKIGAI

    def environment(self, url):
        return {**super().environment(url), "OPENAI_BASE_URL": url + "/v1",
                "IKIGAI_MODEL": f"openai/{MODEL}"}

    def headless(self, question):
        return [self.program, "-p", question, "--mode", "full"]

    def interactive(self):
        return [self.program, "--mode", "full"]


class Codex(Agent):
    name = "codex"
    api = "OpenAI Responses"
    tool, command = "exec_command", "cmd"
    prompt = re.compile(r"^› ", re.M)
    remarks = ["ran with its model gpt-5.5, because it offers tools to newer ones in a form of its "
               "own",
               "starts processes on a terminal that outlive it; they are counted, and ended after "
               "each run"]

    def configure(self, url, project):
        self.write(".codex/config.toml", f"""\
model = "gpt-5.5"
model_provider = "bench"
check_for_update_on_startup = false
[model_providers.bench]
name = "bench"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
[analytics]
enabled = false
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
[projects."{project}"]
trust_level = "trusted"
""")

    def headless(self, question):
        return [self.program, "exec", "--dangerously-bypass-approvals-and-sandbox", question]

    def interactive(self):
        return [self.program, "--dangerously-bypass-approvals-and-sandbox"]


class Opencode(Agent):
    name = "opencode"
    api = "OpenAI Chat Completions"
    more_arguments = {"description": "Does nothing"}
    prompt = re.compile(r"Ask anything")

    def environment(self, url):
        return {**super().environment(url), "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    def configure(self, url, project):
        model = {"name": MODEL, "tool_call": True, "limit": {"context": 400000, "output": 8192}}
        self.write("xdg/config/opencode/opencode.json", {
            "autoupdate": False, "share": "disabled", "model": f"bench/{MODEL}",
            "provider": {"bench": {"npm": "@ai-sdk/openai-compatible",
                                   "options": {"baseURL": url + "/v1", "apiKey": KEY},
                                   "models": {MODEL: model}}}})

    def headless(self, question):
        return [self.program, "run", "--auto", question]

    def interactive(self):
        return [self.program, "--auto"]


class Pi(Agent):
    name = "pi"
    api = "OpenAI Responses"
    prompt = re.compile(r"^─+$", re.M)

    def environment(self, url):
        return {**super().environment(url), "PI_OFFLINE": "1"}

    def configure(self, url, project):
        self.write(".pi/agent/models.json", {"providers": {"bench": {
            "baseUrl": url + "/v1", "api": "openai-responses", "apiKey": "OPENAI_API_KEY",
            "models": [{"id": MODEL, "contextWindow": 400000, "maxTokens": 8192}]}}})

    def headless(self, question):
        return [self.program, "-p", "--model", f"bench/{MODEL}", question]

    def interactive(self):
        return [self.program, "--model", f"bench/{MODEL}"]


class Gemini(Agent):
    name = "gemini"
    api = "Gemini generateContent"
    tool = "run_shell_command"
    prompt = re.compile(r"Type your message")
    remarks = ["ran with its detection of loops turned off, because all calls are the same"]
    options = ["--yolo", "--skip-trust", "--model", "gemini-2.5-pro"]

    def environment(self, url):
        return {**super().environment(url), "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": KEY}

    def configure(self, url, project):
        self.write(".gemini/settings.json", {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
            "model": {"disableLoopDetection": True}})

    def headless(self, question):
        return [self.program, *self.options, "--prompt", question]

    def interactive(self):
        return [self.program, *self.options]


AGENTS = [Ikigai, Codex, Opencode, Pi, Gemini]
