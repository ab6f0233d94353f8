"""MLDoc and PAWS-X: hand-made files in the published formats, separately trained classifiers, and invalid files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ease.errors import EaseError
from ease.evaluation.classifiers import LabelledEmbeddings, train_classifier
from ease.evaluation.scores import main_score
from ease.evaluation.tasks.transfer import clean_document
from ease.similarity.encode import Encode
from tests.evaluation.made_tasks import make_task

CATEGORIES = ("CCAT", "ECAT", "GCAT", "MCAT")
NAMES = "german spanish french italian japanese russian chinese".split()
LANGUAGES = dict(zip("de es fr it ja ru zh".split(), NAMES, strict=True))
HEADER = "id\tsentence1\tsentence2\tlabel\n"
WORDS = [f"w{number}" for number in range(40)]


def documents(seed: int, count: int, topical: float) -> str:
    """Return lines of a category, a tab and twelve words; a share of the words is topical."""
    generator = np.random.default_rng(seed)
    lines = []
    for number in range(count):
        category = CATEGORIES[number % 4]
        words = [category + word if generator.random() < topical else word for word in generator.choice(WORDS, 12)]
        lines.append(f"{category}\t{' '.join(words)}\n")
    return "".join(lines)


def write_mldoc(folder: Path, languages: Sequence[str], **changes: Any) -> Any:
    """Write English training files, and test files with fewer topical words for each further language."""
    (folder / "english.train.1000").write_text(documents(0, 200, 0.5), encoding="utf-8")
    (folder / "english.dev").write_text(documents(1, 80, 0.5), encoding="utf-8")
    for number, language in enumerate(languages, start=1):
        content = documents(1 + number, 80, 0.5 / number)
        (folder / f"{LANGUAGES[language]}.test").write_text(content, encoding="utf-8")
    return make_task("mldoc", folder, learning_rates=(0.1, 1e-6), **changes)


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


def write_pawsx(folder: Path, languages: Sequence[str], **changes: Any) -> Any:
    """Write English training data, and test data that are harder for each further language."""
    (folder / "en").mkdir(exist_ok=True)
    (folder / "en" / "train.tsv").write_text(pairs(0, 300, 4), encoding="utf-8")
    (folder / "en" / "dev_2k.tsv").write_text(pairs(1, 100, 4), encoding="utf-8")
    for number, language in enumerate(languages):
        (folder / language).mkdir(exist_ok=True)
        path = folder / language / "test_2k.tsv"
        path.write_text(pairs(2 + number, 100, max(1, 4 - number)), encoding="utf-8")
    small = {"learning_rates": (0.1, 1e-6), "batch_sizes": (32,), "evaluation_steps": 10}
    return make_task("pawsx", folder, **small, **changes)


def embedded(path: Path, encode: Encode) -> LabelledEmbeddings:
    """Read and encode a file without the task's code."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    if path.suffix != ".tsv":
        return LabelledEmbeddings(encode([text for _, text in rows]), [label for label, _ in rows])
    u, v = (encode([row[side] for row in rows[1:]]) for side in (1, 2))
    return LabelledEmbeddings(np.hstack([u, v, abs(u - v), u * v]), [row[3] for row in rows[1:]])


@pytest.mark.parametrize(
    ("write", "languages", "names"),
    [
        (write_mldoc, ("de", "zh"), ("english.train.1000", "english.dev", "german.test")),
        (write_pawsx, ("en", "zh"), ("en/train.tsv", "en/dev_2k.tsv", "en/test_2k.tsv")),
    ],
)
def test_scores_equal_those_of_separately_trained_classifiers(
    tmp_path: Path, encode: Encode, write: Any, languages: tuple[str, ...], names: tuple[str, ...]
) -> None:
    task = write(tmp_path, languages)
    options = task.options
    development, first, chinese, mean = scores = task.evaluate(encode)
    training, held, test = (embedded(tmp_path / name, encode) for name in names)
    shares = {}
    for size in options.batch_sizes:
        trained = [train_classifier(training, held, seed, size, 0.1) for seed in options.seeds]
        shares[size] = [[100 * float(np.mean(one.hits(data))) for one in trained] for data in (held, test)]
    best = max(shares, key=lambda size: fmean(shares[size][0]))
    held_shares, expected = shares[best]
    assert first.value == pytest.approx(fmean(expected))
    assert first.deviation == pytest.approx(stdev(expected))
    assert (development.subset, development.metric) == ("en", "development_accuracy")
    assert development.value == pytest.approx(fmean(held_shares))
    assert development.note == f"batch size {best}, learning rate 0.1"
    known = LogisticRegression(C=1 if write is write_mldoc else 100).fit(training.embeddings, training.labels)
    assert first.value == pytest.approx(100 * known.score(test.embeddings, test.labels), abs=8)
    assert 25 < chinese.value < first.value
    assert mean.value == pytest.approx((first.value + chinese.value) / 2)
    assert (mean.subset, mean.metric, mean.note) == ("average", "accuracy", "2 of 7 subsets")
    assert main_score(scores) == pytest.approx(mean.value), "without the development data"
    alone = write(tmp_path, languages, subsets=("zh",), seeds=(42,)).evaluate(encode)
    assert [one.deviation for one in alone] == [None] * 3


def test_documents_are_cleaned() -> None:
    assert clean_document("Profit  rose.\u3000\u3000 (c) Reuters Limited 1996") == "Profit rose."
    assert clean_document("b'caf\\xc3\\xa9 \\xe6\\x97\\xa5\\xe6\\x9c\\xac'") == "café 日本"
    assert clean_document('b"it\'s"') == "it's"
    assert clean_document("b'is a letter") == "b'is a letter"


def test_blank_and_untranslated_rows_are_counted(tmp_path: Path) -> None:
    content = "CCAT\tone\r\nGCAT\t(c) Reuters Limited 1997\r\n\r\nMCAT\ttwo\r\n"
    (tmp_path / "german.test").write_bytes(b"\xef\xbb\xbf" + content.encode())
    found = make_task("mldoc", tmp_path).read_file("de", tmp_path / "german.test")
    assert found == ([("one",), ("two",)], ["CCAT", "MCAT"], "blank texts skipped: 1")
    rows = '1\t"Wer da?\tDa wer?\t1\n2\tStraße\tNS\t0\n3\t \tOrt\t1\n4\tNS Ost\tOst\t0\n'
    (tmp_path / "test_2k.tsv").write_bytes((HEADER + rows).replace("\n", "\r\n").encode())
    found = make_task("pawsx", tmp_path).read_file("de", tmp_path / "test_2k.tsv")
    texts = [('"Wer da?', "Da wer?"), ("NS Ost", "Ost")]
    assert found == (texts, ["1", "0"], "untranslated pairs skipped: 2")


@pytest.mark.parametrize(
    ("write", "name", "content", "said"),
    [
        (write_mldoc, "german.test", "C15\ta\n", "line 1: the label 'C15' is not one of CCAT, ECAT, GCAT, MCAT"),
        (write_mldoc, "english.train.1000", "CCAT\ta\nECAT\tb\n", "No training row is of class GCAT, MCAT"),
        (write_pawsx, "de/test_2k.tsv", f"{HEADER}1\tNS\tb\t1\n", "test_2k.tsv: contains no complete row"),
    ],
)
def test_errors_name_files(tmp_path: Path, encode: Encode, write: Any, name: str, content: str, said: str) -> None:
    task = write(tmp_path, ["de"])
    (tmp_path / name).write_text(content)
    with pytest.raises(EaseError, match=said):
        task.evaluate(encode)
