"""`make test-data` downloads the listed files and checks them."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from ease.io.downloads import DownloadOptions
from ease.pipelines.acquire_evaluation.published_files import ArchivedFiles, Source, read_sources
from tests.file_server import FileServer
from tests.real_data.__main__ import SOURCES, fetch_test_data

QUICK = DownloadOptions(attempts=2, first_pause=0.01, timeout=5)
DUMP = "dumps/wikipedia/trwiki-mini-pages-articles.xml.bz2"
PAIRS = "tatoeba/tatoeba.eus-eng.eus"


@pytest.fixture
def listed(server: FileServer, test_data: Path) -> dict[str, Any]:
    """The real list, of which a dump and the archive are kept, served from the real data."""
    listed: dict[str, Any] = yaml.safe_load(SOURCES.read_text(encoding="utf-8"))
    dump = listed["files"][DUMP]
    archives = [ArchivedFiles.model_validate(archive) for archive in listed["archives"]]
    members = {file.member: test_data / file.path for archive in archives for file in archive.published()}
    server.files = {
        "/dump": (test_data / DUMP).read_bytes(),
        "/archive": pack(members),
        f"/{Path(PAIRS).name}": (test_data / "eval" / PAIRS).read_bytes(),
    }
    return {
        "files": {DUMP: {**dump, "url": f"{server.address}/dump"}},
        "archives": [{**archive, "url": f"{server.address}/archive"} for archive in listed["archives"]],
        "tasks": ["tatoeba"],
    }


def pack(members: dict[str, Path]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, path in members.items():
            archive.add(path, name)
    return content.getvalue()


def pairs_at(server: FileServer) -> dict[str, Source]:
    """The known source of Tatoeba, with one of its files, at the server."""
    (group,) = read_sources()["tatoeba"].files
    name = Path(PAIRS).name
    changes = {"address": f"{server.address}/", "files": (name,), "sha256": {name: group.sha256[name]}}
    served = group.model_copy(update=changes)
    return {"tatoeba": Source(licence="CC BY", files=(served,))}


def contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_downloads_dumps_archives_and_evaluation_sets_once(
    server: FileServer, listed: dict[str, Any], test_data: Path, tmp_path: Path
) -> None:
    assert fetch_test_data(tmp_path, listed, pairs_at(server), QUICK) == []
    fetched = contents(tmp_path)
    assert {DUMP, f"eval/{PAIRS}", "eval/senteval/TREC/TREC_10.label", "eval/nli/snli/s1.dev"} <= fetched.keys()
    assert fetched == {path: (test_data / path).read_bytes() for path in fetched}
    asked = len(server.asked)
    assert fetch_test_data(tmp_path, listed, pairs_at(server), QUICK) == []
    assert len(server.asked) == asked


def test_every_listed_checksum_is_that_of_the_real_file(test_data: Path) -> None:
    listed = yaml.safe_load(SOURCES.read_text(encoding="utf-8"))
    sums = {path: source["sha256"] for path, source in listed["files"].items()}
    for archive in map(ArchivedFiles.model_validate, listed["archives"]):
        sums |= {file.path: file.sha256 for file in archive.published()}
    assert sums == {path: sha256(test_data / path) for path in sums}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
