"""Clean MewsC-16: remove sentences that are not the news' own, too short, cut, ambiguous or repeated."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from ease.io.models import StrictModel
from ease.wikimedia.wikinews.abbreviations import Abbreviations
from ease.wikimedia.wikinews.duplicates import duplicate_groups, normalized
from ease.wikimedia.wikitext.namespaces import CATEGORY, FILE, known_namespaces

SENTENCE, LABEL = "sentence", "category"
_MARKUP = re.compile(
    r"\{\{|\}\}|\[\[|\]\]|__[A-Z]+__|==|\|"  # templates, links, magic words, headings, options of images
    r"|</?[A-Za-z][^<>]*>"
    r"|\d+px\b"
    r"|^[;:*#]"
)


class CleaningOptions(StrictModel):
    """Which sentences are removed from the edition `clean`."""

    min_width: int = Field(
        20, ge=1, description="least width of a sentence in columns; East Asian characters take two"
    )
    max_repeats: int = Field(
        10, ge=1, description="a sentence on more pages is a notice: none of its copies is kept"
    )
    similarity: float = Field(
        0.8,
        gt=0,
        le=1,
        description="sentences whose sets of n-grams have at least this Jaccard similarity are near duplicates",
    )
    characters: int = Field(5, ge=1, description="characters of these n-grams")


def clean(table: pa.Table, language: str, options: CleaningOptions) -> tuple[pa.Table, Counter[str]]:
    """Remove sentences of one language.

    Args:
        table: Columns `sentence` and `category`, and any others; of duplicates the first row is kept.
        language: Wikipedia's code.
        options: What is removed.

    Returns:
        The remaining rows in their order, and the number of removed rows by reason: `markup` (template, category or
        file text), `short`, `abbreviation` (the sentence was cut after one), `notice` (on more than `max_repeats`
        pages), `contradictory` (duplicates with several labels) and `duplicate`.
    """
    removed = Counter[str]()
    tests: dict[str, Callable[[str], bool]] = {
        "markup": _markup_test(language),
        "short": lambda sentence: _width(sentence) < options.min_width,
        "abbreviation": Abbreviations(language).ends,
    }
    for reason, is_bad in tests.items():
        bad = np.fromiter(map(is_bad, table[SENTENCE].to_pylist()), bool, table.num_rows)
        table = _without(table, bad, reason, removed)
    texts = [normalized(sentence) for sentence in table[SENTENCE].to_pylist()]
    copies = Counter(texts)
    notices = np.array([copies[text] > options.max_repeats for text in texts], bool)
    table = _without(table, notices, "notice", removed)
    texts = [text for text in texts if copies[text] <= options.max_repeats]
    groups = duplicate_groups(texts, options.similarity, options.characters)
    contradictory = _with_several_labels(groups, table[LABEL])
    table = _without(table, contradictory, "contradictory", removed)
    _, first = np.unique(groups[~contradictory], return_index=True)
    repeated = np.ones(table.num_rows, bool)
    repeated[first] = False
    return _without(table, repeated, "duplicate", removed), removed


def _markup_test(language: str) -> Callable[[str], bool]:
    """Return a function that finds remains of wikitext, with the language's names of categories and files."""
    names = [name for name, number in known_namespaces(language).items() if number in (CATEGORY, FILE)]
    prefix = re.compile(rf"(?:{'|'.join(map(re.escape, names))})\s?:", re.IGNORECASE)
    return lambda sentence: bool(_MARKUP.search(sentence) or prefix.search(sentence))


def _width(sentence: str) -> int:
    """Return the number of columns that a text takes."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in sentence)


def _with_several_labels(groups: NDArray[np.int64], labels: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return the rows whose group has rows with different labels."""
    if not len(groups):
        return np.empty(0, bool)
    codes = pc.dictionary_encode(labels).combine_chunks().indices.to_numpy()
    lowest, highest = np.full(groups.max() + 1, len(codes)), np.full(groups.max() + 1, -1)
    np.minimum.at(lowest, groups, codes)
    np.maximum.at(highest, groups, codes)
    several: NDArray[np.bool_] = (lowest != highest)[groups]
    return several


def _without(table: pa.Table, bad: NDArray[np.bool_], reason: str, removed: Counter[str]) -> pa.Table:
    """Remove rows and count them."""
    removed[reason] += int(bad.sum())
    return table.filter(pa.array(~bad))
