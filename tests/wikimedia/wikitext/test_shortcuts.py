"""The shortcuts for common wikitext give what the general code gives, on random text."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from operator import add

import pytest

from ease.wikimedia.wikitext import parser, spans
from ease.wikimedia.wikitext.article import Prose, SentenceColumns, split_prose
from ease.wikimedia.wikitext.markup import GAP, cut_tables
from ease.wikimedia.wikitext.parser import parse_wikitext, read_prose
from ease.wikimedia.wikitext.prose import AFTER_OPENING, EMPTY_BRACKETS, drop_empty_brackets, join_blocks
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
    monkeypatch.setattr(parser, "skip_plain_links", spans.skip_plain_links)
    for number, source in enumerate(sources):
        assert parse_wikitext(source, SITES[number % len(SITES)]) == read[number]


def place_one_by_one(
    prose: Prose, starts: list[int], ends: list[int]
) -> tuple[SentenceColumns, Counter[str]]:
    """Join the sentences around boundaries inside links, and drop the links over several lines, link by link."""
    text = prose.text
    joined: set[int] = set()
    for start, end in zip(prose.starts, prose.ends, strict=True):
        first, last = bisect_right(ends, start), bisect_left(starts, end) - 1
        if last > first and "\n" not in text[start:end]:
            joined.update(range(first, last))
    starts = [start for index, start in enumerate(starts) if index - 1 not in joined]
    ends = [end for index, end in enumerate(ends) if index not in joined]
    texts = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    links: list[tuple[int, int, int, str]] = []
    for start, end, target in zip(*prose[1:], strict=True):
        first, last = bisect_right(ends, start), bisect_left(starts, end) - 1
        if first == last:
            begin = starts[first]
            links.append((first, max(start - begin, 0), min(end, ends[first]) - begin, target))
    counts = Counter(boundaries_in_links=len(joined))
    if dropped := len(prose.starts) - len(links):
        counts["links_across_lines"] = dropped
    columns = map(list, zip(*links, strict=True)) if links else ([], [], [], [])
    return SentenceColumns(starts, texts, *columns), counts


def test_links_are_placed_as_one_by_one() -> None:
    splitter = SentenceSplitter("en", "icu")
    seen: Counter[str] = Counter()
    generator = random.Random(0)
    for source in random_texts(3001, TOKENS):
        prose = read_prose(source, SITES[0])
        links = len(prose.targets)
        # The parser's links are inside lines; those of an article may be anywhere.
        random_spans = [sorted(generator.choices(range(len(prose.text) + 1), k=2)) for _ in range(links)]
        anywhere = prose._replace(
            starts=[start for start, _ in random_spans], ends=[end for _, end in random_spans]
        )
        starts, texts = splitter.split(prose.text)
        ends = list(map(add, starts, map(len, texts)))
        for placed in (prose, anywhere):
            expected = place_one_by_one(placed, starts, ends)
            assert split_prose(placed, splitter) == expected
            seen += expected[1]
        seen["links"] += links
    assert min(seen[name] for name in ("links", "boundaries_in_links", "links_across_lines")) > 300


def test_brackets_are_dropped_line_by_line_as_in_the_complete_text() -> None:
    changed = 0
    for text in random_texts(20_000, ["(", ")", "[", "]", "（", "）", GAP, GAP, " ", ",", "a", "\n"]):
        expected = text
        for _ in range(2):
            expected = AFTER_OPENING.sub(rf"\1{GAP}", expected)
            for brackets in EMPTY_BRACKETS:
                expected = expected.replace(brackets, GAP)
        assert drop_empty_brackets(text) == expected
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
