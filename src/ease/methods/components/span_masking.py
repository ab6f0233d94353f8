"""Random span masking (Mirror-BERT, section 2.2): the mask token replaces a span of characters."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from ease.errors import EaseError

logger = logging.getLogger(__name__)


def mask_token(encoder: SentenceTransformer) -> str:
    """Return the mask token of an encoder's tokenizer.

    Raises:
        EaseError: If its tokenizer has no mask token.
    """
    token: str | None = getattr(encoder.tokenizer, "mask_token", None)
    if token is None:
        raise EaseError(
            "Span masking needs a mask token, and the encoder's tokenizer "
            f"({type(encoder.tokenizer).__name__}) has none: set `span: 0`, or choose an encoder that was "
            "pretrained with one, such as BERT or XLM-R."
        )
    return token


def mask_span(text: str, start: int, length: int, token: str) -> str:
    """Replace `length` characters from `start` by the mask token, separated by spaces."""
    left, right = text[:start], text[start + length :]
    before = " " if left and not left[-1].isspace() else ""
    after = " " if right and not right[0].isspace() else ""
    return f"{left}{before}{token}{after}{right}"


class SpanMasking:
    """Masks one span in each text, at a position given by the seed and the row number.

    Texts of at most `length` or fewer than `shortest` characters (code points) are not masked.
    """

    def __init__(self, length: int, shortest: int, token: str, seed: int) -> None:
        """Set the parameters.

        Args:
            length: Characters of a span, k in the paper.
            shortest: Characters of the shortest masked text.
            token: The encoder's mask token.
            seed: Combined with the row number.
        """
        self._length = length
        self._shortest = max(shortest, length + 1)
        self._token = token
        self._seed = seed
        self.texts = 0
        """Texts so far"""
        self.kept = 0
        """Texts that were too short to be masked"""

    def __call__(self, texts: Sequence[str], rows: NDArray[np.int64]) -> list[str]:
        """Mask the texts of these rows, and log how many texts were too short so far."""
        masked = [self._mask(text, int(row)) for text, row in zip(texts, rows, strict=True)]
        logger.info(
            "Span masking: %d of %d texts have fewer than %d characters and are not masked",
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
