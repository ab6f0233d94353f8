"""Checkpoints without what can be made again: weights as training starts with them, and moments that are zero.

Of a multilingual vocabulary's 250,000 rows, a training run on two languages changes a tenth. The others are those
of the starting encoder, which a resumed run loads anyway, and their moments are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

LARGE_TABLE = 10_000
"""Rows from which a tensor's rows are looked at one by one"""
ROWS = ":rows"
"""Ends the name of the numbers of stored rows"""

BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""Integers by their bytes"""
_BLOCK = 1 << 22
"""Numbers that are looked at together: a mask or product of a complete table would be as large as the table"""


def row_checksums(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a checksum of 64 bits of each row of the tensors, by name; a vector is one row."""
    return {name: _map_rows(tensor, _checksum) for name, tensor in tensors.items() if tensor.numel()}


def without_unchanged(tensors: Mapping[str, Tensor], checksums: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors, and of large tables the rows with their numbers, that no longer have their checksums."""
    reduced: dict[str, Tensor] = {}
    now = row_checksums(tensors)
    for name, tensor in tensors.items():
        if name not in checksums:
            reduced[name] = tensor.contiguous()
            continue
        changed = now[name] != checksums[name]
        # Frozen weights are those of the starting encoder.
        if changed.any():
            reduced |= _select_rows(name, tensor, changed)
    return reduced


def without_zero_rows(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors, large tables without the rows that are zero, with the numbers of the others."""
    reduced: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if _is_large(tensor):
            reduced |= _select_rows(name, tensor, _map_rows(tensor, lambda bits: bits.any(1)))
        else:
            reduced[name] = tensor.contiguous()
    return reduced


def _select_rows(name: str, tensor: Tensor, selected: Tensor) -> dict[str, Tensor]:
    """Return some rows of a table with their numbers; a smaller tensor, or most rows of a table, is complete."""
    if not _is_large(tensor) or selected.float().mean() > 0.5:
        return {name: tensor.contiguous()}
    rows = selected.nonzero()[:, 0]
    return {name: tensor[rows], f"{name}{ROWS}": rows}


def restore_rows(tensors: Mapping[str, Tensor], target: Callable[[str], Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Yield the names and complete values of reduced tensors.

    Args:
        tensors: What `without_unchanged` or `without_zero_rows` returned.
        target: Returns the tensor of a name with the omitted rows, in which the others are written.
    """
    for name, value in tensors.items():
        if name.endswith(ROWS):
            continue
        rows = tensors.get(f"{name}{ROWS}")
        if rows is None:
            yield name, value
        else:
            table = target(name)
            table[rows.to(table.device)] = value.to(table.device)
            yield name, table


def _is_large(tensor: Tensor) -> bool:
    return tensor.ndim == 2 and len(tensor) >= LARGE_TABLE


def _map_rows(tensor: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the values of a function of blocks of rows, as bits, of which -0 and 0 have different ones."""
    bits = tensor.detach().contiguous().view(BITS[tensor.element_size()])
    rows = bits.reshape(1, -1)
    if bits.ndim > 1:
        rows = bits.reshape(len(bits), -1)
    return torch.cat([function(block) for block in rows.split(max(1, _BLOCK // rows.shape[1]))])


def _checksum(bits: Tensor) -> Tensor:
    """Return the sums of each row's bits times odd random numbers of 64 bits, which overflow."""
    generator = torch.Generator().manual_seed(bits.shape[1])
    factors = torch.randint(-(2**62), 2**62, (bits.shape[1],), generator=generator) * 2 + 1
    return (bits.long() * factors.to(bits.device)).sum(1)
