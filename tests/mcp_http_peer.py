"""A scripted MCP server over streamable HTTP, for tests: McpHttp(**options).start() has the attribute
url, and requests with what was sent to it.

  era         "legacy" (default), "modern"
  sse         answers to calls are streams of events
  prime       a stream begins with an event that has an id and no data
  cut         a stream breaks off before the answer, or "inside" of its event; it is resumed by GET with Last-Event-ID
  forget      that many sessions are forgotten after their first call: 404, or the status `lost`
  settles     so many seconds pass before notifications/initialized is answered; requests are refused until then
  refusal     the code of the error that calls are refused with: 400; None: they are not refused
  token       the bearer token that is wanted; None: none
  status      the status of every answer
  quiet       the name of the tool whose calls are not answered: their streams end when one of them is cancelled
  behind      the name of the tool whose calls are answered after that of another tool
  bare        the status of every answer to a call, which has no body then
  missing     the scopes that calls are refused for: 403; None: none
  stream      the server has a stream of its own (in the modern era: for those who listen), on which it says three
              times that its tools have changed when `tools_then` takes effect; else it says so in the answer,
              if that is a stream
  breaks      so many of these streams end before anything is said on them
  era_first   a modern server refuses requests of the legacy era before it looks at the token
  change      the name of the tool whose call lets `tools_then` take effect
  mismatch    calls without the header Mcp-Param-NAME for this NAME are refused; at the first refusal the list
              of tools becomes `tools_then`
"""
import http.server
import json
import threading
import time

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"


OLD = {"code": -32022, "message": "x", "data": {"supported": [MODERN]}}
ACKNOWLEDGED = ('data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{'
                '"notifications":{"toolsListChanged":true}}}\n\n')
CHANGED = 'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'


def is_modern(body):
    return META + "protocolVersion" in body.get("params", {}).get("_meta", {})


class McpHttp:
    def __init__(self, era="legacy", sse=False, prime=False, cut=False, forget=0, lost=404, token=None,
                 status=None, bare=None, tools=None, challenge="", mismatch=None, tools_then=None, stream=False,
                 change=None, breaks=0, era_first=False, refusal=None, settles=0,
                 redirect=None, quiet=None, behind=None):
        self.era, self.sse, self.prime, self.cut, self.forget = era, sse, prime, cut, forget
        self.lost, self.token, self.status, self.challenge = lost, token, status, challenge
        self.bare = bare
        self.tools = tools or [{"name": "echo", "inputSchema": {"type": "object", "properties": {
            "text": {"type": "string", "x-mcp-header": "Text"}}}}]
        self.mismatch, self.tools_then = mismatch, tools_then
        self.stream, self.change, self.changed, self.stopped = stream, change, False, False
        self.breaks, self.era_first, self.refusal = breaks, era_first, refusal
        self.settles, self.settled = settles, settles == 0
        self.redirect = redirect  # a status and the address for everything but /mcp/
        self.quiet, self.cancelled = quiet, threading.Event()
        self.behind, self.ahead = behind, threading.Event()
        self.said = threading.Condition()
        self.missing = None
        self.requests, self.sessions, self.kept = [], [], {}
        self.lock = threading.Lock()

    def start(self):
        peer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # what is said on a stream arrives before a later answer

            def log_message(self, *_):
                pass

            def answer(self, status, body=b"", **headers):
                self.send_response(status)
                for name, value in headers.items():
                    for each in value if isinstance(value, list) else [value]:
                        self.send_header(name.replace("_", "-"), each)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def events(self, chunks, whole=True):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream; charset=utf-8")
                for name, value in self.more.items():
                    self.send_header(name, value)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for chunk in chunks:
                    data = chunk.encode()
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")

            def refused(self):
                if peer.redirect and self.path != "/mcp/":
                    status, location = peer.redirect
                    self.answer(status, Location=location)
                    return True
                if peer.status:
                    self.answer(peer.status, b"no", Content_Type="text/plain")
                    return True
                if peer.token and self.headers.get("Authorization") != "Bearer " + peer.token:
                    self.answer(401, b"", WWW_Authenticate=peer.challenge or "Bearer")
                    return True
                return False

            def note(self, body):
                with peer.lock:
                    peer.requests.append({"method": self.command, "headers": dict(self.headers),
                                          "body": body, "path": self.path})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.more = {}
                self.note(body)
                if peer.era_first and not is_modern(body):
                    self.answer(400, json.dumps({"jsonrpc": "2.0", "id": body.get("id"), "error": OLD}).encode())
                    return
                if self.refused():
                    return
                if "id" not in body or "method" not in body:
                    if body.get("method") == "notifications/initialized":
                        time.sleep(peer.settles)
                        peer.settled = True
                    self.answer(202)
                    if body.get("method") == "notifications/cancelled":
                        peer.cancelled.set()
                    return
                if peer.missing and body["method"] == "tools/call":
                    self.answer(403, WWW_Authenticate='Bearer error="insufficient_scope", '
                                f'scope="{peer.missing}", error_description="more"')
                    return
                if peer.bare and body["method"] == "tools/call":
                    self.answer(peer.bare)
                    return
                if peer.quiet and body.get("params", {}).get("name") == peer.quiet:
                    try:
                        self.events(peer.silence())
                    except OSError:
                        self.close_connection = True
                    return
                if body["method"] == "subscriptions/listen" and peer.stream:
                    self.events([ACKNOWLEDGED] if peer.breaks_off() else peer.changes())
                    return
                result, error, status = peer.handle(self, body)
                message = {"jsonrpc": "2.0", "id": body["id"]}
                message.update({"error": error} if error else {"result": result})
                text = json.dumps(message)
                if status != 200 or not peer.sse:
                    self.answer(status, text.encode(), **{"Content_Type": "application/json",
                                                          **{k.replace("-", "_"): v for k, v in self.more.items()}})
                    return
                prime = ["id: e0\nretry: 10\ndata: \n\n"] if peer.prime or peer.cut else []
                note = [": comment\n\n", 'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message",'
                        '"params":{"level":"info","data":"hello"}}\n\n']
                if peer.changed and not peer.stream and body["method"] == "tools/call":
                    note += [CHANGED] * 3
                if peer.cut and body["method"] == "tools/call":
                    with peer.lock:
                        peer.kept["e0"] = text
                    self.events(prime + ([f"id: e1\ndata: {text[:20]}"] if peer.cut == "inside" else []))
                else:
                    self.events([*prime, *note, f"id: e1\ndata: {text}\n\n"])

            def do_GET(self):
                self.more = {}
                self.note(None)
                last = self.headers.get("Last-Event-ID")
                if peer.stream:
                    self.events(["retry: 10\n\n"] if peer.breaks_off() else peer.changes())
                    return
                with peer.lock:
                    text = peer.kept.pop(last, None)
                if text is None:
                    self.answer(405)
                else:
                    self.events([f"id: e2\ndata: {text}\n\n"])

            def do_DELETE(self):
                self.note(None)
                self.answer(200)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/mcp"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def changes(self):
        """The events of the server's own stream. A legacy one ends after the last event, and the next one
        says nothing."""
        yield ": open\n\n"
        with self.said:
            self.said.wait_for(lambda: self.changed is True or self.stopped)
        yield from [CHANGED] * 3
        with self.said:
            self.stream, self.changed = "said", None
            self.said.notify_all()
            self.said.wait_for(lambda: self.era == "legacy" or self.stopped)

    def silence(self):
        yield ": open\n\n"
        self.cancelled.wait()

    def breaks_off(self):
        with self.lock:
            self.breaks -= 1
            return self.breaks >= 0

    def stop(self):
        self.cancelled.set()
        self.ahead.set()
        with self.said:
            self.stopped = True
            self.said.notify_all()
        self.server.shutdown()
        self.server.server_close()

    def handle(self, request, body):
        """(result, error, status)"""
        method, params = body["method"], body.get("params", {})
        modern = is_modern(body)
        if self.era == "modern" and not modern:
            return None, OLD, 400
        if self.era == "legacy" and modern:
            return None, {"code": -32000, "message": "Bad Request"}, 400
        if method == "initialize":
            session = f"session-{len(self.sessions)}"
            self.sessions.append(session)
            request.more["Mcp-Session-Id"] = session
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                    "serverInfo": {"name": "web", "version": "1"}}, None, 200
        if self.era == "legacy" and request.headers.get("Mcp-Session-Id") not in self.sessions:
            return None, {"code": -32000, "message": "No session"}, self.lost
        if self.era == "legacy" and not self.settled:
            return None, {"code": -32602, "message": "Not initialized"}, 200
        if method == "server/discover":
            return {"resultType": "complete", "supportedVersions": [MODERN],
                    "capabilities": {"tools": {"listChanged": bool(self.stream)}}, "ttlMs": 0,
                    "cacheScope": "public"}, None, 200
        if method == "tools/list":
            return {"tools": self.tools}, None, 200
        if method == "tools/call":
            if self.forget > 0:
                self.forget -= 1
                self.sessions.clear()
                return None, {"code": -32000, "message": "No session"}, self.lost
            if self.refusal is not None:
                return None, {"code": self.refusal, "message": "Not like this"}, 400
            if params["name"] == self.change:
                with self.said:
                    self.tools, self.changed = self.tools_then, True
                    self.said.notify_all()
                    self.said.wait_for(lambda: self.stream in (False, "said"))
            if params["name"] == self.behind:
                self.ahead.wait()
            self.ahead.set()
            if self.mismatch and "Mcp-Param-" + self.mismatch not in request.headers:
                self.tools = self.tools_then or self.tools
                return None, {"code": -32020, "message": "Header mismatch"}, 400
            return {"content": [{"type": "text", "text": params["arguments"].get("text", "")}]}, None, 200
        return None, {"code": -32601, "message": "Method not found"}, 404 if modern else 200
