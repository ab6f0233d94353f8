"""Retrieval in a test set that the pipeline `audit` makes from links: two wikis' sentences about one item."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ease.entities.audit import ANSWER, LEFT, RIGHT, SAME_PAGE, SAME_TYPE
from ease.errors import EaseError
from ease.evaluation.items import mean_items
from ease.evaluation.scores import Score
from ease.evaluation.tasks.base import SubsetFiles, SubsetOptions, Task, Texts
from ease.evaluation.tasks.parallel_sentences import RETRIEVAL_ACCURACY
from ease.evaluation.tasks.set_files import Sides, read_parquet_rows
from ease.similarity.encode import Encode
from ease.similarity.neighbours import TIE_TOLERANCE, Embeddings, Flags, RowNumbers, similarity_blocks
from ease.similarity.vectors import normalize_rows

AUDIT_COLUMNS = ["pair_id", "entity", "side", "grade", "text"]
OTHER_PAGES = "other_pages"
GRADES = (OTHER_PAGES, SAME_TYPE, SAME_PAGE)


class AuditSide(NamedTuple):
    """The sentences of one side of a subset: those of the pairs, in order, and then the further candidates."""

    texts: list[str]
    entities: RowNumbers  # the item of each pair
    distractors: dict[str, RowNumbers]  # (n, 2) by grade: a pair, and the row in `texts` of one of its distractors


class Audit(Task):
    """Retrieval accuracy among all candidates of each subset, both directions averaged, and among those of each grade.

    The accuracy of a grade is the share of sentences that are nearer to their counterpart than to each distractor of
    that grade: other pages, pages of the same type, the same page.
    """

    TYPE = "BitextMining"
    METRICS = (RETRIEVAL_ACCURACY, *(f"{grade}_accuracy" for grade in GRADES))
    Options = SubsetOptions
    options: SubsetOptions

    def files(self) -> SubsetFiles:
        """Return a file for each subset that is named or exists; the folder itself if there is none."""
        options = self.options
        existing = sorted(path.stem for path in options.path.glob("*.parquet"))
        if existing:
            subsets = options.select(existing)
        else:
            # The pairs of languages are not known before the audit is made.
            subsets = options.subsets or ()
            if odd := [subset for subset in subsets if "-" not in subset]:
                raise EaseError(f"Unknown subset {', '.join(odd)}: choose from pairs of languages, such as eo-en.")
        return {subset: (options.path / f"{subset}.parquet",) for subset in subsets} or {"all": (options.path,)}

    def read(self, subset: str, paths: tuple[Path, ...]) -> tuple[AuditSide, AuditSide]:
        """Read both sides of a subset."""
        return read_sides(*paths)

    def parallel(self, subset: str) -> Sides:
        """Read the pairs of a subset."""
        left, right = read_sides(self.options.path / f"{subset}.parquet")
        return Sides(*(side.texts[: len(side.entities)] for side in (left, right)))

    def complete_count(self) -> int:
        """Return the number of subsets."""
        return len(self.files())

    def texts(self, data: tuple[AuditSide, AuditSide]) -> Mapping[str, Texts]:
        """Return both sentences of each pair, of a grade those with a distractor of that grade."""
        count = len(data[0].entities)
        pairs: Texts = list(zip(*(side.texts[:count] for side in data), strict=True))
        texts = {RETRIEVAL_ACCURACY: pairs}
        for grade in (SAME_TYPE, SAME_PAGE):
            rows = np.unique(np.concatenate([side.distractors[grade][:, 0] for side in data]))
            texts[f"{grade}_accuracy"] = [pairs[row] for row in rows.tolist()]
        # Sentences of other pages are distractors only if there is more than one item.
        several = np.unique(data[0].entities).size > 1
        return {**texts, f"{OTHER_PAGES}_accuracy": pairs if several else []}

    def score(self, encode: Encode, subset: str, data: tuple[AuditSide, AuditSide]) -> Iterator[Score]:
        """Yield the main score, and that of each grade of which there are distractors."""
        left, right = data
        left_embeddings = encode(left.texts)
        right_embeddings = encode(right.texts)
        forward = _search(left, left_embeddings, right, right_embeddings)
        backward = _search(right, right_embeddings, left, left_embeddings)
        for metric in self.METRICS:
            # Both directions of a pair are one item, since they depend on the same two sentences.
            hits = np.sum([forward[metric].hits, backward[metric].hits], axis=0)
            queries = np.sum([forward[metric].asked, backward[metric].asked], axis=0)
            if (rows := np.flatnonzero(queries)).size:
                items = mean_items(hits[rows], queries[rows])
                yield self.result(subset, metric, items.value(), items=items)


def read_sides(path: Path) -> tuple[AuditSide, AuditSide]:
    """Read both sides; refuse fewer than 2 pairs, and pairs without exactly one answer of their own on each side."""
    rows = pd.DataFrame([row for _, row in read_parquet_rows(path, AUDIT_COLUMNS)], columns=AUDIT_COLUMNS)
    sides: list[AuditSide] = []
    for name in (LEFT, RIGHT):
        side = rows[rows.side == name]
        answers = side[side.grade == ANSWER].sort_values("pair_id")
        if (
            len(answers) < 2
            or list(answers.pair_id) != list(range(len(answers)))
            or (sides and len(answers) != len(sides[0].entities))
            or answers.text.duplicated().any()
        ):
            raise EaseError(
                f"{path}: not one sentence of its own a side for each pair, or fewer than 2 pairs; make it again by "
                "`kedro run --pipelines=audit`."
            )
        texts = list(dict.fromkeys([*answers.text, *side.text]))
        row_of = {text: row for row, text in enumerate(texts)}
        distractors = {}
        for grade in (SAME_PAGE, SAME_TYPE):
            wrong = side[side.grade == grade]
            pairs = zip(wrong.pair_id, map(row_of.__getitem__, wrong.text), strict=True)
            distractors[grade] = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
        sides.append(AuditSide(texts, answers.entity.to_numpy(dtype=np.int64), distractors))
    return sides[0], sides[1]


class _Hits(NamedTuple):
    """Whether each pair's right sentence is nearer than all wrong candidates, and which pairs have some: (n,) each."""

    hits: Flags
    asked: Flags


def _search(
    queries: AuditSide, query_rows: Embeddings, targets: AuditSide, target_rows: Embeddings
) -> dict[str, _Hits]:
    """Search the right sentence of each pair among the wrong candidates of each metric."""
    count = len(queries.entities)
    units = normalize_rows(query_rows[:count])
    candidates = normalize_rows(target_rows)

    def nearest(targets: Embeddings, wrong: Callable[[slice, slice], Flags]) -> NDArray[np.float64]:
        """Return the highest cosine of each query with the targets that are wrong: (n,)."""
        best = np.full(count, -np.inf)
        for here, there, cosines in similarity_blocks(units, targets):
            scores = np.where(wrong(here, there), cosines.cpu().numpy(), -np.inf)
            best[here] = np.maximum(best[here], scores.max(axis=1))
        return best

    right = np.einsum("nd,nd->n", units, candidates[:count])
    rows = np.arange(count)
    numbers = np.arange(len(candidates))
    items = queries.entities
    wrong = {
        RETRIEVAL_ACCURACY: nearest(candidates, lambda here, there: rows[here, None] != numbers[None, there]),
        f"{OTHER_PAGES}_accuracy": nearest(
            candidates[:count], lambda here, there: items[here, None] != items[None, there]
        ),
    }
    for grade, pairs in targets.distractors.items():
        worst = np.full(count, -np.inf)
        cosines = np.einsum("nd,nd->n", units[pairs[:, 0]], candidates[pairs[:, 1]])
        np.maximum.at(worst, pairs[:, 0], cosines)
        wrong[f"{grade}_accuracy"] = worst
    return {
        metric: _Hits((cosines < right - TIE_TOLERANCE) & np.isfinite(cosines), np.isfinite(cosines))
        for metric, cosines in wrong.items()
    }
