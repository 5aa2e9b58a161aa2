#!/usr/bin/python3
"""Promise 5: a crash at any point of a tool turn leaves a session that goes on. ikigai is killed
after each line it prints, and at random moments; what it had printed as stored is the session that
another process goes on with, at the same provider and at every other one."""
import concurrent.futures
import os
import random
import select
import signal
import subprocess
import sys
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.dirname(os.path.abspath(__file__))]
import hostile
from fake_llm import Answer, Call, FakeLLM, Memory, Text, Thinking, Wire
from model_runs import FORMATS, Stage, go_on, history_of, lines_of, messages, unanswered

LIMIT = 60  # seconds that nothing here needs
SLOWLY = Wire(delay_event=0.002)  # so that there are moments between the events
# Three tool turns and a last word: texts before and between calls and none at all, a tool that
# fails, one that reports progress, parallel ones.
TURN = [
    Answer(parts=[Thinking("First I look around."), Text("Let me look."),
                  Call("file_read", {"file_path": "a.txt"}), Call("glob", {"pattern": "*.txt"}),
                  Call("bash", {"command": "echo one; sleep 0.02; echo two"})], wire=SLOWLY),
    Answer(parts=[Thinking("Then I try."), Text("Now this."),
                  Call("bash", {"command": "echo three; exit 3"}), Text("And that."),
                  Call("file_read", {"file_path": "missing"})], wire=SLOWLY),
    Answer(parts=[Thinking("Only calls."), Call("grep", {"pattern": "x"}),
                  Call("glob", {"pattern": "*"})], wire=SLOWLY),
    Answer("All done.", thinking="I am done.", wire=SLOWLY),
]
CALLS = [sum(isinstance(part, Call) for part in answer.parts) for answer in TURN]


def script(request):
    """By what the request holds already: a request of a killed ikigai takes no answer away."""
    results = len(history_of(request).results)
    return TURN[[sum(CALLS[:n]) for n in range(len(TURN))].index(results)]


# ---- being killed

def read_until(child, count, deadline):
    """What it printed, up to count lines (None: all of it)."""
    text = b""
    while count is None or text.count(b"\n") < count:
        if not select.select([child.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
            raise AssertionError("ikigai does not end")
        block = os.read(child.stdout.fileno(), 1 << 16)
        if not block:
            return text
        text += block
    return b"".join(line + b"\n" for line in text.split(b"\n")[:count])


def run_killed(stage, model, count=None, after=None):
    """(the lines seen, whether it was killed in time): killed when count lines were read, or after
    so many seconds."""
    child = stage.spawn(stage.headless(model), stderr=subprocess.DEVNULL)
    if after is not None:
        time.sleep(after)
        child.kill()
    text = read_until(child, count, time.monotonic() + LIMIT)
    child.kill()
    child.stdout.close()
    status = child.wait()
    if status not in (0, -signal.SIGKILL):
        raise AssertionError(f"ikigai ended with {status}: {text[-2000:]}")
    return lines_of(text), status == -signal.SIGKILL


# ---- going on

def is_step_cut(log):
    """Whether the last answer of the model is there only in part."""
    answers = [m for m in messages(log) if m["kind"] in ("assistant", "tool_call")]
    first = max((n for n, m in enumerate(answers) if "model" in m["data"]), default=0)
    return bool(answers) and len(answers) - first < answers[first]["data"].get("step", 0)


def memory_for(name, log, memory):
    """What the server knows that is gone on with. Responses wants reasoning with every call or with
    none: an answer that lost a call goes without, and so does all before it, which is what a server
    accepts that has never seen any of it."""
    return Memory() if name == "responses" and is_step_cut(log) else memory


class Trial:
    """All that is done for one format of the provider that crashed."""

    def __init__(self, name, quick):
        self.name, self.quick = name, quick
        self.model = FORMATS[name].model
        self.boundaries = self.moments = self.killed = self.interrupted = 0
        self.resumed = self.failed = 0
        self.wrong = []
        self.random = random.Random(name)

    def run(self):
        with FakeLLM(script, FORMATS[self.name].dialect) as first, Stage() as stage, \
                Stage() as after:
            for each in (stage, after):
                each.write("project/a.txt", "x\ny\n")
            stage.serve(first)
            lines, seconds = self.whole(stage)
            for count in range(lines + 1):
                log, killed = run_killed(stage, self.model, count=count)
                self.boundaries += 1
                self.killed += killed
                self.take(after, first.memory, log, f"after line {count}")
            for _ in range(5 if self.quick else 100):
                moment = self.random.uniform(0, seconds)
                log, killed = run_killed(stage, self.model, after=moment)
                self.moments += 1
                self.killed += killed
                self.take(after, first.memory, log, f"after {moment:.3f} s")
            # A connection that breaks off with the program is no fault.
            self.wrong += [p for p in first.problems if not p.startswith("connection ")]
        return self

    def whole(self, stage):
        """How many lines a turn has that nobody kills, and how long it takes."""
        begin = time.monotonic()
        lines, _ = run_killed(stage, self.model)
        if lines[-1] != {"type": "done", "reason": "end_turn"} or unanswered(lines) \
                or len(messages(lines, "tool_result")) != sum(CALLS) \
                or not any(line["type"] == "reasoning_delta" for line in lines) \
                or not any(line["type"] == "tool_progress" for line in lines):
            self.wrong.append(f"the turn is not what it should be: {lines}")
        return len(lines), time.monotonic() - begin

    def take(self, stage, memory, log, when):
        """Goes on with the log at the same provider and at the others (quick: one of them)."""
        others = [name for name in FORMATS if name != self.name]
        chosen = [others[self.resumed % len(others)]] if self.quick else others
        self.interrupted += len(unanswered(log))
        for name in [self.name] + chosen:
            complaints = go_on(stage, log, name, memory_for(name, log, memory))
            self.resumed += 1
            self.failed += bool(complaints)
            self.wrong += [f"{self.name} {when}, on with {name}: {c}" for c in complaints]


def run_trial(name, quick):
    return Trial(name, quick).run()


def main():
    quick = "--quick" in sys.argv[1:]
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        trials = list(pool.map(run_trial, FORMATS, [quick] * len(FORMATS)))

    def total(name):
        return sum(getattr(trial, name) for trial in trials)
    wrong = [line for trial in trials for line in trial.wrong]
    if total("killed") < total("boundaries") / 2 or not total("interrupted"):
        wrong.append("hardly any run was killed in the middle: nothing is proved")
    for line in wrong[:20]:
        print(line)
    kept = 100 * (total("resumed") - total("failed")) / total("resumed")
    hostile.conclude(5, not wrong, (
        f"{len(trials)} formats, killed at {total('boundaries')} boundaries of events and "
        f"{total('moments')} random moments ({total('killed')} in time), {total('interrupted')} "
        f"calls cut off: {total('resumed')} sessions gone on with, at the same and at other "
        f"providers: {kept:.4g} %"))


if __name__ == "__main__":
    main()
