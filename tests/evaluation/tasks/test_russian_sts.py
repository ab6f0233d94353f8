"""Russian STS: the two published files, and files of different length."""

from __future__ import annotations

from pathlib import Path

import pytest

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, russian_sts

SENTENCES = (
    "Мужчина играет на гитаре.\tМужчина играет на гитаре.\n"
    "Кто-то рисует.\tКто-то танцует.\nКот спит.\tЕдет поезд.\n"
)


def write_russian_sts(
    folder: Path, sentences: str = SENTENCES, grades: str = "5.000\n0.300\n0.000\n"
) -> None:
    """Write the files of sentence pairs and of grades."""
    (folder / "STS.input.MSRvid.txt").write_text(sentences, encoding="utf-8")
    (folder / "STS.gs.MSRvid.txt").write_text(grades, encoding="utf-8")


def test_sentence_pairs_are_graded_by_the_second_file(tmp_path: Path, encode: Encode) -> None:
    write_russian_sts(tmp_path)
    (score,) = russian_sts.evaluate(encode, russian_sts.Options(path=tmp_path))
    # Cosines 1, 0.5 and 0.
    assert (score.subset, score.metric) == ("msrvid", "spearman")
    assert score.value == pytest.approx(100)
    write_russian_sts(tmp_path, grades="0\n1\n2\n")
    assert russian_sts.evaluate(encode, russian_sts.Options(path=tmp_path))[0].value == pytest.approx(-100)


def test_errors_name_missing_and_unequal_files(tmp_path: Path, encode: Encode) -> None:
    write_russian_sts(tmp_path, grades="5\n1\n")
    with pytest.raises(EaseError, match="holds 3 sentence pairs and .* 2 grades"):
        russian_sts.evaluate(encode, russian_sts.Options(path=tmp_path))
    write_russian_sts(tmp_path, grades="5\n1\n6\n")
    with pytest.raises(EaseError, match="line 3: the score 6 is outside 0 to 5"):
        russian_sts.evaluate(encode, russian_sts.Options(path=tmp_path))
