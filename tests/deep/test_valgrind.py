"""The shipped programs under valgrind: no invalid access, no use of what was never written, no
memory lost for good. A few calls of each kind are enough here; what the answers must be is tested
elsewhere. The programs must be linked dynamically, or valgrind does not see their allocations."""
import glob
import json
import os
import subprocess

from fake_llm import Answer, Call, Failure, FakeLLM, Wire
from support import IKIGAI, TOOLS, VALGRIND, ScratchTest, clean_env

# What every tool gets on stdin besides its own calls.
RUBBISH = [b"", b"{", b"[]", b"null", b"{}", b'{"command":7,"file_path":[],"pattern":{}}',
           b'{"command":"\\u0000","file_path":"\\u0000","pattern":"\\u0000"}',
           b"\xff\xfe", b"[" * 3000, b'{"pattern":"' + b"a" * 100000]


class Valgrind(ScratchTest):
    def run_under(self, argv, data=b"", wanted=None, **env):
        self.assertTrue(os.access(argv[0], os.X_OK), f"{argv[0]} is not built")
        done = subprocess.run(VALGRIND + argv, input=data, cwd=self.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300,
                              env=clean_env(HOME=self.dir, IKIGAI_MAX_OUTPUT=100000, **env))
        text = done.stderr.decode(errors="replace")
        self.assertNotEqual(done.returncode, 99, f"{argv} {data[:200]}\n{text}")
        self.assertGreaterEqual(done.returncode, 0, f"{argv} {data[:200]}\n{text}")
        if wanted is not None:
            self.assertIn(done.returncode, wanted, f"{argv} {data[:200]}\n{text}")
        return done.stdout

    def call(self, tool, *calls):
        for params in calls:
            with self.subTest(params=params):
                out = self.run_under([os.path.join(TOOLS, tool)], json.dumps(params).encode(), [0])
                json.loads(out)

    def test_every_tool_describes_itself(self):
        tools = sorted(glob.glob(os.path.join(TOOLS, "*")))
        self.assertTrue(tools)
        for tool in tools:
            for option in ("--schema", "--help", "--version", "--nonsense"):
                with self.subTest(tool=tool, option=option):
                    self.run_under([tool, option])

    def test_every_tool_survives_rubbish(self):
        for tool in sorted(glob.glob(os.path.join(TOOLS, "*"))):
            for data in RUBBISH:
                with self.subTest(tool=tool, data=data[:80]):
                    self.run_under([tool], data)

    def test_bash(self):
        self.call("bash", {"command": "echo out; echo err >&2; exit 3"}, {"command": ""},
                  {"command": "printf 'a\\0b\\377'"}, {"command": "kill -9 $$"},
                  {"command": "yes | head -c 1000000"}, {"command": "sleep 30 & echo hi"})

    def test_file_read(self):
        path = self.write("text", "line\n" * 5000)
        self.call("file-read", {"file_path": path}, {"file_path": path, "offset": 4990, "limit": 5},
                  {"file_path": path, "offset": 9999}, {"file_path": "none"},
                  {"file_path": self.dir}, {"file_path": "/proc/self/status"},
                  {"file_path": self.write("bytes", b"\xff\0\xc3\n" * 1000)})

    def test_file_write(self):
        self.write("old", "old")
        os.symlink("old", self.path("link"))
        self.call("file-write", *({"file_path": self.path(name), "content": "text\n" * 1000}
                                  for name in ("new", "old", "link", "none/x", "")))

    def test_file_edit(self):
        path = self.write("text", "alpha beta beta\r\n" * 100)
        self.call("file-edit",
                  {"file_path": path, "old_string": "alpha", "new_string": "x"},
                  {"file_path": path, "old_string": "beta", "new_string": "gamma",
                   "replace_all": True},
                  {"file_path": path, "old_string": "gamma gama\n", "new_string": "y"},
                  {"file_path": path, "old_string": "", "new_string": "y"},
                  {"file_path": "none", "old_string": "a", "new_string": "b"})

    def tree(self):
        for name in ("a.c", "b/c.c", "b/d/e.c", "b/d/.hidden/f.c", "b/ignored/g.c", "b/\udcff.c"):
            self.write(name, "int first;\nreturn second_thing(3);\n" * 50)
        self.write(".gitignore", "ignored/\n!b/ignored/keep\n*.o\n/b/**/x[a-z]\n")
        os.symlink("..", self.path("b/loop"))

    def test_glob(self):
        self.tree()
        self.call("glob", *({"pattern": p} for p in ("*.c", "**/*.c", "**", "b/[!d]*", "[", "{a,b}",
                                                     "../**/e.c")),
                  {"pattern": "*.c", "path": self.path("b")}, {"pattern": "*", "path": "none"})

    def test_grep(self):
        self.tree()
        self.call("grep", *({"pattern": p} for p in (
            "second", "(first|second)_thing", "[a-z]+_thing", "nothing at all", r"\bint\b",
            "^return .*;$", "(", "a{2,1}", "(a*)*b", "")),
                  {"pattern": "FIRST", "ignore_case": True, "no_ignore": True},
                  {"pattern": "int", "glob": "*.c", "path": "b"},
                  {"pattern": "int", "glob": "b/**/*.c"}, {"pattern": "int", "path": "none"})

    def test_ikigai(self):
        self.write(".ikigai/tools/mine", "#!/bin/sh\necho '{}'\n", 0o755)
        for argv in (["--version"], ["--help"], ["--nonsense"], ["tool", "list"],
                     ["tool", "list", "--json"], ["tool", "show", "grep"], ["tool", "show", "none"],
                     ["tool", "run", "bash", '{"command":"echo hi"}'], ["tool", "run", "bash", "{"],
                     ["tool", "run", "none"], ["tool", "run", "file_read", '{"file_path":"none"}'],
                     ["tool", "new", "greet"], ["trust", "--yes"], ["untrust"], ["doctor"]):
            with self.subTest(argv=argv):
                self.run_under([IKIGAI] + argv)

    def turn(self, script, wanted):
        """A turn with each vendor's API."""
        for model, provider in (("openai/gpt-5", "openai"), ("new/gpt-6.1-sol", "openai"),
                                ("anthropic/claude-opus-5-5", "anthropic"),
                                ("google/gemini-4-argon", "google")):
            with self.subTest(model=model), FakeLLM(script()) as llm:
                self.write(".ikigai/config.json", json.dumps({"providers": {"new": {
                    "type": "openai", "api": "responses", "base_url": llm.base_url("openai"),
                    "api_key_env": "OPENAI_API_KEY"}}}), 0o600)
                self.run_under([IKIGAI, "-p", "go", "-m", model, "--json"], wanted=wanted,
                               OPENAI_API_KEY="k", ANTHROPIC_API_KEY="k", GEMINI_API_KEY="k",
                               OPENAI_BASE_URL=llm.base_url("openai"),
                               ANTHROPIC_BASE_URL=llm.base_url("anthropic"),
                               GEMINI_BASE_URL=llm.base_url("google"))
                self.assertEqual([p for p in llm.problems if p.startswith("request")], [])

    def test_turns(self):
        self.tree()
        self.turn(lambda: [Failure("overloaded", headers={"retry-after-ms": "1"}),
                           Answer("Looking.", thinking="Hm.", fragments=5, calls=[
                               Call("glob", {"pattern": "*.c"}), Call("none", {}),
                               Call("grep", {"pattern": "first"})]),
                           Answer(calls=[Call("bash", {"command": "echo hi"})]),
                           Answer("Done.", wire=Wire(chunk=1))], [0])

    def test_turns_that_fail(self):
        for script in (lambda: [Failure("auth")],
                       lambda: [Answer("Half an answer", wire=Wire(cut_after=400, reset=True)),
                                Failure("auth")],
                       lambda: [Answer("x", wire=Wire(garbage=b"\xff{]\n\n", garbage_after=1)),
                                Failure("auth")],
                       lambda: [Answer("Never seen in full", error=Failure("overloaded", after=4)),
                                Failure("auth")]):
            self.turn(script, [0, 1])

    def test_the_offline_model(self):
        self.tree()
        for prompt in ("find *.c", "read a.c", "what?"):
            with self.subTest(prompt=prompt):
                self.run_under([IKIGAI, "-p", prompt], wanted=[0])
