"""HTML entities in wikitext and titles."""

from __future__ import annotations

import html
import re
from html.entities import html5

_ENTITY = re.compile(r"&(?:#([0-9]+)|#[xX]([0-9a-fA-F]+)|[A-Za-z][A-Za-z0-9]*);")
_MOST_DIGITS = 8
"""No character has a number of more digits."""
_SPACE_ENTITY = re.compile(r"&(?:nbsp|ensp|emsp|thinsp|hairsp|#0*32|#0*160|#x0*20|#x0*a0);", re.IGNORECASE)


def decode_spaces(text: str) -> str:
    """Decode entities of spaces, which separate a link from the letters around it."""
    return _SPACE_ENTITY.sub(" ", text) if "&" in text else text


def decode_entities(text: str) -> str:
    """Decode the entities of prose; drop soft hyphens and control characters."""

    def as_prose(entity: re.Match[str]) -> str:
        character = _character(entity)
        if character.isspace():
            return " "
        return "" if character == "\xad" or character < " " else character

    return _ENTITY.sub(as_prose, text) if "&" in text else text


def decode_title_entities(text: str) -> str:
    """Decode the entities of a title, with its spaces and control characters."""
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    """Return an entity's character; unknown names stay, while `html.unescape` would decode their beginning."""
    for digits, prefix in ((entity[1], "&#"), (entity[2], "&#x")):
        if digits:
            return html.unescape(f"{prefix}{digits.lstrip('0')[:_MOST_DIGITS] or 0};")
    return html5.get(entity[0][1:], entity[0])
