"""BUCC 2018: mining of parallel sentences from monolingual corpora (Zweigenbaum et al., 2018; appendix C, Table 11).

A sentence that a corpus repeats is one query or one candidate, so that no neighbour of the margin counts twice (section
6.2 of DuEAM; likewise in XTREME, which EASE and mSimCSE follow).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.items import Items, mean_items
from ease.evaluation.mining import MinedPairs, best_pairs, best_threshold, margin_scores, mining_score
from ease.evaluation.search import Rows, mutual_neighbours
from ease.evaluation.tasks import Encode, Files, Score, averages, error_prefix, score_subsets
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.io.text_tables import read_lines

logger = logging.getLogger(__name__)

TASK, METRIC, MARGIN_METRIC = "bucc", "f1", "f1_margin"
TUNED = "_tuned"
"""Ending of the metrics whose threshold is the training set's own, as in Table 3 of DuEAM."""
KIND = "BitextMining"
SOURCE = (
    "https://comparable.limsi.fr/bucc2018/bucc2018-task.html: "
    "bucc2018-{de,fr,ru,zh}-en.{sample,training}-gold.tar.bz2, which unpack to bucc2018/ (no licence stated)"
)
LANGUAGES = ("de", "fr", "ru", "zh")
SAMPLE, TRAINING, TEST = "sample", "training", "test"


class Options(SubsetOptions):
    """The folder of {de,fr,ru,zh}-en/{de,fr,ru,zh}-en.{sample,training}.{de,fr,ru,zh,en,gold}."""

    neighbours: int = Field(4, ge=2, description="nearest neighbours on each side of the margin (k)")
    test: bool = Field(
        False,
        description="score the test set with the threshold of the training set; its gold pairs are not published",
    )

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits to read."""
        return (SAMPLE, TRAINING, TEST) if self.test else (SAMPLE, TRAINING)


@dataclass(frozen=True)
class Split:
    """Two monolingual corpora and their gold pairs, (pairs, 2): rows of queries and of English targets."""

    queries: list[str]
    targets: list[str]
    gold: Rows


def files(options: Options) -> Files:
    """Queries, targets and gold pairs of the sample set, of the training set and, if chosen, of the test set."""
    known = {}
    for language in LANGUAGES:
        pair = f"{language}-en"
        names = [f"{pair}.{split}.{part}" for split in options.splits for part in (language, "en", "gold")]
        known[pair] = tuple(options.path / pair / name for name in names)
    return options.select(known)


def _fields(path: Path, what: str) -> Iterator[tuple[str, str, str]]:
    """Yield the place and both fields of each line."""
    for number, line in read_lines(path):
        place = f"{path}, line {number}"
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != 2 or not all(fields):
            raise EaseError(f"{place}: not {what} with one tab between; fetch the file again.")
        yield place, fields[0], fields[1]


def read_corpus(path: Path) -> tuple[dict[str, int], list[str]]:
    """Read lines of an id, a tab and a sentence; return each id's row among the distinct sentences, and these."""
    rows: dict[str, int] = {}
    sentences: dict[str, int] = {}
    for place, name, sentence in _fields(path, "an id and a sentence"):
        if name in rows:
            raise EaseError(f"{place}: the id {name} occurs twice; fetch the file again.")
        rows[name] = sentences.setdefault(sentence, len(sentences))
    if not sentences:
        raise EaseError(f"{path}: contains no sentence; fetch it again.")
    return rows, list(sentences)


def read_split(queries: Path, targets: Path, gold: Path) -> Split:
    """Read both corpora and the gold pairs of their ids."""
    query_rows, query_sentences = read_corpus(queries)
    target_rows, target_sentences = read_corpus(targets)
    pairs = []
    for place, query, target in _fields(gold, "two ids"):
        for name, rows, path in ((query, query_rows, queries), (target, target_rows, targets)):
            if name not in rows:
                raise EaseError(f"{place}: the id {name} is not in {path}; fetch both again.")
        pairs.append((query_rows[query], target_rows[target]))
    if not pairs:
        raise EaseError(f"{gold}: contains no pair; fetch it again.")
    return Split(query_sentences, target_sentences, np.unique(np.array(pairs, dtype=np.int64), axis=0))


def mine(encode: Encode, split: Split, neighbours: int, progress: str) -> dict[str, MinedPairs]:
    """Pair each query with its best target, by cosine and by margin among its nearest targets; by metric."""
    forward, backward = mutual_neighbours(
        encode(split.queries), encode(split.targets), neighbours, progress=progress
    )
    return {
        METRIC: best_pairs(forward.cosines, forward.rows, split.gold),
        MARGIN_METRIC: best_pairs(margin_scores(forward, backward), forward.rows, split.gold),
    }


def score_pair(encode: Encode, subset: str, paths: tuple[Path, ...], options: Options) -> list[Score]:
    """F1 in points, by cosine and by margin, with the best threshold of the sample set and of the training set."""
    # All files are read before the first sentence is encoded.
    splits = {name: read_split(*paths[3 * n : 3 * n + 3]) for n, name in enumerate(options.splits)}
    mined = {}
    for name, split in splits.items():
        with error_prefix(f"{TASK} {subset} {name}"):
            mined[name] = mine(encode, split, options.neighbours, f"{TASK} {subset} {name}")
    scored = TEST if options.test else TRAINING
    note = "" if options.test else "threshold tuned on the scored set"
    scores = []
    for tuned, other, ending, remark in ((SAMPLE, TRAINING, "", ""), (TRAINING, scored, TUNED, note)):
        for metric in (METRIC, MARGIN_METRIC):
            both = mined[tuned][metric], mined[other][metric]
            value, threshold = _f1(*both, f"{TASK} {subset}: {metric}{ending}")
            items = query_items(splits[other], both[1], threshold)
            scores.append(Score(TASK, subset, metric + ending, value, note=remark, items=items))
    return scores


def query_items(split: Split, mined: MinedPairs, threshold: float) -> Items:
    """Return what each query contributes to F1 at a threshold: twice its hits over its mined and its gold pairs."""
    found = mined.scores.astype(np.float64) >= threshold
    gold = np.bincount(split.gold[:, 0], minlength=len(split.queries))
    return mean_items(2.0 * (mined.right & found), [(query,) for query in split.queries], found + gold)


def _f1(tuned: MinedPairs, scored: MinedPairs, name: str) -> tuple[float, float]:
    """Return F1, in points, of the scored pairs at the best threshold of the tuned pairs, and that threshold."""
    threshold = best_threshold(tuned)
    score = mining_score(scored, threshold)
    logger.info(
        "%s %.1f (precision %.1f, recall %.1f) of %d pairs at threshold %.4f",
        *(name, 100 * score.f1, 100 * score.precision, 100 * score.recall, scored.gold, threshold),
    )
    return 100 * score.f1, threshold


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """F1 of the mined pairs for each language pair, and their means.

    `f1` (by cosine) and `f1_margin` are on the training set, with the threshold of the sample set. `f1_tuned` and
    `f1_margin_tuned` are on the test set, with the threshold of the training set, or without a test set on the training
    set itself.
    """
    scores = score_subsets(TASK, files(options), partial(score_pair, encode, options=options))
    return [*scores, *averages(scores, len(LANGUAGES))]
