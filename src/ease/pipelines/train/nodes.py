"""Nodes of `train`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ease.encoders.model_card import model_card
from ease.encoders.options import EncodingOptions, WhiteningOptions
from ease.io.atomic import atomic_folder
from ease.io.lazy import ibis
from ease.io.names import UNTRAINED
from ease.pipelines.acquire.options import AcquireOptions
from ease.pipelines.encoder_defaults import EncoderDefaults
from ease.pipelines.mlflow_runs import TrackingOptions, flatten_options, log_values, training_run
from ease.pipelines.origins import write_origin
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import Setting
from ease.pipelines.training_inputs import chosen_start, required_pairs, write_encoder
from ease.pipelines.training_jobs import TrainingData, describe_data, history_rows, train_tracked
from ease.pipelines.training_texts import TextOptions, gather_data
from ease.pipelines.work import lock_for_run, scratch_for_run

WHITENING = "whitening"
"""Name, among the methods, of the encoder that is fitted without gradient steps."""


def build_encoder(sentences: ibis.Table, setting: Setting, work: str) -> Path:
    """Build or load the encoder that every method of the setting starts from."""
    folder = scratch_for_run(work, f"{setting.name}.{UNTRAINED}") / "encoder"
    write_encoder(sentences, setting, folder)
    return folder


def gather_texts(
    training_pairs: ibis.Table | None,
    acquire: AcquireOptions,
    texts: TextOptions,
    recipe: Recipe,
    setting: Setting,
    work: str,
) -> tuple[list[Path], list[dict[str, Any]]]:
    """Gather the texts that a recipe's `data` names, and report how many rows each source gave."""
    folder = scratch_for_run(work, f"{setting.name}.{recipe.method}.texts") / "texts"
    file, report = gather_data(recipe, recipe.seed, training_pairs, acquire, texts, folder)
    return [file], report


def train_encoder(
    untrained: Path | None,
    rows: ibis.Table | None,
    evaluation_data: dict[str, Any],
    dumps: dict[str, Any],
    recipe: Recipe,
    setting: Setting,
    encoders: EncoderDefaults,
    tasks: dict[str, dict[str, Any]],
    work: str,
    tracking: TrackingOptions,
    vocabulary: ibis.Table | None = None,
    entity_embeddings: Path | None = None,
    mlm: Path | None = None,
) -> tuple[Path, list[dict[str, Any]]]:
    """Train with one method in a nested MLflow run; resume an interrupted training from its checkpoint.

    Args:
        rows: The setting's pairs of sentences and entities, or gathered texts.
        vocabulary: For methods that read entities, as `entity_embeddings`.

    Returns:
        The folder of the best model, in the work folder; rows of step, name and value.

    Raises:
        EaseError: If there is no encoder to start from, or no pair.
    """
    start = chosen_start(setting, recipe.method, untrained, mlm)
    data = TrainingData(
        start,
        required_pairs(rows, setting),
        vocabulary,
        entity_embeddings,
        evaluation_data,
        dumps,
        tasks,
        setting,
    )
    name = f"{setting.name}.{recipe.method}"
    complete = recipe.complete(setting.encoder.name, encoders)
    result = train_tracked(name, data, complete, lock_for_run(Path(work) / name), tracking)
    return result.model, history_rows(result)


def whiten_encoder(
    untrained: Path | None,
    training_pairs: ibis.Table | None,
    dumps: dict[str, Any],
    options: WhiteningOptions,
    setting: Setting,
    encoding: EncodingOptions,
    work: str,
    mlm: Path | None = None,
) -> Path:
    """Append a map to the start encoder that whitens the training sentences, in a nested MLflow run.

    Raises:
        EaseError: If there is no encoder to start from, no pair, or the sentences do not vary enough.
    """
    from ease.encoders.encoder import load_encoder, save_encoder
    from ease.encoders.encoding import place
    from ease.encoders.whitening import SUMMARY
    from ease.encoders.whitening import whiten_encoder as whiten
    from ease.entities.links import distinct_sentences

    sentences = distinct_sentences(required_pairs(training_pairs, setting), options.rows, options.seed)
    given = chosen_start(setting, WHITENING, untrained, mlm)
    encoder = place(load_encoder(str(given), options.pooling, setting.encoder.seed))
    start = setting.encoder.model_copy(update={"pooling": options.pooling or setting.encoder.pooling})
    name = f"{setting.name}.{WHITENING}"
    parameters = {**flatten_options(options), **flatten_options(setting, "setting"), "method": WHITENING}
    with training_run(name, parameters) as run_id:
        whitening = whiten(encoder, sentences, options.dimension, encoding.batch_size)
        found = {"sentences": whitening.moments.count, "dimensions": whitening.weight.shape[1]}
        log_values(run_id, [(0, found)])
    card = model_card(
        describe_data(WHITENING, None, dumps, setting),
        method=WHITENING,
        summary=SUMMARY,
        parameters={**options.model_dump(), "pooling": start.pooling},
        embedding=f"{found['dimensions']} dimensions, fitted on {found['sentences']} sentences.",
    )
    made = scratch_for_run(work, name) / "encoder"
    with atomic_folder(made) as folder:
        save_encoder(encoder, folder, card)
        write_origin(folder, run_id, start)
    return made
