#!/usr/bin/python3
"""A PostgreSQL server for tests, with its data and its socket in a temporary folder, and without a
network port.

    with postgres.Server() as server:
        server.create_database("mine")
        print(server.query("SELECT 1", "mine"), server.url("mine"))

As a program, tests/postgres.py COMMAND [ARGUMENT]... runs a command with the URL of a new server in
IKIGAI_TEST_POSTGRES, as tests/run does.

PostgreSQL refuses to run as root; root starts it as the user postgres, or else as the user nobody. A
small process, the guard, watches the process that started the server: when that is gone, for
whatever reason, the guard ends the server and removes the folder.
"""
import contextlib
import glob
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True  # before support is imported: the tree stays clean
from support import open_to_all

VARIABLE = "IKIGAI_TEST_POSTGRES"
PATIENCE = 60  # seconds for a server to start or to stop
SOCKET_PATH_MAX = 107
SOCKET_NAME = ".s.PGSQL.5432"
# The data need not survive a crash of the machine, but must survive a kill of the server, so
# synchronous_commit stays on.
SETTINGS = {"listen_addresses": "", "fsync": "off", "full_page_writes": "off",
            "log_min_messages": "warning", "max_connections": "200"}


class Error(Exception):
    """The server could not be started, or a command failed."""


def version_of(folder):
    return [int(n) for n in re.findall(r"\d+", folder)]


def folders():
    """Where the programs of a server may be, the likeliest first."""
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        yield subprocess.check_output(["pg_config", "--bindir"], text=True,
                                      stderr=subprocess.DEVNULL).strip()
    for pattern in ("/usr/lib/postgresql/*/bin", "/usr/libexec/postgresql*", "/usr/pgsql-*/bin",
                    "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin"):
        yield from sorted(glob.glob(pattern), key=version_of, reverse=True)
    yield from os.get_exec_path()


def find_programs():
    """The folder with the programs of the server; some folders have only those of clients."""
    for folder in folders():
        if all(os.access(os.path.join(folder, name), os.X_OK)
               for name in ("postgres", "initdb", "psql", "pg_isready")):
            return folder
    raise Error("PostgreSQL is not installed: script/bootstrap --test installs it")


def identity():
    """Arguments for Popen to start a process as a user who may run PostgreSQL."""
    if os.geteuid() != 0:
        return {}
    try:
        entry = pwd.getpwnam("postgres")
    except KeyError:
        entry = pwd.getpwnam("nobody")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def make_folder(owner):
    """A temporary folder whose path is short enough for a socket, and which the server's user can
    enter."""
    for base in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        name = os.path.join(base, "ikigai-pg-XXXXXXXX", SOCKET_NAME)
        if len(os.fsencode(name)) <= SOCKET_PATH_MAX and (not owner or open_to_all(base)):
            folder = tempfile.mkdtemp(prefix="ikigai-pg-", dir=base)
            os.chmod(folder, 0o755)
            if owner:
                os.chown(folder, owner["user"], owner["group"])
            return folder
    raise Error("no folder for temporary files is short enough for a socket and open to all")


def runs(pid):
    """Whether the process runs and is not a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Server:
    """Started by the with statement. After stop or kill it can be started again with its data."""

    def __init__(self):
        self.programs, self.owner = find_programs(), identity()
        self.folder = make_folder(self.owner)
        self.data = os.path.join(self.folder, "data")
        self.process = None
        self.guard = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--guard",
                                       self.folder], stdin=subprocess.PIPE, start_new_session=True)

    def __enter__(self):
        try:
            self.program("initdb", "--no-sync", "-A", "trust", "-E", "UTF8", "--locale=C",
                         "-U", "postgres", "-D", self.data)
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.stop()
        self.guard.stdin.close()
        self.guard.wait()

    # ---- life

    def start(self):
        settings = {**SETTINGS, "unix_socket_directories": self.folder}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        deadline = time.monotonic() + PATIENCE
        with open(self.log_path(), "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(self.programs, "postgres"), "-D", self.data, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment(),
                cwd=self.folder, start_new_session=True, **self.owner)
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise Error(f"PostgreSQL did not start:\n{self.log()}")
            time.sleep(0.02)
        return self

    def stop(self):
        """Shuts the server down: clients are disconnected, everything is written."""
        if self.process and self.process.poll() is None:
            self.resume()
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()
        self.process = None

    def kill(self):
        """Kills all its processes at once, as if the machine had failed."""
        pids = self.pause()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        while any(map(runs, pids)):  # they hold memory that the next server needs
            time.sleep(0.01)
        self.process = None

    def pause(self):
        """Stops all processes of the server: connections stay open and the kernel accepts new ones,
        but none is answered. Returns the pids."""
        pids = [self.process.pid]
        os.kill(pids[0], signal.SIGSTOP)  # first, so that it starts no more children
        for pid in self.children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                pids.append(pid)
        return pids

    def resume(self):
        for pid in [*self.children(), self.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def children(self):
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)],
                                stdout=subprocess.PIPE, text=True)
        return [int(pid) for pid in listed.stdout.split()]

    # ---- use

    def url(self, database="postgres", **parameters):
        query = {"host": self.folder, "user": "postgres", **parameters}
        return f"postgresql:///{database}?{urllib.parse.urlencode(query, safe='/')}"

    def create_database(self, name):
        """Returns its URL."""
        self.query(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def query(self, sql, database="postgres"):
        """The rows of the answer, each a tuple of strings."""
        answer = self.program("psql", "-X", "-q", "-A", "-t", "-F", "\x1f", "-R", "\x1e",
                              "-v", "ON_ERROR_STOP=1", "-d", self.url(database), "-c", sql)
        rows = answer.removesuffix("\n")
        return [tuple(row.split("\x1f")) for row in rows.split("\x1e")] if rows else []

    def answers(self):
        done = subprocess.run([os.path.join(self.programs, "pg_isready"), "-q", "-d", self.url()],
                              env=self.environment())
        return done.returncode == 0

    def log_path(self):
        return os.path.join(self.folder, "log")

    def log(self):
        with open(self.log_path(), errors="replace") as f:
            return f.read()

    # ---- its programs

    def environment(self):
        # PGHOST and similar variables would make them use another server.
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "LC_", "LANG"))}
        return {**env, "LC_ALL": "C", "TZ": "UTC"}

    def program(self, name, *args):
        done = subprocess.run([os.path.join(self.programs, name), *args], env=self.environment(),
                              cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, **self.owner)
        if done.returncode != 0:
            raise Error(f"{name} failed: {(done.stderr or done.stdout).strip()}")
        return done.stdout


class Shared:
    """A server shared by many jobs, started when the first one needs it. Each gets a database."""

    def __init__(self):
        self.lock = threading.Lock()
        self.server, self.failure, self.databases = None, None, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with self.lock:
            if self.server:
                self.server.close()

    def environment(self, name):
        """The environment of a process of this name."""
        with self.lock:
            if self.failure:
                raise self.failure
            if not self.server:
                try:
                    self.server = Server().__enter__()
                except (Error, OSError) as error:
                    self.failure = Error(f"needs PostgreSQL: {error}")
                    raise self.failure from error
            self.databases += 1
            database = f"{re.sub(r'[^a-z0-9]+', '_', name.lower())[:40]}_{self.databases}"
        return {VARIABLE: self.server.create_database(database)}


# ---- the guard

def postmaster(folder):
    """The pid of the server that runs in this folder, or None."""
    data = os.path.join(folder, "data")
    with contextlib.suppress(OSError, ValueError):
        pid = int(pid_file(folder)[0])
        # The pid file of a killed server may name a process that is now another program.
        return pid if os.readlink(f"/proc/{pid}/cwd") == data else None
    return None


def pid_file(folder):
    with open(os.path.join(folder, "data", "postmaster.pid")) as f:
        return f.read().splitlines()


def remove(folder):
    """Removes the folder, and the shared memory segment that a killed server leaves behind."""
    with contextlib.suppress(OSError, IndexError):
        subprocess.run(["ipcrm", "-m", pid_file(folder)[6].split()[1]], stderr=subprocess.DEVNULL)
    shutil.rmtree(folder, ignore_errors=True)


def guard(folder):
    # The guard must outlive signals to the processes of a terminal or a test.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    deadline = time.monotonic() + PATIENCE
    while os.path.exists(folder) and time.monotonic() < deadline:
        pid = postmaster(folder)
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGQUIT)
            time.sleep(0.1)
        else:
            remove(folder)


def main():
    if sys.argv[1:2] == ["--guard"]:
        return guard(sys.argv[2])
    if len(sys.argv) < 2:
        sys.exit("usage: tests/postgres.py COMMAND [ARGUMENT]...")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Server() as server:
            return subprocess.call(sys.argv[1:], env={**os.environ, VARIABLE: server.url()})
    except (Error, OSError) as error:
        sys.exit(f"tests/postgres.py: {error}")
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
