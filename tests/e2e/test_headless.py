"""`ikigai -p` from outside: what it reads, what it prints where, how it ends."""
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import time

import hostile
from agent_support import FORMATS, PATIENCE, AgentTest, sent_messages, sent_results, sent_tools
from fake_llm import Answer, Call, Failure, Raw, Text, Wire
from support import IKIGAI, OUT, SHIPPED, need_mounts, tool_script

NOTICE = "No model is configured, so the offline model answers"


def user_text(request):
    """What the user is made to say in a request to Chat Completions."""
    (message,) = [m for m in sent_messages(request) if m["role"] == "user"]
    return message["content"]


class Prompts(AgentTest):
    """What the model is asked."""

    def asked(self, *args, input=b"", **more):
        llm = self.serve([Answer("Yes.")])
        env = {**self.connect(llm), "IKIGAI_MODEL": FORMATS["chat"].target}
        self.ikigai(*args, input=input, env=env, **more)
        return user_text(llm.requests[0])

    def test_from_the_command_line(self):
        self.assertEqual(self.asked("-p", "How many?"), "How many?")
        self.assertEqual(self.asked("-p", " two\nlines "), " two\nlines ")

    def test_what_is_piped_in_follows(self):
        self.assertEqual(self.asked("-p", "Explain:", input=b"int a;\n"), "Explain:\n\nint a;\n")

    def test_standard_input_alone(self):
        self.assertEqual(self.asked("-p", input="Grüße\n".encode()), "Grüße\n")
        self.assertEqual(self.asked("-p", "--json", input=b"Hi"), "Hi")
        self.assertEqual(self.asked("--json", "-p", input=b"Hi"), "Hi")

    def test_a_file_and_a_socket_are_piped_in_too(self):
        path = self.write("file", "from a file")
        llm = self.serve([Answer("Yes.")] * 2)
        env = self.connect(llm)
        with open(path) as file:
            self.ikigai(*self.command("P"), env=env, input=None, stdin=file)
        ours, theirs = socket.socketpair()
        ours.send(b"from a socket")
        ours.close()
        self.ikigai(*self.command("P"), env=env, input=None, stdin=theirs)
        theirs.close()
        self.assertEqual([user_text(r) for r in llm.requests],
                         ["P\n\nfrom a file", "P\n\nfrom a socket"])

    def test_a_terminal_and_devices_are_not_read(self):
        leader, follower = pty.openpty()
        llm = self.serve([Answer("Yes.")] * 3)
        env = self.connect(llm)
        self.ikigai(*self.command("P"), env=env, input=None, stdin=follower)
        with open("/dev/zero") as zero:
            self.ikigai(*self.command("P"), env=env, input=None, stdin=zero)
        self.ikigai(*self.command("P"), env=env, input=None, preexec_fn=lambda: os.close(0))
        os.close(leader)
        os.close(follower)
        self.assertEqual([user_text(r) for r in llm.requests], ["P"] * 3)

    def test_a_prompt_that_begins_with_a_dash(self):
        self.assertEqual(self.asked("-p", "-1 + 2?"), "-1 + 2?")
        self.assertEqual(self.asked("-p", "--what"), "--what")

    def test_options_and_words_in_any_order(self):
        for args in (["-p", "--json", "a b c"], ["--json", "-p", "a b c"], ["a b c", "-p"],
                     ["-p", "a", "b", "c"], ["a", "-p", "b", "--no-tools", "c"],
                     ["--no-tools", "a", "b", "--json", "c"], ["a", "b", "c"], ["a b c"],
                     ["--", "a", "b", "c"], ["-p", "--", "a b c"], ["a b", "c"],
                     ["--max-turns=3", "a", "b", "c"], ["a", "--max-turns", "3", "b", "c"]):
            with self.subTest(args=args):
                self.assertEqual(self.asked(*args), "a b c")

    def test_words_behind_a_double_dash(self):
        self.assertEqual(self.asked("-p", "--", "--json", "-p"), "--json -p")
        self.assertEqual(self.asked("--", "doctor"), "doctor")
        self.assertEqual(self.asked("-p", "--", "--", "x"), "-- x")

    def test_long_names(self):
        llm = self.serve([Answer("Yes.")] * 3)
        target = FORMATS["chat"].target
        for args in (["--model", target], [f"--model={target}"], ["-m", target]):
            self.ikigai("-p", "x", *args, env=self.connect(llm))
        self.ikigai("-p", "y", "--continue", f"--model={target}",
                    env=self.connect(again := self.serve([Answer("Yes.")])))
        self.assertEqual([m["content"] for m in sent_messages(again.requests[0])
                          if m["role"] == "user"], ["x", "y"])

    def test_bytes_that_are_no_text(self):
        """Neither NUL nor what is not UTF-8 gets into a request, or takes the rest with it."""
        self.assertEqual(self.asked("-p", "P", input=b"a\0b\xffc\xc3"),
                         "P\n\na\ufffdb\ufffdc\ufffd")
        self.assertEqual(self.asked("-p", os.fsdecode(b"x\xffy")), "x\ufffdy")

    def test_an_input_that_does_not_come(self):
        """A parent that leaves a pipe open: what is awaited is said, and the turn begins at its end."""
        read, write = os.pipe()
        llm = self.serve([Answer("Yes.")])
        process = subprocess.Popen([IKIGAI, *self.command("Go")], cwd=self.project, stdin=read,
                                   env=self.env(**self.connect(llm)), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        os.close(read)
        self.assertIn("standard input", process.stderr.readline())
        os.close(write)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out, err), (0, "Yes.\n", ""))

    def test_nothing_to_ask(self):
        for args, input in ((["-p", ""], b""), (["-p"], b""), (["-p", " \n\t"], b""),
                            (["-p"], b" \n"), (["-p", ""], b"\n")):
            with self.subTest(args=args, input=input):
                done = self.ikigai(*args, input=input, status=2)
                self.assertIn("no prompt", done.err)
                self.assertEqual(done.out, "")

    def test_a_large_input(self):
        text = b"x" * (3 << 20)
        self.assertEqual(len(self.asked("-p", "P", input=text)), len(text) + 3)
        done = self.ikigai("-p", "P", input=b"x" * ((16 << 20) + 1), status=2)
        self.assertIn("16 MB", done.err)


class Mistakes(AgentTest):
    """What is wrong with the command line or the configuration: exit status 2, said on stderr."""

    def refused(self, *args, words, **more):
        done = self.ikigai(*args, status=2, **more)
        self.assertEqual(done.out, "")
        self.assertIn(words, done.err)
        return done

    def test_options(self):
        self.refused("-p", "x", "--nonsense", words="--nonsense")
        self.refused("--nonsense", words="--nonsense")
        self.refused("-p", "x", "-m", words="-m needs a value")
        self.refused("-p", "x", "--max-turns", words="--max-turns needs a value")
        self.refused("-p", "x", "--plain", words="--plain cannot be used with -p")
        self.refused("-m", "--json", "-p", "x", words="-m needs a value")
        self.refused("-p", "x", "--model=", words="--model needs a value")
        self.refused("-p", "x", "--json=yes", words="--json takes no value")
        self.refused("-p", "x", "--modle=a/b", words="unknown option '--modle=a/b'")
        self.refused("-p", "--jsn", "x", words="unknown option '--jsn'")
        self.assertIn("Usage: ikigai [PROMPT...]", self.refused("-m", words="-m needs a value").err)

    def test_without_a_terminal_there_is_one_turn(self):
        self.refused("--json", words="prompt")
        self.refused(words="prompt")

    def test_max_turns(self):
        for value in ("0", "-1", "x", "3x", "", "99999999999999999999"):
            with self.subTest(value=value):
                self.refused("-p", "x", "--max-turns", value, words="--max-turns")

    def test_models(self):
        self.refused("-p", "x", "-m", "nosuch/model", words="nosuch")
        self.refused("-p", "x", "-m", "gpt-5", words="provider/model")
        self.refused("-p", "x", "-m", "openai/", words="provider/model")
        self.refused("-p", "x", env={"IKIGAI_MODEL": "nosuch/model"}, words="nosuch")

    def test_a_missing_key_names_its_variable(self):
        for provider, variable in (("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY"),
                                   ("google", "GEMINI_API_KEY")):
            self.refused("-p", "x", "-m", f"{provider}/m", words=variable)
            self.refused("-p", "x", "-m", f"{provider}/m", words=variable, env={variable: ""})
        self.config({"providers": {"mine": {"type": "openai", "base_url": "http://127.0.0.1:1/v1",
                                            "api_key_env": "MY_KEY"}}})
        self.refused("-p", "x", "-m", "mine/m", words="MY_KEY")

    def test_configuration(self):
        path = self.config("{\n\"max_tool_turns\": \"many\"}")
        self.refused("-p", "x", words=f"{path}:2")
        self.config("{")
        self.refused("-p", "x", words=path)

    def test_a_warning_is_no_error(self):
        self.config({"nonsense": 1})
        done = self.ikigai("-p", "hello", "-m", "offline/offline")
        self.assertIn("warning", done.err)
        self.assertNotEqual(done.out, "")


class TextOutput(AgentTest):
    def test_only_the_answer_is_on_stdout(self):
        self.write("project/a.c")
        done = self.ask_text([Answer("Let me look.", calls=[Call("glob", {"pattern": "*.c"})]),
                              Answer(calls=[Call("nosuch")]),
                              Failure("server", "Not now.", headers={"retry-after-ms": "1"}),
                              Answer("One file:\na.c")])
        self.assertEqual(done.out, "Let me look.\nOne file:\na.c\n")
        self.assertEqual(done.err.splitlines(), [
            '> glob(pattern="*.c")', "< 1 file found", "> nosuch()",
            "< failed: Tool 'nosuch' not found", "Attempt 2 of 5 in 0.0 s: HTTP 500: Not now."])

    def test_a_denied_call_is_named(self):
        """It does not start, and is shown before its result like any other, however slowly the calls
        arrive."""
        self.write("project/a.c")
        for delay in 0, 0.1:
            done = self.ask_text([Answer(calls=[
                Call("bash", {"command": "true", "permissions": "network"}),
                Call("glob", {"pattern": "*.c"}),
                Call("bash", {"command": "false", "permissions": "all"})],
                wire=Wire(delay_event=delay)), Answer("Done.")])
            lines = [re.sub(r"^(< failed: This call).*", r"\1", line)
                     for line in done.err.splitlines()]
            self.assertEqual(lines, [
                '> bash(command="true", permissions="network")', "< failed: This call",
                '> glob(pattern="*.c")', "< 1 file found",
                '> bash(command="false", permissions="all")', "< failed: This call"])

    def test_a_retry_without_a_status_or_a_message_of_its_own(self):
        done = self.ask_text([Answer("x", wire=Wire(cut_after=0)), Answer("Done.")])
        self.assertRegex(done.err, r"\AAttempt 2 of 5 in \d\.\d s: (?!HTTP)")
        done = self.ask_text([Raw("", 503, {"retry-after-ms": "1"}), Answer("Done.")])
        self.assertEqual(done.err, "Attempt 2 of 5 in 0.0 s: HTTP 503 Service Unavailable\n")

    def test_one_newline_at_the_end(self):
        for text, printed in (("Hi.", "Hi.\n"), ("Hi.\n", "Hi.\n"), ("a\n\n", "a\n\n")):
            with self.subTest(text=text):
                self.assertEqual(self.ask_text([Answer(text)]).out, printed)

    def test_texts_of_one_answer(self):
        """A text after a call begins a line of its own."""
        self.format = "anthropic"
        call = Call("glob", {"pattern": "*"})
        done = self.ask_text([Answer(parts=[Text("One."), call, Text("Two.")]), Answer("Three.")])
        self.assertEqual(done.out, "One.\nTwo.\nThree.\n")

    def test_what_ran_side_by_side(self):
        """Calls that may overlap are all started before the first one is waited for."""
        calls = {"glob": {"pattern": "*"}, "grep": {"pattern": "x"}, "file_read": {"file_path": "a"}}
        done = self.ask_text([Answer(calls=[Call(n, a) for n, a in calls.items()]), Answer("Done.")])
        self.assertEqual([line[0] for line in done.err.splitlines()], [">", ">", ">", "<", "<", "<"])
        calls = [Call("bash", {"command": "true"}), Call("bash", {"command": "true"})]
        done = self.ask_text([Answer(calls=calls), Answer("Done.")])
        self.assertEqual([line[0] for line in done.err.splitlines()], [">", "<", ">", "<"])

    def test_errors_and_notices_on_stderr(self):
        done = self.ask_text([Failure("bad_request", "Not so.")], status=1)
        self.assertEqual((done.out, done.err), ("", "ikigai: Not so.\n"))
        done = self.ask_text([Answer("Half", stop="max_tokens")])
        self.assertEqual(done.out, "Half\n")
        self.assertIn("max_output_tokens", done.err)
        done = self.ask_text([Answer("Half", stop="incomplete")], status=1)
        self.assertEqual(done.out, "Half\n")
        self.assertIn("cut off", done.err)

    def test_what_a_tool_is_called_with_cannot_drive_the_terminal(self):
        done = self.ask_text([Answer(calls=[Call("bash", {"command": "echo '\x1b[2J'\n# x\x9b"})]),
                              Answer("Done.")])
        self.assertNotRegex(done.err, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        self.assertEqual(len(done.err.splitlines()), 2)

    def on_terminal(self, answer):
        """What stands there when standard output is one."""
        llm = self.serve([answer])
        leader, follower = pty.openpty()
        self.ikigai(*self.command("Go"), env=self.connect(llm), stdout=follower)
        os.close(follower)
        seen = b""
        try:
            while chunk := os.read(leader, 4096):
                seen += chunk
        except OSError:
            pass  # the end of a terminal
        os.close(leader)
        return seen.decode()

    def test_the_answer_on_a_terminal_cannot_drive_it(self):
        """In a pipe it is what the model said, byte for byte."""
        text = "red \x1b[31m, bell \x07, tab\t, \u202eback."
        self.assertEqual(self.ask_text([Answer(text)]).out, text + "\n")
        for fragments in (1, 12, len(text)):
            self.assertEqual(self.on_terminal(Answer(text, fragments=fragments)),
                             "red , bell , tab\t, <U+202E>back.\r\n")

    def test_characters_that_come_in_pieces(self):
        """Neither does an emoji lose its joiners, nor does an answer lose the end it has not."""
        text = "a \U0001f469\u200d\U0001f4bb and 1\ufe0f\u20e3"
        self.assertEqual(self.on_terminal(Answer(text, fragments=len(text))), text + "\r\n")
        self.assertEqual(self.on_terminal(Answer("x\U0001f469\u200d", fragments=3)),
                         "x\U0001f469<U+200D>\r\n")

    def test_text_is_there_as_it_comes(self):
        llm = self.serve([Answer("First. Second.", fragments=2, wire=Wire(stall_after=2))])
        process = subprocess.Popen([IKIGAI, *self.command("Go")], cwd=self.project,
                                   env=self.env(**self.connect(llm)), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=hostile.default_signals)
        self.addCleanup(self.put_down, process)
        self.assertEqual(os.read(process.stdout.fileno(), 100), b"First. ")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (130, b"\n"))


class JsonOutput(AgentTest):
    def test_lines_in_order(self):
        self.write("project/a.c")
        turn = self.ask([Answer("Look:", calls=[Call("glob", {"pattern": "*.c"}, id="call_a1")],
                                fragments=1),
                         Failure("server", "Not now.", headers={"retry-after-ms": "1"}),
                         Answer("One.", fragments=1)], prompt="How many?")
        self.assertEqual([e["type"] + ":" + e.get("kind", "") for e in turn.events], [
            "session:", "message:system", "message:user", "text_delta:", "usage:",
            "message:assistant", "message:tool_call", "message:tool_result", "retry:",
            "text_delta:", "usage:", "message:assistant", "done:"])
        session, system, user = turn.events[:3]
        self.assertEqual({k: session[k] for k in ("model", "cwd", "tools")},
                         {"model": "openai/gpt-5", "cwd": os.path.realpath(self.project),
                          "tools": SHIPPED})
        self.assertRegex(session["id"], r"\A[0-9a-f]{16}\Z")
        self.assertEqual(user, {"type": "message", "kind": "user", "content": "How many?",
                                "data": {}})
        self.assertEqual(turn.events[3], {"type": "text_delta", "text": "Look:"})
        self.assertEqual(turn.events[4], {"type": "usage", "in": 100, "cached": 0, "out": 20,
                                          "cache_write": 0, "reasoning": 0})
        result = turn.events[7]
        self.assertEqual(set(result), {"type", "kind", "content", "data"})
        self.assertEqual(result["data"]["tool_call_id"], "call_a1")
        self.assertEqual(turn.events[8], {"type": "retry", "attempt": 1, "of": 5, "status": 500,
                                          "delay_ms": 1, "code": "server",
                                          "message": "Not now."})
        self.assertEqual(turn.events[-1], {"type": "done", "reason": "end_turn"})
        for event in turn.messages():
            self.assertIsInstance(event["data"], dict)

    def test_error(self):
        turn = self.ask([Failure("bad_request", "Not so.")], status=1)
        self.assertEqual(turn.events[-2:], [
            {"type": "error", "code": "invalid_request_error", "message": "Not so."},
            {"type": "done", "reason": "error"}])
        self.assertEqual(turn.err, "")

    def test_every_line_is_json_whatever_is_said(self):
        odd = "\x1b[31m\u2028\x7f\x85 \"\\ \n\r\t\0 \ud83d\ude00".encode("utf-16", "surrogatepass") \
            .decode("utf-16")
        turn = self.ask([Answer(odd, calls=[Call("bash", {"command": "printf '\\377\\033\\n'"})]),
                         Answer("Done.")])
        self.assertEqual(turn.messages("assistant")[0]["content"], odd.replace("\0", " "))
        self.assertEqual(turn.reason, "end_turn")

    def test_nothing_is_printed_before_there_is_a_turn(self):
        done = self.ikigai("-p", "x", "--json", "-m", "nosuch/model", status=2)
        self.assertEqual(done.out, "")


class LateLevel(AgentTest):
    """The first line says the level of confinement, which a busy machine knows late: every line
    that came before is printed after it."""
    TEXT = "".join(map(str, range(500_000)))  # 2.9 MB

    def late(self):
        return hostile.late_keeper(self.path("prefix"), f"until [ -e '{self.path('go')}' ]; do "
                                                        "sleep 0.1; done")

    def play(self, text, program=None):
        run = self.begin([Answer(text, fragments=50)], program=program or self.late())
        run.llm.wait_for_outcome(1)
        time.sleep(1)  # so that most has arrived when the level is known
        self.assertEqual([line and line[:200] for line in run.arrived.queue], [],
                         run.process.poll() is not None and run.process.stderr.read())
        self.write("go")
        turn = run.finish()
        self.assertEqual([e["type"] for e in turn.events],
                         ["session", "message", "message", *["text_delta"] * 50, "usage",
                          "message", "done"])
        self.assertEqual(turn.events[0]["confinement"], "full")
        self.assertEqual((turn.text, turn.messages("assistant")[0]["content"]), (text, text))

    def test_a_short_answer(self):
        self.play("A short answer, in pieces. " * 10)

    def test_a_long_answer(self):
        self.play(self.TEXT)

    def test_a_long_answer_and_a_full_disk(self):
        need_mounts()
        self.play(self.TEXT, hostile.write_program(self.path("full"), f"""#!/bin/sh
exec unshare -m sh -c '
    mount --bind /tmp /mnt && mount -t tmpfs -o size=3m none /tmp
    for needed in "{self.dir}" "{OUT}"; do
        case $needed in /tmp/*)
            mkdir -p "$needed" && mount --bind "/mnt/${{needed#/tmp/}}" "$needed"
        esac
    done
    cd "{self.project}" && exec "$@"' sh '{self.late()}' "$@"
"""))

    def test_a_signal_ends_a_run_whose_level_stays_unknown(self):
        for wire, status, reason in ((Wire(stall_after=2), 130, "interrupted"),
                                     (Wire(), 0, "end_turn")):
            with self.subTest(reason=reason):
                run = self.begin([Answer("A short answer.", wire=wire)], program=self.late())
                run.llm.wait_for_requests(1)
                time.sleep(1)  # so that the answer, as far as it comes, has been read
                run.signal()
                turn = run.finish()
                self.assertEqual((turn.status, turn.reason), (status, reason))
                self.assertEqual((turn.events[0]["type"], turn.events[0]["confinement"]),
                                 ("session", "none"))
                hostile.kill_all(self.dir)
                shutil.rmtree(self.path("prefix"))


class Stderr(AgentTest):
    def test_it_survives_export_import_and_going_on(self):
        self.tool("chatty", "echo 'cache is stale' >&2; echo '{}'")
        turn = self.ask([Answer(calls=[Call("chatty")]), Answer("Done."), Answer("Again.")])
        session = turn.of("session")[0]["id"]
        exported = self.ikigai("session", "export", session).out
        self.assertIn("cache is stale", exported)
        self.ikigai("session", "delete", session, "--yes")
        self.ikigai("session", "import", "-", input=exported.encode())
        self.ikigai(*self.command("On", "-r", session), env=self.connect(turn.llm))
        self.assertEqual(turn.llm.problems, [])
        self.assertEqual(self.ikigai("session", "export", session).out.count("cache is stale"), 1)
        self.assertNotIn(b"cache is stale", turn.llm.requests[2].body)


class Signals(AgentTest):
    """At whatever moment it comes: the turn ends, the tools are gone, and every call has a result."""

    def assert_interrupted(self, turn, status=130):
        self.assertEqual((turn.status, turn.reason), (status, "interrupted"), turn.events)
        calls = [m["data"]["id"] for m in turn.messages("tool_call")]
        self.assertEqual([m["data"]["tool_call_id"] for m in turn.messages("tool_result")], calls)
        self.assertEqual(turn.of("error"), [])
        self.assert_nothing_runs()

    def test_before_the_first_byte(self):
        run = self.begin([Answer("Never", wire=Wire(delay_head=60))])
        run.llm.wait_for_requests(1)
        run.signal()
        turn = run.finish()
        self.assert_interrupted(turn)
        self.assertEqual(turn.messages("assistant"), [])
        self.assertEqual(run.llm.wait_for_outcome(1), "gone")

    def test_inside_the_answer(self):
        run = self.begin([Answer("A rather long answer", fragments=6, wire=Wire(stall_after=4),
                                 calls=[Call("bash", {"command": "touch ran"})])])
        run.wait_for_type("text_delta")
        run.signal()
        turn = run.finish()
        self.assert_interrupted(turn)
        (answer,) = turn.messages("assistant")
        self.assertEqual(answer["content"], turn.text)
        self.assertIs(answer["data"]["incomplete"], True)
        self.assertEqual(run.llm.wait_for_outcome(1), "gone")

    def test_while_a_retry_waits(self):
        run = self.begin([Failure("rate_limit", headers={"retry-after": "50"})])
        run.wait_for_type("retry")
        run.signal()
        turn = run.finish()
        self.assert_interrupted(turn)
        self.assertEqual(len(run.llm.requests), 1)

    def test_while_a_tool_runs(self):
        self.tool("hang", ": > here; sleep 300")
        run = self.begin([Answer(calls=[Call("hang")])])
        self.wait_for_file("here")
        run.signal()
        turn = run.finish()
        self.assert_interrupted(turn)
        self.assertEqual(turn.envelopes()[0]["error_code"], "INTERRUPTED")
        self.assertEqual(len(run.llm.requests), 1)

    def test_what_a_command_printed_is_in_the_log_and_in_the_next_request(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with self.subTest(number=number):
                command = {"command": "echo partial; : > here; sleep 300"}
                run = self.begin([Answer(calls=[Call("bash", command)]), Answer("Seen.")])
                self.wait_for_file("here")
                run.signal(number)
                turn = run.finish()
                self.assert_interrupted(turn, status)
                self.assertEqual(turn.envelopes()[0]["stdout"], "partial")
                log = self.ikigai("session", "show", "--full", turn.of("session")[0]["id"]).out
                self.assertIn("stdout: partial", log)
                self.ikigai(*self.command("On", "-c"), env=self.connect(run.llm))
                self.assertEqual(sent_results(run.llm.requests[1])[0][1]["stdout"],
                                 "partial")
                os.remove(os.path.join(self.project, "here"))

    def test_while_tools_run_side_by_side(self):
        for name in ("ann", "bob"):
            self.tool(name, f": > {name}; (sleep 300; echo '{self.dir}') & sleep 300", parallel=True)
        run = self.begin([Answer(calls=[Call("ann"), Call("bob")])])
        self.wait_for_file("ann")
        self.wait_for_file("bob")
        run.signal()
        turn = run.finish()
        self.assert_interrupted(turn)
        self.assertEqual([e["error_code"] for e in turn.envelopes()], ["INTERRUPTED"] * 2)

    def test_between_calls(self):
        """What was done stays done, what runs is ended, what waits is never started."""
        self.tool("quick", "echo '{\"done\":true}'")
        self.tool("hang", ": > here; sleep 300")
        self.tool("late", ": > started; echo '{}'")
        run = self.begin([Answer(calls=[Call("quick"), Call("hang"), Call("late"),
                                        Call("nosuch")])])
        self.wait_for_file("here")
        run.signal()
        turn = run.finish()
        self.assert_interrupted(turn)
        quick, hang, late, nosuch = turn.envelopes()
        self.assertEqual(quick["result"], {"done": True})
        self.assertEqual([e["error_code"] for e in (hang, late, nosuch)], ["INTERRUPTED"] * 3)
        self.assertFalse(os.path.exists(os.path.join(self.project, "started")))

    def test_a_tool_that_does_not_want_to_end(self):
        self.tool("deaf", "trap '' TERM INT HUP; : > here; while :; do sleep 1; done")
        run = self.begin([Answer(calls=[Call("deaf")])])
        self.wait_for_file("here")
        run.signal()
        self.assert_interrupted(run.finish())

    def test_twice(self):
        """The second one does not wait; still nothing is left behind."""
        self.tool("deaf", "trap ': > told' TERM; : > here; while :; do sleep 0.01; done")
        run = self.begin([Answer(calls=[Call("deaf")])])
        self.wait_for_file("here")
        run.signal()
        self.wait_for_file("told")
        run.signal()
        turn = run.finish()
        self.assertEqual((turn.status, turn.reason), (130, "interrupted"))
        self.assertEqual(len(turn.of("done")), 1)
        self.assertTrue(hostile.wait_until(lambda: not hostile.processes_with(self.dir), PATIENCE))

    def test_other_signals(self):
        for number, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with self.subTest(number=number):
                self.tool("hang", ": > here; sleep 300")
                run = self.begin([Answer(calls=[Call("hang")])])
                self.wait_for_file("here")
                run.signal(number)
                self.assert_interrupted(run.finish(), status)
                os.remove(os.path.join(self.project, "here"))

    def test_nohup(self):
        """A signal that is ignored from the start stays ignored."""
        self.tool("wait_for_go", ": > here; until [ -e go ]; do sleep 0.01; done; echo '{}'")
        llm = self.serve([Answer(calls=[Call("wait_for_go")]), Answer("Done.")])
        process = subprocess.Popen(
            [IKIGAI, *self.command("Go")], cwd=self.project, env=self.env(**self.connect(llm)),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.addCleanup(self.put_down, process)
        self.wait_for_file("here")
        process.send_signal(signal.SIGHUP)
        self.write("project/go")
        out, _ = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (0, b"Done.\n"))

    def test_killed(self):
        """Even then no tool is left."""
        self.tool("hang", ": > here; sleep 300")
        run = self.begin([Answer(calls=[Call("hang")])])
        self.wait_for_file("here")
        run.signal(signal.SIGKILL)
        run.process.wait(PATIENCE)
        self.assertTrue(hostile.wait_until(lambda: not hostile.processes_with(self.dir), PATIENCE))


class BrokenOutput(AgentTest):
    """The reader of standard output is gone, or the disk is full: the turn ends."""

    def test_closed_pipe(self):
        for args in ((), ("--json",)):
            with self.subTest(args=args):
                self.tool("hang", "sleep 300")
                self.tool("wait", "while [ ! -e closed ]; do sleep 0.02; done")
                llm = self.serve([Answer("One.\n", calls=[Call("wait")]),
                                  Answer("Two.\n", calls=[Call("hang")]), Answer("Three.")])
                read, write = os.pipe()
                process = subprocess.Popen([IKIGAI, *self.command("Go", *args)], cwd=self.project,
                                           env=self.env(**self.connect(llm)), stdout=write,
                                           stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
                os.close(write)
                os.read(read, 10)
                os.close(read)
                closed = self.write("project/closed")
                _, err = process.communicate(timeout=PATIENCE)
                os.remove(closed)
                self.assertEqual(process.returncode, 1)
                self.assertIn(b"standard output", err)
                self.assert_nothing_runs()

    def test_a_pipe_that_does_not_block(self):
        """Some programs leave standard output non-blocking: a slow reader must not lose output."""
        text = "x" * 300000
        llm = self.serve([Answer(text)])
        read, write = os.pipe()
        source, late = os.pipe()
        os.set_blocking(write, False)
        os.set_blocking(source, False)
        process = subprocess.Popen([IKIGAI, *self.command("Go")], cwd=self.project, stdout=write,
                                   env=self.env(**self.connect(llm)), stdin=source)
        os.close(write)
        os.close(source)
        time.sleep(0.1)
        os.write(late, b"on")
        os.close(late)
        self.assertEqual(llm.wait_for_outcome(1), "sent")
        with open(read) as file:
            self.assertEqual(file.read(), text + "\n")
        self.assertEqual((process.wait(PATIENCE), user_text(llm.requests[0])), (0, "Go\n\non"))

    def test_a_reader_that_sleeps(self):
        """A full pipe does not keep the program from ending when it is told to."""
        for args, number in (((), signal.SIGTERM), (("--json",), signal.SIGINT)):
            with self.subTest(args=args):
                process, read = self.fill_a_pipe(*args)
                process.send_signal(number)
                self.assertEqual(process.wait(PATIENCE), 128 + number)
                os.close(read)
                self.assert_nothing_runs()

    def test_a_slow_reader_gets_the_end_after_a_signal(self):
        process, read = self.fill_a_pipe("--json")
        process.send_signal(signal.SIGTERM)
        with open(read) as file:
            events = [json.loads(line) for line in file]
        reason = events[-1]["reason"]
        self.assertEqual(events[-1]["type"], "done")
        self.assertEqual((process.wait(PATIENCE), reason),
                         (143, "interrupted") if reason == "interrupted" else (0, "end_turn"))

    def fill_a_pipe(self, *args):
        """A run whose output nobody reads, when it can write no more, and the pipe."""
        llm = self.serve([Answer("word " * 60000)])
        read, write = os.pipe()
        process = subprocess.Popen([IKIGAI, *self.command("Go", *args)], cwd=self.project,
                                   env=self.env(**self.connect(llm)), stdout=write,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        is_full = hostile.wait_until(lambda: not select.select([], [write], [], 0)[1], PATIENCE)
        os.close(write)
        self.assertTrue(is_full)
        return process, read

    def full_pipe(self):
        """A pipe that is full and not read: its ends."""
        read, write = os.pipe()
        os.set_blocking(write, False)
        self.assertTrue(hostile.wait_until(lambda: not self.put(write), PATIENCE))
        os.set_blocking(write, True)
        self.addCleanup(os.close, read)
        return read, write

    @staticmethod
    def put(pipe):
        try:
            return os.write(pipe, b"x" * 4096)
        except BlockingIOError:
            return 0

    def test_a_reader_of_standard_error_that_sleeps(self):
        """The turn ends all the same, and so does the program when it is told to."""
        self.tool("hang", "sleep 300")
        for call, number in ((Call("glob", {"pattern": "*"}), 0), (Call("hang"), signal.SIGTERM)):
            with self.subTest(number):
                llm = self.serve([Answer("One.\n", calls=[call]), Answer("Two.\n")])
                _, write = self.full_pipe()
                process = subprocess.Popen([IKIGAI, *self.command("Go")], cwd=self.project, bufsize=0,
                                           env=self.env(**self.connect(llm)), stderr=write,
                                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
                os.close(write)
                self.addCleanup(process.kill)
                self.assertEqual(process.stdout.readline(), b"One.\n")
                if number != 0:
                    process.send_signal(number)
                rest, _ = process.communicate(timeout=PATIENCE)
                self.assertEqual((rest, process.returncode),
                                 (b"", 128 + number) if number != 0 else (b"Two.\n", 0))
                self.assert_nothing_runs()

    def test_one_pipe_for_both(self):
        """What a pager shows late is complete and in order."""
        read, write = self.full_pipe()
        llm = self.serve([Answer("One.\n", calls=[Call("glob", {"pattern": "*"})]), Answer("Two.\n")])
        process = subprocess.Popen([IKIGAI, *self.command("Go")], cwd=self.project, stdout=write,
                                   env=self.env(**self.connect(llm)), stderr=write,
                                   stdin=subprocess.DEVNULL)
        os.close(write)
        self.addCleanup(process.kill)
        llm.wait_for_requests(1)
        with open(os.dup(read)) as file:
            text = file.read().lstrip("x")
        self.assertEqual(text, 'One.\n> glob(pattern="*")\n< 0 files found\nTwo.\n')
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_full_disk(self):
        for args in ((), ("--json",)):
            with self.subTest(args=args):
                llm = self.serve([Answer("One.", calls=[Call("glob", {"pattern": "*"})]),
                                  Answer("Two.")])
                with open("/dev/full", "w") as full:
                    done = self.ikigai(*self.command("Go", *args), env=self.connect(llm),
                                       stdout=full, status=1)
                self.assertIn("standard output", done.err)

    def test_closed_descriptors(self):
        llm = self.serve([Answer("One.", calls=[Call("bash", {"command": "ls /proc/self/fd"})]),
                          Answer("Two.")] * 2)
        env = self.connect(llm)
        self.ikigai(*self.command("Go"), env=env, stdout=None, preexec_fn=lambda: os.close(1))
        done = self.ikigai(*self.command("Go"), env=env, stderr=None,
                           preexec_fn=lambda: os.close(2))
        self.assertEqual(done.out, "One.\nTwo.\n")


class WorkingFolder(AgentTest):
    """The folder of the project changes while ikigai runs."""

    def test_removed_and_replaced(self):
        gone = self.project + ".gone"

        def act(request):
            if request.number == 2:
                os.rename(self.project, gone)
            elif request.number == 4:
                os.mkdir(self.project)
            return Answer(calls=[Call("bash", {"command": "true"})]) if request.number < 6 else Answer("Done.")

        turn = self.ask(act)
        told = [text for text in (e["text"] for e in turn.of("notice")) if "working folder" in text]
        self.assertEqual(told, [
            f"The working folder {self.project} was removed, so tools fail. When it is there again, leave "
            "and start ikigai in it: -c continues this session.",
            f"The working folder {self.project} was replaced by another one, and tools may still see the old "
            "one. Leave and start ikigai in it again: -c continues this session."])

    def test_the_same_one_again(self):
        gone = self.project + ".gone"

        def act(request):
            if request.number == 2:
                os.rename(self.project, gone)
                os.rename(gone, self.project)
            return Answer(calls=[Call("bash", {"command": "true"})]) if request.number < 3 else Answer("Done.")

        self.assertNotIn("working folder", str(self.ask(act).of("notice")))


class Offline(AgentTest):
    """Nothing is configured: something works all the same."""

    def test_notice(self):
        self.write("project/a.c")
        done = self.ikigai("-p", "find *.c")
        self.assertIn("a.c", done.out)
        self.assertIn(NOTICE, done.err)
        for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "-m"):
            self.assertIn(variable, done.err)
        self.assertNotIn(NOTICE, done.out)

    def test_a_key_without_a_default_model_is_named(self):
        done = self.ikigai("-p", "find *.c", env={"OPENROUTER_API_KEY": "canary"})
        self.assertIn(f"{NOTICE}, which only runs tools.\nThere is a key for openrouter but no model: run "
                      "ikigai setup, or choose one with -m openrouter/MODEL.\n", done.err)
        self.assertNotIn("canary", done.out + done.err)

    def test_chosen_it_needs_no_notice(self):
        done = self.ikigai("-p", "run echo hello", "-m", "offline/offline")
        self.assertIn("hello", done.out)
        self.assertNotIn(NOTICE, done.err)

    def test_the_same_loop(self):
        done = self.ikigai("-p", "run echo hello", "--json")
        events = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual([e["kind"] for e in events if e["type"] == "message"],
                         ["system", "user", "tool_call", "tool_result", "assistant"])
        self.assertEqual(events[-1], {"type": "done", "reason": "end_turn"})

    def test_a_key_chooses_its_provider(self):
        for provider, format in (("openai", "responses"), ("anthropic", "anthropic"),
                                 ("google", "gemini")):
            with self.subTest(provider=provider):
                llm = self.serve([Answer("Yes.")])
                self.format = "responses" if provider == "openai" else provider
                done = self.ikigai("-p", "x", env=self.connect(llm))
                self.assertEqual((done.out, done.err, llm.problems), ("Yes.\n", "", []))
                self.assertEqual(llm.requests[0].format, format)

    def test_local_servers_are_named(self):
        for port, name, provider in ((11434, "Ollama", "ollama"), (1234, "LM Studio", "lmstudio"),
                                     (8080, "llama.cpp", "llama"), (8000, "vLLM", "vllm")):
            with self.subTest(name=name):
                try:
                    sock = socket.create_server(("127.0.0.1", port))
                except OSError as error:
                    self.skipTest(f"port {port}: {error}")
                with sock:
                    done = self.ikigai("-p", "find *")
                    self.assertIn(name, done.err)
                    self.assertIn(f"port {port}, the usual port of {name}. To use it: ikigai -m "
                                  f"{provider}/MODEL\n", done.err)
                    sock.settimeout(PATIENCE)
                    peer, _ = sock.accept()  # it connected, …
                    self.assertEqual(peer.recv(1), b"")  # … and said nothing
                    peer.close()
                    self.assertNotIn(name, self.ikigai("-p", "x", "-m", "offline/offline").err)

    def test_the_named_option_works(self):
        llm = self.serve([Answer("Yes.")], dialect="plain", validate=False)
        done = self.ikigai("-p", "x", "-m", "openai/llama",
                           env={"OPENAI_BASE_URL": llm.base_url("openai"),
                                "OPENAI_API_KEY": "none"})
        self.assertEqual(done.out, "Yes.\n")


class UserTools(AgentTest):
    """The user's tools are asked before the first request, whatever the cache says."""

    def wrapper(self):
        self.write("schema", '{"name":"wrapper","description":"Old words"}')
        path = self.user_tool("wrapper", f"#!/bin/sh\n[ -e '{self.path('broken')}' ] && exit 9\n"
                                         f"cat '{self.path('schema')}'\n")
        os.utime(path, (1, 1))
        self.ikigai("tool", "list")

    def described(self, turn):
        (tool,) = [t["function"] for t in turn.llm.requests[0].json["tools"]
                   if t["function"]["name"] == "wrapper"]
        return tool["description"]

    def test_a_changed_answer_counts_at_once_and_is_said(self):
        self.wrapper()
        turn = self.ask([Answer("Done.")])
        self.assertEqual((self.described(turn), turn.err), ("Old words", ""))
        self.write("schema", '{"name":"wrapper","description":"New words"}')
        turn = self.ask([Answer("Done.")])
        self.assertEqual((self.described(turn), turn.err),
                         ("New words", "Tool schemas reloaded. Changed: wrapper.\n"))
        turn = self.ask([Answer("Done.")])
        self.assertEqual((self.described(turn), turn.err), ("New words", ""))

    def test_a_tool_that_does_not_answer_keeps_its_last_answer(self):
        self.wrapper()
        self.write("broken")
        turn = self.ask([Answer("Done.")])
        self.assertEqual(self.described(turn), "Old words")
        self.assertEqual(turn.err, "Debug: tool 'wrapper' schema failed (exit code 9; its last answer "
                                   "is used)\n")

    def test_no_tools_at_all_is_a_warning(self):
        installed = self.path("prefix")
        for folder in ("bin", "lib/ikigai", "share/ikigai", "libexec/ikigai"):
            os.makedirs(os.path.join(installed, folder))
        shutil.copy(IKIGAI, os.path.join(installed, "bin/ikigai"))
        os.symlink(os.path.join(OUT, "lib/ikigai/keeper"),
                   os.path.join(installed, "lib/ikigai/keeper"))
        os.symlink(os.path.join(OUT, "share/ikigai/models.json"),
                   os.path.join(installed, "share/ikigai/models.json"))
        program = os.path.join(installed, "bin/ikigai")
        self.assertIn("No tools were found; continuing without tools. `ikigai doctor` says more.\n",
                      self.ikigai("-p", "hi", program=program).err)
        for option in ([], ["--json"]):
            self.assertEqual(self.ikigai("tool", "list", *option, program=program).err,
                             "No tools were found. `ikigai doctor` says more.\n")
        self.assertEqual(self.ikigai("-p", "hi").err.count("No tools"), 0)


class ProjectTools(AgentTest):
    def setUp(self):
        super().setUp()
        self.project_tool("deploy", tool_script("deploy", "echo '{\"deployed\":true}'",
                                                first=f"echo x >> '{self.path('mark')}'"))

    def test_absent_without_trust(self):
        turn = self.ask([Answer(calls=[Call("deploy")]), Answer("Done.")])
        self.assertNotIn("deploy", sent_tools(turn.llm.requests[0]))
        self.assertEqual(turn.envelopes()[0]["error_code"], "TOOL_NOT_FOUND")
        self.assertIn("ikigai trust", turn.err)
        self.assertEqual(len(turn.err.splitlines()), 1)
        self.assertFalse(os.path.exists(self.path("mark")))

    def test_present_with_trust(self):
        turn = self.ask([Answer(calls=[Call("deploy")]), Answer("Done.")], "--trust")
        self.assertIn("deploy", sent_tools(turn.llm.requests[0]))
        self.assertEqual(turn.envelopes()[0]["result"], {"deployed": True})
        self.assertEqual(turn.err, "")
        turn = self.ask([Answer("Done.")])  # for that run only
        self.assertNotIn("deploy", sent_tools(turn.llm.requests[0]))

    def test_a_broken_tool_costs_one_line(self):
        self.user_tool("broken", "#!/bin/sh\nexit 1\n")
        turn = self.ask([Answer("Done.")], "--trust")
        self.assertRegex(turn.err, r"\ADebug: tool 'broken' schema failed .*\n\Z")
        self.assertEqual(turn.text, "Done.")
