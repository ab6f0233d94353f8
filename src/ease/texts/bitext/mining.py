"""Mine translations among candidate sentence pairs by the margin of their neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from pydantic import Field

from ease.entities.hashing import take_first
from ease.errors import EaseError
from ease.io.files import report_write_errors
from ease.io.progress import ProgressBar
from ease.lazy import ibis, ir
from ease.options import StrictModel
from ease.similarity.encode import Encode
from ease.texts.components.sources import Workspace

if TYPE_CHECKING:
    from ease.similarity.neighbours import Candidates
    from ease.similarity.retrieval import Matches


class MiningOptions(StrictModel):
    """Which candidates count as parallel."""

    neighbours: int = Field(4, ge=1, description="nearest candidates of a sentence to compare with in its margin")
    min_score: float = Field(
        1.5, ge=0, description="lowest margin: the cosine over the mean cosine with the nearest candidates"
    )


SENTENCES_ENCODED = 8192
"""Sentences encoded at once"""


def embed_rows(encode: Encode, table: ir.Table, rows: int, file: Path, progress: str = "") -> NDArray[np.float32]:
    """Return the embeddings of a table's sentences as a matrix on disk, (rows, dimension), in rows of length 1.

    Args:
        encode: Encoder.
        table: Columns row and text, ordered by row. Rows of the matrix that the table lacks are zero.
        rows: Number of rows of the matrix.
        file: File of the matrix (.npy), which the caller removes.
        progress: Title of the progress bar; no bar if empty.

    Raises:
        EaseError: If the table is empty, or the file cannot be written.
    """
    from ease.similarity.vectors import unit_rows

    matrix: NDArray[np.float32] | None = None
    with ProgressBar(desc=progress, unit="sentence", total=rows, delay=2) as bar:
        for batch in in_batches(table.select("row", "text"), SENTENCES_ENCODED):
            units = unit_rows(encode(batch["text"].to_pylist()))
            # The first batch tells the encoder's dimension.
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
    """Yield the rows of a table in its order, in tables of at most `rows` rows."""
    batches = table.to_pyarrow_batches(chunk_size=rows)
    return (pa.Table.from_batches([batch]) for batch in batches if len(batch))


BITEXT_ROWS = 65_536
"""Candidates, or sentences, read at once"""

ORIGIN_COLUMNS = {"page_title": pa.string(), "page_id": pa.int64(), "revision_id": pa.int64()}
"""Types of the columns that say where a sentence is from"""

_MATCHES = pa.schema({"left": pa.int64(), "right": pa.int64(), "score": pa.float64(), "cosine": pa.float64()}.items())
_SENTENCES = pa.schema({"row": pa.int64(), "text": pa.string(), **ORIGIN_COLUMNS}.items())


def mine_language_pair(
    numbered: ir.Table,
    candidates: ir.Table,
    languages: tuple[str, str],
    vectors: Mapping[str, NDArray[np.float32]],
    options: MiningOptions,
    workspace: Workspace,
) -> tuple[ir.Table, dict[str, int]]:
    """Score the candidates of two languages by margin, and match their sentences one to one.

    Pairs of equal texts are dropped; if a pair of texts is matched several times, its best match is kept.

    Args:
        numbered: The sentences: language, row, text, page_title, page_id, revision_id.
        candidates: Rows of sentences to compare: left_language, right_language, left, right.
        languages: The left and the right language.
        vectors: Embeddings by language, (rows, dimension), of length 1.
        options: Neighbours, and the lowest margin.
        workspace: Folder and DuckDB that join matches with their texts.

    Returns:
        The pairs, best first: left_language, right_language, sentence, positive, score, cosine, and the
        `ORIGIN_COLUMNS` of both sides; the numbers of compared candidates, of matches, and of matches that were
        dropped by reason.
    """
    from ease.similarity.neighbours import candidate_neighbours
    from ease.similarity.retrieval import one_to_one

    left, right = languages
    compared = candidates.filter(candidates.left_language == left, candidates.right_language == right)
    candidate_count = int(compared.count().execute())
    rows = compared.select("left", "right")
    blocks = _candidate_blocks(rows, candidate_count, f"Comparing {left} with {right}")
    neighbours = candidate_neighbours(vectors[left], vectors[right], blocks, options.neighbours)
    matches = _with_texts(numbered, one_to_one(*neighbours, options.min_score), languages, workspace)
    # Equal texts, such as names and numbers, are no translations.
    different = matches.filter(matches.sentence != matches.positive)
    best_first = [ibis.desc("score"), "left", "right"]
    distinct = take_first(different, ["sentence", "positive"], best_first)
    match_count = int(matches.count().execute())
    different_count = int(different.count().execute())
    mined_count = int(distinct.count().execute())
    counts = {
        "candidates": candidate_count,
        "matches": match_count,
        "equal_texts": match_count - different_count,
        "repeated": different_count - mined_count,
        "mined": mined_count,
    }
    pairs = distinct.order_by(best_first).drop("left", "right")
    pairs = pairs.mutate(left_language=ibis.literal(left), right_language=ibis.literal(right))
    return pairs.relocate("left_language", "right_language"), counts


def _candidate_blocks(rows: ir.Table, total: int, title: str) -> Iterator[Candidates]:
    """Yield the rows of candidates (left, right) in blocks, and show the progress."""
    with ProgressBar(total=total, desc=title, unit="candidate", unit_scale=True, delay=2) as bar:
        for batch in in_batches(rows, BITEXT_ROWS):
            yield batch["left"].to_numpy(), batch["right"].to_numpy()
            bar.update(len(batch))


def _with_texts(numbered: ir.Table, matches: Matches, languages: tuple[str, str], workspace: Workspace) -> ir.Table:
    """Join matches with both sentences, in the workspace's own DuckDB."""
    columns: list[Any] = [matches.queries, matches.targets, matches.scores, matches.cosines]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, _MATCHES.types, strict=True)]
    joined = workspace.store_batches([pa.record_batch(arrays, schema=_MATCHES)], _MATCHES)
    for side, text, language, rows in (
        ("left", "sentence", languages[0], matches.queries),
        ("right", "positive", languages[1], matches.targets),
    ):
        # The sentences may be on another engine: copy those that are matched, and no others.
        sentences = workspace.store_batches(_matched_sentences(numbered, language, rows), _SENTENCES)
        origin = {f"{side}_{name}": name for name in ORIGIN_COLUMNS}
        joined = joined.inner_join(sentences.rename({side: "row", text: "text", **origin}), side)
    return joined.relocate("sentence", "positive", "score", "cosine")


def _matched_sentences(numbered: ir.Table, language: str, rows: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """Yield the sentences of a language in some rows, as `_SENTENCES`."""
    sorted_rows = np.sort(rows)
    sentences = numbered.filter(numbered.language == language).select(*_SENTENCES.names)
    for batch in in_batches(sentences, BITEXT_ROWS):
        batch_rows = batch["row"].to_numpy()
        places = np.searchsorted(sorted_rows, batch_rows)
        # A row above all others has the place behind the last, where -1 equals no row.
        is_match = np.append(sorted_rows, -1)[places] == batch_rows
        yield from batch.filter(pa.array(is_match)).combine_chunks().to_batches()
