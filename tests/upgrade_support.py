"""A home and a project as an earlier release left them, kept as text in tests/upgrade/VERSION, which
tests/upgrade/make_home.py wrote with that release.

restore() puts them below a folder: the marks in the files are replaced by paths and addresses, a
draft gets the name that the path of the project asks for, and the database is built from its dump.
"""
import hashlib
import os
import shutil
import socket
import sqlite3

from support import ROOT

# what stands in the fixture for a path, an address or a name
PROJECT, HOME, SERVER, HOST = "@PROJECT@", "@HOME@", "@SERVER@", "@HOST@"
DRAFT = "PROJECT"  # at the beginning of the name of a draft


def fixture(version, *parts):
    return os.path.join(ROOT, "tests", "upgrade", version, *parts)


def draft_hash(project):
    """The beginning of the names of drafts that were typed in this folder."""
    return hashlib.sha256(project.encode()).hexdigest()[:16]


def restore(version, home, project, server="http://127.0.0.1:9/v1"):
    """home is the folder .ikigai; server the base URL of the provider `local`."""
    marks = {PROJECT: project, HOME: os.path.dirname(home), SERVER: server,
             HOST: socket.gethostname()}
    for part, folder in (("home", home), ("project", project)):
        source = fixture(version, part)
        for where, _, names in os.walk(source):
            for name in names:
                path = os.path.join(where, name)
                place = os.path.relpath(path, source).replace(DRAFT, draft_hash(project))
                restore_file(path, os.path.join(folder, place), marks)
    make_private(home)
    restore_database(version, "ikigai.sql", home, marks)


def restore_database(version, dump, home, marks):
    path = os.path.join(home, "ikigai.db")
    with sqlite3.connect(path) as db:
        db.executescript(filled(fixture(version, dump), marks))
    db.close()
    os.chmod(path, 0o600)


def restore_file(source, target, marks):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "w", encoding="utf-8") as f:
        f.write(filled(source, marks))
    # Trust covers the mode, which must not depend on the umask of the checkout.
    os.chmod(target, 0o755 if os.access(source, os.X_OK) else 0o644)


def filled(path, marks):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text


def make_private(home):
    """The modes that all releases give their files; copies of trusted tools are read-only."""
    for where, _, names in os.walk(home, topdown=False):
        copied = os.path.relpath(where, home).startswith("trusted" + os.sep)
        for name in names:
            path = os.path.join(where, name)
            mode = 0o700 if os.access(path, os.X_OK) else 0o600
            os.chmod(path, mode & ~0o200 if copied else mode)
        os.chmod(where, 0o500 if copied else 0o700)
