"""Skills: folders with SKILL.md, listed in the system prompt, read by the model or sent by /NAME."""
import json
import os
import re
import subprocess

from agent_support import AgentTest, sent_messages
from fake_llm import Answer, Call
from repl_support import ReplTest
from support import IKIGAI, OBJECTS, ROOT

WITHHOLD = os.path.join(OBJECTS, "tests", "escape", "withhold_driver")

# As people write them for another agent.
CLAUDE_SKILL = """---
name: pdf
description: Use when: merging PDFs, or filling in their forms
license: Apache-2.0
allowed-tools: Bash(python:*), Read
metadata:
  author: someone
  version: "1.0"
---

# PDF

Run `scripts/merge.py $1` with !`date` @README.md.
"""


class SkillTest(AgentTest):
    def skill(self, folder, text=None, place="home/.ikigai/skills", **keys):
        if text is None:
            lines = [f"{key.replace('_', '-')}: {value}" for key, value in keys.items()]
            text = "\n".join(["---", *lines, "---", "Body."]) + "\n"
        return self.write(f"{place}/{folder}/SKILL.md", text)

    def prompt_of(self, *args, **more):
        """The system prompt."""
        turn = self.ask([Answer("Yes.")], *args, **more)
        return sent_messages(turn.llm.requests[0])[0]["content"]

    def listed(self, *args, **more):
        """The lines of the catalogue."""
        prompt = self.prompt_of(*args, **more)
        _, found, rest = prompt.partition("Skills are instructions for particular tasks.")
        return [line for line in rest.split("\n")[1:] if line] if found else None


class Catalogue(SkillTest):
    def test_no_skills_no_catalogue(self):
        self.assertIsNone(self.listed())

    def test_name_description_and_path_sorted(self):
        two = self.skill("two", name="two", description="The second")
        one = self.skill("one", name="one", description="The first")
        self.assertEqual(self.listed(), [f"- one: The first ({one})", f"- two: The second ({two})"])
        self.assertEqual(self.prompt_of(), self.prompt_of())

    def test_the_model_can_read_them(self):
        """In rooms, too, where the rest of ~/.ikigai is hidden; it cannot change them."""
        paths = [self.skill(place[0], name=place[0], description="d", place=f"home/.{place}/skills")
                 for place in ("ikigai", "agents", "claude")]
        self.write("home/.ikigai/skills/i/run", "#!/bin/sh\necho did run\n", 0o755)
        script = os.path.join(os.path.dirname(paths[0]), "run")
        commands = (script, f"echo x >>{paths[0]} || echo kept", f"cat {self.home}/config.json || echo hidden")
        turn = self.ask([Answer(calls=[*(Call("file_read", {"file_path": path}) for path in paths),
                                       *(Call("bash", {"command": command}) for command in commands)]),
                         Answer("Done.")])
        outputs = [envelope["result"].get("output", "") for envelope in turn.envelopes()]
        self.assertTrue(all(output.endswith("Body.\n") for output in outputs[:3]), outputs)
        self.assertEqual([output.split("\n")[-1] for output in outputs[3:]], ["did run", "kept", "hidden"])
        done = subprocess.run([WITHHOLD, "namespaces", IKIGAI, "tool", "run", "file_read",
                               json.dumps({"file_path": paths[0]})], cwd=self.project, env=self.env(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=120)
        self.assertIn(b"partial", done.stderr)
        self.assertIn(b"Body.", done.stdout)

    def test_a_folder_of_skills_elsewhere(self):
        """A link to it does not exist in rooms."""
        path = self.skill("far", name="far", description="d", place="home/dotfiles/skills")
        os.makedirs(self.home)
        os.symlink("../dotfiles/skills", os.path.join(self.home, "skills"))
        self.assertEqual(self.listed(), [f"- far: d ({path})"])
        turn = self.ask([Answer(calls=[Call("file_read", {"file_path": path})]), Answer("Done.")])
        self.assertTrue(turn.envelopes()[0]["result"]["output"].endswith("Body.\n"))

    def test_a_skill_of_another_agent(self):
        path = self.skill("pdf", CLAUDE_SKILL, "home/.claude/skills")
        self.assertEqual(self.listed(),
                         [f"- pdf: Use when: merging PDFs, or filling in their forms ({path})"])

    def test_without_tools_there_is_nothing_to_read_with(self):
        self.skill("one", name="one", description="x")
        self.assertIsNone(self.listed("--no-tools"))

    def test_hidden_from_the_model(self):
        self.skill("one", name="one", description="x", disable_model_invocation="true")
        self.assertIsNone(self.listed())

    def test_folders(self):
        for place in ("home/.ikigai/skills", "home/.agents/skills", "home/.claude/skills"):
            self.skill("same", name="same", description=place, place=place)
            self.skill(place[6:9], name=place[6:9], description="x", place=place)
        self.assertEqual([line.split(" (")[0] for line in self.listed()],
                         ["- age: x", "- cla: x", "- iki: x", "- same: home/.ikigai/skills"])

    def test_limit(self):
        for i in range(100):
            self.skill(f"s{i:03}", name=f"s{i:03}", description="x" * 500)
        prompt = self.prompt_of()
        catalogue = prompt[prompt.index("Skills are instructions"):]
        self.assertLessEqual(len(catalogue), 16 * 1024)
        shown = len(re.findall(r"^- s\d+:", catalogue, re.M))
        self.assertIn(f"\n{100 - shown} more skills are left out", catalogue)
        self.assertGreater(shown, 20)

    def test_a_long_description(self):
        for name, count in (("fits", 1024), ("long", 1025)):
            self.skill(name, f"---\nname: {name}\ndescription: {'ä' * count}\n---\n")
        self.assertEqual([line.split(" (")[0] for line in self.listed()],
                         ["- fits: " + "ä" * 1024, "- long: " + "ä" * 1024 + "…"])

    def test_lenient(self):
        cases = {
            "crlf": "\ufeff---\r\nname: crlf\r\ndescription: >-\r\n  two\r\n  lines\r\n---\r\nBody\r\n",
            "no-name": "---\ndescription: unnamed\n---\n",
            "bad-name": "---\nname: Bad Name\ndescription: renamed\n---\n",
            "long-name": f"---\nname: {'x' * 65}\ndescription: long\n---\n",
            "other": "---\nname: different\ndescription: another name\n---\n",
            "no-description": "---\nname: no-description\n---\n",
            "no-end": "---\nname: no-end\ndescription: x\n",
            "no-front": "just text\n",
            "binary": "---\nname: binary\ndescription: x\n---\n\0",
            "large": "---\nname: large\ndescription: x\n---\n" + "x" * (1024 * 1024),
        }
        for name, text in cases.items():
            self.skill(name, text)
        self.assertEqual([line.split(" (")[0][2:] for line in self.listed()],
                         ["bad-name: renamed", "crlf: two lines", "different: another name",
                          "long-name: long", "no-name: unnamed"])

    def test_strange_folders(self):
        self.skill("good", name="good", description="x")
        os.symlink("..", self.path("home/.ikigai/skills/loop"))
        os.symlink("/no/such", self.path("home/.ikigai/skills/dangling"))
        os.mkfifo(self.path("home/.ikigai/skills/fifo"))
        os.makedirs(self.path("home/.ikigai/skills/odd/SKILL.md"))
        self.skill("group/inner", name="inner", description="y")
        self.write("home/.ikigai/skills/node_modules/x/SKILL.md", "---\ndescription: no\n---\n")
        self.assertEqual([line.split(" (")[0] for line in self.listed()], ["- good: x", "- inner: y"])


class ByName(SkillTest):
    def sent(self, prompt, *args, **more):
        turn = self.ask([Answer("Yes.")], *args, prompt=prompt, **more)
        (message,) = [m for m in sent_messages(turn.llm.requests[0]) if m["role"] == "user"]
        return message["content"]

    def test_body_folder_and_arguments(self):
        path = self.skill("pdf", CLAUDE_SKILL)
        body = CLAUDE_SKILL.split("---\n", 2)[2]
        folder = os.path.dirname(path)
        self.assertEqual(self.sent("/pdf"), f"{body}\nThe folder of this skill is {folder}\n")
        self.assertEqual(self.sent("/pdf  a.pdf 'b c'"),
                         f"{body}\nThe folder of this skill is {folder}\n\na.pdf 'b c'")

    def test_a_hidden_skill(self):
        self.skill("one", name="one", description="x", disable_model_invocation="true")
        self.assertTrue(self.sent("/one").startswith("Body.\n"))

    def test_a_command_wins(self):
        self.skill("one", name="one", description="x")
        self.write("home/.ikigai/commands/one.md", "command")
        self.assertEqual(self.sent("/one"), "command")

    def test_unusable_is_other_text(self):
        self.skill("one", "no front matter")
        self.assertEqual(self.sent("/one"), "/one")


class Projects(SkillTest):
    """Skills of a project count after trust."""

    def setUp(self):
        super().setUp()
        self.write("project/.git/HEAD", "")
        self.inner = os.path.dirname(self.write("project/inner/file"))
        self.file = self.skill("deploy", name="deploy", description="CANARY", place="project/.agents/skills")

    def test_untrusted(self):
        turn = self.ask([Answer("Yes.")], cwd=self.inner)
        self.assertNotIn("CANARY", str(turn.llm.requests[0].json))
        self.assertIn("1 skill of the project is not trusted and not used", str(turn.events) + turn.err)
        refused = self.ask([], prompt="/deploy", status=2, cwd=self.inner)
        self.assertEqual(refused.llm.requests, [])

    def test_trusted_until_a_change(self):
        done = self.ikigai("trust", "--yes", cwd=self.inner)
        self.assertIn("| description: CANARY", done.out)
        self.assertIn("Folder of skills: 1 file", done.out)
        self.assertEqual(self.listed(cwd=self.inner), [f"- deploy: CANARY ({self.file})"])
        self.assertEqual(self.listed(), [f"- deploy: CANARY ({self.file})"])
        self.skill("deploy", name="deploy", description="OTHER", place="project/.agents/skills")
        self.assertIsNone(self.listed())
        done = self.ikigai("trust", "--yes")
        self.assertIn("-description: CANARY\n+description: OTHER\n", done.out)
        self.assertEqual(self.listed(), [f"- deploy: OTHER ({self.file})"])
        self.assertIn("No longer trusted.", self.ikigai("untrust", cwd=self.inner).out)
        self.assertIsNone(self.listed())

    def test_for_one_run(self):
        self.assertEqual(self.listed("--trust"), [f"- deploy: CANARY ({self.file})"])
        self.assertIsNone(self.listed())

    def test_what_was_trusted_is_sent(self):
        """The text comes from the copy, so it cannot change between review and use."""
        self.ikigai("trust", "--yes")
        turn = self.ask([Answer("Yes.")], prompt="/deploy")
        self.assertIn("Body.", str(turn.llm.requests[0].json))

    def test_precedence(self):
        self.skill("deploy", name="deploy", description="mine")
        self.assertEqual(len(self.listed()), 1)
        self.assertIn("mine", self.listed()[0])
        self.assertIn("CANARY", self.listed("--trust")[0])


class Trust(SkillTest):
    """One consent covers every kind."""

    def setUp(self):
        super().setUp()
        self.places = {".ikigai/hooks/turn_end/notify": "#!/bin/sh\n# HOOK\n",
                       ".ikigai/commands/build.md": "COMMAND\n",
                       ".ikigai/skills/s/SKILL.md": "---\ndescription: SKILL\n---\n",
                       ".ikigai/agents/a.md": "---\ndescription: AGENT\n---\n",
                       ".claude/commands/c.md": "CLAUDE COMMAND\n",
                       ".claude/agents/a.md": "CLAUDE AGENT\n",
                       ".agents/skills/t/SKILL.md": "SHARED SKILL\n"}
        for place, text in self.places.items():
            self.write("project/" + place, text)

    def test_everything_is_shown_once_and_trusted(self):
        out = self.ikigai("trust", "--yes").out
        for text in self.places.values():
            for line in text.splitlines():
                self.assertIn(f"| {line}\n", out)
        self.assertEqual(out.count("Trusted. "), 1)
        self.assertEqual(self.ikigai("trust", "--yes").out, "Already trusted.\n")

    def test_only_what_changed_is_shown_again(self):
        self.ikigai("trust", "--yes")
        self.write("project/.ikigai/commands/build.md", "CHANGED\n")
        out = self.ikigai("trust", "--yes").out
        self.assertIn("-COMMAND\n+CHANGED\n", out)
        self.assertNotIn("SKILL", out)

    def test_declined(self):
        done = self.ikigai("trust", input=b"n\n", status=1)
        self.assertIn("Not trusted.", done.out)
        self.assertIn("| COMMAND", self.ikigai("trust", "--yes").out)

    def test_trusted_tools_stay_trusted(self):
        """A decision about tools, made before, is not touched by what is added beside them."""
        for place in self.places:
            os.remove(self.path("project", place))
        self.project_tool("greet", "#!/bin/sh\necho '{}'\n")
        self.ikigai("trust", "--yes")
        self.write("project/.ikigai/commands/build.md", "COMMAND\n")
        out = self.ikigai("trust", "--yes").out
        self.assertIn("| COMMAND", out)
        self.assertNotIn("greet", out)

    def test_the_users_own_folders_need_none(self):
        self.write("home/.claude/commands/mine.md", "MINE")
        self.write("home/.agents/skills/x/SKILL.md", "MINE")
        done = self.ikigai("trust", "--yes", cwd=self.path("home"), status=1)
        self.assertNotIn("MINE", done.out)


class Manual(SkillTest):
    def test_the_skill(self):
        with open(os.path.join(ROOT, "docs/extending.md"), encoding="utf-8") as f:
            (text,) = re.findall(r"^```markdown\n(---\nname: release.*?)```$", f.read(), re.M | re.S)
        path = self.skill("release", text)
        self.assertEqual(self.listed(),
                         [f"- release: Use when the user wants to publish a version ({path})"])


class InTheTerminal(ReplTest):
    def skill(self, name, text, place="skills"):
        path = os.path.join(self.home, place, name, "SKILL.md")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)

    def test_the_list(self):
        self.skill("good", "---\nname: good\ndescription: Does good\n---\nBody\n")
        self.skill("bad", "---\nname: bad\n---\n")
        t = self.ready()
        rows = "\n".join(self.enter(t, "/skills", "good/SKILL.md"))
        self.assertIn("bad (not used): no description", rows)
        self.assertIn("its front matter has no description", " ".join(rows.split()))
        self.assertIn("good: Does good", rows)
        t.send("/goo")
        t.wait_for("Does good")
        t.send("\x15")
        self.assertEqual(self.leave(t), 0)

    def test_none(self):
        t = self.ready()
        self.enter(t, "/skills", "There are no skills.")
        self.assertEqual(self.leave(t), 0)

    def test_by_name(self):
        self.skill("good", "---\nname: good\ndescription: Does good\n---\nBody of it\n")
        t = self.ready([Answer("Done.")])
        self.say(t, "/good now", "Done.")
        self.assertIn("Body of it\n\nThe folder of this skill is ",
                      str(self.llm.requests[0].json["messages"][-1]["content"]))
        self.assertEqual(self.leave(t), 0)

    def test_trust(self):
        path = os.path.join(self.project, ".claude/commands/hello.md")
        os.makedirs(os.path.dirname(path))
        with open(path, "w") as f:
            f.write("Hello $1.\n")
        t = self.ready([Answer("Hi.")])
        self.enter(t, "/hello x", "/hello is not used: the project is not trusted")
        t.send("/trust\r")
        t.wait_for("what the project adds")
        t.send("q")
        t.wait_for("Trust them?")
        t.send("y\r")
        t.wait_for("Trusted.")
        self.say(t, "/hello world", "Hi.")
        self.assertEqual(self.leave(t), 0)
