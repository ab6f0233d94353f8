"""Merges of a byte-pair encoding (BPE): the steps in which its pieces form from letters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

BPE = "BPE"
Merge = tuple[str, str]
"""Two adjacent pieces that become one"""


def is_bpe(description: Mapping[str, Any]) -> bool:
    """Return whether a tokenizer with this description is a byte-pair encoding."""
    return bool(description["model"]["type"] == BPE)


def is_byte_level(description: Mapping[str, Any]) -> bool:
    """Return whether a tokenizer reads a letter outside of ASCII as several symbols, one for each byte (GPT-2)."""
    return "ByteLevel" in json.dumps([description["pre_tokenizer"], description["normalizer"]])


def read_merges(model: Mapping[str, Any]) -> list[Merge]:
    """Return the merges of a BPE model, the first one first; older files write each as one text with a blank."""
    merges = []
    for merge in model["merges"]:
        if isinstance(merge, str):
            left, _, right = merge.partition(" ")
        else:
            left, right = merge
        merges.append((left, right))
    return merges


def merged_piece(model: Mapping[str, Any], merge: Merge) -> str:
    """Return the piece that two pieces become."""
    left, right = merge
    return left + right.removeprefix(model.get("continuing_subword_prefix") or "")


def respelt_merges(merges: list[Merge], pieces: Mapping[str, str]) -> list[Merge]:
    """Return merges with those that form new pieces, each behind the merge that forms the known piece.

    A text with the new pieces' letters is then split as the text with the known letters is.

    Args:
        merges: Of a BPE model.
        pieces: For each new piece the known one that it stands for, of equal length.
    """
    added: dict[Merge, dict[Merge, None]] = {merge: {} for merge in merges}
    for merge, respelt in _respelt_steps(merges, pieces):
        added[merge][respelt] = None
    # A merge that is there already moves forward.
    extended = [merge for known_merge, respelt in added.items() for merge in (known_merge, *respelt)]
    return list(dict.fromkeys(extended))


def with_parts(merges: list[Merge], pieces: Mapping[str, str]) -> dict[str, str]:
    """Return new pieces with the letters and the shorter pieces from which they form, and the known one for each.

    Args:
        merges: Of a BPE model.
        pieces: As `respelt_merges` reads them.
    """
    parts: dict[str, str] = {}
    for piece, known_piece in pieces.items():
        parts.update(zip(piece, known_piece, strict=True))
    for merge, respelt in _respelt_steps(merges, pieces):
        parts["".join(respelt)] = "".join(merge)
    return {part: known_part for part, known_part in parts.items() if part != known_part}


def _respelt_steps(merges: list[Merge], pieces: Mapping[str, str]) -> Iterator[tuple[Merge, Merge]]:
    """Yield the merges that form the known pieces, each with that of the same letters of the new piece."""
    ranks = {merge: rank for rank, merge in enumerate(merges)}
    for piece, known_piece in pieces.items():
        # Where the symbols begin and end: at first, each letter is one.
        ends = list(range(len(known_piece) + 1))
        while len(ends) > 2:
            spans = list(zip(ends, ends[1:], ends[2:], strict=False))
            pairs = [(known_piece[start:middle], known_piece[middle:end]) for start, middle, end in spans]
            first = min(range(len(pairs)), key=lambda place: ranks.get(pairs[place], inf))
            if pairs[first] not in ranks:
                break  # the known piece is not made of letters
            start, middle, end = spans[first]
            yield pairs[first], (piece[start:middle], piece[middle:end])
            ends.remove(middle)
