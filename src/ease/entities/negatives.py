"""Hard negatives: for each pair, an entity of the same type that does not appear on the page (section 3.2)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ease.entities.hashing import draw
from ease.io.lazy import ibis
from ease.io.models import StrictModel

if TYPE_CHECKING:
    import ibis.expr.types as ir

logger = logging.getLogger(__name__)

_FIRST_DRAWS = 3
"""Draws for every pair; they find a negative for nearly all pairs. The slower search handles the rest."""
_TYPE, _FIRST, _LATER = 1, 2, 3
"""Keys that make the draws of different purposes independent."""


class HardNegativeOptions(StrictModel):
    """How hard negatives are mined."""

    without: Literal["drop", "keep"] = Field(
        "drop", description="Drop or keep pairs without a hard negative."
    )
    exhaustive_limit: int = Field(
        256,
        ge=0,
        description="Types with at most this many members are searched exhaustively; broader types are sampled.",
    )
    draws: int = Field(64, ge=1, description="Samples of a broader type before the next type is tried.")
    seed: int = Field(0, ge=0, description="Seed of the types and negatives.")


def mine_hard_negatives(
    pairs: ir.Table,
    appearing: ir.Table,
    entity_types: ir.Table | None,
    vocabulary: ir.Table,
    options: HardNegativeOptions,
) -> ir.Table:
    """Add a hard negative to each pair: a random entity that shares a type with the pair's entity.

    A hard negative is in the vocabulary and does not appear on the sentence's page. Types are tried in random order;
    within a type all admissible members are equally likely. Types of up to `exhaustive_limit` members are searched
    exhaustively; broader types are sampled `draws` times. Members are numbered within their type and drawn by
    number, so no pair is joined with all members of a broad type.

    Args:
        pairs: Sentence–entity pairs, as `select_pairs` returns them.
        appearing: Entities (language, page_id, entity) that cannot be negatives on a page: those that the page links
            to, and its own subject.
        entity_types: Types of the entities. None without Wikidata: all pairs are kept without a hard negative.
        vocabulary: Entities that can be negatives.
        options: Limits and seed.

    Returns:
        The pairs with the column hard_negative (null if none was found and the pair is kept), ordered by pair_id.
    """
    if entity_types is None:
        logger.warning("Hard negatives are off: the types of entities need a Wikidata dump.")
        return pairs.mutate(hard_negative=ibis.null("int64")).order_by("pair_id")
    members = _number_members(entity_types, vocabulary)
    appearing = appearing.select("language", "page_id", "entity")
    ranked = _rank_types(pairs, members, options.seed)
    first = _pick_first(_admissible(_first_draws(ranked, options.seed), members, appearing))
    rest = ranked.anti_join(first, "pair_id")
    later = _pick_first(_admissible(_later_draws(rest, options), members, appearing))
    found = first.union(later)
    mined = (
        pairs.left_join(found, "pair_id") if options.without == "keep" else pairs.inner_join(found, "pair_id")
    )
    return mined.select(*pairs.columns, "hard_negative").order_by("pair_id")


def count_hard_negatives(pairs: ir.Table, training_pairs: ir.Table) -> ir.Table:
    """Count the pairs of each language with a hard negative, kept without one, and dropped.

    Returns:
        Columns language, pairs, with_negative, kept_without, dropped, ordered by language.
    """
    before = pairs.group_by("language").agg(pairs=pairs.count())
    after = training_pairs.group_by("language").agg(
        with_negative=training_pairs.hard_negative.count(), kept=training_pairs.count()
    )
    both = (
        before.left_join(after, "language").drop("language_right").fill_null({"with_negative": 0, "kept": 0})
    )
    return both.select(
        "language",
        "pairs",
        "with_negative",
        kept_without=both.kept - both.with_negative,
        dropped=both.pairs - both.kept,
    ).order_by("language")


def _number_members(entity_types: ir.Table, vocabulary: ir.Table) -> ir.Table:
    """Number the members of each type with several: type, entity, position (0 to size - 1), size."""
    typed = entity_types.select(entity="qid", type="type_qid").distinct().semi_join(vocabulary, "entity")
    numbered = typed.mutate(
        position=ibis.row_number().over(group_by=typed.type, order_by=typed.entity),
        size=typed.count().over(group_by=typed.type),
    )
    return numbered.filter(numbered["size"] > 1)


def _rank_types(pairs: ir.Table, members: ir.Table, seed: int) -> ir.Table:
    """Return a row per pair and type of its entity, with the type's place in random order (type_rank from 0)."""
    keys = pairs.select("pair_id", "language", "page_id", "entity")
    typed = keys.inner_join(members.select("entity", "type", "size"), "entity")
    ticket = draw(seed, ibis.literal(_TYPE), typed.pair_id, typed.type)
    typed = typed.mutate(ticket=ticket)
    type_rank = ibis.row_number().over(group_by=typed.pair_id, order_by=[typed.ticket, typed.type])
    return typed.mutate(type_rank=type_rank).drop("ticket")


def _first_draws(ranked: ir.Table, seed: int) -> ir.Table:
    """Draw a few member numbers of each pair's first type; `turn` orders them."""
    chosen = ranked.filter(ranked.type_rank == 0)
    drawn = chosen.mutate(turn=ibis.range(0, _FIRST_DRAWS).unnest())
    return drawn.mutate(position=draw(seed, ibis.literal(_FIRST), drawn.pair_id, drawn.turn) % drawn["size"])


def _later_draws(ranked: ir.Table, options: HardNegativeOptions) -> ir.Table:
    """Return all member numbers of narrow types, shuffled, and draws of broad types; `turn` orders them."""
    narrow = ranked["size"] <= options.exhaustive_limit
    trials = ranked.mutate(narrow=narrow, trials=narrow.ifelse(ranked["size"], options.draws))
    tried = trials.mutate(trial=ibis.range(0, trials.trials).unnest())
    ticket = draw(options.seed, ibis.literal(_LATER), tried.pair_id, tried.type, tried.trial)
    return tried.mutate(
        position=tried.narrow.ifelse(tried.trial, ticket % tried["size"]),
        turn=tried.narrow.ifelse(ticket, tried.trial),
    )


def _admissible(drawn: ir.Table, members: ir.Table, appearing: ir.Table) -> ir.Table:
    """Keep the members that are not the pair's entity and do not appear on its page."""
    candidates = drawn.inner_join(
        members.select("type", "position", candidate="entity"), ["type", "position"]
    )
    candidates = candidates.filter(candidates.candidate != candidates.entity)
    candidates = candidates.select("pair_id", "language", "page_id", "type_rank", "turn", "candidate")
    return candidates.anti_join(
        appearing,
        [
            candidates.language == appearing.language,
            candidates.page_id == appearing.page_id,
            candidates.candidate == appearing.entity,
        ],
    )


def _pick_first(candidates: ir.Table) -> ir.Table:
    """Return each pair's candidate of the first type and turn."""
    order = [candidates.type_rank, candidates.turn, candidates.candidate]
    ranked = candidates.mutate(place=ibis.row_number().over(group_by=candidates.pair_id, order_by=order))
    return ranked.filter(ranked.place == 0).select("pair_id", hard_negative="candidate")
