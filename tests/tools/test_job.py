"""job and bash --job, without ikigai: what is checked before ikigai is asked, and how a job runs."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import ScratchTest, run_tool, tool_path  # noqa: E402

BAD = [
    ({}, "Missing required parameter 'action'"),
    ({"action": 1}, "Parameter 'action' must be a string"),
    ({"action": "start"}, "Parameter 'action' must be \"list\", \"output\", \"wait\" or \"end\""),
    ({"action": "output"}, "Missing parameter 'job' for the action 'output'"),
    ({"action": "end", "job": None}, "Missing parameter 'job' for the action 'end'"),
    ({"action": "wait", "job": 1}, "Parameter 'job' must be a string"),
    ({"action": "wait", "job": "a", "timeout_seconds": -1},
     "Parameter 'timeout_seconds' must be between 0 and 86400"),
]


class Job(ScratchTest):
    def test_schema(self):
        schema = json.loads(subprocess.check_output([tool_path("job"), "--schema"]))
        self.assertEqual((schema["name"], schema["host"]), ("job", ["job"]))
        self.assertEqual(schema["effects"], {"write": "none", "network": False})
        self.assertEqual(schema["parameters"]["required"], ["action"])
        self.assertEqual(list(schema["parameters"]["properties"]), ["action", "job", "timeout_seconds"])

    def test_wrong_parameters(self):
        for params, error in BAD:
            with self.subTest(str(params)):
                self.assertEqual(run_tool("job", params), {"error": error, "error_code": "INVALID_ARG"})

    def test_without_ikigai(self):
        for name, params in (("job", {"action": "list"}), ("bash", {"command": "true", "background": True})):
            self.assertEqual(run_tool(name, params)["error_code"], "NO_HOST")

    def run_job(self, command):
        done = subprocess.run([tool_path("bash"), "--job"], input=json.dumps({"command": command}).encode(),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.dir)
        return done.returncode, done.stdout

    def test_a_job_is_the_shell(self):
        """Its output and status are those of the command; stdin is empty; signals are as usual."""
        self.assertEqual(self.run_job("echo a; cat; echo b >&2; exit 3"), (3, b"a\nb\n"))
        self.assertEqual(self.run_job("-x"), (127, b"sh: 1: -x: not found\n"))
        self.assertEqual(self.run_job("kill -TERM $$"), (-15, b""))
        code, output = self.run_job("yes | head -n 1; grep -E 'Sig(Ign|Blk)' /proc/self/status")
        lines = output.decode().splitlines()
        self.assertEqual((code, lines[0], len(lines)), (0, "y", 3), output)
        for line in lines[1:]:
            # make ignores signals from 32 on, which belong to the C library, in what it starts.
            self.assertEqual(int(line.split()[1], 16) & 0x7fffffff, 0, line)
        self.assertEqual(self.run_job(f": {'x' * 300000}; echo $0"), (0, b"sh\n"))


if __name__ == "__main__":
    unittest.main()
