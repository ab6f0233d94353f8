"""XNLI's parallel sentences: retrieval with English, sentences for analyses, and invalid files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from ease.evaluation.analysis.language_identity import LanguageIdentityOptions, compare_language_identity
from ease.evaluation.analysis.projection import ProjectionOptions, project_parallel
from ease.evaluation.analysis.sentence_pairs import parallel_sentences
from ease.evaluation.tasks.xnli import FILE, LANGUAGES, PAIRS, Options, evaluate, files

from ease.errors import EaseError
from ease.evaluation.tasks import Encode

QUOTED = '"Well" he said, row'


def write_xnli(folder: Path, rows: int, changed: Mapping[str, Sequence[str]] | None = None) -> None:
    """Write the table of 15 columns, with unbalanced quotes as in the published file.

    Args:
        folder: Its folder.
        rows: Number of sentences of each language, `{language} {number} same{number}`.
        changed: Other sentences of a language.
    """
    columns = {
        code: [f"{QUOTED if row == 0 else code} {row} same{row} other{row}" for row in range(rows)]
        for code in LANGUAGES
    }
    columns |= {code: list(sentences) for code, sentences in (changed or {}).items()}
    lines = ["\t".join(LANGUAGES), *("\t".join(row) for row in zip(*columns.values(), strict=True))]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def test_each_language_is_scored_with_english(tmp_path: Path, encode: Encode) -> None:
    write_xnli(tmp_path, 6, {"sw": ["0 same0 other0", "1 same1 other1", "x", "y", "z", "w"]})
    scores = {score.subset: score.value for score in evaluate(encode, Options(path=tmp_path))}
    assert list(scores) == [*PAIRS, "average"]
    assert len(PAIRS) == 14
    assert scores["sw-en"] == pytest.approx(100 / 3)
    assert scores["de-en"] == 100
    assert scores["average"] == pytest.approx((13 * 100 + 100 / 3) / 14)


def test_only_the_first_sentences_are_scored(tmp_path: Path) -> None:
    write_xnli(tmp_path, 9)
    counts: list[int] = []

    def count(sentences: Sequence[str]) -> np.ndarray:
        counts.append(len(sentences))
        return np.eye(len(sentences))

    evaluate(count, Options(path=tmp_path, sentences=4, subsets=("fr-en", "sw-en")))
    assert counts == [8, 8]


def test_analyses_read_all_sentences_of_two_languages(tmp_path: Path) -> None:
    write_xnli(tmp_path, 12)
    options = Options(path=tmp_path, sentences=4)
    sentences = parallel_sentences("xnli", options, "sw-en")
    assert sentences.languages == ("sw", "en")
    assert (len(sentences.left), sentences.left[1], sentences.right[1]) == (
        12,
        "sw 1 same1 other1",
        "en 1 same1 other1",
    )
    assert sentences.left[0].startswith('"Well" he'), "quotes are text"
    assert len(parallel_sentences("xnli", options, "de-fr").left) == 12


def test_languages_are_told_apart_and_projected(tmp_path: Path, encode: Encode) -> None:
    write_xnli(tmp_path, 60)
    task = Options(path=tmp_path)
    identity = LanguageIdentityOptions(parallel="xnli", groups=(("en", "de", "fr", "hi"),), sentences=50)
    parallel = [parallel_sentences("xnli", task, pair) for pair in identity.pairs]
    table = compare_language_identity({"bags": encode}, parallel, identity)
    assert table.loc[0, "accuracy"] > 90, "each sentence begins with its language's code"
    assert table.loc[0, "chance"] == 25
    drawn = ProjectionOptions(parallel="xnli:sw-en", sentences=20, method="tsne", perplexity=5)
    points = project_parallel({"bags": encode}, parallel_sentences("xnli", task, "sw-en"), drawn)
    assert (len(points), set(points["language"])) == (40, {"sw", "en"})
    assert np.isfinite(points[["x", "y"]]).all(axis=None)


def test_errors_name_the_file_and_the_language(tmp_path: Path, encode: Encode) -> None:
    write_xnli(tmp_path, 3)
    path = files(Options(path=tmp_path, subsets=("sw-en",)))["sw-en"][0]
    with pytest.raises(EaseError, match="xnli has no languages 'sw-ja': name two of ar, bg"):
        parallel_sentences("xnli", Options(path=tmp_path), "sw-ja")
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace("\tsw\t", "\tsv\t", 1), encoding="utf-8")
    with pytest.raises(EaseError, match="no column sw; it has ar, bg"):
        evaluate(encode, Options(path=tmp_path, subsets=("sw-en",)))
    path.write_text(whole + "one\ttwo\n", encoding="utf-8")
    with pytest.raises(EaseError, match="line 5: 2 columns, but the first line has 15"):
        evaluate(encode, Options(path=tmp_path))
