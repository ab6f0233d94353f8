"""`kedro run --pipelines=acquire` downloads, checks and lists a mirror's dumps."""

from __future__ import annotations

import bz2
import datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ease.pipelines.acquire import AcquireOptions
from ease.sample import SampleOptions, write_sample
from tests.file_server import FileServer
from tests.project import SMALL, Project, make_project
from tests.wikimedia.made_mirrors import add_dump, add_export, add_page_props, add_wikidata

DATE, WIKIDATA_DATE = "20240101", "20240108"


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Write dumps of two wikis and of Wikidata in Wikimedia's layout."""
    prefix = "acquire.sample."
    small = {name.removeprefix(prefix): value for name, value in SMALL.items() if name.startswith(prefix)}
    options = SampleOptions.model_validate(small)
    made = write_sample(tmp_path_factory.mktemp("sample"), ["en", "de"], options)
    found = {path.name[:2]: path.read_bytes() for path in made.wikipedia.glob("*.bz2")}
    tables = {f"{path.name[:2]}.table": path.read_bytes() for path in made.wikipedia.glob("*.sql.gz")}
    return {**found, **tables, "wikidata": made.wikidata.read_bytes()}


@pytest.fixture
def server(server: FileServer, dumps: dict[str, bytes]) -> FileServer:
    for language in ("en", "de"):
        add_dump(server, f"{language}wiki", DATE, dumps[language])
    add_wikidata(server, WIKIDATA_DATE, dumps["wikidata"])
    return server


@pytest.fixture
def bare(tmp_path: Path) -> Project:
    """A project without any run."""
    return make_project(tmp_path)


def acquire(project: Project, server: FileServer, pipeline: str = "acquire", **given: Any) -> None:
    mirror = {"acquire__wikipedia": server.address, "acquire__wikidata": server.address}
    project.run(pipeline, multilingual__setting__languages="en de", **mirror, **given)


@pytest.mark.slow
def test_dumps_are_downloaded_once_and_passed_on(bare: Project, server: FileServer, dumps: dict[str, bytes]) -> None:
    acquire(bare, server, "acquire,ingest", acquire__contact="me@example.org")
    found = bare.json("01_raw/multilingual/dumps.json")
    read = [
        (dump["language"], dump["dump_date"], (bare.folder / dump["path"]).read_bytes()) for dump in found["wikipedia"]
    ]
    assert read == [(language, DATE, dumps[language]) for language in ("en", "de")]
    assert found["wikidata_date"] == WIKIDATA_DATE
    assert (bare.folder / found["wikidata"]).read_bytes() == dumps["wikidata"]
    assert found["source"] == found["wikidata_source"] == server.address
    assert {headers["User-Agent"].rpartition("; ")[2] for _, headers in server.asked} == {"me@example.org)"}
    for language, counts in bare.json("02_intermediate/multilingual/page_counts.json").items():
        assert counts["pages"] == bz2.decompress(dumps[language]).count(b"<page>") > 100
    asked = len(server.asked)
    acquire(bare, server, acquire__dump_date=DATE, acquire__wikidata_date=WIKIDATA_DATE)
    sizes = [path for path, _ in server.asked[asked:] if path.endswith("bz2")]
    assert len(sizes) == 1, "Wikidata's size alone is asked for"
    assert bare.json("01_raw/multilingual/dumps.json")["wikipedia"] == found["wikipedia"]


def test_exports_and_their_page_props_are_downloaded(
    bare: Project, server: FileServer, dumps: dict[str, bytes]
) -> None:
    for language in ("en", "de"):
        add_page_props(server, f"{language}wiki", DATE, dumps[f"{language}.table"])
        add_export(server, f"{language}wiki", "2026-11-01", {"p1p90000": dumps[language]})
    acquire(bare, server, acquire__wikidata_titles="page_props", acquire__dump_date="2026-11-01")
    found = bare.json("01_raw/multilingual/dumps.json")
    assert [Path(dump["path"]).name for dump in found["wikipedia"]] == [
        f"{language}wiki-2026-11-01-p1p90000.xml.bz2" for language in ("en", "de")
    ]
    assert {dump["dump_date"] for dump in found["wikipedia"]} == {"20261101"}
    assert {table["dump_date"] for table in found["page_props"]} == {DATE}


def test_dates_of_dumps(tmp_path: Path) -> None:
    folders = {"sample_folder": tmp_path, "sample": SampleOptions(), "download_folder": tmp_path}
    given: dict[str, Any] = {"wikipedia": "sample:", "wikidata": None, **folders}
    for date in ("2024-01-31", 20240131, datetime.date(2024, 1, 31)):  # as YAML reads them
        assert AcquireOptions(**given, dump_date=date).dump_date == "20240131"
    for wrong in ("2024-13-01", "today", "20240101\n"):
        with pytest.raises(ValidationError, match="dump_date"):
            AcquireOptions(**given, dump_date=wrong)
