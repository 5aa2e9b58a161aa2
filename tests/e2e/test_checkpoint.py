"""lib/ikigai/checkpoint: states of a folder, what changed between them, and the way back."""
import base64
import json
import os
import shutil
import socket
import subprocess
import time

from checkpoint_support import CHECKPOINT, CheckpointTest, call, git, snapshot
from support import NOBODY, clean_env, on_this_machine


class Everywhere:
    """What holds in a repository and outside one."""

    def make_project(self):
        self.put("a.txt", "one\ntwo\nthree\n")
        self.put("sub/b.sh", "#!/bin/sh\n", 0o755)
        self.put("sub/empty", "")
        self.put("crlf.txt", "one\r\ntwo\r\n")
        self.put("bytes", bytes(range(256)))
        os.symlink("a.txt", self.path("project/link"))
        os.symlink("nowhere/at/all", self.path("project/sub/dangling"))

    def undo_brings_back(self, change):
        """Undoes the change and redoes it, byte for byte."""
        before = snapshot(self.project)
        segment = self.turn(change)
        after = snapshot(self.project)
        self.assertNotEqual(before, after)
        undone = self.restore(segment)
        self.assertEqual(undone["conflicts"], [])
        self.assertEqual(snapshot(self.project), before)
        redone = self.restore({"before": undone["before"], "after": undone["after"]})
        self.assertEqual(redone["conflicts"], [])
        self.assertEqual(snapshot(self.project), after)
        self.restore(segment)
        return segment

    def test_unchanged(self):
        self.make_project()
        first = self.take()
        self.assertEqual((first["files"], first["left_out"], first["limit"]), (7, [], None))
        files = sorted(os.walk(self.blobs))
        second = self.take()
        self.assertEqual(second["state"], first["state"])
        self.assertFalse(second["changed"])
        self.assertEqual(sorted(os.walk(self.blobs)), files)

    def test_modified(self):
        self.make_project()
        self.undo_brings_back(lambda: self.put("a.txt", "one\n2\nthree\n"))

    def test_same_size_at_once(self):
        """An edit that keeps the size, in the same instant as the first state."""
        self.make_project()
        for i in range(20):
            self.undo_brings_back(lambda: self.put("a.txt", f"one\nt{i:02}\nthree\n"))

    def test_added_with_folders(self):
        self.make_project()
        os.mkdir(self.path("project/was_empty"))
        self.undo_brings_back(lambda: (self.put("new/deep/er/file", "x"),
                                       self.put("new/other", "y"),
                                       self.put("was_empty/now_not", "z")))
        self.assertFalse(os.path.exists(self.path("project/new")))
        self.assertTrue(os.path.isdir(self.path("project/was_empty")))

    def test_folder_with_something_else_stays(self):
        self.make_project()
        segment = self.turn(lambda: self.put("new/file", "x"))
        self.put("new/mine", "y")
        self.restore(segment)
        self.assertEqual(os.listdir(self.path("project/new")), ["mine"])

    def test_deleted(self):
        self.make_project()

        def change():
            for name in ("a.txt", "sub/b.sh", "sub/empty", "sub/dangling", "link"):
                os.unlink(self.path("project", name))
            os.rmdir(self.path("project/sub"))
        self.undo_brings_back(change)

    def test_renamed(self):
        self.make_project()
        self.undo_brings_back(lambda: os.rename(self.path("project/a.txt"),
                                                self.path("project/b.txt")))
        self.undo_brings_back(lambda: os.rename(self.path("project/a.txt"),
                                                self.path("project/A.txt")))
        self.undo_brings_back(lambda: os.rename(self.path("project/sub"),
                                                self.path("project/Sub")))

    def test_files_that_appear_and_vanish(self):
        """While a state is taken. Files that stay are covered all the same."""
        self.make_project()
        self.put("restless/log", "0\n")
        still = (b".git", b"restless")
        before = snapshot(self.project, still)
        self.make_restless("""
            mkdir -p busy; while :; do
                for i in 1 2 3 4 5 6 7 8; do
                    mkdir -p busy/$i; echo $i > busy/$i/new; ln -s new busy/$i/link; echo x >> log
                done
                mv busy moved; rm -rf moved; mkdir busy
            done""", "project/restless")
        for turn in range(10):
            segment = self.turn(lambda: (self.put("a.txt", f"agent {turn}"), self.put("new", "x")))
            self.restore(segment, force=True, paths=["a.txt", "new"])
            self.assertEqual(snapshot(self.project, still), before)

    def test_permissions(self):
        self.make_project()
        for mode in (0o600, 0o755, 0o400, 0o444, 0o4755):
            self.undo_brings_back(lambda: os.chmod(self.path("project/a.txt"), mode))
        os.chmod(self.path("project/a.txt"), 0o444)

        def rewrite():
            os.unlink(self.path("project/a.txt"))
            self.put("a.txt", "other", 0o400)
        self.undo_brings_back(rewrite)

    def test_a_program_of_another_user(self):
        """What is made again belongs to root, as which it must not run. A file that is only written
        keeps its owner."""
        if os.geteuid() != 0:
            self.skipTest("needs root to give files away")
        for name, owner, change, mode in (("mine", 0, os.remove, 0o4755),
                                          ("removed", NOBODY, os.remove, 0o755),
                                          ("moved", NOBODY, self.replace, 0o755),
                                          ("written", NOBODY, self.overwrite, 0o4755)):
            with self.subTest(name):
                path = self.put(name, "#!/bin/sh\n")
                os.chown(path, owner, owner)
                os.chmod(path, 0o4755)
                segment = self.turn(lambda: change(path))
                self.assertEqual(self.restored(self.restore(segment)), [name])
                self.assertEqual(os.stat(path).st_mode & 0o7777, mode)
                self.assertEqual(self.read(path), b"#!/bin/sh\n")

    def replace(self, path):
        os.rename(self.put("other", "agent"), path)

    def overwrite(self, path):
        with open(path, "w") as f:
            f.write("agent")

    def test_kinds_change(self):
        self.make_project()

        def link_for_file():
            os.unlink(self.path("project/a.txt"))
            os.symlink("bytes", self.path("project/a.txt"))

        def file_for_link():
            os.unlink(self.path("project/link"))
            self.put("link", "not a link")

        def other_target():
            os.unlink(self.path("project/link"))
            os.symlink("bytes", self.path("project/link"))

        def folder_for_file():
            os.unlink(self.path("project/a.txt"))
            self.put("a.txt/inside/it", "x")

        def file_for_folder():
            for name in os.listdir(self.path("project/sub")):
                os.unlink(self.path("project/sub", name))
            os.rmdir(self.path("project/sub"))
            self.put("sub", "a file")
        for change in (link_for_file, file_for_link, other_target, folder_for_file,
                       file_for_folder):
            self.undo_brings_back(change)

    def test_names(self):
        """Names with spaces, quotes, newlines, and bytes that are not UTF-8."""
        self.make_project()
        names = [b"sp ace", b'quo"te', b"new\nline", b"back\\slash", "f\u00fcr".encode(), b"\xff\xfe",
                 b"tab\there", b"-dash", b"a b/c d"]

        def change():
            for name in names:
                path = os.path.join(os.fsencode(self.project), name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as f:
                    f.write(b"text\n")
        segment = self.undo_brings_back(change)
        self.assertEqual(len(self.diff(segment)), len(names))
        self.assertIn("path_base64", self.diff(segment)[-1])

    def test_a_folder_whose_name_is_not_utf8(self):
        folder = os.fsencode(self.path("caf")) + b"\xe9"
        os.mkdir(folder)
        named = {"path_base64": base64.b64encode(folder).decode()}
        outside = self.write("outside", "one")
        before = self.take(folder=named, previous=None, paths=[outside])["state"]
        self.write("outside", "two")
        after = self.take(folder=named, previous=[before], paths=[outside])["state"]
        answer = self.restore({"before": [before], "after": [after]}, folder=named, paths=[outside])
        self.assertEqual(self.restored(answer), [outside])
        self.assertEqual(self.read("outside"), b"one")

    def test_edit_of_somebody_else(self):
        self.make_project()
        segment = self.turn(lambda: (self.put("a.txt", "agent"), self.put("new", "agent"),
                                     self.put("crlf.txt", "agent"),
                                     os.unlink(self.path("project/bytes"))))
        self.put("a.txt", "user")
        self.put("new", "user")
        self.put("bytes", "user")
        for dry_run in (True, False):
            answer = self.restore(segment, dry_run=dry_run)
            self.assertEqual(self.restored(answer), ["crlf.txt"])
            self.assertEqual(self.conflicts(answer),
                             {"a.txt": "changed", "new": "changed", "bytes": "changed"})
        self.assertEqual(self.read("project/crlf.txt"), b"one\r\ntwo\r\n")
        for name in ("a.txt", "new", "bytes"):
            self.assertEqual(self.read("project/" + name), b"user")
        by_name = self.restore(segment, paths=["new"])
        self.assertEqual((self.restored(by_name), by_name["conflicts"]), (["new"], []))
        forced = self.restore(segment, force=True)
        self.assertEqual(self.restored(forced), ["a.txt", "bytes"])
        self.assertEqual(self.read("project/a.txt"), b"one\ntwo\nthree\n")
        back = self.restore({"before": forced["before"], "after": forced["after"]})
        self.assertEqual(self.restored(back), ["a.txt", "bytes"])
        self.assertEqual(self.read("project/a.txt"), b"user")

    def test_already_as_it_should_be(self):
        self.make_project()
        segment = self.turn(lambda: self.put("a.txt", "agent"))
        self.put("a.txt", "one\ntwo\nthree\n")
        answer = self.restore(segment)
        self.assertEqual((answer["restored"], answer["conflicts"]), ([], []))

    def test_several_turns(self):
        self.make_project()
        before = snapshot(self.project)
        segments = [self.turn(lambda: self.put("a.txt", f"{i}\n")) for i in range(3)]
        segments.append(self.turn(lambda: self.put("b", "b")))
        self.assertEqual([f["path"] for f in self.diff(*segments)], ["a.txt", "b"])
        self.restore(*segments[2:])
        self.assertEqual(self.read("project/a.txt"), b"1\n")
        self.restore(*segments[:2])
        self.assertEqual(snapshot(self.project), before)

    def test_changed_between_turns(self):
        self.make_project()
        first = self.turn(lambda: self.put("a.txt", "1"))
        self.put("a.txt", "user")
        second = self.turn(lambda: self.put("a.txt", "2"))
        self.assertEqual(self.conflicts(self.restore(first, second)), {"a.txt": "changed"})
        self.assertEqual(self.read("project/a.txt"), b"2")
        self.assertEqual(self.restored(self.restore(second)), ["a.txt"])
        self.assertEqual(self.read("project/a.txt"), b"user")

    def test_two_agents(self):
        """What another agent changed meanwhile is a conflict, even when the bytes agree."""
        self.make_project()
        before = self.take()["state"]
        self.put("a.txt", "first")
        self.put("crlf.txt", "other agent")
        after = self.take()["state"]
        mine = {"before": [before], "after": [after]}
        answer = self.restore(mine, others=[self.turn_of_other(before, after, "crlf.txt")])
        self.assertEqual(self.conflicts(answer), {"crlf.txt": "changed"})
        self.assertEqual(self.restored(answer), ["a.txt"])

    def turn_of_other(self, before, after, name):
        """A segment that changes only this file."""
        content = self.read("project/" + name)
        path = self.path("project", name)
        late = self.take(tree=False, paths=[path])["state"]
        self.put(name, "before the other agent")
        early = self.take(tree=False, paths=[path])["state"]
        self.put(name, content)
        return {"before": [early], "after": [late]}

    def test_joined_segments(self):
        """Of a list of states a later one overrides the earlier ones, whatever they have in common."""
        self.put("old", "1")
        first = self.take()["state"]
        self.put("new/a", "a")
        self.put("old", "2")
        second = self.take()["state"]
        self.put("b", "b")
        third = self.take()["state"]
        named = self.take(tree=False, paths=[self.path("project", "b")], previous=None)["state"]
        answer = self.restore({"before": [named, second, first], "after": [second, third, named]})
        self.assertEqual(answer["conflicts"], [])
        self.assertEqual(set(os.listdir(self.project)) - {".git"}, {"old"})
        self.assertEqual(self.read("project/old"), b"1")

    def test_killed_turn(self):
        """Without a state after the turn, what is there now is its end."""
        self.make_project()
        before = snapshot(self.project)
        state = self.take()["state"]
        self.put("a.txt", "half")
        self.put("new/file", "x")
        segment = {"before": [state], "after": None}
        self.assertEqual([f["path"] for f in self.diff(segment)], ["a.txt", "new/file"])
        self.assertEqual(self.conflicts(self.restore(segment)), {})
        self.assertEqual(snapshot(self.project), before)

    def test_named_files_elsewhere(self):
        self.make_project()
        outside = self.write("outside/there", "old")
        fresh = self.path("outside/new/deep/file")

        def change():
            self.write("outside/there", "agent")
            self.write("outside/new/deep/file", "agent")
        segment = self.turn(change, paths=[outside, fresh])
        self.assertEqual([f["path"] for f in self.diff(segment)], [fresh, outside])
        answer = self.restore(segment)
        self.assertEqual(self.restored(answer), [fresh, outside])
        self.assertEqual(self.read("outside/there"), b"old")
        self.assertEqual(os.listdir(self.path("outside")), ["there"])

    def test_named_link(self):
        """A tool that writes a link writes its target."""
        outside = self.write("outside", "old")
        os.symlink(outside, self.path("project/link"))
        segment = self.turn(lambda: self.write("outside", "agent"),
                            paths=[self.path("project/link")])
        self.assertEqual(self.restored(self.restore(segment)), [outside])
        self.assertEqual(self.read("outside"), b"old")
        self.assertTrue(os.path.islink(self.path("project/link")))

    def test_nothing_through_links(self):
        """A folder that became a link is a conflict; what it leads to is not touched."""
        self.make_project()
        segment = self.turn(lambda: (self.put("sub/b.sh", "agent"), self.put("sub/new", "agent"),
                                     os.unlink(self.path("project/sub/empty"))))
        os.rename(self.path("project/sub"), self.path("elsewhere"))
        os.symlink(self.path("elsewhere"), self.path("project/sub"))
        before = snapshot(self.path("elsewhere"))
        for force in (False, True):
            answer = self.restore(segment, force=force)
            self.assertEqual(answer["restored"], [])
            self.assertEqual(set(self.conflicts(answer).values()), {"changed"})
            self.assertEqual(snapshot(self.path("elsewhere")), before)

    def test_link_in_place_of_a_file(self):
        self.make_project()
        segment = self.turn(lambda: self.put("a.txt", "agent"))
        victim = self.write("victim", "precious")
        os.unlink(self.path("project/a.txt"))
        os.symlink(victim, self.path("project/a.txt"))
        self.assertEqual(self.conflicts(self.restore(segment)), {"a.txt": "changed"})
        self.restore(segment, force=True)
        self.assertEqual(self.read("victim"), b"precious")
        self.assertFalse(os.path.islink(self.path("project/a.txt")))
        self.assertEqual(self.read("project/a.txt"), b"one\ntwo\nthree\n")

    def test_special_files(self):
        self.make_project()
        os.mkfifo(self.path("project/pipe"))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.path("project/socket"))
            self.assertEqual(self.take()["files"], 7)
            self.undo_brings_back(lambda: self.put("a.txt", "x"))

    def test_limit_of_files(self):
        self.make_project()
        answer = self.take(max_files=6, paths=[self.path("project/a.txt")])
        self.assertEqual(answer["limit"], "undo_max_files")
        self.assertEqual(answer["files"], 1)
        state = answer["state"]
        self.put("a.txt", "agent")
        self.put("crlf.txt", "agent")
        after = self.take(max_files=6, previous=[state], paths=[self.path("project/a.txt")])
        answer = self.restore({"before": [state], "after": [after["state"]]})
        self.assertEqual(self.restored(answer), ["a.txt"])
        self.assertIsNone(self.take(max_files=7)["limit"])

    def test_limit_of_bytes(self):
        for i in range(20):
            self.put(f"random{i}", os.urandom(1000))
        answer = self.take(max_bytes=10000, paths=[self.path("project/random1")])
        self.assertEqual((answer["limit"], answer["files"]), ("undo_max_bytes", 1))

    def test_large_file(self):
        """A file that takes more than an eighth is named and left out."""
        self.put("large", bytes(2000))
        self.put("small", bytes(1000))
        answer = self.take(max_bytes=8000)
        self.assertEqual(answer["left_out"], [{"path": "large", "bytes": 2000}])
        self.assertIsNone(answer["limit"])
        self.put("large", bytes(2001))
        self.put("small", "agent")
        after = self.take(max_bytes=8000)
        segment = {"before": [answer["state"]], "after": [after["state"]]}
        undone = self.restore(segment, force=True)
        self.assertEqual(self.restored(undone), ["small"])
        self.assertEqual(self.conflicts(undone), {"large": "unavailable"})

    def test_a_file_that_is_no_longer_too_large(self):
        """Raising the limit covers what it kept out, although the file has not changed."""
        content = os.urandom(2000)
        self.put("large", content)
        low = self.take(max_bytes=8000)
        self.assertEqual(low["left_out"], [{"path": "large", "bytes": 2000}])
        high = self.take()
        self.assertEqual(high["left_out"], [])
        self.assertEqual(self.diff({"before": [low["state"]], "after": [high["state"]]}), [])
        self.put("large", "agent")
        segment = {"before": [high["state"]], "after": [self.take()["state"]]}
        self.assertEqual(self.restored(self.restore(segment)), ["large"])
        self.assertEqual(self.read("project/large"), content)

    def test_a_file_that_was_left_out_is_not_read(self):
        """A terabyte, which would take minutes."""
        with open(self.put("huge", "x"), "ab") as file:
            file.truncate(1 << 40)
            before = self.take()
            file.truncate((1 << 40) + 1)
        segment = {"before": [before["state"]], "after": [self.take()["state"]]}
        started = time.monotonic()
        undone = self.restore(segment)
        self.assertLess(time.monotonic() - started, on_this_machine(10))
        self.assertEqual(self.conflicts(undone), {"huge": "unavailable"})

    def test_a_file_that_was_left_out_and_moved_stays(self):
        """The only copy of its content is where the turn moved or copied it."""
        for move in (os.rename, shutil.move, lambda a, b: (shutil.copy(a, b), os.remove(a))):
            for target in ("new/name", "small"):
                for force in (False, True):
                    large, moved = self.put("large", bytes(2000)), self.path("project", target)
                    self.put("small", "small")
                    os.makedirs(os.path.dirname(moved), exist_ok=True)
                    before = self.take(max_bytes=8000)
                    move(large, moved)
                    self.put("made", bytes(3000))
                    after = self.take(max_bytes=8000)
                    segment = {"before": [before["state"]], "after": [after["state"]]}
                    undone = self.restore(segment, force=force, max_bytes=8000)
                    self.assertEqual(self.conflicts(undone),
                                     {"large": "unavailable", target: "unavailable"})
                    self.assertEqual(self.restored(undone), ["made"])
                    named = self.restore(segment, paths=[target], max_bytes=8000)
                    self.assertEqual(self.conflicts(named), {target: "unavailable"})
                    self.put("large", "mine")
                    later = self.restore(segment, max_bytes=8000)
                    self.assertEqual(self.conflicts(later),
                                     {"large": "changed", target: "unavailable"})
                    self.assertEqual(snapshot(self.project)[target.encode()][1], bytes(2000))
                    os.remove(moved)

    def test_files_of_several_megabytes(self):
        content = os.urandom(3 << 20)
        self.put("large", content)
        self.put("zeros", bytes(5 << 20))
        self.undo_brings_back(lambda: (self.put("large", content[:-1]), self.put("zeros", "")))

    def test_contents_that_are_gone(self):
        self.make_project()
        segment = self.turn(lambda: (self.put("a.txt", "agent"), self.put("sub/empty", "agent")))
        for where, _, names in os.walk(os.path.join(self.blobs, "files")):
            for name in names:
                os.unlink(os.path.join(where, name))
        for dry_run in (True, False):
            answer = self.restore(segment, force=True, dry_run=dry_run)
            self.assertEqual(self.conflicts(answer), {"a.txt": "unavailable"})
            self.assertEqual(self.restored(answer), ["sub/empty"])
        self.assertEqual(self.read("project/a.txt"), b"agent")

    def test_damaged_contents(self):
        """Never other bytes than the file had."""
        self.make_project()
        segment = self.turn(lambda: self.put("a.txt", "agent"))
        for where, _, names in os.walk(os.path.join(self.blobs, "files")):
            for name in names:
                with open(os.path.join(where, name), "r+b") as f:
                    f.seek(-1, os.SEEK_END)
                    last = f.read(1)
                    f.seek(-1, os.SEEK_END)
                    f.write(bytes([last[0] ^ 1]))
        self.assertEqual(self.conflicts(self.restore(segment)), {"a.txt": "unavailable"})
        self.assertEqual(self.read("project/a.txt"), b"agent")

    def test_unreadable_state(self):
        self.make_project()
        segment = self.turn(lambda: self.put("a.txt", "agent"))
        path = os.path.join(self.blobs, "states", segment["before"][0])
        with open(path, "rb") as f:
            whole = f.read()
        for size in range(0, len(whole), 7):
            with open(path, "wb") as f:
                f.write(whole[:size])
            answer = call({"op": "restore", "folder": self.project, "blobs": self.blobs,
                           "segments": [segment]}, status=1)
            self.assertEqual((list(answer), answer["code"]), (["error", "code"], "GONE"))
        os.unlink(path)
        answer = call({"op": "restore", "folder": self.project, "blobs": self.blobs,
                       "segments": [segment]}, status=1)
        self.assertIn("There is no state", answer["error"])
        answer = call({"op": "diff", "folder": self.project, "blobs": self.blobs,
                       "segments": [segment], "format": "json"})
        self.assertEqual(answer, {"incomplete": True, "files": []})

    def cut_off(self, segment, call, count):
        """A restore that SIGKILL ends at this system call."""
        request = {"op": "restore", "folder": self.project, "blobs": self.blobs,
                   "segments": [segment], "others": [], "force": False, "paths": None}
        killed = subprocess.run(["strace", "-o", os.devnull, "-e", f"trace={call}", "-e",
                                 f"inject={call}:signal=KILL:when={count}", CHECKPOINT],
                                input=json.dumps(request).encode(), env=clean_env(), timeout=600,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual(killed.stdout, b"")

    def test_cut_off(self):
        """The next undo or redo completes it, and the way back leads to before the first one."""
        self.make_project()
        before = snapshot(self.project)
        segment = self.turn(lambda: ([self.put(f"new/file{i}", str(i)) for i in range(6)],
                                     self.put("a.txt", "agent"),
                                     [os.remove(self.path("project", "sub", name))
                                      for name in ("b.sh", "empty")]))
        after = snapshot(self.project)
        self.cut_off(segment, "unlinkat", 4)
        half = snapshot(self.project)
        self.assertTrue(half.items() < after.items())
        undone = self.restore(segment)
        self.assertEqual((len(undone["restored"]), undone["conflicts"]), (9, []))
        self.assertEqual(snapshot(self.project), before)
        self.assertFalse(os.path.exists(self.path("project/new")))
        again = {"before": undone["before"], "after": undone["after"]}
        self.cut_off(again, "unlinkat", 2)
        self.assertNotIn(snapshot(self.project), (before, after))
        redone = self.restore(again)
        self.assertEqual((len(redone["restored"]), redone["conflicts"]), (9, []))
        self.assertEqual(snapshot(self.project), after)
        # A run that has ended is not completed: what is as it should be now is left out.
        self.put("a.txt", before[b"a.txt"][1])
        self.assertNotIn("a.txt", self.restored(self.restore(segment)))
        self.assertEqual([name for name in os.listdir(os.path.join(self.blobs, "states"))
                          if name.startswith("restore-")], [])

    def test_read_only_folder(self):
        self.make_project()
        segment = self.turn(lambda: self.put("sub/b.sh", "agent"))
        self.assertEqual(self.restored(self.restore(segment)), ["sub/b.sh"])

    def test_private_files(self):
        self.make_project()
        self.take()
        for where, folders, names in os.walk(self.blobs):
            for name in folders:
                self.assertEqual(os.stat(os.path.join(where, name)).st_mode & 0o777, 0o700)
            for name in names:
                self.assertEqual(os.stat(os.path.join(where, name)).st_mode & 0o777, 0o600)

    def test_patch(self):
        self.make_project()
        self.put("long.txt", "".join(f"line {i}\n" for i in range(3000)))
        self.put("mode.sh", "x\n", 0o644)
        before = snapshot(self.project)

        def change():
            lines = [f"line {i}\n" for i in range(3000)]
            lines[3] = "changed\n"
            lines[2990:] = ["no newline at the end"]
            self.put("long.txt", "".join(lines))
            self.put("a.txt", "one\ntwo\nthree")
            self.put("crlf.txt", "one\r\nTWO\r\n")
            self.put("bytes", bytes(reversed(range(256))))
            self.put("latin1.txt", b"f\xfcr\n")
            self.put("nul", b"a\0b")
            self.put("new/with space.txt", "x\n")
            self.put("new/empty", "")
            self.put('new/quo"te\tand\u00fc', "x\n")
            os.chmod(self.path("project/mode.sh"), 0o755)
            os.unlink(self.path("project/sub/b.sh"))
            os.unlink(self.path("project/link"))
            os.symlink("bytes", self.path("project/link"))
            os.unlink(self.path("project/sub/dangling"))
            self.put("sub/dangling", "a file now\n")
            os.unlink(self.path("project/sub/empty"))
            os.symlink("target", self.path("project/sub/empty"))
        segment = self.turn(change)
        after = snapshot(self.project)
        patch = self.diff(segment, format="patch")
        self.restore(segment)
        self.assertEqual(snapshot(self.project), before)
        git(self.project, "apply", "--whitespace=nowarn", "-", input=patch.encode())
        self.assertEqual(snapshot(self.project), after)
        git(self.project, "apply", "-R", "--whitespace=nowarn", "-", input=patch.encode())
        self.assertEqual(snapshot(self.project), before)
        self.assertLess(patch.count("\n"), 200)
        rows = {f["path"]: f for f in self.diff(segment)}
        self.assertEqual(rows["long.txt"], {"path": "long.txt", "status": "modified", "added": 2,
                                            "removed": 11, "binary": False})
        self.assertEqual(rows["nul"], {"path": "nul", "status": "added", "added": 0, "removed": 0,
                                       "binary": True})
        self.assertEqual(rows["sub/b.sh"]["status"], "deleted")
        self.assertEqual(rows["mode.sh"], {"path": "mode.sh", "status": "modified", "added": 0,
                                           "removed": 0, "binary": False})
        text = self.diff(segment, format="stat").splitlines()
        self.assertEqual(len(text), len(rows) + 1)
        self.assertIn(f"{len(rows)} files changed", text[-1])
        self.assertIn(" long.txt | 13 ", "\n".join(text))

    def test_patch_with_a_file_outside(self):
        """git apply still takes the rest."""
        self.make_project()
        outside = self.write("outside", "old\n")
        segment = self.turn(lambda: (self.write("outside", "new\n"), self.put("a.txt", "new\n")),
                            paths=[outside])
        patch = self.diff(segment, format="patch")
        self.assertIn(outside, patch)
        self.assertIn("+new", patch)
        self.put("a.txt", "one\ntwo\nthree\n")
        git(self.project, "apply", "-", input=patch.encode())
        self.assertEqual(self.read("project/a.txt"), b"new\n")

    def test_no_change(self):
        self.make_project()
        segment = self.turn(lambda: os.utime(self.path("project/a.txt"), (1, 1)))
        self.assertEqual(self.diff(segment), [])
        self.assertEqual(self.diff(segment, format="patch"), "")
        self.assertEqual(self.diff(segment, format="stat"), " 0 files changed\n")
        self.assertEqual(self.restore(segment)["restored"], [])


class OutsideRepositories(Everywhere, CheckpointTest):
    def test_ignore_files_mean_nothing(self):
        """Only git ignores, and there is no git here."""
        self.put(".gitignore", "*.log\n")
        self.put("x.log", "log")
        self.undo_brings_back(lambda: self.put("x.log", "other"))


class InRepository(Everywhere, CheckpointTest):
    in_git = True

    def test_ignored(self):
        self.put(".gitignore", "*.log\nbuild/\n")
        self.put("sub/.gitignore", "!keep.log\n")
        self.put("x.log", "log")
        self.put("sub/keep.log", "log")
        self.put("build/out/file", "out")
        self.assertEqual(self.take()["files"], 3)
        segment = self.turn(lambda: (self.put("x.log", "agent"), self.put("build/out/file", "agent"),
                                     self.put("build/new", "agent"), self.put("sub/keep.log", "x")))
        self.assertEqual(self.restored(self.restore(segment)), ["sub/keep.log"])
        self.assertEqual(self.read("project/build/new"), b"agent")

    def test_tracked_is_never_ignored(self):
        self.put("x.log", "log")
        self.put("build/tracked", "t")
        self.put("build/untracked", "u")
        git(self.project, "add", "x.log", "build/tracked")
        self.put(".gitignore", "*.log\nbuild/\n")
        self.assertEqual(self.take()["files"], 3)
        segment = self.turn(lambda: (self.put("x.log", "agent"), self.put("build/tracked", "agent"),
                                     self.put("build/untracked", "agent")))
        self.assertEqual(self.restored(self.restore(segment)), ["build/tracked", "x.log"])

    def test_named_files_that_are_ignored(self):
        self.put(".gitignore", "*.log\n")
        path = self.put("x.log", "log")
        segment = self.turn(lambda: self.put("x.log", "agent"), paths=[path])
        self.assertEqual(self.restored(self.restore(segment)), ["x.log"])
        self.assertEqual(self.read("project/x.log"), b"log")

    def test_rules_change(self):
        """Files that a turn stops or begins to ignore were there before, and stay."""
        self.put(".gitignore", "*.log\nbuild/\n")
        self.put("x.log", "log")
        self.put("build/file", "b")
        self.put("covered.txt", "c")
        before = snapshot(self.project)
        segment = self.turn(lambda: (self.put(".gitignore", "*.txt\n"), self.put("new", "x")))
        self.assertEqual(self.restored(self.restore(segment)), [".gitignore", "new"])
        self.assertEqual(snapshot(self.project), before)
        segment = self.turn(lambda: (self.put(".gitignore", "*.txt\n"),
                                     self.put("covered.txt", "agent")))
        self.assertEqual(self.restored(self.restore(segment)), [".gitignore", "covered.txt"])
        self.assertEqual(snapshot(self.project), before)

    def test_named_beyond_the_limit_of_bytes(self):
        """Files that stay covered although a rule ignores them now do not take its place."""
        self.put("a.log", "0")
        named = self.put("out/named", "before")
        self.take()
        self.put(".gitignore", "*.log\nout\n")
        for i in range(60):
            self.put(f"random{i}", os.urandom(1000))
        before = self.take(paths=[named], max_bytes=20000)
        self.assertEqual((before["limit"], before["files"]), ("undo_max_bytes", 1))
        self.put("out/named", "agent")
        after = self.take(previous=[before["state"]], tree=False, paths=[named])
        self.restore({"before": [before["state"]], "after": [after["state"]]})
        self.assertEqual(self.read("project/out/named"), b"before")

    def test_git_folder_is_left_out(self):
        self.put("a", "a")
        segment = self.turn(lambda: (git(self.project, "add", "a"),
                                     git(self.project, "commit", "-qm", "x")))
        self.assertEqual(self.diff(segment), [])

    def test_exclude_files(self):
        self.put(".git/info/exclude", "private\n")
        self.write("global", "secret\n")
        self.put(".git/config", self.read("project/.git/config").decode() +
                 f"[core]\n\texcludesFile = {self.path('global')}\n")
        for name in ("private", "secret", "public"):
            self.put(name, name)
        self.assertEqual(self.take()["files"], 1)

    def test_sub_folder(self):
        """The rules of the repository hold, paths are relative to the folder, but for git."""
        self.put(".gitignore", "*.log\n/sub/generated\n")
        self.put("other", "not covered")
        self.put("sub/a", "a")
        self.put("sub/x.log", "log")
        self.put("sub/generated", "g")
        folder = self.path("project/sub")
        before = self.take(folder=folder)
        self.assertEqual(before["files"], 1)
        self.put("sub/a", "agent\n")
        self.put("other", "agent")
        segment = {"before": [before["state"]], "after": [self.take(folder=folder)["state"]]}
        self.assertEqual([f["path"] for f in self.diff(segment, folder=folder)], ["a"])
        self.assertIn(" a |", self.diff(segment, format="stat", folder=folder))
        patch = self.diff(segment, format="patch", folder=folder)
        self.assertIn("a/sub/a b/sub/a", patch)
        self.put("sub/a", "a")
        git(folder, "apply", "-", input=patch.encode())
        self.assertEqual(self.read("project/sub/a"), b"agent\n")
        self.restore(segment, folder=folder)
        self.assertEqual(self.read("project/sub/a"), b"a")


class Requests(CheckpointTest):
    def test_mistakes(self):
        folder = {"folder": self.project, "blobs": self.blobs}
        for request in ({}, {"op": "fly"}, {"op": "take"}, {"op": "take", "folder": "relative"},
                        {"op": "take", "folder": "/nonexistent", "blobs": self.blobs},
                        {"op": "diff", **folder}, {"op": "diff", "format": "x", **folder},
                        {"op": "diff", "format": "json", "segments": [{"before": ["../x"],
                                                                       "after": []}], **folder}):
            answer = call(request, status=1)
            self.assertEqual(list(answer), ["error"], request)

    def test_not_json(self):
        for text in (b"", b"{", b"[]", b"\xff"):
            done = subprocess.run([CHECKPOINT], input=text, stdout=subprocess.PIPE, env=clean_env())
            self.assertEqual(done.returncode, 1)
            self.assertEqual(list(json.loads(done.stdout)), ["error"])

    def test_unknown_previous(self):
        """A state that is gone saves nothing, and does no harm."""
        self.put("a", "a")
        self.assertEqual(self.take(previous=["x" * 32])["files"], 1)
