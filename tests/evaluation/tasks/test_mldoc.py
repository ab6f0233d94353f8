"""MLDoc: hand-made files in the format of its scripts, the grid, and invalid files."""

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
from ease.evaluation.tasks.mldoc import CATEGORIES, LANGUAGES, clean_document

TASK: Any = get_task("mldoc")
Options = TASK.options
evaluate = TASK.evaluate
files = TASK.files

WORDS = {
    "CCAT": "shares profit company merger acquisition stock".split(),
    "ECAT": "inflation budget trade deficit growth policy".split(),
    "GCAT": "election war police minister flood court".split(),
    "MCAT": "bonds futures dollar yen wheat copper".split(),
}
ORDINARY = "said on Monday the a of in to for with by that at from".split()


def documents(seed: int, count: int, topical: float) -> str:
    """Return lines of a category, a tab and twelve words; a share of the words is topical."""
    generator = np.random.default_rng(seed)
    lines = []
    for number in range(count):
        category = CATEGORIES[number % 4]
        topic = generator.random(12) < topical
        words = [generator.choice(WORDS[category] if own else ORDINARY) for own in topic]
        lines.append(f"{category}\t{' '.join(words)}\n")
    return "".join(lines)


def write_mldoc(folder: Path, languages: Sequence[str], topical: float = 0.5) -> Any:
    """Write English training files, and test files with fewer topical words for each further language."""
    (folder / "english.train.1000").write_text(documents(0, 200, topical), encoding="utf-8")
    (folder / "english.dev").write_text(documents(1, 80, topical), encoding="utf-8")
    for number, language in enumerate(languages, start=1):
        content = documents(1 + number, 80, topical / number)
        (folder / f"{LANGUAGES[language]}.test").write_text(content, encoding="utf-8")
    return Options(path=folder, learning_rates=(0.1, 1e-6))


def embedded(path: Path, encode: Encode) -> LabelledEmbeddings:
    """Read and encode a file without the task's code."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return LabelledEmbeddings(encode([text for _, text in rows]), [label for label, _ in rows])


def test_scores_equal_those_of_separately_trained_classifiers(tmp_path: Path, encode: Encode) -> None:
    options = write_mldoc(tmp_path, ["de", "zh"])
    english, german, chinese, mean = evaluate(encode, options)
    training, development, test = (
        embedded(tmp_path / name, encode) for name in ("english.train.1000", "english.dev", "german.test")
    )
    trained = {
        size: [
            train_classifier(training, ClassifierSettings(size, 0.1), seed, development)
            for seed in options.seeds
        ]
        for size in options.batch_sizes
    }
    best = max(
        trained, key=lambda size: fmean(float(np.mean(one.hits(development))) for one in trained[size])
    )
    expected = [100 * float(np.mean(one.hits(test))) for one in trained[best]]
    assert german.value == pytest.approx(fmean(expected))
    assert german.deviation == pytest.approx(stdev(expected))
    assert english.note == f"batch size {best}, learning rate 0.1"
    assert english.value == pytest.approx(
        100 * fmean(float(np.mean(one.hits(development))) for one in trained[best])
    )
    known = LogisticRegression().fit(training.embeddings, training.labels)
    assert german.value == pytest.approx(100 * known.score(test.embeddings, test.labels), abs=5)
    assert 25 < chinese.value < german.value
    assert mean.value == pytest.approx((german.value + chinese.value) / 2)


def test_subsets_metrics_and_missing_files(tmp_path: Path, encode: Encode) -> None:
    options = write_mldoc(tmp_path, ["de", "fr"])
    scores = evaluate(encode, options)
    assert [(score.subset, score.metric) for score in scores] == [
        *(("en", "development_accuracy"), ("de", "accuracy"), ("fr", "accuracy"), ("average", "accuracy"))
    ]
    assert scores[-1].note == "2 of 7 subsets"
    assert main_score(scores) == pytest.approx((scores[1].value + scores[2].value) / 2), "without English"
    missing = missing_files(files(options))
    assert missing == {
        language: [tmp_path / f"{LANGUAGES[language]}.test"] for language in ("es", "it", "ja", "ru", "zh")
    }
    (tmp_path / "english.dev").unlink()
    assert len(missing_files(files(options))) == 7


def test_one_language_alone_and_one_seed(tmp_path: Path, encode: Encode) -> None:
    options = write_mldoc(tmp_path, ["de", "fr"])
    one = Options(path=tmp_path, subsets=("fr",), seeds=(42,), learning_rates=options.learning_rates)
    english, french, _ = evaluate(encode, one)
    assert (french.subset, french.deviation, english.deviation) == ("fr", None, None)


def test_documents_are_cleaned() -> None:
    assert clean_document("Profit  rose.\u3000\u3000 (c) Reuters Limited 1996") == "Profit rose."
    assert clean_document("b'caf\\xc3\\xa9 \\xe6\\x97\\xa5\\xe6\\x9c\\xac'") == "café 日本"
    assert clean_document('b"it\'s"') == "it's"
    assert clean_document("b'is a letter") == "b'is a letter"


def test_bytes_literals_written_by_python_3_are_decoded(tmp_path: Path) -> None:
    text = "株価は「上昇」した。 It's\ta tab"
    (tmp_path / "japanese.test").write_text(f"MCAT\t{text.encode()!r}\n", encoding="utf-8")
    assert TASK.read_file(tmp_path / "japanese.test").texts == ["株価は「上昇」した。 It's a tab"]


def test_bom_crlf_and_blank_documents(tmp_path: Path) -> None:
    content = "CCAT\tone\r\nGCAT\t(c) Reuters Limited 1997\r\n\r\nMCAT\ttwo\r\n"
    (tmp_path / "german.test").write_bytes(b"\xef\xbb\xbf" + content.encode())
    data = TASK.read_file(tmp_path / "german.test")
    assert (data.texts, data.labels, data.blank) == (["one", "two"], ["CCAT", "MCAT"], 1)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("german.test", b"CCAT\ta\nCCAT b\n", "german.test, line 2: no tab between a label and a text"),
        (
            "german.test",
            b"C15\ta\n",
            "german.test, line 1: the label 'C15' is not one of CCAT, ECAT, GCAT, MCAT",
        ),
        ("german.test", b"CCAT\ta\nMCAT\tGr\xfc\xdfe\n", "german.test, line 2: not UTF-8"),
        (
            "german.test",
            b"CCAT\tb'\\xff'\n",
            "german.test, line 1: the text looks like a Python bytes literal",
        ),
        ("german.test", b"CCAT\tb'a'b'\n", "german.test, line 1: the text looks like a Python bytes literal"),
        *(
            (
                "german.test",
                f"CCAT\tb'a'{other}'b'\n".encode(),
                "german.test, line 1: .* bytes literal, but is broken",
            )
            for other in (",b", "\0", "+" + "-" * 100_000 + "b", "+" + "(" * 300)
        ),
        ("german.test", b"", "german.test: contains no text"),
        ("english.train.1000", b"CCAT\ta\nCCAT\tb\n", "mldoc: All 2 training rows are of class CCAT"),
        ("english.train.1000", b"CCAT\ta\nECAT\tb\n", "mldoc: No training row is of class GCAT, MCAT"),
    ],
)
def test_errors_name_invalid_files(
    tmp_path: Path, encode: Encode, name: str, content: bytes, said: str
) -> None:
    options = write_mldoc(tmp_path, ["de"])
    (tmp_path / name).write_bytes(content)
    with pytest.raises(EaseError, match=said):
        evaluate(encode, options)


def test_errors_name_the_task_of_non_finite_embeddings(tmp_path: Path) -> None:
    options = write_mldoc(tmp_path, ["de"])
    with pytest.raises(
        EaseError, match="mldoc: 200 of 200 rows of the embeddings of the training data contain NaN"
    ):
        evaluate(lambda texts: np.full((len(texts), 3), np.nan), options)
