"""lib/ikigai/sixel: PNG files of every kind as Sixel data, and files that are none."""
import os
import random
import re
import struct
import subprocess
import unittest
import zlib

from image_support import chunk, png, sixel_pixels
from support import OUT

SIXEL = os.path.join(OUT, "lib", "ikigai", "sixel")
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
          (0, 1, 1, 2)]
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def run(data, width, height, colours=256, **more):
    return subprocess.run([SIXEL, str(width), str(height), str(colours)], input=data,
                          capture_output=True, timeout=60, **more)


def predictor(a, b, c):
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def filter_rows(rows, pixel, kinds):
    """The rows as a PNG has them; each uses the next kind of filter."""
    out, above = b"", None
    for number, row in enumerate(rows):
        kind = kinds[number % len(kinds)]
        out += bytes([kind])
        for i, value in enumerate(row):
            left = row[i - pixel] if i >= pixel else 0
            up = above[i] if above else 0
            corner = above[i - pixel] if above and i >= pixel else 0
            out += bytes([(value - (0, left, up, (left + up) // 2,
                                    predictor(left, up, corner))[kind]) & 255])
        above = row
    return out


def encode(samples, width, height, depth, kind, interlaced=False, extra=(), kinds=range(5)):
    """samples[y][x] is a tuple of numbers of this depth."""
    def row_of(pixels):
        bits = "".join(f"{v:0{depth}b}" for pixel in pixels for v in pixel)
        bits += "0" * (-len(bits) % 8)
        return bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
    pixel = max(1, CHANNELS[kind] * depth // 8)
    data = b""
    for x, y, dx, dy in PASSES if interlaced else [(0, 0, 1, 1)]:
        rows = [row_of(samples[v][x::dx]) for v in range(y, height, dy)]
        data += filter_rows([r for r in rows if r], pixel, kinds)
    packed = zlib.compress(data)
    half = len(packed) // 2
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced)) +
            b"".join(chunk(*e) for e in extra) + chunk(b"IDAT", packed[:half]) +
            chunk(b"tEXt", b"x\0y") + chunk(b"IDAT", packed[half:]) + chunk(b"IEND", b""))


def percent(value):
    return (value * 100 + 127) // 255


class Kinds(unittest.TestCase):
    """Small pictures with few colours come back pixel by pixel."""
    width, height = 11, 13

    def check(self, depth, kind, interlaced, extra=(), shown=None):
        rng = random.Random(depth * 100 + kind)
        most = (1 << depth) - 1
        values = [tuple(rng.choice((0, most, most // 3)) for _ in range(CHANNELS[kind]))
                  for _ in range(9)]
        samples = [[rng.choice(values) for _ in range(self.width)] for _ in range(self.height)]
        data = encode(samples, self.width, self.height, depth, kind, interlaced, extra)
        done = run(data, self.width, self.height)
        self.assertEqual(done.returncode, 0, (depth, kind, interlaced))
        def colour(sample):
            v = [s * 255 // most for s in sample]
            if len(v) <= 2:
                v = [v[0]] * 3 + v[1:]
            return None if len(v) == 4 and v[3] < 128 else tuple(map(percent, v[:3]))
        expected = {(x, y): (shown or colour)(samples[y][x])
                    for x in range(self.width) for y in range(self.height)}
        self.assertEqual(sixel_pixels(done.stdout.decode()),
                         {k: v for k, v in expected.items() if v is not None})

    def test_depths(self):
        for interlaced in (False, True):
            for kind, depths in ((0, (1, 2, 4, 8, 16)), (2, (8, 16)), (4, (8, 16)), (6, (8, 16))):
                for depth in depths:
                    self.check(depth, kind, interlaced)

    def test_palettes(self):
        palette = [(i * 16 % 256, 255 - i, i) for i in range(256)]
        for depth in (1, 2, 4, 8):
            size = 1 << depth
            extra = [(b"PLTE", bytes(v for c in palette[:size] for v in c)), (b"tRNS", b"\0")]
            shown = lambda s: None if s[0] == 0 else tuple(map(percent, palette[s[0]]))
            for interlaced in (False, True):
                self.check(depth, 3, interlaced, extra, shown)

    def test_a_transparent_colour(self):
        extra = [(b"tRNS", struct.pack(">HHH", 255, 0, 85))]
        self.check(8, 2, False, extra,
                   lambda s: None if s == (255, 0, 85) else tuple(map(percent, s)))

    def test_a_palette_that_is_too_short_is_black(self):
        extra = [(b"PLTE", b"\xff\xff\xff")]
        self.check(8, 3, False, extra, lambda s: (0, 0, 0) if s[0] else (100, 100, 100))


class Drawing(unittest.TestCase):
    def test_smaller(self):
        """Each pixel is the mean of those it stands for."""
        samples = [[((x // 4) * 60, (y // 6) * 50, 30) for x in range(16)] for y in range(24)]
        done = run(encode(samples, 16, 24, 8, 2), 4, 4)
        self.assertEqual(sixel_pixels(done.stdout.decode()),
                         {(x, y): (percent(x * 60), percent(y * 50), percent(30))
                          for x in range(4) for y in range(4)})

    def test_many_colours(self):
        """More colours than the terminal has: the nearest ones, mixed."""
        samples = [[(x * 4, y * 4, 128) for x in range(64)] for y in range(64)]
        data = encode(samples, 64, 64, 8, 2, kinds=[0])
        for colours in (2, 16, 256):
            done = run(data, 60, 60, colours)
            self.assertEqual(done.returncode, 0)
            text = done.stdout.decode()
            pixels = sixel_pixels(text)
            self.assertEqual(len(pixels), 3600)
            self.assertLessEqual(len(set(pixels.values())), colours)
            if colours > 2:
                for place, channel in (((0, 30), 0), ((30, 0), 1)):
                    block = [pixels[place[0] + i, place[1] + j][channel]
                             for i in range(6) for j in range(6)]
                    self.assertLess(sum(block) / 36, 25)
            self.assertLess(max(int(n) for n in re.findall(r"#(\d+)", text)), colours)

    def test_large(self):
        data = png(2000, 2000)
        done = run(data, 600, 600)
        self.assertEqual(done.returncode, 0)
        self.assertLess(len(done.stdout), 2500)


class Refused(unittest.TestCase):
    """Nothing is printed, and the program does not crash: a signal would be a negative status."""

    def refuse(self, data, width=1, height=1):
        done = run(data, width, height)
        self.assertEqual((done.returncode, done.stdout), (1, b""))

    def test_what_is_no_picture(self):
        for data in (b"", b"GIF89a", b"\x89PNG\r\n\x1a\n", png()[:-30], png()[:40],
                     png().replace(b"IDAT", b"JDAT"), png().replace(b"IHDR", b"JHDR")):
            self.refuse(data)

    def test_every_truncation(self):
        """Without its last chunk a picture may still be whole."""
        data = png(3, 3)
        for end in range(0, len(data) - 12, 3):
            self.refuse(data[:end])

    def test_headers(self):
        def with_header(*values):
            return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", *values)) +
                    chunk(b"IDAT", zlib.compress(b"\0" * 100)))
        for values in ((0, 1, 8, 2, 0, 0, 0), (1, 0, 8, 2, 0, 0, 0), (5000, 1, 8, 2, 0, 0, 0),
                       (1, 2**31, 8, 2, 0, 0, 0), (1, 1, 3, 0, 0, 0, 0), (1, 1, 4, 2, 0, 0, 0),
                       (1, 1, 16, 3, 0, 0, 0), (1, 1, 8, 5, 0, 0, 0), (1, 1, 8, 255, 0, 0, 0),
                       (1, 1, 8, 2, 1, 0, 0), (1, 1, 8, 2, 0, 1, 0), (1, 1, 8, 2, 0, 0, 2)):
            self.refuse(with_header(*values))

    def test_filters(self):
        """A row names a filter that does not exist."""
        self.refuse(b"\x89PNG\r\n\x1a\n" +
                    chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)) +
                    chunk(b"IDAT", zlib.compress(b"\5\0\0\0")))

    def test_a_picture_is_not_made_larger(self):
        self.refuse(png(2, 2), 3, 1)

    def test_too_many_bytes(self):
        self.refuse(png(1, 1, comment=b"x" * (5 << 20)))

    def test_random_damage(self):
        rng = random.Random(7)
        data = encode([[(x, y, 3, 200) for x in range(9)] for y in range(9)], 9, 9, 8, 6, True)
        for _ in range(150):
            damaged = bytearray(data)
            for _ in range(rng.randint(1, 4)):
                damaged[rng.randrange(8, len(damaged))] = rng.randrange(256)
            self.assertIn(run(bytes(damaged), 9, 9).returncode, (0, 1), bytes(damaged))

    def test_usage(self):
        for args in ([], ["1", "1"], ["0", "1", "16"], ["1", "9999", "16"], ["1", "1", "1"],
                     ["1", "1", "300"], ["x", "1", "16"], ["1", "1", "16", "1"]):
            self.assertEqual(subprocess.run([SIXEL, *args], input=b"").returncode, 2, args)


if __name__ == "__main__":
    unittest.main()
