#!/usr/bin/python3
"""Promise 14: private files are private. With a umask of 000 everything that writes is run; every
file and folder ikigai made is for its owner alone, at the end and, as strace sees it, from the
moment of its creation."""
import json
import os
import re
import shutil
import stat
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import hostile
from support import NOBODY, Sandbox, as_user, tool_script

UMASKS = (0o000, 0o002, 0o022)
DATABASE = {"ikigai.db", "ikigai.db-wal", "ikigai.db-shm"}
# While a turn is under way all files of the database are there.
TURN = ["-p", "run stat -c '%a %n' HOME/*", "-m", "offline/offline", "--json",
        "--mode", "full"]  # a confined call sees nothing of the home
COMMANDS = [
    ["tool", "list"], ["tool", "new", "in-sh"], ["tool", "new", "in-python", "--lang", "python"],
    ["tool", "new", "in-c", "--lang", "c"], ["tool", "check", "IN-SH"], ["tool", "list"],
    ["tool", "run", "in_sh", '{"text":"a b"}'], ["tool", "run", "bash", '{"command":"true"}'],
    ["tool", "list", "--trust"], ["trust", "--yes"], ["tool", "run", "theirs"], ["doctor"],
    ["trust", "--yes"], ["tool", "list"],
    TURN, ["session", "export", "ID", "--output", "HOME/a.jsonl"],
    ["session", "export", "ID", "--output", "HOME/a.jsonl", "--force"],
    ["session", "export", "ID", "--format", "md", "--output", "HOME/a.md"],
    ["session", "export", "ID", "--format", "html", "--output", "HOME/a.html"],
    ["session", "import", "HOME/a.jsonl"], [*TURN, "-c"], ["doctor"],
]
CREATION = re.compile(r'(openat|open|mkdir|mkdirat|creat|mknod|mknodat)\((.*)\) += (\d+)')


class Private(Sandbox):
    def setUp(self):
        super().setUp()
        self.project_tool("theirs", tool_script("theirs"), 0o777)
        self.project_tool("lib/data", "x", 0o666)
        os.chmod(os.path.join(self.project, ".ikigai", "tools", "lib"), 0o777)
        self.nested = self.path("home", "not", "there", "yet")

    def env(self, **more):
        return super().env(IKIGAI_HOME=self.nested, **more)

    def patient(self, uid):
        path = os.path.join(self.nested, "config.json")
        self.write(os.path.relpath(path, self.dir), '{"schema_timeout_ms": 60000}', 0o600)
        os.chown(path, *(uid or -1,) * 2)

    def argv(self, command, **more):
        known = {"IN-SH": os.path.join(self.nested, "tools", "in-sh")}
        if "ID" in command:
            (session,) = self.ikigai("session", "list", "--json", **more).json()
            known["ID"] = session["id"]
        return [known.get(word, word.replace("HOME", self.nested)) for word in command]


def too_open(path):
    """What is wrong with it, or None."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return None
    allowed = 0o700 if stat.S_ISDIR(status.st_mode) else 0o600
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISDIR(status.st_mode) and mode & 0o100:
        allowed = 0o700  # a tool
    return f"{path} has mode {mode:04o}" if mode & ~allowed else None


def look_in_turn(out):
    """What a tool sees of the database's files while ikigai has them open."""
    (result,) = [m for m in map(json.loads, out.splitlines()) if m.get("kind") == "tool_result"]
    seen = [line.split() for line in
            json.loads(result["data"]["output"])["result"]["output"].splitlines()]
    folders = ("tools", "cache", "trusted", "rooms", "blobs")
    bad = [f"{path} has mode {mode} in a turn" for mode, path in seen
           if int(mode, 8) & (0o077 if path.endswith(folders) else 0o177)]
    there = {os.path.basename(path) for _, path in seen}
    return bad + [f"no {name} in a turn" for name in sorted(DATABASE - there)]


def look_at_everything(s):
    count, bad = 0, []
    top = os.path.join(s.path("home"), "not")
    for where, _, names in os.walk(top):
        for path in [where] + [os.path.join(where, n) for n in names]:
            count += 1
            bad.append(too_open(path))
    for name in ("in-sh", "in-python", "in-c"):
        path = os.path.join(s.nested, "tools", name)
        mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else None
        if mode != 0o700 and (name != "in-c" or shutil.which("cc")):
            bad.append(f"{name} has mode {mode}")
    return count, [b for b in bad if b]


def run_all(umask, uid):
    with Private() as s:
        if uid:
            for where, _, names in os.walk(s.dir):
                for path in [where] + [os.path.join(where, n) for n in names]:
                    os.chown(path, uid, uid)
        bad = []
        for number, command in enumerate(COMMANDS):
            def prepare():
                os.umask(umask)
                if uid:
                    as_user(uid)()
            argv = s.argv(command, preexec_fn=prepare)
            done = s.ikigai(*argv, status=None, preexec_fn=prepare)
            if done.status != 0:
                bad.append(f"{command}: {done.out}{done.err}")
            elif command[0] == "-p":
                bad += look_in_turn(done.out)
            if number == 1:  # the home is there; Python may take long to start on a busy machine
                s.patient(uid)
            if number == 8:  # a second consent replaces what the first one wrote
                s.project_tool("lib/data", "y", 0o666)
        count, open_ones = look_at_everything(s)
        return count, bad + open_ones


def watch_creations():
    """Not for one moment: the modes with which ikigai itself creates things."""
    seen, made, bad = 0, set(), []
    with Private() as s:
        for command in (["tool", "list"], ["tool", "new", "in-sh"], ["trust", "--yes"],
                        ["tool", "list"], ["untrust"], TURN,
                        ["session", "export", "ID", "--output", "HOME/a.jsonl"]):
            lines = s.trace("open,openat,creat,mkdir,mkdirat,mknod,mknodat", *s.argv(command),
                            preexec_fn=lambda: os.umask(0))
            calls = [CREATION.search(line) for line in lines]
            for call in calls:
                if not call or (call[1].startswith("open") and "O_CREAT" not in call[2]):
                    continue
                seen += 1
                mode = int(call[2].rpartition(", ")[2], 8)
                if mode & 0o077:
                    bad.append(f"{command}: {call[0]}")
                made.add(os.path.basename(call[2].partition('"')[2].partition('"')[0]))
        # Of a process that keeps its memory to itself only root is told the names.
        if seen < 10 or os.geteuid() == 0 and not DATABASE <= made:
            bad.append(f"only {seen} creations were seen: {made}")
    return seen, bad


def main():
    quick = "--quick" in sys.argv[1:]
    users = [None, NOBODY] if os.geteuid() == 0 else [None]
    count, bad, runs = 0, [], 0
    for umask in UMASKS[:1] if quick else UMASKS:
        for uid in users:
            found, wrong = run_all(umask, uid)
            count += found
            bad += wrong
            runs += len(COMMANDS)
    seen = 0
    if shutil.which("strace"):
        seen, wrong = watch_creations()
        bad += wrong
    for line in bad:
        print(line)
    hostile.conclude(14, not bad and count > 0, (
        f"{runs} commands with umask 000{'' if quick else ', 002 and 022'} as {len(users)} users: "
        f"{count} files and folders, {seen} creations watched: {len(bad)} too open"))


main()
