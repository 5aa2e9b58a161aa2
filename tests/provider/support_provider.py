"""Runs the drivers of the provider tests; README.md describes their input and output."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import OBJECTS  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
FIELDS = ["stream_options", "parallel_tool_calls", "strict", "effort", "summary", "thinking",
          "tool_choice", "max_tokens", "cache_key", "include", "store", "cache_control",
          "reasoning_content", "json_schema", "no_reasoning_content"]


def run(program, *args, input=None):
    """Returns what the driver printed; a driver that fails writes the reason to stderr."""
    done = subprocess.run([os.path.join(OBJECTS, "tests", "provider", program), *args],
                          input=input, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{program} {' '.join(args)}\n{done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout)


def stream_file(mode, wire, path, **options):
    if "refused" in options:
        options["refused"] = sum(1 << FIELDS.index(name) for name in options["refused"])
    return run("stream_driver", mode, wire, path, *(f"{k}={v}" for k, v in options.items()))


def stream(mode, wire, data, **options):
    """Runs the stream driver on bytes, a string, or a list of events (strings are sent unchanged)."""
    if isinstance(data, list):
        data = events(wire, data)
    with tempfile.NamedTemporaryFile(prefix="ikigai-stream-") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
        file.flush()
        return stream_file(mode, wire, file.name, **options)


def events(wire, items):
    """Server-sent events as this vendor writes them."""
    lines = []
    for item in items:
        if wire in ("responses", "anthropic") and isinstance(item, dict) and "type" in item:
            lines.append(f"event: {item['type']}\n")
        data = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        lines.append(f"data: {data}\n\n")
    return "".join(lines)


def request(target, messages, **more):
    return run("request_driver",
               input=json.dumps({"target": target, "messages": messages, **more}).encode())


def user(text):
    return {"kind": "user", "content": text}


def assistant(text, **data):
    return {"kind": "assistant", "content": text, **({"data": data} if data else {})}


def call(id, name, arguments="{}", **data):
    function = {"name": name, "arguments": arguments}
    return {"kind": "tool_call", "content": name,
            "data": {"id": id, "type": "function", "function": function, **data}}


def result(id, name, output="{\"tool_success\":true,\"result\":1}", success=True, **data):
    return {"kind": "tool_result", "content": "done",
            "data": {"tool_call_id": id, "name": name, "success": success, **data,
                     "output": output}}


class ProviderTest(unittest.TestCase):
    maxDiff = None
    WIRE = "chat"

    def stream(self, items, **options):
        """The result of a stream, which must not depend on how its bytes are cut."""
        whole = stream("whole", self.WIRE, items, **options)
        self.assertEqual(stream("bytes", self.WIRE, items, **options), whole)
        return whole

    def assert_result(self, got, expected):
        """Fields that are not expected must be null or empty, except order, replay and fields that
        are derived from others."""
        free = ("order", "replay", "fault", "refused", "continuation")
        got = {k: v for k, v in got.items()
               if k in expected or (k not in free and v not in (None, "", [], {}))}
        self.assertEqual(got, expected)
