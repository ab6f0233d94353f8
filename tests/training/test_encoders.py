"""Encoders of today's architectures, with prompts and with LoRA, are trained, packed and saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import load_file
from sentence_transformers import SentenceTransformer
from torch import nn

from ease.encoders.encoder import load_encoder, save_encoder
from ease.errors import EaseError
from ease.methods import get_method, method_options
from ease.training.execution import Execution
from ease.training.job import run_job
from ease.training.model import TrainingModel
from ease.training.packing import prepare_packing
from ease.training.prepared_pairs import default_prompt, prompt_tokens
from tests.evaluation.made_tasks import task_parameters
from tests.training.architectures import ARCHITECTURES, write_architecture
from tests.training.gradients import batch_of
from tests.training.tiny_training import MakeJob, losses, same, sentences, weights

NAMES = sorted(ARCHITECTURES)


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("architectures")
    return {name: write_architecture(name, folder / name) for name in NAMES}


def trained_embeddings(
    encoder: SentenceTransformer, files: Path, tmp_path: Path, packed: bool = False, half: bool = False
) -> tuple[list[str], np.ndarray]:
    """Return all sentences of the pairs, and the embeddings that a training run computes of them, in two views."""
    method = get_method("simcse").build(method_options("simcse", {}), encoder, None)
    execution = Execution(first_position=prepare_packing(encoder) if packed else None, half_transformer=half)
    model = TrainingModel(encoder, nn.Identity(), method, execution=execution).eval()
    given: dict[str, Any] = {"rows": slice(40), "max_tokens": 64 - prompt_tokens(encoder), "chunks": 3}
    batch = batch_of(model, files / "pairs.parquet", tmp_path / "prepared", packed=packed, **given)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=half):
        return sentences(), model.encode(batch).sentences.numpy()


@pytest.mark.parametrize("name", ["embeddinggemma", "mmbert", "nomic", "qwen3-embedding"])
def test_an_encoder_is_trained_scored_saved_and_loaded(encoders: dict[str, Path], make_job: MakeJob, name: str) -> None:
    dropout = ARCHITECTURES[name].dropout
    loop = {"max_steps": 2, "evaluate_every": 2, "max_tokens": 24, "encoder_dropout": dropout}
    result = run_job(make_job(encoder=str(encoders[name]), training=loop))
    assert result.start_score is not None
    assert result.best_score is not None
    loaded, start = SentenceTransformer(str(result.model), device="cpu"), load_encoder(str(encoders[name]))
    assert [type(module) for module in loaded] == [type(module) for module in start]
    assert loaded.prompts == start.prompts
    assert loaded.default_prompt_name == start.default_prompt_name
    assert loaded.tokenizer.padding_side == ARCHITECTURES[name].padding
    assert loaded[0].model.config.to_diff_dict().keys() == start[0].model.config.to_diff_dict().keys()  # type: ignore[union-attr, operator]
    texts = sentences()
    change = np.abs(loaded.encode(texts) - start.encode(texts)).max()
    assert 1e-4 < change < np.inf


@pytest.mark.parametrize("name", NAMES)
def test_a_training_has_the_embeddings_of_single_sentences_padded_or_packed(
    encoders: dict[str, Path], files: Path, tmp_path: Path, name: str
) -> None:
    """A training run pads on the right, `encode` on the tokenizer's side; a single sentence has no padding at all."""
    encoder = load_encoder(str(encoders[name])).eval()
    texts, found = trained_embeddings(encoder, files, tmp_path)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.allclose(encoder.encode(texts), alone, atol=1e-4)
    assert np.allclose(found, alone, atol=1e-4)
    assert np.linalg.norm(alone - alone[::-1], axis=1).min() > 1e-2, "the comparison would not notice anything"
    if name in ("embeddinggemma", "mmbert", "qwen3-embedding"):  # whose attention is causal or local
        with pytest.raises(EaseError, match="embeddings of packed and of padded texts differ"):
            trained_embeddings(encoder, files, tmp_path, packed=True)
    else:
        assert np.allclose(trained_embeddings(encoder, files, tmp_path, packed=True)[1], alone, atol=1e-3)
    _, rounded = trained_embeddings(encoder, files, tmp_path / "half", half=True)
    distances = np.linalg.norm(rounded - alone, axis=-1) / np.linalg.norm(alone, axis=-1)
    assert 0 < np.median(distances) < 0.05


PROMPT = "people like: "


def test_a_training_with_a_prompt_is_one_on_texts_that_contain_it(
    files: Path, make_job: MakeJob, tmp_path: Path
) -> None:
    """Losses, development scores and weights are those of sentences that begin with the prompt."""
    encoder = load_encoder(str(files / "encoder"))
    encoder.prompts, encoder.default_prompt_name = {"query": PROMPT, "document": "a "}, "query"
    save_encoder(encoder, tmp_path / "prompted")
    longer = 16 + prompt_tokens(encoder)
    short = {"max_steps": 4, "evaluate_every": 2}
    prompted = run_job(make_job("own", str(tmp_path / "prompted"), training=short))
    for name in ("pairs", "graded"):
        table = pd.read_parquet(files / f"{name}.parquet")
        texts = [column for column in table if column.startswith("sentence")]
        table[texts] = PROMPT + table[texts]
        table.to_parquet(tmp_path / f"{name}.parquet")
    changes: dict[str, Any] = {
        "training": {**short, "max_tokens": longer},
        "pairs": tmp_path / "pairs.parquet",
        "development": {"sample_graded": task_parameters("sample_graded", str(tmp_path / "graded.parquet"))},
    }
    written = run_job(make_job("written", **changes))
    assert losses(prompted) == losses(written)
    assert prompted.best_score == written.best_score
    assert same(weights(prompted), weights(written))
    saved, plain = load_encoder(str(prompted.model)), load_encoder(str(written.model))
    assert np.allclose(saved.encode(["Roma"]), plain.encode([PROMPT + "Roma"]), atol=1e-6)
    job = make_job("long", str(tmp_path / "prompted"), training={"max_tokens": 32})
    with pytest.raises(EaseError, match=f"accepts at most 32 with a prompt of {longer - 16}"):
        run_job(job)
    encoder[1].include_prompt = False  # type: ignore[assignment]
    with pytest.raises(EaseError, match="excludes its prompt 'people like: '"):
        default_prompt(encoder)


def test_the_saved_encoder_is_a_plain_one_with_merged_adapters(files: Path, make_job: MakeJob) -> None:
    lora = {"rank": 4, "alpha": 8, "targets": ["query", "value"]}
    result = run_job(make_job(training={"lora": lora, "max_steps": 4}, development={}))
    before = load_file(files / "encoder" / "model.safetensors")
    after = load_file(result.model / "model.safetensors")
    assert after.keys() == before.keys()
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert changed == {name for name in before if name.endswith(("query.weight", "value.weight"))}
    for name in changed:
        assert np.linalg.matrix_rank(after[name] - before[name], tol=1e-4) <= 4
    assert not list(result.model.rglob("*adapter*"))
