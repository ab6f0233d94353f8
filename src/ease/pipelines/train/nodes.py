"""Nodes of `train`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ibis

from ease.encoder import build_encoder as build
from ease.encoder import save_encoder
from ease.entities.hashing import draw
from ease.errors import EaseError
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import Setting
from ease.pipelines.training_jobs import TrainingData, history_rows, train_tracked


def build_encoder(sentences: ibis.Table, setting: Setting, work: str) -> Path:
    """Make or load the encoder that every method of the setting starts from."""
    folder = Path(work) / f"{setting.name}.untrained"
    shutil.rmtree(folder, ignore_errors=True)
    save_encoder(build(setting.encoder, drawn_sentences(sentences, setting)), folder)
    return folder


def drawn_sentences(sentences: ibis.Table, setting: Setting) -> Iterator[str]:
    """Yield sentences of all languages in a random order that the seed sets; nothing is read before the first."""
    ticket = draw(setting.encoder.seed, sentences.page_id, sentences.sentence_index)
    keys = [ticket, sentences.language, sentences.page_id, sentences.sentence_index]
    drawn = sentences.order_by(keys).limit(setting.encoder.random.tokenizer_sentences).select("text")
    for batch in drawn.to_pyarrow_batches():
        yield from batch.column("text").to_pylist()


def train_encoder(
    encoder: Path | None,
    training_pairs: ibis.Table,
    vocabulary: ibis.Table,
    entity_embeddings: Path,
    evaluation_data: dict[str, Any],
    dumps: dict[str, Any],
    recipe: Recipe,
    setting: Setting,
    tasks: dict[str, dict[str, Any]],
    work: str,
) -> tuple[Path, list[dict[str, Any]]]:
    """Train by the recipe's method in a nested MLflow run, going on from a broken run's checkpoint.

    Returns:
        The folder of the best model, inside the work folder until it is kept; rows of step, name and value.

    Raises:
        EaseError: If there is no encoder to start from.
    """
    if encoder is None:
        raise EaseError(
            "There is no encoder to train: make it by `kedro run "
            f"--pipeline=train_{setting.name} --tags=entity_embeddings`."
        )
    data = TrainingData(
        encoder, training_pairs, vocabulary, entity_embeddings, evaluation_data, dumps, tasks, setting
    )
    name = f"{setting.name}.{recipe.method}"
    result = train_tracked(name, data, recipe, Path(work) / name)
    return result.model, history_rows(result)
