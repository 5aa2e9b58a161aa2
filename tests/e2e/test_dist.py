"""make dist: the same bytes wherever they are packed, with git or without, and nothing that was
built."""
import gzip
import io
import os
import re
import shutil
import subprocess
import tarfile

from support import ROOT, ScratchTest, clean_env

TIME = 1700000000
INTO_ITSELF = ("OUT=.", "BUILD=build/obj")  # wherever what is tested was built


class Dist(ScratchTest):
    """Packs a small tree that has the Makefile and script/dist of this one: what is in the files
    does not matter."""

    FILES = {"src/main.c": "int main(void) { return 0; }\n", "README.md": "# Read me\n",
             "docs/naïve.md": "é\n", "share/ikigai/models.json": "{}\n",
             ".gitignore": "/bin/\n/build/\n"}

    def setUp(self):
        super().setUp()
        tree = self.path("tree")
        for name, content in self.FILES.items():
            self.write("tree/" + name, content)
        for name in ("Makefile", "script/dist"):
            os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), os.path.join(tree, name))
        self.git(tree, "init", "-q")
        self.git(tree, "add", "-A")
        self.git(tree, "commit", "-qm", "tree", date=TIME)
        self.tree = tree

    def env(self, **more):
        kept = {k: v for k, v in clean_env().items()
                if not k.startswith(("GIT_", "SOURCE_DATE_EPOCH"))}
        return dict(kept, HOME=self.dir, **more)

    def git(self, folder, *args, date=None, umask=0o022):
        stamp = {} if date is None else {"GIT_AUTHOR_DATE": f"@{date} +0900",
                                         "GIT_COMMITTER_DATE": f"@{date} +0900"}
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *args],
                       cwd=folder, env=self.env(**stamp), umask=umask, check=True)

    def make_dist(self, tree, umask=0o022, **env):
        return subprocess.run(["make", "-s", "-C", tree, *INTO_ITSELF, "dist"], env=self.env(**env),
                              umask=umask, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)

    def dist(self, tree, **how):
        """The bytes of the tarball."""
        done = self.make_dist(tree, **how)
        self.assertEqual(done.returncode, 0, done.stdout)
        said = done.stdout.splitlines()[-1]
        self.assertRegex(said, r"^build/ikigai-[\d.]+\.tar\.gz$")
        with open(os.path.join(tree, said), "rb") as f:
            return f.read()

    def unpack(self, packed, where):
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(self.path(where))
            return self.path(where, archive.getnames()[0].partition("/")[0])

    def entries(self, packed):
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            return archive.getmembers()

    def test_two_clones(self):
        self.git(self.dir, "clone", "-q", "tree", "one")
        self.git(self.dir, "clone", "-q", "tree", "two and more", umask=0o077)
        self.assertEqual(self.dist(self.path("one")),
                         self.dist(self.path("two and more"), umask=0o077, TZ="Asia/Tokyo",
                                   LC_ALL="C.UTF-8", LANG="de_DE.UTF-8"))

    def test_out_of_itself_without_git(self):
        packed = self.dist(self.tree)
        unpacked = self.unpack(packed, "unpacked")
        for built in ("bin/ikigai", "build/obj/main.o", "src/main.o", "share/man/man1/ikigai.1",
                      "src/notes.orig"):
            self.write(os.path.relpath(os.path.join(unpacked, built), self.dir))
        os.utime(os.path.join(unpacked, "README.md"))
        self.assertEqual(self.dist(unpacked, PATH=self.path_without_git()), packed)

    def path_without_git(self):
        """A folder with every program but git."""
        programs = self.path("programs")
        os.mkdir(programs)
        for folder in reversed(os.get_exec_path()):
            for name in os.listdir(folder) if os.path.isdir(folder) else []:
                if not name.startswith("git"):
                    link = os.path.join(programs, name)
                    if os.path.lexists(link):
                        os.remove(link)
                    os.symlink(os.path.join(folder, name), link)
        return programs

    def test_what_is_in_it(self):
        self.write("tree/bin/ikigai")
        self.write("tree/notes.txt")
        os.chmod(self.path("tree/README.md"), 0o600)
        os.remove(self.path("tree/share/ikigai/models.json"))
        entries = self.entries(self.dist(self.tree))
        version = re.search(r"^VERSION := (.*)$", self.read("tree/Makefile").decode(), re.M)[1]
        names = [e.name.removeprefix(f"ikigai-{version}/") for e in entries]
        self.assertEqual(names, [".gitignore", "Makefile", "README.md", "docs/naïve.md",
                                 "script/dist", "src/main.c", "MANIFEST"])
        for entry in entries:
            executable = entry.name.endswith("script/dist")
            self.assertEqual((entry.uid, entry.gid, entry.uname, entry.gname, entry.mtime,
                              oct(entry.mode)),
                             (0, 0, "", "", TIME, oct(0o755 if executable else 0o644)), entry.name)

    def test_the_time_can_be_given(self):
        entries = self.entries(self.dist(self.tree, SOURCE_DATE_EPOCH="1600000000"))
        self.assertEqual({e.mtime for e in entries}, {1600000000})

    def test_nothing_of_the_day_is_in_the_compressed_file(self):
        packed = self.dist(self.tree)
        self.assertEqual(packed[:8], b"\x1f\x8b\x08\0\0\0\0\0")  # no name, no time
        self.assertNotIn(b"root", gzip.decompress(packed)[:512])

    def test_neither_a_repository_nor_a_list(self):
        shutil.rmtree(self.path("tree/.git"))
        done = self.make_dist(self.tree, GIT_CEILING_DIRECTORIES=self.dir)
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse([n for n in os.listdir(self.tree + "/build") if n.endswith(".gz")])


class Tree(ScratchTest):
    def test_this_tree_holds_nothing_built(self):
        """What is tracked here, or came with the tarball."""
        listed = os.path.join(ROOT, "MANIFEST")
        if os.path.exists(listed):
            with open(listed, encoding="utf-8") as f:
                names = f.read().splitlines()
        else:
            names = subprocess.run(["git", "-c", "safe.directory=*", "-C", ROOT, "ls-files"],
                                   check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
        built = re.compile(r"^(bin|build|lib|libexec|share/man|share/ikigai/manual)/|"
                           r"\.(o|a|d|pyc|so)$")
        self.assertEqual([name for name in names if built.search(name)], [])
        self.assertIn("Makefile", names)
