"""Find links and sentences in a text, and which sentence has which link."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import repeat

from ease.wikimedia.wikitext.titles import SiteInfo


def skip_plain_links(
    text: str,
    position: int,
    heading_end: int,
    pieces: list[str],
    targets: list[str],
    site: SiteInfo,
    trail: re.Pattern[str],
) -> tuple[int, int]:
    """Write the next plain links, and return the position after them and one before which no token of links begins.

    The compiled form appends the text up to the last link to `pieces`, with marked links, and the links' targets to
    `targets`. It reads up to a token that is not a plain link outside headings. This form writes none.

    Args:
        text: Text of a page, read up to `position`.
        position: Where the unread text begins.
        heading_end: Links before this position are in a heading.
        pieces: Text written so far.
        targets: Normalised titles of the links written so far.
        site: The wiki.
        trail: Matches the letters after a link that belong to the link's text.
    """
    return position, position


def cut_sentences(text: str, boundaries: Sequence[int]) -> tuple[list[int], list[str]]:
    """Return the offsets and the texts between boundaries, without surrounding white space and without empty ones."""
    starts: list[int] = []
    sentences: list[str] = []
    start = 0
    for end in boundaries:
        sentence = text[start:end]
        if stripped := sentence.strip():
            outer = 0 if sentence[0] == stripped[0] else len(sentence) - len(sentence.lstrip())
            starts.append(start + outer)
            sentences.append(stripped)
        start = end
    return starts, sentences


def sentences_of_links(
    starts: list[int], ends: list[int], link_starts: list[int], link_ends: list[int]
) -> tuple[list[int], list[int]]:
    """Return the indices of each link's first and last sentence; the last is smaller for a link between sentences."""
    firsts = list(map(bisect_right, repeat(ends), link_starts))
    return firsts, [index - 1 for index in map(bisect_left, repeat(starts), link_ends)]
