"""STS 2017 and its added language pairs: SemEval's files and those of the extended set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, main_score, missing_files, sts17

AT_HAND = {
    "en-en": "track5.en-en",
    "ar-ar": "track1.ar-ar",
    "es-es": "track3.es-es",
    "en-es": "track4a.es-en",
}
LINES = "a b\tc d\t0.0\na b\ta c\t2.4\na b\ta b\t5.0\n"


def read_track(folder: Path, track: str) -> tuple[list[str], list[str]]:
    lines = (folder / f"STS.input.{track}.txt").read_text(encoding="utf-8").splitlines()
    return lines, (folder / f"STS.gs.{track}.txt").read_text(encoding="utf-8").split()


def test_tracks_agree_with_scipy(test_data: Path, encode: Encode) -> None:
    folder = test_data / "eval" / "sts2017"
    *scores, mean = sts17.evaluate(encode, sts17.Options(path=folder, subsets=tuple(AT_HAND)))
    for score, (pair, track) in zip(scores, AT_HAND.items(), strict=True):
        lines, grades = read_track(folder, track)
        left, right = (encode([line.split("\t")[side] for line in lines]).astype(float) for side in (0, 1))
        cosines = (left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
        expected = spearmanr(cosines, [float(grade) for grade in grades]).statistic
        assert len(lines) == 250
        assert (score.task, score.subset, score.metric) == ("sts17", pair, "spearman")
        # Bags of words have many equal cosines, whose order depends on rounding.
        assert score.value == pytest.approx(100 * expected, abs=0.05)
    assert (mean.subset, mean.note) == ("average", "4 of 10 subsets")
    assert (
        mean.value == pytest.approx(main_score(scores)) == pytest.approx(np.mean([s.value for s in scores]))
    )


@pytest.mark.parametrize("blank", ["", "\n", "\r\n\n"])
def test_pairs_beyond_the_250_grades_of_a_published_track_are_skipped_and_said_once(
    tmp_path: Path, encode: Encode, caplog: pytest.LogCaptureFixture, blank: str
) -> None:
    rows = [f"word {number % 7}\tword {number % 5}\n" for number in range(500)]
    grades = "".join(f"{number % 6}\n" for number in range(250))
    for track, count in (("track6.tr-en", 500), ("track2.ar-en", 250)):
        (tmp_path / f"STS.input.{track}.txt").write_text("".join(rows[:count]), encoding="utf-8")
        (tmp_path / f"STS.gs.{track}.txt").write_text(grades + blank, encoding="utf-8")
    options = sts17.Options(path=tmp_path, subsets=("en-tr", "en-ar"))
    with caplog.at_level("INFO"):
        first, second, _ = (sts17.evaluate(encode, options), sts17.evaluate(encode, options))[0]
    assert first.value == second.value
    assert (
        caplog.text.count("STS.input.track6.tr-en.txt: the first 250 of 500 pairs are graded, and scored")
        == 1
    )
    (tmp_path / "STS.gs.track6.tr-en.txt").write_text(grades[:-2], encoding="utf-8")
    with pytest.raises(EaseError, match="holds 500 sentence pairs and .* 249 grades"):
        sts17.evaluate(encode, options)


def test_extended_files_score_like_the_original_tracks(
    test_data: Path, tmp_path: Path, encode: Encode
) -> None:
    folder = test_data / "eval" / "sts2017"
    for pair, track in AT_HAND.items():
        lines, grades = read_track(folder, track)
        rows = [f"{line}\t{float(grade):g}\r\n" for line, grade in zip(lines, grades, strict=True)]
        name = "STS.es-en.txt" if pair == "en-es" else f"STS.{pair}.txt"
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + "".join(rows).encode())
    wanted = sts17.evaluate(encode, sts17.Options(path=folder, subsets=tuple(AT_HAND)))
    assert sts17.evaluate(encode, sts17.Options(path=tmp_path)) == wanted


def test_all_ten_pairs_under_their_published_names(tmp_path: Path, encode: Encode) -> None:
    extended = tmp_path / "STS2017-extended"
    extended.mkdir()
    for pair in ("ar-ar", "en-ar", "en-de", "en-en", "en-tr", "es-en", "es-es", "fr-en", "it-en", "nl-en"):
        (extended / f"STS.{pair}.txt").write_text(LINES, encoding="utf-8")
    *scores, mean = sts17.evaluate(encode, sts17.Options(path=tmp_path))
    assert [score.subset for score in scores] == list(sts17.PAIRS)
    assert [score.value for score in scores] == [pytest.approx(100)] * 10
    assert mean.value == pytest.approx(100)
    assert not mean.note


def test_semeval_folders_take_precedence_over_the_extended_set(tmp_path: Path, encode: Encode) -> None:
    for folder in ("STS2017.eval.v1.1", "STS2017.gs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "STS.en-tr.txt").write_text(LINES, encoding="utf-8")
    sentences = "\n".join(line.rpartition("\t")[0] for line in LINES.splitlines())
    (tmp_path / "STS2017.eval.v1.1" / "STS.input.track6.tr-en.txt").write_text(sentences, encoding="utf-8")
    options = sts17.Options(path=tmp_path, subsets=("en-tr",))
    assert sts17.files(options)["en-tr"] == (tmp_path / "STS.en-tr.txt",), "sentences alone are no form"
    (tmp_path / "STS2017.gs" / "STS.gs.track6.tr-en.txt").write_text("5\n2\n1\n", encoding="utf-8")
    assert [path.parent.name for path in sts17.files(options)["en-tr"]] == ["STS2017.eval.v1.1", "STS2017.gs"]
    assert sts17.evaluate(encode, options)[0].value == pytest.approx(-100)


def test_missing_files_have_their_published_names(tmp_path: Path) -> None:
    for kind in ("input", "gs"):
        (tmp_path / f"STS.{kind}.track4b.es-en.txt").write_text("1\n")
    lacking = missing_files(sts17.files(sts17.Options(path=tmp_path)))
    assert {pair: [path.name for path in paths] for pair, paths in lacking.items()} == {
        "en-en": ["STS.input.track5.en-en.txt", "STS.gs.track5.en-en.txt"],
        "ar-ar": ["STS.input.track1.ar-ar.txt", "STS.gs.track1.ar-ar.txt"],
        "es-es": ["STS.input.track3.es-es.txt", "STS.gs.track3.es-es.txt"],
        "en-ar": ["STS.input.track2.ar-en.txt", "STS.gs.track2.ar-en.txt"],
        "en-de": ["STS.en-de.txt"],
        "en-tr": ["STS.input.track6.tr-en.txt", "STS.gs.track6.tr-en.txt"],
        "en-es": ["STS.input.track4a.es-en.txt", "STS.gs.track4a.es-en.txt"],
        "en-fr": ["STS.fr-en.txt"],
        "en-it": ["STS.it-en.txt"],
        "en-nl": ["STS.nl-en.txt"],
    }


def test_errors_name_invalid_files_and_unknown_pairs(tmp_path: Path, encode: Encode) -> None:
    (tmp_path / "STS.en-de.txt").write_text(LINES + "a\tb\n", encoding="utf-8")
    with pytest.raises(
        EaseError, match=r"STS\.en-de\.txt, line 4: 2 tab-separated columns instead of at least 3"
    ):
        sts17.evaluate(encode, sts17.Options(path=tmp_path))
