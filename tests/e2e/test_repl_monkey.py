"""Random walks through the interactive program: keys, commands, pastes, window sizes, a terminal
that stops reading, interrupts and signals, while a model of many moods answers. Whatever comes, the
program goes on, keeps to what may be printed, leaves with status 0 and the terminal as it was, and
all that the model was told is in the store.

A walk is made from its seed. IKIGAI_MONKEY_SEEDS=100-200 walks others than the usual ones, and
IKIGAI_MONKEY_STEPS sets how far. One kind of walk takes an hour of the program's own time, which
passes SPEED times as fast (fast_clock.c).
"""
import itertools
import json
import os
import random
import re
import signal
import subprocess
import termios
import time

import terminal_checker
from fake_llm import Answer, Call, Failure, FakeLLM, Thinking, Wire
from repl_support import MODEL, ReplTest
from support import IKIGAI, OBJECTS, clean_env, tool_script
from terminal_modes import OFF, switched_on
from terminal_support import PATIENCE

SEEDS = [1, 2]
STEPS = 200
LONG = 6 * PATIENCE  # for a program that may be slowed down by a sanitizer on a busy machine
HISTORY = 30  # steps that a failure shows
LEAVE = 60  # tries
SPEED = 120  # of the fast clock
FAST_CLOCK = os.path.join(OBJECTS, "tests", "e2e", "fast_clock.so")
HOUR, DAY = 3600, 86400
QUESTION = re.compile(rb"\[[yYnN]/|Allow .*\?")

UP, DOWN, RIGHT, LEFT = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
ESCAPE, CTRL_C, CTRL_D = "\x1b", "\x03", "\x04"
WORDS = ["hello", "read the file", "naïve café", "日本語", "👩‍👩‍👧", "e\u0301", "a" * 200, "@src/",
         "@mai", "tab\there", "**bold** `code`", "\\", "/", "!", "o"]
KEYS = [UP, DOWN, LEFT, RIGHT, "\t", "\x1b[Z", "\x7f", "\x01", "\x05", "\x0b", "\x15", "\x19",
        "\x17", "\x1f", "\x12", "\x14", "\x0c", "\x0e", "\x10", "\x1bb", "\x1bf", "\x1bd", "\x1by",
        "\x1b\x7f", "\x1b\r", "\n", "\x1b[3~", "\x1b[H", "\x1b[F", "\x1b[1;5D", "\x1b[13;2u",
        "\x18\x15", "\x13", "\x1b[5~", "\x1b[6~", "\x1b[27u", ESCAPE, CTRL_C, "\r"]
VI_KEYS = list("hl0^$wbeWBEkjfFtTrg;,GiaIAoOxXsdcySDCpPuU123456789") + ["dd", "cw", "dw", "p", "3k"]
PAGER_KEYS = ["j", "k", " ", "b", "g", "G", "/o\r", "?e\r", "n", "N", "h", "q", UP, DOWN, "\x1b[5~",
              "\x1b[6~"]
RUBBISH = ["\x1b[I", "\x1b[O", "\x1b[<0;3;4M", "\x1b[?62;22c", "\x1b]11;rgb:ff/ff/ff\x07",
           "\x1bP>|xterm(1)\x1b\\", "\x1b[200~no end", "\x1b[201~", b"\xff\xfe\xc3", b"\xe2\x82",
           b"\x00\x1c\x1e", "\x1b[", "\x1b]0;x", "\x1b[99999999;1u", "\x1bOP", "\u202e\u200b"]
COMMANDS = ["/help", "/help model", "/tool", "/tool bash", "/tool nonsense", "/refresh", "/model",
            f"/model {MODEL}", "/model local/other", "/model nobody/knows",
            "/model offline/offline", "/clear", "/compact", "/fork", "/fork go on", "/agents",
            "/switch 1", "/switch 2", "/switch 3", "/kill 1", "/kill 2", "/kill 3", "/kill x",
            "/switch", "/sessions", "/sessions --all", "/resume", "/resume 0", "/search hello", "/search \"",
            "/show 1", "/show 2", "/show 99", "/copy", "/copy code", "/usage", "/system", "/export",
            "/export --format html", "/trust", "/pager", "/nonsense", "/", "/swich 1", "/clear now"]
SHELL = ["!echo by hand", "!sleep 0.3; echo slept", "!sleep 30", "!seq 1 500", "!exit 3", "!",
         "!cat", "!kill -9 $$"]
MARKDOWN = ("# Heading\n\nSome *prose* with `code` and a [link](https://example.org/x).\n\n"
            "- one\n- two\n  - three\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 日本 |\n\n"
            "```c\nint main(void) { return 0; }\n```\n\nDone.")
HOSTILE = "red \x1b[31mtext\x1b[0m and \x1b]0;evil\x07 title \u202e"
CALLS = [("bash", {"command": "echo out; echo err >&2"}), ("bash", {"command": "seq 1 3000"}),
         ("bash", {"command": "sleep 0.4; seq 1 30"}), ("bash", {"command": "sleep 20"}),
         ("bash", {"command": "exit 7"}),
         ("file_write", {"file_path": "made.c", "content": "int a;\nint b;\n"}),
         ("file_edit", {"file_path": "made.c", "old_string": "int b", "new_string": "int c"}),
         ("file_read", {"file_path": "main.c"}), ("file_read", {"file_path": "none"}),
         ("glob", {"pattern": "**"}), ("grep", {"pattern": "int"}),
         ("nobody", {"knows": [1, {"a": None}]}), ("hello", {})]
# An answer may have been interrupted within one.
ESCAPES = re.compile("\x1b\\[[0-9;]*(m|$)|\x1b\\][^\x07]*(\x07|$)|\x1b$")
# Sent instead of what is in the store, or is not.
MADE = re.compile("This result was removed to fit the context"
                  "|The call was interrupted before it had a result"
                  "|^The conversation above is about to be shortened"
                  "|^\\[Summary of the conversation so far")
# While the editor has the terminal, what is typed is neither shown nor a signal.
QUIET = "stty -echo intr undef quit undef susp undef eof undef"
EDITOR = """#!/bin/sh
case $(( $(date +%N | sed 's/^0*//') % 4 )) in
0) echo 'from the editor' >> "$1" ;;
1) sleep 0.3; echo 'edited' > "$1" ;;
2) exit 1 ;;
esac
"""


class Moods:
    """What the model answers: anything."""

    def __init__(self, seed):
        self.random = random.Random(f"model {seed}")

    def __call__(self, request):
        return self.random.choice([self.talk, self.talk, self.call, self.call, self.talk_slowly,
                                   self.think, self.fail, self.break_off, self.refuse])()

    def talk(self):
        text = self.random.choice(["Yes.", MARKDOWN, HOSTILE, "word " * 300,
                                   "```\nopen fence\n" * 30])
        return Answer(text, fragments=self.random.choice([1, 7, 50]))

    def talk_slowly(self):
        return Answer(self.random.choice([MARKDOWN, "word " * 200]), fragments=60,
                      wire=Wire(delay_event=0.02, delay_head=self.random.choice([0, 0.3])))

    def think(self):
        return Answer(self.random.choice(["So it is.", ""]), calls=self.calls(), fragments=20,
                      thinking=Thinking("Hm.\nWell.\n" * 20), quirks={"reasoning_content"},
                      wire=Wire(delay_event=0.01))

    def calls(self):
        count = self.random.choice([1, 1, 2, 5])
        return [Call(*self.random.choice(CALLS)) for _ in range(count)]

    def call(self):
        return Answer(self.random.choice(["", "Let me look."]), calls=self.calls())

    def fail(self):
        kind = self.random.choice(["bad_request", "server", "rate_limit", "auth", "overloaded"])
        return Failure(kind, headers={"retry-after-ms": "30"})

    def break_off(self):
        return Answer("half of an answer " * 20, fragments=20,
                      wire=Wire(cut_after=self.random.randrange(50, 3000),
                                reset=self.random.random() < 0.5))

    def refuse(self):
        text, stop = self.random.choice([("I cannot.", "refusal"), ("cut", "max_tokens"),
                                         ("", "filtered"), ("half", "incomplete")])
        return Answer(text, stop=stop)


class Walk:
    """One life after the other of the program, until all steps are done. Every other walk edits with
    vi keys."""
    settings = QUIET  # of the terminal
    endings = [0]
    environment = {}
    config = {}
    leaving = CTRL_C  # sent again and again

    def __init__(self, test, seed, steps):
        self.test, self.steps, self.vi = test, steps, is_vi(seed)
        self.random = random.Random(seed)
        self.done = []
        self.keys = itertools.cycle("zyxwv")
        self.t = None
        self.begin()

    def begin(self):
        args = self.random.choice([[], [], ["-c"], ["first words"], ["-c", "and more"]])
        self.first_size = self.size()
        self.resized, self.visible = False, True
        self.note(f"begin {args} {self.first_size}")
        columns, rows = self.first_size
        self.t = self.test.start_walk(f"{self.settings} columns {columns} rows {rows}", args,
                                      self.environment)
        self.t.wait_until(lambda: b"\x1b[c" in self.t.raw, "first frame", LONG)

    def note(self, what):
        self.done.append(what)

    def describe(self):
        return "\n".join(self.done[-HISTORY:])

    # ---- steps

    def send(self, data):
        self.note(f"send {data!r}")
        self.put(data)

    def put(self, data):
        """A terminal keeps only some kilobytes while the editor has it, which reads nothing."""
        deadline = time.monotonic() + LONG
        while True:
            try:
                return self.t.send(data)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise AssertionError("the program reads no input") from None
                time.sleep(0.05)

    def type(self):
        self.send(self.random.choice(WORDS))

    def say(self):
        self.send(f"message {self.random.randrange(1000)} {self.random.choice(WORDS[:7])}\r")

    def queue(self):
        self.send(f"later {self.random.randrange(1000)}\x1b\r")

    def press(self):
        count = self.random.choice([1, 1, 2, 5])
        keys = KEYS + VI_KEYS if self.vi else KEYS
        self.send("".join(self.random.choice(keys) for _ in range(count)))

    def command(self):
        self.send("\x15" + self.random.choice(COMMANDS) + "\r")

    def resume(self):
        """A session that a list on the screen names."""
        ids = re.findall(rb"  ([0-9a-f]{8})\x1b", self.t.raw)
        self.send(b"\x15/resume " + self.random.choice(ids) + b"\r" if ids else "\x15/sessions\r")

    def shell(self):
        self.send("\x15" + self.random.choice(SHELL) + "\r")

    def pager(self):
        self.send("\x0f" + "".join(self.random.choice(PAGER_KEYS) for _ in range(3)))

    def close_pager(self):
        self.send("q")

    def editor(self):
        self.send(self.random.choice(["\x07", "\x18\x05"]))

    def answer(self):
        self.send(self.random.choice(["y\r", "n\r", "\r"]))

    def paste(self):
        text = self.random.choice(["short", "two\nlines", "line\n" * 200, "x" * 1500,
                                   "\x1b[31mred\x1b[0m\r\n"])
        self.note(f"paste {text[:20]!r}… of {len(text)}")
        self.put(f"\x1b[200~{text}\x1b[201~")

    def rubbish(self):
        self.send(self.random.choice(RUBBISH))

    def interrupt(self):
        self.send(self.random.choice([ESCAPE, CTRL_C]))

    def leave_or_not(self):
        self.send(self.random.choice([CTRL_D, CTRL_C + CTRL_C, "\x15/exit\r"]))

    def size(self):
        return self.random.choice([(80, 24), (40, 12), (120, 40), (20, 6), (200, 60), (7, 3)])

    def set_size(self, columns, rows):
        self.note(f"resize {columns}x{rows}")
        self.t.set_size(columns, rows)
        self.resized, self.visible = True, columns > 1

    def resize(self):
        self.set_size(*self.random.choice([self.size(), self.size(), (1, 1)]))

    def stop_reading(self):
        self.note("stop reading")
        self.t.pause_reading()

    def read_again(self):
        self.note("read again")
        self.t.resume_reading()

    def signal(self):
        number = self.random.choice([signal.SIGWINCH, signal.SIGCONT, signal.SIGTSTP,
                                     signal.SIGCHLD, signal.SIGPIPE])
        self.note(f"signal {number}")
        self.t.signal(number)

    def wait(self):
        time.sleep(self.random.choice([0, 0.01, 0.05, 0.3]))

    CHOICES = [(type, 8), (say, 14), (queue, 4), (press, 20), (command, 20), (resume, 3), (shell, 4),
               (pager, 3), (close_pager, 2), (editor, 2), (answer, 3), (paste, 4), (rubbish, 3),
               (interrupt, 6), (leave_or_not, 1), (resize, 4), (stop_reading, 2), (read_again, 3),
               (signal, 2), (wait, 12)]

    # ---- the walk

    def has_ended(self):
        return self.t.child.poll() is not None

    def check_answered(self, data):
        before = len(self.t.raw)
        self.send(data)
        self.t.wait_until(lambda: len(self.t.raw) > before or self.has_ended(),
                          f"answer to {data!r}", LONG)

    def check_alive(self):
        """A key is answered, where it can be seen and is not part of something unfinished. Each time
        another one: a program that reads late sees the last one, which is deleted again, with it. No
        draft is one of these letters: cleared and typed again at once, it would look the same."""
        self.read_again()
        if not self.visible:
            self.set_size(*self.size())
        self.send("\x1b\\\x1b[201~")
        self.check_answered("i" * self.vi + next(self.keys))
        self.send("\x7f")

    def step(self, number):
        getattr(self, self.random.choices(*zip(*self.CHOICES))[0].__name__)()
        if number % 10 == 9 and not self.has_ended():
            self.check_alive()
        if self.has_ended():
            self.end()
            self.begin()

    def walk(self):
        for number in range(self.steps):
            self.step(number)
        self.leave()
        self.end()

    def is_in_pager(self):
        return self.t.raw.rfind(b"\x1b[?1049h") > self.t.raw.rfind(b"\x1b[?1049l")

    def leave(self):
        """Whatever is open or going on: in the end it leaves."""
        self.read_again()
        for _ in range(LEAVE):
            if self.has_ended():
                return
            self.send(ESCAPE if self.is_in_pager() else self.leaving)
            try:
                self.t.child.wait(0.2)
            except subprocess.TimeoutExpired:
                pass

    def end(self):
        self.note("end")
        stopped = not self.t.reading  # a terminal that takes nothing is not told anything
        self.t.resume_reading()
        if self.t.wait_exit(LONG) not in self.endings:
            raise AssertionError(f"exit status {self.t.child.returncode}\n{self.t.describe()}")
        if self.t.settings() != self.test.settings_after(self.settings):
            raise AssertionError("the terminal is not as it was")
        if not stopped and switched_on(self.t.raw) != OFF:
            raise AssertionError(f"still switched on: {set(switched_on(self.t.raw))}")
        self.t.close()
        problems = self.check_output()
        if problems:
            raise AssertionError("what was printed is not allowed:\n" + "\n".join(problems[:20]))

    def check_output(self):
        """Where the window changes while the program draws, it is unknown which size a frame was
        made for."""
        size = (10000, 10000) if self.resized else self.first_size
        return terminal_checker.check(self.t.raw, *size)


class HourWalk(Walk):
    """An hour at the keyboard. Now and then a word is typed that must not get lost: it appears in the
    draft, stays there whatever goes on, and is in the history after the draft was cleared."""
    environment = {"LD_PRELOAD": FAST_CLOCK, "IKIGAI_FAST_CLOCK": str(SPEED),
                   "ASAN_OPTIONS": f"{os.environ.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0"}
    # What takes its time takes longer by the fast clock.
    config = {"schema_timeout_ms": 60000, "tool_timeout_seconds": DAY, "tool_max_seconds": DAY,
              "connect_timeout_seconds": DAY, "silence_timeout_seconds": DAY,
              "idle_stream_seconds": DAY}
    kept = 0
    KEY_ESCAPE = "\x1b[27u"
    leaving = CTRL_C + CTRL_C  # two in two seconds

    def size(self):
        return self.random.choice([(80, 24), (40, 12), (120, 40), (20, 8), (200, 60)])

    def resize(self):
        """Half of the lives keep their window, and what they draw is checked against it."""
        if self.steady:
            self.wait()
        else:
            self.set_size(*self.size())

    def begin(self):
        self.steady = self.random.random() < 0.5
        super().begin()

    def is_asked(self, begin):
        """Whether a question came, which sets the draft aside and whose answer is not kept."""
        return QUESTION.search(self.t.raw, begin) is not None

    def wait_shown(self, word, begin):
        """False if the program ends first, or asks something."""
        def look():
            shown = word in "\n".join(self.t.screen())
            return "shown" if shown else self.has_ended() or self.is_asked(begin)
        return self.t.wait_until(look, f"{word} in the draft", LONG) == "shown"

    def is_kept(self, word):
        """In the history or, at the end of the program, in a saved draft."""
        paths = [os.path.join(where, name) for where, _, names in os.walk(self.test.home)
                 for name in names if name == "history" or ("drafts" in where and self.has_ended())]
        return any(word.encode() in read(path) for path in paths)

    def keep_word(self):
        HourWalk.kept += 1
        word, more = f"kept{HourWalk.kept}k", f"more{HourWalk.kept}m"
        self.read_again()
        begin = len(self.t.raw)
        # Ends what is unfinished, closes what is open, and begins to insert.
        self.send("\x1b\\\x1b[201~" + 3 * self.KEY_ESCAPE)
        self.send(("i " if self.vi else " ") + word)
        typed = [word] if self.wait_shown(word, begin) else []
        for _ in range(self.random.randrange(4)):
            self.random.choice([self.wait, self.resize, self.focus, self.stop_and_read])()
        self.send(" " + more)
        typed += [more] if self.wait_shown(more, begin) else []
        for _ in range(LEAVE):  # a list that has opened meanwhile goes first
            ended = self.has_ended()
            if all(self.is_kept(text) for text in typed) or self.is_asked(begin):
                return
            if ended:
                break
            self.send(CTRL_C)
            time.sleep(0.1)
        raise AssertionError(f"lost: {typed}\n{self.t.describe()}")

    def focus(self):
        self.send(self.random.choice(["\x1b[I", "\x1b[O"]))

    def stop_and_read(self):
        self.stop_reading()
        self.wait()
        self.read_again()

    # An editor that is running may still change the draft.
    CHOICES = [c for c in Walk.CHOICES if c[0] is not Walk.editor] + [(keep_word, 6)]

    def walk(self):
        end = time.monotonic() + HOUR / SPEED
        number = 0
        while time.monotonic() < end:
            self.step(number)
            number += 1
        self.leave()
        self.end()


class LineWalk(Walk):
    """The same with lines instead of keys."""
    settings = "stty -echo"
    endings = [0, 128 + signal.SIGINT, -signal.SIGINT]  # the last: once more while it leaves

    def begin(self):
        args = self.random.choice([["--plain"], ["--plain", "-c"]])
        self.note(f"begin {args}")
        self.t = self.test.start_walk(self.settings, args)
        self.t.wait_until(lambda: b"> " in self.t.raw, "first line", LONG)

    def enter(self, line):
        self.send(line + "\n")

    def say(self):
        self.enter(f"message {self.random.randrange(1000)} {self.random.choice(WORDS[:7])}")

    def command(self):
        self.enter(self.random.choice(COMMANDS))

    def shell(self):
        self.enter(self.random.choice(SHELL))

    def answer(self):
        self.enter(self.random.choice(["y", "n", "", "one \\\ntwo"]))

    def interrupt(self):
        self.note("interrupt")
        self.t.signal(signal.SIGINT)

    CHOICES = [(say, 10), (command, 20), (shell, 4), (answer, 4), (interrupt, 6),
               (Walk.stop_reading, 1), (Walk.read_again, 2), (Walk.wait, 12)]

    def check_alive(self):
        """A wrong command is answered whatever goes on."""
        self.read_again()
        self.check_answered("/alive\n")

    def leave(self):
        """At the end of input it does what is left to do, unless it is interrupted."""
        self.read_again()
        self.send(CTRL_D)
        for _ in range(LEAVE):
            try:
                return self.t.child.wait(0.2)
            except subprocess.TimeoutExpired:
                self.interrupt()

    def check_output(self):
        return terminal_checker.check(self.t.raw, plain=True)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def is_vi(seed):
    return seed % 2 == 0


def plain(text):
    return re.sub(r"\s+", " ", ESCAPES.sub("", text or "")).strip()


def texts_of(content):
    """The texts of a message: it is one, or a list of blocks."""
    if isinstance(content, str):
        yield plain(content)
    for block in content if isinstance(content, list) else []:
        yield from texts_of(block.get("text") or block.get("content"))


class MonkeyTest(ReplTest):
    wrap = []  # a program that runs it
    seeds, steps = SEEDS, STEPS

    def start_walk(self, settings, args, env=None):
        """The emulator does not follow: libvterm does not survive every size."""
        t = self.terminal(["/bin/sh", "-c", f'{settings}; exec "$@"', "sh", *self.wrap, IKIGAI,
                           *args], columns=200, rows=60, cwd=self.project, env={**self.environment, **(env or {})})
        t.check = False
        return t

    def settings_after(self, command):
        """How a terminal is set before the program comes."""
        master, slave = os.openpty()
        try:
            subprocess.run(["/bin/sh", "-c", command], stdin=slave, check=True)
            return termios.tcgetattr(slave)
        finally:
            os.close(master)
            os.close(slave)

    def serve_walk(self, seed, config):
        """Every other seed talks to a server that wants refused turns left out and reasoning
        back."""
        kind = "anthropic" if seed % 2 == 0 else "openai"
        self.llm = FakeLLM(Moods(seed), dialect="plain")
        self.llm.__enter__()
        self.addCleanup(self.llm.__exit__, None, None, None)
        self.configure(model=MODEL, max_tool_turns=4, keys="vi" if is_vi(seed) else "emacs",
                       providers={"local": {"type": kind, "base_url": self.llm.base_url(kind),
                                            "api_key_env": "KEY_OF_THE_TEST"}}, **config)

    def prepare(self, seed, config):
        self.project = os.path.join(self.dir, f"project {seed}")
        self.home = os.path.join(self.dir, f"home {seed}")
        os.mkdir(self.project)
        for name in ("main.c", "src/other.c", "AGENTS.md"):
            self.write(name, "int main(void);\n")
        self.write(".ikigai/tools/hello", tool_script("hello"), 0o755)
        editor = self.write("editor", EDITOR, 0o755)
        self.serve_walk(seed, config)
        self.environment = clean_env(IKIGAI_HOME=self.home, TERM="xterm-256color",
                                     EDITOR=f"'{editor}'", KEY_OF_THE_TEST="k")
        for variable in ("TMUX", "DISPLAY", "WAYLAND_DISPLAY", "VISUAL"):
            self.environment.pop(variable, None)

    def ikigai(self, *args):
        done = subprocess.run([IKIGAI, *args], cwd=self.project, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=LONG)
        self.assertEqual(done.returncode, 0, f"{args}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode()

    def stored(self):
        """All texts of all sessions."""
        texts = set()
        for session in json.loads(self.ikigai("session", "list", "--json")):
            for line in self.ikigai("session", "export", session["id"]).splitlines():
                event = json.loads(line)
                output = (event.get("data") or {}).get("output")
                texts |= {plain(event.get("content")), plain(output)}
        return texts

    def told(self):
        """All that the model was told, and what it was told again of its own words."""
        for request in self.llm.requests:
            # A GET, which asks for the models, has no body.
            for message in (request.json or {"messages": []})["messages"]:
                if message["role"] != "system":
                    yield from texts_of(message["content"])

    def check_store(self):
        stored = self.stored()
        lost = [text for text in self.told() if text not in stored and not MADE.search(text)]
        self.assertEqual(lost, [])

    def check_going_on(self):
        """The last session opens."""
        t = self.start_walk(QUIET, ["-c"])
        t.wait_for(re.compile(r"^>( |$)", re.M), LONG)
        t.wait_gone("opening the session", LONG)
        t.send(CTRL_C)  # a draft that was left
        for _ in range(LEAVE):
            t.send(CTRL_D)
            try:
                self.assertEqual(t.child.wait(0.2), 0)
                return
            except subprocess.TimeoutExpired:
                pass
        self.fail("it does not leave")

    def walk(self, kind, seed, steps):
        self.prepare(seed, kind.config)
        walk = kind(self, seed, steps)
        try:
            walk.walk()
            self.assertEqual([p for p in self.llm.problems if p.startswith("request")], [])
            self.check_store()
            self.check_going_on()
        except AssertionError as error:
            raise AssertionError(f"seed {seed} after {len(walk.done)} steps, the last of which:\n"
                                 f"{walk.describe()}\n{error}") from None

    def walk_all(self, kind):
        wanted = os.environ.get("IKIGAI_MONKEY_SEEDS")
        first, _, last = (wanted or "").partition("-")
        seeds = range(int(first), int(last or first) + 1) if wanted else self.seeds
        for seed in seeds:
            with self.subTest(seed=seed):
                self.walk(kind, seed, int(os.environ.get("IKIGAI_MONKEY_STEPS", self.steps)))

    def test_random_keys(self):
        self.walk_all(Walk)

    def test_an_hour(self):
        self.walk_all(HourWalk)

    def test_random_lines(self):
        self.walk_all(LineWalk)
