"""Memory: every shipped tool states a limit, and one that runs out of memory answers OUT_OF_MEMORY
and exits with 0, wherever in its work the memory ends."""
import json
import os
import resource
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import SHIPPED, ScratchTest, clean_env, run_tool, tool_path  # noqa: E402

STEP = 24 * 1024


class OutOfMemory(ScratchTest):
    def setUp(self):
        super().setUp()
        with open(tool_path("glob"), "rb") as f:
            if b"__asan_init" in f.read():
                self.skipTest("a sanitizer needs more memory than there is")

    def limited(self, name, limit, data, *args):
        def restrict():
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        return subprocess.run([tool_path(name), *args], input=data, cwd=self.dir,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_env(),
                              preexec_fn=restrict, timeout=60)

    def least(self, name):
        """The memory without which the program cannot be started at all."""
        limit = STEP
        while self.limited(name, limit, b"", "--version").returncode != 0:
            limit += STEP
        return limit

    def check(self, name, params, expected=None):
        """More and more memory, until the call succeeds."""
        data = json.dumps(params).encode()
        limit = self.least(name)
        failures = 0
        while True:
            done = self.limited(name, limit, data)
            self.assertEqual(done.returncode, 0, (name, limit, done.stderr[:500]))
            answer = json.loads(done.stdout)
            if answer.get("exit_code", 0) == 0 and "error" not in answer:
                break
            if "error" in answer:  # otherwise the shell had too little
                self.assertEqual((answer["error"], answer["error_code"]),
                                 (f"Out of memory during {name}", "OUT_OF_MEMORY"))
            failures += 1
            limit += STEP if failures < 150 else limit // 8
        self.assertEqual(answer, expected if expected is not None else run_tool(
            name, params, cwd=self.dir))
        self.assertGreater(failures, 3)

    def test_file_read(self):
        self.write("f", "line\n" * 200000)
        self.check("file_read", {"file_path": "f"})

    def test_file_write(self):
        self.check("file_write", {"file_path": "g", "content": "line\n" * 200000},
                   {"output": "Wrote 1000000 bytes to g", "bytes": 1000000})
        self.assertEqual(os.listdir(self.dir), ["g"])

    def test_file_edit(self):
        self.write("f", "line\n" * 200000)
        self.check("file_edit", {"file_path": "f", "old_string": "i", "new_string": "II",
                                 "replace_all": True},
                   {"output": "Replaced 200000 occurrences in f", "replacements": 200000})
        self.assertEqual(os.listdir(self.dir), ["f"])
        self.assertEqual(len(self.read("f")), 1200000)

    def test_glob(self):
        for i in range(3000):
            self.write(f"d{i % 7}/{'n' * 100}{i}")
        self.check("glob", {"pattern": "**/*"})

    def test_grep(self):
        for i in range(300):
            self.write(f"d{i % 7}/f{i}", f"a word {i}\n" * 50)
        self.check("grep", {"pattern": "[a-z]+ [0-9]+$"})
        self.check("grep", {"pattern": "word"})

    def test_grep_in_the_middle_of_its_answer(self):
        self.write("a", "needle\n" * 100000)
        self.write("z", b"needle" + b"q" * (15 << 20))
        whole = run_tool("grep", {"pattern": "needle"}, cwd=self.dir)["output"]
        for limit in range(self.least("grep"), 80 << 20, 1 << 20):
            done = self.limited("grep", limit, b'{"pattern":"needle"}')
            self.assertEqual(done.returncode, 0, (limit, done.stderr[:500]))
            answer = json.loads(done.stdout)
            if answer.get("error_code") == "OUT_OF_MEMORY" and "output" in answer:
                self.assertTrue(whole.startswith(answer["output"]))
                if answer["output"] != "":
                    return
        self.fail("the memory never ended in the middle of the answer")

    def test_bash(self):
        self.write("text", "a line of 25 letters.....\n" * 8000)
        self.check("bash", {"command": "while read -r line; do echo \"$line\"; done < text"})

    def test_bash_leaves_no_command_behind(self):
        command = {"command": "echo $$ > pid; while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done"}
        done = self.limited("bash", self.least("bash") + (4 << 20), json.dumps(command).encode())
        self.assertEqual(json.loads(done.stdout), {
            "error": "Out of memory during bash", "error_code": "OUT_OF_MEMORY"})
        pid = int(self.read("pid"))
        for _ in range(1000):
            if not os.path.exists(f"/proc/{pid}"):
                return
            time.sleep(0.01)
        self.fail("the command still runs")


class Limits(ScratchTest):
    def test_help_states_them(self):
        for name in SHIPPED:
            text = subprocess.check_output([tool_path(name), "--help"], text=True)
            self.assertRegex(text, r"\nLimits:\n  .*(GB|MB)", name)

    def test_arguments(self):
        with open(self.path("arguments"), "wb") as f:
            f.truncate((1 << 30) + 1)
        for name in SHIPPED:
            with open(self.path("arguments"), "rb") as f:
                done = subprocess.run([tool_path(name)], stdin=f, stdout=subprocess.PIPE)
            self.assertEqual(json.loads(done.stdout), {
                "error": "The arguments are longer than 1 GB", "error_code": "INVALID_ARG"})


if __name__ == "__main__":
    unittest.main()
