"""The todo list: a checklist on the screen, its open items above the draft, and what survives of it."""
import json
import os
import re

import hostile
from agent_support import FORMATS, AgentTest, sent_messages
from fake_llm import Answer, Call, Usage
from repl_support import ReplTest
from support import ROOT


def todo(*items):
    states = {" ": "pending", ">": "in_progress", "x": "completed"}
    return Call("todo", {"todos": [{"content": text[2:], "status": states[text[0]]} for text in items]})


def screen(t):
    return [row.rstrip() for row in t.screen()]


class Screen(ReplTest):
    LIST = ["x read the code", "> write \x1b[2Jthe\ntest", "  run it", "  four", "  five", "  six", "  seven"]

    def live_rows(self, t):
        """The rows from the last finished one on."""
        rows = screen(t)
        last = max(i for i, row in enumerate(rows) if row.startswith("Noted"))
        return [row for row in rows[last + 1:] if row]

    def test_a_checklist_with_its_open_items_pinned(self):
        t = self.ready([Answer("", calls=[todo(*self.LIST)]), Answer("Noted."),
                        Answer("", calls=[todo("x read the code", "x run it")]), Answer("Noted too.")],
                       rows=40)
        self.say(t, "plan it", "Noted.")
        t.wait_for("[>] write the test")
        shown = "\n".join(row.rstrip() for row in t.all_rows())
        self.assertRegex(shown, r"(?m)^● todo\n└ #1 ok .*open: 6\n\[x\] read the code\n\[>\] write the test\n"
                                r"\[ \] run it\n\[ \] four\n\[ \] five\n\[ \] six\n\[ \] seven\n")
        self.assertEqual(self.live_rows(t)[:5], ["[>] write the test", "[ ] run it", "[ ] four", "[ ] five",
                                                 "… 2 more open"])
        t.resize(40, 10)  # nothing breaks in a small window
        t.wait_until(lambda: not any("[ ]" in row for row in screen(t)[-5:]), "fewer rows")
        t.resize(80, 40)
        t.wait_for("more open")
        self.say(t, "finish", "Noted too.")
        t.wait_until(lambda: self.live_rows(t) and not any("[" in row or "open" in row
                                                           for row in self.live_rows(t)),
                     "no pinned items")
        t.close()

    def test_after_a_resume(self):
        t = self.ready([Answer("", calls=[todo("  later")]), Answer("Noted.")])
        self.say(t, "plan it", "Noted.")
        t.close()
        t = self.start(None, "-c")
        t.wait_until(lambda: sum("[ ] later" in row for row in screen(t)) == 2, "the list and the pinned item")
        t.close()


class Display(ReplTest):
    def test_the_example_of_the_manual(self):
        with open(os.path.join(ROOT, "docs", "extending.md"), encoding="utf-8") as f:
            (text,) = [part.split("```")[0] for part in f.read().split("```sh\n")
                       if '"display": "table"' in part.split("```")[0]]
        tools = os.path.join(self.home, "tools")
        os.makedirs(tools, mode=0o700)
        hostile.write_program(os.path.join(tools, "file-types"), text)
        for name in ("a.c", "src/b.c", ".git/x.pack", "read.me", "no-type"):
            self.write(os.path.join(self.project, name), "")
        t = self.ready([Answer("", calls=[Call("file_types", {})]), Answer("Shown.")])
        self.say(t, "show", "Shown.")
        t.wait_for(re.compile(r"^● file_types \[user\]\n└ #1 ok[^\n]*\ntype +files\n─+ +─+\n"
                              r"c +2\nme +1\n\n", re.M))
        t.close()


class Context(AgentTest):
    format = "chat"

    def test_a_summary_keeps_it(self):
        """The list stands before the summary that covers it, and a later one replaces it."""
        self.write("home/.ikigai/models.json", json.dumps(
            {"models": {FORMATS[self.format].target: {"limits": {"context": 1000}}}}))
        full, some = Usage(input=900, output=10), Usage(input=200, output=10)
        call = todo("x gather", "> weigh\nand measure", "  decide")
        turn = self.ask([Answer("a", calls=[call], usage=some), Answer("x" * 2000, usage=full)],
                        prompt="Begin")
        llm = turn.llm

        def resume(*script):
            llm.script = list(script)
            before = len(llm.requests)
            self.ikigai(*self.command("Go on", "--json", "-c"), status=0, env=self.connect(llm))
            self.assertEqual(llm.problems, [])
            return llm.requests[before:]
        requests = resume(Answer("We gathered.", usage=some), Answer("Fine.", usage=some))
        words = json.dumps(sent_messages(requests[-1]))
        self.assertIn("We gathered.", words)
        self.assertIn("[The todo list, as the last call of todo left it]\\n\\n- completed: gather\\n"
                      "- in_progress: weigh\\nand measure\\n- pending: decide", words)
        self.assertNotIn("tool_call_id", words)
        requests = resume(Answer("Fine.", usage=some))  # another process sends the same beginning
        first = sent_messages(requests[0])
        self.assertEqual(json.dumps(first[:3]), json.dumps(json.loads(words)[:3]))
        requests = resume(Answer("", calls=[todo("x gather", "x decide")], usage=some),
                          Answer("y" * 2000, usage=full))
        requests = resume(Answer("All done.", usage=some), Answer("Fine.", usage=some))
        self.assertNotIn("The todo list", json.dumps(sent_messages(requests[-1])))


if __name__ == "__main__":
    import unittest
    unittest.main()
