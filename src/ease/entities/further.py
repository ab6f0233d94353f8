"""The other entities of each pair's sentence, and the subject of its page: further positives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ease.entities.hashing import draw
from ease.entities.sentences import SENTENCE_KEY
from ease.io.lazy import ibis

if TYPE_CHECKING:
    import ibis.expr.types as ir

MAX_FURTHER = 15
"""Further entities kept of a sentence; a sentence of 1,000 characters rarely links to more."""


def add_further_entities(
    pairs: ir.Table, links: ir.Table, subjects: ir.Table, vocabulary: ir.Table, seed: int
) -> ir.Table:
    """Add the other entities of each pair's sentence, also those whose own pair a cap or a filter removed.

    Args:
        pairs: Pairs of a sentence and an entity with a unique `pair_id`.
        links: All links of the sentences: language, page_id, sentence_index, entity.
        subjects: The entity of each page: language, page_id, entity.
        vocabulary: The entities that can be positives.
        seed: Seed of the order, and so of the entities kept of a sentence with more than `MAX_FURTHER`.

    Returns:
        The pairs with the columns further_entities (an array in seeded order; null if the sentence has no other
        entity) and subject (null if it is not in the vocabulary, or is among the sentence's entities), ordered by
        pair_id.
    """
    known = vocabulary.select("entity")
    linked = links.select(*SENTENCE_KEY, other="entity").distinct()
    linked = linked.semi_join(known, linked.other == known.entity)
    both = pairs.select("pair_id", "entity", *SENTENCE_KEY).inner_join(linked, SENTENCE_KEY)
    both = both.filter(both.other != both.entity)
    ticket = draw(seed, both.pair_id, both.other)
    further = both.group_by("pair_id").agg(
        drawn=ibis.struct({"ticket": ticket, "entity": both.other}).collect()
    )
    further = further.select(
        "pair_id",
        further_entities=further.drawn.sort()[:MAX_FURTHER].map(lambda drawn: drawn.entity),
    )
    subject = subjects.semi_join(known, "entity").select("language", "page_id", subject="entity")
    joined = pairs.left_join(further, "pair_id").drop("pair_id_right")
    joined = joined.left_join(subject, ["language", "page_id"])
    linked_too = (joined.subject == joined.entity) | joined.further_entities.contains(
        joined.subject
    ).coalesce(False)
    named = joined.select(
        *pairs.columns, "further_entities", subject=linked_too.ifelse(ibis.null("int64"), joined.subject)
    )
    return named.order_by("pair_id")
