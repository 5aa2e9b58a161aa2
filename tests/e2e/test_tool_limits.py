"""The limits of tools (`limits`, `tools.NAME.limits`), and what their results say about them; in a room and
outside of one."""
import json
import resource
import time

from agent_support import AgentTest
from fake_llm import Answer, Call
from support import IkigaiTest, tool_script

BUSY = "while :; do :; done"


class Limits(IkigaiTest):
    """The user's own tool declares no effects, so it runs unconfined."""

    def run_command(self, command, limits, status=None, **more):
        self.config({"limits": limits, **more})
        return self.ikigai("tool", "run", "bash", json.dumps({"command": command}), status=status).json()

    def run_tool(self, body, limits, **more):
        self.user_tool("t", tool_script("t", body))
        self.config({"limits": limits, **more})
        return self.ikigai("tool", "run", "t", status=None).json()

    def test_the_processor_time_of_a_tool(self):
        answer = self.run_tool(BUSY, {"cpu_seconds": 1})
        self.assertEqual((answer["tool_success"], answer["error_code"], answer["exit_code"],
                          answer["limit"]), (False, "TOOL_CRASHED", 152, "cpu_seconds"))
        self.assertEqual(answer["error"], "Tool 't' was ended by the limit cpu_seconds")

    def test_a_tool_that_ignores_the_signal_is_killed(self):
        answer = self.run_tool(f"trap '' XCPU; {BUSY}", {"cpu_seconds": 1})
        self.assertEqual((answer["exit_code"], answer["limit"]), (137, "cpu_seconds"))

    def test_the_processor_time_of_a_command(self):
        answer = self.run_command(BUSY, {"cpu_seconds": 1})
        self.assertEqual((answer["result"]["exit_code"], answer["limit"]), (152, "cpu_seconds"))
        answer = self.run_command("exit 152", {"cpu_seconds": 1})
        self.assertNotIn("limit", answer)

    def test_the_size_of_a_file(self):
        big = f"head -c 100000 /dev/zero > {self.path('big')}"
        answer = self.run_tool(f"exec {big}", {"file_size": 50000})
        self.assertEqual((answer["exit_code"], answer["limit"]), (153, "file_size"))
        self.assertEqual(len(self.read("big")), 50000)
        answer = self.run_command("head -c 100000 /dev/zero > big", {"file_size": 50000})
        self.assertEqual((answer["result"]["exit_code"], answer["limit"]), (153, "file_size"))

    def test_memory(self):
        answer = self.run_command("ulimit -v", {"memory": 1024 ** 3})
        self.assertEqual(answer["result"]["output"], str(1024 ** 2))
        self.write("project/big", b"x" * 50_000_000)
        self.config({"limits": {"memory": 20_000_000}})
        answer = self.ikigai("tool", "run", "file_edit", json.dumps(
            {"file_path": self.path("project/big"), "old_string": "y", "new_string": "z"})).json()
        self.assertEqual((answer["result"]["error_code"], answer["limit"]),
                         ("OUT_OF_MEMORY", "memory"))

    def test_processes(self):
        begin = time.monotonic()
        many = "for i in 1 2 3 4 5 6; do sleep 300 & done; echo started; wait"
        answer = self.run_command(many, {"processes": 5})
        self.assertEqual((answer["tool_success"], answer["error_code"], answer["limit"]),
                         (False, "TOOL_CRASHED", "processes"))
        self.assertEqual(answer["stdout"], "started")
        self.assertLess(time.monotonic() - begin, 60)
        answer = self.run_command("for i in 1 2 3; do sleep 0.3 & done; wait; echo $?",
                                  {"processes": 5})
        self.assertEqual(answer, {"tool_success": True, "result": {"output": "0", "exit_code": 0}})

    def test_processes_that_replace_each_other_are_not_many(self):
        answer = self.run_command("for i in $(seq 300); do /bin/true; done", {"processes": 5})
        self.assertEqual(answer["result"]["exit_code"], 0)

    def test_the_limits_of_a_tool_come_first(self):
        show = 'ulimit -t; ulimit -f; ulimit -v'
        general = {"cpu_seconds": 7, "file_size": 512 * 1000, "memory": 1024 ** 3}
        own = {"bash": {"limits": {"cpu_seconds": 9, "memory": 0}}}
        answer = self.run_command(show, general)
        self.assertEqual(answer["result"]["output"].split(), ["7", "1000", str(1024 ** 2)])
        answer = self.run_command(show, general, tools=own)
        self.assertEqual(answer["result"]["output"].split(), ["9", "1000", "unlimited"])
        answer = self.run_tool('echo "[$(ulimit -t)]"', general, tools=own)
        self.assertEqual(answer["result"], [7])

    def test_none_by_default_and_0_means_none(self):
        for limits in ({}, {name: 0 for name in ("cpu_seconds", "file_size", "memory", "processes")}):
            answer = self.run_command("ulimit -t; ulimit -f; ulimit -v", limits)
            self.assertEqual(answer["result"]["output"].split(), ["unlimited"] * 3)

    def test_a_lower_limit_of_the_user_stays(self):
        """Only root may raise one."""
        self.config({"limits": {"cpu_seconds": 100}})
        answer = self.ikigai("tool", "run", "bash", '{"command": "ulimit -t"}',
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (50, 50))).json()
        self.assertEqual(answer["result"]["output"], "50")


class Rooms(AgentTest):
    def call(self, command, limits, mode):
        run = self.ask([Answer(calls=[Call("bash", {"command": command})]), Answer("Done.")],
                       config={"limits": limits, "mode": mode, "tool_timeout_seconds": 600})
        return run.envelopes()[0]

    def test_the_same_in_a_room_and_outside(self):
        for mode in ("auto", "plan", "full"):
            with self.subTest(mode=mode):
                answer = self.call(BUSY, {"cpu_seconds": 1}, mode)
                self.assertEqual(answer["limit"], "cpu_seconds")
                self.assertEqual("confined" in answer, mode != "full")
                answer = self.call("head -c 9000 /dev/zero > /tmp/big-$$", {"file_size": 5000}, mode)
                self.assertEqual(answer["limit"], "file_size")
                answer = self.call("for i in 1 2 3 4 5 6; do sleep 300 & done; wait",
                                   {"processes": 5}, mode)
                self.assertEqual(answer["limit"], "processes")
                answer = self.call("ulimit -v", {"memory": 1024 ** 3}, mode)
                self.assertEqual(answer["result"]["output"], str(1024 ** 2))
        self.assert_nothing_runs()
