"""Resolve script variants: `-{zh-hans:…;zh-hant:…}-` on wikis that show their pages in several scripts.

The first form of a word is kept, and text that is protected from conversion; conversion rules are removed.
"""

from __future__ import annotations

import re
from functools import cache

from ease.io.data_files import read_data_file
from ease.wikimedia.wikitext.markup import GAP

_VARIANTS: dict[str, list[str]] = read_data_file("ease.wikimedia.wikitext", "variants.yml")
"""Codes of the variants by wiki; on other wikis `-{` is text."""

_MARK = re.compile(r"-\{|\}-")
_MOST_NESTED = 10
"""MediaWiki's limit; deeper marks are dropped, which keeps the time linear."""
_SILENT_FLAGS = frozenset("TH-")
"""Flags of rules for the page's title, of hidden rules, and of removed rules."""


def choose_variants(text: str, language: str) -> str:
    """Replace each mark of variants by one form; an unclosed mark stays as text."""
    if language not in _VARIANTS or "-{" not in text:
        return text
    pieces: list[str] = []
    opened: list[int] = []
    deeper = position = 0
    for mark in _MARK.finditer(text):
        pieces.append(text[position : mark.start()])
        position = mark.end()
        if mark[0] == "-{":
            if len(opened) == _MOST_NESTED:
                deeper += 1
            else:
                opened.append(len(pieces))
                pieces.append("-{")
        elif deeper:
            deeper -= 1
        elif opened:
            start = opened.pop()
            content = "".join(pieces[start + 1 :])
            del pieces[start:]
            pieces.append(_choose(content, language))
        else:
            pieces.append("}-")
    pieces.append(text[position:])
    return "".join(pieces)


@cache
def _patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of flags with their bar, and of a form's beginning."""
    codes = "|".join(sorted(_VARIANTS[language], key=len, reverse=True))
    flags = re.compile(rf"\s*+((?:(?:[ATRDHNS-]|{codes})?\s*+;\s*+)*+(?:[ATRDHNS-]|{codes})?)\s*+\|")
    form = re.compile(rf"(?:\A|;)\s*+(?:{codes})\s*+:", re.IGNORECASE)
    return flags, form


def _choose(content: str, language: str) -> str:
    """Return the text that a mark shows."""
    flags_pattern, form_pattern = _patterns(language)
    flags = flags_pattern.match(content)
    if flags:
        if _SILENT_FLAGS.intersection(flag.strip() for flag in flags[1].split(";")):
            return GAP
        content = content[flags.end() :]
    first = form_pattern.match(content)
    if first is None:
        return content
    following = form_pattern.search(content, first.end())
    return content[first.end() : following.start() if following else len(content)].strip().removesuffix(";")
