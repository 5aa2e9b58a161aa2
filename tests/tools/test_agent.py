"""agent: its schema, and what it says where there is no ikigai to ask."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import run_tool, tool_path  # noqa: E402

BAD = [
    ({}, "Missing required parameter 'prompt'"),
    ({"prompt": 1}, "Parameter 'prompt' must be a string"),
    ({"prompt": "x", "tools": "bash"}, "Parameter 'tools' must be an array"),
    ({"prompt": "x", "mode": 1}, "Parameter 'mode' must be a string"),
]


class Agent(unittest.TestCase):
    def test_schema(self):
        schema = json.loads(subprocess.check_output([tool_path("agent"), "--schema"]))
        self.assertEqual((schema["name"], schema["parallel"], schema["host"]), ("agent", True, ["agent"]))
        self.assertEqual(schema["effects"], {"write": "none", "network": False})
        self.assertEqual(set(schema["parameters"]["properties"]),
                         {"prompt", "agent", "tools", "model", "mode"})
        self.assertEqual(schema["parameters"]["required"], ["prompt"])
        self.assertEqual(set(schema["returns"]["properties"]), {"text", "usage", "agent"})

    def test_bad_parameters(self):
        for arguments, message in BAD:
            answer = run_tool("agent", arguments)
            self.assertEqual((answer["error"], answer["error_code"]), (message, "INVALID_ARG"))

    def test_without_ikigai(self):
        self.assertEqual(run_tool("agent", {"prompt": "x"})["error_code"], "NO_HOST")


if __name__ == "__main__":
    unittest.main()
