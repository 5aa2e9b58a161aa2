"""One agent, headless and on a terminal, against the scripted model server, which calls the agent's
own shell tool some times with `true` and then says "Done."."""
import ctypes
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time

from bench_turns import Server
from terminal_support import MODERN, Terminal

LIMIT = 600  # seconds for a run, and for a step on the terminal
QUESTION = "go"
KEY = "Q"
CAT = ["/bin/sh", "-c", "stty raw -echo; printf '> '; exec cat"]
# Other agents ask a terminal more than ikigai does.
ANSWERS = [(rb"\x1b\[6n", b"\x1b[1;1R"),
           (rb"\x1b\]10;\?(?:\x07|\x1b\\)", b"\x1b]10;rgb:cccc/cccc/cccc\x1b\\"), *MODERN]


class Failed(Exception):
    """Why something was not measured."""


# ---- processes

def adopt_orphans():
    """What an agent leaves behind becomes a child of this process, which counts and ends it."""
    if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) != 0:  # PR_SET_CHILD_SUBREAPER
        sys.exit("prctl(PR_SET_CHILD_SUBREAPER) failed")


def descendants(excluded):
    """All processes below this one, except the excluded ones and those below them."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as f:
                parent = int(f.read().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
        children.setdefault(parent, []).append(int(name))
    found, todo = [], [os.getpid()]
    while todo:
        new = [pid for pid in children.get(todo.pop(), []) if pid not in excluded]
        found += new
        todo += new
    return found


def pss_mb(pids):
    """Proportional set size: a page that several processes share is divided among them."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as f:
                total += int(re.search(r"^Pss:\s+(\d+) kB", f.read(), re.M)[1])
        except (OSError, TypeError):
            pass  # it has ended
    return total / 1024


def end_all(excluded):
    """Ends what an agent has left behind."""
    for pid in descendants(excluded):
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass  # it has ended, or its parent is one of them


# ---- on a terminal

def first_screen(terminal, prompt):
    """ms from the start until a key that is typed when the prompt appears is on the screen."""
    def screen():
        return "\n".join(terminal.screen())
    before = terminal.wait_until(lambda: prompt.search(screen()) and screen(), "prompt", LIMIT)
    terminal.send(KEY)
    terminal.wait_until(lambda: screen().count(KEY) > before.count(KEY), "echo", LIMIT)
    return (terminal.last_output - terminal.started) * 1000


def echo_of_cat(rounds):
    """The same for a shell that prints a prompt and starts cat: what measuring itself takes."""
    times = []
    for _ in range(rounds):
        terminal = Terminal(CAT)
        times.append(first_screen(terminal, re.compile("^>")))
        terminal.check = False
        terminal.close()
    return statistics.median(times)


def ask(terminal):
    """In steps, as a person types: what comes at once is taken for pasted text by some agents."""
    terminal.send("\x7f")
    time.sleep(0.5)
    terminal.send(QUESTION)
    time.sleep(0.5)
    terminal.send("\r")


# ---- an agent

class Subject:
    """An agent with a home and a project of its own. figures has a list of values by key."""
    turns = 50
    settle = 3  # seconds until memory is read
    unpacked = 15  # seconds for what an agent does after its very first start: codex copies itself

    def __init__(self, agent_class, folder, scratch):
        self.scratch = os.path.join(scratch, agent_class.name)
        home, self.project = (os.path.join(self.scratch, name) for name in ("home", "project"))
        os.makedirs(home)
        os.makedirs(self.project)
        self.agent = agent_class(folder, home)
        self.name = agent_class.name
        self.figures, self.failed, self.beside = {}, {}, set()
        self.write_project()

    def write_project(self):
        """A small repository."""
        for number in range(20):
            with open(os.path.join(self.project, f"file{number}.c"), "w") as f:
                f.write(f"int f{number};\n" * 20)
        git = ["git", "-C", self.project, "-c", "user.name=x", "-c", "user.email=x@x"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
            subprocess.run(git + command, check=True)

    def measure(self, counted):
        """Both ways; a way that has failed is not tried again. The first time is not counted: it
        fills the caches of the system and of the agent, and proves that the tool works."""
        steps = {"headless": self.headless, "terminal": self.interactive} if counted else \
            {"headless": self.prove, "terminal": self.start}
        for name, step in steps.items():
            if name in self.failed:
                continue
            try:
                for key, value in step().items():
                    self.figures.setdefault(key, []).append(value)
            except (Failed, AssertionError) as failure:
                self.failed[name] = str(failure)
                print(f"{self.name}: {failure}", file=sys.stderr)

    def notes(self):
        return {"failed": {name: words.partition("\n")[0] for name, words in self.failed.items()},
                "beside": sorted(self.beside)}

    def serve(self, turns, command="true"):
        agent = self.agent
        server = Server(self.scratch, "--fast", str(turns), "--beside", "--tool", agent.tool,
                        "--args", json.dumps(agent.arguments(command)))
        agent.configure(server.url, self.project)
        return server

    def requests(self, server, turns):
        """(received, answered, bytes) of each request of a run that has ended."""
        counted = [line for line in server.log if not line.startswith("#")]
        if len(counted) != turns + 1:
            raise Failed(f"it sent {len(counted)} requests instead of {turns + 1}")
        self.beside.add(len(server.log) - len(counted))
        return [tuple(map(int, line.split())) for line in counted]

    def run(self, server):
        """Times of CLOCK_MONOTONIC in ns: of exec, and of its end."""
        begin = time.monotonic_ns()
        child = subprocess.Popen(self.agent.headless(QUESTION), cwd=self.project,
                                 env=self.agent.environment(server.url), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            said, _ = child.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            raise Failed(f"it did not end within {LIMIT} s") from None
        finally:
            end = time.monotonic_ns()
            end_all({server.process.pid})
        if child.returncode or b"Done." not in said:
            raise Failed(f"exit status {child.returncode}\n{said[-2000:].decode(errors='replace')}")
        return begin, end

    def prove(self):
        with self.serve(1, "touch proof") as server:
            self.run(server)
        self.requests(server, 1)
        path = os.path.join(self.project, "proof")
        if not os.path.exists(path):
            raise Failed("its tool did not run the command")
        os.remove(path)
        return {}

    def headless(self):
        with self.serve(self.turns) as server:
            begin, end = self.run(server)
        requests = self.requests(server, self.turns)
        gaps = [after[0] - before[1] for before, after in zip(requests, requests[1:])]
        return {"request": (requests[0][0] - begin) / 1e6, "turn": statistics.median(gaps) / 1e6,
                "turns": (end - begin) / 1e6, "bytes": requests[0][2]}

    def terminal(self, server):
        terminal = Terminal(self.agent.interactive(), cwd=self.project, answers=ANSWERS,
                            env=self.agent.environment(server.url))
        terminal.check = False  # other agents print what ikigai must not
        return terminal

    def start(self):
        """A first start on a terminal, without a question."""
        with self.serve(1) as server:
            terminal = self.terminal(server)
            try:
                first_screen(terminal, self.agent.prompt)
                time.sleep(self.unpacked)
            finally:
                terminal.close()
                end_all({server.process.pid})
        return {}

    def interactive(self):
        with self.serve(self.turns) as server:
            terminal = self.terminal(server)
            ours = {server.process.pid, terminal.emulator.driver.pid}
            try:
                figures = {"screen": first_screen(terminal, self.agent.prompt)}
                time.sleep(self.settle)
                figures["prompt_memory"] = pss_mb(descendants(ours))
                ask(terminal)
                terminal.wait_for("Done.", LIMIT)
                time.sleep(self.settle)
                figures["turns_memory"] = pss_mb(descendants(ours))
            finally:
                terminal.close()
                end_all({server.process.pid})
        self.requests(server, self.turns)
        return figures
