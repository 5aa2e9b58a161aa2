"""Checkpoints during a turn: when the files are recorded, what the log says, and what happens where
they cannot be recorded."""
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time

from agent_support import AgentTest, PATIENCE, per_format
import hostile
from fake_llm import Answer, Call, Failure, Wire
from image_support import png
from repl_support import ReplTest
from support import IKIGAI, NOBODY, OUT, as_user, clean_env

PROGRAM = os.path.join(OUT, "lib", "ikigai", "checkpoint")


def bash(command, **more):
    return Call("bash", {"command": command, **more})


def write(path, content="new\n"):
    return Call("file_write", {"file_path": path, "content": content})


class Log:
    """Reads what is recorded in the log of a session, named by its id or by a Turn."""

    def export(self, key):
        """The messages of a session: (kind, data, agent) in the order of each log."""
        out = subprocess.run([IKIGAI, "session", "export", key], check=True, timeout=PATIENCE * 3,
                             env=clean_env(IKIGAI_HOME=self.home), stdout=subprocess.PIPE).stdout
        lines = [json.loads(line) for line in out.decode().splitlines()]
        return [(m["kind"], m["data"], m["agent"]) for m in lines if m["type"] == "message"]

    def session(self, turn):
        return turn.of("session")[0]["id"]

    def phases(self, turn, agent=1):
        """The kinds of the log behind the user's message, checkpoints as their phase."""
        log = self.export(turn if isinstance(turn, str) else self.session(turn))
        return [data["phase"] if kind == "checkpoint" else kind for kind, data, of in log
                if of == agent and kind not in ("system", "user", "mode")]

    def segments(self, turn, agent=1):
        """The segments of the agent's log as the program takes them."""
        found = []
        for kind, data, of in self.export(turn if isinstance(turn, str) else self.session(turn)):
            if kind == "checkpoint" and of == agent:
                self.assertEqual(set(data) - {"late"}, {"phase", "states"})
                if data["phase"] == "before":
                    found.append({"before": data["states"], "after": None})
                else:
                    self.assertIsNone(found[-1]["after"])
                    found[-1]["after"] = data["states"]
        return found

    def changes(self, turn, agent=1):
        """What each segment changed: [{path: status}, …]."""
        return [self.changed([segment]) for segment in self.segments(turn, agent)]

    def changed(self, segments):
        request = {"op": "diff", "folder": self.project, "blobs": os.path.join(self.home, "blobs"),
                   "segments": segments, "format": "json"}
        done = subprocess.run([PROGRAM], input=json.dumps(request).encode(), timeout=PATIENCE,
                              stdout=subprocess.PIPE, check=True)
        return {f["path"]: f["status"] for f in json.loads(done.stdout)["files"]}

    def notices(self, turn):
        return [n["text"] for n in turn.of("notice") if "onfinement" not in n["text"]]

    def states(self):
        """The names of all recorded states."""
        folder = os.path.join(self.home, "blobs", "states")
        return {os.path.join(where, name)[len(folder) + 1:]
                for where, _, names in os.walk(folder) for name in names}


class CheckpointTest(Log, AgentTest):
    pass


class Segments(CheckpointTest):
    def test_around_a_call_that_writes(self):
        self.write("project/old", "a\n")
        turn = self.ask([Answer("Now.", calls=[bash("echo b >> old; echo x > new")]),
                         Answer("Done.")])
        self.assertEqual(self.phases(turn), ["assistant", "tool_call", "before", "tool_result",
                                             "after", "assistant"])
        self.assertEqual(self.changes(turn), [{"old": "modified", "new": "added"}])
        self.assertEqual(self.notices(turn), [])

    def test_no_message_for_a_checkpoint(self):
        turn = self.ask([Answer(calls=[bash("echo x > new")]), Answer("Done.")])
        self.assertEqual([m["kind"] for m in turn.messages()],
                         ["system", "user", "tool_call", "tool_result", "assistant"])
        self.assertNotIn("checkpoint", json.dumps(turn.llm.requests[-1].json["messages"]))
        key = self.session(turn)
        for show in (["show", key], ["show", key, "--full"], ["show", key, "--json"],
                     ["export", key, "--format", "md"], ["export", key, "--format", "html"]):
            self.assertNotIn("checkpoint", self.ikigai("session", *show).out)
        (listed,) = json.loads(self.ikigai("session", "list", "--json").out)
        self.assertEqual((listed["turns"], listed["title"]), (1, "Go"))

    def test_a_turn_that_writes_nothing_runs_nothing(self):
        self.write("project/a.c", "int a;\n")
        turn = self.ask([Answer(calls=[Call("glob", {"pattern": "*"}), Call("file_read", {
            "file_path": "a.c"}), Call("grep", {"pattern": "int"})]), Answer("Done.")])
        self.assertNotIn("checkpoint", [kind for kind, _, _ in self.export(self.session(turn))])
        self.assertFalse(os.path.exists(os.path.join(self.home, "blobs", "states")))

    def test_plan_mode_writes_nothing(self):
        turn = self.ask([Answer(calls=[bash("echo x > new"), write("other")]), Answer("Done.")],
                        "--mode", "plan")
        self.assertNotIn("before", self.phases(turn))
        self.assertFalse(os.path.exists(os.path.join(self.home, "blobs", "states")))

    def test_full_mode_and_no_confinement(self):
        for more in ({"args": ["--mode", "full"]}, {"config": {"confinement": "off"}}):
            with self.subTest(**more):
                turn = self.ask([Answer(calls=[Call("glob", {"pattern": "*"})]),
                                 Answer(calls=[bash("date +%N > new")]), Answer("Done.")],
                                *more.get("args", []), config=more.get("config"))
                self.assertEqual(self.phases(turn), ["tool_call", "tool_result", "tool_call",
                                                     "before", "tool_result", "after", "assistant"])
                self.assertIn("new", self.changes(turn)[0])

    def test_a_tool_that_declares_that_it_only_reads(self):
        """It is believed while it is confined, and not where nothing holds it to that."""
        self.tool("look", "echo x > seen 2> /dev/null; echo '{}'", effects={"write": "none"})
        script = [Answer(calls=[Call("look")]), Answer("Done.")]
        self.assertNotIn("before", self.phases(self.ask(list(script))))
        turn = self.ask(list(script), "--mode", "full")
        self.assertEqual(self.changes(turn), [{"seen": "added"}])

    def test_all_calls_of_a_step_are_one_segment(self):
        turn = self.ask([Answer(calls=[bash("echo 1 > a"), Call("glob", {"pattern": "*"}),
                                       write("b"), bash("rm a; echo 2 > c")]),
                         Answer(calls=[bash("echo 3 > c")]), Answer("Done.")])
        self.assertEqual(self.phases(turn), [
            *["tool_call"] * 4, "before", *["tool_result"] * 4, "after",
            "tool_call", "before", "tool_result", "after", "assistant"])
        self.assertEqual(self.changes(turn), [{"b": "added", "c": "added"}, {"c": "modified"}])

    def test_calls_that_overlap(self):
        self.tool("both", "sed 's/.*\"n\":\\([0-9]\\).*/\\1/' > tmp.$$; cp tmp.$$ made-$(cat tmp.$$); "
                  "rm tmp.$$; echo '{}'", parallel=True, parameters={
                      "type": "object", "properties": {"n": {"type": "integer"}}})
        turn = self.ask([Answer(calls=[Call("both", {"n": n}) for n in range(4)]), Answer("Done.")])
        self.assertEqual(self.phases(turn)[4:6], ["before", "tool_result"])
        self.assertEqual(self.phases(turn).count("after"), 1)
        self.assertEqual(self.changes(turn), [{f"made-{n}": "added" for n in range(4)}])

    def test_files_that_are_named_are_covered_wherever_they_are(self):
        """Also when git ignores them, in a step that runs nothing else, and outside the folder."""
        subprocess.run(["git", "init", "-q", self.project], check=True)
        self.write("project/.gitignore", "out/\n")
        self.write("project/out/there", "x")
        away = self.path("away.txt")
        turn = self.ask([Answer(calls=[write("out/x"), write("out/y")]),
                         Answer(calls=[write("out/x", "again\n"), write("./z")]),
                         Answer(calls=[bash("echo 1 > out/ignored; echo 2 > seen")]),
                         Answer("Done.")])
        self.assertEqual(self.changes(turn), [{"out/x": "added", "out/y": "added"},
                                              {"out/x": "modified", "z": "added"},
                                              {"seen": "added"}])
        turn = self.ask([Answer(calls=[write(away)]), Answer("Done.")], "--mode", "full")
        self.assertEqual(self.changes(turn), [{away: "added"}])

    def test_what_others_change_between_steps_is_theirs(self):
        """The server edits a file when a request arrives: before it answers with calls, and after
        their results."""
        def script(request):
            with open(os.path.join(self.project, f"theirs-{request.number}"), "w") as f:
                f.write("x")
            return [None, Answer(calls=[bash("echo 1 > a")]), Answer(calls=[bash("echo 2 > b")]),
                    Answer(calls=[write("c")]), Answer("Done.")][request.number]
        turn = self.ask(script)
        self.assertEqual(self.changes(turn), [{"a": "added"}, {"b": "added"}, {"c": "added"}])

    def test_a_slow_answer(self):
        """The state from the beginning of the answer is too old when the call starts."""
        def script(request):
            if request.number == 2:
                return Answer("Done.")
            return Answer(calls=[bash("echo 1 > a; : " + "x" * 200)], fragments=30,
                          wire=Wire(delay_event=0.15))
        running = self.begin(script)
        running.llm.wait_for_requests(1)
        time.sleep(0.8)
        self.write("project/theirs", "x")
        turn = running.finish()
        self.assertEqual(self.changes(turn), [{"a": "added"}])

    def test_a_step_that_fails_and_a_turn_that_ends_with_an_error(self):
        turn = self.ask([Answer(calls=[bash("echo 1 > a; exit 3")]), Failure("bad_request")],
                        status=1)
        self.assertEqual(self.phases(turn)[-2:], ["tool_result", "after"])
        self.assertEqual(self.changes(turn), [{"a": "added"}])

    def test_an_interrupted_turn(self):
        running = self.begin([Answer(calls=[bash("echo 1 > a; sleep 60"), bash("echo 2 > b")])])
        self.wait_for_file("a")
        running.signal(signal.SIGINT)
        turn = running.finish()
        self.assertEqual(turn.reason, "interrupted")
        self.assertEqual(self.phases(turn), ["tool_call", "tool_call", "before", "tool_result",
                                             "tool_result", "after"])
        self.assertEqual(self.changes(turn), [{"a": "added"}])

    def test_denied_calls(self):
        self.write("home/.ikigai/permissions.json", '{"deny": ["bash"]}')
        turn = self.ask([Answer(calls=[bash("echo 1 > a")]), Answer("Done.")])
        self.assertNotIn("before", self.phases(turn))

    def test_keys_turn_checkpoints_off(self):
        for key in ("undo_max_files", "undo_max_bytes"):
            turn = self.ask([Answer(calls=[bash("echo 1 > a")]), Answer("Done.")], config={key: 0})
            self.assertNotIn("before", self.phases(turn))
            self.assertEqual(self.notices(turn), [])
            self.assertFalse(os.path.exists(os.path.join(self.home, "blobs", "states")))

    def test_files_of_ikigai_itself_are_left_out(self):
        """Started in a folder above its home, and in the home."""
        turn = self.ask([Answer(calls=[bash("echo 1 > a")]), Answer("Done.")], cwd=self.path("home"))
        self.project = self.path("home")
        self.assertEqual(self.changes(turn), [{"a": "added"}])
        turn = self.ask([Answer(calls=[bash("echo 1 > b; touch tool")]), Answer("Done.")], "--mode",
                        "full", cwd=self.home)
        self.project = self.home
        self.assertEqual(self.changes(turn), [{"b": "added", "tool": "added"}])

    def test_export_and_import(self):
        turn = self.ask([Answer(calls=[bash("echo 1 > a")]), Answer("Done.")])
        key = self.session(turn)
        exported = self.ikigai("session", "export", key).out
        self.write("file.jsonl", exported)
        self.ikigai("session", "delete", key, "--yes")
        self.ikigai("session", "import", self.path("file.jsonl"))
        self.assertEqual(self.ikigai("session", "export", key).out, exported)


class Crashes(CheckpointTest):
    def test_a_resumed_session_gets_the_missing_end(self):
        running = self.begin([Answer(calls=[bash("echo 1 > a; sleep 60"), write("b")])])
        self.wait_for_file("a")
        running.process.kill()
        running.process.wait()
        key = json.loads(running.wait_for_type("session") and running.lines[0])["id"]
        self.assertEqual(self.phases(key)[-1], "before")
        turn = self.ask([Answer(calls=[bash("echo 2 > c")]), Answer("Done.")], "-r", key)
        self.write("project/theirs", "x")
        self.assertEqual([p for p in self.phases(key) if p in ("before", "after")],
                         ["before", "after", "before", "after"])
        self.assertEqual(self.changes(key), [{"a": "added"}, {"c": "added"}])
        self.assertEqual(self.notices(turn), [])

    def test_an_end_that_is_there_is_not_repeated(self):
        turn = self.ask([Answer(calls=[bash("echo 1 > a")]), Answer("Done.")])
        key = self.session(turn)
        self.write("project/theirs", "x")
        self.ask([Answer("Hm.")], "-r", key)
        self.assertEqual(self.phases(key).count("after"), 1)

    def test_killed_at_any_time(self):
        """Whenever it is killed, the log ends in a state from which undo works: a file of the agent
        is only there if a segment says so."""
        for step in range(12):
            project = self.path(f"p{step}")
            os.makedirs(project)
            self.project = project
            running = self.begin([Answer("x" * 200, calls=[bash("echo 1 > a; echo 2 > b")],
                                         fragments=5, wire=Wire(delay_event=0.002)),
                                  Answer(calls=[bash("rm a; echo 3 > c")]), Answer("Done.")])
            running.wait_for_type("session")
            time.sleep(0.01 + 0.02 * step)
            running.process.kill()
            running.process.wait()
            key = json.loads(running.lines[0])["id"]
            time.sleep(0.3)  # the keeper ends the tools
            segments = self.segments(key)
            now = set(os.listdir(project))
            changed = self.changed(segments) if segments else {}
            self.assertEqual({p for p, status in changed.items() if status == "added"} & now, now)
            for segment in segments[:-1]:
                self.assertIsNotNone(segment["after"])


class OwnPrefix:
    """A prefix of its own with another program in place of checkpoint."""

    def prefix(self, program):
        where = os.path.join(self.dir, "prefix")
        os.makedirs(where + "/bin")
        os.makedirs(where + "/lib/ikigai")
        shutil.copy(IKIGAI, where + "/bin/ikigai")
        shutil.copy(os.path.join(OUT, "lib", "ikigai", "keeper"), where + "/lib/ikigai/keeper")
        for part in ("libexec", "share"):
            os.symlink(os.path.join(OUT, part), os.path.join(where, part))
        if program is not None:
            path = where + "/lib/ikigai/checkpoint"
            with open(path, "w") as f:
                f.write(program)
            os.chmod(path, 0o755)
        return where + "/bin/ikigai"


class Trouble(OwnPrefix, CheckpointTest):
    def try_with(self, program):
        turn = self.ask([Answer(calls=[bash("echo 1 > a")]), Answer(calls=[bash("echo 2 > b")]),
                         Answer("Done.")], program=self.prefix(program))
        self.assertEqual(turn.text, "Done.")
        self.assertEqual([e["tool_success"] for e in turn.envelopes()], [True, True])
        self.assertEqual(sorted(os.listdir(self.project)), ["a", "b"])
        return turn

    def assert_told_once(self, turn, why):
        (notice,) = self.notices(turn)
        self.assertTrue(notice.startswith("This turn cannot be undone: "), notice)
        self.assertIn(why, notice)

    def test_it_is_missing(self):
        self.assert_told_once(self.try_with(None), "No such file or directory")

    def test_it_says_why(self):
        turn = self.try_with("#!/bin/sh\necho '{\"error\": \"the disk is full\"}'\nexit 1\n")
        self.assert_told_once(turn, "the disk is full")
        self.assertNotIn("before", self.phases(turn))

    def test_it_crashes(self):
        self.assert_told_once(self.try_with("#!/bin/sh\nkill -SEGV $$\n"), "checkpoint")

    def test_it_writes_nonsense(self):
        self.assert_told_once(self.try_with("#!/bin/sh\necho hello\n"), "not valid")

    def test_the_end_cannot_be_recorded(self):
        """The log says that it is not known what was changed."""
        turn = self.try_with(f"""#!/bin/sh
if [ -e a ] || [ -e "$(cat > /tmp/in.$$; sed 's/.*"folder":"\\([^"]*\\)".*/\\1/' /tmp/in.$$)/a" ]
then rm /tmp/in.$$; echo '{{"error": "lost"}}'; exit 1; fi
{PROGRAM} < /tmp/in.$$; rm /tmp/in.$$
""")
        self.assert_told_once(turn, "lost")
        self.assertEqual([s["after"] for s in self.segments(turn)], [[]])

    def test_it_hangs(self):
        """The call runs when the time is over, and it is not tried again."""
        started = time.monotonic()
        turn = self.try_with("#!/bin/sh\nexec sleep 1000\n")
        self.assertLess(time.monotonic() - started, 60)
        self.assert_told_once(turn, "took longer than")


class Limits(CheckpointTest):
    def test_more_files_than_undo_max_files(self):
        """Told once per session; what file_write changes is still covered."""
        for n in range(6):
            self.write(f"project/f{n}", "x")
        turn = self.ask([Answer(calls=[bash("echo 1 > a")]),
                         Answer(calls=[write("b"), bash("echo 2 > a")]), Answer("Done.")],
                        config={"undo_max_files": 5})
        (notice,) = self.notices(turn)
        self.assertIn("undo_max_files", notice)
        self.assertEqual(self.changes(turn), [{"b": "added"}])
        self.assertEqual(turn.text, "Done.")
        again = self.ask([Answer(calls=[write("f1", "y")]), Answer("Done.")], "-r",
                         self.session(turn), config={"undo_max_files": 5})
        self.assertEqual(self.changes(again), [{"b": "added"}, {"f1": "modified"}])

    def test_a_file_that_is_too_large(self):
        self.write("project/big", os.urandom(300000))
        turn = self.ask([Answer(calls=[bash("echo 1 > a; echo 2 >> big")]),
                         Answer(calls=[bash("echo 2 > a")]), Answer("Done.")],
                        config={"undo_max_bytes": 1000000})
        (notice,) = self.notices(turn)
        self.assertIn("big (", notice)
        self.assertIn("undo_max_bytes", notice)
        self.assertEqual([c["a"] for c in self.changes(turn)], ["added", "modified"])

    def test_a_folder_that_cannot_be_read(self):
        """Root may read any folder, so root runs this as another user."""
        self.write("project/closed/f", "1")
        os.chmod(self.path("project/closed"), 0)
        self.addCleanup(os.chmod, self.path("project/closed"), 0o755)

        def become_nobody():
            for where, folders, names in os.walk(self.dir):
                for name in (".", *folders, *names):
                    os.chown(os.path.join(where, name), NOBODY, NOBODY)
            as_user()()

        turn = self.ask([Answer(calls=[bash("echo 1 > a")]), Answer(calls=[bash("echo 2 > b")]),
                         Answer("Done.")], preexec_fn=become_nobody if os.geteuid() == 0 else None)
        self.assertEqual(self.notices(turn),
                         ["Changes of these files cannot be undone: closed/ (not readable)."])

    def test_more_contents_than_undo_max_bytes(self):
        for n in range(20):
            self.write(f"project/f{n}", os.urandom(20000))
        turn = self.ask([Answer(calls=[bash("echo 1 > f0")]),
                         Answer(calls=[write("b"), bash("echo 2 > f1")]), Answer("Done.")],
                        config={"undo_max_bytes": 200000, "undo_max_files": 50})
        self.assertEqual(sum("undo_max_bytes" in notice for notice in self.notices(turn)), 1)
        self.assertIn({"b": "added"}, self.changes(turn))

    def test_images_do_not_go_at_the_limit(self):
        """Old contents go, an old image of a session stays."""
        image = self.write("shot.png", png(comment=os.urandom(30000)))
        limit = {"undo_max_bytes": 100000}
        first = self.ask([Answer(calls=[bash("head -c 10000 /dev/urandom > a")]), Answer("Seen.")],
                         "--image", image, config=limit)
        (stored,) = first.messages("user")[0]["data"]["images"]
        blob = os.path.join(self.home, "blobs", "images", stored["sha256"][:2], stored["sha256"][2:])
        os.utime(blob, (1, 1))
        before = self.states()
        self.ask([*(Answer(calls=[bash("head -c 10000 /dev/urandom > a")]) for _ in range(12)),
                  Answer("Done.")], "-r", self.session(first), config=limit)
        self.assertTrue(before - self.states())  # there was no room for all of them
        with open(blob, "rb") as f:
            self.assertEqual(f.read(), self.read("shot.png"))


class Exports(OwnPrefix, CheckpointTest):
    def test_documents_end_with_what_the_session_changed(self):
        self.write("project/old", "a <b>\n")
        turn = self.ask([Answer(calls=[bash("echo '<c>' > old")]),
                         Answer(calls=[write("new", "```\n")]), Answer("Done.")])
        self.write("project/theirs", "x")
        key = self.session(turn)
        patch = self.ikigai("session", "diff", key).out
        self.assertIn("+<c>\n", patch)
        self.assertNotIn("theirs", patch)
        text = self.ikigai("session", "export", key, "--format", "md").out
        self.assertTrue(text.endswith(f"## Changes\n\n````diff\n{patch}````\n\n"), text[-300:])
        page = self.ikigai("session", "export", key, "--format", "html").out
        tail = page.partition("<h2>Changes</h2>")[2]
        self.assertIn('<span class="l add">+&lt;c&gt;\n</span>', tail)
        self.assertIn('<span class="l del">-a &lt;b&gt;\n</span>', tail)
        self.assertNotIn("Changes", self.ikigai("session", "export", key).out)

    def test_nothing_was_changed(self):
        turn = self.ask([Answer(calls=[bash("true")]), Answer("Done.")])
        for form in "md", "html":
            done = self.ikigai("session", "export", self.session(turn), "--format", form)
            self.assertNotIn("Changes</h2>", done.out)
            self.assertNotIn("## Changes", done.out)
            self.assertEqual(done.err, "")

    def test_the_contents_are_gone(self):
        turn = self.ask([Answer(calls=[bash("echo 1 > a")]), Answer("Done.")])
        shutil.rmtree(os.path.join(self.home, "blobs"))
        done = self.ikigai("session", "export", self.session(turn), "--format", "md")
        self.assertIn("Done.", done.out)
        self.assertNotIn("## Changes", done.out)

    def test_the_program_fails(self):
        turn = self.ask([Answer(calls=[bash("echo 1 > a")]), Answer("Done.")])
        done = self.ikigai("session", "export", self.session(turn), "--format", "md",
                           program=self.prefix("#!/bin/sh\nexit 3\n"))
        self.assertIn("Done.", done.out)
        self.assertNotIn("## Changes", done.out)
        self.assertIn("The export does not show what the session changed", done.err)


class Sweeping(CheckpointTest):
    def told(self, turn):
        return {state for kind, data, _ in self.export(self.session(turn)) if kind == "checkpoint"
                for state in data["states"]}

    def begun(self):
        """Two sessions with states of their own."""
        turns = []
        for n in range(2):
            turns.append(self.ask([Answer(calls=[bash(f"echo {n} > a{n}")]), Answer("Done.")]))
        first, second = (self.told(turn) for turn in turns)
        return turns, first, second

    def test_delete_removes_what_no_session_needs(self):
        turns, _, second = self.begun()
        before = self.states()
        self.ikigai("session", "delete", self.session(turns[0]), "--yes")
        self.assertLess(len(self.states()), len(before))
        self.assertEqual(self.changes(turns[1]), [{"a1": "added"}])
        self.ikigai("session", "delete", self.session(turns[1]), "--yes", "--json")
        self.assertFalse({state for state in self.states() if state in second})

    def test_prune_removes_what_no_session_needs(self):
        turns, first, second = self.begun()
        self.ikigai("session", "prune", "--older-than", "1d", "--yes")
        self.assertEqual(self.changes(turns[0]), [{"a0": "added"}])
        with sqlite3.connect(os.path.join(self.home, "ikigai.db")) as db:
            db.execute("UPDATE sessions SET updated_at = 1")
        self.ikigai("session", "prune", "--older-than", "1d", "--dry-run")
        self.assertLessEqual(first | second, self.states())
        self.ikigai("session", "prune", "--older-than", "1d", "--yes")
        self.assertFalse(self.states() & (first | second))

    def test_images_that_are_old_and_in_no_session(self):
        pixel = os.path.join(self.project, "pixel.png")
        with open(pixel, "wb") as f:
            f.write(bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000"
                                  "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
                                  "0000000049454e44ae426082"))
        turn = self.ask([Answer("Seen.")], "--image", pixel)
        images = os.path.join(self.home, "blobs", "images")
        (kept,) = [os.path.join(d, n) for d, _, names in os.walk(images) for n in names]
        lost = os.path.join(images, "ab", "0" * 62)
        young = os.path.join(images, "cd", "0" * 62)
        for path in (lost, young):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(kept, path)
        for path in (lost, kept):
            os.utime(path, (1, 1))
        other = self.ask([Answer("Hi.")])
        self.ikigai("session", "delete", self.session(other), "--yes")
        self.assertEqual([os.path.exists(path) for path in (kept, lost, young)], [True, False, True])
        self.ikigai("session", "delete", self.session(turn), "--yes")
        self.assertFalse(os.path.exists(kept))

    def test_what_sessions_of_another_database_need_is_kept(self):
        other = self.path("other.db")
        self.ask([Answer(calls=[bash("echo 1 > a")]), Answer("Done.")], "--db", other)
        needed = self.states()
        usual = self.ask([Answer("Hi.")])
        self.ikigai("session", "delete", self.session(usual), "--yes")
        self.assertEqual(self.states(), needed)
        os.remove(other)
        usual = self.ask([Answer("Hi.")])
        self.ikigai("session", "delete", self.session(usual), "--yes")
        self.assertEqual(self.states(), set())

    def test_another_database_says_nothing_about_the_usual_one(self):
        turn = self.ask([Answer(calls=[bash("echo 1 > a")]), Answer("Done.")])
        before = self.states()
        other = self.path("other.db")
        done = self.ask([Answer("Hi.")], "--db", other)
        self.ikigai("session", "delete", self.session(done), "--yes", "--db", other)
        self.assertEqual(self.states(), before)
        self.assertEqual(self.changes(turn), [{"a": "added"}])


class Terminal(OwnPrefix, Log, ReplTest):
    """What only happens with a user at the terminal."""

    def setUp(self):
        super().setUp()
        self.addCleanup(hostile.kill_all, self.dir)

    def key(self):
        """The id of the only session."""
        out = subprocess.run([IKIGAI, "session", "list", "--json"], check=True,
                             env=clean_env(IKIGAI_HOME=self.home), stdout=subprocess.PIPE).stdout
        (session,) = json.loads(out)
        return session["id"]

    def wait_for_phases(self, wanted, agent=1):
        found = hostile.wait_until(lambda: [p for p in self.phases(self.key(), agent)
                                            if p in ("before", "after")] == wanted, PATIENCE)
        self.assertTrue(found, self.phases(self.key(), agent))

    def edit(self, name, text="x"):
        with open(os.path.join(self.project, name), "w") as f:
            f.write(text)

    def test_what_is_edited_while_a_question_is_open(self):
        """Before the first call and between two calls of a step."""
        t = self.ready([Answer(calls=[bash("echo 1 > a"), bash("echo 2 > b")]), Answer("Done.")],
                       "--mode", "ask")
        t.send("go\r")
        t.wait_for("Allow bash")
        time.sleep(1.2)  # the state from the beginning of the answer is too old
        self.edit("theirs-1")
        t.send("y")
        t.wait_for(re.compile("echo 2 > b.*Allow bash|Allow bash.*echo 2 > b", re.S))
        self.wait_for_phases(["before", "after"])
        self.edit("theirs-2")
        t.send("y")
        t.wait_for("Done.")
        self.assertEqual(self.leave(t), 0)
        self.assertEqual(self.changes(self.key()), [{"a": "added"}, {"b": "added"}])

    def test_a_command_of_the_user(self):
        t = self.ready([Answer(calls=[bash("echo 1 > a")]), Answer("Done."),
                        Answer(calls=[bash("echo 2 > b")]), Answer("Over.")])
        self.say(t, "go", "Done.")
        self.settle(t)
        self.say(t, "!echo mine > mine; echo ran", "ran")
        self.say(t, "again", "Over.")
        self.assertEqual(self.leave(t), 0)
        self.assertEqual(self.changes(self.key()), [{"a": "added"}, {"b": "added"}])

    def test_two_agents_in_one_folder(self):
        """Each has segments of its own, and a fork begins with those of its parent."""
        answers = {"go": [Answer(calls=[bash("echo 1 > a")]), Answer("Done.")],
                   "left": [Answer(calls=[bash("echo 2 > b")]), Answer("Left.")],
                   "right": [Answer(calls=[bash("echo 3 > c")]), Answer("Right.")]}

        def model(request):
            words = [m["content"] for m in request.json["messages"] if m["role"] == "user"][-1]
            return answers[words].pop(0)
        t = self.ready(model, columns=100)
        self.say(t, "go", "Done.")
        self.settle(t)
        self.say(t, "/fork left", "Left.")
        self.settle(t)
        t.send("/switch 1\r")
        t.wait_until(lambda: "agent 1" in self.status(t), "agent 1")
        self.say(t, "right", "Right.")
        self.settle(t)
        self.assertEqual(self.leave(t), 0)
        key = self.key()
        self.assertEqual(self.changes(key), [{"a": "added"}, {"c": "added"}])
        self.assertEqual(self.changes(key, 2), [{"b": "added"}])

    def test_a_fork_while_a_call_runs(self):
        """It begins before the step: the open segment is not its own."""
        answers = {"go": [Answer(calls=[bash("echo 1 > a; until [ -e b ]; do sleep 0.05; done")]),
                          Answer("Done.")],
                   "left": [Answer("Left.")]}

        def model(request):
            words = [m["content"] for m in request.json["messages"] if m["role"] == "user"][-1]
            return answers[words].pop(0)
        t = self.ready(model, columns=100)
        t.send("go\r")
        self.assertTrue(hostile.wait_until(
            lambda: os.path.exists(os.path.join(self.project, "a")), PATIENCE))
        self.say(t, "/fork left", "Left.")
        self.edit("b")
        self.wait_for_phases(["before", "after"])
        self.assertEqual(self.leave(t), 0)
        self.assertNotIn("before", self.phases(self.key(), 2))

    def test_a_killed_agent_records_the_end(self):
        t = self.ready([Answer("Hi."), Answer(calls=[bash("echo 1 > a; sleep 100")])], columns=100)
        self.say(t, "hello", "Hi.")
        self.settle(t)
        self.enter(t, "/fork go", "── agent 2 ──")
        self.assertTrue(hostile.wait_until(
            lambda: os.path.exists(os.path.join(self.project, "a")), PATIENCE))
        self.enter(t, "/kill 2", "Agent 2 was ended.")
        self.wait_for_phases(["before", "after"], 2)
        self.assertEqual(self.leave(t), 0)
        self.assertEqual(self.changes(self.key(), 2), [{"a": "added"}])
        self.assertEqual(self.phases(self.key(), 2)[-2:], ["after", "end"])

    def test_the_command_export(self):
        t = self.ready([Answer(calls=[bash("echo 1 > a")]), Answer("Done.")])
        self.say(t, "go", "Done.")
        self.settle(t)
        self.enter(t, "/export out.md", "Exported to ")
        with open(os.path.join(self.project, "out.md")) as f:
            self.assertRegex(f.read(), r"(?s)Done\..*## Changes\n\n```diff\n.*\+1\n```\n\n$")
        self.assertEqual(self.leave(t), 0)

    def test_the_status_line_tells_and_typing_goes_on(self):
        """The program waits until the test lets it go on."""
        program = self.prefix(f"""#!/bin/sh
until [ -e {self.project}/../go-on ]; do sleep 0.05; done
exec {PROGRAM}
""")
        self.serve([Answer(calls=[bash("echo 1 > a")]), Answer("Done.")])
        t = self.terminal([program], columns=80, rows=24, cwd=self.project,
                          env=clean_env(IKIGAI_HOME=self.home, TERM="xterm-256color"))
        t.wait_for(re.compile("^>( |$)", re.M))
        t.send("go\r")
        t.wait_until(lambda: "checkpoint…" in self.status(t), "checkpoint…")
        t.send("I can type")
        t.wait_for("> I can type")
        self.assertFalse(os.path.exists(os.path.join(self.project, "a")))
        with open(os.path.join(self.dir, "go-on"), "w"):
            pass
        t.wait_for("Done.")
        t.wait_until(lambda: "checkpoint…" not in self.status(t), "no checkpoint…")
        t.send("\x15")
        self.assertEqual(self.leave(t), 0)


per_format(type("Formats", (), {
    "test_the_name_of_a_call_begins_the_checkpoint": Segments.test_around_a_call_that_writes}),
    globals(), "responses", "anthropic", "google", base=CheckpointTest)
