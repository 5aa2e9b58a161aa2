"""Measures sub-agents: how much memory four of them take that work side by side, and whether their
requests are under way at the same time.

The yardstick is the same session whose model makes the four calls itself.
"""
import os
import shutil
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "tests"))
from bench_tools import report  # noqa: E402
from bench_turns import PROMPT, environment, peak_mb  # noqa: E402
from cast import Cast  # noqa: E402
from fake_llm import Answer, Call, FakeLLM  # noqa: E402

COUNT = 4
READ = Call("file_read", {"file_path": os.path.join(ROOT, "src/agent/turn.c")})


def peak(scratch, parts):
    """Peak memory of `ikigai -p go` in MB, the median of three; and the most requests at a time."""
    most = 0

    def answer(request):
        return cast[0](request)

    cast = [None]
    with FakeLLM(answer, validate=False) as llm:
        env = environment(scratch, llm.base_url("openai").removesuffix("/v1"))
        peaks = []
        for _ in range(3):
            cast[0] = Cast({name: list(answers) for name, answers in parts().items()})
            peaks.append(peak_mb(PROMPT, env, rounds=1))
            most = max(most, cast[0].most)
    return sorted(peaks)[1], most


def with_agents():
    """Each reads a file, then waits until all four have read it."""
    together = threading.Barrier(COUNT)

    def last(_):
        together.wait(60)
        return Answer("Done.")
    names = [f"task {i}" for i in range(COUNT)]
    return {"go": [Answer(calls=[Call("agent", {"prompt": name}) for name in names]), Answer("Done.")],
            **{name: [Answer(calls=[READ]), last] for name in names}}


def alone():
    return {"go": [Answer(calls=[READ] * COUNT), Answer("Done.")]}


def main():
    scratch = tempfile.mkdtemp(prefix="ikigai-bench-")
    try:
        peak(scratch, alone)  # fills the cache of schemas
        ours, most = peak(scratch, with_agents)
        bare, _ = peak(scratch, alone)
    finally:
        shutil.rmtree(scratch)
    report("memory of each of 4 sub-agents at work", max(ours - bare, 0) / COUNT, "MB",
           "the session without them", bare, 2, absolute=True)
    report("4 sub-agents: requests that wait for another one", COUNT - most, "", "", None, 0,
           absolute=True)


if __name__ == "__main__":
    sys.exit(main())
