"""Measures the interactive program on a terminal: the first frame, a key, a list, a streamed answer,
doing nothing, memory.

pty_cost.c has the terminal and the clock. Yardsticks from the same run are an empty program that is
started the same way, cat on a raw terminal, and ikigai -p; figures of peers are those that other
agents publish in their own trackers.
"""
import glob
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from bench_store import TEXTS, store_cost
from bench_tools import BUILD, IKIGAI, report, skip
from bench_turns import PROMPT, Run, Server

PTY_COST = os.path.join(BUILD, "bench/pty_cost")
EMPTY = os.path.join(BUILD, "bench/empty")
ECHO = ["/bin/sh", "-c", "stty raw -echo; echo go; exec cat"]
ROUNDS = 40
KEYS = 2000
LIST_KEYS = 1300
LIST_ROWS = 10_000
DRAFT = 100_000
TOKEN = 4  # bytes
PACE = 0.01  # seconds from one token to the next
IDLE = 30
# What a modern terminal says about itself.
ANSWERS = ("\x1b[?0u" "\x1b[?2026;2$y" "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\" "\x1bP>|tmux 3.3a\x1b\\"
           "\x1b[?62;22c")
START, END = "\x1b<", "\x1b>"  # Alt-< and Alt->: to the draft's beginning, to its end


def tell(name, value, unit, yardstick=None, yardstick_value=None):
    """A figure without a budget."""
    print(json.dumps({"name": name, "value": round(value, 6), "unit": unit, "yardstick": yardstick,
                      "yardstick_value": yardstick_value and round(yardstick_value, 6)}),
          flush=True)


class Bench:
    """A folder to work in, and programs whose home is inside it."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.project = self.path("project")
        self.homes = 0
        os.mkdir(self.project)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def fresh_home(self):
        self.homes += 1
        return self.path(f"home{self.homes}")

    def env(self, url=None, home=None, **more):
        ours = ("IKIGAI_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "NO_COLOR", "TMUX")
        env = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        env.update(TERM="xterm-256color", IKIGAI_HOME=home or self.fresh_home(), **more)
        if url is not None:
            env.update(OPENAI_BASE_URL=url + "/v1", OPENAI_API_KEY="x",
                       IKIGAI_MODEL="openai/gpt-5")
        return env

    def server(self, *answers):
        path = self.path("script")
        with open(path, "w") as f:
            json.dump({"answers": answers, "repeat": True}, f)
        return Server(self.scratch, "--script", path)

    def ikigai(self, *arguments, wrapper=(), **env):
        """At its prompt, when everything that follows the first frame is done."""
        terminal = Terminal([*wrapper, IKIGAI, *arguments], self.env(**env), self.project)
        terminal.wait("\x1b[c")
        terminal.send(ANSWERS)
        terminal.quiet(1)
        return terminal


class Terminal:
    """A program on a terminal, see pty_cost.c."""

    def __init__(self, command, env, folder):
        self.driver = subprocess.Popen([PTY_COST, "drive", *command], env=env, cwd=folder,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.stdin.close()
        self.driver.wait()
        self.driver.stdout.close()

    def ask(self, line):
        self.driver.stdin.write(line + "\n")
        self.driver.stdin.flush()
        answer = self.driver.stdout.readline()
        if not answer:
            sys.exit(f"pty_cost failed: {line[:80]}")
        return [float(word) for word in answer.split()]

    def send(self, text):
        self.ask("send " + json.dumps(text))

    def wait(self, text, seconds=60):
        self.ask(f"wait {seconds * 1000} {json.dumps(text)}")

    def quiet(self, seconds):
        self.ask(f"quiet {int(seconds * 1000)}")

    def keys(self, erase=False):
        """ms to the echo: median, p99, slowest."""
        return [us / 1000 for us in self.ask(f"keys {KEYS} {int(erase)} 1")]

    def frames(self, count, keys):
        """ms to the frame after a key, which must change the screen: median, p99, slowest."""
        return [us / 1000 for us in self.ask(f"frames {count} 1 {json.dumps(chr(10).join(keys))}")]

    def bytes(self):
        return int(self.ask("bytes")[0])

    def cpu_ms(self):
        return self.ask("cpu")[0] / 1000

    def resident_mb(self):
        pid = int(self.ask("pid")[0])
        with open(f"/proc/{pid}/status") as f:
            return int(re.search(r"VmRSS:\s+(\d+) kB", f.read())[1]) / 1024

    def turn(self):
        """Sends a message and waits for the end of the turn, when the spinner stops."""
        self.send("go\r")
        self.quiet(0.7)


# ---- answers of the model: without upper case letters, which could be taken for echoed keys

WORDS = ("the of and a to in is that it for as with on be by this are or from at which but not "
         "have an they you were all one we when there can more if no out do so up about into than "
         "them only other new some could time these two may then first any like now over such our "
         "buffer pointer function returns value length memory parser stream reader socket").split()
CODE = ["static int find(const table_t *table, const char *name)", "{",
        "    for (size_t i = 0; i < table->count; i++) {",
        "        if (strcmp(table->entries[i].name, name) == 0) {",
        "            return (int)i; /* the first one of that name */", "        }", "    }",
        "    return -1;", "}"]


class Text:
    def __init__(self):
        self.random = random.Random(1)

    def words(self, count):
        return " ".join(self.random.choice(WORDS) for _ in range(count))

    def prose(self):
        return self.words(self.random.randint(30, 90)) + ".\n\n"

    def points(self):
        return "".join(f"- **{self.words(2)}**: {self.words(12)}\n" for _ in range(4)) + "\n"

    def code(self):
        return "\n".join(["```c", *CODE, "```"]) + "\n\n"

    def section(self):
        return f"## {self.words(4)}\n\n" + "".join(
            part() for part in (self.prose, self.prose, self.points, self.code, self.prose))


def mixed(size):
    """Prose, lists and code."""
    text, out = Text(), ""
    while len(out) < size:
        out += text.section()
    return out


def one_paragraph(size):
    return Text().words(size // 5)


def one_fence(size):
    lines = "\n".join(CODE) + "\n"
    return "```c\n" + lines * (size // len(lines)) + "```\n"


def one_table(size):
    text = Text()
    rows = "".join(f"| {text.words(2)} | {text.words(3)} | {i} |\n" for i in range(size // 40))
    return "| name | what | number |\n|---|---|---:|\n" + rows


def tokens_of(text):
    return len(text) // TOKEN


def answer(text, pace=0.0, fragments=None):
    return {"text": text, "fragments": fragments or tokens_of(text), "wire": {"delay_event": pace}}


SHORT = answer("yes.", fragments=1)


# ---- the first frame

def start_times(bench, homes):
    """Medians in ms: an empty program, the first frame, the echo of a key pressed then."""
    rounds = []
    for home in homes:
        done = subprocess.run([PTY_COST, "start", EMPTY, IKIGAI], env=bench.env(home=home),
                              cwd=bench.project, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit("pty_cost start failed")
        rounds.append([float(word) / 1000 for word in done.stdout.split()])
    return [statistics.median(times) for times in zip(*rounds)]


def bench_start(bench):
    warm = bench.fresh_home()
    for _ in range(2):
        subprocess.run([IKIGAI, "-p", "hello"], env=bench.env(home=warm), cwd=bench.project,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    for name, homes in (("", [warm] * ROUNDS), (", new user", [None] * ROUNDS)):
        empty, frame, echo = start_times(bench, homes)
        report(f"exec to first typeable frame{name}", frame, "ms", "empty program", empty, 15,
               absolute=True, peers="470-930 ms")
        report(f"the same, as a ratio{name}", frame, "ms", "empty program", empty, 4)
        tell(f"exec to the echo of a key pressed then{name}", echo, "ms", "empty program", empty)


# ---- a key

def bench_typing(bench, what, terminal, erase=False):
    before = terminal.cpu_ms()
    times = terminal.keys(erase)
    cpu = terminal.cpu_ms() - before
    with Terminal(ECHO, bench.env(), bench.project) as cat:
        cat.wait("go")
        least = cat.keys()
    report(f"key to echo, {what}: p50", times[0], "ms", "cat", least[0], 0.3, absolute=True,
           peers="5-500 ms")
    report(f"key to echo, {what}: p99", times[1], "ms", "cat", least[1], 2, absolute=True)
    tell(f"key to echo, {what}: slowest", times[2], "ms", "cat", least[2])
    if not erase:
        tell(f"CPU of a key, {what}", cpu / KEYS, "ms")


def saved_draft(home):
    paths = glob.glob(os.path.join(home, "drafts", "*"))
    return max((os.path.getsize(path) for path in paths), default=0)


def type_draft(terminal, home, *parts):
    """Types each part at the beginning of the draft, and checks that all of it is saved."""
    for part in parts:
        terminal.send(START + part)
    terminal.quiet(1.5)
    if saved_draft(home) < sum(map(len, parts)):
        sys.exit(f"a draft of {sum(map(len, parts))} bytes was saved with {saved_draft(home)}")


def bench_draft(bench, what, draft):
    half = len(draft) // 2
    for place in ("beginning", "middle", "end"):
        home = bench.fresh_home()
        with bench.ikigai(home=home) as terminal:
            if place == "middle":
                type_draft(terminal, home, draft[half:], draft[:half])
            else:
                type_draft(terminal, home, draft)
                terminal.send(START if place == "beginning" else END)
                terminal.quiet(0.3)
            bench_typing(bench, f"{place} of {what}", terminal)


def bench_keys(bench):
    with bench.ikigai() as terminal:
        bench_typing(bench, "a new draft", terminal)
    words = Text().words(DRAFT // 4)[:DRAFT]
    bench_draft(bench, "100 KB in one line", words)
    bench_draft(bench, "100 KB in many lines",
                "".join(words[i:i + 60] + "\n" for i in range(0, DRAFT, 60)))
    with bench.server(answer(mixed(60 * 100 * TOKEN), PACE)) as server, \
            bench.ikigai(url=server.url) as terminal:
        terminal.send("go\r")
        terminal.wait(".")
        bench_typing(bench, "while an answer streams", terminal, erase=True)


# ---- lists

def bench_rows(bench, what, terminal):
    """Typing narrows the list from all rows, erasing widens it again; then by rows and pages."""
    erase, down, up, page_down, page_up = "\x7f", "\x1b[B", "\x1b[A", "\x1b[6~", "\x1b[5~"
    keys = ["e", "t", erase, "r", erase, erase, "a", erase, down, page_down, page_down, page_up, up]
    times = terminal.frames(LIST_KEYS, keys)
    with Terminal(ECHO, bench.env(), bench.project) as cat:
        cat.wait("go")
        least = cat.keys()
    report(f"key to frame, a list of {LIST_ROWS:,} {what}: p99", times[1], "ms", "cat", least[1], 5,
           absolute=True)
    tell(f"key to frame, a list of {LIST_ROWS:,} {what}: p50", times[0], "ms", "cat", least[0])
    tell(f"key to frame, a list of {LIST_ROWS:,} {what}: slowest", times[2], "ms", "cat", least[2])


def bench_lists(bench):
    database = bench.path("sessions.db")
    store_cost("fill", database, 2 * LIST_ROWS, LIST_ROWS, *TEXTS)
    with bench.ikigai(IKIGAI_DB=database) as terminal:
        terminal.send("/sessions --all\r")
        terminal.wait("more")
        terminal.quiet(0.3)
        bench_rows(bench, "sessions", terminal)
    os.remove(database)
    text = Text()
    for i in range(LIST_ROWS):
        folder = os.path.join(bench.project, f"folder{i % 100}")
        os.makedirs(folder, exist_ok=True)
        name = text.words(4).strip().replace(" ", "_").replace("/", "_")[:40]
        open(os.path.join(folder, f"{name}_{i}.c"), "w").close()
    with bench.ikigai() as terminal:
        terminal.send("@")
        terminal.wait("more")
        terminal.quiet(1)
        bench_rows(bench, "files", terminal)


# ---- a streamed answer

def stream(bench, text, pace):
    """Processor time in ms and bytes of one turn, minus those of an answer of one word."""
    with bench.server(SHORT, SHORT, answer(text, pace)) as server, \
            bench.ikigai(url=server.url) as terminal:
        cost = []
        for _ in range(3):
            before = terminal.cpu_ms(), terminal.bytes()
            terminal.turn()
            cost.append((terminal.cpu_ms() - before[0], terminal.bytes() - before[1]))
    if cost[2][1] < len(text) / 2:
        sys.exit(f"{len(text)} bytes came and {cost[2][1]} were printed")
    return cost[2][0] - cost[1][0], cost[2][1] - cost[1][1]


def headless_cpu(bench, text, pace):
    """Processor time in ms of such a turn with ikigai -p."""
    with bench.server(SHORT, SHORT, answer(text, pace)) as server:
        env = bench.env(url=server.url)
        cost = [Run(PROMPT, env).cpu_ms for _ in range(3)]
    return cost[2] - cost[1]


def bench_cpu(bench, what, text, pace=0.0):
    tokens = tokens_of(text)
    cpu, count = stream(bench, text, pace)
    headless = headless_cpu(bench, text, pace)
    name = f"CPU of 1,000 tokens, {what}"
    cpu, headless = cpu * 1000 / tokens, headless * 1000 / tokens
    if pace:
        tell(name, cpu, "ms", "ikigai -p", headless)
    else:
        report(name, cpu, "ms", "ikigai -p", headless, 5, absolute=True)
    report(f"bytes printed per token, {what}", count / tokens, "B", "the token itself", TOKEN, 64,
           absolute=True)


def bench_stream(bench):
    bench_cpu(bench, "100 a second", mixed(2000 * TOKEN), PACE)
    bench_cpu(bench, "8 KB at once", mixed(8 << 10))
    bench_cpu(bench, "64 KB at once", mixed(64 << 10))
    bench_cpu(bench, "1 MB at once", mixed(1 << 20))
    bench_cpu(bench, "64 KB in one paragraph", one_paragraph(64 << 10))
    bench_cpu(bench, "1 MB in one paragraph", one_paragraph(1 << 20))
    bench_cpu(bench, "1 MB of code", one_fence(1 << 20))
    bench_cpu(bench, "64 KB in one table", one_table(64 << 10))


# ---- nothing

RETURNED = re.compile(r"\d+ +(\d+\.\d+) (<\.\.\. )?(\w+).*<(\d+\.\d+)>$")


def returned_calls(trace, begin, end):
    """Names of the system calls in a log of strace -f -ttt -T that returned in the given time. A
    call whose line was interrupted by another process is listed where it is resumed."""
    names = []
    with open(trace, errors="replace") as f:
        for line in f:
            found = RETURNED.match(line)
            if found:
                at = float(found[1]) + (0 if found[2] else float(found[4]))
                if begin <= at < end:
                    names.append(found[3])
    return names


def idle_terminals(bench, server):
    """(what happened before, terminal, log): traced together with all child processes."""
    prepared = []
    for what in ("after the start", "after a turn", "with a draft"):
        trace = bench.path("trace " + what)
        wrapper = [shutil.which("strace"), "-f", "-ttt", "-T", "-o", trace]
        prepared.append((what, bench.ikigai(url=server.url, wrapper=wrapper), trace))
    prepared[1][1].turn()
    prepared[2][1].send("a draft that is saved")
    time.sleep(3)
    return prepared


def bench_idle(bench):
    if shutil.which("strace") is None:
        skip(f"system calls in {IDLE} s of nothing", "strace is not installed")
        return
    with bench.server(SHORT) as server:
        prepared = idle_terminals(bench, server)
        before = [terminal.bytes() for _, terminal, _ in prepared]
        begin = time.time()
        time.sleep(IDLE)
        end = time.time()
        printed = [terminal.bytes() for _, terminal, _ in prepared]
        for _, terminal, _ in prepared:
            terminal.__exit__()
    for (what, _, trace), first, last in zip(prepared, before, printed):
        if not returned_calls(trace, 0, begin):
            sys.exit("strace saw nothing")
        calls = returned_calls(trace, begin, end)
        if calls:
            print(f"{what}: {' '.join(calls[:40])}", file=sys.stderr)
        report(f"wake-ups in {IDLE} s of nothing, {what}", len(calls), "", "", None, 0,
               absolute=True, peers="3-5 % CPU")
        report(f"bytes printed in {IDLE} s of nothing, {what}", last - first, "", "", None, 0,
               absolute=True)


# ---- memory

def bench_resident(bench):
    with Terminal(ECHO, bench.env(), bench.project) as cat:
        cat.wait("go")
        cat.send("x")  # its echo: the shell has become cat
        cat.wait("x")
        least = cat.resident_mb()
    with bench.server(SHORT) as server, bench.ikigai(url=server.url) as terminal:
        report("resident at the prompt", terminal.resident_mb(), "MB", "cat", least, 12,
               absolute=True, peers="120-390 MB")
        terminal.send("a line that is typed")
        terminal.quiet(1.5)
        report("resident with a line typed", terminal.resident_mb(), "MB", "cat", least, 12,
               absolute=True)
        terminal.turn()
        tell("resident after a turn, libcurl loaded", terminal.resident_mb(), "MB", "cat", least)


def bench_resumed(bench):
    path = bench.path("long.db")
    text, _ = store_cost("fill", path, 24_000, 1, *TEXTS)[0]
    resident = []
    with bench.server(SHORT) as server:
        for resume, database in (((), {}), (("-r", "0" * 16), {"IKIGAI_DB": path})):
            with bench.ikigai(*resume, url=server.url, **database) as terminal:
                terminal.quiet(2)
                resident.append(terminal.resident_mb())
                terminal.turn()
                resident.append(terminal.resident_mb())
    os.remove(path)
    empty, empty_later, full, full_later = resident
    report("memory of a resumed session of 24,000 messages", full - empty, "MB", "its text",
           text / 2**20, 1.3)
    report("the same after a turn", full_later - empty_later, "MB", "its text", text / 2**20, 1.3)


def bench_grown(bench):
    """Memory that a session keeps per answer as it grows. The first answer allocates buffers that
    the others reuse."""
    text = mixed(1 << 20)
    with bench.server(answer(text, fragments=20000)) as server, \
            bench.ikigai(url=server.url) as terminal:
        resident = []
        for _ in range(6):
            terminal.turn()
            resident.append(terminal.resident_mb())
    report("memory of a session that grew by 5 answers of 1 MB", resident[-1] - resident[0], "MB",
           "their text", 5 * len(text) / 2**20, 1.3)


PARTS = {"start": bench_start, "keys": bench_keys, "lists": bench_lists, "stream": bench_stream,
         "idle": bench_idle, "resident": bench_resident, "resumed": bench_resumed, "grown": bench_grown}


def main():
    """All parts, or the named ones."""
    with tempfile.TemporaryDirectory(prefix="ikigai-bench-") as scratch:
        bench = Bench(scratch)
        for name in sys.argv[1:] or PARTS:
            PARTS[name](bench)


if __name__ == "__main__":
    main()
