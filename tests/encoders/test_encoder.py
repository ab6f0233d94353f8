"""Encoders from random weights and from folders: poolings, seeds, errors, and loading without EASE."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import BoW
from transformers import AutoConfig, AutoModel, AutoTokenizer, BertForMaskedLM

from ease.encoders.encoder import build_encoder, load_encoder, save_encoder, set_pooling
from ease.encoders.encoding import fingerprint
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.encoders.poolings import POOLINGS, training_head
from ease.errors import EaseError
from tests.encoders.tiny import SIZES

SENTENCES = ["Berlin is the capital of Germany", "ベルリンはドイツの首都です", "A short one", "برلين عاصمة ألمانيا"]


def build(pooling: str = "mean", seed: int = 0) -> SentenceTransformer:
    sizes = RandomBertOptions(**{**SIZES, "layers": 3})
    return build_encoder(EncoderOptions(pooling=pooling, random=sizes, seed=seed), SENTENCES)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    save_encoder(build(), folder)
    return folder


@pytest.mark.parametrize("pooling", sorted(POOLINGS))
def test_every_pooling_loads_in_plain_libraries_and_follows_its_definition(pooling: str, tmp_path: Path) -> None:
    encoder = build(pooling)
    found = encoder.encode(SENTENCES)
    save_encoder(encoder, tmp_path)
    loaded = SentenceTransformer(str(tmp_path), device="cpu")
    assert np.array_equal(loaded.encode(SENTENCES), found)
    assert all(type(module).__module__.startswith("sentence_transformers.") for module in loaded)
    assert not list(tmp_path.rglob("*.bin"))
    model, tokenizer = AutoModel.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    batch = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    with torch.no_grad():
        layers = model(**batch, output_hidden_states=True).hidden_states
    mask = batch["attention_mask"].unsqueeze(-1)
    means = [(layer * mask).sum(1) / mask.sum(1) for layer in layers]
    last = layers[-1][torch.arange(4), batch["attention_mask"].sum(1) - 1]
    expected = {"mean": means[-1], "last_token": last, "first_last_mean": (means[1] + means[-1]) / 2}
    wanted = expected.get(pooling, layers[-1][:, 0])
    with torch.no_grad():
        head = training_head(build("cls"), "cls_mlp_train" if pooling == "cls_mlp" else None, 0)
        assert np.allclose(found, head(wanted), atol=1e-5)


def test_a_folder_keeps_its_pooling_or_gets_another(saved: Path) -> None:
    assert np.array_equal(load_encoder(str(saved)).encode(SENTENCES), build().encode(SENTENCES))
    options = EncoderOptions(name=str(saved), pooling="cls")
    assert np.array_equal(build_encoder(options).encode(SENTENCES), build("cls").encode(SENTENCES))


def test_an_encoder_that_lacks_weights_is_the_same_at_every_load(saved: Path, tmp_path: Path) -> None:
    """transformers draws the weights of a pooler at random, and caches and checkpoints know an encoder by them."""
    BertForMaskedLM(AutoConfig.from_pretrained(saved)).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(saved).save_pretrained(tmp_path)
    torch.manual_seed(1)
    state, first = torch.get_rng_state(), load_encoder(str(tmp_path))
    assert torch.equal(torch.get_rng_state(), state), "loading leaves the random state as it is"
    torch.manual_seed(2)
    assert "0.model.pooler.dense.weight" in first.state_dict()
    assert fingerprint(first) == fingerprint(load_encoder(str(tmp_path)))


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


def test_errors_name_faults() -> None:
    with pytest.raises(EaseError, match="'cls_mpl': did you mean cls_mlp"):
        load_encoder("anything", "cls_mpl")
    with pytest.raises(EaseError, match="needs sentences"):
        build_encoder(EncoderOptions())
    with pytest.raises(ValidationError, match="is not a multiple of `heads`"):
        RandomBertOptions(hidden_size=10, heads=4)
    with pytest.raises(EaseError, match="begins with BoW, not a transformer"):
        set_pooling(SentenceTransformer(modules=[BoW(vocab=["a", "b"])], device="cpu"), "mean")
