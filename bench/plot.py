"""Draws the most important figures of a run: start, memory, a turn. Also draws ikigai beside other
agents.

One row per program on a common scale, names on the left and values on the right, so that no label
overlaps a mark or another label. Dots instead of bars, because on a logarithmic scale the length of
a bar has no meaning. The output depends only on the figures.
"""
import math
import re
from string import Template
from xml.sax.saxutils import escape

# Names as in the benchmarks.
PANELS = [
    ("Start", "ms", ["exec to first typeable frame", "exec to first request"]),
    ("Memory", "MB", ["resident at the prompt", "resident after a turn, libcurl loaded",
                      "50 tool turns, peak resident"]),
    ("A turn", "ms", ["overhead of a tool turn, the tool's spawn taken off",
                      "a tool turn at 450 to 500"]),
]
PEERS = "other agents, by their own word"
FOOTNOTE = "Hatched: what other agents say of themselves in their own trackers, not measured here."

WIDTH = 880
MARGIN = 32
LEFT, RIGHT = 276, 728  # of the scales
ROW, HEAD, GAP = 21, 26, 8  # heights: a program, the name of a figure, between figures
WIDEST_NAME = 34  # characters

RULES = Template("""
.page { fill: $page } text { fill: $text } .faint { fill: $faint } .grid { stroke: $line }
.ours { fill: $ours } .theirs { fill: $page; stroke: $faint } .mark { stroke: $budget }
.budget { fill: $budget } .missed { fill: $missed } .guide, .stripe, .range { stroke: $peers }
""")
LIGHT = RULES.substitute(page="#ffffff", text="#1f2328", faint="#646c76", line="#dfe3e8",
                         ours="#0a7d5a", budget="#b35309", missed="#c5221f", peers="#9aa2ad")
DARK = RULES.substitute(page="#14171c", text="#e8eaed", faint="#9aa4b0", line="#2c323b",
                        ours="#3ddba4", budget="#f0a04b", missed="#ff7b72", peers="#6f7884")
STYLE = f"""
text {{ font: 13px system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif }}
.title {{ font-size: 20px; font-weight: 650 }} .panel {{ font-size: 16px; font-weight: 650 }}
.figure {{ font-weight: 600 }} .small {{ font-size: 11.5px }} .ours, .missed {{ font-weight: 650 }}
.value {{ font-variant-numeric: tabular-nums }} .theirs, .mark, .stripe {{ stroke-width: 2 }}
.guide {{ stroke-dasharray: 1 4 }} .range {{ fill: url(#stripes) }}
{LIGHT}@media (prefers-color-scheme: dark) {{{DARK}}}
"""


def plain(value):
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"


def worded(value, unit):
    return "not measured" if value is None else f"{plain(value)} {unit}"


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


class Figure:
    """The marks of one figure. A program without a value has a row without a mark."""

    def __init__(self, name, unit, programs=()):
        self.name, self.unit = name, unit
        self.programs = list(programs)  # (kind, name, value)
        self.gap = self.peers = self.budget = self.budget_words = None
        self.missed = False

    def numbers(self):
        numbers = [value for _, _, value in self.programs if value is not None]
        return numbers + list(self.peers or ()) + ([self.budget] if self.budget else [])

    def rows(self):
        return len(self.programs) + bool(self.peers)


class Measured(Figure):
    """What a benchmark said; values that are not positive are left out."""

    def __init__(self, name, unit, said):
        super().__init__(name, unit)
        if said and is_number(said.get("value")):
            self.read(said)
        else:
            self.gap = why_missing(said)

    def read(self, said):
        self.programs.append(("ours", "ikigai", said["value"]))
        if is_number(said.get("yardstick_value")):
            self.programs.append(("theirs", said["yardstick"], said["yardstick_value"]))
        self.peers = parse_range(said.get("peers"), self.unit)
        self.missed = said.get("met") is False
        if is_number(said.get("budget")):
            self.read_budget(said)

    def read_budget(self, said):
        self.budget_words = f"budget {plain(said['budget'])} "
        if said.get("budget_of") == "ratio":
            self.budget = said["budget"] * said["yardstick_value"]
            self.budget_words += f"×, {plain(self.budget)} {self.unit}"
        else:
            self.budget = said["budget"]
            self.budget_words += self.unit
        if self.missed:
            self.budget_words += ", missed"


def why_missing(said):
    if said and "skipped" in said:
        return f"skipped: {said['skipped']}"
    return "not measured in this run"


def parse_range(text, unit):
    """(470, 930) for "470-930 ms"; None if it is in another unit."""
    found = re.fullmatch(rf"([\d.]+)-([\d.]+) {unit}", text or "")
    return found and (float(found[1]), float(found[2]))


class Scale:
    """From zero, or logarithmic if the numbers differ by more than a factor of 20."""

    def __init__(self, numbers):
        self.logarithmic = max(numbers) / min(numbers) > 20
        if self.logarithmic:
            self.first, self.last = nice_below(min(numbers)), nice_above(max(numbers))
        else:
            self.first, self.last = 0, nice_above(max(numbers))

    def place(self, value):
        if self.logarithmic:
            share = math.log(value / self.first) / math.log(self.last / self.first)
        else:
            share = value / self.last
        return round(LEFT + share * (RIGHT - LEFT), 1)

    def ticks(self):
        if not self.logarithmic:
            return [self.last * i / 4 for i in range(5)]
        lowest = math.floor(math.log10(self.first))
        decades = [10.0 ** e for e in range(lowest, 1 + math.ceil(math.log10(self.last)))]
        return [t for t in decades if self.first <= t * 1.001 and t <= self.last * 1.001]


STEPS = (1, 2, 5, 10)


def nice_below(value):
    power = 10.0 ** math.floor(math.log10(value / 1.1))
    return max(s for s in STEPS if s * power <= value / 1.1) * power


def nice_above(value):
    power = 10.0 ** math.floor(math.log10(value * 1.1))
    return min(s for s in STEPS if s * power >= value * 1.1) * power


class Drawing:
    def __init__(self):
        self.parts, self.y = [], 0

    def add(self, element, words=None, **attributes):
        named = "".join(f' {k.rstrip("_")}="{escape(str(v), {chr(34): "&quot;"})}"'
                        for k, v in attributes.items())
        self.parts.append(f"<{element}{named}/>" if words is None else
                          f"<{element}{named}>{escape(words)}</{element}>")

    def text(self, x, y, words, class_, anchor="start"):
        self.add("text", words, x=x, y=y, class_=class_, **{"text-anchor": anchor})

    def line(self, x1, y1, x2, y2, class_):
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)

    # ---- from top to bottom, y goes down as it is drawn

    def head(self, about, title, theirs, budget):
        self.y += 46
        self.text(MARGIN, self.y, title, "title")
        self.y += 22
        machine = about["machine"]
        self.text(MARGIN, self.y, f"{machine['cpu']}, {machine['cores']} cores, "
                  f"{machine['system']}; {about['date']}", "faint")
        self.y += 28
        self.legend(theirs, budget)

    def legend(self, theirs, budget):
        y = self.y - 4
        self.add("circle", cx=MARGIN + 6, cy=y, r=5.5, class_="ours")
        self.text(MARGIN + 18, self.y, "ikigai", "faint")
        self.add("circle", cx=MARGIN + 86, cy=y, r=4.5, class_="theirs")
        self.text(MARGIN + 98, self.y, f"{theirs}, measured in the same run", "faint")
        if budget:
            self.line(MARGIN + 424, y - 8, MARGIN + 424, y + 8, "mark")
            self.text(MARGIN + 434, self.y, "its budget", "faint")
        self.y += 16

    def panel(self, title, unit, figures):
        self.y += 32
        self.text(MARGIN, self.y, title, "panel")
        numbers = [n for figure in figures for n in figure.numbers()]
        scale = Scale(numbers) if numbers else None
        if scale:
            kind = "logarithmic scale" if scale.logarithmic else "linear scale"
            self.text(RIGHT, self.y, f"{unit}, {kind}", "faint small", "end")
        self.y += 6
        for figure in figures:
            self.figure(figure, scale)
        if scale:
            self.axis(scale)

    def axis(self, scale):
        for tick in scale.ticks():
            self.text(scale.place(tick), self.y + 4, plain(tick), "faint small", "middle")
        self.y += 8

    def grid(self, scale, height):
        for tick in scale.ticks():
            x = scale.place(tick)
            self.line(x, self.y, x, self.y + height, "grid")

    def figure(self, figure, scale):
        self.y += HEAD
        self.text(MARGIN, self.y - 6, figure.name, "figure")
        if figure.gap:
            self.text(WIDTH - MARGIN, self.y - 6, figure.gap, "faint", "end")
        else:
            self.grid(scale, ROW * figure.rows())
        top = self.y
        for kind, name, value in figure.programs:
            self.program(scale, kind, name, value, figure.unit)
        if figure.peers:
            self.range(scale, figure)
        if figure.budget:
            self.budget(scale, figure, top)
        self.y += GAP

    def names(self, name, value, class_):
        shown = name if len(name) <= WIDEST_NAME else name[:WIDEST_NAME - 1] + "…"
        self.text(MARGIN + 14, self.y + 15, shown, class_)
        self.text(WIDTH - MARGIN, self.y + 15, value, f"{class_} value", "end")

    def program(self, scale, kind, name, value, unit):
        self.names(name, worded(value, unit), "ours" if kind == "ours" else "faint")
        if value is not None:
            x, y = scale.place(value), self.y + 11
            self.line(LEFT, y, x, y, "guide")
            self.add("circle", cx=x, cy=y, r=5.5 if kind == "ours" else 4.5, class_=kind)
        self.y += ROW

    def range(self, scale, figure):
        low, high = figure.peers
        x = scale.place(low)
        self.names(PEERS, f"{plain(low)}–{plain(high)} {figure.unit}", "faint")
        self.add("rect", x=x, y=self.y + 6, width=round(scale.place(high) - x, 1), height=10, rx=2,
                 class_="range")
        self.y += ROW

    def budget(self, scale, figure, top):
        x = scale.place(figure.budget)
        self.line(x, top + 1, x, self.y - 1, "mark")
        self.text(WIDTH - MARGIN, top - 6, figure.budget_words,
                  "missed" if figure.missed else "budget", "end")

    def foot(self, footnote):
        self.y += 30 if footnote else 6
        if footnote:
            self.text(MARGIN, self.y, footnote, "faint small")
        self.y += MARGIN - 8


def describe(panels):
    """A description of the picture, for screen readers."""
    sentences = []
    for _, unit, figures in panels:
        for figure in figures:
            told = [f"{name} {worded(value, unit)}" for _, name, value in figure.programs]
            told += [figure.budget_words] if figure.budget else []
            if figure.peers:
                told.append(f"{PEERS} {plain(figure.peers[0])} to {plain(figure.peers[1])} {unit}")
            sentences.append(f"{figure.name}: {', '.join(told) or figure.gap}.")
    return " ".join(sentences)


def draw(about, figures):
    """An SVG picture. about: version, date and machine of the run."""
    said = {figure["name"]: figure for figure in figures}
    panels = [(title, unit, [Measured(name, unit, said.get(name)) for name in names])
              for title, unit, names in PANELS]
    drawing = Drawing()
    drawing.head(about, f"ikigai {about['version']}: start, memory, a turn", "its yardstick", True)
    return finish(drawing, panels, f"ikigai {about['version']}: start, memory and a turn beside "
                  "their yardsticks")


def draw_peers(about, panels):
    """An SVG picture of panels: title, unit and Figures with a row for each agent."""
    title = f"ikigai {about['version']} beside other agents"
    drawing = Drawing()
    drawing.head(about, title, "another agent", False)
    return finish(drawing, panels, title)


def finish(drawing, panels, title):
    for panel in panels:
        drawing.panel(*panel)
    drawing.foot(FOOTNOTE if any(f.peers for _, _, group in panels for f in group) else None)
    height = drawing.y
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-labelledby="title description">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="description">{escape(describe(panels))}</desc>',
        f"<style>{STYLE}</style>",
        '<defs><pattern id="stripes" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><line class="stripe" x1="0" y1="0" x2="0" y2="6"/></pattern>'
        "</defs>",
        f'<rect class="page" width="{WIDTH}" height="{height}" rx="10"/>',
        *drawing.parts, "</svg>"]) + "\n"
