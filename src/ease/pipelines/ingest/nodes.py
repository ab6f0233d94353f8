"""Parse dumps into sentences, links, redirects, sitelinks and entity types."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow.parquet as pq

from ease.entities.links import join_sitelinks, resolve_links, summarize_links, types_of_linked
from ease.errors import EaseError
from ease.io.addresses import located
from ease.io.parquet import read_parquet
from ease.lazy import Figure, Table, ibis, pd
from ease.pipelines.located_dumps import Dumps, usable_sitelinks
from ease.pipelines.options import CachedIngestOptions
from ease.pipelines.setting import Setting
from ease.reporting.markdown_tables import format_table
from ease.reporting.plots import plot_ingest_summary
from ease.wikimedia.dumps.files import DumpFile
from ease.wikimedia.dumps.parts import Counts, MapShards, make_part, part_name, spark_map
from ease.wikimedia.template_pages import ItemFiles
from ease.wikimedia.titles_file import ingest_titles
from ease.wikimedia.wikidata import (
    ENTITY_TYPES,
    SITELINKS,
    SITELINKS_FILE,
    TYPES_FILE,
    WIKIDATA_PARTS_VERSION,
    ingest_page_props,
    ingest_truthy,
    ingest_wikidata,
)
from ease.wikimedia.wikipedia import ingest_wikipedia

logger = logging.getLogger(__name__)

WrittenTable: TypeAlias = Table | list[Path]
"""A table, or the files of its parts."""


def parse_wikipedia(
    dumps: Dumps, options: CachedIngestOptions, setting: Setting, engine: str
) -> tuple[list[Path], list[Path], list[Path], dict[str, Any]]:
    """Parse the dumps into parts of `sentences`, `redirects` and `pages`; count kept and skipped pages."""
    files = [DumpFile.from_json(file) for file in dumps["wikipedia"]]
    languages = dict.fromkeys(file.language for file in files)
    # `acquire` may have been run with other `--params` than `ingest`.
    if set(languages) != set(setting.languages):
        raise EaseError(
            f"The located dumps are of {' '.join(languages)}, but `{setting.name}.setting.languages` are "
            f"{' '.join(setting.languages)}: run `acquire` with these languages as well (`--pipelines=acquire,ingest`)."
        )
    items = _template_items(dumps, options, setting, engine)
    parts = ingest_wikipedia(files, options, options.folder, _shard_map(engine), items)
    return parts.sentences, parts.redirects, parts.pages, parts.counts


def _template_items(dumps: Dumps, options: CachedIngestOptions, setting: Setting, engine: str) -> ItemFiles:
    """Return the items of pages, which say which templates of two wikis are the same; none without them.

    `read_wikidata` reads the same parts again, which takes no time.
    """
    if dumps["page_props"]:
        files = [DumpFile.from_json(file) for file in dumps["page_props"]]
        return ItemFiles(page_items=ingest_page_props(files, options, options.folder, _shard_map(engine)).page_items)
    if dumps["wikidata"]:
        wikidata = ingest_wikidata(located(dumps["wikidata"]), setting.languages, options, options.folder)
        return ItemFiles(sitelinks=wikidata.sitelinks)
    return ItemFiles()


def read_wikidata(
    dumps: Dumps, pages: Table, options: CachedIngestOptions, setting: Setting, engine: str
) -> tuple[WrittenTable, WrittenTable, dict[str, Any]]:
    """Read sitelinks and entity types of the setting's languages; without a Wikidata dump both are empty.

    If `acquire` listed a table of titles or page_props tables, the sitelinks come from these.
    """
    if dumps.get("titles"):
        return _read_titles(Path(dumps["titles"]), pages, options, setting)
    wikidata = None
    if dumps["wikidata"]:
        wikidata = located(dumps["wikidata"])
    if not dumps["page_props"]:
        if wikidata is None:
            logger.warning("No Wikidata dump: titles are the entities, and there are no hard negatives")
            part = _no_wikidata(options)
            return [part / SITELINKS_FILE], [part / TYPES_FILE], {}
        parts = ingest_wikidata(wikidata, setting.languages, options, options.folder)
        logger.info("%s: %s", wikidata, parts.counts)
        return parts.sitelinks, parts.entity_types, parts.counts
    # The tables name the item of each page; a Wikidata dump then gives the items' types alone.
    files = [DumpFile.from_json(file) for file in dumps["page_props"]]
    items = ingest_page_props(files, options, options.folder, _shard_map(engine))
    for language, counts in items.counts.items():
        logger.info("Items of the pages of %s: %s", language, counts)
    if wikidata is None:
        logger.warning("No Wikidata dump: items have no types, and there are no hard negatives")
        type_files = [_no_wikidata(options) / TYPES_FILE]
        type_counts: dict[str, Any] = {}
    else:
        if dumps["wikidata_form"] == "truthy":
            parts = ingest_truthy(wikidata, options, options.folder)
        else:
            parts = ingest_wikidata(wikidata, None, options, options.folder)
        type_files = parts.entity_types
        type_counts = parts.counts
        logger.info("%s: %s", wikidata, type_counts)
    connection = pages.get_backend()
    sitelinks = join_sitelinks(pages, read_parquet(connection, items.page_items)).cache()
    types = types_of_linked(read_parquet(connection, type_files), sitelinks)
    by_language = sitelinks.group_by("language").agg(number=sitelinks.count()).to_pandas()
    sitelink_counts = {row["language"]: int(row["number"]) for row in by_language.to_dict("records")}
    logger.info("Pages with an item: %s", sitelink_counts)
    return sitelinks, types, {"sitelinks": sitelink_counts, "page_props": items.counts, "types": type_counts}


def _read_titles(
    file: Path, pages: Table, options: CachedIngestOptions, setting: Setting
) -> tuple[WrittenTable, WrittenTable, dict[str, Any]]:
    """Read the sitelinks of a table of titles; its items have no types, so that there are no hard negatives."""
    sitelinks, counts = ingest_titles(file, setting.languages, options.folder)
    titles = read_parquet(pages.get_backend(), [sitelinks])
    with_page = titles.semi_join(pages, ["language", "title"]).group_by("language").agg(number=ibis._.count())
    numbers = with_page.to_pandas().set_index("language")["number"]
    parts = [
        f"{language} {numbers.get(language, 0):,} of {number:,}" for language, number in counts["sitelinks"].items()
    ]
    logger.info("Titles of %s that are pages of the dumps: %s", file.name, ", ".join(parts))
    return [sitelinks], [_no_wikidata(options) / TYPES_FILE], counts


def _shard_map(engine: str) -> MapShards | None:
    """Return the function that parses shards on the Spark cluster, or None to parse them in local processes."""
    if engine == "duckdb":
        return None
    from pyspark.sql import SparkSession

    return spark_map(SparkSession.builder.getOrCreate().sparkContext)


def _no_wikidata(options: CachedIngestOptions) -> Path:
    """Return a part without sitelinks and entity types."""

    def write(folder: Path) -> Counts:
        pq.write_table(SITELINKS.empty_table(), folder / SITELINKS_FILE)
        pq.write_table(ENTITY_TYPES.empty_table(), folder / TYPES_FILE)
        return {}

    part = options.folder / "no_wikidata" / part_name(WIKIDATA_PARTS_VERSION)
    make_part(part, write)
    return part


def make_links(sentences: Table, redirects: Table, sitelinks: Table, dumps: Dumps, setting: Setting) -> Table:
    """Follow redirects and resolve link targets to Wikidata items, or to titles if there is no Wikidata."""
    return resolve_links(sentences, redirects, usable_sitelinks(dumps, sitelinks), setting.languages)


def summarize_ingest(
    page_counts: dict[str, Any], wikidata_counts: dict[str, Any], sentences: Table, links: Table
) -> tuple[dict[str, Any], Figure]:
    """Count the pages and links of each language: as JSON, as a table in the log, and as a plot."""
    links_by_language = summarize_links(sentences, links).to_pandas().set_index("language")
    rows = [
        {
            "language": language,
            "pages": counts["pages"],
            "kept": counts["articles"],
            **{f"skipped_{reason}": number for reason, number in counts["skipped"].items()},
            "sentences": counts["sentences"],
            "with_holes": counts["holes"],
            "links": counts["links"],
            "links_resolved": int(links_by_language["links_resolved"].get(language, 0)),
        }
        for language, counts in page_counts.items()
    ]
    table = pd.DataFrame(rows).fillna(0).convert_dtypes()
    logger.info("Ingested:\n%s", format_table(table))
    summary = {"languages": rows, "wikipedia": page_counts, "wikidata": wikidata_counts}
    return summary, plot_ingest_summary(table)
