"""A tokenizer trained on the corpus at hand, for encoders that start from random weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from ease.errors import EaseError

SPECIAL_TOKENS = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
MAX_SENTENCES = 200_000
"""Sentences that the vocabulary is learnt from, which bounds time and memory."""


def train_tokenizer(
    sentences: Iterable[str],
    vocabulary_size: int,
    max_length: int,
    *,
    lowercase: bool = False,
    max_sentences: int = MAX_SENTENCES,
) -> PreTrainedTokenizerFast:
    """Learn a byte-pair encoding from sentences of any script.

    Text is cut at spaces and punctuation; within scripts that write none the merges find the words. The same
    sentences in the same order give the same vocabulary in every process, which the library's WordPiece and
    Unigram trainers do not.

    Args:
        sentences: Read up to `max_sentences`.
        vocabulary_size: Entries at most, special tokens included.
        max_length: Tokens a sequence may have, special tokens included.
        lowercase: Fold case before splitting.
        max_sentences: Bound on the sentences read.

    Raises:
        EaseError: If there is no text to learn from.
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
    """Set up how text is normalised, cut and put together again."""
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
