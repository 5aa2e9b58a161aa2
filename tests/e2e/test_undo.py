"""`ikigai session diff|undo|redo`: turns taken back and brought back from the command line."""
import base64
import json
import os
import resource
import shutil
import signal
import subprocess

import hostile
import postgres
from agent_support import FORMATS, AgentTest
from fake_llm import Answer, Call, Usage, Wire

POSTGRES = True


def write(path, content):
    return Call("file_write", {"file_path": path, "content": content})


def bash(command):
    return Call("bash", {"command": command})


class UndoTest(AgentTest):
    """Turns of `ikigai -p` against one server that takes any number of them."""

    def setUp(self):
        super().setUp()
        self.key = None  # of the session
        self.llm = None

    def turn(self, prompt, *calls, steps=None, then="Done.", args=(), **more):
        """A turn of the session: one step with these calls (or these steps), then an answer."""
        steps = steps or ([list(calls)] if calls else [])
        if self.llm is None:
            self.llm = self.serve([])
        self.llm.script += [*(Answer(calls=step) for step in steps), Answer(then)]
        resume = ["-r", self.key] if self.key else []
        env = {**self.connect(self.llm), **more.pop("env", {})}
        first = len(self.llm.requests)
        done = self.ikigai(*self.command(prompt, "--json", *resume, *args), env=env, **more)
        self.assertEqual(self.llm.problems, [])
        self.key = json.loads(done.out.splitlines()[0])["id"]
        return self.llm.requests[first:]

    def session(self, command, *args, **more):
        return self.ikigai("session", command, self.key, *args, **more)

    def json(self, command, *args, **more):
        return self.session(command, "--json", *args, **more).json()

    def undo(self, *args, **more):
        return self.json("undo", *args, **more)

    def redo(self, *args, **more):
        return self.json("redo", *args, **more)

    def put(self, name, content):
        return self.write(os.path.join("project", name), content)

    def files(self):
        """All files of the project but those of git."""
        found = {}
        for where, folders, names in os.walk(self.project):
            folders[:] = [f for f in folders if f != ".git"]
            for name in names:
                path = os.path.join(where, name)
                with open(path, "rb") as f:
                    found[os.path.relpath(path, self.project)] = f.read().decode()
        return found

    def agents(self):
        return self.json("show")["agents"]


FULL = Usage(input=900, output=10)  # of a window of 1,000 tokens
SOME = Usage(input=200, output=10)


class AcrossSummaries(UndoTest):
    """A summary belongs to the turn in which it was made: undo takes it back with the turn, and redo
    brings it back."""
    summary = "[Summary of the conversation so far"

    def setUp(self):
        super().setUp()
        self.write("home/.ikigai/models.json", json.dumps(
            {"models": {FORMATS["chat"].target: {"limits": {"context": 1000}}}}))

    def step(self, number, usage=SOME, first=(), **more):
        """A turn that writes its number; what comes first is answered before its call."""
        if self.llm is None:
            self.llm = self.serve([])
        self.llm.script += first
        self.llm.script += [Answer(calls=[write("a.txt", f"{number}\n")], usage=SOME),
                            Answer(f"Wrote {number}. " + "x " * 400, usage=usage)]
        return self.ask(f"Turn {number}", **more)

    def ask(self, prompt, **more):
        env = {**self.connect(self.llm), **more}
        resume = ["-r", self.key] if self.key else []
        earlier = len(self.llm.requests)
        done = self.ikigai(*self.command(prompt, "--json", *resume), env=env)
        self.assertEqual((self.llm.problems, self.llm.script), ([], []), done.out)
        self.key = json.loads(done.out.splitlines()[0])["id"]
        return self.llm.requests[earlier:]

    def say(self, prompt, *answers, **more):
        self.llm.script += answers or [Answer("Yes.", usage=SOME)]
        return self.ask(prompt, **more)

    def check(self, *args, **env):
        """Turns 1 to 4; the third one begins with a summary."""
        first = lambda request: request.json["messages"]
        has_summary = lambda request: self.summary in json.dumps(first(request))
        self.step(1, **env)
        self.step(2, FULL, **env)
        asked, third, _ = self.step(3, SOME, [Answer("They wrote 1 and 2.", usage=FULL)], **env)
        (fourth, _) = self.step(4, **env)
        self.assertEqual([has_summary(r) for r in (asked, third, fourth)], [False, True, True])

        # after the summary: it stays, and the prefix of the cache with it
        self.assertEqual(self.undo(*args)["prompt"], "Turn 4")
        self.assertEqual(self.files(), {"a.txt": "3\n"})
        (again,) = self.say("Turn 4, again", **env)
        self.assertEqual(first(again)[:-1], first(fourth)[:-1])
        self.undo(*args)

        # to before it: the request is the one that asked for the summary, without its prompt
        self.assertEqual(self.undo(*args)["prompt"], "Turn 3")
        self.assertEqual(self.files(), {"a.txt": "2\n"})
        asked_again, sent = self.say("Turn 3", Answer("They wrote 1 and 2.", usage=FULL),
                                     Answer("Yes.", usage=SOME), **env)
        self.assertEqual(asked_again.body, asked.body)
        self.assertEqual(sent.body, third.body)
        self.undo(*args)
        self.assertEqual(self.undo(*args)["prompt"], "Turn 2")
        self.assertEqual(self.files(), {"a.txt": "1\n"})
        (sent,) = self.say("Small", **env)
        self.assertNotIn(self.summary, json.dumps(first(sent)))
        self.undo(*args)
        return third

    def test_local_history(self):
        third = self.check()
        self.step(2, FULL)
        self.step(3, SOME, [Answer("They wrote 1 and 2.", usage=FULL)])
        before = self.json("show")["messages"]
        taken = self.undo("2")
        self.assertEqual((taken["turns"], taken["prompt"]), (2, "Turn 2"))
        self.assertEqual(self.files(), {"a.txt": "1\n"})
        self.assertEqual(self.redo()["prompt"], "Turn 2")
        self.assertEqual(self.files(), {"a.txt": "3\n"})
        (sent,) = self.say("On", Answer("Yes.", usage=SOME))
        prefix = third.json["messages"]
        self.assertEqual(sent.json["messages"][:len(prefix)], prefix)
        logged = self.json("show")["messages"]
        self.assertEqual([m for m in logged if m in before], before)  # the log loses nothing

    def test_shared_history(self):
        server = postgres.Server()
        self.addCleanup(server.close)
        server.__enter__()
        url = server.create_database("summaries")
        self.check("--db", url, IKIGAI_DB=url)
        os.rename(self.home + "/ikigai.db", self.path("lost.db"))
        (sent,) = self.say("Elsewhere", IKIGAI_DB=url)
        texts = [m["content"] for m in sent.json["messages"] if m["role"] == "user"]
        self.assertEqual(texts, ["Turn 1", "Elsewhere"])
        listed = self.ikigai("session", "list", "--json", "--db", url).json()
        shown = self.json("show", "--db", url)["messages"]
        kept = [m for m in shown if m["kind"] not in ("checkpoint", "undo", "redo")]
        self.assertEqual([s["messages"] for s in listed], [len(kept)])


class Hooks(UndoTest):
    def test_what_hooks_do_after_a_call_belongs_to_the_turn(self):
        """Also in a turn whose calls name their files, of which only these are recorded otherwise."""
        self.write("home/.ikigai/hooks/after_tool/format",
                   "#!/bin/sh\necho formatted >> a.txt\necho x >> list.txt\n", 0o755)
        self.put("a.txt", "0\n")
        self.turn("First", bash("true"))
        self.turn("Second", write("a.txt", "1\n"))
        self.assertEqual(self.files(), {"a.txt": "1\nformatted\n", "list.txt": "x\nx\n"})
        self.assertEqual(self.undo()["restored"], [{"path": "a.txt"}, {"path": "list.txt"}])
        self.assertEqual(self.files(), {"a.txt": "0\nformatted\n", "list.txt": "x\n"})


class CustomCommands(UndoTest):
    """What a custom command runs to make its message belongs to the turn of the message."""

    def command_file(self, name, text):
        self.write(f"home/.ikigai/commands/{name}.md", text, 0o644)

    def phases(self):
        """Of the checkpoints in the log."""
        lines = map(json.loads, self.session("export").out.splitlines())
        return [line["data"]["phase"] for line in lines if line.get("kind") == "checkpoint"]

    def test_undo_and_redo(self):
        self.command_file("make", "Made !`echo 1 > b.txt; echo one` and !`echo 2 > c.txt; echo two`.")
        self.turn("First", write("a.txt", "1\n"))
        self.turn("/make", write("a.txt", "2\n"))
        self.assertEqual(self.files(), {"a.txt": "2\n", "b.txt": "1\n", "c.txt": "2\n"})
        stat = self.json("diff", "--turn")
        self.assertEqual([f["path"] for f in stat["files"]], ["a.txt", "b.txt", "c.txt"])
        self.assertEqual(self.undo(), {
            "session": self.key, "turns": 1, "prompt": "Made one and two.", "conflicts": [],
            "restored": [{"path": "a.txt"}, {"path": "b.txt"}, {"path": "c.txt"}]})
        self.assertEqual(self.files(), {"a.txt": "1\n"})
        self.redo()
        self.assertEqual(self.files(), {"a.txt": "2\n", "b.txt": "1\n", "c.txt": "2\n"})
        self.undo("2")
        self.assertEqual(self.files(), {})

    def test_the_first_message_of_a_session(self):
        self.command_file("make", "Made !`echo 1 > b.txt`.")
        self.turn("/make")
        self.assertEqual(self.undo()["restored"], [{"path": "b.txt"}])
        texts = [m["content"] for m in self.turn("Then")[0].json["messages"] if m["role"] == "user"]
        self.assertEqual(texts, ["Then"])

    def test_what_only_reads_is_not_recorded(self):
        self.command_file("look", "Look: !`ls`")
        self.turn("/look", args=("--mode", "plan"))
        self.assertEqual(self.phases(), [])

    def test_interrupted(self):
        """No message comes of it: what it did goes with the turn before, until another one follows."""
        self.command_file("slow", "!`echo 1 > b.txt; sleep 60`")
        self.turn("First", write("a.txt", "1\n"))
        running = self.begin([], "-r", self.key, prompt="/slow")
        self.wait_for_file("b.txt")
        running.signal()
        running.finish()
        self.assertEqual(self.phases(), ["before", "after"] * 2)
        self.write("project/b.txt", "mine\n")
        self.assertEqual(self.undo(status=1)["conflicts"], [{"path": "b.txt", "reason": "changed"}])
        self.assertEqual(self.files(), {"b.txt": "mine\n"})

    def test_killed(self):
        """The next process that opens the session records what the command had done."""
        self.command_file("slow", "!`echo 1 > b.txt; sleep 60`")
        self.turn("First", write("a.txt", "1\n"))
        running = self.begin([], "-r", self.key, prompt="/slow")
        self.wait_for_file("b.txt")
        running.signal(signal.SIGKILL)
        running.finish()
        self.turn("Second")
        self.write("project/b.txt", "mine\n")
        self.assertEqual(self.undo(status=1)["conflicts"], [{"path": "b.txt", "reason": "changed"}])


class Undo(UndoTest):
    def test_files_and_conversation_go_back(self):
        self.put("a.txt", "one\n")
        self.turn("First", write("a.txt", "two\n"), bash("mkdir new; echo b > new/b.txt"))
        self.turn("Second", bash("echo three > a.txt; rm new/b.txt; echo c > c.txt"))
        self.assertEqual(self.files(), {"a.txt": "three\n", "c.txt": "c\n"})
        self.assertEqual(self.undo(), {
            "session": self.key, "turns": 1, "prompt": "Second", "conflicts": [],
            "restored": [{"path": "a.txt"}, {"path": "c.txt"}, {"path": "new/b.txt"}]})
        self.assertEqual(self.files(), {"a.txt": "two\n", "new/b.txt": "b\n"})
        self.assertEqual(self.undo()["prompt"], "First")
        self.assertEqual(self.files(), {"a.txt": "one\n"})
        self.assertFalse(os.path.exists(os.path.join(self.project, "new")))
        done = self.session("undo", "--json", status=1)
        self.assertEqual(done.out, "")
        self.assertIn("nothing to undo", done.err)

    def test_several_turns_at_once(self):
        self.turn("First", write("a.txt", "1\n"))
        self.turn("Second", write("a.txt", "2\n"))
        self.turn("Third", write("a.txt", "3\n"), write("b.txt", "3\n"))
        self.session("undo", "4", status=1)
        self.assertEqual(self.files(), {"a.txt": "3\n", "b.txt": "3\n"})
        taken = self.undo("2")
        self.assertEqual((taken["turns"], taken["prompt"]), (2, "Second"))
        self.assertEqual(self.files(), {"a.txt": "1\n"})

    def test_the_session_goes_on_with_another_agent(self):
        self.turn("First", write("a.txt", "1\n"))
        self.turn("Second", write("a.txt", "2\n"))
        before = self.json("show")
        self.undo()
        (root, fork) = self.agents()
        asked = [m["seq"] for m in before["messages"] if m["content"] == "Second"]
        self.assertEqual((fork["parent"], fork["forked_at"]), (root["number"], asked[0] - 1))
        self.assertIn("--- agent 1, undone ---", self.session("show").out)
        after = [m for m in self.json("show")["messages"] if m["agent"] == 1]
        self.assertEqual(after, before["messages"])  # the log loses nothing
        requests = self.turn("Third")
        texts = [m["content"] for m in requests[0].json["messages"] if m["role"] == "user"]
        self.assertEqual(texts, ["First", "Third"])
        last = self.json("show")["messages"][-1]
        self.assertEqual(last["agent"], 2)

    def test_the_next_request_begins_with_the_same_bytes(self):
        """As if the question had not been asked."""
        for form in ("chat", "anthropic", "responses", "google"):
            with self.subTest(form):
                self.format, self.key, self.llm = form, None, None
                self.put("a.txt", "1\n")
                self.turn("First", write("a.txt", "1\n"))
                wanted = self.turn("Second", write("a.txt", "2\n"))[0].body
                self.undo()
                self.assertEqual(self.turn("Second")[0].body, wanted)

    def test_a_turn_without_files_takes_back_the_conversation(self):
        self.turn("First")
        self.turn("Second", Call("file_read", {"file_path": "nothing"}))
        self.assertEqual(self.undo(), {"session": self.key, "turns": 1, "prompt": "Second",
                                       "restored": [], "conflicts": []})
        self.undo()
        texts = [m["content"] for m in self.turn("Again")[0].json["messages"]
                 if m["role"] == "user"]
        self.assertEqual(texts, ["Again"])

    def test_dry_run_changes_nothing(self):
        self.turn("First", write("a.txt", "1\n"))
        shown = self.json("show")
        taken = self.undo("--dry-run")
        self.assertEqual((taken["turns"], taken["restored"]), (1, [{"path": "a.txt"}]))
        self.assertEqual(self.files(), {"a.txt": "1\n"})
        self.assertEqual(self.json("show"), shown)
        self.session("redo", status=1)

    def test_conflicts_are_left_and_forced(self):
        self.put("a.txt", "0\n")
        self.turn("First", write("a.txt", "1\n"), write("b.txt", "1\n"))
        self.turn("Second", write("a.txt", "2\n"), write("b.txt", "2\n"))
        self.put("a.txt", "mine\n")
        conflict = [{"path": "a.txt", "reason": "changed"}]
        taken = self.undo(status=1)
        self.assertEqual((taken["restored"], taken["conflicts"]), ([{"path": "b.txt"}], conflict))
        self.assertEqual(self.files(), {"a.txt": "mine\n", "b.txt": "1\n"})
        forced = self.undo("--force")  # and no turn further
        self.assertEqual(forced, {"session": self.key, "turns": 1, "prompt": "Second",
                                  "restored": [{"path": "a.txt"}], "conflicts": []})
        self.assertEqual(self.files(), {"a.txt": "1\n", "b.txt": "1\n"})
        # Redo brings back the user's bytes, which the force has overwritten.
        self.assertEqual(self.redo()["restored"], [{"path": "a.txt"}, {"path": "b.txt"}])
        self.assertEqual(self.files(), {"a.txt": "mine\n", "b.txt": "2\n"})

    def test_files_that_cannot_be_written(self):
        """The contents are there, and restored as soon as there is room."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
        large = "x" * (3 << 20)
        for as_json in (True, False):
            with self.subTest(json=as_json):
                self.put("large", large)
                self.turn("Write", bash("echo > large; echo > other"))
                if as_json:
                    done = self.undo(status=1, preexec_fn=limit)
                    self.assertEqual(done["conflicts"], [{"path": "large", "reason": "unavailable",
                                                          "error": "File too large"}])
                else:
                    done = self.session("undo", status=1, preexec_fn=limit)
                    self.assertIn("Could not be written: 1 file\n  large: File too large\n", done.out)
                    self.assertIn("--force", done.out)
                self.assertEqual(self.files(), {"large": "\n"})
                self.assertEqual(self.undo("--force")["restored"], [{"path": "large"}])
                self.assertEqual(self.files(), {"large": large})

    def test_a_read_only_file_that_cannot_be_written(self):
        """It is made writable only in order to be restored."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
        large = "x" * (3 << 20)
        self.put("large", large)
        mode = os.stat(self.path("project/large")).st_mode
        self.turn("Write", bash("echo > large; chmod 444 large"))
        self.undo(status=1, preexec_fn=limit)
        self.assertEqual(os.stat(self.path("project/large")).st_mode & 0o777, 0o444)
        self.assertEqual(self.undo("--force")["restored"], [{"path": "large"}])
        self.assertEqual(self.files(), {"large": large})
        self.assertEqual(os.stat(self.path("project/large")).st_mode, mode)

    def test_a_redo_that_cannot_write_can_be_repeated(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
        large = "x" * (3 << 20)
        self.turn("Write", bash("head -c 3145728 /dev/zero | tr '\\0' x > large; echo > other"))
        self.undo()
        agents = self.agents()
        done = self.redo(status=1, preexec_fn=limit)
        self.assertEqual((done["restored"], done["conflicts"]),
                         ([{"path": "other"}], [{"path": "large", "reason": "unavailable",
                                                 "error": "File too large"}]))
        self.assertEqual(self.agents(), agents)
        self.assertEqual(self.redo()["restored"], [{"path": "large"}])
        self.assertEqual(self.files(), {"large": large, "other": "\n"})

    def test_names_finish_an_undo(self):
        self.turn("First", write("a.txt", "1\n"), write("b.txt", "1\n"))
        self.turn("Second", write("a.txt", "2\n"), write("b.txt", "2\n"))
        self.put("a.txt", "mine\n")
        self.put("b.txt", "mine\n")
        self.assertEqual(len(self.undo(status=1)["conflicts"]), 2)
        named = self.undo("a.txt", status=1)
        self.assertEqual((named["restored"], named["conflicts"]),
                         ([{"path": "a.txt"}], [{"path": "b.txt", "reason": "changed"}]))
        self.assertEqual(self.files(), {"a.txt": "1\n", "b.txt": "mine\n"})
        self.assertEqual(self.undo("b.txt")["conflicts"], [])
        self.assertEqual(self.files(), {"a.txt": "1\n", "b.txt": "1\n"})
        self.assertEqual(self.undo()["prompt"], "First")  # nothing is left to finish

    def test_a_conflict_can_be_named_when_the_turn_left_the_file_as_it_was(self):
        self.put("a.txt", "0\n")
        self.turn("First", steps=[[bash("echo 1 > a.txt")], [bash("echo 0 > a.txt; echo b > b")]])
        self.put("a.txt", "mine\n")
        self.assertEqual(self.undo(status=1)["conflicts"], [{"path": "a.txt", "reason": "changed"}])
        self.assertEqual(self.undo("a.txt")["restored"], [{"path": "a.txt"}])
        self.assertEqual(self.files(), {"a.txt": "0\n"})

    def test_plain_undo_after_conflicts_goes_a_turn_further(self):
        self.turn("First", write("a.txt", "1\n"), write("b.txt", "1\n"))
        self.turn("Second", write("b.txt", "2\n"))
        self.put("b.txt", "mine\n")
        self.undo(status=1)
        taken = self.undo(status=1)
        self.assertEqual((taken["prompt"], taken["restored"]), ("First", [{"path": "a.txt"}]))
        self.assertEqual(self.files(), {"b.txt": "mine\n"})

    def test_force_at_once(self):
        self.put("a.txt", "0\n")
        self.turn("First", write("a.txt", "1\n"))
        self.put("a.txt", "mine\n")
        self.assertEqual(self.undo("--force")["conflicts"], [])
        self.assertEqual(self.files(), {"a.txt": "0\n"})

    def test_names_restrict_an_undo_and_leave_the_conversation(self):
        self.put("3", "0\n")
        self.turn("First", write("3", "1\n"), write("c.txt", "1\n"),
                  bash("mkdir sub; echo 1 > sub/b.txt"))
        self.put("3", "mine\n")
        self.assertEqual(self.undo("./3")["restored"], [{"path": "3"}])
        self.assertEqual(self.files()["3"], "0\n")
        self.assertEqual(len(self.agents()), 1)
        self.undo("sub")  # a folder stands for the files in it
        self.assertEqual(self.files(), {"3": "0\n", "c.txt": "1\n"})
        self.assertEqual(self.redo()["restored"], [{"path": "sub/b.txt"}])
        self.assertEqual(self.redo()["restored"], [{"path": "3"}])
        self.assertEqual(self.files(), {"3": "mine\n", "sub/b.txt": "1\n", "c.txt": "1\n"})
        self.session("redo", status=1)
        texts = [m["content"] for m in self.turn("Next")[0].json["messages"] if m["role"] == "user"]
        self.assertEqual(texts, ["First", "Next"])

    def test_names_with_a_number(self):
        self.put("a.txt", "0\n")
        self.turn("First", write("a.txt", "1\n"), write("b.txt", "1\n"))
        self.turn("Second", write("a.txt", "2\n"))
        self.undo("2", "a.txt")
        self.assertEqual(self.files(), {"a.txt": "0\n", "b.txt": "1\n"})

    def test_a_name_that_was_not_changed(self):
        self.put("mine.txt", "0\n")
        self.turn("First", write("a.txt", "1\n"))
        done = self.session("undo", "mine.txt", status=1)
        self.assertIn("mine.txt", done.err)
        self.assertEqual(self.files(), {"a.txt": "1\n", "mine.txt": "0\n"})

    def test_names_relative_to_the_working_folder(self):
        self.put("sub/kept", "")
        self.turn("First", write("sub/a.txt", "1\n"), write("b.txt", "1\n"))
        self.session("undo", "a.txt", cwd=os.path.join(self.project, "sub"))
        self.assertEqual(self.files(), {"b.txt": "1\n", "sub/kept": ""})

    def test_files_outside_the_folder_are_absolute(self):
        outside = self.write("outside.txt", "0\n")
        self.turn("First", write(outside, "1\n"), args=["--mode", "full"])
        self.assertEqual(self.read("outside.txt"), b"1\n")
        self.assertEqual(self.undo()["restored"], [{"path": outside}])
        self.assertEqual(self.read("outside.txt"), b"0\n")

    def test_names_that_are_not_utf_8(self):
        self.turn("First", bash("echo 1 > $(printf 'a\\377b')"))
        name = {"path_base64": base64.b64encode(b"a\xffb").decode()}
        self.assertEqual(self.json("diff")["files"], [
            {**name, "status": "added", "added": 1, "removed": 0, "binary": False}])
        with open(os.path.join(self.project.encode(), b"a\xffb"), "w") as f:
            f.write("mine\n")
        self.assertEqual(self.undo(status=1)["conflicts"], [{**name, "reason": "changed"}])
        self.assertEqual(self.undo(b"a\xffb")["restored"], [name])
        self.assertEqual(os.listdir(self.project), [])

    def test_a_folder_whose_path_is_not_utf_8(self):
        folder = os.path.join(os.fsencode(self.project), b"a\xffb")
        os.mkdir(folder)
        self.turn("First", bash("echo 1 > a; mkdir new; echo 1 > new/c"), write("b", "1\n"), cwd=folder)
        self.assertEqual([f["path"] for f in self.json("diff")["files"]], ["a", "b", "new/c"])
        with open(os.path.join(folder, b"a"), "w") as f:
            f.write("mine\n")
        undone = self.undo(status=1)
        self.assertEqual(undone["restored"], [{"path": "b"}, {"path": "new/c"}])
        self.assertEqual(undone["conflicts"], [{"path": "a", "reason": "changed"}])
        self.assertEqual(os.listdir(folder), [b"a"])
        self.undo("a", cwd=folder)
        self.assertEqual(os.listdir(folder), [])
        self.redo()
        self.assertEqual(sorted(os.listdir(folder)), [b"a", b"b", b"new"])

    def test_what_is_edited_while_the_model_talks_is_not_the_turns(self):
        self.put("a.txt", "0\n")

        def answer(request):
            if request.number == 1:
                return Answer(calls=[write("b.txt", "1\n")])
            self.put("a.txt", "mine\n")
            return Answer("Done.")
        llm = self.serve(answer)
        done = self.ikigai(*self.command("First", "--json"), env=self.connect(llm))
        self.key = json.loads(done.out.splitlines()[0])["id"]
        self.assertEqual(self.undo()["restored"], [{"path": "b.txt"}])
        self.assertEqual(self.files(), {"a.txt": "mine\n"})

    def test_edits_between_the_turns_are_conflicts(self):
        self.put("a.txt", "0\n")
        self.turn("First", write("a.txt", "1\n"))
        self.put("a.txt", "mine\n")
        self.turn("Second", bash("echo 2 >> a.txt"))
        self.assertEqual(self.undo("2", status=1)["conflicts"],
                         [{"path": "a.txt", "reason": "changed"}])
        self.assertEqual(self.files(), {"a.txt": "mine\n2\n"})

    def crash(self):
        """Kills the program in a call of the second turn; then the user edits a file."""
        self.put("a.txt", "0\n")
        self.put("mine.txt", "0\n")
        self.turn("First", write("a.txt", "1\n"))
        running = self.begin([Answer(calls=[bash("echo 2 > a.txt; touch started; sleep 60")])],
                             "-r", self.key, prompt="Second")
        self.wait_for_file("started")
        running.signal(signal.SIGKILL)
        running.finish()
        self.put("mine.txt", "mine\n")

    def check_after_a_crash(self):
        """It is not known when the call ended, so no change is taken for its work."""
        self.assertEqual([f["path"] for f in self.json("diff")["files"]], ["a.txt"])
        self.assertIn("+1\n", self.session("diff").out)
        found = self.files()
        conflicts = [{"path": path, "reason": "changed"}
                     for path in ("a.txt", "mine.txt", "started")]
        for args in (["--dry-run"], []):
            taken = self.undo(*args, status=1)
            self.assertEqual((taken["prompt"], taken["restored"], taken["conflicts"]),
                             ("Second", [], conflicts))
            self.assertEqual(self.files(), found)
        taken = self.undo("a.txt", "started", status=1)
        self.assertEqual(taken["restored"], [{"path": "a.txt"}, {"path": "started"}])
        self.assertEqual(self.files(), {"a.txt": "1\n", "mine.txt": "mine\n"})
        self.assertEqual(self.undo("--force")["restored"], [{"path": "mine.txt"}])
        self.redo()
        self.assertEqual(self.files(), found)

    def test_after_a_crash(self):
        self.crash()
        self.check_after_a_crash()

    def test_after_a_crash_and_a_resume(self):
        self.crash()
        self.turn("Third", bash("echo 3 > b.txt"))
        self.assertEqual(self.undo()["restored"], [{"path": "b.txt"}])
        self.check_after_a_crash()

    def test_after_a_crash_between_calls(self):
        """The calls had ended, and what they changed was recorded."""
        running = self.begin([Answer(calls=[bash("echo 1 > a.txt")]),
                              Answer("Wait", wire=Wire(stall_after=1))])
        running.wait_for_type("session")
        self.key = json.loads(running.lines[0])["id"]
        self.assertTrue(hostile.wait_until(lambda: len(running.llm.requests) == 2, 30))
        running.signal(signal.SIGKILL)
        running.finish()
        self.put("mine.txt", "mine\n")
        self.assertEqual(self.undo()["restored"], [{"path": "a.txt"}])
        self.assertEqual(self.files(), {"mine.txt": "mine\n"})

    def test_a_database_in_the_folder(self):
        """It is left out: an old one would not have the session. Other files are not."""
        self.put("own.db-notes", "0\n")
        for db in (self.path("project/own.db"), "own.db"):
            with self.subTest(db=db):
                self.key, place = None, {"IKIGAI_DB": db}
                self.turn("Before", bash("true"))  # a session of the usual database covers it
                self.key = None
                self.turn("First", bash("echo 1 > a.txt; echo 1 > own.db-notes"), env=place)
                self.turn("Second", bash("echo 2 > a.txt"), env=place)
                self.assertEqual([f["path"] for f in self.json("diff", env=place)["files"]],
                                 ["a.txt", "own.db-notes"])
                undone = self.undo("2", "--force", env=place)
                self.assertEqual((undone["restored"], undone["conflicts"]),
                                 ([{"path": "a.txt"}, {"path": "own.db-notes"}], []))
                self.assertEqual(self.read("project/own.db-notes"), b"0\n")

    def test_a_turn_that_removed_the_folder(self):
        for git in (False, True):
            os.makedirs(self.project, exist_ok=True)
            self.key = None
            if git:
                subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)
            self.put("a.txt", "1\n")
            self.put("sub/b.txt", "2\n")
            self.turn("First", bash(f"cd /; rm -rf {self.project}"), args=["--mode", "full"])
            self.assertFalse(os.path.exists(self.project))
            self.assertEqual(len(self.undo("--dry-run", cwd=self.dir)["restored"]), 2)
            self.assertFalse(os.path.exists(self.project))
            undone = self.undo(cwd=self.dir)
            self.assertEqual((len(undone["restored"]), undone["conflicts"]), (2, []))
            self.assertEqual(self.files(), {"a.txt": "1\n", "sub/b.txt": "2\n"})
            self.redo()
            self.assertEqual(self.files(), {})

    def test_a_session_in_use(self):
        self.turn("First", write("a.txt", "1\n"))
        running = self.begin([Answer(calls=[bash("touch started; sleep 60")])], "-r", self.key)
        self.wait_for_file("started")
        for command in (["undo"], ["undo", "--dry-run"], ["redo"]):
            done = self.session(*command, status=1)
            self.assertIn("in use by pid", done.err)
        self.assertIn("a.txt", self.session("diff").out)
        running.signal(signal.SIGTERM)
        running.finish()
        self.assertEqual(self.files()["a.txt"], "1\n")

    def test_two_processes_in_one_folder(self):
        """What another agent changed while calls ran is not theirs."""
        self.put("both.txt", "0\n")
        running = self.begin([Answer(calls=[bash("echo 1 > a.txt; touch started;"
                                                 " until test -e go; do sleep 0.05; done")]),
                              Answer("Done.")])
        self.wait_for_file("started")
        self.turn("Other", write("both.txt", "other\n"), write("b.txt", "other\n"))
        self.put("go", "")
        turn = running.finish()
        self.key = turn.events[0]["id"]
        taken = self.undo(status=1)
        self.assertEqual([c["path"] for c in taken["conflicts"]], ["b.txt", "both.txt"])
        self.assertEqual({k: v for k, v in self.files().items() if k != "go"},
                         {"both.txt": "other\n", "b.txt": "other\n"})

    def test_another_process_in_a_folder_below(self):
        os.mkdir(os.path.join(self.project, "sub"))
        running = self.begin([Answer(calls=[bash("echo 1 > a.txt; touch started;"
                                                 " until test -e go; do sleep 0.05; done")]),
                              Answer("Done.")])
        self.wait_for_file("started")
        self.turn("Other", bash("echo other > a.txt"), cwd=os.path.join(self.project, "sub"))
        self.put("go", "")
        self.key = running.finish().events[0]["id"]
        self.assertEqual([c["path"] for c in self.undo(status=1)["conflicts"]], ["sub/a.txt"])
        self.assertEqual(self.files(), {"sub/a.txt": "other\n"})

    def test_a_turn_in_another_folder(self):
        """A session that was resumed elsewhere."""
        elsewhere = self.path("elsewhere")
        os.mkdir(elsewhere)
        self.put("a.txt", "0\n")
        self.write("elsewhere/a.txt", "0\n")
        self.turn("First", bash("echo 1 > a.txt"))
        self.turn("Second", bash("echo 2 > a.txt; mkdir new; echo 2 > new/b.txt"), cwd=elsewhere)
        files = self.json("diff", "--turn")["files"]
        paths = [os.path.join(elsewhere, name) for name in ("a.txt", "new/b.txt")]
        self.assertEqual([f["path"] for f in files], paths)
        self.assertEqual(self.undo()["restored"], [{"path": path} for path in paths])
        self.assertEqual(self.read("elsewhere/a.txt"), b"0\n")
        self.assertEqual(os.listdir(elsewhere), ["a.txt"])
        self.assertEqual(self.files(), {"a.txt": "1\n"})
        self.assertEqual(self.redo()["restored"], [{"path": path} for path in paths])
        self.assertEqual(self.read("elsewhere/new/b.txt"), b"2\n")
        self.undo("2")
        self.assertEqual(self.files(), {"a.txt": "0\n"})
        self.assertEqual(os.listdir(elsewhere), ["a.txt"])

    def test_contents_that_are_gone(self):
        self.put("a.txt", "0\n")
        for kind in ("files", "states"):
            with self.subTest(kind):
                self.key = None
                self.turn("First", write("a.txt", f"{kind}\n"))
                shutil.rmtree(os.path.join(self.home, "blobs", kind))
                lost = [{"path": "a.txt", "reason": "unavailable"}]
                taken = self.undo(status=1)
                self.assertEqual((taken["restored"], taken["conflicts"]), ([], lost))
                self.assertEqual(self.undo("--force", status=1)["conflicts"], lost)
                self.assertEqual(self.files(), {"a.txt": f"{kind}\n"})
                self.assertEqual(len(self.agents()), 2)  # the conversation was taken back
                self.session("diff")

    def test_states_that_are_gone_and_no_name_is_known(self):
        self.turn("First", bash("echo 1 > a.txt"))
        shutil.rmtree(os.path.join(self.home, "blobs", "states"))
        self.assertIn("no longer recorded", self.session("undo", status=1).err)
        self.assertEqual(len(self.agents()), 1)

    def test_sub_folder_of_a_repository(self):
        subprocess.run(["git", "init", "-q", self.project], check=True)
        self.put(".gitignore", "*.log\n")
        self.put("sub/a.txt", "0\n")
        self.put("sub/x.log", "0\n")
        folder = os.path.join(self.project, "sub")
        self.turn("First", bash("echo 1 > a.txt; echo 1 > x.log; echo 1 > b.txt"), cwd=folder)
        taken = self.undo(cwd=folder)
        self.assertEqual(taken["restored"], [{"path": "a.txt"}, {"path": "b.txt"}])
        self.assertEqual(self.files(), {".gitignore": "*.log\n", "sub/a.txt": "0\n",
                                        "sub/x.log": "1\n"})

    def test_bad_usage(self):
        self.turn("First", write("a.txt", "1\n"))
        for args in (["undo"], ["undo", self.key, "0"], ["undo", self.key, "--frob"],
                     ["undo", self.key, "1", "2"], ["undo", self.key, "a.txt", "2"],
                     ["undo", self.key, ""], ["undo", self.key, "1", "a.txt", ""], ["redo"],
                     ["redo", self.key, "1"], ["redo", self.key, "--force"], ["diff"],
                     ["diff", self.key, "turn"]):
            with self.subTest(args):
                done = self.ikigai("session", *args, status=2)
                self.assertIn(f"Usage: ikigai session {args[0]}", done.err)
        self.ikigai("session", "undo", "ffffffffffffffff", status=1)
        self.assertEqual(self.files(), {"a.txt": "1\n"})

    def test_a_prefix_names_the_session(self):
        self.turn("First", write("a.txt", "1\n"))
        self.assertEqual(self.ikigai("session", "undo", self.key[:6], "--json").json()["session"],
                         self.key)

    def test_for_people(self):
        self.turn("First\nwith a second line", write("a.txt", "1\n"), write("b.txt", "1\n"))
        self.put("a.txt", "mine\n")
        done = self.session("undo", status=1)
        self.assertEqual(done.out.splitlines(), [
            "Took back 1 turn: First …", "Restored 1 file:", "  b.txt",
            "Left alone, changed since: 1 file", "  a.txt",
            f"To restore them as well: ikigai session undo {self.key[:8]} --force"])
        self.assertEqual(self.session("redo").out.splitlines(), [
            "Brought back 1 turn: First …", "Restored 1 file:", "  b.txt"])

    def test_many_files_are_counted_for_people(self):
        self.turn("First", bash("seq -f f%02g.txt 30 | xargs touch"))
        names = [f"  f{i:02}.txt" for i in range(1, 31)]
        self.assertEqual(self.session("undo", "--dry-run").out.splitlines(), [
            "Would take back 1 turn: First", "Would restore 30 files:", *names])
        self.assertEqual(self.session("undo").out.splitlines(), [
            "Took back 1 turn: First", "Restored 30 files:", *names[:20], "  … and 10 more"])
        for i in range(1, 31):
            self.put(f"f{i:02}.txt", "mine\n")
        self.assertEqual(self.session("redo", status=1).out.splitlines(), [
            "Brought back 1 turn: First", "Left alone, changed since: 30 files", *names])

    def test_the_mode_stays(self):
        self.turn("First", write("a.txt", "1\n"))
        self.turn("Second", args=["--mode", "plan"])
        with_mode = self.turn("Third")
        self.undo("2")
        self.assertEqual(self.turn("Again")[0].json["messages"][0],
                         with_mode[0].json["messages"][0])


class HardLinks(UndoTest):
    """A restored file is written to no other name than its own."""

    def link(self, name, other):
        os.link(os.path.join(self.project, name), os.path.join(self.project, other))

    def are_one(self, *names):
        return len({os.stat(os.path.join(self.project, name)).st_ino for name in names}) == 1

    def mode(self, name):
        return os.stat(os.path.join(self.project, name)).st_mode & 0o777

    def check(self, command, before, call=None):
        """Undo, redo and undo of one call; dry-run announces each."""
        self.turn("Link", call or bash(command))
        after = self.files()
        announced = self.undo("--dry-run")
        self.assertEqual(announced["conflicts"], [])
        self.assertEqual(self.undo(), announced)
        self.assertEqual(self.files(), before)
        self.redo()
        self.assertEqual(self.files(), after)
        self.undo()
        self.assertEqual(self.files(), before)

    def test_a_link_in_place_of_a_file(self):
        self.put("a", "1\n")
        self.put("f", "F\n")
        self.put("g", "G\n")
        self.put("ignored/keep", "K\n")
        self.put(".gitignore", "ignored/\n")
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)
        self.check("ln -f ignored/keep a; ln -f g f", self.files())
        self.assertFalse(self.are_one("f", "g") or self.are_one("a", "ignored/keep"))

    def test_permissions_of_the_other_name(self):
        for name in ("f", "g", "h"):
            self.put(name, "the same\n" if name != "h" else "other\n")
        os.chmod(os.path.join(self.project, "g"), 0o444)
        self.check("ln -f g f; ln -f g h", self.files())
        self.assertEqual((self.mode("f"), self.mode("g"), self.mode("h")), (0o644, 0o444, 0o644))

    def test_names_of_one_file_that_changed(self):
        self.put("a", "1\n")
        self.link("a", "b")
        self.link("a", "c")
        for command in ("echo 2 >> a", "rm a; echo 3 > c", "chmod 600 b", "rm a b c"):
            with self.subTest(command):
                self.check(command, {name: "1\n" for name in "abc"})
                self.assertEqual(self.mode("b"), 0o644)
        self.assertTrue(self.are_one("a", "b", "c"))

    def test_file_write_changes_all_names(self):
        self.put("a", "1\n")
        self.put("b", "2\n")
        self.link("a", "c")
        self.check(None, self.files(), write("a", "3\n"))
        self.assertTrue(self.are_one("a", "c"))

    def test_a_new_name_of_a_file_that_changed(self):
        self.put("a", "1\n")
        self.check("ln a 0; ln a b; echo 2 >> a", self.files())

    def test_a_name_made_since_keeps_what_the_turn_wrote(self):
        self.put("a", "1\n")
        self.turn("First", bash("echo 2 >> a"))
        os.link(os.path.join(self.project, "a"), self.path("outside"))
        self.assertEqual(self.undo()["restored"], [{"path": "a"}])
        self.assertEqual(self.files(), {"a": "1\n"})
        with open(self.path("outside")) as f:
            self.assertEqual(f.read(), "1\n2\n")


class Redo(UndoTest):
    def test_redo_of_several_undos(self):
        self.turn("First", write("a.txt", "1\n"))
        self.turn("Second", write("a.txt", "2\n"))
        self.undo()
        self.undo()
        self.assertEqual(self.files(), {})
        self.assertEqual(self.redo(), {"session": self.key, "turns": 1, "prompt": "First",
                                       "restored": [{"path": "a.txt"}], "conflicts": []})
        self.assertEqual(self.files(), {"a.txt": "1\n"})
        self.assertEqual(self.redo()["prompt"], "Second")
        self.assertEqual(self.files(), {"a.txt": "2\n"})
        done = self.session("redo", status=1)
        self.assertIn("nothing to redo", done.err)
        texts = [m["content"] for m in self.turn("Third")[0].json["messages"]
                 if m["role"] == "user"]
        self.assertEqual(texts, ["First", "Second", "Third"])

    def test_the_request_after_redo_is_as_if_nothing_had_been_undone(self):
        self.turn("First", write("a.txt", "1\n"))
        self.turn("Second", write("a.txt", "2\n"))
        copy = self.ikigai("session", "fork", self.key).out.strip()
        self.undo("2")
        self.redo()
        went_on = self.turn("Third")[0].body.replace(self.key.encode(), b"ID")
        self.key = copy
        self.assertEqual(self.turn("Third")[0].body.replace(copy.encode(), b"ID"), went_on)

    def test_a_new_message_ends_redo(self):
        self.turn("First", write("a.txt", "1\n"))
        self.undo()
        self.turn("Second")
        self.session("redo", status=1)

    def test_a_file_changed_since_is_a_conflict(self):
        self.turn("First", write("a.txt", "1\n"), write("b.txt", "1\n"))
        self.undo()
        self.put("a.txt", "mine\n")
        back = self.redo(status=1)
        self.assertEqual((back["restored"], back["conflicts"]),
                         ([{"path": "b.txt"}], [{"path": "a.txt", "reason": "changed"}]))
        self.assertEqual(self.files(), {"a.txt": "mine\n", "b.txt": "1\n"})

    def test_undo_after_redo(self):
        self.put("a.txt", "0\n")
        self.turn("First", write("a.txt", "1\n"))
        for _ in range(3):
            self.assertEqual(self.undo()["restored"], [{"path": "a.txt"}])
            self.assertEqual(self.files(), {"a.txt": "0\n"})
            self.assertEqual(self.redo()["restored"], [{"path": "a.txt"}])
            self.assertEqual(self.files(), {"a.txt": "1\n"})


class Records(UndoTest):
    """What an imported log says about earlier undos need not be true."""

    def import_undo(self, **data):
        self.key = f"{len(self.imported):016x}"
        lines = [{"type": "session", "version": 1, "id": self.key, "cwd": self.project, "host": "h",
                  "model": "offline/markov", "created_us": 1},
                 {"type": "agent", "number": 1, "parent": 0, "forked_at": 0, "created_us": 1}]
        events = [("user", "Hi", None), ("assistant", "Done.", {"model": "offline/markov", "stop": "end"}),
                  ("undo", "", {"turns": 1, "prompt": "Hi", "message": 1, "until": 2, **data})]
        lines += [{"type": "message", "agent": 1, "seq": i + 1, "created_us": i + 2, "kind": kind,
                   "content": content, "data": data} for i, (kind, content, data) in enumerate(events)]
        self.imported.append(self.key)
        self.ikigai("session", "import", "-", input="\n".join(map(json.dumps, lines)).encode() + b"\n")

    def setUp(self):
        super().setUp()
        self.imported = []

    def test_a_record_of_an_agent_that_does_not_exist(self):
        for agent in 99, -5, 2 ** 63 - 1:
            with self.subTest(agent=agent):
                self.import_undo(agent=agent)
                self.assertIn("There is nothing to redo", self.session("redo", status=1).err)

    def test_conflicts_without_a_reason(self):
        self.import_undo(conflicts=[{"path": "a"}, {"path": "b"}, [], 7])
        self.assertIn("Left alone, changed since: 1 file\n  a\n", self.session("undo", "b", status=1).out)


class Diff(UndoTest):
    def patch(self, *args):
        return self.session("diff", *args).out

    def test_git_apply_takes_the_patch(self):
        self.put("a.txt", "".join(f"line {i}\n" for i in range(30)))
        self.put("gone.txt", "gone\n")
        self.put("run.sh", "#!/bin/sh\n")
        self.put("open.txt", "no newline at the end")
        before = self.path("before")
        subprocess.run(["cp", "-a", self.project, before], check=True)
        self.turn("First", bash("sed -i 's/line 3$/other/' a.txt; rm gone.txt; chmod +x run.sh;"
                                " echo >> open.txt; mkdir sub; printf 'x\\0y' > sub/binary"))
        self.turn("Second", write("a b.txt", "new\n"), write("a.txt", "short\n"))
        self.put("a.txt", "of somebody else\n")
        patch = self.session("diff").out
        subprocess.run(["git", "apply", "--check", "-"], input=patch.encode(), cwd=before,
                       check=True)
        subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=before, check=True)
        self.put("a.txt", "short\n")
        subprocess.run(["diff", "-r", before, self.project], check=True)
        self.assertTrue(os.access(os.path.join(before, "run.sh"), os.X_OK))

    def test_json_and_stat(self):
        self.put("a.txt", "1\n2\n3\n")
        self.put("gone.txt", "1\n2\n")
        self.put("run.sh", "")
        self.turn("First", bash("printf '1\\nx\\n3\\n4\\n' > a.txt; rm gone.txt; chmod +x run.sh;"
                                " printf 'a\\0b' > data"))
        files = {f.pop("path"): f for f in self.json("diff")["files"]}
        self.assertEqual(files, {
            "a.txt": {"status": "modified", "added": 2, "removed": 1, "binary": False},
            "data": {"status": "added", "added": 0, "removed": 0, "binary": True},
            "gone.txt": {"status": "deleted", "added": 0, "removed": 2, "binary": False},
            "run.sh": {"status": "modified", "added": 0, "removed": 0, "binary": False}})
        self.assertEqual(self.json("diff")["session"], self.key)
        lines = self.patch("--stat").splitlines()
        self.assertEqual(len(lines), 5)
        self.assertRegex(lines[-1], "^ *4 files changed")

    def test_turn(self):
        self.turn("First", write("a.txt", "1\n"))
        self.turn("Second", write("b.txt", "1\n"))
        self.assertEqual([f["path"] for f in self.json("diff")["files"]], ["a.txt", "b.txt"])
        self.assertEqual([f["path"] for f in self.json("diff", "--turn")["files"]], ["b.txt"])
        self.turn("Third")
        self.assertEqual(self.json("diff", "--turn")["files"], [])

    def test_the_folder_is_gone(self):
        self.put("a.txt", "1\n")
        self.turn("First", bash("echo 2 > a.txt"), write("b.txt", "b\n"))
        files = self.json("diff")["files"]
        patch = self.session("diff").out
        os.rename(self.project, self.path("moved"))
        self.assertEqual(self.json("diff", cwd=self.dir)["files"], files)
        self.assertEqual(self.session("diff", cwd=self.dir).out, patch)
        exported = self.session("export", "--format", "md", cwd=self.dir)
        self.assertIn(patch, exported.out)
        undone = self.session("undo", status=1, cwd=self.dir)
        self.assertIn(f"Cannot open {self.project}", undone.err)

    def test_without_changes(self):
        self.turn("First")
        self.assertEqual(self.patch(), "")
        self.assertEqual(self.patch("--stat").strip(), "0 files changed")
        self.assertEqual(self.json("diff"), {"session": self.key, "files": []})

    def test_after_undo_and_redo(self):
        self.turn("First", write("a.txt", "1\n"))
        self.turn("Second", write("a.txt", "2\n"), write("b.txt", "2\n"))
        self.undo()
        self.assertEqual([f["path"] for f in self.json("diff")["files"]], ["a.txt"])
        self.assertEqual([f["path"] for f in self.json("diff", "--turn")["files"]], ["a.txt"])
        self.assertIn("+1\n", self.patch())
        self.redo()
        self.assertIn("+2\n", self.patch())
        self.undo("2")
        self.assertEqual(self.patch(), "")


class Shared(UndoTest):
    """With a history on a server."""

    def test_undo_is_delivered(self):
        server = postgres.Server()
        self.addCleanup(server.close)
        server.__enter__()
        url = server.create_database("undo")
        self.turn("First", write("a.txt", "1\n"), env={"IKIGAI_DB": url})
        self.turn("Second", write("a.txt", "2\n"), env={"IKIGAI_DB": url})
        self.undo("--db", url)
        self.assertEqual(self.files(), {"a.txt": "1\n"})
        os.rename(self.home + "/ikigai.db", self.path("lost.db"))
        texts = [m["content"] for m in
                 self.turn("Third", env={"IKIGAI_DB": url})[0].json["messages"]
                 if m["role"] == "user"]
        self.assertEqual(texts, ["First", "Third"])
