"""The results of the main job, run by the real command line on a small sample."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from huggingface_hub import ModelCard
from mlflow.entities import Run
from mlflow.tracking import MlflowClient
from sentence_transformers import SentenceTransformer
from transformers import AutoModel

from ease.io.files import hash_contents
from ease.reporting.markdown_tables import format_table
from ease.reporting.score_summaries import score_table
from tests.project import SMALL, Project

METHODS = ("simcse", "ease", "ease_plus")
SHARED = {
    "multilingual.dumps": "01_raw/multilingual/dumps.json",
    "multilingual.evaluation_data": "01_raw/multilingual/evaluation_data.json",
    "multilingual.untrained.encoder": "06_models/multilingual/untrained/encoder",
}
ENTITIES = {
    **SHARED,
    "multilingual.entity_vocabulary": "03_primary/multilingual/entity_vocabulary.parquet",
    "multilingual.training_pairs": "05_model_input/multilingual/training_pairs.parquet",
    "multilingual.entity_embeddings": "05_model_input/multilingual/entity_embeddings.safetensors",
}
TRAINED_ON = {
    "ease": ENTITIES,
    "ease_plus": ENTITIES,
    "simcse": {**SHARED, "multilingual.simcse.texts": "05_model_input/multilingual/simcse/texts"},
}
"""The inputs of a training run, with the folders of their versions."""


@pytest.fixture(scope="module")
def client(project: Project) -> MlflowClient:
    return MlflowClient(project.store)


@pytest.fixture(scope="module")
def runs(client: MlflowClient) -> dict[str, Run]:
    """Return the MLflow runs by the first part of their names."""
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    return {run.info.run_name.partition(",")[0]: run for run in client.search_runs(experiments)}


def scores_of(project: Project) -> pd.DataFrame:
    """Return the saved scores of all encoders."""
    path = "07_model_output/multilingual/{}/scores.json"
    found = [pd.DataFrame(project.json(path.format(name))).assign(method=name) for name in ("untrained", *METHODS)]
    return pd.concat(found)


def test_the_printed_table_is_the_saved_one_and_that_of_the_scores(project: Project) -> None:
    table = score_table(scores_of(project))
    logged = table[(table["metric"] != "csls_accuracy") | (table["subset"] == "average")]
    assert format_table(logged) in project.log.read_text(encoding="utf-8")
    saved = pd.read_parquet(project.latest("08_reporting/multilingual/comparison.parquet"))
    pd.testing.assert_frame_equal(saved, table, check_dtype=False)
    subsets = table[table["metric"] == "retrieval_accuracy"]["subset"].tolist()
    assert len(subsets) == 18
    assert subsets[-1] == "average"
    assert table[["untrained", *METHODS]].notna().all(axis=None)


def test_the_log_is_short_and_lists_the_steps_and_the_results(project: Project) -> None:
    log = project.log.read_text(encoding="utf-8")
    # The default sample has 14 more languages, each with a row in the table of ingested data.
    assert len(log.splitlines()) + 14 < 100
    assert "Warning" not in log
    assert "deprecated" not in log
    lines = log.splitlines()
    ending = "\n".join(lines[next(n for n, line in enumerate(lines) if "Done: 23 nodes" in line) :])
    paths = [project.folder / word for word in ending.split() if word.startswith("data/")]
    assert len(paths) == 4
    assert all(path.is_symlink() and path.exists() for path in paths)
    assert ending.count("ease.servers mlflow") == ending.count("kedro run --pipelines=report") == 1
    # Each training run says how it computes, and all of them compute alike.
    shown = [line.partition(": ")[2] for line in lines if line[:2].isdigit() and "Execution: " not in line]
    assert len(shown) == len(set(shown)), "no line is repeated"


@pytest.mark.parametrize("method", METHODS)
def test_the_model_card_names_languages_data_licences_parameters_and_scores(project: Project, method: str) -> None:
    folder = project.latest(f"06_models/multilingual/{method}/encoder")
    card = ModelCard.load(folder / "README.md")
    assert sorted(card.data.language) == ["ar", "de", "en", "ja"]
    assert card.data.license == "apache-2.0"
    assert f"`{method}`" in card.text
    sources = [line for line in card.text.splitlines() if "| 20240101 |" in line]
    for source in (*(f"({language})" for language in card.data.language), "Wikidata"):
        assert any(source in line and "Unicode License" in line for line in sources), source
    for name, value in parameters_given(method).items():
        assert f"| `{name}` | {value} |" in card.text
    history = pd.DataFrame(project.json(f"06_models/multilingual/{method}/history.json"))
    best = history[(history["name"] == "development") & (history["step"] > 0)]["value"].max()
    assert f"| development | {best:.2f} |" in card.text
    assert "Training started from random weights." in card.text
    scores = project.json(f"07_model_output/multilingual/{method}/scores.json")
    (graded,) = [score for score in scores if score["task"] == "sample_graded"]
    assert f"| `sample_graded/en` | {graded['value']:.2f} |" in card.text.partition("## Test scores")[2]
    assert ("hard negative" in card.text.lower()) == (method != "simcse")


def parameters_given(method: str) -> dict[str, Any]:
    """The parameters of a method's training that the command line gave."""
    prefix = f"multilingual.{method}."
    return {name.removeprefix(prefix): value for name, value in SMALL.items() if name.startswith(prefix)}


@pytest.mark.parametrize("method", METHODS)
def test_each_training_is_a_nested_run_with_its_parameters_data_scores_and_model(
    project: Project, client: MlflowClient, runs: dict[str, Run], method: str
) -> None:
    run = runs[f"multilingual.{method}"]
    parameters = run.data.params
    assert run.data.tags["mlflow.parentRunId"] == runs["train_multilingual"].info.run_id
    assert run.info.run_id in project.latest("08_reporting/multilingual/comparison.html").read_text(encoding="utf-8")
    assert parameters["method"] == method
    assert parameters["setting.languages"] == "['en', 'ja', 'ar', 'de']"
    assert parameters["code"].startswith("0.")
    for name, value in parameters_given(method).items():
        assert parameters[name] == str(value)
    paths = {name: project.latest(path) for name, path in TRAINED_ON[method].items()}
    logged = {name: value for name, value in parameters.items() if name.startswith("data.")}
    assert logged == {f"data.{name}": path.parent.name for name, path in paths.items()}
    assert run.inputs is not None
    inputs = {given.dataset.name: given for given in run.inputs.dataset_inputs}
    assert inputs.keys() == paths.keys()
    for name, given in inputs.items():
        assert given.dataset.digest == hash_contents(paths[name])[:36]
        tags = {tag.key: tag.value for tag in given.tags}
        assert tags == {"mlflow.data.context": "training", "version": paths[name].parent.name}
    scores = project.json(f"07_model_output/multilingual/{method}/scores.json")
    for score in (score for score in scores if score["main"]):
        assert run.data.metrics[f"{score['task']}/{score['subset']}"] == pytest.approx(score["value"])
    assert [file.path for file in client.list_artifacts(run.info.run_id)] == ["curves.svg", "model_card.md"]
    saved = project.latest(f"06_models/multilingual/{method}/encoder")
    card = Path(client.download_artifacts(run.info.run_id, "model_card.md")).read_text(encoding="utf-8")
    assert card == (saved / "README.md").read_text(encoding="utf-8")
    assert AutoModel.from_pretrained(saved).config.hidden_size == 32
    assert not list(saved.rglob("*.bin"))
    (model,) = client.search_logged_models([run.info.experiment_id], f"source_run_id = '{run.info.run_id}'")
    assert model.name == f"multilingual-{method}"
    metrics = {metric.key: metric for metric in model.metrics or []}
    for score in (score for score in scores if score["main"]):
        metric = metrics[f"{score['task']}/{score['subset']}"]
        assert metric.value == pytest.approx(score["value"])
        assert (metric.dataset_name, metric.dataset_digest) == (score["task"], score["data"][:36])
    assert [metric.key for metric in model.metrics or [] if metric.dataset_digest is None] == []
    history = pd.DataFrame(project.json(f"06_models/multilingual/{method}/history.json"))
    kept_step = int(run.data.tags["kept_step"])
    (graded,) = [score for score in scores if score["task"] == "sample_graded" and score["main"]]
    texts = inputs[f"multilingual.{'simcse.texts' if method == 'simcse' else 'training_pairs'}"].dataset
    linked_data = {
        "development/sample_graded/en": ("sample_graded", graded["data"][:36]),
        "loss": (texts.name, texts.digest),
    }
    for name, data_set in linked_data.items():
        points = history[(history["name"] == name) & (history["step"] <= kept_step)]
        last = points.loc[points["step"].idxmax()]
        assert (metrics[name].step, metrics[name].value) == (last["step"], last["value"]), "of the kept model"
        assert (metrics[name].dataset_name, metrics[name].dataset_digest) == data_set
        assert len(client.get_metric_history(run.info.run_id, name)) == sum(history["name"] == name)
    folder = Path(model.artifact_location.removeprefix("file:")) / "model.sentence_transformer"
    linked = project.folder / f"data/06_models/multilingual/{method}/latest"
    embeddings = [SentenceTransformer(str(one)).encode(["A sentence.", "文。"]) for one in (folder, linked)]
    np.testing.assert_array_equal(*embeddings)
    assert embeddings[0].shape == (2, 32)


def test_logged_models_are_found_by_their_scores_on_a_data_set(
    project: Project, client: MlflowClient, runs: dict[str, Run]
) -> None:
    scores = scores_of(project)
    (average,) = scores[(scores["subset"] == "average") & scores["main"] & (scores["method"] == "ease")].to_dict(
        "records"
    )
    name = f"{average['task']}/average"
    experiments = [runs["train_multilingual"].info.experiment_id]
    found = {
        digest: client.search_logged_models(
            experiments,
            f"metrics.`{name}` >= {average['value'] - 1e-6}",
            datasets=[{"dataset_name": average["task"], "dataset_digest": digest}],
            order_by=[{"field_name": f"metrics.{name}", "ascending": False}],
        )
        for digest in (average["data"][:36], "another")
    }
    assert "multilingual-ease" in [model.name for model in found[average["data"][:36]]]
    assert found["another"] == []


def test_the_runs_are_named_described_and_scored_for_the_list(
    project: Project, client: MlflowClient, runs: dict[str, Run]
) -> None:
    parent, ease = runs["train_multilingual"], runs["multilingual.ease"]
    assert parent.info.run_name.startswith("train_multilingual, en ja ar de, random, ")
    changed = "layers=1, hidden_size=32, vocabulary_size=1000, max_steps=6"
    assert ease.info.run_name == f"multilingual.ease, {changed}"
    assert parent.data.tags["kedro_command"] == "kedro run --pipelines=train_multilingual"
    scores = scores_of(project).reset_index(drop=True)
    main = scores[scores["main"] & scores["subset"].isin(["average", "en"])].assign(
        name=lambda rows: rows.task + "/" + rows.subset
    )
    expected = {f"multilingual.{row.method}/{row.name}": row.value for row in main.itertuples()}
    best = main.loc[main[main.task == "sample_parallel"].value.idxmax(), "method"]
    expected |= main[main.method == best].set_index("name").value.to_dict()
    assert parent.data.metrics == pytest.approx(expected)
    note, ease_note = (run.data.tags["mlflow.note.content"] for run in (parent, ease))
    shown = f"{ease.data.metrics['sample_parallel/average']:.1f}"
    assert re.search(rf"multilingual\.ease +\| +{re.escape(shown)} ", note)
    assert f"Test scores: `sample_parallel/average` {shown}, " in ease_note
    assert parent.inputs is not None
    names = {given.dataset.name for given in parent.inputs.dataset_inputs}
    assert names == {*TRAINED_ON["ease"], *TRAINED_ON["simcse"]}


def test_the_parent_run_holds_table_plots_and_each_parameter_once(client: MlflowClient, runs: dict[str, Run]) -> None:
    parent = runs["train_multilingual"]
    artifacts = {file.path for file in client.list_artifacts(parent.info.run_id)}
    assert {"comparison.json", "comparison.svg", "curves.svg"} <= artifacts
    parameters = parent.data.params
    assert parameters["ingest.splitter"] == "polyglot"
    assert parameters["multilingual.ease.training.batch_size"] == "16"
    assert parameters["tasks.sample_parallel.candidates"] == "30"
    tasks = {name.split(".")[1] for name in parameters if name.startswith("tasks.")}
    assert tasks == {"sample_parallel", "sample_graded"}
    groups = [name for name in parameters if any(other.startswith(f"{name}.") for other in parameters)]
    assert not groups, "no group of options is logged as text beside its fields"


def test_every_version_records_its_inputs(project: Project) -> None:
    file = project.latest("05_model_input/multilingual/training_pairs.parquet").parent / "provenance.json"
    provenance = pd.read_json(file, typ="series")
    pairs = project.latest("03_primary/multilingual/pairs.parquet").parent.name
    assert provenance["inputs"]["multilingual.pairs"] == pairs
    assert provenance["parameters"]["params:hard_negatives"]["without"] == "keep"
    assert provenance["code"].startswith("0.")
    versions = [path for path in (project.folder / "data").glob("**/????-??-??T*Z") if path.is_dir()]
    assert len(versions) > 20
    assert all((version / "provenance.json").is_file() for version in versions)
