"""Training from Python, on a table in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray
from safetensors.numpy import save_file
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import build_encoder, embedding_dimension, load_encoder, save_encoder
from ease.encoders.known import complete_lora, file_defaults
from ease.encoders.options import RANDOM, EncoderOptions
from ease.errors import EaseError
from ease.io.atomic import atomic_path
from ease.io.locks import folder_lock, temporary_folder
from ease.io.names import suggest
from ease.methods import get_method, method_options
from ease.methods.base import SENTENCE
from ease.methods.supervised_simcse import NEGATIVE, SupervisedSimcse
from ease.training.job import run_job
from ease.training.loop import Report
from ease.training.options import TrainingJob, TrainingOptions, training_options
from ease.training.prepared_pairs import ENTITY_COLUMNS, FURTHER, entity_columns, open_pair_table


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
            encoder's file (docs/own_encoder.md), if it has one.

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
    if not isinstance(development, Mapping | None):
        raise EaseError(
            f"`development` is a {type(development).__name__}: give each task's options by its name, such as "
            '{"stsb": {"path": "evaluation/stsb", "subsets": ["dev"]}}.'
        )
    table = _read(pairs, method)
    with temporary_folder() as temporary, folder_lock(Path(folder or temporary / "work")) as lock:
        work = lock.folder
        for role, kept in (("teacher", "taught_by"), ("guide", "guided_by")):
            if isinstance(options.get(role), SentenceTransformer):
                options[role] = {"encoder": _saved(options[role], work / kept)}
        own, loop = _parse(method, options)
        if str(encoder).startswith(RANDOM):
            made = EncoderOptions(name=str(encoder), seed=loop.seed)
            encoder = build_encoder(made, table[SENTENCE].to_pylist())
        start = _saved(encoder, work / "start")
        files: dict[str, Path] = {}
        found = get_method(method)
        if found.reads_entities:
            table, entities = _number_entities(
                table, entity_columns(found.further_positives(own) > 0, found.reads_subjects(own))
            )
            dimension = embedding_dimension(load_encoder(start, pooling))
            initial = _initial(entities.to_pylist(), entity_embeddings, dimension, loop.seed)
            files = {"vocabulary": work / "vocabulary.parquet", "table": work / "embeddings.safetensors"}
            numbers = pa.array(np.arange(len(entities)), pa.int64())
            with atomic_path(files["vocabulary"]) as partial:
                pq.write_table(pa.table({"row": numbers, "entity": numbers}), partial)
            with atomic_path(files["table"]) as partial:
                save_file({"embeddings": initial}, partial)
        with atomic_path(work / "pairs.parquet") as partial:
            pq.write_table(table, partial)
        job = TrainingJob(
            folder=work,
            pairs=work / "pairs.parquet",
            encoder=start,
            pooling=pooling,
            method=method,
            method_options=own,
            training=loop,
            development={name: dict(chosen) for name, chosen in (development or {}).items()},
            **files,
        )
        return load_encoder(str(run_job(job, report, lock).model))


def _parse(method: str, options: Mapping[str, Any]) -> tuple[Any, TrainingOptions]:
    """Parse the parameters of the method and of the loop."""
    known, loop = get_method(method).Options.model_fields, TrainingOptions.model_fields
    for name in options:
        if name not in known and name not in loop:
            raise EaseError(f"Unknown parameter {name!r}: {suggest(name, [*known, *loop])}")
    own = method_options(method, {name: value for name, value in options.items() if name in known})
    return own, training_options({name: value for name, value in options.items() if name not in known})


def _saved(encoder: str | Path | SentenceTransformer, folder: Path) -> str:
    """Return the name of an encoder; save an encoder object first and return its folder."""
    if not isinstance(encoder, SentenceTransformer):
        return str(encoder)
    save_encoder(encoder, folder)
    return str(folder)


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
        table = open_pair_table(Path(pairs)).to_table()
    else:
        raise EaseError(
            f"`pairs` is a {type(pairs).__module__}.{type(pairs).__name__}: give a DataFrame of pandas or polars, an "
            "Arrow table or a Parquet file."
        )
    _check_columns(table, method)
    return table


def _check_columns(table: pa.Table, method: str) -> None:
    """Refuse a table without rows, without a column that the method needs, or with a column of another type."""
    if not len(table):
        raise EaseError("The pairs have no row: give at least `batch_size` rows.")
    found = get_method(method)
    for name in (SENTENCE, *ENTITY_COLUMNS[:1]) if found.reads_entities else (SENTENCE,):
        if name not in table.column_names:
            raise EaseError(f"The pairs lack the column {name!r}; they have {', '.join(table.column_names)}.")
        if missing := table[name].null_count:
            row = table[name].is_null().index(True).as_py()
            raise EaseError(f"{missing} pairs have no {name!r}, the first in row {row}: remove them.")
    negative = (NEGATIVE,) if issubclass(found, SupervisedSimcse) else ()
    for name in (*found.required, *negative):
        if name in table.column_names and not _may_be_text(table[name].type):
            raise EaseError(f"The column {name!r} holds {table[name].type}: give texts.")
    further = table[FURTHER].type if FURTHER in table.column_names else pa.null()
    if not pa.types.is_nested(further) and not pa.types.is_null(further):
        raise EaseError(f"The column {FURTHER!r} holds {further}: give a list for each pair.")


def _may_be_text(column: pa.DataType) -> bool:
    """Return whether a column may hold texts; one of nulls alone has a type of its own."""
    values = column.value_type if pa.types.is_dictionary(column) else column
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(is_kind(values) for is_kind in kinds)


def _number_entities(table: pa.Table, names: Sequence[str]) -> tuple[pa.Table, pa.Array]:
    """Replace entities in columns, which are added if missing, by their numbers; return the sorted entities, too."""
    columns: dict[str, pa.Array] = {}
    pairs: NDArray[np.int64] = np.empty(0, np.int64)  # of each further entity
    for name in names:
        values = table[name].combine_chunks() if name in table.column_names else pa.nulls(len(table))
        if name == FURTHER:
            lists = values.cast(pa.list_(pa.null())) if pa.types.is_null(values.type) else values
            values, owners = pc.list_flatten(lists), pc.list_parent_indices(lists)
            pairs, values = owners.filter(values.is_valid()).to_numpy(), values.drop_null()
        wanted = pa.string() if _may_be_text(values.type) else pa.int64()
        try:  # integers with nulls are floating-point numbers in pandas
            columns[name] = values if pa.types.is_null(values.type) else values.cast(wanted)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise EaseError(
                f"The column {name!r} holds {values.type}: give integers or texts. {error}"
            ) from error
    kinds = {name: values.type for name, values in columns.items() if not pa.types.is_null(values.type)}
    if len(set(kinds.values())) > 1:
        different = ", ".join(f"{name!r} holds {kind}" for name, kind in kinds.items())
        raise EaseError(
            f"The columns of entities differ: {different}. Give integers in all of them, or texts."
        )
    entities = pa.chunked_array([columns[name] for name in kinds]).unique().drop_null().sort()
    for name, values in columns.items():
        numbers = pc.index_in(values.cast(entities.type), entities).cast(pa.int64())
        if name == FURTHER:
            offsets = np.searchsorted(pairs, np.arange(len(table) + 1))
            numbers = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), numbers)
        table = table.drop_columns([name] if name in table.column_names else []).append_column(name, numbers)
    return table, entities


def _initial(
    names: list[Any], embeddings: Mapping[Any, ArrayLike] | None, dimension: int, seed: int
) -> NDArray[np.float32]:
    """Stack the initial embeddings of entities, (entities, dimension), in single precision."""
    if embeddings is None:
        scale = 1 / np.sqrt(dimension)
        return np.random.default_rng(seed).normal(0, scale, (len(names), dimension)).astype(np.float32)
    if lacking := [entity for entity in names if entity not in embeddings]:
        raise EaseError(
            f"{len(lacking)} entities have no embedding in `entity_embeddings`, such as {lacking[0]!r}: add theirs, or "
            "omit the parameter for random ones."
        )
    rows = {entity: np.asarray(embeddings[entity], dtype=np.float32) for entity in names}
    first = rows[names[0]].shape
    for entity, row in rows.items():
        if row.ndim != 1 or row.shape != first:
            raise EaseError(
                f"In `entity_embeddings`, {names[0]!r} has the shape {first} and {entity!r} {row.shape}: give vectors "
                "of one length."
            )
    return np.stack(list(rows.values()))
