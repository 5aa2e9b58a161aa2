#!/usr/bin/python3
"""Promise 3: a full disk damages nothing. Home and project lie on a small file system of their own
that is filled, step by step from nothing left to room enough, before a session begins, before one
goes on, and in the middle of a turn whose tools write files and print a lot. Every turn ends
properly, the database is sound and holds what was said to be saved, no other file is touched, and
when there is room again the session goes on; what could not be saved meanwhile is, too."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.dirname(os.path.abspath(__file__))]
import hostile
from fake_llm import Answer, Call, FakeLLM, Text
from model_runs import FORMATS, GO_ON, Stage, history_of, lines_of, messages, unanswered
from saved import Saved, bystander, missing, plain, told_as_saved, went_unsaved
from support import IKIGAI, tool_script

LIMIT = 60  # seconds that nothing here needs
SIZE = 16 << 20
KB_FULL = list(range(0, 404, 4))
KB_QUICK = [0, 4, 12, 36, 64, 100, 160, 240, 400]
LONG = "2" * 9000
CONTENT = "A line of a file that a tool writes.\n" * 100
BULK = "head -c 60000 /dev/urandom | base64 -w 0"
FILL = "head -c $(( ($(df --output=avail -k . | tail -n 1) - {kb}) * 1024 )) /dev/zero > ballast"

REFUSED = re.compile(rb"ikigai: \S+/ikigai\.db: (the disk is full|No space left on device)\n")


# ---- the disk

def skip(why):
    print(json.dumps({"promise": 3, "passed": False, "skipped": True, "figure": "skipped: " + why}))
    sys.exit(0)


def enter():
    """Starts this program again where it may mount, unless that is nowhere. An ordinary user is root
    there, and files of other owners belong to users that are not trusted."""
    if os.stat(IKIGAI).st_uid != os.geteuid():
        skip("the programs belong to another user")
    inside = ["unshare", "-m" if os.geteuid() == 0 else "-Urm"]
    mount = ["mount", "-t", "tmpfs", "none", tempfile.gettempdir()]
    if subprocess.run([*inside, *mount], stderr=subprocess.DEVNULL).returncode != 0:
        skip("nothing can be mounted here")
    os.execvp(inside[0], [*inside, sys.executable, __file__, "--inside", *sys.argv[1:]])


class Disk:
    """A file system that can be filled."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="ikigai-disk-")
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", self.folder],
                       check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", self.folder], check=True)
        os.rmdir(self.folder)

    def fill(self, kb):
        """So many KB are left."""
        status = os.statvfs(self.folder)
        with open(os.path.join(self.folder, "ballast"), "wb") as f:
            os.posix_fallocate(f.fileno(), 0, status.f_bavail * status.f_bsize - kb * 1024)

    def make_room(self):
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(self.folder, "ballast"))


class Small(Stage):
    """Home and project are on that disk."""
    settings = {"tool_timeout_seconds": 30}

    def __init__(self, disk):
        super().__init__()
        self.disk = disk

    def setUp(self):
        tempfile.tempdir = self.disk.folder
        try:
            super().setUp()
        finally:
            tempfile.tempdir = None

    def run(self, argv, seconds=LIMIT):
        """(status, lines, stderr), by pipes: files may not get through."""
        child = self.spawn(argv)
        out, err = child.communicate(timeout=seconds)
        return child.returncode, lines_of(out), err

    def begin(self, llm):
        """A home with a configuration, a trusted project, known tools and a session."""
        self.write("project/a.txt", "one\ntwo\n")
        self.project_tool("theirs", tool_script("theirs"))
        self.serve(llm)
        self.ikigai("trust", "--yes")
        self.ikigai("tool", "list")
        self.run(self.headless(FORMATS["chat"].model, prompt=GO_ON))

    def keep(self, folder):
        """What restore() brings back. The key of a cached schema does not lie on this disk."""
        for name in ("home", "project"):
            shutil.copytree(self.path(name), os.path.join(folder, name))

    def restore(self, folder):
        for name in ("home", "project"):
            shutil.rmtree(self.path(name))
            shutil.copytree(os.path.join(folder, name), self.path(name))


# ---- the turn

def full_turn(kb=None):
    """Tools that write and print; with kb, the first fills the disk up to that, and the last makes
    room again."""
    calls = [Call("file_write", {"file_path": "new.txt", "content": CONTENT}),
             Call("bash", {"command": BULK}),
             Call("file_edit", {"file_path": "a.txt", "old_string": "two", "new_string": LONG}),
             Call("bash", {"command": BULK})]
    turn = [Answer(parts=[Text("I write."), *calls[:2]]),
            Answer(parts=[Text("I write more."), *calls[2:]]), Answer("All done.")]
    if kb is not None:
        turn[:0] = [Answer(calls=[Call("bash", {"command": FILL.format(kb=kb)})])]
        turn[-1:-1] = [Answer(calls=[Call("bash", {"command": "rm ballast"})])]
    return turn


class Script:
    """By what a request holds beyond what the session held before."""

    def __init__(self):
        self.turn, self.before = [], None

    def set(self, turn):
        self.turn, self.before = turn, None

    def __call__(self, request):
        history = history_of(request)
        if "".join(history.texts).endswith(GO_ON):
            return Answer("Gone on.")
        results = len(history.results)
        self.before = results if self.before is None else self.before
        calls = [sum(isinstance(part, Call) for part in answer.parts) for answer in self.turn]
        done = [sum(calls[:n]) for n in range(len(calls))]
        return self.turn[done.index(results - self.before)]


# ---- judging

class Step:
    """One amount of room, tried in one way."""

    def __init__(self, stage, llm, way, kb, model):
        self.stage, self.llm, self.way, self.kb, self.model = stage, llm, way, kb, model
        self.unsaved, self.refused = 0, False
        self.wrong = []

    def demand(self, condition, text):
        if not condition:
            self.wrong.append(f"{self.way}, {self.kb} KB: {text}")

    def run(self):
        stage = self.stage
        before = self.look([], [])
        private = self.read_private()
        with contextlib.ExitStack() as stack:
            if self.way == "open elsewhere":
                stack.enter_context(bystander(stage.home))
            during = self.way == "during the turn"
            self.llm.script.set(full_turn(self.kb if during else None))
            if not during:
                stage.disk.fill(self.kb)
            lines = self.take_turn("Do it.", [] if self.way == "new" else ["-c"])
            now = self.look(before, lines)
            self.check_files(lines, during)
            self.check_private(private)
            stage.disk.make_room()
        if during:
            self.demand(now == before + [plain(message) for message in messages(lines)],
                        "not all of it is saved in the end")
        self.check_consent()
        private = self.read_private()
        self.take_turn_again(now)
        self.check_private(private)

    def take_turn(self, prompt, resume):
        status, lines, err = self.stage.run(self.stage.headless(self.model, *resume, prompt=prompt))
        if resume and status == 1 and not lines and REFUSED.fullmatch(err):
            self.refused = True  # it can be read only where it can be written
            return lines
        self.demand(status == 0 and lines and lines[-1] == {"type": "done", "reason": "end_turn"}
                    and not unanswered(lines), f"no proper end: {status} {lines[-2:]} {err}")
        unsaved = went_unsaved(lines)
        notices = [line["text"] for line in lines if line["type"] == "notice"]
        said = [text for text in notices if "not being saved" in text]
        self.demand(bool(said) == bool(unsaved), f"{len(unsaved)} unsaved, and it says {notices}")
        self.demand(len(said) <= 1 + sum("saved again" in text for text in notices),
                    f"it repeats itself: {notices}")
        self.unsaved += len(unsaved)
        return lines

    def take_turn_again(self, before):
        """There is room."""
        self.llm.script.set([])
        lines = self.take_turn(GO_ON, ["-c"])
        self.demand(lines and not went_unsaved(lines), "still not saved")
        self.demand(lines and lines[0]["resumed"] == bool(before), "another session goes on")
        now = self.look(before, lines)
        self.demand(now == before + messages(lines), f"it is not all: {now} {before}")

    def look(self, before, lines):
        """The session as it is stored: whatever was told as saved is there."""
        saved = Saved(self.stage.home)
        told = told_as_saved(lines)
        now = saved.sessions.get(lines[0]["id"], []) if lines else \
            next(iter(saved.sessions.values()), [])
        for text in saved.wrong:
            self.demand(False, f"damaged: {text}")
        lost = missing(told, before, now)
        self.demand(not lost, f"lost: {lost} messages of {told}")
        return now

    def check_files(self, lines, during):
        """A tool that says it wrote did, and one that says it did not left everything alone."""
        if self.refused:
            return
        envelopes = [json.loads(m["data"]["output"]) for m in messages(lines, "tool_result")]
        wrote = ["error" not in e["result"] for e in envelopes if e["tool_success"]]
        if len(wrote) != (6 if during else 4):
            self.demand(False, f"the tools failed: {envelopes}")
            return
        new, _, edit = wrote[during:during + 3]
        path = self.stage.path("project", "new.txt")
        self.demand(os.path.exists(path) == new and (not new or open(path).read() == CONTENT),
                    "new.txt is not what the tool said")
        wanted = f"one\n{LONG if edit else 'two'}\n".encode()
        self.demand(self.stage.read("project/a.txt") == wanted, "a.txt is not what the tool said")

    def read_private(self):
        found = {}
        for name in ("config.json", "trust.json"):
            path = os.path.join(self.stage.home, name)
            found[name] = open(path, "rb").read() if os.path.exists(path) else None
        # The identity of a reviewed file is recorded when it has not changed for a while.
        if found["trust.json"] is not None:
            found["trust.json"] = re.sub(rb'"identity":"[^"]*"', b"", found["trust.json"])
        return found

    def check_private(self, before):
        self.demand(self.read_private() == before, "configuration or trust changed")
        done = self.stage.ikigai("tool", "list", "--json", status=None)
        names = [tool["name"] for tool in json.loads(done.out or "[]")]
        self.demand(done.status == 0 and ("theirs" in names) == (before["trust.json"] is not None)
                    and "grep" in names, f"tools are {names} {done.err}")

    def check_consent(self):
        """Consent on a full disk is given or not, and can be given again when there is room."""
        stage = self.stage
        old = self.read_private()["trust.json"]
        stage.project_tool("theirs", tool_script("theirs", "echo '{\"new\":true}'"))
        stage.disk.fill(self.kb)
        given = stage.ikigai("trust", "--yes", status=None)
        self.demand(given.status == 0 or self.read_private()["trust.json"] == old,
                    f"consent was not given, but it is there: {given.err}")
        stage.disk.make_room()
        works = stage.ikigai("tool", "run", "theirs", "{}", status=None)
        self.demand((works.status == 0) == (given.status == 0), f"consent: {works.out}{works.err}")
        stage.ikigai("trust", "--yes")
        works = stage.ikigai("tool", "run", "theirs", "{}", status=None)
        self.demand('"new":true' in works.out, f"no consent: {works.out}{works.err}")


WAYS = ("new", "existing", "open elsewhere", "during the turn")


def main():
    if "--inside" not in sys.argv[1:]:
        enter()
    amounts = KB_QUICK if "--quick" in sys.argv[1:] else KB_FULL
    steps = []
    with Disk() as disk, tempfile.TemporaryDirectory(prefix="ikigai-kept-") as kept, \
            FakeLLM(Script(), FORMATS["chat"].dialect) as llm, Small(disk) as stage:
        stage.begin(llm)
        stage.keep(kept)
        for number, (kb, way) in enumerate((kb, way) for kb in amounts for way in WAYS):
            stage.restore(kept)
            if way == "new":
                shutil.rmtree(stage.home)
                stage.serve(llm)
            name = list(FORMATS)[number // len(WAYS) % len(FORMATS)]
            llm.dialect = FORMATS[name].dialect
            steps.append(Step(stage, llm, way, kb, FORMATS[name].model))
            steps[-1].run()
            disk.make_room()
        steps[-1].wrong += llm.problems
    wrong = [line for step in steps for line in step.wrong]
    for line in wrong[:20]:
        print(line[:3000])
    refused = sum(step.refused for step in steps)
    hit = sum(bool(step.unsaved) for step in steps)
    if hit < len(steps) / 4 or hit + refused == len(steps):
        wrong.append("the disk was never, or always, full: nothing is proved")
    damaged = sum(": damaged" in line for line in wrong)
    lost = sum(": lost" in line for line in wrong)
    hostile.conclude(3, not wrong, (
        f"{len(steps)} turns with 0 to {amounts[-1]} KB left ({', '.join(WAYS)}), in {hit} of them "
        f"{sum(step.unsaved for step in steps)} messages had to wait for room, {refused} were "
        f"refused at once: {damaged} damaged, "
        f"{lost} lost, {len(wrong) - damaged - lost} otherwise wrong; all went on"))


if __name__ == "__main__":
    main()
