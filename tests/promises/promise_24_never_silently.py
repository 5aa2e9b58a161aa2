#!/usr/bin/python3
"""Promise 24: confinement never weakens silently. Namespaces, mounts, Landlock and seccomp are each
taken away, and a room cannot be made although a trial of one succeeded. Whatever may write is then
still held to its effects, or asked about, or refused, and the user is told the level and the
cause."""
import json
import os
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.dirname(os.path.abspath(__file__))]
import escapes
import hostile
from fake_llm import Answer, Call, FakeLLM
from model_runs import FORMATS, history_of, lines_of
from support import IKIGAI, as_user, clean_env

# what is withheld: (level, a word of the cause)
CASES = {
    "nothing": ("full", None),
    "namespaces": ("partial", "namespaces"),
    "mounts": ("partial", "mounts"),
    "landlock": ("none", "Landlock"),
    "seccomp": ("none", "seccomp"),
    "namespaces,landlock": ("none", "Landlock"),
    "namespaces,seccomp": ("none", "seccomp"),
    "landlock,seccomp": ("none", "Landlock"),
}
WRITERS = ("bash", "file_write", "file_edit")


def calls(world):
    """Each writes outside of the project, and in it."""
    victim = world.outside + "/victim"
    return [Call("bash", {"command": f"echo taken >'{victim}'; echo bash >by-bash"}),
            Call("file_write", {"file_path": victim, "content": "taken"}),
            Call("file_write", {"file_path": "by-file-write", "content": "x"}),
            Call("file_edit", {"file_path": victim, "old_string": "victim", "new_string": "taken"}),
            Call("file_read", {"file_path": ".envrc"})]


class Run:
    """One session in which a model writes."""

    def __init__(self, world, withheld, mode, *options, **config):
        self.world, self.results, self.asked = world, [], calls(world)
        with FakeLLM(self.answer, FORMATS["chat"].dialect) as llm:
            escapes.put(world.ikigai_home + "/config.json", json.dumps({
                "providers": {"box": {"type": "openai", "api": "chat",
                                      "base_url": llm.base_url("openai")}},
                "undo_max_files": 0,  # so that blobs do not change
                **config}), 0o600)
            world.give_away()
            world.before = world.look()
            drop = {} if world.uid == os.geteuid() else {"preexec_fn": as_user(world.uid)}
            done = subprocess.run(
                [escapes.WITHHOLD, withheld, IKIGAI, "-p", "Write.", "-m", FORMATS["chat"].model,
                 "--json", *options], cwd=world.project, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600,
                env=clean_env(HOME=world.home, IKIGAI_MODE=mode, no_proxy="127.0.0.1"), **drop)
        self.status, self.err = done.returncode, done.stderr.decode()
        self.lines = lines_of(done.stdout)
        self.requests = len(llm.requests)

    def answer(self, request):
        self.results = [result for _, result in history_of(request).results]
        return Answer("Done.") if self.results else Answer(calls=self.asked)

    def of(self, kind):
        return [line for line in self.lines if line.get("type") == kind]

    def told(self, *words):
        text = " ".join(json.dumps(line) for line in self.of("notice") + self.of("warning"))
        return all(word in text + self.err for word in words)

    def complain(self, level, cause, mode):
        """What is wrong with this session."""
        bad = [f"changed: {what}" for what in self.world.differences()]
        if self.status != 0 or len(self.results) != len(self.asked):
            return bad + [f"exit {self.status}, {len(self.results)} results: {self.err}"]
        if cause is not None and not self.told(level, cause):
            bad.append(f"not told: {self.of('notice')} {self.err}")
        if cause is None and (self.of("notice") or self.err):
            bad.append(f"told without need: {self.of('notice')} {self.err}")
        if [line.get("confinement") for line in self.of("session")] != [level]:
            bad.append(f"the session says {self.of('session')}")
        for call, result in zip(self.asked, self.results):
            denied = result.get("error_code") == "PERMISSION_DENIED"
            if call.name in WRITERS and level == "none" and not denied:
                bad.append(f"{call.name} ran: {result}")
            if call.name == "file_read" and not result["tool_success"]:
                bad.append(f"file_read was refused: {result}")
        written = [name for name in ("by-bash", "by-file-write")
                   if os.path.exists(os.path.join(self.world.project, name))]
        wanted = [] if level == "none" or mode == "plan" else ["by-bash", "by-file-write"]
        if written != wanted:
            bad.append(f"written in the project: {written}")
        for name in written:
            os.remove(os.path.join(self.world.project, name))
        return bad


def fall(world):
    """So many submodules that the room's description is too long: the trial cannot know."""
    made = [os.path.join(world.project, ".git", "modules", f"{i:03}" + "x" * 200, "modules",
                         f"{j:03}" + "y" * 200) for i in range(25) for j in range(25)]
    for folder in made:
        escapes.put(folder + "/config", "[core]\n")
        escapes.make_folder(folder + "/hooks")
    run = Run(world, "nothing", "auto")
    bad = [] if run.told("fallen", "partial") else [f"not told: {run.lines}"]
    bad += [f"changed: {what}" for what in world.differences()]
    required = Run(world, "nothing", "auto", confinement="required")
    ran = [r for r in required.results if r.get("error_code") != "PERMISSION_DENIED"]
    if ran or not required.results:
        bad.append(f"with required: {required.results} {required.err}")
    bad += [f"changed: {what}" for what in world.differences()]
    return bad


def main():
    quick = "--quick" in sys.argv
    bad, count = [], 0
    for as_root in escapes.users()[:1] if quick else escapes.users():
        world = escapes.World(as_root)
        who = escapes.name_of(as_root)
        try:
            for withheld, (level, cause) in CASES.items():
                for mode in ("auto", "plan"):
                    complaints = Run(world, withheld, mode).complain(level, cause, mode)
                    bad += [f"{withheld}, {mode}, {who}: {c}" for c in complaints]
                    count += 1
                if level != "full":
                    required = Run(world, withheld, "auto", confinement="required")
                    if required.status != 2 or required.requests or cause not in required.err:
                        bad.append(f"{withheld}, required, {who}: exit {required.status}, "
                                   f"{required.requests} requests, {required.err}")
                    count += 1
            bad += [f"a room cannot be made, {who}: {c}" for c in fall(world)]
            count += 2
        finally:
            world.close()
    for line in bad:
        print(line)
    hostile.conclude(24, not bad, f"{count} sessions, with 7 things taken away and a room that "
                     f"cannot be made: {len(bad)} without a word, an answer or a refusal")


if __name__ == "__main__":
    main()
