"""Scores in the forms of MTEB and of the hub, read by their own libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mteb
import numpy as np
import pandas as pd
import pytest
import yaml
from datasets import Dataset
from huggingface_hub import ModelCard, parse_eval_result_entries
from mteb.cache import ResultCache
from mteb.results import TaskResult
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import build_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.evaluation.tasks.graded_pairs import GradedPair, pair_cosines
from ease.reporting.exports import MTEB_SUBSETS, hub_card, main_rows, write_exports
from ease.reporting.own import gather_models
from ease.similarity.metrics import spearman
from tests.reporting.made import baseline, row

SUBSETS = [
    (task, subset, mteb_subset) for task, subsets in MTEB_SUBSETS.items() for subset, mteb_subset in subsets.items()
]


@pytest.fixture(scope="module")
def encoder() -> SentenceTransformer:
    small = RandomBertOptions(hidden_size=16, intermediate_size=32, vocabulary_size=600, max_positions=64)
    return build_encoder(EncoderOptions(random=small), [left for left, _, _ in pairs("en-en")])


def pairs(seed: str) -> list[GradedPair]:
    """Make 40 graded pairs."""
    random = np.random.default_rng(list(seed.encode()))
    words = "a man plays chess guitar cats sleep under the old tree and some people dance".split()
    texts = [(" ".join(random.choice(words, 6)), " ".join(random.choice(words, 6))) for _ in range(40)]
    return [GradedPair(*pair, float(grade)) for pair, grade in zip(texts, random.integers(0, 6, 40), strict=True)]


@pytest.fixture(scope="module")
def exported(encoder: SentenceTransformer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scores of one encoder on made pairs of every subset that MTEB has, written for others."""
    rows = []
    for task, subset, _ in SUBSETS:
        graded = pairs(subset)
        value = 100 * spearman(pair_cosines(encode_with(encoder), graded), [pair.gold for pair in graded])
        rows.append(baseline(task, subset, value, low=value - 1, high=value + 1))
    rows += [baseline("tatoeba", subset, 12.5, "retrieval_accuracy") for subset in ("deu-eng", "average")]
    rows += [row("stsb", "test", 70.0), row("stsb", "test", 71.0, sweep="seeds", seed=1, model="sweep seeds")]
    folder = tmp_path_factory.mktemp("exported")
    assert write_exports(folder, gather_models(rows)) == 2
    return folder


@pytest.mark.parametrize("name", sorted({mteb_subset["task"] for *_, mteb_subset in SUBSETS}))
def test_mteb_scores_its_own_task_alike(name: str, encoder: SentenceTransformer, exported: Path) -> None:
    task: Any = mteb.get_task(name)
    data_sets = {}
    for _, subset, mteb_subset in SUBSETS:
        if mteb_subset["task"] == name:
            rows = pd.DataFrame(pairs(subset), columns=["sentence1", "sentence2", "score"])
            data_sets[mteb_subset["subset"]] = {"test": Dataset.from_pandas(rows)}
    task.dataset, task.data_loaded = data_sets["default"] if "default" in data_sets else data_sets, True
    if task.metadata.is_multilingual:
        task.hf_subsets = list(data_sets)
    result = mteb.evaluate(encoder, [task], cache=None, show_progress_bar=False).task_results[0]
    (file,) = exported.glob(f"mteb/results/sentence-transformers__all-MiniLM-L6-v2/*/{name}.json")
    read = TaskResult.from_disk(file)
    theirs, ours = ({entry["hf_subset"]: entry for entry in results.scores["test"]} for results in (result, read))
    assert ours.keys() == theirs.keys()
    for subset, entry in ours.items():
        # Ours ranks cosines rounded to six decimals, which moves the few rows of this test a little.
        assert entry["main_score"] == pytest.approx(theirs[subset]["main_score"], abs=5e-3)
        assert sorted(entry["languages"]) == sorted(theirs[subset]["languages"])
    assert read.dataset_revision == result.dataset_revision
    assert read.get_score() == pytest.approx(result.get_score(), abs=5e-3)


def test_mteb_reads_the_folders_as_its_cache(exported: Path) -> None:
    cached = ResultCache(exported / "mteb").load_results(include_remote=False)
    by_model = {result.model_name: {task.task_name for task in result.task_results} for result in cached.model_results}
    assert by_model["ease/multilingual-ease"] == {"STSBenchmark"}
    names = by_model["sentence-transformers/all-MiniLM-L6-v2"]
    assert {"STS12", "STS17", "SICK-R", "ease_tatoeba"} <= names


def test_the_hub_reads_evaluation_results(exported: Path) -> None:
    folder = exported / "hub" / "sentence-transformers__all-MiniLM-L6-v2"
    text = (folder / ".eval_results" / "STS17.yaml").read_text(encoding="utf-8")
    entries = parse_eval_result_entries(yaml.safe_load(text))
    assert {entry.task_id for entry in entries} == {
        mteb_subset["subset"] for mteb_subset in MTEB_SUBSETS["sts17"].values()
    }
    assert {entry.dataset_id for entry in entries} == {"mteb/sts17-crosslingual-sts"}
    assert all("95% interval" in (entry.notes or "") for entry in entries)
    assert not (folder / ".eval_results" / "ease_tatoeba.yaml").exists(), "its data set is not on the hub"


def test_the_hub_reads_the_card() -> None:
    scores = main_rows(gather_models([row("stsb", "test", 70.0)])[0])
    card = ModelCard(hub_card("---\n{}\n---\n", "ease", scores, {}))
    (result,) = card.data.eval_results  # type: ignore[attr-defined]
    assert result.dataset_type == "mteb/stsbenchmark-sts"
    assert (result.metric_type, result.metric_value) == ("spearman", 70.0)
