"""The terminal as a device: it is as before however the program goes, nothing that a slow terminal
does holds anything up, and job control works as with every good program."""
import fcntl
import os
import resource
import signal
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from job_shell import Events, Shell
from support import clean_env, need_mounts, on_this_machine
from terminal_modes import OFF, switched_on
from terminal_support import OBJECTS, PATIENCE, SILENT, TerminalTest

SERIAL = True  # it measures time

DRIVER = os.path.join(OBJECTS, "tests", "e2e", "tty_driver")
ENTERED = {"2004", "1004"}
DEAF = ["sh", "-c", 'trap "" HUP; exec "$@"', "-"]  # nohup would take the output, too
LINES, LINE_LEN = 32768, 64
CALM = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT]
# Everything else that ends a program and can be seen coming.
SUDDEN = [getattr(signal, "SIG" + name) for name in
          "SEGV BUS ILL FPE ABRT TRAP SYS ALRM USR1 USR2 VTALRM PROF XCPU IO PWR STKFLT".split()] \
    + [signal.SIGRTMIN, signal.SIGRTMIN + 5, signal.SIGRTMAX]

# A sanitizer would make an ordinary exit of a crash.
SANITIZER = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0:handle_sigbus=0"
             ":handle_sigfpe=0:handle_sigill=0:handle_abort=0:use_sigaltstack=0"}


def without_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class TtyTest(TerminalTest):
    def setUp(self):
        super().setUp()
        self.log = Events(self.path("log"))
        without_core()

    def open(self, argv, env=None, **options):
        """A terminal with settings of its own, which argv finds."""
        gate = tempfile.mktemp(dir=self.dir)
        wait = 'while [ ! -e "$0" ]; do sleep 0.002; done; exec "$@"'
        t = self.terminal(["sh", "-c", wait, gate, *argv], answers=SILENT,
                          env=clean_env(**SANITIZER, **(env or {})), **options)
        t.check = False  # drawn by tests
        t.before = t.settings()
        t.before[3] &= ~termios.ECHOCTL
        t.before[6][termios.VKILL] = b"\x18"
        termios.tcsetattr(t.slave, termios.TCSANOW, t.before)
        t.before = t.settings()
        open(gate, "w").close()
        return t

    def start(self, argv=(), **options):
        """The driver on a terminal; returns when it has entered."""
        t = self.open([*argv, DRIVER, self.log.path], **options)
        self.log.wait("entered ")
        self.wait_modes(t, ENTERED)
        return t

    def open_shell(self, argv, **options):
        self.shell = Shell(tempfile.mkdtemp(dir=self.dir), argv)
        self.addCleanup(self.shell.close)
        t = self.open(self.shell.argv, **options)
        t.job = self.shell.wait_started()
        return t

    def start_job(self, **options):
        """The same as the job of a shell."""
        t = self.open_shell([DRIVER, self.log.path], **options)
        self.log.wait("entered ")
        self.wait_modes(t, ENTERED)
        return t

    def wait_modes(self, t, wanted):
        t.wait_until(lambda: switched_on(t.raw) == wanted, f"modes {wanted}")
        self.assertEqual(t.settings() == t.before, wanted == OFF)

    def assert_restored(self, t):
        """What was written last may still be on its way."""
        self.assertEqual(t.settings(), t.before)
        t.wait_until(lambda: switched_on(t.raw) == OFF, "modes off")

    def wait_raw(self, t, text):
        t.wait_until(lambda: text in t.raw, text)

    def end_of_modes(self, t):
        """How much was printed when it had put everything back."""
        self.assert_restored(t)
        t.wait_until(lambda: t.raw.endswith(b"\x1b[0m"), "last mode")
        return len(t.raw)

    def all_on(self, t):
        """Every mode there is."""
        t.send("ka")
        self.wait_modes(t, ENTERED | {"kitty", "1049"})


class Leaving(TtyTest):
    def test_normal_end(self):
        for key in "qr":  # leaving, and freeing without leaving
            t = self.start()
            t.send(key)
            self.assertEqual(t.wait_exit(), 0)
            self.assert_restored(t)

    def test_the_test_sees_what_is_left(self):
        t = self.start()
        t.send("kx")
        self.assertEqual(t.wait_exit(), 7)
        t.wait_until(lambda: switched_on(t.raw) == ENTERED | {"kitty"}, "what is left on")
        self.assertNotEqual(t.settings(), t.before)

    def test_every_mode_is_undone(self):
        for keys, modes in (("k", {"kitty"}), ("m", {"keys"}), ("a", {"1049"}),
                            ("ka", {"kitty", "1049"}), ("ma", {"keys", "1049"})):
            t = self.start()
            t.send(keys)
            self.wait_modes(t, ENTERED | modes)
            t.send("q")
            self.assertEqual(t.wait_exit(), 0)
            self.assert_restored(t)

    def test_the_keyboard_on_the_other_screen(self):
        t = self.start()
        t.send("kaA")
        self.wait_modes(t, ENTERED | {"kitty"})
        t.wait_until(lambda: t.raw.endswith(b"\x1b[?1049h\x1b[>5u\x1b[<u\x1b[?1049l"), "both screens")

    def test_signals_from_outside(self):
        for number in CALM:
            with self.subTest(number):
                t = self.start()
                self.all_on(t)
                t.signal(number)
                self.assertEqual(t.wait_exit(), 128 + number)
                self.assert_restored(t)

    def test_signals_that_end_at_once(self):
        for number in SUDDEN:
            with self.subTest(number):
                t = self.start()
                self.all_on(t)
                t.signal(number)
                self.assertEqual(t.wait_exit(), -number)
                self.assert_restored(t)

    def test_crashes(self):
        for key, number in (("p", signal.SIGABRT), ("s", signal.SIGSEGV), ("o", signal.SIGSEGV)):
            with self.subTest(key):
                t = self.start()
                self.all_on(t)
                t.send(key)
                self.assertEqual(t.wait_exit(), -number)
                self.assert_restored(t)
                if key == "p":
                    self.wait_raw(t, b"as the test wants it")

    def test_a_cut_off_string_is_ended(self):
        t = self.start()
        t.send("l")
        self.log.wait("cut")
        t.signal(signal.SIGABRT)
        self.assertEqual(t.wait_exit(), -signal.SIGABRT)
        self.assert_restored(t)
        t.show().feed(b"seen")
        self.assertEqual(t.screen()[:2], ["link", "seen"])

    def test_what_is_ignored_stays_ignored(self):
        ignored = [signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGTSTP]
        code = "import os, signal, sys\n" \
            f"for n in {[int(n) for n in ignored]}: signal.signal(n, signal.SIG_IGN)\n" \
            "os.execv(sys.argv[1], sys.argv[1:])"
        t = self.start([sys.executable, "-c", code])
        for number in ignored:
            t.signal(number)
        t.send("z!")
        self.log.wait("key 21")
        self.assertNotIn("continued", " ".join(self.log.lines()))
        t.signal(signal.SIGTERM)
        self.assertEqual(t.wait_exit(), 128 + signal.SIGTERM)
        self.assert_restored(t)

    def test_a_terminal_is_needed(self):
        t = self.terminal(["sh", "-c", f'exec "{DRIVER}" "{self.log.path}" < /dev/null'])
        self.assertEqual(t.wait_exit(), 2)
        self.log.wait("Standard input and output are not a terminal")


class Device(TtyTest):
    def test_keys_arrive_as_they_are(self):
        t = self.start()
        t.send(b"\x00\x03\x04\r\n\x11\x13\x16\x1c\x7f\xff")
        for byte in b"\x00\x03\x04\r\n\x11\x13\x16\x1c\x7f\xff":
            self.log.wait(f"key {byte:02x}")

    def test_size(self):
        t = self.start(columns=100, rows=30)
        self.assertEqual(self.log.lines()[0], "entered 100x30")
        for columns in range(50, 150):  # a storm
            t.set_size(columns, 20)
        self.log.wait("resize 149x20")
        t.set_size(0, 0)
        self.log.wait("resize 80x24")
        told = self.resizes()
        self.assertLess(len(told), 50)
        t.set_size(81, 24)  # what is no change in the end is told: a terminal may have reflowed
        t.set_size(80, 24)
        t.wait_until(lambda: len(self.resizes()) > len(told), "resize")
        self.assertEqual(self.resizes()[len(told):], ["resize 80x24"])

    def resizes(self):
        return [line for line in self.log.lines() if line.startswith("resize")]

    def test_a_changing_size_is_not_settled(self):
        """As soon as the kernel knows, whether or not the signal was seen."""
        t = self.start(columns=100, rows=30)
        t.send("i")
        self.log.wait("ignoring")
        for columns in (90, 95):
            t.set_size(columns, 30)
            t.send("w")
            t.wait_until(lambda: self.log.lines()[-2:] == ["changing", f"resize {columns}x30"],
                         "resize")
            t.send("w")
            t.wait_until(lambda: self.log.lines()[-1] == "settled", "settled size")

    def test_the_shells_descriptors_keep_their_flags(self):
        t = self.start()
        t.send("b")
        self.log.wait("drained")
        self.assertFalse(fcntl.fcntl(t.slave, fcntl.F_GETFL) & os.O_NONBLOCK)

    def test_without_a_name_the_flags_are_put_back(self):
        """No process may open this terminal: the standard descriptors are used themselves."""
        if os.geteuid() == 0:
            # Root opens everything, but not what is not there: a /dev without the terminal.
            hide = ["unshare", "-m", "sh", "-c",
                    'mount -t tmpfs none /dev/pts && mount --bind /dev/null /dev/tty && exec "$@"', "-"]
        else:
            self.skipTest("needs to hide the terminal")
        need_mounts()
        for key, status in (("q", 0), ("p", -signal.SIGABRT)):
            t = self.start(hide)
            self.assertTrue(fcntl.fcntl(t.slave, fcntl.F_GETFL) & os.O_NONBLOCK)
            t.send("b")
            self.log.wait("drained")
            t.send(key)
            self.assertEqual(t.wait_exit(), status)
            self.assert_restored(t)
            self.assertFalse(fcntl.fcntl(t.slave, fcntl.F_GETFL) & os.O_NONBLOCK)

    def test_idle_is_idle(self):
        t = self.start()

        def sleeps():
            """For a second; what its start left to do may take a moment."""
            before = self.switches(t.pid)
            time.sleep(1)
            return self.switches(t.pid) == before
        self.assertTrue(any(sleeps() for _ in range(10)))

    def switches(self, pid):
        """How often it went to sleep so far."""
        with open(f"/proc/{pid}/status") as f:
            return [line for line in f if line.startswith("voluntary_ctxt")]


class Slow(TtyTest):
    def printed(self, t):
        return t.raw[t.raw.index(b"0" * 40):][:LINES * LINE_LEN]

    def expected(self):
        return b"".join(b"%0*d\r\n" % (LINE_LEN - 2, i) for i in range(LINES))

    def test_everything_arrives_later_and_in_order(self):
        t = self.start()
        t.pause_reading()
        t.send("bt")
        self.log.wait("wrote some")
        self.log.wait("tick 20")  # it goes on working
        self.assertNotIn("drained", self.log.lines())
        t.resume_reading()
        self.log.wait("drained")
        t.wait_until(lambda: len(t.raw) >= LINES * LINE_LEN, "all of it")
        self.assertEqual(self.printed(t), self.expected())
        t.send("q")
        self.assertEqual(t.wait_exit(), 0)
        self.assert_restored(t)
        self.assertEqual(self.log.lines().count("drained"), 1)

    def test_a_stopped_terminal(self):
        """As by Ctrl-S."""
        t = self.start()
        termios.tcflow(t.slave, termios.TCOOFF)
        t.send("bt")
        self.log.wait("wrote some")
        self.log.wait("tick 20")
        termios.tcflow(t.slave, termios.TCOON)
        self.log.wait("drained")
        t.wait_until(lambda: len(t.raw) >= LINES * LINE_LEN, "all of it")
        self.assertEqual(self.printed(t), self.expected())

    def test_a_signal_while_the_terminal_takes_nothing(self):
        """Nothing can be written, but the settings are put back and nothing hangs."""
        for number, status in ((signal.SIGTERM, 143), (signal.SIGABRT, -signal.SIGABRT)):
            t = self.start()
            t.pause_reading()
            t.send("b")
            self.log.wait("wrote some")
            t.signal(number)
            self.assertEqual(t.child.wait(PATIENCE), status)
            self.assertEqual(t.settings(), t.before)

    def test_waiting_costs_nothing(self):
        t = self.start()
        t.pause_reading()
        t.send("b")
        self.log.wait("wrote some")
        before = self.cpu_ticks(t.pid)
        time.sleep(1)
        self.assertLessEqual(self.cpu_ticks(t.pid) - before, 5)  # of 100

    def cpu_ticks(self, pid):
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])


class Vanishing(TtyTest):
    def check_end(self, t):
        begin = time.monotonic()
        t.hang_up()
        status = t.child.wait(PATIENCE)
        self.assertLess(time.monotonic() - begin, on_this_machine(1))
        return status

    def test_the_window_is_closed(self):
        t = self.start()
        self.assertIn(self.check_end(t), (99, 128 + signal.SIGHUP))

    def test_with_hangups_ignored(self):
        t = self.start(DEAF)
        self.assertEqual(self.check_end(t), 99)
        self.assertEqual(self.log.lines().count("gone"), 1)

    def test_while_the_terminal_takes_nothing(self):
        t = self.start(DEAF)
        t.pause_reading()
        t.send("b")
        self.log.wait("wrote some")
        self.assertEqual(self.check_end(t), 99)


class Jobs(TtyTest):
    def fg(self):
        self.shell.order("fg")

    def end_job(self, t):
        t.send("q")
        self.assertEqual(self.shell.wait_ended(), 0)
        self.assert_restored(t)

    def test_suspended_and_brought_back(self):
        for way in ("key", "signal"):
            with self.subTest(way):
                self.check_suspending(way)

    def check_suspending(self, way):
        t = self.start_job()
        self.all_on(t)
        for _ in range(3):
            if way == "key":
                t.send("\x1a")
            else:
                os.kill(t.job, signal.SIGTSTP)
            self.assertEqual(self.shell.wait_stopped(), signal.SIGTSTP)
            self.assert_restored(t)
            t.resize(t.columns + 1, 30)
            self.fg()
            self.log.wait(f"continued {t.columns}x30")
            self.wait_modes(t, ENTERED | {"kitty", "1049"})
            t.send("!")
            self.log.wait("key 21")
        self.end_job(t)

    def test_settings_changed_meanwhile_are_kept(self):
        t = self.start_job()
        t.send("\x1a")
        self.shell.wait_stopped()
        changed = t.settings()
        changed[3] ^= termios.ECHOCTL | termios.ECHOK
        termios.tcsetattr(t.slave, termios.TCSANOW, changed)
        t.before = changed
        self.fg()
        self.log.wait("continued")
        self.end_job(t)

    def test_stopped_by_what_cannot_be_caught(self):
        t = self.start_job()
        self.all_on(t)
        os.kill(t.job, signal.SIGSTOP)
        self.assertEqual(self.shell.wait_stopped(), signal.SIGSTOP)
        termios.tcsetattr(t.slave, termios.TCSANOW, t.before)  # what a shell does
        seen = len(t.raw)
        self.fg()
        self.log.wait("continued")
        self.wait_modes(t, ENTERED | {"kitty", "1049"})
        t.wait_until(lambda: b"\x1b[?2004h" in t.raw[seen:], "modes again")
        self.end_job(t)

    def test_stopped_without_a_shell(self):
        t = self.start()
        self.all_on(t)
        for _ in range(3):
            t.signal(signal.SIGSTOP)
            os.waitid(os.P_PID, t.pid, os.WSTOPPED)
            t.signal(signal.SIGCONT)
            self.log.wait("continued")
        t.send("q")
        self.assertEqual(t.wait_exit(), 0)
        self.assert_restored(t)

    def test_nobody_to_come_back_to(self):
        """In an orphaned process group nothing can be stopped: Ctrl-Z goes on at once."""
        t = self.start()
        t.send("\x1a")
        self.log.wait("continued")
        self.wait_modes(t, ENTERED)

    def test_the_background_is_left_alone(self):
        t = self.start_job()
        t.send("\x1a")
        self.shell.wait_stopped()
        seen = self.end_of_modes(t)
        for _ in range(3):
            self.shell.order("bg")
            self.shell.events.wait("continued")
            self.shell.wait_stopped()
        t.send("!!!!!")
        self.assertEqual(t.settings(), t.before)
        t.wait_until(lambda: t.raw[seen:] == b"!!!!!", "echo and nothing else")
        self.fg()
        self.log.wait("continued")
        self.wait_modes(t, ENTERED)

    def test_ended_while_suspended(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                t = self.start_job(env={"TTY_DRIVER_LINGER": "yes"})
                t.send("\x1a")
                self.shell.wait_stopped()
                seen = self.end_of_modes(t)
                os.kill(t.job, number)
                self.shell.order("bg")  # as `kill %1` does
                self.assertEqual(self.shell.wait_ended(), 128 + number)
                self.assert_restored(t)
                self.assertEqual(t.raw[seen:], b"")

    def test_started_in_the_background(self):
        t = self.start_job_in_background()
        self.shell.wait_stopped()
        self.assertEqual(t.settings(), t.before)
        self.assertEqual(t.raw, b"")
        self.fg()
        self.log.wait("continued")
        self.wait_modes(t, ENTERED)
        self.end_job(t)

    def start_job_in_background(self):
        back = "import os, signal, sys; signal.signal(signal.SIGTTOU, signal.SIG_IGN); " \
            "os.tcsetpgrp(0, os.getppid()); signal.signal(signal.SIGTTOU, signal.SIG_DFL); " \
            "os.execv(sys.argv[1], sys.argv[1:])"
        return self.open_shell([sys.executable, "-c", back, DRIVER, self.log.path])


class Foreground(TtyTest):
    def start_program(self, program, env=None, job=False):
        env = {"TTY_DRIVER_PROGRAM": program, **(env or {})}
        t = (self.start_job if job else self.start)(env=env)
        self.all_on(t)
        t.send("e")
        self.log.wait("program started")
        return t

    def test_it_has_the_terminal(self):
        t = self.start_program("stty -a > \"$OUT\"; read line; echo \"got $line\"; exit 3",
                               {"OUT": self.path("stty")})
        self.wait_modes(t, OFF)
        t.send("a line\r")
        self.log.wait("program ended 3")
        self.log.wait("back")
        self.wait_modes(t, ENTERED | {"kitty", "1049"})
        self.wait_raw(t, b"got a line")
        self.assertIn(b" icanon", self.read("stty"))
        t.send("q")
        self.assertEqual(t.wait_exit(), 0)
        self.assert_restored(t)

    def test_keys_that_interrupt_are_its_own(self):
        t = self.start_program("trap 'echo caught' INT QUIT; echo ready; sleep 0.3; read line")
        self.wait_raw(t, b"ready")
        t.send("\x03")
        t.wait_until(lambda: t.raw.count(b"caught") == 1, "SIGINT")
        t.send("\x1c")
        t.wait_until(lambda: t.raw.count(b"caught") == 2, "SIGQUIT")
        t.send("\r")
        self.log.wait("program ended")
        t.signal(signal.SIGINT)  # and ours again afterwards
        self.assertEqual(t.wait_exit(), 128 + signal.SIGINT)
        self.assert_restored(t)

    def test_its_death(self):
        t = self.start_program("kill -KILL $$")
        self.log.wait("program ended 137")
        t.send("q")
        self.assertEqual(t.wait_exit(), 0)

    def test_it_has_default_signals_and_no_descriptors(self):
        code = "import os, signal; print([n.name for n in signal.valid_signals() if " \
            "signal.getsignal(n) == signal.SIG_IGN and n not in (signal.SIGPIPE, signal.SIGXFSZ)], " \
            "signal.pthread_sigmask(signal.SIG_BLOCK, []), os.listdir('/proc/self/fd'))"
        t = self.start_program(f"exec {sys.executable} -c \"{code}\"")
        self.log.wait("program ended 0")
        self.wait_raw(t, b"[] set() ['0', '1', '2', '3']")

    def test_a_raw_terminal_left_behind(self):
        """It died without putting the terminal back; then we are ended."""
        for number, status in ((signal.SIGTERM, 128 + signal.SIGTERM),
                               (signal.SIGUSR1, -signal.SIGUSR1)):
            t = self.start_program("stty raw -echo; exec sleep 30")
            t.wait_until(lambda: t.settings() != t.before, "raw mode")
            t.signal(number)
            self.assertEqual(t.wait_exit(), status)
            self.assert_restored(t)

    def test_a_raw_terminal_and_then_an_ordinary_end(self):
        t = self.start_program("stty raw -echo; kill -KILL $$")
        self.log.wait("back")
        t.send("q")
        self.assertEqual(t.wait_exit(), 0)
        self.assert_restored(t)

    def test_ending_ends_it(self):
        t = self.start_program("trap 'echo bye; exit' HUP; echo ready; while :; do sleep 0.05; done",
                               job=True)
        self.wait_raw(t, b"ready")
        os.kill(t.job, signal.SIGTERM)
        self.assertEqual(self.shell.wait_ended(), 128 + signal.SIGTERM)
        self.wait_raw(t, b"bye")

    def test_our_death_ends_it(self):
        for number in (signal.SIGKILL, signal.SIGSEGV):
            t = self.start_program("trap 'echo bye; exit' HUP; echo ready; "
                                   "while :; do sleep 0.05; done", job=True)
            self.wait_raw(t, b"ready")
            os.kill(t.job, number)
            self.assertEqual(self.shell.wait_ended(), -number)
            self.wait_raw(t, b"bye")

    def test_there_is_no_such_program(self):
        t = self.start()
        t.send("e")
        self.log.wait("program Cannot start no-such-program: No such file or directory")
        self.wait_modes(t, ENTERED)
        t.signal(signal.SIGINT)
        self.assertEqual(t.wait_exit(), 128 + signal.SIGINT)

    def test_both_are_stopped(self):
        t = self.start_program("echo ready; read line; echo \"got $line\"", job=True)
        self.wait_raw(t, b"ready")
        t.send("\x1a")
        self.assertEqual(self.shell.wait_stopped(), signal.SIGTSTP)
        self.assertEqual(t.settings(), t.before)
        self.shell.order("fg")
        self.shell.events.wait("continued")
        t.send("more\r")
        self.log.wait("program ended 0")
        self.wait_modes(t, ENTERED | {"kitty", "1049"})
        self.wait_raw(t, b"got more")
        self.assertNotIn("continued", " ".join(self.log.lines()))


if __name__ == "__main__":
    unittest.main()
