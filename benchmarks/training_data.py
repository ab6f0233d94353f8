"""Inputs of `training_speed`: sentences with realistic lengths, entities and an encoder."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import save_file
from sentence_transformers import SentenceTransformer

from benchmarks.large_batches import made_sentences
from ease.encoders.encoder import build_encoder, embedding_dimension, save_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions

MAX_TOKENS = 32
FURTHER_ENTITIES = 3
"""Entities of a sentence beside its pair's own, which EASE+ reads: as many as it takes at most."""
CHARACTERS = (10, 1000)
"""Minimum and maximum length of a sentence, as in the default configuration of pairs."""
WORK = "work.json"
"""File of the sizes, written last"""
BASE = RandomBertOptions(layers=12, hidden_size=768, heads=12, intermediate_size=3072, vocabulary_size=30_522)
"""The size of BERT-base; the vocabulary is smaller if the sentences have fewer distinct words."""


class Work(NamedTuple):
    """Folder of the input files, and the sizes from which the operations of a training are computed."""

    folder: Path
    entities: int
    dimension: int
    """Dimension of sentence and entity embeddings."""
    parameters: int
    """Parameters of the encoder's layers, without embeddings and pooler."""
    attention_width: int
    """Number of layers times hidden size."""
    mean_tokens: float
    """Mean number of tokens per sentence."""
    mean_square: float
    """Mean of the squared number of tokens."""

    @property
    def flops_of_a_pair(self) -> float:
        """Operations per training pair (two views): 6 per parameter and token, 12 per token pair in attention."""
        return 2 * (6 * self.parameters * self.mean_tokens + 12 * self.attention_width * self.mean_square)


def read_sentences(pairs: Path | None) -> tuple[list[str], str]:
    """Return sentences and their source: a file of pairs, real dumps (`EASE_TEST_DATA`) or generated sentences."""
    dumps = os.environ.get("EASE_TEST_DATA")
    if pairs is not None:
        return pq.read_table(pairs, columns=["sentence"])["sentence"].to_pylist(), str(pairs)
    if dumps is None:
        return made_sentences(50_000), "generated: median of 17 words"
    return (
        linked_sentences(Path(dumps) / "dumps" / "wikipedia"),
        "English and Italian Wikipedia: sentences with links",
    )


def linked_sentences(dumps: Path) -> list[str]:
    """Return the sentences of dumps that have a link and a length within `CHARACTERS`."""
    # A machine with a GPU needs no parser: it reads a file of sentences.
    from ease.wikimedia.dumps.files import find_dumps
    from ease.wikimedia.dumps.parts import IngestOptions
    from ease.wikimedia.wikipedia import ingest_wikipedia

    with tempfile.TemporaryDirectory() as work:
        parts = ingest_wikipedia(
            find_dumps(dumps, ["en", "it"]), IngestOptions(splitter="icu", workers=1), Path(work)
        )
        tables = [pq.read_table(path, columns=["text", "links"]) for path in parts.sentences]
    least, most = CHARACTERS
    rows = (row for table in tables for row in table.to_pylist())
    return [row["text"] for row in rows if row["links"] and least <= len(row["text"]) <= most]


def prepare(folder: Path, sentences: Sequence[str], encoder: str, entities: int, seed: int = 0) -> Work:
    """Write the pairs, the entity vocabulary, the entity embeddings and the encoder.

    All entities occur, and are equally frequent, which maximises the number of distinct entities in a batch.

    Args:
        folder: Output folder.
        sentences: Sentences of the pairs.
        encoder: small (that of the sample), base, a folder or a Hugging Face name.
        entities: Number of entities; at most two for each sentence.
        seed: Seed of the entities of pairs and of the embeddings.
    """
    count = len(sentences)
    entities = min(entities, 2 * count)
    options = {"small": EncoderOptions(), "base": EncoderOptions(random=BASE)}.get(
        encoder, EncoderOptions(name=encoder, pooling="mean")
    )
    loaded = build_encoder(options, sentences)
    save_encoder(loaded, folder / "encoder")
    save_encoder(without_dropout(loaded), folder / "still")
    random = np.random.default_rng(seed)
    drawn = random.permutation(np.resize(np.arange(entities), 2 * count))
    further = random.integers(entities, size=(count, FURTHER_ENTITIES))
    columns = {
        "sentence": sentences,
        "entity": drawn[:count],
        "hard_negative": np.where(
            drawn[:count] == drawn[count:], (drawn[count:] + 1) % entities, drawn[count:]
        ),
        "further_entities": list(further),
    }
    pq.write_table(pa.table(columns), folder / "pairs.parquet")
    rows = np.arange(entities)
    pq.write_table(pa.table({"row": rows, "entity": rows}), folder / "vocabulary.parquet")
    table = random.standard_normal((entities, embedding_dimension(loaded)), dtype=np.float32)
    save_file({"embeddings": table}, folder / "table.safetensors")
    work = _described(folder, entities, loaded, sentences)
    (folder / WORK).write_text(json.dumps({**work._asdict(), "folder": str(folder)}), encoding="utf-8")
    return work


def read_work(folder: Path) -> Work | None:
    """Return what `prepare` wrote to a folder; None if it wrote nothing."""
    file = folder / WORK
    if not file.exists():
        return None
    return Work(**{**json.loads(file.read_text(encoding="utf-8")), "folder": folder})


def without_dropout(encoder: SentenceTransformer) -> SentenceTransformer:
    """Set all dropout rates in an encoder's configuration to 0."""
    config = _config(encoder)
    for name in [
        name for name, value in vars(config).items() if "dropout" in name and isinstance(value, float)
    ]:
        setattr(config, name, 0.0)
    return encoder


def _config(encoder: SentenceTransformer) -> Any:
    transformer: Any = encoder[0]
    return transformer.model.config


def _described(folder: Path, entities: int, encoder: SentenceTransformer, sentences: Sequence[str]) -> Work:
    found = encoder.tokenizer(list(sentences), truncation=True, max_length=MAX_TOKENS)["input_ids"]
    lengths = np.array([len(tokens) for tokens in found])
    config = _config(encoder)
    parameters = sum(
        weights.numel()
        for name, weights in encoder.named_parameters()
        if "embeddings." not in name and "pooler." not in name
    )
    return Work(
        folder,
        entities,
        embedding_dimension(encoder),
        parameters,
        int(config.num_hidden_layers * config.hidden_size),
        float(lengths.mean()),
        float((lengths.astype(float) ** 2).mean()),
    )
