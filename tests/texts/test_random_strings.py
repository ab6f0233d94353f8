"""Random strings: distinct, of the lengths and characters that were asked for, and evenly drawn."""

from __future__ import annotations

import string
from collections import Counter

import pytest

from ease.errors import EaseError
from ease.texts import source_options
from tests.texts.conftest import GatherRows


def test_strings_are_distinct_and_evenly_drawn(gather_rows: GatherRows) -> None:
    rows, _ = gather_rows({"kind": "random_strings", "rows": 20_000, "shortest": 4, "longest": 8}, seed=1)
    strings = [row[0] for row in rows]
    assert len(set(strings)) == 20_000
    lengths = Counter(map(len, strings))
    assert set(lengths) == {4, 5, 6, 7, 8}
    assert all(3_700 < count < 4_300 for count in lengths.values())
    letters = Counter("".join(strings))
    assert set(letters) == set(string.ascii_letters + string.digits)
    mean = sum(letters.values()) / 62
    assert all(0.9 * mean < count < 1.1 * mean for count in letters.values())


def test_the_seed_determines_the_strings(gather_rows: GatherRows) -> None:
    source = {"kind": "random_strings", "rows": 50}
    assert gather_rows(source, seed=1)[0] == gather_rows(source, seed=1, threads=1)[0]
    assert not set(gather_rows(source, seed=1)[0]) & set(gather_rows(source, seed=2)[0])


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"shortest": 5, "longest": 4}, "`shortest` 5 is above `longest` 4"),
        ({"rows": 60, "shortest": 1, "longest": 1}, "60 distinct strings of 1 to 1 of 62 characters"),
    ],
)
def test_impossible_strings_are_refused(values: dict[str, int], fault: str) -> None:
    with pytest.raises(EaseError, match=fault):
        source_options({"kind": "random_strings", **values})
