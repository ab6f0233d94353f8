"""Resolve titles in links as MediaWiki does."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple
from urllib.parse import unquote

from ease.wikimedia.wikitext.capitals import capital_of
from ease.wikimedia.wikitext.html_entities import decode_title_entities
from ease.wikimedia.wikitext.namespaces import (
    CATEGORY,
    FILE,
    LANGUAGE_PREFIXES,
    WIKI_PREFIXES,
    known_namespaces,
)

_MOST_BYTES = 255
_MOST_PREFIXES = 8
"""Maximum prefixes of the wiki's own language (`[[en:en:Title]]`); a link with more is invalid."""

_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_CONTROL = re.compile("[\x00-\x1f\x7f]+")
_BIDI_MARKS = re.compile("[\u200e\u200f\u202a-\u202e]+")
_SPACES = re.compile("[ _\xa0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_NEEDS_CARE = re.compile(
    "[\x00-\x1f#%&:<>\\[\\]_{|}\x7f-\xa0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f\u3000\ufffd]"
    "|  |^[ ./]| $|~~~|/\\."
)
"""Matches titles that are not plain: prefixes, fragments, entities, marks, unusual spaces, illegal characters."""
_PLAIN_CHARACTER = (
    "[^\x00-\x20#%&./:<>\\[\\]_{|}~\x7f-\xa0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f\u3000\ufffd]"
)
PLAIN_TITLE = rf"{_PLAIN_CHARACTER}++(?:\.? ?{_PLAIN_CHARACTER}++)*+"
"""Regular expression of titles that need no care; it excludes some that need none, such as `AC/DC`."""
MAX_PLAIN_LENGTH = _MOST_BYTES // 4
"""Characters that are no more than `_MOST_BYTES` in any script."""
_PROTOCOL = re.compile(
    r"(?:(?:ftps?|git|gopher|https?|ircs?|mms|nntp|redis|sftp|ssh|svn|telnet|wikipedia|worldwind)://|//"
    r"|(?:bitcoin|geo|magnet|mailto|matrix|news|sips?|sms|tel|urn|xmpp):)",
    re.IGNORECASE,
)
"""Beginnings of web addresses; double brackets around an address are not a link."""
_ILLEGAL = re.compile(r"[\x00-\x1f\x7f<>\[\]{}|\ufffd]|~~~|^\.\.?$|^\.\.?/|/\.\.?/|/\.\.?$|%[0-9A-Fa-f]{2}")


class TargetKind(Enum):
    """Kind of a link's target."""

    ARTICLE = "article"
    FILE = "file"
    CATEGORY = "category"
    LANGUAGE = "language"
    """The same article in another language, shown beside the text."""
    OTHER = "other"
    """Another namespace or wiki, or a section of the same page: shown as text."""
    INVALID = "invalid"


class Target(NamedTuple):
    """Target of a link, with the normalised title of an article, else an empty title."""

    kind: TargetKind
    title: str


@dataclass(frozen=True)
class SiteInfo:
    """A wiki, described by its dump's `<siteinfo>` and its language.

    Attributes:
        language: Wikipedia's code of the language.
        dbname: Name of the wiki's database, such as `enwiki`.
        case: `first-letter` if titles begin with a capital, else `case-sensitive`.
        namespaces: Numbers by name, as the dump has them; English names and known local names are added.
    """

    language: str
    dbname: str = ""
    case: str = "first-letter"
    namespaces: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Add known names of namespaces; the dump's own names take precedence."""
        own = {_squeeze(name).lower(): number for name, number in self.namespaces.items() if name.strip()}
        object.__setattr__(self, "namespaces", known_namespaces(self.language) | own)


def normalize_title(raw: str, site: SiteInfo) -> str:
    """Return the title as MediaWiki stores it, with spaces instead of underscores; possibly empty.

    Entities and percent-encoding are decoded, a leading colon and a `#fragment` are removed, and the first letter is
    capitalised if the wiki does so. A namespace is kept.
    """
    return normalize_first(_squeeze(_decode(raw)).removeprefix(":").partition("#")[0].strip(), site)


def resolve_target(raw: str, site: SiteInfo) -> str | None:
    """Return the normalised title of the article of the same wiki that a link leads to, or None."""
    kind, title = read_target(raw, site)
    return title if kind is TargetKind.ARTICLE else None


def read_target(raw: str, site: SiteInfo) -> Target:
    """Resolve a link from the text before its `|`."""
    if raw and len(raw) <= MAX_PLAIN_LENGTH and _NEEDS_CARE.search(raw) is None:
        return Target(TargetKind.ARTICLE, normalize_first(raw, site))
    if is_address(raw):
        return Target(TargetKind.INVALID, "")
    text = _squeeze(_decode(raw))
    inline = text.startswith(":")
    kind, text = _follow_prefixes(text.removeprefix(":").lstrip(), site)
    if kind is not TargetKind.ARTICLE:
        return Target(TargetKind.OTHER if inline else kind, "")
    title, hash_sign, _ = text.partition("#")
    title = title.strip()
    if not title:
        return Target(TargetKind.OTHER if hash_sign else TargetKind.INVALID, "")
    if title.startswith(":") or _ILLEGAL.search(title) or len(title.encode()) > _MOST_BYTES:
        return Target(TargetKind.INVALID, "")
    return Target(TargetKind.ARTICLE, normalize_first(title, site))


def is_address(raw: str) -> bool:
    """Return whether the text before a link's `|` is a web address."""
    return _PROTOCOL.match(raw) is not None


_NAMESPACE_KINDS = {FILE: TargetKind.FILE, CATEGORY: TargetKind.CATEGORY}


def _follow_prefixes(text: str, site: SiteInfo) -> tuple[TargetKind, str]:
    """Resolve prefixes of namespaces, languages and wikis; return the kind and the text after own-language prefixes."""
    for _ in range(_MOST_PREFIXES):
        prefix, colon, rest = text.partition(":")
        if not colon:
            return TargetKind.ARTICLE, text
        name = prefix.strip().lower()
        number = site.namespaces.get(name)
        if number is not None:
            return _NAMESPACE_KINDS.get(number, TargetKind.OTHER), ""
        if name != site.language:
            if name in LANGUAGE_PREFIXES:
                return TargetKind.LANGUAGE, ""
            return (TargetKind.OTHER if name in WIKI_PREFIXES else TargetKind.ARTICLE), text
        text = rest.strip().removeprefix(":").lstrip()
    return TargetKind.INVALID, ""


def decode_percent(head: str) -> str:
    """Return the text before a link's `|` as MediaWiki shows it if the link has no label."""
    return _CONTROL.sub("", unquote(head)) if _PERCENT.search(head) else head


def _decode(raw: str) -> str:
    """Decode percent-encoding, then entities, as MediaWiki does for links."""
    if _PERCENT.search(raw):
        raw = unquote(raw)
    return decode_title_entities(raw)


def _squeeze(text: str) -> str:
    """Collapse spaces and underscores, strip the ends, drop direction marks."""
    return _SPACES.sub(" ", _BIDI_MARKS.sub("", text)).strip(" \n\t")


def normalize_first(title: str, site: SiteInfo) -> str:
    """Normalise to NFC, and capitalise the first letter if the wiki does so."""
    if not title.isascii():
        title = unicodedata.normalize("NFC", title)
    return capitalize_first(title, site.language) if site.case == "first-letter" else title


def capitalize_first(text: str, language: str) -> str:
    """Capitalise the first letter as MediaWiki does."""
    first = text[:1]
    capital = capital_of(first, language) if text else ""
    return text if capital == first else capital + text[1:]


def without_qualifier(head: str) -> str:
    """Apply the pipe trick: `[[Mercury (planet)|]]` shows "Mercury", `[[Help:Pipe, trick|]]` shows "Pipe"."""
    name = head.strip().removeprefix(":")
    name = (name.partition(":")[2] or name).rstrip()
    start = name.rfind("(")
    if start >= 0 and name.endswith(")") and ")" not in name[start:-1]:
        return name[:start].rstrip()
    return name.partition(",")[0]
