"""A test set of sentence pairs from links alone: two wikis' sentences about one item, with graded distractors."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, model_validator

from ease.entities.hashing import as_int64, as_table, draw, take_first
from ease.entities.links import SENTENCE_KEY, check_limits, page_subjects
from ease.lazy import ibis, ir
from ease.options import StrictModel

LEFT, RIGHT = "left", "right"
"""Sides of a pair: the language, and the pivot language."""
ANSWER, SAME_PAGE, SAME_TYPE = "answer", "same_page", "same_type"
"""Grades of the sentences of a pair and side: the right one, and its distractors."""
COLUMNS = ("subset", "pair_id", "side", "grade", "kind", "entity", *SENTENCE_KEY, "text")

_POOL = 10
"""Items considered, as a multiple of `max_pairs`."""
_ITEM, _SENTENCE, _DISTRACTOR = 1, 2, 3
"""Keys that make the draws of different purposes independent."""
_FIRST_PRINT, _SECOND_PRINT = 4, 5
_PRINTS = ("entities", "print1", "print2")


class AuditOptions(StrictModel):
    """Which sentences are matched across two languages, and how many."""

    pivot: str = Field("en", description="language that all others are matched with")
    max_pairs: int = Field(200, ge=1, description="pairs of each language with the pivot")
    max_share: float = Field(
        0.3, gt=0, le=1, description="largest share of a language's possible pairs, whose pages no training sees"
    )
    min_pairs: int = Field(50, ge=2, description="fewer pairs of a language are an error")
    pairs_per_item: int = Field(
        3, ge=1, description="pairs of one item: that of the first sentences, then those with equal links"
    )
    min_entities: int = Field(
        1, ge=1, description="linked entities of a matched sentence that is not the first of its page"
    )
    distractors: int = Field(2, ge=0, description="distractors of each grade for each sentence")
    min_characters: int = Field(10, ge=1, description="shorter sentences are not used")
    max_characters: int = Field(300, ge=1, description="longer sentences are not used")
    excluded_types: tuple[int, ...] = Field(
        (), description="Wikidata types of items whose pages are no articles, by their numbers"
    )
    seed: int = Field(0, ge=0, description="seed of the items, sentences and distractors")

    @model_validator(mode="after")
    def _check_limits(self) -> AuditOptions:
        check_limits(self, "characters", "pairs")
        return self


def find_candidates(
    sentences: ir.Table,
    links: ir.Table,
    sitelinks: ir.Table,
    entity_types: ir.Table,
    languages: Sequence[str],
    options: AuditOptions,
) -> ir.Table:
    """Find the sentences that an audit can use: on the pages of drawn items, of the right length, without copies.

    The same items are preferred for all languages, so that few pages are kept out of training.

    Args:
        sentences: The ingested sentences.
        links: Their links, as `resolve_links` returns them.
        sitelinks: Titles of the Wikidata items.
        entity_types: Types of the items; empty without a Wikidata dump.
        languages: The pivot and the languages to match with it.
        options: Limits, filters and seed.

    Returns:
        Columns language, page_id, sentence_index, entity (the page's item), ticket (the item's in the draw), text,
        entities, print1 and print2 (number and two hashes of the set of linked entities), first (of its page), fits
        (whether the sentence may be in a pair); of at most `max_pairs` times 10 pages of a language but the pivot.
    """
    pages = _draw_pages(sentences, sitelinks, entity_types, languages, options)
    whole = sentences.select(*SENTENCE_KEY, "text").inner_join(pages, ["language", "page_id"])
    whole = whole.select(*SENTENCE_KEY, "entity", "ticket", "text")
    lengths = whole.text.length()
    whole = whole.filter((lengths >= options.min_characters) & (lengths <= options.max_characters))
    counted = whole.mutate(copies=whole.count().over(group_by=["language", "text"]))
    single = counted.filter(counted.copies == 1).drop("copies")
    # Two sums of hashes of each sentence's distinct entities, without the page's own: equal for equal sets.
    linked = links.select(*SENTENCE_KEY, linked="entity").distinct()
    linked = linked.inner_join(pages, ["language", "page_id"])
    linked = linked.filter(linked.linked != linked.entity).select(*SENTENCE_KEY, "linked")
    hashed = linked.mutate(hash1=draw(_FIRST_PRINT, linked.linked), hash2=draw(_SECOND_PRINT, linked.linked))
    sums = zip(_PRINTS, (hashed.count(), hashed.hash1.sum(), hashed.hash2.sum()), strict=True)
    prints = hashed.group_by(*SENTENCE_KEY).agg(**{name: as_int64(value) for name, value in sums})
    joined = as_table(single.left_join(prints, list(SENTENCE_KEY)))
    filled = {name: joined[name].fill_null(ibis.literal(0, "int64")) for name in _PRINTS}
    sets = joined.select(*single.columns, **filled)
    # With the page's own entity
    whole1 = sets.print1 + draw(_FIRST_PRINT, sets.entity)
    whole2 = sets.print2 + draw(_SECOND_PRINT, sets.entity)
    alike = sets.count().over(group_by=[sets.language, sets.entities, whole1, whole2])
    sets = sets.mutate(first=sets.sentence_index == 0, alike=alike)
    fits = sets.first | ((sets.entities >= options.min_entities) & (sets.alike == 1))
    return sets.mutate(fits=fits).drop("alike")


def _draw_pages(
    sentences: ir.Table, sitelinks: ir.Table, entity_types: ir.Table, languages: Sequence[str], options: AuditOptions
) -> ir.Table:
    """Draw items that have one page in the pivot language and one in another: language, page_id, entity, ticket."""
    pages = page_subjects(sentences.filter(sentences.language.isin(list(languages))), sitelinks)
    if options.excluded_types:
        excluded = entity_types.filter(entity_types.type_qid.isin(list(options.excluded_types)))
        pages = pages.anti_join(excluded.select(entity="qid").distinct(), "entity")
    counted = pages.mutate(same=pages.count().over(group_by=["language", "entity"]))
    single = counted.filter(counted.same == 1).drop("same")
    single = single.mutate(ticket=draw(options.seed, ibis.literal(_ITEM), single.entity))
    pivots = single.filter(single.language == options.pivot)
    others = single.filter(single.language != options.pivot).semi_join(pivots, "entity")
    others = take_first(others, "language", ["ticket", "entity"], _POOL * options.max_pairs)
    return others.union(pivots.semi_join(others, "entity"))


def match_candidates(candidates: ir.Table, options: AuditOptions) -> ir.Table:
    """Match the sentences of each language with those of the pivot; candidates are as `find_candidates` returns them.

    Two sentences are a pair if they are the first ones of the articles about an item, or later ones in these articles
    that link to the same set of entities. A later sentence is ambiguous, and never matched, if another sentence of
    its language has the same entities, counting the item.

    Returns:
        Two rows a pair, with the columns of `COLUMNS` except grade, as `add_distractors` describes them.
    """
    fitting = candidates.filter(candidates.fits)
    # The first sentences of two articles need not have the same links.
    keys = {name: fitting.first.ifelse(ibis.literal(0, "int64"), fitting[name]) for name in _PRINTS}
    keyed = fitting.select(*SENTENCE_KEY, "entity", "ticket", "first", "text", **keys)
    pivot = keyed.filter(keyed.language == options.pivot).drop("ticket", "language")
    pivot = pivot.rename(right_page="page_id", right_index="sentence_index", right_text="text")
    others = keyed.filter(keyed.language != options.pivot)
    pairs = others.inner_join(pivot, ["entity", "first", *_PRINTS])
    pairs = pairs.mutate(draw=draw(options.seed, ibis.literal(_SENTENCE), pairs.entity, pairs.right_index))
    order = [pairs.first.desc(), pairs.draw, pairs.right_index]
    pairs = pairs.mutate(place=ibis.row_number().over(group_by=["language", "entity"], order_by=order))
    pairs = pairs.filter(pairs.place < options.pairs_per_item)
    number = ibis.row_number().over(group_by="language", order_by=["ticket", "entity", "place"])
    pairs = pairs.mutate(pair_id=as_int64(number), possible=pairs.count().over(group_by="language"))
    few = pairs.pair_id < pairs.possible * options.max_share
    pairs = pairs.filter(few & (pairs.pair_id < options.max_pairs))
    sides = [
        (LEFT, pairs.language, ("page_id", "sentence_index", "text")),
        (RIGHT, ibis.literal(options.pivot), ("right_page", "right_index", "right_text")),
    ]
    left, right = (
        pairs.select(
            "pair_id",
            "entity",
            subset=pairs.language + f"-{options.pivot}",
            kind=pairs.first.ifelse("first", "links"),
            side=ibis.literal(side),
            language=language,
            page_id=page,
            sentence_index=index,
            text=text,
        )
        for side, language, (page, index, text) in sides
    )
    return left.union(right)


def add_distractors(answers: ir.Table, candidates: ir.Table, entity_types: ir.Table, options: AuditOptions) -> ir.Table:
    """Draw distractors of both sides of each pair: of the same page, and of items of the same type.

    Answers are as `match_candidates` returns them. Without types there are no distractors of the same type.

    Returns:
        A row for each sentence of a pair and for each of its distractors, with the columns subset (`eo-en`), pair_id
        (from 0 in each subset), side (left: the language, right: the pivot), grade (answer, same_page, same_type), kind
        (first, links), entity (the pair's item), language, page_id, sentence_index, text; ordered by subset, pair_id,
        side, grade, page_id and sentence_index.
    """
    parts = {
        ANSWER: answers,
        SAME_PAGE: _of_same_page(answers, candidates, options),
        SAME_TYPE: _of_same_type(answers, entity_types, options),
    }
    graded = (part.mutate(grade=ibis.literal(grade)).select(*COLUMNS) for grade, part in parts.items())
    order = ["subset", "pair_id", "side", "grade", "page_id", "sentence_index"]
    return ibis.union(*graded).order_by(order)


def _of_same_page(answers: ir.Table, candidates: ir.Table, options: AuditOptions) -> ir.Table:
    """Draw other sentences of each answer's page whose linked entities differ from the answer's."""
    there = candidates.select(*SENTENCE_KEY, *_PRINTS, "text")
    own = there.drop("text").rename({f"own_{name}": name for name in _PRINTS})
    known = answers.drop("text").inner_join(own, list(SENTENCE_KEY))
    known = known.rename(own_index="sentence_index")
    joined = as_table(known.inner_join(there, ["language", "page_id"]))
    joined = joined.filter(joined.sentence_index != joined.own_index)
    differs = [joined[name] != joined[f"own_{name}"] for name in _PRINTS]
    return _draw(joined.filter(differs[0] | differs[1] | differs[2]), options)


def _of_same_type(answers: ir.Table, entity_types: ir.Table, options: AuditOptions) -> ir.Table:
    """Draw answers of the same subset, side and kind whose items share a type with each answer's item."""
    types = entity_types.select(entity="qid", type="type_qid").distinct()
    types = types.semi_join(answers, "entity")
    shared = types.rename(other="entity").inner_join(types, "type").select("entity", "other").distinct()
    shared = shared.filter(shared.entity != shared.other)
    others = answers.select("subset", "side", "kind", *SENTENCE_KEY, "text", other="entity")
    known = answers.select("subset", "side", "kind", "pair_id", "entity", own_index="sentence_index")
    joined = as_table(known.inner_join(shared, "entity"))
    joined = as_table(joined.inner_join(others, ["subset", "side", "kind", "other"]))
    return _draw(joined, options)


def _draw(found: ir.Table, options: AuditOptions) -> ir.Table:
    """Keep the `distractors` with the lowest tickets of each answer."""
    keys = (found.entity, found.own_index, found.page_id, found.sentence_index)
    ranked = found.mutate(ticket=draw(options.seed, ibis.literal(_DISTRACTOR), *keys))
    order = ["ticket", "page_id", "sentence_index"]
    return take_first(ranked, ["subset", "pair_id", "side"], order, options.distractors)
