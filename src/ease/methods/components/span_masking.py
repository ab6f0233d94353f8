"""Random span masking (Mirror-BERT, section 2.2): a stretch of characters gives way to the mask token."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from ease.errors import EaseError

logger = logging.getLogger(__name__)


def mask_token(encoder: SentenceTransformer) -> str:
    """Return the token that an encoder was pre-trained to read in place of hidden text.

    Raises:
        EaseError: If its tokenizer has none.
    """
    token: str | None = getattr(encoder.tokenizer, "mask_token", None)
    if token is None:
        raise EaseError(
            "Span masking writes the encoder's mask token into the texts, and its tokenizer "
            f"({type(encoder.tokenizer).__name__}) has none: set `span: 0`, or choose an encoder that was "
            "pre-trained with one, such as a BERT or an XLM-R."
        )
    return token


def mask_span(text: str, start: int, length: int, token: str) -> str:
    """Put the mask token, a word of its own, in the place of `length` characters from `start` on."""
    left, right = text[:start], text[start + length :]
    before = " " if left and not left[-1].isspace() else ""
    after = " " if right and not right[0].isspace() else ""
    return f"{left}{before}{token}{after}{right}"


class SpanMasking:
    """Masks one span in each text, at a place that the seed and the number of the text's row decide.

    A text keeps its characters where masking would leave nothing, that is up to `length` of them, and where it has
    fewer than `shortest`. Characters are code points, however many tokens they make.
    """

    def __init__(self, length: int, shortest: int, token: str, seed: int) -> None:
        """Start counting.

        Args:
            length: Characters that a span has, k in the paper.
            shortest: Texts of fewer characters are left as they are.
            token: The encoder's mask token.
            seed: With a row's number, the seed of its span.
        """
        self._length = length
        self._shortest = max(shortest, length + 1)
        self._token = token
        self._seed = seed
        self.texts = 0
        """Texts given so far"""
        self.kept = 0
        """Those of them that were too short to be masked"""

    def __call__(self, texts: Sequence[str], rows: NDArray[np.int64]) -> list[str]:
        """Mask the texts of these rows, and log how many have been too short until now."""
        masked = [self._mask(text, int(row)) for text, row in zip(texts, rows, strict=True)]
        logger.info(
            "Span masking: %d of %d texts have fewer than %d characters and keep them all",
            self.kept,
            self.texts,
            self._shortest,
        )
        return masked

    def _mask(self, text: str, row: int) -> str:
        self.texts += 1
        if len(text) < self._shortest:
            self.kept += 1
            return text
        start = np.random.default_rng([self._seed, row]).integers(len(text) - self._length + 1)
        return mask_span(text, int(start), self._length, self._token)
