"""What ikigai's database holds, read without ikigai: the sessions and their messages, as the lines
of `--json` tell them, and whether anything in the file is wrong."""
import contextlib
import ctypes
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

NAME = "ikigai.db"
LOG = NAME + "-wal"
SHARED = NAME + "-shm"
JOURNAL = NAME + "-journal"  # while the file is being made

# What must be true of every file, whatever happened to its writers.
INVARIANTS = {
    "a log has gaps":
        "SELECT session, agent FROM messages GROUP BY session, agent HAVING max(seq) - count(*) !="
        " (SELECT forked_at FROM agents a WHERE a.session = messages.session AND number = agent)",
    "the number of turns is wrong":
        "SELECT id FROM sessions WHERE turns !="
        " (SELECT count(*) FROM messages WHERE session = key AND kind = 'user')",
    "a session is empty":
        "SELECT id FROM sessions WHERE key NOT IN (SELECT session FROM messages)",
}


class Zstd:
    """As much of the library as it takes to read a text."""
    library = None

    @classmethod
    def unpack(cls, frame):
        if cls.library is None:
            cls.library = ctypes.CDLL("libzstd.so.1")
            for name in ("ZSTD_getFrameContentSize", "ZSTD_decompress"):
                getattr(cls.library, name).restype = ctypes.c_ulonglong
        size = cls.library.ZSTD_getFrameContentSize(frame, ctypes.c_size_t(len(frame)))
        text = ctypes.create_string_buffer(size)
        if cls.library.ZSTD_decompress(text, ctypes.c_size_t(size), frame,
                                       ctypes.c_size_t(len(frame))) != size:
            raise ValueError("no whole frame of zstd")
        return text.raw.decode()


def text_of(value):
    return Zstd.unpack(value) if isinstance(value, bytes) else value


# Kinds that are stored beside the conversation and not printed.
RECORDS = ("checkpoint", "undo", "redo")


class Saved:
    """The file of a home as it is now; no process may be writing. It is a copy with its log that is
    opened, so that the next ikigai finds the file as the last one left it. in_place: it is open
    elsewhere, and what all see who have it open is what counts. (A commit that a dead writer had
    written to the log, but not yet told the others of, exists only in a copy.)"""

    def __init__(self, home, in_place=False):
        self.wrong, self.sessions, self.holders, self.texts = [], {}, {}, []
        with tempfile.TemporaryDirectory(prefix="ikigai-saved-") as folder:
            if not in_place:
                copy_database(home, folder)
            path = os.path.join(home if in_place else folder, NAME)
            if os.path.exists(path):
                self.read(path)

    def read(self, path):
        try:
            with contextlib.closing(sqlite3.connect(path)) as db:
                self.wrong += [row[0] for row in db.execute("PRAGMA integrity_check(5)")
                               if row[0] != "ok"]
                self.wrong += [f"row {row} refers to nothing"
                               for row in db.execute("PRAGMA foreign_key_check")]
                if has_schema(db):
                    self.read_tables(db)
        except (sqlite3.Error, ValueError) as error:
            self.wrong.append(repr(error))

    def read_tables(self, db):
        db.execute("INSERT INTO search(search) VALUES('integrity-check')")
        for name, query in INVARIANTS.items():
            self.wrong += [f"{name}: {row}" for row in db.execute(query)]
        rows = db.execute("SELECT s.id, kind, content, data_json FROM messages JOIN sessions s"
                          " ON key = session ORDER BY session, agent, seq")
        for session, kind, content, data in rows:
            content, data = text_of(content), text_of(data)
            self.texts += [content or "", data or ""]
            message = {"type": "message", "kind": kind, "content": content,
                       "data": {} if data is None else json.loads(data)}
            if kind not in RECORDS:
                self.sessions.setdefault(session, []).append(message)
        for row in db.execute("SELECT session_id, pid, started, host FROM holders"):
            self.holders[row[0]] = row[1:]


def has_schema(db):
    """A file whose making was cut off is empty, or has some of the steps."""
    names = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    return {"messages", "search", "holders"} <= names


def copy_database(source, target):
    """The file and its log, not the memory that those share who have it open."""
    remove_database(target)
    os.makedirs(target, mode=0o700, exist_ok=True)
    for name in (NAME, LOG, JOURNAL):
        with contextlib.suppress(FileNotFoundError):
            shutil.copy(os.path.join(source, name), os.path.join(target, name))


def remove_database(home):
    for name in (NAME, LOG, SHARED, JOURNAL):
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(home, name))


# ---- comparing

def plain(message):
    """As it is stored: whether it was saved at once is not part of it."""
    return {key: value for key, value in message.items() if key != "saved"}


def told_as_saved(lines):
    """The messages that must be there after a run that printed these lines: all up to the last one
    that does not say it could not be saved, for what had to wait is written before it."""
    told = [line for line in lines if line["type"] == "message"]
    while told and not told[-1].get("saved", True):
        told.pop()
    return [plain(message) for message in told]


def went_unsaved(lines):
    """The messages that could not be saved at once."""
    return [line for line in lines if line["type"] == "message" and "saved" in line]


def missing(told, before, now):
    """How many messages of told, the first of which came behind before, are not in now, or not in
    that order. Whatever was there before has to be there, too."""
    if now[:len(before)] != before:
        return len(told) + sum(a != b for a, b in zip(before, now + [None] * len(before)))
    added = now[len(before):]
    equal = next((n for n, m in enumerate(told) if n >= len(added) or added[n] != m), len(told))
    return len(told) - equal


# ---- having the file open

BYSTANDER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("SELECT count(*) FROM sessions").fetchall()
print("open", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def bystander(home):
    """Another process has the file open: its log is not cleaned up, and the memory that all share
    stays, whichever process dies."""
    child = subprocess.Popen([sys.executable, "-IS", "-c", BYSTANDER, os.path.join(home, NAME)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if child.stdout.readline() != b"open\n":
        raise AssertionError("the database cannot be opened")
    try:
        yield
    finally:
        child.stdin.close()
        child.stdout.close()
        child.wait()
