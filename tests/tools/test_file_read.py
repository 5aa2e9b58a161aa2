"""file_read: whole files, ranges of lines, limits, and everything that is not a plain file."""
import base64
import json
import os
import pty
import socket
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import support
from support import ScratchTest, run_tool

LINES = "one\ntwo\nthree\nfour"

# (content, parameters, output)
CASES = [
    (b"", {}, ""),
    (b"\n", {}, "\n"),
    (b"hello\n", {}, "hello\n"),
    (b"no newline", {}, "no newline"),
    (b"a\r\nb\r\n", {}, "a\r\nb\r\n"),
    (b"\xef\xbb\xbfbom\n", {}, "\ufeffbom\n"),
    (b"nul \0 nul", {}, "nul \0 nul"),
    (b"latin \xe9 1", {}, "latin \ufffd 1"),
    (b"cut \xf0\x9f\x98", {}, "cut \ufffd"),
    ("\u00e9\u20ac\U0001f600".encode(), {}, "\u00e9\u20ac\U0001f600"),
    (LINES, {"offset": 1}, LINES),
    (LINES, {"offset": 2}, "two\nthree\nfour"),
    (LINES, {"offset": 4}, "four"),
    (LINES, {"offset": 5}, ""),
    (LINES, {"offset": 9223372036854775807}, ""),
    (LINES, {"limit": 1}, "one\n"),
    (LINES, {"limit": 3}, "one\ntwo\nthree\n"),
    (LINES, {"limit": 4}, LINES),
    (LINES, {"limit": 9223372036854775807}, LINES),
    (LINES, {"offset": 2, "limit": 2}, "two\nthree\n"),
    (LINES, {"offset": 4, "limit": 2}, "four"),
    (LINES, {"offset": 9223372036854775807, "limit": 9223372036854775807}, ""),
    (LINES, {"offset": None, "limit": None}, LINES),
    (LINES, {"offset": 2.0, "limit": 1.0}, "two\n"),
    (LINES + "\n", {"offset": 5}, ""),
    ("\n\n\n", {"offset": 2, "limit": 1}, "\n"),
    ("\n" * 10000 + "x\n", {"offset": 10001}, "x\n"),
    ("y" * 300000 + "\nx\n", {"offset": 2}, "x\n"),
    ("y" * 300000 + "\nx\n", {"limit": 1}, "y" * 300000 + "\n"),
]

BAD = [
    ({}, "Missing required parameter 'file_path'"),
    ({"file_path": 7}, "Parameter 'file_path' must be a string"),
    ({"file_path": "a\0b"}, "Parameter 'file_path' must not contain a NUL character"),
    ({"file_path": "f", "offset": 0}, "Parameter 'offset' must be at least 1"),
    ({"file_path": "f", "offset": -3}, "Parameter 'offset' must be at least 1"),
    ({"file_path": "f", "limit": 0}, "Parameter 'limit' must be at least 1"),
    ({"file_path": "f", "limit": "2"}, "Parameter 'limit' must be an integer"),
    ({"file_path": "f", "offset": 1.5}, "Parameter 'offset' must be an integer"),
]


class Schema(unittest.TestCase):
    def test_schema(self):
        done = subprocess.run([support.tool_path("file_read"), "--schema"], stdout=subprocess.PIPE)
        schema = json.loads(done.stdout)
        self.assertEqual(schema["name"], "file_read")
        self.assertEqual(schema["description"], "Read contents of a file")
        self.assertEqual(schema["parameters"], {
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "Absolute or relative path to file"},
                "offset": {"type": "integer",
                           "description": "Line number to start reading from (1-based)"},
                "limit": {"type": "integer", "description": "Number of lines to read"}},
            "required": ["file_path"]})
        self.assertIs(schema["parallel"], True)
        self.assertEqual(schema["returns"]["required"], ["output"])


class Reading(ScratchTest):
    def test_cases(self):
        for content, params, output in CASES:
            with self.subTest(content=content[:40], params=params):
                path = self.write("f", content)
                self.assertEqual(run_tool("file_read", {"file_path": path, **params}),
                                 {"output": output})

    def test_bad_parameters(self):
        for params, error in BAD:
            with self.subTest(params=params):
                self.assertEqual(run_tool("file_read", params),
                                 {"error": error, "error_code": "INVALID_ARG"})

    def test_relative_path_and_symlink(self):
        self.write("sub/f", "text")
        os.symlink("sub/f", self.path("link"))
        for path in ("sub/f", "./sub/../sub/f", "link"):
            self.assertEqual(run_tool("file_read", {"file_path": path}, cwd=self.dir),
                             {"output": "text"})

    def test_every_range_of_a_file(self):
        lines = [f"line {i}" + "x" * (i * 37 % 200) + "\n" for i in range(1, 40)]
        path = self.write("f", "".join(lines))
        for offset in range(1, 42, 3):
            for limit in (1, 2, 7, 40):
                answer = run_tool("file_read",
                                  {"file_path": path, "offset": offset, "limit": limit})
                self.assertEqual(answer["output"], "".join(lines[offset - 1:offset - 1 + limit]))

    def test_proc(self):
        answer = run_tool("file_read", {"file_path": "/proc/version"})
        self.assertTrue(answer["output"].startswith("Linux version"))
        answer = run_tool("file_read", {"file_path": "/proc/meminfo", "offset": 2, "limit": 1})
        self.assertTrue(answer["output"].startswith("MemFree:"))

    def test_null_device(self):
        self.assertEqual(run_tool("file_read", {"file_path": "/dev/null"}), {"output": ""})


class Errors(ScratchTest):
    def expect(self, path, error, code, **how):
        with self.subTest(path=path):
            self.assertEqual(run_tool("file_read", {"file_path": path}, **how),
                             {"error": f"{error}: {path}", "error_code": code})

    def test_files_that_cannot_be_opened(self):
        self.write("f", "x")
        os.symlink("nowhere", self.path("dangling"))
        os.symlink("loop", self.path("loop"))
        self.expect("", "File not found", "FILE_NOT_FOUND", cwd=self.dir)
        self.expect("missing", "File not found", "FILE_NOT_FOUND", cwd=self.dir)
        self.expect("no/such/folder", "File not found", "FILE_NOT_FOUND", cwd=self.dir)
        self.expect("dangling", "File not found", "FILE_NOT_FOUND", cwd=self.dir)
        self.expect("loop", "Cannot open file", "OPEN_FAILED", cwd=self.dir)
        self.expect("f/below", "Cannot open file", "OPEN_FAILED", cwd=self.dir)
        self.expect("x" * 300, "Cannot open file", "OPEN_FAILED", cwd=self.dir)
        self.expect("/" + "x/" * 3000, "Cannot open file", "OPEN_FAILED")

    def test_permission(self):
        path = self.write("secret", "x", mode=0)
        self.write("closed/f", "x")
        os.chmod(self.path("closed"), 0)
        user = support.NOBODY if os.getuid() == 0 else None
        self.expect(path, "Permission denied", "PERMISSION_DENIED", uid=user)
        self.expect(self.path("closed/f"), "Permission denied", "PERMISSION_DENIED", uid=user)

    def test_folders(self):
        self.expect(self.dir, "Cannot open file", "OPEN_FAILED")
        self.expect("/", "Cannot open file", "OPEN_FAILED")

    def test_pipes_and_sockets(self):
        os.mkfifo(self.path("fifo"))
        self.expect(self.path("fifo"), "Cannot seek file", "SEEK_FAILED")
        held = os.open(self.path("fifo"), os.O_RDWR)
        self.expect(self.path("fifo"), "Cannot seek file", "SEEK_FAILED")
        os.close(held)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path("socket"))
        self.expect(self.path("socket"), "Cannot seek file", "SEEK_FAILED")
        listener.close()
        self.expect("/dev/stdin", "Cannot seek file", "SEEK_FAILED")

    def test_endless_devices(self):
        for device in ("/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"):
            self.expect(device, "Cannot get file size", "SIZE_FAILED")
        main, other = pty.openpty()
        self.expect(os.ttyname(other), "Cannot get file size", "SIZE_FAILED")
        os.close(main)
        os.close(other)

    def test_read_error(self):
        self.expect("/proc/self/mem", "Failed to read file", "READ_FAILED")


class Limit(ScratchTest):
    def limited(self, path, most, **params):
        return run_tool("file_read", {"file_path": path, **params}, env={"IKIGAI_MAX_OUTPUT": most})

    def test_what_fits_is_whole(self):
        path = self.write("f", "x" * 100)
        self.assertEqual(self.limited(path, 100), {"output": "x" * 100})

    def test_cut(self):
        path = self.write("f", "x" * 101)
        self.assertEqual(self.limited(path, 100),
                         {"output": "x" * 100, "truncated": True, "total_bytes": 101})
        self.assertEqual(self.limited(path, 0),
                         {"output": "", "truncated": True, "total_bytes": 101})

    def test_total_is_that_of_the_wanted_lines(self):
        path = self.write("f", "".join(f"{i:07}\n" for i in range(100000)))
        answer = self.limited(path, 20, offset=11)
        self.assertEqual(answer, {"output": "0000010\n0000011\n0000", "truncated": True,
                                  "total_bytes": 799920})
        answer = self.limited(path, 20, offset=11, limit=50000)
        self.assertEqual(answer["total_bytes"], 400000)
        self.assertEqual(self.limited(path, 20, limit=2), {"output": "0000000\n0000001\n"})

    def test_cut_between_characters(self):
        text = "\u20ac\U0001f600\u00e9" * 50
        path = self.write("f", text)
        for limit in range(0, 30):
            with self.subTest(limit=limit):
                answer = self.limited(path, limit)
                self.assertLessEqual(len(answer["output"].encode()), limit)
                self.assertGreater(len(answer["output"].encode()), limit - 4)
                self.assertTrue(text.startswith(answer["output"]))
                self.assertEqual(answer["total_bytes"], 450)

    def test_replaced_bytes_count_as_what_they_become(self):
        path = self.write("f", b"\xff" * 100)
        answer = self.limited(path, 200)
        self.assertEqual(answer, {"output": "\ufffd" * 66, "truncated": True, "total_bytes": 100})
        self.assertEqual(self.limited(path, 300), {"output": "\ufffd" * 100})

    def test_proc_is_counted(self):
        answer = self.limited("/proc/meminfo", 10)
        self.assertEqual(answer["output"], "MemTotal: ")
        self.assertGreater(answer["total_bytes"], 500)

    def test_a_huge_sparse_file_costs_nothing(self):
        path = self.write("f", "first\n")
        os.truncate(path, 1 << 40)
        answer = self.limited(path, 20)
        self.assertEqual(answer["output"], "first\n" + "\0" * 14)
        self.assertEqual(answer["total_bytes"], 1 << 40)
        self.assertEqual(run_tool("file_read", {"file_path": path, "limit": 1}),
                         {"output": "first\n"})


PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Er"
       "kJggg==")


class Images(ScratchTest):
    def read_image(self, content, name="a.png", **more):
        return run_tool("file_read", {"file_path": self.write(name, content), **more})

    def test_an_image_is_answered_with_its_data(self):
        png = base64.b64decode(PNG)
        for more in ({}, {"offset": 2, "limit": 1}):
            self.assertEqual(self.read_image(png, "a.txt", **more), {
                "output": "image/png, 1x1 pixels, 70 bytes",
                "images": [{"path": self.path("a.txt"), "media_type": "image/png", "data": PNG}]})

    def test_a_damaged_image(self):
        answer = self.read_image(base64.b64decode(PNG)[:20])
        self.assertEqual(answer, {"output": "a damaged image", "images": [
            {"path": self.path("a.png"), "error_code": "INVALID_IMAGE",
             "error": "not a png, jpeg, gif or webp image, or cut off"}]})

    def test_a_file_that_is_too_large_to_be_read(self):
        self.write("a.png", base64.b64decode(PNG))
        os.truncate(self.path("a.png"), 1 << 34)
        answer, usage = support.run_tool_measured("file_read", {"file_path": self.path("a.png")})
        self.assertEqual(answer["images"], [
            {"path": self.path("a.png"), "error_code": "INVALID_IMAGE",
             "error": "17179869184 bytes (22906492248 in base64); at most 3932160 (5242880 in "
                      "base64) are accepted"}])

    def test_text_that_begins_as_an_image_does(self):
        for text in ("GIF89a is a format", "GIF87a\n", "RIFF....WEBP is one, too"):
            self.assertEqual(self.read_image(text.encode()), {"output": text})

    def test_other_files_are_text(self):
        for content in (b"<svg/>", b"%PDF-1.7", b"\x89PN", b""):
            self.assertNotIn("images", self.read_image(content))


class Changing(ScratchTest):
    def test_a_file_that_grows_and_shrinks_meanwhile(self):
        path = self.write("f", "line of text\n" * 100000)
        stop = threading.Event()

        def change():
            while not stop.is_set():
                os.truncate(path, 1000)
                with open(path, "ab") as f:
                    f.write(b"line of text\n" * 100000)
        thread = threading.Thread(target=change)
        thread.start()
        try:
            for i in range(40):
                params = {"offset": 500, "limit": 90000} if i % 2 else {}
                answer = run_tool("file_read", {"file_path": path, **params},
                                  env={"IKIGAI_MAX_OUTPUT": 500000} if i % 3 else {})
                self.assertIn("output", answer)
        finally:
            stop.set()
            thread.join()


if __name__ == "__main__":
    unittest.main()
