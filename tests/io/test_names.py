"""Names that users choose: what becomes of them in MLflow and on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import mlflow
import pytest
from mlflow.tracking import MlflowClient

from ease.evaluation.tasks import Score
from ease.io.names import safe_name
from ease.pipelines.evaluate.options import EvaluateOptions
from ease.pipelines.mlflow_runs import flatten_options, log_scores, training_run
from tests.contexts import undisturbed

pytestmark = pytest.mark.slow

USUAL = ["LaBSE", "BERT-base_v1.5", "Multilingual SBERT", "多言語", "ease"]
UNUSUAL = [
    *(
        "BERT (avg.)",
        "BERT [avg.]",
        "w/o hard negative",
        "../outside",
        "..",
        ".",
        "",
        " ",
        "a ",
        "a.",
        "/a",
        "a//b",
    ),
    *("a=1, b=2", "x" * 300, "語" * 200, "C:\\model", "line\nbreak", "50 % & more?", "a:b", "~"),
]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[MlflowClient]:
    with undisturbed():
        mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
        mlflow.set_experiment("test")
        yield MlflowClient()


@pytest.mark.parametrize("name", USUAL)
def test_a_safe_name_is_unchanged(name: str) -> None:
    assert safe_name(name) == name


def test_distinct_names_are_distinct_files_in_one_folder(tmp_path: Path) -> None:
    names = [*USUAL, *UNUSUAL]
    for name in names:
        (tmp_path / safe_name(name)).write_text(name, encoding="utf-8")
    assert sorted(path.read_text(encoding="utf-8") for path in tmp_path.iterdir()) == sorted(names)


def test_mlflow_accepts_any_name_of_a_baseline_a_run_and_a_subset(client: MlflowClient) -> None:
    names = [*USUAL, *UNUSUAL]
    options = EvaluateOptions.model_validate(
        {"tasks": None, "baselines": {name: {"name": f"encoder of {name}"} for name in names}}
    )
    scores = [Score("stsb", name, "spearman", float(value)) for value, name in enumerate(names)]
    with (
        mlflow.start_run(),
        training_run("w/o (hard) negative", flatten_options(options, "evaluate")) as run_id,
    ):
        log_scores(run_id, scores)
    run = client.get_run(run_id)
    logged = {value for name, value in run.data.params.items() if name.endswith(".name")}
    assert logged == {f"encoder of {name}" for name in names}
    assert run.data.params["evaluate.baselines.LaBSE.name"] == "encoder of LaBSE"
    values = {value for name, value in run.data.metrics.items() if name.startswith("stsb/")}
    assert values == {float(value) for value in range(len(names))}
