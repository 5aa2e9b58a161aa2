#!/usr/bin/python3
"""Promise 10: mode, owner, extended attributes, ACL, symlink and hard links survive.

A matrix: every property, alone and with others, times file_write and file_edit, times root and an
ordinary user, on a disk filesystem and in memory.
"""
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import support

PROMISE = 10
ROOT = os.getuid() == 0
OLD = b"some text with one needle in it\n"
USER = support.NOBODY if ROOT else os.getuid()
CAPABILITY = bytes.fromhex("0100000200040000000000000000000000000000")  # cap_net_bind_service

MODES = [0o644, 0o600, 0o640, 0o664, 0o666, 0o755, 0o700, 0o777, 0o4755, 0o2755, 0o6711, 0o1644,
         0o620]


def set_mode(mode):
    return (f"mode {mode:04o}", lambda path: os.chmod(path, mode))


def set_owner(uid, gid, mode=0o644):
    def apply(path):
        os.chown(path, uid, gid)
        os.chmod(path, mode)
    return (f"owner {uid}:{gid} mode {mode:04o}", apply)


def set_xattr(name, value):
    return (f"xattr {name}", lambda path: os.setxattr(path, name, value))


def set_acl(text, folder=False):
    def apply(path):
        target = os.path.dirname(path) if folder else path
        flags = ["-d", "-m"] if folder else ["-m"]
        subprocess.run(["setfacl", *flags, text, target], check=True, stderr=subprocess.DEVNULL)
    return (f"{'default ' if folder else ''}acl {text}", apply)


def hard_link(path):
    os.link(path, os.path.join(os.path.dirname(path), "hard"))


def read_only_folder(path):
    os.chmod(os.path.dirname(path), 0o555)


def sticky_folder(path):
    os.chmod(os.path.dirname(path), 0o1777)


LINK = ("hard link", hard_link)
TEXT = set_xattr("user.text", b"some value")
BINARY = set_xattr("user.binary", bytes(range(256)))
EMPTY = set_xattr("user.empty", b"")


def properties(as_root):
    """Lists of properties that a file gets before it is changed."""
    found = [[set_mode(mode)] for mode in MODES]
    found += [[TEXT], [BINARY], [EMPTY], [TEXT, BINARY, EMPTY, set_mode(0o640)],
              [set_xattr(f"user.many{i}", b"v" * 100) for i in range(8)],
              [LINK], [LINK, set_mode(0o600)], [LINK, TEXT]]
    if shutil.which("setfacl"):
        found += [[set_acl("u:1234:rw")], [set_acl("u:1234:rwx,g:5678:r,m::rw"), TEXT],
                  [set_acl("u:1234:rwx", folder=True), set_mode(0o640)],
                  [set_acl("u:1234:rwx", folder=True), set_acl("u:4321:r")],
                  [set_acl("u:1234:rw"), LINK]]
    if as_root:
        found += [[set_owner(1234, 5678)], [set_owner(1234, 5678, 0o4711)],
                  [set_owner(0, 5678, 0o2750)], [set_owner(1234, 5678), TEXT],
                  [set_owner(1234, 5678), LINK], [set_xattr("trusted.ikigai", b"t")],
                  [set_xattr("security.capability", CAPABILITY)],
                  [set_owner(1234, 5678, 0o755), set_xattr("security.capability", CAPABILITY)]]
    elif ROOT:
        found += [[set_owner(0, 0, 0o666)], [set_owner(1234, 5678, 0o666)],
                  [set_owner(USER, 5678, 0o664)], [set_owner(1234, USER, 0o664), TEXT],
                  [set_owner(0, 0, 0o666), LINK],
                  [set_owner(0, 0, 0o666), ("sticky folder", sticky_folder)],
                  [set_mode(0o644), ("read-only folder", read_only_folder)]]
    return found


def identity(path, link):
    """Everything about a file but its bytes and its inode."""
    st = os.stat(path)
    names = sorted(os.listdir(os.path.dirname(path)))
    return {
        "mode": oct(st.st_mode), "owner": (st.st_uid, st.st_gid), "links": st.st_nlink,
        "xattrs": {name: os.getxattr(path, name) for name in sorted(os.listxattr(path))},
        "names": names, "target": os.readlink(link) if link else None,
        "same": "hard" not in names or
                os.path.samefile(path, os.path.join(os.path.dirname(path), "hard")),
    }


def change(tool, path, uid):
    params = {"file_path": path, "content": "new"}
    if tool == "file_edit":
        params = {"file_path": path, "old_string": "needle", "new_string": "thread"}
    return support.run_tool(tool, params, uid=uid)


def check(base, tool, as_root, through_link, wanted):
    """One cell of the matrix; returns what was wrong, or None."""
    folder = tempfile.mkdtemp(dir=base)
    path = os.path.join(folder, "f")
    with open(path, "wb") as f:
        f.write(OLD)
    if ROOT and not as_root:
        os.chown(folder, USER, USER)
        os.chown(path, USER, USER)
    for _, apply in wanted:
        apply(path)
    link = None
    if through_link:
        link = os.path.join(base, "link")
        os.symlink(path, link)
    before = identity(path, link)
    answer = change(tool, link or path, None if as_root or not ROOT else USER)
    after = identity(path, link)
    with open(path, "rb") as f:
        now = f.read()
    os.chmod(folder, 0o755)
    if link:
        os.remove(link)
    if "error" in answer:
        return f"refused: {answer}"
    if now != (b"new" if tool == "file_write" else OLD.replace(b"needle", b"thread")):
        return "the content is another"
    different = [key for key in before if before[key] != after[key]]
    return f"{different}: {before} became {after}" if different else None


def supports(base, wanted):
    """Whether the filesystem can hold these properties at all."""
    folder = tempfile.mkdtemp(dir=base)
    path = os.path.join(folder, "f")
    open(path, "w").close()
    try:
        for _, apply in wanted:
            apply(path)
    except (OSError, subprocess.CalledProcessError):
        return False
    finally:
        os.chmod(folder, 0o755)
    return True


def main():
    cells, skipped, problems = 0, 0, []
    quick = "--quick" in sys.argv
    places = [None] if quick or not os.access("/dev/shm", os.W_OK) else [None, "/dev/shm"]
    for place in places:
        base = tempfile.mkdtemp(prefix="ikigai-promise-", dir=place)
        os.chmod(base, 0o755)
        try:
            for as_root in ([True, False] if ROOT else [False]):
                for wanted in properties(as_root):
                    if not supports(base, wanted):
                        skipped += 1
                        continue
                    for tool, link in itertools.product(("file_write", "file_edit"), (False, True)):
                        wrong = check(base, tool, as_root, link, wanted)
                        cells += 1
                        if wrong:
                            what = ", ".join(name for name, _ in wanted)
                            who = "root" if as_root else "user"
                            problems.append(f"{tool} as {who}, {what}, link {link}: {wrong}")
        finally:
            shutil.rmtree(base)
    for text in problems[:20]:
        print(text)
    passed = not problems and cells > 0
    figure = f"{cells - len(problems)} of {cells} cells kept their identity"
    figure += f" ({skipped} properties not supported by the filesystem)" if skipped else ""
    print(json.dumps({"promise": PROMISE, "passed": passed, "figure": figure}))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
