"""Writes the reports of `make promises` and `make bench`, for people (Markdown) and for programs
(JSON), with a description of the machine."""
import functools
import json
import os
import platform
import re
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.abspath(os.environ.get("IKIGAI_REPORTS") or os.path.join(ROOT, "build", "reports"))


def first_match(path, pattern):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            found = re.search(pattern, f.read(), re.M)
    except OSError:
        return None
    return found and found[1].strip()


def version():
    return first_match(os.path.join(ROOT, "Makefile"), r"^VERSION := (.*)$")


@functools.cache
def commit():
    """None outside of a clone; "-changed" where the files are not those of the commit."""
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--abbrev=12", "--match=",
                           "--dirty=-changed"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def machine():
    return {
        "cpu": first_match("/proc/cpuinfo", r"^model name\s*:(.*)$") or platform.machine(),
        "cores": os.cpu_count(),
        "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        "kernel": f"{platform.system()} {platform.release().partition('-')[0]}",
        "system": first_match("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)'),
        "user": "root" if os.geteuid() == 0 else "an ordinary user",
    }


def today():
    return time.strftime("%Y-%m-%d")


def describe(about):
    """One paragraph about the machine, from machine()."""
    return (f"{about['cpu']}, {about['cores']} cores, {about['memory_mb'] / 1024:.0f} GB; "
            f"{about['kernel']}, {about['system']}; as {about['user']}.")


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def table(title, rows):
    lines = [title, ["---"] * len(title)] + rows
    return "".join(f"| {' | '.join(cell(c) for c in line)} |\n" for line in lines)


def path(name):
    return os.path.join(FOLDER, name)


def write(name, text):
    os.makedirs(FOLDER, exist_ok=True)
    with open(path(name) + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(path(name) + ".new", path(name))


def write_json(name, value):
    write(name, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def read_json(name):
    """Returns None if there is no readable report."""
    try:
        with open(path(name), encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return None
