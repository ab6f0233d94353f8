"""From dump files to the parts of the tables."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from ease.errors import EaseError
from ease.wikimedia.dumps.files import DumpFile, find_dumps
from ease.wikimedia.dumps.parts import IngestOptions, spark_map
from ease.wikimedia.wikipedia import WikipediaParts, ingest_wikipedia
from tests.wikimedia.made_dumps import ONE, article, as_dump, as_streams, cut, made, make_export, rows


def contents(parts: WikipediaParts) -> list[bytes]:
    return [path.read_bytes() for path in (*parts.sentences, *parts.redirects)]


@pytest.fixture
def streams_dump(tmp_path: Path) -> DumpFile:
    """Write a bz2 file with many streams that end anywhere, for many shards."""
    export = make_export([article(number) for number in range(1, 150)]).encode()
    return as_dump(tmp_path / "enwiki-1-pages-articles.xml.bz2", as_streams(cut(export, 2000)))


def test_the_real_slices(test_data: Path, tmp_path: Path) -> None:
    dumps = find_dumps(test_data / "dumps", ["it", "pt", "ko", "tr"])
    parts = ingest_wikipedia(dumps, ONE, tmp_path)
    articles = {language: counts["articles"] for language, counts in parts.counts.items()}
    assert articles == {"it": 607, "pt": 1, "ko": 1, "tr": 1}
    # One Italian article is a template alone.
    assert parts.counts["it"]["skipped"] == {"no_sentences": 1, "other_namespace": 75, "redirect": 64}
    found = rows(parts.sentences)
    assert list(dict.fromkeys(row["language"] for row in found)) == ["it", "pt", "ko", "tr"]
    first = next(row for row in found if row["page_title"] == "Armonium")
    assert first["text"].startswith("L'armonium o armonio (in francese, harmonium) è uno strumento musicale")
    surfaces = [(first["text"][link["start"] : link["end"]], link["target"]) for link in first["links"]]
    assert surfaces[0] == ("strumento musicale", "Strumenti musicali")


def test_an_article_of_two_files_is_read_from_the_first(test_data: Path, tmp_path: Path) -> None:
    """Both English slices have Arthur Schopenhauer and Atlantic Ocean."""
    dumps = find_dumps(test_data / "dumps", ["en"])
    parts = ingest_wikipedia(dumps, ONE, tmp_path)
    found = rows(parts.sentences)
    keys = [(row["page_id"], row["sentence_index"]) for row in found]
    assert len(keys) == len(set(keys))
    assert len({row["revision_id"] for row in found if row["page_title"] == "Atlantic Ocean"}) == 1
    counts = parts.counts["en"]
    assert counts["skipped"]["repeated"] == 2
    assert counts["articles"] == len({row["page_id"] for row in found}) == 24 + 106 - 2
    assert counts["sentences"] == len(found)
    assert counts["links"] == sum(len(row["links"]) for row in found)
    # Of the 102 pages that redirect one is outside the articles.
    assert counts["redirects"] == len(rows(parts.redirects)) == 101


def test_shards_and_workers_do_not_change_the_rows(tmp_path: Path, streams_dump: DumpFile) -> None:
    as_one = ingest_wikipedia([streams_dump], ONE, tmp_path / "one")
    split = {"bytes_per_shard": 1500}
    sharded = ingest_wikipedia([streams_dump], IngestOptions(workers=1, **split), tmp_path / "sharded")
    parallel = ingest_wikipedia([streams_dump], IngestOptions(workers=2, **split), tmp_path / "parallel")
    assert len(sharded.sentences) > 3
    assert rows(sharded.sentences) == rows(as_one.sentences)
    assert contents(parallel) == contents(sharded)
    assert [path.relative_to(tmp_path / "parallel") for path in parallel.sentences] == [
        path.relative_to(tmp_path / "sharded") for path in sharded.sentences
    ]
    assert as_one.counts == sharded.counts == parallel.counts


@pytest.mark.spark
def test_spark_gives_the_same_rows(tmp_path: Path, streams_dump: DumpFile, spark: Any) -> None:
    options, on_spark = IngestOptions(workers=1, bytes_per_shard=5000), spark_map(spark.sparkContext)
    broken = as_dump(tmp_path / "dewiki-1-pages-articles.xml.bz2", streams_dump.path.read_bytes() + b"garbage", "de")
    there = ingest_wikipedia([streams_dump], options, tmp_path / "spark", on_spark)
    assert len(there.sentences) > 3
    assert contents(there) == contents(ingest_wikipedia([streams_dump], options, tmp_path / "here"))
    with pytest.raises(EaseError, match=r"^\S+dewiki-1-pages-articles.xml.bz2 has other data") as caught:
        ingest_wikipedia([broken], options, tmp_path / "spark", on_spark)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_truncated_file_is_kept_or_dropped(
    tmp_path: Path, streams_dump: DumpFile, workers: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    content = streams_dump.path.read_bytes()
    cut_dump = as_dump(tmp_path / "enwiki-cut-pages-articles.xml.bz2", content[: len(content) * 2 // 3])
    sound = made(tmp_path, article(1000))
    options = IngestOptions(workers=workers, bytes_per_shard=1500)
    kept = ingest_wikipedia([cut_dump, sound], options, tmp_path / "parts")
    assert f"{cut_dump.path} is truncated: the rows before the cut are kept" in caplog.text
    pages = {row["page_id"] for row in rows(kept.sentences)}
    assert pages == {*range(1, max(pages - {1000}) + 1), 1000}
    drop = options.model_copy(update={"truncated": "drop"})
    dropped = ingest_wikipedia([cut_dump, sound], drop, tmp_path / "parts")
    assert {row["page_id"] for row in rows(dropped.sentences)} == {1000}
    files = [(file["truncated"], file["used"]) for file in dropped.counts["en"]["dumps"]]
    assert files == [(True, False), (False, True)]
    with pytest.raises(EaseError, match="All dump files of language en are truncated and dropped"):
        ingest_wikipedia([cut_dump], drop, tmp_path / "parts")
