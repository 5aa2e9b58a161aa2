"""The tests of io/http again, with the program that makes the requests under valgrind."""
import os
import sys

from support import ROOT, VALGRIND

sys.path.append(os.path.join(ROOT, "tests", "e2e"))
import test_http  # as a module: its own tests are not to run again without valgrind


def under_valgrind(case):
    return type(case.__name__, (case,), {"wrap": VALGRIND, "__module__": __name__})


for each in test_http.DriverTest.__subclasses__():
    globals()[each.__name__] = under_valgrind(each)
del each  # or it would be found as one test more
