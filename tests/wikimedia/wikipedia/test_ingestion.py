"""From dump files to the parts of the tables."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ease.errors import EaseError
from ease.wikimedia.dumps.files import DumpFile, find_dumps
from ease.wikimedia.dumps.parts import IngestOptions, spark_map
from ease.wikimedia.dumps.streams import DecompressedStream
from ease.wikimedia.wikipedia import WikipediaParts, ingest_wikipedia
from tests.wikimedia.made_dumps import ONE, article, as_dump, as_streams, cut, made, make_export, rows


def contents(parts: WikipediaParts) -> list[bytes]:
    return [path.read_bytes() for path in (*parts.sentences, *parts.redirects)]


@pytest.fixture
def streams_dump(tmp_path: Path) -> DumpFile:
    """Write a bz2 file with many streams that end anywhere, for many shards."""
    export = make_export([article(number) for number in range(1, 150)]).encode()
    return as_dump(tmp_path / "enwiki-1-pages-articles.xml.bz2", as_streams(cut(export, 2000)))


@pytest.fixture(scope="module")
def parts_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the Italian slice is parsed once."""
    return tmp_path_factory.mktemp("parts")


def table(paths: Sequence[Path]) -> pa.Table:
    return pa.concat_tables(map(pq.read_table, paths))


def test_the_real_slices(test_data: Path, parts_folder: Path) -> None:
    dumps = find_dumps(test_data / "dumps", ["it", "pt", "ko", "tr"])
    parts = ingest_wikipedia(dumps, ONE, parts_folder)
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
    broken = as_dump(
        tmp_path / "dewiki-1-pages-articles.xml.bz2", streams_dump.path.read_bytes() + b"garbage", "de"
    )
    there = ingest_wikipedia([streams_dump], options, tmp_path / "spark", on_spark)
    assert len(there.sentences) > 3
    assert contents(there) == contents(ingest_wikipedia([streams_dump], options, tmp_path / "here"))
    with pytest.raises(
        EaseError, match=r"^\S+dewiki-1-pages-articles.xml.bz2 has other data after"
    ) as caught:
        ingest_wikipedia([broken], options, tmp_path / "spark", on_spark)
    assert "\n" not in str(caught.value)


def test_files_of_all_namespaces_give_the_rows_of_the_articles(
    test_data: Path, tmp_path: Path, parts_folder: Path
) -> None:
    """Two files, each a complete export, in which every page is followed by a talk, user, template or module page."""
    (dump,) = find_dumps(test_data / "dumps", ["it"])
    export = b"".join(block for _, block in DecompressedStream(dump.path))
    header, pages = export[: export.index(b"<page>")], re.findall(rb"<page>.*?</page>", export, re.DOTALL)
    others = itertools.cycle([(b"Discussione", 1), (b"Utente", 2), (b"Template", 10), (b"Modulo", 828)])
    mixed = []
    for number, page in enumerate(pages):
        name, namespace = next(others)
        other = page.replace(b"<title>", b"<title>%s:" % name, 1).replace(b"[[", b"<unclosed>", 1)
        other = re.sub(rb"<id>\d+", b"<id>%d" % (10**9 + number), other, count=1)
        mixed += [page, re.sub(rb"<ns>\d+", b"<ns>%d" % namespace, other, count=1)]
    files = [
        as_dump(tmp_path / f"{name}.xml", header + b"\n".join(some) + b"</mediawiki>", "it")
        for name, some in {"p1p700": mixed[:700], "p701p9999": mixed[700:]}.items()
    ]
    expected, found = (ingest_wikipedia(some, ONE, parts_folder) for some in ([dump], files))
    assert table(found.sentences).equals(table(expected.sentences))
    assert table(found.redirects).equals(table(expected.redirects))
    assert [row for row in rows(found.pages) if row["page_id"] < 10**9] == rows(expected.pages)
    assert len(rows(found.pages)) == 2 * len(pages) == found.counts["it"]["pages"]
    assert found.counts["it"]["skipped"] == {
        "no_sentences": 1,
        "other_namespace": 75 + len(pages),
        "redirect": 64,
    }

    cut = files[1].path.read_bytes()[:-3000]
    files[1].path.write_bytes(cut)
    kept = ingest_wikipedia(files, ONE, parts_folder)
    assert [file["truncated"] for file in kept.counts["it"]["dumps"]] == [False, True]
    sentences = table(kept.sentences)
    assert sentences.equals(table(expected.sentences)[: len(sentences)])
    assert 0 <= 2 * len(pages) - len(rows(kept.pages)) < 5


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
    assert [(file["truncated"], file["used"]) for file in dropped.counts["en"]["dumps"]] == [
        (True, False),
        (False, True),
    ]
    with pytest.raises(EaseError, match="All dump files of language en are truncated and dropped"):
        ingest_wikipedia([cut_dump], drop, tmp_path / "parts")
