"""Splits of the edition `clean`."""

from __future__ import annotations

from collections import Counter
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from ease.wikimedia.wikinews.editions import SplitOptions, balanced, write_splits

LABELS = ["Sports"] * 50 + ["Weather"] * 8 + ["Health"] * 30


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (30, {"Sports": 11, "Weather": 8, "Health": 11}),
        (12, {"Sports": 4, "Weather": 4, "Health": 4}),
        (1000, {"Sports": 50, "Weather": 8, "Health": 30}),
    ],
)
def test_classes_are_of_equal_size_as_far_as_possible(limit: int, expected: dict[str, int]) -> None:
    drawn = balanced(LABELS, limit, seed=1)
    assert Counter(LABELS[place] for place in drawn) == expected
    assert sorted(set(drawn.tolist())) == drawn.tolist()


def test_an_article_of_the_first_day_is_recent_and_one_without_a_date_neither(tmp_path: Path) -> None:
    days = [date(2021, 12, 31), date(2022, 1, 1), None]
    table = pa.table({"category": ["Sports"] * 3, "date": pa.array(days, pa.date32())})
    options = SplitOptions(recent_since=date(2022, 1, 1))
    assert write_splits(tmp_path, "en", table, options) == {"small": 3, "earlier": 1, "recent": 1}
