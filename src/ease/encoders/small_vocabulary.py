"""A smaller vocabulary for a saved encoder: without the pieces that no text of its languages uses.

Most weights of a small multilingual encoder are the embeddings of its vocabulary, and a language uses few of them.
"""

from __future__ import annotations

import json
import logging
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sentence_transformers.sentence_transformer.modules import Transformer
from tokenizers import Tokenizer
from torch import nn

from ease.encoders.encoder import load_encoder, save_encoder
from ease.encoders.merges import BPE, Merge, is_bpe, is_byte_level, merged_piece, read_merges
from ease.encoders.vocabulary import TOKENIZER_FILE, piece_numbers, read_tokenizer, script_of
from ease.errors import EaseError
from ease.io.atomic import write_text_atomically
from ease.similarity.vectors import pairwise_cosine

logger = logging.getLogger(__name__)

TRIMMABLE = ("Unigram", "WordPiece", BPE)
COMPARED_TEXTS = 256
"""Texts, the first ones, whose embeddings are compared before and after"""
_BATCH = 4096
_WORD_MARKS = ("▁", "##", "Ġ")
"""Marks of the beginning or the inside of a word in pieces"""
_OTHER_FILES = ("vocab.txt", "vocab.json", "merges.txt", "sentencepiece.bpe.model", "spiece.model", "added_tokens.json")
"""Files of slow tokenizers, which have the whole vocabulary"""


class TrimReport(NamedTuple):
    """What trimming an encoder's vocabulary changed."""

    pieces_before: int
    pieces: int
    weights_before: int
    weights: int
    texts: int
    """Texts whose pieces were counted"""
    lowest_cosine: float
    """Of the embeddings of the first texts before and after"""

    def describe(self) -> str:
        """Return sentences on the sizes and on what is lost, for logs and model cards."""
        return (
            f"The vocabulary has {self.pieces:,} of {self.pieces_before:,} pieces, those that {self.texts:,} texts "
            f"use, and the encoder {self.weights / 1e6:.1f} of {self.weights_before / 1e6:.1f} million weights. On "
            f"these texts, embeddings are the same (lowest cosine {self.lowest_cosine:.5f}). Words of other texts are "
            "split into shorter pieces, and other scripts are unknown: use the full encoder for further languages."
        )


def trim_vocabulary(encoder_folder: Path, texts: Iterable[str]) -> TrimReport:
    """Remove the pieces that no text uses from a saved encoder, in place; equal texts keep their embeddings.

    Special and added tokens, bytes, digits, punctuation, and single characters of the texts' scripts stay.

    Args:
        encoder_folder: Of an encoder with a Unigram, WordPiece or BPE tokenizer.
        texts: Texts of all languages that the encoder is to keep.

    Raises:
        EaseError: If there is no text, or the tokenizer is of another kind.
    """
    description = read_tokenizer(encoder_folder)
    if description["model"]["type"] not in TRIMMABLE:
        raise EaseError(
            f"A tokenizer of the type {description['model']['type']} cannot be trimmed, only {', '.join(TRIMMABLE)}."
        )
    encoder = load_encoder(str(encoder_folder))
    transformer = encoder[0]
    if not isinstance(transformer, Transformer):
        raise EaseError(
            f"{encoder_folder} begins with {type(transformer).__name__}, not a transformer: nothing to trim."
        )
    remaining = iter(texts)
    first_texts = list(islice(remaining, COMPARED_TEXTS))
    if not first_texts:
        raise EaseError("There is no text whose pieces could be kept: give texts of the encoder's languages.")
    before = encoder.encode(first_texts)
    weights_before = sum(weight.numel() for weight in encoder.parameters())
    table = transformer.model.get_input_embeddings()
    pieces_before = table.num_embeddings

    tokenizer = Tokenizer.from_str(json.dumps(description))
    occurring, scripts, count = _count_occurring(_batches(first_texts, remaining), tokenizer)
    rows = _retained_rows(description, occurring, scripts)
    new_numbers = {row: number for number, row in enumerate(rows)}
    _check_padding(transformer.model.config, new_numbers)
    trimmed = _renumber(description, new_numbers)
    table.weight = nn.Parameter(table.weight.detach()[rows].clone())
    table.num_embeddings = len(rows)
    _renumber_configuration(transformer.model.config, new_numbers)
    save_encoder(encoder, encoder_folder)
    _write_tokenizer(encoder_folder, trimmed, new_numbers)

    small = load_encoder(str(encoder_folder))
    cosines = pairwise_cosine(small.encode(first_texts), before)
    weights = sum(weight.numel() for weight in small.parameters())
    report = TrimReport(pieces_before, len(rows), weights_before, weights, count, float(np.min(cosines)))
    logger.info(report.describe())
    return report


def _batches(first: list[str], remaining: Iterator[str]) -> Iterator[list[str]]:
    """Yield texts that were read already, then further ones, some at a time."""
    batch = first
    while batch:
        yield batch
        batch = list(islice(remaining, _BATCH))


def _count_occurring(batches: Iterable[Collection[str]], tokenizer: Tokenizer) -> tuple[set[int], set[str], int]:
    """Return the numbers of the pieces that texts use, the texts' scripts, and how many texts there are."""
    tokenizer.no_truncation()
    occurring: set[int] = set()
    characters: set[str] = set()
    count = 0
    for batch in batches:
        for encoding in tokenizer.encode_batch_fast(list(batch)):
            occurring.update(encoding.ids)
        characters.update(*batch)
        count += len(batch)
    return occurring, {script_of(character) for character in characters if character.isalpha()}, count


def _retained_rows(description: Mapping[str, Any], occurring: set[int], scripts: set[str]) -> list[int]:
    """Return the numbers of the pieces to keep, ascending."""
    numbers = piece_numbers(description)
    of_bytes = is_byte_level(description)
    retained = {token["id"] for token in description["added_tokens"]} | occurring
    unknown = description["model"].get("unk_id")
    if unknown is not None:
        retained.add(unknown)
    retained.update(numbers[piece] for piece in [description["model"].get("unk_token")] if piece in numbers)
    for piece, number in numbers.items():
        is_byte = piece.startswith("<0x") and piece.endswith(">")
        if is_byte or _stays(_without_marks(piece), scripts) or (of_bytes and len(piece) == 1):
            retained.add(number)
    if is_bpe(description):
        retained |= _parts_of_merges(description["model"], numbers, retained)
    return sorted(retained)


def _without_marks(piece: str) -> str:
    for mark in _WORD_MARKS:
        if piece != mark:
            piece = piece.removeprefix(mark).removesuffix("</w>")
    return piece


def _stays(text: str, scripts: set[str]) -> bool:
    """Return whether a piece without its mark is a digit, punctuation, or a single character of a script."""
    if len(text) != 1:
        return False
    if text.isalpha():
        return script_of(text) in scripts
    # Marks that combine with letters have no script of their own.
    return unicodedata.category(text)[0] in "NPSZM"


def _parts_of_merges(model: Mapping[str, Any], numbers: Mapping[str, int], retained: set[int]) -> set[int]:
    """Return the pieces from which the retained ones are merged, in several steps: without them, none would form."""
    parts: dict[str, list[Merge]] = {}
    for merge in read_merges(model):
        parts.setdefault(merged_piece(model, merge), []).append(merge)
    part_numbers: set[int] = set()
    open_pieces = [piece for piece, number in numbers.items() if number in retained]
    while open_pieces:
        for merge in parts.get(open_pieces.pop(), ()):
            for piece in merge:
                number = numbers[piece]
                if number not in retained and number not in part_numbers:
                    part_numbers.add(number)
                    open_pieces.append(piece)
    return part_numbers


def _check_padding(config: Any, new_numbers: Mapping[int, int]) -> None:
    """Refuse to move the padding token, from whose number RoBERTa and XLM-R count their positions."""
    padding = getattr(config, "pad_token_id", None)
    if padding is not None and new_numbers.get(padding) != padding:
        raise EaseError(
            f"The padding token has the number {padding} behind pieces that no text uses, and would move: the "
            "vocabulary of this encoder cannot be trimmed."
        )


def _renumber(description: dict[str, Any], new_numbers: Mapping[int, int]) -> dict[str, Any]:
    """Return a tokenizer's description with the remaining pieces, by their new numbers."""
    model = dict(description["model"])
    if isinstance(model["vocab"], dict):
        model["vocab"] = {piece: new_numbers[row] for piece, row in model["vocab"].items() if row in new_numbers}
    else:
        model["vocab"] = [entry for row, entry in enumerate(model["vocab"]) if row in new_numbers]
    if model.get("unk_id") is not None:
        model["unk_id"] = new_numbers[model["unk_id"]]
    if "merges" in model:
        pieces = model["vocab"]
        merges = read_merges(model)
        model["merges"] = [list(merge) for merge in merges if {*merge, merged_piece(model, merge)} <= pieces.keys()]
    added = [{**token, "id": new_numbers[token["id"]]} for token in description["added_tokens"]]
    processor = _renumber_processor(description["post_processor"], new_numbers)
    return {**description, "model": model, "added_tokens": added, "post_processor": processor}


def _renumber_processor(processor: Any, new_numbers: Mapping[int, int]) -> Any:
    """Return a description of what adds special tokens around a text, with their new numbers."""
    if isinstance(processor, list):
        return [_renumber_processor(part, new_numbers) for part in processor]
    if not isinstance(processor, dict):
        return processor
    renumbered = {}
    for name, value in processor.items():
        if name == "ids":
            renumbered[name] = [new_numbers[row] for row in value]
        elif name in ("sep", "cls"):
            # BERT's and RoBERTa's: the token and its number.
            renumbered[name] = [value[0], new_numbers[value[1]]]
        else:
            renumbered[name] = _renumber_processor(value, new_numbers)
    return renumbered


def _renumber_configuration(config: Any, new_numbers: Mapping[int, int]) -> None:
    """Give the configuration of a transformer the new number of pieces and of its special tokens, in place."""
    config.get_text_config().vocab_size = len(new_numbers)
    for name, value in config.to_dict().items():
        if name.endswith("_token_id") and isinstance(value, int):
            setattr(config, name, new_numbers.get(value))


def _write_tokenizer(folder: Path, description: dict[str, Any], new_numbers: Mapping[int, int]) -> None:
    """Replace the tokenizer's files, which were saved with the whole vocabulary."""
    text = json.dumps(description, ensure_ascii=False)
    Tokenizer.from_str(text)
    write_text_atomically(folder / TOKENIZER_FILE, text)
    for name in _OTHER_FILES:
        (folder / name).unlink(missing_ok=True)
    file = folder / "tokenizer_config.json"
    if not file.is_file():
        return
    configuration = json.loads(file.read_text(encoding="utf-8"))
    decoder = configuration.get("added_tokens_decoder")
    if decoder:
        configuration["added_tokens_decoder"] = {str(new_numbers[int(row)]): token for row, token in decoder.items()}
        write_text_atomically(file, json.dumps(configuration, indent=2, ensure_ascii=False))
