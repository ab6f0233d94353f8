"""What an encoder knows of other languages, which teaching must keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from ease.encoders.learnt_letters import Respelling
from ease.evaluation.scores import AVERAGE, average_main_scores
from ease.evaluation.scoring import score_tasks, select_parameters
from ease.evaluation.sets import located_parameters, read_located, scorable
from ease.evaluation.tasks import TaskParameters, build_tasks
from ease.options import split_words
from ease.pipelines.options import COUNTRY_NAMES
from ease.similarity.encode import Encode

KNOWN_SCORE = 50.0
"""Score from which an encoder knows a language: all-MiniLM-L6-v2 has 1 to 64, multilingual-e5-small 54 to 97"""


class TaughtLetters(Respelling):
    """What was learnt about the letters, beside what the starting encoder knows of other languages."""

    country_names: dict[str, float] = Field(
        {}, description="score on the names of countries in each large language, in points; none: random weights"
    )
    kept: float | None = Field(None, description="share of its scores that the respelt encoder keeps, in percent")


def retention_tasks(
    references: Sequence[str], tasks: TaskParameters, evaluation_data: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the parameters of the tasks of what an encoder knows, as far as their sets are there."""
    located = read_located(evaluation_data)
    present = [reference for reference in split_words(references) if scorable([reference], located)]
    return select_parameters(present, located_parameters(tasks, located))


def score_retention(encode: Encode, tasks: dict[str, dict[str, Any]]) -> tuple[float, dict[str, float]]:
    """Return the mean of the tasks' scores, and the score of finding countries in each language, in points."""
    scores = score_tasks(encode, build_tasks(tasks).values())
    country_names = {
        score.subset: score.value
        for score in scores
        if score.task == COUNTRY_NAMES and score.main and not score.subset.startswith(AVERAGE)
    }
    return average_main_scores(scores), country_names


def is_multilingual(country_names: dict[str, float]) -> bool:
    """Return whether an encoder knows most languages, by its score on each: then a small Wikipedia teaches it nothing.

    Random weights have no scores and know none.
    """
    return 2 * len(known_subsets(country_names)) > len(country_names)


def known_subsets(country_names: dict[str, float]) -> list[str]:
    """Return the subsets of the languages that an encoder knows."""
    return [subset for subset, score in country_names.items() if score >= KNOWN_SCORE]
