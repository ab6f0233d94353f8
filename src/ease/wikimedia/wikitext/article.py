"""Prose of a page with its links, and its sentences."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ease.wikimedia.wikitext.sentences import SentenceSplitter, SplitterEngine


class Link(NamedTuple):
    """A link's text `text[start:end]`, and the normalised title that it leads to."""

    start: int
    end: int
    target: str


class Sentence(NamedTuple):
    """A sentence, its span in the article, and its links with offsets from the sentence's beginning."""

    text: str
    start: int
    end: int
    links: list[Link]


@dataclass(frozen=True)
class Article:
    """Prose of a page, with one line for each paragraph, list item and heading.

    Attributes:
        text: The prose.
        links: Links to articles of the same wiki, in order and without overlaps; offsets count code points.
        language: Wikipedia's code of the language.
    """

    text: str
    links: list[Link]
    language: str = "en"

    def sentences(self, splitter: SplitterEngine = "icu") -> list[Sentence]:
        """Split the prose into sentences.

        Args:
            splitter: The library that applies ICU's rules; `polyglot` is under the GPLv3 and finds the same sentences.
        """
        return split_article(self, _splitter(self.language, splitter))[0]


@lru_cache(maxsize=32)
def _splitter(language: str, engine: SplitterEngine) -> SentenceSplitter:
    return SentenceSplitter(language, engine)


def split_article(article: Article, splitter: SentenceSplitter) -> tuple[list[Sentence], Counter[str]]:
    """Split an article into sentences with their links.

    A link's text is never split ("[[John F. Kennedy]]"): the sentences around such a boundary are joined.

    Returns:
        The sentences; and counts of boundaries ignored inside links (`boundaries_in_links`) and of links over several
        lines, which are dropped (`links_across_lines`).
    """
    spans = splitter.spans(article.text)
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    counts: Counter[str] = Counter()
    joined: set[int] = set()
    for link in article.links:
        first, last = bisect_right(ends, link.start), bisect_left(starts, link.end) - 1
        if last > first and "\n" not in article.text[link.start : link.end]:
            joined.update(range(first, last))
    counts["boundaries_in_links"] = len(joined)
    starts = [start for index, start in enumerate(starts) if index - 1 not in joined]
    ends = [end for index, end in enumerate(ends) if index not in joined]
    sentences = [
        Sentence(article.text[start:end], start, end, []) for start, end in zip(starts, ends, strict=True)
    ]
    for link in article.links:
        first, last = bisect_right(ends, link.start), bisect_left(starts, link.end) - 1
        if first != last:
            counts["links_across_lines"] += 1
            continue
        _, start, end, links = sentences[first]
        links.append(Link(max(link.start, start) - start, min(link.end, end) - start, link.target))
    return sentences, counts
