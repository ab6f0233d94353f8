"""Sentences of real articles as people read them, written by hand from their wikitext.

`data/sentences_by_hand.tsv` has passages of the dumps below `EASE_TEST_DATA`, drawn at random: most have templates that
write words, the others are ordinary. They are text of Wikipedia's authors (the column `page` names the article), under
CC BY-SA 3.0 (before June 2023) and 4.0. Quantities are written with the name of their unit, without the conversion.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ease.wikimedia.wikitext.parser import parse_wikitext
from ease.wikimedia.wikitext.titles import SiteInfo

FILE = Path(__file__).parent / "data" / "sentences_by_hand.tsv"


class Passage(NamedTuple):
    """A line of the file."""

    language: str
    page: str
    wikitext: str
    text: str


def read_passages() -> list[Passage]:
    header, *lines = FILE.read_text("utf-8").splitlines()
    assert tuple(header.split("\t")) == Passage._fields
    return [Passage(*line.split("\t")) for line in lines]


def normalized(text: str) -> str:
    """Return a text with plain spaces."""
    return " ".join(text.split())


def test_at_least_98_percent_are_read_as_written_by_hand() -> None:
    passages = read_passages()
    wrong = [
        (passage.text, read)
        for passage in passages
        if (read := normalized(parse_wikitext(passage.wikitext, SiteInfo(passage.language)).text))
        != normalized(passage.text)
    ]
    assert len(set(passages)) == len(passages) >= 300
    assert len(wrong) <= 0.02 * len(passages), wrong
