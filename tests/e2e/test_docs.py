"""What the documents show is true: tables are those of the program, examples run as they stand."""
import glob
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import IKIGAI, ROOT, IkigaiTest, ScratchTest, clean_env


def load_refresh():
    """docs/refresh.py, which is a program and no module of the tests."""
    spec = importlib.util.spec_from_file_location("refresh", os.path.join(ROOT, "docs",
                                                                          "refresh.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


refresh = load_refresh()


def examples():
    with open(os.path.join(ROOT, "docs", "tool-protocol.md")) as f:
        text = f.read()
    return dict(re.findall(r"<!-- example: (\w+) -->\n```\w+\n(.*?)```\n", text, re.S))


def read(*path):
    with open(os.path.join(ROOT, *path)) as f:
        return f.read()


def literals(source):
    """The string literals of a C source, those that stand side by side as one, formats as …"""
    parts = re.findall(r'"((?:[^"\\\n]|\\.)*)"(\s*(?=")|)', source)
    text = "".join(part + ("" if joined else "\n") for part, joined in parts)
    return re.sub(r"%[-.\d*]*l*[a-z]", "…", text)


def sources():
    for folder, _, names in os.walk(os.path.join(ROOT, "src")):
        for name in names:
            path = os.path.join(folder, name)
            yield os.path.relpath(path, ROOT), read(path)


class References(unittest.TestCase):
    """The tables in the documents are those of the program."""
    PLACES = {
        "configuration.md": ["config", "environment", "files"],
        "headless.md": ["options", "exit"],
        "interactive.md": ["keys", "slash"],
        "sessions.md": [f"session {name}" for name in (
            "list", "show", "search", "export", "import", "fork", "deliver", "delete",
            "prune")],
        "servers.md": [f"mcp {name}" for name in ("add", "list", "show", "remove", "login")],
        "tool-protocol.md": ["environment tools", "host ask", "host agent", "host complete"],
        "undo.md": [f"session {name}" for name in ("diff", "undo", "redo")],
    }

    def test_they_are_where_they_should_be(self):
        for document, places in self.PLACES.items():
            found = re.findall(r"^<!-- topic: (.+) -->$", read("docs", document), re.M)
            self.assertEqual(found, places)

    def test_they_are_what_the_program_prints(self):
        for document in self.PLACES:
            text = read("docs", document)
            self.assertEqual(text, refresh.refreshed(text, IKIGAI),
                             "run docs/refresh.py with the built program")

    def test_refreshing_sees_a_change(self):
        text = read("docs", "headless.md")
        for old, new in (("| `--json` |", "| `--jsn` |"), ("| `130` |", "| `131` |")):
            self.assertIn(old, text)
            changed = text.replace(old, new)
            self.assertEqual(refresh.refreshed(changed, IKIGAI), text)
        self.assertEqual(refresh.refreshed("## X\n<!-- topic: keys -->\n<!-- end of topic -->\n",
                                           IKIGAI).count("\n### "), 7)


class Environment(unittest.TestCase):
    """The table of environment variables and the places that read them say the same."""
    # Where a name is not written in the call: it is among the capitals in these files.
    BY_NAME = {"src/terminal/view_editor.c": None, "src/repl/repl_copy.c": None,
               "src/repl/repl_images.c": None,
               "src/io/http_certificates.c": None, "src/base/config_server.c": None, "src/base/config.c": None,
               "src/base/config_secret.c": "src/base/config_provider.c"}
    # Read by libcurl and libpq.
    OF_LIBRARIES = {"https_proxy", "http_proxy", "all_proxy", "no_proxy", "PGPASSFILE"}

    def documented(self):
        text = subprocess.run([IKIGAI, "help", "--markdown", "environment"], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
        before, _, tools = text.partition("## What tools are given")
        self.assertTrue(tools)
        names = re.compile(r"^\| `(\w+)` \|", re.M)
        return sorted(names.findall(before)), sorted(names.findall(tools))

    def read_by_program(self):
        found = set()
        for path, source in sources():
            if path.startswith(("src/tools/", "src/keeper/", "src/base/host_client.c")):
                continue  # it runs as a tool, or in one
            found.update(re.findall(r'getenv\("(\w+)"\)', source))
            if re.search(r'\bgetenv\([^"]', source):
                self.assertIn(path, self.BY_NAME, "it reads variables that no test knows")
                found.update(re.findall(r'"([A-Z][A-Z0-9_]+)"', read(self.BY_NAME[path] or path)))
        return found

    def test_every_variable_that_is_read_and_no_other(self):
        self.assertEqual(self.documented()[0], sorted(self.read_by_program() | self.OF_LIBRARIES))

    def test_every_variable_that_tools_are_given_and_no_other(self):
        given = re.findall(r'"(\w+)=%', read("src", "tool", "tool_external.c"))
        tag = re.search(r'#define IK_KEEPER_TAG "(\w+)"', read("src", "base", "keeper_protocol.h"))
        self.assertEqual(self.documented()[1], sorted(given + [tag[1]]))

    def test_what_shipped_tools_read_is_given_to_them(self):
        for path, source in sources():
            if path.startswith("src/tools/"):
                for name in re.findall(r'getenv\("(\w+)"\)', source):
                    self.assertIn(name, self.documented()[1], path)


class Providers(IkigaiTest):
    """docs/providers.md: what it tells to write is taken, and what it quotes is said."""

    def test_every_configuration_in_it(self):
        blocks = re.findall(r"^```json\n(.*?)^```$", read("docs", "providers.md"), re.M | re.S)
        self.assertGreater(len(blocks), 8)
        for block in blocks:
            with self.subTest(block=block):
                self.config(block)
                done = self.ikigai("doctor")
                self.assertIn("No problems found.\n", done.out)
                self.assertEqual(done.err, "")
                wanted = json.loads(block)
                self.assertTrue(done.out.startswith(f"Model: {wanted['model']} (user)\n"), done.out)
                for name, provider in wanted.get("providers", {}).items():
                    self.assertRegex(done.out, rf"(?m)^  {name} .* {provider['base_url']}  ")

    def test_every_model_and_variable_it_names(self):
        text = read("docs", "providers.md")
        known = json.loads(read("share", "ikigai", "models.json"))["models"]
        named = re.findall(r'(?:-p hi -m |"model": ")((?:openai|anthropic|google)/[\w.-]+)', text)
        self.assertEqual(len(set(named)), 3)
        for model in named:
            self.assertIn(model, known)
        for name in re.findall(r"\b((?:OPENAI|ANTHROPIC|GEMINI|GOOGLE|IKIGAI)_\w+)", text):
            self.assertIn(f"`{name}`", read("docs", "configuration.md"))

    def test_every_message_it_explains(self):
        said = "\n".join(literals(source) for _, source in sources())
        table = read("docs", "providers.md").split("## What errors mean")[1]
        messages = re.findall(r"^\| `(.+?)` \|", table, re.M)
        self.assertGreater(len(messages), 10)
        for message in messages:
            self.assertIn(message.strip("… "), said)


class Manuals(unittest.TestCase):
    """Tables in the documents name what the code names."""

    def test_every_line_of_a_headless_run(self):
        source = read("src", "headless", "headless_json.c")
        types = re.findall(r'(?:\[IK_AGENT_\w+\] =|open_line\(&?line,) "(\w+)"', source)
        section = read("docs", "headless.md").split("| `type` |")[1].split("\n## ")[0]
        self.assertEqual(sorted(re.findall(r"^\| `(\w+)` \|", section, re.M)), sorted(types))
        kinds = re.findall(r'#define IK_MSG_\w+ "(\w+)"',
                           read("src", "conversation", "message.h"))
        for kind in kinds:
            self.assertIn(f"`{kind}`", section)

    def test_what_the_offline_model_does(self):
        shown = read("docs", "headless.md").split("ikigai -p \"find src/tools/*/main.c\"\n")[1]
        with tempfile.TemporaryDirectory(prefix="ikigai-test-") as folder:
            for path in glob.glob("src/tools/*/main.c", root_dir=ROOT):
                os.makedirs(os.path.join(folder, os.path.dirname(path)))
                open(os.path.join(folder, path), "w").close()
            env = clean_env(IKIGAI_HOME=os.path.join(folder, "home"))
            done = subprocess.run([IKIGAI, "-p", "find src/tools/*/main.c"], env=env, cwd=folder,
                                  stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("Something ")]
        self.assertEqual(shown.split("\n```")[0].splitlines(), lines)

    def test_what_trust_says(self):
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
                self.assertIn(said[0], read("docs", "tool-protocol.md"))

    def test_every_file_of_the_user_is_listed(self):
        """The table of files has what the documents name in ~/.ikigai."""
        table = read("docs", "configuration.md").split("<!-- topic: files -->")[1]
        listed = re.findall(r"^\| `~/\.ikigai/([\w.-]+)", table, re.M)
        for document in glob.glob("docs/*.md", root_dir=ROOT) + ["README.md", "examples/README.md"]:
            for name in re.findall(r"~/\.ikigai/([\w-]+(?:\.\w+)?)", read(document)):
                self.assertIn(name, listed, document)

    def test_links_between_documents_lead_somewhere(self):
        for document in ["README.md", "CONTRIBUTING.md"] + [
                os.path.join("docs", n) for n in os.listdir(os.path.join(ROOT, "docs"))]:
            if document.endswith(".md"):
                for target in re.findall(r"\]\(([^)#:]+)\)", read(document)):
                    path = os.path.join(ROOT, os.path.dirname(document), target)
                    self.assertTrue(os.path.exists(path), f"{document} -> {target}")

    def test_sources_that_documents_name_exist(self):
        """`src/io/loop.h`; in architecture.md also `io/loop` and `tests/e2e`."""
        folders = "|".join(os.listdir(os.path.join(ROOT, "src")))
        for document in ("README.md", "CONTRIBUTING.md", "docs/architecture.md"):
            for path in re.findall(rf"`((?:src|tests|{folders})/[a-z][\w/.]*)`", read(document)):
                path = path if path.startswith(("src/", "tests/")) else "src/" + path
                found = [end for end in ("", ".c", ".h") if os.path.exists(os.path.join(ROOT, path + end))]
                # NAME stands for the name of something new
                self.assertTrue(found or "NAME" in path, f"{document}: {path}")

    def test_functions_that_documents_name_are_there(self):
        named = re.findall(r"`(\w+)` in `(src/[\w/.]+)`", read("CONTRIBUTING.md"))
        self.assertGreater(len(named), 2)
        for name, path in named:
            self.assertRegex(read(path), rf"\b{name}\b", path)


class Readme(ScratchTest):
    """What a stranger reads first."""

    def setUp(self):
        super().setUp()
        self.text = read("README.md")
        self.env = clean_env(IKIGAI_HOME=self.path("home"))

    def blocks(self, language):
        return re.findall(rf"^```{language}\n(.*?)^```$", self.text, re.M | re.S)

    def test_the_tool_is_the_example(self):
        self.assertIn(read("examples", "unfinished"), self.blocks("sh"))
        self.assertLessEqual(len(read("examples", "unfinished").splitlines()), 10)

    def test_the_configurations_of_providers_can_be_used(self):
        settings = re.findall(r"^```json\n(.*?)^```$", read("docs", "providers.md"), re.M | re.S)
        self.assertGreater(len(settings), 4)
        for config in settings:
            self.write("home/config.json", config, 0o600)
            done = subprocess.run([IKIGAI, "doctor"], env=self.env, cwd=self.dir,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertNotIn("warning", done.stderr, config)
            model = json.loads(config).get("model", "")
            self.assertIn(model, done.stdout, config)

    def test_every_tool_is_in_the_box(self):
        listed = subprocess.run([IKIGAI, "tool", "list", "--json"], env=self.env, cwd=self.dir,
                                stdout=subprocess.PIPE).stdout
        box = self.text.split("## What is in the box")[1].split("\n## ")[0]
        for tool in json.loads(listed):
            self.assertIn(f"`{tool['name']}`", box)

    def test_the_figures_are_those_of_the_reports(self):
        self.assertIn("<!-- figures -->", self.text)
        self.assertEqual(self.text, refresh.refreshed(self.text, IKIGAI), "run make docs")

    def test_the_tour_knows_every_folder(self):
        tour = self.text.split("## A tour of the source")[1]
        for path in re.findall(r"`(src/[\w/.]+)`", tour):
            self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path)
        for name in os.listdir(os.path.join(ROOT, "src")):
            self.assertIn(f"src/{name}", tour)


class ProtocolExamples(ScratchTest):
    def setUp(self):
        super().setUp()
        self.env = clean_env(IKIGAI_HOME=self.path("home"))
        self.write("home/config.json", '{"schema_timeout_ms": 60000}')  # Python, on a busy machine
        self.examples = examples()

    def install(self, language, name):
        source = self.write(f"home/tools/{name}", self.examples[language], 0o700)
        if language.endswith("c"):
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
        self.assertEqual(sorted(self.examples),
                         ["c", "host_c", "host_python", "host_sh", "python", "sh"])

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

    def test_those_that_ask_ikigai(self):
        """Without a session. test_repl_ask.py runs them in one."""
        self.write("data/a", "1\n")
        for language, name, arguments, code in (
                ("host_sh", "commit-staged", {}, "MODEL_ERROR"),
                ("host_c", "choose-name", {"names": ["a"]}, "NO_USER")):
            result = self.check_and_run(language, name, name.replace("-", "_"), arguments)
            self.assertEqual(result["error_code"], code, result)
        result = self.check_and_run("host_python", "describe-files", "describe_files",
                                    {"paths": ["data/a", "data/a"]})
        self.assertEqual(result, {"files": {"data/a": "There is no session whose model could "
                                                      "answer"}})


if __name__ == "__main__":
    unittest.main()
