"""HTTP server on 127.0.0.1 that serves files and simulates faults."""

from __future__ import annotations

import hashlib
import re
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    """Faults in the response to one request; the default has none."""

    status: int | None = None
    """HTTP status of an error response"""
    headers: Mapping[str, str] = field(default_factory=dict)
    break_after: int | None = None
    """Number of body bytes after which the connection is closed"""
    promised: int | None = None
    """Wrong Content-Length; -1: none"""
    body: bytes | None = None
    """Content sent instead of the file"""
    pause: float = 0
    """Delay in seconds before each 64 KB"""


PROPER = Answer()


@dataclass
class FileServer:
    """The server's files, planned responses and received requests."""

    files: dict[str, bytes] = field(default_factory=dict)
    """Content by path; a path starts with a slash"""
    answers: dict[str, list[Answer]] = field(default_factory=lambda: defaultdict(list))
    """Responses to the next requests by path; later requests get `always`"""
    always: Answer = PROPER
    tags: bool = True
    """Whether responses have an ETag"""
    asked: list[tuple[str, Message]] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    port: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def requests(self, path: str) -> list[Message]:
        """Return the headers of the requests for a path."""
        return [headers for asked, headers in self.asked if asked == path]

    def ranges(self, path: str) -> list[str | None]:
        """Return the Range headers of the requests for a path."""
        return [headers["Range"] for headers in self.requests(path)]

    def listing(self, path: str) -> bytes | None:
        """Return the index page of a folder, or None if it has no files."""
        below = {name.removeprefix(path) for name in self.files if name.startswith(path)}
        names = sorted({re.sub(r"/.*", "/", name) for name in below})
        rows = "\n".join(f'<a href="{name}">{name}</a> 01-Jan-2024 00:00 -' for name in ["../", *names])
        return f"<html><body><pre>{rows}</pre></body></html>".encode() if below else None


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], certificate: ssl.SSLContext | None = None) -> Iterator[int]:
    """Yield the port of a running server and stop it at the end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if certificate:
        server.socket = certificate.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def running_server(certificate: ssl.SSLContext | None = None) -> Iterator[FileServer]:
    """Yield a running server, with a certificate by HTTPS, and stop it at the end."""
    shared = FileServer()
    with serving(type("Handler", (_Handler,), {"server_files": shared}), certificate) as shared.port:
        yield shared


class _Handler(BaseHTTPRequestHandler):
    server_files: FileServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Discard log messages."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        shared = self.server_files
        with shared.lock:
            shared.asked.append((self.path, self.headers))
            queue = shared.answers[self.path]
            answer = queue.pop(0) if queue else shared.always
            shared.at_once += 1
            shared.most_at_once = max(shared.most_at_once, shared.at_once)
        try:
            self.answer(answer)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with shared.lock:
                shared.at_once -= 1

    def answer(self, answer: Answer) -> None:
        shared = self.server_files
        content = shared.files.get(self.path) if answer.body is None else answer.body
        page = content is None and self.path.endswith("/")
        if page:
            content = shared.listing(self.path)
        if answer.status or content is None:
            self.head(answer.status or 404, {"Content-Length": "0", **answer.headers})
            return
        tag = f'"{hashlib.md5(content).hexdigest()}"' if shared.tags else None
        start = self.start(tag)
        if start >= len(content) and start:
            self.head(416, {"Content-Range": f"bytes */{len(content)}", "Content-Length": "0"})
            return
        length = len(content) - start if answer.promised is None else answer.promised
        headers = {"Content-Length": str(length), "Content-Type": "text/html" if page else "text/plain"}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        if length < 0:
            del headers["Content-Length"]
        if tag:
            headers["ETag"] = tag
        self.head(206 if start else 200, {**headers, **answer.headers})
        if self.command == "GET":
            self.send(content[start:], answer)
        self.close_connection = length != len(content) - start or answer.break_after is not None

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status and the headers."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def start(self, tag: str | None) -> int:
        """Return the requested offset; 0 without a range or if If-Range names another ETag."""
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        return int(found[1]) if found and condition in (None, tag) else 0

    def send(self, content: bytes, answer: Answer) -> None:
        content = content[: answer.break_after]
        for start in range(0, len(content), 1 << 16):
            time.sleep(answer.pause)
            self.wfile.write(content[start : start + (1 << 16)])
            self.wfile.flush()
