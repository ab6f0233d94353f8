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
from ease.errors import EaseError
from ease.io.atomic import write_text_atomically

logger = logging.getLogger(__name__)

TOKENIZER_FILE = "tokenizer.json"
EXTENDABLE = ("Unigram", "WordPiece")
"""Kinds of tokenizers whose vocabulary can be extended without new merges"""


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


def is_extendable(description: Mapping[str, Any]) -> bool:
    """Whether `add_pieces` can extend a tokenizer with this description."""
    return description["model"]["type"] in EXTENDABLE


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

    A Unigram tokenizer gives the new piece the score of the known one, so that a text with new pieces is split as the
    text with the known ones would be.

    Args:
        encoder_folder: Of an encoder whose tokenizer `is_extendable`.
        pieces: The known piece for each new one.

    Raises:
        EaseError: If the tokenizer cannot be extended.
    """
    description = read_tokenizer(encoder_folder)
    if not is_extendable(description):
        kind = description["model"]["type"]
        raise EaseError(f"A tokenizer of the type {kind} cannot be extended, only {' or '.join(EXTENDABLE)}.")
    numbers = piece_numbers(description)
    first = max(numbers.values()) + 1
    vocabulary = description["model"]["vocab"]
    if isinstance(vocabulary, dict):
        # Added tokens may have numbers above those of the model's vocabulary, which must not be given twice.
        first = max(first, *(token["id"] + 1 for token in description["added_tokens"]))
        vocabulary.update({piece: number for number, piece in enumerate(pieces, start=first)})
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
