# cython: language_level=3, infer_types=True, boundscheck=False, wraparound=False
"""The passes over wikitext that read single characters: braces, links, quotes, gaps, blocks, spans of sentences.

This module is compiled as it is when the package is installed, if a C++ compiler works there (`hatch_build.py`): with
inferred types, a comparison of characters becomes one of numbers. So characters are literals here: U+0001 and U+0002
enclose links, U+0004 is a `BREAK`, U+0005 a `GAP`, U+0006 an `ITEM`, U+0007 a `HEADING` and U+0008 a `HOLE` (see
`markup`). No index is negative, and an index of a loop over characters never gets an item of a list, which would make
it a Python object.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ease.wikimedia.wikitext.titles import MAX_PLAIN_LENGTH, SiteInfo, normalize_first


def match_braces(  # noqa: C901 - as in `read_plain_links`
    text: str,
) -> tuple[list[int], list[int], list[int]]:
    """Return starts, ends and numbers of braces of templates (2) and parameters (3), in the order of their ends.

    Brackets of links inside braces are matched too, so that a template does not end beyond its link. The pipe `{{!}}`
    has 0 braces. Unbalanced braces are ignored.
    """
    size = len(text)
    starts: list[int] = []
    ends: list[int] = []
    braces: list[int] = []
    # Start of a run of opening brackets, and number of its unmatched brackets.
    open_runs: list[int] = []
    open_brackets: list[int] = []
    i = text.find("{{")
    while 0 <= i < size:
        c = text[i]
        end = i + 1
        if c not in "{}[]":
            i = end
            continue
        while end < size and text[end] == c:
            end += 1
        if end == i + 1:
            i = end
            continue
        if c == "{" and end == i + 2 and text.startswith("!}}", end):
            end += 3
            starts.append(i)
            ends.append(end)
            braces.append(0)
        elif c in "{[":
            open_runs.append(i)
            open_brackets.append(end - i)
        else:
            opening = "{" if c == "}" else "["
            while open_runs and i + 2 <= end and text[open_runs[len(open_runs) - 1]] == opening:
                start = open_runs.pop()
                unmatched = open_brackets.pop()
                # Two brackets close a link or a template, three braces a parameter.
                matched = 2
                if c == "}" and unmatched > 2 and i + 3 <= end:
                    matched = 3
                i += matched
                unmatched -= matched
                if c == "}":
                    starts.append(start + unmatched)
                    ends.append(i)
                    braces.append(matched)
                if unmatched >= 2:
                    open_runs.append(start)
                    open_brackets.append(unmatched)
        # Links matter inside braces only.
        i = end if open_runs else text.find("{{", end)
    return starts, ends, braces


def read_plain_links(  # noqa: C901 - compiled: a call of a function costs more than the branch that it holds
    text: str,
    position: int,
    heading_end: int,
    pieces: list[str],
    targets: list[str],
    site: SiteInfo,
    trail: re.Pattern[str],
) -> int:
    """Write the plain links up to the next token of another kind, and return the position after the last one.

    A plain link is outside headings, has a title that needs no care (as in `titles`, but without slashes), and a label,
    if any, without brackets, marks, and spaces at its ends. The text is read up to `position`; `pieces` gets the text
    up to the last plain link, with marked links, and `targets` their titles.
    """
    size = len(text)
    # `find` gives the position as a number that is no Python object.
    cursor = text.find("", position)
    while True:
        i = cursor
        while i + 1 < size and (text[i] not in "[]\x07" or (text[i] != "\x07" and text[i] != text[i + 1])):
            i += 1
        if i + 1 >= size or text[i] != "[" or i < heading_end:
            return cursor
        start = end = i + 2
        while end < size:
            c = text[end]
            if c < "\x7f":
                if c < " " or c in "#%&/:<>[]_{|}~" or (c == " " and text[end - 1] == " "):
                    break
            elif c < "\xa1" or "\u2000" <= c <= "\u200f" or "\u2028" <= c <= "\u202f":
                break
            elif c in "\u1680\u180e\u205f\u3000\ufffd":
                break
            end += 1
        label = start
        stop = end
        if end < size and text[end] == "|":
            label = stop = end + 1
            while stop < size and text[stop] not in "[]\n\x04\x05":
                stop += 1
        after = stop + 2
        if start == end or label == stop or end - start > MAX_PLAIN_LENGTH or not text.startswith("]]", stop):
            return cursor
        if text[start] in " ." or text[end - 1] == " " or text[label].isspace() or text[stop - 1].isspace():
            return cursor
        title = text[start:end]
        # These titles begin with no lower-case letter: they need no call.
        is_normal = title.isascii() and ("A" <= text[start] <= "Z" or "0" <= text[start] <= "9")
        targets.append(title if is_normal else normalize_first(title, site))
        pieces.append(text[cursor:i])
        pieces.append("\x01")
        pieces.append(text[label:stop])
        cursor = after
        # No other ASCII character begins a trail.
        if after < size and (text[after].isalpha() or text[after] in "'-:" or text[after] > "\x7f"):
            tail = trail.match(text, after)[0]  # type: ignore[index]
            pieces.append(tail)
            cursor += len(tail)
        pieces.append("\x02")


def strip_quotes(text: str) -> str:
    """Drop the quotes of bold and italics; keep the apostrophes that MediaWiki shows."""
    if "''" not in text:
        return text
    size = len(text)
    pieces: list[str] = []
    cursor = 0
    i = text.find("''")
    while i >= 0:
        # MediaWiki closes quotes at the end of each line.
        line = text.rfind("\n", cursor, i) + 1 or cursor
        stop = text.find("\n", i)
        if stop < 0:
            stop = size
        starts: list[int] = []
        ends: list[int] = []
        while 0 <= i < stop:
            end = i + 2
            while end < stop and text[end] == "'":
                end += 1
            starts.append(i)
            ends.append(end)
            i = text.find("''", end, stop)
        odd = _odd_bold(text, line, starts, ends)
        for index in range(len(starts)):
            run = ends[index] - starts[index]
            # Two apostrophes are italics, three bold and five both; of four, the first is a letter.
            width = min(run, 5)
            if index == odd:
                width = 2
            elif run == 4:
                width = 3
            # The first apostrophes of a run are shown.
            pieces.append(text[cursor : ends[index] - width])
            pieces.append("\x04")
            cursor = ends[index]
        i = text.find("''", stop)
    pieces.append(text[cursor:])
    return drop_breaks("".join(pieces))


def _odd_bold(text: str, line: int, starts: list[int], ends: list[int]) -> int:
    """Return the bold that is an apostrophe and an italic, `l'''amico''`; -1 if there is none.

    There is one if the marks of both bold and italics are odd in number: the first after a single letter, else after a
    word, else after a space. This is the rule of MediaWiki's `Parser::doQuotes`.
    """
    bolds = 0
    italics = 0
    letter = -1
    word = -1
    space = -1
    for index in range(len(starts)):
        start = starts[index]
        width = ends[index] - start
        bolds += width > 2
        italics += width == 2 or width > 4
        if width != 3 and width != 4:
            continue
        if start == line or text[start - 1] == " ":
            if space < 0:
                space = index
        elif start == line + 1 or text[start - 2] == " ":
            if letter < 0:
                letter = index
        elif word < 0:
            word = index
    if bolds % 2 == 0 or italics % 2 == 0:
        return -1
    if letter >= 0:
        return letter
    return word if word >= 0 else space


def drop_breaks(text: str) -> str:
    """Drop breaks that are not beside a link, and all but one of a row."""
    i = text.find("\x04")
    if i < 0:
        return text
    size = len(text)
    pieces: list[str] = []
    cursor = 0
    while i >= 0:
        end = i + 1
        while end < size and text[end] == "\x04":
            end += 1
        follows = i >= 2 and text[i - 1] == "]" and text[i - 2] == "]"
        precedes = end + 1 < size and text[end] == "[" and text[end + 1] == "["
        if follows or precedes:
            pieces.append(text[cursor : i + 1])
        else:
            pieces.append(text[cursor:i])
        cursor = end
        i = text.find("\x04", end)
    pieces.append(text[cursor:])
    return "".join(pieces)


def normalize_gaps(text: str) -> str:
    """Normalise gaps: remove empty brackets, double spaces and spaces before commas around removed markup.

    A colon or semicolon after markup removed at the beginning of a line is also removed.
    """
    gap = text.find("\x05")
    if gap < 0:
        return text
    pieces: list[str] = []
    cursor = 0
    while gap >= 0:
        start = text.rfind("\n", cursor, gap) + 1 or cursor
        end = text.find("\n", gap)
        if end < 0:
            end = len(text)
        pieces.append(text[cursor:start])
        pieces.append(_normalize_line(text[start:end]))
        cursor = end
        gap = text.find("\x05", end)
    pieces.append(text[cursor:])
    return "".join(pieces)


def _normalize_line(line: str) -> str:  # noqa: C901
    if "(" in line or "[" in line or "（" in line:
        # Removing an empty pair of brackets may empty the pair around it.
        for _ in range(2):
            line = _drop_after_opening(line)
            line = line.replace("(\x05)", "\x05").replace("[\x05]", "\x05").replace("（\x05）", "\x05")
    if ")" in line or "]" in line or "）" in line:
        line = _drop_before_closing(line)
    size = len(line)
    pieces: list[str] = []
    cursor = 0
    gap = line.find("\x05")
    while gap >= 0:
        start = gap
        end = gap
        while start > cursor and line[start - 1] == " ":
            start -= 1
        spaced = start < gap
        while end < size and line[end] in "\x05 ":
            spaced = spaced or line[end] == " "
            end += 1
        ends_with_space = line[end - 1] == " "
        pieces.append(line[cursor:start])
        # Conditional expressions, since their type is inferred as a character.
        before = line[start - 1] if start > cursor else "\n"
        if before in "\n\x06":
            while end < size and line[end] in ":; ":
                end += 1
        after = line[end] if end < size else "\n"
        if spaced and before not in "\n([（“«\x01" and after not in "\n,.)]）\x02":
            # Some languages set a space before these marks: it stays if it follows the removed markup.
            if ends_with_space or after not in ";:!?»”":
                pieces.append(" ")
        cursor = end
        gap = line.find("\x05", end)
    pieces.append(line[cursor:])
    return "".join(pieces)


def _drop_after_opening(line: str) -> str:
    """Drop spaces and commas around the gaps after an opening bracket."""
    size = len(line)
    pieces: list[str] = []
    cursor = 0
    i = 0
    while i < size:
        c = line[i]
        i += 1
        if c in "([（":
            end = i
            has_gap = False
            while end < size and line[end] in "\x05 \t,;:،؛、，；：/–—-":
                has_gap = has_gap or line[end] == "\x05"
                end += 1
            if has_gap:
                pieces.append(line[cursor:i])
                pieces.append("\x05")
                cursor = end
            i = end
    pieces.append(line[cursor:])
    return "".join(pieces)


def _drop_before_closing(line: str) -> str:
    """Drop spaces, commas and gaps before a closing bracket."""
    size = len(line)
    pieces: list[str] = []
    cursor = 0
    gap = line.find("\x05")
    while gap >= 0:
        end = gap
        while end < size and line[end] in "\x05 \t,;:،؛、，；：/–—-":
            end += 1
        if end < size and line[end] in ")]）":
            while gap > cursor and line[gap - 1] in "\x05 \t,;:،؛、，；：/–—-":
                gap -= 1
            pieces.append(line[cursor:gap])
            cursor = end
        gap = line.find("\x05", end)
    pieces.append(line[cursor:])
    return "".join(pieces)


def join_blocks(text: str) -> str:
    """Write each paragraph, list item and heading as one line; drop the marks of headings."""
    blocks: list[str] = []
    paragraph: list[str] = []
    for line in text.split("\n"):
        first = line[0] if line else "\n"
        if first not in "\n \t-\x06\x07":
            paragraph.append(_join_words(line))
            continue
        if paragraph:
            blocks.append(" ".join(filter(None, paragraph)))
            paragraph = []
        if first == "\x07":
            blocks.append(_heading(_join_words("=" + line[1:])))
        elif line:
            blocks.append(_join_words(line))
    blocks.append(" ".join(filter(None, paragraph)))
    return "\n".join(filter(None, blocks))


def _join_words(line: str) -> str:
    """Return a line with single spaces for white space and marks, and none at its ends."""
    # The loop finds lines that need no change, without building a list of words.
    follows_space = True
    for c in line:
        if (c > " " and (c < "\x80" or "\xa0" < c < "\u1680" or c > "\u3000")) or c in "\x01\x02":
            follows_space = False
        elif c != " " or follows_space:
            return " ".join(line.replace("\x06", " ").replace("\x07", " ").split())
        else:
            follows_space = True
    return line.rstrip(" ")


def _heading(line: str) -> str:
    """Return a heading without its marks, or the line unchanged if the marks are not on both sides."""
    left = len(line) - len(line.lstrip("="))
    right = len(line) - len(line.rstrip("="))
    level = min(left, right, 6, (len(line) - 1) // 2)
    return line[level : len(line) - level].strip()


def take_marks(text: str) -> tuple[str, list[int], list[int], list[int]]:
    """Remove the marks of links and of holes.

    Returns:
        The prose; the offsets in it at which the words of each link start and end, without white space around them (an
        end is not after its start if there are no words); and those of the holes.
    """
    size = len(text)
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    holes: list[int] = []
    cursor = 0
    i = 0
    for c in text:
        if c <= "\x08" and c in "\x01\x02\x08":
            # Each piece follows a mark that is removed.
            offset = i - len(pieces)
            pieces.append(text[cursor:i])
            cursor = i + 1
            place = i
            if c == "\x01":
                while place + 1 < size and text[place + 1].isspace():
                    place += 1
                starts.append(offset + place - i)
            elif c == "\x02":
                while place > 0 and text[place - 1].isspace():
                    place -= 1
                ends.append(offset + place - i)
            else:
                holes.append(offset)
        i += 1
    pieces.append(text[cursor:])
    return "".join(pieces), starts, ends, holes


def cut_sentences(text: str, boundaries: Sequence[int]) -> tuple[list[int], list[str]]:
    """Return the offsets and the texts between boundaries, without surrounding white space and without empty ones.

    No boundary is beyond the end of the text.
    """
    starts: list[int] = []
    sentences: list[str] = []
    # `find` gives the positions as numbers that are no Python objects.
    start = text.find("")
    for boundary in boundaries:
        end = text.find("", boundary)
        stop = end
        while start < stop and text[start].isspace():
            start += 1
        while start < stop and text[stop - 1].isspace():
            stop -= 1
        if start < stop:
            starts.append(start)
            sentences.append(text[start:stop])
        start = end
    return starts, sentences


def sentences_of_links(
    starts: list[int], ends: list[int], link_starts: list[int], link_ends: list[int]
) -> tuple[list[int], list[int]]:
    """Return the indices of each link's first and last sentence; the last is smaller for a link between sentences."""
    firsts: list[int] = []
    lasts: list[int] = []
    first = 0
    previous = 0
    count = len(starts)
    for index in range(len(link_starts)):
        start = link_starts[index]
        end = link_ends[index]
        # Links come in order except after nested ones: only then the search begins anew.
        if start < previous:
            first = 0
        previous = start
        while first < count and ends[first] <= start:
            first += 1
        last = first
        while last < count and starts[last] < end:
            last += 1
        while last and starts[last - 1] >= end:
            last -= 1
        firsts.append(first)
        lasts.append(last - 1)
    return firsts, lasts
