#!/usr/bin/python3
"""Updates the generated parts of the documents: reference tables as the built program prints them,
and the figures of the release in the README.

    docs/refresh.py [PROGRAM]       PROGRAM is bin/ikigai of this tree unless given

The text between the lines `<!-- topic: NAME -->` and `<!-- end of topic -->` is the output of
`ikigai help --markdown NAME` without its heading; the level of headings inside is adapted. Figures
are between `<!-- figures -->` and `<!-- end of figures -->` (figures.py).
"""
import glob
import os
import re
import subprocess
import sys

DOCS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, DOCS)
import figures

PLACE = re.compile(r"^<!-- topic: ([^\n]+) -->\n.*?^<!-- end of topic -->\n", re.M | re.S)
FIGURES = re.compile(r"(?<=^<!-- figures -->\n).*?(?=^<!-- end of figures -->\n)", re.M | re.S)


def topic(program, name):
    return subprocess.run([program, "help", "--markdown", "--", *name.split()], check=True,
                          stdout=subprocess.PIPE).stdout.decode()


def depth_before(text):
    headings = re.findall(r"^(#+) ", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return len(headings[-1]) if headings else 1


def body(markdown, depth):
    _, _, rest = markdown.partition("\n\n")
    return re.sub(r"^#", "#" * depth, rest, flags=re.M)


def refreshed(text, program):
    """The document with all generated parts updated."""
    def fill(place):
        inside = body(topic(program, place[1]), depth_before(text[:place.start()]))
        return f"<!-- topic: {place[1]} -->\n\n{inside}\n<!-- end of topic -->\n"
    return FIGURES.sub(lambda place: f"\n{figures.section()}\n", PLACE.sub(fill, text))


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else os.path.join(DOCS, "..", "bin", "ikigai")
    readme = os.path.join(DOCS, "..", "README.md")
    for path in [readme, *sorted(glob.glob(os.path.join(DOCS, "*.md")))]:
        with open(path, encoding="utf-8") as f:
            old = f.read()
        new = refreshed(old, program)
        if new != old:
            with open(path, "w", encoding="utf-8") as f:
                f.write(new)
            print(os.path.relpath(path))


if __name__ == "__main__":
    main()
