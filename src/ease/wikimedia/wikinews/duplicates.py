"""Find texts that are the same or nearly the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

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
