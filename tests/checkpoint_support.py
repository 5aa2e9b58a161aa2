"""Drives lib/ikigai/checkpoint: a project, its states, and what a turn did to it."""
import base64
import json
import os
import signal
import stat
import subprocess

from support import OUT, ScratchTest, clean_env

CHECKPOINT = os.path.join(OUT, "lib", "ikigai", "checkpoint")
MANY_BYTES = 256 << 20


def call(request, status=0, env=None):
    done = subprocess.run([CHECKPOINT], input=json.dumps(request).encode(), timeout=600,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env or clean_env())
    if done.returncode != status or done.stderr:
        raise AssertionError(f"status {done.returncode}: {done.stdout} {done.stderr}")
    lines = done.stdout.decode().splitlines()
    assert len(lines) == 1, lines
    return json.loads(lines[0])


def git(folder, *words, **more):
    """Runs git without the user's configuration."""
    env = clean_env(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null",
                    GIT_AUTHOR_NAME="A", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="A",
                    GIT_COMMITTER_EMAIL="a@b", GIT_ALLOW_PROTOCOL="file")
    done = subprocess.run(["git", "-c", "protocol.file.allow=always", *words], cwd=folder, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode != 0:
        raise AssertionError(f"git {words}: {done.stdout.decode(errors='replace')}")
    return done.stdout.decode(errors="replace")


def snapshot(folder, without=(b".git",)):
    """Every file below the folder: its permissions and bytes, or the target of a link."""
    found = {}
    for where, folders, names in os.walk(os.fsencode(folder)):
        folders[:] = [f for f in folders if f not in without]
        for name in names + [f for f in folders if os.path.islink(os.path.join(where, f))]:
            path = os.path.join(where, name)
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                content = b"-> " + os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as f:
                    content = f.read()
            else:
                continue
            mode = 0 if stat.S_ISLNK(status.st_mode) else status.st_mode & 0o7777
            found[os.path.relpath(path, os.fsencode(folder))] = (mode, content)
    return found


def name_of(item):
    return base64.b64decode(item["path_base64"]) if "path_base64" in item \
        else item["path"].encode()


class CheckpointTest(ScratchTest):
    """The project is in self.project, the blobs in self.blobs."""
    in_git = False

    def setUp(self):
        super().setUp()
        self.project = self.path("project")
        self.blobs = self.path("blobs")
        os.makedirs(self.project)
        if self.in_git:
            git(self.project, "init", "-q")
        self.last = None

    def make_restless(self, script, folder="project"):
        """Runs shell commands that change files until the test ends."""
        shell = subprocess.Popen(["sh", "-c", script], cwd=self.path(folder), start_new_session=True,
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(shell.wait)
        self.addCleanup(os.killpg, shell.pid, signal.SIGKILL)

    def put(self, name, content="", mode=None):
        return self.write(os.path.join("project", name), content, mode)

    def take(self, previous="last", tree=True, paths=(), max_files=50000, max_bytes=MANY_BYTES,
             folder=None, env=None):
        """The answer of take; "last" is the state that the last call returned."""
        if previous == "last":
            previous = self.last
        answer = call({"op": "take", "folder": folder or self.project, "blobs": self.blobs,
                       "previous": previous, "tree": tree, "paths": list(paths),
                       "max_files": max_files, "max_bytes": max_bytes}, env=env)
        if tree:
            self.last = [answer["state"]]
        return answer

    def turn(self, change, paths=()):
        """What one batch did: a segment."""
        before = self.take(paths=paths)["state"]
        change()
        return {"before": [before], "after": [self.take(paths=paths)["state"]]}

    def diff(self, *segments, format="json", folder=None):
        answer = call({"op": "diff", "folder": folder or self.project, "blobs": self.blobs,
                       "segments": list(segments), "format": format})
        return answer["files"] if format == "json" else answer["text"]

    def restore(self, *segments, others=(), force=False, paths=None, dry_run=False, folder=None,
                max_bytes=MANY_BYTES):
        return call({"op": "restore", "folder": folder or self.project, "blobs": self.blobs,
                     "segments": list(segments), "others": list(others), "force": force,
                     "paths": paths, "dry_run": dry_run, "max_files": 50000,
                     "max_bytes": max_bytes})

    def restored(self, answer):
        return sorted(name_of(f).decode(errors="surrogateescape") for f in answer["restored"])

    def conflicts(self, answer):
        return {name_of(f).decode(errors="surrogateescape"): f["reason"]
                for f in answer["conflicts"]}
