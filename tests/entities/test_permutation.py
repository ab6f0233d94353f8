"""The permutation replaces entities within each language and changes nothing else."""

from __future__ import annotations

import ibis
import pandas as pd
import pytest

from ease.entities.pairs import permute_entities

VOCABULARY = pd.DataFrame({"row": range(50), "entity": range(1000, 1050), "label": "x", "link_count": 20})
PAIRS = pd.DataFrame(
    {
        "pair_id": range(200),
        "language": ["en", "ja", "ar", "en"] * 50,
        "sentence": [f"sentence {number}" for number in range(200)],
        "entity": [1000 + number * 7 % 50 for number in range(200)],
        "hard_negative": pd.array(
            [None if number % 5 == 0 else 1000 + number * 3 % 50 for number in range(200)], "Int64"
        ),
        "further_entities": [
            None if number % 4 == 0 else [1000 + (number * place) % 50 for place in range(1, number % 4 + 2)]
            for number in range(200)
        ],
    }
)


def permute(seed: int, pairs: pd.DataFrame = PAIRS) -> pd.DataFrame:
    return permute_entities(ibis.memtable(pairs), ibis.memtable(VOCABULARY), seed).to_pandas()


@pytest.fixture(scope="module")
def permuted() -> pd.DataFrame:
    return permute(seed=1)


@pytest.mark.slow
def test_each_language_has_one_permutation_for_positives_and_negatives(permuted: pd.DataFrame) -> None:
    assert permuted[["pair_id", "language", "sentence"]].equals(PAIRS[["pair_id", "language", "sentence"]])
    for language in ("en", "ja", "ar"):
        rows = PAIRS["language"] == language
        renamed: dict[int, int] = {}
        lists = zip(PAIRS[rows]["further_entities"], permuted[rows]["further_entities"], strict=True)
        further = [pair for before, after in lists if before for pair in zip(before, after, strict=True)]
        columns = [
            *(
                zip(PAIRS[rows][column], permuted[rows][column], strict=True)
                for column in ("entity", "hard_negative")
            ),
            further,
        ]
        for column in columns:
            for before, after in column:
                if pd.isna(before):
                    assert pd.isna(after)
                else:
                    assert renamed.setdefault(int(before), int(after)) == after
        assert len(set(renamed.values())) == len(renamed), "two entities never become one"
        assert set(renamed.values()) <= set(VOCABULARY["entity"])
        assert any(before != after for before, after in renamed.items())


@pytest.mark.slow
def test_the_seed_decides_and_the_order_of_rows_does_not(permuted: pd.DataFrame) -> None:
    assert permuted.equals(permute(seed=1, pairs=PAIRS.sample(frac=1, random_state=0)))
    assert not permuted["entity"].equals(permute(seed=2)["entity"])
