#!/usr/bin/python3
"""Promise 19: no leaks. 10,000 tool calls of every outcome in one process: no descriptor, no
zombie, no block of memory more than after the first tenth, in ikigai's part and in the keeper."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import hostile

RSS_NOISE_KB = 256  # the allocator's own; a leak of 26 bytes a call would show


def main():
    quick = "--quick" in sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="ikigai-promise-") as scratch:
        tools = os.path.join(scratch, "home", "tools")
        hostile.sh_tool(tools, "fine", "cat")
        hostile.sh_tool(tools, "crash", "echo no; echo why >&2; exit 3")
        hostile.sh_tool(tools, "killed", "kill -9 $$")
        hostile.sh_tool(tools, "rubbish", "echo rubbish")
        hostile.sh_tool(tools, "noisy", 'echo \'{"text":"x"}\' >&$IKIGAI_PROGRESS_FD; echo "[1]"')
        hostile.sh_tool(tools, "leaves", "sleep 300 & echo '{}'")
        calls = [(name, '{"a":1}') for name in
                 ("fine", "crash", "killed", "rubbish", "noisy", "leaves", "missing")]
        calls += [("fine", "[]"), ("bash", '{"command":"true"}'), ("bash", '{"command":"exit 3"}')]
        rounds = 100 if quick else 1000
        driver = hostile.build_driver(scratch)
        answer = hostile.drive(driver, os.path.join(scratch, "home"), scratch, rounds, calls)
    early, late = answer["early"], answer["late"]
    codes = [c["code"] for c in answer["calls"]]
    expected = [None, "TOOL_CRASHED", "TOOL_CRASHED", "INVALID_OUTPUT", None, None,
                "TOOL_NOT_FOUND", "INVALID_PARAMS", None, None]
    grown = {key: late[key] - early[key] for key in early}
    exact = ("fds", "children", "blocks", "keeper_fds", "keeper_children")
    passed = (codes == expected and late["children"] == 1 and answer["left_behind"] == 0
              and all(grown[key] == 0 for key in exact)
              and grown["rss_kb"] <= RSS_NOISE_KB and grown["keeper_rss_kb"] <= RSS_NOISE_KB)
    if not passed:
        print(answer)
    hostile.conclude(19, passed, (
        f"{rounds * len(calls):,} calls: descriptors {grown['fds']:+d}, "
        f"zombies {answer['left_behind']}, talloc blocks {grown['blocks']:+d}, "
        f"heap {grown['heap']:+d} bytes, resident {grown['rss_kb']:+d} KB; "
        f"keeper: descriptors {grown['keeper_fds']:+d}, resident {grown['keeper_rss_kb']:+d} KB"))


main()
