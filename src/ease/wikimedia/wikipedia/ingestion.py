"""From dump files to the tables `sentences`, `redirects` and `pages`, one part for each shard.

A part is a folder `<language>/<key>` with Parquet files and counts. The key is a hash of everything that its rows
depend on, so an unchanged shard is parsed once.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from joblib import Parallel, delayed
from pydantic import Field

from ease.errors import EaseError
from ease.io.models import StrictModel
from ease.io.result_versions import WIKIPEDIA_PARTS
from ease.wikimedia.dumps.files import DumpFile, read_siteinfo, split_into_shards
from ease.wikimedia.dumps.mapping import MapShards, joblib_map
from ease.wikimedia.dumps.pages import DEFAULT_MAX_PAGE_BYTES
from ease.wikimedia.dumps.parts import Counts, is_used, make_parts, part_name, read_counts
from ease.wikimedia.dumps.streams import content_digest
from ease.wikimedia.wikipedia.articles import (
    PAGES_FILE,
    REDIRECTS_FILE,
    SENTENCES_FILE,
    ShardTask,
    write_shard,
)
from ease.wikimedia.wikipedia.overlaps import without_repeated
from ease.wikimedia.wikitext.sentences import SplitterEngine, splitter_version

logger = logging.getLogger(__name__)

_TOTALS = (
    "pages",
    "articles",
    "redirects",
    "sentences",
    "links",
    "boundaries_in_links",
    "links_across_lines",
)
_LOGGED_FAULTS = 20


class IngestOptions(StrictModel):
    """How dumps are read."""

    splitter: SplitterEngine = Field(
        default="polyglot",
        description="Sentence splitter. icu finds the same boundaries without polyglot, which is under GPLv3.",
    )
    truncated: Literal["keep", "drop"] = Field(
        default="keep",
        description="Whether to keep the readable beginning of a truncated file, or to drop the file.",
    )
    max_page_bytes: int = Field(
        default=DEFAULT_MAX_PAGE_BYTES, ge=1000, description="Pages with more bytes of XML are skipped."
    )
    bytes_per_shard: int = Field(default=32 << 20, ge=1, description="Bytes of a dump file in one shard.")
    workers: int | None = Field(
        default=None, ge=1, description="Processes that parse. null uses one per core."
    )


class WikipediaParts(NamedTuple):
    """The part files of the tables in the order of the dumps, and the counts of each language.

    The counts are `pages`, `articles`, `skipped` (by reason), `redirects`, `sentences`, `links`,
    `boundaries_in_links`, `links_across_lines`, `faults` (messages about skipped pages), and `dumps` (file, date,
    truncated, used). If dump files of a language overlap, redirects and pages may repeat, but not articles.
    """

    sentences: list[Path]
    redirects: list[Path]
    pages: list[Path]
    counts: dict[str, dict[str, Any]]


def ingest_wikipedia(
    dumps: Sequence[DumpFile], options: IngestOptions, folder: Path, map_shards: MapShards | None = None
) -> WikipediaParts:
    """Parse the shards that are not parsed yet, and list all parts. The rows do not depend on the number of processes.

    Args:
        dumps: From `find_dumps`. If two files of a language have an article, the first file's is kept.
        options: How the dumps are read.
        folder: Where parts are kept from run to run.
        map_shards: Where shards are parsed; None uses `options.workers` local processes.

    Raises:
        EaseError: A file is broken or not a dump, all files of a language are dropped, or the folder is full or not
            writable.
    """
    plans = _plan(dumps, options, folder)
    tasks = {part: task for parts in plans.values() for part, task in parts.items()}
    reports = make_parts(
        tasks, write_shard, ShardTask.size, map_shards or joblib_map(options.workers), "Parsing dumps"
    )
    result = WikipediaParts([], [], [], {})
    for language in dict.fromkeys(dump.language for dump in plans):
        own = {
            dump: {part: reports[part] for part in parts}
            for dump, parts in plans.items()
            if dump.language == language
        }
        used, result.counts[language] = _gather(language, own, options)
        result.sentences.extend(part / SENTENCES_FILE for part in used)
        result.redirects.extend(part / REDIRECTS_FILE for part in used)
        result.pages.extend(part / PAGES_FILE for part in used)
    return result


def _plan(
    dumps: Sequence[DumpFile], options: IngestOptions, folder: Path
) -> dict[DumpFile, dict[Path, ShardTask]]:
    """Return the shards of each file by the folders of their parts; identical files are used once."""
    digests = Parallel(n_jobs=options.workers or -1, prefer="threads")(
        delayed(content_digest)(dump.path) for dump in dumps
    )
    splitter = (options.splitter, splitter_version(options.splitter))
    plans: dict[DumpFile, dict[Path, ShardTask]] = {}
    seen: dict[tuple[str, str], DumpFile] = {}
    for dump, digest in zip(dumps, digests, strict=True):
        first = seen.setdefault((dump.language, digest), dump)
        if first is not dump:
            logger.warning("%s is the same as %s: used once", dump.path, first.path)
            continue
        site = read_siteinfo(dump)
        plans[dump] = {}
        for shard in split_into_shards(dump, options.bytes_per_shard):
            # A shard reads past its end, so its rows depend on the complete file.
            depends_on = (digest, shard.start, shard.end, *splitter, options.max_page_bytes)
            part = folder / dump.language / part_name(WIKIPEDIA_PARTS, *depends_on)
            plans[dump][part] = ShardTask(shard, site, options.splitter, options.max_page_bytes)
    return plans


def _gather(
    language: str, files: dict[DumpFile, dict[Path, Counts]], options: IngestOptions
) -> tuple[list[Path], dict[str, Any]]:
    """Return the parts of a language that are used, and their counts."""
    used: list[list[Path]] = []
    dumps: list[dict[str, Any]] = []
    faults: list[str] = []
    for dump, reports in files.items():
        truncated = any(report["truncated"] for report in reports.values())
        keep = is_used(dump.path, truncated, options.truncated)
        if keep:
            used.append(list(reports))
            faults += [
                f"{dump.path.name}: {fault}" for report in reports.values() for fault in report["faults"]
            ]
        dumps.append({"file": dump.path.name, "date": dump.dump_date, "truncated": truncated, "used": keep})
    if not used:
        raise EaseError(
            f"All dump files of language {language} are truncated and dropped: download them again, or set `truncated` "
            "to keep the pages before the cut."
        )
    for fault in faults[:_LOGGED_FAULTS]:
        logger.warning("%s", fault)
    parts = [part for file in without_repeated(used) for part in file]
    totals: Counter[str] = Counter(dict.fromkeys(_TOTALS, 0))
    skipped: Counter[str] = Counter()
    for part in parts:
        counts = read_counts(part)["counts"]
        skipped.update(counts.pop("skipped"))
        totals.update(counts)
    return parts, {**totals, "skipped": dict(sorted(skipped.items())), "faults": faults, "dumps": dumps}
