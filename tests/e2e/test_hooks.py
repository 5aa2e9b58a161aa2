"""Hooks: executables that see what happens and may object, add text or change the arguments of a call."""
import json
import os
import re
import signal
import subprocess
import sys
import time

import hostile
from agent_support import AgentTest, sent_messages, sent_results
from fake_llm import Answer, Call, Usage
from image_support import png
from repl_support import ReplTest, words_of
from support import IKIGAI, OBJECTS, PATIENCE, ROOT, IkigaiTest, tool_script

WITHHOLD = os.path.join(OBJECTS, "tests", "escape", "withhold_driver")
# Keeps what it was given, one line each.
RECORD = 'IFS= read -r payload; printf "%s\\n" "$payload" >>"$HOOK_LOG"\n'
# As people write them for another agent: jq would be used, python does the same.
CLAUDE_HOOK = """#!/usr/bin/python3
import json, os, sys
data = json.load(sys.stdin)
assert data["hook_event_name"] == "PreToolUse" and os.environ["CLAUDE_PROJECT_DIR"] == data["cwd"]
command = data.get("tool_input", {}).get("command", "")
if "rm -rf" in command:
    print("Dangerous command: " + command, file=sys.stderr)
    sys.exit(2)
if command.startswith("npm "):
    print(json.dumps({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": {"command": "echo bun " + command[4:]}}, "suppressOutput": True}))
"""


def bash(command, **more):
    return Answer(calls=[Call("bash", {"command": command, **more})])


class HookTest(AgentTest):
    def setUp(self):
        super().setUp()
        self.log = self.path("hooks.log")

    def env(self, **more):
        return super().env(HOOK_LOG=self.log, **more)

    def hook(self, event, name, body, place="home", mode=0o755):
        text = body if body.startswith("#!") else "#!/bin/sh\n" + body
        return self.write(f"{place}/.ikigai/hooks/{event}/{name}", text, mode)

    def answering(self, event, name, value, place="home"):
        """A hook that prints this."""
        return self.hook(event, name, f"cat <<'END'\n{json.dumps(value)}\nEND\n", place)

    def seen(self):
        """The payloads that RECORD kept."""
        if not os.path.exists(self.log):
            return []
        with open(self.log) as f:
            return [json.loads(line) for line in f]

    def call(self, command="echo ran", *args, calls=1, **more):
        """One turn with a call of bash; returns the turn and the envelope."""
        turn = self.ask([bash(command), Answer("Done.")], *args, **more)
        return turn, turn.envelopes()[0]

    def notices(self, turn):
        return [event["text"] for event in turn.of("notice")]


class Calls(HookTest):
    def test_the_payload(self):
        for event in ("session_start", "user_prompt", "before_tool", "after_tool", "turn_end",
                      "session_end"):
            self.hook(event, "record", RECORD)
        turn, _ = self.call()
        session = turn.events[0]
        seen = {p["event"]: p for p in self.seen()}
        self.assertEqual([p["event"] for p in self.seen()],
                         ["session_start", "user_prompt", "before_tool", "after_tool", "turn_end",
                          "session_end"])
        names = {"session_start": "SessionStart", "user_prompt": "UserPromptSubmit",
                 "before_tool": "PreToolUse", "after_tool": "PostToolUse", "turn_end": "Stop",
                 "session_end": "SessionEnd"}
        own = {"session_start": {"source"}, "user_prompt": {"prompt"},
               "before_tool": {"tool_name", "tool_input", "tool_use_id"},
               "after_tool": {"tool_name", "tool_input", "tool_use_id", "tool_response"},
               "turn_end": {"stop_hook_active"}, "session_end": {"reason"}}
        for event, payload in seen.items():
            self.assertEqual(set(payload) - own[event],
                             {"session_id", "transcript_path", "cwd", "model", "permission_mode",
                              "agent", "event", "hook_event_name"}, event)
            self.assertEqual(payload["hook_event_name"], names[event])
            self.assertEqual((payload["session_id"], payload["cwd"], payload["model"]),
                             (session["id"], self.project, session["model"]))
            self.assertEqual((payload["transcript_path"], payload["permission_mode"],
                              payload["agent"]), (None, "auto", 1))
        self.assertEqual(seen["session_start"]["source"], "startup")
        self.assertEqual(seen["user_prompt"]["prompt"], "Go")
        call = {"tool_name": "bash", "tool_input": {"command": "echo ran"},
                "tool_use_id": turn.messages("tool_call")[0]["data"]["id"]}
        for event in ("before_tool", "after_tool"):
            self.assertEqual({key: seen[event][key] for key in call}, call)
        self.assertEqual(seen["after_tool"]["tool_response"], turn.envelopes()[0])
        self.assertIs(seen["turn_end"]["stop_hook_active"], False)
        self.assertEqual(seen["session_end"]["reason"], "other")
        self.assertEqual(turn.of("notice"), [])

    def test_a_hook_of_another_agent(self):
        self.hook("before_tool", "guard.py", CLAUDE_HOOK)
        turn, envelope = self.call("rm -rf /x")
        self.assertEqual((envelope["tool_success"], envelope["error_code"], envelope["error"]),
                         (False, "PERMISSION_DENIED", "Dangerous command: rm -rf /x"))
        turn, envelope = self.call("npm test", "--mode", "ask")
        self.assertEqual(envelope["result"]["output"], "bun test")

    def test_exit_statuses(self):
        go_on = {"exit 0": None, "exit 1": "it exited with status 1",
                 "echo no >&2; echo more >&2; exit 127": "it exited with status 127: no",
                 "kill -KILL $$": "signal 9 ended it", "echo '{ broken'": "it printed broken JSON",
                 "echo '{\"hookSpecificOutput\":{\"updatedInput\":[1]}}'":
                     "updatedInput in its answer is not an object",
                 "echo '{\"decision\":\"maybe\"}'": "the decision in its answer is not known",
                 "head -c 70000 /dev/zero": "it printed more than 64 KiB",
                 "yes": "it printed more than 64 KiB", "echo junk; echo junk >&2": None,
                 "exec sleep 60": "it took longer than 1 second"}
        for number, (body, failure) in enumerate(go_on.items()):
            self.hook("before_tool", f"{number:02}", body)
        turn, envelope = self.call(config={"hook_timeout_seconds": 1})
        self.assertEqual(envelope["result"]["output"], "ran")
        wanted = [f"The hook before_tool/{number:02} failed: {failure}"
                  for number, failure in enumerate(go_on.values()) if failure]
        notices = self.notices(turn)
        self.assertEqual(len(notices), len(wanted), notices)
        for notice, start in zip(notices, wanted):
            self.assertTrue(notice.startswith(start), (notice, start))

    def test_a_failure_can_block(self):
        self.hook("before_tool", "guard", "exit 1")
        config = {"hooks": {"guard": {"on_failure": "block"}}}
        turn, envelope = self.call(config=config)
        self.assertEqual((envelope["error_code"], envelope["error"]),
                         ("PERMISSION_DENIED",
                          "The hook before_tool/guard failed: it exited with status 1"))
        config["hooks"]["guard"]["tools"] = ["file_*", "grep"]
        self.assertTrue(self.call(config=config)[1]["tool_success"])
        config["hooks"]["guard"]["tools"] = ["ba*"]
        self.assertFalse(self.call(config=config)[1]["tool_success"])

    def test_a_program_that_cannot_start(self):
        self.hook("before_tool", "broken", "#!/nonexistent\n")
        turn, envelope = self.call()
        self.assertTrue(envelope["tool_success"])
        self.assertIn("The hook before_tool/broken failed: ", self.notices(turn)[0])

    def test_a_file_that_cannot_be_used(self):
        """The call goes on without it, which is said at the start; a guard blocks."""
        guard = {"on_failure": "block", "tools": ["bash"]}
        for mode, reason in ((0o644, "it is not executable"), (0o777, "can be changed by everyone")):
            os.chmod(self.hook("before_tool", "guard", "exit 0"), mode)
            turn, envelope = self.call(config={})
            self.assertTrue(envelope["tool_success"])
            self.assertRegex(turn.err, f"The hook before_tool/guard is not used: .*{reason}")
            self.assertEqual(self.notices(turn), [])
            turn, envelope = self.call("touch ran", config={"hooks": {"guard": guard}})
            self.assertEqual(envelope["error_code"], "PERMISSION_DENIED")
            self.assertRegex(envelope["error"], f"The hook before_tool/guard failed: .*{reason}")
            run = self.ikigai("tool", "run", "bash", '{"command": "touch ran"}', status=1)
            self.assertIn("PERMISSION_DENIED", run.out)
            self.assertIn("ikigai: warning: The hook before_tool/guard is not used: ", run.err)
            self.assertEqual(os.listdir(self.project), [])
            config = {"hooks": {"guard": {**guard, "tools": ["grep"]}}}
            self.assertTrue(self.call(config=config)[1]["tool_success"])

    def test_files_that_cannot_be_used_are_said_in_one_line(self):
        self.hook("before_tool", "a", "exit 2", mode=0o644)
        self.hook("befor_tool", "b", "exit 2")
        turn, envelope = self.call()
        self.assertTrue(envelope["tool_success"])
        self.assertIn("The hook befor_tool/b is not used: there is no event befor_tool, and 1 more. "
                      "See: ikigai status", turn.err)

    def test_a_projects_file_that_cannot_be_used(self):
        """It blocks if the project is trusted; an untrusted one has no say."""
        self.hook("before_tool", "guard", "exit 0", "project", 0o644)
        config = {"hooks": {"guard": {"on_failure": "block"}}}
        turn, envelope = self.call(config=config)
        self.assertTrue(envelope["tool_success"])
        self.assertNotIn("is not used: ", turn.err)
        turn, envelope = self.call("echo ran", "--trust", config=config)
        self.assertEqual(envelope["error"],
                         "The hook before_tool/guard failed: it is not executable")

    def test_a_rewrite(self):
        self.answering("before_tool", "a", {"hookSpecificOutput": {"updatedInput": {
            "command": "echo one", "timeout": 5}}})
        self.answering("before_tool", "b", {"updated_input": {"command": "echo two"}})
        turn, envelope = self.call("echo no; touch never")
        self.assertEqual(envelope["result"]["output"], "two")
        self.assertFalse(os.path.exists(os.path.join(self.project, "never")))
        (message,) = turn.messages("tool_call")
        ran = {"command": "echo two", "timeout": 5}
        self.assertEqual(json.loads(message["data"]["function"]["arguments"]), ran)
        self.assertIn("echo two", message["content"])
        (sent,) = [m for m in sent_messages(turn.llm.requests[1]) if m.get("tool_calls")]
        self.assertEqual(json.loads(sent["tool_calls"][0]["function"]["arguments"]), ran)
        shown = self.ikigai("session", "show", turn.events[0]["id"], "--json").out
        self.assertIn("echo two", shown)
        self.assertNotIn("touch never", shown)

    def test_rewritten_arguments_are_judged_and_checked_again(self):
        self.write("home/.ikigai/permissions.json", '{"deny": ["bash(touch *)"]}', 0o600)
        self.answering("before_tool", "a", {"decision": "allow", "updated_input": {"command": "touch x"}})
        _, envelope = self.call("echo fine")
        self.assertEqual(envelope["error"], "Denied by the rule bash(touch *)")
        self.answering("before_tool", "a", {"updated_input": {"command": 5}})
        _, envelope = self.call("echo fine")
        self.assertIn("INVALID", json.dumps(envelope))
        self.answering("before_tool", "a", {"updated_input": {"permissions": "everything"}})
        _, envelope = self.call("echo fine")
        self.assertEqual(envelope["error_code"], "INVALID_PARAMS")

    def test_deny_ask_and_allow(self):
        deny = {"hookSpecificOutput": {"permissionDecision": "deny",
                                       "permissionDecisionReason": "not today"}}
        self.answering("before_tool", "a", {"decision": "approve"})
        self.assertTrue(self.call("touch a", "--mode", "ask")[1]["tool_success"])
        self.answering("before_tool", "b", {"decision": "ask"})
        asked = {"": "write", "full": "run"}
        for mode, wants in asked.items():
            error = self.call("echo x", *(["--mode", mode] if mode else []))[1]["error"]
            self.assertEqual(error, f"This call needs the user's permission ({wants}), and there is "
                                    "no user to ask: pass --allow all")
        self.assertTrue(self.call("echo x", "--allow", "all")[1]["tool_success"])
        self.answering("before_tool", "b", {"decision": "ask", "reason": "is this wise?"})
        self.assertIn("(write; a hook asks: is this wise?)", self.call()[1]["error"])
        self.answering("before_tool", "c", deny)
        self.answering("before_tool", "d", {"decision": "block", "reason": "never"})
        self.assertEqual(self.call("echo x", "--allow", "all")[1]["error"], "not today")

    def test_a_question_that_is_answered_with_yes_widens_no_plan(self):
        self.answering("before_tool", "a", {"decision": "ask"})
        _, envelope = self.call("echo x >f", "--mode", "plan", "--allow", "all")
        self.assertTrue(envelope["confined"].startswith("plan mode: "), envelope)
        self.ikigai("tool", "run", "bash", '{"command": "echo x >f"}', "--mode", "plan", "--allow",
                    "all")
        self.assertEqual(os.listdir(self.project), [])

    def test_what_a_hook_says_about_a_call(self):
        self.answering("before_tool", "a", {"context": ["one", "", "two"]})
        self.answering("after_tool", "a", {"hookSpecificOutput": {"additionalContext": "three"}})
        self.answering("after_tool", "b", {"decision": "block", "reason": "four"})
        self.hook("after_tool", "c", "echo five")
        self.answering("after_tool", "d", {"systemMessage": "for the user"})
        turn, envelope = self.call()
        self.assertEqual(envelope["hook"], "one\ntwo\nfour\nthree\nfive")
        self.assertEqual(sent_results(turn.llm.requests[1])[0][1], envelope)
        self.assertEqual(self.notices(turn), ["after_tool/d: for the user"])

    def test_what_a_hook_says_about_a_call_that_is_denied(self):
        said = {"hookSpecificOutput": {"additionalContext": "use make"}}
        self.answering("before_tool", "a", {"hookSpecificOutput": {
            "permissionDecision": "deny", "permissionDecisionReason": "no", "additionalContext": "use make"}})
        _, envelope = self.call()
        self.assertEqual((envelope["error"], envelope["hook"]), ("no", "use make"))
        self.answering("before_tool", "a", said)
        self.write("home/.ikigai/permissions.json", '{"deny": ["bash"]}', 0o600)
        _, envelope = self.call()
        self.assertEqual((envelope["error_code"], envelope["hook"]), ("PERMISSION_DENIED", "use make"))

    def test_a_hook_ends_the_turn(self):
        for body in ('echo "enough" >&2; exit 49', 'echo \'{"halt":true,"reason":"enough"}\'',
                     'echo \'{"continue":false,"stopReason":"enough"}\''):
            self.hook("before_tool", "stop", body)
            turn = self.ask([Answer(calls=[Call("bash", {"command": "touch a"}),
                                           Call("bash", {"command": "touch b"})])], status=1)
            self.assertEqual([e["error_code"] for e in turn.envelopes()],
                             ["PERMISSION_DENIED", "INTERRUPTED"])
            self.assertEqual(turn.envelopes()[0]["error"], "enough")
            self.assertEqual(self.notices(turn), ["The hook before_tool/stop ended the turn: enough"])
            self.assertEqual(turn.reason, "interrupted")
            self.assertEqual(os.listdir(self.project), [])
        os.remove(self.path("home/.ikigai/hooks/before_tool/stop"))
        self.hook("after_tool", "stop", "exit 49")
        turn = self.ask([Answer(calls=[Call("bash", {"command": "touch a"}),
                                       Call("bash", {"command": "touch b"})])], status=1)
        self.assertEqual([e.get("error_code") for e in turn.envelopes()], [None, "INTERRUPTED"])
        self.assertEqual(os.listdir(self.project), ["a"])

    def test_much_that_is_not_read(self):
        for name in ("closes", "ignores"):
            self.hook("before_tool", name, "exec <&-\n" if name == "closes" else "true\n")
        turn, envelope = self.call("echo ran #" + "x" * 300000)
        self.assertEqual(envelope["result"]["output"], "ran")
        self.assertEqual(self.notices(turn), [])

    def test_a_child_in_the_background_is_ended(self):
        self.hook("before_tool", "parent", f"setsid sleep 300 & echo $! >{self.path('child')}\n")
        started = time.monotonic()
        _, envelope = self.call()
        self.assertLess(time.monotonic() - started, PATIENCE)
        self.assertTrue(envelope["tool_success"])
        child = int(self.read("child"))
        self.assertFalse(os.path.exists(f"/proc/{child}"))

    def test_a_call_that_cannot_run_is_not_shown(self):
        self.hook("before_tool", "record", RECORD)
        self.ask([Answer(calls=[Call("no_such_tool", {})]), Answer("Done.")])
        self.assertEqual(self.seen(), [])

    def test_the_environment(self):
        self.hook("before_tool", "env", 'env >"$HOOK_LOG"')
        self.call(env={"MY_TOKEN": "mine"})
        env = open(self.log).read()
        self.assertIn(f"CLAUDE_PROJECT_DIR={self.project}\n", env)
        self.assertIn("MY_TOKEN=mine\n", env)
        self.assertNotIn("canary-of-openai", env)

    def test_an_interrupt_ends_the_hook_and_the_call(self):
        for event in ("before_tool", "after_tool"):
            self.hook(event, "slow", f"echo $$ >{self.path('pid')}\nexec sleep 300\n")
            run = self.begin([bash("echo ran")])
            while not os.path.exists(self.path("pid")) or not self.read("pid"):
                time.sleep(0.01)
            run.signal(signal.SIGINT)
            turn = run.finish()
            self.assertEqual((turn.status, turn.reason), (130, "interrupted"))
            (envelope,) = turn.envelopes()
            self.assertEqual(envelope.get("error_code"),
                             "INTERRUPTED" if event == "before_tool" else None)
            self.assertFalse(os.path.exists(f"/proc/{int(self.read('pid'))}"))
            os.remove(self.path("pid"))
            os.remove(self.path(f"home/.ikigai/hooks/{event}/slow"))


class ServerTools(HookTest):
    def test_a_tool_of_a_server(self):
        self.answering("before_tool", "a", {"updated_input": {"text": "from the hook"}})
        self.hook("after_tool", "b", RECORD + "echo seen")
        peer = {"command": sys.executable, "args": [os.path.join(ROOT, "tests", "mcp_peer.py"), "{}"]}
        turn = self.ask([Answer(calls=[Call("s__echo", {"text": "from the model"}),
                                       Call("bash", {"command": "echo mine"})]), Answer("Done.")],
                        config={"mcpServers": {"s": peer},
                                "hooks": {"a": {"tools": ["s__*"]}, "b": {"tools": ["s__echo"]}}})
        first, second = turn.envelopes()
        self.assertEqual((first["result"]["output"], first["hook"]), ("from the hook", "seen"))
        self.assertEqual((second["result"]["output"], "hook" in second), ("mine", False))
        self.assertEqual([p["tool_name"] for p in self.seen()], ["s__echo"])


class OtherFormats(HookTest):
    """What a provider gets back verbatim has the rewritten arguments, too."""

    def rewrite(self, answer, **more):
        self.answering("before_tool", "a", {"updated_input": {"command": "echo rewritten"}})
        turn = self.ask([answer, Answer("Done.")], **more)
        self.assertEqual(turn.envelopes()[0]["result"]["output"], "rewritten")
        self.assertIn("echo rewritten", json.dumps(turn.llm.requests[-1].json), self.format)
        self.assertNotIn("echo original", json.dumps(turn.llm.requests[-1].json), self.format)
        self.assertEqual(turn.reason, "end_turn")
        return turn

    def test_a_rewrite(self):
        for self.format in ("responses", "anthropic", "google"):
            self.rewrite(bash("echo original"))

    def test_a_rewrite_after_reasoning(self):
        """A server that compares the call with what it signed refuses; the turn goes on."""
        for self.format in ("responses", "anthropic", "google"):
            self.rewrite(Answer(thinking="Think.", calls=[Call("bash", {"command": "echo original"})]),
                         fair=False)


class Messages(HookTest):
    def prompt_of(self, turn):
        (message,) = [m for m in sent_messages(turn.llm.requests[0]) if m["role"] == "user"]
        return message["content"]

    def test_text_joins_the_message(self):
        self.hook("session_start", "branch", "echo on main")
        self.answering("user_prompt", "a", {"hookSpecificOutput": {"additionalContext": "be brief"}})
        self.hook("user_prompt", "b", "echo it rains")
        turn = self.ask([Answer("Yes.")])
        self.assertEqual(self.prompt_of(turn), "Go\n\non main\n\nbe brief\nit rains")
        self.assertEqual(turn.messages("user")[0]["content"], self.prompt_of(turn))

    def test_undo_gives_back_what_was_asked(self):
        """Without the text of hooks, which they add again when it is sent again."""
        self.hook("session_start", "branch", "echo on main")
        self.hook("user_prompt", "b", "echo it rains")
        self.write("home/.ikigai/commands/say.md", "Say $1.")
        self.write("project/shot.png", png())
        for prompt, asked in (("Go", "Go"), ("/say x", "Say x."), ("two\n\nlines", "two\n\nlines"),
                              ("see @shot.png", "see @shot.png")):
            turn = self.ask([Answer("Yes.")], prompt=prompt)
            self.assertIn("it rains", turn.messages("user")[0]["content"])
            session = turn.events[0]["id"]
            undone = self.ikigai("session", "undo", session, "--json").json()
            self.assertEqual(undone["prompt"], asked)
            self.assertEqual(self.ikigai("session", "redo", session, "--json").json()["prompt"], asked)
        self.assertEqual([i["name"] for i in turn.messages("user")[0]["data"]["images"]], ["shot.png"])

    def test_a_blocked_prompt(self):
        bodies = ('echo "no secrets" >&2; exit 2', 'echo \'{"decision":"block","reason":"no secrets"}\'',
                  'echo \'{"continue":false,"stopReason":"no secrets"}\'')
        self.write("home/.ikigai/commands/say.md", "Say $1.")
        for prompt in ("Go", "/say x"):
            for body in bodies:
                self.hook("user_prompt", "guard", body)
                turn = self.ask([], prompt=prompt, status=1)
                self.assertEqual(turn.llm.requests, [])
                self.assertEqual(turn.messages(), [])
                self.assertEqual(turn.error, ("HOOK_BLOCKED", "The hook user_prompt/guard blocked the "
                                                              "message: no secrets"))
                self.assertEqual(turn.reason, "error")
        self.assertEqual(json.loads(self.ikigai("session", "list", "--json").out), [])

    def test_a_session_hook_ends_the_first_turn(self):
        self.write("home/.ikigai/commands/mine.md", "Mine.\n")
        for body in ("echo enough >&2; exit 49", 'echo \'{"continue":false,"stopReason":"enough"}\'',
                     'echo \'{"halt":true,"reason":"enough"}\''):
            self.hook("session_start", "stop", body)
            self.hook("user_prompt", "record", RECORD)
            for prompt in ("Go", "/mine"):
                turn = self.ask([Answer("No.")], prompt=prompt, status=1)
                self.assertEqual(turn.error, ("HOOK_BLOCKED",
                                              "The hook session_start/stop blocked the message: enough"))
                self.assertEqual((turn.reason, turn.messages(), turn.llm.requests), ("error", [], []))
                self.assertEqual(self.notices(turn), ["The hook session_start/stop ended the turn: enough"])
        self.assertEqual(self.seen(), [])
        self.assertEqual(self.ikigai("session", "list", "--json").json(), [])

    def test_hooks_that_give_no_reason_are_named_once(self):
        denied = "The message was blocked: The hook user_prompt/guard denied this"
        failed = "The message was blocked: The hook user_prompt/guard failed: it exited with status 3"
        guarded = {"hooks": {"guard": {"on_failure": "block"}}}
        for body, message in (("exit 2", denied), ("exit 3", failed)):
            self.hook("user_prompt", "guard", body)
            turn = self.ask([], status=1, config=guarded)
            self.assertEqual(turn.error, ("HOOK_BLOCKED", message))
        os.remove(self.path("home/.ikigai/hooks/user_prompt/guard"))
        self.hook("session_start", "start", "exit 2")
        self.assertEqual(self.notices(self.ask([Answer("Yes.")])),
                         ["The hook session_start/start denied this, but a session cannot be blocked"])
        self.hook("session_start", "start", "exit 49")
        turn = self.ask([], status=1)
        self.assertEqual(turn.error, ("HOOK_BLOCKED", "The message was blocked: The hook "
                                                      "session_start/start ended the turn"))
        self.assertEqual(self.notices(turn), ["The hook session_start/start ended the turn"])

    def test_a_failing_prompt_hook(self):
        self.hook("user_prompt", "guard", "exit 1")
        turn = self.ask([Answer("Yes.")])
        self.assertEqual(self.notices(turn),
                         ["The hook user_prompt/guard failed: it exited with status 1"])
        turn = self.ask([], status=1, config={"hooks": {"guard": {"on_failure": "block"}}})
        self.assertEqual(turn.error[0], "HOOK_BLOCKED")

    def test_an_interrupt(self):
        for event in ("session_start", "user_prompt"):
            self.hook(event, "slow", f"echo $$ >{self.path('pid')}\nexec sleep 300\n")
            run = self.begin([])
            while not os.path.exists(self.path("pid")) or not self.read("pid"):
                time.sleep(0.01)
            run.signal(signal.SIGINT)
            turn = run.finish()
            self.assertEqual((turn.status, turn.llm.requests, turn.messages()), (130, [], []))
            os.remove(self.path("pid"))
            os.remove(self.path(f"home/.ikigai/hooks/{event}/slow"))

    def test_sessions(self):
        self.hook("session_start", "record", RECORD + "exit 1")
        self.hook("session_end", "record", RECORD + "exit 3")
        turn = self.ask([Answer("Yes.")])
        self.assertEqual(self.notices(turn),
                         ["The hook session_start/record failed: it exited with status 1"])
        self.assertIn("The hook session_end/record failed: it exited with status 3", turn.err)
        self.ask([Answer("Yes.")], "-c")
        self.assertEqual([p.get("source", p.get("reason")) for p in self.seen()],
                         ["startup", "other", "resume", "other"])


class Summaries(HookTest):
    FULL = Usage(input=900, output=10)  # of a window of 1,000 tokens

    def fill_and_ask(self, *script):
        """A session whose next request would fill the window."""
        self.write("home/.ikigai/models.json",
                   json.dumps({"models": {"openai/gpt-5": {"limits": {"context": 1000}}}}))
        self.ask([Answer("a " * 600, usage=self.FULL)])
        return self.ask(script, "-c")

    def test_a_summary_is_announced(self):
        self.hook("before_compact", "record", RECORD)
        turn = self.fill_and_ask(Answer("Short."), Answer("Done."))
        self.assertEqual([(p["hook_event_name"], p["trigger"]) for p in self.seen()],
                         [("PreCompact", "auto")])
        self.assertEqual(turn.messages("compaction")[0]["data"]["summary"], "Short.")

    def test_a_summary_can_be_blocked(self):
        self.hook("before_compact", "no", "echo 'not now' >&2; exit 2")
        turn = self.fill_and_ask(Answer("Done."))
        self.assertEqual((turn.messages("compaction"), turn.text), ([], "Done."))
        self.assertEqual(self.notices(turn), ["The conversation was not summarised: not now"])


class TurnEnds(HookTest):
    def test_the_model_is_sent_back_to_work(self):
        self.hook("turn_end", "tests", RECORD + 'case $payload in *\'"stop_hook_active":true\'*) exit 0;; '
                                       'esac\necho "run the tests" >&2; exit 2')
        turn = self.ask([Answer("Done."), Answer("Really.")])
        self.assertEqual([p["stop_hook_active"] for p in self.seen()], [False, True])
        self.assertEqual([(m["kind"], m["content"]) for m in turn.messages("user", "assistant")],
                         [("user", "Go"), ("assistant", "Done."), ("user", "run the tests"),
                          ("assistant", "Really.")])
        self.assertEqual(sent_messages(turn.llm.requests[1])[-1]["content"], "run the tests")
        self.assertEqual(turn.reason, "end_turn")
        self.assertEqual(turn.messages("user")[1]["data"],
                         {"steering": True, "hook": "turn_end/tests"})

    def test_not_for_ever(self):
        self.answering("turn_end", "again", {"decision": "block", "reason": "again"})
        turn = self.ask([Answer(f"{i}") for i in range(6)])
        self.assertEqual(len(turn.llm.requests), 6)
        self.assertEqual(turn.reason, "end_turn")
        self.assertIn("it was continued 5 times already", self.notices(turn)[-1])

    def test_a_hook_that_ends_the_turn_wins(self):
        self.answering("turn_end", "a", {"decision": "block", "reason": "again"})
        self.answering("turn_end", "b", {"continue": False, "stopReason": "late"})
        turn = self.ask([Answer("1")])
        self.assertEqual(turn.reason, "end_turn")


class Projects(HookTest):
    def test_only_after_trust(self):
        self.hook("before_tool", "record", RECORD, "project")
        self.hook("before_tool", "not-executable", RECORD, "project", 0o644)
        turn, _ = self.call(config={"confinement": "off"})
        self.assertEqual(self.seen(), [])
        self.assertIn("1 hook of the project is not trusted and not used", turn.err)
        shown = self.ikigai("trust", "--yes").out
        self.assertIn("hooks", shown)
        self.assertIn('read -r payload', shown)
        turn, _ = self.call(config={"confinement": "off"})
        self.assertEqual(len(self.seen()), 1)
        self.hook("before_tool", "record", "exit 2", "project")
        self.assertTrue(self.call(config={"confinement": "off"})[1]["tool_success"])
        self.assertFalse(self.call("echo x", "--trust", config={"confinement": "off"})[1]["tool_success"])
        shown = self.ikigai("trust", "--yes").out
        self.assertIn("-IFS= read -r payload", shown)
        self.assertIn("+exit 2", shown)
        self.assertFalse(self.call(config={"confinement": "off"})[1]["tool_success"])

    def test_order_and_confinement(self):
        self.answering("before_tool", "z", {"decision": "allow",
                                            "updated_input": {"command": "echo project"}}, "project")
        self.hook("before_tool", "w", "touch inside; touch $HOME/outside; "
                                      "cat </dev/tcp/127.0.0.1/1; true", "project")
        self.hook("before_tool", "a", RECORD + f"touch {self.path('free')}; exit 0")
        turn, envelope = self.call("echo model", "--trust")
        self.assertEqual(envelope["result"]["output"], "project")
        self.assertEqual(self.seen()[0]["tool_input"], {"command": "echo project"})
        self.assertTrue(os.path.exists(os.path.join(self.project, "inside")))
        self.assertFalse(os.path.exists(self.path("home/outside")))
        self.assertTrue(os.path.exists(self.path("free")))
        # a project's allow is silence
        _, envelope = self.call("touch x", "--trust", "--mode", "ask")
        self.assertIn("there is no user to ask", envelope["error"])
        # and a plan changes nothing, even where confinement is turned off
        for level in ("preferred", "off"):
            os.remove(os.path.join(self.project, "inside"))
            self.call("echo x", "--trust", "--mode", "plan", config={"confinement": level})
            self.assertFalse(os.path.exists(os.path.join(self.project, "inside")), level)
            self.write("project/inside")

    def test_partial_confinement(self):
        """Without namespaces a project's hook still writes only in the project and has no network."""
        self.hook("before_tool", "w", '''touch inside; touch "$HOME/outside" "$HOME/.ikigai/outside"
/usr/bin/python3 -c 'import socket; socket.socket(); open("online", "w")'
exit 0
''', "project")
        self.hook("after_tool", "a", "touch after; touch \"$HOME/outside\"; echo seen\n", "project")
        done = subprocess.run(
            [WITHHOLD, "namespaces", IKIGAI, "tool", "run", "--trust", "file_read",
             '{"file_path": "x"}'], cwd=self.project, env=self.env(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        self.assertIn(b"partial", done.stderr)
        self.assertEqual(json.loads(done.stdout)["hook"], "seen")
        self.assertEqual(sorted(os.listdir(self.project)), [".ikigai", "after", "inside"])
        for name in ("home/outside", "home/.ikigai/outside"):
            self.assertFalse(os.path.exists(self.path(name)), name)

    def test_files_that_are_trusted_for_another_use(self):
        """A link makes neither hooks nor tools of what was trusted as skills."""
        self.write("project/.ikigai/skills/before_tool/SKILL.md", "---\ndescription: d\n---\n")
        self.write("project/.ikigai/skills/before_tool/run", "#!/bin/sh\n" + RECORD, 0o755)
        self.write("project/.ikigai/skills/reader", tool_script("reader"), 0o755)
        self.ikigai("trust", "--yes")
        for use in ("hooks", "tools"):
            os.symlink("skills", self.path(f"project/.ikigai/{use}"))
        self.call(config={"confinement": "off"})
        self.assertEqual(self.seen(), [])
        self.assertNotIn("reader", self.ikigai("tool", "list").out)
        shown = self.ikigai("trust", "--yes").out
        self.assertIn("Folder of hooks: 3 files", shown)
        self.assertIn("reader", self.ikigai("tool", "list").out)
        self.call(config={"confinement": "off"})
        self.assertEqual(len(self.seen()), 1)
        self.ikigai("untrust")
        self.call(config={"confinement": "off"})
        self.assertEqual(len(self.seen()), 1)

    def test_a_project_configures_no_hooks(self):
        self.hook("before_tool", "guard", "exit 1")
        self.config({"hooks": {"guard": {"on_failure": "block"}}, "hook_timeout_seconds": 1}, "project")
        turn, envelope = self.call()
        self.assertTrue(envelope["tool_success"])
        self.assertIn("hooks is not honoured from a project's config file", turn.err)


class Found(IkigaiTest):
    def hooks(self, *args):
        return json.loads(self.ikigai("status", "--json", *args).out)["hooks"]

    def test_status(self):
        good = self.write("home/.ikigai/hooks/before_tool/guard", "#!/bin/sh\n", 0o755)
        plain = self.write("home/.ikigai/hooks/before_tool/plain", "#!/bin/sh\n", 0o644)
        odd = self.write("home/.ikigai/hooks/befor_tool/typo", "#!/bin/sh\n", 0o755)
        theirs = self.write("project/.ikigai/hooks/before_tool/guard", "#!/bin/sh\n", 0o755)
        self.write("home/.ikigai/hooks/before_tool/lib/helper", "x", 0o755)
        entry = {"name": "guard", "path": good, "source": "user", "description": "", "used": True,
                 "reason": None, "event": "before_tool"}
        found = {e["path"]: e for e in self.hooks()}
        self.assertEqual(set(found), {good, plain, odd, theirs})
        self.assertEqual(found[good], entry)
        self.assertEqual(found[plain], {**entry, "name": "plain", "path": plain, "used": False,
                                        "reason": "it is not executable"})
        self.assertEqual(found[odd], {**entry, "name": "typo", "path": odd, "used": False,
                                      "event": "befor_tool", "reason": "there is no event befor_tool"})
        self.assertEqual(found[theirs], {**entry, "path": theirs, "source": "project", "used": False,
                                         "reason": "the project is not trusted"})
        used = {e["path"] for e in self.hooks("--trust") if e["used"]}
        self.assertEqual(used, {good, theirs})
        text = self.ikigai("status").out
        self.assertIn(f"  before_tool/guard (user)\n    {good}\n", text)
        self.assertIn(f"before_tool/plain (user, not used)", self.ikigai("doctor", status=None).out)

    def test_a_nearer_project_takes_precedence(self):
        os.makedirs(self.path("project/.git"))
        near = self.write("project/sub/.ikigai/hooks/turn_end/x", "#!/bin/sh\n", 0o755)
        far = self.write("project/.ikigai/hooks/turn_end/x", "#!/bin/sh\n", 0o755)
        out = self.ikigai("status", "--json", "--trust", cwd=self.path("project/sub")).out
        found = {e["path"]: e for e in json.loads(out)["hooks"]}
        self.assertTrue(found[near]["used"])
        self.assertEqual((found[far]["used"], found[far]["reason"]), (False, f"{near} takes precedence"))

    def test_a_hook_that_other_users_may_write_is_not_used(self):
        path = self.write("home/.ikigai/hooks/turn_end/x", "#!/bin/sh\n", 0o777)
        os.chmod(path, 0o777)
        (entry,) = self.hooks()
        self.assertFalse(entry["used"])
        self.assertIn("chmod", entry["reason"])


class Manual(HookTest):
    def test_the_example(self):
        with open(os.path.join(ROOT, "docs/extending.md"), encoding="utf-8") as f:
            text = f.read()
        (hook,) = re.findall(r"no-force.sh`:\n\n```sh\n(.*?)```$", text, re.M | re.S)
        (config,) = re.findall(r'```json\n(\{\n  "hooks".*?)```$', text, re.M | re.S)
        self.hook("before_tool", "no-force.sh", hook)
        _, envelope = self.call("git push --force", config=json.loads(config))
        self.assertEqual((envelope["error_code"], envelope["error"]),
                         ("PERMISSION_DENIED", "Do not force a push. Ask the user to do it."))
        self.assertTrue(self.call("echo push", config=json.loads(config))[1]["tool_success"])

    def test_the_events(self):
        """The table in the manual has every event, and every event has its name."""
        with open(os.path.join(ROOT, "docs/extending.md"), encoding="utf-8") as f:
            events = re.findall(r"^\| `(\w+)` \| [^|]+ \| `[A-Z]", f.read(), re.M)
        for event in events:
            self.write(f"home/.ikigai/hooks/{event}/x", "#!/bin/sh\n", 0o755)
        found = json.loads(self.ikigai("status", "--json").out)["hooks"]
        self.assertEqual(sorted(h["event"] for h in found if h["used"]), sorted(events))
        self.assertEqual(len(events), 7)


class InTheTerminal(ReplTest):
    def hook(self, event, name, body):
        path = os.path.join(self.home, "hooks", event, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write("#!/bin/sh\n" + body)
        os.chmod(path, 0o755)

    def test_messages(self):
        """A blocked message returns to the draft; while a hook runs, one can type, and Esc takes the
        message back."""
        self.hook("user_prompt", "guard", "case $(cat) in *secret*) echo 'no secrets' >&2; exit 2;;\n"
                                          "*slow*) exec sleep 300;; esac\n")
        t = self.ready([Answer("Hello.")])
        t.send("my secret word\r")
        t.wait_for("blocked the message: no secrets")
        t.wait_until(lambda: "> my secret word" in t.screen(), "the draft")
        t.send("\x15a slow one\r")
        t.wait_until(lambda: any("a slow one" in row for row in t.screen())
                     and "> my secret word" not in t.screen(), "the message that waits")
        t.send("typing")
        t.wait_until(lambda: "> typing" in t.screen(), "the draft")
        t.send("\x1b")
        t.wait_until(lambda: "> a slow one" in t.screen(), "the message in the draft")
        t.send("\x15\x08\x15")
        t.wait_until(lambda: not any("slow" in row for row in t.screen()[-4:]), "an empty draft")
        self.say(t, "hi", "Hello.")
        self.assertEqual(len(self.llm.requests), 1)
        self.assertEqual(self.leave(t), 0)

    def test_a_session_that_begins_with_a_halt(self):
        """The first message returns to the draft, and can be sent from there."""
        self.hook("session_start", "stop", "echo enough >&2; exit 49\n")
        t = self.ready([Answer("Hello.")])
        t.send("my word\r")
        t.wait_for("blocked the message: enough")
        t.wait_until(lambda: "> my word" in t.screen(), "the draft")
        self.assertEqual(self.llm.requests, [])
        t.send("\r")
        t.wait_for("Hello.")
        self.assertEqual(self.leave(t), 0)

    def test_calls(self):
        """A hook has the user asked, gives a reason, and is ended by Esc. A rule would not silence it, so
        none is offered."""
        self.hook("before_tool", "ask", "case $(cat) in *slow*) exec sleep 300;; *never*) echo never >&2; "
                                        "exit 2;; *) echo '{\"decision\":\"ask\",\"reason\":\"really\"}';; esac\n")
        calls = [Answer(calls=[Call("bash", {"command": f"echo {word}"})]) for word in ("one", "never", "slow")]
        t = self.ready([calls[0], Answer("First."), calls[1], Answer("Second."), calls[2]])
        t.send("go\r")
        t.wait_for("really")
        t.wait_for("y once · n no")
        t.send("y")
        t.wait_for("First.")
        self.say(t, "again", "Second.")
        self.assertIn("never", "\n".join(t.all_rows()))
        t.send("and slowly\r")
        t.wait_until(lambda: len(self.llm.requests) == 5, "the request")
        t.send("half a sentence")
        t.wait_until(lambda: "> half a sentence" in t.screen(), "the draft")
        t.send("\x1b")
        t.wait_for("interrupted")
        t.send("\x15")
        self.assertEqual(self.leave(t), 0)

    def test_a_message_for_a_running_turn(self):
        """Hooks see it, too, and give it back when they block it."""
        hook, seen = (os.path.join(self.home, name) for name in ("hooks/user_prompt/guard", "seen"))
        self.hook("user_prompt", "guard", "case $(cat) in *secret*) echo 'no secrets' >&2; exit 2;;\n"
                                          f"*hurry*) touch {seen};; esac\necho from a hook\n")
        gate = os.path.join(self.project, "gate")
        t = self.ready([Answer(calls=[Call("bash", {"command": f"until test -e {gate}; do sleep 0.02; "
                                                               "done"})]), Answer("Done.")])
        t.send("go\r")
        t.wait_until(lambda: len(self.llm.requests) == 1, "the request")
        t.send("a secret\r")
        t.wait_for("blocked the message: no secrets")
        t.wait_until(lambda: "> a secret" in t.screen(), "the draft")
        t.send("\x15hurry\r")
        # The turn does not wait for hooks that still look at a message for it.
        t.wait_until(lambda: os.path.exists(seen), "the hook")
        t.wait_until(lambda: not hostile.processes_with(hook), "the end of the hook")
        t.wait_until(lambda: any("hurry" in row for row in t.screen()), "the message that waits")
        open(gate, "w").close()
        t.wait_for("Done.")
        words = json.dumps(self.llm.requests[1].json["messages"])
        self.assertIn("hurry", words)
        self.assertNotIn("secret", words)
        self.assertEqual(self.leave(t), 0)

    def test_trust_brings_the_projects_hooks(self):
        path = os.path.join(self.project, ".ikigai/hooks/user_prompt/context")
        os.makedirs(os.path.dirname(path))
        with open(path, "w") as f:
            f.write("#!/bin/sh\necho from the project\n")
        os.chmod(path, 0o755)
        t = self.ready([Answer("First."), Answer("Second.")])
        t.wait_for("1 hook of the project is not trusted")
        self.say(t, "one", "First.")
        t.send("/trust\r")
        t.wait_for("from the project")
        t.send("q")
        t.wait_for("[y/N]")
        t.send("y\r")
        t.wait_for("Tools refreshed")
        self.say(t, "two", "Second.")
        first, second = (words[-1] for words in map(words_of, self.llm.requests))
        self.assertEqual((first, second), ("one", "two\n\nfrom the project"))
        self.assertEqual(self.leave(t), 0)

    def test_sessions(self):
        log = os.path.join(self.dir, "log")
        self.hook("session_start", "log", f"cat >>{log}\n")
        self.hook("session_end", "log", f"cat >>{log}; echo broken >&2; exit 5\n")
        self.hook("before_compact", "no", f"cat >>{log}; echo 'not now' >&2; exit 2\n")
        t = self.ready([Answer("Hello. " * 200)] * 3)
        for text in ("one", "two", "three"):
            t.send(text + "\r")
            t.wait_until(lambda: len(self.llm.requests) >= 1, "a request")
            self.settle(t)
        t.send("/compact\r")
        t.wait_for("not now")
        self.settle(t)
        t.send("/clear\r")
        t.wait_for("session_end/log failed: it exited with status 5: broken")

        def seen():
            with open(log) as f:
                return [json.loads(line) for line in f if line.endswith("\n")]
        # Leaving ends a hook that still runs.
        t.wait_until(lambda: sum(p["event"] == "session_start" for p in seen()) == 2, "both starts")
        self.assertEqual(self.leave(t), 0)
        self.assertEqual(
            sorted((p["event"], p.get("source") or p.get("reason") or p.get("trigger")) for p in seen()),
            [("before_compact", "manual"), ("session_end", "clear"),
             ("session_end", "prompt_input_exit"), ("session_start", "clear"),
             ("session_start", "startup")])
