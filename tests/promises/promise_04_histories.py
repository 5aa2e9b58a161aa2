#!/usr/bin/python3
"""Promise 4: any session can always be sent to any provider. Random histories, plausible ones cut,
reordered, doubled, mixed and damaged, are repaired and made into requests for every wire format, to
models that took part in the history and to others; strict validators must find nothing in any of
them, nor reasoning that does not belong to whom it is sent.

SEED=N chooses other histories, HISTORIES=N how many. A failure prints the smallest history that
shows it.
"""
import concurrent.futures
import json
import multiprocessing
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import hostile
from fake_llm.validators import validate
from histories import STORED, Pool, name_of, random_history
from support import OBJECTS

DRIVER = os.path.join(OBJECTS, "tests", "promises", "history_driver")
POOL_SIZE = 120  # answers of each model
WORKERS = 2
SHOWN = 3  # failures of each worker
POOL = None  # made before the workers are forked


def target(wire, provider, model, base_url="http://127.0.0.1:9/v1", thinking="unknown",
           dialect="openai"):
    return {"wire": wire, "format": "gemini" if wire == "google" else wire, "provider": provider,
            "model": model, "base_url": base_url, "thinking": thinking, "dialect": dialect}


TARGETS = [
    target("responses", "openai", "gpt-6-sol", thinking="effort"),
    target("responses", "openai", "gpt-5.6-luna", thinking="effort"),
    target("chat", "openai", "gpt-4.1", thinking="none"),
    target("chat", "openai", "gpt-5.6-luna", thinking="effort"),
    target("chat", "local", "qwen", dialect="plain"),
    target("chat", "local", "llama", dialect="plain"),
    target("chat", "mistral", "devstral", "https://api.mistral.ai/v1", dialect="mistral"),
    target("chat", "mistral", "large", "https://api.mistral.ai/v1", dialect="mistral"),
    target("chat", "deepseek", "chat", "https://api.deepseek.com", dialect="deepseek"),
    target("chat", "deepseek", "reasoner", "https://api.deepseek.com", dialect="deepseek"),
    target("anthropic", "anthropic", "claude-opus-5-5", thinking="adaptive"),
    target("anthropic", "anthropic", "claude-haiku-4-5", thinking="budget"),
    target("google", "google", "gemini-4-argon", thinking="level"),
    target("google", "google", "gemini-2.5-pro", thinking="budget"),
]
# What only a model's own reasoning has in it; the last one begins the signatures of fake_llm.
REASONING = (b'"signature":', b'"encrypted_content":', b'"reasoning_content":"Th',
             b'"thoughtSignature":"Z2VtaW5p')
PNG = b"iVBORw0KGgo"  # how the base64 of every png begins
TOOLS = [{"name": "glob", "description": "Find files", "parameters": {
    "type": "object", "properties": {"pattern": {"type": "string"}}, "required": ["pattern"]}}]


class Requests:
    """The driver as a function: a history to (what is wrong with its repair, bodies)."""

    def __init__(self):
        setting = json.dumps({"targets": TARGETS, "tools": TOOLS, "images": STORED})
        self.process = subprocess.Popen([DRIVER, "requests", setting], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def __call__(self, history):
        line = json.dumps(history, ensure_ascii=False).encode("utf-8", "surrogateescape")
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        out = self.process.stdout
        fault = out.readline()
        if not fault:
            raise ChildProcessError(f"history_driver ended: {self.process.wait()}")
        return fault.decode().strip(), [out.read(int(out.readline())) for _ in TARGETS]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def path_of(where):
    """Gemini's model is in the path."""
    if where["wire"] == "google":
        return f"/v1beta/models/{where['model']}:streamGenerateContent?alt=sse"
    return None


def problems_of(requests, history, memory, count=None):
    """count["reasoning"] goes up by the requests in which reasoning went back to its model,
    count["images"] by those with images."""
    fault, bodies = requests(history)
    if fault:
        return [f"repair: {fault}"]
    found = []
    if count is not None:
        count["histories"] += 1
        count["images"] += sum(PNG in body for body in bodies)
        count["reasoning"] += sum(any(mark in body for mark in REASONING) for body in bodies)
    for where, body in zip(TARGETS, bodies):
        for problem in validate(where["format"], path_of(where), None, body, where["dialect"], memory):
            found.append(f"{where['wire']} {name_of(where)}: {problem}")
    return found


def shrink(requests, history, memory):
    """Leaves out whatever is not needed for some problem to stay."""
    size = len(history)
    while size:
        at = 0
        while at < len(history):
            smaller = history[:at] + history[at + size:]
            if problems_of(requests, smaller, memory):
                history = smaller
            else:
                at += size
        size //= 2
    return history


def work(numbers, seed):
    """Checks these histories; returns (counts, [(number, problems, smallest history)])."""
    requests, failures, pool = Requests(), [], POOL
    count = {"histories": 0, "reasoning": 0, "images": 0}
    for number in numbers:
        history = random_history(random.Random(f"{seed} {number}"), pool)
        found = problems_of(requests, history, pool.memory, count)
        if found and len(failures) < SHOWN:
            history = shrink(requests, history, pool.memory)
            found = problems_of(requests, history, pool.memory)
        if found:
            failures.append((number, found[:3], history if len(failures) < SHOWN else None))
    requests.close()
    return count, failures


def show(number, problems, history):
    print(f"history {number}:")
    for message in history:
        print("   ", json.dumps(message))
    for problem in problems:
        print("  ->", problem)


def main():
    global POOL
    quick = "--quick" in sys.argv[1:]
    seed = int(os.environ.get("SEED", "1"))
    wanted = int(os.environ.get("HISTORIES", 1000 if quick else 100000))
    begin = time.monotonic()
    print(f"seed {seed}", flush=True)
    POOL = Pool(DRIVER, TARGETS, random.Random(seed), POOL_SIZE)
    with concurrent.futures.ProcessPoolExecutor(
            WORKERS, multiprocessing.get_context("fork")) as executor:
        started = [executor.submit(work, range(n, wanted, WORKERS), seed) for n in range(WORKERS)]
        done = [each.result() for each in started]
    count, reasoning, images = (sum(each[0][key] for each in done)
                                for key in ("histories", "reasoning", "images"))
    failures = sorted(failure for each in done for failure in each[1])
    for number, problems, history in failures:
        if history is not None:
            show(number, problems, history)
    print(f"{count / (time.monotonic() - begin):.0f} histories/s")
    # Where nothing comes back, nothing can be wrong with it.
    passed = count == wanted and not failures and min(reasoning, images) > count // 10
    hostile.conclude(4, passed, (
        f"{count:,} histories, {count * len(TARGETS):,} requests in 4 wire formats, {reasoning:,} of "
        f"them with reasoning, {images:,} with images: {len(failures)} invalid (seed {seed})"))


if __name__ == "__main__":
    main()
