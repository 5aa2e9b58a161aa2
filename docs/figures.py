"""The figures in the README: a few lines of the reports of the release, in docs/reports."""
import json
import os
import sys

DOCS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(DOCS)
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "tests")]
import figure_table
import report

# The label in the README: the beginning of the figure's name in the report.
MEASURED = {
    "from starting it to a prompt you can type at": "exec to first typeable frame",
    "from a key to its echo (median)": "key to echo, a new draft: p50",
    "memory at the prompt": "resident at the prompt",
    "memory after 50 tool turns": "50 tool turns, peak resident",
    "overhead of a tool turn": "overhead of a tool turn, the tool's spawn taken off",
    "wake-ups in 30 s of doing nothing": "wake-ups in 30 s of nothing, after a turn",
    "a word in the sources of Linux": "grep literal",
    "100,000 messages resumed": "100,000 messages resumed",
}
PROVED = (1, 7, 15, 26)  # named in the README


def read(name):
    with open(os.path.join(DOCS, "reports", name), encoding="utf-8") as f:
        return json.load(f)


def measured(benchmarks):
    rows = []
    for words, beginning in MEASURED.items():
        figure = next(f for f in benchmarks["figures"] if f["name"].startswith(beginning))
        rows.append([words, *figure_table.row(figure)[1:3]])
    return rows


def proved(promises):
    rows = {row["number"]: row for row in promises["promises"]}
    kept = sum(row["verdict"] == "kept" for row in rows.values())
    return (f"{kept} of {len(rows)} promises kept, among them:\n\n"
            + "".join(f"- {rows[n]['promise']}\n" for n in PROVED if n in rows))


def section():
    benchmarks, promises = read("benchmarks.json"), read("promises.json")
    return (f"{report.describe(benchmarks['machine'])} {benchmarks['date']}.\n\n"
            + report.table(["", "ikigai", "beside it"], measured(benchmarks))
            + "\n" + proved(promises))
