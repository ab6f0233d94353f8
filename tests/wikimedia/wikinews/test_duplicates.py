"""Groups of near duplicates, against all pairs compared one by one."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from ease.wikimedia.wikinews.cleaning import duplicate_groups, normalized


def test_texts_are_compared_without_case_and_punctuation() -> None:
    assert normalized("  Ｔhe “rain” – in Spain!") == normalized("the rain, in spain") == "the rain in spain"


def groups_by_pairs(texts: list[str], similarity: float, characters: int) -> list[int]:
    """Return each text's group as the smallest index that is connected with it."""
    sets = [
        {text[start : start + characters] for start in range(max(1, len(text) - characters + 1))}
        for text in texts
    ]
    group = list(range(len(texts)))
    for one, other in combinations(range(len(texts)), 2):
        if len(sets[one] & sets[other]) >= similarity * len(sets[one] | sets[other]):
            low, high = sorted((group[one], group[other]))
            group = [low if number == high else number for number in group]
    return group


@pytest.mark.parametrize("similarity", [0.5, 0.8, 1.0])
def test_groups_as_by_comparing_all_pairs(similarity: float) -> None:
    source = random.Random(1)
    words = "rain snow wind storm cloud sun river Lima Oslo falls over in near reports minister".split()
    texts = [" ".join(source.choices(words, k=source.randint(1, 9))) for _ in range(600)]
    for place in source.sample(range(600), 250):
        texts[place] = texts[source.randrange(600)].replace("rain", "rains", 1)
    found = duplicate_groups(texts, similarity, 5)
    expected = groups_by_pairs(texts, similarity, 5)
    first = {group: place for place, group in reversed(list(enumerate(found.tolist())))}
    assert [first[group] for group in found.tolist()] == expected
    assert len(set(expected)) < 600
