"""Shared by the tests of the interactive program: `ikigai` in a pseudo terminal, with tests/fake_llm or
the offline model.

    class MyTest(ReplTest):
        def test_it(self):
            t = self.start([Answer("Hello.")])        # or self.start() for the offline model
            self.say(t, "hi", "Hello.")               # types "hi" and Enter, waits for "Hello."
            self.assertEqual(self.leave(t), 0)

At the end, terminal_checker checks everything that was printed (terminal_support.Terminal.close).
"""
import json
import os
import re

from fake_llm import FakeLLM
from support import IKIGAI, clean_env
from terminal_support import MODERN, TerminalTest, pattern_of, without_empty_end

MODEL = "local/qwen3"
PROMPT = re.compile(r"^>( |$)", re.M)
CHOICE = "Resume which session?"  # the prompt of a start with -r, where > is hardly seen
TOO_EARLY = "has to wait until the turn has ended"
BUSY = "esc to interrupt"  # is shown during a turn
INPUT = re.compile(r"(>|\[y/N\])( |$)")  # where something can be typed


def words_of(request):
    """The texts of users and models in a request to a chat server, in order."""
    return [m["content"] for m in request.json["messages"]
            if m["role"] in ("user", "assistant") and m["content"]]


class ReplTest(TerminalTest):
    def setUp(self):
        super().setUp()
        self.home = os.path.join(self.dir, "home")
        self.project = os.path.join(self.dir, "project")
        os.mkdir(self.project)
        self.llm = None

    def configure(self, **config):
        os.makedirs(self.home, mode=0o700, exist_ok=True)
        path = os.path.join(self.home, "config.json")
        with open(path, "w") as f:
            json.dump(config, f)
        os.chmod(path, 0o600)

    def serve(self, script, **config):
        """Starts a scripted OpenAI-compatible server and configures it as the model."""
        self.llm = FakeLLM(script, dialect="plain")
        self.llm.__enter__()
        self.addCleanup(self.llm.__exit__, None, None, None)
        self.configure(model=MODEL, providers={"local": {
            "type": "openai", "base_url": self.llm.base_url("openai")}}, **config)

    def decline_setup(self):
        """The user has chosen to look around offline, so that a start offers no setup."""
        os.makedirs(self.home, mode=0o700, exist_ok=True)
        with open(os.path.join(self.home, "offline"), "w", encoding="utf-8"):
            pass

    def start(self, script=None, *args, columns=80, rows=24, env=None, answers=MODERN, first=False,
              until=PROMPT, **options):
        """first: a start that may offer the setup. until: what it shows when it has begun."""
        if script is not None:
            self.serve(script)
        elif not first:
            self.decline_setup()
        t = self.terminal([IKIGAI, *args], columns=columns, rows=rows, cwd=self.project,
                          env=clean_env(**{"IKIGAI_HOME": self.home, "TERM": "xterm-256color",
                                           **(env or {})}), answers=answers, **options)
        t.wait_for(until)
        t.wait_answered()
        return t

    def ready(self, script=None, *args, **options):
        """Starts ikigai and waits until all tools were found."""
        t = self.start(script, *args, **options)
        t.wait_gone("looking for tools")
        return t

    def say(self, t, text, until):
        t.send(text + "\r")
        return t.wait_for(until)

    def below(self, t, line, count=1):
        """The rows below the last row that equals line, without the live area. None while fewer
        than count rows equal it."""
        rows = t.all_rows()
        end = max((i for i, row in enumerate(rows) if INPUT.match(row)), default=len(rows))
        found = [i for i, row in enumerate(rows[:end]) if row == line]
        return None if len(found) < count else without_empty_end(rows[found[-1] + 1:end])

    def enter(self, t, line, until, below=None):
        """Types a line and Enter, and waits for the text below the row that echoes the line; if that
        is a message, until the turn is over, which is shortly after its last words appear. A command
        that was entered too early, during a turn, is entered again. Returns the rows below the
        echo."""
        pattern = pattern_of(until)
        wanted = re.compile(f"({pattern.pattern})|{TOO_EARLY}", pattern.flags)
        echo = below or (line if line.startswith("/") else f"> {line}")
        while True:
            count = t.all_rows().count(echo) + 1
            t.send(line + "\r")
            found = t.wait_until(lambda: wanted.search("\n".join(self.below(t, echo, count) or [])),
                                 f"{pattern.pattern!r} below {echo!r}")
            if found[1] is not None:
                if not line.startswith(("/", "!")):
                    t.wait_gone(BUSY)
                return self.below(t, echo, count)

    def settle(self, t):
        """Waits until the turn of the agent on the screen is over."""
        while not re.search(r"^\d+ \* .* idle ", "\n".join(self.enter(t, "/agents", " * ")), re.M):
            pass

    def in_pager(self, t):
        return t.show().dump()["alternate"]

    def show(self, t, number, until):
        """Enters /show N and waits for the text in the pager. Returns its rows; it stays open."""
        t.send(f"/show {number}\r")
        t.wait_until(lambda: self.in_pager(t) and pattern_of(until).search("\n".join(t.screen())),
                     f"{until!r} in the pager")
        return t.screen()

    def close_pager(self, t):
        t.send("q")
        t.wait_until(lambda: not self.in_pager(t), "end of the pager")

    def status(self, t):
        """The status line."""
        return without_empty_end(t.screen())[-1]

    def leave(self, t):
        t.send("\x04")
        return t.wait_exit()

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.project, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)
        return path
