"""Real terminals for tests: a pseudo terminal with libvterm behind it, and tmux.

    class MyTest(TerminalTest):
        def test_it(self):
            t = self.terminal([IKIGAI], columns=80, rows=24, env=…, cwd=…)
            t.wait_for("> ")
            t.send("hello\\r")
            t.wait_for(re.compile("Hello.*"))
            self.assertEqual(t.wait_exit(), 0)

When the test is over the program is ended, and all that it printed must have passed
terminal_checker; a test of what is not drawn by ikigai sets t.check = False.
"""
import fcntl
import json
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time

import terminal_checker
from support import OBJECTS, PATIENCE, ScratchTest

VTERM_DRIVER = os.path.join(OBJECTS, "tests", "e2e", "vterm_driver")

# How terminals answer queries: pairs of a pattern for the query and the answer.
DA1 = (rb"\x1b\[0?c", b"\x1b[?62;22c")
KITTY = (rb"\x1b\[\?u", b"\x1b[?0u")
SYNCHRONISED = (rb"\x1b\[\?2026\$p", b"\x1b[?2026;2$y")
DARK = (rb"\x1b\]11;\?(?:\x07|\x1b\\)", b"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\")
LIGHT = (rb"\x1b\]11;\?(?:\x07|\x1b\\)", b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\")


FRAME_SECONDS = 1  # for so long the rest of a frame is waited for
APC = re.compile(rb"\x1b_[^\x1b]*\x1b\\")  # libvterm would print it
# The kitty graphics protocol; a terminal that does not know it answers nothing.
GRAPHICS = (rb"\x1b_Gi=31,[^;]*;AAAA\x1b\\", b"\x1b_Gi=31;OK\x1b\\")
NO_GRAPHICS = (rb"\x1b_Gi=31,[^;]*;AAAA\x1b\\", b"\x1b_Gi=31;EINVAL:no\x1b\\")
# Sixel: announced in DA1; the size of a cell is asked for, and the number of colours.
SIXEL_DA1 = (rb"\x1b\[0?c", b"\x1b[?62;4;22c")
CELL = (rb"\x1b\[16t", b"\x1b[6;20;10t")
COLOURS = (rb"\x1b\[\?1;1;0S", b"\x1b[?1;0;256S")


def version(name):
    return (rb"\x1b\[>0?q", b"\x1bP>|" + name.encode() + b"\x1b\\")


SILENT = []
SIMPLE = [DA1]
MODERN = [KITTY, SYNCHRONISED, DARK, version("test(1)"), DA1]


class Emulator:
    """libvterm: bytes in, rows out. It does not reflow."""

    def __init__(self, columns=80, rows=24):
        self.size = (columns, rows)
        self.scrolled = []  # the scrollback when it was last read
        self.driver = subprocess.Popen([VTERM_DRIVER, str(columns), str(rows)],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, line):
        self.driver.stdin.write(line.encode() + b"\n")
        self.driver.stdin.flush()
        answer = self.driver.stdout.readline()
        if not answer:
            raise AssertionError(f"vterm_driver ended: {self.driver.wait(PATIENCE)}")
        answer = json.loads(answer)
        if "error" in answer:
            raise AssertionError(f"vterm_driver: {answer['error']}: {line[:60]}")
        return answer

    def feed(self, data):
        if data:
            self.ask("feed " + data.hex())

    def resize(self, columns, rows):
        self.size = (columns, rows)
        self.ask(f"resize {columns} {rows}")

    def dump(self):
        """scrollback, screen, cursor, visible, alternate, title, bells."""
        dump = self.ask(f"dump {len(self.scrolled)}")
        self.scrolled = self.scrolled[:dump["known"]] + dump["scrollback"]
        return {**dump, "scrollback": self.scrolled}

    def rows(self):
        """Scrollback and screen, without the empty rows at the end."""
        dump = self.dump()
        return without_empty_end(dump["scrollback"] + dump["screen"])

    def cell(self, row, column):
        return self.ask(f"cell {row} {column}")

    def close(self):
        self.driver.stdin.close()
        try:
            self.driver.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.driver.kill()
            self.driver.wait()
        self.driver.stdout.close()


def pattern_of(text):
    """A pattern for the text, without trailing spaces, which rows do not have."""
    return text if isinstance(text, re.Pattern) else re.compile(re.escape(text.rstrip(" ")))


def without_empty_end(rows):
    end = len(rows)
    while end > 0 and not rows[end - 1]:
        end -= 1
    return rows[:end]


class Terminal:
    """A program on a terminal of its own: its session, its controlling terminal, its window size.
    All that it prints is read at once (unless reading is paused), kept in raw and shown by an
    Emulator. Its questions are answered as `answers` says: SILENT, SIMPLE, MODERN or a list."""

    def __init__(self, argv, columns=80, rows=24, env=None, cwd=None, answers=MODERN, plain=False,
                 dumb=False):
        self.columns, self.rows = columns, rows
        self.first_size = (columns, rows)
        self.answers, self.answered = answers, 0
        self.plain, self.dumb, self.check = plain, dumb, True
        self.graphics = None  # what may be printed of pictures; see terminal_checker
        self.emulator = Emulator(columns, rows)
        self.fed = 0
        self.raw = b""
        self.resizes = []
        self.lock = threading.Condition()
        self.reading, self.closing, self.killed = True, False, False
        self.last_output = time.monotonic()
        self.master, self.slave = os.openpty()
        os.set_blocking(self.master, False)
        self.wake_reader, self.wake = os.pipe()
        self.awake = threading.Event()
        self.set_size(columns, rows)
        self.started = time.monotonic()
        self.child = subprocess.Popen(
            argv, stdin=self.slave, stdout=self.slave, stderr=self.slave, env=env, cwd=cwd,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.pid = self.child.pid
        self.thread = threading.Thread(target=self.read_all, daemon=True)
        self.thread.start()

    # ---- output

    def read_all(self):
        while True:
            watched = [self.wake_reader] + ([self.master] if self.reading else [])
            ready, _, _ = select.select(watched, [], [])
            if self.reading and self.master in ready and not self.read_some():
                return
            if self.wake_reader in ready:
                os.read(self.wake_reader, 1)
                self.awake.set()
                if self.closing:
                    return

    def rouse(self):
        """The reader sees what has changed; what it has read so far is in raw."""
        self.awake.clear()
        os.write(self.wake, b".")
        while self.thread.is_alive() and not self.awake.wait(0.1):
            pass

    def read_some(self):
        try:
            data = os.read(self.master, 65536)
        except BlockingIOError:
            return True  # what select saw was flushed meanwhile, as Ctrl-C does
        except OSError:
            return False
        with self.lock:
            self.raw += data
            self.last_output = time.monotonic()
            self.lock.notify_all()
        self.answer()
        return bool(data)

    def answer(self):
        for found in self.questions():
            try:
                self.send(self.answers[found.lastindex - 1][1])
            except (AssertionError, OSError):
                self.answered = len(self.raw)  # the program has ended
                return
            self.answered = found.end()

    def questions(self):
        """Those that were not answered yet."""
        known = b"|".join(b"(%s)" % question for question, _ in self.answers or ())
        return list(re.compile(known).finditer(self.raw, self.answered)) if known else []

    def pause_reading(self):
        """Stops reading, as a terminal that hangs does."""
        self.reading = False
        self.rouse()

    def resume_reading(self):
        self.reading = True
        self.rouse()

    def show(self, halves=False):
        """The emulator, after it was fed everything that was read, but for half a frame, which a
        terminal keeps back for a moment, too."""
        with self.lock:
            data = self.raw[self.fed:]
            unfinished = re.search(rb"\x1b_[^\x1b]*\x1b?\Z|\x1b\Z", data)
            data = data[:unfinished.start()] if unfinished else data
            frame = data.rfind(b"\x1b[?2026h")
            if (frame > data.rfind(b"\x1b[?2026l") and self.reading and not halves
                    and time.monotonic() - self.last_output < FRAME_SECONDS):
                data = data[:frame]
            self.fed += len(data)
            self.emulator.feed(APC.sub(b"", data))
        return self.emulator

    def screen(self):
        return self.show().dump()["screen"]

    def all_rows(self):
        return self.show().rows()

    def cursor(self):
        """(row, column) of the screen, from 0."""
        return tuple(self.show().dump()["cursor"])

    def cell(self, row, column):
        return self.show().cell(row, column)

    # ---- waiting

    def wait_until(self, condition, what, timeout=PATIENCE):
        """Waits until condition() is true and returns its value. It is checked again whenever
        something was printed."""
        deadline = time.monotonic() + timeout
        while True:
            with self.lock:
                seen = len(self.raw)
            answer = condition()
            if answer:
                return answer
            if time.monotonic() > deadline:
                raise AssertionError(f"no {what} after {timeout} s\n{self.describe()}")
            with self.lock:
                if len(self.raw) == seen:
                    self.lock.wait(0.05)

    def wait_for(self, text, timeout=PATIENCE):
        """Waits until the text, or a match of the compiled pattern, is on the screen or in the
        scrollback; rows are joined by line feeds. Returns the match."""
        pattern = pattern_of(text)
        return self.wait_until(lambda: pattern.search("\n".join(self.all_rows())),
                               f"{pattern.pattern!r} on the screen", timeout)

    def wait_gone(self, text, timeout=PATIENCE):
        """Waits until the text is no longer on the screen."""
        self.wait_until(lambda: text not in "\n".join(self.screen()), f"end of {text!r}", timeout)

    def wait_answered(self):
        """Waits until the program's questions are answered; keys come after the answers then."""
        self.wait_until(lambda: not self.questions(), "answers of the terminal")

    def wait_idle(self, quiet=0.3, timeout=PATIENCE):
        """Waits until nothing was printed for that long."""
        self.wait_until(lambda: time.monotonic() - self.last_output >= quiet, "silence", timeout)

    def wait_exit(self, timeout=PATIENCE):
        """Waits for the exit status; negative: killed by that signal."""
        try:
            status = self.child.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {timeout} s\n{self.describe()}") from None
        self.wait_drained()
        return status

    def wait_drained(self):
        """Waits until everything that the program printed was read. Unlike FIONREAD, select counts what
        is still on its way through the kernel; the reader may still hold what select no longer sees."""
        more = [self.master]
        while more and self.reading and self.thread.is_alive():
            more = select.select([self.master], [], [], 0)[0]
            self.rouse()

    def describe(self):
        dump = self.show().dump()
        rows = [f"  {row}" for row in without_empty_end(dump["screen"])]
        return "\n".join([f"screen ({self.columns}x{self.rows}, cursor {dump['cursor']}, "
                          f"{len(dump['scrollback'])} rows above):", *rows,
                          f"last bytes: {self.raw[-300:]!r}",
                          f"the program: {self.state()}; its output is "
                          f"{'' if self.thread.is_alive() else 'no longer '}read"])

    def state(self):
        """What the kernel says that the program is doing."""
        try:
            with open(f"/proc/{self.pid}/status", encoding="utf-8") as f:
                state = re.search(r"^State:\s*(.*)$", f.read(), re.M)[1]
            with open(f"/proc/{self.pid}/wchan", encoding="utf-8") as f:
                return f"{state}, {f.read()}"
        except OSError:
            return "gone"

    # ---- input and the window

    def send(self, data):
        data = data.encode() if isinstance(data, str) else data
        while data:
            _, ready, _ = select.select([], [self.master], [], PATIENCE)
            if not ready:
                raise AssertionError(f"the program reads no input\n{self.describe()}")
            try:
                data = data[os.write(self.master, data):]
            except BlockingIOError:
                time.sleep(0.01)  # the reader has sent an answer meanwhile

    def wait_read(self):
        """Waits until the program has read the lines that the terminal has echoed."""
        def unread():
            return struct.unpack("i", fcntl.ioctl(self.slave, termios.FIONREAD, bytes(4)))[0]
        self.wait_until(lambda: unread() == 0, "reading of what was sent")

    def paste(self, text):
        self.send(b"\x1b[200~" + text.encode() + b"\x1b[201~")

    def set_size(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.show(halves=True)
        with self.lock:
            self.columns, self.rows = columns, rows
            self.resizes.append((self.fed, columns, rows))
            self.emulator.resize(columns, rows)
        self.set_size(columns, rows)

    def settings(self):
        """The current termios settings of the terminal."""
        return termios.tcgetattr(self.slave)

    def hang_up(self):
        """Closes the window."""
        self.closing = True
        self.rouse()
        self.thread.join(PATIENCE)
        self.close_descriptors()

    def signal(self, number):
        os.kill(self.pid, number)

    # ---- the end

    def close_descriptors(self):
        for name in ("slave", "master"):
            if getattr(self, name) >= 0:
                os.close(getattr(self, name))
                setattr(self, name, -1)

    def end_program(self):
        if self.child.poll() is None:
            for number in (signal.SIGCONT, signal.SIGTERM):
                self.signal(number)
            try:
                self.child.wait(3)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
                self.killed = True

    def close(self):
        """Ends the program if it still runs and checks everything that it printed. May be called
        again."""
        if self.emulator is None:
            return
        if not self.closing:
            self.resume_reading()
        self.end_program()
        if not self.closing:
            self.wait_drained()
            self.hang_up()
        self.emulator.close()
        self.emulator = None
        os.close(self.wake)
        os.close(self.wake_reader)
        if self.check:
            self.check_output()

    def check_output(self):
        raw = terminal_checker.whole(self.raw, False)[0] if self.killed else self.raw
        problems = terminal_checker.check(raw, *self.first_size, resizes=self.resizes,
                                          plain=self.plain, dumb=self.dumb,
                                          graphics=self.graphics)
        if problems:
            raise AssertionError("what was printed is not allowed:\n" + "\n".join(problems[:20]))


class Tmux:
    """A detached session in its own tmux server. With argv the program runs in its pane; without, the
    pane shows what is passed to feed."""
    count = 0

    def __init__(self, argv=None, columns=80, rows=24, env=None, cwd=None):
        Tmux.count += 1
        self.dir = tempfile.mkdtemp(prefix="ikigai-tmux-")
        self.name = f"ikigai-test-{os.getpid()}-{Tmux.count}"
        self.env = {**(env or os.environ), "TMUX_TMPDIR": self.dir}
        self.env.pop("TMUX", None)
        self.marks = 0
        self.pipe = None
        fifo = os.path.join(self.dir, "feed")
        os.mkfifo(fifo)
        show = f"stty raw -echo; printf '\\033]2;ready\\033\\\\'; exec cat {fifo}"
        try:
            # Set first: a window keeps the limit with which it was created.
            self.run("start-server", ";", "set-option", "-g", "history-limit", "100000", ";",
                     "new-session", "-d", "-x", str(columns), "-y", str(rows),
                     *(["-c", cwd] if cwd else []), *(argv or ["sh", "-c", show]))
            if argv is None:
                self.wait_title("ready")
                self.pipe = os.open(fifo, os.O_WRONLY)
        except BaseException:
            self.close()
            raise

    def run(self, *args):
        done = subprocess.run(["tmux", "-L", self.name, "-f", "/dev/null", *args], env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
        if done.returncode != 0:
            raise AssertionError(f"tmux {args}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode("utf-8", "surrogateescape")

    def tell(self, format):
        """For example "#{cursor_x}"."""
        return self.run("display-message", "-p", format).rstrip("\n")

    def wait_title(self, title):
        deadline = time.monotonic() + PATIENCE
        while self.tell("#{pane_title}") != title:
            if time.monotonic() > deadline:
                raise AssertionError(f"tmux has not shown all after {PATIENCE} s")
            time.sleep(0.01)

    def feed(self, data):
        """Sends bytes to the pane; returns when they are shown."""
        self.marks += 1
        title = f"mark {self.marks}"
        data += b"\x1b]2;" + title.encode() + b"\x1b\\"
        while data:
            data = data[os.write(self.pipe, data):]
        self.wait_title(title)

    def send_keys(self, *keys):
        self.run("send-keys", *keys)

    def send_text(self, text):
        self.run("send-keys", "-l", text)

    def rows(self, joined=True):
        """Scrollback and screen without the empty rows at the end. joined: wrapped rows become
        one."""
        text = self.run("capture-pane", "-p", "-S", "-", *(["-J"] if joined else []))
        return without_empty_end([row.rstrip(" ") for row in text.split("\n")])

    def wait_for(self, text, timeout=PATIENCE):
        pattern = pattern_of(text)
        deadline = time.monotonic() + timeout
        while True:
            rows = self.rows()
            found = pattern.search("\n".join(rows))
            if found:
                return found
            if time.monotonic() > deadline:
                raise AssertionError(f"no {pattern.pattern!r} after {timeout} s\n"
                                     + "\n".join(rows[-50:]))
            time.sleep(0.03)

    def cursor(self):
        row, column = self.tell("#{cursor_y} #{cursor_x}").split()
        return int(row), int(column)

    def resize(self, columns, rows):
        self.run("resize-window", "-x", str(columns), "-y", str(rows))

    def close(self):
        if self.pipe is not None:
            os.close(self.pipe)
        subprocess.run(["tmux", "-L", self.name, "kill-server"], env=self.env,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE)
        shutil.rmtree(self.dir, ignore_errors=True)


class TerminalTest(ScratchTest):
    """A test with terminals, which are closed and whose output is checked at the end."""

    def setUp(self):
        super().setUp()
        self.assertTrue(os.path.exists(VTERM_DRIVER), "make unit-tests builds vterm_driver")

    def terminal(self, argv, **options):
        terminal = Terminal(argv, **options)
        self.addCleanup(terminal.close)
        return terminal

    def emulator(self, columns=80, rows=24):
        emulator = Emulator(columns, rows)
        self.addCleanup(emulator.close)
        return emulator

    def tmux(self, argv=None, **options):
        if shutil.which("tmux") is None:
            self.fail("tmux is missing: script/bootstrap --test installs it")
        tmux = Tmux(argv, **options)
        self.addCleanup(tmux.close)
        return tmux
