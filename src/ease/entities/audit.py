"""Test set of sentence pairs made from links alone: two wikis' sentences about one item, with graded distractors."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, model_validator

from ease.entities.hashing import as_int64, as_table, draw, take_first
from ease.entities.links import SENTENCE_KEY, check_limits, holes_of, page_subjects
from ease.lazy import ibis, ir
from ease.options import StrictModel

LEFT = "left"
"""Side of a pair in the language that is audited"""
RIGHT = "right"
"""Side of a pair in the pivot language"""

ANSWER = "answer"
"""Grade of the sentence that belongs to the pair"""
SAME_PAGE = "same_page"
"""Grade of a distractor from the answer's page"""
SAME_TYPE = "same_type"
"""Grade of a distractor whose item shares a type with the pair's item"""

AUDIT_TABLE_COLUMNS = ("subset", "pair_id", "side", "grade", "kind", "entity", *SENTENCE_KEY, "text")

_POOL = 10
"""Items considered, as a multiple of `max_pairs`"""

# Each purpose hashes its own key, so that its draws are independent of the others'.
_ITEM = 1
_SENTENCE = 2
_DISTRACTOR = 3
_FIRST_HASH = 4
_SECOND_HASH = 5

_ENTITY_SET = ("entities", "print1", "print2")
"""Columns that identify a sentence's set of linked entities: its size and two sums of hashes"""


class AuditOptions(StrictModel):
    """Which sentences are matched across two languages, and how many."""

    pivot: str = Field("en", description="language that all others are matched with")
    max_pairs: int = Field(200, ge=1, description="pairs of each language with the pivot")
    max_share: float = Field(
        0.3, gt=0, le=1, description="largest share of a language's possible pairs; no training run sees their pages"
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
        (), description="numbers of the Wikidata types whose items' pages are no articles"
    )
    seed: int = Field(0, ge=0, description="seed of the items, sentences and distractors")

    @model_validator(mode="after")
    def _check_limits(self) -> AuditOptions:
        check_limits(self, "characters", "pairs")
        return self


def select_audit_sentences(
    sentences: ir.Table,
    links: ir.Table,
    sitelinks: ir.Table,
    entity_types: ir.Table,
    languages: Sequence[str],
    options: AuditOptions,
) -> ir.Table:
    """Return the sentences that an audit can use: on the pages of drawn items, within the limits, unique, complete.

    The same items are preferred in all languages, so that few pages are kept out of training.

    Args:
        sentences: The ingested sentences.
        links: Their links, as `resolve_links` returns them.
        sitelinks: Titles of the Wikidata items.
        entity_types: Types of the items; empty without a Wikidata dump.
        languages: The pivot and the languages to match with it.
        options: Limits, filters and seed.

    Returns:
        Columns language, page_id, sentence_index, entity (the page's item), ticket (the item's draw), text, entities,
        print1 and print2 (size and two hashes of the set of linked entities), first (whether the sentence is the first
        of its page), fits (whether the sentence may be in a pair). Each language but the pivot has at most
        `max_pairs` times 10 pages.
    """
    pages = _draw_pages(sentences, sitelinks, entity_types, languages, options)
    # A sentence without one of its words is no translation of another.
    complete = sentences.filter(holes_of(sentences) == 0)
    on_pages = complete.select(*SENTENCE_KEY, "text").inner_join(pages, ["language", "page_id"])
    on_pages = on_pages.select(*SENTENCE_KEY, "entity", "ticket", "text")
    lengths = on_pages.text.length()
    within = on_pages.filter((lengths >= options.min_characters) & (lengths <= options.max_characters))
    # A sentence that occurs twice, such as boilerplate, would make its translation ambiguous.
    counted = within.mutate(copies=within.count().over(group_by=["language", "text"]))
    unique = counted.filter(counted.copies == 1).drop("copies")
    joined = as_table(unique.left_join(_entity_sets(links, pages), list(SENTENCE_KEY)))
    # A sentence without links has the empty set, whose size and sums are 0.
    filled = {name: joined[name].fill_null(ibis.literal(0, "int64")) for name in _ENTITY_SET}
    identified = joined.select(*unique.columns, **filled)
    # With the page's item: a sentence on A's page that links to B has the entities of one on B's page that links to A.
    with_item1 = identified.print1 + draw(_FIRST_HASH, identified.entity)
    with_item2 = identified.print2 + draw(_SECOND_HASH, identified.entity)
    same_set = [identified.language, identified.entities, with_item1, with_item2]
    identified = identified.mutate(
        first=identified.sentence_index == 0, alike=identified.count().over(group_by=same_set)
    )
    unambiguous = (identified.entities >= options.min_entities) & (identified.alike == 1)
    return identified.mutate(fits=identified.first | unambiguous).drop("alike")


def _entity_sets(links: ir.Table, pages: ir.Table) -> ir.Table:
    """Return the set of entities that each sentence links to, without its page's item, as `_ENTITY_SET`.

    A set is identified by its size and two sums of hashes, which any engine can group and join by.
    """
    linked = links.select(*SENTENCE_KEY, linked="entity").distinct()
    linked = linked.inner_join(pages, ["language", "page_id"])
    linked = linked.filter(linked.linked != linked.entity).select(*SENTENCE_KEY, "linked")
    hashed = linked.mutate(hash1=draw(_FIRST_HASH, linked.linked), hash2=draw(_SECOND_HASH, linked.linked))
    sums = zip(_ENTITY_SET, (hashed.count(), hashed.hash1.sum(), hashed.hash2.sum()), strict=True)
    return hashed.group_by(*SENTENCE_KEY).agg(**{name: as_int64(value) for name, value in sums})


def _draw_pages(
    sentences: ir.Table, sitelinks: ir.Table, entity_types: ir.Table, languages: Sequence[str], options: AuditOptions
) -> ir.Table:
    """Draw items that have one page in the pivot language and one in another: language, page_id, entity, ticket."""
    pages = page_subjects(sentences.filter(sentences.language.isin(list(languages))), sitelinks)
    if options.excluded_types:
        excluded = entity_types.filter(entity_types.type_qid.isin(list(options.excluded_types)))
        pages = pages.anti_join(excluded.select(entity="qid").distinct(), "entity")
    # Of two pages about one item in a wiki, neither is certain to be the counterpart of the other wiki's page.
    counted = pages.mutate(same=pages.count().over(group_by=["language", "entity"]))
    unique = counted.filter(counted.same == 1).drop("same")
    # By the item alone: all languages prefer the same items, so few pages are kept out of training.
    tickets = unique.mutate(ticket=draw(options.seed, ibis.literal(_ITEM), unique.entity))
    pivot_pages = tickets.filter(tickets.language == options.pivot)
    pages = tickets.filter(tickets.language != options.pivot).semi_join(pivot_pages, "entity")
    pages = take_first(pages, "language", ["ticket", "entity"], _POOL * options.max_pairs)
    return pages.union(pivot_pages.semi_join(pages, "entity"))


def match_candidates(candidates: ir.Table, options: AuditOptions) -> ir.Table:
    """Match the sentences of each language with the pivot's; candidates are as `select_audit_sentences` returns them.

    Two sentences are a pair if they are the first sentences of the articles about an item, or later sentences of these
    articles that link to the same set of entities. A later sentence is ambiguous, and never matched, if another
    sentence of its language has the same entities, counting the item.

    Returns:
        Two rows a pair, with the columns of `AUDIT_TABLE_COLUMNS` except grade, as `add_distractors` describes them.
    """
    fitting = candidates.filter(candidates.fits)
    # The first sentences of two articles need not have the same links: all of them get the empty set.
    keys = {name: fitting.first.ifelse(ibis.literal(0, "int64"), fitting[name]) for name in _ENTITY_SET}
    keyed = fitting.select(*SENTENCE_KEY, "entity", "ticket", "first", "text", **keys)
    pivot = keyed.filter(keyed.language == options.pivot).drop("ticket", "language")
    pivot = pivot.rename(right_page="page_id", right_index="sentence_index", right_text="text")
    left = keyed.filter(keyed.language != options.pivot)
    pairs = left.inner_join(pivot, ["entity", "first", *_ENTITY_SET])

    # Limited for each item: a long article would otherwise give most of the pairs.
    pairs = pairs.mutate(draw=draw(options.seed, ibis.literal(_SENTENCE), pairs.entity, pairs.right_index))
    order = [pairs.first.desc(), pairs.draw, pairs.right_index]
    pairs = pairs.mutate(place=ibis.row_number().over(group_by=["language", "entity"], order_by=order))
    pairs = pairs.filter(pairs.place < options.pairs_per_item)

    number = ibis.row_number().over(group_by="language", order_by=["ticket", "entity", "place"])
    pairs = pairs.mutate(pair_id=as_int64(number), possible=pairs.count().over(group_by="language"))
    # A small language keeps most of its pages for training.
    within_share = pairs.pair_id < pairs.possible * options.max_share
    pairs = pairs.filter(within_share & (pairs.pair_id < options.max_pairs))
    left_rows = _side_rows(pairs, options, LEFT, pairs.language, ("page_id", "sentence_index", "text"))
    pivot_language = ibis.literal(options.pivot)
    right_rows = _side_rows(pairs, options, RIGHT, pivot_language, ("right_page", "right_index", "right_text"))
    return left_rows.union(right_rows)


def _side_rows(
    pairs: ir.Table, options: AuditOptions, side: str, language: ir.StringValue, columns: tuple[str, str, str]
) -> ir.Table:
    """Return one side of the pairs, whose page, sentence and text are in three columns."""
    page, index, text = columns
    return pairs.select(
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


def add_distractors(answers: ir.Table, candidates: ir.Table, entity_types: ir.Table, options: AuditOptions) -> ir.Table:
    """Draw distractors for both sides of each pair: from the same page, and from items of the same type.

    Answers are as `match_candidates` returns them. Without types there are no distractors of the same type.

    Returns:
        A row for each sentence of a pair and for each of its distractors, with the columns subset (`eo-en`), pair_id
        (from 0 in each subset), side (left: the language, right: the pivot), grade (answer, same_page, same_type), kind
        (first, links), entity (the pair's item), language, page_id, sentence_index, text; ordered by subset, pair_id,
        side, grade, page_id and sentence_index.
    """
    parts = {
        ANSWER: answers,
        SAME_PAGE: _same_page_distractors(answers, candidates, options),
        SAME_TYPE: _same_type_distractors(answers, entity_types, options),
    }
    graded = (part.mutate(grade=ibis.literal(grade)).select(*AUDIT_TABLE_COLUMNS) for grade, part in parts.items())
    order = ["subset", "pair_id", "side", "grade", "page_id", "sentence_index"]
    return ibis.union(*graded).order_by(order)


def _same_page_distractors(answers: ir.Table, candidates: ir.Table, options: AuditOptions) -> ir.Table:
    """Draw other sentences of each answer's page whose linked entities differ from the answer's."""
    sentences = candidates.select(*SENTENCE_KEY, *_ENTITY_SET, "text")
    answer_sets = sentences.drop("text").rename({f"answer_{name}": name for name in _ENTITY_SET})
    identified = answers.drop("text").inner_join(answer_sets, list(SENTENCE_KEY))
    identified = identified.rename(answer_index="sentence_index")
    joined = as_table(identified.inner_join(sentences, ["language", "page_id"]))
    joined = joined.filter(joined.sentence_index != joined.answer_index)
    # A sentence with the same entities may say the same: it would be a second right answer.
    differs = [joined[name] != joined[f"answer_{name}"] for name in _ENTITY_SET]
    return _draw_distractors(joined.filter(differs[0] | differs[1] | differs[2]), options)


def _same_type_distractors(answers: ir.Table, entity_types: ir.Table, options: AuditOptions) -> ir.Table:
    """Draw answers of the same subset, side and kind whose items share a type with each answer's item."""
    types = entity_types.select(entity="qid", type="type_qid").distinct()
    types = types.semi_join(answers, "entity")
    shared = types.rename(other="entity").inner_join(types, "type").select("entity", "other").distinct()
    shared = shared.filter(shared.entity != shared.other)
    sentences = answers.select("subset", "side", "kind", *SENTENCE_KEY, "text", other="entity")
    keys = answers.select("subset", "side", "kind", "pair_id", "entity", answer_index="sentence_index")
    joined = as_table(keys.inner_join(shared, "entity"))
    joined = as_table(joined.inner_join(sentences, ["subset", "side", "kind", "other"]))
    return _draw_distractors(joined, options)


def _draw_distractors(sentences: ir.Table, options: AuditOptions) -> ir.Table:
    """Keep the `distractors` sentences with the lowest tickets for each answer."""
    keys = (sentences.entity, sentences.answer_index, sentences.page_id, sentences.sentence_index)
    tickets = sentences.mutate(ticket=draw(options.seed, ibis.literal(_DISTRACTOR), *keys))
    order = ["ticket", "page_id", "sentence_index"]
    return take_first(tickets, ["subset", "pair_id", "side"], order, options.distractors)
