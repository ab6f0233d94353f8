"""From wikitext without templates and links to tidy prose: punctuation around holes, blocks as lines."""

from __future__ import annotations

import re

from ease.wikimedia.wikitext.markup import HOLE, LINK_END, LINK_START

_JOINTS = r" \t,;:،؛、，；：/–—\-"
_AFTER_OPENING = re.compile(rf"([(\[（])[{_JOINTS}]*+{HOLE}[{HOLE}{_JOINTS}]*+")
_BEFORE_CLOSING = re.compile(rf"{HOLE}[{HOLE}{_JOINTS}]*+([)\]）]?)")
_HOLES = re.compile(rf"{HOLE}[ {HOLE}]*+")
_JOINT_CHARACTERS = _JOINTS.replace("\\t", "\t").replace("\\-", "-") + HOLE
_EMPTY = (f"({HOLE})", f"[{HOLE}]", f"（{HOLE}）")
_NO_SPACE_AFTER = "\n([（“«" + LINK_START
_NO_SPACE_BEFORE = "\n,.)]）" + LINK_END
_ITEM_MARKS = "*#:; \t"
_LOWEST_HEADING = 6
_SPECIAL = frozenset(["", *" \t*#:;=-"])
"""First characters of lines that are no part of a paragraph, "" for an empty line."""


def mend_holes(text: str) -> str:
    """Fill the holes of what was taken out: no empty brackets, doubled spaces or spaces before commas."""
    if HOLE not in text:
        return text
    for _ in range(2):
        text = _AFTER_OPENING.sub(rf"\1{HOLE}", text)
        for brackets in _EMPTY:
            text = text.replace(brackets, HOLE)
    text = _drop_before_closing(text)
    pieces, position = [], 0
    for hole in _HOLES.finditer(text):
        left = text[position : hole.start()]
        kept = left.rstrip(" ")
        position = hole.end()
        pieces.append(kept)
        spaced = len(kept) < len(left) or " " in hole[0]
        before, after = kept[-1:] or "\n", text[position : position + 1] or "\n"
        if spaced and _needs_space(before, after, hole[0][-1]):
            pieces.append(" ")
    pieces.append(text[position:])
    return "".join(pieces)


def _drop_before_closing(text: str) -> str:
    """Drop the holes and commas before closing brackets."""
    pieces, position = [], 0
    for hole in _BEFORE_CLOSING.finditer(text):
        if hole[1]:
            pieces.append(text[position : hole.start()].rstrip(_JOINT_CHARACTERS))
            position = hole.start(1)
    pieces.append(text[position:])
    return "".join(pieces)


def _needs_space(before: str, after: str, last: str) -> bool:
    """Whether a space stays: not at the ends of a line, before a comma, or after a bracket."""
    if before in _NO_SPACE_AFTER or after in _NO_SPACE_BEFORE:
        return False
    return after not in ";:!?»”" or last == " "


def join_blocks(text: str) -> str:
    """One line for each paragraph, list item and heading; the marks of lists and rules are dropped."""
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
    """A heading without its marks; the line as it is where they are not on both sides."""
    left, right = len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("="))
    level = min(left, right, _LOWEST_HEADING, (len(line) - 1) // 2)
    return line[level : len(line) - level]
