"""Nodes of `entity_pairs`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pandas as pd
import plotly.graph_objects as go

from ease.entities.audit import without_pages
from ease.entities.links import first_sentences
from ease.entities.negatives import HardNegativeOptions, Mining
from ease.entities.pairs import PairOptions, check_pairs_left, count_filters
from ease.entities.pairs import select_pairs as select
from ease.entities.vocabulary import VocabularyOptions, number_titles, with_min_link_count
from ease.entities.vocabulary import build_vocabulary as build
from ease.errors import EaseError
from ease.io.lazy import ibis
from ease.pipelines.acquire.located import has_items, released_files
from ease.pipelines.hard_negatives.nodes import mining_tables
from ease.pipelines.setting import Setting
from ease.reporting.markdown_tables import format_losses
from ease.reporting.plots import plot_pair_funnel

if TYPE_CHECKING:
    import ibis.expr.types as ir

logger = logging.getLogger(__name__)


def build_vocabulary(
    links: ibis.Table,
    sitelinks: ibis.Table,
    dumps: dict[str, Any],
    options: VocabularyOptions,
    setting: Setting,
) -> ibis.Table:
    """Number the entities above `min_link_count`, or all titles of released pairs.

    Raises:
        EaseError: If there is no such entity.
    """
    if released_files(dumps):
        return number_titles(links, sitelinks)
    options = with_min_link_count(options, links)
    vocabulary = build(links, sitelinks, options, setting.languages)
    if not vocabulary.count().execute():
        raise EaseError(
            f"`min_link_count` {options.min_link_count} (counted over {options.count_over}) leaves no entity: "
            f"none of the {links.count().execute()} resolved links leads to one that is linked more often. "
            "Lower it, or give larger dumps."
        )
    return vocabulary


def select_pairs(
    sentences: ibis.Table,
    links: ibis.Table,
    sitelinks: ibis.Table,
    entity_types: ibis.Table,
    vocabulary: ibis.Table,
    dumps: dict[str, Any],
    options: PairOptions,
    negatives: HardNegativeOptions,
    setting: Setting,
    audit_pages: ibis.Table | None = None,
) -> ibis.Table:
    """Select the setting's pairs; with `without: drop`, only pairs that have a hard negative.

    Args:
        audit_pages: The pages that `without_audit` excludes; None if there is no audit yet.
    """
    options = _applied(options, dumps)
    mining = _mining(links, sentences, sitelinks, entity_types, dumps, negatives)
    linked = _entities_of_sentences(sentences, links, sitelinks, dumps, options, setting)
    linked = _without_audit(linked, options, setting, audit_pages)
    return select(sentences, linked, vocabulary, options, mining)


def report_filters(
    sentences: ibis.Table,
    links: ibis.Table,
    sitelinks: ibis.Table,
    entity_types: ibis.Table,
    vocabulary: ibis.Table,
    dumps: dict[str, Any],
    options: PairOptions,
    negatives: HardNegativeOptions,
    setting: Setting,
    audit_pages: ibis.Table | None = None,
) -> tuple[pd.DataFrame, go.Figure]:
    """Count the pairs that each filter removed, as a table, in the log and as a plot.

    Pairs on excluded pages of the audit are not counted.

    Raises:
        EaseError: If no pair is left, with the number of pairs that each filter removed.
    """
    options = _applied(options, dumps)
    mining = _mining(links, sentences, sitelinks, entity_types, dumps, negatives)
    linked = _entities_of_sentences(sentences, links, sitelinks, dumps, options, setting)
    linked = _without_audit(linked, options, setting, audit_pages)
    if options.without_audit and audit_pages is not None:
        logger.info("%d pages of the audit are kept out of training", audit_pages.count().execute())
    funnel = count_filters(sentences, linked, vocabulary, options, mining).to_pandas()
    check_pairs_left(funnel, options.min_pairs_per_language, setting.languages)
    logger.info(
        "Pairs left after each filter (only languages that lost some, and the total):\n%s",
        format_losses(funnel, "pairs", "left"),
    )
    return funnel, plot_pair_funnel(funnel)


def _applied(options: PairOptions, dumps: dict[str, Any]) -> PairOptions:
    """Return the options, or those that keep all released pairs.

    Raises:
        EaseError: If the options name other released pairs than `acquire` has located, or only one of both does.
    """
    located = dumps["source"] if released_files(dumps) else None
    if options.released != located:
        raise EaseError(
            f"`pairs.released` is {options.released}, and `acquire` has located "
            f"{located or 'dumps'}: give every stage the same `pairs.released`, or run `acquire` and `ingest` again."
        )
    return options.without_limits() if located else options


def _mining(
    links: ir.Table,
    sentences: ir.Table,
    sitelinks: ir.Table,
    entity_types: ir.Table,
    dumps: dict[str, Any],
    negatives: HardNegativeOptions,
) -> Mining | None:
    """Return what decides whether a pair has a hard negative; None if pairs without one are kept."""
    mining = mining_tables(links, sentences, sitelinks, entity_types, dumps, negatives)
    return mining if negatives.without == "drop" else None


def _without_audit(
    linked: ir.Table, options: PairOptions, setting: Setting, audit_pages: ir.Table | None
) -> ir.Table:
    """Exclude the pages of the audit if the options say so.

    Raises:
        EaseError: If there is no audit yet, with the command that makes it.
    """
    if not options.without_audit:
        return linked
    if audit_pages is None:
        raise EaseError(
            f"`{setting.name}.pairs.without_audit` is set, and the setting has no audit yet: make it by `kedro run "
            "--pipelines=audit`, or set the parameter to false."
        )
    return without_pages(linked, audit_pages)


def _entities_of_sentences(
    sentences: ir.Table,
    links: ir.Table,
    sitelinks: ir.Table,
    dumps: dict[str, Any],
    options: PairOptions,
    setting: Setting,
) -> ir.Table:
    """Return the links, or the subjects of first sentences."""
    if options.sentences == "linking":
        return links
    return first_sentences(sentences, sitelinks if has_items(dumps) else None, setting.languages)
