"""Summaries of scores as data frames: by task and method, by training run, by language, by variant."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ease.errors import EaseError
from ease.evaluation.scores import AVERAGE
from ease.evaluation.tasks import package_task
from ease.lazy import pd

METHOD_SCORE_COLUMNS = ["method", "task", "subset", "metric", "value"]
"""Columns of methods' scores, which are in points"""


def split_scores(scores: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split scores (with `METHOD_SCORE_COLUMNS`) into scores of subsets and main scores of tasks.

    Returns:
        The scores of the subsets of tasks with several subsets; and one row per method, task and metric with the mean
        over subsets. Both have the same columns.
    """
    # Averages of the tasks are computed again: they may be those of groups of subsets.
    single = scores.loc[~_is_average(scores), METHOD_SCORE_COLUMNS]
    several = single.groupby("task")["subset"].transform("nunique") > 1
    keys = ["method", "task", "metric"]
    mains = single.groupby(keys, sort=False, as_index=False)["value"].mean().assign(subset=AVERAGE)
    return single[several], mains[METHOD_SCORE_COLUMNS]


def with_limits(rows: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Add the limits of the intervals, `low` and `high`, to rows of `split_scores`; missing if the scores lack them."""
    keys = ["method", "task", "subset", "metric"]
    limits = scores.reindex(columns=[*keys, "low", "high"])
    # The main score of a task with a single subset is that of the subset.
    lone = limits[limits.groupby("task")["subset"].transform("nunique") == 1].assign(subset=AVERAGE)
    all_limits = pd.concat([limits, lone]).drop_duplicates(keys, keep="last")
    return rows.merge(all_limits, on=keys, how="left")


def _is_average(scores: pd.DataFrame) -> pd.Series:
    """Whether each score is a mean of other scores."""
    return scores["subset"].str.startswith(AVERAGE).astype(bool)


def score_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Return `METHOD_SCORE_COLUMNS` as one row per task, subset and metric, and one column per method.

    Averages come last. Metrics have the order of the scores, whose first one is a task's main metric.
    """
    subsets, mains = split_scores(scores)
    several = set(subsets["task"])
    lone = scores.loc[~scores["task"].isin(several) & ~_is_average(scores), METHOD_SCORE_COLUMNS]
    rows = pd.concat([subsets, lone, mains[mains["task"].isin(several)]])
    tasks = list(dict.fromkeys(scores["task"]))
    metrics = list(dict.fromkeys(scores["metric"]))
    methods = list(dict.fromkeys(scores["method"]))
    wide = rows.pivot(index=["task", "subset", "metric"], columns="method", values="value")[methods]
    order = sorted(wide.index, key=lambda key: (tasks.index(key[0]), key[1] == AVERAGE, key[1], metrics.index(key[2])))
    return wide.loc[order].rename_axis(columns=None).reset_index()


def by_main_metric(scores: pd.DataFrame) -> pd.Series:
    """Return whether each score is by the main metric of its task, as the column `main` says."""
    main = scores.reindex(columns=["main"])["main"]
    # Earlier versions, which had the package's tasks alone, saved no such column.
    unknown = main.isna()
    mains = {task: package_task(task).metrics[0] for task in scores.loc[unknown, "task"].unique()}
    return main.eq(True) | unknown & (scores["metric"] == scores["task"].map(mains))


def main_figures(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of single subsets by the tasks' main metrics."""
    return scores[by_main_metric(scores) & ~_is_average(scores)]


TRAINING_COLUMNS = ["variant", "method", "seed", "development", "seconds", "task"]
"""Columns that identify a training run and task"""


def shown_scores(scores: pd.DataFrame, name: str | None) -> pd.DataFrame:
    """Return one score per training run: a task's average over subsets, or the score of a subset.

    Args:
        scores: Columns `variant`, `method`, `seed`, `development`, `seconds`, `task`, `subset`, `metric`, `value`.
        name: Task, or `task:subset`; None: the first task.

    Raises:
        EaseError: If there is no such score.
    """
    task, _, subset = (name or str(scores["task"].iloc[0])).partition(":")
    figures = main_figures(scores)
    figures = figures[figures["task"] == task]
    if subset:
        figures = figures[figures["subset"] == subset]
    if figures.empty:
        choices = ", ".join(dict.fromkeys(scores["task"] + ":" + scores["subset"]))
        raise EaseError(f"No score of {name} to show; there are {choices}.")
    return _by_training(figures)


def language_scores(scores: pd.DataFrame, subsets: Mapping[str, Collection[str]]) -> pd.DataFrame:
    """Return each language's score before and after training on it, with the language as variant (EASE, Figure 2).

    Args:
        scores: Columns of `shown_scores`, and `languages` (separated by spaces).
        subsets: Names of each language's subset in the tasks.

    Raises:
        EaseError: If no task has a subset of the languages.
    """
    figures = main_figures(scores)
    parts = []
    for language, names in subsets.items():
        # The code is bound as a default, since a lambda would read the loop's last one.
        is_trained = figures["languages"].str.split().map(lambda codes, code=language: code in codes)
        parts.append(figures[is_trained & figures["subset"].isin(names)].assign(variant=language))
    language_figures = pd.concat(parts)
    if language_figures.empty:
        raise EaseError(f"No task has scores of {', '.join(subsets)} with English: name one that has, such as tatoeba.")
    return _by_training(language_figures)


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
    """Average the subsets of each task by training run, in order."""
    return scores.groupby(TRAINING_COLUMNS, sort=False, dropna=False, as_index=False)["value"].mean()
