"""Train with a recipe on tables of the catalog: starts, texts, and the training in a nested MLflow run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from pydantic import Field

from ease.encoders.check import base_model_of, start_of
from ease.encoders.model_card import (
    SAMPLE_LICENCE,
    WIKIDATA_LICENCE,
    WIKIPEDIA_LICENCE,
    DataSource,
    ModelCardData,
)
from ease.entities.hashing import draw
from ease.errors import EaseError
from ease.evaluation.scoring import chosen_tasks
from ease.evaluation.sets import at_paths, read_located, require_sets
from ease.io.addresses import is_remote
from ease.io.files import hash_contents, report_write_errors
from ease.io.lazy import ibis
from ease.io.locks import FolderLock
from ease.io.models import StrictModel
from ease.io.names import PREPARATION
from ease.io.parquet import files_of, read_parquet, write_parquet
from ease.pipelines.acquire.nodes import released_files, sample_file
from ease.pipelines.acquire.options import SAMPLE, AcquireOptions
from ease.pipelines.mlflow_runs import (
    RunReport,
    TrackingOptions,
    flatten_options,
    log_model,
    log_plot,
    note_result,
    training_run,
    write_origin,
)
from ease.pipelines.recipe import CompleteRecipe, Recipe
from ease.pipelines.setting import EASE_PLUS, MLM, Setting
from ease.reporting.plots import plot_curves
from ease.texts import gather_texts, source_options
from ease.texts.components.sources import SourceOptions, open_workspace
from ease.training.options import TrainingJob, TrainingResult

Rows = list[dict[str, Any]]

TEXT_LICENCE = "as its publisher says"

SAMPLE_TEXTS = ("nli", "parallel_train")
"""The sample's own training texts, addressed as `sample:NAME`."""


class TextOptions(StrictModel):
    """Limits of gathering training texts."""

    memory_limit: str = Field("4GB", description="of DuckDB, which spills to disk beyond it")


class TrainingData(NamedTuple):
    """The inputs of a training."""

    encoder: str | Path
    """The encoder to train: a folder or a hub name"""
    rows: ibis.Table
    """Pairs of sentences and entities, or training texts, with a `pair_id`"""
    evaluation_data: Mapping[str, Any]
    dumps: Mapping[str, Any]
    tasks: Mapping[str, Mapping[str, Any]]
    setting: Setting
    vocabulary: ibis.Table | None = None
    """For methods that read entities, as the embeddings"""
    entity_embeddings: Path | None = None


def required_pairs(training_pairs: ibis.Table | None, setting: Setting) -> ibis.Table:
    """Return the setting's training pairs."""
    if training_pairs is None:
        raise EaseError(
            f"There are no training pairs: make them by `kedro run --pipelines=train_{setting.name} "
            f"--tags={PREPARATION}`."
        )
    return training_pairs


def chosen_start(setting: Setting, method: str, untrained: Path | None, mlm: Path | None) -> Path:
    """Return the encoder that a method of the setting starts from; MLM itself always starts untrained."""
    start = mlm if setting.start == MLM and method != MLM else untrained
    if start is None:
        raise EaseError(missing_start(setting, method))
    return start


def missing_start(setting: Setting, method: str) -> str:
    """Return the message that there is no encoder to start from, with the commands that make it."""
    prepare = f"`kedro run --pipelines=train_{setting.name} --tags={PREPARATION}`"
    if setting.start != MLM or method == MLM:
        return f"There is no encoder to train: make it by {prepare}."
    return (
        f"`{setting.name}.setting.start` is {MLM}, but this run has no encoder of that method: make the data by "
        f"{prepare}, then train it and the methods by `kedro run --pipelines=train,evaluate --namespaces="
        f"{setting.name}.{MLM},{setting.name}.METHOD --params {setting.name}.setting.start={MLM}`."
    )


def missing_encoder(setting: str, purpose: str, option: str) -> str:
    """Return the message that a setting has no encoder of EASE+ for a purpose, with the commands that train it."""
    return (
        f"There is no encoder of `{EASE_PLUS}` {purpose}: make the data by `kedro run --pipelines=train_{setting} "
        f"--tags={PREPARATION}`, then train it by `kedro run --pipelines=train --namespaces={setting}.{EASE_PLUS}`, or "
        f"name another encoder as `{option}`."
    )


def write_encoder(sentences: ibis.Table, setting: Setting, folder: Path) -> None:
    """Build or load a setting's encoder and save it in a folder."""
    from ease.encoders.encoder import build_encoder, save_encoder

    save_encoder(build_encoder(setting.encoder, drawn_sentences(sentences, setting)), folder)
    write_origin(folder, None, setting.encoder)


def drawn_sentences(sentences: ibis.Table, setting: Setting) -> Iterator[str]:
    """Yield sentences of all languages in a seeded random order; nothing is read before the first."""
    ticket = draw(setting.encoder.seed, sentences.page_id, sentences.sentence_index)
    keys = [ticket, sentences.language, sentences.page_id, sentences.sentence_index]
    drawn = sentences.order_by(keys).limit(setting.encoder.random.tokenizer_sentences).select("text")
    for batch in drawn.to_pyarrow_batches():
        yield from batch.column("text").to_pylist()


def gather_data(
    recipe: Recipe | CompleteRecipe,
    seed: int,
    training_pairs: ibis.Table | None,
    acquire: AcquireOptions,
    options: TextOptions,
    folder: Path,
) -> tuple[Path, Rows]:
    """Gather the texts that a recipe's `data` names, with a separate DuckDB, whichever engine computes the tables.

    Args:
        recipe: Names the sources and the number of rows.
        seed: Chooses rows, languages and pairs.
        training_pairs: The setting's pairs, for sources of the kind `pairs`; None if there are none.
        acquire: Locates the sample, for addresses such as `sample:nli`.
        options: Limits.
        folder: Emptied first; receives the file.

    Returns:
        A Parquet file with pair_id, sentence, positive and negative; for each source, how many rows were read, skipped
        and used.
    """
    sources = []
    for source in recipe.data or ():
        address = str(source.get("path", ""))
        if address.startswith(SAMPLE):
            source = {**source, "path": sample_file(address, SAMPLE_TEXTS, "training texts", acquire)}
        sources.append(source_options(source))
    file = folder / "texts.parquet"
    with report_write_errors(folder):
        shutil.rmtree(folder, ignore_errors=True)
        workspace = open_workspace(folder / "sources", options.memory_limit, pairs=training_pairs)
        gathered = gather_texts(sources, workspace, seed, recipe.rows)
        write_parquet(gathered.table, file)
        workspace.connection.disconnect()
        shutil.rmtree(workspace.folder)
    for line, read in zip(gathered.report, sources, strict=True):
        line["sha256"] = [hash_contents(place) for place in read.places if place.exists()]
    return file, gathered.report


def open_gathered(file: Path, options: TextOptions) -> ibis.Table:
    """Return the rows of a file that `gather_data` wrote, with a DuckDB of their own."""
    return read_parquet(open_workspace(file.parent, options.memory_limit).connection, [file])


def train_tracked(
    name: str,
    data: TrainingData,
    recipe: CompleteRecipe,
    lock: FolderLock,
    tracking: TrackingOptions | None = None,
) -> TrainingResult:
    """Train in a nested MLflow run; resume an interrupted training from its checkpoint, and skip a finished one."""
    from ease.training.job import run_job

    job = write_job(lock.folder, data, recipe)
    parameters = {**flatten_options(recipe), **flatten_options(data.setting, "setting")}
    with training_run(name, parameters) as run_id:
        report = RunReport(run_id)
        result = run_job(job, report, lock)
        report.complete(result.history)
        card = describe_data(recipe.method, recipe.data, data.dumps, data.setting)
        note_result(run_id, card, recipe.method, result)
        log_plot(plot_curves(pd.DataFrame(history_rows(result)).assign(method=recipe.method)), "curves")
        if tracking is not None:
            log_model(result.model, name, tracking)
    write_origin(result.model, run_id, data.setting.encoder, recipe.training.matryoshka, result.seconds)
    return result


def write_job(folder: Path, data: TrainingData, recipe: CompleteRecipe) -> TrainingJob:
    """Describe a training by files that each of its processes can read."""
    located = read_located(data.evaluation_data)
    require_sets(data.setting.dev_tasks, located, data.tasks)
    vocabulary = folder / "entity_vocabulary.parquet"
    return TrainingJob(
        folder=folder,
        pairs=ordered_file(data.rows, "pair_id", folder / "training_pairs.parquet"),
        vocabulary=None if data.vocabulary is None else ordered_file(data.vocabulary, "row", vocabulary),
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


def history_rows(result: TrainingResult) -> Rows:
    """Return the reported values as rows of step, name and value."""
    return [
        {"step": int(values["step"]), "name": name, "value": value}
        for values in result.history
        for name, value in values.items()
        if name != "step"
    ]
