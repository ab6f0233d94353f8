"""Resolve titles in links and redirects as MediaWiki does, with namespaces, entities and capitals."""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, lru_cache
from html.entities import html5
from typing import NamedTuple
from urllib.parse import unquote

from ease.io.files import read_data_file
from ease.wikimedia.languages import OLDER_CODES, WIKIPEDIA_LANGUAGES, Language

# Numbers of namespaces, the same in every wiki.
FILE = 6
CATEGORY = 14

# Georgian letters have capitals in Unicode, but texts and titles are written without them.
_GEORGIAN = range(0x10D0, 0x1100)
_ENTITY = re.compile(r"&(?:#([0-9]+)|#[xX]([0-9a-fA-F]+)|[A-Za-z][A-Za-z0-9]*);")
# No character has a number of more digits; Python refuses to convert numbers of thousands of digits.
_MOST_DIGITS = 8
_SPACE_ENTITY = re.compile(r"&(?:nbsp|ensp|emsp|thinsp|hairsp|#0*32|#0*160|#x0*20|#x0*a0);", re.IGNORECASE)
_PREFIXES = read_data_file("ease.wikimedia.wikitext", "prefixes.yml")
# Prefixes of links to the same article in another language.
_LANGUAGE_PREFIXES = WIKIPEDIA_LANGUAGES | OLDER_CODES.keys() | frozenset(_PREFIXES["languages"])
# Prefixes of links to other wikis and sites.
_WIKI_PREFIXES = frozenset(_PREFIXES["wikis"])
# MediaWiki's limit of a title, in bytes of UTF-8.
_MOST_BYTES = 255
# Maximum prefixes of the wiki's own language (`[[en:en:Title]]`); a link with more is invalid.
_MOST_PREFIXES = 8
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_CONTROL = re.compile("[\x00-\x1f\x7f]+")
_BIDI_MARKS = re.compile("[\u200e\u200f\u202a-\u202e]+")
_SPACES = re.compile("[ _\xa0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
# Matches titles that are not plain: prefixes, fragments, entities, marks, unusual spaces, illegal characters.
_NEEDS_CARE = re.compile(
    "[\x00-\x1f#%&:<>\\[\\]_{|}\x7f-\xa0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f\u3000\ufffd]|  |^[ ./]| $|~~~|/\\."
)
MAX_PLAIN_LENGTH = _MOST_BYTES // 4
"""Characters that have no more than `_MOST_BYTES` in any script."""
# Beginnings of web addresses; double brackets around an address are not a link.
_PROTOCOL = re.compile(
    r"(?:(?:ftps?|git|gopher|https?|ircs?|mms|nntp|redis|sftp|ssh|svn|telnet|wikipedia|worldwind)://|//"
    r"|(?:bitcoin|geo|magnet|mailto|matrix|news|sips?|sms|tel|urn|xmpp):)",
    re.IGNORECASE,
)
_ILLEGAL = re.compile(
    r"[\x00-\x1f\x7f<>\[\]{}|\ufffd\ud800-\udfff]|~~~|^\.\.?$|^\.\.?/|/\.\.?/|/\.\.?$|%[0-9A-Fa-f]{2}"
)
# The longest words first, since an alternative of a pattern wins over longer ones that begin like it.
_REDIRECT_WORDS = sorted(read_data_file("ease.wikimedia.wikitext", "redirect_words.yml"), key=len, reverse=True)
_REDIRECT = re.compile(
    rf"\s*+[#＃](?:{'|'.join(map(re.escape, _REDIRECT_WORDS))})\s*+:?\s*+"
    r"\[\[([^\[\]|\n]++)(?:\|[^\[\]\n]*+)?\]\]",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def capital_of(letter: str, language: str) -> str:
    """Return a letter's capital if that is a single letter; ß and letters without capitals stay."""
    if letter == "i" and Language(language).has_dotted_capital_i:
        return "İ"
    if ord(letter) in _GEORGIAN:
        return letter
    # The upper case of some letters, such as ᾳ, has two letters, but their title case has one.
    return next((capital for capital in (letter.upper(), letter.title()) if len(capital) == 1), letter)


def is_capital(letter: str) -> bool:
    """Return whether a letter is a capital, or has no capital in any language."""
    return letter == letter.upper() or ord(letter) in _GEORGIAN


def decode_spaces(text: str) -> str:
    """Decode entities of spaces, and no-break spaces: they separate a link from the letters around it."""
    text = text.replace("\xa0", " ")
    # Most texts have no entity: the test is faster than the pattern.
    if "&" not in text:
        return text
    return _SPACE_ENTITY.sub(" ", text)


def decode_entities(text: str) -> str:
    """Decode the entities of prose; drop soft hyphens and control characters."""
    if "&" not in text:
        return text

    def prose_character(entity: re.Match[str]) -> str:
        character = _character(entity)
        if character.isspace():
            return " "
        # Control characters are marks of the parser.
        if character == "\xad" or character < " ":
            return ""
        return character

    return _ENTITY.sub(prose_character, text)


def _character(entity: re.Match[str]) -> str:
    """Return an entity's character; unknown names stay, while `html.unescape` would decode their beginning."""
    for digits, prefix in ((entity[1], "&#"), (entity[2], "&#x")):
        if digits:
            return html.unescape(f"{prefix}{digits.lstrip('0')[:_MOST_DIGITS] or 0};")
    return html5.get(entity[0][1:], entity[0])


@cache
def known_namespaces(language: str) -> dict[str, int]:
    """Return the numbers of namespaces by lower-case name: the English names and those of a language."""
    table = _read_names()
    return {
        name.lower(): number
        for code in ("en", OLDER_CODES.get(language, language), language)
        for number, names in table.get(code, {}).items()
        for name in names
    }


@cache
def _read_names() -> dict[str, dict[int, list[str]]]:
    table: dict[str, dict[int, list[str]]] = read_data_file("ease.wikimedia.wikitext", "namespaces.yml")
    return table


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
        dump_names = {_squeeze(name).lower(): number for name, number in self.namespaces.items() if name.strip()}
        # The class is frozen, so that it can be a key of a cache.
        object.__setattr__(self, "namespaces", known_namespaces(self.language) | dump_names)


def normalize_title(raw: str, site: SiteInfo) -> str:
    """Return a title as MediaWiki stores it, with spaces instead of underscores; possibly empty.

    Entities and percent-encoding are decoded, a leading colon and a `#fragment` are removed, and the first letter is
    capitalised if the wiki does so. A namespace stays.
    """
    return normalize_first(_decode(raw).removeprefix(":").partition("#")[0].strip(), site)


def resolve_target(raw: str, site: SiteInfo) -> str | None:
    """Return the normalised title of the article of the same wiki to which a link leads; None for another link."""
    kind, title = read_target(raw, site)
    if kind is not TargetKind.ARTICLE:
        return None
    return title


def read_target(raw: str, site: SiteInfo) -> Target:
    """Return the target of a link, from the text before its `|`."""
    # The steps below would leave a plain title as it is.
    if raw and len(raw) <= MAX_PLAIN_LENGTH and _NEEDS_CARE.search(raw) is None:
        return Target(TargetKind.ARTICLE, normalize_first(raw, site))
    if is_address(raw):
        return Target(TargetKind.INVALID, "")
    text = _decode(raw)
    kind, text_after = _follow_prefixes(text.removeprefix(":").lstrip(), site)
    if kind is not TargetKind.ARTICLE:
        # After a colon, a link to a file, a category or another language is shown as text.
        if text.startswith(":"):
            kind = TargetKind.OTHER
        return Target(kind, "")
    title, hash_sign, _ = text_after.partition("#")
    title = title.strip()
    if not title:
        # A fragment alone leads to a section of the same page.
        kind = TargetKind.OTHER if hash_sign else TargetKind.INVALID
        return Target(kind, "")
    if title.startswith(":") or _ILLEGAL.search(title) or len(title.encode()) > _MOST_BYTES:
        return Target(TargetKind.INVALID, "")
    return Target(TargetKind.ARTICLE, normalize_first(title, site))


def is_address(raw: str) -> bool:
    """Return whether the text before a link's `|` is a web address."""
    return _PROTOCOL.match(raw) is not None


def _follow_prefixes(text: str, site: SiteInfo) -> tuple[TargetKind, str]:
    """Resolve prefixes of namespaces, languages and wikis; return the kind and the text after own-language prefixes."""
    for _ in range(_MOST_PREFIXES):
        prefix, colon, rest = text.partition(":")
        if not colon:
            return TargetKind.ARTICLE, text
        name = prefix.strip().lower()
        number = site.namespaces.get(name)
        if number is not None:
            kinds = {FILE: TargetKind.FILE, CATEGORY: TargetKind.CATEGORY}
            return kinds.get(number, TargetKind.OTHER), ""
        if name != site.language:
            if name in _LANGUAGE_PREFIXES:
                return TargetKind.LANGUAGE, ""
            if name in _WIKI_PREFIXES:
                return TargetKind.OTHER, text
            # The colon belongs to the title, as in `Star Trek: Picard`.
            return TargetKind.ARTICLE, text
        text = rest.strip().removeprefix(":").lstrip()
    return TargetKind.INVALID, ""


def decode_percent(head: str) -> str:
    """Return the text before a link's `|` as MediaWiki shows it if the link has no label."""
    if not _PERCENT.search(head):
        return head
    return _CONTROL.sub("", unquote(head))


def _decode(raw: str) -> str:
    """Decode percent-encoding, then entities, as MediaWiki does for links, and normalise spaces."""
    if _PERCENT.search(raw):
        raw = unquote(raw)
    if "&" in raw:
        raw = _ENTITY.sub(_character, raw)
    return _squeeze(raw)


def _squeeze(text: str) -> str:
    """Collapse spaces and underscores, strip the ends, drop direction marks."""
    return _SPACES.sub(" ", _BIDI_MARKS.sub("", text)).strip(" \n\t")


def normalize_first(title: str, site: SiteInfo) -> str:
    """Return a title in NFC, and with a capital as its first letter if the wiki does so."""
    if not title.isascii():
        title = unicodedata.normalize("NFC", title)
    if site.case == "first-letter":
        return capitalize_first(title, site.language)
    return title


def capitalize_first(text: str, language: str) -> str:
    """Return a text with a capital as its first letter, as MediaWiki writes titles."""
    if not text:
        return text
    first = text[0]
    capital = capital_of(first, language)
    # Most titles begin with a capital: no new string.
    if capital == first:
        return text
    return capital + text[1:]


def without_qualifier(head: str) -> str:
    """Apply the pipe trick: `[[Mercury (planet)|]]` shows "Mercury", `[[Help:Pipe, trick|]]` shows "Pipe"."""
    name = head.strip().removeprefix(":")
    name = (name.partition(":")[2] or name).rstrip()
    start = name.rfind("(")
    if start >= 0 and name.endswith(")") and ")" not in name[start:-1]:
        return name[:start].rstrip()
    return name.partition(",")[0]


def redirect_target(source: str, site: SiteInfo) -> str | None:
    """Return the title to which a redirect page leads; None for another page, such as a list (`#one [[Foo]]`)."""
    redirect = _REDIRECT.match(source)
    if not redirect:
        return None
    return normalize_title(redirect[1], site) or None
