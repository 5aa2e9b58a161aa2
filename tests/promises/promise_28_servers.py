#!/usr/bin/python3
"""Promise 28: somebody else's server cannot hang or flood us.

Hostile MCP servers, all at once in one program: silent at every stage, flooding standard output and
standard error, sending junk, endless pages, endless requests for input, dying in every call, and
answering late. A model calls their tools again and again. No call waits past its limit, memory stays
bounded, healthy servers are not delayed, and no process is left.
"""
import json
import os
import resource
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.dirname(os.path.abspath(__file__))]
import hostile
from agent_support import AgentTest
from fake_llm import Answer, Call
from support import ROOT, on_this_machine

PEER = os.path.join(ROOT, "tests", "mcp_peer.py")
LIMIT = 2  # seconds: timeout_seconds and start_timeout_seconds
MEMORY_MB = 400
HOSTILE = {
    "mute": {"fault": "silent"}, "deaf": {"fault": "reads nothing"}, "flood": {"fault": "flood"},
    "pages": {"fault": "endless pages"}, "circle": {"fault": "same page"}, "exits": {"fault": "exits"},
    "drowning": {"fault": "stderr flood"}, "stubborn": {"fault": "ignores the end"},
    "forking": {"fault": "child"}, "modern": {"era": "modern"}, "plain": {}, "eager": {"fault": "changes at once"},
}
CALLS = ["silent", "dying", "junk", "slow", "invalid", "strange", "refusing", "endless_input", "echo"]
WANTED = ["TOOL_TIMEOUT", "TOOL_CRASHED", "INVALID_OUTPUT", "MCP_ERROR", "ok"]


class Hostile(AgentTest):
    def server(self, script):
        return {"command": sys.executable, "args": [PEER, json.dumps(script), self.dir],
                "timeout_seconds": LIMIT, "start_timeout_seconds": LIMIT}

    def attack(self, rounds):
        """(calls, codes of their results, faults, peak memory in MB)"""
        servers = {name: self.server(script) for name, script in HOSTILE.items()}
        able = ["drowning", "stubborn", "forking", "modern", "plain", "eager"]
        calls = [(f"{able[(i + j) % len(able)]}__{tool}",
                  {"text": "x", "seconds": 0.2, "late": True})
                 for i in range(rounds) for j, tool in enumerate(CALLS)]
        script = [Answer(calls=[Call(name, arguments)]) for name, arguments in calls]
        turn = self.ask([*script, Answer("Done.")], timeout=on_this_machine(600 + 10 * len(calls)),
                        config={"mcpServers": servers, "max_tool_turns": len(calls) + 5})
        faults = [f"waited {m['data']['wall_ms']} ms: {m}" for m in turn.messages("tool_result")
                  if m["data"].get("wall_ms", 0) > on_this_machine(1000 * (LIMIT + 3))]
        codes = {}
        for envelope in turn.envelopes():
            code = envelope.get("error_code") or envelope["result"].get("error_code", "ok")
            codes[code] = codes.get(code, 0) + 1
        if len(turn.envelopes()) != len(calls):
            faults.append(f"{len(turn.envelopes())} results of {len(calls)} calls")
        faults += [f"no result was {code}" for code in WANTED if code not in codes]
        left = hostile.processes_with(self.dir)
        faults += [f"still running: {line}" for line in left.values()]
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        if peak > MEMORY_MB:
            faults.append(f"{peak} MB of memory")
        return len(calls), codes, faults, peak


def main():
    quick = "--quick" in sys.argv[1:]
    test = Hostile("attack")
    test.setUp()
    try:
        count, codes, faults, peak = test.attack(1 if quick else 40)
    finally:
        test.doCleanups()
    for fault in faults[:10]:
        print(fault, flush=True)
    told = ", ".join(f"{code} {number}" for code, number in sorted(codes.items()))
    hostile.conclude(28, not faults, (
        f"{len(HOSTILE)} hostile servers, {count:,} calls ({told}): {len(faults)} faults, "
        f"at most {peak} MB of memory"))


if __name__ == "__main__":
    main()
