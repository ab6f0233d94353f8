"""Tell where an unknown template leaves a hole in a sentence, and where nothing is missing in print.

Most unknown templates are references, marks and boxes. Only what stands before and after one says whether it may have
been a word: "was born in ⟨?⟩ and", but not "was born there.⟨?⟩ Later".
"""

from __future__ import annotations

import re
from itertools import pairwise

from ease.wikimedia.wikitext.markup import GAP, HEADING, HOLE, ITEM, LINK_END, LINK_START

_SPACES = " \xa0\u2009\u202f\u3000" + GAP
_OPENING = "([（［【「『"
_CLOSING = ")]）］】」』"
# `normalize_gaps` drops these between a gap and a bracket.
_SEPARATORS = ",;:،؛、，；：/–—-"
_SENTENCE_ENDS = ".!?…。！？｡؟۔।॥։።…"
# Ends of sentences in scripts without spaces: what follows is a new sentence.
_FULL_STOPS = "。！？｡"
_AFTER_SENTENCE = _SENTENCE_ENDS + "\"'»”’" + _CLOSING
_REMOVED = _SEPARATORS + _SPACES + HOLE
# Between a gap and the word beside it, and what no word goes beyond.
_BETWEEN = _REMOVED + _OPENING + _CLOSING + "\"'“”«»‘’„" + LINK_START + LINK_END
_OUTSIDE = _SENTENCE_ENDS + "\n" + ITEM + HEADING
_ENTITY = re.compile(r"&#?[A-Za-z0-9]+;$")
# Characters that are looked at in search of the first letter after a template.
_NEAR = 40


def mark_holes(text: str) -> str:
    """Return wikitext in which a `HOLE` stands beside a word wherever a word may be missing, and nowhere else.

    The gap of each hole stays. The text is read after links are marked, and before gaps are normalised: since a mark
    touches only characters of words, it changes nothing there.
    """
    position = text.find(HOLE)
    if position < 0:
        return text
    places: list[int] = []
    while position >= 0:
        start = position
        while start and text[start - 1] in _SPACES:
            start -= 1
        end = position + 1
        while end < len(text) and text[end] in _SPACES + HOLE:
            end += 1
        # Most unknown templates are alone on their lines.
        is_alone = text[end : end + 1] in ("", "\n") and text[start - 1 : start] in ("", "\n", ITEM)
        # References may stand between the word and the template.
        last = text.rfind(HOLE, start, end)
        if not is_alone and _is_hole(text, start, end, spaced_before=text[start:last].strip(GAP + HOLE) != ""):
            place = _word_before(text, start)
            if place is None:
                place = _word_after(text, end)
            if place is not None:
                places.append(place)
        position = text.find(HOLE, end)
    pieces = [text[start:end] for start, end in pairwise([0, *sorted(places), len(text)])]
    return HOLE.join(piece.replace(HOLE, "") for piece in pieces)


def _word_before(text: str, end: int) -> int | None:
    """Return the offset after the last character of a word before a gap; None if no word of the sentence is near."""
    position = end
    limit = max(0, end - _NEAR)
    while position > limit and _is_between(text[position - 1]):
        position -= 1
        # The letters of an entity are no word.
        if text[position] == ";" and (entity := _ENTITY.search(text, max(limit, position - 12), position + 1)):
            position = entity.start()
    if position == limit or text[position - 1] in _OUTSIDE:
        return None
    return position


def _word_after(text: str, start: int) -> int | None:
    """Return the offset of the first character of a word after a gap; None if no word of the line is near."""
    for position in range(start, min(len(text), start + _NEAR)):
        if text[position] == "\n":
            return None
        if not _is_between(text[position]) and text[position] not in _OUTSIDE + "&":
            return position
    return None


def _is_between(character: str) -> bool:
    return character in _BETWEEN or (character.isspace() and character != "\n")


def _text_before(text: str, start: int) -> str:
    """Return the character before a gap; an opening bracket if only gaps and separators stand between."""
    before = text[start - 1] if start else "\n"
    if before == ":" and start > 1 and "Ա" <= text[start - 2] <= "֏":
        # Armenian authors write a colon for the full stop that looks like it.
        return "։"
    limit = max(0, start - _NEAR)
    position = start
    while position > limit and text[position - 1] in _REMOVED:
        position -= 1
    if position and text[position - 1] in _OPENING and GAP in text[position:start]:
        return text[position - 1]
    return before


def _is_hole(text: str, start: int, end: int, spaced_before: bool) -> bool:
    """Return whether a word may be missing at a span of gaps and spaces, also without a space before the template."""
    before = _text_before(text, start)
    after = text[end] if end < len(text) else "\n"
    spaced_after = text[end - 1] not in GAP + HOLE
    if before in "\n" + ITEM + HEADING:
        if after in _SEPARATORS + _SENTENCE_ENDS + _OPENING:
            return True
        return after not in "\n=" and not _begins_sentence(text, end)
    if before in _OPENING:
        # An empty pair of brackets is removed, and a separator after the bracket.
        return after not in _SEPARATORS + _CLOSING + _OPENING + "\n"
    if after in _CLOSING and before in _SEPARATORS:
        # `(German:⟨?⟩)` is left with a word that announces something.
        return before in ":："
    if before in _FULL_STOPS:
        return False
    if before in _AFTER_SENTENCE:
        if after in _SEPARATORS:
            return spaced_before
        ends_there = after == "\n" or after in _CLOSING or _begins_sentence(text, end)
        return not (ends_there or (spaced_after and not spaced_before))
    if before in _SEPARATORS and not spaced_before:
        # A reference after a comma; in scripts without spaces, a word.
        return not spaced_after
    # References are set close to the last word of a line.
    return not (after == "\n" and not spaced_before)


def _begins_sentence(text: str, start: int) -> bool:
    """Return whether the first letter of the text after a template is a capital."""
    for character in text[start : start + _NEAR]:
        if character == "\n":
            return True
        if character.isalpha():
            return character.isupper() or character.istitle()
        if character.isdecimal():
            return False
    return False
