#!/usr/bin/python3
"""Promise 26: undo brings back every byte. Random projects, in git and not, are changed by the
shipped tools in random ways, and by others in between. Then turns are taken back. What every file
must be is computed here from copies of the project, and compared with what it is."""
import concurrent.futures
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.dirname(os.path.abspath(__file__))]
import hostile
from checkpoint_support import MANY_BYTES, call, git, name_of, snapshot
from fake_llm import Answer, Call, FakeLLM
from model_runs import ENVIRONMENT, FORMATS, Stage
from support import IKIGAI, clean_env, tool_path

FOLDERS = [b"", b"src/", b"src/deep/er/", b"with space/", "\u00fcber/".encode(), b"build/", b"docs/"]
NAMES = [b"a.txt", b"b.c", b"README", b"Readme", b"run.sh", b"data.bin", b"x.log", b"quo\"te",
         b"\xff\xfe", b"new\nline", b"-dash", b".hidden"]
TEXTS = [b"", b"one\n", b"one\ntwo\nthree\n", b"no newline", b"crlf\r\nline\r\n", b"\0binary\0",
         bytes(range(256)), b"same size 1\n", b"same size 2\n"]
PROJECTS = ("plain", "git", "packed", "sub-folder", "autocrlf")
# Who is not root cannot see what is in a folder without its x bit.
GUARD = "" if os.geteuid() == 0 else 'test -d "./$a" || test -d "./$c" || '
# A project is left for a new one after so many turns.
LIFE = 25


def ignored(path):
    return path.startswith(b"build/") or any(p.endswith(b".log") for p in path.split(b"/"))


class Project:
    """A folder, and what is known about it apart from the program under test."""

    def __init__(self, rng, kind):
        self.rng, self.kind = rng, kind
        self.scratch = tempfile.mkdtemp(prefix="ikigai-promise-")
        self.blobs = os.path.join(self.scratch, "blobs")
        top = os.path.join(self.scratch, "project")
        self.folder = os.path.join(top, "sub") if kind == "sub-folder" else top
        os.makedirs(self.folder)
        self.in_git = kind != "plain"
        self.last = None
        self.turns = []
        for _ in range(rng.randint(3, 25)):
            self.write(self.new_path(), self.content())
        if self.in_git:
            git(top, "init", "-q")
            git(top, "config", "gc.auto", "0")
            for name, value in (("user.name", "A"), ("user.email", "a@b")):
                git(top, "config", name, value)
            if kind == "autocrlf":
                git(top, "config", "core.autocrlf", rng.choice(["true", "input"]))
            self.write(b".gitignore", b"*.log\nbuild/\n")
            git(top, "add", "-A")
            git(top, "commit", "-qm", "x")
            if kind == "packed":
                git(top, "gc", "-q")
            if kind == "autocrlf":
                git(top, "rm", "-rq", "--cached", ".")
                git(top, "reset", "-q", "--hard")

    def close(self):
        shutil.rmtree(self.scratch)

    # ---- files

    def at(self, path):
        return os.path.join(os.fsencode(self.folder), path)

    def write(self, path, content):
        full = self.at(path)
        try:
            os.makedirs(os.path.dirname(full), exist_ok=True)
            if os.path.islink(full):
                os.unlink(full)
            with open(full, "wb") as f:
                f.write(content)
        except OSError:
            pass  # a folder is where a file should be, or the other way round

    def new_path(self):
        return self.rng.choice(FOLDERS) + self.rng.choice(NAMES)

    def some_path(self):
        there = sorted(p for p in snapshot(self.folder) if p != b".gitignore")
        return self.rng.choice(there) if there and self.rng.random() < 0.8 else self.new_path()

    def content(self):
        chosen = self.rng.choice(TEXTS)
        if self.rng.random() < 0.1:
            chosen = self.rng.randbytes(self.rng.choice([10, 5000, 300000]))
        return chosen * self.rng.choice([1, 1, 1, 50])

    # ---- tools

    def tool(self, name, arguments):
        subprocess.run([tool_path(name)], input=json.dumps(arguments).encode(), cwd=self.folder,
                       env=clean_env(GIT_CONFIG_GLOBAL="/dev/null"), timeout=120,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def plan_file_tool(self):
        """A call of file_write or file_edit: the path it names and the call."""
        path = self.some_path().decode(errors="replace").replace("\ufffd", "x")
        if self.rng.random() < 0.5:
            text = self.content().decode(errors="replace")
            return path, ("file_write", {"file_path": path, "content": text})
        words = self.rng.choice(["one", "line", "size", "two\n"])
        return path, ("file_edit", {"file_path": path, "old_string": words, "new_string": "edited",
                                    "replace_all": True})

    def plan_bash(self, number):
        """Commands read names from files, so that any byte may be in them."""
        rng = self.rng
        content = os.path.join(self.scratch, f"content{number}")
        names = {name: f"{content}{name}" for name in "abc"}
        for path, text in ((names["a"], self.some_path()), (names["b"], self.new_path()),
                           (names["c"], self.some_path()), (content, self.content())):
            with open(path, "wb") as f:
                f.write(text)
        command = rng.choice([
            'mkdir -p "$(dirname -- "./$b")"; cp {content} "./$b"', 'cat {content} >> "./$a"',
            'cp {content} "./$a"', 'rm -f "./$a"', 'mkdir -p "$(dirname -- "./$b")"; mv "./$a" "./$b"',
            '{guard}chmod {mode} "./$a"', '{guard}chmod {mode} "./$a" "./$c"', 'ln -sfn "$b" "./$a"',
            'ln -sfn ../elsewhere "./$b"', 'rm -rf "./$(dirname -- "$a")" 2>/dev/null', ': > "./$a"',
            'touch "./$a"', 'sed -i s/one/1/ "./$a"', 'rm -f "./$a"; mkdir "./$a"; echo x > "./$a/in"',
            'cp {content} "./$a.new" && mv "./$a.new" "./$a"', 'mv src Src', 'mv Src src',
            'tr a-z A-Z < {content} > "./$a"', 'ln -f "./$a" "./$a.hard"',
            'ln -f "./$c" "./$a"', 'cat {content} >> "./$a.hard"', 'cp -p "./$a" "./$c"',
        ] + ([
            "git add -A && git commit -qm y", "git stash -q; git stash pop -q", "git gc -q --prune=now",
            "git checkout -q -b x$RANDOM; git commit -qm z --allow-empty", "git add -A",
            "git rm -q --cached -r . ; git add -A", "git reset -q --hard", "git clean -fdq",
            "git mv a.txt moved.txt",
        ] if self.in_git else []))
        return ("bash", {"command":  # a name may end with a newline, which $(…) would remove
                "".join(f"{name}=$(cat {path}; echo /); {name}=${{{name}%/}}; "
                        for name, path in names.items())
                + command.format(content=content, mode=rng.choice(["600", "755", "644", "444"]),
                                 guard=GUARD)})

    # ---- turns

    def take(self, tree, paths=()):
        answer = call({"op": "take", "folder": self.folder, "blobs": self.blobs,
                       "previous": self.last, "tree": tree, "paths": list(paths),
                       "max_files": 50000, "max_bytes": MANY_BYTES})
        if tree:
            self.last = [answer["state"]]
        return answer["state"]

    def states(self, named):
        """As the agent takes them: the folder, and the files that calls name."""
        paths = [os.path.join(self.folder, p) for p in sorted(named)]
        return [self.take(True)] + ([self.take(False, paths)] if paths else [])

    def plan(self):
        """The calls of a turn, and the files that file_write and file_edit name."""
        named, calls = set(), []
        for _ in range(self.rng.randint(1, 4)):
            if self.rng.random() < 0.4:
                path, planned = self.plan_file_tool()
                named.add(path)
                calls.append(planned)
            else:
                calls.append(self.plan_bash(len(calls)))
        return named, calls

    def turn(self):
        named, calls = self.plan()
        before, before_files = self.states(named), snapshot(self.folder)
        for name, arguments in calls:
            self.tool(name, arguments)
        after, after_files = self.states(named), snapshot(self.folder)
        self.turns.append({"segment": {"before": before, "after": after}, "before": before_files,
                           "after": after_files, "named": {p.encode() for p in named},
                           "calls": calls})

    def edit_of_others(self):
        path = self.some_path()
        full = self.at(path)
        kind = self.rng.randrange(4)
        if kind == 0 and os.path.lexists(full) and not os.path.isdir(full):
            os.unlink(full)
        elif kind == 1 and os.path.isfile(full) and not os.path.islink(full):
            os.chmod(full, self.rng.choice([0o600, 0o755]))
        else:
            self.write(path, b"of others: " + self.content())

    # ---- undo

    def covers(self, turn, path):
        return not (self.in_git and ignored(path)) or path in turn["named"]

    def expectation(self, turns, now, force):
        """The project after undo, and the conflicts."""
        files, conflicts = dict(now), set()
        for path in {p for t in turns for side in ("before", "after") for p in t[side]}:
            changing = [t for t in turns if self.covers(t, path)
                        and t["before"].get(path) != t["after"].get(path)]
            if not changing:
                continue
            target = changing[0]["before"].get(path)
            between = any(x["after"].get(path) != y["before"].get(path)
                          for x, y in zip(changing, changing[1:]))
            if now.get(path) == target:
                continue
            if not force and (between or now.get(path) != changing[-1]["after"].get(path)):
                conflicts.add(path)
                continue
            if target is None:
                files.pop(path, None)
            else:
                files[path] = target
        return files, conflicts

    def restore(self, segments, force=False):
        return call({"op": "restore", "folder": self.folder, "blobs": self.blobs,
                     "segments": segments, "others": [], "force": force, "paths": None,
                     "dry_run": False, "max_files": 50000, "max_bytes": MANY_BYTES})

    def undo(self, count):
        """Takes back so many turns; returns what was wrong."""
        turns = self.turns[-count:]
        segments = [t["segment"] for t in turns]
        now = snapshot(self.folder)
        force = self.rng.random() < 0.15
        expected, conflicts = self.expectation(turns, now, force)
        answer = self.restore(segments, force)
        wrong = self.compare(expected, conflicts, answer)
        if not wrong and self.rng.random() < 0.3:
            self.restore([{"before": answer["before"], "after": answer["after"]}])
            if snapshot(self.folder) != now:
                wrong = ["redo did not bring back " + self.differences(now)]
            self.restore(segments, force)
        del self.turns[-count:]
        return [f"{w} (after {[t['calls'] for t in turns]})" for w in wrong]

    def differences(self, expected):
        found = snapshot(self.folder)
        return str({p: (expected.get(p), found.get(p)) for p in {**expected, **found}
                    if expected.get(p) != found.get(p)})[:1500]

    def compare(self, expected, conflicts, answer):
        found = snapshot(self.folder)
        told = {name_of(c): c["reason"] for c in answer["conflicts"]}
        # A file in the way of a folder, or the other way round, may make more conflicts.
        blocked = {p for p in told if self.is_blocked(p)}
        wrong = []
        for path in {**expected, **found}:
            if path not in blocked and expected.get(path) != found.get(path):
                wrong.append(f"{path}: {str(found.get(path))[:200]} instead of "
                             f"{str(expected.get(path))[:200]}")
        if set(told) - blocked != conflicts - blocked:
            wrong.append(f"conflicts {told} instead of {conflicts}")
        if "unavailable" in told.values() and not blocked:
            wrong.append(f"unavailable: {told}")
        return wrong

    def is_blocked(self, path):
        full = self.at(path)
        if os.path.isdir(full) and not os.path.islink(full):
            return True
        while os.path.dirname(path):
            path = os.path.dirname(path)
            full = self.at(path)
            if os.path.islink(full) or (os.path.lexists(full) and not os.path.isdir(full)):
                return True
        return False


class WholeProgram(Project):
    """Turns are those of ikigai with a model, and undo is `ikigai session undo`."""

    def __init__(self, rng, kind):
        super().__init__(rng, kind)
        self.session = None
        self.kept = set()  # ignored files that a call named: ikigai may cover them from then on
        self.also_kept = False
        self.stage = Stage()
        self.stage.setUp()
        self.llm = FakeLLM([], FORMATS["chat"].dialect)
        self.llm.__enter__()
        self.stage.serve(self.llm)

    def close(self):
        self.llm.__exit__(None, None, None)
        self.stage.doCleanups()
        super().close()

    def ikigai(self, *words):
        done = subprocess.run([IKIGAI, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240,
                              env=self.stage.env(GIT_CONFIG_GLOBAL="/dev/null", **ENVIRONMENT))
        return done.stdout.decode()

    def covers(self, turn, path):
        return super().covers(turn, path) or (self.also_kept and path in self.kept)

    def expectation(self, turns, now, force):
        """Of a file in kept, both are right: that it is covered, and that it is not."""
        files, conflicts = super().expectation(turns, now, force)
        self.also_kept = True
        self.other = super().expectation(turns, now, force)
        self.also_kept = False
        return files, conflicts

    def compare(self, expected, conflicts, answer):
        found = snapshot(self.folder)
        told = {name_of(c) for c in answer["conflicts"]}
        files, others = self.other
        for path in self.kept:
            if found.get(path) == files.get(path) and (path in told) == (path in others):
                expected = {p: content for p, content in expected.items() if p != path}
                if path in files:
                    expected[path] = files[path]
                conflicts = conflicts - {path} | ({path} & others)
        return super().compare(expected, conflicts, answer)

    def turn(self):
        named, calls = self.plan()
        self.kept |= {p.encode() for p in named if self.in_git and ignored(p.encode())}
        before = snapshot(self.folder)
        self.llm.script += [Answer(calls=[Call(*planned) for planned in calls]), Answer("Done.")]
        said = self.ikigai("-p", "Do it.", "--json", "--mode", "full", "-m",
                           FORMATS["chat"].model, *(["-r", self.session] if self.session else []))
        self.session = json.loads(said.splitlines()[0])["id"]
        self.turns.append({"segment": None, "before": before, "after": snapshot(self.folder),
                           "named": {p.encode() for p in named}, "calls": calls})

    def undo(self, count):
        turns = self.turns[-count:]
        now = snapshot(self.folder)
        force = self.rng.random() < 0.15
        expected, conflicts = self.expectation(turns, now, force)
        answer = json.loads(self.ikigai("session", "undo", self.session, str(count), "--json",
                                        *(["--force"] if force else [])))
        wrong = self.compare(expected, conflicts, answer)
        if answer["turns"] != count:
            wrong.append(f"{answer['turns']} turns instead of {count}")
        if not wrong and self.rng.random() < 0.5:
            self.ikigai("session", "redo", self.session, "--json")
            if snapshot(self.folder) != now:
                wrong.append("redo did not bring back " + self.differences(now))
            return [f"{w} (after {[t['calls'] for t in turns]})" for w in wrong]
        del self.turns[-count:]
        if conflicts and not wrong:
            # Another message ends this undo; the files stay as they are.
            self.turns.clear()
        return [f"{w} (after {[t['calls'] for t in turns]})" for w in wrong]


def live(seed, kind, world=Project, life=LIFE):
    """One project; returns the number of turns undone and what was wrong."""
    rng = random.Random(seed)
    project = world(rng, kind)
    undone, wrong = 0, []
    try:
        for _ in range(life):
            project.turn()
            for _ in range(rng.choice([0, 0, 1, 2])):
                project.edit_of_others()
            if rng.random() < 0.4:
                count = rng.randint(1, min(len(project.turns), 5))
                wrong += project.undo(count)
                undone += count
        while project.turns and not wrong:
            count = rng.randint(1, len(project.turns))
            wrong += project.undo(count)
            undone += count
    finally:
        project.close()
    return undone, [f"{kind}, seed {seed}: {w}" for w in wrong]


def main():
    quick = "--quick" in sys.argv
    wanted = 300 if quick else 10000
    seed = int(os.environ.get("SEED", "1"))
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        whole = [pool.submit(live, seed + i, PROJECTS[i % len(PROJECTS)], WholeProgram, 6)
                 for i in range(2 if quick else 100)]
        undone, wrong = 0, []
        for done in whole:
            count, complaints = done.result()
            undone += count
            wrong += complaints
        by_session = undone
        while undone < wanted and not wrong:
            lives = [pool.submit(live, seed + i, PROJECTS[(seed + i) % len(PROJECTS)])
                     for i in range(2 * os.cpu_count())]
            seed += len(lives)
            for done in lives:
                count, complaints = done.result()
                undone += count
                wrong += complaints
    for line in wrong[:10]:
        print(line)
    hostile.conclude(26, not wrong, f"{undone:,} turns undone, {by_session} of them by "
                     f"ikigai session undo: {len(wrong)} with wrong bytes")


if __name__ == "__main__":
    main()
