"""The table of docs/promises.md with the figures of a run: printed, and kept as a report.

The full proofs take hours, so several runs may fill the report: each replaces the figures that it
proved and leaves the rest. Every figure has its date, its commit and the seconds it took."""
import os
import re

import report

PROMISES = os.path.join(report.ROOT, "docs", "promises.md")
KEPT, BROKEN, SKIPPED, UNPROVED = "kept", "BROKEN", "skipped", "NO TEST"
TITLE = ["#", "promise", "figure wanted", "verdict", "figure", "seconds", "date"]


def promised():
    """number -> (promise, proof, figure wanted)"""
    with open(PROMISES, encoding="utf-8") as f:
        rows = re.findall(r"^\|\s*(\d+)\s*\|\s*(.*?)\s*\|\s*(.*?)\s*\|\s*(.*?)\s*\|$", f.read(), re.M)
    return {int(number): words for number, *words in rows}


class Table:
    """complete: a promise without a proof is a failure."""

    def __init__(self, complete, quick):
        self.complete, self.quick = complete, quick
        self.promises, self.proofs = promised(), {}

    def add(self, name, verdict, figure, seconds):
        """name is that of the file that proves it, promise_NN_words."""
        number = int(re.search(r"promise_(\d+)", name)[1])
        self.proofs[number] = {"number": number, "verdict": verdict, "figure": figure,
                               "seconds": round(seconds, 1), "date": report.today(),
                               "commit": report.commit()}
        if not self.quick:
            self.save()

    def show(self):
        """Prints the table. Returns the number of promises without a proof, plus that of proofs
        without a promise."""
        wanted = {n for n in self.promises if self.complete or n in self.proofs}
        print()
        for number in sorted(wanted | self.proofs.keys()):
            print(f"{number:>3}  {self.promises.get(number, ['not in docs/promises.md'])[0]}")
            proof = self.proofs.get(number, {"verdict": UNPROVED, "figure": ""})
            print(f"     {proof['verdict']}: {proof['figure']}".removesuffix(": "))
        return len(wanted ^ self.proofs.keys())

    def save(self):
        """Figures of another machine or version are dropped."""
        about = {"version": report.version(), "machine": report.machine()}
        before = report.read_json("promises.json") or {}
        same = all(before.get(key) == value for key, value in about.items())
        proofs = {p["number"]: p for p in before["promises"]} if same else {}
        proofs.update(self.proofs)
        rows = []
        for number, (promise, proof, wanted) in sorted(self.promises.items()):
            figures = proofs.get(number, {"number": number, "verdict": UNPROVED, "figure": "",
                                          "seconds": None, "date": None, "commit": None})
            rows.append({**figures, "promise": promise, "proof": proof, "wanted": wanted})
        report.write_json("promises.json", {**about, "promises": rows})
        report.write("promises.md", self.format(about, rows))

    @staticmethod
    def format(about, rows):
        figures = [[r["number"], r["promise"], r["wanted"], r["verdict"], r["figure"],
                    "" if r["seconds"] is None else f"{r['seconds']:.0f}", r["date"] or ""]
                   for r in rows]
        return (f"# Promises of ikigai {about['version']}: the figures\n\n"
                "Written by `make promises`. How each is proved stands in `docs/promises.md`.\n\n"
                f"{report.describe(about['machine'])}\n\n{report.table(TITLE, figures)}")
