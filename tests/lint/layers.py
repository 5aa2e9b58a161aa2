#!/usr/bin/python3
"""The tree is the architecture: a folder includes itself and folders of a lower row, never
sideways or up; only src/io names libuv and libcurl; a base name exists once, so that the name of a
symbol says which file it is in."""
import os

import sources

ROWS = [  # highest first
    ["main"],
    ["repl", "headless", "cli"],
    ["command"],
    ["workspace"],
    ["agent"],
    ["store", "provider", "tool", "terminal"],
    ["io", "conversation"],
    ["base"],
]
ROW = {folder: number for number, row in enumerate(ROWS) for folder in row}


def folder_of(path):
    """src/provider/openai/x.c -> provider, src/tools/grep/x.c -> tools/grep, src/main.c -> main"""
    parts = path.split("/")[1:-1]
    if not parts:
        return "main"
    return "/".join(parts[:2]) if parts[0] == "tools" else parts[0]


def allowed(above, below):
    if above == below:
        return True
    if above.startswith("tools/"):
        return below in ("base", "tools/common")
    if above == "keeper":
        return below == "base"
    return below in ROW and ROW[below] > ROW[above]


def check_includes(root, path, problems):
    above = folder_of(path)
    if above not in ROW and above != "keeper" and not above.startswith("tools/"):
        problems.append(f"{path}: folder {above} has no row in tests/lint/layers.py")
        return
    for _, number, match in sources.grep(root, [path], r'^\s*#\s*include\s*"([^"]+)"'):
        candidates = ["src/" + match[1], os.path.join(os.path.dirname(path), match[1])]
        found = [c for c in candidates if os.path.exists(os.path.join(root, c))]
        if not found:
            problems.append(f"{path}:{number}: {match[1]} does not exist")
            continue
        below = folder_of(os.path.normpath(found[0]))
        if not allowed(above, below):
            problems.append(f"{path}:{number}: {above} must not include {match[1]}")


def check_names(paths, problems):
    homes = {}
    for path in paths:
        stem, suffix = os.path.splitext(os.path.basename(path))
        if stem + suffix == "main.c":
            continue
        # x.c and x.h of one folder are one module; anything else is a second file of that name.
        other = homes.setdefault(stem, path)
        if os.path.dirname(other) != os.path.dirname(path):
            problems.append(f"{path}: the base name is taken by {other}")


def main():
    root = sources.tree()
    paths = sources.find(root, "src")
    problems = []
    for path in paths:
        check_includes(root, path, problems)
    outside = [p for p in paths if folder_of(p) != "io"]
    foreign = r"\b(?:uv_|UV_|curl_|CURL)\w*|#\s*include\s*[<\"](?:uv\.h|uv/|curl/)[^>\"]*"
    for path, number, match in sources.grep(root, outside, foreign):
        problems.append(f"{path}:{number}: {match[0]} may be named only in src/io")
    check_names(paths, problems)
    sources.finish(problems)


if __name__ == "__main__":
    main()
