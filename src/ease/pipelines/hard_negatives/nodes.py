"""Add hard negatives to pairs, and count them."""

from __future__ import annotations

import logging
from typing import Any

from ease.entities.links import page_subjects
from ease.entities.negatives import (
    HardNegativeOptions,
    count_hard_negatives,
    draw_released_negatives,
    mine_hard_negatives,
)
from ease.entities.pairs import (
    add_further_entities,
)
from ease.lazy import ibis
from ease.pipelines.acquire.nodes import released_files
from ease.pipelines.entity_pairs.nodes import prepare_mining
from ease.reporting.markdown_tables import format_losses

logger = logging.getLogger(__name__)

Dumps = dict[str, Any]


def add_hard_negatives(
    pairs: ibis.Table, dumps: Dumps, options: HardNegativeOptions, **tables: ibis.Table
) -> ibis.Table:
    """Add to each pair an entity of the same type that is not on the page; null without Wikidata's types.

    Of released pairs, it is drawn from the pair's own list. The pairs also get the other entities of their sentences
    and the subjects of their pages.
    """
    links, vocabulary = tables["links"], tables["entity_vocabulary"]
    if released_files(dumps):
        mined = draw_released_negatives(pairs, tables["entity_types"], options.seed)
    else:
        mined = mine_hard_negatives(pairs, prepare_mining(tables, dumps, options), vocabulary)
    subjects = page_subjects(tables["sentences"], tables["sitelinks"])
    return add_further_entities(mined, links, subjects, vocabulary, options.seed)


def report_hard_negatives(pairs: ibis.Table, training_pairs: ibis.Table) -> list[dict[str, Any]]:
    """Count for each language the pairs with a hard negative, kept without one, and dropped."""
    counts = count_hard_negatives(pairs, training_pairs).to_pandas()
    logger.info(
        "Hard negatives (only languages with pairs that have none, and the total):\n%s",
        format_losses(counts, "pairs", "with_negative"),
    )
    return counts.to_dict(orient="records")
