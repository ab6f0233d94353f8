"""What an encoder knows of other languages, which teaching must keep."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from pydantic import Field

from ease.encoders.learnt_letters import Respelling
from ease.evaluation.scores import kept_percent
from ease.evaluation.scoring import has_any_language, score_tasks, select_parameters
from ease.evaluation.sets import located_parameters, read_located, scorable
from ease.evaluation.tasks import TaskParameters, build_tasks, task_class
from ease.options import split_words
from ease.pipelines.options import COUNTRY_NAMES
from ease.similarity.encode import Encode

KNOWN_SCORE = 50.0
"""Score from which an encoder knows a language: all-MiniLM-L6-v2 has 1 to 64, multilingual-e5-small 54 to 97"""


class TaughtLetters(Respelling):
    """What was learnt about the letters, beside what the starting encoder knows of other languages."""

    start_scores: dict[str, dict[str, float]] = Field(
        {},
        description="main scores of the starting encoder on the tasks of what it must keep, by task and subset, in "
        "points; none: random weights",
    )
    kept: float | None = Field(None, description="share of its scores that the respelt encoder keeps, in percent")

    @property
    def country_names(self) -> dict[str, float]:
        """Score on the names of countries in each large language."""
        return self.start_scores.get(COUNTRY_NAMES, {})


def retention_tasks(
    references: Sequence[str], tasks: TaskParameters, evaluation_data: dict[str, Any], sentences: int
) -> dict[str, dict[str, Any]]:
    """Return the parameters of the tasks of what an encoder knows, as far as their sets are there.

    `sentences`: Maximum number of sentence pairs of a subset in which translations are searched.
    """
    located = read_located(evaluation_data)
    present = [reference for reference in split_words(references) if scorable([reference], located)]
    selected = select_parameters(present, located_parameters(tasks, located))
    return {name: _with_option(name, parameters, "sentences", sentences) for name, parameters in selected.items()}


def known_tasks(
    tasks: dict[str, dict[str, Any]], start_scores: dict[str, dict[str, float]], language: str
) -> dict[str, dict[str, Any]]:
    """Return the parameters of the tasks with the subsets of `known_scores`."""
    scores_by_task = known_scores(start_scores, language)
    return {name: _with_option(name, tasks[name], "subsets", list(scores)) for name, scores in scores_by_task.items()}


def known_scores(start_scores: dict[str, dict[str, float]], language: str) -> dict[str, dict[str, float]]:
    """Return the scores of the subsets that the starting encoder knows, without those of the taught language.

    Other scores rise by chance or by training, which would hide a loss.
    """
    scores_by_task = {}
    for task, scores in start_scores.items():
        subsets = [subset for subset in known_subsets(scores) if not has_any_language(subset, [language])]
        if subsets:
            scores_by_task[task] = {subset: scores[subset] for subset in subsets}
    return scores_by_task


def _with_option(name: str, parameters: dict[str, Any], option: str, value: Any) -> dict[str, Any]:
    """Return a task's parameters with an option, if its kind has that option."""
    if option not in task_class(name, parameters).Options.model_fields:
        return parameters
    return {**parameters, option: value}


def score_retention(encode: Encode, tasks: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the main score of each subset of tasks, in points."""
    by_task: dict[str, dict[str, float]] = {}
    for score in score_tasks(encode, build_tasks(tasks).values()):
        if score.main and not score.averaged:
            by_task.setdefault(score.task, {})[score.subset] = score.value
    return by_task


def share_kept(before: dict[str, dict[str, float]], after: dict[str, dict[str, float]]) -> float:
    """Return the lowest share that a task keeps of its mean score, over the subsets scored after, in percent."""
    means_before = {task: fmean(before[task][subset] for subset in scores) for task, scores in after.items()}
    return kept_percent(means_before, {task: fmean(scores.values()) for task, scores in after.items()})


def is_multilingual(country_names: dict[str, float]) -> bool:
    """Return whether an encoder knows most languages, by its score on each: then a small Wikipedia teaches it nothing.

    Random weights have no scores and know none.
    """
    return 2 * len(known_subsets(country_names)) > len(country_names)


def known_subsets(scores: dict[str, float]) -> list[str]:
    """Return the subsets of the languages that an encoder knows."""
    return [subset for subset, score in scores.items() if score >= KNOWN_SCORE]
