"""A strict checker of the program's output on a terminal. It knows exactly what may be printed and
reports everything else as a violation:

- in the main view the screen is never cleared, scrolled or addressed absolutely, and no mode,
  colour or string is set that is not on the list below;
- what may be wider than the window is cut only while one row of the live area is changed;
- the cursor never goes further up than the live area can reach, so that no row of the scrollback is
  ever rewritten; and rows that are drawn over others keep clear of the last column.

    problems = check(raw, columns=80, rows=24, resizes=[(offset in raw, columns, rows), …])

Pictures are printed only where they were asked for (graphics="asked": the question alone;
graphics="shown": pictures, too), and only over rows that are there. Sixel pictures leave the row below
them free, where the cursor is saved and restored.

With plain=True no cursor movement is allowed at all; with dumb=True not even an escape byte.
"""
import re

MODES = {"7", "25", "1004", "1049", "2004", "2026"}
MOVES = "ABCDJK"
QUERIES = {"c", "?u", "?2026$p", ">q", ">0q"}
TITLE = {"22;2t", "23;2t"}
SHAPES = {"0 q", "2 q", "6 q"}  # of the cursor
KEYBOARD = {">5u", "=5;1u", ">1u", "<u", "<1u", ">4;1m", ">4;2m", ">4m", ">4;0m"}
ON_ALTERNATE = "HfJKGd"  # and with any parameters
SGR = re.compile(r"(\d{0,3}(;\d{1,3})*)\Z")
OSC = [re.compile(p, re.S) for p in (
    r"[02];[^\x00-\x1f\x7f]*", r"8;;([!-~]*)", r"9;[^\x00-\x1f\x7f]*",
    r"99;;[^\x00-\x1f\x7f]*", r"777;notify;ikigai;[^\x00-\x1f\x7f]*",
    r"52;[a-z]*;[A-Za-z0-9+/=]*", r"11;\?")]
CSI = re.compile(r"\x1b\[([<=>?]?)([0-9:;]*)([ -/]*)([@-~])")
# The kitty graphics protocol.
APC = re.compile(r"\x1b_([^\x00-\x1f\x7f-\x9f]*)\x1b\\")
QUESTION = "Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA"
PICTURE = re.compile(r"Ga=T,f=100,q=2,C=1,c=\d+,r=(\d+),m=[01];[A-Za-z0-9+/=]{0,4096}")
MORE = re.compile(r"Gq=2,m=[01];[A-Za-z0-9+/=]{0,4096}")
# Sixel: a picture of so many pixels; a cell of the terminal has 10 by 20.
SIXEL = re.compile(r'\x1bP0;1;0q"1;1;(\d+);(\d+)([#;!$?-~0-9-]*)\x1b\\')
SIXEL_QUERIES = {"16t", "?1;1;0S"}
CELL_WIDTH, CELL_HEIGHT = 10, 20
STRING = re.compile(r"\x1b\]([^\x07\x1b]*)(?:\x07|\x1b\\)")
TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f]+")
# Bytes that are no UTF-8, direction controls, invisible spaces, separators, tags.
UNSEEN = re.compile("[\ud800-\udfff\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
                    "\U000e0000-\U000e007f]")


class Checker:
    """Follows the cursor from one row of the live area to the other. Rows are counted from wherever
    the output began; lowest is the last one that something was drawn in."""

    def __init__(self, columns, rows, plain=False, dumb=False, graphics=None):
        self.graphics = graphics
        self.columns, self.rows = columns, rows
        self.plain, self.dumb = plain or dumb, dumb
        self.row = self.lowest = 0
        self.column = 0  # None: not known, because widths differ
        self.alternate = False
        self.cut = self.cut_text = False  # what is wider than the window is not wrapped
        self.resized = False  # and nothing was redrawn since
        self.saved = None  # row and column
        self.problems = []
        self.at = 0  # bytes read so far

    def complain(self, what):
        self.problems.append(f"at byte {self.at}: {what}")

    # ---- what is printed

    def text(self, text):
        if self.alternate:
            return
        self.cut_text = self.cut
        if self.column is not None and text.isascii():
            self.column += len(text)
        else:
            self.column = None
        if self.row < self.lowest and not self.resized and (self.column or 0) >= self.columns:
            self.complain(f"a live row reaches the last column: {text!r}")

    def control(self, c):
        if self.alternate and c in "\r\n\t":
            return
        if c == "\r":
            self.column = 0
        elif c == "\n":
            if self.cut_text:
                self.complain("more than one row is cut")
            self.row += 1
            self.lowest = max(self.row, self.lowest)
        elif c == "\t":
            self.column = None
        elif c == "\b" and self.column == 0:
            pass  # goes back to a row that was wrapped, if it goes anywhere
        elif c != "\a":
            self.complain(f"control character {c!r}")

    # ---- sequences

    def csi(self, sequence, leader, parameters, between, final):
        body = leader + parameters + between + final
        if leader == "?" and final in "hl" and not between:
            self.mode(parameters, final)
        elif not leader and not between and final == "m":
            if not SGR.match(parameters):
                self.complain(f"not our SGR: {sequence!r}")
        elif self.plain:
            self.complain(f"movement or mode in plain output: {sequence!r}")
        elif body in QUERIES | KEYBOARD | TITLE | SHAPES:
            pass
        elif self.graphics and body in SIXEL_QUERIES:
            pass
        elif self.alternate and not leader and not between and final in ON_ALTERNATE + MOVES:
            pass
        elif not leader and not between and final in MOVES:
            self.move(sequence, parameters, final)
        else:
            self.complain(f"forbidden sequence {sequence!r}")

    def mode(self, parameters, final):
        for mode in parameters.split(";"):
            if mode not in MODES:
                self.complain(f"forbidden mode ?{mode}{final}")
            elif self.plain:
                self.complain(f"mode ?{mode}{final} in plain output")
            elif mode == "1049":
                self.alternate = final == "h"
            elif mode == "7":
                self.cut, self.cut_text = final == "l", False

    def move(self, sequence, parameters, final):
        if final in "JK" and parameters not in ("", "0"):
            self.complain(f"only what is behind the cursor may be erased: {sequence!r}")
        count = int(parameters or 1) if parameters.isdigit() or not parameters else 1
        if final == "A":
            self.up(count)
        elif final == "B":
            self.row = min(self.row + count, self.lowest)
        elif final == "C" and self.column is not None:
            self.column += count
        elif final == "D" and self.column is not None:
            self.column -= count
        elif final == "J":
            self.lowest = self.row
            self.resized = False

    def up(self, count):
        self.row -= count
        reach = max(1, self.rows // 2) - 1
        if self.lowest - self.row > reach and not self.resized:
            self.complain(f"the cursor goes {self.lowest - self.row} rows up; "
                          f"the live area has at most {reach + 1} rows")

    def osc(self, sequence, body):
        if self.plain and not body.startswith("8;"):
            self.complain(f"string in plain output: {sequence!r}")
        elif not any(p.fullmatch(body) for p in OSC):
            self.complain(f"forbidden string {sequence!r}")

    def apc(self, body):
        picture = PICTURE.fullmatch(body)
        if self.plain or not self.graphics:
            self.complain(f"unexpected picture or question: {body[:60]!r}")
        elif body == QUESTION:
            pass
        elif self.graphics != "shown" or not (picture or MORE.fullmatch(body)):
            self.complain(f"forbidden picture {body[:60]!r}")
        elif picture and (self.column != 0 or self.row + int(picture[1]) - 1 != self.lowest):
            self.complain(f"a picture of {picture[1]} rows {self.lowest - self.row} rows up")

    def sixel(self, width, height, data):
        rows = -(-height // CELL_HEIGHT)
        if self.graphics != "shown" or self.saved is None:
            self.complain("a Sixel picture that was not expected, or without a saved cursor")
        elif self.column != 0 or self.row + rows != self.saved[0]:
            self.complain(f"a picture of {rows} rows {self.saved[0] - self.row} rows up")
        elif width > (self.columns - 1) * CELL_WIDTH or (data.count("-") + 1) * 6 > max(height, 6):
            self.complain(f"a picture that is larger than {width}x{height}")

    def cursor(self, restore):
        if not self.graphics:
            self.complain("the cursor is saved or restored without a picture")
        elif restore:
            self.row, self.column = self.saved or (self.row, self.column)
        self.saved = None if restore else (self.row, self.column)

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.resized = True

    # ---- the whole

    def feed(self, text):
        at = 0
        while at < len(text):
            end = self.step(text, at)
            self.at += len(text[at:end].encode("utf-8", "surrogateescape"))
            at = end

    def step(self, text, at):
        found = TEXT.match(text, at)
        if found:
            unseen = UNSEEN.findall(found[0])
            if unseen:
                self.complain(f"characters that cannot be seen: {unseen!r}")
            self.text(found[0])
            return found.end()
        if text[at] != "\x1b":
            self.control(text[at])
            return at + 1
        if self.dumb:
            self.complain("an escape byte")
        found = CSI.match(text, at)
        if found:
            self.csi(found[0], *found.groups())
            return found.end()
        found = APC.match(text, at)
        if found:
            self.apc(found[1])
            return found.end()
        found = SIXEL.match(text, at)
        if found:
            self.sixel(int(found[1]), int(found[2]), found[3])
            return found.end()
        if text[at:at + 2] in ("\x1b7", "\x1b8"):
            self.cursor(text[at + 1] == "8")
            return at + 2
        found = STRING.match(text, at)
        if found:
            self.osc(found[0], found[1])
            return found.end()
        self.complain(f"unknown or unfinished sequence {text[at:at + 20]!r}")
        return at + 1


def check(raw, columns=80, rows=24, resizes=(), plain=False, dumb=False, graphics=None):
    """Returns all violations in raw, as lines of text."""
    checker = Checker(columns, rows, plain, dumb, graphics)
    ends = [offset for offset, _, _ in resizes] + [len(raw)]
    begin = 0
    rest = b""
    for index, end in enumerate(ends):
        piece, rest = whole(rest + raw[begin:end], index == len(ends) - 1)
        checker.feed(piece.decode("utf-8", "surrogateescape"))
        if index < len(resizes):
            checker.resize(*resizes[index][1:])
        begin = end
    if checker.cut:
        checker.complain("rows stay cut")
    return checker.problems


UNFINISHED = re.compile(rb"(\x1b[^@-~]*|\x1b\[[^@-~]*|\x1b[]_][^\x07\x1b]*\x1b?"
                        rb"|[\xc0-\xff][\x80-\xbf]*)\Z")


def whole(piece, last):
    """Splits off a sequence that a window change cuts in two, to be read after the change: returns the
    part before it, and the rest."""
    if last:
        return piece, b""
    cut = UNFINISHED.search(piece)
    return (piece[:cut.start()], piece[cut.start():]) if cut else (piece, b"")
