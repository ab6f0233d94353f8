"""What a baseline embeds texts with stands in its rows of scores and in its MLflow run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlflow
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mlflow.tracking import MlflowClient
from pydantic import ValidationError

from ease.encoders.encoder import save_encoder
from ease.encoders.options import EncodingOptions
from ease.evaluation.sets import locate_sets
from ease.pipelines.evaluate.nodes import score_baseline
from ease.pipelines.evaluate.options import Baseline
from ease.reporting.own import encoding_text, gather_models
from tests.contexts import undisturbed
from tests.encoders.test_whitening import make_encoder

pytestmark = pytest.mark.slow

TASK = "sample_graded"
PAIRS = {"sentence1": ["a city", "a river", "people"], "sentence2": ["a town", "many people", "people"]}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[MlflowClient]:
    with undisturbed():
        mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
        mlflow.set_experiment("test")
        yield MlflowClient()


def test_rows_report_and_run_say_what_was_used(client: MlflowClient, tmp_path: Path) -> None:
    pq.write_table(pa.table({**PAIRS, "score": [4.0, 1.0, 5.0]}), tmp_path / "graded.parquet")
    tasks: dict[str, Any] = {TASK: {"path": str(tmp_path / "graded.parquet")}}
    encoder = make_encoder()
    encoder.prompts = {"query": "find: ", "STS": "meaning: "}
    save_encoder(encoder, tmp_path / "encoder")
    baseline = Baseline(name=str(tmp_path / "encoder"), dimension=4, max_length=10)
    with mlflow.start_run():
        rows = score_baseline(
            "mine", baseline, [TASK], locate_sets([TASK], tasks), tasks, EncodingOptions(batch_size=2)
        )
    (row,) = rows
    used = {"revision": None, "embedding_dimension": 4, "precision": "fp32", "max_length": 10}
    assert used.items() <= row.items()
    assert row["prompt"] == "meaning: "
    (model,) = gather_models(rows)
    assert "4 dimensions, fp32, at most 10 tokens; prompt “meaning: ”" in encoding_text(model.rows)
    runs = client.search_runs([client.get_experiment_by_name("test").experiment_id])  # type: ignore[union-attr]
    (params,) = (run.data.params for run in runs if run.info.run_name == "baselines.mine")
    assert (params["used.embedding_dimension"], params[f"used.prompt.{TASK}"]) == ("4", "meaning: ")


def test_options_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(ValidationError, match="`dimension` and `language_rank` exclude each other"):
        Baseline(name="x", dimension=4, language_rank=2)
    with pytest.raises(ValidationError, match="Unknown prompt 'qurey': did you mean query"):
        Baseline(name="x", prompts={"qurey": "x"})
