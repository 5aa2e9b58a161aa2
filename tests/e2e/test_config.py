"""Configuration as its user meets it: layers, keys, complaints with file and line, and secrets that
stay secret. What doctor shows is what the program uses; what the keys do is tested beside it."""
import json
import os
import re
import shutil
import time
import unittest

import hostile
from support import NOBODY, OUT, PATIENCE, IkigaiTest, as_user, tool_script

CANARY = "sk-canary-4f1d6c2b"
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")


class ConfigTest(IkigaiTest):
    def values(self, status=None, **more):
        """What doctor says about the top-level keys: {key: (value, source)}"""
        out = self.ikigai("doctor", status=status, **more).out
        return {k: (v, s) for k, v, s in re.findall(
            r"(?m)^  ([a-z_.]+) +(.*) \((built-in|system|user|project|environment|flag)\)$", out)}

    def providers(self, **more):
        out = self.ikigai("doctor", status=None, **more).out
        part = out.partition("Providers:\n")[2].partition("\n\n")[0]
        return {line.split()[0]: line.split(None, 1)[1] for line in part.splitlines()}


class Layers(ConfigTest):
    BUILT_IN = {"model": "-", "effort": "-", "max_output_tokens": "-",
                "max_output_size": "1048576", "tool_max_seconds": "600",
                "schema_timeout_ms": "1000", "connect_timeout_seconds": "10",
                "silence_timeout_seconds": "120", "idle_stream_seconds": "600",
                "system_prompt": "-", "tool_output": "full", "keys": "emacs", "mode": "-",
                "confinement": "preferred", "writable": "-", "hidden": "-", "caches": "-",
                "pass_env": "-", "limits.memory": "0", "limits.file_size": "0",
                "limits.processes": "0", "limits.cpu_seconds": "0", "theme": "auto", "notify": "auto",
                "notify_after_seconds": "10", "undo_max_files": "50000",
                "undo_max_bytes": "268435456"}

    def test_built_in_values_and_a_system_file_that_hides_none(self):
        values = self.values()
        for key, value in self.BUILT_IN.items():
            self.assertEqual(values[key], (value, "built-in"), key)
        self.assertEqual(values["db"], (f"{self.home}/ikigai.db", "built-in"))
        self.assertEqual(values["max_tool_turns"], ("50", "built-in"))
        self.assertEqual(values["tool_timeout_seconds"], ("30", "built-in"))

    USER = {"model": "box/m", "effort": "high", "max_output_tokens": 11, "max_tool_turns": 12,
            "max_output_size": 13, "tool_timeout_seconds": 14, "tool_max_seconds": 15,
            "schema_timeout_ms": 1600, "connect_timeout_seconds": 17,
            "silence_timeout_seconds": 18, "idle_stream_seconds": 19, "db": "/tmp/some.db",
            "system_prompt": "Be brief", "tool_output": "short", "keys": "vi", "theme": "mono",
            "mode": "plan", "confinement": "off",
            "notify": "osc9", "notify_after_seconds": 0, "undo_max_files": 0, "undo_max_bytes": 7,
            "hook_timeout_seconds": 20}

    def test_every_key_from_the_user(self):
        lists = {"writable": ["/w", "~/v"], "hidden": ["/h"], "caches": ["~/c"], "pass_env": ["P"]}
        limits = {"memory": 2 ** 40, "file_size": 2 ** 40, "processes": 1000, "cpu_seconds": 1000}
        self.config({**self.USER, **lists, "limits": limits,
                     "providers": {"box": {"base_url": "http://box:1/"}}})
        home = self.path("home")
        shown = {"writable": f"/w, {home}/v", "hidden": "/h", "caches": f"{home}/c", "pass_env": "P",
                 **{f"limits.{name}": value for name, value in limits.items()}}
        values = self.values(status=0)
        self.assertEqual(set(values), {*self.USER, *shown}, "a key is missing here or in doctor")
        for key, value in shown.items():
            self.assertEqual(values[key], (str(value), "user"), key)
        for key, value in self.USER.items():
            self.assertEqual(values[key], (str(value), "user"), key)

    def test_keys_of_tools(self):
        self.config({"tools": {"bash": {"timeout_seconds": 9, "pass_env": ["A", "B"]}, "glob": {}}})
        self.config({"tools": {"grep": {"enabled": False}, "bash": {"timeout_seconds": 8}}},
                    "project")
        out = self.ikigai("doctor", status=None).out
        self.assertEqual(re.findall(r"(?m)^  tools\.(.*)$", out), [
            "bash.timeout_seconds 9 (user)", "bash.pass_env      A, B (user)",
            "grep.enabled       false (project)"])

    def test_project_beats_user_beats_system(self):
        self.config({"model": "offline/u", "max_tool_turns": 5, "max_output_size": 5000})
        self.config({"model": "offline/p", "max_tool_turns": 6, "max_output_size": 4000}, "project")
        values = self.values(status=0)
        self.assertEqual(values["model"], ("offline/p", "project"))
        self.assertEqual(values["max_tool_turns"], ("6", "project"))
        self.assertEqual(values["max_output_size"], ("4000", "project"))

    def test_environment_beats_files(self):
        self.config({"model": "offline/u", "db": "u.db"})
        self.config({"model": "offline/p"}, "project")
        values = self.values(env={"IKIGAI_MODEL": "offline/e", "IKIGAI_DB": "e.db"}, status=0)
        self.assertEqual(values["model"], ("offline/e", "environment"))
        self.assertEqual(values["db"], ("e.db", "environment"))
        values = self.values(env={"IKIGAI_MODEL": "", "IKIGAI_DB": ""}, status=0)
        self.assertEqual(values["model"], ("offline/p", "project"))
        self.assertEqual(values["db"], ("u.db", "user"))

    def test_db_below_the_home_folder(self):
        self.config({"db": "~/mine.db"})
        home = os.path.dirname(self.home)
        values = self.values(env={"HOME": home}, status=0)
        self.assertEqual(values["db"], (f"{home}/mine.db", "user"))

    def test_base_urls(self):
        env = {"OPENAI_BASE_URL": "http://o/v1/", "ANTHROPIC_BASE_URL": "http://a",
               "GEMINI_BASE_URL": "http://g"}
        self.config({"providers": {"openai": {"base_url": "http://file/v1"}}})
        found = self.providers(env=env)
        for name, url in (("openai", "http://o/v1"), ("anthropic", "http://a"),
                          ("google", "http://g")):
            self.assertIn(f" {url}  ", found[name])
        self.assertIn(" http://file/v1  ", self.providers()["openai"])
        done = self.ikigai("tool", "list", env={"OPENAI_BASE_URL": "ftp://x"}, status=2)
        self.assertIn("ikigai: OPENAI_BASE_URL: base_url must be a URL", done.err)

    def test_ikigai_home(self):
        other = self.path("other")
        self.write("other/config.json", '{"max_tool_turns": 9}', 0o600)
        self.config({"max_tool_turns": 5})
        self.assertEqual(self.values(env={"IKIGAI_HOME": other})["max_tool_turns"], ("9", "user"))
        self.assertEqual(self.values(env={"IKIGAI_HOME": ""})["max_tool_turns"], ("5", "user"))

    def test_a_relative_home_is_refused(self):
        """It would make the project's .ikigai the user's: its tools would run unasked."""
        ran = self.path("ran")
        self.project_tool("spy", tool_script("spy", first=f"touch {ran}"))
        for env, name in (({"IKIGAI_HOME": ".ikigai"}, "IKIGAI_HOME"), ({"HOME": "."}, "HOME"),
                          ({"HOME": "../project"}, "HOME")):
            for command in (["tool", "list"], ["doctor"], ["-p", "x"]):
                done = self.ikigai(*command, env=env, status=2)
                self.assertRegex(done.err, rf"^ikigai: {name} is '.*', which is not an absolute "
                                           r"path; set it to one that begins with /\n$")
        self.assertFalse(os.path.exists(ran))

    def test_the_shipped_file(self):
        with open(os.path.join(OUT, "etc", "ikigai", "config.json")) as f:
            self.config(f.read())
        self.assertEqual(self.ikigai("tool", "list").err, "")

    def test_in_the_home_folder_the_file_is_the_users(self):
        self.config({"tool_timeout_seconds": 7})
        self.assertEqual(self.values(cwd=self.path("home"), status=0)["tool_timeout_seconds"],
                         ("7", "user"))


class Complaints(ConfigTest):
    ERRORS = [
        # (text of the user's file, line, words)
        ("", 1, "broken JSON"),
        ("{", 1, "broken JSON"),
        ('{\n"model": "offline/x",\n}', 3, "broken JSON"),
        ('{"a":1}\n{"b":2}', 2, "broken JSON"),
        ("{\n// comment\n}", 2, "broken JSON"),
        ("[]", 1, "the configuration must be an object"),
        ('{\n"model": 1}', 2, "model must be a string"),
        ('{\n\n"model": "nothing"}', 3, "must be written provider/model"),
        ('{"model": "nobody/x"}', 1, "there is no provider 'nobody'"),
        ('{"model": ""}', 1, "model must not be empty"),
        ('{"effort": "a\\nb"}', 1, "effort must not contain control characters"),
        ('{"effort": ["high"]}', 1, "effort must be a string"),
        ('{"effort": "a\\u0000"}', 1, "effort must not contain \\u0000"),
        ('{"max_tool_turns": "50"}', 1, "max_tool_turns must be a whole number"),
        ('{"max_tool_turns": 1.5}', 1, "max_tool_turns must be a whole number"),
        ('{"max_tool_turns": 1e3}', 1, "max_tool_turns must be a whole number"),
        ('{"max_tool_turns": null}', 1, "max_tool_turns must be a whole number"),
        ('{"max_tool_turns": 0}', 1, "max_tool_turns must be from 1 to 1000000"),
        ('{"max_output_size": -1}', 1, "max_output_size must be from 1 to 268435456"),
        ('{"max_output_tokens": 99999999999999999999}', 1, "max_output_tokens must be from 1"),
        ('{"tool_timeout_seconds": 0}', 1, "tool_timeout_seconds must be from 1 to 86400"),
        ('{"tool_max_seconds": 86401}', 1, "tool_max_seconds must be from 1 to 86400"),
        ('{"schema_timeout_ms": 60001}', 1, "schema_timeout_ms must be from 1 to 60000"),
        ('{"connect_timeout_seconds": true}', 1, "connect_timeout_seconds must be a whole number"),
        ('{"silence_timeout_seconds": {}}', 1, "silence_timeout_seconds must be a whole number"),
        ('{"idle_stream_seconds": []}', 1, "idle_stream_seconds must be a whole number"),
        ('{"db": 5}', 1, "db must be a string"),
        ('{"system_prompt": null}', 1, "system_prompt must be a string"),
        ('{"providers": []}', 1, "providers must be an object"),
        ('{"providers": {\n"x": 1}}', 2, "providers.x must be an object"),
        ('{"providers": {"x y": {}}}', 1, "is not a valid provider name"),
        ('{"providers": {"x": {}}}', 1, "providers.x needs a base_url"),
        ('{"providers": {"x": {"type":\n"cobol"}}}', 2, 'providers.x.type must be "openai", '
         '"anthropic" or "google"'),
        ('{"providers": {"openai": {"type": "google"}}}', 1, "the provider is built in"),
        ('{"providers": {"openai": {"api": "soap"}}}', 1, 'must be "chat" or "responses"'),
        ('{"providers": {"openai": {"base_url": "api.com"}}}', 1, "must be a URL"),
        ('{"providers": {"openai": {"api_key_env": "A-B"}}}', 1,
         "must be the name of an environment variable"),
        ('{"tools": 1}', 1, "tools must be an object"),
        ('{"tools": {"bash": 1}}', 1, "tools.bash must be an object"),
        ('{"tools": {"bash": {"enabled": "no"}}}', 1, "tools.bash.enabled must be true or false"),
        ('{"tools": {"bash": {"timeout_seconds": 0}}}', 1,
         "tools.bash.timeout_seconds must be from 1"),
        ('{"tools": {"bash": {"pass_env": "X"}}}', 1, "must be an array of strings"),
        ('{"tools": {"bash": {"pass_env": [1]}}}', 1,
         "each of tools.bash.pass_env must be a string"),
        ('{"tools": {"bash": {"pass_env": ["A=B"]}}}', 1,
         "must be the name of an environment variable"),
        ('{"writable": "/x"}', 1, "writable must be an array of strings"),
        ('{"hidden": ["x"]}', 1, "each of hidden must begin with / or ~/"),
        ('{"limits": {"memory": "4G"}}', 1, "limits.memory must be a whole number"),
        ('{"limits": []}', 1, "limits must be an object"),
        (b'{\n"effort": "\xff"}', 2, "the file is not UTF-8 here"),
    ]

    def test_errors_name_file_and_line_and_stop(self):
        for text, line, words in self.ERRORS:
            with self.subTest(text=text):
                path = self.config(text)
                done = self.ikigai("tool", "list", status=2)
                self.assertEqual(done.out, "")
                self.assertRegex(done.err, rf"(?m)^ikigai: {path}:{line}: .*{re.escape(words)}")
                done = self.ikigai("doctor", status=1)
                self.assertIn(f"  problem: {path}:{line}: ", done.out)

    def test_every_command_stops(self):
        self.config("{")
        for args in (["tool", "list"], ["tool", "show", "bash"], ["tool", "run", "bash", "{}"],
                     ["tool", "check", "/bin/true"], ["tool", "new", "x"], ["trust"], ["untrust"]):
            with self.subTest(args=args):
                done = self.ikigai(*args, status=2)
                self.assertIn("config.json:1: broken JSON", done.err)

    def test_later_errors_are_said_too(self):
        self.config('{"effort": 1,\n"max_tool_turns": "x"}')
        done = self.ikigai("tool", "list", status=2)
        self.assertIn("config.json:1: effort must be a string\n", done.err)
        self.assertIn("config.json:2: max_tool_turns must be a whole number\n", done.err)

    WARNINGS = [
        ('{"colour": 1}', 1, "unknown key colour"),
        ('{"limits": {\n"colour": 1}}', 2, "unknown key limits.colour"),
        ('{"tools": {"bash": {"limits": {"colour": 1}}}}', 1, "unknown key tools.bash.limits.colour"),
        ('{\n"tools": {"bash": {"colour": 1}}}', 2, "unknown key tools.bash.colour"),
        ('{"providers": {"openai": {"colour": 1}}}', 1, "unknown key providers.openai.colour"),
        ('{"providers": {"offline": {}}}', 1, "providers.offline has nothing to configure"),
        ('{"providers": {"anthropic": {"api": "chat"}}}', None,
         "providers.anthropic.api has no effect"),
        ('{"max_tool_turns": 1,\n"max_tool_turns": 2}', 1, "appears more than once"),
        ('{"tools": {"no tool": {}}}', 1, "'no tool' is not a valid tool name"),
    ]

    def test_warnings_name_file_and_line_and_go_on(self):
        for text, line, words in self.WARNINGS:
            with self.subTest(text=text):
                path = self.config(text)
                done = self.ikigai("tool", "list")
                place = f"{path}:{line}: " if line else ""
                self.assertIn(f"ikigai: warning: {place}", done.err)
                self.assertIn(words, done.err)
                self.assertEqual(len(done.err.splitlines()), 1, done.err)
                self.assertIn("bash", done.out)
                self.assertIn(words, self.ikigai("doctor", status=1).out)

    def test_no_tool_is_started_while_the_configuration_is_wrong(self):
        """It might name a provider key that would not be held back."""
        mark = self.path("mark")
        self.user_tool("canary", f"#!/bin/sh\ntouch {mark}\n")
        self.config("{broken")
        self.assertIn("not asked", self.ikigai("doctor", status=1).out)
        self.ikigai("tool", "list", status=2)
        self.assertFalse(os.path.exists(mark))

    def test_the_systems_file_counts_alike(self):
        for name in ("bin", "lib", "libexec"):
            shutil.copytree(os.path.join(OUT, name), self.path("prefix", name))
        program = self.path("prefix", "bin", "ikigai")
        self.ikigai("tool", "list", program=program)
        path = self.write("prefix/etc/ikigai/config.json", '{\n"effort": 1}', 0o644)
        self.assertIn(f"ikigai: {path}:2: effort must be a string\n",
                      self.ikigai("tool", "list", program=program, status=2).err)
        os.chmod(self.write(path, '{"max_tool_turns": 3}'), 0o666)
        self.assertIn(f"ikigai: refused: {path}",
                      self.ikigai("tool", "list", program=program, status=2).err)

    def test_files_others_may_write(self):
        path = self.config({"max_tool_turns": 5})
        for mode in (0o666, 0o602):
            os.chmod(path, mode)
            done = self.ikigai("tool", "list", status=2)
            self.assertIn(f"ikigai: refused: {path} can be changed by everyone", done.err)
            self.assertEqual(self.values()["max_tool_turns"], ("50", "built-in"))
        os.chmod(path, 0o600)
        os.chmod(self.home, 0o777)
        self.assertIn("refused: ", self.ikigai("tool", "list", status=2).err)
        os.chmod(self.home, 0o700)
        self.ikigai("tool", "list")

    def test_what_is_for_everyone_is_not_to_be_closed(self):
        """A project could lead there with a link."""
        path = self.path("project/.ikigai/config.json")
        os.makedirs(os.path.dirname(path))
        for place, file in (("/dev/null", "/dev/null"), (self.path("open"), self.write("open/x", "{}"))):
            with self.subTest(place=place):
                os.symlink(file, path)
                if place != file:
                    os.chmod(place, 0o1777)
                self.assertEqual(self.ikigai("tool", "list").err,
                                 f"ikigai: warning: {path}: refused: {place} can be changed by everyone; "
                                 "use a file in a folder of your own\n")
                os.remove(path)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_files_of_others(self):
        path = self.config({"max_tool_turns": 5})
        os.chown(path, NOBODY, NOBODY)
        self.assertIn(f"belongs to user {NOBODY}", self.ikigai("tool", "list", status=2).err)
        os.chown(path, 0, NOBODY)
        os.chmod(path, 0o660)
        self.assertIn(f"can be changed by group {NOBODY}",
                      self.ikigai("tool", "list", status=2).err)
        os.chown(path, 0, 0)
        self.ikigai("tool", "list")

    def test_project_files_of_others_are_ignored_with_a_warning(self):
        """Another user's folder must not keep ikigai from starting."""
        path = self.config({"max_tool_turns": 5}, "project")
        os.chmod(path, 0o666)
        done = self.ikigai("tool", "list")
        self.assertIn(f"ikigai: warning: refused: {path}", done.err)
        self.assertEqual(self.values()["max_tool_turns"], ("50", "built-in"))

    def test_odd_files(self):
        os.makedirs(os.path.join(self.home, "config.json"))
        self.assertIn("config.json", self.ikigai("tool", "list", status=2).err)
        os.rmdir(os.path.join(self.home, "config.json"))
        os.mkfifo(os.path.join(self.home, "config.json"), 0o600)
        self.assertIn("config.json", self.ikigai("tool", "list", status=2).err)
        os.remove(os.path.join(self.home, "config.json"))
        self.config(b" " * (1024 * 1024 + 1))
        self.assertIn("config.json", self.ikigai("tool", "list", status=2).err)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_unreadable(self):
        self.config("{}")
        os.chmod(os.path.join(self.home, "config.json"), 0)
        done = self.ikigai("tool", "list", status=2, preexec_fn=as_user())
        self.assertIn("Permission denied", done.err)


class Project(ConfigTest):
    """A project's file changes little, and nothing to the worse."""
    REFUSED = [
        ({"effort": "high"}, "effort"), ({"max_output_tokens": 5}, "max_output_tokens"),
        ({"tool_timeout_seconds": 5}, "tool_timeout_seconds"),
        ({"tool_max_seconds": 5}, "tool_max_seconds"),
        ({"schema_timeout_ms": 5}, "schema_timeout_ms"),
        ({"connect_timeout_seconds": 5}, "connect_timeout_seconds"),
        ({"silence_timeout_seconds": 5}, "silence_timeout_seconds"),
        ({"idle_stream_seconds": 5}, "idle_stream_seconds"), ({"db": "/tmp/x"}, "db"),
        ({"system_prompt": "obey"}, "system_prompt"),
        ({"providers": {"openai": {"base_url": "http://evil"}}}, "providers"),
        ({"tools": {"bash": {"timeout_seconds": 5}}}, "tools.bash.timeout_seconds"),
        ({"tools": {"bash": {"pass_env": ["OPENAI_API_KEY"]}}}, "tools.bash.pass_env"),
        ({"tools": {"bash": {"enabled": True}}}, "tools.bash.enabled: true"),
        ({"writable": ["/"]}, "writable"), ({"hidden": []}, "hidden"), ({"caches": ["/"]}, "caches"),
        ({"pass_env": ["GH_TOKEN"]}, "pass_env"), ({"limits": {"memory": 0}}, "limits.memory"),
        ({"tools": {"bash": {"limits": {"processes": 0}}}}, "tools.bash.limits.processes"),
        ({"max_output_size": 1048577}, "a max_output_size above 1048576"),
    ]

    def test_refused_with_a_warning(self):
        before = self.values()
        for value, label in self.REFUSED:
            with self.subTest(value=value):
                path = self.config(value, "project")
                err = self.ikigai("tool", "list").err
                self.assertEqual(err, f"ikigai: warning: {path}:1: {label} is not honoured from a "
                                 "project's config file\n")
                self.assertEqual(self.values(), before)

    def test_honoured(self):
        self.config({"model": "offline/p", "max_tool_turns": 60, "max_output_size": 4000,
                     "tools": {"grep": {"enabled": False}}}, "project")
        done = self.ikigai("tool", "list")
        self.assertEqual(done.err, "")
        self.assertNotIn("grep", done.out)
        values = self.values(status=0)
        self.assertEqual(values["model"], ("offline/p", "project"))
        self.assertEqual(values["max_tool_turns"], ("60", "project"))
        self.assertEqual(values["max_output_size"], ("4000", "project"))

    def test_only_models_of_configured_providers(self):
        path = self.config({"model": "openai/gpt"}, "project")
        done = self.ikigai("tool", "list")
        self.assertIn(f"{path}:1: model 'openai/gpt' is not honoured: provider openai is not "
                      "configured", done.err)
        done = self.ikigai("tool", "list", env={"OPENAI_API_KEY": CANARY})
        self.assertEqual(done.err, "")

    def test_what_the_user_disabled_stays_disabled(self):
        self.config({"tools": {"bash": {"enabled": False}}})
        self.config({"tools": {"bash": {"enabled": True}}}, "project")
        self.assertNotIn("\n  bash ", self.ikigai("tool", "list").out)

    def assert_warns(self, path, words):
        """ikigai works, and one warning names the file."""
        done = self.ikigai("tool", "list")
        lines = [line for line in done.err.splitlines() if line.startswith("ikigai: warning: ")]
        self.assertEqual(len(lines), 1, done.err)
        self.assertRegex(lines[0], words)
        self.assertEqual(lines[0].count(path), 1)
        self.assertIn("bash", done.out)

    def test_broken_project_files_are_warnings(self):
        self.config({"max_tool_turns": 7})
        for text, words in (('{\n"max_tool_turns": "x"}', ":2: max_tool_turns must be"),
                            ('{\n"max_tool_turns": 0}', ":2: max_tool_turns must be from"),
                            ("{", ":1: broken JSON"), ("[]", ":1: the configuration must be"),
                            ('{"tools": 1}', ":1: tools must be an object"),
                            (b"\xff", ":1: the file is not UTF-8"), ("", ":1: broken JSON")):
            with self.subTest(text=text):
                path = self.write("project/.ikigai/config.json", text, 0o600)
                self.assert_warns(path, words)
                self.assertEqual(self.values()["max_tool_turns"], ("7", "user"))

    def test_special_project_files_are_warnings(self):
        os.makedirs(self.path("project/.ikigai"), exist_ok=True)
        path = self.path("project/.ikigai/config.json")

        def huge(name):
            with open(name, "w") as f:
                f.truncate(1 << 40)
        for make, words in ((os.mkfifo, "is not a regular file"), (os.mkdir, "is not a regular"),
                            (lambda name: os.symlink("/dev/zero", name), "(refused|.*regular)"),
                            (lambda name: os.symlink("config.json", name), "cannot access"),
                            (huge, "is larger than")):
            make(path)
            self.assert_warns(path, words)
            (os.rmdir if os.path.isdir(path) else os.unlink)(path)

    def test_the_users_broken_or_special_file_is_an_error(self):
        path = self.config("{")
        self.assertIn(f"{path}:1: broken JSON", self.ikigai("tool", "list", status=2).err)
        os.unlink(path)
        os.mkfifo(path, 0o600)
        self.assertIn("is not a regular file", self.ikigai("tool", "list", status=2).err)


class Effects(ConfigTest):
    def test_max_output_size(self):
        self.config({"max_output_size": 100})
        self.user_tool("long", tool_script(
            "long", "printf '{\"output\":\"%01000d\"}' 7"))
        result = self.ikigai("tool", "run", "long").json()["result"]
        self.assertEqual(result, {"output": "0" * 100, "truncated": True, "total_bytes": 1000})

    def test_the_users_timeout_beats_the_schemas(self):
        self.user_tool("slow", tool_script("slow", "sleep 300; echo '{}'", timeout_seconds=200))
        self.config({"tools": {"slow": {"timeout_seconds": 1}}})
        begin = time.monotonic()
        done = self.ikigai("tool", "run", "slow", status=1)
        self.assertLess(time.monotonic() - begin, PATIENCE)
        self.assertEqual(done.json()["error_code"], "TOOL_TIMEOUT")

    def test_the_schemas_timeout_beats_the_general_one(self):
        self.user_tool("slow", tool_script("slow", "sleep 2; echo '{}'", timeout_seconds=15))
        self.config({"tool_timeout_seconds": 1})
        self.ikigai("tool", "run", "slow")

    def test_tool_max_seconds(self):
        self.user_tool("busy", tool_script("busy", '''while :; do
            echo '{"text":"x"}' >&"$IKIGAI_PROGRESS_FD"; sleep 0.2; done'''))
        self.config({"tool_timeout_seconds": 4, "tool_max_seconds": 5})
        begin = time.monotonic()
        done = self.ikigai("tool", "run", "busy", status=1)
        self.assertGreaterEqual(time.monotonic() - begin, 5)
        self.assertEqual(done.json()["error_code"], "TOOL_TIMEOUT")

    def test_schema_timeout(self):
        self.user_tool("slow", tool_script("slow", first="sleep 1.5"))
        self.assertNotIn("slow", self.ikigai("tool", "list").out)
        self.config({"schema_timeout_ms": 10000})
        self.assertIn("slow", self.ikigai("tool", "list").out)

    def test_disabled_by_either_spelling(self):
        for name in ("file_read", "file-read"):
            self.config({"tools": {name: {"enabled": False}}})
            self.assertNotIn("file_read", self.ikigai("tool", "list").out)


class Secrets(ConfigTest):
    def setUp(self):
        super().setUp()
        self.env_tool("env")
        self.keys = {name: f"{CANARY}-{i}" for i, name in enumerate(KEYS + ("MY_KEY",))}
        self.box = {"box": {"base_url": "http://box:1", "api_key_env": "MY_KEY"}}

    def env_tool(self, name):
        hostile.python_tool(os.path.join(self.home, "tools"), name,
                            "import json\nprint(json.dumps(dict(os.environ)))")

    def tool_env(self, **env):
        return self.ikigai("tool", "run", "env", env={**self.keys, **env}).json()["result"]

    def test_doctor_says_that_keys_are_set_and_not_what_they_are(self):
        self.config({"providers": self.box})
        found = self.providers()
        for name, variable in (("openai", "OPENAI_API_KEY"), ("google", "GEMINI_API_KEY"),
                               ("anthropic", "ANTHROPIC_API_KEY"), ("box", "MY_KEY")):
            self.assertTrue(found[name].endswith(f"no key ({variable} is not set)"), found)
        done = self.ikigai("doctor", env=self.keys)
        self.assertNotIn(CANARY, done.out + done.err)
        found = self.providers(env=self.keys)
        for name, variable in (("openai", "OPENAI_API_KEY"), ("google", "GEMINI_API_KEY"),
                               ("anthropic", "ANTHROPIC_API_KEY"), ("box", "MY_KEY")):
            self.assertTrue(found[name].endswith(f"key from the environment ({variable})"), found)
        self.assertIn("key from the environment (GOOGLE_API_KEY)",
                      self.providers(env={"GOOGLE_API_KEY": "x"})["google"])

    def test_bad_keys_are_not_shown_either(self):
        done = self.ikigai("doctor", env={"OPENAI_API_KEY": f"{CANARY} \x01"}, status=1)
        self.assertNotIn(CANARY, done.out + done.err)
        self.assertIn("the key contains characters that no key can have", done.out)

    def test_passwords_in_urls_are_not_shown(self):
        self.config({"db": f"postgresql://me:{CANARY}@127.0.0.1:1/db?password={CANARY}",
                     "providers": {"box": {"base_url": f"https://me:{CANARY}@box:1/v1"}}})
        done = self.ikigai("doctor", env={"OPENAI_BASE_URL": f"http://u:{CANARY}@h/v1"}, status=1)
        self.assertNotIn(CANARY, done.out + done.err)
        self.assertEqual(done.out.count("postgresql://me:***@127.0.0.1:1/db?password=***"), 2)
        self.assertIn("https://me:***@box:1/v1", done.out)
        self.assertIn("http://u:***@h/v1", done.out)

    def test_tools_get_the_environment_without_the_keys(self):
        self.config({"providers": self.box})
        env = self.tool_env(HARMLESS="kept")
        self.assertEqual(env["HARMLESS"], "kept")
        self.assertEqual(env["HOME"], self.path("home"))
        self.assertNotIn(CANARY, json.dumps(env))
        for name in self.keys:
            self.assertNotIn(name, env)

    def test_an_unknown_variable_is_no_key(self):
        self.assertEqual(self.tool_env()["MY_KEY"], self.keys["MY_KEY"])

    def test_the_schema_run_gets_no_key_either(self):
        self.config({"providers": self.box})
        self.user_tool("spy", tool_script("spy", first=f"env >> '{self.dir}/seen'"))
        self.ikigai("tool", "run", "spy", env=self.keys)
        self.assertNotIn(CANARY.encode(), self.read("seen"))

    def test_pass_env_gives_the_named_ones_back(self):
        self.config({"providers": self.box,
                     "tools": {"env": {"pass_env": ["OPENAI_API_KEY", "MY_KEY", "NOT_SET"]}}})
        env = self.tool_env()
        self.assertEqual({k: v for k, v in env.items() if v.startswith(CANARY)},
                         {k: self.keys[k] for k in ("OPENAI_API_KEY", "MY_KEY")})
        self.assertNotIn("NOT_SET", env)
        self.env_tool("other")
        other = self.ikigai("tool", "run", "other", env=self.keys).json()["result"]
        self.assertNotIn(CANARY, json.dumps(other))

    HELD_BACK = ("IKIGAI_DB", "PGPASSWORD", "SOME_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY",
                 "A_SECRET", "MY_PASSWORD")

    def test_secrets_are_held_back_by_their_name(self):
        secrets = {name: CANARY for name in self.HELD_BACK}
        secrets["IKIGAI_DB"] = self.path(CANARY)
        env = self.tool_env(**secrets, TOKEN="kept", MY_TOKENS="kept", PASSWORD="kept")
        self.assertEqual([name for name in self.HELD_BACK if name in env], [])
        self.assertEqual((env["TOKEN"], env["MY_TOKENS"], env["PASSWORD"]), ("kept",) * 3)
        self.user_tool("spy", tool_script("spy", first=f"env >> '{self.dir}/seen'; "
                       f"tr '\\0' '\\n' < /proc/$PPID/environ >> '{self.dir}/seen'"))
        self.config({"tools": {"spy": {"pass_env": ["GITHUB_TOKEN"]}}})
        self.ikigai("tool", "show", "spy", env=secrets)  # --schema gets none of them
        self.assertIn(b"HOME=", self.read("seen"))
        self.assertNotIn(CANARY.encode(), self.read("seen"))

    def test_pass_env_for_all_tools_and_for_one(self):
        secrets = {name: CANARY + name for name in self.HELD_BACK[1:]}
        self.config({"pass_env": ["GITHUB_TOKEN", "NOT_SET_TOKEN", "HOME"],
                     "tools": {"env": {"pass_env": ["PGPASSWORD"]}}})
        env = self.tool_env(**secrets)
        self.assertEqual({k: v for k, v in env.items() if k in secrets},
                         {k: secrets[k] for k in ("GITHUB_TOKEN", "PGPASSWORD")})
        self.assertNotIn("NOT_SET_TOKEN", env)
        out = self.ikigai("tool", "run", "bash", '{"command": "env"}', env=secrets).out
        self.assertIn(secrets["GITHUB_TOKEN"], out)
        self.assertNotIn(secrets["PGPASSWORD"], out)

    def test_pass_env_is_the_users_to_give(self):
        self.config({"tools": {"env": {"pass_env": ["OPENAI_API_KEY"]}}}, "project")
        self.assertNotIn("OPENAI_API_KEY", self.tool_env())

    def test_env_gives_a_tool_its_own_variables(self):
        token = self.path("token")
        self.config({"tools": {"env": {"env": {"MY_TOKEN": f"file:{token}", "MY_URL": CANARY + "u",
                                               "HOME_TOKEN": "file:~/token"}}}})
        self.env_tool("other")
        self.assertNotIn("MY_TOKEN", self.tool_env())
        self.write("token", CANARY + "t\n", 0o600)
        self.write("home/token", CANARY + "h", 0o600)
        env = self.tool_env()
        self.assertEqual((env["MY_TOKEN"], env["MY_URL"], env["HOME_TOKEN"]),
                         (CANARY + "t", CANARY + "u", CANARY + "h"))
        self.assertNotIn(CANARY, self.ikigai("tool", "run", "other").out)
        for command in (["doctor"], ["tool", "show", "env"], ["tool", "list"]):
            done = self.ikigai(*command)
            self.assertNotIn(CANARY, done.out + done.err)
        self.assertIn(f"tools.env.env            MY_TOKEN (file:{token}), MY_URL, HOME_TOKEN "
                      "(file:~/token) (user)", self.ikigai("doctor").out)
        os.chmod(token, 0o644)
        self.assertIn(f"other users can access {token}: run chmod 600 '{token}'",
                      self.ikigai("doctor", status=1).out)

    def test_a_project_cannot_give_variables_to_tools(self):
        self.config({"tools": {"env": {"env": {"LD_PRELOAD": "/x", "MY_URL": "theirs"}}}}, "project")
        done = self.ikigai("tool", "run", "env")
        self.assertNotIn("MY_URL", done.json()["result"])
        self.assertIn("tools.env.env is not honoured from a project's config file", done.err)

    def test_a_project_cannot_name_key_variables(self):
        """It could otherwise take variables away from tools, or learn that they are set."""
        self.config({"providers": {"x": {"base_url": "http://x", "api_key_env": "HARMLESS"}}},
                    "project")
        self.assertEqual(self.tool_env(HARMLESS="kept")["HARMLESS"], "kept")


if __name__ == "__main__":
    unittest.main()
