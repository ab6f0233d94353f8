"""Sentence boundaries by ICU's rules, through polyglot's tokenizer as in the papers, or through PyICU alone.

polyglot is under the GPLv3: this module alone imports it, and only for the engine `polyglot`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from importlib import metadata
from itertools import pairwise
from typing import Literal, get_args

import icu

from ease.errors import EaseError
from ease.wikimedia.languages import Language

SplitterEngine = Literal["polyglot", "icu"]
Boundaries = Callable[[str], Sequence[int]]
"""From a text to the UTF-16 offsets where its sentences end."""


class SentenceSplitter:
    """Splits texts of one language; make one and reuse it. The two engines draw the same boundaries."""

    def __init__(self, language: str, engine: SplitterEngine = "polyglot") -> None:
        """Prepare the rules of a language.

        Args:
            language: A Wikipedia's code; one that ICU does not know gets the rules common to all languages.
            engine: Which library runs ICU's rules.

        Raises:
            EaseError: The engine is unknown.
        """
        engines: dict[str, Callable[[str], Boundaries]] = {
            "polyglot": _polyglot_boundaries,
            "icu": _icu_boundaries,
        }
        if engine not in engines:
            raise EaseError(
                f"Unknown sentence splitter {engine!r}: choose {' or '.join(get_args(SplitterEngine))}."
            )
        self._boundaries = engines[engine](language)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each sentence, in characters of `text`, without the white space around it.

        A newline always ends a sentence.
        """
        if not text:
            return []
        spans = []
        for start, end in pairwise([0, *_in_characters(text, self._boundaries(text))]):
            sentence = text[start:end]
            if stripped := sentence.strip():
                left = start + len(sentence) - len(sentence.lstrip())
                spans.append((left, left + len(stripped)))
        return spans


def splitter_version(engine: SplitterEngine) -> str:
    """Return the versions of the libraries that boundaries depend on."""
    return f"{icu.ICU_VERSION} {metadata.version('polyglot')}" if engine == "polyglot" else icu.ICU_VERSION


def _icu_boundaries(language: str) -> Boundaries:
    breaker = icu.BreakIterator.createSentenceInstance(Language(language).locale)

    def boundaries(text: str) -> list[int]:
        breaker.setText(text)
        return list(breaker)

    return boundaries


def _polyglot_boundaries(language: str) -> Boundaries:
    # Never polyglot.text.Text: it runs a language detector, which fails on control characters and on "".
    from polyglot.base import Sequence as PolyglotSequence
    from polyglot.tokenize.base import SentenceTokenizer

    class LocaleSentenceTokenizer(SentenceTokenizer):
        """polyglot's tokenizer with the locale that it is given: its own always takes `Locale("locale")`."""

        def __init__(self, locale: str) -> None:
            super().__init__(locale)
            self.locale = Language(locale).locale
            self.breaker = icu.BreakIterator.createSentenceInstance(self.locale)

    tokenizer = LocaleSentenceTokenizer(language)
    return lambda text: tokenizer.transform(PolyglotSequence(text)).idx[1:]


def _in_characters(text: str, boundaries: Sequence[int]) -> Sequence[int]:
    """Offsets in UTF-16 units, as ICU counts, as offsets in characters."""
    if text.isascii() or len(text.encode("utf-16-le", "surrogatepass")) == 2 * len(text):
        return boundaries
    # The offset just behind the second unit of each character that takes two.
    doubles = [
        offset + nth + 2 for nth, offset in enumerate(i for i, char in enumerate(text) if char > "\uffff")
    ]
    return [boundary - bisect_right(doubles, boundary) for boundary in boundaries]
