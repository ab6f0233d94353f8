"""Retrieval of the sample's parallel sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from ease.errors import EaseError
from ease.evaluation.encodes import Encode
from ease.evaluation.tasks import get_task, main_score

TASK = get_task("sample_parallel")
Options = TASK.options
evaluate = TASK.evaluate


Row = tuple[str | None, str | None, str | None]


def write_facts(path: Path, rows: Sequence[Row]) -> Path:
    """Write a file of parallel sentences."""
    fact_ids, languages, texts = (
        (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    )
    columns = {"fact_id": fact_ids, "language": languages, "text": texts}
    pq.write_table(pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()}), path)
    return path


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    """Three facts in three languages; "ja" has one fact wrong, "it" swaps two."""
    english = ["one alpha", "two beta", "three gamma"]
    japanese = ["one a", "two b", "nothing at all"]
    italian = ["uno beta", "due alpha", "tre gamma"]
    rows: list[Row] = []
    for language, texts in [("ja", japanese), ("en", english), ("it", italian)]:
        rows += [(f"f{number}", language, text) for number, text in enumerate(texts)]
    return write_facts(tmp_path / "parallel.parquet", rows[::-1])


def test_each_language_is_matched_with_english_in_both_directions(facts: Path, encode: Encode) -> None:
    scores = evaluate(encode, Options(path=facts, candidates=3))
    # ja: two of three are found in both directions. it: of "beta", "alpha", "gamma" only the last is at its own fact.
    assert [(score.task, score.subset, score.metric) for score in scores] == [
        ("sample_parallel", subset, "retrieval_accuracy") for subset in ("it-en", "ja-en", "average")
    ]
    assert [score.value for score in scores] == pytest.approx([100 / 3, 200 / 3, 50])
    assert main_score(scores) == pytest.approx(50)


def test_candidates_are_the_first_facts_by_their_id(facts: Path, encode: Encode) -> None:
    scores = evaluate(encode, Options(path=facts, candidates=2, languages=("ja",)))
    assert [(score.subset, score.value) for score in scores] == [("ja-en", 100), ("average", 100)]


def test_facts_missing_in_one_language_are_no_candidates(tmp_path: Path, encode: Encode) -> None:
    rows: list[Row] = [(f"f{n}", "en", text) for n, text in enumerate(["a", "b", "c"])]
    rows += [("f0", "sv", "a"), ("f2", "sv", "c"), ("f9", "sv", "z"), ("f1", "tr", "b"), ("f2", "tr", "c")]
    path = write_facts(tmp_path / "parallel.parquet", rows)
    scores = evaluate(encode, Options(path=path, candidates=2))
    assert [(score.subset, score.value) for score in scores] == [
        ("sv-en", 100),
        ("tr-en", 100),
        ("average", 100),
    ]
    with pytest.raises(
        EaseError, match=r"parallel\.parquet: 2 facts are stated in both sv and en, fewer than the 3"
    ):
        evaluate(encode, Options(path=path, candidates=3))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "no sentence in en; it has none at all"),
        ([("f0", "en", "a")], "no sentence in a language but en; it has en"),
        ([("f0", "en", "a"), ("f0", "en", "b")], "row 2: fact f0 is stated twice in en"),
        ([("f0", "en", "a"), ("f1", "en", None)], "row 2: fact_id, language or text is missing"),
    ],
)
def test_errors_name_invalid_facts(tmp_path: Path, encode: Encode, rows: list[Row], said: str) -> None:
    path = write_facts(tmp_path / "parallel.parquet", rows)
    with pytest.raises(EaseError, match=rf"parallel\.parquet.*{said}"):
        evaluate(encode, Options(path=path, candidates=2))


def test_one_candidate_or_the_pivot_itself_is_refused() -> None:
    with pytest.raises(ValidationError, match="candidates"):
        Options(path=Path("x"), candidates=1)
    with pytest.raises(ValidationError, match="contains the pivot en"):
        Options(path=Path("x"), languages=("ja", "en"))
