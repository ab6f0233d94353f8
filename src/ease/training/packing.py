"""Packed texts: rows of 64 tokens with several whole texts each, and attention within each text.

The rows are padded texts to torch's attention, with a mask that keeps every token to its own text. They have few
shapes, which a GPU wants. With at most 64 tokens in a row, its kernels compute their gradients in one block, and thus
in a fixed order.
"""

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

from ease.encoders.token_batches import PADDED, prepare_padding
from ease.errors import EaseError

logger = logging.getLogger(__name__)

WIDTH = 64
"""Tokens of a row; if a text is longer, the next multiple"""
SHAPES = 16
"""Numbers of rows between a power of two and the next; at most 1/16 of the rows are padding alone"""
TOLERANCE = 1e-3
"""Relative difference allowed between packed and padded embeddings; padding changes the order of sums"""
LONGEST = 512
"""Tokens of the longest text that is compared; longer than the windows of known local attention"""

Transform = Callable[[dict[str, Any]], dict[str, Any]]
"""Features of texts to features of their tokens, as an encoder's first module computes them"""


class Packed(NamedTuple):
    """n texts in order of length, each repeated for each view, in rows of w tokens; the longest has t tokens."""

    tokens: Tensor
    """(rows, w)"""
    positions: Tensor
    """(rows, w), the position of each token in its text"""
    owners: Tensor
    """(rows, w), the text of each token; -1 for padding"""
    places: Tensor
    """(n * views, t), where the tokens of each text are in the rows; 0 for padding"""
    mask: Tensor
    """(n * views, t), 1 for tokens and 0 for padding"""


def pack(tokens: NDArray[np.int32], lengths: NDArray[np.int32], views: int) -> Packed:
    """Put padded texts, (n, width), in order of their lengths, (n,), into rows; the views of a text are adjacent."""
    lengths, tokens = np.repeat(lengths, views), np.repeat(tokens, views, axis=0)
    width = -(-int(lengths.max()) // WIDTH) * WIDTH
    starts, size = _fill_rows(lengths, width)
    # The batches of a training have few shapes, for each of which a GPU would choose its algorithms anew.
    unit = max(1, (1 << (size // width).bit_length() - 1) // SHAPES) * width
    size = -(-size // unit) * unit
    mask = np.arange(lengths.max()) < lengths[:, None]  # (n * views, t)
    places = np.where(mask, starts[:, None] + np.arange(mask.shape[1]), 0)
    texts, positions = np.nonzero(mask)
    columns = []
    for values, padding in ((tokens[texts, positions], 0), (positions, 0), (texts, -1)):
        column = np.full(size, padding)
        column[places[mask]] = values
        columns.append(torch.from_numpy(column).view(-1, width))
    tokens_in_rows, positions_in_rows, owners = columns
    by_text = torch.from_numpy(places), torch.from_numpy(mask.astype(np.int64))
    return Packed(tokens_in_rows, positions_in_rows, owners, *by_text)


def _fill_rows(lengths: NDArray[np.int32], width: int) -> tuple[NDArray[np.int64], int]:
    """Put each text, the longest first, into the fullest row with room for it.

    Returns the place of each text's first token, (n,), and the number of places in all rows.
    """
    starts, size = np.empty(len(lengths), np.int64), 0
    ends: list[list[int]] = [[] for _ in range(width + 1)]  # of the rows, by their remaining room
    for text in range(len(lengths) - 1, -1, -1):
        length = int(lengths[text])
        room = next((room for room in range(length, width + 1) if ends[room]), None)
        if room is None:
            room, end = width, size + width
            size = end
        else:
            end = ends[room].pop()
        starts[text] = end - room
        ends[room - length].append(end)
    return starts, size


def embed_packed(
    encoder: SentenceTransformer,
    packed: Packed,
    first_position: int,
    transform: Transform | None = None,
) -> Tensor:
    """Embed texts in rows: -> (n * views, dimension); `transform` computes in place of the encoder's transformer."""
    owners = packed.owners
    inputs = {
        "input_ids": packed.tokens,
        "position_ids": packed.positions + first_position,
        # Padding attends to padding: a token without any would have no attention weights.
        "attention_mask": owners[:, None, :, None] == owners[:, None, None, :],
    }
    encoded = (transform or encoder[0])(inputs)
    features: dict[str, Any] = {
        "token_embeddings": _Move.apply(encoded["token_embeddings"], packed),
        "attention_mask": packed.mask,
    }
    if layers := encoded.get("all_layer_embeddings"):
        features["all_layer_embeddings"] = [_Move.apply(layer, packed) for layer in layers]
    for module in list(encoder)[1:]:
        features = module(features)
    embeddings: Tensor = features["sentence_embedding"]
    return embeddings


class _Move(torch.autograd.Function):
    """Tokens of each text: (rows, w, size) -> (n * views, t, size).

    The backward pass gathers their gradients, too, which torch would sort and add instead.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, packed: Packed) -> Tensor:
        ctx.packed = packed
        return rows.flatten(0, 1)[packed.places]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        packed: Packed = ctx.packed
        places = packed.owners * gradient.shape[1] + packed.positions
        padding = packed.owners.unsqueeze(2) < 0
        return gradient.flatten(0, 1)[places.clamp(min=0)].masked_fill(padding, 0), None


class PackingRefusal(EaseError):
    """An encoder cannot be trained with packed texts."""

    def __init__(self, reason: str) -> None:
        """Name the reason and the remedy."""
        super().__init__(
            f"This encoder cannot be trained with `packed: true` ({reason}): set `packed: false`."
        )
        self.reason = reason


def choose_packing(packed: bool | Literal["auto"], encoder: SentenceTransformer, *, on_gpu: bool) -> bool:
    """Return whether texts are packed; `auto` packs them on a CPU if encoder and method allow it."""
    if packed != "auto":
        return packed
    try:
        if on_gpu:
            raise PackingRefusal("without graphs it is for CPUs")
        prepare_packing(encoder)
    except PackingRefusal as refusal:
        logger.info("`packed: auto`: texts are padded (packing: %s).", refusal.reason)
        return False
    logger.info("`packed: auto`: texts are packed.")
    return True


def prepare_packing(encoder: SentenceTransformer) -> int:
    """Make an encoder accept packed texts; return the first position number, which differs between architectures.

    Padded texts are encoded as before.

    Raises:
        PackingRefusal: If the encoder does not support packing, or encodes packed texts differently.
    """
    transformer = encoder[0]
    if not isinstance(transformer, Transformer) or transformer.config._attn_implementation not in (
        "sdpa",
        PADDED,
    ):
        raise PackingRefusal("its attention is not torch's `scaled_dot_product_attention`")
    if any(module._forward_pre_hooks for module in transformer.modules()):
        raise PackingRefusal("the method's DropHead counts sequences, which packing hides")
    prepare_padding(encoder)
    accepted: Any = transformer.model_forward_params
    if accepted is not None:
        accepted.add("position_ids")
    padding = encoder.tokenizer.pad_token_id or 0
    for first_position in (0, padding + 1):
        if _encodes_alike(encoder, first_position):
            return first_position
    transformer.model.set_attn_implementation("sdpa")
    raise PackingRefusal("its embeddings of packed and of padded texts differ")


def _encodes_alike(encoder: SentenceTransformer, first_position: int) -> bool:
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
        packed = send_to_device(pack(tokens, lengths, 1), encoder.device)
        found = embed_packed(encoder, packed, first_position)
    encoder.train(training)
    return bool(((wanted - found).norm(dim=1) <= TOLERANCE * wanted.norm(dim=1)).all())
