"""Masked-language modelling: the masked tokens, and the loss against transformers' own models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import BoW, Pooling, Transformer
from torch import Tensor, nn
from transformers import (
    AlbertConfig,
    AutoModel,
    AutoModelForMaskedLM,
    BertConfig,
    DistilBertConfig,
    ModernBertConfig,
    PreTrainedConfig,
    PreTrainedModel,
    T5Config,
    T5EncoderModel,
    XLMRobertaConfig,
)

from ease.errors import EaseError
from ease.methods.mlm import MaskedLanguageModel, mask_tokens
from tests.methods.made import build, encoder, without_mask_token

MASK, VOCABULARY = 4, 300


def test_fifteen_of_a_hundred_are_chosen_and_eight_in_ten_of_them_hidden() -> None:
    torch.manual_seed(0)
    tokens = torch.randint(5, VOCABULARY, (1000, 400))
    candidates = torch.rand(tokens.shape) < 0.7
    shown, chosen = mask_tokens(tokens, candidates, 0.15, MASK, VOCABULARY)

    def share(found: Tensor, among: Tensor) -> float:
        return float((found & among).sum() / among.sum())

    assert not (chosen & ~candidates).any()
    assert torch.equal(shown[~chosen], tokens[~chosen])
    # 280,000 candidates, 42,000 chosen: five standard deviations.
    assert share(chosen, candidates) == pytest.approx(0.15, abs=0.0034)
    assert share(shown == MASK, chosen) == pytest.approx(0.8 + 0.1 / VOCABULARY, abs=0.01)
    assert share(shown == tokens, chosen) == pytest.approx(0.1 + 0.1 / VOCABULARY, abs=0.0075)
    random = shown[chosen & (shown != MASK) & (shown != tokens)]
    counts = torch.bincount(random, minlength=VOCABULARY)
    assert len(counts) == VOCABULARY
    assert counts.float().mean() == pytest.approx(14, abs=1.6)
    assert counts.max() < 40


SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "pad_token_id": 0,
}
CONFIGURATIONS: list[PreTrainedConfig] = [
    BertConfig(**SIZES),
    XLMRobertaConfig(**SIZES),
    DistilBertConfig(vocab_size=VOCABULARY, dim=16, n_layers=2, n_heads=2, hidden_dim=24),
    AlbertConfig(**SIZES, embedding_size=8),
    ModernBertConfig(**SIZES, bos_token_id=2, cls_token_id=2, eos_token_id=3, sep_token_id=3),
]


def begin(model: PreTrainedModel, folder: Path) -> SentenceTransformer:
    """An encoder of a model, with the tokenizer of another."""
    model.save_pretrained(folder)
    encoder().tokenizer.save_pretrained(folder)
    return SentenceTransformer(modules=[Transformer(str(folder)), Pooling(16, "mean")], device="cpu").double()


def gradients(model: nn.Module) -> dict[str, Tensor]:
    return {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=lambda configuration: configuration.model_type)
def test_loss_and_gradients_are_those_of_the_architecture_s_own_model(
    configuration: PreTrainedConfig, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    started = begin(AutoModel.from_config(configuration), tmp_path).eval()
    masked = MaskedLanguageModel(started, 0.4).double().eval()
    own: Any = AutoModelForMaskedLM.from_pretrained(tmp_path).double().eval()
    own.load_state_dict(masked.layers.state_dict(), strict=False)
    bias, own_bias = masked.bias, own.get_output_embeddings().bias
    assert bias is not None
    with torch.no_grad():
        own_bias.copy_(bias.normal_())
    tokens = torch.randint(5, VOCABULARY, (3, 9))
    tokens[:, 0], mask = 2, torch.ones(3, 9, dtype=torch.long)
    tokens[1, 6:], mask[1, 6:] = 0, 0

    torch.manual_seed(7)
    shown, chosen = mask_tokens(tokens, mask.bool() & (tokens != 2), 0.4, MASK, VOCABULARY)
    labels = tokens.masked_fill(~chosen, -100)
    logits = own(input_ids=shown, attention_mask=mask).logits  # its own loss is in single precision for some
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
    torch.manual_seed(7)
    loss = masked(tokens, mask)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-10)

    expected.backward()
    loss.backward()
    transformer: Any = started[0]
    found, wanted = gradients(transformer.model), gradients(own.base_model)
    assert found.keys() == wanted.keys()
    for name, gradient in wanted.items():
        assert torch.allclose(found[name], gradient, atol=1e-9), name
    assert bias.grad is not None
    assert torch.allclose(bias.grad, own_bias.grad, atol=1e-9)


def test_an_encoder_that_cannot_be_masked_is_refused(tmp_path: Path) -> None:
    words = SentenceTransformer(modules=[BoW(["a", "b"])], device="cpu")
    with pytest.raises(EaseError, match="needs a transformer, and the encoder begins with BoW"):
        MaskedLanguageModel(words, 0.15)
    for name, options in (("mlm", {}), ("simcse", {"mlm_weight": 0.1})):
        with pytest.raises(EaseError, match="a mask token, .* has none"):
            build(name, without_mask_token(), **options)
    configuration = T5Config(vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2)
    with pytest.raises(EaseError, match="architecture 't5' has no masked-language model"):
        MaskedLanguageModel(begin(T5EncoderModel(configuration), tmp_path), 0.15)
