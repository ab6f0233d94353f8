"""Turn links into sentence–entity pairs, filtered and sampled."""

from __future__ import annotations

import logging
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from kedro.pipeline import Pipeline, node, pipeline

from ease.entities.audit import without_pages
from ease.entities.links import first_sentences
from ease.entities.negatives import HardNegativeOptions
from ease.entities.pairs import PairOptions, check_pairs_left, count_filters, filter_links, select_pairs
from ease.entities.vocabulary import (
    VocabularyOptions,
    build_vocabulary,
    number_titles,
    with_min_link_count,
)
from ease.errors import EaseError
from ease.io.lazy import ibis
from ease.pipelines.acquire.nodes import has_items, released_files
from ease.pipelines.hard_negatives import mining_tables
from ease.pipelines.setting import Setting
from ease.reporting.markdown_tables import format_losses
from ease.reporting.plots import plot_pair_funnel

logger = logging.getLogger(__name__)


def make_vocabulary(
    links: ibis.Table,
    sitelinks: ibis.Table,
    dumps: dict[str, Any],
    options: VocabularyOptions,
    setting: Setting,
) -> ibis.Table:
    """Number the entities above `min_link_count`, or all titles of released pairs."""
    if released_files(dumps):
        return number_titles(links, sitelinks)
    options = with_min_link_count(options, links)
    vocabulary = build_vocabulary(links, sitelinks, options, setting.languages)
    if not vocabulary.count().execute():
        raise EaseError(
            f"`min_link_count` {options.min_link_count} (counted over {options.count_over}) leaves no entity: "
            f"none of the {links.count().execute()} resolved links leads to one that is linked more often. "
            "Lower it, or give larger dumps."
        )
    return vocabulary


def make_pairs(
    dumps: dict[str, Any],
    options: PairOptions,
    negatives: HardNegativeOptions,
    setting: Setting,
    audit_pages: ibis.Table | None,
    **tables: ibis.Table,
) -> tuple[ibis.Table, pd.DataFrame, go.Figure]:
    """Select the setting's pairs; with `without: drop`, only pairs that have a hard negative.

    Returns:
        The pairs; how many each filter removed, as a table, also in the log, and as a plot. Pairs on excluded pages of
        the audit are not counted.
    """
    released = dumps["source"] if released_files(dumps) else None
    if options.released != released:
        raise EaseError(
            f"`pairs.released` is {options.released}, and `acquire` has located "
            f"{released or 'dumps'}: give every stage the same `pairs.released`, or run `acquire` and `ingest` again."
        )
    options = options.without_limits() if released else options
    sentences, vocabulary = tables["sentences"], tables["entity_vocabulary"]
    linked = tables["links"]
    if options.sentences != "linking":
        items = tables["sitelinks"] if has_items(dumps) else None
        linked = first_sentences(sentences, items, setting.languages)
    if options.without_audit:
        if audit_pages is None:
            raise EaseError(
                f"`{setting.name}.pairs.without_audit` is set, and the setting has no audit yet: make it by `kedro run "
                "--pipelines=audit`, or set the parameter to false."
            )
        linked = without_pages(linked, audit_pages)
        logger.info("%d pages of the audit are kept out of training", audit_pages.count().execute())
    mining = mining_tables(tables, dumps, negatives) if negatives.without == "drop" else None
    filtered = filter_links(sentences, linked, vocabulary, options, mining).cache()  # read twice
    funnel = count_filters(filtered, options).to_pandas()
    check_pairs_left(funnel, options.min_pairs_per_language, setting.languages)
    logger.info(
        "Pairs left after each filter (only languages that lost some, and the total):\n%s",
        format_losses(funnel, "pairs", "left"),
    )
    return select_pairs(filtered, sentences, options), funnel, plot_pair_funnel(funnel)


TABLES = ("sentences", "links", "sitelinks", "entity_types", "entity_vocabulary")


def create_pipeline(setting: str) -> Pipeline:
    """Create `entity_pairs` for one setting."""
    vocabulary = ["links", "sitelinks", "dumps", "params:vocabulary", "params:setting"]
    # In the order of the function's arguments: Kedro finds the types of parameters by their places.
    given = {"dumps": "dumps", "options": "params:pairs", "negatives": "params:hard_negatives"}
    given["setting"] = "params:setting"
    # The audit is an input even if it is not excluded: Kedro then makes it first in a run that makes both.
    given |= {table: table for table in ("audit_pages", *TABLES)}
    made = ["pairs", "pair_funnel", "pair_funnel_plot"]
    return pipeline(
        [
            node(make_vocabulary, vocabulary, "entity_vocabulary", name="make_vocabulary"),
            node(make_pairs, given, made, name="make_pairs"),
        ],
        namespace=setting,
        parameters={"params:hard_negatives"},
        tags="entity_pairs",
    )
