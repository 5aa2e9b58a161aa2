"""io/http against servers that behave and servers that do not, through http_driver.c, which makes
the requests and reports what came of them. All servers are on 127.0.0.1."""
import gzip
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import unittest
import zlib

from http_peer import CHUNKED, Server, answering, echo, hold, speak_http2
from support import OBJECTS, PATIENCE, ScratchTest, clean_env, need_mounts

DRIVER = os.path.join(OBJECTS, "tests", "e2e", "http_driver")
KEY = "sk-canary-0123456789"
SYSTEM_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
SOON = 0.3  # seconds; a limit that a test waits for


class DriverTest(ScratchTest):
    """Tests of a driver that runs under `wrap` (nothing, or valgrind), which `before` starts."""
    wrap = []
    before = []

    def setUp(self):
        super().setUp()
        self.assertTrue(os.path.exists(DRIVER), "make unit-tests builds http_driver")

    def serve(self, handle=echo, context=None):
        server = Server(handle, context)
        self.addCleanup(server.close)
        return server

    def drive_all(self, steps, env=None, **script):
        """steps: lists of requests; returns all that the driver tells."""
        clean = {k: v for k, v in clean_env(HOME=self.dir).items()
                 if not k.lower().endswith("_proxy") and not k.startswith(("SSL_", "CURL_"))}
        done = subprocess.run(self.before + self.wrap + [DRIVER], cwd=self.dir,
                              env={**clean, **(env or {})},
                              input=json.dumps({"steps": steps, **script}).encode(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-6000:])
        return json.loads(done.stdout)

    def drive(self, *steps, **more):
        """The report of every request, in order; a step of one request needs no list."""
        steps = [step if isinstance(step, list) else [step] for step in steps]
        return [report for step in self.drive_all(steps, **more)["steps"] for report in step]

    def one(self, url, env=None, **request):
        return self.drive({"url": url, **request}, env=env)[0]

    def fails(self, outcome, message, url, answered=False, **request):
        """The request must end so; message: what must stand in it."""
        report = self.one(url, **request)
        self.assertEqual(report["outcome"], outcome, report)
        self.assertIn(message, report["message"])
        self.assertNotIn("\n", report["message"])
        self.assertEqual((report["heads"], report["ends"]), (int(answered), 1), report)
        return report


class Requests(DriverTest):
    def test_parts_are_the_body(self):
        server = self.serve()
        report = self.one(server.url("/v1/x?y=z"), parts=["one ", "", "two ", "three", ""],
                          headers=["Content-Type: application/json", f"Authorization: {KEY}"])
        self.assertEqual(report["outcome"], "DONE", report)
        self.assertEqual((report["status"], report["body"]), (200, "one two three"))
        request = server.requests[0]
        self.assertEqual(request.line, "POST /v1/x?y=z HTTP/1.1")
        self.assertEqual(request.headers["content-length"], "13")
        self.assertEqual(request.headers["content-type"], "application/json")
        self.assertEqual(request.headers["authorization"], KEY)
        for absent in ("expect", "transfer-encoding", "cookie"):
            self.assertNotIn(absent, request.headers)

    def test_without_parts_it_is_a_get(self):
        server = self.serve()
        report = self.one(server.url())
        self.assertEqual((report["outcome"], report["body"]), ("DONE", "hello"))
        self.assertEqual(server.requests[0].line, "GET / HTTP/1.1")

    def test_an_empty_body(self):
        server = self.serve()
        self.assertEqual(self.one(server.url(), parts=[""])["outcome"], "DONE")
        self.assertEqual(server.requests[0].line, "POST / HTTP/1.1")
        self.assertEqual(server.requests[0].headers["content-length"], "0")

    def test_a_large_body(self):
        server = self.serve()
        report = self.one(server.url(), parts=["begin"], fill=20_000_000)
        self.assertEqual((report["outcome"], report["body_len"]), ("DONE", 20_000_005))
        self.assertEqual(server.requests[0].body, b"begin" + b"x" * 20_000_000)
        self.assertNotIn("expect", server.requests[0].headers)

    def test_a_line_break_does_not_end_the_headers(self):
        server = self.serve()
        self.one(server.url(), parts=["body"],
                 headers=[f"Authorization: {KEY}\n", "X-A: 1\r\nX-B: 2"])
        headers = server.requests[0].headers
        self.assertEqual(headers["authorization"], KEY)
        self.assertEqual(headers["x-a"], "1")
        self.assertNotIn("x-b", headers)
        self.assertEqual(server.requests[0].body, b"body")

    def test_nothing_of_the_users_files_is_used_or_written(self):
        self.write(".netrc", "machine 127.0.0.1 login canary password canary\n", 0o600)

        def handle(connection):
            for _ in range(2):
                connection.request()
                connection.answer("x", "200 OK", "Set-Cookie: a=b", "Alt-Svc: h2=\":1\"")
        server = self.serve(handle)
        self.drive({"url": server.url()}, {"url": server.url()})
        self.assertEqual(len(server.requests), 2)
        for request in server.requests:
            self.assertFalse({"authorization", "cookie"} & set(request.headers))
        self.assertEqual(os.listdir(self.dir), [".netrc"])

    def test_redirects_are_not_followed(self):
        server = self.serve()
        moved = self.serve(answering(f"HTTP/1.1 307 Moved\r\nLocation: {server.url()}\r\n"
                                     "Content-Length: 0\r\n\r\n"))
        report = self.one(moved.url(), parts=["x"], names=["location"])
        self.assertEqual((report["outcome"], report["status"]), ("DONE", 307))
        self.assertEqual(report["values"]["location"], server.url())
        self.assertEqual(server.connections, 0)

    def test_many_at_once(self):
        server = self.serve()
        reports = self.drive([{"url": server.url(), "parts": [f"body {i}"]} for i in range(20)])
        self.assertEqual([r["body"] for r in reports], [f"body {i}" for i in range(20)])


class Responses(DriverTest):
    def head(self, *lines, names):
        server = self.serve(answering("\r\n".join(lines + ("", "")), "body"))
        report = self.one(server.url(), names=names)
        self.assertEqual((report["outcome"], report["heads"], report["body"]), ("DONE", 1, "body"))
        return report["status"], [report["values"][n] for n in names]

    def test_headers(self):
        status, values = self.head(
            "HTTP/1.1 429 Slow down", "Retry-After:  7 ", "x-twice: 1", "X-Twice: 2", "X-Empty:",
            "X-Tab:\ta: b\t", "X-Twic: 3", "Content-Length: 4",
            names=["retry-after", "RETRY-AFTER", "X-TWICE", "X-Empty", "X-Tab", "Retry", "X-None"])
        self.assertEqual(status, 429)
        self.assertEqual(values, ["7", "7", "2", "", "a: b", None, None])

    def test_interim_responses_are_no_responses(self):
        status, values = self.head(
            "HTTP/1.1 100 Continue", "X-A: interim", "", "HTTP/1.1 103 Early Hints", "X-A: hint",
            "X-B: hint", "", "HTTP/1.1 201 Created", "X-C: 1", "Content-Length: 4",
            names=["X-A", "X-B", "X-C"])
        self.assertEqual((status, values), (201, [None, None, "1"]))

    def test_trailers_are_no_headers(self):
        server = self.serve(answering(CHUNKED, "X-A: head\r\n\r\n", "4\r\nbody\r\n0\r\n",
                                      "X-A: trailer\r\n\r\n"))
        report = self.one(server.url(), names=["X-A"])
        self.assertEqual((report["outcome"], report["heads"]), ("DONE", 1))
        self.assertEqual((report["values"]["X-A"], report["body"]), ("head", "body"))

    def test_a_body_until_the_end_of_the_connection(self):
        server = self.serve(answering("HTTP/1.1 500 Oops\r\n\r\nall of it"))
        report = self.one(server.url())
        self.assertEqual((report["outcome"], report["status"]), ("DONE", 500))
        self.assertEqual(report["body"], "all of it")

    def test_no_body(self):
        server = self.serve(answering("HTTP/1.1 204 No Content\r\n\r\n"))
        report = self.one(server.url())
        self.assertEqual((report["outcome"], report["status"]), ("DONE", 204))
        self.assertEqual((report["heads"], report["pieces"]), (1, 0))

    def test_compressed(self):
        for name, compress in (("gzip", gzip.compress), ("deflate", zlib.compress)):
            with self.subTest(name):
                body = compress(b"hello " * 1000)
                server = self.serve(lambda c, b=body, n=name: (
                    c.request(), c.answer(b, "200 OK", f"Content-Encoding: {n}")))
                report = self.one(server.url())
                self.assertEqual(report["outcome"], "DONE", report)
                self.assertEqual(report["body"], "hello " * 1000)
                self.assertIn(name, server.requests[0].headers["accept-encoding"])

    def test_a_compressed_stream_comes_as_it_is_sent(self):
        """The server goes on only when the client has shown, by a second request, that it has
        the first event."""
        seen = threading.Event()
        packer = zlib.compressobj(wbits=31)

        def handle(connection):
            if connection.request().line.startswith("GET /seen"):
                seen.set()
                connection.answer("x")
                return
            connection.send(CHUNKED, "Content-Encoding: gzip\r\n\r\n")
            connection.chunk(packer.compress(b"data: 1\n\n") + packer.flush(zlib.Z_SYNC_FLUSH))
            if seen.wait(PATIENCE):
                connection.chunk(packer.compress(b"data: 2\n\n") + packer.flush())
                connection.send("0\r\n\r\n")
        server = self.serve(handle)
        stream, other = self.drive([{"url": server.url(), "on_body": {"start": [1]}},
                                    {"url": server.url("/seen"), "waits": True}])
        self.assertEqual((stream["outcome"], other["outcome"]), ("DONE", "DONE"), stream)
        self.assertEqual(stream["body"], "data: 1\n\ndata: 2\n\n")

    def test_one_byte_per_chunk(self):
        stream = "data: {\"a\":1}\r\n\r\n: ping\n\nevent: x\ndata: y\n\ndata: [DONE]\n\n"

        def handle(connection):
            connection.request()
            connection.send(CHUNKED, "\r\n")
            for byte in stream:
                connection.chunk(byte)
            connection.send("0\r\n\r\n")
        server = self.serve(handle)
        plain, events = self.drive([{"url": server.url()}, {"url": server.url(), "sse": True}])
        self.assertEqual((plain["outcome"], plain["body"]), ("DONE", stream))
        self.assertEqual((events["outcome"], events["events"]), ("DONE", 3))

    def test_one_byte_per_packet(self):
        answer = CHUNKED + "X-A: 1\r\n\r\n5\r\nhello\r\n0\r\n\r\n"

        def handle(connection):
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.request()
            for byte in answer:
                connection.send(byte)
                time.sleep(0.001)
        server = self.serve(handle)
        report = self.one(server.url(), names=["X-A"])
        self.assertEqual((report["outcome"], report["body"]), ("DONE", "hello"))
        self.assertEqual(report["values"]["X-A"], "1")


class Connections(DriverTest):
    def flags(self, *reports):
        self.assertEqual({r["outcome"] for r in reports}, {"DONE"}, reports)
        return [r["new_connection"] for r in reports]

    def test_a_connection_is_kept(self):
        server = self.serve()
        reports = self.drive(*({"url": server.url(), "parts": [f"{i}"]} for i in range(5)))
        self.assertEqual(self.flags(*reports), [True, False, False, False, False])
        self.assertEqual([r["body"] for r in reports], list("01234"))
        self.assertEqual(server.connections, 1)

    def test_on_end_can_use_it_again(self):
        server = self.serve()
        reports = self.drive([{"url": server.url(), "on_end": {"start": [1]}},
                              {"url": server.url(), "waits": True}])
        self.assertEqual(self.flags(*reports), [True, False])
        self.assertEqual(server.connections, 1)

    def test_kept_connections_the_server_closed_meanwhile(self):
        def handle(connection):
            connection.request()
            connection.answer("x")
        server = self.serve(handle)
        reports = self.drive(*({"url": server.url(), "parts": ["b"]} for _ in range(3)))
        self.assertEqual(self.flags(*reports), [True, True, True])
        self.assertEqual(server.connections, 3)

    def test_a_kept_connection_dies_under_the_request(self):
        """The server reads the second request and closes without a byte: it is sent again, whole,
        over a new connection."""
        def handle(connection):
            while (request := connection.request()) is not None:
                if len(connection.server.requests) == 2:
                    return
                connection.answer(request.body[-6:])
        server = self.serve(handle)
        first, second = self.drive({"url": server.url(), "parts": ["one"]},
                                   {"url": server.url(), "parts": ["two"], "fill": 300000})
        self.assertEqual(self.flags(first, second), [True, True])
        self.assertEqual(server.connections, 2)
        self.assertEqual([r.body for r in server.requests],
                         [b"one", b"two" + b"x" * 300000, b"two" + b"x" * 300000])

    def test_a_failed_request_spoils_no_later_one(self):
        good, bad = self.serve(), self.serve(answering("nonsense"))
        reports = self.drive({"url": good.url()}, {"url": bad.url()}, {"url": good.url()})
        self.assertEqual([r["outcome"] for r in reports], ["DONE", "BROKEN", "DONE"])
        self.assertFalse(reports[2]["new_connection"])

    def test_nothing_is_left_behind(self):
        server, bad = self.serve(), self.serve(answering("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n"
                                                         "\r\nx"))
        step = [{"url": server.url(), "parts": ["x"]}, {"url": bad.url()},
                {"url": server.url(), "on_head": {"free": [2]}},
                {"url": server.url(), "refuse": 1}]
        figures = self.drive_all([step] * 60, linger_ms=5)["figures"]
        for name in ("blocks", "descriptors"):
            self.assertEqual(figures[10][name], figures[-1][name], name)


class Misbehaviour(DriverTest):
    def broken(self, handle, message, answered=False, **request):
        server = self.serve(handle)
        report = self.fails("BROKEN", message, server.url(), answered, parts=["x"], **request)
        self.assertIn(f"127.0.0.1:{server.port}", report["message"])
        return report

    def test_refused_port(self):
        server = self.serve()
        server.close()
        report = self.fails("NO_CONNECTION", "Connection refused", server.url())
        self.assertEqual(report["message"],
                         f"cannot connect to 127.0.0.1:{server.port}: Connection refused")

    def test_cut_in_the_body(self):
        report = self.broken(answering("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), "",
                             answered=True)
        self.assertEqual(report["body"], "abc")

    def test_cut_in_a_chunk(self):
        report = self.broken(answering(CHUNKED, "\r\n5\r\nab"), "", answered=True)
        self.assertEqual(report["body"], "ab")

    def test_cut_between_chunks(self):
        report = self.broken(answering(CHUNKED, "\r\n2\r\nab\r\n"), "", answered=True)
        self.assertEqual(report["body"], "ab")

    def test_cut_at_every_byte_of_the_head(self):
        head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
        cuts = range(len(head))
        servers = [self.serve(answering(head[:cut])) for cut in cuts]
        reports = self.drive([{"url": s.url(), "parts": ["x"]} for s in servers])
        for cut, report in zip(cuts, reports):
            self.assertEqual((report["outcome"], report["ends"]), ("BROKEN", 1), (cut, report))
            self.assertIn(f"127.0.0.1:{servers[cut].port}", report["message"])
            self.assertEqual(report["heads"], 0, cut)

    def test_reset(self):
        self.broken(answering(reset=True), "")
        self.broken(answering("HTTP/1.1 200 OK\r\n\r\n", "x" * 300000, reset=True), "",
                    answered=True)

    def test_reset_while_sending(self):
        def handle(connection):
            connection.read(1000)
            connection.reset()
        self.broken(handle, "", fill=20_000_000)

    def test_not_http(self):
        self.broken(answering("nonsense\r\n" * 10), "the response is not HTTP")
        self.broken(answering(b"\x00\xff\x1b[31m" * 100), "")
        self.broken(answering("SSH-2.0-OpenSSH_9.2\r\n"), "")
        self.broken(answering("HTTP/1.1 abc\r\n\r\n"), "")

    def test_broken_encodings(self):
        def encoded(*body):
            return answering("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", *body)
        self.broken(encoded("this is not gzip at all, nothing of it"), "", answered=True)
        whole = gzip.compress(b"hello " * 1000)
        self.broken(encoded(whole[:-8], b"wrong sum"), "", answered=True)
        self.broken(answering(CHUNKED, "\r\nzz\r\nab\r\n"), "", answered=True)

    def test_too_many_headers(self):
        lines = "".join(f"X-{i}: {'v' * 1000}\r\n" for i in range(280))
        self.broken(answering("HTTP/1.1 200 OK\r\n", lines, "\r\n"), "header is too large")
        self.broken(answering(("HTTP/1.1 103 Hint\r\n" + lines[:100000] + "\r\n\r\n") * 3),
                    "header is too large")
        self.broken(answering("HTTP/1.1 200 OK\r\nX: ", "v" * 1000000, "\r\n\r\n"),
                    "header is too large")

    def test_many_headers_within_the_limit(self):
        lines = "".join(f"X-{i}: {'v' * 1000}\r\n" for i in range(200))
        server = self.serve(answering("HTTP/1.1 200 OK\r\n", lines, "X-Last: 1\r\n\r\n"))
        report = self.one(server.url(), names=["X-199", "X-Last"])
        self.assertEqual(report["outcome"], "DONE", report)
        self.assertEqual(report["values"], {"X-199": "v" * 1000, "X-Last": "1"})

    def test_urls_that_cannot_be_used(self):
        for url in ("", "http://", "http://127.0.0.1:99999/", "http://[::1/", "http://a b/",
                    "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/",
                    f"nonsense://{KEY}@127.0.0.1/"):
            with self.subTest(url):
                self.fails("BAD_REQUEST", "the URL cannot be used", url)

    def test_messages_hold_no_secrets(self):
        closed, open_port = self.serve(), self.serve(answering("nonsense"))
        closed.close()
        silent = self.serve(hold)
        secret = [f"Authorization: Bearer {KEY}"]
        for server in (closed, open_port, silent):
            for url in (server.url(f"/?key={KEY}").replace("//", f"//user:{KEY}@", 1),
                        server.url(f"/{KEY}", "https").replace("//", f"//{KEY}@", 1)):
                with self.subTest(url):
                    report = self.one(url, headers=secret, connect_ms=300, silence_ms=300,
                                      parts=[KEY])
                    self.assertNotIn(KEY, report["message"])
                    self.assertIn(f"127.0.0.1:{server.port}", report["message"])


class Watchdogs(DriverTest):
    def timed(self, outcome, message, server, answered=False, **request):
        begin = time.monotonic()
        report = self.fails(outcome, message, server.url(), answered, **request)
        self.assertGreaterEqual(time.monotonic() - begin, SOON)
        return report

    def test_no_connection(self):
        """A listener whose queue is full does not even refuse."""
        listener = socket.socket()
        self.addCleanup(listener.close)
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(8):
            filler = socket.socket()
            self.addCleanup(filler.close)
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        port = listener.getsockname()[1]
        begin = time.monotonic()
        report = self.fails("CONNECT_TIMEOUT", "within 0.3 s", f"http://127.0.0.1:{port}/",
                            connect_ms=300)
        self.assertGreaterEqual(time.monotonic() - begin, SOON)
        self.assertLess(time.monotonic() - begin, PATIENCE)
        self.assertIn(f"127.0.0.1:{port}", report["message"])

    def test_no_handshake(self):
        """As long as it connects, the other limit is not in force."""
        server = self.serve(hold)
        self.fails("CONNECT_TIMEOUT", "within 1 s", server.url("/", "https"), connect_ms=1000,
                   silence_ms=100)

    def test_no_first_byte(self):
        server = self.serve(hold)
        self.timed("SILENT", "for 0.3 s", server, parts=["x"], silence_ms=300)
        self.timed("SILENT", f"127.0.0.1:{server.port}", server, silence_ms=300)

    def test_silence_in_the_body(self):
        def handle(connection):
            connection.request()
            connection.send(CHUNKED, "\r\n5\r\nhello\r\n")
            connection.server.released.wait()
        report = self.timed("SILENT", "for 0.3 s", self.serve(handle), True, silence_ms=300)
        self.assertEqual(report["body"], "hello")

    def test_silence_of_one_of_two(self):
        good, silent = self.serve(), self.serve(hold)
        reports = self.drive([{"url": silent.url(), "silence_ms": 300}, {"url": good.url()}],
                             {"url": good.url()})
        self.assertEqual([r["outcome"] for r in reports], ["SILENT", "DONE", "DONE"])

    def test_every_byte_is_a_sign_of_life(self):
        """Slower than the limit as a whole, but never silent for so long."""
        def handle(connection):
            connection.request()
            for piece in [CHUNKED, "\r\n"] + ["1\r\nx\r\n"] * 8 + ["0\r\n\r\n"]:
                connection.send(piece)
                time.sleep(0.2)
        report = self.one(self.serve(handle).url(), silence_ms=1500)
        self.assertEqual((report["outcome"], report["body"]), ("DONE", "x" * 8), report)

    def test_bytes_that_are_sent_count_too(self):
        def handle(connection):
            head = connection.read_head()
            left = int(head.headers["content-length"])
            while left > 0:
                left -= len(connection.read(min(left, 2_000_000)))
                time.sleep(0.1)
            connection.answer("x")
        report = self.one(self.serve(handle).url(), fill=40_000_000, silence_ms=1500)
        self.assertEqual(report["outcome"], "DONE", report)

    def test_a_server_that_does_not_read(self):
        report = self.timed("SILENT", "", self.serve(hold), fill=40_000_000, silence_ms=300)
        self.assertEqual(report["heads"], 0)


class Stopping(DriverTest):
    def ends(self, *reports):
        return [(r.get("outcome"), r.get("freed", False), r["ends"]) for r in reports]

    def stream(self):
        """A server whose response never ends."""
        def handle(connection):
            if connection.request().line.startswith("GET /short"):
                connection.answer("x")
                return
            connection.send(CHUNKED, "\r\n")
            while not connection.server.released.wait(0.005):
                connection.chunk("x" * 1000)
        return self.serve(handle)

    FREED = (None, True, 0)
    DONE = ("DONE", False, 1)

    def test_refusing_the_body(self):
        server = self.stream()
        for piece in (1, 3):
            with self.subTest(piece):
                report, after = self.drive({"url": server.url(), "refuse": piece},
                                           {"url": server.url("/short")})
                self.assertEqual(report["outcome"], "REFUSED")
                self.assertIn("refused", report["message"])
                self.assertEqual((report["pieces"], report["ends"]), (piece, 1))
                self.assertEqual(after["outcome"], "DONE")

    def test_freeing_in_each_callback(self):
        server = self.stream()
        for moment in ("on_start", "on_head", "on_body"):
            with self.subTest(moment):
                reports = self.drive({"url": server.url(), moment: {"free": [0]}, "parts": ["x"]},
                                     {"url": server.url(), moment: {"free": [0]}},
                                     {"url": server.url("/short")})
                self.assertEqual(self.ends(*reports), [self.FREED, self.FREED, self.DONE])

    def test_freeing_in_on_end(self):
        reports = self.drive({"url": self.serve().url(), "on_end": {"free": [0]}},
                             {"url": "http://127.0.0.1:99999", "on_end": {"free": [0]}},
                             {"url": self.serve(hold).url(), "silence_ms": 100,
                              "on_end": {"free": [0]}})
        self.assertEqual(self.ends(*reports), [("DONE", True, 1), ("BAD_REQUEST", True, 1),
                                               ("SILENT", True, 1)])

    def test_freeing_another(self):
        server = self.stream()
        for moment in ("on_head", "on_body", "on_end"):
            with self.subTest(moment):
                path = "/short" if moment == "on_end" else "/"
                free = {"free": [0, 2] if moment == "on_end" else [0, 1, 2]}
                reports = self.drive([{"url": server.url()},
                                      {"url": server.url(path), moment: free},
                                      {"url": server.url(), "fill": 3_000_000}],
                                     {"url": server.url("/short")})
                self.assertEqual(self.ends(reports[0], reports[2], reports[3]),
                                 [self.FREED, self.FREED, self.DONE])

    def test_freeing_while_sending(self):
        silent, server = self.serve(hold), self.stream()
        reports = self.drive([{"url": silent.url(), "fill": 30_000_000},
                              {"url": server.url(), "on_body": {"free": [0, 1]}}],
                             {"url": server.url("/short")})
        self.assertEqual(self.ends(*reports), [self.FREED, self.FREED, self.DONE])

    def test_starting_from_each_callback(self):
        server = self.serve()
        for moment in ("on_start", "on_head", "on_body", "on_end"):
            with self.subTest(moment):
                reports = self.drive([{"url": server.url(), moment: {"start": [1, 2]}},
                                      {"url": server.url(), "waits": True, "parts": ["1"]},
                                      {"url": server.url(), "waits": True, "parts": ["2"]}])
                self.assertEqual(self.ends(*reports), [self.DONE] * 3)
                self.assertEqual([r["body"] for r in reports], ["hello", "1", "2"])

    def test_started_and_freed_at_once_from_a_callback(self):
        server = self.stream()
        first, second = self.drive(
            [{"url": server.url(), "on_body": {"start": [1], "free": [0, 1]}},
             {"url": server.url(), "waits": True}])
        self.assertEqual(self.ends(first, second), [self.FREED, self.FREED])

    def test_freeing_while_the_library_is_loaded(self):
        """With linger_ms 0 the loop does not run at all before everything is freed."""
        server = self.serve()
        for linger_ms in (0, 100):
            with self.subTest(linger_ms):
                reports = self.drive([{"url": server.url(), "on_start": {"free": [0]}}],
                                     linger_ms=linger_ms)
                self.assertEqual(self.ends(*reports), [self.FREED])
        reports = self.drive([{"url": server.url(), "on_start": {"free": [0]}},
                              {"url": server.url()}])
        self.assertEqual(self.ends(*reports), [self.FREED, self.DONE])
        self.assertEqual(server.connections, 1)


def pump(source, target):
    """Copies until the end of either."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def be_proxy(connection):
    """Answers requests in absolute form itself, and tunnels."""
    request = connection.request()
    if not request.line.startswith("CONNECT "):
        connection.answer("from the proxy")
        return
    host, port = request.line.split()[1].split(":")
    with socket.create_connection((host, int(port))) as target:
        connection.send("HTTP/1.1 200 Tunnel\r\nX-Proxy: 1\r\n\r\n")
        back = threading.Thread(target=pump, args=(target, connection.sock))
        back.start()
        pump(connection.sock, target)
        back.join()


class Proxies(DriverTest):
    def test_http_proxy(self):
        proxy, server = self.serve(be_proxy), self.serve()
        report = self.one(server.url("/path"), env={"http_proxy": proxy.url()}, parts=["x"])
        self.assertEqual((report["outcome"], report["body"]), ("DONE", "from the proxy"))
        self.assertEqual(proxy.requests[0].line, f"POST {server.url('/path')} HTTP/1.1")
        self.assertEqual(server.connections, 0)

    def test_no_proxy(self):
        proxy, server = self.serve(be_proxy), self.serve()
        report = self.one(server.url(), env={"http_proxy": proxy.url(), "no_proxy": "127.0.0.1"})
        self.assertEqual(report["body"], "hello")
        self.assertEqual(proxy.connections, 0)

    def test_a_proxy_that_is_not_there(self):
        proxy, server = self.serve(be_proxy), self.serve()
        proxy.close()
        url = f"http://user:{KEY}@localhost:{proxy.port}"
        report = self.fails("NO_CONNECTION", "localhost", server.url(), env={"http_proxy": url})
        self.assertIn(f"127.0.0.1:{server.port}", report["message"])
        self.assertNotIn(KEY, report["message"])

    def test_a_proxy_that_cannot_be(self):
        for scheme in ("nonsense://", "http://a b"):
            url = f"{scheme}user:{KEY}@127.0.0.1:1"
            report = self.fails("NO_CONNECTION", "", self.serve().url(), env={"http_proxy": url})
            self.assertNotIn(KEY, report["message"])


RESOLVER = """
#include <netdb.h>
#include <string.h>
#include <unistd.h>

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **result)
{
    (void)service, (void)hints, (void)result;
    sleep(strcmp(node, "hangs.invalid") == 0 ? 120 : 0);
    return EAI_NONAME;
}
"""


class Names(DriverTest):
    """With a resolver that asks no server."""

    def setUp(self):
        super().setUp()
        source, library = self.write("resolver.c", RESOLVER), self.path("resolver.so")
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library, source],
                       check=True)
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        self.env = {"LD_PRELOAD": library, "ASAN_OPTIONS": sanitizer}

    def test_a_name_nobody_knows(self):
        report = self.fails("NO_CONNECTION", "", "http://unknown.invalid/x", env=self.env)
        self.assertEqual(report["message"], "cannot connect to unknown.invalid:80: "
                         "Could not resolve host: unknown.invalid")

    def test_a_resolver_that_hangs(self):
        """Neither the end of the request nor freeing it waits for the resolver."""
        begin = time.monotonic()
        url = "http://hangs.invalid/"
        self.fails("CONNECT_TIMEOUT", "hangs.invalid:80", url, connect_ms=300, env=self.env)
        server = self.serve()
        reports = self.drive([{"url": url}, {"url": server.url(), "on_end": {"free": [0]}}],
                             env=self.env)
        self.assertTrue(reports[0]["freed"])
        self.assertLess(time.monotonic() - begin, 90)


@unittest.skipUnless(shutil.which("openssl"), "needs openssl to make a certificate")
class Tls(DriverTest):
    def setUp(self):
        super().setUp()
        self.make_certificate("127.0.0.1")

    def make_certificate(self, address):
        self.certificate, key = self.path("cert.pem"), self.path("key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test",
                        "-addext", f"subjectAltName=IP:{address}", "-keyout", key, "-out",
                        self.certificate], check=True, stderr=subprocess.DEVNULL)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key)
        self.trust = {"SSL_CERT_FILE": self.certificate}

    def hashed_folder(self):
        folder = self.path("folder")
        os.mkdir(folder)
        shutil.copy(self.certificate, folder)
        subprocess.run(["openssl", "rehash", folder], check=True)
        return folder

    def test_a_certificate_nobody_trusts(self):
        server = self.serve(context=self.context)
        report = self.fails("TLS", "certificate", server.url("/", "https"), parts=[KEY])
        self.assertFalse(report["cut"])
        self.assertIn(f"127.0.0.1:{server.port}", report["message"])
        self.assertEqual(server.requests, [])

    def test_the_variables_about_certificates(self):
        folder = self.hashed_folder()
        server = self.serve(context=self.context)
        url = server.url("/", "https")
        for env in (self.trust, {"CURL_CA_BUNDLE": self.certificate}, {"SSL_CERT_DIR": folder},
                    {"CURL_CA_BUNDLE": self.certificate, "SSL_CERT_FILE": "/dev/null"},
                    {"CURL_CA_BUNDLE": "", **self.trust}):
            with self.subTest(env):
                report = self.one(url, env=env, parts=["x"])
                self.assertEqual((report["outcome"], report["body"]), ("DONE", "x"), report)
        self.fails("TLS", "", url, env={"SSL_CERT_FILE": self.path("none")})

    def test_the_certificates_of_the_system(self):
        """In a file, in a folder, or in both; the system's are replaced for the driver alone."""
        need_mounts()
        if not os.path.exists(SYSTEM_BUNDLE):
            self.skipTest(f"there is no {SYSTEM_BUNDLE}")
        folder = self.hashed_folder()
        server = self.serve(context=self.context)
        request = {"url": server.url("/", "https"), "parts": ["x"], "fill": 100000}
        for ours, theirs in ((self.certificate, SYSTEM_BUNDLE),
                             (folder, os.path.dirname(SYSTEM_BUNDLE))):
            with self.subTest(ours):
                self.before = ["unshare", "-m", "sh", "-c",
                               'mount --bind "$0" "$1" && shift && exec "$@"', ours, theirs]
                reports = self.drive(request, request)
                self.assertEqual([r["outcome"] for r in reports], ["DONE", "DONE"], reports)
                self.assertEqual(reports[0]["body_len"], 100001)
                self.assertFalse(reports[1]["new_connection"])

    def test_the_certificates_of_another_system(self):
        """libcurl was built for a system that keeps its certificates elsewhere."""
        need_mounts()
        if not os.path.isdir("/etc/ssl"):
            self.skipTest("there is no /etc/ssl")
        server = self.serve(context=self.context)
        for place in ("/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem", None):
            with self.subTest(place):
                self.before = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /etc/ssl && "
                               'cp "$0" "$1" && shift && exec "$@"', self.certificate,
                               place or "/etc/ssl/other.pem"]
                (report,) = self.drive({"url": server.url("/", "https"), "parts": ["x"]})
                self.assertEqual(report["outcome"], "DONE" if place else "TLS", report)

    def test_another_host(self):
        """The certificate is trusted, but not for this name."""
        self.make_certificate("127.0.0.9")
        server = self.serve(context=self.context)
        self.fails("TLS", "127.0.0.1", server.url("/", "https"), env=self.trust)
        self.assertEqual(server.requests, [])

    def test_kept_and_streamed(self):
        server = self.serve(context=self.context)
        reports = self.drive(*({"url": server.url("/", "https"), "fill": 3_000_000}
                               for _ in range(3)), env=self.trust)
        self.assertEqual([r["body_len"] for r in reports], [3_000_000] * 3)
        self.assertEqual([r["new_connection"] for r in reports], [True, False, False])

    def test_no_tls_there(self):
        def handle(connection):
            connection.read(1)
            connection.send("HTTP/1.1 400 Bad Request\r\n\r\n")
        report = self.fails("TLS", "", self.serve(handle).url("/", "https"))
        self.assertFalse(report["cut"])

    def test_lost_in_the_handshake(self):
        for handle in (lambda c: c.read(1), lambda c: c.read(1) and c.reset()):
            report = self.fails("TLS", "", self.serve(handle).url("/", "https"))
            self.assertTrue(report["cut"], report)

    def test_tunnel(self):
        """The proxy learns the host and nothing else, and its answer is not the response."""
        server, proxy = self.serve(context=self.context), self.serve(be_proxy)
        report = self.one(server.url("/path", "https"), parts=["x"], names=["X-Proxy"],
                          env={**self.trust, "https_proxy": proxy.url()},
                          headers=[f"Authorization: {KEY}", f"X-Api-Key: {KEY}"])
        self.assertEqual((report["outcome"], report["heads"], report["body"]), ("DONE", 1, "x"))
        self.assertIsNone(report["values"]["X-Proxy"])
        self.assertEqual(server.requests[0].headers["x-api-key"], KEY)
        self.assertEqual(proxy.requests[0].line, f"CONNECT 127.0.0.1:{server.port} HTTP/1.1")
        self.assertNotIn(KEY, str(proxy.requests[0].headers))

    def test_tunnel_refused(self):
        proxy = self.serve(answering("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"))
        self.fails("NO_CONNECTION", "407", "https://127.0.0.1:9/", parts=[KEY],
                   env={"https_proxy": proxy.url()})
        self.assertEqual(len(proxy.requests), 1)

    def test_http2(self):
        """Two requests at once on one connection, in as little of HTTP/2 as will do."""
        self.context.set_alpn_protocols(["h2", "http/1.1"])
        server = self.serve(speak_http2, self.context)
        url = server.url("/", "https")
        reports = self.drive({"url": url}, [{"url": url, "parts": ["a"]}, {"url": url}],
                             env=self.trust)
        self.assertEqual([r["outcome"] for r in reports], ["DONE"] * 3, reports)
        self.assertEqual([r["status"] for r in reports], [200] * 3)
        self.assertEqual([r["body"] for r in reports], ["stream 1", "stream 3", "stream 5"])
        self.assertEqual([r["new_connection"] for r in reports], [True, False, False])
        self.assertEqual(server.connections, 1)


class Library(DriverTest):
    def test_describe(self):
        report = self.drive_all([], describe=True)
        self.assertTrue(report["described"])
        self.assertRegex(report["describe"], r"^libcurl/\d+\.\d+\.\d+ ")

    def unusable(self, make):
        for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
            make(self.path(name))
        server = self.serve()
        report = self.drive_all([[{"url": server.url()}, {"url": server.url()}],
                                 [{"url": server.url()}]], describe=True,
                                env={"LD_LIBRARY_PATH": self.dir})
        for request in sum(report["steps"], []):
            self.assertEqual((request["outcome"], request["ends"]), ("UNAVAILABLE", 1))
            self.assertIn("libcurl cannot be loaded: ", request["message"])
        self.assertFalse(report["described"])
        self.assertEqual(server.connections, 0)
        return report["describe"]

    def test_a_library_that_is_none(self):
        self.unusable(lambda path: self.write(os.path.basename(path), "no library" * 100))

    def test_a_library_that_lacks_something(self):
        source = self.write("empty.c", "int nothing;\n")
        said = self.unusable(lambda path: subprocess.run(
            [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", path, source], check=True))
        self.assertIn("lacks curl_easy_cleanup", said)
