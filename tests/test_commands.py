"""Commands after the main job, each on a copy of its project."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from kedro.config import OmegaConfigLoader
from mlflow.tracking import MlflowClient

from ease.pipelines.setting import SETTINGS
from ease.pipelines.sweep.variants import Sweeps
from ease.settings import CONFIG_LOADER_ARGS
from ease.texts.pairs import PREPARATION
from tests.contexts import all_pipelines
from tests.project import METHODS, SWEEPS, Project

PIPELINES = all_pipelines()
STAGES = "acquire,acquire_evaluation,ingest,entity_pairs,hard_negatives,entity_embeddings"
LISTS = {"mirror_words", "mirror_phrases"}
"""Sweeps that need a list of strings."""
SAMPLE_SWEEPS = [name for name, setting in SWEEPS.items() if setting in SETTINGS and name not in LISTS]


def versions_in(project: Project) -> set[Path]:
    """Return the versions of all datasets."""
    return {path for path in (project.folder / "data").glob("**/????-??-??T*Z") if any(path.iterdir())}


@pytest.mark.parametrize("names", [STAGES, "analysis", "contamination"])
def test_every_output_of_a_pipeline_is_saved(copy: Project, names: str) -> None:
    before = versions_in(copy)
    copy.run(names)
    new = versions_in(copy) - before
    outputs = set[str]().union(*(PIPELINES[name].all_outputs() for name in names.split(",")))
    assert len(new) == len(outputs)
    assert len({version.name for version in new}) == 1


@pytest.mark.slow
def test_every_method_is_trained_by_its_name_and_scored_beside_the_others(copy: Project) -> None:
    """The main job has trained the default ones."""
    others = [method for method in METHODS if not copy.versions(f"06_models/multilingual/{method}/encoder")]
    assert len(others) == 5
    chosen = ",".join(f"multilingual.{method}" for method in others)
    few = {f"multilingual__{method}__rows": 200 for method in others}
    copy.run("train,evaluate", f"--namespaces={chosen}", multilingual__setting__start="mlm", **few)
    copy.run("report")
    table = pd.read_parquet(copy.latest("08_reporting/multilingual/comparison.parquet"))
    assert set(METHODS) <= set(table.columns)
    assert table[METHODS].notna().all(axis=None)
    client = MlflowClient(copy.store)
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    runs = {run.info.run_name.partition(",")[0]: run for run in client.search_runs(experiments)}
    for method in METHODS:
        assert "sample_graded/en" in runs[f"multilingual.{method}"].data.metrics


@pytest.mark.slow
def test_each_added_language_has_its_own_model(copy: Project) -> None:
    small = {
        "low_resource__setting__languages": "en de ja",
        "low_resource__setting__encoder__random__layers": 1,
        "low_resource__setting__encoder__random__hidden_size": 32,
        "low_resource__setting__encoder__random__vocabulary_size": 1000,
        **{
            f"low_resource__{method}__training__{name}": value
            for method in ("ease", "mlm")
            for name, value in {"max_steps": 4, "batch_size": 16, "evaluate_every": 4}.items()
        },
    }
    done = copy.run("train_low_resource", **small)
    table = pd.read_parquet(copy.latest("08_reporting/low_resource/sweeps/low_resource_languages.parquet"))
    assert set(table["variant"]) == {"start", "ease de", "ease ja"}
    assert set(table.loc[table["variant"] == "ease ja", "languages"]) == {"en ja"}
    for language in ("de", "ja"):
        methods = re.findall(rf"^\| {language} +\| (\w+) ", done.stderr, re.MULTILINE)
        assert methods == ["start", "ease"], "each language before and after"


@pytest.mark.slow
def test_the_monolingual_job_runs_as_configured(copy: Project) -> None:
    done = copy.run("train_monolingual,analysis_monolingual,contamination_monolingual")
    pairs = pd.read_parquet(copy.latest("05_model_input/monolingual/training_pairs.parquet"))
    assert set(pairs["language"]) == {"en"}
    assert (pairs["entity"] > 0).all()
    assert pairs["hard_negative"].notna().any()
    table = pd.read_parquet(copy.latest("08_reporting/monolingual/comparison.parquet"))
    assert table[["untrained", "simcse", "ease", "ease_plus"]].notna().all(axis=None)
    assert "| sample_graded |" in done.stderr
    assert "Alignment" in done.stderr
    assert "test texts are among the training sentences of monolingual" in done.stderr


@pytest.fixture(scope="module")
def prepared(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the pairs of both settings; each sweep writes files of its own."""
    made = project.copy(tmp_path_factory.mktemp("prepared"))
    sweeps = made.folder / "conf" / "base" / "parameters" / "sweeps"
    for name, own, few in (("mirror_data", "[100, 300, 1000]", "[100, 200]"), ("msimcse_grid", "800", "4")):
        text = (sweeps / f"{name}.yml").read_text("utf-8")
        assert own in text
        (sweeps / f"{name}.yml").write_text(text.replace(own, few), "utf-8")
    made.run("train_monolingual", f"--tags={PREPARATION}")
    return made


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE_SWEEPS)
def test_every_sweep_trains_all_its_variants(prepared: Project, name: str) -> None:
    """On the kept pairs, with one seed, two steps, batches of two sub-batches of 32 and one test task."""
    setting = SWEEPS[name]
    shortened: dict[str, Any] = {
        f"{setting}__{method}__training__{parameter}": value
        for method in METHODS
        for parameter, value in {"max_steps": 2, "evaluate_every": 2, "batch_size": 64}.items()
    }
    shortened |= {f"sweeps__{name}__seeds": 1, f"{setting}__setting__test_tasks": "sample_graded"}
    prepared.run("sweep", sweep=name, **shortened)
    table = pd.read_parquet(prepared.latest(f"08_reporting/{setting}/sweeps/{name}.parquet"))
    assert table["value"].between(-100, 100).all()
    configured = OmegaConfigLoader(str(prepared.folder / "conf"), **CONFIG_LOADER_ARGS)["parameters"]
    variants = Sweeps.model_validate(configured["sweeps"]).root[name].all_variants()
    assert set(zip(table["variant"], table["seed"], strict=True)) == {(one.label, 1) for one in variants}


@pytest.mark.slow
def test_older_versions_are_loaded_named_and_give_their_scores_again(copy: Project) -> None:
    model, table = "06_models/multilingual/ease/encoder", "05_model_input/multilingual/training_pairs.parquet"
    older, pairs = (copy.latest(path).parent.name for path in (model, table))
    scores = copy.json("07_model_output/multilingual/ease/scores.json")
    copy.run("entity_pairs,hard_negatives", multilingual__pairs__seed=7)
    newer, only = copy.latest(table).parent.name, "--namespaces=multilingual.ease"
    versions = f"--load-versions=multilingual.training_pairs:{pairs}"
    copy.run("train,evaluate", only, versions, multilingual__ease__training__seed=7)
    assert copy.latest(model).parent.name > older
    assert copy.json("07_model_output/multilingual/ease/scores.json") != scores
    client = MlflowClient(copy.store)
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    (run, _) = client.search_runs(experiments, "run_name LIKE 'multilingual.ease,%'", order_by=["start_time DESC"])
    assert run.data.params["data.multilingual.training_pairs"] == pairs
    assert run.data.params["data.multilingual.entity_vocabulary"] == newer > pairs
    copy.run("evaluate", only, f"--load-versions=multilingual.ease.encoder:{older}")
    assert copy.json("07_model_output/multilingual/ease/scores.json") == scores
