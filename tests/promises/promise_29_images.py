#!/usr/bin/python3
"""Promise 29: one bad image never poisons a session. Images that are damaged, cut off, too large,
mislabelled or something else enter a session by every way there is: named or carried by a tool's
result, read by file_read, given with --image, named with @ in a prompt, imported, and as a stored
content that is damaged or removed afterwards. The server looks at every image as strictly as the
services do, and beyond what ikigai checks also decodes it. Whatever came in, the turn ends as it should, and so do a
later turn of the same session and one with another provider; every request is valid, except one that
a service refuses because of an image, which is repeated once without it.

SEED=N chooses other images, SESSIONS=N how many sessions.
"""
import base64
import json
import os
import random
import shutil
import struct
import sys
import time
import zlib

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.dirname(os.path.abspath(__file__))]
import hostile
from fake_llm import Answer, Call, FakeLLM
from fake_llm import images as wire_images
from model_runs import FORMATS, Stage
from support import tool_script

PATIENCE = 240
PRINT = """exec /usr/bin/python3 -c '
import json, sys
sys.stdout.write(open(json.load(sys.stdin)["file"]).read())'"""
PARAMETERS = {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]}


# ---- images

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(rng, width=3, height=2):
    rows = b"".join(b"\0" + rng.randbytes(3 * min(width, 50)) for _ in range(min(height, 50)))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def gif(rng, frames=1):
    frame = b"\x21\xf9\x04\0\x0a\0\0\0\x2c\0\0\0\0\1\0\1\0\0\x02\x02\x44\x01\0"
    return b"GIF89a\1\0\1\0\x80\0\0\0\0\0" + rng.randbytes(3) + frame * frames + b";"


def jpeg(rng):
    return (b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0\xff\xdb\0\x43\0" + rng.randbytes(64)
            .replace(b"\xff", b"\1") + b"\xff\xc0\0\x0b\x08\0\2\0\3\1\1\x11\0"
            + b"\xff\xda\0\x08\1\1\0\0\x3f\0\x7f\xff\xd9")


def webp(rng):
    body = b"WEBPVP8L" + struct.pack("<I", 14) + b"\x2f" + struct.pack("<I", 2 | 1 << 14) \
        + rng.randbytes(9)
    return b"RIFF" + struct.pack("<I", len(body)) + body


GOOD = {"png": png, "gif": gif, "jpeg": jpeg, "webp": webp}
OTHERS = [b"", b"\0", b"plain text\n", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"%PDF-1.7\n",
          b"BM" + bytes(60), b"II*\0" + bytes(20), b"\0\0\0\x18ftypheic" + bytes(40),
          b"RIFF\x24\0\0\0WAVEfmt ", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff", b"\xff" * 3000]


def image(rng):
    """(what it is, contents)"""
    kind = rng.choice(("png", "png", "png", "gif", "jpeg", "webp"))
    whole = GOOD[kind](rng)
    way = rng.choice(("whole", "cut", "cut", "byte", "byte", "bytes", "pixels", "fat", "moving",
                      "other", "tail", "head", "undecodable", "undecodable"))
    if way == "undecodable":  # only a decoder finds out
        whole = bytearray(png(rng))
        whole[45] ^= 0x55
        return "png that does not decode", bytes(whole)
    if way == "cut":
        return f"{kind} cut", whole[:rng.randrange(len(whole))]
    if way in ("byte", "bytes"):
        damaged = bytearray(whole)
        for _ in range(1 if way == "byte" else 20):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        return f"{kind} with damaged {way}", bytes(damaged)
    if way == "pixels":
        size = rng.choice(((2001, 1), (1, 2001), (8001, 8001), (2**31 - 1, 1), (0, 5), (2000, 2000)))
        return f"png of {size}", png(rng, *size)
    if way == "fat":
        return f"{kind} of many bytes", whole + bytes(rng.choice((3932160, 4000000, 9000000)))
    if way == "moving":
        return "animated gif", gif(rng, 2)
    if way == "other":
        return "no image", rng.choice(OTHERS)
    if way == "tail":
        return f"{kind} with a tail", whole + rng.randbytes(50)
    if way == "head":
        return f"{kind} with a head", rng.randbytes(3) + whole
    return kind, whole


def is_broken(contents):
    """What a service finds out when it decodes a png."""
    if contents[:8] != b"\x89PNG\r\n\x1a\n":
        return False
    at, data, ended = 8, b"", False
    while at + 12 <= len(contents) and not ended:
        (length,) = struct.unpack(">I", contents[at:at + 4])
        kind, body = contents[at + 4:at + 8], contents[at + 8:at + 8 + length]
        mark = contents[at + 8 + length:at + 12 + length]
        if len(mark) < 4 or struct.unpack(">I", mark)[0] != zlib.crc32(kind + body):
            return True
        data += body if kind == b"IDAT" else b""
        at, ended = at + 12 + length, kind == b"IEND"
    try:
        zlib.decompress(data)
    except zlib.error:
        return True
    return not ended


class Broken:
    """A set, for FakeLLM: the contents of images that do not decode."""

    def __contains__(self, contents):
        return is_broken(contents)

    def __iter__(self):
        return iter(())

    def __bool__(self):
        return True


# ---- base64 as tools write it

def plain(rng, text):
    return text


def wrapped(rng, text):
    return "\r\n".join(text[i:i + 76] for i in range(0, len(text), 76)) + "\n"


def prefixed(rng, text):
    return f"data:image/{rng.choice(('png', 'jpg', 'svg+xml'))};base64,{text}"


def url_safe(rng, text):
    return text.replace("+", "-").replace("/", "_")


def unpadded(rng, text):
    return text.rstrip("=")


def torn(rng, text):
    return text[:rng.randrange(len(text) + 1)]


def junk(rng, text):
    return rng.choice(("", "=", "====", "no base64!", "\0", "AAAA=AAA", text + "\u00e9"))


ENCODINGS = (plain, plain, wrapped, prefixed, url_safe, unpadded, torn, junk)
TYPES = ("image/png", "image/jpeg", "image/jpg", "image/gif", "text/plain", "", "IMAGE/PNG", "image/*")


# ---- sessions

class Session(Stage):
    def __init__(self, rng):
        super().__init__()
        self.rng = rng
        self.names = []

    def setUp(self):
        super().setUp()
        self.user_tool("show", tool_script("show", PRINT, parameters=PARAMETERS))

    def new_file(self, contents):
        """A file with a name that says anything."""
        name = f"{len(self.names)}.{self.rng.choice(('png', 'jpg', 'gif', 'txt', 'webp'))}"
        self.names.append(name)
        self.write(f"project/{name}", contents)
        return name

    def entry(self, contents):
        rng = self.rng
        if rng.random() < 0.5:
            return {"path": self.new_file(contents)}
        text = rng.choice(ENCODINGS)(rng, base64.b64encode(contents).decode())
        return {"data": text, "media_type": rng.choice(TYPES)}

    def calls(self):
        """Calls that bring images in, each with what they are."""
        rng = self.rng
        what = [image(rng) for _ in range(rng.choice((1, 1, 2, 3, 22)))]
        if rng.random() < 0.3:
            return [w for w, _ in what[:3]], [Call("file_read", {"file_path": self.new_file(c)})
                                              for _, c in what[:3]]
        entries = [self.entry(contents) for _, contents in what]
        if rng.random() < 0.1:
            entries += [{}, 5, None, {"path": "missing.png"}, {"path": "/dev/zero"}, {"path": "."}]
        self.write("project/result.json", json.dumps({"output": "here", "images": entries}))
        return [w for w, _ in what], [Call("show", {"file": "result.json"})]

    def import_damaged(self):
        """Exports the session, damages the images in the file, and imports it in an empty home. Returns
        whether the file was taken; otherwise the session stays as it was."""
        rng = self.rng
        (listed,) = self.ikigai("session", "list", "--json").json()
        lines = self.ikigai("session", "export", listed["id"]).out.split("\n")
        for number, line in enumerate(lines):
            event = json.loads(line) if line else {}
            for entry in event.get("images", ()):
                entry["data"] = rng.choice((entry["data"], entry["data"][:-4], "AAAA", "?", "",
                                            entry["data"] + "AAAA"))
            for entry in (event.get("data") or {}).get("images", ()):
                if isinstance(entry, dict) and rng.random() < 0.5:
                    entry[rng.choice(sorted(entry))] = rng.choice((
                        "image/jpeg", 1, -1, 10**20, None, "0" * 64, "x", [], {}))
            lines[number] = json.dumps(event) if line else line
        kept = self.path("kept")
        os.mkdir(kept)
        moved = [name for name in os.listdir(self.home) if name.startswith(("ikigai.db", "blobs"))]
        for name in moved:
            os.rename(os.path.join(self.home, name), os.path.join(kept, name))
        taken = self.ikigai("session", "import", "-", status=None,
                            input="\n".join(lines).encode()).status == 0
        if not taken:
            shutil.rmtree(os.path.join(self.home, "blobs"), ignore_errors=True)
            for name in moved:
                os.rename(os.path.join(kept, name), os.path.join(self.home, name))
        return taken

    def damage_blobs(self):
        """What a disk may do to stored contents."""
        for folder, _, names in os.walk(os.path.join(self.home, "blobs", "images")):
            for name in names:
                path = os.path.join(folder, name)
                way = self.rng.choice(("remove", "cut", "change", "empty", "folder"))
                if way == "remove":
                    os.remove(path)
                elif way == "folder":
                    os.remove(path)
                    os.mkdir(path)
                elif way == "change":
                    with open(path, "r+b") as file:
                        file.write(self.rng.randbytes(5))
                else:
                    os.truncate(path, 0 if way == "empty" else os.path.getsize(path) // 2)


class Trial:
    """One session: a turn in which images come in, then two later ones."""

    def __init__(self, seed, number):
        self.rng = random.Random(f"{seed} {number}")
        self.faults, self.what = [], []
        self.refused = self.sent = self.requests = 0

    def run(self):
        with Session(self.rng) as session:
            memory = None
            way = self.rng.choice(("tool", "tool", "tool", "--image", "@"))
            names = self.rng.sample(sorted(FORMATS), 2)
            memory = self.turn(session, names[0], way, memory)
            if way == "tool" and self.rng.random() < 0.3:
                self.what.append("imported" if session.import_damaged() else "not imported")
            elif self.rng.random() < 0.3:
                session.damage_blobs()
                self.what.append("stored contents damaged")
            memory = self.turn(session, names[0], "later", memory)
            self.turn(session, names[1], "later", memory)

    def turn(self, session, name, way, memory):
        args, prompt, calls = [], "Do it.", []
        if way == "tool":
            what, calls = session.calls()
            self.what += what
        elif way != "later":
            what, contents = image(self.rng)
            self.what.append(f"{way} {what}")
            file = session.new_file(contents)
            args = ["--image", file] if way == "--image" else []
            prompt = f"Look at @{file} please." if way == "@" else prompt
        if way == "later":
            args = ["-c"]
        script = [Answer("", calls=calls), Answer("done")] if calls else [Answer("done")]
        llm = FakeLLM(script, dialect=FORMATS[name].dialect, memory=memory, refused_images=())
        llm.refused_images = Broken()
        with llm:
            session.serve(llm)
            run = session.run(session.headless(FORMATS[name].model, *args, prompt=prompt), PATIENCE)
        self.judge(name, way, run, llm)
        return llm.memory

    def judge(self, name, way, run, llm):
        where = f"{name} {way} {self.what}"
        self.requests += len(llm.requests)
        self.faults += [f"{where}: {problem}" for problem in llm.problems]
        for request in llm.requests:
            contents = wire_images.sent(request.json)
            self.sent += len(contents)
            self.refused += any(is_broken(content) for content in contents)
            if len(contents) > 20 or sum(len(base64.b64encode(c)) for c in contents) > 24 << 20:
                self.faults.append(f"{where}: {len(contents)} images in one request")
        if way == "--image" and run.status == 2:
            if llm.requests:
                self.faults.append(f"{where}: refused, but a request was sent")
            # the session does not exist: the later turns begin one
        elif run.status != 0 or b'"content":"done"' not in run.out:
            self.faults.append(f"{where}: status {run.status}\n{run.out[-800:].decode()}\n"
                               f"{run.err[-400:].decode()}")


def main():
    quick = "--quick" in sys.argv[1:]
    seed = int(os.environ.get("SEED", "1"))
    wanted = int(os.environ.get("SESSIONS", 25 if quick else 1000))
    begin = time.monotonic()
    print(f"seed {seed}", flush=True)
    faults, sent, refused, requests = [], 0, 0, 0
    for number in range(wanted):
        trial = Trial(seed, number)
        trial.run()
        faults += [f"session {number}: {fault}" for fault in trial.faults]
        sent, refused, requests = (sent + trial.sent, refused + trial.refused,
                                   requests + trial.requests)
        for fault in trial.faults[:3]:
            print(f"session {number}: {fault}", flush=True)
    print(f"{wanted / (time.monotonic() - begin):.1f} sessions/s")
    # Where no image is sent, none can do harm.
    passed = not faults and sent > wanted // 2 and refused > 0
    hostile.conclude(29, passed, (
        f"{wanted:,} sessions, {requests:,} requests with {sent:,} images, {refused:,} of them "
        f"refused by the service: {len(faults)} faults (seed {seed})"))


if __name__ == "__main__":
    main()
