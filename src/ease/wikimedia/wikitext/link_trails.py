"""Letters around a link's brackets that belong to the link's text: `[[bus]]es` is shown as the link "buses".

The letters of each language are in `link_trails.yml`.
"""

from __future__ import annotations

from functools import cache

from ease.io.data_files import read_data_file


def link_trail(language: str) -> str:
    """Return a regular expression for the letters after `]]`; the expression may match nothing."""
    after = _read("after")
    letters = after.get(language, after["default"])
    trail = _read("with_marks").get(language, "{letters}*+" if letters else "")
    return trail.replace("{letters}", f"[{letters}]")


def link_prefix(language: str) -> str | None:
    """Return a regular expression for the letters before `[[` in reverse order, or None if none belong."""
    letter = _read("before").get(language)
    return f"(?:{letter})*+" if letter else None


@cache
def _read(section: str) -> dict[str, str]:
    table = read_data_file("ease.wikimedia.wikitext", "link_trails.yml")[section]
    return {language: letters for languages, letters in table.items() for language in languages.split()}
