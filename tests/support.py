"""Shared by all Python tests: the paths of the programs, how to run them, scratch folders.

The programs under test are in IKIGAI_OUT (a build folder or an installed prefix), by default in the
checkout itself.
"""
import errno
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.abspath(os.environ.get("IKIGAI_OUT", ROOT))
IKIGAI = os.path.join(OUT, "bin", "ikigai")
TOOLS = os.path.join(OUT, "libexec", "ikigai")
OBJECTS = os.path.join(ROOT, "build", "obj") if OUT == ROOT else os.path.join(OUT, "obj")
NOBODY = 65534
VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
            "--errors-for-leak-kinds=definite", "--num-callers=25",
            "--child-silent-after-fork=yes",
            "--suppressions=" + os.path.join(ROOT, "tests", "lint", "valgrind.supp")]

# Seconds for what happens at once on an idle machine. What must not be waited for lasts longer, so a
# test that waits longer has found a hang.
PATIENCE = 60

# the tools that come with ikigai, as they are listed
SHIPPED = ["agent", "ask_user", "bash", "file_edit", "file_read", "file_write", "glob",
           "grep", "job", "todo"]


def tool_path(name):
    return os.path.join(TOOLS, name.replace("_", "-"))


def on_this_machine(seconds):
    """The time limit, on this machine as busy as it is now, for what takes that many seconds on an
    idle one."""
    return seconds * max(1.0, os.getloadavg()[0] / os.cpu_count())


def cpu_of_children():
    """Seconds of processor time that ended children took: a measure of work that does not depend on
    what else the machine does."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def clean_env(**more):
    """The environment of a test, without the variables that ikigai reads."""
    ours = ("IKIGAI_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "OPENROUTER_", "VLLM_",
            "COLORTERM", "NO_COLOR")
    env = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    # With a PATH folder that may not be entered (after su, for example), a shell reports a command
    # that does not exist as "Permission denied".
    env["PATH"] = ":".join(d for d in os.get_exec_path() if os.access(d, os.X_OK))
    env.update({k: str(v) for k, v in more.items()})
    return env


def as_user(uid=NOBODY):
    """preexec_fn that turns a root test process into an ordinary user."""
    if os.geteuid() != 0:
        raise unittest.SkipTest("needs root to become another user")

    def drop():
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    return drop


def open_to_all(path):
    """Whether all users may enter this folder and the folders above it."""
    return os.stat(path).st_mode & 0o001 and (path == "/" or open_to_all(os.path.dirname(path)))


def need_mounts():
    """Skips the test where mounting is not allowed: an ordinary user, most containers, a chroot."""
    done = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", tempfile.gettempdir()],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        raise unittest.SkipTest("needs permission to mount")


def run_tool(name, params, cwd=None, env=None, uid=None, timeout=PATIENCE, raw=False):
    """Runs a shipped tool without ikigai. params is an object, or the bytes to send.
    Returns the parsed answer (or the CompletedProcess when raw)."""
    data = params if isinstance(params, bytes) else json.dumps(params).encode()
    done = subprocess.run([tool_path(name)], input=data, cwd=cwd, timeout=timeout,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=clean_env(**(env or {})),
                          preexec_fn=as_user(uid) if uid else None)
    if raw:
        return done
    if done.returncode != 0:
        raise AssertionError(f"{name} exited {done.returncode}: {done.stderr!r}")
    return json.loads(done.stdout)


MEASURE = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:2], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status) & 255)
"""


def run_tool_measured(name, params, cwd=None, env=None, timeout=120):
    """Like run_tool; returns the answer and the tool's peak memory in bytes. A small process starts
    the tool, because the peak that wait4 reports includes that of the forking parent."""
    done = subprocess.run([sys.executable, "-SIc", MEASURE, tool_path(name)], cwd=cwd,
                          input=json.dumps(params).encode(), timeout=timeout,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=clean_env(**(env or {})))
    if done.returncode != 0:
        raise AssertionError(f"{name} exited {done.returncode}: {done.stderr!r}")
    return json.loads(done.stdout), int(done.stderr.split()[-1]) * 1024


def ignore_missing(_function, _path, failure):
    """A program that is exiting may remove files itself (SQLite's log)."""
    if not issubclass(failure[0], FileNotFoundError):
        raise failure[1]


def open_folders(folder):
    for where, folders, _ in os.walk(folder):
        for name in folders:  # before os.walk enters it
            if not os.path.islink(os.path.join(where, name)):
                os.chmod(os.path.join(where, name), 0o755)


def remove_tree(folder):
    """Removes a folder with all in it, also what only root can enter."""
    for attempt in range(200):
        try:
            open_folders(folder)
            return shutil.rmtree(folder, onerror=ignore_missing)
        except OSError as error:
            # The kernel is still making or dismantling the room of a program that was killed.
            if error.errno not in (errno.ENOTEMPTY, errno.EACCES, errno.ENOENT) or attempt == 199:
                raise
            time.sleep(0.05)


class ScratchTest(unittest.TestCase):
    """A test with an empty folder of its own in self.dir, removed afterwards."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="ikigai-test-")
        os.chmod(self.dir, 0o755)
        self.addCleanup(self.remove_scratch)

    def remove_scratch(self):
        remove_tree(self.dir)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def write(self, name, content="", mode=None):
        """Writes a file (folders made as needed) and returns its path."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        if mode is not None:
            os.chmod(path, mode)
        return path

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()


def tool_script(name, body="echo '{}'", description="A tool of a test", first="", **schema):
    """A tool in sh, which prints the schema for --schema and runs body for a call. first is run
    before both."""
    schema = {"name": name, "description": description, **schema}
    return (f"#!/bin/sh\n{first}\nif [ \"$1\" = --schema ]; then\ncat <<'SCHEMA'\n"
            f"{json.dumps(schema)}\nSCHEMA\nexit 0\nfi\n{body}\n")


class Done:
    """A finished run of ikigai: its exit status, stdout and stderr."""

    def __init__(self, completed):
        self.status = completed.returncode
        self.out = (completed.stdout or b"").decode("utf-8", "surrogateescape")
        self.err = (completed.stderr or b"").decode("utf-8", "surrogateescape")

    def json(self):
        return json.loads(self.out)


class IkigaiTest(ScratchTest):
    """Runs ikigai with a home of its own (self.home is its .ikigai) in a project of its own."""

    def setUp(self):
        super().setUp()
        self.home = self.path("home", ".ikigai")
        self.project = self.path("project")
        os.makedirs(self.project)
        os.makedirs(self.path("home"))

    def env(self, **more):
        return clean_env(**{"HOME": self.path("home"), **more})

    def ikigai(self, *args, status=0, input=b"", cwd=None, env=None, program=IKIGAI, **more):
        """Runs ikigai and asserts this exit status (None: any)."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 120, **more}
        done = Done(subprocess.run([program, *args], input=input, cwd=cwd or self.project,
                                   env=self.env(**(env or {})), **options))
        if status is not None:
            self.assertEqual(done.status, status, f"{args}\n{done.out}\n{done.err}")
        return done

    def trace(self, calls, *args, options=(), input=b"", env=None, **more):
        """Runs ikigai under strace; returns the lines about these system calls. Leak detection is off,
        because LeakSanitizer does not work under a tracer."""
        log = self.path("trace")
        subprocess.run(["strace", "-s", "65536", *options, "-e", f"trace={calls}", "-o", log,
                        IKIGAI, *args], input=input, cwd=self.project, timeout=120,
                       env=self.env(ASAN_OPTIONS="detect_leaks=0", **(env or {})),
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
        with open(log, errors="replace") as f:
            lines = f.read().splitlines()
        os.remove(log)
        return lines

    def user_tool(self, name, text, mode=0o755):
        return self.write(f"home/.ikigai/tools/{name}", text, mode)

    def project_tool(self, name, text, mode=0o755):
        return self.write(f"project/.ikigai/tools/{name}", text, mode)

    def config(self, value, scope="home"):
        """Writes the user's (home) or the project's config file; returns its path."""
        text = value if isinstance(value, (str, bytes)) else json.dumps(value)
        return self.write(f"{scope}/.ikigai/config.json", text, 0o600)


class Sandbox(IkigaiTest):
    """An IkigaiTest for scripts that are not tests: with Sandbox() as s: s.ikigai("tool", "list")"""

    def runTest(self):
        pass

    def __enter__(self):
        self.setUp()
        return self

    def __exit__(self, *_):
        self.doCleanups()
