"""Test set made from links and titles alone: two wikis' titles and sentences of one item, with graded distractors."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, model_validator

from ease.entities.hashing import as_int64, as_table, draw, take_first
from ease.entities.links import SENTENCE_KEY, holes_of, page_subjects
from ease.lazy import Table, ibis, ir
from ease.options import StrictModel, check_limits

LEFT = "left"
"""Side of a pair in the language that is audited"""
RIGHT = "right"
"""Side of a pair in the pivot language"""

ANSWER = "answer"
"""Grade of the sentence that belongs to the pair"""
SAME_PAGE = "same_page"
"""Grade of a distractor from the answer's page"""
SAME_LINK = "same_link"
"""Grade of a distractor from another page, which links to the pair's item"""
SAME_TYPE = "same_type"
"""Grade of a distractor whose item shares a type with the pair's item"""

FIRST = "first"
"""Kind of a pair of first sentences"""
LINKS = "links"
"""Kind of a pair of later sentences with equal links"""
WORD_TITLE = "word"
"""Kind of a pair of titles that are common nouns, such as `Forest`"""
NAME_TITLE = "name"
"""Kind of a pair of titles that are proper names, such as `Berlin`"""
TITLE_KINDS = (WORD_TITLE, NAME_TITLE)

AUDIT_ORDER = ("subset", "pair_id", "side", "grade", "page_id", "sentence_index")
"""Order of the audit's rows"""
AUDIT_TABLE_COLUMNS = ("subset", "pair_id", "side", "grade", "kind", "entity", *SENTENCE_KEY, "text")

_POOL = 10
"""Items considered, as a multiple of `max_pairs`"""

# Each purpose hashes its own key, so that its draws are independent of the others'.
_ITEM = 1
_SENTENCE = 2
_DISTRACTOR = 3
_FIRST_HASH = 4
_SECOND_HASH = 5

_NO_SENTENCE = -1
"""Page and sentence of a title, which is on no page"""

# A run of capitalised words: \p{Lu} and \p{Lt} are upper and title case, \p{M} are combining marks.
_NAMES = r"[\p{Lu}\p{Lt}][\p{L}\p{M}]*([ -][\p{Lu}\p{Lt}][\p{L}\p{M}]*)*"
_NUMBERS = r"\p{N}+"
# "Mercury (planet)", also in the full-width brackets of Chinese and Japanese titles.
_DISAMBIGUATION = "[ _]*[(\uff08][^)\uff09]*[)\uff09]$"

_ENTITY_SET = ("entities", "print1", "print2")
"""Columns that identify a sentence's set of linked entities: its size and two sums of hashes"""


class AuditOptions(StrictModel):
    """Which sentences are matched across two languages, and how many."""

    pivot: str = Field("en", description="language that all others are matched with")
    max_pairs: int = Field(200, ge=1, description="sentence pairs of each language with the pivot")
    max_share: float = Field(
        0.3, gt=0, le=1, description="largest share of a language's possible pairs; no training run sees their pages"
    )
    max_titles: int = Field(
        500, ge=0, description="pairs of titles that differ as strings, of each language with the pivot"
    )
    max_title_share: float = Field(
        0.5, gt=0, le=1, description="largest share of a language's items whose titles are tested"
    )
    max_per_template: int = Field(
        3, ge=1, description="sentence pairs of a template, a sentence without its names and numbers, on several pages"
    )
    min_pairs: int = Field(
        50,
        ge=2,
        description="fewer pairs, of titles and sentences, are an error; only fewer sentence pairs use templates",
    )
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
    sentences: Table,
    links: Table,
    sitelinks: Table,
    entity_types: Table,
    languages: Sequence[str],
    options: AuditOptions,
) -> Table:
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
        Columns language, page_id, sentence_index, entity (the page's item), ticket (the item's draw), text, template
        (the sentence without names and numbers), templated (whether another page of the wiki has its template),
        entities, print1 and print2 (size and two hashes of the set of linked entities), first (whether the sentence is
        the first of its page), fits (whether the sentence may be in a pair). Each language but the pivot has at most
        `max_pairs` times 10 pages.
    """
    pages = _draw_pages(sentences, sitelinks, entity_types, languages, options)
    in_languages = sentences.filter(sentences.language.isin(list(languages)))
    # A sentence without one of its words is no translation of another.
    complete = in_languages.filter(holes_of(in_languages) == 0)
    on_pages = _mask_names(complete).inner_join(pages, ["language", "page_id"])
    on_pages = on_pages.select(*SENTENCE_KEY, "entity", "ticket", "text", "template")
    lengths = on_pages.text.length()
    in_length = on_pages.filter((lengths >= options.min_characters) & (lengths <= options.max_characters))
    # A sentence that occurs twice, such as boilerplate, would make its translation ambiguous.
    counted = in_length.mutate(copies=in_length.count().over(group_by=["language", "text"]))
    unique = counted.filter(counted.copies == 1).drop("copies")
    unique = _mark_templates(unique, _mask_names(in_languages))
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


def _mask_names(sentences: Table) -> Table:
    """Return key and text of the sentences, with `template`: the text with "A" for each name and "0" for each number.

    Names are the page's title and runs of capitalised words. Scripts without capitals keep other names.
    """
    text = sentences.text
    without_title = (sentences.page_title == "").ifelse(text, text.replace(sentences.page_title, "A"))
    template = without_title.re_replace(_NAMES, "A").re_replace(_NUMBERS, "0")
    return sentences.select(*SENTENCE_KEY, "text", template=template)


def _mark_templates(candidates: Table, masked: Table) -> Table:
    """Add `templated`: whether the candidate's template occurs on several pages, some of which a training run sees."""
    occurring = masked.semi_join(candidates, ["language", "template"])
    pages = occurring.group_by("language", "template").agg(pages=occurring.page_id.nunique())
    shared = pages.filter(pages.pages > 1).select("language", "template", templated=ibis.literal(True))
    joined = as_table(candidates.left_join(shared, ["language", "template"]))
    return joined.select(*candidates.columns, templated=joined.templated.fill_null(ibis.literal(False)))


def _entity_sets(links: Table, pages: Table) -> Table:
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
    sentences: Table, sitelinks: Table, entity_types: Table, languages: Sequence[str], options: AuditOptions
) -> Table:
    """Draw items that have one page in the pivot language and one in another: language, page_id, entity, ticket."""
    pages = page_subjects(sentences.filter(sentences.language.isin(list(languages))), sitelinks)
    pages = pages.anti_join(_excluded_items(entity_types, options), "entity")
    # Of two pages about one item in a wiki, neither is certain to be the counterpart of the other wiki's page.
    counted = pages.mutate(same=pages.count().over(group_by=["language", "entity"]))
    unique = counted.filter(counted.same == 1).drop("same")
    tickets = unique.mutate(ticket=_item_ticket(unique.entity, options))
    pivot_pages = tickets.filter(tickets.language == options.pivot)
    pages = tickets.filter(tickets.language != options.pivot).semi_join(pivot_pages, "entity")
    pages = take_first(pages, "language", ["ticket", "entity"], _POOL * options.max_pairs)
    return pages.union(pivot_pages.semi_join(pages, "entity"))


def match_candidates(candidates: Table, options: AuditOptions) -> Table:
    """Match the sentences of each language with the pivot's; candidates are as `select_audit_sentences` returns them.

    Two sentences are a pair if they are the first sentences of the articles about an item, or later sentences of these
    articles that link to the same set of entities. A later sentence is ambiguous, and never matched, if another
    sentence of its language has the same entities, counting the item. Pairs with a template are used only if there are
    fewer than `min_pairs` without one, and at most `max_per_template` of each template: a training run on other pages
    could learn the template by heart.

    Returns:
        Two rows a pair, with the columns of `AUDIT_TABLE_COLUMNS` except grade, as `add_distractors` describes them.
    """
    pairs = _pair_sentences(candidates, options)
    pairs = _limit_per_item(pairs, options)
    pairs = _limit_per_language(pairs, options)
    pairs = pairs.mutate(pair_id=pairs["rank"], kind=pairs.first.ifelse(FIRST, LINKS))
    left_rows = _side_rows(pairs, options, LEFT, pairs.language, ("page_id", "sentence_index", "text"))
    pivot_language = ibis.literal(options.pivot)
    right_rows = _side_rows(pairs, options, RIGHT, pivot_language, ("right_page", "right_index", "right_text"))
    return left_rows.union(right_rows)


def _pair_sentences(candidates: Table, options: AuditOptions) -> Table:
    """Join each sentence with the pivot's sentences of the same item and set of entities.

    Returns:
        The columns of the sentence; `right_page`, `right_index` and `right_text` of the pivot's; `either_templated`.
    """
    fitting = candidates.filter(candidates.fits)
    # The first sentences of two articles need not have the same links: all of them get the empty set.
    keys = {name: fitting.first.ifelse(ibis.literal(0, "int64"), fitting[name]) for name in _ENTITY_SET}
    keyed = fitting.select(*SENTENCE_KEY, "entity", "ticket", "first", "text", "template", "templated", **keys)
    left = keyed.filter(keyed.language != options.pivot)
    right = keyed.filter(keyed.language == options.pivot).drop("ticket", "language", "template")
    right = right.rename(
        right_page="page_id", right_index="sentence_index", right_text="text", right_templated="templated"
    )
    pairs = left.inner_join(right, ["entity", "first", *_ENTITY_SET])
    return pairs.mutate(either_templated=pairs.templated | pairs.right_templated)


def _limit_per_item(pairs: Table, options: AuditOptions) -> Table:
    """Keep `pairs_per_item` pairs of an item in a language, the first sentences before drawn ones; add `position`.

    A long article would otherwise give most of the pairs.
    """
    sentence_ticket = draw(options.seed, ibis.literal(_SENTENCE), pairs.entity, pairs.right_index)
    order = [pairs.first.desc(), sentence_ticket, pairs.right_index]
    pairs = pairs.mutate(position=ibis.row_number().over(group_by=["language", "entity"], order_by=order))
    return pairs.filter(pairs.position < options.pairs_per_item)


def _limit_per_language(pairs: Table, options: AuditOptions) -> Table:
    """Rank the pairs of each language, those without a template first; keep the first ones, up to each limit."""
    pairs = pairs.mutate(possible=_count_by_language(pairs))
    order = ["ticket", "entity", "position"]
    # Pairs without a template have templates of their own: the limit is for the others.
    pairs = take_first(pairs, ["language", "template"], order, options.max_per_template)
    rank = ibis.row_number().over(group_by="language", order_by=["either_templated", *order])
    pairs = pairs.mutate(rank=as_int64(rank))
    # A small language keeps most of its pages for training.
    is_within_share = pairs["rank"] < pairs.possible * options.max_share
    is_needed = ~pairs.either_templated | (pairs["rank"] < options.min_pairs)
    return pairs.filter(is_within_share & is_needed & (pairs["rank"] < options.max_pairs))


def _count_by_language(pairs: Table) -> ir.IntegerValue:
    return pairs.count().over(group_by="language")


def match_titles(
    sentences: Table, sitelinks: Table, entity_types: Table, languages: Sequence[str], options: AuditOptions
) -> Table:
    """Match the titles of each language with the pivot's: true translations, unlike sentences about one item.

    Titles lose a final "(…)". Two titles of an item are a pair if they differ as strings and no other item of their
    wiki has the same title. The pair is of the kind `word` if the sentences of one of both wikis write most links to
    the article in lower case ("forest", not "Berlin"), else of the kind `name`. Words are preferred: learning names
    from sentences about the same entity improves names alone.

    Returns:
        Two rows a pair, with the columns of `match_candidates`; page_id and sentence_index are -1.
    """
    titles = sitelinks.filter(sitelinks.language.isin(list(languages)))
    titles = _mark_words(titles, sentences)
    # Pages of other namespaces are no names; years and dates would be found by their digits.
    titles = titles.filter(~titles.title.contains(":") & ~titles.title.re_search(r"^\p{N}"))
    titles = titles.select("language", "word", entity="qid", text=titles.title.re_replace(_DISAMBIGUATION, "").strip())
    titles = titles.filter(titles.text != "").anti_join(_excluded_items(entity_types, options), "entity")
    counted = titles.mutate(
        same_text=titles.count().over(group_by=["language", titles.text.lower()]),
        same_item=titles.count().over(group_by=["language", "entity"]),
    )
    unique = counted.filter((counted.same_text == 1) & (counted.same_item == 1))
    pivot = unique.filter(unique.language == options.pivot).select("entity", right_text="text", right_word="word")
    pairs = as_table(unique.filter(unique.language != options.pivot).inner_join(pivot, "entity"))
    # A name that is spelt alike in both languages is found by its letters.
    pairs = pairs.filter(pairs.text.lower() != pairs.right_text.lower())
    # The items of the sentences are preferred: fewer items are kept out of training.
    pairs = pairs.mutate(
        ticket=_item_ticket(pairs.entity, options),
        possible=_count_by_language(pairs),
        kind=(pairs.word | pairs.right_word).ifelse(WORD_TITLE, NAME_TITLE),
    )
    number = ibis.row_number().over(
        group_by="language", order_by=[pairs.kind == NAME_TITLE, pairs.ticket, pairs.entity]
    )
    pairs = pairs.mutate(pair_id=as_int64(number))
    pairs = pairs.filter(
        (pairs.pair_id < pairs.possible * options.max_title_share) & (pairs.pair_id < options.max_titles)
    )
    pairs = pairs.mutate(
        page_id=as_int64(ibis.literal(_NO_SENTENCE)), sentence_index=ibis.literal(_NO_SENTENCE, "int32")
    )
    columns = ("page_id", "sentence_index")
    left_rows = _side_rows(pairs, options, LEFT, pairs.language, (*columns, "text"))
    right_rows = _side_rows(pairs, options, RIGHT, ibis.literal(options.pivot), (*columns, "right_text"))
    return left_rows.union(right_rows)


def _mark_words(titles: Table, sentences: Table) -> Table:
    """Add `word`: whether most links of the title's wiki to the article begin with a lower-case letter."""
    links = sentences.select("language", "text", link=sentences.links.unnest())
    # A sentence begins with a capital.
    links = links.filter(links.link["start"] > 0)
    letter = links.text.substr(links.link["start"], 1)
    links = links.select(
        "language",
        title=links.link["target"],
        # Digits, and letters of scripts without case, are both.
        case=(letter == letter.lower()).cast("int32") - (letter == letter.upper()).cast("int32"),
    )
    cases = links.group_by("language", "title").agg(case=links["case"].sum())
    words = cases.filter(cases["case"] > 0).select("language", "title", word=ibis.literal(True))
    joined = as_table(titles.left_join(words, ["language", "title"]))
    return joined.select(*titles.columns, word=joined.word.fill_null(ibis.literal(False)))


def _item_ticket(entity: ir.IntegerValue, options: AuditOptions) -> ir.IntegerValue:
    """Return the draw of an item, the same in all languages, so that few pages are kept out of training."""
    return draw(options.seed, ibis.literal(_ITEM), entity)


def _excluded_items(entity_types: Table, options: AuditOptions) -> Table:
    excluded = entity_types.filter(entity_types.type_qid.isin(list(options.excluded_types)))
    return excluded.select(entity="qid").distinct()


def _side_rows(
    pairs: Table, options: AuditOptions, side: str, language: ir.StringValue, columns: tuple[str, str, str]
) -> Table:
    """Return one side of the pairs, whose page, sentence and text are in three columns."""
    page, index, text = columns
    return pairs.select(
        "pair_id",
        "entity",
        subset=pairs.language + f"-{options.pivot}",
        kind="kind",
        side=ibis.literal(side),
        language=language,
        page_id=page,
        sentence_index=index,
        text=text,
    )


def add_distractors(
    answers: Table,
    titles: Table,
    candidates: Table,
    sentences: Table,
    links: Table,
    entity_types: Table,
    options: AuditOptions,
) -> Table:
    """Draw distractors for both sides of each pair of sentences, and add the pairs of titles, which have none.

    Distractors are about the pair's own item (same_page: other sentences of its page; same_link: sentences of other
    pages that link to it) or about one of the same type, so that knowing the topic is not enough.

    Answers are as `match_candidates` returns them, titles as `match_titles` does. Without types there are no
    distractors of the same type.

    Returns:
        A row for each text of a pair and for each of its distractors, with the columns subset (`eo-en`), pair_id
        (from 0 in each subset, of sentences and of titles), side (left: the language, right: the pivot), grade (answer,
        same_page, same_link, same_type), kind (first, links, word, name), entity (the pair's item), language, page_id,
        sentence_index, text; ordered by `AUDIT_ORDER`.
    """
    parts = {
        SAME_PAGE: _same_page_distractors(answers, candidates, options),
        SAME_LINK: _same_link_distractors(answers, sentences, links, options),
        SAME_TYPE: _same_type_distractors(answers, entity_types, options),
    }
    graded = [part.mutate(grade=ibis.literal(grade)).select(*AUDIT_TABLE_COLUMNS) for grade, part in parts.items()]
    pairs = answers.select(*titles.columns).union(titles).mutate(grade=ibis.literal(ANSWER))
    return ibis.union(pairs.select(*AUDIT_TABLE_COLUMNS), *graded).order_by(list(AUDIT_ORDER))


def _same_page_distractors(answers: Table, candidates: Table, options: AuditOptions) -> Table:
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


def _same_link_distractors(answers: Table, sentences: Table, links: Table, options: AuditOptions) -> Table:
    """Draw sentences of other pages, in the answer's language, that link to the answer's item."""
    keys = answers.rename(answer_index="sentence_index", answer_page="page_id").drop("text")
    linking = links.select(*SENTENCE_KEY, "entity").distinct()
    joined = as_table(keys.inner_join(linking, ["language", "entity"]))
    joined = joined.filter(joined.page_id != joined.answer_page)
    lengths = sentences.text.length()
    in_length = sentences.filter((lengths >= options.min_characters) & (lengths <= options.max_characters))
    # A text that is also an answer would be right and wrong.
    candidates = in_length.select(*SENTENCE_KEY, "text").anti_join(answers, ["language", "text"])
    return _draw_distractors(as_table(joined.inner_join(candidates, list(SENTENCE_KEY))), options)


def _same_type_distractors(answers: Table, entity_types: Table, options: AuditOptions) -> Table:
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


def _draw_distractors(sentences: Table, options: AuditOptions) -> Table:
    """Keep the `distractors` sentences with the lowest tickets for each answer."""
    keys = (sentences.entity, sentences.answer_index, sentences.page_id, sentences.sentence_index)
    tickets = sentences.mutate(ticket=draw(options.seed, ibis.literal(_DISTRACTOR), *keys))
    order = ["ticket", "page_id", "sentence_index"]
    return take_first(tickets, ["subset", "pair_id", "side"], order, options.distractors)
