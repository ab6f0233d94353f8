"""Clean MewsC-16: drop short, cut, repeated and ambiguous sentences, and near duplicates."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from ease.io.models import StrictModel
from ease.wikimedia.wikinews.first_sentences import Abbreviations
from ease.wikimedia.wikitext.titles import CATEGORY, FILE, known_namespaces

_ROWS = 500
"""Texts that are compared with all others at once."""
_NOT_WORD = re.compile(r"[\W_]+")


def normalized(text: str) -> str:
    """Return a text without case, punctuation and differences of width, for exact comparison."""
    return _NOT_WORD.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def duplicate_groups(texts: Sequence[str], similarity: float, characters: int) -> NDArray[np.int64]:
    """Number the groups of texts that are alike.

    Args:
        texts: Normalised texts.
        similarity: Least Jaccard similarity of two texts' sets of n-grams for them to belong together; groups are the
            connected components. At 1, only equal sets belong together.
        characters: Length of the n-grams; a shorter text is one n-gram.

    Returns:
        The group of each text, shape (texts,).
    """
    from sklearn.feature_extraction.text import HashingVectorizer  # slow to import

    if not texts:
        return np.empty(0, np.int64)
    vectorizer = HashingVectorizer(
        analyzer=lambda text: {
            text[start : start + characters] for start in range(max(1, len(text) - characters + 1))
        },
        norm=None,
        alternate_sign=False,
        dtype=np.float32,
    )
    grams = csr_array(vectorizer.transform(texts))
    grams.data[:] = 1
    sizes = np.diff(grams.indptr)
    order = np.argsort(sizes, kind="stable")
    first, second = _similar_pairs(csr_array(grams[order]), sizes[order], similarity)
    links = coo_array((np.ones(len(first), bool), (order[first], order[second])), shape=(len(texts),) * 2)
    _, groups = connected_components(links, directed=False)
    return groups.astype(np.int64)


def _similar_pairs(
    grams: csr_array, sizes: NDArray[np.int64], similarity: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of rows, which are sorted by size, whose Jaccard similarity suffices."""
    pairs: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for start in range(0, len(sizes), _ROWS):
        end = min(start + _ROWS, len(sizes))
        # A set with more than 1/similarity times as many n-grams cannot be similar enough.
        last = int(np.searchsorted(sizes, sizes[end - 1] / similarity, side="right"))
        common = (grams[start:end] @ grams[start:last].T).tocoo()
        row, column = common.row + start, common.col + start
        union = sizes[row] + sizes[column] - common.data
        found = (column > row) & (common.data >= similarity * union)
        pairs.append((row[found].astype(np.int64), column[found].astype(np.int64)))
    first, second = zip(*pairs, strict=True)
    return np.concatenate(first), np.concatenate(second)


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
