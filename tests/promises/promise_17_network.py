#!/usr/bin/python3
"""Promise 17: network misbehaviour costs at most the turn. A stream with thinking, text and a call
is cut at every byte, for every wire format; then everything else a server or a proxy can do wrong.
Whatever happens, the program ends by itself in time and in bounded memory, no call runs of a stream
that was not whole, what was shown is kept, and the session goes on."""
import concurrent.futures
import os
import random
import sys
from dataclasses import dataclass

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.dirname(os.path.abspath(__file__))]
import hostile
from fake_llm import Answer, Call, FakeLLM, Wire
from model_runs import (FORMATS, Stage, go_on, history_of, lines_of, messages, set_window,
                        unanswered)
from support import SHIPPED

DEADLINE = 60  # seconds; what takes longest waits for two watchdogs of a second and one retry
MEMORY_KB = 150 * 1024
QUICK_STEP = 17
LATE = 5  # seconds; an endless answer has come after one, where the machine is not busy
BUSY, WAITING = 2, 16  # processes for what computes, and for what mostly waits for a retry
# Only the one tool, so that the streams of Responses, which repeat all tools, stay short.
SETTINGS = {"tools": {name: {"enabled": False} for name in SHIPPED}}
# For servers that fall silent. On a busy machine any server can be silent for a second, so the others
# have the usual time.
WATCHFUL = {**SETTINGS, "silence_timeout_seconds": 3, "idle_stream_seconds": 3}
SILENCES = {"stall_after", "delay_head", "delay_body"}
DONE = "All done."


def answer(wire=None, text=""):
    return Answer(text or "Let me see.", thinking=None if text else "Hm, so.",
                  calls=[Call("mark", {"text": "it was run"})], fragments=1 if text else 2,
                  wire=Wire(**wire or {}))


# ---- cases

ANY, COMPLETE, BROKEN = "any", "complete", "broken"


@dataclass
class Case:
    name: str
    wire: dict  # how the first answer of the server travels; from then on it behaves
    outcome: str = ANY  # COMPLETE: the turn is done without a retry; BROKEN: not without one
    resume: bool = True  # and then the session is gone on with
    lossy: bool = False  # the events around it may be lost, and with them the call
    late: bool = False  # it comes before the level of confinement is known
    text: str = ""  # that the answer begins with, instead of thoughts


@dataclass
class Recording:
    """Where things are in the stream of a format."""
    length: int
    boundaries: list  # ends of the events
    visible: int  # nothing is shown before this byte
    terminal: int  # without this byte it is not whole
    texts: dict  # of ENDLESS: name -> (events up to the one with that text, that event)


# Text that comes over and over: plain, and of what takes the most room when it is made safe. With
# the plain one the session is gone on with; of the others a request says less than was shown.
ENDLESS = {"text": "All work and no play. " * 500, "lines": "x\n\n" * 3000,
           "escape sequences": "\x1b[31mred\x1b[0m\x1b]0;title\x07" * 400,
           "control characters": "\x01" * 10000}

# What makes a stream of each format whole.
TERMINAL = (b'"finish_reason":"tool_calls"', b'"type":"response.completed"',
            b'"stop_reason":"tool_use"', b'"finishReason":"STOP"')


def record(name):
    with FakeLLM(lambda _: answer(), FORMATS[name].dialect) as llm, Marked() as stage:
        stage.serve(llm)
        stage.run(stage.headless(FORMATS[name].model, "--max-turns", "1"), DEADLINE)
        pieces = llm.response(llm.requests[0], answer())[2]
        texts = {}
        for which, text in ENDLESS.items():
            events = llm.response(llm.requests[0], answer(text=text))[2]
            count = next(n for n, event in enumerate(events, 1) if len(event) > len(text))
            texts[which] = (count, events[count - 1])
    ends = [sum(map(len, pieces[:n + 1])) for n in range(len(pieces))]
    visible = next(n for n, piece in enumerate(pieces) if b"Hm" in piece)
    last = next(n for n, piece in enumerate(pieces) if any(mark in piece for mark in TERMINAL))
    # A data line that is all there counts, even when the connection ends before its line does.
    return Recording(ends[-1], ends, ends[visible] - 2, ends[last] - 2, texts)


WAYS = {"closed": {}, "reset": {"reset": True}, "ended": {"until_close": True}}


def places(recording, quick):
    """Where to cut: at every byte, or every so many and around the ends of events."""
    near = {end + d for end in recording.boundaries for d in (-1, 0, 1)}
    return [n for n in range(recording.length + 1)
            if not quick or n % QUICK_STEP == 0 or n in near]


def cuts(recording, quick):
    """(cases before anything is visible, and after). Before that the ways take turns: each costs
    the time until the retry."""
    early, late = [], []
    for number, n in enumerate(places(recording, quick)):
        turn = [list(WAYS)[number % len(WAYS)]]
        for way in turn if quick or n < recording.visible else WAYS:
            outcome = BROKEN if n < recording.terminal else ANY
            if n == recording.length and way == "ended":
                outcome = COMPLETE
            case = Case(f"{way} after byte {n}", {"cut_after": n, **WAYS[way]}, outcome,
                        n in recording.boundaries)
            (early if n < recording.visible else late).append(case)
    return early, late


def stalls(recording):
    last = len(recording.boundaries)
    pings = {"silent": b"", "comments": b": ping\n\n", "empty lines": b"\n",
             "pings": b'event: ping\ndata: {"type":"ping"}\n\n', "empty events": b"data: {}\n\n"}
    for events in (0, 1, last // 2, last - 1, last):
        for name, ping in pings.items():
            outcome = ANY if events >= last - 1 else BROKEN
            yield Case(f"stalled after event {events}, {name}",
                       dict(stall_after=events, stall_with=ping, stall_interval=0.05), outcome)
    yield Case("no head", dict(delay_head=5), BROKEN)
    yield Case("no body", dict(delay_body=5), BROKEN)


GARBAGE = {
    "binary": bytes(random.Random(1).randrange(256) for _ in range(20000)).replace(b"\n", b"\r"),
    "broken JSON": b'data: {"a": [1, 2\n\n', "no object": b"data: 7\n\n", "null": b"data: null\n\n",
    "not UTF-8": b'data: {"a":"\xff\xfe"}\n\n', "NUL": b"\0" * 5000 + b"\n\n",
    "an error": b'event: error\ndata: {"error":{"message":"no"}}\n\n',
    "HTML": b"<html><body>Bad Gateway</body></html>\n\n",
    "deep JSON": b"data: " + b"[" * 100000 + b"\n\n",
}
HEADS = {
    "nothing": b"", "SSH": b"SSH-2.0-OpenSSH_9.2\r\n", "binary": GARBAGE["binary"],
    "half a head": b"HTTP/1.1 200 OK\r\ncontent-ty", "no such version": b"HTTP/9.9 200 OK\r\n\r\n",
    "no status": b"HTTP/1.1 abc\r\n\r\n", "one line": b"HTTP/1.1 200 OK\r\n",
    "an endless line": b"HTTP/1.1 200 OK\r\nx: " + b"y" * (8 << 20),
    "endless lines": b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * (1 << 20),
    "only 100s": b"HTTP/1.1 100 Continue\r\n\r\n" * (1 << 16),
    "bad chunk": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\ndata",
    "huge chunk": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\ndata",
    "two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 5\r\n\r\nabcde",
    "unknown encoding": b"HTTP/1.1 200 OK\r\ntransfer-encoding: x\r\ncontent-length: 3\r\n\r\nabc",
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "switching": b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n\0\1\2",
}


def misbehaviour(recording, bomb):
    last = len(recording.boundaries)
    middle, gzip = last // 2, {"content-encoding": "gzip"}
    for name, head in HEADS.items():
        yield Case(f"instead of HTTP: {name}", dict(garbage_head=head), BROKEN)
    for name, garbage in GARBAGE.items():
        for events in (0, middle, last - 1):
            yield Case(f"{name} after event {events}",
                       dict(garbage=garbage, garbage_after=events), lossy=True)
    yield Case("compressed", dict(gzip=True), COMPLETE)
    yield Case("compressed, cut", dict(gzip=True, cut_after=200), BROKEN)
    yield Case("not compressed as it says", dict(headers=gzip), BROKEN)
    yield Case("a bomb", dict(gzip_bomb=bomb), BROKEN)
    yield Case("a bomb as an error", dict(gzip_bomb=bomb, status=500), BROKEN)
    for events in (0, middle, last - 1):
        yield Case(f"100 MB line after event {events}",
                   dict(huge_line=100 << 20, huge_after=events), BROKEN)
    for name, (events, event) in recording.texts.items():
        wire = dict(stall_after=events, stall_with=event, stall_interval=0)
        yield Case(f"endless {name}", wire, BROKEN, resume=name == "text", text=ENDLESS[name])
        yield Case(f"endless {name}, early", wire, BROKEN, resume=False, late=True,
                   text=ENDLESS[name])
    yield Case("100 MB error", dict(huge_line=100 << 20, huge_after=0, status=503), BROKEN)
    yield Case("100 MB of JSON", dict(plain_json=True, huge_line=100 << 20, huge_after=0), BROKEN)
    yield Case("endless error", dict(status=500, stall_after=0, stall_with=b"x" * 1000), BROKEN)
    yield Case("length too small", dict(content_length=True, headers={"content-length": "9"}),
               BROKEN)
    for length in ("99999999", "-1", "abc", "99999999999999999999"):
        yield Case(f"length {length}",
                   dict(content_length=True, close=True, headers={"content-length": length}))
    yield Case("single bytes", dict(chunk=1), COMPLETE)
    yield Case("with a length", dict(content_length=True), COMPLETE)
    yield Case("until the end", dict(until_close=True), COMPLETE)
    yield Case("not a stream", dict(plain_json=True), COMPLETE)
    yield Case("another type", dict(headers={"content-type": "text/html"}))
    yield Case("no type", dict(headers={"content-type": None}))


# ---- running

class Marked(Stage):
    """With a tool that leaves a line for each time it was run."""
    settings = SETTINGS

    def setUp(self):
        super().setUp()
        set_window(self, 10 ** 9)  # an endless answer is sent back whole, without a summary
        self.marker = self.path("project", "marker")
        self.late = hostile.late_keeper(self.path("late"), f"sleep {LATE}")
        hostile.sh_tool(self.path("home", ".ikigai", "tools"), "mark",
                        "cat >> marker; echo >> marker; echo '{}'",
                        parameters={"type": "object", "properties": {"text": {"type": "string"}},
                                    "required": ["text"]})

    def take_marks(self):
        try:
            with open(self.marker, "rb") as f:
                text = f.read()
            os.remove(self.marker)
        except FileNotFoundError:
            return []
        return text.split(b"\n")[:-1]


class Trial:
    """Cases of one format, one after the other, with one server."""

    def __init__(self, name, cases):
        self.name, self.cases = name, cases
        self.wrong, self.failed, self.retried, self.completed, self.most_kb = [], 0, 0, 0, 0
        self.pending = None

    def script(self, request):
        if history_of(request).results:
            return Answer(DONE)
        given, self.pending = self.pending, None
        return given or answer()

    def run(self):
        with FakeLLM(self.script, FORMATS[self.name].dialect) as llm, Marked() as stage, \
                Marked() as after:
            for case in self.cases:
                stage.settings = WATCHFUL if SILENCES & set(case.wire) else SETTINGS
                stage.serve(llm)
                problems = len(llm.problems)
                complaints = self.try_case(case, llm, stage, after)
                # Where the server lost its way, so may the connection, from our side.
                complaints += [p for p in llm.problems[problems:]
                               if not p.startswith("connection ")]
                self.failed += bool(complaints)
                self.wrong += [f"{self.name}, {case.name}: {c}" for c in complaints]
        self.cases = len(self.cases)  # the answers need not travel back
        return self

    def try_case(self, case, llm, stage, after):
        self.pending = answer(case.wire, case.text)
        before = len(llm.requests)
        argv = stage.headless(FORMATS[self.name].model)
        argv[0] = stage.late if case.late else argv[0]
        run = stage.run(argv, DEADLINE, apart=True)
        self.most_kb = max(self.most_kb, run.rss_kb)
        marks = stage.take_marks()
        if not run.in_time:
            return [f"no end after {DEADLINE} s"]
        if run.status not in (0, 1):
            return [f"ended with {run.status}: {run.err[-2000:]!r}"]
        lines = lines_of(run.out)
        wrong = [] if run.rss_kb <= MEMORY_KB else [f"{run.rss_kb} KB resident"]
        wrong += self.judge(case, run, lines, marks, len(llm.requests) - before)
        if case.resume and run.status == 1:
            wrong += go_on(after, lines, self.name, llm.memory, source=stage)
        return wrong + ([f"it printed {run.out[-3000:]!r} {run.err!r}"] if wrong else [])

    def judge(self, case, run, lines, marks, requests):
        """What must be true of the lines, whatever happened on the way."""
        retried = any(line["type"] == "retry" for line in lines)
        complete = run.status == 0
        self.retried += retried
        self.completed += complete
        wrong = []

        def demand(condition, text):
            if not condition:
                wrong.append(text)
        demand(lines[-1] == {"type": "done", "reason": "end_turn" if complete else "error"},
               "the status is not the reason")
        demand(len(marks) == len(messages(lines, "tool_call")), f"{len(marks)} calls were run")
        demand(len(marks) == complete or (case.lossy and not marks), f"{len(marks)} calls")
        demand(all(mark == b'{"text":"it was run"}' for mark in marks), f"half a call: {marks}")
        demand(not unanswered(lines), "a call has no result")
        demand(requests == 1 + retried + len(marks), f"{requests} requests")
        demand(case.outcome != COMPLETE or (complete and not retried), "it should be whole")
        demand(case.outcome != BROKEN or retried or not complete, "it should not be whole")
        shown = [line["type"] for line in lines[:position(lines, "retry")]]
        demand(not retried or not {"text_delta", "reasoning_delta"} & set(shown),
               "a retry after something was shown")
        demand(kept(lines) == shown_text(lines), f"kept {kept(lines)!r}")
        incomplete = [m["data"].get("incomplete", False) for m in messages(lines, "assistant")]
        demand(complete != any(incomplete) or not shown_text(lines), f"marked {incomplete}")
        return wrong


def position(lines, kind):
    return next((n for n, line in enumerate(lines) if line["type"] == kind), len(lines))


def kept(lines):
    return "".join(m["content"] for m in messages(lines, "assistant"))


def shown_text(lines):
    return "".join(line["text"] for line in lines if line["type"] == "text_delta")


def run_trial(name, cases):
    return Trial(name, cases).run()


def share(cases, number, quick):
    """All of them, or those that it is this format's turn to try."""
    return list(cases)[number::len(FORMATS)] if quick else list(cases)


def portions(jobs, size):
    """Large enough that starting a server does not matter, small enough to share out."""
    for name, cases in jobs:
        for begin in range(0, len(cases), size):
            yield name, cases[begin:begin + size]


def run_all(jobs, workers, size):
    jobs = list(portions(jobs, size))
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        return list(pool.map(run_trial, *zip(*jobs)))


def main():
    quick = "--quick" in sys.argv[1:]
    recordings = {name: record(name) for name in FORMATS}
    split = {name: cuts(recording, quick) for name, recording in recordings.items()}
    waiting = [(name, early) for name, (early, _) in split.items()]
    waiting += [(name, share(stalls(recordings[name]), n, quick))
                for n, name in enumerate(FORMATS)]
    others = [(name, share(misbehaviour(recordings[name], (1 if quick else 10) << 30), n, quick))
              for n, name in enumerate(FORMATS)]
    trials = run_all(waiting, WAITING, 8)
    cut = sum(len(early) + len(late) for early, late in split.values())
    trials += run_all([(name, late) for name, (_, late) in split.items()], BUSY, 50)
    trials += run_all(others, BUSY, 5)
    wrong = [line for trial in trials for line in trial.wrong]
    cases = sum(trial.cases for trial in trials)
    for line in wrong[:20]:
        print(line)
    figure = (f"{cut} cuts ({', '.join(WAYS)}) of {len(FORMATS)} streams and {cases - cut} other "
              f"misdeeds: {sum(t.retried for t in trials)} turns retried, "
              f"{sum(t.completed for t in trials)} done, "
              f"{sum(t.failed for t in trials)} wrong; at most "
              f"{max(t.most_kb for t in trials) // 1024} MB resident")
    hostile.conclude(17, not wrong, figure)


if __name__ == "__main__":
    main()
