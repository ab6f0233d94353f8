"""Items of pages from the wikis' page_props tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ease.errors import EaseError
from ease.wikimedia.dumps.files import DumpFile
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.languages import Language
from ease.wikimedia.wikidata import PageItemParts, find_page_props, ingest_page_props
from tests.wikimedia.made_dumps import rows
from tests.wikimedia.made_tables import dump, insert, item, write


def ingest(folder: Path, content: bytes, languages: tuple[str, ...] = ("en",), **options: Any) -> PageItemParts:
    for language in languages:
        write(folder, content, f"{Language(language).database}wiki-20240101-page_props.sql.gz")
    files = find_page_props([folder], dict.fromkeys(languages))
    return ingest_page_props(files, IngestOptions(**{"workers": 1, **options}), folder / "parts")


def pairs(parts: PageItemParts) -> list[tuple[int, int]]:
    return [(row["page_id"], row["qid"]) for row in rows(parts.page_items)]


def test_items_of_pages_by_language(tmp_path: Path) -> None:
    parts = ingest(tmp_path, dump(insert(item(1, 5), b"(1,'x','y',NULL)", item(2, 64))), ("en", "be-tarask"))
    assert rows(parts.page_items) == [
        {"language": language, "page_id": page, "qid": qid}
        for language in ("en", "be-tarask")
        for page, qid in ((1, 5), (2, 64))
    ]
    file = "enwiki-20240101-page_props.sql.gz"
    counts = {"page_items": 2, "broken_rows": 0, "truncated": False, "file": file, "date": "20240101"}
    assert parts.counts["en"] == counts


def test_a_truncated_file_is_kept_or_dropped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cut = dump(insert(item(1, 1)), insert(item(2, 2), item(3, 3))).partition(b",NULL);\n/*")[0]
    parts = ingest(tmp_path, cut)
    assert pairs(parts) == [(1, 1), (2, 2)]
    counts = parts.counts["en"]
    assert (counts["truncated"], counts["broken_rows"]) == (True, 0)
    assert "enwiki-20240101-page_props.sql.gz is truncated" in caplog.text
    with pytest.raises(EaseError, match="is truncated: download it again, or set `truncated`"):
        ingest(tmp_path, cut, truncated="drop")


def test_workers_change_nothing(tmp_path: Path) -> None:
    content = dump(*(insert(*(item(page, page * 7 + part) for page in range(1, 50))) for part in range(4)))
    one, two = (ingest(tmp_path / str(workers), content, ("en", "de"), workers=workers) for workers in (1, 2))
    assert [path.read_bytes() for path in two.page_items] == [path.read_bytes() for path in one.page_items]


def found(folder: Path, *languages: str) -> list[tuple[str, str, str | None]]:
    files: list[DumpFile] = find_page_props([folder], dict.fromkeys(languages))
    return [(file.language, str(file.path.relative_to(folder)), file.dump_date) for file in files]


def test_finds_the_newest_and_fastest_file_of_each_language(tmp_path: Path) -> None:
    for name in (
        "enwiki/20240101/enwiki-20240101-page_props.sql.gz",
        "enwiki/20240201/enwiki-20240201-page_props.sql.gz",
        "enwiki/20240201/enwiki-20240201-page_props.sql",
        "20231201/be_x_oldwiki-latest-page_props.sql.bz2",
        "enwikinews-20240301-page_props.sql.gz",
        "enwiki-20240301-page.sql.gz",
        "simplewiki-20240301-page_props.sql",
    ):
        write(tmp_path, b"", name)
    assert found(tmp_path, "be-tarask", "en") == [
        ("be-tarask", "20231201/be_x_oldwiki-latest-page_props.sql.bz2", "20231201"),
        ("en", "enwiki/20240201/enwiki-20240201-page_props.sql", "20240201"),
    ]
    with pytest.raises(EaseError, match=rf"no page_props table of de, fr in {tmp_path}: .*`wikidata_titles` to json"):
        found(tmp_path, "en", "de", "fr")
    write(tmp_path, b"", "enwiki-latest-page_props.sql.gz")
    with pytest.raises(EaseError, match=r"20240201-page_props.sql.*, and one without, \S+latest-page_props"):
        found(tmp_path, "en")
