"""Multi-SimLex: small files in the published format, hand-made cross-lingual pairs, and invalid files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from ease.errors import EaseError
from ease.evaluation.scores import main_score
from ease.similarity.encode import Encode
from tests.evaluation.made_tasks import make_task


def multisimlex(folder: Path, *subsets: str) -> Any:
    return make_task("multisimlex", folder, subsets=subsets)


def write(folder: Path, words: Mapping[str, Sequence[str]], grades: Mapping[str, Sequence[str]]) -> None:
    """Write both files: the pairs of each language, such as "a b/a c", and their grades."""
    files = {"translation": [["ID", "PoS", *(f"{code} {side}" for code in words for side in (1, 2))]]}
    files["scores"] = [["ID", *grades]]
    for number, row in enumerate(zip(*words.values(), strict=True)):
        files["translation"].append([str(number), "N", *"/".join(row).split("/")])
        files["scores"].append([str(number), *(values[number] for values in grades.values())])
    for name, rows in files.items():
        (folder / f"{name}.csv").write_text("".join(",".join(row) + "\r\n" for row in rows), encoding="utf-8")


WORDS = {"ENG": ["a b/a b", "a b/a c", "a b/c d", "a/a b c"], "FRA": ["a x/b x", "x a/a z", "x y/c v", "x/x y z"]}
GRADES = {"ENG": ["6", "2.6", "0", "1.5"], "FRA": ["5.5", "1.4", "0.3", "3"]}


def test_languages_and_language_pairs_are_scored(tmp_path: Path, encode: Encode) -> None:
    write(tmp_path, WORDS, GRADES)
    scores = multisimlex(tmp_path, "en", "fr", "en-fr").evaluate(encode)
    english, french, both, *means = scores
    for score, code, first in ((english, "ENG", 1), (french, "FRA", 0.5)):
        cosines = [first, 0.5, 0, 1 / np.sqrt(3)]
        expected = spearmanr(cosines, [float(grade) for grade in GRADES[code]]).statistic
        assert score.value == pytest.approx(100 * expected)
        assert (score.task, score.metric, score.note) == ("multisimlex", "spearman", "")
    cosines, grades = [0.5, 0.5, 0.5, 0.5, 0, 0], [5.75, 5.75, 2, 2, 0.15, 0.15]
    assert both.value == pytest.approx(100 * spearmanr(cosines, grades).statistic)
    assert both.note == "made from the languages' own sets"
    assert [(mean.subset, mean.value, mean.note) for mean in means] == [
        ("average_monolingual", pytest.approx((english.value + french.value) / 2), "2 of 13 subsets"),
        ("average_crosslingual", both.value, "1 of 78 subsets"),
        ("average_mirror_bert", pytest.approx((english.value + french.value) / 2), "2 of 8 subsets"),
        ("average_mirror_bert_crosslingual", both.value, "1 of 6 subsets"),
    ]
    assert main_score(scores) == pytest.approx(np.mean([score.value for score in scores[:3]]))


def test_a_file_of_a_language_pair_takes_precedence(tmp_path: Path, encode: Encode) -> None:
    name = "FRA_ENG.txt"  # of either order
    write(tmp_path, WORDS, GRADES)
    (tmp_path / name).write_text("a b\ta b\t5.1\n\na b\tb c\t2\na\tb\t3.4\n", encoding="utf-8")
    task = multisimlex(tmp_path, "en-fr")
    assert task.files() == {"en-fr": (tmp_path / name,)}
    score = task.evaluate(encode)[0]
    assert score.value == pytest.approx(100 * spearmanr([1, 0.5, 0], [5.1, 2, 3.4]).statistic)
    assert score.note == ""


def test_rows_are_joined_by_their_id(tmp_path: Path, encode: Encode) -> None:
    write(tmp_path, WORDS, GRADES)
    task = multisimlex(tmp_path, "en")
    before = task.evaluate(encode)[0]
    header, *lines = (tmp_path / "scores.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "scores.csv").write_text("\n".join([header, *lines[::-1]]), encoding="utf-8")
    assert task.evaluate(encode)[0] == before
    # Without an ID, rows are joined by their order, so the grades now belong to other pairs.
    kept = [line.partition(",")[2] for line in [header, *lines[::-1]]]
    (tmp_path / "scores.csv").write_text("\n".join(kept), encoding="utf-8")
    assert task.evaluate(encode)[0].value != before.value


def test_pairs_without_a_word_or_a_grade_are_skipped(tmp_path: Path, encode: Encode) -> None:
    words = {"ENG": [*WORDS["ENG"], "/b", "a/c d"], "FRA": [*WORDS["FRA"], "x/y", "x/ "]}
    grades = {"ENG": [*GRADES["ENG"], "3", "1"], "FRA": [*GRADES["FRA"], "", "1"]}
    write(tmp_path, WORDS, GRADES)
    task = multisimlex(tmp_path, "en", "fr", "en-fr")
    _, *whole = task.evaluate(encode)[:3]
    write(tmp_path, words, grades)
    english, *others = task.evaluate(encode)[:3]
    assert [score.value for score in others] == [score.value for score in whole]
    expected = spearmanr([1, 0.5, 0, 1 / np.sqrt(3), 0], [6, 2.6, 0, 1.5, 1]).statistic
    assert english.value == pytest.approx(100 * expected)
    skipped = "pairs without a word or a grade skipped: "
    assert [english.note, others[0].note] == [f"{skipped}1", f"{skipped}2"]


@pytest.mark.parametrize(
    ("translation", "scores", "message"),
    [
        ("1,a,b\n", "1,2\n2,3\n", "translation.csv holds 1 word pairs and .*scores.csv 2"),
        ("1,a,b\n1,a,c\n", "1,2\n2,3\n", "line 2: ID 1 is not in .*, or occurs twice"),
        ("1,a,b\n", "1,6.5\n", "scores.csv, line 2, column ENG: the score 6.5 is outside 0 to 6"),
    ],
)
def test_errors_name_invalid_files(tmp_path: Path, encode: Encode, translation: str, scores: str, message: str) -> None:
    (tmp_path / "translation.csv").write_text(f"ID,ENG 1,ENG 2\n{translation}")
    (tmp_path / "scores.csv").write_text(f"ID,ENG\n{scores}")
    with pytest.raises(EaseError, match=message):
        multisimlex(tmp_path, "en").evaluate(encode)
