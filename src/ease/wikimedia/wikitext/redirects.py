"""Redirect pages: `#REDIRECT [[Title]]` with the words of all languages, which are in `redirect_words.yml`."""

from __future__ import annotations

import re

from ease.io.data_files import read_data_file
from ease.wikimedia.wikitext.titles import SiteInfo, normalize_title

_WORDS = sorted(read_data_file("ease.wikimedia.wikitext", "redirect_words.yml"), key=len, reverse=True)
_REDIRECT = re.compile(
    rf"\s*+[#＃](?:{'|'.join(map(re.escape, _WORDS))})\s*+:?\s*+"
    r"\[\[([^\[\]|\n]++)(?:\|[^\[\]\n]*+)?\]\]",
    re.IGNORECASE,
)


def redirect_target(source: str, site: SiteInfo) -> str | None:
    """Return the title that a redirect page leads to, or None for another page, such as a list (`#one [[Foo]]`)."""
    redirect = _REDIRECT.match(source)
    return normalize_title(redirect[1], site) or None if redirect else None
