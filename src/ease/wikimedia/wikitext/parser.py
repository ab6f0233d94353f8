"""Wikitext to running prose with its links.

A fixed number of passes, each linear in the page whatever stands in it, in the order of MediaWiki's parser.
Links are carried through them as marks in the text, so their offsets are right whatever the passes take out.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from ease.wikimedia.wikitext.html_entities import decode_entities, decode_spaces
from ease.wikimedia.wikitext.link_trails import link_prefix, link_trail
from ease.wikimedia.wikitext.markup import (
    BREAK,
    HOLE,
    LINK_END,
    LINK_START,
    LITERAL,
    cut_tables,
    cut_templates,
    drop_magic_words,
    hide_extensions,
    strip_quotes,
    strip_tags,
)
from ease.wikimedia.wikitext.prose import join_blocks, mend_holes
from ease.wikimedia.wikitext.titles import SiteInfo, TargetKind, is_address, read_target
from ease.wikimedia.wikitext.variants import choose_variants

_RESERVED = ("\r", LINK_START, LINK_END, LITERAL, BREAK, HOLE)
_EXTERNAL = re.compile(
    r"\[(?:https?:|ftps?:|mailto:|news:|ircs?:|gopher:|tel:|(?=//))[^\s\[\]<>\"\x00-\x06]++[^\S\n]*+"
    r"((?:[^\[\]\n]|\[[^\[\]\n]*+\])*+)\]",
    re.IGNORECASE,
)
_LITERALS = re.compile(rf"{LITERAL}([0-9]+){LITERAL}")
_WORD = re.compile(r"\w")
_EDGES = " \t\r\n\xa0\u2002\u2003\u2009\u202f\u3000" + BREAK + HOLE


class Link(NamedTuple):
    """A link's surface `text[start:end]` and the normalised title that it leads to."""

    start: int
    end: int
    target: str


class Article(NamedTuple):
    """Running prose, a line for each paragraph, list item and heading, and its links in order."""

    text: str
    links: list[Link]


class _OpenLink(NamedTuple):
    """A `[[` whose end is not found yet, with the lengths of what was written before it."""

    head: str
    bar: str
    pieces: int
    targets: int


def parse_wikitext(source: str, site: SiteInfo) -> Article:
    """Read a page's prose and the links in it to articles of the same wiki.

    Args:
        source: The page's wikitext.
        site: The wiki, which knows the prefixes and the letters that join a link.

    Returns:
        The prose, and links with offsets in code points, in order and apart.
    """
    for mark in _RESERVED:
        source = source.replace(mark, "")
    text, literals = hide_extensions(source)
    text = strip_tags(cut_tables(cut_templates(text)))
    text = strip_quotes(decode_spaces(choose_variants(text, site.language)))
    text = drop_magic_words(text)
    text, targets = _LinkReader(text, site).read()
    text = _EXTERNAL.sub(lambda link: link[1] or HOLE, text)
    text = join_blocks(decode_entities(mend_holes(text)))
    if literals:
        text = _LITERALS.sub(lambda number: literals[int(number[1])], text)
    return _place_links(text, targets)


@cache
def _link_tokens(language: str) -> re.Pattern[str]:
    """What to look for: links, ends of links, beginnings of headings, beginnings of links.

    Groups: 1 target, 2 label, 3 trail of a link without brackets inside; 4 target, 5 bar of a beginning.
    """
    head = r"\[\[(?!\[)([^\[\]|\n<>{}]++)"
    return re.compile(
        rf"{head}(?:\n?\|([^\[\]]*+))?\]\]({link_trail(language)})|\]\]|\n(?==)|"
        rf"(?:{head}|\[\[(?!\[))((?:\n?\|)?)"
    )


@cache
def _trail(language: str) -> re.Pattern[str]:
    return re.compile(link_trail(language))


@cache
def _prefix(language: str) -> re.Pattern[str] | None:
    pattern = link_prefix(language)
    return re.compile(pattern) if pattern else None


class _LinkReader:
    """Replaces links by their surfaces between marks, and takes files, categories and other languages out.

    Links in headings become text: a heading names what follows and is no prose that mentions something.
    """

    def __init__(self, text: str, site: SiteInfo) -> None:
        self.text = "\n" + text  # so that a heading is always after a line's end
        self.site = site
        self.pieces: list[str] = []
        self.targets: list[str] = []
        self._open: list[_OpenLink] = []
        self._heading_end = 0

    def read(self) -> tuple[str, list[str]]:
        """The text with marked links, and their targets in order."""
        text, pieces = self.text, self.pieces
        search = _link_tokens(self.site.language).search
        position = 0
        while token := search(text, position):
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
                pieces.append("\n")
                end = text.find("\n", position)
                heading = text[position : end if end >= 0 else len(text)]
                if heading.rstrip(" \t" + HOLE).endswith("="):
                    self._heading_end = position + len(heading)
        pieces.append(text[position:])
        self._give_up()
        return "".join(pieces).replace(BREAK, ""), self.targets

    def _add_link(self, head: str, label: str | None, trail: str, in_heading: bool = False) -> None:
        """Write a link whose label holds no brackets; one without a label that is known shows its target."""
        kind, title = read_target(head, self.site)
        if kind in _NOT_SHOWN:
            self.pieces.append(HOLE + trail)
            return
        if kind is TargetKind.INVALID and is_address(head):
            self.pieces.append((label or head.partition(" ")[2] or HOLE) + trail)
            return
        if label is None:
            label = head.strip().removeprefix(":")
        elif not label:
            label = _without_qualifier(head)
        if (HOLE in label or not label.strip()) and not _WORD.search(label):
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
        """Take away the letters at the end of the text so far that join a link behind them."""
        letters = _prefix(self.site.language)
        found = letters.match(self.pieces[-1][::-1]) if letters and self.pieces else None
        if not found or not found[0]:
            return ""
        before = self.pieces[-1]
        self.pieces[-1] = before[: len(before) - found.end()]
        return before[len(before) - found.end() :]

    def _close(self, position: int) -> int:
        """End the last open link at a `]]`; returns where to read on."""
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
            pieces.append(HOLE)
            return position
        if not link.bar:
            pieces[link.pieces] = link.head
            kind = TargetKind.INVALID
        trail = _trail(self.site.language).match(self.text, position)
        tail = trail[0] if trail else ""
        in_heading = position <= self._heading_end
        if kind is not TargetKind.ARTICLE or in_heading or len(self.targets) > link.targets:
            pieces.append(tail)
            return position + len(tail)
        label = "".join(pieces[link.pieces :])
        del pieces[link.pieces :]
        if label.strip(_EDGES):
            self._add_link(link.head, label, tail)
        else:  # an image alone; one hole for all of it, as links around this one read it again
            before, after = (" " if label[end : end + 1].isspace() else "" for end in (0, len(label) - 1))
            pieces.append(f"{before}{HOLE}{after}{tail}")
        return position + len(tail)

    def _give_up(self) -> None:
        """Show what looked like links and never ended, without the brackets."""
        for link in self._open:
            self.pieces[link.pieces] = link.head + link.bar
        self._open.clear()


_NOT_SHOWN = frozenset({TargetKind.FILE, TargetKind.CATEGORY, TargetKind.LANGUAGE})


def _without_qualifier(head: str) -> str:
    """What the pipe trick shows: `[[Mercury (planet)|]]` as "Mercury", `[[Help:Pipe, trick|]]` as "Pipe"."""
    name = head.strip().removeprefix(":")
    name = (name.partition(":")[2] or name).rstrip()
    start = name.rfind("(")
    if start >= 0 and name.endswith(")") and ")" not in name[start:-1]:
        return name[:start].rstrip()
    return name.partition(",")[0]


def _place_links(text: str, targets: list[str]) -> Article:
    """Turn marks in the text into offsets."""
    before, *rest = text.split(LINK_START)
    pieces, links, position = [before], [], len(before)
    for target, piece in zip(targets, rest, strict=True):
        surface, _, after = piece.partition(LINK_END)
        words = surface.strip()
        if words:
            start = position + surface.index(words)
            links.append(Link(start, start + len(words), target))
        pieces += (surface, after)
        position += len(surface) + len(after)
    return Article("".join(pieces), links)
