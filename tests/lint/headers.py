#!/usr/bin/python3
"""Each header compiles alone, and twice."""
import concurrent.futures
import os
import subprocess

import sources


def compile_header(root, path):
    # Through a file that includes it: #pragma once in the main file is a warning of its own.
    include = f'#include "{os.path.relpath(path, "src")}"\n'
    done = subprocess.run([os.environ.get("CC", "gcc"), *sources.FLAGS, "-Wall", "-Wextra",
                           "-Werror", "-fsyntax-only", "-x", "c", "-"], input=include * 2,
                          cwd=root, capture_output=True, text=True)
    return [f"{path}: does not compile alone\n{done.stderr}"] if done.returncode else []


def main():
    root = sources.tree()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda path: compile_header(root, path),
                         sources.find(root, "src", suffixes=(".h",)))
        sources.finish([problem for problems in found for problem in problems])


if __name__ == "__main__":
    main()
