"""Images in requests, as strictly as the services look at them: standard base64 with padding, the
declared type that of the content, kinds, bytes and pixels within their limits. The sentences are
those of the services."""
import base64
import binascii
import functools
import struct

OPENAI = ("image/png", "image/jpeg", "image/gif", "image/webp")
ANTHROPIC = ("image/jpeg", "image/png", "image/gif", "image/webp")
GEMINI = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
BASE64_MAX = 5_242_880
MANY = 20  # images, beyond which each may have 2000 pixels a side only


def jpeg_size(data):
    at = 2
    while at + 9 <= len(data) and data[at] == 0xff:
        marker = data[at + 1]
        if marker == 0xff:
            at += 1
        elif 0xc0 <= marker <= 0xcf and marker not in (0xc4, 0xc8, 0xcc):
            height, width = struct.unpack(">HH", data[at + 5:at + 9])
            return width, height
        elif marker in (0xd9, 0xda):
            return None
        elif marker == 1 or 0xd0 <= marker <= 0xd8:
            at += 2
        else:
            at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    return None


def webp_size(data):
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        return (int.from_bytes(data[24:27], "little") + 1,
                int.from_bytes(data[27:30], "little") + 1)
    if kind == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1
    if kind == b"VP8 " and len(data) >= 30:
        return struct.unpack("<HH", data[26:30])
    return None


def inspect(data):
    """(media type, (width, height)) of the content; (None, None): it is no image."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 33 and b"IEND" in data:
        return "image/png", struct.unpack(">II", data[16:24])
    if data.startswith(b"\xff\xd8\xff") and jpeg_size(data):
        return "image/jpeg", jpeg_size(data)
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 13:
        return "image/gif", struct.unpack("<HH", data[6:10])
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and webp_size(data):
        return "image/webp", webp_size(data)
    return None, None


def is_animated(data):
    """Whether a gif has a second frame."""
    def table(flags):
        return 3 << ((flags & 7) + 1) if flags & 0x80 else 0

    def skip(at):
        while at < len(data) and data[at]:
            at += 1 + data[at]
        return at + 1

    at, frames = 13 + table(data[10]), 0
    while at < len(data) and data[at] in (0x21, 0x2c):
        if data[at] == 0x21:
            at = skip(at + 2)
        else:
            frames += 1
            at = skip(at + 11 + (table(data[at + 9]) if at + 9 < len(data) else 0))
    return frames > 1


@functools.lru_cache(maxsize=256)
def decode(text):
    """(media type, size, animated) of base64; None: it is not base64."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return None
    kind, size = inspect(data)
    return kind, size, kind == "image/gif" and is_animated(data)


class Images:
    """The images of one request."""

    def __init__(self, problems, kinds, animated=True):
        self.problems, self.kinds, self.animated = problems, kinds, animated
        self.large = []  # places of those that are too large for a request with many
        self.count = 0

    def check(self, declared, text, where):
        self.count += 1
        if not isinstance(text, str) or not text:
            self.problems.add(where, "image cannot be empty")
            return
        if len(text) > BASE64_MAX:
            self.problems.add(where, f"image exceeds 5 MB maximum: {len(text)} bytes > "
                              f"{BASE64_MAX} bytes")
            return
        found = decode(text)
        if found is None:
            self.problems.add(where, "invalid base64 data of an image")
            return
        kind, size, animated = found
        if kind is None:
            self.problems.add(where, "Could not process image")
        elif declared != kind:
            self.problems.add(where, f"Image does not match the provided media type {declared}")
        elif kind not in self.kinds or (animated and not self.animated):
            self.problems.add(where, f"unsupported image: {kind}")
        elif max(size) > 8000:
            self.problems.add(where, "image dimensions exceed max allowed size: 8000 pixels")
        elif max(size) > 2000:
            self.large.append(where)

    def url(self, url, where):
        """A data: URL."""
        head, comma, text = url.partition(",") if isinstance(url, str) else ("", "", "")
        if not head.startswith("data:") or not head.endswith(";base64") or not comma:
            self.problems.add(where, "Expected a base64-encoded data URL with an image MIME type")
        else:
            self.check(head[len("data:"):-len(";base64")], text, where)

    def end(self):
        for where in self.large if self.count > MANY else ():
            self.problems.add(where, "image dimensions exceed max allowed size for many-image "
                              "requests: 2000 pixels")
        if self.count > 100:
            self.problems.add("", "Too much media: more than 100 images")


def walk(value, steps=()):
    """(steps, base64) of every image in a request, in order."""
    if isinstance(value, list):
        for n, item in enumerate(value):
            yield from walk(item, (*steps, n))
    elif isinstance(value, dict):
        if value.get("type") == "base64" and "media_type" in value:
            yield steps, value.get("data")
        elif "mimeType" in value and "data" in value:
            yield steps, value["data"]
        for key, item in value.items():
            if key in ("url", "image_url") and isinstance(item, str) and "base64," in item:
                yield (*steps, key), item.partition("base64,")[2]
            else:
                yield from walk(item, (*steps, key))


def sent(body):
    """The contents of the images of a request, in order."""
    return [base64.b64decode(text) for _, text in walk(body)]


def refusal(format, steps):
    """(message, param): how each service names an image that it does not take; without steps it
    does not tell which."""
    if format == "anthropic":
        steps = [str(step) for step in steps if step != "source"]
        place = ".".join(steps) + ".image.source.base64: " if steps else ""
        return f"{place}Could not process image", None
    if format == "gemini":
        return ("Unable to process input image. Please retry or report in "
                "https://developers.generativeai.google/guide/troubleshooting"), None
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)[1:]
    if not place:
        return "The image data you provided does not represent a valid image.", None
    return (f"Invalid '{place}'. Expected a base64-encoded data URL with an image MIME type.",
            place)


BLIND = {
    "chat": "Invalid content type. image_url is only supported by certain models.",
    "responses": "This model does not support image inputs.",
    "anthropic": "This model does not support image input.",
    "gemini": "Image input modality is not enabled for this model.",
}
