"""`kedro run --pipelines=analysis` by the real command line, after a training."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mlflow.tracking import MlflowClient
from sentence_transformers import SentenceTransformer

from tests.project import Project

REPORTING = "08_reporting/multilingual/analysis"
MODELS = ["ease", "ease_plus", "simcse", "untrained"]


def analysed(project: Project, name: str) -> pd.DataFrame:
    return pd.read_parquet(project.latest(f"{REPORTING}/{name}.parquet"))


@pytest.fixture(scope="module")
def done(project: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, str]:
    """A trained project on which `analysis` has run, and the command's output."""
    analysed = project.copy(tmp_path_factory.mktemp("analysed"))
    given: dict[str, Any] = {
        "multilingual__analysis__differing_pairs__rows": 3,
        "multilingual__analysis__language_pair__sentences": 10,
        "multilingual__analysis__language_pair__perplexity": 5,
        "multilingual__analysis__cosine_distributions__pairs": 16,
    }
    return analysed, analysed.run("analysis", **given).stderr


def test_alignment_and_uniformity_equal_those_of_the_saved_encoders(done: tuple[Project, str]) -> None:
    project, said = done
    (path,) = (project.folder / "data" / "01_raw" / "sample").rglob("graded.parquet")
    graded = pd.read_parquet(path)
    table = analysed(project, "alignment_uniformity").set_index("model")
    positive = graded[graded["score"] > 4]
    sentences = sorted({*graded["sentence1"], *graded["sentence2"]})
    for method, row in table.iterrows():
        folder = project.latest(f"06_models/multilingual/{method}/encoder")
        model = SentenceTransformer(str(folder), device="cpu")
        left, right, every = (
            model.encode(texts, normalize_embeddings=True).astype(np.float64)
            for texts in (positive["sentence1"].tolist(), positive["sentence2"].tolist(), sentences)
        )
        distances = np.square(every[:, None] - every[None]).sum(axis=2)[np.triu_indices(len(every), k=1)]
        assert row["alignment"] == pytest.approx(np.square(left - right).sum(axis=1).mean(), rel=1e-4)
        assert row["uniformity"] == pytest.approx(np.log(np.exp(-2 * distances).mean()), rel=1e-4)
        assert (row["positives"], row["sentences"]) == (len(positive), len(sentences))
        assert f"{row['alignment']:.3f} | {row['uniformity']:>10.3f}" in said


def test_each_table_has_all_encoders_and_each_figure_their_traces(done: tuple[Project, str]) -> None:
    project, _ = done
    rows = {
        **{"alignment_uniformity": 1, "language_pair": 20, "isotropy": 1, "cosine_distributions": 16},
        **{"language_identity": 1, "given_pairs": 2},
    }
    for name, count in rows.items():
        found = analysed(project, name).groupby("model").size().to_dict()
        assert found == dict.fromkeys(MODELS, count), name
    assert set(analysed(project, "roc_curves")["model"]) == set(MODELS)
    assert analysed(project, "differing_pairs")["change"].tolist() == ["improved"] * 3 + ["deteriorated"] * 3
    # 40 facts in four languages; a fifth of the facts are test data.
    sizes = analysed(project, "language_identity")[["training", "test", "chance"]].drop_duplicates()
    assert sizes.values.tolist() == [[128, 32, 25]]
    titles = ["Untrained", "SimCSE", "EASE", "EASE+"]
    for name, traces in {
        "alignment_uniformity": titles,
        "language_pair": ["translations", "ja", "en"] * 4,
        "cosine_distributions": ["positive pairs", "negative pairs"] * 4,
        "roc_curves": [*titles, "chance"],
    }.items():
        figure = project.json(f"{REPORTING}/{name}_plot.json")
        assert [trace["name"].partition(":")[0] for trace in figure["data"]] == traces


def test_mlflow_keeps_the_tables_and_the_plots(done: tuple[Project, str]) -> None:
    client = MlflowClient(done[0].store)
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    (run,) = client.search_runs(experiments, "attributes.run_name LIKE 'analysis%'")
    kept = {file.path for file in client.list_artifacts(run.info.run_id)}
    plotted = {"alignment_uniformity", "cosine_distributions", "language_pair", "roc_curves"}
    tables = {*plotted, "differing_pairs", "isotropy", "language_identity", "given_pairs"}
    assert kept == {f"{name}.json" for name in tables} | {f"{name}.html" for name in plotted}


def test_any_encoder_is_compared_and_untrained_ones_are_skipped(done: tuple[Project, str], tmp_path: Path) -> None:
    project = done[0].copy(tmp_path / "other")
    other = project.latest("06_models/multilingual/untrained/encoder")
    shutil.rmtree(project.folder / "data" / "06_models" / "multilingual" / "simcse" / "encoder")
    nodes = "multilingual.analysis.draw_roc_curves"
    project.run("analysis", "--nodes", nodes, multilingual__analysis__roc_curves__further__SBERT=other)
    areas = analysed(project, "roc_curves").groupby("model")["auc"].first()
    assert set(areas.index) == {*MODELS, "SBERT"} - {"simcse"}
    assert areas["SBERT"] == areas["untrained"]
