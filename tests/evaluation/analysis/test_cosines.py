"""Cosines of positive and negative pairs equal plain loops, their ROC curves equal counts at each threshold."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from statistics import fmean, pstdev

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from pydantic import ValidationError
from sklearn.metrics import roc_auc_score

from ease.errors import EaseError
from ease.evaluation.analysis.graded import (
    POINTS,
    CosineOptions,
    compare_cosines,
    draw_pairs,
    roc_curves,
    summarize_cosines,
)
from ease.evaluation.encodes import Encode
from ease.evaluation.tasks.graded_pairs import GradedPair
from ease.reporting.plots import plot_cosine_distributions, plot_roc_curves

OPTIONS = CosineOptions(graded="stsb:dev", pairs=30)


def graded(seed: int, count: int) -> list[GradedPair]:
    """Pairs of numbers; nearer numbers have higher grades, some pairs have none."""
    generator = np.random.default_rng(seed)
    pairs = []
    for number in range(count):
        left, right = generator.integers(0, 360, size=2)
        grade = 5 * (1 - abs(int(left) - int(right)) / 360)
        pairs.append(GradedPair(str(left), str(right), math.nan if number % 9 == 0 else grade))
    return pairs


def by_half_angle(sentences: object) -> np.ndarray:
    """Encode each number as a vector whose angle is half the number, in degrees."""
    angles = [math.radians(int(text)) / 2 for text in sentences]  # type: ignore[attr-defined]
    return np.array([[(2 + a) * math.cos(a), (2 + a) * math.sin(a)] for a in angles])


def upright(sentences: object) -> np.ndarray:
    """Encode all sentences as the same vector."""
    return np.tile([0.0, 3.0], (len(list(sentences)), 1))  # type: ignore[call-overload]


SETS = {"x": graded(0, 200), "y": graded(1, 40)}


def test_all_pairs_of_both_kinds_have_the_cosine_of_their_angle() -> None:
    everything = OPTIONS.model_copy(update={"pairs": 1000})
    table = compare_cosines({"angle": by_half_angle, "upright": upright}, SETS, everything)
    pairs = [*SETS["x"], *SETS["y"]]
    for kind, chosen in {
        "positive": [pair for pair in pairs if pair.gold > 4],
        "negative": [pair for pair in pairs if pair.gold < 2],
    }.items():
        own = table[(table["model"] == "angle") & (table["kind"] == kind)]
        expected = [math.cos(math.radians(int(left) - int(right)) / 2) for left, right, _ in chosen]
        assert own["cosine"].tolist() == pytest.approx(expected)
        assert table[table["model"] == "upright"]["cosine"].tolist() == pytest.approx([1] * (len(table) // 2))


def test_pairs_are_drawn_by_the_seed_and_are_the_same_for_all_models() -> None:
    drawn = draw_pairs(SETS, OPTIONS)
    pairs = [*SETS["x"], *SETS["y"]]
    assert sum(map(len, drawn.values())) == 30
    share = sum(pair.gold > 4 for pair in pairs) / sum(pair.gold > 4 or pair.gold < 2 for pair in pairs)
    assert len(drawn["positive"]) / 30 == pytest.approx(share, abs=0.15), "as frequent as among all pairs"
    for chosen in drawn.values():
        rows = [pairs.index(pair) for pair in chosen]
        assert rows == sorted(rows)
    assert draw_pairs(SETS, OPTIONS) == drawn
    assert draw_pairs(SETS, OPTIONS.model_copy(update={"seed": 1})) != drawn
    table = compare_cosines({"a": by_half_angle, "b": by_half_angle}, SETS, OPTIONS)
    first, second = (table[table["model"] == model]["cosine"].tolist() for model in "ab")
    assert first == second


def test_the_summary_counts_how_often_a_positive_is_nearer_than_a_negative() -> None:
    table = compare_cosines({"angle": by_half_angle, "upright": upright}, SETS, OPTIONS)
    kinds = {kind: own["cosine"].tolist() for kind, own in table[table["model"] == "angle"].groupby("kind")}
    summary = summarize_cosines(table).set_index("model")
    wins = [
        (positive > negative) + (positive == negative) / 2
        for positive in kinds["positive"]
        for negative in kinds["negative"]
    ]
    row = summary.loc["angle"]
    assert row["auc"] == pytest.approx(fmean(wins))
    assert row["auc"] > 0.9
    assert summary.loc["upright", "auc"] == pytest.approx(0.5)
    for kind, cosines in kinds.items():
        assert row[f"{kind}_mean"] == pytest.approx(fmean(cosines))
        assert row[f"{kind}_deviation"] == pytest.approx(pstdev(cosines))


def test_the_figure_shows_shares_by_steps_of_the_cosine() -> None:
    cosines = {"positive": [0.99, 0.96, 0.93, 1.0], "negative": [-1.0, 0.96]}
    rows = [("ease", kind, value) for kind, values in cosines.items() for value in values]
    rows += [("untrained", kind, 1.0) for kind in cosines]
    table = pd.DataFrame(rows, columns=["model", "kind", "cosine"])
    figure = plot_cosine_distributions(table, summarize_cosines(table))
    shown = go.Figure(json.loads(figure.to_json()))
    assert [trace.name for trace in shown.data] == ["positive pairs", "negative pairs"] * 2
    positive, negative = shown.data[:2]
    assert dict(zip(positive.x, positive.y, strict=True)) == pytest.approx(
        {0.9375: 0.25, 0.9625: 0.25, 0.9875: 0.5}
    )
    found = dict(zip(negative.x, negative.y, strict=True))
    assert (found[-0.9875], found[0.9625]) == (0.5, 0.5)
    assert sum(found.values()) == pytest.approx(1)
    assert {note.text for note in shown.layout.annotations} == {"EASE: AUC 0.81", "Untrained: AUC 0.50"}
    empty = plot_cosine_distributions(table.head(0), summarize_cosines(table).head(0))
    assert "Nothing to show" in empty.layout.annotations[0].text


def test_impossible_comparisons_are_refused() -> None:
    alike = {"x": [GradedPair("1", "2", 3.0)]}
    with pytest.raises(EaseError, match="stsb:dev: none of 0 drawn pairs is positive, graded above 4"):
        draw_pairs(alike, OPTIONS)
    with pytest.raises(EaseError, match="none of 1 drawn pairs is negative, graded below 2"):
        draw_pairs(alike, OPTIONS.model_copy(update={"above": 2.5}))
    with pytest.raises(ValidationError, match="`below` 3 is higher than `above` 2"):
        CosineOptions(graded="stsb:dev", above=2, below=3)
    zero: Encode = lambda sentences: np.zeros((len(sentences), 2))  # noqa: E731
    with pytest.raises(EaseError, match="^m, stsb:dev: .*zero vectors"):
        compare_cosines({"m": zero}, SETS, OPTIONS)


CURVES = CosineOptions(graded="qnli:dev", above=0.5, below=0.5, pairs=10_000)

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
    table = roc_curves({"angle": by_angle, "alike": alike}, {"dev": pairs}, CURVES)
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
    table = roc_curves({"angle": by_angle}, {"dev": pairs}, CURVES)
    assert len(table) == POINTS
    exact = roc_auc_score([pair.gold for pair in pairs], [-float(pair.right) for pair in pairs])
    assert table["auc"].iloc[0] == pytest.approx(exact)
    drawn = np.trapezoid(table["true_positive_rate"], table["false_positive_rate"])
    assert drawn == pytest.approx(exact, abs=0.002)
    figure = plot_roc_curves(table)
    assert [trace.name for trace in figure.data] == [f"angle: AUC {exact:.3f}", "chance"]
    assert len(figure.data[0].x) == POINTS
    assert "nothing" in str(plot_roc_curves(pd.DataFrame(columns=COLUMNS)).layout).lower()
