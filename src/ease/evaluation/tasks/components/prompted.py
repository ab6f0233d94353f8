"""Encoders whose embeddings depend on the task and on the role of a text, through prompts or separate modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, Self, runtime_checkable

import numpy as np

from ease.evaluation.tasks import Encode, get_task

Role = Literal["query", "passage"]
"""Role of a text in retrieval."""


@runtime_checkable
class PromptedEncode(Protocol):
    """A function from sentences to embeddings that has variants for tasks and roles."""

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Encode n sentences: (n, dimension)."""

    def for_task(self, task: str, kind: str) -> Self:
        """Return the function for the texts of a task of a kind."""

    def in_role(self, role: Role) -> Self:
        """Return the function for texts in a role."""


def encode_for(encode: Encode, task: str) -> Encode:
    """Return the function for the texts of a task; the same function if the encoder has only one."""
    return encode.for_task(task, get_task(task).KIND) if isinstance(encode, PromptedEncode) else encode


def encode_in_role(encode: Encode, role: Role) -> Encode:
    """Return the function for queries or passages; the same function if the encoder has only one."""
    return encode.in_role(role) if isinstance(encode, PromptedEncode) else encode
