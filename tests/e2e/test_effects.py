"""What tools declare, what they are held to, and how a call asks for more."""
import json
import os
import shutil
import socket
import tempfile
import threading
import unittest

from support import IKIGAI, IkigaiTest, tool_script

PROJECT = {"write": "project", "network": False}
ANYWHERE = {"write": "anywhere", "network": True}
WITHOUT_NAMESPACES = ["unshare", "-Ur", "sh", "-c",
                      'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"', "sh"]


def parameters(**properties):
    return {"type": "object", "properties": properties}


class EffectsTest(IkigaiTest):
    def run_tool(self, name, arguments=None, *options, status=0, **more):
        """The envelope of a call."""
        done = self.ikigai("tool", "run", name, json.dumps(arguments or {}), *options,
                           status=status, **more)
        return done.json()

    def bash(self, command, *options, status=0, env=None, **arguments):
        return self.run_tool("bash", {"command": command, **arguments}, *options, status=status,
                             env=env)

    def rules(self, **rules):
        self.write("home/.ikigai/permissions.json", json.dumps(rules), 0o600)

    def effects(self, name, *options):
        """What a tool is held to, by `tool list` and `tool show`."""
        listed = {tool["name"]: tool["effects"]
                  for tool in self.ikigai("tool", "list", "--json", *options).json()}
        shown = self.ikigai("tool", "show", name, "--json", *options).json()
        self.assertEqual(shown["effects"], listed[name])
        return shown["effects"]

    def listener(self):
        """A server on this machine's loopback; returns its port."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)

        def serve():
            while True:
                try:
                    server.accept()[0].close()
                except OSError:
                    return
        threading.Thread(target=serve, daemon=True).start()
        return server.getsockname()[1]

    def connect(self, *options, status=0, **arguments):
        """Whether bash can connect to a server outside its room."""
        port = self.listener()
        return self.bash(f"bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'", *options, status=status,
                         **arguments)


class Declarations(EffectsTest):
    def test_a_folder_of_tools_elsewhere(self):
        """A link to it does not exist in rooms; the tools are found and listed under it."""
        self.write("home/dotfiles/tools/mine", tool_script("mine", effects={}), 0o755)
        os.makedirs(self.home)
        os.symlink("../dotfiles/tools", os.path.join(self.home, "tools"))
        self.assertEqual(self.run_tool("mine"), {"tool_success": True, "result": {}})
        shown = self.ikigai("tool", "show", "mine", "--json").json()
        self.assertEqual((shown["path"], shown["runs_from"]),
                         (os.path.join(self.home, "tools", "mine"), self.path("home/dotfiles/tools/mine")))

    def test_a_faulty_declaration_costs_the_tool(self):
        for member, value in (("effects", None), ("effects", {"write": "home"}),
                              ("effects", {"network": "no"}), ("effects", {"delete": True}),
                              ("escalation", None), ("escalation", {"parameter": "missing"}),
                              ("escalation", {"parameter": "count"}), ("escalation", "text")):
            with self.subTest(member=member, value=value):
                path = self.user_tool("faulty", tool_script("faulty", **{
                    "parameters": parameters(count={"type": "integer"},
                                             text={"type": "string"}), member: value}))
                listed = self.ikigai("tool", "list")
                self.assertNotIn("faulty", listed.out)
                self.assertIn(f"Debug: tool 'faulty' schema failed ({member} is not ", listed.err)
                checked = self.ikigai("tool", "check", path, status=1)
                self.assertIn(f"FIX   schema: {member} is not ", checked.out)

    def test_what_is_shown(self):
        asks = {"parameters": parameters(more={"type": "string"}),
                "escalation": {"parameter": "more"}}
        self.user_tool("silent", tool_script("silent"))
        self.user_tool("empty", tool_script("empty", effects={}))
        self.user_tool("wide", tool_script("wide", effects=ANYWHERE, **asks))
        self.project_tool("theirs", tool_script("theirs"))
        self.ikigai("trust", "--yes")
        for name, effects, text in (
                ("silent", None, "not declared, runs unconfined"),
                ("empty", {"write": "none", "network": False}, "write none, network no"),
                ("wide", ANYWHERE, "write anywhere, network yes"),
                ("theirs", PROJECT, "write project, network no"),
                ("bash", PROJECT, "write project, network no"),
                ("file_write", PROJECT, "write project, network no"),
                ("file_edit", PROJECT, "write project, network no"),
                ("file_read", {"write": "none", "network": False}, "write none, network no"),
                ("glob", {"write": "none", "network": False}, "write none, network no"),
                ("grep", {"write": "none", "network": False}, "write none, network no")):
            with self.subTest(name):
                self.assertEqual(self.effects(name), effects)
                self.assertIn(f"\nEffects: {text}\n", self.ikigai("tool", "show", name).out)
        for name, escalation in (("wide", {"parameter": "more"}), ("silent", None),
                                 ("bash", {"parameter": "permissions"})):
            self.assertEqual(self.ikigai("tool", "show", name, "--json").json()["escalation"],
                             escalation)
        for name, text in (("silent", "not declared, runs unconfined"),
                           ("wide", "write anywhere, network yes")):
            out = self.ikigai("tool", "check", f"{self.home}/tools/{name}", status=None).out
            self.assertIn(f"\nok    Effects: {text}\n", out)

    def test_asking_for_nothing_and_for_too_much(self):
        for value in (None, ""):
            self.assertEqual(self.bash("echo hi", permissions=value)["result"]["output"], "hi")
        for value in ("networks", "ALL", " all", 1, True, ["network"], {"network": True}):
            with self.subTest(value=value):
                envelope = self.bash("echo hi", "--allow", "all", status=1, permissions=value)
                self.assertEqual(envelope["error_code"], "INVALID_PARAMS")
                self.assertIn("permissions", envelope["error"])


class Running(EffectsTest):
    """`ikigai tool run`."""

    def test_a_call_is_held_to_its_declaration(self):
        writes = f"echo x > '{self.path('outside')}'; echo x > inside; echo '{{}}'"
        for effects, inside in (({}, False), ({"write": "project"}, True),
                                ({"write": "anywhere"}, True), (None, True)):
            with self.subTest(effects=effects):
                more = {} if effects is None else {"effects": effects}
                self.user_tool("writer", tool_script("writer", writes, **more))
                self.run_tool("writer")
                self.assertEqual(os.path.exists(f"{self.project}/inside"), inside)
                self.assertEqual(os.path.exists(self.path("outside")), effects is None)
                if inside:
                    os.remove(f"{self.project}/inside")

    def test_a_tool_that_writes_anywhere_makes_no_cache_folders(self):
        home = tempfile.mkdtemp(dir="/var/tmp")  # /tmp itself is the room's own
        self.addCleanup(shutil.rmtree, home)
        os.makedirs(f"{home}/.cache")
        self.user_tool("writer", tool_script(
            "writer", 'echo x > ~/file; echo x > ~/.cache/file; echo "{}"',
            effects={"write": "anywhere"}))
        self.run_tool("writer", env={"HOME": home, "IKIGAI_HOME": self.home})
        self.assertEqual(sorted(os.listdir(home)), [".cache", "file"])
        self.assertEqual(os.listdir(f"{home}/.cache"), [])  # that is a copy

    def test_confined_says_what_a_failed_call_was_held_to(self):
        project = os.path.realpath(self.project)
        for effects, mode, confined in (
                ({}, "auto", "no writes except in /tmp, no network"),
                ({"write": "project"}, "auto", f"writes only in {project} and /tmp, no network"),
                ({"write": "project"}, "ask", f"writes only in {project} and /tmp, no network"),
                ({"write": "project", "network": True}, "auto",
                 f"writes only in {project} and /tmp"),
                ({"network": True}, "auto", "no writes except in /tmp"),
                ({"write": "anywhere"}, "auto", "no network"),
                ({"write": "anywhere", "network": True}, "auto", None),
                ({"write": "anywhere", "network": True}, "plan",
                 "plan mode: no writes except in /tmp, no network"),
                (None, "auto", None),
                (None, "plan", "plan mode: no writes except in /tmp, no network"),
                ({}, "full", None)):
            with self.subTest(effects=effects, mode=mode):
                more = {} if effects is None else {"effects": effects}
                for body, status in (("echo '{\"error\":\"no\"}'", 0), ("exit 3", 1),
                                     ("echo not JSON", 1), ("echo '{\"exit_code\":2}'", 0)):
                    self.user_tool("t", tool_script("t", body, **more))
                    envelope = self.run_tool("t", {}, "--mode", mode, status=status)
                    self.assertEqual(envelope.get("confined"), confined, body)
                self.user_tool("t", tool_script("t", "echo '{\"exit_code\":0}'", **more))
                self.assertNotIn("confined", self.run_tool("t", {}, "--mode", mode))

    def test_network(self):
        self.assertEqual(self.connect()["result"]["exit_code"], 1)
        denied = self.connect(status=1, permissions="network")
        self.assertEqual((denied["error_code"], denied["exit_code"]), ("PERMISSION_DENIED", None))
        self.assertIn("--allow network", denied["error"])
        for allowed in ("network", "all", "bash"):
            with self.subTest(allowed):
                self.assertEqual(self.connect("--allow", allowed, permissions="network")
                                 ["result"]["exit_code"], 0)
                # A call that does not ask gets nothing.
                self.assertEqual(self.connect("--allow", allowed)["result"]["exit_code"], 1)
                self.assertEqual(self.connect("--allow", allowed, "--mode", "plan",
                                              permissions="network")["result"]["exit_code"], 1)

    def test_all(self):
        outside = self.path("outside")
        denied = self.bash(f"touch {outside}", status=1, permissions="all")
        self.assertIn("--allow all", denied["error"])
        self.assertFalse(os.path.exists(outside))
        for options in (["--allow", "all"], ["--allow", "network", "--allow=bash(touch *)"]):
            self.bash(f"touch {outside}", *options, permissions="all")
            os.remove(outside)
        self.bash(f"touch {outside}", "--allow", "all")
        self.assertFalse(os.path.exists(outside))
        self.bash(f"touch {outside}", "--unconfined")
        self.assertTrue(os.path.exists(outside))

    def test_modes(self):
        """Flag, environment, configuration."""
        def writes(*options, **env):
            envelope = self.bash("touch mark", *options, env=env)
            if os.path.exists(f"{self.project}/mark"):
                os.remove(f"{self.project}/mark")
                return True
            self.assertIn("plan mode: ", envelope["confined"])
            return False
        self.assertTrue(writes())
        self.assertFalse(writes("--mode", "plan"))
        self.assertFalse(writes(IKIGAI_MODE="plan"))
        self.assertTrue(writes("--mode=auto", IKIGAI_MODE="plan"))
        self.config({"mode": "plan"})
        self.assertFalse(writes())
        self.assertTrue(writes(IKIGAI_MODE="ask"))
        self.assertTrue(writes("--unconfined"))

    def test_misuse(self):
        for options in (["--mode", "careful"], ["--mode", ""], ["--allow", "a b"],
                        ["--allow", "bash("], ["--allow", "network", "--allow", "()"],
                        ["--allow"], ["--unconfined", "--mode", "plan"]):
            with self.subTest(options=options):
                done = self.ikigai("tool", "run", "bash", '{"command":"touch mark"}', *options,
                                   status=2)
                self.assertIn("Usage: ikigai tool run", done.err)
                self.assertEqual(done.out, "")
        self.assertEqual(os.listdir(self.project), [])

    def test_rules(self):
        self.rules(deny=["bash(rm *)"], ask=["glob"])
        for options in ([], ["--unconfined"], ["--allow", "all"], ["--mode", "plan"]):
            envelope = self.bash("rm x", *options, status=1)
            self.assertEqual(envelope["error_code"], "PERMISSION_DENIED")
            self.assertIn("bash(rm *)", envelope["error"])
        denied = self.run_tool("glob", {"pattern": "*"}, status=1)
        self.assertIn("--allow all", denied["error"])
        self.run_tool("glob", {"pattern": "*"}, "--allow", "all")
        self.write("home/.ikigai/permissions.json", '{"deny": ["a b"]}', 0o600)
        self.assertIn("permissions.json", self.ikigai("tool", "run", "glob", "{}", status=2).err)
        self.write("home/.ikigai/permissions.json", '{"refuse": []}', 0o600)
        done = self.ikigai("tool", "run", "glob", '{"pattern":"*"}')
        self.assertIn("warning: ", done.err)
        self.assertIn("refuse", done.err)

    def test_protected_places_that_appear_are_named(self):
        self.write("project/.idea/x", "")
        envelope = self.bash("touch .envrc; mkdir .vscode; exit 1")
        self.assertEqual(envelope["note"], "Protected places appeared: .vscode, .envrc")
        self.assertNotIn("note", self.bash("echo x > .envrc"))
        self.assertIn("Read-only", self.bash("touch .idea/y")["result"]["output"])
        self.assertNotIn("note", self.bash("touch .envrc .mcp.json", "--unconfined"))

    def test_places_that_appear_in_git_folders_are_named(self):
        self.assertEqual(self.bash("git init -q --template= && mkdir .git/hooks")["note"],
                         "Protected places appeared: .git/hooks, .git/config")
        self.assertEqual(self.bash("mkdir -p .git/modules/sub/hooks")["note"],
                         "Protected places appeared: .git/modules/sub/hooks")
        shutil.rmtree(self.path("project", ".git"))
        self.assertEqual(self.bash("mkdir -p data/hooks; echo gitdir: data > .git")["note"],
                         "Protected places appeared: data/hooks")

    def test_a_linked_worktree_elsewhere_keeps_its_repository(self):
        """Git there obeys the configuration of the folder that commondir names."""
        for name, text in (("HEAD", "ref: refs/heads/main"), ("worktrees/w/commondir", "../.."),
                           ("worktrees/w/gitdir", self.path("w", ".git")),
                           ("worktrees/in/commondir", "../.."),
                           ("worktrees/in/gitdir", self.path("project", "in", ".git"))):
            self.write(f"project/.git/{name}", text + "\n")
        self.write("w/.git", f"gitdir: {self.path('project', '.git', 'worktrees', 'w')}\n")
        for command in ("touch .git/worktrees/w/index", "rm -r .git/worktrees/in",
                        "mkdir -p .git/worktrees/new && rm -r .git/worktrees/new"):
            self.assertEqual(self.bash(command)["result"]["exit_code"], 0, command)
        for command in ("echo evil > .git/worktrees/w/commondir", "rm .git/worktrees/w/commondir",
                        "echo $PWD/in/.git > .git/worktrees/w/gitdir",
                        "mv .git/worktrees/w old", "mv .git/worktrees old"):
            self.assertNotEqual(self.bash(command)["result"]["exit_code"], 0, command)

    def test_links_that_lead_elsewhere_are_named(self):
        """A protected link and its target cannot be replaced, but the folders between them can."""
        self.write("project/envs/dev", "")
        os.symlink("envs/dev", self.path("project", ".envrc"))
        os.symlink("nowhere", self.path("project", ".mcp.json"))
        self.assertNotIn("note", self.bash("touch envs/other"))
        envelope = self.bash("mv envs old; mkdir envs; echo x > envs/dev; echo x > .mcp.json")
        self.assertEqual(envelope["note"], "Protected places appeared or changed: .envrc, .mcp.json")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    def test_without_namespaces_changed_places_are_named_too(self):
        self.write("project/.idea/x", "")
        done = self.ikigai(*WITHOUT_NAMESPACES[1:], IKIGAI, "tool", "run", "bash",
                           '{"command":"touch .idea/y .envrc; false"}', program="unshare")
        self.assertEqual(done.json()["note"],
                         "Protected places appeared or changed: .idea, .envrc")
        self.assertIn("writes only in ", done.json()["confined"])
        self.assertRegex(done.err, r"\AConfinement of tools: partial\. .*user namespaces.*\n\Z")
        self.assertEqual(self.ikigai("tool", "run", "bash", '{"command":"true"}').err, "")

    def test_shipped_tools_say_why_in_plain_words(self):
        folder = tempfile.mkdtemp(dir="/var/tmp")  # /tmp itself is the room's own
        self.addCleanup(shutil.rmtree, folder)
        outside = os.path.join(folder, "file")
        with open(outside, "w") as f:
            f.write("text\n")
        for tool, arguments in (
                ("file_write", {"file_path": os.path.join(folder, "new"), "content": "x"}),
                ("file_write", {"file_path": outside, "content": "x"}),
                ("file_edit", {"file_path": outside, "old_string": "text", "new_string": "x"})):
            with self.subTest(tool=tool, arguments=arguments):
                envelope = self.run_tool(tool, arguments)
                self.assertIn("ead-only file system", envelope["result"]["error"])
                self.assertIn("writes only in ", envelope["confined"])
        self.assertEqual(os.listdir(folder), ["file"])


class Trusting(EffectsTest):
    """The second question of `ikigai trust`."""

    QUESTION = "Allow these effects? [y/N] "

    def setUp(self):
        super().setUp()
        self.project_tool("fetch", tool_script("fetch", "touch mark; echo '{}'", effects=ANYWHERE))
        self.project_tool("modest", tool_script("modest", effects=PROJECT))
        self.project_tool("silent", tool_script("silent"))

    def trust(self, answers, *options):
        return self.ikigai("trust", *options, input=answers).out

    def test_yes(self):
        out = self.trust(b"y\ny\n")
        first, second = out.split("Trust them? [y/N] ")
        self.assertNotIn("write anywhere", first)
        self.assertIn("fetch: write anywhere, network yes\n", second)
        self.assertNotIn("modest", second)
        self.assertNotIn("silent", second)
        self.assertIn(self.QUESTION, second)
        self.assertEqual(self.effects("fetch"), ANYWHERE)

    def test_no(self):
        for answers in (b"y\nn\n", b"y\n", b"y\n\n"):
            with self.subTest(answers=answers):
                self.assertIn(self.QUESTION, self.trust(answers))
                self.assertEqual(self.effects("fetch"), PROJECT)
                self.run_tool("fetch")
                self.assertEqual(self.effects("fetch", "--trust"), ANYWHERE)
                self.ikigai("untrust")

    def test_without_the_first_yes_there_is_no_second(self):
        self.project_tool("fetch", tool_script("fetch", first="touch ran", effects=ANYWHERE))
        done = self.ikigai("trust", input=b"n\ny\n", status=1)
        self.assertNotIn(self.QUESTION, done.out)
        self.assertNotIn("fetch", self.ikigai("tool", "list").out)

    def test_flags_answer_both(self):
        self.assertEqual(self.effects("fetch", "--trust"), ANYWHERE)
        out = self.trust(b"", "--yes")
        self.assertIn("fetch: write anywhere, network yes\n", out)
        self.assertNotIn("[y/N]", out)
        self.assertEqual(self.effects("fetch"), ANYWHERE)

    def test_other_bytes_are_asked_about_again(self):
        self.trust(b"y\ny\n")
        self.project_tool("modest", tool_script("modest", "exit 1", effects=PROJECT))
        self.assertIn(self.QUESTION, self.trust(b"y\nn\n"))
        self.assertEqual(self.effects("fetch"), PROJECT)

    def test_a_no_can_be_taken_back(self):
        self.trust(b"y\nn\n")
        out = self.trust(b"y\n")
        self.assertIn("Already trusted.\n", out)
        self.assertIn(self.QUESTION, out)
        self.assertEqual(self.effects("fetch"), ANYWHERE)
        self.assertEqual(self.trust(b""), "Already trusted.\n")

    def test_a_tool_that_declares_more_later_does_not_get_it(self):
        """The same bytes print another schema."""
        self.project_tool("fetch", "\n".join([
            "#!/bin/sh", "if [ -e wide ]; then write=anywhere; else write=project; fi",
            'if [ "$1" = --schema ]; then',
            """echo '{"name":"fetch","effects":{"network":true,"write":"'$write'"}}'""",
            "else echo '{}'; fi", ""]))
        self.trust(b"y\ny\n")
        self.assertEqual(self.effects("fetch"), {"write": "project", "network": True})
        self.write("project/wide")
        self.ikigai("tool", "list", "--refresh")
        self.assertEqual(self.effects("fetch"), PROJECT)

    def test_nothing_to_ask(self):
        os.remove(f"{self.project}/.ikigai/tools/fetch")
        self.assertNotIn(self.QUESTION, self.trust(b"y\n"))

    def test_schemas_are_read_without_writing_and_network(self):
        port = self.listener()
        probe = "touch mark && w=yes; (exec 3<>/dev/tcp/127.0.0.1/%d) && n=yes" % port
        self.project_tool("probe", f"""#!/bin/bash
{{ {probe}; }} 2>/dev/null
echo '{{"name":"probe","description":"write '${{w:-no}}', network '${{n:-no}}'"}}'
""")
        self.trust(b"y\n")
        for options in ([], ["--refresh"]):
            out = self.ikigai("tool", "list", *options).out
            self.assertIn("write no, network no", out)
        self.ikigai("doctor")  # asks all tools again
        self.assertIn("write no, network no", self.ikigai("tool", "list").out)
        self.assertFalse(os.path.exists(f"{self.project}/mark"))
        self.user_tool("probe2", f"""#!/bin/bash
{{ {probe}; }} 2>/dev/null
echo '{{"name":"probe2","description":"write '${{w:-no}}', network '${{n:-no}}'"}}'
""")
        self.assertIn("write yes, network yes", self.ikigai("tool", "list").out)


if __name__ == "__main__":
    unittest.main()
