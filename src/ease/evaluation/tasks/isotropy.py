"""Isotropy of the embeddings of lists of strings: how evenly they spread (Tables 9 and 14 of Mirror-BERT).

The paper measures each encoder on the strings that it was trained on.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.scores import Score
from ease.evaluation.tasks.base import SubsetFiles, SubsetOptions, Task
from ease.io.text_tables import read_lines
from ease.similarity.encode import Encode
from ease.similarity.metrics import isotropy_score, mean_vector_norm


class ListOptions(SubsetOptions):
    """The folder of the lists, their files, and the lists to measure."""

    lists: dict[str, str] = Field(min_length=1, description="the file of each list, one string per line")
    rows: int = Field(ge=2, description="maximum number of strings of each list, from its start")


class Isotropy(Task):
    """Isotropy of each list's embeddings, in points (100 is isotropic), and the length of their mean, unscaled."""

    TYPE = "STS"
    METRICS = ("isotropy", "mean_vector_norm")
    Options = ListOptions
    options: ListOptions

    def files(self) -> SubsetFiles:
        """Return the file of each list."""
        lists = self.options.lists
        return {name: (self.options.path / lists[name],) for name in self.options.select(lists)}

    def read(self, subset: str, paths: tuple[Path, ...]) -> list[str]:
        """Read the first distinct strings of a file; blank lines are skipped."""
        strings = dict.fromkeys(filter(None, (line.strip() for _, line in read_lines(*paths))))
        if len(strings) < 2:
            raise EaseError(f"{paths[0]}: {len(strings)} distinct strings; isotropy needs at least 2, one per line.")
        return list(islice(strings, self.options.rows))

    def score(self, encode: Encode, subset: str, data: list[str]) -> Iterator[Score]:
        """Yield both measures of the embeddings of a list."""
        embeddings = np.asarray(encode(data))
        yield self.result(subset, "isotropy", 100 * isotropy_score(embeddings))
        yield self.result(subset, "mean_vector_norm", mean_vector_norm(embeddings))
