"""lib/ikigai/checkpoint in git repositories: files that git has are not copied, whatever way it
stores them, and what is restored are the bytes of the file, not those of git."""
import json
import os
import re
import shutil
import subprocess
import time

from checkpoint_support import CHECKPOINT, CheckpointTest, git, snapshot
from support import clean_env, need_mounts


class GitTest(CheckpointTest):
    in_git = True

    def commit(self, folder=None, *words):
        git(folder or self.project, "add", "-A")
        git(folder or self.project, "commit", "-qm", "x", *words)

    def settle(self):
        """Makes the times of the files older than that of the index."""
        time.sleep(0.05)
        os.utime(os.path.join(self.git_folder(), "index"))

    def git_folder(self):
        return os.path.join(self.project, ".git")

    def stored(self):
        """How many contents the blobs have of their own."""
        count = 0
        for where, folders, names in os.walk(os.path.join(self.blobs, "files")):
            count += len(names)
        return count

    def make_files(self, count=20):
        for i in range(count):
            self.put(f"folder{i % 3}/file{i}.txt", f"content {i}\n" * 20)
        self.put("run.sh", "#!/bin/sh\n", 0o755)
        os.symlink("run.sh", self.path("project/link"))

    def undo_brings_back(self, *changes):
        """All turns are taken back at once, from the contents that are kept."""
        before = snapshot(self.project)
        segments = [self.turn(change) for change in changes]
        self.assertNotEqual(snapshot(self.project), before)
        answer = self.restore(*segments)
        self.assertEqual(answer["conflicts"], [])
        self.assertEqual(snapshot(self.project), before)

    def change_all(self):
        for where, folders, names in os.walk(self.project):
            if ".git" in folders:
                folders.remove(".git")
            for name in names:
                path = os.path.join(where, name)
                if not os.path.islink(path) and name != ".git":
                    with open(path, "w") as f:
                        f.write("agent")

    def without_git(self):
        self.change_all()
        shutil.rmtree(self.git_folder())

    def reads(self, name):
        """Whether taking a state with nothing known opens this file."""
        request = {"op": "take", "folder": self.project, "blobs": self.path("other"),
                   "previous": None, "tree": True, "paths": [], "max_files": 50000,
                   "max_bytes": 1 << 28}
        trace = self.path("trace")
        subprocess.run(["strace", "-o", trace, "-e", "trace=openat,openat2", CHECKPOINT],
                       input=json.dumps(request).encode(), stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env=clean_env(), check=True)
        shutil.rmtree(self.path("other"))
        with open(trace) as f:
            return f'"{name}"' in f.read()


class CleanCheckout(GitTest):
    def check(self):
        """Nothing is copied or read, everything comes back, even without the repository."""
        self.settle()
        self.assertEqual(self.take()["files"], len(snapshot(self.project)))
        self.assertEqual(self.stored(), 0)
        self.undo_brings_back(self.change_all)
        self.settle()
        self.undo_brings_back(self.without_git)

    def test_single_objects(self):
        self.make_files()
        self.commit()
        self.settle()
        self.assertFalse(self.reads("folder1/file1.txt"))
        self.check()

    def test_only_staged(self):
        self.make_files()
        git(self.project, "add", "-A")
        self.check()

    def test_packs(self):
        self.make_files()
        self.commit()
        for i in range(10):
            self.put(f"folder{i % 3}/file{i}.txt", f"content {i}\n" * 20 + "more\n")
        self.commit()
        git(self.project, "gc", "-q", "--prune=now")
        self.assertEqual(git(self.project, "count-objects").split()[0], "0")
        self.settle()
        self.assertFalse(self.reads("folder1/file1.txt"))
        self.check()

    def test_deltas(self):
        """Chains of deltas, by offset and by name of the base."""
        for by_offset in ("true", "false"):
            lines = [f"line {i}\n" for i in range(2000)]
            for i in range(15):
                lines[i * 100] = f"changed in {i} {by_offset}\n"
                self.put("large.txt", "".join(lines))
                self.commit()
            git(self.project, "-c", f"repack.useDeltaBaseOffset={by_offset}", "repack", "-adfq",
                "--depth=50", "--window=50")
            self.settle()
            self.assertFalse(self.reads("large.txt"))
            self.take()
            self.undo_brings_back(lambda: self.put("large.txt", "agent"))
        self.undo_brings_back(self.without_git)

    def test_old_pack_index(self):
        self.make_files()
        self.commit()
        git(self.project, "-c", "pack.indexVersion=1", "repack", "-adq")
        self.check()

    def test_several_packs(self):
        for i in range(5):
            self.put(f"file{i}", f"{i}\n" * 50)
            self.commit()
            git(self.project, "repack", "-q")
        self.check()

    def test_sha256(self):
        shutil.rmtree(self.git_folder())
        git(self.project, "init", "-q", "--object-format=sha256")
        self.make_files()
        self.commit()
        self.settle()
        self.assertFalse(self.reads("folder1/file1.txt"))
        self.take()
        self.assertEqual(self.stored(), 0)
        git(self.project, "gc", "-q")
        self.check()
        git(self.project, "init", "-q", "--object-format=sha256")
        segment = self.turn(lambda: self.put("binary", bytes(256)))
        patch = self.diff(segment, format="patch")
        self.restore(segment)
        git(self.project, "apply", "-", input=patch.encode())

    def test_index_versions(self):
        self.make_files()
        self.commit()
        for version in ("2", "3", "4"):
            git(self.project, "update-index", "--index-version", version)
            self.settle()
            self.assertFalse(self.reads("folder1/file1.txt"), version)
            self.take(previous=None)
            self.assertEqual(self.stored(), 0)

    def test_alternates(self):
        self.make_files()
        self.commit()
        git(self.project, "gc", "-q")
        git(self.dir, "clone", "-q", "--shared", self.project, "clone")
        shutil.move(self.project, self.path("original"))
        self.write("clone/.git/objects/info/alternates",
                   self.path("original/.git/objects") + "\n")
        shutil.move(self.path("clone"), self.project)
        git(self.project, "status")
        os.utime(self.path("project/.git/index"))
        self.check()

    def test_worktree(self):
        self.make_files()
        self.commit()
        git(self.project, "worktree", "add", "-q", self.path("tree"))
        main = self.project
        self.project = self.path("tree")
        time.sleep(0.05)
        os.utime(os.path.join(main, ".git/worktrees/tree/index"))
        self.take()
        self.assertEqual(self.stored(), 0)
        self.assertFalse(self.reads("folder1/file1.txt"))
        self.undo_brings_back(self.change_all)

    def test_submodule(self):
        library = self.path("library")
        os.makedirs(library)
        git(library, "init", "-q")
        self.write("library/lib.c", "int x;\n" * 100)
        self.write("library/.gitignore", "*.o\n")
        self.commit(library)
        self.make_files()
        self.put(".gitignore", "lib.c\n")
        git(self.project, "submodule", "add", "-q", library, "vendor/lib")
        self.commit()
        self.put("vendor/lib/x.o", "ignored")
        self.settle()
        os.utime(self.path("project/.git/modules/vendor/lib/index"))
        self.assertFalse(self.reads("vendor/lib/lib.c"))
        self.take()
        self.assertEqual(self.stored(), 0)
        self.undo_brings_back(lambda: (self.put("vendor/lib/lib.c", "agent"),
                                       self.put("vendor/lib/new/file", "agent"),
                                       self.put("run.sh", "agent")))
        self.assertFalse(os.path.exists(self.path("project/vendor/lib/new")))

    def test_repacked_meanwhile(self):
        self.make_files()
        self.commit()
        self.settle()

        def repack():
            self.change_all()
            self.commit()
            git(self.project, "reflog", "expire", "--expire=all", "--all")
            git(self.project, "update-ref", "-d", "HEAD")
            git(self.project, "gc", "-q", "--prune=now")
        self.undo_brings_back(repack)

    def test_many_single_objects(self):
        """More than are linked at once: those of files that change are kept all the same."""
        self.make_files(1100)
        self.commit()
        self.settle()
        self.take()
        self.assertEqual(self.stored(), 0)
        self.undo_brings_back(self.change_all,
                              lambda: (shutil.rmtree(self.git_folder()), self.put("new", "x")))

    def test_single_objects_that_go_with_the_files(self):
        """A young repository, which git has not packed, is removed with all its files."""
        self.make_files(300)
        self.commit()
        self.settle()
        self.undo_brings_back(lambda: (shutil.rmtree(self.project), os.mkdir(self.project)))

    def test_another_file_system(self):
        """Where nothing can be linked, small files are copied."""
        need_mounts()
        self.make_files()
        self.commit()
        self.settle()
        os.makedirs(self.blobs)
        script = f"""
            mount -t tmpfs none {self.blobs} && exec /usr/bin/python3 -c '
import json, os, shutil, subprocess, sys
def call(**request):
    done = subprocess.run(["{CHECKPOINT}"], input=json.dumps(request), stdout=subprocess.PIPE,
                          text=True, check=True)
    return json.loads(done.stdout)
place = dict(folder="{self.project}", blobs="{self.blobs}", max_files=5000, max_bytes=1 << 28)
before = call(op="take", previous=None, tree=True, paths=[], **place)
open("{self.project}/run.sh", "w").write("agent")
shutil.rmtree("{self.project}/.git")
after = call(op="take", previous=[before["state"]], tree=True, paths=[], **place)
segment = dict(before=[before["state"]], after=[after["state"]])
print(call(op="restore", segments=[segment], **place)["restored"])'"""
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], env=clean_env(),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.stdout, "[{'path': 'run.sh'}]\n")
        self.assertEqual(self.read("project/run.sh"), b"#!/bin/sh\n")


class Many(GitTest):
    """Enough tracked files for threads that ask for their status."""

    def setUp(self):
        super().setUp()
        self.make_files(600)
        self.put("sub/.gitattributes", "*.crlf text eol=crlf\n")
        self.put("sub/a.crlf", "one\r\ntwo\r\n")
        self.put("sub/b.txt", "b\n")
        self.put("lonely/deep/only.txt", "x\n")
        self.put(".gitignore", "*.log\n")
        self.put("tracked.log", "0\n")
        git(self.project, "add", "-f", "tracked.log")
        self.commit()
        git(self.project, "gc", "-q")
        self.settle()

    def test_nothing_is_read_but_what_git_converts(self):
        self.assertEqual(self.take()["files"], 608)
        self.assertLessEqual(self.stored(), 3)  # those in sub
        self.assertFalse(self.reads("folder1/file1.txt"))
        self.assertEqual(self.take(previous=None)["changed"], False)

    def test_what_may_happen_to_files(self):
        self.put("untracked/new.txt", "mine\n")
        self.put("ignored.log", "mine\n")

        def change():
            os.unlink(self.path("project/folder0/file0.txt"))
            os.unlink(self.path("project/folder1/file1.txt"))
            os.symlink("../run.sh", self.path("project/folder1/file1.txt"))
            os.unlink(self.path("project/folder2/file2.txt"))
            os.mkfifo(self.path("project/folder2/file2.txt"))
            os.chmod(self.path("project/folder0/file3.txt"), 0o755)
            shutil.rmtree(self.path("project/lonely"))
            self.put("lonely", "a file now")
            self.put("sub/a.crlf", "agent\n")
            self.put("tracked.log", "agent\n")
            self.put("untracked/new.txt", "agent\n")
        before = snapshot(self.project)
        segment = self.turn(change)
        os.unlink(self.path("project/folder2/file2.txt"))
        self.assertEqual(len(self.diff(segment)), 9)
        self.assertEqual(self.conflicts(self.restore(segment)), {})
        self.assertEqual(snapshot(self.project), before)

    def test_sub_folder(self):
        state = self.take(folder=os.path.join(self.project, "folder1"))
        self.assertEqual(state["files"], 200)
        self.project = os.path.join(self.project, "folder1")
        self.undo_brings_back(lambda: (self.put("folder1/file1.txt", "agent"),
                                       os.unlink(self.path("project/folder1/file4.txt"))))

    def test_tracked_files_that_come_and_go(self):
        """While a state is taken. A folder that is empty at that moment is one that exists."""
        self.make_restless("""
            while :; do
                for i in folder1/*; do rm -f $i lonely/deep/only.txt; echo x > $i; done
                mv folder1 moved; mv moved folder1; echo x > lonely/deep/only.txt
            done""")
        for turn in range(10):
            segment = self.turn(lambda: (self.put("run.sh", f"agent {turn}"),
                                         self.put("lonely/deep/new", "x")))
            undone = self.restore(segment, force=True, paths=["run.sh", "lonely/deep/new"])
            self.assertEqual(self.restored(undone), ["lonely/deep/new", "run.sh"])
            self.assertEqual(self.read("project/run.sh"), b"#!/bin/sh\n")
            self.assertTrue(os.path.isdir(self.path("project/lonely/deep")))


class NotClean(GitTest):
    def test_same_instant_as_the_index(self):
        """A file that changed after git add, but with the time and size that the index has."""
        for i in range(10):
            self.put("file", "before\n")
            git(self.project, "add", "file")
            status = os.stat(self.path("project/file"))
            self.put("file", "after!\n")
            os.utime(self.path("project/file"), ns=(status.st_atime_ns, status.st_mtime_ns))
            before = snapshot(self.project)
            segment = self.turn(lambda: self.put("file", "agent"))
            self.restore(segment)
            self.assertEqual(snapshot(self.project), before)

    def test_touched(self):
        """The status differs, the content does not: nothing is copied."""
        self.make_files()
        self.commit()
        self.settle()
        for i in range(20):
            os.utime(self.path(f"project/folder{i % 3}/file{i}.txt"))
        self.take()
        self.assertEqual(self.stored(), 0)
        self.undo_brings_back(self.change_all)

    def test_git_commands_in_a_turn(self):
        """A commit, a checkout and a stash change names, not files."""
        self.make_files()
        self.commit()
        self.settle()

        def work():
            self.put("run.sh", "agent\n")
            self.commit()
            git(self.project, "checkout", "-q", "-b", "other", "HEAD~1")
            git(self.project, "checkout", "-q", "-")
            self.put("run.sh", "more\n")
            git(self.project, "stash", "-q")
            git(self.project, "stash", "pop", "-q")
        segment = self.turn(work)
        self.assertEqual([f["path"] for f in self.diff(segment)], ["run.sh"])
        self.assertEqual(self.restored(self.restore(segment)), ["run.sh"])

    def test_conflict_in_the_index(self):
        self.make_files()
        self.commit()
        git(self.project, "checkout", "-q", "-b", "side")
        self.put("run.sh", "side\n")
        self.commit()
        git(self.project, "checkout", "-q", "-")
        self.put("run.sh", "main\n")
        self.commit()
        with self.assertRaisesRegex(AssertionError, "CONFLICT"):
            git(self.project, "merge", "side")
        self.assertIn(b"<<<<", self.read("project/run.sh"))
        self.undo_brings_back(self.change_all)

    def test_intent_to_add(self):
        self.make_files()
        git(self.project, "add", "-N", "run.sh")
        self.undo_brings_back(self.change_all)

    def test_split_index(self):
        self.make_files()
        self.put(".gitignore", "*.txt\n")
        git(self.project, "add", "-f", "-A")
        git(self.project, "commit", "-qm", "x")
        git(self.project, "update-index", "--split-index")
        self.put("untracked", "x")
        git(self.project, "add", "untracked")
        self.settle()
        self.assertEqual(self.take()["files"], 24)
        self.undo_brings_back(self.change_all)

    def test_sparse_index(self):
        self.make_files()
        self.commit()
        git(self.project, "sparse-checkout", "init", "--cone", "--sparse-index")
        git(self.project, "sparse-checkout", "set", "folder1")
        self.settle()
        self.assertEqual(self.take()["files"], 9)
        self.assertEqual(self.stored(), 0)
        self.undo_brings_back(self.change_all)

    def test_damaged_index(self):
        self.make_files()
        self.commit()
        self.settle()
        whole = self.read("project/.git/index")
        for size in (0, 11, 12, 100, len(whole) // 2, len(whole) - 1):
            self.put(".git/index", whole[:size])
            self.take(previous=None)
            self.undo_brings_back(lambda: self.put("run.sh", f"agent {size}"))
        # Everything in an entry: its times, its object, its path, the zeros that end it.
        for at in range(300, 388, 11):
            self.put(".git/index", whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
            self.take(previous=None)
            self.undo_brings_back(self.change_all)
        self.put(".git/index", whole[:200] + bytes(512) + whole[712:])
        self.take(previous=None)
        self.undo_brings_back(self.change_all)

    def test_damaged_index_and_many_single_objects(self):
        """Objects that are not looked for one by one are only believed in a whole index."""
        self.make_files(1100)
        self.commit()
        self.settle()
        whole = self.read("project/.git/index")
        name = git(self.project, "rev-parse", ":run.sh").strip()
        at = whole.index(bytes.fromhex(name))
        damaged = bytearray(whole)
        damaged[at + 10] ^= 1
        self.put(".git/index", bytes(damaged))
        self.settle()
        self.take()
        self.assertEqual(self.stored(), 1)
        self.undo_brings_back(self.change_all)

    def test_missing_object(self):
        """A file is copied when git lost its content."""
        self.make_files()
        self.commit()
        self.settle()
        for where, _, names in os.walk(self.path("project/.git/objects")):
            for name in names:
                os.unlink(os.path.join(where, name))
        self.undo_brings_back(self.change_all)

    def test_damaged_pack(self):
        """Never other bytes: what cannot be read is unavailable."""
        self.make_files()
        self.commit()
        git(self.project, "gc", "-q")
        self.settle()
        segment = self.turn(self.change_all)
        packs = self.path("project/.git/objects/pack")
        pack = [n for n in os.listdir(packs) if n.endswith(".pack")][0]
        path = os.path.join(packs, pack)
        whole = self.read(path)
        os.chmod(path, 0o644)
        for size in (0, 10, 100):
            with open(path, "r+b") as f:  # in place: the links see it, too
                f.truncate(size)
            answer = self.restore(segment, dry_run=True)
            self.assertIn("unavailable", set(self.conflicts(answer).values()))
            with open(path, "r+b") as f:
                f.write(whole)
        for at in range(12, len(whole) - 20, 37):
            with open(path, "r+b") as f:
                f.seek(at)
                f.write(bytes([whole[at] ^ 0x55]))
            self.restore(segment, dry_run=True)
            with open(path, "r+b") as f:
                f.seek(at)
                f.write(whole[at:at + 1])
        self.assertEqual(self.conflicts(self.restore(segment)), {})


class Conversions(GitTest):
    """The object of git is not the file; the file is what comes back."""

    def check(self, *names):
        self.settle()
        self.take(previous=None)
        before = snapshot(self.project)
        self.undo_brings_back(self.change_all)
        for name in names:
            self.assertEqual(snapshot(self.project)[name.encode()], before[name.encode()])

    def checkout_again(self, *names):
        for name in names:
            os.unlink(self.path("project", name))
        git(self.project, "checkout", "--", *names)

    def test_autocrlf(self):
        self.put("text.txt", "one\ntwo\n")
        self.commit()
        git(self.project, "config", "core.autocrlf", "true")
        self.checkout_again("text.txt")
        self.assertEqual(self.read("project/text.txt"), b"one\r\ntwo\r\n")
        self.check("text.txt")

    def test_autocrlf_of_earlier(self):
        """The setting is gone, the file still is as it was written."""
        self.put("text.txt", "one\ntwo\n")
        self.commit()
        git(self.project, "config", "core.autocrlf", "true")
        self.checkout_again("text.txt")
        git(self.project, "config", "--unset", "core.autocrlf")
        self.assertEqual(self.read("project/text.txt"), b"one\r\ntwo\r\n")
        self.check("text.txt")

    def test_mixed_line_ends(self):
        self.put(".gitattributes", "* text=auto\n")
        self.put("text.txt", "one\r\ntwo\n")
        self.commit()
        self.check("text.txt")

    def test_eol(self):
        self.put(".gitattributes", "*.bat text eol=crlf\n")
        self.put("run.bat", "one\ntwo\n")
        self.commit()
        self.checkout_again("run.bat")
        self.assertEqual(self.read("project/run.bat"), b"one\r\ntwo\r\n")
        self.check("run.bat")

    def test_attributes_in_a_sub_folder(self):
        self.put("sub/.gitattributes", "*.txt text eol=crlf\n")
        self.put("sub/deep/text.txt", "one\ntwo\n")
        self.commit()
        self.checkout_again("sub/deep/text.txt")
        self.check("sub/deep/text.txt")

    def test_attributes_that_are_gone(self):
        self.put(".gitattributes", "*.txt text eol=crlf\n")
        self.put("text.txt", "one\ntwo\n")
        self.commit()
        self.checkout_again("text.txt")
        os.unlink(self.path("project/.gitattributes"))
        self.check("text.txt")

    def test_ident(self):
        self.put(".git/info/attributes", "*.c ident\n")
        self.put("file.c", "/* $Id$ */\n")
        self.commit()
        self.checkout_again("file.c")
        self.assertNotIn(b"$Id$", self.read("project/file.c"))
        self.check("file.c")

    def test_filter(self):
        """A filter that keeps the size, and is never run here."""
        git(self.project, "config", "filter.turn.clean", "tr a-z n-za-m")
        git(self.project, "config", "filter.turn.smudge",
            f"touch {self.path('ran')}; tr a-z n-za-m")
        self.put(".gitattributes", "*.rot filter=turn\n")
        self.put("file.rot", "secret\n")
        self.commit()
        self.checkout_again("file.rot")
        os.unlink(self.path("ran"))
        self.check("file.rot")
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_encoding(self):
        self.put(".gitattributes", "*.txt working-tree-encoding=UTF-16LE\n")
        self.put("file.txt", "text\n".encode("utf-16-le"))
        self.commit()
        self.checkout_again("file.txt")
        self.check("file.txt")


class Sweep(GitTest):
    in_git = False

    def sweep(self, keep, max_bytes=1 << 28):
        from checkpoint_support import call
        return call({"op": "sweep", "blobs": self.blobs, "keep": keep, "max_bytes": max_bytes})

    def test_what_is_kept_stays(self):
        self.put("a", "one")
        first = self.turn(lambda: self.put("a", "two"))
        second = self.turn(lambda: self.put("a", "three"))
        keep = second["before"] + second["after"]
        answer = self.sweep(keep)
        self.assertEqual(answer["removed"], 1)
        self.assertGreater(answer["bytes"], 0)
        self.restore(second)
        self.assertEqual(self.read("project/a"), b"two")
        self.assertEqual(self.sweep(keep)["removed"], 0)
        self.assertEqual(self.sweep([])["removed"], 2)
        self.assertEqual(self.stored(), 0)
        self.assertEqual(os.listdir(os.path.join(self.blobs, "states")), [])
        del first

    def test_packs_are_written_again(self):
        for i in range(400):
            self.put(f"file{i}", f"content {i}\n" * 10)
        state = self.take()["state"]
        for i in range(200):
            os.unlink(self.path(f"project/file{i}"))
        later = self.take(previous=None)
        self.assertGreater(self.sweep([later["state"]])["bytes"], 0)
        for i in range(200, 400):
            self.put(f"file{i}", "agent")
        after = self.take()["state"]
        self.restore({"before": [later["state"]], "after": [after]})
        for i in range(200, 400):
            self.assertEqual(self.read(f"project/file{i}"), f"content {i}\n".encode() * 10)
        del state

    def traced(self, **request):
        """The answer, and the calls that write. The states belong to strace, which has ended."""
        trace = self.path("trace")
        done = subprocess.run(
            ["strace", "-o", trace, "-e", "trace=write,fsync,renameat,renameat2,unlinkat", CHECKPOINT],
            input=json.dumps({"blobs": self.blobs, "max_bytes": 1 << 28, **request}).encode(),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=clean_env(), check=True)
        with open(trace) as f:
            return json.loads(done.stdout), f.read().splitlines()

    def test_a_pack_goes_only_when_the_new_one_is_on_disk(self):
        take = {"op": "take", "folder": self.project, "previous": None, "tree": True, "paths": [],
                "max_files": 50000}
        for i in range(400):
            self.put(f"file{i}", f"content {i}\n")
        self.traced(**take)
        for i in range(200):
            os.unlink(self.path(f"project/file{i}"))
        kept = self.traced(**take)[0]["state"]
        lines = self.traced(op="sweep", keep=[kept])[1]
        gone = [i for i, line in enumerate(lines) if re.match(r'unlinkat\(\d+, "pack-', line)][0]
        calls = [line.partition("(")[0] for line in lines[gone - 4:gone]]
        self.assertEqual(calls, ["write", "fsync", "renameat", "fsync"])

    def test_limit(self):
        """The oldest states go first."""
        segments = []
        for i in range(10):
            self.put("a", os.urandom(10000))
            segments.append(self.turn(lambda: self.put("a", os.urandom(10000))))
            time.sleep(0.01)
        keep = sum((s["before"] + s["after"] for s in segments), [])
        self.sweep(keep, max_bytes=60000)
        self.assertLess(sum(os.path.getsize(os.path.join(w, n)) for w, _, names in
                            os.walk(os.path.join(self.blobs, "files")) for n in names), 60000)
        self.assertEqual(self.conflicts(self.restore(segments[-1])), {})

    def test_limit_while_taking(self):
        self.put("keep", "x")
        for i in range(30):
            self.put("a", os.urandom(10000))
            answer = self.take(max_bytes=100000)
            self.assertIsNone(answer["limit"])
        total = sum(os.path.getsize(os.path.join(w, n)) for w, _, names in
                    os.walk(os.path.join(self.blobs, "files")) for n in names)
        self.assertLess(total, 130000)

    def test_repositories(self):
        git(self.project, "init", "-q")
        self.make_files()
        self.commit()
        git(self.project, "gc", "-q")
        self.settle()
        segment = self.turn(self.change_all)
        shutil.rmtree(self.git_folder())
        self.sweep(segment["before"] + segment["after"])
        self.assertEqual(self.conflicts(self.restore(segment)), {})
        self.sweep([])
        self.assertEqual(os.listdir(os.path.join(self.blobs, "git")), [])
