"""Replace templates by their words, and mark where unknown templates leave a hole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from ease.wikimedia.wikitext.families import FAMILIES
from ease.wikimedia.wikitext.markup import GAP, HEADING, HOLE, ITEM, UNKNOWN_TEMPLATE
from ease.wikimedia.wikitext.passes import match_braces
from ease.wikimedia.wikitext.template_bodies import TemplateEntry
from ease.wikimedia.wikitext.templates import TemplateTable

# Nested templates that are shown; deeper ones are removed, as beyond MediaWiki's limit of 40 expansions.
_DEEPEST = 40
# Characters of a name. MediaWiki's limit of a title is 255 bytes; white space may surround it.
_LONGEST_NAME = 300
# Characters of a template's source; a longer template is removed.
_LONGEST_TEMPLATE = 2000
# Characters of a template's words; longer ones are removed, since arguments that a template repeats grow fast.
_LONGEST_OUTPUT = 10_000

_ONLY_TEMPLATES = re.compile(rf"(?:[ \t{ITEM}]|\{{\{{[^{{}}\n]*+\}}\}})*+")
_LINE_END = re.compile(r"[ .;,)]*(?:\n|$)")
# What may follow a box in its line: the rest of a reference or of another box.
_REST_OF_LINE = re.compile(rf"[ \t{GAP}]*(?:\n|$|\{{\{{)")
# What stands before and after a pronunciation that is an addition to a word, in brackets.
_OPENING_BRACKET = re.compile(r"[(\[（][ '\xa0]*$")
_PUNCTUATION = re.compile(r"[,;:،؛、，；：][ \xa0]*$")
_ADDITION_END = re.compile(r"[ \xa0]*[)\]）,;،؛、，；]")
_NEAR = 10
_NEAR_WORD = 40
_INVISIBLE = " \t" + GAP + HOLE
_COMMAS = ",;،、，；"
_NEXT_COMMA = re.compile(rf" *[{_COMMAS}]")
_LINE_MARKS = re.compile(r"\n(?:[*#:;]++|-----*+)")


class Replacement(NamedTuple):
    """A span of the text that is replaced, by a mark or by the words of a template with further templates inside."""

    start: int
    end: int
    mark: str
    entry: TemplateEntry | None = None
    inside: Sequence[Replacement] = ()


def replace_templates(text: str, templates: TemplateTable | None = None, title: str = "") -> str:
    """Replace templates by their words; remove other templates, parser functions and parameters.

    As in MediaWiki, braces inside `[[…]]` do not close a template that is open outside. Unbalanced braces stay as text.

    Args:
        text: Wikitext without comments and extension tags.
        templates: The wiki's templates; None removes all templates.
        title: The page's title, for templates that show it.

    Returns:
        The text after a line break. `ITEM` and `HEADING` replace the marks at the beginning of its lines, a `GAP` what
        was removed, and a `HOLE` follows the gap of a template that is unknown and has a single line.
    """
    text = _LINE_MARKS.sub("\n" + ITEM, "\n" + text).replace("\n=", "\n" + HEADING)
    return _Renderer(text, templates, title).render(_find_templates(text, templates))


def _find_templates(text: str, templates: TemplateTable | None) -> list[Replacement]:
    """Return the outermost templates and parameters, in order; those inside are kept for templates that are shown."""
    replacements: list[Replacement] = []
    for start, end, braces in zip(*match_braces(text), strict=True):
        if braces:
            _add(replacements, _read_template(text, start, end, braces, templates))
        else:
            # `{{!}}` is how templates and tables write a pipe.
            replacements.append(Replacement(start, end, "|"))
    return replacements


def _read_template(text: str, start: int, end: int, braces: int, templates: TemplateTable | None) -> Replacement:
    if templates is None or braces == 3:
        return Replacement(start, end, GAP)
    inner_end = end - 2
    limit = min(inner_end, start + 2 + _LONGEST_NAME)
    bar = text.find("|", start + 2, limit)
    if bar < 0:
        bar = limit
    entry = None
    # Without a bar, a longer text is no template's name.
    if bar < inner_end or inner_end - start <= _LONGEST_NAME:
        entry = templates.find(text[start + 2 : bar])
    mark = UNKNOWN_TEMPLATE
    if entry is not None and entry.is_hidden:
        is_word = entry.is_citation and _begins_line(text, start)
        if not (is_word or (entry.is_sound and _follows_lower_case(text, start))):
            mark = GAP
        entry = None
    return Replacement(start, end, mark, entry)


def _begins_line(text: str, position: int) -> bool:
    """Return whether nothing but other templates, such as signs of languages, stands before a position in its line."""
    line = text.rfind("\n", max(0, position - _LONGEST_NAME), position) + 1
    return line > 0 and _ONLY_TEMPLATES.fullmatch(text, line, position) is not None


def _follows_lower_case(text: str, position: int) -> bool:
    """Return whether the word before a position is in lower case, and no name: neither bold nor a link."""
    words = text[max(0, position - _NEAR_WORD) : position].split()
    return bool(words) and words[-1].lstrip("(")[:1].islower() and words[-1][-1].isalpha()


def _add(replacements: list[Replacement], template: Replacement) -> None:
    """Add a template; it takes the place of the last ones if it encloses them."""
    # Templates are added when they end, so an enclosing one comes after all that it encloses.
    first = len(replacements)
    while first and replacements[first - 1].start >= template.start:
        first -= 1
    if template.entry is not None:
        # Not `_replace`, which takes several times as long.
        template = Replacement(template.start, template.end, template.mark, template.entry, replacements[first:])
    replacements[first:] = [template]


class _Renderer:
    """Writes a text with the words of its templates."""

    def __init__(self, text: str, templates: TemplateTable | None, title: str) -> None:
        self.text = text
        self.templates = templates
        self.title = title

    def render(self, replacements: list[Replacement]) -> str:
        """Return the complete text."""
        pieces: list[str] = []
        position = 0
        last = ""
        for replacement in replacements:
            start = replacement.start
            words = replacement.mark
            if replacement.entry is not None:
                words = self._words(replacement, 0)
            if words == UNKNOWN_TEMPLATE and self._is_box(replacement, pieces, position):
                words = GAP
            pieces.append(self.text[position:start])
            pieces.append(words)
            if not words.startswith(GAP):
                position = replacement.end
                last = ""
                continue
            # Of the commas around what prints nothing, as in `Lao: ລາວ, {{IPA-lo|láːw}}, ''Lao''`, the first one stays.
            while start > position and self.text[start - 1] == " ":
                start -= 1
            if start > position:
                last = self.text[start - 1]
            position = replacement.end
            if last and last in _COMMAS and (comma := _NEXT_COMMA.match(self.text, position)):
                position = comma.end()
        pieces.append(self.text[position:])
        return "".join(pieces)

    def _words(self, template: Replacement, depth: int) -> str:
        """Return the words of a template, or the mark in its place."""
        start, end, mark, entry, inside = template
        if entry is None:
            # An argument of several lines is a box or a table beside the prose.
            if depth and mark == UNKNOWN_TEMPLATE and "\n" in self.text[start:end]:
                return GAP
            return mark
        if end - start > _LONGEST_TEMPLATE or depth > _DEEPEST or self.templates is None:
            return UNKNOWN_TEMPLATE
        separator = ":" if entry.is_function else "|"
        content_start = self.text.find(separator, start + 2, end - 2) + 1
        content = None
        if content_start:
            content = self._content(content_start, end - 2, inside, depth)
        output = self.templates.write(entry, content, self.title)
        if output is None or len(output) > _LONGEST_OUTPUT:
            return UNKNOWN_TEMPLATE
        if entry.writer is FAMILIES["coordinates"] and _LINE_END.match(self.text, end):
            # After the last word of a line, coordinates are an addition, as references are.
            return GAP
        if output and entry.writer is FAMILIES["pronunciation"] and self._is_addition(start, end):
            return UNKNOWN_TEMPLATE
        if output:
            return output
        if content and HOLE in content:
            return UNKNOWN_TEMPLATE
        return GAP

    def _is_addition(self, start: int, end: int) -> bool:
        """Return whether a template begins the words in brackets, or stands alone between punctuation marks."""
        before = self.text[max(0, start - _NEAR) : start]
        if _OPENING_BRACKET.search(before):
            return True
        return _PUNCTUATION.search(before) is not None and _ADDITION_END.match(self.text, end) is not None

    def _content(self, start: int, end: int, inside: Sequence[Replacement], depth: int) -> str:
        """Return the arguments of a template, with the words of the templates inside."""
        pieces: list[str] = []
        position = start
        for inner in inside:
            if inner.start < start:
                continue
            pieces.append(self.text[position : inner.start])
            pieces.append(self._words(inner, depth + 1))
            position = inner.end
        pieces.append(self.text[position:end])
        return "".join(pieces)

    def _is_box(self, template: Replacement, pieces: Sequence[str], position: int) -> bool:
        """Return whether an unknown template of several lines is a box beside the prose, and not a part of a sentence.

        A part of a sentence has words of its line before it, and something of the line after it.
        """
        start, end = template.start, template.end
        if template.entry is not None or self.text.find("\n", start, end) < 0:
            return False
        if _REST_OF_LINE.match(self.text, end):
            return True
        for before in chain([self.text[position:start]], reversed(pieces)):
            if words := before.rstrip(_INVISIBLE):
                return words.endswith(("\n", ITEM, HEADING))
        return True
