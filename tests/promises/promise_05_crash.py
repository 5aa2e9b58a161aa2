#!/usr/bin/python3
"""Promise 5: a crash at any point of a tool turn leaves a session that goes on. ikigai is killed
after each line it prints, and at random moments, alone and with its process group; what it left is
gone on with at the same provider, and a copy of it at every other one (after a random moment: at
one of the others). A kill that comes after the end of the run is repeated. The same with a turn
that fills the context, killed after each line: before, while and after the model writes a summary.
Names of formats as arguments restrict it to those."""
import concurrent.futures
import os
import random
import sys
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.dirname(os.path.abspath(__file__))]
import hostile
from fake_llm import FakeLLM
from model_runs import (CALLS, FORMATS, WINDOW, Stage, TurnScript, compare_summary, full_script,
                        go_on, messages, run_killed, set_window, unanswered)
from saved import remove_database

KILLS = 1000  # of each format in full
LATE = 20  # kills per one that must be in time, at most

class Trial:
    """All that is done for one format of the provider that crashed."""

    def __init__(self, name, quick):
        self.name, self.quick = name, quick
        self.model = FORMATS[name].model
        self.boundaries = self.moments = self.interrupted = self.summaries = 0
        self.resumed = self.failed = 0
        self.wrong = []
        self.random = random.Random(name)

    def run(self):
        with FakeLLM(TurnScript(), FORMATS[self.name].dialect) as first, Stage() as stage, \
                Stage() as other:
            for each in (stage, other):
                each.write("project/a.txt", "x\ny\n")
            stage.serve(first)
            lines, self.seconds = self.whole(stage)
            for count, group in self.choose_boundaries(lines):
                self.boundaries += self.crash_in_time(stage, other, first, group, count)
            for number in range(3 if self.quick else KILLS - self.boundaries):
                self.moments += self.crash_in_time(stage, other, first, number % 2 == 1)
            self.fill_context(other)
            # A connection that breaks off with the program is no fault.
            self.wrong += [p for p in first.problems if not p.startswith("connection ")]
        return self

    def choose_boundaries(self, lines):
        """(lines printed, whether the group is killed). Quick: the formats share them."""
        for count in range(lines + 1):
            for group in (False, True):
                turn = (2 * count + group) % len(FORMATS)
                if not self.quick or turn == list(FORMATS).index(self.name):
                    yield count, group

    def whole(self, stage):
        """How many lines a turn has that is not killed, and how long it takes."""
        begin = time.monotonic()
        lines, _ = run_killed(stage, stage.headless(self.model))
        if lines[-1] != {"type": "done", "reason": "end_turn"} or unanswered(lines) \
                or len(messages(lines, "tool_result")) != sum(CALLS) \
                or not any(line["type"] == "reasoning_delta" for line in lines) \
                or not any(line["type"] == "tool_progress" for line in lines):
            self.wrong.append(f"the turn is not what it should be: {lines}")
        return len(lines), time.monotonic() - begin

    def crash_in_time(self, stage, other, first, group, count=None):
        """A crash after count lines or at a random moment; whether it came before the end. Behind
        the last line that is a matter of luck."""
        for _ in range(LATE):
            if count is None:
                moment = self.random.uniform(0, self.seconds)
                when, how = f"after {moment:.3f} s", {"after": moment}
            else:
                when, how = f"after line {count}", {"count": count}
            if self.crash(stage, other, first, when, group=group, **how):
                return True
            if count is None:
                self.seconds = moment  # the machine is faster now than when it was measured
        return False

    def crash(self, stage, other, first, when, **how):
        """Goes on at the others (quick, and at random moments: one of them) with copies, then at
        the same one with what the dead left. Returns whether the run was killed before its end."""
        remove_database(stage.home)
        lines, killed = run_killed(stage, stage.headless(self.model), **how)
        if not killed:
            return False
        self.interrupted += len(unanswered(lines))
        others = [name for name in FORMATS if name != self.name]
        one = self.quick or "after" in how
        for name in [others[self.resumed % len(others)]] if one else others:
            self.judge(go_on(other, lines, name, first.memory, source=stage), name, when)
        self.judge(go_on(stage, lines, self.name, first.memory), self.name, when)
        stage.serve(first)
        return True

    def fill_context(self, other):
        """A turn with a summary, killed after each line it prints."""
        with FakeLLM(full_script, FORMATS[self.name].dialect) as first, Stage() as stage:
            stage.write("project/a.txt", "x\ny\n")
            count, whole = 0, False
            while not whole:
                remove_database(stage.home)
                stage.serve(first)
                set_window(stage, WINDOW)
                lines, killed = run_killed(stage, stage.headless(self.model), count=count)
                whole = not killed
                set_window(stage, None)
                self.summaries += killed
                others = [name for name in FORMATS if name != self.name]
                name = others[count % len(others)]
                for at, where, source in ((other, name, stage), (stage, self.name, None)):
                    self.judge(go_on(at, lines, where, first.memory, source=source,
                                     check=compare_summary), where, f"in a full turn, {count} lines")
                count += 3 if self.quick else 1
            if len(messages(lines, "compaction")) != 1:
                self.wrong.append(f"a turn without a summary: {lines}")
            self.wrong += [p for p in first.problems if not p.startswith("connection ")]

    def judge(self, complaints, name, when):
        self.resumed += 1
        self.failed += bool(complaints)
        self.wrong += [f"{self.name} {when}, on with {name}: {c}" for c in complaints]


def run_trial(name, quick):
    return Trial(name, quick).run()


def main():
    quick = "--quick" in sys.argv[1:]
    names = [name for name in FORMATS if name in sys.argv[1:]] or list(FORMATS)
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        trials = list(pool.map(run_trial, names, [quick] * len(names)))

    def total(name):
        return sum(getattr(trial, name) for trial in trials)
    wrong = [line for trial in trials for line in trial.wrong]
    few = 3 if quick else KILLS - 2  # behind its last line a run may always be over
    if any(t.boundaries + t.moments < few for t in trials) or not total("interrupted"):
        wrong.append("too few runs were killed in time: nothing is proved")
    for line in wrong[:20]:
        print(line)
    kept = 100 * (total("resumed") - total("failed")) / total("resumed")
    hostile.conclude(5, not wrong, (
        f"{len(trials)} formats, killed alone or with the process group at {total('boundaries')} "
        f"boundaries of events, {total('summaries')} of a turn with a summary and "
        f"{total('moments')} random moments, "
        f"{total('interrupted')} calls cut off: {total('resumed')} sessions gone on with, at the "
        f"same and at other providers: {kept:.4g} %"))


if __name__ == "__main__":
    main()
