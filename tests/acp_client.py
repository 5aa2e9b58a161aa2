"""A scripted editor for the tests of `ikigai acp`: sends requests, answers those of ikigai, and
checks the form of every message that arrives."""
import json
import queue
import subprocess
import threading

from agent_support import PATIENCE
from support import IKIGAI

TEXT = {"type": str, "text": str}
KINDS = {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode",
         "other"}
STATUSES = {"pending", "in_progress", "completed", "failed"}


def check(condition, what):
    if not condition:
        raise AssertionError(f"not as the protocol says: {what}")


def check_block(block):
    kind = block["type"]
    needed = {"text": {"text"}, "image": {"data", "mimeType"}, "resource_link": {"uri", "name"},
              "resource": {"resource"}}[kind]
    check(set(block) >= needed, block)
    if kind == "text":
        check(isinstance(block["text"], str), block)


def check_call(update, whole):
    check(isinstance(update["toolCallId"], str), update)
    known = {"sessionUpdate", "toolCallId", "title", "kind", "status", "content", "locations",
             "rawInput", "rawOutput"}
    check(set(update) <= known, update)
    check(not whole or isinstance(update["title"], str), update)
    check(update.get("kind", "other") in KINDS, update)
    check(update.get("status", "pending") in STATUSES, update)
    for place in update.get("locations", []):
        check(place["path"].startswith("/") and place.get("line", 1) >= 1, update)
    for item in update.get("content", []):
        if item["type"] == "content":
            check_block(item["content"])
        else:
            check(item["type"] == "diff" and item["path"].startswith("/"), item)
            check(isinstance(item["newText"], str), item)
            check(item["oldText"] is None or isinstance(item["oldText"], str), item)


def check_options(options):
    for option in options:
        check(option["type"] == "select" and isinstance(option["name"], str), option)
        values = [choice["value"] for choice in option["options"]]
        check(option["currentValue"] in values, option)
        check(all(isinstance(choice["name"], str) for choice in option["options"]), option)


def check_update(update):
    kind = update["sessionUpdate"]
    if kind in ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk"):
        check_block(update["content"])
        check(isinstance(update["messageId"], str) and update["messageId"], update)
    elif kind in ("tool_call", "tool_call_update"):
        check_call(update, kind == "tool_call")
    elif kind == "plan":
        for entry in update["entries"]:
            check(isinstance(entry["content"], str), entry)
            check(entry["priority"] in ("high", "medium", "low"), entry)
            check(entry["status"] in ("pending", "in_progress", "completed"), entry)
    elif kind == "available_commands_update":
        for command in update["availableCommands"]:
            check(not command["name"].startswith("/"), command)
            check(isinstance(command["description"], str), command)
            check("input" not in command or isinstance(command["input"]["hint"], str), command)
    elif kind == "current_mode_update":
        check(isinstance(update["currentModeId"], str), update)
    elif kind == "config_option_update":
        check_options(update["configOptions"])
    elif kind == "session_info_update":
        check(set(update) <= {"sessionUpdate", "title", "updatedAt"}, update)
    elif kind == "usage_update":
        check(update["used"] >= 0 and update["size"] > 0, update)
        check("cost" not in update or update["cost"]["currency"] == "USD", update)
    else:
        check(False, kind)


class Editor:
    """A running `ikigai acp`. answers maps methods of the editor to functions from params to a result,
    to an int (the code of an error), or to None: the request stays open."""

    def __init__(self, test, *args, env=None, **more):
        self.process = subprocess.Popen(
            [IKIGAI, "acp", *args], cwd=test.path(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=test.env(**(env or {})), **more)
        self.arrived, self.log, self.answers, self.requests = queue.Queue(), [], {}, []
        self.announced = set()
        self.messages = {}  # of each session: the ids of its messages with their kinds, in order
        self.number = 0
        threading.Thread(target=self.read, daemon=True).start()
        self.errors = []
        self.drain = threading.Thread(target=self.read_errors, daemon=True)
        self.drain.start()
        test.addCleanup(self.abandon)

    def abandon(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                pipe.close()
            except OSError:
                pass

    def read(self):
        try:
            for line in self.process.stdout:
                self.arrived.put(line)
        except ValueError:
            pass
        self.arrived.put(None)

    def read_errors(self):
        try:
            for line in self.process.stderr:
                self.errors.append(line.decode("utf-8", "replace"))
        except ValueError:
            pass

    # ---- sending

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, **message):
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, method, params=None, id=None):
        """Sends a request; returns its id."""
        if id is None:
            self.number += 1
            id = self.number
        self.send(id=id, method=method, **({} if params is None else {"params": params}))
        return id

    def notify(self, method, params):
        self.send(method=method, params=params)

    # ---- receiving

    def next(self):
        """The next message, which is logged; requests of ikigai are answered on the way."""
        line = self.arrived.get(timeout=PATIENCE)
        if line is None:
            raise AssertionError(f"ikigai has ended: {self.log[-3:]} {''.join(self.errors)}")
        check(line.endswith(b"\n"), line)
        message = json.loads(line)
        check(message["jsonrpc"] == "2.0", message)
        self.log.append(message)
        if "method" in message:
            self.take(message)
        else:
            check(("result" in message) != ("error" in message), message)
        return message

    def take(self, message):
        method, params = message["method"], message["params"]
        if method == "session/update":
            update = params["update"]
            check_update(update)
            if "messageId" in update:
                self.take_part(self.messages.setdefault(params["sessionId"], []), update)
            if update["sessionUpdate"] == "tool_call":
                self.announced.add(update["toolCallId"])
            elif update["sessionUpdate"] == "tool_call_update":
                check(update["toolCallId"] in self.announced, update)
        if "id" not in message:
            return
        self.requests.append(message)
        if method == "session/request_permission":
            check(params["toolCall"]["toolCallId"] in self.announced, params)
            check_call(params["toolCall"], True)
            for option in params["options"]:
                check(option["kind"] == option["optionId"] and option["name"], option)
        answer = self.answers.get(method, -32601)
        answer = answer(params) if callable(answer) else answer
        if isinstance(answer, int):
            self.send(id=message["id"], error={"code": answer, "message": "no"})
        elif answer is not None:
            self.send(id=message["id"], result=answer)

    @staticmethod
    def take_part(messages, update):
        """The parts of a message have one kind and follow each other."""
        part = (update["messageId"], update["sessionUpdate"])
        if not messages or messages[-1] != part:
            check(part[0] not in [id for id, _ in messages], update)
            messages.append(part)

    def wait(self, matches):
        """Reads up to the first message for which matches() is true."""
        while True:
            message = self.next()
            if matches(message):
                return message

    def wait_update(self, kind, **fields):
        def matches(message):
            update = message.get("params", {}).get("update", {})
            return update.get("sessionUpdate") == kind and all(
                update.get(k) == v for k, v in fields.items())
        return self.wait(matches)["params"]["update"]

    def answer_to(self, id):
        return self.wait(lambda m: "method" not in m and m.get("id") == id)

    def call(self, method, params=None, error=None):
        """A whole request: its result, or, where an error is expected, the message of the error with
        that code."""
        answer = self.answer_to(self.ask(method, params))
        if error is None:
            check("result" in answer, answer)
            return answer["result"]
        check(answer.get("error", {}).get("code") == error, answer)
        return answer["error"]["message"]

    # ---- sessions

    def initialize(self, **capabilities):
        return self.call("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities,
                                        "clientInfo": {"name": "test", "version": "0"}})

    def open(self, folder):
        """A new session; returns its id."""
        return self.call("session/new", {"cwd": folder, "mcpServers": []})["sessionId"]

    def start(self, session, *blocks, **more):
        """Sends a prompt; texts may be given as such. Returns the id of the request."""
        blocks = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
        return self.ask("session/prompt", {"sessionId": session, "prompt": blocks}, **more)

    def prompt(self, session, *blocks):
        """A whole turn: the reason why it stopped, and its updates."""
        before = len(self.log)
        answer = self.answer_to(self.start(session, *blocks))
        check("result" in answer, answer)
        return answer["result"]["stopReason"], self.updates(self.log[before:], session)

    def refused(self, session, *blocks, code):
        answer = self.answer_to(self.start(session, *blocks))
        check(answer.get("error", {}).get("code") == code, answer)
        return answer["error"]["message"]

    def updates(self, log=None, session=None):
        return [m["params"]["update"] for m in (self.log if log is None else log)
                if m.get("method") == "session/update"
                and session in (None, m["params"]["sessionId"])]

    def end(self):
        """Closes standard input; returns the exit status. Everything printed was a message."""
        self.process.stdin.close()
        status = self.process.wait(PATIENCE)
        while (line := self.arrived.get(timeout=PATIENCE)) is not None:
            self.log.append(json.loads(line))
        self.drain.join(PATIENCE)
        return status


def texts(updates, kind="agent_message_chunk"):
    return "".join(u["content"]["text"] for u in updates
                   if u["sessionUpdate"] == kind and u["content"]["type"] == "text")
