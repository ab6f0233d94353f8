"""The main job by the real command line, on a small sample, and what users do with its results."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pandas as pd
import pytest
from mlflow.entities import Run
from mlflow.tracking import MlflowClient
from sentence_transformers import SentenceTransformer
from transformers import AutoModel

from tests.project import Project

METHODS = ("ease", "simcse")


@pytest.fixture(scope="module")
def runs(project: Project) -> dict[str, Run]:
    """The MLflow runs by their names."""
    client = MlflowClient(f"sqlite:///{project.folder}/data/08_reporting/mlflow.db")
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    return {run.info.run_name: run for run in client.search_runs(experiments)}


def test_one_table_compares_the_methods_with_the_untrained_encoder(project: Project) -> None:
    table = pd.read_parquet(project.latest("08_reporting/multilingual/comparison.parquet"))
    assert {"untrained", *METHODS} < set(table.columns)
    subsets = table[table["task"] == "sample_parallel"]["subset"].tolist()
    assert len(subsets) == 18
    assert subsets[-1] == "average"
    assert table[list(METHODS)].notna().all(axis=None)


@pytest.mark.parametrize("plot", ["ingest_plot", "pair_funnel_plot", "comparison_plot", "curves_plot"])
def test_every_plot_holds_data(project: Project, plot: str) -> None:
    figure = project.json(f"08_reporting/multilingual/{plot}.json")
    assert figure["data"]
    assert figure["layout"]["title"]["text"]


@pytest.mark.parametrize("method", METHODS)
def test_the_model_loads_in_the_usual_libraries(project: Project, method: str) -> None:
    folder = project.latest(f"06_models/multilingual/{method}/encoder")
    embeddings = SentenceTransformer(str(folder)).encode(["A sentence.", "文。"])
    assert embeddings.shape == (2, 32)
    assert AutoModel.from_pretrained(folder).config.hidden_size == 32
    assert not list(folder.rglob("*.bin"))
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert f"`{method}`" in card
    assert "20240101" in card
    assert "CC BY-SA" in card


def test_each_training_is_a_nested_run_with_all_that_one_compares(
    project: Project, runs: dict[str, Run]
) -> None:
    parent = runs["train_multilingual"]
    client = MlflowClient(f"sqlite:///{project.folder}/data/08_reporting/mlflow.db")
    for method in METHODS:
        run = runs[f"multilingual.{method}"]
        assert run.data.tags["mlflow.parentRunId"] == parent.info.run_id
        assert run.data.params["method"] == method
        assert run.data.params["training.steps"] == "6"
        assert run.data.params["data.multilingual.training_pairs"]
        assert run.data.params["code"]
        curves = {"loss", "learning_rate", "pairs_per_second", "development"}
        assert curves < set(run.data.metrics)
        assert "scores/sample_parallel/average" in run.data.metrics
        assert [file.path for file in client.list_artifacts(run.info.run_id)] == ["curves.html"]
    assert parent.data.params["ingest.splitter"] == "polyglot"


def test_the_parent_run_holds_table_and_plots(runs: dict[str, Run], project: Project) -> None:
    client = MlflowClient(f"sqlite:///{project.folder}/data/08_reporting/mlflow.db")
    artifacts = {file.path for file in client.list_artifacts(runs["train_multilingual"].info.run_id)}
    assert {"comparison.json", "comparison.html", "curves.html"} <= artifacts


def test_the_summaries_count_pages_links_and_negatives(project: Project) -> None:
    summary = project.json("08_reporting/multilingual/ingest_summary.json")
    english = next(row for row in summary["languages"] if row["language"] == "en")
    assert english["pages"] == english["kept"] + sum(
        number for name, number in english.items() if name.startswith("skipped_")
    )
    assert 0 < english["links_resolved"] <= english["links"]
    assert sum(
        row["with_negative"] for row in project.json("08_reporting/multilingual/hard_negative_summary.json")
    )
    coverage = project.json("08_reporting/multilingual/embedding_coverage.json")
    assert 0 < coverage["found"] <= coverage["total"]


def test_an_older_models_scores_are_reproduced(project: Project) -> None:
    older = project.latest("06_models/multilingual/ease/encoder").parent.name
    scores = project.json("07_model_output/multilingual/ease/scores.json")
    project.run("train,evaluate", "--namespaces=multilingual.ease", multilingual__ease__training__seed=7)
    assert project.latest("06_models/multilingual/ease/encoder").parent.name > older
    assert project.json("07_model_output/multilingual/ease/scores.json") != scores
    project.run(
        "evaluate", "--namespaces=multilingual.ease", f"--load-versions=multilingual.ease.encoder:{older}"
    )
    assert project.json("07_model_output/multilingual/ease/scores.json") == scores


def test_only_missing_outputs_goes_on_and_refuses_stale_ones(project: Project) -> None:
    pairs = project.latest("03_primary/multilingual/pairs.parquet").parent
    shutil.rmtree(pairs)
    refused = project.run(
        "entity_pairs", "--only-missing-outputs", check=False, multilingual__vocabulary__min_link_count=3
    )
    assert refused.returncode == 1
    assert "`multilingual.entity_vocabulary` was made from other" in refused.stderr
    assert "min_link_count" in refused.stderr
    assert "Traceback" not in refused.stderr
    gone_on = project.run("entity_pairs", "--only-missing-outputs")
    assert "Running 1 out of 3 nodes" in gone_on.stderr
    assert project.latest("03_primary/multilingual/pairs.parquet").is_file()


def test_every_version_says_what_it_was_made_from(project: Project) -> None:
    sidecar = project.latest("05_model_input/multilingual/training_pairs.parquet").parent / "provenance.json"
    provenance = json.loads(sidecar.read_text(encoding="utf-8"))
    assert provenance["inputs"]["multilingual.pairs"]
    assert provenance["parameters"]["params:hard_negatives"]["without"] == "keep"
    assert provenance["code"].startswith("0.")


def test_the_monolingual_job_runs_without_wikidata(project: Project) -> None:
    done = project.run("train_monolingual", acquire__wikidata="null")
    assert "No Wikidata dump: titles are the entities" in done.stderr
    pairs = pd.read_parquet(project.latest("05_model_input/monolingual/training_pairs.parquet"))
    assert (pairs["entity"] < 0).all()
    assert pairs["hard_negative"].isna().all()


SWEEPS = {"seeds": 2 * 5, "grid": 3, "control": 3}


@pytest.mark.slow
@pytest.mark.parametrize("sweep", SWEEPS)
def test_every_sweep_trains_all_its_variants(project: Project, sweep: str) -> None:
    steps: dict[str, Any] = {
        f"multilingual__{method}__training__{name}": 2
        for method in METHODS
        for name in ("steps", "evaluate_every")
    }
    project.run(sweep, **steps)
    table = pd.read_parquet(project.latest(f"08_reporting/multilingual/sweeps/{sweep}.parquet"))
    trainings = table[["variant", "seed"]].drop_duplicates()
    assert len(trainings) == SWEEPS[sweep]
    if sweep == "control":
        assert "ease permuted" in set(table["variant"])


def test_every_other_pipeline_runs_by_its_own_name(project: Project) -> None:
    for pipeline in (
        "acquire",
        "acquire_evaluation",
        "ingest",
        "hard_negatives",
        "entity_embeddings",
        "report",
    ):
        project.run(pipeline)
    assert len(project.versions("08_reporting/multilingual/comparison.parquet")) >= 2


def test_half_written_versions_and_unwritable_folders_are_told_apart(project: Project) -> None:
    folder = project.folder / "data" / "03_primary"
    aside = folder.with_name("03_primary.aside")
    folder.rename(aside)
    folder.write_text("a file in the folder's place")
    try:
        done = project.run("entity_pairs", check=False)
    finally:
        folder.unlink()
        aside.rename(folder)
    assert done.returncode == 1
    assert "Cannot write to" in done.stderr
    assert "03_primary" in done.stderr
    assert "Traceback" not in done.stderr
