"""The share of a language's words that an encoder's tokenizer does not know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import icu

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

EXAMPLES = 5
"""Unknown words that are listed"""


class UnknownWords(NamedTuple):
    """The words that have a token which the tokenizer does not know."""

    share: float
    """Their share in the running words, 0 to 1"""
    examples: list[str]
    """The most frequent ones"""


def count_words(sentences: Iterable[str], locale: icu.Locale) -> Counter[str]:
    """Count the words of sentences by ICU's boundaries; numbers and punctuation are no words."""
    boundaries = icu.BreakIterator.createWordInstance(locale)
    words: Counter[str] = Counter()
    for sentence in sentences:
        text = icu.UnicodeString(sentence)  # ICU's offsets are UTF-16 units
        boundaries.setText(text)
        start = 0
        for end in boundaries:
            if boundaries.getRuleStatus() >= 200:  # UBRK_WORD_LETTER and above: no numbers
                words[str(text[start:end])] += 1
            start = end
    return words


def find_unknown_words(encoder: SentenceTransformer, words: Counter[str]) -> UnknownWords:
    """Find the words with an unknown token; an encoder whose tokenizer has no unknown token knows all words."""
    tokenizer = encoder.tokenizer
    unknown = getattr(tokenizer, "unk_token_id", None)
    listed = list(words)
    if unknown is None or not listed:
        return UnknownWords(0.0, [])
    tokens = tokenizer(listed, add_special_tokens=False)["input_ids"]
    lacking = {word: words[word] for word, ids in zip(listed, tokens, strict=True) if unknown in ids}
    most = sorted(lacking, key=lambda word: (-lacking[word], word))[:EXAMPLES]
    return UnknownWords(sum(lacking.values()) / words.total(), most)
