#!/usr/bin/python3
"""Promise 22: a confined call writes nowhere but where it may, reads no secret and reaches no
process and terminal of the user. Every attack of tests/escape/write, as root and as a user, at
level full and partial; and unconfined, which shows that the attacks are real."""
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.dirname(os.path.abspath(__file__))]
import escapes

if __name__ == "__main__":
    escapes.prove(22, "write", "{kinds} kinds of attack, {made} made: {bad} succeeded")
