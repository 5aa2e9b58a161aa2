"""make bench-peers: the report of the release agrees with the pinned versions and with its own
figures, and an agent is measured as the report says. Other agents are not needed."""
import copy
import json
import os
import struct
import sys
import unittest
import xml.etree.ElementTree as ElementTree

from support import ROOT, ScratchTest

sys.path.append(os.path.join(ROOT, "bench"))
import peer_agents
import peer_report
import peer_run
import peers

HEADLESS = {"request", "turn", "turns", "bytes"}
TERMINAL = {"screen", "prompt_memory", "turns_memory"}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.about = json.loads(read("docs", "reports", "peers.json"))
        self.pins = json.loads(read("bench", "peers.json"))

    def test_the_report_of_the_release_has_the_pinned_versions(self):
        ours, *others = self.about["agents"]
        self.assertEqual(ours["name"], "ikigai")
        self.assertEqual({agent["name"]: {key: agent[key] for key in ("package", "version")}
                          for agent in others}, self.pins)

    def test_every_pin_has_an_agent(self):
        self.assertEqual([agent.name for agent in peer_agents.AGENTS], ["ikigai", *self.pins])

    def test_text_and_plot_are_made_of_the_figures(self):
        self.assertEqual(peer_report.format_report(self.about), read("docs", "reports", "peers.md"))
        drawn = peer_report.plot.draw_peers(self.about, peer_report.panels(self.about))
        self.assertEqual(drawn, read("docs", "reports", "peers.svg"))
        texts = [e.text for e in ElementTree.fromstring(drawn).iter() if e.tag.endswith("}text")]
        for agent in self.about["agents"]:
            self.assertEqual(texts.count(peer_report.title_of(agent)), len(peer_report.FIGURES))

    def test_what_is_missing_has_a_reason(self):
        for agent in self.about["agents"]:
            for way, keys in (("headless", HEADLESS), ("terminal", TERMINAL)):
                for key in keys:
                    if peer_report.value_of(agent, key) is None:
                        self.assertIn(way, agent["notes"]["failed"], (agent["name"], key))

    def test_a_figure_that_is_missing(self):
        about = copy.deepcopy(self.about)
        agent = about["agents"][1]
        agent["notes"]["failed"] = {"terminal": "no prompt after 600 s"}
        for key in TERMINAL:
            del agent["figures"][key]
        text = peer_report.format_report(about)
        row = next(line for line in text.splitlines()
                   if line.startswith(f"| {peer_report.title_of(agent)} |"))
        self.assertEqual(row.count("| - "), len(TERMINAL))
        self.assertIn("failed on a terminal: no prompt after 600 s.\n", text)
        drawn = peer_report.plot.draw_peers(about, peer_report.panels(about))
        self.assertEqual(drawn.count(">not measured<"), len(TERMINAL))

    def test_a_busy_machine_is_told(self):
        self.about["load"] = 1000
        self.assertIn("its load was 1000.0 at", peer_report.format_report(self.about))
        self.about["load"] = 0.1
        self.assertNotIn("busy", peer_report.format_report(self.about))

    def test_the_median_counts(self):
        self.assertEqual(peer_report.value_of({"figures": {"turn": [9, 1, 2]}}, "turn"), 2)
        self.assertIsNone(peer_report.value_of({"figures": {"installed": [None]}}, "installed"))


class Short(peer_run.Subject):
    turns = 3
    settle = unpacked = 0


class Idle(peer_agents.Ikigai):
    """One whose tool does not run the command."""
    tool, command = "glob", "pattern"


class Broken(peer_agents.Ikigai):
    def headless(self, question):
        return ["/bin/sh", "-c", "echo it is broken; exit 3"]

    interactive = headless


class RunTest(ScratchTest):
    def subject(self, agent):
        return Short(agent, None, self.dir)

    def test_ikigai_is_measured(self):
        subject = self.subject(peer_agents.Ikigai)
        subject.measure(counted=False)
        self.assertEqual((subject.figures, subject.failed), ({}, {}))
        self.assertFalse(os.path.exists(os.path.join(subject.project, "proof")))
        subject.measure(counted=True)
        self.assertEqual(subject.notes(), {"failed": {}, "beside": [0]})
        self.assertEqual(set(subject.figures), HEADLESS | TERMINAL)
        for key, values in subject.figures.items():
            self.assertEqual(len(values), 1)
            if os.geteuid() == 0 or not key.endswith("_memory"):  # which ikigai hides from others
                self.assertGreater(values[0], 0, key)
        self.assertLess(subject.figures["request"][0], subject.figures["turns"][0])
        self.assertEqual(peer_run.descendants(set()), [])

    def test_a_tool_that_does_nothing_is_noticed(self):
        with self.assertRaisesRegex(peer_run.Failed, "its tool did not run the command"):
            self.subject(Idle).prove()

    def test_an_agent_that_fails_is_not_tried_again(self):
        subject = self.subject(Broken)
        subject.failed["terminal"] = "not tried"
        subject.measure(counted=False)
        self.assertEqual(subject.notes()["failed"]["headless"], "exit status 3")
        self.assertIn("it is broken", subject.failed["headless"])
        subject.run = None
        subject.measure(counted=True)
        self.assertEqual(subject.figures, {})

    def test_the_size_of_a_folder(self):
        self.assertIsNone(peers.size_mb(self.dir))
        first = self.write("a/first", b"x" * 2**20)
        os.link(first, self.path("second"))
        self.write("b/third", b"x" * 2**19)
        self.assertEqual(peers.size_mb(self.dir), 1.5)

    def test_every_name_is_unknown(self):
        name = b"\x07example\x03org\0"
        question = name + struct.pack("!HH", 28, 1)
        extra = b"\0" + struct.pack("!HHIH", 41, 1232, 0, 0)  # EDNS
        said = peers.no_such_name(struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 1) + question + extra)
        number, flags, *counts = struct.unpack("!HHHHHH", said[:12])
        self.assertEqual((number, flags & 0x8000, flags & 0xF), (7, 0x8000, 3))
        self.assertEqual(counts, [1, 0, 0, 0])
        self.assertEqual(said[12:], question)


if __name__ == "__main__":
    unittest.main()
