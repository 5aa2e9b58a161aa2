"""What the promises about confinement share: a user with a home, a project and things that must not
change, the attacks of tests/escape, and a model that makes them one after the other.

An attack is a file: comments with what it does and its facts, then a shell command, or the
arguments of another tool. Facts:
    works: yes (the default), root, no or maybe   whether it succeeds without confinement; maybe
                                                  depends on the machine
    levels: full or partial                       the only level that promises to stop it
    tool: NAME                                    whose arguments it is
    protects: PLACE   a protected place in the project, of which level partial only tells
    told: PLACE       a protected place that does not exist, of which both levels tell
"""
import fcntl
import glob
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import termios
from dataclasses import dataclass

from fake_llm import Answer, Call, FakeLLM
from model_runs import FORMATS, history_of
from support import IKIGAI, NOBODY, OBJECTS, ROOT, as_user, clean_env

ATTACKS = os.path.join(ROOT, "tests", "escape")
DRIVER = os.path.join(OBJECTS, "tests", "escape", "attack_driver")
WITHHOLD = os.path.join(OBJECTS, "tests", "escape", "withhold_driver")
CANARY = "CANARY-" + "0f5d2b7c"
TAKEN = "TAKEN"
MODULES = ("sub", "libs/sub")  # names of submodules
# What ikigai writes itself while it runs.
OWN = re.compile(r"/\.ikigai/(rooms|ikigai\.db|sessions|cache|history|schemas|log|recall|.*\.db)")


@dataclass
class Attack:
    name: str
    about: str
    facts: dict
    text: str

    @property
    def works(self):
        return self.facts.get("works", "yes")

    def counts_at(self, level):
        return self.facts.get("levels", level) == level


def read_attacks(folder):
    found = []
    for path in sorted(glob.glob(os.path.join(ATTACKS, folder, "*.attack"))):
        with open(path, encoding="utf-8") as f:
            lines = f.read().splitlines()
        head = [line[2:] for line in lines if line.startswith("# ")]
        facts = dict(line.split(": ", 1) for line in head[1:])
        text = "\n".join(lines[len(head):])
        found.append(Attack(os.path.basename(path)[:-7], head[0], facts, text))
    return found


def make_folder(path, mode=0o755):
    os.makedirs(path, exist_ok=True)
    os.chmod(path, mode)


def put(path, text, mode=0o644):
    """In place where that is possible: rules and mounts of rooms hold on to files."""
    if os.path.dirname(path) != "/tmp":
        make_folder(os.path.dirname(path))
    if os.path.islink(path) or (os.path.lexists(path) and not os.path.isfile(path)):
        remove(path)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def look(path):
    """All that can change in a file."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    facts = [status.st_mode, status.st_uid, status.st_gid, status.st_ctime_ns, status.st_mtime_ns]
    if stat.S_ISREG(status.st_mode):
        with open(path, "rb") as f:
            facts.append(hashlib.sha256(f.read()).hexdigest())
    elif stat.S_ISLNK(status.st_mode):
        facts.append(os.readlink(path))
    return facts


class Listeners:
    """Everything that an attack could send something to."""

    def __init__(self, home, tag):
        self.paths = [os.path.join(home, "socket"), f"/tmp/{tag}.socket",
                      os.path.join(home, "datagrams")]
        self.all = {"TCP": socket.create_server(("127.0.0.1", 0)),
                    "UDP": socket.socket(socket.AF_INET, socket.SOCK_DGRAM)}
        self.all["TCP"].setsockopt(socket.IPPROTO_TCP, 23, 16)  # TCP_FASTOPEN
        self.all["UDP"].bind(("127.0.0.1", 0))
        if socket.has_ipv6:
            try:
                self.all["TCP6"] = socket.create_server(("::1", 0), family=socket.AF_INET6)
            except OSError:
                pass
        self.ports = {name: s.getsockname()[1] for name, s in self.all.items()}
        self.ports.setdefault("TCP6", 1)
        for name, kind, path in (("UNIX_HOME", socket.SOCK_STREAM, self.paths[0]),
                                 ("UNIX_TMP", socket.SOCK_STREAM, self.paths[1]),
                                 ("UNIX_DATAGRAM", socket.SOCK_DGRAM, self.paths[2]),
                                 ("UNIX_ABSTRACT", socket.SOCK_STREAM, "\0" + tag)):
            self.all[name] = socket.socket(socket.AF_UNIX, kind)
            self.all[name].bind(path)
            if path[0] != "\0":
                os.chmod(path, 0o777)
            if kind == socket.SOCK_STREAM:
                self.all[name].listen(16)
            self.ports[name] = path.lstrip("\0")
        self.kept, self.given = socket.socketpair()  # given is inherited by ikigai
        for s in self.all.values():
            s.setblocking(False)
        self.kept.setblocking(False)

    def heard(self):
        """The names of those that were spoken to since the last time."""
        names = []
        for name, s in list(self.all.items()) + [("inherited", self.kept)]:
            while True:
                try:
                    if name in ("UDP", "UNIX_DATAGRAM", "inherited"):
                        s.recv(1000)
                    else:
                        s.accept()[0].close()
                    names.append(name)
                except BlockingIOError:
                    break
        return names

    def close(self):
        for s in [*self.all.values(), self.kept, self.given]:
            s.close()
        for path in self.paths:
            remove(path)


class World:
    """A user's files, not below /tmp, which calls may write to at level partial."""

    def __init__(self, as_root):
        self.base = tempfile.mkdtemp(prefix="ikigai-escape-", dir="/var/tmp")
        self.tag = os.path.basename(self.base)
        self.as_root = as_root
        self.uid = os.geteuid() if as_root else NOBODY if os.geteuid() == 0 else os.geteuid()
        os.chown(self.base, self.uid, -1)  # so that the project can be renamed
        os.chmod(self.base, 0o755)
        self.home, self.project = self.path("home"), self.path("project")
        self.outside, self.ikigai_home = self.path("outside"), self.path("home/.ikigai")
        self.git = self.path("git-template")
        for program, mode in (("attack", 0o755), ("privileged", 0o4755)):
            shutil.copy(DRIVER, self.path(program))
            os.chmod(self.path(program), mode)
        subprocess.run(["git", "init", "-q", self.git], check=True,
                       env=clean_env(HOME=self.base, GIT_CONFIG_NOSYSTEM="1"))
        for name in MODULES:
            put(f"{self.git}/.git/modules/{name}/HEAD", "ref: refs/heads/main\n")
            put(f"{self.git}/.git/modules/{name}/config", "[core]\n")
            put(f"{self.git}/.git/modules/{name}/hooks/post-checkout", "#!/bin/sh\n")
        self.terminal, self.slave = os.openpty()
        fcntl.fcntl(self.terminal, fcntl.F_SETFL, os.O_NONBLOCK)
        self.temporary = f"/tmp/{self.tag}.file"
        self.temporary_victim = f"/tmp/{self.tag}.victim"
        self.system_file = f"/etc/{self.tag}"
        self.shared = None
        self.bystander = None
        make_folder(self.ikigai_home, 0o700)
        self.build()
        self.listeners = Listeners(self.home, self.tag)
        self.give_away()
        self.before = self.look()

    def path(self, name):
        return os.path.join(self.base, name)

    def close(self):
        self.bystander.kill()
        self.bystander.wait()
        if self.shared is not None:
            subprocess.run(["ipcrm", "-m", self.shared], stderr=subprocess.DEVNULL)
        self.listeners.close()
        os.close(self.terminal)
        os.close(self.slave)
        for path in (self.temporary, self.temporary_victim, self.system_file):
            remove(path)
        shutil.rmtree(self.base, ignore_errors=True)

    # ---- what is there

    def build(self):
        for path, mode in ((self.outside, 0o755), (self.home, 0o755), (self.project, 0o755)):
            make_folder(path, mode)
        for name in os.listdir(self.outside):
            remove(os.path.join(self.outside, name))
        put(self.outside + "/victim", "victim\n")
        os.setxattr(self.outside + "/victim", "user.kept", b"x")
        make_folder(self.outside + "/empty")
        os.symlink("victim", self.outside + "/link")
        put(self.home + "/.bashrc", "# mine\n")
        put(self.home + "/.ssh/id", CANARY, 0o600)
        remove(self.home + "/.ssh/authorized_keys")
        put(self.ikigai_home + "/keys.json", json.dumps({"anthropic": {"api_key": CANARY}}), 0o600)
        for name in ("permissions.json", "tools", "trusted", "trust.json"):
            remove(os.path.join(self.ikigai_home, name))
        self.build_project()
        put(self.temporary_victim, "victim\n")
        for path in (self.temporary, self.system_file):
            remove(path)
        os.chmod("/dev/null", 0o666) if os.geteuid() == 0 else None
        os.fchmod(self.slave, 0o620)
        settings = termios.tcgetattr(self.slave)
        settings[3] |= termios.ECHO
        termios.tcsetattr(self.slave, termios.TCSANOW, settings)
        self.start_bystander()

    def build_project(self):
        known = {".git", ".envrc", ".vscode", ".ikigai", "trusting", "outside-link"}
        for name in os.listdir(self.project):
            if name not in known or os.path.islink(os.path.join(self.project, name)):
                remove(os.path.join(self.project, name))
        template = self.git + "/.git"
        for where, _, names in os.walk(template):
            inner = self.project + "/.git" + where[len(template):]
            if os.path.islink(inner):
                remove(inner)
            make_folder(inner)
            for name in set(os.listdir(inner)) - set(os.listdir(where)):
                remove(os.path.join(inner, name))
            for name in names:
                with open(os.path.join(where, name), encoding="utf-8") as f:
                    put(os.path.join(inner, name), f.read())
        put(self.project + "/.envrc", "# mine\n")
        put(self.project + "/.vscode/settings.json", "{}\n")
        remove(self.project + "/.vscode/tasks.json")
        remove(self.project + "/.ikigai/tools")
        put(self.project + "/.ikigai/README", "mine\n")
        put(self.project + "/trusting/.ikigai/tools/theirs", "#!/bin/sh\necho '{}'\n", 0o755)
        os.symlink(self.outside + "/victim", self.project + "/outside-link")
        if os.geteuid() == 0:
            os.mknod(self.project + "/found-device", 0o666 | stat.S_IFCHR, os.makedev(1, 11))
            os.chmod(self.project + "/found-device", 0o600)

    def start_bystander(self):
        if self.bystander is not None and self.bystander.poll() is None:
            return
        with open(self.outside + "/held", "w", encoding="utf-8") as held:
            drop = {} if self.uid == os.geteuid() else {"preexec_fn": as_user(self.uid)}
            self.bystander = subprocess.Popen(["sleep", "100000"], stdout=held, cwd="/", **drop)
        if self.shared is None and shutil.which("ipcmk"):
            made = subprocess.run(["ipcmk", "-M", "4096", "-p", "0666"], stdout=subprocess.PIPE)
            self.shared = made.stdout.decode().split()[-1] if made.returncode == 0 else None

    def give_away(self):
        if self.uid == os.geteuid():
            return
        for top in (self.home, self.project, self.outside, self.temporary_victim):
            os.lchown(top, self.uid, self.uid)
            for where, folders, names in os.walk(top):
                for name in folders + names:
                    if name != "found-device":
                        os.lchown(os.path.join(where, name), self.uid, self.uid)
        os.fchown(self.slave, self.uid, self.uid)

    def look(self):
        """Everything that must not change: {what: facts}"""
        seen = {"/dev/null": os.stat("/dev/null").st_mode, "system file": look(self.system_file),
                "temporary file": look(self.temporary), "bystander": self.bystander.poll(),
                "temporary victim": look(self.temporary_victim),
                "terminal": [os.fstat(self.slave).st_mode, termios.tcgetattr(self.slave)]}
        # The project's folder changes its times: it may be written.
        for top in (self.home, self.outside, *self.protected()):
            seen[top] = look(top)
            for where, folders, names in os.walk(top):
                for name in folders + names:
                    path = os.path.join(where, name)
                    if not OWN.search(path) and path != self.ikigai_home:
                        seen[path] = look(path)
        seen[self.project + "/.git"] = os.lstat(self.project + "/.git").st_ino \
            if os.path.isdir(self.project + "/.git") else None
        return seen

    def protected(self):
        return [os.path.join(self.project, name) for name in (
            ".envrc", ".vscode", ".ikigai", ".git/hooks", ".git/config",
            *(f".git/modules/{name}/{place}" for name in MODULES for place in ("hooks", "config")))]

    def settings(self):
        return {"VICTIM": self.outside + "/victim", "OUTSIDE": self.outside, "HOME": self.home,
                "PROJECT": self.project, "ATTACK": self.path("attack"), "IKIGAI": IKIGAI,
                "PRIVILEGED": self.path("privileged"), "BYSTANDER": str(self.bystander.pid),
                "TERMINAL": os.ttyname(self.slave), "SYSTEM_FILE": self.system_file,
                "TEMPORARY_FILE": self.temporary, "TEMPORARY_VICTIM": self.temporary_victim,
                "SHARED": self.shared or "-1",
                **{name: str(port) for name, port in self.listeners.ports.items()}}

    # ---- what happened

    def differences(self):
        now = self.look()
        return sorted(what for what in self.before.keys() | now.keys()
                      if self.before.get(what) != now.get(what))

    def typed(self):
        try:
            return os.read(self.terminal, 1000)
        except BlockingIOError:
            return b""

    def restore(self):
        self.build()
        self.give_away()
        self.typed()
        self.before = self.look()


class Attacker:
    """A model that makes the attacks, one in each turn, and judges each before the next."""

    def __init__(self, world, attacks, level):
        self.world, self.level = world, level
        self.left, self.current = list(attacks), None
        self.escaped, self.untold, self.done = {}, [], 0

    def answer(self, request):
        results = history_of(request).results
        if self.current is not None:
            self.judge(self.current, json.dumps(results[-1][1]))
            self.current = None
        if not self.left:
            return Answer("Done.")
        self.current = self.left.pop(0)
        settings = self.world.settings()
        if "arguments" in self.current.facts:
            return Answer(calls=[Call(self.current.facts["tool"], self.current.facts["arguments"])])
        if "tool" in self.current.facts:
            text = re.sub(r"\$(\w+)", lambda m: settings[m[1]], self.current.text)
            return Answer(calls=[Call(self.current.facts["tool"], json.loads(text))])
        exports = "".join(f"export {name}='{value}'\n" for name, value in settings.items())
        return Answer(calls=[Call("bash", {"command": exports + self.current.text})])

    def judge(self, attack, text):
        self.done += 1
        evidence = self.world.differences() + self.world.listeners.heard()
        typed = self.world.typed()
        if typed:
            evidence.append(f"typed {typed!r}")
        if TAKEN in text or CANARY in text:
            evidence.append(f"it says {text[:300]}")
        place = attack.facts.get("told") or (self.level == "partial" and attack.facts.get("protects"))
        if place and self.level == "none":
            if os.path.lexists(os.path.join(self.world.project, place)):
                evidence.append(place)
        elif place:
            if place.split("/")[-1] not in json.loads(text).get("note", ""):
                self.untold.append(f"{attack.name} at {self.level}: {place} was not told: {text[:300]}")
            evidence = [e for e in evidence if not e.startswith(self.world.project)]
        if evidence:
            self.escaped[attack.name] = evidence
        if evidence or place or self.level != "full":
            self.world.restore()
        else:
            self.tidy()

    def tidy(self):
        """Removes what the attack left in the project, without touching what rooms hold on to."""
        project = self.world.project
        for name in os.listdir(project):
            if name not in (".git", ".envrc", ".vscode", ".ikigai", "trusting", "outside-link",
                            "found-device"):
                remove(os.path.join(project, name))
        remove(self.world.temporary)


def attack(folder, as_root, level, attacks=None):
    """Makes the attacks in one session at a level; none: without confinement. Returns the
    Attacker."""
    world = World(as_root)
    try:
        wanted = [a for a in attacks or read_attacks(folder)
                  if level == "none" or a.counts_at(level)]
        attacker = Attacker(world, wanted, level)
        with FakeLLM(attacker.answer, FORMATS["chat"].dialect) as llm:
            run_model(world, llm, level)
        if attacker.left or attacker.current is not None:
            at = attacker.current or attacker.left[0]
            attacker.untold.append(f"the session ended early, at {at.name}")
        attacker.untold += llm.problems
        return attacker
    finally:
        world.close()


def run_model(world, llm, level, mode="auto", prompt="Attack."):
    put(world.ikigai_home + "/config.json", json.dumps({
        "providers": {"box": {"type": "openai", "api": "chat",
                              "base_url": llm.base_url("openai")}},
        "undo_max_files": 0,  # so that every change in blobs is the attack's
        "max_tool_turns": 100000, "system_prompt": "You are a test."}), 0o600)
    world.give_away()
    world.before = world.look()
    folder = os.open(world.outside, os.O_RDONLY)
    held = (folder, world.listeners.given.fileno())
    argv = [IKIGAI, "-p", prompt, "-m", FORMATS["chat"].model, "--json"]
    if level == "partial":
        argv = [WITHHOLD, "namespaces"] + argv
    drop = {} if world.uid == os.geteuid() else {"preexec_fn": as_user(world.uid)}
    done = subprocess.run(argv, cwd=world.project, pass_fds=held, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=3600,
                          env=clean_env(HOME=world.home, OPENAI_API_KEY=CANARY, no_proxy="127.0.0.1",
                                        IKIGAI_MODE="full" if level == "none" else mode), **drop)
    os.close(folder)
    if done.returncode != 0:
        raise AssertionError(f"ikigai exited {done.returncode}: {done.stderr.decode()[-2000:]}"
                             f"{done.stdout.decode()[-2000:]}")
    return done


def users():
    return [True, False] if os.geteuid() == 0 else [False]


def name_of(as_root):
    return "root" if as_root else "user"


def check_controls(folder, as_root):
    """Makes the attacks without confinement. Returns (how many worked, complaints)."""
    attacker = attack(folder, as_root, "none")
    bad = []
    for each in read_attacks(folder):
        worked = each.name in attacker.escaped
        must = each.works == "yes" or (each.works == "root" and as_root)
        if must and not worked:
            bad.append(f"{each.name} as {name_of(as_root)} does not work even unconfined")
        if each.works == "no" and worked:
            bad.append(f"{each.name} as {name_of(as_root)}: {attacker.escaped[each.name]}")
    return len(attacker.escaped), bad + attacker.untold


def prove(number, folder, figure):
    """The proof of a promise that no attack of the folder succeeds."""
    import hostile
    quick = "--quick" in sys.argv
    runs = [(as_root, level) for as_root in users() for level in ("full", "partial")]
    if quick and len(runs) == 4:
        runs = [(True, "full"), (False, "partial")]
    bad, made, worked = [], 0, 0
    for as_root, level in runs:
        attacker = attack(folder, as_root, level)
        made += attacker.done
        bad += [f"{name} as {name_of(as_root)} at {level}: {evidence}"
                for name, evidence in attacker.escaped.items()] + attacker.untold
    for as_root in () if quick else users():
        count, complaints = check_controls(folder, as_root)
        worked += count
        bad += complaints
    for line in bad:
        print(line)
    kinds = len(read_attacks(folder))
    control = "" if quick else f"; without confinement {worked} succeeded"
    hostile.conclude(number, not bad, figure.format(kinds=kinds, made=made, bad=len(bad)) + control)
