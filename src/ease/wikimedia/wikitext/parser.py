"""Parse wikitext into prose with links, and split it into sentences.

The parser makes a fixed number of passes in the order of MediaWiki's parser, each in linear time on any input. The
passes mark both ends of each link in the text, so that a pass may remove text without shifting the links' offsets.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, compress
from operator import add, eq, sub
from typing import NamedTuple

from ease.io.files import read_data_file
from ease.wikimedia.languages import check_languages
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
from ease.wikimedia.wikitext.passes import (
    join_blocks,
    normalize_gaps,
    read_plain_links,
    sentences_of_links,
    strip_quotes,
)
from ease.wikimedia.wikitext.sentences import SentenceSplitter, SplitterEngine
from ease.wikimedia.wikitext.templates import show_templates
from ease.wikimedia.wikitext.titles import (
    SiteInfo,
    TargetKind,
    decode_entities,
    decode_percent,
    decode_spaces,
    is_address,
    read_target,
    without_qualifier,
)

_VARIANTS: dict[str, list[str]] = read_data_file("ease.wikimedia.wikitext", "variants.yml")
"""Codes of the variants by wiki; on other wikis `-{` is text."""
_MARK = re.compile(r"-\{|\}-")
_MOST_NESTED = 10  # MediaWiki's limit; deeper marks are dropped, which keeps the time linear
_SILENT_FLAGS = frozenset("TH-")  # Flags of rules for the page's title, of hidden rules, and of removed rules
_RESERVED = ("\r", LINK_START, LINK_END, LITERAL, BREAK, GAP, ITEM, HEADING)
_EXTERNAL = re.compile(
    r"\[(?:https?:|ftps?:|mailto:|news:|ircs?:|gopher:|tel:|(?=//))[^\s\[\]<>\"\x00-\x07]++[^\S\n]*+"
    r"((?:[^\[\]\n]|\[[^\[\]\n]*+\])*+)\]",
    re.IGNORECASE,
)
_LITERALS = re.compile(rf"{LITERAL}([0-9]+){LITERAL}")
_WORD = re.compile(r"\w")
_EDGES = " \t\r\n\xa0\u2002\u2003\u2009\u202f\u3000" + BREAK + GAP + ITEM + HEADING
_NOT_SHOWN = frozenset({TargetKind.FILE, TargetKind.CATEGORY, TargetKind.LANGUAGE})


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


class Link(NamedTuple):
    """A link's text `text[start:end]`, and the normalised title that it leads to."""

    start: int
    end: int
    target: str


class Sentence(NamedTuple):
    """A sentence, its span in the article, and its links with offsets from the sentence's beginning."""

    text: str
    start: int
    end: int
    links: list[Link]


@dataclass(frozen=True)
class Article:
    """Prose of a page, with one line for each paragraph, list item and heading.

    Attributes:
        text: The prose.
        links: Links to articles of the same wiki, in order and without overlaps; offsets count code points.
        language: Wikipedia's code of the language.
    """

    text: str
    links: list[Link]
    language: str = "en"

    def sentences(self, splitter: SplitterEngine = "icu") -> list[Sentence]:
        """Split the prose with ICU's rules; the splitter `polyglot` is under the GPLv3 and finds the same sentences."""
        return split_article(self, _splitter(self.language, splitter))[0]


_splitter = lru_cache(maxsize=32)(SentenceSplitter)


class Prose(NamedTuple):
    """Prose of a page, with a column for each field of its links."""

    text: str
    starts: list[int]
    ends: list[int]
    targets: list[str]


class SentenceColumns(NamedTuple):
    """Sentences of an article and their links, a column for each field; links name the index of their sentence."""

    starts: list[int]
    texts: list[str]
    link_sentences: list[int]
    link_starts: list[int]
    link_ends: list[int]
    link_targets: list[str]


def split_article(article: Article, splitter: SentenceSplitter) -> tuple[list[Sentence], Counter[str]]:
    """Split an article into sentences with their links.

    A link's text is never split ("[[John F. Kennedy]]"): the sentences around such a boundary are joined.

    Returns:
        The sentences; and counts of boundaries ignored inside links (`boundaries_in_links`) and of links over several
        lines, which are dropped (`links_across_lines`).
    """
    starts, ends, targets = map(list, zip(*article.links, strict=True)) if article.links else ([], [], [])
    columns, counts = split_prose(Prose(article.text, starts, ends, targets), splitter)
    sentences = [
        Sentence(text, start, start + len(text), []) for start, text in zip(columns.starts, columns.texts, strict=True)
    ]
    links = map(Link, columns.link_starts, columns.link_ends, columns.link_targets)
    for sentence, link in zip(columns.link_sentences, links, strict=True):
        sentences[sentence].links.append(link)
    return sentences, counts


def split_prose(prose: Prose, splitter: SentenceSplitter) -> tuple[SentenceColumns, Counter[str]]:
    """Split prose into sentences with their links, as `split_article` does."""
    text, link_starts, link_ends, targets = prose
    starts, texts = splitter.split(text)
    ends = list(map(add, starts, map(len, texts)))
    firsts, lasts = sentences_of_links(starts, ends, link_starts, link_ends)
    joined: set[int] = set()
    if firsts != lasts:
        for first, last, start, end in zip(firsts, lasts, link_starts, link_ends, strict=True):
            if last > first and "\n" not in text[start:end]:
                joined.update(range(first, last))
        if joined:
            starts = [start for index, start in enumerate(starts) if index - 1 not in joined]
            ends = [end for index, end in enumerate(ends) if index not in joined]
            texts = [text[start:end] for start, end in zip(starts, ends, strict=True)]
            firsts, lasts = sentences_of_links(starts, ends, link_starts, link_ends)
    counts = Counter(boundaries_in_links=len(joined))
    if firsts != lasts:
        inside = list(map(eq, firsts, lasts))
        counts["links_across_lines"] = inside.count(False)
        firsts, targets = list(compress(firsts, inside)), list(compress(targets, inside))
        link_starts, link_ends = list(compress(link_starts, inside)), list(compress(link_ends, inside))
    begin = list(map(starts.__getitem__, firsts))
    # White space around a sentence is not part of it.
    link_starts = list(map(sub, map(max, link_starts, begin), begin))
    link_ends = list(map(sub, map(min, link_ends, map(ends.__getitem__, firsts)), begin))
    return SentenceColumns(starts, texts, firsts, link_starts, link_ends, targets), counts


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
    text = strip_quotes(decode_spaces(_choose_variants(text, site.language)))
    text = drop_magic_words(text)
    text, targets = _LinkReader(text, site).read()
    text = _EXTERNAL.sub(lambda link: link[1] or GAP, text)
    text = join_blocks(decode_entities(normalize_gaps(text)))
    if literals:
        text = _LITERALS.sub(lambda number: literals[int(number[1])], text)
    # The links' offsets without their marks.
    pieces = text.replace(LINK_END, LINK_START).split(LINK_START)
    bounds = list(accumulate(map(len, pieces)))
    starts, ends, surfaces = bounds[:-1:2], bounds[1::2], pieces[1::2]
    if len(surfaces) != len(targets):
        raise ValueError(f"{len(targets)} links have {len(surfaces)} marks")
    if (words := list(map(str.strip, surfaces))) != surfaces:
        stripped = zip(starts, surfaces, strict=True)
        starts = [start + len(surface) - len(surface.lstrip()) for start, surface in stripped]
        ends = list(map(add, starts, map(len, words)))
        # An empty surface is not a link.
        starts, ends = list(compress(starts, words)), list(compress(ends, words))
        targets = list(compress(targets, words))
    return Prose("".join(pieces), starts, ends, targets)


@cache
def _site(language: str) -> SiteInfo:
    check_languages([language], "language")
    return SiteInfo(language)


def _choose_variants(text: str, language: str) -> str:
    """Replace each mark of variants by one form; an unclosed mark stays as text."""
    if language not in _VARIANTS or "-{" not in text:
        return text
    pieces: list[str] = []
    opened: list[int] = []
    deeper = position = 0
    for mark in _MARK.finditer(text):
        pieces.append(text[position : mark.start()])
        position = mark.end()
        if mark[0] == "-{" and len(opened) == _MOST_NESTED:
            deeper += 1
        elif mark[0] == "-{":
            opened.append(len(pieces))
            pieces.append("-{")
        elif deeper:
            deeper -= 1
        elif opened:
            start = opened.pop()
            pieces[start:] = [_choose("".join(pieces[start + 1 :]), language)]
        else:
            pieces.append("}-")
    return "".join([*pieces, text[position:]])


def _choose(content: str, language: str) -> str:
    flags_pattern, form_pattern = _patterns(language)
    if flags := flags_pattern.match(content):
        if _SILENT_FLAGS.intersection(map(str.strip, flags[1].split(";"))):
            return GAP
        content = content[flags.end() :]
    first = form_pattern.match(content)
    if first is None:
        return content
    following = form_pattern.search(content, first.end())
    return content[first.end() : following.start() if following else len(content)].strip().removesuffix(";")


@cache
def _patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of flags with their bar, and of a form's beginning."""
    codes = "|".join(sorted(_VARIANTS[language], key=len, reverse=True))
    flags = re.compile(rf"\s*+((?:(?:[ATRDHNS-]|{codes})?\s*+;\s*+)*+(?:[ATRDHNS-]|{codes})?)\s*+\|")
    return flags, re.compile(rf"(?:\A|;)\s*+(?:{codes})\s*+:", re.IGNORECASE)


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
        self.text, self.site = text, site
        self.pieces: list[str] = []
        self.targets: list[str] = []
        self._open: list[tuple[str, str, int, int]] = []
        """Target and bar of each `[[` without `]]` so far, and the numbers of pieces and targets before it."""
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
                self._open.append((token[4] or "", token[5], len(pieces), len(self.targets)))
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
        if not self._prefix.pattern or not self.pieces:
            return ""
        before = self.pieces.pop()
        found = self._prefix.match(before[::-1])
        start = len(before) - (found.end() if found else 0)
        self.pieces.append(before[:start])
        return before[start:]

    def _close(self, position: int) -> int:
        """Close the last open link at a `]]`, and return the position to continue at."""
        if not self._open:
            return position
        head, bar, first, first_target = self._open.pop()
        pieces, last = self.pieces, self.pieces[-1]
        if self.text[position : position + 1] == "]" and last.count("[") > last.count("]"):
            pieces.append("]")
            position += 1
        kind = read_target(head, self.site).kind if head else TargetKind.INVALID
        if kind in _NOT_SHOWN:
            del self.targets[first_target:]
            pieces[first:] = [GAP]
            return position
        if not bar:
            pieces[first] = head
            kind = TargetKind.INVALID
        trail = self._trail.match(self.text, position)
        tail = trail[0] if trail else ""
        in_heading = position <= self._heading_end
        if kind is not TargetKind.ARTICLE or in_heading or len(self.targets) > first_target:
            pieces.append(tail)
            return position + len(tail)
        label = "".join(pieces[first:])
        del pieces[first:]
        if label.strip(_EDGES):
            self._add_link(head, label, tail)
        else:  # only an image: a single gap, since enclosing links scan this label again
            before, after = (" " if label[end : end + 1].isspace() else "" for end in (0, len(label) - 1))
            pieces.append(f"{before}{GAP}{after}{tail}")
        return position + len(tail)

    def _give_up(self) -> None:
        """Show links that were never closed as text, without the brackets."""
        for head, bar, first, _ in self._open:
            self.pieces[first] = head + bar
        self._open.clear()
