"""PAWS-X: hand-made files in the published format, a separately trained classifier, and invalid files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ease.errors import EaseError
from ease.evaluation.classifiers import ClassifierSettings, LabelledEmbeddings, train_classifier
from ease.evaluation.encodes import Encode
from ease.evaluation.tasks import get_task, main_score, missing_files
from ease.evaluation.tasks.pawsx import LANGUAGES, pair_features

TASK: Any = get_task("pawsx")
Options = TASK.options
evaluate = TASK.evaluate
files = TASK.files

HEADER = "id\tsentence1\tsentence2\tlabel\n"
WORDS = [f"w{number}" for number in range(40)]


def pairs(seed: int, count: int, changed: int) -> str:
    """Return rows; every second row repeats its sentence in another word order, the others replace some words."""
    generator = np.random.default_rng(seed)
    lines = []
    for number in range(count):
        left = generator.choice(WORDS, 6, replace=False)
        right = generator.permutation(left)
        if number % 2:
            right[:changed] = generator.choice([word for word in WORDS if word not in left], changed)
        lines.append(f"{number + 1}\t{' '.join(left)}\t{' '.join(right)}\t{1 - number % 2}\n")
    return HEADER + "".join(lines)


def write_pawsx(folder: Path, languages: Sequence[str]) -> Any:
    """Write English training data, and test data that are harder for each further language."""
    (folder / "en").mkdir()
    (folder / "en" / "train.tsv").write_text(pairs(0, 300, 4), encoding="utf-8")
    (folder / "en" / "dev_2k.tsv").write_text(pairs(1, 100, 4), encoding="utf-8")
    for number, language in enumerate(languages):
        (folder / language).mkdir(exist_ok=True)
        path = folder / language / "test_2k.tsv"
        path.write_text(pairs(2 + number, 100, max(1, 4 - number)), encoding="utf-8")
    return Options(path=folder, learning_rates=(0.1, 1e-6), batch_sizes=(32,), evaluation_steps=10)


def embedded(path: Path, encode: Encode) -> LabelledEmbeddings:
    """Read and encode a file without the task's code."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    features = []
    for u, v in zip(encode([row[1] for row in rows]), encode([row[2] for row in rows]), strict=True):
        features.append(
            [
                *u,
                *v,
                *(abs(a - b) for a, b in zip(u, v, strict=True)),
                *(a * b for a, b in zip(u, v, strict=True)),
            ]
        )
    return LabelledEmbeddings(np.array(features), [row[3] for row in rows])


def test_features_are_embeddings_difference_and_product() -> None:
    left, right = np.array([[1.0, -2.0], [0.5, 0]]), np.array([[3.0, 4.0], [-1, 2]])
    expected = [[1, -2, 3, 4, 2, 6, 3, -8], [0.5, 0, -1, 2, 1.5, 2, -0.5, 0]]
    assert pair_features(left, right).tolist() == expected


def test_scores_equal_those_of_separately_trained_classifiers(tmp_path: Path, encode: Encode) -> None:
    options = write_pawsx(tmp_path, ["en", "zh"])
    development, english, chinese, average = evaluate(encode, options)
    training, held, test = (
        embedded(tmp_path / "en" / f"{name}.tsv", encode) for name in ("train", "dev_2k", "test_2k")
    )
    settings = ClassifierSettings(32, 0.1, evaluation_steps=10)
    trained = [train_classifier(training, settings, seed, held) for seed in options.seeds]
    expected = [100 * float(np.mean(one.hits(test))) for one in trained]
    assert english.value == pytest.approx(fmean(expected))
    assert english.deviation == pytest.approx(stdev(expected))
    assert (development.subset, development.metric) == ("en", "development_accuracy")
    assert development.value == pytest.approx(100 * fmean(float(np.mean(one.hits(held))) for one in trained))
    assert development.note == "batch size 32, learning rate 0.1"
    known = LogisticRegression(C=100).fit(training.embeddings, training.labels)
    assert english.value == pytest.approx(100 * known.score(test.embeddings, test.labels), abs=8)
    assert 50 < chinese.value < english.value
    assert average.value == pytest.approx((english.value + chinese.value) / 2)
    assert average.note == "2 of 7 subsets"


def test_subsets_and_missing_files(tmp_path: Path, encode: Encode) -> None:
    options = write_pawsx(tmp_path, ["de", "ja"])
    scores = evaluate(encode, options)
    assert [(score.subset, score.metric) for score in scores] == [
        *(("en", "development_accuracy"), ("de", "accuracy"), ("ja", "accuracy"), ("average", "accuracy"))
    ]
    assert main_score(scores) == pytest.approx((scores[1].value + scores[2].value) / 2)
    missing = missing_files(files(options))
    assert missing == {
        language: [tmp_path / language / "test_2k.tsv"] for language in ("en", "es", "fr", "ko", "zh")
    }
    (alone,) = (
        score
        for score in evaluate(encode, options.model_copy(update={"subsets": ("ja",)}))
        if score.subset == "ja"
    )
    assert alone.value == scores[2].value
    (tmp_path / "en" / "dev_2k.tsv").unlink()
    assert len(missing_files(files(options))) == len(LANGUAGES)


def test_quotation_marks_are_text_and_untranslated_pairs_are_counted(tmp_path: Path, encode: Encode) -> None:
    options = write_pawsx(tmp_path, ["de"])
    path = tmp_path / "de" / "test_2k.tsv"
    rows = '1\t"Wer da?\tDa wer?\t1\n2\tStraße\tNS\t0\n3\t \tOrt\t1\n4\tNS Ost\tOst\t0\n'
    path.write_bytes(b"\xef\xbb\xbf" + (HEADER + rows).replace("\n", "\r\n").encode())
    found = TASK.read_file(path)
    assert (found.left, found.right) == (['"Wer da?', "NS Ost"], ["Da wer?", "Ost"])
    assert (found.labels, found.untranslated) == (["1", "0"], 2)
    (german,) = (score for score in evaluate(encode, options) if score.subset == "de")
    assert german.note == "untranslated pairs skipped: 2"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("de/test_2k.tsv", b"", "de/test_2k.tsv: contains no row"),
        ("de/test_2k.tsv", HEADER.encode(), "de/test_2k.tsv: contains no row"),
        (
            "de/test_2k.tsv",
            b"id\tsentence1\tsentence2\n1\ta\tb\n",
            "no column label; it has id, sentence1, sentence2",
        ),
        (
            "de/test_2k.tsv",
            HEADER.encode() + b"1\ta\tb\t1\n2\ta\tb\t\n",
            "line 3: the label '' is neither 0 nor 1",
        ),
        ("de/test_2k.tsv", HEADER.encode() + b"1\ta\tb\t2\n", "line 2: the label '2' is neither 0 nor 1"),
        ("de/test_2k.tsv", HEADER.encode() + b"1\ta\tb\n", "line 2: 3 columns, but the first line has 4"),
        (
            "de/test_2k.tsv",
            HEADER.encode() + b"1\tStra\xdfe\tb\t1\n",
            "test_2k.tsv, line 2: not UTF-8",
        ),
        (
            "de/test_2k.tsv",
            HEADER.encode() + b"1\tNS\tb\t1\n",
            "test_2k.tsv: contains no pair with both sentences",
        ),
        ("en/train.tsv", HEADER.encode() + b"1\ta\tb\t1\n", "pawsx: All 1 training rows are of class 1"),
    ],
)
def test_errors_name_invalid_files(
    tmp_path: Path, encode: Encode, name: str, content: bytes, said: str
) -> None:
    options = write_pawsx(tmp_path, ["de"])
    (tmp_path / name).write_bytes(content)
    with pytest.raises(EaseError, match=said):
        evaluate(encode, options)


def test_errors_name_the_task_of_non_finite_embeddings(tmp_path: Path) -> None:
    options = write_pawsx(tmp_path, ["de"])
    with pytest.raises(
        EaseError, match="pawsx: 600 of 600 rows of the embeddings of the training data contain NaN"
    ):
        evaluate(lambda texts: np.full((len(texts), 3), np.nan), options)
