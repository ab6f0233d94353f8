"""A local S3 server."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import pytest
import requests
from moto.server import ThreadedMotoServer


@dataclass(frozen=True)
class Bucket:
    """A bucket, its server's address and the file system that accesses it."""

    name: str
    server: str
    files: Any

    @property
    def address(self) -> str:
        """The bucket's URL."""
        return f"s3://{self.name}"

    def put(self, source: Path, key: str) -> str:
        """Upload a file, or a folder recursively, and return its URL."""
        files = [source] if source.is_file() else [path for path in source.rglob("*") if path.is_file()]
        for file in files:
            below = key if file == source else f"{key}/{file.relative_to(source).as_posix()}"
            self.files.put_file(str(file), f"{self.name}/{below}")
        return f"{self.address}/{key}"

    def keys(self, below: str = "") -> list[str]:
        """Return the sorted keys of the objects below a prefix."""
        self.files.invalidate_cache()
        found = self.files.find(f"{self.name}/{below}")
        return sorted(path.removeprefix(f"{self.name}/") for path in found)


@pytest.fixture(scope="session", name="s3_server")
def start_s3_server() -> Iterator[str]:
    """Address of an in-memory server; fsspec's settings direct this process and its subprocesses to it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"ACCESS_KEY_ID": "user", "SECRET_ACCESS_KEY": "word"}.items():
            patch.setenv(f"AWS_{name}", value)
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("FSSPEC_S3_ENDPOINT_URL", address)
        # fsspec reads the variable at import, which has already happened in this process.
        patch.setitem(fsspec.config.conf, "s3", {"endpoint_url": address})
        yield address
    server.stop()


@pytest.fixture(name="bucket")
def make_bucket(s3_server: str, request: pytest.FixtureRequest) -> Iterator[Bucket]:
    """An empty bucket."""
    files = fsspec.filesystem("s3")
    files.mkdir("ease")
    yield Bucket("ease", s3_server, files)
    requests.post(f"{s3_server}/moto-api/reset", timeout=10)
    files.invalidate_cache()


@pytest.fixture
def refusing(bucket: Bucket) -> Iterator[Bucket]:
    """A bucket on a server that rejects all credentials."""
    requests.post(f"{bucket.server}/moto-api/reset-auth", data=b"0", timeout=10)
    yield bucket
    requests.post(f"{bucket.server}/moto-api/reset-auth", data=b"inf", timeout=10)
