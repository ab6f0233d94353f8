"""Isotropy of embeddings: do they spread evenly over all directions? (Eq. 2 and 3 of Mirror-BERT)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, Field

from ease.errors import EaseError
from ease.evaluation.analysis.alignment_uniformity import MAX_SENTENCES
from ease.evaluation.analysis.sentence_pairs import distinct_sentences
from ease.evaluation.metrics import finite_rows, row_lengths
from ease.evaluation.tasks import AVERAGE, Encode
from ease.evaluation.tasks.components.graded_pairs import GradedPair

MEASURES = ["isotropy", "mean_vector_norm", "mean_length"]
COLUMNS = ["model", "subset", *MEASURES, "sentences"]


class IsotropyOptions(BaseModel):
    """Whose embeddings are measured, and how."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    graded: str = Field(
        description="a task with graded pairs, or one subset of it, whose sentences are taken"
    )
    normalize: bool = Field(
        False,
        description="whether embeddings are first scaled to length 1; the paper takes them as they come",
    )
    max_sentences: int = Field(
        MAX_SENTENCES, ge=1, description="sentences to measure; of more, so many are drawn"
    )
    seed: int = Field(0, ge=0, description="of the drawn sentences")


def isotropy_score(embeddings: ArrayLike) -> float:
    """Least over greatest sum of exp(c · v) over all v, c being any unit eigenvector of VᵀV (Eq. 2 of Mirror-BERT).

    The negative of an eigenvector is one, too, and which of both a solver returns is chance: both are taken.

    Args:
        embeddings: V, (n, dimension), not normalised.

    Returns:
        0, all in one direction, to 1, isotropic.

    Raises:
        EaseError: If there is no row, or one is not finite.
    """
    from scipy.special import logsumexp

    rows = _rows(embeddings)
    _, directions = np.linalg.eigh(rows.T @ rows)  # columns
    along = rows @ directions  # (n, dimension)
    # Lengths of some tens are common, and exp of them overflows when summed as it is.
    logarithms = np.concatenate([logsumexp(sign * along, axis=0) for sign in (1, -1)])
    return math.exp(logarithms.min() - logarithms.max())


def mean_vector_norm(embeddings: ArrayLike) -> float:
    """Length of the mean vector (Eq. 3 of Mirror-BERT): 0 where the embeddings are centred; (n, dimension).

    Raises:
        EaseError: If there is no row, or one is not finite.
    """
    return float(np.linalg.norm(_rows(embeddings).mean(axis=0)))


def _rows(embeddings: ArrayLike) -> np.ndarray:
    rows = np.asarray(finite_rows(embeddings), dtype=np.float64)
    if not len(rows):
        raise EaseError("No embedding to measure the isotropy of.")
    return rows


def compare_isotropy(
    encoders: Mapping[str, Encode], sets: Mapping[str, Sequence[GradedPair]], options: IsotropyOptions
) -> pd.DataFrame:
    """Measure several encoders on the sentences of pairs: a row for each encoder and subset, and their mean.

    Args:
        encoders: By the names of the models.
        sets: Pairs by subset; each distinct sentence counts once.
        options: How many sentences, and whether they are normalised.

    Returns:
        The columns `model`, `subset`, `isotropy`, `mean_vector_norm`, `mean_length` (of the embeddings), `sentences`.

    Raises:
        EaseError: Naming the model and the subset, if an embedding is zero or not finite.
    """
    rows: list[dict[str, object]] = []
    for model, encode in encoders.items():
        own = []
        for subset, pairs in sets.items():
            try:
                own.append({"subset": subset, **_measure(encode(_drawn(pairs, options)), options)})
            except EaseError as error:
                raise EaseError(f"{model}, {subset}: {error}") from error
        if len(own) > 1:
            table = pd.DataFrame(own)
            means = table[MEASURES].mean().to_dict()
            own.append({"subset": AVERAGE, **means, "sentences": table["sentences"].sum()})
        rows += [{"model": model, **row} for row in own]
    return pd.DataFrame(rows, columns=COLUMNS)


def _drawn(pairs: Sequence[GradedPair], options: IsotropyOptions) -> list[str]:
    sentences = distinct_sentences(pairs)
    if len(sentences) <= options.max_sentences:
        return sentences
    generator = np.random.default_rng(options.seed)
    chosen = generator.choice(len(sentences), options.max_sentences, replace=False)
    return [sentences[row] for row in np.sort(chosen)]


def _measure(embeddings: np.ndarray, options: IsotropyOptions) -> dict[str, float]:
    lengths = row_lengths(embeddings)
    rows = embeddings / lengths[:, None] if options.normalize else embeddings
    return {
        "isotropy": isotropy_score(rows),
        "mean_vector_norm": mean_vector_norm(rows),
        "mean_length": 1.0 if options.normalize else float(lengths.mean()),
        "sentences": len(rows),
    }
