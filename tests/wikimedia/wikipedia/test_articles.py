"""The rows of pages, links in sentences, and articles as a stream."""

from __future__ import annotations

import gzip
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ease.wikimedia import wikipedia
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikipedia import REDIRECTS, SENTENCES, SENTENCES_FILE, ingest_wikipedia, read_dump
from ease.wikimedia.wikitext.parser import Article, Link, Prose, read_prose, split_article
from ease.wikimedia.wikitext.sentences import SentenceSplitter
from tests.wikimedia.made_dumps import ONE, PACK, article, made, make_export, make_page, rows


def test_the_rows_of_an_article(tmp_path: Path) -> None:
    text = "It is in [[Germany|the country]]. See 😀 [[berlin]]s and [[Paris#River|Paris]].\n\nNo link."
    parts = ingest_wikipedia([made(tmp_path, make_page(5, "the_title", text))], ONE, tmp_path / "parts")
    assert [pq.read_schema(path) for path in (*parts.sentences, *parts.redirects)] == [SENTENCES, REDIRECTS]
    found = rows(parts.sentences)
    assert [(row["sentence_index"], row["text"]) for row in found] == [
        (0, "It is in the country."),
        (1, "See 😀 berlins and Paris."),
        (2, "No link."),
    ]
    links = [[(row["text"][link["start"] : link["end"]], link["target"]) for link in row["links"]] for row in found]
    assert links == [[("the country", "Germany")], [("berlins", "Berlin"), ("Paris", "Paris")], []]
    assert {(row["language"], row["page_id"], row["page_title"], row["revision_id"]) for row in found} == {
        ("en", 5, "The title", 1005)
    }


def test_skipped_pages_are_counted_by_reason(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pages = [
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
    ]
    options = IngestOptions(workers=1, max_page_bytes=4000)
    parts = ingest_wikipedia([made(tmp_path, *pages)], options, tmp_path / "parts")
    counts = parts.counts["en"]
    once = "bad_title empty malformed no_sentences not_wikitext other_namespace too_large".split()
    assert counts["skipped"] == {**dict.fromkeys(once, 1), "redirect": 3}
    assert (counts["pages"], counts["articles"], counts["redirects"]) == (11, 1, 2)
    assert counts["pages"] == counts["articles"] + sum(counts["skipped"].values())
    assert (counts["sentences"], counts["links"]) == (len(rows(parts.sentences)), 2)
    assert [(row["source_title"], row["target_title"]) for row in rows(parts.redirects)] == [
        ("Old", "New one"),
        ("Older", "Old"),
    ]
    large = "'Large' is skipped: it has more than 4,000 bytes"
    assert any(large in fault for fault in counts["faults"])
    assert large in caplog.text


@pytest.fixture
def _faulty_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail on pages with the text "fail", and never end on pages with the text "wait"."""

    def fail(text: str, *wiki: Any) -> Prose:
        while text == "wait":
            pass
        if text == "fail":
            raise RuntimeError("a bug")
        return read_prose(text, *wiki)

    monkeypatch.setattr("ease.wikimedia.wikipedia.read_prose", fail)
    monkeypatch.setattr("ease.wikimedia.wikitext.parser.read_prose", fail)


@pytest.mark.usefixtures("_faulty_parser")
def test_a_page_that_fails_or_takes_too_long_is_counted_named_and_skipped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dump = made(tmp_path, make_page(1, "Faulty", "fail"), article(2), make_page(3, "Slow", "wait"), article(4))
    parts = ingest_wikipedia([dump], ONE.model_copy(update={"max_page_seconds": 0.2}), tmp_path / "parts")
    counts = parts.counts["en"]
    assert counts["skipped"] == {"failed": 1, "too_slow": 1}
    assert (counts["pages"], counts["articles"]) == (4, 2)
    assert [row["page_id"] for row in rows(parts.pages)] == [1, 2, 3, 4]
    assert {row["page_id"] for row in rows(parts.sentences)} == {2, 4}
    caplog.clear()
    assert [one.page_id for one in read_dump(dump.path, max_page_seconds=0.2)] == [2, 4]
    assert "page 'Faulty' is skipped: RuntimeError: a bug" in caplog.text
    assert "page 'Slow' is skipped: it takes more than 0.2 s" in caplog.text


def split(text: str, *links: Link) -> tuple[list[tuple[str, list[str]]], dict[str, int]]:
    sentences, counts = split_article(Article(text, list(links)), SentenceSplitter("en"))
    return [(one.text, [link.target for link in one.links]) for one in sentences], dict(counts)


def test_a_boundary_inside_a_link_joins_the_sentences() -> None:
    text = "It is by Dr. No. It ended."
    assert split(text)[0] == [("It is by Dr.", []), ("No.", []), ("It ended.", [])]
    found, counts = split(text, Link(9, 15, "Dr. No"), Link(len(text) - 6, len(text), "End"))
    assert found == [("It is by Dr. No.", ["Dr. No"]), ("It ended.", ["End"])]
    assert counts == {"boundaries_in_links": 1}


def test_a_link_over_two_lines_is_left_out() -> None:
    found, counts = split("First line\nsecond line", Link(6, 14, "Line"), Link(0, 5, "First"))
    assert found == [("First line", ["First"]), ("second line", [])]
    assert counts["links_across_lines"] == 1


PAGES = [
    make_page(5, "the_title", "It is in [[Germany|the country]]. See [[berlin]]s.\n\nNo link."),
    make_page(2, "Old", "#REDIRECT [[new one]]", redirect="New one"),
    make_page(3, "Older", "#redirect [[Old#part]]"),
    make_page(6, "File:A.jpg", "A file.", namespace=6),
    make_page(7, "Data", "{}", model="json"),
    make_page(8, "Template only", "{{box}}"),
    article(9),
]


@pytest.mark.parametrize(("ending", "rows_per_group"), list(zip(PACK, (1, 2, 4, 1000), strict=True)))
def test_the_stream_agrees_with_the_ingested_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, rows_per_group: int
) -> None:
    monkeypatch.setattr(wikipedia, "ROWS_PER_GROUP", rows_per_group)
    path = tmp_path / f"dewiki-pages-articles.xml{ending}"
    path.write_bytes(PACK[ending](make_export(PAGES, "de").encode()))
    parts = ingest_wikipedia([made(tmp_path / "plain", *PAGES, language="de")], ONE, tmp_path / "parts")
    assert [part.name for part in parts.sentences] == [SENTENCES_FILE]
    found = [
        (one.language, one.page_id, one.title, number, sentence.text, list(map(tuple, sentence.links)))
        for one in read_dump(path)
        for number, sentence in enumerate(one.sentences("polyglot"))
    ]
    names = ("language", "page_id", "page_title", "sentence_index", "text")
    assert found == [
        (*(row[name] for name in names), [tuple(link.values()) for link in row["links"]])
        for row in rows(parts.sentences)
    ]


def test_memory_does_not_grow_with_the_dump(tmp_path: Path) -> None:
    filler = random.Random(0)
    large = [
        make_page(number, f"Template:{number}", filler.randbytes(50_000).hex(), namespace=10)
        for number in range(100, 300)
    ]
    path = tmp_path / "enwiki-pages-articles.xml.gz"
    path.write_bytes(gzip.compress(make_export([article(1), *large, article(2)]).encode(), compresslevel=1))
    tracemalloc.start()
    assert [one.page_id for one in read_dump(path)] == [1, 2]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20
