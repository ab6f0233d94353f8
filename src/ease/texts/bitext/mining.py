"""Parallel sentences of one pair of languages: scores of candidates by margin, matched one to one, with their texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm import tqdm

from ease.evaluation.mining import Matches, one_to_one
from ease.evaluation.search import Candidates, candidate_neighbours
from ease.io.lazy import ibis
from ease.texts.bitext.options import MiningOptions
from ease.texts.bitext.vectors import in_batches
from ease.texts.components.workspace import Workspace

if TYPE_CHECKING:
    import ibis.expr.types as ir

BATCH = 65_536
"""Candidates, or sentences, read at once."""

ABOUT = {"page_title": pa.string(), "page_id": pa.int64(), "revision_id": pa.int64()}
"""Where a sentence is from."""

_MATCHES = pa.schema(
    {"left": pa.int64(), "right": pa.int64(), "score": pa.float64(), "cosine": pa.float64()}.items()
)
_SENTENCES = pa.schema({"row": pa.int64(), "text": pa.string(), **ABOUT}.items())


class MinedPair(NamedTuple):
    """The parallel sentences of two languages."""

    table: ir.Table
    """Best first: left_language, right_language, sentence, positive, score, cosine, and where both are from"""
    counts: Mapping[str, int]
    """Numbers of compared candidates, of matches, and of matches that were dropped by reason"""


def candidate_blocks(candidates: ir.Table, total: int, title: str) -> Iterator[Candidates]:
    """Yield blocks of candidates, (pairs,) left and right rows, with a progress bar."""
    with tqdm(total=total, desc=title, unit="candidate", unit_scale=True, delay=2, leave=False) as bar:
        for batch in in_batches(candidates.select("left", "right"), BATCH):
            yield batch["left"].to_numpy(), batch["right"].to_numpy()
            bar.update(len(batch))


def mine_language_pair(
    numbered: ir.Table,
    candidates: ir.Table,
    languages: tuple[str, str],
    vectors: Mapping[str, NDArray[np.float32]],
    options: MiningOptions,
    workspace: Workspace,
) -> MinedPair:
    """Score the candidates of two languages by margin, and match their sentences one to one.

    Equal texts on both sides are dropped, and all but the best match of two texts that occur several times.

    Args:
        numbered: The sentences: language, row, text, page_title, page_id, revision_id.
        candidates: Rows of sentences to compare: left_language, right_language, left, right.
        languages: The left and the right language.
        vectors: Embeddings by language, (rows, dimension), of length 1.
        options: Neighbours, and the lowest margin.
        workspace: Where matches are joined with their texts.

    Raises:
        EaseError: If the languages have no candidate.
    """
    left, right = languages
    own = candidates.filter(candidates.left_language == left, candidates.right_language == right)
    number = int(own.count().execute())
    blocks = candidate_blocks(own, number, f"Comparing {left} with {right}")
    near = candidate_neighbours(vectors[left], vectors[right], blocks, options.neighbours)
    matches = one_to_one(*near, options.min_score)
    table = _with_texts(numbered, matches, languages, workspace)
    different = table.filter(table.sentence != table.positive)
    place = ibis.row_number().over(
        group_by=["sentence", "positive"], order_by=[ibis.desc("score"), "left", "right"]
    )
    distinct = different.mutate(place=place).filter(ibis._.place == 0)
    kept = distinct.drop("place").order_by([ibis.desc("score"), "left", "right"]).drop("left", "right")
    numbers = [int(step.count().execute()) for step in (table, different, distinct)]
    return MinedPair(
        kept.mutate(left_language=ibis.literal(left), right_language=ibis.literal(right)).relocate(
            "left_language", "right_language"
        ),
        {
            "candidates": number,
            "matches": numbers[0],
            "equal_texts": numbers[0] - numbers[1],
            "repeated": numbers[1] - numbers[2],
            "mined": numbers[2],
        },
    )


def _with_texts(
    numbered: ir.Table, matches: Matches, languages: tuple[str, str], workspace: Workspace
) -> ir.Table:
    """Join matches with both sentences, in the workspace's own DuckDB."""
    columns: list[Any] = [matches.queries, matches.targets, matches.scores, matches.cosines]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, _MATCHES.types, strict=True)]
    joined = workspace.store_batches([pa.record_batch(arrays, schema=_MATCHES)], _MATCHES)
    sides = zip(("left", "right"), ("sentence", "positive"), languages, columns[:2], strict=True)
    for side, text, language, rows in sides:
        sentences = _stored(numbered, language, np.sort(rows), workspace)
        about = {f"{side}_{name}": name for name in ABOUT}
        joined = joined.inner_join(sentences.rename({side: "row", text: "text", **about}), side)
    return joined.relocate("sentence", "positive", "score", "cosine")


def _stored(numbered: ir.Table, language: str, rows: NDArray[np.int64], workspace: Workspace) -> ir.Table:
    """Write the chosen sentences of a language to the workspace."""
    own = numbered.filter(numbered.language == language).select(*_SENTENCES.names)

    def chosen() -> Iterator[pa.RecordBatch]:
        for batch in in_batches(own, BATCH):
            places = np.searchsorted(rows, batch["row"].to_numpy())
            found = np.append(rows, -1)[places] == batch["row"].to_numpy()
            yield from batch.filter(pa.array(found)).combine_chunks().to_batches()

    return workspace.store_batches(chosen(), _SENTENCES)
