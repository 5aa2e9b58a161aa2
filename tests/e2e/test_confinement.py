"""What every call gets and what becomes of it, confined at both levels and unconfined: descriptors,
terminal, core files, and its end with ikigai. What a confined call cannot do is in tests/escape."""
import glob
import json
import os
import signal
import subprocess
import unittest

import hostile
from support import IKIGAI, NOBODY, OBJECTS, IkigaiTest, as_user, remove_tree

WITHHOLD = os.path.join(OBJECTS, "tests", "escape", "withhold_driver")
# what is withheld, and whether the call is confined
SERIAL = True  # a fork bomb would slow down whatever runs beside it
LEVELS = {"full": ("nothing", True), "partial": ("namespaces", True), "none": ("nothing", False)}


def children(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="utf-8") as f:
                found += map(int, f.read().split())
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def count_processes():
    """Of the whole machine, zombies included."""
    with open("/proc/loadavg") as file:
        return int(file.read().split()[3].split("/")[1])


class Confinement(IkigaiTest):
    def command(self, level, command, also=""):
        withheld, confined = LEVELS[level]
        return [WITHHOLD, withheld + also, IKIGAI, "tool", "run", "bash",
                json.dumps({"command": command})] + ([] if confined else ["--unconfined"])

    def run_bash(self, level, command, also="", **more):
        done = subprocess.run(self.command(level, command, also), cwd=self.project, env=self.env(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["result"]["output"]

    def test_what_a_call_may_do(self):
        """Confinement that forbids everything would be easy."""
        commands = [
            "echo x >new && cat new", "mkdir -p a/b && mv a c && rm -r c", "ln -s new link",
            "chmod 640 new && stat -c %a new", "chmod 700 .", "touch -d 2001-01-01 new",
            "touch -h -d 2001-01-01 link", "cp -p new copy && mv copy new", "chown $(id -u) new",
            "(cd /; chmod 600 \"$OLDPWD/new\")", "tar cf x.tar new && tar xf x.tar",
            "setfattr -n user.x -v y new && setfattr -x user.x new", "install -m 755 new other",
            "git init -q r && cd r && git -c user.name=a -c user.email=b commit -q --allow-empty -m x",
            "f=$(mktemp) && echo x >$f && rm $f", "echo x >/dev/null", "exec 3<>/dev/shm/x; rm /dev/shm/x",
            "echo $(( $(cat /proc/sys/kernel/pid_max) > 0 ))", "bash -c 'diff <(echo a) <(echo a)'",
            "/usr/bin/python3 -c 'import os; f = open(\"new\"); "
            "os.fchmod(f.fileno(), 0o640); os.utime(f.fileno(), (1, 1)); os.setxattr(f.fileno(), "
            "\"user.y\", b\"z\")'",
        ]
        loopback = ("/usr/bin/python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); "
                    "socket.create_connection(s.getsockname())'")
        for level in ("full", "partial"):
            for uid in {os.geteuid(), NOBODY if os.geteuid() == 0 else os.geteuid()}:
                for folder, _, _ in os.walk(self.dir):
                    os.chown(folder, uid, uid)
                more = {} if uid == os.geteuid() else {"preexec_fn": as_user(uid)}
                private = "" if level == "full" else f"export TMPDIR={self.project}; "
                checks = commands + ([loopback] if level == "full" else [])
                script = private + "".join(f"({c}) >/dev/null 2>>err || echo 'FAILED: '{i}; "
                                           for i, c in enumerate(checks)) + "cat err; rm -rf * .??*"
                with self.subTest(level=level, uid=uid):
                    self.assertEqual(self.run_bash(level, script, **more), "")
                remove_tree(self.home)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to act as another user")
    def test_home_without_caches_below_a_folder_of_another_user(self):
        """The overlay of /tmp cannot copy a folder whose owner is not in the user namespace."""
        self.assertTrue(self.dir.startswith("/tmp/"), self.dir)
        for folder in (self.path("home"), self.home, self.project):
            os.makedirs(folder, exist_ok=True)
            os.chown(folder, NOBODY, NOBODY)
        command = "mkdir -p ~/.cache/x && echo kept >~/.cache/x/y && cat ~/.cache/x/y"
        self.assertEqual(self.run_bash("full", command, preexec_fn=as_user(NOBODY)), "kept")
        self.assertFalse(os.path.exists(self.path("home", ".cache")))

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to mount something")
    def test_a_container_that_masks_places_in_proc(self):
        """There a user may make namespaces, but no /proc for them."""
        for folder in (self.path("home"), self.home, self.project):
            os.makedirs(folder, exist_ok=True)
            os.chown(folder, NOBODY, NOBODY)

        def run(*args):
            masked = 'mount --bind /dev/null /proc/keys && exec setpriv --reuid=$0 --clear-groups "$@"'
            done = subprocess.run(["unshare", "-m", "sh", "-c", masked, str(NOBODY), IKIGAI, *args],
                                  cwd=self.project, env=self.env(), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout), done.stderr.decode()
        found = run("doctor", "--json")[0]["confinement"]
        self.assertEqual((found["level"], found["user_namespaces"]), ("partial", True))
        self.assertIn("/proc of its own", found["missing"][0])
        envelope, said = run("tool", "run", "bash", '{"command": "echo hi >f; cat f"}')
        self.assertEqual(envelope["result"]["output"], "hi")
        self.assertIn("Confinement of tools: partial", said)

    def test_no_descriptor_is_inherited(self):
        held = os.open(self.dir, os.O_RDONLY)
        self.addCleanup(os.close, held)
        for level in LEVELS:
            for also in ("", ",close_range"):
                with self.subTest(level=level, also=also):
                    shown = self.run_bash(level, "ls /proc/$$/fd; for f in /proc/$$/fd/*; do "
                                          "readlink $f; done", also, pass_fds=(held,))
                    self.assertNotIn(self.dir + "\n", shown + "\n")
                    numbers = [int(w) for w in shown.split() if w.isdigit()]
                    # 255 is bash's own; the progress pipe is number 3.
                    self.assertLessEqual(set(numbers), {0, 1, 2, 3, 255})

    def test_there_is_no_terminal_and_no_core_file(self):
        for level in LEVELS:
            with self.subTest(level=level):
                shown = self.run_bash(level, "cut -d' ' -f7 /proc/$$/stat; "
                                      "grep -i 'core file' /proc/$$/limits; "
                                      "(sh -c 'kill -SEGV $$') 2>/dev/null; :")
                lines = shown.splitlines()
                self.assertEqual(lines[0], "0")
                self.assertEqual(lines[1].split()[4:6], ["1", "1"])
                self.assertEqual(os.listdir(self.project), [])

    def start(self, level, command):
        child = subprocess.Popen(self.command(level, command), cwd=self.project, env=self.env(),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.addCleanup(hostile.kill_all, self.project + "/marker")
        return child

    def start_tree(self, level):
        """A tree of five processes that leave their session and ignore signals."""
        script = ("trap '' TERM HUP INT; m=" + self.project + "/marker; "
                  "for i in 1 2 3; do setsid sh -c 'trap \"\" TERM HUP INT; sleep 300; :' $m & done; "
                  "(setsid setsid sh -c 'sleep 300; :' $m &) ; sleep 300; :")
        child = self.start(level, f"sh -c '{script.replace(chr(39), chr(39) + chr(92) + chr(39) * 2)}' "
                           + self.project + "/marker")
        self.assertTrue(hostile.wait_until(lambda: self.marked() >= 5, 60), level)
        return child

    def marked(self):
        return len(hostile.processes_with(self.project + "/marker"))

    def test_nothing_in_a_room_outlives_its_keeper(self):
        """ikigai and the keeper are stopped and killed: only the kernel can clean up."""
        child = self.start_tree("full")
        os.kill(child.pid, signal.SIGSTOP)
        for keeper in children(child.pid):
            os.kill(keeper, signal.SIGSTOP)
            os.kill(keeper, signal.SIGKILL)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        self.assertTrue(hostile.wait_until(lambda: self.marked() == 0, 60),
                        hostile.processes_with(self.project + "/marker"))

    def test_nothing_outlives_ikigai(self):
        for level in LEVELS:
            with self.subTest(level=level):
                child = self.start_tree(level)
                child.kill()
                child.wait()
                self.assertTrue(hostile.wait_until(lambda: self.marked() == 0, 60),
                                hostile.processes_with(self.project + "/marker"))

    def test_processes_that_fork_a_successor_end_with_ikigai(self):
        comets = hostile.Comets(self.project, self.path("project", "bin"))
        self.addCleanup(comets.close)
        ready = self.path("project", "ready.all")
        for level in list(LEVELS) * 5:
            with self.subTest(level=level):
                child = self.start(level, f"TREE_READY={ready[:-4]} TREE_FIFO='{comets.fifo}' "
                                   "bin/comets </dev/null & sleep 300")
                self.assertTrue(hostile.wait_until(lambda: os.path.exists(ready), 60))
                child.kill()
                child.wait()
                # The zombies that they leave must not fill the table of processes.
                counts = [0]
                self.assertTrue(hostile.wait_until(
                    lambda: counts.append(count_processes()) or comets.gone(), 60))
                self.assertLess(max(counts), 16384)
                os.remove(ready)


if __name__ == "__main__":
    unittest.main()
