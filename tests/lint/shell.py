#!/usr/bin/python3
"""shellcheck has nothing to say about the shell scripts."""
import os
import re

import sources

DECIDES = "0.9"
FOLDERS = (".ci", "debian", "examples", "script", "share/ikigai/templates", "tests/fresh")
SHELL = re.compile(rb"#!(/usr/bin/env |/bin/)(ba)?sh\b|# shellcheck shell=")


def is_script(path):
    with open(path, "rb") as f:
        return SHELL.match(f.readline()) is not None


def main():
    root = sources.tree()
    scripts = [path for path in sources.find(root, *FOLDERS, suffixes=("",))
               if is_script(os.path.join(root, path))]
    if not scripts:
        return
    done = sources.ask(root, "shellcheck", "-x", "-f", "gcc", *scripts)
    sources.finish_by("shellcheck", DECIDES, done.stdout.splitlines())


if __name__ == "__main__":
    main()
