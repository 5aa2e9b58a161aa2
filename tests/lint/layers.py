#!/usr/bin/python3
"""The tree is the architecture: a folder includes itself and folders of a lower row, never
sideways or up. A sub-folder is private to its folder: the rest of the program sees only the headers
that lie in the folder itself. Only src/io names libuv and libcurl. A base name exists once, so that
the name of a symbol says which file it is in."""
import fnmatch
import os

import sources

ROWS = [  # highest first
    ["main"],
    ["repl", "headless", "acp", "cli"],
    ["command"],
    ["workspace", "setup", "serve"],
    ["permission", "undo"],
    ["agent", "export", "mcp"],
    ["store", "provider", "tool", "terminal", "extend", "hook"],
    ["confinement"],
    ["io", "conversation", "trust", "rpc"],
    ["base"],
]
ROW = {folder: number for number, row in enumerate(ROWS) for folder in row}

# Programs of their own, which include base alone.
SEPARATE = ("keeper", "checkpoint", "sixel")

# Folders that only some of the folders above them may include.
USERS = {
    "export": ["command", "cli"],
    "setup": ["repl", "cli"],
    "serve": ["cli"],
}

# Sub-folders do not include each other, with these exceptions: headers that are shared on purpose.
SHARED = {
    # Both stores cut text into words by one rule.
    ("store/sqlite", "store/words"): "*",
    ("store/postgres", "store/words"): "*",
    # OpenAI has two APIs. chat_* belongs to one, responses_* to the other, openai_* to both.
    ("provider/responses", "provider/openai"): "openai_*",
}


def folder_of(path):
    """src/provider/openai/x.c -> provider, src/tools/grep/x.c -> tools/grep, src/main.c -> main"""
    parts = path.split("/")[1:-1]
    if not parts:
        return "main"
    return "/".join(parts[:2]) if parts[0] == "tools" else parts[0]


def room_of(path):
    """src/provider/openai/x.c -> provider/openai, src/provider/x.c -> provider"""
    return os.path.dirname(path)[len("src/"):] or "main"


def folders_allow(above, below):
    if above == below:
        return True
    if above.startswith("tools/"):
        return below in ("base", "tools/common")
    if above in SEPARATE:
        return below == "base"
    if below not in ROW or ROW[below] <= ROW[above]:
        return False
    return above in USERS.get(below, [above])


def rooms_allow(path, included):
    """Whether the file may look into the sub-folder that the header is in, if it is in one."""
    above, below = room_of(path), room_of(included)
    if above == below or below == folder_of(included):
        return True
    if above == folder_of(included):
        # The folder joins its sub-folders together, but its headers are what others see.
        return path.endswith(".c")
    return fnmatch.fnmatch(os.path.basename(included), SHARED.get((above, below), ""))


def check_includes(root, path, problems):
    above = folder_of(path)
    if above not in ROW and above not in SEPARATE and not above.startswith("tools/"):
        problems.append(f"{path}: folder {above} has no row in tests/lint/layers.py")
        return
    for _, number, match in sources.grep(root, [path], r'^\s*#\s*include\s*"([^"]+)"'):
        candidates = ["src/" + match[1], os.path.join(os.path.dirname(path), match[1])]
        found = [os.path.normpath(c) for c in candidates if os.path.exists(os.path.join(root, c))]
        if not found:
            problems.append(f"{path}:{number}: {match[1]} does not exist")
        elif not folders_allow(above, folder_of(found[0])):
            problems.append(f"{path}:{number}: {above} must not include {match[1]}")
        elif not rooms_allow(path, found[0]):
            problems.append(f"{path}:{number}: {room_of(path)} must not include {match[1]}: "
                            f"{room_of(found[0])} is private to {folder_of(found[0])}")


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
