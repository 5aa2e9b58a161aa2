#!/usr/bin/python3
"""Writes the fixture of an earlier release: a home and a project in which that release was used.

    tests/upgrade/make_home.py VERSION PROGRAM

PROGRAM is bin/ikigai of a build of that release. The result is in tests/upgrade/VERSION, as text: the
files below ~/.ikigai, the project, and dumps of the database and of a shared history.
"""
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import postgres
import upgrade_support
from agent_support import AgentTest
from fake_llm import Answer, Call, Memory, Usage
from support import tool_script
from terminal_support import TerminalTest

# every key that release 0.1 knows
CONFIG = {
    "model": "local/qwen3",
    "effort": "low",
    "max_output_tokens": 4000,
    "max_tool_turns": 40,
    "max_output_size": 500000,
    "tool_timeout_seconds": 25,
    "tool_max_seconds": 300,
    "schema_timeout_ms": 2000,
    "connect_timeout_seconds": 9,
    "silence_timeout_seconds": 100,
    "idle_stream_seconds": 500,
    "db": upgrade_support.HOME + "/.ikigai/ikigai.db",
    "system_prompt": "You are the assistant of a ship.",
    "providers": {
        "local": {"type": "openai", "api": "chat", "base_url": upgrade_support.SERVER,
                  "api_key_env": "SHIP_KEY"}},
    "tools": {
        "grep": {"enabled": False},
        "bash": {"timeout_seconds": 20},
        "ship_log": {"pass_env": ["SHIP_KEY"]}},
}
MODELS = {"models": {"local/qwen3": {
    "limits": {"context": 32768, "max_output": 8192},
    "prices": [{"input": 1, "cached": 0.1, "output": 4}]}}}


class Maker(AgentTest, TerminalTest):
    format = "local"

    def runTest(self):
        pass

    def place(self, value):
        text = json.dumps(value, indent=2)
        for mark, path in self.marks.items():
            text = text.replace(mark, path)
        return text

    def go(self, script, *args, **env):
        self.script[:] = script
        return self.ikigai(*args, env={"SHIP_KEY": "sk-ship", **env}, program=self.program)

    def serve_any(self):
        llm = self.serve(lambda request: self.script.pop(0), memory=Memory(preserved=False))
        self.anthropic = {"ANTHROPIC_API_KEY": "sk-ant-ship",
                          "ANTHROPIC_BASE_URL": llm.base_url("anthropic")}
        return llm

    def make(self, version, program):
        self.program = os.path.abspath(program)
        self.script = []
        llm = self.serve_any()
        self.marks = {upgrade_support.PROJECT: self.project,
                      upgrade_support.HOME: self.path("home"),
                      upgrade_support.SERVER: llm.base_url("openai")}
        self.config(self.place(CONFIG))
        self.write("home/.ikigai/models.json", self.place(MODELS), 0o600)
        self.user_tool("ship-log", tool_script("ship_log", "echo \"{\\\"heading\\\": \\\"north\\\", "
                                               "\\\"key\\\": \\\"${SHIP_KEY:+seen}\\\"}\""))
        self.project_tool("tide", tool_script("tide", "echo '{\"tide\": \"high\"}'"))
        self.project_tool("anchor", tool_script("anchor", "touch anchored; sleep 60",
                                                timeout_seconds=100))
        self.write("project/.ikigai/config.json", '{"max_tool_turns": 30}')
        self.write("project/log.txt", "Monday: calm\nTuesday: storm\n")
        self.ikigai("trust", "--yes", program=self.program)
        self.make_sessions()
        self.make_killed()
        self.make_terminal()
        assert llm.problems == [], llm.problems
        self.make_shared()
        self.save(version)

    def make_sessions(self):
        self.go([Answer("Reading.", calls=[Call("file_read", {"file_path": "log.txt"}),
                                           Call("tide", {}), Call("ship_log", {})]),
                 Answer(calls=[Call("file_edit", {"file_path": "log.txt", "old_string": "storm",
                                                  "new_string": "periwinkle storm"}),
                               Call("bash", {"command": "wc -l log.txt; yes wave | head -2000"})],
                        usage=Usage(input=900, cached=600, output=40)),
                 Answer("Two days: calm, then a **periwinkle** storm.",
                        usage=Usage(input=1000, cached=900, output=20))],
                "-p", "What is in the log?")
        self.go([Answer("Wednesday will be calm.")], "-c", "-p", "And tomorrow?")
        self.go([Answer(thinking="Where is the glass?",
                        calls=[Call("file_read", {"file_path": "log.txt"})]),
                 Answer("It stands at 1013 hPa.", thinking="Found it.")],
                "-p", "Read the barometer", "-m", "anthropic/claude-opus-5-5", **self.anthropic)

    def make_killed(self):
        """A program that is killed while a tool runs."""
        self.script[:] = [Answer("Dropping it.", calls=[Call("anchor", {})])]
        process = subprocess.Popen([self.program, "-p", "Drop the anchor", "--json"],
                                   env=self.env(SHIP_KEY="sk-ship"), cwd=self.project,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.wait_for_file("anchored")
        process.kill()
        process.wait()
        os.remove(os.path.join(self.project, "anchored"))

    def make_terminal(self):
        """Two agents in a terminal, and a draft that was not sent."""
        self.script[:] = [Answer("Ahoy."), Answer("Aye, the second mate.")]
        t = self.terminal([self.program], env=self.env(TERM="xterm-256color", SHIP_KEY="sk-ship"),
                          cwd=self.project)
        t.check = False  # an earlier release
        t.wait_for("> ")
        t.send("Say ahoy\r")
        t.wait_for("Ahoy.")
        t.wait_idle()
        t.send("/fork\r")
        t.wait_for(re.compile("agent 2|/fork"))
        t.wait_idle()
        t.send("Who are you?\r")
        t.wait_for("second mate")
        t.wait_idle()
        t.send("Not yet sent: hoist the sails")
        t.wait_until(self.draft_is_saved, "the whole draft")
        t.signal(signal.SIGKILL)
        t.wait_exit()

    def draft_is_saved(self):
        for path in glob.glob(os.path.join(self.home, "drafts", "*")):
            with open(path, encoding="utf-8") as f:
                return f.read().endswith("sails")
        return False

    def make_shared(self):
        """A shared history, to which another home delivered."""
        with postgres.Server() as server:
            url = server.create_database("shared")
            env = {"IKIGAI_HOME": self.path("other"), "IKIGAI_DB": url}
            os.makedirs(self.path("other"), mode=0o700)
            self.ikigai("-p", "run echo flotsam", env=env, program=self.program)
            self.ikigai("-c", "-p", "read log.txt", env=env, program=self.program)
            dump = subprocess.run(["pg_dump", "--inserts", "--no-owner", "--no-privileges", url],
                                  check=True, stdout=subprocess.PIPE, text=True).stdout
            self.other = self.dump(self.path("other", "ikigai.db"))
        self.shared = "".join(line for line in dump.splitlines(True)
                              if not line.startswith(("--", "SET ", "\\")))

    def dump(self, path):
        text = subprocess.run(["sqlite3", path, ".dump"], check=True, stdout=subprocess.PIPE,
                              text=True).stdout
        return self.marked(text).replace(f"'{socket.gethostname()}'", f"'{upgrade_support.HOST}'")

    def marked(self, text):
        for mark, value in self.marks.items():
            text = text.replace(value, mark)
        return text

    def save(self, version):
        folder = upgrade_support.fixture(version)
        shutil.rmtree(folder, ignore_errors=True)
        hashed = upgrade_support.draft_hash(self.project)
        for part, source in (("home", self.home), ("project", self.project)):
            for where, _, names in os.walk(source):
                for name in names:
                    path = os.path.join(where, name)
                    place = os.path.relpath(path, source)
                    if part == "home" and place.startswith(("cache", "ikigai.db")):
                        continue
                    with open(path, encoding="utf-8") as f:
                        text = self.marked(f.read())
                    target = os.path.join(folder, part, place.replace(hashed, upgrade_support.DRAFT))
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    with open(target, "w", encoding="utf-8") as f:
                        f.write(text)
                    os.chmod(target, 0o755 if os.access(path, os.X_OK) else 0o644)
        texts = {"ikigai.sql": self.dump(os.path.join(self.home, "ikigai.db")),
                 "delivered.sql": self.other, "shared.sql": self.marked(self.shared)}
        for name, text in texts.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)


if __name__ == "__main__":
    maker = Maker()
    maker.setUp()
    try:
        maker.make(*sys.argv[1:])
    finally:
        maker.doCleanups()
