"""Normalise prose: punctuation around removed markup, and one line per block."""

from __future__ import annotations

import re

from ease.wikimedia.wikitext.markup import GAP, LINK_END, LINK_START

_JOINTS = r" \t,;:،؛、，；：/–—\-"
_AFTER_OPENING = re.compile(rf"([(\[（])[{_JOINTS}]*+{GAP}[{GAP}{_JOINTS}]*+")
_BEFORE_CLOSING = re.compile(rf"{GAP}[{GAP}{_JOINTS}]*+([)\]）]?)")
_GAPS = re.compile(rf"{GAP}[ {GAP}]*+")
_JOINT_CHARACTERS = _JOINTS.replace("\\t", "\t").replace("\\-", "-") + GAP
_EMPTY = (f"({GAP})", f"[{GAP}]", f"（{GAP}）")
_NO_SPACE_AFTER = "\n([（“«" + LINK_START
_NO_SPACE_BEFORE = "\n,.)]）" + LINK_END
_ITEM_MARKS = "*#:; \t"
_LOWEST_HEADING = 6
_SPECIAL = frozenset(["", *" \t*#:;=-"])
"""First characters of lines outside paragraphs; "" for an empty line."""


def normalize_gaps(text: str) -> str:
    """Normalise gaps: remove empty brackets, double spaces and spaces before commas around removed markup."""
    if GAP not in text:
        return text
    for _ in range(2):
        text = _AFTER_OPENING.sub(rf"\1{GAP}", text)
        for brackets in _EMPTY:
            text = text.replace(brackets, GAP)
    text = _drop_before_closing(text)
    pieces, position = [], 0
    for gap in _GAPS.finditer(text):
        left = text[position : gap.start()]
        kept = left.rstrip(" ")
        position = gap.end()
        pieces.append(kept)
        spaced = len(kept) < len(left) or " " in gap[0]
        before, after = kept[-1:] or "\n", text[position : position + 1] or "\n"
        at_edge = before in _NO_SPACE_AFTER or after in _NO_SPACE_BEFORE
        if spaced and not at_edge and (after not in ";:!?»”" or gap[0][-1] == " "):
            pieces.append(" ")
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
    """Write each paragraph, list item and heading as one line; drop the marks of lists and rules."""
    blocks: list[str] = []
    paragraph: list[str] = []

    def end_paragraph() -> None:
        if paragraph:
            blocks.append(" ".join(paragraph))
            paragraph.clear()

    for line in text.split("\n"):
        first = line[:1]
        if first not in _SPECIAL:
            paragraph.append(line)
            continue
        end_paragraph()
        stripped = line.strip()
        if first == "=":
            stripped = _heading(stripped)
        elif first in "*#:;":
            stripped = stripped.lstrip(_ITEM_MARKS)
        elif stripped.startswith("----"):
            stripped = stripped.lstrip("-")
        blocks.append(stripped)
    end_paragraph()
    lines = (" ".join(block.split()) for block in blocks)
    return "\n".join(line for line in lines if line)


def _heading(line: str) -> str:
    """Return a heading without its marks, or the line unchanged if the marks are not on both sides."""
    left, right = len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("="))
    level = min(left, right, _LOWEST_HEADING, (len(line) - 1) // 2)
    return line[level : len(line) - level]
