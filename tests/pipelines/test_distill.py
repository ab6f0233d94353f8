"""`kedro run --pipelines=distill` makes, scores and reports both students."""

from __future__ import annotations

import pytest
from mlflow.tracking import MlflowClient
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import save_encoder
from tests.encoders.tiny import tiny_encoder
from tests.project import Project

STUDENTS = ("static_student", "shallow_student")


@pytest.mark.slow
def test_students_are_saved_scored_and_reported_under_their_own_names(copy: Project) -> None:
    texts = ["The capital of Japan is Tokyo.", "東京は日本の首都です。", "Berlin ist eine Stadt."] * 20
    save_encoder(tiny_encoder(texts, layers=2, hidden_size=32, vocabulary_size=500), copy.folder / "teacher")
    small = {"teacher": "teacher", "rows": 200, "learning__epochs": 1, "matryoshka": "8"}
    options = {f"multilingual__{student}__{name}": value for student in STUDENTS for name, value in small.items()}
    copy.run("distill,report", **options)
    report = (copy.latest("08_reporting/report") / "report.md").read_text("utf-8")
    assert "## Task sample_graded by dimension" in report
    table = report.partition("## Task sample_graded by dimension")[2].partition("##")[0]
    (header,) = (line for line in table.splitlines() if line.startswith("| Model"))
    assert header.count("|") == 5
    client = MlflowClient(copy.store)
    experiments = [found.experiment_id for found in client.search_experiments()]
    runs = {run.info.run_name.partition(",")[0]: run.data for run in client.search_runs(experiments)}
    tasks = ("sample_parallel", "sample_graded")
    for student in STUDENTS:
        model = copy.folder / f"data/06_models/multilingual/{student}/latest"
        assert SentenceTransformer(str(model), device="cpu").encode(["東京"]).shape == (1, 32)
        card = (model / "README.md").read_text("utf-8")
        assert f"the method `{student}`" in card
        assert "learned from 200 sentences" in card
        assert "Training started from `teacher`." in card
        assert "sample_graded/en" in card
        rows = copy.json(f"07_model_output/multilingual/{student}/scores.json")
        scored = {(row["task"], row.get("dimension"), row["base"]) for row in rows}
        assert scored == {(task, dimension, "teacher") for task in tasks for dimension in (None, 8)}
        assert f"{student.replace('_', ' ')}, multilingual" in table
        metrics = runs[f"multilingual.{student}"].metrics
        assert {"loss", "sample_graded/en", "sample_graded/en/8_dimensions"} <= set(metrics)
        assert runs[f"multilingual.{student}"].params["learning.epochs"] == "1"
