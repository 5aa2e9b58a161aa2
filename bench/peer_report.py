"""The report of peers.py: a table with a row per agent, a plot, and the values of all rounds."""
import statistics

import plot
import report
from figure_table import number

# key: name and unit
FIGURES = {
    "screen": ("start to first screen", "ms"),
    "request": ("start to first request", "ms"),
    "turn": ("overhead of a turn", "ms"),
    "turns": ("50 turns", "ms"),
    "prompt_memory": ("memory at the prompt", "MB"),
    "turns_memory": ("memory after 50 turns", "MB"),
    "installed": ("installed size", "MB"),
    "bytes": ("first request", "B"),
}
PANELS = [("Start", "ms", ["screen", "request"]), ("Turns", "ms", ["turn", "turns"]),
          ("Memory", "MB", ["prompt_memory", "turns_memory"]), ("On disk", "MB", ["installed"]),
          ("On the wire", "B", ["bytes"])]
WAYS = {"headless": "without a terminal", "terminal": "on a terminal"}
METHOD = """\
- The agents ran one after the other in a network namespace with only the loopback interface,
  where every name is unknown at once. The model is `tests/fake_llm`, which answers at once.
  Updates, statistics and lists of models are turned off where an agent has a setting for it.
- Each agent has a home and a project of its own (a git repository of 20 small files), runs in its
  mode without questions and without confinement, and has its default settings otherwise.
- The prompt is `go`. The model calls the agent's own shell tool {turns} times with `true` and
  then says "Done.".
- Every figure is the median of {rounds} runs. Each agent ran once before them, which fills the
  caches and checks that its tool runs a command.
- **Start to first screen** ends when a key that is typed as soon as the prompt appears is on the
  screen, a terminal of 80 by 24. Measuring itself adds to it: a shell that prints a prompt and
  starts `cat` takes {floor}.
- **Start to first request**, **overhead of a turn** (from an answer to the next request, the
  shell and `true` included) and **50 turns** (from the start of the program to its end) are
  measured without a terminal.
- **Memory** is the proportional set size (PSS) of all processes of the agent, {settle} s after
  the first screen and {settle} s after "Done.".
- **Installed size** is the sum of the files that npm installs for the agent. For ikigai it is
  what `make install` installs, without debugging symbols. Node ({node}, {node_mb}), which some of
  them need, and the libraries of the system are not counted.
- **First request** is the size of the first request that offers the shell tool, with its header.
"""


def value_of(agent, key):
    """The median; None: not measured."""
    values = [v for v in agent["figures"].get(key) or [] if v is not None]
    return statistics.median(values) if values else None


def title_of(agent):
    return f"{agent['name']} {agent['version']}"


def rows(about):
    """The table: its title, then the agents."""
    table = [["agent", *(name for name, _ in FIGURES.values())]]
    for agent in about["agents"]:
        values = [(value_of(agent, key), unit) for key, (_, unit) in FIGURES.items()]
        table.append([title_of(agent),
                      *("-" if value is None else number(value, unit) for value, unit in values)])
    return table


def notes(about):
    """What there is to say about single agents."""
    lines = []
    for agent in about["agents"]:
        told = [f"speaks {agent['api']}", *agent["remarks"]]
        beside = agent["notes"]["beside"]
        if beside and beside[-1]:
            told.append(f"sent up to {beside[-1]} more requests in a run that do not offer the "
                        "tool (for a title, for example), which are not counted")
        told += [f"failed {WAYS[way]}: {reason.rstrip('.')}"
                 for way, reason in agent["notes"]["failed"].items()]
        lines.append(f"- **{agent['name']}** " + "; ".join(told) + ".")
    return lines


def panels(about):
    """As plot.py draws them."""
    ours = about["agents"][0]["name"]
    return [(title, unit,
             [plot.Figure(FIGURES[key][0], unit,
                          [("ours" if agent["name"] == ours else "theirs", title_of(agent),
                            value_of(agent, key)) for agent in about["agents"]]) for key in keys])
            for title, unit, keys in PANELS]


def save(about):
    report.write_json("peers.json", about)
    report.write("peers.svg", plot.draw_peers(about, panels(about)))
    report.write("peers.md", format_report(about))


def format_report(about):
    title, *table = rows(about)
    method = METHOD.format(turns=about["turns"], rounds=about["rounds"],
                           settle=about["settle"], node=about["node"],
                           node_mb=number(about["node_mb"], "MB"),
                           floor=number(about["echo_of_cat_ms"], "ms"))
    busy = about["load"] > about["machine"]["cores"] / 2
    return (f"# ikigai {about['version']} beside other agents\n\n"
            "Written by `make bench-peers`, which measures all agents in the same way. "
            f"{report.describe(about['machine'])} {about['date']}, commit {about['commit']}."
            + (f" **The machine was busy**: its load was {about['load']:.1f} at the start, so times"
               " are longer than on an idle one." if busy else "") + "\n\n"
            f"{report.table(title, table)}\n![The same figures as a plot](peers.svg)\n\n"
            f"## How it was measured\n\n{method}\n## The agents\n\n"
            + "\n".join(notes(about)) + "\n")
