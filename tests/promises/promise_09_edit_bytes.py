#!/usr/bin/python3
"""Promise 9: an edit changes only the matched bytes.

Random files (CRLF, mixed line ends, BOM, Latin-1, NUL, no final newline) are edited by the real
tool; what must come out is computed here. Edits that must be refused leave the file as it was.
"""
import json
import os
import random
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import support

PROMISE = 9
WORDS = [b"alpha", b"beta", b"x", b"=", b"  ", b"\t", b"(", b")", b"aa", b"aaa", b"\r", b"\0",
         b"caf\xe9", b"na\xc3\xafve", b"\xe2\x82\xac", b"\xff\xfe", b"\xf0\x9f\x98\x80",
         b"0123456789" * 5]
LINE_ENDS = [[b"\n"], [b"\r\n"], [b"\n", b"\r\n", b"\r"], [b"\n\n", b"\n"]]


def random_file(rng):
    ends = rng.choice(LINE_ENDS)
    words = rng.sample(WORDS, rng.randint(2, 8))
    parts = [b"\xef\xbb\xbf"] if rng.random() < 0.2 else []
    for _ in range(rng.choice([0, 1, 3, 10, 40, 200])):
        parts += [rng.choice(words) for _ in range(rng.randint(0, 8))]
        parts.append(rng.choice(ends))
    data = b"".join(parts)
    return data[:-rng.randint(1, 2)] if rng.random() < 0.3 else data


def text_of(data):
    """The longest prefix that JSON can carry."""
    while data:
        try:
            return data.decode()
        except UnicodeDecodeError as e:
            data = data[:e.start]
    return ""


def random_edit(rng, data):
    if data and rng.random() < 0.9:
        start = rng.randrange(len(data))
        old = text_of(data[start:start + rng.choice([1, 1, 2, 5, 20, 200])])
    else:
        old = rng.choice(["alpha", "\n", "\r\n", "nothing like it", "\u00e9"])
    new = "".join(rng.choice(["", old, "z", "\n", "\r\n", "\0", "\u20ac", "longer text "])
                  for _ in range(rng.randint(0, 3)))
    return old or "alpha", new, rng.random() < 0.5


def expected(data, old, new, replace_all):
    """(content afterwards, replacements or error code)"""
    count = data.count(old.encode())
    if old == new:
        return data, "INVALID_ARG"
    if replace_all:
        return data.replace(old.encode(), new.encode()), count
    if count != 1:
        return data, "NOT_FOUND" if count == 0 else "NOT_UNIQUE"
    return data.replace(old.encode(), new.encode()), 1


def call(params, folder):
    """The cheapest way to run a tool: arguments and answer in files."""
    paths = [os.path.join(folder, name) for name in ("in", "out")]
    with open(paths[0], "w") as f:
        json.dump(params, f)
    tool = support.tool_path("file_edit")
    pid = os.posix_spawn(tool, [tool], support.clean_env(), file_actions=[
        (os.POSIX_SPAWN_OPEN, 0, paths[0], os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, paths[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)])
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with open(paths[1], "rb") as f:
        return status, f.read()


def check(rng, folder):
    """One edit; returns what was wrong, or None."""
    data = random_file(rng)
    old, new, replace_all = random_edit(rng, data)
    path = os.path.join(folder, "work", "f")
    with open(path, "wb") as f:
        f.write(data)
    status, out = call({"file_path": path, "old_string": old, "new_string": new,
                        "replace_all": replace_all}, folder)
    after, outcome = expected(data, old, new, replace_all)
    with open(path, "rb") as f:
        now = f.read()
    if now != after:
        return f"other bytes: {data!r} {old!r} {new!r}"
    answer = json.loads(out)
    if status != 0 or answer.get("replacements", answer.get("error_code")) != outcome:
        return f"answer {answer} instead of {outcome}"
    if os.listdir(os.path.dirname(path)) != ["f"]:
        return "leftover"
    return None


def main():
    edits = 2000 if "--quick" in sys.argv else 100000
    seed = int(os.environ.get("SEED", "1"))
    rng = random.Random(seed)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="ikigai-promise-", dir=memory)
    os.mkdir(os.path.join(folder, "work"))
    problems = []
    try:
        for _ in range(edits):
            wrong = check(rng, folder)
            if wrong:
                problems.append(wrong)
    finally:
        shutil.rmtree(folder)
    for text in problems[:10]:
        print(text)
    passed = not problems
    print(json.dumps({"promise": PROMISE, "passed": passed, "figure":
                      f"{edits} edits: {len(problems)} with other bytes (seed {seed})"}))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
