"""Control experiment: entities permuted within each language, so that they no longer agree across languages."""

from __future__ import annotations

from ease.entities.hashing import draw, hash_text
from ease.io.lazy import ibis, ir


def permute_entities(training_pairs: ir.Table, vocabulary: ir.Table, seed: int) -> ir.Table:
    """Replace entities by a random permutation of the vocabulary, a different one in each language.

    Two sentences of one language still share an entity exactly if they did before; across languages, shared entities
    carry no information any more.

    Args:
        training_pairs: Pairs with `entity` and `hard_negative`, optionally with `further_entities` and `subject`.
        vocabulary: All entities; each language permutes all of them.
        seed: Seed of the permutations.

    Returns:
        The same rows with permuted entities, ordered by pair_id.
    """
    languages = training_pairs.select("language").distinct()
    members = languages.cross_join(vocabulary.select("entity"))
    ticket = draw(seed, hash_text(members.language), members.entity)
    place = ibis.row_number().over(group_by=members.language, order_by=members.entity)
    turn = ibis.row_number().over(group_by=members.language, order_by=[ticket, members.entity])
    numbered = members.mutate(place=place, turn=turn)
    renamed = numbered.select("language", "entity", number="place").inner_join(
        numbered.select("language", number="turn", other="entity"), ["language", "number"]
    )
    names = renamed.select("language", "entity", "other")
    renamed_pairs = training_pairs
    for column in ("entity", "hard_negative", "subject"):
        if column in training_pairs.columns:
            renamed_pairs = _rename(renamed_pairs, column, names)
    if "further_entities" in training_pairs.columns:
        renamed_pairs = _rename_further(renamed_pairs, names)
    return renamed_pairs.order_by("pair_id")


def _rename(pairs: ir.Table, column: str, names: ir.Table) -> ir.Table:
    """Replace the entities of a column; nulls remain."""
    own = names.select("language", **{column: "entity", "renamed": "other"})
    joined = pairs.left_join(own, ["language", column])
    return joined.select(**{name: joined["renamed" if name == column else name] for name in pairs.columns})


def _rename_further(pairs: ir.Table, names: ir.Table) -> ir.Table:
    """Replace the entities of the arrays, in their order."""
    place = ibis.range(0, pairs.further_entities.length()).unnest()
    placed = pairs.filter(pairs.further_entities.notnull()).mutate(place=place)
    single = placed.select("pair_id", "language", "place", entity=placed.further_entities[placed.place])
    single = single.inner_join(names, ["language", "entity"])
    entries = single.group_by("pair_id").agg(
        entries=ibis.struct({"place": single.place, "entity": single.other}).collect()
    )
    renamed = entries.select("pair_id", renamed=entries.entries.sort().map(lambda entry: entry.entity))
    joined = pairs.left_join(renamed, "pair_id")
    columns = {"further_entities": "renamed"}
    return joined.select(**{name: joined[columns.get(name, name)] for name in pairs.columns})
