"""Changed views of strings: masked words or tokens, and words in another order (footnote 13 of Mirror-BERT)."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

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


class Augmentation(ABC):
    """Changes each text by random numbers from the seed and the row number; short texts stay unchanged."""

    title: str
    """What the augmentation is called in the log."""

    def __init__(self, shortest: int, seed: int) -> None:
        """Set the parameters.

        Args:
            shortest: Characters (code points) of the shortest changed text.
            seed: Combined with the row number.
        """
        self._shortest = shortest
        self._seed = seed
        self.texts = 0
        """Texts so far"""
        self.kept = 0
        """Texts that were too short to be changed"""

    def __call__(self, texts: Sequence[str], rows: NDArray[np.int64]) -> list[str]:
        """Change the texts of these rows, and log how many texts were too short so far."""
        changed = [self._changed(text, int(row)) for text, row in zip(texts, rows, strict=True)]
        logger.info(
            "%s: %d of %d texts have fewer than %d characters%s and are not changed",
            *(self.title, self.kept, self.texts, self._shortest, self.unit),
        )
        return changed

    @property
    def unit(self) -> str:
        """What else a changed text needs, for the log."""
        return ""

    @abstractmethod
    def change(self, text: str, random: np.random.Generator) -> str | None:
        """Return a changed text, or None if the text is too short."""

    def _changed(self, text: str, row: int) -> str:
        self.texts += 1
        changed = None
        if len(text) >= self._shortest:
            changed = self.change(text, np.random.default_rng([self._seed, row]))
        if changed is None:
            self.kept += 1
            return text
        return changed


class SpanMasking(Augmentation):
    """Masks one span of characters (Mirror-BERT, section 2.2)."""

    title = "Span masking"

    def __init__(self, length: int, shortest: int, token: str, seed: int) -> None:
        """Set the parameters.

        Args:
            length: Characters of a span, k in the paper; one more is the length of the shortest masked text.
            shortest: Characters of the shortest masked text.
            token: The encoder's mask token.
            seed: Combined with the row number.
        """
        super().__init__(max(shortest, length + 1), seed)
        self._length = length
        self._token = token

    def change(self, text: str, random: np.random.Generator) -> str:
        """Mask a span that starts at any place."""
        start = random.integers(len(text) - self._length + 1)
        return mask_span(text, int(start), self._length, self._token)


class _Share(Augmentation):
    """Changes a share of a text's words or tokens, at least `least` of them."""

    least = 1

    def __init__(self, share: float, shortest: int, seed: int) -> None:
        super().__init__(shortest, seed)
        self._share = share

    @property
    def unit(self) -> str:
        return " or a single word"

    def places(self, count: int, random: np.random.Generator) -> NDArray[np.int64] | None:
        """Draw which of `count` places to change; None for fewer than two, since none would stay unchanged."""
        if count < 2:
            return None
        chosen = min(count, max(self.least, round(self._share * count)))
        return random.choice(count, chosen, replace=False)


class WordMasking(_Share):
    """Masks whole words, separated by white space."""

    title = "Word masking"

    def __init__(self, share: float, shortest: int, token: str, seed: int) -> None:
        """Set the share of masked words, the shortest text, the mask token and the seed."""
        super().__init__(share, shortest, seed)
        self._token = token

    def change(self, text: str, random: np.random.Generator) -> str | None:
        """Replace words by the mask token."""
        words = text.split()
        places = self.places(len(words), random)
        if places is None:
            return None
        masked = set(places.tolist())
        return " ".join(self._token if place in masked else word for place, word in enumerate(words))


class TokenMasking(_Share):
    """Masks tokens of the encoder's tokenizer in the text, whose remainder is tokenized again."""

    title = "Token masking"

    def __init__(self, share: float, shortest: int, tokenizer: Any, seed: int) -> None:
        """Set the share of masked tokens, the shortest text, the tokenizer and the seed."""
        super().__init__(share, shortest, seed)
        self._tokenizer = tokenizer

    def change(self, text: str, random: np.random.Generator) -> str | None:
        """Replace the characters of tokens by the mask token."""
        encoded = self._tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, truncation=False
        )
        offsets = [(start, end) for start, end in encoded["offset_mapping"] if end > start]
        places = self.places(len(offsets), random)
        if places is None:
            return None
        for start, end in sorted((offsets[place] for place in places), reverse=True):
            text = mask_span(text, start, end - start, self._tokenizer.mask_token)
        return text


class WordOrder(_Share):
    """Puts words in another order; every chosen word moves."""

    title = "Word order"
    least = 2

    def change(self, text: str, random: np.random.Generator) -> str | None:
        """Move each chosen word to the place of the next one."""
        words = text.split()
        places = self.places(len(words), random)
        if places is None:
            return None
        moved = list(words)
        for source, target in zip(places, np.roll(places, 1), strict=True):
            moved[target] = words[source]
        return " ".join(moved)
