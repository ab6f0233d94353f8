"""The scores of a sweep's variants, in the MLflow run of the `kedro run` that trained them."""

from __future__ import annotations

import pandas as pd
import pytest
import yaml
from mlflow.tracking import MlflowClient

from ease.hooks.mlflow import variant_headlines
from ease.io.names import PREPARATION, safe_name
from tests.project import Project

GRID = {
    "variants": [{"method": "start", "name": "w/o training (start)", "seeds": [1, 2]}],
    "grids": [{"method": "simcse", "training": {"learning_rate": [1.0e-3, 3.0e-3]}, "seeds": [1]}],
}


def test_the_parent_run_holds_the_headline_scores_of_each_variant(copy: Project) -> None:
    local = copy.folder / "conf" / "local" / "parameters.yml"
    local.write_text(yaml.safe_dump({"grid": GRID}), encoding="utf-8")
    copy.run("grid", "--tags=sweep")
    client = MlflowClient(copy.store)
    experiments = [found.experiment_id for found in client.search_experiments()]
    (parent,) = client.search_runs(experiments, "tags.mlflow.runName LIKE 'grid%'")
    table = pd.read_parquet(copy.latest("08_reporting/multilingual/sweeps/grid.parquet"))
    main = table[table["subset"].isin(["average", "en"])]
    expected = {
        f"multilingual.grid.{safe_name(variant)}/{task}/{subset}": value
        for (variant, task, subset), value in main.groupby(["variant", "task", "subset"])["value"]
        .mean()
        .items()
    }
    assert len(expected) == 6
    assert parent.data.metrics == pytest.approx(expected)


SIDE_BY_SIDE = {
    "grids": [],
    "seeds": [1],
    "settings": {"average": {"encoder": {"pooling": "mean"}}, "first": {"encoder": {"pooling": "cls"}}},
    "variants": [
        {"method": "mirror_bert", "name": "sentences"},
        {"method": "mirror_bert", "name": "strings", "data": [{"kind": "random_strings"}], "rows": 100},
    ],
}


@pytest.mark.slow
def test_variants_of_one_method_stand_side_by_side(copy: Project) -> None:
    local = copy.folder / "conf" / "local" / "parameters.yml"
    local.write_text(yaml.safe_dump({"mirror_span": SIDE_BY_SIDE}), encoding="utf-8")
    copy.run("train_monolingual", f"--tags={PREPARATION}")
    copy.run("mirror_span")
    copy.run("report")
    table = pd.read_parquet(copy.latest("08_reporting/monolingual/sweeps/mirror_span.parquet"))
    labels = [f"{name} ({under})" for under in ("average", "first") for name in ("sentences", "strings")]
    assert list(dict.fromkeys(table["variant"])) == labels
    assert set(table.loc[table["split"] == "development", "task"]) == {"sample_graded_dev"}
    assert set(table.loc[table["split"] == "test", "task"]) == {"sample_graded"}
    client = MlflowClient(copy.store)
    runs = client.search_runs([found.experiment_id for found in client.search_experiments()])
    assert {f"{label} seed=1" for label in labels} <= {run.info.run_name for run in runs}
    reported = copy.json("08_reporting/monolingual/report_scores.json")
    swept = {(row["method"], row["pooling"], row["sweep"]) for row in reported if row.get("sweep")}
    assert swept == {
        (name, pooling, f"mirror_span, {under}")
        for name in ("sentences", "strings")
        for under, pooling in (("average", "mean"), ("first", "cls"))
    }


def test_a_variant_is_averaged_over_its_seeds_and_unscored_rows_do_not_count() -> None:
    scores = [("a=1", 1, 10.0), ("a=1", 2, 20.0), ("a=2", 1, 30.0), ("a=2", 2, None)]
    rows = pd.DataFrame(
        [
            {
                "variant": variant,
                "split": "test",
                "seed": seed,
                "task": "stsb",
                "subset": "test",
                "metric": "spearman",
                "value": value,
            }
            for variant, seed, value in scores
        ]
    )
    expected = {"a=1": 15.0, "a=2": 30.0}
    assert variant_headlines("multilingual.grid", rows) == {
        f"multilingual.grid.{safe_name(name)}/stsb/test": value for name, value in expected.items()
    }
