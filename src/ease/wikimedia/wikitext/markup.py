"""Remove markup that is not prose: comments, extensions, templates, tables, tags, quotes.

Each function is one pass over the text, in linear time on any input. Removed text leaves a `GAP`, so that the
punctuation around it can be normalised later, and letters after it do not join a link before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ease.io.files import read_data_file
from ease.wikimedia.wikitext.passes import drop_breaks
from ease.wikimedia.wikitext.titles import decode_entities, is_capital

LINK_START = "\x01"
LINK_END = "\x02"
GAP = "\x05"
BREAK = "\x04"
"""Marks a removed tag or quotes beside a link: letters beyond the mark do not join the link."""
LITERAL = "\x03"
"""Encloses the number of a text that is not markup (`<nowiki>`)."""
ITEM = "\x06"
HEADING = "\x07"
"""Begin a line in the place of its marks: those of a list or rule, or the first of a heading. Other `*` are text."""
HOLE = "\x08"
"""Follows the gap of a template that is not known, where a word of the sentence may be missing."""
UNKNOWN_TEMPLATE = GAP + HOLE
"""What an unknown template leaves"""

_TAGS = {kind: names.replace(" ", "|") for kind, names in read_data_file("ease.wikimedia.wikitext", "tags.yml").items()}
_SECTION_MARK = rf"</?(?:{_TAGS['section']})(?=[\s/>])[^<>]*+>"
_FIRST_SECTION_MARK = re.compile(_SECTION_MARK, re.IGNORECASE)
_SECTION_MARKS = re.compile(rf"^[ \t]*+(?:{_SECTION_MARK}[ \t]*+)++\n|({_SECTION_MARK})", re.IGNORECASE | re.MULTILINE)
_EXTENSION = re.compile(rf"<(?:!--|(nowiki|{_TAGS['extensions']})(?=[\s/>]))", re.IGNORECASE)
_BLOCK_TAG = re.compile(rf"</?(?:{_TAGS['block']})(?=[\s/>])[^<>]*+>", re.IGNORECASE)
_INLINE_TAG = re.compile(rf"</?(?:{_TAGS['inline']}|{_TAGS['extensions']})(?=[\s/>])[^<>]*+>", re.IGNORECASE)
_ROW = re.compile(r"\n[ \t]*+(?:\{\||\|[-+}])")
# The search for a pattern that begins with a literal is several times as fast as that for alternatives.
_HTML_TABLE = re.compile(r"<(?:(table)(?=[\s/>])[^<>]*+>|/table\s*+>)", re.IGNORECASE)
_WIKI_TABLE = re.compile(rf"\n[ \t{ITEM}{GAP}{HOLE}]*+(?:(\{{\|)|\|\}})")
_CLOSING_TAGS = {
    name: re.compile(rf"</{name}\s*+>", re.IGNORECASE) for name in ["nowiki", *_TAGS["extensions"].split("|")]
}
# Letters of any script with combining marks and joiners; single underscores between letters.
_MAGIC_WORD = re.compile(
    r"__(?=[^\W\d_])((?:[^\x00-@\[-`{-\xbf\u2000-\u200b\u200e-\u206f\u3000-\u303f]|_(?![_\s]))++)__"
)
_ENGLISH_MAGIC_WORDS = frozenset(_TAGS["magic_words"].split("|"))

_Cut = tuple[int, int, str]  # Start and end of a span, and the mark that replaces it


def hide_extensions(source: str) -> tuple[str, list[str]]:
    """Remove comments, references, galleries, formulas and similar extensions, from left to right.

    Of an unclosed extension, only the tag is removed.

    Returns:
        The text, in which a number between two `LITERAL` replaces each `<nowiki>`, and the contents of these.
    """
    if "<" not in source:
        return source, []
    pieces: list[str] = []
    literals: list[str] = []
    # Tags without an end: searching for it again from each tag would take quadratic time.
    unclosed: set[str] = set()
    position = 0
    while match := _EXTENSION.search(source, position):
        start = match.start()
        end = match.end()
        name = (match[1] or "").lower()
        replacement = ""
        if not name:
            start, end = _comment(source, position, start, end)
        elif ">" in unclosed or (tag_end := source.find(">", end)) < 0:
            unclosed.add(">")
            start = end
        elif source[tag_end - 1] == "/":
            end = tag_end + 1
            replacement = GAP
        elif name in unclosed or not (close := _CLOSING_TAGS[name].search(source, tag_end + 1)):
            unclosed.add(name)
            end = tag_end + 1
        else:
            end = close.end()
            replacement = GAP
            if name == "nowiki":
                replacement = _literal(source[tag_end + 1 : close.start()], literals)
        pieces += (source[position:start], replacement)
        position = end
    pieces.append(source[position:])
    return "".join(pieces), literals


def _comment(source: str, position: int, start: int, inside: int) -> tuple[int, int]:
    """Return the span of a comment, with its line if nothing else is on it; an unclosed one ends with the page."""
    end = source.find("-->", inside)
    if end < 0:
        end = len(source)
    else:
        end += len("-->")
    line = start
    while line > position and source[line - 1] in " \t":
        line -= 1
    after = end
    while after < len(source) and source[after] in " \t":
        after += 1
    # As in MediaWiki, a comment alone on its line takes the line break along, so that no paragraph ends there.
    is_alone = (line == 0 or source[line - 1] == "\n") and source[after : after + 1] == "\n"
    if is_alone:
        return line, after + 1
    return start, end


def _literal(content: str, literals: list[str]) -> str:
    """Return a placeholder for text that is not markup, between the text's outer spaces."""
    content = decode_entities(content)
    words = content.split()
    if words:
        literals.append(" ".join(words))
        before = " " if content[0].isspace() else ""
        after = " " if content[-1].isspace() else ""
        return f"{before}{LITERAL}{len(literals) - 1}{LITERAL}{after}"
    if content:
        return " "
    return GAP


def cut_tables(text: str) -> str:
    """Remove tables, also nested ones; of a table without a beginning or an end, remove the lines of rows."""
    for table, mark in ((_WIKI_TABLE, "{|"), (_HTML_TABLE, "<")):
        # The test for one character is the faster one, and fails for most pages.
        if mark[0] in text and mark in text:
            # The pattern needs a line break before the table.
            text = "\n" + text
            starts: list[int] = []
            cuts: list[_Cut] = []
            for token in table.finditer(text):
                if token[1]:
                    # A wiki table starts at its braces, not at the line break before them.
                    starts.append(token.start(1) if mark == "{|" else token.start())
                elif starts:
                    _add_cut(cuts, starts.pop(), token.end())
            text = _without(text, cuts)
    if _ROW.search(text):
        return _drop_rows(text)
    return text


def _drop_rows(text: str) -> str:
    """Drop lines of rows from tables that a template opens or closes, or that are never closed."""
    lines = []
    in_table = False
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped.startswith(("{|", "|-", "|+")) or (in_table and stripped.startswith(("|", "!"))):
            in_table = not stripped.startswith("|}")
            line = ""
        elif stripped.startswith("|}"):
            # Text may follow the end of a table on its line.
            in_table = False
            line = stripped[2:]
        elif stripped.startswith(HEADING):
            # No table spans a heading, so a table that is never closed does not cost the rest of the page.
            in_table = False
        lines.append(line)
    return "\n".join(lines)


def _add_cut(cuts: list[_Cut], start: int, end: int) -> None:
    """Add a span that becomes a gap; it replaces the last spans if it encloses them."""
    # Spans are added when they end, so an enclosing one comes after all that it encloses.
    while cuts and cuts[-1][0] >= start:
        cuts.pop()
    cuts.append((start, end, GAP))


def _without(text: str, cuts: Sequence[_Cut]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end, mark in cuts:
        pieces += (text[position:start], mark)
        position = end
    pieces.append(text[position:])
    return "".join(pieces)


def strip_tags(text: str) -> str:
    """Drop HTML tags but not their content; block tags end a line. Unknown tags stay as text."""
    if "<" not in text:
        return text
    if _FIRST_SECTION_MARK.search(text):
        # A mark alone on its line takes the line along; in a line, it may stand beside a link.
        text = _SECTION_MARKS.sub(lambda mark: BREAK if mark[1] else "", text)
    return drop_breaks(_INLINE_TAG.sub(BREAK, _BLOCK_TAG.sub("\n\n", text)))


def drop_magic_words(text: str) -> str:
    """Drop switches such as `__NOTOC__` in any language: capitals, letters without case, English ones in any case."""
    if "__" not in text:
        return text

    def replacement(word: re.Match[str]) -> str:
        in_capitals = all(map(is_capital, word[1]))
        if in_capitals or word[1].lower() in _ENGLISH_MAGIC_WORDS:
            return ""
        return word[0]

    return _MAGIC_WORD.sub(replacement, text)
