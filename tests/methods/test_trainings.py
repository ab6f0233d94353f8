"""Trainings of the methods that read texts: they learn, and leave a plain encoder; rows without texts are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.torch import load_file
from transformers import AutoModel

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.training.job import run_job
from tests.training.tiny_training import PLACES, MakeJob, losses, sentences


def write_texts(folder: Path, **columns: list[str | None]) -> Path:
    pq.write_table(pa.table(columns), folder / "texts.parquet")
    return folder / "texts.parquet"


@pytest.mark.parametrize(
    ("method", "options", "least"),
    [
        ("simcse", {"mlm_weight": 0.1}, 0.0),
        ("mirror_bert", {"shortest_masked": 10}, 0.0),
        # Ten places in a batch of 16: some of its positives are the same text, which no encoder can tell apart.
        ("supervised_simcse", {}, 0.0),
        # The semantic loss is at least 1, the cosine weighs 0.003.
        ("dueam", {"unit_length": True}, 0.997),
    ],
)
def test_a_training_learns_and_leaves_a_plain_encoder(
    make_job: MakeJob, tmp_path: Path, method: str, options: dict[str, Any], least: float
) -> None:
    if method == "supervised_simcse":
        columns: dict[str, list[str | None]] = {
            "sentence": [f"{place} is a large city" for place in PLACES * 8],
            "positive": [f"people like {place}" for place in PLACES * 8],
            "negative": [f"people like {PLACES[row % 10 - 9]}" if row % 3 else None for row in range(80)],
        }
    else:
        texts = sentences() * 4
        order = np.random.default_rng(0).permutation(len(texts))
        columns = {"sentence": [*texts], "positive": [texts[place] for place in order]}
    training = {"learning_rate": 1e-2}
    pairs = write_texts(tmp_path, **columns)
    result = run_job(make_job(pairs=pairs, method=method, method_options=options, training=training, development={}))
    found = np.array(list(losses(result).values())) - least
    assert found[-5:].mean() < 0.8 * found[:5].mean()
    assert (result.model / "training").exists() == (method == "simcse"), "only SimCSE's masked-LM head"
    if method == "simcse":
        for name in ("self_loss", "mlm_loss"):
            assert result.history[-1][name] < 0.9 * result.history[0][name]


def test_masked_language_modelling_knows_more_than_frequencies_and_saves_its_head(
    files: Path, make_job: MakeJob
) -> None:
    training = {"max_steps": 60, "learning_rate": 1e-2}
    result = run_job(make_job(method="mlm", development={}, training=training))
    tokenizer: Any = load_encoder(str(files / "encoder")).tokenizer
    tokens = np.concatenate(tokenizer(sentences(), truncation=True, max_length=16)["input_ids"])
    tokens = tokens[~np.isin(tokens, tokenizer.all_special_ids)]
    frequencies = np.unique(tokens, return_counts=True)[1] / len(tokens)
    entropy, found = -(frequencies * np.log(frequencies)).sum(), list(losses(result).values())
    assert found[0] > entropy - 0.5
    assert np.mean(found[-5:]) < 0.75 * entropy
    words = len(load_file(result.model / "model.safetensors")["embeddings.word_embeddings.weight"])
    parts = load_file(result.model / "training" / "parts.safetensors")
    assert all(name.startswith("method.masked.") for name in parts)
    assert sum(value.numel() for value in parts.values()) == 32 * 32 + 3 * 32 + words
    assert AutoModel.from_pretrained(result.model).config.hidden_size == 32


@pytest.mark.parametrize(
    ("method", "positives", "said"),
    [
        ("supervised_simcse", {"positive": [None, *sentences()[1:]]}, "1 texts of column 'positive', wh"),
        ("supervised_simcse", {}, r"lack the column\(s\) positive; they have sentence"),
        ("dueam", {"positive": ["", *sentences()[1:]]}, "without tokens: remove texts that are empty"),
    ],
)
def test_texts_without_positives_are_refused(
    make_job: MakeJob, tmp_path: Path, method: str, positives: Any, said: str
) -> None:
    pairs = write_texts(tmp_path, sentence=[*sentences()], **positives)
    with pytest.raises(EaseError, match=said):
        run_job(make_job(pairs=pairs, method=method))
