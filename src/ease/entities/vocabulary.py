"""The entity vocabulary: entities with more than `min_link_count` links, numbered."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pydantic import Field

from ease.entities.hashing import as_int64, take_first
from ease.lazy import Table, ibis
from ease.options import StrictModel

logger = logging.getLogger(__name__)


class VocabularyOptions(StrictModel):
    """Which entities are frequent enough to be learnt."""

    min_link_count: int | None = Field(
        10,
        ge=0,
        description="entities with at most this many incoming links are dropped; null: chosen by the number of links "
        "in the language that has the fewest",
    )


MAX_CHOSEN_LINK_COUNT = 10
"""Upper limit of a `min_link_count` that is chosen by the number of links: the paper's value"""
LINKS_PER_COUNT = 2_000
"""Links of the smallest language for which a chosen `min_link_count` rises by one"""


def with_min_link_count(options: VocabularyOptions, links: Table) -> VocabularyOptions:
    """Return options with a `min_link_count`: their own, else one chosen by the links of the smallest language."""
    if options.min_link_count is not None:
        return options
    # The minimum is null if no language has a link.
    fewest = int(links.group_by("language").agg(links=links.count()).links.min().execute() or 0)
    min_link_count = min(MAX_CHOSEN_LINK_COUNT, fewest // LINKS_PER_COUNT)
    logger.info("`min_link_count` is %d: the smallest language has %d resolved links", min_link_count, fewest)
    return options.model_copy(update={"min_link_count": min_link_count})


def build_vocabulary(
    links: Table, sitelinks: Table | None, options: VocabularyOptions, languages: Sequence[str]
) -> Table:
    """Return the frequent entities of links, numbered in the order of their identifiers.

    Links are as `resolve_links` returns them. The options have a `min_link_count`: `with_min_link_count` chooses one.

    A label is the sitelinks' English title, else the title in the first of the languages that has one. Without Wikidata
    (`sitelinks` is None or empty), the label is the linked title.

    Returns:
        Columns row (0 to n - 1), entity, label, link_count (over all languages), ordered by row.
    """
    counts = links.group_by("entity").agg(link_count=links.count(), title=links.title.min())
    counts = counts.filter(counts.link_count > options.min_link_count)
    label = counts.title
    if sitelinks is not None:
        preference = ["en", *(language for language in languages if language != "en")]
        rank = sitelinks.language.cases(*((language, place) for place, language in enumerate(preference)))
        titles = sitelinks.filter(sitelinks.language.isin(preference)).mutate(rank=rank)
        titles = take_first(titles, "qid", ["rank", "title"]).select(entity="qid", label="title")
        counts = counts.left_join(titles, "entity")
        label = counts.label.coalesce(counts.title)
    labelled = counts.select("entity", "link_count", label=label)
    row = as_int64(ibis.row_number().over(order_by=labelled.entity))
    return labelled.select("entity", "label", "link_count", row=row).relocate("row").order_by("row")


def number_titles(links: Table, titles: Table) -> Table:
    """Return all titles of released pairs, numbered, also those that are only negatives, as in the authors' code.

    The columns are those of `build_vocabulary`; the `link_count` of a title that is only a negative is 0.
    """
    labels = titles.group_by("qid").agg(label=titles.title.min())
    counts = links.group_by("entity").agg(link_count=links.count())
    joined = labels.select("label", entity="qid").left_join(counts, "entity")
    row = as_int64(ibis.row_number().over(order_by=joined.entity))
    numbered = joined.select("entity", "label", link_count=joined.link_count.fill_null(0), row=row)
    return numbered.relocate("row").order_by("row")
