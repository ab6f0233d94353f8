"""Train with a recipe on tables of the catalog, in a nested MLflow run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from ease.encoders.check import base_model_of, start_of
from ease.encoders.model_card import (
    SAMPLE_LICENCE,
    WIKIDATA_LICENCE,
    WIKIPEDIA_LICENCE,
    DataSource,
    ModelCardData,
)
from ease.evaluation.scoring import chosen_tasks
from ease.evaluation.sets import at_paths, read_located, require_sets
from ease.io.addresses import is_remote
from ease.io.lazy import ibis
from ease.io.locks import FolderLock
from ease.io.parquet import files_of, write_parquet
from ease.pipelines.acquire.located import released_files
from ease.pipelines.acquire.options import SAMPLE
from ease.pipelines.mlflow_runs import (
    RunReport,
    TrackingOptions,
    flatten_options,
    log_model,
    log_plot,
    note_gain,
    training_run,
)
from ease.pipelines.origins import write_origin
from ease.pipelines.recipe import CompleteRecipe
from ease.pipelines.setting import Setting
from ease.reporting.plots import plot_curves
from ease.texts import source_options
from ease.texts.components.mixture import SourceOptions
from ease.training.options import TrainingJob, TrainingResult

TEXT_LICENCE = "as its publisher says"


class TrainingData(NamedTuple):
    """The inputs of a training."""

    encoder: str | Path
    """The encoder to train, or the teacher of a student: a folder or a hub name"""
    rows: ibis.Table
    """Pairs of sentences and entities, or training texts, with a `pair_id`"""
    vocabulary: ibis.Table | None
    """For methods that read entities"""
    entity_embeddings: Path | None
    evaluation_data: Mapping[str, Any]
    dumps: Mapping[str, Any]
    tasks: Mapping[str, Mapping[str, Any]]
    setting: Setting


def train_tracked(
    name: str,
    data: TrainingData,
    recipe: CompleteRecipe,
    lock: FolderLock,
    tracking: TrackingOptions | None = None,
) -> TrainingResult:
    """Train in a nested MLflow run; resume an interrupted training from its checkpoint, and skip a finished one.

    Args:
        name: Name of the MLflow run.
        data: Tables, encoder and evaluation sets.
        recipe: Method, its parameters and the loop's.
        lock: Lock on the work folder, which receives the model.
        tracking: What MLflow keeps of the model; None keeps nothing.
    """
    from ease.training.job import run_job

    job = write_job(lock.folder, data, recipe)
    parameters = {**flatten_options(recipe), **flatten_options(data.setting, "setting")}
    with training_run(name, parameters) as run_id:
        report = RunReport(run_id)
        result = run_job(job, report, lock)
        report.complete(result.history)
        note_gain(run_id, result)
        curves = pd.DataFrame(history_rows(result)).assign(method=recipe.method)
        log_plot(plot_curves(curves), "curves")
        if tracking is not None:
            log_model(result.model, name, tracking)
    write_origin(result.model, run_id, data.setting.encoder, recipe.training.matryoshka)
    return result


def write_job(folder: Path, data: TrainingData, recipe: CompleteRecipe) -> TrainingJob:
    """Describe a training by files that each of its processes can read."""
    located = read_located(data.evaluation_data)
    require_sets(data.setting.dev_tasks, located, data.tasks)
    vocabulary = data.vocabulary
    return TrainingJob(
        folder=folder,
        pairs=ordered_file(data.rows, "pair_id", folder / "training_pairs.parquet"),
        vocabulary=vocabulary
        if vocabulary is None
        else ordered_file(vocabulary, "row", folder / "entity_vocabulary.parquet"),
        table=data.entity_embeddings,
        encoder=str(data.encoder),
        pooling=data.setting.encoder.pooling,
        method=recipe.method,
        method_options=recipe.options,
        training=recipe.training,
        development=chosen_tasks(data.setting.dev_tasks, at_paths(data.tasks, located)),
        card=describe_data(recipe.method, recipe.data, data.dumps, data.setting),
    )


def ordered_file(table: ibis.Table, key: str, copy: Path) -> Path:
    """Return a Parquet file on this machine that holds a table's rows in the order of a column of unique integers.

    The file is the catalog's own if the table was read from one such file, else a copy at `copy`. A training identifies
    its data by the file's contents, so the order must not depend on the engine.
    """
    match files_of(table):
        case [file] if not is_remote(file) and file.is_file() and _in_order(file, key):
            return file.absolute()
    write_parquet(table.order_by(key), copy)
    return copy


def _in_order(file: Path, key: str) -> bool:
    last = -1
    for batch in pq.ParquetFile(file).iter_batches(columns=[key]):
        keys = np.concatenate([[last], batch.column(0).to_numpy()])
        if (np.diff(keys) <= 0).any():
            return False
        last = keys[-1]
    return True


def describe_data(
    method: str, texts: Sequence[Mapping[str, Any]] | None, dumps: Mapping[str, Any], setting: Setting
) -> ModelCardData:
    """Return the model card's description of the training data; without `texts`, these are the pairs of the dumps."""
    options = [source_options(text) for text in texts or ({"kind": "pairs"},)]
    sources = [source for text in options for source in _sources(text, dumps)]
    licences = {source.licence for source in sources}
    if licences == {SAMPLE_LICENCE}:
        licence = "apache-2.0"
    else:
        licence = "other" if TEXT_LICENCE in licences else "cc-by-sa-4.0"
    return ModelCardData(
        name=f"{method} ({setting.name})",
        languages=setting.languages,
        sources=tuple(sources),
        licence=licence,
        base_model=base_model_of(setting.encoder.name),
        start=start_of(setting.encoder.name),
    )


def _sources(text: SourceOptions, dumps: Mapping[str, Any]) -> list[DataSource]:
    """Return the data behind one source of training texts."""
    if text.reads_pairs:
        return _dump_sources(dumps)
    made_here = all(str(place).startswith(SAMPLE) for place in text.places)
    places = [str(place) if made_here else place.name for place in text.places]
    name = ": ".join(filter(None, (text.title, " and ".join(places))))
    return [DataSource(name=name, licence=SAMPLE_LICENCE if made_here else TEXT_LICENCE)]


def _dump_sources(dumps: Mapping[str, Any]) -> list[DataSource]:
    if released := released_files(dumps):
        names = " and ".join(file.name for file in released)
        return [DataSource(name=f"Released training pairs: {names}", licence=TEXT_LICENCE)]
    made_here = dumps["source"] == SAMPLE
    wiki, licence = ("Sample wiki", SAMPLE_LICENCE) if made_here else ("Wikipedia", WIKIPEDIA_LICENCE)
    sources = [
        DataSource(name=f"{wiki} ({dump['language']})", date=dump["dump_date"], licence=licence)
        for dump in dumps["wikipedia"]
    ]
    if dumps["wikidata"]:
        made = dumps["wikidata_source"] == SAMPLE
        name, licence = ("Sample Wikidata", SAMPLE_LICENCE) if made else ("Wikidata", WIKIDATA_LICENCE)
        sources.append(DataSource(name=name, date=dumps["wikidata_date"], licence=licence))
    return sources


def history_rows(result: TrainingResult) -> list[dict[str, Any]]:
    """Return the reported values as rows of step, name and value."""
    return [
        {"step": int(values["step"]), "name": name, "value": value}
        for values in result.history
        for name, value in values.items()
        if name != "step"
    ]
