"""Measures the states that undo needs: taking them with and without git, and restoring.

Each figure is measured alternately with its yardstick, in the same run, and the best round counts.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from bench_tools import OUT, report, seconds, skip

CHECKPOINT = os.path.join(OUT, "lib/ikigai/checkpoint")
ROUNDS = 7
LINES = 120  # of a file: about 4 KB
UNDONE = 100


def git(folder, *words):
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b", "-c", "gc.auto=0", *words],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_files(folder, count):
    for i in range(count):
        where = os.path.join(folder, f"part{i // 400}", f"sub{i // 20 % 20}")
        os.makedirs(where, exist_ok=True)
        with open(os.path.join(where, f"file{i}.c"), "w") as f:
            f.writelines(f"int number_{i}_{line}(void); /* {line * i} */\n"
                         for line in range(LINES))


def make_repository(folder, count):
    """A checkout as a clone makes it: one pack, and an index that is younger than the files."""
    make_files(folder, count)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "x")
    git(folder, "gc", "-q")
    time.sleep(1.1)
    git(folder, "update-index", "--really-refresh")
    os.utime(os.path.join(folder, ".git/index"))
    git(folder, "status")


class Project:
    def __init__(self, scratch, name):
        self.folder = os.path.join(scratch, name)
        self.blobs = os.path.join(scratch, name + ".blobs")
        os.makedirs(self.folder)

    def call(self, **request):
        return self.timed_call(**request)[1]

    def timed_call(self, **request):
        """With files instead of pipes: Python's handling of pipes takes as long as a small state."""
        with tempfile.TemporaryFile("w+") as question, tempfile.TemporaryFile("w+") as answer:
            json.dump({"folder": self.folder, "blobs": self.blobs, "max_files": 100000,
                       "max_bytes": 1 << 30, **request}, question)
            question.seek(0)
            start = time.monotonic()
            subprocess.run([CHECKPOINT], check=True, stdin=question, stdout=answer)
            took = time.monotonic() - start
            answer.seek(0)
            return took, json.load(answer)

    def take(self, previous=None):
        return self.timed_call(op="take", previous=previous, tree=True, paths=[])

    def forget(self):
        shutil.rmtree(self.blobs, ignore_errors=True)


def bench_git(scratch, count):
    project = Project(scratch, f"git{count}")
    make_repository(project.folder, count)
    status, first, second = [], [], []
    for _ in range(ROUNDS):
        status.append(seconds(["git", "status"], cwd=project.folder))
        project.forget()
        took, answer = project.take()
        first.append(took)
        took, again = project.take([answer["state"]])
        second.append(took)
        if again["state"] != answer["state"] or answer["files"] != count:
            raise SystemExit(f"unexpected: {answer} {again}")
    copied = sum(os.path.getsize(os.path.join(where, name))
                 for kind in ("files", "git")
                 for where, _, names in os.walk(os.path.join(project.blobs, kind))
                 for name in names if os.stat(os.path.join(where, name)).st_nlink == 1)
    report(f"state of a clean checkout, {count:,} files", min(first) * 1000, "ms", "git status",
           min(status) * 1000, 1.5)
    report(f"the same again, nothing changed, {count:,} files", min(second) * 1000, "ms",
           "git status", min(status) * 1000, 1.5)
    report(f"bytes of files copied, {count:,} files", copied, "", "", None, 0, absolute=True)
    shutil.rmtree(project.folder)


STAT_WALK = """
#include <ftw.h>
static int on_file(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
    (void)path, (void)st, (void)flag, (void)walk;
    return 0;
}
int main(int argc, char **argv) { return argc == 2 ? nftw(argv[1], on_file, 64, FTW_PHYS) : 1; }
"""


def build_stat_walk(scratch):
    """A program that looks at every file and does nothing else."""
    source = os.path.join(scratch, "walk.c")
    with open(source, "w") as f:
        f.write(STAT_WALK)
    program = os.path.join(scratch, "walk")
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-static", "-o", program, source], check=True)
    return program


def bench_without_git(scratch, count=10000):
    project = Project(scratch, "plain")
    make_files(project.folder, count)
    walk = build_stat_walk(scratch)
    time.sleep(2.1)  # files that young are read again
    copy, first, looked, later = [], [], [], []
    for _ in range(ROUNDS):
        target = os.path.join(scratch, "copy")
        copy.append(seconds(["cp", "-r", project.folder, target]))
        shutil.rmtree(target)
        project.forget()
        took, answer = project.take()
        first.append(took)
        looked.append(seconds([walk, project.folder]))
        later.append(project.take([answer["state"]])[0])
    report(f"first state without git, {count:,} files", min(first) * 1000, "ms", "cp -r",
           min(copy) * 1000, 1.5)
    report(f"later ones without git, {count:,} files", min(later) * 1000, "ms",
           "a walk with stat", min(looked) * 1000, 1.5)
    with open(os.path.join(project.folder, "part0/sub0/file0.c"), "a") as f:
        f.write("one line more\n")
    before = blob_bytes(project)
    project.take([answer["state"]])
    report(f"written after one change in {count:,} files", blob_bytes(project) - before, "bytes",
           "", None, 8192, absolute=True)


def blob_bytes(project):
    return sum(os.path.getsize(os.path.join(where, name))
               for where, _, names in os.walk(project.blobs) for name in names)


def write_atomically(path, content):
    """As programs do it that want to lose nothing: a new file, synced, renamed, its folder synced."""
    with open(path + ".new", "wb") as f:
        f.write(content)
        f.flush()
        os.fsync(f.fileno())
    os.rename(path + ".new", path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def bench_undo(scratch):
    project = Project(scratch, "undo")
    make_files(project.folder, UNDONE)
    files = {}
    for where, _, names in os.walk(project.folder):
        for name in names:
            with open(os.path.join(where, name), "rb") as f:
                files[os.path.join(where, name)] = f.read()
    undo, written = [], []
    for round in range(ROUNDS):
        _, before = project.take()
        for path, content in files.items():
            with open(path, "wb") as f:
                f.write(content + b"changed %d\n" % round)
        _, after = project.take([before["state"]])
        segment = {"before": [before["state"]], "after": [after["state"]]}
        start = time.monotonic()
        answer = project.call(op="restore", segments=[segment], others=[], force=False,
                              paths=None, dry_run=False)
        undo.append(time.monotonic() - start)
        if len(answer["restored"]) != UNDONE:
            raise SystemExit(f"unexpected: {answer}")
        start = time.monotonic()
        for path, content in files.items():
            write_atomically(path, content)
        written.append(time.monotonic() - start)
    report(f"undo of {UNDONE} files", min(undo) * 1000, "ms", "writing them atomically",
           min(written) * 1000, 2)


def main():
    if shutil.which("git") is None:
        skip("states of a checkout", "git is not installed")
        return 0
    scratch = tempfile.mkdtemp(prefix="ikigai-bench-", dir="/var/tmp")
    try:
        for count in (1000, 10000, 70000):
            bench_git(scratch, count)
        bench_without_git(scratch)
        bench_undo(scratch)
    finally:
        shutil.rmtree(scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
