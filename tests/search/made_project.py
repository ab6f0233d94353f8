"""A project with tables and encoders for a search, written without a pipeline."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
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
    primary, stage = "03_primary/multilingual", "02_intermediate/multilingual"
    vocabulary = {
        "row": range(len(LABELS)),
        "entity": list(LABELS),
        "label": list(LABELS.values()),
        "link_count": [1] * len(LABELS),
    }
    _write(folder / "data" / primary / "entity_vocabulary.parquet", "", vocabulary)
    titles = GERMAN_TITLES.items()
    sitelinks = {
        "qid": [qid for qid, _ in titles],
        "language": ["de"] * len(titles),
        "title": [title for _, title in titles],
    }
    _write(folder / "data" / stage / "sitelinks", "000000.parquet", sitelinks)
    return folder


def write_sentences(folder: Path, rows: Sequence[Row], version: str = VERSION) -> None:
    """Write a version of the sentences and their links."""
    stage = folder / "data/02_intermediate/multilingual"
    sentences = {
        "language": [row.language for row in rows],
        "page_id": [row.page_id for row in rows],
        "page_title": [row.title for row in rows],
        "sentence_index": [row.number for row in rows],
        "text": [row.text for row in rows],
    }
    _write(stage / "sentences", "000000.parquet", sentences, version)
    linked = [
        (row, entity, row.entities[:place].count(entity))
        for row in rows
        for place, entity in enumerate(row.entities)
    ]
    links = {
        "language": [row.language for row, *_ in linked],
        "page_id": [row.page_id for row, *_ in linked],
        "sentence_index": [row.number for row, *_ in linked],
        "entity": [entity for _, entity, _ in linked],
        "title": [f"title of {entity}" + again * "!" for _, entity, again in linked],
    }
    _write(stage / "links.parquet", "", links, version)


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
    """Add a trained encoder with the parts that a method with entities saves beside it; return its folder.

    Args:
        project: Folder of the project.
        method: Name of the method.
        encoder: Folder of the encoder.
        version: Version of the model.
        entities: Entity embeddings of the vocabulary, (entities, ENTITY_DIMENSION); None: a model without a table.
        options: The method's options.
    """
    target = project / "data/06_models/multilingual" / method / "encoder" / version / "encoder"
    shutil.copytree(encoder, target)
    if entities is not None:
        (target / "training").mkdir()
        method_file = {"method": method, "options": options}
        (target / "training/method.json").write_text(json.dumps(method_file), encoding="utf-8")
        save_file(parts_of(entities), target / "training/parts.safetensors")
    return target


def parts_of(entities: np.ndarray) -> dict[str, np.ndarray]:
    """Return the trained parameters of a method with entities."""
    projection = np.random.default_rng(1).normal(size=(DIMENSION, ENTITY_DIMENSION)).astype(np.float32)
    return {
        "method.table.weight": entities.astype(np.float32),
        "method.projection.weight": projection,
        "vocabulary_rows": np.arange(len(entities)),
    }


def _write(table: Path, file: str, columns: Mapping[str, Sequence[Any]], version: str = VERSION) -> None:
    target = table / version / table.name / file if file else table / version / table.name
    target.parent.mkdir(parents=True)
    pd.DataFrame(columns).to_parquet(target)
