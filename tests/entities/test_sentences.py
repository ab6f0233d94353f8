"""Distinct sentences of a table of pairs."""

from __future__ import annotations

import ibis
import pandas as pd

from ease.entities.links import distinct_sentences


def drawn(texts: list[str], rows: int | None, seed: int) -> list[str]:
    return list(distinct_sentences(ibis.memtable(pd.DataFrame({"sentence": texts})), rows, seed))


def test_distinct_sentences_are_drawn_by_seed_in_any_input_order() -> None:
    texts = [f"Sentence {number}" for number in range(50)]
    whole = drawn([*texts, *texts[:20]], None, 3)
    assert sorted(whole) == sorted(texts)
    assert whole != texts
    assert drawn([*reversed(texts), "Sentence 7"], 10, 3) == whole[:10]
    assert drawn(texts, 10, 4) != whole[:10]
