"""Custom commands: Markdown files that become messages, from `-p '/NAME ARGS'` and in the terminal."""
import base64
import json
import os
import re
import resource
import signal
import subprocess

from agent_support import AgentTest, sent_messages
from fake_llm import Answer, Call
from repl_support import ReplTest, words_of
from support import IKIGAI, ROOT, clean_env

# As people write them for another agent.
CLAUDE_COMMAND = """---
allowed-tools: Bash(git add:*), Bash(git status:*), Bash(git commit:*)
argument-hint: [message]
description: Create a git commit: stage, describe, commit
model: inherit
---

## Context

- Current state: !`echo "two files"`
- Notes: @notes.txt

## Your task

Create one commit. $ARGUMENTS
"""


PIXEL = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
         "rkJggg==")


class CustomTest(AgentTest):
    def command_file(self, name, text, place="home/.ikigai/commands"):
        return self.write(f"{place}/{name}.md", text, 0o644)

    def sent(self, prompt, *args, **more):
        """The text that the user is made to say."""
        turn = self.ask([Answer("Yes.")], *args, prompt=prompt, **more)
        (message,) = [m for m in sent_messages(turn.llm.requests[0]) if m["role"] == "user"]
        return message["content"]

    def refused(self, prompt, *args, status=2, **more):
        """Nothing is sent; returns what is said."""
        turn = self.ask([], *args, prompt=prompt, status=status, **more)
        self.assertEqual(turn.llm.requests, [])
        return turn


class Texts(CustomTest):
    def test_arguments(self):
        self.command_file("fix", "---\ndescription: Fixes\n---\nFix $1, then $2. ($ARGUMENTS|$@|$3)\n")
        self.assertEqual(self.sent('/fix a "b c"'), 'Fix a, then b c. (a "b c"|a "b c"|)')

    def test_without_a_placeholder_the_arguments_follow(self):
        self.command_file("plain", "Do it.\n\n")
        self.assertEqual(self.sent("/plain"), "Do it.")
        self.assertEqual(self.sent("/plain  with  care "), "Do it.\n\nwith  care")

    def test_what_is_piped_in_follows(self):
        self.command_file("explain", "Explain $1:")
        self.assertEqual(self.sent("/explain this", input=b"int a;\n"), "Explain this:\n\nint a;\n")

    def test_folders_are_part_of_the_name(self):
        self.command_file("git/deep/fix", "Deep $1.")
        self.assertEqual(self.sent("/git:deep:fix x"), "Deep x.")

    def test_no_text_in_an_argument_is_expanded(self):
        self.write("project/secret.txt", "SECRET")
        self.command_file("hi", "Hi $1 and $2")
        self.assertEqual(self.sent("/hi !`id` @secret.txt"), "Hi !`id` and @secret.txt")
        self.assertEqual(self.sent("/hi '$2 $ARGUMENTS' x"), "Hi $2 $ARGUMENTS and x")

    def test_other_text_is_sent_as_it_is(self):
        self.command_file("known", "Known.")
        for text in ("/unknown x", "/etc/passwd is what?", "/", "/ known", "/help", "/model x",
                     "known", " /known", "/known/x", "/knownx"):
            self.assertEqual(self.sent(text), text)

    def test_a_built_in_command_wins(self):
        self.command_file("help", "My help.")
        self.assertEqual(self.sent("/help"), "/help")

    def test_a_command_of_another_agent(self):
        self.write("project/notes.txt", "remember the tests\n")
        self.command_file("commit", CLAUDE_COMMAND, "home/.claude/commands")
        self.assertEqual(self.sent("/commit quickly"),
                         "## Context\n\n- Current state: two files\n- Notes: remember the tests\n\n"
                         "## Your task\n\nCreate one commit. quickly")

    def test_the_own_folder_wins(self):
        self.command_file("x", "claude", "home/.claude/commands")
        self.command_file("x", "ikigai")
        self.assertEqual(self.sent("/x"), "ikigai")

    def test_a_file_that_other_users_may_write_is_not_used(self):
        path = self.command_file("x", "text")
        os.chmod(path, 0o666)
        self.assertIn("x.md", self.refused("/x", status=1).err)

    def test_an_empty_command(self):
        self.command_file("empty", "---\ndescription: x\n---\n$1")
        turn = self.refused("/empty", status=1)
        self.assertIn("/empty was not sent: its text is empty", turn.error[1])


class Files(CustomTest):
    def setUp(self):
        super().setUp()
        self.write("project/a.txt", "content of a\n")
        self.write("outside.txt", "OUTSIDE")

    def test_a_file_of_the_project(self):
        self.command_file("see", "See @a.txt, then (@a.txt) and x@a.txt.")
        self.assertEqual(self.sent("/see"), "See content of a, then (@a.txt) and x@a.txt.")

    def test_a_file_that_an_argument_names(self):
        self.command_file("see", "See @$1 now.")
        self.assertEqual(self.sent("/see a.txt"), "See content of a now.")
        self.assertEqual(self.sent("/see " + self.path("project/a.txt")), "See content of a now.")

    def test_anything_else_stays(self):
        os.symlink(self.path("outside.txt"), self.path("project/link.txt"))
        os.mkfifo(self.path("project/fifo"))
        os.mkdir(self.path("project/folder"))
        self.write("project/image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
        outside = self.path("outside.txt")
        text = f"@missing @folder @image.png @../outside.txt @{outside} @link.txt @fifo @~ @/etc/passwd"
        self.command_file("see", text)
        self.assertEqual(self.sent("/see"), text)

    def test_long_words_and_many_words_take_no_memory(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
        for text in "@a" + "." * 200000, "@a " * 60000:
            self.command_file("c", text)
            llm = self.serve([Answer("Yes.")])
            done = self.ikigai(*self.command("/c"), env=self.connect(llm), preexec_fn=limit)
            self.assertEqual(done.out, "Yes.\n")
            self.assertEqual(sent_messages(llm.requests[0])[-1]["content"], text.strip())

    def test_an_image_is_attached(self):
        with open(self.path("project/shot.png"), "wb") as f:
            f.write(base64.b64decode(PIXEL))
        self.command_file("see", "Describe @shot.png and $1.")
        turn = self.ask([Answer("Yes.")], prompt="/see @shot.png")
        (message,) = [m for m in sent_messages(turn.llm.requests[0]) if m["role"] == "user"]
        self.assertEqual([p["type"] for p in message["content"]].count("image_url"), 1)
        self.assertIn("Describe @shot.png and @shot.png.", str(message["content"]))

    def test_bytes_that_are_no_text(self):
        self.write("project/b.txt", b"caf\xe9\n")
        self.command_file("see", "@b.txt")
        self.assertEqual(self.sent("/see"), "caf�")

    def test_a_large_file_is_cut(self):
        self.write("project/big.txt", "x" * 300_000)
        self.command_file("see", "@big.txt")
        sent = self.sent("/see")
        self.assertLess(len(sent), 270_000)
        self.assertTrue(sent.endswith("\n[cut here: 262144 of 300000 bytes]"))


class Shell(CustomTest):
    def test_output_takes_the_place(self):
        self.command_file("run", "Says: !`echo one; echo two >&2`!")
        self.assertEqual(self.sent("/run"), "Says: one\ntwo!")

    def test_output_goes_on_after_a_nul(self):
        self.command_file("run", "!`printf 'a\\0b\\377c'`|!`printf '\\0'; exit 3`")
        self.assertEqual(self.sent("/run"), "a\ufffdb\ufffdc|\ufffd\nexit status 3")

    def test_it_runs_in_the_working_folder(self):
        self.command_file("run", "!`pwd`")
        self.assertEqual(self.sent("/run"), self.project)

    def test_a_failure(self):
        self.command_file("run", "A: !`echo before; exit 3` B: !`false` C: !`no-such-program-x 2>/dev/null`")
        self.assertEqual(self.sent("/run"),
                         "A: before\nexit status 3 B: exit status 1 C: exit status 127")

    def test_arguments_are_data(self):
        self.command_file("run", "!`printf '[%s]' $1 \"$1\" '$1' a$1`|!`printf '[%s]' $ARGUMENTS`")
        for value in (";touch hacked", "$(touch hacked)", "`touch hacked`", "a b", "*",
                      "|touch hacked", "&touch hacked", "\\", "$HOME"):
            self.assertEqual(self.sent(f"/run '{value}' x"),
                             f"[{value}][{value}][{value}][a{value}]|[{value}][x]")
        for value in ("' ; touch hacked ; '", "it's"):
            self.assertEqual(self.sent(f'/run "{value}"'),
                             f"[{value}][{value}][{value}][a{value}]|[{value}]")
        self.assertEqual(os.listdir(self.project), [])

    def test_an_argument_after_a_dollar_is_data(self):
        self.command_file("run", "!`X=abc; echo \"costs \\$$1, $$1, $X$1\" \\$$1`")
        for value in ("(touch hacked)", "{HOME}", "HOME", "5"):
            self.assertEqual(self.sent(f"/run '{value}'"),
                             f"costs ${value}, ${value}, abc{value} ${value}")
        self.assertEqual(os.listdir(self.project), [])

    def test_an_argument_is_no_expression(self):
        self.command_file("run", "!`[[ $1 -eq 3 ]]; echo $?`")
        said = self.refused("/run 'a[$(touch hacked)]'", status=1)
        self.assertIn("some shells would run it", f"{said.events}{said.err}")
        self.assertEqual(os.listdir(self.project), [])

    def test_arguments_inside_substitutions(self):
        self.command_file("run", "!`echo \"$(printf '[%s]' \"$1\" $1)\"`")
        self.assertEqual(self.sent("/run '\"); touch hacked; echo (\"'"),
                         "[\"); touch hacked; echo (\"][\"); touch hacked; echo (\"]")
        self.assertEqual(os.listdir(self.project), [])

    def test_arguments_in_a_here_document(self):
        """The text itself, without quotes; where the shell expands nothing it is refused."""
        self.command_file("run", "!`cat <<END; echo $1\n'$1' <$ARGUMENTS>\nEND`")
        value = "`touch hacked`;$(touch hacked)\\"
        self.assertEqual(self.sent(f"/run '{value}' END"), f"'{value}' <'{value}' END>\n{value}")
        self.assertFalse(os.path.exists(self.path("project", "hacked")))
        self.command_file("run", "!`cat <<'END'\n$1\nEND`")
        said = self.refused("/run END", status=1)
        self.assertIn("here-document", f"{said.events}{said.err}")

    def test_it_is_confined_as_bash_is(self):
        self.command_file("run", "!`touch $HOME/written 2>/dev/null || echo refused`")
        self.assertIn("refused", self.sent("/run"))
        self.assertFalse(os.path.exists(self.path("home/written")))

    def test_plan_mode_changes_nothing(self):
        self.command_file("run", "!`touch file; echo $?`")
        self.assertNotEqual(self.sent("/run", "--mode", "plan").splitlines()[-1], "0")
        self.assertEqual(os.listdir(self.project), [])

    def test_a_denied_command_is_not_sent(self):
        self.write("home/.ikigai/permissions.json", '{"deny": ["bash(touch *)"]}', 0o600)
        self.command_file("run", "!`touch file`")
        turn = self.refused("/run", status=1)
        self.assertEqual(turn.error[0], "PERMISSION_DENIED")
        self.assertIn("/run was not sent: ", turn.error[1])
        self.assertEqual(turn.reason, "error")
        self.assertEqual(os.listdir(self.project), [])

    def test_without_tools(self):
        self.command_file("run", "!`date`")
        turn = self.refused("/run", "--no-tools", status=1)
        self.assertIn("the tool bash is not available", turn.error[1])

    def test_interrupted(self):
        self.command_file("run", "!`touch started; sleep 60`")
        running = self.begin([], prompt="/run")
        self.wait_for_file("started")
        running.signal()
        turn = running.finish()
        self.assertEqual((turn.status, turn.reason), (128 + signal.SIGINT, "interrupted"))
        self.assertEqual(turn.llm.requests, [])
        self.assert_nothing_runs()


class Model(CustomTest):
    def test_for_the_turn(self):
        self.command_file("think", "---\nmodel: openai/gpt-other\n---\nThink.")
        turn = self.ask([Answer("Yes.")], prompt="/think")
        self.assertEqual(turn.llm.requests[0].json["model"], "gpt-other")

    def test_one_that_cannot_be_used_is_said(self):
        self.command_file("think", "---\nmodel: nobody/x\n---\nThink.")
        turn = self.ask([Answer("Yes.")], prompt="/think")
        self.assertEqual(turn.llm.requests[0].json["model"], "gpt-5")
        self.assertIn("/think asks for the model nobody/x, which is not used",
                      str(turn.of("notice")))


class Projects(CustomTest):
    """Commands of a project count after trust."""

    def setUp(self):
        super().setUp()
        self.command_file("build", "Build: !`touch ran; echo done` $1", "project/.ikigai/commands")

    def test_an_untrusted_command_is_neither_run_nor_sent(self):
        turn = self.refused("/build x")
        self.assertIn("/build is not used: the project is not trusted; nothing was sent", turn.err)
        self.assertEqual(os.listdir(self.project), [".ikigai"])

    def test_untrusted_commands_are_counted(self):
        line = "1 command of the project is not trusted and not used. Review: /trust or ikigai trust"
        self.assertEqual(self.ask([Answer("Yes.")], prompt="Go").err.count(line), 1)
        self.assertNotIn(line, self.ask([Answer("Yes.")], "--trust", prompt="Go").err)

    def test_one_line_counts_all_that_a_message_could_use(self):
        for name in ("one", "two"):
            self.write(f"project/.claude/skills/{name}/SKILL.md", "---\ndescription: Helps\n---\nHelp.\n")
        self.write("project/.claude/agents/a.md", "---\ndescription: Helps\n---\nHelp.\n")
        self.assertEqual(self.ask([Answer("Yes.")], prompt="Go").err,
                         "1 command, 2 skills and 1 agent of the project are not trusted and not used. "
                         "Review: /trust or ikigai trust\n")

    def test_trust_for_one_run(self):
        self.assertEqual(self.sent("/build x", "--trust"), "Build: done x")
        self.refused("/build x")

    def test_the_users_command_is_used_instead_of_an_untrusted_one(self):
        self.command_file("build", "mine")
        self.assertEqual(self.sent("/build"), "mine")
        self.assertEqual(self.sent("/build", "--trust"), "Build: done ")

    def test_nearer_beats_farther_and_ikigai_beats_claude(self):
        self.write("project/.git/HEAD", "")
        inner = os.path.dirname(self.write("project/inner/file"))
        for place, text in (("project/inner/.claude/commands", "inner claude"),
                            ("project/inner/.ikigai/commands", "inner ikigai"),
                            ("project/.ikigai/commands", "outer ikigai"),
                            ("home/.ikigai/commands", "user")):
            self.command_file("x", text, place)
        for expected, remove in (("inner ikigai", "project/inner/.ikigai/commands/x.md"),
                                 ("inner claude", "project/inner/.claude/commands/x.md"),
                                 ("outer ikigai", "project/.ikigai/commands/x.md"),
                                 ("user", None)):
            self.assertEqual(self.sent("/x", "--trust", cwd=inner), expected)
            if remove:
                os.remove(self.path(remove))


class Manual(CustomTest):
    """The example of docs/extending.md."""

    def test_the_review(self):
        with open(os.path.join(ROOT, "docs/extending.md"), encoding="utf-8") as f:
            (text,) = re.findall(r"^```markdown\n(---\n.*?HEAD`\n)```$", f.read(), re.M | re.S)
        self.command_file("review", text)
        self.write("project/REVIEW.md", "Be kind.\n")
        for words in (["init", "-q"], ["add", "."],
                      ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"]):
            subprocess.run(["git", *words], cwd=self.project, env=self.env(), check=True)
        self.write("project/REVIEW.md", "Be strict.\n")
        sent = self.sent("/review missing tests")
        self.assertTrue(sent.startswith("Review this change. Look for missing tests. Our rules:\n\n"
                                        "Be strict.\n\ndiff --git a/REVIEW.md"), sent)
        self.assertTrue(sent.endswith("-Be kind.\n+Be strict."), sent)


class InTheTerminal(ReplTest):
    def custom(self, name, text):
        path = os.path.join(self.home, "commands", name + ".md")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)

    def test_a_command(self):
        self.custom("git/review", "---\ndescription: Reviews a change\nargument-hint: [FILE]\n---\n"
                                  "Review $1: !`echo out`\n")
        t = self.ready([Answer("Looks good.")])
        self.say(t, "/git:review main.c", "Looks good.")
        self.assertEqual(words_of(self.llm.requests[0]), ["Review main.c: out"])
        self.assertEqual(self.leave(t), 0)

    def test_a_command_on_the_command_line(self):
        """As with -p; commands of ikigai itself run, too. An unknown one is a message."""
        self.custom("review", "Review $1.")
        for words, sent in ((["/review", "main.c"], "Review main.c."),
                            (["/init", "in", "Welsh"], "Write an AGENTS.md"),
                            (["/nosuch", "x"], "/nosuch x"), (["/etc/hosts"], "/etc/hosts")):
            with self.subTest(words):
                t = self.start([Answer("Looks good.")], *words)
                t.wait_for("Looks good.")
                self.assertEqual(words_of(self.llm.requests[0])[0][:len(sent)], sent)
                self.assertEqual(self.leave(t), 0)
        t = self.start([], "/status")
        t.wait_for("commands:")
        self.assertEqual(self.leave(t), 0)

    def test_the_list_and_the_help(self):
        self.custom("review", "---\ndescription: Reviews a change\nargument-hint: [FILE]\n---\nx $1")
        t = self.ready()
        t.send("/revi")
        t.wait_for("Reviews a change")
        t.send("\x15")
        rows = "\n".join(self.enter(t, "/help review", "commands/review.md"))
        self.assertIn("Usage: /review [FILE]\nReviews a change", rows)
        t.send("/help\r")
        t.wait_for("Custom commands and skills:")
        self.assertEqual(self.leave(t), 0)

    def test_during_a_turn_it_waits(self):
        self.custom("after", "After $1.")
        wait = "touch busy; while [ ! -e go ]; do sleep 0.05; done"
        t = self.ready([Answer(calls=[Call("bash", {"command": wait})]), Answer("First."),
                        Answer("Second.")])
        t.send("begin\r")
        t.wait_until(lambda: os.path.exists(os.path.join(self.project, "busy")), "busy")
        t.send("/after that\r")
        t.wait_for("queued: /after that")
        with open(os.path.join(self.project, "go"), "w"):
            pass
        t.wait_for("Second.")
        self.assertEqual(words_of(self.llm.requests[2])[-1], "After that.")
        self.assertEqual(self.leave(t), 0)

    def test_an_agent_that_is_ended_leaves_its_files_recorded(self):
        self.custom("slow", "!`touch started; sleep 60`")
        t = self.ready([Answer("Hello.")])
        t.send("hi\r")
        t.wait_for("Hello.")
        self.settle(t)
        self.enter(t, "/fork", "── agent 2 ──")
        t.send("/slow\r")
        t.wait_until(lambda: os.path.exists(os.path.join(self.project, "started")), "started")
        self.enter(t, "/kill 2", "Agent 2 was ended.")
        self.assertEqual(self.leave(t), 0)
        env = clean_env(IKIGAI_HOME=self.home)
        run = lambda *args: subprocess.run([IKIGAI, "session", *args], env=env, check=True,
                                           cwd=self.project, capture_output=True).stdout.decode()
        (session,) = json.loads(run("list", "--json"))
        log = [json.loads(line) for line in run("export", session["id"]).splitlines()]
        self.assertEqual([(line["agent"], line["data"]["phase"]) for line in log
                          if line.get("kind") == "checkpoint"], [(2, "before"), (2, "after")])

    def test_escape_ends_its_commands(self):
        self.custom("slow", "!`touch started; sleep 60`")
        t = self.ready([])
        t.send("/slow\r")
        t.wait_until(lambda: os.path.exists(os.path.join(self.project, "started")), "started")
        t.send("\x1b")
        t.wait_gone("Working")
        self.enter(t, "/agents", "idle")
        self.assertEqual(self.llm.requests, [])
        self.assertEqual(self.leave(t), 0)
