"""Languages of Wikipedia: their codes in other systems, and checks of what users configure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from babel.core import Locale, UnknownLocaleError, get_global

from ease.errors import EaseError
from ease.io.files import read_data_file
from ease.names import nearest

if TYPE_CHECKING:
    import icu

_DATA = read_data_file("ease.wikimedia", "languages.yml")

PAPER_LANGUAGES: tuple[str, ...] = tuple(_DATA["paper"])
"""The 18 languages of EASE's multilingual setting (section 5.1)."""
MEWSC16_LANGUAGES = tuple(language for language in PAPER_LANGUAGES if language not in ("it", "nl"))
"""The 16 languages of MewsC-16 (appendix E)."""
WIKIPEDIA_LANGUAGES = frozenset(_DATA["wikipedias"])
"""Codes of the Wikipedias that exist or existed; dumps of newer ones are found nevertheless."""
OLDER_CODES: dict[str, str] = _DATA["older_codes"]
"""Codes that MediaWiki uses now, and the older codes of the same wikis."""
# Large Wikipedias, the largest first.
_LARGE: tuple[str, ...] = tuple(_DATA["large"])
ENGLISH = "en"
# Maximum number of companions beside English.
_MOST_RELATED = 2
# `nb` is left out: the language tag of the Norwegian Wikipedia is its own code, `no`.
_NEWER_CODES = {older: newer for newer, older in OLDER_CODES.items() if newer != "nb"}
_CODE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


@dataclass(frozen=True)
class Language:
    """A language of Wikipedia by its code (`en`, `be-tarask`, `zh-min-nan`), with its codes in other systems."""

    code: str

    @classmethod
    def from_database(cls, database: str) -> Language:
        """Return the language of a database name without its project: `zh_min_nan` of `zh_min_nanwiki`."""
        return cls(database.replace("_", "-"))

    @classmethod
    def from_tag(cls, tag: str) -> Language:
        """Return the language of an `xml:lang`: `pt` of `pt-BR`, as the Wikipedias of most languages have no region."""
        code = tag.strip().lower().replace("_", "-")
        parts = code.split("-")
        prefixes = ("-".join(parts[:size]) for size in range(len(parts), 0, -1))
        return cls(next((prefix for prefix in prefixes if prefix in WIKIPEDIA_LANGUAGES), code))

    def has_tag(self, tag: str) -> bool:
        """Return whether a language tag, such as `en-GB`, is of this language."""
        primary = tag.strip().lower().partition("-")[0]
        codes = {self.code, self.bcp_47, self.database.replace("_", "-")}
        return OLDER_CODES.get(primary, primary) in codes or primary in {code.partition("-")[0] for code in codes}

    @property
    def database(self) -> str:
        """Beginning of the names of databases, dumps and Wikidata's sites: `be_x_old` for `be-tarask`."""
        return OLDER_CODES.get(self.code, self.code).replace("-", "_")

    @property
    def bcp_47(self) -> str:
        """The language tag of web standards and CLDR: `gsw` for `als`."""
        return _DATA["bcp_47"].get(self.code) or _NEWER_CODES.get(self.code, self.code)

    @property
    def locale(self) -> icu.Locale:
        """ICU's locale; ICU applies its general rules to languages that it does not know."""
        # Imported here, since PyICU is compiled where it is installed, and the library works without it.
        import icu

        return icu.Locale(self.bcp_47)

    @property
    def iso_639_3(self) -> str:
        """The code of three letters, as in Tatoeba: `bre` for `br`, and the single language `cmn` for `zh`."""
        return _DATA["iso_639_3"].get(self.code) or self._iso_639_2 or self.code

    @property
    def _iso_639_2(self) -> str:
        """The code of three letters of the language or group of languages."""
        primary = self.bcp_47.partition("-")[0]
        return str(_DATA["iso_639_2"].get(primary, primary))

    @property
    def three_letter_codes(self) -> frozenset[str]:
        """Codes by which data sets name the language: its own, and that of its usual variety (`swa` and `swh`)."""
        variety = _DATA["varieties"].get(self.code)
        return frozenset(filter(None, [self.iso_639_3, self._iso_639_2, variety]))

    @property
    def english_name(self) -> str:
        """CLDR's English name: `Chinese`; the code of a language without one."""
        names = Locale(ENGLISH).languages
        primary = self.bcp_47.partition("-")[0]
        # CLDR names some languages by the group that they belong to.
        group = get_global("language_aliases").get(primary, primary)
        return str(names.get(primary) or names.get(group, primary))

    @property
    def quotation_marks(self) -> tuple[str, str]:
        """Start and end of a quotation: `“` and `”`."""
        marks = next((marks for marks, codes in _DATA["quotation_marks"].items() if self.code in codes), "“”")
        return marks[0], marks[1]

    @property
    def sentence_separator(self) -> str:
        """Separator of two sentences: a space, or nothing as in Japanese."""
        if self.code in _DATA["unspaced"]:
            return ""
        return " "

    @property
    def is_right_to_left(self) -> bool:
        """Whether the language is written from right to left; False if CLDR does not know the language."""
        with suppress(UnknownLocaleError, ValueError):
            return Locale.parse(self.bcp_47, sep="-").text_direction == "rtl"
        return False

    @property
    def has_dotted_capital_i(self) -> bool:
        """Whether the capital of i is İ, as in Turkish."""
        return self.code in _DATA["dotted_i"]


def check_languages(languages: Sequence[str], parameter: str = "languages") -> None:
    """Raise EaseError if a choice of Wikipedias, a parameter, is empty, repeats a code or has an unknown one."""
    check_codes(languages, parameter)
    if unknown := [language for language in languages if language not in WIKIPEDIA_LANGUAGES]:
        raise _unknown(unknown[0], parameter)


def check_codes(languages: Sequence[str], parameter: str = "languages") -> None:
    """Raise EaseError as `check_languages` does, but accept Wikipedias newer than `languages.yml`."""
    if not languages:
        raise EaseError(f"No language is given: set `{parameter}` to Wikipedia codes such as en, ja, pt.")
    if joined := [language for language in languages if "," in language]:
        words = " ".join(filter(None, map(str.strip, joined[0].split(","))))
        raise EaseError(f"`{parameter}` has {joined[0]!r}: separate the codes by blanks, as in {words}.")
    if malformed := [language for language in languages if not _CODE.fullmatch(language)]:
        raise _unknown(malformed[0], parameter, "a code has lower-case letters, digits and hyphens; ")
    if repeated := sorted({language for language in languages if languages.count(language) > 1}):
        raise EaseError(f"`{parameter}` names {', '.join(repeated)} more than once: name each language once.")


def _unknown(language: str, parameter: str, rule: str = "") -> EaseError:
    similar = nearest(language, WIKIPEDIA_LANGUAGES)
    hint = "use a code such as en, ja, pt."
    if similar:
        hint = f"did you mean {' or '.join(similar)}?"
    return EaseError(f"Unknown language {language!r} in `{parameter}`: {rule}{hint}")


def nearest_companions(language: str, among: Collection[str] | None = None) -> list[str]:
    """Return English and the large languages that CLDR's language matching relates to a language, nearest first.

    CLDR relates languages whose readers mostly understand another one: French for Breton, Spanish for Basque, Catalan
    and Galician. For many languages it names none, and English is the only companion.

    Args:
        language: Wikipedia's code.
        among: Candidates; None: all large Wikipedias.
    """
    import icu

    candidates = [code for code in _LARGE if code not in (language, ENGLISH) and (among is None or code in among)]
    related: list[str] = []
    while candidates and len(related) < _MOST_RELATED:
        # A matcher returns its best match only, so it is built again without the languages that are chosen already.
        builder = icu.LocaleMatcher.Builder()
        for code in candidates:
            builder.addSupportedLocale(Language(code).locale)
        # Otherwise the matcher returns a default for a language without relatives.
        builder.setNoDefaultLocale()
        index = builder.build().getBestMatchResult(Language(language).locale).getSupportedIndex()
        if index < 0:
            break
        related.append(candidates.pop(index))
    return [code for code in (ENGLISH, *related) if code != language]
