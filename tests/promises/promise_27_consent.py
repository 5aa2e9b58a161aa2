#!/usr/bin/python3
"""Promise 27: a project extends the agent only after consent.

A project is filled with canaries: tools, hooks, commands, skills, agents, servers and rules, in every folder
that ikigai or another agent reads, in the working folder and in its parents. A model is talked to and
every command is run. Then the project is trusted, which shows that the canaries work: they run and reach
the model. One after the other is changed, and all of it is repeated: what was changed does neither."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import hostile
from fake_llm import Answer, Call, FakeLLM, Usage
from support import ROOT, Sandbox, tool_script

EVENTS = ["session_start", "user_prompt", "before_tool", "after_tool", "before_compact", "turn_end",
          "session_end"]
PROMPTS = ["hello", "/canary", "/canary x y", "/sub:canary", "/skill-canary", "/skill-canary now",
           "/agent-canary"]
SERVER = os.path.join(ROOT, "tests", "mcp_peer.py")
DELEGATE = Call("agent", {"prompt": "Do it", "agent": "agent-canary"})


class Project(Sandbox):
    def setUp(self):
        super().setUp()
        self.inner = self.path("project/inner")
        os.makedirs(self.inner)
        os.makedirs(self.path("project/.git"))
        self.number = 0

    def mark(self):
        return self.path("ran")

    def canaries(self, word):
        """Path -> (text, mode). The word is in every text, and every execution leaves a mark, hooks one
        with the name of the event."""
        run = f"echo {word} >>'{self.mark()}'"
        files = {}
        for level in ("project", "project/inner"):
            for brand in (".ikigai", ".claude"):
                files[f"{level}/{brand}/commands/canary.md"] = (
                    f"---\ndescription: {word}\n---\n{word} !`{run}` $1\n", 0o644)
                files[f"{level}/{brand}/commands/sub/canary.md"] = (f"{word} !`{run}`\n", 0o644)
                files[f"{level}/{brand}/agents/agent-canary.md"] = (
                    f"---\nname: agent-canary\ndescription: {word}\n---\n{word}\n", 0o644)
            for brand in (".ikigai", ".agents", ".claude"):
                files[f"{level}/{brand}/skills/skill-canary/SKILL.md"] = (
                    f"---\nname: skill-canary\ndescription: {word}\n---\n{word} !`{run}`\n", 0o644)
            for event in EVENTS:
                files[f"{level}/.ikigai/hooks/{event}/canary"] = (
                    f"#!/bin/sh\necho {word} {event} >>'{self.mark()}'\necho {word}\n", 0o755)
            files[f"{level}/.ikigai/tools/canary"] = (
                tool_script("canary", f"echo '{{\"word\":\"{word}\"}}'", first=run,
                            description=word), 0o755)
            script = json.dumps({"tools": [{"name": "t", "description": f"{word} of a server",
                                            "inputSchema": {"type": "object"}}]})
            start = f"echo {word} server >>'{self.mark()}'; exec '{sys.executable}' '{SERVER}' '{script}'"
            files[f"{level}/.mcp.json"] = (json.dumps(
                {"mcpServers": {"canary": {"command": "sh", "args": ["-c", start]}}}), 0o644)
            files[f"{level}/.ikigai/permissions.json"] = (
                '{"allow": ["bash(touch *)", "bash", "network"], "ask": [], "deny": []}', 0o600)
        return files

    def fill(self, word, only=None):
        for path, (text, mode) in self.canaries(word).items():
            if only is None or path == only:
                self.write(path, text)
                os.chmod(self.path(path), mode)

    def talk(self, prompt, word, bad, *args):
        """One run of -p. A model that calls bash would be allowed it by the project's rules, and it asks
        for the project's agent."""
        touched = self.path("touched")
        with FakeLLM([Answer(calls=[Call("bash", {"command": f"touch {touched}"}), DELEGATE]),
                      Answer("Done."), Answer("Done.")], dialect="openai") as llm:
            env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": llm.base_url("openai")}
            done = self.ikigai("-p", prompt, "-m", "openai/gpt-5", "--mode", "ask", *args, env=env,
                               cwd=self.inner, status=None)
            for request in llm.requests:
                if word in str(request.json):
                    bad.append(f"{prompt}: {word} was sent")
            if prompt.startswith("/") and (llm.requests and prompt != "/agent-canary"
                                           or done.status not in (2, 0)):
                bad.append(f"{prompt}: status {done.status}, {len(llm.requests)} requests")
        if os.path.exists(touched):
            bad.append(f"{prompt}: a rule of the project allowed a call")
            os.remove(touched)
        self.number += 1

    def summarise(self, word, bad):
        """Two runs of -p, the second of which asks for a summary first."""
        models = self.write("home/.ikigai/models.json", json.dumps(
            {"models": {"openai/gpt-5": {"limits": {"context": 1000}}}}))
        for script, args in (([Answer("a " * 600, usage=Usage(input=900, output=10))], []),
                             ([Answer("Short."), Answer("Done.")], ["-c"])):
            with FakeLLM(script, dialect="openai") as llm:
                env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": llm.base_url("openai")}
                self.ikigai("-p", "go", "-m", "openai/gpt-5", *args, env=env, cwd=self.inner)
                bad += [f"a summary: {word} was sent" for r in llm.requests if word in str(r.json)]
                if args and len(llm.requests) != 2:
                    bad.append("no summary was asked for")
            self.number += 1
        os.remove(models)

    def look(self, bad):
        """Every command that looks at the project."""
        for args, input in ((["status"], b""), (["status", "--json"], b""), (["doctor"], b""),
                            (["tool", "list"], b""), (["trust"], b"n\n"), (["trust"], b""),
                            (["tool", "run", "bash", '{"command":"true"}'], b"")):
            self.ikigai(*args, input=input, cwd=self.inner, status=None)
            self.number += 1

    def show_that_canaries_work(self, word, bad):
        """With consent every kind of canary runs or reaches the model: otherwise the other checks could
        not fail."""
        sent, ran, delegated = "", "", False
        for prompt in PROMPTS:
            with FakeLLM([Answer(calls=[Call("bash", {"command": "true"}), Call("canary", {}), DELEGATE]),
                          Answer("Done."), Answer("Done.")], dialect="openai") as llm:
                env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": llm.base_url("openai")}
                self.ikigai("-p", prompt, "-m", "openai/gpt-5", env=env, cwd=self.inner, status=None)
                if not any(word in str(request.json) for request in llm.requests):
                    bad.append(f"{prompt}: the canaries of a trusted project were not sent")
                sent += "".join(json.dumps(request.json) for request in llm.requests)
                delegated = delegated or any(r.json["messages"][0]["content"].startswith(word)
                                             for r in llm.requests)
            self.number += 1
        if not delegated:
            bad.append("the agent of a trusted project did not get its prompt")
        self.summarise("NOCANARY", bad)
        with open(self.mark()) as f:
            ran = f.read()
        os.remove(self.mark())
        for event in [*EVENTS, "server"]:
            if f"{word} {event}" not in ran:
                bad.append(f"{event}: the canary of a trusted project did not run")
        for name, text in (("skill", f"- skill-canary: {word}"), ("agent", f"- agent-canary: {word}"),
                           ("tool", f'"description": "{word}"'),
                           ("server", f'"description": "{word} of a server"')):
            if text not in sent:
                bad.append(f"the {name} of a trusted project was not sent")

    def check_marks(self, when, word, bad):
        if os.path.exists(self.mark()):
            with open(self.mark()) as f:
                if word in f.read():
                    bad.append(f"{when}: a canary ran")
            os.remove(self.mark())


def main():
    quick = "--quick" in sys.argv[1:]
    bad = []
    with Project() as s:
        # A confined canary could run and leave no mark: consent has to hold without confinement.
        s.config({"confinement": "off"})
        s.fill("CANARYONE")
        canaries = len(s.canaries(""))
        for prompt in PROMPTS:
            s.talk(prompt, "CANARYONE", bad)
            s.check_marks(prompt, "CANARYONE", bad)
        s.summarise("CANARYONE", bad)
        s.look(bad)
        s.check_marks("commands", "CANARYONE", bad)
        changes = [path for path in s.canaries("") if "/permissions.json" not in path]
        s.ikigai("trust", "--yes", cwd=s.inner, status=None)
        s.show_that_canaries_work("CANARYONE", bad)
        for path in changes[::5] + ["project/inner/.mcp.json"] if quick else changes:
            s.fill("CANARYONE")
            s.ikigai("trust", "--yes", cwd=s.inner, status=None)
            s.check_marks("trusting", "CANARYTWO", bad)
            s.fill("CANARYTWO", only=path)
            for prompt in PROMPTS[:1] if quick else PROMPTS[:2]:
                with FakeLLM([Answer(calls=[Call("bash", {"command": "true"}), DELEGATE]),
                              Answer("Done."), Answer("Done.")], dialect="openai") as llm:
                    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": llm.base_url("openai")}
                    s.ikigai("-p", prompt, "-m", "openai/gpt-5", env=env, cwd=s.inner, status=None)
                    bad += [f"{path} changed: {prompt} sent it" for r in llm.requests
                            if "CANARYTWO" in str(r.json)]
                s.number += 1
            if "/before_compact/" in path:
                s.summarise("CANARYTWO", bad)
            s.check_marks(f"{path} changed", "CANARYTWO", bad)
    for line in bad:
        print(line)
    hostile.conclude(27, not bad, (
        f"{canaries} canaries (tools, hooks, commands, skills, agents, servers, rules), {s.number} runs, "
        f"{len(changes)} of them changed after consent: {len(bad)} executions or words in a prompt"))


main()
