"""Images for tests, made with zlib alone, and what Sixel data shows."""
import hashlib
import re
import struct
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width=1, height=1, colour=(200, 30, 60), comment=b""):
    """A PNG of one colour; images with different comments have different bytes."""
    row = b"\0" + bytes(colour) * width
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            (chunk(b"tEXt", b"Comment\0" + comment) if comment else b"") +
            chunk(b"IDAT", zlib.compress(row * height)) + chunk(b"IEND", b""))


def gif(width=3, height=2):
    return (b"GIF89a" + struct.pack("<HH", width, height) + b"\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0" +
            struct.pack("<HH", width, height) + b"\0\x02\x02D\x01\0;")


def entry(name, data, media_type="image/png", width=1, height=1):
    """How a message names an image."""
    return {"name": name, "sha256": hashlib.sha256(data).hexdigest(), "media_type": media_type,
            "bytes": len(data), "width": width, "height": height}


def sixel_pixels(text):
    """The pixels that Sixel data sets, {(x, y): (r, g, b)} in percent, each set once."""
    palette, pixels, colour, x, top = {}, {}, None, 0, 0
    for item in re.findall(r"#\d+(?:;\d+)*|!\d+.|.", text):
        count = 1
        if item[0] == "#":
            number, *definition = map(int, item[1:].split(";"))
            if definition:
                assert definition[0] == 2 and len(definition) == 4, item
                palette[number] = tuple(definition[1:])
            colour = palette[number]
            continue
        if item == "$":
            x = 0
            continue
        if item == "-":
            x, top = 0, top + 6
            continue
        if item[0] == "!":
            count, item = int(item[1:-1]), item[-1]
        bits = ord(item) - ord("?")
        assert 0 <= bits < 64, item
        for _ in range(count):
            for y in range(6):
                if bits >> y & 1:
                    assert (x, top + y) not in pixels, (x, top + y)
                    pixels[x, top + y] = colour
            x += 1
    return pixels
