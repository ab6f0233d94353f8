"""SentEval's sets: real files, an independent computation, hand-made files of every format, and invalid files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from ease.errors import EaseError
from ease.evaluation.scores import Score, main_score
from ease.evaluation.tasks import package_tasks
from ease.similarity.encode import Encode
from tests.evaluation.made_tasks import make_task

PARAMETERS = package_tasks()["senteval"]
FILES = {name: tuple(own["file"]) for name, own in PARAMETERS["sets"].items()}
SETS = [name for name in FILES if name != "subj"]  # which is of the form of MR

WORDS = {"good": "great moving fine warm", "bad": "dull flat tired loud"}


def reviews(kind: str, count: int, seed: int = 0) -> str:
    """Return lines of a few words, most of which are typical of the class."""
    generator = np.random.default_rng([seed, len(kind)])
    every = [word for words in WORDS.values() for word in words.split()]
    lines = [" ".join([*generator.choice(WORDS[kind].split(), 2), *generator.choice(every, 3)]) for _ in range(count)]
    return "".join(f"{line} .\n" for line in lines)


def questions(count: int) -> str:
    """Return lines in TREC's format, with three alternating types."""
    forms = ("HUM:ind Who wrote", "LOC:other Where is", "NUM:date When was")
    return "".join(f"{forms[n % 3]} number {n} ?\n" for n in range(count))


def sentiments(count: int, seed: int) -> str:
    """Return lines in SST's format."""
    kinds = {0: reviews("bad", count, seed), 1: reviews("good", count, seed)}
    return "".join(f"{text}\t{label}\n" for label, texts in kinds.items() for text in texts.splitlines())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    contents = {
        "mr": (reviews("good", 40), reviews("bad", 40)),
        "trec": (questions(60), questions(12)),
        "sst2": (sentiments(40, 1), sentiments(10, 2), sentiments(20, 3)),
    }
    for subset, texts in contents.items():
        for name, text in zip(FILES[subset], texts, strict=True):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def evaluate(encode: Encode, folder: Path, *subsets: str, network: Any = None) -> list[Score]:
    few = {"folds": 3, "strengths": (0.25, 8), "strengths_trec": (0.5, 32), "network": network}
    scores: list[Score] = make_task("senteval", folder, subsets=subsets or (*SETS,), **few).evaluate(encode)
    return scores


def by_subset(scores: list[Score], metric: str) -> dict[str, Score]:
    return {score.subset: score for score in scores if score.metric == metric}


def test_real_files_are_read_completely_including_latin_1(test_data: Path) -> None:
    folder = test_data / "eval" / "senteval"
    task = make_task("senteval", folder, subsets=("mr", "trec"))
    found = task.available()
    reviews = task.read("mr", found["mr"])["all"]
    assert Counter(reviews.labels) == {"rt-polarity.pos": 5331, "rt-polarity.neg": 5331}
    assert len(reviews.texts) == 10662
    splits = task.read("trec", found["trec"])
    for split, path in zip(("train", "test"), found["trec"], strict=True):
        raw = path.read_bytes().splitlines()
        assert Counter(splits[split].labels) == Counter(line.split(b":")[0].decode() for line in raw)
        assert [text.encode("latin-1") for (text,) in splits[split].texts] == [
            line.split(b" ", 1)[1].strip() for line in raw
        ]
    assert ("Which city has the oldest relationship as a sisterðcity with Los Angeles ?",) in splits["train"].texts


@pytest.mark.slow
def test_every_set_is_scored_by_its_protocol_and_by_the_network(folder: Path, encode: Encode) -> None:
    scores = evaluate(encode, folder, network=PARAMETERS["network"] | {"epochs": 40, "batch_size": 8})
    accuracies, network = by_subset(scores, "accuracy"), by_subset(scores, "network_accuracy")
    assert list(accuracies) == list(network) == [*SETS, "average"]
    assert list(by_subset(scores, "development_accuracy")) == SETS
    assert main_score(scores) == pytest.approx(fmean(accuracies[subset].value for subset in SETS))
    assert accuracies["trec"].value == network["trec"].value == 100
    assert (accuracies["trec"].deviation, accuracies["sst2"].deviation) == (None, None), "tested once"
    assert network["mr"].deviation is not None
    assert 50 < network["mr"].value <= 100
    assert network["average"].value == pytest.approx(fmean(network[subset].value for subset in SETS))
    rows = encode([line.strip() for kind in ("good", "bad") for line in reviews(kind, 40).splitlines()])
    labels = np.repeat(["rt-polarity.pos", "rt-polarity.neg"], 40)
    tested = []
    for fitted, held in StratifiedKFold(3, shuffle=True, random_state=1111).split(rows, labels):
        shares = {}
        for strength in (0.25, 8):
            inner = StratifiedKFold(3, shuffle=True, random_state=1111).split(rows[fitted], labels[fitted])
            chosen, known = rows[fitted], labels[fitted]
            shares[strength] = fmean(
                LogisticRegression(C=strength).fit(chosen[some], known[some]).score(chosen[rest], known[rest])
                for some, rest in inner
            )
        best = max(shares, key=shares.__getitem__)
        model = LogisticRegression(C=best).fit(rows[fitted], labels[fitted])
        tested.append(100 * model.score(rows[held], labels[held]))
    assert accuracies["mr"].value == pytest.approx(fmean(tested))
    assert accuracies["mr"].deviation == pytest.approx(stdev(tested))
    assert 50 < accuracies["mr"].value < 100


@pytest.mark.parametrize(
    ("subset", "file", "content", "said"),
    [
        ("mr", 0, b"a\nb\n", "senteval mr: Class rt-polarity.pos has 2 rows to divide into 3 folds"),
        ("trec", 0, b"HUM:ind Who ?\nWhat ?\n", "train_5500.label, line 2: does not begin with ABBR, DESC"),
        ("sst2", 0, b"dull\t0\nfine\t2\n", "sentiment-train, line 2: the label is '2', not 0 or 1"),
    ],
)
def test_errors_name_files(folder: Path, encode: Encode, subset: str, file: int, content: bytes, said: str) -> None:
    (folder / FILES[subset][file]).write_bytes(content)
    with pytest.raises(EaseError, match=said):
        evaluate(encode, folder, subset)
