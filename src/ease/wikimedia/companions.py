"""Companions of a language: large Wikipedias whose language its readers are likely to know."""

from __future__ import annotations

from collections.abc import Collection

import icu

from ease.io.data_files import read_data_file
from ease.wikimedia.languages import Language

LARGE: tuple[str, ...] = tuple(read_data_file("ease.wikimedia", "languages.yml")["large"])
"""Large Wikipedias, the largest first"""

PIVOT = "en"
RELATED = 2
"""Maximum number of companions beside English"""


def nearest_companions(language: str, among: Collection[str] | None = None) -> list[str]:
    """Return English and the large languages that CLDR's language matching relates to a language, nearest first.

    CLDR relates languages whose readers mostly understand another one: French for Breton, Spanish for Basque, Catalan
    and Galician. For many languages it names none, and English is the only companion.

    Args:
        language: Wikipedia's code.
        among: Companions are chosen from these; None: from all large Wikipedias.
    """
    others = [code for code in LARGE if code not in (language, PIVOT) and (among is None or code in among)]
    near: list[str] = []
    while len(near) < RELATED and (found := _nearest(language, others)):
        near.append(found)
        others.remove(found)
    return [code for code in (PIVOT, *near) if code != language]


def _nearest(language: str, others: list[str]) -> str | None:
    """Return the language that CLDR's matching prefers, if it relates any."""
    if not others:
        return None
    builder = icu.LocaleMatcher.Builder()
    for code in others:
        builder.addSupportedLocale(Language(code).locale)
    builder.setNoDefaultLocale()
    place = builder.build().getBestMatchResult(Language(language).locale).getSupportedIndex()
    return others[place] if place >= 0 else None
