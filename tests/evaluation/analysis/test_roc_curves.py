"""ROC curves of cosines equal counts at each threshold; long curves are thinned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from ease.evaluation.analysis.cosines import POINTS, CosineOptions, roc_curves
from ease.evaluation.tasks.graded_pairs import GradedPair
from ease.reporting.plots import plot_roc_curves

OPTIONS = CosineOptions(graded="qnli:dev", above=0.5, below=0.5, pairs=10_000)

COLUMNS = ["model", "false_positive_rate", "true_positive_rate", "auc"]


def by_angle(sentences: Sequence[str]) -> np.ndarray:
    """Encode each number as a unit vector with this angle in degrees."""
    angles = np.radians([float(text) for text in sentences])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def alike(sentences: Sequence[str]) -> np.ndarray:
    return np.ones((len(sentences), 2))


def test_the_curve_has_the_rates_at_every_threshold() -> None:
    # Cosines fall with the angle; the positive pairs have the angles 10, 20 and 40.
    pairs = [
        GradedPair("0", angle, gold)
        for angle, gold in (("10", 1), ("20", 1), ("30", 0), ("40", 1), ("50", 0))
    ]
    table = roc_curves({"angle": by_angle, "alike": alike}, {"dev": pairs}, OPTIONS)
    assert list(table) == COLUMNS
    curves = {model: own[COLUMNS[1:3]].to_numpy().tolist() for model, own in table.groupby("model")}
    assert curves["angle"] == [[0, 0], [0, 1 / 3], [0, 2 / 3], [0.5, 2 / 3], [0.5, 1], [1, 1]]
    assert curves["alike"] == [[0, 0], [1, 1]]
    assert table.groupby("model")["auc"].first().to_dict() == {"alike": 0.5, "angle": pytest.approx(5 / 6)}


def test_long_curves_are_thinned_and_keep_their_area() -> None:
    generator = np.random.default_rng(0)
    pairs = [
        GradedPair("0", str(generator.uniform(0, 90) + (40 if number % 2 else 0)), float(number % 2 == 0))
        for number in range(4000)
    ]
    table = roc_curves({"angle": by_angle}, {"dev": pairs}, OPTIONS)
    assert len(table) == POINTS
    exact = roc_auc_score([pair.gold for pair in pairs], [-float(pair.right) for pair in pairs])
    assert table["auc"].iloc[0] == pytest.approx(exact)
    drawn = np.trapezoid(table["true_positive_rate"], table["false_positive_rate"])
    assert drawn == pytest.approx(exact, abs=0.002)
    figure = plot_roc_curves(table)
    assert [trace.name for trace in figure.data] == [f"angle: AUC {exact:.3f}", "chance"]
    assert len(figure.data[0].x) == POINTS
    assert "nothing" in str(plot_roc_curves(pd.DataFrame(columns=COLUMNS)).layout).lower()
