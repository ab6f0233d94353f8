"""The short-text clustering sets: real, hand-made and invalid files."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest
from ease.evaluation.tasks.stc import FILES, Options, evaluate, files, read_set
from pydantic import ValidationError
from sklearn.cluster import KMeans
from sklearn.metrics import v_measure_score

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, Score, available_subsets, main_score, missing_files

TOPICS = {"1": "goal match team cup", "2": "bank rates shares market", "3": "gene cell protein blood"}
ROWS = [
    (label, f"{words} {word}") for label, words in TOPICS.items() for word in ("one", "two", "three", "four")
]
TABBED = "".join(f"{label}\t{text}\n" for label, text in ROWS)


def values(scores: list[Score]) -> dict[tuple[str, str], float]:
    """Return scores by subset and metric."""
    return {(score.subset, score.metric): score.value for score in scores}


def test_real_files_are_read_completely(test_data: Path) -> None:
    found = available_subsets(files(Options(path=test_data / "eval" / "stc")))
    sizes = {}
    for subset, paths in found.items():
        data = read_set(subset, paths)
        assert len(data.texts) == len(data.labels)
        assert not data.blank
        sizes[subset] = len(data.texts), len(set(data.labels))
    known = {
        **{"agnews": (8000, 4), "searchsnippets": (12340, 8)},
        **{"googlenews-t": (11108, 152), "tweet": (2472, 89)},
    }
    assert {subset: sizes[subset] for subset in known} == known
    snippets = read_set("searchsnippets", found["searchsnippets"])
    assert snippets.texts[0].startswith("turtlesoft goldenseal"), "without the mark of byte order"


def test_agnews_agrees_with_scikit_learn_and_exhaustive_matching(test_data: Path, encode: Encode) -> None:
    folder = test_data / "eval" / "stc"
    rows = [
        line.split("\t") for line in (folder / "agnews.txt").read_text(encoding="utf-8").split("\n") if line
    ]
    classes = np.array([int(label) - 1 for label, _ in rows])
    embeddings = encode([text for _, text in rows])
    accuracies, measures = [], []
    for seed in (1, 2):
        found = KMeans(4, n_init=2, random_state=seed).fit_predict(embeddings)
        accuracies.append(
            100 * max(np.mean(np.array(order)[found] == classes) for order in permutations(range(4)))
        )
        measures.append(100 * v_measure_score(classes, found))
    options = Options(path=folder, subsets=("agnews",), seeds=(1, 2), n_init=2)
    accuracy, measure, _, mean, *_ = evaluate(encode, options)
    assert (accuracy.task, accuracy.subset, accuracy.metric) == ("stc", "agnews", "accuracy")
    assert accuracy.value == pytest.approx(fmean(accuracies), abs=0.02)
    assert accuracy.deviation == pytest.approx(stdev(accuracies), abs=0.02)
    assert measure.metric == "v_measure"
    assert measure.value == pytest.approx(fmean(measures), abs=0.02)
    assert mean.note == "1 of 8 subsets"


def test_every_form_is_read(tmp_path: Path, encode: Encode) -> None:
    for subset, names in FILES.items():
        contents = [TABBED]
        if len(names) == 2:
            contents = ["".join(f"{text}\n" for _, text in ROWS), "".join(f"{label}\n" for label, _ in ROWS)]
        if subset == "tweet":
            contents = [
                "".join(json.dumps({"text": text, "cluster": int(label)}) + "\n" for label, text in ROWS)
            ]
        for name, content in zip(names, contents, strict=True):
            (tmp_path / name).write_text(content, encoding="utf-8")
    scores = evaluate(encode, Options(path=tmp_path))
    accuracies = {score.subset: score for score in scores if score.metric == "accuracy"}
    assert list(accuracies) == [*FILES, "average"]
    assert all(score.value == 100 and score.note == "" for score in scores)
    assert accuracies["tweet"].deviation == 0
    assert main_score(scores) == 100


def test_missing_sets_do_not_prevent_the_scores_of_others(tmp_path: Path, encode: Encode) -> None:
    (tmp_path / "t.txt").write_text(TABBED, encoding="utf-8")
    (tmp_path / "biomedical.txt").write_text("a text without its label\n", encoding="utf-8")
    options = Options(path=tmp_path)
    scores = evaluate(encode, options)
    assert {score.subset for score in scores} == {"googlenews-t", "average"}
    assert {score.note for score in scores if score.averaged} == {"1 of 8 subsets"}
    missing = missing_files(files(options))
    assert missing["biomedical"] == [tmp_path / "biomedical_label.txt"]
    assert len(missing) == 7


def test_bom_crlf_tabs_blank_lines_and_unusual_line_separators(tmp_path: Path) -> None:
    text = "1\tfirst\r\n\r\n2\twith\ta tab\r\n3\t one\x85line\u2028only \r\n1\t \r\n"
    (tmp_path / "t.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    data = read_set("googlenews-t", (tmp_path / "t.txt",))
    assert data.texts == ["first", "with\ta tab", "one\x85line\u2028only"]
    assert data.labels == ["1", "2", "3"]
    assert data.note == "blank texts skipped: 1"


def test_a_class_with_one_member_and_a_blank_text(tmp_path: Path, encode: Encode) -> None:
    lonely = f"{TABBED}4\tstorm rain wind\n4\t \n"
    (tmp_path / "t.txt").write_text(lonely, encoding="utf-8")
    accuracy = evaluate(encode, Options(path=tmp_path))[0]
    assert (accuracy.value, accuracy.note) == (100, "blank texts skipped: 1")


def write_pair(folder: Path, texts: bytes, labels: bytes) -> Options:
    """Write a set in two files."""
    (folder / "searchsnippets.txt").write_bytes(texts)
    (folder / "searchsnippets_label.txt").write_bytes(labels)
    return Options(path=folder, subsets=("searchsnippets",))


@pytest.mark.parametrize(
    ("texts", "labels", "said"),
    [
        (b"a\nb\nc\n", b"1\n2\n", r"_label.txt ends after line 2, but .*snippets.txt has a line 3"),
        (b"a\nb\n", b"1\n \n", r"searchsnippets_label.txt, line 2: the label is missing"),
        (b"", b"", r"searchsnippets.txt: contains no text"),
        (b"\n \n", b"1\n2\n", r"searchsnippets.txt: contains no text"),
        (b"a\ncaf\xe9\n", b"1\n2\n", r"searchsnippets.txt, line 2: not UTF-8 .*iconv -f latin1"),
        (b"a\nb\n", b"1\n1\n", r"stc searchsnippets: 2 texts in 1 classes; .* at least two classes"),
        (b"a\nb\n", b"1\n2\n", r"stc searchsnippets: 2 texts in 2 classes; .* more texts than classes"),
    ],
)
def test_errors_name_invalid_paired_files(
    tmp_path: Path, encode: Encode, texts: bytes, labels: bytes, said: str
) -> None:
    with pytest.raises(EaseError, match=said):
        evaluate(encode, write_pair(tmp_path, texts, labels))


@pytest.mark.parametrize(
    ("subset", "name", "content", "said"),
    [
        ("agnews", "agnews.txt", b"1\ta\nno label here\n", r"line 2: no tab between a label and a text"),
        ("agnews", "agnews.txt", b"1\ta\n\tb\n", r"line 2: the label is missing"),
        ("agnews", "agnews.txt", b"", r"agnews.txt: contains no text"),
        ("tweet", "tweet.txt", b'{"text": "a", "cluster": 1}\n{"text": "b"}\n', r"2: no field 'cluster'"),
        (
            "tweet",
            "tweet.txt",
            b'{"text": "a", "cluster": 1}\n{"te\n',
            r"line 2, column 5: not a JSON object",
        ),
        ("tweet", "tweet.txt", b"[1, 2]\n", r"line 1: not a JSON object"),
        ("tweet", "tweet.txt", b'{"text": "a", "cluster": null}\n', r"line 1: the label is missing"),
    ],
)
def test_errors_name_the_line_of_invalid_files(
    tmp_path: Path, encode: Encode, subset: str, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(EaseError, match=said):
        evaluate(encode, Options(path=tmp_path, subsets=(subset,)))


def test_errors_name_the_set_of_non_finite_embeddings_and_zero_vectors_are_noted(
    tmp_path: Path, encode: Encode
) -> None:
    (tmp_path / "t.txt").write_text(TABBED, encoding="utf-8")
    options = Options(path=tmp_path)
    with pytest.raises(EaseError, match="stc googlenews-t: 12 of 12 rows of the embeddings contain NaN"):
        evaluate(lambda texts: np.full((len(texts), 3), np.nan), options)

    def encode_two_to_zero(texts: list[str]) -> np.ndarray:
        embeddings = encode(texts)
        embeddings[:2] = 0
        return embeddings

    assert evaluate(encode_two_to_zero, options)[0].note == "zero vectors: 2"


def test_bad_options_are_refused() -> None:
    with pytest.raises(ValidationError, match="The seeds 1, 2, 1 repeat"):
        Options(path=Path("x"), seeds=(1, 2, 1))
    with pytest.raises(ValidationError, match="seeds"):
        Options(path=Path("x"), seeds=())
