"""Isotropy of embeddings: how evenly they spread over all directions (Eq. 2 and 3 of Mirror-BERT)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from pydantic import Field

from ease.evaluation.analysis.alignment_uniformity import MAX_SENTENCES
from ease.evaluation.analysis.sentence_pairs import (
    Encoders,
    GradedSets,
    distinct_sentences,
    measure_subsets,
    sample,
)
from ease.evaluation.isotropy import isotropy_score, mean_vector_norm
from ease.evaluation.metrics import row_lengths
from ease.evaluation.tasks import Encode
from ease.evaluation.tasks.components.graded_pairs import GradedPair
from ease.io.models import StrictModel


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
