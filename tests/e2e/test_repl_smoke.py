"""The interactive program from key to answer, as a new user meets it."""
import os
import unittest

from fake_llm import Answer
from repl_support import ReplTest


class FirstScreenTest(ReplTest):
    def test_a_new_user_is_told_what_this_is(self):
        t = self.ready()
        rows = t.all_rows()
        self.assertIn("ikigai", rows[0])
        self.assertIn("offline", rows[1])
        self.assertIn("OPENAI_API_KEY", rows[2])
        self.assertIn("/help", rows[3])
        self.assertEqual(self.leave(t), 0)

    def test_the_offline_model_runs_tools(self):
        self.write("hello.txt", "words in a file\n")
        t = self.ready()
        self.say(t, "read hello.txt", "words in a file")
        self.assertEqual(self.leave(t), 0)

    def test_an_answer_of_a_model(self):
        t = self.ready([Answer("Hello, **world**.", fragments=4)])
        self.say(t, "hi", "Hello, world.")
        self.assertEqual(self.leave(t), 0)
        self.assertEqual(self.llm.problems, [])
        self.assertTrue(os.path.exists(os.path.join(self.home, "ikigai.db")))


if __name__ == "__main__":
    unittest.main()
