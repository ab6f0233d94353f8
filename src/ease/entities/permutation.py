"""Control experiment: entities permuted within each language, so that they no longer agree across languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ease.entities.hashing import draw, hash_title
from ease.io.lazy import ibis

if TYPE_CHECKING:
    import ibis.expr.types as ir


def permute_entities(training_pairs: ir.Table, vocabulary: ir.Table, seed: int) -> ir.Table:
    """Replace entities by a random permutation of the vocabulary, a different one in each language.

    Two sentences of one language still share an entity exactly if they did before; across languages, shared entities
    carry no information any more.

    Args:
        training_pairs: Pairs with `entity` and `hard_negative`.
        vocabulary: All entities; each language permutes all of them.
        seed: Seed of the permutations.

    Returns:
        The same rows with permuted entities, ordered by pair_id.
    """
    languages = training_pairs.select("language").distinct()
    members = languages.cross_join(vocabulary.select("entity"))
    ticket = draw(seed, hash_title(members.language), members.entity)
    place = ibis.row_number().over(group_by=members.language, order_by=members.entity)
    turn = ibis.row_number().over(group_by=members.language, order_by=[ticket, members.entity])
    numbered = members.mutate(place=place, turn=turn)
    renamed = numbered.select("language", "entity", number="place").inner_join(
        numbered.select("language", number="turn", other="entity"), ["language", "number"]
    )
    names = renamed.select("language", "entity", "other")
    negatives = names.select("language", hard_negative="entity", other_negative="other")
    joined = training_pairs.inner_join(names, ["language", "entity"]).left_join(
        negatives, ["language", "hard_negative"]
    )
    columns = {"entity": "other", "hard_negative": "other_negative"}
    return joined.select(
        **{name: joined[columns.get(name, name)] for name in training_pairs.columns}
    ).order_by("pair_id")
