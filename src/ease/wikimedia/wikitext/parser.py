"""Parse wikitext into prose with links.

The parser makes a fixed number of passes in the order of MediaWiki's parser, each in linear time on any input. The
passes mark both ends of each link in the text, so that a pass may remove text without shifting the links' offsets.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from ease.wikimedia.languages import check_languages
from ease.wikimedia.wikitext.article import Article, Link, Prose, place_links
from ease.wikimedia.wikitext.html_entities import decode_entities, decode_spaces
from ease.wikimedia.wikitext.link_trails import link_prefix, link_trail
from ease.wikimedia.wikitext.markup import (
    BREAK,
    GAP,
    HEADING,
    ITEM,
    LINK_END,
    LINK_START,
    LITERAL,
    cut_tables,
    cut_templates,
    drop_magic_words,
    hide_extensions,
    strip_tags,
)
from ease.wikimedia.wikitext.passes import join_blocks, normalize_gaps, read_plain_links, strip_quotes
from ease.wikimedia.wikitext.templates import show_templates
from ease.wikimedia.wikitext.titles import (
    SiteInfo,
    TargetKind,
    decode_percent,
    is_address,
    read_target,
    without_qualifier,
)
from ease.wikimedia.wikitext.variants import choose_variants

_RESERVED = ("\r", LINK_START, LINK_END, LITERAL, BREAK, GAP, ITEM, HEADING)
_EXTERNAL = re.compile(
    r"\[(?:https?:|ftps?:|mailto:|news:|ircs?:|gopher:|tel:|(?=//))[^\s\[\]<>\"\x00-\x07]++[^\S\n]*+"
    r"((?:[^\[\]\n]|\[[^\[\]\n]*+\])*+)\]",
    re.IGNORECASE,
)
_LITERALS = re.compile(rf"{LITERAL}([0-9]+){LITERAL}")
_WORD = re.compile(r"\w")
_EDGES = " \t\r\n\xa0\u2002\u2003\u2009\u202f\u3000" + BREAK + GAP + ITEM + HEADING


class _OpenLink(NamedTuple):
    """A `[[` without `]]` so far, with the numbers of pieces and targets before it."""

    head: str
    bar: str
    pieces: int
    targets: int


def parse_wikitext(text: str, language: str | SiteInfo = "en", show: bool = True) -> Article:
    """Read the prose of a page, and its links to articles of the same wiki.

    Args:
        text: The page's wikitext.
        language: Wikipedia's code of the language; or the wiki, with the namespaces that its dump names.
        show: Show templates that write words, such as `{{convert|5|km}}`; False removes them, as all others.

    Returns:
        The prose with its links; its method `sentences` splits it.

    Raises:
        EaseError: There is no Wikipedia in the language.

    Example:
        >>> article = parse_wikitext("See [[Berlin]]s [[paris|old]] towers. ''No'' link.", language="en")
        >>> article.text
        'See Berlins old towers. No link.'
        >>> [sentence.text for sentence in article.sentences()]
        ['See Berlins old towers.', 'No link.']
        >>> article.sentences()[0].links[0]
        Link(start=4, end=11, target='Berlin')
    """
    site = _site(language) if isinstance(language, str) else language
    for mark in _RESERVED:
        if mark in text:  # several times as fast as a replacement that finds nothing
            text = text.replace(mark, "")
    prose = read_prose(text, site, show)
    links = list(map(Link, prose.starts, prose.ends, prose.targets))
    return Article(prose.text, links, site.language)


def read_prose(text: str, site: SiteInfo, show: bool = True) -> Prose:
    """Read the prose of a page of a wiki and its links in columns, as `parse_wikitext` does.

    The text has neither carriage returns nor the characters U+0001 to U+0007, which XML excludes.
    """
    text, literals = hide_extensions(text)
    if show:
        text = show_templates(text, site.language)
    text = strip_tags(cut_tables(cut_templates(text)))
    text = strip_quotes(decode_spaces(choose_variants(text, site.language)))
    text = drop_magic_words(text)
    text, targets = _LinkReader(text, site).read()
    text = _EXTERNAL.sub(lambda link: link[1] or GAP, text)
    text = join_blocks(decode_entities(normalize_gaps(text)))
    if literals:
        text = _LITERALS.sub(lambda number: literals[int(number[1])], text)
    return place_links(text, targets)


@cache
def _site(language: str) -> SiteInfo:
    check_languages([language], "language")
    return SiteInfo(language)


@cache
def _link_tokens(language: str) -> re.Pattern[str]:
    """Match the tokens of links from left to right.

    The groups are: 1 target, 2 label and 3 trail of a link; 4 target and 5 bar of a link's start. A `]]` and the mark
    of a heading have no groups.
    """
    head, trail = r"\[\[(?!\[)([^\[\]|\n<>{}]++)", link_trail(language)
    return re.compile(
        rf"{head}(?:\n?\|([^\[\]]*+))?\]\]({trail})|\]\]|{HEADING}|"
        rf"(?:{head}|\[\[(?!\[))((?:\n?\|)?)"
    )


class _LinkReader:
    """Replaces links by their text between marks; removes links to files, categories and other languages.

    Links in headings become plain text, since a heading is not prose that mentions an entity.
    """

    def __init__(self, text: str, site: SiteInfo) -> None:
        self.text = text
        self.site = site
        self.pieces: list[str] = []
        self.targets: list[str] = []
        self._open: list[_OpenLink] = []
        self._heading_end = 0
        self._trail = re.compile(link_trail(site.language))
        self._prefix = re.compile(link_prefix(site.language) or "")

    def read(self) -> tuple[str, list[str]]:
        """Return the text with marked links, and their targets in order."""
        text, pieces = self.text, self.pieces
        search = _link_tokens(self.site.language).search
        position = 0
        while True:
            if not self._prefix.pattern:
                position = read_plain_links(
                    text, position, self._heading_end, pieces, self.targets, self.site, self._trail
                )
            if not (token := search(text, position)):
                break
            start = token.start()
            pieces.append(text[position:start])
            position = token.end()
            if token[1] is not None:
                self._add_link(token[1], token[2], token[3], start < self._heading_end)
            elif text[start] == "[":
                self._open.append(_OpenLink(token[4] or "", token[5], len(pieces), len(self.targets)))
                pieces.append("")
            elif text[start] == "]":
                position = self._close(position)
            else:
                self._give_up()
                pieces.append(HEADING)
                end = text.find("\n", position)
                heading = text[position : end if end >= 0 else len(text)]
                if heading.rstrip(" \t" + GAP).endswith("="):
                    self._heading_end = position + len(heading)
        pieces.append(text[position:])
        self._give_up()
        return "".join(pieces).replace(BREAK, ""), self.targets

    def _add_link(self, head: str, label: str | None, trail: str, in_heading: bool = False) -> None:
        """Write a link whose label has no brackets; without a label, a link shows its target."""
        kind, title = read_target(head, self.site)
        if kind in _NOT_SHOWN:
            self.pieces.append(GAP + trail)
            return
        if kind is TargetKind.INVALID and is_address(head):
            self.pieces.append((label or head.partition(" ")[2] or GAP) + trail)
            return
        if kind is not TargetKind.INVALID:
            head = decode_percent(head)
        if label is None:
            label = head.strip().removeprefix(":")
        elif not label:
            label = without_qualifier(head)
        if (GAP in label or not label.strip()) and not _WORD.search(label):
            label = head.strip().removeprefix(":")
        shown = label + trail
        if kind is not TargetKind.ARTICLE or in_heading:
            self.pieces.append(shown)
            return
        shown = self._take_prefix() + shown
        surface = shown.strip(_EDGES)
        if len(surface) == len(shown):
            before = after = ""
        else:
            before, after = (" " if shown[end].isspace() else "" for end in (0, -1))
        if "\n" in surface:
            surface = " ".join(surface.split())
        self.pieces.append(f"{before}{LINK_START}{surface}{LINK_END}{after}")
        self.targets.append(title)

    def _take_prefix(self) -> str:
        """Remove and return the letters before a link that belong to the link's text."""
        found = self._prefix.match(self.pieces[-1][::-1]) if self._prefix.pattern and self.pieces else None
        if not found or not found[0]:
            return ""
        before = self.pieces[-1]
        self.pieces[-1] = before[: len(before) - found.end()]
        return before[len(before) - found.end() :]

    def _close(self, position: int) -> int:
        """Close the last open link at a `]]`, and return the position to continue at."""
        if not self._open:
            return position
        link = self._open.pop()
        pieces, last = self.pieces, self.pieces[-1]
        if self.text[position : position + 1] == "]" and last.count("[") > last.count("]"):
            pieces.append("]")
            position += 1
        kind, _title = read_target(link.head, self.site) if link.head else (TargetKind.INVALID, "")
        if kind in _NOT_SHOWN:
            del pieces[link.pieces :], self.targets[link.targets :]
            pieces.append(GAP)
            return position
        if not link.bar:
            pieces[link.pieces] = link.head
            kind = TargetKind.INVALID
        trail = self._trail.match(self.text, position)
        tail = trail[0] if trail else ""
        in_heading = position <= self._heading_end
        if kind is not TargetKind.ARTICLE or in_heading or len(self.targets) > link.targets:
            pieces.append(tail)
            return position + len(tail)
        label = "".join(pieces[link.pieces :])
        del pieces[link.pieces :]
        if label.strip(_EDGES):
            self._add_link(link.head, label, tail)
        else:  # only an image: a single gap, since enclosing links scan this label again
            before, after = (" " if label[end : end + 1].isspace() else "" for end in (0, len(label) - 1))
            pieces.append(f"{before}{GAP}{after}{tail}")
        return position + len(tail)

    def _give_up(self) -> None:
        """Show links that were never closed as text, without the brackets."""
        for link in self._open:
            self.pieces[link.pieces] = link.head + link.bar
        self._open.clear()


_NOT_SHOWN = frozenset({TargetKind.FILE, TargetKind.CATEGORY, TargetKind.LANGUAGE})
