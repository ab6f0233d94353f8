"""An encoder's prompt is put before sentences in training and evaluation alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import load_encoder, save_encoder
from ease.errors import EaseError
from ease.training.job import run_job
from ease.training.prepared_pairs import Layout, default_prompt, open_pairs, prepare_pairs, prompt_tokens
from tests.training.tiny_training import MakeJob, losses, weights

PROMPT = "people like: "


def with_prompt(files: Path, folder: Path) -> SentenceTransformer:
    """Save an encoder with a default prompt, and load it."""
    encoder = load_encoder(str(files / "encoder"))
    encoder.prompts, encoder.default_prompt_name = {"query": PROMPT, "document": "a "}, "query"
    save_encoder(encoder, folder)
    return load_encoder(str(folder))


def write_prompted(files: Path, folder: Path) -> dict[str, Any]:
    """Write the training pairs and the graded pairs with the prompt in their texts; return a job's changes."""
    pairs = pq.read_table(files / "pairs.parquet").to_pandas()
    pairs["sentence"] = PROMPT + pairs["sentence"]
    pairs.to_parquet(folder / "pairs.parquet")
    graded = pq.read_table(files / "graded.parquet").to_pandas()
    graded[["sentence1", "sentence2"]] = PROMPT + graded[["sentence1", "sentence2"]]
    graded.to_parquet(folder / "graded.parquet")
    return {
        "pairs": folder / "pairs.parquet",
        "development": {"sample_graded": {"path": str(folder / "graded.parquet")}},
    }


def test_a_training_with_a_prompt_is_one_on_texts_that_contain_it(
    files: Path, make_job: MakeJob, tmp_path: Path
) -> None:
    """Losses, development scores and weights are those of sentences that begin with the prompt."""
    encoder = with_prompt(files, tmp_path / "prompted")
    longer = 16 + prompt_tokens(encoder)
    prompted = run_job(make_job("own", str(tmp_path / "prompted"), training={"max_tokens": 16}))
    written = run_job(make_job("written", training={"max_tokens": longer}, **write_prompted(files, tmp_path)))
    assert losses(prompted) == losses(written)
    assert prompted.best_score == written.best_score
    expected = weights(written)
    assert all(np.array_equal(value, expected[name]) for name, value in weights(prompted).items())
    saved = SentenceTransformer(str(prompted.model), device="cpu")
    plain = SentenceTransformer(str(written.model), device="cpu")
    assert np.allclose(saved.encode(["Roma"]), plain.encode([PROMPT + "Roma"]), atol=1e-6)


def test_a_prompt_does_not_shorten_sentences(files: Path, tmp_path: Path) -> None:
    encoder, plain = with_prompt(files, tmp_path / "prompted"), load_encoder(str(files / "encoder"))
    assert prompt_tokens(plain) == 0
    found = []
    for model, longest in ((encoder, 6 + prompt_tokens(encoder)), (plain, 6)):
        prepare_pairs(files / "pairs.parquet", None, model, Layout(longest), tmp_path / "prepared")
        rows = open_pairs(tmp_path / "prepared", Layout(longest))
        found.append(
            [
                model.tokenizer.decode(row["tokens"][: row["length"]], skip_special_tokens=True)
                for row in rows["sentence"]
            ]
        )
    for prompted, text in zip(*found, strict=True):
        assert prompted.startswith(f"{PROMPT.replace(':', '')}{text}"), (
            "the colon is no token of the sentences"
        )


def test_a_prompt_beyond_the_encoder_s_length_is_refused(
    files: Path, make_job: MakeJob, tmp_path: Path
) -> None:
    tokens = prompt_tokens(with_prompt(files, tmp_path / "prompted"))
    job = make_job("own", str(tmp_path / "prompted"), training={"max_tokens": 32})
    with pytest.raises(EaseError, match=f"accepts at most 32 with a prompt of {tokens}"):
        run_job(job)


def test_a_pooling_without_the_prompt_is_refused(files: Path, tmp_path: Path) -> None:
    encoder = with_prompt(files, tmp_path / "prompted")
    assert default_prompt(encoder) == PROMPT
    encoder[1].include_prompt = False  # type: ignore[assignment]
    with pytest.raises(EaseError, match="excludes its prompt 'people like: '"):
        default_prompt(encoder)
