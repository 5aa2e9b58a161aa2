"""Random walks through the interactive program again, under valgrind."""
import os
import sys

from support import ROOT, VALGRIND

sys.path.append(os.path.join(ROOT, "tests", "e2e"))
import test_repl_monkey  # as a module: its own test is not to run again without valgrind


class WalkUnderValgrind(test_repl_monkey.MonkeyTest):
    wrap = VALGRIND
    seeds, steps = [1, 2], 60
    test_an_hour = None  # too slow for a clock that is faster
