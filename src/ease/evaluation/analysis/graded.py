"""Measures of graded pairs: cosines and ROC curves, alignment and uniformity, isotropy.

Figures 4 and 7, and equations 2 and 3 of Mirror-BERT; section 7.2 of EASE.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.analysis.pairs import (
    Encoders,
    GradedOptions,
    GradedSets,
    distinct_sentences,
    measure_subsets,
    sample,
)
from ease.evaluation.encodes import Encode
from ease.evaluation.metrics import (
    BLOCK_ELEMENTS,
    isotropy_score,
    mean_vector_norm,
    normalize_rows,
    pairwise_cosine,
    row_lengths,
)
from ease.evaluation.tasks.graded_pairs import GradedPair, pair_cosines

POSITIVE, NEGATIVE = "positive", "negative"
POINTS = 201
"""Maximum number of points of a saved ROC curve."""


class CosineOptions(GradedOptions):
    """Which pairs are positive and negative, and how many are shown."""

    above: float = Field(4.0, description="pairs graded higher than this are positive")
    below: float = Field(2.0, description="pairs graded lower than this are negative")
    pairs: int = Field(1000, ge=2, description="maximum number of pairs of both kinds; a sample of more")

    @model_validator(mode="after")
    def _apart(self) -> CosineOptions:
        if self.below > self.above:
            raise EaseError(
                f"`below` {self.below:g} is higher than `above` {self.above:g}: a pair would be both."
            )
        return self


def draw_pairs(sets: GradedSets, options: CosineOptions) -> dict[str, list[GradedPair]]:
    """Draw positive and negative pairs over all subsets by the seed, in their order."""
    graded = [
        pair
        for pairs in sets.values()
        for pair in pairs
        if pair.gold > options.above or pair.gold < options.below
    ]
    drawn = sample(graded, options.pairs, np.random.default_rng(options.seed))
    kinds = {
        POSITIVE: [pair for pair in drawn if pair.gold > options.above],
        NEGATIVE: [pair for pair in drawn if pair.gold < options.below],
    }
    for kind, bound in ((POSITIVE, f"above {options.above:g}"), (NEGATIVE, f"below {options.below:g}")):
        if not kinds[kind]:
            raise EaseError(
                f"{options.graded}: none of {len(drawn)} drawn pairs is {kind}, graded {bound}; change that bound, or "
                "draw more `pairs`."
            )
    return kinds


def compare_cosines(encoders: Encoders, sets: GradedSets, options: CosineOptions) -> pd.DataFrame:
    """Return the cosines of the same positive and negative pairs by several encoders: `model`, `kind` and `cosine`.

    Raises:
        EaseError: If there is no pair of one kind; with the model, if an embedding has no cosine.
    """
    drawn = draw_pairs(sets, options)
    kinds = np.repeat(list(drawn), [len(pairs) for pairs in drawn.values()])
    pairs = [pair for chosen in drawn.values() for pair in chosen]
    tables = []
    for model, encode in encoders.items():
        cosines = pair_cosines(encode, pairs, f"{model}, {options.graded}")
        tables.append(pd.DataFrame({"model": model, "kind": kinds, "cosine": cosines}))
    return pd.concat(tables, ignore_index=True)


def summarize_cosines(table: pd.DataFrame) -> pd.DataFrame:
    """Return mean and standard deviation of each model's cosines of either kind, and the area under the ROC curve."""
    from sklearn.metrics import roc_auc_score

    rows = []
    for model, own in table.groupby("model", sort=False):
        row: dict[str, object] = {"model": model}
        for kind in (POSITIVE, NEGATIVE):
            cosines = own.loc[own["kind"] == kind, "cosine"]
            row |= {f"{kind}_mean": cosines.mean(), f"{kind}_deviation": cosines.std(ddof=0)}
        rows.append({**row, "auc": float(roc_auc_score(own["kind"] == POSITIVE, own["cosine"]))})
    return pd.DataFrame(rows)


class CurveOptions(CosineOptions):
    """Which pairs are positive and negative, and further encoders."""

    further: dict[str, str] = Field(
        {}, description="encoders beside the setting's: the folder or hub name of each, by its title"
    )


def roc_curves(encoders: Encoders, sets: GradedSets, options: CosineOptions) -> pd.DataFrame:
    """Return the ROC curves of several encoders on the same pairs: rates, and the area under the curve (0 to 1).

    Long curves are thinned to evenly spaced rates; the area is that of the complete curve.
    """
    from sklearn.metrics import auc, roc_curve

    tables = []
    for model, own in compare_cosines(encoders, sets, options).groupby("model", sort=False):
        false, true, _ = roc_curve(own["kind"] == POSITIVE, own["cosine"])
        area = float(auc(false, true))
        if len(false) > POINTS:
            grid = np.linspace(0, 1, POINTS)
            false, true = grid, np.concatenate([[0.0], np.interp(grid[1:], false, true)])
        rates = {"false_positive_rate": false, "true_positive_rate": true, "auc": area}
        tables.append(pd.DataFrame({"model": model, **rates}))
    return pd.concat(tables, ignore_index=True)


MAX_SENTENCES = 10_000
"""50 million pairs, which take some seconds."""


class AlignmentOptions(GradedOptions):
    """Which pairs are positive, and how many sentences are compared."""

    above: float = Field(4.0, description="pairs graded higher are positive")
    max_sentences: int = Field(
        MAX_SENTENCES, ge=2, description="maximum number of sentences for uniformity; a sample of more"
    )


def alignment(left: ArrayLike, right: ArrayLike) -> float:
    """Mean squared distance of positive pairs' normalised embeddings (Eq. 5), from 0 (best) to 4.

    Args:
        left: (n, dimension).
        right: (n, dimension); row i is the positive of the left row i.
    """
    return float(np.mean(2 - 2 * pairwise_cosine(left, right)))  # ‖a − b‖² of unit vectors


def uniformity(
    embeddings: ArrayLike,
    max_sentences: int = MAX_SENTENCES,
    seed: int = 0,
    block_elements: int = BLOCK_ELEMENTS,
) -> float:
    """Logarithm of the mean of exp(−2‖a − b‖²) over pairs of normalised rows (Eq. 6), from −8 to 0; lower is better.

    All pairs of two different rows, computed in blocks of bounded memory.

    Args:
        embeddings: (n, dimension), at least 2.
        max_sentences: Maximum number of rows to compare; a sample of more.
        seed: Seed of the sample.
        block_elements: Cosines held at once.
    """
    rows = np.asarray(embeddings)
    if len(rows) > max_sentences:
        drawn = np.random.default_rng(seed).choice(len(rows), max_sentences, replace=False)
        rows = rows[np.sort(drawn)]
    unit = normalize_rows(rows)
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


class IsotropyOptions(GradedOptions):
    """How the sentences of the pairs are measured."""

    normalize: bool = Field(False, description="whether embeddings are scaled to length 1; not in the paper")
    max_sentences: int = Field(
        MAX_SENTENCES, ge=1, description="maximum number of sentences; a sample of more"
    )


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
