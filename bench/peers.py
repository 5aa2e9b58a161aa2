#!/usr/bin/python3
"""Measures ikigai and other agents in the same way and writes a report (see docs/benchmarks.md).

    make bench-peers
    bench/peers.py [--rounds N] [NAME]...

npm installs the agents that peers.json names into build/agents. They are measured in a network
namespace that has only the loopback interface, against tests/fake_llm. With NAMEs, measures only
these agents and writes no report.
"""
import argparse
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True  # before our own are imported: the tree stays clean
BENCH = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(BENCH)
sys.path.append(os.path.join(ROOT, "tests"))
import figure_table
import peer_report
import peer_run
import report
from peer_agents import AGENTS
from support import OBJECTS

FOLDER = os.path.join(os.path.dirname(OBJECTS), "agents")
ROUNDS = 5


# ---- installing, the only part that uses the network

def installed_version(folder, package):
    try:
        with open(os.path.join(folder, "node_modules", package, "package.json")) as f:
            return json.load(f)["version"]
    except (OSError, ValueError, LookupError):
        return None


def install(name, package, version):
    folder = os.path.join(FOLDER, name)
    if installed_version(folder, package) == version:
        return
    print(f"installing {package} {version} ...", file=sys.stderr, flush=True)
    new = folder + ".new"
    for old in (new, folder):
        shutil.rmtree(old, ignore_errors=True)
    os.makedirs(new)
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock",
                           "--prefix", new, f"{package}@{version}"], stdout=sys.stderr)
    if done.returncode:
        sys.exit(f"npm could not install {package} {version}.")
    os.rename(new, folder)


def size_mb(folder):
    """Of all files below it, each counted once even if it has several links; None without files."""
    sizes = {}
    for where, _, files in os.walk(folder):
        for name in files:
            about = os.lstat(os.path.join(where, name))
            sizes[about.st_ino] = about.st_size
    return sum(sizes.values()) / 2**20 if sizes else None


# ---- a network that ends at this machine

def enter_namespace():
    """Starts this program again in a namespace whose only network interface is lo."""
    mapped = [] if os.geteuid() == 0 else ["--map-root-user"]
    command = ["unshare", *mapped, "--net", "--mount"]
    if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode:
        sys.exit("bench/peers.py: cannot make a network namespace; run it as root, or on a system "
                 "that lets users make namespaces.")
    os.execvp(command[0], [*command, sys.executable, *sys.argv, "--isolated"])


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP


def refuse_names(scratch):
    """Answers every question for a name with "no such name". Without an answer, some resolvers wait
    for seconds, even if there is no network."""
    path = os.path.join(scratch, "resolv.conf")
    with open(path, "w") as f:
        f.write("nameserver 127.0.0.1\n")
    subprocess.run(["mount", "--bind", path, "/etc/resolv.conf"], check=True)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 53))

    def answer():
        while True:
            query, sender = sock.recvfrom(4096)
            sock.sendto(no_such_name(query), sender)
    threading.Thread(target=answer, daemon=True).start()


def no_such_name(query):
    """The answer to a DNS query of one question."""
    end = query.index(b"\0", 12) + 5  # of the question: its name, type and class
    return query[:2] + b"\x81\x83" + query[4:6] + bytes(6) + query[12:end]


# ---- measuring

def measure(names, rounds):
    """One round of all agents after the other, so that a slow minute hits all of them."""
    # codex does not install its helpers for a home in /tmp.
    with tempfile.TemporaryDirectory(prefix="ikigai-peers-", dir="/var/tmp") as scratch:
        raise_loopback()
        refuse_names(scratch)
        peer_run.adopt_orphans()
        subjects = [peer_run.Subject(agent, os.path.join(FOLDER, agent.name), scratch)
                    for agent in AGENTS if not names or agent.name in names]
        for number in range(rounds + 1):
            for subject in subjects:
                what = f"round {number} of {rounds}" if number else "a first time, not counted"
                print(f"{subject.name}: {what} ...", file=sys.stderr, flush=True)
                subject.measure(counted=number > 0)
        floor = peer_run.echo_of_cat(rounds)
    return subjects, floor


def describe_run(subjects, floor, rounds, pins):
    node = subprocess.run(["node", "--version"], stdout=subprocess.PIPE, text=True).stdout.strip()
    program = os.path.realpath(shutil.which("node"))
    agents = []
    for subject in subjects:
        subject.figures["installed"] = [size_mb(os.path.join(FOLDER, subject.name))]
        pin = pins.get(subject.name, {"package": None, "version": report.version()})
        agents.append({"name": subject.name, **pin, "api": subject.agent.api,
                       "remarks": subject.agent.remarks, "figures": subject.figures,
                       "notes": subject.notes()})
    return {"version": report.version(), "commit": report.commit(), "date": report.today(),
            "machine": report.machine(), "node": node, "node_mb": os.path.getsize(program) / 2**20,
            "rounds": rounds, "turns": peer_run.Subject.turns, "settle": peer_run.Subject.settle,
            "echo_of_cat_ms": floor, "agents": agents}


def parse_options():
    parser = argparse.ArgumentParser(prog="bench/peers.py", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--isolated", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.names) - {agent.name for agent in AGENTS}
    if unknown or options.rounds < 1:
        parser.error(f"no such agent: {', '.join(sorted(unknown))}" if unknown else
                     "--rounds takes a number from 1 on")
    return options


def main():
    options = parse_options()
    with open(os.path.join(BENCH, "peers.json"), encoding="utf-8") as f:
        pins = json.load(f)
    if not options.isolated:
        for name, pin in pins.items():
            if not options.names or name in options.names:
                install(name, **pin)
        enter_namespace()
    load = os.getloadavg()[0]
    about = {**describe_run(*measure(options.names, options.rounds), options.rounds, pins),
             "load": load}
    figure_table.align(peer_report.rows(about))
    print("\n".join(peer_report.notes(about)))
    if not options.names:
        peer_report.save(about)
        print(f"report: {report.path('peers.md')}", file=sys.stderr)
    return 1 if any(agent["notes"]["failed"] for agent in about["agents"]) else 0


if __name__ == "__main__":
    sys.exit(main())
