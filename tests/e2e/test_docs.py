"""What the documents show is true: the examples of docs/tool-protocol.md run as they stand."""
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import IKIGAI, ROOT, ScratchTest, clean_env


def examples():
    with open(os.path.join(ROOT, "docs", "tool-protocol.md")) as f:
        text = f.read()
    return dict(re.findall(r"<!-- example: (\w+) -->\n```\w+\n(.*?)```\n", text, re.S))


class ProtocolExamples(ScratchTest):
    def setUp(self):
        super().setUp()
        self.env = clean_env(IKIGAI_HOME=self.path("home"))
        self.examples = examples()

    def install(self, language, name):
        source = self.write(f"home/tools/{name}", self.examples[language], 0o700)
        if language == "c":
            os.rename(source, source + ".c")
            os.chmod(source + ".c", 0o600)
            subprocess.run(["cc", "-Wall", "-Werror", "-O2", "-o", source, source + ".c",
                            "-ljansson"], check=True)
            os.chmod(source, 0o700)
        return source

    def check_and_run(self, language, name, tool, arguments):
        path = self.install(language, name)
        checked = subprocess.run([IKIGAI, "tool", "check", path], env=self.env,
                                 stdout=subprocess.PIPE, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout)
        self.assertNotIn("FIX", checked.stdout)
        done = subprocess.run([IKIGAI, "tool", "run", tool, json.dumps(arguments)], env=self.env,
                              cwd=self.dir, stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return json.loads(done.stdout)["result"]

    def test_all_three_languages_are_shown(self):
        self.assertEqual(sorted(self.examples), ["c", "python", "sh"])

    def test_sh(self):
        self.write("data/a", b"x" * 10000)
        result = self.check_and_run("sh", "disk-usage", "disk_usage", {"path": "data"})
        self.assertGreater(result["kilobytes"], 0)

    def test_python(self):
        self.write("data/a", "1\n2\n3\n")
        self.write("data/b", "4\n")
        result = self.check_and_run("python", "count-lines", "count_lines", {"path": "data"})
        self.assertEqual(result, {"files": 2, "lines": 4})

    def test_c(self):
        result = self.check_and_run("c", "local-time", "local_time", {"zone": "UTC"})
        self.assertRegex(result["time"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")


if __name__ == "__main__":
    unittest.main()
