"""Prose of a page with its links, and its sentences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, compress
from operator import add, eq, sub
from typing import NamedTuple

from ease.wikimedia.wikitext.markup import LINK_END, LINK_START
from ease.wikimedia.wikitext.passes import sentences_of_links
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


def place_links(text: str, targets: list[str]) -> Prose:
    """Return the prose of a text in which marks enclose the links, and the links' offsets without the marks."""
    pieces = text.replace(LINK_END, LINK_START).split(LINK_START)
    bounds = list(accumulate(map(len, pieces)))
    starts, ends, surfaces = bounds[:-1:2], bounds[1::2], pieces[1::2]
    if len(surfaces) != len(targets):
        raise ValueError(f"{len(targets)} links have {len(surfaces)} marks")
    if (words := list(map(str.strip, surfaces))) != surfaces:
        starts = [
            start + len(surface) - len(surface.lstrip())
            for start, surface in zip(starts, surfaces, strict=True)
        ]
        ends = [start + len(word) for start, word in zip(starts, words, strict=True)]
        # An empty surface is not a link.
        starts, ends = list(compress(starts, words)), list(compress(ends, words))
        targets = list(compress(targets, words))
    return Prose("".join(pieces), starts, ends, targets)


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
    text, link_starts, link_ends, targets = prose
    starts, texts = splitter.split(text)
    ends = list(map(add, starts, map(len, texts)))
    firsts, lasts = sentences_of_links(starts, ends, link_starts, link_ends)
    joined: set[int] = set()
    if firsts != lasts:
        for first, last, start, end in zip(firsts, lasts, link_starts, link_ends, strict=True):
            if last > first and "\n" not in text[start:end]:
                joined.update(range(first, last))
        if joined:
            starts = [start for index, start in enumerate(starts) if index - 1 not in joined]
            ends = [end for index, end in enumerate(ends) if index not in joined]
            texts = [text[start:end] for start, end in zip(starts, ends, strict=True)]
            firsts, lasts = sentences_of_links(starts, ends, link_starts, link_ends)
    counts = Counter(boundaries_in_links=len(joined))
    if firsts != lasts:
        inside = list(map(eq, firsts, lasts))
        counts["links_across_lines"] = inside.count(False)
        firsts, targets = list(compress(firsts, inside)), list(compress(targets, inside))
        link_starts, link_ends = list(compress(link_starts, inside)), list(compress(link_ends, inside))
    begin = list(map(starts.__getitem__, firsts))
    # White space around a sentence is not part of it.
    link_starts = list(map(sub, map(max, link_starts, begin), begin))
    link_ends = list(map(sub, map(min, link_ends, map(ends.__getitem__, firsts)), begin))
    return SentenceColumns(starts, texts, firsts, link_starts, link_ends, targets), counts
