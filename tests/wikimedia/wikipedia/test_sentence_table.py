"""The table `sentences` written from columns."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ease.wikimedia import wikipedia
from ease.wikimedia.dumps.parts import TableWriter
from ease.wikimedia.wikipedia import SENTENCES, SentencePage, SentenceTable
from ease.wikimedia.wikitext.parser import parse_wikitext, read_prose, split_article, split_prose
from ease.wikimedia.wikitext.sentences import SentenceSplitter
from ease.wikimedia.wikitext.titles import SiteInfo

LINKS_OF_ROWS = [0, 2, 1, 0, 1, 1, 1, 1]
PAGES = {
    1: "No link.",
    2: "[[Rome]] and [[Oslo|its]] end. 😀 Then [[Bern]]. None here.",
    7: "* [[One]]\n* [[St. Gallen|St. G.]] [[Two]]",
    9: "",
    8: "Last [[Łódź]].",
}


@pytest.mark.parametrize("rows_per_group", [1, 4, 1000])
def test_rows_of_columns_are_those_of_the_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_per_group: int
) -> None:
    monkeypatch.setattr(wikipedia, "ROWS_PER_GROUP", rows_per_group)
    splitter = SentenceSplitter("pl", "icu")
    expected = []
    with TableWriter(tmp_path / "sentences.parquet", SENTENCES) as writer:
        table = SentenceTable(writer, "pl")
        for number, source in PAGES.items():
            page = SentencePage(number, f"Page {number}", 10**12 + number)
            table.append(page, split_prose(read_prose(source, SiteInfo("pl")), splitter)[0])
            sentences, _ = split_article(parse_wikitext(source, "pl"), splitter)
            expected += [
                {
                    **{"language": "pl", "page_id": number, "page_title": page.title},
                    **{"revision_id": page.revision_id, "sentence_index": index, "text": sentence.text},
                    "links": [link._asdict() for link in sentence.links],
                }
                for index, sentence in enumerate(sentences)
            ]
        table.flush()
        table.flush()
    written = pq.read_table(tmp_path / "sentences.parquet")
    assert written.schema == SENTENCES
    assert written.to_pylist() == expected
    assert [len(row["links"]) for row in expected] == LINKS_OF_ROWS
