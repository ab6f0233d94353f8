"""A training run in a nested MLflow run: its starting encoder, its texts and its model card."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ease.encoders.check import base_model_of, start_of
from ease.encoders.model_card import (
    SAMPLE_LICENCE,
    WIKIDATA_LICENCE,
    WIKIPEDIA_LICENCE,
    DataSource,
    ModelCardData,
)
from ease.encoders.options import RANDOM
from ease.entities.hashing import draw
from ease.errors import EaseError
from ease.evaluation.scoring import DEVELOPMENT, KEPT_STEP, select_parameters
from ease.evaluation.sets import LocatedSets, located_parameters, read_located, require_sets
from ease.io.files import hash_contents, report_write_errors
from ease.io.locks import FolderLock
from ease.io.parquet import read_parquet, write_parquet
from ease.lazy import Table, pd
from ease.options import Rows
from ease.pipelines.located_dumps import released_files
from ease.pipelines.options import SAMPLE, AcquireOptions, TextOptions
from ease.pipelines.recipe import CompleteRecipe, Recipe
from ease.pipelines.setting import MLM, TEACH, Setting, preparation_of
from ease.pipelines.tracking import (
    RunReport,
    TrackingOptions,
    flatten_options,
    link_metrics,
    log_model,
    log_plot,
    note_result,
    training_run,
    write_origin,
)
from ease.reporting.plots import plot_curves
from ease.texts import gather_texts, source_options
from ease.texts.components.sources import Workspace
from ease.training.options import TrainingJob, TrainingResult
from ease.training.processes import step_and_values

TEXT_LICENCE = "as its publisher says"

SAMPLE_TEXTS = ("nli", "parallel_train")
"""The sample's own training texts, addressed as `sample:NAME`."""


class TrainingData(NamedTuple):
    """The inputs of a training run."""

    encoder: str | Path
    """The encoder to train: a folder or a hub name"""
    rows: Table
    """Pairs of sentences and entities, or training texts, with a `pair_id`"""
    evaluation_data: Mapping[str, Any]
    dumps: Mapping[str, Any]
    tasks: Mapping[str, Mapping[str, Any]]
    setting: Setting
    vocabulary: Table | None = None
    """None, like `entity_embeddings`, for methods that read texts"""
    entity_embeddings: Path | None = None
    retention: Mapping[str, Mapping[str, Any]] = {}
    """Tasks of what the encoder knows already"""


def require_pairs(training_pairs: Table | None, setting: Setting) -> Table:
    """Return the setting's training pairs."""
    if training_pairs is None:
        raise EaseError(f"There are no training pairs: make them by {preparation_of(setting.name)}.")
    return training_pairs


def choose_start(setting: Setting, method: str, starting_encoder: Path | None, mlm: Path | None) -> Path:
    """Return the encoder that a method starts from: the setting's, or the one that MLM has trained from it."""
    encoder = starting_encoder
    if setting.start == MLM and method != MLM:
        encoder = mlm
    if encoder is None:
        raise EaseError(missing_start(setting, method))
    return encoder


def missing_start(setting: Setting, method: str) -> str:
    """Return the message that there is no encoder to start from, with the commands that make it."""
    prepare = preparation_of(setting.name)
    if setting.start != MLM or method == MLM:
        return f"There is no encoder to train: make it by {prepare}."
    return (
        f"`{setting.name}.setting.start` is {MLM}, but this run has no encoder of that method: make the data by "
        f"{prepare}, then train it and the methods by `kedro run --pipelines=train,evaluate --namespaces="
        f"{setting.name}.{MLM},{setting.name}.METHOD --params {setting.name}.setting.start={MLM}`."
    )


def write_encoder(sentences: Table, setting: Setting, folder: Path) -> None:
    """Build or load a setting's encoder and save it in a folder."""
    from ease.encoders.encoder import build_encoder, save_encoder

    save_encoder(build_encoder(setting.encoder, drawn_sentences(sentences, setting)), folder)
    write_origin(folder, None, setting.encoder)


def drawn_sentences(sentences: Table, setting: Setting) -> Iterator[str]:
    """Yield at most `tokenizer_sentences` sentences of all languages, drawn by the encoder's seed."""
    ticket = draw(setting.encoder.seed, sentences.page_id, sentences.sentence_index)
    # Pages of different languages may share a number, and therefore a ticket.
    keys = [ticket, sentences.language, sentences.page_id, sentences.sentence_index]
    sample = sentences.order_by(keys).limit(setting.encoder.random.tokenizer_sentences).select("text")
    for batch in sample.to_pyarrow_batches():
        yield from batch.column("text").to_pylist()


def gather_data(
    recipe: Recipe | CompleteRecipe,
    seed: int,
    training_pairs: Table | None,
    acquire: AcquireOptions,
    options: TextOptions,
    folder: Path,
) -> tuple[Path, Rows]:
    """Empty `folder`, and write there the texts that a recipe's `data` lists; a DuckDB of its own reads them.

    Returns:
        A Parquet file with pair_id, sentence, positive and negative; for each source, how many rows were read, skipped
        and used.
    """
    sources = []
    for source in recipe.data or ():
        address = str(source.get("path", ""))
        if address.startswith(SAMPLE):
            source = {**source, "path": acquire.sample_file(address, SAMPLE_TEXTS, "training texts")}
        sources.append(source_options(source))
    file = folder / "texts.parquet"
    with report_write_errors(folder):
        # An interrupted run may have left parts of other sources.
        shutil.rmtree(folder, ignore_errors=True)
        workspace = Workspace(folder / "sources", options.memory_limit, pairs=training_pairs)
        texts, report = gather_texts(sources, workspace, seed, recipe.rows)
        write_parquet(texts, file)
        workspace.connection.disconnect()
        shutil.rmtree(workspace.folder)
    for line, options_of_source in zip(report, sources, strict=True):
        line["sha256"] = [hash_contents(place) for place in options_of_source.places if place.exists()]
    return file, report


def open_gathered(file: Path, options: TextOptions) -> Table:
    """Return the rows of a file that `gather_data` wrote, with a DuckDB of their own."""
    return read_parquet(Workspace(file.parent, options.memory_limit).connection, [file])


def train_tracked(
    name: str, data: TrainingData, recipe: CompleteRecipe, lock: FolderLock, tracking: TrackingOptions | None
) -> TrainingResult:
    """Train in a nested MLflow run; resume an interrupted training run from its checkpoint, and skip a finished one."""
    from ease.training.job import run_job

    setting = data.setting
    folder = lock.folder
    located = read_located(data.evaluation_data)
    # A set may be incomplete where it was located: scoring skips its task, but a checkpoint needs it.
    require_sets(setting.dev_tasks, located, data.tasks)
    card = describe_data(recipe.method, recipe.data, data.dumps, setting)
    # Tables are passed as files, so that each process of the training run can read them.
    pairs = _sorted_file(data.rows, "pair_id", folder / "training_pairs.parquet")
    vocabulary = None
    if data.vocabulary is not None:
        vocabulary = _sorted_file(data.vocabulary, "row", folder / "entity_vocabulary.parquet")
    job = TrainingJob(
        folder=folder,
        pairs=pairs,
        vocabulary=vocabulary,
        table=data.entity_embeddings,
        encoder=str(data.encoder),
        pooling=setting.encoder.pooling,
        method=recipe.method,
        method_options=recipe.options,
        training=recipe.training,
        development=select_parameters(setting.dev_tasks, located_parameters(data.tasks, located)),
        retention=dict(data.retention),
        card=card,
    )
    with training_run(name, {**flatten_options(recipe), **flatten_options(setting, "setting")}) as run_id:
        report = RunReport(run_id)
        result = run_job(job, report, lock)
        # An earlier session of this training run has logged its values to its own run.
        report.complete(result.history)
        note_result(run_id, card, recipe.method, result)
        log_plot(plot_curves(pd.DataFrame(history_rows(result)).assign(method=recipe.method)), "curves")
        # A sweep trains many models, and logs none.
        if tracking is not None:
            log_model(result.model, name, tracking)
        # Removing languages from the kept model has changed its scores.
        if not recipe.training.language_ranks:
            link_metrics(run_id, _development_data(result, located))
    parameters = {**flatten_options(recipe), **flatten_options(setting, "setting"), "steps": result.steps}
    # The place of a cache changes nothing.
    parameters = {name: value for name, value in parameters.items() if not name.endswith(".cache")}
    write_origin(result.model, run_id, setting.encoder, recipe.training.matryoshka, result.seconds, parameters)
    return result


def _development_data(result: TrainingResult, located: LocatedSets) -> dict[str, tuple[str, str]]:
    """Return the task of each development score of a training run, and the version of its data."""
    names = {name for line in result.history for name in line if name.startswith(f"{DEVELOPMENT}/")}
    data = {}
    for name in names:
        _, task, subset = name.split("/", 2)
        data[name] = (task, located[task].version(subset))
    return data


def _sorted_file(table: Table, key: str, file: Path) -> Path:
    """Write a table's rows in the order of a column of unique integers.

    A training run identifies its data by the file's contents, so the order must not depend on the engine.
    """
    write_parquet(table.order_by(key), file)
    return file


def describe_data(
    method: str, texts: Sequence[Mapping[str, Any]] | None, dumps: Mapping[str, Any], setting: Setting
) -> ModelCardData:
    """Return the model card's description of the training data; without `texts`, these are the pairs of the dumps."""
    sources = list[DataSource]()
    for text in map(source_options, texts or ({"kind": "pairs"},)):
        if text.reads_pairs:
            sources += _dump_sources(dumps)
        elif all(str(place).startswith(SAMPLE) for place in text.places):
            sources.append(_text_source(text.title, list(map(str, text.places)), SAMPLE_LICENCE))
        else:
            # The card is published: it names files without the folders of this machine.
            sources.append(_text_source(text.title, [place.name for place in text.places], TEXT_LICENCE))
    start = start_of(setting.encoder.name)
    taught_from_nothing = setting.name == TEACH and setting.encoder.name.startswith(RANDOM)
    if method != MLM and (taught_from_nothing or setting.start == MLM):
        start += ", trained by masked-language modelling first"
    return ModelCardData(
        name=f"{method} ({setting.title})",
        languages=setting.languages,
        sources=tuple(sources),
        licence=_model_licence({source.licence for source in sources}),
        base_model=base_model_of(setting.encoder.name),
        start=start,
    )


def _model_licence(text_licences: Collection[str]) -> str:
    """Return the licence of a model that is trained on texts of some licences, as the hub names it."""
    if set(text_licences) == {SAMPLE_LICENCE}:
        return "apache-2.0"
    if TEXT_LICENCE in text_licences:
        return "other"
    return "cc-by-sa-4.0"


def _text_source(title: str, places: Sequence[str], licence: str) -> DataSource:
    return DataSource(name=": ".join(filter(None, (title, " and ".join(places)))), licence=licence)


def _dump_sources(dumps: Mapping[str, Any]) -> list[DataSource]:
    """Return the dumps, or the released pairs, that the training pairs are made from."""
    files = released_files(dumps)
    if files:
        names = " and ".join(file.name for file in files)
        return [DataSource(name=f"Released training pairs: {names}", licence=TEXT_LICENCE)]
    if dumps["source"] == SAMPLE:
        wiki = "Sample wiki"
        licence = SAMPLE_LICENCE
    else:
        wiki = "Wikipedia"
        licence = WIKIPEDIA_LICENCE
    sources = [
        DataSource(name=f"{wiki} ({dump['language']})", date=dump["dump_date"], licence=licence)
        for dump in dumps["wikipedia"]
    ]
    if dumps["wikidata"] and dumps["wikidata_source"] == SAMPLE:
        sources.append(DataSource(name="Sample Wikidata", date=dumps["wikidata_date"], licence=SAMPLE_LICENCE))
    elif dumps["wikidata"]:
        sources.append(DataSource(name="Wikidata", date=dumps["wikidata_date"], licence=WIKIDATA_LICENCE))
    return sources


def history_rows(result: TrainingResult) -> Rows:
    """Return the reported values as rows of step, name and value, and in the last row which step is kept."""
    rows = [
        {"step": step, "name": name, "value": value}
        for step, values in map(step_and_values, result.history)
        for name, value in values.items()
    ]
    return [*rows, {"step": result.steps, "name": KEPT_STEP, "value": float(result.best_step)}]
