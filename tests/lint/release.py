#!/usr/bin/python3
"""Makefile, CHANGELOG.md and debian/changelog speak of the same version and the same day."""
import email.utils
import os
import re

import sources


def first(root, path, pattern):
    """What the groups of a pattern match first in a file; "?" for each when it matches nothing."""
    with open(os.path.join(root, path), encoding="utf-8") as f:
        found = re.search(pattern, f.read(), re.M)
    return found.groups() if found else ("?",) * re.compile(pattern).groups


def main():
    root = sources.tree()
    (version,) = first(root, "Makefile", r"^VERSION := (\S+)$")
    (day,) = first(root, "Makefile", r"^RELEASED := (\S+)$")
    noted, noted_day = first(root, "CHANGELOG.md", r"^## (\S+) \((.*)\)$")
    packed, packed_date = first(root, "debian/changelog", r"^ikigai \((.*?)\)[^$]*?^ -- .*>  (.*)$")
    problems = []
    if noted != version:
        problems.append(f"CHANGELOG.md begins with version {noted}, the Makefile says {version}")
    if noted_day not in (day, "unreleased"):
        problems.append(f"CHANGELOG.md has {noted_day}, the Makefile says RELEASED := {day}")
    if packed != version:
        problems.append(f"debian/changelog begins with version {packed}, the Makefile says {version}")
    when = email.utils.parsedate_to_datetime(packed_date) if packed_date != "?" else None
    if when is None or when.date().isoformat() != day:
        problems.append(f"debian/changelog has {packed_date}, the Makefile says RELEASED := {day}")
    sources.finish(problems)


if __name__ == "__main__":
    main()
