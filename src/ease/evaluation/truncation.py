"""Embeddings truncated to their first dimensions, as an encoder trained with Matryoshka allows.

References:
    Kusupati et al. 2022 (Matryoshka representation learning).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ease.evaluation.metrics import unit_or_zero_rows
from ease.evaluation.tasks import Encode, get_task
from ease.evaluation.tasks.components.prompted import PromptedEncode, Role, encode_in_role


@dataclass(frozen=True)
class Truncated:
    """A function from n sentences to the first dimensions of their embeddings, with unit length."""

    encode: Encode
    dimension: int

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Return an array of shape (n, dimension); a zero row stays zero."""
        return unit_or_zero_rows(self.encode(sentences)[:, : self.dimension])

    def for_task(self, task: str, kind: str) -> Truncated:
        """Return the function for the texts of a task."""
        own = self.encode
        return Truncated(own.for_task(task, kind) if isinstance(own, PromptedEncode) else own, self.dimension)

    def in_role(self, role: Role) -> Truncated:
        """Return the function for queries or passages."""
        return Truncated(encode_in_role(self.encode, role), self.dimension)


def scores_truncated(task: str) -> bool:
    """Return whether a task scores embeddings; one that trains the encoder itself has nothing to truncate."""
    return not getattr(get_task(task), "TRAINS_ENCODER", False)
