"""Hard negatives: for each pair, an entity of the same type that does not appear on the page (EASE, section 3.2)."""

from __future__ import annotations

import logging
from typing import Literal, NamedTuple

from pydantic import Field

from ease.entities.hashing import as_table, draw, draw_each, take_first
from ease.entities.links import page_subjects
from ease.lazy import ibis, ir
from ease.options import StrictModel

logger = logging.getLogger(__name__)

_FIRST_DRAWS = 3
"""Draws for every pair. They find a negative for nearly all pairs; the slower search handles the rest."""

# Each purpose hashes its own key, so that its draws are independent of the others'.
_TYPE = 1
_FIRST = 2
_LATER = 3

_MAX_TYPES = 1 << 20
"""More than the types of any entity; times `DRAW_RANGE` it fits into 63 bits."""
_MEMBERS_PER_ENTITY = 4
"""A type with more than this many members per entity on the page is sampled: most draws are then admissible."""


class HardNegativeOptions(StrictModel):
    """How hard negatives are mined."""

    without: Literal["drop", "keep"] = Field(description="drop or keep pairs without a hard negative")
    exhaustive_limit: int = Field(
        256,
        ge=0,
        description="types with at most this many members, or with few besides those on the page, are searched "
        "exhaustively; broader types are sampled",
    )
    draws: int = Field(64, ge=1, description="samples from a broader type before the next type is tried")
    further_types: bool = Field(
        True,
        description="true: for each pair, types are tried in random order until one has a negative; false: each entity "
        "has one randomly chosen type, as in section 3.2 of EASE's paper",
    )
    seed: int = Field(0, ge=0, description="seed of the types and negatives")


class MiningInputs(NamedTuple):
    """Inputs of the search for hard negatives."""

    appearing: ir.Table
    """Entities that cannot be negatives on a page (its links and its subject): language, page_id, entity"""
    entity_types: ir.Table
    options: HardNegativeOptions


def prepare_mining(
    sentences: ir.Table, links: ir.Table, sitelinks: ir.Table, entity_types: ir.Table, options: HardNegativeOptions
) -> MiningInputs:
    """Return what hard negatives are mined from, from the tables of `ingest`."""
    linked = links.select("language", "page_id", "entity")
    return MiningInputs(linked.union(page_subjects(sentences, sitelinks)), entity_types, options)


def have_negatives(pairs: ir.Table, mining: MiningInputs, vocabulary: ir.Table) -> ir.Table:
    """Return the pairs (language, page_id, entity) that have an admissible hard negative."""
    # A type has an admissible member if it has more members than appear on the page, so no member is looked up.
    members = _number_members(mining.entity_types, vocabulary)
    keys = pairs.select("language", "page_id", "entity").distinct()
    appearing = mining.appearing.select("language", "page_id", "entity").union(keys, distinct=True)
    typed = appearing.inner_join(members.select("entity", "type"), "entity")
    seen = typed.group_by("language", "page_id", "type").agg(seen=typed.count())
    tried = keys.inner_join(_tried_types(members, mining.options), "entity")
    counted = tried.select(*keys.columns, "type", "size").inner_join(seen, ["language", "page_id", "type"])
    return counted.filter(counted["size"] > counted.seen).select(*keys.columns).distinct()


def mine_hard_negatives(pairs: ir.Table, mining: MiningInputs | None, vocabulary: ir.Table) -> ir.Table:
    """Add a hard negative to each pair: a random entity that shares a type with the pair's entity.

    A hard negative is in the vocabulary and does not appear on the sentence's page. Types are tried in random order;
    without `further_types`, only one type is tried. Within a type all admissible members are equally likely. Types of
    up to `exhaustive_limit` members are searched exhaustively, and so are types most of whose members may be on the
    page; broader types are sampled `draws` times. Members are numbered within their type and drawn by number, so no
    pair is joined with all members of a broad type.

    Args:
        pairs: Sentence–entity pairs, as `select_pairs` returns them.
        mining: Inputs of the search. None without Wikidata: all pairs are kept without a hard negative.
        vocabulary: Entities that can be negatives.

    Returns:
        The pairs with the column hard_negative (null if none was found and the pair is kept), ordered by pair_id.
    """
    if mining is None:
        logger.warning("Hard negatives are off: the types of entities need a Wikidata dump.")
        return pairs.mutate(hard_negative=ibis.null("int64")).order_by("pair_id")
    options = mining.options
    members = _number_members(mining.entity_types, vocabulary)
    tried = _tried_types(members, options)
    sized = ibis.struct({"type": tried.type, "size": tried["size"]})
    types = tried.group_by("entity").agg(types=sized.collect().sort())
    appearing = mining.appearing.select("language", "page_id", "entity")
    first = _pick_first(_admissible(_first_draws(pairs, types, options.seed), members, appearing))
    remaining = pairs.anti_join(first, "pair_id")
    later = _pick_first(_admissible(_later_draws(remaining, types, appearing, options), members, appearing))
    negatives = first.union(later)
    if options.without == "keep":
        mined = pairs.left_join(negatives, "pair_id")
    else:
        mined = pairs.inner_join(negatives, "pair_id")
    return mined.select(*pairs.columns, "hard_negative").order_by("pair_id")


def draw_released_negatives(pairs: ir.Table, lists: ir.Table, seed: int) -> ir.Table:
    """Add to each released pair a random entity from its own list of negatives; the rows are ordered by pair_id.

    `lists` is the table `entity_types` that `ingest_released` writes: the members of each page's list.
    """
    # The authors' lists stand in for types: each page's number is the type of its list's members.
    members = lists.select(page_id="type_qid", candidate="qid")
    candidates = pairs.select("pair_id", "page_id").inner_join(members, "page_id")
    candidates = candidates.mutate(type_rank=0, turn=draw(seed, candidates.page_id, candidates.candidate))
    mined = pairs.inner_join(_pick_first(candidates), "pair_id")
    return mined.select(*pairs.columns, "hard_negative").order_by("pair_id")


def count_hard_negatives(pairs: ir.Table, training_pairs: ir.Table) -> ir.Table:
    """Count each language's pairs: language, pairs, with_negative, kept_without, dropped; ordered by language."""
    before = pairs.group_by("language").agg(pairs=pairs.count())
    after = training_pairs.group_by("language").agg(
        with_negative=training_pairs.hard_negative.count(), kept=training_pairs.count()
    )
    counts = before.left_join(after, "language").fill_null({"with_negative": 0, "kept": 0})
    differences = {"kept_without": counts.kept - counts.with_negative, "dropped": counts.pairs - counts.kept}
    return counts.select("language", "pairs", "with_negative", **differences).order_by("language")


def _number_members(entity_types: ir.Table, vocabulary: ir.Table) -> ir.Table:
    """Number the members of each type: type, entity, position (0 to size - 1), size.

    A type with a single member is excluded: it has no negative for that member.
    """
    typed = entity_types.select(entity="qid", type="type_qid").distinct().semi_join(vocabulary, "entity")
    numbered = typed.mutate(
        position=ibis.row_number().over(group_by=typed.type, order_by=typed.entity),
        size=typed.count().over(group_by=typed.type),
    )
    return numbered.filter(numbered["size"] > 1)


def _tried_types(members: ir.Table, options: HardNegativeOptions) -> ir.Table:
    """Return the types to try for each entity, with their sizes: all of them, or one at random."""
    types = members.select("entity", "type", "size")
    if options.further_types:
        return types
    types = types.mutate(ticket=draw(options.seed, ibis.literal(_TYPE), types.entity, types.type))
    return take_first(types, "entity", ["ticket", "type"]).drop("ticket")


def _first_draws(pairs: ir.Table, types: ir.Table, seed: int) -> ir.Table:
    """Draw a few member numbers of each pair's first type, which `_later_draws` ranks first too; `turn` orders them."""
    typed = pairs.select("pair_id", "language", "page_id", "entity").inner_join(types, "entity")
    ids = typed.types.map(lambda sized: sized["type"])
    tickets = draw_each(seed, ibis.literal(_TYPE), typed.pair_id, last=ids)
    # A ticket and its place in one integer: DuckDB finds the least integer of a list much faster than the least struct,
    # and needs no sort of the types.
    numbers = tickets.map(lambda ticket, place: ticket * _MAX_TYPES + place)
    first = typed.types[(numbers.mins() % _MAX_TYPES).cast("int32")]
    columns = ("pair_id", "language", "page_id", "entity")
    first_types = typed.select(*columns, first=first)
    draws = first_types.select(
        *columns,
        type=first_types.first["type"],
        size=first_types.first["size"],
        type_rank=ibis.literal(0),
        turn=ibis.range(0, _FIRST_DRAWS).unnest(),
    )
    return draws.mutate(position=draw(seed, ibis.literal(_FIRST), draws.pair_id, draws.turn) % draws["size"])


def _later_draws(pairs: ir.Table, types: ir.Table, appearing: ir.Table, options: HardNegativeOptions) -> ir.Table:
    """Return all member numbers of narrow types, shuffled, and draws of broad types.

    `type_rank` orders the types of a pair's entity at random, `turn` the draws within a type.
    """
    typed = pairs.select("pair_id", "language", "page_id", "entity").inner_join(types, "entity")
    typed = typed.mutate(sized=typed.types.unnest()).drop("types")
    typed = typed.mutate(type=typed.sized["type"], size=typed.sized["size"]).drop("sized")
    ticketed = typed.mutate(ticket=draw(options.seed, ibis.literal(_TYPE), typed.pair_id, typed.type))
    type_rank = ibis.row_number().over(group_by="pair_id", order_by=["ticket", "type"])
    ranked = ticketed.mutate(type_rank=type_rank).drop("ticket")

    # A draw from a type is wasted if its member is on the page. A type is sampled only if that is rare.
    on_pages = appearing.semi_join(ranked, ["language", "page_id"])
    counts = on_pages.group_by("language", "page_id").agg(on_page=on_pages.entity.nunique())
    counted = as_table(ranked.left_join(counts, ["language", "page_id"]))
    counted = counted.select(*ranked.columns, on_page=counted.on_page.fill_null(0))
    narrow_limit = ibis.greatest(counted.on_page * _MEMBERS_PER_ENTITY, options.exhaustive_limit)
    is_narrow = counted["size"] <= narrow_limit
    trials = counted.mutate(is_narrow=is_narrow, trials=is_narrow.ifelse(counted["size"], options.draws))
    tried = trials.mutate(trial=ibis.range(0, trials.trials).unnest())

    # A narrow type's trials are its members, in random order; a broad type's are random members, in order.
    ticket = draw(options.seed, ibis.literal(_LATER), tried.pair_id, tried.type, tried.trial)
    random_member = ticket % tried["size"]
    # Factors of 0 and 1 instead of conditions: DuckDB computes an expression that is repeated within a condition each
    # time.
    if_narrow = tried.is_narrow.cast("int64")
    if_broad = (~tried.is_narrow).cast("int64")
    return tried.mutate(
        position=if_narrow * tried.trial + if_broad * random_member,
        turn=if_narrow * ticket + if_broad * tried.trial,
    )


def _admissible(draws: ir.Table, members: ir.Table, appearing: ir.Table) -> ir.Table:
    """Keep the members that are not the pair's entity and do not appear on its page."""
    numbered = members.select("type", "position", candidate="entity")
    candidates = draws.inner_join(numbered, ["type", "position"])
    candidates = candidates.filter(candidates.candidate != candidates.entity)
    candidates = candidates.select("pair_id", "language", "page_id", "type_rank", "turn", "candidate")
    return candidates.anti_join(appearing.rename(candidate="entity"), ["language", "page_id", "candidate"])


def _pick_first(candidates: ir.Table) -> ir.Table:
    """Return each pair's candidate of the first type and turn."""
    first = take_first(candidates, "pair_id", ["type_rank", "turn", "candidate"])
    return first.select("pair_id", hard_negative="candidate")
