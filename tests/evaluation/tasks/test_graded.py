"""Tasks of graded pairs: real, hand-made and invalid files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ease.evaluation.tasks.components.graded_pairs import GradedPair, read_graded_pairs, score_graded_sets
from scipy.stats import spearmanr

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, average_main_scores, sample_graded, sickr, stsb


def cosine(encode: Encode, left: str, right: str) -> float:
    """Return the cosine of two sentences, encoded one at a time."""
    a, b = encode([left])[0].astype(float), encode([right])[0].astype(float)
    return float(a @ b / (np.sqrt(a @ a) * np.sqrt(b @ b)))


def test_stsb_dev_agrees_with_scipy(test_data: Path, encode: Encode) -> None:
    file = test_data / "eval" / "stsb" / "sts-dev.csv"
    lines = [line.split("\t") for line in file.read_text(encoding="utf-8").split("\n") if line]
    expected = spearmanr(
        [cosine(encode, line[5], line[6]) for line in lines], [float(line[4]) for line in lines]
    )
    (score,) = stsb.evaluate(encode, stsb.Options(path=file.parent, subsets=("dev",)))
    assert len(lines) == 1500
    assert (score.task, score.subset, score.metric) == ("stsb", "dev", "spearman")
    assert score.value == pytest.approx(100 * expected.statistic, abs=0.01)
    assert 50 < score.value < 80


def test_every_line_of_the_real_files_is_a_pair(test_data: Path) -> None:
    folder = test_data / "eval"
    dev = read_graded_pairs(folder / "stsb" / "sts-dev.csv", stsb.COLUMNS)
    assert len(dev) == 1500
    assert any('"' in pair.left for pair in dev), "quotation marks are text"
    assert len(read_graded_pairs(folder / "stsb" / "sts-train.csv", stsb.COLUMNS)) == 5749
    assert len(read_graded_pairs(folder / "sick" / "SICK_trial.txt", sickr.COLUMNS)) == 500
    assert len(read_graded_pairs(folder / "sick" / "SICK_train.txt", sickr.COLUMNS)) == 4500


def test_sickr_trial_agrees_with_scipy(test_data: Path, encode: Encode) -> None:
    file = test_data / "eval" / "sick" / "SICK_trial.txt"
    lines = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    expected = spearmanr(
        [cosine(encode, line[1], line[2]) for line in lines], [float(line[3]) for line in lines]
    )
    scores = sickr.evaluate(encode, sickr.Options(path=file.parent, subsets=("trial", "train")))
    assert [score.subset for score in scores] == ["trial", "train"]
    # Bags of words have many equal cosines, whose order depends on rounding.
    assert scores[0].value == pytest.approx(100 * expected.statistic, abs=0.05)


def test_the_development_score_of_the_multilingual_setting(test_data: Path, encode: Encode) -> None:
    dev = stsb.evaluate(encode, stsb.Options(path=test_data / "eval" / "stsb", subsets=("dev",)))
    trial = sickr.evaluate(encode, sickr.Options(path=test_data / "eval" / "sick", subsets=("trial",)))
    assert average_main_scores(dev + trial) == pytest.approx((dev[0].value + trial[0].value) / 2)


def sts_line(score: str, left: str = "a b", right: str = "a c", extra: str = "") -> str:
    """Return a line in the benchmark's format."""
    return f"main-news\theadlines\t2013\t0001\t{score}\t{left}\t{right}{extra}"


def test_quotes_crlf_bom_extra_columns_and_blank_grades(tmp_path: Path) -> None:
    text = "\r\n".join(
        [
            sts_line("1.0", 'an "odd', "line"),
            sts_line("", extra="\tlicence\tsource"),
            sts_line("3", 'x"', "café\x85y"),
            "",
        ]
    )
    (tmp_path / "sts-dev.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    first, second, third = read_graded_pairs(tmp_path / "sts-dev.csv", stsb.COLUMNS)
    assert first == ('an "odd', "line", 1.0)
    assert (second.left, second.right) == ("a b", "a c")
    assert np.isnan(second.gold)
    assert third == ('x"', "café\x85y", 3.0)


def test_columns_of_sick_are_found_by_name(tmp_path: Path) -> None:
    (tmp_path / "SICK.txt").write_bytes(
        b"pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\r\n1\tone\ttwo\tNEUTRAL\t4.5\r\n"
    )
    assert read_graded_pairs(tmp_path / "SICK.txt", sickr.COLUMNS) == [("one", "two", 4.5)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file; set the task's `path`"),
        ("", "contains no sentence pair"),
        (sts_line("1") + "\n" + sts_line("good"), "line 2: the score 'good' is not a number"),
        (sts_line("2004"), "line 1: the score 2004 is outside 0 to 5"),
        (sts_line("inf"), "line 1: the score 'inf' is not a number"),
        (sts_line("NaN"), "line 1: the score 'NaN' is not a number"),
        (sts_line("1") + "\na\tb", "line 2: 2 tab-separated columns instead of at least 7"),
        (b"\xff\xfe\x00", "line 1: not UTF-8"),
        (sts_line("1", "x" * 2_000_000), "line 1: longer than 1048576 bytes"),
        (sts_line("1"), "1 sentence pair has a gold score"),
    ],
)
def test_errors_name_the_line_of_an_invalid_benchmark_file(
    tmp_path: Path, encode: Encode, content: str | bytes | None, said: str
) -> None:
    file = tmp_path / "sts-dev.csv"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(EaseError, match=said) as caught:
        stsb.evaluate(encode, stsb.Options(path=tmp_path, subsets=("dev",)))
    assert str(caught.value).startswith((str(file), "stsb dev: "))


def test_the_error_names_a_missing_column_of_sick(tmp_path: Path, encode: Encode) -> None:
    (tmp_path / "SICK_trial.txt").write_text("pair_ID\tsentence_A\tsentence_B\n1\ta\tb\n", encoding="utf-8")
    with pytest.raises(EaseError, match=r"SICK_trial\.txt: no column relatedness_score; it has pair_ID"):
        sickr.evaluate(encode, sickr.Options(path=tmp_path, subsets=("trial",)))


@pytest.mark.parametrize("score", [0.99, 5.01])
def test_grades_of_sick_are_from_1_to_5(tmp_path: Path, encode: Encode, score: float) -> None:
    header = "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\n"
    lines = [f"{number}\ta\tb\tNEUTRAL\t{grade}\n" for number, grade in enumerate([1, 5, score])]
    (tmp_path / "SICK_trial.txt").write_text(header + "".join(lines), encoding="utf-8")
    with pytest.raises(EaseError, match=rf"line 4: the score {score} is outside 1 to 5"):
        sickr.evaluate(encode, sickr.Options(path=tmp_path, subsets=("trial",)))


def write_graded(path: Path, scores: list[object]) -> sample_graded.Options:
    """Write pairs of increasing similarity with these scores."""
    left = ["a b c d e f"] * len(scores)
    right = [" ".join("abcdef"[: index + 1]) for index in range(len(scores))]
    pq.write_table(pa.table({"sentence1": left, "sentence2": right, "score": scores}), path)
    return sample_graded.Options(path=path)


def test_sample_graded_ranks_pairs_and_skips_ungraded_pairs(tmp_path: Path, encode: Encode) -> None:
    options = write_graded(tmp_path / "graded.parquet", [1.0, 2.0, None, 3.0, 4.0])
    (score,) = sample_graded.evaluate(encode, options)
    assert (score.task, score.subset, score.metric) == ("sample_graded", "en", "spearman")
    assert score.value == pytest.approx(100)
    (score,) = sample_graded.evaluate(encode, write_graded(tmp_path / "graded.parquet", [4, 3, 2, 1]))
    assert score.value == pytest.approx(-100)


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([1.0, 7.5, 2.0], "row 2: the score 7.5 is outside 0 to 5"),
        (["one", "two"], "do not fit"),
        ([], "contains no sentence pair"),
    ],
)
def test_errors_name_invalid_graded_pairs(
    tmp_path: Path, encode: Encode, scores: list[object], said: str
) -> None:
    options = write_graded(tmp_path / "graded.parquet", scores)
    with pytest.raises(EaseError, match=rf"graded\.parquet.*{said}"):
        sample_graded.evaluate(encode, options)


def test_errors_name_files_that_are_not_tables(tmp_path: Path, encode: Encode) -> None:
    options = sample_graded.Options(path=tmp_path / "graded.parquet")
    with pytest.raises(EaseError, match=r"graded\.parquet: cannot be read"):
        sample_graded.evaluate(encode, options)
    options.path.write_text("sentence1,sentence2,score\n")
    with pytest.raises(EaseError, match=r"graded\.parquet: not a complete Parquet file"):
        sample_graded.evaluate(encode, options)
    pq.write_table(pa.table({"sentence1": ["a"], "sentence2": [None], "score": [1.0]}), options.path)
    with pytest.raises(EaseError, match="row 1: a sentence is missing"):
        sample_graded.evaluate(encode, options)
    pq.write_table(pa.table({"sentence1": ["a"], "score": [1.0]}), options.path)
    with pytest.raises(EaseError, match="no column sentence2 among sentence1, score"):
        sample_graded.evaluate(encode, options)


def test_errors_name_the_task_of_zero_vectors(tmp_path: Path) -> None:
    options = write_graded(tmp_path / "graded.parquet", [1.0, 2.0])
    with pytest.raises(EaseError, match="sample_graded en: 2 of 2 rows of the left embeddings are zero"):
        sample_graded.evaluate(lambda sentences: np.zeros((len(sentences), 3)), options)


def test_cosines_of_equal_texts_tie_whatever_the_rounding_of_their_embeddings() -> None:
    vectors, gold = (
        np.random.default_rng(1).standard_normal((8, 16)),
        np.random.default_rng(2).integers(0, 6, 400),
    )
    sides = np.random.default_rng(3).integers(0, 8, (2, 400)).astype(str)
    pairs = [GradedPair(*row) for row in zip(*sides, gold.astype(float), strict=True)]

    def score(noise: float, seed: int = 0) -> float:
        def encode(texts: Sequence[str]) -> np.ndarray:
            rows = vectors[[int(text) for text in texts]]
            return rows * (1 + noise * np.random.default_rng(seed).standard_normal(rows.shape))

        return score_graded_sets(encode, {"all": pairs}, "sts")[0].value

    assert [score(1e-8, seed) for seed in range(4)] == pytest.approx([score(0)] * 4, abs=0.01)
