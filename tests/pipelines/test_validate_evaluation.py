"""Scores of published models are compared with the printed ones, and differences are named."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from ease.errors import EaseError
from ease.evaluation.tasks import package_tasks
from ease.pipelines.options import AcquireOptions, Baseline, EvaluateOptions, EvaluationSetOptions
from ease.pipelines.validate_evaluation.nodes import locate_printed_sets
from ease.reporting.comparison import compare_with_printed
from ease.reporting.own import gather_models
from ease.reporting.published import PublishedPapers
from tests.project import Project

METRIC = "spearman"
COLUMNS: list[dict[str, Any]] = [
    {"header": "A", "task": "sts", "subset": "2012", "metric": METRIC},
    {"header": "B", "task": "stsb", "subset": "test", "metric": METRIC},
    {"header": "mean", "mean_of": ["A", "B"]},
]
MODELS = {
    "Made": {"base": "bert-base-uncased", "checkpoints": ["org/made"]},
    "BERT (avg.)": {"base": "bert-base-uncased", "method": "untrained", "pooling": "mean"},
}


def paper(rows: dict[str, Any], columns: list[dict[str, Any]] = COLUMNS, **models: Any) -> dict[str, Any]:
    table = {"title": "T", "score": "ρ", "columns": columns, "rows": rows}
    about = {"citation": "c", "short": "Made (2000)", "models": {**MODELS, **models}}
    return {"made": {**about, "tables": {"1": table}}}


def score(name: str, task: str, subset: str, value: float, pooling: str = "cls") -> dict[str, Any]:
    about = {"setting": "baselines", "method": "b", "model": name, "base": name, "pooling": pooling}
    return {**about, "task": task, "subset": subset, "metric": METRIC, "value": value}


def test_each_printed_figure_is_compared() -> None:
    published = PublishedPapers.model_validate(paper({"Made": [70.0, 80.0, 75.0], "BERT (avg.)": [30.0, None, 31.0]}))
    rows = [score("org/made", "sts", "2012", 70.3), score("org/made", "stsb", "test", 79.5)]
    rows += [score("bert-base-uncased", "sts", "2012", 30.31, "mean")]
    rows += [score("bert-base-uncased", "sts", "2012", 99.0, "cls")]
    table = compare_with_printed(published, gather_models(rows))
    found = {(row["row"], row["column"]): row for row in table.to_dict("records")}
    assert len(found) == len(table) == 5
    assert found["Made", "A"]["difference"] == 0.3
    assert found["Made", "B"]["difference"] == -0.5
    assert found["Made", "mean"]["here"] == pytest.approx(74.9)
    assert found["BERT (avg.)", "A"]["difference"] == pytest.approx(0.31)
    assert found["BERT (avg.)", "mean"]["note"] == "not scored: stsb test"


def test_a_planted_difference_is_named_and_an_equal_score_is_not(copy: Project) -> None:
    """Of one made checkpoint, one paper prints the score, and another one point more."""
    shutil.copytree(copy.latest("06_models/multilingual/untrained/encoder"), copy.folder / "own encoder")
    scores = copy.json("07_model_output/multilingual/untrained/scores.json")
    (value,) = (row["value"] for row in scores if row["task"] == "sample_graded")
    model = {"base": "nothing", "checkpoints": ["org/own encoder"]}
    column = {"header": "graded", "task": "sample_graded", "subset": "en", "metric": METRIC}
    right, wrong = (paper({"Own": [figure]}, [column], Own=model)["made"] for figure in (value, value + 1))
    for name, figures in {"right": right, "wrong": {**wrong, "short": "Wrong (2000)"}}.items():
        file = copy.folder / "conf" / "base" / "published" / f"{name}.yml"
        file.write_text(yaml.safe_dump(figures, allow_unicode=True), encoding="utf-8")
    values = {"evaluate": {"baselines": {"Ours": {"name": "own encoder"}, "unpublished": {"name": "no/such"}}}}
    (copy.folder / "conf" / "local" / "parameters.yml").write_text(yaml.safe_dump(values), encoding="utf-8")
    done = copy.run("validate_evaluation")
    differing = f"Wrong (2000), table 1, Own (Ours), graded: {value:.2f} here, {value + 1:.2f} printed (-1.00)"
    assert differing in done.stderr
    assert "Made (2000), table 1" not in done.stderr
    assert "1 of 2 printed scores differ by more than 0.3 points; 0 could not be measured" in done.stderr
    table = pd.read_parquet(copy.latest("08_reporting/validation/differences.parquet"))
    assert sorted(table["difference"].round(6)) == [-1.0, 0.0]


def test_without_a_published_baseline_the_remedy_is_named(tmp_path: Path) -> None:
    published = PublishedPapers.model_validate(paper({"Made": [70.0, 80.0, 75.0]}))
    own = EvaluateOptions(tasks=None, baselines={"mine": Baseline(name="org/mine")})
    acquire, sets = AcquireOptions.model_construct(), EvaluationSetOptions(folder=tmp_path)
    with pytest.raises(EaseError, match="No baseline of .* is a model of conf/base/published: run with --env=paper"):
        locate_printed_sets(acquire, sets, {}, own, published)


def test_without_any_evaluation_set_nothing_is_compared(tmp_path: Path) -> None:
    published = PublishedPapers.model_validate(paper({"Made": [70.0, 80.0, 75.0]}))
    own = EvaluateOptions(tasks=None, baselines={"made": Baseline(name="org/made", tasks=("stsb:test",))})
    acquire, sets = AcquireOptions.model_construct(), EvaluationSetOptions(folder=tmp_path)
    tasks = {"stsb": {**package_tasks({})["stsb"], "path": "stsb"}}
    with pytest.raises(EaseError, match="None of the evaluation sets .*: add `acquire_evaluation.fetch=true`"):
        locate_printed_sets(acquire, sets, tasks, own, published)
