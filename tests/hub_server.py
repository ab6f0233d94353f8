"""HTTP server on 127.0.0.1 with those endpoints of the Hugging Face hub that a push asks."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.file_server import serving

WRITER, READER = "hf_writer", "hf_reader"
"""Tokens that may write, and that may not."""


@dataclass
class HubServer:
    """The hub's repositories: files by path, by `models/OWNER/NAME` or `datasets/OWNER/NAME`."""

    port: int = 0
    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    private: dict[str, bool] = field(default_factory=dict)
    refuses: tuple[int, str] | None = None
    """Status and message of every response, if the hub is to refuse all"""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def running_hub() -> Iterator[HubServer]:
    """Yield a running hub and stop it at the end."""
    shared = HubServer()

    class Handler(_Handler):
        hub = shared

    with serving(Handler) as shared.port:
        yield shared


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Discard log messages."""

    def do_GET(self) -> None:
        if self.allowed() and (found := re.match(r"/api/(\w+/[^/]+/[^/]+)/tree/main", self.path)):
            files = self.hub.repositories.get(found[1], {})
            listed = [
                {"type": "file", "path": path, "size": len(content), "oid": "0" * 40}
                for path, content in files.items()
            ]
            self.reply(200, listed)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.allowed():
            return
        if self.path == "/api/repos/create":
            self.create(json.loads(body))
        elif self.path == "/api/validate-yaml":
            self.reply(200, {"warnings": [], "errors": []})
        elif re.match(r"/api/\w+/[^/]+/[^/]+/preupload/main", self.path):
            files = json.loads(body)["files"]
            modes = [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in files]
            self.reply(200, {"files": modes})
        elif found := re.match(r"/api/(\w+/[^/]+/[^/]+)/commit/main", self.path):
            self.commit(found[1], [json.loads(line) for line in body.splitlines()])
        else:
            self.reply(404, {"error": "no such endpoint"})

    def allowed(self) -> bool:
        """Refuse a request as the hub's state and the token say."""
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.hub.refuses is not None:
            status, message = self.hub.refuses
            self.reply(status, {"error": message})
        elif token not in (WRITER, READER):
            self.reply(401, {"error": "Invalid username or password."})
        elif token == READER:
            self.reply(403, {"error": "You don't have the rights to create a model under the namespace"})
        else:
            return True
        return False

    def create(self, asked: dict[str, Any]) -> None:
        kind = asked.get("type") or "model"
        name = f"{kind}s/{asked.get('organization')}/{asked['name']}"
        self.hub.private[name] = asked.get("visibility") == "private" or bool(asked.get("private"))
        if name in self.hub.repositories:
            self.reply(
                409, {"error": "You already created this model repo", "url": f"{self.hub.address}/{name}"}
            )
            return
        self.hub.repositories[name] = {".gitattributes": b""}
        self.reply(200, {"url": f"{self.hub.address}/{name}"})

    def commit(self, name: str, lines: list[dict[str, Any]]) -> None:
        files = self.hub.repositories[name]
        for line in lines:
            if line["key"] == "file":
                files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            elif line["key"] == "deletedFile":
                del files[line["value"]["path"]]
        address = f"{self.hub.address}/{name.removeprefix('models/')}/commit/{'1' * 40}"
        self.reply(200, {"commitUrl": address, "commitOid": "1" * 40})

    def reply(self, status: int, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if isinstance(content, dict) and "error" in content:
            self.send_header("X-Error-Message", content["error"])
        self.end_headers()
        self.wfile.write(body)
