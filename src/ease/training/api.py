"""Training from Python, on a table in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import build_encoder, embedding_dimension, load_encoder, save_encoder
from ease.encoders.known import complete_lora, file_defaults
from ease.encoders.options import RANDOM, EncoderOptions
from ease.errors import EaseError
from ease.io.atomic import atomic_path
from ease.io.locks import FolderLock, folder_lock, temporary_folder
from ease.io.suggestions import suggest
from ease.io.validation import RENAMED
from ease.methods import get_method, method_options
from ease.methods.base import SENTENCE
from ease.methods.supervised_simcse import NEGATIVE, SupervisedSimcse
from ease.training.entity_numbers import may_be_text, number_entities, write_initial_entities
from ease.training.inputs import ENTITY_COLUMNS, FURTHER, entity_columns, open_pair_table
from ease.training.job import run_job
from ease.training.options import TrainingJob, TrainingOptions, training_options
from ease.training.progress import Report


def train(
    pairs: pd.DataFrame | pa.Table | str | Path,
    encoder: str | Path | SentenceTransformer,
    method: str = "ease",
    *,
    entity_embeddings: Mapping[Any, ArrayLike] | None = None,
    pooling: str | None = None,
    development: Mapping[str, Mapping[str, Any]] | None = None,
    folder: str | Path | None = None,
    report: Report | None = None,
    **options: Any,
) -> SentenceTransformer:
    """Train an encoder on a table of sentences.

    Args:
        pairs: A DataFrame of pandas or polars, an Arrow table, or a Parquet file. Columns: `sentence`; for EASE also
            `entity` and optionally `hard_negative` (integers or strings; `hard_negative` may be null); for EASE+
            optionally `further_entities`, lists of the sentence's other entities, or null; for supervised SimCSE also
            `positive`, and optionally `negative`.
        encoder: A hub name, a folder or an object, which is not changed; or `random:`, a BERT of two layers with random
            weights and a tokenizer trained on the sentences of `pairs`.
        method: A training method, such as `ease`, `simcse` or `supervised_simcse`.
        entity_embeddings: The initial embedding of each entity. Default: random ones of the encoder's dimension.
        pooling: The encoder's pooling. Default: as it was saved.
        development: Evaluation tasks with their options; they select the best checkpoint. Default: the last one.
        folder: Folder for checkpoints and the model; the same call on the same data resumes an interrupted training
            there, and returns the model of a finished one. Default: a temporary folder.
        report: Called with a step and its losses and scores.
        options: Parameters of the method (`temperature`, `entity_weight`, …) and of the training loop (`batch_size`,
            `learning_rate`, `epochs`, `max_steps`, `seed`, …). `teacher` is a hub name, a folder, an encoder or a
            mapping (docs/teacher.md); `lora={"rank": 16}` trains low-rank adapters. Default: the values of the
            encoder's file (docs/encoders.md), if it has one.

    Returns:
        The trained encoder.

    Raises:
        EaseError: If a column, a parameter or an entity's embedding is missing or wrong.
        TrainingInterrupted: On SIGINT or SIGTERM, after a checkpoint.

    Example:
        >>> import pandas as pd
        >>> pairs = pd.DataFrame({"sentence": ["Berlin is large.", "Paris is old."] * 8, "entity": ["Q64", "Q90"] * 8})
        >>> model = train(pairs, "intfloat/multilingual-e5-small", batch_size=8, epochs=1)  # doctest: +SKIP
    """
    name = None if isinstance(encoder, SentenceTransformer) else str(encoder)
    options = {**file_defaults(name, method), **options}
    if isinstance(options.get("lora"), Mapping):
        options["lora"] = complete_lora(options["lora"], name)
    table = _read(pairs, method)
    with _work_folder(folder) as lock:
        place = lock.folder
        for name, kept in (("teacher", "taught_by"), ("guide", "guided_by")):
            if isinstance(options.get(name), SentenceTransformer):
                options = {**options, name: {"encoder": _saved(options[name], place / kept)}}
        own, loop = _split(method, options)
        if str(encoder).startswith(RANDOM):
            encoder = build_encoder(
                EncoderOptions(name=str(encoder), seed=loop.seed), table[SENTENCE].to_pylist()
            )
        start = _saved(encoder, place / "start")
        files: dict[str, Path] = {}
        if get_method(method).reads_entities:
            dimension = embedding_dimension(load_encoder(start, pooling))
            table, entities = number_entities(table, _entity_columns(method, own))
            files = write_initial_entities(entities, entity_embeddings, dimension, loop.seed, place)
        with atomic_path(place / "pairs.parquet") as partial:
            pq.write_table(table, partial)
        job = TrainingJob(
            folder=place,
            pairs=place / "pairs.parquet",
            encoder=start,
            pooling=pooling,
            method=method,
            method_options=own,
            training=loop,
            development=_development(development),
            vocabulary=files.get("vocabulary"),
            table=files.get("table"),
        )
        return load_encoder(str(run_job(job, report, lock).model))


@contextmanager
def _work_folder(folder: str | Path | None) -> Iterator[FolderLock]:
    """Lock the folder, which is made if missing; a temporary one if none is given."""
    if folder is None:
        with temporary_folder() as temporary, folder_lock(temporary / "work") as lock:
            yield lock
        return
    with folder_lock(Path(folder)) as lock:
        yield lock


def _development(tasks: Mapping[str, Mapping[str, Any]] | None) -> dict[str, dict[str, Any]]:
    """Return the evaluation tasks with their options."""
    if tasks is not None and not isinstance(tasks, Mapping):
        raise EaseError(
            f"`development` is a {type(tasks).__name__}: give each task's options by its name, such as "
            '{"stsb": {"path": "evaluation/stsb", "subsets": ["dev"]}}.'
        )
    return {name: dict(options) for name, options in (tasks or {}).items()}


def _split(method: str, options: Mapping[str, Any]) -> tuple[Any, TrainingOptions]:
    """Parse the parameters of the method and of the loop."""
    known, loop = get_method(method).Options.model_fields, TrainingOptions.model_fields
    for name in options:
        if name not in known and name not in loop:
            current = RENAMED.get(name)
            hint = f"it was renamed to {current!r}." if current else suggest(name, [*known, *loop])
            raise EaseError(f"Unknown parameter {name!r}: {hint}")
    own = method_options(method, {name: value for name, value in options.items() if name in known})
    return own, training_options({name: value for name, value in options.items() if name not in known})


def _entity_columns(method: str, own: Any) -> tuple[str, ...]:
    """Return the columns of entities that the method reads."""
    found = get_method(method)
    return entity_columns(found.further_positives(own) > 0, found.reads_subjects(own))


def _read(pairs: pd.DataFrame | pa.Table | str | Path, method: str) -> pa.Table:
    """Return the pairs as an Arrow table; refuse pairs that the method cannot read."""
    if isinstance(pairs, pd.DataFrame):
        try:
            table = pa.Table.from_pandas(pairs, preserve_index=False)
        except pa.ArrowException as error:
            cause = ", ".join(map(str, error.args))
            raise EaseError(
                f"A column of `pairs` has values of several types ({cause}): give one."
            ) from error
    elif hasattr(pairs, "__arrow_c_stream__"):  # Arrow's own tables, and data frames of other libraries
        table = pa.table(pairs)
    elif isinstance(pairs, str | Path):
        table = open_pair_table(Path(pairs), [SENTENCE]).to_table()
    else:
        raise EaseError(
            f"`pairs` is a {type(pairs).__module__}.{type(pairs).__name__}: give a DataFrame of pandas or polars, an "
            "Arrow table or a Parquet file."
        )
    _check_columns(table, method)
    return table


def _check_columns(table: pa.Table, method: str) -> None:
    """Refuse a table without rows, without a column that the method needs, or with a column of another type."""
    needed = (SENTENCE, *ENTITY_COLUMNS[:1]) if get_method(method).reads_entities else (SENTENCE,)
    if not len(table):
        raise EaseError("The pairs have no row: give at least `batch_size` rows.")
    for name in needed:
        if name not in table.column_names:
            raise EaseError(f"The pairs lack the column {name!r}; they have {', '.join(table.column_names)}.")
        if missing := table[name].null_count:
            row = table[name].is_null().index(True).as_py()
            raise EaseError(f"{missing} pairs have no {name!r}, the first in row {row}: remove them.")
    negative = (NEGATIVE,) if issubclass(get_method(method), SupervisedSimcse) else ()
    for name in (*get_method(method).required, *negative):
        if name in table.column_names and not may_be_text(table[name].type):
            raise EaseError(f"The column {name!r} holds {table[name].type}: give texts.")
    further = table[FURTHER].type if FURTHER in table.column_names else pa.null()
    if not pa.types.is_nested(further) and not pa.types.is_null(further):
        raise EaseError(f"The column {FURTHER!r} holds {further}: give a list for each pair.")


def _saved(encoder: str | Path | SentenceTransformer, folder: Path) -> str:
    """Return the name of an encoder; save an encoder object first and return its folder."""
    if not isinstance(encoder, SentenceTransformer):
        return str(encoder)
    save_encoder(encoder, folder)
    return str(folder)
