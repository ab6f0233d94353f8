"""HTML entities in wikitext and titles."""

from __future__ import annotations

import html
import re
from html.entities import html5

_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
_SPACE_ENTITY = re.compile(r"&(?:nbsp|ensp|emsp|thinsp|hairsp|#0*32|#0*160|#x0*20|#x0*a0);", re.IGNORECASE)


def decode_spaces(text: str) -> str:
    """Decode the entities of spaces, which matter at the ends of links."""
    return _SPACE_ENTITY.sub(" ", text) if "&" in text else text


def decode_entities(text: str) -> str:
    """Decode the entities of prose; those of soft hyphens and control characters vanish."""
    return _ENTITY.sub(_as_prose, text) if "&" in text else text


def decode_title_entities(text: str) -> str:
    """Decode the entities of a title, whose spaces and control characters matter later."""
    return _ENTITY.sub(_character, text) if "&" in text else text


def _as_prose(entity: re.Match[str]) -> str:
    character = _character(entity)
    if character.isspace():
        return " "
    return "" if character == "\xad" or character < " " else character


def _character(entity: re.Match[str]) -> str:
    """What an entity stands for; an unknown name stays, where `html.unescape` would read its beginning."""
    if entity[0][1] == "#":
        return html.unescape(entity[0])
    return html5.get(entity[0][1:], entity[0])
