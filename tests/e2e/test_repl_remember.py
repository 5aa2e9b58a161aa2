"""/remember, the message "# TEXT", and /init: how instructions come into AGENTS.md."""
import os
import stat

from fake_llm import Answer, Call
from repl_support import ReplTest, words_of

WIDE = {"columns": 200}
HINT = "[p/u/N]"


class MemoryTest(ReplTest):
    def path(self, name):
        return os.path.join(self.project, name)

    def put(self, name, text, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def text_of(self, path):
        with open(os.path.join(self.project, path), encoding="utf-8", newline="") as file:
            return file.read()

    @property
    def mine(self):
        return os.path.join(self.home, "AGENTS.md")

    def offer(self, t, line):
        """Enters a line that is asked about, and waits for the question."""
        t.send(line + "\r")
        t.wait_for(HINT)


class Remember(MemoryTest):
    def test_the_line_is_shown_and_asked_about(self):
        self.put("AGENTS.md", "# Rules\n")
        t = self.ready([], **WIDE)
        for line in ("/remember Use tabs", "# Use tabs"):
            self.offer(t, line)
            rows = t.all_rows()
            at = len(rows) - 1 - rows[::-1].index("- Use tabs")
            self.assertEqual(rows[at + 1], f"Remember this line? p: for the project, in {self.project}"
                                           f"/AGENTS.md; u: for you, in {self.mine}; n: no")
            self.assertEqual(self.text_of("AGENTS.md"), "# Rules\n")
            t.send("n")
            t.wait_gone(HINT)
        self.assertEqual("\n".join(t.all_rows()).count("Nothing was added."), 2)
        self.assertEqual(self.text_of("AGENTS.md"), "# Rules\n")
        self.assertFalse(os.path.exists(self.mine))
        self.assertEqual(self.leave(t), 0)
        self.assertEqual(self.llm.requests, [])

    def test_p_is_the_project(self):
        self.put("AGENTS.md", "# Rules\n")
        t = self.ready([], **WIDE)
        self.offer(t, "# Use tabs")
        t.send("p")
        t.wait_for(f"Added to {self.project}/AGENTS.md. It counts from your next message on.")
        self.assertEqual(self.text_of("AGENTS.md"), "# Rules\n- Use tabs\n")
        self.assertFalse(os.path.exists(self.mine))

    def test_u_is_the_user(self):
        t = self.ready([], **WIDE)
        self.offer(t, "/remember Use tabs")
        t.send("u\r")
        t.wait_for(f"Added to {self.mine}.")
        self.assertEqual(self.text_of(self.mine), "- Use tabs\n")
        self.assertEqual(stat.S_IMODE(os.stat(self.mine).st_mode), 0o600)
        self.assertFalse(os.path.exists(self.path("AGENTS.md")))

    def test_other_answers_add_nothing(self):
        t = self.ready([])
        for keys in ("\r", "\x1b", "x\r"):
            self.offer(t, "# Use tabs")
            t.send(keys)
            t.wait_gone(HINT)
        self.assertEqual("\n".join(t.all_rows()).count("Nothing was added."), 3)
        self.assertEqual(os.listdir(self.project), [])

    def test_options_ask_nothing(self):
        t = self.ready([], **WIDE)
        self.enter(t, "/remember --project One", "Added to")
        self.enter(t, "/remember --user Two", "Added to")
        self.enter(t, "/remember --project Three \"3\"  words ", "Added to",
                   below="/remember --project Three \"3\"  words")
        self.assertEqual(self.text_of("AGENTS.md"), "- One\n- Three \"3\"  words\n")
        self.assertEqual(self.text_of(self.mine), "- Two\n")

    def test_misuse(self):
        t = self.ready([])
        usage = "Usage: /remember [--user|--project] TEXT"
        for line in ("/remember", "/remember --user", "/remember --project "):
            self.assertIn(usage, self.enter(t, line, "Usage", below=line.rstrip())[0])
        self.assertEqual(os.listdir(self.project), [])

    def test_what_is_a_message(self):
        """Only one line that begins with a number sign and a blank is remembered."""
        t = self.ready([Answer("One."), Answer("Two."), Answer("Three.")])
        self.say(t, "#12 is broken", "One.")
        self.settle(t)
        self.say(t, "## Title", "Two.")
        self.settle(t)
        t.send("\x1b[200~# Title\nText\x1b[201~")
        self.say(t, "", "Three.")
        self.assertEqual(words_of(self.llm.requests[2])[::2], ["#12 is broken", "## Title", "# Title\nText"])
        self.assertEqual(os.listdir(self.project), [])

    def test_when_it_counts(self):
        """The running conversation keeps its prompt; the next one has the line."""
        t = self.ready([Answer("One."), Answer("Two."), Answer("Three.")], **WIDE)
        self.enter(t, "/remember --project Early bird", "from your next message on")
        self.enter(t, "first", "One.")
        self.settle(t)
        self.enter(t, "/remember --project Late worm", "from the next conversation (/clear) on")
        self.enter(t, "second", "Two.")
        self.settle(t)
        self.enter(t, "/clear", "New conversation")
        self.enter(t, "third", "Three.")
        prompts = [request.json["messages"][0]["content"] for request in self.llm.requests]
        self.assertIn("- Early bird\n", prompts[0])
        self.assertEqual(prompts[1], prompts[0])
        self.assertIn("- Early bird\n- Late worm\n", prompts[2])

    def test_while_the_agent_works(self):
        t = self.ready([Answer(calls=[Call("bash", {"command": "while [ ! -e go ]; do sleep 0.02; done"})]),
                        Answer("One.")], **WIDE)
        t.send("first\r")
        t.wait_for("bash")
        self.offer(t, "# Use tabs")
        t.send("p")
        t.wait_for("Added to")
        self.put("go", "")
        t.wait_for("One.")
        self.assertEqual(self.text_of("AGENTS.md"), "- Use tabs\n")
        self.assertNotIn("Use tabs", str([r.json for r in self.llm.requests]))

    def test_plain(self):
        t = self.start([], "--plain", **WIDE)
        t.send("# Use tabs\r")
        t.wait_for(HINT)
        t.send("project\r")
        t.wait_for("Added to")
        self.assertEqual(self.text_of("AGENTS.md"), "- Use tabs\n")


class Files(MemoryTest):
    def remember(self, option="--project", until="Added to"):
        t = self.ready([], **WIDE)
        rows = self.enter(t, f"/remember {option} Use tabs", until)
        self.assertEqual(self.leave(t), 0)
        return "\n".join(rows)

    def test_the_root_of_the_repository(self):
        root = self.project
        os.makedirs(os.path.join(root, ".git"))
        self.project = os.path.join(root, "a", "b")
        os.makedirs(self.project)
        self.put("AGENTS.md", "inner\n")
        self.remember()
        self.assertEqual(self.text_of(os.path.join(root, "AGENTS.md")), "- Use tabs\n")
        self.assertEqual(self.text_of("AGENTS.md"), "inner\n")

    def test_claude_md_where_only_that_exists(self):
        self.put("CLAUDE.md", "Rules\n")
        self.assertIn("CLAUDE.md", self.remember())
        self.assertEqual(self.text_of("CLAUDE.md"), "Rules\n- Use tabs\n")
        self.put("AGENTS.md", "Others\n")
        self.remember()
        self.assertEqual(self.text_of("AGENTS.md"), "Others\n- Use tabs\n")
        self.assertEqual(self.text_of("CLAUDE.md"), "Rules\n- Use tabs\n")

    def test_line_ends(self):
        for before, after in (("Rules", "Rules\n- Use tabs\n"), ("", "- Use tabs\n"),
                              ("a\r\nb\r\n", "a\r\nb\r\n- Use tabs\r\n"),
                              ("a\r\nb", "a\r\nb\r\n- Use tabs\r\n"), ("a\n\n", "a\n\n- Use tabs\n")):
            self.put("AGENTS.md", before)
            self.remember()
            self.assertEqual(self.text_of("AGENTS.md"), after)

    def test_mode_and_links_are_kept(self):
        self.put("docs/rules.md", "Rules\n", 0o664)
        os.symlink("docs/rules.md", self.path("AGENTS.md"))
        self.remember()
        self.assertTrue(os.path.islink(self.path("AGENTS.md")))
        self.assertEqual(self.text_of("docs/rules.md"), "Rules\n- Use tabs\n")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("docs/rules.md")).st_mode), 0o664)
        self.assertEqual(sorted(os.listdir(self.path("docs"))), ["rules.md"])

    def test_a_link_out_of_the_project_is_refused(self):
        outside = os.path.join(self.dir, "outside")
        with open(outside, "w", encoding="utf-8") as file:
            file.write("private\n")
        os.symlink("../outside", self.path("AGENTS.md"))
        self.assertIn(f"AGENTS.md links to {outside}, which is outside {self.project}",
                      self.remember(until="not added"))
        self.assertEqual(self.text_of(outside), "private\n")
        os.unlink(outside)
        self.remember(until="Cannot read")
        self.assertFalse(os.path.exists(outside))

    def test_the_users_file_may_be_a_link(self):
        target = os.path.join(self.dir, "dotfile")
        with open(target, "w", encoding="utf-8") as file:
            file.write("mine\n")
        os.makedirs(self.home)
        os.symlink(target, self.mine)
        self.remember("--user")
        self.assertTrue(os.path.islink(self.mine))
        self.assertEqual(self.text_of(target), "mine\n- Use tabs\n")

    def test_what_cannot_be_written(self):
        self.put("AGENTS.md", "Rules\n", 0o444)
        self.assertIn("Cannot write", self.remember(until="Cannot write"))
        self.assertEqual(self.text_of("AGENTS.md"), "Rules\n")
        os.unlink(self.path("AGENTS.md"))
        os.mkdir(self.path("AGENTS.md"))
        self.remember(until="is not a regular file: the line was not added")
        os.rmdir(self.path("AGENTS.md"))
        self.put("AGENTS.md", "x" * (1024 * 1024 + 1))
        self.remember(until="longer than 1 MB")


class Init(MemoryTest):
    def test_the_model_writes_it(self):
        t = self.ready([Answer(calls=[Call("file_write", {"file_path": "AGENTS.md", "content": "Rules\n"})]),
                        Answer("Written."), Answer("Hello.")])
        self.enter(t, "/init mention the tests", "Written.")
        (asked,) = words_of(self.llm.requests[0])
        self.assertTrue(asked.startswith("Write an AGENTS.md for this project"), asked)
        self.assertIn("If there is one already, read it and improve it", asked)
        self.assertTrue(asked.endswith("\n\nmention the tests"), asked)
        self.assertEqual(self.text_of("AGENTS.md"), "Rules\n")
        self.settle(t)
        self.enter(t, "/clear", "New conversation")
        self.enter(t, "hi", "Hello.")
        self.assertIn("Rules\n", self.llm.requests[2].json["messages"][0]["content"])
