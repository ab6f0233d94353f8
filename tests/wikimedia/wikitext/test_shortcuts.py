"""The shortcuts for common wikitext give what the general code gives, on random text."""

from __future__ import annotations

import random
from collections.abc import Iterator
from operator import add

import pytest

from ease.wikimedia.wikitext import parser
from ease.wikimedia.wikitext.article import _join_sentences, split_prose
from ease.wikimedia.wikitext.markup import GAP, cut_tables
from ease.wikimedia.wikitext.parser import parse_wikitext, read_prose
from ease.wikimedia.wikitext.prose import _AFTER_OPENING, _EMPTY, _drop_empty_brackets, join_blocks
from ease.wikimedia.wikitext.sentences import SentenceSplitter
from ease.wikimedia.wikitext.titles import SiteInfo

LINKS = "[[A]] [[a_b|c]]s [[St. X]] [[a (b)|]] [[A|'b']] [[File:x| ]] [[ :en:".split(" ")
CHARACTERS = (
    "| ( ) [ ] , : . ! ? = * # & % ~~~ /.. U.S. ß İ ა é ﬁ 😀 漢字。 ا x\u200e \x85 \xa0 \u3000".split(" ")
)
TOKENS = [*LINKS, *CHARACTERS, " ", "  ", "\t", "\n", "\n=", "Dr. A. B."]
SITES = [SiteInfo(language) for language in ("en", "ar", "tr", "ka", "zh")]


def random_texts(count: int, tokens: list[str]) -> Iterator[str]:
    generator = random.Random(count)
    for _ in range(count):
        yield "".join(generator.choices(tokens, k=generator.randint(1, 40)))


def test_plain_links_are_read_as_others(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = list(random_texts(3000, TOKENS))
    read = [parse_wikitext(source, SITES[number % len(SITES)]) for number, source in enumerate(sources)]
    assert sum(bool(article.links) for article in read) > 1000
    monkeypatch.setattr(parser, "MAX_PLAIN_LENGTH", 0)  # no title is plain
    for number, source in enumerate(sources):
        assert parse_wikitext(source, SITES[number % len(SITES)]) == read[number]


def test_links_inside_one_sentence_are_placed_as_others() -> None:
    splitter = SentenceSplitter("en", "icu")
    shortcuts = 0
    for source in random_texts(3001, TOKENS):
        prose = read_prose(source, SITES[0])
        starts, texts = splitter.split(prose.text)
        general = _join_sentences(prose, starts, list(map(add, starts, map(len, texts))))
        assert split_prose(prose, splitter) == general
        shortcuts += not general[1].total() and len(prose.starts) > 0
    assert shortcuts > 1000


def test_brackets_are_dropped_line_by_line_as_in_the_complete_text() -> None:
    changed = 0
    for text in random_texts(20_000, ["(", ")", "[", "]", "（", "）", GAP, GAP, " ", ",", "a", "\n"]):
        expected = text
        for _ in range(2):
            expected = _AFTER_OPENING.sub(rf"\1{GAP}", expected)
            for brackets in _EMPTY:
                expected = expected.replace(brackets, GAP)
        assert _drop_empty_brackets(text) == expected
        changed += text != expected
    assert changed > 1000


def test_any_white_space_becomes_one_space() -> None:
    spaces = [chr(code) for code in range(0x3001) if chr(code).isspace() and chr(code) != "\n"]
    for text in random_texts(5000, [*spaces, "a", "b", "\n", " "]):
        joined = join_blocks(text)
        assert joined == "\n".join(" ".join(line.split()) for line in joined.split("\n") if line.strip())
        assert "".join(joined.split()) == "".join(text.split())


@pytest.mark.parametrize("table", ["<TABLE border=1>", "<table>"])
def test_tables_of_html_are_cut(table: str) -> None:
    nested = f"a{table}<tr><td>b{table}c</table ></td></tr></TABLE>d</table><tablet>e</tablet>"
    assert cut_tables(nested) == f"\na{GAP}d</table><tablet>e</tablet>"
