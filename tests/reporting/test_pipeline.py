"""The pipeline: from the scores of evaluations and sweeps to a report in its place, in the log and in MLflow."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
import pytest
from kedro.framework.context import KedroContext
from kedro.io.core import is_parameter
from kedro.runner import SequentialRunner
from mlflow.tracking import MlflowClient

from ease.methods import method_names
from ease.pipeline_registry import SETTINGS
from ease.pipelines.report import create_report_pipeline
from ease.pipelines.report.nodes import compare_curves, compare_scores, gather_scores
from tests.contexts import load_context, undisturbed
from tests.project import Project, make_project
from tests.reporting.made import EASE_ROW, baseline, row, sts17

PIPELINE = create_report_pipeline(SETTINGS, method_names())


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def context(bare: Project) -> KedroContext:
    given = {"multilingual__setting__encoder__name": "bert-base-multilingual-cased"}
    return load_context(bare, **given)


def evaluated(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows as an evaluation saves them, which knows of neither encoder nor method."""
    return [
        {name: value for name, value in row.items() if name not in ("base", "pooling", "method", "repeated")}
        for row in rows
    ]


def run(project: Project, context: KedroContext) -> str:
    """Run the pipeline; returns the id of its MLflow run."""
    with undisturbed(), pytest.MonkeyPatch.context() as patch:
        patch.chdir(project.folder)
        mlflow.set_tracking_uri(project.store)
        with mlflow.start_run() as started:
            SequentialRunner().run(PIPELINE, context.catalog)
    return str(started.info.run_id)


def test_every_dataset_of_the_pipeline_is_configured(context: KedroContext) -> None:
    names = {name for name in PIPELINE.datasets() if not is_parameter(name)}
    assert {"report", "report_bars", "report_scatter", "baselines.scores"} < names
    kept = {
        name: getattr(context.catalog.get(name, fallback_to_runtime_pattern=True), "_version", None)
        for name in names
    }
    assert [name for name, version in kept.items() if version is None] == []


def test_scores_become_a_report_in_its_place_in_the_log_and_in_mlflow(
    bare: Project, context: KedroContext, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = context.catalog
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(bare.folder)
        catalog.save("multilingual.ease.scores", evaluated(sts17()))
        catalog.save("baselines.scores", [baseline("sts", "2012", 72.37)])
        sweep = [
            {
                "variant": "ease",
                "method": "ease",
                "seed": seed,
                "task": "sts17",
                "subset": "en-en",
                "metric": "spearman",
            }
            | {"value": 79.0 + seed, "development": 1.0}
            for seed in (1, 2)
        ]
        catalog.save("multilingual.seeds_sweep", pd.DataFrame(sweep))
    with caplog.at_level(logging.INFO):
        run_id = run(bare, context)
    folder = bare.latest("08_reporting/report")
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "report.md"]
    text = (folder / "report.md").read_text(encoding="utf-8")
    for line in ("| here, 1 seed ", "| here, 2 seeds", "80.5 ± 0.7", "difference from EASE-mBERTbase"):
        assert line in text
    (table,) = [
        record.getMessage()
        for record in caplog.records
        if record.getMessage().startswith("EASE (2022), Table 2:")
    ]
    assert table.partition("\n\n")[2] in text
    bars, scatter = (bare.json(f"08_reporting/report_{name}.json") for name in ("bars", "scatter"))
    newest, _ = [trace for trace in bars["data"] if trace["name"] == "EASE, multilingual"]
    assert newest["y"][:10] == list(EASE_ROW), "of Table 2; Table 7 shows their average"
    assert "empty" in scatter["layout"]["annotations"][0]["text"], (
        "no model is scored on both tables of a pair"
    )
    client = MlflowClient(bare.store)
    assert {file.path for file in client.list_artifacts(run_id)} >= {
        "report",
        "report_bars.html",
        "report_scatter.html",
    }
    kept = Path(client.download_artifacts(run_id, "report/report.md"))
    assert kept.read_text(encoding="utf-8") == text
    rows = json.loads(bare.latest("08_reporting/multilingual/report_scores.json").read_text("utf-8"))
    assert {(row["method"], row["base"], row["pooling"], row["repeated"]) for row in rows} == {
        ("ease", "bert-base-multilingual-cased", "mean", repeated) for repeated in (True, False)
    }


def test_without_any_score_the_report_says_so(
    tmp_path: Path, bare: Project, caplog: pytest.LogCaptureFixture
) -> None:
    empty = bare.copy(tmp_path / "empty")
    for folder in ("07_model_output", "08_reporting/multilingual", "08_reporting/report"):
        for path in sorted((empty.folder / "data" / folder).rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    run(empty, load_context(empty))
    assert "kedro run --pipeline=evaluate" in (empty.latest("08_reporting/report") / "report.md").read_text(
        "utf-8"
    )
    assert "The report is empty" in caplog.text


def test_gathered_scores_keep_what_an_evaluation_says(context: KedroContext) -> None:
    setting = context.catalog.load("params:multilingual.setting")
    given = [row("stsb", "dev", 70.0, seed=42, note="n", deviation=0.5)]
    (gathered,) = gather_scores(setting, None, ease=given, simcse=[])
    assert gathered["base"] == given[0]["base"]
    assert {name: gathered[name] for name in ("seed", "note", "deviation", "data", "code")} == {
        name: given[0][name] for name in ("seed", "note", "deviation", "data", "code")
    }


def test_methods_are_compared_where_some_have_no_score_yet(bare: Project) -> None:
    with undisturbed(), pytest.MonkeyPatch.context() as patch:
        patch.chdir(bare.folder)
        mlflow.set_tracking_uri(bare.store)
        with mlflow.start_run():
            scores = [row("sample_graded", "en", 70.0)]
            table, figure = compare_scores(untrained=[], ease=scores)
            nothing, empty = compare_scores(untrained=[], ease=[])
            curves = compare_curves(ease=[])
    assert list(table.columns) == ["task", "subset", "metric", "ease"]
    assert figure.data[0].y[0] == 70
    assert nothing.empty
    assert not empty.data
    assert not curves.data
