"""Sentence pairs of evaluation tasks or of the user, and what several encoders make of them.

Graded pairs on which two models differ most (section 7.3, Table 8), and cosines of given pairs (Table 10 of DuEAM).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.encodes import Encode
from ease.evaluation.metrics import Floats, pairwise_cosine
from ease.evaluation.tasks import AVERAGE, available_subsets, error_prefix, get_task, task_names
from ease.evaluation.tasks.graded_pairs import GradedPair, GradedPairs, pair_cosines
from ease.evaluation.tasks.set_files import Sides
from ease.io.models import StrictModel

IMPROVED, DETERIORATED = "improved", "deteriorated"
Item = TypeVar("Item")
PRINTED = " (printed)"
"""Ending of the name of a model whose figures a paper prints"""
Encoders = Mapping[str, Encode]
"""Encoders by the names of their models."""
GradedSets = Mapping[str, Sequence[GradedPair]]
"""Graded pairs by subset, such as a language pair."""


def graded_pairs(task: str, options: Any) -> GradedSets:
    """Read the graded pairs of each subset of a task whose files exist."""
    reader = get_task(task)
    if not isinstance(reader, GradedPairs):
        graded = [name for name in task_names() if isinstance(get_task(name), GradedPairs)]
        raise EaseError(f"The task {task!r} has no graded pairs: choose from {', '.join(graded)}.")
    found = available_subsets(reader.files(options))
    return {subset: reader.pairs(options, subset, paths) for subset, paths in found.items()}


def distinct_sentences(pairs: Sequence[GradedPair]) -> list[str]:
    """Return each sentence of the pairs once, in order."""
    return list(dict.fromkeys(sentence for pair in pairs for sentence in (pair.left, pair.right)))


def parallel_sentences(task: str, options: Any, subset: str) -> Sides:
    """Read the parallel sentences of a task in the two languages that a subset such as `ja-en` names."""
    read = getattr(get_task(task), "parallel", None)
    if read is None:
        parallel = [name for name in task_names() if hasattr(get_task(name), "parallel")]
        raise EaseError(f"The task {task!r} has no parallel sentences: choose from {', '.join(parallel)}.")
    sides: Sides = read(options, subset)
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
            raise EaseError(
                f"`printed` has {len(figures)} figures of {model} for {count} rows: give one for each."
            )


def measure_subsets(
    encoders: Encoders,
    sets: GradedSets,
    measure: Callable[[Encode, Sequence[GradedPair]], dict[str, float]],
) -> pd.DataFrame:
    """Measure each encoder on each subset; of several subsets, average the floats and sum the integers.

    Raises:
        EaseError: With the model and the subset that cannot be measured.
    """
    rows: list[dict[str, Any]] = []
    for model, encode in encoders.items():
        own = []
        for subset, pairs in sets.items():
            with error_prefix(f"{model}, {subset}"):
                own.append(measure(encode, pairs))
            rows.append({"model": model, "subset": subset, **own[-1]})
        if len(own) > 1:
            table = pd.DataFrame(own)
            whole = table.select_dtypes("integer")
            rows.append(
                {"model": model, "subset": AVERAGE, **table.drop(columns=whole).mean(), **whole.sum()}
            )
    return pd.DataFrame(rows)


class GradedOptions(StrictModel):
    """The pairs that an analysis is of."""

    graded: str = Field(description="a task with graded pairs, or one subset of it (`stsb:dev`)")
    seed: int = Field(0, ge=0, description="seed of the sample, if not all are used")


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


def percent_ranks(values: ArrayLike) -> Floats:
    """Ranks from 0 (lowest) to 100; equal values share their mean rank: (n,) -> (n,), n at least 2."""
    from scipy.stats import rankdata

    ranks: Floats = rankdata(values)
    return 100 * (ranks - 1) / (len(ranks) - 1)


def rank_pairs(pairs: Sequence[GradedPair], cosines: Mapping[str, Floats]) -> pd.DataFrame:
    """Rank pairs by gold score and by the cosines of two models, and compute which model's rank is closer to gold.

    Spearman's correlation compares ranks, and ranks make models with different ranges of cosines comparable. `cosines`
    are those of the compared model, then of the baseline. `gain` is the baseline's distance from the gold rank minus
    the compared model's; ranks are from 0 to 100.
    """
    table = pd.DataFrame(pairs, columns=["sentence1", "sentence2", "gold"])
    table["gold_rank"] = percent_ranks(table["gold"])
    distances = []
    for model, values in cosines.items():
        table[f"{model}_cosine"] = values
        table[f"{model}_rank"] = percent_ranks(values)
        distances.append((table[f"{model}_rank"] - table["gold_rank"]).abs())
    nearer, farther = distances
    table["gain"] = farther - nearer
    return table


def differing_pairs(encoders: Encoders, sets: GradedSets, rows: int) -> pd.DataFrame:
    """Return the pairs on which the first of two models gains most over the second, and loses most: `rows` of each.

    Pairs are ranked within their subset; the largest changes come first.

    Raises:
        EaseError: With the subset, if fewer than 2 of its pairs have a gold score or an embedding is unusable.
    """
    tables = []
    for subset, pairs in sets.items():
        scored = [pair for pair in pairs if not np.isnan(pair.gold)]
        if len(scored) < 2:
            raise EaseError(f"{subset}: {len(scored)} pairs have a gold score; ranks need at least 2.")
        cosines = {
            model: pair_cosines(encode, scored, f"{model}, {subset}") for model, encode in encoders.items()
        }
        tables.append(rank_pairs(scored, cosines))
        tables[-1].insert(0, "subset", subset)
    table = pd.concat(tables, ignore_index=True)
    order = table.sort_values("gain", ascending=False, kind="stable")
    improved = order[order["gain"] > 0].head(rows)
    deteriorated = table.sort_values("gain", kind="stable").query("gain < 0").head(rows)
    picked = pd.concat([improved, deteriorated], ignore_index=True)
    picked.insert(0, "change", np.repeat([IMPROVED, DETERIORATED], [len(improved), len(deteriorated)]))
    return picked


class GivenPairsOptions(StrictModel):
    """The pairs to compare, and the cosines that a paper prints for them."""

    pairs: tuple[tuple[str, str], ...] = Field(min_length=1, description="pairs of sentences")
    printed: dict[str, tuple[float, ...]] = Field(
        {}, description="a paper's cosines of the pairs, by its model"
    )

    @model_validator(mode="after")
    def _complete(self) -> GivenPairsOptions:
        check_printed(self.printed, len(self.pairs))
        return self


def compare_given_pairs(encoders: Mapping[str, Encode], options: GivenPairsOptions) -> pd.DataFrame:
    """Compute the cosine of each pair by each encoder, one row per model and pair; the printed ones follow."""
    left, right = (list(side) for side in zip(*options.pairs, strict=True))
    found = {}
    for model, encode in encoders.items():
        with error_prefix(model):
            found[model] = pairwise_cosine(encode(left), encode(right))
    found |= {model + PRINTED: np.array(cosines) for model, cosines in options.printed.items()}
    return pd.concat(
        [
            pd.DataFrame({"model": model, "sentence1": left, "sentence2": right, "cosine": cosines})
            for model, cosines in found.items()
        ],
        ignore_index=True,
    )
