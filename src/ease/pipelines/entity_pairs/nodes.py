"""Nodes of `entity_pairs`."""

from __future__ import annotations

import logging

import pandas as pd
import plotly.graph_objects as go

from ease.entities.pairs import PairOptions, check_pairs_left, count_filters
from ease.entities.vocabulary import VocabularyOptions
from ease.entities.vocabulary import build_vocabulary as build
from ease.errors import EaseError
from ease.io.lazy import ibis
from ease.pipelines.setting import Setting
from ease.reporting.markdown_tables import format_losses
from ease.reporting.plots import plot_pair_funnel

logger = logging.getLogger(__name__)


def build_vocabulary(
    links: ibis.Table, sitelinks: ibis.Table, options: VocabularyOptions, setting: Setting
) -> ibis.Table:
    """Number the entities above `min_link_count`.

    Raises:
        EaseError: If there is no such entity.
    """
    vocabulary = build(links, sitelinks, options, setting.languages)
    if not vocabulary.count().execute():
        raise EaseError(
            f"`min_link_count` {options.min_link_count} (counted over {options.count_over}) leaves no entity: "
            f"none of the {links.count().execute()} resolved links leads to one that is linked more often. "
            "Lower it, or give larger dumps."
        )
    return vocabulary


def report_filters(
    sentences: ibis.Table, links: ibis.Table, vocabulary: ibis.Table, options: PairOptions
) -> tuple[pd.DataFrame, go.Figure]:
    """Count the pairs that each filter removed, as a table, in the log and as a plot.

    Raises:
        EaseError: If no pair is left, with the number of pairs that each filter removed.
    """
    funnel = count_filters(sentences, links, vocabulary, options).to_pandas()
    check_pairs_left(funnel)
    logger.info(
        "Pairs left after each filter (only languages that lost some, and the total):\n%s",
        format_losses(funnel, "pairs", "left"),
    )
    return funnel, plot_pair_funnel(funnel)
