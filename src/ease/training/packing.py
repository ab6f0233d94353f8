"""Packed texts: batches with little or no padding, in a form for a CPU or one for a GPU."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from accelerate.utils import send_to_device
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor

from ease.encoders.token_batches import PADDED
from ease.errors import EaseError
from ease.training import packing_by_length, packing_in_rows
from ease.training.packing_by_length import PackedByLength
from ease.training.packing_in_rows import PackedInRows

logger = logging.getLogger(__name__)

Packed = PackedByLength | PackedInRows

TOLERANCE = 1e-3
"""Relative difference allowed between packed and padded embeddings; padding changes the order of sums"""

LONGEST = 512
"""Tokens of the longest text that is compared; longer than the windows of known local attention"""


class Packing(NamedTuple):
    """A form of packed texts."""

    prepare: Callable[[SentenceTransformer], None]
    """Makes an encoder accept it; padded texts are encoded as before"""
    pack: Callable[[NDArray[np.int32], NDArray[np.int32], int], Packed]
    """Packs n padded texts of ascending lengths, each repeated for a number of views"""
    embed: Callable[[SentenceTransformer, Any, int], Tensor]
    """Embeds packed texts, given the encoder's first position number: -> (n * views, dimension)"""


BY_LENGTH = Packing(packing_by_length.prepare, packing_by_length.pack, packing_by_length.embed)
IN_ROWS = Packing(packing_in_rows.prepare, packing_in_rows.pack, packing_in_rows.embed)


class PackingRefusal(EaseError):
    """An encoder cannot be trained with packed texts."""

    def __init__(self, reason: str) -> None:
        """Name the reason and the remedy."""
        super().__init__(
            f"This encoder cannot be trained with `packed: true` ({reason}): set `packed: false`."
        )
        self.reason = reason


def choose_packing(
    packed: bool | Literal["auto"], encoder: SentenceTransformer, *, on_gpu: bool
) -> Packing | None:
    """Return the form of packed texts, or None for padded texts.

    `auto` packs texts on a CPU if the encoder, as the method set it up, allows it.
    """
    form = IN_ROWS if on_gpu else BY_LENGTH
    if packed != "auto":
        return form if packed else None
    try:
        if on_gpu:
            raise PackingRefusal("it is for CPUs")
        prepare_packing(encoder, form)
    except PackingRefusal as refusal:
        logger.info("`packed: auto`: texts are padded (packing: %s).", refusal.reason)
        return None
    logger.info("`packed: auto`: texts are packed.")
    return form


def prepare_packing(encoder: SentenceTransformer, form: Packing) -> int:
    """Make an encoder accept packed texts; padded texts are encoded as before.

    Returns:
        The first position number, which differs between architectures.

    Raises:
        PackingRefusal: If the encoder does not support packing, or encodes packed texts differently.
    """
    transformer = encoder[0]
    known = ("sdpa", PADDED, packing_by_length.PACKED)
    if not isinstance(transformer, Transformer) or transformer.config._attn_implementation not in known:
        raise PackingRefusal("its attention is not torch's `scaled_dot_product_attention`")
    if any(module._forward_pre_hooks for module in transformer.modules()):
        raise PackingRefusal("the method's DropHead counts sequences, which packing hides")
    form.prepare(encoder)
    padding = encoder.tokenizer.pad_token_id or 0
    for first_position in (0, padding + 1):
        if _encodes_alike(encoder, form, first_position):
            return first_position
    transformer.model.set_attn_implementation("sdpa")
    raise PackingRefusal("its embeddings of packed and of padded texts differ")


def _encodes_alike(encoder: SentenceTransformer, form: Packing, first_position: int) -> bool:
    """Return whether texts of several lengths have the same embeddings packed and padded."""
    config: Any = encoder[0].config
    positions = getattr(config, "max_position_embeddings", None) or LONGEST
    longest = min(encoder.max_seq_length or LONGEST, LONGEST, positions - first_position)
    if longest < 1:  # the number of the padding token is above all positions
        return False
    texts = encoder.tokenizer(
        ["a", "a b c d e", "a b " * longest],
        truncation=True,
        max_length=longest,
        return_attention_mask=False,
    )["input_ids"]
    lengths = np.array([len(ids) for ids in texts])
    mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int32)  # padded on the right
    tokens = np.zeros(mask.shape, dtype=np.int32)
    tokens[mask > 0] = np.concatenate(texts)
    padded = {"input_ids": torch.from_numpy(tokens).long(), "attention_mask": torch.from_numpy(mask).long()}
    training = encoder.training
    encoder.eval()
    with torch.inference_mode():
        wanted = encoder(send_to_device(padded, encoder.device))["sentence_embedding"]
        packed = send_to_device(form.pack(tokens, lengths, 1), encoder.device)
        found = form.embed(encoder, packed, first_position)
    encoder.train(training)
    return bool(((wanted - found).norm(dim=1) <= TOLERANCE * wanted.norm(dim=1)).all())
