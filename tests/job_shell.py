"""A shell that has one job, for what only a shell can show: a program that is stopped, in the
background, and brought back. Unlike real shells it leaves the terminal's settings as the job left
them, so that a test sees them.

As a program: job_shell.py FOLDER COMMAND… on a terminal. It reads words from FOLDER/orders (fg, bg,
quit) and appends lines to FOLDER/events (started PID, stopped SIGNAL, continued, ended STATUS).
"""
import os
import select
import signal
import sys
import time

PATIENCE = 60  # as in support.py, which this program does not need


class Job:
    """Runs in the shell's process."""

    def __init__(self, folder, argv):
        self.orders = os.open(os.path.join(folder, "orders"), os.O_RDWR)
        self.events = os.open(os.path.join(folder, "events"), os.O_WRONLY | os.O_APPEND)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        self.ended = False
        begun, begin = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(0, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            os.execvp(argv[0], argv)
        os.close(begin)
        os.read(begun, 1)  # its end: the job is the program now
        self.tell(f"started {self.pid}")

    def tell(self, line):
        os.write(self.events, line.encode() + b"\n")

    def run(self):
        while True:
            if not self.ended:
                self.look()
            if select.select([self.orders], [], [], 0.005)[0] and not self.obey():
                return

    def look(self):
        pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
        if pid == 0:
            return
        if os.WIFCONTINUED(status):
            self.tell("continued")
            return
        os.tcsetpgrp(0, os.getpgrp())
        if os.WIFSTOPPED(status):
            self.tell(f"stopped {os.WSTOPSIG(status)}")
        else:
            self.ended = True
            self.tell(f"ended {os.waitstatus_to_exitcode(status)}")

    def obey(self):
        order = os.read(self.orders, 1)
        if order == b"q":
            return False
        if order == b"f":
            os.tcsetpgrp(0, self.pid)
        os.killpg(self.pid, signal.SIGCONT)
        return True


class Events:
    """Follows the lines that another process appends to a file."""

    def __init__(self, path):
        self.path, self.seen = path, 0
        open(path, "ab").close()

    def lines(self):
        with open(self.path) as f:
            return f.read().split("\n")[:-1]

    def wait(self, beginning, timeout=PATIENCE):
        """Waits for the next line that begins with this word."""
        deadline = time.monotonic() + timeout
        while True:
            lines = self.lines()
            for i in range(self.seen, len(lines)):
                if lines[i].startswith(beginning):
                    self.seen = i + 1
                    return lines[i]
            if time.monotonic() > deadline:
                raise AssertionError(f"no {beginning!r} after {timeout} s: {lines}")
            time.sleep(0.003)


class Shell:
    """The tests' end: argv is what to run on a terminal. The folder is empty."""

    def __init__(self, folder, argv):
        os.mkfifo(os.path.join(folder, "orders"))
        self.events = Events(os.path.join(folder, "events"))
        self.argv = [sys.executable, "-B", os.path.abspath(__file__), folder, *argv]
        self.orders = os.open(os.path.join(folder, "orders"), os.O_RDWR)

    def order(self, word):
        os.write(self.orders, word[0].encode())

    def wait_started(self):
        return int(self.events.wait("started ").split()[1])

    def wait_stopped(self):
        return int(self.events.wait("stopped ").split()[1])

    def wait_ended(self, timeout=PATIENCE):
        return int(self.events.wait("ended ", timeout).split()[1])

    def close(self):
        os.close(self.orders)


if __name__ == "__main__":
    Job(sys.argv[1], sys.argv[2:]).run()
