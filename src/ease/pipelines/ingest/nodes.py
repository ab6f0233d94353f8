"""Nodes of `ingest`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import plotly.graph_objects as go
import pyarrow.parquet as pq
from pydantic import Field

from ease.entities.links import resolve_links as resolve
from ease.entities.links import summarize_links
from ease.pipelines.engine import shard_map
from ease.pipelines.setting import Setting
from ease.plots import plot_ingest_summary
from ease.tables import format_table
from ease.wikimedia.dumps import DumpFile
from ease.wikimedia.ingestion import IngestOptions, ingest_wikipedia
from ease.wikimedia.parts import whole_folder
from ease.wikimedia.streams import compression_of
from ease.wikimedia.wikidata import SITELINKS_FILE, TYPES_FILE, ingest_wikidata
from ease.wikimedia.wikidata_items import ENTITY_TYPES, SITELINKS

logger = logging.getLogger(__name__)

Dumps = dict[str, Any]


class CachedIngestOptions(IngestOptions):
    """How dumps are read, and where their parts are kept."""

    parts: Path = Field(description="folder of the parsed parts, kept from run to run outside the versions")


def parse_wikipedia(
    dumps: Dumps, options: CachedIngestOptions, engine: str
) -> tuple[list[Path], list[Path], dict[str, Any]]:
    """Parse the dumps into parts of `sentences` and `redirects`, and count what became of the pages."""
    parts = ingest_wikipedia(listed_dumps(dumps), options, options.parts, shard_map(engine))
    return parts.sentences, parts.redirects, parts.counts


def listed_dumps(dumps: Dumps) -> list[DumpFile]:
    """Return the dump files that `acquire` listed."""
    return [
        DumpFile(Path(file["path"]), file["language"], file["dump_date"], compression_of(Path(file["path"])))
        for file in dumps["wikipedia"]
    ]


def read_wikidata(
    dumps: Dumps, options: CachedIngestOptions, setting: Setting
) -> tuple[list[Path], list[Path], dict[str, Any]]:
    """Read sitelinks and entity types of the setting's languages; without a Wikidata dump both are empty."""
    if dumps["wikidata"]:
        parts = ingest_wikidata(Path(dumps["wikidata"]), setting.languages, options, options.parts)
        return parts.sitelinks, parts.entity_types, parts.counts
    logger.warning("No Wikidata dump: titles are the entities, and there are no hard negatives")
    part = options.parts / "no_wikidata"
    if not part.exists():
        with whole_folder(part) as folder:
            pq.write_table(SITELINKS.empty_table(), folder / SITELINKS_FILE)
            pq.write_table(ENTITY_TYPES.empty_table(), folder / TYPES_FILE)
    return [part / SITELINKS_FILE], [part / TYPES_FILE], {}


def resolve_links(
    sentences: ibis.Table, redirects: ibis.Table, sitelinks: ibis.Table, dumps: Dumps, setting: Setting
) -> ibis.Table:
    """Follow redirects and turn link targets into entities: Wikidata's, or titles where there is no Wikidata dump."""
    return resolve(sentences, redirects, sitelinks if dumps["wikidata"] else None, setting.languages)


def summarize_ingest(
    page_counts: dict[str, Any], wikidata_counts: dict[str, Any], sentences: ibis.Table, links: ibis.Table
) -> tuple[dict[str, Any], go.Figure]:
    """Say for each language what became of its pages and links: as JSON, as a table in the log, as a plot."""
    found = summarize_links(sentences, links).to_pandas().set_index("language")
    rows = [
        {
            "language": language,
            "pages": counts["pages"],
            "kept": counts["articles"],
            **{f"skipped_{reason}": number for reason, number in counts["skipped"].items()},
            "sentences": counts["sentences"],
            "links": counts["links"],
            "links_resolved": int(found["links_resolved"].get(language, 0)),
        }
        for language, counts in page_counts.items()
    ]
    table = pd.DataFrame(rows).fillna(0).convert_dtypes()
    logger.info("Ingested:\n%s", format_table(table))
    summary = {"languages": rows, "wikipedia": page_counts, "wikidata": wikidata_counts}
    return summary, plot_ingest_summary(table)
