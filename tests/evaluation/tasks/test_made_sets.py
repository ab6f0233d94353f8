"""The tasks `audit`, `sample_parallel` and `isotropy`: known answers of small sets, and invalid files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ease.errors import EaseError
from ease.evaluation.scores import main_score
from ease.similarity.encode import Encode
from tests.evaluation.made_tasks import make_task
from tests.evaluation.tasks.conftest import evaluate

Row = tuple[int, str, str, int, str]


def write(folder: Path, subset: str, rows: list[Row], titles: list[Row] = [], words: int = 0) -> Path:  # noqa: B006
    """Write sentences, and titles of which the first are common nouns."""
    folder.mkdir(exist_ok=True)
    columns = ["pair_id", "side", "grade", "entity", "text"]
    table = pd.DataFrame(rows, columns=columns).assign(kind="first")
    of_titles = pd.DataFrame(titles, columns=columns)
    of_titles["kind"] = ["word" if number < words else "name" for number in of_titles.pair_id]
    table = pd.concat([table, of_titles]).astype({"pair_id": int, "entity": int})
    table.to_parquet(folder / f"{subset}.parquet")
    return folder


def both(pair: int, entity: int, left: str, right: str) -> list[Row]:
    return [(pair, "left", "answer", entity, left), (pair, "right", "answer", entity, right)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three pairs of two items, and distractors: words in common decide what is nearest."""
    rows = [
        *both(0, 1, "a b c d", "a b c x"),
        *both(1, 2, "e f g h", "e f y z"),
        *both(2, 2, "i j k l", "i j k m"),
        (0, "right", "same_page", 1, "a b c d"),  # nearer to the left sentence than its counterpart
        (1, "right", "same_page", 2, "h q r s"),
        (0, "left", "same_page", 1, "a q r s"),
        (1, "right", "same_type", 2, "e f g y"),  # nearer
        (2, "left", "same_type", 2, "a b c d"),
    ]
    return write(tmp_path / "audit", "eo-en", rows[::-1])


def test_all_candidates_and_each_grade_of_an_audit(folder: Path, encode: Encode) -> None:
    found = evaluate("audit", encode, folder)
    scores = {metric: score.value for (subset, metric), score in found.items() if subset == "eo-en"}
    # Without titles, the main score is that of the sentences.
    assert scores.pop("free_reciprocal_rank") > 0
    assert scores.pop("hubs") == pytest.approx(0)
    assert scores.pop("reciprocal_rank") == scores.pop("sentence_reciprocal_rank") == scores.pop("audit_score")
    assert scores.pop("kept_neighbours") == 100, "no start is named"
    assert found["eo-en", "audit_score"].note == "sentences: there are no titles"
    assert scores == {
        # Left to right: pairs 0 and 1 lose to a distractor; right to left: all three are found.
        "retrieval_accuracy": pytest.approx(100 * (1 + 3) / 6),
        "other_pages_accuracy": 100,
        "same_type_accuracy": pytest.approx(50),
        "same_page_accuracy": pytest.approx(100 * 2 / 3),
    }
    # Both directions of a pair are one item.
    assert [len(score.items) for score in found.values() if score.items] == [3, 3, 3, 3, 3, 3, 2, 2]


def test_the_main_score_of_an_audit_is_the_rank_among_all_titles(tmp_path: Path) -> None:
    vectors = np.eye(6)
    rows = {f"{side} {n}": vectors[n] for side in "lr" for n in range(6)}
    # The right title of pair 0 is the second nearest: that of a name, 3, is nearer.
    rows["l 0"] = vectors[0] + 2 * vectors[3]
    titles = [row for n in range(4) for row in both(n, n, f"l {n}", f"r {n}")]
    sentences = [row for n in range(2) for row in both(n, n, f"l {n + 4}", f"r {n + 4}")]
    folder = write(tmp_path / "audit", "eo-en", sentences, titles, words=2)
    scores = evaluate("audit", lambda texts: np.array([rows[text] for text in texts]), folder)
    main = scores["eo-en", "audit_score"]
    assert main.main
    assert main.note == ""
    assert main.value == scores["eo-en", "reciprocal_rank"].value == pytest.approx(100 * (3 + 3 / 4) / 4)
    assert scores["eo-en", "word_reciprocal_rank"].value == pytest.approx(100 * (1 + 3 / 4) / 2)
    assert scores["eo-en", "sentence_reciprocal_rank"].value == 100


def test_an_encoder_that_changes_what_sentences_mean_is_not_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each sentence of the pivot, the starting encoder's nearest neighbours should stay the nearest."""
    rng = np.random.default_rng(0)
    rows = {f"{side} {n}": vector for side in "lr" for n, vector in enumerate(np.eye(4, 8))}
    sentences = [row for n in range(2) for row in both(n, n, f"a {n}", f"b {n}")]
    sentences += [(0, "right", "same_page", 0, f"b {n}") for n in range(2, 40)]
    rows |= {row[-1]: rng.normal(size=8) for row in sentences}
    titles = [row for n in range(4) for row in both(n, n, f"l {n}", f"r {n}")]
    folder = write(tmp_path / "audit", "eo-en", sentences, titles)

    def encode(texts: Sequence[str]) -> np.ndarray:
        return np.array([rows[text] for text in texts])

    monkeypatch.setattr("ease.encoders.encoder.load_for_evaluation", lambda name, options: name)
    monkeypatch.setattr("ease.encoders.encoding.move_to_device", lambda encoder: encoder)
    monkeypatch.setattr("ease.encoders.encoding.encode_with", lambda encoder, options: encode)
    same = evaluate("audit", encode, folder, start="the start")
    assert same["eo-en", "kept_neighbours"].value == pytest.approx(100)
    assert same["eo-en", "audit_score"].value == pytest.approx(100)
    rows |= {text: rng.normal(size=8) for text in rows if text.startswith("b")}
    other = evaluate("audit", encode, folder, start="the start")
    assert other["eo-en", "reciprocal_rank"].value == pytest.approx(100)
    assert 0 < other["eo-en", "kept_neighbours"].value < 50
    kept = other["eo-en", "kept_neighbours"].value / 100
    assert other["eo-en", "audit_score"].value == pytest.approx(100 * kept**0.5)


def test_hubs_and_what_is_free_show_an_encoder_with_a_common_direction(tmp_path: Path) -> None:
    """A text without a meaning of its own is near all others; centring takes that away without training."""
    meanings = np.random.default_rng(0).normal(size=(40, 16))
    common = np.full(16, 2.0)
    rows = {f"{side} {n}": meanings[n] + common for side in "lr" for n in range(40)}
    rows["r 0"] = common + meanings[0] / 10
    # A different direction of the other language.
    rows |= {f"l {n}": rows[f"l {n}"] + np.eye(16)[0] * 8 for n in range(40)}
    titles = [row for n in range(40) for row in both(n, n, f"l {n}", f"r {n}")]
    folder = write(tmp_path / "audit", "eo-en", [], titles, words=40)
    found = evaluate("audit", lambda texts: np.array([rows[text] for text in texts]), folder)
    values = {metric: score.value for (subset, metric), score in found.items() if subset == "eo-en"}
    assert set(values) == {
        *("audit_score", "kept_neighbours", "hubs"),
        *("reciprocal_rank", "word_reciprocal_rank", "free_reciprocal_rank"),
    }
    assert values["free_reciprocal_rank"] > 90 > 70 > values["reciprocal_rank"]
    assert 1 <= values["hubs"] * 80 / 100 <= 10


def test_another_pair_of_the_same_item_is_no_other_page(tmp_path: Path, encode: Encode) -> None:
    rows = [*both(0, 1, "a b c", "a b x"), *both(1, 1, "y z w", "a b c"), *both(2, 2, "o p q", "o p r")]
    found = evaluate("audit", encode, write(tmp_path / "audit", "eo-en", rows))
    # Pair 1 shares no word, and ties.
    assert found["eo-en", "other_pages_accuracy"].value == pytest.approx(100 * 4 / 6)
    assert found["eo-en", "retrieval_accuracy"].value == pytest.approx(100 * 3 / 6)


def test_the_main_score_of_an_audit_is_the_mean_over_its_subsets(folder: Path, encode: Encode) -> None:
    write(folder, "tr-en", [*both(0, 1, "a b", "a b"), *both(1, 2, "c d", "c d")])
    task = make_task("audit", folder)
    every = task.evaluate(encode)
    assert {one.subset for one in every} == {"eo-en", "tr-en", "average"}
    ranks = [one.value for one in every if one.metric == "audit_score" and one.subset != "average"]
    assert main_score(every) == pytest.approx(sum(ranks) / 2)
    assert 50 < ranks[0] < ranks[1] == 100
    assert task.parallel("tr-en") == (["a b", "c d"], ["a b", "c d"])


def test_bad_audits_are_named(folder: Path, tmp_path: Path, encode: Encode) -> None:
    with pytest.raises(EaseError, match="de-en.parquet: no such file"):
        evaluate("audit", encode, tmp_path / "none", subsets=("de-en",))
    with pytest.raises(EaseError, match="Unknown subset de-en: choose from eo-en"):
        evaluate("audit", encode, folder, subsets=("de-en",))
    for second in (both(1, 1, "c", "d")[:1], both(1, 1, "a", "d")):
        write(folder, "eo-en", [*both(0, 1, "a", "b"), *second])
        with pytest.raises(EaseError, match=r"eo-en.parquet: .* one distinct text on each side, .* make it again"):
            evaluate("audit", encode, folder)


def write_facts(folder: Path, rows: Sequence[tuple[str, str, str]]) -> Path:
    path = folder / "parallel.parquet"
    pd.DataFrame(rows, columns=["fact_id", "language", "text"]).to_parquet(path)
    return path


def test_each_language_is_matched_with_english_in_both_directions(tmp_path: Path, encode: Encode) -> None:
    texts = {"ja": ["one a", "two b", "nothing at all"], "en": ["one alpha", "two beta", "three gamma"]}
    texts["it"] = ["uno beta", "due alpha", "tre gamma"]
    rows = [(f"f{number}", code, text) for code, own in texts.items() for number, text in enumerate(own)]
    path = write_facts(tmp_path, rows[::-1])
    # ja: two of three are found in both directions. it: of "beta", "alpha", "gamma" only the last is at its own fact.
    found = evaluate("sample_parallel", encode, path, candidates=3)
    values = {subset: score.value for (subset, metric), score in found.items() if metric == "retrieval_accuracy"}
    assert values == pytest.approx({"it-en": 100 / 3, "ja-en": 200 / 3, "average": 50})
    assert {metric for _, metric in found} == {"retrieval_accuracy", "csls_accuracy"}
    assert not any(score.note for score in found.values() if score.averaged)
    first = evaluate("sample_parallel", encode, path, candidates=2, languages=("ja",))
    by_cosine = [score.value for (_, metric), score in first.items() if metric == "retrieval_accuracy"]
    assert by_cosine == [100, 100], "the first facts by their id"


def test_facts_missing_in_one_language_are_no_candidates(tmp_path: Path, encode: Encode) -> None:
    facts = {"en": "abc", "sv": "acz", "tr": "bc"}
    rows = [(f"f{'abc'.find(text)}", code, text) for code, own in facts.items() for text in own]
    path = write_facts(tmp_path, rows)
    found = evaluate("sample_parallel", encode, path, candidates=2)
    assert {subset: score.value for (subset, _), score in found.items()} == {"sv-en": 100, "tr-en": 100, "average": 100}
    with pytest.raises(EaseError, match="2 facts are stated in both sv and en, fewer than the 3"):
        evaluate("sample_parallel", encode, path, candidates=3)


def test_errors_name_invalid_facts(tmp_path: Path, encode: Encode) -> None:
    faults = {"no sentence in en; it has none at all": [], "no sentence in a language but en": [("f0", "en", "a")]}
    for said, rows in faults.items():
        with pytest.raises(EaseError, match=rf"parallel\.parquet.*{said}"):
            evaluate("sample_parallel", encode, write_facts(tmp_path, rows), candidates=2)
    with pytest.raises(EaseError, match="contains the pivot en"):
        make_task("sample_parallel", tmp_path, languages=("ja", "en"))


def encode_axes(strings: Sequence[str]) -> np.ndarray:
    """Encode a string such as `x+2` as two units along the x axis."""
    return np.array([np.eye(2)["xy".index(text[0])] * float(text[1:]) for text in strings])


def isotropies(encode: Encode, folder: Path, text: str, **changes: object) -> list[float]:
    (folder / "words.txt").write_text(text, encoding="utf-8")
    found = evaluate("isotropy", encode, folder, lists={"word": "words.txt"}, **changes)
    assert list(found) == [("word", "isotropy"), ("word", "mean_vector_norm")]
    return [score.value for score in found.values()]


def test_isotropy_and_mean_are_known_for_vectors_on_the_axes(tmp_path: Path) -> None:
    # Eigenvectors are the axes: sums of exp(±x) over x = 1, -1, 0 and of exp(±y) over y = 0, 0, 2.
    sums = [math.e + 1 / math.e + 1, 2 + math.exp(2), 2 + math.exp(-2)]
    found = isotropies(encode_axes, tmp_path, "x+1\nx-1\n\nx+1\ny+2\n")
    assert found == pytest.approx([100 * min(sums) / max(sums), 2 / 3])
    cross = "x+1\nx-1\ny+1\ny-1\n"
    assert isotropies(encode_axes, tmp_path, cross) == pytest.approx([100, 0])
    first = isotropies(encode_axes, tmp_path, cross, rows=2)
    assert first[0] == pytest.approx(100 * 2 / (math.e + 1 / math.e))
    with pytest.raises(EaseError, match=r"words\.txt: 1 distinct strings; isotropy needs at least 2"):
        isotropies(encode_axes, tmp_path, "x+1\nx+1\n")
    with pytest.raises(EaseError, match="isotropy word: 2 of 2 rows"):
        isotropies(lambda texts: np.full((len(texts), 2), np.nan), tmp_path, "a\nb\n")
