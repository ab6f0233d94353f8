"""Masked-language modelling of an encoder (Devlin et al. 2019, section 3.1): what is masked, and what predicts it."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from transformers import AutoModelForMaskedLM, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from ease.errors import EaseError
from ease.methods.components.losses import masked_token_loss

MASKED, RANDOM = 0.8, 0.1
"""Shares of the chosen tokens that become the mask token, and any token; the others stay as they are."""

CPU_PARTS = 4
"""Parts in which a CPU encodes a batch."""


def mask_tokens(
    tokens: Tensor, candidates: Tensor, probability: float, mask_token: int, vocabulary_size: int
) -> tuple[Tensor, Tensor]:
    """Choose tokens to predict, and hide most of them; draws from torch's generator of the tokens' device.

    Args:
        tokens: (n, width), token ids.
        candidates: (n, width), true for tokens that may be chosen.
        probability: With which each of them is chosen.
        mask_token: Id of the mask token.
        vocabulary_size: Below which random tokens are drawn.

    Returns:
        The tokens to give to the encoder, and which ones are chosen: both (n, width).
    """
    chosen = (torch.rand(tokens.shape, device=tokens.device) < probability) & candidates
    fate = torch.rand(tokens.shape, device=tokens.device)
    others = torch.randint(vocabulary_size, tokens.shape, device=tokens.device)
    shown = tokens.masked_fill(chosen & (fate < MASKED), mask_token)
    return torch.where(chosen & (fate >= 1 - RANDOM), others, shown), chosen


class Masked(NamedTuple):
    """A batch of masked texts, all (n, width)."""

    tokens: Tensor
    shown: Tensor
    chosen: Tensor
    mask: Tensor


class MaskedLanguageModel(nn.Module):
    """Predicts masked tokens by an encoder that it refers to and does not hold: its own is the head alone.

    The head is the one that the encoder's architecture has for masked-language modelling, from random weights;
    its output matrix is the encoder's matrix of token embeddings.
    """

    _encoder: PreTrainedModel

    def __init__(self, encoder: SentenceTransformer, probability: float) -> None:
        """Make the head.

        Args:
            encoder: Begins with a transformer and has a mask token.
            probability: With which a token is masked.

        Raises:
            EaseError: If the encoder has no transformer, no mask token, or an architecture without such a head.
        """
        super().__init__()
        transformer = encoder[0]
        if not isinstance(transformer, Transformer):
            raise EaseError(
                f"Masked-language modelling needs a transformer, and the encoder begins with "
                f"{type(transformer).__name__}: choose another `encoder.name`."
            )
        tokenizer: Any = encoder.tokenizer
        if tokenizer.mask_token_id is None:
            raise EaseError(
                "Masked-language modelling hides tokens behind the mask token, and the encoder's tokenizer "
                f"({type(tokenizer).__name__}) has none: choose an encoder that was pre-trained with one, such as "
                "a BERT or an XLM-R, or set no weight for this loss."
            )
        # Past nn.Module, which would count the encoder among this module's parts.
        object.__setattr__(self, "_encoder", transformer.model)
        self._probability = probability
        self._mask_token = int(tokenizer.mask_token_id)
        self._special = tuple(tokenizer.all_special_ids)
        self.layers, self.bias = _head(transformer.model)

    def forward(
        self,
        tokens: Tensor,
        mask: Tensor,
        autocast: torch.dtype | None = None,
        mini_batch_size: int | None = None,
    ) -> Tensor:
        """Compute the loss of predicting masked tokens.

        Args:
            tokens: (n, width), token ids.
            mask: (n, width), 1 for tokens and 0 for padding.
            autocast: Half precision to compute in, if any; the loss is in single precision.
            mini_batch_size: Texts whose activations are in memory at a time, recomputed for the gradient. Default: all.
        """
        embeddings: Any = self._encoder.get_input_embeddings().weight  # (vocabulary, embedding dimension)
        special = torch.tensor(self._special, device=tokens.device)
        candidates = mask.bool() & ~torch.isin(tokens, special)
        shown, chosen = mask_tokens(tokens, candidates, self._probability, self._mask_token, len(embeddings))
        count = chosen.sum()
        with torch.autocast(tokens.device.type, dtype=autocast, enabled=autocast is not None):
            losses = [
                self._loss(*part, count)
                if mini_batch_size is None
                else checkpoint(self._loss, *part, count, use_reentrant=False)
                for part in _parts(Masked(tokens, shown, chosen, mask), mini_batch_size)
            ]
        return torch.stack(losses).sum()

    def _loss(self, tokens: Tensor, shown: Tensor, chosen: Tensor, mask: Tensor, count: Tensor) -> Tensor:
        """Compute what a part of the texts adds to the loss: the fields of `Masked`, and all tokens chosen."""
        embeddings: Any = self._encoder.get_input_embeddings().weight  # (vocabulary, embedding dimension)
        encoded = self._encoder(input_ids=shown, attention_mask=mask).last_hidden_state
        states = encoded[chosen].unsqueeze(0)  # (1, k, dimension)
        features = self.layers(inputs_embeds=states).logits  # (1, k, embedding dimension)
        logits = functional.linear(features.squeeze(0), embeddings, self.bias)  # (k, vocabulary)
        return masked_token_loss(logits, tokens[chosen], count)


def _parts(masked: Masked, mini_batch_size: int | None) -> Iterator[Masked]:
    """Cut masked texts into parts of similar length."""
    lengths = masked.mask.sum(dim=1)
    # On a CPU every padded token costs.
    parts = CPU_PARTS if lengths.device.type == "cpu" else 1
    if mini_batch_size is not None:
        parts = max(parts, math.ceil(len(lengths) / mini_batch_size))
    for rows in lengths.argsort(stable=True).chunk(parts):
        yield Masked(*(values[rows, : max(1, int(lengths[rows[-1]]))] for values in masked))


class _GivenStates(nn.Module):
    """Stands where a model for masked-language modelling has its encoder: hands on the states that it is given."""

    def forward(self, input_ids: None = None, *, inputs_embeds: Tensor, **ignored: Any) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=inputs_embeds)


def _head(encoder: PreTrainedModel) -> tuple[PreTrainedModel, nn.Parameter | None]:
    """Make what the model for masked-language modelling of an encoder's architecture has beside the encoder.

    Returns:
        The layers up to the output matrix, as a model that takes states for `inputs_embeds`; the output's bias.
    """
    config = encoder.config
    unfit = EaseError(
        f"The encoder's architecture {config.model_type!r} has no masked-language modelling that shares its token "
        "embeddings: choose an encoder that was pre-trained by it, such as a BERT or an XLM-R."
    )
    try:
        model = AutoModelForMaskedLM.from_config(copy.deepcopy(config))
    except ValueError as error:
        raise unfit from error
    output = model.get_output_embeddings()
    setattr(model, model.base_model_prefix, _GivenStates())
    places = [name for name, module in model.named_modules() if module is output]
    if not places or output.weight.shape != encoder.get_input_embeddings().weight.shape:
        raise unfit
    model.set_submodule(places[0], nn.Identity())
    for module in model.modules():  # some architectures keep the bias a second time
        for name, parameter in list(module.named_parameters(recurse=False)):
            if parameter is output.bias:
                setattr(module, name, None)
    return model, output.bias
