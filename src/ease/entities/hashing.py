"""Seeded hashes and draws of rows, the same on every engine and in every order of rows; workarounds for Ibis."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial

from ease.lazy import ibis, ir

DRAW_RANGE = 1 << 32
"""`draw` returns integers from 0 to DRAW_RANGE - 1."""

_PRIME = 2_147_483_629
"""Largest prime below 2^31 - 1: products of two residues fit into 62 bits."""
_ROUNDS = ((16, 0x7FEB352D), (15, 0x45D9F3B))
"""Right shifts and odd multipliers; a 32-bit number times a multiplier below 2^31 fits into 63 bits."""
_LAST_SHIFT = 16
_HEX_DIGITS_OF_63_BITS = 16


def draw(seed: int, *keys: ir.IntegerValue) -> ir.IntegerValue:
    """Return a pseudo-random number from 0 to `DRAW_RANGE` - 1 that depends only on the seed and the row's keys.

    The keys are summed modulo a prime with multipliers derived from the seed; rounds of xor-shift and multiplication
    remove the sum's linearity. No step overflows 64 bits, so all engines agree.
    """
    state = _sum_keys(seed, keys)
    for shift, multiplier in _ROUNDS:
        state = _mix(state, shift, multiplier)
    return state ^ (state >> _LAST_SHIFT)


def draw_each(seed: int, *keys: ir.IntegerValue, last: ir.ArrayValue) -> ir.ArrayValue:
    """Return `draw` of the row's keys and each element of an array as the last key."""
    # Each round maps the array anew: DuckDB computes a state twice if one expression uses it twice.
    states = last.map(lambda key: _sum_keys(seed, (*keys, key)))
    for shift, multiplier in _ROUNDS:
        states = states.map(partial(_mix, shift=shift, multiplier=multiplier))
    return states.map(lambda state: state ^ (state >> _LAST_SHIFT))


def _sum_keys(seed: int, keys: Sequence[ir.IntegerValue]) -> ir.IntegerValue:
    state = _coefficient(seed, 0)
    for position, key in enumerate(keys, start=1):
        # Absolute: entities without Wikidata are negative, and so would be the remainder.
        state = (state + key.cast("int64").abs() % _PRIME * _coefficient(seed, position)) % _PRIME
    return state


def _mix(state: ir.IntegerValue, shift: int, multiplier: int) -> ir.IntegerValue:
    return (state ^ (state >> shift)) * multiplier & (DRAW_RANGE - 1)


def _coefficient(seed: int, position: int) -> ir.IntegerValue:
    digest = hashlib.md5(f"{seed}:{position}".encode(), usedforsecurity=False).digest()
    value = int.from_bytes(digest[:8], "big") % (_PRIME - 1) + 1
    # Cast explicitly: Ibis believes that int32 + 1 is int64 and drops a cast of the sum; DuckDB stays at 32 bits.
    return ibis.literal(value, type="int32").cast("int64")


def hash_text(text: ir.StringValue) -> ir.IntegerValue:
    """Return the last 63 bits of a text's MD5 as an integer from 0 to 2^63 - 1."""
    digest = text.hexdigest("md5").right(_HEX_DIGITS_OF_63_BITS)
    value = None
    for position in range(_HEX_DIGITS_OF_63_BITS):
        # 0 to 9, and 49 to 54 for a to f. One use of the code: engines compute the digest again for each.
        code = digest.substr(position, 1).ascii_str().cast("int64") - ord("0")
        digit = code % (ord("a") - ord("0") - 10)
        if value is None:
            # Without the top bit: signed integers have 63.
            value = digit % 8
        else:
            value = value * 16 + digit
    return value


def title_number(title: str) -> int:
    """Return the number of an entity that only its title identifies: `hash_text` of the title, negated."""
    digest = hashlib.md5(title.encode(), usedforsecurity=False).hexdigest()
    return -(int(digest[-_HEX_DIGITS_OF_63_BITS:], 16) & ((1 << 63) - 1))


def as_int64(value: ir.NumericValue) -> ir.IntegerValue:
    """Cast an integer to 64 bits on every engine.

    DuckDB sums into 128 bits, which Parquet stores as floating point; Spark numbers rows with 32 bits. Ibis believes
    that both have 64 bits and omits a plain cast, so this function casts through another type.
    """
    return value.cast("decimal(18, 0)").cast("int64")


def take_first(
    table: ir.Table, groups: str | Sequence[str], order: Sequence[str | ir.Value], rows: int = 1
) -> ir.Table:
    """Keep the first rows of each group in an order."""
    ranked = table.mutate(place=ibis.row_number().over(group_by=groups, order_by=order))
    return ranked.filter(ranked.place < rows).drop("place")


def as_table(joined: ir.Table) -> ir.Table:
    """Return a join as a new table, since Ibis cannot join again on a column that a join has computed."""
    return joined.mutate()
