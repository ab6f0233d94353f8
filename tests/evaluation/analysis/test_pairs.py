"""Pairs of tasks and of the user: read as the tasks do, ranked by hand, compared with scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from sklearn.metrics.pairwise import cosine_similarity

from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.evaluation.analysis.graded import IsotropyOptions
from ease.evaluation.analysis.pairs import (
    DifferingOptions,
    GivenPairsOptions,
    compare_given_pairs,
    differing_pairs,
    graded_pairs,
    parallel_sentences,
    percent_ranks,
    rank_pairs,
)
from ease.evaluation.encodes import Encode
from ease.evaluation.tasks import get_task
from ease.evaluation.tasks.graded_pairs import GradedPair
from ease.pipelines.analysis import measure_isotropy

GIVEN = (("one", "eins"), ("one", "zwei"), ("three", "drei"))


def encode_letters(sentences: Sequence[str]) -> np.ndarray:
    return np.array(
        [np.random.default_rng([ord(letter) for letter in text]).normal(size=6) for text in sentences]
    )


def test_cosines_agree_with_scikit_learn() -> None:
    table = compare_given_pairs(
        {"a": encode_letters, "b": lambda sentences: -(encode_letters(sentences) ** 2)},
        GivenPairsOptions(pairs=GIVEN),
    )
    assert table["model"].tolist() == ["a"] * 3 + ["b"] * 3
    assert list(zip(table["sentence1"], table["sentence2"], strict=True)) == [*GIVEN, *GIVEN]
    left, right = (encode_letters([pair[side] for pair in GIVEN]) for side in (0, 1))
    expected = [
        *np.diagonal(cosine_similarity(left, right)),
        *np.diagonal(cosine_similarity(left**2, right**2)),
    ]
    assert table["cosine"].to_numpy() == pytest.approx(expected)


def test_printed_cosines_follow_those_of_the_encoders() -> None:
    options = GivenPairsOptions(pairs=GIVEN, printed={"DuEAM": (0.99, 0.98, 0.97)})
    table = compare_given_pairs({"a": encode_letters}, options)
    assert table["model"].tolist() == ["a"] * 3 + ["DuEAM (printed)"] * 3
    assert table["cosine"].tolist()[3:] == [0.99, 0.98, 0.97]
    assert table["sentence2"].tolist() == 2 * ["eins", "zwei", "drei"]
    with pytest.raises(ValidationError, match="2 figures of DuEAM for 3 rows: give one for each"):
        GivenPairsOptions(pairs=GIVEN, printed={"DuEAM": (0.99, 0.98)})


def test_errors_name_the_model_of_given_pairs() -> None:
    with pytest.raises(EaseError, match="b: 3 of 3 rows of the left embeddings are zero vectors"):
        compare_given_pairs(
            {"a": encode_letters, "b": lambda sentences: np.zeros((len(sentences), 2))},
            GivenPairsOptions(pairs=GIVEN),
        )
    with pytest.raises(ValidationError, match="pairs"):
        GivenPairsOptions(pairs=())


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


sample_graded = get_task("sample_graded")
sample_parallel = get_task("sample_parallel")
sickr = get_task("sickr")
sts17 = get_task("sts17")
stsb = get_task("stsb")
tatoeba = get_task("tatoeba")


def test_graded_pairs_of_the_sample_keep_their_order_and_blanks(tmp_path: Path) -> None:
    rows = [("a", "b", 5.0), ("c", "d", None), ("a", "d", 0.5)]
    pd.DataFrame(rows, columns=["sentence1", "sentence2", "score"]).to_parquet(tmp_path / "graded.parquet")
    found = graded_pairs("sample_graded", sample_graded.options(path=tmp_path / "graded.parquet"))
    assert list(found) == ["en"]
    assert [pair[:2] for pair in found["en"]] == [("a", "b"), ("c", "d"), ("a", "d")]
    assert math.isnan(found["en"][1].gold)
    assert [found["en"][row].gold for row in (0, 2)] == [5, 0.5]


def test_real_graded_sets_are_read_by_subset(test_data: Path) -> None:
    folder = test_data / "eval" / "stsb"
    found = graded_pairs("stsb", stsb.options(path=folder, subsets=("train", "dev")))
    assert list(found) == ["train", "dev"]
    lines = (folder / "sts-dev.csv").read_text(encoding="utf-8").splitlines()
    fields = [line.split("\t") for line in lines]
    assert found["dev"] == [(row[5], row[6], float(row[4])) for row in fields]
    trial = graded_pairs("sickr", sickr.options(path=test_data / "eval" / "sick", subsets=("trial",)))
    lines = (test_data / "eval" / "sick" / "SICK_trial.txt").read_text(encoding="utf-8").splitlines()
    assert len(trial["trial"]) == len(lines) - 1


def test_tatoeba_returns_one_language_pair_for_any_scored_subsets(test_data: Path) -> None:
    folder = test_data / "eval" / "tatoeba"
    found = parallel_sentences("tatoeba", tatoeba.options(path=folder, subsets=("fra-eng",)), "deu-eng")
    files = [folder / f"tatoeba.deu-eng.{side}" for side in ("deu", "eng")]
    assert [found.left, found.right] == [file.read_text(encoding="utf-8").splitlines() for file in files]
    with pytest.raises(EaseError, match="deu-fra"):
        parallel_sentences("tatoeba", tatoeba.options(path=folder), "deu-fra")


FACTS = [
    *[("f2", "en", "two"), ("f1", "en", "one"), ("f3", "en", "three")],
    *[("f1", "zh-min-nan", "it"), ("f2", "zh-min-nan", "nn̄g"), ("f4", "zh-min-nan", "sì")],
]


@pytest.fixture
def facts(tmp_path: Path) -> Any:
    frame = pd.DataFrame(FACTS, columns=["fact_id", "language", "text"])
    frame.to_parquet(tmp_path / "parallel.parquet")
    return sample_parallel.options(path=tmp_path / "parallel.parquet")


def test_parallel_sentences_exist_in_both_languages(facts: Any) -> None:
    found = parallel_sentences("sample_parallel", facts, "zh-min-nan-en")
    assert found == (["it", "nn̄g"], ["one", "two"])
    assert parallel_sentences("sample_parallel", facts, "en-en").left == ["one", "two", "three"]


def test_missing_pairs_and_languages_of_a_task_are_refused(facts: Any) -> None:
    with pytest.raises(EaseError, match="no sentence in sv; it has en, zh-min-nan"):
        parallel_sentences("sample_parallel", facts, "sv-en")
    with pytest.raises(
        EaseError, match="'sample_parallel' has no graded pairs: choose from .*sample_graded.*stsb"
    ):
        graded_pairs("sample_parallel", facts)
    with pytest.raises(EaseError, match="'stsb' has no parallel sentences: choose from.*sample_parallel"):
        parallel_sentences("stsb", facts, "ja-en")


def test_data_that_no_task_of_the_run_has_are_named() -> None:
    options = IsotropyOptions(graded="stsb:dev")
    with pytest.raises(EaseError, match="reads stsb:dev, but the evaluation data of this run are"):
        measure_isotropy(EncodingOptions(), options, evaluation_data={}, tasks={})
