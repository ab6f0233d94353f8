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
from ease.pipelines.mlflow_runs import (
    TrackingOptions,
    flatten_options,
    log_values,
    training_run,
    write_origin,
)
from ease.pipelines.recipe import EncoderDefaults, Recipe
from ease.pipelines.setting import Setting
from ease.pipelines.training import (
    Rows,
    TextOptions,
    TrainingData,
    chosen_start,
    describe_data,
    gather_data,
    history_rows,
    required_pairs,
    train_tracked,
    write_encoder,
)
from ease.pipelines.work import lock_for_run, scratch_for_run

WHITENING = "whitening"
"""Name, among the methods, of the encoder that is fitted without gradient steps."""


def make_start_encoder(sentences: ibis.Table, setting: Setting, work: str) -> Path:
    """Build or load the encoder that every method of the setting starts from."""
    folder = scratch_for_run(work, f"{setting.name}.{UNTRAINED}") / "encoder"
    write_encoder(sentences, setting, folder)
    return folder


def gather_method_texts(
    training_pairs: ibis.Table | None,
    acquire: AcquireOptions,
    texts: TextOptions,
    recipe: Recipe,
    setting: Setting,
    work: str,
) -> tuple[list[Path], Rows]:
    """Gather the texts that a recipe's `data` names, and report how many rows each source gave."""
    folder = scratch_for_run(work, f"{setting.name}.{recipe.method}.texts") / "texts"
    file, report = gather_data(recipe, recipe.seed, training_pairs, acquire, texts, folder)
    return [file], report


def train_encoder(
    recipe: Recipe,
    setting: Setting,
    encoders: EncoderDefaults,
    tracking: TrackingOptions,
    work: str,
    untrained: Path | None,
    rows: ibis.Table | None,
    mlm: Path | None = None,
    **data: Any,
) -> tuple[Path, Rows]:
    """Train with one method in a nested MLflow run; resume an interrupted training from its checkpoint.

    Args:
        recipe: The method and its parameters.
        setting: Names the encoder and the development tasks.
        encoders: Defaults by encoder.
        tracking: What MLflow keeps.
        work: Folder of work folders.
        untrained: The start, unless the setting starts from `mlm`.
        rows: The setting's pairs of sentences and entities, or gathered texts.
        mlm: The encoder that `mlm` trained.
        data: The other fields of `TrainingData`.

    Returns:
        The folder of the best model, in the work folder; rows of step, name and value.
    """
    start = chosen_start(setting, recipe.method, untrained, mlm)
    given = TrainingData(encoder=start, rows=required_pairs(rows, setting), setting=setting, **data)
    name = f"{setting.name}.{recipe.method}"
    complete = recipe.complete(setting.encoder.name, encoders)
    result = train_tracked(name, given, complete, lock_for_run(Path(work) / name), tracking)
    return result.model, history_rows(result)


def fit_whitening(
    untrained: Path | None,
    training_pairs: ibis.Table | None,
    dumps: dict[str, Any],
    options: WhiteningOptions,
    setting: Setting,
    encoding: EncodingOptions,
    work: str,
    mlm: Path | None = None,
) -> Path:
    """Append a map to the start encoder that whitens the training sentences, in a nested MLflow run."""
    from ease.encoders.encoder import load_encoder, save_encoder
    from ease.encoders.encoding import place
    from ease.encoders.whitening import SUMMARY, whiten_encoder
    from ease.entities.links import distinct_sentences

    sentences = distinct_sentences(required_pairs(training_pairs, setting), options.rows, options.seed)
    given = chosen_start(setting, WHITENING, untrained, mlm)
    encoder = place(load_encoder(str(given), options.pooling, setting.encoder.seed))
    start = setting.encoder.model_copy(update={"pooling": options.pooling or setting.encoder.pooling})
    name = f"{setting.name}.{WHITENING}"
    parameters = {**flatten_options(options), **flatten_options(setting, "setting"), "method": WHITENING}
    with training_run(name, parameters) as run_id:
        whitening = whiten_encoder(encoder, sentences, options.dimension, encoding.batch_size)
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
