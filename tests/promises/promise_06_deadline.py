#!/usr/bin/python3
"""Promise 6: a tool call ends at its deadline. Tools that try everything to live on, each with a
limit of one second; measured is how long after its deadline a call has its result, beyond what the
machine needs just then to act on any event (hostile.Yardstick; a millisecond when it is idle)."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import hostile

SERIAL = True  # its fork bombs would slow down whatever runs beside them
DEADLINE_MS = 1000
ALLOWED_MS = 500
# Of several measurements of a tool that was late, or that did not get to its own end before the
# deadline, the best counts: the promise is about ikigai, not about whatever else the machine was
# doing.
ATTEMPTS = 3

FOREVER = "while True: time.sleep(100)\n"
SLEEP = 'os.execv("/bin/sleep", [sys.argv[0], "300"])\n'
FORK = "if os.fork() == 0: "
IGNORE = "for n in range(1, 32):\n    n in (9, 19, 17) or signal.signal(n, signal.SIG_IGN)\n"
TOOLS = {
    "sleeper": FOREVER,
    "background": FORK + SLEEP + FORK + SLEEP + FOREVER,
    "session": FORK + "os.setsid(); " + SLEEP + FOREVER,
    "daemon": "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: " + SLEEP
              + "    os._exit(0)\n" + FOREVER,
    "deaf": IGNORE + FOREVER,
    "deaf_children": IGNORE + "for i in range(6): os.fork()\n" + FOREVER,
    "crowd": IGNORE + "for i in range(60):\n    while os.fork() == 0:\n        while True: pass\n"
             + FOREVER,
    "stopped": "os.kill(os.getpid(), signal.SIGSTOP)\n" + FOREVER,
    "stopped_deaf": IGNORE + "os.fork()\nos.kill(os.getpid(), signal.SIGSTOP)\n" + FOREVER,
    "full_pipe": IGNORE + 'while True: os.write(1, b"x" * 65536)\n',
    "full_error_pipe": IGNORE + 'while True: os.write(2, b"x" * 65536)\n',
    "full_progress_pipe": IGNORE + "while True:\n    try: os.write(3, b'x' * 4096)\n"
                          "    except BlockingIOError: pass\n",
    "fifo": 'fifo = sys.argv[0] + ".fifo"\nos.path.exists(fifo) or os.mkfifo(fifo)\nopen(fifo).read()\n',
    "forker": IGNORE + "while True:\n    os.fork() == 0 and os._exit(0)\n    os.wait()\n",
    # Never the same process for long, each generation an orphan in a session of its own.
    "comet": IGNORE + "while True:\n    if os.fork(): os._exit(0)\n    os.setsid()\n",
    "stops_keeper": "os.kill(os.getppid(), signal.SIGSTOP)\n" + FOREVER,
    "holds_keeper": IGNORE + "keeper = os.getppid()\n"
                    "while True: os.kill(keeper, signal.SIGSTOP)\n",
}
# Sixty of them at once (comets.c).
COMETS = ["{}", '{"twice":1}', '{"bare":1}', '{"early":1}', '{"early":1,"twice":1,"bare":1}']
# The first process of a comet is gone at once; the call ends when what it left has been ended.
ENDS_EARLY = {"comet": "INVALID_OUTPUT"}


def main():
    quick = "--quick" in sys.argv[1:]
    late = {}
    wrong = []
    with tempfile.TemporaryDirectory(prefix="ikigai-promise-") as scratch:
        home = os.path.join(scratch, "home")
        for name, body in TOOLS.items():
            hostile.python_tool(os.path.join(home, "tools"), name, body)
        with open(os.path.join(home, "config.json"), "w", encoding="utf-8") as f:
            json.dump({"tool_timeout_seconds": DEADLINE_MS // 1000}, f)
        comets = hostile.Comets(scratch, os.path.join(home, "tools"))
        driver = hostile.build_driver(scratch)

        def measure(name, arguments):
            """Whether the call ended in another way than it should, how late it was, and how late
            anything was on this machine just before and after it."""
            machine = yardstick.measure_ms()
            answer = hostile.drive(driver, home, scratch, 1 if quick else 5, [(name, arguments)],
                                   TREE_FIFO=comets.fifo)
            machine = max(machine, yardstick.measure_ms())
            call = answer["calls"][0]
            code = None if "early" in arguments else ENDS_EARLY.get(name, "TOOL_TIMEOUT")
            if answer["left_behind"]:
                wrong.append(f"{name} {arguments}: {answer}")
            if name == "comets" and not comets.gone():
                wrong.append(f"{name} {arguments}: some survived")
            other = "" if call["code"] == code else f"ended with {call['code']}"
            return other, call["longest_ms"] - DEADLINE_MS - machine, machine

        tools = [(name, "{}") for name in TOOLS] + [("comets", arguments) for arguments in COMETS]
        try:
            with hostile.Yardstick() as yardstick:
                for tool in tools:
                    late[tool] = measure(*tool)
                    for _ in range(ATTEMPTS - 1):
                        other, ms, machine = late[tool]
                        if other or ms > ALLOWED_MS:
                            print(f"{tool}: {other or f'{ms:.0f} ms late'}, the machine itself "
                                  f"{machine:.0f} ms; measured again")
                            late[tool] = min(late[tool], measure(*tool))
                    if late[tool][0]:
                        wrong.append(f"{tool}: {late[tool][0]}")
            survivors = hostile.processes_with(scratch)
        finally:
            hostile.kill_all(scratch)
            comets.close()
    for line in wrong + list(survivors.values()):
        print(line)
    worst = max(late, key=lambda tool: late[tool][1])
    passed = not wrong and not survivors and late[worst][1] <= ALLOWED_MS
    hostile.conclude(6, passed, (
        f"{len(late)} hostile tools, deadline {DEADLINE_MS / 1000:g} s: at most "
        f"{late[worst][1]:.0f} ms late ({' '.join(worst)}; {ALLOWED_MS} allowed) beyond the machine's own delay "
        f"({max(machine for _, _, machine in late.values()):.0f} ms at most), {len(survivors)} survivors"))


hostile.bounded(main)
