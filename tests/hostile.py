"""Shared by the tests of execution: tools that misbehave, and the search for what they leave behind.

A tool is a script that answers --schema and then does what its body says. Everything it starts
carries the path of the test's scratch folder in its arguments, which is how survivors are found.
"""
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time

from support import IKIGAI, OBJECTS, OUT, ROOT, clean_env

# -IS, without site packages and environment, halves the start-up time.
PYTHON = "/usr/bin/python3 -IS"
LONG_AGO = 1_000_000_000  # the schema of a file that has not changed recently is cached


def schema(name, **more):
    return json.dumps({"name": name, "description": f"{name} for tests", **more})


def write_program(path, text, mode=0o755, age=LONG_AGO):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(path, mode)
    if age is not None:
        os.utime(path, (age, age))
    return path


def sh_tool(folder, name, body, **more):
    """Writes a tool in sh. more is added to the schema."""
    return write_program(os.path.join(folder, name), f"""#!/bin/sh
if [ "$1" = --schema ]; then
    printf '%s\\n' '{schema(name.replace('-', '_'), **more)}'
    exit
fi
{body}
""")


def late_keeper(folder, command):
    """An installation whose keeper starts when this shell command has ended, as on a busy machine,
    where the level of confinement is known late. Returns its program."""
    program, parts = os.path.join(folder, "bin/ikigai"), os.path.join(folder, "lib/ikigai")
    for made in (os.path.dirname(program), parts):
        os.makedirs(made)
    shutil.copy(IKIGAI, program)
    for name in ("share", "libexec"):
        os.symlink(os.path.join(OUT, name), os.path.join(folder, name))
    for name in os.listdir(os.path.join(OUT, "lib/ikigai")):
        if name != "keeper":
            os.symlink(os.path.join(OUT, "lib/ikigai", name), os.path.join(parts, name))
    write_program(os.path.join(parts, "keeper"),
                  f"#!/bin/sh\n{command}\nexec '{OUT}/lib/ikigai/keeper' \"$@\"\n")
    return program


def python_text(answer, body):
    """The text of a tool in Python, with os, signal, sys and time imported. A shell answers --schema
    with the command answer, since Python may take longer to start on a busy machine than a schema
    may. The file is a program in both languages: the shell's part is a string in Python."""
    return f"""#!/bin/sh
''':'
if [ "$1" = --schema ]; then
    {answer}
    exit
fi
exec {PYTHON} "$0" "$@"
':'''
import os, signal, sys, time
{body}
"""


def python_tool(folder, name, body, **more):
    answer = f"printf '%s\\n' '{schema(name.replace('-', '_'), **more)}'"
    return write_program(os.path.join(folder, name), python_text(answer, body))


# ---- what is left

def processes_with(marker):
    """Living processes (zombies have no arguments) whose arguments contain marker: {pid: text}"""
    found = {}
    wanted = os.fsencode(marker)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                arguments = f.read()
        except OSError:
            continue
        if wanted in arguments and int(pid) != os.getpid():
            found[int(pid)] = arguments.replace(b"\0", b" ").decode(errors="replace")
    return found


def wait_until(condition, seconds=10):
    """Returns True as soon as condition() is true, False after that many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def kill_all(marker):
    """Kills what a failed test left running."""
    for pid in processes_with(marker):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def default_signals():
    """A preexec_fn. When the tests run in the background of a shell or with nohup, SIGINT or SIGHUP
    is ignored, and ikigai would inherit that."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


# ---- the hostile tree

# Eight processes: the tool; a plain child; a child in its own session with a child of its own that
# ignores every polite signal; a daemon made by two forks; one that ignores SIGTERM; a daemon that
# emptied its environment and left the session; one that stopped itself.
TREE = """
folder = os.path.dirname(os.path.abspath(sys.argv[0]))
ready = os.environ["TREE_READY"]
polite = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)

def become(env=None, ignore=()):
    for number in ignore:
        signal.signal(number, signal.SIG_IGN)
    open(os.path.join(ready, str(os.getpid())), "w").close()
    os.execve("/bin/sleep", [folder + "/survivor", "300"], os.environ if env is None else env)

def child(code):
    pid = os.fork()
    if pid == 0:
        code()
        os._exit(0)
    return pid

def stubborn_session():
    os.setsid()
    child(lambda: become({}, polite))
    become()

def daemon():
    child(become)

def hidden_daemon():
    os.setsid()
    child(lambda: (os.setsid(), become({})))

def stopped():
    open(os.path.join(ready, str(os.getpid())), "w").close()
    os.kill(os.getpid(), signal.SIGSTOP)
    become()

child(become)
child(stubborn_session)
child(lambda: become(None, [signal.SIGTERM]))
for lost in daemon, hidden_daemon:
    os.waitpid(child(lost), 0)  # only the processes that it left count
child(stopped)
while len(os.listdir(ready)) < 7:  # time counts from when the tree stands
    os.write(3, b'{"text":"."}\\n')
    time.sleep(0.002)
os.write(3, b'{"text":"."}\\n')
open(ready + ".all", "w").close()
if os.environ["TREE_END"] == "normal":
    print('{"tree":true}')
else:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(100)
"""
TREE_SIZE = 8


class Comets:
    """The tree of tests/promises/comets.c in the folder of tools, and whether any of it is left:
    processes that live for a tenth of a millisecond are in no list, but all hold one pipe open."""

    def __init__(self, scratch, tools):
        os.makedirs(tools, exist_ok=True)
        program = os.path.join(tools, "comets")
        subprocess.run([compiler()[0], "-O2", "-D_GNU_SOURCE", "-o", program,
                        os.path.join(ROOT, "tests", "promises", "comets.c")], check=True)
        os.utime(program, (LONG_AGO, LONG_AGO))
        self.fifo = os.path.join(scratch, "comets.fifo")
        os.mkfifo(self.fifo)
        self.end = os.open(self.fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.poll = select.poll()
        self.poll.register(self.end, 0)

    def gone(self):
        """Whether they were started and none is left."""
        return bool(self.poll.poll(0))

    def close(self):
        os.close(self.end)


CGROUPS = ("/sys/fs/cgroup/pids", "/sys/fs/cgroup")  # versions 1 and 2
BOMB_MAX = 10000


def bounded(main):
    """Runs main in a process of its own, which can have so many processes, zombies included, where
    root may set that: bombs would take all that the machine can have from what runs beside them."""
    child = os.fork()
    if child == 0:
        for root in CGROUPS:
            folder = os.path.join(root, f"ikigai-test-{os.getpid()}")
            try:
                os.mkdir(folder)
                for name, value in (("pids.max", BOMB_MAX), ("cgroup.procs", os.getpid())):
                    with open(os.path.join(folder, name), "w", encoding="ascii") as f:
                        f.write(str(value))
                break
            except OSError:
                pass  # no such version, or not root
        return main()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for root in CGROUPS:
        try:
            os.rmdir(os.path.join(root, f"ikigai-test-{child}"))
        except OSError:
            pass
    sys.exit(status if status >= 0 else 128 - status)


# ---- how busy the machine is

class Yardstick:
    """How long this machine currently takes to react to an event, without ikigai: a timer fires and
    three processes wake each other in turn, as ikigai, the keeper and a tool do. Promises in
    milliseconds are measured beyond this."""

    LINKS = 3

    def __enter__(self):
        first, self.write = os.pipe()
        self.links, source = [], first
        for i in range(self.LINKS):
            process = subprocess.Popen(["/bin/cat"], stdin=source, stdout=subprocess.PIPE, bufsize=0)
            os.close(source) if i == 0 else self.links[-1].stdout.close()
            self.links.append(process)
            source = process.stdout.fileno()
        return self

    def __exit__(self, *error):
        os.close(self.write)
        for link in self.links:
            link.wait()
        self.links[-1].stdout.close()

    def measure_ms(self, seconds=0.3):
        """The longest reaction in that time."""
        worst, end = 0.0, time.monotonic() + seconds
        while time.monotonic() < end:
            begin = time.monotonic()
            time.sleep(0.002)
            os.write(self.write, b".")
            os.read(self.links[-1].stdout.fileno(), 1)
            worst = max(worst, time.monotonic() - begin - 0.002)
        return worst * 1000


def contention(seconds=0.1):
    """How many times longer work on all processors takes than on an idle machine, at least 1."""
    spin = (f"import time\nb = time.monotonic()\nwhile time.process_time() < {seconds}: pass\n"
            "print(time.monotonic() - b)")
    count = len(os.sched_getaffinity(0))
    runs = [subprocess.Popen([sys.executable, "-IS", "-c", spin], stdout=subprocess.PIPE)
            for _ in range(count)]
    walls = [float(run.communicate()[0]) for run in runs]
    return max(1.0, sum(walls) / count / seconds)


# ---- the driver: many calls in one process

def compiler():
    """The words of the tree's own compiler command."""
    with open(os.path.join(OBJECTS, "flags.stamp"), encoding="utf-8") as f:
        return f.read().split()


def build_driver(folder):
    """Compiles tests/promises/call_driver.c against the objects of the tree under test."""
    words = compiler()
    flags = sorted({w for w in words if w.startswith("-fsanitize=")})
    program = os.path.join(folder, "call_driver")
    command = (words[:1] + ["-std=gnu11", "-O2", "-g", "-D_GNU_SOURCE", "-I" + os.path.join(ROOT, "src")]
               + flags + ["-o", program, os.path.join(ROOT, "tests", "promises", "call_driver.c")]
               + [os.path.join(OBJECTS, name) for name in ("libapp.a", "libbase.a")]
               + ["-luv", "-ljansson", "-ltalloc", "-lmd"])
    subprocess.run(command, check=True)
    return program


def drive(driver, home, folder, rounds, calls, timeout=3600, **env):
    """Makes all calls, a list of (tool, arguments), rounds times. Returns the driver's report."""
    words = [word for call in calls for word in call]
    done = subprocess.run([driver, IKIGAI, str(rounds)] + words, cwd=folder, timeout=timeout,
                          stdout=subprocess.PIPE, env=clean_env(IKIGAI_HOME=home, **env))
    if done.returncode != 0:
        raise AssertionError(f"call_driver exited {done.returncode}")
    return json.loads(done.stdout)


# ---- verdicts

def conclude(number, passed, figure):
    """Ends a promise script: its last line is the verdict."""
    print(json.dumps({"promise": number, "passed": bool(passed), "figure": figure}))
    sys.exit(0 if passed else 1)
