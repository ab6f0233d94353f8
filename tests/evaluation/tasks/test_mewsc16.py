"""MewsC-16: published text files, tables of this project, and invalid files."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ease.evaluation.tasks.mewsc16 import Options, evaluate, files, read_language
from sklearn.cluster import KMeans
from sklearn.metrics import v_measure_score
from sklearn.metrics.cluster import pair_confusion_matrix

from ease.errors import EaseError
from ease.evaluation.clustering import cluster
from ease.evaluation.tasks import Encode, available_subsets, missing_files
from ease.wikimedia.languages import MEWSC16_LANGUAGES

PUBLISHED = {
    **{
        "ar": (2243, 11),
        "ca": (3310, 11),
        "cs": (1534, 9),
        "de": (6398, 8),
        "en": (12892, 13),
        "eo": (227, 8),
    },
    **{
        "es": (6415, 11),
        "fa": (773, 9),
        "fr": (10697, 13),
        "ja": (1984, 12),
        "ko": (344, 10),
        "pl": (7247, 11),
    },
    **{"pt": (8921, 11), "ru": (1406, 12), "sv": (584, 7), "tr": (459, 7)},
}
"""Sentences and classes of each language in Table 13."""

ROWS = [(f"{words} {word}", words.upper()) for words in ("sun rain wind", "cup goal team") for word in "abc"]


def write_lines(folder: Path, language: str, rows: list[tuple[str, str]], end: str = "\n") -> None:
    """Write a language in the published format."""
    for name, column in [("sentences", 0), ("categories", 1)]:
        content = "".join(f"{row[column]}{end}" for row in rows)
        (folder / f"{language}_{name}.txt").write_bytes(content.encode())


def write_table(path: Path, rows: list[tuple[str | None, str | None]]) -> None:
    """Write a language as a table of this project."""
    sentences, categories = zip(*rows, strict=True) if rows else ((), ())
    columns = {
        **{"sentence": pa.array(sentences, pa.string()), "category": pa.array(categories, pa.string())},
        **{"page_id": range(len(rows)), "title": ["x"] * len(rows), "revision_id": range(len(rows))},
        "dump_date": ["20220101"] * len(rows),
    }
    pq.write_table(pa.table(columns), path)


def test_the_real_files_have_the_sizes_of_the_paper(test_data: Path) -> None:
    found = available_subsets(files(Options(path=test_data / "eval" / "mewsc16")))
    assert len(found) >= 12
    for language, paths in found.items():
        data = read_language(paths)
        sentences, classes = PUBLISHED[language]
        assert len(set(data.labels)) == classes
        # The paper counts 65,425 sentences; its release has 65,433.
        assert abs(len(data.texts) + data.blank - sentences) <= 8


def test_korean_agrees_with_scikit_learn(test_data: Path, encode: Encode) -> None:
    folder = test_data / "eval" / "mewsc16"
    sentences, categories = (
        (folder / f"ko_{name}.txt").read_text(encoding="utf-8").splitlines()
        for name in ("sentences", "categories")
    )
    embeddings = encode(sentences)
    found = [KMeans(10, n_init=10, random_state=seed).fit_predict(embeddings) for seed in (42, 43, 44)]
    scores = evaluate(encode, Options(path=folder, subsets=("ko",)))
    assert [(score.subset, score.metric) for score in scores[:2]] == [("ko", "accuracy"), ("ko", "v_measure")]
    assert scores[1].value == pytest.approx(100 * fmean(v_measure_score(categories, one) for one in found))
    for seed, one in zip((42, 43, 44), found, strict=True):
        same = pair_confusion_matrix(one, cluster(embeddings, 10, seed))
        assert same[0, 1] == same[1, 0] == 0, "the same clusters, whatever their numbers"


def test_lines_and_tables_score_the_same_and_missing_languages_are_noted(
    tmp_path: Path, encode: Encode
) -> None:
    write_lines(tmp_path, "en", ROWS)
    write_table(tmp_path / "sv.parquet", [*ROWS])
    scores = evaluate(encode, Options(path=tmp_path))
    assert [(score.subset, score.value) for score in scores if score.metric == "accuracy"] == [
        *(("en", 100), ("sv", 100), ("average", 100))
    ]
    assert scores[-2].note == scores[-1].note == "2 of 16 subsets"
    missing = missing_files(files(Options(path=tmp_path)))
    assert missing.keys() == {*MEWSC16_LANGUAGES} - {"en", "sv"}
    assert missing["ja"] == [tmp_path / "ja_sentences.txt", tmp_path / "ja_categories.txt"]


def test_a_table_takes_precedence_over_text_files(tmp_path: Path) -> None:
    write_lines(tmp_path, "en", ROWS)
    write_table(tmp_path / "en.parquet", [*ROWS])
    assert files(Options(path=tmp_path, subsets=("en",))) == {"en": (tmp_path / "en.parquet",)}


@pytest.mark.parametrize("form", ["lines", "CRLF", "table"])
def test_blank_sentences_are_skipped_and_counted(tmp_path: Path, encode: Encode, form: str) -> None:
    # All sentences of this topic are blank, so the topic is not a class.
    rows = [ROWS[0], ("", "MEDIA"), *ROWS[1:], ("\u3000 ", "MEDIA")]
    if form == "table":
        write_table(tmp_path / "ja.parquet", [*rows, (None, "MEDIA")])
    else:
        write_lines(tmp_path, "ja", rows, "\r\n" if form == "CRLF" else "\n")
    data = read_language(files(Options(path=tmp_path))["ja"])
    assert data.texts == [text for text, _ in ROWS]
    assert {*data.labels} == {"SUN RAIN WIND", "CUP GOAL TEAM"}
    blank = 3 if form == "table" else 2
    (accuracy, *_) = evaluate(encode, Options(path=tmp_path))
    assert (accuracy.value, accuracy.note) == (100, f"blank texts skipped: {blank}")


def test_errors_name_files_of_different_lengths(tmp_path: Path, encode: Encode) -> None:
    write_lines(tmp_path, "tr", ROWS)
    (tmp_path / "tr_categories.txt").write_text("x\n", encoding="utf-8")
    with pytest.raises(
        EaseError, match=r"tr_categories.txt ends after line 1, but .*tr_sentences.txt has a line 2"
    ):
        evaluate(encode, Options(path=tmp_path))


def test_errors_name_invalid_tables(tmp_path: Path, encode: Encode) -> None:
    path = tmp_path / "tr.parquet"
    options = Options(path=tmp_path)
    write_table(path, [*ROWS, ("a sentence", None)])
    with pytest.raises(EaseError, match=r"tr.parquet, row 7: the label is missing"):
        evaluate(encode, options)
    write_table(path, [])
    with pytest.raises(EaseError, match=r"tr.parquet: contains no text"):
        evaluate(encode, options)
    pq.write_table(pa.table({"sentence": ["a"]}), path)
    with pytest.raises(EaseError, match=r"tr.parquet: no column category among sentence"):
        evaluate(encode, options)
    path.write_bytes(b"PAR1")
    with pytest.raises(EaseError, match=r"tr.parquet: not a complete Parquet file"):
        evaluate(encode, options)


def test_the_mean_is_over_the_languages(tmp_path: Path) -> None:
    write_lines(tmp_path, "en", ROWS)
    write_lines(tmp_path, "fr", ROWS)
    calls: list[int] = []

    def encode_one_language(texts: list[str]) -> np.ndarray:
        """Separate the topics of the first language; confuse two sentences of the second."""
        calls.append(len(texts))
        return np.eye(2)[[0, 0, 0, 1, 1, 1] if len(calls) == 1 else [0, 0, 1, 0, 1, 1]]

    accuracy = {
        score.subset: score.value
        for score in evaluate(encode_one_language, Options(path=tmp_path))
        if score.metric == "accuracy"
    }
    assert accuracy == pytest.approx({"en": 100, "fr": 100 * 4 / 6, "average": 100 * 5 / 6})
