"""Split text into sentences by ICU's rules, with polyglot's tokenizer as in the papers, or with ICU only.

ICU comes with PyICU, which pip compiles, or else with icu4py, whose wheels contain a newer ICU: on slices of seven
Wikipedias, 41 of 162,665 boundaries differ (ICU 72.1 and 78.3), 33 of them in Ukrainian.

polyglot is under the GPLv3. Only this module imports polyglot, and only for the engine `polyglot`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Literal

from ease.errors import EaseError
from ease.wikimedia.languages import Language
from ease.wikimedia.wikitext.passes import cut_sentences

SplitterEngine = Literal["polyglot", "icu"]
_Boundaries = Callable[[str], Sequence[int]]
"""Function that returns the UTF-16 offsets of a text's sentence ends."""
# An abbreviation after an opening bracket, as of a language in `(англ. John)`, up to the next word of the line.
_ABBREVIATION = re.compile(r"\(([^\W\d_][\w.-]{0,12}\.)[^\S\n]+(?=\S)")
_WIDE = re.compile("[\U00010000-\U0010ffff]")
_NOT_INSTALLED = (
    "The sentence splitter polyglot is not installed: choose icu (`ingest.splitter=icu`), which finds the same "
    "sentences, or install polyglot with pip."
)


class SentenceSplitter:
    """Splits texts of one language; reusable. The engines find the same boundaries."""

    def __init__(self, language: str, engine: SplitterEngine = "polyglot") -> None:
        """Load the rules of a language.

        Args:
            language: Wikipedia's code; languages unknown to ICU get its general rules.
            engine: Library that applies ICU's rules.

        Raises:
            EaseError: The engine is unknown, or its library is not installed.
        """
        engines = {"polyglot": _polyglot_boundaries, "icu": _icu_boundaries}
        if engine not in engines:
            raise EaseError(f"Unknown sentence splitter {engine!r}: choose {' or '.join(engines)}.")
        self._boundaries = engines[engine](language)

    def split(self, text: str) -> tuple[list[int], list[str]]:
        """Return the offsets in characters and the texts of the sentences, without surrounding white space.

        A newline always ends a sentence. An abbreviation in small letters after an opening bracket ends none.
        """
        if not text:
            return [], []
        boundaries = self._boundaries(text)
        # ICU counts UTF-16 units, of which characters beyond U+FFFF have two.
        if not text.isascii() and len(text.encode("utf-16-le", "surrogatepass")) != 2 * len(text):
            wide_places = [wide.start() for wide in _WIDE.finditer(text)]
            # Offset in UTF-16 units after each wide character.
            wide_ends = [place + index + 2 for index, place in enumerate(wide_places)]
            boundaries = [boundary - bisect_right(wide_ends, boundary) for boundary in boundaries]
        inside = {match.end() for match in _ABBREVIATION.finditer(text) if match[1].islower()}
        if not inside.isdisjoint(boundaries):
            boundaries = [boundary for boundary in boundaries if boundary not in inside]
        return cut_sentences(text, boundaries)


def splitter_version(engine: SplitterEngine) -> str:
    """Return the versions of the libraries that boundaries depend on; raises EaseError if one is not installed."""
    icu_version = _icu_version()
    if engine == "icu":
        return icu_version
    try:
        return f"{icu_version} {metadata.version('polyglot')}"
    except metadata.PackageNotFoundError as error:
        raise EaseError(_NOT_INSTALLED) from error


def _icu_version() -> str:
    try:
        import icu
    except ModuleNotFoundError:
        import icu4py

        return str(icu4py.icu_version)
    return str(icu.ICU_VERSION)


def _icu_boundaries(language: str) -> _Boundaries:
    try:
        import icu
    except ModuleNotFoundError:
        return _icu4py_boundaries(language)
    breaker = icu.BreakIterator.createSentenceInstance(Language(language).locale)

    def boundaries(text: str) -> list[int]:
        breaker.setText(text)
        return list(breaker)

    return boundaries


def _icu4py_boundaries(language: str) -> _Boundaries:
    from icu4py.breakers import SentenceBreaker
    from icu4py.locale import Locale

    locale = Locale(Language(language).bcp_47)
    return lambda text: [end for _, end in SentenceBreaker(text, locale).segments()]


def _polyglot_boundaries(language: str) -> _Boundaries:
    # Not polyglot.text.Text: its language detector fails on control characters and on "".
    try:
        import icu
        from polyglot.base import Sequence as PolyglotSequence
        from polyglot.tokenize.base import SentenceTokenizer
    except ModuleNotFoundError as error:
        raise EaseError(_NOT_INSTALLED) from error

    class LocaleSentenceTokenizer(SentenceTokenizer):
        """polyglot's tokenizer with a locale; polyglot ignores its argument and uses `Locale("locale")`."""

        def __init__(self, locale: str) -> None:
            super().__init__(locale)
            self.locale = Language(locale).locale
            self.breaker = icu.BreakIterator.createSentenceInstance(self.locale)

    tokenizer = LocaleSentenceTokenizer(language)
    return lambda text: tokenizer.transform(PolyglotSequence(text)).idx[1:]
