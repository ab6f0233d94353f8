"""Evaluation sets are located, downloaded or reported missing."""

from __future__ import annotations

import hashlib
import io
import logging
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ease.evaluation.tasks import package_tasks
from ease.io.downloads import DownloadOptions
from ease.pipelines.acquire_evaluation import nodes
from ease.pipelines.acquire_evaluation.fetching import fetch_evaluation_sets
from ease.pipelines.acquire_evaluation.published_files import Source, read_sources
from ease.pipelines.options import AcquireOptions, EvaluateOptions, EvaluationSetOptions
from ease.pipelines.setting import Setting
from tests.evaluation.made_tasks import make_task
from tests.evaluation.tasks.test_tasks import CONFIGURATION
from tests.file_server import FileServer, running_server

QUICK = DownloadOptions(attempts=2, first_pause=0.01, timeout=5)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def tar(members: Mapping[str, bytes | None], mode: Any = "w:gz") -> bytes:
    """Return an archive; a member None becomes a link."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data or b"")
            if data is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/hostname"
            archive.addfile(info, io.BytesIO(data or b""))
    return content.getvalue()


def zipped(members: Mapping[str, bytes | None]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o120777 if data is None else 0o100644) << 16
            archive.writestr(info, data if data is not None else b"/etc/hostname")
    return content.getvalue()


def source(**given: Any) -> Source:
    return Source.model_validate({"licence": "CC0", **given})


def group(server: FileServer, sums: Mapping[str, str | None]) -> list[dict[str, Any]]:
    known = {name: checksum for name, checksum in sums.items() if checksum}
    return [{"address": f"{server.address}/", "folder": "set", "files": [*sums], "sha256": known}]


def fetch(folder: Path, **sources: Source) -> dict[str, dict[str, str]]:
    return fetch_evaluation_sets([*sources], sources, folder, QUICK)


def test_missing_files_are_downloaded_once_and_those_of_the_user_kept(
    server: FileServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.files |= {"/a": b"first", "/b": b"second", "/changed": b"another", "/mine": b"published"}
    sums = {"a": sha256(b"first"), "b": None, "no": None, "changed": sha256(b"right"), "mine": sha256(b"?")}
    given = source(files=group(server, sums))
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "mine").write_bytes(b"mine")
    with caplog.at_level("INFO"):
        failed = fetch(tmp_path, task=given)["task"]
    assert "task: 2 files fetched; licence: CC0" in caplog.text
    assert failed.keys() == {"set/no", "set/changed"}
    assert "the server answers 404 Not Found" in failed["set/no"]
    assert all(sha256(found) in failed["set/changed"] for found in (b"another", b"right"))
    assert not (tmp_path / "set" / "changed").exists()
    server.files["/changed"] = b"right"
    assert list(fetch(tmp_path, task=given)["task"]) == ["set/no"]
    found = {path.name: path.read_bytes() for path in (tmp_path / "set").iterdir()}
    assert found == {"a": b"first", "b": b"second", "changed": b"right", "mine": b"mine"}
    asked = [path for path, _ in server.asked]
    assert (asked.count("/a"), asked.count("/mine")) == (1, 0)


@pytest.mark.parametrize("pack", [tar, zipped])
def test_extracts_valid_members_of_one_archive_for_two_tasks(server: FileServer, tmp_path: Path, pack: Any) -> None:
    files = {"in/a": b"A", "in/b": b"B", "in/c": b"C", "in/link": None, "../../evil": b"!", "/evil": b"!"}
    server.files["/all"] = pack(files)
    url = f"{server.address}/all"
    where = {"url": url, "inside": "in/"}
    first = {**where, "folder": "one", "files": "a b", "sha256": {"a": sha256(b"A"), "b": sha256(b"?")}}
    second = {**where, "folder": "two", "files": "c d link"}
    report = fetch(
        tmp_path / "sets",
        one=source(archives=[first]),
        two=source(archives=[second]),
    )
    words = f"in/b has the sha256 {sha256(b'B')}, but should have {sha256(b'?')}"
    assert words in report["one"]["one/b"]
    assert report["two"]["two/d"] == f"{url} has no file in/d."
    there = {str(path.relative_to(tmp_path)): path for path in tmp_path.rglob("*") if path.is_file()}
    link = there.pop("sets/two/link", None)  # of a zip, a file of the link's text
    assert link is None or (not link.is_symlink() and link.read_bytes() == b"/etc/hostname")
    assert sorted(there) == ["sets/one/a", "sets/two/c"]
    assert len(server.asked) == 1


@pytest.mark.parametrize("pack", [tar, zipped])
def test_a_member_that_unpacks_to_too_much_is_refused(
    server: FileServer, tmp_path: Path, pack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ease.pipelines.acquire_evaluation.fetching._MAX_MEMBER_BYTES", 3_000_000)
    server.files |= {"/bomb": pack({"a": bytes(3_000_001), "b": b"small"})}
    given = source(archives=[{"url": f"{server.address}/bomb", "folder": "set", "files": "a b"}])
    (reason,) = fetch(tmp_path, task=given)["task"].values()
    assert reason.endswith("/bomb: a unpacks to more than 3,000,000 bytes.")
    assert [path.name for path in (tmp_path / "set").iterdir()] == ["b"]


def linked(*names: str) -> bytes:
    """Return a tar file of links, each to the next and the last to the first."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, target in zip(names, (*names[1:], names[0]), strict=True):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    return content.getvalue()


def test_broken_archives_and_dead_servers_do_not_stop_other_downloads(server: FileServer, tmp_path: Path) -> None:
    good = tar({"a": bytes(1 << 20)})
    broken = {
        "page": b"<html>",
        "cut": good[: len(good) // 2],
        # The fields of both headers of the file: flag 1 is encryption, 99 is no compression.
        "encrypted": zipped({"a": b"x"})
        .replace(b"PK\3\4\x14\0\0", b"PK\3\4\x14\0\1")
        .replace(b"\x14\0\0\0", b"\x14\0\1\0"),
        "compressed": zipped({"a": b"x"}).replace(b"\x14\0\0\0\0\0", b"\x14\0\0\0\x63\0"),
        "circular": linked("a", "b"),
        "bzip2": tar({"a": bytes(1 << 20)}, "w:bz2")[:-9] + bytes(9),
    }
    # In place of a file itself
    pages = {
        "error.csv": b"<!DOCTYPE html><p>Quota exceeded",
        "pointer.csv": b"version https://git-lfs.github.com/spec/v1\n",
    }
    server.files |= {f"/{name}": content for name, content in pages.items()}
    server.files["/nested"] = zipped({"a": zipped({"a": b"x"})})
    server.files |= {"/good": b"good", **{f"/{name}": content for name, content in broken.items()}}
    archives = [
        {"url": f"{server.address}/{name}", "folder": f"set/{name}", "files": "a"} for name in (*broken, "no", "nested")
    ]
    with running_server() as gone:
        dead = {"address": f"{gone.address}/", "folder": "set", "files": "dead"}
    given = source(
        archives=archives, files=[dead, *group(server, {"good": None}), *group(server, dict.fromkeys(pages))]
    )
    failed = fetch(tmp_path, task=given)["task"]
    assert (tmp_path / "set" / "good").read_bytes() == b"good"
    reasons = {"dead": "on the network", "no/a": "the server answers 404", "nested/a": "nested: a is a zip archive"}
    reasons |= {
        "error.csv": "error.csv is a web page, such as",
        "pointer.csv": "is a pointer of Git LFS",
    }
    reasons |= dict.fromkeys((f"{name}/a" for name in broken), "or is broken")
    assert failed.keys() == {f"set/{name}" for name in reasons}
    assert all(words in failed[f"set/{name}"] for name, words in reasons.items())
    assert "it is a web page" in failed["set/page/a"]
    assert not any((tmp_path / path).exists() for path in failed)
    again = fetch(tmp_path, task=given)["task"]
    assert "was not requested" in again["set/dead"], "each setting of a run fetches its sets"


def test_the_known_sources_serve_the_tasks_files(tmp_path: Path) -> None:
    """The sources provide exactly the files that their tasks read."""
    sources = read_sources()
    paths = {"sts": "sts/senteval", "stsb": "stsb", "sickr": "sick", "sts17": "sts2017", "bucc": "bucc2018"}
    paths |= dict.fromkeys(("pawsx", "pawsx_finetuned"), "pawsx/x-final")
    aligned = yaml.safe_load((CONFIGURATION / "parallel_files.yml").read_text(encoding="utf-8"))["tasks"]
    paths["parallel_files"] = aligned["parallel_files"]["path"]
    further = {"parallel_files": {"sets": aligned["parallel_files"]["sets"]}}
    assert set(sources) <= set(package_tasks())
    assert "mldoc" not in sources
    for name, found in sources.items():
        assert all(file.url.startswith("https://") for file in found.published()), name
        assert not any("{" in f"{file.url}{file.path}" for file in found.published()), name
        listed = {file.path for file in found.published()}
        folder = tmp_path / paths.get(name, name)
        for path in listed:  # some tasks list the existing files
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).touch()
        asked = {
            str(file.relative_to(tmp_path))
            for files in make_task(name, folder, **further.get(name, {})).files().values()
            for file in files
        }
        assert asked <= listed, name
        other_form = {path for path in listed - asked if name == "sts17"}
        assert listed - asked - other_form - {"sick/SICK_train.txt"} == set(), name


@pytest.mark.parametrize(("task", "files"), [("mewsc16", 24), ("stc", 5)])
def test_the_checksums_are_those_of_the_published_files(test_data: Path, task: str, files: int) -> None:
    (given,) = read_sources()[task].files
    sums = given.sha256
    assert len(sums) == files
    assert {name: sha256((test_data / "eval" / given.folder / name).read_bytes()) for name in sums} == sums


DEV = b"main-news\theadlines\t2013\t0001\t1.0\tone\ttwo\nmain-news\theadlines\t2013\t0002\t4.0\ta\tb\n"
TASKS: dict[str, Any] = {name: package_tasks()[name] for name in ("stsb", "sample_graded")}


@pytest.mark.slow
def test_missing_sets_are_named_and_downloaded_when_asked(
    server: FileServer,
    small_sample: AcquireOptions,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server.files["/sts-dev.csv"] = DEV
    files = [{**group(server, {"sts-dev.csv": None, "sts-test.csv": None})[0], "folder": "stsb"}]
    monkeypatch.setattr(nodes, "read_sources", lambda: {"stsb": source(files=files)})
    given = {"name": "s", "languages": "en", "encoder": {}, "dev_tasks": "sample_graded"}
    setting = Setting(**given, test_tasks="sample_graded")
    evaluate = EvaluateOptions(tasks="stsb:dev stsb:test sample_graded", baselines={})

    def locate(fetch: bool) -> dict[str, Any]:
        sets = EvaluationSetOptions(folder=tmp_path / "sets", fetch=fetch)
        return nodes.locate_evaluation_sets(small_sample, sets, TASKS, evaluate, setting)

    with caplog.at_level(logging.WARNING):
        located = locate(fetch=False)
    assert located["stsb"]["subsets"] == {}
    assert located["sample_graded"]["subsets"] == {"en": [""]}
    assert "stsb: 2 of 2 subsets cannot be scored: sts-dev.csv" in caplog.text
    assert not (tmp_path / "sets").exists()
    located = locate(fetch=True)
    assert located["stsb"]["subsets"] == {"dev": ["sts-dev.csv"]}
    assert (tmp_path / "sets" / "stsb" / "sts-dev.csv").read_bytes() == DEV
    assert located["stsb"]["missing"] == {"test": ["sts-test.csv"]}
    (reason,) = located["stsb"]["faults"].values()
    assert "sts-test.csv does not exist: the server answers 404" in reason, "the run fails at its end"
    assert "Evaluation set stsb: 1 of its files could not be fetched" in caplog.text
