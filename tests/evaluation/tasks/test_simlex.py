"""SimLex-999 and its translations: both published formats, and invalid files."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import spearmanr

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, simlex

HEADER = "word1\tword2\tPOS\tSimLex999\tconc(w1)\tconc(w2)\tconcQ\tAssoc(USF)\tSimAssoc333\tSD(SimLex)"
PAIRS = [("old", "new", 1.58), ("smart", "smart", 9.2), ("hard dense", "hard", 8.77), ("a b", "b c", 0.5)]


def write_simlex(folder: Path, pairs: list[tuple[str, str, float]]) -> None:
    """Write word pairs in the format of SimLex-999 and, with three annotators, in that of its Italian translation."""
    rows = [f"{left}\t{right}\tA\t{grade}\t2.72\t2.81\t2\t7.25\t1\t0.41" for left, right, grade in pairs]
    (folder / simlex.FILES["en"]).write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    translated = [f"{left},{right},{int(grade)},3,7,{grade}" for left, right, grade in pairs]
    text = "\r\n".join(["Word1,Word2,1,2,3,Average Score", *translated, ""])
    (folder / simlex.FILES["it"]).write_text(text, encoding="utf-8")


def test_both_formats_give_the_grades(tmp_path: Path, encode: Encode) -> None:
    write_simlex(tmp_path, PAIRS)
    pairs = simlex.read_pairs(simlex.Options(path=tmp_path))
    assert pairs == {"en": PAIRS, "it": PAIRS}
    expected = 100 * spearmanr([0, 1, 2**-0.5, 0.5], [grade for _, _, grade in PAIRS]).statistic
    english, italian, mean = simlex.evaluate(encode, simlex.Options(path=tmp_path))
    assert (english.subset, italian.subset, mean.subset) == ("en", "it", "average")
    assert english.value == italian.value == mean.value == pytest.approx(expected)
    assert mean.note == "2 of 4 subsets"
    (score,) = simlex.evaluate(encode, simlex.Options(path=tmp_path, subsets=("en",)))
    assert score == english


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the first line is not a header of two words"),
        ("Haus,Heim,1,7.5\n", "the first line is not a header of two words"),
        ("Word1,Word2,Average Score\n", "contains no word pair"),
        ("Word1,Word2,1,Average Score\nHaus,Heim,7.5\n", "line 2: 3 columns, but the header has 4"),
        ("Word1,Word2,Average Score\nHaus,Heim,11\n", "line 2: the score 11 is outside 0 to 10"),
        ("Word1,Word2,Average Score\nHaus,Heim,alt\n", "line 2: the score 'alt' is not a number"),
    ],
)
def test_errors_name_invalid_translations(tmp_path: Path, encode: Encode, text: str, message: str) -> None:
    (tmp_path / simlex.FILES["de"]).write_text(text, encoding="utf-8")
    with pytest.raises(EaseError, match=f"MSimLex999_German.txt.*{message}"):
        simlex.evaluate(encode, simlex.Options(path=tmp_path, subsets=("de",)))


def test_errors_name_other_faults(tmp_path: Path, encode: Encode) -> None:
    (tmp_path / "SimLex-999.txt").write_text("word1\tword2\told\tnew\n", encoding="utf-8")
    with pytest.raises(EaseError, match="no column SimLex999"):
        simlex.evaluate(encode, simlex.Options(path=tmp_path))
