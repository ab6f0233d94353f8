"""SentEval's sets: real files, an independent computation, hand-made files of every format, and invalid files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from ease.errors import EaseError
from ease.evaluation.classifiers import NetworkClassifier
from ease.evaluation.encodes import Encode
from ease.evaluation.tasks import Score, available_subsets, get_task, main_score, missing_files
from ease.evaluation.tasks.senteval import FILES, NetworkOptions

TASK = get_task("senteval")
Options = TASK.options
evaluate = TASK.evaluate
files = TASK.files

WORDS = {"good": "great moving fine warm", "bad": "dull flat tired loud"}


def reviews(kind: str, count: int, seed: int = 0) -> str:
    """Return lines of a few words, most of which are typical of the class."""
    generator = np.random.default_rng([seed, len(kind)])
    every = [word for words in WORDS.values() for word in words.split()]
    lines = [
        " ".join([*generator.choice(WORDS[kind].split(), 2), *generator.choice(every, 3)])
        for _ in range(count)
    ]
    return "".join(f"{line} .\n" for line in lines)


def questions(count: int) -> str:
    """Return lines in TREC's format, with two alternating types."""
    kinds = {"HUM:ind": "Who wrote", "LOC:other": "Where is", "NUM:date": "When was"}
    forms = [*kinds.items()]
    return "".join(f"{forms[n % 3][0]} {forms[n % 3][1]} number {n} ?\n" for n in range(count))


def sentiments(count: int, seed: int) -> str:
    """Return lines in SST's format."""
    lines = []
    for label, kind in enumerate(("bad", "good")):
        lines += [f"{text}\t{label}" for text in reviews(kind, count, seed).splitlines()]
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write small versions of all four sets."""
    contents = {
        "mr": (reviews("good", 40), reviews("bad", 40)),
        "subj": (reviews("bad", 40, 5), reviews("good", 40, 5)),
        "trec": (questions(60), questions(12)),
        "sst2": (sentiments(40, 1), sentiments(10, 2), sentiments(20, 3)),
    }
    for subset, texts in contents.items():
        for name, text in zip(FILES[subset], texts, strict=True):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def options(folder: Path, *subsets: str) -> Any:
    return Options(
        path=folder, subsets=subsets or None, folds=3, strengths=(0.25, 8), strengths_trec=(0.5, 32)
    )


def by_subset(scores: list[Score], metric: str) -> dict[str, Score]:
    return {score.subset: score for score in scores if score.metric == metric}


def test_real_files_are_read_completely_including_latin_1(test_data: Path) -> None:
    folder = test_data / "eval" / "senteval"
    found = available_subsets(files(Options(path=folder, subsets=("mr", "trec"))))
    reviews = TASK.read(None, "mr", found["mr"])["all"]
    assert Counter(reviews.labels) == {"rt-polarity.pos": 5331, "rt-polarity.neg": 5331}
    assert len(reviews.texts) == 10662
    splits = TASK.read(None, "trec", found["trec"])
    for split, path in zip(("train", "test"), found["trec"], strict=True):
        raw = path.read_bytes().splitlines()
        assert Counter(splits[split].labels) == Counter(line.split(b":")[0].decode() for line in raw)
        assert [text.encode("latin-1") for text in splits[split].texts] == [
            line.split(b" ", 1)[1].strip() for line in raw
        ]
    assert (
        "Which city has the oldest relationship as a sisterðcity with Los Angeles ?" in splits["train"].texts
    )


def test_a_part_of_trec_equals_plain_loops(test_data: Path, tmp_path: Path, encode: Encode) -> None:
    texts: dict[str, list[str]] = {}
    labels: dict[str, list[str]] = {}
    (tmp_path / "TREC").mkdir()
    # A part has too few abbreviations for two folds of each class.
    for name, count in (("train_5500.label", 300), ("TREC_10.label", 100)):
        raw = (test_data / "eval" / "senteval" / "TREC" / name).read_bytes().splitlines(keepends=True)
        lines = [line for line in raw if not line.startswith(b"ABBR")][:count]
        (tmp_path / "TREC" / name).write_bytes(b"".join(lines))
        texts[name] = [line.decode("latin-1").split(" ", 1)[1].strip() for line in lines]
        labels[name] = [line.decode("latin-1").split(":")[0] for line in lines]
    train, test = texts
    rows, wanted = encode(texts[train]).astype(float), np.array(labels[train])
    mean = {}
    for strength in (0.5, 32):
        folds = StratifiedKFold(2, shuffle=True, random_state=1111).split(rows, wanted)
        shares = [
            LogisticRegression(C=strength, max_iter=1000)
            .fit(rows[fitted], wanted[fitted])
            .score(rows[held], wanted[held])
            for fitted, held in folds
        ]
        mean[strength] = fmean(shares)
    best = max(mean, key=lambda strength: mean[strength])
    model = LogisticRegression(C=best, max_iter=1000).fit(rows, wanted)
    expected = 100 * model.score(encode(texts[test]).astype(float), labels[test])
    chosen = Options(path=tmp_path, subsets=("trec",), folds=2, strengths_trec=(0.5, 32))
    accuracy, development, average = evaluate(encode, chosen)
    assert (accuracy.task, accuracy.subset, accuracy.metric) == ("senteval", "trec", "accuracy")
    assert accuracy.value == pytest.approx(expected)
    assert development.value == pytest.approx(100 * mean[best], abs=0.01)
    assert (average.value, average.note) == (accuracy.value, "1 of 4 subsets")


def test_every_set_is_scored_by_its_protocol(folder: Path, encode: Encode) -> None:
    scores = evaluate(encode, options(folder))
    accuracies = by_subset(scores, "accuracy")
    assert list(accuracies) == [*FILES, "average"]
    assert list(by_subset(scores, "development_accuracy")) == list(FILES)
    assert accuracies["average"].note == ""
    assert main_score(scores) == pytest.approx(fmean(accuracies[subset].value for subset in FILES))
    assert accuracies["trec"].value == 100
    assert (accuracies["trec"].deviation, accuracies["sst2"].deviation) == (None, None), "tested once"
    rows = encode([line.strip() for kind in ("good", "bad") for line in reviews(kind, 40).splitlines()])
    labels = np.repeat(["rt-polarity.pos", "rt-polarity.neg"], 40)
    tested = []
    for fitted, held in StratifiedKFold(3, shuffle=True, random_state=1111).split(rows, labels):
        shares = {}
        for strength in (0.25, 8):
            inner = StratifiedKFold(3, shuffle=True, random_state=1111).split(rows[fitted], labels[fitted])
            models = [
                (LogisticRegression(C=strength).fit(rows[fitted][some], labels[fitted][some]), rest)
                for some, rest in inner
            ]
            shares[strength] = fmean(
                model.score(rows[fitted][rest], labels[fitted][rest]) for model, rest in models
            )
        best = max(shares, key=lambda strength: shares[strength])
        model = LogisticRegression(C=best).fit(rows[fitted], labels[fitted])
        tested.append(100 * model.score(rows[held], labels[held]))
    assert accuracies["mr"].value == pytest.approx(fmean(tested))
    assert accuracies["mr"].deviation == pytest.approx(stdev(tested))
    assert 50 < accuracies["mr"].value < 100


@pytest.mark.slow
def test_the_network_is_scored_beside_logistic_regression(folder: Path, encode: Encode) -> None:
    plain = evaluate(encode, options(folder))
    given = options(folder).model_copy(update={"network": NetworkOptions(epochs=40, batch_size=8)})
    both = evaluate(encode, given)
    network = by_subset(both, "network_accuracy")
    assert list(network) == [*FILES, "average"]
    assert [score for score in both if score.metric != "network_accuracy"] == plain
    assert main_score(both) == main_score(plain), "the network is additional"
    data = TASK.read(None, "trec", tuple(folder / name for name in FILES["trec"]))
    classifier = NetworkClassifier(epochs=40, batch_size=8, seed=1111)
    classifier.fit(encode(data["train"].texts), data["train"].labels)
    assert (
        network["trec"].value
        == 100 * classifier.score(encode(data["test"].texts), data["test"].labels)
        == 100
    )
    assert network["mr"].deviation is not None
    assert 50 < network["mr"].value <= 100
    assert network["average"].value == pytest.approx(fmean(network[subset].value for subset in FILES))


def test_a_single_strength_is_used_without_a_choice(folder: Path, encode: Encode) -> None:
    scores = evaluate(encode, options(folder).model_copy(update={"strengths": (1.0,), "subsets": ("sst2",)}))
    assert [(score.subset, score.metric) for score in scores] == [
        ("sst2", "accuracy"),
        ("average", "accuracy"),
    ]


def test_missing_sets_do_not_prevent_the_scores_of_others(folder: Path, encode: Encode) -> None:
    (folder / FILES["sst2"][1]).unlink()
    (folder / FILES["subj"][0]).unlink()
    scores = evaluate(encode, options(folder))
    assert list(by_subset(scores, "accuracy")) == ["mr", "trec", "average"]
    assert scores[-1].note == "2 of 4 subsets"
    assert missing_files(files(options(folder))) == {
        "subj": [folder / "SUBJ/subj.objective"],
        "sst2": [folder / "SST/binary/sentiment-dev"],
    }
    with pytest.raises(EaseError, match="subj.objective: no such file"):
        evaluate(encode, options(folder, "subj"))
    with pytest.raises(EaseError, match="Unknown subset cr: choose from mr, subj, trec, sst2"):
        files(options(folder, "cr"))


def test_utf_8_and_latin_1_may_be_mixed_and_blank_lines_are_counted(folder: Path, encode: Encode) -> None:
    path = folder / FILES["mr"][0]
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes() + "café\r\n".encode() + b"caf\xe9 noir\r\n \r\n")
    data = TASK.read(None, "mr", tuple(folder / name for name in FILES["mr"]))["all"]
    assert data.texts[40:42] == ["café", "café noir"]
    assert not data.texts[0].startswith("\ufeff")
    assert by_subset(evaluate(encode, options(folder, "mr")), "accuracy")["mr"].note == (
        "all: blank texts skipped: 1"
    )


@pytest.mark.parametrize(
    ("subset", "file", "content", "said"),
    [
        ("mr", 0, b"", "rt-polarity.pos: contains no text"),
        ("mr", 1, b"\n \n", "rt-polarity.neg: contains no text"),
        ("mr", 0, "dull\n".encode("utf-16"), "rt-polarity.pos, line 1: contains zero bytes"),
        ("mr", 0, b"a\nb\n", "senteval mr: Class rt-polarity.pos has 2 rows to divide into 3 folds"),
        ("subj", 1, b"a\nb\nc\n", "senteval subj: Class subj.subjective has 2 rows to divide into 3 folds"),
        ("trec", 0, b"HUM:ind Who ?\nWhat ?\n", "train_5500.label, line 2: does not begin with ABBR, DESC"),
        ("trec", 1, b"HUM:ind Who ?\nART:x What ?\n", "TREC_10.label, line 2: does not begin with ABBR"),
        ("trec", 1, b"DESC:manner How ?\n", "senteval trec: No training row is of class DESC"),
        ("trec", 0, b"HUM:ind Who ?\n" * 9, "senteval trec: All 9 training rows are of class HUM"),
        ("sst2", 0, b"dull\t0\nfine 1\n", "sentiment-train, line 2: does not end with a tab and the label"),
        ("sst2", 2, b"dull\t0\nfine\t4\n", "sentiment-test, line 2: does not end with a tab and the label"),
        ("sst2", 1, b"dull\t0\ncaf\xe9\t1\n", "sentiment-dev, line 2: not UTF-8"),
        ("sst2", 0, b"dull\t0\nflat\t0\n", "senteval sst2: All 2 training rows are of class 0"),
    ],
)
def test_errors_name_invalid_files(
    folder: Path, encode: Encode, subset: str, file: int, content: bytes, said: str
) -> None:
    (folder / FILES[subset][file]).write_bytes(content)
    with pytest.raises(EaseError, match=said):
        evaluate(encode, options(folder, subset))


def test_errors_name_the_task_of_non_finite_embeddings(folder: Path) -> None:
    with pytest.raises(EaseError, match="senteval mr: 80 of 80 rows of the embeddings of all contain NaN"):
        evaluate(lambda texts: np.full((len(texts), 3), np.nan), options(folder, "mr"))


def test_options_equal_those_of_senteval_and_invalid_options_are_refused() -> None:
    plain = Options(path=Path("x"))
    assert (plain.folds, plain.seed) == (10, 1111)
    assert plain.strengths == tuple(2.0**power for power in range(-2, 4))
    assert plain.strengths_trec == tuple(2.0**power for power in range(-1, 6))
    for wrong in ({"folds": 1}, {"strengths": ()}, {"strengths": (0,)}, {"seed": -1}):
        with pytest.raises(ValidationError, match=next(iter(wrong))):
            Options(path="x", **wrong)
