"""The modes and attributes that a terminal has switched on after some output."""
import re

SEQUENCE = re.compile(
    rb"\x1b\[\?([0-9;]+)([hl])"            # modes
    rb"|\x1b\[>([0-9]+)u|(\x1b\[<u)"       # kitty's keyboard: one more entry, one entry less
    rb"|\x1b\[>4;([0-9])m"                 # modifyOtherKeys
    rb"|\x1b\]8;;([^\x07\x1b]*)(?:\x07|\x1b\\)"  # a link
    rb"|\x1b\[(22|23);2t"                  # the title saved, put back
    rb"|\x1b\[([0-9]) q"                   # the shape of the cursor
    rb"|\x1b\[([0-9;]*)m")                 # colours
OFF = frozenset()


def switched_on(raw):
    """Returns a set of words: "2004", "kitty", "keys", "link", "title", "shape", "colour", "hidden", "cut".
    Empty if the terminal is as a program should leave it."""
    on = set()
    titles = 0
    kitty = {False: 0, True: 0}  # every screen has its own stack
    for found in SEQUENCE.finditer(raw):
        mode, way, push, pop, keys, link, title, shape, colour = found.groups()
        if mode is not None:
            change_modes(on, mode.decode().split(";"), way == b"h")
        elif push or pop:
            screen = "1049" in on
            kitty[screen] = max(0, kitty[screen] + (1 if push else -1))
        elif keys is not None:
            change(on, "keys", keys != b"0")
        elif link is not None:
            change(on, "link", link != b"")
        elif title is not None:
            titles += 1 if title == b"22" else -1
            change(on, "title", titles != 0)
        elif shape is not None:
            change(on, "shape", shape != b"0")
        elif colour is not None:
            change(on, "colour", colour not in (b"", b"0"))
    change(on, "kitty", any(kitty.values()))
    return frozenset(on)


def change(on, what, is_on):
    (on.add if is_on else on.discard)(what)


def change_modes(on, modes, is_on):
    for mode in modes:
        if mode in ("7", "25"):
            change(on, "cut" if mode == "7" else "hidden", not is_on)
        else:
            change(on, mode, is_on)
