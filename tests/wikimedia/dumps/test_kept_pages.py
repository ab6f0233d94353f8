"""Pages of compressed dumps are kept from the reading of templates to that of articles, and give the same rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from ease.errors import EaseError
from ease.wikimedia.dumps import kept_pages
from ease.wikimedia.dumps.files import DumpFile
from ease.wikimedia.dumps.kept_pages import KEPT_PAGES_FILE, keep_pages
from ease.wikimedia.dumps.parts import IngestOptions, joblib_map
from ease.wikimedia.wikipedia import WikipediaParts, ingest_wikipedia
from tests.wikimedia.made_dumps import article, as_dump, as_streams, cut, make_export, make_page, make_template, rows

OPTIONS = IngestOptions(workers=1, bytes_per_shard=3000, max_page_bytes=4000)
OTHERS = [
    make_page(201, "Old", "#REDIRECT [[Article 1]]", redirect="Article 1"),
    make_page(202, "Talk:Old", "Talk.", namespace=1),
    make_page(203, "Large", "x" * 5000),
    make_page(204, "Broken", "x").replace("</text>", ""),
    make_page(205, "Template:Broken", "x", namespace=10).replace("</text>", ""),
    make_page(206, "Unclosed", "x").replace("  </page>\n", ""),
    make_page(207, "User", "It is {{far|5|km}} on."),
    make_template(208, "Far", "", redirect="Convert"),
]


@pytest.fixture
def content() -> bytes:
    pages = [*map(article, range(1, 80)), *OTHERS, *map(article, range(80, 150))]
    return make_export(pages).encode()[: -len("</mediawiki>\n")]


@pytest.fixture
def packed(content: bytes, tmp_path: Path) -> DumpFile:
    return as_dump(tmp_path / "enwiki-1-pages-articles.xml.bz2", as_streams(cut(content, 3000)))


def all_rows(parts: WikipediaParts) -> list[Any]:
    return [rows(parts.sentences), rows(parts.redirects), rows(parts.pages)]


def test_kept_pages_give_the_rows_and_counts_of_the_dump(tmp_path: Path, content: bytes, packed: DumpFile) -> None:
    plain = as_dump(tmp_path / "enwiki-1-pages-articles.xml", content)
    kept = ingest_wikipedia([packed], OPTIONS, tmp_path / "kept")
    read = ingest_wikipedia([plain], OPTIONS.model_copy(update={"bytes_per_shard": 1 << 20}), tmp_path / "read")
    assert len(kept.sentences) > 3
    assert all_rows(kept) == all_rows(read)
    assert "It is 5 kilometres on." in {row["text"] for row in rows(kept.sentences)}
    counts = [dict(parts.counts["en"]) for parts in (kept, read)]
    for report in counts:
        assert report.pop("dumps")[0]["truncated"]
        report["faults"] = sorted(fault.partition(": ")[2] for fault in report["faults"])
    assert counts[0] == counts[1]
    assert counts[0]["skipped"]["too_large"] == 1
    assert list(tmp_path.rglob(KEPT_PAGES_FILE)) == []


class Interruption(Exception):
    """Ends a run between its two readings."""


def interrupted(packed: DumpFile, folder: Path) -> list[Path]:
    """Run up to the reading of the articles; return the files of kept pages."""
    calls: list[str] = []

    def map_shards(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterable[Any]:
        calls.append("")
        if len(calls) > 1:
            raise Interruption
        return joblib_map(1)(function, tasks)

    with pytest.raises(Interruption):
        ingest_wikipedia([packed], OPTIONS, folder, map_shards)
    return sorted(folder.rglob(KEPT_PAGES_FILE))


def test_the_next_run_reads_kept_pages_and_no_dump(tmp_path: Path, packed: DumpFile) -> None:
    complete = ingest_wikipedia([packed], OPTIONS, tmp_path / "complete")
    assert len(interrupted(packed, tmp_path / "parts")) == len(complete.sentences)
    with patch("ease.wikimedia.dumps.pages.scan_pages", side_effect=AssertionError):
        resumed = ingest_wikipedia([packed], OPTIONS, tmp_path / "parts")
    assert all_rows(resumed) == all_rows(complete)
    assert list(tmp_path.rglob(KEPT_PAGES_FILE)) == []


def test_pages_that_are_no_longer_kept_are_read_from_the_dump(tmp_path: Path, packed: DumpFile) -> None:
    complete = ingest_wikipedia([packed], OPTIONS, tmp_path / "complete")
    first, *_ = interrupted(packed, tmp_path / "parts")
    first.unlink()
    assert all_rows(ingest_wikipedia([packed], OPTIONS, tmp_path / "parts")) == all_rows(complete)


def test_a_disk_without_room_keeps_nothing(tmp_path: Path, packed: DumpFile, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with patch.object(kept_pages, "free_space", return_value=packed.path.stat().st_size * 2):
        assert interrupted(packed, tmp_path / "parts") == []
    assert "The dumps are decompressed twice: the disk of" in caplog.text


def test_a_disk_that_fills_up_is_reported(small_disk: Path) -> None:
    pages = ((os.urandom(100_000), "") for _ in range(100))
    with pytest.raises(EaseError, match=r"Cannot write to \S+ \(No space left on device\)"):
        list(keep_pages(pages, small_disk, {0}))
