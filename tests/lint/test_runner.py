"""tests/run ends jobs that hang, and no others; one test can be run alone, from its name."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(TESTS)

UNIT_TEST = """
#include "suite.h"
START_TEST(the_first) { } END_TEST
START_TEST(the_second) { ck_abort_msg("the second always fails"); } END_TEST
START_TEST(each_of_three) { } END_TEST
int main(void)
{
    Suite *suite = suite_create("three");
    TCase *tests = tcase_create("cases");
    tcase_add_test(tests, the_first);
    tcase_add_test(tests, the_second);
    tcase_add_loop_test(tests, each_of_three, 0, 3);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
"""
MODULE = """
import unittest
class ThreeTest(unittest.TestCase):
    def test_first(self): pass
    def test_second(self): self.fail("the second always fails")
"""


def load_runner():
    loader = importlib.machinery.SourceFileLoader("runner", os.path.join(TESTS, "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("runner", loader))
    loader.exec_module(module)
    return module


class HangTest(unittest.TestCase):
    def setUp(self):
        self.runner = load_runner()
        self.runner.TICK = 0.2

    def run_job(self, code, **limits):
        job = self.runner.Job("job", [sys.executable, "-c", code], lambda job, status, text: status,
                              [], **limits)
        return job.run(set(), None)

    def test_a_job_that_sleeps_hangs(self):
        self.assertIsNone(self.run_job("import time; time.sleep(1000)", patience=1))

    def test_a_job_that_waits_in_a_loop_hangs(self):
        code = "import time\nwhile True: time.sleep(0.05)"
        self.assertIsNone(self.run_job(code, patience=1))

    def test_a_job_that_never_ends_hangs(self):
        self.assertIsNone(self.run_job("while True: pass", patience=600, most=1))

    def test_a_job_that_prints_lives(self):
        code = "import time\nfor i in range(60): print(i, flush=True); time.sleep(0.1)"
        self.assertEqual(self.run_job(code, patience=2), 0)

    def test_a_job_that_computes_lives(self):
        code = "import time\nwhile time.process_time() < 3: pass"
        self.assertEqual(self.run_job(code, patience=2), 0)

    def test_on_a_busy_machine_the_clock_runs_slower(self):
        load = os.getloadavg
        self.addCleanup(setattr, os, "getloadavg", load)
        for per_core, share in ((0, 1), (0.5, 1), (1, 1), (4, 0.25)):
            os.getloadavg = lambda: (per_core * os.cpu_count(), 0, 0)
            self.assertEqual(self.runner.share_of_machine(), share)


def run(*arguments):
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)


class OneTestTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = folder.name

    def build(self, name):
        """A unit test where a build in self.out would have it."""
        program = os.path.join(self.out, "obj", "tests", "unit", name)
        os.makedirs(os.path.dirname(program))
        flags = run("pkg-config", "--cflags", "--libs", "check").stdout.split()
        built = subprocess.run(["cc", "-x", "c", "-D_GNU_SOURCE", "-I" + os.path.join(TESTS, "unit"),
                                "-", "-o", program] + flags, input=UNIT_TEST, text=True,
                               capture_output=True, check=False)
        self.assertEqual(built.returncode, 0, built.stderr)
        return program

    def invoke(self, *arguments):
        done = run(os.path.join(TESTS, "run"), "--out", self.out, *arguments)
        return done.returncode, done.stdout + done.stderr

    def test_a_word_picks_tests_of_a_unit_test(self):
        program = self.build("test_three")
        for word, status, last in (("first", 0, "1 passed, 0 failed"),
                                   ("second", 1, "0 passed, 1 failed"),
                                   ("each", 0, "3 passed, 0 failed"),
                                   ("the_*", 1, "1 passed, 1 failed"),
                                   ("fourth", 1, "0 passed, 0 failed")):
            with self.subTest(word):
                got, text = self.invoke(program, "-k", word)
                self.assertEqual((got, text.splitlines()[-1]), (status, last), text)

    def test_tests_are_skipped_for_a_reason(self):
        program = self.build("test_three")
        for suite, job, first, second in (
                (program, "unit/test_three", "the_first", "the_second"),
                ("tests/lint/test_runner.py", "lint/test_runner",
                 "HangTest.test_a_job_that_never_ends_hangs",
                 "HangTest.test_a_job_that_sleeps_hangs")):
            without = os.path.join(self.out, "without")
            with open(without, "w", encoding="utf-8") as f:
                f.write(f"# a comment\nno clock here\n    {job} {second}\n    other/job {first}\n")
            with self.subTest(job):
                word = second.rpartition(".")[2]
                status, text = self.invoke(suite, "--without", without, "-k", word)
                self.assertIn(f"skipped {word}: no clock here\n", text)
                self.assertEqual((status, text.splitlines()[-1]),
                                 (1, "0 passed, 0 failed, 1 skipped"), text)
        with open(without, "a", encoding="utf-8") as f:
            f.write("    unit/test_three the_second\n    unit/test_three the_last\n")
        status, text = self.invoke(program, "--without", without)
        self.assertEqual((status, text.splitlines()[-1]), (1, "4 passed, 1 failed, 1 skipped"), text)
        self.assertIn("the_last\ndoes not exist", text)

    def test_a_source_stands_for_its_program(self):
        self.build("test_sse")
        status, text = self.invoke("tests/unit/test_sse.c", "-k", "first")
        self.assertEqual((status, text.splitlines()[-1]), (0, "1 passed, 0 failed"), text)

    def test_a_program_that_is_not_built(self):
        status, text = self.invoke("tests/unit/test_sse.c")
        self.assertEqual(status, 1)
        self.assertIn(f"build it with: make OUT={self.out} BUILD={self.out}/obj all unit-tests", text)

    def test_a_source_that_is_no_unit_test(self):
        status, text = self.invoke("tests/e2e/tty_driver.c")
        self.assertEqual(status, 1)
        self.assertIn("tty_driver.c is not a unit test", text)

    def test_a_failure_says_how_to_run_it_again(self):
        program = self.build("test_sse")
        module = os.path.join(self.out, "test_module.py")
        with open(module, "w", encoding="utf-8") as f:
            f.write(MODULE)
        status, text = self.invoke(program, module)
        self.assertEqual(status, 1)
        commands = [line.partition(": ")[2] for line in text.splitlines()
                    if line.startswith("run it again: ")]
        start = f"tests/run --out {self.out} "
        self.assertEqual(sorted(commands), sorted([
            start + "tests/unit/test_sse.c -k the_second",
            start + f"{os.path.relpath(module, ROOT)} -k ThreeTest.test_second"]), text)
        for command in commands:
            done = run("sh", "-c", command)
            self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 1 failed", done.stdout)

    def test_make_runs_one_test(self):
        for name, files in (("sse", ["build/obj/tests/unit/test_sse"]),
                            ("repl_smoke", ["tests/e2e/test_repl_smoke.py"]),
                            ("glob", ["tests/tools/test_glob.py"]),
                            ("vectors", ["tests/provider/test_vectors.py"]),
                            ("screen", ["build/obj/tests/unit/test_screen",
                                        "tests/e2e/test_screen.py"])):
            with self.subTest(name):
                done = run("make", "-n", "test-" + name, "K=word")
                self.assertEqual(done.returncode, 0, done.stderr)
                last = done.stdout.splitlines()[-1].split()
                self.assertEqual(last[last.index("-k"):], ["-k", "'word'"] + files)
        self.assertNotEqual(run("make", "-n", "test-nothing").returncode, 0)

    def test_every_unit_test_can_be_filtered(self):
        """Its tests are added by the macros of suite.h."""
        folder = os.path.join(TESTS, "unit")
        for name in sorted(os.listdir(folder)):
            if name.startswith("test_"):
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    text = f.read()
                with self.subTest(name):
                    self.assertRegex(text, r'#include "(suite|scratch|store_backend)\.h"')
                    self.assertNotRegex(text, r"tcase_add\w*_(raise_signal|exit_test)")


if __name__ == "__main__":
    unittest.main()
