"""What the lints share: finding the sources of a tree and reading them without comments."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-Isrc"]
SKIPPED = 77  # exit status of a lint that cannot judge

# Comments, string and character literals, in one pattern so that neither hides in the other.
# A file name after #include is a string too, so it is matched first and kept.
TOKENS = re.compile(r'^[ \t]*#[ \t]*include[^\n]*|/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"'
                    r"|'(?:\\.|[^'\\\n])*'", re.S | re.M)


def tree():
    """The tree to look at: the first argument, or the repository this file is in."""
    return os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ROOT


def find(root, *folders, suffixes=(".c", ".h")):
    """Paths relative to root, sorted."""
    found = []
    for folder in folders:
        for where, _, names in os.walk(os.path.join(root, folder)):
            found += [os.path.relpath(os.path.join(where, n), root)
                      for n in names if n.endswith(suffixes)]
    return sorted(found)


def code(root, path):
    """The text of a source with comments and literals blanked; lines keep their numbers."""
    with open(os.path.join(root, path), encoding="utf-8") as f:
        text = f.read()

    def blank(match):
        token = match[0]
        if token.lstrip().startswith("#"):
            return token
        filler = '""' if token[0] in "\"'" else " "
        return filler + "\n" * token.count("\n")
    return TOKENS.sub(blank, text)


def grep(root, paths, pattern):
    """(path, line number, match) of every place in the code where the pattern matches."""
    for path in paths:
        for number, line in enumerate(code(root, path).split("\n"), 1):
            for match in re.finditer(pattern, line):
                yield path, number, match


def finish(problems):
    """Prints them and ends the lint."""
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


def ask(root, tool, *args):
    """Runs a tool in the tree; without the tool the lint ends here."""
    try:
        return subprocess.run([tool, *args], cwd=root, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    except FileNotFoundError:
        finish([f"{tool} is missing: script/bootstrap --test installs it"])


def finish_by(tool, decides, problems):
    """Ends a lint that asked a tool. Versions disagree about details, so one decides; where another
    one is installed, what it finds is reported but is no failure."""
    found = re.search(r"version:? ([\d.]+)", ask(ROOT, tool, "--version").stdout)
    if problems and found and not f"{found[1]}.".startswith(f"{decides}."):
        print(f"{tool} {found[1]} would change something, {decides} decides")
        sys.exit(SKIPPED)
    finish(problems)
