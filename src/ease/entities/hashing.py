"""Seeded randomness as integer arithmetic: the same in every engine and for every order of rows."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ease.io.lazy import ibis

if TYPE_CHECKING:
    import ibis.expr.types as ir

DRAW_RANGE = 1 << 32
"""Draws lie in 0 .. DRAW_RANGE - 1."""

_PRIME = 2_147_483_629
_ROUNDS = ((16, 0x7FEB352D), (15, 0x45D9F3B))
"""Right shift and odd multiplier; a 32-bit number times a multiplier below 2^31 stays within 63 bits."""
_LAST_SHIFT = 16
_HEX_DIGITS_OF_63_BITS = 16


def draw(seed: int, *keys: ir.IntegerValue) -> ir.IntegerValue:
    """A number from 0 to `DRAW_RANGE` - 1 that looks random, made of the seed and a row's own keys alone.

    The keys are summed with multipliers that the seed chooses, modulo a prime; rounds of xor-shift and
    multiplication take the sum's linearity away. No step overflows 64 bits, so every engine computes the
    same.
    """
    state = _coefficient(seed, 0)
    for position, key in enumerate(keys, start=1):
        state = (state + key.cast("int64").abs() % _PRIME * _coefficient(seed, position)) % _PRIME
    for shift, multiplier in _ROUNDS:
        state = (state ^ (state >> shift)) * multiplier & (DRAW_RANGE - 1)
    return state ^ (state >> _LAST_SHIFT)


def _coefficient(seed: int, position: int) -> ir.IntegerValue:
    digest = hashlib.md5(f"{seed}:{position}".encode(), usedforsecurity=False).digest()
    value = int.from_bytes(digest[:8], "big") % (_PRIME - 1) + 1
    # An explicit cast: Ibis takes int32 + 1 for int64 and drops a cast of it, while DuckDB would stay at 32
    # bits.
    return ibis.literal(value, type="int32").cast("int64")


def hash_title(title: ir.StringValue) -> ir.IntegerValue:
    """The last 63 bits of a title's MD5, as an integer from 0 to 2^63 - 1."""
    digest = title.hexdigest("md5").right(_HEX_DIGITS_OF_63_BITS)
    value = _hex_digit(digest, 0) % 8  # without the topmost bit, so that it fits into a signed integer
    for position in range(1, _HEX_DIGITS_OF_63_BITS):
        value = value * 16 + _hex_digit(digest, position)
    return value


def _hex_digit(digest: ir.StringValue, position: int) -> ir.IntegerValue:
    code = digest.substr(position, 1).ascii_str().cast("int64")
    return (code >= ord("a")).ifelse(code - (ord("a") - 10), code - ord("0"))
