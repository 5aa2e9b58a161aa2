"""Measures `ikigai acp` as an editor sees it: the first answer after the start, memory with an open
session, and the tokens of an answer that are passed on.

The yardsticks are cat, which answers with the line that it gets, and the same answer headless.
"""
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

from bench_tools import IKIGAI, report
from bench_turns import Server, environment, stream_cpu, stream_script

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}


class Editor:
    """A program that answers lines of JSON on a pipe."""

    def __init__(self, command, env=None):
        self.begin = time.monotonic_ns()
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(self, method, params, id):
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == id:
                return message["result"]

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def first_answer_ms(self):
        self.send(INITIALIZE)
        self.process.stdout.readline()
        return (time.monotonic_ns() - self.begin) / 1e6

    def resident_mb(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024

    def end(self):
        """CPU time in ms."""
        self.process.stdin.close()
        self.process.stdout.read()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = status
        return (usage.ru_utime + usage.ru_stime) * 1000


def bench_first_answer(env):
    ours, theirs = [], []
    for _ in range(25):
        for times, command in ((ours, [IKIGAI, "acp"]), (theirs, ["cat"])):
            editor = Editor(command, env)
            times.append(editor.first_answer_ms())
            editor.end()
    report("acp: exec to the answer of initialize", statistics.median(ours), "ms", "cat",
           statistics.median(theirs), 15, absolute=True)


def bench_memory(scratch, env):
    figures = []
    for command in ([IKIGAI, "acp"], ["cat"]):
        editor = Editor(command, env)
        editor.first_answer_ms()
        if command != ["cat"]:
            editor.ask("session/new", {"cwd": scratch, "mcpServers": []}, 1)
            time.sleep(0.5)  # tools are found meanwhile
        figures.append(editor.resident_mb())
        editor.end()
    report("acp: resident with an open session, before the first prompt", figures[0], "MB", "cat",
           figures[1], 8, absolute=True)


def streamed_cpu(scratch, tokens):
    """CPU time of a prompt whose answer has that many tokens."""
    spent = []
    with Server(scratch, "--script", stream_script(scratch, tokens)) as server:
        for _ in range(6):
            editor = Editor([IKIGAI, "acp", "-m", "openai/gpt-5"],
                            environment(scratch, server.url))
            editor.first_answer_ms()
            new = editor.ask("session/new", {"cwd": scratch, "mcpServers": []}, 1)
            editor.ask("session/prompt", {"sessionId": new["sessionId"], "prompt": [
                {"type": "text", "text": "go"}]}, 2)
            spent.append(editor.end())
    return statistics.median(spent[1:])  # the first one fills the cache of schemas


def bench_stream(scratch):
    few, many = streamed_cpu(scratch, 1000), streamed_cpu(scratch, 11000)
    headless_few, headless_many = (stream_cpu(scratch, n)[0] for n in (1000, 11000))
    report("acp: CPU of 1,000 streamed tokens", (many - few) / 10, "ms", "ikigai -p",
           (headless_many - headless_few) / 10, 10, absolute=True)


def main():
    scratch = tempfile.mkdtemp(prefix="ikigai-bench-")
    try:
        env = environment(scratch, "http://127.0.0.1:9")
        bench_first_answer(env)
        bench_memory(scratch, env)
        bench_stream(scratch)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
