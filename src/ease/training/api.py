"""Training from Python, on a table in memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray
from pandas.api.types import infer_dtype
from pydantic import SkipValidation
from safetensors.numpy import save_file
from sentence_transformers import SentenceTransformer

from ease.arguments import checked
from ease.encoders.defaults import complete_parameters, warn_of_temperatures
from ease.encoders.encoder import build_encoder, embedding_dimension, load_encoder, save_encoder
from ease.encoders.options import RANDOM, EncoderOptions
from ease.errors import EaseError
from ease.evaluation.tasks import package_tasks
from ease.io.atomic import atomic_path
from ease.io.locks import folder_lock, temporary_folder
from ease.methods import get_method, method_options, method_record
from ease.methods.base import POSITIVE, SENTENCE, Reads
from ease.methods.supervised_simcse import NEGATIVE
from ease.names import nearest, suggest
from ease.options import validate
from ease.training.job import run_job
from ease.training.loop import MetricsReport
from ease.training.options import TrainingJob, TrainingOptions, training_options
from ease.training.prepared_pairs import (
    ENTITY_COLUMNS,
    FURTHER,
    LANGUAGE_COLUMN,
    SUBJECT,
    entity_columns,
    open_pair_table,
)

_COLUMNS = (SENTENCE, POSITIVE, NEGATIVE, *ENTITY_COLUMNS, FURTHER, SUBJECT, LANGUAGE_COLUMN, "pair_id")
"""Columns that some method reads"""
_ARGUMENTS = ("entity_embeddings", "pooling", "development", "folder", "report")
"""Optional arguments of `train` beside the parameters of a method and of the loop"""


@checked
def train(
    pairs: SkipValidation[pd.DataFrame | pa.Table | str | Path],
    encoder: str | Path | SentenceTransformer,
    method: str = "ease",
    *,
    entity_embeddings: Mapping[Any, Any] | None = None,
    pooling: str | None = None,
    development: Mapping[str, Mapping[str, Any]] | None = None,
    folder: str | Path | None = None,
    report: MetricsReport | None = None,
    **options: Any,
) -> SentenceTransformer:
    """Train an encoder on a table of sentences.

    Args:
        pairs: A DataFrame of pandas or polars, an Arrow table, or a Parquet file. Columns: `sentence`; for EASE also
            `entity` and optionally `hard_negative` (integers or strings; `hard_negative` may be null); for EASE+
            optionally `further_entities`, lists of the sentence's other entities, or null, and `language` (without it,
            all sentences count as one language's); for supervised SimCSE also `positive`, and optionally `negative`.
        encoder: A hub name, a folder or an object, which is not changed; or `random:`, a BERT of two layers with random
            weights and a tokenizer trained on the sentences of `pairs`.
        method: A training method, such as `ease`, `simcse` or `supervised_simcse`.
        entity_embeddings: The initial embedding of each entity. Default: random ones of the encoder's dimension.
        pooling: The encoder's pooling. Default: as it was saved.
        development: Evaluation tasks with their options; they select the best checkpoint. Default: the last one.
        folder: Folder for checkpoints and the model; the same call on the same data resumes an interrupted training run
            there, and returns the model of a finished one. Default: a temporary folder.
        report: Called with a step and its losses and scores.
        options: Parameters of the method (`temperature`, `entity_weight`, …) and of the training loop (`batch_size`,
            `learning_rate`, `epochs`, `max_steps`, `seed`, …). `teacher` is a hub name, a folder, an encoder or a
            mapping (docs/teacher.md); `lora={"rank": 16}` trains low-rank adapters. Default: as `kedro run`, by the
            encoder and the method (docs/own_encoder.md).

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
    table = _read(pairs, method)
    with temporary_folder() as temporary, folder_lock(Path(folder or temporary / "work")) as lock:
        work = lock.folder
        start = _saved(encoder, work / "start")
        own_options, loop = _parse(method, options, start, work)
        reads = get_method(method).reads(own_options)
        _check_columns(table, method, reads)
        _check_texts(table, reads)
        if loop.batches.reads_languages and LANGUAGE_COLUMN in table.column_names:
            _check_complete(table, LANGUAGE_COLUMN)
        elif loop.batches.reads_languages and "batches" not in options:
            # The encoder's defaults ask for sentences of several languages; these may be of one.
            table = table.append_column(LANGUAGE_COLUMN, pa.repeat("", len(table)))
        if start.startswith(RANDOM):
            random = build_encoder(EncoderOptions(name=start, seed=loop.seed), table[SENTENCE].to_pylist())
            start = _saved(random, work / "start")
        files = dict[str, Path]()
        if method_record(method).reads_entities:
            dimension = embedding_dimension(load_encoder(start, pooling))
            table, entities = _number_entities(table, reads)
            files = _write_entities(_initial(entities, entity_embeddings, dimension, loop.seed), work)
        tasks = package_tasks(development)
        values = {
            "folder": work,
            "pairs": _written(table, work / "pairs.parquet"),
            "encoder": start,
            "pooling": pooling,
            "method": method,
            "method_options": own_options,
            "training": loop,
            "development": {name: tasks[name] for name in development or {}},
            **files,
        }
        job = validate(TrainingJob, values, "Parameters of `train`")
        return load_encoder(str(run_job(job, report, lock).model))


def _parse(method: str, options: dict[str, Any], encoder: str, work: Path) -> tuple[Any, TrainingOptions]:
    """Parse the parameters of the method and of the loop, with the defaults of the encoder.

    Encoder objects among the parameters are saved in the work folder.
    """
    for role, folder in (("teacher", "taught_by"), ("guide", "guided_by")):
        if isinstance(options.get(role), SentenceTransformer):
            options = {**options, role: _saved(options[role], work / folder)}
    of_method = get_method(method).Options.model_fields
    of_loop = TrainingOptions.model_fields
    for name in options:
        if name not in of_method and name not in of_loop:
            raise EaseError(f"Unknown parameter {name!r}: {suggest(name, [*of_method, *of_loop, *_ARGUMENTS])}")
    completed = complete_parameters(
        {name: value for name, value in options.items() if name in of_method},
        {name: value for name, value in options.items() if name not in of_method},
        encoder=encoder,
        method=method,
    )
    completed.log(method, encoder)
    method_parameters = method_options(method, completed.options)
    warn_of_temperatures(encoder, method, method_parameters)
    return method_parameters, training_options(completed.training)


def _written(table: pa.Table, file: Path) -> Path:
    with atomic_path(file) as partial:
        pq.write_table(table, partial)
    return file


def _saved(encoder: str | Path | SentenceTransformer, folder: Path) -> str:
    """Return the name of an encoder; save an encoder object first and return its folder."""
    if isinstance(encoder, SentenceTransformer):
        save_encoder(encoder, folder)
        return str(folder)
    return str(encoder)


def _read(pairs: pd.DataFrame | pa.Table | str | Path, method: str) -> pa.Table:
    """Return the pairs as an Arrow table; refuse those without a row, or without texts or entities of the method."""
    if isinstance(pairs, str | Path):
        table = open_pair_table(Path(pairs)).to_table()
    else:
        try:
            table = pa.table(pairs)  # also data frames of other libraries, by Arrow's C interface
        except UnicodeEncodeError as error:
            raise EaseError(f"A text of `pairs` is not Unicode: {error}. Remove what cannot be encoded.") from error
        except (TypeError, ValueError) as error:
            _check_mixed(pairs)
            raise EaseError(f"`pairs` must be a DataFrame, an Arrow table or a Parquet file: {error}") from error
    if not len(table):
        raise EaseError("The pairs have no row: give at least `batch_size` rows.")
    if twice := [name for name in table.column_names if table.column_names.count(name) > 1]:
        raise EaseError(f"The pairs have the column {twice[0]!r} twice: rename or remove one.")
    required = [SENTENCE]
    if method_record(method).reads_entities:
        required.append("entity")
    for name in required:
        if name not in table.column_names:
            raise EaseError(f"The pairs lack the column {name!r}; they have {', '.join(table.column_names)}.")
        _check_complete(table, name)
    return table


def _check_mixed(pairs: object) -> None:
    """Refuse entities of several types in a data frame."""
    for name in ENTITY_COLUMNS:
        if isinstance(pairs, pd.DataFrame) and name in pairs and "mixed" in infer_dtype(pairs[name]):
            raise EaseError(f"Column {name!r} mixes types: give integers or strings.")


def _check_complete(table: pa.Table, name: str) -> None:
    if missing := table[name].null_count:
        row = table[name].is_null().index(True).as_py()
        raise EaseError(f"{missing} pairs have no {name!r}, the first in row {row}: remove them.")


def _check_columns(table: pa.Table, method: str, reads: Reads) -> None:
    """Refuse a column that would be ignored, and is named like one that the method reads and the table lacks."""
    optional = {LANGUAGE_COLUMN, *reads.required, *reads.views}
    if method_record(method).reads_entities:
        optional.update(entity_columns(reads.further_positives > 0, reads.subjects))
    absent = optional.difference(table.column_names)
    for name in set(table.column_names).difference(_COLUMNS):
        if meant := nearest(name, absent, 1):
            raise EaseError(f"The method does not read the column {name!r}: rename it to {meant[0]!r}, or remove it.")


def _check_texts(table: pa.Table, reads: Reads) -> None:
    """Refuse a column of texts that holds something else, or a blank text."""
    texts = (*reads.required, *reads.views)
    for name in dict.fromkeys((*texts, *ENTITY_COLUMNS)):
        if name not in table.column_names:
            continue
        if not _may_be_text(table[name].type):
            if name in texts:
                raise EaseError(f"The column {name!r} holds {table[name].type}: give texts.")
            continue
        is_blank = pc.equal(pc.utf8_trim_whitespace(table[name].cast(pa.large_string())), "")
        if blank := pc.sum(is_blank).as_py():
            row = is_blank.index(True).as_py()
            raise EaseError(f"{blank} pairs have a blank {name!r}, the first in row {row}: remove them.")


def _may_be_text(column: pa.DataType) -> bool:
    """Return whether a column may hold texts; a column of nulls alone has a type of its own."""
    if pa.types.is_dictionary(column):  # such as pandas' categories
        column = column.value_type
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(is_kind(column) for is_kind in kinds)


def _number_entities(table: pa.Table, reads: Reads) -> tuple[pa.Table, list[Any]]:
    """Replace entities in columns, which are added if missing, by their numbers; also return the sorted entities."""
    with_texts = _may_be_text(table["entity"].type)
    columns: dict[str, pa.Array] = {}
    for name in entity_columns(reads.further_positives > 0, reads.subjects):
        if name in table.column_names:
            columns[name] = _cast_entities(table[name].combine_chunks(), name, with_texts)
        else:
            columns[name] = _cast_entities(pa.nulls(len(table)), name, with_texts)
    flat = dict(columns)
    if FURTHER in flat:
        flat[FURTHER] = flat[FURTHER].values
    # Sorted, so that an entity's random embedding does not depend on the order of the rows.
    entities = pa.chunked_array(list(flat.values())).unique().drop_null().sort()
    for name, values in flat.items():
        numbers = pc.index_in(values, entities).cast(pa.int64())
        if name == FURTHER:
            numbers = pa.ListArray.from_arrays(columns[name].offsets, numbers)
        if name in table.column_names:
            table = table.drop_columns([name])
        table = table.append_column(name, numbers)
    return table, entities.to_pylist()


def _cast_entities(values: pa.Array, name: str, with_texts: bool) -> pa.Array:
    """Return a column of entities as texts or integers, or of lists of them; refuse other values."""
    entity = pa.int64()
    description = "integers"
    if with_texts:
        entity = pa.string()
        description = "texts"
    target = entity
    if name == FURTHER:
        target = pa.list_(entity)
        description = f"a list for each pair, of {description}"
    inner = values.type
    if pa.types.is_nested(inner):
        inner = inner.value_type
    try:
        if _may_be_text(inner) is not with_texts and not pa.types.is_null(inner):
            raise pa.ArrowInvalid("the column of entities differs")
        return values.cast(target)  # integers with nulls are floating-point numbers in pandas
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise EaseError(
            f"The column {name!r} holds {values.type}: give {description} as in 'entity'. {error}"
        ) from error


def _write_entities(embeddings: NDArray[np.float32], work: Path) -> dict[str, Path]:
    """Write the vocabulary of numbered entities, and their embeddings; return the files by their names in a job."""
    file = work / "embeddings.safetensors"
    with atomic_path(file) as partial:
        save_file({"embeddings": embeddings}, partial)
    numbers = pa.array(range(len(embeddings)), pa.int64())
    vocabulary = _written(pa.table({"row": numbers, "entity": numbers}), work / "vocabulary.parquet")
    return {"vocabulary": vocabulary, "table": file}


def _initial(
    names: list[Any], embeddings: Mapping[Any, ArrayLike] | None, dimension: int, seed: int
) -> NDArray[np.float32]:
    """Stack the initial embeddings of entities, (entities, dimension), in single precision."""
    if embeddings is None:
        scale = 1 / np.sqrt(dimension)  # an expected length of 1
        return np.random.default_rng(seed).normal(0, scale, (len(names), dimension)).astype(np.float32)
    if missing := [entity for entity in names if entity not in embeddings]:
        raise EaseError(
            f"{len(missing)} entities have no embedding in `entity_embeddings`, such as {missing[0]!r}: add theirs, or "
            "omit the parameter for random ones."
        )
    try:
        table = np.stack([np.asarray(embeddings[entity], dtype=np.float32) for entity in names])
    except (TypeError, ValueError) as error:
        raise EaseError(f"`entity_embeddings` must be vectors of one length: {error}") from error
    if table.ndim != 2 or not table.size:
        raise EaseError(f"`entity_embeddings` must be vectors, and have the shape {table.shape[1:]}.")
    if not np.isfinite(table).all():
        raise EaseError("`entity_embeddings` have NaN or infinite numbers: give finite ones, or omit the parameter.")
    return table
