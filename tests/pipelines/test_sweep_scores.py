"""The scores of a sweep's variants, in the MLflow run of the `kedro run` that trained them."""

from __future__ import annotations

import pandas as pd
import pytest
import yaml
from mlflow.tracking import MlflowClient

from ease.hooks.tracking import variant_headlines
from ease.io.names import safe_name
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
