"""From dump files to the tables `sentences`, `redirects` and `pages`, one part for each shard.

A part is a folder `<language>/<key>` with Parquet files and counts. The key is a hash of everything that its rows
depend on, so an unchanged shard is parsed once.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, delayed

from ease.errors import EaseError
from ease.io.result_versions import WIKIPEDIA_PARTS
from ease.wikimedia.dumps.files import DumpFile, split_into_shards
from ease.wikimedia.dumps.mapping import MapShards, joblib_map
from ease.wikimedia.dumps.options import IngestOptions
from ease.wikimedia.dumps.parts import Counts, log_faults, make_parts, part_name, read_counts, report_file
from ease.wikimedia.dumps.siteinfo import read_siteinfo
from ease.wikimedia.dumps.streams import content_digest
from ease.wikimedia.wikipedia.articles import (
    PAGES_FILE,
    REDIRECTS_FILE,
    SENTENCES_FILE,
    ShardTask,
    write_shard,
)
from ease.wikimedia.wikipedia.overlaps import without_repeated
from ease.wikimedia.wikitext import passes
from ease.wikimedia.wikitext.sentences import splitter_version

logger = logging.getLogger(__name__)

_TOTALS = "pages articles redirects sentences links boundaries_in_links links_across_lines".split()


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
    logger.info(
        "Wikitext is read by %s functions", "Python" if passes.__file__.endswith(".py") else "compiled"
    )
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
        site = read_siteinfo(dump.path, dump.language)
        plans[dump] = {}
        for shard in split_into_shards(dump, options.bytes_per_shard):
            # A shard reads past its end, so its rows depend on the complete file.
            limits = options.max_page_bytes, options.max_page_seconds
            depends_on = (digest, shard.start, shard.end, *splitter, *limits)
            part = folder / dump.language / part_name(WIKIPEDIA_PARTS, *depends_on)
            plans[dump][part] = ShardTask(shard, site, options.splitter, *limits)
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
        dumps.append(report_file(dump, truncated, options.truncated))
        if dumps[-1]["used"]:
            used.append(list(reports))
            faults += [
                f"{dump.path.name}: {fault}" for report in reports.values() for fault in report["faults"]
            ]
    if not used:
        raise EaseError(
            f"All dump files of language {language} are truncated and dropped: download them again, or set `truncated` "
            "to keep the pages before the cut."
        )
    log_faults(faults)
    parts = [part for file in without_repeated(used) for part in file]
    totals: Counter[str] = Counter(dict.fromkeys(_TOTALS, 0))
    skipped: Counter[str] = Counter()
    for part in parts:
        counts = read_counts(part)["counts"]
        skipped.update(counts.pop("skipped"))
        totals.update(counts)
    return parts, {**totals, "skipped": dict(sorted(skipped.items())), "faults": faults, "dumps": dumps}
