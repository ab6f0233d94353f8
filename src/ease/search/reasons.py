"""Why two sentences are near: entities and words that they share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import icu

from ease.search.entities import Link

WORD = 100
"""ICU's rule status of numbers; words have higher ones, spaces and punctuation lower ones."""


class Reasons(NamedTuple):
    """What two sentences share."""

    entities: list[Link]
    words: list[str]
    """In the order and spelling of the first sentence"""


def words_of(text: str) -> list[str]:
    """Split a text of any language into words and numbers, by ICU's rules and dictionaries."""
    boundaries = icu.BreakIterator.createWordInstance(icu.Locale.getRoot())
    units = icu.UnicodeString(text)  # ICU's offsets are UTF-16 units
    boundaries.setText(units)
    words, start = [], 0
    for end in boundaries:
        if boundaries.getRuleStatus() >= WORD:
            words.append(str(units[start:end]))
        start = end
    return words


def shared_words(first: str, second: str) -> list[str]:
    """Return the words of the first text that the second one has too, whatever their case; each once."""
    others = {word.casefold() for word in words_of(second)}
    shared: dict[str, str] = {}
    for word in words_of(first):
        if word.casefold() in others:
            shared.setdefault(word.casefold(), word)
    return list(shared.values())


def shared_links(first: Iterable[Link], second: Iterable[Link]) -> list[Link]:
    """Return the entities of the first sentence that the second one has too."""
    others = {link.entity for link in second}
    return [link for link in first if link.entity in others]
