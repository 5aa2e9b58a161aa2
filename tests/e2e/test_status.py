"""`ikigai status` and /status: what extends ikigai here, and why some of it does not."""
import json
import os

from repl_support import ReplTest
from support import IkigaiTest

KEYS = {"name", "path", "source", "description", "used", "reason"}


class Status(IkigaiTest):
    def status(self, *args, **more):
        out = json.loads(self.ikigai("status", "--json", *args, **more).out)
        self.assertEqual(list(out), ["instructions", "skills", "commands", "hooks", "agents"])
        for entry in sum(out.values(), []):
            self.assertEqual(set(entry) - {"event"}, KEYS)
        return out

    def test_nothing(self):
        self.assertEqual(self.status(), {"instructions": [], "skills": [], "commands": [], "hooks": [],
                                         "agents": []})
        self.assertEqual(self.ikigai("status").out, "instructions: none\nskills: none\n"
                                                    "commands: none\nhooks: none\nagents: none\n")

    def test_instructions(self):
        own = self.write("home/.ikigai/AGENTS.md", "Mine.\n")
        project = self.write("project/AGENTS.md", "Theirs.\n")
        self.assertEqual(self.status()["instructions"], [
            {"name": "AGENTS.md", "path": own, "source": "user", "description": "", "used": True,
             "reason": None},
            {"name": "AGENTS.md", "path": project, "source": "project", "description": "", "used": True,
             "reason": None}])

    def test_skills(self):
        good = self.write("home/.ikigai/skills/good/SKILL.md", "---\nname: good\ndescription: G\n---\n")
        hidden = self.write("home/.agents/skills/good/SKILL.md", "---\nname: good\ndescription: H\n---\n")
        odd = self.write("home/.agents/skills/odd/SKILL.md", "---\nname: Odd\ndescription: O\n---\n")
        bad = self.write("home/.agents/skills/bad/SKILL.md", "---\nname: bad\n---\n")
        found = {entry["path"]: entry for entry in self.status()["skills"]}
        self.assertEqual(found[good], {"name": "good", "path": good, "source": "user",
                                       "description": "G", "used": True, "reason": None})
        self.assertEqual((found[hidden]["used"], found[hidden]["reason"]),
                         (False, f"{good} takes precedence"))
        self.assertEqual((found[odd]["name"], found[odd]["used"]), ("odd", True))
        self.assertIn("its name Odd is not usable", found[odd]["reason"])
        self.assertEqual((found[bad]["used"], found[bad]["reason"]),
                         (False, "its front matter has no description"))

    def test_a_long_description(self):
        """1024 characters, not bytes, are shown to the model; what is cut is said."""
        for name, count in (("fits", 1024), ("long", 1025)):
            self.write(f"home/.ikigai/skills/{name}/SKILL.md",
                       f"---\nname: {name}\ndescription: {'ä' * count}\n---\n")
        found = {entry["name"]: entry for entry in self.status()["skills"]}
        self.assertEqual((found["fits"]["used"], found["fits"]["reason"]), (True, None))
        self.assertEqual((found["long"]["used"], found["long"]["reason"]),
                         (True, "its description is longer than 1024 characters: the model sees the beginning"))

    def test_commands(self):
        self.write("home/.ikigai/commands/help.md", "Mine")
        self.write("home/.ikigai/commands/git/fix.md", "---\ndescription: Fixes\n---\nFix.")
        self.write("home/.ikigai/commands/two words.md", "x")
        found = {entry["name"]: entry for entry in self.status()["commands"]}
        self.assertEqual(found["help"]["reason"], "/help is a built-in command")
        self.assertEqual((found["git:fix"]["description"], found["git:fix"]["used"]), ("Fixes", True))
        self.assertFalse(found["two words"]["used"])

    def test_agents(self):
        def agent(name, text):
            return self.write(f"home/.ikigai/agents/{name}.md", text)
        good = agent("good", "---\ndescription: G\ntools: Read, Grep\nmodel: inherit\nmode: plan\n---\nBe.")
        agent("list", "---\nname: list\ndescription: L\ntools:\n  - Bash\n  - glob\n---\n")
        agent("other", "---\nname: renamed\ndescription: R\n---\n")
        agent("help", "---\ndescription: H\n---\n")
        agent("none", "---\nname: none\n---\n")
        agent("wide", "---\ndescription: W\nmode: root\n---\n")
        agent("open", "---\ndescription: W\n")
        agent("two words", "---\ndescription: W\n---\n")
        theirs = self.write("project/.claude/agents/theirs.md", "---\ndescription: T\n---\n")
        nearer = self.write("project/.ikigai/agents/theirs.md", "---\ndescription: N\n---\n")
        found = self.status("--trust")["agents"]
        self.assertEqual(found[0], {"name": "good", "path": good, "source": "user", "description": "G",
                                    "used": True, "reason": None})
        self.assertEqual([(entry["name"], entry["used"], entry["reason"]) for entry in found[1:]], [
            ("help", True, None),
            ("list", True, None),
            ("none", False, "its front matter has no description"),
            ("open", False, "the closing --- of the front matter is missing"),
            ("renamed", True, "its name differs from its file other"),
            ("theirs", True, None),
            ("theirs", False, f"{nearer} takes precedence"),
            ("two words", False, "its name cannot be typed: rename the file"),
            ("wide", False, "its mode root is not auto, ask, plan or full")])
        self.assertEqual({entry["path"]: (entry["used"], entry["reason"]) for entry in self.status()["agents"]
                          if entry["source"] == "project"},
                         {theirs: (False, "the project is not trusted"),
                          nearer: (False, "the project is not trusted")})

    def test_an_untrusted_project(self):
        path = self.write("project/.ikigai/commands/build.md", "Build.\n")
        entry = {"name": "build", "path": path, "source": "project", "description": "Build.",
                 "used": False, "reason": "the project is not trusted"}
        self.assertEqual(self.status()["commands"], [entry])
        self.assertEqual(self.status("--trust")["commands"], [{**entry, "used": True, "reason": None}])
        self.ikigai("trust", "--yes")
        self.assertTrue(self.status()["commands"][0]["used"])
        self.write("project/.ikigai/commands/build.md", "Other.\n")
        self.assertEqual(self.status()["commands"][0]["reason"],
                         "the project changed since you trusted it (build.md changed)")

    def test_for_people(self):
        path = self.write("home/.ikigai/commands/fix.md", "---\ndescription: \x1b[31mred\n---\nFix.")
        self.assertIn(f"commands:\n  fix (user): red\n    {path}\n", self.ikigai("status").out)

    def test_the_doctor_lists_the_same(self):
        path = self.write("home/.ikigai/commands/fix.md", "Fix.\n")
        out = self.ikigai("doctor", status=None).out
        self.assertIn(f"  commands:\n    fix (user): Fix.\n      {path}\n", out)
        lines = json.loads(self.ikigai("doctor", "--json", status=None).out)["sections"]["Extensions"]
        self.assertIn("skills: none", "\n".join(lines))

    def test_names_that_are_no_text(self):
        folder = os.path.dirname(self.write("home/.ikigai/commands/x.md", "x"))
        with open(os.path.join(os.fsencode(folder), b"\xff.md"), "w"):
            pass
        self.assertEqual(sorted(e["used"] for e in self.status()["commands"]), [False, True])


class InTheTerminal(ReplTest):
    def test_status(self):
        path = os.path.join(self.home, "commands", "fix.md")
        os.makedirs(os.path.dirname(path))
        with open(path, "w") as f:
            f.write("Fix it.\n")
        t = self.ready()
        rows = "\n".join(self.enter(t, "/status", "agents: none"))
        self.assertIn("  fix (user): Fix it.", rows)
        self.assertEqual(self.leave(t), 0)
