"""Prose of a page with its links, and its sentences."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from operator import add, sub
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


class Prose(NamedTuple):
    """Prose of a page, with a column for each field of its links."""

    text: str
    starts: list[int]
    ends: list[int]
    targets: list[str]


class SentenceColumns(NamedTuple):
    """Sentences of an article and their links, a column for each field; links name the index of their sentence."""

    starts: list[int]
    texts: list[str]
    link_sentences: list[int]
    link_starts: list[int]
    link_ends: list[int]
    link_targets: list[str]


def split_article(article: Article, splitter: SentenceSplitter) -> tuple[list[Sentence], Counter[str]]:
    """Split an article into sentences with their links.

    A link's text is never split ("[[John F. Kennedy]]"): the sentences around such a boundary are joined.

    Returns:
        The sentences; and counts of boundaries ignored inside links (`boundaries_in_links`) and of links over several
        lines, which are dropped (`links_across_lines`).
    """
    starts, ends, targets = map(list, zip(*article.links, strict=True)) if article.links else ([], [], [])
    columns, counts = split_prose(Prose(article.text, starts, ends, targets), splitter)
    sentences = [
        Sentence(text, start, start + len(text), [])
        for start, text in zip(columns.starts, columns.texts, strict=True)
    ]
    links = map(Link, columns.link_starts, columns.link_ends, columns.link_targets)
    for sentence, link in zip(columns.link_sentences, links, strict=True):
        sentences[sentence].links.append(link)
    return sentences, counts


def split_prose(prose: Prose, splitter: SentenceSplitter) -> tuple[SentenceColumns, Counter[str]]:
    """Split prose into sentences with their links, as `split_article` does."""
    starts, texts = splitter.split(prose.text)
    ends = list(map(add, starts, map(len, texts)))
    sentences = list(map(bisect_right, repeat(ends), prose.starts))
    if sentences == list(map(bisect_left, repeat(ends), prose.ends)):
        begin = list(map(starts.__getitem__, sentences))
        link_starts = list(map(sub, prose.starts, begin))
        if min(link_starts, default=0) >= 0:  # every link is inside one sentence
            link_ends = list(map(sub, prose.ends, begin))
            columns = SentenceColumns(starts, texts, sentences, link_starts, link_ends, prose.targets)
            return columns, Counter(boundaries_in_links=0)
    return _join_sentences(prose, starts, ends)


def _join_sentences(prose: Prose, starts: list[int], ends: list[int]) -> tuple[SentenceColumns, Counter[str]]:
    """Join the sentences around boundaries inside links, and drop the links over several lines."""
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
