"""Encoders are scored without the contaminated items, from the files beside the cached scores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pytest

from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.evaluation.items import mean_items
from ease.evaluation.resampling import with_intervals
from ease.evaluation.score_cache import write_items
from ease.evaluation.scores import Score
from ease.pipelines.contamination.nodes import score_clean_items

pytestmark = pytest.mark.slow

LEAKED = list(range(0, 100, 2))
"""The items that the encoder has learnt by heart."""


@pytest.fixture(autouse=True, scope="module")
def _run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The run to which tables are logged."""
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path_factory.mktemp('store') / 'mlflow.db'}")
    with mlflow.start_run():
        yield
    mlflow.set_tracking_uri(before)


def scored(cache: Path, name: str, **about: Any) -> list[dict[str, Any]]:
    """Return rows of two subsets whose leaked items are all found, and of the others half."""
    hits = np.where(np.isin(np.arange(100), LEAKED), 1.0, np.arange(100) % 4 == 1)
    scores = [Score("xnli", subset, "retrieval_accuracy", 75.0, items=mean_items(hits)) for subset in ("a", "b")]
    kept, resampled = with_intervals(scores)
    write_items(cache / f"{name}.parquet", kept, resampled)
    given = {"model": name, "data": "same", "items": f"{name}.parquet", **about}
    return [{**score.row(), **given} for score in kept]


def contaminated(rows: list[int]) -> list[dict[str, Any]]:
    about = {"task": "xnli", "metric": "retrieval_accuracy", "data": "same", "items": 100}
    return [{**about, "subset": subset, "rows": rows} for subset in ("a", "b")]


def test_the_clean_score_is_that_of_the_other_items(tmp_path: Path) -> None:
    table = score_clean_items(
        contaminated(LEAKED),
        EncodingOptions(cache=tmp_path),
        scored(tmp_path, "minilm", method="MiniLM"),
        ease=scored(tmp_path, "ours"),
        simcse=[],
    ).set_index(["method", "subset"])
    methods, subsets = (set(table.index.get_level_values(level)) for level in (0, 1))
    assert (methods, subsets, len(table)) == ({"ease", "MiniLM"}, {"a", "b", "average"}, 6)
    ours = table.loc[("ease", "a")]
    assert ours[["items", "contaminated"]].tolist() == [100, 50]
    assert ours[["whole", "clean", "difference"]].tolist() == [75.0, 50.0, -25.0]
    assert ours["low"] < 50 < ours["high"]
    mean = table.loc[("ease", "average")]
    assert mean[["items", "contaminated", "clean"]].tolist() == [200, 100, 50.0]


def test_subsets_without_clean_items_or_with_other_data_are_skipped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    leaked, rows = contaminated(LEAKED), scored(tmp_path, "ours")
    leaked[0]["rows"] = list(range(100))
    table = score_clean_items(leaked, EncodingOptions(cache=tmp_path), [], ease=rows)
    assert table.set_index("subset")["clean"].dropna().to_dict() == {"b": 50.0}
    rows[0]["data"] = "other"
    table = score_clean_items(contaminated(LEAKED), EncodingOptions(cache=tmp_path), [], ease=rows)
    assert table["subset"].tolist() == ["b"]
    assert "xnli a of ease was scored on other data: run `evaluate` again" in caplog.text


def test_scores_without_items_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EaseError, match="No encoder has scores whose items are kept: run the pipeline"):
        score_clean_items(contaminated(LEAKED), EncodingOptions(cache=tmp_path), [], ease=[])
