"""What a taught encoder gained: subsets of the new language apart from the others."""

from __future__ import annotations

from typing import Any

import pytest

from ease.evaluation.tasks import get_task
from ease.reporting.teaching import compare_before_after


def rows(task: str, values: dict[str, float]) -> list[dict[str, Any]]:
    metric = get_task(task).METRIC
    return [
        {"task": task, "subset": name, "metric": metric, "value": value} for name, value in values.items()
    ]


@pytest.mark.parametrize(
    ("language", "task", "new", "old"),
    [
        ("eo", "tatoeba", "epo-eng", "deu-eng"),
        ("eo", "flores", "epo_Latn-eng_Latn", "deu_Latn-eng_Latn"),
        ("eo", "sib200", "epo_Latn", "deu_Latn"),
        ("sw", "tatoeba", "swh-eng", "deu-eng"),
        ("sw", "sib200", "swh_Latn", "deu_Latn"),
    ],
)
def test_subsets_of_the_language_are_new(language: str, task: str, new: str, old: str) -> None:
    before, after = rows(task, {new: 10.0, old: 80.0}), rows(task, {new: 60.0, old: 79.0})
    found = compare_before_after(before, after, language).set_index("subset")
    assert found["kind"].to_dict() == {new: "new", old: "old"}
    assert found["gain"].to_dict() == {new: 50.0, old: -1.0}
