#!/usr/bin/python3
"""Promise 8: memory is bounded whatever a tool prints. Tools that print without end, or exactly
what takes most room to handle; measured is the peak resident memory of the process that makes the
call, and of the keeper."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import hostile

BASE_KB = 8 * 1024
FACTOR = 8
KEEPER_KB = 4 * 1024

FLOOD = """
block = {block}
left = {bytes}
while left > 0:
    left -= os.write({fd}, block[:left])
"""
# What a tool may print in full: 6 x max_output_size + 64 KiB. {max} is max_output_size.
PRINT = """
limit = int(os.environ["IKIGAI_MAX_OUTPUT"])
full = 6 * limit + 65536
sys.stdout.buffer.write({value})
"""
EXACT = {
    # every character an escape of six bytes, and one more of them than the limit
    "escapes": (PRINT.format(value=r"""b'{"output":"' + b'\\u0001' * (limit + 1) + b'"}'"""), None),
    "all_escapes_fit": (PRINT.format(value=r"""b'{"output":"' + b'\\u0001' * limit + b'"}'"""), None),
    "no_utf8": (PRINT.format(value=r"""b'"' + b'\xff' * (full - 2) + b'"'"""), None),
    "no_utf8_output": (PRINT.format(value=r"""b'{"output":"' + b'\xff' * (full - 13) + b'"}'"""),
                       None),
    "quotes": (PRINT.format(value=r"""b'["' + b'\\"' * (full // 2 - 2) + b'"]'"""), None),
    # one name a hundred thousand times, each of which might be taken for the text to cut
    "doubled": (PRINT.format(value=r"""b'{' + b'"output":0,' * (limit // 11 - 8)"""
                             r""" + b'"output":"' + b'x' * (limit + 2) + b'"}'"""), None),
    "members": (PRINT.format(value=r"""b'{' + b'"":0,' * (full // 5 - 2) + b'"":0}'"""), None),
    "deep": (PRINT.format(value=r"""b'[' * full"""), "INVALID_OUTPUT"),
    "over": (PRINT.format(value=r"""b'"' + b'x' * (full - 1) + b'"'"""), "INVALID_OUTPUT"),
    # ended at its deadline, with a whole answer printed
    "unfinished": (PRINT.format(value=r"""b'{"output":"' + b'\\u0001' * (limit + 1) + b'"}'""")
                   + "sys.stdout.flush()\nos.write(2, b'\\x01' * 1000000)\ntime.sleep(300)\n",
                   "TOOL_TIMEOUT"),
    "crashes": (PRINT.format(value=r"""b'\x01' * full""") + "sys.stdout.flush()\nos.write(2, b'\\x01'"
                " * 1000000)\nos._exit(3)\n", "TOOL_CRASHED"),
}


def floods(size):
    megabyte = 'b"{}" * 1048576'
    return {
        "yes": ('os.execv("/usr/bin/yes", ["yes"])', "TOOL_TIMEOUT"),
        "zeros": (FLOOD.format(block=megabyte.format(r"\0"), bytes=size, fd=1), "INVALID_OUTPUT"),
        "one_line": ('sys.stdout.write(\'"\'); sys.stdout.flush()\n'
                     + FLOOD.format(block=megabyte.format("x"), bytes=size // 10, fd=1)
                     + 'sys.stdout.write(\'"\')', "INVALID_OUTPUT"),
        "errors": (FLOOD.format(block=megabyte.format("e"), bytes=size // 10, fd=2) + 'print("{}")',
                   None),
        "progress": ("os.set_blocking(3, True)\n" + FLOOD.format(
            block=r"""b'{"text":"' + b"p" * 4000 + b'"}\n'""", bytes=size // 100, fd=3)
            + 'print("{}")', None),
        "endless_progress_line": ("os.set_blocking(3, True)\n" + FLOOD.format(
            block=megabyte.format("p"), bytes=size // 100, fd=3) + 'print("{}")', None),
    }


def main():
    quick = "--quick" in sys.argv[1:]
    tools = floods(10**9 if quick else 10**10) | EXACT
    ratio, worst, wrong = 0, "", []
    with tempfile.TemporaryDirectory(prefix="ikigai-promise-") as scratch:
        home = os.path.join(scratch, "home")
        for name, (body, _) in tools.items():
            hostile.python_tool(os.path.join(home, "tools"), name, body)
        driver = hostile.build_driver(scratch)
        for max_kb in (64, 1024, 8192) if quick else (16, 64, 1024, 8192, 32768):
            allowed_kb = BASE_KB + FACTOR * max_kb
            with open(os.path.join(home, "config.json"), "w", encoding="utf-8") as f:
                json.dump({"max_output_size": max_kb * 1024, "tool_timeout_seconds": 600,
                           "tools": {"yes": {"timeout_seconds": 1},
                                     "unfinished": {"timeout_seconds": 2}}}, f)
            for name, (_, code) in tools.items():
                answer = hostile.drive(driver, home, scratch, 1, [(name, "{}")])
                peak = answer["peak_kb"]
                if peak / allowed_kb > ratio:
                    ratio, worst = peak / allowed_kb, (
                        f"{peak:,} KB of {allowed_kb:,} allowed ({name}, max_output_size {max_kb} KB)")
                if (peak > allowed_kb or answer["late"]["keeper_peak_kb"] > KEEPER_KB
                        or answer["calls"][0]["code"] != code):
                    wrong.append(f"{name}, max_output_size {max_kb} KB: {answer}")
    for line in wrong:
        print(line)
    hostile.conclude(8, not wrong, (
        f"{len(tools)} tools that print up to {'1' if quick else '10'} GB: resident at most {worst}"))


main()
