"""Random strings of letters and digits as training texts (Mirror-BERT, Table 10 and appendix C)."""

from __future__ import annotations

import string
from collections.abc import Iterator
from random import Random
from typing import ClassVar

import pyarrow as pa
from pydantic import Field

from ease.texts.components.sources import Source, SourceOptions, Workspace

SHORTEST, LONGEST = 3, 10
"""Lengths of the strings, all equally likely; the paper does not state them"""
CHARACTERS = string.ascii_letters + string.digits


class Options(SourceOptions):
    """The number of strings."""

    title: ClassVar[str] = "Random strings"

    rows: int = Field(10_000, ge=1, description="number of strings")


def read(options: Options, workspace: Workspace, seed: int) -> Source:
    """Return distinct strings, the same for the same seed."""
    random = Random(f"random strings {seed}")

    def strings() -> Iterator[tuple[int, str]]:
        for number in range(4 * options.rows + 100):  # more than wanted, as short ones may be repeated
            length = random.randint(SHORTEST, LONGEST)
            yield number, "".join(random.choices(CHARACTERS, k=length))

    schema = pa.schema([("key", pa.int64()), ("sentence", pa.string())])
    distinct = Source(workspace.store(strings(), schema), {}).without_repetitions().table
    return Source(distinct.order_by("key").limit(options.rows), {"made": options.rows})
