"""The interactive program from key to answer, as a new user meets it."""
import os
import unittest

from fake_llm import Answer
from repl_support import ReplTest


class FirstScreenTest(ReplTest):
    def test_nothing_is_loaded_before_it_is_needed(self):
        """The prompt waits neither for the network library nor for the database."""
        if os.geteuid() != 0:
            self.skipTest("only root sees the files of what is not dumpable")
        t = self.ready([Answer("Hello.")])
        self.assertNotIn("libcurl", self.maps(t))
        self.assertFalse(os.path.exists(os.path.join(self.home, "ikigai.db")))
        self.say(t, "hi", "Hello.")
        self.assertIn("libcurl", self.maps(t))
        self.assertTrue(os.path.exists(os.path.join(self.home, "ikigai.db")))

    def maps(self, t):
        with open(f"/proc/{t.pid}/maps", encoding="utf-8") as f:
            return f.read()

    def test_the_window_has_a_title(self):
        t = self.ready()
        t.wait_until(lambda: f"\x1b]2;ikigai: {self.project}\x07".encode() in t.raw, "title")

    def test_where_messages_go(self):
        t = self.ready([Answer("Hello.")])
        t.wait_for("Model: local/qwen3. Your messages are sent to that provider.")
        self.assertEqual(self.leave(t), 0)
        self.configure(model="offline/offline")
        t = self.ready()
        t.wait_for("Model: offline/offline. Your messages stay on this machine.")

    def test_the_offline_model_runs_tools(self):
        self.write("hello.txt", "words in a file\n")
        t = self.ready()
        self.say(t, "read hello.txt", "words in a file")
        self.assertEqual(self.leave(t), 0)

    def test_the_offline_model_says_nothing_twice(self):
        self.write("a/b/deep.c", "")
        t = self.ready()
        self.say(t, "run echo number $((6 * 7))", "bash ended with exit code 0")
        self.say(t, "find *.c", "Done.")
        self.say(t, "read missing.txt", "file_read failed")
        rows = "\n".join(t.all_rows())
        self.assertEqual(rows.count("number 42"), 1)
        self.assertEqual(rows.count("a/b/deep.c"), 1)
        self.assertEqual(rows.count("not a language model"), 1)
        self.assertEqual(self.leave(t), 0)
        t = self.ready(None, "-c")
        self.say(t, "hi", "Try:")
        self.settle(t)
        self.assertEqual("\n".join(t.all_rows()).count("not a language model"), 1)
        self.assertEqual(self.leave(t), 0)

    def test_an_answer_of_a_model(self):
        t = self.ready([Answer("Hello, **world**.", fragments=4)])
        self.say(t, "hi", "Hello, world.")
        self.assertEqual(self.leave(t), 0)
        self.assertEqual(self.llm.problems, [])
        self.assertTrue(os.path.exists(os.path.join(self.home, "ikigai.db")))


if __name__ == "__main__":
    unittest.main()
