"""Which sentences the edition `clean` removes, and why."""

from __future__ import annotations

import random
from itertools import combinations

import pyarrow as pa
import pytest

from ease.wikimedia.wikinews.editions import clean, duplicate_groups

RAIN = "Heavy rain fell over the northern provinces on Monday"
CASES = {
    "markup": [
        ("thumb|A photo of the heavy rain in Lima.", "Weather"),
        ("Category:WeatherCategory:Peru and other categories", "Weather"),
        ("Heavy rain fell over {{w|Lima}} on Monday morning.", "Weather"),
        ("File:Rain.jpg shows the heavy rain over Lima.", "Weather"),
        ("The image of 200px shows the rain over Lima.", "Weather"),
        ("The rain fell <br/> over Lima on Monday morning.", "Weather"),
    ],
    "short": [("It rained.", "Weather"), (".", "Weather")],
    "abbreviation": [("The weather was foreseen by George W.", "Weather")],
    "contradictory": [(f"{RAIN} evening.", "Weather"), (f"{RAIN} Evening!", "Sports")],
    "duplicate": [(f"{RAIN} morning, says the minister.", "Weather")] * 2,
    "notice": [("This article was uploaded by a bot and not reviewed.", "Weather")] * 11,
}
KEPT = [
    (f"{RAIN} morning, says the minister.", "Weather"),
    ("The ministers of the category met in Lima: they agreed.", "Politics"),
    ("Lima won against Oslo by 3 to 2 on Monday evening.", "Sports"),
]


def table_of(rows: list[tuple[str, str]]) -> pa.Table:
    return pa.table({"sentence": [row[0] for row in rows], "category": [row[1] for row in rows]})


def test_every_reason() -> None:
    rows = KEPT[:1] + [row for case in CASES.values() for row in case] + KEPT[1:]
    left, removed = clean(table_of(rows), "en")
    assert [tuple(row.values()) for row in left.to_pylist()] == KEPT
    assert removed == {reason: len(case) for reason, case in CASES.items()}


def groups_by_pairs(texts: list[str], similarity: float, characters: int) -> list[int]:
    """Return each text's group as the smallest index that is connected with it."""
    sets = [{text[start : start + characters] for start in range(max(1, len(text) - characters + 1))} for text in texts]
    group = list(range(len(texts)))
    for first, second in combinations(range(len(texts)), 2):
        if len(sets[first] & sets[second]) >= similarity * len(sets[first] | sets[second]):
            low, high = sorted((group[first], group[second]))
            group = [low if number == high else number for number in group]
    return group


@pytest.mark.parametrize("similarity", [0.5, 0.8, 1.0])
def test_groups_as_by_comparing_all_pairs(similarity: float) -> None:
    source = random.Random(1)
    words = "rain snow wind storm cloud sun river Lima Oslo falls over in near reports minister".split()
    texts = [" ".join(source.choices(words, k=source.randint(1, 9))) for _ in range(300)]
    for place in source.sample(range(300), 120):
        texts[place] = texts[source.randrange(300)].replace("rain", "rains", 1)
    groups = duplicate_groups(texts, similarity, 5)
    expected = groups_by_pairs(texts, similarity, 5)
    first = {group: place for place, group in reversed(list(enumerate(groups.tolist())))}
    assert [first[group] for group in groups.tolist()] == expected
    assert len(set(expected)) < 300
