#!/usr/bin/python3
"""A scripted model server that speaks four APIs, records what it is asked, refuses what the real
services would refuse, and misbehaves on demand. README.md shows how tests use it.

By itself:   tests/fake_llm/server.py --port 8090 --script FILE.json
             tests/fake_llm/server.py --fast 50 --tool glob --args '{"pattern":"*.c"}'
"""
import base64
import os
import re
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Optional

if not __package__:  # run as a program
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from fake_llm import failures, images, listing
from fake_llm.answer import Answer, Failure, Raw
from fake_llm.checks import parse
from fake_llm.connection import BadRequest, Reader
from fake_llm.memory import Memory
from fake_llm.render import Ask, dumps, render
from fake_llm.validators import DIALECTS, validate
from fake_llm.wire import Cut, Gone, Sender, Wire

ROUTES = [
    ("chat", re.compile(r"/v1/chat/completions(\?|\Z)")),
    ("responses", re.compile(r"/v1/responses(\?|\Z)")),
    ("anthropic", re.compile(r"/v1/messages(\?|\Z)")),
    ("gemini", re.compile(r"/v1beta/models/([^/:?]+):(stream)?[gG]enerateContent(\?|\Z)")),
]
JSON = {"content-type": "application/json"}
MOST_BYTES = {"anthropic": 32 << 20}  # of a request


@dataclass
class Request:
    """What the server received, and what became of it."""
    number: int  # from 1, over all connections
    connection: int  # from 1
    method: str
    path: str  # with its query
    headers: dict  # names in lower case
    body: bytes
    format: Optional[str]  # chat, responses, anthropic, gemini; None: something else
    received: float  # time.monotonic() when it was complete
    script: Any = field(repr=False)  # the one of that time, whatever a test sets before the answer
    json: Any = None  # the parsed body; None when it is not JSON
    problems: list = field(default_factory=list)
    answered: Optional[float] = None  # when the last byte was handed to the system
    outcome: str = "open"  # then: sent, cut (on purpose), gone (the client hung up)
    body_sent: int = 0  # bytes of the answer's body, after compression

    @property
    def model(self):
        if self.format == "gemini":
            return ROUTES[3][1].match(self.path)[1]
        return self.json.get("model") if isinstance(self.json, dict) else None


def route(path):
    return next((name for name, pattern in ROUTES if pattern.match(path)), None)


def vendor_format(path, headers):
    """Whose errors to speak when the path does not tell."""
    if path.startswith("/v1beta") or "x-goog-api-key" in headers:
        return "gemini"
    return "anthropic" if "anthropic-version" in headers else "chat"


class FakeLLM:
    """script: a list of answers taken in order, or a function from Request to an answer.

    dialect: whose Chat Completions (validate_chat.DIALECTS). validate: whether requests are looked
    at; a request with problems gets a 400 and takes no answer. memory: shared with another server
    that gave the earlier answers of a session (memory.py). refused_tools: names of tools whose
    definitions this service does not take; a request with one gets a 400 that names it in the
    service's own way, and takes no answer either. refused_images: contents of images that it does not
    take (vague: it does not say which one it means). blind: it takes no images at all. models: the names of listing.MODELS, or a
    function from the Request for a list to an answer.
    """

    def __init__(self, script=(), dialect="openai", validate=True, memory=None, models=None,
                 port=0, refused_tools=(), refused_images=(), blind=False, vague=False):
        if dialect not in DIALECTS:
            raise ValueError(f"no such dialect: {dialect}")
        self.script = script if callable(script) else list(script)
        self.dialect, self.validate = dialect, validate
        self.memory = memory or Memory()
        self.models = models or listing.MODELS
        self.refused_tools = frozenset(refused_tools)
        self.refused_images, self.blind, self.vague = set(refused_images), blind, vague
        self.requests, self.problems = [], []
        self.closing = threading.Event()
        self.changed = threading.Condition()
        self.sockets, self.threads = set(), []
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def base_url(self, provider):
        """As the configuration of a client takes it."""
        return self.url + {"openai": "/v1", "anthropic": "", "google": ""}[provider]

    # ---- life

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def start(self):
        self.spawn(self.accept)
        return self

    def stop(self):
        self.closing.set()
        with self.changed:
            doomed = [self.listener, *self.sockets]
            threads = list(self.threads)
        for sock in doomed:
            try:
                sock.shutdown(socket.SHUT_RDWR)  # wakes what waits for it
            except OSError:
                pass
        for thread in threads:
            thread.join(10)
        self.listener.close()

    def spawn(self, target, *args):
        thread = threading.Thread(target=target, args=args, daemon=True)
        with self.changed:
            self.threads = [t for t in self.threads if t.is_alive() or t.ident is None] + [thread]
        thread.start()

    def accept(self):
        while not self.closing.is_set():
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.changed:
                self.connections += 1
                number = self.connections
                self.sockets.add(sock)
            self.spawn(self.serve, sock, number)

    def serve(self, sock, number):
        reader = Reader(sock)
        try:
            while not self.closing.is_set():
                message = reader.request()
                if message is None or not self.handle(sock, number, message):
                    break
        except BadRequest as error:
            self.complain(f"connection {number}: {error}")
        except OSError:
            pass
        finally:
            with self.changed:
                self.sockets.discard(sock)
            sock.close()

    # ---- one request

    def handle(self, sock, connection, message):
        """Returns whether the connection can be used again."""
        request = self.record(connection, message)
        try:
            answer = self.answer(request)
            status, headers, pieces, wire = self.response(request, answer)
        except Exception as error:  # a mistake in a script must not look like a network problem
            self.complain(f"request {request.number}: the script failed: {error!r}")
            status, headers, pieces, wire = 500, JSON, b'{"error":"script"}', Wire()
        sender = Sender(sock, wire, self.closing)
        try:
            again = sender.send(status, headers, pieces)
            self.finish(request, sender, "sent" if again or wire.cut_after is None else "cut")
            return again and message.headers.get("connection", "").lower() != "close"
        except (Gone, Cut) as end:
            self.finish(request, sender, "gone" if isinstance(end, Gone) else "cut")
            return False

    def record(self, connection, message):
        with self.changed:
            request = Request(len(self.requests) + 1, connection, message.method, message.path,
                              message.headers, message.body, route(message.path), time.monotonic(),
                              self.script)
            self.requests.append(request)
        try:
            request.json = parse(request.body) if request.body else None
        except ValueError:
            pass  # the validator says why
        with self.changed:
            self.changed.notify_all()
        return request

    def finish(self, request, sender, outcome):
        with self.changed:
            request.answered, request.outcome = time.monotonic(), outcome
            request.body_sent = sender.body_bytes
            self.changed.notify_all()

    def complain(self, *problems):
        with self.changed:
            self.problems += problems
            self.changed.notify_all()

    def answer(self, request):
        if request.format is None:
            return self.elsewhere(request)
        if request.method != "POST":
            return Failure("bad_request", "use POST", 405)
        if len(request.body) > MOST_BYTES.get(request.format, 1 << 40):
            return Failure("too_large")
        if self.validate:
            request.problems = validate(request.format, request.path, request.headers,
                                        request.body if request.json is None else request.json,
                                        self.dialect, self.memory)
        if request.problems:
            self.complain(*(f"request {request.number}: {p}" for p in request.problems))
            status = 422 if request.format == "chat" and self.dialect == "mistral" else 400
            return failures.refusal_of(request.problems, status)
        if self.refused_tools:
            for index, name in enumerate(failures.tool_names(request.format, request.json)):
                if name in self.refused_tools:
                    return failures.tool_refusal(request.format, index, name)
        return self.image_refusal(request) or self.scripted(request)

    def image_refusal(self, request):
        for steps, text in images.walk(request.json) if self.blind or self.refused_images else ():
            if self.blind:
                return Failure("bad_request", images.BLIND[request.format])
            if base64.b64decode(text) in self.refused_images:
                message, param = images.refusal(request.format, () if self.vague else steps)
                return Failure("bad_request", message, param=param)
        return None

    def scripted(self, request):
        if callable(request.script):
            return request.script(request)
        with self.changed:
            if request.script:
                return request.script.pop(0)
        self.complain(f"request {request.number}: the script has no answer left")
        return Failure("bad_request", "the script has no answer left")

    def elsewhere(self, request):
        """Lists of models, and what does not exist."""
        names = listing.MODELS if callable(self.models) else self.models
        models = listing.find(request.path, request.headers, names)
        if request.method == "GET" and models is not None:
            return self.models(request) if callable(self.models) else Raw(models)
        return Failure("not_found", f"no such path: {request.method} {request.path}")

    def response(self, request, answer):
        """(status, headers, pieces, wire)"""
        number = {"x-request-id": f"req_{request.number:06d}",
                  "request-id": f"req_{request.number:06d}"}
        if isinstance(answer, Raw):
            return answer.status, {**number, **answer.headers}, answer.body, answer.wire
        format = request.format or vendor_format(request.path, request.headers)
        if isinstance(answer, Failure):
            if answer.kind == "reasoning":
                self.memory.forget()
            body = failures.body_of(answer, format, self.dialect, number["request-id"])
            return (failures.status_of(answer, format), {**JSON, **number, **answer.headers},
                    dumps(body), answer.wire)
        if not isinstance(answer, Answer):
            raise TypeError(f"no answer: {answer!r}")
        return self.rendered(request, answer, number)

    def rendered(self, request, answer, headers):
        ask = ask_of(request, self.dialect)
        streamed = ask.stream
        ask.stream = ask.stream and not answer.wire.plain_json
        done = render(answer, ask)
        if self.validate:  # otherwise the request may look like anything
            self.memory.remember(ask.format, request.json, done.content, ask.model)
        kind = "text/event-stream; charset=utf-8" if ask.stream and not ask.array \
            else "application/json"
        if answer.error and not ask.stream and not streamed:
            return self.response(request, answer.error)
        return 200, {"content-type": kind, **headers}, done.body(ask, answer.quirks), answer.wire

    # ---- for tests that wait

    def wait(self, true, timeout=60):
        """Until true() holds, which is looked at whenever something happened."""
        with self.changed:
            if not self.changed.wait_for(true, timeout):
                raise AssertionError(f"did not happen within {timeout} s; {len(self.requests)} "
                                     f"requests, problems: {self.problems}")

    def wait_for_requests(self, count, timeout=60):
        self.wait(lambda: len(self.requests) >= count, timeout)
        return self.requests

    def wait_for_outcome(self, number, timeout=60):
        """How the answer to request number (from 1) ended: sent, cut or gone."""
        self.wait(lambda: len(self.requests) >= number
                  and self.requests[number - 1].outcome != "open", timeout)
        return self.requests[number - 1].outcome


def ask_of(request, dialect):
    body = request.json if isinstance(request.json, dict) else {}
    stream, array = bool(body.get("stream")), False
    if request.format == "gemini":
        stream = ":streamGenerateContent" in request.path
        array = stream and "alt=sse" not in request.path.partition("?")[2].split("&")
    return Ask(request.format, body, request.model or "model", stream, array, request.number,
               dialect)


if __name__ == "__main__":
    from fake_llm.standalone import main
    sys.exit(main())
