"""What terminal/screen draws, as terminals show it: frames recorded from screen_driver are replayed
in libvterm and in tmux. The harness and the checker that all tests of the terminal rely on are
tested here, too."""
import json
import os
import random
import re
import signal
import subprocess
import time
import unittest

import terminal_checker
from support import clean_env
from terminal_support import (MODERN, OBJECTS, PATIENCE, SILENT, TerminalTest, without_empty_end)

DRIVER = os.path.join(OBJECTS, "tests", "e2e", "screen_driver")
PIECE = 64 * 1024
RACES = int(os.environ.get("IKIGAI_RACES", 4))
COUNTED, TRACEABLE = 1, 2  # IK_SCREEN_REFLOW…
BRACKETS = 200  # bytes of a frame beside the rows that enter the history: enough for a small area


class Screen:
    """terminal/screen in a process of its own. Frames go to `show`."""

    def __init__(self, columns, rows, show, *options):
        self.driver = subprocess.Popen([DRIVER, str(columns), str(rows), *options],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.show = show
        self.frames, self.raw, self.resizes = [], b"", []
        self.done, self.waiting = True, 0

    def do(self, *command):
        self.driver.stdin.write(json.dumps(command).encode() + b"\n")
        self.driver.stdin.flush()
        answer = json.loads(self.driver.stdout.readline())
        self.done, self.waiting = answer["done"], answer["waiting"]
        for frame in answer["frames"]:
            data = bytes.fromhex(frame)
            self.frames.append(data)
            self.raw += data
            self.show(data)

    def commit(self, *rows):
        for row in rows:
            self.do("commit", row)

    def live(self, *rows, cursor=(-1, 0)):
        self.do("live", rows, *cursor)

    def flush(self):
        """All frames that are to be drawn."""
        self.do("flush")
        while not self.done:
            self.do("flush")

    def resize(self, columns, rows):
        self.resizes.append((len(self.raw), columns, rows))
        self.do("resize", columns, rows)

    def close(self):
        self.driver.stdin.close()
        status = self.driver.wait(PATIENCE)
        self.driver.stdout.close()
        if status != 0:
            raise AssertionError(f"screen_driver ended with {status}")


class ScreenTest(TerminalTest):
    maxDiff = 2000

    def open(self, columns=40, rows=10, show=None, options=(), checked=True):
        """A screen, and unless show is given the emulator that shows it in self.vterm."""
        if show is None:
            self.vterm = self.emulator(columns, rows)
            show = self.vterm.feed
        screen = Screen(columns, rows, show, *options)
        self.addCleanup(screen.close)
        if checked:
            self.addCleanup(lambda: self.assertEqual(
                [], terminal_checker.check(screen.raw, columns, rows, screen.resizes)))
        return screen

    def shown(self, *rows, cursor=None):
        dump = self.vterm.dump()
        self.assertEqual(without_empty_end(dump["scrollback"] + dump["screen"]), list(rows))
        self.assertEqual(dump["visible"], cursor is not None)
        if cursor is not None:
            above = len(dump["scrollback"])
            self.assertEqual((above + dump["cursor"][0], dump["cursor"][1]), cursor)


class GoldenTest(ScreenTest):
    def test_live_rows_grow_change_and_shrink(self):
        s = self.open()
        s.live("one", "> ", cursor=(1, 2))
        s.flush()
        self.shown("one", ">", cursor=(1, 2))
        s.live("one", "two", "three", "> x", cursor=(3, 3))
        s.flush()
        self.shown("one", "two", "three", "> x", cursor=(3, 3))
        s.live("ones", "tw", "> x", cursor=(2, 0))
        s.flush()
        self.shown("ones", "tw", "> x", cursor=(2, 0))
        s.live("> x", cursor=(0, 1))
        s.flush()
        self.shown("> x", cursor=(0, 1))
        s.live()
        s.flush()
        self.shown()

    def test_rows_enter_the_history_above_the_live_area(self):
        s = self.open()
        s.live("answer", "status", "> ", cursor=(2, 2))
        s.flush()
        s.commit("answer")
        s.live("more", "status", "> ", cursor=(2, 2))
        s.flush()
        self.shown("answer", "more", "status", ">", cursor=(3, 2))
        s.commit("more of it", "and a last row")
        s.live("status", "> ", cursor=(1, 2))
        s.flush()
        self.shown("answer", "more of it", "and a last row", "status", ">", cursor=(4, 2))

    def test_a_row_that_is_drawn_already_is_not_drawn_again(self):
        s = self.open()
        s.live("a long row of an answer", "its last row", "> ", cursor=(2, 2))
        s.flush()
        s.commit("a long row of an answer")
        s.live("its last row", "> ", cursor=(1, 2))
        s.flush()
        self.assertEqual(len(s.frames), 1)
        self.shown("a long row of an answer", "its last row", ">", cursor=(2, 2))
        s.live("its last row", "> x", cursor=(1, 3))
        s.flush()
        self.shown("a long row of an answer", "its last row", "> x", cursor=(2, 3))

    def test_a_row_comes_into_being_far_below_the_cursor(self):
        s = self.open(rows=14)
        history = [f"row {i}" for i in range(20)]
        s.commit(*history)
        s.live(*"abcdef", cursor=(5, 0))
        s.flush()
        s.commit("a")
        s.live(*"bcdef", cursor=(0, 0))
        s.flush()
        s.live(*"bcdefg", cursor=(0, 0))
        s.flush()
        self.shown(*history, *"abcdefg", cursor=(21, 0))

    def test_wide_rows_are_wrapped_by_the_terminal(self):
        for width in (39, 40, 41, 80, 81, 200):
            with self.subTest(width):
                s = self.open()
                s.live("status", "> ", cursor=(1, 2))
                s.flush()
                s.commit("a", "w" * width, "b")
                s.flush()
                rows = split("w" * width, 40)
                self.shown("a", *rows, "b", "status", ">", cursor=(len(rows) + 3, 2))

    def test_a_row_as_wide_as_the_screen_above_rows_that_stay(self):
        s = self.open()
        s.live("x", "status", "> ", cursor=(2, 2))
        s.flush()
        s.commit("w" * 40)
        s.live("status", "> ", cursor=(1, 2))
        s.flush()
        self.shown("w" * 40, "status", ">", cursor=(2, 2))

    def test_tabs_stay_in_the_history_and_are_spaces_in_the_live_area(self):
        s = self.open()
        s.live("a\tb", "> ", cursor=(1, 2))
        s.flush()
        self.assertNotIn(b"\t", s.raw)
        s.commit("a\tb")
        s.live("> ", cursor=(0, 2))
        s.flush()
        self.assertIn(b"a\tb", s.raw)
        self.shown("a       b", ">", cursor=(1, 2))

    def test_live_rows_are_cut_before_the_last_column(self):
        s = self.open()
        s.live("x" * 39, "y" * 40, "日本語" * 10, cursor=(2, 60))
        s.flush()
        self.shown("x" * 39, "y" * 38 + "…", ("日本語" * 10)[:19] + "…", cursor=(2, 39))

    def test_too_many_live_rows_lose_the_first_ones(self):
        s = self.open(rows=10)
        s.live(*[f"row {i}" for i in range(8)], cursor=(7, 1))
        s.flush()
        self.shown(*[f"row {i}" for i in range(3, 8)], cursor=(4, 1))

    def test_styles_are_in_force_where_writing_goes_on(self):
        s = self.open()
        s.live("\x1b[1;31mred and \x1b[mplain", "> ", cursor=(1, 2))
        s.flush()
        s.live("\x1b[1;31mred and bold\x1b[m plain", "> ", cursor=(1, 2))
        s.flush()
        self.shown("red and bold plain", ">", cursor=(1, 2))
        for column, (bold, fg) in {0: (True, 1), 8: (True, 1), 11: (True, 1), 13: (False, None),
                                   17: (False, None)}.items():
            cell = self.vterm.cell(0, column)
            self.assertEqual((cell["bold"], cell["fg"]), (bold, fg), column)
        self.assertEqual(self.vterm.cell(1, 0)["bold"], False)

    def test_only_a_style_changed(self):
        s = self.open()
        s.live("one two three", cursor=(0, 0))
        s.flush()
        s.live("one \x1b[4mtwo\x1b[m three", cursor=(0, 0))
        s.flush()
        self.shown("one two three", cursor=(0, 0))
        self.assertEqual([self.vterm.cell(0, c)["underline"] for c in (3, 4, 6, 7)],
                         [False, True, True, False])

    def test_a_letter_that_gets_an_accent_is_written_again(self):
        s = self.open()
        s.live("cafe", "> ", cursor=(1, 2))
        s.flush()
        s.live("cafe\u0301 noir", "> ", cursor=(1, 2))
        s.flush()
        self.shown("cafe\u0301 noir", ">", cursor=(1, 2))
        s.live("cafes", "> ", cursor=(1, 2))
        s.flush()
        self.shown("cafes", ">", cursor=(1, 2))

    def test_a_terminal_that_counts_joined_emoji_otherwise_shows_no_rubbish(self):
        # libvterm gives the family several cells, this program two.
        family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
        s = self.open()
        s.live(f"{family} ab", "> ", cursor=(0, 5))
        s.flush()
        s.live(f"{family} abc", "> ", cursor=(0, 6))
        s.flush()
        s.live(f"{family} ac", "> ", cursor=(0, 4))
        s.flush()
        row = self.vterm.rows()[0]
        self.assertEqual(row.split()[-1], "ac")
        self.assertEqual(self.vterm.dump()["cursor"][1], self.column_of("c"))

    def test_the_cursor_finds_its_column_from_behind_joined_emoji(self):
        family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
        s = self.open()
        for status in ("one", "one and two"):
            s.live("> draft", f"{family} {status}", cursor=(0, 7))
            s.flush()
            self.assertEqual(self.vterm.dump()["cursor"], [0, 7])

    def column_of(self, letter):
        return next(c for c in range(40) if self.vterm.cell(0, c)["text"] == letter)

    def test_pausing_gives_the_terminal_away(self):
        s = self.open()
        s.commit("history")
        s.live("status", "> draft", cursor=(1, 7))
        s.flush()
        s.do("pause")
        self.shown("history", cursor=(1, 0))
        s.commit("meanwhile")
        s.flush()
        self.shown("history", cursor=(1, 0))
        self.vterm.feed(b"somebody else\r\n\r\nand what was left\x1b[A\r")
        s.do("resume")
        s.flush()
        self.shown("history", "somebody else", "meanwhile", "status", "> draft", cursor=(4, 7))

    def test_the_end_leaves_the_history_and_a_free_row(self):
        s = self.open()
        s.commit("one")
        s.live("status", "> draft")
        s.flush()
        s.do("taken", False)
        s.commit("two", "three")
        s.do("flush")
        self.shown("one", "status", "> draft")
        s.do("end")
        self.shown("one", "two", "three", cursor=(3, 0))

    def test_sent_sequences_come_before_the_frame(self):
        s = self.open()
        s.live("> ", cursor=(0, 2))
        s.flush()
        s.do("send", "\x1b]2;a title\x1b\\\a")
        s.flush()
        dump = self.vterm.dump()
        self.assertEqual((dump["title"], dump["bells"]), ("a title", 1))
        self.shown(">", cursor=(0, 2))

    def test_plain_output_is_rows_and_line_feeds(self):
        s = self.open(show=lambda data: None, options=["plain"])
        s.live("status", "> ", cursor=(1, 2))
        s.do("send", "\a")
        s.commit("one", "\x1b[1mtwo\x1b[m")
        s.flush()
        s.resize(20, 5)
        s.flush()
        s.commit("three")
        s.do("end")
        self.assertEqual(s.raw, b"one\n\x1b[1mtwo\x1b[m\nthree\n")

    def test_frames_of_several_rows_are_bracketed(self):
        s = self.open()
        s.do("synchronised", True)
        s.live("one", "> ", cursor=(1, 2))
        s.flush()
        self.assertRegex(s.frames[0], rb"(?s)^\x1b\[\?2026h.*\x1b\[\?2026l$")
        s.live("one two", "> ", cursor=(1, 2))
        s.flush()
        self.assertNotIn(b"2026", s.frames[1])
        self.assertNotIn(b"?25", s.frames[1])


class SlowTest(ScreenTest):
    def test_rows_wait_and_come_in_pieces(self):
        s = self.open(columns=100, rows=20)
        s.live("> ", cursor=(0, 2))
        s.flush()
        s.do("taken", False)
        rows = [f"row {i} " + "x" * (i % 97) for i in range(5000)]
        s.commit(*rows)
        s.do("flush")
        self.assertFalse(s.done)
        self.assertEqual(len(s.frames), 1)
        self.assertEqual(s.waiting, sum(len(row) + 1 for row in rows))
        s.do("taken", True)
        s.flush()
        self.assertEqual(s.waiting, 0)
        self.assertGreater(len(s.frames), 3)
        for frame in s.frames:  # a row ends with two bytes on the terminal
            self.assertLess(len(frame), PIECE + frame.count(b"\n") + BRACKETS)
        rows = [line for row in rows for line in split(row, 100)]
        self.shown(*rows, ">", cursor=(len(rows), 2))

    def test_one_endless_row(self):
        text = "".join(chr(0x4e00 + i % 5000) for i in range(90000))
        for how in ("to its end", "paused", "ended", "resized"):
            with self.subTest(how):
                s = self.open(columns=100, rows=20)
                s.commit("before", text, "after")
                s.live("status", "> ", cursor=(1, 2))
                s.do("flush")
                s.do("flush")
                self.assertLess(max(map(len, s.frames)), PIECE + BRACKETS)
                s.do("send", "\a")
                if how == "paused":
                    s.do("pause")
                    s.do("resume")
                elif how == "resized":
                    s.resize(100, 20)
                if how == "ended":
                    s.do("end")
                else:
                    s.flush()
                rows = ["before", *split(text, 50), "after"]
                if how == "ended":
                    self.shown(*rows, cursor=(len(rows), 0))
                else:
                    self.shown(*rows, "status", ">", cursor=(len(rows) + 1, 2))
                self.assertEqual(self.vterm.dump()["bells"], 1)


def split(text, size):
    """As a terminal wraps a row of characters of one width."""
    return [text[i:i + size].rstrip(" ") for i in range(0, max(len(text), 1), size)]


# ---- properties

WORDS = ["a", "be", "cat", "door", "日本", "naïve", "x" * 9, "--", "12,5", "e\u0301"]
STYLES = ["", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[4;34m", "\x1b[38;5;208m"]


class Story:
    """Random work for a screen: what was committed, and what the live area shows."""

    def __init__(self, screen, seed, width=30, height=4, wide=True, words=WORDS):
        self.random = random.Random(seed)
        self.screen, self.width, self.height, self.wide = screen, width, height, wide
        self.words = words
        self.committed, self.live = [], []
        self.open = []  # rows of the answer that is not committed yet
        self.number = 0

    def new_row(self, width=None):
        """About so wide: (row with styles, what is to be seen)"""
        self.number += 1
        row = seen = f"c{self.number}"
        while columns(seen) < (width or self.width) - 10 and self.random.random() < 0.9:
            word, style = self.random.choice(self.words), self.random.choice(STYLES)
            row += f" {style}{word}\x1b[m" if style else " " + word
            seen += " " + word
        return row, seen

    def grow_answer(self):
        """A token at the end of the answer, or a row of it finished."""
        if self.open and columns(self.open[-1][1]) < self.width - 12:
            word = " " + self.random.choice(self.words)
            self.open[-1] = (self.open[-1][0] + word, self.open[-1][1] + word)
        else:
            self.open.append(self.new_row(12))
        while len(self.open) > self.height - 2:
            self.commit(self.open.pop(0))

    def narrow(self, width):
        """The caller rewraps an open answer; here it is finished."""
        self.width = width
        while any(columns(seen) > width for _, seen in self.open):
            self.commit(self.open.pop(0))

    def commit(self, row):
        self.committed.append(row[1])
        self.screen.commit(row[0])

    def step(self):
        kind = self.random.random()
        if kind < 0.6:
            self.grow_answer()
        elif kind < 0.75:
            while self.open:
                self.commit(self.open.pop(0))
        elif kind < 0.9:
            while self.open:
                self.commit(self.open.pop(0))
            for _ in range(self.random.randrange(1, 9)):
                self.commit(self.new_row(200 if self.wide and self.random.random() < 0.1 else None))
        self.show_live()

    def show_live(self):
        status = self.random.choice([[], ["status"], ["\x1b[2mother status\x1b[m"]])
        draft = "> " + "d" * self.random.randrange(self.width - 2)
        rows = [row for row, _ in self.open] + status + [draft]
        self.live = [seen for _, seen in self.open]
        self.live += [re.sub("\x1b[^m]*m", "", row) for row in status] + [draft]
        self.live = [row.rstrip(" ") for row in self.live]
        self.cursor = (len(self.live) - 1, self.random.randrange(len(draft) + 1))
        if self.random.random() < 0.3:
            self.cursor = (self.random.randrange(len(self.live)), 0)
        self.screen.live(*rows, cursor=self.cursor)


def columns(text):
    return sum(0 if c == "\u0301" else 2 if "\u2e80" <= c <= "\u9fff" else 1 for c in text)


def wrap(text, width):
    """As a terminal wraps it: a wide character is not divided."""
    rows, row = [], ""
    for c in text:
        if columns(row) + columns(c) > width:
            rows.append(row)
            row = ""
        row += c
    return [row.rstrip(" ") for row in rows + [row]]


class PropertyTest(ScreenTest):
    def test_the_screen_shows_history_and_live_area_and_nothing_else(self):
        for seed in range(12):
            with self.subTest(seed=seed):
                s = self.open(columns=40, rows=10)
                s.do("synchronised", bool(seed % 2))
                story = Story(s, seed)
                for _ in range(150):
                    story.step()
                    if story.random.random() < 0.1:
                        s.do("pause")
                        s.do("resume")
                    if story.random.random() < 0.7:  # or the terminal is slow
                        s.flush()
                s.flush()
                rows = [line for row in story.committed for line in wrap(row, 40)]
                row, column = story.cursor
                self.shown(*rows, *story.live, cursor=(len(rows) + row, column))

    def test_every_frame_is_right(self):
        s = self.open(columns=40, rows=10)
        story = Story(s, 99)
        for _ in range(60):
            story.step()
            s.flush()
            rows = [line for row in story.committed for line in wrap(row, 40)]
            row, column = story.cursor
            self.shown(*rows, *story.live, cursor=(len(rows) + row, column))

    def test_windows_of_another_size_lose_and_double_nothing(self):
        # This terminal does not reflow: rows stay as they are, and what is wider is cut off.
        for seed in range(12):
            with self.subTest(seed=seed):
                s = self.open(columns=60, rows=12)
                story = Story(s, seed, wide=False)
                for _ in range(150):
                    story.step()
                    if story.random.random() < 0.15:
                        size = story.random.randrange(42, 80), story.random.randrange(8, 20)
                        self.vterm.resize(*size)
                        s.resize(*size)
                    s.flush()
                self.assertEqual(self.vterm.rows(), story.committed + story.live)


class TmuxTest(ScreenTest):
    def show_in_tmux(self, size, **options):
        tmux = self.tmux(columns=size[0], rows=size[1])
        return tmux, self.open(*size, show=tmux.feed, **options)

    def test_the_same_in_tmux(self):
        tmux, s = self.show_in_tmux((40, 10))
        story = Story(s, 7)
        for _ in range(50):
            story.step()
            s.flush()
        self.assertEqual(tmux.rows(), story.committed + story.live)
        row, column = story.cursor
        self.assertEqual(tmux.cursor()[1], column)

    def test_what_is_erased_at_the_top_of_the_screen_is_gone(self):
        tmux, s = self.show_in_tmux((40, 10))
        s.live("status", "> draft", cursor=(1, 7))
        s.flush()
        s.resize(40, 10)
        s.live("other", "> draft", cursor=(1, 7))
        s.flush()
        self.assertEqual(tmux.rows(), ["other", "> draft"])
        s.do("pause")
        self.assertEqual(tmux.rows(), [])

    def full_tmux(self, reflow=TRACEABLE):
        """Filled with rows: where there is room below, tmux moves what it rewraps out of
        reach."""
        tmux, s = self.show_in_tmux((60, 16))
        s.do("reflow", reflow)
        rows = [f"row {i}" for i in range(20)]
        s.commit(*rows)
        return tmux, s, rows

    def test_the_cursor_in_a_row_that_is_wrapped_anew(self):
        for reflow in (COUNTED, TRACEABLE):
            with self.subTest(reflow=reflow):
                self.wrap_anew(*self.full_tmux(reflow))

    def wrap_anew(self, tmux, s, rows):
        for width in (19, 20, 21, 39, 40, 41):
            for column in {0, 1, 19, 20, 21, width - 1, width} - set(range(width + 1, 99)):
                s.live("x" * width, "y" * width, cursor=(1, column))
                s.commit(*"0123456789")
                rows += "0123456789"
                s.flush()
                tmux.resize(20, 16)
                s.resize(20, 16)
                s.live("a", "b", cursor=(1, 0))
                s.flush()
                self.assertEqual(tmux.rows(), [*rows, "a", "b"], (width, column))
                tmux.resize(60, 16)
                s.resize(60, 16)

    def test_wide_characters_that_do_not_fit_before_the_edge(self):
        tmux, s, rows = self.full_tmux()
        s.live("日本" * 14, "> ", cursor=(1, 2))
        s.flush()
        tmux.resize(19, 16)
        s.resize(19, 16)
        s.live("a", "b", cursor=(1, 0))
        s.flush()
        self.assertEqual(tmux.rows(), [*rows, "a", "b"])

    def test_reflow_loses_and_doubles_nothing(self):
        # tmux 3.3a itself misplaces the cursor where characters of two columns were wrapped.
        words = [word for word in WORDS if columns(word) == len(word)]
        for seed in range(3):
            with self.subTest(seed=seed):
                tmux, s, rows = self.full_tmux()
                story = Story(s, seed, width=38, words=words)
                for _ in range(60):
                    story.step()
                    if story.random.random() < 0.3:
                        size = story.random.randrange(20, 90), story.random.randrange(14, 30)
                        tmux.resize(*size)
                        s.resize(*size)
                        story.narrow(min(38, size[0] - 4))
                        story.show_live()
                    s.flush()
                self.assertEqual(tmux.rows(), rows + story.committed + story.live)


    def test_a_width_that_is_gone_loses_no_row(self):
        """tmux wraps its rows for another width while a frame is on its way, and again while the
        screen is held, until it is told."""
        words = [word for word in WORDS if columns(word) == len(word)]
        for seed in range(4):
            with self.subTest(seed=seed):
                tmux, s, rows = self.full_tmux()
                story = Story(s, seed, width=38, words=words)
                for _ in range(60):
                    story.step()
                    if story.random.random() < 0.3:
                        size = self.change_size(tmux, s, story)
                        s.resize(*size)
                        story.narrow(min(38, size[0] - 4))
                        story.show_live()
                    s.flush()
                self.assertEqual(lost(rows + story.committed, tmux.rows()), [])

    def test_any_width_when_a_frame_arrives_loses_no_row(self):
        """Whatever width the screen believes in, tmux may have another one when it reads the
        frame."""
        words = [word for word in WORDS if columns(word) == len(word)]
        for seed in range(RACES):
            with self.subTest(seed=seed):
                tmux, s, rows = self.full_tmux()
                s.flush()
                story = Story(s, seed, width=38, words=words)
                believed = 60, 16

                def show(frame):
                    if story.random.random() < 0.5:
                        tmux.resize(story.random.randrange(20, 90), believed[1])
                    tmux.feed(frame)
                s.show = show
                for _ in range(60):
                    story.step()
                    if story.random.random() < 0.3:
                        believed = story.random.randrange(20, 90), story.random.randrange(14, 30)
                        tmux.resize(*believed)
                        s.resize(*believed)
                        story.narrow(min(38, believed[0] - 4))
                        story.show_live()
                    s.flush()
                self.assertEqual(lost(rows + story.committed, tmux.rows()), [])

    def change_size(self, tmux, s, story):
        """Returns what it is in the end."""
        for when in range(story.random.randrange(1, 4)):
            size = story.random.randrange(20, 90), story.random.randrange(14, 30)
            tmux.resize(*size)
            if when == 0:
                s.flush()
                s.do("hold")
            story.step()
            frames = len(s.frames)
            s.do("flush")
            self.assertEqual(len(s.frames), frames)
        return size

    def test_giving_the_terminal_away_while_the_width_changes_loses_no_row(self):
        for how in ("pause", "end"):
            with self.subTest(how):
                tmux, s, rows = self.full_tmux()
                s.live("x" * 50, "y" * 50, "> ", cursor=(2, 2))
                s.flush()
                tmux.resize(20, 16)
                s.resize(20, 16)  # which is gone already
                tmux.resize(60, 16)
                s.do("hold")
                s.commit("the last row")
                s.do(how)
                if how == "pause":
                    s.do("resume")
                    s.resize(60, 16)
                    s.flush()
                self.assertEqual(lost([*rows, "the last row"], tmux.rows()), [])


def lost(wanted, rows):
    """Those of the wanted rows that are not there, in this order. A row may stand behind a stale
    one."""
    text, missing, at = "\n".join(rows) + "\n", [], 0
    for row in wanted:
        found = text.find(row + "\n", at)
        if found < 0:
            missing.append(row)
        else:
            at = found + len(row)
    return missing


# ---- what the other tests rely on

class CheckerTest(unittest.TestCase):
    def problems(self, text, **options):
        raw = text if isinstance(text, bytes) else text.encode()
        return terminal_checker.check(raw, **options)

    def test_what_is_allowed(self):
        for text in ("plain text\r\n\ttab", "\x1b[1;31mred\x1b[m", "\x1b[38;5;208mx\x1b[0m",
                     "日本 é \U0001f600", "a\r\nb\r\n\x1b[2A\x1b[J\x1b[K\x1b[3C\x1b[2D\x1b[B",
                     "\x1b[?2004h\x1b[?1004h\x1b[?25l\x1b[?25h\x1b[?2026h\x1b[?2026l",
                     "\x1b[>1u\x1b[<u\x1b[>4;1m\x1b[>4m", "\x1b[?u\x1b[?2026$p\x1b[>q\x1b[c",
                     "\x1b]2;title\x1b\\\x1b]0;title\a",
                     "\x1b]8;;https://x.org/\x1b\\x\x1b]8;;\x1b\\",
                     "\x1b]9;done\x1b\\\x1b]52;c;aGk=\x1b\\\x1b]11;?\x1b\\\a",
                     "\x1b[?1049h\x1b[2J\x1b[H\x1b[5;7Hx\x1b[?1049l"):
            with self.subTest(text):
                self.assertEqual(self.problems(text), [])

    def test_what_is_not(self):
        for text in ("\x1b[2J", "\x1b[3J", "\x1b[1J", "\x1b[1K", "\x1b[S", "\x1b[2T", "\x1b[1;5r",
                     "\x1b[H", "\x1b[3;4H", "\x1b[3;4f", "\x1b[3d", "\x1b[5G", "\x1b[E", "\x1b[L",
                     "\x1b[s", "\x1b[u", "\x1b7", "\x1bM", "\x1bc", "\x1b[6n", "\x1b[?1000h",
                     "\x1b[?7l", "\x1b[?7la\r\nb\x1b[?7h", "\x1b[4h", "\x1b[!p", "\x1bP1$t\x1b\\", "\x1b_x\x1b\\",
                     "\x1b]4;1;red\x1b\\", "\x1b]1337;x\x1b\\", "\x1b]8;;a b\x1b\\", "\x1b[1;31;M",
                     "\x1b[2", "\x1b]2;title", "a\bb", "\x7f", "\x0e", "a\u202eb", "\u200b",
                     "\x9b2J", b"\xff", "\x1b[?1049h\x1b[?1049l\x1b[2J"):
            with self.subTest(text):
                self.assertNotEqual(self.problems(text), [])

    def test_pictures(self):
        question = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
        picture = "\r\n\r\n\x1b[2A\x1b_Ga=T,f=100,q=2,C=1,c=4,r=3,m=0;AAAA\x1b\\\x1b[2B"
        for text, graphics, right in (
                (question, None, False), (question, "asked", True), (picture, "asked", False),
                (picture, "shown", True), (picture.replace("r=3", "r=4"), "shown", False),
                ("x" + picture.replace("\r\n", ""), "shown", False),
                (picture.replace("AAAA", "A A"), "shown", False),
                (picture.replace("a=T", "a=t"), "shown", False)):
            with self.subTest(text=text, graphics=graphics):
                self.assertEqual(self.problems(text, graphics=graphics) == [], right)
        self.assertNotEqual(self.problems(question, graphics="shown", plain=True), [])

    def test_the_cursor_stays_in_the_live_area(self):
        self.assertEqual(self.problems("\r\n" * 40 + "\x1b[11A", rows=24), [])
        self.assertNotEqual(self.problems("\r\n" * 40 + "\x1b[12A", rows=24), [])
        erased = "\r\n" * 40 + "\x1b[8A\x1b[J"
        self.assertEqual(self.problems(erased + "\x1b[11A", rows=24), [])
        self.assertNotEqual(self.problems(erased + "\x1b[6A\x1b[J\x1b[12A", rows=24), [])

    def test_live_rows_keep_clear_of_the_last_column(self):
        for width, right in ((79, True), (80, False)):
            text = "a\r\nb\x1b[A\r" + "x" * width
            self.assertEqual(self.problems(text) == [], right)

    def test_a_window_change_between_two_bytes(self):
        text = "\r\n" * 30 + "é\x1b[14A\x1b[J"
        raw = text.encode()
        for cut in range(len(raw) - 8):
            self.assertEqual(self.problems(raw, rows=10, resizes=[(cut, 80, 12)]), [], cut)
        self.assertNotEqual(self.problems(raw, rows=10), [])

    def test_plain_and_dumb(self):
        self.assertEqual(self.problems("\x1b[1mbold\x1b[m\r\n", plain=True), [])
        self.assertNotEqual(self.problems("\x1b[A", plain=True), [])
        self.assertNotEqual(self.problems("\x1b[?2004h", plain=True), [])
        self.assertNotEqual(self.problems("\x1b[1mbold\x1b[m\r\n", dumb=True), [])


class HarnessTest(TerminalTest):
    def script(self, text, **options):
        return self.terminal(["sh", "-c", text], env=clean_env(), cwd=self.dir, **options)

    def test_input_output_and_exit(self):
        t = self.script("printf 'name? '; read name; echo \"hello $name\"; exit 7")
        t.wait_for("name? ")
        t.send("world\n")
        t.wait_for(re.compile("^hello world$", re.M))
        self.assertEqual(t.wait_exit(), 7)
        self.assertEqual(t.all_rows(), ["name? world", "hello world"])

    def test_what_does_not_come_is_a_failure(self):
        t = self.script("echo something; sleep 100")
        with self.assertRaisesRegex(AssertionError, "something"):
            t.wait_for("something else", timeout=0.3)
        with self.assertRaises(AssertionError):
            t.wait_exit(timeout=0.2)

    def test_forbidden_output_is_found_at_the_end(self):
        t = self.script("printf 'x\\033[2Jy'")
        t.wait_exit()
        with self.assertRaisesRegex(AssertionError, "2J"):
            t.close()

    def test_the_program_has_a_terminal_of_its_own(self):
        t = self.script("trap 'stty size' WINCH; stty size < /dev/tty; while :; do sleep 0.1; done",
                        columns=90, rows=30)
        t.wait_for("30 90")
        t.resize(50, 12)
        t.wait_for("12 50")

    def test_questions_are_answered(self):
        ask = ("stty raw -echo; printf '\\033[?u\\033[c'; dd bs=1 count=%d 2> /dev/null | "
               "od -An -c; stty sane")
        t = self.script(ask % len(b"\x1b[?0u\x1b[?62;22c"), answers=MODERN)
        self.assertIn("2   c", t.wait_for(re.compile("0   u.*\n?.*c", re.S))[0])
        silent = self.script("printf '\\033[c'; sleep 100", answers=SILENT)
        silent.wait_idle()
        self.assertEqual(silent.raw, b"\x1b[c")

    def test_a_terminal_that_takes_nothing(self):
        t = self.script("echo begun; seq 1 20000 > /dev/tty; echo finished", rows=50)
        t.wait_for("begun")
        t.pause_reading()
        held = len(t.raw)
        time.sleep(0.2)
        self.assertEqual(len(t.raw), held)
        self.assertIsNone(t.child.poll())
        t.resume_reading()
        t.wait_for("finished")

    def test_hanging_up(self):
        t = self.script("trap 'touch hung; exit 3' HUP; echo ready; while :; do sleep 0.05; done")
        t.wait_for("ready")
        t.hang_up()
        self.assertEqual(t.child.wait(PATIENCE), 3)
        self.assertTrue(os.path.exists(self.path("hung")))

    def test_nothing_is_left_behind(self):
        t = self.script("trap '' TERM HUP; echo ready; while :; do sleep 0.05; done")
        t.wait_for("ready")
        t.close()
        with self.assertRaises(ProcessLookupError):
            os.kill(t.pid, 0)
        self.assertEqual(t.child.returncode, -signal.SIGKILL)

    def test_a_program_in_tmux(self):
        tmux = self.tmux(["sh", "-c", "stty size; read line; echo \"got $line\"; sleep 100"],
                         columns=70, rows=15)
        tmux.wait_for("15 70")
        tmux.send_text("some words")
        tmux.send_keys("Enter")
        tmux.wait_for("got some words")


if __name__ == "__main__":
    unittest.main()
