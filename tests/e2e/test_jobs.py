"""Commands in the background: what bash and job answer, what /jobs and the status line show, and that nothing
outlives ikigai."""
import json
import os
import random
import re
import signal
import unittest

import hostile
from agent_support import AgentTest, sent_messages, sent_results
from fake_llm import Answer, Call
from repl_support import ReplTest
from terminal_support import PATIENCE

UNTIL = "while [ ! -e %s ]; do sleep 0.02; done"


def nap():
    """A command that can be told from all others on this machine."""
    return f"sleep {random.randrange(10000, 99999)}.{random.randrange(10 ** 8)}"


def is_alive(command):
    """Whether a process with these arguments runs."""
    wanted = command.replace(" ", "\0").encode() + b"\0"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if f.read() == wanted:
                    return True
        except OSError:
            pass
    return False


def wait_gone(command):
    return hostile.wait_until(lambda: not is_alive(command), PATIENCE)


class Script:
    """A model that makes one call after the other. A call may be a function of the id of the last job."""

    def __init__(self, *calls):
        self.calls, self.results, self.job = list(calls), [], None

    def __call__(self, request):
        results = sent_results(request)
        self.results = [envelope for _, envelope in results]
        for envelope in self.results:
            self.job = (envelope.get("result") or {}).get("job", self.job)
        if len(results) >= len(self.calls):
            return Answer("Done.")
        call = self.calls[len(results)]
        return Answer("", calls=[call(self.job) if callable(call) else call])


def bash(command, **more):
    return Call("bash", {"command": command, **more})


def background(command, **more):
    return bash(command, background=True, **more)


def job(action, **more):
    return lambda last: Call("job", {"action": action, "job": last, **more})


class Headless(AgentTest):
    def run_script(self, *calls, args=(), config=None):
        script = Script(*calls)
        turn = self.ask(script, *args, config=config)
        return [envelope.get("result", envelope) for envelope in turn.envelopes()]

    def test_a_job_from_start_to_end(self):
        command = f"echo one; echo err >&2; touch ready; {UNTIL % 'go'}; printf 'two\\303'; printf '\\251'; exit 3"
        results = self.run_script(
            background(command), bash(UNTIL % "ready"), Call("job", {"action": "list"}), job("output"),
            job("output"), job("wait", timeout_seconds=2), bash("touch go"), job("wait"), job("wait"), job("end"),
            Call("job", {"action": "list"}), Call("job", {"action": "output", "job": "none"}),
            Call("job", {"action": "start"}), Call("job", {"action": "wait"}),
            config={"tool_timeout_seconds": 1})
        started = results[0]
        name = started["job"]
        self.assertEqual(started, {"job": name, "state": "running"})
        self.assertIsInstance(name, str)
        (listed,) = results[2]["jobs"]
        self.assertIsInstance(listed.pop("seconds"), int)
        self.assertEqual(listed, {"job": name, "command": command, "state": "running", "exit_code": None})
        running = {"job": name, "state": "running", "exit_code": None}
        self.assertEqual(results[3], {**running, "output": "one\nerr"})
        self.assertEqual(results[4], {**running, "output": ""})
        self.assertEqual(results[5], {**running, "output": "", "timed_out": True})
        ended = {"job": name, "state": "ended", "exit_code": 3}
        self.assertEqual(results[7], {**ended, "output": "two\u00e9"})
        self.assertEqual(results[8:10], [{**ended, "output": ""}] * 2)
        self.assertEqual({k: results[10]["jobs"][0][k] for k in ended}, ended)
        self.assertEqual(results[11]["error_code"], "NO_SUCH_JOB")
        self.assertEqual(results[12], {"error": "Parameter 'action' must be \"list\", \"output\", \"wait\" or \"end\"",
                                       "error_code": "INVALID_ARG"})
        self.assertEqual(results[13], {"error": "Missing parameter 'job' for the action 'wait'",
                                       "error_code": "INVALID_ARG"})

    def test_what_a_job_was_confined_to(self):
        """The limits of the job, not those of the tool that asks for it."""
        script = [background("exit 3"), job("wait"), background("exit 3", permissions="all"), job("wait"),
                  Call("job", {"action": "list"})]
        turn = self.ask(Script(*script), "--allow", "all")
        confined = [envelope.get("confined") for envelope in turn.envelopes()]
        self.assertEqual(confined, [None, f"writes only in {self.project} and /tmp, no network", None, None,
                                    None])

    def test_end_and_what_is_left_running(self):
        """The whole tree ends, with job end and with ikigai."""
        naps = [nap() for _ in range(4)]
        results = self.run_script(
            background(f"setsid {naps[0]} & {naps[1]} & touch ready; wait"), bash(UNTIL % "ready"), job("end"),
            background(f"trap '' TERM; setsid {naps[2]} & touch more; {naps[3]}"), bash(UNTIL % "more"))
        self.assertEqual((results[2]["state"], results[2]["exit_code"]), ("ended", 143))
        for command in naps:
            self.assertTrue(wait_gone(command), command)

    def test_a_job_of_a_sub_agent(self):
        """It outlives the sub-agent; the parent reads its output and ends it."""
        started = nap()

        def script(request):
            said = sent_messages(request)
            results = [envelope["result"] for _, envelope in sent_results(request)]
            if said[1]["content"] == "Start it":
                return Answer("It runs.") if results else Answer(
                    calls=[background(f"echo begun; touch ready; exec {started}")])
            if not results:
                return Answer(calls=[Call("agent", {"prompt": "Start it"})])
            listed = next((r["jobs"] for r in results if "jobs" in r), None)
            steps = [bash(UNTIL % "ready"), Call("job", {"action": "list"}),
                     lambda: Call("job", {"action": "output", "job": listed[0]["job"]}),
                     lambda: Call("job", {"action": "end", "job": listed[0]["job"]})]
            if len(results) > len(steps):
                return Answer("Done.")
            step = steps[len(results) - 1]
            return Answer(calls=[step() if callable(step) else step])
        turn = self.ask(script)
        results = [e["result"] for e in turn.envelopes() if "result" in e][-4:]
        self.assertEqual([j["state"] for j in results[1]["jobs"]], ["running"])
        self.assertEqual((results[2]["state"], results[2]["output"]), ("running", "begun"))
        self.assertEqual((results[3]["state"], results[3]["exit_code"]), ("ended", 143))
        self.assertTrue(wait_gone(started))

    def test_output_is_bounded(self):
        results = self.run_script(background("head -c 30000000 /dev/zero | tr '\\0' x; echo; echo end"), job("wait"))
        output = results[1]
        self.assertEqual((output["exit_code"], output["truncated"], output["total_bytes"]), (0, True, 30000005))
        self.assertLessEqual(len(output["output"]), 128 * 1024)
        self.assertRegex(output["output"], r"\Ax+\n\[\.\.\. \d+ bytes omitted \.\.\.\]\nx+\nend\Z")

    def test_the_room_is_that_of_the_call(self):
        """In plan mode a job cannot write either; rules decide about the command."""
        results = self.run_script(background("echo x > file"), job("wait"), args=("--mode", "plan"))
        self.assertNotEqual(results[1]["exit_code"], 0)
        self.assertFalse(os.path.exists(os.path.join(self.project, "file")))
        results = self.run_script(background("echo x > file; ls /tmp; echo $IKIGAI_HOST_FD."), job("wait"))
        self.assertEqual((results[1]["exit_code"], results[1]["output"][-1:]), (0, "."))
        self.assertTrue(os.path.exists(os.path.join(self.project, "file")))
        self.write("home/.ikigai/permissions.json", json.dumps({"deny": ["bash(rm *)"]}), 0o600)
        results = self.run_script(background("rm file"))
        self.assertEqual(results[0]["error_code"], "PERMISSION_DENIED")

    def test_limits(self):
        calls = [background(f"{UNTIL % 'go'}; exit {n}") for n in range(17)]
        results = self.run_script(*calls, bash("touch go"), job("wait"))
        self.assertEqual([r.get("state") for r in results[:16]], ["running"] * 16)
        self.assertEqual((results[16]["error_code"], results[18]["exit_code"]), ("LIMIT", 15))
        long = "x" * 200000
        results = self.run_script(background(f": {long}; echo $0"), job("wait"))
        self.assertEqual((results[1]["exit_code"], results[1]["output"]), (0, "sh"))

    def test_without_a_channel(self):
        for name, params in (("bash", {"command": "true", "background": True}), ("job", {"action": "list"})):
            done = self.ikigai("tool", "run", name, json.dumps(params))
            result = done.json()["result"]
            self.assertEqual((result["error_code"], result["error"]),
                             ("UNKNOWN_OP", "The operation 'job' is not available here: it needs a session"))

    def test_a_resumed_session_knows_no_jobs(self):
        script = Script(background(nap()))
        turn = self.ask(script)
        llm, name = turn.llm, turn.envelopes()[0]["result"]["job"]
        llm.script = [Answer("", calls=[Call("job", {"action": "output", "job": name})]), Answer("Done.")]
        self.ikigai(*self.command("Go on", "--json", "-c"), status=0, env=self.connect(llm))
        self.assertEqual(sent_results(llm.requests[-1])[-1][1]["result"]["error_code"], "NO_SUCH_JOB")


class Terminal(ReplTest):
    def test_what_is_shown(self):
        """The status line, /jobs, a wait that is interrupted, and no wake-up while a job is silent."""
        command = nap()
        script = Script(background(command), job("wait"))
        t = self.ready(script)
        t.send("go\r")
        t.wait_for("● job")
        t.wait_for(" · 1 job")
        t.send("\x1b")
        t.wait_for(re.compile(r"^└ #2 interrupted [^\n]*\ninterrupted$", re.M))
        t.wait_idle()
        self.assertTrue(is_alive(command))
        self.assertIn(" · 1 job", "\n".join(t.screen()))

        def switches():
            with open(f"/proc/{t.pid}/status") as f:
                return [line for line in f if "ctxt" in line]

        def sleeps():
            """Whether it slept for a second; what the turn left to do may take a moment."""
            before = switches()
            return not hostile.wait_until(lambda: switches() != before, 1)
        self.assertTrue(hostile.wait_until(sleeps, 20))
        t.send("/jobs\r")
        t.wait_for(re.compile(rf"Jobs.*\n.*\b{script.job}\b.*running.*{re.escape(command)}"))
        t.send("\r")
        t.wait_for(f"Ending job {script.job}.")
        self.assertTrue(wait_gone(command))
        t.wait_gone(" · 1 job")
        self.enter(t, "/jobs", re.compile(f"{script.job}  ended, exit code 143 .*{re.escape(command)}"))
        self.enter(t, f"/jobs end {script.job}", f"No job '{script.job}' is running. /jobs lists them.")
        t.close()

    def test_in_plain_mode(self):
        """The running jobs have numbers; a number ends its job."""
        commands = [nap(), nap()]
        t = self.ready(Script(*map(background, commands)), "--plain")
        self.say(t, "go", "Done.")
        t.send("/jobs\n")
        t.wait_for(re.compile(rf"1 .*running.*{re.escape(commands[0])}\n.*2 .*{re.escape(commands[1])}"))
        t.send("2\n")
        t.wait_for(re.compile(r"Ending job \w+\."))
        self.assertTrue(wait_gone(commands[1]))
        self.assertTrue(is_alive(commands[0]))
        t.send("/exit\n")
        t.wait_for("Stopped 1 background job.")
        self.assertTrue(wait_gone(commands[0]))
        t.close()

    def test_leaving(self):
        """Each way to leave ends jobs; the ordinary one says how many."""
        for way in ("/exit\r", signal.SIGKILL, signal.SIGHUP):
            with self.subTest(way=way):
                commands = [nap(), nap()]
                t = self.ready(Script(*(background(f"setsid {c} & wait") for c in commands)))
                self.say(t, "go", "Done.")
                t.wait_for("2 jobs")
                self.assertTrue(hostile.wait_until(lambda: all(map(is_alive, commands)), PATIENCE))
                if isinstance(way, str):
                    t.send(way)
                    t.wait_for("Stopped 2 background jobs.")
                else:
                    os.kill(t.pid, way)
                for command in commands:
                    self.assertTrue(wait_gone(command), command)
                t.close()

    def test_the_end_of_a_job_is_told(self):
        t = self.ready(Script(background(f"{UNTIL % 'go'}; exit 7"), background("sleep 0")))
        self.say(t, "go", "Done.")
        with open(os.path.join(self.project, "go"), "w"):
            pass
        t.wait_for(re.compile(r"Job \w{4} ended with exit code 7: while"))
        t.wait_gone(" · 1 job")
        t.close()

    def test_undo_takes_what_a_job_did_later_for_the_work_of_others(self):
        write = Call("file_write", {"file_path": "both", "content": "agent\n"})
        later = f"{UNTIL % 'go'}; echo job > both; echo job > own; touch done"
        t = self.ready(Script(write, background(later)))
        self.say(t, "go", "Done.")
        with open(os.path.join(self.project, "go"), "w"):
            pass
        hostile.wait_until(lambda: os.path.exists(os.path.join(self.project, "done")), PATIENCE)
        t.wait_gone(" · 1 job")
        self.enter(t, "/undo", "both")
        for name in ("both", "own"):
            with open(os.path.join(self.project, name)) as f:
                self.assertEqual(f.read(), "job\n")
        t.close()


if __name__ == "__main__":
    unittest.main()
