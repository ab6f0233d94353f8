"""STS 2012 to 2016: real files agree with a plain computation; hand-made files have the same peculiarities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ease.evaluation.tasks.components.graded_pairs import read_paired_files
from scipy.stats import spearmanr

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, main_score, missing_files, sts

COUNTS = {"2012": 3108, "2013": 1500, "2014": 3750}
TIES = 0.05
"""Bags of words have many equal cosines, whose order depends on rounding."""


def write_part(folder: Path, pairs: bytes, grades: bytes, part: str, prefix: str = "STS") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{prefix}.input.{part}.txt").write_bytes(pairs)
    (folder / f"{prefix}.gs.{part}.txt").write_bytes(grades)


def write_year(folder: Path, year: str, prefix: str = "STS") -> Path:
    """Write a year; each part has three pairs of increasing similarity, and one without a grade."""
    for part in sts.PARTS[year]:
        pairs = b"a b\tc d\na b\te f\na b\ta c\na b c\ta b c\tsource\n"
        write_part(folder / f"STS{year[2:]}-en-test", pairs, b"0\n\n2.5\n5\n", part, prefix)
    return folder


@pytest.mark.parametrize("year", COUNTS)
def test_a_year_agrees_with_scipy(test_data: Path, encode: Encode, year: str) -> None:
    folder = test_data / "eval" / "sts" / "senteval" / f"STS{year[2:]}-en-test"
    cosines: list[list[float]] = []
    grades: list[list[float]] = []
    for part in sts.PARTS[year]:
        lines = (folder / f"STS.input.{part}.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
        left, right = (encode([line.split("\t")[side] for line in lines]).astype(float) for side in (0, 1))
        norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        cosines.append(list((left * right).sum(axis=1) / norms))
        grades.append([float(grade) for grade in (folder / f"STS.gs.{part}.txt").read_text().split()])
    whole, mean = sts.evaluate(encode, sts.Options(path=folder.parent, subsets=(year,)))
    assert sum(map(len, grades)) == COUNTS[year]
    assert (whole.task, whole.subset, whole.metric) == ("sts", year, "spearman")
    expected = spearmanr(np.concatenate(cosines), np.concatenate(grades)).statistic
    assert whole.value == pytest.approx(100 * expected, abs=TIES)
    assert (mean.subset, mean.metric) == (year, "spearman_part_mean")
    by_part = [spearmanr(*part).statistic for part in zip(cosines, grades, strict=True)]
    assert mean.value == pytest.approx(100 * float(np.mean(by_part)), abs=TIES)
    assert abs(mean.value - whole.value) > 0.3, "the two figures are not the same"


def test_grades_of_2012_come_from_the_file_of_all_parts(test_data: Path) -> None:
    options = sts.Options(path=test_data / "eval" / "sts" / "senteval", subsets=("2012",))
    (paths,) = sts.files(options).values()
    golds = [
        pair.gold for both in zip(paths[::2], paths[1::2], strict=True) for pair in read_paired_files(*both)
    ]
    everything = (options.path / "STS12-en-test" / "STS.gs.ALL.txt").read_text(encoding="utf-8").split()
    assert golds == [float(grade) for grade in everything]


def test_blank_grades_are_skipped_and_counted(
    tmp_path: Path, encode: Encode, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    seen: list[str] = []

    def encode_and_note(sentences: list[str]) -> np.ndarray:
        seen.extend(sentences)
        return encode(sentences)

    whole, mean = sts.evaluate(encode_and_note, sts.Options(path=write_year(tmp_path, "2015")))
    assert [whole.value, mean.value] == pytest.approx([100, 100])
    assert caplog.text.count(": 1 of 4 pairs have no gold score") == 5
    assert "sts 2015 answers-forums: 1 of 4" in caplog.text
    assert "sts 2015: Spearman 100.0 over 15 pairs" in caplog.text
    assert "e f" not in seen, "nothing is encoded in vain"


def test_file_names_of_2016_may_contain_the_year(tmp_path: Path, encode: Encode) -> None:
    options = sts.Options(path=write_year(tmp_path, "2016", "STS2016"), subsets=("2016",))
    assert sts.evaluate(encode, options)[0].value == pytest.approx(100)
    write_year(tmp_path / "plain", "2016")
    plain = options.model_copy(update={"path": tmp_path / "plain"})
    assert sts.evaluate(encode, plain)[0].value == pytest.approx(100)


def test_missing_years_are_skipped_and_named(tmp_path: Path, encode: Encode) -> None:
    options = sts.Options(path=write_year(write_year(tmp_path, "2013"), "2014"))
    (tmp_path / "STS14-en-test" / "STS.gs.images.txt").unlink()
    scores = sts.evaluate(encode, options)
    assert [score.subset for score in scores] == ["2013", "2013"]
    assert main_score(scores) == scores[0].value, "the mean over parts is a second figure"
    lacking = missing_files(sts.files(options))
    assert list(lacking) == ["2012", "2014", "2015", "2016"]
    assert [path.name for path in lacking["2014"]] == ["STS.gs.images.txt"]
    assert all("SMT" not in path.name for path in sts.files(options)["2013"])


def test_bom_crlf_quotes_and_trailing_blanks(tmp_path: Path) -> None:
    pairs = b'\xef\xbb\xbfan "odd\tline\r\nx"\tcaf\xc2\x85y\tsource\tanother\r\n\r\n'
    write_part(tmp_path, pairs, b"\xef\xbb\xbf4.5\r\n\r\n\r\n\r\n", "belief")
    first, second = read_paired_files(tmp_path / "STS.input.belief.txt", tmp_path / "STS.gs.belief.txt")
    assert first == ('an "odd', "line", 4.5)
    assert (second.left, second.right) == ('x"', "caf\x85y")
    assert np.isnan(second.gold)


@pytest.mark.parametrize(
    ("pairs", "grades", "said"),
    [
        (
            b"a\tb\nc\td\n",
            b"1\n",
            r"input\.belief\.txt holds 2 sentence pairs and .*gs\.belief\.txt 1 grades",
        ),
        (b"a\tb\n", b"1\n2\n", r"input\.belief\.txt holds 1 sentence pairs and .*gs\.belief\.txt 2 grades"),
        (
            b"a\tb\n\nc\td\n",
            b"1\n2\n3\n",
            r"input\.belief\.txt, line 2: 0 tab-separated columns instead of at least 2",
        ),
        (b"a\tb\nc d\n", b"1\n2\n", r"input\.belief\.txt, line 2: 1 tab-separated columns"),
        (b"a\tb\nc\td\n", b"1\ngood\n", r"gs\.belief\.txt, line 2: the score 'good' is not a number"),
        (b"a\tb\nc\td\n", b"1\n5.5\n", r"gs\.belief\.txt, line 2: the score 5.5 is outside 0 to 5"),
        (b"", b"", r"input\.belief\.txt: contains no sentence pair"),
        (b"caf\xe9\tb\n", b"1\n", r"input\.belief\.txt, line 1: not UTF-8"),
        (b"a\tb\nc\td\n", b"\n\n", "sts 2015 [a-z-]+: none of 2 sentence pairs has a gold score"),
        (b"a\tb\nc\td\n", b"3\n3\n", "sts 2015 belief: All 2 gold scores are 3"),
        (b"a\tb\nc\td\n", b"3\n\n", "sts 2015 belief: 1 sentence pair has a gold score: at least 2"),
    ],
)
def test_errors_name_invalid_files(
    tmp_path: Path, encode: Encode, pairs: bytes, grades: bytes, said: str
) -> None:
    write_part(write_year(tmp_path, "2015") / "STS15-en-test", pairs, grades, "belief")
    with pytest.raises(EaseError, match=said):
        sts.evaluate(encode, sts.Options(path=tmp_path))
