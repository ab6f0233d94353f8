"""Encoders from random weights and from folders: poolings, seeds, errors, and loading without EASE."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from sentence_transformers import SentenceTransformer
from transformers import AutoConfig, AutoModel, AutoTokenizer, BertForMaskedLM, BertModel

from ease.encoders.encoder import (
    build_encoder,
    embedding_dimension,
    load_encoder,
    save_encoder,
    set_pooling,
)
from ease.encoders.encoding import fingerprint
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.encoders.poolings import POOLINGS, training_head
from ease.errors import EaseError

SENTENCES = [
    "Berlin is the capital of Germany",
    "ベルリンはドイツの首都です",
    "A short one",
    "برلين عاصمة ألمانيا",
]
SMALL = RandomBertOptions(
    layers=3, hidden_size=16, heads=2, intermediate_size=32, vocabulary_size=300, max_positions=64
)


def build(pooling: str = "mean", seed: int = 0) -> SentenceTransformer:
    options = EncoderOptions.model_validate({"pooling": pooling, "random": SMALL, "seed": seed})
    return build_encoder(options, SENTENCES)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    save_encoder(build(), folder, card="# A card\n")
    return folder


@pytest.mark.parametrize("pooling", sorted(POOLINGS))
def test_every_pooling_loads_in_plain_libraries(pooling: str, tmp_path: Path) -> None:
    encoder = build(pooling)
    expected = encoder.encode(SENTENCES)
    save_encoder(encoder, tmp_path)
    loaded = SentenceTransformer(str(tmp_path), device="cpu")
    assert np.array_equal(loaded.encode(SENTENCES), expected)
    assert all(type(module).__module__.startswith("sentence_transformers.") for module in loaded)
    assert AutoModel.from_pretrained(tmp_path).config.num_hidden_layers == 3
    assert not list(tmp_path.rglob("*.bin"))


@pytest.mark.parametrize("pooling", ["mean", "cls", "first_last_mean"])
def test_poolings_follow_their_definitions(pooling: str, tmp_path: Path) -> None:
    encoder = build(pooling)
    save_encoder(encoder, tmp_path)
    model, tokenizer = AutoModel.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    batch = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    with torch.no_grad():
        layers = model(**batch, output_hidden_states=True).hidden_states
    mask = batch["attention_mask"].unsqueeze(-1)
    means = [(layer * mask).sum(1) / mask.sum(1) for layer in layers]
    expected = {
        "mean": means[-1],
        "cls": layers[-1][:, 0],
        "first_last_mean": (means[1] + means[-1]) / 2,
    }[pooling]
    assert np.allclose(encoder.encode(SENTENCES), expected.numpy(), atol=1e-5)


def test_the_mlp_is_part_of_the_model_or_of_training_only() -> None:
    kept = build("cls_mlp")
    assert [type(module).__name__ for module in kept][1:] == ["Pooling", "Dense"]
    assert isinstance(training_head(kept, "cls_mlp", 0), torch.nn.Identity)
    head = training_head(build("cls_mlp_train"), "cls_mlp_train", 0)
    plain = torch.tensor(build("cls").encode(SENTENCES))
    with torch.no_grad():
        assert np.allclose(head(plain).numpy(), kept.encode(SENTENCES), atol=1e-6)


def test_weights_depend_on_the_seed_and_the_random_state_is_kept() -> None:
    state = torch.get_rng_state()
    first, again, other = build(), build(), build(seed=1)
    assert torch.equal(torch.get_rng_state(), state)
    names = first.state_dict().keys()
    assert all(torch.equal(first.state_dict()[name], again.state_dict()[name]) for name in names)
    assert not np.allclose(first.encode(SENTENCES), other.encode(SENTENCES))


def test_a_folder_keeps_its_pooling_or_gets_another(saved: Path) -> None:
    assert np.array_equal(load_encoder(str(saved)).encode(SENTENCES), build().encode(SENTENCES))
    options = EncoderOptions(name=str(saved), pooling="cls")
    assert np.array_equal(build_encoder(options).encode(SENTENCES), build("cls").encode(SENTENCES))
    assert embedding_dimension(load_encoder(str(saved))) == 16
    assert (saved / "README.md").read_text(encoding="utf-8") == "# A card\n"


@pytest.mark.parametrize("kind", ["without a pooler", "of a language model"])
def test_an_encoder_that_lacks_weights_is_the_same_at_every_load(tmp_path: Path, kind: str) -> None:
    """transformers draws the weights of a pooler at random, and caches and checkpoints know an encoder by them."""
    save_encoder(build(), tmp_path / "whole")
    config = AutoConfig.from_pretrained(tmp_path / "whole")
    kinds: dict[str, Callable[[Any], Any]] = {
        "without a pooler": partial(BertModel, add_pooling_layer=False),
        "of a language model": BertForMaskedLM,
    }
    kinds[kind](config).save_pretrained(tmp_path / "bare")
    AutoTokenizer.from_pretrained(tmp_path / "whole").save_pretrained(tmp_path / "bare")
    torch.manual_seed(1)
    first = load_encoder(str(tmp_path / "bare"))
    state = torch.get_rng_state()
    torch.manual_seed(2)
    second = load_encoder(str(tmp_path / "bare"))
    assert "0.model.pooler.dense.weight" in first.state_dict()
    assert fingerprint(first) == fingerprint(second)
    torch.manual_seed(1)
    assert torch.equal(torch.get_rng_state(), state), "loading leaves the random state as it is"


def test_a_tokenizer_without_padding_pads_with_its_last_token(tmp_path: Path) -> None:
    save_encoder(build(), tmp_path)
    expected = load_encoder(str(tmp_path)).encode(SENTENCES)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    tokenizer.pad_token = None
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(EaseError, match="has no padding token: set its `pad_token`"):
        load_encoder(str(tmp_path))
    tokenizer.eos_token = tokenizer.sep_token
    tokenizer.save_pretrained(tmp_path)
    assert np.allclose(load_encoder(str(tmp_path)).encode(SENTENCES), expected, atol=1e-6)


def test_errors_name_faults(tmp_path: Path) -> None:
    with pytest.raises(
        EaseError, match="Unknown pooling 'cls_mpl': did you mean cls_mlp or .* Choose from cls, cls_"
    ):
        load_encoder("anything", "cls_mpl")
    with pytest.raises(EaseError, match=r"does not load: .* Give a folder"):
        load_encoder(str(tmp_path))
    with pytest.raises(EaseError, match=r"does not load: .* Give a folder"):
        load_encoder("/nowhere/at all")
    with pytest.raises(EaseError, match="write `random:` alone"):
        build_encoder(EncoderOptions(name="random:bert"), SENTENCES)
    with pytest.raises(EaseError, match="needs sentences"):
        build_encoder(EncoderOptions())
    with pytest.raises(ValidationError, match="is not a multiple of `heads`"):
        RandomBertOptions(hidden_size=10, heads=4)


def test_an_encoder_without_a_transformer_keeps_its_pooling() -> None:
    from sentence_transformers.sentence_transformer.modules import BoW

    bag = SentenceTransformer(modules=[BoW(vocab=["a", "b"])], device="cpu")
    with pytest.raises(EaseError, match="begins with BoW, not a transformer"):
        set_pooling(bag, "mean")
