"""On the sample, page_props and truthy statements give the same tables as the JSON dump."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as pads
import pytest

from ease.sample import SampleOptions, write_sample
from tests.file_server import FileServer, running_server
from tests.project import Project, make_project
from tests.wikimedia.made_mirrors import add_dump, add_page_props, add_wikidata

pytestmark = [pytest.mark.long, pytest.mark.slow]

SHORT = {"acquire__wikidata_titles": "page_props", "acquire__wikidata_types": "truthy"}
TABLES = ("sitelinks", "entity_types", "links.parquet")


@pytest.fixture(scope="module")
def by_json(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which `ingest` has run on the JSON dump."""
    made = make_project(tmp_path_factory.mktemp("json"))
    made.run("acquire,ingest")
    return made


def rows(project: Project, name: str) -> list[dict[str, Any]]:
    """Return the sorted rows of the newest version of a table."""
    found = project.latest(f"02_intermediate/multilingual/{name}")
    files = [str(found)] if found.is_file() else sorted(map(str, found.glob("*.parquet")))
    return sorted(pads.dataset(files).to_table().to_pylist(), key=repr)


@pytest.mark.parametrize("types", ["truthy", "json"])
def test_page_props_give_the_same_rows_as_the_json_dump(by_json: Project, tmp_path: Path, types: str) -> None:
    project = by_json.copy(tmp_path / "copy")
    project.run("acquire,ingest", **{**SHORT, "acquire__wikidata_types": types})
    for name in TABLES:
        assert len(project.versions(f"02_intermediate/multilingual/{name}")) == 2
        assert rows(project, name) == rows(by_json, name)
        assert len(rows(project, name)) > 300
    dumps = project.json("01_raw/multilingual/dumps.json")
    assert [file["language"] for file in dumps["page_props"]] == ["en", "ja", "ar", "de"]
    assert all(Path(file["path"]).name.endswith("-page_props.sql.gz") for file in dumps["page_props"])
    assert dumps["wikidata"].endswith("truthy-BETA.nt.bz2" if types == "truthy" else "all.json.bz2")
    counts = project.json("02_intermediate/multilingual/wikidata_counts.json")
    assert (
        counts["sitelinks"] == by_json.json("02_intermediate/multilingual/wikidata_counts.json")["sitelinks"]
    )
    assert {language: report["broken_rows"] for language, report in counts["page_props"].items()} == {
        language: 0 for language in ("en", "ja", "ar", "de")
    }
    assert (counts["types"]["broken_lines"], counts["types"]["truncated"]) == (0, False)


def test_page_props_need_no_wikidata_dump(by_json: Project, tmp_path: Path) -> None:
    project = by_json.copy(tmp_path / "copy")
    done = project.run("acquire,ingest", **{**SHORT, "acquire__wikidata": "null"})
    assert "items have no types, and there are no hard negatives" in done.stderr
    assert rows(project, "entity_types") == []
    for name in ("sitelinks", "links.parquet"):
        assert rows(project, name) == rows(by_json, name)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FileServer]:
    """A mirror with dumps of two wikis, their page_props, and Wikidata's truthy statements."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    small = SampleOptions(
        territories=60, sentences_per_language=100, parallel_facts=20, graded_pairs=12, graded_territories=6
    )
    made = write_sample(tmp_path / "made", ["en", "de"], small)
    with running_server() as running:
        for language in ("en", "de"):
            (pages,) = made.wikipedia.glob(f"{language}wiki-*.xml.bz2")
            (table,) = made.wikipedia.glob(f"{language}wiki-*.sql.gz")
            add_dump(running, f"{language}wiki", "20240101", pages.read_bytes())
            add_page_props(running, f"{language}wiki", "20240101", table.read_bytes())
        add_wikidata(running, "20240103", made.truthy.read_bytes(), form="truthy-BETA.nt")
        yield running


def test_the_files_of_a_mirror_are_downloaded_and_read(tmp_path: Path, server: FileServer) -> None:
    project = make_project(tmp_path)
    mirror = {"acquire__wikipedia": server.address, "acquire__wikidata": server.address}
    project.run("acquire,ingest", **mirror, **SHORT, multilingual__setting__languages="en de")
    dumps = project.json("01_raw/multilingual/dumps.json")
    folder = "data/01_raw/dumps"
    assert [file["path"] for file in dumps["page_props"]] == [
        f"{folder}/{language}wiki/20240101/{language}wiki-20240101-page_props.sql.gz"
        for language in ("en", "de")
    ]
    assert (
        dumps["wikidata"] == f"{folder}/wikidatawiki/entities/20240103/wikidata-20240103-truthy-BETA.nt.bz2"
    )
    assert not any("all.json" in path for path, _ in server.asked)
    assert {row["language"] for row in rows(project, "sitelinks")} == {"en", "de"}
    assert len(rows(project, "entity_types")) > 200
