"""From dump files to the rows of sentences, links and redirects, to their parts, and to articles as a stream."""

from __future__ import annotations

import gzip
import logging
import random
import tracemalloc
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest

from ease.errors import EaseError
from ease.wikimedia import wikipedia
from ease.wikimedia.dumps.files import DumpFile, find_dumps
from ease.wikimedia.dumps.parts import IngestOptions, spark_map
from ease.wikimedia.wikipedia import REDIRECTS, SENTENCES, SENTENCES_FILE, WikipediaParts, ingest_wikipedia, read_dump
from ease.wikimedia.wikitext.parser import Article, Link, Prose, read_prose, split_article
from ease.wikimedia.wikitext.sentences import SentenceSplitter
from tests.wikimedia.made_dumps import ONE, PACK, article, as_dump, as_streams, cut, made, make_export, make_page, rows


def test_the_rows_of_an_article(tmp_path: Path) -> None:
    text = "It is in [[Germany|the country]]. See 😀 [[berlin]]s and [[Paris#River|Paris]].\n\nNo link."
    parts = ingest_wikipedia([made(tmp_path, make_page(5, "the_title", text))], ONE, tmp_path / "parts")
    assert [pq.read_schema(path) for path in (*parts.sentences, *parts.redirects)] == [SENTENCES, REDIRECTS]
    sentences = rows(parts.sentences)
    assert [row["sentence_index"] for row in sentences] == [0, 1, 2]
    assert [row["text"] for row in sentences] == ["It is in the country.", "See 😀 berlins and Paris.", "No link."]
    links = [[(row["text"][link["start"] : link["end"]], link["target"]) for link in row["links"]] for row in sentences]
    assert links == [[("the country", "Germany")], [("berlins", "Berlin"), ("Paris", "Paris")], []]
    keys = {(row["language"], row["page_id"], row["page_title"], row["revision_id"]) for row in sentences}
    assert keys == {("en", 5, "The title", 1005)}


PAGES = [
    article(1),
    make_page(2, "Old", "#REDIRECT [[new one]]", redirect="New one"),
    make_page(3, "Older", "#redirect [[Old#part]]"),
    make_page(4, "Away", "#REDIRECT [[File:A.jpg]]", redirect="File:A.jpg"),
    make_page(5, "Berkas:A.jpg", "A file.", namespace=6),
    make_page(6, "Empty", " \n"),
    make_page(7, "Data", "{}", model="json"),
    make_page(8, "Template only", "{{box}}"),
    make_page(9, "Large", "x" * 5000),
    make_page(10, "Bad\x02title", "x"),
    make_page(11, "Broken", "x").replace("</text>", ""),
    article(12),
]


def test_skipped_pages_are_counted_by_reason(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    options = IngestOptions(workers=1, max_page_bytes=4000)
    parts = ingest_wikipedia([made(tmp_path, *PAGES)], options, tmp_path / "parts")
    counts = parts.counts["en"]
    once = "bad_title empty malformed no_sentences not_wikitext other_namespace too_large".split()
    assert counts["skipped"] == {**dict.fromkeys(once, 1), "redirect": 3}
    assert (counts["pages"], counts["articles"], counts["redirects"]) == (12, 2, 2)
    assert counts["pages"] == counts["articles"] + sum(counts["skipped"].values())
    assert (counts["sentences"], counts["links"]) == (len(rows(parts.sentences)), 4)
    redirects = [(row["source_title"], row["target_title"]) for row in rows(parts.redirects)]
    assert redirects == [("Old", "New one"), ("Older", "Old")]
    large = "'Large' is skipped: it has more than 4,000 bytes"
    assert any(large in fault for fault in counts["faults"])
    assert large in caplog.text


def fail_or_wait(text: str, *wiki: Any) -> Prose:
    while text == "wait":
        pass
    if text == "fail":
        raise RuntimeError("a bug")
    return read_prose(text, *wiki)


@patch("ease.wikimedia.wikipedia.read_prose", fail_or_wait)
@patch("ease.wikimedia.wikitext.parser.read_prose", fail_or_wait)
def test_a_page_that_fails_or_takes_too_long_is_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    dump = made(tmp_path, make_page(1, "Faulty", "fail"), article(2), make_page(3, "Slow", "wait"), article(4))
    parts = ingest_wikipedia([dump], ONE.model_copy(update={"max_page_seconds": 0.2}), tmp_path / "parts")
    counts = parts.counts["en"]
    assert counts["skipped"] == {"failed": 1, "too_slow": 1}
    assert (counts["pages"], counts["articles"]) == (4, 2)
    assert [row["page_id"] for row in rows(parts.pages)] == [1, 2, 3, 4]
    assert {row["page_id"] for row in rows(parts.sentences)} == {2, 4}
    caplog.clear()
    assert [article.page_id for article in read_dump(dump.path, max_page_seconds=0.2)] == [2, 4]
    assert "page 'Faulty' is skipped: RuntimeError: a bug" in caplog.text
    assert "page 'Slow' is skipped: it takes more than 0.2 s" in caplog.text


def test_sentences_keep_whole_links_and_lines() -> None:
    def split(text: str, *links: Link) -> tuple[list[tuple[str, list[str]]], dict[str, int]]:
        sentences, counts = split_article(Article(text, list(links)), SentenceSplitter("en"))
        return [(sentence.text, [link.target for link in sentence.links]) for sentence in sentences], dict(counts)

    text = "It is by Dr. No. It ended."
    assert split(text)[0] == [("It is by Dr.", []), ("No.", []), ("It ended.", [])]
    joined = [("It is by Dr. No.", ["Dr. No"]), ("It ended.", ["End"])]
    assert split(text, Link(9, 15, "Dr. No"), Link(19, 25, "End")) == (joined, {"boundaries_in_links": 1})
    sentences, counts = split("First line\nsecond line", Link(6, 14, "Line"), Link(0, 5, "First"))
    assert sentences == [("First line", ["First"]), ("second line", [])]
    assert counts["links_across_lines"] == 1


@pytest.mark.parametrize(("ending", "rows_per_group"), list(zip(PACK, (1, 2, 4, 1000, 3), strict=True)))
def test_stream_equals_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, rows_per_group: int) -> None:
    monkeypatch.setattr(wikipedia, "ROWS_PER_GROUP", rows_per_group)
    path = tmp_path / f"dewiki-pages-articles.xml{ending}"
    path.write_bytes(PACK[ending](make_export(PAGES, "de").encode()))
    parts = ingest_wikipedia([made(tmp_path / "plain", *PAGES, language="de")], ONE, tmp_path / "parts")
    assert [part.name for part in parts.sentences] == [SENTENCES_FILE]
    columns = [
        (article.language, article.page_id, article.title, number, sentence.text, list(map(tuple, sentence.links)))
        for article in read_dump(path)
        for number, sentence in enumerate(article.sentences("polyglot"))
    ]
    names = ("language", "page_id", "page_title", "sentence_index", "text")
    assert columns == [
        (*(row[name] for name in names), [tuple(link.values()) for link in row["links"]])
        for row in rows(parts.sentences)
    ]


def test_memory_does_not_grow_with_the_dump(tmp_path: Path) -> None:
    filler = random.Random(0).randbytes(50_000).hex()
    large = [make_page(number, f"Template:{number}", filler, namespace=10) for number in range(100, 300)]
    path = tmp_path / "enwiki-pages-articles.xml.gz"
    path.write_bytes(gzip.compress(make_export([article(1), *large, article(2)]).encode(), compresslevel=1))
    tracemalloc.start()
    assert [article.page_id for article in read_dump(path)] == [1, 2]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


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
    sentences = rows(parts.sentences)
    assert list(dict.fromkeys(row["language"] for row in sentences)) == ["it", "pt", "ko", "tr"]
    first = next(row for row in sentences if row["page_title"] == "Armonium")
    assert first["text"].startswith("L'armonium o armonio (in francese, harmonium) è uno strumento musicale")
    surfaces = [(first["text"][link["start"] : link["end"]], link["target"]) for link in first["links"]]
    assert surfaces[0] == ("strumento musicale", "Strumenti musicali")


def test_an_article_of_two_files_is_read_from_the_first(test_data: Path, tmp_path: Path) -> None:
    """Both English slices have Arthur Schopenhauer and Atlantic Ocean."""
    dumps = find_dumps(test_data / "dumps" / "wikipedia", ["en"])
    parts = ingest_wikipedia(dumps, ONE, tmp_path)
    sentences = rows(parts.sentences)
    keys = [(row["page_id"], row["sentence_index"]) for row in sentences]
    assert len(keys) == len(set(keys))
    assert len({row["revision_id"] for row in sentences if row["page_title"] == "Atlantic Ocean"}) == 1
    counts = parts.counts["en"]
    assert counts["skipped"]["repeated"] == 2
    assert counts["articles"] == len({row["page_id"] for row in sentences}) == 24 + 106 - 2
    assert counts["sentences"] == len(sentences)
    assert counts["links"] == sum(len(row["links"]) for row in sentences)
    assert counts["redirects"] == len(rows(parts.redirects)) == 101, "one of 102 redirects leads out of the articles"


def test_a_page_that_a_file_has_twice_is_kept_once_as_the_newest(tmp_path: Path) -> None:
    newer = make_page(1, "Article 1", "Newest words. Two sentences.").replace("<id>1001<", "<id>3000<")
    oldest = make_page(1, "Article 1", "Oldest words.").replace("<id>1001<", "<id>7<")
    same = make_page(4, "Article 4", "Equal revision.")
    pages = [article(1), article(2), same, newer, article(3), oldest, same, *map(article, range(10, 40)), article(1)]
    results = []
    for name, size in (("one", 1 << 20), ("sharded", 900)):
        options = IngestOptions(workers=1, bytes_per_shard=size)
        parts = ingest_wikipedia([made(tmp_path, *pages)], options, tmp_path / name)
        counts = parts.counts["en"]
        sentences = rows(parts.sentences)
        assert [row["text"] for row in sentences if row["page_id"] == 1] == ["Newest words.", "Two sentences."]
        assert [row["sentence_index"] for row in sentences if row["page_id"] == 4] == [0]
        assert counts["skipped"] == {"repeated": 4}
        assert counts["articles"] == len({row["page_id"] for row in sentences}) == len(pages) - 4
        assert counts["sentences"] == len(sentences)
        assert counts["links"] == sum(len(row["links"]) for row in sentences)
        results.append(sentences)
    assert results[0] == results[1]


def revised(page_id: int, title: str, revision: int, text: str) -> str:
    target = None
    if text.startswith("#REDIRECT"):
        target = "B"
    return make_page(page_id, title, text, redirect=target).replace(f"<id>{page_id + 1000}<", f"<id>{revision}<")


REDIRECT = "#REDIRECT [[B]]"
# Copies of pages by number, title, revision and text; the articles that stay, and the titles of the redirects.
COPIES = [
    ([(5, "A", 100, "Old."), (5, "A", 200, REDIRECT)], [], ["A"]),
    ([(5, "A", 200, REDIRECT), (5, "A", 100, "Old.")], [], ["A"]),
    ([(5, "A", 100, REDIRECT), (5, "A", 200, "New.")], [("A", "New.")], []),
    ([(5, "A", 100, "Old."), (5, "A", 200, " ")], [], []),
    ([(5, "A", 100, "Old."), (5, "A2", 200, "New.")], [("A2", "New.")], []),
    ([(5, "A", 100, "Old."), (5, "A2", 200, "New."), (9, "A", 300, REDIRECT)], [("A2", "New.")], ["A"]),
    ([(5, "A", 100, "Old."), (9, "A", 200, "New.")], [("A", "New.")], []),
    ([(5, "a_x", 100, "Old."), (9, "A x", 200, "New.")], [("A x", "New.")], []),
    ([(5, "A", 100, "Old."), (9, "A", 200, REDIRECT)], [], ["A"]),
    # Pages of programs that number none
    ([(0, "A", 100, "One."), (0, "C", 50, "Other.")], [("A", "One."), ("C", "Other.")], []),
]


@pytest.mark.parametrize("several_files", [False, True])
@pytest.mark.parametrize(("copies", "articles", "redirects"), COPIES)
def test_the_newest_copy_of_a_page_decides_whether_it_is_an_article(
    tmp_path: Path,
    copies: list[tuple[int, str, int, str]],
    articles: list[tuple[str, str]],
    redirects: list[str],
    several_files: bool,
) -> None:
    first, *others = [revised(*page) for page in copies]
    sound = revised(6, "B", 7, "It is B.")
    dumps = [made(tmp_path, first, *others, sound)]
    if several_files:
        dumps = [made(tmp_path, first, name="one"), made(tmp_path, *others, sound, name="two")]
    parts = ingest_wikipedia(dumps, ONE, tmp_path / "parts")
    found = [(row["page_title"], row["text"]) for row in rows(parts.sentences) if row["page_title"] != "B"]
    assert found == articles
    assert [row["source_title"] for row in rows(parts.redirects)] == redirects
    counts = parts.counts["en"]
    assert counts["pages"] == len(copies) + 1 == counts["articles"] + sum(counts["skipped"].values())
    assert (counts["articles"], counts["redirects"]) == (len(articles) + 1, len(redirects))


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ([article(1).replace("<text", "<slot").replace("</text", "</slot")], r"1 malformed\); .* no <text>"),
        ([article(1).replace("title>", "name>")], r"1 bad_title\)"),
        ([make_page(1, "A", "#REDIRECT [[B]]")], r"none of 1 pages is an article \(1 redirect\)\. Choose a dump"),
        ([], "none of 0 pages is an article"),
    ],
)
def test_a_dump_without_articles_is_refused(tmp_path: Path, pages: list[str], message: str) -> None:
    dump = made(tmp_path, *pages)
    with pytest.raises(EaseError, match=message):
        ingest_wikipedia([dump], ONE, tmp_path / "parts")
    with pytest.raises(EaseError, match=message):
        list(read_dump(dump.path))


def test_a_dump_that_ends_in_its_first_page_is_truncated(tmp_path: Path) -> None:
    dump = as_dump(tmp_path / "enwiki-pages-articles.xml", make_export([article(1)]).encode()[:-80])
    message = r"is truncated before the end of its first page: download it again"
    with pytest.raises(EaseError, match=message):
        ingest_wikipedia([dump], ONE, tmp_path / "parts")
    with pytest.raises(EaseError, match=message):
        list(read_dump(dump.path))


def test_one_file_of_several_without_a_readable_page_is_refused(tmp_path: Path) -> None:
    unreadable = made(tmp_path, article(1).replace("<text", "<slot").replace("</text", "</slot"), name="other")
    redirects = made(tmp_path, make_page(5, "A", "#REDIRECT [[B]]"), name="redirects")
    sound = made(tmp_path, article(2))
    assert ingest_wikipedia([sound, redirects], ONE, tmp_path / "parts").counts["en"]["articles"] == 1
    with pytest.raises(EaseError, match=r"enwiki-other-pages-articles\.xml: none of 1 pages is an article"):
        ingest_wikipedia([sound, unreadable], ONE, tmp_path / "parts")


def test_shards_and_workers_do_not_change_the_rows(tmp_path: Path, streams_dump: DumpFile) -> None:
    as_one = ingest_wikipedia([streams_dump], ONE, tmp_path / "one")
    split = {"bytes_per_shard": 1500}
    sharded = ingest_wikipedia([streams_dump], IngestOptions(workers=1, **split), tmp_path / "sharded")
    parallel = ingest_wikipedia([streams_dump], IngestOptions(workers=2, **split), tmp_path / "parallel")
    assert len(sharded.sentences) > 3
    assert rows(sharded.sentences) == rows(as_one.sentences)
    assert contents(parallel) == contents(sharded)
    assert [path.parent.name for path in parallel.sentences] == [path.parent.name for path in sharded.sentences]
    assert as_one.counts == sharded.counts == parallel.counts


@pytest.mark.spark
def test_spark_gives_the_same_rows(tmp_path: Path, streams_dump: DumpFile, spark: Any) -> None:
    options, on_spark = IngestOptions(workers=1, bytes_per_shard=5000), spark_map(spark.sparkContext)
    broken = as_dump(tmp_path / "dewiki-1-pages-articles.xml.bz2", streams_dump.path.read_bytes() + b"garbage", "de")
    on_cluster = ingest_wikipedia([streams_dump], options, tmp_path / "spark", on_spark)
    assert len(on_cluster.sentences) > 3
    assert contents(on_cluster) == contents(ingest_wikipedia([streams_dump], options, tmp_path / "here"))
    with pytest.raises(EaseError, match=r"^\S+dewiki-1-pages-articles.xml.bz2 has other data") as caught:
        ingest_wikipedia([broken], options, tmp_path / "spark", on_spark)
    assert "\n" not in str(caught.value)


def test_a_cut_file_is_kept_or_not(tmp_path: Path, streams_dump: DumpFile, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    content = streams_dump.path.read_bytes()
    cut_dump = as_dump(tmp_path / "enwiki-cut-pages-articles.xml.bz2", content[: len(content) * 2 // 3])
    sound = made(tmp_path, article(1000))
    options = IngestOptions(workers=2, bytes_per_shard=1500)
    parts = ingest_wikipedia([cut_dump, sound], options, tmp_path / "parts")
    assert f"{cut_dump.path} is truncated: the rows before the cut are kept" in caplog.text
    pages = {row["page_id"] for row in rows(parts.sentences)}
    assert pages == {*range(1, max(pages - {1000}) + 1), 1000}
    drop = options.model_copy(update={"truncated": "drop"})
    dropped = ingest_wikipedia([cut_dump, sound], drop, tmp_path / "parts")
    assert {row["page_id"] for row in rows(dropped.sentences)} == {1000}
    files = [(file["truncated"], file["used"]) for file in dropped.counts["en"]["dumps"]]
    assert files == [(True, False), (False, True)]
    with pytest.raises(EaseError, match="All dump files of language en are truncated and dropped"):
        ingest_wikipedia([cut_dump], drop, tmp_path / "parts")
