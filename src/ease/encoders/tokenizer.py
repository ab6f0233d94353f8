"""Training of tokenizers for encoders with random weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from ease.errors import EaseError

if TYPE_CHECKING:
    import icu
    from sentence_transformers import SentenceTransformer

SPECIAL_TOKENS = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}


def train_tokenizer(
    sentences: Iterable[str],
    vocabulary_size: int,
    max_length: int,
    *,
    lowercase: bool = False,
    max_sentences: int = 200_000,
) -> PreTrainedTokenizerFast:
    """Train a byte-pair encoding on the first sentences of a stream, of any script.

    Text is split at spaces and punctuation; in scripts without them, merges find the words. The same sentences in the
    same order give the same vocabulary in every process, unlike the library's WordPiece and Unigram trainers.
    `vocabulary_size` and `max_length`, of a sequence, include special tokens.
    """
    texts = list(islice(sentences, max_sentences))
    if not any(map(str.strip, texts)):
        raise EaseError("No sentence to train the tokenizer on: is the table of sentences empty?")
    tokenizer = Tokenizer(models.BPE(unk_token=SPECIAL_TOKENS["unk"]))
    folded = normalizers.BertNormalizer(handle_chinese_chars=False, strip_accents=False, lowercase=lowercase)
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), folded])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(prepend_scheme="always"), pre_tokenizers.Punctuation()]
    )
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=list(SPECIAL_TOKENS.values()),
        # The other half is for merges: scripts with many characters would leave no place for them.
        limit_alphabet=vocabulary_size // 2,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    start = SPECIAL_TOKENS["cls"]
    end = SPECIAL_TOKENS["sep"]
    tokenizer.post_processor = TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} $B:1 {end}:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (start, end)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=max_length,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{name}_token": token for name, token in SPECIAL_TOKENS.items()},
    )


class UnknownWords(NamedTuple):
    """The words that have a token which the tokenizer does not know."""

    share: float
    """Their share in the running words, 0 to 1"""
    examples: list[str]
    """The five most frequent ones"""


def count_words(sentences: Iterable[str], locale: icu.Locale) -> Counter[str]:
    """Count the words of sentences by ICU's boundaries; numbers and punctuation are no words."""
    import icu  # compiled, and needed for this alone

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
    # Tokenizers of bytes, as of Qwen, have no unknown token.
    unknown_id = getattr(tokenizer, "unk_token_id", None)
    if unknown_id is None or not words:
        return UnknownWords(0.0, [])
    tokens = tokenizer(list(words), add_special_tokens=False)["input_ids"]
    unknown = {word: words[word] for word, ids in zip(words, tokens, strict=True) if unknown_id in ids}
    most_frequent = sorted(unknown, key=lambda word: (-unknown[word], word))[:5]
    return UnknownWords(sum(unknown.values()) / words.total(), most_frequent)
