"""How embeddings spread: alignment and uniformity (section 7.2), isotropy (Eq. 2 and 3 of Mirror-BERT)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.analysis.pairs import Encoders, GradedSets, distinct_sentences, measure_subsets, sample
from ease.evaluation.encodes import Encode
from ease.evaluation.metrics import (
    BLOCK_ELEMENTS,
    isotropy_score,
    mean_vector_norm,
    normalize_rows,
    pairwise_cosine,
    row_lengths,
)
from ease.evaluation.tasks.graded_pairs import GradedPair
from ease.io.models import StrictModel

MAX_SENTENCES = 10_000
"""50 million pairs, which take some seconds."""


class AlignmentOptions(StrictModel):
    """The pairs on which alignment and uniformity are measured."""

    graded: str = Field(description="a task with graded pairs, or one subset of it (`stsb:dev`)")
    above: float = Field(4.0, description="pairs graded higher are positive")
    max_sentences: int = Field(
        MAX_SENTENCES, ge=2, description="maximum number of sentences for uniformity; a sample of more"
    )
    seed: int = Field(0, ge=0, description="seed of the sample")


def alignment(left: ArrayLike, right: ArrayLike) -> float:
    """Mean squared distance of positive pairs' normalised embeddings (Eq. 5), from 0 (best) to 4.

    Args:
        left: (n, dimension).
        right: (n, dimension); row i is the positive of the left row i.

    Raises:
        EaseError: If there is no pair, the shapes differ, or a row is zero or not finite.
    """
    cosines = pairwise_cosine(left, right)
    if not cosines.size:
        raise EaseError("No positive pair to measure the alignment of.")
    return float(np.mean(2 - 2 * cosines))  # ‖a − b‖² of unit vectors


def uniformity(
    embeddings: ArrayLike,
    max_sentences: int = MAX_SENTENCES,
    seed: int = 0,
    block_elements: int = BLOCK_ELEMENTS,
) -> float:
    """Logarithm of the mean of exp(−2‖a − b‖²) over pairs of normalised rows (Eq. 6), from −8 to 0; lower is better.

    All pairs of two different rows, computed in blocks of bounded memory.

    Args:
        embeddings: (n, dimension).
        max_sentences: Maximum number of rows to compare; a sample of more.
        seed: Seed of the sample.
        block_elements: Cosines held at once.

    Raises:
        EaseError: If there are fewer than 2 rows, or a row is zero or not finite.
    """
    rows = np.asarray(embeddings)
    if len(rows) > max_sentences:
        drawn = np.random.default_rng(seed).choice(len(rows), max_sentences, replace=False)
        rows = rows[np.sort(drawn)]
    unit = normalize_rows(rows)
    if len(unit) < 2:
        raise EaseError(f"{len(unit)} sentence(s) to measure the uniformity of: at least 2 are needed.")
    pairs, block = len(unit) * (len(unit) - 1) // 2, max(1, block_elements // len(unit))
    cosines = (unit[start : start + block] @ unit[start:].T for start in range(0, len(unit), block))
    # ‖a − b‖² = 2 − 2 cos; the pairs of a row are those with later rows.
    sums = (float(np.triu(np.exp(4 * part - 4), k=1).sum()) for part in cosines)
    return math.log(math.fsum(sums) / pairs)


def compare_alignment_uniformity(
    encoders: Encoders, sets: GradedSets, options: AlignmentOptions
) -> pd.DataFrame:
    """Measure several encoders on graded pairs: one row per encoder and subset, and their means.

    Returns:
        The columns `model`, `subset`, `alignment`, `uniformity`, `positives` (pairs), `sentences` (distinct).

    Raises:
        EaseError: With the model and the subset, if it has no positive pair or an embedding is unusable.
    """

    def measure(encode: Encode, pairs: Sequence[GradedPair]) -> dict[str, float]:
        # A sentence of several pairs is one point of the distribution.
        sentences = distinct_sentences(pairs)
        row_of = {sentence: row for row, sentence in enumerate(sentences)}
        positive = [pair for pair in pairs if pair.gold > options.above]
        if not positive:
            raise EaseError(
                f"none of {len(pairs)} pairs is graded higher than {options.above:g}; lower `above`."
            )
        embeddings = encode(sentences)
        left = embeddings[[row_of[pair.left] for pair in positive]]
        right = embeddings[[row_of[pair.right] for pair in positive]]
        return {
            "alignment": alignment(left, right),
            "uniformity": uniformity(embeddings, options.max_sentences, options.seed),
            "positives": len(positive),
            "sentences": len(sentences),
        }

    return measure_subsets(encoders, sets, measure)


class IsotropyOptions(StrictModel):
    """The sentences to measure, and how to measure them."""

    graded: str = Field(
        description="a task with graded pairs, or one subset of it, whose sentences are measured"
    )
    normalize: bool = Field(
        False,
        description="whether embeddings are scaled to length 1; not in the paper",
    )
    max_sentences: int = Field(
        MAX_SENTENCES, ge=1, description="maximum number of sentences; a sample of more"
    )
    seed: int = Field(0, ge=0, description="seed of the sample")


def compare_isotropy(encoders: Encoders, sets: GradedSets, options: IsotropyOptions) -> pd.DataFrame:
    """Measure several encoders on the distinct sentences of pairs: one row per encoder and subset, and their means.

    Returns:
        The columns `model`, `subset`, `isotropy`, `mean_vector_norm`, `mean_length` (of the embeddings), `sentences`.

    Raises:
        EaseError: With the model and the subset, if an embedding is zero or not finite.
    """

    def measure(encode: Encode, pairs: Sequence[GradedPair]) -> dict[str, float]:
        generator = np.random.default_rng(options.seed)
        embeddings = encode(sample(distinct_sentences(pairs), options.max_sentences, generator))
        lengths = row_lengths(embeddings)
        rows = embeddings / lengths[:, None] if options.normalize else embeddings
        return {
            "isotropy": isotropy_score(rows),
            "mean_vector_norm": mean_vector_norm(rows),
            "mean_length": 1.0 if options.normalize else float(lengths.mean()),
            "sentences": len(rows),
        }

    return measure_subsets(encoders, sets, measure)
