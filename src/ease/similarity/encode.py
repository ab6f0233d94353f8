"""Functions from sentences to embeddings: with prompts of tasks and roles, of several languages, truncated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ease.errors import EaseError
from ease.similarity.vectors import unit_or_zero_rows

Encode = Callable[[Sequence[str]], np.ndarray]
"""A function from sentences to embeddings: n strings -> (n, dimension)"""
Role = Literal["query", "passage"]
"""Role of a text in retrieval"""


def encode_for(encode: Encode, task: str, task_type: str) -> Encode:
    """Return the function for a task's texts by MTEB's type; the same function if the encoder has only one."""
    variant: Encode = encode.for_task(task, task_type) if hasattr(encode, "for_task") else encode
    return variant


def encode_in_role(encode: Encode, role: Role) -> Encode:
    """Return the function for queries or passages; the same function if the encoder has only one."""
    variant: Encode = encode.in_role(role) if hasattr(encode, "in_role") else encode
    return variant


@dataclass(frozen=True)
class EncodeByLanguage:
    """Functions from words or sentences to embeddings, by language code, for tasks that map their spaces."""

    languages: Mapping[str, Encode]

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Refuse sentences of unknown language."""
        raise EaseError(
            f"There is one encoder for each of {', '.join(self.languages)}, and the task encodes all languages with "
            "one: name a task such as bli."
        )

    def for_task(self, task: str, task_type: str) -> EncodeByLanguage:
        """Return the functions for the texts of a task."""
        return EncodeByLanguage({code: encode_for(encode, task, task_type) for code, encode in self.languages.items()})


def encode_of(encode: Encode, language: str) -> Encode:
    """Return the function for sentences of a language: the language's own, or the one of all languages."""
    if not isinstance(encode, EncodeByLanguage):
        return encode
    if language not in encode.languages:
        raise EaseError(
            f"No encoder for the language {language!r} among {', '.join(encode.languages)}: add one, or choose other "
            "language pairs."
        )
    return encode.languages[language]


@dataclass(frozen=True)
class Truncated:
    """A function from n sentences to the first dimensions of their embeddings, with unit length.

    References: Kusupati et al. 2022 (Matryoshka representation learning).
    """

    encode: Encode
    dimension: int

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Return an array of shape (n, dimension); a zero row stays zero."""
        return unit_or_zero_rows(self.encode(sentences)[:, : self.dimension])

    def for_task(self, task: str, task_type: str) -> Truncated:
        """Return the function for the texts of a task."""
        return Truncated(encode_for(self.encode, task, task_type), self.dimension)

    def in_role(self, role: Role) -> Truncated:
        """Return the function for queries or passages."""
        return Truncated(encode_in_role(self.encode, role), self.dimension)
