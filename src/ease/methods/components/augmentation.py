"""Changed views of strings: masked spans, words or tokens, and words in another order (footnote 13 of Mirror-BERT)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from ease.errors import EaseError

logger = logging.getLogger(__name__)

Change = Callable[[str, np.random.Generator], str | None]
"""Changes a text by random numbers; None if it has a single word or token"""


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


class Augmentation:
    """Changes each text by random numbers from the seed and the row number; short texts stay unchanged."""

    def __init__(self, title: str, change: Change, shortest: int, seed: int, *, single: bool = False) -> None:
        """Set the parameters.

        Args:
            title: What the augmentation is called in the log.
            change: Changes a text.
            shortest: Characters (code points) of the shortest changed text.
            seed: Combined with the row number.
            single: Whether texts of a single word are not changed either.
        """
        self._title, self._change, self._shortest, self._seed = title, change, shortest, seed
        self._unit = " or a single word" if single else ""
        self.texts = self.kept = 0
        """Texts so far, and those that were too short to be changed"""

    def __call__(self, texts: Sequence[str], rows: NDArray[np.int64]) -> list[str]:
        """Change the texts of these rows, and log how many texts were too short so far."""
        changed = []
        for text, row in zip(texts, rows, strict=True):
            random = np.random.default_rng([self._seed, int(row)])
            found = self._change(text, random) if len(text) >= self._shortest else None
            self.texts, self.kept = self.texts + 1, self.kept + (found is None)
            changed.append(text if found is None else found)
        logger.info(
            "%s: %d of %d texts have fewer than %d characters%s and are not changed",
            *(self._title, self.kept, self.texts, self._shortest, self._unit),
        )
        return changed


def span_masking(length: int, shortest: int, token: str, seed: int) -> Augmentation:
    """Mask one span of characters that starts at any place (Mirror-BERT, section 2.2); a character is left."""

    def change(text: str, random: np.random.Generator) -> str:
        return mask_span(text, int(random.integers(len(text) - length + 1)), length, token)

    return Augmentation("Span masking", change, max(shortest, length + 1), seed)


def word_masking(share: float, shortest: int, token: str, seed: int) -> Augmentation:
    """Mask a share of the words, which are separated by white space."""

    def change(text: str, random: np.random.Generator) -> str | None:
        words = text.split()
        for place in (chosen := _places(len(words), share, random)):
            words[place] = token
        return " ".join(words) if len(chosen) else None

    return Augmentation("Word masking", change, shortest, seed, single=True)


def token_masking(share: float, shortest: int, tokenizer: Any, seed: int) -> Augmentation:
    """Mask a share of the tokens in the text, whose remainder is tokenized again."""

    def change(text: str, random: np.random.Generator) -> str | None:
        encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, truncation=False)
        offsets = [(start, end) for start, end in encoded["offset_mapping"] if end > start]
        chosen = _places(len(offsets), share, random)
        for start, end in sorted((offsets[place] for place in chosen), reverse=True):
            text = mask_span(text, start, end - start, tokenizer.mask_token)
        return text if len(chosen) else None

    return Augmentation("Token masking", change, shortest, seed, single=True)


def word_order(share: float, shortest: int, seed: int) -> Augmentation:
    """Move each word of a share, at least two, to the place of the next one."""

    def change(text: str, random: np.random.Generator) -> str | None:
        words = text.split()
        moved, chosen = list(words), _places(len(words), share, random, least=2)
        for source, target in zip(chosen, np.roll(chosen, 1), strict=True):
            moved[target] = words[source]
        return " ".join(moved) if len(chosen) else None

    return Augmentation("Word order", change, shortest, seed, single=True)


def _places(count: int, share: float, random: np.random.Generator, least: int = 1) -> NDArray[np.int64]:
    """Draw which of `count` places to change; none of fewer than two, since none would stay unchanged."""
    if count < 2:
        return np.empty(0, np.int64)
    return random.choice(count, min(count, max(least, round(share * count))), replace=False)
