"""Nodes of `entity_pairs`."""

from __future__ import annotations

import logging

import ibis
import pandas as pd
import plotly.graph_objects as go

from ease.entities.pairs import PairOptions, check_pairs_left, count_filters
from ease.entities.pairs import select_pairs as select
from ease.entities.vocabulary import VocabularyOptions
from ease.entities.vocabulary import build_vocabulary as build
from ease.pipelines.setting import Setting
from ease.plots import plot_pair_funnel
from ease.tables import format_table

logger = logging.getLogger(__name__)


def build_vocabulary(
    links: ibis.Table, sitelinks: ibis.Table, options: VocabularyOptions, setting: Setting
) -> ibis.Table:
    """Keep the entities that are linked often enough, and number them."""
    return build(links, sitelinks, options, setting.languages)


def select_pairs(
    sentences: ibis.Table, links: ibis.Table, vocabulary: ibis.Table, options: PairOptions
) -> ibis.Table:
    """Pair sentences with the entities they link to, filtered, capped and sampled."""
    return select(sentences, links, vocabulary, options)


def report_filters(
    sentences: ibis.Table, links: ibis.Table, vocabulary: ibis.Table, options: PairOptions
) -> tuple[pd.DataFrame, go.Figure]:
    """Count what each filter removed, as a table, in the log and as a plot.

    Raises:
        EaseError: If no pair is left, saying which filter removed how many.
    """
    funnel = count_filters(sentences, links, vocabulary, options).to_pandas()
    check_pairs_left(funnel)
    logger.info("Pairs left after each filter:\n%s", format_table(funnel))
    return funnel, plot_pair_funnel(funnel)
