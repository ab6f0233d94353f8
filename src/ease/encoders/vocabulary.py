"""New pieces in the vocabulary of a saved encoder, whose embeddings are those of pieces that it knows."""

from __future__ import annotations

import json
import logging
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding, Transformer
from tokenizers import Tokenizer

from ease.encoders.encoder import load_encoder, save_encoder
from ease.encoders.merges import BPE, is_bpe, is_byte_level, read_merges, respelt_merges
from ease.errors import EaseError
from ease.io.atomic import write_text_atomically

logger = logging.getLogger(__name__)

TOKENIZER_FILE = "tokenizer.json"
EXTENDABLE = ("Unigram", "WordPiece", BPE)
"""Kinds of tokenizers whose vocabulary can be extended, unless BPE merges bytes, suffixes or prefixes"""


def read_tokenizer(encoder_folder: Path) -> dict[str, Any]:
    """Read the description of a saved encoder's tokenizer, in the format of the library tokenizers.

    Raises:
        EaseError: If the encoder has none, such as word vectors.
    """
    file = encoder_folder / TOKENIZER_FILE
    if not file.is_file():
        raise EaseError(f"{encoder_folder} has no {TOKENIZER_FILE}: only encoders with a fast tokenizer have one.")
    description: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return description


def explain_fixed(description: Mapping[str, Any]) -> str:
    """Return why `add_pieces` cannot extend a tokenizer with this description; empty if it can."""
    model = description["model"]
    kind = model["type"]
    if kind not in EXTENDABLE:
        return f"a tokenizer of the type {kind} cannot be extended, only {', '.join(EXTENDABLE)}"
    if is_bpe(description) and is_byte_level(description):
        return "its tokenizer merges bytes, of which a letter has several, and cannot be extended"
    if is_bpe(description) and (model.get("continuing_subword_prefix") or model.get("end_of_word_suffix")):
        return "its tokenizer marks the inside or the end of words, and cannot be extended"
    return ""


def piece_numbers(description: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of each piece of a tokenizer's vocabulary."""
    vocabulary = description["model"]["vocab"]
    if isinstance(vocabulary, dict):
        return dict(vocabulary)
    return {piece: number for number, (piece, _) in enumerate(vocabulary)}


def script_of(letter: str) -> str:
    """Return the script of a letter by its name in Unicode, such as `LATIN`; Python has no other table of scripts."""
    return unicodedata.name(letter, "").partition(" ")[0]


def add_pieces(encoder_folder: Path, pieces: Mapping[str, str]) -> None:
    """Add pieces to the vocabulary of a saved encoder, in place; each is embedded like a piece that it has.

    A Unigram tokenizer gives the new piece the score of the known one, and BPE merges it right after the known one, so
    that a text with new pieces is split as the text with the known ones would be.

    Args:
        encoder_folder: A saved encoder.
        pieces: The known piece for each new one, as `new_pieces` returns them.

    Raises:
        EaseError: If the tokenizer cannot be extended.
    """
    description = read_tokenizer(encoder_folder)
    fault = explain_fixed(description)
    if fault:
        raise EaseError(f"{encoder_folder}: {fault}.")
    numbers = piece_numbers(description)
    first = max(numbers.values()) + 1
    vocabulary = description["model"]["vocab"]
    if isinstance(vocabulary, dict):
        # Added tokens may have numbers above those of the model's vocabulary, which must not be given twice.
        first = max(first, *(token["id"] + 1 for token in description["added_tokens"]))
        vocabulary.update({piece: number for number, piece in enumerate(pieces, start=first)})
        if is_bpe(description):
            description["model"]["merges"] = respelt_merges(read_merges(description["model"]), pieces)
    else:
        # The place in the list is the number: added tokens above the list get a place in it.
        for token in sorted(description["added_tokens"], key=lambda token: token["id"]):
            if token["id"] == len(vocabulary):
                vocabulary.append([token["content"], 0.0])
        first = len(vocabulary)
        scores = dict(vocabulary)
        vocabulary.extend([piece, scores[known_piece]] for piece, known_piece in pieces.items())
    encoder = load_encoder(str(encoder_folder))
    _add_rows(encoder, first, [numbers[known_piece] for known_piece in pieces.values()])
    save_encoder(encoder, encoder_folder)
    # Saving has written the tokenizer as it was loaded.
    text = json.dumps(description, ensure_ascii=False)
    Tokenizer.from_str(text)
    write_text_atomically(encoder_folder / TOKENIZER_FILE, text)


def _add_rows(encoder: SentenceTransformer, first: int, copied: Sequence[int]) -> None:
    """Write copies of rows of the encoder's table of embeddings from row `first` on; the table grows as needed."""
    module = encoder[0]
    if isinstance(module, StaticEmbedding):
        weights = module.embedding.weight
        table = torch.cat([weights[:first], weights[copied]])
        module.embedding = torch.nn.EmbeddingBag.from_pretrained(table, freeze=False)
        return
    assert isinstance(module, Transformer)
    model: Any = module.model
    rows = model.get_input_embeddings().weight.shape[0]
    # Published tables often have more rows than there are pieces.
    model.resize_token_embeddings(max(rows, first + len(copied)), mean_resizing=False)
    with torch.no_grad():
        table = model.get_input_embeddings().weight
        table[first : first + len(copied)] = table[copied]
