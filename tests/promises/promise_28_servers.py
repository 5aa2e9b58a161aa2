#!/usr/bin/python3
"""Promise 28: somebody else's server cannot hang or flood us.

Hostile MCP servers, all at once in one program: silent at every stage, flooding standard output and
standard error, sending junk, endless pages, endless requests for input, dying in every call, and
answering late; over HTTP also answers that drip or never end, streams of nothing but comments or
notifications, redirects in a circle, and sessions and logins that are refused for ever. A model calls
their tools again and again. No call waits past its limit, memory stays bounded, healthy servers are not
delayed, and no process is left.
"""
import http.server
import json
import os
import resource
import sys
import threading
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.dirname(os.path.abspath(__file__))]
import hostile
from agent_support import AgentTest
from fake_llm import Answer, Call
from support import ROOT, on_this_machine

PEER = os.path.join(ROOT, "tests", "mcp_peer.py")
LIMIT = 2  # seconds: timeout_seconds and start_timeout_seconds where one of them is to pass
PATIENCE = 60
MEMORY_MB = 400
HOSTILE = {
    "mute": {"fault": "silent"}, "deaf": {"fault": "reads nothing"}, "flood": {"fault": "flood"},
    "pages": {"fault": "endless pages"}, "circle": {"fault": "same page"}, "exits": {"fault": "exits"},
    "drowning": {"fault": "stderr flood"}, "stubborn": {"fault": "ignores the end"},
    "forking": {"fault": "child"}, "modern": {"era": "modern"}, "plain": {}, "eager": {"fault": "changes at once"},
}
ABLE = ["drowning", "stubborn", "forking", "modern", "plain", "eager"]  # their tools can be called
CALLS = ["silent", "dying", "junk", "slow", "invalid", "strange", "refusing", "endless_input", "echo"]
# Ways to misbehave in a call over HTTP, and what comes of it. Those of OPENINGS also do so at once.
WAYS = {"mute": "TOOL_TIMEOUT", "drip": "TOOL_TIMEOUT", "comments": "TOOL_TIMEOUT", "notes": "TOOL_TIMEOUT",
        "endless": "INVALID_OUTPUT", "event": "INVALID_OUTPUT", "hangup": "SERVER_UNAVAILABLE",
        "junk": "SERVER_UNAVAILABLE", "circle": "SERVER_UNAVAILABLE", "other": "SERVER_UNAVAILABLE",
        "broken": "SERVER_UNAVAILABLE", "forgetful": "SERVER_UNAVAILABLE", "locked": "AUTH_REQUIRED", "kind": "ok"}
OPENINGS = ["mute", "drip", "comments", "notes", "endless", "event", "hangup", "circle", "other"]
WANTED = ["TOOL_TIMEOUT", "TOOL_CRASHED", "INVALID_OUTPUT", "MCP_ERROR", "SERVER_UNAVAILABLE",
          "AUTH_REQUIRED", "ok"]


class Foe(http.server.ThreadingHTTPServer):
    """An MCP server over HTTP that misbehaves in this way when the method is asked for."""
    daemon_threads = True

    def __init__(self, way, method):
        super().__init__(("127.0.0.1", 0), Handler)
        self.way, self.method = way, method
        self.url = f"http://127.0.0.1:{self.server_port}/mcp"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass  # it was hung up on, as it should be


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def head(self, status=200, kind="application/json", **more):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def pour(self, piece, pause=0.0):
        while True:
            self.wfile.write(piece)
            time.sleep(pause)

    def do_GET(self):
        self.head(405)

    def do_DELETE(self):
        self.head(200)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in body:
            self.head(202)
        elif self.server.method == body["method"]:
            self.misbehave(self.server.way, body)
        else:
            self.answer(body)

    def answer(self, body, **more):
        result = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                 "serverInfo": {"name": "foe", "version": "1"}},
                  "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
                  "tools/call": {"content": [{"type": "text", "text": "x"}]}}[body["method"]]
        self.head(Mcp_Session_Id="s")
        self.wfile.write(json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": result, **more}).encode())

    def misbehave(self, way, body):
        if way == "mute":
            time.sleep(3600)
        elif way == "drip":
            self.head()
            self.pour(b" ", 0.1)
        elif way == "endless":
            self.head()
            self.wfile.write(b'{"jsonrpc":"2.0","result":"')
            self.pour(b"x" * 65536)
        elif way == "event":
            self.head(kind="text/event-stream")
            self.pour(b"data: " + b"x" * 65536 + b"\n")
        elif way == "comments":
            self.head(kind="text/event-stream")
            self.pour(b": wait\n\n", 0.001)
        elif way == "notes":
            self.head(kind="text/event-stream")
            notes = [{"method": "notifications/message", "params": {"level": "info", "data": "y" * 1000}},
                     {"method": "notifications/tools/list_changed"},
                     {"method": "notifications/progress", "params": {"progressToken": 10 ** 9, "progress": 1}}]
            self.pour("".join("data: %s\n\n" % json.dumps({"jsonrpc": "2.0", **note})
                              for note in notes).encode(), 0.001)
        elif way == "junk":
            self.head(kind="text/html")
            self.wfile.write(b"<html>" * 100000)
        elif way == "circle":
            self.head(307, Location="/mcp")
        elif way == "other":
            self.answer(body, id=10 ** 9)
        elif way == "broken":
            self.head(500)
        elif way == "forgetful":
            self.head(404)
        elif way == "locked":
            self.head(401)
        elif way == "kind":
            self.answer(body)


class Hostile(AgentTest):
    def server(self, name, script):
        return {"command": sys.executable, "args": [PEER, json.dumps(script), self.dir],
                "timeout_seconds": LIMIT, "start_timeout_seconds": PATIENCE if name in ABLE else LIMIT}

    def attack(self, rounds):
        """(calls, codes of their results, faults, peak memory in MB)"""
        servers = {name: self.server(name, script) for name, script in HOSTILE.items()}
        foes = {**{way: Foe(way, "tools/call") for way in WAYS},
                **{"opening_" + way: Foe(way, "initialize") for way in OPENINGS}}
        for name, foe in foes.items():
            self.addCleanup(foe.server_close)
            self.addCleanup(foe.shutdown)
            servers["web_" + name] = {
                "url": foe.url, "timeout_seconds": LIMIT if WAYS.get(name) == "TOOL_TIMEOUT" else PATIENCE,
                "start_timeout_seconds": PATIENCE if name in WAYS else LIMIT}
        calls = [(f"{ABLE[(i + j) % len(ABLE)]}__{tool}",
                  {"text": "x", "seconds": 0.2, "late": True})
                 for i in range(rounds) for j, tool in enumerate(CALLS)]
        script = [Answer(calls=[Call(name, arguments)]) for name, arguments in calls]
        web = {f"web_{way}__echo": code for way, code in WAYS.items()}
        script += [Answer(calls=[Call(name, {}) for name in web])] * max(1, rounds // 4)
        calls += list(web) * max(1, rounds // 4)
        turn = self.ask([*script, Answer("Done.")], timeout=on_this_machine(600 + 10 * len(calls)),
                        config={"mcpServers": servers, "max_tool_turns": len(calls) + 5})
        faults = [f"waited {m['data']['wall_ms']} ms: {m}" for m in turn.messages("tool_result")
                  if m["data"].get("wall_ms", 0) > on_this_machine(1000 * (LIMIT + 3))]
        codes = {}
        for envelope in turn.envelopes():
            code = envelope.get("error_code") or envelope["result"].get("error_code", "ok")
            codes[code] = codes.get(code, 0) + 1
        for envelope, code in zip(turn.envelopes()[-len(web):], web.values()):
            if envelope.get("error_code", "ok") != code:
                faults.append(f"instead of {code}: {envelope}")
        if len(turn.envelopes()) != len(calls):
            faults.append(f"{len(turn.envelopes())} results of {len(calls)} calls")
        faults += [f"no result was {code}" for code in WANTED if code not in codes]
        left = hostile.processes_with(self.dir)
        faults += [f"still running: {line}" for line in left.values()]
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        if peak > MEMORY_MB:
            faults.append(f"{peak} MB of memory")
        return len(calls), codes, faults, peak


def main():
    quick = "--quick" in sys.argv[1:]
    test = Hostile("attack")
    test.setUp()
    try:
        count, codes, faults, peak = test.attack(1 if quick else 40)
    finally:
        test.doCleanups()
    for fault in faults[:10]:
        print(fault, flush=True)
    told = ", ".join(f"{code} {number}" for code, number in sorted(codes.items()))
    hostile.conclude(28, not faults, (
        f"{len(HOSTILE) + len(WAYS) + len(OPENINGS)} hostile servers, {count:,} calls ({told}): {len(faults)} faults, "
        f"at most {peak} MB of memory"))


if __name__ == "__main__":
    main()
