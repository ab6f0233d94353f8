"""What a taught encoder gained: subsets of the new language apart from the others."""

from __future__ import annotations

from typing import Any

import pytest

from ease.evaluation.tasks import get_task
from ease.io.names import DEVELOPMENT
from ease.reporting.teaching import compare_before_after, keeps_start


def rows(task: str, values: dict[str, float]) -> list[dict[str, Any]]:
    metric = get_task(task).METRIC
    return [{"task": task, "subset": name, "metric": metric, "value": value} for name, value in values.items()]


@pytest.mark.parametrize(
    ("language", "task", "new", "old"),
    [
        ("eo", "flores", "epo_Latn-eng_Latn", "deu_Latn-eng_Latn"),
        ("eo", "sib200", "epo_Latn", "deu_Latn"),
        ("sw", "sib200", "swh_Latn", "deu_Latn"),
    ],
)
def test_subsets_of_the_language_are_new(language: str, task: str, new: str, old: str) -> None:
    before, after = rows(task, {new: 10.0, old: 80.0}), rows(task, {new: 60.0, old: 79.0})
    found = compare_before_after(before, after, language).set_index("subset")
    assert found["kind"].to_dict() == {new: "new", old: "old"}
    assert found["gain"].to_dict() == {new: 50.0, old: -1.0}


@pytest.mark.parametrize(
    ("scores", "kept"), [([49.2, 47.2, 41.5], True), ([50.0, 50.0], True), ([49.2, 41.5, 49.3], False), ([], False)]
)
def test_a_kept_start_is_known_by_the_evaluations(scores: list[float], kept: bool) -> None:
    history = [{"step": 9 * step, "name": DEVELOPMENT, "value": score} for step, score in enumerate(scores)]
    assert keeps_start([*history, {"step": 5, "name": "loss", "value": 90.0}]) is kept
