"""The commands of the interactive program, each in a terminal of its own: what they print, and what
the model is sent afterwards. Agents and sessions have modules of their own.
"""
import base64
import json
import os
import re
import stat
import subprocess
import unittest

import hostile
from agent_support import sent_results, sent_tools
from fake_llm import Answer, Call, FakeLLM, Usage, Wire
from repl_support import MODEL, ReplTest, words_of
from support import IKIGAI, SHIPPED, TOOLS, clean_env, tool_script

COMMANDS = ["agents", "clear", "compact", "copy", "diff", "exit", "export", "fork", "help", "init", "jobs", "kill",
            "login", "logout", "mode", "model",
            "pager", "permissions", "redo", "refresh", "remember",
            "resume", "rewind", "search", "sessions", "show", "skills", "status", "switch", "system", "tool",
            "trust", "undo", "usage"]
MUCH = 60000  # ms for a schema
UP, ESCAPE = "\x1b[A", "\x1b"
# Not the clipboard of the user who runs the tests.
NO_CLIPBOARD = {"TMUX": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
WIDE = {"columns": 200}


def refreshed(more=0):
    """The last line of /refresh, with so many tools besides the shipped ones."""
    return f"Tools refreshed. {len(SHIPPED) + more} tools available."


class CommandTest(ReplTest):
    def user_tool(self, name, text):
        return hostile.write_program(os.path.join(self.home, "tools", name), text)

    def project_tool(self, name, text):
        return self.write(f".ikigai/tools/{name}", text, 0o755)

    def wait_for_file(self, name):
        path = os.path.join(self.project, name)
        self.assertTrue(hostile.wait_until(lambda: os.path.exists(path), 20), name)

    def slow_schema(self, name):
        """A tool of the user that says nothing about itself before the file go-NAME is there."""
        self.user_tool(name, tool_script(
            name, first=f"touch {self.project}/asked-{name}\n"
                        f"while [ ! -e {self.project}/go-{name} ]; do sleep 0.02; done"))

    def gated_tool(self):
        """A tool of the user that ends when the file go-on is there."""
        hostile.sh_tool(os.path.join(self.home, "tools"), "wait_here",
                        "touch started; while [ ! -e go-on ]; do sleep 0.02; done; echo '{}'")

    def release(self, name):
        self.write(f"go-{name}", "")


# ---- tools

class ToolTest(CommandTest):
    def test_the_list(self):
        self.user_tool("weather", tool_script("weather", description="Tells the\nweather"))
        t = self.ready(**WIDE)
        rows = self.enter(t, "/tool", "weather ")
        self.assertEqual(rows[0], "Available tools:")
        self.assertEqual([row.split()[0] for row in rows[1:]], SHIPPED + ["weather"])
        self.assertTrue(any(row.startswith("  bash        Execute a shell command and return output")
                            for row in rows))
        self.assertIn("  file_read   Read contents of a file", rows)
        self.assertEqual(rows[-1], "  weather     Tells the weather (user)")

    def test_one_tool(self):
        path = self.user_tool("greet", tool_script("greet", description="Says hello", parameters={
            "type": "object", "required": ["path"], "properties": {
                "path": {"type": "string", "description": "its description"},
                "mood": {"type": "string"}}},
            returns={"type": "object", "properties": {"greeting": {"type": "string"}}}))
        t = self.ready(**WIDE)
        rows = self.enter(t, "/tool greet", "Source:")
        self.assertEqual(rows[:8], ["greet - Says hello", "", "Parameters:",
                                    "  path (string, required)", "    its description",
                                    "  mood (string)", "", "Returns:"])
        end = rows.index("", 8)
        returns = json.loads("\n".join(rows[8:end]))
        self.assertEqual(set(returns), {"tool_success", "result", "error", "error_code"})
        self.assertIn("greeting", returns["result"]["properties"])
        self.assertEqual(rows[end + 1:], ["Effects: not declared, runs unconfined", f"File: {path}",
                                          "Source: user"])

    def test_a_shipped_tool_names_its_file(self):
        t = self.ready(**WIDE)
        rows = self.enter(t, "/tool file_read", "Source:")
        self.assertEqual(rows[0], "file_read - Read contents of a file")
        self.assertEqual(rows[-3:], ["Effects: write none, network no",
                                     f"File: {TOOLS}/file-read", "Source: system"])
        rows = self.enter(t, "/tool file-read", "Source:")
        self.assertEqual(rows[0], "file_read - Read contents of a file")

    def test_an_unknown_tool(self):
        t = self.ready()
        rows = self.enter(t, "/tool nope", "not found")
        self.assertEqual(rows, ["Tool 'nope' not found. Run /tool to see available tools."])

    def test_a_tool_that_hides_another_says_so(self):
        self.user_tool("mygrep", tool_script("grep", description="Better"))
        t = self.ready(**WIDE)
        rows = self.enter(t, "/tool grep", "Overrides")
        self.assertEqual(rows[0], "grep - Better")
        self.assertEqual(rows[-1], f"Overrides: {TOOLS}/grep")

    def test_without_tools_the_model_gets_none(self):
        t = self.ready([Answer("Fine.")], "--no-tools")
        self.enter(t, "hi", "Fine.")
        self.assertEqual(sent_tools(self.llm.requests[0]), [])
        rows = self.enter(t, "/tool", "switched off")
        self.assertEqual(rows, ["Tools are switched off."])


class RefreshTest(CommandTest):
    def test_a_tool_that_was_dropped_in_is_there(self):
        t = self.ready([Answer("One."), Answer(calls=[Call("fresh")]), Answer("Two.")])
        self.enter(t, "first", "One.")
        self.user_tool("fresh", tool_script("fresh", "echo '{\"is\":\"new\"}'"))
        rows = self.enter(t, "/refresh", "available")
        self.assertEqual(rows, ["Refreshing tools...", "New: fresh.",
                                refreshed(1)])
        self.enter(t, "second", "Two.")
        first, second, third = self.llm.requests
        self.assertEqual(sent_tools(first), SHIPPED)
        self.assertEqual(sent_tools(second), sorted(SHIPPED + ["fresh"]))
        self.assertEqual([r for _, r in sent_results(third)],
                         [{"tool_success": True, "result": {"is": "new"}}])

    def test_a_tool_that_was_removed_is_gone(self):
        path = self.user_tool("fleeting", tool_script("fleeting"))
        t = self.ready([Answer("One.")])
        os.remove(path)
        rows = self.enter(t, "/refresh", "available")
        self.assertEqual(rows, ["Refreshing tools...", "Gone: fleeting.",
                                refreshed()])
        self.enter(t, "/tool fleeting", "Tool 'fleeting' not found.")
        self.enter(t, "hi", "One.")
        self.assertEqual(sent_tools(self.llm.requests[0]), SHIPPED)

    def test_a_broken_tool_costs_a_line_and_nothing_else(self):
        t = self.ready()
        self.user_tool("foo", "#!/bin/sh\nexit 3\n")
        rows = self.enter(t, "/refresh", "available")
        self.assertEqual(len(rows), 3, rows)
        self.assertRegex(rows[1], r"^Debug: tool 'foo' schema failed \(.*\)$")
        self.assertEqual(rows[2], refreshed())

    def test_a_changed_schema_is_read_again(self):
        self.user_tool("weather", tool_script("weather", description="Old words"))
        t = self.ready(**WIDE)
        self.enter(t, "/tool weather", "weather - Old words")
        self.user_tool("weather", tool_script("weather", description="New words"))
        self.user_tool("second", tool_script("second"))
        rows = self.enter(t, "/refresh", "available")
        self.assertEqual(rows, ["Refreshing tools...", "New: second. Changed: weather.",
                                refreshed(2)])
        self.enter(t, "/tool weather", "weather - New words")
        rows = self.enter(t, "/refresh", "available")
        self.assertEqual(rows, ["Refreshing tools...", refreshed(2)])

    def test_what_is_not_used_is_said(self):
        t = self.ready(**WIDE)
        path = self.user_tool("plain", tool_script("plain"))
        os.chmod(path, 0o644)
        mine = self.user_tool("mine", tool_script("grep"))
        rows = self.enter(t, "/refresh", "available")
        self.assertEqual(rows, [
            "Refreshing tools...",
            f"Tool 'plain' is not used: it is not executable; chmod +x '{path}'",
            f"Tool 'grep' from {mine} overrides the one from {TOOLS}/grep", "Changed: grep.",
            refreshed()])

    def test_messages_wait_until_it_is_done(self):
        self.serve([Answer("Here.")], schema_timeout_ms=MUCH)
        t = self.ready()
        self.slow_schema("slow")
        t.send("/refresh\r")
        t.wait_for("Refreshing tools...")
        self.wait_for_file("asked-slow")
        self.assertIn("looking for tools", self.status(t))
        t.send("hello\r")
        t.wait_for("queued: hello")
        self.assertEqual(self.llm.requests, [])
        self.release("slow")
        t.wait_for("Here.")
        rows = self.below(t, "/refresh")
        self.assertLess(rows.index(refreshed(1)), rows.index("> hello"))
        self.assertIn("slow", sent_tools(self.llm.requests[0]))

    def test_a_turn_goes_on_meanwhile(self):
        self.gated_tool()
        t = self.ready([Answer(calls=[Call("wait_here")]), Answer(calls=[Call("wait_here")]),
                        Answer("Through.")])
        t.send("go\r")
        self.wait_for_file("started")
        rows = self.enter(t, "/refresh", "available")
        self.assertIn(refreshed(1), rows)
        self.release("on")
        t.wait_for("Through.")
        self.assertTrue(all(r["tool_success"] for _, r in sent_results(self.llm.requests[2])))


class AskedAgainTest(CommandTest):
    """A warm start runs no tool; the user's tools are asked again before the first message."""

    def warm(self, words="Old words"):
        schema = os.path.join(self.dir, "schema")
        with open(schema, "w") as f:
            f.write(json.dumps({"name": "weather", "description": words}))
        path = self.user_tool("weather", f"#!/bin/sh\necho x >> '{self.dir}/asked'\n"
                                         f"cat '{schema}'\n")
        os.utime(path, (1, 1))
        subprocess.run([IKIGAI, "tool", "list"], env=clean_env(IKIGAI_HOME=self.home), check=True,
                       cwd=self.project, stdout=subprocess.DEVNULL)
        return schema

    def asked(self):
        with open(os.path.join(self.dir, "asked")) as f:
            return len(f.read().split())

    def description(self, request):
        (tool,) = [t["function"] for t in request.json["tools"]
                   if t["function"]["name"] == "weather"]
        return tool["description"]

    def test_not_before_something_is_typed(self):
        self.warm()
        before = self.asked()
        t = self.ready([Answer("Fine."), Answer("Again.")])
        self.assertEqual(self.asked(), before)
        self.enter(t, "hi", "Fine.")
        self.assertEqual(self.asked(), before + 1)
        self.enter(t, "more", "Again.")
        self.assertEqual(self.asked(), before + 1, "once is enough")
        self.assertNotIn("schemas reloaded", "\n".join(t.all_rows()))

    def test_a_changed_answer_counts_for_the_first_message(self):
        schema = self.warm()
        with open(schema, "w") as f:
            f.write(json.dumps({"name": "weather", "description": "New words"}))
        t = self.ready([Answer("Fine."), Answer("Again.")])
        self.enter(t, "hi", "Fine.")
        self.assertEqual(self.description(self.llm.requests[0]), "New words")
        t.wait_for("Tool schemas reloaded. Changed: weather.")
        self.enter(t, "/tool weather", "weather - New words")

    def test_a_message_of_the_command_line_waits_for_it(self):
        schema = self.warm()
        with open(schema, "w") as f:
            f.write(json.dumps({"name": "weather", "description": "New words"}))
        self.serve([Answer("Fine.")])
        t = self.start(None, "hi")
        t.wait_for("Fine.")
        self.assertEqual(self.description(self.llm.requests[0]), "New words")

    def test_refresh_in_between(self):
        schema = self.warm()
        with open(schema, "w") as f:
            f.write(json.dumps({"name": "weather", "description": "New words"}))
        t = self.ready([Answer("Fine.")])
        self.enter(t, "/refresh", refreshed(1))
        self.enter(t, "hi", "Fine.")
        self.assertEqual(self.description(self.llm.requests[0]), "New words")


class DiscoveryTest(CommandTest):
    def start_slowly(self, script):
        self.slow_schema("slow")
        self.serve(script, schema_timeout_ms=MUCH)
        t = self.start()
        self.wait_for_file("asked-slow")
        return t

    def test_a_message_waits_for_the_tools(self):
        t = self.start_slowly([Answer("At last.")])
        t.wait_for("looking for tools")
        t.send("hello\r")
        t.wait_for("queued: hello")
        self.assertRegex("\n".join(t.screen()), "[⠋⠙⠸⠴⠦⠇] looking for tools")
        self.release("slow")
        t.wait_for("At last.")
        self.assertNotIn("looking for tools", "\n".join(t.screen()))
        self.assertIn("slow", sent_tools(self.llm.requests[0]))

    def test_a_command_that_needs_tools_waits_and_is_said_once(self):
        t = self.start_slowly([])
        t.send("/tool slow\r")
        t.wait_for("queued: /tool slow")
        self.release("slow")
        t.wait_for("slow - A tool of a test")
        self.assertEqual(t.all_rows().count("/tool slow"), 1)

    def test_other_commands_do_not_wait(self):
        t = self.start_slowly([])
        self.enter(t, "/model", f"Current model: {MODEL}")
        t.send("\x1b")
        self.release("slow")

    def test_esc_gives_a_waiting_message_back(self):
        t = self.start_slowly([])
        t.send("hello\r")
        t.wait_for("queued: hello")
        t.send(ESCAPE)
        t.wait_for(re.compile(r"^> hello$", re.M))
        t.wait_gone("queued")
        self.release("slow")
        t.wait_gone("looking for tools")
        self.assertEqual(self.llm.requests, [])

    def test_a_tool_that_never_answers_costs_a_line(self):
        self.user_tool("foo", tool_script("foo", first="sleep 300"))
        t = self.ready([Answer("Still here.")])
        t.wait_for("Debug: tool 'foo' schema failed (timeout)")
        self.enter(t, "hi", "Still here.")
        self.assertEqual(sent_tools(self.llm.requests[0]), SHIPPED)


class TrustTest(CommandTest):
    NOTE = "1 project tool is not trusted and not used"

    def start_untrusted(self, script=None, *args):
        self.project_tool("grep", tool_script("grep", "echo '{\"is\":\"mine\"}'"))
        return self.ready(script, *args, **WIDE)

    def read(self, t):
        """Enters /trust and returns what the pager shows, which is then closed."""
        t.send("/trust\r")
        t.wait_for("what the project adds")
        rows = t.screen()
        t.send("q")
        t.wait_for("[y/N]")
        return rows

    def ask(self, t):
        self.read(t)
        t.wait_for("Trust them?")
        return self.below(t, "/trust")

    def test_the_text_is_shown(self):
        t = self.start_untrusted()
        rows = self.read(t)
        self.assertEqual(rows[0], "=== grep")
        self.assertEqual(rows[1], "| #!/bin/sh")
        self.assertIn("| echo '{\"is\":\"mine\"}'", rows)
        t.send("y\r")
        t.wait_for("Tools refreshed.")
        self.project_tool("grep", tool_script("grep", "echo '{\"is\":\"evil\"}'"))
        rows = self.read(t)
        self.assertEqual(rows[0], "=== grep (changed)")
        self.assertIn("-echo '{\"is\":\"mine\"}'", rows)
        self.assertIn("+echo '{\"is\":\"evil\"}'", rows)

    def test_the_start_says_what_is_not_used(self):
        t = self.start_untrusted()
        t.wait_for(f"{self.NOTE}; would override grep. Review: /trust or ikigai trust")
        rows = self.enter(t, "/tool grep", "Source:")
        self.assertEqual(rows[-1], "Source: system")

    def test_what_is_shown(self):
        t = self.start_untrusted()
        rows = self.ask(t)
        path = os.path.join(self.project, ".ikigai", "tools", "grep")
        size = os.path.getsize(path)
        self.assertEqual(rows[0], f"About to trust {os.path.dirname(path)}:")
        self.assertRegex(rows[1], rf"^  grep +{size} bytes  mode 0755  sha256 [0-9a-f]{{16}}$")
        self.assertEqual(rows[2], f"Overrides grep ({TOOLS}/grep)")
        self.assertTrue(rows[3].startswith(f"1 tool, 1 file, {size} bytes."), rows[3])

    def test_it_is_wrapped_at_words(self):
        t = self.start_untrusted()
        t.resize(60, 40)
        rows = self.ask(t)
        at = next(i for i, row in enumerate(rows) if row.startswith("1 tool, "))
        self.assertEqual(rows[at + 1], "these bytes, confined to what they declare.")

    def test_yes(self):
        t = self.start_untrusted([Answer(calls=[Call("grep", {"pattern": "x"})]), Answer("Found.")])
        self.ask(t)
        t.send("y\r")
        t.wait_for(refreshed())
        rows = self.enter(t, "/tool grep", "Overrides:")
        facts = dict(row.split(": ", 1) for row in rows[-4:])
        self.assertEqual(facts["Source"], "project")
        self.assertTrue(facts["Runs from"].startswith(os.path.join(self.home, "trusted")), facts)
        self.enter(t, "look", "Found.")
        t.wait_for("● grep [project]")
        self.assertEqual(sent_results(self.llm.requests[1])[0][1]["result"], {"is": "mine"})
        self.enter(t, "/trust", "Already trusted.")

    def test_a_change_afterwards_takes_it_back(self):
        t = self.start_untrusted()
        self.ask(t)
        t.send("y\r")
        t.wait_for("Tools refreshed.")
        self.project_tool("grep", tool_script("grep", "echo '{\"is\":\"evil\"}'"))
        rows = self.enter(t, "/refresh", "Tools refreshed.")
        self.assertTrue(rows[1].startswith("1 project tool is no longer trusted and not used: "
                                           "grep changed"), rows)
        rows = self.ask(t)
        self.assertEqual(rows[1], "(trusted before; grep changed)")

    def test_everything_else_is_no(self):
        t = self.start_untrusted([Answer("One.")])
        for answer in ("\r", "n\r", "yesterday\r", ESCAPE, "\x03"):
            with self.subTest(answer):
                self.ask(t)
                t.send(answer)
                t.wait_until(lambda: self.below(t, "Trust them?") == ["Not trusted."], "no")
                self.enter(t, "/tool nope", "not found")  # it is a prompt again
        self.assertEqual(t.all_rows().count("Not trusted."), 5)
        self.enter(t, "hi", "One.")
        self.assertEqual(len(self.llm.requests), 1)
        self.assertFalse(os.path.exists(os.path.join(self.home, "trusted")))

    def test_an_answer_is_no_message(self):
        t = self.start_untrusted([])
        self.ask(t)
        t.send("y\r")
        t.wait_for("Tools refreshed.")
        t.send(UP)
        t.wait_for("> /trust")
        self.assertEqual(self.llm.requests, [])

    def test_a_draft_outlives_the_question(self):
        self.slow_schema("slow")
        self.serve([], schema_timeout_ms=MUCH)
        self.project_tool("grep", tool_script("grep"))
        t = self.start()
        self.wait_for_file("asked-slow")
        t.send("/trust\r")
        t.wait_for("queued: /trust")
        t.send("half a message")
        t.wait_for("> half a message")
        self.release("slow")
        t.wait_for("what the project adds")
        t.send("q")
        t.wait_for(re.compile(r"^\[y/N\]$", re.M))
        t.send("n\r")
        t.wait_for("Not trusted.")
        t.wait_for(re.compile("^> half a message$", re.M))

    def test_tools_that_declare_more(self):
        """What they ask ikigai for is shown, and a second question is about their effects."""
        self.project_tool("fetch", tool_script("fetch", effects={"network": True}, host=["ask"]))
        t = self.ready(**WIDE)
        self.ask(t)
        t.send("y\r")
        t.wait_for("Allow these effects?")
        self.assertIn("  fetch: write none, network yes", self.below(t, "Trust them?"))
        self.assertIn("  fetch: host ask", self.below(t, "Trust them?"))
        t.send("n\r")
        t.wait_for("Not allowed: ")
        t.wait_for(refreshed(1))
        self.assertIn("Effects: write project, network no",
                      self.enter(t, "/tool fetch", "Runs from:"))
        t.send("/trust\r")
        t.wait_for("Already trusted.")
        t.wait_until(lambda: "  fetch: write none, network yes" in
                     self.below(t, "Already trusted."), "the question")
        t.send("y\r")
        t.wait_for("Allowed.")
        t.wait_until(lambda: refreshed(1) in self.below(t, "Allowed."),
                     "refreshed")
        rows = self.enter(t, "/tool fetch", "Runs from:")
        self.assertIn("Effects: write none, network yes", rows)
        self.enter(t, "/trust", "Already trusted.")
        self.enter(t, "/tool nope", "not found")  # there was nothing to ask

    def test_nothing_to_trust(self):
        t = self.ready(**WIDE)
        rows = self.enter(t, "/trust", "no tools")
        self.assertEqual(" ".join(rows), f"There are no tools in {self.project}/.ikigai/tools, and no "
                         "hooks, commands, skills, agents or servers of this project.")

    def test_for_one_run(self):
        t = self.start_untrusted([Answer(calls=[Call("grep", {"pattern": "x"})]), Answer("Found.")],
                                 "--trust")
        self.enter(t, "look", "Found.")
        self.assertEqual(sent_results(self.llm.requests[1])[0][1]["result"], {"is": "mine"})
        self.assertNotIn(self.NOTE, "\n".join(t.all_rows()))
        self.assertEqual(self.leave(t), 0)
        t = self.start_untrusted()
        t.wait_for(self.NOTE)


# ---- the model

class ModelTest(CommandTest):
    def start_with_two(self, first, second):
        """Two servers; the second one is called other."""
        self.other = FakeLLM(second, dialect="plain").start()
        self.addCleanup(self.other.stop)
        self.serve(first)
        self.configure(model=MODEL, providers={
            "local": {"type": "openai", "base_url": self.llm.base_url("openai")},
            "other": {"type": "openai", "base_url": self.other.base_url("openai")}})
        return self.ready(**WIDE)

    def test_what_is_configured(self):
        t = self.start_with_two([], [])
        self.enter(t, "/model", f"Current model: {MODEL}")
        t.wait_for("Which model?")
        self.assertRegex("\n".join(t.screen()), rf"(?m)^› {MODEL}$")
        for name in ("llama/", "lmstudio/", "local/", "offline/offline", "ollama/", "other/",
                     "vllm/"):
            t.send(name)
            t.wait_for(re.compile(rf"^› {name} ", re.M))
            t.send("\x15")
        t.send("gpt-6-sol")  # no key, and it says so
        t.wait_for(re.compile(r"^› openai/gpt-6-sol +\S+  \$\S+/\$\S+  no key$", re.M))
        t.send("\r")
        t.wait_for("OPENAI_API_KEY")
        t.send("/model\r")
        t.send("other/\r")
        t.wait_for("Name one of its models: /model other/NAME")

    def test_another_one_in_the_middle_of_a_conversation(self):
        t = self.start_with_two([Answer("One."), Answer("Three.")], [Answer("Two.")])
        self.enter(t, "first", "One.")
        self.assertEqual(self.enter(t, "/model other/big", "Model:"), ["Model: other/big"])
        t.wait_until(lambda: self.status(t).startswith("other/big"), "new status")
        self.enter(t, "second", "Two.")
        (request,) = self.other.requests
        self.assertEqual(request.model, "big")
        self.assertEqual(words_of(request), ["first", "One.", "second"])
        self.enter(t, f"/model {MODEL}", "Model:")
        self.enter(t, "third", "Three.")
        self.assertEqual(words_of(self.llm.requests[1]),
                         ["first", "One.", "second", "Two.", "third"])
        self.assertEqual(self.llm.problems + self.other.problems, [])

    def test_what_is_not_there_changes_nothing(self):
        t = self.start_with_two([Answer("One.")], [])
        self.enter(t, "/model nobody/x", "there is no provider 'nobody'")
        self.enter(t, "/model openai/gpt-5", "OPENAI_API_KEY")
        self.enter(t, "/model", f"Current model: {MODEL}")
        t.send("\x1b")
        t.wait_gone("Which model?")
        self.enter(t, "hi", "One.")
        self.assertEqual(self.llm.requests[-1].model, "qwen3")

    def test_while_it_works_for_the_next_request(self):
        self.gated_tool()
        t = self.start_with_two([Answer(calls=[Call("wait_here")])], [Answer("Done by the other.")])
        t.send("go\r")
        self.wait_for_file("started")
        self.enter(t, "/model other/x", "Model: other/x, from the next request on")
        self.release("on")
        t.wait_for("Done by the other.")
        self.assertEqual([r.model for r in self.llm.requests], ["qwen3"])
        self.assertEqual([m["role"] for m in self.other.requests[0].json["messages"]],
                         ["system", "user", "assistant", "tool"])


# ---- the conversation

class ClearTest(CommandTest):
    def test_a_new_conversation_begins(self):
        t = self.ready([Answer("Old answer."), Answer("New answer.")])
        self.enter(t, "old words", "Old answer.")
        before = t.all_rows()[:t.all_rows().index("Old answer.") + 1]
        self.enter(t, "/clear", "New conversation.")
        self.enter(t, "new words", "New answer.")
        self.assertEqual(t.all_rows()[:len(before)], before)
        self.assertEqual(words_of(self.llm.requests[1]), ["new words"])
        t.send("/sessions\r")
        t.wait_for(re.compile("^› new words .*\n  old words ", re.M))

    def test_not_while_something_waits_or_runs(self):
        t = self.ready([Answer("Here.")])
        t.send("!touch started; while [ ! -e go-on ]; do sleep 0.02; done; echo through\r")
        self.wait_for_file("started")
        self.enter(t, "/clear", "/clear has to wait")
        t.send("hello\r")
        t.wait_for("queued: hello")
        self.enter(t, "/clear", "/clear has to wait")
        self.release("on")
        t.wait_for("Here.")
        self.assertIn("through", words_of(self.llm.requests[0])[0])


class CompactTest(CommandTest):
    def talk(self, *answers):
        """Two turns with a long result each, then the answers."""
        self.write("big.txt", "many words\n" * 50)
        read = Call("file_read", {"file_path": "big.txt"})
        t = self.ready([Answer(calls=[read]), Answer("One."), Answer(calls=[read]), Answer("Two."),
                        *answers])
        self.enter(t, "first", "One.")
        self.enter(t, "second", "Two.")
        return t

    def test_a_summary(self):
        t = self.talk(Answer("It was read twice."), Answer("Three."))
        rows = self.enter(t, "/compact the file's name", "after")
        self.assertIn("Compacting the conversation (", rows[0])
        self.assertIn("asking the model for a summary.", rows[0])
        self.assertRegex(rows[1], "^The conversation was summarised: [0-9,]+ tokens before, [0-9,]+"
                         " after$")
        asked = json.dumps(self.llm.requests[4].json)
        self.assertIn("the file's name", asked)
        self.assertIn("many words", asked)
        self.enter(t, "third", "Three.")
        sent = words_of(self.llm.requests[5])
        self.assertEqual(sent[:2], ["first", "second"])
        self.assertIn("It was read twice.", sent[2])
        self.assertEqual(sent[3:], ["Two.", "third"])
        self.assertNotIn("many words", json.dumps(self.llm.requests[5].json))
        t.send("/show summary\r")
        t.wait_for("summary  END")
        self.assertEqual(t.screen()[0], "It was read twice.")

    def stored(self):
        """The compactions of the only session, as they are stored."""
        listed = subprocess.run([IKIGAI, "session", "list", "--json"], capture_output=True, check=True,
                                env=clean_env(IKIGAI_HOME=self.home), cwd=self.project).stdout
        (session,) = json.loads(listed)
        shown = subprocess.run([IKIGAI, "session", "show", session["id"], "--json"],
                               capture_output=True, check=True, env=clean_env(IKIGAI_HOME=self.home),
                               cwd=self.project).stdout
        return [m["data"] for m in json.loads(shown)["messages"] if m["kind"] == "compaction"]

    def test_what_is_stored(self):
        t = self.talk(Answer("It was read."), Answer("Three " + "and more " * 200), Answer("Again."))
        self.enter(t, "/compact  all names, please", "after")
        self.enter(t, "third", "Three")
        self.enter(t, "/compact", re.compile("summarised.*after", re.S))
        first, second = self.stored()
        self.assertEqual((first["reason"], first["summary"], first["focus"]),
                         ("user", "It was read.", "all names, please"))
        self.assertLess(first["tokens_after"], first["tokens_before"])
        self.assertEqual((second["reason"], second["summary"]), ("user", "Again."))
        self.assertNotIn("focus", second)

    def test_what_is_typed_meanwhile_waits(self):
        t = self.talk(Answer("It was read.", wire=Wire(delay_body=1)), Answer("Three."))
        t.send("/compact\r")
        t.wait_for("asking the model for a summary")
        t.send("third\r")
        t.wait_for("Three.")
        sent = words_of(self.llm.requests[5])
        self.assertIn("It was read.", sent[2])
        self.assertEqual(sent[-1], "third")

    def test_a_fork_goes_on_with_the_summary(self):
        t = self.talk(Answer("It was read."), Answer("Three."), Answer("Four."))
        self.enter(t, "/compact", "after")
        self.enter(t, "/fork", "agent 2")
        self.enter(t, "third", "Three.")
        self.enter(t, "/switch 1", "agent 1")
        self.enter(t, "fourth", "Four.")
        child, parent = (words_of(self.llm.requests[i]) for i in (5, 6))
        self.assertEqual(child[:-1], parent[:-1])
        self.assertEqual((child[-1], parent[-1]), ("third", "fourth"))

    def test_the_offline_model(self):
        t = self.ready(None, "-m", "offline/offline")
        self.enter(t, "run seq 200", "exit code 0")
        self.enter(t, "run echo done", "exit code 0")
        self.enter(t, "/compact", "The conversation was summarised")
        self.enter(t, "run echo more", "exit code 0")
        t.send("/show summary\r")
        t.wait_for("summary  END")
        self.assertIn('- bash(command="seq 200")', t.screen())

    def test_nonsense_is_answered_by_markers(self):
        t = self.talk(Answer(calls=[Call("bash", {"command": "touch ran"})]), Answer("Three."))
        rows = self.enter(t, "/compact", "removed to fit")
        self.assertEqual(rows[1:], [
            "The conversation was not summarised: the model called a tool",
            "2 tool results removed to fit the context"])
        self.enter(t, "third", "Three.")
        sent = [json.dumps(self.llm.requests[i].json) for i in (3, 5)]
        self.assertEqual([text.count("many words") for text in sent], [100, 0])
        self.assertFalse(os.path.exists(os.path.join(self.project, "ran")))

    def test_nothing_to_compact(self):
        t = self.ready([])
        self.enter(t, "/compact", "There is nothing to compact.")
        self.enter(t, "/show summary", "This conversation has no summary. /compact makes one.")

    def test_escape_leaves_everything_as_it_was(self):
        t = self.talk(Answer("Half a summ", wire=Wire(stall_after=2)), Answer("Three."))
        t.send("/compact\r")
        t.wait_for("asking the model for a summary")
        t.send("\x1b")
        t.wait_for("interrupted")
        self.enter(t, "third", "Three.")
        before, after = (words_of(self.llm.requests[i]) for i in (3, 5))
        self.assertEqual(after, [*before, "Two.", "third"])


class ShowTest(CommandTest):
    def test_a_long_result_in_full(self):
        t = self.ready([Answer(calls=[Call("bash", {"command": "echo one"})]),
                        Answer(calls=[Call("bash", {"command": "seq -f line-%g 1000"})]),
                        Answer("Done.")])
        self.enter(t, "count", "Done.")
        t.wait_for("… 600 more lines, /show 2")
        self.assertNotIn("line-401", t.all_rows())
        rows = self.show(t, 2, "result 2  2%")
        self.assertEqual(rows[0], "● bash  command: seq -f line-%g 1000")
        self.assertEqual(rows[2:23], [f"line-{n}" for n in range(1, 22)])
        t.send("G")
        t.wait_for(re.compile("^line-1000\nresult 2  END ", re.M))
        self.close_pager(t)
        rows = self.show(t, 1, re.compile("^one$", re.M))
        self.assertEqual(rows[0], "● bash  command: echo one")
        self.assertRegex(rows[1], "^└ #1 ok ")
        self.close_pager(t)
        self.assertNotIn("line-500", t.all_rows())

    def test_without_a_pager_it_is_printed(self):
        t = self.start([Answer(calls=[Call("bash", {"command": "seq -f line-%g 1000"})]),
                        Answer("Done.")], "--plain", plain=True)
        self.say(t, "count", "Done.")
        t.wait_for("… 600 more lines, /show 1")
        self.assertNotIn("line-401", t.all_rows())
        self.say(t, "/show 1", "line-1000")
        rows = t.all_rows()
        begin = max(i for i, row in enumerate(rows) if row.endswith("/show 1"))
        self.assertIn("● bash  command: seq -f line-%g 1000", rows[begin:])
        self.assertEqual([row for row in rows[begin:] if row.startswith("line-")],
                         [f"line-{n}" for n in range(1, 1001)])

    def test_what_a_successful_tool_wrote_to_stderr(self):
        hostile.sh_tool(os.path.join(self.home, "tools"), "chatty",
                        "echo 'cache is stale' >&2; echo '{\"n\":1}'")
        t = self.ready([Answer(calls=[Call("chatty")]), Answer("Done.")])
        rows = self.enter(t, "go", "Done.")
        self.assertNotIn("cache is stale", rows)
        self.show(t, 1, re.compile("^stderr:\ncache is stale$", re.M))

    def test_wrong_numbers(self):
        t = self.ready([Answer(calls=[Call("bash", {"command": "true"})]), Answer("Done.")])
        self.enter(t, "/show 1", "There is no tool result 1 (0 so far).")
        self.enter(t, "go", "Done.")
        self.enter(t, "/show 2", "There is no tool result 2 (1 so far).")
        for wrong in ("0", "-1", "x", "1.5", "99999999999999999999"):
            rows = self.enter(t, f"/show {wrong}", "Usage: /show N")
            self.assertEqual(rows, [f"'{wrong}' is not a positive number. Usage: /show N|summary"])
        self.enter(t, "/show", "Usage: /show N")


class CopyTest(CommandTest):
    CODE = "def f():\n\treturn 'ä'\n"
    TEXT = f"Words first:\n\n```python\n{CODE}```\n\nand\n\n```\nlast\n```\n"

    def start_answered(self):
        t = self.ready([Answer(self.TEXT)], env=NO_CLIPBOARD)
        self.enter(t, "go", "last")
        self.settle(t)
        return t

    def copied(self, t, line):
        """The bytes that the terminal was asked to keep."""
        start = len(t.raw)
        self.enter(t, line, "Copied")
        (text,) = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)(?:\x07|\x1b\\)", t.raw[start:])
        return base64.b64decode(text, validate=True).decode()

    def test_the_answer_and_its_code(self):
        t = self.start_answered()
        self.assertEqual(self.copied(t, "/copy"), self.TEXT)
        self.assertEqual(self.copied(t, "/copy code"), "last\n")
        self.assertEqual(self.copied(t, "/copy 1"), self.CODE)
        self.enter(t, "/copy 3", "The last answer has 2 code blocks.")
        self.enter(t, "/copy x", "Usage: /copy [N|code]")

    def start_with_xclip(self, body):
        """An answer was given, and there is a program for the clipboard."""
        folder = os.path.join(self.dir, "bin")
        hostile.write_program(os.path.join(folder, "xclip"), f"#!/bin/sh\n{body}\n")
        env = {**NO_CLIPBOARD, "DISPLAY": ":9", "PATH": f"{folder}:{os.environ['PATH']}"}
        t = self.ready([Answer("Some words.")], env=env)
        self.enter(t, "go", "Some words.")
        self.settle(t)
        return t

    def test_a_program_that_is_the_clipboard(self):
        """It holds the text while ikigai runs, and the next one takes its place."""
        held = os.path.join(self.dir, "held")
        t = self.start_with_xclip(f"cat > {held}; echo $$ >> {held}.pids; exec sleep 600")
        self.enter(t, "/copy", "Copied 11 bytes.")
        with open(held, encoding="utf-8") as f:
            self.assertEqual(f.read(), "Some words.")
        self.enter(t, "/copy", "Copied 11 bytes.")
        with open(f"{held}.pids", encoding="utf-8") as f:
            first, second = f.read().split()
        t.wait_until(lambda: not os.path.exists(f"/proc/{first}"), "end of the first")
        self.assertTrue(os.path.exists(f"/proc/{second}"))
        self.assertNotIn(b"\x1b]52", t.raw)
        self.assertEqual(self.leave(t), 0)
        t.wait_until(lambda: not os.path.exists(f"/proc/{second}"), "end of the second")

    def test_a_program_that_fails_leaves_it_to_the_terminal(self):
        t = self.start_with_xclip("exit 1")
        self.assertEqual(self.copied(t, "/copy"), "Some words.")

    def test_nothing_there(self):
        t = self.ready([Answer("No code.")], env=NO_CLIPBOARD)
        self.enter(t, "/copy", "There is no answer yet.")
        self.enter(t, "hi", "No code.")
        self.settle(t)
        self.enter(t, "/copy code", "The last answer has no code block.")
        self.assertNotIn(b"\x1b]52", t.raw)


class PagerTest(CommandTest):
    def test_nothing_to_show(self):
        t = self.ready()
        self.assertEqual(self.enter(t, "/pager", "yet"), ["No messages yet."])

    def test_the_conversation(self):
        t = self.ready([Answer("Words of wisdom.")])
        self.enter(t, "hi", "Words of wisdom.")
        t.send("/pager\r")
        t.wait_until(lambda: b"\x1b[?1049h" in t.raw, "alternate screen")
        t.wait_for("transcript")
        t.send("q")
        t.wait_until(lambda: b"\x1b[?1049l" in t.raw, "main screen")
        self.enter(t, "/usage", "Turns    1")


class UsageTest(CommandTest):
    def test_sums(self):
        t = self.ready([Answer("One.", usage=Usage(input=1000, output=20)),
                        Answer("Two.", usage=Usage(input=1500, output=30))])
        rows = self.enter(t, "/usage", "Context")
        self.assertEqual(rows[:4], ["Turns    0", "Tokens   -", "Cost     -", "Context  -"])
        self.enter(t, "first", "One.")
        self.enter(t, "second", "Two.")
        self.settle(t)
        rows = self.enter(t, "/usage", "This conversation")
        self.assertEqual(rows[:3], ["Turns    2", "Tokens   2,500 in, 50 out", "Cost     -"])
        self.assertIn("1,530", rows[3])
        table = rows[rows.index("This conversation:") + 1:]
        self.assertEqual([row.split() for row in table],
                         [["model", "answers", "in", "cached", "out", "cost"],
                          ["local/qwen3", "2", "2,500", table[1].split()[3], "50", "-"]])
        self.assertEqual(len({len(row) for row in table}), 1, table)
        self.assertEqual(self.status(t), "local/qwen3 · context 1.5k")  # no sum of tokens


class SystemTest(CommandTest):
    def test_what_the_model_is_told(self):
        self.write("AGENTS.md", "Speak like a sailor.\n")
        t = self.ready([Answer("Aye.")], rows=100, **WIDE)
        rows = self.enter(t, "/system", "sailor")
        self.enter(t, "hi", "Aye.")
        sent = self.llm.requests[0].json["messages"][0]
        self.assertEqual(sent["role"], "system")
        self.assertEqual(rows[0], f"AGENTS.md: {self.project}/AGENTS.md (21 bytes)")
        self.assertTrue(rows[1].startswith("You are ikigai"), rows[1])
        self.assertTrue(sent["content"].startswith(rows[1]), sent)
        self.assertIn("Speak like a sailor.", sent["content"])


class ExportTest(CommandTest):
    def start_answered(self):
        t = self.ready([Answer("Some *words*.")], **WIDE)
        self.enter(t, "say something", "Some words.")
        self.settle(t)
        return t

    def exported(self, t, line):
        path = self.enter(t, line, "Exported to")[0].removeprefix("Exported to ")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        with open(path, encoding="utf-8") as f:
            return path, f.read()

    def test_formats(self):
        t = self.start_answered()
        path, text = self.exported(t, "/export")
        self.assertRegex(path, rf"^{self.project}/ikigai-[0-9a-f]{{16}}\.md$")
        self.assertIn("Some *words*.", text)
        path, text = self.exported(t, "/export talk.jsonl")
        self.assertEqual(path, os.path.join(self.project, "talk.jsonl"))
        lines = [json.loads(line) for line in text.splitlines()]
        self.assertIn("Some *words*.", [line.get("content") for line in lines])
        _, text = self.exported(t, "/export page --format html")
        self.assertRegex(text, "(?i)^<!doctype html>")

    def test_what_is_there_stays(self):
        t = self.start_answered()
        self.write("mine.md", "precious")
        self.enter(t, "/export mine.md", "already exists")
        with open(os.path.join(self.project, "mine.md"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "precious")

    def test_what_cannot_be(self):
        t = self.start_answered()
        self.enter(t, "/export no/such/folder.md", "Cannot write")
        self.enter(t, "/export x --format pdf", "Unknown format 'pdf'. Usage: /export")
        self.enter(t, "/export a b", "Usage: /export")
        self.assertEqual(os.listdir(self.project), [])

    def test_nothing_was_said(self):
        t = self.ready()
        self.enter(t, "/export", "This session has no messages yet.")
        self.assertEqual(os.listdir(self.project), [])


# ---- the user's own commands

class ShellTest(CommandTest):
    def test_it_has_the_users_environment_but_no_provider_keys(self):
        t = self.ready([Answer("I see.")], env={"GITHUB_TOKEN": "tok", "GEMINI_API_KEY": "canary"})
        rows = self.enter(t, '!echo "[$GITHUB_TOKEN$GEMINI_API_KEY]"', "[tok]",
                          below='! echo "[$GITHUB_TOKEN$GEMINI_API_KEY]"')
        self.assertIn("[tok]", rows[1])

    def test_its_output_joins_the_conversation(self):
        t = self.ready([Answer("I see.")])
        rows = self.enter(t, "!echo from the shell; exit 3", "from the shell",
                          below="! echo from the shell; exit 3")
        self.assertIn("exit_code: 3", rows[0])
        self.assertEqual(self.llm.requests, [])
        self.enter(t, "what was that?", "I see.")
        note, question = words_of(self.llm.requests[0])
        self.assertIn("$ echo from the shell; exit 3\nfrom the shell\n", note)
        self.assertIn("exit_code: 3", note)
        self.assertEqual(question, "what was that?")
        self.assertEqual(self.llm.problems, [])

    def test_esc_ends_it(self):
        t = self.ready()
        t.send(f"!touch started; sleep 300 # {self.dir}\r")
        self.wait_for_file("started")
        t.send(ESCAPE)
        t.wait_for(re.compile("^└ interrupted$", re.M))
        self.assertTrue(hostile.wait_until(lambda: not hostile.processes_with(self.dir)))
        self.enter(t, "!echo again", "again", below="! echo again")

    def test_it_waits_for_the_turn(self):
        self.gated_tool()
        t = self.ready([Answer(calls=[Call("wait_here")]), Answer("Done.")])
        t.send("go\r")
        self.wait_for_file("started")
        t.send("!touch later\r")
        t.wait_for("queued: !touch later")
        self.assertFalse(os.path.exists(os.path.join(self.project, "later")))
        self.release("on")
        self.wait_for_file("later")
        t.wait_for(re.compile("Done.*! touch later", re.S))

    def test_messages_wait_for_it(self):
        t = self.ready([Answer("After.")])
        t.send("!touch started; while [ ! -e go-on ]; do sleep 0.02; done; echo through\r")
        self.wait_for_file("started")
        t.send("hello\r")
        t.wait_for("queued: hello")
        self.release("on")
        t.wait_for("After.")
        self.assertIn("through", words_of(self.llm.requests[0])[0])

    def test_nothing_to_run(self):
        t = self.ready([Answer("One.")])
        t.send("! \r")
        t.wait_for("Usage: !CMD")
        self.enter(t, "hi", "One.")
        self.assertEqual(words_of(self.llm.requests[0]), ["hi"])


# ---- help, mistakes, completion, the end

class HelpTest(CommandTest):
    def test_every_command_is_listed(self):
        t = self.ready(rows=60, **WIDE)
        rows = self.enter(t, "/help", "lists all keys")
        listed = [m[1] for m in (re.match("  /([a-z]+)", row) for row in rows) if m]
        self.assertEqual(listed, COMMANDS)

    def test_the_keys_one_must_know(self):
        t = self.ready(rows=60)
        rows = self.enter(t, "/help", "lists all keys")
        keys = rows[rows.index("Keys:") + 1:rows.index("", rows.index("Keys:"))]
        self.assertEqual(keys[0],
                         "  Enter              sends the draft, also into a running turn")
        for key in ("Esc", "Ctrl-C", "Ctrl-D", "Ctrl-O, PageUp", "Alt-Enter", "Shift-Enter,", "@FILE", "!CMD"):
            self.assertTrue([row for row in keys if row.startswith(f"  {key} ")], key)
        self.assertEqual(rows[-1], "/help keys lists all keys.")

    def test_all_keys(self):
        titles = ["At the prompt:", "In a list:", "Editing the draft:",
                  "Editing with vi keys, in normal mode:", "Searching earlier messages:",
                  "In the pager:"]
        for columns in (50, 80, 120):
            with self.subTest(columns=columns):
                t = self.ready(rows=150, columns=columns)
                rows = self.enter(t, "/help keys", "closes the pager")
                self.assertEqual([row for row in rows if row and not row.startswith("  ")], titles)
                words = " ".join(" ".join(rows).split())
                for piece in ("Ctrl-K cuts to the end of the line, or the newline there",
                              "Enter, Tab puts the message into the draft",
                              "d, Ctrl-D moves down half a page"):
                    self.assertIn(piece, words)
                self.assertLess(max(map(len, rows)), columns)
                t.close()

    def test_the_word_keys_is_completed(self):
        t = self.ready(rows=150)
        t.send("/help ke")
        t.wait_for(re.compile(r"^  keys +Lists all keys\.", re.M))
        t.send("\t\r")
        t.wait_for("In the pager:")

    def test_one_command(self):
        t = self.ready()
        self.assertEqual(self.enter(t, "/help show", "Usage"),
                         ["Usage: /show N|summary", "Shows the whole result of tool call N, or the last "
                          "summary, in a pager."])
        self.enter(t, "/help shwo", "Did you mean /show?")

    def test_wrong_use_prints_the_usage_line(self):
        t = self.ready()
        for line, usage in (("/kill", "/kill N"), ("/kill a", "/kill N"),
                            ("/clear now", "/clear"), ("/model a b", "/model [NAME]"),
                            ("/tool a b", "/tool [NAME]"), ("/search", "/search TEXT"),
                            ("/resume a b", "/resume [ID]"),
                            ("/sessions here", "/sessions [--all]")):
            with self.subTest(line):
                rows = self.enter(t, line, f"Usage: {usage}")
                self.assertEqual(len(rows), 1, rows)
                self.assertTrue(rows[0].endswith(f"Usage: {usage}"), rows)

    def test_unknown_commands_suggest_the_nearest(self):
        self.write("review.md", "Review $1.")
        os.makedirs(os.path.join(self.home, "commands"), mode=0o700)
        os.rename(os.path.join(self.project, "review.md"),
                  os.path.join(self.home, "commands", "review.md"))
        t = self.ready([])
        for line, meant in (("/modell", "model"), ("/agnets", "agents"), ("/exti", "exit"),
                            ("/tools", "tool"), ("/refersh", "refresh"), ("/quti", "quit"),
                            ("/nwe", "new"), ("/reveiw", "review")):
            with self.subTest(line):
                self.assertEqual(self.enter(t, line, "There is no command"),
                                 [f"There is no command {line}. Did you mean /{meant}?"])
        self.assertEqual(self.enter(t, "/xyzzy", "There is no command"),
                         ["There is no command /xyzzy. /help lists all."])
        self.assertEqual(self.llm.requests, [])


class HabitsTest(CommandTest):
    """Names that users of other programs type."""

    def test_aliases(self):
        t = self.ready([Answer("One.")])
        self.assertEqual(self.enter(t, "/cost", "Context"), self.enter(t, "/usage", "Context"))
        self.enter(t, "first", "One.")
        self.settle(t)
        self.enter(t, "/new", "New conversation.")
        t.send("/quit\r")
        self.assertEqual(t.wait_exit(), 0)

    def test_a_pointer(self):
        t = self.ready([])
        for name, instead in (("config", "config.json"), ("mcp", "ikigai mcp list"), ("memory", "/remember"),
                              ("vim", '"keys": "vi"'), ("tokens", "/usage")):
            rows = self.enter(t, f"/{name}", f"There is no /{name}: ")
            self.assertIn(instead, "".join(rows))

    def test_a_path_is_a_message(self):
        t = self.ready([Answer("A file."), Answer("A comment.")])
        self.enter(t, "/etc/hosts what is this?", "A file.", below="> /etc/hosts what is this?")
        self.settle(t)
        self.enter(t, "//x", "A comment.", below="> //x")
        self.assertEqual([words_of(request)[-1] for request in self.llm.requests],
                         ["/etc/hosts what is this?", "//x"])


class CompletionTest(CommandTest):
    def test_commands(self):
        t = self.ready()
        t.send("/re")
        t.wait_for("/refresh   Discovers tools again")
        t.wait_for("/resume    Resumes an earlier session; without an ID, one from a list.")
        t.send("f\t")
        t.wait_for(re.compile(r"^> /refresh", re.M))
        t.send("\r")
        t.wait_for(refreshed())

    def test_tools_and_models(self):
        t = self.ready(env={"ANTHROPIC_API_KEY": "sk-x"})
        t.send("/tool file_w")
        t.wait_for("Write content to a file")
        t.send("\t\r")
        t.wait_for("file_write - Write content to a file")
        t.send("/model opus")
        choice = t.wait_for(re.compile(r"anthropic/\S*opus\S*"))[0]
        t.send("\t\r")
        t.wait_for(f"Model: {choice}")


class ExitTest(CommandTest):
    def test_it_leaves_and_says_how_to_go_on(self):
        t = self.ready([Answer("Hello.")])
        self.enter(t, "hi", "Hello.")
        self.settle(t)
        t.send("/exit\r")
        self.assertEqual(t.wait_exit(), 0)
        found = t.wait_for(re.compile("Resume with: ikigai -r ([0-9a-f]+)"))
        t = self.ready(None, "-r", found[1])
        t.wait_for("Hello.")

    def test_a_file_of_ones_own_is_named(self):
        for name, shown in (("own.db", "own.db"), ("my own.db", "'my own.db'"),
                            ("Ann's.db", "'Ann'\\''s.db'")):
            with self.subTest(name):
                t = self.ready([Answer("Hello.")], "--db", name)
                self.enter(t, "hi", "Hello.")
                self.settle(t)
                self.assertEqual(self.leave(t), 0)
                found = t.wait_for(re.compile(
                    f"Resume with: ikigai --db {re.escape(shown)} -r ([0-9a-f]+)"))
                t = self.ready(None, "--db", name, "-r", found[1])
                t.wait_for("Hello.")
                self.assertEqual(self.leave(t), 0)

    def test_what_was_not_saved_is_not_offered(self):
        os.mkdir(os.path.join(self.project, "folder"))
        t = self.ready([Answer("Hello.")], "--db", "folder")
        self.enter(t, "hi", "Hello.")
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        t.wait_for("Not all of this conversation was saved: folder: it is not a regular file")
        self.assertNotIn("Resume with", "\n".join(t.all_rows()))

    def test_it_ends_a_turn(self):
        hostile.sh_tool(os.path.join(self.home, "tools"), "wait_here", "touch started; sleep 300")
        t = self.ready([Answer(calls=[Call("wait_here")])])
        t.send("go\r")
        self.wait_for_file("started")
        t.send("/exit\r")
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(hostile.processes_with(self.dir), {})


if __name__ == "__main__":
    unittest.main()
