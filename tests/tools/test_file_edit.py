"""file_edit: exact replacing, its errors, and the hints it gives."""
import json
import os
import stat
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import support
from support import ScratchTest, cpu_of_children, run_tool

ROOT = os.getuid() == 0

# (before, old_string, new_string, replace_all, after, replacements)
EDITS = [
    (b"debug = false\n", "debug = false", "debug = true", None, b"debug = true\n", 1),
    (b"a b c", "b", "", None, b"a  c", 1),
    (b"abc", "abc", "", None, b"", 1),
    (b"abc", "c", "cd", None, b"abcd", 1),
    (b"abc", "a", "za", None, b"zabc", 1),
    (b"x x x", "x", "y", True, b"y y y", 3),
    (b"x x x", "x", "", True, b"  ", 3),
    (b"x", "x", "y", True, b"y", 1),
    (b"nothing", "x", "y", True, b"nothing", 0),
    (b"", "x", "y", True, b"", 0),
    (b"aaaa", "aa", "b", True, b"bb", 2),
    (b"aaaaa", "aa", "b", True, b"bba", 2),
    (b"aaa", "aa", "b", None, b"ba", 1),
    (b"x", "x", "xx", None, b"xx", 1),
    (b"xx", "x", "xx", True, b"xxxx", 2),
    (b"a\r\nb\r\n", "a\r\nb", "c", None, b"c\r\n", 1),
    (b"a\r\nb\r\n", "b", "c\n", None, b"a\r\nc\n\r\n", 1),
    (b"\xef\xbb\xbfa", "a", "b", None, b"\xef\xbb\xbfb", 1),
    (b"\xff\xfe a \x80", "a", "b", None, b"\xff\xfe b \x80", 1),
    (b"\0a\0", "a\0", "b\0", None, b"\0b\0", 1),
    ("\u00e9t\u00e9".encode(), "t", "T", None, "\u00e9T\u00e9".encode(), 1),
    (b"line one\nline two\nline three\n", "line two\nline three\n", "x\n", None,
     b"line one\nx\n", 1),
    (b"a\n\n\nb", "\n\n\n", "\n", None, b"a\nb", 1),
    (b"ab" * 50000, "ab", "c", True, b"c" * 50000, 50000),
]

# (before, old_string, error, error_code)
FAILURES = [
    (b"abc", "x", "String not found in file", "NOT_FOUND"),
    (b"", "x", "String not found in file", "NOT_FOUND"),
    (b"x x x", "x", "String found 3 times, use replace_all to replace all", "NOT_UNIQUE"),
    (b"aaaa", "aa", "String found 2 times, use replace_all to replace all", "NOT_UNIQUE"),
]

BAD = [
    ({"file_path": "f", "old_string": "a", "new_string": "a"},
     "old_string and new_string are identical"),
    ({"file_path": "f", "old_string": "", "new_string": "a"}, "old_string cannot be empty"),
    ({"file_path": "f", "old_string": "", "new_string": ""}, "old_string cannot be empty"),
    ({"file_path": "missing", "old_string": "a", "new_string": "a"},
     "old_string and new_string are identical"),
    ({}, "Missing required parameter 'file_path'"),
    ({"file_path": "f"}, "Missing required parameter 'old_string'"),
    ({"file_path": "f", "old_string": "a"}, "Missing required parameter 'new_string'"),
    ({"file_path": "f", "old_string": "a", "new_string": "b", "replace_all": "yes"},
     "Parameter 'replace_all' must be a boolean"),
    ({"file_path": "a\0", "old_string": "a", "new_string": "b"},
     "Parameter 'file_path' must not contain a NUL character"),
]

CODE = "int main(void)\n{\n\tint count = 0;\n\tputs(\"Hello\");\n\treturn count;\n}\n"

# (file, old_string, what the hint must say)
HINTS = [
    ("a\r\nb\r\nc\r\n", "b\nc", ["CRLF line endings", "line 2"]),
    ("a\nb\nc\n", "b\r\nc", ["CRLF line endings", "line 2", "old_string has CRLF"]),
    ("a\r\nb\r\nc\n", "a\r\nb\n", ["line 1", "carriage returns (\\r)"]),
    ("a\nb\nc\r\n", "b\r\nc", ["line 2", "old_string has CRLF"]),
    ("foo\nbar\n", "foo\r", ["line 1", "carriage returns (\\r)"]),
    ("one\ntwo  \nthree\n", "two\nthree", ["trailing white space", "line 2"]),
    ("one\ntwo\nthree\n", "two \nthree", ["trailing white space", "line 2"]),
    ("one\ntwo\n", "two  ", ["trailing white space", "line 2"]),
    (CODE, "    int count = 0;\n    puts(\"Hello\");",
     ["line 3", "tabs where old_string has spaces"]),
    (CODE.replace("\t", "    "), "\tint count = 0;\n\tputs", ["line 3",
                                                              "spaces where old_string has tabs"]),
    (CODE.replace("\t", "  "), "    int count = 0;\n    puts", ["line 3", "different indentation"]),
    (CODE, "Int Count", ["line 3", "letter case"]),
    (CODE, "    INT COUNT = 0;\n    puts", ["line 3", "letter case and white space"]),
    (CODE, "int cuont = 0;", ["closest line is line 3", "int count = 0;"]),
    (CODE, "return counter;", ["closest line is line 5", "return count;"]),
    (CODE, "{\n\tint count = 1;\n\tputs(\"Hello\");", ["line 3", "int count = 0;"]),
    (CODE, "\tputs(\"Hello\");\n\treturn 0;\n", ["begins at line 4", "line 5: return count;"]),
    ("hello\nagain\n", "agian", ["closest line is line 2: again"]),
    (CODE, "~~~~", ["No line"]),
    (CODE, " \n \n", ["No line"]),
    ("", "x", ["empty"]),
    ("x" * 500 + " tail\n", "x" * 400 + " toil", ["line 1", "..."]),
]


class EditTest(ScratchTest):
    def edit(self, path, old, new, replace_all=None, **how):
        params = {"file_path": path, "old_string": old, "new_string": new,
                  "replace_all": replace_all}
        how.setdefault("cwd", self.dir)
        return run_tool("file_edit", params, **how)


class Schema(unittest.TestCase):
    def test_schema(self):
        done = subprocess.run([support.tool_path("file_edit"), "--schema"], stdout=subprocess.PIPE)
        schema = json.loads(done.stdout)
        self.assertEqual(schema["name"], "file_edit")
        self.assertEqual(schema["description"], "Edit a file by replacing exact text matches. "
                                                "You must read the file before editing.")
        self.assertEqual(schema["parameters"], {
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "Absolute or relative path to file"},
                "old_string": {"type": "string", "description": "Exact text to find and replace"},
                "new_string": {"type": "string", "description": "Text to replace old_string with"},
                "replace_all": {"type": "boolean", "description":
                                "Replace all occurrences (default: false, fails if not unique)"}},
            "required": ["file_path", "old_string", "new_string"]})
        self.assertNotIn("parallel", schema)
        self.assertEqual(schema["returns"]["required"], ["output", "replacements"])


class Editing(EditTest):
    def test_file_larger_than_256_megabytes(self):
        with open(self.path("f"), "wb") as f:
            f.truncate(300 * 1024 * 1024)
            f.seek(0, os.SEEK_END)
            f.write(b"needle")
        self.assertEqual(self.edit("f", "needle", "pin"),
                         {"output": "Replaced 1 occurrence in f", "replacements": 1})
        with open(self.path("f"), "rb") as f:
            f.seek(-4, os.SEEK_END)
            self.assertEqual(f.read(), b"\0pin")

    def test_edits(self):
        for before, old, new, replace_all, after, count in EDITS:
            with self.subTest(before=before[:30], old=old):
                path = self.write("config.txt", before)
                noun = "occurrence" if count == 1 else "occurrences"
                self.assertEqual(self.edit(path, old, new, replace_all),
                                 {"output": f"Replaced {count} {noun} in config.txt",
                                  "replacements": count})
                self.assertEqual(self.read("config.txt"), after)
                self.assertEqual(os.listdir(self.dir), ["config.txt"])

    def test_failures(self):
        for before, old, error, code in FAILURES:
            for replace_all in (None, False):
                with self.subTest(before=before, old=old):
                    path = self.write("f", before)
                    answer = self.edit(path, old, "new", replace_all)
                    self.assertEqual((answer["error"], answer["error_code"]), (error, code))
                    self.assertEqual("hint" in answer, code == "NOT_FOUND")
                    self.assertEqual(self.read("f"), before)

    def test_bad_parameters(self):
        self.write("f", "a")
        for params, error in BAD:
            with self.subTest(params=params):
                self.assertEqual(run_tool("file_edit", params, cwd=self.dir),
                                 {"error": error, "error_code": "INVALID_ARG"})

    def test_nothing_to_replace_touches_nothing(self):
        path = self.write("f", "text", mode=0o444)
        before = os.stat(path)
        self.assertEqual(self.edit(path, "q", "y", True)["replacements"], 0)
        after = os.stat(path)
        self.assertEqual((before.st_ino, before.st_mtime_ns, before.st_ctime_ns),
                         (after.st_ino, after.st_mtime_ns, after.st_ctime_ns))

    def test_mode_symlink_and_hard_link(self):
        path = self.write("f", "one", mode=0o751)
        os.symlink("f", self.path("link"))
        self.assertEqual(self.edit("link", "one", "two")["output"],
                         "Replaced 1 occurrence in link")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o751)
        os.link(path, self.path("hard"))
        self.edit("f", "two", "three")
        self.assertEqual(self.read("hard"), b"three")

    def test_a_large_file(self):
        path = self.write("f", b"some line of text\n" * 1000000 + b"needle\n")
        before = cpu_of_children()
        self.assertEqual(self.edit(path, "needle", "thread")["replacements"], 1)
        self.assertLess(cpu_of_children() - before, 5)
        self.assertTrue(self.read("f").endswith(b"text\nthread\n"))


class Errors(EditTest):
    def expect(self, path, error, code, **how):
        with self.subTest(path=path):
            self.assertEqual(self.edit(path, "old", "new", **how),
                             {"error": f"{error}: {path}", "error_code": code})

    def test_what_cannot_be_edited(self):
        self.write("f", "old")
        os.mkdir(self.path("folder"))
        os.mkfifo(self.path("fifo"))
        os.symlink("nowhere", self.path("dangling"))
        self.expect("", "File not found", "FILE_NOT_FOUND")
        self.expect("missing", "File not found", "FILE_NOT_FOUND")
        self.expect("dangling", "File not found", "FILE_NOT_FOUND")
        for path in ("folder", "fifo", "f/below", "/dev/zero", "/dev/null", "x" * 300):
            self.expect(path, "Cannot open file", "OPEN_FAILED")
        self.expect("/proc/self/mem", "Failed to read file", "READ_FAILED")

    def test_permission(self):
        self.write("f", "old", mode=0o444)
        self.expect("f", "Permission denied", "PERMISSION_DENIED")
        self.assertEqual(self.read("f"), b"old")

    @unittest.skipUnless(ROOT, "needs root to become another user")
    def test_permission_of_a_user(self):
        os.chmod(self.dir, 0o777)
        self.write("readable", "old", mode=0o644)
        self.write("hidden", "old", mode=0o600)
        for path in ("readable", "hidden"):
            self.expect(path, "Permission denied", "PERMISSION_DENIED", uid=support.NOBODY)
            self.assertEqual(self.read(path), b"old")

    def test_disk_full(self):
        self.write("f", "old")
        done = subprocess.run(
            ["strace", "-o", "/dev/null", "-e", "inject=fsync:error=ENOSPC:when=1",
             support.tool_path("file_edit")], cwd=self.dir, stdout=subprocess.PIPE,
            env=support.clean_env(ASAN_OPTIONS="detect_leaks=0"),
            input=b'{"file_path":"f","old_string":"old","new_string":"new"}')
        self.assertEqual(json.loads(done.stdout), {"error": "No space left on device: f",
                                                   "error_code": "NO_SPACE"})
        self.assertEqual(self.read("f"), b"old")


class Changed(EditTest):
    """Another program writes the file between reading and replacing."""

    def edit_slowly(self, change, path="f"):
        """The first fsync, after reading and before the rename, takes half a second."""
        process = subprocess.Popen(
            ["strace", "-o", "/dev/null", "-e", "inject=fsync:delay_enter=500000:when=1",
             support.tool_path("file_edit")], cwd=self.dir, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=support.clean_env(ASAN_OPTIONS="detect_leaks=0"))
        timer = threading.Timer(0.25, change)
        timer.start()
        params = {"file_path": path, "old_string": "old", "new_string": "new"}
        out, _ = process.communicate(json.dumps(params).encode())
        timer.join()
        return json.loads(out)

    def check_refused(self, answer):
        self.assertEqual(answer["error_code"], "WRITE_FAILED")
        self.assertIn("read it again", answer["error"])

    def test_unchanged(self):
        self.write("f", "old")
        self.assertEqual(self.edit_slowly(lambda: None)["replacements"], 1)

    def test_written_in_place(self):
        self.write("f", "old")
        self.check_refused(self.edit_slowly(lambda: self.write("f", "odd")))
        self.assertEqual(self.read("f"), b"odd")
        self.assertEqual(os.listdir(self.dir), ["f"])

    def test_replaced(self):
        self.write("f", "old")
        other = self.write("other", "odd")
        self.check_refused(self.edit_slowly(lambda: os.rename(other, self.path("f"))))
        self.assertEqual(self.read("f"), b"odd")

    def test_removed(self):
        path = self.write("f", "old")
        self.check_refused(self.edit_slowly(lambda: os.remove(path)))
        self.assertEqual(os.listdir(self.dir), [])

    def test_mode_changed(self):
        path = self.write("f", "old")
        self.check_refused(self.edit_slowly(lambda: os.chmod(path, 0o600)))
        self.assertEqual(self.read("f"), b"old")


class Limits(EditTest):
    """Files of up to 1 GB and results of up to 2 GB, and an error instead of the memory beyond."""

    def refused(self, params, error):
        before = os.stat(self.path("f"))
        answer, peak = support.run_tool_measured("file_edit", {"file_path": "f", **params},
                                                 cwd=self.dir)
        self.assertEqual(answer, {"error": error, "error_code": "SIZE_FAILED"})
        self.assertLess(peak, 100 << 20)
        after = os.stat(self.path("f"))
        self.assertEqual((before.st_ino, before.st_mtime_ns), (after.st_ino, after.st_mtime_ns))

    def test_file_too_large(self):
        for size in ((1 << 30) + 1, 100 << 30):
            with open(self.path("f"), "wb") as f:
                f.truncate(size)
            self.refused({"old_string": "a", "new_string": "b"}, "File is larger than 1 GB: f")

    def test_result_too_large(self):
        self.write("f", b"a" * (20 << 20))
        self.refused({"old_string": "a", "new_string": "b" * 512, "replace_all": True},
                     f"The edited file would have {512 * (20 << 20)} bytes, more than 2 GB: f")


class Hints(EditTest):
    def test_hints(self):
        for content, old, parts in HINTS:
            with self.subTest(old=old, parts=parts):
                path = self.write("f", content)
                answer = self.edit(path, old, "new")
                self.assertEqual(list(answer), ["error", "error_code", "hint"])
                for part in parts:
                    self.assertIn(part, answer["hint"])
                self.assertLess(len(answer["hint"]), 400)

    def test_hints_are_cheap(self):
        contents = {
            "one line": b"ab" * 3000000,
            "short lines": b"ab\n" * 2000000,
            "empty lines": b"\n" * 6000000,
            "blanks": b" " * 6000000,
            "crlf": b"ab\r\n" * 1500000,
            "random": os.urandom(6000000),
        }
        needles = ["abab" * 1000 + "c", "ab\n" * 1000 + "ac", "x", " " * 1000 + "x", "\n\n\nx\n\n"]
        for name, content in contents.items():
            path = self.write("f", content)
            for old in needles:
                with self.subTest(content=name, old=old[:20]):
                    before = cpu_of_children()
                    answer = self.edit(path, old, "new")
                    if "error_code" in answer:
                        self.assertIn(answer["error_code"], ("NOT_FOUND", "NOT_UNIQUE"))
                    self.assertLess(cpu_of_children() - before, 8)

    def test_foreign_bytes_in_a_hint(self):
        path = self.write("f", b"caf\xe9 au lait \x01\n")
        answer = self.edit(path, "cafe au lait", "x")
        self.assertIn("caf\ufffd au lait", answer["hint"])


if __name__ == "__main__":
    unittest.main()
