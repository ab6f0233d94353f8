"""`kedro run --pipelines=analysis` by the real command line, after a training."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mlflow.tracking import MlflowClient
from sentence_transformers import SentenceTransformer

from tests.project import Project

REPORTING = "08_reporting/multilingual/analysis"
MODELS = ["ease", "simcse", "untrained"]


def analysed(project: Project, name: str) -> pd.DataFrame:
    return pd.read_parquet(project.latest(f"{REPORTING}/{name}.parquet"))


@pytest.fixture(scope="module")
def done(project: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, str]:
    """A trained project without one of its encoders on which `analysis` has run, and the command's output."""
    analysed = project.copy(tmp_path_factory.mktemp("analysed"))
    shutil.rmtree(analysed.folder / "data" / "06_models" / "multilingual" / "ease_plus" / "encoder")
    further = analysed.latest("06_models/multilingual/untrained/encoder")
    given: dict[str, Any] = {
        "multilingual__analysis__roc_curves__further__SBERT": further,
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


def test_tables_and_figures_have_all_encoders_and_are_kept_by_mlflow(done: tuple[Project, str]) -> None:
    project, _ = done
    rows = {
        **{"alignment_uniformity": 1, "language_pair": 20, "isotropy": 1, "cosine_distributions": 16},
        **{"language_identity": 1, "given_pairs": 2},
    }
    for name, count in rows.items():
        found = analysed(project, name).groupby("model").size().to_dict()
        assert found == dict.fromkeys(MODELS, count), name
    areas = analysed(project, "roc_curves").groupby("model")["auc"].first()
    assert set(areas.index) == {*MODELS, "SBERT"}
    assert areas["SBERT"] == areas["untrained"]
    assert analysed(project, "differing_pairs")["change"].tolist() == ["improved"] * 3 + ["deteriorated"] * 3
    # 40 facts in four languages; a fifth of the facts are test data.
    sizes = analysed(project, "language_identity")[["training", "test", "chance"]].drop_duplicates()
    assert sizes.values.tolist() == [[128, 32, 25]]
    plotted, titles = set(), ["Untrained", "SimCSE", "EASE"]
    for name, traces in {
        "alignment_uniformity": titles,
        "language_pair": ["translations", "ja", "en"] * 3,
        "cosine_distributions": ["positive pairs", "negative pairs"] * 3,
        "roc_curves": [*titles, "SBERT", "chance"],
    }.items():
        figure = project.json(f"{REPORTING}/{name}_plot.json")
        assert [trace["name"].partition(":")[0] for trace in figure["data"]] == traces
        plotted.add(name)
    client = MlflowClient(project.store)
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    (run,) = client.search_runs(experiments, "attributes.run_name LIKE 'analysis%'")
    kept = {file.path for file in client.list_artifacts(run.info.run_id)}
    tables = {*rows, "roc_curves", "differing_pairs"}
    assert kept == {f"{name}.json" for name in tables} | {f"{name}.svg" for name in plotted}
