"""Retrieval in aligned files: real files, repeated sentences, and invalid files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ease.evaluation.analysis.sentence_pairs import parallel_sentences
from ease.evaluation.tasks.parallel_files import Options, evaluate
from sklearn.metrics.pairwise import cosine_similarity

from ease.errors import EaseError
from ease.evaluation.sets import locate_sets, read_sets
from ease.evaluation.tasks import Encode, main_score

PAIRS = {"de-en": ("TED2020.de-en.de", "TED2020.de-en.en"), "en-zh": ("a.en", "a.zh")}


def options(folder: Path, **changes: object) -> Options:
    return Options.model_validate({"path": folder, "pairs": PAIRS, **changes})


def write_pair(folder: Path, subset: str, left: str, right: str) -> None:
    """Write both files of a pair; semicolons separate the lines."""
    for name, text in zip(PAIRS[subset], (left, right), strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in text.split(";")), encoding="utf-8")


def test_accuracy_on_real_translations_agrees_with_scikit_learn(test_data: Path, encode: Encode) -> None:
    names = ("tatoeba.afr-eng.afr", "tatoeba.afr-eng.eng")
    folder = test_data / "eval" / "tatoeba"
    given = Options(path=folder, pairs={"af-en": (Path(names[0]), Path(names[1]))}, sentences=300)
    own, english = ((folder / name).read_text(encoding="utf-8").strip().split("\n") for name in names)
    kept: list[tuple[str, str]] = []
    for one, other in zip(own, english, strict=True):
        pair = one.strip(), other.strip()
        if len(kept) < 300 and not any(pair[0] == first or pair[1] == second for first, second in kept):
            kept.append(pair)
    cosines = cosine_similarity(*(encode([pair[side] for pair in kept]).astype(float) for side in (0, 1)))
    rivals = cosines - 9 * np.eye(300)
    hits = [(np.diagonal(cosines) > rivals.max(axis=axis) + 1e-9).mean() for axis in (0, 1)]
    scores = evaluate(encode, given)
    assert [score.subset for score in scores] == ["af-en", "average"]
    assert scores[0].value == pytest.approx(50 * sum(hits))
    assert 1 < scores[0].value < 60
    assert scores[0].metric == "retrieval_accuracy"
    assert parallel_sentences("parallel_files", given, "af-en").left == [pair[0] for pair in kept]


def test_pairs_are_averaged_and_missing_ones_noted(tmp_path: Path, encode: Encode) -> None:
    write_pair(tmp_path, "de-en", "a;b;x;y", "a;b;c;d")
    scores = evaluate(encode, options(tmp_path))
    assert [(score.subset, score.value, score.note) for score in scores] == [
        ("de-en", 50, ""),
        ("average", 50, "1 of 2 subsets"),
    ]
    write_pair(tmp_path, "en-zh", "a;b", "a;b")
    scores = evaluate(encode, options(tmp_path))
    assert main_score(scores) == scores[-1].value == 75
    assert [score.subset for score in evaluate(encode, options(tmp_path, subsets=("en-zh",)))] == [
        "en-zh",
        "average",
    ]


def test_repeated_and_blank_sentences_are_skipped_before_counting(tmp_path: Path, encode: Encode) -> None:
    encoded: list[str] = []

    def keep(sentences: list[str]) -> np.ndarray:
        encoded.extend(sentences)
        return encode(sentences)

    write_pair(tmp_path, "de-en", "a;a;b; ;c;d;e", "a;z;b;f;b;d;e")
    given = options(tmp_path, subsets=("de-en",), sentences=3)
    assert evaluate(keep, given)[0].value == 100
    assert encoded == ["a", "b", "d", "a", "b", "d"]


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        ("a;b", "a;b;c", r"TED2020\.de-en\.de ends after line 2, but .*de-en\.en has a line 3"),
        (
            "a;a",
            "a;b",
            r"de-en\.de and .*de-en\.en: 1 distinct pair\(s\) of sentences, and retrieval needs 2",
        ),
    ],
)
def test_errors_name_the_files(tmp_path: Path, encode: Encode, left: str, right: str, said: str) -> None:
    write_pair(tmp_path, "de-en", left, right)
    with pytest.raises(EaseError, match=said):
        evaluate(encode, options(tmp_path))


def test_the_sets_are_located_and_checked_before_a_run(tmp_path: Path) -> None:
    write_pair(tmp_path, "de-en", "a;b", "a;b")
    write_pair(tmp_path, "en-zh", "a", "b")
    tasks = {"parallel_files": {"path": str(tmp_path), "pairs": PAIRS}}
    found = read_sets(locate_sets(["parallel_files"], tasks), ["parallel_files"], tasks)["parallel_files"]
    assert set(found.subsets) == {"de-en"}
    assert "1 distinct pair(s)" in found.faults["en-zh"]
