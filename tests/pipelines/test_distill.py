"""`kedro run --pipelines=distill` makes, scores and reports both students."""

from __future__ import annotations

import pytest
from mlflow.tracking import MlflowClient
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import build_encoder, save_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from tests.project import Project

SIZES = {"layers": 2, "hidden_size": 32, "heads": 2, "intermediate_size": 32, "vocabulary_size": 500}
STUDENTS = ("static_student", "shallow_student")


@pytest.fixture(scope="module")
def distilled(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which the students of a given teacher, a BERT of two layers, were made and reported."""
    made = project.copy(tmp_path_factory.mktemp("distilled") / "copy")
    texts = ["The capital of Japan is Tokyo.", "東京は日本の首都です。", "Berlin ist eine Stadt."] * 20
    save_encoder(build_encoder(EncoderOptions(random=RandomBertOptions(**SIZES)), texts), made.folder / "teacher")
    small = {"teacher": "teacher", "rows": 200, "learning__epochs": 1, "matryoshka": "8"}
    options = {f"multilingual__{student}__{name}": value for student in STUDENTS for name, value in small.items()}
    made.run("distill,report", **options)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("student", STUDENTS)
def test_a_student_is_saved_and_scored_under_its_own_name(distilled: Project, student: str) -> None:
    model = distilled.folder / f"data/06_models/multilingual/{student}/latest"
    assert SentenceTransformer(str(model), device="cpu").encode(["東京"]).shape == (1, 32)
    card = (model / "README.md").read_text("utf-8")
    assert f"the method `{student}`" in card
    assert "learned from 200 sentences" in card
    assert "Training started from `teacher`." in card
    assert "sample_graded/en" in card
    rows = distilled.json(f"07_model_output/multilingual/{student}/scores.json")
    assert {(row["task"], row.get("dimension")) for row in rows} == {
        (task, dimension) for task in ("sample_parallel", "sample_graded") for dimension in (None, 8)
    }
    assert {row["base"] for row in rows} == {"teacher"}


@pytest.mark.slow
def test_the_report_and_mlflow_have_the_students(distilled: Project) -> None:
    report = (distilled.latest("08_reporting/report") / "report.md").read_text("utf-8")
    assert "## Task sample_graded by dimension" in report
    table = report.partition("## Task sample_graded by dimension")[2].partition("##")[0]
    (header,) = (line for line in table.splitlines() if line.startswith("| Model"))
    assert header.count("|") == 5
    for student in STUDENTS:
        assert f"{student.replace('_', ' ')}, multilingual" in table
    client = MlflowClient(distilled.store)
    experiments = [found.experiment_id for found in client.search_experiments()]
    runs = {run.info.run_name.partition(",")[0]: run.data for run in client.search_runs(experiments)}
    for student in STUDENTS:
        metrics = runs[f"multilingual.{student}"].metrics
        assert {"loss", "sample_graded/en", "sample_graded/en/8_dimensions"} <= set(metrics)
        assert runs[f"multilingual.{student}"].params["learning.epochs"] == "1"
