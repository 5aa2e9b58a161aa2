"""The grep tool: its contract, its patterns against the C library's regexec, its ignore rules
against git, and whole searches against a slow reference."""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import ScratchTest, run_tool, run_tool_measured, tool_path  # noqa: E402

SEED = int(os.environ.get("IKIGAI_TEST_SEED", "7"))


class GrepTest(ScratchTest):
    def grep(self, pattern, env=None, uid=None, **params):
        params["pattern"] = pattern
        return run_tool("grep", params, cwd=self.dir, env=env, uid=uid)

    def lines(self, pattern, **params):
        answer = self.grep(pattern, **params)
        self.assertNotIn("error", answer)
        lines = answer["output"].split("\n") if answer["output"] else []
        self.assertEqual(answer["count"], len(lines))
        return lines

    def files(self, pattern, **params):
        return [line.split(":")[0] for line in self.lines(pattern, **params)]

    def matches(self, pattern, *lines, **params):
        """Which of the lines match."""
        self.write("text", "".join(line + "\n" for line in lines))
        found = self.lines(pattern, path="text", **params)
        return [lines[int(line.split(":")[1]) - 1] for line in found]

    def random_files(self, rng, names):
        """Makes files and folders, and returns the folders."""
        folders = [""]
        for _ in range(25):
            name = os.path.join(rng.choice(folders), rng.choice(names))
            if os.path.lexists(self.path(name)):
                continue
            if rng.random() < 0.35:
                os.mkdir(self.path(name))
                folders.append(name)
            else:
                self.write(name, "x\n")
        return folders


class Contract(GrepTest):
    def test_schema(self):
        schema = json.loads(subprocess.check_output([tool_path("grep"), "--schema"]))
        self.assertEqual(schema["name"], "grep")
        self.assertEqual(schema["description"],
                         "Search for pattern in files using regular expressions")
        self.assertIs(schema["parallel"], True)
        properties = schema["parameters"]["properties"]
        self.assertEqual(list(properties), ["pattern", "glob", "path", "ignore_case", "no_ignore"])
        self.assertEqual(properties["pattern"], {
            "type": "string", "description": "Regular expression pattern (POSIX extended)"})
        self.assertEqual(properties["glob"], {
            "type": "string", "description": "Glob pattern to filter files (e.g., '*.c')"})
        self.assertEqual(properties["path"], {
            "type": "string", "description": "Directory to search in (default: current directory)"})
        self.assertEqual(schema["parameters"]["required"], ["pattern"])

    def test_exact_answer(self):
        self.write("src/main.c", "int x;\n// TODO: implement\n")
        self.write("src/util.c", "// TODO: optimize")
        done = run_tool("grep", {"pattern": "TODO", "glob": "*.c", "path": "src"}, cwd=self.dir,
                        raw=True)
        self.assertEqual(done.stdout, b'{"output":"src/main.c:2: // TODO: implement\\n'
                                      b'src/util.c:1: // TODO: optimize","count":2}')
        self.assertEqual(self.grep("nothing"), {"output": "", "count": 0})
        self.assertEqual(self.grep("x", path="no/such"), {
            "output": "", "count": 0,
            "warnings": ["Cannot read path no/such: No such file or directory"]})

    def test_paths_begin_as_given(self):
        self.write("d/a", "x\n")
        for path, expected in [(None, "d/a"), ("", "d/a"), (".", "./d/a"), ("./", "./d/a"),
                               ("d", "d/a"), ("d/", "d/a"), ("d/a", "d/a"), ("./d/a", "./d/a"),
                               (self.dir, self.dir + "/d/a"), ("d/../d", "d/../d/a")]:
            self.assertEqual(self.grep("x", path=path)["output"], expected + ":1: x", path)

    def test_refused_patterns(self):
        for pattern, message in [
                ("(", "Unmatched ( or \\("), ("a{2,1}", "Invalid content of \\{\\}"),
                ("[a", "Unmatched [, [^, [:, [., or [="),
                ("*a", "Invalid preceding regular expression"), ("a{1", "Unmatched \\{"),
                ("a\\", "Trailing backslash"), ("[b-a]", "Invalid range end"),
                ("[я-а]", "Invalid range end"), ("a{99999}", "Regular expression too big"),
                ("[[:foo:]]", "Invalid character class name"), ("(a)\\2", "Invalid back reference"),
                ("((a{1,1000}){1,1000})", "Regular expression too big"),
                ("(((((a{1,200}){1,200}){1,200}){1,200}", "Regular expression too big"),
                ("(" * 5000 + ")" * 5000, "Regular expression too big"),
                ("a*" + "+" * 30, "Regular expression too big"),
                ("(?:a)(?:b", "Unmatched ( or \\("), ("^*", "Invalid preceding regular expression"),
                ("(?:a)\\1", "reference to non-existent subpattern")]:
            self.assertEqual(self.grep(pattern), {"error": "Invalid pattern: " + message,
                                                  "error_code": "INVALID_PATTERN"}, pattern[:30])

    def test_bad_parameters(self):
        for params in ({}, {"pattern": 1}, {"pattern": "a", "ignore_case": "yes"},
                       {"pattern": "a", "path": "a\0b"}, {"pattern": "a", "glob": "a\0b"}):
            self.assertEqual(run_tool("grep", params)["error_code"], "INVALID_ARG", params)

    def test_content_is_kept_and_made_utf8(self):
        self.write("f", b"a\0x\r\n\xff\xfex\xc3\xa9\n" + b"y" * 300000 + b"x")
        self.assertEqual(self.grep("x")["output"],
                         "f:1: a\0x\r\nf:2: \ufffd\ufffdxé\nf:3: " + "y" * 300000 + "x")

    def test_what_is_searched(self):
        for name in ("a.c", ".hidden", "d/b.c", "d/.git2/c", ".d/e"):
            self.write(name, "x\n")
        os.symlink("a.c", self.path("link.c"))
        os.symlink("d", self.path("folder"))
        os.mkfifo(self.path("fifo"))
        self.assertEqual(self.files("x"), ["a.c", "d/b.c"])
        self.assertEqual(self.files("x", no_ignore=True),
                         [".d/e", ".hidden", "a.c", "d/.git2/c", "d/b.c"])
        self.assertEqual(self.files("x", path="link.c"), ["link.c"])
        self.assertEqual(self.files("x", path="folder"), ["folder/b.c"])
        self.assertEqual(self.files("x", path="fifo"), [])
        self.assertEqual(self.files("x", path=".hidden"), [".hidden"])

    def test_unreadable_files_are_passed_over_with_a_warning(self):
        self.write("a", "x\n")
        self.write("b", "x\n", mode=0o000)
        self.write("c/d", "x\n")
        self.write("e/.ignore", "f\n", mode=0o000)
        self.write("e/f", "x\n")
        os.chmod(self.path("c"), 0o000)
        answer = self.grep("x", uid=65534)
        self.assertEqual((answer["output"], answer["count"]), ("a:1: x\ne/f:1: x", 2))
        self.assertEqual(answer["warnings"], ["Cannot read file b: Permission denied",
                                              "Cannot read file e/.ignore: Permission denied",
                                              "Cannot read folder c: Permission denied"])
        answer = self.grep("y", uid=65534)
        self.assertEqual((answer["count"], len(answer["warnings"])), (0, 3))

    def test_search_that_cannot_begin(self):
        self.write("c/d", "x\n")
        self.write("b", "x\n", mode=0o000)
        os.chmod(self.path("c"), 0o000)
        for path, what in [("c", "path c"), ("b", "path b"), ("c/d", "path c/d")]:
            self.assertEqual(self.grep("x", path=path, uid=65534), {
                "error": "Read error during grep", "error_code": "READ_ERROR",
                "warnings": [f"Cannot read {what}: Permission denied"]})

    def test_many_warnings_are_counted(self):
        for i in range(30):
            self.write(f"f{i:02}", "x\n", mode=0o000)
        warnings = self.grep("x", uid=65534)["warnings"]
        self.assertEqual(warnings, [f"Cannot read file f{i:02}: Permission denied"
                                    for i in range(20)] + ["10 more"])

    def test_file_that_the_glob_leaves_out(self):
        self.write("a.c", "x\n")
        self.assertEqual(self.grep("x", path="a.c", glob="*.h"), {
            "output": "", "count": 0, "warnings": ["The file does not match the glob"]})

    def test_more_files_than_descriptors(self):
        for depth in range(20):
            self.write("n/" * depth + "z", "x\n")
        one = min(os.sched_getaffinity(0))  # one thread comes to every z after all folders
        done = subprocess.run(["sh", "-c", 'ulimit -n 12; exec "$0"', tool_path("grep")],
                              input=b'{"pattern":"x"}', stdout=subprocess.PIPE, cwd=self.dir,
                              preexec_fn=lambda: os.sched_setaffinity(0, {one}))
        answer = json.loads(done.stdout)
        self.assertLess(answer["count"], 20)
        self.assertIn("Too many open files", answer["warnings"][0])

    def test_order_is_that_of_whole_paths(self):
        names = ["a/b", "a.c", "a-b", "a0", "a/c/d", "a/c.e", "ab"]
        for name in names:
            self.write(name, "x\n")
        self.assertEqual(self.files("x"), sorted(names))

    def test_glob_filter(self):
        for name in ("a.ts", "b.tsx", "c.js", "src/d.ts", "src/x/e.ts", "src/x/f.{a}"):
            self.write(name, "x\n")
        for glob, expected in [
                ("*.ts", ["a.ts", "src/d.ts", "src/x/e.ts"]), ("", None),
                ("*.{ts,tsx}", ["a.ts", "b.tsx", "src/d.ts", "src/x/e.ts"]),
                ("src/*.ts", ["src/d.ts"]), ("src/**/*.ts", ["src/d.ts", "src/x/e.ts"]),
                ("**/*.ts", ["a.ts", "src/d.ts", "src/x/e.ts"]), ("./a.ts", ["a.ts"]),
                ("/*.ts", ["a.ts"]), ("{a,b}.{ts,tsx}", ["a.ts", "b.tsx"]),
                ("{src/{d,x/e},c}.{ts,js}", ["c.js", "src/d.ts", "src/x/e.ts"]),
                ("{*.tsx,src/*.ts}", ["b.tsx", "src/d.ts"]), ("{*.ts,x/c}", ["a.ts", "src/d.ts", "src/x/e.ts"]),
                ("*.\\{a\\}", ["src/x/f.{a}"]), ("*.{ts", []), ("[ab].*", ["a.ts", "b.tsx"]),
                ("{}" * 100 + "a.ts", ["a.ts"]), ("{}" * 50000 + "a.ts", [])]:
            expected = self.files("x") if expected is None else expected
            self.assertEqual(self.files("x", glob=glob), expected, glob)

    def test_glob_with_too_many_alternatives(self):
        self.write("a999", "x\n")
        self.write("a1000", "x\n")
        many = "{" + ",".join(f"a{i}" for i in range(1001)) + "}"
        self.assertEqual(self.grep("x", glob=many), {
            "output": "a999:1: x", "count": 1,
            "warnings": ["Only the first 1000 alternatives of the glob are used"]})
        self.assertNotIn("warnings", self.grep("x", glob=many.replace(",a1000", "")))
        self.assertEqual(self.grep("x", glob="{}" * 101 + "a999"), {
            "output": "", "count": 0,
            "warnings": ["The glob has more than 100 braces, so they are taken literally"]})

    def test_a_long_glob_takes_no_memory(self):
        self.write("a0" + "b" * 200, "x\n")
        many = "{" + ",".join(f"a{i}" for i in range(1000)) + "}" + "b" * 50000
        answer, memory = run_tool_measured("grep", {"pattern": "x", "path": self.dir, "glob": many})
        self.assertEqual(answer["warnings"], ["Only the first alternatives of the glob are used, because "
                                              "it is long"])
        self.assertLess(memory, 60 << 20)

    def test_a_long_bracket_is_refused_quickly(self):
        """Each character is looked up among the others; a walk to each of them took half a minute."""
        characters = "".join(chr(0x4e00 + i) for i in range(20000)) * 15
        self.assertEqual(self.grep(f"[{characters}]")["error_code"], "INVALID_PATTERN")

    def test_cut_output(self):
        self.write("f", "éx\n" * 5)
        whole = self.grep("x")["output"]
        size = len(whole.encode())
        for limit in range(size + 3):
            answer = self.grep("x", env={"IKIGAI_MAX_OUTPUT": limit})
            self.assertEqual(answer["count"], 5)
            text = answer["output"].encode()
            self.assertTrue(whole.encode().startswith(text))
            self.assertEqual("truncated" in answer, limit < size)
            self.assertLessEqual(len(text), limit)
            if limit < size:
                self.assertEqual(answer["total_bytes"], size)
                self.assertGreaterEqual(len(text), limit - 1)

    def test_cut_of_a_long_answer(self):
        for i in range(40):
            self.write(f"d{i:02}/f", "line with \"quotes\"\t\xff x\n" * 2000)
        whole = self.grep("x")
        for limit in (1000, 100000, 2000000):
            cut = self.grep("x", env={"IKIGAI_MAX_OUTPUT": limit})
            self.assertEqual(cut["count"], 80000)
            self.assertEqual(cut["total_bytes"], len(whole["output"].encode()))
            self.assertTrue(whole["output"].startswith(cut["output"]))
            self.assertGreater(len(cut["output"].encode()), limit - 4)

    def test_hopeless_pattern_ends(self):
        self.write("a", "x" * 60 + "\nmatch xxy\n")
        answer = self.grep("(x+x+)+[[:digit:]y]")
        self.assertEqual(answer["count"], 1)
        self.assertIn("match limit reached in 1 line (", answer["note"])
        self.write("b", ("x" * 60 + "\n") * 5000)
        answer = self.grep("(x+x+)+[[:digit:]y]")
        self.assertIn("search was ended early", answer["note"])

    def test_deep_tree_with_few_descriptors(self):
        self.write("n/" * 150 + "f", "x\n")
        done = subprocess.run(["sh", "-c", 'ulimit -Sn 32; exec "$0"', tool_path("grep")],
                              input=b'{"pattern":"x"}', stdout=subprocess.PIPE, cwd=self.dir)
        self.assertEqual(json.loads(done.stdout)["count"], 1)

    def test_nobody_reads_the_answer(self):
        self.write("f", "x\n" * 100000)
        with open("/dev/full", "wb") as full:
            done = subprocess.run([tool_path("grep")], input=b'{"pattern":"x"}', stdout=full,
                                  cwd=self.dir)
        self.assertEqual(done.returncode, 1)


class Patterns(GrepTest):
    def test_meaning(self):
        for pattern, lines, expected in [
                ("\\d+", ["a1", "b", "٣"], ["a1"]), ("^\\D+$", ["a1", "b"], ["b"]),
                ("a\\sb", ["a b", "a\tb", "ab", "a\fb"], ["a b", "a\tb", "a\fb"]),
                ("^\\S+$", ["a b", "ab"], ["ab"]), ("\\w+", ["é", "-", "_"], ["é", "_"]),
                ("^\\W$", ["é", "-", "_"], ["-"]), ("\\bfoo\\b", ["foo", "a foo.", "foot", "éfoo"],
                                                    ["foo", "a foo."]),
                ("\\Bfoo", ["foo", "xfoo"], ["xfoo"]), ("(?:ab)+c", ["ababc", "c"], ["ababc"]),
                ("(?:a)(b)\\1", ["abb", "aab"], ["abb"]), ("a\\tb", ["a\tb", "atb"], ["a\tb"]),
                ("\\<a", ["ba", "b a"], ["b a"]), ("a\\>", ["ab", "a b"], ["a b"]),
                ("\\`a", ["ab", "ba"], ["ab"]), ("a\\'", ["ab", "ba"], ["ba"]),
                ("[\\d]", ["d", "1", "\\"], ["d", "\\"]), ("a)b", ["a)b"], ["a)b"]),
                ("a+?", ["b", "a"], ["b", "a"]), ("^a**$", ["aaa", "b", ""], ["aaa", ""]),
                ("a\nb", ["a", "b", "a b"], []), ("a\\nb", ["anb", "a"], []),
                ("[\n]", ["a", ""], []), ("^[^a]$", ["a", "b", "é"], ["b", "é"]),
                ("^.$", ["a", "é", "世", "ab"], ["a", "é", "世"]), ("^..$", ["é", "ab"], ["ab"]),
                ("a.+.+b", ["aéb", "axyb"], ["axyb"]), ("[[:alpha:]]é", ["éé", "1é"], ["éé"]),
                ("[é-ü]+", ["ê", "e", "è", "ü"], ["ê", "ü"]),
                ("", ["", "a"], ["", "a"]), ("^$", ["", "a"], [""]), ("$^", ["", "a"], [""]),
                ("x*", ["", "a"], ["", "a"]), ("()", ["a"], ["a"]), ("a||b", ["c"], ["c"])]:
            with self.subTest(pattern=pattern):
                self.assertEqual(self.matches(pattern, *lines), expected)

    def test_ignore_case(self):
        for pattern, lines, expected in [
                ("task_Struct", ["TASK_STRUCT", "task_struct", "task-struct"],
                 ["TASK_STRUCT", "task_struct"]),
                ("é", ["É", "é", "e"], ["É", "é"]), ("[a-c]x", ["BX", "dx"], ["BX"]),
                ("[^a]b", ["Ab", "cB"], ["cB"]), ("(a)\\1", ["aA"], ["aA"]),
                ("[[:upper:]]1", ["a1", "-1"], ["a1"]), ("@[x]", ["@X", "`x"], ["@X"])]:
            self.assertEqual(self.matches(pattern, *lines, ignore_case=True), expected, pattern)

    def test_lines_that_are_not_utf8_match_as_bytes(self):
        self.write("f", b"caf\xe9\ncaf\xc3\xa9\ncaf\n")
        self.assertEqual(len(self.lines("^caf.$")), 2)
        self.assertEqual(len(self.lines("é")), 1)
        self.write("g", b"foo \xff bar\n")
        self.assertEqual(len(self.lines("foo.*bar")), 1)


ORACLE = r"""
#include <locale.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* Reads records of a pattern and lines, each ended by NUL, the record by one more. Prints a line of
 * 0 and 1, or E for a pattern that is refused. */
static char *next(char **at) { char *field = *at; *at += strlen(field) + 1; return field; }
int main(int argc, char **argv)
{
    (void)argv;
    setlocale(LC_ALL, "C.UTF-8");
    size_t len = 0, room = 1 << 24;
    char *text = calloc(1, room);
    len = fread(text, 1, room - 1, stdin);
    for (char *at = text; at < text + len;) {
        regex_t re;
        int bad = regcomp(&re, next(&at), REG_EXTENDED | REG_NOSUB | (argc > 1 ? REG_ICASE : 0));
        for (;;) {
            char *line = next(&at);
            if (strcmp(line, "END") == 0) break;
            putchar(bad ? 'E' : regexec(&re, line, 0, NULL, 0) == 0 ? '1' : '0');
        }
        putchar('\n');
        if (!bad) regfree(&re);
    }
    return 0;
}
"""


def compile_c(source, folder):
    path = os.path.join(folder, "oracle.c")
    with open(path, "w") as f:
        f.write(source)
    program = os.path.join(folder, "oracle")
    subprocess.run(["cc", "-O1", "-o", program, path], check=True)
    return program


class AgainstRegexec(GrepTest):
    ATOMS = ["a", "b", "c", "ab", ".", "é", "1", " ", "[ab]", "[^a]", "[a-c]", "[^é]",
             "[[:alpha:]]", "[[:digit:]]", "[^[:space:]]", "[[:upper:]]", "[]a]", "[a-]", "[\\a]",
             "[[.a.]]", "[[=b=]]", "\\.", "\\*", "-", "\\w", "\\W", "\\s", "\\S", ")", "}", ",",
             "A", "_", "[[:punct:]]"]
    ANCHORS = ["^", "$", "\\b", "\\B", "\\<", "\\>", "\\`", "\\'"]
    QUANTIFIERS = ["*", "+", "?", "{2}", "{0,1}", "{,2}", "{1,}", "{0}", "**", "+?", "{2}{2}", "{1,3}"]
    LETTERS = "aaabbbcA1 é_-.)ü"

    def random_pattern(self, rng, depth=0):
        parts = []
        for _ in range(rng.choice([1, 1, 2, 2, 3])):
            kind = rng.random()
            if kind < 0.08:
                parts.append(rng.choice(self.ANCHORS))
            elif kind < 0.3 and depth < 2:
                parts.append("(" + self.random_pattern(rng, depth + 1) + ")" +
                             (rng.choice(self.QUANTIFIERS) if rng.random() < 0.3 else ""))
            elif kind < 0.32:
                parts.append(rng.choice(["*", "{", "[", "(", "\\1", "{2", "[z-a]"]))
            else:
                parts.append(rng.choice(self.ATOMS) +
                             (rng.choice(self.QUANTIFIERS) if rng.random() < 0.3 else ""))
        pattern = "".join(parts)
        if rng.random() < 0.2:
            pattern += "|" + rng.choice([self.random_pattern(rng, depth + 1), "", "ab"])
        return pattern

    def compare(self, ignore_case):
        rng = random.Random(SEED)
        oracle = compile_c(ORACLE, self.dir)
        lines = ["".join(rng.choice(self.LETTERS) for _ in range(rng.randrange(0, 9)))
                 for _ in range(120)]
        # A backreference to a group that did not take part is undefined in POSIX.
        patterns = [p for p in (self.random_pattern(rng) for _ in range(500))
                    if not ("\\1" in p and "|" in p)]
        records = b"".join(
            b"".join(field.encode() + b"\0" for field in [pattern, *lines, "END"])
            for pattern in patterns)
        done = subprocess.run([oracle] + ["-i"] * ignore_case, input=records,
                              stdout=subprocess.PIPE, check=True)
        self.write("t/text", "".join(line + "\n" for line in lines))
        for pattern, verdict in zip(patterns, done.stdout.decode().split("\n")):
            answer = self.grep(pattern, path="t", ignore_case=ignore_case)
            with self.subTest(pattern=pattern):
                if verdict.startswith("E"):
                    self.assertEqual(answer.get("error_code"), "INVALID_PATTERN")
                    continue
                self.assertNotIn("error", answer)
                found = {int(line.split(":")[1]) for line in answer["output"].split("\n") if line}
                expected = {i + 1 for i, flag in enumerate(verdict) if flag == "1"}
                self.assertEqual([lines[i - 1] for i in sorted(found ^ expected)], [])

    def test_same_lines(self):
        self.compare(False)

    def test_same_lines_ignoring_case(self):
        self.compare(True)


class AgainstGit(GrepTest):
    NAMES = ["a", "b", "foo", "bar.c", "bar.o", "x.c", "foo.bar", "#a", "!b", "a b", "a ", "é", "a[b"]
    RULES = ["a", "/a", "a/", "*.c", "*.o", "!*.c", "!a", "foo/*", "!foo/bar.c", "**/foo", "foo/**",
             "a/**/b", "/**/x.c", "*", "!*/", "foo*", "?", "[ab]", "[!a]", "\\#a", "\\!b", "# comment",
             "", "a b", "a\\ ", "a   ", "foo/bar.c", "/foo/", "**", "**/", "!/a", "b/*.c", "*/x.c",
             "a**", "f**/x.c", "[a", "\\a", "foo.*", "!foo.bar", "*a*", "/*", "!/foo", "é", "a/b/",
             "bar.[co]", "*.[!o]", "/", "!", "a\\", "**foo", "b/**", "/*/a", "a[[]b", "[[:alpha:]]",
             "bar.c\r", "*/", "!foo/", "x.c/", "\\*.c", "foo\\/a", "[z-a]", "[b-a]ar.c", "[!b-a]",
             "[[:alpha:]]*", "?[[:punct:]]?", "[^[:alnum:]]*", "[a-c-e]", "[--b]", "[]-b]", "[x-]*",
             "fo[[:foo:]]", "[[:alpha]", "[\\a-\\c]", "*[[:upper:][:space:]]b", "[é]", "\xff"]

    def git(self, *args):
        env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
               "HOME": self.dir}
        return subprocess.run(["git", "-c", "core.excludesFile=/dev/null", *args], cwd=self.dir,
                              env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)

    def random_tree(self, rng):
        folders = self.random_files(rng, self.NAMES)
        for folder in [""] + rng.sample(folders, min(2, len(folders))):
            rules = rng.sample(self.RULES, rng.randrange(1, 6))
            self.write(os.path.join(folder, ".gitignore"),
                       rng.choice(["", "\ufeff"]) + "\n".join(rules) + rng.choice(["", "\n"]))
        return folders

    def test_same_files(self):
        rng = random.Random(SEED)
        base = self.dir
        for tree in range(60):
            self.dir = os.path.join(base, f"tree{tree}")
            os.mkdir(self.dir)
            folders = self.random_tree(rng)
            self.git("init", "-q")
            if rng.random() < 0.5:
                self.write(".git/info/exclude", "\n".join(rng.sample(self.RULES, 3)) + "\n")
            for folder in ["", rng.choice(folders)]:
                listed = self.git("ls-files", "-coz", "--exclude-standard", "--", folder or ".")
                expected = sorted(n for n in listed.stdout.decode().split("\0")
                                  if n and not os.path.basename(n).startswith(".git"))
                if folder and not expected:
                    continue  # an excluded folder that is named is searched all the same
                rules = {p: self.read(p) for p, in
                         ([os.path.relpath(os.path.join(d, ".gitignore"), self.dir)]
                          for d, _, fs in os.walk(self.dir) if ".gitignore" in fs)}
                with self.subTest(tree=tree, folder=folder, rules=rules):
                    self.assertEqual(self.files("x", path=folder), expected)
        self.dir = base

    CLASSES = ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
               "space", "upper", "xdigit"]

    def test_same_bytes_in_classes_and_ranges(self):
        """Every byte a name can hold, against every class and some odd ranges."""
        self.git("init", "-q")
        brackets = [f"[[:{name}:]]" for name in self.CLASSES] + [
            "[z-a]", "[!z-a]", "[a-c-e]", "[\xc3-\xa0]", "[\x80-\xff]", "[!a-z]", "[\\--z]"]
        folder = os.fsencode(self.dir)
        for i, bracket in enumerate(brackets):
            os.mkdir(folder + b"/%d" % i)
            with open(folder + b"/%d/.gitignore" % i, "wb") as f:
                f.write(b"n" + bracket.encode("latin-1") + b"\n")
            for byte in set(range(1, 256)) - {ord("/")}:
                with open(folder + b"/%d/n" % i + bytes([byte]), "wb") as f:
                    f.write(b"x\n")
            listed = self.git("ls-files", "-coz", "--exclude-standard", "--", str(i)).stdout
            expected = sorted(n for n in listed.split(b"\0") if n and not n.endswith(b"ignore"))
            expected = b"\n".join(n + b":1: x" for n in expected).decode(errors="replace")
            with self.subTest(bracket=bracket):
                self.assertEqual(self.grep("x", path=str(i))["output"], expected)

    def test_nested_repository_and_no_repository(self):
        self.write(".gitignore", "*.log\n")
        self.write("sub/a.log", "x\n")
        # Without a repository a .gitignore is a file like any other.
        self.assertEqual(self.files("x"), ["sub/a.log"])
        self.assertEqual(self.files("x", path="sub"), ["sub/a.log"])
        os.mkdir(self.path(".git"))
        self.assertEqual(self.files("x"), [])
        self.assertEqual(self.files("x", no_ignore=True), ["sub/a.log"])
        self.assertEqual(self.files("x", path="sub"), [])
        os.mkdir(self.path("sub/.git"))
        self.assertEqual(self.files("x"), ["sub/a.log"])
        self.assertEqual(self.files("x", path="sub"), ["sub/a.log"])

    def test_worktrees_and_submodules(self):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c",
                    "protocol.file.allow=always")
        self.dir = self.path("main")
        os.mkdir(self.dir)
        self.git("init", "-q")
        self.write("a", "x\n")
        self.git("add", "a")
        self.git(*identity, "commit", "-qm", "a")
        self.git(*identity, "worktree", "add", "-q", "../tree")
        self.git(*identity, "submodule", "add", "-q", self.path(".git"), "sub")
        self.write(".git/info/exclude", "skipped\n")
        self.write(".git/modules/sub/info/exclude", "left\n")
        for folder in (".", "../tree", "sub"):
            for name in ("skipped", "left", "kept", "also.log"):
                self.write(os.path.join(folder, name), "x\n")
            self.write(os.path.join(folder, ".gitignore"), "*.log\n")
        self.assertEqual(self.files("x", path="../tree"),
                         ["../tree/a", "../tree/kept", "../tree/left"])
        self.assertEqual(self.files("x"), ["a", "kept", "left", "sub/a", "sub/kept", "sub/skipped"])
        self.assertEqual(self.files("x", path="sub"), ["sub/a", "sub/kept", "sub/skipped"])

    def test_excessive_ignore_file(self):
        os.mkdir(self.path(".git"))
        self.write("a", "x\n")
        with open(self.path(".gitignore"), "wb") as f:
            f.write(b"a\n")
            f.truncate(1 << 36)
        answer = self.grep("x")
        self.assertEqual(answer["output"], "a:1: x")
        self.assertEqual(answer["warnings"], ["Cannot read file .gitignore: File too large"])


class AgainstRipgrep(GrepTest):
    NAMES = ["a", "b", "foo", "bar.c", "bar.o", "x.c", "foo.bar"]
    RULES = ["a", "/a", "a/", "*.c", "*.o", "!*.c", "!a", "foo/*", "!foo/bar.c", "**/foo", "foo/**",
             "a/**/b", "*", "!*/", "foo*", "?", "[ab]", "foo/bar.c", "/foo/", "!/a", "b/*.c"]

    def test_same_files(self):
        if shutil.which("rg") is None:
            self.skipTest("ripgrep is not installed")
        rng = random.Random(SEED)
        base = self.dir
        for tree in range(80):
            self.dir = os.path.join(base, f"tree{tree}")
            os.mkdir(self.dir)
            folders = self.random_files(rng, self.NAMES)
            for kind in (".gitignore", ".ignore", ".rgignore"):
                for folder in rng.sample(folders, min(len(folders), rng.randrange(3))):
                    self.write(os.path.join(folder, kind),
                               "\n".join(rng.sample(self.RULES, rng.randrange(1, 4))) + "\n")
            for folder in rng.sample(folders, min(len(folders), rng.choice([0, 0, 1, 2]))):
                os.mkdir(self.path(folder, ".git"))
                self.write(os.path.join(folder, ".git/info/exclude"), rng.choice(self.RULES) + "\n")
            for folder in ["", rng.choice(folders)]:
                done = subprocess.run(
                    ["rg", "--no-config", "--no-ignore-global", "--files"],
                    cwd=self.path(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                # rg also takes a rule that includes for one that makes visible.
                expected = sorted(n for n in done.stdout.decode().split("\n")
                                  if n and "/." not in "/" + n)
                rules = {os.path.relpath(os.path.join(d, n), self.dir): self.read(
                    os.path.join(d, n)) for d, _, names in os.walk(self.dir) for n in names
                    if "ignore" in n or n == "exclude"}
                answer = run_tool("grep", {"pattern": "x"}, cwd=self.path(folder))
                with self.subTest(tree=tree, folder=folder, rules=rules):
                    self.assertEqual([line.split(":")[0] for line in answer["output"].split("\n")
                                      if line], expected)
        self.dir = base


class HiddenAndExcluded(GrepTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path(".git"))
        self.write(".gitignore", "*.log\nbuild/\n.venv\nold.c\n")
        for name in (".env", "d/.env", "a.log", "d/b.log", ".github/ci.yml", ".github/w/d.yml",
                     ".github/.h/e.yml", ".github/w/f.log", "build/a.txt", "build/sub/b.txt",
                     "build/c.log", "d/build/a.txt", ".venv/lib/m.py", "old.c", "d/new.c", ".h.c"):
            self.write(name, "x\n")
        self.write(".venv/.gitignore", "*\n")

    def test_glob_names_them(self):
        for glob, expected in [
                (None, ["d/new.c"]), ("*", ["d/new.c"]), ("**", ["d/new.c"]),
                ("**/*", ["d/new.c"]), (".env", [".env", "d/.env"]), ("/.env", [".env"]),
                ("**/.env", [".env", "d/.env"]), (".e*", [".env", "d/.env"]),
                ("\\.env", [".env", "d/.env"]), ("?env", []), ("*.log", ["a.log", "d/b.log"]),
                (".github/**/*.yml", [".github/ci.yml", ".github/w/d.yml"]),
                (".github/**/*.log", [".github/w/f.log"]), (".github/*", [".github/ci.yml"]),
                (".github/**", [".github/ci.yml", ".github/w/d.yml"]),
                (".github/.h/*", [".github/.h/e.yml"]), ("*/ci.yml", []), ("**/ci.yml", []),
                ("build/a.txt", ["build/a.txt"]), ("b*/*.txt", ["build/a.txt"]),
                ("build/**/*.txt", ["build/a.txt", "build/sub/b.txt"]),
                ("build/**", ["build/a.txt", "build/c.log", "build/sub/b.txt"]),
                ("**/build/*.txt", ["build/a.txt", "d/build/a.txt"]), ("*/a.txt", []),
                (".venv/**/*.py", [".venv/lib/m.py"]), ("*.py", []),
                ("*.c", ["d/new.c", "old.c"]), ("{.env,build/*.txt,old.c}",
                                                [".env", "build/a.txt", "d/.env", "old.c"])]:
            with self.subTest(glob=glob):
                self.assertEqual(self.files("x", glob=glob), expected)

    def test_nothing_found_says_what_was_skipped(self):
        how = "not searched; set no_ignore to true, or name them in glob, to search them"
        self.assertEqual(self.grep("nowhere"), {
            "output": "", "count": 0, "note": "7 files and 4 folders hidden or excluded by ignore "
                                              f"files were {how}"})
        self.assertEqual(self.grep("nowhere", path=".github/.h"), {"output": "", "count": 0})
        self.assertEqual(self.grep("nowhere", path=".github/w")["note"],
                         f"1 file hidden or excluded by ignore files was {how}")
        self.assertEqual(self.grep("nowhere", glob="*.log")["note"],
                         f"4 folders hidden or excluded by ignore files were {how}")
        self.assertEqual(self.grep("nowhere", no_ignore=True), {"output": "", "count": 0})
        self.assertNotIn("note", self.grep("x"))


class LongLines(GrepTest):
    """Lines of more than 16 MB: searched in pieces, shown cut, in bounded memory."""
    CUT = "[... line cut ...]"
    MEGABYTE = 1 << 20

    def measured(self, pattern, **env):
        answer, peak = run_tool_measured("grep", {"pattern": pattern}, cwd=self.dir, env=env)
        self.assertLess(peak, 60 * self.MEGABYTE)
        return answer

    def test_line_of_16_megabytes_is_whole(self):
        line = b"ab " * 5592000 + b"needle"
        self.write("f", line + b"\nneedle\n")
        answer = self.grep("needle")
        self.assertEqual(answer["count"], 2)
        self.assertEqual(len(answer["output"]), len("f:1: \nf:2: needle") + len(line))

    def test_sparse_file(self):
        with open(self.path("f"), "wb") as f:
            f.write(b"begin ")
            f.seek(3 << 30)
            f.write(b"needle\nshort needle\n")
            f.truncate(200 << 30)
        self.assertEqual(self.measured("needle"), {
            "output": f"f:1: {self.CUT}needle\nf:2: short needle", "count": 2})
        for pattern, expected in [("^begin", f"f:1: begin {self.CUT}"), ("^needle", ""),
                                  ("needle$", f"f:1: {self.CUT}needle\nf:2: short needle"),
                                  ("begin.?needle", ""), ("begin$", ""), ("missing", "")]:
            self.assertEqual(self.measured(pattern)["output"], expected, pattern)

    def test_pieces(self):
        """A word at every place around the ends of the pieces, and what stands around it."""
        size = 16 * self.MEGABYTE
        for at in [size - 65536, size - 8, size - 7, size, 2 * size - 65540,
                   40 * self.MEGABYTE - 10]:
            text = bytearray(b"word x. " * (5 * self.MEGABYTE))
            text[at - 1:at + 9] = b". needle9 "
            self.write("f", bytes(text) + b"\nlast\n")
            for pattern in ("needle9", "\\bneedle[0-9]\\b", "[x. ] needle", "e9 ", "\\<needle9\\>"):
                answer = self.grep(pattern)
                with self.subTest(at=at, pattern=pattern):
                    self.assertEqual(answer["count"], 1)
                    self.assertIn("needle9", answer["output"])
                    self.assertTrue(answer["output"].startswith(f"f:1: {self.CUT}"))
                    self.assertLess(len(answer["output"]), 5000)
            for pattern in ("\\bneedle\\b", "wor\\b", "\\Bword", "^needle9", "^x", "needle9$", "9x"):
                with self.subTest(at=at, pattern=pattern):
                    self.assertEqual(self.grep(pattern)["count"],
                                     re.search(pattern.encode(), text) is not None)

    def test_lines_around_are_numbered(self):
        long = b"q" * (17 * self.MEGABYTE)
        self.write("f", b"a\n" + long + b"\nb\n" + long + b" b\n" + b"c b")
        self.assertEqual(self.measured("b"), {
            "output": f"f:3: b\nf:4: {self.CUT}" + "q" * 1023 + " b\nf:5: c b", "count": 3})
        self.assertEqual([line.split(" ")[0] for line in self.grep("q")["output"].split("\n")],
                         ["f:2:", "f:4:"])
        self.assertEqual(self.grep("^q+$")["count"], 0)

    def test_characters_are_not_cut(self):
        self.write("f", "é".encode() * (20 * self.MEGABYTE) + b"\n")
        for pattern in ("é", "\\w", "."):
            self.assertNotIn("\ufffd", self.grep(pattern)["output"])

    def test_answer_in_bounded_memory(self):
        self.write("f", b"\1" * (16 * self.MEGABYTE - 10) + b"\n")
        answer = self.measured("\1", IKIGAI_MAX_OUTPUT=1000)
        self.assertEqual((len(answer["output"]), answer["truncated"], answer["total_bytes"]),
                         (1000, True, 16 * self.MEGABYTE - 5))


class AgainstReference(GrepTest):
    """Files of all sizes around the buffer's, patterns of every kind the sieves tell apart."""

    def test_same_output(self):
        rng = random.Random(SEED)
        words = ["alpha", "beta_resume", "GAMMA_RESUME", "x", "foo(bar)", "été", "return 0;", "\t", "",
                 "Zeta", "a" * 40, "caf\udce9"]
        contents = {}
        for i in range(60):
            size = rng.choice([0, 1, 20, 300, 5000])
            text = "\n".join(" ".join(rng.choice(words) for _ in range(rng.randrange(5)))
                             for _ in range(size)) + rng.choice(["", "\n"])
            contents[f"d{i % 7}/e{i % 3}/f{i}"] = text.encode(errors="surrogateescape")
        contents["big"] = (b"0123456 789\n" * 60000) + b"last beta_resume"
        contents["long"] = b"q" * 700000 + b" alpha\n" + b"r" * 262143 + b"\nalpha"
        for size in (262143, 262144, 262145):
            contents[f"edge{size}"] = (b"alpha\n" * 60000)[:size]
        for name, content in contents.items():
            self.write(name, content)
        for pattern, ignore_case in [
                ("alpha", False), ("[A-Z]_RESUME", False), ("alpha|Zeta|x", False), ("return", True),
                ("^$", False), ("e$", False), ("^a+", False), ("[a-z]_[a-z]+", False),
                ("été", False), ("f(o)\\1", False), ("0;|bar", False), ("q", False), ("", False)]:
            posix = pattern.encode()
            reference = re.compile(posix, re.IGNORECASE if ignore_case else 0)
            expected = []
            for name in sorted(contents):
                lines = contents[name].split(b"\n")
                lines = lines[:-1] if lines[-1] == b"" else lines
                for number, line in enumerate(lines, 1):
                    if reference.search(line):
                        shown = line.decode(errors="replace")
                        expected.append(f"{name}:{number}: {shown}")
            answer = self.grep(pattern, ignore_case=ignore_case)
            with self.subTest(pattern=pattern):
                self.assertEqual(answer["count"], len(expected))
                self.assertTrue(answer["output"] == "\n".join(expected), "different output")


if __name__ == "__main__":
    unittest.main()
