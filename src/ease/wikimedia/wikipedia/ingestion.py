"""From dump files to the tables `sentences`, `redirects` and `pages`, one part of them for each shard.

A part is a folder `<language>/<key>` with its Parquet files and counts. The key is made of all that its rows
depend on, so that an unchanged shard is never parsed twice, and the folder appears whole or not at all.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from joblib import Parallel, delayed
from pydantic import BaseModel, ConfigDict, Field
from tqdm import tqdm

from ease.errors import EaseError
from ease.io.addresses import is_remote
from ease.io.result_versions import WIKIPEDIA_PARTS
from ease.wikimedia.dumps.files import DumpFile, Shard, read_siteinfo, split_into_shards
from ease.wikimedia.dumps.mapping import MapShards, joblib_map
from ease.wikimedia.dumps.pages import DEFAULT_MAX_PAGE_BYTES
from ease.wikimedia.dumps.parts import is_whole, part_name, read_counts, remove_leftovers
from ease.wikimedia.dumps.streams import content_digest
from ease.wikimedia.wikipedia.articles import (
    PAGES_FILE,
    REDIRECTS_FILE,
    SENTENCES_FILE,
    ShardTask,
    parse_shard,
)
from ease.wikimedia.wikipedia.overlaps import without_repeated
from ease.wikimedia.wikitext.sentences import SplitterEngine, splitter_version

logger = logging.getLogger(__name__)

FilePlan = tuple[DumpFile, list[ShardTask]]
_TOTALS = (
    "pages",
    "articles",
    "redirects",
    "sentences",
    "links",
    "boundaries_in_links",
    "links_across_lines",
)


class IngestOptions(BaseModel):
    """How dumps are read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    splitter: SplitterEngine = Field(
        default="polyglot",
        description="Sentence splitter; icu draws the same boundaries without polyglot (GPLv3).",
    )
    truncated: Literal["keep", "drop"] = Field(
        default="keep",
        description="What was read of a file that is cut at its end: kept, or the whole file dropped.",
    )
    max_page_bytes: int = Field(
        default=DEFAULT_MAX_PAGE_BYTES, ge=1000, description="Pages with more bytes of XML are skipped."
    )
    bytes_per_shard: int = Field(
        default=32 << 20, ge=1, description="Bytes of a dump file that are parsed at a time."
    )
    workers: int | None = Field(
        default=None, ge=1, description="Processes that parse; none: one for each core."
    )


class WikipediaParts(NamedTuple):
    """The part files of the tables in the order of the dumps, and the counts of each language.

    The counts are `pages`, `articles`, `skipped` (by reason), `redirects`, `sentences`, `links`,
    `boundaries_in_links`, `links_across_lines`, `faults` (skipped pages in words), and `dumps` (file, date,
    whether truncated, whether used). A redirect or a page may come twice where dump files of a language
    overlap; an article never does.
    """

    sentences: list[Path]
    redirects: list[Path]
    pages: list[Path]
    counts: dict[str, dict[str, Any]]


def ingest_wikipedia(
    dumps: Sequence[DumpFile], options: IngestOptions, folder: Path, map_shards: MapShards | None = None
) -> WikipediaParts:
    """Parse what is not parsed yet, and list the parts; the rows do not depend on the number of processes.

    Args:
        dumps: As `find_dumps` gives them. Of an article in two files of a language the earlier's is kept.
        options: How they are read.
        folder: Where parts are kept from run to run.
        map_shards: Where the parsing runs; none: `options.workers` processes of this machine.

    Raises:
        EaseError: A file is broken or no dump, nothing is left of a language, or the folder is full or not
            writable.
    """
    plans = _plan(dumps, options, folder)
    _remove_leftovers(plans, folder)
    _parse_missing(plans, map_shards or joblib_map(options.workers))
    _remove_leftovers(plans, folder)  # of tasks that Spark lost and ran again
    sentences: list[Path] = []
    redirects: list[Path] = []
    pages: list[Path] = []
    counts: dict[str, dict[str, Any]] = {}
    for language in dict.fromkeys(dump.language for dump, _ in plans):
        own = [plan for plan in plans if plan[0].language == language]
        parts, counts[language] = _gather(language, own, options)
        sentences.extend(part / SENTENCES_FILE for part in parts)
        redirects.extend(part / REDIRECTS_FILE for part in parts)
        pages.extend(part / PAGES_FILE for part in parts)
    return WikipediaParts(sentences, redirects, pages, counts)


def _plan(dumps: Sequence[DumpFile], options: IngestOptions, folder: Path) -> list[FilePlan]:
    """The shards of each file with the folders of their parts; a file found under two names is taken once."""
    workers = options.workers or -1
    digests = Parallel(n_jobs=workers, prefer="threads")(delayed(content_digest)(dump.path) for dump in dumps)
    plans: list[FilePlan] = []
    taken: dict[tuple[str, str], DumpFile] = {}
    for dump, digest in zip(dumps, digests, strict=True):
        first = taken.setdefault((dump.language, digest), dump)
        if first is not dump:
            logger.warning("%s is the same as %s: taken once", dump.path, first.path)
            continue
        site = read_siteinfo(dump)
        tasks = [
            ShardTask(
                shard,
                site,
                options.splitter,
                options.max_page_bytes,
                folder / dump.language / _key(shard, digest, options),
            )
            for shard in split_into_shards(dump, options.bytes_per_shard)
        ]
        plans.append((dump, tasks))
    return plans


def _key(shard: Shard, digest: str, options: IngestOptions) -> str:
    """What a shard's rows depend on, as a name; a shard reads past its end, so all of the file counts."""
    splitter = (options.splitter, splitter_version(options.splitter))
    return part_name(WIKIPEDIA_PARTS, digest, shard.start, shard.end, *splitter, options.max_page_bytes)


def _remove_leftovers(plans: Sequence[FilePlan], folder: Path) -> None:
    for language in {dump.language for dump, _ in plans}:
        remove_leftovers(folder / language)


def _parse_missing(plans: Sequence[FilePlan], map_shards: MapShards) -> None:
    tasks = [task for _, tasks in plans for task in tasks]
    missing = [task for task in tasks if not is_whole(task.part)]
    logger.info("%d of %d shards to parse", len(missing), len(tasks))
    if not missing:
        return
    _report_other_versions({task.part.parent for task in tasks})
    sizes = {task.part: task.shard.end - task.shard.start for task in tasks}
    done = sum(sizes.values()) - sum(sizes[task.part] for task in missing)
    with tqdm(
        total=sum(sizes.values()), initial=done, unit="B", unit_scale=True, desc="parsing dumps", disable=None
    ) as bar:
        for part, fault in map_shards(parse_shard, missing):
            if fault:
                raise EaseError(fault)
            bar.update(sizes[part])


def _report_other_versions(folders: Iterable[Path]) -> None:
    """Say why shards that were parsed once are parsed again."""
    found = [
        path for folder in folders if not is_remote(folder) and folder.is_dir() for path in folder.iterdir()
    ]
    other = [path for path in found if not path.name.startswith((".", f"{WIKIPEDIA_PARTS}-"))]
    if other:
        logger.info(
            "%d parts in %s were parsed by another version of the code and are not used: `make prune` lists them",
            *(len(other), other[0].parent.parent),
        )


def _gather(
    language: str, plans: Sequence[FilePlan], options: IngestOptions
) -> tuple[list[Path], dict[str, Any]]:
    """The parts of a language that are used, and their counts."""
    used: list[list[Path]] = []
    files: list[dict[str, Any]] = []
    faults: list[str] = []
    for dump, tasks in plans:
        reports = [read_counts(task.part) for task in tasks]
        truncated = any(report["truncated"] for report in reports)
        keep = options.truncated == "keep" or not truncated
        if truncated:
            action = "what was read before is kept" if keep else "its pages are dropped"
            logger.warning("%s is truncated: it ends before its end; %s (`truncated`)", dump.path, action)
        if keep:
            used.append([task.part for task in tasks])
            faults.extend(f"{dump.path.name}: {fault}" for report in reports for fault in report["faults"])
        _log_file(dump, reports)
        files.append({"file": dump.path.name, "date": dump.dump_date, "truncated": truncated, "used": keep})
    if not used:
        raise EaseError(
            f"Nothing is left of language {language}: every dump file of it is truncated. Download them "
            "again, or set `truncated` to keep what was read."
        )
    for fault in faults[:20]:
        logger.warning("%s", fault)
    parts = [part for file in without_repeated(used) for part in file]
    return parts, {**_sum_counts(parts), "faults": faults, "dumps": files}


def _sum_counts(parts: Sequence[Path]) -> dict[str, Any]:
    totals: Counter[str] = Counter(dict.fromkeys(_TOTALS, 0))
    skipped: Counter[str] = Counter()
    for part in parts:
        counts = read_counts(part)["counts"]
        skipped.update(counts.pop("skipped"))
        totals.update(counts)
    return {**totals, "skipped": dict(sorted(skipped.items()))}


def _log_file(dump: DumpFile, reports: Sequence[dict[str, Any]]) -> None:
    numbers = {name: sum(report["counts"].get(name, 0) for report in reports) for name in _TOTALS}
    logger.debug(
        "%s: %d pages, %d articles, %d sentences, %d links",
        *(dump.path, numbers["pages"], numbers["articles"], numbers["sentences"], numbers["links"]),
    )
