"""Random strings of letters and digits as training texts (Mirror-BERT, Table 10 and appendix C)."""

from __future__ import annotations

import string
from collections.abc import Iterator
from random import Random
from typing import ClassVar

import pyarrow as pa
from pydantic import Field

from ease.texts.components.sources import SourceOptions, SourceTexts, Workspace

# All lengths are equally likely; the paper does not state them.
MIN_STRING_LENGTH = 3
MAX_STRING_LENGTH = 10
STRING_CHARACTERS = string.ascii_letters + string.digits


class RandomStringOptions(SourceOptions):
    """The number of strings."""

    title: ClassVar[str] = "Random strings"

    rows: int = Field(10_000, ge=1, description="number of strings")

    def read(self, workspace: Workspace, seed: int) -> SourceTexts:
        """Return distinct strings, the same for the same seed."""
        schema = pa.schema([("key", pa.int64()), ("sentence", pa.string())])
        strings = SourceTexts(workspace.store(self._draw_strings(seed), schema), {})
        distinct = strings.without_repetitions().table
        return SourceTexts(distinct.order_by("key").limit(self.rows), {"made": self.rows})

    def _draw_strings(self, seed: int) -> Iterator[tuple[int, str]]:
        """Yield numbered strings, more than `rows`, because short strings may be repeated."""
        generator = Random(f"random strings {seed}")
        for number in range(4 * self.rows + 100):
            length = generator.randint(MIN_STRING_LENGTH, MAX_STRING_LENGTH)
            yield number, "".join(generator.choices(STRING_CHARACTERS, k=length))
