"""`kedro run --pipelines=analysis` by the real command line, after a training."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mlflow.tracking import MlflowClient
from scipy.stats import rankdata
from sentence_transformers import SentenceTransformer

from tests.project import Project

REPORTING = "08_reporting/multilingual/analysis"
MODELS = ["ease", "ease_plus", "simcse", "untrained"]


def analysed(project: Project, name: str) -> pd.DataFrame:
    return pd.read_parquet(project.latest(f"{REPORTING}/{name}.parquet"))


def unit_embeddings(project: Project, method: str, sentences: list[str]) -> np.ndarray:
    model = SentenceTransformer(str(project.latest(f"06_models/multilingual/{method}/encoder")), device="cpu")
    return model.encode(sentences, normalize_embeddings=True).astype(np.float64)


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


@pytest.fixture(scope="module")
def graded(done: tuple[Project, str]) -> pd.DataFrame:
    (path,) = (done[0].folder / "data" / "01_raw" / "sample").rglob("graded.parquet")
    return pd.read_parquet(path)


def test_alignment_and_uniformity_equal_those_of_the_saved_encoders(
    done: tuple[Project, str], graded: pd.DataFrame
) -> None:
    project, said = done
    table = analysed(project, "alignment_uniformity").set_index("model")
    assert sorted(table.index) == MODELS
    positive = graded[graded["score"] > 4]
    sentences = sorted({*graded["sentence1"], *graded["sentence2"]})
    for method, row in table.iterrows():
        left, right = (
            unit_embeddings(project, str(method), positive[side].tolist())
            for side in ("sentence1", "sentence2")
        )
        every = unit_embeddings(project, str(method), sentences)
        distances = np.square(every[:, None] - every[None]).sum(axis=2)[np.triu_indices(len(every), k=1)]
        assert row["alignment"] == pytest.approx(np.square(left - right).sum(axis=1).mean(), rel=1e-4)
        assert row["uniformity"] == pytest.approx(np.log(np.exp(-2 * distances).mean()), rel=1e-4)
        assert (row["positives"], row["sentences"]) == (len(positive), len(sentences))
        assert f"{row['alignment']:.3f} | {row['uniformity']:>10.3f}" in said
    figure = project.json(f"{REPORTING}/alignment_uniformity_plot.json")
    assert {trace["name"] for trace in figure["data"]} == {"untrained", "EASE", "EASE+", "SimCSE"}


def test_the_differing_pairs_are_the_extremes_of_all_pairs(
    done: tuple[Project, str], graded: pd.DataFrame
) -> None:
    project, said = done
    table = analysed(project, "differing_pairs")
    distance = {}
    for method in ("ease", "simcse"):
        left, right = (
            unit_embeddings(project, method, graded[side].tolist()) for side in ("sentence1", "sentence2")
        )
        ranks = rankdata(np.round((left * right).sum(axis=1), 6))
        distance[method] = np.abs(ranks - rankdata(graded["score"])) / (len(graded) - 1) * 100
    gains = np.sort(distance["simcse"] - distance["ease"])
    assert table["change"].tolist() == ["improved"] * 3 + ["deteriorated"] * 3
    # Cosines that differ only by rounding may swap ranks.
    assert table["gain"].tolist() == pytest.approx([*gains[::-1][:3], *gains[:3]], abs=2)
    assert "nearer to gold than by simcse (improved)" in said
    assert table["sentence1"].isin(graded["sentence1"]).all()


def test_translations_are_plotted_for_each_encoder(done: tuple[Project, str]) -> None:
    project, _ = done
    table = analysed(project, "language_pair")
    assert table.groupby(["model", "language"]).size().to_dict() == {
        (model, language): 10 for model in MODELS for language in ("en", "ja")
    }
    figure = project.json(f"{REPORTING}/language_pair_plot.json")
    assert [trace["name"] for trace in figure["data"]] == ["translations", "ja", "en"] * 4


def test_isotropy_equals_that_of_the_saved_encoders(done: tuple[Project, str], graded: pd.DataFrame) -> None:
    project, said = done
    table = analysed(project, "isotropy").set_index("model")
    sentences = list(dict.fromkeys(graded[["sentence1", "sentence2"]].to_numpy().ravel()))
    for method, row in table.iterrows():
        folder = project.latest(f"06_models/multilingual/{method}/encoder")
        model = SentenceTransformer(str(folder), device="cpu")
        rows = model.encode(sentences).astype(np.float64)
        _, directions = np.linalg.eigh(rows.T @ rows)
        sums = np.concatenate([np.exp(sign * rows @ directions).sum(axis=0) for sign in (1, -1)])
        assert row["isotropy"] == pytest.approx(sums.min() / sums.max(), rel=1e-3)
        assert row["mean_vector_norm"] == pytest.approx(np.linalg.norm(rows.mean(axis=0)), rel=1e-4)
        assert row["sentences"] == len(sentences)
    assert "Isotropy (1 is best)" in said


def test_cosines_of_the_same_drawn_pairs_are_kept_for_each_encoder(
    done: tuple[Project, str], graded: pd.DataFrame
) -> None:
    project, said = done
    table = analysed(project, "cosine_distributions")
    assert table.groupby("model").size().to_dict() == dict.fromkeys(MODELS, 16)
    assert table.groupby("kind")["model"].nunique().tolist() == [len(MODELS)] * 2
    positive = graded[graded["score"] > 4]
    left, right = (
        unit_embeddings(project, "ease", positive[side].tolist()) for side in ("sentence1", "sentence2")
    )
    every = (left * right).sum(axis=1)
    own = table[(table["model"] == "ease") & (table["kind"] == "positive")]["cosine"]
    assert all(np.abs(every - cosine).min() < 1e-4 for cosine in own)
    figure = project.json(f"{REPORTING}/cosine_distributions_plot.json")
    assert [trace["name"] for trace in figure["data"]] == ["positive pairs", "negative pairs"] * 4
    assert "how well they separate" in said


def test_roc_curves_separate_the_same_pairs(done: tuple[Project, str]) -> None:
    project, said = done
    table = analysed(project, "roc_curves")
    assert set(table["model"]) == set(MODELS)
    for _, own in table.groupby("model"):
        ends = own[["false_positive_rate", "true_positive_rate"]].iloc[[0, -1]].to_numpy().ravel().tolist()
        assert ends == [0, 0, 1, 1]
    figure = project.json(f"{REPORTING}/roc_curves_plot.json")
    assert [trace["name"].partition(":")[0] for trace in figure["data"]] == [
        "untrained",
        "EASE",
        "EASE+",
        "SimCSE",
        "chance",
    ]
    assert "Area under the ROC curve of the cosines of sample_graded" in said


def test_language_identity_is_measured_for_each_encoder(done: tuple[Project, str]) -> None:
    project, said = done
    table = analysed(project, "language_identity")
    assert sorted(table["model"]) == MODELS
    assert set(table["languages"]) == {"en, ja, ar, de"}
    # 40 facts in four languages; a fifth of the facts are test data.
    assert table[["training", "test", "chance"]].drop_duplicates().values.tolist() == [[128, 32, 25]]
    assert table["accuracy"].between(25, 100).all()
    assert "Accuracy of a classifier of languages on sample_parallel" in said


def test_the_given_pairs_are_compared_by_each_encoder(done: tuple[Project, str]) -> None:
    project, said = done
    table = analysed(project, "given_pairs")
    assert list(table.columns) == ["model", "sentence1", "sentence2", "cosine"]
    assert sorted(table["model"]) == sorted(2 * MODELS)
    assert table["cosine"].between(-1, 1).all()
    assert "Cosines of the given pairs" in said


def test_mlflow_keeps_the_tables_and_the_plots(done: tuple[Project, str]) -> None:
    client = MlflowClient(done[0].store)
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    (run,) = client.search_runs(experiments, "attributes.run_name = 'analysis'")
    kept = {file.path for file in client.list_artifacts(run.info.run_id)}
    plotted = {"alignment_uniformity", "cosine_distributions", "language_pair", "roc_curves"}
    tables = {*plotted, "differing_pairs", "isotropy", "language_identity", "given_pairs"}
    assert kept == {f"{name}.json" for name in tables} | {f"{name}.html" for name in plotted}


def test_sentences_are_shortened_only_in_the_log(done: tuple[Project, str]) -> None:
    project, said = done
    longest = max(analysed(project, "differing_pairs")["sentence1"], key=len)
    assert (longest in said) == (len(longest) <= 60)


def test_any_encoder_is_compared_and_impossible_comparisons_are_reported(
    done: tuple[Project, str], tmp_path: Path
) -> None:
    project = done[0].copy(tmp_path / "other")
    other = project.latest("06_models/multilingual/untrained/encoder")
    one = ("--nodes", "multilingual.analysis.find_differing_pairs")
    project.run("analysis", *one, multilingual__analysis__differing_pairs__baseline=other)
    assert f"{other}_rank" in analysed(project, "differing_pairs").columns
    curves = ("--nodes", "multilingual.analysis.draw_roc_curves")
    project.run("analysis", *curves, multilingual__analysis__roc_curves__further__SBERT=other)
    areas = analysed(project, "roc_curves").groupby("model")["auc"].first()
    assert areas["SBERT"] == areas["untrained"]

    ran = project.run(
        "analysis", *one, check=False, multilingual__analysis__differing_pairs__graded="stsb:dev"
    )
    assert ran.returncode != 0
    assert (
        "reads stsb:dev, but the evaluation data of this run are sample_graded, sample_parallel" in ran.stderr
    )


def test_untrained_encoders_are_skipped_unless_named(done: tuple[Project, str], tmp_path: Path) -> None:
    project = done[0].copy(tmp_path / "partly")
    shutil.rmtree(project.folder / "data" / "06_models" / "multilingual" / "simcse" / "encoder")
    part = "multilingual.analysis.measure_alignment_uniformity"
    ran = project.run("analysis", "--nodes", part)
    (told,) = (line for line in ran.stderr.splitlines() if "Not trained yet, and excluded: " in line)
    assert "simcse" in told
    assert "ease" not in told.split(": ")[-1].split(", ")
    assert set(analysed(project, "alignment_uniformity")["model"]) == {*MODELS} - {"simcse"}
    named = project.run("analysis", "--nodes", "multilingual.analysis.find_differing_pairs", check=False)
    assert named.returncode != 0
    assert "Error: The encoder 'simcse' has not been trained yet" in named.stderr
