"""DropHead against explicit attention in every supported architecture; dropout rates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import BoW, Pooling, Transformer
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from ease.errors import EaseError
from ease.methods.components.drophead import has_dropout, set_drophead, set_dropout
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


CHANGES: dict[str, dict[str, Any]] = {
    # Its layers share their weights: one of them, for each to have its own heads.
    "albert": {"num_hidden_layers": 1, "embedding_size": 16},
    "modernbert": {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3},
    # By default, heads of another size share their values.
    "gemma3_text": {"head_dim": SIZE, "num_key_value_heads": HEADS},
    "qwen3": {"head_dim": SIZE, "num_key_value_heads": HEADS},
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
}


def tiny(architecture: str, folder: Path) -> SentenceTransformer:
    """An encoder of two layers with three heads, from random weights."""
    sizes: dict[str, Any] = {
        "hidden_size": HEADS * SIZE,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": 32,
        "max_position_embeddings": 64,
        "pad_token_id": 0,
        **CHANGES.get(architecture, {}),
    }
    if architecture == "distilbert":
        sizes = {"dim": HEADS * SIZE, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": 32}
    torch.manual_seed(1)
    model = AutoModel.from_config(AutoConfig.for_model(architecture, vocab_size=300, **sizes))
    with torch.no_grad():
        for weights in model.parameters():  # far from what an initialisation makes nearly alike
            weights.add_(torch.randn_like(weights) * 0.3)
    model.save_pretrained(folder)
    sample_encoder().tokenizer.save_pretrained(folder)
    return SentenceTransformer(modules=[Transformer(str(folder)), Pooling(HEADS * SIZE, "mean")], device="cpu")


def tokens() -> dict[str, Tensor]:
    """Five sequences, some of them padded."""
    mask = torch.ones(5, 7, dtype=torch.long)
    mask[1, 5:] = mask[3, 2:] = 0
    ids = torch.randint(5, 250, (5, 7), generator=torch.Generator().manual_seed(0)) * mask
    return {"input_ids": ids, "attention_mask": mask}


def embed(encoder: SentenceTransformer, features: dict[str, Tensor]) -> Tensor:
    embeddings: Tensor = encoder(dict(features))["sentence_embedding"]
    return embeddings


def scale_values(encoder: SentenceTransformer, architecture: str, scales: Tensor) -> None:
    """Multiply each head's values, and so its output, in every layer: (layers, heads)."""
    name = VALUES.get(architecture, "value")
    found = [module for path, module in encoder[0].named_modules() if path.split(".")[-1] == name]
    assert len(found) == len(scales)
    for module, row in zip(found, scales, strict=True):
        assert isinstance(module, nn.Linear)
        factors = row.repeat_interleave(SIZE)
        with torch.no_grad():
            module.weight[-HEADS * SIZE :] *= factors.unsqueeze(1)
            if module.bias is not None:
                module.bias[-HEADS * SIZE :] *= factors


@pytest.mark.parametrize("architecture", sorted({*VALUES, "bert", "xlm-roberta"}))
def test_a_dropped_head_is_a_head_whose_values_are_zero(architecture: str, tmp_path: Path) -> None:
    encoder = tiny(architecture, tmp_path)
    features, weights = tokens(), {name: value.clone() for name, value in encoder.state_dict().items()}
    whole = embed(encoder.eval(), features)
    set_dropout(encoder, 0.0)
    set_drophead(encoder, RATE)
    torch.manual_seed(5)
    dropped = embed(encoder.train(), features)
    torch.manual_seed(5)
    assert torch.equal(embed(encoder, features), dropped), "the generator alone decides"
    assert torch.equal(embed(encoder.eval(), features), whole), "nothing drops out after training"
    torch.manual_seed(5)
    layers = CHANGES.get(architecture, {}).get("num_hidden_layers", LAYERS)
    kept = torch.stack([torch.rand(5, HEADS) >= RATE for _ in range(layers)])
    scales = torch.where(kept, HEADS / kept.sum(-1, keepdim=True).clamp(min=1), 0.0)  # (layers, 5, heads)
    assert (scales == 0).any()
    for number in range(5):
        encoder.load_state_dict(weights)
        scale_values(encoder, architecture, scales[:, number])
        own = {name: values[number : number + 1] for name, values in features.items()}
        torch.testing.assert_close(embed(encoder.eval(), own)[0], dropped[number], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(dropped, whole, atol=1e-3)


def test_encoders_without_known_heads_or_dropout_are_refused() -> None:
    words = SentenceTransformer(modules=[BoW(["a", "b"])], device="cpu")
    with pytest.raises(EaseError, match=r"'BoW': set `drophead: 0`.*albert, bert,.*roberta"):
        set_drophead(words, 0.1)
    with pytest.raises(EaseError, match="has no dropout layer: set `dropout: null`"):
        set_dropout(words, 0.1)
    set_dropout(words, 0.0)


@pytest.mark.parametrize("architecture", ["bert", "modernbert"])
def test_dropout_has_the_rate_that_is_set(architecture: str, tmp_path: Path) -> None:
    encoder = tiny(architecture, tmp_path)
    transformer: Any = encoder[0]
    features, saved = tokens(), transformer.model.config.to_dict()
    whole = embed(encoder.eval(), features)
    set_dropout(encoder, 0.3)
    assert has_dropout(encoder)
    assert {module.p for module in encoder.modules() if isinstance(module, nn.Dropout)} == {0.3}
    assert not torch.allclose(embed(encoder.train(), features), embed(encoder, features), atol=1e-3)
    assert torch.equal(embed(encoder.eval(), features), whole)
    set_dropout(encoder, 0.0)
    assert not has_dropout(encoder)
    torch.testing.assert_close(embed(encoder.train(), features), whole)
    assert transformer.model.config.to_dict() == saved
