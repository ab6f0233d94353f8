"""Give each pair an entity of the same type that does not appear on its page."""

from __future__ import annotations

import logging
from typing import Any

from kedro.pipeline import Pipeline, node, pipeline

from ease.entities.links import page_subjects
from ease.entities.negatives import (
    HardNegativeOptions,
    Mining,
    count_hard_negatives,
    draw_hard_negatives,
    mine_hard_negatives,
)
from ease.entities.pairs import add_further_entities
from ease.io.lazy import ibis
from ease.pipelines.acquire.nodes import released_files
from ease.reporting.markdown_tables import format_losses

logger = logging.getLogger(__name__)

Tables = dict[str, Any]
"""The setting's tables by their names"""


def mining_tables(tables: Tables, dumps: dict[str, Any], options: HardNegativeOptions) -> Mining | None:
    """Return the inputs of hard-negative mining; None without Wikidata's types."""
    if not dumps["wikidata"]:
        return None
    linked = tables["links"].select("language", "page_id", "entity")
    subjects = page_subjects(tables["sentences"], tables["sitelinks"])
    return Mining(linked.union(subjects), tables["entity_types"], options)


def add_hard_negatives(
    pairs: ibis.Table, dumps: dict[str, Any], options: HardNegativeOptions, **tables: ibis.Table
) -> ibis.Table:
    """Add to each pair an entity of the same type that is not on the page; null without Wikidata's types.

    Of released pairs, it is drawn from the pair's own list. The pairs also get the other entities of their sentences
    and the subjects of their pages.
    """
    links, vocabulary = tables["links"], tables["entity_vocabulary"]
    mining = mining_tables(tables, dumps, options)
    if released_files(dumps):
        mined = draw_hard_negatives(pairs, tables["entity_types"], options.seed)
    elif mining is None:
        mined = mine_hard_negatives(pairs, links, None, vocabulary, options)
    else:
        mined = mine_hard_negatives(pairs, mining.appearing, mining.entity_types, vocabulary, options)
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


TABLES = ("links", "sentences", "sitelinks", "entity_types", "entity_vocabulary")


def create_pipeline(setting: str) -> Pipeline:
    """Create `hard_negatives` for one setting."""
    given = {"pairs": "pairs", "dumps": "dumps", "options": "params:hard_negatives"}
    given |= {table: table for table in TABLES}
    counted = ["pairs", "training_pairs"]
    return pipeline(
        [
            node(add_hard_negatives, given, "training_pairs", name="add_hard_negatives"),
            node(report_hard_negatives, counted, "hard_negative_summary", name="report_hard_negatives"),
        ],
        namespace=setting,
        parameters={"params:hard_negatives"},
        tags="hard_negatives",
    )
