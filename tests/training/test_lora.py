"""LoRA trains adapters alone, and saves a plain encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.pipelines.recipe import EncoderDefaults, Recipe
from ease.training.job import run_job
from ease.training.lora import add_lora, merged
from ease.training.options import LoraOptions
from tests.training.tiny_training import MakeJob, sentences, weights

LORA = {"rank": 4, "alpha": 8, "targets": ["query", "value"]}
ADAPTED = ("query.weight", "value.weight")


def embed(model: SentenceTransformer) -> np.ndarray:
    found: np.ndarray = model.encode(sentences())
    return found


def test_the_saved_encoder_is_a_plain_one_with_merged_adapters(files: Path, make_job: MakeJob) -> None:
    result = run_job(make_job(training={"lora": LORA}))
    before = load_file(files / "encoder" / "model.safetensors")
    after = load_file(result.model / "model.safetensors")
    assert after.keys() == before.keys()
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert changed == {name for name in before if name.endswith(ADAPTED)}
    for name in changed:
        assert np.linalg.matrix_rank(after[name] - before[name], tol=1e-4) <= 4
    assert not list(result.model.rglob("*adapter*"))
    loaded = SentenceTransformer(str(result.model), device="cpu")
    assert not np.allclose(embed(loaded), embed(load_encoder(str(files / "encoder"))), atol=1e-3)


def test_only_adapters_are_trained(files: Path) -> None:
    encoder = load_encoder(str(files / "encoder"))
    before = embed(encoder)
    add_lora(encoder, LoraOptions(**LORA))
    trained = {name: value for name, value in encoder.named_parameters() if value.requires_grad}
    assert len(trained) == 2 * 2 * 2, "two matrices for each of two layers of each of two blocks"
    assert all(".lora_" in name for name in trained)
    assert np.allclose(embed(encoder), before, atol=1e-6), "adapters start without effect"


def test_merging_keeps_the_function_and_restores_the_adapters(files: Path) -> None:
    encoder = load_encoder(str(files / "encoder"))
    add_lora(encoder, LoraOptions(rank=4))
    with torch.no_grad():
        for name, value in encoder.named_parameters():
            if ".lora_B" in name:
                value.normal_(std=0.1)
    state = {name: value.clone() for name, value in encoder.state_dict().items()}
    expected = embed(encoder)
    with merged(encoder):
        assert not [name for name, _ in encoder.named_parameters() if "lora" in name]
        assert np.allclose(embed(encoder), expected, atol=1e-5)
    assert np.array_equal(embed(encoder), expected)
    assert all(torch.equal(value, state[name]) for name, value in encoder.state_dict().items())


@pytest.mark.parametrize("loop", [{"packed": True, "length_chunks": None}, {"mini_batch_size": 4}])
def test_adapters_train_with_packed_texts_and_cached_gradients(
    make_job: MakeJob, loop: dict[str, Any]
) -> None:
    options = {"lora": {**LORA, "dropout": 0}, "max_steps": 4}
    plain, other = (
        run_job(make_job(name, "encoder_without_dropout", training={**options, **given}, development={}))
        for name, given in (("plain", {}), ("other", loop))
    )
    expected = weights(plain)
    assert all(np.allclose(value, expected[name], atol=1e-4) for name, value in weights(other).items())


def test_rank_0_trains_all_weights(make_job: MakeJob) -> None:
    changes: dict[str, Any] = {"training": {"lora": {"rank": 0}, "max_steps": 1}, "development": {}}
    result, encoder = run_job(make_job(**changes)), load_encoder(make_job().encoder)
    trained = load_encoder(str(result.model)).state_dict()
    assert not torch.equal(
        trained["0.model.embeddings.word_embeddings.weight"],
        encoder.state_dict()["0.model.embeddings.word_embeddings.weight"],
    )


def test_unknown_layers_are_refused_with_the_names_that_exist(make_job: MakeJob) -> None:
    job = make_job(training={"lora": {"targets": "query q_proj"}})
    with pytest.raises(EaseError, match="no linear layers named q_proj; it has dense, key, query, value"):
        run_job(job)


def test_an_encoder_without_a_transformer_is_refused(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("2 2\nold 1 0\nnew 0 1\n", encoding="utf-8")
    with pytest.raises(EaseError, match="begins with WordEmbeddings: set `lora: null`"):
        add_lora(load_encoder(str(vectors)), LoraOptions())


@pytest.mark.parametrize(
    ("encoder", "given", "expected"),
    [
        ("BAAI/bge-m3", None, (16, ("query", "key", "value", "dense"))),
        ("BAAI/bge-m3", {"rank": 8}, (8, ("query", "key", "value", "dense"))),
        ("BAAI/bge-m3", {"rank": 0}, (0, ("query", "key", "value", "dense"))),
        ("BAAI/bge-m3", {"targets": "query"}, (16, ("query",))),
        ("org/of-my-own", {"rank": 2}, (2, None)),
        ("org/of-my-own", None, None),
    ],
)
def test_a_recipe_is_completed_with_the_encoder_s_adapters(
    encoder: str, given: dict[str, Any] | None, expected: tuple[int, Any] | None
) -> None:
    kinds = EncoderDefaults.model_validate({"random": {}, "pretrained": {}})
    recipe = Recipe(method="simcse", options={}, data=[{"kind": "pairs"}], training={"lora": given})
    lora = recipe.complete(encoder, kinds).training.lora
    assert (lora and (lora.rank, lora.targets)) == expected
