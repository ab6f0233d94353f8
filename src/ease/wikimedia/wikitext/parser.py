"""Parse wikitext into prose with links, and split it into sentences.

The parser makes a fixed number of passes in the order of MediaWiki's parser, each in linear time on any input. The
passes mark both ends of each link in the text, so that a pass may remove text without shifting the links' offsets.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import compress
from operator import add, eq, lt, sub
from typing import NamedTuple

from ease.arguments import checked
from ease.io.files import read_data_file
from ease.wikimedia.languages import check_languages
from ease.wikimedia.wikitext.holes import mark_holes
from ease.wikimedia.wikitext.markup import (
    BREAK,
    GAP,
    HEADING,
    HOLE,
    ITEM,
    LINK_END,
    LINK_START,
    LITERAL,
    cut_tables,
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
    take_marks,
)
from ease.wikimedia.wikitext.sentences import SentenceSplitter, SplitterEngine
from ease.wikimedia.wikitext.template_replacement import replace_templates
from ease.wikimedia.wikitext.templates import LearntTemplates, TemplateTable
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

# Codes of the variants by wiki; on other wikis `-{` is text.
_VARIANTS: dict[str, list[str]] = read_data_file("ease.wikimedia.wikitext", "variants.yml")
_MARK = re.compile(r"-\{|\}-")
# MediaWiki's limit of nested marks; deeper marks are dropped, which keeps the time linear.
_MOST_NESTED = 10
# Flags of rules for the page's title, of hidden rules, and of removed rules: their text is not shown where it stands.
_SILENT_FLAGS = frozenset("TH-")
_RESERVED = ("\r", LINK_START, LINK_END, LITERAL, BREAK, GAP, ITEM, HEADING, HOLE)
_EXTERNAL = re.compile(
    r"\[(?:https?:|ftps?:|mailto:|news:|ircs?:|gopher:|tel:|(?=//))[^\s\[\]<>\"\x00-\x08]++[^\S\n]*+"
    r"((?:[^\[\]\n]|\[[^\[\]\n]*+\])*+)\]",
    re.IGNORECASE,
)
# MediaWiki turns quotes into tags first, and a tag ends an address: the label may follow without a blank.
_ADDRESS_BEFORE_MARKUP = re.compile(
    # The first letter of a protocol, looked at before the others, saves half of the time.
    r"\[(?=[hfmnigt/])(?:https?:|ftps?:|mailto:|news:|ircs?:|gopher:|tel:|(?=//))[^\s\[\]<>\"'\x00-\x08]++"
    r"(?:'(?!')[^\s\[\]<>\"'\x00-\x08]*+)*+(?=''|<)",
    re.IGNORECASE,
)
_POEM = re.compile(r"<poem\b[^<>]*+>(?:(?!</?poem\b).)*+</poem\s*+>", re.IGNORECASE | re.DOTALL)
_LITERALS = re.compile(rf"{LITERAL}([0-9]+){LITERAL}")
_WORD = re.compile(r"\w")
_EDGES = " \t\r\n\xa0\u2002\u2003\u2009\u202f\u3000" + BREAK + GAP + ITEM + HEADING
_NOT_SHOWN = frozenset({TargetKind.FILE, TargetKind.CATEGORY, TargetKind.LANGUAGE})


def link_trail(language: str) -> str:
    """Return a regular expression for the letters after `]]`; the expression may match nothing."""
    after = _trail_rules("after")
    letters = after.get(language, after["default"])
    default = ""
    if letters:
        default = "{letters}*+"
    trail = _trail_rules("with_marks").get(language, default)
    return trail.replace("{letters}", f"[{letters}]")


def link_prefix(language: str) -> str | None:
    """Return a regular expression for the letters before `[[` in reverse order; None if none belong to the link."""
    letter = _trail_rules("before").get(language)
    if not letter:
        return None
    return f"(?:{letter})*+"


@cache
def _trail_rules(section: str) -> dict[str, str]:
    """Return a section of `link_trails.yml` by language; the file groups languages with the same rule."""
    table = read_data_file("ease.wikimedia.wikitext", "link_trails.yml")[section]
    return {language: letters for languages, letters in table.items() for language in languages.split()}


class Link(NamedTuple):
    """A link's text `text[start:end]`, and the normalised title that it leads to."""

    start: int
    end: int
    target: str


class Sentence(NamedTuple):
    """A sentence, its span in the article, and its links with offsets from the sentence's beginning.

    `holes` is the number of places in it where a word of an unknown template may be missing.
    """

    text: str
    start: int
    end: int
    links: list[Link]
    holes: int = 0


@dataclass(frozen=True)
class Article:
    """Prose of a page, with one line for each paragraph, list item and heading.

    Attributes:
        text: The prose.
        links: Links to articles of the same wiki, in order and without overlaps; offsets count code points.
        language: Wikipedia's code of the language.
        holes: Offsets at which a word of an unknown template may be missing, in order.
    """

    text: str
    links: list[Link]
    language: str = "en"
    holes: list[int] = field(default_factory=list)

    def sentences(self, splitter: SplitterEngine = "icu") -> list[Sentence]:
        """Split the prose by ICU's rules; `polyglot`, which is under the GPLv3, finds the same sentences."""
        return split_article(self, _splitter(self.language, splitter))[0]


_splitter = lru_cache(maxsize=32)(SentenceSplitter)


class Prose(NamedTuple):
    """Prose of a page, with a column for each field of its links, and the offsets of its holes."""

    text: str
    starts: list[int]
    ends: list[int]
    targets: list[str]
    holes: Sequence[int] = ()


class SentenceColumns(NamedTuple):
    """Sentences of an article and their links, with a column for each field; links name their sentence by its index.

    `holes` has the number of holes in each sentence.
    """

    starts: list[int]
    texts: list[str]
    holes: list[int]
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
    starts = [link.start for link in article.links]
    ends = [link.end for link in article.links]
    targets = [link.target for link in article.links]
    columns, counts = split_prose(Prose(article.text, starts, ends, targets, article.holes), splitter)
    rows = zip(columns.starts, columns.texts, columns.holes, strict=True)
    sentences = [Sentence(text, start, start + len(text), [], holes) for start, text, holes in rows]
    links = map(Link, columns.link_starts, columns.link_ends, columns.link_targets)
    for sentence, link in zip(columns.link_sentences, links, strict=True):
        sentences[sentence].links.append(link)
    return sentences, counts


def split_prose(prose: Prose, splitter: SentenceSplitter) -> tuple[SentenceColumns, Counter[str]]:
    """Split prose into sentences with their links, as `split_article` does.

    Columns are faster than a loop over links, of which a Wikipedia has hundreds of millions.
    """
    text, link_starts, link_ends, targets, holes = prose
    starts, texts = splitter.split(text)
    ends = list(map(add, starts, map(len, texts)))
    firsts, lasts = sentences_of_links(starts, ends, link_starts, link_ends)

    # Join the sentences that share a link. A link over several lines joins nothing: its lines are blocks.
    joints: set[int] = set()
    if firsts != lasts:
        for first, last, start, end in zip(firsts, lasts, link_starts, link_ends, strict=True):
            if last > first and "\n" not in text[start:end]:
                joints.update(range(first, last))
        if joints:
            starts = [start for index, start in enumerate(starts) if index - 1 not in joints]
            ends = [end for index, end in enumerate(ends) if index not in joints]
            texts = [text[start:end] for start, end in zip(starts, ends, strict=True)]
            firsts, lasts = sentences_of_links(starts, ends, link_starts, link_ends)
    counts = Counter(boundaries_in_links=len(joints))

    if firsts != lasts:
        is_inside = list(map(eq, firsts, lasts))
        counts["links_across_lines"] = is_inside.count(False)
        firsts = list(compress(firsts, is_inside))
        targets = list(compress(targets, is_inside))
        link_starts = list(compress(link_starts, is_inside))
        link_ends = list(compress(link_ends, is_inside))
    sentence_starts = list(map(starts.__getitem__, firsts))
    # White space around a sentence is not part of it.
    link_starts = list(map(sub, map(max, link_starts, sentence_starts), sentence_starts))
    link_ends = list(map(sub, map(min, link_ends, map(ends.__getitem__, firsts)), sentence_starts))
    hole_counts = _count_holes(starts, ends, holes)
    return SentenceColumns(starts, texts, hole_counts, firsts, link_starts, link_ends, targets), counts


def _count_holes(starts: list[int], ends: list[int], holes: Sequence[int]) -> list[int]:
    """Return the number of holes of each sentence; a hole is at the first or last character or between them."""
    counts = [0] * len(starts)
    for hole in holes:
        sentence = bisect_right(starts, hole) - 1
        # A hole after the last word of a sentence, where the next one begins at once, belongs to the first one.
        if sentence > 0 and hole == starts[sentence] == ends[sentence - 1]:
            sentence -= 1
        if sentence >= 0 and hole <= ends[sentence]:
            counts[sentence] += 1
    return counts


@checked
def parse_wikitext(
    text: str,
    language: str | SiteInfo = "en",
    show: bool = True,
    templates: TemplateTable | LearntTemplates | Mapping[str, str] | None = None,
    title: str = "",
) -> Article:
    """Return the prose of a page, and its links to articles of the same wiki.

    Args:
        text: The page's wikitext.
        language: Wikipedia's code of the language; or the wiki, with the namespaces that its dump names.
        show: Replace templates that write words, such as `{{convert|5|km}}`, by these words. False removes them, as
            all other templates.
        templates: What `read_templates` learnt from the wiki's dump; or the caller's own templates by name, such as
            `{"w": "argument: 2|1"}` (see `read_specification`), which take precedence over the lists.
        title: The page's title, which `{{PAGENAME}}` shows; without it, such variables leave a hole.

    Returns:
        The prose with its links; its method `sentences` splits it.

    Raises:
        EaseError: There is no Wikipedia in the language, or a specification in `templates` cannot be read.

    Example:
        >>> article = parse_wikitext("See [[Berlin]]s [[paris|old]] towers. ''No'' link.", language="en")
        >>> article.text
        'See Berlins old towers. No link.'
        >>> [sentence.text for sentence in article.sentences()]
        ['See Berlins old towers.', 'No link.']
        >>> article.sentences()[0].links[0]
        Link(start=4, end=11, target='Berlin')
    """
    if isinstance(language, str):
        site = _site(language)
    else:
        site = language
    table = None
    if show:
        table = make_table(site, templates)
    for mark in _RESERVED:
        # The test is several times as fast as a replacement that finds nothing.
        if mark in text:
            text = text.replace(mark, "")
    prose = read_prose(text, site, table, title)
    links = list(map(Link, prose.starts, prose.ends, prose.targets))
    return Article(prose.text, links, site.language, list(prose.holes))


def make_table(site: SiteInfo, templates: TemplateTable | Mapping[str, str] | None = None) -> TemplateTable:
    """Return the table of a wiki's templates; raises EaseError if a specification cannot be read."""
    if isinstance(templates, TemplateTable):
        return templates
    if isinstance(templates, LearntTemplates):
        return TemplateTable(site, templates)
    return TemplateTable(site, overrides=templates)


def read_prose(text: str, site: SiteInfo, templates: TemplateTable | None = None, title: str = "") -> Prose:
    """Return the prose of a wiki's page and its links in columns, as `parse_wikitext` does.

    Without `templates`, all templates are removed. `title` is the page's, which some templates show.

    The text must have neither carriage returns nor the characters U+0001 to U+0008, which XML excludes.
    """
    text, literals = hide_extensions(text)
    text = _ADDRESS_BEFORE_MARKUP.sub(r"\g<0> ", text)
    if "oem" in text:
        # The lines of a poem are not joined, unlike those of other paragraphs.
        text = _POEM.sub(lambda poem: poem[0].replace("\n", "<br>\n"), text)
    text = strip_tags(cut_tables(replace_templates(text, templates, title)))
    text = strip_quotes(decode_spaces(_choose_variants(text, site.language)))
    text = drop_magic_words(text)
    text, targets = _LinkReader(text, site).read()
    text = mark_holes(_EXTERNAL.sub(lambda link: link[1] or GAP, text))
    text = join_blocks(decode_entities(normalize_gaps(text)))
    if literals:
        text = _LITERALS.sub(lambda number: literals[int(number[1])], text)
    prose, starts, ends, holes = take_marks(text)
    if not len(starts) == len(ends) == len(targets):
        raise ValueError(f"{len(targets)} links have {len(starts)} and {len(ends)} marks")
    has_words = list(map(lt, starts, ends))
    if not all(has_words):
        starts = list(compress(starts, has_words))
        ends = list(compress(ends, has_words))
        targets = list(compress(targets, has_words))
    return Prose(prose, starts, ends, targets, holes)


@cache
def _site(language: str) -> SiteInfo:
    check_languages([language], "language")
    return SiteInfo(language)


def _choose_variants(text: str, language: str) -> str:
    """Replace each mark of variants by one form; an unclosed mark stays as text."""
    if language not in _VARIANTS or "-{" not in text:
        return text
    pieces: list[str] = []
    # The piece at which each unclosed mark starts.
    unclosed: list[int] = []
    deeper = 0
    position = 0
    for mark in _MARK.finditer(text):
        pieces.append(text[position : mark.start()])
        position = mark.end()
        if mark[0] == "-{" and len(unclosed) == _MOST_NESTED:
            deeper += 1
        elif mark[0] == "-{":
            unclosed.append(len(pieces))
            pieces.append("-{")
        elif deeper:
            deeper -= 1
        elif unclosed:
            start = unclosed.pop()
            pieces[start:] = [_choose_variant("".join(pieces[start + 1 :]), language)]
        else:
            pieces.append("}-")
    return "".join([*pieces, text[position:]])


def _choose_variant(content: str, language: str) -> str:
    """Return the text that a mark of variants shows: its first form, or all of it if it has no forms."""
    flags_pattern, form_pattern = _patterns(language)
    flags = flags_pattern.match(content)
    if flags:
        if _SILENT_FLAGS.intersection(map(str.strip, flags[1].split(";"))):
            return GAP
        content = content[flags.end() :]
    first = form_pattern.match(content)
    if first is None:
        return content
    following = form_pattern.search(content, first.end())
    end = len(content)
    if following:
        end = following.start()
    return content[first.end() : end].strip().removesuffix(";")


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
    head = r"\[\[(?!\[)([^\[\]|\n<>{}]++)"
    trail = link_trail(language)
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
        # Target and bar of each `[[` without `]]` so far, and the numbers of pieces and targets before it.
        self._unclosed: list[tuple[str, str, int, int]] = []
        self._heading_end = 0
        self._trail = re.compile(link_trail(site.language))
        self._prefix = re.compile(link_prefix(site.language) or "")

    def read(self) -> tuple[str, list[str]]:
        """Return the text with marked links, and their targets in order."""
        text = self.text
        pieces = self.pieces
        search = _link_tokens(self.site.language).search
        position = 0
        while True:
            # The compiled pass knows no prefixes: it is for the languages without.
            if not self._prefix.pattern:
                position = read_plain_links(
                    text, position, self._heading_end, pieces, self.targets, self.site, self._trail
                )
            token = search(text, position)
            if not token:
                break
            start = token.start()
            pieces.append(text[position:start])
            position = token.end()
            if token[1] is not None:
                self._add_link(token[1], token[2], token[3], start < self._heading_end)
            elif text[start] == "[":
                self._unclosed.append((token[4] or "", token[5], len(pieces), len(self.targets)))
                # An empty piece in the place of the brackets: `_show_unclosed` may fill it.
                pieces.append("")
            elif text[start] == "]":
                position = self._close(position)
            else:
                # No link spans the beginning of a heading.
                self._show_unclosed()
                pieces.append(HEADING)
                end = text.find("\n", position)
                if end < 0:
                    end = len(text)
                heading = text[position:end]
                # The line is a heading only if it also ends with a mark.
                if heading.rstrip(" \t" + GAP + HOLE).endswith("="):
                    self._heading_end = position + len(heading)
        pieces.append(text[position:])
        self._show_unclosed()
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
            # As in MediaWiki, an empty label (`[[Paris (Texas)|]]`) shows the title without its qualifier.
            label = without_qualifier(head)
        if (GAP in label or not label.strip()) and not _WORD.search(label):
            # Only markup was in the label, such as a template or an image.
            label = head.strip().removeprefix(":") + HOLE * label.count(HOLE)
        phrase = label + trail
        if kind is not TargetKind.ARTICLE or in_heading:
            self.pieces.append(phrase)
            return
        phrase = self._pop_prefix() + phrase
        # Marks of holes stand after the link, whose edges have none.
        holes = HOLE * phrase.count(HOLE)
        phrase = phrase.replace(HOLE, "")
        surface = phrase.strip(_EDGES)
        # White space at the ends is text between the words, but not part of the link.
        before = ""
        after = ""
        if len(surface) != len(phrase):
            before = " " if phrase[0].isspace() else ""
            after = " " if phrase[-1].isspace() else ""
        if "\n" in surface:
            surface = " ".join(surface.split())
        self.pieces.append(f"{before}{LINK_START}{surface}{LINK_END}{holes}{after}")
        self.targets.append(title)

    def _pop_prefix(self) -> str:
        """Take the letters that belong to the next link from the text before it, and return them."""
        if not self._prefix.pattern or not self.pieces:
            return ""
        text = self.pieces.pop()
        # The pattern reads backwards, from the link to the left.
        match = self._prefix.match(text[::-1])
        start = len(text)
        if match:
            start -= match.end()
        self.pieces.append(text[:start])
        return text[start:]

    def _close(self, position: int) -> int:
        """Close the last open link at a `]]`, and return the position to continue at."""
        if not self._unclosed:
            return position
        head, bar, first, first_target = self._unclosed.pop()
        pieces = self.pieces
        last = pieces[-1]
        # Of three closing brackets, the first one closes a bracket inside the label.
        if self.text[position : position + 1] == "]" and last.count("[") > last.count("]"):
            pieces.append("]")
            position += 1
        kind = TargetKind.INVALID
        if head:
            kind = read_target(head, self.site).kind
        if kind in _NOT_SHOWN:
            # The caption of an image goes with its links.
            del self.targets[first_target:]
            pieces[first:] = [GAP]
            return position
        if not bar:
            pieces[first] = head
            kind = TargetKind.INVALID
        trail = self._trail.match(self.text, position)
        tail = ""
        if trail:
            tail = trail[0]
        in_heading = position <= self._heading_end
        # MediaWiki does not nest links: the outer one is text around the inner one.
        if kind is not TargetKind.ARTICLE or in_heading or len(self.targets) > first_target:
            pieces.append(tail)
            return position + len(tail)
        label = "".join(pieces[first:])
        del pieces[first:]
        if label.strip(_EDGES):
            self._add_link(head, label, tail)
        else:
            # The label was only an image: it becomes a single gap, since enclosing links scan this label again.
            before = " " if label[:1].isspace() else ""
            after = " " if label[-1:].isspace() else ""
            pieces.append(f"{before}{GAP}{after}{tail}")
        return position + len(tail)

    def _show_unclosed(self) -> None:
        """Show links that were never closed as text, without the brackets."""
        for head, bar, first, _ in self._unclosed:
            self.pieces[first] = head + bar
        self._unclosed.clear()
