"""Analyses read the same sentence pairs as the evaluation tasks."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ease.errors import EaseError
from ease.evaluation.analysis.pairs import graded_pairs, parallel_sentences
from ease.evaluation.tasks import get_task

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


def test_language_pairs_of_sts_2017_are_read_separately(test_data: Path) -> None:
    options = sts17.options(path=test_data / "eval" / "sts2017", subsets=("en-en", "ar-ar"))
    found = graded_pairs("sts17", options)
    assert {pair: len(pairs) for pair, pairs in found.items()} == {"en-en": 250, "ar-ar": 250}
    assert found["en-en"][0].left.isascii()
    assert not found["ar-ar"][0].left.isascii()


def test_tatoeba_returns_one_language_pair_for_any_scored_subsets(test_data: Path) -> None:
    folder = test_data / "eval" / "tatoeba"
    found = parallel_sentences("tatoeba", tatoeba.options(path=folder, subsets=("fra-eng",)), "deu-eng")
    files = [folder / f"tatoeba.deu-eng.{side}" for side in ("deu", "eng")]
    assert found.languages == ("deu", "eng")
    assert [found.left, found.right] == [file.read_text(encoding="utf-8").splitlines() for file in files]
    with pytest.raises(EaseError, match="Unknown subset deu-fra"):
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
    assert found == (("zh-min-nan", "en"), ["it", "nn̄g"], ["one", "two"])
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
