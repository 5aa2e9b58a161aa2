"""Modes, rules and levels of confinement from outside: `ikigai -p`, and sessions that keep a mode."""
import ctypes
import json
import os
import struct
import subprocess
import unittest

import hostile
from agent_support import AgentTest
from fake_llm import Answer, Call
from support import IKIGAI

LANDLOCK_CREATE_RULESET = 444  # on every architecture


def bash(command, **more):
    return Answer(calls=[Call("bash", {"command": command, **more})])


def without_landlock():
    """Makes the kernel of this process and its children one without Landlock: ENOSYS."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = b"".join(struct.pack("HBBI", *line) for line in [
        (0x20, 0, 0, 0),                           # load the number of the system call
        (0x15, 0, 1, LANDLOCK_CREATE_RULESET),     # is it this one?
        (0x06, 0, 0, 0x00050000 | 38),             # ENOSYS
        (0x06, 0, 0, 0x7fff0000)])                 # allow
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HP", 4, ctypes.addressof(buffer))
    prctl = libc.prctl
    prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
    assert prctl(38, 1, 0, 0, 0) == 0              # PR_SET_NO_NEW_PRIVS
    holder = ctypes.create_string_buffer(program)
    assert prctl(22, 2, ctypes.addressof(holder), 0, 0) == 0  # PR_SET_SECCOMP


class PermissionTest(AgentTest):
    def mode_of(self, *args, **more):
        return self.ask([Answer("Yes.")], *args, **more).events[0]["mode"]

    def rules(self, rules, scope="home"):
        text = rules if isinstance(rules, str) else json.dumps(rules)
        self.write(f"{scope}/.ikigai/permissions.json", text, 0o600)

    def denied(self, turn):
        (envelope,) = turn.envelopes()
        self.assertEqual({**envelope, "error": ""},
                         {"tool_success": False, "error": "", "error_code": "PERMISSION_DENIED",
                          "exit_code": None, "stdout": "", "stderr": ""})
        return envelope["error"]

    def wrote(self, turn, name="file"):
        path = self.path("project", name)
        there = os.path.exists(path)
        if there:
            os.remove(path)
        return there


class Modes(PermissionTest):
    def test_the_first_event_names_mode_and_level(self):
        turn = self.ask([Answer("Yes.")])
        self.assertEqual(turn.events[0]["type"], "session")
        self.assertEqual((turn.events[0]["mode"], turn.events[0]["confinement"]), ("auto", "full"))
        self.assertEqual(turn.of("notice"), [])
        turn = self.ask([Answer("Yes.")], config={"confinement": "off"})
        self.assertEqual(turn.events[0]["confinement"], "off")

    def test_precedence(self):
        """Flag, IKIGAI_MODE, the resumed session, config."""
        ask = {"mode": "ask"}
        self.assertEqual(self.mode_of(config=ask), "ask")
        self.assertEqual(self.mode_of(config=ask, env={"IKIGAI_MODE": "plan"}), "plan")
        self.assertEqual(self.mode_of("-c", config=ask), "plan")
        self.assertEqual(self.mode_of("-c", config=ask, env={"IKIGAI_MODE": "auto"}), "auto")
        self.assertEqual(self.mode_of("-c", config=ask), "auto")
        self.assertEqual(self.mode_of("-c", "--mode", "plan", env={"IKIGAI_MODE": "auto"}), "plan")
        self.assertEqual(self.mode_of("-c", "--fork", config=ask), "plan")

    def test_unknown_modes(self):
        for args, env in ([["--mode", "wild"], {}], [[], {"IKIGAI_MODE": "wild"}]):
            run = self.ikigai("-p", "hi", *args, status=2, env=env)
            self.assertIn("mode must be", run.err)
        self.ikigai("-p", "hi", "--mode", status=2)
        self.config({"mode": "wild"})
        self.assertIn("mode must be", self.ikigai("-p", "hi", status=2).err)

    def test_full_is_not_restored(self):
        self.assertEqual(self.mode_of("--mode", "full"), "full")
        self.assertEqual(self.mode_of("-c"), "auto")
        self.assertEqual(self.mode_of("-c", "--mode", "full"), "full")
        self.assertEqual(self.mode_of("-c", config={"mode": "ask"}), "ask")

    def test_a_project_sets_no_mode(self):
        self.config({"mode": "full"}, "project")
        self.assertEqual(self.mode_of(), "auto")

    def last_session(self):
        return self.ikigai("session", "list", "--json").json()[0]["id"]

    def export(self):
        return self.ikigai("session", "export", "--format", "jsonl", self.last_session()).out.encode()

    def test_an_imported_session_brings_no_mode(self):
        self.assertEqual(self.mode_of("--mode", "plan"), "plan")
        short = self.export()
        self.assertEqual(self.mode_of("-c", "--mode", "ask"), "ask")
        long = self.export()
        self.ikigai("session", "delete", "--yes", self.last_session())
        self.ikigai("session", "import", "-", input=short)
        self.ikigai("session", "import", "-", input=long)  # adds what is missing
        self.assertEqual(self.mode_of("-c"), "auto")

    def test_a_session_that_is_there_takes_its_own_export(self):
        self.assertEqual(self.mode_of("--mode", "plan"), "plan")
        self.ikigai("session", "import", "-", input=self.export())
        self.assertEqual(self.mode_of("-c"), "plan")

    def test_plan_asks_for_a_plan_and_writes_nothing(self):
        turn = self.ask([bash("echo x > file", permissions="all", reason="must"), Answer("Plan.")],
                        "--mode", "plan", "--allow", "all")
        (envelope,) = turn.envelopes()
        self.assertTrue(envelope["confined"].startswith("plan mode: "), envelope)
        self.assertFalse(self.wrote(turn))
        self.assertIn("Plan mode is on", json.dumps(turn.llm.requests[0].json))
        turn = self.ask([Answer("Yes.")], "-c", "--mode", "auto")
        self.assertNotIn("Plan mode is on", json.dumps(turn.llm.requests[0].json))


class Headless(PermissionTest):
    """There are no questions; what would be asked is denied, and the denial names what to pass."""

    def test_denials_name_the_flag(self):
        for more, args, flag in [
                ({"permissions": "network"}, [], "--allow network"),
                ({"permissions": "all"}, [], "--allow all"),
                ({}, ["--mode", "ask"], "--allow all or --mode full")]:
            turn = self.ask([bash("touch file", **more), Answer("Ok.")], *args)
            self.assertIn(f"pass {flag}", self.denied(turn))
            self.assertFalse(self.wrote(turn))

    def test_what_a_rule_asks_is_not_answered_by_another_rule(self):
        self.rules({"ask": ["network"]})
        for what, runs in (("network", False), ("all", True)):
            turn = self.ask([bash("touch file", permissions="network"), Answer("Ok.")],
                            "--allow", what)
            self.assertEqual(self.wrote(turn), runs)
            if not runs:
                self.assertIn("pass --allow all or --mode full", self.denied(turn))

    def test_allow(self):
        for more, args, runs in [
                ({"permissions": "network"}, ["--allow", "network"], True),
                ({"permissions": "all"}, ["--allow", "network"], False),
                ({"permissions": "all"}, ["--allow", "all"], True),
                ({"permissions": "all"}, ["--allow", "bash(touch *)"], True),
                ({"permissions": "all"}, ["--allow", "network", "--allow=bash(touch file)"], True),
                ({"permissions": "all"}, ["--allow", "bash(touch)"], False),
                ({}, ["--mode", "ask", "--allow", "bash"], True),
                ({}, ["--mode", "ask", "--allow", "all"], True),
                ({}, ["--mode", "full"], True),
                ({"permissions": "all"}, ["--mode", "full"], True)]:
            with self.subTest(more=more, args=args):
                turn = self.ask([bash("touch file", **more), Answer("Ok.")], *args)
                self.assertEqual(self.wrote(turn), runs, turn.envelopes())

    def test_allow_gives_nothing_to_calls_that_do_not_ask(self):
        outside = self.path("outside")
        for what in "network", "all", "bash":
            self.ask([bash(f"touch {outside}"), Answer("Ok.")], "--allow", what)
            self.assertFalse(os.path.exists(outside), what)

    def test_malformed(self):
        for what in "bash(", "bash()", "a b", "", "(x)", "bash(x":
            self.ikigai("-p", "hi", "--allow", what, status=2)
        self.ikigai("-p", "hi", "--allow", status=2)

    def test_rules(self):
        self.rules({"deny": ["bash(rm *)"], "ask": ["file_write"], "allow": ["bash(touch *)"]})
        turn = self.ask([bash("echo hi; rm -f x"), Answer("Ok.")], "--mode", "full")
        self.assertIn("bash(rm *)", self.denied(turn))
        turn = self.ask([bash("touch file", permissions="all"), Answer("Ok.")])
        self.assertTrue(self.wrote(turn))
        turn = self.ask([bash("touch file; true", permissions="all"), Answer("Ok.")])
        self.denied(turn)
        turn = self.ask([Answer(calls=[Call("file_write", {"file_path": "file", "content": ""})]),
                         Answer("Ok.")])
        self.denied(turn)

    def test_arguments_that_not_every_parser_reads(self):
        """The rules judge what the tool would get."""
        self.rules({"deny": ["file_write(secret*)", "bash(touch *)", "echo_back(bad*)"]})
        text = {"type": "string"}
        hostile.python_tool(
            os.path.join(self.home, "tools"), "echo_back",
            'import json\nprint(json.dumps({"output": json.load(sys.stdin)["q"]}))',
            parameters={"type": "object", "properties": {"q": text, "more": text}, "required": ["q"]},
            effects={"write": "none"}, escalation={"parameter": "more"})

        def call(tool, raw):
            return self.ask([Answer(calls=[Call(tool, raw=raw)]), Answer("Ok.")])
        self.denied(call("file_write", r'{"file_path":"secret1","content":"a\u0000b"}'))
        self.denied(call("bash", r'{"command":"touch file","reason":"\u0000"}'))
        for odd in "1e999", "123456789012345678901234567890", r'"\ud800"':
            self.denied(call("echo_back", '{"q":"bad","n":%s}' % odd))
            (envelope,) = call("echo_back", '{"q":"good","n":%s}' % odd).envelopes()
            self.assertTrue(envelope["tool_success"], envelope)
            (envelope,) = call("echo_back", '{"q":"good","more":"x","n":%s}' % odd).envelopes()
            self.assertEqual(envelope["error_code"], "INVALID_PARAMS")
        (envelope,) = call("echo_back", r'{"q":"b\u0000ad"}').envelopes()
        self.assertEqual(envelope["error_code"], "INVALID_PARAMS")
        self.assertIn("q contains a NUL character", envelope["error"])
        self.assertEqual(os.listdir(self.project), [])

    def test_files_of_rules_are_checked(self):
        self.rules({"allow": ["bash("]})
        self.assertIn("permissions.json", self.ikigai("-p", "hi", status=2).err)
        self.rules("{")
        self.ikigai("-p", "hi", status=2)
        self.rules({"alow": []})
        self.assertIn("alow", self.ikigai("-p", "hi").err)
        for fault in {"deny": ["bash("]}, {"deny": "bash"}, {"ask": [1]}, {"allow": ["ba\0sh"]}:
            self.rules({"projects": {"/elsewhere": fault}})
            self.assertIn("projects: /elsewhere: ", self.ikigai("-p", "hi", status=2).err)

    def test_faults_in_rules_are_reported_with_their_lines(self):
        for line, text in ((3, '{"deny": [\n"bash",\n"bash("]}'), (2, '{\n"ask": "bash"}'),
                           (3, '{"projects": {"/p":\n{"allow":\n[1]}}}'), (2, '{\n"projects": []}'),
                           (2, '{"hosts":\n"x"}'), (2, '{"hosts": {"openai": [],\n"google": "x"}}'),
                           (3, '{"hosts": {\n"openai":\n["https://a.example", 1]}}'), (2, '\n[]'),
                           (2, '{"deny": [],\n}')):
            with self.subTest(text=text):
                self.rules(text)
                path = os.path.join(self.home, "permissions.json")
                self.assertIn(f"{path}:{line}: ", self.ikigai("-p", "hi", status=2).err)
                self.rules({})
                self.rules(text, "project")
                if "hosts" not in text and "projects" not in text:
                    self.assertIn(f"/project/.ikigai/permissions.json:{line}: ",
                                  self.ikigai("-p", "hi").err)
                self.rules({}, "project")
        for line, text in (2, '{\n"denny": []}'), (3, '{"projects": {\n"/p": {\n"denny": []}}}'):
            self.rules(text)
            self.assertRegex(self.ikigai("-p", "hi").err,
                             rf"warning: \S+permissions.json:{line}: .*unknown key 'denny'")

    def test_a_fault_in_a_projects_rules_costs_that_rule_only(self):
        self.rules({"deny": ["bash(", "glob"]}, "project")
        turn = self.ask([Answer(calls=[Call("glob", {"pattern": "*"})]), Answer("Ok.")])
        self.assertIn("glob", self.denied(turn))
        self.assertIn("'bash(' is not a rule", turn.err)

    def test_the_last_of_two_lists_counts_and_a_warning_says_so(self):
        self.rules('{"deny": ["glob"],\n"ask": [],\n"deny": ["bash"]}')
        turn = self.ask([Answer(calls=[Call("glob", {"pattern": "*"})]), Answer("Ok.")])
        self.assertTrue(turn.envelopes()[0]["tool_success"])
        self.assertIn("permissions.json:1: 'deny' appears more than once; the last one counts\n",
                      turn.err)
        self.denied(self.ask([bash("true"), Answer("Ok.")]))

    def test_a_project_cannot_flood_the_screen_with_warnings(self):
        self.rules({f"key{i}": 1 for i in range(10000)} | {"deny": ["glob"]}, "project")
        turn = self.ask([Answer(calls=[Call("glob", {"pattern": "*"})]), Answer("Ok.")])
        self.denied(turn)
        self.assertIn("permissions.json:1: a project cannot set 'key0'\n", turn.err)
        self.assertLess(len(turn.err.splitlines()), 200)

    def test_rules_that_others_can_change_are_refused(self):
        self.rules({"allow": ["bash"]})
        path = os.path.join(self.home, "permissions.json")
        os.chmod(path, 0o666)
        self.assertIn(f"refused: {path} can be changed by everyone",
                      self.ikigai("-p", "hi", status=2).err)
        self.ikigai("tool", "run", "glob", '{"pattern":"*"}', status=2)
        os.chmod(path, 0o644)
        self.ikigai("-p", "hi")

    def test_a_project_adds_deny_and_ask_only(self):
        self.rules({"deny": ["glob"], "allow": ["bash"]}, "project")
        turn = self.ask([bash("touch file", permissions="all"), Answer("Ok.")])
        self.denied(turn)
        self.assertIn("allow", turn.err)
        turn = self.ask([Answer(calls=[Call("glob", {"pattern": "*"})]), Answer("Ok.")])
        self.assertIn("glob", self.denied(turn))


class Levels(PermissionTest):
    def partial(self, *args, env=None):
        script = ("echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"")
        return subprocess.run(["unshare", "-Ur", "sh", "-c", script, "sh", IKIGAI, *args],
                              cwd=self.project, env=self.env(**(env or {})),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120)

    def test_below_full_each_run_says_so_once(self):
        llm = self.serve([Answer("Yes.")] * 2)
        env = self.connect(llm)
        run = self.partial(*self.command("hi", "--json"), env=env)
        events = [json.loads(line) for line in run.stdout.splitlines()]
        if events and events[0]["confinement"] == "full":
            self.skipTest("user namespaces cannot be switched off here")
        self.assertEqual((events[0]["type"], events[0]["confinement"]), ("session", "partial"))
        (notice,) = [e["text"] for e in events if e["type"] == "notice"]
        self.assertRegex(notice, "partial.*user namespaces")
        self.assertNotIn(b"partial", run.stderr)
        run = self.partial(*self.command("hi"), env=env)
        self.assertEqual(run.stdout, b"Yes.\n")
        self.assertRegex(run.stderr.decode(), "(?m)^.*partial.*user namespaces.*$")
        self.assertEqual(run.stderr.count(b"partial"), 1)

    def test_level_none_asks_before_bash_and_writes(self):
        for call, args, runs in [
                (Call("bash", {"command": "touch file"}), [], False),
                (Call("bash", {"command": "touch file"}), ["--allow", "all"], True),
                (Call("bash", {"command": "touch file"}), ["--allow", "bash(touch *)"], True),
                (Call("bash", {"command": "touch file"}), ["--mode", "plan"], False),
                (Call("file_write", {"file_path": "file", "content": ""}), [], False)]:
            with self.subTest(call=call, args=args):
                turn = self.ask([Answer(calls=[call]), Answer("Ok.")], *args,
                                preexec_fn=without_landlock)
                self.assertEqual(turn.events[0]["confinement"], "none")
                self.assertEqual(len(turn.of("notice")), 1)
                if not runs:
                    self.denied(turn)
                self.assertEqual(self.wrote(turn), runs)

    def test_level_none_reads_without_a_question(self):
        self.write("project/a.txt", "hello")
        for mode in "auto", "plan":
            turn = self.ask([Answer(calls=[Call("file_read", {"file_path": "a.txt"})]),
                             Answer("Ok.")], "--mode", mode, preexec_fn=without_landlock)
            self.assertTrue(turn.envelopes()[0]["tool_success"], turn.envelopes())
        self.user_tool("look", "#!/bin/sh\n[ \"$1\" = --schema ] && echo '{\"name\":\"look\","
                       "\"description\":\"d\",\"parameters\":{\"type\":\"object\",\"properties\":{}},"
                       "\"effects\":{\"write\":\"none\",\"network\":false}}' && exit\necho '{}'\n")
        turn = self.ask([Answer(calls=[Call("look", {})]), Answer("Ok.")], "--mode", "plan",
                        preexec_fn=without_landlock)
        self.assertIn("plan mode", self.denied(turn))


if __name__ == "__main__":
    unittest.main()
