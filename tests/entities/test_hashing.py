"""Draws are uniform, independent for neighbouring keys, and equal on both engines."""

from __future__ import annotations

import hashlib

import ibis
import numpy as np
import pyarrow as pa
import pytest
from ibis.backends.sql import SQLBackend
from scipy.stats import chisquare

from ease.entities.hashing import DRAW_RANGE, draw, hash_text, title_number

LARGE = [0, 1, -1, 2**31, 2**40 + 5, -(2**63) + 1, 2**63 - 1]


def test_draws_have_known_values_on_each_engine(engine: SQLBackend) -> None:
    table = ibis.memtable(pa.table({"small": pa.array(range(7), pa.int8()), "large": LARGE}))
    draws = engine.to_pyarrow(
        table.select(
            "large", several=draw(42, table.small + 1, table.large, ibis.literal(3)), single=draw(0, table.small)
        )
    )
    rows = {row["large"]: (row["several"], row["single"]) for row in draws.to_pylist()}
    several = [447503960, 1507800679, 2306132995, 3320692346, 3808671115, 2671313066, 3323971896]
    single = [2792874031, 1069407887, 350459908, 1836481561, 19836330, 428251836, 3840063826]
    assert [rows[key] for key in LARGE] == list(zip(several, single, strict=True))


@pytest.mark.parametrize(("seed", "size"), [(0, 2), (42, 30)])
def test_draws_are_uniform_and_independent(duckdb_engine: SQLBackend, seed: int, size: int) -> None:
    """Draws of one row, of neighbouring rows, turns and seeds are uniform in pairs."""
    table = ibis.range(0, 200_000).unnest().name("key").as_table()
    key, turn = table.key, ibis.literal
    draws = table.select(
        draw=draw(seed, key, turn(0)),
        turn=draw(seed, key, turn(1)),
        row=draw(seed, key + 1, turn(0)),
        seed=draw(seed + 1, key, turn(0)),
    )
    values = duckdb_engine.to_pyarrow(draws).to_pandas().to_numpy()
    assert values.min() >= 0
    assert values.max() < DRAW_RANGE
    residues = values % size
    for other in range(1, residues.shape[1]):
        cells = np.bincount(residues[:, 0] * size + residues[:, other], minlength=size * size)
        assert chisquare(cells).pvalue > 1e-4


def test_texts_are_hashed_to_63_bits_of_md5(engine: SQLBackend) -> None:
    texts = ["", "a", "Zürich", "日本 😀", *map(str, range(100))]
    table = ibis.memtable(pa.table({"text": texts}))
    hashed = engine.to_pyarrow(table.mutate(hash=hash_text(table.text))).to_pylist()
    for row in hashed:
        assert row["hash"] == int(hashlib.md5(row["text"].encode()).hexdigest(), 16) % 2**63
        assert title_number(row["text"]) == -row["hash"]
