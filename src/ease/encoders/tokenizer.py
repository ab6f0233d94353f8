"""Training of tokenizers for encoders with random weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from ease.errors import EaseError

SPECIAL_TOKENS = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
MAX_SENTENCES = 200_000
"""Default number of training sentences, which bounds time and memory."""


def train_tokenizer(
    sentences: Iterable[str],
    vocabulary_size: int,
    max_length: int,
    *,
    lowercase: bool = False,
    max_sentences: int = MAX_SENTENCES,
) -> PreTrainedTokenizerFast:
    """Train a byte-pair encoding on sentences of any script.

    Text is split at spaces and punctuation; in scripts without them, merges find the words. The same sentences in the
    same order give the same vocabulary in every process, unlike the library's WordPiece and Unigram trainers.

    Args:
        sentences: Training sentences; only `max_sentences` of them are read.
        vocabulary_size: Maximum number of entries, including special tokens.
        max_length: Maximum number of tokens of a sequence, including special tokens.
        lowercase: Whether to fold case.
        max_sentences: Maximum number of training sentences.

    Raises:
        EaseError: If there is no text.
    """
    count = 0

    def counted() -> Iterator[str]:
        nonlocal count
        for sentence in islice(sentences, max_sentences):
            count += bool(sentence.strip())
            yield sentence

    tokenizer = _untrained(lowercase)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=list(SPECIAL_TOKENS.values()),
        limit_alphabet=vocabulary_size // 2,
        show_progress=False,
    )
    tokenizer.train_from_iterator(counted(), trainer)
    if not count:
        raise EaseError("No sentence to train the tokenizer on: is the table of sentences empty?")
    tokenizer.post_processor = TemplateProcessing(
        single=f"{SPECIAL_TOKENS['cls']} $A {SPECIAL_TOKENS['sep']}",
        pair=f"{SPECIAL_TOKENS['cls']} $A {SPECIAL_TOKENS['sep']} $B:1 {SPECIAL_TOKENS['sep']}:1",
        special_tokens=[
            (SPECIAL_TOKENS[name], tokenizer.token_to_id(SPECIAL_TOKENS[name])) for name in ("cls", "sep")
        ],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=max_length,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{name}_token": token for name, token in SPECIAL_TOKENS.items()},
    )


def _untrained(lowercase: bool) -> Tokenizer:
    """Return a tokenizer with normalisation, splitting and decoding, but without a vocabulary."""
    tokenizer = Tokenizer(models.BPE(unk_token=SPECIAL_TOKENS["unk"]))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFKC(),
            normalizers.BertNormalizer(handle_chinese_chars=False, strip_accents=False, lowercase=lowercase),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(prepend_scheme="always"), pre_tokenizers.Punctuation()]
    )
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer
