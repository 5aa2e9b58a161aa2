"""todo: the list that goes in comes out, and what is no list is refused."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import run_tool, tool_path  # noqa: E402


def item(content, status="pending", **more):
    return {"content": content, "status": status, **more}


CONTENT = "'content' must be a text that is not empty"
STATUS = "'status' must be \"pending\", \"in_progress\" or \"completed\""
LONG = ("The list is too long: at most 200 items with 16384 bytes in total. Leave out completed items, "
        "or join some")
BAD = [
    ({}, "Missing required parameter 'todos'"),
    ({"todos": "a"}, "Parameter 'todos' must be an array"),
    ({"todos": {"content": "a"}}, "Parameter 'todos' must be an array"),
    ({"todos": ["a"]}, f"Item 1 of 'todos': {CONTENT}"),
    ({"todos": [item("a"), {"status": "pending"}]}, f"Item 2 of 'todos': {CONTENT}"),
    ({"todos": [item(" \n")]}, f"Item 1 of 'todos': {CONTENT}"),
    ({"todos": [item(1)]}, f"Item 1 of 'todos': {CONTENT}"),
    ({"todos": [{"content": "a"}]}, f"Item 1 of 'todos': {STATUS}"),
    ({"todos": [item("a", "done")]}, f"Item 1 of 'todos': {STATUS}"),
    ({"todos": [item("a", None)]}, f"Item 1 of 'todos': {STATUS}"),
    ({"todos": [item("a")] * 201}, LONG),
    ({"todos": [item("a" * 8193)] * 2}, LONG),
]


class Todo(unittest.TestCase):
    def test_schema(self):
        schema = json.loads(subprocess.check_output([tool_path("todo"), "--schema"]))
        self.assertEqual((schema["name"], schema["display"]), ("todo", "checklist"))
        self.assertEqual(schema["effects"], {"write": "none", "network": False})
        self.assertEqual(schema["parameters"]["required"], ["todos"])
        todos = schema["parameters"]["properties"]["todos"]
        self.assertEqual((todos["type"], todos["items"]["required"]), ("array", ["content", "status"]))
        self.assertEqual(todos["items"]["properties"]["status"]["enum"],
                         ["pending", "in_progress", "completed"])

    def test_the_list_comes_back(self):
        todos = [item("read"), item("write \u20ac\n\0\x1b[2J", "in_progress"), item("run", "completed")]
        self.assertEqual(run_tool("todo", {"todos": todos}), {"todos": todos, "open": 2})
        self.assertEqual(run_tool("todo", {"todos": []}), {"todos": [], "open": 0})
        self.assertEqual(run_tool("todo", {"todos": [item("a", "completed", priority=1)]}),
                         {"todos": [item("a", "completed")], "open": 0})
        many = [item("a" * 8192)] * 2
        self.assertEqual(run_tool("todo", {"todos": many})["open"], 2)
        self.assertEqual(run_tool("todo", {"todos": [item("a")] * 200})["open"], 200)

    def test_what_is_no_list(self):
        for params, error in BAD:
            with self.subTest(str(params)[:60]):
                self.assertEqual(run_tool("todo", params), {"error": error, "error_code": "INVALID_ARG"})


if __name__ == "__main__":
    unittest.main()
