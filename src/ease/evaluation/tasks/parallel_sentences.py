"""Parallel sentences, scored by retrieval of each sentence's translation by cosine (section 5.3)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.encodes import Encode
from ease.evaluation.items import mean_items
from ease.evaluation.retrieval import parallel_hits
from ease.evaluation.tasks import Score, SubsetTask, TaskOptions, Texts
from ease.evaluation.tasks.set_files import SetFiles, Sides, TableOptions, TableTask, required

logger = logging.getLogger(__name__)

METRIC = "retrieval_accuracy"


class ParallelSet(SetFiles):
    """A file of parallel sentences, or two."""

    sentences: int | None = Field(
        None, ge=2, description="number of pairs to read, the first ones; null: all"
    )


class ParallelOptions(TableOptions, ParallelSet):
    """Options of parallel sentences."""

    sets: Mapping[str, ParallelSet] = Field(
        {}, description="sets by name, with what differs from the task's own files"
    )
    pairs: dict[str, tuple[str, str]] = Field(
        {}, description="sets of two aligned files each, by name; short for `sets`"
    )
    distinct: bool = Field(
        True,
        description="skip blank and repeated sentences, which would tie with themselves; otherwise blank ones are "
        "refused",
    )


class ParallelSentences(SubsetTask, TableTask):
    """Retrieval in both directions; a translation that ties with another sentence is a miss."""

    KIND = "BitextMining"
    METRICS = (METRIC,)
    Options: ClassVar[type[TaskOptions]] = ParallelOptions

    def options(self, **given: Any) -> Any:
        """Return the task's options; a user's `pairs` are sets of two files."""
        own = super().options(**given)
        lines = ParallelSet(format="lines", columns={"left": 1, "right": 2})
        sets = {name: lines.model_copy(update={"file": files}) for name, files in own.pairs.items()}
        return own.model_copy(update={"sets": {**own.sets, **sets}})

    def read(self, options: Any, subset: str, paths: tuple[Path, ...]) -> Sides:
        """Read both sides of a set."""
        rows = self.rows(options, subset, paths)
        if options.distinct:
            pairs: Iterable[tuple[str, ...]] = _distinct((row["left"], row["right"]) for _, row in rows)
        else:
            pairs = (tuple(required(place, row, "left", "right")) for place, row in rows)
        found = list(islice(pairs, options.form(subset).sentences))
        if len(found) < 2:
            raise EaseError(
                f"{' and '.join(map(str, paths))}: {len(found)} pair(s) of sentences, and retrieval needs 2; give "
                "others."
            )
        left, right = zip(*found, strict=True)
        return Sides(list(left), list(right))

    def parallel(self, options: Any, subset: str) -> Sides:
        """Read both sides of a subset such as `sw-en`, of as many sentences as there are."""
        form = options.form(subset)
        return self.read(options, subset, options.locate(form, subset))

    def texts(self, options: Any, data: Sides) -> Mapping[str, Texts]:
        """Return each sentence with its translation."""
        return {METRIC: list(zip(*data, strict=True))}

    def score(self, encode: Encode, options: Any, subset: str, data: Sides) -> Iterator[Score]:
        """Share of sentences, in points, whose translation is found, averaged over both directions."""
        yield retrieval_score(self.name, subset, *np.split(encode([*data.left, *data.right]), 2))


TASK = ParallelSentences


def retrieval_score(task: str, subset: str, left: np.ndarray, right: np.ndarray) -> Score:
    """Return the share of translations that are found, in points, averaged over both directions (section 5.3)."""
    hits = np.array(parallel_hits(left, right))  # (directions, rows)
    score = Score(
        task, subset, METRIC, 100 * float(hits.mean(axis=1).mean()), items=mean_items(hits.mean(axis=0))
    )
    logger.info("%s %s: %.1f of 100 retrieved", task, subset, score.value)
    return score


def _distinct(rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    seen: tuple[set[str], set[str]] = set(), set()
    for pair in rows:
        if all(pair) and not any(text in texts for text, texts in zip(pair, seen, strict=True)):
            for text, texts in zip(pair, seen, strict=True):
                texts.add(text)
            yield pair
