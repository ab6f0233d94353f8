"""What the trainings of `training_speed` read: sentences with the lengths of Wikipedia's, entities, an encoder."""

from __future__ import annotations

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
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.wikipedia.ingestion import IngestOptions, ingest_wikipedia

MAX_TOKENS = 32
CHARACTERS = (10, 1000)
"""Of a sentence, as the project's pairs have them."""
BASE = RandomBertOptions(layers=12, hidden_size=768, heads=12, intermediate_size=3072, vocabulary_size=30_522)
"""The size of BERT-base; the tokenizer gets fewer entries where the sentences have fewer words."""


class Work(NamedTuple):
    """A folder of files, and what the arithmetic of a training needs to know of them."""

    folder: Path
    entities: int
    dimension: int
    """Of sentences and entities"""
    parameters: int
    """Of the encoder's layers, without embeddings and pooler"""
    attention_width: int
    """Layers times hidden size"""
    mean_tokens: float
    """Of a sentence"""
    mean_square: float
    """Of its tokens' square"""

    @property
    def flops_of_a_pair(self) -> float:
        """Of training on two views of a sentence: 6 a parameter and token, 12 a pair of tokens in attention."""
        return 2 * (6 * self.parameters * self.mean_tokens + 12 * self.attention_width * self.mean_square)


def read_sentences(pairs: Path | None) -> tuple[list[str], str]:
    """Sentences, and where they are from: a file of pairs, real dumps (`EASE_TEST_DATA`), or made up."""
    dumps = os.environ.get("EASE_TEST_DATA")
    if pairs is not None:
        return pq.read_table(pairs, columns=["sentence"])["sentence"].to_pylist(), str(pairs)
    if dumps is None:
        return made_sentences(50_000), "made up: 17 words in the middle"
    return (
        linked_sentences(Path(dumps) / "dumps" / "wikipedia"),
        "sentences with links of English and Italian Wikipedia",
    )


def linked_sentences(dumps: Path) -> list[str]:
    """The sentences of dumps that have a link and a usual length."""
    with tempfile.TemporaryDirectory() as work:
        parts = ingest_wikipedia(
            find_dumps(dumps, ["en", "it"]), IngestOptions(splitter="icu", workers=1), Path(work)
        )
        tables = [pq.read_table(path, columns=["text", "links"]) for path in parts.sentences]
    least, most = CHARACTERS
    rows = (row for table in tables for row in table.to_pylist())
    return [row["text"] for row in rows if row["links"] and least <= len(row["text"]) <= most]


def prepare(folder: Path, sentences: Sequence[str], encoder: str, entities: int, seed: int = 0) -> Work:
    """Write pairs, entity vocabulary and table, and the encoder.

    Every entity is used: sentences are repeated where there are fewer than half as many. Entities are as frequent as
    one another, so that a batch has as many different rows as it can have.

    Args:
        folder: To write into.
        sentences: The sentences of the pairs.
        encoder: small (the sample's), base, a folder or a hub name.
        entities: Rows of the entity table.
        seed: Of entities and embeddings.
    """
    options = {
        "small": EncoderOptions(),
        "base": EncoderOptions(random=BASE),
    }.get(encoder, EncoderOptions(name=encoder, pooling="mean"))
    loaded = build_encoder(options, sentences)
    save_encoder(loaded, folder / "encoder")
    save_encoder(without_dropout(loaded), folder / "still")
    random = np.random.default_rng(seed)
    count = max(len(sentences), (entities + 1) // 2)
    drawn = random.permutation(np.resize(np.arange(entities), 2 * count))
    columns = {
        "sentence": np.resize(np.array(sentences, dtype=object), count),
        "entity": drawn[:count],
        "hard_negative": drawn[count:],
    }
    pq.write_table(pa.table(columns), folder / "pairs.parquet")
    rows = np.arange(entities)
    pq.write_table(pa.table({"row": rows, "entity": rows}), folder / "vocabulary.parquet")
    table = random.standard_normal((entities, embedding_dimension(loaded)), dtype=np.float32)
    save_file({"embeddings": table}, folder / "table.safetensors")
    return _described(folder, entities, loaded, sentences)


def without_dropout(encoder: SentenceTransformer) -> SentenceTransformer:
    """Set every rate of dropout in an encoder's configuration to 0."""
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
