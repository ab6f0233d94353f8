"""Quora Question Pairs: GLUE's and Kaggle's formats, blank questions, and invalid files."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, qqp

PAIRS = [("a b", "a b", 1), ("a b", "b c", 1), ("a b", "c d", 0), ("a b", "a d", 0)]


def write_qqp(folder: Path) -> None:
    """Write pairs of questions as GLUE's dev.tsv and as Kaggle's train.csv."""
    header = ("id", "qid1", "qid2", "question1", "question2", "is_duplicate")
    rows = [(row, row, row + 9, *pair) for row, pair in enumerate(PAIRS)]
    lines = ["\t".join(map(str, row)) for row in (header, *rows, (9, 1, 2, "What is it?", "", 0))]
    (folder / "dev.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    quoted = [",".join(f'"{field}"' for field in row) for row in (header, *rows)]
    (folder / "train.csv").write_text("\n".join(quoted) + "\n", encoding="utf-8")


def test_both_formats_are_scored(tmp_path: Path, encode: Encode, caplog: pytest.LogCaptureFixture) -> None:
    write_qqp(tmp_path)
    with caplog.at_level(logging.INFO):
        scores = qqp.evaluate(encode, qqp.Options(path=tmp_path))
    # Of four comparisons, three are right and one, 0.5 with 0.5, is a tie.
    assert [(score.subset, score.metric) for score in scores] == [("dev", "auc"), ("train", "auc")]
    assert [score.value for score in scores] == pytest.approx([87.5, 87.5])
    assert "dev.tsv: 1 pairs with a blank text are skipped" in caplog.text
    assert [tuple(pair) for pair in qqp.read_pairs(qqp.Options(path=tmp_path))["train"]] == PAIRS


def test_errors_name_invalid_files(tmp_path: Path, encode: Encode) -> None:
    options = qqp.Options(path=tmp_path, subsets=("dev",))
    for text, message in (
        ("question1\tquestion2\na\tb\n", "no column is_duplicate"),
        ("question1\tquestion2\tis_duplicate\na\tb\tyes\n", "line 2: the label 'yes' is not one of 1, 0"),
        ("question1\tquestion2\tis_duplicate\na\tb\t1\n", "all 1 pairs have one label"),
    ):
        (tmp_path / "dev.tsv").write_text(text, encoding="utf-8")
        with pytest.raises(EaseError, match=message):
            qqp.evaluate(encode, options)
