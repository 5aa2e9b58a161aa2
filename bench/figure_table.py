"""The figures of a run as a table: printed, and saved as a report in Markdown, as JSON and as a
plot (plot.py).

A figure is a line that a benchmark prints (see run), and the name of that benchmark.
"""
import re

import plot
import report

TITLE = ["name", "value", "yardstick", "ratio", "budget", "met", "peers' own figures"]


def number(value, unit=""):
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return "" if value is None else str(value)
    text = f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"
    return f"{text} {unit}".strip()


def row(figure):
    if "skipped" in figure:
        return [figure["name"], f"skipped: {figure['skipped']}"]
    unit = figure.get("unit") or ""
    yardstick = figure.get("yardstick") or ""
    measured = number(figure.get("yardstick_value"), unit)
    met = figure.get("met")
    return [figure["name"], number(figure["value"], unit),
            f"{yardstick}: {measured}" if yardstick and measured else yardstick + measured,
            number(figure.get("ratio")), budget(figure),
            "" if met is None else "yes" if met else "NO", figure.get("peers") or ""]


def budget(figure):
    of_ratio = figure.get("budget_of") == "ratio"
    return number(figure.get("budget"), "×" if of_ratio else figure.get("unit") or "")


def missed(figures):
    return [f for f in figures if f.get("met") is False]


def show(figures):
    align([TITLE] + [row(f) for f in figures])


def align(rows):
    """Prints rows, of which the first is the title. One with fewer cells says why a figure was
    skipped, which may extend over the other columns."""
    title = rows[0]
    widths = [max(len(r[i]) for r in rows if i == 0 or len(r) == len(title))
              for i in range(len(title))]
    for cells in rows:
        print(" | ".join(c.ljust(w) for c, w in zip(cells, widths)).rstrip())


# ---- the report

def compiler(program):
    """The compiler that a program names in itself. Every program also has parts of the C library,
    which gcc compiled."""
    with open(program, "rb") as f:
        found = re.findall(rb"\0((?:GCC: |[\w ]*clang version )[ -~]+)", f.read())
    found.sort(key=lambda words: b"clang" not in words)
    return found[0].decode() if found else None


def describe_run(program, compared):
    return {"version": report.version(), "commit": report.commit(), "date": report.today(),
            "machine": report.machine(), "compared": {"compiler": compiler(program), **compared}}


def save(about, figures):
    report.write_json("benchmarks.json", {**about, "figures": figures})
    report.write("benchmarks.svg", plot.draw(about, figures))
    report.write("benchmarks.md", format_report(about, figures))


def format_report(about, figures):
    versions = "; ".join(filter(None, about["compared"].values()))
    text = (f"# Benchmarks of ikigai {about['version']}: the figures\n\n"
            "Written by `make bench`. What is measured and how stands in `docs/benchmarks.md`. "
            "Each yardstick was measured in the same run; a budget is for the value or, with ×, for the "
            f"ratio.\n\n{report.describe(about['machine'])} {about['date']}, commit "
            f"{about['commit']}. Versions: {versions}.\n\n"
            "![Start, memory and a turn beside their yardsticks](benchmarks.svg)\n")
    if missed(figures):
        text += section("Missed", missed(figures))
    for benchmark in dict.fromkeys(f["benchmark"] for f in figures):
        text += section(benchmark.capitalize(), [f for f in figures if f["benchmark"] == benchmark])
    return text


def section(heading, figures):
    """Omits empty columns."""
    rows = [row(f) for f in figures]
    rows = [TITLE] + [cells + [""] * (len(TITLE) - len(cells)) for cells in rows]
    columns = [column for column in zip(*rows) if any(column[1:])]
    title, *rows = [list(cells) for cells in zip(*columns)]
    return f"\n## {heading}\n\n{report.table(title, rows)}"
