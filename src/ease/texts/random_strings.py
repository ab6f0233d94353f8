"""Random strings of letters and digits as training texts (Mirror-BERT, Table 10 and appendix C)."""

from __future__ import annotations

import string
from collections.abc import Iterator
from random import Random
from typing import ClassVar

import pyarrow as pa
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.texts.components.sources import Source, SourceOptions, Workspace


class Options(SourceOptions):
    """Number and length of the strings; the paper does not state their lengths."""

    title: ClassVar[str] = "Random strings"

    rows: int = Field(10_000, ge=1, description="number of strings")
    shortest: int = Field(3, ge=1, description="length of the shortest string")
    longest: int = Field(10, ge=1, description="length of the longest string; all lengths are equally likely")
    characters: str = Field(
        string.ascii_letters + string.digits, min_length=2, description="alphabet of the strings"
    )

    @model_validator(mode="after")
    def _enough(self) -> Options:
        if self.shortest > self.longest:
            raise EaseError(f"`shortest` {self.shortest} is above `longest` {self.longest}.")
        size = len(set(self.characters))
        strings = sum(size**length for length in range(self.shortest, self.longest + 1))
        if self.rows * 2 > strings:
            raise EaseError(
                f"{self.rows} distinct strings of {self.shortest} to {self.longest} of {size} "
                "characters are too many: lower `rows` or raise `longest`."
            )
        return self


def read(options: Options, workspace: Workspace, seed: int) -> Source:
    """Return distinct strings, the same for the same seed."""
    random = Random(f"random strings {seed}")

    def strings() -> Iterator[tuple[int, str]]:
        for number in range(4 * options.rows + 100):  # more than wanted, as short ones may be repeated
            length = random.randint(options.shortest, options.longest)
            yield number, "".join(random.choices(options.characters, k=length))

    schema = pa.schema([("key", pa.int64()), ("sentence", pa.string())])
    distinct = Source(workspace.store(strings(), schema), {}).without_repetitions().table
    return Source(distinct.order_by("key").limit(options.rows), {"made": options.rows})
