"""Masked-language modelling (Devlin et al. 2019, section 3.1), as a method and as an auxiliary loss of SimCSE."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import torch
from pydantic import Field
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from transformers import AutoModelForMaskedLM, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from ease.encoders.attention import padding_known
from ease.errors import EaseError
from ease.methods.base import SENTENCE, TOTAL, Inputs, Reads, TrainingMethod
from ease.options import StrictModel

MASKED_SHARE = 0.8
"""Fraction of the selected tokens that become the mask token (Devlin et al. 2019, section 3.1)."""

RANDOM_SHARE = 0.1
"""Fraction of the selected tokens that become a random token; the rest stays unchanged."""

CPU_PARTS = 4
"""Chunks of similar length in which a CPU, where padding is expensive, encodes a batch"""


class MlmOptions(StrictModel):
    """Parameters of masked-language modelling."""

    probability: float = Field(0.15, gt=0, lt=1, description="of masking a token")


class Mlm(TrainingMethod[MlmOptions]):
    """Masked-language modelling, to make an encoder that other methods start from."""

    Options = MlmOptions

    def __init__(self, options: MlmOptions, encoder: SentenceTransformer) -> None:
        super().__init__(options)
        self.masked = MaskedLanguageModel(encoder, options.probability)

    @classmethod
    def reads(cls, options: MlmOptions) -> Reads:
        """Return the tokens and the output matrix alone: there is no loss of embeddings."""
        return Reads(token_columns=(SENTENCE,), token_matrix=True)

    @classmethod
    def build(cls, options: MlmOptions, encoder: SentenceTransformer, embeddings: Tensor | None) -> Self:
        """Make the prediction head; the encoder must be a transformer with a mask token."""
        return cls(options, encoder)

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute the cross-entropy of the masked tokens."""
        return {TOTAL: self.masked(*inputs.texts[SENTENCE], inputs.autocast, inputs.mini_batch_size)}


class MaskedLanguageModel(nn.Module):
    """Masked-LM head over a shared encoder that is not registered as a submodule.

    The head is that of the encoder's architecture, with random weights; its output matrix is the encoder's matrix of
    token embeddings.
    """

    _encoder: PreTrainedModel
    _special: Tensor

    def __init__(self, encoder: SentenceTransformer, probability: float) -> None:
        """Make the head for an encoder that begins with a transformer and has a mask token."""
        super().__init__()
        transformer = encoder[0]
        tokenizer = encoder.tokenizer
        if not isinstance(transformer, Transformer):
            raise EaseError(
                f"Masked-language modelling needs a transformer, and the encoder begins with "
                f"{type(transformer).__name__}: choose another `encoder.name`."
            )
        if tokenizer.mask_token_id is None:
            raise EaseError(
                f"Masked-language modelling needs a mask token, and the tokenizer {type(tokenizer).__name__} has none: "
                "choose an encoder that was pretrained with one, such as BERT or XLM-R, or set this loss's weight to 0."
            )
        # nn.Module's __setattr__ would register the encoder as a submodule.
        object.__setattr__(self, "_encoder", transformer.model)
        self._probability = probability
        self._mask_token = int(tokenizer.mask_token_id)
        self.register_buffer("_special", torch.tensor(tokenizer.all_special_ids), persistent=False)
        self.layers, self.bias = _head(transformer.model)

    def forward(
        self, tokens: Tensor, mask: Tensor, autocast: torch.dtype | None = None, mini_batch_size: int | None = None
    ) -> Tensor:
        """Compute the loss of predicting masked tokens, in single precision; 0 without masked tokens.

        `tokens` and `mask`, 0 for padding, are (n, width). The activations of `mini_batch_size` texts are in memory at
        a time, and recomputed for the gradient.
        """
        embeddings: Any = self._encoder.get_input_embeddings().weight  # (vocabulary, embedding dimension)
        candidates = mask.bool() & ~torch.isin(tokens, self._special)
        masked, selected = mask_tokens(tokens, candidates, self._probability, self._mask_token, len(embeddings))
        parts = 1
        if mask.device.type == "cpu":
            parts = CPU_PARTS
        if mini_batch_size is not None:
            parts = max(parts, math.ceil(len(mask) / mini_batch_size))
        chunks = _chunks_by_length([tokens, masked, selected, mask], mask, parts)
        count = selected.sum()
        loss: Callable[..., Tensor] = self._loss
        if mini_batch_size is not None:
            loss = partial(checkpoint, self._loss, use_reentrant=False)
        with torch.autocast(tokens.device.type, dtype=autocast, enabled=autocast is not None):
            losses = [loss(chunk, count) for chunk in chunks]
        return torch.stack(losses).sum()

    def _loss(self, chunk: list[Tensor], count: Tensor) -> Tensor:
        """Return the summed cross-entropy of some texts, divided by the number of selected tokens in the batch."""
        tokens, masked, selected, mask = chunk
        embeddings: Any = self._encoder.get_input_embeddings().weight  # (vocabulary, embedding dimension)
        with padding_known():
            encoded = self._encoder(input_ids=masked, attention_mask=mask).last_hidden_state
        # The device is asked only once where the selected tokens are.
        places = selected.flatten().nonzero().squeeze(1)  # (k,)
        states = encoded.flatten(0, 1)[places].unsqueeze(0)  # (1, k, dimension)
        features = self.layers(inputs_embeds=states).logits  # (1, k, embedding dimension)
        logits = functional.linear(features.squeeze(0), embeddings, self.bias)  # (k, vocabulary)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        total = functional.cross_entropy(logits, tokens.flatten()[places], reduction="sum")
        return total / count.clamp(min=1)


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
    selected = (torch.rand(tokens.shape, device=tokens.device) < probability) & candidates
    fate = torch.rand(tokens.shape, device=tokens.device)
    random_tokens = torch.randint(vocabulary_size, tokens.shape, device=tokens.device)
    masked = tokens.masked_fill(selected & (fate < MASKED_SHARE), mask_token)
    # The two shares are the two ends of the interval of fates; tokens between them stay unchanged.
    return torch.where(selected & (fate >= 1 - RANDOM_SHARE), random_tokens, masked), selected


def _chunks_by_length(values: list[Tensor], mask: Tensor, parts: int) -> list[list[Tensor]]:
    """Split the rows of tensors of a width into parts of similar length, each as wide as its longest text."""
    if parts == 1:  # a GPU would have to wait until the host knows the lengths
        return [values]
    lengths = mask.sum(dim=1)
    chunks = []
    for rows in lengths.argsort(stable=True).chunk(parts):
        width = max(1, int(lengths[rows[-1]]))
        chunks.append([column[rows, :width] for column in values])
    return chunks


class _PassedStates(nn.Module):
    """Replaces the encoder of a masked language model, and returns the hidden states that it gets."""

    def forward(self, input_ids: None = None, *, inputs_embeds: Tensor, **ignored: Any) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=inputs_embeds)


def _head(encoder: PreTrainedModel) -> tuple[PreTrainedModel, nn.Parameter | None]:
    """Return the layers before the output matrix, as a model that reads `inputs_embeds`, and the output's bias."""
    unsupported = EaseError(
        f"The encoder's architecture {encoder.config.model_type!r} has no masked-language model that shares its token "
        "embeddings: choose an encoder that was pretrained with one, such as BERT or XLM-R."
    )
    try:
        model = AutoModelForMaskedLM.from_config(copy.deepcopy(encoder.config))
    except ValueError as error:
        raise unsupported from error
    output = model.get_output_embeddings()
    # The encoder runs apart, since it is shared with the sentence embeddings; the head reads its states.
    setattr(model, model.base_model_prefix, _PassedStates())
    place = next((name for name, module in model.named_modules() if module is output), None)
    if place is None or output.weight.shape != encoder.get_input_embeddings().weight.shape:
        raise unsupported
    # The output matrix is the encoder's matrix of token embeddings, not one of the head's own.
    model.set_submodule(place, nn.Identity())
    for module in model.modules():  # some architectures register the bias twice
        for name, parameter in list(module.named_parameters(recurse=False)):
            if parameter is output.bias:
                setattr(module, name, None)
    return model, output.bias
