"""The pictures of the README show what the program does, and cells become what they were."""
import contextlib
import io
import os
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

from support import ROOT

DOCS = os.path.join(ROOT, "docs")
sys.path.append(DOCS)
import make_picture
import terminal_svg
from terminal_svg import Style

SVG = "{http://www.w3.org/2000/svg}"


def runs(captured):
    return [[(run.column, run.cells, run.text) for run in row]
            for row in terminal_svg.parse_rows(captured)]


def styles(captured):
    return [run.style for row in terminal_svg.parse_rows(captured) for run in row]


class PicturesTest(unittest.TestCase):
    def test_they_show_what_the_program_does(self):
        done = subprocess.run([sys.executable, os.path.join(DOCS, "make_picture.py"), "--check"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=1200)
        self.assertEqual(done.returncode, 0, f"{done.stdout}\ndocs/make_picture.py makes them again")

    def read(self, name):
        with open(make_picture.path_of(name), encoding="utf-8") as f:
            return f.read()

    def is_same(self, name, svg):
        with contextlib.redirect_stdout(io.StringIO()):
            return make_picture.check(name, svg)

    def test_a_difference_is_seen_figures_aside(self):
        svg = self.read("session")
        self.assertTrue(self.is_same("session", svg))
        self.assertTrue(self.is_same("session", svg.replace(" tokens<", "7 tokens<")
                                     .replace("agent 1", "agent 12,345.6")))
        for old, new in (("return", "retrun"), ("fill: #87d787", "fill: #87d788"), ("bold", "dim"),
                         ("<text y=", "<text id='' y="), ("</svg>", "<text>more</text></svg>")):
            self.assertIn(old, svg)
            self.assertFalse(self.is_same("session", svg.replace(old, new)), new)

    def test_times_are_figures(self):
        shown = {make_picture.without_figures(f"<tspan>  {time}</tspan>")
                 for time in ("7 ms", "233 ms", "1.2 s")}
        self.assertEqual(len(shown), 1)

    def test_they_are_whole(self):
        for name in make_picture.PICTURES:
            root = ElementTree.fromstring(self.read(name))
            _, _, width, height = map(float, root.get("viewBox").split())
            spans = list(root.iter(SVG + "tspan"))
            self.assertGreater(len(spans), 40 if name in ("session", "custom-tool") else 12)
            for span in spans:
                self.assertLessEqual(float(span.get("x")) + float(span.get("textLength")),
                                     width - terminal_svg.SIDE + 0.1)
            for text in root.iter(SVG + "text"):
                self.assertLess(float(text.get("y")), height)


class CellsTest(unittest.TestCase):
    def test_a_style_goes_on_until_it_is_changed(self):
        self.assertEqual(styles("\x1b[1ma\nb\x1b[0mc"),
                         [Style(bold=True), Style(bold=True), Style()])

    def test_attributes(self):
        for code, name in ((1, "bold"), (2, "dim"), (3, "italic"), (4, "underline"),
                           (7, "reverse"), (9, "strike")):
            self.assertEqual(styles(f"\x1b[{code}mx"), [Style(**{name: True})])
        self.assertEqual(styles("\x1b[1;2;3;4;7;9m\x1b[22;23;24;27;29mx"), [Style()])
        self.assertEqual(styles("\x1b[31;42m\x1b[39;49mx\x1b[31m\x1b[my"), [Style()])

    def test_colours(self):
        for codes, colour in (("31", 1), ("97", 15), ("38;5;208", 208),
                              ("38;2;1;22;255", "#0116ff")):
            self.assertEqual(styles(f"\x1b[{codes}mx"), [Style(fg=colour)])
        self.assertEqual(styles("\x1b[38;5;1;48;5;255;1mx"), [Style(fg=1, bg=255, bold=True)])
        for colour, value in ((16, "#000000"), (208, "#ff8700"), (231, "#ffffff"),
                              (232, "#080808"), (255, "#eeeeee"), ("#123456", "#123456")):
            self.assertEqual(terminal_svg.colour_value(colour), value)

    def test_a_curled_line_is_a_line(self):
        self.assertEqual(styles("\x1b[4:3mx"), [Style(underline=True)])

    def test_what_is_no_style_is_left_out(self):
        self.assertEqual(runs("a\x1b]8;;file:///x\x1b\\b\x1b]8;;\x07c\x1b[?25hd"),
                         [[(0, 4, "abcd")]])

    def test_columns(self):
        self.assertEqual(runs("a漢字b\n  ─e\u0301x"),
                         [[(0, 1, "a"), (1, 4, "漢字"), (5, 1, "b")],
                          [(0, 2, "  "), (2, 1, "─"), (3, 2, "e\u0301x")]])

    def test_rows_keep_their_places(self):
        self.assertEqual(runs("\na\n\nb\n\n\n"), [[], [(0, 1, "a")], [], [(0, 1, "b")]])

    def draw(self, captured, columns=10, cursor=(0, 0)):
        return ElementTree.fromstring(terminal_svg.draw(captured, columns, cursor, "<t>", "d & e"))

    def test_text_stays_text(self):
        root = self.draw('if a < b && "c":\n    \x1b[1mgo\x1b[0m &amp;')
        rows = ["".join(row.itertext()) for row in root.iter(SVG + "text")]
        self.assertEqual(rows, ["<t>", 'if a < b && "c":', "    go &amp;"])

    def test_reverse_exchanges_colours(self):
        root = self.draw("\x1b[7;31mx\x1b[0m")
        box = [r for r in root.iter(SVG + "rect") if r.get("fill") == terminal_svg.PALETTE[1]]
        (span,) = root.iter(SVG + "tspan")
        self.assertEqual(len(box), 1)
        self.assertIn(terminal_svg.BACKGROUND, span.get("style"))

    def test_the_cursor_is_in_its_cell(self):
        root = self.draw("> ", cursor=(0, 2))
        cursor = list(root.iter(SVG + "rect"))[-1]
        self.assertAlmostEqual(float(cursor.get("x")), terminal_svg.SIDE + 2 * terminal_svg.CELL)


if __name__ == "__main__":
    unittest.main()
