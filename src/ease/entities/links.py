"""Resolve the links of sentences to entities, through redirects and sitelinks."""

from __future__ import annotations

from collections.abc import Sequence

from ease.entities.hashing import as_int64, as_table, hash_text
from ease.errors import EaseError
from ease.lazy import ibis, ir

SENTENCE_KEY = ("language", "page_id", "sentence_index")
"""Columns that identify a sentence"""


def holes_of(sentences: ir.Table) -> ir.IntegerValue:
    """Return the number of holes of each sentence; 0 in tables that were not made from dumps and lack the column."""
    if "holes" in sentences.columns:
        return sentences.holes
    return ibis.literal(0, "int32")


def join_sitelinks(pages: ir.Table, page_items: ir.Table) -> ir.Table:
    """Return qid, language and title of each page that has an item in `page_items`, ordered by all three.

    `pages` has the columns language, page_id and title; a row may occur several times.
    """
    joined = page_items.inner_join(pages, ["language", "page_id"])
    return joined.select("qid", "language", "title").distinct().order_by("qid", "language", "title")


def types_of_linked(statements: ir.Table, sitelinks: ir.Table) -> ir.Table:
    """Return the types of the items that have a sitelink: qid, type_qid, ordered by both."""
    # No link can lead to the other items of Wikidata, which are most.
    linked = statements.semi_join(sitelinks, "qid")
    return linked.select("qid", "type_qid").distinct().order_by("qid", "type_qid")


MAX_REDIRECTS = 10
"""Longest chain of redirects that is followed; links into longer chains and loops are dropped."""


def resolve_links(
    sentences: ir.Table, redirects: ir.Table, sitelinks: ir.Table | None, languages: Sequence[str]
) -> ir.Table:
    """Return the links that lead to an entity.

    Links to missing pages, to pages without a Wikidata item, into loops of redirects, and from a page to itself are
    dropped. Without Wikidata (`sitelinks` is None), every title is an entity, also that of a missing page.

    Returns:
        One row per link (two if a sentence links an entity twice) with the columns language, page_id, sentence_index,
        title (after redirects), entity (the item's number; without Wikidata, a 63-bit hash of the title, negated).

    Raises:
        EaseError: If there is no Wikidata dump, which several languages need.
    """
    if sitelinks is None and len(languages) != 1:
        raise EaseError(
            f"`languages` names {len(languages)} languages, which need a Wikidata dump to match the titles of one "
            "entity: give a Wikidata dump, or choose one language."
        )
    in_languages = sentences.filter(sentences.language.isin(list(languages)))
    keys = in_languages.select("language", "page_id", "page_title", "sentence_index", link=in_languages.links.unnest())
    links = keys.mutate(linked_title=keys.link.target).drop("link")
    finals = resolve_redirects(redirects).rename(linked_title="source_title", final_title="target_title")
    routed = as_table(links.left_join(finals, ["language", "linked_title"]))
    # The right-hand key, not the final title, says whether there is a redirect: the final title of a loop is null.
    title = routed.linked_title_right.isnull().ifelse(routed.linked_title, routed.final_title)
    titled = routed.select("language", "page_id", "sentence_index", "page_title", title=title)
    titled = titled.filter(titled.title.notnull() & (titled.title != titled.page_title)).drop("page_title")
    if sitelinks is None:
        # Negative, so that no hash equals a Wikidata number.
        return titled.mutate(entity=-hash_text(titled.title))
    return titled.inner_join(title_items(sitelinks), ["language", "title"]).select(*titled.columns, "entity")


def page_subjects(sentences: ir.Table, sitelinks: ir.Table) -> ir.Table:
    """Return the entity of each page that has a Wikidata item: language, page_id, entity."""
    return first_sentences(sentences, sitelinks).drop("sentence_index")


def first_sentences(sentences: ir.Table, sitelinks: ir.Table | None) -> ir.Table:
    """Return the first sentence of each page: language, page_id, sentence_index, entity (the page's).

    Without Wikidata (`sitelinks` is None), the title is the entity.
    """
    first = sentences.filter(sentences.sentence_index == 0)
    if sitelinks is None:
        return first.select(*SENTENCE_KEY, entity=-hash_text(first.page_title))
    titled = first.select(*SENTENCE_KEY, title=first.page_title)
    return titled.inner_join(title_items(sitelinks), ["language", "title"]).select(*SENTENCE_KEY, "entity")


def title_items(sitelinks: ir.Table) -> ir.Table:
    """Return the item of each title: language, title, entity."""
    # Two items may claim one title in a dump: the lower number is taken on every engine.
    return sitelinks.group_by("language", "title").agg(entity=sitelinks.qid.min())


def resolve_redirects(redirects: ir.Table) -> ir.Table:
    """Return each redirect's final target: language, source_title, target_title; the first two are unique.

    The target is null for a loop, or a chain of more than `MAX_REDIRECTS` steps.
    """
    step = redirects.group_by("language", "source_title").agg(target_title=redirects.target_title.min())
    targets = step.select("language", title=step.target_title).distinct()
    onward = step.rename(title="source_title", next_title="target_title")
    # Only redirects that another redirect leads to: each step joins these few.
    onward = onward.semi_join(targets, ["language", "title"])
    current = step.rename(title="target_title")
    for _ in range(MAX_REDIRECTS - 1):
        joined = as_table(current.left_join(onward, ["language", "title"]))
        current = joined.select("language", "source_title", title=joined.next_title.coalesce(joined.title))
    # A title that still redirects is in a loop or too long a chain.
    last = as_table(current.left_join(onward, ["language", "title"]))
    target = last.next_title.isnull().ifelse(last.title, ibis.null("string"))
    return last.select("language", "source_title", target_title=target)


def summarize_links(sentences: ir.Table, links: ir.Table) -> ir.Table:
    """Count each language's links and those that lead to an entity.

    Returns:
        Columns language, sentences, links, links_resolved, ordered by language.
    """
    counts = sentences.group_by("language").agg(
        sentences=sentences.count(), links=as_int64(sentences.links.length().sum().fill_null(0))
    )
    resolved = links.group_by("language").agg(links_resolved=links.count())
    summary = counts.left_join(resolved, "language").fill_null({"links_resolved": 0})
    return summary.select("language", "sentences", "links", "links_resolved").order_by("language")
