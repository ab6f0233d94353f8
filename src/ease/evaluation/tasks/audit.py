"""Retrieval in a test set that the pipeline `audit` makes from links: two wikis' titles and sentences of one item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ease.entities.audit import ANSWER, LEFT, RIGHT, SAME_LINK, SAME_PAGE, SAME_TYPE, TITLE_KINDS, WORD_TITLE
from ease.errors import EaseError
from ease.evaluation.items import mean_items
from ease.evaluation.scores import Score
from ease.evaluation.tasks.base import SubsetFiles, SubsetOptions, Task, Texts
from ease.evaluation.tasks.parallel_sentences import RETRIEVAL_ACCURACY
from ease.evaluation.tasks.set_files import Sides, read_parquet_rows
from ease.lazy import pd
from ease.similarity.encode import Encode, encode_for
from ease.similarity.neighbours import (
    TIE_TOLERANCE,
    Embeddings,
    Flags,
    RowNumbers,
    nearest_neighbours,
    similarity_blocks,
)
from ease.similarity.retrieval import csls_ranks
from ease.similarity.vectors import Floats, normalize_rows, unit_rows

AUDIT_COLUMNS = ["pair_id", "entity", "side", "grade", "kind", "text"]
OTHER_PAGES = "other_pages"
GRADES = (OTHER_PAGES, SAME_TYPE, SAME_LINK, SAME_PAGE)

AUDIT_SCORE = "audit_score"
KEPT_NEIGHBOURS = "kept_neighbours"
RECIPROCAL_RANK = "reciprocal_rank"
FREE_RECIPROCAL_RANK = "free_reciprocal_rank"
WORD_RECIPROCAL_RANK = "word_reciprocal_rank"
SENTENCE_RECIPROCAL_RANK = "sentence_reciprocal_rank"
HUBS = "hubs"

NEIGHBOURS = 10
"""Neighbours of the k-occurrence and of CSLS, as in both papers"""
HUB_DEVIATIONS = 2
"""Standard deviations above the mean k-occurrence above which a text is a hub"""


class AuditSide(NamedTuple):
    """The texts of one side of a pool: those of the pairs, in order, and then the further candidates."""

    texts: list[str]
    entities: RowNumbers  # the item of each pair
    words: Flags  # whether each pair is one of common nouns
    distractors: dict[str, RowNumbers]  # (n, 2) by grade: a pair, and the row in `texts` of one of its distractors


class AuditPool(NamedTuple):
    """Pairs that are candidates of each other: all titles or all sentences of a subset."""

    left: AuditSide
    right: AuditSide

    def pairs(self) -> Texts:
        """Return both texts of each pair."""
        count = len(self.left.entities)
        return list(zip(self.left.texts[:count], self.right.texts[:count], strict=True))


class AuditSet(NamedTuple):
    """The titles and the sentences of a subset; None if there are none."""

    titles: AuditPool | None
    sentences: AuditPool | None

    @property
    def judged(self) -> AuditPool:
        """The pool of the main score: the titles if there are any."""
        pool = self.titles or self.sentences
        # `read_audit` refuses a file without both.
        assert pool is not None
        return pool

    @property
    def pivot_texts(self) -> list[str]:
        """Texts whose neighbours an encoder should keep: the pivot's sentences with distractors, or its titles."""
        return (self.sentences or self.judged).right.texts


class AuditTaskOptions(SubsetOptions):
    """Parameters of the audit as a task."""

    start: str | None = Field(
        None,
        description="starting encoder, a folder or hub name, whose neighbours the main score should keep; null: none",
    )


class Audit(Task):
    """Mean reciprocal rank, times the square root of the proportion of the starting encoder's neighbours kept.

    The rank is that of the right title. Titles are translations; sentences about one item are not, and any training run
    on a wiki raises their scores. Training that changes what sentences mean raises even the titles' scores, but loses
    the neighbours that the starting encoder finds for the pivot's sentences. With the square root, the score agrees
    best with Tatoeba (docs/experiments.md). Without `start`, all neighbours count as kept.

    Beside the main score, both of its factors, those of common nouns and of sentences alone, what needs no training
    (each language centred, CSLS), the share of hubs among the candidates, and the retrieval accuracy of sentences among
    all candidates and those of each grade: the share of sentences that are nearer to their counterpart than to each
    distractor of that grade.

    References: Radovanović et al. 2010 (JMLR 11), "Hubs in space", for the k-occurrence and its hubs; Conneau et al.
    2018, "Word translation without parallel data", for CSLS.
    """

    TYPE = "BitextMining"
    METRICS = (
        AUDIT_SCORE,
        KEPT_NEIGHBOURS,
        RECIPROCAL_RANK,
        FREE_RECIPROCAL_RANK,
        HUBS,
        WORD_RECIPROCAL_RANK,
        SENTENCE_RECIPROCAL_RANK,
        RETRIEVAL_ACCURACY,
        *(f"{grade}_accuracy" for grade in GRADES),
    )
    Options = AuditTaskOptions
    options: AuditTaskOptions

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

    def read(self, subset: str, paths: tuple[Path, ...]) -> AuditSet:
        """Read the titles and sentences of a subset."""
        return read_audit(*paths)

    def parallel(self, subset: str) -> Sides:
        """Read the pairs of a subset: its sentences, or its titles if it has none."""
        data = read_audit(self.options.path / f"{subset}.parquet")
        pool = data.sentences or data.titles
        assert pool is not None
        return Sides(*(side.texts[: len(side.entities)] for side in pool))

    def complete_count(self) -> int:
        """Return the number of subsets."""
        return len(self.files())

    def texts(self, data: AuditSet) -> Mapping[str, Texts]:
        """Return both texts of each pair, of a grade those with a distractor of that grade."""
        judged_pairs = data.judged.pairs()
        texts = dict.fromkeys((AUDIT_SCORE, RECIPROCAL_RANK, FREE_RECIPROCAL_RANK), judged_pairs)
        words = data.judged.left.words.tolist()
        texts[WORD_RECIPROCAL_RANK] = [pair for pair, is_word in zip(judged_pairs, words, strict=True) if is_word]
        if data.sentences is None:
            return texts
        pairs = data.sentences.pairs()
        texts |= {SENTENCE_RECIPROCAL_RANK: pairs, RETRIEVAL_ACCURACY: pairs}
        for grade in (SAME_TYPE, SAME_LINK, SAME_PAGE):
            rows = np.unique(np.concatenate([side.distractors[grade][:, 0] for side in data.sentences]))
            texts[f"{grade}_accuracy"] = [pairs[row] for row in rows.tolist()]
        # Sentences of other pages are distractors only if there is more than one item.
        several = np.unique(data.sentences.left.entities).size > 1
        if not several:
            pairs = []
        return {**texts, f"{OTHER_PAGES}_accuracy": pairs}

    def score(self, encode: Encode, subset: str, data: AuditSet) -> Iterator[Score]:
        """Yield the main score, and the others for which there are pairs."""
        pool = data.judged
        left = normalize_rows(encode(pool.left.texts))
        right = normalize_rows(encode(pool.right.texts))
        ranks = _reciprocal_ranks(left, right, len(pool.left.entities))
        neighbours_kept = 1.0
        if self.options.start is not None:
            neighbours_kept = self._neighbours_kept(encode, data.pivot_texts)
        note = ""
        if data.titles is None:
            note = "sentences: there are no titles"
        yield self._mean(subset, AUDIT_SCORE, np.sqrt(neighbours_kept) * ranks, note)
        yield self.result(subset, KEPT_NEIGHBOURS, 100 * neighbours_kept)
        yield self._mean(subset, RECIPROCAL_RANK, ranks)
        yield self._mean(subset, FREE_RECIPROCAL_RANK, _free_reciprocal_ranks(left, right, len(ranks)))
        yield self.result(subset, HUBS, 100 * _hub_share(left, right))
        if pool.left.words.any():
            yield self._mean(subset, WORD_RECIPROCAL_RANK, ranks[pool.left.words])
        if data.sentences is not None:
            yield from self._score_sentences(encode, subset, data.sentences)

    def _neighbours_kept(self, encode: Encode, texts: list[str]) -> float:
        """Return the mean share of each text's nearest neighbours that it also has by the starting encoder."""
        before = _start_neighbours(str(self.options.start), self.name, tuple(texts))
        after = _neighbours(encode(texts))
        common = [len(np.intersect1d(*rows)) for rows in zip(before, after, strict=True)]
        return float(np.mean(common)) / before.shape[1]

    def _mean(self, subset: str, metric: str, values: Floats, note: str = "") -> Score:
        items = mean_items(values)
        return self.result(subset, metric, items.value(), items=items, note=note)

    def _score_sentences(self, encode: Encode, subset: str, pool: AuditPool) -> Iterator[Score]:
        """Yield the rank and the accuracy among all sentences, and that of each grade with distractors."""
        left = normalize_rows(encode(pool.left.texts))
        right = normalize_rows(encode(pool.right.texts))
        ranks = _reciprocal_ranks(left, right, len(pool.left.entities))
        yield self._mean(subset, SENTENCE_RECIPROCAL_RANK, ranks)
        forward = _search(pool.left, left, pool.right, right)
        backward = _search(pool.right, right, pool.left, left)
        for metric in forward:
            # Both directions of a pair are one item, since they depend on the same two sentences.
            hits = np.sum([forward[metric].hits, backward[metric].hits], axis=0)
            queries = np.sum([forward[metric].has_candidates, backward[metric].has_candidates], axis=0)
            rows = np.flatnonzero(queries)
            if rows.size:
                items = mean_items(hits[rows], queries[rows])
                yield self.result(subset, metric, items.value(), items=items)


def _neighbours(embeddings: Embeddings) -> RowNumbers:
    """Return the nearest other rows of each row: (n, k)."""
    # A row is its own nearest neighbour, unless another one is equal.
    with_itself = nearest_neighbours(embeddings, embeddings, min(NEIGHBOURS + 1, len(embeddings))).rows
    rows = [row[row != number][: with_itself.shape[1] - 1] for number, row in enumerate(with_itself)]
    return np.stack(rows)


@lru_cache(maxsize=32)
def _start_neighbours(start: str, task: str, texts: tuple[str, ...]) -> RowNumbers:
    """Return the neighbours by the starting encoder, computed once in a training run with many evaluations."""
    from ease.encoders.encoder import load_for_evaluation, release_encoders
    from ease.encoders.encoding import encode_with, move_to_device
    from ease.encoders.options import EncodingOptions, LoadingOptions

    encode = encode_with(move_to_device(load_for_evaluation(start, LoadingOptions())), EncodingOptions())
    neighbours = _neighbours(encode_for(encode, task, Audit.TYPE)(list(texts)))
    # The training run would continue with two encoders in memory.
    del encode
    release_encoders()
    return neighbours


def read_audit(path: Path) -> AuditSet:
    """Read both pools; refuse fewer than 2 pairs, and pairs without exactly one answer of their own a side."""
    rows = pd.DataFrame([row for _, row in read_parquet_rows(path, AUDIT_COLUMNS)], columns=AUDIT_COLUMNS)
    is_title = rows.kind.isin(TITLE_KINDS)
    pools = [_read_pool(path, part) if len(part) else None for part in (rows[is_title], rows[~is_title])]
    if pools == [None, None]:
        raise _invalid(path)
    return AuditSet(*pools)


def _read_pool(path: Path, rows: pd.DataFrame) -> AuditPool:
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
            raise _invalid(path)
        texts = list(dict.fromkeys([*answers.text, *side.text]))
        row_of = {text: row for row, text in enumerate(texts)}
        distractors = {}
        for grade in (SAME_PAGE, SAME_LINK, SAME_TYPE):
            rows_of_grade = side[side.grade == grade]
            pairs = zip(rows_of_grade.pair_id, map(row_of.__getitem__, rows_of_grade.text), strict=True)
            distractors[grade] = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
        words = (answers.kind == WORD_TITLE).to_numpy(dtype=bool)
        sides.append(AuditSide(texts, answers.entity.to_numpy(dtype=np.int64), words, distractors))
    return AuditPool(*sides)


def _invalid(path: Path) -> EaseError:
    return EaseError(
        f"{path}: each pair needs exactly one distinct text on each side, and there must be at least 2 pairs; make "
        "it again by `kedro run --pipelines=audit`, or of the setting teach by `kedro run --pipelines=teach`."
    )


def _reciprocal_ranks(left: Floats, right: Floats, count: int) -> Floats:
    """Return 1 / rank of each pair's right text among all candidates, the mean of both directions: (count,)."""

    def ranks(queries: Floats, targets: Floats) -> NDArray[np.int64]:
        """Return the rank of the target with the query's number, the right one; a tie counts as nearer."""
        right = np.einsum("nd,nd->n", queries, targets[:count])
        query_numbers = np.arange(count)
        target_numbers = np.arange(len(targets))
        ahead = np.zeros(count, dtype=np.int64)
        for query_block, target_block, cosines in similarity_blocks(queries, targets):
            is_nearer = cosines.cpu().numpy() >= right[query_block, None] - TIE_TOLERANCE
            is_nearer &= query_numbers[query_block, None] != target_numbers[None, target_block]
            ahead[query_block] += is_nearer.sum(axis=1)
        return ahead + 1

    return (1 / ranks(left[:count], right) + 1 / ranks(right[:count], left)) / 2


def _free_reciprocal_ranks(left: Floats, right: Floats, count: int) -> Floats:
    """Return `_reciprocal_ranks` by CSLS after centring each language: what needs no training."""
    centred = [unit_rows(rows, center=True) for rows in (left, right)]
    gold = np.arange(count)[:, None].repeat(2, axis=1)
    # A small set has fewer neighbours.
    neighbours = min(NEIGHBOURS, len(left), len(right))
    forward, backward = (
        csls_ranks(queries[:count], targets, queries, gold, neighbours) for queries, targets in (centred, centred[::-1])
    )
    return (1 / forward + 1 / backward) / 2


def _hub_share(left: Floats, right: Floats) -> float:
    """Return the share of hubs: texts that are among the nearest of far more queries than the average text.

    The k-occurrence of a text is the number of queries of the other language among whose k nearest it is. A hub's is
    more than 2 standard deviations above the mean (Radovanović et al. 2010).
    """
    hubs = 0
    for queries, targets in ((left, right), (right, left)):
        neighbours = nearest_neighbours(queries, targets, min(NEIGHBOURS, len(targets)))
        occurrences = np.bincount(neighbours.rows.ravel(), minlength=len(targets))
        hubs += int((occurrences > occurrences.mean() + HUB_DEVIATIONS * occurrences.std()).sum())
    return hubs / (len(left) + len(right))


class _Hits(NamedTuple):
    """Whether each pair's right sentence is nearer than all wrong candidates, and which pairs have some: (n,) each."""

    hits: Flags
    has_candidates: Flags


def _search(queries: AuditSide, query_rows: Floats, targets: AuditSide, target_rows: Floats) -> dict[str, _Hits]:
    """Search the right sentence of each pair among the wrong candidates of each metric."""
    count = len(queries.entities)
    pair_queries = query_rows[:count]
    right_targets = target_rows[:count]
    # Every other target is wrong, whatever its item; or the right targets of other items are.
    highest_wrong = {
        RETRIEVAL_ACCURACY: _highest_cosines(pair_queries, target_rows, np.arange(count), np.arange(len(target_rows))),
        f"{OTHER_PAGES}_accuracy": _highest_cosines(pair_queries, right_targets, queries.entities, queries.entities),
    }
    for grade, distractors in targets.distractors.items():
        pairs = distractors[:, 0]
        cosines = np.einsum("nd,nd->n", pair_queries[pairs], target_rows[distractors[:, 1]])
        highest = np.full(count, -np.inf)
        np.maximum.at(highest, pairs, cosines)
        highest_wrong[f"{grade}_accuracy"] = highest
    right = np.einsum("nd,nd->n", pair_queries, right_targets)
    hits = {}
    for metric, highest in highest_wrong.items():
        has_candidates = np.isfinite(highest)
        hits[metric] = _Hits((highest < right - TIE_TOLERANCE) & has_candidates, has_candidates)
    return hits


def _highest_cosines(
    queries: Floats, targets: Floats, query_labels: RowNumbers, target_labels: RowNumbers
) -> NDArray[np.float64]:
    """Return the highest cosine of each query with the targets of other labels, minus infinity without any: (n,)."""
    highest = np.full(len(queries), -np.inf)
    for query_block, target_block, cosines in similarity_blocks(queries, targets):
        is_wrong = query_labels[query_block, None] != target_labels[None, target_block]
        wrong_cosines = np.where(is_wrong, cosines.cpu().numpy(), -np.inf)
        highest[query_block] = np.maximum(highest[query_block], wrong_cosines.max(axis=1))
    return highest
