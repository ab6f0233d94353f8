"""The judge's benchmark keeps what is audited out of training, and goes on where it was stopped."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import judge, judged_checkpoints
from benchmarks.judge import correlation, equal_signs, half_agreement
from ease.encoders.encoder import build_encoder, save_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions

pytestmark = pytest.mark.long


def test_no_run_trains_on_a_text_of_the_audit() -> None:
    titles = [(f"Eigen {n}", f"Own {n}") for n in range(20)]
    own = {title: [f"{title} steht hier, Satz {n}." for n in range(3)] for title, _ in titles}
    english = {title: [f"{title} is in sentence {n}." for n in range(9)] for _, title in titles}
    audit, corpus = judged_checkpoints.split_corpus(titles, own, english)
    audited = set(audit["text"])
    assert len(audited) == 10 * 2 + 10 * (1 + judged_checkpoints.ITEM_SENTENCES)
    for run in judged_checkpoints.RUNS.values():
        pairs = run.make_pairs(corpus, random.Random(0))
        assert pairs
        assert not audited.intersection(text for pair in pairs for text in pair)


def test_the_summary_is_right_on_scores_made_for_it() -> None:
    scores = pd.DataFrame(
        {"tatoeba": [50.0, 40, 60, 70, 30, 20], "good": [5.0, 4, 6, 7, 3, 2], "bad": [1.0, 2, 3, 0, 4, 5]}
    )
    scores.index = pd.Index(["start", *"abcde"])
    assert correlation(scores, "good").startswith("1.00 [1.00")
    assert correlation(scores, "bad").startswith("-0.")
    assert equal_signs(scores, "good") == "100%"
    assert equal_signs(scores, "bad") == "20%"
    hits = np.random.default_rng(0).random((30, 400)) < np.linspace(0.1, 0.9, 30)[:, None]
    assert half_agreement(hits) > 0.9
    assert abs(half_agreement(np.random.default_rng(0).random((30, 400)) < 0.5)) < 0.3


@pytest.mark.slow
def test_a_second_call_scores_what_the_first_one_has_trained(
    test_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = RandomBertOptions(hidden_size=16, intermediate_size=32, vocabulary_size=600, max_positions=64)
    save_encoder(build_encoder(EncoderOptions(random=small), ["A man plays a guitar."] * 5), tmp_path / "start")
    slices = test_data / "dumps" / "slices-2023"
    arguments = [
        *(
            "--encoder",
            str(tmp_path / "start"),
            "--language",
            "hy",
            "--steps",
            "1",
            "2",
            "--work",
            str(tmp_path / "work"),
        ),
        *("--dump", str(next(slices.glob("hywiki*"))), "--tatoeba", str(test_data / "eval" / "tatoeba")),
        *("--english", str(next((test_data / "dumps" / "teach-csb").glob("enwiki*-pages-articles*")))),
    ]
    judge.main(arguments)
    first = capsys.readouterr().out
    checkpoints = 1 + len(judged_checkpoints.LETTERS) + 2 * len(judged_checkpoints.RUNS)
    assert first.count(": encoded") == checkpoints
    assert f"all ({checkpoints})" in first
    assert re.search(r"\| start \| [\d.]+ \| [\d.]+ \| [\d.]+ \| 100.0 \|", first)
    rows = pd.read_json(tmp_path / "work" / "rows.jsonl", lines=True)
    assert len(rows) == checkpoints
    assert rows["kept_neighbours"].between(0, 100).all()

    def no_training(*arguments: object) -> Sequence[object]:
        raise AssertionError

    monkeypatch.setattr(judge, "train_run", no_training)
    judge.main(arguments)
    assert capsys.readouterr().out == re.sub(r".*: encoded\n", "", first)
