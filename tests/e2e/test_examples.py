"""The tools in examples/: each keeps to the protocol, does what it says with good and bad input,
and is used by a model in a turn of the whole program."""
import ast
import base64
import gzip
import http.server
import json
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import zlib

import hostile
import postgres
from agent_support import FORMATS, AgentTest, sent_results, sent_tools
from fake_llm import Answer, Call
from fake_llm import images as wire_images
from repl_support import ReplTest
from support import PATIENCE, ROOT, SHIPPED

POSTGRES = True

EXAMPLES = os.path.join(ROOT, "examples")
SCRIPTS = ["git-summary", "now", "plot-csv", "run-tests", "sql-query", "unfinished", "web-fetch"]
COMPILED = ["sqlite-query"]
ALL = sorted(SCRIPTS + COMPILED)
PYTHON = ["plot-csv", "run-tests", "sql-query", "web-fetch"]
# Ten lines for README, which has no room for what is optional.
ADVICE = {"unfinished": ["note  returns is not declared: it helps the model to read the answer"]}
SECRET = "canary-of-a-password"
BUILT = None  # folder of what was compiled


def setUpModule():
    global BUILT
    BUILT = tempfile.mkdtemp(prefix="ikigai-test-")
    unittest.addModuleCleanup(shutil.rmtree, BUILT)
    subprocess.run(["make", "-s", "-C", EXAMPLES, f"OUT={BUILT}", "CFLAGS=-O2 -Werror"], check=True)


def path_of(name):
    return os.path.join(BUILT if name in COMPILED else EXAMPLES, name)


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


class ExampleTest(AgentTest):
    """Tools are installed as a user would do it: by copying them."""

    def setUp(self):
        super().setUp()
        self.config({})

    def config(self, value, scope="home"):
        """On a busy machine Python takes a while to start."""
        return super().config({"schema_timeout_ms": 20000, **value}, scope)

    def env(self, **more):
        env = super().env(**more)
        for name in list(env):
            foreign = name.startswith(("PG", "GIT_", "XDG_")) or name.lower().endswith("_proxy")
            if foreign and name not in more:
                del env[name]
        # The python3 of these tests and not a wrapper that takes a while; psql wherever it is.
        front = [os.path.dirname(sys.executable), postgres.find_programs()]
        env["PATH"] = more.get("PATH") or ":".join(front + [env["PATH"]])
        return env

    def install(self, *names, **changes):
        """changes: constants with other values, so that a test need not wait for the real ones."""
        for name in names:
            with open(path_of(name), "rb") as f:
                text = f.read()
            for constant, value in changes.items():
                text, count = re.subn(rf"^{constant} = \d+".encode(),
                                      f"{constant} = {value}".encode(), text, flags=re.M)
                self.assertEqual(count, 1, constant)
            self.user_tool(name, text)

    def run_tool(self, name, params, **env):
        """What the tool answers, through `ikigai tool run`."""
        text = params if isinstance(params, str) else json.dumps(params)
        done = self.ikigai("tool", "run", name.replace("-", "_"), input=text.encode(), env=env)
        envelope = done.json()
        self.assertTrue(envelope["tool_success"], done.out)
        return envelope["result"]

    def use(self, name, params, **more):
        """A turn in which the model calls the tool; what the model gets is what the next request
        contains."""
        turn = self.ask([Answer("I look.", calls=[Call(name.replace("-", "_"), params)]),
                         Answer("Done.")], **more)
        self.assertEqual((turn.text, turn.reason), ("I look.Done.", "end_turn"))
        (_, envelope), = sent_results(turn.llm.requests[1])
        self.assertEqual(turn.envelopes(), [envelope])
        self.assertTrue(envelope["tool_success"], envelope)
        return envelope["result"], turn

    def assert_fails(self, answer, code, text=""):
        self.assertEqual(answer.get("error_code"), code, answer)
        self.assertIn(text, answer["error"])

    def assert_refused(self, name, *bad):
        """All of these parameters are INVALID_ARG."""
        for params in bad:
            with self.subTest(params=params):
                self.assert_fails(self.run_tool(name, params), "INVALID_ARG")


class ProtocolTest(ExampleTest):
    def test_every_example_is_known_here(self):
        """Every example has tests."""
        found = [n for n in os.listdir(EXAMPLES) if os.access(os.path.join(EXAMPLES, n), os.X_OK)]
        sources = [n[:-2] for n in os.listdir(EXAMPLES) if n.endswith(".c")]
        self.assertEqual(sorted(set(found + sources)), ALL)

    def test_check_has_nothing_to_say(self):
        self.install(*ALL)
        for name in ALL:
            with self.subTest(name):
                done = self.ikigai("tool", "check", os.path.join(self.home, "tools", name))
                *lines, _, last = done.out.splitlines()
                self.assertEqual([line for line in lines if not line.startswith("ok  ")],
                                 ADVICE.get(name, []))
                self.assertRegex(last, r"^All \d+ checks passed\.$")

    def test_installed_by_the_makefile(self):
        subprocess.run(["make", "-s", "-C", EXAMPLES, "install", f"OUT={BUILT}",
                        f"IKIGAI_HOME={self.home}"], check=True, stdout=subprocess.DEVNULL)
        listed = self.ikigai("tool", "list", "--json").json()
        self.assertEqual(sorted(t["name"] for t in listed if t["source"] == "user"),
                         [name.replace("-", "_") for name in ALL])

    def test_every_service_takes_their_schemas(self):
        self.install(*ALL)
        for name, form in FORMATS.items():
            with self.subTest(name):
                self.format = name
                turn = self.ask([Answer("Hello.")])
                (request,) = turn.llm.requests
                names = {tool.replace("-", "_") for tool in ALL}
                self.assertLessEqual(names, set(sent_tools(request)))
                if form.provider == "openai":
                    strict = {t.get("function", t)["name"]: t.get("function", t)["strict"]
                              for t in request.json["tools"]}
                    self.assertEqual([n for n in names if not strict[n]], [])

    def test_python_of_some_years_ago_is_enough(self):
        for name in PYTHON:
            ast.parse(read("examples", name), feature_version=(3, 9))

    @unittest.skipUnless(shutil.which("shellcheck"), "needs shellcheck")
    def test_shellcheck_has_nothing_to_say(self):
        for name in sorted(set(SCRIPTS) - set(PYTHON)):
            done = subprocess.run(["shellcheck", path_of(name)], stdout=subprocess.PIPE, text=True)
            self.assertEqual(done.stdout, "")

    def test_the_manual_has_them_all(self):
        listed = re.findall(r"^\| \[`([\w-]+)`\]\(([\w.-]+)\)", read("examples", "README.md"), re.M)
        self.assertEqual(sorted(name for name, _ in listed), ALL)
        for _, target in listed:
            self.assertTrue(os.path.exists(os.path.join(EXAMPLES, target)), target)


class NowTest(ExampleTest):
    def test_the_time(self):
        self.install("now")
        result, _ = self.use("now", {}, env={"TZ": "UTC"})
        text, zone, day = re.fullmatch(r"(\S+ \S+) (\S+), a (\w+)", result["time"]).groups()
        self.assertLess(abs(time.mktime(time.strptime(text, "%Y-%m-%d %H:%M:%S"))
                            - time.mktime(time.gmtime())), 100)
        self.assertEqual(zone, "+0000")
        self.assertEqual(time.strftime("%A", time.strptime(text, "%Y-%m-%d %H:%M:%S")), day)


class PlotCsvTest(ExampleTest):
    def setUp(self):
        super().setUp()
        self.install("plot-csv")
        self.write("project/load.csv", "day,load,name,\"a, b\"\n" + "".join(
            f"{i},{i * i % 17},x{i},{-i / 3}\n" for i in range(40)))

    def pixels(self, data):
        """The rows of a picture of plot-csv: 8 bits per pixel, no filters, one IDAT."""
        at, parts = 8, {}
        while at < len(data):
            (length,) = struct.unpack(">I", data[at:at + 4])
            kind, body = data[at + 4:at + 8], data[at + 8:at + 8 + length]
            self.assertEqual(zlib.crc32(kind + body),
                             struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0])
            parts[kind] = body
            at += 12 + length
        width, height = struct.unpack(">II", parts[b"IHDR"][:8])
        raw = zlib.decompress(parts[b"IDAT"])
        self.assertEqual(len(raw), height * (width + 1))
        return [raw[y * (width + 1) + 1:(y + 1) * (width + 1)] for y in range(height)]

    def test_every_model_sees_the_picture(self):
        for name in FORMATS:
            with self.subTest(name):
                self.format = name
                result, turn = self.use("plot-csv", {"file": "load.csv", "x": "day"})
                self.assertEqual(result["output"], "load, a, b of 40 rows of load.csv")
                (entry,) = result["images"]
                self.assertEqual((entry["media_type"], entry["width"], entry["height"]),
                                 ("image/png", 800, 480))
                self.assertNotIn("data", entry)
                (picture,) = wire_images.sent(turn.llm.requests[1].json)
                self.assertEqual(len(picture), entry["bytes"])
                colours = {colour for row in self.pixels(picture) for colour in row}
                self.assertEqual(colours, {0, 1, 2, 3, 4})  # paper, words, grid, two lines

    def test_columns_and_styles(self):
        for params in ({"y": ["load"]}, {"y": ["load"], "style": "points"},
                       {"x": "load", "y": ["a, b", "day"]}, {"y": ["a, b"], "x": None}):
            with self.subTest(params):
                answer = json.loads(subprocess.run(
                    [path_of("plot-csv")], input=json.dumps({"file": "load.csv", **params}),
                    cwd=self.project, text=True, check=True, stdout=subprocess.PIPE).stdout)
                self.assertEqual(len(answer["images"]), 1)
                self.pixels(base64.b64decode(answer["images"][0]["data"]))

    def test_odd_files(self):
        self.write("project/one.csv", "a\n7\n")
        self.write("project/gaps.csv", "a,b\n1,\n,2\nx,inf\n3\n1e308,-1e308\n\n")
        self.write("project/many.csv", ",".join(f"c{i}" for i in range(9)) + "\n" +
                   ",".join("1" * 9) + "\n" + ",".join("2" * 9) + "\n")
        self.assertEqual(self.run_tool("plot-csv", {"file": "one.csv"})["output"],
                         "a of 1 rows of one.csv")
        self.assertEqual(self.run_tool("plot-csv", {"file": "gaps.csv"})["output"],
                         "a, b of 3 rows of gaps.csv")
        self.assertIn("without c6, c7, c8",
                      self.run_tool("plot-csv", {"file": "many.csv"})["output"])
        for name, text in (("empty.csv", ""), ("head.csv", "a,b\n"), ("words.csv", "a\nx\n")):
            self.write(f"project/{name}", text)
            self.assert_fails(self.run_tool("plot-csv", {"file": name}), "INVALID_ARG")
        self.assert_fails(self.run_tool("plot-csv", {"file": "nowhere.csv"}), "FILE_NOT_FOUND",
                          "nowhere.csv")

    def test_what_it_refuses(self):
        self.assert_refused("plot-csv", {}, {"file": 7}, {"file": "load.csv", "y": "load"},
                            {"file": "load.csv", "y": ["nowhere"]},
                            {"file": "load.csv", "x": "nowhere"},
                            {"file": "load.csv", "style": "pie"}, {"file": "load.csv", "x": 3})
        self.assertIn("day, load, name, a, b",
                      self.run_tool("plot-csv", {"file": "load.csv", "x": "nowhere"})["error"])

    def test_it_writes_nowhere(self):
        """It declares no effects but reading."""
        self.run_tool("plot-csv", {"file": "load.csv"})
        self.assertEqual(os.listdir(self.project), ["load.csv"])


class UnfinishedTest(ExampleTest):
    def test_what_is_left_to_do(self):
        self.install("unfinished")
        self.assertEqual(self.run_tool("unfinished", {}), {"todo": 0, "fixme": 0})
        self.write("project/a b.c", "/* TODO: this, TODO: that */\n// TODOS\n")
        self.write("project/src/x.py", "# FIXME\n")
        self.write("project/.git/x", "TODO\n")
        result, _ = self.use("unfinished", {})
        self.assertEqual(result, {"todo": 2, "fixme": 1})


class RefreshTest(ReplTest):
    def test_dropped_into_a_running_program(self):
        t = self.ready([Answer("Hello."), Answer(calls=[Call("now")]), Answer("It is late.")])
        self.enter(t, "hi", "Hello.")
        self.assertNotIn("now", sent_tools(self.llm.requests[0]))
        os.makedirs(os.path.join(self.home, "tools"))
        shutil.copy(path_of("now"), os.path.join(self.home, "tools"))
        rows = self.enter(t, "/refresh", "available")
        self.assertEqual(rows[-1], f"Tools refreshed. {len(SHIPPED) + 1} tools available.")
        self.enter(t, "what time is it?", "It is late.")
        self.assertIn("now", sent_tools(self.llm.requests[1]))
        (_, envelope), = sent_results(self.llm.requests[2])
        self.assertRegex(envelope["result"]["time"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ")
        self.assertEqual(self.leave(t), 0)


class SqlQueryTest(ExampleTest):
    tools = {}

    def setUp(self):
        super().setUp()
        self.install("sql-query")
        self.url = os.environ[postgres.VARIABLE]
        self.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public;"
                 "CREATE TABLE customer (id int, name text, paid numeric);"
                 "INSERT INTO customer VALUES (1, 'Zoë \"Z\" \\', 19.90), (2, NULL, 0.10)")

    def sql(self, text):
        """With a user who may do anything."""
        done = subprocess.run(["psql", "-XqAt", self.url, "-c", text], check=True, text=True,
                              env=self.env(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return done.stdout.strip()

    def account(self):
        parts = urllib.parse.urlsplit(self.url)
        query = dict(urllib.parse.parse_qsl(parts.query))
        return {"host": query["host"], "user": query["user"], "dbname": parts.path[1:],
                "password": SECRET}

    def configure(self, text=None):
        """What the steps tell the user to do."""
        text = json.dumps(self.account()) if text is None else text
        self.write("home/.config/ikigai/sql-query.json", text, 0o600)
        self.tools = {"tools": {"sql_query": {"env": {
            "SQL_QUERY_ACCOUNT": "file:~/.config/ikigai/sql-query.json"}}}}
        self.config(self.configured)

    def config(self, value, scope="home"):
        self.configured = value
        return super().config({**value, **self.tools}, scope)

    def query(self, query, **params):
        return self.run_tool("sql-query", {"query": query, **params})

    # ---- credentials

    def test_without_credentials_it_says_how_to_get_them(self):
        answer = self.query("SELECT 1")
        self.assertEqual(sorted(answer), ["error", "error_code", "help"])
        self.assertEqual((answer["error"], answer["error_code"]),
                         ("Database connection not configured", "MISSING_CREDENTIALS"))
        self.assertEqual(list(answer["help"]), ["steps"])
        steps = answer["help"]["steps"]
        self.assertEqual([step[:3] for step in steps], [f"{n}. " for n in range(1, 6)])
        self.assertIn("~/.config/ikigai/sql-query.json", steps[1])
        named = json.loads(steps[3].partition("config.json: ")[2])
        self.assertEqual(list(named["tools"]["sql_query"]["env"]), ["SQL_QUERY_ACCOUNT"])
        self.assertEqual(steps[-1], "5. Try again - it'll work automatically")

    def test_credentials_that_come_while_it_runs_are_used_at_once(self):
        """One process from the first question to the last answer: nothing is started again."""
        call = Call("sql_query", {"query": "SELECT name FROM customer WHERE id = 1"})

        def model(request):
            results = sent_results(request)
            if len(results) == 1:  # the user reads the steps and follows them
                self.configure()
            return Answer("There.") if len(results) == 2 else Answer("Hm.", calls=[call])
        turn = self.ask(model)
        first, second = (envelope for _, envelope in sent_results(turn.llm.requests[2]))
        self.assertEqual((first["tool_success"], first["result"]["error_code"]),
                         (True, "MISSING_CREDENTIALS"))
        self.assertEqual(second["result"], {"columns": ["name"], "results": [['Zoë "Z" \\']],
                                            "count": 1, "truncated": False})
        self.assertEqual(turn.reason, "end_turn")

    def test_credentials_that_are_none(self):
        for text in ('{"password": "' + SECRET, f'["{SECRET}"]', f'{{"passwort": "{SECRET}"}}'):
            with self.subTest(text):
                self.configure(text)
                done = self.ikigai("tool", "run", "sql_query", '{"query": "SELECT 1"}')
                self.assert_fails(done.json()["result"], "INVALID_CREDENTIALS")
                self.assertNotIn(SECRET, done.out + done.err)

    def test_the_password_is_in_no_command_line_and_no_answer(self):
        self.configure()
        lines = self.trace("execve,write", "tool", "run", "sql_query",
                           json.dumps({"query": "SELECT no_such_thing"}), options=["-f"],
                           env={"PATH": self.env()["PATH"]})
        self.assertTrue([line for line in lines if "execve(" in line and "psql" in line], lines)
        self.assertTrue([line for line in lines if "no_such_thing" in line and "write(1" in line])
        self.assertEqual([line for line in lines if SECRET in line], [])

    def test_variables_do_not_lead_elsewhere(self):
        self.configure()
        answer = self.run_tool("sql-query", {"query": "SELECT count(*) FROM customer"},
                               PGDATABASE="template1", PGOPTIONS="-c search_path=none")
        self.assertEqual(answer.get("results"), [[2]], answer)

    # ---- reading

    def test_values_keep_their_types(self):
        self.configure()
        result, _ = self.use("sql-query", {"query": """
            SELECT id, id, name, paid > 1 AS much, ARRAY[1, 2] AS list, '{"a": [null]}'::json AS doc
            FROM customer ORDER BY id;"""})
        self.assertEqual(result, {
            "columns": ["id", "id", "name", "much", "list", "doc"],
            "results": [[1, 1, 'Zoë "Z" \\', True, [1, 2], {"a": [None]}],
                        [2, 2, None, False, [1, 2], {"a": [None]}]],
            "count": 2, "truncated": False})

    def test_all_digits_arrive(self):
        self.configure()
        done = self.ikigai("tool", "run", "sql_query", json.dumps(
            {"query": "SELECT paid, 12345678901234567890.123456789 FROM customer WHERE id = 1"}))
        self.assertIn("[[19.90, 12345678901234567890.123456789]]", done.out)

    def test_other_statements_that_read(self):
        self.configure()
        self.assertEqual(self.query("SHOW transaction_read_only")["results"], [["on"]])
        self.assertEqual(self.query("VALUES (1), (2) -- two")["results"], [[1], [2]])
        self.assertIn("Seq Scan", self.query("EXPLAIN SELECT * FROM customer")["results"][0][0])
        self.assertEqual(self.query("SELECT 1 WHERE false"),
                         {"columns": [], "results": [], "count": 0, "truncated": False})

    def test_rows_up_to_a_limit(self):
        self.configure()
        many = "SELECT n FROM generate_series(1, 150) AS n"
        for params, count, truncated in (({}, 100, True), ({"limit": None}, 100, True),
                                         ({"limit": 149}, 149, True), ({"limit": 150}, 150, False)):
            with self.subTest(params):
                answer = self.query(many, **params)
                self.assertEqual((answer["count"], answer["truncated"]), (count, truncated))
                self.assertEqual(answer["results"], [[n + 1] for n in range(count)])

    def test_rows_up_to_what_the_user_wants(self):
        self.configure()
        self.config({"max_output_size": 5000})
        answer = self.query("SELECT repeat('x', 1000) FROM generate_series(1, 50)")
        self.assertEqual((answer["count"], answer["truncated"]), (4, True))

    def test_parameters(self):
        self.configure()
        self.assert_refused("sql-query", {}, {"query": 7}, {"query": " "}, {"query": "SELECT\0 1"},
                            {"query": "SELECT 1", "limit": 0}, {"query": "SELECT 1", "limit": 1001},
                            {"query": "SELECT 1", "limit": "many"},
                            {"query": "SELECT 1", "limit": True})

    # ---- and nothing else

    def test_nothing_can_be_changed(self):
        self.configure()
        canary = self.path("canary")
        self.sql("CREATE SEQUENCE numbers; CREATE FUNCTION sneak() RETURNS int LANGUAGE sql AS "
                 "'INSERT INTO customer VALUES (9) RETURNING id'")
        for query, text in (
                ("INSERT INTO customer VALUES (3)", "changes nothing"),
                ("INSERT INTO customer VALUES (3) RETURNING id", "in a read-only transaction"),
                ("WITH gone AS (DELETE FROM customer RETURNING id) SELECT * FROM gone",
                 "in a read-only transaction"),
                ("UPDATE customer SET id = 4", "changes nothing"),
                ("DROP TABLE customer", "changes nothing"),
                ("SELECT sneak()", "in a read-only transaction"),
                ("SELECT nextval('numbers')", "in a read-only transaction"),
                ("SELECT 1; DELETE FROM customer", "changes nothing"),
                ("COMMIT; DELETE FROM customer", "changes nothing"),
                ("SELECT set_config('transaction_read_only', 'off', true)", "read-write mode"),
                ("SET TRANSACTION READ WRITE", "changes nothing"),
                (f"COPY customer TO PROGRAM 'touch {canary}'", "changes nothing"),
                (f"\\! touch {canary}\n\\! touch {canary}", "syntax error"),
                ("SELECT $query_$; DELETE FROM customer; $query_$", "")):
            with self.subTest(query):
                answer = self.query(query)
                if text:
                    self.assert_fails(answer, "QUERY_FAILED", text)
                self.assertEqual(self.sql("SELECT count(*), max(id) FROM customer"), "2|2")
        self.assertFalse(os.path.exists(canary))

    # ---- what goes wrong

    def test_a_query_that_is_wrong(self):
        self.configure()
        result, _ = self.use("sql-query", {"query": "SELECT nam FROM customer"})
        self.assert_fails(result, "QUERY_FAILED", 'column "nam" does not exist')
        self.assertIn('HINT:  Perhaps you meant to reference the column "customer.name"',
                      result["error"])

    def test_a_query_that_takes_too_long(self):
        text = read("examples", "sql-query")
        self.user_tool("sql-query", text.replace("QUERY_SECONDS = 5, 20", "QUERY_SECONDS = 5, 1"))
        self.configure()
        self.assert_fails(self.query("SELECT pg_sleep(60)"), "QUERY_FAILED", "statement timeout")

    def test_no_server(self):
        self.configure(json.dumps({**self.account(), "host": self.dir}))
        self.assert_fails(self.query("SELECT 1"), "CONNECTION_FAILED", self.dir)
        self.configure(json.dumps({**self.account(), "dbname": "nowhere"}))
        self.assert_fails(self.query("SELECT 1"), "CONNECTION_FAILED", '"nowhere" does not exist')

    def test_no_psql(self):
        self.configure()
        os.makedirs(self.path("bin"))
        os.symlink(sys.executable, self.path("bin/python3"))
        answer = self.run_tool("sql-query", {"query": "SELECT 1"}, PATH=self.path("bin"))
        self.assert_fails(answer, "MISSING_PROGRAM", "psql")


PAGE = """<!DOCTYPE html>
<html><head><title>Tea &amp; more</title><style>p {}</style><script>if (a < b) "<p>no</p>"</script>
</head><body><h1>All about <em>tea</em></h1>
<p>Read   <a href="/green?a=1&amp;b=2">the green
one </a>first.<br>Then brew: <code>a &lt; b</code>
<ul><li>black<li>white <ol><li>one</li><li>two</li></ol><li><a href="#top">up</a></ul>
<pre>
int main(void)
{
    return 0; <b>/* tea */</b>
}
</pre>
<table><tr><th>sort</th><th>minutes</th></tr><tr><td>green</td><td><div>2</div></td></tr></table>
<h2></h2><a href="https://example.com/"></a><noscript>No script</noscript>
<![if !IE]><p>Seen</p><![endif]><!-- not seen --><img src="x" alt="A cup">
</body></html>"""
PAGE_TEXT = """# All about tea

Read [the green one](BASE/green?a=1&b=2) first.
Then brew: `a < b`

- black
- white
  1. one
  2. two
- up

```
int main(void)
{
    return 0; /* tea */
}
```

sort | minutes
green | 2

Seen

[image: A cup]"""


class Site(http.server.BaseHTTPRequestHandler):
    """What there is at a path: (status, headers, body), or a function that talks by itself."""
    protocol_version = "HTTP/1.1"
    pages = {}

    def do_GET(self):
        page = self.pages.get(self.path, (404, {}, b"<h1>Not here</h1>"))
        if callable(page):
            page(self)
            self.close_connection = True
            return
        status, headers, body = page
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", "Content-Length": str(len(body)),
                            **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class WebFetchTest(ExampleTest):
    def setUp(self):
        super().setUp()
        self.install("web-fetch")
        site = type("TestSite", (Site,), {"pages": {}})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), site)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.pages, self.base = site.pages, f"http://127.0.0.1:{server.server_address[1]}"
        self.over = threading.Event()  # for servers that wait
        self.addCleanup(self.over.set)

    def page(self, path, body, status=200, **headers):
        body = body.encode() if isinstance(body, str) else body
        self.pages[path] = (status, {k.replace("_", "-"): v for k, v in headers.items()}, body)

    def fetch(self, path, **params):
        return self.run_tool("web-fetch", {"url": self.base + path, **params})

    # ---- pages

    def test_html_as_text(self):
        self.page("/tea", PAGE, Content_Type="text/html; charset=utf-8")
        result, _ = self.use("web-fetch", {"url": self.base + "/tea"})
        text = PAGE_TEXT.replace("BASE", self.base)
        self.assertEqual(result, {"output": text, "url": self.base + "/tea", "title": "Tea & more",
                                  "content_type": "text/html", "total_chars": len(text)})

    def test_raw(self):
        self.page("/tea", PAGE)
        self.assertEqual(self.fetch("/tea", raw=True)["output"], PAGE)

    def test_text_that_is_no_html(self):
        for kind in ("text/plain", "application/json", "application/atom+xml", "text/x-c"):
            self.page("/it", "<b> &amp;\n", Content_Type=kind)
            answer = self.fetch("/it")
            self.assertEqual((answer["output"], answer["content_type"]), ("<b> &amp;\n", kind))

    def test_what_is_no_text(self):
        for kind in ("image/png", "application/pdf", "application/octet-stream"):
            self.page("/it", b"\x89PNG\0\0", Content_Type=kind)
            self.assert_fails(self.fetch("/it"), "NOT_TEXT", kind)

    def test_character_sets(self):
        meta = '<meta charset="{}"><p>Grüße – 世界'
        for number, (kind, body, text) in enumerate((
                ("text/html; charset=ISO-8859-1", "„Grüße“".encode("cp1252"), "„Grüße“"),
                ("text/html; charset=windows-1252", "„Grüße“".encode("cp1252"), "„Grüße“"),
                ("text/html; charset=Shift_JIS", "世界".encode("shift_jis"), "世界"),
                ("text/html", meta.format("gb18030").encode("gb18030"), "Grüße – 世界"),
                ("text/html", "\ufeffGrüße".encode("utf-16-le"), "Grüße"),
                ("text/html; charset=nonsense", "Grüße 世界".encode(), "Grüße 世界"),
                ("text/html", "Grüße 世界".encode(), "Grüße 世界"),
                ("text/html", "Grüße".encode("cp1252"), "Grüße"),
                ("text/html; charset=utf-8", b"a\xffb", "a\ufffdb"))):
            with self.subTest(kind=kind, number=number):
                self.page("/it", body, Content_Type=kind)
                self.assertEqual(self.fetch("/it")["output"], text)

    def test_addresses_that_need_escaping(self):
        self.page("/gr%C3%BCn%20tee?q=%C3%A4%20b&c=%41", "Here.")
        self.assertEqual(self.fetch("/grün tee?q=ä b&c=%41#part")["output"], "Here.")

    def test_packed(self):
        self.page("/it", gzip.compress(b"unpacked " * 1000), Content_Encoding="gzip")
        self.assertEqual(self.fetch("/it")["total_chars"], 8999)

    # ---- long pages

    def test_a_long_page_in_parts(self):
        text = "".join(f"{n} größer\n" for n in range(5000))
        self.page("/long", text, Content_Type="text/plain; charset=utf-8")
        first = self.fetch("/long")
        self.assertEqual(len(first["output"]), 20000)
        self.assertEqual((first["next_offset"], first["total_chars"]), (20000, len(text)))
        rest = self.fetch("/long", offset=20000, limit=1_000_000)
        self.assertEqual(first["output"] + rest["output"], text)
        self.assertNotIn("next_offset", rest)
        self.assertEqual(self.fetch("/long", offset=len(text) + 5)["output"], "")

    def test_a_part_is_no_larger_than_the_user_wants(self):
        self.config({"max_output_size": 1001})
        text = "ö" * 1200
        self.page("/long", text, Content_Type="text/plain; charset=utf-8")
        parts, offset = [], 0
        while offset is not None:
            answer = self.fetch("/long", offset=offset)
            self.assertNotIn("truncated", answer)
            parts.append(answer["output"])
            offset = answer.get("next_offset")
        self.assertEqual([len(part) for part in parts], [500, 500, 200])
        self.assertEqual("".join(parts), text)

    def test_a_page_without_end(self):
        for name, pack in (("plain", lambda data: data), ("gzip", gzip.compress)):
            with self.subTest(name):
                body = pack(b"x" * (20 << 20))
                self.page("/huge", body, Content_Type="text/plain", Content_Encoding=name)
                answer = self.fetch("/huge", limit=10)
                self.assertEqual((answer["output"], answer["total_chars"]), ("x" * 10, 4 << 20))
                self.assertIn("larger than 4 MB", answer["note"])

    # ---- redirects and errors

    def test_redirects(self):
        self.page("/tea", "Tea.")
        for status in (301, 302, 303, 307):
            self.page("/a", "", status=status, Location="b?c=d")
            self.page("/b?c=d", "", status=302, Location=self.base + "/tea")
            answer = self.fetch("/a")
            self.assertEqual((answer["output"], answer["url"]), ("Tea.", self.base + "/tea"))

    def test_redirects_that_lead_nowhere(self):
        self.page("/round", "", status=302, Location="/round")
        self.assert_fails(self.fetch("/round"), "HTTP_ERROR", "302")
        for target, code in (("file:///etc/passwd", "HTTP_ERROR"),
                             ("ftp://127.0.0.1/", "INVALID_ARG")):
            self.page("/out", "", status=302, Location=target)
            self.assert_fails(self.fetch("/out"), code, target)

    def test_an_error_says_what_the_server_says(self):
        result, _ = self.use("web-fetch", {"url": self.base + "/nowhere"})
        self.assertEqual(result, {"error": "404 Not Found", "error_code": "HTTP_ERROR",
                                  "status": 404, "url": self.base + "/nowhere",
                                  "output": "# Not here"})

    def test_parameters(self):
        self.assert_refused(
            "web-fetch", {}, {"url": 1}, {"url": ""}, {"url": "/etc/passwd"},
            {"url": "file:///etc/passwd"}, {"url": "ftp://127.0.0.1/"}, {"url": "javascript:1"},
            {"url": "http://"}, {"url": "http://[::1/"}, {"url": "http://127.0.0.1:x/"},
            {"url": "http://me:secret@127.0.0.1/"}, {"url": "http://a..b/"},
            {"url": self.base, "offset": -1}, {"url": self.base, "limit": 0},
            {"url": self.base, "raw": "yes"}, {"url": self.base, "limit": 1.5})

    def test_no_server(self):
        self.assert_fails(self.run_tool("web-fetch", {"url": "http://127.0.0.1:1/"}),
                          "CONNECTION_FAILED", "refused")

    def test_connections_that_break(self):
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
        for name, data in (("length", head + b"Content-Length: 100\r\n\r\nhalf"),
                           ("chunks", head + b"Transfer-Encoding: chunked\r\n\r\n"
                                      b"4\r\nhalf\r\n9\r\nx"),
                           ("gzip", head + b"Content-Encoding: gzip\r\n\r\nno gzip")):
            with self.subTest(name):
                self.pages["/cut"] = lambda site, data=data: site.wfile.write(data)
                answer = self.fetch("/cut")
                if name == "gzip":
                    self.assert_fails(answer, "CONNECTION_FAILED", "broke")
                else:
                    self.assertEqual(answer["output"][:4], "half")
                    self.assertEqual(answer["note"], "The connection broke")
        self.pages["/cut"] = lambda site: site.wfile.write(b"SSH-2.0-x\r\n")
        self.assert_fails(self.fetch("/cut"), "CONNECTION_FAILED")

    def test_servers_that_say_nothing(self):
        self.install("web-fetch", SILENCE_SECONDS=2)
        self.pages["/silent"] = lambda site: self.over.wait(60)
        self.assert_fails(self.fetch("/silent"), "TIMEOUT", "does not answer")

        def stop_halfway(site):
            site.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhalf")
            self.over.wait(60)
        self.pages["/half"] = stop_halfway
        answer = self.fetch("/half")
        self.assertEqual((answer["output"], answer["note"]), ("half", "The server is too slow"))

    def test_progress(self):
        def trickle(site):
            site.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
            for _ in range(4):
                site.wfile.write(b"x" * 10240)
                time.sleep(0.3)
        self.pages["/slow"] = trickle
        result, turn = self.use("web-fetch", {"url": self.base + "/slow"})
        self.assertEqual(result["total_chars"], 40960)
        texts = [event["text"] for event in turn.of("tool_progress")]
        self.assertEqual(texts[0], f"asking {self.base[7:]}\n")
        self.assertRegex(texts[-1], r"^[1-4]0 KB\n$")


class RunTestsTest(ExampleTest):
    def setUp(self):
        super().setUp()
        self.install("run-tests")

    def run_tests(self, **params):
        return self.run_tool("run-tests", params)

    def program(self, name, text):
        """A program that is found first."""
        self.write(f"bin/{name}", "#!/bin/sh\n" + text, 0o755)

    def test_counts_and_failing_lines(self):
        self.write("project/Makefile", "check:\n\t@cat results; exit 3\n")
        results = "ok 1 - first\nnot ok 2 - second\n# got 7\nok 3 - third\n"
        self.write("project/results", results)
        result, _ = self.use("run-tests", {})
        self.assertRegex(result.pop("summary"), r"^2 passed, 1 failed, exit code 2, \d+\.\d s$")
        output = result.pop("output")
        self.assertEqual(output[:len(results)], results)
        failures = result.pop("failures")
        self.assertEqual(failures[0], "not ok 2 - second")
        self.assertEqual(result, {"command": "make check", "exit_code": 2, "passed": 2,
                                  "failed": 1})

    def test_a_real_python_project(self):
        self.write("project/tests/test_it.py", "import unittest\n\n\nclass T(unittest.TestCase):\n"
                   "    def test_good(self):\n        pass\n\n"
                   "    def test_bad(self):\n        self.assertEqual(1, 2)\n")
        answer = self.run_tests()
        self.assertRegex(answer["command"], r"^python3 -m (pytest|unittest discover) -v")
        self.assertEqual((answer["exit_code"], answer["passed"], answer["failed"]), (1, 1, 1))
        self.assertIn("AssertionError: 1 != 2", "\n".join(answer["failures"]))

    def test_how_projects_test_themselves(self):
        for name in ("cargo", "go", "npm", "pnpm", "meson", "ctest", "mvn", "make"):
            self.program(name, f'echo "{name} $*"')
        path = f"{self.path('bin')}:{self.env()['PATH']}"
        package = json.dumps({"scripts": {"test": "jest"}})
        for files, command in (
                ({"Makefile": "all:\n\ncheck: all\n\ntest:\n"}, "make check"),
                ({"Makefile": "check := no\nall test:\n\ttrue\n"}, "make test"),
                ({"Cargo.toml": ""}, "cargo test"), ({"go.mod": ""}, "go test -v ./..."),
                ({"package.json": package}, "npm test"), ({"pom.xml": ""}, "mvn -B test"),
                ({"package.json": package, "pnpm-lock.yaml": ""}, "pnpm test"),
                ({"meson.build": "", "build/meson-private/x": ""}, "meson test -C build"),
                ({"CMakeLists.txt": "", "out/CTestTestfile.cmake": ""},
                 "ctest --test-dir out --output-on-failure"),
                ({"Makefile": "all:\n", "Cargo.toml": ""}, "cargo test")):
            with self.subTest(command):
                for name, text in files.items():
                    self.write(f"{command}/{name}", text)
                answer = self.run_tool("run-tests", {"folder": self.path(command)}, PATH=path)
                self.assertEqual((answer["command"], answer["output"], answer["exit_code"]),
                                 (command, command + "\n", 0))

    def test_the_script_of_the_project_comes_first(self):
        self.write("project/Makefile", "check:\n\tfalse\n")
        self.write("project/script/test", "#!/bin/sh\necho '7 passed, 0 failed'\n", 0o755)
        answer = self.run_tests()
        self.assertEqual((answer["command"], answer["exit_code"]), ("script/test", 0))
        self.assertEqual((answer["passed"], answer["failed"]), (7, 0))
        self.assertNotIn("failures", answer)

    def test_a_project_without_tests(self):
        for files in ({}, {"package.json": "{}"}, {"package.json": "no JSON"},
                      {"Makefile": "all:\n"},
                      {"package.json": '{"scripts": {"test": "echo no test specified; exit 1"}}'}):
            for name, text in files.items():
                self.write(f"project/{name}", text)
            self.assert_fails(self.run_tests(), "NO_TESTS_FOUND")

    def test_formats(self):
        for text, passed, failed in (
                ("test a ... ok\ntest b ... FAILED\ntest result: FAILED. 1 passed; 1 failed", 1, 1),
                ("t.py::a PASSED [ 50%]\nt.py::b FAILED [99%]\nFAILED t.py::b\n1 failed", 1, 1),
                ("..F [100%]\nFAILED t.py::b - x\n1 failed, 2 passed in 0.1s", 2, 1),
                ("--- PASS: TestA (0.00s)\n    --- FAIL: TestB/c (0.01s)\nFAIL", 1, 1),
                ("1/2 one OK 0.01s\n2/2 two FAIL 0.02s exit status 1", 1, 1),
                ("1/2 Test #1: a ... Passed 0.00 sec\n2/2 Test #2: b ...***Failed 0.01 sec", 1, 1),
                ("  \x1b[32m✓\x1b[0m adds\n  \x1b[31m✗\x1b[0m subtracts", 1, 1),
                ("  5 passing (3ms)\n  2 failing", 5, 2),
                ("a 1 passed\nb 2 passed\n\n3 passed, 0 failed", 3, 0)):
            with self.subTest(text):
                self.write("project/text", text)
                answer = self.run_tests(command="cat text")
                self.assertEqual((answer.get("passed"), answer.get("failed")), (passed, failed))
                self.assertNotIn("\x1b", answer["output"])
        answer = self.run_tests(command="echo hello")
        self.assertNotIn("passed", answer)
        self.assertRegex(answer["summary"], r"^exit code 0, ")

    def test_exit_codes(self):
        self.assertEqual(self.run_tests(command="exit 7")["exit_code"], 7)
        self.assertEqual(self.run_tests(command="kill -9 $$")["exit_code"], 137)
        self.assertEqual(self.run_tests(command="no-such-program-here")["exit_code"], 127)

    def test_the_end_of_a_long_output(self):
        answer = self.run_tests(command="seq 1 100000; echo end")
        self.assertTrue(answer["output"].endswith("\n99999\n100000\nend\n"))
        self.assertRegex(answer["output"], r"^\d+\n")
        self.assertLessEqual(len(answer["output"]), 16000)
        self.assertEqual((answer["truncated"], answer["total_bytes"]), (True, 588899))
        self.config({"max_output_size": 500})
        answer = self.run_tests(command="seq 1 1000")
        self.assertEqual((answer["output"][-5:], answer["truncated"]), ("1000\n", True))
        self.assertLessEqual(len(answer["output"]), 500)

    def test_parameters(self):
        self.assert_refused("run-tests", {"command": 1}, {"folder": "nowhere"}, {"folder": ["."]},
                            {"timeout_seconds": 0}, {"timeout_seconds": 591},
                            {"timeout_seconds": "long"})
        self.assert_fails(self.run_tests(command="x" * 1_000_000), "START_FAILED")

    def test_progress(self):
        self.write("project/Makefile",
                   "test:\n\t@for n in 1 2 3; do echo ok $$n; sleep 0.4; done\n")
        result, turn = self.use("run-tests", {})
        self.assertEqual(result["passed"], 3)
        texts = [event["text"] for event in turn.of("tool_progress")]
        for text in texts:
            self.assertRegex(text, r"^(\d) passed, 0 failed, ok \1\n$")
        self.assertGreater(len(texts), 0)

    def test_silence_is_not_the_end(self):
        """The limit without progress is shorter than the run, which says nothing by itself."""
        self.install("run-tests", SILENCE_SECONDS=0.2)
        result, turn = self.use("run-tests", {"command": "sleep 7; echo 1 passed"},
                                config={"tools": {"run_tests": {"timeout_seconds": 5}}})
        self.assertEqual((result["exit_code"], result["passed"]), (0, 1))
        texts = [event["text"] for event in turn.of("tool_progress")]
        self.assertRegex(texts[0], r"^still running after \d+ s\n$")

    def test_out_of_time(self):
        command = f"sh -c 'trap : TERM; sleep 100; sleep 100' {self.dir}; sleep 100"
        answer = self.run_tests(command=f"echo begun; {command}", timeout_seconds=2)
        self.assertEqual((answer["exit_code"], answer["output"]), (124, "begun\n"))
        self.assertIn("out of time", answer["summary"])
        self.assert_nothing_runs()

    def test_what_the_tests_leave_running_is_ended(self):
        text = f"sh -c 'while :; do sleep 1; done' {self.dir} & echo done"
        self.assertEqual(self.run_tests(command=text)["output"], "done\n")
        self.assert_nothing_runs()

    def test_ended_by_hand_it_leaves_nothing(self):
        """By itself, without ikigai to clean up, and with a test that does not want to go."""
        text = f"sh -c 'trap : TERM; : > begun; while :; do sleep 1; done' {self.dir} & wait"
        with subprocess.Popen([path_of("run-tests")], stdin=subprocess.PIPE, env=self.env(),
                              stdout=subprocess.PIPE, cwd=self.project,
                              preexec_fn=hostile.default_signals) as process:
            process.stdin.write(json.dumps({"command": text}).encode())
            process.stdin.close()
            self.wait_for_file("begun")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(PATIENCE), 143)
        self.assertTrue(hostile.wait_until(lambda: not hostile.processes_with(self.dir)))

    def test_interrupted(self):
        text = f"sh -c ': > begun; while :; do sleep 1; done' {self.dir} & wait"
        running = self.begin([Answer(calls=[Call("run_tests", {"command": text})])])
        self.wait_for_file("begun")
        running.signal()
        turn = running.finish()
        self.assertEqual((turn.status, turn.reason), (130, "interrupted"))
        self.assert_nothing_runs()


class GitSummaryTest(ExampleTest):
    def setUp(self):
        super().setUp()
        self.install("git-summary")
        self.identity = {"GIT_AUTHOR_NAME": 'Ann "A" \\ Ünal', "GIT_AUTHOR_EMAIL": "ann@localhost",
                         "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@localhost",
                         "GIT_AUTHOR_DATE": "2026-02-03T04:05:06+0000"}

    def git(self, *args, cwd=None, status=0):
        done = subprocess.run(["git", *args], cwd=cwd or self.project, text=True,
                              env={**self.env(), **self.identity},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout.strip()

    def commit(self, subject, **files):
        for name, text in files.items():
            self.write(f"project/{name}", text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)

    def summary(self, **params):
        return self.run_tool("git-summary", params)

    def test_the_whole(self):
        names = ["sp ace", 'quo"te', "new\nline", "tab\tand\x01\x0b", "back\\slash", "grün 世界",
                 "-n"]
        self.git("init", "-q", "-b", 'fe"ature/ü')
        for name in names:
            self.write("project/" + name, "1\n2\n3\n")
        self.commit('All "of" \\ it\tin UTF-8: ü')
        self.git("mv", "sp ace", "moved by git")
        for name in names[1:4]:
            self.write("project/" + name, "1\n2\n3\n4\n")
        self.git("add", 'quo"te')
        self.write('project/quo"te', "")
        os.remove(self.path("project/back\\slash"))
        for name in ("new folder/x", 'un"tracked\n'):
            self.write("project/" + name)
        result, _ = self.use("git-summary", {})
        head = self.git("rev-parse", "HEAD")
        self.assertEqual(result, {
            "branch": 'fe"ature/ü', "head": head, "upstream": None, "ahead": None, "behind": None,
            "clean": False,
            "staged": [{"status": "renamed", "path": "moved by git", "from": "sp ace"},
                       {"status": "modified", "path": 'quo"te'}],
            "unstaged": [{"status": "deleted", "path": "back\\slash"},
                         {"status": "modified", "path": "new\nline"},
                         {"status": "modified", "path": 'quo"te'},
                         {"status": "modified", "path": "tab\tand\x01\x0b"}],
            "conflicts": [], "untracked": ["new folder/", 'un"tracked\n'],
            "staged_changes": {"files": 2, "insertions": 1, "deletions": 0},
            "unstaged_changes": {"files": 4, "insertions": 2, "deletions": 7},
            "commits": [{"commit": head[:len(result["commits"][0]["commit"])], "date": "2026-02-03",
                         "author": 'Ann "A" \\ Ünal', "subject": 'All "of" \\ it\tin UTF-8: ü'}],
            "truncated": False})

    def test_upstream(self):
        self.git("init", "-q", "--bare", "-b", "main", self.path("remote"))
        self.git("init", "-q", "-b", "main")
        self.commit("one", a="1")
        self.commit("two", a="2")
        self.git("remote", "add", "origin", self.path("remote"))
        self.git("push", "-q", "-u", "origin", "main")
        answer = self.summary()
        self.assertEqual((answer["upstream"], answer["ahead"], answer["behind"], answer["clean"]),
                         ("origin/main", 0, 0, True))
        self.git("reset", "-q", "--hard", "HEAD~1")
        self.commit("three", b="3")
        self.commit("four", b="4")
        answer = self.summary(commits=2)
        self.assertEqual((answer["ahead"], answer["behind"]), (2, 1))
        self.assertEqual([c["subject"] for c in answer["commits"]], ["four", "three"])
        self.git("update-ref", "-d", "refs/remotes/origin/main")
        answer = self.summary()
        self.assertEqual((answer["upstream"], answer["ahead"]), ("origin/main", None))

    def test_beginning_detached_and_in_conflict(self):
        self.git("init", "-q", "-b", "main")
        answer = self.summary()
        self.assertEqual((answer["branch"], answer["head"], answer["commits"]), ("main", None, []))
        self.commit("one", **{"a b": "1\n"})
        self.git("checkout", "-q", "-b", "other")
        self.commit("two", **{"a b": "2\n"})
        self.git("checkout", "-q", "main")
        self.commit("three", **{"a b": "3\n"})
        self.git("merge", "other", status=1)
        answer = self.summary()
        self.assertEqual((answer["conflicts"], answer["clean"]), (["a b"], False))
        self.git("merge", "--abort")
        self.git("checkout", "-q", "--detach")
        answer = self.summary()
        self.assertEqual((answer["branch"], answer["head"], answer["clean"]),
                         (None, self.git("rev-parse", "HEAD"), True))

    def test_a_name_that_is_not_utf8(self):
        self.git("init", "-q")
        with open(os.path.join(self.project.encode(), b"lat\xfcin"), "w"):
            pass
        self.assertEqual(self.summary()["untracked"], ["lat\ufffdin"])

    def test_very_many_files(self):
        self.git("init", "-q")
        for n in range(250):
            self.write(f"project/{n:03}")
        answer = self.summary()
        self.assertEqual((len(answer["untracked"]), answer["truncated"]), (200, True))

    def test_nothing_is_changed_and_nothing_is_run(self):
        self.git("init", "-q")
        self.commit("one", a="1")
        self.write("canary", "#!/bin/sh\ntouch '" + self.path("ran") + "'\n", 0o755)
        for key in ("core.fsmonitor", "diff.external"):
            self.git("config", key, self.path("canary"))
        os.utime(self.path("project/a"), (1, 1))  # git would like to note that
        before = self.read("project/.git/index")
        self.assertTrue(self.summary()["clean"])
        self.assertEqual(self.read("project/.git/index"), before)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_no_repository(self):
        result, _ = self.use("git-summary", {"commits": 3})
        self.assert_fails(result, "NOT_A_REPOSITORY", "not a git repository")
        self.git("init", "-q", "--bare")
        self.assert_fails(self.summary(), "NOT_A_REPOSITORY", "no working tree")

    def test_a_broken_repository(self):
        self.git("init", "-q")
        self.write("project/.git/index", "no index")
        self.assert_fails(self.summary(), "GIT_FAILED", "index")

    def test_parameters(self):
        self.git("init", "-q", "-b", "main")
        self.assert_refused("git-summary", {"commits": -1}, {"commits": 51}, {"commits": "5"},
                            {"commits": 1.5}, {"commits": [1]}, {"commits": 100000000000000000000})
        self.assertEqual(self.summary(commits=None)["branch"], "main")
        self.assertEqual(self.run_tool("git-summary", '{\n "commits" :\t50 }')["branch"], "main")


class SqliteQueryTest(ExampleTest):
    def setUp(self):
        super().setUp()
        self.install("sqlite-query")
        self.file = self.path("project/tea.db")
        with sqlite3.connect(self.file) as db:
            db.executescript("""
                CREATE TABLE tea (id INTEGER PRIMARY KEY, name TEXT, minutes REAL, leaf BLOB);
                CREATE VIEW strong AS SELECT * FROM tea WHERE minutes > 3;
                CREATE INDEX by_name ON tea (name);""")
            db.execute("INSERT INTO tea VALUES (1, ?, 2.5, ?)", ('Grüner "Tee"\0\n', b"\0\xff"))
            db.execute("INSERT INTO tea VALUES (9007199254740993, NULL, 9e999, zeroblob(100))")
            db.execute("INSERT INTO tea (name) VALUES (CAST(x'ff41' AS TEXT))")
        db.close()

    def query(self, query=None, **params):
        return self.run_tool("sqlite-query", {"file": "tea.db", "query": query, **params})

    def test_what_is_in_it(self):
        result, _ = self.use("sqlite-query", {"file": "tea.db"})
        self.assertEqual(result["columns"], ["type", "name", "sql"])
        self.assertEqual([row[:2] for row in result["results"]],
                         [["index", "by_name"], ["table", "tea"], ["view", "strong"]])
        self.assertIn("CREATE TABLE tea (id INTEGER", result["results"][1][2])

    def test_values(self):
        answer = self.query("SELECT *, id FROM tea ORDER BY rowid;  -- all")
        self.assertEqual(answer["columns"], ["id", "name", "minutes", "leaf", "id"])
        first, second, third = answer["results"]
        self.assertEqual(first, [1, 'Grüner "Tee"\0\n', 2.5, "x'00ff'", 1])
        self.assertEqual(second[:3], [9007199254740993, None, "Inf"])
        self.assertEqual(second[3], "x'" + "00" * 64 + "'... (100 bytes)")
        self.assertEqual(third[1:4], ["x'ff41'", None, None])
        self.assertEqual((answer["count"], answer["truncated"]), (3, False))

    def test_other_statements_that_read(self):
        self.assertEqual(self.query("PRAGMA table_info(tea)")["count"], 4)
        self.assertEqual(self.query("VALUES (1), (2)")["results"], [[1], [2]])
        self.assertEqual(self.query("SELECT value FROM json_each('[3]')")["results"], [[3]])
        self.assertIn("SCAN", self.query("EXPLAIN QUERY PLAN SELECT * FROM tea")["results"][0][3])

    def test_rows_up_to_a_limit(self):
        many = ("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 150) "
                "SELECT n FROM c")
        for limit, count, truncated in ((None, 100, True), (149, 149, True), (150, 150, False)):
            answer = self.query(many, limit=limit)
            self.assertEqual((answer["count"], answer["truncated"]), (count, truncated))
            self.assertEqual(answer["results"][-1], [count])
        self.config({"max_output_size": 1000})
        answer = self.query("SELECT '123456789012345678901234567890' FROM (" + many + ")")
        self.assertEqual((answer["count"], answer["truncated"]), (24, True))

    def test_nothing_can_be_changed(self):
        before, names = self.read("project/tea.db"), os.listdir(self.project)
        for query in ("INSERT INTO tea (name) VALUES ('x')", "DELETE FROM tea", "DROP TABLE tea",
                      "CREATE TEMP TABLE x (y)", "VACUUM", "VACUUM INTO 'copy.db'",
                      "BEGIN IMMEDIATE", "ATTACH 'other.db' AS other", "PRAGMA journal_mode = WAL",
                      "PRAGMA user_version = 5", "PRAGMA writable_schema = 1",
                      "INSERT INTO tea (name) VALUES ('x') RETURNING id"):
            with self.subTest(query):
                self.assert_fails(self.query(query), "READ_ONLY")
        self.assert_fails(self.query("SELECT 1; DELETE FROM tea"), "INVALID_ARG", "one statement")
        self.assert_fails(self.query("SELECT load_extension('x')"), "QUERY_FAILED",
                          "not authorized")
        self.assertEqual((self.read("project/tea.db"), os.listdir(self.project)), (before, names))

    def test_what_goes_wrong(self):
        self.assert_fails(self.query("SELEC 1"), "QUERY_FAILED", 'near "SELEC": syntax error')
        self.assert_fails(self.query("SELECT * FROM coffee"), "QUERY_FAILED",
                          "no such table: coffee")
        os.mkfifo(self.path("project/fifo"))
        self.write("project/text", "This is no database, but long enough to look like one. " * 20)
        for name, code in (("nowhere.db", "FILE_NOT_FOUND"), (".", "OPEN_FAILED"),
                           ("fifo", "OPEN_FAILED"), ("text", "NOT_A_DATABASE"),
                           ("x" * 5000, "OPEN_FAILED")):
            with self.subTest(name):
                self.assert_fails(self.run_tool("sqlite-query", {"file": name}), code)

    def test_parameters(self):
        self.assert_refused("sqlite-query", {}, {"file": 1}, {"file": "tea.db", "query": 1},
                            {"file": "tea.db", "query": " -- nothing"},
                            {"file": "tea.db", "limit": 0}, {"file": "tea.db", "limit": 1001},
                            {"file": "tea.db", "limit": "5"})


if __name__ == "__main__":
    unittest.main()
