"""`kedro run --pipelines=acquire` downloads, checks and lists a mirror's dumps."""

from __future__ import annotations

import bz2
import datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ease.errors import EaseError
from ease.pipelines.acquire.nodes import locate_dumps
from ease.pipelines.ingest.nodes import parse_wikipedia
from ease.pipelines.options import AcquireOptions, CachedIngestOptions
from ease.pipelines.setting import Setting
from ease.sample.options import SampleOptions
from ease.sample.wiki import write_sample
from tests.file_server import FileServer
from tests.project import SMALL, make_project
from tests.wikimedia.made_mirrors import add_dump, add_wikidata

DATE, WIKIDATA_DATE = "20240101", "20240108"


def options(folder: Path, **given: Any) -> AcquireOptions:
    folders = {"sample_folder": folder, "sample": SampleOptions(), "download_folder": folder}
    return AcquireOptions(**{"wikipedia": "sample:", "wikidata": None, **folders, **given})


def setting(languages: str) -> Setting:
    return Setting(name="s", languages=languages, encoder={}, dev_tasks=(), test_tasks=())


@pytest.mark.slow
def test_dumps_are_downloaded_and_passed_on(tmp_path: Path, server: FileServer) -> None:
    prefix = "acquire.sample."
    small = {name.removeprefix(prefix): value for name, value in SMALL.items() if name.startswith(prefix)}
    sample = write_sample(tmp_path / "sample", ["en", "de"], SampleOptions.model_validate(small))
    dumps = {path.name[:2]: path.read_bytes() for path in sample.wikipedia.glob("*.bz2")}
    for language, content in dumps.items():
        add_dump(server, f"{language}wiki", DATE, content)
    add_wikidata(server, WIKIDATA_DATE, sample.wikidata.read_bytes())
    made = make_project(tmp_path / "project")
    mirror = {"acquire__wikipedia": server.address, "acquire__wikidata": server.address}
    given = {"multilingual__setting__languages": "en de", "acquire__contact": "me@example.org"}
    made.run("acquire,ingest", **mirror, **given)
    found = made.json("01_raw/multilingual/dumps.json")
    read = [
        (dump["language"], dump["dump_date"], (made.folder / dump["path"]).read_bytes()) for dump in found["wikipedia"]
    ]
    assert read == [(language, DATE, dumps[language]) for language in ("en", "de")]
    assert found["wikidata_date"] == WIKIDATA_DATE
    assert (made.folder / found["wikidata"]).read_bytes() == sample.wikidata.read_bytes()
    assert found["source"] == found["wikidata_source"] == server.address
    assert {headers["User-Agent"].rpartition("; ")[2] for _, headers in server.asked} == {"me@example.org)"}
    for language, counts in made.json("02_intermediate/multilingual/page_counts.json").items():
        assert counts["pages"] == bz2.decompress(dumps[language]).count(b"<page>") > 100


def test_several_languages_without_items_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EaseError, match=r"identifies the same entity .*Give a Wikidata JSON dump, .* or give one lang"):
        locate_dumps(options(tmp_path), setting("en de"))


def test_dumps_of_other_languages_are_refused(tmp_path: Path) -> None:
    parsing: Any = CachedIngestOptions(parts=str(tmp_path))
    listed = [{"path": "a", "language": language, "dump_date": None} for language in ("en", "ja", "ar")]
    words = "The located dumps are of en ja ar, but `s.setting.languages` are en ja: run `acquire` with these"
    with pytest.raises(EaseError, match=words):
        parse_wikipedia({"wikipedia": listed}, parsing, setting("en ja"), "duckdb")


def test_dates_of_dumps(tmp_path: Path) -> None:
    for date in ("2024-01-31", 20240131, datetime.date(2024, 1, 31)):  # as YAML reads them
        assert options(tmp_path, dump_date=date).dump_date == "20240131"
    for wrong in ("2024-13-01", "today", "20240101\n"):
        with pytest.raises(ValidationError, match="dump_date"):
            options(tmp_path, dump_date=wrong)


def test_a_date_that_cannot_choose_a_dump_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for date in ("20230101", "20240101"):
        (tmp_path / f"enwiki-{date}-pages-articles.xml").write_text("<mediawiki/>", encoding="utf-8")
    located = locate_dumps(options(tmp_path, wikipedia=str(tmp_path), dump_date="2023-01-01"), setting("en"))
    assert located["wikipedia"][0]["dump_date"] == "20240101"
    assert "`acquire.dump_date` 20230101 has no effect" in caplog.text
