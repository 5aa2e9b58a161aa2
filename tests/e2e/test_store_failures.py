"""Databases that cannot be opened, read or written, through the whole program. A turn ends as it
would have ended, one line says that it is not saved and why, nothing that was there is changed, and
when the cause is gone everything works again. `ikigai doctor` says what is wrong, and saves what can
be read of a damaged file."""
import json
import os
import re
import resource
import shlex
import shutil
import sqlite3
import subprocess
import time

from agent_support import PATIENCE, AgentTest, Turn
from fake_llm import Answer, Call
from support import IKIGAI, NOBODY, as_user, need_mounts, remove_tree

POSTGRES = True
UNSAVED = "This conversation is not being saved: "
SAVED_AGAIN = "This conversation is being saved again; nothing was lost."
KINDS = ["user", "tool_call", "tool_result", "assistant"]
PAGE = 4096


class FirstStarts(AgentTest):
    def test_two_hundred_at_once(self):
        """They make the database together, and each saves its session."""
        env = self.env()
        command = ["/bin/sh", "-c", 'read -r _; exec "$@" < /dev/null', "sh",
                   IKIGAI, "-p", "hello", "-m", "offline/offline", "--json"]
        children = []
        gate, opener = os.pipe()
        for number in range(200):
            with open(self.path(f"out{number}"), "wb") as out:
                children.append(subprocess.Popen(command, cwd=self.project, env=env, stdout=out,
                                                 stderr=out, stdin=gate))
        os.close(gate)
        os.close(opener)
        self.assertEqual({child.wait(PATIENCE * 10) for child in children}, {0})
        for number in range(200):
            printed = self.read(f"out{number}").decode()
            self.assertNotIn(UNSAVED, printed)
            self.assertNotIn('"saved":false', printed)
        with sqlite3.connect(os.path.join(self.home, "ikigai.db")) as db:
            self.assertEqual(db.execute("SELECT count(*) FROM sessions").fetchall(), [(200,)])


class StoreTest(AgentTest):
    def setUp(self):
        super().setUp()
        self.db = os.path.join(self.home, "ikigai.db")
        self.who = {}  # how every ikigai is started
        self.config({})

    # ---- turns

    def offline(self, *args, prompt="run echo spoken", **more):
        done = self.ikigai("-p", prompt, "-m", "offline/offline", "--json", *args,
                           **{**self.who, **more})
        return Turn(done.status, done.out.split("\n")[:-1], done.err, None)

    def online(self, *args):
        return self.ask([Answer(calls=[Call("bash", {"command": "echo spoken"})]), Answer("Done.")],
                        *args, **self.who)

    def said(self, turn):
        """What a turn says of the store."""
        return [event["text"] for event in turn.of("notice")]

    def assert_goes_on(self, words, *args):
        """A turn that cannot be saved, in both formats, with and without a server."""
        for ask in (self.offline, self.online):
            turn = ask(*args)
            self.assertEqual(turn.reason, "end_turn")
            (line,) = self.said(turn)
            self.assertTrue(line.startswith(UNSAVED), line)
            self.assertRegex(line, words)
            self.assertNotIn(UNSAVED, turn.err)
            self.assertEqual([m["kind"] for m in turn.messages(*KINDS)], KINDS)
            self.assertEqual([m.get("saved") for m in turn.messages(*KINDS)], [False] * 4)
            self.assertEqual(turn.envelopes()[0]["result"]["output"], "spoken")
        done = self.ikigai("-p", "run echo spoken", "-m", "offline/offline", *args, **self.who)
        self.assertIn("spoken", done.out)
        (line,) = [line for line in done.err.splitlines() if "saved" in line]
        self.assertRegex(line, "^" + UNSAVED + ".*" + words)

    def assert_saves(self, *args):
        """A turn that is saved, all of it; returns the id of its session."""
        turn = self.offline(*args)
        self.assertEqual(self.said(turn), [])
        self.assertTrue(all("saved" not in m for m in turn.messages()))
        (begin,) = turn.of("session")
        return begin["id"]

    def stored(self, id, db=None):
        """The kinds of what is stored of a session, in order."""
        with sqlite3.connect(db or self.db) as connection:
            rows = connection.execute(
                "SELECT seq, kind FROM messages JOIN sessions s ON key = session WHERE s.id = ?"
                " ORDER BY seq", [id]).fetchall()
        self.assertEqual([seq for seq, _ in rows], list(range(1, len(rows) + 1)))
        return [kind for _, kind in rows]

    def sessions(self):
        """{id: session} of all of them"""
        return {s["id"]: s for s in self.ikigai("session", "list", "--json", **self.who).json()}

    # ---- files

    def snapshot(self, folder=None):
        """All files below and their bytes. Caches and the configuration are no matter of the store,
        and what stands beside a database and is empty, or made again each time, does not count."""
        found = {}
        for where, folders, files in os.walk(folder or self.path("home")):
            folders[:] = [f for f in folders if f != "cache"]
            for path in (os.path.join(where, name) for name in files):
                if os.path.isfile(path):
                    with open(path, "rb") as f:
                        found[path] = f.read()
        return {name: data for name, data in found.items()
                if not name.endswith(("-shm", "config.json")) and (data or not name.endswith("-wal"))}

    def config(self, value, scope="home"):
        """Without checkpoints: these tests count what is stored, in all files."""
        path = super().config({"undo_max_files": 0, **value}, scope)
        if self.who:
            os.chown(path, NOBODY, NOBODY)
        return path

    def belong_to_nobody(self):
        """Everything is an ordinary user's from now on, who runs ikigai."""
        if os.geteuid() != 0:
            return
        for where, folders, files in os.walk(self.dir):
            for name in [*folders, *files, "."]:
                os.chown(os.path.join(where, name), NOBODY, NOBODY)
        self.who = {"preexec_fn": as_user()}

    def overwrite(self, offset, data):
        with open(self.db, "r+b") as f:
            f.seek(offset)
            f.write(data)

    def run_sql(self, script):
        with sqlite3.connect(self.db) as connection:
            connection.executescript(script)
        connection.close()

    # ---- the doctor

    def doctor(self, *args, status):
        """What it says of sessions, line by line."""
        out = self.ikigai("doctor", *args, status=status, **self.who).out
        return out.partition("\nSessions:\n")[2].partition("\n\n")[0].splitlines()

    def problems(self, lines):
        return [line for line in lines if line.startswith("  problem: ")]

    def assert_doctor_complains(self, words, *args):
        """One problem, and nothing is changed."""
        before = self.snapshot()
        lines = self.doctor(*args, status=1)
        (problem,) = self.problems(lines)
        self.assertRegex(problem, words)
        self.assertNotIn("set aside", "\n".join(lines))
        self.assertEqual(self.snapshot(), before)

    def assert_doctor_saves(self):
        """The damaged file is set aside as it is; returns what was said about what was saved."""
        with open(self.db, "rb") as f:
            before = f.read()
        lines = self.doctor(status=1)
        self.assertEqual(len(self.problems(lines)), 1, lines)
        (aside,) = [line.split(None, 3)[3] for line in lines if line.startswith("  set aside")]
        self.assertRegex(aside, "^" + re.escape(self.db) + r"\.damaged-\d{8}-\d{6}$")
        with open(aside, "rb") as f:
            self.assertEqual(f.read(), before)
        self.assertEqual(os.stat(self.db).st_mode & 0o777, 0o600)
        self.assertIn("  integrity   everything can be read", lines)
        self.assertEqual(self.problems(self.doctor(status=0)), [])
        (saved,) = [line for line in lines if line.startswith("  saved ")]
        return saved.split(None, 1)[1]


class Unopenable(StoreTest):
    """There is no way to a file, so nothing can be said of what is in it."""

    def check(self, db, words, cure):
        before = self.snapshot(self.dir)
        self.assert_goes_on(words, "--db", db)
        self.assert_doctor_complains(words, "--db", db)
        self.assertEqual(self.snapshot(self.dir), before)
        cure()
        self.assert_saves("--db", db)
        self.assertEqual(self.problems(self.doctor("--db", db, status=0)), [])

    def test_a_folder(self):
        os.mkdir(self.path("x.db"))
        self.check(self.path("x.db"), "x.db: it is not a regular file", lambda: os.rmdir(self.path("x.db")))

    def test_a_pipe(self):
        """Or a device: SQLite would leave a journal beside it."""
        os.mkfifo(self.path("x.db"))
        self.assert_goes_on("x.db: it is not a regular file", "--db", self.path("x.db"))
        self.assert_doctor_complains("x.db: it is not a regular file", "--db", self.path("x.db"))
        self.assertEqual(sorted(os.listdir(self.dir)), ["home", "project", "x.db"])

    def test_below_a_file(self):
        path = self.write("file", "text")
        self.check(f"{path}/x.db", "Not a directory|it exists and is not a folder",
                   lambda: (os.remove(path), os.mkdir(path)))

    def test_a_link_to_nowhere(self):
        os.symlink(self.path("nowhere", "x.db"), self.path("x.db"))
        self.check(self.path("x.db"), "x.db: ", lambda: os.remove(self.path("x.db")))

    def test_a_file_that_is_no_database(self):
        """Somebody's file, named by mistake."""
        path = self.write("notes.md", "# Notes\n" * 1000)
        self.assert_goes_on("notes.md: it is damaged", "--db", path)
        self.assert_doctor_complains("notes.md is not a database, and was left alone",
                                     "--db", path)
        self.assertEqual(self.read("notes.md"), b"# Notes\n" * 1000)
        self.assertEqual(sorted(os.listdir(self.dir)), ["home", "notes.md", "project"])

    def test_a_folder_that_is_missing(self):
        """The doctor complains about what the program refuses."""
        db = self.path("missing", "x.db")
        refused = self.ikigai("-p", "hello", "--db", db, status=2).err
        self.assertIn("The folder of the database", refused)
        self.assert_doctor_complains(refused.removeprefix("ikigai: ").strip(), "--db", db)

    def test_a_folder_that_may_not_be_written(self):
        os.mkdir(self.path("closed"))
        self.belong_to_nobody()
        os.chmod(self.path("closed"), 0o555)
        db = self.path("closed", "x.db")
        self.assert_goes_on("closed/x.db: Permission denied", "--db", db)
        self.assert_doctor_complains("closed/x.db cannot be created in .*: Permission denied",
                                     "--db", db)
        os.chmod(self.path("closed"), 0o755)
        self.assert_saves("--db", db)

    def test_a_folder_that_may_not_be_entered(self):
        os.mkdir(self.path("closed"))
        self.belong_to_nobody()
        os.chmod(self.path("closed"), 0o000)
        db = self.path("closed", "x.db")
        self.assert_goes_on("Permission denied", "--db", db)
        self.assert_doctor_complains("closed/x.db: Permission denied", "--db", db)
        os.chmod(self.path("closed"), 0o755)
        self.assert_saves("--db", db)

    def test_a_session_that_cannot_be_found_is_not_continued(self):
        os.mkdir(self.path("x.db"))
        for option in (["-c"], ["-r", "0123456789abcdef"]):
            done = self.ikigai("-p", "hello", *option, "--db", self.path("x.db"), status=1)
            self.assertEqual(done.out, "")
            self.assertIn("x.db: it is not a regular file", done.err)


class NotOurs(StoreTest):
    """Files that are fine, but not for this program: nothing is changed in any of them."""

    def check(self, words, cure):
        before = self.snapshot()
        self.assert_goes_on(words)
        self.assertEqual(self.snapshot(), before)
        self.assert_doctor_complains(words)
        cure()
        return self.assert_saves()

    def test_of_a_newer_program(self):
        id = self.assert_saves()
        self.run_sql("INSERT INTO schema_version VALUES(1000)")
        self.check("written by a newer ikigai .schema 1000",
                   lambda: self.run_sql("DELETE FROM schema_version WHERE version = 1000"))
        self.assertEqual(self.stored(id), ["system", *KINDS])

    def test_of_another_program(self):
        self.run_sql("CREATE TABLE recipes(name TEXT); INSERT INTO recipes VALUES('soup')")
        self.check("of another application", lambda: os.remove(self.db))

    def test_read_only(self):
        id = self.assert_saves()
        self.belong_to_nobody()
        os.chmod(self.db, 0o400)
        self.check("read-only", lambda: os.chmod(self.db, 0o600))
        self.assertEqual(self.stored(id), ["system", *KINDS])

    def test_in_a_read_only_folder(self):
        id = self.assert_saves()
        self.belong_to_nobody()
        shutil.rmtree(os.path.join(self.home, "cache"))
        os.chmod(self.home, 0o500)
        before = self.snapshot()
        turn = self.offline()
        (line,) = self.said(turn)
        self.assertTrue(line.startswith(UNSAVED), line)
        self.assertEqual(self.snapshot(), before)
        self.assertEqual(len(self.problems(self.doctor(status=1))), 1)
        self.assertEqual(self.snapshot(), before)
        os.chmod(self.home, 0o700)
        self.assert_saves()
        self.assertEqual(self.stored(id), ["system", *KINDS])

    def test_on_a_read_only_file_system(self):
        need_mounts()
        self.assert_saves()
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", """
             mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"
             "$2" -p hello; "$2" session list; "$2" doctor; "$2" doctor --db "$1/new.db" """,
             "sh", self.home, IKIGAI], cwd=self.project, env=self.env(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        reason = "the file system is read-only"
        self.assertIn(f"{UNSAVED}{self.db}: {reason}\n", done.stdout)
        self.assertIn(f"ikigai: {self.db}: {reason}\n", done.stdout)
        self.assertIn(f"problem: {self.db}: {reason}; no session can be saved there", done.stdout)
        self.assertIn("new.db cannot be created in", done.stdout)

    def test_unreadable(self):
        id = self.assert_saves()
        self.belong_to_nobody()
        os.chmod(self.db, 0o000)
        before = os.stat(self.db)
        self.assert_goes_on("ikigai.db: ")
        (problem,) = self.problems(self.doctor(status=1))
        self.assertIn("ikigai.db: ", problem)
        after = os.stat(self.db)
        self.assertEqual((after.st_ino, after.st_size, after.st_mtime_ns),
                         (before.st_ino, before.st_size, before.st_mtime_ns))
        os.chmod(self.db, 0o600)
        self.assert_saves()
        self.assertEqual(self.stored(id), ["system", *KINDS])


class Removed(StoreTest):
    """The file goes away, or another one takes its place, while a session is being written."""

    def turn_with(self, script):
        self.tool("tamper", f"cd {shlex.quote(os.path.dirname(self.db))}\n{script}\necho '{{}}'")
        return self.ask([Answer(calls=[Call("tamper")]), Answer("Done.")])

    def test_it_is_said_that_nothing_is_saved_any_more(self):
        for script in ("rm ikigai.db*", "cp ikigai.db copy; mv copy ikigai.db"):
            with self.subTest(script=script):
                turn = self.turn_with(script)
                self.assertEqual(turn.reason, "end_turn")
                self.assertEqual(self.said(turn),
                                 [f"{UNSAVED}{self.db}: it was removed or replaced while it was in use"])
                self.assertIs(turn.messages("assistant")[-1].get("saved"), False)
                self.assert_saves()

    def test_it_comes_back(self):
        turn = self.turn_with("mv ikigai.db other; mv other ikigai.db")
        self.assertEqual(self.said(turn), [])
        self.assertEqual(self.stored(turn.of("session")[0]["id"])[-1], "assistant")


class Full(StoreTest):
    """A disk without room: a file system of its own, and a limit on the size of files."""

    def on_disk(self, script):
        """Runs a shell script beside a small file system in ./disk, with $I the whole command."""
        need_mounts()
        os.makedirs(self.path("disk"))
        command = f"{shlex.quote(IKIGAI)} -m offline/offline --db disk/x.db --json"
        done = subprocess.run(
            ["unshare", "-m", "sh", "-e", "-c",
             f"I={shlex.quote(command)}\nfill() {{ head -c 9000000 /dev/zero > disk/filling || true; }}\n"
             "mount -t tmpfs -o size=4m none disk\n" + script + "\ncp disk/x.db* saved"],
            cwd=self.dir, env=self.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def turn_of(self, name):
        return Turn(0, self.read(name).decode().split("\n")[:-1], "", None)

    def test_before_during_and_after(self):
        """two: nothing can be saved. three: the tool makes room. four: the tool takes it."""
        os.mkdir(self.path("saved"))
        self.on_disk("""
            $I -p 'run echo one' > one
            fill
            $I -p 'run echo two' > two
            $I -p 'run rm disk/filling; sleep 2' > three
            $I -c -p 'run head -c 9000000 /dev/zero > disk/filling' > four
            rm disk/filling
            $I -c -p 'run echo five' > five
        """)
        turns = {n: self.turn_of(n) for n in ("one", "two", "three", "four", "five")}
        self.assertEqual([t.reason for t in turns.values()], ["end_turn"] * 5)
        failures = [t for t in turns.values() if self.said(t)]
        self.assertEqual(failures, [turns[n] for n in ("two", "three", "four")])
        for turn in failures:
            self.assertRegex(self.said(turn)[0], UNSAVED + ".*(full|No space)")
        self.assertEqual(self.said(turns["three"])[1:], [SAVED_AGAIN])
        self.assertEqual([[m.get("saved") for m in t.messages(*KINDS)] for t in failures],
                         [[False] * 4, [False, False, None, None], [None, None, False, False]])
        one, two, three, four, five = (t.of("session")[0]["id"] for t in turns.values())
        self.assertEqual((four, five), (three, three))
        db = self.path("saved", "x.db")
        self.assertEqual(self.stored(one, db), ["system", *KINDS])
        self.assertEqual(self.stored(two, db), [])
        self.assertEqual(self.stored(three, db), ["system", *KINDS, "user", "tool_call", *KINDS])

    def limited(self, pages, **more):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (pages * PAGE, resource.RLIM_INFINITY))
        return self.offline(preexec_fn=limit, **more)

    def test_files_may_not_grow(self):
        """At every size at which something fails; not even the signal ends the turn."""
        id = self.assert_saves()
        failed = 0
        for pages in (1, 3, 5, 8, 9, 10, 12, 14, 18, 24):
            turn = self.limited(pages)
            self.assertEqual(turn.reason, "end_turn")
            self.assertLessEqual(len(self.said(turn)), 1)
            saved = [m.get("saved") for m in turn.messages(*KINDS)]
            self.assertEqual(bool(self.said(turn)), False in saved, pages)
            # Behind the first that is not saved none is.
            self.assertEqual(saved, sorted(saved, key=lambda s: s is False))
            failed += False in saved
            stored = self.stored(turn.of("session")[0]["id"])
            self.assertEqual(stored[1:], [k for k, s in zip(KINDS, saved) if s is None])
        self.assertGreaterEqual(failed, 3)
        self.assertEqual(self.stored(id), ["system", *KINDS])
        self.assert_saves()
        self.assertEqual(self.problems(self.doctor(status=0)), [])

    def test_a_new_file_may_not_grow(self):
        for pages in (1, 5, 9, 12):
            turn = self.limited(pages)
            self.assertEqual(turn.reason, "end_turn")
            (line,) = self.said(turn)
            self.assertTrue(line.startswith(UNSAVED), line)
            self.assertEqual([m.get("saved") for m in turn.messages(*KINDS)], [False] * 4)
        self.assert_saves()

    def test_the_doctor_needs_room(self):
        id = self.assert_saves()
        self.offline(prompt="run head -c 90000 /dev/urandom | base64")
        size = os.path.getsize(self.db)
        self.overwrite(size - 2 * PAGE, bytes(PAGE))
        before = self.snapshot()

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (12 * PAGE, resource.RLIM_INFINITY))
        self.who = {"preexec_fn": limit}
        first, second = self.problems(self.doctor(status=1))
        self.assertIn("damaged", first)
        self.assertIn("nothing was saved, and the file is unchanged: ", second)
        self.assertEqual(self.snapshot(), before)
        self.who = {}
        self.assert_doctor_saves()
        self.assert_saves("-r", id)


class Locked(StoreTest):
    """Another program writes, and takes its time."""

    def setUp(self):
        super().setUp()
        self.session = self.assert_saves()
        self.tool("wait", "touch started; while [ ! -e go ]; do sleep 0.05; done; echo '\"went\"'")

    def lock(self):
        connection = sqlite3.connect(self.db, isolation_level=None)
        self.addCleanup(connection.close)
        connection.execute("BEGIN EXCLUSIVE")
        return connection

    def release(self, name="go"):
        """Lets the tool go on when a failure is no longer new."""
        time.sleep(1.2)
        self.write(f"project/{name}")

    def run_locked(self, *args):
        """A turn whose beginning is not saved, and what follows is."""
        lock = self.lock()
        script = [Answer("Let me wait.", calls=[Call("wait")]), Answer("Done.")]
        running = self.begin(script, *args)
        self.wait_for_file("started")
        lock.execute("ROLLBACK")
        self.release()
        return running.finish()

    def check(self, turn):
        self.assertEqual((turn.status, turn.reason), (0, "end_turn"))
        first, second = self.said(turn)
        self.assertRegex(first, UNSAVED + ".*ikigai.db: another program holds the lock on it")
        self.assertEqual(second, SAVED_AGAIN)
        told = [(m["kind"], m.get("saved")) for m in turn.messages() if m["kind"] != "system"]
        self.assertEqual(told, [("user", False), ("assistant", False), ("tool_call", False),
                                ("tool_result", None), ("assistant", None)])

    def test_a_new_session(self):
        turn = self.run_locked()
        self.check(turn)
        self.assertEqual(self.stored(turn.of("session")[0]["id"]),
                         ["system", "user", "assistant", "tool_call", "tool_result", "assistant"])
        self.assertEqual(self.stored(self.session), ["system", *KINDS])

    def test_in_the_middle_of_a_session(self):
        """Claimed and read, then locked: what was saved, what waited and what followed stand in
        order."""
        self.tool("first", "touch ready; while [ ! -e on ]; do sleep 0.05; done; echo '\"on\"'")
        running = self.begin([Answer(calls=[Call("first")]), Answer(calls=[Call("wait")]),
                              Answer("Done.")], "-r", self.session)
        self.wait_for_file("ready")
        lock = self.lock()
        self.write("project/on")
        self.wait_for_file("started")
        lock.execute("ROLLBACK")
        self.release()
        turn = running.finish()
        self.assertEqual((turn.status, turn.reason), (0, "end_turn"))
        self.assertEqual(len(self.said(turn)), 2)
        self.assertEqual([m.get("saved") for m in turn.messages()],
                         [None, None, False, False, None, None])
        self.assertEqual(self.stored(self.session), ["system", *KINDS, "user", "tool_call", "tool_result",
                                                "tool_call", "tool_result", "assistant"])
        self.assert_saves("-r", self.session)

    def test_to_the_end(self):
        lock = self.lock()
        self.assert_goes_on("another program holds the lock on it")
        lock.execute("ROLLBACK")
        self.assertEqual(list(self.sessions()), [self.session])
        self.assert_saves()

    def test_released_when_all_is_said(self):
        """What waits is tried once more at the very end."""
        lock = self.lock()
        running = self.begin([Answer(calls=[Call("wait")]), Answer("Done.")])
        self.wait_for_file("started")
        self.write("project/go")
        running.wait_for(lambda e: e["type"] == "message" and e["kind"] == "assistant")
        lock.execute("ROLLBACK")
        turn = running.finish()
        self.assertEqual((turn.status, turn.reason), (0, "end_turn"))
        self.assertEqual(self.stored(turn.of("session")[0]["id"]), ["system", *KINDS])

    def test_nobody_else_may_even_read(self):
        lock = sqlite3.connect(self.db, isolation_level=None)
        self.addCleanup(lock.close)
        lock.execute("PRAGMA locking_mode=EXCLUSIVE")
        lock.execute("BEGIN EXCLUSIVE")
        self.assert_goes_on("another program holds the lock on it")
        self.assertIn("another program holds the lock on it",
                      self.ikigai("-p", "x", "-r", self.session, status=1).err)
        (problem,) = self.problems(self.doctor(status=1))
        self.assertIn("another program holds the lock on it", problem)
        lock.close()
        self.assert_saves("-r", self.session)

    def test_the_doctor_does_not_replace_a_file_that_is_in_use(self):
        """A turn is under way in a file that turns out to be damaged."""
        running = self.begin([Answer(calls=[Call("wait")]), Answer("Done.")], "-r", self.session)
        self.wait_for_file("started")
        self.run_sql("UPDATE messages SET content = x'00' WHERE kind = 'user' AND seq = 2")
        damaged, refused = self.problems(self.doctor(status=1))
        self.assertIn("a stored text cannot be decompressed", damaged)
        self.assertIn(f"session {self.session} is in use by pid {running.process.pid} on ", refused)
        self.write("project/go")
        self.assertEqual(self.said(running.finish()), [])
        self.assertEqual(self.assert_doctor_saves(),
                         "1 session with 8 messages, copied into a new file")


class Damaged(StoreTest):
    """What a broken disk leaves, what a turn makes of it, and what the doctor saves."""

    def check_nothing_left(self):
        self.assert_goes_on("it is damaged .*; `ikigai doctor` saves what can be read")
        self.assertEqual(self.assert_doctor_saves(),
                         "nothing: no message can be read; a new file was created")
        id = self.assert_saves()
        self.assertEqual(list(self.sessions()), [id])
        self.assert_saves("-r", id)

    def test_garbage(self):
        self.write("home/.ikigai/ikigai.db", os.urandom(3 * PAGE))
        self.check_nothing_left()

    def test_a_text(self):
        self.write("home/.ikigai/ikigai.db", "this is no database\n" * 99)
        self.check_nothing_left()

    def test_the_first_bytes_of_a_database(self):
        self.assert_saves()
        os.truncate(self.db, 60)
        self.check_nothing_left()

    def test_the_beginning_is_lost(self):
        self.assert_saves()
        self.overwrite(0, bytes(PAGE))
        self.check_nothing_left()

    def test_an_empty_file_is_a_new_one(self):
        self.write("home/.ikigai/ikigai.db", "")
        self.assert_saves()

    def make_history(self):
        """Three sessions, the last one with a text over many pages; their ids."""
        ids = [self.assert_saves(), self.assert_saves()]
        for _ in range(3):
            self.assert_saves("-r", ids[0])
        turn = self.offline(prompt="run head -c 60000 /dev/urandom | base64")
        return [*ids, turn.of("session")[0]["id"]]

    def test_truncated(self):
        ids = self.make_history()
        os.truncate(self.db, os.path.getsize(self.db) - 5 * PAGE)
        with open(self.db, "rb") as f:
            before = f.read()
        self.assert_goes_on("it is damaged")
        with open(self.db, "rb") as f:
            self.assertEqual(f.read(), before)
        self.assertRegex(self.assert_doctor_saves(), "^3 sessions with 2[0-9] messages")
        self.assertEqual(set(self.sessions()), set(ids))
        for id in ids:
            self.assert_saves("-r", id)

    def test_any_page(self):
        """Whatever a page was for, a turn goes on without it, and what the doctor saves can be
        continued. What stood on other pages is there, whatever happened meanwhile."""
        ids = self.make_history()
        with open(self.db, "rb") as f:
            whole = f.read()
        kept = {id: 0 for id in ids}
        pages = range(1, len(whole) // PAGE, 2)
        for page in pages:
            with self.subTest(page=page + 1):
                remove_tree(self.home)
                self.write("home/.ikigai/ikigai.db", whole, 0o600)
                self.overwrite(page * PAGE, os.urandom(PAGE))
                self.check_page(ids, kept)
        # Most pages are long texts and the search index: no session often suffers.
        for id, times in kept.items():
            self.assertGreater(times, len(pages) // 2, kept)

    def check_page(self, ids, kept):
        turn = self.offline()
        self.assertEqual(turn.reason, "end_turn")
        self.assertLessEqual(len(self.said(turn)), 1)
        saved = [m.get("saved") for m in turn.messages(*KINDS)]
        self.assertEqual(bool(self.said(turn)), False in saved)
        self.doctor(status=None)
        sessions = self.sessions()
        for id, session in sessions.items():
            self.assert_saves("-r", id)
            if id in kept:
                kept[id] += session["messages"] >= 5
        if not self.said(turn) and set(ids) <= set(sessions):
            self.assertIn(turn.of("session")[0]["id"], sessions)

    def test_a_message_that_cannot_be_unpacked(self):
        """SQLite sees nothing wrong with it."""
        id = self.assert_saves()
        other = self.assert_saves()
        self.run_sql("UPDATE messages SET content = x'28b52ffd00' WHERE kind = 'tool_result'"
                     " AND session = 1")
        self.assertIn("cannot be decompressed; `ikigai doctor` saves what can be read",
                      self.ikigai("-p", "x", "-r", id, status=1).err)
        self.assert_saves("-r", other)
        lines = self.doctor(status=1)
        self.assertIn("  lost        1 message", lines)
        self.assertIn(f"message 4 of session {id}: a stored text cannot be decompressed", lines[2])
        self.assertEqual(self.stored(id), ["system", "user", "tool_call", "assistant"])
        self.assert_saves("-r", id)
        self.assertEqual(self.stored(id), ["system", "user", "tool_call", "assistant", *KINDS])
        self.assertEqual(self.stored(other), ["system", *KINDS, *KINDS])

    def test_messages_without_their_session(self):
        self.assert_saves()
        self.run_sql("DELETE FROM sessions")
        self.overwrite(os.path.getsize(self.db) - PAGE, os.urandom(PAGE))
        self.assertEqual(self.assert_doctor_saves(),
                         "1 session with 5 messages, copied into a new file")
        ((id, session),) = self.sessions().items()
        self.assertEqual((session["cwd"], session["title"]), ("", "run echo spoken"))
        self.assert_saves("-r", id)

    def test_words_without_their_session(self):
        """The model that they were said with is no longer known."""
        self.assert_saves()
        self.run_sql("DELETE FROM sessions; DELETE FROM messages WHERE kind <> 'user'")
        self.overwrite(os.path.getsize(self.db) - PAGE, os.urandom(PAGE))
        self.assert_doctor_saves()
        (id,) = self.sessions()
        done = self.ikigai("-p", "run echo more", "-r", id)
        self.assertIn("more", done.out)
        self.assertNotIn("The session used", done.err)

    def test_read_only_and_damaged(self):
        """Whose owner wants it unchanged gets it unchanged."""
        self.assert_saves()
        self.overwrite(3 * PAGE, os.urandom(9 * PAGE))
        self.belong_to_nobody()
        os.chmod(self.db, 0o400)
        before = self.snapshot()
        problems = self.problems(self.doctor(status=1))
        self.assertIn("nothing was saved, and the file is unchanged: ", problems[-1])
        self.assertEqual(self.snapshot(), before)
        os.chmod(self.db, 0o600)
        self.doctor(status=1)
        self.assert_saves()

    def test_two_damaged_files(self):
        """Neither takes the name of the other."""
        for _ in range(2):
            self.write("home/.ikigai/ikigai.db", os.urandom(PAGE))
            self.doctor(status=1)
        self.assertEqual(len([n for n in os.listdir(self.home) if "damaged" in n]), 2)


class Healthy(StoreTest):
    """What the doctor says when nothing is wrong with the file."""

    def test_no_file_yet(self):
        self.assertIn(f"  file        {self.db}: not there yet; the first session creates it",
                      self.doctor(status=0))
        self.assertFalse(os.path.exists(self.db))

    def test_what_is_there(self):
        self.assert_saves()
        self.assert_saves()
        before = self.snapshot()
        lines = self.doctor(status=0)
        self.assertRegex(lines[0], r"^  library     SQLite 3\.\d+\.\d+ with FTS5$")
        self.assertRegex(lines[1], rf"^  file        {re.escape(self.db)} \(\d+ KB, mode 0600\)$")
        self.assertEqual(lines[2:], ["  integrity   everything can be read",
                                     "  holds       2 sessions, 10 messages"])
        self.assertEqual(self.snapshot(), before)

    def test_who_uses_it(self):
        self.tool("wait", "touch started; while [ ! -e go ]; do sleep 0.05; done; echo 1")
        running = self.begin([Answer(calls=[Call("wait")]), Answer("Done.")])
        self.wait_for_file("started")
        id = json.loads(running.lines[0])["id"] if running.lines else \
            running.wait_for_type("session")["id"]
        lines = self.doctor(status=0)
        self.assertIn(f"  in use      session {id} by pid {running.process.pid} on "
                      f"{os.uname().nodename}", lines)
        self.write("project/go")
        running.finish()
        self.assertNotIn("in use", "\n".join(self.doctor(status=0)))

    def test_a_shared_history_that_does_not_answer(self):
        self.assert_saves()
        url = "postgresql://me:secret@127.0.0.1:1/db"
        self.offline("--db", url)
        lines = self.doctor("--db", url, status=1)
        (problem,) = self.problems(lines)
        self.assertRegex(problem, "PostgreSQL at 127.0.0.1: |libpq")
        self.assertIn("  shared      postgresql://me:***@127.0.0.1:1/db", lines)
        self.assertIn("  waiting     5 messages to be delivered", lines)
        self.assertNotIn("secret", "\n".join(lines))


class Shared(StoreTest):
    """The doctor and a shared history. Its database is the same for all tests here."""

    def setUp(self):
        super().setUp()
        self.url = os.environ["IKIGAI_TEST_POSTGRES"]

    def listed(self):
        return {s["id"] for s in self.ikigai("session", "list", "--json", "--db", self.url).json()}

    def test_what_waits(self):
        self.assert_saves()
        lines = self.doctor("--db", self.url, status=0)
        self.assertIn("  answers     yes", lines)
        self.assertIn("  waiting     nothing: everything is delivered", lines)
        self.assertIn("  not shared  1 session; ikigai session deliver lists it", lines)
        self.offline("--db", self.url)
        self.assertIn("  waiting     nothing: everything is delivered",
                      self.doctor("--db", self.url, status=0))
        self.run_sql("UPDATE deliveries SET last_id = 0")
        self.assertIn("  waiting     5 messages to be delivered",
                      self.doctor("--db", self.url, status=0))

    def test_what_was_lost_here_is_still_there(self):
        """A session of which a message was lost is another one now; the whole one comes back."""
        id = self.assert_saves("--db", self.url)
        other = self.assert_saves("--db", self.url)
        self.run_sql("UPDATE messages SET content = x'00' WHERE kind = 'tool_result'"
                     " AND session = 1")
        before = self.listed()
        self.assertEqual(len(self.problems(self.doctor("--db", self.url, status=1))), 1)
        turn = self.offline("--db", self.url, "-r", other)
        self.assertEqual(turn.err.count(f"Session {id} was continued elsewhere, too"), 1)
        (cut,) = self.listed() - before
        self.assert_saves("--db", self.url, "-r", id)
        self.assertEqual(self.stored(id), ["system", *KINDS, *KINDS])
        self.assertEqual(self.stored(cut), ["system", "user", "tool_call", "assistant"])
        self.assertEqual(self.stored(other), ["system", *KINDS, *KINDS])
