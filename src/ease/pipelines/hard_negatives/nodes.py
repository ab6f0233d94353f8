"""Add hard negatives to pairs, and count them."""

from __future__ import annotations

import logging
from typing import Any

from ease.entities.links import page_subjects
from ease.entities.negatives import (
    HardNegativeOptions,
    count_hard_negatives,
    mine_hard_negatives,
    prepare_mining,
)
from ease.entities.pairs import add_further_entities
from ease.lazy import Table
from ease.pipelines.located_dumps import Dumps, has_types
from ease.reporting.markdown_tables import format_losses

logger = logging.getLogger(__name__)


def add_hard_negatives(
    pairs: Table,
    sentences: Table,
    links: Table,
    sitelinks: Table,
    entity_types: Table,
    entity_vocabulary: Table,
    dumps: Dumps,
    options: HardNegativeOptions,
) -> Table:
    """Add to each pair an entity of the same type that is not on the page; null without Wikidata's types.

    The pairs also get the other entities of their sentences and the subjects of their pages.
    """
    mining = None
    if has_types(dumps):
        mining = prepare_mining(sentences, links, sitelinks, entity_types, options)
    mined = mine_hard_negatives(pairs, mining, entity_vocabulary)
    subjects = page_subjects(sentences, sitelinks)
    return add_further_entities(mined, links, subjects, entity_vocabulary, options.seed)


def report_hard_negatives(pairs: Table, training_pairs: Table) -> list[dict[str, Any]]:
    """Count for each language the pairs with a hard negative, kept without one, and dropped."""
    counts = count_hard_negatives(pairs, training_pairs).to_pandas()
    logger.info(
        "Hard negatives (only languages with pairs that have none, and the total):\n%s",
        format_losses(counts, "pairs", "with_negative"),
    )
    return counts.to_dict(orient="records")
