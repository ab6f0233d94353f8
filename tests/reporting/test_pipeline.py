"""The pipeline turns scores of evaluations and sweeps into a report, in a file, the log and MLflow."""

from __future__ import annotations

import json
from pathlib import Path

import ibis
import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from ease.encoders.options import EncodingOptions
from ease.pipelines.report.nodes import compare_curves, compare_scores, gather_sweeps, write_report
from ease.pipelines.setting import Setting
from ease.reporting.markdown_tables import format_table
from ease.reporting.own import gather_models
from tests.project import Done, Project, make_project
from tests.reporting.made import MODEL, baseline, options, published, row, sts17

VERSION = "2026-01-01T00.00.00.000Z"
ENCODER = "multilingual.setting.encoder.name=bert-base-multilingual-cased,multilingual.setting.encoder.pooling=mean"
KNOWN_LATER = ("base", "pooling", "method", "sweep")
"""Columns that the scores of a setting's evaluation lack."""


def version(project: Project, path: str) -> Path:
    """Return the path of a version of a dataset below `data`."""
    file = project.folder / "data" / path / VERSION / Path(path).name
    file.parent.mkdir(parents=True)
    return file


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which a model of a setting, a baseline and a sweep over two seeds were scored."""
    project = make_project(tmp_path_factory.mktemp("report"))
    rows = [{name: value for name, value in row.items() if name not in KNOWN_LATER} for row in sts17()]
    scores = {"multilingual/ease": rows, "baselines": [baseline("sts", "2012", 72.37)]}
    for place, place_rows in scores.items():
        version(project, f"07_model_output/{place}/scores.json").write_text(json.dumps(place_rows), encoding="utf-8")
    variant = {"variant": "ease", "method": "ease", "task": "sts17", "subset": "en-en", "metric": "spearman"}
    swept = [{**variant, "seed": seed, "value": 79.0 + seed, "development": 1.0} for seed in (1, 2)]
    pd.DataFrame(swept).to_parquet(version(project, "08_reporting/multilingual/sweeps/seeds.parquet"))
    control = {**variant, "seed": 42, "value": 60.0, "base": "bert-base-multilingual-cased", "pooling": "cls"}
    pd.DataFrame([control]).to_parquet(version(project, "08_reporting/multilingual/sweeps/control.parquet"))
    return project


@pytest.fixture(scope="module")
def report_run(scored: Project) -> Done:
    return scored.kedro("run", "--pipelines=report", "--params", ENCODER, start=False)


def test_scores_become_a_report_that_mlflow_keeps(scored: Project, report_run: Done) -> None:
    assert max(map(len, report_run.stderr.splitlines())) <= 200
    folder = scored.latest("08_reporting/report")
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "report.md"]
    text = (folder / "report.md").read_text(encoding="utf-8")
    lines = ("| here, 1 seed ", "| here, 2 seeds", "80.5 ± 0.7", "difference from EASE-mBERTbase", MODEL)
    assert [line for line in lines if line not in text] == []
    client = MlflowClient(scored.store)
    (run,) = client.search_runs([experiment.experiment_id for experiment in client.search_experiments()])
    artifacts = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert {"report", "report_bars.svg"} <= artifacts
    assert "report_scatter.svg" not in artifacts, "no pair of tables has scores"
    artifact = Path(client.download_artifacts(run.info.run_id, "report/report.md"))
    assert artifact.read_text(encoding="utf-8") == text
    page = Path(client.download_artifacts(run.info.run_id, "report/report.html")).read_text(encoding="utf-8")
    assert len(page) < 1_000_000, "without plotly.js"
    assert page.count("<img") == (folder / "report.html").read_text(encoding="utf-8").count('class="plotly-graph-div"')


def test_gathered_scores_name_their_encoder(scored: Project, report_run: Done) -> None:
    rows = scored.json("08_reporting/multilingual/report_scores.json")
    assert {(row["method"], row["base"], row["pooling"], row.get("sweep")) for row in rows} == {
        ("ease", "bert-base-multilingual-cased", "mean", None),
        ("ease", "bert-base-multilingual-cased", "mean", "seeds"),
        ("ease", "bert-base-multilingual-cased", "cls", "control"),
    }


def test_without_any_score_no_page_is_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    page, *figures = write_report(published(), options(), str(tmp_path), EncodingOptions(), [], [])
    assert page == Path()
    assert not [trace for figure in figures for trace in figure.data]
    assert "no report: `kedro run --pipelines=evaluate` makes scores" in caplog.text


def test_a_wide_table_keeps_its_first_and_last_columns() -> None:
    lines = format_table(pd.DataFrame([{f"c{column}": 1.0 for column in range(40)}]), width=60).split("\n")
    assert max(map(len, lines)) <= 60
    assert lines[0].startswith("|  c0 |  c1 | …   | c3")
    assert lines[0].endswith("| c39 |")


def test_a_variant_under_two_settings_is_two_models_of_its_own_title() -> None:
    values = {"name": "small", "languages": "en", "dev_tasks": "stsb", "test_tasks": "stsb"}
    setting = Setting.model_validate({**values, "encoder": {"name": "random:"}})
    run = {"recipe": "mirror", "seed": 1, "task": "stsb", "subset": "dev", "value": 70.0}
    bases = {"BERT": "bert-base-uncased", "RoBERTa": "roberta-base"}
    table = pd.DataFrame(
        {"variant": f"mirror ({under})", "under": under, "base": base, **run} for under, base in bases.items()
    )
    rows = gather_sweeps(setting, {"ablation": ibis.memtable(table)})
    assert [(row["method"], row["base"], row["sweep"], row["subset"]) for row in rows] == [
        ("mirror", "bert-base-uncased", "ablation, BERT", "dev"),
        ("mirror", "roberta-base", "ablation, RoBERTa", "dev"),
    ]
    assert len({model.label for model in gather_models(rows)}) == 2


def test_methods_are_compared_where_some_have_no_score_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("log_table", "log_plot"):
        monkeypatch.setattr(f"ease.pipelines.report.nodes.{name}", lambda *_: None)
    table, figure = compare_scores(untrained=[], ease=[row("sample_graded", "en", 70.0)])
    assert list(table.columns) == ["task", "subset", "metric", "ease"]
    assert figure.data[0].x[0] == 70
    nothing, empty = compare_scores(untrained=[], ease=[])
    assert nothing.empty
    assert not empty.data + compare_curves(ease=[]).data
