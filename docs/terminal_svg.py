"""Draws what a terminal shows as an SVG picture: cells with their attributes, as tmux gives them
(`capture-pane -e`), in a window frame. Text stays text, which can be selected and searched.

Every run of cells says how wide it is, so that columns stand where they stood in the terminal,
whatever font the reader has.
"""
import re
import unicodedata
from dataclasses import dataclass, replace
from typing import Optional
from xml.sax.saxutils import escape

SIZE = 14  # of the font; a cell of nearly every monospaced font is 0.6 of it
CELL, LINE = 8.4, 19
SIDE, TOP, BOTTOM = 20, 56, 20
PALETTE = ["#3b4252", "#f2777a", "#7fc98b", "#f0c674", "#6ca5e8", "#cf9ae8", "#5fc6d4", "#d5d9e0",
           "#626b7c", "#ff9a96", "#a3e2ab", "#ffdf9e", "#8fc1ff", "#e3bbf7", "#8fe3ee", "#ffffff"]
BACKGROUND, TEXT = "#15181e", "#d5d9e0"
STYLE = f"""
text {{ font: {SIZE}px ui-monospace, "SF Mono", Menlo, "Cascadia Mono", "DejaVu Sans Mono",
       "Liberation Mono", Consolas, monospace; font-variant-ligatures: none; white-space: pre;
       fill: {TEXT} }}
.bold {{ font-weight: 700 }} .dim {{ fill-opacity: .6 }} .italic {{ font-style: italic }}
.underline {{ text-decoration: underline }} .strike {{ text-decoration: line-through }}
""" + "".join(f".c{i} {{ fill: {colour} }}\n" for i, colour in enumerate(PALETTE))


# ---- cells

@dataclass(frozen=True)
class Style:
    """Colours are numbers of the palette of 256, or "#rrggbb"; None: the terminal's own."""
    fg: Optional[object] = None
    bg: Optional[object] = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False
    strike: bool = False


SWITCHES = {1: {"bold": True}, 2: {"dim": True}, 3: {"italic": True}, 4: {"underline": True},
            7: {"reverse": True}, 9: {"strike": True}, 22: {"bold": False, "dim": False},
            23: {"italic": False}, 24: {"underline": False}, 27: {"reverse": False},
            29: {"strike": False}, 39: {"fg": None}, 49: {"bg": None}}
COLOURS = {**{30 + i: ("fg", i) for i in range(8)}, **{90 + i: ("fg", 8 + i) for i in range(8)},
           **{40 + i: ("bg", i) for i in range(8)}, **{100 + i: ("bg", 8 + i) for i in range(8)}}


def change_style(style, parameters):
    """The style after an SGR sequence."""
    codes = [int(code.partition(":")[0] or 0) for code in parameters.split(";")]
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = Style()
        elif code in SWITCHES:
            style = replace(style, **SWITCHES[code])
        elif code in COLOURS:
            style = replace(style, **dict([COLOURS[code]]))
        elif code in (38, 48):
            style = replace(style, **{"fg" if code == 38 else "bg": take_colour(codes)})
    return style


def take_colour(codes):
    """What follows 38 or 48: 5 and a number of the palette, or 2 and three parts."""
    if codes.pop(0) == 5:
        return codes.pop(0)
    red, green, blue = codes[:3]
    del codes[:3]
    return f"#{red:02x}{green:02x}{blue:02x}"


def cells_of(character):
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def kind_of(character):
    """What comes from another font than its neighbours may be wider or narrower than they are, and
    is placed by itself."""
    return "ascii" if character < "\x7f" else "wide" if cells_of(character) == 2 else "other"


@dataclass
class Run:
    """Neighbouring cells of one style and kind."""
    column: int
    style: Style
    kind: str
    text: str = ""
    cells: int = 0


TOKEN = re.compile(r"\x1b\[([\d;:]*)m|\x1b\].*?(?:\x07|\x1b\\)|\x1b\[[^@-~]*[@-~]|(.)", re.S)


def parse_rows(captured):
    """A list of runs per row. A style goes on until it is changed, also over the end of a row."""
    rows, style = [[]], Style()
    for token in TOKEN.finditer(captured):
        if token[1] is not None:
            style = change_style(style, token[1])
        elif token[2] == "\n":
            rows.append([])
        elif token[2] is not None:
            add_character(rows[-1], style, token[2])
    while rows and not rows[-1]:
        rows.pop()
    return rows


def add_character(row, style, character):
    kind, cells = kind_of(character), cells_of(character)
    last = row[-1] if row else None
    if last is None or cells > 0 and (last.style, last.kind) != (style, kind):
        row.append(Run(last.column + last.cells if last else 0, style, kind))
    row[-1].text += character
    row[-1].cells += cells


# ---- the picture

def colour_value(colour):
    if isinstance(colour, str):
        return colour
    if colour < 16:
        return PALETTE[colour]
    if colour >= 232:
        return "#" + f"{8 + 10 * (colour - 232):02x}" * 3
    cube = colour - 16
    return "#" + "".join(f"{55 + 40 * part if part else 0:02x}"
                         for part in (cube // 36, cube // 6 % 6, cube % 6))


def shown_colours(style):
    fg, bg = style.fg, style.bg
    if style.reverse:
        return (BACKGROUND if bg is None else bg), (TEXT if fg is None else fg)
    return fg, bg


def number(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


def draw_run(run, y):
    """The box behind it, or None, and the text."""
    fg, bg = shown_colours(run.style)
    x, width = number(SIDE + CELL * run.column), number(CELL * run.cells)
    box = bg if bg is None else (f'<rect x="{x}" y="{number(y - LINE + 5)}" width="{width}" '
                                 f'height="{LINE}" fill="{colour_value(bg)}"/>')
    classes = [name for name in ("bold", "dim", "italic", "underline", "strike")
               if getattr(run.style, name)]
    classes += [f"c{fg}"] if isinstance(fg, int) and fg < 16 else []
    attributes = f' class="{" ".join(classes)}"' if classes else ""
    if fg is not None and not (isinstance(fg, int) and fg < 16):
        attributes += f' style="fill: {colour_value(fg)}"'
    return box, (f'<tspan x="{x}" textLength="{width}" lengthAdjust="spacingAndGlyphs"{attributes}>'
                 f"{escape(run.text)}</tspan>")


def draw_row(row, y):
    drawn = [draw_run(run, y) for run in row]
    boxes = [box for box, _ in drawn if box]
    return boxes + ([f'<text y="{number(y)}">{"".join(text for _, text in drawn)}</text>']
                    if drawn else [])


def draw_frame(width, height, title):
    lights = "".join(f'<circle cx="{22 + 20 * i}" cy="20" r="6" fill="{colour}"/>'
                     for i, colour in enumerate(("#ed6a5e", "#f4bf4f", "#61c554")))
    return [f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="10" '
            f'fill="{BACKGROUND}" stroke="#3a414d"/>', lights,
            f'<text class="dim" x="{width // 2}" y="25" text-anchor="middle">{escape(title)}'
            "</text>"]


def draw(captured, columns, cursor, title, description):
    """captured: rows with escape sequences. cursor: (row, column) of the text cursor."""
    rows = parse_rows(captured)
    width = round(2 * SIDE + CELL * columns)
    height = TOP + LINE * (max(len(rows), cursor[0] + 1) - 1) + BOTTOM
    lines = [line for i, row in enumerate(rows) for line in draw_row(row, TOP + LINE * i)]
    x, y = SIDE + CELL * cursor[1], TOP + LINE * cursor[0]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" xml:space="preserve">',
        f"<title>{escape(title)}</title>", f"<desc>{escape(description)}</desc>",
        f"<style>{STYLE}</style>", *draw_frame(width, height, title), *lines,
        f'<rect x="{number(x)}" y="{number(y - LINE + 5)}" width="{number(CELL)}" height="{LINE}" '
        f'fill="{TEXT}" fill-opacity=".75"/>', "</svg>"]) + "\n"
