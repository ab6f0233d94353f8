"""ROC curves of cosines as classifiers of positive and negative pairs (Figure 4 of Mirror-BERT)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pydantic import Field

from ease.evaluation.analysis.cosine_distributions import POSITIVE, CosineOptions, compare_cosines
from ease.evaluation.analysis.sentence_pairs import Encoders, GradedSets

POINTS = 201
"""Maximum number of points of a saved curve."""


class CurveOptions(CosineOptions):
    """Which pairs are positive and negative, and further encoders."""

    further: dict[str, str] = Field(
        {}, description="encoders beside the setting's: the folder or hub name of each, by its title"
    )


def roc_curves(encoders: Encoders, sets: GradedSets, options: CosineOptions) -> pd.DataFrame:
    """Compute the ROC curves of several encoders on the same pairs.

    Returns:
        The columns `model`, `false_positive_rate`, `true_positive_rate` and `auc`, the area under the complete curve (0
        to 1). Long curves are thinned to evenly spaced rates.

    Raises:
        EaseError: If there is no pair of one kind; with the model, if an embedding has no cosine.
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
