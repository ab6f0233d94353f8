"""DropHead against explicit attention in every supported architecture; dropout rates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from ease.encoders.word_vectors import load_word_vectors
from ease.errors import EaseError
from ease.methods.components.drophead import MERGES, drop_heads, set_drophead, set_dropout
from tests.methods.made import encoder as sample_encoder

HEADS, SIZE, LAYERS = 3, 8, 2
RATE = 0.4
VALUES = {
    "albert": "value",
    "deberta-v2": "value_proj",
    "distilbert": "v_lin",
    "gemma3_text": "v_proj",
    "modernbert": "Wqkv",
    "mpnet": "v",
    "nomic_bert": "v_proj",
    "qwen3": "v_proj",
}
"""By architecture, the layer that makes the attention's values; its rows belong to the heads in turn."""


def tiny(architecture: str, folder: Path) -> SentenceTransformer:
    """An encoder of two layers with three heads, from random weights."""
    sizes: dict[str, Any] = {
        "hidden_size": HEADS * SIZE,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": 32,
        "vocab_size": 300,
        "max_position_embeddings": 64,
        "pad_token_id": 0,
    }
    if architecture == "distilbert":
        sizes = {
            "dim": HEADS * SIZE,
            "n_layers": LAYERS,
            "n_heads": HEADS,
            "hidden_dim": 32,
            "vocab_size": 300,
        }
    if (
        architecture == "albert"
    ):  # its layers share their weights: one of them, for each to have its own heads
        sizes.update(num_hidden_layers=1, embedding_size=16)
    if architecture == "modernbert":
        sizes.update(cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3)
    if architecture in ("gemma3_text", "qwen3"):  # by default, heads of another size share their values
        sizes.update(head_dim=SIZE, num_key_value_heads=HEADS)
    if architecture == "deberta-v2":
        sizes.update(relative_attention=True, pos_att_type=["c2p", "p2c"])
    torch.manual_seed(1)
    model = AutoModel.from_config(AutoConfig.for_model(architecture, **sizes))
    with torch.no_grad():
        for weights in model.parameters():  # far from what an initialisation makes nearly alike
            weights.add_(torch.randn_like(weights) * 0.3)
    model.save_pretrained(folder)
    sample_encoder().tokenizer.save_pretrained(folder)
    return SentenceTransformer(
        modules=[Transformer(str(folder)), Pooling(HEADS * SIZE, "mean")], device="cpu"
    )


def tokens() -> dict[str, Tensor]:
    """Five sequences, some of them padded."""
    mask = torch.ones(5, 7, dtype=torch.long)
    mask[1, 5:] = mask[3, 2:] = 0
    ids = torch.randint(5, 250, (5, 7), generator=torch.Generator().manual_seed(0)) * mask
    return {"input_ids": ids, "attention_mask": mask}


def model_of(encoder: SentenceTransformer) -> Any:
    """The transformer's own model."""
    first: Any = encoder[0]
    return first.model


def embed(encoder: SentenceTransformer, features: dict[str, Tensor]) -> Tensor:
    embeddings: Tensor = encoder(dict(features))["sentence_embedding"]
    return embeddings


def drawn_scales(layers: int, count: int) -> Tensor:
    """Return the scales of the heads, (layers, count, heads), by drawing them again in the same order."""
    kept = torch.stack([torch.rand(count, HEADS) >= RATE for _ in range(layers)])
    return torch.where(kept, HEADS / kept.sum(-1, keepdim=True).clamp(min=1), 0.0)


def scale_values(encoder: SentenceTransformer, architecture: str, scales: Tensor) -> None:
    """Multiply each head's values, and so its output, in every layer: (layers, heads)."""
    name = VALUES.get(architecture, "value")
    found = [module for path, module in model_of(encoder).named_modules() if path.split(".")[-1] == name]
    assert len(found) == len(scales)
    for module, row in zip(found, scales, strict=True):
        assert isinstance(module, nn.Linear)
        factors = row.repeat_interleave(SIZE)
        with torch.no_grad():
            module.weight[-HEADS * SIZE :] *= factors.unsqueeze(1)
            if module.bias is not None:
                module.bias[-HEADS * SIZE :] *= factors


@pytest.mark.parametrize("architecture", MERGES)
def test_a_dropped_head_is_a_head_whose_values_are_zero(architecture: str, tmp_path: Path) -> None:
    encoder = tiny(architecture, tmp_path)
    features, weights = tokens(), {name: value.clone() for name, value in encoder.state_dict().items()}
    whole = embed(encoder.eval(), features)
    set_dropout(encoder, 0.0)
    handles = set_drophead(encoder, RATE)
    torch.manual_seed(5)
    dropped = embed(encoder.train(), features)
    torch.manual_seed(5)
    assert torch.equal(embed(encoder, features), dropped), "the generator alone decides"
    assert torch.equal(embed(encoder.eval(), features), whole), "nothing drops out after the training"
    for handle in handles:
        handle.remove()
    torch.manual_seed(5)
    scales = drawn_scales(len(handles), 5)
    assert (scales == 0).any()
    for number in range(5):
        encoder.load_state_dict(weights)
        scale_values(encoder, architecture, scales[:, number])
        own = {name: values[number : number + 1] for name, values in features.items()}
        torch.testing.assert_close(embed(encoder.eval(), own)[0], dropped[number], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(dropped, whole, atol=1e-3)


def attention_by_hand(layer: Any, states: np.ndarray, length: int, scales: np.ndarray) -> np.ndarray:
    """A BERT layer's self-attention of one sequence, head after head: (width, dimension)."""
    attention = layer.attention.self
    weights = {
        name: (getattr(attention, name).weight.numpy(), getattr(attention, name).bias.numpy())
        for name in ("query", "key", "value")
    }
    query, key, value = (states @ matrix.T + bias for matrix, bias in weights.values())
    heads = []
    for head in range(HEADS):
        columns = slice(head * SIZE, (head + 1) * SIZE)
        logits = query[:, columns] @ key[:length, columns].T / np.sqrt(SIZE)
        shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        heads.append(scales[head] * (shares @ value[:length, columns]))
    merge = layer.attention.output.dense
    return np.concatenate(heads, axis=1) @ merge.weight.numpy().T + merge.bias.numpy()


def test_the_attention_of_a_bert_with_dropped_heads_by_hand(tmp_path: Path) -> None:
    encoder = tiny("bert", tmp_path).double().requires_grad_(False)
    set_dropout(encoder, 0.0)
    set_drophead(encoder, RATE)
    seen: list[Tensor] = []
    layer: Any = model_of(encoder).encoder.layer[0]
    layer.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    layer.attention.output.dense.register_forward_hook(lambda module, inputs, output: seen.append(output))
    torch.manual_seed(5)
    embed(encoder.train(), tokens())
    torch.manual_seed(5)
    scales = drawn_scales(LAYERS, 5)[0].double().numpy()
    lengths = tokens()["attention_mask"].sum(1).tolist()
    for number, length in enumerate(lengths):
        expected = attention_by_hand(layer, seen[0][number].numpy(), length, scales[number])
        np.testing.assert_allclose(seen[1][number][:length], expected[:length], rtol=0, atol=1e-9)


def test_heads_drop_with_their_rate_and_the_others_make_up_for_them() -> None:
    torch.manual_seed(0)
    states = torch.ones(4000, 2, 12 * 4)
    dropped = drop_heads(states, 12, 0.2).unflatten(-1, (12, 4))
    assert torch.equal(dropped, dropped[:, :1, :, :1].expand_as(dropped)), "whole heads, at all places"
    zero = dropped[:, 0, :, 0] == 0  # (sequences, heads)
    assert zero.float().mean().item() == pytest.approx(0.2, abs=0.01)
    assert torch.unique(zero, dim=0).shape[0] > 100, "every sequence has its own"
    torch.testing.assert_close(dropped.sum(2), torch.full((4000, 2, 4), 12.0))


def test_a_sequence_may_lose_all_heads_and_stays_finite() -> None:
    torch.manual_seed(0)
    states = torch.randn(200, 3, 2 * 4, requires_grad=True)
    dropped = drop_heads(states, 2, 0.7)
    empty = (dropped == 0).flatten(1).all(1)
    assert empty.any()
    assert not empty.all()
    (gradient,) = torch.autograd.grad(dropped.square().sum(), states)
    assert torch.isfinite(gradient).all()
    assert not gradient[empty].any()


def test_half_precision_stays_half() -> None:
    assert drop_heads(torch.ones(2, 3, 8, dtype=torch.bfloat16), 2, 0.5).dtype == torch.bfloat16


def test_an_architecture_that_drophead_does_not_know_is_refused(tmp_path: Path) -> None:
    config = AutoConfig.for_model(
        "mobilebert", num_hidden_layers=1, vocab_size=300, hidden_size=128, embedding_size=128
    )
    AutoModel.from_config(config).save_pretrained(tmp_path)
    sample_encoder().tokenizer.save_pretrained(tmp_path)
    encoder = SentenceTransformer(modules=[Transformer(str(tmp_path))], device="cpu")
    with pytest.raises(EaseError, match=r"'mobilebert': set `drophead: 0`.*albert, bert,.*roberta"):
        set_drophead(encoder, 0.1)


def words(folder: Path) -> SentenceTransformer:
    """Return an encoder without a transformer: the mean of word vectors."""
    (folder / "words.txt").write_text("the 1 0\ncity 0 1\n", encoding="utf-8")
    return load_word_vectors(folder / "words.txt")


def test_word_vectors_have_neither_heads_nor_dropout(tmp_path: Path) -> None:
    encoder = words(tmp_path)
    with pytest.raises(EaseError, match="does not support the architecture"):
        set_drophead(encoder, 0.1)
    with pytest.raises(EaseError, match="has no dropout layer: set `dropout: null`"):
        set_dropout(encoder, 0.1)
    set_dropout(encoder, 0.0)


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "modernbert", "mpnet", "roberta"])
def test_dropout_has_the_rate_that_is_set(architecture: str, tmp_path: Path) -> None:
    encoder = tiny(architecture, tmp_path)
    features, saved = tokens(), model_of(encoder).config.to_dict()
    whole = embed(encoder.eval(), features)
    set_dropout(encoder, 0.3)
    assert {module.p for module in encoder.modules() if isinstance(module, nn.Dropout)} == {0.3}
    assert not torch.allclose(embed(encoder.train(), features), embed(encoder, features), atol=1e-3)
    assert torch.equal(embed(encoder.eval(), features), whole)
    set_dropout(encoder, 0.0)
    torch.testing.assert_close(embed(encoder.train(), features), whole)
    assert model_of(encoder).config.to_dict() == saved


@pytest.mark.parametrize("rate", [0.05, 0.4])
def test_as_many_values_drop_out_as_the_rate_says(rate: float, tmp_path: Path) -> None:
    encoder = tiny("bert", tmp_path)
    set_dropout(encoder, rate)
    dropped: list[Tensor] = []
    for module in encoder.modules():
        if isinstance(module, nn.Dropout):
            module.register_forward_hook(lambda module, inputs, output: dropped.append(output == 0))
    features = {name: values.repeat(60, 1) for name, values in tokens().items()}
    torch.manual_seed(0)
    embed(encoder.train(), features)
    assert len(dropped) == 1 + 2 * LAYERS
    assert [zeros.float().mean().item() for zeros in dropped] == pytest.approx(
        [rate] * len(dropped), abs=0.01
    )
