"""Running tools that succeed, fail and fight, through `ikigai tool run`."""
import fcntl
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import time
import unittest

import hostile
from support import IKIGAI, NOBODY, PATIENCE, ScratchTest, as_user, clean_env


class ToolTest(ScratchTest):
    def setUp(self):
        super().setUp()
        self.home = self.path("home")
        self.tools = os.path.join(self.home, "tools")
        os.makedirs(self.tools)
        os.mkdir(self.path("project"))
        self.addCleanup(hostile.kill_all, self.dir)

    def sh(self, name, body, **schema):
        return hostile.sh_tool(self.tools, name, body, **schema)

    def python(self, name, body, **schema):
        return hostile.python_tool(self.tools, name, body, **schema)

    def configure(self, **config):
        self.write("home/config.json", json.dumps(config), mode=0o600)

    def command(self, name, *arguments):
        return [IKIGAI, "tool", "run", name, *arguments]

    def options(self, **more):
        env = clean_env(IKIGAI_HOME=self.home, **more.pop("env", {}))
        return {"cwd": self.path("project"), "env": env, "stderr": subprocess.PIPE,
                "stdout": subprocess.PIPE, **more}

    def run_raw(self, name, arguments="{}", stdin=None, **more):
        command = self.command(name, *([] if arguments is None else [arguments]))
        source = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        return subprocess.run(command, timeout=120, **source, **self.options(**more))

    def run_tool(self, name, arguments="{}", **more):
        """The envelope, parsed. Exit status and tool_success must agree."""
        done = self.run_raw(name, arguments, **more)
        envelope = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if envelope["tool_success"] else 1, done)
        return envelope

    def spliced(self, name, **more):
        """The exact bytes of the result in the envelope."""
        done = self.run_raw(name, **more)
        self.assertEqual(done.returncode, 0, done)
        start, end = b'{"tool_success":true,"result":', b"}\n"
        self.assertTrue(done.stdout.startswith(start) and done.stdout.endswith(end), done.stdout)
        return done.stdout[len(start):-len(end)]

    def assert_failed(self, envelope, code):
        self.assertEqual((envelope["tool_success"], envelope["error_code"]), (False, code), envelope)
        self.assertLessEqual({"error", "error_code", "exit_code", "stdout", "stderr"},
                             set(envelope))

    def assert_nothing_left(self, seconds=0):
        hostile.wait_until(lambda: not hostile.processes_with(self.dir), seconds)
        self.assertEqual(hostile.processes_with(self.dir), {})


class Success(ToolTest):
    def test_bytes_are_spliced_unchanged(self):
        values = [b"1e400", b"12345678901234567890", b"-0.0", b'"\\u0000"', b'"\\ud83d\\ude00 \\/"',
                  b'{"a":1,"a":2,"a":{"a":3}}', b'{ "b" : [1,\t2 ,\r\n3] }', b"null", b"[]", b"true",
                  b'{"error":"no","error_code":"MINE"}', '"é😀"'.encode(), b'"\x7f"']
        for value in values:
            with self.subTest(value=value):
                self.sh("say", "cat answer")
                self.write("project/answer", value)
                self.assertEqual(self.spliced("say"), value)

    def test_white_space_around_the_value_is_not_part_of_it(self):
        self.write("project/answer", b" \r\n\t{\"a\" : 1} \n\n")
        self.sh("say", "cat answer")
        self.assertEqual(self.spliced("say"), b'{"a" : 1}')

    def test_stderr_of_a_success_is_not_shown(self):
        self.sh("chatty", "echo hello >&2; echo 1")
        done = self.run_raw("chatty")
        self.assertEqual(done.stdout, b'{"tool_success":true,"result":1}\n')
        self.assertNotIn(b"hello", done.stderr)

    def test_stderr_of_a_success_is_shown_on_request(self):
        self.sh("chatty", "printf 'hello \\033[2J\\377\\000x\\n' >&2; echo 1")
        done = subprocess.run([*self.command("chatty", "{}"), "--verbose"], timeout=120,
                              stdin=subprocess.DEVNULL, **self.options())
        self.assertEqual(done.stdout, b'{"tool_success":true,"result":1}\n')
        self.assertTrue(done.stderr.startswith(b"hello "), done.stderr)
        self.assertTrue(done.stderr.endswith("\ufffd\ufffdx\n".encode()), done.stderr)
        self.assertNotIn(b"\033", done.stderr)

    def test_invalid_utf8_becomes_the_replacement_character(self):
        self.write("project/answer", b'{"a\xff":"\xe2\x82x\xc0\xaf"}')
        self.sh("bad", "cat answer")
        self.assertEqual(self.spliced("bad"), '{"a\ufffd":"\ufffdx\ufffd\ufffd"}'.encode())

    def test_script_without_interpreter_line(self):
        hostile.write_program(os.path.join(self.tools, "bare"),
                              "if [ \"$1\" = --schema ]; then echo '{\"name\":\"bare\"}'; exit; fi\n"
                              "echo \"[\\\"$0\\\",$#]\"\n")
        self.assertEqual(self.run_tool("bare")["result"], [os.path.join(self.tools, "bare"), 0])


class Arguments(ToolTest):
    def setUp(self):
        super().setUp()
        self.sh("echo", "cat")

    def test_reach_the_tool_unchanged(self):
        arguments = '{ "n" : 1e400, "n":12345678901234567890,"s":"\\u0000é" }'
        self.assertEqual(self.spliced("echo", arguments=arguments), arguments.encode())

    def test_from_stdin(self):
        done = self.run_raw("echo", None, stdin=b'{"a":1}\n')
        self.assertEqual(done.stdout, b'{"tool_success":true,"result":{"a":1}}\n')

    def test_empty_stdin_means_no_arguments(self):
        for text in (b"", b" \n\t\r\n"):
            with self.subTest(text=text):
                done = self.run_raw("echo", None, stdin=text)
                self.assertEqual(json.loads(done.stdout)["result"], {})

    def test_large_from_stdin(self):
        text = "x" * 900_000
        done = self.run_raw("echo", None, stdin=json.dumps({"a": text}).encode())
        self.assertEqual(json.loads(done.stdout)["result"], {"a": text})

    def test_what_is_no_object_is_refused(self):
        self.sh("witness", "touch ran; echo 1")
        for text in ("", "[1]", '"x"', "1", "null", "{", '{"a":1}{}', "{'a':1}", '{"a":1,}', "nonsense",
                     '{"a":NaN}', "[" * 600 + "]" * 600):
            with self.subTest(text=text):
                envelope = self.run_tool("witness", text)
                self.assert_failed(envelope, "INVALID_PARAMS")
                self.assertIsNone(envelope["exit_code"])
        self.assertFalse(os.path.exists(self.path("project", "ran")))

    def test_invalid_utf8_is_refused(self):
        self.assert_failed(json.loads(self.run_raw("echo", None, stdin=b'{"a":"\xff"}').stdout),
                           "INVALID_PARAMS")

    def test_unknown_tool(self):
        done = self.run_raw("nosuchtool")
        self.assertEqual(done.returncode, 1)
        envelope = json.loads(done.stdout)
        self.assert_failed(envelope, "TOOL_NOT_FOUND")
        self.assertIsNone(envelope["exit_code"])
        self.assertIn("nosuchtool", envelope["error"])

    def test_disabled_tool(self):
        self.configure(tools={"echo": {"enabled": False}})
        self.assert_failed(self.run_tool("echo"), "TOOL_NOT_FOUND")


class Failure(ToolTest):
    def test_crash(self):
        self.sh("crash", "echo part; echo reason >&2; exit 3")
        envelope = self.run_tool("crash")
        self.assert_failed(envelope, "TOOL_CRASHED")
        self.assertEqual((envelope["exit_code"], envelope["stdout"], envelope["stderr"]),
                         (3, "part\n", "reason\n"))

    def test_valid_output_does_not_excuse_a_crash(self):
        self.sh("crash", "echo '{}'; exit 1")
        self.assert_failed(self.run_tool("crash"), "TOOL_CRASHED")

    def test_signals(self):
        for number in (signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM, signal.SIGPIPE):
            with self.subTest(signal=number):
                self.sh("dies", f"kill -{int(number)} $$")
                envelope = self.run_tool("dies")
                self.assert_failed(envelope, "TOOL_CRASHED")
                self.assertEqual(envelope["exit_code"], 128 + number)

    def test_output_that_is_not_one_json_value(self):
        for text in (b"", b"\n", b"rubbish", b"{}{}", b"{} x", b"{", b'"abc', b"[1,]", b"01", b"nul",
                     b"\xff\xfe", b"\0", b"{}\0", b'"\n"', b"\xef\xbb\xbf{}", b"NaN", b"[" * 1000):
            with self.subTest(text=text):
                self.write("project/answer", text)
                self.sh("odd", "cat answer; echo why >&2")
                envelope = self.run_tool("odd")
                self.assert_failed(envelope, "INVALID_OUTPUT")
                self.assertEqual(envelope["exit_code"], 0)
                self.assertEqual(envelope["stdout"], text.decode(errors="replace"))
                self.assertEqual(envelope["stderr"], "why\n")

    def test_invalid_utf8_in_what_it_printed(self):
        self.sh("odd", r"printf 'a\377b\303'; printf '\300x\n' >&2; exit 1")
        envelope = self.run_tool("odd")
        self.assertEqual((envelope["stdout"], envelope["stderr"]), ("a\ufffdb\ufffd", "\ufffdx\n"))

    def test_missing_interpreter(self):
        self.sh("lost", "echo 1")
        self.assertEqual(self.run_tool("lost")["result"], 1)  # its schema is cached now
        path = os.path.join(self.tools, "lost")
        interpreter = shutil.copy("/bin/sh", self.path("shell"))
        hostile.write_program(path, "#!" + interpreter + "\n[ \"$1\" ] && echo '{\"name\":\"lost\"}'")
        self.run_raw("lost")
        os.unlink(interpreter)
        envelope = self.run_tool("lost")
        self.assert_failed(envelope, "TOOL_CRASHED")
        self.assertIsNone(envelope["exit_code"])
        self.assertIn("No such file", envelope["error"])

    def test_long_output_of_a_crash_is_shortened(self):
        self.configure(max_output_size=10000)
        self.python("crash", 'os.write(1, b"o" * 30000); os.write(2, "é".encode() * 20000); sys.exit(1)')
        envelope = self.run_tool("crash")
        self.assertEqual(envelope["stdout"], "o" * 10000)
        self.assertEqual(envelope["stderr"], "é" * 5000)
        self.assertTrue(envelope["truncated"])
        self.assertEqual(envelope["total_bytes"], 70000)

    def test_keeper_killed_by_a_tool(self):
        self.sh("regicide", "kill -9 $PPID; sleep 1; echo 1")
        self.assert_failed(self.run_tool("regicide"), "TOOL_CRASHED")

    def test_what_a_killed_keeper_left_is_ended(self):
        ready = self.path("ready")
        os.mkdir(ready)
        self.python("regicide", hostile.TREE + "os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(60)\n")
        self.assert_failed(self.run_tool(
            "regicide", env={"TREE_READY": ready, "TREE_END": "normal"}), "TOOL_CRASHED")
        self.assert_nothing_left()


class Limits(ToolTest):
    SIZE = 10000

    def setUp(self):
        super().setUp()
        self.configure(max_output_size=self.SIZE)
        self.python("write", "sys.stdout.buffer.write(open('answer', 'rb').read())")

    def answer(self, text):
        self.write("project/answer", text)
        return self.run_tool("write")

    def test_result_at_the_limit_is_whole(self):
        text = json.dumps({"output": "x" * (self.SIZE - 14)})
        self.assertEqual(len(text), self.SIZE)
        self.assertEqual(self.answer(text), {"tool_success": True, "result": json.loads(text)})

    def test_output_is_cut_and_flagged_beside_it(self):
        text = json.dumps({"before": 1, "output": "é" * self.SIZE, "after": [2]}, ensure_ascii=False)
        self.assertEqual(self.answer(text), {"tool_success": True, "result": {
            "before": 1, "output": "é" * (self.SIZE // 2), "truncated": True,
            "total_bytes": 2 * self.SIZE, "after": [2]}})

    def test_cut_is_at_a_character(self):
        for shift in range(4):
            result = self.answer(json.dumps({"output": "x" * shift + "😀" * self.SIZE}))["result"]
            self.assertEqual(result["output"], "x" * shift + "😀" * ((self.SIZE - shift) // 4))
            self.assertEqual(result["total_bytes"], shift + 4 * self.SIZE)

    def test_counts_of_the_tool_stay_and_its_flags_are_replaced(self):
        text = json.dumps({"truncated": False, "total_bytes": 5, "output": "x" * 20000, "count": 7})
        self.assertEqual(self.answer(text)["result"], {
            "output": "x" * self.SIZE, "truncated": True, "total_bytes": 20000, "count": 7})

    def test_text_that_is_long_only_by_its_escapes_is_whole(self):
        text = '{"output":"' + "\\u0001" * self.SIZE + '"}'
        self.assertEqual(self.answer(text)["result"], {"output": "\x01" * self.SIZE})

    def test_the_last_of_doubled_outputs_is_cut_once(self):
        text = "{" + '"output":0,' * 500 + '"output":"' + "x" * 20000 + '"}'
        self.write("project/answer", text)
        done = self.run_raw("write")
        self.assertLess(len(done.stdout), 2 * self.SIZE)
        self.assertEqual(json.loads(done.stdout)["result"]["output"], "x" * self.SIZE)

    def test_other_shapes_become_their_cut_text(self):
        for text in ('["' + "y" * 20000 + '"]', '"' + "é" * 10000 + '"', "[" + "1," * 9000 + "2]",
                     json.dumps({"output": ["x" * 20000]}), json.dumps({"rows": "x" * 20000}),
                     json.dumps({"output": "x", "rest": "x" * 20000})):
            with self.subTest(text=text[:20]):
                data = text.encode()
                envelope = self.answer(text)
                self.assertEqual(envelope, {
                    "tool_success": True, "truncated": True, "total_bytes": len(data),
                    "result": data[:self.SIZE].decode(errors="ignore")})

    def test_stdout_up_to_six_times_the_limit_is_read(self):
        most = 6 * self.SIZE + 65536
        envelope = self.answer('"' + "x" * (most - 2) + '"')
        self.assertEqual(envelope["total_bytes"], most)

    def test_longer_stdout_is_no_result(self):
        most = 6 * self.SIZE + 65536
        envelope = self.answer('"' + "x" * (most - 1) + '"')
        self.assert_failed(envelope, "INVALID_OUTPUT")
        self.assertEqual(envelope["exit_code"], 0)

    def test_a_gigabyte(self):
        self.python("flood", 'b = b"x" * 1048576\nfor i in range(1000): os.write(1, b)')
        envelope = self.run_tool("flood")
        self.assert_failed(envelope, "INVALID_OUTPUT")
        self.assertEqual(envelope["stdout"], "x" * self.SIZE)


class Deadline(ToolTest):
    """Limits are a second; the margins are for starting programs on a busy machine."""

    def timed(self, name, **more):
        begin = time.monotonic()
        envelope = self.run_tool(name, **more)
        return envelope, time.monotonic() - begin

    def assert_times_out(self, name, seconds):
        envelope, took = self.timed(name)
        self.assert_failed(envelope, "TOOL_TIMEOUT")
        self.assertGreaterEqual(took, seconds)
        self.assertLess(took, seconds + PATIENCE)
        self.assert_nothing_left()
        return envelope

    def test_configured_limit(self):
        self.configure(tool_timeout_seconds=1)
        self.sh("hang", "echo begun; echo why >&2; sleep 300")
        envelope = self.assert_times_out("hang", 1)
        self.assertEqual((envelope["stdout"], envelope["stderr"]), ("begun\n", "why\n"))
        self.assertIn("1 second", envelope["error"])

    def test_what_a_command_printed_is_kept(self):
        self.configure(tool_timeout_seconds=1, max_output_size=1000)
        commands = {"echo partial; echo more >&2; sleep 60": "partial\nmore",
                    "trap '' TERM; echo deaf; while :; do sleep 60; done": "deaf",
                    "printf 'quo\"te \\303\\251 \\377'; sleep 60": "quo\"te \u00e9 \ufffd",
                    "sleep 60": ""}
        for command, text in commands.items():
            with self.subTest(command=command):
                envelope = self.run_tool("bash", json.dumps({"command": command}))
                self.assert_failed(envelope, "TOOL_TIMEOUT")
                self.assertEqual((envelope["stdout"], envelope["stderr"]), (text, ""))
                self.assertIn(envelope["exit_code"], (143, 137))
                self.assertNotIn("truncated", envelope)
        # On a busy machine the last words may come too late, and the shell would report a child that
        # the signal ended before it.
        last_words = ("trap 'echo bye; exit 3' TERM; echo hi; "
                      "(trap '' TERM; exec sleep 60 > /dev/null 2>&1) & wait")
        for _ in range(10):
            envelope = self.run_tool("bash", json.dumps({"command": last_words}))
            if envelope["stdout"] != "hi":
                break
        self.assertEqual((envelope["stdout"], envelope["stderr"]), ("hi\nbye", ""))
        envelope = self.run_tool("bash", json.dumps({"command": "seq 100000; sleep 60"}))
        self.assertTrue(envelope["stdout"].startswith("1\n2\n3\n"), envelope)
        self.assertTrue(envelope["stdout"].endswith("\n99999\n100000"), envelope)
        self.assertLessEqual(len(envelope["stdout"]), 1000)
        self.assertEqual((envelope["truncated"], envelope["total_bytes"]), (True, 588895))

    def test_an_answer_on_sigterm(self):
        """Any tool may answer with a text in output; any other partial output is kept as it is."""
        self.configure(tool_timeout_seconds=1)
        bodies = {"text": ("""printf '%s' '{"n":1,"output":"so\\nfar"}'""", "so\nfar"),
                  "other": ("""echo '{"count":3}'""", '{"count":3}\n'),
                  "list": ("""echo '{"output":[1]}'""", '{"output":[1]}\n'),
                  "half": ("""printf '{"output":"so fa'""", '{"output":"so fa')}
        for name, (command, text) in bodies.items():
            with self.subTest(name):
                self.sh(name, f"trap 'finish' TERM\nfinish() {{ {command}; exit 0; }}\n"
                              "sleep 300 & wait")
                envelope = self.assert_times_out(name, 1)
                self.assertEqual(envelope["stdout"], text)

    def test_schema_beats_the_general_limit(self):
        self.configure(tool_timeout_seconds=100)
        self.sh("hang", "sleep 300", timeout_seconds=1)
        self.assert_times_out("hang", 1)

    def test_tool_configuration_beats_the_schema(self):
        self.configure(tools={"hang": {"timeout_seconds": 1}})
        self.sh("hang", "sleep 300", timeout_seconds=100)
        self.assert_times_out("hang", 1)

    def test_a_longer_limit_of_the_tool_holds(self):
        self.configure(tool_timeout_seconds=1)
        self.sh("slow", "sleep 1.5; echo 1", timeout_seconds=60)
        self.assertEqual(self.run_tool("slow")["result"], 1)

    def test_output_does_not_reset_the_clock(self):
        self.configure(tool_timeout_seconds=1)
        self.sh("busy", "while :; do echo x; echo y >&2; sleep 0.1; done")
        self.assert_times_out("busy", 1)

    def test_progress_resets_the_clock(self):
        self.configure(tool_timeout_seconds=3)
        self.sh("busy", "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do\n"
                        "echo '{\"text\":\"on it\"}' >&$IKIGAI_PROGRESS_FD; sleep 0.25; done; echo 1")
        self.assertEqual(self.run_tool("busy")["result"], 1)

    def test_lines_that_are_no_progress_do_not(self):
        self.configure(tool_timeout_seconds=1)
        self.python("busy", r"""
lines = [b'{"text":"x"} ', b"working\n", b'{"texts":"x"}\n', b'{"text":1}\n', b"\n", b'"text"\n',
         b'{"text":"' + b"x" * 5000 + b'"}\n']
while True:
    for line in lines:
        os.write(3, line)
        time.sleep(0.03)
""")
        self.assert_times_out("busy", 1)

    def test_progress_cannot_go_beyond_the_maximum(self):
        self.configure(tool_max_seconds=5, tool_timeout_seconds=4)
        self.sh("busy", "while :; do echo '{\"text\":\"x\"}' >&3; sleep 0.1; done")
        envelope = self.assert_times_out("busy", 5)
        self.assertIn("5 seconds", envelope["error"])

    def test_closed_or_ignored_pipes(self):
        """A tool may close or never read what it is given, and lives until its own process ends."""
        bodies = {"closes_stdin": "exec <&-; sleep 0.3; echo 1",
                  "never_reads": "sleep 0.3; echo 1",
                  "closes_stdout": "echo 1; exec >&-; sleep 0.5; touch lived",
                  "closes_all": "echo 1; exec >&- 2>&- <&- 3>&-; sleep 0.5; touch lived"}
        for name, body in bodies.items():
            with self.subTest(name):
                self.sh(name, body)
                big = json.dumps({"a": "x" * 500_000}).encode()
                done = self.run_raw(name, None, stdin=big)
                self.assertEqual(done.stdout, b'{"tool_success":true,"result":1}\n', done)
        self.assertTrue(os.path.exists(self.path("project", "lived")))

    def test_closed_stdout_and_no_end(self):
        self.configure(tool_timeout_seconds=1)
        self.sh("lives", "echo 1; exec >&- 2>&-; sleep 300")
        self.assert_times_out("lives", 1)

    def test_sigterm_first(self):
        """A tool that cleans up on SIGTERM gets the time for it."""
        self.configure(tool_timeout_seconds=1)
        self.sh("tidy", "trap 'echo tidied; exit 9' TERM; sleep 300 & wait")
        envelope = self.assert_times_out("tidy", 1)
        self.assertEqual((envelope["exit_code"], envelope["stdout"]), (9, "tidied\n"))

    def test_ignored_sigterm_and_stopped(self):
        self.configure(tool_timeout_seconds=1)
        ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        forever = "while True: time.sleep(100)\n"
        stop = "os.kill(os.getpid(), signal.SIGSTOP)\n"
        bodies = {"deaf": ignore + forever, "stopped": stop + forever,
                  "both": ignore + stop + forever,
                  "stops_keeper": "os.kill(os.getppid(), signal.SIGSTOP)\n" + forever}
        for name, body in bodies.items():
            with self.subTest(name):
                self.python(name, body)
                envelope = self.assert_times_out(name, 1)
                self.assertIn(envelope["exit_code"], (128 + signal.SIGTERM, 128 + signal.SIGKILL))

    def test_time_while_ikigai_itself_was_stopped(self):
        """After Ctrl-Z and fg there is the result of a tool that ended meanwhile."""
        self.configure(tool_timeout_seconds=4)
        self.sh("quick", "touch ready; sleep 0.5; echo 1; touch ended")
        process = subprocess.Popen(self.command("quick", "{}"), stdin=subprocess.DEVNULL,
                                   **self.options())
        self.assertTrue(hostile.wait_until(lambda: os.path.exists(self.path("project", "ready")), 60))
        process.send_signal(signal.SIGSTOP)
        time.sleep(4.2)
        self.assertTrue(hostile.wait_until(lambda: os.path.exists(self.path("project", "ended")), 60))
        process.send_signal(signal.SIGCONT)
        out = process.communicate(timeout=60)[0]
        self.assertEqual(out, b'{"tool_success":true,"result":1}\n')


class Leftovers(ToolTest):
    """What a tool leaves running is ended with the call, and the call waits for nothing else."""

    SLEEP = 'os.execv("/bin/sleep", [sys.argv[0], "300"])'

    def assert_ended(self, body, count):
        self.python("leaves", body)
        begin = time.monotonic()
        envelope = self.run_tool("leaves")
        plural = "" if count == 1 else "es"
        self.assertLess(time.monotonic() - begin, PATIENCE)
        self.assertEqual(envelope, {"tool_success": True, "result": 1,
                                    "note": f"Stopped {count} background process{plural}"})
        self.assert_nothing_left()

    def test_background_child(self):
        self.assert_ended(f"if os.fork() == 0: {self.SLEEP}\nprint(1)", 1)

    def test_own_session(self):
        self.assert_ended(f"if os.fork() == 0: os.setsid(); {self.SLEEP}\nprint(1)", 1)

    def test_double_fork(self):
        self.assert_ended(f"""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: {self.SLEEP}
    os._exit(0)
os.wait()
print(1)""", 1)

    def test_without_environment(self):
        self.assert_ended("""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        os.execve("/bin/sleep", [sys.argv[0], "300"], {})
    os._exit(0)
os.wait()
print(1)""", 1)

    def test_ignoring_sigterm(self):
        self.assert_ended("if os.fork() == 0: signal.signal(signal.SIGTERM, signal.SIG_IGN); "
                          f"{self.SLEEP}\ntime.sleep(0.2)\nprint(1)", 1)

    def test_many(self):
        self.assert_ended(f"for i in range(20):\n    if os.fork() == 0: {self.SLEEP}\nprint(1)", 20)

    def test_a_crash_with_background_processes(self):
        self.sh("leaves", "sleep 300 & sleep 300 & exit 2")
        envelope = self.run_tool("leaves")
        self.assert_failed(envelope, "TOOL_CRASHED")
        self.assertEqual(envelope["note"], "Stopped 2 background processes")

    def test_one_that_flees_from_fork_to_fork(self):
        self.python("comet", """
if os.fork():
    os._exit(0)
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
""")
        self.assert_failed(self.run_tool("comet"), "INVALID_OUTPUT")
        self.assert_nothing_left()

    def test_child_that_ended_by_itself_is_not_noted(self):
        self.sh("waits", "sleep 0.05 & wait; echo 1")
        self.assertEqual(self.run_tool("waits"), {"tool_success": True, "result": 1})

    @unittest.skipUnless(os.geteuid() == 0, "needs root to make a program of another user")
    def test_what_belongs_to_another_user_holds_nobody_up(self):
        """What sudo starts may not be ended by us; the call does not wait for it."""
        tool = shutil.which("setpriv")
        if tool is None:
            self.skipTest("setpriv is missing")
        setuid = shutil.copy(tool, self.path("setpriv"))
        os.chmod(setuid, 0o4755)
        sleep = self.path("sleep")
        os.symlink("/bin/sleep", sleep)
        self.sh("sudo", f"{setuid} --reuid=0 --clear-groups {sleep} 300 </dev/null >/dev/null 2>&1 &\n"
                        "until grep -q sleep /proc/$!/comm; do sleep 0.05; done\n"
                        'set -- $(grep Uid: /proc/$!/status); echo "$2"')
        for path in (self.home, self.tools, os.path.join(self.tools, "sudo"), self.path("project")):
            os.chown(path, NOBODY, NOBODY)
        begin = time.monotonic()
        envelope = self.run_tool("sudo", preexec_fn=as_user())
        self.assertLess(time.monotonic() - begin, PATIENCE)
        self.assertEqual(envelope, {"tool_success": True, "result": 0})  # it runs as root


class Surroundings(ToolTest):
    """What a tool finds: environment, folder, descriptors, signals, session."""

    PROBE = r"""
import fcntl, json
def ignored(name):
    line = [l for l in open("/proc/self/status") if l.startswith(name)][0]
    return int(line.split()[1], 16)
print(json.dumps({
    "env": {k: v for k, v in os.environ.items() if k.startswith("IKIGAI_")},
    "cwd": os.getcwd(), "argv": sys.argv,
    "fds": sorted(int(n) for n in os.listdir("/proc/self/fd")),
    "flags": fcntl.fcntl(3, fcntl.F_GETFL),
    "ignored": START_IGNORED, "blocked": START_BLOCKED,
    "pid": os.getpid(), "pgid": os.getpgid(0), "sid": os.getsid(0), "ppid": os.getppid(),
    "umask": os.umask(0),
}))
"""

    def probe(self, **more):
        # Python itself ignores SIGPIPE and SIGXFSZ: what came from outside is asked of the shell.
        self.python("inner", self.PROBE)
        body = open(os.path.join(self.tools, "inner"), encoding="utf-8").read()
        os.unlink(os.path.join(self.tools, "inner"))
        body = body.replace("START_IGNORED", "int(os.environ['IGN'], 16)")
        body = body.replace("START_BLOCKED", "int(os.environ['BLK'], 16)")
        inner = hostile.write_program(self.path("inner"), body)
        self.sh("probe", "while read key value; do case $key in SigIgn:) IGN=$value;; SigBlk:) "
                         f"BLK=$value;; esac; done < /proc/$$/status; export IGN BLK; exec {inner}")
        return self.run_tool("probe", **more)["result"]

    def test_environment(self):
        self.configure(max_output_size=54321)
        env = self.probe(env={"IKIGAI_TOOL_CALL_ID": "outer", "IKIGAI_PROGRESS_FD": "99"})["env"]
        self.assertEqual(env["IKIGAI_MAX_OUTPUT"], "54321")
        self.assertEqual(env["IKIGAI_PROGRESS_FD"], "3")
        self.assertNotEqual(env["IKIGAI_TOOL_CALL_ID"], "outer")
        self.assertTrue(env["IKIGAI_TOOL_CALL_ID"])
        self.assertTrue(env["IKIGAI_SESSION_ID"])

    def test_other_variables_pass_through(self):
        self.sh("show", 'echo "\\"$UNRELATED\\""')
        self.assertEqual(self.run_tool("show", env={"UNRELATED": "yes"})["result"], "yes")

    def test_working_folder_is_the_projects(self):
        found = self.probe()
        self.assertEqual(found["cwd"], os.path.realpath(self.path("project")))

    def test_descriptors(self):
        """Three standard ones and progress; nothing that ikigai or who started it had open."""
        with open(self.path("other"), "w+b") as other:
            os.set_inheritable(other.fileno(), True)
            high = fcntl.fcntl(other.fileno(), fcntl.F_DUPFD, 50)
            try:
                found = self.probe(pass_fds=[other.fileno(), high])
            finally:
                os.close(high)
        self.assertEqual(found["fds"], [0, 1, 2, 3, 4])  # 4 is the listing itself
        self.assertTrue(found["flags"] & os.O_NONBLOCK)
        self.assertEqual(found["flags"] & os.O_ACCMODE, os.O_WRONLY)

    def test_descriptors_when_started_without_any(self):
        self.sh("echo", "ls /proc/$$/fd >&2; cat")
        out = os.open(self.path("out"), os.O_CREAT | os.O_RDWR, 0o600)
        script = f'exec "$@" <&- >&{out} 2>&-'
        done = subprocess.run(["/bin/sh", "-c", script, "sh"] + self.command("echo", '{"a":1}'),
                              pass_fds=[out], cwd=self.path("project"),
                              env=clean_env(IKIGAI_HOME=self.home), timeout=60)
        os.close(out)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.read("out"), b'{"tool_success":true,"result":{"a":1}}\n')

    def test_signals_are_at_their_default(self):
        def hostile_parent():
            for number in (signal.SIGUSR1, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE,
                           signal.SIGTTOU, signal.SIGTSTP, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM, signal.SIGCHLD})
        found = self.probe(preexec_fn=hostile_parent)
        libc = 1 << 31 | 1 << 32  # 32 and 33 belong to the C library, which reserves them
        self.assertEqual(found["ignored"] & ~libc, 0)
        self.assertEqual(found["blocked"] & ~libc, 0)

    def test_own_session_and_group(self):
        found = self.probe()
        self.assertEqual((found["pgid"], found["sid"]), (found["pid"], found["pid"]))

    def test_umask_and_limits_are_the_users(self):
        found = self.probe(preexec_fn=lambda: os.umask(0o27))
        self.assertEqual(found["umask"], 0o27)

    def test_progress_never_blocks_a_tool(self):
        self.python("loud", 'for i in range(20000):\n    try: os.write(3, b"x" * 4096)\n'
                            "    except BlockingIOError: pass\nprint(1)")
        self.assertEqual(self.run_tool("loud")["result"], 1)


class EndOfIkigai(ToolTest):
    @staticmethod
    def prepare():
        hostile.default_signals()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def start_tree(self, **more):
        hostile.python_tool(self.tools, "tree", hostile.TREE)
        ready = self.path("ready")
        os.mkdir(ready)
        process = subprocess.Popen(
            self.command("tree", "{}"), stdin=subprocess.DEVNULL, preexec_fn=self.prepare,
            **self.options(env={"TREE_READY": ready, "TREE_END": "never"}, **more))
        self.assertTrue(hostile.wait_until(lambda: os.path.exists(ready + ".all"), 120))
        return process

    def test_signals_leave_no_process(self):
        for number in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(signal=number):
                process = self.start_tree()
                self.assertTrue(hostile.wait_until(
                    lambda: len(hostile.processes_with(self.dir)) >= hostile.TREE_SIZE, 120))
                process.send_signal(number)
                process.communicate(timeout=120)
                self.assertEqual(process.returncode, -number)
                self.assert_nothing_left(seconds=PATIENCE)
                shutil.rmtree(self.path("ready"))
                os.unlink(self.path("ready.all"))

    def test_an_interrupted_call_is_answered(self):
        """tool run stops the tool, prints what it had printed, and dies of the signal."""
        self.sh("slow", "echo partial\ntouch ready\nsleep 300")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                process = subprocess.Popen(self.command("slow", "{}"), stdin=subprocess.DEVNULL,
                                           preexec_fn=self.prepare, **self.options())
                ready = self.path("project/ready")
                self.assertTrue(hostile.wait_until(lambda: os.path.exists(ready), 120))
                process.send_signal(number)
                out, _ = process.communicate(timeout=120)
                self.assertEqual(process.returncode, -number)
                envelope = json.loads(out)
                self.assert_failed(envelope, "INTERRUPTED")
                self.assertEqual(envelope["stdout"], "partial\n")
                os.unlink(ready)

    def test_an_interrupted_call_leaves_no_files(self):
        """What the command wrote to its own /tmp goes with it."""
        process = subprocess.Popen(
            self.command("bash", '{"command": "echo x > /tmp/left; touch ready; sleep 300"}'),
            stdin=subprocess.DEVNULL, preexec_fn=self.prepare, **self.options())
        ready = self.path("project/ready")
        self.assertTrue(hostile.wait_until(lambda: os.path.exists(ready), 120))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertEqual(glob.glob(os.path.join(self.home, "rooms", "session-*")), [])

    def test_a_second_signal_does_not_wait(self):
        self.sh("deaf", "trap '' TERM\ntouch ready\nwhile :; do sleep 1; done")
        process = subprocess.Popen(self.command("deaf", "{}"), stdin=subprocess.DEVNULL,
                                   preexec_fn=self.prepare, **self.options())
        ready = self.path("project/ready")
        self.assertTrue(hostile.wait_until(lambda: os.path.exists(ready), 120))
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
        self.assertIn(-process.returncode, (signal.SIGINT, signal.SIGTERM))
        self.assert_nothing_left(seconds=PATIENCE)

    def test_ctrl_c_reaches_the_whole_foreground_group(self):
        """The terminal sends SIGINT to ikigai's group; the keeper must not be part of it."""
        process = self.start_tree(start_new_session=True)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=120)
        self.assert_nothing_left(seconds=PATIENCE)


if __name__ == "__main__":
    unittest.main()
