"""Recognise sentences that were cut after an abbreviation: "The president of the U.S."."""

from __future__ import annotations

import re

import icu

from ease.wikimedia.languages import Language

_INITIALS = re.compile(r"(?<![\w'’])(?:[^\W\d_]\.)+$")
"""One letter and a full stop at the end, or several of them: "George W.", "U.S."."""
_LAST_WORD = re.compile(r"[^\s(\[\"'«“]+$")


class Abbreviations:
    """The abbreviations of one language: initials, and CLDR's sentence break suppressions ("Dr.", "Prof.", "bzw.")."""

    def __init__(self, language: str) -> None:
        """Load the language's data; languages without it have initials only."""
        self._words = _suppressions(Language(language).locale)

    def ends(self, sentence: str) -> bool:
        """Whether the last word of a sentence is an abbreviation."""
        if initials := _INITIALS.search(sentence):
            # Scripts without case have words of one letter.
            return initials[0].lower() != initials[0].upper()
        word = _LAST_WORD.search(sentence)
        return word is not None and word[0] in self._words


def _suppressions(locale: icu.Locale) -> frozenset[str]:
    """Return the words after which CLDR has no sentence boundary."""
    bundle = icu.ResourceBundle("ICUDATA-brkitr", locale)
    # ICU gives a language without data those of the system's language.
    if bundle.getLocale().getLanguage() != locale.getLanguage():
        return frozenset()
    try:
        words = bundle.get("exceptions").get("SentenceBreak")
    except icu.ICUError:
        return frozenset()
    return frozenset(words.getStringEx(place) for place in range(words.getSize()))
