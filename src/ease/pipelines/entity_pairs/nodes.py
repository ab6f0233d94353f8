"""From links to pairs: a vocabulary of entities, and the pairs that pass every filter."""

from __future__ import annotations

import logging
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from ease.entities.links import first_sentences, page_subjects
from ease.entities.negatives import (
    HardNegativeOptions,
    MiningInputs,
)
from ease.entities.pairs import (
    PairOptions,
    check_pairs_left,
    count_filters,
    filter_links,
    select_pairs,
)
from ease.entities.vocabulary import VocabularyOptions, build_vocabulary, number_titles, with_min_link_count
from ease.errors import EaseError
from ease.lazy import ibis
from ease.pipelines.acquire.nodes import has_items, released_files
from ease.pipelines.setting import Setting
from ease.reporting.markdown_tables import format_losses
from ease.reporting.plots import plot_pair_funnel

logger = logging.getLogger(__name__)

Dumps = dict[str, Any]


def make_vocabulary(
    links: ibis.Table, sitelinks: ibis.Table, dumps: Dumps, options: VocabularyOptions, setting: Setting
) -> ibis.Table:
    """Number the entities above `min_link_count`, or all titles of released pairs."""
    if released_files(dumps):
        return number_titles(links, sitelinks)
    options = with_min_link_count(options, links)
    vocabulary = build_vocabulary(links, sitelinks, options, setting.languages)
    if not vocabulary.count().execute():
        raise EaseError(
            f"`min_link_count` {options.min_link_count} leaves no entity: "
            f"none of the {links.count().execute()} resolved links leads to one that is linked more often. "
            "Lower it, or give larger dumps."
        )
    return vocabulary


def make_pairs(
    dumps: Dumps,
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
    sentences, linked = tables["sentences"], tables["links"]
    if options.sentences != "linking":
        items = tables["sitelinks"] if has_items(dumps) else None
        linked = first_sentences(sentences.filter(sentences.language.isin(list(setting.languages))), items)
    if options.without_audit:
        if audit_pages is None:
            raise EaseError(
                f"`{setting.name}.pairs.without_audit` is set, and the setting has no audit yet: make it by `kedro run "
                "--pipelines=audit`, or set the parameter to false."
            )
        linked = linked.anti_join(audit_pages, ["language", "page_id"])
        logger.info("%d pages of the audit are kept out of training", audit_pages.count().execute())
    mining = prepare_mining(tables, dumps, negatives) if negatives.without == "drop" else None
    filtered = filter_links(sentences, linked, tables["entity_vocabulary"], options, mining)
    filtered = filtered.cache()  # read twice
    funnel = count_filters(filtered, options).to_pandas()
    check_pairs_left(funnel, options.min_pairs_per_language, setting.languages)
    logger.info(
        "Pairs left after each filter (only languages that lost some, and the total):\n%s",
        format_losses(funnel, "pairs", "left"),
    )
    return select_pairs(filtered, sentences, options), funnel, plot_pair_funnel(funnel)


def prepare_mining(tables: dict[str, Any], dumps: Dumps, options: HardNegativeOptions) -> MiningInputs | None:
    """Return the inputs of hard-negative mining; None without Wikidata's types."""
    if not dumps["wikidata"]:
        return None
    linked = tables["links"].select("language", "page_id", "entity")
    subjects = page_subjects(tables["sentences"], tables["sitelinks"])
    return MiningInputs(linked.union(subjects), tables["entity_types"], options)
