"""Mine translations among sentences by the margin of their neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from pydantic import Field
from tqdm import tqdm

from ease.entities.hashing import take_first
from ease.errors import EaseError
from ease.io.files import report_write_errors
from ease.lazy import ibis, ir
from ease.options import StrictModel
from ease.similarity.encode import Encode
from ease.texts.components.sources import Workspace

if TYPE_CHECKING:
    from ease.similarity.neighbours import Candidates
    from ease.similarity.retrieval import Matches


class MiningOptions(StrictModel):
    """Which candidates count as parallel."""

    neighbours: int = Field(4, ge=1, description="nearest candidates of a sentence that its margin compares with")
    min_score: float = Field(
        1.5, ge=0, description="lowest margin: the cosine over the mean cosine with the nearest candidates"
    )


SENTENCES = 8192
"""Sentences encoded at once."""


def embed_rows(encode: Encode, table: ir.Table, rows: int, file: Path, progress: str = "") -> NDArray[np.float32]:
    """Encode the sentences of a table into a file, and return its matrix, (rows, dimension), which stays on disk.

    The table has row and text, in the order of `row`; the matrix is zero in the rows that the table lacks. The caller
    removes the file (.npy). `progress` is the title of the progress bar; no bar if empty.
    """
    from ease.similarity.vectors import unit_rows

    matrix: NDArray[np.float32] | None = None
    with tqdm(desc=progress, unit="sentence", delay=2, leave=False, disable=None if progress else True) as bar:
        for batch in in_batches(table.select("row", "text"), SENTENCES):
            units = unit_rows(encode(batch["text"].to_pylist()))
            if matrix is None:
                with report_write_errors(file):
                    file.parent.mkdir(parents=True, exist_ok=True)
                    matrix = open_memmap(file, mode="w+", dtype=np.float32, shape=(rows, units.shape[1]))
            matrix[batch["row"].to_numpy()] = units
            bar.update(len(units))
    if matrix is None:
        raise EaseError("There is no sentence to encode: give at least one.")
    return matrix


def in_batches(table: ir.Table, rows: int) -> Iterator[pa.Table]:
    """Yield the rows of a table in its order, in tables of some rows."""
    batches = table.to_pyarrow_batches(chunk_size=rows)
    return (pa.Table.from_batches([batch]) for batch in batches if len(batch))


BATCH = 65_536
"""Candidates, or sentences, read at once."""

ABOUT = {"page_title": pa.string(), "page_id": pa.int64(), "revision_id": pa.int64()}
"""Where a sentence is from."""

_MATCHES = pa.schema({"left": pa.int64(), "right": pa.int64(), "score": pa.float64(), "cosine": pa.float64()}.items())
_SENTENCES = pa.schema({"row": pa.int64(), "text": pa.string(), **ABOUT}.items())


def mine_language_pair(
    numbered: ir.Table,
    candidates: ir.Table,
    languages: tuple[str, str],
    vectors: Mapping[str, NDArray[np.float32]],
    options: MiningOptions,
    workspace: Workspace,
) -> tuple[ir.Table, dict[str, int]]:
    """Score the candidates of two languages by margin, and match their sentences one to one.

    Equal texts on both sides are dropped, and all but the best match of two texts that occur several times.

    Args:
        numbered: The sentences: language, row, text, page_title, page_id, revision_id.
        candidates: Rows of sentences to compare: left_language, right_language, left, right.
        languages: The left and the right language.
        vectors: Embeddings by language, (rows, dimension), of length 1.
        options: Neighbours, and the lowest margin.
        workspace: Where matches are joined with their texts.

    Returns:
        The pairs, best first: left_language, right_language, sentence, positive, score, cosine, and where both are
        from; numbers of compared candidates, of matches, and of matches that were dropped by reason.
    """
    from ease.similarity.neighbours import candidate_neighbours
    from ease.similarity.retrieval import one_to_one

    left, right = languages
    own = candidates.filter(candidates.left_language == left, candidates.right_language == right)
    number = int(own.count().execute())

    def blocks() -> Iterator[Candidates]:
        title, given = f"Comparing {left} with {right}", own.select("left", "right")
        with tqdm(
            total=number, desc=title, unit="candidate", unit_scale=True, delay=2, leave=False, disable=None
        ) as bar:
            for batch in in_batches(given, BATCH):
                yield batch["left"].to_numpy(), batch["right"].to_numpy()
                bar.update(len(batch))

    near = candidate_neighbours(vectors[left], vectors[right], blocks(), options.neighbours)
    table = _with_texts(numbered, one_to_one(*near, options.min_score), languages, workspace)
    different = table.filter(table.sentence != table.positive)
    best_first = [ibis.desc("score"), "left", "right"]
    distinct = take_first(different, ["sentence", "positive"], best_first)
    matched, unequal, mined = (int(step.count().execute()) for step in (table, different, distinct))
    kept = distinct.order_by(best_first).drop("left", "right")
    named = kept.mutate(left_language=ibis.literal(left), right_language=ibis.literal(right))
    counts = {"candidates": number, "matches": matched, "equal_texts": matched - unequal}
    counts |= {"repeated": unequal - mined, "mined": mined}
    return named.relocate("left_language", "right_language"), counts


def _with_texts(numbered: ir.Table, matches: Matches, languages: tuple[str, str], workspace: Workspace) -> ir.Table:
    """Join matches with both sentences, in the workspace's own DuckDB."""
    columns: list[Any] = [matches.queries, matches.targets, matches.scores, matches.cosines]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, _MATCHES.types, strict=True)]
    joined = workspace.store_batches([pa.record_batch(arrays, schema=_MATCHES)], _MATCHES)

    def chosen(language: str, rows: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        own = numbered.filter(numbered.language == language).select(*_SENTENCES.names)
        for batch in in_batches(own, BATCH):
            places = np.searchsorted(rows, batch["row"].to_numpy())
            found = np.append(rows, -1)[places] == batch["row"].to_numpy()
            yield from batch.filter(pa.array(found)).combine_chunks().to_batches()

    sides = zip(("left", "right"), ("sentence", "positive"), languages, columns[:2], strict=True)
    for side, text, language, rows in sides:
        sentences = workspace.store_batches(chosen(language, np.sort(rows)), _SENTENCES)
        about = {f"{side}_{name}": name for name in ABOUT}
        joined = joined.inner_join(sentences.rename({side: "row", text: "text", **about}), side)
    return joined.relocate("sentence", "positive", "score", "cosine")
