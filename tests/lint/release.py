#!/usr/bin/python3
"""Makefile, CHANGELOG.md and debian/changelog name the same version and the same day. Above that
version, CHANGELOG.md may have one section of a later version that is "(unreleased)"."""
import email.utils
import os
import re

import sources


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def first(root, path, pattern):
    """The groups of the first match of a pattern in a file; "?" for each without a match."""
    found = re.search(pattern, read(root, path), re.M)
    return found.groups() if found else ("?",) * re.compile(pattern).groups


def order(version):
    """A version as a list of numbers, to compare it by: 0.10.0 is later than 0.9.0."""
    return [int(number) for number in re.findall(r"[0-9]+", version)]


def noted_release(root, version):
    """Version and day of the section of CHANGELOG.md that describes the release."""
    sections = re.findall(r"^## (\S+) \((.*)\)$", read(root, "CHANGELOG.md"), re.M)
    if len(sections) > 1 and sections[0][1] == "unreleased":
        if order(sections[0][0]) > order(version):
            return sections[1]
    return sections[0] if sections else ("?", "?")


def main():
    root = sources.tree()
    (version,) = first(root, "Makefile", r"^VERSION := (\S+)$")
    (day,) = first(root, "Makefile", r"^RELEASED := (\S+)$")
    noted, noted_day = noted_release(root, version)
    packed, packed_date = first(root, "debian/changelog", r"^ikigai \((.*?)\)[^$]*?^ -- .*>  (.*)$")
    problems = []
    if noted != version:
        problems.append(f"CHANGELOG.md has version {noted}, the Makefile says {version}")
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
