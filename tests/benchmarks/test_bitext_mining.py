"""The mining benchmark on made pages: what is planted, and the scores of an encoder that knows all translations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from benchmarks.bitext_mining import PAGE, Line, Pages, as_tables, measure, plant, without_common_facts

ARTICLES = 400
FACTS = pd.DataFrame(
    {
        "fact_id": [f"f{n}" for n in range(40)],
        "left": [f"L{n}" for n in range(40)],
        "right": [f"R{n}" for n in range(40)],
    }
)


def articles(side: str) -> Pages:
    """Articles of seven sentences, each about two entities of its own."""
    start = {"a": 10_000, "b": 20_000}[side]
    return {
        item: [
            Line(f"{side} {item} {index}", frozenset({start + 2 * item, start + 5000 + index}))
            for index in range(7)
        ]
        for item in range(1, ARTICLES + 1)
    }


def encode(sentences: Sequence[str]) -> NDArray[np.float32]:
    """Give a fact the same vector in both languages, and others random ones, with cosines of about 0.5."""
    seeds = [
        int(text[1:])
        if text[0] in "LR"
        else 1000 + sum(ord(letter) * 31**place for place, letter in enumerate(text))
        for text in sentences
    ]
    return np.stack([1 + np.random.default_rng(seed % 2**32).normal(size=64) for seed in seeds]).astype(
        np.float32
    )


def test_a_third_of_the_planted_sentences_have_no_counterpart() -> None:
    pages = list(plant(articles("a"), articles("b"), FACTS, seed=1))
    assert {len(page) for _, *sides in pages for page in sides} == {PAGE}
    left, right = ({line.fact for _, *sides in pages for line in sides[side]} - {""} for side in (0, 1))
    assert len(left) == len(right) == 30
    assert len(left & right) == 20
    for _, one, two in pages:
        own = {line.fact for line in one} & left & right
        assert own == {line.fact for line in two} & left & right, "both are on the page of one item"


def test_a_perfect_encoder_finds_all_planted_pairs_among_few_candidates() -> None:
    planted = as_tables(list(plant(articles("a"), articles("b"), FACTS, seed=1)), ("en", "xx"))
    row = measure(planted, ("en", "xx"), encode, min_score=1.1)
    assert row["F1, exhaustive"] == row["F1, candidates"] == pytest.approx(100)
    assert row["compared %"] == pytest.approx(100 / row["pages"])
    assert row["compared %"] < 1


def test_sentences_about_the_same_entities_stay_in_one_language() -> None:
    def about(*entities: int) -> Line:
        return Line("text", frozenset(entities))

    left = {2: [about(4, 6)], 8: [about(10)], 9: [about(77)]}
    right = {12: [about(4, 6)], 10: [about(8)], 9: [about(78)]}
    kept = without_common_facts(left, right)
    assert all(len(side[9]) == 1 for side in kept)
    assert [bool(kept[0][2]), bool(kept[1][12])].count(True) == 1, "equal links on pages about other items"
    assert [bool(kept[0][8]), bool(kept[1][10])].count(True) == 1, "a link and a page's item"
