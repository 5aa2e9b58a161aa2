"""What a server and the network between can do wrong, and what the user is told then."""
import gzip
import json
import os
import socket
import sqlite3
import subprocess

import hostile
from agent_support import (FORMATS, KEYS, VARIABLES, AgentTest, Running, per_format,
                           sent_tools)
from fake_llm import Answer, Call, Failure, FakeLLM, Raw, Usage, Wire
from support import IKIGAI, OBJECTS

FAST_CLOCK = os.path.join(OBJECTS, "tests", "e2e", "fast_clock.so")
SOON = {"retry-after-ms": "1"}
FINAL = ["bad_request", "auth", "billing", "permission", "not_found", "too_large", "quota"]
PASSING = ["conflict", "rate_limit", "server", "overloaded", "timeout"]
TOUCH = Call("bash", {"command": "touch ran"})


class Errors:
    """Error classes of the vendors, retries and repairs, for every format."""

    def variable(self):
        return VARIABLES.get(FORMATS[self.format].provider, "LOCAL") + "_API_KEY"

    def ran(self):
        return os.path.exists(os.path.join(self.project, "ran"))

    def test_errors_that_waiting_does_not_cure(self):
        for kind in FINAL:
            with self.subTest(kind=kind):
                turn = self.ask([Failure(kind, "It is so.", headers=SOON)], status=1)
                self.assertEqual((turn.reason, turn.of("retry")), ("error", []))
                self.assertTrue(turn.error[1].startswith("It is so."), turn.error)
                self.assertEqual(len(turn.llm.requests), 1)

    def test_what_can_be_done_is_said(self):
        advice = {"not_found": "-m provider/model", "quota": "account"}
        if self.format != "local":
            advice["auth"] = self.variable()
        for kind, words in advice.items():
            with self.subTest(kind=kind):
                self.assertIn(words, self.ask([Failure(kind)], status=1).error[1])

    def test_errors_that_pass(self):
        """Tried again with the very same bytes, once for each failure, and shown."""
        script = [Failure(kind, headers=SOON) for kind in PASSING[:4]] + [Answer("At last.")]
        turn = self.ask(script)
        self.assertEqual((turn.text, turn.reason), ("At last.", "end_turn"))
        self.assertEqual([(e["attempt"], e["delay_ms"]) for e in turn.of("retry")],
                         [(n, 1) for n in range(1, 5)])
        self.assertEqual(turn.of("retry")[0]["message"], "Another request is under way.")
        self.assertEqual(len({r.body for r in turn.llm.requests}), 1)
        self.assertEqual(turn.of("error"), [])

    def test_an_end_of_trying(self):
        turn = self.ask([Failure("timeout", headers=SOON)] * 6, status=1)
        self.assertEqual((turn.reason, len(turn.of("retry"))), ("error", 4))
        self.assertEqual(len(turn.llm.requests), 5)
        self.assertIn("5 attempts", turn.error[1])

    def test_each_request_has_its_own_attempts(self):
        script = []
        for _ in range(2):
            script += [Failure("server", headers=SOON)] * 4 + [Answer(calls=[Call("glob", {
                "pattern": "*"})])]
        turn = self.ask([*script, Answer("Done.")])
        self.assertEqual((turn.text, len(turn.of("retry"))), ("Done.", 8))

    def test_an_error_inside_the_stream_before_any_word(self):
        soon = Failure("overloaded", "Please try again in 2ms.", after=0)
        turn = self.ask([Answer("Never said.", error=soon), Answer("Said.")])
        self.assertEqual((turn.text, len(turn.of("retry"))), ("Said.", 1))

    def test_an_error_inside_the_stream_after_some_words(self):
        turn = self.ask([Answer("A rather long answer", fragments=6, calls=[TOUCH],
                                error=Failure("overloaded", "Not now."))], status=1)
        self.assert_broken_off(turn)
        self.assertTrue(turn.error[1].startswith("Not now."), turn.error)

    def assert_broken_off(self, turn):
        """Some of "A rather long answer" came; it is kept and marked, and its call did not run."""
        self.assertTrue(turn.text and "A rather long answer".startswith(turn.text), turn.text)
        (answer,) = turn.messages("assistant")
        self.assertEqual(answer["content"], turn.text)
        self.assertIs(answer["data"]["incomplete"], True)
        self.assertEqual((turn.reason, turn.messages("tool_call")), ("error", []))
        self.assertEqual(len(turn.llm.requests), 1)
        self.assertFalse(self.ran())

    def test_an_answer_without_its_end(self):
        turn = self.ask([Answer("A rather long answer", stop="incomplete", calls=[TOUCH])],
                        status=1)
        self.assert_broken_off(turn)
        self.assertEqual(turn.error[0], "incomplete")

    def test_a_connection_that_breaks_inside_the_answer(self):
        whole = self.ask([Answer("A rather long answer", fragments=12)])
        size = whole.llm.requests[0].body_sent
        for reset in (False, True):
            with self.subTest(reset=reset):
                cut = Wire(cut_after=size * 2 // 3, reset=reset)
                turn = self.ask([Answer("A rather long answer", fragments=12, wire=cut)], status=1)
                self.assert_broken_off(turn)

    def test_a_connection_that_breaks_before_the_answer(self):
        """Calls that came without their end do not count as an answer, and do not run."""
        turn = self.ask([Answer(calls=[TOUCH], stop="incomplete"), Answer("Said.")])
        self.assertEqual((turn.text, turn.messages("tool_call")), ("Said.", []))
        self.assertEqual(len(turn.of("retry")), 1)
        self.assertFalse(self.ran())

    def test_reasoning_that_is_no_longer_accepted(self):
        """It is dropped, once, and what the model thinks from then on goes back again."""
        if self.format in ("chat", "local"):
            return  # where nothing is signed
        call = [Call("glob", {"pattern": "*"})]
        turn = self.ask([Answer(thinking="one", calls=call), Failure("reasoning"),
                         Answer(thinking="two", calls=call), Answer(thinking="three", calls=call),
                         Answer("Done.")])
        self.assertEqual((turn.text, len(turn.llm.requests)), ("Done.", 5))
        turn = self.ask([Failure("reasoning"), Failure("reasoning")], status=1)
        self.assertEqual(turn.reason, "error")
        self.assertLessEqual(len(turn.llm.requests), 2)

    def test_empty_answer(self):
        turn = self.ask([Answer("", usage=Usage(output=0))], status=1)
        self.assertEqual((turn.error[0], turn.reason), ("empty_response", "error"))
        self.assertIn("context", turn.error[1])

    # ---- ways an answer may travel

    def test_ways_to_travel(self):
        answer = {"thinking": "hm", "calls": [Call("glob", {"pattern": "*"})]}
        for name, wire in {"bytes": Wire(chunk=1), "gzip": Wire(gzip=True),
                           "both": Wire(gzip=True, chunk=1), "json": Wire(plain_json=True),
                           "length": Wire(content_length=True),
                           "until close": Wire(until_close=True), "close": Wire(close=True)}.items():
            with self.subTest(name):
                turn = self.ask([Answer("Grüße 👋.", wire=wire, **answer),
                                 Answer("Done. 世界", wire=wire)])
                self.assertEqual(turn.text, "Grüße 👋.Done. 世界")
                self.assertEqual(turn.envelopes()[0]["tool_success"], True)
                connections = [r.connection for r in turn.llm.requests]
                self.assertEqual(connections, [1, 2] if "close" in name else [1, 1])

    def test_lines_of_all_kinds(self):
        quirks = ["crlf", "cr", "no_space", "bom", "comments", "ids", "split_data",
                  "no_final_blank", "unknown_events", "ascii", "done"]
        for quirk in quirks:
            with self.subTest(quirk):
                turn = self.ask([Answer("Grüße 👋.", quirks={quirk})])
                self.assertEqual(turn.text, "Grüße 👋.")


class Hints(AgentTest):
    """When to come back, said in all the ways there are; the vendors' forms have unit tests."""

    def test_hints_in_headers(self):
        for headers, delay in (({"retry-after": "0.02"}, 20), ({"retry-after": "0"}, 0),
                               ({"retry-after-ms": "3", "retry-after": "90"}, 3)):
            with self.subTest(headers=headers):
                turn = self.ask([Failure("rate_limit", headers=headers), Answer("Done.")])
                self.assertEqual([e["delay_ms"] for e in turn.of("retry")], [delay])

    def test_the_server_decides_whether(self):
        turn = self.ask([Failure("server", headers={"x-should-retry": "false"})], status=1)
        self.assertEqual((turn.of("retry"), len(turn.llm.requests)), ([], 1))
        turn = self.ask([Failure("bad_request", headers={"x-should-retry": "true", **SOON}),
                         Answer("Done.")])
        self.assertEqual((turn.text, len(turn.of("retry"))), ("Done.", 1))

    def test_statuses(self):
        for status in (408, 409, 429, 500, 502, 503, 504, 520, 529):
            with self.subTest(status=status):
                turn = self.ask([Failure("server", status=status, headers=SOON), Answer("Done.")])
                self.assertEqual((turn.text, len(turn.of("retry"))), ("Done.", 1))
        for status in (400, 401, 402, 403, 404, 405, 413, 418, 422):
            with self.subTest(status=status):
                turn = self.ask([Raw({"error": {"message": "No."}}, status, SOON)], status=1)
                self.assertEqual((turn.of("retry"), turn.reason), ([], "error"))

    def test_a_wait_that_is_too_long_is_told(self):
        turn = self.ask([Failure("rate_limit", headers={"retry-after": "120"})], status=1)
        self.assertEqual((turn.of("retry"), turn.reason), ([], "error"))
        self.assertIn("120 s", turn.error[1])

    def test_without_a_hint_the_wait_is_short_and_random(self):
        turn = self.ask([Failure("server"), Answer("Done.")])
        self.assertEqual(turn.text, "Done.")
        self.assertIn(turn.of("retry")[0]["delay_ms"], range(0, 1001))


class Connections(AgentTest):
    def port(self):
        """A port on which nothing listens until the test ends."""
        sock = socket.socket()
        self.addCleanup(sock.close)
        sock.bind(("127.0.0.1", 0))
        return sock, sock.getsockname()[1]

    def test_refused_and_then_there(self):
        sock, port = self.port()
        self.config({"providers": {"local": {"type": "openai",
                                             "base_url": f"http://127.0.0.1:{port}/v1"}}})
        process = subprocess.Popen([IKIGAI, "-p", "Go", "--json", "-m", "local/x"],
                                   cwd=self.project, env=self.env(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.put_down, process)
        run = Running(process, None)
        retry = run.wait_for_type("retry")
        self.assertIn(str(port), retry["message"])
        sock.close()
        with FakeLLM([Answer("There.")], dialect="plain", port=port) as llm:
            turn = run.finish()
            self.assertEqual((turn.status, turn.text, llm.problems), (0, "There.", []))

    def test_lost_while_it_is_secured(self):
        """An encrypted connection that breaks in its handshake is tried again."""
        sock, port = self.port()
        sock.listen()
        self.config({"providers": {"local": {"type": "openai",
                                             "base_url": f"https://127.0.0.1:{port}/v1"}}})
        process = subprocess.Popen([IKIGAI, "-p", "Go", "--json", "-m", "local/x"],
                                   cwd=self.project, env=self.env(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.put_down, process)
        connection = sock.accept()[0]
        connection.recv(1)
        connection.close()
        retry = Running(process, None).wait_for_type("retry")
        self.assertEqual(retry["code"], "network")
        self.assertIn("secure", retry["message"])

    def test_lost_before_any_word(self):
        for wire in (Wire(garbage_head=b""), Wire(cut_after=0), Wire(cut_after=1, reset=True)):
            with self.subTest(wire=wire):
                turn = self.ask([Answer("Never said.", wire=wire), Answer("Said.")])
                self.assertEqual((turn.text, len(turn.of("retry"))), ("Said.", 1))

    def test_a_refusal_without_all_of_its_body(self):
        """Its status and headers count, whatever becomes of the body."""
        for wire in (Wire(cut_after=0), Wire(cut_after=10), Wire(chunk=4, cut_after=9),
                     Wire(stall_after=0)):
            with self.subTest(wire=wire):
                turn = self.ask([Failure("auth", wire=wire)], status=1,
                                config={"silence_timeout_seconds": 1})
                self.assertEqual((turn.of("retry"), len(turn.llm.requests)), ([], 1))
                self.assertIn("401", turn.error[1])
                self.assertIn("OPENAI_API_KEY", turn.error[1])
        late = Failure("rate_limit", headers={"retry-after": "120"}, wire=Wire(cut_after=10))
        turn = self.ask([late], status=1)
        self.assertEqual((turn.of("retry"), len(turn.llm.requests)), ([], 1))
        self.assertIn("120 s", turn.error[1])
        soon = Failure("overloaded", headers=SOON, wire=Wire(cut_after=10))
        turn = self.ask([soon, Answer("Done.")])
        self.assertEqual((turn.text, [e["delay_ms"] for e in turn.of("retry")]), ("Done.", [1]))

    def test_closed_between_turns_without_a_word(self):
        """Between two requests a server may close at any time: that is no failure."""
        quiet = Wire(close=True, headers={"connection": None})
        turn = self.ask([Answer(calls=[Call("bash", {"command": "sleep 0.1"})], wire=quiet),
                         Answer("Done.")])
        self.assertEqual((turn.text, turn.of("retry")), ("Done.", []))

    def test_a_connection_closed_between_turns(self):
        turn = self.ask([Answer(calls=[Call("glob", {"pattern": "*"})], wire=Wire(close=True)),
                         Answer(calls=[Call("glob", {"pattern": "*"})]), Answer("Done.")])
        self.assertEqual([r.connection for r in turn.llm.requests], [1, 2, 2])
        self.assertEqual(turn.of("retry"), [])

    def test_a_redirect_is_not_followed(self):
        other = self.serve([Answer("Stolen.")])
        for status in (301, 307, 308):
            with self.subTest(status=status):
                turn = self.ask([Raw(b"", status, {"location": other.url + "/v1/x"})], status=1)
                self.assertIn("redirect", turn.error[1])
        self.assertEqual(other.requests, [])

    def test_no_http_at_all(self):
        turn = self.ask([Answer("x", wire=Wire(garbage_head=b"SSH-2.0-OpenSSH_9.2\r\n")),
                         Answer("Done.")])
        self.assertEqual((turn.text, len(turn.of("retry"))), ("Done.", 1))

    def test_pages_of_proxies(self):
        page = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
        turn = self.ask([Raw(page, 502, {"content-type": "text/html", **SOON})] * 5, status=1)
        self.assertIn("502", turn.error[1])
        self.assertNotIn("<", turn.error[1])
        turn = self.ask([Raw(page, 200, {"content-type": "text/html"}), Answer("Done.")])
        self.assertEqual((turn.text, len(turn.of("retry"))), ("Done.", 1))
        self.assertIn("web page", turn.of("retry")[0]["message"])

    def test_errors_in_odd_clothes(self):
        """Compressed, as an event, or behind a byte order mark: the message is found, the session
        goes on."""
        error = b'{"error":{"message":"No credit.","code":"insufficient_quota"}}'
        for body, more in ((gzip.compress(error), {"content-encoding": "gzip"}),
                           (b"\xef\xbb\xbf" + error, {}), (b"data: " + error + b"\n\n", {}),
                           (b": hm\r\nevent: error\r\ndata:" + error + b"\r\n\r\n", {})):
            with self.subTest(body):
                turn = self.ask([Raw(body, 429, {"content-type": "text/event-stream", **more})],
                                status=1)
                self.assertEqual(turn.error[0], "insufficient_quota")
                self.assertRegex(turn.error[1], r"\ANo credit\. \(")
                self.assertEqual(turn.of("retry"), [])

    def test_rubbish_in_the_stream(self):
        """After text it is the end; before, another try."""
        rubbish = b"data: {]\n\n"
        turn = self.ask([Answer("A rather long answer", fragments=6,
                                wire=Wire(garbage=rubbish, garbage_after=4))], status=1)
        self.assertTrue("A rather long answer".startswith(turn.text) and turn.text)
        self.assertIs(turn.messages("assistant")[0]["data"]["incomplete"], True)
        turn = self.ask([Answer("Never", wire=Wire(garbage=rubbish, garbage_after=0)),
                         Answer("Done.")])
        self.assertEqual(turn.text, "Done.")

    def test_too_much(self):
        """Neither an endless line nor a bomb takes more memory than an answer may."""
        program, memory = self.measured()
        for name, (wire, status) in {"line": (Wire(huge_line=200 << 20, huge_after=3), 1),
                                     "bomb": (Wire(gzip_bomb=1 << 30), 0)}.items():
            with self.subTest(name):
                turn = self.ask([Answer("So.", wire=wire), Answer("Done.")], status=status,
                                program=program)
                (event,) = turn.of("retry") + turn.of("error")
                self.assertIn("too long", event["message"])
                self.assertLess(int(self.read(memory)), 150 * 1024)

    def measured(self):
        """A program that runs ikigai and writes into a file how many KB were resident at most. It
        is small, because the peak that wait4 reports includes that of the forking parent."""
        memory = self.path("memory")
        return hostile.write_program(self.path("measured"), f"""#!/usr/bin/python3 -IS
import os, sys
pid = os.posix_spawn("{IKIGAI}", sys.argv, os.environ)
_, status, usage = os.wait4(pid, 0)
with open("{memory}", "w") as f:
    f.write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""), memory


class Watchdogs(AgentTest):
    def test_silence(self):
        for name, wire in {"head": Wire(delay_head=60), "body": Wire(delay_body=60)}.items():
            with self.subTest(name):
                turn = self.ask([Answer("Never", wire=wire), Answer("Done.")],
                                config={"silence_timeout_seconds": 3})
                self.assertEqual((turn.text, len(turn.of("retry"))), ("Done.", 1))
                self.assertIn("3 s", turn.of("retry")[0]["message"])

    def test_silence_inside_the_answer(self):
        turn = self.ask([Answer("A rather long answer", fragments=6, wire=Wire(stall_after=4))],
                        config={"silence_timeout_seconds": 1}, status=1)
        self.assertTrue(turn.text)
        self.assertIs(turn.messages("assistant")[0]["data"]["incomplete"], True)
        self.assertEqual(turn.reason, "error")

    def test_slow_is_not_silent(self):
        turn = self.ask([Answer("A rather long answer", fragments=8, wire=Wire(delay_event=0.5))],
                        config={"silence_timeout_seconds": 3, "idle_stream_seconds": 3})
        self.assertEqual(turn.text, "A rather long answer")

    def test_a_reason_with_every_chunk_ends_no_answer(self):
        """An answer that goes on for many seconds after its first reason to stop, by a clock that
        is faster than the machine's."""
        day = 24 * 3600
        asan = f"{os.environ.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0"
        turn = self.ask([Answer("A rather long answer", fragments=8, quirks={"finish_everywhere"},
                                wire=Wire(delay_event=0.1))],
                        config={"connect_timeout_seconds": day, "silence_timeout_seconds": day,
                                "idle_stream_seconds": day},
                        env={"LD_PRELOAD": FAST_CLOCK, "IKIGAI_FAST_CLOCK": "25",
                             "ASAN_OPTIONS": asan})
        self.assertEqual((turn.text, turn.reason), ("A rather long answer", "end_turn"))


class Pings:
    """Signs of life that say nothing."""

    def test_nothing_but_pings(self):
        ping = b'event: ping\ndata: {"type": "ping"}\n\n' if self.format == "anthropic" \
            else b": ping\n\n"
        idle = {"idle_stream_seconds": 3}
        wire = Wire(stall_after=1, stall_with=ping, stall_interval=0.05)
        turn = self.ask([Answer("Never", wire=wire), Answer("Done.")], config=idle)
        self.assertEqual((turn.text, len(turn.of("retry"))), ("Done.", 1))
        wire = Wire(stall_after=5, stall_with=ping, stall_interval=0.05)
        turn = self.ask([Answer("A rather long answer", fragments=9, wire=wire)], config=idle,
                        status=1)
        self.assertTrue(turn.text)
        self.assertIs(turn.messages("assistant")[0]["data"]["incomplete"], True)


def sent(field):
    """How a field looks in a body. Strict is what Responses is without a word: it says false."""
    return {"strict": b'"strict":true'}.get(field, f'"{field.rpartition(".")[2]}"'.encode())


class RefusedFields:
    """A field the server does not take is left out from then on."""
    fields = {"chat": ["stream_options", "reasoning_effort", "strict", "parallel_tool_calls"],
              "local": ["stream_options", "reasoning_effort"],
              "responses": ["reasoning.summary", "parallel_tool_calls", "strict"],
              "anthropic": ["thinking", "output_config"], "google": ["thinkingConfig"]}

    def refusing(self, field, answers):
        def answer(request):
            if sent(field) in request.body:
                return Failure("bad_request", f"Unsupported parameter: '{field}' is not supported "
                               "with this model.", param=field, code="unsupported_parameter")
            return answers.pop(0)
        return answer

    def test_refused_once_and_never_sent_again(self):
        for field in self.fields[self.format]:
            with self.subTest(field=field):
                answers = [Answer(calls=[Call("glob", {"pattern": "*"})]),
                           Answer(calls=[Call("glob", {"pattern": "*"})]), Answer("Done.")]
                turn = self.ask(self.refusing(field, answers), config={"effort": "low"})
                self.assertEqual(turn.text, "Done.")
                self.assertEqual([sent(field) in r.body for r in turn.llm.requests],
                                 [True, False, False, False])

    def test_refused_whatever_is_left_out(self):
        field = self.fields[self.format][0]
        turn = self.ask(lambda request: Failure(
            "bad_request", f"Unsupported parameter: '{field}'", param=field,
            code="unsupported_parameter"), config={"effort": "low"}, status=1)
        self.assertEqual((turn.reason, len(turn.llm.requests)), ("error", 2))
        self.assertIn(field, turn.error[1])


class RefusedTools:
    """A tool whose definition the service does not take is left out, and the rest goes on."""

    def test_it_is_named_and_left_out(self):
        self.tool("odd_one", "echo '{}'")
        self.tool("another", "echo '{}'")
        llm = {"refused_tools": ["odd_one", "grep"]}
        turn = self.ask([Answer(calls=[Call("another")]), Answer("Done.")], server=llm)
        self.assertEqual((turn.text, turn.reason), ("Done.", "end_turn"))
        notices = [n["text"] for n in turn.of("notice")]
        self.assertEqual([n.split(":")[0] for n in notices],
                         ["Tool grep is left out", "Tool odd_one is left out"])
        self.assertIn(FORMATS[self.format].target, notices[0])
        names = [sent_tools(request) for request in turn.llm.requests]
        self.assertEqual(names[-1], names[-2])
        self.assertEqual(set(names[0]) - set(names[-1]), {"odd_one", "grep"})
        # OpenAI's complaint may be about strict alone: once for all, the request goes without it
        strict = FORMATS[self.format].provider == "openai"
        self.assertEqual(len(names), 4 + strict)

    def test_one_that_was_not_sent_as_strict_is_left_out_at_once(self):
        free = {"type": "object", "properties": {"a": {"type": "object"}}}  # any members
        self.tool("odd_one", "echo '{}'", parameters=free)
        turn = self.ask([Answer("Done.")], server={"refused_tools": ["odd_one"]})
        names = [sent_tools(request) for request in turn.llm.requests]
        # Chat Completions of OpenAI: "strict": false, which is sent there, goes first
        self.assertEqual(len(names), 2 + (self.format == "chat"))
        self.assertEqual(set(names[0]) - set(names[-1]), {"odd_one"})

    def test_a_complaint_about_no_tool_of_ours_is_final(self):
        for complaint in ("tools.99.custom.input_schema: no", "tools[99].function.parameters: no",
                          "tools[0].function_declarations[99].parameters: no",
                          "Invalid schema for function 'nosuch': no"):
            turn = self.ask([Failure("bad_request", complaint)], status=1)
            self.assertEqual(len(turn.llm.requests), 1)
            self.assertIn("no", turn.error[1])

    def test_a_service_that_takes_none_is_not_asked_for_ever(self):
        for n in range(40):
            self.tool(f"tool_{n:02}", "echo '{}'")
        names = [f"tool_{n:02}" for n in range(40)]
        turn = self.ask([], server={"refused_tools": names}, status=1)
        self.assertEqual(turn.reason, "error")
        self.assertLess(len(turn.llm.requests), 20)


class Secrets:
    def test_a_key_goes_to_its_own_provider_only(self):
        form = FORMATS[self.format]
        env = {f"{VARIABLES[name]}_API_KEY": key for name, key in KEYS.items()}
        turn = self.ask([Answer(calls=[Call("bash", {"command": "env; cat /proc/$PPID/environ"})]),
                         Answer("Done.")], env=env)
        for request in turn.llm.requests:
            seen = json.dumps(request.headers) + request.path
            for name, key in KEYS.items():
                self.assertEqual(key in seen, name == form.provider, (name, seen))
                self.assertNotIn(key.encode(), request.body)
                self.assertNotIn(key, request.path)
        for key in KEYS.values():
            self.assertNotIn(key, json.dumps(turn.events) + turn.err)

    def test_a_server_that_repeats_the_key(self):
        key = KEYS.get(FORMATS[self.format].provider)
        if key is None:
            return
        for script in ([Failure("auth", f"Incorrect API key provided: {key}.")],
                       [Failure("server", f"Key {key}", headers=SOON)] * 5,
                       [Answer("A rather long answer", error=Failure("auth", f"Bad {key}!"))]):
            turn = self.ask(script, status=1)
            self.assertNotIn(key, json.dumps(turn.events) + turn.err)


    def test_a_model_that_repeats_the_key(self):
        """Whole and in single letters, in its answer and in its thoughts; and not what only begins
        like it."""
        key = KEYS.get(FORMATS[self.format].provider)
        if key is None:
            return
        said = f"It is {key}, not {key[:5]} and {key}{key}. {key[:-1]}"
        hidden = "*" * len(key)
        expected = f"It is {hidden}, not {key[:5]} and {hidden}{hidden}. {hidden[:-1]}"
        for fragments in (1, len(said)):
            turn = self.ask([Answer(said, thinking=said, calls=[Call("glob", {"pattern": "*"})],
                                    fragments=fragments), Answer("Done.")])
            self.assertEqual(turn.text, expected + "Done.")
            self.assertEqual(turn.messages("assistant")[0]["content"], expected)
            self.assertNotIn(key, json.dumps(turn.events) + turn.err)
            shown = "".join(e["text"] for e in turn.of("reasoning_delta"))
            self.assertIn(shown, ("", expected))
            with sqlite3.connect(os.path.join(self.home, "ikigai.db")) as db:
                for table in ("messages", "sessions"):
                    self.assertNotIn(key, str(db.execute(f"SELECT * FROM {table}").fetchall()))


per_format(Errors, globals())
per_format(RefusedFields, globals())
per_format(RefusedTools, globals())
per_format(Secrets, globals())
per_format(Pings, globals(), "chat", "anthropic")
