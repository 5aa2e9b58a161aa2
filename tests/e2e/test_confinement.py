"""What every call gets and what becomes of it, confined at both levels and unconfined: descriptors,
terminal, core files, and its end with ikigai. What a confined call cannot do is in tests/escape."""
import glob
import json
import os
import signal
import subprocess
import unittest

import hostile
from support import IKIGAI, OBJECTS, IkigaiTest

WITHHOLD = os.path.join(OBJECTS, "tests", "escape", "withhold_driver")
# what is withheld, and whether the call is confined
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
        for level in LEVELS:
            with self.subTest(level=level):
                child = self.start(level, f"TREE_READY={ready[:-4]} TREE_FIFO='{comets.fifo}' "
                                   "bin/comets </dev/null & sleep 300")
                self.assertTrue(hostile.wait_until(lambda: os.path.exists(ready), 60))
                child.kill()
                child.wait()
                self.assertTrue(hostile.wait_until(comets.gone, 60))
                os.remove(ready)


if __name__ == "__main__":
    unittest.main()
