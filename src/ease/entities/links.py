"""Resolve links to entities: sentences, redirects, sitelinks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ease.entities.hashing import as_int64, as_table, draw, hash_text
from ease.errors import EaseError
from ease.lazy import ibis, ir
from ease.options import StrictModel

SENTENCE_KEY = ("language", "page_id", "sentence_index")
"""Columns that identify a sentence"""

_STREAMED = 8192
"""Sentences in memory at a time"""


def distinct_sentences(pairs: ir.Table, rows: int | None, seed: int) -> Iterator[str]:
    """Yield at most `rows` distinct sentences in an order that depends only on the seed and the sentences."""
    sentences = pairs.select("sentence").distinct()
    hashed = sentences.mutate(key=hash_text(sentences.sentence))  # once: a draw repeats its keys
    drawn = hashed.order_by([draw(seed, hashed.key), hashed.sentence]).limit(rows).select("sentence")
    for batch in drawn.to_pyarrow_batches(chunk_size=_STREAMED):
        yield from batch.column("sentence").to_pylist()


def check_limits(options: StrictModel, *quantities: str) -> None:
    """Raise EaseError if the lower limit of a quantity, such as `min_characters`, is above its upper limit."""
    for quantity in quantities:
        least, most = (getattr(options, f"{side}_{quantity}") for side in ("min", "max"))
        if least > most:
            raise EaseError(
                f"`min_{quantity}` ({least}) exceeds `max_{quantity}` ({most}): lower the first or raise the second."
            )


def join_sitelinks(pages: ir.Table, page_items: ir.Table) -> ir.Table:
    """Return the titles of the pages (language, page_id, title; also repeated) that have an item in `page_items`.

    The columns are qid, language and title; the rows are ordered by all.
    """
    joined = page_items.inner_join(pages, ["language", "page_id"])
    return joined.select("qid", "language", "title").distinct().order_by("qid", "language", "title")


def types_of_linked(statements: ir.Table, sitelinks: ir.Table) -> ir.Table:
    """Return the types (qid, type_qid, ordered) of the items that have a sitelink; no link can lead to other items."""
    linked = statements.semi_join(sitelinks, "qid")
    return linked.select("qid", "type_qid").distinct().order_by("qid", "type_qid")


MAX_REDIRECTS = 10
"""Longest chain of redirects that is followed; links into longer chains and loops are dropped."""


def resolve_links(
    sentences: ir.Table, redirects: ir.Table, sitelinks: ir.Table | None, languages: Sequence[str]
) -> ir.Table:
    """Return the links that lead to an entity.

    Dropped are links to missing pages, to pages without a Wikidata item, into loops of redirects, and links of a page
    to itself. Without Wikidata (`sitelinks` is None), every title is an entity, also a missing page.

    Returns:
        One row per link (two if a sentence links an entity twice) with the columns language, page_id, sentence_index,
        title (after redirects), entity (the item's number; without Wikidata, minus a 63-bit hash of the title).

    Raises:
        EaseError: There is no Wikidata dump, which several languages need.
    """
    if sitelinks is None and len(languages) != 1:
        raise EaseError(
            f"`languages` names {len(languages)} languages, which need a Wikidata dump to match the titles of one "
            "entity: give a Wikidata dump, or choose one language."
        )
    chosen = sentences.filter(sentences.language.isin(list(languages)))
    linked = chosen.select("language", "page_id", "page_title", "sentence_index", link=chosen.links.unnest())
    written = linked.mutate(written=linked.link.target).drop("link")
    followed = follow_redirects(redirects).rename(written="source_title", followed="target_title")
    routed = as_table(written.left_join(followed, ["language", "written"]))
    title = routed.written_right.isnull().ifelse(routed.written, routed.followed)
    titled = routed.select("language", "page_id", "sentence_index", "page_title", title=title)
    titled = titled.filter(titled.title.notnull() & (titled.title != titled.page_title)).drop("page_title")
    if sitelinks is None:
        return titled.mutate(entity=-hash_text(titled.title))
    return titled.inner_join(_items(sitelinks), ["language", "title"]).select(*titled.columns, "entity")


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
    return titled.inner_join(_items(sitelinks), ["language", "title"]).select(*SENTENCE_KEY, "entity")


def _items(sitelinks: ir.Table) -> ir.Table:
    """Return the item of each title: language, title, entity."""
    return sitelinks.group_by("language", "title").agg(entity=sitelinks.qid.min())


def follow_redirects(redirects: ir.Table) -> ir.Table:
    """Return each redirect (language, source_title; unique) with its final target_title.

    It is null for a loop or more than `MAX_REDIRECTS` steps. Each step joins redirects to redirects, which are few.
    """
    step = redirects.group_by("language", "source_title").agg(target_title=redirects.target_title.min())
    targets = step.select("language", title=step.target_title).distinct()
    onward = step.rename(title="source_title", next_title="target_title")
    onward = onward.semi_join(targets, ["language", "title"])
    current = step.rename(title="target_title")
    for _ in range(MAX_REDIRECTS - 1):
        joined = as_table(current.left_join(onward, ["language", "title"]))
        current = joined.select("language", "source_title", title=joined.next_title.coalesce(joined.title))
    last = as_table(current.left_join(onward, ["language", "title"]))
    target = last.next_title.isnull().ifelse(last.title, ibis.null("string"))
    return last.select("language", "source_title", target_title=target)


def summarize_links(sentences: ir.Table, links: ir.Table) -> ir.Table:
    """Count links and those that lead to an entity: language, sentences, links, links_resolved, ordered by language."""
    written = sentences.group_by("language").agg(
        sentences=sentences.count(), links=as_int64(sentences.links.length().sum().fill_null(0))
    )
    resolved = links.group_by("language").agg(links_resolved=links.count())
    both = written.left_join(resolved, "language").fill_null({"links_resolved": 0})
    return both.select("language", "sentences", "links", "links_resolved").order_by("language")
