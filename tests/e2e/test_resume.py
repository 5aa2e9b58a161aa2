"""Sessions that go on: -c, -r, --fork, --db, through the whole program."""
import os
import signal
import sqlite3
import subprocess
import unittest

from agent_support import FORMATS, AgentTest, per_format, sent_results
from fake_llm import Answer, Call, Failure, Memory, Usage
from support import IKIGAI, IkigaiTest

CACHE_MARK = b',"cache_control":{"type":"ephemeral"}'  # moves along with the end
READ = Call("file_read", {"file_path": "a.txt"})


def common(a, b):
    """The bytes both begin with."""
    end = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return a[:end]


class Resumed:
    """What a model sees of a session that another program went on with."""

    def setUp(self):
        super().setUp()
        self.write("project/a.txt", "the marker of the last result\n")

    def go(self, env, *args, status=0):
        done = self.ikigai(*self.command("Go", "--json", *args), env=env, status=status)
        return [line for line in done.out.splitlines() if line]

    def test_requests_are_the_same_bytes_as_before(self):
        llm = self.serve([Answer(thinking="Let me see.", calls=[READ]),
                          Answer(thinking="Now I know.", calls=[READ]), Answer("One."),
                          Answer("Two.", thinking="More of it.")],
                         memory=Memory())
        env = self.connect(llm)
        self.go(env)
        self.go(env, "-c")
        self.assertEqual(llm.problems, [])
        last, resumed = (r.body.replace(CACHE_MARK, b"") for r in llm.requests[2:4])
        marker = last.rfind(b"the marker of the last result")
        self.assertGreater(marker, 0)
        self.assertIn(last[:marker + 29], common(last, resumed))
        self.assertEqual(llm.requests[2].headers.get("authorization"),
                         llm.requests[3].headers.get("authorization"))

    def test_a_call_without_a_result_is_repaired(self):
        self.tool("slow", "touch started; sleep 60")
        running = self.begin([Answer(calls=[Call("slow", {})]), Answer("Again.")])
        self.wait_for_file("started")
        running.signal(signal.SIGKILL)
        running.finish()
        self.go(self.connect(running.llm), "-c")
        self.assertEqual(running.llm.problems, [])
        ((_, envelope),) = sent_results(running.llm.requests[1])
        self.assertEqual(envelope["error_code"], "INTERRUPTED")

    def think(self, env, *args):
        """A turn in which the model thinks, calls a tool and thinks again."""
        self.go(env, *args)
        self.assertEqual(self.llm.problems, [])

    def test_reasoning_that_was_made_with_other_tools_or_another_prompt(self):
        """Some services bind it to them. It comes back only where they are as they were."""
        self.llm = self.serve([answer for n in range(6) for answer in (
            Answer(thinking=f"Thought {n}a.", calls=[READ]),
            Answer("Done.", thinking=f"Thought {n}b."))], memory=Memory())
        env = self.connect(self.llm)
        self.think(env)
        self.think(env, "-c")
        self.tool("another", "echo '{}'")
        self.think(env, "-c")
        self.think(env, "-c", "--mode", "plan")
        self.think(env, "-c", "--mode", "plan")
        self.think(env, "-c", "--mode", "auto")
        self.assertEqual(len(self.llm.requests), 12)

    def test_an_answer_is_stored_as_a_whole_or_not_at_all(self):
        llm = self.serve([Answer("Hello."),
                          Answer("Looking.", calls=[Call("file_read", {"file_path": "a.txt"}),
                                                    Call("file_read", {"file_path": "never"})]),
                          Answer("Done.")])
        env = self.connect(llm)
        self.go(env)
        with sqlite3.connect(os.path.join(self.home, "ikigai.db")) as db:
            db.execute("CREATE TRIGGER refuse BEFORE INSERT ON messages WHEN NEW.content LIKE"
                       " '%never%' BEGIN SELECT raise(ABORT, 'the second call'); END")
        self.go(env, "-c")
        with sqlite3.connect(os.path.join(self.home, "ikigai.db")) as db:
            kinds = [row[0] for row in db.execute("SELECT kind FROM messages ORDER BY id")]
        self.assertEqual(kinds, ["system", "user", "assistant", "user"])


per_format(Resumed, globals())


class HalfStored(AgentTest):
    """A log whose last step lost a call, as older versions could leave it: the reasoning of all
    steps is void."""
    format = "responses"
    REFUSAL = Failure("bad_request", "Item 'call_1' of type 'function_call' was provided without its "
                      "required 'reasoning' item: 'rs_1'.", param="input")

    def begin_half(self, *answers):
        """The server with these further answers and the environment to go on with."""
        self.write("project/a.txt", "the only line\n")
        llm = self.serve([Answer("One.", thinking="First.", calls=[READ]),
                          Answer(thinking="Both.", calls=[READ, READ]), Answer("Two."), *answers])
        env = self.connect(llm)
        self.go(env)
        with sqlite3.connect(os.path.join(self.home, "ikigai.db")) as db:
            last = [row[0] for row in db.execute(
                "SELECT id FROM messages WHERE kind = 'tool_call' ORDER BY id")][-1]
            db.execute("DELETE FROM messages WHERE id >= ?", [last])
        return llm, env

    def test_the_service_does_not_miss_the_reasoning(self):
        """The calls have other ids than those it knows."""
        llm, env = self.begin_half(Answer("Three."))
        self.go(env, "-c")
        self.assertEqual(llm.problems, [])
        items = llm.requests[-1].json["input"]
        calls = [item["call_id"] for item in items if item["type"] == "function_call"]
        results = [item["call_id"] for item in items if item["type"] == "function_call_output"]
        self.assertEqual((len(calls), calls), (2, results))

    def test_steps_are_sent_as_text_and_that_is_recorded(self):
        """Where the service does not take the calls all the same."""
        llm, env = self.begin_half(self.REFUSAL, Answer("Three."),
                                   Answer("Four.", thinking="Now.", calls=[READ]), Answer("Five."))
        self.go(env, "-c")
        refused_again, accepted = llm.requests[4:6]
        self.assertIn("without its required 'reasoning' item", refused_again.problems[0])
        self.assertEqual(accepted.problems, [])
        self.assertNotIn("function_call", [item["type"] for item in accepted.json["input"]])
        self.assertIn("the only line", accepted.body.decode())
        calls = [item["content"][0]["text"] for item in accepted.json["input"]
                 if "file_path" in item["content"][0]["text"]]
        self.assertEqual(len(calls), 2)
        before = len(llm.requests)
        self.go(env, "-c")
        self.assertEqual([r.problems for r in llm.requests[before:]], [[], []])
        sent, later = (r.json["input"] for r in (accepted, llm.requests[-1]))
        self.assertEqual(later[:len(sent)], sent)
        self.assertEqual([i["type"] for i in later[-3:]],
                         ["message", "function_call", "function_call_output"])

    def go(self, env, *args):
        return self.ikigai(*self.command("Go", "--json", *args), env=env)


class Choice(AgentTest):
    def messages(self, id):
        """What is stored of a session: (kind, content)"""
        with sqlite3.connect(os.path.join(self.home, "ikigai.db")) as db:
            return db.execute("SELECT kind, content FROM messages m JOIN sessions s"
                              " ON s.key = m.session WHERE s.id = ? AND kind NOT IN ('system', 'checkpoint')"
                              " ORDER BY seq", [id]).fetchall()

    def offline(self, *args, **more):
        return self.ikigai("-p", "hello", *args, **more)

    def sessions(self):
        with sqlite3.connect(os.path.join(self.home, "ikigai.db")) as db:
            return [row[0] for row in db.execute("SELECT id FROM sessions ORDER BY key")]

    def test_c_continues_the_last_session_of_this_folder(self):
        self.offline()
        os.mkdir(self.path("other"))
        self.offline(cwd=self.path("other"))
        here, other = self.sessions()
        self.offline("-c")
        self.assertEqual(len(self.messages(here)), 4)
        self.assertEqual(len(self.messages(other)), 2)

    def test_c_without_a_session_says_so_and_begins_one(self):
        done = self.offline("-c")
        self.assertIn("No session in this folder yet; starting a new one.\n", done.err)
        self.assertEqual(len(self.sessions()), 1)

    def test_r_takes_the_beginning_of_an_id(self):
        self.offline()
        (id,) = self.sessions()
        for length in (16, 8, 1):
            self.offline("-r", id[:length])
        self.assertEqual(len(self.messages(id)), 8)

    def test_r_that_names_nothing(self):
        """test_session_cli.py has the sentences."""
        self.offline()
        self.offline("-r", self.sessions()[0], "--fork")
        with sqlite3.connect(os.path.join(self.home, "ikigai.db")) as db:
            db.execute("UPDATE sessions SET id = '123' || (3 + key) || '000000000000'")
        for wrong in ("nothing", "", "0" * 17, "0123456789abcdef", "123"):
            with self.subTest(wrong=wrong):
                done = self.offline("-r", wrong, status=1)
                self.assertIn(wrong, done.err)
                self.assertEqual((done.out, len(done.err.splitlines())), ("", 1))
        self.assertEqual([len(self.messages(id)) for id in self.sessions()], [2, 4])

    def test_r_alone_lists_what_there_is(self):
        self.assertIn("no sessions", self.offline("-r", status=2).err)
        self.offline()
        (id,) = self.sessions()
        for args in (["-r"], ["--resume"], ["-r", "--fork"], ["-r", "--json"]):
            done = self.offline(*args, status=2)
            self.assertIn("-r needs the id of a session", done.err)
            self.assertIn(id, done.err)
            self.assertEqual(done.out, "")
        elsewhere = self.offline("-r", status=2, cwd=self.dir)
        self.assertIn(id, elsewhere.err)
        self.assertIn(os.path.basename(self.project), elsewhere.err)
        self.assertEqual(self.sessions(), [id])
        self.offline(f"--resume={id[:8]}")
        self.assertEqual(self.sessions(), [id])

    def test_options_that_do_not_go_together(self):
        for args, words in ((["-c", "-r", "1"], "-c and -r"), (["--fork"], "--fork needs -c or -r"),
                            (["-c", "--resume"], "-c and -r"), (["--db"], "--db needs a value")):
            self.assertIn(words, self.offline(*args, status=2).err)

    def test_a_database_in_a_folder_that_is_not_there(self):
        """A slip in a path is said and makes nothing."""
        wrong = self.path("nowhere/deep/own.db")
        for args, more in ((["-p", "x", "--db", wrong], {}), (["-p", "x", f"--db={wrong}"], {}),
                           (["-p", "x"], {"env": {"IKIGAI_DB": wrong}}),
                           (["session", "list", "--db", wrong], {}),
                           (["session", "list", "--db", "mysql://host/db"], {})):
            done = self.ikigai(*args, status=2, **more)
            self.assertIn("The folder of the database", done.err)
            self.assertEqual((done.out, len(done.err.splitlines())), ("", 1))
        self.assertFalse(os.path.exists(self.path("nowhere")))
        self.ikigai("-p", "run echo x", "--db", "own.db")
        self.assertTrue(os.path.exists(os.path.join(self.project, "own.db")))

    def test_fork_leaves_the_session_as_it_is(self):
        self.offline()
        (id,) = self.sessions()
        for args in (["-r", id], ["-c"]):
            before = self.sessions()
            original = self.messages(id if args[0] == "-r" else before[-1])
            self.offline(*args, "--fork")
            (copy,) = set(self.sessions()) - set(before)
            self.assertEqual(self.messages(copy)[:-2], original)
        self.assertEqual(len(self.messages(id)), 2)

    def test_one_in_use_names_its_holder_and_can_be_forked(self):
        self.tool("slow", "touch started; while [ ! -e done ]; do sleep 0.05; done; echo '{}'")
        running = self.begin([Answer(calls=[Call("slow", {})]), Answer("Done.")])
        self.wait_for_file("started")
        (id,) = self.sessions()
        done = self.offline("-r", id, status=1)
        self.assertIn(f"pid {running.process.pid} ", done.err)
        self.offline("-r", id, "--fork")
        self.write("project/done", "")
        self.assertEqual(running.finish().reason, "end_turn")
        self.offline("-r", id)
        self.assertEqual([kind for kind, _ in self.messages(id)],
                         ["user", "tool_call", "tool_result", "assistant", "user", "assistant"])

    def test_db_is_another_file(self):
        elsewhere = self.path("elsewhere", "my.db")
        os.mkdir(self.path("elsewhere"))
        self.offline("--db", elsewhere)
        self.assertFalse(os.path.exists(os.path.join(self.home, "ikigai.db")))
        self.assertEqual(os.stat(elsewhere).st_mode & 0o7777, 0o600)
        done = self.offline("-c", "--json", env={"IKIGAI_DB": elsewhere})
        self.assertIn('"resumed":true', done.out)

    def test_a_foreign_database_is_left_alone(self):
        path = self.path("foreign.db")
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE mine(x)")
        with open(path, "rb") as f:
            before = f.read()
        done = self.offline("--db", path)
        self.assertIn("of another application", done.err)
        with open(path, "rb") as f:
            self.assertEqual(f.read(), before)


class Model(AgentTest):
    """A session keeps its model unless a flag or the environment names another."""

    def setUp(self):
        super().setUp()
        self.llm = self.serve([Answer("One."), Answer("Two.")])
        self.keys = self.connect(self.llm, {"model": FORMATS["chat"].target})

    def go(self, *args, **env):
        return self.ikigai("-p", "Go", *args, env={**self.keys, **env})

    def models(self):
        return [r.json["model"] for r in self.llm.requests]

    def test_it_is_kept(self):
        self.go("-m", "openai/gpt-5-mini")
        self.go("-c")
        self.assertEqual(self.models(), ["gpt-5-mini", "gpt-5-mini"])

    def test_a_flag_or_the_environment_chooses_another(self):
        self.go("-m", "openai/gpt-5-mini")
        self.go("-c", IKIGAI_MODEL="openai/gpt-5")
        self.assertEqual(self.models(), ["gpt-5-mini", "gpt-5"])

    def test_the_offline_model_is_not_kept(self):
        self.ikigai("-p", "hello", "-m", "offline/offline")
        self.go("-c")
        self.assertEqual(self.models(), ["gpt-5"])

    def test_a_model_that_cannot_be_had_is_replaced(self):
        self.go("-m", "openai/gpt-5-mini")
        with sqlite3.connect(os.path.join(self.home, "ikigai.db")) as db:
            db.execute("UPDATE sessions SET model = 'gone/model'")
        done = self.go("-c")
        self.assertIn("The session used gone/model", done.err)
        self.assertEqual(self.models(), ["gpt-5-mini", "gpt-5"])


class Figures(AgentTest):
    format = "responses"

    def test_usage_and_cost_are_kept_with_the_session(self):
        usage = Usage(input=1000, output=200)
        self.ask([Answer(calls=[Call("glob", {"pattern": "*"})], usage=usage),
                  Answer("Done.", usage=usage)], prompt="What is  here?\nTell me.")
        with sqlite3.connect(os.path.join(self.home, "ikigai.db")) as db:
            (row,) = db.execute("SELECT title, turns, model, tokens_in, tokens_out, cost"
                                " FROM sessions")
            answers = db.execute("SELECT tokens_in, tokens_out, cost FROM usage").fetchall()
        self.assertEqual(row[:5], ("What is here?", 1, "openai/gpt-6.1-sol", 2000, 400))
        self.assertEqual([a[:2] for a in answers], [(1000, 200)] * 2)
        self.assertGreater(row[5], 0)
        self.assertAlmostEqual(sum(a[2] for a in answers), row[5])


class Stored(AgentTest):
    """How an event stands in the file."""

    def rows(self, sql):
        with sqlite3.connect(os.path.join(self.home, "ikigai.db")) as db:
            return db.execute(sql).fetchall()

    def test_an_answer_is_stored_once_and_not_by_the_piece(self):
        turn = self.ask([Answer("many pieces " * 200, fragments=300)])
        self.assertGreater(len(turn.of("text_delta")), 10)
        self.assertEqual(self.rows("SELECT kind FROM messages ORDER BY seq"),
                         [("system",), ("user",), ("assistant",)])

    def test_long_output_is_packed_and_there_once(self):
        self.write("project/long.txt", "words that repeat themselves\n" * 20000)
        self.ikigai("-p", "read long.txt")
        ((kind, size),) = self.rows("SELECT typeof(data_json), length(data_json) FROM messages"
                                    " WHERE kind = 'tool_result'")
        self.assertEqual(kind, "blob")
        self.assertLess(size, 20000)
        ((content,),) = self.rows("SELECT length(content) FROM messages WHERE kind = 'tool_result'")
        self.assertLess(content, 500)

    @unittest.skipUnless(os.geteuid() == 0, "only root sees the files of what is not dumpable")
    def test_the_words_of_the_user_and_the_end_of_a_turn_wait_for_the_disk(self):
        """The log is synchronised for these two, and not between them."""
        self.ikigai("-p", "run echo one")  # the file is there, the tools are known
        log = self.path("trace")
        subprocess.run(["strace", "-f", "-y", "-o", log, "-e", "trace=fdatasync,write,pwrite64",
                        IKIGAI, "-p", "run echo two", "--json"], env=self.env(), cwd=self.project,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True, timeout=60)
        with open(log) as f:
            calls = f.read().splitlines()
        # Until the log is carried over into the file, when the program ends.
        end = next(i for i, call in enumerate(calls) if "pwrite64" in call and "ikigai.db>" in call)
        syncs = [call for call in calls[:end] if "fdatasync" in call and "ikigai.db-wal>" in call]
        # SQLite's own are the header of a new log and the end of it.
        self.assertEqual(len(syncs), 2 + 2, calls)


class Nothing(IkigaiTest):
    def test_a_run_that_could_not_begin_leaves_no_session(self):
        self.ikigai("-p", "hello", "-m", "nobody/model", status=2)
        self.assertFalse(os.path.exists(os.path.join(self.home, "ikigai.db")))
