"""BUCC 2018: mining of parallel sentences from monolingual corpora (Zweigenbaum et al., 2018; appendix C, Table 11).

A sentence that a corpus repeats is one query or one candidate, so that no neighbour of the margin counts twice (section
6.2 of DuEAM; likewise in XTREME, which EASE and mSimCSE follow).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.items import mean_items
from ease.evaluation.tasks import Score, Texts, error_prefix
from ease.evaluation.tasks.set_files import TableOptions, TableTask, read_pairs
from ease.similarity.encode import Encode
from ease.similarity.neighbours import Rows, mutual_neighbours
from ease.similarity.retrieval import best_pairs, best_threshold, margin_scores

logger = logging.getLogger(__name__)

BY_COSINE, BY_MARGIN = "f1", "f1_margin"
TUNED = "_tuned"  # ending of the metrics whose threshold is the training set's own, as in Table 3 of DuEAM
SAMPLE, TRAINING, TEST = "sample", "training", "test"


class BuccOptions(TableOptions):
    """Queries, targets and gold pairs of the sample, the training and, if chosen, the test set."""

    neighbours: int = Field(ge=2, description="nearest neighbours on each side of the margin (k)")
    test: bool = Field(
        False, description="score the test set with the threshold of the training set; its gold pairs are not published"
    )


class Split(NamedTuple):
    """Two monolingual corpora and their gold pairs, (pairs, 2): rows of queries and of English targets."""

    queries: list[str]
    targets: list[str]
    gold: Rows


Splits = dict[str, Split]


class BitextMining(TableTask):
    """F1 of the mined pairs for each language pair, and their means.

    `f1` (by cosine) and `f1_margin` are on the training set, with the threshold of the sample set. `f1_tuned` and
    `f1_margin_tuned` are on the test set, with the threshold of the training set, or without a test set on the training
    set itself.
    """

    KIND, Options = "BitextMining", BuccOptions
    METRICS = (BY_COSINE, BY_MARGIN, BY_COSINE + TUNED, BY_MARGIN + TUNED)

    def options(self, **given: Any) -> Any:
        """Return the task's options, with the test set among the parts if it is chosen."""
        own = super().options(**given)
        return own.model_copy(update={"parts": (*own.parts, TEST)}) if own.test else own

    def read(self, options: BuccOptions, subset: str, paths: tuple[Path, ...]) -> Splits:
        """Read the splits of a pair."""
        return {name: read_split(*paths[3 * n : 3 * n + 3]) for n, name in enumerate(options.parts)}

    def texts(self, options: BuccOptions, data: Splits) -> Mapping[str, Texts]:
        """Return each query of the scored set."""
        scored = dict.fromkeys((BY_COSINE, BY_MARGIN), TRAINING)
        scored |= dict.fromkeys((BY_COSINE + TUNED, BY_MARGIN + TUNED), TEST if options.test else TRAINING)
        return {metric: [(query,) for query in data[split].queries] for metric, split in scored.items()}

    def score(self, encode: Encode, options: BuccOptions, subset: str, data: Splits) -> Iterator[Score]:
        """F1 in points, by cosine and by margin, with the best threshold of the sample set and of the training set.

        Each query is paired with its best target, by cosine and by margin among its nearest targets.
        """
        mined = {}
        for name, split in data.items():
            with error_prefix(name):
                forward, backward = mutual_neighbours(
                    encode(split.queries),
                    encode(split.targets),
                    options.neighbours,
                    progress=f"{self.name} {subset} {name}",
                )
            mined[name] = {
                BY_COSINE: best_pairs(forward.cosines, forward.rows, split.gold),
                BY_MARGIN: best_pairs(margin_scores(forward, backward), forward.rows, split.gold),
            }
        scored = TEST if options.test else TRAINING
        note = "" if options.test else "threshold tuned on the scored set"
        for tuned, other, ending, remark in ((SAMPLE, TRAINING, "", ""), (TRAINING, scored, TUNED, note)):
            for metric in (BY_COSINE, BY_MARGIN):
                threshold, pairs = best_threshold(mined[tuned][metric]), mined[other][metric]
                logger.info("%s %s: threshold %.4f of %s", self.name, subset, threshold, metric + ending)
                # A query contributes to F1 twice its hits over its mined and its gold pairs.
                chosen = pairs.scores >= threshold
                gold = np.bincount(data[other].gold[:, 0], minlength=len(chosen))
                items = mean_items(2.0 * (pairs.right & chosen), chosen + gold)
                value = 100 * (2 * int(np.sum(pairs.right & chosen)) / (int(np.sum(chosen)) + pairs.gold))
                yield Score(self.name, subset, metric + ending, value, note=remark, items=items)


def read_corpus(path: Path) -> tuple[dict[str, int], list[str]]:
    """Read lines of an id, a tab and a sentence; return each id's row among the distinct sentences, and these."""
    rows: dict[str, int] = {}
    sentences: dict[str, int] = {}
    for place, name, sentence in read_pairs(path, "an id and a sentence"):
        if name in rows:
            raise EaseError(f"{place}: the id {name} occurs twice; fetch the file again.")
        rows[name] = sentences.setdefault(sentence, len(sentences))
    return rows, list(sentences)


def read_split(queries: Path, targets: Path, gold: Path) -> Split:
    """Read both corpora and the gold pairs of their ids."""
    (query_rows, query_sentences), (target_rows, target_sentences) = map(read_corpus, (queries, targets))
    pairs = []
    for place, query, target in read_pairs(gold, "two ids"):
        for name, rows, path in ((query, query_rows, queries), (target, target_rows, targets)):
            if name not in rows:
                raise EaseError(f"{place}: the id {name} is not in {path}; fetch both again.")
        pairs.append((query_rows[query], target_rows[target]))
    return Split(query_sentences, target_sentences, np.unique(np.array(pairs, dtype=np.int64), axis=0))
