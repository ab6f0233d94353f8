"""Measures of pairs equal plain loops, scipy, scikit-learn and values known by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, pstdev

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.preprocessing import normalize

from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.evaluation.analysis import graded as graded_module
from ease.evaluation.analysis.graded import CosineOptions, compare_cosines, differing_pairs, draw_pairs
from ease.evaluation.tasks.graded_pairs import GradedPair
from ease.pipelines.analysis.nodes import measure_isotropy
from ease.reporting.plots import plot_cosine_distributions, plot_roc_curves
from ease.similarity.metrics import isotropy_score, mean_vector_norm
from tests.evaluation.made_tasks import make_task

OPTIONS = CosineOptions(graded="stsb:dev", pairs=30)
ISOTROPY = graded_module.GradedOptions(graded="stsb:dev")
ALIGNMENT = graded_module.AlignmentOptions(graded="stsb:dev")


def by_angle(sentences: Sequence[str]) -> np.ndarray:
    """Encode each number as a vector with this angle in degrees, longer for larger numbers."""
    numbers = np.array([float(text) for text in sentences])
    angles = np.radians(numbers)
    return (1 + numbers[:, None]) * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def alike(sentences: Sequence[str]) -> np.ndarray:
    return np.tile([0.0, 3.0], (len(sentences), 1))


def zero(sentences: Sequence[str]) -> np.ndarray:
    return np.zeros((len(sentences), 2))


def graded(seed: int, count: int) -> list[GradedPair]:
    """Pairs of angles; nearer angles have higher grades, some pairs have none."""
    pairs = []
    for number, (left, right) in enumerate(np.random.default_rng(seed).integers(0, 180, size=(count, 2))):
        grade = math.nan if number % 9 == 0 else 5 * (1 - abs(int(left) - int(right)) / 180)
        pairs.append(GradedPair(str(left), str(right), grade))
    return pairs


SETS = {"x": graded(0, 200), "y": graded(1, 40)}
EVERY = [*SETS["x"], *SETS["y"]]


def test_all_pairs_of_both_kinds_have_the_cosine_of_their_angle() -> None:
    everything = OPTIONS.model_copy(update={"pairs": 1000})
    table = compare_cosines({"angle": by_angle, "alike": alike}, SETS, everything)
    for kind, chosen in {
        "positive": [pair for pair in EVERY if pair.gold > 4],
        "negative": [pair for pair in EVERY if pair.gold < 2],
    }.items():
        own = table[(table["model"] == "angle") & (table["kind"] == kind)]
        expected = [math.cos(math.radians(int(left) - int(right))) for left, right, _ in chosen]
        assert own["cosine"].tolist() == pytest.approx(expected, abs=1e-6)
    assert table[table["model"] == "alike"]["cosine"].tolist() == pytest.approx([1] * (len(table) // 2))


def test_pairs_are_drawn_by_the_seed_as_frequent_as_among_all_pairs() -> None:
    drawn = draw_pairs(SETS, OPTIONS)
    assert sum(map(len, drawn.values())) == 30
    share = sum(pair.gold > 4 for pair in EVERY) / sum(pair.gold > 4 or pair.gold < 2 for pair in EVERY)
    assert len(drawn["positive"]) / 30 == pytest.approx(share, abs=0.15)
    for chosen in drawn.values():
        rows = [EVERY.index(pair) for pair in chosen]
        assert rows == sorted(rows)
    assert draw_pairs(SETS, OPTIONS) == drawn
    assert draw_pairs(SETS, OPTIONS.model_copy(update={"seed": 1})) != drawn


def test_the_summary_counts_how_often_a_positive_is_nearer_than_a_negative() -> None:
    table = compare_cosines({"angle": by_angle, "alike": alike}, SETS, OPTIONS)
    kinds = {kind: own["cosine"].tolist() for kind, own in table[table["model"] == "angle"].groupby("kind")}
    summary = graded_module.summarize_cosines(table).set_index("model")
    wins = [(near > far) + (near == far) / 2 for near in kinds["positive"] for far in kinds["negative"]]
    row = summary.loc["angle"]
    assert row["auc"] == pytest.approx(fmean(wins))
    assert summary.loc["alike", "auc"] == pytest.approx(0.5)
    for kind, cosines in kinds.items():
        assert row[f"{kind}_mean"] == pytest.approx(fmean(cosines))
        assert row[f"{kind}_deviation"] == pytest.approx(pstdev(cosines))


def test_the_figure_shows_shares_by_steps_of_the_cosine() -> None:
    cosines = {"positive": [0.99, 0.96, 0.93, 1.0], "negative": [-1.0, 0.96]}
    rows = [("ease", kind, value) for kind, values in cosines.items() for value in values]
    table = pd.DataFrame(rows, columns=["model", "kind", "cosine"])
    shown = plot_cosine_distributions(table, graded_module.summarize_cosines(table))
    positive, negative = (dict(zip(one.x, one.y, strict=True)) for one in shown.data)
    assert positive == pytest.approx({0.9375: 0.25, 0.9625: 0.25, 0.9875: 0.5})
    assert (negative[-0.9875], negative[0.9625]) == (0.5, 0.5)
    assert sum(negative.values()) == pytest.approx(1)
    assert [note.text for note in shown.layout.annotations] == ["EASE: AUC 0.81"]


def test_impossible_comparisons_are_refused() -> None:
    alone = {"x": [GradedPair("1", "2", 3.0)]}
    with pytest.raises(EaseError, match="stsb:dev: none of 0 drawn pairs is positive, graded above 4"):
        draw_pairs(alone, OPTIONS)
    with pytest.raises(ValidationError, match="`below` 3 is higher than `above` 2"):
        CosineOptions(graded="stsb:dev", above=2, below=3)
    with pytest.raises(EaseError, match="^m, stsb:dev: .*zero vectors"):
        compare_cosines({"m": zero}, SETS, OPTIONS)
    with pytest.raises(ValidationError, match="both ease: compare two models"):
        graded_module.DifferingOptions(graded="stsb", model="ease", baseline="ease", rows=3)


CURVES = CosineOptions(graded="qnli:dev", above=0.5, below=0.5, pairs=10_000)
RATES = ["false_positive_rate", "true_positive_rate"]


def test_the_curve_has_the_rates_at_every_threshold() -> None:
    # Cosines fall with the angle; the positive pairs have the angles 10, 20 and 40.
    angles = {"10": 1, "20": 1, "30": 0, "40": 1, "50": 0}
    pairs = [GradedPair("0", angle, gold) for angle, gold in angles.items()]
    table = graded_module.roc_curves({"angle": by_angle, "alike": alike}, {"dev": pairs}, CURVES)
    curves = {model: own[RATES].to_numpy().tolist() for model, own in table.groupby("model")}
    assert curves["angle"] == [[0, 0], [0, 1 / 3], [0, 2 / 3], [0.5, 2 / 3], [0.5, 1], [1, 1]]
    assert curves["alike"] == [[0, 0], [1, 1]]
    assert table.groupby("model")["auc"].first().to_dict() == {"alike": 0.5, "angle": pytest.approx(5 / 6)}
    names = [trace.name for trace in plot_roc_curves(table).data]
    assert names == ["angle: AUC 0.833", "alike: AUC 0.500", "chance"]


@pytest.mark.parametrize("block_elements", [1, 10**6])
def test_alignment_and_uniformity_equal_scipys_distances(block_elements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graded_module, "BLOCK_ELEMENTS", block_elements)
    random = np.random.default_rng(3)
    embeddings = random.normal(loc=0.3, size=(57, 7)) * random.uniform(0.01, 90, size=(57, 1))
    others = embeddings + random.normal(scale=0.5, size=embeddings.shape)
    unit = normalize(embeddings)
    distances = np.square(unit - normalize(others)).sum(axis=1)
    assert graded_module.alignment(embeddings, others) == pytest.approx(distances.mean(), rel=1e-12)
    expected = math.log(np.exp(-2 * pdist(unit, "sqeuclidean")).mean())
    assert graded_module.uniformity(embeddings) == pytest.approx(expected, rel=1e-12)


def test_a_table_counts_positive_pairs_and_distinct_sentences_and_averages_subsets() -> None:
    # Sentences are the angles of a square's corners.
    graded = (("0", "90", 5.0), ("0", "180", 4.0), ("90", "0", 4.5), ("180", "270", math.nan))
    sets = {"x": [GradedPair(*pair) for pair in graded], "y": [GradedPair("0", "180", 5.0)]}
    table = graded_module.compare_alignment_uniformity({"square": by_angle, "point": alike}, sets, ALIGNMENT)
    assert table[["model", "subset"]].values.tolist() == [
        [model, subset] for model in ("square", "point") for subset in ("x", "y", "average")
    ]
    x, y, average, *point = table.drop(columns=["model", "subset"]).to_dict("records")
    # Four of the six pairs of corners have distance √2, two are opposite.
    corners = math.log((4 * math.exp(-4) + 2 * math.exp(-8)) / 6)
    assert x == pytest.approx({"alignment": 2, "uniformity": corners, "positives": 2, "sentences": 4})
    assert y == pytest.approx({"alignment": 4, "uniformity": -8, "positives": 1, "sentences": 2})
    means = {"alignment": 3, "uniformity": (corners - 8) / 2, "positives": 3, "sentences": 6}
    assert average == pytest.approx(means)
    assert all(row["alignment"] == pytest.approx(row["uniformity"], abs=1e-12) == 0 for row in point)
    above = ALIGNMENT.model_copy(update={"above": 5.0})
    with pytest.raises(EaseError, match="^m, x: none of 4 pairs is graded higher than 5; lower `above`"):
        graded_module.compare_alignment_uniformity({"m": by_angle}, sets, above)


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_isotropy_and_mean_equal_those_by_singular_vectors(shift: float) -> None:
    embeddings = np.random.default_rng(4).normal(loc=shift, size=(40, 5)) * [1, 2, 0.5, 0.1, 1]
    directions = np.linalg.svd(embeddings)[2]
    # Equation 2 of Mirror-BERT, for both signs of every eigenvector
    sums = np.exp(embeddings @ np.vstack([directions, -directions]).T).sum(axis=0)
    assert isotropy_score(embeddings) == pytest.approx(sums.min() / sums.max(), rel=1e-9)
    assert mean_vector_norm(embeddings) == pytest.approx(np.linalg.norm(embeddings.mean(axis=0)))


def by_letters(sentences: Sequence[str]) -> np.ndarray:
    """Encode each text as its own direction."""
    return np.array([np.random.default_rng([*text.encode()]).normal(loc=1, size=6) for text in sentences])


def test_isotropy_counts_each_sentence_once_and_averages_subsets() -> None:
    pairs = [GradedPair(str(n), str(n + 1), 1.0) for n in range(20)]
    encoders = {"short": by_letters, "long": lambda sentences: 10 * by_letters(sentences)}
    table = graded_module.compare_isotropy(encoders, {"x": pairs, "y": pairs[:5]}, ISOTROPY)
    assert table["subset"].tolist() == ["x", "y", "average"] * 2
    assert table["sentences"].tolist() == [21, 6, 27] * 2
    x, y, average = table.head(3).to_dict("records")
    rows = by_letters([str(n) for n in range(21)])
    assert x["isotropy"] == pytest.approx(isotropy_score(rows))
    assert x["mean_length"] == pytest.approx(np.linalg.norm(rows, axis=1).mean())
    for measure in ("isotropy", "mean_vector_norm", "mean_length"):
        assert average[measure] == pytest.approx((x[measure] + y[measure]) / 2)
    assert table["mean_vector_norm"][3] == pytest.approx(10 * x["mean_vector_norm"]), "as they come"
    with pytest.raises(EaseError, match="^m, de-en: .*zero vectors"):
        graded_module.compare_isotropy({"m": zero}, {"de-en": pairs}, ISOTROPY)


def test_cosines_of_given_pairs_agree_with_scikit_learn_and_printed_ones_follow() -> None:
    pairs = (("one", "eins"), ("one", "zwei"), ("three", "drei"))
    options = graded_module.GivenPairsOptions(pairs=pairs, printed={"DuEAM": (0.99, 0.98, 0.97)})
    table = graded_module.compare_given_pairs({"a": by_letters}, options)
    assert table["model"].tolist() == ["a"] * 3 + ["DuEAM (printed)"] * 3
    assert list(zip(table["sentence1"], table["sentence2"], strict=True)) == [*pairs, *pairs]
    left, right = (by_letters([pair[side] for pair in pairs]) for side in (0, 1))
    assert table["cosine"].tolist()[:3] == pytest.approx(np.diagonal(cosine_similarity(left, right)).tolist())
    assert table["cosine"].tolist()[3:] == [0.99, 0.98, 0.97]
    with pytest.raises(EaseError, match="b: 3 of 3 rows of the left embeddings are zero vectors"):
        graded_module.compare_given_pairs({"b": zero}, options)


def test_largest_changes_come_first_and_unchanged_pairs_are_excluded() -> None:
    pairs = [GradedPair("0", str(90 - 20 * row), float(row)) for row in range(5)]
    # The baseline encodes the first pair's sentences as equal.
    encoders = {"model": by_angle, "baseline": lambda texts: by_angle([text.replace("90", "0") for text in texts])}
    table = differing_pairs(encoders, {"dev": pairs}, rows=3)
    # Ranks: baseline 100 0 25 50 75, gold and model 0 25 50 75 100; a gain is the reduction of the distance to gold.
    assert table["change"].tolist() == ["improved"] * 3
    assert table["sentence2"].tolist() == ["90", "70", "50"], "equal gains keep the order of the pairs"
    assert table["gain"].tolist() == [100, 25, 25]
    assert table["baseline_rank"].tolist() == [100, 0, 25]
    cosines = [math.cos(math.radians(90 - 20 * row)) for row in range(3)]
    assert table["model_cosine"].tolist() == pytest.approx(cosines, abs=1e-6)
    worse = differing_pairs(dict(reversed(encoders.items())), {"dev": pairs}, rows=2)
    assert worse["change"].tolist() == ["deteriorated"] * 2
    assert worse["gain"].tolist() == [-100, -25]
    assert differing_pairs({"one": by_angle, "other": by_angle}, {"dev": pairs}, rows=3).empty
    more = [GradedPair("0", "10", 5.0), GradedPair("0", "90", 1.0), GradedPair("not", "encoded", math.nan)]
    together = differing_pairs(encoders, {"dev": pairs, "more": more}, rows=9)
    assert together[together["subset"] == "more"]["gain"].tolist() == [100, 100], "ranked within the subset"


def test_parallel_sentences_exist_in_both_languages_of_a_task(tmp_path: Path) -> None:
    path = tmp_path / "parallel.parquet"
    rows = [("f2", "en", "two"), ("f1", "en", "one"), ("f3", "en", "three")]
    rows += [("f1", "zh-min-nan", "it"), ("f2", "zh-min-nan", "nn̄g"), ("f4", "zh-min-nan", "sì")]
    pd.DataFrame(rows, columns=["fact_id", "language", "text"]).to_parquet(path)
    facts = make_task("sample_parallel", path)
    found = graded_module.parallel_sentences(facts, "zh-min-nan-en")
    assert found == (["it", "nn̄g"], ["one", "two"])
    with pytest.raises(EaseError, match="no sentence in sv; it has en, zh-min-nan"):
        graded_module.parallel_sentences(facts, "sv-en")
    with pytest.raises(EaseError, match="has no graded pairs: name another one"):
        graded_module.graded_pairs(facts)
    with pytest.raises(EaseError, match="reads stsb:dev, but the evaluation data of this run are"):
        measure_isotropy(ISOTROPY, EncodingOptions(), evaluation_data={}, tasks={})
