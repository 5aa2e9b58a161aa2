#!/usr/bin/python3
"""Functions that cannot be called safely, or that start a shell."""
import sources

BANNED = r"\b(strcpy|strcat|sprintf|vsprintf|gets|system|popen)\s*\("


def main():
    root = sources.tree()
    sources.finish([f"{path}:{number}: {match[1]} is banned"
                    for path, number, match in
                    sources.grep(root, sources.find(root, "src"), BANNED)])


if __name__ == "__main__":
    main()
