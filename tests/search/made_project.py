"""A project with tables and encoders for a search, written without a pipeline."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from safetensors.numpy import save_file

from ease.encoders.encoder import build_encoder, save_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions

VERSION = "2026-01-01T00.00.00.000Z"
DIMENSION, ENTITY_DIMENSION = 16, 8
SIZES = {"layers": 1, "hidden_size": DIMENSION, "heads": 2, "intermediate_size": 16, "vocabulary_size": 300}
LABELS = {17: "Japan", 8146: "Japanese yen", 183: "Germany"}
ENTITIES = np.random.default_rng(0).normal(size=(len(LABELS), ENTITY_DIMENSION))
GERMAN_TITLES = {17: "Japan", 8146: "Japanischer Yen", 183: "Deutschland"}


class Row(NamedTuple):
    """A sentence of the table, and the entities that it links to; a repeated one by another title."""

    language: str
    page_id: int
    title: str
    number: int
    text: str
    entities: Sequence[int] = ()


ROWS = [
    Row("de", 1, "Yen", 0, "Yen ist die Währung von Japan.", [17, 8146]),
    Row("de", 1, "Yen", 1, "…"),
    Row("de", 2, "Japan", 0, "Yen ist die Währung von Japan.", [8146]),
    Row("en", 1, "Yen", 0, "The yen is the currency of Japan.", [17]),
    Row("en", 1, "Yen", 1, "History"),
    Row("en", 3, "Germany", 0, "Germany is a country in Europe.", [999]),
    Row("ja", 1, "円", 0, "日本の通貨は円です。", [17, 8146]),
]


def write_project(folder: Path, rows: Sequence[Row] = ROWS) -> Path:
    """Write configuration and tables; return the folder."""
    (folder / "conf/base").mkdir(parents=True)
    (folder / "conf/base/globals.yml").write_text("data: data\n", encoding="utf-8")
    write_sentences(folder, rows)
    vocabulary = pd.DataFrame({"entity": LABELS.keys(), "label": LABELS.values(), "link_count": 1})
    table = folder / "data/03_primary/multilingual/entity_vocabulary.parquet"
    _write(table, "", vocabulary.assign(row=vocabulary.index))
    sitelinks = pd.DataFrame({"qid": GERMAN_TITLES.keys(), "title": GERMAN_TITLES.values(), "language": "de"})
    _write(folder / "data/02_intermediate/multilingual/sitelinks", "000000.parquet", sitelinks)
    return folder


def write_sentences(folder: Path, rows: Sequence[Row], version: str = VERSION) -> None:
    """Write a version of the sentences and their links."""
    stage = folder / "data/02_intermediate/multilingual"
    names = ["language", "page_id", "page_title", "sentence_index", "text"]
    sentences = pd.DataFrame([row[:5] for row in rows], columns=names)
    _write(stage / "sentences", "000000.parquet", sentences, version)
    links = [
        (*row[:2], row.number, entity, f"title of {entity}" + "!" * row.entities[:n].count(entity))
        for row in rows
        for n, entity in enumerate(row.entities)
    ]
    columns = ["language", "page_id", "sentence_index", "entity", "title"]
    _write(stage / "links.parquet", "", pd.DataFrame(links, columns=columns), version)


def make_project(folder: Path, encoder: Path) -> Path:
    """Write a project with an untrained encoder and one with an entity table; return the folder."""
    write_project(folder)
    add_model(folder, "untrained", encoder)
    add_model(folder, "ease_plus", encoder, entities=ENTITIES)
    return folder


def write_encoder(folder: Path, seed: int = 0) -> Path:
    """Save a tiny encoder with random weights."""
    options = EncoderOptions(random=RandomBertOptions(**SIZES), seed=seed)
    save_encoder(build_encoder(options, [row.text for row in ROWS]), folder)
    return folder


def add_model(
    project: Path,
    method: str,
    encoder: Path,
    version: str = VERSION,
    entities: np.ndarray | None = None,
    **options: Any,
) -> Path:
    """Add a version of a method's trained encoder, from the encoder's folder; return its folder.

    `entities`: embeddings of the vocabulary, (entities, ENTITY_DIMENSION), for the table that a method with entities
    saves beside its encoder with its options; None: a model without a table.
    """
    target = project / "data/06_models/multilingual" / method / "encoder" / version / "encoder"
    shutil.copytree(encoder, target)
    if entities is not None:
        (target / "training").mkdir()
        method_file = {"method": method, "options": options}
        (target / "training/method.json").write_text(json.dumps(method_file), encoding="utf-8")
        projection = np.random.default_rng(1).normal(size=(DIMENSION, ENTITY_DIMENSION)).astype(np.float32)
        parts = {
            "method.table.weight": entities.astype(np.float32),
            "method.projection.weight": projection,
            "vocabulary_rows": np.arange(len(entities)),
        }
        save_file(parts, target / "training/parts.safetensors")
    return target


def _write(table: Path, file: str, rows: pd.DataFrame, version: str = VERSION) -> None:
    target = table / version / table.name / file if file else table / version / table.name
    target.parent.mkdir(parents=True)
    rows.to_parquet(target)
