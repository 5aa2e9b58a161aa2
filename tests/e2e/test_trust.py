"""Tools of a project: nothing of them runs before consent, and consent is to bytes."""
import hashlib
import json
import os
import pty
import re
import shutil
import socket
import subprocess
import time
import unittest

from support import IKIGAI, NOBODY, PATIENCE, TOOLS, IkigaiTest, as_user, tool_script

ROOT_ONLY = unittest.skipUnless(os.geteuid() == 0, "needs root")


class TrustTest(IkigaiTest):
    def setUp(self):
        super().setUp()
        self.mark = self.path("mark")
        # A confined tool could not leave a mark outside the project.
        self.config({"confinement": "off", "schema_timeout_ms": 60000})  # for Python, when busy
        self.tools = os.path.join(self.project, ".ikigai", "tools")

    def canary(self, name="canary", **more):
        """A tool that leaves a mark whenever it is executed, for whatever reason."""
        return self.project_tool(name, tool_script(
            name.replace("-", "_"), first=f"echo \"$0\" >> '{self.mark}'", **more))

    def ran(self):
        """The files that were executed."""
        if not os.path.exists(self.mark):
            return []
        with open(self.mark) as f:
            return f.read().splitlines()

    def names(self, *options, **more):
        return [t["name"] for t in self.ikigai("tool", "list", "--json", *options, **more).json()]

    def trust(self, *args):
        return self.ikigai("trust", "--yes", *args)

    def records(self):
        with open(os.path.join(self.home, "trust.json")) as f:
            return json.load(f)["folders"]

    def copies(self):
        try:
            return os.listdir(os.path.join(self.home, "trusted"))
        except FileNotFoundError:
            return []

    def assert_untrusted(self, words):
        done = self.ikigai("tool", "list")
        self.assertNotIn("(project)", done.out)
        self.assertIn(words, done.err)
        ran = self.ran()
        self.assertEqual(self.ikigai("tool", "run", "canary", "{}", status=1)
                         .json()["error_code"], "TOOL_NOT_FOUND")
        self.assertEqual(self.ran(), ran)


class BeforeConsent(TrustTest):
    COMMANDS = [
        (["tool", "list"], b""), (["tool", "list", "--json"], b""), (["doctor"], b""),
        (["tool", "show", "canary"], b""), (["tool", "show", "grep"], b""),
        (["tool", "run", "canary", "{}"], b""), (["tool", "run", "canary"], b"{}"),
        (["tool", "run", "bash", '{"command":"true"}'], b""), (["trust"], b""),
        (["trust"], b"n\n"), (["trust", "."], b"no\n"), (["untrust"], b""), (["--version"], b""),
    ]

    def fill(self):
        self.canary()
        self.canary("bash", description="Overrides a shipped one")
        self.canary("sub/inner")
        os.symlink("canary", os.path.join(self.tools, "link"))
        shutil.copy("/bin/sh", os.path.join(self.tools, "elf"))
        self.write("project/.ikigai/config.json", '{"model": "offline/offline"}', 0o644)

    def test_no_command_runs_anything(self):
        self.fill()
        for args, stdin in self.COMMANDS:
            with self.subTest(args=args, stdin=stdin):
                self.ikigai(*args, input=stdin, status=None)
                self.assertEqual(self.ran(), [])
        self.assertNotIn("canary", self.names())

    @unittest.skipUnless(shutil.which("strace"), "strace is missing")
    def test_no_exec_is_even_tried(self):
        self.fill()
        for args, stdin in self.COMMANDS:
            with self.subTest(args=args, stdin=stdin):
                text = "\n".join(self.trace("execve,execveat", *args, options=["-f"],
                                            input=stdin))
                self.assertIn("execve(", text)
                self.assertNotIn(os.path.realpath(self.project), text)
                self.assertNotIn("trusted/", text)
                self.assertNotIn("AT_EMPTY_PATH", text)

    def test_the_line_says_how_many_and_what_they_would_override(self):
        self.canary()
        err = self.ikigai("tool", "list").err
        self.assertEqual(err, "1 project tool is not trusted and not used. Review: /trust or "
                         "ikigai trust\n")
        self.canary("bash")
        self.canary("file-read")
        err = self.ikigai("tool", "list").err
        self.assertEqual(err, "3 project tools are not trusted and not used; would override bash, "
                         "file_read. Review: /trust or ikigai trust\n")
        self.assertIn("  Project tools: not trusted\n", self.ikigai("doctor").out)

    def test_nothing_to_trust(self):
        self.write("project/.ikigai/tools/readme", "no tool", 0o644)
        self.assertEqual(self.ikigai("tool", "list").err, "")
        for args in ([], [self.project], [self.path("home")]):
            with self.subTest(args=args):
                done = self.ikigai("trust", "--yes", *args, status=1)
                self.assertIn("There are no tools in ", done.err)
        self.assertFalse(os.path.exists(os.path.join(self.home, "trust.json")))

    def test_a_project_that_does_not_exist(self):
        missing, file = self.path("missing"), self.write("file")
        self.assertEqual(self.ikigai("trust", missing, status=1).err,
                         f"ikigai: {missing}: No such file or directory\n")
        self.assertEqual(self.ikigai("trust", file, status=1).err, f"ikigai: {file} is not a folder\n")

    def test_an_empty_name_is_not_the_current_project(self):
        self.canary()
        for words in (["trust", "--yes", ""], ["untrust", ""]):
            done = self.ikigai(*words, status=2)
            self.assertIn("DIR is empty; leave it out for the current folder\n", done.err)
        self.assertNotIn("canary", self.names())

    def test_a_file_in_place_of_the_folder(self):
        self.write("project/.ikigai/tools", "")
        self.assertIn("Project tools are not used: ", self.ikigai("tool", "list").err)
        self.ikigai("trust", "--yes", status=1)


class Consent(TrustTest):
    def test_answers(self):
        for answer, accepted in [
                (b"y\n", True), (b"Y\n", True), (b"yes\n", True), (b"y\r\n", True), (b"y", True),
                (b"", False), (b"\n", False), (b"n\n", False), (b"no\n", False), (b"YES\n", True),
                (b" y\n", False), (b"y y\n", False), (b"yep\n", False), (b"\ny\n", False),
                (b"y" * 100 + b"\n", False), (b"x" * 63 + b"y\n", False), (b"1\n", False)]:
            with self.subTest(answer=answer):
                self.canary()
                done = self.ikigai("trust", input=answer, status=0 if accepted else 1)
                self.assertIn("Trust them? [y/N] ", done.out)
                self.assertIn("Trusted." if accepted else "Not trusted.\n", done.out)
                self.assertEqual("canary" in self.names(), accepted)
                self.assertEqual(bool(self.copies()), accepted)
                self.ikigai("untrust")

    def test_the_review_shows_what_is_meant(self):
        path = self.canary("bash")
        self.project_tool("lib/data", "12345", 0o640)
        os.symlink("bash", os.path.join(self.tools, "alias"))
        done = self.trust()
        self.assertIn(f"About to trust {os.path.realpath(self.tools)}:\n", done.out)
        self.assertRegex(done.out, r"(?m)^  bash +%d bytes  mode 0755  sha256 [0-9a-f]{16}$"
                         % os.path.getsize(path))
        self.assertRegex(done.out, r"(?m)^  lib/data +5 bytes  mode 0640  sha256 5994471abb01112a$")
        self.assertRegex(done.out, r"(?m)^  alias +-> bash$")
        self.assertIn(f"Overrides bash ({TOOLS}/bash)\n", done.out)
        self.assertRegex(done.out, r"(?m)^2 tools, 3 files, \d+ bytes\. They will run from a "
                         "copy of these bytes, confined to what they declare.$")
        self.assertIn("Trusted. Any change in the folder revokes the trust.\n", done.out)
        self.assertNotIn("[y/N]", done.out)

    def test_the_review_shows_the_text(self):
        self.project_tool("deploy", "#!/bin/sh\necho one\n=== fake (unchanged)\n\x1b[8mhidden\r\n"
                                    "caf\u00e9 \u202e\x9b no newline", 0o755)
        self.project_tool("lib/blob", "a\0b", 0o644)
        os.symlink("deploy", os.path.join(self.tools, "alias"))
        out = self.ikigai("trust", input=b"n\n", status=1).out
        shown = out.partition("About to trust")[0].splitlines()
        self.assertEqual(shown, [
            "=== alias", "[link to deploy]", "=== deploy", "| #!/bin/sh", "| echo one",
            "| === fake (unchanged)", "| ^[[8mhidden^M", "| caf\u00e9 <U+202E><U+009B> no newline",
            "=== lib/blob",
            f"[not text: 3 bytes, sha256 {hashlib.sha256(b'a' + bytes(1) + b'b').hexdigest()}]"])

    def on_terminal(self, **env):
        """What `ikigai trust` prints on a terminal where the user answers n."""
        master, slave = pty.openpty()
        child = subprocess.Popen([IKIGAI, "trust"], cwd=self.project, env=self.env(**env), stdin=slave,
                                 stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        os.write(master, b"n\n")
        seen = b""
        try:
            while part := os.read(master, 4096):
                seen += part
        except OSError:  # the other end is closed
            pass
        os.close(master)
        self.assertEqual(child.wait(PATIENCE), 1)
        return seen.decode()

    def test_on_a_terminal_the_text_is_in_the_pager(self):
        self.canary()
        paged = self.path("paged")
        out = self.on_terminal(PAGER=f"cat > '{paged}'")
        self.assertIn("| #!/bin/sh", self.read("paged").decode())
        self.assertNotIn("| #!/bin/sh", out)
        self.assertIn("Trust them?", out)
        self.assertIn("| #!/bin/sh", self.on_terminal(PAGER="/no/such/pager"))

    def test_a_change_is_shown_as_a_diff(self):
        lines = [f"line {i}\n" for i in range(1, 41)]
        self.project_tool("deploy", "#!/bin/sh\n" + "".join(lines), 0o755)
        self.project_tool("same", "#!/bin/sh\n", 0o755)
        self.project_tool("old", "#!/bin/sh\n", 0o755)
        self.trust()
        lines[2] = "changed\n"
        del lines[20]
        self.project_tool("deploy", "#!/bin/sh\n" + "".join(lines) + "end", 0o755)
        self.project_tool("fresh", "#!/bin/sh\n", 0o755)
        os.unlink(os.path.join(self.tools, "old"))
        out = self.ikigai("trust", input=b"n\n", status=1).out
        shown = out.partition("About to trust")[0].splitlines()
        self.assertEqual(shown, [
            "=== deploy (changed)", "--- a/deploy", "+++ b/deploy",
            "@@ -1,7 +1,7 @@", " #!/bin/sh", " line 1", " line 2", "-line 3", "+changed", " line 4",
            " line 5", " line 6",
            "@@ -19,7 +19,6 @@", " line 18", " line 19", " line 20", "-line 21", " line 22", " line 23",
            " line 24",
            "@@ -39,3 +38,4 @@", " line 38", " line 39", " line 40", "+end",
            "\\ No newline at end of file",
            "=== fresh (new)", "| #!/bin/sh", "=== old (gone)",
            "1 file is unchanged since the folder was trusted."])

    def test_once_is_enough(self):
        self.canary()
        self.trust()
        self.assertEqual(self.ikigai("trust").out, "Already trusted.\n")
        self.assertIn("  Project tools: trusted\n", self.ikigai("doctor").out)

    def test_what_cannot_be_shown_is_not_consented_to(self):
        self.canary()
        with open("/dev/full", "wb") as full:
            self.ikigai("trust", input=b"y\n", status=1, stdout=full)
        self.assertNotIn("canary", self.names())

    def test_another_folder(self):
        self.canary()
        for argument in (self.project, os.path.relpath(self.project, self.dir), "project/"):
            with self.subTest(argument=argument):
                self.ikigai("trust", argument, "--yes", cwd=self.dir)
                self.assertIn("canary", self.names())
                self.assertEqual(self.ikigai("untrust", argument, cwd=self.dir).out,
                                 "No longer trusted.\n")
                self.assertNotIn("canary", self.names())

    def test_trust_for_one_run(self):
        self.canary()
        for args in (["tool", "list", "--trust"], ["tool", "show", "canary", "--trust"],
                     ["tool", "run", "--trust", "canary", "{}"]):
            with self.subTest(args=args):
                done = self.ikigai(*args)
                self.assertNotIn("not trusted", done.err)
                self.assertTrue(self.ran())
                os.remove(self.mark)
                self.assertNotIn("canary", self.names())
                self.assertEqual(self.ran(), [])
        self.assertFalse(os.path.exists(os.path.join(self.home, "trust.json")))

    def test_a_project_tool_overrides(self):
        path = self.canary("bash", description="Mine")
        self.trust()
        tool = [t for t in self.ikigai("tool", "list", "--json").json() if t["name"] == "bash"][0]
        self.assertEqual((tool["path"], tool["source"], tool["overrides"]),
                         (os.path.realpath(path), "project", os.path.join(TOOLS, "bash")))
        shown = self.ikigai("tool", "show", "bash").out
        self.assertIn(f"Runs from: {self.home}/trusted/", shown)

    def test_parallel_decisions_are_all_kept(self):
        folders = [self.path(f"p{i}") for i in range(12)]
        for i, folder in enumerate(folders):
            self.write(f"p{i}/.ikigai/tools/t", tool_script(f"t{i}"), 0o755)
        children = [subprocess.Popen([IKIGAI, "trust", "--yes", f], cwd=self.project,
                                     env=self.env(), stdout=subprocess.DEVNULL) for f in folders]
        self.assertEqual([c.wait(60) for c in children], [0] * len(folders))
        self.assertEqual(sorted(self.records()), sorted(
            os.path.realpath(f) + "/.ikigai/tools" for f in folders))
        children = [subprocess.Popen([IKIGAI, "untrust", f], cwd=self.project, env=self.env(),
                                     stdout=subprocess.DEVNULL) for f in folders]
        self.assertEqual([c.wait(60) for c in children], [0] * len(folders))
        self.assertEqual((self.records(), self.copies()), ({}, []))


class Copy(TrustTest):
    def test_tools_run_from_the_copy_in_the_project(self):
        self.project_tool("where", tool_script(
            "where", r'''printf '{"file":"%s","pwd":"%s"}' "$0" "$PWD"'''))
        self.trust()
        result = self.ikigai("tool", "run", "where").json()["result"]
        self.assertTrue(result["file"].startswith(f"{self.home}/trusted/"), result)
        self.assertEqual(result["pwd"], os.path.realpath(self.project))

    def test_scripts_find_their_siblings(self):
        self.project_tool("sh-tool", tool_script(
            "sh_tool", '. "$(dirname "$0")/lib/words.sh"; printf \'{"word":"%s"}\' "$word"'))
        self.project_tool("lib/words.sh", "word=sibling\n", 0o644)
        self.project_tool("py-tool", "#!/usr/bin/python3\nimport json, sys\nimport helper\n"
                          "print(json.dumps({'name': 'py_tool'} if sys.argv[1:] else "
                          "{'word': helper.WORD}))\n")
        self.project_tool("helper.py", "WORD = 'module'\n", 0o644)
        os.symlink("lib/../sh-tool", os.path.join(self.tools, "linked"))
        self.trust()
        for name, word in (("sh_tool", "sibling"), ("py_tool", "module")):
            done = self.ikigai("tool", "run", name)
            self.assertEqual(done.json()["result"], {"word": word})

    def test_bytecode_is_neither_hashed_nor_copied(self):
        """A forged __pycache__ would otherwise run in place of the reviewed source."""
        self.project_tool("py-tool", "#!/usr/bin/python3\nimport json, sys\nimport helper\n"
                          "print(json.dumps({'name': 'py_tool'} if sys.argv[1:] else "
                          "{'word': helper.WORD}))\n")
        helper = self.project_tool("helper.py", "WORD = 'forged'\n", 0o644)
        subprocess.run(["/usr/bin/python3", "-m", "compileall", "-q", "--invalidation-mode",
                        "unchecked-hash", self.tools], check=True)
        self.project_tool("helper.py", "WORD = 'honest'\n", 0o644)
        self.assertTrue(os.path.isdir(os.path.join(self.tools, "__pycache__")))
        self.assertNotIn("__pycache__", self.trust().out)
        self.assertEqual(self.ikigai("tool", "run", "py_tool").json()["result"],
                         {"word": "honest"})
        self.project_tool("__pycache__/more.pyc", "x")
        self.project_tool("sub/__pycache__/more.pyc", "x")
        self.assertIn("py_tool", self.names())
        shutil.rmtree(os.path.join(self.tools, "__pycache__"))
        self.assertIn("py_tool", self.names())
        self.assertTrue(os.path.exists(helper))

    def test_the_copy_is_private_and_read_only(self):
        self.canary()
        self.project_tool("sub/deep/data", "x", 0o666)
        self.project_tool("setuid", tool_script("setuid"), 0o4755)
        self.ikigai("trust", "--yes", preexec_fn=lambda: os.umask(0))
        trusted = os.path.join(self.home, "trusted")
        self.assertEqual(os.stat(trusted).st_mode & 0o7777, 0o700)
        self.assertEqual(os.stat(os.path.join(self.home, "trust.json")).st_mode & 0o7777, 0o600)
        [copy] = os.listdir(trusted)
        self.assertRegex(copy, r"\A[0-9a-f]{64}\Z")
        modes = {}
        for where, _, names in os.walk(os.path.join(trusted, copy)):
            modes[os.path.relpath(where, os.path.join(trusted, copy))] = \
                os.stat(where).st_mode & 0o7777
            for name in names:
                path = os.path.join(where, name)
                modes[os.path.relpath(path, os.path.join(trusted, copy))] = \
                    os.stat(path).st_mode & 0o7777
        self.assertEqual(modes, {".": 0o500, "sub": 0o500, "sub/deep": 0o500,
                                 "sub/deep/data": 0o400, "canary": 0o500, "setuid": 0o500})

    def test_a_lost_copy_is_made_again(self):
        self.canary()
        self.trust()
        [copy] = self.copies()
        subprocess.run(["chmod", "-R", "u+w", os.path.join(self.home, "trusted")], check=True)
        shutil.rmtree(os.path.join(self.home, "trusted", copy))
        self.ikigai("tool", "run", "canary")
        self.assertEqual(self.copies(), [copy])

    def test_a_swap_during_the_run_changes_nothing(self):
        """The tool waits, the project is rewritten under it, the reviewed bytes go on."""
        self.project_tool("slow", tool_script("slow", f'''touch '{self.dir}/started'
            while [ ! -e '{self.dir}/go' ]; do sleep 0.05; done
            . "$(dirname "$0")/lib.sh"; printf '{{"word":"%s"}}' "$word"'''))
        self.project_tool("lib.sh", "word=old\n", 0o644)
        self.trust()
        child = subprocess.Popen([IKIGAI, "tool", "run", "slow", "{}"], cwd=self.project,
                                 env=self.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(self.path("started")) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.project_tool("lib.sh", "word=new\n", 0o644)
        self.project_tool("new-file", "#!/bin/sh\n")
        os.remove(os.path.join(self.tools, "slow"))
        self.write("go")
        out, err = child.communicate(timeout=60)
        self.assertEqual(json.loads(out)["result"], {"word": "old"}, err)
        self.assertIn("no longer trusted", self.ikigai("tool", "list").err)

    def test_untrust_removes_the_copy_unless_it_is_needed(self):
        self.canary()
        shutil.copytree(self.project, self.path("twin"))
        self.trust()
        self.trust(self.path("twin"))
        self.assertEqual(len(self.copies()), 1)
        self.ikigai("untrust")
        self.assertEqual(len(self.copies()), 1)
        self.assertNotIn("canary", self.names())
        self.assertIn("canary", self.names(cwd=self.path("twin")))
        self.ikigai("untrust", self.path("twin"))
        self.assertEqual((self.copies(), self.records()), ([], {}))
        self.assertEqual(self.ikigai("untrust").out, "Was not trusted.\n")

    def test_untrust_of_what_is_gone(self):
        self.canary()
        self.trust()
        shutil.rmtree(self.tools)
        self.assertEqual(self.ikigai("untrust", "project", cwd=self.dir).out,
                         "No longer trusted.\n")
        self.assertEqual(self.copies(), [])

    @ROOT_ONLY
    def test_as_an_ordinary_user(self):
        """Whom read-only files do hold back."""
        self.canary(body="echo '{}'")
        self.project_tool("sub/deep/data", "x", 0o644)
        os.chmod(self.dir, 0o777)
        for where, _, names in os.walk(self.dir):
            for path in [where] + [os.path.join(where, n) for n in names]:
                os.chown(path, NOBODY, NOBODY)
        run = {"preexec_fn": as_user()}
        self.ikigai("trust", "--yes", **run)
        self.assertEqual(self.ikigai("tool", "run", "canary", **run).json()["result"], {})
        [copy] = self.copies()
        for name in ("new", "canary", "sub/new", "sub/deep/data"):
            path = os.path.join(self.home, "trusted", copy, name)
            done = subprocess.run(["sh", "-c", ': > "$0"', path], stderr=subprocess.DEVNULL, **run)
            self.assertNotEqual(done.returncode, 0, name)
        self.ikigai("untrust", **run)
        self.assertEqual(self.copies(), [])
        self.assertNotIn("canary", self.ikigai("tool", "list", **run).out)


class Changes(TrustTest):
    """Every kind of change takes the trust back and names the file."""

    def rename(self, old, new):
        os.rename(os.path.join(self.tools, old), os.path.join(self.tools, new))

    def retarget(self, name, target):
        os.remove(os.path.join(self.tools, name))
        os.symlink(target, os.path.join(self.tools, name))

    CHANGES = {
        "content": (lambda t: t.canary(description="Other"), "canary changed"),
        "one byte": (lambda t: t.project_tool("lib/data", "datA", 0o644), "lib/data changed"),
        "mode": (lambda t: os.chmod(t.tools + "/canary", 0o700),
                 "the permissions of canary changed"),
        "mode of data": (lambda t: os.chmod(t.tools + "/lib/data", 0o755),
                         "the permissions of lib/data changed"),
        "new tool": (lambda t: t.canary("another"), "another is new"),
        "new file": (lambda t: t.project_tool("lib/new", "", 0o644), "lib/new is new"),
        "new hidden file": (lambda t: t.project_tool(".hidden", "", 0o644), ".hidden is new"),
        "removed": (lambda t: os.remove(t.tools + "/lib/data"), "lib/data is gone"),
        "removed tool": (lambda t: os.remove(t.tools + "/second"), "second is gone"),
        "renamed": (lambda t: t.rename("second", "third"), "third is new"),
        "renamed folder": (lambda t: t.rename("lib", "bil"), "bil/data is new"),
        "retargeted": (lambda t: t.retarget("link", "second"), "link changed"),
        "link for file": (lambda t: t.retarget("second", "canary"), "second changed"),
        "same size and times": (lambda t: t.replace_quietly("lib/data", b"dato"),
                                "lib/data changed"),
    }

    def replace_quietly(self, name, content):
        path = os.path.join(self.tools, name)
        old = os.stat(path)
        with open(path, "r+b") as f:
            f.write(content)
        os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))

    def test_changes(self):
        for name, (change, words) in self.CHANGES.items():
            with self.subTest(name=name):
                shutil.rmtree(self.tools, ignore_errors=True)
                self.canary()
                self.canary("second")
                self.project_tool("lib/data", "data", 0o644)
                os.symlink("canary", os.path.join(self.tools, "link"))
                self.trust()
                self.assertIn("canary", self.names())
                change(self)
                self.assert_untrusted(f"no longer trusted and not used: {words}")
                self.assertIn("changed since they were trusted", self.ikigai("doctor").out)
                self.assertIn(f"(trusted before; {words})\n",
                              self.ikigai("trust", input=b"n\n", status=1).out)
                self.trust()
                self.assertIn("canary", self.names())

    def test_going_back_is_trusted_again(self):
        self.canary()
        self.trust()
        self.canary(description="Other")
        self.assert_untrusted("canary changed")
        self.canary()
        self.assertIn("canary", self.names())

    def test_touching_changes_nothing(self):
        """New times of the same bytes are read once, recorded, and not read again."""
        path = self.canary()
        self.trust()
        before = self.records()
        os.utime(path, (5, 5))
        self.assertIn("canary", self.names())
        if not shutil.which("strace") or os.geteuid() != 0:
            self.skipTest("needs strace, and root: the names are in memory hidden from the user")

        def reads():
            text = "\n".join(self.trace("openat", "tool", "list"))
            return len(re.findall(r'openat\(\d+, "canary", O_RDONLY\S*NOFOLLOW', text))
        self.assertEqual(reads(), 1, "too young to be remembered: another change could look alike")
        time.sleep(3.1)
        self.assertEqual(reads(), 1)
        self.assertEqual(reads(), 0)
        content = self.read(path)
        self.replace_quietly("canary", content.replace(b"A tool", b"A fool"))
        time.sleep(3.1)
        self.assertIn("no longer trusted and not used: canary changed",
                      self.ikigai("tool", "list").err)
        self.replace_quietly("canary", content)
        self.assertIn("canary", self.names())
        after = self.records()
        for record in list(before.values()) + list(after.values()):
            for file in record["files"].values():
                file.pop("identity")
        self.assertEqual(before, after)

    def wait_at_the_question(self, change):
        child = subprocess.Popen([IKIGAI, "trust"], cwd=self.project, env=self.env(),
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        seen = b""
        while not seen.endswith(b"[y/N] "):
            part = child.stdout.read1(4096)
            self.assertTrue(part, seen)
            seen += part
        change(self)
        _, err = child.communicate(b"y\n", timeout=60)
        return child.returncode, err.decode()

    def test_changes_while_the_question_stands(self):
        for name, (change, words) in self.CHANGES.items():
            for known in (False, True):  # a copy of the reviewed bytes may be there already
                with self.subTest(name=name, known=known):
                    shutil.rmtree(self.tools, ignore_errors=True)
                    self.canary()
                    self.canary("second")
                    self.project_tool("lib/data", "data", 0o644)
                    os.symlink("canary", os.path.join(self.tools, "link"))
                    if known:
                        self.names("--trust")
                    status, err = self.wait_at_the_question(change)
                    self.assertEqual(status, 1)
                    self.assertRegex(err, r"in the meantime; review again|Cannot read \S+: ")
                    self.assertFalse(os.path.exists(os.path.join(self.home, "trust.json")))
                    self.assertNotIn("canary", self.names())
        self.assertIn("second", self.names("--trust"))


class Refusals(TrustTest):
    """What cannot be trusted at all, and says so before any question."""

    def link(self, name, target):
        path = os.path.join(self.tools, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(target, path)

    def bind(self):
        server = socket.socket(socket.AF_UNIX)
        folder = os.open(self.tools, os.O_RDONLY)  # the path itself is too long for a socket
        try:
            server.bind(f"/proc/self/fd/{folder}/socket")
        finally:
            os.close(folder)
            server.close()

    REFUSED = {
        "link outside": (lambda t: t.link("out", "../../../outside"),
                         "the symlink out leads outside the folder"),
        "link to its parent": (lambda t: t.link("up", ".."), "the symlink up leads outside the folder"),
        "link to itself": (lambda t: t.link("sub/self", ".."),
                           "the symlink sub/self leads outside the folder"),
        "absolute link": (lambda t: t.link("abs", "/etc/passwd"),
                          "the symlink abs leads outside the folder"),
        "absolute link inside": (lambda t: t.link("abs", t.tools + "/canary"),
                                 "the symlink abs leads outside the folder"),
        "deep link outside": (lambda t: t.link("sub/deep/out", "../../../../../outside"),
                              "the symlink sub/deep/out leads outside the folder"),
        "link through a link": (lambda t: (t.link("a/b", "../c/d"), t.write(
            "project/.ikigai/tools/c/d/e", ""), t.link("via", "a/b/../../../x")),
                                "the symlink via leads outside the folder"),
        "dangling link": (lambda t: t.link("broken", "nowhere"),
                          "the symlink broken leads outside the folder"),
        "circular link": (lambda t: t.link("circle", "circle"),
                          "the symlink circle leads outside the folder"),
        "FIFO": (lambda t: os.mkfifo(t.tools + "/fifo"), "fifo is neither a file nor a folder"),
        "socket": (lambda t: t.bind(), "socket is neither a file nor a folder"),
        "too deep": (lambda t: t.write("project/.ikigai/tools/" + "d/" * 40 + "x"),
                     "nested too deeply"),
    }

    def assert_refused(self, words):
        for args in (["trust", "--yes"], ["trust"]):
            done = self.ikigai(*args, input=b"y\n", status=1)
            self.assertIn("Cannot trust ", done.err)
            self.assertIn(words, done.err)
            self.assertNotIn("[y/N]", done.out)
        for args in ([], ["--trust"]):
            done = self.ikigai("tool", "list", *args)
            self.assertIn("Project tools are not used: ", done.err)
            self.assertIn(words, done.err)
            self.assertNotIn("canary", done.out)
        self.assertIn("cannot be trusted in their present state", self.ikigai("doctor", status=None).out)
        self.assertEqual((self.ran(), self.copies()), ([], []))

    def test_refused(self):
        self.write("outside", "secret")
        for name, (make, words) in self.REFUSED.items():
            with self.subTest(name=name):
                shutil.rmtree(self.tools, ignore_errors=True)
                self.canary()
                make(self)
                self.assert_refused(words)

    @ROOT_ONLY
    def test_device(self):
        self.canary()
        os.mknod(os.path.join(self.tools, "null"), 0o666 | 0o020000, os.makedev(1, 3))
        self.assert_refused("null is neither a file nor a folder")

    def test_links_that_stay_inside(self):
        self.canary()
        self.project_tool("lib/data", "x", 0o644)
        self.link("sub/link", "../lib/data")
        self.link("folder", "lib")
        self.link("alias", "./sub/../canary")
        self.trust()
        [copy] = self.copies()
        for name, target in (("sub/link", "../lib/data"), ("folder", "lib")):
            self.assertEqual(os.readlink(os.path.join(self.home, "trusted", copy, name)), target)
        self.assertIn("canary", self.names())

    def test_a_link_into_bytecode(self):
        """It is not copied, so the link would dangle."""
        self.canary()
        self.project_tool("__pycache__/x", "#!/bin/sh\n")
        self.link("link", "__pycache__/x")
        self.ikigai("trust", "--yes", status=1)
        self.assertNotIn("canary", self.names())

    def test_number_of_files(self):
        self.canary()
        for i in range(4999):
            with open(os.path.join(self.tools, f"f{i}"), "w"):
                pass
        self.assertIn("5000 files", self.trust().out)
        self.assertIn("canary", self.names())
        self.ikigai("untrust")
        os.remove(self.mark)
        self.write("project/.ikigai/tools/one-more")
        self.assert_refused("holds more than 5000 files")

    def test_number_of_bytes(self):
        size = 64 * 1024 * 1024 - os.path.getsize(self.canary())
        for more, accepted in ((0, True), (1, False)):
            with open(os.path.join(self.tools, "big"), "wb") as f:
                f.truncate(size + more)
            if accepted:
                self.trust()
                self.assertIn("canary", self.names())
                self.ikigai("untrust")
                os.remove(self.mark)
            else:
                self.assert_refused("holds more than 64 MB")

    def test_names_that_are_not_utf8(self):
        self.canary()
        self.project_tool("odd\udcff", "x", 0o644)
        done = self.ikigai("trust", "--yes", status=1)
        self.assertIn("not UTF-8", done.err)
        self.assertNotIn("canary", self.names())

    def test_no_forged_lines_in_the_review(self):
        self.canary("x\n0 tools, all harmless.\nTrusted")
        out = self.ikigai("trust", input=b"n\n", status=1).out
        self.assertIn("x\ufffd0 tools, all harmless.\ufffdTrusted ", out)
        review = out.partition("About to trust")[2]
        self.assertEqual(len(review.splitlines()), 4, out)
        self.assertTrue(all(line.startswith(("===", "| ")) for line in
                            out.partition("About to trust")[0].splitlines()), out)

    @ROOT_ONLY
    def test_unreadable_files(self):
        self.canary()
        self.project_tool("secret", "x", 0o000)
        os.chown(self.home, NOBODY, NOBODY)
        os.remove(os.path.join(self.home, "config.json"))
        done = self.ikigai("trust", "--yes", status=1, preexec_fn=as_user())
        self.assertIn("Cannot read secret", done.err)


class Record(TrustTest):
    """~/.ikigai/trust.json."""

    def setUp(self):
        super().setUp()
        self.canary()
        self.trust()
        self.file = os.path.join(self.home, "trust.json")
        if os.path.exists(self.mark):
            os.remove(self.mark)

    def assert_refused(self, words):
        for args, status in ((["tool", "list"], 0), (["trust", "--yes"], 1), (["untrust"], 1)):
            done = self.ikigai(*args, status=status)
            self.assertIn(words, done.err)
            self.assertNotIn("canary", done.out)
        self.assertEqual(self.ran(), [])

    def test_damaged(self):
        for text in (b"", b"{", b"[]", b"null", b'{"format":1}', b'{"format":2,"folders":{}}',
                     b'{"format":1,"folders":[]}', b'{"format":"1","folders":{}}', b"\xff\xfe",
                     self.read(self.file)[:-2]):
            with self.subTest(text=text[:60]):
                with open(self.file, "wb") as f:
                    f.write(text)
                self.assert_refused("trust.json is damaged; remove it to start without any trust")

    def test_strange_records(self):
        """Whatever stands in it, nothing runs that was not trusted and nothing crashes."""
        folder = os.path.realpath(self.tools)
        good = self.records()[folder]
        for record in (None, 1, "x", [], {}, {"hash": 1}, {"hash": "../../../x"},
                       {"hash": "0" * 64}, {**good, "hash": "0" * 64}, {"hash": "." * 64}):
            with self.subTest(record=record):
                with open(self.file, "w") as f:
                    json.dump({"format": 1, "folders": {folder: record}}, f)
                self.assertNotIn("canary", self.names())
                self.ikigai("untrust")
        self.assertEqual(self.ran(), [])

    def test_a_forged_identity_gains_nothing(self):
        """Identities only save reading: the hash of the whole decides."""
        folders = self.records()
        [record] = folders.values()
        record["files"] = {}
        with open(self.file, "w") as f:
            json.dump({"format": 1, "folders": folders}, f)
        self.assertIn("canary", self.names())
        self.canary(description="Other")
        self.assertNotIn("canary", self.names())

    def test_writable_by_others(self):
        for mode in (0o666, 0o622, 0o602):
            with self.subTest(mode=oct(mode)):
                os.chmod(self.file, mode)
                self.assert_refused("can be changed by everyone; run: chmod o-w")
        os.chmod(self.file, 0o600)
        self.assertIn("canary", self.names())

    def test_home_writable_by_others(self):
        os.remove(os.path.join(self.home, "config.json"))  # which would be refused first
        os.chmod(self.home, 0o777)
        self.assert_refused("can be changed by everyone")

    @ROOT_ONLY
    def test_of_somebody_else(self):
        os.chown(self.file, NOBODY, NOBODY)
        self.assert_refused(f"belongs to user {NOBODY}")
        os.chown(self.file, 0, NOBODY)
        os.chmod(self.file, 0o660)
        self.assert_refused(f"can be changed by group {NOBODY}")

    def test_a_fifo_in_its_place(self):
        os.remove(self.file)
        os.mkfifo(self.file, 0o600)
        self.assertNotIn("canary", self.names())

    def test_it_cannot_be_written(self):
        self.canary("another")
        os.remove(self.file)
        os.mkdir(self.file)
        self.ikigai("trust", "--yes", status=1)
        self.assertNotIn("another", self.names())


class OwnFolder(TrustTest):
    """The user's own folder is never a project, however one gets there."""

    def setUp(self):
        super().setUp()
        self.user_tool("mine", tool_script("mine"))

    def assert_own(self, **where):
        done = self.ikigai("tool", "list", "--json", **where)
        self.assertEqual(done.err, "")
        self.assertEqual([t["source"] for t in done.json() if t["name"] == "mine"], ["user"])
        for command in ("trust", "untrust"):
            refused = self.ikigai(command, status=1, **where)
            self.assertIn(f"{self.home}/tools holds your own tools, which need no trust",
                          refused.err)
        self.assertNotIn("project tools", self.ikigai("doctor", **where).out)

    def test_in_the_home_folder(self):
        self.assert_own(cwd=self.path("home"))

    def test_through_a_link_to_the_home_folder(self):
        os.symlink("home", self.path("alias"))
        self.assert_own(cwd=self.path("alias"))

    def test_through_a_link_to_the_tools(self):
        os.symlink(self.home, os.path.join(self.project, ".ikigai"))
        self.assert_own(cwd=self.project)

    def test_named(self):
        done = self.ikigai("trust", self.path("home"), status=1)
        self.assertIn("holds your own tools", done.err)

    def test_with_ikigai_home_elsewhere_it_is_a_project(self):
        done = self.ikigai("tool", "list", cwd=self.path("home"),
                           env={"IKIGAI_HOME": self.path("other")})
        self.assertIn("1 project tool is not trusted", done.err)
        self.assertNotIn("mine", done.out)


if __name__ == "__main__":
    unittest.main()
