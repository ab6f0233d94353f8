"""Measures of sentence pairs by several encoders: cosines, ROC curves, alignment, isotropy, differing pairs.

Figures 4 and 7, and equations 2 and 3 of Mirror-BERT; sections 7.2 and 7.3 of EASE; Table 10 of DuEAM.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.scores import AVERAGE
from ease.evaluation.tasks.base import Task, error_prefix
from ease.evaluation.tasks.graded_pairs import GradedPair, GradedPairs, graded_only, pair_cosines
from ease.evaluation.tasks.set_files import Sides
from ease.lazy import pd
from ease.options import StrictModel
from ease.similarity.encode import Encode
from ease.similarity.metrics import isotropy_score, mean_vector_norm
from ease.similarity.vectors import BLOCK_ELEMENTS, normalize_rows, pairwise_cosine, row_lengths

Item = TypeVar("Item")
POSITIVE_PAIRS = "positive"
NEGATIVE_PAIRS = "negative"
IMPROVED = "improved"
DETERIORATED = "deteriorated"
PRINTED_MODEL = " (printed)"
"""Ending of the name of a model whose figures a paper prints"""
MAX_SENTENCES = 10_000
"""Of more sentences, a sample is measured: 50 million pairs take some seconds."""
Encoders = Mapping[str, Encode]
"""Encoders by the names of their models"""
GradedSets = Mapping[str, Sequence[GradedPair]]
"""Graded pairs by subset, such as a language pair"""


def graded_pairs(task: Task) -> GradedSets:
    """Read the graded pairs of each subset of a task whose files exist."""
    if not isinstance(task, GradedPairs):
        raise EaseError(f"The task {task.name!r} has no graded pairs: name another one, such as stsb.")
    return {subset: [*chain(*task.read(subset, paths))] for subset, paths in task.available().items()}


def distinct_sentences(pairs: Sequence[GradedPair]) -> list[str]:
    """Return each sentence of the pairs once, in order."""
    return list(dict.fromkeys(sentence for pair in pairs for sentence in (pair.left, pair.right)))


def parallel_sentences(task: Task, subset: str) -> Sides:
    """Read the parallel sentences of a task in the two languages that a subset such as `ja-en` names."""
    read_sides = getattr(task, "parallel", None)
    if read_sides is None:
        raise EaseError(f"The task {task.name!r} has no parallel sentences: name another one, such as tatoeba.")
    sides: Sides = read_sides(subset)
    return sides


def sample(items: Sequence[Item], count: int, generator: np.random.Generator) -> list[Item]:
    """Draw `count` items without replacement, in their order; all if there are fewer."""
    if len(items) <= count:
        return list(items)
    return [items[row] for row in np.sort(generator.choice(len(items), count, replace=False))]


def check_printed(printed: Mapping[str, Sequence[float]], count: int) -> None:
    """Refuse a paper's figures of a model that are not one for each of `count` rows."""
    for model, figures in printed.items():
        if len(figures) != count:
            raise EaseError(f"`printed` has {len(figures)} figures of {model} for {count} rows: give one for each.")


def measure_subsets(
    encoders: Encoders, sets: GradedSets, measure: Callable[[Encode, Sequence[GradedPair]], dict[str, float]]
) -> pd.DataFrame:
    """Measure each encoder on each subset; of several subsets, average the floats and sum the integers."""
    rows: list[dict[str, Any]] = []
    for model, encode in encoders.items():
        measured = []
        for subset, pairs in sets.items():
            with error_prefix(f"{model}, {subset}"):
                measured.append(measure(encode, pairs))
            rows.append({"model": model, "subset": subset, **measured[-1]})
        if len(measured) > 1:
            table = pd.DataFrame(measured)
            # Counts, such as those of pairs
            integers = table.select_dtypes("integer")
            rows.append({"model": model, "subset": AVERAGE, **table.drop(columns=integers).mean(), **integers.sum()})
    return pd.DataFrame(rows)


class GradedOptions(StrictModel):
    """The pairs that an analysis is of."""

    graded: str = Field(description="a task with graded pairs, or one subset of it (`stsb:dev`)")
    seed: int = Field(0, ge=0, description="seed of the sample, if not all are used")


class CosineOptions(GradedOptions):
    """Which pairs are positive and negative, and how many are shown."""

    above: float = Field(4.0, description="pairs graded higher than this are positive")
    below: float = Field(2.0, description="pairs graded lower than this are negative")
    pairs: int = Field(1000, ge=2, description="maximum number of pairs of both kinds; a sample of more")

    @model_validator(mode="after")
    def _apart(self) -> CosineOptions:
        if self.below > self.above:
            raise EaseError(f"`below` {self.below:g} is higher than `above` {self.above:g}: a pair would be both.")
        return self


def draw_pairs(sets: GradedSets, options: CosineOptions) -> dict[str, list[GradedPair]]:
    """Draw positive and negative pairs over all subsets by the seed, in their order."""
    graded = [
        pair for pair in chain.from_iterable(sets.values()) if pair.gold > options.above or pair.gold < options.below
    ]
    pairs = sample(graded, options.pairs, np.random.default_rng(options.seed))
    kinds = {
        POSITIVE_PAIRS: [pair for pair in pairs if pair.gold > options.above],
        NEGATIVE_PAIRS: [pair for pair in pairs if pair.gold < options.below],
    }
    for kind, bound in ((POSITIVE_PAIRS, f"above {options.above:g}"), (NEGATIVE_PAIRS, f"below {options.below:g}")):
        if not kinds[kind]:
            raise EaseError(
                f"{options.graded}: none of {len(pairs)} drawn pairs is {kind}, graded {bound}; change that bound, or "
                "draw more `pairs`."
            )
    return kinds


def compare_cosines(encoders: Encoders, sets: GradedSets, options: CosineOptions) -> pd.DataFrame:
    """Return the cosines of the same positive and negative pairs by several encoders: `model`, `kind` and `cosine`."""
    pairs_by_kind = draw_pairs(sets, options)
    kinds = np.repeat(list(pairs_by_kind), [len(pairs) for pairs in pairs_by_kind.values()])
    pairs = [pair for kind_pairs in pairs_by_kind.values() for pair in kind_pairs]
    tables = []
    for model, encode in encoders.items():
        cosines = pair_cosines(encode, pairs, f"{model}, {options.graded}")
        tables.append(pd.DataFrame({"model": model, "kind": kinds, "cosine": cosines}))
    return pd.concat(tables, ignore_index=True)


def summarize_cosines(table: pd.DataFrame) -> pd.DataFrame:
    """Return mean and standard deviation of each model's cosines of either kind, and the area under the ROC curve."""
    from sklearn.metrics import roc_auc_score

    rows = []
    for model, scores in table.groupby("model", sort=False):
        row: dict[str, object] = {"model": model}
        for kind in (POSITIVE_PAIRS, NEGATIVE_PAIRS):
            cosines = scores.loc[scores["kind"] == kind, "cosine"]
            row |= {f"{kind}_mean": cosines.mean(), f"{kind}_deviation": cosines.std(ddof=0)}
        rows.append({**row, "auc": float(roc_auc_score(scores["kind"] == POSITIVE_PAIRS, scores["cosine"]))})
    return pd.DataFrame(rows)


class CurveOptions(CosineOptions):
    """Which pairs are positive and negative, and further encoders."""

    further: dict[str, str] = Field(
        {}, description="encoders beside the setting's: the folder or hub name of each, by its title"
    )


def roc_curves(encoders: Encoders, sets: GradedSets, options: CosineOptions) -> pd.DataFrame:
    """Return the ROC curves of several encoders on the same pairs: rates, and the area under the curve (0 to 1)."""
    from sklearn.metrics import auc, roc_curve

    tables = []
    for model, scores in compare_cosines(encoders, sets, options).groupby("model", sort=False):
        false, true, _ = roc_curve(scores["kind"] == POSITIVE_PAIRS, scores["cosine"])
        rates = {"false_positive_rate": false, "true_positive_rate": true, "auc": float(auc(false, true))}
        tables.append(pd.DataFrame({"model": model, **rates}))
    return pd.concat(tables, ignore_index=True)


class AlignmentOptions(GradedOptions):
    """Which pairs are positive."""

    above: float = Field(4.0, description="pairs graded higher are positive")


def alignment(left: ArrayLike, right: ArrayLike) -> float:
    """Return the mean squared distance of positive pairs' normalised embeddings (Eq. 5), from 0 (best) to 4.

    Both sides are (n, dimension).
    """
    return float(np.mean(2 - 2 * pairwise_cosine(left, right)))  # ‖a − b‖² of unit vectors


def uniformity(embeddings: ArrayLike, seed: int = 0) -> float:
    """Return the log mean of exp(−2‖a − b‖²) over pairs of normalised rows (Eq. 6), from −8 to 0; lower is better.

    All pairs of two different rows of (n, dimension), or of a seeded sample of more, `BLOCK_ELEMENTS` cosines at once.
    """
    rows = np.asarray(embeddings)
    if len(rows) > MAX_SENTENCES:
        sample_rows = np.random.default_rng(seed).choice(len(rows), MAX_SENTENCES, replace=False)
        rows = rows[np.sort(sample_rows)]
    unit = normalize_rows(rows)
    pairs = len(unit) * (len(unit) - 1) // 2
    block = max(1, BLOCK_ELEMENTS // len(unit))
    cosines = (unit[start : start + block] @ unit[start:].T for start in range(0, len(unit), block))
    # ‖a − b‖² = 2 − 2 cos; the pairs of a row are those with later rows.
    sums = (float(np.triu(np.exp(4 * part - 4), k=1).sum()) for part in cosines)
    return math.log(math.fsum(sums) / pairs)


def compare_alignment_uniformity(encoders: Encoders, sets: GradedSets, options: AlignmentOptions) -> pd.DataFrame:
    """Measure several encoders on graded pairs: one row per encoder and subset, and their means.

    Columns: `model`, `subset`, `alignment`, `uniformity`, `positives` (pairs, at least one), `sentences` (distinct).
    """

    def measure(encode: Encode, pairs: Sequence[GradedPair]) -> dict[str, float]:
        # A sentence of several pairs is one point of the distribution.
        sentences = distinct_sentences(pairs)
        row_of = {sentence: row for row, sentence in enumerate(sentences)}
        positive = [pair for pair in pairs if pair.gold > options.above]
        if not positive:
            raise EaseError(f"none of {len(pairs)} pairs is graded higher than {options.above:g}; lower `above`.")
        embeddings = encode(sentences)
        left = embeddings[[row_of[pair.left] for pair in positive]]
        right = embeddings[[row_of[pair.right] for pair in positive]]
        return {
            "alignment": alignment(left, right),
            "uniformity": uniformity(embeddings, options.seed),
            "positives": len(positive),
            "sentences": len(sentences),
        }

    return measure_subsets(encoders, sets, measure)


def compare_isotropy(encoders: Encoders, sets: GradedSets, options: GradedOptions) -> pd.DataFrame:
    """Measure several encoders on the distinct sentences of pairs: one row per encoder and subset, and their means.

    Columns: `model`, `subset`, `isotropy`, `mean_vector_norm`, `mean_length` (of the embeddings), `sentences`.
    """

    def measure(encode: Encode, pairs: Sequence[GradedPair]) -> dict[str, float]:
        generator = np.random.default_rng(options.seed)
        embeddings = encode(sample(distinct_sentences(pairs), MAX_SENTENCES, generator))
        return {
            "isotropy": isotropy_score(embeddings),
            "mean_vector_norm": mean_vector_norm(embeddings),
            "mean_length": float(row_lengths(embeddings).mean()),
            "sentences": len(embeddings),
        }

    return measure_subsets(encoders, sets, measure)


class DifferingOptions(StrictModel):
    """Which models are compared, and on which pairs."""

    graded: str = Field(description="a task with graded pairs, or one subset of it (`stsb:dev`)")
    model: str = Field(description="a method, `untrained`, or the folder or hub name of an encoder")
    baseline: str = Field(
        description="the model to compare with: a method, `untrained`, or an encoder's folder or hub name"
    )
    rows: int = Field(5, ge=1, description="improved and deteriorated pairs to show, each")

    @model_validator(mode="after")
    def _differ(self) -> DifferingOptions:
        if self.model == self.baseline:
            raise EaseError(f"`model` and `baseline` are both {self.model}: compare two models.")
        return self


def differing_pairs(encoders: Encoders, sets: GradedSets, rows: int) -> pd.DataFrame:
    """Return the pairs on which the first of two models gains most over the second, and loses most: `rows` of each.

    Pairs of a subset are ranked by gold score and by the cosines of both models, from 0 to 100: Spearman's correlation
    compares ranks, and ranks make models with different ranges of cosines comparable. `gain` is the second model's
    distance from the gold rank minus the first one's. The largest changes come first.
    """

    def percent(values: pd.Series) -> pd.Series:
        return 100 * (values.rank() - 1) / (len(values) - 1)

    tables = []
    for subset, pairs in sets.items():
        scored = graded_only(pairs)  # of at least two grades
        table = pd.DataFrame(scored, columns=["sentence1", "sentence2", "gold"])
        table["gold_rank"] = percent(table["gold"])
        distances = []
        for model, encode in encoders.items():
            table[f"{model}_cosine"] = pair_cosines(encode, scored, f"{model}, {subset}")
            table[f"{model}_rank"] = percent(table[f"{model}_cosine"])
            distances.append((table[f"{model}_rank"] - table["gold_rank"]).abs())
        nearer, farther = distances
        table["gain"] = farther - nearer
        table.insert(0, "subset", subset)
        tables.append(table)
    table = pd.concat(tables, ignore_index=True)
    improved = table.sort_values("gain", ascending=False, kind="stable").query("gain > 0").head(rows)
    deteriorated = table.sort_values("gain", kind="stable").query("gain < 0").head(rows)
    picked = pd.concat([improved, deteriorated], ignore_index=True)
    picked.insert(0, "change", np.repeat([IMPROVED, DETERIORATED], [len(improved), len(deteriorated)]))
    return picked


class GivenPairsOptions(StrictModel):
    """The pairs to compare, and the cosines that a paper prints for them."""

    pairs: tuple[tuple[str, str], ...] = Field(min_length=1, description="pairs of sentences")
    printed: dict[str, tuple[float, ...]] = Field({}, description="a paper's cosines of the pairs, by its model")

    @model_validator(mode="after")
    def _complete(self) -> GivenPairsOptions:
        check_printed(self.printed, len(self.pairs))
        return self


def compare_given_pairs(encoders: Encoders, options: GivenPairsOptions) -> pd.DataFrame:
    """Compute the cosine of each pair by each encoder, one row per model and pair; the printed ones follow."""
    left, right = (list(side) for side in zip(*options.pairs, strict=True))
    tables = []
    for model, encode in encoders.items():
        with error_prefix(model):
            cosines = pairwise_cosine(encode(left), encode(right))
        tables.append({"model": model, "sentence1": left, "sentence2": right, "cosine": cosines})
    for model, printed in options.printed.items():
        tables.append({"model": model + PRINTED_MODEL, "sentence1": left, "sentence2": right, "cosine": printed})
    return pd.concat(map(pd.DataFrame, tables), ignore_index=True)
