"""HTTP/1.1 as far as a scripted server needs it: requests off a socket, one after the other."""
from dataclasses import dataclass

MOST_HEAD = 1 << 16


class BadRequest(Exception):
    """What came is not HTTP."""


@dataclass
class Message:
    method: str
    path: str  # with its query
    headers: dict  # names in lower case; a header that comes twice is joined by commas
    body: bytes


class Reader:
    """Reads requests from one connection."""

    def __init__(self, sock):
        self.sock, self.buffer = sock, bytearray()

    def request(self):
        """The next request, or None when the client is done."""
        head = self.head()
        if head is None:
            return None
        method, path, headers = parse_head(head)
        if headers.get("expect", "").lower() == "100-continue":
            self.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return Message(method, path, headers, self.chunked())
        return Message(method, path, headers, self.exactly(length_of(headers)))

    def more(self):
        data = self.sock.recv(1 << 18)
        self.buffer += data
        return bool(data)

    def head(self):
        seen = 0
        while True:
            end = self.buffer.find(b"\r\n\r\n", max(0, seen - 3))
            if end >= 0:
                head = bytes(self.buffer[:end])
                del self.buffer[:end + 4]
                return head
            seen = len(self.buffer)
            if seen > MOST_HEAD:
                raise BadRequest("the head has no end")
            if not self.more():
                if self.buffer:
                    raise BadRequest("the connection ended inside a head")
                return None

    def exactly(self, count):
        while len(self.buffer) < count:
            if not self.more():
                raise BadRequest("the connection ended inside a body")
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data

    def line(self):
        while b"\r\n" not in self.buffer:
            if not self.more():
                raise BadRequest("the connection ended inside a chunk")
        line, _, _ = bytes(self.buffer).partition(b"\r\n")
        del self.buffer[:len(line) + 2]
        return line

    def chunked(self):
        body = bytearray()
        while True:
            try:
                size = int(self.line().partition(b";")[0], 16)
            except ValueError:
                raise BadRequest("a chunk has no size") from None
            if size == 0:
                while self.line():  # trailers
                    pass
                return bytes(body)
            body += self.exactly(size)
            if self.exactly(2) != b"\r\n":
                raise BadRequest("a chunk has no end")


def parse_head(head):
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or words[2] not in ("HTTP/1.1", "HTTP/1.0"):
        raise BadRequest(f"no request: {lines[0]!r}")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise BadRequest(f"no header: {line!r}")
        name, value = name.lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    if words[2] == "HTTP/1.1" and "host" not in headers:
        raise BadRequest("no host")
    return words[0], words[1], headers


def length_of(headers):
    text = headers.get("content-length", "0")
    if not text.isdecimal():
        raise BadRequest(f"no length: {text!r}")
    return int(text)
