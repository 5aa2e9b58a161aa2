"""The server for benchmarks: it says "call this tool" so many times and then a text, again and
again, with as little of its own time as Python allows. Every response is bytes made beforehand and
one write; what is measured is when a request was complete and when its answer was handed over.
"""
import itertools
import re
import socket
import threading
import time

from fake_llm.answer import Answer, Call
from fake_llm.failures import body_of, refusal_of
from fake_llm.render import Ask, dumps, render
from fake_llm.validators import validate
from fake_llm.wire import head

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.I)
LINE = re.compile(rb"POST (\S+) HTTP/1\.1\r\n")
PATHS = [(b"/chat/completions", "chat"), (b"/responses", "responses"),
         (b"/v1/messages", "anthropic"), (b":streamGenerateContent", "gemini"),
         (b":generateContent", "gemini whole")]
STREAM = {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"}
BODIES = {"chat": {"stream_options": {"include_usage": True, "include_obfuscation": False}},
          "responses": {"stream_options": {"include_obfuscation": False}}}
MODELS = {"gemini": "gemini-3.8-flash"}
BESIDE = "Beside."


def prepared(format, turns, call, text):
    """The bytes of turns responses that call the tool, of one that says the text, and of one for
    requests beside the turns."""
    answers = [Answer(calls=[Call(call.name, call.args)]) for _ in range(turns)]
    answers += [Answer(text), Answer(BESIDE)]
    out = []
    for number, answer in enumerate(answers, 1):
        ask = Ask(format, BODIES.get(format, {}), MODELS.get(format, "fake"), number=number)
        body = b"".join(render(answer, ask).body(ask))
        out.append(head(200, STREAM) + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
    return out


def prepared_whole(format):
    """The bytes of a response beside the turns that is not streamed."""
    ask = Ask(format, {}, MODELS.get(format, "fake"), stream=False)
    body = render(Answer(BESIDE), ask).body(ask)
    return head(200, {"content-type": "application/json", "content-length": len(body)}) + body


class FastLLM:
    """Counts requests over all connections: for one session at a time. beside: requests that do not
    offer the tool, as for a title, get another text and are not counted. A path that is not known
    gets a 404."""

    def __init__(self, turns, call, text="Done.", formats=("chat", "responses", "anthropic",
                 "gemini"), check=True, dialect="openai", port=0, beside=False):
        self.answers = {name: prepared(name, turns, call, text) for name in formats}
        self.whole = {"gemini whole": prepared_whole("gemini")}
        self.turn = itertools.cycle(range(turns + 1))
        self.check, self.dialect = check, dialect
        self.offer = b'"%s"' % call.name.encode() if beside else b""
        self.times = []  # [received, sent, bytes of the request]; timings() when all is done
        self.beside = []  # bytes of each request that is not counted
        self.problems = []
        self.listener = socket.create_server(("127.0.0.1", port))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]

    def run(self):
        """For ever, or until the listener is closed."""
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def timings(self):
        """A list of (received, sent, bytes of the request), times in ns of CLOCK_MONOTONIC. A
        client can have an answer before the thread that sent it looks at the clock."""
        deadline = time.monotonic() + 1
        while any(sent is None for _, sent, _ in self.times) and time.monotonic() < deadline:
            time.sleep(0.001)
        return [tuple(times) for times in self.times if times[1] is not None]

    def serve(self, sock):
        buffer = b""
        try:
            while True:
                while True:
                    end = buffer.find(b"\r\n\r\n") + 4
                    if end > 3:
                        total = end + int(LENGTH.search(buffer, 0, end)[1])
                        if len(buffer) >= total:
                            break
                    data = sock.recv(1 << 20)
                    if not data:
                        return
                    buffer += data
                times = [time.monotonic_ns(), None, total]
                path = LINE.match(buffer)[1]
                format = next((name for part, name in PATHS if part in path), None)
                counted = format in self.answers and self.offer in buffer
                if counted:
                    self.times.append(times)
                else:
                    self.beside.append(total)
                sock.sendall(self.answer(format, buffer, end, total, counted))
                times[1] = time.monotonic_ns()
                buffer = buffer[total:]
        except (OSError, TypeError):  # hung up, or a request without length
            return
        finally:
            sock.close()

    def answer(self, format, buffer, end, total, counted):
        if format not in self.answers:
            return self.whole.get(format) or head(404, {"content-length": 0})
        if self.check:
            path = LINE.match(buffer)[1].decode()
            problems = validate(format, path, None, buffer[end:total], self.dialect)
            if problems:
                self.problems += problems
                body = dumps(body_of(refusal_of(problems), format))
                return head(400, {"content-type": "application/json",
                                  "content-length": len(body)}) + body
        return self.answers[format][next(self.turn) if counted else -1]
