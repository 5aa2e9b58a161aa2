#!/usr/bin/python3
"""clang-format has nothing to change. Versions disagree about details, so one decides; where
another one is installed, a difference is reported but is no failure."""
import re
import subprocess
import sys

import sources

DECIDES = "14"
SKIPPED = 77


def main():
    root = sources.tree()
    paths = sources.find(root, "src", "tests", "bench")
    if not paths:
        return
    try:
        version = subprocess.run(["clang-format", "--version"], capture_output=True, text=True)
    except FileNotFoundError:
        sources.finish(["clang-format is missing: script/bootstrap --test installs it"])
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", "--style=file", *paths],
                          cwd=root, stderr=subprocess.PIPE, text=True)
    if done.returncode == 0:
        return
    found = re.search(r"version (\d+)", version.stdout)
    if found and found[1] != DECIDES:
        print(f"clang-format {found[1]} would change something, {DECIDES} decides")
        sys.exit(SKIPPED)
    places = re.findall(r"^(\S+?:\d+):", done.stderr, re.M)
    sources.finish((sorted(set(places)) or [done.stderr]) + ["make format mends it"])


if __name__ == "__main__":
    main()
