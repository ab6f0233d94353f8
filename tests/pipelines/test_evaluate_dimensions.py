"""Scores of truncated embeddings: computed from one encoding of the texts, and reported beside the complete ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sentence_transformers import SentenceTransformer

from ease.datasets.files import ScoresDataset
from ease.encoders.options import EncodingOptions
from ease.evaluation.metrics import pairwise_cosine, spearman
from ease.evaluation.sets import LocatedSet, locate_sets
from ease.evaluation.tasks import Score, get_task
from ease.pipelines.evaluate.scoring import Scored, log_scored, rows_of, score_each
from ease.pipelines.mlflow_runs import headline
from ease.reporting.comparison import dimension_tables, full_rows
from tests.encoders.test_whitening import make_encoder

TASK = "sample_graded"
PAIRS = [
    ("a large city", "a city", 5.0),
    ("a river", "many people live here", 1.0),
    ("a large city on a river", "a river", 3.0),
    ("people", "many people", 4.0),
]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the task of graded pairs with a file of four pairs."""
    file = tmp_path_factory.mktemp("graded") / "graded.parquet"
    first, second, grades = map(list, zip(*PAIRS, strict=True))
    pq.write_table(pa.table({"sentence1": first, "sentence2": second, "score": grades}), file)
    return {TASK: {"path": str(file)}}


class Counting:
    """Counts the texts that an encoder encodes."""

    def __init__(self, encoder: SentenceTransformer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[str] = []
        plain = encoder.encode

        def encode(texts: Sequence[str], **given: Any) -> np.ndarray:
            self.texts += texts
            encoded: np.ndarray = plain(texts, **given)
            return encoded

        monkeypatch.setattr(encoder, "encode", encode)


def score(
    encoder: SentenceTransformer, tasks: dict[str, dict[str, Any]], dimensions: Sequence[int], **given: Any
) -> tuple[Scored, dict[str, LocatedSet]]:
    located = locate_sets([TASK], tasks)
    options = EncodingOptions(**given)
    scored = score_each(lambda name: encoder, "ours", [TASK], located, tasks, options, dimensions=dimensions)
    return scored, located


def expected(encoder: SentenceTransformer, dimension: int | None) -> float:
    first, second, grades = zip(*PAIRS, strict=True)
    sides = [encoder.encode(list(texts))[:, :dimension] for texts in (first, second)]
    return 100 * spearman(pairwise_cosine(*sides), np.array(grades))


@pytest.mark.parametrize("cached", [False, True])
def test_truncated_embeddings_are_scored_from_one_encoding(
    tasks: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cached: bool
) -> None:
    encoder = make_encoder()
    values = {dimension: expected(encoder, dimension) for dimension in (2, 4, None)}
    counting = Counting(encoder, monkeypatch)
    scored, _ = score(encoder, tasks, (2, 4, 4), cache=tmp_path if cached else None)
    assert sorted(counting.texts) == sorted({text for pair in PAIRS for text in pair[:2]})
    (whole,) = scored.scores
    assert whole.subset == "en"
    assert whole.value == pytest.approx(values[None])
    found = {dimension: score.value for dimension, score in scored.truncated}
    assert found == {dimension: pytest.approx(values[dimension]) for dimension in (2, 4)}
    assert len(set(values.values())) == 3


def test_a_number_above_the_encoders_dimension_is_named(
    tasks: dict[str, dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    scored, _ = score(make_encoder(), tasks, (4, 8, 512))
    assert {dimension for dimension, _ in scored.truncated} == {4}
    assert (
        "ours has 8 dimensions and is not scored at 512: set `dimensions` to numbers below 8" in caplog.text
    )


def test_rows_reach_the_report_as_a_table_by_dimension(
    tasks: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    scored, located = score(make_encoder(), tasks, (2, 4))
    rows = rows_of(scored, located, setting="multilingual", model="v1", base="random:", seed=1)
    dataset = ScoresDataset(filepath=str(tmp_path / "scores.json"))
    dataset.save(rows)
    dataset.save(rows)
    kept = json.loads((tmp_path / "scores.json").read_text())
    assert len(kept) == 3
    values = {row.get("dimension"): row["value"] for row in kept}
    assert headline(kept) == {f"{TASK}/en": values[None]}
    assert full_rows(kept) == [row for row in kept if "dimension" not in row]
    (table,) = dimension_tables([{"method": "ease_plus", **row} for row in kept])
    assert table.title == f"Task {TASK} by dimension"
    assert table.headers == ("2", "4", "all")
    (row,) = table.rows
    assert row.name == "EASE+, multilingual"
    assert [cell.value for cell in row.cells] == [pytest.approx(values[key]) for key in (2, 4, None)]
    assert dimension_tables(full_rows(kept)) == []


def test_the_subsets_of_a_task_without_an_average_are_shown(caplog: pytest.LogCaptureFixture) -> None:
    accuracy = get_task("tatoeba").METRIC
    scores = [Score("sts", year, "spearman", 50.0 + number) for number, year in enumerate(("2012", "2013"))]
    scores += [Score("sts", "2012", "spearman_part_mean", 9.0), Score("tatoeba", "deu-eng", accuracy, 1.0)]
    scores += [Score("tatoeba", "average", accuracy, 2.0)]
    with caplog.at_level("INFO"):
        log_scored("model", Scored(scores, [], [], {}, {}, {}))
    assert "Scored model: sts 2012 50.00, sts 2013 51.00, tatoeba average 2.00" in caplog.text
    shown = headline([score.row() for score in scores])
    assert shown == {"sts/2012": 50.0, "sts/2013": 51.0, "tatoeba/average": 2.0}
