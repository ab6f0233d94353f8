"""Summaries of scores as data frames: by task and method, by training, by language, by variant."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pandas as pd

from ease.errors import EaseError
from ease.evaluation.tasks import AVERAGE, get_task

COLUMNS = ["method", "task", "subset", "metric", "value"]  # columns of scores, which are in points


def split_scores(scores: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split scores (with `COLUMNS`) into scores of subsets and main scores of tasks.

    Scores of the subsets of tasks with several subsets; and one row per method, task and metric with the mean over
    subsets. Both have the same columns.
    """
    single = scores.loc[~_averaged(scores), COLUMNS]
    several = single.groupby("task")["subset"].transform("nunique") > 1
    keys = ["method", "task", "metric"]
    mains = single.groupby(keys, sort=False, as_index=False)["value"].mean().assign(subset=AVERAGE)
    return single[several], mains[COLUMNS]


def with_limits(rows: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Add to rows of `split_scores` the limits of their intervals, `low` and `high`, as far as the scores have them."""
    keys = ["method", "task", "subset", "metric"]
    limits = scores.reindex(columns=[*keys, "low", "high"])
    # The main score of a task with a single subset is that of the subset.
    lone = limits[limits.groupby("task")["subset"].transform("nunique") == 1].assign(subset=AVERAGE)
    known = pd.concat([limits, lone]).drop_duplicates(keys, keep="last")
    return rows.merge(known, on=keys, how="left")


def _averaged(scores: pd.DataFrame) -> pd.Series:
    """Whether each score is a mean of other scores."""
    return scores["subset"].str.startswith(AVERAGE).astype(bool)


def score_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Return scores (with `COLUMNS`) with one row per task and subset, averages last, and one column per method."""
    subsets, mains = split_scores(scores)
    several = set(subsets["task"])
    lone = scores.loc[~scores["task"].isin(several) & ~_averaged(scores), COLUMNS]
    rows = pd.concat([subsets, lone, mains[mains["task"].isin(several)]])
    tasks, methods = list(dict.fromkeys(scores["task"])), list(dict.fromkeys(scores["method"]))
    wide = rows.pivot(index=["task", "subset", "metric"], columns="method", values="value")[methods]
    order = sorted(wide.index, key=lambda key: (tasks.index(key[0]), key[1] == AVERAGE, key[1]))
    return wide.loc[order].rename_axis(columns=None).reset_index()


def main_figures(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of single subsets by the tasks' main metrics."""
    main = {task: get_task(task).METRIC for task in scores["task"].unique()}
    return scores[(scores["metric"] == scores["task"].map(main)) & ~_averaged(scores)]


TRAINING = ["variant", "method", "seed", "development", "seconds", "task"]
"""Columns that identify a training and task."""


def shown_scores(scores: pd.DataFrame, shown: str | None) -> pd.DataFrame:
    """Return one score per training: of a task (the first one), averaged over subsets, or of a subset `task:subset`.

    `scores`: Columns `variant`, `method`, `seed`, `development`, `seconds`, `task`, `subset`, `metric`, `value`.
    """
    task, _, subset = (shown or str(scores["task"].iloc[0])).partition(":")
    own = main_figures(scores)
    own = own[(own["task"] == task) & (own["subset"] == subset if subset else True)]
    if own.empty:
        known = ", ".join(dict.fromkeys(scores["task"] + ":" + scores["subset"]))
        raise EaseError(f"No score of {shown} to show; there are {known}.")
    return _by_training(own)


def language_scores(scores: pd.DataFrame, subsets: Mapping[str, Collection[str]]) -> pd.DataFrame:
    """Return each language's score before and after training on it, with the language as variant (Figure 2).

    `scores`: Columns of `shown_scores`, and `languages` (separated by spaces). `subsets`: Names of each language's
    subset in the tasks.
    """
    own = main_figures(scores)
    parts = []
    for language, names in subsets.items():
        trained = own["languages"].str.split().map(lambda words, code=language: code in words)
        parts.append(own[trained & own["subset"].isin(names)].assign(variant=language))
    found = pd.concat(parts)
    if found.empty:
        raise EaseError(f"No task has scores of {', '.join(subsets)} with English: name one that has, such as tatoeba.")
    return _by_training(found)


def variant_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Return mean, standard deviation and number of seeds of main scores, one row per variant and task."""
    groups = _by_training(main_figures(scores)).groupby(["variant", "task"], sort=False)
    return groups.agg(
        mean=("value", "mean"),
        deviation=("value", "std"),
        seeds=("value", "size"),
        development=("development", "mean"),
        seconds=("seconds", "mean"),
    ).reset_index()


def _by_training(scores: pd.DataFrame) -> pd.DataFrame:
    """Average the subsets of each training's tasks, in order."""
    return scores.groupby(TRAINING, sort=False, dropna=False, as_index=False)["value"].mean()
