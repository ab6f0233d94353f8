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
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.items import Items, mean_items
from ease.evaluation.scores import Score
from ease.evaluation.tasks.base import Texts, error_prefix
from ease.evaluation.tasks.set_files import TableOptions, TableTask, read_pairs
from ease.options import split_words
from ease.similarity.encode import Encode
from ease.similarity.neighbours import RowNumbers, mutual_neighbours
from ease.similarity.retrieval import MinedPairs, best_pairs, best_threshold, margin_scores

logger = logging.getLogger(__name__)

BY_COSINE = "f1"
BY_MARGIN = "f1_margin"
TUNED = "_tuned"
"""Ending of the metrics whose threshold is the training set's own, as in Table 3 of DuEAM"""
SAMPLE_SPLIT = "sample"
TRAINING_SPLIT = "training"
TEST_SPLIT = "test"


class BuccOptions(TableOptions):
    """Queries, targets and gold pairs of the sample, the training and, if chosen, the test set."""

    neighbours: int = Field(ge=2, description="nearest neighbours on each side of the margin (k)")
    test: bool = Field(
        False, description="score the test set with the threshold of the training set; its gold pairs are not published"
    )

    @model_validator(mode="before")
    @classmethod
    def _read_test_set(cls, values: Any) -> Any:
        """Add the test set to the parts if it is scored."""
        if not isinstance(values, Mapping) or not values.get("test"):
            return values
        parts = split_words(values.get("parts", ()))
        return {**values, "parts": tuple(dict.fromkeys([*parts, TEST_SPLIT]))}


class Corpora(NamedTuple):
    """Two monolingual corpora and their gold pairs, (pairs, 2): rows of queries and of English targets."""

    queries: list[str]
    targets: list[str]
    gold: RowNumbers


CorporaBySplit = dict[str, Corpora]


class BitextMining(TableTask):
    """F1 of the mined pairs for each language pair, and their means.

    `f1` (by cosine) and `f1_margin` are on the training set, with the threshold of the sample set. `f1_tuned` and
    `f1_margin_tuned` are on the test set, with the threshold of the training set, or without a test set on the training
    set itself.
    """

    TYPE = "BitextMining"
    METRICS = (BY_COSINE, BY_MARGIN, BY_COSINE + TUNED, BY_MARGIN + TUNED)
    Options = BuccOptions
    options: BuccOptions

    @property
    def scored_split(self) -> str:
        """The split that is scored with the threshold of the training set."""
        return TEST_SPLIT if self.options.test else TRAINING_SPLIT

    def read(self, subset: str, paths: tuple[Path, ...]) -> CorporaBySplit:
        """Read the splits of a pair, each with three files."""
        starts = range(0, len(paths), 3)
        return {
            split: read_corpora(*paths[start : start + 3])
            for split, start in zip(self.options.parts, starts, strict=True)
        }

    def texts(self, data: CorporaBySplit) -> Mapping[str, Texts]:
        """Return each query of the scored set."""
        splits = dict.fromkeys((BY_COSINE, BY_MARGIN), TRAINING_SPLIT)
        splits |= dict.fromkeys((BY_COSINE + TUNED, BY_MARGIN + TUNED), self.scored_split)
        return {metric: [(query,) for query in data[split].queries] for metric, split in splits.items()}

    def score(self, encode: Encode, subset: str, data: CorporaBySplit) -> Iterator[Score]:
        """Yield F1 in points, by cosine and by margin, with the best threshold of the sample and of the training set.

        Each query is paired with its best target, by cosine and by margin among its nearest targets.
        """
        mined = {split: self._mine(encode, subset, split, corpora) for split, corpora in data.items()}
        note = "" if self.options.test else "threshold tuned on the scored set"
        for tuned, scored, ending, remark in (
            (SAMPLE_SPLIT, TRAINING_SPLIT, "", ""),
            (TRAINING_SPLIT, self.scored_split, TUNED, note),
        ):
            for metric in (BY_COSINE, BY_MARGIN):
                threshold = best_threshold(mined[tuned][metric])
                logger.info("%s %s: threshold %.4f of %s", self.name, subset, threshold, metric + ending)
                items, value = _f1(mined[scored][metric], data[scored].gold, threshold)
                yield self.result(subset, metric + ending, value, note=remark, items=items)

    def _mine(self, encode: Encode, subset: str, split: str, corpora: Corpora) -> dict[str, MinedPairs]:
        """Pair each query of a split with its best target, by cosine and by margin."""
        with error_prefix(split):
            forward, backward = mutual_neighbours(
                encode(corpora.queries),
                encode(corpora.targets),
                self.options.neighbours,
                progress=f"{self.name} {subset} {split}",
            )
        return {
            BY_COSINE: best_pairs(forward.cosines, forward.rows, corpora.gold),
            BY_MARGIN: best_pairs(margin_scores(forward, backward), forward.rows, corpora.gold),
        }


def _f1(pairs: MinedPairs, gold: RowNumbers, threshold: float) -> tuple[Items, float]:
    """Return the items and the value, in points, of F1 of the mined pairs that reach a threshold."""
    accepted = pairs.scores >= threshold
    hits = pairs.right & accepted
    # A query contributes to F1 twice its hits over its mined and its gold pairs.
    gold_counts = np.bincount(gold[:, 0], minlength=len(accepted))
    items = mean_items(2.0 * hits, accepted + gold_counts)
    return items, 100 * (2 * int(np.sum(hits)) / (int(np.sum(accepted)) + pairs.gold))


def read_corpus(path: Path) -> tuple[dict[str, int], list[str]]:
    """Read lines of an id, a tab and a sentence; return each id's row among the distinct sentences, and these."""
    rows: dict[str, int] = {}
    sentences: dict[str, int] = {}
    for place, name, sentence in read_pairs(path, "an id and a sentence"):
        if name in rows:
            raise EaseError(f"{place}: the id {name} occurs twice; fetch the file again.")
        rows[name] = sentences.setdefault(sentence, len(sentences))
    return rows, list(sentences)


def read_corpora(queries: Path, targets: Path, gold: Path) -> Corpora:
    """Read both corpora and the gold pairs of their ids."""
    (query_rows, query_sentences), (target_rows, target_sentences) = map(read_corpus, (queries, targets))
    pairs = []
    for place, query, target in read_pairs(gold, "two ids"):
        for name, rows, path in ((query, query_rows, queries), (target, target_rows, targets)):
            if name not in rows:
                raise EaseError(f"{place}: the id {name} is not in {path}; fetch both again.")
        pairs.append((query_rows[query], target_rows[target]))
    return Corpora(query_sentences, target_sentences, np.unique(np.array(pairs, dtype=np.int64), axis=0))
