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
from ease.evaluation.tasks import Files, Score, SubsetOptions, Task, Texts
from ease.evaluation.tasks.parallel_sentences import METRIC
from ease.evaluation.tasks.set_files import Sides, read_parquet
from ease.similarity.encode import Encode
from ease.similarity.neighbours import TIE_TOLERANCE, Embeddings, Flags, Rows, similarity_blocks
from ease.similarity.vectors import normalize_rows

COLUMNS = ["pair_id", "entity", "side", "grade", "text"]
OTHER_PAGES = "other_pages"
GRADES = (OTHER_PAGES, SAME_TYPE, SAME_PAGE)


class Side(NamedTuple):
    """The sentences of one side of a subset: those of the pairs, in order, and then the further candidates."""

    texts: list[str]
    entities: Rows  # the item of each pair
    distractors: dict[str, Rows]  # (n, 2) by grade: a pair, and the row in `texts` of one of its distractors


class Audit(Task):
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
            raise EaseError(f"Unknown subset {', '.join(odd)}: choose from pairs of languages, such as eo-en.")
        subsets = options.chosen(found) if found else options.subsets or ()
        return {subset: (options.path / f"{subset}.parquet",) for subset in subsets} or {"all": (options.path,)}

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

    def score(self, encode: Encode, options: SubsetOptions, subset: str, data: tuple[Side, Side]) -> Iterator[Score]:
        """Yield the main score, and that of each grade of which there are distractors."""
        left, right = data
        own, other = (encode(side.texts) for side in data)
        hits = _search(left, own, right, other), _search(right, other, left, own)
        for metric in self.METRICS:
            # Both directions of a pair are one item, since they depend on the same two sentences.
            found, asked = (np.sum(flags, axis=0) for flags in zip(*(one[metric] for one in hits), strict=True))
            if (rows := np.flatnonzero(asked)).size:
                items = mean_items(found[rows], asked[rows])
                yield Score(self.name, subset, metric, items.value(), items=items)


def read_sides(path: Path) -> tuple[Side, Side]:
    """Read both sides; refuse fewer than 2 pairs, and pairs without exactly one answer of their own on each side."""
    rows = pd.DataFrame([row for _, row in read_parquet(path, COLUMNS)], columns=COLUMNS)
    sides: list[Side] = []
    for name in (LEFT, RIGHT):
        own = rows[rows.side == name]
        answers = own[own.grade == ANSWER].sort_values("pair_id")
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
        texts = list(dict.fromkeys([*answers.text, *own.text]))
        row_of = {text: row for row, text in enumerate(texts)}
        distractors = {}
        for grade in (SAME_PAGE, SAME_TYPE):
            wrong = own[own.grade == grade]
            pairs = zip(wrong.pair_id, map(row_of.__getitem__, wrong.text), strict=True)
            distractors[grade] = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
        sides.append(Side(texts, answers.entity.to_numpy(dtype=np.int64), distractors))
    return sides[0], sides[1]


def _search(queries: Side, own: Embeddings, targets: Side, other: Embeddings) -> dict[str, tuple[Flags, Flags]]:
    """By metric, whether each pair's right sentence is nearer than all wrong candidates, and which pairs have some."""
    count = len(queries.entities)
    units, candidates = normalize_rows(own[:count]), normalize_rows(other)

    def nearest(targets: Embeddings, wrong: Callable[[slice, slice], Flags]) -> NDArray[np.float64]:
        """Return the highest cosine of each query with the targets that are wrong: (n,)."""
        best = np.full(count, -np.inf)
        for here, there, cosines in similarity_blocks(units, targets):
            scores = np.where(wrong(here, there), cosines.cpu().numpy(), -np.inf)
            best[here] = np.maximum(best[here], scores.max(axis=1))
        return best

    right = np.einsum("nd,nd->n", units, candidates[:count])
    rows, numbers, items = np.arange(count), np.arange(len(candidates)), queries.entities
    wrong = {
        METRIC: nearest(candidates, lambda here, there: rows[here, None] != numbers[None, there]),
        f"{OTHER_PAGES}_accuracy": nearest(
            candidates[:count], lambda here, there: items[here, None] != items[None, there]
        ),
    }
    for grade, pairs in targets.distractors.items():
        worst = wrong[f"{grade}_accuracy"] = np.full(count, -np.inf)
        cosines = np.einsum("nd,nd->n", units[pairs[:, 0]], candidates[pairs[:, 1]])
        np.maximum.at(worst, pairs[:, 0], cosines)
    return {
        metric: ((cosines < right - TIE_TOLERANCE) & np.isfinite(cosines), np.isfinite(cosines))
        for metric, cosines in wrong.items()
    }
