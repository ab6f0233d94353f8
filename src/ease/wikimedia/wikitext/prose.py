"""Normalise prose: punctuation around removed markup, and one line per block."""

from __future__ import annotations

import re

from ease.wikimedia.wikitext.markup import GAP, HEADING, ITEM, LINK_END, LINK_START

_JOINTS = r" \t,;:،؛、，；：/–—\-"
_FULL_WIDTH = "（"
_OPENING_GAP = {
    brackets: re.compile(rf"[{brackets}][{_JOINTS}]*+{GAP}") for brackets in (r"(\[", rf"(\[{_FULL_WIDTH}")
}
AFTER_OPENING = re.compile(rf"([(\[（])[{_JOINTS}]*+{GAP}[{GAP}{_JOINTS}]*+")
_BEFORE_CLOSING = re.compile(rf"{GAP}[{GAP}{_JOINTS}]*+([)\]）]?)")
_GAPS = re.compile(rf"{GAP}[ {GAP}]*+")
_POINTS = re.compile("[:; ]*+")
_JOINT_CHARACTERS = _JOINTS.replace("\\t", "\t").replace("\\-", "-") + GAP
EMPTY_BRACKETS = (f"({GAP})", f"[{GAP}]", f"（{GAP}）")
_NO_SPACE_AFTER = "\n([（“«" + LINK_START
_NO_SPACE_BEFORE = "\n,.)]）" + LINK_END
_LOWEST_HEADING = 6
_SPECIAL = frozenset(["", *" \t-", ITEM, HEADING])
"""First characters of lines outside paragraphs; "" for an empty line."""

_INNER_MARK = re.compile(rf"(?<!^)[{ITEM}{HEADING}]", re.MULTILINE)
"""A mark that no longer begins a line, as in a link's label over several lines."""
_UNUSUAL_SPACE = re.compile(
    "[\t\x0b\x0c\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
)
"""White space other than a space and a line break."""


def normalize_gaps(text: str) -> str:
    """Normalise gaps: remove empty brackets, double spaces and spaces before commas around removed markup.

    Removed markup at the beginning of a line takes the colon or semicolon after it along.
    """
    if GAP not in text:
        return text
    text = _drop_before_closing(drop_empty_brackets(text))
    pieces, position = [], 0
    for gap in _GAPS.finditer(text):
        left = text[position : gap.start()]
        kept = left.rstrip(" ")
        position = gap.end()
        pieces.append(kept)
        spaced = len(kept) < len(left) or " " in gap[0]
        before = kept[-1:] or "\n"
        if before in ("\n", ITEM):
            position = _POINTS.match(text, position).end()  # type: ignore[union-attr]
        after = text[position : position + 1] or "\n"
        at_edge = before in _NO_SPACE_AFTER or after in _NO_SPACE_BEFORE
        if spaced and not at_edge and (after not in ";:!?»”" or gap[0][-1] == " "):
            pieces.append(" ")
    pieces.append(text[position:])
    return "".join(pieces)


def drop_empty_brackets(text: str) -> str:
    """Drop brackets with nothing but gaps, and the spaces and commas between an opening bracket and a gap."""
    pieces: list[str] = []
    position = 0
    opening_gap = _OPENING_GAP[r"(\[" + (_FULL_WIDTH if _FULL_WIDTH in text else "")]
    while opening := opening_gap.search(text, position):
        start = text.rfind("\n", position, opening.start()) + 1 or position
        end = text.find("\n", opening.end())
        end = len(text) if end < 0 else end
        line = text[start:end]
        for _ in range(2):
            line = AFTER_OPENING.sub(rf"\1{GAP}", line)
            for brackets in EMPTY_BRACKETS:
                line = line.replace(brackets, GAP)
        pieces += (text[position:start], line)
        position = end
    pieces.append(text[position:])
    return "".join(pieces)


def _drop_before_closing(text: str) -> str:
    """Drop gaps and commas before closing brackets."""
    pieces, position = [], 0
    for gap in _BEFORE_CLOSING.finditer(text):
        if gap[1]:
            pieces.append(text[position : gap.start()].rstrip(_JOINT_CHARACTERS))
            position = gap.start(1)
    pieces.append(text[position:])
    return "".join(pieces)


def join_blocks(text: str) -> str:
    """Write each paragraph, list item and heading as one line; drop the marks of headings."""
    blocks: list[str] = []
    paragraph: list[str] = []
    for line in _INNER_MARK.sub(" ", text).split("\n"):
        first = line[:1]
        if first not in _SPECIAL:
            paragraph.append(line)
            continue
        if paragraph:
            blocks.append(" ".join(paragraph))
            paragraph.clear()
        if first:
            blocks.append(_without_marks(line))
    if paragraph:
        blocks.append(" ".join(paragraph))
    if _UNUSUAL_SPACE.search(text):
        lines = [" ".join(block.split()) for block in blocks]
    else:
        lines = [" ".join(block.split()) if "  " in block else block.strip() for block in blocks]
    return "\n".join(filter(None, lines))


def _without_marks(line: str) -> str:
    """Return a line outside paragraphs without its marks."""
    if line[0] == HEADING:
        return _heading("=" + line[1:].rstrip())
    return line.removeprefix(ITEM).strip()


def _heading(line: str) -> str:
    """Return a heading without its marks, or the line unchanged if the marks are not on both sides."""
    left, right = len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("="))
    level = min(left, right, _LOWEST_HEADING, (len(line) - 1) // 2)
    return line[level : len(line) - level]
