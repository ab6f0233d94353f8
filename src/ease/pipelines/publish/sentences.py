"""Training sentences for the comparison of exported forms and for the hub's widget."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from ease.entities.hashing import draw
from ease.io.lazy import ibis
from ease.reporting.hub_card import Widget

POOL = 5000
"""Drawn pairs among which the sentences are sought."""

FIXED = (
    "A sentence.",
    "No",
    "The weather in the north will be cold tomorrow, with some rain in the afternoon and a clear sky at night.",
    "¿Dónde está la biblioteca?",
    "日本の首都は東京です。",
    "Das ist ein deutscher Satz mit einigen Wörtern mehr.",
)
"""Texts that every form is compared on: one word, several scripts, several lengths"""


class Drawn(NamedTuple):
    """Texts to compare forms on, and examples for the widget."""

    sentences: list[str]
    widgets: list[Widget]


def draw_sentences(pairs: ibis.Table | None, sentences: int, widgets: int, seed: int) -> Drawn:
    """Draw distinct training sentences, of all languages, in an order that depends only on the seed and the pairs.

    Args:
        pairs: Training pairs, with pair_id, language, sentence and entity; None: only the fixed texts.
        sentences: Number of sentences, beside the fixed ones.
        widgets: Number of widget examples.
        seed: Seed of the order.
    """
    if pairs is None:
        return Drawn(list(FIXED), [])
    chosen = pairs.order_by(draw(seed, pairs.pair_id), pairs.pair_id).limit(POOL)
    rows = chosen.select("language", "sentence", "entity").to_pandas().drop_duplicates("sentence")
    return Drawn([*FIXED, *rows["sentence"].head(sentences)], _widgets(rows, widgets))


def _widgets(rows: pd.DataFrame, count: int) -> list[Widget]:
    """Return examples: a sentence, one of another language that links to the same entity, and two about others."""
    found: list[Widget] = []
    for entity, same in rows.groupby("entity", sort=False):
        source = same.iloc[0]
        translated = same[same["language"] != source["language"]]
        others = rows[(rows["entity"] != entity) & (rows["language"] != source["language"])].iloc[
            len(found) * 2 :
        ]
        if len(translated) and len(others) > 1:
            texts = [translated.iloc[0]["sentence"], *others["sentence"].head(2)]
            found.append(Widget(source["sentence"], tuple(texts)))
        if len(found) == count:
            break
    return found[:count]
