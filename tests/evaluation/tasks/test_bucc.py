"""BUCC: small corpora in the published format, mining by brute force, and invalid files."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import cosine_similarity

from ease.errors import EaseError
from ease.evaluation.scores import main_score
from ease.similarity.encode import Encode
from tests.evaluation.made_tasks import make_task

Corpora = tuple[list[str], list[str], list[tuple[int, int]]]


def evaluate(encode: Encode, folder: Path, **changes: bool) -> Any:
    return make_task("bucc", folder, subsets=("de-en",), **changes).evaluate(encode)


def write_split(
    folder: Path, language: str, split: str, queries: list[str], targets: list[str], gold: Sequence[tuple[int, int]]
) -> None:
    """Write the three files of a split in the shared task's format."""
    texts = {
        language: [f"{language}-{row:09}\t{text}" for row, text in enumerate(queries)],
        "en": [f"en-{row:09}\t{text}" for row, text in enumerate(targets)],
        "gold": [f"{language}-{query:09}\ten-{target:09}" for query, target in gold],
    }
    (folder / f"{language}-en").mkdir(exist_ok=True)
    for part, lines in texts.items():
        path = folder / f"{language}-en" / f"{language}-en.{split}.{part}"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def corpora(seed: int, parallel: int, alone: int) -> Corpora:
    """Return sentences of random words; parallel sentences share most words and have different rows."""
    generator = np.random.default_rng(seed)

    def sentence() -> list[str]:
        return [f"w{word}" for word in generator.integers(0, 80, 8)]

    english = [sentence() for _ in range(parallel)]
    other = [[*words[: generator.integers(2, 8)], *sentence()[:2]] for words in english]
    queries = other + [sentence() for _ in range(alone)]
    targets = english + [sentence() for _ in range(alone + 20)]
    places = generator.permutation(len(targets))
    shuffled = [targets[place] for place in places]
    row = np.argsort(places)
    gold = [(number, int(row[number])) for number in range(parallel)]
    return [" ".join(words) for words in queries], [" ".join(words) for words in shuffled], gold


def best_pairs(encode: Encode, queries: list[str], targets: list[str], k: int | None) -> dict[tuple[int, int], float]:
    """Return each query's best target and score from the full matrix: cosines, or margins over k neighbours."""
    scores = cosines = cosine_similarity(encode(queries).astype(float), encode(targets).astype(float))
    if k:
        near_left = np.sort(cosines, axis=1)[:, -k:].sum(axis=1)
        near_right = np.sort(cosines, axis=0)[-k:].sum(axis=0)
        scores = cosines / ((near_left[:, None] + near_right[None, :]) / (2 * k))
        # A target is a candidate if it is among the k nearest.
        scores = np.where(cosines >= np.sort(cosines, axis=1)[:, -k : -k + 1 or None], scores, -np.inf)
    return {(row, int(best)): scores[row, best] for row, best in enumerate(scores.argmax(axis=1))}


def f1(found: set[tuple[int, int]], gold: set[tuple[int, int]]) -> float:
    return 2 * len(found & gold) / (len(found) + len(gold))


def encode_rows(sentences: Sequence[str]) -> np.ndarray:
    """Encode sentences as sums of random word vectors, so that no two cosines are equal."""
    vectors = np.random.default_rng(0).standard_normal((80, 32))
    rows = [vectors[[int(word[1:]) for word in sentence.split()]].sum(axis=0) for sentence in sentences]
    return np.array(rows, dtype=np.float32)


SPLITS = {"sample": corpora(1, 40, 60), "training": corpora(2, 70, 150)}


def test_f1_agrees_with_brute_force(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for split, parts in SPLITS.items():
        write_split(tmp_path, "de", split, *parts)
    with caplog.at_level(logging.INFO):
        scores = evaluate(encode_rows, tmp_path)
    metrics = ("f1", "f1_margin", "f1_tuned", "f1_margin_tuned")
    assert [(score.subset, score.metric) for score in scores] == [
        (subset, metric) for subset in ("de-en", "average") for metric in metrics
    ]
    for score, k in zip(scores[:2], (None, 4), strict=True):
        sample, training = (
            (best_pairs(encode_rows, queries, targets, k), set(gold)) for queries, targets, gold in SPLITS.values()
        )
        found, gold = sample
        tried = {value: f1({pair for pair in found if found[pair] >= value}, gold) for value in found.values()}
        lowest = max(value for value, quality in tried.items() if quality == max(tried.values()))
        threshold = (lowest + max(value for value in tried if value < lowest)) / 2
        found, gold = training
        expected = f1({pair for pair in found if found[pair] >= threshold}, gold)
        assert score.value == pytest.approx(100 * expected)
        assert 20 < score.value < 95
        assert f"threshold {threshold:.4f} of {score.metric}" in caplog.text
    assert main_score(scores) == scores[0].value


def test_the_threshold_of_the_training_set_scores_it_or_the_test_set(tmp_path: Path, encode: Encode) -> None:
    write_split(tmp_path, "de", "sample", ["a", "b x"], ["a", "b y", "q", "r"], [(0, 0)])
    # Cosines of the sample: 1 for a true pair, 0.5 for a false pair; the threshold is therefore 0.75.
    # Cosines of the training set: 1 and 0.82 (true), 0.5 (false); its best threshold finds both true pairs.
    queries, targets = ["c", "d e f", "g h"], ["c", "d e", "g i", "q"]
    write_split(tmp_path, "de", "training", queries, targets, [(0, 0), (1, 1)])
    scores = {score.metric: score for score in evaluate(encode, tmp_path)[:4]}
    assert scores["f1_tuned"].value == 100
    assert scores["f1_tuned"].note == scores["f1_margin_tuned"].note == "threshold tuned on the scored set"
    # The test set has 1 (true), 0.82 (false) and 0.5 (true), which that threshold of 0.66 leaves out.
    write_split(tmp_path, "de", "test", queries, targets, [(0, 0), (2, 2)])
    tested = evaluate(encode, tmp_path, test=True)
    assert {score.metric: score.value for score in tested[:4]} == {
        **{metric: scores[metric].value for metric in ("f1", "f1_margin")},
        "f1_tuned": pytest.approx(100 * 2 * 1 / (2 + 2)),
        "f1_margin_tuned": tested[3].value,
    }
    assert tested[2].note == ""


def test_a_repeated_sentence_is_one_neighbour_and_one_candidate(tmp_path: Path) -> None:
    for split, parts in SPLITS.items():
        write_split(tmp_path, "de", split, *parts)
    expected = evaluate(encode_rows, tmp_path)
    for split, (queries, targets, gold) in SPLITS.items():
        # The copies come first; gold pairs name them or the sentences.
        moved = [(query + 30 * (query >= 30 or query % 2), target + 50) for query, target in gold]
        write_split(tmp_path, "de", split, queries[:30] + queries, targets[-50:] + targets, moved)
    assert evaluate(encode_rows, tmp_path) == expected
    assert 20 < expected[1].value < 95


@pytest.mark.parametrize(
    ("part", "text", "said"),
    [
        ("de", "de-1\ta\nde-2 b\n", r"sample\.de, line 2: not an id and a sentence with one tab"),
        ("gold", "", r"sample\.gold: contains no line of two ids"),
        ("gold", "de-7\ten-000000001\n", r"sample\.gold, line 1: the id de-7 is not in .*sample\.de;"),
    ],
)
def test_errors_name_the_line_of_invalid_files(tmp_path: Path, encode: Encode, part: str, text: str, said: str) -> None:
    for split in ("sample", "training"):
        write_split(tmp_path, "de", split, ["a", "b"], ["a", "b", "c"], [(0, 0)])
    (tmp_path / "de-en" / f"de-en.sample.{part}").write_text(text)
    with pytest.raises(EaseError, match=said):
        evaluate(encode, tmp_path)
