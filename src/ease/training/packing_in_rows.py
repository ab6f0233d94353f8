"""Packing for a GPU: rows of 64 tokens with several whole texts each, and attention within each text.

A GPU computes a few large operations faster than many small ones, so texts are not grouped by their length. The rows
are padded texts to torch's attention, with a mask that keeps every token to its own text. With at most 64 tokens in a
row, torch's kernels compute their gradients in one block, and thus in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.encoders.token_batches import prepare_padding

WIDTH = 64
"""Tokens of a row; if a text is longer, the next multiple"""
SHAPES = 16
"""Numbers of rows between a power of two and the next; at most 1/16 of the rows are padding alone"""


class PackedInRows(NamedTuple):
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


def pack(tokens: NDArray[np.int32], lengths: NDArray[np.int32], views: int) -> PackedInRows:
    """Put texts into rows.

    Args:
        tokens: (n, width), padded.
        lengths: (n,), tokens of each text, ascending.
        views: Repetitions of each text, adjacent to each other.
    """
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
    return PackedInRows(tokens_in_rows, positions_in_rows, owners, *by_text)


def _fill_rows(lengths: NDArray[np.int32], width: int) -> tuple[NDArray[np.int64], int]:
    """Put each text, the longest first, into the fullest row with room for it.

    Returns:
        The place of each text's first token, (n,), and the number of places in all rows.
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


def prepare(encoder: SentenceTransformer) -> None:
    """Make an encoder accept positions."""
    prepare_padding(encoder)
    transformer: Any = encoder[0]
    if transformer.model_forward_params is not None:
        transformer.model_forward_params.add("position_ids")


def embed(
    encoder: SentenceTransformer,
    packed: PackedInRows,
    first_position: int,
    transform: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
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
        "token_embeddings": _by_text(encoded["token_embeddings"], packed),
        "attention_mask": packed.mask,
    }
    if layers := encoded.get("all_layer_embeddings"):
        features["all_layer_embeddings"] = [_by_text(layer, packed) for layer in layers]
    for module in list(encoder)[1:]:
        features = module(features)
    embeddings: Tensor = features["sentence_embedding"]
    return embeddings


def _by_text(rows: Tensor, packed: PackedInRows) -> Tensor:
    """Return the tokens of each text: (rows, w, size) -> (n * views, t, size)."""
    moved: Tensor = _Move.apply(rows, packed)
    return moved


class _Move(torch.autograd.Function):
    """Gathers the tokens of texts, and in the backward pass their gradients, which torch would sort and add instead."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, packed: PackedInRows) -> Tensor:
        ctx.packed = packed
        return rows.flatten(0, 1)[packed.places]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        packed: PackedInRows = ctx.packed
        places = packed.owners * gradient.shape[1] + packed.positions
        padding = packed.owners.unsqueeze(2) < 0
        return gradient.flatten(0, 1)[places.clamp(min=0)].masked_fill(padding, 0), None
