"""Retrieval in a test set that the pipeline `audit` makes from links: two wikis' sentences about one item."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ease.entities.audit import ANSWER, LEFT, RIGHT, SAME_PAGE, SAME_TYPE
from ease.errors import EaseError
from ease.evaluation.encodes import Encode
from ease.evaluation.items import mean_items
from ease.evaluation.metrics import normalize_rows
from ease.evaluation.search import TIE_TOLERANCE, Embeddings, similarity_blocks
from ease.evaluation.tasks import Files, Score, SubsetOptions, SubsetTask, Texts
from ease.evaluation.tasks.parallel_sentences import METRIC
from ease.evaluation.tasks.set_files import Sides, read_parquet

logger = logging.getLogger(__name__)

COLUMNS = ["pair_id", "entity", "side", "grade", "text"]
OTHER_PAGES = "other_pages"
GRADES = (OTHER_PAGES, SAME_TYPE, SAME_PAGE)

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Side:
    """The sentences of one side of a subset: those of the pairs, in order, and then the further candidates."""

    texts: list[str]
    entities: Numbers
    """The item of each pair"""
    distractors: dict[str, Numbers]
    """(n, 2) by grade: a pair, and the row in `texts` of one of its distractors"""


Hits = tuple[Flags, Flags]
"""Whether the right sentence of each pair is nearer than all wrong candidates, and which pairs have such candidates."""


class Audit(SubsetTask):
    """Retrieval accuracy among all candidates of each subset, both directions averaged, and among those of each grade.

    The accuracy of a grade is the share of sentences that are nearer to their counterpart than to each distractor of
    that grade: other pages, pages of the same type, the same page.
    """

    KIND, Options = "BitextMining", SubsetOptions
    METRICS = (METRIC, *(f"{grade}_accuracy" for grade in GRADES))

    def files(self, options: SubsetOptions) -> Files:
        """Return a file for each subset that is named or exists; the folder itself if there is none."""
        found = sorted(path.stem for path in options.path.glob("*.parquet"))
        if not found and (odd := [subset for subset in options.subsets or () if "-" not in subset]):
            raise EaseError(
                f"Unknown subset {', '.join(odd)}: choose from pairs of languages, such as eo-en."
            )
        subsets = options.chosen(found) if found else options.subsets or ()
        return {subset: (options.path / f"{subset}.parquet",) for subset in subsets} or {
            "all": (options.path,)
        }

    def read(self, options: SubsetOptions, subset: str, paths: tuple[Path, ...]) -> tuple[Side, Side]:
        """Read both sides of a subset."""
        return read_sides(*paths)

    def parallel(self, options: SubsetOptions, subset: str) -> Sides:
        """Read the pairs of a subset."""
        left, right = read_sides(options.path / f"{subset}.parquet")
        return Sides(*(side.texts[: len(side.entities)] for side in (left, right)))

    def wanted(self, options: SubsetOptions) -> int:
        """Return the number of subsets."""
        return len(self.files(options))

    def texts(self, options: SubsetOptions, data: tuple[Side, Side]) -> Mapping[str, Texts]:
        """Return both sentences of each pair, of a grade those with a distractor of that grade."""
        count = len(data[0].entities)
        pairs: Texts = list(zip(*(side.texts[:count] for side in data), strict=True))
        found = {METRIC: pairs}
        for grade in (SAME_TYPE, SAME_PAGE):
            asked = np.unique(np.concatenate([side.distractors[grade][:, 0] for side in data]))
            found[f"{grade}_accuracy"] = [pairs[row] for row in asked.tolist()]
        several = np.unique(data[0].entities).size > 1
        return {**found, f"{OTHER_PAGES}_accuracy": pairs if several else []}

    def score(
        self, encode: Encode, options: SubsetOptions, subset: str, data: tuple[Side, Side]
    ) -> Iterator[Score]:
        """Yield the main score, and that of each grade of which there are distractors."""
        left, right = data
        own, other = (encode(side.texts) for side in data)
        hits = _search(left, own, right, other), _search(right, other, left, own)
        for metric in self.METRICS:
            # Both directions of a pair are one item, since they depend on the same two sentences.
            found, asked = (
                np.sum(flags, axis=0) for flags in zip(*(one[metric] for one in hits), strict=True)
            )
            if (rows := np.flatnonzero(asked)).size:
                items = mean_items(found[rows], asked[rows])
                logger.info("%s %s: %s %.1f", self.name, subset, metric, items.value())
                yield Score(self.name, subset, metric, items.value(), items=items)


TASK = Audit


def read_sides(path: Path) -> tuple[Side, Side]:
    """Read both sides of a subset.

    Raises:
        EaseError: If a pair has not exactly one answer on each side, or there are fewer than 2 pairs.
    """
    rows = pd.DataFrame([row for _, row in read_parquet(path, COLUMNS)], columns=COLUMNS)
    answers = rows[rows.grade == ANSWER].sort_values(["side", "pair_id"])
    pairs = answers[answers.side == LEFT]
    count = len(pairs)
    complete = [list(answers[answers.side == side].pair_id) == list(range(count)) for side in (LEFT, RIGHT)]
    if count < 2 or not all(complete):
        raise EaseError(
            f"{path}: not one sentence a side for each pair, or fewer than 2 pairs; make it again by `kedro run "
            "--pipelines=audit`."
        )
    if any(answers[answers.side == side].text.duplicated().any() for side in (LEFT, RIGHT)):
        raise EaseError(
            f"{path}: a sentence is the answer of two pairs; make it again by the pipeline `audit`."
        )
    left, right = (_read_side(rows[rows.side == side]) for side in (LEFT, RIGHT))
    return left, right


def _read_side(rows: pd.DataFrame) -> Side:
    answers = rows[rows.grade == ANSWER].sort_values("pair_id")
    texts = list(dict.fromkeys([*answers.text, *rows.text]))
    row_of = {text: row for row, text in enumerate(texts)}
    distractors = {}
    for grade in (SAME_PAGE, SAME_TYPE):
        own = rows[rows.grade == grade]
        pairs = zip(own.pair_id, map(row_of.__getitem__, own.text), strict=True)
        distractors[grade] = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    return Side(texts, answers.entity.to_numpy(dtype=np.int64), distractors)


def _search(queries: Side, own: Embeddings, targets: Side, other: Embeddings) -> dict[str, Hits]:
    """Compare the cosine of each query and its counterpart with those of the wrong candidates; by metric."""
    count = len(queries.entities)
    units, candidates = normalize_rows(own[:count]), normalize_rows(other)
    right = np.einsum("nd,nd->n", units, candidates[:count])
    rows, numbers, items = np.arange(count), np.arange(len(candidates)), queries.entities
    wrong = {
        METRIC: _nearest(units, candidates, lambda here, there: rows[here, None] != numbers[None, there]),
        f"{OTHER_PAGES}_accuracy": _nearest(
            units, candidates[:count], lambda here, there: items[here, None] != items[None, there]
        ),
    }
    for grade, pairs in targets.distractors.items():
        worst = wrong[f"{grade}_accuracy"] = np.full(count, -np.inf)
        cosines = np.einsum("nd,nd->n", units[pairs[:, 0]], candidates[pairs[:, 1]])
        np.maximum.at(worst, pairs[:, 0], cosines)
    compared = {metric: np.isfinite(cosines) for metric, cosines in wrong.items()}
    return {
        metric: ((cosines < right - TIE_TOLERANCE) & compared[metric], compared[metric])
        for metric, cosines in wrong.items()
    }


def _nearest(
    queries: Embeddings, targets: Embeddings, wrong: Callable[[slice, slice], Flags]
) -> NDArray[np.float64]:
    """Return the highest cosine of each query with the targets that are wrong: (n,)."""
    best = np.full(len(queries), -np.inf)
    for here, there, cosines in similarity_blocks(queries, targets):
        scores = np.where(wrong(here, there), cosines.cpu().numpy(), -np.inf)
        best[here] = np.maximum(best[here], scores.max(axis=1))
    return best
