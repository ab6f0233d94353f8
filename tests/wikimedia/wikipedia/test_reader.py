"""Articles of a dump as a stream."""

from __future__ import annotations

import gzip
import random
import tracemalloc
from pathlib import Path

import pytest

from ease.wikimedia import wikipedia
from ease.wikimedia.wikipedia import SENTENCES_FILE, ingest_wikipedia, read_dump
from tests.wikimedia.made_dumps import ONE, PACK, article, made, make_export, make_page, rows

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
        (
            one.language,
            one.page_id,
            one.title,
            number,
            sentence.text,
            [tuple(link) for link in sentence.links],
        )
        for one in read_dump(path)
        for number, sentence in enumerate(one.sentences("polyglot"))
    ]
    expected = [
        (
            row["language"],
            row["page_id"],
            row["page_title"],
            row["sentence_index"],
            row["text"],
            [tuple(link.values()) for link in row["links"]],
        )
        for row in rows(parts.sentences)
    ]
    assert found == expected


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
