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
from ease.pipelines.acquire.nodes import AcquireOptions
from ease.pipelines.gathering import TextOptions, gather_data
from ease.pipelines.mlflow_runs import remember_run
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import MLM, Setting
from ease.pipelines.training_jobs import TrainingData, history_rows, train_tracked


def build_encoder(sentences: ibis.Table, setting: Setting, work: str) -> Path:
    """Make or load the encoder that every method of the setting starts from."""
    folder = Path(work) / f"{setting.name}.untrained"
    shutil.rmtree(folder, ignore_errors=True)
    save_encoder(build(setting.encoder, drawn_sentences(sentences, setting)), folder)
    remember_run(folder, None, setting.encoder)
    return folder


def drawn_sentences(sentences: ibis.Table, setting: Setting) -> Iterator[str]:
    """Yield sentences of all languages in a random order that the seed sets; nothing is read before the first."""
    ticket = draw(setting.encoder.seed, sentences.page_id, sentences.sentence_index)
    keys = [ticket, sentences.language, sentences.page_id, sentences.sentence_index]
    drawn = sentences.order_by(keys).limit(setting.encoder.random.tokenizer_sentences).select("text")
    for batch in drawn.to_pyarrow_batches():
        yield from batch.column("text").to_pylist()


def gather_texts(
    training_pairs: ibis.Table | None,
    acquire: AcquireOptions,
    texts: TextOptions,
    recipe: Recipe,
    setting: Setting,
    work: str,
) -> tuple[list[Path], list[dict[str, Any]]]:
    """Gather the texts that a recipe's `data` names, and report what was taken of each source."""
    folder = Path(work) / f"{setting.name}.{recipe.method}.texts"
    file, report = gather_data(recipe, training_pairs, acquire, texts, folder)
    return [file], report


Trained = tuple[Path, list[dict[str, Any]]]
"""The folder of the best model, inside the work folder until it is kept; rows of step, name and value."""


def train_on_entities(
    untrained: Path | None,
    training_pairs: ibis.Table | None,
    vocabulary: ibis.Table,
    entity_embeddings: Path,
    evaluation_data: dict[str, Any],
    dumps: dict[str, Any],
    recipe: Recipe,
    setting: Setting,
    tasks: dict[str, dict[str, Any]],
    work: str,
    mlm: Path | None = None,
) -> Trained:
    """Train by a method that reads the setting's pairs of sentences and entities.

    Raises:
        EaseError: If there is no encoder to start from, or no pair.
    """
    if training_pairs is None:
        raise EaseError(
            f"There are no training pairs: make them by `kedro run --pipeline=train_{setting.name} "
            "--tags=acquire,ingest,entity_pairs,hard_negatives`."
        )
    start = chosen_start(setting, recipe, untrained, mlm)
    data = TrainingData(
        start, training_pairs, vocabulary, entity_embeddings, evaluation_data, dumps, tasks, setting
    )
    return _train(data, recipe, Path(work))


def train_on_texts(
    untrained: Path | None,
    texts: ibis.Table,
    evaluation_data: dict[str, Any],
    dumps: dict[str, Any],
    recipe: Recipe,
    setting: Setting,
    tasks: dict[str, dict[str, Any]],
    work: str,
    mlm: Path | None = None,
) -> Trained:
    """Train by a method that reads gathered texts.

    Raises:
        EaseError: If there is no encoder to start from.
    """
    start = chosen_start(setting, recipe, untrained, mlm)
    return _train(
        TrainingData(start, texts, None, None, evaluation_data, dumps, tasks, setting), recipe, Path(work)
    )


def _train(data: TrainingData, recipe: Recipe, work: Path) -> Trained:
    """Train in a nested MLflow run, going on from a broken run's checkpoint."""
    name = f"{data.setting.name}.{recipe.method}"
    result = train_tracked(name, data, recipe, work / name)
    return result.model, history_rows(result)


def chosen_start(setting: Setting, recipe: Recipe, untrained: Path | None, mlm: Path | None) -> Path:
    """Return the encoder that the setting lets a method start from; MLM itself always starts untrained.

    Raises:
        EaseError: If there is none yet, with the command that makes it.
    """
    if setting.start == MLM and recipe.method != MLM:
        if mlm is None:
            raise EaseError(
                f"`{setting.name}.setting.start` is {MLM}, but that encoder is not trained yet: train it by `kedro run "
                f"--pipeline=train --namespaces={setting.name}.{MLM}`."
            )
        return mlm
    if untrained is None:
        raise EaseError(
            "There is no encoder to train: make it by `kedro run "
            f"--pipeline=train_{setting.name} --tags=entity_embeddings`."
        )
    return untrained
