"""HTTP server on 127.0.0.1 with those endpoints of the Hugging Face hub that a push and the loading of a model ask."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import huggingface_hub.hf_api
import pytest
from huggingface_hub import constants

from tests.file_server import serving

WRITER, READER = "hf_writer", "hf_reader"
"""Tokens that may write, and that may not."""

COMMIT = "1" * 40
"""The commit of every repository."""


@dataclass
class HubServer:
    """The hub's repositories: files by path, by `models/OWNER/NAME` or `datasets/OWNER/NAME`."""

    port: int = 0
    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    private: dict[str, bool] = field(default_factory=dict)
    refuses: tuple[int, str] | None = None
    """Status and message of every response, if the hub is to refuse all"""
    gated: set[str] = field(default_factory=set)
    """Models whose conditions nobody has accepted"""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def running_hub() -> Iterator[HubServer]:
    """Yield a running hub and stop it at the end."""
    shared = HubServer()
    with serving(type("Handler", (_Handler,), {"hub": shared})) as shared.port:
        yield shared


def use_hub(address: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this process load models from a hub, as HF_ENDPOINT and HF_HUB_CACHE do when the library is imported."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "ENDPOINT", address)
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(huggingface_hub.hf_api.api, "endpoint", address)


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Discard log messages."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        first, *rest = self.path.partition("?")[0].strip("/").split("/")
        if first == "api":
            self.read("/".join(rest[:3]), rest[3:])
        else:  # /OWNER/NAME/resolve/REVISION/PATH
            content = self.hub.repositories[f"models/{first}/{rest[0]}"].get("/".join(rest[3:]))
            self.reply(*((200, content) if content is not None else (404, {"error": "no"}, "EntryNotFound")))

    def read(self, name: str, rest: list[str]) -> None:
        """Describe a repository."""
        files = self.hub.repositories.get(name)
        if rest == ["tree", "main"]:
            about = {"type": "file", "oid": "0" * 40}
            if self.allowed():
                own = (files or {}).items()
                self.reply(200, [{**about, "path": path, "size": len(content)} for path, content in own])
        elif files is None:
            self.reply(404, {"error": "Repository not found"}, "RepoNotFound")
        elif rest == ["auth-check"]:
            self.reply(403, {"error": "Access is restricted"}, "GatedRepo")
        elif rest[:1] == ["revision"] and rest[1] not in ("main", COMMIT):
            self.reply(404, {"error": "Invalid rev id"}, "RevisionNotFound")
        elif rest[:1] == ["tree"]:
            self.reply(200, [])
        else:
            about = {"id": name.partition("/")[2], "sha": COMMIT}
            siblings = [{"rfilename": path} for path in files]
            self.reply(200, {**about, "gated": name in self.hub.gated, "siblings": siblings})

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
            self.reply(409, {"error": "You already created this model repo", "url": f"{self.hub.address}/{name}"})
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
        address = f"{self.hub.address}/{name.removeprefix('models/')}/commit/{COMMIT}"
        self.reply(200, {"commitUrl": address, "commitOid": COMMIT})

    def reply(self, status: int, content: object, code: str | None = None) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.md5(body).hexdigest()}"')
        if code:
            self.send_header("X-Error-Code", code)
        if isinstance(content, dict) and "error" in content:
            self.send_header("X-Error-Message", content["error"])
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
