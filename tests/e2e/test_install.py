"""make install and uninstall: what is copied works where it is, what was there stays, and nothing
is left behind."""
import hashlib
import json
import os
import shutil
import subprocess

from support import OUT, ROOT, ScratchTest, clean_env

# Folders of the system: others put things there, too, so they are there before and stay.
SHARED = ("bin", "lib", "libexec", "etc", "share/doc", "share/man/man1", "share/man/man7",
          "share/bash-completion/completions", "share/zsh/site-functions",
          "share/fish/vendor_completions.d")
# One of every kind; what exactly is in a kind is the Makefile's to know.
EXPECTED = {
    "bin/ikigai": 0o755, "lib/ikigai/keeper": 0o755,
    "lib/ikigai/checkpoint": 0o755, "lib/ikigai/sixel": 0o755,
    "libexec/ikigai/bash": 0o755, "libexec/ikigai/file-read": 0o755,
    "etc/ikigai/config.json": 0o644,
    "share/ikigai/apparmor/ikigai-keeper": 0o644,
    "share/ikigai/compact.md": 0o644,
    "share/ikigai/models.json": 0o644, "share/ikigai/templates/tool.sh": 0o644,
    "share/ikigai/manual/headless.md": 0o644, "share/ikigai/manual/tool-protocol.md": 0o644,
    "share/man/man1/ikigai.1": 0o644, "share/man/man7/ikigai-tools.7": 0o644,
    "share/bash-completion/completions/ikigai": 0o644,
    "share/zsh/site-functions/_ikigai": 0o644,
    "share/fish/vendor_completions.d/ikigai.fish": 0o644,
    "share/doc/ikigai/README.md": 0o644, "share/doc/ikigai/CHANGELOG.md": 0o644,
    "share/doc/ikigai/LICENSE": 0o644, "share/doc/ikigai/examples/sql-query": 0o755,
}


def names_in(folder):
    """What is in a folder of the tree, without what was made there."""
    names = os.listdir(os.path.join(ROOT, folder))
    return sorted(n for n in names if not n.startswith((".", "__")) and n + ".c" not in names)


class MakeTest(ScratchTest):
    def setUp(self):
        super().setUp()
        self.dest = self.dir

    def make(self, target, prefix="/usr/local", out=os.path.relpath(OUT, ROOT), umask=0o022,
             status=0):
        """Of what is built already: building again, with the prefix of this test, would change
        the programs under the other tests' feet."""
        done = subprocess.run(["make", "-o", "all", "-C", ROOT, "OUT=" + out, "PREFIX=" + prefix,
                               "DESTDIR=" + self.dest, target], env=clean_env(), umask=umask,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout


class Install(MakeTest):
    def files(self):
        return sorted(os.path.relpath(os.path.join(where, name), self.dest)
                      for where, _, names in os.walk(self.dest) for name in names)

    def record(self):
        """Everything below the destination: path, mode, and of a file its content."""
        found = {}
        for where, folders, names in os.walk(self.dest):
            for name in folders + names:
                path = os.path.join(where, name)
                content = None
                if os.path.isfile(path):
                    with open(path, "rb") as f:
                        content = hashlib.sha256(f.read()).hexdigest()
                found[os.path.relpath(path, self.dest)] = (oct(os.stat(path).st_mode), content)
        return found

    def make_system(self, prefix="usr/local"):
        """Folders as a system has them, empty, with a file of another program or an unusual mode."""
        for folder in SHARED:
            os.makedirs(self.path(prefix, folder))
        self.write(prefix + "/share/man/man1/other.1", "not ours")
        os.chmod(self.path(prefix, "bin"), 0o2775)

    def test_everything_has_its_place_and_mode(self):
        self.make("install")
        files = self.files()
        for name, mode in EXPECTED.items():
            self.assertIn("usr/local/" + name, files)
            self.assertEqual(os.stat(self.path("usr/local", name)).st_mode & 0o7777, mode, name)
        folders = {os.path.dirname(f) for f in files if "/examples/" not in f}
        self.assertEqual(folders, {os.path.dirname("usr/local/" + f) for f in EXPECTED
                                   if "/examples/" not in f})
        for place, source in (("share/doc/ikigai/examples", "examples"),
                              ("share/ikigai/templates", "share/ikigai/templates")):
            self.assertEqual(sorted(os.listdir(self.path("usr/local", place))), names_in(source))
        for where, _, _ in os.walk(self.path("usr")):
            self.assertEqual(os.stat(where).st_mode & 0o7777, 0o755, where)

    def test_neither_umask_nor_a_second_time_matters(self):
        self.make("install")
        first = self.record()
        self.make("install")
        self.assertEqual(self.record(), first)
        self.dest = self.path("elsewhere")
        self.make("install", umask=0o077)
        os.chmod(self.dest, 0o755)
        self.assertEqual(self.record(), first)

    def test_uninstall_takes_away_what_install_brought_and_nothing_else(self):
        self.make_system()
        before = self.record()
        self.make("install")
        self.assertGreater(len(self.files()), len(EXPECTED))
        self.make("uninstall")
        self.assertEqual(self.record(), before)
        self.make("uninstall")
        self.assertEqual(self.record(), before)

    def test_no_file_stays_in_a_system_that_had_nothing(self):
        self.make("install")
        self.make("uninstall")
        self.assertEqual(self.files(), [])
        left = [folder for folder in self.record() if os.path.basename(folder) == "ikigai"]
        self.assertEqual(left, [])

    def test_uninstall_needs_no_build(self):
        self.make_system()
        before = self.record()
        self.make("install")
        self.make("uninstall", out="build/never-built")
        self.assertEqual(self.record(), before)

    def test_somebody_elses_tool_stays(self):
        self.write("usr/local/libexec/ikigai/third-party")
        self.make("install")
        self.make("uninstall")
        self.assertEqual(self.files(), ["usr/local/libexec/ikigai/third-party"])

    def test_a_changed_config_stays(self):
        self.make("install")
        config = "usr/local/etc/ikigai/config.json"
        self.write(config, '{"max_tool_turns": 7}\n')
        self.make("install")
        self.assertEqual(self.read(config), b'{"max_tool_turns": 7}\n')
        self.make("uninstall")
        self.assertEqual(self.files(), [config])

    def test_config_of_usr_is_in_etc(self):
        self.make("install", "/usr")
        self.assertIn("etc/ikigai/config.json", self.files())
        self.assertNotIn("usr/etc/ikigai/config.json", self.files())
        self.make("uninstall", "/usr")
        self.assertEqual(self.files(), [])

    def test_a_destination_may_have_any_name(self):
        self.dest = self.path("it's a \"stage\" & more")
        self.make("install")
        self.assertIn("usr/local/bin/ikigai", self.files())
        self.make("uninstall")
        self.assertEqual(self.files(), [])

    def test_a_prefix_with_a_space_is_refused(self):
        said = self.make("install", "/opt/my programs", status=2)
        self.assertIn("PREFIX must be one path without spaces, not '/opt/my programs'", said)
        self.assertEqual(self.files(), [])

    def test_a_relative_prefix_in_a_folder_with_a_space_is_refused(self):
        tree = self.path("my programs")
        os.makedirs(tree)
        os.makedirs(self.path("my/empty"))
        done = subprocess.run(["make", "-C", tree, "-f", os.path.join(ROOT, "Makefile"), "PREFIX=stage",
                               "DESTDIR=", "uninstall"], env=clean_env(), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("PREFIX must be an absolute path", done.stdout)
        self.assertTrue(os.path.isdir(self.path("my/empty")))


class Installed(MakeTest):
    """A copy that was moved away from where it was installed."""

    def setUp(self):
        super().setUp()
        self.dest = self.path("stage")
        self.make("install", "/opt/ikigai")
        self.prefix = self.path("moved")
        os.rename(self.path("stage/opt/ikigai"), self.prefix)

    def run_program(self, *argv):
        done = subprocess.run(argv, cwd=self.dir, env=clean_env(HOME=self.dir, LC_ALL="C.UTF-8"),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""), argv)
        return done.stdout

    def ikigai(self, *args):
        return self.run_program(os.path.join(self.prefix, "bin/ikigai"), *args)

    def test_it_uses_its_own_tools(self):
        found = json.loads(self.ikigai("tool", "list", "--json"))
        tools = os.path.join(os.path.realpath(self.prefix), "libexec/ikigai")
        self.assertEqual(sorted(tool["path"] for tool in found),
                         sorted(os.path.join(tools, name) for name in os.listdir(tools)))

    def test_it_shows_its_own_chapters_and_needs_no_documents(self):
        shutil.rmtree(os.path.join(self.prefix, "share/doc"))
        manual = os.path.join(self.prefix, "share/ikigai/manual")
        for chapter in os.listdir(manual):
            with open(os.path.join(manual, chapter), "a", encoding="utf-8") as f:
                f.write("\nWords of this very copy.\n")
            shown = self.ikigai("help", "--markdown", chapter.removesuffix(".md"))
            self.assertIn("Words of this very copy.", shown, chapter)

    def test_man_finds_the_pages(self):
        pages = os.path.join(self.prefix, "share/man")
        for section, page in (("1", "ikigai"), ("7", "ikigai-tools")):
            found = self.run_program("man", "-M", pages, "-w", section, page)
            self.assertEqual(found.strip(), f"{pages}/man{section}/{page}.{section}")
            self.assertIn(page, self.run_program("man", "-M", pages, "-P", "cat", section, page))
