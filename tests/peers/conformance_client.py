#!/usr/bin/python3
"""The client under test of the MCP conformance suite: conformance_client.py IKIGAI URL. Configures the
server, logs in where it is asked to, and calls every tool: as the scenario asks for, or once
with arguments made from its schema. A scenario that asks the user something runs in a terminal."""
import json
import os
import subprocess
import sys
import tempfile
import urllib.request

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from fake_llm import Answer, Call
from repl_support import ReplTest

SAMPLES = {"string": "text", "integer": 3, "number": 1.5, "boolean": True, "array": [], "object": {}}

LOGINS_MAX = 3
DOCUMENT = "https://conformance-test.local/client-metadata.json"  # which the suite expects as a client


LISTS_ONLY = ["json-schema-ref-no-deref"]  # whose server knows no calls


class Defaults(ReplTest):
    """Calls a tool that asks for input, and takes the default of every field."""

    def run_scenario(self, url):
        self.serve([Answer(calls=[Call("c__test_client_elicitation_defaults", {})]), Answer("Done.")],
                   mcpServers={"c": {"url": url}})
        t = self.start(first=True, columns=200)  # each question is one row
        t.send("go\r")
        for default in ("[John Doe]", "[30]", "[95.5]", "[active]", "[true]"):
            t.wait_for(default)
            t.send("\r")
        t.wait_for("Done.")
        return self.leave(t)


def sample(schema):
    """A value for a schema: its default or first choice, else one of its type."""
    if "default" in schema or schema.get("enum"):
        return schema.get("default", (schema.get("enum") or [None])[0])
    if schema.get("type") == "object":
        return {name: sample(inner) for name, inner in schema.get("properties", {}).items()}
    return SAMPLES.get(schema.get("type"), "text")


def main():
    with tempfile.TemporaryDirectory(prefix="ikigai-conformance-") as home:
        return play(home)


def play(home):
    ikigai, url = sys.argv[1], sys.argv[-1]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}") or "{}")
    entry = {"url": url, "timeout_seconds": 20}
    if os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "").startswith("2026"):
        entry["protocol"] = "modern"
    if context.get("client_id"):
        entry["oauth"] = {k: context[k] for k in ("client_id", "client_secret") if context.get(k)}
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    if scenario.startswith("elicitation"):
        test = Defaults("run_scenario")
        test.setUp()
        try:
            return test.run_scenario(url)
        finally:
            test.doCleanups()
    if scenario == "auth/basic-cimd":
        entry["oauth"] = {"client_id": DOCUMENT}
    with open(os.path.join(home, "config.json"), "w", encoding="utf-8") as f:
        json.dump({"mcpServers": {"c": entry}}, f)
    os.chmod(os.path.join(home, "config.json"), 0o600)
    env = {**os.environ, "IKIGAI_HOME": home}

    def run(*args):
        done = subprocess.run([ikigai, *args], env=env, cwd=home, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        sys.stderr.write(f"{args}: {done.returncode} {done.stdout[:300]} {done.stderr[:300]}\n")
        return done

    logins = []

    def log_in():
        """A user logs in again where it is asked for, but not for ever."""
        if len(logins) == LOGINS_MAX:
            return False
        logins.append(True)
        login = subprocess.Popen([ikigai, "mcp", "login", "c", "--no-browser"], env=env, cwd=home,
                                 stdout=subprocess.PIPE, text=True)
        address = login.stdout.readline().strip()
        if address:
            urllib.request.urlopen(address, timeout=20).read()
        return login.wait(30) == 0

    def call(name, arguments):
        while True:
            done = run("tool", "run", name, json.dumps(arguments))
            if '"AUTH_REQUIRED"' not in done.stdout or not log_in():
                return done.returncode
    shown = run("mcp", "show", "c", "--json")
    while '"status":"login"' in shown.stdout and log_in():
        shown = run("mcp", "show", "c", "--json")
    if shown.returncode != 0 or scenario in LISTS_ONLY:
        return shown.returncode
    worked = 0
    for tool in json.loads(shown.stdout)["tools"]:
        wanted = [call.get("arguments", {}) for call in context.get("toolCalls", [])
                  if call["name"] == tool["tool"]]
        for arguments in wanted:
            worked |= call(tool["name"], arguments)
        if wanted:
            continue
        described = json.loads(run("tool", "show", tool["name"], "--json").stdout)
        worked |= call(tool["name"], sample(described["parameters"]))
    return worked


if __name__ == "__main__":
    sys.exit(main())
