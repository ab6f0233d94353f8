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

from ease.encoders.padding import prepare_padding

WIDTH = 64
"""Tokens of a row; if a text is longer, the next multiple"""
SHAPES = 16
"""Numbers of rows between a power of two and the next; at most 1/16 of the rows are padding alone"""


class PackedInRows(NamedTuple):
    """Texts in order of length in rows of w tokens, with t tokens in all; each text is repeated for each view."""

    tokens: Tensor
    """(rows, w)"""
    positions: Tensor
    """(rows, w), the position of each token in its text"""
    owners: Tensor
    """(rows, w), the text of each token; -1 for padding"""
    places: Tensor
    """(t,), where the tokens of the texts, one text after the other, are in the rows"""
    texts: Tensor
    """(1, t), the text of each of these tokens"""
    ends: Tensor
    """(n * views + 1,), boundaries of the texts among them"""


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
    texts, positions = np.nonzero(np.arange(tokens.shape[1]) < lengths[:, None])
    places = starts[texts] + positions
    columns = []
    for values, padding in ((tokens[texts, positions], 0), (positions, 0), (texts, -1)):
        column = np.full(size, padding)
        column[places] = values
        columns.append(torch.from_numpy(column).view(-1, width))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    listed = (places, texts[None], ends)
    return PackedInRows(*columns, *map(torch.from_numpy, listed))


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
    # The pooling of sentence-transformers supports texts one after the other.
    features: dict[str, Any] = {
        "token_embeddings": _in_order(encoded["token_embeddings"], packed),
        "seq_idx": packed.texts,
        "cu_seq_lens_q": packed.ends,
    }
    if layers := encoded.get("all_layer_embeddings"):
        features["all_layer_embeddings"] = [_in_order(layer, packed) for layer in layers]
    for module in list(encoder)[1:]:
        features = module(features)
    embeddings: Tensor = features["sentence_embedding"]
    return embeddings


def _in_order(rows: Tensor, packed: PackedInRows) -> Tensor:
    """Return the tokens of one text after the other: (rows, w, size) -> (1, t, size)."""
    return rows.flatten(0, 1)[packed.places].unsqueeze(0)
