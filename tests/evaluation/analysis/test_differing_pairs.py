"""The pairs on which two models differ equal hand-computed ranks."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from ease.errors import EaseError
from ease.evaluation.analysis.pairs import (
    DifferingOptions,
    differing_pairs,
    graded_pairs,
    percent_ranks,
    rank_pairs,
)
from ease.evaluation.encodes import Encode
from ease.evaluation.tasks import get_task
from ease.evaluation.tasks.graded_pairs import GradedPair
from tests.contexts import load_catalog
from tests.project import Project

stsb = get_task("stsb")


def at_angles(angles: dict[str, float]) -> Encode:
    """Return an encoder into the plane; each sentence has a direction, in degrees."""
    return lambda sentences: np.array(
        [
            (math.cos(math.radians(angles[sentence])), math.sin(math.radians(angles[sentence])))
            for sentence in sentences
        ]
    )


def test_percentile_ranks_count_lower_pairs() -> None:
    assert percent_ranks([0.3, 0.1, 0.9]).tolist() == [50, 0, 100]
    assert percent_ranks([1, 1, 5, 1, 7]).tolist() == [25, 25, 75, 25, 100]
    values = np.random.default_rng(0).integers(0, 12, size=40).astype(float)
    counted = [(sum(values < value) + (sum(values == value) - 1) / 2) / 39 * 100 for value in values]
    assert percent_ranks(values) == pytest.approx(counted)


def test_table_8_is_read_from_the_test_set(bare: Project, tmp_path: Path) -> None:
    table_8 = [
        ("it's not a good idea .", "it's a good question .", 0.0),
        ("suicide attack kills eight in baghdad", "suicide attacks kill 24 people in baghdad", 2.4),
    ]
    for split, pairs in {"dev": [("a", "b", 1.0), ("c", "d", 2.0)], "test": table_8}.items():
        lines = (
            f"main-news\tMSRpar\t2012test\t{n}\t{gold}\t{one}\t{two}\n"
            for n, (one, two, gold) in enumerate(pairs)
        )
        (tmp_path / f"sts-{split}.csv").write_text("".join(lines), encoding="utf-8")
    options = load_catalog(bare, "paper").load("params:monolingual.analysis.differing_pairs")
    task, _, subset = options.graded.partition(":")
    sets = graded_pairs(task, stsb.options(path=tmp_path, subsets=(subset,)))
    angles = {text: 90.0 * row for row, (one, two, _) in enumerate(table_8) for text in (one, two)}
    turned = {**angles, table_8[1][1]: 0.0}
    found = differing_pairs({"EASE": at_angles(angles), "SimCSE": at_angles(turned)}, sets, options.rows)
    assert set(found["sentence1"]) <= {one for one, _, _ in table_8}
    assert set(found["subset"]) == {"test"}


PAIRS = [GradedPair(f"s{row}", f"t{row}", gold) for row, gold in enumerate([0.0, 1.0, 2.0, 3.0, 4.0])]


def test_a_gain_is_the_reduction_of_the_distance_to_the_gold_rank() -> None:
    # Ranks: gold 0 25 50 75 100, model 0 25 75 50 100, baseline 50 25 0 100 75.
    cosines = {
        "model": np.array([0.0, 0.1, 0.3, 0.2, 0.4]),
        "baseline": np.array([-0.2, -0.4, -0.9, 0.9, 0.1]),
    }
    table = rank_pairs(PAIRS, cosines)
    assert table["gold_rank"].tolist() == [0, 25, 50, 75, 100]
    assert table["model_rank"].tolist() == [0, 25, 75, 50, 100]
    assert table["baseline_rank"].tolist() == [50, 25, 0, 100, 75]
    assert table["gain"].tolist() == [50, 0, 25, 0, 25]
    assert table["baseline_cosine"].tolist() == cosines["baseline"].tolist()


def encoders() -> dict[str, Encode]:
    """Return a model whose angles follow the grades, and a baseline for which s0 and t0 are equal."""
    angles = {f"s{row}": 0.0 for row in range(5)} | {f"t{row}": 90.0 - 20 * row for row in range(5)}
    return {"model": at_angles(angles), "baseline": at_angles({**angles, "t0": 0.0})}


def test_largest_changes_come_first_and_unchanged_pairs_are_excluded() -> None:
    table = differing_pairs(encoders(), {"dev": PAIRS}, rows=3)
    # Ranks: baseline 100 0 25 50 75, gold 0 25 50 75 100.
    assert table["change"].tolist() == ["improved"] * 3
    assert table["sentence1"].tolist() == ["s0", "s1", "s2"], "equal gains keep the order of the pairs"
    assert table["gain"].tolist() == [100, 25, 25]
    assert list(table.columns) == [
        *("change", "subset", "sentence1", "sentence2", "gold", "gold_rank"),
        *("model_cosine", "model_rank", "baseline_cosine", "baseline_rank", "gain"),
    ]
    cosines = [math.cos(math.radians(90 - 20 * row)) for row in range(3)]
    assert table["model_cosine"].tolist() == pytest.approx(cosines, abs=1e-6)

    swapped = dict(reversed(encoders().items()))
    worse = differing_pairs(swapped, {"dev": PAIRS}, rows=2)
    assert worse["change"].tolist() == ["deteriorated"] * 2
    assert worse["gain"].tolist() == [-100, -25]

    model = encoders()["model"]
    assert differing_pairs({"one": model, "other": model}, {"dev": PAIRS}, rows=3).empty


def test_pairs_are_ranked_within_subsets_without_ungraded_pairs() -> None:
    more = [
        GradedPair("s0", "t4", 5.0),
        GradedPair("s0", "t0", 1.0),
        GradedPair("not", "encoded", math.nan),
    ]
    together = differing_pairs(encoders(), {"dev": PAIRS, "more": more}, rows=9)
    assert together[together["subset"] == "more"]["gain"].tolist() == [100, 100]
    alone = differing_pairs(encoders(), {"dev": PAIRS}, rows=9)
    assert together[together["subset"] == "dev"]["gain"].tolist() == alone["gain"].tolist()


def test_impossible_rankings_are_refused() -> None:
    with pytest.raises(EaseError, match="dev: 1 pairs have a gold score"):
        differing_pairs(encoders(), {"dev": [PAIRS[0], GradedPair("s1", "t1", math.nan)]}, rows=1)
    zero: Encode = lambda sentences: np.zeros((len(sentences), 2))  # noqa: E731
    with pytest.raises(EaseError, match="^baseline, dev: .*zero vectors"):
        differing_pairs({"model": encoders()["model"], "baseline": zero}, {"dev": PAIRS}, rows=1)
    with pytest.raises(ValidationError, match="both ease: compare two models"):
        DifferingOptions(graded="stsb", model="ease", baseline="ease", rows=3)
