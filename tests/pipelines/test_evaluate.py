"""Scores of saved encoders and baselines: truncated embeddings, faulty sets, and what an encoder embeds texts with."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ibis
import mlflow
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from mlflow.tracking import MlflowClient
from sentence_transformers import SentenceTransformer

from ease.encoders import precision
from ease.encoders.encoder import load_encoder, save_encoder
from ease.encoders.options import EncodingOptions
from ease.encoders.whitening import language_directions, mean_embeddings
from ease.errors import EaseError
from ease.evaluation.sets import locate_sets
from ease.evaluation.tasks import build_tasks
from ease.pipelines.options import Baseline
from ease.pipelines.tracked_scoring import Scoring, load_baseline, score_baseline, score_each
from ease.reporting.own import encoding_text, gather_models
from ease.similarity.metrics import spearman
from ease.similarity.vectors import pairwise_cosine
from tests.contexts import undisturbed
from tests.encoders.test_whitening import BY_LANGUAGE as SENTENCES
from tests.encoders.test_whitening import make_encoder
from tests.evaluation.made_tasks import task_parameters
from tests.project import Project

TASK = "sample_graded"
PAIRS = [
    ("a large city", "a city", 5.0),
    ("a river", "many people live here", 1.0),
    ("a large city on a river", "a river", 3.0),
    ("people", "many people", 4.0),
]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the task of graded pairs with a file of four pairs."""
    file = tmp_path_factory.mktemp("graded") / "graded.parquet"
    first, second, grades = map(list, zip(*PAIRS, strict=True))
    pq.write_table(pa.table({"sentence1": first, "sentence2": second, "score": grades}), file)
    return {TASK: task_parameters(TASK, file)}


def score(
    encoder: SentenceTransformer, tasks: dict[str, dict[str, Any]], dimensions: Sequence[int], **given: Any
) -> list[dict[str, Any]]:
    data = Scoring(list(tasks), locate_sets(build_tasks(tasks)), tasks, EncodingOptions(**given))
    return score_each(lambda name: encoder, "ours", data, lambda *reported: None, dimensions)[0]


def test_rows_name_the_precision_that_auto_takes(
    tasks: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = make_encoder()
    (single,) = score(encoder, tasks, (), cache=tmp_path)
    monkeypatch.setattr(precision, "has_bf16", lambda: True)
    monkeypatch.setattr(precision, "bf16_gain", lambda: 2.0)
    monkeypatch.setattr(precision, "LEAST_WEIGHTS", 0)
    (half,) = score(encoder, tasks, (), cache=tmp_path)
    assert (single["precision"], half["precision"]) == ("fp32", "bf16")
    assert len(list(tmp_path.glob("*.scores"))) == 2, "one cache of scores for each"


@pytest.mark.parametrize("cached", [False, True])
def test_truncated_embeddings_are_scored_from_one_encoding(
    tasks: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cached: bool
) -> None:
    encoder, encoded = make_encoder(), list[str]()
    first, second, grades = zip(*PAIRS, strict=True)
    sides = [encoder.encode(list(texts)) for texts in (first, second)]
    values = {
        dimension: 100 * spearman(pairwise_cosine(*(side[:, :dimension] for side in sides)), np.array(grades))
        for dimension in (2, 4, None)
    }
    plain = encoder.encode

    def encode(texts: Sequence[str], **given: Any) -> Any:
        encoded.extend(texts)
        return plain(texts, **given)

    monkeypatch.setattr(encoder, "encode", encode)
    rows = score(encoder, tasks, (2, 4, 4, 8, 512), cache=tmp_path if cached else None)
    assert sorted(encoded) == sorted({text for pair in PAIRS for text in pair[:2]})
    assert [row["subset"] for row in rows] == ["en"] * 3
    found = {row.get("dimension"): row["value"] for row in rows}
    assert found == {dimension: pytest.approx(value) for dimension, value in values.items()}
    assert len(set(values.values())) == 3
    if cached:
        for file in tmp_path.glob("*.scores/*.json"):
            file.write_text(file.read_text("utf-8").replace("no interval", "kept"), encoding="utf-8")
        again = score(encoder, tasks, (2, 4), cache=tmp_path)
        notes = {row["note"] for row in again}
        assert notes == {"fewer than 30 items: kept"}, "what a stopped run has scored is not computed again"


@pytest.mark.slow
def test_rows_report_and_run_say_what_a_baseline_embeds_texts_with(
    tasks: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    encoder = make_encoder()
    encoder.prompts = {"query": "find: ", "STS": "meaning: "}
    save_encoder(encoder, tmp_path / "encoder")
    baseline = Baseline(name=str(tmp_path / "encoder"), dimension=4, max_length=10)
    options, located = EncodingOptions(batch_size=2), locate_sets(build_tasks(tasks))
    with undisturbed():
        mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
        with mlflow.start_run() as parent:
            (row,) = score_baseline("mine", baseline, Scoring([TASK], located, tasks, options))
        runs = MlflowClient().search_runs([parent.info.experiment_id])
    used = {"revision": None, "embedding_dimension": 4, "precision": "fp32", "max_length": 10}
    assert used.items() <= row.items()
    assert row["prompt"] == "meaning: "
    (model,) = gather_models([row])
    assert "4 dimensions, fp32, at most 10 tokens; prompt “meaning: ”" in encoding_text(model.rows)
    (params,) = (run.data.params for run in runs if run.info.run_name == "baselines.mine")
    assert (params["used.embedding_dimension"], params[f"used.prompt.{TASK}"]) == ("4", "meaning: ")


def test_the_directions_in_which_the_languages_differ_are_removed(tmp_path: Path) -> None:
    texts = [text for own in SENTENCES.values() for text in own]
    # Each sentence is that of two pairs, which must not count twice.
    rows = [(language, text) for language, own in SENTENCES.items() for text in own] * 2
    pairs = ibis.memtable({"language": [row[0] for row in rows], "sentence": [row[1] for row in rows]})
    save_encoder(make_encoder(), tmp_path / "encoder")
    name = str(tmp_path / "encoder")

    def load(rank: int, pairs: ibis.Table | None) -> SentenceTransformer:
        return load_baseline(name, Baseline(name=name, language_rank=rank), pairs, None)

    plain = load_encoder(name)
    directions = language_directions(mean_embeddings(plain, SENTENCES))[:2]
    before = plain.encode(texts).astype(np.float64)
    after = load(2, pairs).encode(texts).astype(np.float64)
    np.testing.assert_allclose(after, before - before @ directions.T @ directions, atol=1e-5)
    np.testing.assert_array_equal(load(0, None).encode(texts), before.astype(np.float32))
    with pytest.raises(EaseError, match="make them by `kedro run --pipelines=train_multilingual"):
        load(2, None)
    with pytest.raises(EaseError, match="rank 7 is above .*, the number of directions in which the means of"):
        load(7, pairs)


class Limited(SentenceTransformer):
    """Asks for more memory than there is where a text mentions chess."""

    def encode(self, inputs: Any, *arguments: Any, **options: Any) -> Any:
        if any("chess" in text for text in inputs):
            return torch.empty(1 << 60)
        return super().encode(inputs, *arguments, **options)


def test_a_task_that_does_not_fit_in_memory_leaves_the_others(tasks: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "stsb").mkdir()
    lines = [f"x\tx\tx\tx\t{grade}\tA man plays chess.\tHe plays {grade}." for grade in (1, 2, 3)]
    (tmp_path / "stsb" / "sts-test.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    both = {"stsb": task_parameters("stsb", str(tmp_path / "stsb"), subsets=["test"]), **tasks}
    found, failed = score(Limited(modules=list(make_encoder()), device="cpu"), both, ())
    assert (found["task"], failed["task"], failed["value"]) == (TASK, "stsb", None)
    assert "not enough memory. A single sentence needs more" in failed["note"]


def test_the_run_reports_missing_scores_at_its_end_and_keeps_all_others(copy: Project, tmp_path: Path) -> None:
    """A bad set, and a baseline that does not exist."""
    shutil.copytree(copy.latest("06_models/multilingual/untrained/encoder"), copy.folder / "own encoder")
    (tmp_path / "sets" / "stsb").mkdir(parents=True)
    for split, last in (("dev", 4), ("test", "four")):
        lines = [f"x\tx\tx\tx\t{grade}\tA man plays chess.\tHe plays {grade}.\n" for grade in (1, 2.5, last)]
        (tmp_path / "sets" / "stsb" / f"sts-{split}.csv").write_text("".join(lines), encoding="utf-8")
    given = {
        "evaluate__tasks": "stsb:dev stsb:test sample_graded",
        "acquire_evaluation__folder": tmp_path / "sets",
        "evaluate__baselines__gone__name": "no/such-encoder",
        "evaluate__baselines__Ours (untrained)__name": "own encoder",
    }
    done = copy.run("evaluate", check=False, **given)
    assert done.returncode == 1
    end = done.stderr[done.stderr.rindex("Error: ") :]
    for words in ("sts-test.csv, line 3: the score 'four' is not a number", "gone", "'no/such-encoder' does not load"):
        assert words in end
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if "Scored " in line]
    (line,) = (line for line in lines if "multilingual/ease/encoder" in line)
    assert "not scored: stsb test" in line
    found = copy.json("07_model_output/baselines/scores.json")
    scored = {(row["method"], row["task"], row["subset"]) for row in found}
    assert scored == {("Ours (untrained)", "stsb", "dev"), ("Ours (untrained)", TASK, "en")}
    assert all(row["value"] is not None for row in found)
    for method in ("untrained", "ease", "simcse"):
        own = copy.json(f"07_model_output/multilingual/{method}/scores.json")
        assert {row["subset"] for row in own if row["task"] == "stsb"} == {"dev"}
