"""tests/run ends jobs that hang, and no others."""
import importlib.machinery
import importlib.util
import os
import sys
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


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
                              **limits)
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


if __name__ == "__main__":
    unittest.main()
