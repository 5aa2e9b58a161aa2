"""The server itself: what it records, how it refuses, and every way in which it misbehaves, seen
from the other end of the socket."""
import gzip
import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib

from fake_llm import Answer, Call, Failure, FakeLLM, Raw, Wire
from fake_llm.fast import FastLLM

HERE = os.path.dirname(os.path.abspath(__file__))
CHAT = "/v1/chat/completions"
HEADERS = {"chat": {"authorization": "Bearer k"}, "responses": {"authorization": "Bearer k"},
           "anthropic": {"x-api-key": "k", "anthropic-version": "2026-10-21"},
           "gemini": {"x-goog-api-key": "k"}}
PATHS = {"chat": CHAT, "responses": "/v1/responses", "anthropic": "/v1/messages",
         "gemini": "/v1beta/models/gemini-4-argon:streamGenerateContent?alt=sse"}
BODIES = {
    "chat": {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]},
    "responses": {"model": "m", "stream": True, "input": "hi"},
    "anthropic": {"model": "m", "stream": True, "max_tokens": 9,
                  "messages": [{"role": "user", "content": "hi"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}}


class ServerTest(unittest.TestCase):
    def serve(self, *script, **options):
        llm = FakeLLM(list(script), **options).start()
        self.addCleanup(llm.stop)
        return llm

    def connect(self, llm, timeout=60):
        client = http.client.HTTPConnection("127.0.0.1", llm.port, timeout=timeout)
        self.addCleanup(client.close)
        return client

    def post(self, client, format="chat", body=None, **headers):
        """The response, its body not yet read."""
        data = json.dumps(BODIES[format] if body is None else body)
        client.request("POST", PATHS[format], data, {"content-type": "application/json",
                                                     **HEADERS[format], **headers})
        return client.getresponse()

    def ask(self, llm, format="chat", body=None, **headers):
        """(status, headers, body) over a connection of its own."""
        response = self.post(self.connect(llm), format, body, **headers)
        return response.status, response.headers, response.read()

    def raw(self, llm, wait=20):
        """All bytes that come back for a request, and how it ended: closed or reset."""
        with socket.create_connection(("127.0.0.1", llm.port), timeout=wait) as sock:
            body = json.dumps(BODIES["chat"]).encode()
            sock.sendall(b"POST %s HTTP/1.1\r\nhost: x\r\nauthorization: Bearer k\r\n"
                         b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
                         % (CHAT.encode(), len(body), body))
            data = b""
            try:
                while True:
                    more = sock.recv(65536)
                    if not more:
                        return data, "closed"
                    data += more
            except ConnectionResetError:
                return data, "reset"


class Recording(ServerTest):
    def test_requests(self):
        llm = self.serve(Answer("a"), Answer("b"))
        client = self.connect(llm)
        for _ in range(2):
            self.post(client).read()
        self.ask(llm, "anthropic", {})
        first, second, third = llm.requests
        self.assertEqual((first.method, first.path, first.format, first.model),
                         ("POST", CHAT, "chat", "m"))
        self.assertEqual(first.headers["authorization"], "Bearer k")
        self.assertEqual(first.json, BODIES["chat"])
        self.assertEqual(json.loads(first.body), BODIES["chat"])
        self.assertEqual([r.number for r in llm.requests], [1, 2, 3])
        self.assertEqual([r.connection for r in llm.requests], [1, 1, 2])
        self.assertEqual(llm.wait_for_outcome(2), "sent")
        self.assertLessEqual(first.received, first.answered)
        self.assertEqual(third.format, "anthropic")

    def test_a_request_in_chunks(self):
        llm = self.serve(Answer("a"))
        client = self.connect(llm)
        data = json.dumps(BODIES["chat"]).encode()
        client.request("POST", CHAT, iter([data[:9], data[9:]]), {
            "content-type": "application/json", **HEADERS["chat"]}, encode_chunked=True)
        self.assertEqual(client.getresponse().status, 200)
        self.assertEqual(llm.requests[0].json, BODIES["chat"])

    def test_expectations_are_met(self):
        llm = self.serve(Answer("a"))
        with socket.create_connection(("127.0.0.1", llm.port), timeout=60) as sock:
            sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n"
                         b"expect: 100-continue\r\n\r\n")
            self.assertIn(b"100 Continue", sock.recv(100))

    def test_what_is_not_http(self):
        llm = self.serve()
        chunked = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
        for data, expected in [
                (b"HELO\r\n\r\n", "no request"), (b"GET / HTTP/1.1\r\n\r\n", "no host"),
                (b"GET / HTTP/1.1\r\nx\r\n\r\n", "no header"), (b"GET /", "inside a head"),
                (b"x" * 70000, "the head has no end"),
                (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", "no length"),
                (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nabc", "inside a body"),
                (chunked + b"x\r\n", "no size"), (chunked + b"1\r\nabc", "no end"),
                (chunked + b"1", "inside a chunk")]:
            before = len(llm.problems)
            with socket.create_connection(("127.0.0.1", llm.port), timeout=60) as sock:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                llm.wait(lambda: len(llm.problems) > before)
            self.assertIn(expected, llm.problems[-1])

    def test_problems_refuse(self):
        llm = self.serve(Answer("a"))
        for format in PATHS:
            body = {**BODIES[format], "brand_new": 1}
            status, _, data = self.ask(llm, format, body)
            self.assertEqual(status, 400)
            self.assertIn("brand_new", json.loads(data)["error"]["message"])
        self.assertEqual(len(llm.problems), 4)
        self.assertTrue(llm.problems[0].startswith("request 1: brand_new"))
        self.assertEqual(len(llm.script), 1)

    def test_without_validation(self):
        llm = self.serve(Answer("a"), validate=False)
        self.assertEqual(self.ask(llm, body={"any": 1})[0], 200)

    def test_what_is_not_json(self):
        llm = self.serve(Answer("a"))
        client = self.connect(llm)
        client.request("POST", CHAT, b'{"a":', {"content-type": "application/json"})
        self.assertEqual(client.getresponse().status, 400)
        self.assertIn("not JSON", llm.problems[0])
        self.assertIsNone(llm.requests[0].json)

    def test_too_large(self):
        llm = self.serve(Answer("a"))
        body = {**BODIES["anthropic"], "system": "x" * (33 << 20)}
        status, _, data = self.ask(llm, "anthropic", body)
        self.assertEqual((status, json.loads(data)["error"]["type"]), (413, "request_too_large"))

    def test_mistral_refuses_with_422(self):
        llm = self.serve(Answer("a"), dialect="mistral")
        status, _, data = self.ask(llm, body={**BODIES["chat"], "store": False})
        self.assertEqual((status, json.loads(data)["object"]), (422, "error"))

    def test_altered_signatures_refuse(self):
        first = self.serve(Answer(thinking="hm", calls=[Call("x")]))
        body = {**BODIES["anthropic"], "stream": False}
        message = json.loads(self.ask(first, "anthropic", body)[2])
        results = [{"type": "tool_result", "tool_use_id": b["id"]} for b in message["content"]
                   if b["type"] == "tool_use"]
        body["messages"] = body["messages"] + [
            {"role": "assistant", "content": message["content"]},
            {"role": "user", "content": results}]
        same = self.serve(Answer("done"), memory=first.memory)
        self.assertEqual(self.ask(same, "anthropic", body)[0], 200)
        other = self.serve(Answer("done"))
        self.assertEqual(self.ask(other, "anthropic", body)[0], 400)
        lost = self.serve(Failure("reasoning"), Answer("done"), memory=first.memory)
        self.assertEqual(self.ask(lost, "anthropic", body)[0], 400)
        self.assertEqual(lost.problems, [])
        self.assertEqual(self.ask(lost, "anthropic", body)[0], 400)
        self.assertIn("Invalid `signature`", lost.problems[0])

    def test_nothing_left(self):
        llm = self.serve()
        self.assertEqual(self.ask(llm)[0], 400)
        self.assertEqual(llm.problems, ["request 1: the script has no answer left"])

    def test_a_script_that_is_replaced_before_the_answer(self):
        llm = self.serve(Answer("A"))
        answer = llm.answer

        def replace_and_answer(request):
            llm.script = [Answer("B")]
            return answer(request)
        llm.answer = replace_and_answer
        self.assertIn(b'"content":"A"', self.ask(llm)[2])
        llm.answer = answer
        self.assertIn(b'"content":"B"', self.ask(llm)[2])

    def test_a_function_as_script(self):
        with FakeLLM(lambda request: Answer(request.json["messages"][0]["content"])) as llm:
            self.assertIn(b'"hi"', self.ask(llm, body={**BODIES["chat"], "stream": False})[2])

    def test_a_mistake_in_a_script(self):
        with FakeLLM(lambda request: 1 // 0) as llm:
            self.assertEqual(self.ask(llm)[0], 500)
            self.assertIn("ZeroDivisionError", llm.problems[0])
        llm = self.serve("text")
        self.assertEqual(self.ask(llm)[0], 500)
        self.assertIn("no answer: 'text'", llm.problems[0])

    def test_waiting_gives_up(self):
        llm = self.serve()
        self.assertRaises(AssertionError, llm.wait_for_requests, 1, 0.05)

    def test_options(self):
        self.assertRaises(ValueError, FakeLLM, dialect="basic")
        llm = self.serve()
        self.assertEqual(llm.base_url("openai"), llm.url + "/v1")
        self.assertEqual(llm.base_url("google"), llm.url)


class Routes(ServerTest):
    def get(self, llm, path, **headers):
        client = self.connect(llm)
        client.request("GET", path, headers=headers)
        response = client.getresponse()
        return response.status, json.loads(response.read())

    def test_models(self):
        llm = self.serve()
        version = {"anthropic-version": "2026-10-21"}
        self.assertEqual(self.get(llm, "/v1/models")[1]["object"], "list")
        self.assertIs(self.get(llm, "/v1/models?limit=5", **version)[1]["has_more"], False)
        self.assertEqual(self.get(llm, "/v1/models/claude-opus-5-5", **version)[1]["type"], "model")
        self.assertIn("models", self.get(llm, "/v1beta/models?pageSize=9")[1])
        one = self.get(llm, "/v1beta/models/gemini-4-argon")[1]
        self.assertEqual(one["name"], "models/gemini-4-argon")

    def test_elsewhere(self):
        llm = self.serve()
        status, body = self.get(llm, "/v1/nothing")
        self.assertEqual((status, body["error"]["param"]), (404, None))
        status, body = self.get(llm, "/v1/nothing", **{"anthropic-version": "x"})
        self.assertEqual((status, body["type"]), (404, "error"))
        status, body = self.get(llm, "/v1beta/models/none")
        self.assertEqual((status, body["error"]["status"]), (404, "NOT_FOUND"))
        self.assertEqual(self.get(llm, CHAT)[0], 405)

    def test_gemini_without_events(self):
        llm = self.serve(Answer("a"), Answer("b"))
        for path in ("/v1beta/models/gemini-4-argon:streamGenerateContent",
                     "/v1beta/models/gemini-4-argon:generateContent"):
            client = self.connect(llm)
            client.request("POST", path, json.dumps(BODIES["gemini"]), {
                "content-type": "application/json", **HEADERS["gemini"]})
            response = client.getresponse()
            self.assertEqual(response.headers["content-type"], "application/json")
            body = json.loads(response.read())
            self.assertIs(type(body), list if "stream" in path else dict)


LONG = "A text that is long enough to be cut."


class Misbehaviour(ServerTest):
    def plain(self, **quirks):
        """The body as it is when nothing goes wrong."""
        return self.ask(self.serve(Answer(LONG, **quirks)))[2]

    def test_failure(self):
        llm = self.serve(Failure("rate_limit", headers={"retry-after": "2"}))
        status, headers, body = self.ask(llm)
        self.assertEqual((status, headers["retry-after"]), (429, "2"))
        self.assertEqual(json.loads(body)["error"]["code"], "rate_limit_exceeded")

    def test_raw(self):
        llm = self.serve(Raw(b"\xff<html>", 502, {"content-type": "text/html"}), Raw({"a": 1}))
        status, headers, body = self.ask(llm)
        self.assertEqual((status, headers["content-type"], body), (502, "text/html", b"\xff<html>"))
        self.assertEqual(json.loads(self.ask(llm)[2]), {"a": 1})

    def test_status_and_headers(self):
        wire = Wire(status=503, headers={"x-should-retry": "false", "content-type": None})
        status, headers, body = self.ask(self.serve(Answer(LONG, wire=wire)))
        self.assertEqual((status, headers["x-should-retry"], headers["content-type"]),
                         (503, "false", None))
        self.assertEqual(body, self.plain())

    def test_delays(self):
        for wire, least in ((Wire(delay_head=0.2), 0.2), (Wire(delay_body=0.2), 0.2),
                            (Wire(delay_event=0.05), 0.2)):
            begin = time.monotonic()
            self.assertEqual(self.ask(self.serve(Answer(LONG, wire=wire)))[2], self.plain())
            self.assertGreaterEqual(time.monotonic() - begin, least)

    def test_a_gate(self):
        gate = threading.Event()
        client = self.connect(self.serve(Answer(LONG, wire=Wire(gate=gate))))
        client.request("POST", CHAT, json.dumps(BODIES["chat"]),
                       {"content-type": "application/json", **HEADERS["chat"]})
        self.assertEqual(select.select([client.sock], [], [], 0.2)[0], [])
        gate.set()
        self.assertEqual(client.getresponse().status, 200)

    def test_the_head_comes_before_the_body(self):
        llm = self.serve(Answer(LONG, wire=Wire(delay_body=30)))
        self.assertEqual(self.post(self.connect(llm)).status, 200)

    def test_stall(self):
        llm = self.serve(Answer(LONG, wire=Wire(stall_after=2)))
        client = self.connect(llm)
        response = self.post(client)
        self.assertTrue(response.readline().startswith(b"data: "))
        response.readline()
        self.assertTrue(response.readline().startswith(b"data: "))
        response.readline()
        self.assertEqual(select.select([client.sock or response.fp], [], [], 0.2)[0], [])
        self.assertEqual(llm.requests[0].outcome, "open")
        response.close()
        client.close()
        self.assertEqual(llm.wait_for_outcome(1), "gone")

    def test_stall_at_the_end(self):
        """Every event is there, but the body has no end."""
        llm = self.serve(Answer(LONG, wire=Wire(stall_after=1000)))
        client = self.connect(llm)
        response = self.post(client)
        while response.readline() != b"data: [DONE]\n":
            pass
        self.assertEqual(llm.requests[0].outcome, "open")
        response.close()
        client.close()
        self.assertEqual(llm.wait_for_outcome(1), "gone")

    def test_stall_with_comments(self):
        llm = self.serve(Answer(LONG, wire=Wire(stall_after=1, stall_with=b": ping\n\n",
                                                stall_interval=0.01)))
        response = self.post(self.connect(llm))
        lines = [response.readline() for _ in range(12)]
        self.assertEqual(lines.count(b": ping\n"), 5)

    def test_the_end_of_a_test_ends_a_stall(self):
        llm = FakeLLM([Answer(LONG, wire=Wire(stall_after=1))]).start()
        response = self.post(self.connect(llm))
        begin = time.monotonic()
        llm.stop()
        self.assertLess(time.monotonic() - begin, 60)
        self.assertRaises(http.client.IncompleteRead, response.read)

    def test_cut(self):
        whole = self.plain()
        for count in (0, 1, 100, len(whole) - 1, len(whole)):
            llm = self.serve(Answer(LONG, wire=Wire(cut_after=count, chunk=7)))
            response = self.post(self.connect(llm))
            with self.assertRaises(http.client.IncompleteRead) as error:
                response.read()
            self.assertEqual(error.exception.partial, whole[:count])
            self.assertEqual(llm.wait_for_outcome(1), "cut")
            self.assertEqual(llm.requests[0].body_sent, count)

    def test_reset(self):
        llm = self.serve(Answer(LONG, wire=Wire(cut_after=100, reset=True)))
        data, end = self.raw(llm)
        self.assertEqual(end, "reset")
        self.assertIn(self.plain()[:100], data)

    def test_garbage(self):
        data, end = self.raw(self.serve(Answer(LONG, wire=Wire(garbage_head=b"SSH-2.0-x\r\n"))))
        self.assertEqual((data, end), (b"SSH-2.0-x\r\n", "closed"))
        body = self.ask(self.serve(Answer(LONG, wire=Wire(garbage=b"\xff\0", garbage_after=2))))[2]
        events = self.plain().split(b"\n\n")
        self.assertEqual(body, b"\n\n".join(events[:2]) + b"\n\n\xff\0" + b"\n\n".join(events[2:]))

    def test_huge_line(self):
        body = self.ask(self.serve(Answer(LONG, wire=Wire(huge_line=3 << 20))))[2]
        lines = body.split(b"\n")
        self.assertEqual(max(map(len, lines)), 3 << 20)
        huge = max(lines, key=len)
        self.assertEqual(list(json.loads(huge[6:])), ["padding"])
        lines.remove(huge)
        self.assertEqual(b"\n".join(lines).replace(b"\n\n\n", b"\n\n"), self.plain())

    def test_gzip(self):
        for wire in (Wire(gzip=True), Wire(gzip=True, content_length=True)):
            llm = self.serve(Answer(LONG, wire=wire))
            _, headers, body = self.ask(llm)
            self.assertEqual(headers["content-encoding"], "gzip")
            self.assertEqual(gzip.decompress(body), self.plain())

    def test_gzip_is_flushed(self):
        llm = self.serve(Answer(LONG, wire=Wire(gzip=True, stall_after=1)))
        response = self.post(self.connect(llm))
        unpack, text = zlib.decompressobj(wbits=31), b""
        while not text.endswith(b"\n\n"):
            text += unpack.decompress(response.read1(100))
        self.assertTrue(self.plain().startswith(text))

    def test_gzip_bomb(self):
        llm = self.serve(Answer(LONG, wire=Wire(gzip_bomb=64 << 20)))
        body = self.ask(llm)[2]
        self.assertLess(len(body), 1 << 20)
        inside = zlib.decompressobj(wbits=-15).decompress(body[10:])  # its checksum is wrong
        self.assertGreater(len(inside), 64 << 20)

    def test_chunks_of_a_byte(self):
        data, _ = self.raw(self.serve(Answer(LONG, wire=Wire(chunk=1, close=True))))
        self.assertIn(b"\r\n\r\n1\r\nd\r\n1\r\na\r\n", data)
        self.assertEqual(self.ask(self.serve(Answer(LONG, wire=Wire(chunk=1))))[2], self.plain())

    def test_framing(self):
        for wire, header in ((Wire(content_length=True), "content-length"),
                             (Wire(until_close=True), "connection"), (Wire(close=True),
                                                                      "connection")):
            _, headers, body = self.ask(self.serve(Answer(LONG, wire=wire)))
            self.assertIn(header, headers)
            self.assertEqual(body, self.plain())
        data, end = self.raw(self.serve(Answer(LONG, wire=Wire(close=True))))
        self.assertEqual(end, "closed")

    def test_plain_json(self):
        for format in PATHS:
            llm = self.serve(Answer(LONG, wire=Wire(plain_json=True)))
            _, headers, body = self.ask(llm, format)
            self.assertEqual(headers["content-type"], "application/json")
            self.assertIn(LONG, json.dumps(json.loads(body)))

    def test_an_error_where_nothing_streams(self):
        llm = self.serve(Answer(LONG, error=Failure("overloaded")))
        self.assertEqual(self.ask(llm, body={**BODIES["chat"], "stream": False})[0], 503)


class Fast(ServerTest):
    def test_turns(self):
        llm = FastLLM(2, Call("glob", {"pattern": "*"}), "Done.")
        threading.Thread(target=llm.run, daemon=True).start()
        self.addCleanup(llm.listener.close)
        llm.port = llm.listener.getsockname()[1]
        for format in PATHS:
            client = self.connect(llm)
            bodies = [self.post(client, format).read() for _ in range(3)]
            self.assertEqual([b"glob" in body for body in bodies], [True, True, False])
            self.assertIn(b"Do", bodies[2])
            ids = [re.findall(rb'"(?:call|toolu)_\d+"', body)[0] for body in bodies[:2]]
            self.assertNotEqual(*ids)
        self.assertEqual(self.post(client, "chat", {"model": 1}).status, 400)
        self.assertTrue(llm.problems)
        self.assertEqual(len(llm.timings()), 13)
        self.assertTrue(all(received <= sent for received, sent, _ in llm.timings()))


class Program(ServerTest):
    def start(self, *options):
        child = subprocess.Popen([sys.executable, os.path.join(HERE, "server.py"), *options],
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        child.port = int(child.stdout.readline().rpartition(":")[2])
        return child

    def end(self, child):
        child.send_signal(signal.SIGTERM)
        text = child.stdout.read()
        self.assertEqual(child.wait(), 0)
        return text.splitlines()

    def test_script(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump({"answers": [{"text": "one"}, {"failure": {"kind": "quota"}}],
                       "repeat": True}, f)
            f.flush()
            child = self.start("--script", f.name)
        self.assertEqual([self.ask(child)[0] for _ in range(4)], [200, 429, 200, 429])
        lines = [json.loads(line) for line in self.end(child)]
        self.assertEqual([line["outcome"] for line in lines], ["sent"] * 4)
        self.assertEqual(lines[0]["json"], BODIES["chat"])

    def test_fast(self):
        child = self.start("--fast", "1", "--tool", "ls", "--args", '{"a":"b"}', "--text", "Bye.",
                           "--no-validate")
        client = self.connect(child)
        bodies = [self.post(client, body={"any": 1}).read() for _ in range(4)]
        self.assertEqual([b'"ls"' in body for body in bodies], [True, False, True, False])
        times = [tuple(map(int, line.split())) for line in self.end(child)]
        self.assertEqual(len(times), 4)
        self.assertTrue(all(a[1] <= b[0] for a, b in zip(times, times[1:])))

    def test_fast_with_requests_beside_the_turns(self):
        child = self.start("--fast", "1", "--tool", "ls", "--text", "Bye.", "--no-validate",
                           "--beside")
        client = self.connect(child)
        bodies = [self.post(client, body=body).read()
                  for body in ({"title": 1}, {"tool": "ls"}, {"title": 2}, {"tool": "ls"})]
        self.assertEqual([b'"ls"' in body for body in bodies], [False, True, False, False])
        self.assertEqual([b"By" in body for body in bodies], [False, False, False, True])
        for path, status, words in (("/v1/elsewhere", 404, b""),
                                    ("/v1beta/models/m:generateContent", 200, b'"Beside."')):
            client.request("POST", path, b'{"tool": "ls"}')
            said = client.getresponse()
            self.assertEqual(said.status, status)
            self.assertIn(words, said.read())
        lines = self.end(child)
        self.assertEqual([line.split(":")[0] for line in lines[2:]], ["# beside"] * 4)
        self.assertEqual([len(line.split()) for line in lines[:2]], [3, 3])


if __name__ == "__main__":
    unittest.main()
