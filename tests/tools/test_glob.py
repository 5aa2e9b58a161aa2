"""The glob tool: its contract, and its results against the C library's glob() on random trees."""
import json
import os
import random
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import ScratchTest, run_tool, tool_path  # noqa: E402

# Reads patterns, each ended by NUL, and prints for each the matches ended by NUL and one more NUL.
ORACLE = r"""
#include <glob.h>
#include <locale.h>
#include <stdio.h>
int main(void)
{
    static char pattern[65536];
    size_t len = 0;
    setlocale(LC_ALL, "C.UTF-8");
    for (int c; (c = getchar()) != EOF;) {
        pattern[len++] = (char)c;
        if (c != 0) continue;
        len = 0;
        glob_t found = {0};
        if (glob(pattern, 0, NULL, &found) == 0)
            for (size_t i = 0; i < found.gl_pathc; i++)
                fwrite(found.gl_pathv[i], 1, __builtin_strlen(found.gl_pathv[i]) + 1, stdout);
        globfree(&found);
        putchar(0);
    }
    return 0;
}
"""


def compile_c(source, folder, *flags):
    path = os.path.join(folder, "oracle.c")
    with open(path, "w") as f:
        f.write(source)
    program = os.path.join(folder, "oracle")
    subprocess.run(["cc", "-O1", "-o", program, path, *flags], check=True)
    return program


class GlobTest(ScratchTest):
    def glob(self, pattern, path=None, **env):
        params = {"pattern": pattern}
        if path is not None:
            params["path"] = path
        return run_tool("glob", params, cwd=self.dir, env=env)

    def matches(self, pattern, path=None):
        answer = self.glob(pattern, path)
        lines = answer["output"].split("\n") if answer["output"] else []
        self.assertEqual(answer["count"], len(lines))
        return lines

    def plant(self, *names):
        for name in names:
            if name.endswith("/"):
                os.makedirs(self.path(name), exist_ok=True)
            else:
                self.write(name)


class Contract(GlobTest):
    def test_schema(self):
        schema = json.loads(subprocess.check_output([tool_path("glob"), "--schema"]))
        self.assertEqual(schema["name"], "glob")
        self.assertEqual(schema["description"], "Find files matching a glob pattern")
        self.assertIs(schema["parallel"], True)
        self.assertEqual(schema["parameters"], {
            "type": "object",
            "properties": {
                "pattern": {"type": "string",
                            "description": "Glob pattern (e.g., '*.txt', 'src/**/*.c')"},
                "path": {"type": "string",
                         "description": "Directory to search in (default: current directory)"},
            },
            "required": ["pattern"]})

    def test_answers_are_exact(self):
        self.plant("b.txt", "a.txt", "c.md")
        done = run_tool("glob", {"pattern": "*.txt"}, cwd=self.dir, raw=True)
        self.assertEqual(done.stdout, b'{"output":"a.txt\\nb.txt","count":2}')
        self.assertEqual(self.glob("*.txt", self.dir),
                         {"output": f"{self.dir}/a.txt\n{self.dir}/b.txt", "count": 2})
        self.assertEqual(self.glob("*.none"), {"output": "", "count": 0})
        self.assertEqual(self.glob("c.md"), {"output": "c.md", "count": 1})

    def test_path_is_literal_and_joined_by_one_slash(self):
        self.plant("[x]/a", "x/b", "d*/c")
        for path, pattern, expected in [
                ("[x]", "*", ["[x]/a"]), ("[x]/", "*", ["[x]/a"]), ("d*", "?", ["d*/c"]),
                ("", "x/*", ["x/b"]), (None, "x/*", ["x/b"]), ("x\\", "*", []),
                ("none", "*", []), ("x", "", ["x/"]), (".", "x/b", ["./x/b"])]:
            with self.subTest(path=path, pattern=pattern):
                self.assertEqual(self.matches(pattern, path), expected)

    def test_refusals(self):
        invalid = {"error": "Invalid glob pattern", "error_code": "INVALID_PATTERN"}
        self.assertEqual(self.glob("a\0b"), invalid)
        self.assertEqual(self.glob("a" * (4 * 4096 + 1)), invalid)
        self.assertEqual(self.glob("a", "x\0y")["error_code"], "INVALID_ARG")
        for params in ({}, {"pattern": 1}, {"pattern": None}, {"pattern": "a", "path": 2}):
            self.assertEqual(run_tool("glob", params)["error_code"], "INVALID_ARG")

    def test_cut_output_keeps_the_count(self):
        self.plant("é1", "é2", "é3")
        whole = self.glob("*")
        self.assertEqual(whole, {"output": "é1\né2\né3", "count": 3})
        cut = self.glob("*", IKIGAI_MAX_OUTPUT=5)
        self.assertEqual(cut, {"output": "é1\n", "truncated": True, "total_bytes": 11, "count": 3})

    def test_names_that_are_not_utf8(self):
        for name in (b"x\xff", b"x\xc3\xa9", b"y\xe9z"):
            with open(os.fsencode(self.dir) + b"/" + name, "w"):
                pass
        self.assertEqual(self.matches("x?"), ["xé", "x\ufffd"])
        self.assertEqual(self.matches("y[!a]z"), ["y\ufffdz"])
        self.assertEqual(self.matches("x[à-ï]"), ["xé"])

    def test_unreadable_folder_is_passed_over_with_a_warning(self):
        self.plant("open/a.c", "shut/b.c")
        os.chmod(self.path("shut"), 0o311)
        warning = "Cannot read folder shut/: Permission denied"
        for pattern, expected in [
                ("*/*.c", {"output": "open/a.c", "count": 1, "warnings": [warning]}),
                ("**/*.c", {"output": "open/a.c", "count": 1, "warnings": [warning]}),
                ("**/b.c", {"output": "", "count": 0, "warnings": [warning]}),
                ("*/b.c", {"output": "shut/b.c", "count": 1})]:
            with self.subTest(pattern=pattern):
                answer = run_tool("glob", {"pattern": pattern}, cwd=self.dir, uid=65534)
                self.assertEqual(answer, expected)

    def test_nothing_readable_is_an_error(self):
        self.plant("shut/b.c", "closed/c.c")
        os.chmod(self.path("shut"), 0o311)
        os.chmod(self.path("closed"), 0o000)
        for params, what in [({"pattern": "*.c", "path": "shut"}, "folder shut/"),
                             ({"pattern": "shut/*"}, "folder shut/"),
                             ({"pattern": "shut/**"}, "folder shut/"),
                             ({"pattern": "closed/c.c"}, "file closed/c.c")]:
            self.assertEqual(run_tool("glob", params, cwd=self.dir, uid=65534), {
                "error": "Read error during glob", "error_code": "READ_ERROR",
                "warnings": [f"Cannot read {what}: Permission denied"]})

    def test_path_that_leads_nowhere(self):
        self.plant("f")
        for path, reason in [("none", "No such file or directory"), ("f", "Not a directory")]:
            self.assertEqual(self.glob("*", path), {
                "output": "", "count": 0, "warnings": [f"Cannot read folder {path}: {reason}"]})

    def test_path_too_long_for_the_system(self):
        folder = os.open(self.dir, os.O_RDONLY)
        for _ in range(25):
            os.mkdir("d" * 200, dir_fd=folder)
            below = os.open("d" * 200, os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = below
        os.close(os.open("leaf.c", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
        os.close(folder)
        answer = self.glob("**/*.c")
        self.assertEqual(answer["count"], 0)
        self.assertIn("File name too long", answer["warnings"][0])
        subprocess.run(["rm", "-rf", self.path("d" * 200)], check=True)


class Recursion(GlobTest):
    def setUp(self):
        super().setUp()
        self.plant("a.c", "src/a.c", "src/deep/er/a.c", "src/deep/b.h", ".hid/a.c", "src/.h/a.c",
                   "src/.a.c", "src.c/x", "zero/")
        os.symlink("src", self.path("link"))
        os.symlink("nowhere", self.path("dangling"))
        self.write(".gitignore", "*.c\n")

    def test_double_star(self):
        everything = ["a.c", "dangling", "link", "src", "src.c", "src.c/x", "src/a.c", "src/deep",
                      "src/deep/b.h", "src/deep/er", "src/deep/er/a.c", "zero"]
        for pattern, expected in [
                ("**/*.c", ["a.c", "src.c", "src/a.c", "src/deep/er/a.c"]),
                ("**/a.c", ["a.c", "src/a.c", "src/deep/er/a.c"]),
                ("src/**/a.c", ["src/a.c", "src/deep/er/a.c"]),
                ("**", everything),
                ("**/**", everything),
                ("**/", ["link/", "src.c/", "src/", "src/deep/", "src/deep/er/", "zero/"]),
                ("src/**", [p for p in everything if p.startswith("src/")]),
                ("**/deep/**/*", ["src/deep/b.h", "src/deep/er", "src/deep/er/a.c"]),
                ("**/*/**/*.c", ["link/a.c", "link/deep/er/a.c", "src/a.c", "src/deep/er/a.c"]),
                ("**/d*/**/*/**/a.c", ["src/deep/er/a.c"]),
                (".hid/**", [".hid/a.c"]),
                ("**/.h/*", ["src/.h/a.c"]),
                ("**/.*.c", ["src/.a.c"]),
                ("link/**/*.h", ["link/deep/b.h"]),
                ("sr**", ["src", "src.c"]),
                ("**.c", ["a.c", "src.c"]),
                ("s**/a.c", ["src/a.c"]),
                ("**//a.c", ["a.c", "src/a.c", "src/deep/er/a.c"]),
                ("zero/**", []),
                ("**/.*", [".gitignore", ".hid", "src/.a.c", "src/.h"]),
                (".*/**/*", [".hid/a.c"]), (".*/**", [".hid/a.c"]), ("**/..", []), ("**/.", []),
                ("**/../*", []), ("**/.*/*.c", [".hid/a.c", "src/.h/a.c"]),
                ("src/.*/**", ["src/.h/a.c"]), (".hid/../**/*.h", [".hid/../src/deep/b.h"]),
                (".**", [".gitignore", ".hid"]), (".**/*.c", [".hid/a.c"]),
                ("./**/*.h", ["./src/deep/b.h"])]:
            with self.subTest(pattern=pattern):
                self.assertEqual(self.matches(pattern), expected)

    def test_many_double_stars_stay_quick(self):
        for depth in range(3, 40):
            os.makedirs(self.path("d/" * depth), exist_ok=True)
        self.assertEqual(self.glob("**/*/" * 12 + "none"), {"output": "", "count": 0})

    def test_deeper_than_the_descriptor_limit(self):
        os.makedirs(self.path("n/" * 200))
        done = subprocess.run(["sh", "-c", 'ulimit -n 32; exec "$0"', tool_path("glob")],
                              input=b'{"pattern":"n/**/n"}', stdout=subprocess.PIPE, cwd=self.dir)
        self.assertEqual(json.loads(done.stdout)["count"], 199)


class AgainstTheLibrary(GlobTest):
    NAMES = ["a", "b", "ab", "abc", "a.c", "b.c", ".a", ".ab", "..x", "[a]", "a]", "[", "a*b", "x y",
             "A", "é", "éa", "1", "a-b", "\\a", "a\\", "!", "^a", "世", "]", "-"]
    ATOMS = ["a", "b", "c", ".", "*", "?", "**", "[ab]", "[!a]", "[^a]", "[a-c]", "[[:alpha:]]", "[",
             "]", "\\*", "\\a", "\\\\", "é", "[é]", "[[:digit:]x]", "[]a]", "[!]a]", "[a-]", "-", "x",
             " ", "[[.a.]b]", "[[=a=]]", "[[:nope:]]", "[\\]a]", "!", "^", "[a\\-c]", "[A-Z]", "[[:a]"]

    def random_tree(self, rng):
        folders = [""]
        for _ in range(rng.randrange(8, 30)):
            name = os.path.join(rng.choice(folders), rng.choice(self.NAMES))
            path = self.path(name)
            if os.path.lexists(path):
                continue
            kind = rng.random()
            if kind < 0.4:
                os.mkdir(path)
                folders.append(name)
            elif kind < 0.5:
                os.symlink(rng.choice(["a", "..", "nowhere", "b/a"]), path)
            else:
                self.write(name)

    def random_pattern(self, rng):
        parts = []
        for _ in range(rng.choice([1, 1, 2, 2, 3])):
            part = "".join(rng.choice(self.ATOMS) for _ in range(rng.choice([1, 1, 2, 3, 4])))
            if rng.random() < 0.15:
                part = rng.choice([".", "..", ".*", "*", "*.c", rng.choice(self.NAMES)])
            parts.append("*a" if part == "**" else part)
        pattern = rng.choice(["/", "/", "/", "//"]).join(parts)
        return pattern + ("/" if rng.random() < 0.15 else "")

    def compare(self, pattern, found, expected):
        if pattern.endswith("/"):
            # The library lets "name/" stand for a file when the last component has no wildcard.
            expected = [path for path in expected if path.endswith("/")]
        if "[!" in pattern or "[^" in pattern:
            # It also lets a negated bracket match the end of a name that is not ASCII.
            found, expected = ([p for p in paths if p.isascii()] for paths in (found, expected))
        if "**" in pattern:
            # It lets a wildcard stand for . and .., which this tool does not where a pattern has **.
            found, expected = ([p for p in paths if not {".", ".."} & set(p.split("/"))]
                               for paths in (found, expected))
        self.assertEqual(found, expected)

    def test_same_as_the_library(self):
        rng = random.Random(int(os.environ.get("IKIGAI_TEST_SEED", "7")))
        oracle = compile_c(ORACLE, self.dir)
        base = self.dir
        for tree in range(12):
            self.dir = os.path.join(base, f"tree{tree}")
            os.mkdir(self.dir)
            self.random_tree(rng)
            patterns = [self.random_pattern(rng) for _ in range(60)]
            done = subprocess.run([oracle], input=b"".join(p.encode() + b"\0" for p in patterns),
                                  stdout=subprocess.PIPE, cwd=self.dir, check=True)
            fields = done.stdout.split(b"\0")
            for pattern in patterns:
                end = fields.index(b"")
                expected, fields = [f.decode() for f in fields[:end]], fields[end + 1:]
                with self.subTest(pattern=pattern, tree=sorted(os.listdir(self.dir))):
                    self.compare(pattern, self.matches(pattern), expected)
        self.dir = base


if __name__ == "__main__":
    unittest.main()
