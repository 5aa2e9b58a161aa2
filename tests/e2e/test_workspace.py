"""A front end of sixty lines (front_end_driver.c) on a workspace: start, prompt, question, answer,
end. It shows that a new front end needs only workspace.h."""
import os
import re
import shutil
import subprocess

from support import OBJECTS, OUT, ROOT, IkigaiTest

DRIVER = os.path.join(OBJECTS, "tests", "e2e", "front_end_driver")


class FrontEnd(IkigaiTest):
    def setUp(self):
        """An installation whose program is the front end."""
        super().setUp()
        os.makedirs(self.path("prefix", "bin"))
        self.program = shutil.copy(DRIVER, self.path("prefix", "bin"))
        for folder in ("lib", "libexec", "share"):
            os.symlink(os.path.join(OUT, folder), self.path("prefix", folder))

    def drive(self, prompt, answer, **env):
        done = subprocess.run([self.program, prompt, answer], cwd=self.project, env=self.env(**env),
                              timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.stderr, b"")
        return done.stdout.decode().splitlines()

    def test_a_turn_with_a_tool_and_a_question(self):
        lines = self.drive("run echo it works", "Y")
        self.assertEqual(lines[:2], ["question: Shall I? [y/N] ", "answer: yes"])
        self.assertIn("agent 1, user: run echo it works", lines)
        self.assertTrue([line for line in lines if line.startswith("agent 1, tool_result")], lines)
        self.assertEqual(lines[-1], "end: end_turn")
        self.assertIn("run echo it works", self.ikigai("session", "list").out)

    def test_an_empty_answer_is_the_default(self):
        self.assertIn("answer: no", self.drive("run true", ""))

    def test_a_question_can_be_declined(self):
        self.assertIn("answer: (declined)", self.drive("run true", "-"))

    def test_what_cannot_begin_is_reported(self):
        lines = self.drive("x", "y", IKIGAI_MODEL="nowhere/x")
        self.assertEqual(len(lines), 1)
        self.assertRegex(lines[0], "failed: .*nowhere")

    def test_it_names_neither_tool_nor_store_nor_provider(self):
        with open(os.path.join(ROOT, "tests", "e2e", "front_end_driver.c"), encoding="utf-8") as f:
            code = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        self.assertEqual(set(re.findall(r'#include "(\w+)/', code)), {"base", "workspace"})
        self.assertFalse(re.findall(r"ik_(tool|store|session|provider|target)_", code))
