"""The entities that take part: those that are linked often enough, numbered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from ease.entities.integers import as_int64
from ease.io.lazy import ibis

if TYPE_CHECKING:
    import ibis.expr.types as ir


class VocabularyOptions(BaseModel):
    """Which entities are linked often enough to be learnt."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    min_link_count: int = Field(
        10, ge=0, description="An entity takes part if more links than this lead to it."
    )
    count_over: Literal["all", "language"] = Field(
        "all",
        description="all: links of all chosen languages count together. language: each language's links "
        "count alone, and an entity takes part, then in every language, if those of one language are enough.",
    )


def build_vocabulary(
    links: ir.Table, sitelinks: ir.Table | None, options: VocabularyOptions, languages: Sequence[str]
) -> ir.Table:
    """Number the entities that take part, in the order of their identifiers.

    Args:
        links: A row for each link of the training corpus, as `resolve_links` gives them.
        sitelinks: Where labels come from. Without Wikidata (None, or no row) the label is the linked title.
        languages: Their order decides which title is the label of an entity without an English one.

    Returns:
        Columns row (0 to n - 1), entity, label, link_count (over all languages), ordered by row.
    """
    by_language = links.group_by("language", "entity").agg(link_count=links.count())
    counts = by_language.group_by("entity").agg(
        link_count=as_int64(by_language.link_count.sum()), most_in_a_language=by_language.link_count.max()
    )
    decisive = counts.link_count if options.count_over == "all" else counts.most_in_a_language
    counts = counts.filter(decisive > options.min_link_count)
    counts = counts.left_join(links.group_by("entity").agg(title=links.title.min()), "entity")
    if sitelinks is None:
        labelled = counts.select("entity", "link_count", label="title")
    else:
        joined = counts.select("entity", "link_count", "title").left_join(
            _label(sitelinks, languages), "entity"
        )
        labelled = joined.select("entity", "link_count", label=joined.label.coalesce(joined.title))
    row = as_int64(ibis.row_number().over(order_by=labelled.entity))
    return labelled.select("entity", "label", "link_count", row=row).relocate("row").order_by("row")


def _label(sitelinks: ir.Table, languages: Sequence[str]) -> ir.Table:
    """The English title of each entity, else the title in the first of the languages that has one."""
    preference = ["en", *(language for language in languages if language != "en")]
    rank = sitelinks.language.cases(
        *((language, place) for place, language in enumerate(preference)), else_=len(preference)
    )
    titles = sitelinks.filter(sitelinks.language.isin(preference)).mutate(rank=rank)
    best = ibis.row_number().over(group_by=titles.qid, order_by=[titles.rank, titles.title])
    titles = titles.mutate(place=best)
    return titles.filter(titles.place == 0).select(entity="qid", label="title")
