#!/usr/bin/python3
"""Promise 23: without network there is none: not one byte reaches a listener, by whatever protocol and
descriptor. Every attack of tests/escape/network, as root and as a user, at
level full and partial; and unconfined, which shows that the attacks are real."""
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.dirname(os.path.abspath(__file__))]
import escapes

if __name__ == "__main__":
    escapes.prove(23, "network", "{kinds} kinds of attack, {made} made: {bad} succeeded")
