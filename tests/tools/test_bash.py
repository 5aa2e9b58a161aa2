"""bash: what a command prints, its exit code, its limits, its progress."""
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import support
from support import PATIENCE, ScratchTest, run_tool

# (command, output, exit code)
CASES = [
    ("echo hi", "hi", 0),
    ("printf hi", "hi", 0),
    ("echo; echo", "\n", 0),
    ("printf 'a\\n\\n\\n'", "a\n\n", 0),
    ("true", "", 0),
    ("false", "", 1),
    ("exit 42", "", 42),
    ("echo a; echo b", "a\nb", 0),
    ("echo out; echo err >&2; echo out", "out\nerr\nout", 0),
    ("nonexistent", "sh: 1: nonexistent: not found", 127),
    ("echo ok\nnonexistent", "ok\nsh: 2: nonexistent: not found", 127),
    ("LC_ALL=C ls /nonexistent", "ls: cannot access '/nonexistent': No such file or directory", 2),
    ("", "sh: empty command", 127),
    ("-x", "sh: 1: -x: not found", 127),
    ("kill -9 $$", "", 137),
    ("kill -TERM $$", "", 143),
    ("kill -INT $$", "", 130),
    ("sh -c 'kill -9 $$'; exit $?", "Killed", 137),
    ("cat", "", 0),
    ("read x; echo $?", "1", 0),
    ("echo \"$0 $#\"", "sh 0", 0),
    ("printf 'a\\000b'", "a\0b", 0),
    ("printf 'a\\377b'", "a\ufffdb", 0),
    ("printf '\\360\\220\\200x'", "\ufffdx", 0),
    ("printf '\\303\\251'", "\u00e9", 0),
    ("printf '\\303\\n'", "\ufffd", 0),
    ("printf '\\r\\n'", "\r", 0),
    ("yes | head -n 1", "y", 0),
    ("(trap - PIPE; yes) | head -n 1 >/dev/null", "", 0),
    ("exec >&- 2>&-; sleep 0.05; exit 5", "", 5),
    ("echo 'quotes \" and \\ and \t'", "quotes \" and \\ and \t", 0),
]

BAD = [
    ({}, "Missing required parameter 'command'"),
    ({"command": None}, "Missing required parameter 'command'"),
    ({"command": 1}, "Parameter 'command' must be a string"),
    ({"command": "a\0b"}, "Parameter 'command' must not contain a NUL character"),
    ({"command": "true", "timeout_seconds": 0},
     "Parameter 'timeout_seconds' must be between 1 and 600"),
    ({"command": "true", "timeout_seconds": 601},
     "Parameter 'timeout_seconds' must be between 1 and 600"),
    ({"command": "true", "timeout_seconds": "1"},
     "Parameter 'timeout_seconds' must be an integer"),
]


def sanitized():
    """The tool carries a sanitizer, whose memory is not ours to judge."""
    with open(support.tool_path("bash"), "rb") as f:
        return b"__asan_init" in f.read()


def ends(pid):
    """True when the process has gone (or is a zombie) before a busy machine could be blamed."""
    for _ in range(6000):
        try:
            with open(f"/proc/{pid}/stat") as f:
                if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


class Schema(unittest.TestCase):
    def test_schema(self):
        done = subprocess.run([support.tool_path("bash"), "--schema"], stdout=subprocess.PIPE)
        schema = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(schema["name"], "bash")
        self.assertTrue(schema["description"].startswith("Execute a shell command and return output"))
        for words in ("permissions asks for more", "*_API_KEY"):
            self.assertIn(words, schema["description"])
        self.assertEqual(schema["parameters"]["properties"]["command"],
                         {"type": "string", "description": "Shell command to execute"})
        self.assertEqual(list(schema["parameters"]["properties"]),
                         ["command", "timeout_seconds", "background", "permissions", "reason"])
        self.assertEqual(schema["host"], ["job"])
        self.assertEqual(schema["effects"], {"write": "project", "network": False})
        self.assertEqual(schema["escalation"], {"parameter": "permissions"})
        self.assertEqual(schema["parameters"]["required"], ["command"])
        self.assertEqual(schema["returns"]["required"], [])
        self.assertNotIn("parallel", schema)


class Commands(ScratchTest):
    def test_cases(self):
        for command, output, code in CASES:
            with self.subTest(command=command):
                self.assertEqual(run_tool("bash", {"command": command}),
                                 {"output": output, "exit_code": code})

    def test_bad_parameters(self):
        for params, error in BAD:
            with self.subTest(params=params):
                self.assertEqual(run_tool("bash", params),
                                 {"error": error, "error_code": "INVALID_ARG"})

    def test_not_json(self):
        for data in (b"", b"{", b"[]", b"\xff", b'{"command":"true"} x'):
            with self.subTest(data=data):
                self.assertEqual(run_tool("bash", data)["error_code"], "INVALID_ARG")

    def test_members_in_order(self):
        done = run_tool("bash", {"command": "echo x"}, raw=True)
        self.assertEqual(done.stdout, b'{"output":"x","exit_code":0}')

    def test_null_timeout_is_absent(self):
        self.assertEqual(run_tool("bash", {"command": "echo x", "timeout_seconds": None}),
                         {"output": "x", "exit_code": 0})

    def test_working_folder_and_environment(self):
        answer = run_tool("bash", {"command": "pwd; echo $IKIGAI_TOOL_CALL_ID"}, cwd=self.dir,
                          env={"IKIGAI_TOOL_CALL_ID": "call_7"})
        self.assertEqual(answer["output"], f"{os.path.realpath(self.dir)}\ncall_7")

    def test_long_commands(self):
        for size in (131070, 131071, 131072, 200000, 3000000):
            with self.subTest(size=size):
                tail = "; echo $0; nonexistent"
                command = "echo " + "x" * (size - 5 - len(tail)) + tail
                answer = run_tool("bash", {"command": command})
                self.assertEqual(answer["exit_code"], 127)
                first, zero, error = answer["output"].split("\n")
                self.assertEqual(len(first), size - 5 - len(tail))
                self.assertEqual(zero, "sh")
                self.assertRegex(error, "^sh: 1: .*nonexistent: not found$")

    def test_large_output_without_limit(self):
        answer = run_tool("bash", {"command": "yes 12345678 | head -c 20000000"})
        self.assertEqual(len(answer["output"]), 20000000)
        self.assertNotIn("truncated", answer)
        answer = run_tool("bash", {"command": "yes 123456789 | head -c 20000000"})
        self.assertEqual(len(answer["output"]), 19999999)

    def test_own_process_group(self):
        answer = run_tool("bash", {"command": "ps -o pgid= -p $$; echo $$"})
        group, pid = answer["output"].split()
        self.assertEqual(group, pid)

    def test_no_descriptor_leaks_into_the_command(self):
        read_end, write_end = os.pipe()
        os.set_inheritable(write_end, True)
        done = subprocess.run([support.tool_path("bash")], stdout=subprocess.PIPE,
                              input=b'{"command":"ls /proc/$$/fd; echo [$IKIGAI_PROGRESS_FD]"}',
                              env=support.clean_env(IKIGAI_PROGRESS_FD=write_end), close_fds=True,
                              pass_fds=[write_end])
        os.close(read_end)
        os.close(write_end)
        self.assertEqual(json.loads(done.stdout)["output"].split("\n"), ["0", "1", "2", "[]"])


class Background(ScratchTest):
    def test_background_child_does_not_hold_the_call(self):
        for command in ("sleep 300 & echo $!", "setsid sleep 300 & echo $!",
                        "(sleep 300 & echo $!)", "nohup sleep 300 2>/dev/null & echo $!"):
            with self.subTest(command=command):
                start = time.monotonic()
                answer = run_tool("bash", {"command": command})
                self.assertLess(time.monotonic() - start, PATIENCE)
                pid = int(answer["output"])
                os.kill(pid, signal.SIGKILL)  # it was left alive: raises if not

    def test_background_child_that_prints_without_end(self):
        start = time.monotonic()
        answer = run_tool("bash", {"command": "yes & echo $! >pid; sleep 0.1"}, cwd=self.dir,
                          env={"IKIGAI_MAX_OUTPUT": 1000})
        os.kill(int(self.read("pid")), signal.SIGKILL)
        self.assertLess(time.monotonic() - start, PATIENCE)
        self.assertEqual(answer["exit_code"], 0)
        self.assertTrue(answer["truncated"])


class Limit(ScratchTest):
    def limited(self, command, limit):
        return run_tool("bash", {"command": command}, env={"IKIGAI_MAX_OUTPUT": limit})

    def test_what_fits_is_kept_whole(self):
        for size in (0, 1, 2, 199, 200):
            with self.subTest(size=size):
                command = f"head -c {size} /dev/zero | tr '\\0' x; echo"
                self.assertEqual(self.limited(command, 200), {"output": "x" * size, "exit_code": 0})

    def test_head_and_tail(self):
        answer = self.limited("seq 100000", 1000)
        self.assertLessEqual(len(answer["output"]), 1000)
        self.assertGreater(len(answer["output"]), 950)
        head, tail = answer["output"].split(" bytes omitted ...]\n")
        head, omitted = head.split("\n[... ")
        self.assertTrue(head.startswith("1\n2\n3\n"))
        self.assertTrue(tail.endswith("\n99999\n100000"))
        self.assertEqual(answer["total_bytes"], 588895)
        self.assertEqual(len(head) + len(tail) + int(omitted) + 1, 588895)
        self.assertEqual(list(answer), ["output", "exit_code", "truncated", "total_bytes"])

    def test_never_over_the_limit(self):
        outputs = ["seq 3000", "yes \u00e9\u20ac\U0001f600 | head -n 2000",
                   "head -c 9000 /dev/zero | tr '\\0' '\\377'",
                   "head -c 9000 /dev/zero | tr '\\0' '\\200'",
                   "yes $(printf '\\360\\220\\200') | head -n 3000"]
        for command in outputs:
            for limit in (0, 1, 2, 3, 4, 5, 63, 127, 128, 129, 130, 131, 500, 4096):
                with self.subTest(command=command, limit=limit):
                    answer = self.limited(command, limit)
                    self.assertLessEqual(len(answer["output"].encode()), limit)
                    self.assertTrue(answer["truncated"])
                    self.assertEqual("omitted" in answer["output"], limit >= 128)

    def test_a_small_limit_joins_no_pieces(self):
        """Every line of the output is one that the command printed, or part of it, or the marker."""
        for limit in (1, 2, 10, 15, 16, 17, 40, 100, 127):
            with self.subTest(limit=limit):
                answer = self.limited("seq 1001 1999", limit)
                head, _, tail = answer["output"].partition("\n[...]\n")
                whole = "".join(f"{n}\n" for n in range(1001, 2000))
                self.assertTrue(whole.startswith(head))
                self.assertTrue(whole.endswith(tail + "\n") if tail else limit < 16)
                self.assertEqual((answer["exit_code"], answer["truncated"]), (0, True))

    def test_characters_are_not_cut(self):
        for limit in range(100, 180):
            with self.subTest(limit=limit):
                answer = self.limited("yes \u20ac\U0001f600\u00e9 | head -n 500", limit)
                self.assertNotIn("\ufffd", answer["output"])

    def test_cleaned_text_over_the_limit(self):
        answer = self.limited("head -c 150 /dev/zero | tr '\\0' '\\377'", 300)
        self.assertTrue(answer["truncated"])
        self.assertEqual(answer["total_bytes"], 150)
        self.assertLessEqual(len(answer["output"].encode()), 300)

    def test_memory_is_bounded(self):
        answer = self.limited(
            "head -c 500000000 /dev/zero; echo; grep VmHWM /proc/$PPID/status", 100000)
        self.assertGreater(answer["total_bytes"], 500000000)
        if not sanitized():
            self.assertLess(int(answer["output"].split()[-2]), 4 * 1024)


class Interrupted(ScratchTest):
    """SIGTERM, as ikigai sends it to the tool and to its command: what was printed is answered."""

    def interrupt(self, command, env=None):
        """The answer, and how the tool ended; the command creates the file ready when it is."""
        tool = subprocess.Popen([support.tool_path("bash")], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, cwd=self.dir,
                                env=support.clean_env(**(env or {})))
        tool.stdin.write(json.dumps({"command": command}).encode())
        tool.stdin.close()
        while not os.path.exists(self.path("ready")):
            time.sleep(0.005)
        tool.send_signal(signal.SIGTERM)
        answer = json.loads(tool.stdout.read())
        tool.stdout.close()
        os.unlink(self.path("ready"))
        return answer, tool.wait()

    def test_the_answer_is_what_was_printed(self):
        answer, status = self.interrupt("echo partial; echo more >&2; touch ready; sleep 60")
        self.assertEqual((answer, status),
                         ({"output": "partial\nmore", "exit_code": 143}, -signal.SIGTERM))

    def interrupt_both(self):
        """Sends SIGTERM to the tool and to its command. The tool, which shares a processor with this
        test, is unlikely to get it before its command has ended."""
        tool = subprocess.Popen([support.tool_path("bash")], stdin=subprocess.PIPE, cwd=self.dir,
                                stdout=subprocess.PIPE, env=support.clean_env())
        command = "echo partial; echo $$ > pid; mv pid ready; exec sleep 60"
        tool.stdin.write(json.dumps({"command": command}).encode())
        tool.stdin.close()
        while not os.path.exists(self.path("ready")):
            time.sleep(0.005)
        os.sched_setscheduler(tool.pid, os.SCHED_IDLE, os.sched_param(0))
        tool.send_signal(signal.SIGTERM)
        with contextlib.suppress(ProcessLookupError):  # the tool was faster
            os.kill(int(self.read("ready")), signal.SIGTERM)
        answer = json.loads(tool.stdout.read())
        tool.stdout.close()
        os.unlink(self.path("ready"))
        return answer, tool.wait()

    def test_a_command_that_ends_before_the_tool_runs_again(self):
        processors = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(processors)})
        self.addCleanup(os.sched_setaffinity, 0, processors)
        for _ in range(30):
            self.assertEqual(self.interrupt_both(),
                             ({"output": "partial", "exit_code": 143}, -signal.SIGTERM))

    def test_last_words_count(self):
        """The tool waits for them for a tenth of a second, which a busy machine may not give. The
        shell would add a line about a child that the signal ended first, so its child ignores it."""
        deaf = "(trap '' TERM; touch ready; exec sleep 60 > /dev/null 2>&1) & wait"
        for _ in range(20):
            answer, status = self.interrupt("trap 'echo bye; exit 3' TERM; " + deaf)
            if answer["exit_code"] == 3:
                break
        self.assertEqual((answer, status), ({"output": "bye", "exit_code": 3}, -signal.SIGTERM))

    def test_a_command_that_ignores_sigterm(self):
        answer, status = self.interrupt(
            "trap '' TERM; echo $$; echo deaf; touch ready; while :; do sleep 60; done")
        pid, word = answer["output"].split("\n")
        self.assertEqual((word, answer["exit_code"], status), ("deaf", 143, -signal.SIGTERM))
        self.assertTrue(ends(int(pid)))

    def test_a_deaf_command_does_not_hold_the_answer_up(self):
        """It is there before SIGKILL comes for the tool itself."""
        command = "trap '' TERM; echo deaf; touch ready; while :; do sleep 60; done"
        tool = subprocess.Popen([support.tool_path("bash")], stdin=subprocess.PIPE, cwd=self.dir,
                                stdout=subprocess.PIPE, env=support.clean_env())
        tool.stdin.write(json.dumps({"command": command}).encode())
        tool.stdin.close()
        while not os.path.exists(self.path("ready")):
            time.sleep(0.005)
        tool.send_signal(signal.SIGTERM)
        self.assertEqual(json.loads(os.read(tool.stdout.fileno(), 1000))["output"], "deaf")
        self.assertIsNone(tool.poll())  # the command still has its grace
        tool.wait()
        tool.stdout.close()

    def test_head_and_tail(self):
        answer, _ = self.interrupt("seq 100000; touch ready; sleep 60", {"IKIGAI_MAX_OUTPUT": 1000})
        self.assertTrue(answer["output"].startswith("1\n2\n3\n"))
        self.assertTrue(answer["output"].endswith("\n99999\n100000"))
        self.assertEqual((answer["truncated"], answer["total_bytes"]), (True, 588895))

    def test_a_flood(self):
        answer, _ = self.interrupt("trap '' TERM; (trap '' TERM; yes) & touch ready; wait",
                                   {"IKIGAI_MAX_OUTPUT": 1000})
        self.assertTrue(answer["output"].startswith("y\ny\n"))
        self.assertLessEqual(len(answer["output"]), 1000)

    def test_the_command_hears_sigterm(self):
        """It is neither blocked nor ignored in what bash starts."""
        self.assertEqual(run_tool("bash", {"command": "kill -TERM $$; echo alive"}),
                         {"output": "", "exit_code": 143})


class Timeout(ScratchTest):
    def timed(self, command, seconds=1):
        start = time.monotonic()
        answer = run_tool("bash", {"command": command, "timeout_seconds": seconds}, cwd=self.dir)
        return answer, time.monotonic() - start

    def test_a_command_that_ends_in_time(self):
        answer, took = self.timed("echo a; sleep 0.1; exit 3", 600)
        self.assertEqual(answer, {"output": "a", "exit_code": 3})
        self.assertLess(took, PATIENCE)

    def test_ended_at_its_time(self):
        answer, took = self.timed("echo $$ >pid; echo so far; sleep 300; echo never")
        self.assertEqual(answer, {"output": "so far", "exit_code": 124, "timed_out": True})
        self.assertTrue(0.95 < took < PATIENCE, took)
        self.assertTrue(ends(int(self.read("pid"))))

    def test_what_ignores_sigterm_is_killed(self):
        answer, took = self.timed("trap '' TERM; echo $$ >pid; sleep 300; sleep 300")
        self.assertEqual(answer, {"output": "", "exit_code": 124, "timed_out": True})
        self.assertTrue(1.4 < took < PATIENCE, took)
        self.assertTrue(ends(int(self.read("pid"))))

    def test_a_child_that_ignores_sigterm_is_killed(self):
        answer, took = self.timed("(trap '' TERM; sleep 300) & echo $! >pid; wait")
        self.assertEqual(answer["exit_code"], 124)
        self.assertLess(took, PATIENCE)
        self.assertTrue(ends(int(self.read("pid"))))

    def test_a_command_may_clean_up(self):
        answer, took = self.timed("trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.05; done")
        self.assertTrue(answer["output"].endswith("cleaned"), answer)
        self.assertEqual(answer["exit_code"], 124)

    def test_a_stopped_command(self):
        answer, took = self.timed("kill -STOP $$")
        self.assertEqual(answer["exit_code"], 124)
        self.assertLess(took, PATIENCE)

    def test_a_command_that_prints_without_end(self):
        start = time.monotonic()
        answer = run_tool("bash", {"command": "yes", "timeout_seconds": 1},
                          env={"IKIGAI_MAX_OUTPUT": 1000})
        self.assertLess(time.monotonic() - start, PATIENCE)
        self.assertEqual(list(answer),
                         ["output", "exit_code", "timed_out", "truncated", "total_bytes"])


class Progress(ScratchTest):
    def run_with_progress(self, params, read=True, pipe_size=1 << 20):
        """Returns (answer, [(time, text)], raw lines)."""
        read_end, write_end = os.pipe()
        fcntl.fcntl(write_end, 1031, pipe_size)  # F_SETPIPE_SZ
        process = subprocess.Popen([support.tool_path("bash")], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, pass_fds=[write_end],
                                   env=support.clean_env(IKIGAI_PROGRESS_FD=write_end))
        os.close(write_end)
        process.stdin.write(json.dumps(params).encode())
        process.stdin.close()
        lines, pending = [], b""
        while read:
            data = os.read(read_end, 65536)
            if not data:
                break
            now = time.monotonic()
            *whole, pending = (pending + data).split(b"\n")
            lines += [(now, line) for line in whole]
        answer = json.loads(process.stdout.read())
        process.wait()
        process.stdout.close()
        os.close(read_end)
        self.assertEqual(pending, b"")
        for _, line in lines:
            self.assertLessEqual(len(line) + 1, 4096)
            self.assertEqual(list(json.loads(line)), ["text"])
        return answer, [(when, json.loads(line)["text"]) for when, line in lines]

    def test_output_as_it_comes(self):
        answer, lines = self.run_with_progress(
            {"command": "for i in 1 2 3; do echo $i; sleep 0.1; done"})
        self.assertEqual(answer["output"], "1\n2\n3")
        self.assertEqual("".join(text for _, text in lines), "1\n2\n3\n")
        self.assertGreaterEqual(len(lines), 3)

    def test_at_most_twenty_lines_a_second(self):
        answer, lines = self.run_with_progress(
            {"command": "i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i+1)); done; sleep 0.3"})
        span = lines[-1][0] - lines[0][0] if lines else 0
        self.assertLessEqual(len(lines), 20 * span + 3)
        self.assertTrue(lines[-1][1].endswith("1999\n"))

    def test_rest_is_flushed_at_the_end(self):
        _, lines = self.run_with_progress({"command": "echo a; sleep 0.01; echo b"})
        self.assertEqual("".join(text for _, text in lines), "a\nb\n")

    def test_newest_part_of_much(self):
        _, lines = self.run_with_progress({"command": "seq 100000"})
        self.assertTrue(lines[-1][1].endswith("99999\n100000\n"))

    def test_escapes_count(self):
        for byte in ("\\001", "\\377", "\\\\", "\\303\\251"):
            with self.subTest(byte=byte):
                command = f"for i in 1 2 3 4 5 6 7 8 9 10; do s=\"$s{byte}{byte}\"; done; " \
                          "for i in 1 2 3 4 5 6 7 8 9 10; do t=\"$t$s$s$s\"; done; " \
                          "for i in 1 2 3 4 5 6 7 8 9 10; do printf \"$t\"; done; printf 'END\\n'"
                _, lines = self.run_with_progress({"command": command})
                self.assertTrue(lines[-1][1].endswith("END\n"))

    def test_characters_stay_whole(self):
        _, lines = self.run_with_progress(
            {"command": "printf 'a\\342\\202'; sleep 0.2; printf '\\254b'"})
        self.assertEqual([text for _, text in lines], ["a", "\u20acb"])

    def test_heartbeat_only_with_a_timeout(self):
        _, lines = self.run_with_progress({"command": "sleep 1.3", "timeout_seconds": 20})
        self.assertEqual({text for _, text in lines}, {""})
        _, lines = self.run_with_progress({"command": "sleep 0.8"})
        self.assertEqual(lines, [])

    def test_a_full_pipe_never_holds_the_command(self):
        start = time.monotonic()
        answer, _ = self.run_with_progress(
            {"command": "for i in 1 2 3 4 5; do seq 2000; sleep 0.06; done; echo end"}, read=False,
            pipe_size=4096)
        self.assertTrue(answer["output"].endswith("\nend"))
        self.assertLess(time.monotonic() - start, PATIENCE)

    def test_a_bad_descriptor_is_ignored(self):
        for value in ("", "x", "-1", "1", "77", "99999999999999999999", "3x"):
            with self.subTest(value=value):
                self.assertEqual(run_tool("bash", {"command": "echo x"},
                                          env={"IKIGAI_PROGRESS_FD": value}),
                                 {"output": "x", "exit_code": 0})

    def test_silence_causes_no_wake_ups(self):
        trace = self.path("trace")
        subprocess.run(["strace", "-o", trace, "-e", "trace=poll", support.tool_path("bash")],
                       input=b'{"command":"sleep 0.5"}', stdout=subprocess.DEVNULL, check=True,
                       env=support.clean_env(ASAN_OPTIONS="detect_leaks=0"))
        self.assertLessEqual(self.read("trace").count(b"poll("), 3)


if __name__ == "__main__":
    unittest.main()
