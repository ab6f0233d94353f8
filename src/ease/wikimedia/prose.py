"""From wikitext without templates and links to tidy prose: punctuation around holes, blocks as lines."""

from __future__ import annotations

import re

from ease.wikimedia.markup import HOLE

_JOINTS = r" \t,;:،؛、，；：/–—\-"
_AFTER_OPENING = re.compile(rf"([(\[（])[{_JOINTS}]*+{HOLE}[{HOLE}{_JOINTS}]*+")
_EMPTY = re.compile(rf"[(\[（]{HOLE}*+[)\]）]")
_BEFORE_CLOSING = re.compile(rf"(?<![{_JOINTS}{HOLE}])[{_JOINTS}]*+{HOLE}[{HOLE}{_JOINTS}]*+(?=[)\]）])")
_HOLES = re.compile(rf"(?<![ {HOLE}])( *+){HOLE}[ {HOLE}]*+")
_HEADING = re.compile(rf"(=+)(.+?)(=+)[ \t{HOLE}]*$")
_ITEM_MARKS = "*#:; \t"
_ROW_MARKS = ("{|", "|-", "|+")
_ROWS = ("|", "!")


def mend_holes(text: str) -> str:
    """Fill the holes of what was taken out: no empty brackets, no doubled spaces or spaces before commas are left."""
    if HOLE not in text:
        return text
    for _ in range(2):
        text = _AFTER_OPENING.sub(rf"\1{HOLE}", text)
        text = _EMPTY.sub(lambda brackets: HOLE if HOLE in brackets[0] else brackets[0], text)
        text = _BEFORE_CLOSING.sub("", text)
    return _HOLES.sub(_fill, text)


def _fill(hole: re.Match[str]) -> str:
    """A space where there was one on either side, unless it would begin or end a line or stand before a comma."""
    found = hole[0]
    if " " not in found:
        return ""
    text, start, end = hole.string, hole.start(), hole.end()
    before = text[start - 1] if start else "\n"
    after = text[end] if end < len(text) else "\n"
    if before in "\n([（“«" or after in "\n,.)]）":
        return ""
    if after in ";:!?»”" and found[-1] != " ":
        return ""
    return " "


def join_blocks(text: str) -> str:
    """One line for each paragraph, list item and heading; marks of lists, rules and tables' remains are dropped."""
    blocks: list[str] = []
    paragraph: list[str] = []
    in_table = False

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
        if stripped.startswith(_ROW_MARKS) or (in_table and stripped.startswith(_ROWS)):
            in_table = not stripped.startswith("|}")
            continue
        if stripped.startswith("|}"):
            in_table, stripped = False, stripped[2:]
        if first == "=":
            heading = _HEADING.match(stripped)
            if heading:
                in_table, stripped = False, heading[2]
        elif first in "*#:;":
            stripped = stripped.lstrip(_ITEM_MARKS)
        elif stripped.startswith("----"):
            stripped = stripped.lstrip("-")
        blocks.append(stripped)
    end_paragraph()
    lines = (" ".join(block.split()) for block in blocks)
    return "\n".join(line for line in lines if line)


_SPECIAL = frozenset(["", *" \t*#:;=-|!{"])
