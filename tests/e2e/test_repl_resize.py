"""The window changes its size while an answer streams in: a row may stand there twice, none is lost.

tmux is the hard case. It wraps its rows for the new width at once, but tells the program of at most
one change in 250 ms."""
import os
import random
import re
import signal
import time
import unittest

from fake_llm import Answer, Wire
from repl_support import ReplTest
from support import IKIGAI, clean_env
from terminal_modes import OFF, switched_on
from terminal_support import SIMPLE, version

LINES = 400
STORMS = int(os.environ.get("IKIGAI_STORMS", 4))


def code_answer():
    """The text, what must be found of it, and how much of that a row holds at most. ikigai wraps no
    row of code; every third is wider than most windows here."""
    tail = " and a tail that is wrapped by the terminal itself"
    rows = [f"row {i:04} of the answer" + tail * (i % 3 == 0) for i in range(LINES)]
    return "```\n" + "\n".join(rows) + "\n```\n\nThe end.", [row[:8] for row in rows], 1


def prose_answer():
    """Likewise; ikigai wraps these words itself."""
    words = [f"w{i:04}" for i in range(4 * LINES)]
    paragraphs = [" ".join(words[i:i + 37]) for i in range(0, len(words), 37)]
    return "\n\n".join(paragraphs) + "\n\nThe end.", words, 120 // 6


def missing(wanted, rows):
    """Those of the wanted texts that the rows do not hold, in this order."""
    text = "\n".join(rows)
    at, lost = 0, []
    for each in wanted:
        found = text.find(each, at)
        if found < 0:
            lost.append(each)
        else:
            at = found
    return lost


class StormTest(ReplTest):
    def storm(self, answer, wanted, in_a_row, seed):
        chance = random.Random(seed)
        self.serve([Answer(answer, fragments=len(answer) // 12, wire=Wire(delay_event=0.004))])
        tmux = self.tmux([IKIGAI], columns=80, rows=24, cwd=self.project,
                         env=clean_env(IKIGAI_HOME=self.home))
        tmux.wait_for("/help")
        tmux.send_text("go")
        tmux.send_keys("Enter")
        tmux.wait_for(wanted[3])
        bursts = 0
        while "The end." not in "\n".join(tmux.rows()[-40:]):
            for _ in range(chance.randrange(1, 12)):
                tmux.resize(chance.randrange(30, 120), chance.choice([24, 24, 18, 30]))
                time.sleep(chance.choice([0, 0, 0.02, 0.06, 0.12, 0.3]))
            bursts += 1
            time.sleep(chance.choice([0, 0.2, 0.5]))
        tmux.resize(80, 24)
        tmux.wait_for("The end.")
        rows = tmux.rows()
        self.assertEqual(missing(wanted, rows), [], "\n".join(rows))
        text = "\n".join(rows)
        doubled = sum(text.count(each) - 1 for each in wanted)
        self.assertLessEqual(doubled, bursts * in_a_row, text)  # at most a stale row each

    def test_rows_of_code(self):
        for seed in range(STORMS):
            with self.subTest(seed=seed):
                self.storm(*code_answer(), seed)

    def test_words_of_prose(self):
        for seed in range(STORMS):
            with self.subTest(seed=seed):
                self.storm(*prose_answer(), seed)


class LayoutTest(ReplTest):
    """Text is wrapped for the width in force when it is printed."""

    def prose(self, t):
        return [row for row in t.all_rows() if re.match(r"w\d{4}", row)]

    def stream(self, delay=0.004, **options):
        answer, words, _ = prose_answer()
        t = self.ready([Answer(answer, fragments=len(answer) // 12, wire=Wire(delay_event=delay))],
                       **options)
        t.send("go\r")
        t.wait_for(words[60])
        return t, words

    def test_one_by_one_and_back(self):
        t, words = self.stream()
        seen = len(self.prose(t))
        t.set_size(1, 1)
        time.sleep(0.06)
        t.set_size(80, 24)
        t.wait_for("The end.")
        rows = self.prose(t)
        self.assertEqual(missing(words, rows), [])
        self.assertLess(len(rows), seen + len(words) // 8)
        self.assertEqual(self.leave(t), 0)

    def test_a_signal_where_rows_are_cut(self):
        """In a terminal that rewraps its rows, changes of live rows are cut at the edge."""
        t, _ = self.stream(answers=[version("kitty(0.39)"), *SIMPLE])
        t.wait_until(lambda: b"\x1b[?7l" in t.raw, "cut rows")
        t.signal(signal.SIGTERM)
        self.assertEqual(t.wait_exit(), 128 + signal.SIGTERM)
        self.assertEqual(switched_on(t.raw), OFF)
        self.assertIn(b"\x1b[?7h", t.raw[t.raw.rindex(b"\x1b[?2004l") - 40:])

    def test_what_waits_for_the_pager(self):
        t, words = self.stream(0.001)
        t.send("\x0f")
        t.wait_until(lambda: t.show().dump()["alternate"], "pager")
        t.resize(50, 24)
        self.llm.wait_for_outcome(1)
        begin = len(t.raw)
        t.wait_idle()
        t.send("q")
        t.wait_for("The end.")
        # This terminal cuts off what was printed before it became narrower.
        printed = t.raw[begin:].decode()
        rows = [row for row in self.prose(t) if row in printed]
        self.assertEqual(missing(words[-200:], rows), [])
        self.assertEqual([row for row in rows if len(row) > 49], [])


if __name__ == "__main__":
    unittest.main()
