"""Capital letters as wikis write them: Georgian letters have none, although Unicode has some."""

from __future__ import annotations

from functools import lru_cache

from ease.wikimedia.languages import Language

_GEORGIAN = range(0x10D0, 0x1100)


@lru_cache(maxsize=4096)
def capital_of(letter: str, language: str) -> str:
    """Return a letter's capital if that is a single letter; ß and letters without capitals stay."""
    if letter == "i" and Language(language).has_dotted_capital_i:
        return "İ"
    capitals = () if ord(letter) in _GEORGIAN else (letter.upper(), letter.title())
    return next((capital for capital in capitals if len(capital) == 1), letter)


def is_capital(letter: str) -> bool:
    """Return whether a letter is a capital, or has none in any language."""
    return letter == letter.upper() or ord(letter) in _GEORGIAN
