"""What `make bench` leaves behind: the table, the report in its three forms, the plot."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

from support import ROOT, ScratchTest

BENCH = os.path.join(ROOT, "bench")
sys.path.append(BENCH)
import plot

SVG = "{http://www.w3.org/2000/svg}"
ABOUT = {"version": "9.8.7", "date": "2031-02-03",
         "machine": {"cpu": "A <fast> & quiet processor", "cores": 2, "system": "Debian"}}
SKIPPED, ABSENT = "skipped: it rained", "not measured in this run"


def figure(name, value, unit, yardstick=None, yardstick_value=None, budget=None, of="value",
           **more):
    return {"name": name, "value": value, "unit": unit, "yardstick": yardstick,
            "yardstick_value": yardstick_value, "budget": budget, "budget_of": of,
            "met": True, **more}


def all_figures():
    return [
        figure("exec to first typeable frame", 2.06, "ms", "empty program", 0.766, 15,
               peers="470-930 ms"),
        figure("exec to first request", 9.71, "ms", "minimal curl program", 6.32, 15),
        figure("resident at the prompt", 3.94, "MB", "cat", 1.75, 12, peers="120-390 MB"),
        figure("resident after a turn, libcurl loaded", 13.9, "MB", "cat", 1.75),
        figure("50 tool turns, peak resident", 14.5, "MB", "minimal curl program", 9.99, 16),
        figure("overhead of a tool turn, the tool's spawn taken off", 0.363, "ms",
               "minimal curl program, no tool", 0.0634, 2),
        figure("a tool turn at 450 to 500", 1.15, "ms", "at 5 to 55", 1.1, 1.5, of="ratio"),
    ]


class Picture:
    """A plot, parsed: texts with the room they take at most, and marks."""

    def __init__(self, figures):
        self.source = plot.draw(ABOUT, figures)
        self.root = ElementTree.fromstring(self.source)
        _, _, self.width, self.height = map(float, self.root.get("viewBox").split())

    def of(self, element, class_=None):
        return [e for e in self.root.iter(SVG + element) if class_ in (None, e.get("class"))]

    def texts(self):
        return [e.text for e in self.of("text")]

    def boxes(self):
        """(left, top, right, bottom, text). No font is wider than this on average."""
        for e in self.of("text"):
            size = {"title": 20, "panel": 16}.get(e.get("class").split()[0], 13)
            width = len(e.text) * size * 0.62
            left = float(e.get("x")) - width * {"start": 0, "middle": 0.5,
                                                "end": 1}[e.get("text-anchor")]
            y = float(e.get("y"))
            yield left, y - size * 0.8, left + width, y + size * 0.2, e.text


class PlotTest(unittest.TestCase):
    def test_every_figure_stands_beside_its_yardstick_and_budget(self):
        texts = Picture(all_figures()).texts()
        for words in ("2.06 ms", "empty program", "0.766 ms", "budget 15 ms", "470–930 ms",
                      "3.94 MB", "13.9 MB", "120–390 MB", "0.363 ms", "0.0634 ms",
                      "budget 1.5 ×, 1.65 ms"):
            self.assertIn(words, texts)
        self.assertEqual(texts.count("ikigai"), 1 + len(all_figures()))  # one is the legend

    def test_names_are_those_of_the_benchmarks(self):
        sources = ""
        for name in os.listdir(BENCH):
            if name.endswith(".py") and name.startswith("bench_"):
                with open(os.path.join(BENCH, name), encoding="utf-8") as f:
                    sources += f.read()
        for _, _, names in plot.PANELS:
            for name in names:
                self.assertRegex(sources, rf'"{re.escape(name)}(\{{name\}})?"')

    def test_marks_are_in_the_order_of_their_values(self):
        p = Picture(all_figures())
        ours, theirs = (float(p.of("circle", c)[1].get("cx")) for c in ("ours", "theirs"))
        budget = float(p.of("line", "mark")[1].get("x1"))
        peers = p.of("rect", "range")[0]
        self.assertTrue(plot.LEFT <= theirs < ours < budget < float(peers.get("x")), p.source)
        self.assertLessEqual(float(peers.get("x")) + float(peers.get("width")), plot.RIGHT)

    def test_logarithmic_where_numbers_differ_much_and_it_says_so(self):
        texts = Picture(all_figures()).texts()
        self.assertEqual(texts.count("ms, logarithmic scale"), 2)
        alike = [dict(f, yardstick_value=f["value"] / 2, budget=None, peers=None)
                 for f in all_figures()]
        texts = Picture(alike).texts()
        self.assertEqual(texts.count("ms, linear scale"), 2)
        self.assertIn("MB, linear scale", texts)

    def test_a_linear_scale_begins_at_zero(self):
        scale = plot.Scale([1, 2, 4])
        self.assertEqual(scale.place(0), plot.LEFT)
        self.assertAlmostEqual(scale.place(2) - plot.LEFT, 2 * (scale.place(1) - plot.LEFT), 0)

    def test_what_others_say_of_themselves_is_marked_as_such(self):
        self.assertIn(plot.FOOTNOTE, Picture(all_figures()).texts())
        self.assertIn("not measured here", plot.FOOTNOTE)
        silent = Picture([dict(f, peers=None) for f in all_figures()])
        self.assertNotIn(plot.FOOTNOTE, silent.texts())
        self.assertEqual(silent.of("rect", "range"), [])

    def test_a_missed_budget_is_said_to_be(self):
        figures = all_figures()
        figures[0].update(value=22.5, met=False)
        p = Picture(figures)
        self.assertEqual([e.text for e in p.of("text", "missed")], ["budget 15 ms, missed"])

    def test_a_missing_figure_is_a_gap(self):
        figures = all_figures()
        for i in range(len(figures)):
            p = Picture(figures[:i] + figures[i + 1:])
            self.assertEqual(p.texts().count(ABSENT), 1)
            self.assertIn(f"{figures[i]['name']}: {ABSENT}.", p.of("desc")[0].text)
        skipped = [{"name": figures[0]["name"], "skipped": "it rained"}, *figures[1:]]
        self.assertEqual(Picture(skipped).texts().count(SKIPPED), 1)
        self.assertEqual(Picture([]).texts().count(ABSENT), len(figures))

    def test_what_cannot_be_drawn_is_left_out(self):
        for value in (0, None, "exit status 1", True):
            figures = all_figures()
            figures[0]["value"] = value
            self.assertEqual(Picture(figures).texts().count(ABSENT), 1)
        figures = [dict(f, yardstick_value=None, budget=None, peers="much") for f in all_figures()]
        p = Picture(figures)
        self.assertEqual((len(p.of("circle", "theirs")), len(p.of("line", "mark"))), (1, 1))

    def test_texts_are_inside_and_apart(self):
        crowded = [dict(f, yardstick="a yardstick whose name goes on and on, without an end")
                   for f in all_figures()]
        for figures in (all_figures(), crowded, all_figures()[2:], []):
            p = Picture(figures)
            boxes = list(p.boxes())
            for i, (left, top, right, bottom, text) in enumerate(boxes):
                self.assertTrue(left >= 0 and top >= 0 and right <= p.width
                                and bottom <= p.height, text)
                for other in boxes[:i]:
                    self.assertTrue(left >= other[2] or other[0] >= right or top >= other[3]
                                    or other[1] >= bottom, (text, other[4]))

    def test_the_same_figures_make_the_same_picture(self):
        self.assertEqual(plot.draw(ABOUT, all_figures()), plot.draw(ABOUT, all_figures()))

    def test_those_who_do_not_see_it_are_told(self):
        p = Picture(all_figures())
        self.assertEqual(p.root.get("role"), "img")
        self.assertIn("9.8.7", p.of("title")[0].text)
        described = p.of("desc")[0].text
        for f in all_figures():
            self.assertIn(f"{f['name']}: ikigai {plot.plain(f['value'])} {f['unit']}", described)
        self.assertEqual(p.root.get("aria-labelledby").split(),
                         [p.of("title")[0].get("id"), p.of("desc")[0].get("id")])


class RunTest(ScratchTest):
    """bench/run as it is, with benchmarks of ours."""

    def setUp(self):
        super().setUp()
        for name in ("bench/run", "bench/figure_table.py", "bench/plot.py", "tests/report.py"):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), self.path(name))
        self.write("Makefile", "VERSION := 9.8.7\n")
        self.write("bin/ikigai", b"\x7fELF\0GCC: (Debian 1) 4.5.6\0Debian clang version 7.8.9\0")
        self.benchmark("search", {"compared": {"rg": "ripgrep 99"}},
                       figure("glob", 0.5, "s", "fd | sort", 1, 1, of="ratio", ratio=0.5))
        self.benchmark("turns", *all_figures()[:2])

    def benchmark(self, name, *said, status=0):
        lines = [line if isinstance(line, str) else json.dumps(line) for line in said]
        self.write(f"bench/bench_{name}.py",
                   f"print({chr(10).join(lines)!r})\nraise SystemExit({status})\n")

    def bench(self, *args, status=0):
        env = {**os.environ, "IKIGAI_REPORTS": self.path("reports"), "IKIGAI_OUT": self.dir}
        done = subprocess.run([sys.executable, self.path("bench/run"), *args], env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, status, done)
        return done.stdout

    def report(self, kind):
        with open(self.path("reports", f"benchmarks.{kind}"), encoding="utf-8") as f:
            return f.read()

    def test_all_is_printed_and_reported(self):
        printed = self.bench()
        self.assertRegex(printed,
                         r"(?m)^glob +\| 0.5 s +\| fd \| sort: 1 s +\| 0.5 +\| 1 × +\| yes")
        text = self.report("md")
        self.assertRegex(text, r"^# Benchmarks of ikigai 9\.8\.7")
        self.assertIn("ripgrep 99", text)
        self.assertIn("| glob | 0.5 s | fd \\| sort: 1 s | 0.5 | 1 × | yes |\n", text)
        self.assertEqual(re.findall("^## (.*)", text, re.M), ["Search", "Turns"])
        self.assertIn("(benchmarks.svg)", text)
        ElementTree.fromstring(self.report("svg"))

    def test_every_figure_is_kept_as_it_was_given(self):
        self.bench()
        kept = json.loads(self.report("json"))
        self.assertEqual(kept["version"], "9.8.7")
        self.assertEqual(kept["compared"], {"compiler": "Debian clang version 7.8.9",
                                            "rg": "ripgrep 99"})
        self.assertRegex(kept["date"], r"^\d{4}-\d\d-\d\d$")
        self.assertLessEqual({"cpu", "cores", "kernel"}, kept["machine"].keys())
        self.assertEqual(kept["figures"][1:],
                         [{"benchmark": "turns", **f} for f in all_figures()[:2]])

    def test_some_are_reported_only_when_asked(self):
        self.assertNotIn("glob", self.bench("turns"))
        self.assertFalse(os.path.exists(self.path("reports")))
        self.bench("--report", "turns")
        self.assertEqual(re.findall("^## (.*)", self.report("md"), re.M), ["Turns"])

    def test_what_was_missed_comes_first(self):
        self.benchmark("tools", figure("slow", 3, "s", "sed", 1, 2, of="ratio", met=False))
        self.assertRegex(self.bench(status=1), r"(?m)^missed: slow$")
        self.assertEqual(re.findall("^## (.*)", self.report("md"), re.M),
                         ["Missed", "Search", "Tools", "Turns"])
        self.assertEqual(self.report("md").count("| slow | 3 s |"), 2)

    def test_a_benchmark_that_fails_or_says_nothing(self):
        self.benchmark("store", {"name": "row", "skipped": "no disk"}, "rubbish", '{"no": "name"}',
                       "[]", status=3)
        self.benchmark("quiet")
        printed = self.bench(status=1)
        self.assertRegex(printed, r"(?m)^bench_store.py +\| exit status 3")
        self.assertRegex(printed, r"(?m)^bench_quiet.py +\| exit status 0")
        self.assertRegex(printed, r"(?m)^row +\| skipped: no disk$")
        self.assertIn("\n| row | skipped: no disk |", self.report("md"))
        self.assertEqual(len(json.loads(self.report("json"))["figures"]), 6)


if __name__ == "__main__":
    unittest.main()
