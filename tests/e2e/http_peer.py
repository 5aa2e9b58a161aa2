"""Servers for tests of HTTP: sockets on 127.0.0.1 whose handlers do exactly what a test wants,
right or wrong."""
import socket
import struct
import threading


class Request:
    def __init__(self, line, headers, body):
        self.line, self.headers, self.body = line, headers, body


class Connection:
    """One accepted connection, as a server's handler sees it."""

    def __init__(self, server, sock):
        self.server, self.sock, self.buffer = server, sock, b""

    def read(self, count):
        """Exactly this many bytes, or fewer at the end."""
        while len(self.buffer) < count:
            got = self.sock.recv(65536)
            if not got:
                break
            self.buffer += got
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def read_head(self):
        """The request line and the headers; None at the end of the connection."""
        while b"\r\n\r\n" not in self.buffer:
            got = self.sock.recv(65536)
            if not got:
                return None
            self.buffer += got
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        line, *headers = head.decode("latin-1").split("\r\n")
        pairs = [h.split(": ", 1) for h in headers]
        return Request(line, {p[0].lower(): p[-1] for p in pairs}, b"")

    def request(self):
        """The next whole request, which is also noted; None at the end of the connection."""
        request = self.read_head()
        if request:
            request.body = self.read(int(request.headers.get("content-length", "0")))
            self.server.requests.append(request)
        return request

    def send(self, *parts):
        for part in parts:
            self.sock.sendall(part if isinstance(part, bytes) else part.encode())

    def answer(self, body=b"", status="200 OK", *headers):
        body = body if isinstance(body, bytes) else body.encode()
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
        self.send("\r\n".join(lines).encode() + body)

    def chunk(self, data):
        data = data if isinstance(data, bytes) else data.encode()
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"


class Server:
    """Calls handle(connection) in a thread for every connection; a handler that returns closes."""

    def __init__(self, handle, context=None):
        self.handle, self.context = handle, context
        self.requests, self.connections = [], 0
        self.threads, self.open = [], []
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        self.released = threading.Event()  # set when the test is over
        self.acceptor = threading.Thread(target=self.accept)
        self.acceptor.start()

    def url(self, path="/", scheme="http"):
        return f"{scheme}://127.0.0.1:{self.port}{path}"

    def accept(self):
        while True:
            try:
                sock, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            self.open.append(sock)
            self.threads.append(threading.Thread(target=self.serve, args=(sock,)))
            self.threads[-1].start()

    def serve(self, sock):
        try:
            if self.context:
                sock = self.context.wrap_socket(sock, server_side=True)
            with sock:
                self.handle(Connection(self, sock))
        except OSError:
            pass  # the client has gone, or the test is over

    def close(self):
        self.released.set()
        for sock in [self.socket] + self.open:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.acceptor.join()
        self.socket.close()
        for thread in self.threads:
            thread.join()


def echo(connection):
    """Answers every request with its own body, or "hello"."""
    while (request := connection.request()) is not None:
        connection.answer(request.body or b"hello")


def answering(*what, reset=False):
    """A handler that reads one request, sends these bytes and closes."""
    def handle(connection):
        connection.request()
        connection.send(*what)
        if reset:
            connection.reset()
    return handle


def hold(connection):
    connection.server.released.wait()


# ---- as little of HTTP/2 as will do

def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) \
        + struct.pack(">I", stream) + payload


DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS, ACK = 1, 4, 1
STATUS_200 = b"\x88"  # from the static table


def speak_http2(connection):
    """Answers the first stream when it has ended, and then always two together, in reverse."""
    connection.read(len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
    connection.send(frame(SETTINGS, 0, 0))
    ended = []
    while head := connection.read(9):
        length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        stream = int.from_bytes(head[5:], "big")
        connection.read(length)
        if kind == SETTINGS and not flags & ACK:
            connection.send(frame(SETTINGS, ACK, 0))
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            ended.append(stream)
        if ended == [1] or len(ended) == 2:
            for each in reversed(ended):
                connection.send(frame(HEADERS, END_HEADERS, each, STATUS_200),
                                frame(DATA, END_STREAM, each, b"stream %d" % each))
            ended = []
