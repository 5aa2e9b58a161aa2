"""A history shared by two machines (two homes here) through a PostgreSQL server that comes and goes.

The server is this module's own, because the tests stop and kill it.
"""
import json
import os
import select
import socket
import socketserver
import sqlite3
import subprocess
import threading
import time

import hostile
import postgres
from agent_support import PATIENCE, AgentTest, Running, Turn, sent_messages
from cast import Cast
from fake_llm import Answer, Call
from support import IKIGAI
from terminal_support import TerminalTest

WAIT = [Call("wait_for", {"number": n}) for n in (1, 2)]
AWAY, BACK, PARTED = "out of reach", "is back", "continued elsewhere"


class SharedTest(AgentTest):
    """Each test has a database of its own, and machines that are told of it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = postgres.Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.__enter__()

    def setUp(self):
        super().setUp()
        self.database = self.id().rpartition(".")[2]
        self.url = self.server.create_database(self.database)
        self.addCleanup(self.restore_server)

    def restore_server(self):
        if self.server.process is None:
            self.server.start()
        self.server.resume()

    # ---- machines

    def machine(self, name, **more):
        """The environment of one: its home, and where the history is shared."""
        home = self.path(name)
        os.makedirs(home, exist_ok=True)
        return {"IKIGAI_HOME": home, "IKIGAI_DB": self.url, **more}

    def say(self, machine, prompt, *args, status=0, **more):
        """One turn with the offline model."""
        done = self.ikigai("-p", prompt, "--json", *args, env=machine, status=status, **more)
        return Turn(done.status, done.out.split("\n")[:-1], done.err, None)

    def ask_model(self, machine, llm, prompt, *args, **more):
        """One turn with a scripted model, which must have no complaints."""
        done = self.ikigai(*self.command(prompt, "--json", *args),
                           env={**self.connect(llm), **machine}, **more)
        self.assertEqual(llm.problems, [])
        return Turn(done.status, done.out.split("\n")[:-1], done.err, llm)

    def begin_turn(self, machine, script, *args):
        """A turn with a scripted model that is left running. Its calls of WAIT make a file at1, at2
        and end when go() is told their number."""
        hostile.sh_tool(os.path.join(machine["IKIGAI_HOME"], "tools"), "wait_for",
                        "n=$(tr -cd 0-9); touch at$n; while [ ! -e go$n ]; do sleep 0.01; done; echo '{}'",
                        timeout_seconds=100)
        llm = self.serve(script)
        env = {**self.connect(llm), **machine}
        process = subprocess.Popen([IKIGAI, *self.command("Go", "--json", *args)],
                                   env=self.env(**env), cwd=self.project,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=hostile.default_signals)
        self.addCleanup(self.put_down, process)
        return Running(process, llm)

    @staticmethod
    def wait_for_notice(running, part):
        """Until the turn left running has told the user so."""
        running.wait_for(lambda e: e["type"] == "notice" and part in e["text"])

    def go(self, number=1):
        self.write(f"project/go{number}")

    def listed(self, machine):
        """The sessions a machine knows of, by id."""
        done = self.ikigai("session", "list", "--json", env=machine)
        return {session["id"]: session for session in done.json()}

    def found(self, machine, text):
        """The sessions in which a machine finds something."""
        done = self.ikigai("session", "search", text, "--json", env=machine)
        return {hit["session_id"] for hit in done.json()}

    # ---- what the server has

    def messages(self, session):
        rows = self.server.query(
            "SELECT agent, seq, kind, content, data_json FROM ikigai.messages"
            f" WHERE session_id = '{session}' ORDER BY agent, seq", self.database)
        return [(int(agent), int(seq), kind, content, json.loads(data) if data else {})
                for agent, seq, kind, content, data in rows]

    def sessions(self):
        return {row[0] for row in self.server.query("SELECT id FROM ikigai.sessions",
                                                    self.database)}

    def words(self, session):
        """What the user said, in order."""
        return [content for _, _, kind, content, _ in self.messages(session) if kind == "user"]

    def assert_delivered(self, session, *turns):
        """The server has what these turns told of, in order, once, and nothing between."""
        rows = self.messages(session)
        self.assertEqual([row[1] for row in rows], list(range(1, len(rows) + 1)))
        told = [(m["kind"], m["content"], m["data"]) for turn in turns for m in turn.messages()]
        stored = [(kind, content, data) for _, _, kind, content, data in rows
                  if kind not in ("system", "checkpoint")]
        self.assertEqual(stored, [m for m in told if m[0] != "system"])

    # ---- what the user is told

    def notices(self, turn):
        """The lines about the shared history."""
        said = [event["text"] for event in turn.of("notice")]
        return [line for line in said + turn.err.splitlines()
                if any(part in line for part in (AWAY, BACK, PARTED, "libpq"))]

    def assert_told(self, turn, *parts):
        lines = self.notices(turn)
        self.assertEqual(len(lines), len(parts), lines)
        for line, part in zip(lines, parts):
            self.assertIn(part, line)


def session_of(turn):
    (event,) = turn.of("session")
    return event["id"]


def user_texts(request):
    return [m["content"] for m in sent_messages(request) if m["role"] == "user"]


class Lossy(socketserver.ThreadingUnixStreamServer):
    """Passes connections on to a server, in a folder for its address. Each is lost after so many bytes of
    answers."""
    daemon_threads = True
    SOCKET = ".s.PGSQL.5432"

    def __init__(self, folder, server, size):
        class Connection(socketserver.BaseRequestHandler):
            def handle(self):
                with socket.socket(socket.AF_UNIX) as upstream:
                    upstream.connect(os.path.join(server.folder, Lossy.SOCKET))
                    pass_on(self.request, upstream, size)

        os.mkdir(folder)
        super().__init__(os.path.join(folder, Lossy.SOCKET), Connection)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def pass_on(client, server, left):
    while left > 0:
        for ready in select.select([client, server], [], [])[0]:
            data = ready.recv(65536)
            if not data:
                return
            (server if ready is client else client).sendall(data)
            left -= len(data) if ready is server else 0


class Delivery(SharedTest):
    def test_a_turn_arrives_in_order(self):
        turn = self.say(self.machine("a"), "run echo hello")
        self.assertEqual([m["kind"] for m in turn.messages()][-4:],
                         ["user", "tool_call", "tool_result", "assistant"])
        self.assert_delivered(session_of(turn), turn)
        self.assert_told(turn)

    def test_a_continued_session_goes_on(self):
        machine = self.machine("a")
        turns = [self.say(machine, "run echo one")]
        turns += [self.say(machine, f"run echo {n}", "-c") for n in ("two", "three")]
        self.assertEqual({session_of(turn) for turn in turns}, {session_of(turns[0])})
        self.assert_delivered(session_of(turns[0]), *turns)

    def test_sub_agents_arrive(self):
        here, there = self.machine("here"), self.machine("there")
        cast = Cast({"Go": [Answer(calls=[Call("agent", {"prompt": "task"})]), Answer("Done.")],
                     "task": [Answer("Found.")]})
        turn = self.ask_model(here, self.serve(cast), "Go")
        key = turn.events[0]["id"]
        shown = self.ikigai("session", "show", key, "--json", env=here).json()
        fetched = self.ikigai("session", "show", key, "--json", env=there).json()
        self.assertEqual(fetched["agents"], shown["agents"])
        self.assertEqual(set(shown["agents"][1]) & {"name", "tool_call_id"}, {"name", "tool_call_id"})
        self.assertEqual((fetched["turns"], fetched["usage"]), (shown["turns"], shown["usage"]))
        self.assertEqual(shown["turns"], 1)

    def test_what_is_long_or_odd_arrives(self):
        machine = self.machine("a")
        odd = "nul \\u0000 'quotes' \"and\" \\ emoji \U0001f363 " + "long " * 50000
        turn = self.ask_model(machine, self.serve([
            Answer(calls=[Call("bash", {"command": "printf 'a\\000b\\377'; seq 20000"})]),
            Answer(odd)]), os.fsdecode(b"not UTF-8: \xff\xfe"))
        self.assert_delivered(session_of(turn), turn)

    def test_a_folder_whose_name_is_no_text(self):
        folder = os.path.join(self.dir, os.fsdecode(b"caf\xe9"))
        os.mkdir(folder)
        turn = self.say(self.machine("a"), "run echo hello", cwd=folder)
        self.assert_delivered(session_of(turn), turn)
        again = self.say(self.machine("a"), "run echo again", "-c", cwd=folder)
        self.assertEqual(session_of(again), session_of(turn))

    def test_nothing_is_delivered_twice(self):
        """Also when the file forgot that it was."""
        machine = self.machine("a")
        turn = self.say(machine, "run echo hello")
        db = sqlite3.connect(os.path.join(machine["IKIGAI_HOME"], "ikigai.db"))
        with db:
            db.execute("DELETE FROM deliveries")
        db.close()
        more = self.say(machine, "run echo more", "-c")
        self.assert_delivered(session_of(turn), turn, more)


class Consent(SharedTest):
    """Sessions that were kept in the file alone until a server was configured stay there until the
    user wants them delivered."""

    def before(self, *prompts):
        """The environments of a machine without and with the server, and what was said without."""
        machine = self.machine("a")
        alone = {"IKIGAI_HOME": machine["IKIGAI_HOME"]}
        return alone, machine, [self.say(alone, prompt) for prompt in prompts]

    def told(self, turn):
        return [line for line in [e["text"] for e in turn.of("notice")] + turn.err.splitlines()
                if "session deliver" in line]

    def test_headless_only_this_session(self):
        alone, machine, earlier = self.before("run echo one", "run echo two")
        third = self.say(machine, "run echo three")
        self.assertEqual(self.sessions(), {session_of(third)})
        self.assert_delivered(session_of(third), third)
        self.assertEqual(len(self.told(third)), 1, third.err)
        self.assertIn("2 earlier sessions", self.told(third)[0])
        fourth = self.say(machine, "run echo four")
        self.assertEqual(self.told(fourth), [], "it is said once per server")
        self.say(alone, "run echo five")
        sixth = self.say(machine, "run echo six")
        self.assertEqual(self.sessions(), {session_of(turn) for turn in (third, fourth, sixth)})

    def test_what_stays_here_is_still_found_here(self):
        _, machine, (first, second) = self.before("run echo needle one", "run echo two")
        third = self.say(machine, "run echo needle three")
        everything = {session_of(turn) for turn in (first, second, third)}
        self.assertEqual(set(self.listed(machine)), everything)
        self.assertEqual(next(iter(self.listed(machine))), session_of(third), "the newest first")
        self.assertEqual(self.found(machine, "needle"), {session_of(first), session_of(third)})
        shown = self.ikigai("session", "show", session_of(first)[:10], env=machine).out
        self.assertIn("needle one", shown)
        self.assertEqual(self.sessions(), {session_of(third)})
        self.assertEqual(set(self.listed(self.machine("b"))), {session_of(third)})

    def test_a_session_that_goes_on_is_delivered_from_its_beginning(self):
        _, machine, (first, second) = self.before("run echo one", "run echo two")
        self.say(machine, "run echo three")
        more = self.say(machine, "run echo more", "-r", session_of(first))
        self.assert_delivered(session_of(first), first, more)
        self.assertNotIn(session_of(second), self.sessions())

    def test_deliver_all(self):
        alone, machine, earlier = self.before("run echo one", "run echo two")
        earlier.append(self.say(machine, "run echo three"))
        earlier.append(self.say(machine, "run echo four", "--deliver-all"))
        for turn in earlier:
            self.assert_delivered(session_of(turn), turn)
        later = self.say(alone, "run echo five")
        self.say(machine, "run echo six")
        self.assert_delivered(session_of(later), later)

    def test_deliver_all_at_once(self):
        _, machine, earlier = self.before("run echo one", "run echo two")
        turn = self.say(machine, "run echo three", "--deliver-all")
        self.assertEqual(self.told(turn), [])
        for turn in (*earlier, turn):
            self.assert_delivered(session_of(turn), turn)

    def test_the_command(self):
        _, machine, (first, second, third) = self.before(*(f"run echo {n}" for n in "123"))
        self.say(machine, "run echo four")
        listed = self.ikigai("session", "deliver", env=machine).out
        for turn in (first, second, third):
            self.assertIn(session_of(turn), listed)
        done = self.ikigai("session", "deliver", session_of(first)[:12], env=machine)
        self.assertRegex(done.out, r"\ADelivered 1 session to postgresql://.*\.\n\Z")
        self.assert_delivered(session_of(first), first)
        self.assertNotIn(session_of(second), self.sessions())
        again = self.ikigai("session", "deliver", session_of(first), env=machine)
        self.assertIn("Delivered 0 sessions", again.out)
        done = self.ikigai("session", "deliver", "--all", env=machine)
        self.assertIn("Delivered 2 sessions", done.out)
        for turn in (first, second, third):
            self.assert_delivered(session_of(turn), turn)
        self.assertEqual(self.ikigai("session", "deliver", env=machine).out,
                         "All sessions of this machine are in the shared history.\n")

    def test_wrong_use_of_the_command(self):
        alone, machine, (first,) = self.before("run echo one")
        self.assertIn("no shared history", self.ikigai("session", "deliver", env=alone,
                                                       status=1).err)
        self.ikigai("session", "deliver", "--all", session_of(first), env=machine, status=2)
        self.ikigai("session", "deliver", "ffff", env=machine, status=1)
        self.server.stop()
        done = self.ikigai("session", "deliver", "--all", env=machine, status=1)
        self.assertNotIn("Delivered", done.out)

    def test_a_server_that_is_away_at_first(self):
        """What is said meanwhile is for it, what was said before is not."""
        _, machine, (first,) = self.before("run echo one")
        self.server.stop()
        second = self.say(machine, "run echo two")
        self.server.start()
        third = self.say(machine, "run echo three")
        self.assertEqual(self.sessions(), {session_of(second), session_of(third)})
        self.assert_delivered(session_of(second), second)

    def test_a_password_is_neither_kept_nor_said(self):
        _, machine, (first,) = self.before("run echo one")
        url = self.url + "&password=sesame-street"
        with_password = {**machine, "IKIGAI_DB": url}
        turn = self.say(with_password, "run echo two")
        done = self.ikigai("session", "deliver", "--all", env=with_password)
        self.assertEqual(self.sessions(), {session_of(first), session_of(turn)})
        self.assertNotIn("sesame", turn.err + str(turn.events) + done.out + done.err)
        for name in os.listdir(machine["IKIGAI_HOME"]):
            path = os.path.join(machine["IKIGAI_HOME"], name)
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    self.assertNotIn(b"sesame", f.read(), name)

    def test_a_session_brought_here_is_not_withheld(self):
        a, b = self.machine("a"), self.machine("b")
        turn = self.say(a, "run echo one")
        self.ikigai("session", "show", session_of(turn), env=b)
        self.assertEqual(self.ikigai("session", "deliver", env=b).out,
                         "All sessions of this machine are in the shared history.\n")

    def test_an_import_and_a_fork_are_delivered(self):
        _, machine, (first,) = self.before("run echo one")
        self.say(machine, "run echo two")
        copy = self.ikigai("session", "fork", session_of(first), env=machine).out.strip()
        self.assertIn(copy, self.sessions())
        self.assertNotIn(session_of(first), self.sessions())


class Asking(SharedTest, TerminalTest):
    """The interactive program asks, once per server."""
    QUESTION = "2 earlier sessions of this machine are not in the shared history"

    def setUp(self):
        super().setUp()
        self.here = self.machine("a")
        alone = {"IKIGAI_HOME": self.here["IKIGAI_HOME"]}
        self.earlier = [self.say(alone, f"run echo {n}") for n in ("one", "two")]

    def start(self, *args):
        return self.terminal([IKIGAI, *args], cwd=self.project, columns=160,
                             env=self.env(TERM="xterm-256color", **self.here))

    def leave(self, t):
        t.send("\x04")
        self.assertEqual(t.wait_exit(), 0)

    def answer(self, answer, said):
        t = self.start()
        t.wait_for(self.QUESTION)
        t.wait_for("[y/N]")
        t.send(answer + "\r")
        t.wait_for(said)
        return t

    def assert_not_asked(self):
        t = self.start("run echo again")
        t.wait_for("exit code 0")
        self.assertNotIn("earlier session", "\n".join(t.all_rows()))
        self.leave(t)

    def test_yes(self):
        self.leave(self.answer("y", "Delivering earlier sessions."))
        for turn in self.earlier:
            self.assert_delivered(session_of(turn), turn)
        self.assert_not_asked()

    def test_no(self):
        self.leave(self.answer("", "Not delivered."))
        self.assert_not_asked()
        self.assertEqual(self.sessions() & {session_of(turn) for turn in self.earlier}, set())
        self.assertEqual(len(self.sessions()), 1)

    def test_the_address_has_no_password(self):
        self.here["IKIGAI_DB"] += "&password=sesame-street"
        t = self.answer("n", "Not delivered.")
        self.assertIn("password=***", "".join(t.all_rows()))
        self.assertNotIn("sesame", "".join(t.all_rows()))

    def test_whoever_leaves_without_an_answer_is_asked_again(self):
        t = self.start("--plain")
        t.wait_for("[y/N]")
        t.send("\x04")
        self.assertEqual(t.wait_exit(), 0)
        self.answer("y", "Delivering earlier sessions.")


class Absence(SharedTest):
    """The server is away: at the beginning, from the middle on, for a while."""

    def test_away_at_the_start(self):
        machine = self.machine("a")
        self.server.stop()
        first = self.say(machine, "run echo one")
        self.assertEqual(first.reason, "end_turn")
        self.assert_told(first, AWAY)
        second = self.say(machine, "run echo two", "-c")
        self.assert_told(second, AWAY)
        self.server.start()
        third = self.say(machine, "run echo three", "-c")
        self.assert_told(third)
        self.assert_delivered(session_of(first), first, second, third)

    def killed_in_a_turn(self, machine):
        """A turn of two calls; the server is killed while the first one runs."""
        turn = self.begin_turn(machine, [Answer("Waiting.", calls=[WAIT[0]]),
                                         Answer("Again.", calls=[WAIT[1]]), Answer("Done.")])
        turn.wait_for(lambda e: e["type"] == "message" and e["kind"] == "tool_call")
        self.server.kill()
        return turn

    def test_killed_in_the_middle_of_a_turn(self):
        machine = self.machine("a")
        running = self.killed_in_a_turn(machine)
        self.go(1)
        self.go(2)
        turn = running.finish()
        self.assertEqual((turn.status, turn.reason), (0, "end_turn"), turn.err)
        self.assert_told(turn, AWAY)
        self.server.start()
        other = self.say(machine, "run echo other")
        self.assert_told(other)
        self.assert_delivered(session_of(turn), turn)
        self.assert_delivered(session_of(other), other)

    def test_a_newer_schema_behind_a_lost_connection(self):
        """It is no session that was continued elsewhere, and no reason to try without end."""
        machine = self.machine("a")
        self.say(machine, "run echo one")
        running = self.begin_turn(machine, [Answer(calls=WAIT[:1]), Answer("Done.")])
        self.wait_for_file("at1")  # the call's checkpoint is stored, too
        with sqlite3.connect(os.path.join(machine["IKIGAI_HOME"], "ikigai.db")) as db:
            stored = db.execute("SELECT count(*) FROM messages").fetchone()[0]

        def delivered():  # all of it: nothing is under way when the connection is lost
            ((there, busy),) = self.server.query(
                "SELECT (SELECT count(*) FROM ikigai.messages), (SELECT count(*)"
                " FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid() AND state <> 'idle')", self.database)
            return (int(there), int(busy)) == (stored, 0)
        self.assertTrue(hostile.wait_until(delivered, PATIENCE))
        self.server.query("UPDATE ikigai.schema_version SET version = 999;"
                          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                          " WHERE datname = current_database() AND pid <> pg_backend_pid()",
                          self.database)
        self.go()
        turn = running.finish()
        self.assertEqual((turn.status, turn.reason), (0, "end_turn"), turn.err)
        self.assert_told(turn, "newer ikigai")

    def test_gone_and_back_in_one_turn(self):
        machine = self.machine("a")
        running = self.killed_in_a_turn(machine)
        self.go(1)
        self.wait_for_notice(running, AWAY)
        self.server.start()
        self.wait_for_notice(running, BACK)
        self.go(2)
        turn = running.finish()
        self.assertEqual(turn.status, 0)
        self.assert_told(turn, AWAY, BACK)
        self.assert_delivered(session_of(turn), turn)

    def test_away_and_there_before_the_turn_ends(self):
        machine = self.machine("a")
        self.server.stop()
        running = self.begin_turn(machine, [Answer(calls=WAIT[:1]), Answer("Done.")])
        self.wait_for_notice(running, AWAY)
        self.server.start()
        self.wait_for_notice(running, BACK)
        self.go()
        turn = running.finish()
        self.assert_told(turn, AWAY, BACK)
        self.assert_delivered(session_of(turn), turn)

    def test_killed_again_and_again(self):
        machine = self.machine("a")
        turns = []
        for number in range(6):
            if number % 2:
                self.server.kill()
            else:
                self.restore_server()
            args = ["-c"] if turns else []
            turns.append(self.say(machine, f"run echo {number}", *args))
        self.restore_server()
        turns.append(self.say(machine, "run echo last", "-c"))
        self.assert_delivered(session_of(turns[0]), *turns)

    def test_list_and_search_make_do_with_the_file(self):
        machine = self.machine("a")
        turn = self.say(machine, "run echo needle")
        self.server.stop()
        self.assertIn(session_of(turn), self.listed(machine))
        self.assertEqual(self.found(machine, "needle"), {session_of(turn)})

    def test_nothing_is_deleted_while_it_is_away(self):
        machine = self.machine("a")
        session = session_of(self.say(machine, "run echo needle"))
        self.server.stop()
        done = self.ikigai("session", "delete", session, "--yes", env=machine, status=None)
        self.assertNotEqual(done.status, 0)
        self.assertIn(session, self.listed(machine))
        self.server.start()
        self.ikigai("session", "delete", session, "--yes", env=machine)
        self.assertEqual(self.listed(machine), {})
        self.assertEqual(self.found(self.machine("b"), "needle"), set())


class Unreachable(SharedTest):
    """Whatever the address leads to, the turn is had, and soon."""

    def assert_harmless(self, machine, *said):
        begin = time.monotonic()
        turn = self.say(machine, "run echo hello")
        self.assertLess(time.monotonic() - begin, PATIENCE)
        self.assertEqual((turn.status, turn.reason), (0, "end_turn"))
        self.assertIn("hello", turn.messages("tool_result")[0]["data"]["output"])
        for part in said:
            self.assertEqual(sum(part in line for line in self.notices(turn)), 1, turn.err)
        return turn

    def test_an_address_that_swallows_everything(self):
        """The system accepts connections, and no program ever answers."""
        with socket.create_server(("127.0.0.1", 0)) as hole:
            port = hole.getsockname()[1]
            machine = self.machine("a", IKIGAI_DB=f"postgresql://me@127.0.0.1:{port}/history")
            turn = self.assert_harmless(machine)
        self.assertIn(session_of(turn), self.listed({**machine, "IKIGAI_DB": self.url}))

    def test_an_address_where_nobody_is(self):
        with socket.create_server(("127.0.0.1", 0)) as nobody:
            port = nobody.getsockname()[1]
        url = f"postgresql://me@127.0.0.1:{port}/history"
        self.assert_harmless(self.machine("a", IKIGAI_DB=url), AWAY)

    def test_a_database_that_is_not_there(self):
        self.assert_harmless(self.machine("a", IKIGAI_DB=self.server.url("nowhere")), "nowhere")

    def test_something_that_is_no_database(self):
        class Stranger(socketserver.BaseRequestHandler):
            def handle(self):
                self.request.sendall(b"220 mail.example.org ready\r\n")

        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Stranger) as stranger:
            threading.Thread(target=stranger.serve_forever, daemon=True).start()
            url = f"postgresql://me@127.0.0.1:{stranger.server_address[1]}/history"
            self.assert_harmless(self.machine("a", IKIGAI_DB=url), AWAY)
            stranger.shutdown()

    def test_a_server_that_stands_still(self):
        machine = self.machine("a")
        first = self.say(machine, "run echo first")
        self.server.pause()
        second = self.assert_harmless(machine)
        self.server.resume()
        third = self.say(machine, "run echo third", "-r", session_of(second))
        self.assert_delivered(session_of(first), first)
        self.assert_delivered(session_of(second), second, third)

    def test_it_stands_still_in_the_middle_of_a_turn(self):
        machine = self.machine("a")
        running = self.begin_turn(machine, [Answer(calls=WAIT[:1]), Answer("Done.")])
        running.wait_for(lambda e: e["type"] == "message" and e["kind"] == "tool_call")
        self.server.pause()
        self.go()
        begin = time.monotonic()
        running.wait_for_type("done")
        self.assertLess(time.monotonic() - begin, PATIENCE / 2)
        turn = running.finish()
        self.assertEqual(turn.status, 0)
        self.server.resume()
        other = self.say(machine, "run echo other")
        self.assert_delivered(session_of(turn), turn)
        self.assert_delivered(session_of(other), other)

    def test_without_libpq(self):
        """A file of that name that is no library is found first."""
        self.write("lib/libpq.so.5", "this is no library\n")
        machine = self.machine("a")
        turn = self.assert_harmless({**machine, "LD_LIBRARY_PATH": self.path("lib")}, "libpq")
        self.assertEqual(len(self.listed({**machine, "LD_LIBRARY_PATH": self.path("lib")})), 1)
        more = self.say(machine, "run echo more", "-c")
        self.assert_delivered(session_of(turn), turn, more)


class TwoMachines(SharedTest):
    def test_each_sees_what_the_other_did(self):
        a, b = self.machine("a"), self.machine("b")
        one, two = self.say(a, "run echo needle one"), self.say(b, "run echo needle two")
        both = {session_of(one), session_of(two)}
        for machine in (a, b):
            self.assertEqual(set(self.listed(machine)), both)
            self.assertEqual(self.found(machine, "needle"), both)
            self.assertEqual(self.found(machine, "two"), {session_of(two)})

    def test_a_session_is_taken_over(self):
        a, b = self.machine("a"), self.machine("b")
        llm = self.serve([Answer("Yes, a."), Answer("Yes, b."), Answer("Yes, a again.")])
        first = self.ask_model(a, llm, "First")
        session = session_of(first)
        second = self.ask_model(b, llm, "Second", "-r", session[:8])
        third = self.ask_model(a, llm, "Third", "-c")
        self.assertEqual([session_of(turn) for turn in (second, third)], [session] * 2)
        self.assertEqual(user_texts(llm.requests[1]), ["First", "Second"])
        self.assertEqual(user_texts(llm.requests[2]), ["First", "Second", "Third"])
        before, after = sent_messages(llm.requests[1]), sent_messages(llm.requests[2])
        self.assertEqual(before, after[:len(before)])
        self.assert_delivered(session, first, second, third)

    def test_a_part_of_a_session_is_not_taken_for_all_of_it(self):
        """The connection is lost while the session is copied."""
        a, b, session = self.machine("a"), self.machine("b"), "00112233aabbccdd"
        self.ikigai("session", "import", "-", env=a, input="".join(
            json.dumps({"type": kind, "created_us": 1, **members}) + "\n" for kind, members in [
                ("session", {"version": 1, "id": session}),
                ("agent", {"number": 1, "parent": 0, "forked_at": 0}),
                *[("message", {"agent": 1, "seq": n, "kind": "user", "content": f"{n} " + 500 * "x"})
                  for n in range(1, 2501)]]).encode())
        self.assertEqual(len(self.messages(session)), 2500)
        with Lossy(self.path("lossy"), self.server, 800_000) as lossy:
            url = f"postgresql:///{self.database}?host={self.path('lossy')}&user=postgres"
            turn = self.say({**b, "IKIGAI_DB": url}, "run echo more", "-r", session, status=1)
            lossy.shutdown()
        self.assertIn(f"Session {session} is not on this machine, and the shared history did not send it",
                      turn.err)
        self.assertEqual(self.listed({**b, "IKIGAI_DB": ""}), {})
        self.say(b, "run echo more", "-r", session)
        self.assertEqual(self.words(session)[2499:], ["2500 " + 500 * "x", "run echo more"])

    def test_the_last_session_of_a_folder_may_be_elsewhere(self):
        a, b = self.machine("a"), self.machine("b")
        first = self.say(a, "run echo one")
        second = self.say(b, "run echo two", "-c")
        self.assertEqual(session_of(first), session_of(second))

    def test_a_session_in_use_is_not_taken_over(self):
        a, b = self.machine("a"), self.machine("b")
        running = self.begin_turn(a, [Answer(calls=WAIT[:1]), Answer("Done.")])
        session = running.wait_for_type("session")["id"]
        running.wait_for(lambda e: e["type"] == "message" and e["kind"] == "tool_call")
        self.wait_until_delivered(session, "tool_call")
        refused = self.ikigai("-p", "run echo no", "-r", session, env=b, status=1)
        self.assertIn(str(running.process.pid), refused.err)
        self.assertIn(socket.gethostname()[:64], refused.err)
        copy = self.say(b, "run echo copy", "-r", session, "--fork")
        self.go()
        turn = running.finish()
        self.assertNotEqual(session_of(copy), session)
        self.assert_delivered(session, turn)
        self.say(b, "run echo now", "-r", session)

    def wait_until_delivered(self, session, kind):
        def there():
            try:
                return any(row[2] == kind for row in self.messages(session))
            except postgres.Error:  # no tables yet
                return False
        self.assertTrue(hostile.wait_until(there, PATIENCE))

    def test_both_go_on_while_the_server_is_away(self):
        """Nothing is lost: the second one is kept as a session of its own."""
        a, b = self.machine("a"), self.machine("b")
        session = session_of(self.say(a, "run echo common"))
        self.say(b, "run echo from b", "-r", session)
        self.say(a, "run echo from a", "-r", session)
        self.server.stop()
        self.say(a, "run echo only a", "-r", session)
        self.say(b, "run echo only b", "-r", session)
        self.server.start()
        self.say(a, "run echo new of a")
        parted = self.say(b, "run echo new of b")
        self.assert_told(parted, PARTED)
        common = ["run echo common", "run echo from b"]
        other = [s for s in self.sessions() if self.words(s)[-1] == "run echo only b"]
        self.assertEqual(self.words(session), [*common, "run echo from a", "run echo only a"])
        self.assertEqual([self.words(s) for s in other], [[*common, "run echo only b"]])
        self.assertEqual(set(self.listed(a)), self.sessions())
        self.assertEqual(set(self.listed(b)), self.sessions())
        self.say(b, "run echo both", "-r", session)
        self.assertEqual(self.words(session)[-2:], ["run echo only a", "run echo both"])

    def test_a_deleted_session_is_gone_from_both(self):
        a, b = self.machine("a"), self.machine("b")
        session = session_of(self.say(a, "run echo needle"))
        self.say(b, "run echo more", "-r", session)
        self.ikigai("session", "delete", session, "--yes", env=b)
        self.assertEqual(self.listed(b), {})
        self.say(a, "run echo other")
        self.assertNotIn(session, self.listed(a))
        self.assertEqual(self.messages(session), [])

    def test_an_export_goes_there_and_back(self):
        """From a file of its own to the server, from there to another machine, and back to a file:
        the same bytes each time."""
        odd = {"type": "message", "agent": 1, "seq": 2, "created_us": 3, "kind": "tool_call",
               "content": None}
        lines = [{"type": "session", "version": 1, "id": "00000000000000e1", "cwd": "/w",
                  "host": "h", "model": "p/m", "created_us": 1},
                 {"type": "agent", "number": 1, "parent": 0, "forked_at": 0, "created_us": 1},
                 {"type": "message", "agent": 1, "seq": 1, "created_us": 2, "kind": "user",
                  "content": "Größe 漢字 \u0001 \U0001f363", "data": None}]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        text += json.dumps(odd)[:-1] + ', "data": {"b": 1.50, "a" : "\\u0000\\ud83d", "b":2}}\n'
        path = self.write("odd.jsonl", text)
        alone = {"IKIGAI_HOME": self.path("alone"), "IKIGAI_DB": self.path("alone.db")}
        exported = []
        for machine, imports in ((alone, True), (self.machine("a"), True),
                                 (self.machine("b"), False),
                                 ({**alone, "IKIGAI_DB": self.path("back.db")}, True)):
            if imports:
                self.ikigai("session", "import", path, env=machine)
            exported.append(self.ikigai("session", "export", "e1".zfill(16), env=machine).out)
            path = self.write(f"export{len(exported)}.jsonl", exported[-1])
        self.assertIn('{"b": 1.50, "a" : "\\u0000\\ud83d", "b":2}', exported[0])
        self.assertEqual(exported, exported[:1] * 4)
        ((_, _, kind, _, data),) = self.messages("e1".zfill(16))[1:]
        self.assertEqual((kind, list(data)), ("tool_call", ["b", "a"]))

    def test_many_programs_at_once(self):
        """Four of each machine, all of which find neither a file nor tables yet."""
        machines = [self.machine("a"), self.machine("b")]
        running = [subprocess.Popen([IKIGAI, "-p", f"run echo turn {n}", "--json"],
                                    env=self.env(**machines[n % 2]), cwd=self.project,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE) for n in range(8)]
        turns = []
        for process in running:
            out, err = process.communicate(timeout=120)
            turns.append(Turn(process.returncode, out.decode().split("\n")[:-1], err.decode(),
                              None))
        self.assertEqual([turn.status for turn in turns], [0] * 8, [t.err for t in turns])
        self.assertEqual({session_of(turn) for turn in turns}, self.sessions())
        for turn in turns:
            self.assert_told(turn)
            self.assert_delivered(session_of(turn), turn)
        for machine in machines:
            self.assertEqual(set(self.listed(machine)), self.sessions())
