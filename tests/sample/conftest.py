"""The default sample wiki, written once for all tests of this folder."""

from __future__ import annotations

import bz2
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import NamedTuple

import pytest
from lxml import etree

from ease.sample.dump_files import dump_name
from ease.sample.news.writer import SampleNews, write_sample_news
from ease.sample.options import SampleOptions
from ease.sample.wiki import Sample, SampleFiles, prepare_sample, write_sample
from ease.wikimedia.languages import PAPER_LANGUAGES


class DumpedPage(NamedTuple):
    """A page as lxml reads it from a dump."""

    title: str
    namespace: int
    redirect: str | None
    text: str


@pytest.fixture(scope="session")
def sample_files(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> SampleFiles:
    """The files, which the processes of a test run share: the first one writes them, the others wait."""
    base = tmp_path_factory.getbasetemp()
    folder = base if worker_id == "master" else base.parent
    with (folder / "sample.lock").open("wb") as lock:
        flock(lock, LOCK_EX)
        return write_sample(folder / "sample", PAPER_LANGUAGES, SampleOptions())


@pytest.fixture(scope="session")
def news_files(tmp_path_factory: pytest.TempPathFactory) -> SampleNews:
    return write_sample_news(tmp_path_factory.mktemp("news"))


@pytest.fixture(scope="session")
def sample() -> Sample:
    return prepare_sample(SampleOptions())


@pytest.fixture(scope="session")
def dumped_pages(sample_files: SampleFiles) -> dict[str, list[DumpedPage]]:
    """The pages of each dump by an independent parser."""
    return {language: read_dump(sample_files.wikipedia / dump_name(language)) for language in PAPER_LANGUAGES}


def read_dump(path: Path) -> list[DumpedPage]:
    root = etree.fromstring(bz2.decompress(path.read_bytes()))
    assert root.tag == "{http://www.mediawiki.org/xml/export-0.11/}mediawiki"
    pages = []
    for page in root.iterfind("{*}page"):
        redirect = page.find("{*}redirect")
        target = None if redirect is None else redirect.get("title")
        title, text = page.findtext("{*}title") or "", page.findtext("{*}revision/{*}text") or ""
        pages.append(DumpedPage(title, int(page.findtext("{*}ns") or 0), target, text))
    return pages


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
