"""Masked-language modelling (Devlin et al. 2019, section 3.1)."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from transformers import AutoModelForMaskedLM, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from ease.encoders.token_batches import padding_known
from ease.errors import EaseError
from ease.methods.components.losses import masked_token_loss

MASKED, RANDOM = 0.8, 0.1
"""Fractions of the selected tokens that become the mask token and a random token; the others stay unchanged"""

CPU_PARTS = 4
"""Chunks in which a CPU encodes a batch"""


def mask_tokens(
    tokens: Tensor, candidates: Tensor, probability: float, mask_token: int, vocabulary_size: int
) -> tuple[Tensor, Tensor]:
    """Select tokens to predict, and mask most of them.

    Args:
        tokens: (n, width), token ids.
        candidates: (n, width), true for tokens that may be selected.
        probability: Of selecting a token.
        mask_token: Id of the mask token.
        vocabulary_size: Random tokens are drawn below it.

    Returns:
        The masked tokens, and a mask of the selected ones: both (n, width).
    """
    chosen = (torch.rand(tokens.shape, device=tokens.device) < probability) & candidates
    fate = torch.rand(tokens.shape, device=tokens.device)
    others = torch.randint(vocabulary_size, tokens.shape, device=tokens.device)
    shown = tokens.masked_fill(chosen & (fate < MASKED), mask_token)
    return torch.where(chosen & (fate >= 1 - RANDOM), others, shown), chosen


class MaskedLanguageModel(nn.Module):
    """Masked-LM head over a shared encoder that is not registered as a submodule.

    The head is that of the encoder's architecture, with random weights; its output matrix is the encoder's matrix of
    token embeddings.
    """

    _encoder: PreTrainedModel
    _special: Tensor

    def __init__(self, encoder: SentenceTransformer, probability: float) -> None:
        """Make the head for an encoder that begins with a transformer and has a mask token.

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
                "Masked-language modelling needs a mask token, and the encoder's tokenizer "
                f"({type(tokenizer).__name__}) has none: choose an encoder that was pretrained with one, such as "
                "BERT or XLM-R, or set this loss's weight to 0."
            )
        # nn.Module's __setattr__ would register the encoder as a submodule.
        object.__setattr__(self, "_encoder", transformer.model)
        self._probability = probability
        self._mask_token = int(tokenizer.mask_token_id)
        self.register_buffer("_special", torch.tensor(tokenizer.all_special_ids), persistent=False)
        self.layers, self.bias = _head(transformer.model)

    def forward(
        self,
        tokens: Tensor,
        mask: Tensor,
        autocast: torch.dtype | None = None,
        mini_batch_size: int | None = None,
    ) -> Tensor:
        """Compute the loss of predicting masked tokens, in single precision.

        `tokens` and `mask`, 0 for padding, are (n, width). The activations of `mini_batch_size` texts are in memory at
        a time, and recomputed for the gradient.
        """
        embeddings: Any = self._encoder.get_input_embeddings().weight  # (vocabulary, embedding dimension)
        candidates = mask.bool() & ~torch.isin(tokens, self._special)
        shown, chosen = mask_tokens(tokens, candidates, self._probability, self._mask_token, len(embeddings))
        count = chosen.sum()
        with torch.autocast(tokens.device.type, dtype=autocast, enabled=autocast is not None):
            losses = [
                self._loss(part, count)
                if mini_batch_size is None
                else checkpoint(self._loss, part, count, use_reentrant=False)
                for part in _parts(tokens, shown, chosen, mask, mini_batch_size)
            ]
        return torch.stack(losses).sum()

    def _loss(self, part: list[Tensor], count: Tensor) -> Tensor:
        """Return the loss of some texts; `count` tokens are selected in the complete batch."""
        tokens, shown, chosen, mask = part
        embeddings: Any = self._encoder.get_input_embeddings().weight  # (vocabulary, embedding dimension)
        with padding_known():
            encoded = self._encoder(input_ids=shown, attention_mask=mask).last_hidden_state
        # The device is asked only once where the selected tokens are.
        places = chosen.flatten().nonzero().squeeze(1)  # (k,)
        states = encoded.flatten(0, 1)[places].unsqueeze(0)  # (1, k, dimension)
        features = self.layers(inputs_embeds=states).logits  # (1, k, embedding dimension)
        logits = functional.linear(features.squeeze(0), embeddings, self.bias)  # (k, vocabulary)
        return masked_token_loss(logits, tokens.flatten()[places], count)


def _parts(
    tokens: Tensor, shown: Tensor, chosen: Tensor, mask: Tensor, mini_batch_size: int | None
) -> Iterator[list[Tensor]]:
    """Split masked texts into chunks of similar length; without chunks, a GPU does not need their lengths."""
    # Padding is expensive on a CPU.
    parts = CPU_PARTS if mask.device.type == "cpu" else 1
    if mini_batch_size is not None:
        parts = max(parts, math.ceil(len(mask) / mini_batch_size))
    masked = [tokens, shown, chosen, mask]
    if parts == 1:
        yield masked
        return
    lengths = mask.sum(dim=1)
    for rows in lengths.argsort(stable=True).chunk(parts):
        yield [values[rows, : max(1, int(lengths[rows[-1]]))] for values in masked]


class _GivenStates(nn.Module):
    """Replaces the encoder of a masked language model, and returns the given hidden states."""

    def forward(self, input_ids: None = None, *, inputs_embeds: Tensor, **ignored: Any) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=inputs_embeds)


def _head(encoder: PreTrainedModel) -> tuple[PreTrainedModel, nn.Parameter | None]:
    """Make the masked-LM head of an encoder's architecture.

    Returns:
        The layers before the output matrix, as a model that reads hidden states as `inputs_embeds`; the output's bias.
    """
    config = encoder.config
    unfit = EaseError(
        f"The encoder's architecture {config.model_type!r} has no masked-language model that shares its token "
        "embeddings: choose an encoder that was pretrained with one, such as BERT or XLM-R."
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
    for module in model.modules():  # some architectures register the bias twice
        for name, parameter in list(module.named_parameters(recurse=False)):
            if parameter is output.bias:
                setattr(module, name, None)
    return model, output.bias
