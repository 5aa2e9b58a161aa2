"""What the documents show is true: the examples of docs/tool-protocol.md run as they stand."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import IKIGAI, ROOT, ScratchTest, clean_env


def examples():
    with open(os.path.join(ROOT, "docs", "tool-protocol.md")) as f:
        text = f.read()
    return dict(re.findall(r"<!-- example: (\w+) -->\n```\w+\n(.*?)```\n", text, re.S))


def read(*path):
    with open(os.path.join(ROOT, *path)) as f:
        return f.read()


class Manuals(unittest.TestCase):
    """The tables in the documents name what the tables in the code name."""

    def test_every_configuration_key_and_no_other(self):
        prefix = {"TOP": "", "PROVIDER": "providers.NAME.", "TOOL": "tools.NAME."}
        rows = re.findall(r"\{(TOP|PROVIDER|TOOL)\((\w+)\)", read("src", "base", "config_keys.c"))
        section = read("docs", "configuration.md").split("## Keys")[1].split("## Environment")[0]
        documented = re.findall(r"^\| `([\w.]+)` \|", section, re.M)
        self.assertEqual(sorted(documented), sorted(prefix[kind] + name for kind, name in rows))

    def test_every_environment_variable_of_the_program(self):
        text = read("docs", "configuration.md") + read("docs", "tool-protocol.md")
        for folder, _, names in os.walk(os.path.join(ROOT, "src")):
            for name in names:
                source = read(folder, name)
                for variable in re.findall(r'getenv\("([A-Z_]+)"\)', source):
                    if variable not in ("HOME", "PATH"):
                        self.assertIn(variable, text, f"{name} reads it")

    def test_every_line_of_a_headless_run(self):
        source = read("src", "headless", "headless_json.c")
        types = re.findall(r'\[IK_AGENT_\w+\] = "(\w+)"', source) + ["session"]
        section = read("docs", "headless.md").split("| `type` |")[1].split("\n## ")[0]
        self.assertEqual(sorted(re.findall(r"^\| `(\w+)` \|", section, re.M)), sorted(types))
        kinds = re.findall(r'#define IK_MSG_\w+ "(\w+)"',
                           read("src", "conversation", "message.h"))
        for kind in kinds:
            self.assertIn(f"`{kind}`", section)

    def test_every_option_of_a_headless_run(self):
        known = re.findall(r'^    \{\{"(-[-\w]+)",', read("src", "cli", "cli_options.c"), re.M)
        section = read("docs", "headless.md").split("| option |")[1].split("\n\n")[0]
        self.assertEqual(sorted(re.findall(r"^\| `(-[-\w]+)", section, re.M)), sorted(known))
        for option in known:
            self.assertIn(f"  {option}", subprocess.run([IKIGAI, "--help"], text=True,
                                                        stdout=subprocess.PIPE).stdout)

    def test_every_slash_command(self):
        entries = []
        for path in glob.glob(os.path.join(ROOT, "src", "command", "command_*.c")):
            for entry in re.findall(r"const ik_command_t ik_command_\w+ = \{(.*?)\n\};", read(path),
                                    re.S):
                name, usage = (re.search(rf'\.{key} = "(.*?)"', entry)[1] for key in
                               ("name", "usage"))
                text = re.search(r"\.help = (.*?),\n", entry, re.S)[1]
                usage = f" {usage}".replace("|", "\\|").rstrip()
                text = "".join(re.findall('"(.*?)"', text))
                entries.append(f"| `/{name}{usage}` | {text} |")
        section = read("docs", "interactive.md").split("| command | |\n|---|---|\n")[1]
        self.assertEqual(section.split("\n\n")[0].splitlines(), sorted(entries))

    def test_readme_shows_what_the_offline_model_does(self):
        shown = read("README.md").split("ikigai -p \"find src/tools/*/main.c\"\n")[1]
        with tempfile.TemporaryDirectory(prefix="ikigai-test-") as folder:
            for name in ("bash", "file_edit", "file_read", "file_write", "glob", "grep"):
                os.makedirs(os.path.join(folder, "src", "tools", name))
                open(os.path.join(folder, "src", "tools", name, "main.c"), "w").close()
            env = clean_env(IKIGAI_HOME=os.path.join(folder, "home"))
            done = subprocess.run([IKIGAI, "-p", "find src/tools/*/main.c"], env=env, cwd=folder,
                                  stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("Something ")]
        self.assertEqual(shown.split("\n```")[0].splitlines(), lines)

    def test_readme_lists_the_shipped_tools(self):
        with tempfile.TemporaryDirectory(prefix="ikigai-test-") as home:
            listed = subprocess.run([IKIGAI, "tool", "list"], env=clean_env(IKIGAI_HOME=home),
                                    cwd="/", stdout=subprocess.PIPE, text=True).stdout
        self.assertIn(listed, read("README.md"))

    def test_readme_shows_what_trust_says(self):
        with tempfile.TemporaryDirectory(prefix="ikigai-test-") as folder:
            tools = os.path.join(folder, ".ikigai", "tools")
            os.makedirs(tools)
            with open(os.path.join(tools, "bash"), "w") as f:
                f.write("x" * 1715)
            os.chmod(os.path.join(tools, "bash"), 0o755)
            env = clean_env(IKIGAI_HOME=os.path.join(folder, "home"))
            for words in (["tool", "list"], ["trust"]):
                done = subprocess.run([IKIGAI, *words], env=env, cwd=folder, input="n\n", text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                said = done.stderr.splitlines() if words[0] == "tool" else [
                    line for line in done.stdout.splitlines() if "bytes." in line]
                self.assertEqual(len(said), 1, done)
                self.assertIn(said[0], read("README.md"))

    def test_links_between_documents_lead_somewhere(self):
        for document in ["README.md", "CONTRIBUTING.md"] + [
                os.path.join("docs", n) for n in os.listdir(os.path.join(ROOT, "docs"))]:
            if document.endswith(".md"):
                for target in re.findall(r"\]\(([^)#:]+)\)", read(document)):
                    path = os.path.join(ROOT, os.path.dirname(document), target)
                    self.assertTrue(os.path.exists(path), f"{document} -> {target}")


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
