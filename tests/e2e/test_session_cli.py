"""`ikigai session …`: what every command prints, asks and refuses, for people and for programs."""
import base64
import fcntl
import hashlib
import json
import os
import pty
import re
import resource
import signal
import socket
import stat
import struct
import subprocess
import termios
import time
import unicodedata

import postgres
from hostile import default_signals, wait_until
from image_support import entry, png
from support import IKIGAI, PATIENCE, ROOT, IkigaiTest, as_user

POSTGRES = True

MINUTE, HOUR, DAY = 60, 3600, 86400
NOW = time.time()  # when the running test began
HOST = socket.gethostname()
# What a terminal takes as a command: C0 but tab and newline, DEL, C1.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# What is not seen and changes how the rest of a line looks: directions, line separators, tags.
HIDDEN = re.compile("[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069"
                    "\U000e0001-\U000e007f]")
HOSTILE = "a\x1b[31mred\x1b]0;title\x07\x9b2J\x7f\x85b \u202eesrever\u2066\U000e0041 z"
USAGE = {
    "session list": "Usage: ikigai session list [--here] [--limit N] [--json] [--db URL]",
    "session show": "Usage: ikigai session show ID [--full] [--json] [--db URL]",
    "session search":
        "Usage: ikigai session search TEXT... [--session ID] [--limit N] [--json] [--db URL]",
    "session export": "Usage: ikigai session export ID [--format jsonl|md|html] [--json] "
                      "[--output FILE] [--force] [--db URL]",
    "session import": "Usage: ikigai session import FILE|- [--db URL]",
    "session fork": "Usage: ikigai session fork ID [--db URL]",
    "session diff": "Usage: ikigai session diff ID [--turn] [--stat] [--json] [--db URL]",
    "session undo": "Usage: ikigai session undo ID [N] [PATH...] [--force] [--dry-run] [--json] "
                    "[--db URL]",
    "session redo": "Usage: ikigai session redo ID [--json] [--db URL]",
    "session deliver": "Usage: ikigai session deliver [ID...] [--all] [--db URL]",
    "session delete": "Usage: ikigai session delete ID... [--yes] [--json] [--db URL]",
    "session prune": "Usage: ikigai session prune --older-than AGE [--dry-run] [--yes] [--db URL]",
}


def columns(text):
    """How wide a terminal shows a line without emoji of several characters."""
    wide = {"W": 2, "F": 2}
    return sum(0 if unicodedata.combining(c) else wide.get(unicodedata.east_asian_width(c), 1)
               for c in text)


def message(kind, content, **data):
    return {"kind": kind, "content": content, "data": data or None}


def user(text):
    return message("user", text)


def answer(text, tokens_in=40, tokens_out=2, **data):
    return message("assistant", text, **{"model": "openai/gpt-5", "stop": "end_turn", "usage": {
        "in": tokens_in, "out": tokens_out}, **data})


def call(name="bash", summary='bash(command="ls")', arguments='{"command":"ls"}', key="c1"):
    return message("tool_call", summary, id=key, type="function",
                   function={"name": name, "arguments": arguments})


def result(output, summary="done", key="c1", success=True, **more):
    return message("tool_result", summary, tool_call_id=key, name="bash", success=success,
                   output=json.dumps({"tool_success": True, "result": {"output": output}}), **more)


def exported(key, *messages, cwd="/proj/place", host=HOST, model="openai/gpt-5", age=HOUR,
             forks=()):
    """A session as export writes it, last used age seconds ago. forks: (parent, forked_at,
    messages), agents 2 and so on. A folder may be given as bytes."""
    end = int((NOW - age) * 1e6)
    folder = {"cwd_base64": base64.b64encode(cwd).decode()} if isinstance(cwd, bytes) else {
        "cwd": cwd}
    first = {"type": "session", "version": 1, "id": key, **folder, "host": host, "model": model,
             "created_us": end - len(messages)}
    lines = [first]
    agents = [(0, 0, messages), *forks]
    for number, (parent, forked_at, said) in enumerate(agents, 1):
        lines.append({"type": "agent", "number": number, "parent": parent, "forked_at": forked_at,
                      "created_us": end})
        lines += [{"type": "message", "agent": number, "seq": forked_at + n,
                   "created_us": end - len(said) + n, **one} for n, one in enumerate(said, 1)]
    return "".join(json.dumps(line) + "\n" for line in lines)


def key(number):
    """An id that begins with the number, in decimal, two digits."""
    return f"{number:02d}".ljust(16, "0")


def words(count):
    """Messages that take about 400 bytes each in the database."""
    return [user(f"{n} {os.urandom(350).hex()}") for n in range(count)]


def with_files_of(size):
    """For a process that can write files up to this size only, as on a disk that is full."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class SessionTest(IkigaiTest):
    def setUp(self):
        super().setUp()
        global NOW
        NOW = time.time()

    def session(self, *args, **options):
        return self.ikigai("session", *args, **options)

    def listed(self, *args, **options):
        return self.session("list", "--json", *args, **options).json()

    def load(self, *sessions, **options):
        """Imports what exported() made."""
        return self.session("import", "-", input="".join(sessions).encode(), **options)

    def say(self, prompt, **options):
        """A turn with the offline model; returns the session's id."""
        done = self.ikigai("-p", prompt, "--json", **options)
        return json.loads(done.out.partition("\n")[0])["id"]

    def show(self, session, *args):
        return self.session("show", session, *args).out

    def shown(self, session):
        return self.session("show", session, "--json").json()

    def hold(self):
        """A session that is in use until the test ends: (id, pid)"""
        process = subprocess.Popen([IKIGAI, "-p", "run sleep 300", "--json"], env=self.env(),
                                   cwd=self.project, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   preexec_fn=default_signals)
        self.addCleanup(self.let_go, process)
        held = json.loads(process.stdout.readline())["id"]
        self.assertTrue(wait_until(lambda: held in [s["id"] for s in self.listed()]))
        return held, process.pid

    @staticmethod
    def let_go(process):
        process.send_signal(signal.SIGINT)
        process.wait(60)
        process.stdout.close()

    def on_terminal(self, *args, width=100, env=None):
        """What a terminal of this width gets; ends with status 0."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        child = subprocess.Popen([IKIGAI, "session", *args], cwd=self.project, stdout=slave,
                                 env=self.env(**(env or {})), stdin=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE)
        os.close(slave)
        seen = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the last one has closed it
                break
            if not part:
                break
            seen += part
        os.close(master)
        err = child.stderr.read()
        child.stderr.close()
        self.assertEqual(child.wait(60), 0, err)
        return seen.decode().replace("\r\n", "\n")

    def assert_tame(self, text):
        self.assertIsNone(CONTROL.search(text), text)


class Usage(SessionTest):
    def test_help(self):
        shown = self.ikigai("--help").out
        for name, usage in USAGE.items():
            self.assertIn("  " + usage.removeprefix("Usage: ikigai ") + "\n", shown)
            self.assertTrue(self.ikigai(*name.split(), "--help").out.startswith(usage + "\n"))

    def test_the_manual_names_every_command_and_option(self):
        manual = ""
        for chapter in ("sessions.md", "undo.md"):
            with open(os.path.join(ROOT, "docs", chapter)) as f:
                manual += f.read()
        for name, usage in USAGE.items():
            self.assertIn(f"`ikigai {name}", manual)
            for option in re.findall(r"--[\w-]+", usage):
                self.assertRegex(manual, rf"(?<![\w-]){option}(?![\w-])")

    def test_half_a_command(self):
        done = self.session(status=2)
        self.assertEqual(done.err.splitlines(), list(USAGE.values()))
        self.assertEqual(self.session("--help").out.splitlines(), list(USAGE.values()))

    WRONG = [
        (["list", "x"], "unexpected argument 'x'"),
        (["list", "--full"], "unknown option '--full'"),
        (["list", "--limit"], "--limit needs a value"),
        (["list", "--limit", ""], "--limit needs a value"),
        (["list", "--limit", "0"], "--limit needs a positive number, not '0'"),
        (["list", "--limit", "3x"], "--limit needs a positive number, not '3x'"),
        (["list", "--limit", "9" * 30], "--limit needs a positive number"),
        (["list", "--db"], "--db needs a value"),
        (["show"], "Missing argument: ID"),
        (["show", "a", "b"], "unexpected argument 'b'"),
        (["search"], "Missing argument: TEXT"),
        (["search", "x", "--limit", "-1"], "--limit needs a positive number, not '-1'"),
        (["export"], "Missing argument: ID"),
        (["export", "a", "--format", "pdf"], "--format is one of jsonl, md, html, not 'pdf'"),
        (["import"], "Missing argument: FILE"),
        (["import", "a", "b"], "unexpected argument 'b'"),
        (["fork"], "Missing argument: ID"),
        (["delete"], "Missing argument: ID"),
        (["prune"], "Missing option: --older-than AGE"),
        (["prune", "x"], "unexpected argument 'x'"),
    ] + [(["prune", "--older-than", age], f"not '{age}'") for age in (
        "30", "d", "0d", "-3d", "3 d", "3days", "100001y", "9" * 30 + "d", "2026-13-01",
        "2026-02-30", "2026-03-01x", "yesterday")]

    def test_wrong_usage(self):
        for words, complaint in self.WRONG:
            with self.subTest(words=words):
                done = self.session(*words, status=2)
                self.assertEqual(done.out, "")
                name = f"session {words[0]}"
                self.assertTrue(done.err.startswith(f"ikigai {name}: "), done.err)
                self.assertIn(complaint, done.err.splitlines()[0])
                self.assertEqual(done.err.splitlines()[1:], [USAGE[name]])

    def test_hostile_words(self):
        for words in (["list", "--limit", "\x1b[2J"], ["show", "\x1b]0;x\x07"],
                      ["export", "x", "--format", "\x1b\nForged"],
                      ["prune", "--older-than", "\x1b\nForged"], ["import", "\x1b\nForged"]):
            with self.subTest(words=words):
                done = self.session(*words, status=None)
                self.assertNotEqual(done.status, 0)
                self.assert_tame(done.err)
                self.assertNotIn("\nForged", done.err)

    def test_a_broken_configuration(self):
        self.config("{")
        self.assertIn("config.json", self.session("list", status=2).err)

    def test_ids(self):
        self.load(exported("1234" + "0" * 12, user("one")), exported("1235" + "0" * 12, user("b")))
        for command in (["show"], ["export"], ["fork"], ["delete", "--yes"],
                        ["search", "one", "--session"]):
            for wrong, why in (("123", "Several sessions begin with '123': "),
                               ("9", "There is no session 9"), ("xyz", "No session matches 'xyz'"),
                               ("", "" if command[0] == "search" else "No session matches ''"),
                               ("1" * 17, "No session matches")):
                with self.subTest(command=command, wrong=wrong):
                    done = self.session(*command, wrong, status=None)
                    self.assertEqual(done.status, 2 if not why else 1)
                    self.assertEqual(done.out, "")
                    self.assertIn(why, done.err)
                    if why.startswith("Several"):
                        for each in ("1234", "1235"):
                            self.assertIn(each + "0" * 12, done.err)
                    elif why:
                        self.assertIn("`ikigai session list` shows them", done.err)
        self.assertIn("one", self.show("1234"))
        self.assertEqual(len(self.listed()), 2)


class Storage(SessionTest):
    """Which history a command is about."""

    def test_db_is_a_file(self):
        other = self.path("other.db")
        self.load(exported(key(1), user("there")))
        self.assertIn("imported", self.session("import", "--db", other, "-", input=exported(
            key(2), user("elsewhere")).encode()).out)
        self.assertEqual([s["id"] for s in self.listed()], [key(1)])
        self.assertEqual([s["id"] for s in self.listed("--db", other)], [key(2)])
        self.assertIn("elsewhere", self.session("show", "02", "--db", other).out)
        self.assertEqual([s["id"] for s in self.listed(env={"IKIGAI_DB": other})], [key(2)])
        self.config({"db": other})
        self.assertEqual([s["id"] for s in self.listed()], [key(2)])
        self.assertEqual([s["id"] for s in self.listed("--db", self.home + "/ikigai.db")],
                         [key(1)])

    def test_what_cannot_be_opened(self):
        self.write("text.db", "this is no database, and long enough to be taken for one\n" * 20)
        for db in (self.project, self.path("text.db"), "/proc/nowhere/x.db"):
            for words in (["list"], ["show", "1"], ["search", "x"], ["delete", "1", "--yes"],
                          ["prune", "--older-than", "1d", "--yes"], ["import", "-"]):
                with self.subTest(db=db, words=words):
                    done = self.session(*words, "--db", db, status=1 if os.path.exists(db) else 2)
                    self.assertEqual(done.out, "")
                    self.assertIn(db if os.path.exists(db) else os.path.dirname(db), done.err)
                    self.assertEqual(len(done.err.splitlines()), 1, done.err)

    def test_a_file_that_does_not_exist(self):
        """A misspelt name is no reason to make a database."""
        typo = self.path("typo.db")
        for words in (["list"], ["list", "--json"], ["show", "01"], ["search", "x"], ["export", "01"],
                      ["fork", "01"], ["diff", "01"], ["undo", "01"], ["redo", "01"],
                      ["deliver", "--all"], ["delete", "01", "--yes"],
                      ["prune", "--older-than", "1d", "--yes"]):
            with self.subTest(words=words):
                done = self.session(*words, "--db", typo, status=2)
                self.assertEqual((done.out, done.err),
                                 ("", f"ikigai: No such database: {typo}; check --db\n"))
                self.assertFalse(os.path.exists(typo))
        done = self.ikigai("-p", "hello", "-r", "01", "--db", typo, status=2)
        self.assertEqual(done.err, f"ikigai: No such database: {typo}; check --db\n")
        self.assertFalse(os.path.exists(typo))
        self.assertEqual(self.listed("--db", os.path.join(self.home, "ikigai.db")), [])
        self.assertEqual(self.listed(env={"IKIGAI_DB": typo}), [])

    def test_a_history_of_somebody_else(self):
        self.load(exported(key(1), user("private words")))
        os.chmod(self.home, 0o755)
        for words in (["list"], ["show", "01"], ["search", "private"], ["export", "01"],
                      ["fork", "01"], ["delete", "01", "--yes"]):
            with self.subTest(words=words):
                done = self.session(*words, status=1, preexec_fn=as_user())
                self.assertEqual(done.out, "")
                self.assertIn("ikigai.db", done.err)
        self.assertEqual(len(self.listed()), 1)

    def test_output_that_cannot_be_written(self):
        self.load(exported(key(1), user("hello"), call(), result("out"), answer("x" * 9000)))
        commands = (["list"], ["list", "--json"], ["show", "01"], ["show", "01", "--json"],
                    ["search", "hello"], ["export", "01"], ["export", "01", "--format", "md"],
                    ["export", "01", "--format", "html"])
        for words in commands:
            with self.subTest(words=words), open("/dev/full", "wb") as full:
                done = self.session(*words, status=1, stdout=full)
                self.assertIn("ikigai: cannot write to standard output\n", done.err)
            read, write = os.pipe()
            os.close(read)
            with self.subTest(words=words), os.fdopen(write, "wb") as pipe:
                self.session(*words, status=1, stdout=pipe)
        with open("/dev/full", "wb") as full:
            self.session("delete", "01", status=1, stdout=full, input=b"y\n")
        self.assertEqual(len(self.listed()), 1)


class List(SessionTest):
    def rows(self, *args, **options):
        """The table: {id: line}, and its head under ''."""
        lines = self.session("list", *args, **options).out.splitlines()
        return {"": lines[0], **{line.split()[0]: line for line in lines[1:]}}

    def test_nothing_there(self):
        done = self.session("list")
        self.assertEqual((done.out, done.err), ("", "No sessions yet.\n"))
        done = self.session("list", "--json")
        self.assertEqual((done.json(), done.err), ([], ""))
        self.say("hello")
        self.assertEqual(self.session("list", "--here", cwd="/").err,
                         "No sessions in this folder yet.\n")

    def test_a_session_of_the_program(self):
        session = self.say("run echo hi")
        rows = self.rows()
        self.assertEqual(rows[""].split(), "ID AGE FOLDER TURNS MODEL TOKENS COST TITLE".split())
        self.assertRegex(rows[session], rf"^{session}  +\d+s  {self.project}  +1  offline/offline  "
                                        r" +\S+  +-  run echo hi$")

    def test_the_last_used_first(self):
        self.load(*[exported(key(n), user(f"number {n}"), age=age)
                    for n, age in ((1, DAY), (2, MINUTE), (3, HOUR))])
        order = [key(2), key(3), key(1)]
        self.assertEqual([s["id"] for s in self.listed()], order)
        self.assertEqual(list(self.rows())[1:], order)
        self.assertEqual([s["id"] for s in self.listed("--limit", "2")], order[:2])
        self.assertEqual(list(self.rows("--limit", "1"))[1:], order[:1])

    def test_here(self):
        mine = self.say("mine")
        self.load(exported(key(1), user("of another folder"), age=0))
        self.assertEqual([s["id"] for s in self.listed("--here")], [mine])
        self.assertEqual(list(self.rows("--here"))[1:], [mine])
        self.assertEqual(len(self.listed()), 2)

    def test_figures(self):
        self.load(
            exported(key(1), user("a"), answer("b", 12000, 345, cost_usd=0.0123), age=1),
            exported(key(2), user("a"), answer("b", 999, 0), user("c"), answer("d", 0, 0), age=2),
            exported(key(3), user("a"), answer("b", 1000, 0, cost_usd=12.5), age=3),
            exported(key(4), user("a"), answer("b", 3_000_000, 456_789, cost_usd=0), age=4),
            exported(key(5), user("a"), age=5))
        found = [re.search(r"place +(\d+)  openai/gpt-5  +(\S+)  +(\S+)  a$", line).groups()
                 for line in list(self.rows().values())[1:]]
        self.assertEqual(found, [("1", "12.3k", "$0.01"), ("2", "999", "-"),
                                 ("1", "1.0k", "$12.50"), ("1", "3.4M", "$0.00"),
                                 ("1", "-", "-")])
        sums = [(s["turns"], s["messages"], s["usage"], s["cost_usd"]) for s in self.listed()]
        self.assertEqual(sums, [(1, 2, {"in": 12000, "out": 345}, 0.0123),
                                (2, 4, {"in": 999, "out": 0}, None),
                                (1, 2, {"in": 1000, "out": 0}, 12.5),
                                (1, 2, {"in": 3000000, "out": 456789}, 0), (1, 1, {}, None)])

    def test_ages(self):
        ages = {"30m": 30 * MINUTE, "3h": 3.5 * HOUR, "1d": 1.5 * DAY, "13d": 13.5 * DAY,
                "2w": 17 * DAY, "52w": 364.5 * DAY, "1y": 500 * DAY, "55y": NOW - DAY}
        self.load(*[exported(key(n), user("x"), age=age) for n, age in enumerate(ages.values(), 1)])
        rows = self.rows()
        years = int((NOW - DAY) // (365 * DAY))
        for n, wanted in enumerate(ages, 1):
            self.assertEqual(rows[key(n)].split()[1], wanted.replace("55", str(years)))
        self.load(exported(key(20), user("x"), age=-DAY))  # of a clock that was wrong
        self.assertEqual(self.rows()[key(20)].split()[1], "0s")

    def test_json(self):
        session = self.say("run echo hi")
        (facts,) = self.listed()
        self.assertEqual(sorted(facts), sorted(
            "id title cwd host model created_at created_us updated_at updated_us turns messages "
            "usage cost_usd".split()))
        with open(os.path.join(ROOT, "docs", "sessions.md")) as f:
            manual = f.read()
        for name in facts:
            self.assertIn(f"`{name}`", manual)
        self.assertEqual((facts["id"], facts["title"], facts["cwd"], facts["host"], facts["model"]),
                         (session, "run echo hi", self.project, HOST, "offline/offline"))
        for name in ("created", "updated"):
            at = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z", facts[name + "_at"])
            seconds = int(facts[name + "_us"]) // 1_000_000
            self.assertEqual(at[1], time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)))
            self.assertEqual(int(at[2]), facts[name + "_us"] % 1_000_000)
            self.assertLess(abs(seconds - time.time()), 300)

    def test_folders(self):
        home = self.path("home")
        long = "/" + "/".join(f"folder{n}" for n in range(20))
        folders = [home, home + "/src", home + "work", long, "/", "/größe/日本", b"/bad\xff\xfe"]
        self.load(*[exported(key(n), user("x"), cwd=cwd, age=n) for n, cwd in enumerate(folders)])
        rows = self.rows()
        shown = [re.split("  +", rows[key(n)])[2] for n in range(len(folders))]
        self.assertEqual(shown, ["~", "~/src", home + "work" if len(home) < 36 else
                                 "…" + (home + "work")[-39:], "…" + long[-39:], "/",
                                 "/größe/日本", "/bad\ufffd\ufffd"])
        self.assertEqual(len({columns(row.partition("openai")[0]) for row in rows.values()
                              if "openai" in row}), 1)

    def test_hosts_are_shown_when_there_are_others(self):
        self.load(exported(key(1), user("x"), age=1))
        self.assertNotIn("HOST", self.rows()[""])
        self.load(exported(key(2), user("x"), host="elsewhere", age=2))
        rows = self.rows()
        self.assertEqual(rows[""].split()[:4], ["ID", "AGE", "HOST", "FOLDER"])
        self.assertEqual(rows[key(2)].split()[2:4], ["elsewhere", "/proj/place"])
        self.assertEqual(rows[key(1)].split()[2], "/proj/place")
        start = rows[""].index("FOLDER")
        self.assertEqual({rows[k].index("/proj") for k in (key(1), key(2))}, {start})

    TITLES = ["plain", "größe", "日本語のタイトル", "e\u0301\u0302 marks", "한국어", "mixed 中 text",
              "ｆｕｌｌ"]

    def test_wide_characters_are_aligned(self):
        """In a folder, behind which columns follow."""
        self.load(*[exported(key(n), user(t), cwd="/" + t.replace(" ", "-"), age=n)
                    for n, t in enumerate(self.TITLES)])
        rows = self.rows()
        starts = {columns(row[:row.index("openai")]) for row in rows.values() if "openai" in row}
        self.assertEqual(starts, {rows[""].index("MODEL")})
        for n, title in enumerate(self.TITLES):
            self.assertTrue(rows[key(n)].endswith("  " + title), rows[key(n)])

    def test_titles_fit_the_terminal(self):
        words = ["The quick brown fox jumps over the lazy dog and then some more words",
                 "日本語のとても長いタイトルがここにありますので切られるはずですがどうでしょうか",
                 "x" * 80, "short", "👩‍💻👩‍💻 e\u0301" * 8]
        self.load(*[exported(key(n), user(w), answer(
                         "x", 123456, 1, cost_usd=0.5, model="anthropic/claude-opus-5-5"),
                             cwd="/a/rather/long/folder/of/a/project", age=n)
                    for n, w in enumerate(words)])
        full = self.session("list").out
        for each in words[:4]:
            self.assertIn(each[:79], full)
        for width in (80, 100, 132, 180):
            with self.subTest(width=width):
                lines = self.on_terminal("list", width=width).splitlines()
                self.assertEqual(len(lines), len(words) + 1)
                for line in lines[:-1]:  # the last one is wider for us than for a terminal
                    self.assertLess(columns(line), width, line)
                self.assertEqual(lines[0].split(),
                                 "ID AGE FOLDER TURNS MODEL TOKENS COST TITLE".split())
                self.assertTrue(lines[4].endswith("short"))
                self.assertEqual(lines[1].endswith("…"), width < 180, lines[1])
        narrow = self.on_terminal("list", width=20).splitlines()
        self.assertEqual(len(narrow), len(words) + 1)
        self.assertIn("…", narrow[1])

    def test_foreign_text_is_harmless(self):
        self.load(exported(key(1), user(HOSTILE), cwd="/tmp/" + HOSTILE + "\nForged", age=1,
                           host=HOSTILE, model="x/" + HOSTILE),
                  exported(key(2), user("first\nsecond\rthird"), cwd="/ok", age=2))
        for text in (self.session("list").out, self.on_terminal("list", width=300),
                     self.session("delete", "01", input=b"n\n", status=1).out,
                     self.session("prune", "--older-than", "1m", "--dry-run").out):
            self.assert_tame(text)
            self.assertIsNone(HIDDEN.search(text), text)
            self.assertNotIn("\nForged", text)
        self.assertEqual(len(self.session("list").out.splitlines()), 3)
        raw = self.session("list", "--json").out
        self.assert_tame(raw)
        first, second = json.loads(raw)
        self.assertEqual(first["cwd"], "/tmp/" + HOSTILE + "\nForged")
        self.assertEqual(second["title"], "first")

    def test_ten_thousand(self):
        count = 10_000
        done = self.load(*[exported(f"{n:016x}", user(f"question {n}"), answer(f"reply {n}"),
                                    age=n * MINUTE + (100 * DAY if n >= 9000 else 0))
                           for n in range(count)])
        self.assertEqual(len(done.out.splitlines()), count)
        lines = self.session("list").out.splitlines()
        self.assertEqual(len(lines), count + 1)
        self.assertTrue(lines[1].endswith("  question 0") and lines[-1].endswith("question 9999"))
        facts = self.listed()
        self.assertEqual([s["id"] for s in facts], [f"{n:016x}" for n in range(count)])
        self.assertIn("question 4321", self.show(f"{4321:016x}"))
        found = self.session("search", "question", "4321", "--json").json()
        self.assertEqual([hit["session_id"] for hit in found], [f"{4321:016x}"])
        done = self.session("prune", "--older-than", "50d", "--yes")
        self.assertIn("\n1000 sessions deleted.\n", done.out)
        self.assertEqual(len(self.listed()), 9000)


class Show(SessionTest):
    TALK = [message("system", "Be brief."), user("What is here?\nTell me."),
            answer("I look.", reasoning="They want a list."), call(),
            result("one\r\ntwo\n", "one (2 lines)", wall_ms=12), answer("Two files.")]

    def test_as_people_read_it(self):
        self.load(exported(key(1), *self.TALK, host="elsewhere"))
        text = self.show("01")
        facts, _, talk = text.partition("\n\n")
        self.assertEqual(facts.splitlines()[:5], [
            f"Session   {key(1)}", "Title     What is here?", "Folder    /proj/place",
            "Host      elsewhere", "Model     openai/gpt-5"])
        self.assertRegex(facts, r"\nStarted   \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\nLast used \d{4}-")
        self.assertTrue(facts.endswith("\nTurns     1\nMessages  6\nTokens    80 in, 4 out"), facts)
        self.assertEqual(re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", talk), """\
system prompt, 9 bytes: --full shows it

user, TIME
  What is here?
  Tell me.

assistant, TIME
  I look.
> bash(command="ls")
< one (2 lines), 12 ms

assistant, TIME
  Two files.
""")

    def test_full(self):
        self.load(exported(key(1), *self.TALK))
        talk = self.show("01", "--full").partition("\n\n")[2]
        self.assertEqual(re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", talk), """\
system prompt, TIME
  Be brief.

user, TIME
  What is here?
  Tell me.

assistant, TIME
  (thinking)
      They want a list.
  I look.
> bash(command="ls")
    command: ls
< one (2 lines), 12 ms
      one
      two

assistant, TIME
  Two files.
""")

    def test_times_are_those_of_the_user(self):
        self.load(exported(key(1), user("x"), age=0))
        for zone in ("UTC", "Asia/Tokyo"):
            shown = self.session("show", "01", env={"TZ": zone}).out
            begun = re.search(r"user, (.*)", shown)[1]
            wanted = subprocess.run(["date", "-d", f"@{int(NOW)}", "+%Y-%m-%d %H:%M:%S"],
                                    env={"TZ": zone}, stdout=subprocess.PIPE, text=True).stdout
            self.assertEqual(begun, wanted.strip())

    def test_a_real_session(self):
        session = self.say("run echo one; echo two")
        text = self.show(session[:8])
        self.assertIn('\nassistant, ', text)
        self.assertIn('\n> bash(command="echo one; echo two")\n< one (2 lines), ', text)
        self.assertIn("\n      one\n      two\n", self.show(session, "--full"))

    def test_nobody_speaks_for_others(self):
        """Whatever a message says is indented: what stands at the beginning of a line is ours."""
        forged = "\n".join(["ok", "", "user, 2026-01-01 00:00:00", "> bash(x)", "< done",
                            "--- agent 2 ---"])
        self.load(exported(key(1), user("x"), answer(forged), call(summary="a\nuser, b"),
                           result(forged, "a\nuser, b"), message("odd\nuser, c", "d")))
        for args in ([], ["--full"]):
            text = self.show("01", *args)
            self.assertEqual(len(re.findall("^user,", text, re.M)), 1, text)
            self.assertEqual(len(re.findall("^>", text, re.M)), 1)
            self.assertEqual(len(re.findall("^<", text, re.M)), 1)
            self.assertNotIn("\n---", text)

    def test_foreign_text_is_harmless(self):
        self.load(exported(key(1), message("system", HOSTILE), user(HOSTILE),
                           answer(HOSTILE, reasoning=HOSTILE),
                           call(HOSTILE, HOSTILE, json.dumps({HOSTILE: HOSTILE})),
                           result(HOSTILE, HOSTILE), message(HOSTILE, HOSTILE),
                           call(arguments=HOSTILE, key="c2"), cwd=HOSTILE, host=HOSTILE))
        for args in ([], ["--full"]):
            self.assert_tame(self.show("01", *args))
        raw = self.session("show", "01", "--json").out
        self.assert_tame(raw)
        self.assertEqual(json.loads(raw)["messages"][1]["content"], HOSTILE)

    def test_agents(self):
        self.load(exported(key(1), user("a"), answer("b"), user("c"), forks=[
            (1, 2, [user("in the fork")]), (2, 3, [answer("deeper")])]))
        text = self.show("01")
        self.assertRegex(text, r"(?s)\n--- agent 1 ---\n.*  c\n\n"
                               r"--- agent 2, forked from agent 1 after its message 2 ---\n"
                               r".*  in the fork\n\n--- agent 3, forked from agent 2 after its "
                               r"message 3 ---\n.*  deeper\n$")
        shown = self.shown("01")
        self.assertEqual([(a["number"], a["parent"], a["forked_at"]) for a in shown["agents"]],
                         [(1, 0, 0), (2, 1, 2), (3, 2, 3)])
        self.assertEqual([(m["agent"], m["seq"], m["content"]) for m in shown["messages"]],
                         [(1, 1, "a"), (1, 2, "b"), (1, 3, "c"), (2, 3, "in the fork"),
                          (3, 4, "deeper")])

    def test_json(self):
        self.load(exported(key(1), *self.TALK))
        shown = self.shown("01")
        (facts,) = self.listed()
        self.assertEqual(facts.pop("messages"), len(self.TALK))
        self.assertEqual({k: shown[k] for k in facts}, facts)
        self.assertEqual(set(shown) - set(facts), {"agents", "messages"})
        for said, wanted in zip(shown["messages"], self.TALK, strict=True):
            self.assertEqual((said["kind"], said["content"], said["data"]),
                             (wanted["kind"], wanted["content"], wanted["data"] or {}))
            self.assertEqual(sorted(said), sorted("agent seq created_at created_us kind content "
                                                  "data".split()))

    def test_a_long_session(self):
        talk = [m for n in range(2000) for m in (user(f"q{n}"), answer("a" * 1000))]
        self.load(exported(key(1), *talk))
        self.assertEqual(len(self.shown("01")["messages"]), 4000)
        self.assertEqual(self.show("01").count("\n  q"), 2000)


class Search(SessionTest):
    def setUp(self):
        super().setUp()
        self.load(
            exported(key(1), user("Where is the parser?"), answer("The parser is in parse.c."),
                     call(summary='grep(pattern="lexer")', arguments='{"pattern":"lexer"}'),
                     result("src/lexer.c: the Größe of a token"), age=HOUR),
            exported(key(2), user("Write a poem about rivers"), answer("Water flows. 水が流れる。"),
                     cwd="/poems", age=2 * DAY),
            exported(key(3), user("parser, tables and rivers"), cwd="/mix", age=3 * DAY))

    def ids(self, *words):
        return [hit["session_id"] for hit in self.session("search", "--json", *words).json()]

    def test_words(self):
        for words, wanted in [
                (["lexer"], {key(1)}), (["PARSER"], {key(1), key(3)}),
                (["parser", "rivers"], {key(3)}), (["parser rivers"], {key(3)}),
                (["grosse"], {key(1)}), (['"about rivers"'], {key(2)}),
                (['"rivers about"'], set()), (["riv*"], {key(2), key(3)}), (["riv"], set()),
                (["水"], {key(2)}), (["nowhere"], set()), (["parser", "--session", "03"], {key(3)}),
                (["--", "--json", "parser"], set())]:
            with self.subTest(words=words):
                self.assertEqual(set(self.ids(*words)), wanted)

    def test_any_text_is_a_search(self):
        for text in ['"', '""', "*", "(", ")", "AND", "OR NOT", "a:b", "-x", "{}", "^", "x' OR 1",
                     "\x1b[2J", "\udcff", "  ", "%_", "NEAR(a b)", "parser AND", '"parser']:
            with self.subTest(text=text):
                done = self.session("search", "--", text)
                self.assert_tame(done.out + done.err)
        self.assertIn(key(1), self.ids('"parser'))

    def test_limit(self):
        self.load(*[exported(key(n), user("many rivers")) for n in range(10, 40)])
        self.assertEqual(len(self.ids("rivers")), 20)
        self.assertEqual(len(self.ids("rivers", "--limit", "3")), 3)
        self.assertEqual(len(self.ids("rivers", "--limit", "100")), 32)

    def test_nothing_found(self):
        done = self.session("search", "nowhere")
        self.assertEqual((done.out, done.err), ("", "No match.\n"))
        done = self.session("search", "nowhere", "--json")
        self.assertEqual((done.json(), done.err), ([], ""))

    def test_as_people_read_it(self):
        done = self.session("search", "poem")
        self.assertEqual(done.out, f"{key(2)}  2d  /poems  user  Write a poem about rivers\n"
                                   "    Write a poem about rivers\n")

    def test_json(self):
        (hit,) = self.session("search", "--json", "Größe").json()
        self.assertEqual((hit["session_id"], hit["title"], hit["cwd"], hit["agent"], hit["seq"],
                          hit["kind"]), (key(1), "Where is the parser?", "/proj/place", 1, 4,
                                         "tool_result"))
        self.assertRegex(hit["created_at"], r"^\d{4}-.*\.\d{6}Z$")
        snippet = hit["snippet"].encode()
        self.assertEqual([snippet[at:at + size].decode() for at, size in hit["marks"]], ["Größe"])

    def test_what_matched_is_bold_on_a_terminal(self):
        self.assertIn("a \x1b[1mpoem\x1b[22m about \x1b[1mrivers\x1b[22m\n",
                      self.on_terminal("search", "poem", "rivers"))
        for text in (self.on_terminal("search", "poem", env={"NO_COLOR": "1"}),
                     self.session("search", "poem").out):
            self.assertIn("    Write a poem about rivers\n", text)
            self.assertNotIn("\x1b", text)
        self.assertIn("\x1b[1m", self.on_terminal("search", "poem", env={"NO_COLOR": ""}))

    def test_foreign_text_is_harmless(self):
        evil = f"{HOSTILE} needle {HOSTILE}"
        self.load(exported(key(5), user(evil), answer(evil), cwd="/" + HOSTILE + "\nForged"))
        text = self.on_terminal("search", "needle")
        self.assertEqual(text.count("\x1b[1mneedle\x1b[22m"), 2)
        self.assert_tame(text.replace("\x1b[1m", "").replace("\x1b[22m", ""))
        self.assertEqual(len(text.splitlines()), 4, text)
        self.assert_tame(self.session("search", "needle").out)
        self.assert_tame(self.session("search", "needle", "--json").out)

    def test_what_was_just_said_is_found(self):
        session = self.say("run echo zwetschge")
        self.assertEqual(set(self.ids("zwetschge")), {session})


class Export(SessionTest):
    def test_what_is_exported_can_be_imported(self):
        session = self.say("run echo one")
        shown = self.shown(session)
        exported_text = self.session("export", session).out
        self.assertEqual({json.loads(line)["type"] for line in exported_text.splitlines()},
                         {"session", "agent", "message"})
        self.session("delete", session, "--yes")
        done = self.session("import", self.write("x.jsonl", exported_text))
        self.assertEqual(done.out, f"{session}  imported, {len(shown['messages'])} messages  "
                                   "run echo one\n")
        self.assertEqual(self.shown(session), shown)
        done = self.session("import", "-", input=exported_text.encode())
        self.assertEqual(done.out, f"{session}  already present, {len(shown['messages'])} "
                                   "messages  run echo one\n")
        self.assertEqual(self.session("export", session).out, exported_text)

    def test_formats(self):
        self.load(exported(key(1), user("Some words"), answer("**bold** words")))
        self.assertIn("Some words", self.session("export", "01", "--format", "md").out)
        page = self.session("export", "01", "--format", "html").out
        self.assertTrue(page.lower().startswith("<!doctype html>"), page[:50])
        self.assertIn("Some words", page)
        self.assertEqual(self.session("export", "01", "--format", "jsonl").out,
                         self.session("export", "01").out)

    def test_to_a_file(self):
        self.load(exported(key(1), user("x" * 100_000)))
        wanted = self.session("export", "01").out
        path = self.path("out.jsonl")
        done = self.session("export", "01", "--output", path, preexec_fn=lambda: os.umask(0))
        self.assertEqual((done.out, done.err), ("", ""))
        self.assertEqual(self.read("out.jsonl").decode(), wanted)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.write("out.jsonl", "precious")
        done = self.session("export", "01", "--output", path, status=1)
        self.assertIn(f"{path} already exists", done.err)
        self.assertIn("--force", done.err)
        self.assertEqual(self.read("out.jsonl"), b"precious")
        self.session("export", "01", "--output", path, "--force")
        self.assertEqual(self.read("out.jsonl").decode(), wanted)
        self.assertEqual(os.listdir(self.dir).count("out.jsonl"), 1)
        self.assertEqual([n for n in os.listdir(self.dir) if n.startswith("out.jsonl.")], [])

    def test_what_is_no_file_is_never_replaced(self):
        self.load(exported(key(1), user("x")))
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        os.symlink("nowhere", self.path("link"))
        for path in (fifo, self.project):
            done = self.session("export", "01", "--output", path, "--force", status=1)
            self.assertIn(f"{path} is not a regular file", done.err)
        self.assertTrue(stat.S_ISFIFO(os.stat(fifo).st_mode))
        self.assertIn("already exists",
                      self.session("export", "01", "--output", self.path("link"), status=1).err)

    def test_files_that_cannot_be_written(self):
        self.load(exported(key(1), user("x")))
        path = self.path("nowhere", "x")
        self.assertIn(path, self.session("export", "01", "--output", path, status=1).err)
        self.session("export", "77", "--output", self.path("none"), status=1)
        self.assertFalse(os.path.exists(self.path("none")))

    def test_a_terminal_obeys_nothing(self):
        self.load(exported(key(1), user(HOSTILE), answer(HOSTILE)))
        for form in ("jsonl", "md", "html"):
            with self.subTest(form=form):
                self.assert_tame(self.on_terminal("export", "01", "--format", form))

    def test_files_that_are_no_exports(self):
        good = exported(key(1), user("a"), answer("b"))
        first, agent, said, last = good.splitlines(True)
        for text, line in ((b"", ""), (b"\xff\xfe\0", ":1:"), (first + "{}\n", ":2:"),
                           (first + agent + "nonsense\n", ":3:"), (agent, ":1:"),
                           (first + agent + said + said, ":4:"), (good + good, ":5:"),
                           (good + agent.replace('"number": 1, "parent": 0',
                                                 '"number": 2147483648, "parent": 1'), ":5:")):
            with self.subTest(text=text):
                path = self.write("bad.jsonl", text)
                done = self.session("import", path, status=1)
                self.assertEqual(done.out, "")
                self.assertIn(path + line, done.err)
                self.assertEqual(self.listed(), [])
        for path in (self.path("nowhere"), self.dir):
            self.assertIn(path, self.session("import", path, status=1).err)
        self.assertIn("standard input", self.session("import", "-", status=1).err)

    def test_what_cannot_be_stored_to_its_end(self):
        """Thousands of messages are written before the image fails, or the disk."""
        picture = png()
        look = message("user", "look", images=[entry("a.png", picture)])
        look["images"] = [{"sha256": hashlib.sha256(picture).hexdigest(),
                           "data": base64.b64encode(picture).decode()}]
        path = self.write("large.jsonl", exported(key(1), *words(2500), look) +
                          exported(key(2), user("the second one")))
        in_the_way = self.write("home/.ikigai/blobs/images", "")
        self.assertIn(in_the_way, self.session("import", path, status=1).err)
        self.assertEqual(self.listed(), [])
        os.remove(in_the_way)
        self.session("import", path, status=1, preexec_fn=with_files_of(600_000))
        self.assertEqual(self.listed(), [])
        self.session("import", path)
        self.assertEqual({s["id"]: s["messages"] for s in self.listed()}, {key(1): 2501, key(2): 1})

    def test_what_is_refused_need_not_end(self):
        script = "yes no export | head -c 1000000; exec sleep 600"
        with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE) as endless:
            done = self.session("import", "-", status=1, input=None, stdin=endless.stdout,
                                timeout=PATIENCE)
            endless.kill()
        self.assertIn("standard input:1: expected a JSON object", done.err)

    def test_a_session_that_went_another_way(self):
        self.load(exported(key(1), user("a"), answer("b"), age=1))
        before = self.shown("01")
        done = self.load(exported(key(1), user("a"), answer("c"), age=1), status=1)
        self.assertIn(key(1), done.err + done.out)
        self.assertEqual(self.shown("01"), before)

    def test_titles_of_imports_are_harmless(self):
        done = self.load(exported(key(1), user(HOSTILE)))
        self.assert_tame(done.out)
        self.assertEqual(len(done.out.splitlines()), 1)


class Fork(SessionTest):
    def test_a_copy(self):
        session = self.say("run echo one")
        copy = self.session("fork", session[:6]).out.strip()
        self.assertRegex(copy, "^[0-9a-f]{16}$")
        self.assertNotEqual(copy, session)
        self.assertEqual(self.shown(copy)["messages"], self.shown(session)["messages"])
        self.session("delete", session, "--yes")
        self.assertIn("run echo one", self.show(copy))
        self.assertEqual([h["session_id"] for h in
                          self.session("search", "--session", copy, "--json", "echo").json()],
                         [copy] * len(self.session("search", "--json", "echo").json()))

    def test_what_cannot_be_copied_to_its_end(self):
        self.load(exported(key(1), *words(2500)))
        self.session("fork", "01", status=1, preexec_fn=with_files_of(1_000_000))
        self.assertEqual([s["id"] for s in self.listed()], [key(1)])

    def test_of_one_in_use(self):
        held, _ = self.hold()
        copy = self.session("fork", held).out.strip()
        self.assertIn("run sleep 300", self.show(copy))
        self.session("delete", copy, "--yes")


class ExportInJson(SessionTest):
    def test_is_the_lines(self):
        self.load(exported(key(1), user("hello"), answer("fine")))
        self.assertEqual(self.session("export", "01", "--json").out,
                         self.session("export", "01").out)
        done = self.session("export", "01", "--json", "--format", "html", status=2)
        self.assertIn("cannot be used with another format", done.err)


class Delete(SessionTest):
    def setUp(self):
        super().setUp()
        self.load(*[exported(key(n), user(f"number {n}"), answer("fine"), age=n * HOUR)
                    for n in (1, 2, 3)])

    def left(self):
        return [s["id"][:2] for s in self.listed()]

    def test_asks_first(self):
        for answered in (b"", b"\n", b"n\n", b"no\n", b"yess\n"):
            done = self.session("delete", "01", input=answered, status=1)
            self.assertEqual(done.out, f"About to delete:\n  {key(1)}    1h     2 messages  "
                                       "/proj/place  number 1\nDelete it? [y/N] "
                                       "Nothing was deleted.\n")
        self.assertEqual(self.left(), ["01", "02", "03"])
        done = self.session("delete", "01", "02", input=b"y\n")
        self.assertIn("Delete them? [y/N] 2 sessions deleted.\n", done.out)
        self.assertEqual(self.left(), ["03"])

    def test_without_asking(self):
        done = self.session("delete", "02", "--yes", "02")
        self.assertNotIn("?", done.out)
        self.assertTrue(done.out.endswith("\n1 session deleted.\n"), done.out)
        self.assertEqual(self.left(), ["01", "03"])
        self.assertEqual(self.session("search", "number", "--json").out.count("session_id"), 2)
        self.session("show", key(2), status=1)

    def test_in_json(self):
        held, pid = self.hold()
        done = self.session("delete", key(2), held, "--yes", "--json", status=1)
        gone, kept = done.json()
        self.assertEqual(gone, {"id": key(2), "deleted": True})
        self.assertEqual((kept["id"], kept["deleted"]), (held, False))
        self.assertIn(f"in use by pid {pid}", kept["error"])
        self.assertNotIn(key(2), [s["id"] for s in self.listed()])
        self.assertIn("--json needs --yes", self.session("delete", "01", "--json", status=2).err)
        self.assertIn("01", self.left())

    def test_all_or_nothing(self):
        self.session("delete", "01", "77", "--yes", status=1)
        self.assertEqual(self.left(), ["01", "02", "03"])

    def test_a_session_in_use(self):
        held, pid = self.hold()
        done = self.session("delete", held, key(1), "--yes", status=1)
        self.assertIn(f"in use by pid {pid} on {HOST}", done.err)
        self.assertIn("1 session deleted.", done.out)
        self.assertEqual(sorted(self.left()), sorted(["02", "03", held[:2]]))
        done = self.session("prune", "--older-than", "2100-01-01", "--yes")
        self.assertIn("2 sessions deleted, 1 in use kept.\n", done.out)
        self.assertEqual(self.left(), [held[:2]])


class Prune(SessionTest):
    AGES = {1: 10 * MINUTE, 2: 5 * HOUR, 3: 3 * DAY, 4: 40 * DAY, 5: 800 * DAY}

    def setUp(self):
        super().setUp()
        noise = base64.b64encode(os.urandom(200_000)).decode()  # does not become less when packed
        self.load(*[exported(key(n), user(f"number {n}"), result(noise), age=age)
                    for n, age in self.AGES.items()])

    def test_dry_run(self):
        day = time.strftime("%Y-%m-%d", time.localtime(NOW - 100 * DAY))
        for age, old in (("1y", [5]), ("30d", [4, 5]), ("5w", [4, 5]), ("24h", [3, 4, 5]),
                         ("60m", [2, 3, 4, 5]), ("5m", [1, 2, 3, 4, 5]), ("3y", []), (day, [5])):
            with self.subTest(age=age):
                done = self.session("prune", "--older-than", age, "--dry-run")
                first, *rows = done.out.splitlines()
                verb = "was" if len(old) == 1 else "were"
                self.assertTrue(first.startswith(f"{len(old)} of 5 sessions {verb} last used "
                                                 "before 2"), first)
                self.assertEqual(", the oldest " in first, bool(old))
                self.assertEqual([row.split()[0] for row in rows], [key(n) for n in old])
        self.assertEqual(len(self.listed()), 5)

    def test_asks_and_shrinks(self):
        size = os.path.getsize(self.home + "/ikigai.db")
        done = self.session("prune", "--older-than", "30d", input=b"n\n", status=1)
        self.assertIn("Delete them? [y/N] Nothing was deleted.\n", done.out)
        self.assertEqual(len(self.listed()), 5)
        done = self.session("prune", "--older-than", "30d", input=b"y\n")
        self.assertTrue(done.out.endswith("2 sessions deleted.\n"), done.out)
        self.assertEqual([s["id"] for s in self.listed()], [key(n) for n in (1, 2, 3)])
        self.session("prune", "--older-than", "5m", "--yes")
        self.assertEqual(self.listed(), [])
        self.assertLess(os.path.getsize(self.home + "/ikigai.db"), size)

    def test_nothing_to_do(self):
        done = self.session("prune", "--older-than", "9y")
        self.assertIn("0 of 5 sessions were last used before ", done.out)
        self.assertTrue(done.out.endswith("0 sessions deleted.\n"))
        self.session("delete", *(s["id"] for s in self.listed()[1:]), "--yes")
        done = self.session("prune", "--older-than", "9y")
        self.assertIn("0 of 1 session was last used before ", done.out)


class OtherMachines(SessionTest):
    """Every command works with a session that another machine, here another home, has begun."""

    def setUp(self):
        super().setUp()
        if postgres.VARIABLE not in os.environ:
            self.skipTest("tests/run starts PostgreSQL")
        self.one, self.two = [{"IKIGAI_DB": os.environ[postgres.VARIABLE],
                               "IKIGAI_HOME": self.path(name)} for name in ("one", "two")]

    def test_all_commands(self):
        self.load(exported(key(1), user("said on one"), answer("fine"), age=DAY), env=self.one)
        self.load(exported(key(2), user("old words"), host="elsewhere", age=90 * DAY),
                  env=self.one)
        here = {"env": self.two}
        self.assertEqual([s["id"] for s in self.listed(**here)], [key(1), key(2)])
        self.assertIn("HOST", self.session("list", **here).out)
        self.assertIn("  said on one\n", self.session("show", "01", **here).out)
        self.assertEqual(self.session("export", "01", **here).out,
                         self.session("export", "01", env=self.one).out)
        found = self.session("search", "said", "--session", "01", "--json", **here).json()
        self.assertEqual([hit["session_id"] for hit in found], [key(1)])
        copy = self.session("fork", "01", **here).out.strip()
        self.assertIn(copy, [s["id"] for s in self.listed(env=self.one)])
        done = self.session("delete", copy, input=b"y\n", **here)
        self.assertIn("Delete it for all machines of the shared history? [y/N] 1 session deleted.",
                      done.out)
        self.session("prune", "--older-than", "30d", "--yes", **here)
        for machine in (self.one, self.two):
            self.assertEqual([s["id"] for s in self.listed(env=machine)], [key(1)])
