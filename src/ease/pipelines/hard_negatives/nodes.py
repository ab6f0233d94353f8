"""Nodes of `hard_negatives`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ease.entities.links import page_subjects
from ease.entities.negatives import HardNegativeOptions, Mining, draw_hard_negatives
from ease.entities.negatives import count_hard_negatives as count
from ease.entities.negatives import mine_hard_negatives as mine
from ease.entities.pairs import add_further_entities
from ease.io.lazy import ibis
from ease.pipelines.acquire.located import released_files
from ease.reporting.markdown_tables import format_losses

if TYPE_CHECKING:
    import ibis.expr.types as ir

logger = logging.getLogger(__name__)


def mining_tables(
    links: ir.Table,
    sentences: ir.Table,
    sitelinks: ir.Table,
    entity_types: ir.Table,
    dumps: dict[str, Any],
    options: HardNegativeOptions,
) -> Mining | None:
    """Return the inputs of hard-negative mining; None without Wikidata's types."""
    if not dumps["wikidata"]:
        return None
    appearing = links.select("language", "page_id", "entity").union(page_subjects(sentences, sitelinks))
    return Mining(appearing, entity_types, options)


def mine_hard_negatives(
    pairs: ibis.Table,
    links: ibis.Table,
    sentences: ibis.Table,
    sitelinks: ibis.Table,
    entity_types: ibis.Table,
    vocabulary: ibis.Table,
    dumps: dict[str, Any],
    options: HardNegativeOptions,
) -> ibis.Table:
    """Add to each pair an entity of the same type that is not on the page; null without Wikidata's types.

    Of released pairs, it is drawn from the pair's own list.

    The pairs also get the other entities of their sentences and the subjects of their pages.
    """
    subjects = page_subjects(sentences, sitelinks)
    mining = mining_tables(links, sentences, sitelinks, entity_types, dumps, options)
    if released_files(dumps):
        mined = draw_hard_negatives(pairs, entity_types, options.seed)
    elif mining is None:
        mined = mine(pairs, links, None, vocabulary, options)
    else:
        mined = mine(pairs, mining.appearing, mining.entity_types, vocabulary, options)
    return add_further_entities(mined, links, subjects, vocabulary, options.seed)


def count_hard_negatives(pairs: ibis.Table, training_pairs: ibis.Table) -> list[dict[str, Any]]:
    """Count for each language the pairs with a hard negative, kept without one, and dropped."""
    counts = count(pairs, training_pairs).to_pandas()
    logger.info(
        "Hard negatives (only languages with pairs that have none, and the total):\n%s",
        format_losses(counts, "pairs", "with_negative"),
    )
    return counts.to_dict(orient="records")
