#!/usr/bin/python3
"""Nothing ends the program but main: exit() only in files named main.c. (_exit() in a forked child
and the panic of the allocator are something else.)"""
import os

import sources


def main():
    root = sources.tree()
    paths = [p for p in sources.find(root, "src") if os.path.basename(p) != "main.c"]
    sources.finish([f"{path}:{number}: only main may call {match[1]}"
                    for path, number, match in
                    sources.grep(root, paths, r"\b(exit|quick_exit)\s*\(")])


if __name__ == "__main__":
    main()
