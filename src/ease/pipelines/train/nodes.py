"""Train an encoder with one method, or fit a whitening: starting encoder, texts, and a nested MLflow run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ease.encoders.defaults import EncoderDefaults
from ease.encoders.model_card import model_card
from ease.encoders.options import EncodingOptions, WhiteningOptions
from ease.evaluation.tasks import TaskParameters
from ease.io.atomic import atomic_folder
from ease.lazy import Table
from ease.options import Rows
from ease.pipelines.options import AcquireOptions, TextOptions
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import WHITENING, Setting
from ease.pipelines.tracked_training import (
    TrainingData,
    choose_start,
    describe_data,
    gather_data,
    history_rows,
    require_pairs,
    train_tracked,
)
from ease.pipelines.tracking import (
    TrackingOptions,
    flatten_options,
    log_values,
    training_run,
    write_origin,
)
from ease.pipelines.work import lock_for_run, scratch_for_run


def gather_method_texts(
    training_pairs: Table | None,
    acquire: AcquireOptions,
    texts: TextOptions,
    recipe: Recipe,
    setting: Setting,
    encoders: EncoderDefaults,
    work: str,
) -> tuple[list[Path], Rows]:
    """Gather the texts that a recipe's `data` names, and report how many rows each source gave."""
    folder = scratch_for_run(work, f"{setting.name}.{recipe.method}.texts") / "texts"
    seed = recipe.seed(setting.encoder.name, encoders)
    file, report = gather_data(recipe, seed, training_pairs, acquire, texts, folder)
    return [file], report


def train_encoder(
    recipe: Recipe,
    setting: Setting,
    encoders: EncoderDefaults,
    encoding: EncodingOptions,
    tracking: TrackingOptions,
    work: str,
    tasks: TaskParameters,
    evaluation_data: dict[str, Any],
    dumps: dict[str, Any],
    starting_encoder: Path | None,
    rows: Table | None,
    vocabulary: Table | None = None,
    entity_embeddings: Path | None = None,
    mlm: Path | None = None,
    retention: dict[str, dict[str, Any]] | None = None,
) -> tuple[Path, Rows]:
    """Train with one method as `train_tracked` does.

    Args:
        rows: The setting's pairs of sentences and entities, or the texts of a method that reads no entities.
        vocabulary: Only for methods that read entities, like `entity_embeddings`.
        retention: Tasks of what the starting encoder knows, by name with their options, for `training.min_kept`.

    Returns:
        The folder of the best model, in the work folder; rows of step, name and value.
    """
    inputs = TrainingData(
        encoder=choose_start(setting, recipe.method, starting_encoder, mlm),
        rows=require_pairs(rows, setting),
        evaluation_data=evaluation_data,
        dumps=dumps,
        tasks=tasks,
        setting=setting,
        vocabulary=vocabulary,
        entity_embeddings=entity_embeddings,
        retention=retention or {},
    )
    name = f"{setting.name}.{recipe.method}"
    complete = recipe.complete(setting.encoder.name, encoders).with_cache(encoding.cache)
    result = train_tracked(name, inputs, complete, lock_for_run(Path(work) / name), tracking)
    return result.model, history_rows(result)


def train_whitening(
    starting_encoder: Path | None,
    training_pairs: Table | None,
    dumps: dict[str, Any],
    options: WhiteningOptions,
    setting: Setting,
    encoding: EncodingOptions,
    work: str,
    mlm: Path | None = None,
) -> Path:
    """Append a linear map to the starting encoder that whitens its embeddings of training sentences."""
    from ease.encoders.encoder import load_encoder, save_encoder
    from ease.encoders.encoding import move_to_device
    from ease.encoders.whitening import SUMMARY, whiten_encoder
    from ease.entities.pairs import sample_sentences

    sentences = sample_sentences(require_pairs(training_pairs, setting), options.rows, options.seed)
    start_folder = choose_start(setting, WHITENING, starting_encoder, mlm)
    encoder = move_to_device(load_encoder(str(start_folder), options.pooling, setting.encoder.seed))
    start = setting.encoder.model_copy(update={"pooling": options.pooling or setting.encoder.pooling})
    name = f"{setting.name}.{WHITENING}"
    parameters = {**flatten_options(options), **flatten_options(setting, "setting"), "method": WHITENING}
    with training_run(name, parameters) as run_id:
        whitening = whiten_encoder(encoder, sentences, options.dimension, encoding.batch_size)
        sizes = {"sentences": whitening.moments.count, "dimensions": whitening.weight.shape[1]}
        log_values(run_id, [(0, sizes)])
    card = model_card(
        describe_data(WHITENING, None, dumps, setting),
        method=WHITENING,
        summary=SUMMARY,
        parameters={**options.model_dump(), "pooling": start.pooling},
        embedding=f"{sizes['dimensions']} dimensions, fitted on {sizes['sentences']} sentences.",
    )
    encoder_folder = scratch_for_run(work, name) / "encoder"
    with atomic_folder(encoder_folder) as folder:
        save_encoder(encoder, folder, card)
        write_origin(folder, run_id, start, parameters=parameters)
    return encoder_folder
