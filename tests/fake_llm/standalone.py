"""The server as a program of its own."""
import argparse
import gc
import json
import signal
import sys
import threading

from fake_llm.answer import Call, from_json
from fake_llm.fast import FastLLM
from fake_llm.server import FakeLLM
from fake_llm.validators import DIALECTS


def options():
    parser = argparse.ArgumentParser(prog="fake_llm", description="A scripted model server.")
    parser.add_argument("--port", type=int, default=0, help="0: the system chooses")
    parser.add_argument("--script", help='a JSON file: [answer, …] or {"answers": […], "repeat": '
                        'true}')
    parser.add_argument("--dialect", choices=DIALECTS, default="openai")
    parser.add_argument("--no-validate", dest="check", action="store_false")
    parser.add_argument("--fast", type=int, metavar="TURNS", help="for benchmarks: so many calls "
                        "of a tool, then a text, over and over")
    parser.add_argument("--tool", default="glob")
    parser.add_argument("--args", type=json.loads, default={"pattern": "*"})
    parser.add_argument("--beside", action="store_true", help="with --fast: requests that do not "
                        "offer the tool get another text and are not counted")
    parser.add_argument("--text", default="Done.")
    parser.add_argument("--log", help="where to write what happened at the end (default: stdout)")
    return parser.parse_args()


def script_of(path):
    if path is None:
        return []
    with open(path, encoding="utf-8") as f:
        value = json.load(f)
    repeat = isinstance(value, dict) and value.get("repeat", False)
    answers = value["answers"] if isinstance(value, dict) else value
    made = [from_json(answer) for answer in answers]
    if not repeat:
        return made
    return lambda request: made[(request.number - 1) % len(made)]


def wait_for_signal():
    stop = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)
    return lambda: signal.sigwait(stop)


def main():
    given = options()
    wait = wait_for_signal()  # before any thread begins: all inherit the mask
    if given.fast is not None:
        lines = run_fast(given, wait)
    else:
        lines = run_script(given, wait)
    out = open(given.log, "w", encoding="utf-8") if given.log else sys.stdout
    with out:
        out.writelines(line + "\n" for line in lines)
    return 0


def run_script(given, wait):
    with FakeLLM(script_of(given.script), given.dialect, given.check, port=given.port) as llm:
        print(llm.url, flush=True)
        wait()
    return [json.dumps({"method": r.method, "path": r.path, "json": r.json, "outcome": r.outcome,
                        "problems": r.problems}) for r in llm.requests]


def run_fast(given, wait):
    """Each line: received and sent in ns of CLOCK_MONOTONIC, bytes of the request. Then what was not
    counted, and problems."""
    llm = FastLLM(given.fast, Call(given.tool, given.args), given.text, check=given.check,
                  dialect=given.dialect, port=given.port, beside=given.beside)
    gc.collect()
    gc.freeze()
    gc.disable()
    threading.Thread(target=llm.run, daemon=True).start()
    print(llm.url, flush=True)
    wait()
    return (["%d %d %d" % times for times in llm.timings()]
            + [f"# beside: {size} bytes" for size in llm.beside] + [f"# {p}" for p in llm.problems])
