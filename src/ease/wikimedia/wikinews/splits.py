"""Splits of a cleaned language: a small balanced one, and the articles before and since a day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import Field

from ease.io.models import StrictModel

SMALL, EARLIER, RECENT = "small", "earlier", "recent"
SPLITS = (SMALL, EARLIER, RECENT)


class SplitOptions(StrictModel):
    """How a language of the edition `clean` is split."""

    small: int = Field(2048, ge=1, description="largest number of rows of the balanced split `small`")
    recent_since: date = Field(
        date(2022, 1, 1),
        description="first day of the split `recent`; older articles are in `earlier`, and articles whose date is "
        "not known in neither",
    )
    seed: int = Field(42, ge=0, description="seed of the split `small`")


def write_splits(folder: Path, language: str, table: pa.Table, options: SplitOptions) -> dict[str, int]:
    """Write `{language}_{split}.parquet` for the splits that have rows, and return their numbers of rows."""
    is_recent = pc.fill_null(pc.greater_equal(table["date"], options.recent_since), False)
    is_earlier = pc.fill_null(pc.less(table["date"], options.recent_since), False)
    splits = {
        SMALL: table.take(pa.array(balanced(table["category"].to_pylist(), options.small, options.seed))),
        EARLIER: table.filter(is_earlier),
        RECENT: table.filter(is_recent),
    }
    for name, rows in splits.items():
        if rows.num_rows:
            pq.write_table(rows, folder / f"{language}_{name}.parquet", compression="zstd")
    return {name: rows.num_rows for name, rows in splits.items() if rows.num_rows}


def balanced(labels: Sequence[str], limit: int, seed: int) -> NDArray[np.int64]:
    """Draw rows with classes of equal size as far as possible.

    Args:
        labels: Label of each row.
        limit: Largest number of rows.
        seed: Seed of the draw.

    Returns:
        The places of the drawn rows, ascending. Classes that are smaller than the others' share are complete.
    """
    names, classes, sizes = np.unique(np.asarray(labels, str), return_inverse=True, return_counts=True)
    shares, left = np.zeros(len(names), int), limit
    for done, place in enumerate(np.argsort(sizes, kind="stable")):
        shares[place] = min(sizes[place], left // (len(names) - done))
        left -= shares[place]
    random = np.random.default_rng(seed)
    drawn = [
        random.choice(np.flatnonzero(classes == place), share, replace=False)
        for place, share in enumerate(shares)
    ]
    return np.sort(np.concatenate([np.empty(0, np.int64), *drawn])).astype(np.int64)
