"""How the bytes of a response travel: framing, compression, and all that can go wrong with it.

Every misbehaviour works on any body, and they can be combined. Events are the pieces a body is
made of: one server-sent event each, or the whole of a body that is not a stream.
"""
import fcntl
import gzip
import os
import select
import socket
import struct
import termios
import threading
import time
import zlib
from dataclasses import dataclass, field
from http.client import responses
from typing import Optional

# Seconds between the words of an answer and its end, to find tests that take the former for the latter.
LATE_END = float(os.environ.get("FAKE_LLM_LATE_END", "0"))
END_PIECES = 3  # of most streams: the reason to stop, the usage and the mark of the end
BLOCK = 1 << 16
BOMB_BLOCK = 1 << 20


@dataclass
class Wire:
    gate: Optional[threading.Event] = None  # nothing is sent before the test sets it
    delay_head: float = 0  # seconds before the first byte of the head
    delay_body: float = 0  # between head and body
    delay_event: float = 0  # before every event but the first
    stall_after: Optional[int] = None  # so many events, then silence until the test ends
    stall_with: bytes = b""  # unless this is sent over and over instead, …
    stall_interval: float = 0.1  # … so often
    cut_after: Optional[int] = None  # so many bytes of the body, then no more
    reset: bool = False  # the cut is a reset of the connection and no proper close
    garbage_head: Optional[bytes] = None  # instead of any HTTP
    garbage: Optional[bytes] = None  # in the stream, …
    garbage_after: int = 1  # … after so many events
    huge_line: int = 0  # an event of one line of so many bytes, …
    huge_after: int = 1  # … after so many events
    gzip: bool = False  # compressed, flushed after every event
    gzip_bomb: int = 0  # so many bytes of nothing, compressed, instead of the body
    chunk: int = 0  # at most so many bytes in one chunk; 0: an event is a chunk
    plain_json: bool = False  # a complete JSON body although a stream was asked for
    content_length: bool = False  # instead of chunks
    until_close: bool = False  # neither chunks nor length: the body ends with the connection
    close: bool = False  # the connection does not outlive the response
    status: Optional[int] = None  # instead of the answer's own
    headers: dict = field(default_factory=dict)  # added to the answer's own; None takes one away


class Gone(Exception):
    """The client closed the connection."""


class Cut(Exception):
    """The response ends here, on purpose."""


class Sender:
    """Sends one response. closing: an Event that is set when the test ends."""

    def __init__(self, sock, wire, closing):
        self.sock, self.wire, self.closing = sock, wire, closing
        self.body_bytes = 0  # of the body, after compression, before chunking
        self.deflate = zlib.compressobj(wbits=31) if wire.gzip or wire.gzip_bomb else None

    def send(self, status, headers, pieces):
        """Returns whether the connection can be used again."""
        wire = self.wire
        while wire.gate is not None and not wire.gate.is_set():
            self.wait(0.01)
        self.wait(wire.delay_head)
        if wire.garbage_head is not None:
            self.raw(wire.garbage_head)
            return False
        framing = self.framing(headers, pieces)
        self.raw(head(wire.status or status, {**headers, **framing, **wire.headers}))
        self.wait(wire.delay_body)
        try:
            self.body(pieces)
        except Cut:
            if wire.reset:
                reset(self.sock)
            return False
        if self.chunked:
            self.raw(b"0\r\n\r\n")
        return not (wire.close or wire.until_close)

    def framing(self, headers, pieces):
        wire = self.wire
        whole = isinstance(pieces, (bytes, bytearray))
        out = {"connection": "close"} if wire.close or wire.until_close else {}
        if self.deflate:
            out["content-encoding"] = "gzip"
        self.chunked = not wire.until_close and "content-length" not in headers and not (
            wire.content_length or (whole and not wire.chunk and not self.deflate))
        if self.chunked:
            out["transfer-encoding"] = "chunked"
        elif not wire.until_close and "content-length" not in headers:
            out["content-length"] = str(len(self.joined(pieces)))
        return out

    def joined(self, pieces):
        plain = b"".join(self.misbehaved(pieces)) if not isinstance(pieces, bytes) else pieces
        return gzip.compress(plain) if self.deflate else plain

    def body(self, pieces):
        if self.wire.gzip_bomb:
            self.bomb(self.wire.gzip_bomb)
            return
        if self.wire.content_length and self.deflate:
            self.piece(self.joined(pieces))
            return
        end = len(pieces) - END_PIECES if LATE_END and isinstance(pieces, list) else -1
        for number, piece in enumerate(self.misbehaved(pieces)):
            if number:
                self.wait(self.wire.delay_event)
            if number == end:
                self.wait(LATE_END)
            if self.wire.stall_after == number:
                self.stall()
            self.piece(self.compressed(piece))
        if self.wire.stall_after is not None:
            self.stall()
        if self.deflate:
            self.piece(self.deflate.flush())

    def misbehaved(self, pieces):
        wire = self.wire
        pieces = [pieces] if isinstance(pieces, (bytes, bytearray)) else pieces
        for number, piece in enumerate(pieces):
            if wire.garbage is not None and number == wire.garbage_after:
                yield wire.garbage
            if wire.huge_line and number == wire.huge_after:
                yield from huge_line(wire.huge_line)
            yield piece

    def compressed(self, piece):
        if not self.deflate:
            return piece
        return self.deflate.compress(piece) + self.deflate.flush(zlib.Z_SYNC_FLUSH)

    def piece(self, data):
        if not data:
            return
        room = None
        if self.wire.cut_after is not None:
            room = self.wire.cut_after - self.body_bytes
            data = data[:max(room, 0)]
        self.body_bytes += len(data)
        step = self.wire.chunk or len(data) or 1
        for begin in range(0, len(data), step):
            part = data[begin:begin + step]
            self.raw(b"%x\r\n%s\r\n" % (len(part), part) if self.chunked else part)
        if room is not None and self.body_bytes >= self.wire.cut_after:
            raise Cut

    def bomb(self, size):
        """One endless line. After a full flush the same bytes compress to the same bytes, so that
        the bomb costs us nothing."""
        def packed(data):
            return self.deflate.compress(data) + self.deflate.flush(zlib.Z_FULL_FLUSH)

        self.piece(packed(b'data: {"padding":"'))
        block = packed(b"x" * BOMB_BLOCK)
        for _ in range(size // BOMB_BLOCK):
            self.piece(block)
        self.piece(self.deflate.flush())

    def stall(self):
        """Until the client gives up or the test ends."""
        while True:
            if self.wire.stall_with:
                self.piece(self.compressed(self.wire.stall_with))
            self.wait(self.wire.stall_interval if self.wire.stall_with else 3600)

    def wait(self, seconds):
        """Notices within 50 ms when the client goes away; a test that ends ends every wait."""
        end = time.monotonic() + seconds
        while seconds > 0 and time.monotonic() < end:
            if self.closing.wait(min(0.05, max(0, end - time.monotonic()))):
                raise Cut
            if hung_up(self.sock):
                raise Gone

    def raw(self, data):
        try:
            self.sock.sendall(data)
        except OSError:
            raise Gone from None


def head(status, headers):
    lines = [f"HTTP/1.1 {status} {responses.get(status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def hung_up(sock):
    """Whether the other side closed. A byte of a next request is no reason to give up."""
    try:
        if not select.select([sock], [], [], 0)[0]:
            return False
        return not sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except (OSError, ValueError):
        return True


def reset(sock):
    """Closes with a reset, after what was written has arrived: a reset discards the rest."""
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        left = struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, b"\0" * 4))[0]
        if not left:
            break
        time.sleep(0.001)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def huge_line(size):
    """An event whose JSON has one unknown field."""
    begin, end = b'data: {"padding":"', b'"}\n\n'
    yield begin
    left = size - len(begin) - len(end) + 2  # the two line ends are not part of the line
    while left > 0:
        yield b"x" * min(left, BLOCK)
        left -= BLOCK
    yield end
