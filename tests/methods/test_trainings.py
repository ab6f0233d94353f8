"""Trainings of the methods that read texts: they learn, and leave a plain encoder; rows without texts are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.training.job import run_job
from ease.training.options import TrainingResult
from tests.training.tiny_training import PLACES, MakeJob, losses, sentences, tiny_job


def write_texts(folder: Path, **columns: list[str | None]) -> Path:
    """Write training texts of some columns."""
    pq.write_table(pa.table(columns), folder / "texts.parquet")
    return folder / "texts.parquet"


def shares(result: TrainingResult, least: float = 0.0) -> float:
    """Return the mean loss of the last steps over that of the first five, both above the least possible loss."""
    found = np.array(list(losses(result).values())) - least
    return float(found[-5:].mean() / found[:5].mean())


@pytest.mark.parametrize(
    ("method", "options", "steps", "rate", "share", "least"),
    [
        ("simcse", {"mlm_weight": 0.1}, 30, 3e-3, 0.9, 0.0),
        ("mirror_bert", {"shortest_masked": 10}, 20, 3e-3, 0.95, 0.0),
        # Ten places in a batch of 16: some of its positives are the same text, which no encoder can tell apart.
        ("supervised_simcse", {}, 25, 1e-3, 0.8, 0.0),
        # The semantic loss is at least 1, the cosine weighs 0.003.
        ("dueam", {"unit_length": True}, 25, 3e-3, 0.8, 0.997),
    ],
)
def test_a_training_learns_and_leaves_a_plain_encoder(
    make_job: MakeJob,
    tmp_path: Path,
    method: str,
    options: dict[str, Any],
    steps: int,
    rate: float,
    share: float,
    least: float,
) -> None:
    rows = [(PLACES[number % 10], PLACES[(number + 1) % 10], number % 3) for number in range(80)]
    texts = sentences() * 4
    columns: dict[str, list[str | None]] = {
        "sentence": [f"{place} is a large city" for place, _, _ in rows],
        "positive": [f"people like {place}" for place, _, _ in rows],
        "negative": [f"people like {other}" if third else None for _, other, third in rows],
    }
    if method != "supervised_simcse":
        order = np.random.default_rng(0).permutation(len(texts))
        columns = {"sentence": [*texts], "positive": [texts[place] for place in order]}
    training = {"max_steps": steps, "learning_rate": rate}
    pairs = write_texts(tmp_path, **columns)
    result = run_job(
        make_job(pairs=pairs, method=method, method_options=options, training=training, development={})
    )
    assert shares(result, least) < share
    assert (result.model / "training").exists() == (method == "simcse"), "only SimCSE's masked-LM head"
    if method == "simcse":
        for name in ("self_loss", "mlm_loss"):
            assert result.history[-1][name] < 0.9 * result.history[0][name]


def test_masked_language_modelling_knows_more_than_frequencies_and_saves_its_head(
    files: Path, tmp_path: Path
) -> None:
    training = {"max_steps": 100, "learning_rate": 3e-3}
    result = run_job(tiny_job(files, tmp_path, method="mlm", development={}, training=training))
    tokenizer: Any = load_encoder(str(files / "encoder")).tokenizer
    tokens = np.concatenate(tokenizer(sentences(), truncation=True, max_length=16)["input_ids"])
    tokens = tokens[~np.isin(tokens, tokenizer.all_special_ids)]
    frequencies = np.unique(tokens, return_counts=True)[1] / len(tokens)
    entropy, found = -(frequencies * np.log(frequencies)).sum(), list(losses(result).values())
    assert found[0] > entropy - 0.5
    assert np.mean(found[-5:]) < 0.75 * entropy
    start, end = (load_file(path / "model.safetensors") for path in (files / "encoder", result.model))
    assert {name: value.shape for name, value in end.items()} == {
        name: value.shape for name, value in start.items()
    }
    words = "embeddings.word_embeddings.weight"
    assert not torch.equal(end[words], start[words])
    parts = load_file(result.model / "training" / "parts.safetensors")
    assert all(name.startswith("method.masked.") for name in parts)
    assert sum(value.numel() for value in parts.values()) == 32 * 32 + 3 * 32 + len(end[words])
    assert AutoModel.from_pretrained(result.model).config.hidden_size == 32


def test_texts_without_negatives_train_and_without_positives_are_refused(
    make_job: MakeJob, tmp_path: Path
) -> None:
    texts: list[str | None] = [*sentences()]
    for method, options, positives, said in (
        ("supervised_simcse", {}, [None, *texts[1:]], "1 texts of column 'positive', which the method"),
        ("msimcse", {"strategy": "parallel"}, [None, *texts[1:]], "1 texts of column 'positive'"),
        ("supervised_simcse", {}, None, r"lack the column\(s\) positive; they have sentence"),
        ("dueam", {}, ["", *texts[1:]], "of a sentence without tokens: remove texts that are empty"),
    ):
        columns = {"sentence": texts, **({} if positives is None else {"positive": positives})}
        pairs = write_texts(tmp_path, **columns)
        with pytest.raises(EaseError, match=said):
            run_job(make_job(f"{method} {said[:3]}", pairs=pairs, method=method, method_options=options))
    pairs = write_texts(tmp_path, sentence=texts, positive=texts)
    job = make_job("pairs", pairs=pairs, method="supervised_simcse", training={"max_steps": 2})
    assert run_job(job).steps == 2
