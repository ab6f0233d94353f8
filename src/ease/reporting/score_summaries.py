"""Tables of results as people read them: in the log, in the README, in a notebook."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pandas as pd

from ease.errors import EaseError
from ease.evaluation.tasks import AVERAGE, get_task

COLUMNS = ["method", "task", "subset", "metric", "value"]
"""Columns of a table of scores."""


def split_scores(scores: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Part scores into those of single subsets and each task's main score.

    Args:
        scores: Columns `method`, `task`, `subset`, `metric`, `value` (points).

    Returns:
        The subsets of tasks that have several, and a row for each method and task with the mean of its
        subsets; the same columns.
    """
    single = scores.loc[~_averaged(scores), COLUMNS]
    several = single.groupby("task")["subset"].transform("nunique") > 1
    keys = ["method", "task", "metric"]
    mains = single.groupby(keys, sort=False, as_index=False)["value"].mean().assign(subset=AVERAGE)
    return single[several], mains[COLUMNS]


def _averaged(scores: pd.DataFrame) -> pd.Series:
    """Which scores are means of others, such as of a group of languages."""
    return scores["subset"].str.startswith(AVERAGE).astype(bool)


def score_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Scores with a row for each task and subset, averages after the subsets, and a column for each method.

    Args:
        scores: Columns `method`, `task`, `subset`, `metric`, `value` (points).
    """
    subsets, mains = split_scores(scores)
    several = set(subsets["task"])
    lone = scores.loc[~scores["task"].isin(several) & ~_averaged(scores), COLUMNS]
    rows = pd.concat([subsets, lone, mains[mains["task"].isin(several)]])
    tasks, methods = list(dict.fromkeys(scores["task"])), list(dict.fromkeys(scores["method"]))
    wide = rows.pivot(index=["task", "subset", "metric"], columns="method", values="value")[methods]
    order = sorted(wide.index, key=lambda key: (tasks.index(key[0]), key[1] == AVERAGE, key[1]))
    return wide.loc[order].rename_axis(columns=None).reset_index()


def main_figures(scores: pd.DataFrame) -> pd.DataFrame:
    """Leave the scores that a task's main score is made of: of single subsets, by its main metric."""
    main = {task: get_task(task).METRIC for task in scores["task"].unique()}
    return scores[(scores["metric"] == scores["task"].map(main)) & ~_averaged(scores)]


TRAINING = ["variant", "method", "seed", "development", "seconds", "task"]
"""Columns that tell trainings, and their tasks, apart."""


def shown_scores(scores: pd.DataFrame, shown: str | None) -> pd.DataFrame:
    """Return one score of each training: of a task, averaged over its subsets, or of the subset `task:subset`.

    Args:
        scores: Columns `variant`, `method`, `seed`, `development`, `seconds`, `task`, `subset`, `metric`, `value`.
        shown: The task or subset; None stands for the first task.

    Raises:
        EaseError: If there is no such score.
    """
    task, _, subset = (shown or str(scores["task"].iloc[0])).partition(":")
    own = main_figures(scores)
    own = own[(own["task"] == task) & (own["subset"] == subset if subset else True)]
    if own.empty:
        known = ", ".join(dict.fromkeys(scores["task"] + ":" + scores["subset"]))
        raise EaseError(f"No score of {shown} to show; there are {known}.")
    return _by_training(own)


def language_scores(scores: pd.DataFrame, subsets: Mapping[str, Collection[str]]) -> pd.DataFrame:
    """Return each language's own score before and after a training on it, the language as the variant (Figure 2).

    Args:
        scores: As for `shown_scores`, and the column `languages` (words).
        subsets: The names that tasks give to each language's subset.

    Raises:
        EaseError: If no language has a score of its own.
    """
    own = main_figures(scores)
    parts = []
    for language, names in subsets.items():
        trained = own["languages"].str.split().map(lambda words, code=language: code in words)
        parts.append(own[trained & own["subset"].isin(names)].assign(variant=language))
    found = pd.concat(parts)
    if found.empty:
        raise EaseError(
            f"No task has scores of {', '.join(subsets)} with English: name tasks that have, such as tatoeba."
        )
    return _by_training(found)


def variant_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean, standard deviation and number of seeds of each variant's main scores; a row a variant and task.

    Args:
        scores: As for `shown_scores`.
    """
    groups = _by_training(main_figures(scores)).groupby(["variant", "task"], sort=False)
    return groups.agg(
        mean=("value", "mean"),
        deviation=("value", "std"),
        seeds=("value", "size"),
        development=("development", "mean"),
        seconds=("seconds", "mean"),
    ).reset_index()


def _by_training(scores: pd.DataFrame) -> pd.DataFrame:
    """Average the subsets of each training's tasks, in their order."""
    return scores.groupby(TRAINING, sort=False, dropna=False, as_index=False)["value"].mean()
