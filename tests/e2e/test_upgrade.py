"""A home that release 0.1 left works: sessions, configuration, trust, drafts, a shared history.

tests/upgrade_support.py restores it.
"""
import base64
import json
import os
import re
import sqlite3
import subprocess
import unittest

import postgres
import upgrade_support
from agent_support import AgentTest, sent_messages, sent_results, sent_tools
from fake_llm import Answer, Call, Memory
from support import IKIGAI
from terminal_support import TerminalTest

POSTGRES = True
KEY = {"SHIP_KEY": "sk-ship"}


class Account(Memory):
    """Accepts thinking that another server signed."""

    def check(self, *_):
        pass


class UpgradeTest(AgentTest, TerminalTest):
    format = "local"

    def restore(self, script=()):
        llm = self.serve(list(script), memory=Account())
        upgrade_support.restore("0.1", self.home, self.project, llm.base_url("openai"))
        self.sessions = {s["title"]: s for s in self.ikigai("session", "list", "--json").json()}
        return llm

    def env(self, **more):
        return super().env(**{**KEY, **more})

    def resume(self, title, prompt, **more):
        return self.ikigai("-p", prompt, "-r", self.sessions[title]["id"], **more)

    def database(self, sql):
        db = sqlite3.connect(os.path.join(self.home, "ikigai.db"))
        rows = db.execute(sql).fetchall()
        db.close()
        return rows

    # ---- reading

    def test_sessions_are_listed_shown_and_found(self):
        self.restore()
        self.assertEqual(list(self.sessions), ["Say ahoy", "Drop the anchor", "Read the barometer",
                                               "What is in the log?"])
        log = self.sessions["What is in the log?"]
        self.assertEqual((log["turns"], log["model"], log["cwd"], log["cost_usd"]),
                         (2, "local/qwen3", self.project, 0.0025))
        shown = self.ikigai("session", "show", log["id"], "--full").out
        self.assertEqual(shown.count("    wave\n"), 2000)  # stored compressed
        shown = shown.replace("    wave\n", "")
        for words in ("You are the assistant of a ship.", "Two days: calm",
                      "Wednesday will be calm."):
            self.assertIn(words, shown)
        found = self.ikigai("session", "search", "periwinkle", "storm", "--json").json()
        self.assertEqual({f["session_id"] for f in found},
                         {log["id"], self.sessions["Read the barometer"]["id"]})
        for kind, words in (("jsonl", '"tide"'), ("md", "**periwinkle**"), ("html", "<strong>")):
            self.assertIn(words, self.ikigai("session", "export", log["id"], "--format", kind).out)
        doctor = self.ikigai("doctor").out
        self.assertIn("holds       4 sessions", doctor)
        self.assertIn("No problems found.", doctor)

    def test_an_older_program_can_tell_that_the_file_is_newer(self):
        """0.1 opens files up to schema 3 and refuses others with a sentence (make check-package
        runs it)."""
        self.restore()
        self.assertEqual(self.database("SELECT max(version) > 3 FROM schema_version"), [(1,)])
        self.assertEqual(self.database("PRAGMA integrity_check"), [("ok",)])

    # ---- continuing

    def test_sessions_continue(self):
        llm = self.restore([
            Answer("Calm again.", calls=[Call("tide"), Call("ship_log"), Call("grep", {})]),
            Answer("Thursday."), Answer("The anchor hangs."), Answer("Still 1013.")])
        done = self.resume("What is in the log?", "And then?")
        self.assertTrue(done.out.endswith("Thursday.\n"), done.out)
        self.assertEqual(llm.problems, [])
        first, second = llm.requests
        # what was said before, and the configuration
        texts = json.dumps(sent_messages(first))
        for words in ("You are the assistant of a ship.", "What is in the log?", "periwinkle",
                      "Wednesday will be calm.", "And then?"):
            self.assertIn(words, texts)
        self.assertEqual(first.json["reasoning_effort"], "low")
        self.assertEqual(first.json.get("max_tokens", first.json.get("max_completion_tokens")),
                         4000)
        self.assertEqual(first.headers["authorization"], "Bearer sk-ship")
        self.assertNotIn("grep", sent_tools(first))
        self.assertLess({"anchor", "bash", "file_read", "ship_log", "tide"}, set(sent_tools(first)))
        # a trusted tool of the project, one of the user with its variable, one switched off
        results = [envelope for _, envelope in sent_results(second)][-3:]
        self.assertEqual(results[0]["result"], {"tide": "high"})
        self.assertEqual(results[1]["result"], {"heading": "north", "key": "seen"})
        self.assertEqual(results[2]["error_code"], "TOOL_NOT_FOUND")

        # 0.1 was killed while a tool ran: its call gets a result
        self.resume("Drop the anchor", "What happened?")
        self.assertEqual(llm.problems, [])
        ((_, envelope),) = sent_results(llm.requests[2])
        self.assertEqual(envelope["error_code"], "INTERRUPTED")

        # signed thinking goes back as it came
        self.resume("Read the barometer", "And now?", env={
            "ANTHROPIC_API_KEY": "sk-ant", "ANTHROPIC_BASE_URL": llm.base_url("anthropic")})
        self.assertEqual(llm.problems, [])
        blocks = [b for m in sent_messages(llm.requests[3]) if m["role"] == "assistant"
                  for b in m["content"]]
        self.assertEqual(blocks[0]["thinking"], "Where is the glass?")
        # the first block of the server's fifth answer
        self.assertTrue(base64.b64decode(blocks[0]["signature"]).startswith(b"anthropic 5 0\0"))

    def test_undo_says_what_it_has(self):
        self.restore([Answer(calls=[Call("file_write", {"file_path": "new.txt", "content": "x"})]),
                      Answer("Written.")])
        log = self.sessions["What is in the log?"]["id"]
        self.assertEqual(self.ikigai("session", "diff", log).out, "")
        self.resume("What is in the log?", "Write a file")
        self.assertIn("+x", self.ikigai("session", "diff", log).out)
        done = self.ikigai("session", "undo", log)  # a turn of this release
        self.assertIn("Restored 1 file:\n  new.txt\n", done.out)
        self.assertFalse(os.path.exists(os.path.join(self.project, "new.txt")))
        done = self.ikigai("session", "undo", log, "--json")  # it changed no file
        self.assertEqual(done.json()["conflicts"], [])
        done = self.ikigai("session", "undo", log, status=1)  # 0.1 edited a file
        self.assertEqual(done.out, "Took back 1 turn: What is in the log?\n"
                         "Left alone, the contents are gone: 1 file\n  log.txt\n")
        self.assertIn(b"periwinkle", self.read("project/log.txt"))
        self.ikigai("session", "redo", log)

    # ---- settings

    def test_configuration_counts(self):
        self.restore()
        done = self.ikigai("doctor")
        self.assertEqual(done.err, "")
        with open(os.path.join(self.home, "config.json"), encoding="utf-8") as f:
            config = json.load(f)
        for key, value in config.items():
            if not isinstance(value, dict) and key != "max_tool_turns":
                self.assertRegex(done.out, rf"(?m)^  {key} +{re.escape(str(value))} \(user\)$")
        self.assertRegex(done.out, r"(?m)^  max_tool_turns +30 \(project\)$")
        self.assertRegex(done.out, r"(?m)^  tools.bash.timeout_seconds +20 \(user\)$")
        self.assertRegex(done.out, r"(?m)^  local .* key from the environment \(SHIP_KEY\)$")

    def test_trust_holds_until_a_file_changes(self):
        self.restore()
        done = self.ikigai("tool", "run", "tide", "{}")
        self.assertEqual(done.json()["result"], {"tide": "high"})
        self.assertEqual(done.err, "")
        with open(os.path.join(self.project, ".ikigai", "tools", "tide"), "a",
                  encoding="utf-8") as f:
            f.write("# changed\n")
        done = self.ikigai("tool", "run", "tide", "{}", status=1)
        self.assertEqual(done.json()["error_code"], "TOOL_NOT_FOUND")
        self.assertIn("tide", done.err)

    # ---- the terminal

    def test_the_draft_and_the_history_come_back(self):
        self.restore()
        t = self.terminal([IKIGAI, "-c"], cwd=self.project, env=self.env(TERM="xterm-256color"))
        t.wait_for("> Not yet sent: hoist the sails")
        self.assertIn("Aye, the second mate.", "\n".join(t.all_rows()))
        t.send("\x15\x1b[A")
        t.wait_for("> Who are you?")
        t.send("\x15/agents\r")
        t.wait_for(re.compile(r"^2 \* ", re.M))
        t.send("\x04")
        self.assertEqual(t.wait_exit(), 0)

    # ---- a shared history

    def load_shared(self):
        url = os.environ[postgres.VARIABLE]
        dump = self.write("shared.sql", upgrade_support.filled(
            upgrade_support.fixture("0.1", "shared.sql"),
            {upgrade_support.PROJECT: self.project, upgrade_support.HOST: "elsewhere"}))
        subprocess.run([os.path.join(postgres.find_programs(), "psql"), "-X", "-q", "-o",
                        os.devnull, "-v", "ON_ERROR_STOP=1", "-d", url, "-f", dump], check=True)
        os.makedirs(self.home, mode=0o700)
        upgrade_support.restore_database("0.1", "delivered.sql", self.home, {
            upgrade_support.PROJECT: self.project, upgrade_support.HOST: "elsewhere"})
        return {"IKIGAI_DB": url}

    @unittest.skipUnless(postgres.VARIABLE in os.environ, "needs PostgreSQL")
    def test_a_shared_history_is_delivered_to_as_before(self):
        env = self.load_shared()
        (old,) = self.ikigai("session", "list", "--json", env=env).json()
        self.assertEqual((old["title"], old["turns"]), ("run echo flotsam", 2))
        self.assertIn("flotsam", self.ikigai("session", "search", "flotsam", env=env).out)
        # Consent was implied in 0.1: no question, and what is new is delivered.
        done = self.ikigai("-c", "-p", "run echo jetsam", env=env)
        self.assertNotIn("share", done.err)
        self.ikigai("-p", "run echo lagan", env=env)
        self.assertEqual(self.database("SELECT consent FROM deliveries"), [(3,)])
        elsewhere = {**env, "IKIGAI_HOME": self.path("elsewhere")}
        listed = self.ikigai("session", "list", "--json", env=elsewhere).json()
        self.assertEqual([(s["title"], s["turns"]) for s in listed],
                         [("run echo lagan", 1), ("run echo flotsam", 3)])
