"""What the system does not give: too few processes, too little memory, a kernel without recent calls.
One line says so and the exit status is 1, or something older does instead."""
import ctypes
import errno
import fcntl
import json
import os
import platform
import resource
import socket
import struct
import subprocess
import sys
import threading
import unittest

from agent_support import AgentTest
from fake_llm import Answer, Call
from repl_support import ReplTest
from support import IKIGAI, NOBODY, as_user, clean_env

# Sanitizers want terabytes of address space, and threads of their own.
SANITIZED = b"__asan_init" in open(IKIGAI, "rb").read()

CALLS = {  # by machine: name: number
    "x86_64": {"close_range": 436, "memfd_create": 319, "signalfd": 282, "signalfd4": 289,
               "getrandom": 318, "pidfd_open": 434},
    "aarch64": {"close_range": 436, "memfd_create": 279, "signalfd4": 74, "getrandom": 278,
                "pidfd_open": 434},
}.get(platform.machine())


def limit(kind, value, user=False):
    """preexec_fn"""
    drop = as_user() if user else lambda: None

    def apply():
        drop()
        resource.setrlimit(kind, (value, value))
    return apply


def without_calls(names):
    """preexec_fn: these system calls fail as in a kernel that does not know them."""
    load, jump, give = 0x20, 0x15, 0x06  # BPF: absolute load, jump if equal, return
    allow, refuse = 0x7fff0000, 0x00050000 | errno.ENOSYS
    program = [struct.pack("HBBI", load, 0, 0, 0)]
    for name in names:
        if name in CALLS:
            program += [struct.pack("HBBI", jump, 0, 1, CALLS[name]),
                        struct.pack("HBBI", give, 0, 0, refuse)]
    program.append(struct.pack("HBBI", give, 0, 0, allow))
    code = ctypes.create_string_buffer(b"".join(program))
    prog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)

    def apply(program=code):  # which must live as long as this
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, prog, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no seccomp filter")
    return apply


class LimitTest(AgentTest):
    def run_limited(self, *args, env=None, **options):
        return subprocess.run([IKIGAI, *args], cwd=self.project, env=self.env(**(env or {})),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120, **options)

    def assert_one_line(self, done, pattern):
        self.assertEqual((done.returncode, done.stdout), (1, b""), done)
        self.assertRegex(done.stderr.decode(), rf"\Aikigai: .*{pattern}.*\n\Z")


@unittest.skipIf(SANITIZED, "a sanitizer needs more than these limits")
class Processes(LimitTest):
    """ulimit -u, which root is not subject to."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs root to become a user who has no processes yet")
        llm = self.serve([Answer(calls=[Call("bash", {"command": "echo hi"})]), Answer("Done.")])
        self.net = self.connect(llm)
        for folder, folders, files in os.walk(self.dir):
            for name in [folder, *folders, *files]:
                os.chown(os.path.join(folder, name), NOBODY, NOBODY)

    def test_one_line(self):
        for most in (0, 1, 2, 3):
            for args in (self.command("Go"), ["tool", "list"], ["tool", "run", "bash", "{}"]):
                # Three are enough for a tool run (a user namespace counts its own processes), and
                # for a list if no tool starts before the one before it has ended.
                if most == 3 and args[0] == "tool":
                    continue
                with self.subTest(most=most, args=args):
                    self.assert_one_line(self.run_limited(
                        *args, env=self.net,
                        preexec_fn=limit(resource.RLIMIT_NPROC, most, user=True)), "ulimit -u")

    def test_no_thread_to_load_the_library_in(self):
        """Only processes are too few for a tool; the model can be asked."""
        done = self.run_limited(*self.command("Go"), "--no-tools", env=self.net,
                                preexec_fn=limit(resource.RLIMIT_NPROC, 1, user=True))
        self.assertNotIn(done.returncode, (-6, -11), done)
        self.assertTrue(done.returncode == 0 or done.stderr, done)


class Descriptors(LimitTest):
    def test_never_silent(self):
        """ulimit -n, from the three that every program has."""
        for count in range(4, 12):
            for words in (["session", "list"], ["-p", "hello", "--no-tools"]):
                with self.subTest(count=count, words=words):
                    done = self.run_limited(*words, preexec_fn=limit(
                        resource.RLIMIT_NOFILE, count))
                    self.assertIn(done.returncode, (0, 1, 2), done)
                    if done.returncode != 0:
                        self.assertRegex(done.stderr, b"(?i)too many open files")

    def test_few_are_enough_for_a_room(self):
        words = ("tool", "run", "bash", json.dumps({"command": "echo hi"}))
        usual = self.run_limited(*words)
        self.assertIn(b'"output":"hi"', usual.stdout)
        for count in (64, 128):
            done = self.run_limited(*words, preexec_fn=limit(resource.RLIMIT_NOFILE, count))
            self.assertEqual((done.stdout, done.stderr), (usual.stdout, usual.stderr))
        if usual.stderr == b"":  # full confinement
            done = self.run_limited(*words, preexec_fn=limit(resource.RLIMIT_NOFILE, 24))
            self.assertIn(b"partial. Too few files may be open at a time (ulimit -n).", done.stderr)

    def test_descriptors_of_others_on_their_way(self):
        """The kernel counts all of the user's. Those of others arrive soon, or a room is missing."""
        words = ("tool", "run", "bash", json.dumps({"command": "echo hi"}))
        usual = self.run_limited(*words)
        for seconds in (0.3, 60):
            with self.subTest(seconds=seconds):
                sender, receiver = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
                with sender, receiver:
                    socket.send_fds(sender, [b"x"], [0] * 200)
                    threading.Timer(seconds, receiver.close).start() if seconds < 1 else None
                    done = self.run_limited(*words, preexec_fn=limit(resource.RLIMIT_NOFILE, 64))
                self.assertIn(b'"output":"hi"', done.stdout)
                if seconds < 1:
                    self.assertEqual((done.stdout, done.stderr), (usual.stdout, usual.stderr))


@unittest.skipIf(SANITIZED, "a sanitizer needs more than these limits")
class Memory(LimitTest):
    """ulimit -v, at every size from where the dynamic loader gives up by itself."""

    def test_never_silent(self):
        llm = self.serve([Answer("Done.")] * 60)
        env = self.connect(llm)
        ended = set()
        for kilobytes in (*range(7500, 14000, 500), 16000, 20000, *range(24000, 34000, 1000),
                          40000, 60000):
            with self.subTest(kilobytes=kilobytes):
                done = self.run_limited(*self.command("Go"), env=env, preexec_fn=limit(
                    resource.RLIMIT_AS, kilobytes * 1024))
                ended.add(done.returncode)
                self.assertIn(done.returncode, (0, 1, 127), done)  # 127: the dynamic loader's
                if done.returncode != 0:
                    # Libraries that libcurl loads meanwhile may print lines of their own, also after it.
                    self.assertRegex(done.stderr.decode(), r"(?m)^\S*ikigai: .*(?:out of memory|"
                                     "cannot be loaded|shared libraries|ulimit|memory)")
        self.assertIn(1, ended)

    def test_out_of_memory(self):
        """A result that does not fit any more."""
        self.tool("big", "head -c 4000000 /dev/zero | tr '\\0' x | sed 's/.*/\"&\"/'")
        llm = self.serve([Answer(calls=[Call("big")]), Answer("Done.")] * 24)
        env = self.connect(llm, {"max_output_size": 4000000})
        self.ikigai("tool", "list")  # the cache is warm
        for kilobytes in range(36000, 60000, 1000):
            done = self.run_limited(*self.command("Go"), env=env, preexec_fn=limit(
                resource.RLIMIT_AS, kilobytes * 1024))
            self.assertIn(done.returncode, (0, 1), done)
            if b"out of memory" in done.stderr:
                break
        self.assertEqual(done.stderr.decode().split("\n")[-2],
                         "ikigai: out of memory; free some, or raise the limit (ulimit -v)")


@unittest.skipIf(SANITIZED, "a sanitizer needs more than these limits")
class Interactive(ReplTest):
    def test_too_few_processes(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to become a user who has no processes yet")
        for most in (0, 1, 2):
            with self.subTest(most=most):
                for path in (self.dir, self.project):
                    os.chown(path, NOBODY, NOBODY)
                start = ("import os, resource\nos.setgroups([])\n"
                         f"os.setgid({NOBODY})\nos.setuid({NOBODY})\n"
                         f"resource.setrlimit(resource.RLIMIT_NPROC, ({most}, {most}))\n"
                         f"os.execv({IKIGAI!r}, ['ikigai'])")
                t = self.terminal([sys.executable, "-c", start], columns=160, cwd=self.project,
                                  env=clean_env(IKIGAI_HOME=os.path.join(self.dir, f"home{most}"),
                                                TERM="xterm-256color"))
                t.wait_for("ulimit -u")
                self.assertEqual(t.wait_exit(), 1)


@unittest.skipUnless(CALLS, "system calls of this machine are not known here")
class OldKernel(LimitTest):
    NAMES = ["close_range", "memfd_create", "signalfd", "signalfd4", "getrandom", "pidfd_open"]

    def test_each_call_that_may_be_missing(self):
        self.tool("echo", "cat")
        for names in [[name] for name in self.NAMES] + [self.NAMES]:
            with self.subTest(names=names):
                done = self.run_limited("tool", "run", "echo", '{"a":1}',
                                        preexec_fn=without_calls(names))
                self.assertEqual(done.stdout, b'{"tool_success":true,"result":{"a":1}}\n', done)
                done = self.run_limited("tool", "run", "bash", '{"command":"echo hi; sleep 0.1"}',
                                        preexec_fn=without_calls(names))
                self.assertEqual(json.loads(done.stdout)["result"]["output"], "hi", done)

    def test_a_whole_turn(self):
        llm = self.serve([Answer(calls=[Call("bash", {"command": "echo " + "x" * 200000 + " | wc -c"})]),
                          Answer("Done.")])
        done = self.run_limited(*self.command("Go", "--json"), env=self.connect(llm),
                                preexec_fn=without_calls(self.NAMES))
        self.assertEqual(done.returncode, 0, done)
        self.assertIn('200001', done.stdout.decode())

    def test_no_inherited_descriptor_reaches_a_tool(self):
        """Whatever number it has, and however many there are."""
        self.tool("list", "printf '\"'; readlink /proc/$$/fd/* | tr '\\n' ' '; printf '\"'")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        high = min(hard, 60000) - 1
        resource.setrlimit(resource.RLIMIT_NOFILE, (high + 1, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        with open(os.path.join(self.dir, "secret"), "w") as secret:
            fds = [fcntl.fcntl(secret.fileno(), fcntl.F_DUPFD, n) for n in
                   (*range(10, 1010), high - 1, high)]
        try:
            for names in ([], ["close_range"]):
                with self.subTest(names=names):
                    done = self.run_limited("tool", "run", "list", "{}", pass_fds=fds,
                                            preexec_fn=without_calls(names))
                    found = json.loads(done.stdout)["result"]
                    self.assertIn("pipe:", found)
                    self.assertNotIn("secret", found)
        finally:
            for fd in fds:
                os.close(fd)


if __name__ == "__main__":
    unittest.main()
