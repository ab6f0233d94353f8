"""The task `audit`: retrieval among all candidates of a subset, and among the distractors of each grade."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ease.errors import EaseError
from ease.evaluation.encodes import Encode
from ease.evaluation.scoring import score_tasks
from ease.evaluation.tasks import get_task, main_score

TASK: Any = get_task("audit")
Options = TASK.options
evaluate = TASK.evaluate
files = TASK.files
read_parallel = TASK.parallel


Row = tuple[int, str, str, int, str]
NAMES = ("pair_id", "side", "grade", "entity", "text")


def write(folder: Path, subset: str, rows: list[Row]) -> None:
    """Write a subset of an audit."""
    folder.mkdir(exist_ok=True)
    columns = dict(zip(NAMES, zip(*rows, strict=True), strict=True))
    pq.write_table(
        pa.table({name: list(column) for name, column in columns.items()}), folder / f"{subset}.parquet"
    )


def both(pair: int, entity: int, left: str, right: str) -> list[Row]:
    """The two sentences of a pair."""
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
    write(tmp_path / "audit", "eo-en", rows[::-1])
    return tmp_path / "audit"


def test_all_candidates_and_each_grade(folder: Path, encode: Encode) -> None:
    scores = {(one.subset, one.metric): one.value for one in evaluate(encode, Options(path=folder))}
    # Left to right: pairs 0 and 1 lose to a distractor; right to left: all three are found.
    assert scores["eo-en", "retrieval_accuracy"] == pytest.approx(100 * (1 + 3) / 6)
    assert scores["eo-en", "same_page_accuracy"] == pytest.approx(100 * 2 / 3)
    assert scores["eo-en", "same_type_accuracy"] == pytest.approx(50)
    assert scores["eo-en", "other_pages_accuracy"] == 100
    assert scores["average", "retrieval_accuracy"] == scores["eo-en", "retrieval_accuracy"]


def test_both_directions_of_a_pair_are_one_item(folder: Path, encode: Encode) -> None:
    counts = {one.metric: len(one.items) for one in evaluate(encode, Options(path=folder)) if one.items}
    metrics = ("retrieval", "other_pages", "same_page", "same_type")
    assert counts == {f"{name}_accuracy": items for name, items in zip(metrics, (3, 3, 2, 2), strict=True)}


def test_another_pair_of_the_same_item_is_no_other_page(tmp_path: Path, encode: Encode) -> None:
    rows = [*both(0, 1, "a b c", "a b x"), *both(1, 1, "y z w", "a b c"), *both(2, 2, "o p q", "o p r")]
    write(tmp_path / "audit", "eo-en", rows)
    scores = {one.metric: one.value for one in evaluate(encode, Options(path=tmp_path / "audit"))}
    assert scores["other_pages_accuracy"] == pytest.approx(100 * 4 / 6)  # pair 1 shares no word, and ties
    assert scores["retrieval_accuracy"] == pytest.approx(100 * 3 / 6)


def test_the_main_score_is_the_mean_over_the_subsets(folder: Path, encode: Encode) -> None:
    write(folder, "tr-en", [*both(0, 1, "a b", "a b"), *both(1, 2, "c d", "c d")])
    options = {"audit": {"path": str(folder)}}
    every = score_tasks(encode, ["audit"], options)
    assert {one.subset for one in every} == {"eo-en", "tr-en", "average"}
    assert main_score(every) == pytest.approx((100 * 4 / 6 + 100) / 2)
    assert main_score(score_tasks(encode, ["audit:tr-en"], options)) == 100
    assert read_parallel(Options(path=folder), "tr-en") == (["a b", "c d"], ["a b", "c d"])


def test_bad_files_are_named(folder: Path, tmp_path: Path, encode: Encode) -> None:
    task = get_task("audit")
    assert files(Options(path=tmp_path / "none")) == {"all": (tmp_path / "none",)}
    with pytest.raises(EaseError, match="no such file"):
        evaluate(encode, Options(path=tmp_path / "none"))
    with pytest.raises(EaseError, match="de-en.parquet: no such file"):
        evaluate(encode, Options(path=tmp_path / "none", subsets=("de-en",)))
    with pytest.raises(EaseError, match="Unknown subset de-en: choose from eo-en"):
        files(Options(path=folder, subsets=("de-en",)))
    assert "kedro run --pipelines=audit" in task.SOURCE
    write(folder, "eo-en", [*both(0, 1, "a", "b"), *both(1, 1, "c", "d")[:1]])
    with pytest.raises(EaseError, match=r"eo-en.parquet: not one sentence a side .* make it again"):
        evaluate(encode, Options(path=folder))
    write(folder, "eo-en", [*both(0, 1, "a", "b"), *both(1, 1, "a", "d")])
    with pytest.raises(EaseError, match=r"eo-en.parquet: a sentence is the answer of two pairs"):
        evaluate(encode, Options(path=folder))
