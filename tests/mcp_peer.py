#!/usr/bin/python3
"""A scripted MCP server over standard input and output, for tests. Its one argument is a JSON object:

  log       a file that gets every line that arrived and every line that was sent
  era       "legacy" (default), "modern" (only), "dual"
  version   the version of a legacy server; default: the one that was offered
  tools     names of the tools to list, from TOOLS below, or objects that are listed as they are
  pages     tools of one page; 0: all at once
  fault     a way to misbehave, see the code
  count     a file that counts starts, one byte each
  gate      initialize is not answered before this file exists
  instructions  what it says about the use of its tools
  ttl       ttlMs of the list of tools, of a modern server
"""
import array
import fcntl
import json
import os
import sys
import termios
import threading
import time

SCRIPT = json.loads(sys.argv[1] if len(sys.argv) > 1 else "{}")
FAULT = SCRIPT.get("fault", "")
ERA = SCRIPT.get("era", "legacy")
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
       "rkJggg==")

TOOLS = {
    "echo": {"description": "Says it again. And more.", "inputSchema": {
        "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
    "plain": {"inputSchema": {"type": "object"}},
    "a.b": {"title": "Dotted", "inputSchema": {"type": "object", "properties": {"x": "string"}}},
    "a_b": {"description": "Exact.", "inputSchema": {}},
}
for name in ("content", "structured", "both", "same", "image", "failing", "refusing", "slow",
             "progress", "silent", "dying", "junk", "huge", "asking", "empty", "invalid", "log",
             "change", "environment", "write", "pid", "split", "input", "endless_input", "strange", "visit",
             "void"):
    TOOLS.setdefault(name, {"description": name + ".", "inputSchema": {"type": "object"}})

lock = threading.Lock()
cancelled = set()
answers = {}
answered = threading.Condition()
changes = 0
subscription = None  # the id of the request subscriptions/listen


def log(mark, line):
    if "log" in SCRIPT:
        with open(SCRIPT["log"], "a", encoding="utf-8") as out:
            out.write(mark + line + "\n")


def write(line):
    with lock:
        log("< ", line[:2000])
        sys.stdout.buffer.write(line.encode() + b"\n")
        sys.stdout.buffer.flush()


def write_in_pieces(pieces):
    """Each piece is read before the next one is written, so that no read returns two of them."""
    unread = array.array("i", [0])
    with lock:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
            while fcntl.ioctl(sys.stdout.fileno(), termios.FIONREAD, unread) == 0 and unread[0] > 0:
                time.sleep(0.001)


def send(message):
    write(json.dumps({"jsonrpc": "2.0", **message}))


def respond(request, result):
    if is_modern(request):
        result.setdefault("resultType", "complete")
    send({"id": request["id"], "result": result})


def refuse(request, code, message, data=None):
    error = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    send({"id": request["id"], "error": error})


def is_modern(request):
    return META + "protocolVersion" in request.get("params", {}).get("_meta", {})


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def ask(method, params, raw=None):
    """A request to the client; returns its answer. raw: the text of the params, sent as it is."""
    number = "s%d" % (len(answers) + 1)
    with answered:
        answers[number] = None
    if raw is None:
        raw = json.dumps(params)
    write('{"jsonrpc": "2.0", "id": "%s", "method": "%s", "params": %s}' % (number, method, raw))
    with answered:
        answered.wait_for(lambda: answers[number] is not None)
    return answers[number]


FORM = {"message": "Who are you?", "requestedSchema": {"type": "object", "properties": {
    "name": {"type": "string", "title": "Name"},
    "age": {"type": "integer", "default": 7},
    "colour": {"type": "string", "enum": ["red", "green"]}}, "required": ["name", "colour"]}}


def call(request):
    global changes
    params = request["params"]
    name, arguments = params["name"], params.get("arguments", {})
    meta = params.get("_meta", {})
    if name == "echo":
        respond(request, text(arguments.get("text", "")))
    elif name in ("plain", "a.b", "a_b"):
        respond(request, text("this is " + name))
    elif name == "content":
        respond(request, {"content": [
            {"type": "text", "text": "one"}, {"type": "text", "text": "two\n"},
            {"type": "resource_link", "uri": "demo://1", "name": "first"},
            {"type": "resource", "resource": {"uri": "demo://2", "text": "embedded"}},
            {"type": "resource", "resource": {"uri": "demo://3", "mimeType": "a/b", "blob": "AAAA"}},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "hologram", "x": 1}]})
    elif name == "structured":
        respond(request, {"content": [], "structuredContent": {"n": 3}})
    elif name == "both":
        respond(request, {**text("three"), "structuredContent": {"n": 3}})
    elif name == "same":
        respond(request, {**text('{ "n": 3 }'), "structuredContent": {"n": 3}})
    elif name == "image":
        respond(request, {"content": [{"type": "image", "data": PNG, "mimeType": "image/jpeg"}]})
    elif name == "failing":
        respond(request, {**text("it broke"), "isError": True})
    elif name == "refusing":
        refuse(request, -32050, "no such thing")
    elif name == "slow":
        for _ in range(int(arguments.get("steps", 1))):
            time.sleep(arguments.get("seconds", 0.1))
            if "progressToken" in meta and arguments.get("steps"):
                send({"method": "notifications/progress", "params": {
                    "progressToken": meta["progressToken"], "progress": 1.5, "total": 3}})
        if request["id"] not in cancelled or arguments.get("late"):
            respond(request, text("done"))
    elif name == "progress":
        for step in range(3):
            send({"method": "notifications/progress", "params": {
                "progressToken": meta["progressToken"], "progress": step, "message": f"step {step}"}})
        send({"id": "ping", "method": "ping"})
        respond(request, text("done"))
    elif name == "silent":
        if "muttered" in arguments:
            write(arguments["muttered"])
    elif name == "dying":
        sys.stderr.write("last words\n")
        sys.stderr.flush()
        os._exit(3)
    elif name == "junk":
        write("not json at all")
        write("")
        write("[]")
        with lock:
            sys.stdout.buffer.write(b"\r\n{broken\n")
            sys.stdout.buffer.flush()
        sys.stderr.write("x" * 300000 + "\n")
        sys.stderr.flush()
        send({"id": 999, "result": {}})
        send({"method": "notifications/nobody/knows"})
        respond(request, text("survived"))
    elif name == "huge":
        line = json.dumps({"jsonrpc": "2.0", "id": request["id"],
                           "result": text("\u00e9" * int(arguments["bytes"]))}, ensure_ascii=False)
        data = line.encode() + b"\n"
        with lock:
            for start in range(0, len(data), 65535):
                sys.stdout.buffer.write(data[start:start + 65535])
            sys.stdout.buffer.flush()
    elif name == "split":
        data = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": text(arguments["text"])},
                          ensure_ascii=False).encode() + b"\n"
        write_in_pieces([data[i:i + 1] for i in range(len(data))])
    elif name == "asking":
        asked = ask("elicitation/create", arguments.get("params", FORM), arguments.get("raw"))
        if not arguments.get("mute"):
            respond(request, text(json.dumps(asked.get("result", asked.get("error")))))
    elif name == "empty":
        respond(request, {"content": []})
    elif name == "invalid":
        respond(request, arguments.get("result", {"content": "no list"}))
    elif name == "log":
        send({"method": "notifications/message", "params": {
            "level": "warning", "logger": "peer", "data": "look out"}})
        send({"method": "notifications/message", "params": {"level": "info", "data": {"a": 1}}})
        sys.stderr.write("to stderr\n")
        sys.stderr.flush()
        respond(request, text("logged"))
    elif name == "change":
        meta = {"params": {"_meta": {META + "subscriptionId": subscription}}}
        for _ in range(3 if subscription is not None or not is_modern(request) else 0):
            send({"method": "notifications/tools/list_changed", **(meta if is_modern(request) else {})})
        SCRIPT["tools"] = ["echo", "change", "plain"]
        changes += 1
        respond(request, text("changed"))
    elif name == "environment":
        respond(request, text(json.dumps({"env": dict(os.environ), "cwd": os.getcwd(),
                                          "args": sys.argv[2:], "roots": roots})))
    elif name == "write":
        try:
            with open(arguments["path"], "w", encoding="utf-8") as out:
                out.write("x")
            respond(request, text("written"))
        except OSError as problem:
            respond(request, {**text(str(problem)), "isError": True})
    elif name == "pid":
        respond(request, text(str(os.getpid())))
    elif name == "input":
        if "inputResponses" not in params:
            respond(request, {"resultType": "input_required", "requestState": "s\u00e9 1", "inputRequests": {
                "who": {"method": "elicitation/create", "params": FORM},
                "where": {"method": "roots/list"}}})
        else:
            respond(request, text(json.dumps({k: params.get(k) for k in (
                "inputResponses", "requestState")})))
    elif name == "endless_input":
        respond(request, {"resultType": "input_required"})
    elif name == "visit":  # works from the second call on
        changes += 1
        if changes > 1:
            respond(request, text("visited"))
        else:
            refuse(request, -32042, "Not yet", {"elicitations": [
                {"mode": "url", "elicitationId": "1", "url": "https://example.org/a?b=c", "message": "Allow it."}]})
    elif name == "void":
        send({"id": request["id"]})
    elif name == "strange":
        respond(request, {"resultType": "dream", "content": []})
    else:
        refuse(request, -32602, "Unknown tool: " + name)


roots = None


def list_tools(request):
    global changes
    listed = [t if isinstance(t, dict) else {"name": t, **TOOLS[t]}
              for t in SCRIPT.get("tools", list(TOOLS))]
    size = SCRIPT.get("pages") or len(listed) or 1
    cursor = request["params"].get("cursor") if "params" in request else None
    if FAULT == "endless pages":
        respond(request, {"tools": [], "nextCursor": str(int(cursor or 0) + 1)})
    elif FAULT == "same page":
        respond(request, {"tools": [], "nextCursor": "x"})
    elif FAULT == "no tools":
        respond(request, {})
    elif FAULT == "expired cursor" and cursor is not None and changes == 0:
        changes = 1
        refuse(request, -32602, "Invalid cursor")
    else:
        # The cursor of the second page is "", which is a valid one.
        start = 0 if cursor is None else size if cursor == "" else int(cursor)
        result = {"tools": listed[start:start + size]}
        if FAULT == "strange list":
            result["resultType"] = "dream"
        if "ttl" in SCRIPT:
            result.update(ttlMs=SCRIPT["ttl"], cacheScope="public")
        if start + size < len(listed):
            result["nextCursor"] = "" if start == 0 else str(start + size)
        respond(request, result)


def list_late(request):
    while not os.path.exists(SCRIPT["list_gate"]):
        time.sleep(0.01)
    list_tools(request)


def handle(request):
    global roots, subscription
    method = request["method"]
    modern = is_modern(request)
    if method == "initialize":
        if FAULT == "silent":
            sys.stderr.write("Password: ")
            sys.stderr.flush()
            time.sleep(3600)
        if "gate" in SCRIPT:
            while not os.path.exists(SCRIPT["gate"]):
                time.sleep(0.01)
        if ERA == "modern":
            refuse(request, -32022, "old", {"supported": [MODERN], "requested": "x"})
            return
        respond(request, {
            "protocolVersion": SCRIPT.get("version", request["params"]["protocolVersion"]),
            "capabilities": {} if FAULT == "no capability" else {"tools": {"listChanged": True}},
            "serverInfo": {"name": "peer", "version": "1.0"},
            "instructions": SCRIPT.get("instructions", "Be kind.")})
    elif method == "server/discover":
        if ERA == "legacy":
            if FAULT == "exits on discover":
                os._exit(1)
            if FAULT == "silent on discover":
                return
            refuse(request, -32601, "Method not found")
            return
        respond(request, {"supportedVersions": [MODERN], "capabilities": {"tools": {"listChanged": True}},
                          "ttlMs": 0, "cacheScope": "private",
                          "_meta": {META + "serverInfo": {"name": "peer", "version": "2.0"}}})
    elif modern and ERA == "legacy":
        refuse(request, -32600, "modern request")
    elif method == "tools/list" and "list_gate" in SCRIPT and changes > 0:
        threading.Thread(target=list_late, args=(request,), daemon=True).start()
    elif method == "tools/list":
        list_tools(request)
    elif method == "tools/call":
        threading.Thread(target=call, args=(request,), daemon=True).start()
    elif method == "subscriptions/listen":
        subscription = request["id"]
        send({"method": "notifications/subscriptions/acknowledged", "params": {
            "notifications": request["params"]["notifications"],
            "_meta": {META + "subscriptionId": subscription}}})
    elif method == "ping":
        respond(request, {})
    else:
        refuse(request, -32601, "Method not found: " + method)


def main():
    global roots
    if "count" in SCRIPT:
        with open(SCRIPT["count"], "a", encoding="utf-8") as out:
            out.write("x")
    if FAULT == "exits":
        sys.stderr.write("reading the keys\ncannot start: no reason")
        sys.exit(4)
    if FAULT == "child":
        if os.fork() == 0:
            os.setsid()
            time.sleep(3600)
    if FAULT == "banner":
        print("Peer 1.0 is listening", flush=True)
    if FAULT == "flood":
        while True:
            sys.stdout.write("y" * 65536)
    if FAULT == "stderr flood":
        def drown():
            while True:
                sys.stderr.write("z" * 65536)
        threading.Thread(target=drown, daemon=True).start()
    if FAULT == "reads nothing":
        time.sleep(3600)
    for line in sys.stdin:
        log("> ", line.rstrip("\n"))
        message = json.loads(line)
        if "method" not in message:
            with answered:
                answers[message["id"]] = message
                answered.notify_all()
        elif "id" in message:
            handle(message)
        elif message["method"] == "notifications/cancelled":
            cancelled.add(message["params"]["requestId"])
        elif message["method"] == "notifications/initialized":
            if FAULT == "asks for roots":
                threading.Thread(target=learn_roots, daemon=True).start()
            if FAULT == "changes at once":
                for _ in range(4):
                    send({"method": "notifications/tools/list_changed"})
    if FAULT == "ignores the end":
        time.sleep(3600)


def learn_roots():
    global roots
    roots = ask("roots/list", {})


main()
