"""Images for tests, made with zlib alone."""
import hashlib
import struct
import zlib


def png(width=1, height=1, colour=(200, 30, 60), comment=b""):
    """A PNG of one colour; images with different comments have different bytes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I",
                                                                        zlib.crc32(kind + data))
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
