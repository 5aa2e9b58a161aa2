"""file_write: what is written, what is refused, what survives."""
import json
import os
import resource
import socket
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import support
from support import ScratchTest, run_tool

ROOT = os.getuid() == 0

# (content, the file's bytes)
CONTENTS = [
    ("Hello, world!\n", b"Hello, world!\n"),
    ("", b""),
    ("no newline", b"no newline"),
    ("nul \0 inside", b"nul \0 inside"),
    ("\u00e9\u20ac\U0001f600", "\u00e9\u20ac\U0001f600".encode()),
    ("a\r\nb\r\n", b"a\r\nb\r\n"),
    ("x" * 1000000, b"x" * 1000000),
]

BAD = [
    ({}, "Missing required parameter 'file_path'"),
    ({"file_path": "f"}, "Missing required parameter 'content'"),
    ({"file_path": "f", "content": None}, "Missing required parameter 'content'"),
    ({"file_path": 1, "content": ""}, "Parameter 'file_path' must be a string"),
    ({"file_path": "f", "content": 1}, "Parameter 'content' must be a string"),
    ({"file_path": "a\0b", "content": ""},
     "Parameter 'file_path' must not contain a NUL character"),
]


class WriteTest(ScratchTest):
    def file_write(self, path, content="new", **how):
        how.setdefault("cwd", self.dir)
        return run_tool("file_write", {"file_path": path, "content": content}, **how)

    def expect_error(self, path, error, code, content="new", **how):
        with self.subTest(path=path):
            self.assertEqual(self.file_write(path, content, **how),
                             {"error": f"{error}: {path}", "error_code": code})

    def names(self, folder="."):
        return sorted(os.listdir(self.path(folder)))


class Schema(unittest.TestCase):
    def test_schema(self):
        done = subprocess.run([support.tool_path("file_write"), "--schema"], stdout=subprocess.PIPE)
        schema = json.loads(done.stdout)
        self.assertEqual(schema["name"], "file_write")
        self.assertEqual(schema["description"], "Write content to a file (creates or overwrites)")
        self.assertEqual(schema["parameters"], {
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "Absolute or relative path to file"},
                "content": {"type": "string", "description": "Content to write to file"}},
            "required": ["file_path", "content"]})
        self.assertNotIn("parallel", schema)
        self.assertEqual(schema["returns"]["required"], ["output", "bytes"])


class Writing(WriteTest):
    def test_contents(self):
        for content, wanted in CONTENTS:
            for before in (None, b"", b"older and longer than most of them\n" * 3):
                with self.subTest(content=content[:20], before=before):
                    path = self.path("test.txt")
                    if before is None and os.path.exists(path):
                        os.remove(path)
                    if before is not None:
                        self.write("test.txt", before)
                    self.assertEqual(self.file_write(path, content),
                                     {"output": f"Wrote {len(wanted)} bytes to test.txt",
                                      "bytes": len(wanted)})
                    self.assertEqual(self.read("test.txt"), wanted)
                    self.assertEqual(self.names(), ["test.txt"])

    def test_answer_to_the_letter(self):
        done = run_tool("file_write", {"file_path": "test.txt", "content": "Hello, world!\n"},
                        cwd=self.dir, raw=True)
        self.assertEqual(done.stdout, b'{"output":"Wrote 14 bytes to test.txt","bytes":14}')

    def test_bad_parameters(self):
        for params, error in BAD:
            with self.subTest(params=params):
                self.assertEqual(run_tool("file_write", params, cwd=self.dir),
                                 {"error": error, "error_code": "INVALID_ARG"})
        self.assertEqual(self.names(), [])

    def test_paths(self):
        os.mkdir(self.path("sub"))
        for path in ("f", "./f", "sub/f", "sub/../g", self.path("h"), "-dash", "with space",
                     "n" * 255):
            with self.subTest(path=path):
                self.assertEqual(self.file_write(path)["bytes"], 3)
                self.assertEqual(self.read(path), b"new")

    def test_new_file_has_the_default_mode(self):
        for umask, mode in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664), (0, 0o666)):
            old = os.umask(umask)
            try:
                self.file_write(f"f{umask}")
            finally:
                os.umask(old)
            self.assertEqual(stat.S_IMODE(os.stat(self.path(f"f{umask}")).st_mode), mode)

    def test_a_reader_keeps_the_old_file(self):
        path = self.write("f", "old")
        with open(path) as reader:
            self.file_write(path)
            self.assertEqual(reader.read(), "old")

    def test_own_executable_can_be_replaced(self):
        with open("/bin/sleep", "rb") as f:
            path = self.write("sleeper", f.read(), mode=0o755)
        running = subprocess.Popen([path, "10"])
        self.assertEqual(self.file_write(path)["bytes"], 3)
        running.kill()
        running.wait()
        self.assertEqual(self.read("sleeper"), b"new")


class Links(WriteTest):
    def test_symlinks_are_followed(self):
        self.write("sub/target", "old")
        os.symlink("sub/target", self.path("one"))
        os.symlink(self.path("one"), self.path("two"))
        for name in ("one", "two"):
            self.assertEqual(self.file_write(name, name)["output"], f"Wrote 3 bytes to {name}")
            self.assertTrue(os.path.islink(self.path(name)))
            self.assertEqual(self.read("sub/target"), name.encode())
        self.assertEqual(self.names("sub"), ["target"])

    def test_a_dangling_link_makes_its_target(self):
        os.mkdir(self.path("sub"))
        os.symlink("sub/target", self.path("link"))
        self.assertEqual(self.file_write("link")["bytes"], 3)
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(self.read("sub/target"), b"new")
        self.assertEqual(self.names(), ["link", "sub"])

    def test_links_through_folders(self):
        os.mkdir(self.path("real"))
        os.symlink("real", self.path("alias"))
        os.symlink("../alias/f", self.path("real/link"))
        self.assertEqual(self.file_write("alias/link")["bytes"], 3)
        self.assertEqual(self.read("real/f"), b"new")

    def test_link_loop(self):
        os.symlink("b", self.path("a"))
        os.symlink("a", self.path("b"))
        self.expect_error("a", "Cannot open file", "OPEN_FAILED")

    def test_hard_links_stay_one_file(self):
        path = self.write("a", "old old old", mode=0o640)
        os.link(path, self.path("b"))
        for content in ("new", "much longer than before", ""):
            self.file_write("a", content)
            self.assertEqual(self.read("b"), content.encode())
            self.assertTrue(os.path.samefile(path, self.path("b")))
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o640)

    def test_a_file_without_a_name(self):
        path = self.write("f", "old")
        with open(path, "r+b") as opened:
            os.remove(path)
            answer = self.file_write(f"/proc/{os.getpid()}/fd/{opened.fileno()}")
            self.assertEqual(answer["bytes"], 3)
            self.assertEqual(opened.read(), b"new")
        self.assertEqual(self.names(), [])


class Errors(WriteTest):
    def test_what_cannot_be_opened(self):
        self.write("f", "old")
        os.mkdir(self.path("folder"))
        for path in ("", "no/such/folder", "f/below", "folder", "folder/", ".", "new/", "/",
                     "x" * 256, "y/" * 3000 + "f"):
            self.expect_error(path, "Cannot open file", "OPEN_FAILED")
        self.assertEqual(self.names(), ["f", "folder"])

    def test_read_only_file_is_refused_also_to_root(self):
        path = self.write("f", "old", mode=0o444)
        self.expect_error(path, "Permission denied", "PERMISSION_DENIED")
        self.assertEqual(self.read("f"), b"old")
        self.assertEqual(self.names(), ["f"])

    @unittest.skipUnless(ROOT, "needs root to become another user")
    def test_permission_of_a_user(self):
        os.chmod(self.dir, 0o777)
        self.write("of_root", "old", mode=0o644)
        self.write("closed/f", "old", mode=0o666)
        self.write("opaque/f", "old", mode=0o666)
        os.chmod(self.path("closed"), 0o755)
        os.chmod(self.path("opaque"), 0o700)
        user = {"uid": support.NOBODY}
        self.expect_error("of_root", "Permission denied", "PERMISSION_DENIED", **user)
        self.expect_error("closed/new", "Permission denied", "PERMISSION_DENIED", **user)
        self.expect_error("opaque/f", "Permission denied", "PERMISSION_DENIED", **user)
        self.expect_error("opaque/new", "Permission denied", "PERMISSION_DENIED", **user)
        self.assertEqual(self.read("of_root"), b"old")
        self.assertEqual(self.file_write("closed/f", **user)["bytes"], 3)
        self.assertEqual(self.read("closed/f"), b"new")
        self.assertEqual(self.names("closed"), ["f"])

    @unittest.skipUnless(ROOT, "needs root to become another user")
    def test_others_file_in_a_sticky_folder(self):
        os.mkdir(self.path("sticky"))
        os.chmod(self.path("sticky"), 0o1777)
        path = self.write("sticky/f", "old", mode=0o666)
        inode = os.stat(path).st_ino
        self.assertEqual(self.file_write(path, uid=support.NOBODY)["bytes"], 3)
        after = os.stat(path)
        self.assertEqual((after.st_ino, after.st_uid), (inode, 0))
        self.assertEqual(self.read("sticky/f"), b"new")
        self.assertEqual(self.names("sticky"), ["f"])

    def write_too_much(self):
        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        params = json.dumps({"file_path": "f", "content": "x" * 2000})
        done = subprocess.run([support.tool_path("file_write")], cwd=self.dir, preexec_fn=small,
                              input=params.encode(), stdout=subprocess.PIPE,
                              env=support.clean_env())
        self.assertEqual(json.loads(done.stdout), {"error": "Failed to write file: f",
                                                   "error_code": "WRITE_FAILED"})

    def test_file_size_limit(self):
        self.write_too_much()
        self.assertEqual(self.names(), [])
        self.write("f", "old")
        self.write_too_much()
        self.assertEqual(self.names(), ["f"])
        self.assertEqual(self.read("f"), b"old")
        os.link(self.path("f"), self.path("g"))  # in place: nothing may be touched either
        self.write_too_much()
        self.assertEqual(self.read("f"), b"old")


class Special(WriteTest):
    def test_devices(self):
        self.assertEqual(self.file_write("/dev/null"),
                         {"output": "Wrote 3 bytes to null", "bytes": 3})
        self.expect_error("/dev/full", "No space left on device", "NO_SPACE")
        os.symlink("/dev/full", self.path("full"))
        self.expect_error("full", "No space left on device", "NO_SPACE")
        self.assertTrue(os.path.islink(self.path("full")))

    def test_fifo(self):
        os.mkfifo(self.path("fifo"))
        self.expect_error("fifo", "Cannot open file", "OPEN_FAILED")
        reader = os.open(self.path("fifo"), os.O_RDONLY | os.O_NONBLOCK)
        self.assertEqual(self.file_write("fifo")["bytes"], 3)
        self.assertEqual(os.read(reader, 10), b"new")
        os.close(reader)
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("fifo")).st_mode))

    def test_fifo_whose_reader_is_slow(self):
        os.mkfifo(self.path("fifo"))
        reader = subprocess.Popen(["sh", "-c", "exec <fifo; sleep 0.3; wc -c"], cwd=self.dir,
                                  stdout=subprocess.PIPE)
        answer = {}
        for _ in range(200):
            answer = self.file_write("fifo", "x" * 300000)
            if "bytes" in answer:
                break
        self.assertEqual(answer.get("bytes"), 300000)
        self.assertEqual(reader.communicate()[0].strip(), b"300000")

    def test_socket(self):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path("socket"))
        self.expect_error("socket", "Cannot open file", "OPEN_FAILED")
        listener.close()


@unittest.skipUnless(ROOT, "needs permission to mount")
class Mounts(WriteTest):
    def mounted(self, script, **how):
        """Runs a shell script in a mount namespace of its own with the tool as $T."""
        support.need_mounts()
        env = support.clean_env(T=support.tool_path("file_write"))
        done = subprocess.run(["unshare", "-m", "sh", "-e", "-c", script], cwd=self.dir, env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def test_full_disk(self):
        os.mkdir(self.path("disk"))
        out = self.mounted("""
            mount -t tmpfs -o size=64k none disk
            printf old >disk/f; printf old >disk/a; ln disk/a disk/b
            big=$(head -c 100000 /dev/zero | tr '\\0' x)
            for name in f new a; do
                printf '{"file_path":"disk/%s","content":"%s"}' $name $big | $T; echo
            done
            cat disk/f disk/a; echo; ls -A disk
        """)
        lines = out.split("\n")
        for i, name in enumerate(("f", "new", "a")):
            self.assertEqual(json.loads(lines[i]),
                             {"error": f"No space left on device: disk/{name}",
                              "error_code": "NO_SPACE"})
        self.assertEqual(lines[3:], ["oldold", "a", "b", "f", ""])

    def test_mount_point(self):
        self.write("f", "of the folder")
        self.write("other", "old")
        out = self.mounted("""
            mount --bind other f
            printf '{"file_path":"f","content":"new"}' | $T; echo
            cat f; echo; ls -A
        """)
        self.assertEqual(out, '{"output":"Wrote 3 bytes to f","bytes":3}\nnew\nf\nother\n')
        self.assertEqual(self.read("other"), b"new")

    def test_writable_file_on_a_read_only_folder(self):
        self.write("ro/f", "x")
        self.write("other", "old")
        out = self.mounted("""
            mount --bind ro ro; mount --bind other ro/f; mount -o remount,bind,ro ro
            printf '{"file_path":"ro/f","content":"new"}' | $T; echo
            printf '{"file_path":"ro/g","content":"new"}' | $T; echo
        """)
        self.assertEqual(out, '{"output":"Wrote 3 bytes to f","bytes":3}\n'
                              '{"error":"Read-only file system: ro/g",'
                              '"error_code":"PERMISSION_DENIED"}\n')
        self.assertEqual(self.read("other"), b"new")

    def test_without_proc(self):
        """Linking a nameless file may need /proc: there are other ways."""
        with open(support.tool_path("file_write"), "rb") as f:
            if b"__asan_init" in f.read():
                self.skipTest("the sanitizer itself needs /proc")
        out = self.mounted("""
            mount -t tmpfs none /proc
            printf '{"file_path":"f","content":"new"}' | setpriv --bounding-set=-all $T; echo
            printf '{"file_path":"f","content":"newer"}' | setpriv --bounding-set=-all $T; echo
        """)
        self.assertEqual(out.count('"output"'), 2)
        self.assertEqual(self.names(), ["f"])


@unittest.skipUnless(subprocess.run(["which", "strace"], stdout=subprocess.DEVNULL).returncode == 0,
                     "needs strace")
class Injected(WriteTest):
    def environment(self):
        """The leak checker cannot work under strace."""
        return support.clean_env(ASAN_OPTIONS="detect_leaks=0")

    def injected(self, inject, before="old", content="new"):
        if before is not None:
            self.write("f", before)
        done = subprocess.run(["strace", "-o", "/dev/null", "-e", f"inject={inject}",
                               support.tool_path("file_write")], cwd=self.dir,
                              input=json.dumps({"file_path": "f", "content": content}).encode(),
                              stdout=subprocess.PIPE, env=self.environment())
        self.assertEqual(self.names(), ["f"] if os.path.exists(self.path("f")) else [])
        return json.loads(done.stdout)

    def test_sync_of_the_folder_fails(self):
        for before in (None, "old"):
            answer = self.injected("fsync:error=EIO:when=2", before)
            self.assertEqual(answer["bytes"], 3)
            self.assertIn("power", answer["note"])
            self.assertEqual(self.read("f"), b"new")
        self.assertNotIn("note", self.injected("fsync:error=EINVAL:when=2"))

    def test_errors_of_the_system(self):
        cases = [
            ("fsync:error=EIO:when=1", "WRITE_FAILED", "Failed to write file: f"),
            ("fsync:error=ENOSPC:when=1", "NO_SPACE", "No space left on device: f"),
            ("fsync:error=EDQUOT:when=1", "NO_SPACE", "No space left on device: f"),
            ("linkat:error=ENOSPC", "NO_SPACE", "No space left on device: f"),
            ("linkat:error=EIO", "WRITE_FAILED", "Failed to write file: f"),
        ]
        for inject, code, error in cases:
            for before in (None, "old"):
                with self.subTest(inject=inject, before=before):
                    if before is None and os.path.exists(self.path("f")):
                        os.remove(self.path("f"))
                    self.assertEqual(self.injected(inject, before),
                                     {"error": error, "error_code": code})
                    if before:
                        self.assertEqual(self.read("f"), b"old")

    def test_rename_refused_writes_in_place(self):
        self.write("f", "old")
        inode = os.stat(self.path("f")).st_ino
        for error in ("EPERM", "EACCES", "EBUSY", "EXDEV"):
            with self.subTest(error=error):
                self.assertEqual(self.injected(f"renameat:error={error}")["bytes"], 3)
                self.assertEqual(self.read("f"), b"new")
                self.assertEqual(os.stat(self.path("f")).st_ino, inode)

    def test_filesystem_without_nameless_files(self):
        trace = self.path("trace")
        for before in (None, "old"):
            with self.subTest(before=before):
                if before:
                    self.write("f", before, mode=0o600)
                subprocess.run(["strace", "-o", trace, support.tool_path("file_write")],
                               cwd=self.dir, input=b'{"file_path":"f","content":"newest"}',
                               stdout=subprocess.PIPE, env=self.environment())
                opens = [line for line in self.read("trace").split(b"\n")
                         if line.startswith(b"openat(")]
                nth = 1 + next(i for i, line in enumerate(opens) if b"O_TMPFILE" in line)
                os.remove(trace)
                if not before:
                    os.remove(self.path("f"))
                answer = self.injected(f"openat:error=EOPNOTSUPP:when={nth}", before)
                self.assertEqual(answer["bytes"], 3)
                self.assertEqual(self.read("f"), b"new")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("f")).st_mode), 0o600)

    def test_no_guard_no_temporary_name(self):
        answer = self.injected("clone,clone3,fork:error=EAGAIN")
        self.assertEqual(answer["error_code"], "WRITE_FAILED")
        self.assertEqual(self.read("f"), b"old")


if __name__ == "__main__":
    unittest.main()
