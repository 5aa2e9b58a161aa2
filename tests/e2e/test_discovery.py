"""Finding tools: folders and precedence, schemas good and bad, hostile tools, the cache."""
import json
import os
import re
import shutil
import subprocess
import time
import unittest

import hostile
from support import IKIGAI, NOBODY, PATIENCE, SHIPPED, TOOLS, ScratchTest, as_user, clean_env

SERIAL = True  # it measures time


class DiscoveryTest(ScratchTest):
    def setUp(self):
        super().setUp()
        self.home = self.path("home")
        self.tools = self.path("home", "tools")
        self.project = self.path("project")
        self.project_tools = self.path("project", ".ikigai", "tools")
        os.makedirs(self.tools)
        os.mkdir(self.project)
        self.addCleanup(hostile.kill_all, self.dir)

    def sh(self, name, schema, folder=None, **more):
        """A shell tool that prints exactly this schema."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        assert "'" not in text
        return self.program(name, f"printf '%s' '{text}'", folder, **more)

    def program(self, name, body, folder=None, **more):
        return hostile.write_program(os.path.join(folder or self.tools, name),
                                     f"#!/bin/sh\n{body}\n", **more)

    def configure(self, **config):
        self.write("home/config.json", json.dumps(config), mode=0o600)

    def run_list(self, *options, before=(), **more):
        env = clean_env(IKIGAI_HOME=self.home, **more.pop("env", {}))
        return subprocess.run([*before, IKIGAI, "tool", "list", "--json", *options], env=env,
                              cwd=self.project, stdin=subprocess.DEVNULL, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def discover(self, *options, **more):
        """({name: entry} of the tools that are not shipped, lines on stderr)"""
        done = self.run_list(*options, **more)
        self.assertEqual(done.returncode, 0, done)
        tools = {tool["name"]: tool for tool in json.loads(done.stdout)}
        mine = {k: v for k, v in tools.items() if not v["path"].startswith(TOOLS + "/")}
        return mine, done.stderr.splitlines()

    def show(self, name):
        done = subprocess.run([IKIGAI, "tool", "show", name, "--json"], cwd=self.project, timeout=60,
                              env=clean_env(IKIGAI_HOME=self.home), stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0)
        return json.loads(done.stdout)

    def assert_failed(self, name, reason, lines):
        """One line for this tool, and its reason matches the pattern."""
        mine = [line for line in lines if f"'{name}'" in line]
        self.assertEqual(len(mine), 1, lines)
        self.assertRegex(mine[0], rf"^Debug: tool '{re.escape(name)}' schema failed \({reason}\)$")


class Folders(DiscoveryTest):
    def test_shipped_tools_are_there(self):
        names = {tool["name"] for tool in json.loads(self.run_list().stdout)}
        built = {name.replace("-", "_") for name in os.listdir(TOOLS)}
        self.assertEqual(names, built & set(SHIPPED))

    def test_fields(self):
        path = self.sh("mine", {"name": "mine", "description": "What\nit does"})
        done = self.run_list()
        entries = json.loads(done.stdout)
        self.assertEqual([e["name"] for e in entries], sorted(e["name"] for e in entries))
        for entry in entries:
            self.assertEqual(set(entry), {"name", "path", "source", "description", "cached",
                                          "overrides", "effects"})
        mine = [e for e in entries if e["name"] == "mine"][0]
        self.assertEqual(mine, {"name": "mine", "path": path, "source": "user", "cached": False,
                                "description": "What\nit does", "overrides": None,
                                "effects": None})
        bash = [e for e in entries if e["name"] == "bash"][0]
        self.assertEqual((bash["source"], bash["path"]), ("system", os.path.join(TOOLS, "bash")))

    def test_precedence(self):
        user = self.sh("whatever", {"name": "bash", "description": "user"})
        tools, lines = self.discover()
        self.assertEqual((tools["bash"]["path"], tools["bash"]["overrides"]),
                         (user, os.path.join(TOOLS, "bash")))
        project = self.sh("something", {"name": "bash", "description": "project"},
                          folder=self.project_tools)
        tools, lines = self.discover("--trust")
        self.assertEqual((tools["bash"]["path"], tools["bash"]["source"], tools["bash"]["overrides"],
                          tools["bash"]["description"]), (project, "project", user, "project"))
        self.assertEqual(lines, [f"Tool 'bash' from {project} overrides the one from {user}"])

    def test_untrusted_project_runs_nothing(self):
        self.program("spy", f"touch {self.path('ran')}; echo '{{\"name\":\"spy\"}}'",
                     folder=self.project_tools)
        tools, lines = self.discover()
        self.assertEqual(tools, {})
        self.assertEqual(len(lines), 1)
        self.assertIn("1 project tool", lines[0])
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertIn("spy", self.discover("--trust")[0])

    def test_home_folder_as_project_is_the_users(self):
        self.sh("mine", {"name": "mine"}, folder=self.project_tools)
        self.home = self.path("project", ".ikigai")
        tools, lines = self.discover()
        self.assertEqual((tools["mine"]["source"], lines), ("user", []))

    def test_two_tools_of_one_name(self):
        first = self.sh("a", {"name": "same"})
        self.sh("b", {"name": "same"})
        tools, lines = self.discover()
        self.assertEqual(tools["same"]["path"], first)
        self.assert_failed("b", ".*already provides 'same'", lines)

    def test_what_is_no_tool_is_ignored(self):
        self.sh(".hidden", {"name": "hidden"})
        hostile.write_program(os.path.join(self.tools, "README.md"), "# Mine\n", mode=0o644)
        hostile.write_program(os.path.join(self.tools, "shared.py"), "X = 1\n", mode=0o644)
        os.makedirs(os.path.join(self.tools, "folder"))
        os.mkfifo(os.path.join(self.tools, "fifo"), 0o755)
        self.assertEqual(self.discover(), ({}, []))

    def test_what_was_meant_to_be_a_tool_is_told(self):
        plain = self.sh("plain", {"name": "plain"}, mode=0o644)
        shutil.copy(os.path.join(TOOLS, "bash"), os.path.join(self.tools, "binary"))
        os.chmod(os.path.join(self.tools, "binary"), 0o600)
        os.symlink("nowhere", os.path.join(self.tools, "dangling"))
        os.symlink("loop", os.path.join(self.tools, "loop"))
        tools, lines = self.discover()
        self.assertEqual((tools, len(lines)), ({}, 4), lines)
        self.assertEqual(lines[3],
                         f"Tool 'plain' is not used: it is not executable; chmod +x '{plain}'")
        for line, name, words in zip(lines, ("binary", "dangling", "loop"),
                                     ("chmod [+]x", "is a broken link", "is a broken link")):
            self.assertRegex(line, f"^Tool '{name}' is not used: .*{words}")
        done = subprocess.run([IKIGAI, "doctor"], cwd=self.project, stdout=subprocess.PIPE,
                              env=clean_env(IKIGAI_HOME=self.home), timeout=60, text=True)
        self.assertEqual(done.returncode, 1)
        for line in lines:
            self.assertIn(line, done.stdout)

    def test_no_folder_at_all(self):
        shutil.rmtree(self.home)
        self.assertEqual(self.discover(), ({}, []))

    def test_symlinked_tool(self):
        target = self.sh("target", {"name": "linked"}, folder=self.path("elsewhere"))
        os.symlink(target, os.path.join(self.tools, "link"))
        self.assertEqual(self.discover()[0]["linked"]["path"], os.path.join(self.tools, "link"))

    def test_disabled_tools_are_not_listed(self):
        self.sh("off-tool", {"name": "off-tool"})
        self.configure(tools={"off-tool": {"enabled": False}, "bash": {"enabled": False}})
        done = self.run_list()
        names = {tool["name"] for tool in json.loads(done.stdout)}
        self.assertFalse(names & {"off_tool", "bash"}, names)


class Ownership(DiscoveryTest):
    def refused(self, name):
        tools, lines = self.discover()
        mine = [line for line in lines if f"'{name}'" in line]
        self.assertEqual((tools, len(mine)), ({}, 1), lines)
        self.assertFalse(os.path.exists(self.path("ran")))
        return mine[0]

    def spy(self, name="spy", folder=None, mode=0o755):
        return self.program(name, f"touch {self.path('ran')}; echo '{{\"name\":\"spy\"}}'", folder,
                            mode=mode)

    def test_world_writable(self):
        self.spy(mode=0o757)
        self.assertIn("can be changed by everyone", self.refused("spy"))

    def test_world_writable_folder(self):
        self.spy()
        os.chmod(self.tools, 0o777)
        self.assertIn("can be changed by everyone", self.refused("spy"))

    def test_target_of_a_link_counts(self):
        os.symlink(self.spy("target", self.path("elsewhere"), 0o757),
                   os.path.join(self.tools, "spy"))
        self.refused("spy")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_foreign_owner(self):
        os.chown(self.spy(), NOBODY, -1)
        self.assertIn(f"user {NOBODY}", self.refused("spy"))

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_foreign_group(self):
        os.chown(self.spy(mode=0o775), -1, NOBODY)
        os.chmod(os.path.join(self.tools, "spy"), 0o775)
        self.assertIn(f"group {NOBODY}", self.refused("spy"))

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_tools_of_root_and_of_the_user_run(self):
        self.sh("roots", {"name": "roots"})
        os.chown(self.sh("mine", {"name": "mine"}), NOBODY, NOBODY)
        os.chown(self.sh("other", {"name": "other"}), 12345, 12345)
        os.chown(self.home, NOBODY, NOBODY)
        tools, lines = self.discover(preexec_fn=as_user())
        self.assertEqual(set(tools), {"roots", "mine"})
        self.assertEqual(len(lines), 1, lines)


class Schemas(DiscoveryTest):
    def parameters(self, parameters):
        self.sh("tool", {"name": "tool", "parameters": parameters})
        return self.show("tool")["parameters"]

    def test_names(self):
        long = "x" * 64
        good = {"a": "a", "read-it": "read_it", "_": "_", "A1_": "A1_", "-x": "_x", long: long}
        for i, name in enumerate(good):
            self.sh(f"good{i}", {"name": name})
        bad = ["", "1a", "a b", "a.b", "é", "a/b", "x" * 65, "a\n", "a\u0000b"]
        for i, name in enumerate(bad):
            self.sh(f"bad{i}", json.dumps({"name": name}))
        tools, lines = self.discover()
        self.assertEqual(set(tools), set(good.values()))
        self.assertEqual(len(lines), len(bad), lines)
        for i in range(len(bad)):
            self.assert_failed(f"bad{i}", "invalid name.*", lines)

    def test_short_form_becomes_json_schema(self):
        found = self.parameters({
            "path": {"type": "string", "description": "where", "required": True},
            "type": {"type": "integer", "required": False},
            "nested": {"type": "object", "required": ["a"], "properties": {"a": {}}}})
        self.assertEqual(found["type"], "object")
        self.assertEqual(found["required"], ["path"])
        self.assertEqual(found["properties"], {
            "path": {"type": "string", "description": "where"}, "type": {"type": "integer"},
            "nested": {"type": "object", "required": ["a"], "properties": {"a": {}}}})

    def test_json_schema_stays(self):
        given = {"type": "object", "properties": {"a": {"type": ["string", "null"]}, "type": {}},
                 "required": ["a"], "additionalProperties": False, "x-more": [1]}
        self.assertEqual(self.parameters(given), given)

    def test_missing_parts_are_added(self):
        self.assertEqual(self.parameters({"type": "object"}),
                         {"type": "object", "properties": {}})
        self.sh("bare", {"name": "bare"})
        self.assertEqual(self.show("bare")["parameters"], {"type": "object", "properties": {}})

    def test_options(self):
        self.sh("tool", {"name": "tool", "timeout_seconds": 7, "parallel": True})
        shown = self.show("tool")
        self.assertEqual((shown["timeout_seconds"], shown["parallel"]), (7, True))

    def test_broken_schemas_cost_one_line_each(self):
        broken = {
            "rubbish": ("echo rubbish", "invalid JSON.*"),
            "cut": ("echo '{\"name\":\"cut\"'", "invalid JSON.*"),
            "two": ("echo '{\"name\":\"two\"}{}'", "invalid JSON.*"),
            "list": ("echo '[]'", ".*not a JSON object"),
            "nameless": ("echo '{}'", "no name"),
            "number": ("echo '{\"name\":1}'", "no name"),
            "silent": ("true", "no output"),
            "exits": ("echo '{\"name\":\"exits\"}'; exit 3", "exit code 3"),
            "killed": ("kill -SEGV $$", "killed by signal 11"),
            "binary": (r"printf '\377\376\000\n\n\r'", "invalid JSON.*"),
            "parameters": ("echo '{\"name\":\"p\",\"parameters\":[]}'", "parameters .*"),
            "property": ("echo '{\"name\":\"p\",\"parameters\":{\"a\":1}}'", "parameter 'a' .*"),
            "timeout": ("echo '{\"name\":\"t\",\"timeout_seconds\":0}'", "timeout_seconds .*"),
            "parallel": ("echo '{\"name\":\"t\",\"parallel\":1}'", "parallel .*"),
            "description": ("echo '{\"name\":\"t\",\"description\":1}'", "description .*"),
            "noisy": ("echo '{\"name\":\"noisy\"}'; echo done", "invalid JSON.*"),
        }
        for name, (body, _) in broken.items():
            self.program(name, body)
        hostile.write_program(os.path.join(self.tools, "interpreterless"), "#!/nonexistent\n")
        hostile.write_program(os.path.join(self.tools, "empty"), b"")
        self.sh("fine", {"name": "fine"})
        tools, lines = self.discover()
        self.assertEqual(set(tools), {"fine"})
        self.assertEqual(len(lines), len(broken) + 2, lines)
        for name, (_, reason) in broken.items():
            self.assert_failed(name, reason, lines)
        self.assert_failed("interpreterless", "its first line names /nonexistent, which cannot be "
                           "run: No such file or directory", lines)
        self.assert_failed("empty", "no output", lines)

    def test_bad_first_lines(self):
        cases = {"windows": ("#!/bin/sh\r\necho\r\n", "its first line ends with a carriage return; .*"),
                 "missing": ("#!/usr/bin/env no-such-program\n",
                             "exit code 127: its first line asks for no-such-program; is it "
                             "installed[?]"),
                 "folder": ("#!/etc\n", "its first line names /etc, which cannot be run: .*")}
        for name, (text, _) in cases.items():
            hostile.write_program(os.path.join(self.tools, name), text)
        _, lines = self.discover()
        for name, (_, reason) in cases.items():
            self.assert_failed(name, reason, lines)

    def test_a_file_name_cannot_forge_a_line(self):
        self.program("evil\nDebug: all is well\x1b[2J", "exit 1")
        _, lines = self.discover()
        self.assertEqual(len(lines), 1, lines)
        self.assertNotIn("\x1b", lines[0])

    def test_nothing_of_a_call_is_there_when_asked(self):
        """Schema runs have no arguments on stdin, no progress, stderr goes nowhere."""
        self.program("probe", 'read x && exit 1; [ -e /proc/$$/fd/3 ] && exit 2; echo loud >&2; '
                              '[ "$1$#" = --schema1 ] || exit 3; echo \'{"name":"probe"}\'')
        tools, lines = self.discover()
        self.assertEqual((set(tools), lines), ({"probe"}, []))


class Hostile(DiscoveryTest):
    def test_slow_tool(self):
        self.configure(schema_timeout_ms=300)
        self.program("slow", "sleep 100; echo '{\"name\":\"slow\"}'")
        self.program("deaf", "trap '' TERM; while :; do sleep 100; done")
        self.program("stopped", "kill -STOP $$")
        self.sh("fine", {"name": "fine"})
        begin = time.monotonic()
        tools, lines = self.discover()
        self.assertLess(time.monotonic() - begin, 0.3 + PATIENCE)
        self.assertEqual((set(tools), len(lines)), ({"fine"}, 3))
        for name in ("slow", "deaf", "stopped"):
            self.assert_failed(name, "timeout", lines)
        self.assertEqual(hostile.processes_with(self.dir), {})

    def test_flood(self):
        self.program("flood", "exec yes")
        self.program("long", "echo '\"'; head -c 2000000 /dev/zero | tr '\\0' x; echo '\"'")
        begin = time.monotonic()
        tools, lines = self.discover()
        self.assertLess(time.monotonic() - begin, PATIENCE)
        self.assert_failed("flood", "too much output", lines)
        self.assert_failed("long", "too much output", lines)

    def test_large_schema(self):
        text = "x" * 500_000
        self.write("home/schema", json.dumps({"name": "large", "description": text}))
        self.program("large", f"cat {self.path('home', 'schema')}")
        self.assertEqual(self.discover()[0]["large"]["description"], text)

    def test_forkers_leave_nothing(self):
        """They answer well and leave children; those are ended, the answer counts."""
        sleep = os.path.join(self.home, "survivor")
        os.symlink("/bin/sleep", sleep)
        bodies = {"child": f"{sleep} 300 &", "session": f"setsid {sleep} 300 &",
                  "daemon": f"(setsid {sleep} 300 &)", "hidden": f"(env -i setsid {sleep} 300 &)",
                  "deaf": f"(trap '' TERM; exec {sleep} 300) &"}
        for name, body in bodies.items():
            self.program(name, f"{body}\nsleep 0.05; echo '{{\"name\":\"{name}\"}}'")
        begin = time.monotonic()
        tools, lines = self.discover()
        self.assertLess(time.monotonic() - begin, PATIENCE)
        self.assertEqual((set(tools), lines), (set(bodies), []))
        self.assertEqual(hostile.processes_with(self.home), {})

    def test_tools_that_kill_the_keeper_cost_only_themselves(self):
        """Those that were being asked at the same time are asked again."""
        for name in ("a_regicide", "tool10_regicide"):
            self.program(name, "sleep 0.02; kill -9 $PPID")
        for i in range(40):
            self.sh(f"tool{i:02}", {"name": f"tool{i:02}"})
        tools, lines = self.discover()
        self.assertEqual(len(tools), 40, lines)
        self.assertEqual(len(lines), 2, lines)
        for name in ("a_regicide", "tool10_regicide"):
            self.assert_failed(name, "the process keeper died", lines)

    def test_two_hundred_slow_starters(self):
        """Two hundred Python programs on a few cores: none is lost. Each has its second, or twice
        what sixteen of them take on a machine that is busy otherwise. If it became busy only after
        this was measured, they are tried again."""
        for i in range(200):
            hostile.write_program(os.path.join(self.tools, f"t{i}"), f"""#!/usr/bin/python3
import json, sys
print(json.dumps({{"name": "t{i}", "description": "slow"}}))
""")
        for _ in range(5):
            begin = time.monotonic()
            several = [subprocess.Popen(["/usr/bin/python3", "-c", "import json"])
                       for _ in range(16)]
            for process in several:
                process.wait()
            self.configure(schema_timeout_ms=int(max(1, 2 * (time.monotonic() - begin)) * 1000))
            tools, lines = self.discover()
            if not lines:
                break
        self.assertEqual(lines, [])
        self.assertEqual(len(tools), 200)


class Cache(DiscoveryTest):
    def count_tool(self, name="counted", **more):
        """A tool that leaves a mark each time it is started."""
        return self.program(name, f"echo x >> {self.path('runs')}; "
                                  f"echo '{{\"name\":\"{name}\",\"description\":\"'$1'\"}}'", **more)

    def runs(self):
        return len(self.read("runs").split()) if os.path.exists(self.path("runs")) else 0

    def assert_asked(self, times, cached):
        """One discovery asks that many times and says whether the tool came from the cache."""
        before = self.runs()
        tools, lines = self.discover()
        self.assertEqual((tools["counted"]["cached"], self.runs() - before, lines),
                         (cached, times, []))

    def test_warm_start(self):
        self.count_tool()
        self.assert_asked(1, False)
        self.assert_asked(0, True)

    @unittest.skipUnless(shutil.which("strace"), "strace is missing")
    def test_warm_start_executes_nothing(self):
        # Shipped tools of a fresh build are too young to be cached.
        time.sleep(max(0, 2.1 - (time.time() - max(
            os.stat(os.path.join(TOOLS, name)).st_mtime for name in os.listdir(TOOLS)))))
        for i in range(5):
            self.sh(f"t{i}", {"name": f"t{i}"})
        cold = self.strace_list()
        self.assertGreater(len(cold), 6, cold)
        self.assertEqual(len(self.strace_list()), 1)

    def strace_list(self):
        log = self.path("strace")
        # The leak checker of a sanitizer build cannot run under strace.
        done = self.run_list(before=["strace", "-f", "-e", "trace=execve,execveat", "-o", log],
                             env={"ASAN_OPTIONS": "detect_leaks=0"})
        self.assertEqual(done.returncode, 0, done)
        return [line for line in self.read("strace").decode().splitlines() if " exec" in line]

    def test_refresh_asks_again(self):
        self.count_tool()
        self.assert_asked(1, False)
        self.assert_asked(0, True)
        before = self.runs()
        tools, _ = self.discover("--refresh")
        self.assertEqual((tools["counted"]["cached"], self.runs() - before), (False, 1))

    def test_an_answer_that_comes_from_another_file(self):
        """The cache watches the tool's own file; --refresh, and every message, ask the tool."""
        self.program("wrapper", f"cat {self.path('schema')}")
        self.write("schema", '{"name":"wrapper","description":"old"}')
        self.discover()
        self.write("schema", '{"name":"wrapper","description":"new"}')
        self.assertEqual(self.discover()[0]["wrapper"]["description"], "old")
        self.assertEqual(self.discover("--refresh")[0]["wrapper"]["description"], "new")
        self.assertEqual(self.discover()[0]["wrapper"]["description"], "new")

    def test_content_change(self):
        path = self.count_tool()
        self.assert_asked(1, False)
        status = os.stat(path)
        with open(path, "r+b") as f:  # same size, same file, same mtime
            f.seek(-1, os.SEEK_END)
            f.write(b" ")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        self.assertEqual(os.stat(path).st_size, status.st_size)
        self.assert_asked(1, False)
        self.assert_asked(0, True)

    def test_touch(self):
        path = self.count_tool()
        self.assert_asked(1, False)
        os.utime(path, (hostile.LONG_AGO + 1, hostile.LONG_AGO + 1))
        self.assert_asked(1, False)

    def test_replaced_file(self):
        path = self.count_tool()
        self.assert_asked(1, False)
        shutil.copy2(path, path + ".new")
        os.rename(path + ".new", path)
        self.assert_asked(1, False)

    def test_changed_mode(self):
        path = self.count_tool()
        self.assert_asked(1, False)
        os.chmod(path, 0o700)
        self.assert_asked(1, False)

    def test_symlink_to_another_file(self):
        link = os.path.join(self.tools, "link")
        folder = self.path("elsewhere")
        os.symlink(self.sh("one", {"name": "same", "description": "one"}, folder=folder), link)
        self.assertEqual(self.discover()[0]["same"]["description"], "one")
        other = self.sh("two", {"name": "same", "description": "two"}, folder=folder)
        os.unlink(link)
        os.symlink(other, link)
        self.assertEqual(self.discover()[0]["same"]["description"], "two")

    def test_symlinks_target_changes(self):
        link = os.path.join(self.tools, "link")
        folder = self.path("elsewhere")
        os.symlink(self.sh("one", {"name": "same", "description": "one"}, folder=folder), link)
        self.assertEqual(self.discover()[0]["same"]["description"], "one")
        self.sh("one", {"name": "same", "description": "two"}, folder=folder)
        self.assertEqual(self.discover()[0]["same"]["description"], "two")

    def test_young_files_are_not_cached(self):
        path = self.count_tool(age=None)
        self.assert_asked(1, False)
        self.assert_asked(1, False)
        os.utime(path, (time.time() + 3600, time.time() + 3600))  # from the future: as young
        self.assert_asked(1, False)
        self.assert_asked(1, False)

    def test_failures_are_not_cached(self):
        self.program("flaky", f"test -e {self.path('works')} && echo '{{\"name\":\"flaky\"}}'")
        self.assert_failed("flaky", "exit code 1", self.discover()[1])
        self.write("works")
        self.assertIn("flaky", self.discover()[0])

    def test_removed_tool(self):
        path = self.count_tool()
        self.discover()
        os.unlink(path)
        self.assertEqual(self.discover(), ({}, []))

    def cache_file(self):
        files = [os.path.join(folder, name) for folder, _, names in
                 os.walk(self.path("home", "cache")) for name in names]
        self.assertEqual(len(files), 1, files)
        return files[0]

    def test_damaged_cache(self):
        self.count_tool()
        self.assert_asked(1, False)
        with open(self.cache_file(), "rb") as f:
            good = f.read()
        damages = [b"", b"\0" * 100, b"{", b"[]", b"null", good[:len(good) // 2], good + b"x",
                   b'{"format":1,"entries":[]}', b'{"format":99,"entries":{}}',
                   re.sub(rb'"identity":"[^"]*"', b'"identity":7', good),
                   re.sub(rb'\\"name\\"', b'\\\\"mane\\\\"', good),
                   re.sub(rb'"schema":"', b'"schema":"[', good)]
        for damage in damages:
            with self.subTest(damage=damage[:40]):
                self.assertNotEqual(damage, good)
                with open(self.cache_file(), "wb") as f:
                    f.write(damage)
                self.assert_asked(1, False)
                self.assert_asked(0, True)

    def test_unusable_cache(self):
        self.count_tool()
        self.write("home/cache", "a file where the folder should be")
        self.assert_asked(1, False)
        self.assert_asked(1, False)

    @unittest.skipUnless(os.geteuid() == 0, "root drops its rights here")
    def test_unwritable_home(self):
        self.sh("mine", {"name": "mine"})
        os.chmod(self.home, 0o555)
        tools, lines = self.discover(preexec_fn=as_user())
        self.assertEqual((set(tools), lines), ({"mine"}, []))

    def test_cache_is_private(self):
        self.count_tool()
        self.discover(preexec_fn=lambda: os.umask(0))
        self.assertEqual(os.stat(self.cache_file()).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(self.path("home", "cache")).st_mode & 0o777, 0o700)

    def test_trusted_project_tools_are_cached_too(self):
        self.sh("mine", {"name": "mine"}, folder=self.project_tools)
        self.discover("--trust")
        time.sleep(2.1)  # the trusted copy is new
        self.discover("--trust")
        self.assertTrue(self.discover("--trust")[0]["mine"]["cached"])


if __name__ == "__main__":
    unittest.main()
