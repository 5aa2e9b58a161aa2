"""The command line: every command and option, what it prints and how it exits."""
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time
import unittest

import hostile
import test_session_cli
from support import (IKIGAI, NOBODY, OUT, PATIENCE, ROOT, SHIPPED, TOOLS, IkigaiTest, as_user,
                     clean_env, tool_script)

USAGE = {
    "tool list": "Usage: ikigai tool list [--json] [--trust] [--refresh]",
    "tool show": "Usage: ikigai tool show NAME [--json] [--trust]",
    "tool run": "Usage: ikigai tool run NAME [JSON] [--trust] [--mode auto|ask|plan|full] "
                "[--allow WHAT] [--unconfined] [--verbose]",
    "tool check": "Usage: ikigai tool check PATH",
    "tool new": "Usage: ikigai tool new NAME [--lang sh|python|c]",
    "host ask": "Usage: ikigai host ask QUESTION [--choice TEXT] [--default TEXT] [--json]",
    "host agent": "Usage: ikigai host agent PROMPT [--agent NAME] [--tools A,B] "
                  "[--model PROVIDER/MODEL] [--mode auto|ask|plan|full] [--json]",
    "host complete": "Usage: ikigai host complete PROMPT [--system TEXT] [--schema JSON] "
                     "[--max-tokens N] [--json]",
    "mcp add": "Usage: ikigai mcp add NAME [URL] [-- COMMAND...] [--env NAME=VALUE] [--cwd DIR] "
               "[--header 'NAME: VALUE'] [--force]",
    "mcp list": "Usage: ikigai mcp list [--json] [--trust]",
    "mcp show": "Usage: ikigai mcp show SERVER [--json] [--trust]",
    "mcp remove": "Usage: ikigai mcp remove SERVER",
    "mcp login": "Usage: ikigai mcp login SERVER [--no-browser]",
    "acp": "Usage: ikigai acp [-m PROVIDER/MODEL] [--mode MODE] [--db URL] [--trust] [--setup]",
    "mcp serve": "Usage: ikigai mcp serve [--tools A,B] [--mode auto|ask|plan|full] [--trust]",
    "trust": "Usage: ikigai trust [DIR] [--yes]",
    "untrust": "Usage: ikigai untrust [DIR]",
    "status": "Usage: ikigai status [--json] [--trust]",
    "setup": "Usage: ikigai setup [--plain]",
    "doctor": "Usage: ikigai doctor [--db URL] [--json]",
    "completion":
        "Usage: ikigai completion [bash|zsh|fish] [--list models|servers|sessions|tools|topics|words]",
    "help": "Usage: ikigai help [TOPIC...] [--markdown] [--expand FILE]",
    **test_session_cli.USAGE,
}
# What a terminal takes as a command: C0 but tab and newline, DEL, C1.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
HOSTILE = "a\x1b[31mred\x1b]0;title\x07\x9b2J\x7f\x85b\nsecond\tline"


class Help(IkigaiTest):
    def test_version(self):
        for option in ("--version", "-v"):
            self.assertRegex(self.ikigai(option).out, r"\Aikigai \d+\.\d+\.\d+\n\Z")

    def test_help_names_every_command(self):
        for option in ("--help", "-h"):
            text = self.ikigai(option).out
            for usage in USAGE.values():
                self.assertIn("  " + usage.removeprefix("Usage: ikigai "), text)
            self.assertIn("\nExit status: 0 done, 1 failed, 2 wrong usage or configuration, "
                          "130 interrupted.\n", text)

    def test_every_command_of_the_help_exists(self):
        """What the help shows is what the program takes."""
        shown = re.findall(r"^  ([a-z]+(?: [a-z]+(?![a-z|]))?)", self.ikigai("--help").out, re.M)
        self.assertEqual(sorted(shown), sorted(USAGE))

    def test_help_of_a_command(self):
        for name, usage in USAGE.items():
            for words in (["--help"], ["-h"], ["x", "--help"]):
                with self.subTest(name=name, words=words):
                    done = self.ikigai(*name.split(), *words)
                    self.assertTrue(done.out.startswith(usage + "\n"), done.out)
                    self.assertEqual(re.findall(r"^  (--?[a-z-]+)", done.out, re.M),
                                     re.findall(r"(?<=[ [])--?[a-z][a-z-]*", usage))
                    self.assertTrue(done.out.endswith(f"\nMore: ikigai help {name}\n"), done.out)
                    self.assertEqual(done.err, "")

    def test_help_of_half_a_command(self):
        done = self.ikigai("tool", "--help")
        self.assertEqual(done.out.splitlines(),
                         [u for n, u in USAGE.items() if n.startswith("tool ")])

    def test_help_works_with_a_broken_configuration(self):
        self.config("{")
        for args in (["--help"], ["--version"], ["tool", "list", "--help"]):
            self.ikigai(*args)

    WRONG = [
        # (words, command whose usage is shown, complaint)
        (["tool", "list", "x"], "tool list", "unexpected argument 'x'"),
        (["tool", "list", "--nonsense"], "tool list", "unknown option '--nonsense'"),
        (["tool", "list", "--js"], "tool list", "unknown option '--js'"),
        (["tool", "list", "--yes"], "tool list", "unknown option '--yes'"),
        (["tool", "show"], "tool show", "Missing argument: NAME"),
        (["tool", "show", "a", "b"], "tool show", "unexpected argument 'b'"),
        (["tool", "run"], "tool run", "Missing argument: NAME"),
        (["tool", "run", "a", "{}", "c"], "tool run", "unexpected argument 'c'"),
        (["tool", "run", "a", "--json"], "tool run", "unknown option '--json'"),
        (["tool", "check"], "tool check", "Missing argument: PATH"),
        (["tool", "check", "a", "b"], "tool check", "unexpected argument 'b'"),
        (["tool", "new"], "tool new", "Missing argument: NAME"),
        (["tool", "new", "a", "--lang"], "tool new", "--lang needs a value"),
        (["tool", "new", "a", "b"], "tool new", "unexpected argument 'b'"),
        (["trust", "a", "b"], "trust", "unexpected argument 'b'"),
        (["trust", "--no"], "trust", "unknown option '--no'"),
        (["untrust", "a", "b"], "untrust", "unexpected argument 'b'"),
        (["untrust", "--yes"], "untrust", "unknown option '--yes'"),
        (["doctor", "x"], "doctor", "unexpected argument 'x'"),
        (["doctor", "--all"], "doctor", "unknown option '--all'"),
        (["doctor", "--db="], "doctor", "--db needs a value"),
        (["tool", "list", "--json=1"], "tool list", "--json takes no value"),
        (["tool", "list", "--nonsense=1"], "tool list", "unknown option '--nonsense=1'"),
    ]

    def test_wrong_usage_shows_the_usage_line(self):
        for words, name, complaint in self.WRONG:
            with self.subTest(words=words):
                done = self.ikigai(*words, status=2)
                self.assertEqual(done.out, "")
                self.assertEqual(done.err.splitlines()[1:], [USAGE[name]])
                self.assertTrue(done.err.startswith(f"ikigai {name}: "), done.err)
                self.assertIn(complaint, done.err.splitlines()[0])

    def test_unknown_commands(self):
        for words in (["nonsense"], ["tools"], ["--nonsense"], ["-x"], [""], ["tru\x1b[2Jst"]):
            with self.subTest(words=words):
                done = self.ikigai(*words, status=2)
                self.assertEqual(done.out, "")
                self.assertIn("unknown option" if words[0].startswith("-") else "unknown command",
                              done.err)
                self.assertIn("--help", done.err)
                self.assertIsNone(CONTROL.search(done.err), done.err)
        for words, meant in ((["tools"], "tool"), (["dcotor"], "doctor"), (["version"], "--version"),
                             (["tools", "list"], "tool list"), (["sesion", "show", "x"],
                                                                "session show")):
            done = self.ikigai(*words, status=2)
            self.assertIn(f"unknown command '{' '.join(words)}'. Did you mean '{meant}'?", done.err)
        for words in (["--json", "session", "list"], ["-m", "a/b", "doctor"]):
            done = self.ikigai(*words, status=2)
            self.assertIn("is a command: write its options behind it", done.err)
        usage = [u for n, u in USAGE.items() if n.startswith("tool ")]
        self.assertEqual(self.ikigai("tool", status=2).err.splitlines(), usage)
        for words, said in (("tool --json list", "'--json' comes after the command, which is one of these:"),
                            ("tool nonsense", "unknown command 'tool nonsense'."),
                            ("tool lits", "unknown command 'tool lits'. Did you mean 'tool list'?"),
                            ("tool use is broken", "unknown command 'tool use'.")):
            first, *rest = self.ikigai(*words.split(), status=2).err.splitlines()
            self.assertTrue(f"{first} ".startswith(f"ikigai: {said} "), first)
            self.assertEqual(rest, usage)

    def test_output_that_cannot_be_written(self):
        self.user_tool("mine", tool_script("mine"))
        for args in (["--help"], ["--version"], ["tool", "list"], ["tool", "list", "--json"],
                     ["tool", "show", "bash"], ["tool", "run", "mine", "{}"], ["doctor"],
                     ["tool", "list", "--help"]):
            with self.subTest(args=args), open("/dev/full", "wb") as full:
                done = self.ikigai(*args, status=1, stdout=full)
                self.assertIn("ikigai: cannot write to standard output\n", done.err)

    def test_answers_that_cannot_be_written(self):
        """A client whose answers are lost must not take that for a regular end."""
        request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize",
                              "params": {"protocolVersion": 1}}).encode() + b"\n"
        for command in (["acp"], ["mcp", "serve"]):
            with self.subTest(command=command):
                with open("/dev/full", "wb") as full:
                    done = self.ikigai(*command, input=request, status=1, stdout=full)
                self.assertIn("ikigai: cannot write to standard output: No space left on device\n",
                              done.err)
                done = self.ikigai(*command, input=request, status=1, stdout=None,
                                   preexec_fn=lambda: os.close(1))
                self.assertIn("ikigai: cannot write to standard output: it is closed\n", done.err)
                self.assert_reader_is_missed(command, request)

    def assert_reader_is_missed(self, command, request):
        """The reader is gone while the input is still open."""
        process = subprocess.Popen([IKIGAI, *command], cwd=self.project, env=self.env(),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        with process.stdin, process.stdout, process.stderr:
            process.stdout.close()
            process.stdin.write(request)
            process.stdin.flush()
            self.assertIn(b"cannot write to standard output: Broken pipe", process.stderr.read())
            self.assertEqual(process.wait(PATIENCE), 1)

    def test_a_reader_that_goes_away(self):
        """A closed pipe is an output that cannot be written, not a signal, and no news to people."""
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "wb") as pipe:
            self.assertEqual(self.ikigai("tool", "list", status=1, stdout=pipe).err, "")

    def test_closed_descriptors(self):
        """Started without them, ikigai must not take a file for standard output."""
        for redirect in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(redirect=redirect):
                done = subprocess.run(["sh", "-c", f'exec "$0" tool run bash \'{{"command":"echo '
                                       f'hi"}}\' {redirect}', IKIGAI], cwd=self.project,
                                      env=self.env(), stdout=subprocess.PIPE, timeout=60,
                                      stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_without_a_working_folder(self):
        gone = self.path("gone")
        os.mkdir(gone)
        done = subprocess.run(["sh", "-c", 'rmdir "$PWD" && exec "$0" tool list', IKIGAI], cwd=gone,
                              env=self.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertEqual(done.stderr, b"ikigai: cannot find the working folder: it was removed; change to "
                                      b"another folder\n")

    def test_a_home_that_is_a_file(self):
        done = self.ikigai("session", "list", status=1, env={"HOME": "/dev/null"})
        self.assertEqual(done.err, "ikigai: cannot make folder /dev/null: it exists and is not a folder\n")

    def test_a_working_folder_whose_path_is_too_long(self):
        name = "x" * 250
        self.addCleanup(subprocess.run, ["rm", "-rf", os.path.join(self.project, name)])
        down = "while [ ${#PWD} -lt 5000 ]; do mkdir $0 && cd -P $0 || exit; done; exec \"$@\""
        done = subprocess.run(["bash", "-c", down, name, IKIGAI, "tool", "list"], cwd=self.project,
                              env=self.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr),
                         (1, b"ikigai: cannot find the working folder: its path is too long\n"))


class List(IkigaiTest):
    FIELDS = ["name", "path", "source", "description", "cached", "overrides", "effects"]

    def test_shipped_tools(self):
        lines = self.ikigai("tool", "list").out.splitlines()
        self.assertEqual(lines[0], "Available tools:")
        self.assertEqual([line.split()[0] for line in lines[1:]], SHIPPED)
        for line in lines[1:]:
            self.assertRegex(line, r"\A  [a-z_]+ {2,}\S.*\S\Z")
        self.assertEqual(len({re.match(r"  \S+ +", line).end() for line in lines[1:]}), 1)

    def test_json(self):
        tools = self.ikigai("tool", "list", "--json").json()
        self.assertEqual([t["name"] for t in tools], SHIPPED)
        for tool in tools:
            self.assertEqual(list(tool), self.FIELDS)
            self.assertEqual(tool["source"], "system")
            self.assertEqual(tool["path"],
                             os.path.join(TOOLS, tool["name"].replace("_", "-")))
            self.assertIsInstance(tool["cached"], bool)
            self.assertIsNone(tool["overrides"])

    def test_user_tools_override_and_say_so(self):
        path = self.user_tool("my-grep", tool_script("grep", description="Mine"))
        self.user_tool("zeta", tool_script("zeta", description="Last"))
        self.user_tool("alpha", tool_script("alpha", description="Use e.g. a key. See also b."))
        out = self.ikigai("tool", "list").out
        self.assertIn("  alpha       Use e.g. a key (user)\n", out)
        self.assertIn("  grep        Mine (user)\n", out)
        self.assertTrue(out.endswith("  zeta        Last (user)\n"), out)
        grep = [t for t in self.ikigai("tool", "list", "--json").json() if t["name"] == "grep"]
        self.assertEqual([(t["path"], t["source"], t["overrides"]) for t in grep],
                         [(path, "user", os.path.join(TOOLS, "grep"))])
        self.assertIn(f"Overrides: {TOOLS}/grep\n", self.ikigai("tool", "show", "grep").out)

    def test_cached(self):
        path = self.user_tool("mine", tool_script("mine", first=f"echo x >> '{self.dir}/asked'"))

        def cached():
            tools = self.ikigai("tool", "list", "--json").json()
            return [t["cached"] for t in tools if t["name"] == "mine"][0]
        self.assertFalse(cached())
        self.assertFalse(cached(), "a file this young is not remembered")
        os.utime(path, (1, 1))
        self.assertFalse(cached())
        asked = self.read("asked")
        self.assertTrue(cached())
        self.assertEqual(self.read("asked"), asked)
        self.write("home/.ikigai/tools/mine", tool_script("mine", description="New"), 0o755)
        self.assertFalse(cached())

    def test_failures_cost_one_line(self):
        self.user_tool("crash", "#!/bin/sh\nkill -SEGV $$\n")
        self.user_tool("exit", "#!/bin/sh\nexit 3\n")
        self.user_tool("silent", "#!/bin/sh\n")
        self.user_tool("rubbish", "#!/bin/sh\necho hello\n")
        self.user_tool("nameless", "#!/bin/sh\necho '{}'\n")
        self.user_tool("slow", "#!/bin/sh\nsleep 20\n")
        self.user_tool("others", tool_script("others"), 0o777)
        self.user_tool("list-type", tool_script("list_type", parameters={
            "type": ["object"], "properties": {"a": {"type": "string"}}}))
        self.user_tool("twin-a", tool_script("twin"))
        self.user_tool("twin-b", tool_script("twin"))
        done = self.ikigai("tool", "list")
        self.assertEqual(len(done.out.splitlines()), 1 + len(SHIPPED) + 1)
        wanted = [
            r"Debug: tool 'crash' schema failed \(killed by signal 11\)",
            r"Debug: tool 'exit' schema failed \(exit code 3\)",
            r"Debug: tool 'silent' schema failed \(no output\)",
            r"Debug: tool 'rubbish' schema failed \(invalid JSON: .*\)",
            r"Debug: tool 'nameless' schema failed \(no name\)",
            r"Debug: tool 'slow' schema failed \(timeout\)",
            r"Debug: tool 'others' skipped \(.*can be changed by everyone.*chmod o-w .*\)",
            r"Debug: tool 'list-type' schema failed \(parameters are not of type object\)",
            r"Debug: tool 'twin-b' schema failed \(.*twin-a already provides 'twin'\)",
        ]
        for line in wanted:
            self.assertRegex(done.err, f"(?m)^{line}$")
        self.assertEqual(len(done.err.splitlines()), len(wanted), done.err)

    def test_files_that_are_no_tools(self):
        self.user_tool("data.json", "{}", 0o644)
        self.user_tool(".hidden", tool_script("hidden"))
        self.user_tool("folder/inner", tool_script("inner"))
        os.symlink("nowhere", os.path.join(self.home, "tools", "dangling"))
        os.mkfifo(os.path.join(self.home, "tools", "fifo"), 0o755)
        done = self.ikigai("tool", "list")
        self.assertRegex(done.err, r"\ATool 'dangling' is not used: .* is a broken link .*\n\Z")
        self.assertEqual(len(done.out.splitlines()), 1 + len(SHIPPED))

    def test_names_that_are_not_utf8(self):
        self.user_tool("odd\udcff", tool_script("odd"))
        tools = self.ikigai("tool", "list", "--json").json()
        self.assertEqual([t["path"] for t in tools if t["name"] == "odd"],
                         [os.path.join(self.home, "tools", "odd\ufffd")])
        shown = self.ikigai("tool", "show", "odd", "--json").json()
        self.assertTrue(shown["runs_from"].endswith("/odd\ufffd"))
        self.ikigai("tool", "show", "odd").out.encode("utf-8")
        self.assertEqual(self.ikigai("tool", "run", "odd", "{}").json()["result"], {})

    def test_a_disabled_tool_is_absent(self):
        self.config({"tools": {"file-read": {"enabled": False}}})
        self.assertNotIn("file_read", self.ikigai("tool", "list").out)
        self.ikigai("tool", "show", "file_read", status=1)
        done = self.ikigai("tool", "run", "file_read", '{"file_path":"/etc/passwd"}', status=1)
        self.assertEqual(done.json()["error_code"], "TOOL_NOT_FOUND")

    def test_warm_list_starts_nothing(self):
        self.ikigai("tool", "list")
        if not shutil.which("strace"):
            self.skipTest("strace is missing")
        for name in SHIPPED:  # built moments ago they would not be remembered yet
            if time.time() - os.stat(os.path.join(TOOLS, name.replace("_", "-"))).st_mtime < 3:
                time.sleep(3)
        self.ikigai("tool", "list")
        calls = self.trace("execve,fork,vfork,clone,clone3", "tool", "list", options=["-f"])
        starts = [line for line in calls if "(" in line]
        self.assertEqual(len(starts), 1, starts)


class Show(IkigaiTest):
    SCHEMA = {"parameters": {"path": {"type": "string", "description": "Where\nto look",
                                      "required": True},
                             "depth": {"type": ["integer", "null"]}, "any": {}},
              "returns": {"count": {"type": "integer"}}}

    def test_text(self):
        path = self.user_tool("look", tool_script("look", description="Look around",
                                                  **self.SCHEMA))
        out = self.ikigai("tool", "show", "look").out
        self.assertTrue(out.startswith(
            "look - Look around\n\nParameters:\n  path (string, required)\n    Where to look\n"
            "  depth (integer|null)\n  any (any)\n\nReturns:\n"), out)
        self.assertTrue(out.endswith(
            "\n\nEffects: not declared, runs unconfined\n"
            f"File: {path}\nSource: user\n"), out)
        returns = json.loads(out.partition("Returns:\n")[2].partition("\n\nEffects:")[0])
        self.assertEqual(list(returns), ["tool_success", "result", "error", "error_code"])
        self.assertEqual(returns["result"]["properties"], self.SCHEMA["returns"])

    def test_json(self):
        path = self.user_tool("look", tool_script("look", timeout_seconds=7, parallel=True,
                                                  **self.SCHEMA))
        shown = self.ikigai("tool", "show", "look", "--json").json()
        self.assertEqual(list(shown), List.FIELDS + ["parameters", "returns", "parallel",
                                                     "timeout_seconds", "escalation", "display", "host",
                                                     "runs_from"])
        self.assertEqual(shown["host"], [])
        asks = self.ikigai("tool", "show", "ask_user", "--json").json()
        self.assertEqual(asks["host"], ["ask"])
        self.assertIn("\nAsks ikigai for: ask\n", self.ikigai("tool", "show", "ask_user").out)
        self.assertEqual((shown["parallel"], shown["timeout_seconds"], shown["runs_from"]),
                         (True, 7, path))
        self.assertEqual(shown["parameters"]["required"], ["path"])
        self.assertEqual(list(shown["parameters"]["properties"]), ["path", "depth", "any"])
        self.assertNotIn("required", shown["parameters"]["properties"]["path"])
        bash = self.ikigai("tool", "show", "bash", "--json").json()
        self.assertEqual((bash["parallel"], bash["timeout_seconds"], bash["display"]), (False, None, None))
        self.assertEqual(self.ikigai("tool", "show", "todo", "--json").json()["display"], "checklist")
        self.assertTrue(self.ikigai("tool", "show", "grep", "--json").json()["parallel"])

    def test_no_parameters(self):
        self.user_tool("plain", tool_script("plain"))
        self.assertIn("Parameters:\n  none\n", self.ikigai("tool", "show", "plain").out)

    def test_not_found(self):
        done = self.ikigai("tool", "show", "no\x1bne", status=1)
        self.assertEqual((done.out, done.err), (
            "", "Tool 'noe' not found. Run ikigai tool list to see available tools.\n"))


    def test_the_name_of_the_file(self):
        """After tool new my-tool the user types that name."""
        self.assertIn("file_read - ", self.ikigai("tool", "show", "file-read").out)
        self.ikigai("tool", "new", "my-tool")
        done = self.ikigai("tool", "run", "my-tool", '{"text": "a b"}')
        self.assertIs(done.json()["tool_success"], True, done.out)


class Run(IkigaiTest):
    def echo(self):
        self.user_tool("echo", tool_script("echo", "cat"))

    def test_arguments_and_result(self):
        self.echo()
        for args, stdin, result in [
                (['{"a": 1}'], b"", '{"a": 1}'), ([], b'{"b" : 2.50}\n', '{"b" : 2.50}'),
                ([], b"", "{}"), ([], b" \n\t\r\n", "{}"),
                (['{"n":12345678901234567890,"z":"\\u0000"}'], b"",
                 '{"n":12345678901234567890,"z":"\\u0000"}')]:
            with self.subTest(args=args, stdin=stdin):
                done = self.ikigai("tool", "run", "echo", *args, input=stdin)
                self.assertEqual(done.out, '{"tool_success":true,"result":%s}\n' % result)
                self.assertEqual(done.err, "")

    def test_a_failed_operation_is_a_success_of_the_tool(self):
        done = self.ikigai("tool", "run", "file_read", '{"file_path":"/none"}')
        self.assertEqual(done.json()["result"]["error_code"], "FILE_NOT_FOUND")

    FAILURES = [
        # (body of the tool, arguments, error_code, exit_code, error)
        ("exit 3", "{}", "TOOL_CRASHED", 3, "Tool 'fail' crashed with exit code 3"),
        ("kill -SEGV $$", "{}", "TOOL_CRASHED", 139, "Tool 'fail' crashed with exit code 139"),
        ("echo hello", "{}", "INVALID_OUTPUT", 0, "Tool 'fail' returned malformed JSON"),
        ("true", "{}", "INVALID_OUTPUT", 0, "Tool 'fail' returned malformed JSON"),
        ("cat", "[]", "INVALID_PARAMS", None, "Arguments of tool 'fail' are not a JSON object"),
        ("cat", "{", "INVALID_PARAMS", None, "Arguments of tool 'fail' are not a JSON object"),
        ("cat", "", "INVALID_PARAMS", None, "Arguments of tool 'fail' are not a JSON object"),
        ("sleep 20", "{}", "TOOL_TIMEOUT", None,
         "Tool 'fail' timed out after 1 second without progress"),
    ]

    def test_failures(self):
        self.config({"tool_timeout_seconds": 1})
        for body, arguments, code, exit_code, error in self.FAILURES:
            with self.subTest(body=body, arguments=arguments):
                self.user_tool("fail", tool_script("fail", body))
                done = self.ikigai("tool", "run", "fail", arguments, status=1)
                envelope = done.json()
                self.assertEqual(list(envelope)[:6], ["tool_success", "error", "error_code",
                                                      "exit_code", "stdout", "stderr"])
                self.assertIs(envelope["tool_success"], False)
                self.assertEqual(envelope["error_code"], code)
                if code != "TOOL_TIMEOUT":  # what SIGTERM makes of it is the tool's business
                    self.assertEqual(envelope["exit_code"], exit_code)
                self.assertIn(error, envelope["error"])

    def test_not_found(self):
        done = self.ikigai("tool", "run", "none", "{}", status=1)
        self.assertEqual(done.json(), {
            "tool_success": False, "error": "Tool 'none' not found",
            "error_code": "TOOL_NOT_FOUND", "exit_code": None, "stdout": "", "stderr": ""})
        self.assertIn("Run ikigai tool list", done.err)

    def test_the_tools_surroundings(self):
        self.user_tool("see", tool_script("see", r'''printf '{"pwd":"%s","call":"%s",' "$PWD" \
            "$IKIGAI_TOOL_CALL_ID"; printf '"session":"%s","max":"%s","progress":"%s"}' \
            "$IKIGAI_SESSION_ID" "$IKIGAI_MAX_OUTPUT" "$IKIGAI_PROGRESS_FD"'''))
        result = self.ikigai("tool", "run", "see").json()["result"]
        self.assertEqual(result["pwd"], os.path.realpath(self.project))
        self.assertEqual(result["max"], "1048576")
        self.assertTrue(result["call"] and result["session"] and result["progress"].isdigit())

    def test_stderr_stays_out(self):
        self.user_tool("loud", tool_script("loud", "echo warning >&2; echo '{}'"))
        self.assertEqual(self.ikigai("tool", "run", "loud").out,
                         '{"tool_success":true,"result":{}}\n')

    def test_closed_or_broken_stdin(self):
        self.echo()
        folder = os.open(self.project, os.O_RDONLY)  # reading it fails
        done = self.ikigai("tool", "run", "echo", status=1, input=None, stdin=folder)
        os.close(folder)
        self.assertIn("Cannot read standard input", done.err)


class Hostile(IkigaiTest):
    """Words of strangers are shown, not obeyed."""

    def setUp(self):
        super().setUp()
        self.user_tool("evil", tool_script(
            "evil", "printf '{\"x\":\"\\302\\2332J\\177\"}'", description=HOSTILE,
            parameters={"type": "object", "properties": {
                "p": {"type": "object", "description": HOSTILE, "properties": {
                    "p\x1b[1m\x9b\nForged": {"description": HOSTILE}}}}},
            returns={"r\x9b": {"type": "string", "description": HOSTILE}}))
        self.user_tool("bad\x1b[7m\nForged", "#!/bin/sh\nprintf '\\033[2J\\233'\n")
        self.user_tool("odd", tool_script("odd", parameters={"type": "object", "properties": {
            "p\x1b[1m\x9b\nForged": {"type": "t\x1b\nForged", "$ref": "\x1b[2J\nForged"}}}))

    def assert_tame(self, text):
        self.assertIsNone(CONTROL.search(text), ascii(text))
        self.assertNotRegex(text, "(?m)^Forged")

    def test_everything_printed_is_tame(self):
        self.project_tool("pro\x1b[1m\nForged", tool_script("pro"))
        self.config('{"bad\\u001b[2J\\u009b\\nForged": 1}')
        for args in (["tool", "list"], ["tool", "list", "--json"], ["tool", "show", "evil"],
                     ["tool", "show", "evil", "--json"], ["tool", "show", "\x1b\nForged"],
                     ["trust"], ["doctor"],
                     ["tool", "check", os.path.join(self.home, "tools", "evil")],
                     ["tool", "check", os.path.join(self.home, "tools", "odd")],
                     ["tool", "check", os.path.join(self.home, "tools", "bad\x1b[7m\nForged")],
                     ["tool", "check", "no\x1b\nForged"], ["tool", "new", "\x1b\nForged"],
                     ["tool", "new", "a", "--lang", "\x1b\nForged"], ["trust", "\x1b\nForged"],
                     ["--\x1b\nForged"], ["tool", "list", "--\x1b\nForged"]):
            with self.subTest(args=args):
                done = self.ikigai(*args, status=None)
                self.assert_tame(done.out)
                self.assert_tame(done.err)
                self.assertIn(done.status, (0, 1, 2))

    def test_the_description_itself_survives_in_json(self):
        tools = self.ikigai("tool", "list", "--json").json()
        self.assertEqual([t["description"] for t in tools if t["name"] == "evil"], [HOSTILE])

    def test_one_line_per_tool(self):
        self.assertEqual(len(self.ikigai("tool", "list").out.splitlines()), 1 + len(SHIPPED) + 1)

    def test_an_envelope_is_exact_in_a_pipe_and_tame_on_a_terminal(self):
        exact = '{"tool_success":true,"result":{"x":"\x9b2J\x7f"}}\n'
        self.assertEqual(self.ikigai("tool", "run", "evil", "{}").out, exact)
        master, slave = pty.openpty()
        child = subprocess.Popen([IKIGAI, "tool", "run", "evil", "{}"], cwd=self.project,
                                 env=self.env(), stdout=slave, stderr=slave,
                                 stdin=subprocess.DEVNULL)
        os.close(slave)
        seen = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:
                break
            if not part:
                break
            seen += part
        os.close(master)
        self.assertEqual(child.wait(60), 0)
        text = seen.decode().replace("\r\n", "\n")
        self.assert_tame(text)
        self.assertEqual(json.loads(text), json.loads(exact))


class New(IkigaiTest):
    def new(self, name, language):
        args = ["--lang", language] if language else []
        return self.ikigai("tool", "new", name, *args)

    def be_patient(self):
        """An interpreter may need more than the usual second to start on a busy machine."""
        self.config({"schema_timeout_ms": 30000})

    def test_every_language_checks_and_runs(self):
        self.be_patient()
        for language in ("sh", "python", "c", None):
            with self.subTest(language=language):
                if language == "c" and not shutil.which("cc"):
                    self.skipTest("no C compiler")
                name = f"my-tool-{language or 'default'}"
                path = os.path.join(self.home, "tools", name)
                done = self.new(name, language)
                self.assertIn(f"ikigai tool check {path}\n", done.out)
                self.assertEqual(os.stat(path).st_mode & 0o7777, 0o700)
                checked = self.ikigai("tool", "check", path)
                self.assertIn("--schema: valid, as '%s'" % name.replace("-", "_"), checked.out)
                self.assertNotIn("FIX", checked.out)
                self.assertNotIn("note", checked.out)
                for arguments, result in [
                        ({"text": "three small words"}, {"count": 3}),
                        ({"text": "a\nb c\n", "unit": "lines"}, {"count": 2}),
                        ({"text": ""}, {"count": 0})]:
                    ran = self.ikigai("tool", "run", name.replace("-", "_"), json.dumps(arguments))
                    self.assertEqual(ran.json()["result"], result, arguments)
                for arguments in ({}, {"text": "x", "unit": "pages"}):
                    ran = self.ikigai("tool", "run", name.replace("-", "_"), json.dumps(arguments))
                    self.assertEqual(ran.json()["result"]["error_code"], "INVALID_ARG")
        self.assertIn("(user)", self.ikigai("tool", "list").out)

    def test_what_it_says_about_a_change_in_c_works(self):
        if not shutil.which("cc"):
            self.skipTest("no C compiler")
        self.be_patient()
        command = self.new("mine", "c").out.partition(" After a change: ")[2]
        source = os.path.join(self.home, "tools", "mine.c")
        with open(source, encoding="utf-8") as f:
            changed = f.read().replace("Count the words", "Reckon the words")
        self.write(source, changed)
        env = self.env(PATH=os.path.dirname(IKIGAI) + ":" + os.environ["PATH"])
        done = subprocess.run(["sh", "-c", command], cwd=self.project, env=env, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("Reckon the words", self.ikigai("tool", "show", "mine").out)

    def test_nothing_is_overwritten(self):
        for language in ("sh", "python", "c"):
            with self.subTest(language=language):
                path = self.user_tool("mine-" + language, "precious", 0o644)
                done = self.ikigai("tool", "new", "mine-" + language, "--lang", language, status=1)
                self.assertIn("already exists; nothing was changed", done.err)
                self.assertEqual(self.read(path), b"precious")
                self.assertFalse(os.path.exists(path + ".c"))

    def test_a_name_that_another_file_has(self):
        """- and _ are the same in the name of a tool: only one of the two would be used."""
        for first, second in (("mine_a", "mine-a"), ("mine-b", "mine_b")):
            path = self.new(first, "sh").out.split()[0]
            done = self.ikigai("tool", "new", second, status=1)
            self.assertIn(f"{path} already is the tool {first.replace('-', '_')}; nothing was changed",
                          done.err)
            self.assertFalse(os.path.exists(os.path.join(self.home, "tools", second)))

    def test_a_tool_that_overrides_a_shipped_one_says_so(self):
        for name, shipped in (("file_read", "file-read"), ("bash", "bash")):
            with self.subTest(name=name):
                self.assertIn(f"It overrides {name} ({TOOLS}/{shipped}) from now on.\n",
                              self.new(name, "sh").out)
        self.assertNotIn("overrides", self.new("bash-2", "sh").out)

    def test_an_existing_source_is_not_overwritten(self):
        source = self.user_tool("mine.c", "precious", 0o600)
        done = self.ikigai("tool", "new", "mine", "--lang", "c", status=1)
        self.assertIn("already exists", done.err)
        self.assertEqual(self.read(source), b"precious")

    def test_a_dangling_link_is_not_written_through(self):
        os.makedirs(os.path.join(self.home, "tools"))
        os.symlink(self.path("elsewhere"), os.path.join(self.home, "tools", "mine"))
        for language in ("sh", "c"):
            self.ikigai("tool", "new", "mine", "--lang", language, status=1)
        self.assertFalse(os.path.exists(self.path("elsewhere")))

    def test_bad_names_and_languages(self):
        for name in ("1st", "a b", "a/b", "../x", "", "x" * 65, "a.b", "\u00e4", "a\nb"):
            with self.subTest(name=name):
                done = self.ikigai("tool", "new", name, status=2)
                self.assertIn("is not a valid tool name", done.err)
        done = self.ikigai("tool", "new", "x", "--lang", "cobol", status=2)
        self.assertIn("--lang must be sh, python or c, not 'cobol'", done.err)
        self.assertFalse(os.path.exists(self.home))

    def test_private_whatever_the_umask(self):
        self.be_patient()
        for umask in (0o000, 0o022, 0o077):
            for language in ("sh", "python", "c"):
                name = f"{language}{umask}"
                self.ikigai("tool", "new", name, "--lang", language,
                            preexec_fn=lambda mask=umask: os.umask(mask))
                path = os.path.join(self.home, "tools", name)
                self.assertEqual(os.stat(path).st_mode & 0o7777, 0o700, (language, oct(umask)))
                if language == "c":
                    self.assertEqual(os.stat(path + ".c").st_mode & 0o7777, 0o600)
        self.config({"schema_timeout_ms": 20000})  # a busy machine takes its time
        self.assertEqual(self.ikigai("tool", "list").err, "")

    def test_a_compiler_that_is_missing(self):
        done = self.ikigai("tool", "new", "mine", "--lang", "c", status=1,
                           env={"PATH": self.path("empty")})
        self.assertIn("libjansson-dev", done.err)
        self.assertIn("cc -O2 -o", done.err)

    def test_no_room(self):
        os.makedirs(self.home, 0o555)
        done = self.ikigai("tool", "new", "mine", status=1,
                           preexec_fn=as_user() if os.geteuid() == 0 else None)
        self.assertIn(f"{self.home}/tools", done.err)


class Check(IkigaiTest):
    """What an author is told, one bad tool each."""
    PYTHON = "#!/usr/bin/python3\nimport sys, os, time, json, random\n"
    TOOLS = {
        # name: (text, words that must be said)
        "slow schema": ("#!/bin/sh\nsleep 10\n", "FIX   --schema: it did not end in time"),
        "no schema": ("#!/bin/sh\n", "FIX   --schema prints one JSON object"),
        "rubbish": ("#!/bin/sh\necho hello\n",
                    "FIX   --schema prints one JSON object with name, description and parameters: "
                    "invalid JSON"),
        "wrong exit": ("#!/bin/sh\nexit 5\n", "FIX   --schema: it exits with 5; print the schema "
                       "and exit with 0"),
        "large exit": ("#!/bin/sh\nexit 255\n", "FIX   --schema: it exits with 255; print the "
                       "schema and exit with 0"),
        "crash": ("#!/bin/sh\nkill -SEGV $$\n", "FIX   --schema: it was killed by signal 11; it "
                  "must not crash"),
        "flood": ("#!/bin/sh\nyes\n", "FIX   --schema: it never stops printing"),
        "bad interpreter": ("#!/no/such/program\n", "FIX   --schema: it cannot be started"),
        "needs environment": (
            tool_script("bad", first='[ -n "$HOME" ] || exit 1'),
            "FIX   --schema fails without environment variables: it must not need credentials, "
            "HOME or configuration"),
        "no description": (tool_script("bad", description=""),
                           "FIX   schema: description is missing; the model chooses tools by it"),
        "bad display": (tool_script("bad", display="picture"),
                        "FIX   schema: display is not \"diff\", \"checklist\", \"table\", \"markdown\", "
                        "\"code\" or \"image\"; it is left out"),
        "bad name": (tool_script("1 bad"), "invalid name '1 bad'"),
        "unknown host": (tool_script("bad", host=["ask", "sing"]), "FIX   schema: host is not a "
                         "list of \"ask\", \"agent\", \"complete\" and \"job\""),
        "host in a word": (tool_script("bad", host="ask"), "FIX   schema: host is not a list"),
        "different bytes": (
            PYTHON + "print(json.dumps({'name': 'bad', 'description': str(os.getpid())}))\n",
            "FIX   --schema: two runs differ; the same bytes every time keep model caches warm"),
        "schema not UTF-8": ("#!/bin/sh\nprintf '{\"name\":\"bad\",\"description\":\"\\377\"}'\n",
                             "FIX   --schema prints one JSON object with name, description and "
                             "parameters: invalid JSON"),
        "stray output": (tool_script("bad", "echo Loading...; echo '{}'"),
                         "FIX   no parameters ({}): stdout is not one JSON value"),
        "output after": (tool_script("bad", "echo '{}'; echo done"),
                         "write messages for people to stderr"),
        "no output": (tool_script("bad", "cat > /dev/null"),
                      "it exits with 0 but prints nothing; print one JSON value"),
        "crash on bad input": (
            tool_script("bad", 'case $(cat) in "{"*"}") echo "{}" ;; *) kill -SEGV $$ ;; esac'),
            "FIX   input that is not JSON: it was killed by signal 11; it must not crash"),
        "waits forever": (tool_script("bad", "sleep 60", timeout_seconds=1),
                          "FIX   empty input: it did not end in time; does it wait for anything "
                          "other than the end of stdin?"),
        "silent failure": (tool_script("bad", "exit 7"),
                           "it exits with 7 and says nothing; print the reason to stderr"),
        "output not UTF-8": (tool_script("bad", "printf '\"\\377\"'"), "stdout is not UTF-8"),
        "dies of its input": (
            tool_script("bad", '[ $(wc -c) -lt 100000 ] && echo "{}" || kill -KILL $$',
                        parameters={"text": {"type": "string"}}),
            "FIX   a megabyte of input: it was killed by signal 9"),
    }

    def check(self, path, status):
        self.config({"schema_timeout_ms": 2000})
        return self.ikigai("tool", "check", path, status=status)

    def test_bad_tools(self):
        for name, (text, words) in self.TOOLS.items():
            with self.subTest(name=name):
                done = self.check(self.write("bad", text, 0o755), 1)
                self.assertIn(words, done.out)
                self.assertRegex(done.out, r"\n(1 of (1 check|\d+ checks) needs|"
                                           r"(?!1 of )\d+ of \d+ checks need) fixing\.\n\Z")

    def test_stderr_of_a_call_that_worked(self):
        path = self.write("chatty", tool_script("chatty", "echo stale >&2; echo '{}'"), 0o755)
        self.assertIn("note  no parameters ({}) writes to stderr: stale\n", self.check(path, 0).out)

    def test_ended_by_a_signal(self):
        """What was found is printed, and the folder is removed."""
        started = self.path("started")
        path = self.write("slow", tool_script("slow", f"pwd > '{started}'; sleep 300"), 0o755)
        for number in signal.SIGINT, signal.SIGTERM:
            process = subprocess.Popen([IKIGAI, "tool", "check", path], env=self.env(), cwd=self.project,
                                       stdout=subprocess.PIPE, text=True,
                                       preexec_fn=hostile.default_signals)
            self.assertTrue(hostile.wait_until(lambda: os.path.exists(started) and os.path.getsize(started),
                                               PATIENCE))
            process.send_signal(number)
            out, _ = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, -number)
            self.assertIn("ok    ", out)
            self.assertFalse(os.path.exists(self.read("started").decode().strip()))
            os.remove(started)

    def test_a_tool_that_waits_costs_its_time_limit_once(self):
        calls = self.path("calls")
        path = self.write("bad", tool_script("bad", f"echo call >>'{calls}'; sleep 300",
                                             timeout_seconds=1), 0o755)
        done = self.check(path, 1)
        self.assertIn("other inputs were not tried", done.out)
        self.assertEqual(self.read("calls"), b"call\n")

    def test_bad_files(self):
        self.write("plain", tool_script("plain"), 0o644)
        self.write("open", tool_script("open"), 0o777)
        for path, words in [("plain", "it is not executable; run chmod +x"),
                            ("none", "there is no such file"), (".", "it is not a file"),
                            ("open", "ikigai would not run it: ")]:
            with self.subTest(path=path):
                self.assertIn(words, self.check(self.path(path), 1).out)

    def test_good_tools(self):
        """A refusal with words is as good as an answer."""
        for body in ("cat > /dev/null; echo '{}'", "echo sorry >&2; exit 1",
                     "cat > /dev/null; echo '[1, \"\u00e4\"]'"):
            with self.subTest(body=body):
                path = self.write("good", tool_script("good", body, returns={}), 0o755)
                done = self.check(path, 0)
                self.assertNotIn("FIX", done.out)
                self.assertRegex(done.out, r"\nAll \d+ checks passed\.\n\Z")

    def test_any_name_of_a_folder(self):
        for folder in ("a=b", "a b", "-n"):
            with self.subTest(folder=folder):
                path = self.write(f"{folder}/good", tool_script("good", returns={}), 0o755)
                self.assertIn("--schema: needs nothing from the environment",
                              self.check(path, 0).out)

    def test_shipped_tools(self):
        for name in os.listdir(TOOLS):
            with self.subTest(name=name):
                self.check(os.path.join(TOOLS, name), 0)

    def test_advice(self):
        path = self.write("vague", tool_script("vague", parameters={"a": {}}), 0o755)
        out = self.check(path, 0).out
        for words in ("parameter a has no type", "parameter a has no description",
                      "returns is not declared"):
            self.assertIn("note  " + words, out)

    SCHEMAS = {
        # (a property, or the parameters), words
        '{"type": "string", "required": true}':
            "parameters.x: required belongs in the list of the enclosing object",
        '{"type": "strng"}': "parameters.x: unknown type 'strng'; did you mean 'string'?",
        '{"type": "array"}': "parameters.x: an array needs items",
        '{"type": "array", "items": {"type": "strin"}}':
            "parameters.x.items: unknown type 'strin'; did you mean 'string'?",
        '{"anyOf": [{"type": "array"}]}': "parameters.x.anyOf[0]: an array needs items",
        '{"$ref": "#/$defs/Nope"}': "parameters.x: $ref '#/$defs/Nope' leads to nothing",
        '{"type": "string", "enum": [1]}': "parameters.x: enum holds a value of type integer",
        '{"type": "string", "enum": ["a", "a"]}': "parameters.x: enum holds a value twice",
        '{"type": "string", "type": "integer"}': "line 1: duplicate object key",
        '{}, "a b": {}': "parameter 'a b' has a name that providers refuse",
        '{}}, "required": ["y"], "not used": {': "parameters: required names 'y', which is not in "
                                                 "properties",
    }

    def test_odd_schemas(self):
        for written, words in self.SCHEMAS.items():
            with self.subTest(written=written):
                schema = ('{"name": "t", "description": "d", "parameters": {"type": "object", '
                          f'"properties": {{"x": {written}}}}}}}')
                script = f"#!/bin/sh\n[ \"$1\" = --schema ] && echo '{schema}' || echo '{{}}'\n"
                out = self.check(self.write("odd", script, 0o755), 1).out
                self.assertIn("FIX   schema: " + words, out)

    def test_many_parameters(self):
        """Every odd one is named, and the large input is a megabyte in all."""
        schema = self.write("schema", json.dumps({"name": "many", "parameters": {
            "type": "object", "properties": {
                f"p{i}": {"type": "string", "required": True} for i in range(300)}}}))
        sizes = self.path("sizes")
        path = self.write("many", f"#!/bin/sh\nif [ \"$1\" = --schema ]; then cat '{schema}'; exit; "
                                  f"fi\nwc -c >>'{sizes}'\necho '{{}}'\n", 0o755)
        out = self.check(path, 1).out
        self.assertEqual(out.count(": required belongs in the list"), 300)
        self.assertIn("ok    a megabyte of input: answered\n", out)
        largest = max(int(size) for size in self.read("sizes").split())
        self.assertTrue(1 << 19 < largest < 1 << 21, largest)

    def test_relative_path_and_what_it_leaves(self):
        self.write("project/litter", tool_script("litter", "touch left; echo '{}'"), 0o755)
        done = self.check("litter", 0)
        self.assertIn("it left files behind in its working folder", done.out)
        left = re.search(r"working folder: (/\S+)", done.out)[1]
        self.assertEqual(os.listdir(left), ["left"])
        shutil.rmtree(left)
        self.assertFalse(os.path.exists(os.path.join(self.project, "left")))


class Doctor(IkigaiTest):
    def test_healthy(self):
        done = self.ikigai("doctor")
        for words in (f"Installation: {OUT}\n", f"  system tools   {TOOLS}\n",
                      f"  user tools     {self.home}/tools (missing)\n",
                      f"  keeper         {OUT}/lib/ikigai/keeper\n", "Configuration:\n",
                      "Providers:\n", "  offline ", "needs no key\n", "Tools:\n",
                      "  Project tools: none\n", "Optional parts:\n", "python3  found"):
            self.assertIn(words, done.out)
        for name in SHIPPED:
            self.assertRegex(done.out, f"(?m)^  {name} +system   {TOOLS}/")
        self.assertTrue(done.out.endswith("\nNo problems found.\n"), done.out)

    def test_problems_are_counted(self):
        self.config({"colour": "blue"})
        self.user_tool("broken", "#!/bin/sh\nexit 1\n")
        done = self.ikigai("doctor", status=1)
        self.assertIn("problem: Debug: tool 'broken' schema failed (exit code 1)\n", done.out)
        self.assertRegex(done.out, r"problem: \S+config.json:1: unknown key colour\n")
        self.assertTrue(done.out.endswith("\n2 problems found.\n"), done.out)

    def test_it_runs_with_a_broken_configuration(self):
        path = self.config("{\n  broken")
        done = self.ikigai("doctor", status=1)
        self.assertIn(f"  problem: {path}:2: broken JSON", done.out)
        self.assertTrue(done.out.endswith("\n1 problem found.\n"), done.out)

    def test_rules_that_keep_every_conversation_from_beginning(self):
        path = os.path.join(self.home, "permissions.json")
        for text, fault in (("", "not a JSON object"), ('{"deny": "bash"}', "deny")):
            with self.subTest(text=text):
                self.write(path, text, 0o600)
                refused = self.ikigai("-p", "hello", status=2).err
                done = self.ikigai("doctor", status=1)
                self.assertIn(fault, done.out)
                self.assertIn(refused.removeprefix("ikigai: "), done.out)
                self.assertTrue(done.out.endswith("\n1 problem found.\n"), done.out)

    def test_rules_about_tools_that_do_not_exist(self):
        """Hints: the tool may be that of another project, or of a server that does not run."""
        self.write(os.path.join(self.home, "permissions.json"), json.dumps({
            "deny": ["bahs(rm *)", "bash(rm *)", "GREP", "deploy"], "allow": ["network", "Bash", "web__fetch"]}),
            0o600)
        hints = [line for line in self.ikigai("doctor").out.splitlines() if "The rule" in line]
        self.assertEqual(hints, [
            "  The rule bahs(rm *) (user) has no effect: there is no tool bahs here; did you mean bash?",
            "  The rule deploy (user) has no effect: there is no tool deploy here",
            "  The rule Bash (user) has no effect: there is no tool Bash here; did you mean bash?"])

    def test_project_tools_that_cannot_be_trusted(self):
        self.write(os.path.join(self.project, ".ikigai", "tools", "mine"), tool_script("mine"), 0o755)
        path = self.write(os.path.join(self.home, "trust.json"), "{", 0o600)
        done = self.ikigai("doctor", status=1)
        self.assertIn(f"  problem: Project tools are not used: {path} is damaged", done.out)
        self.assertTrue(done.out.endswith("\n1 problem found.\n"), done.out)

    def test_a_home_that_is_a_broken_link(self):
        home = self.path("link")
        os.symlink(self.path("missing"), home)
        done = self.ikigai("doctor", env={"IKIGAI_HOME": home}, status=1)
        self.assertIn(f"problem: {home}: the symbolic link is broken", done.out)

    def test_a_folder_of_contents_that_cannot_be_used(self):
        blobs = os.path.join(self.home, "blobs")
        self.write(blobs)
        self.assertIn(f"problem: {blobs} is not a folder, so files cannot be kept for undo, or images for "
                      "sessions: move it away", self.ikigai("doctor", status=1).out)
        os.remove(blobs)
        os.symlink(self.path("missing"), blobs)
        self.assertIn(f"problem: {blobs} is not a folder", self.ikigai("doctor", status=1).out)
        os.remove(blobs)
        self.write(os.path.join(blobs, "files"))
        self.assertIn(f"problem: {blobs}/files is not a folder", self.ikigai("doctor", status=1).out)

    def test_a_folder_of_contents_of_another_user(self):
        blobs = os.path.join(self.home, "blobs")
        os.makedirs(os.path.join(blobs, "images"))
        os.chmod(self.path("home"), 0o777)
        os.chmod(self.home, 0o777)
        done = self.ikigai("doctor", status=1, preexec_fn=as_user())
        self.assertIn(f"problem: {blobs} cannot be written, so files cannot be kept for undo, or images for "
                      "sessions: chown it to yourself", done.out)
        os.chown(blobs, NOBODY, NOBODY)
        os.chown(os.path.join(blobs, "images"), NOBODY, NOBODY)
        os.chmod(os.path.join(blobs, "images"), 0o500)
        done = self.ikigai("doctor", status=1, preexec_fn=as_user())
        self.assertIn(f"problem: {blobs}/images cannot be written", done.out)
        self.assertIn("chmod u+rwx it", done.out)
        os.chmod(os.path.join(blobs, "images"), 0o700)
        self.ikigai("doctor", preexec_fn=as_user())

    def test_it_asks_every_tool_anew(self):
        path = self.user_tool("mine", tool_script("mine", first=f"echo x >> '{self.dir}/asked'"))
        os.utime(path, (1, 1))
        self.ikigai("tool", "list")
        asked = self.read("asked")
        self.ikigai("doctor")
        self.assertGreater(len(self.read("asked")), len(asked))

    def test_optional_parts(self):
        self.assertIn("python3  missing", self.ikigai(
            "doctor", env={"PATH": self.path("empty")}, status=None).out)

    def test_overrides_are_said(self):
        path = self.user_tool("grep", tool_script("grep"))
        self.assertRegex(self.ikigai("doctor").out, f"grep +user +{path}  overrides {TOOLS}/grep")


class Installed(IkigaiTest):
    """An installation finds its own parts wherever it stands."""

    def install(self, prefix):
        env = {k: v for k, v in clean_env().items() if not k.startswith("MAKE")}
        subprocess.run(["make", "-o", "all", "-C", ROOT, "OUT=" + os.path.relpath(OUT, ROOT),
                        "PREFIX=" + prefix, "DESTDIR=" + self.path("stage"), "install"], env=env,
                       check=True, stdout=subprocess.DEVNULL)
        return self.path("stage", prefix[1:])

    def assert_own_parts(self, prefix, config):
        program = os.path.join(prefix, "bin", "ikigai")
        out = self.ikigai("doctor", program=program).out
        for line in (f"Installation: {prefix}\n", f"  system tools   {prefix}/libexec/ikigai\n",
                     f"  keeper         {prefix}/lib/ikigai/keeper\n", f"  system   {config}"):
            self.assertIn(line, out)
        tools = self.ikigai("tool", "list", "--json", program=program).json()
        self.assertEqual({os.path.dirname(t["path"]) for t in tools}, {f"{prefix}/libexec/ikigai"})
        done = self.ikigai("tool", "run", "bash", '{"command":"echo hi"}', program=program)
        self.assertEqual(done.json()["result"]["output"], "hi")
        self.ikigai("tool", "new", f"t{len(os.listdir(self.dir))}", program=program)

    def test_build_tree(self):
        self.assert_own_parts(OUT, f"{OUT}/etc/ikigai/config.json\n")

    def test_moved_elsewhere(self):
        staged = self.install("/opt/thing")
        moved = self.path("some where", "else")
        os.makedirs(os.path.dirname(moved))
        os.rename(staged, moved)
        config = f"{moved}/etc/ikigai/config.json"
        self.assert_own_parts(moved, config + "\n")
        with open(config, "w") as f:
            f.write('{"max_tool_turns": 7}')
        os.chmod(config, 0o644)
        self.assertIn("max_tool_turns           7 (system)\n",
                      self.ikigai("doctor", program=f"{moved}/bin/ikigai").out)

    def test_started_through_a_link(self):
        os.symlink(IKIGAI, self.path("ikigai"))
        self.assertIn(f"Installation: {OUT}\n",
                      self.ikigai("doctor", program=self.path("ikigai")).out)

    @unittest.skipUnless(os.geteuid() == 0, "needs a mount namespace")
    def test_usr(self):
        """PREFIX=/usr with its own /usr/bin/ikigai and /etc/ikigai, seen through bind mounts."""
        self.install("/usr")
        self.write("stage/etc/ikigai/config.json", '{"max_tool_turns": 7}', 0o644)
        script = """set -e
            mkdir -p "$1/root" && mount -t tmpfs none "$1/root"
            for d in /*; do case $d in /proc|/sys|/dev|/usr|/etc|/lib*|/bin|/sbin) ;; *) continue ;;
                esac; if [ -L "$d" ]; then cp -P "$d" "$1/root$d"; else mkdir -p "$1/root$d";
                mount --rbind "$d" "$1/root$d"; fi; done
            mkdir -p "$1/root/tmp" "$1/root/up" "$1/root/work" "$1/root/uup" "$1/root/uwork"
            mount -t overlay o -o "lowerdir=/usr,upperdir=$1/root/uup,workdir=$1/root/uwork" \
                "$1/root/usr"
            mount -t overlay o -o "lowerdir=/etc,upperdir=$1/root/up,workdir=$1/root/work" \
                "$1/root/etc"
            cp -r "$1/stage/usr/." "$1/root/usr/" && cp -r "$1/stage/etc/." "$1/root/etc/"
            exec chroot "$1/root" /usr/bin/ikigai doctor"""
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", self.dir],
                              env=clean_env(HOME="/tmp/home"), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60)
        if "mount" in done.stderr or "unshare" in done.stderr:
            self.skipTest("no mount namespaces here: " + done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for line in ("Installation: /usr\n", "  system   /etc/ikigai/config.json\n",
                     "  system tools   /usr/libexec/ikigai\n",
                     "max_tool_turns           7 (system)\n"):
            self.assertIn(line, done.stdout)


if __name__ == "__main__":
    unittest.main()
