"""Read Wikipedia dumps into tables: sentences with links, redirects and pages."""

from __future__ import annotations

import gc
import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from joblib import Parallel, delayed

from ease.errors import EaseError
from ease.io.addresses import located
from ease.io.result_versions import WIKIPEDIA_PARTS
from ease.wikimedia.dumps.files import DumpFile, Shard, read_siteinfo, recognise_dump, split_into_shards
from ease.wikimedia.dumps.pages import (
    ARTICLES,
    DEFAULT_MAX_PAGE_BYTES,
    DEFAULT_MAX_PAGE_SECONDS,
    Page,
    PageTally,
    iterate_pages,
    reason_to_skip,
    redirect_of,
)
from ease.wikimedia.dumps.parts import (
    ROWS_PER_GROUP,
    Counts,
    IngestOptions,
    MapShards,
    TableWriter,
    joblib_map,
    log_faults,
    make_part,
    make_parts,
    open_table,
    part_name,
    read_counts,
    report_file,
)
from ease.wikimedia.dumps.streams import content_digest
from ease.wikimedia.wikitext import passes
from ease.wikimedia.wikitext.parser import Article, SentenceColumns, parse_wikitext, read_prose, split_prose
from ease.wikimedia.wikitext.sentences import SentenceSplitter, splitter_version
from ease.wikimedia.wikitext.titles import SiteInfo, normalize_title, resolve_target

logger = logging.getLogger(__name__)


LATEST = "cc-by-sa-4.0"
CHANGES = (("20230607", LATEST), ("20090615", "cc-by-sa-3.0"), ("", "gfdl"))
"""The licence from a day on, newest first (https://foundation.wikimedia.org/wiki/Policy:Terms_of_Use)."""


def wikipedia_licence(dump_date: str | None) -> str:
    """Return the licence of a dump's text, as the hub names it.

    Args:
        dump_date: Year, month and day; None: unknown, which counts as new.
    """
    if dump_date is None:
        return LATEST
    return next(licence for since, licence in CHANGES if dump_date >= since)


@dataclass(frozen=True, kw_only=True)
class DumpArticle(Article):
    """An article of a dump: its prose, links and sentences, as `parse_wikitext` returns them, and its page.

    Attributes:
        title: Normalised title.
        page_id: Number of the page in its wiki.
        revision_id: Number of the page's revision in the dump.
    """

    title: str
    page_id: int
    revision_id: int


def read_dump(
    path: str | Path,
    max_page_bytes: int = DEFAULT_MAX_PAGE_BYTES,
    max_page_seconds: float = DEFAULT_MAX_PAGE_SECONDS,
) -> Iterator[DumpArticle]:
    """Yield the articles of a Wikipedia dump one by one; memory holds a single page and a block of the file.

    Redirects, pages of other namespaces, pages in other formats than wikitext and pages without prose are skipped.
    Pages that cannot be read and a truncated end are logged as warnings.

    Args:
        path: A dump (.xml, .xml.bz2, .xml.gz or .xml.zst), local or at an address that fsspec supports.
        max_page_bytes: Pages with more bytes of XML are skipped.
        max_page_seconds: Pages that take more CPU time are skipped, if this runs in the main thread.

    Raises:
        EaseError: The file is missing, corrupt or not a MediaWiki export, or more than a tenth of at least 100 pages
            cannot be read.

    Example:
        for article in read_dump("enwiki-latest-pages-articles.xml.bz2"):
            for sentence in article.sentences():
                print(article.title, sentence.text, sentence.links)
    """
    _, dump = recognise_dump(located(path))
    shard = Shard(dump, 0, dump.path.stat().st_size)
    return _read_articles(shard, read_siteinfo(dump.path, dump.language), max_page_bytes, max_page_seconds)


def _read_articles(
    shard: Shard, site: SiteInfo, max_page_bytes: int, max_page_seconds: float
) -> Iterator[DumpArticle]:
    def parse(page: Page) -> DumpArticle | None:
        if reason_to_skip(page, site):
            return None
        title, article = normalize_title(page.title, site), parse_wikitext(page.text, site)
        found = DumpArticle(**vars(article), title=title, page_id=page.page_id, revision_id=page.revision_id)
        return found if found.text else None

    tally = PageTally()
    for page in iterate_pages(shard, max_page_bytes, tally, ARTICLES):
        if article := tally.attempt(page, parse, max_page_seconds):
            yield article
    for fault in tally.faults:
        logger.warning("%s: %s", shard.dump.path, fault)
    if tally.truncated:
        logger.warning("%s is truncated: articles after its end are missing", shard.dump.path)


_LINK_FIELDS = [("start", pa.int32()), ("end", pa.int32()), ("target", pa.string())]
LINKS = pa.list_(pa.struct(_LINK_FIELDS))
SENTENCES = pa.schema(
    [
        ("language", pa.string()),
        ("page_id", pa.int64()),
        ("page_title", pa.string()),
        ("revision_id", pa.int64()),
        ("sentence_index", pa.int32()),
        ("text", pa.string()),
        ("links", LINKS),
    ]
)
"""Offsets of `links` are characters from the start of `text`."""


_CHARACTERS_PER_GROUP = 16_000_000


class SentencePage(NamedTuple):
    """A page whose sentences are written."""

    page_id: int
    title: str
    revision_id: int


class SentenceTable:
    """Sentences of one language, which `flush` writes; without a Python object for each row or link."""

    def __init__(self, writer: TableWriter, language: str) -> None:
        """Prepare to write with a writer of the schema `SENTENCES`."""
        self._writer = writer
        self._language = language
        self._clear()

    def _clear(self) -> None:
        self._pages: list[SentencePage] = []
        self._rows: list[int] = []
        """Sentences of each page."""
        self._links: list[int] = []
        """Links of each page."""
        self._columns = SentenceColumns([], [], [], [], [], [])
        self._characters = 0

    def append(self, page: SentencePage, columns: SentenceColumns) -> None:
        """Add the sentences of a page."""
        self._pages.append(page)
        self._rows.append(len(columns.texts))
        self._links.append(len(columns.link_targets))
        both: Iterable[tuple[list[Any], list[Any]]] = zip(self._columns, columns, strict=True)
        for own, added in both:
            own += added
        self._characters += sum(map(len, columns.texts))
        if len(self._columns.texts) >= ROWS_PER_GROUP or self._characters >= _CHARACTERS_PER_GROUP:
            self.flush()

    def flush(self) -> None:
        """Write the collected sentences."""
        if not self._pages:
            return
        rows = np.array(self._rows)
        first_rows = np.cumsum(rows) - rows
        pages = np.repeat(np.arange(len(rows)), rows)
        ids, titles, revisions = zip(*self._pages, strict=True)
        arrays = [
            pa.repeat(pa.scalar(self._language, pa.string()), len(pages)),
            pa.array(np.array(ids, np.int64)[pages]),
            pa.array(titles, pa.string()).take(pa.array(pages)),
            pa.array(np.array(revisions, np.int64)[pages]),
            pa.array((np.arange(len(pages)) - first_rows[pages]).astype(np.int32)),
            pa.array(self._columns.texts, pa.string()),
            self._link_array(first_rows, len(pages)),
        ]
        self._writer.write(pa.RecordBatch.from_arrays(arrays, schema=SENTENCES))
        self._clear()

    def _link_array(self, first_rows: np.ndarray, rows: int) -> pa.Array:
        columns = self._columns
        sentences = np.array(columns.link_sentences, np.int64) + np.repeat(first_rows, self._links)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(sentences, minlength=rows))])
        values = (columns.link_starts, columns.link_ends, columns.link_targets)
        fields = list(LINKS.value_type)
        arrays = [pa.array(value, field.type) for value, field in zip(values, fields, strict=True)]
        return pa.ListArray.from_arrays(
            pa.array(offsets.astype(np.int32)), pa.StructArray.from_arrays(arrays, fields=fields), type=LINKS
        )


_GC_THRESHOLD = 50_000
"""With Python's default of 700, garbage collection takes a tenth of the time."""

SENTENCES_FILE = "sentences.parquet"
REDIRECTS_FILE = "redirects.parquet"
PAGES_FILE = "pages.parquet"

REDIRECTS = pa.schema(
    [("language", pa.string()), ("source_title", pa.string()), ("target_title", pa.string())]
)
PAGES = pa.schema([("language", pa.string()), ("page_id", pa.int64()), ("title", pa.string())])
"""All pages, including redirects, empty pages and other namespaces, since Wikidata may link to them."""


@dataclass(frozen=True)
class ShardTask:
    """A shard to parse."""

    shard: Shard
    site: SiteInfo
    options: IngestOptions

    def size(self) -> int:
        """Return the bytes of the shard."""
        return self.shard.end - self.shard.start


def write_shard(task: ShardTask, folder: Path) -> Counts:
    """Parse a shard, write its tables into a folder and return the counts.

    Raises:
        EaseError: The dump file is broken, too many of its pages fail, or the folder cannot be written.
    """
    with (
        _rare_garbage_collection(),
        TableWriter(folder / SENTENCES_FILE, SENTENCES) as sentences,
        TableWriter(folder / REDIRECTS_FILE, REDIRECTS) as redirects,
        TableWriter(folder / PAGES_FILE, PAGES) as pages,
    ):
        parser = _ShardParser(task, sentences, redirects, pages)
        for page in iterate_pages(task.shard, task.options.max_page_bytes, parser.tally, ARTICLES):
            parser.add(page)
        parser.sentences.flush()
    tally = parser.tally
    counts = {"pages": tally.seen, "skipped": dict(tally.skipped + parser.skipped), **parser.counts}
    return {"counts": counts, "faults": tally.faults, "truncated": tally.truncated}


@contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Raise the garbage collector's threshold: buffered rows contain no reference cycles."""
    threshold = gc.get_threshold()
    gc.set_threshold(_GC_THRESHOLD, *threshold[1:])
    try:
        yield
    finally:
        gc.set_threshold(*threshold)


class _ShardParser:
    """Converts pages to rows, and counts them."""

    def __init__(
        self, task: ShardTask, sentences: TableWriter, redirects: TableWriter, pages: TableWriter
    ) -> None:
        self.tally = PageTally()
        self.skipped: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self._site = task.site
        self._max_seconds = task.options.max_page_seconds
        self._language = task.shard.dump.language
        self._splitter = SentenceSplitter(self._language, task.options.splitter)
        self.sentences = SentenceTable(sentences, self._language)
        self._redirects = redirects
        self._pages = pages

    def add(self, page: Page) -> None:
        """Write the rows of one page."""
        self._pages.append((self._language, page.page_id, page.title))
        if write := self.tally.attempt(page, self._parse, self._max_seconds):
            write()

    def _parse(self, page: Page) -> Callable[[], None]:
        """Return a function that writes what a page contains: a page that fails writes nothing."""
        reason = reason_to_skip(page, self._site)
        title = normalize_title(page.title, self._site)
        if reason == "redirect":
            target = resolve_target(redirect_of(page, self._site) or "", self._site)
            return partial(self._add_redirect, title, target)
        if reason is None:
            prose = read_prose(page.text.replace("\r", ""), self._site)
            columns, link_counts = split_prose(prose, self._splitter)
            if columns.texts:
                key = SentencePage(page.page_id, title, page.revision_id)
                return partial(self._add_article, key, columns, link_counts)
        return partial(self.skipped.update, [reason or "no_sentences"])

    def _add_article(self, page: SentencePage, columns: SentenceColumns, link_counts: Counter[str]) -> None:
        self.sentences.append(page, columns)
        self.counts.update(link_counts)
        self.counts.update(articles=1, links=len(columns.link_targets), sentences=len(columns.texts))

    def _add_redirect(self, title: str, target: str | None) -> None:
        self.skipped["redirect"] += 1
        if target is not None:
            self._redirects.append((self._language, title, target))
            self.counts["redirects"] += 1


def without_repeated(files: Sequence[Sequence[Path]]) -> list[list[Path]]:
    """Drop the articles that an earlier dump file of the language has already.

    Returns:
        The part folders of each file; a part that repeats articles is replaced by a filtered copy beside it.
    """
    seen = np.empty(0, dtype=np.int64)
    """Sorted page ids of the files so far: 8 bytes an article, 56 MB for the largest Wikipedia."""
    kept = []
    for parts in files:
        ids = []
        for part in parts:
            with open_table(part / SENTENCES_FILE) as table:
                batches = [np.unique(batch["page_id"]) for batch in table.iter_batches(columns=["page_id"])]
            ids.append(np.unique(np.concatenate([np.empty(0, dtype=np.int64), *batches])))
        kept.append(
            [
                _filtered(part, np.intersect1d(own, seen, assume_unique=True))
                for part, own in zip(parts, ids, strict=True)
            ]
        )
        seen = np.union1d(seen, np.concatenate(ids))
    return kept


def _filtered(part: Path, repeated: np.ndarray) -> Path:
    """Return a part without some pages, written beside the part."""
    if not len(repeated):
        return part
    digest = hashlib.blake2b(repeated.tobytes(), digest_size=8).hexdigest()
    filtered = part.with_name(f"{part.name}-{digest}")
    make_part(filtered, lambda folder: _write_filtered(part, repeated, folder))
    return filtered


def _write_filtered(part: Path, repeated: np.ndarray, folder: Path) -> Counts:
    dropped: Counter[str] = Counter(articles=len(repeated))
    with (
        open_table(part / SENTENCES_FILE) as table,
        TableWriter(folder / SENTENCES_FILE, SENTENCES) as writer,
    ):
        for batch in table.iter_batches():
            again = pc.is_in(batch["page_id"], pa.array(repeated))
            gone = batch.filter(again)
            dropped["sentences"] += gone.num_rows
            dropped["links"] += pc.sum(pc.list_value_length(gone["links"])).as_py() or 0
            writer.write(batch.filter(pc.invert(again)))
    for name in (REDIRECTS_FILE, PAGES_FILE):
        (folder / name).write_bytes((part / name).read_bytes())
    report = read_counts(part)
    for name, number in dropped.items():
        report["counts"][name] -= number
    report["counts"]["skipped"]["repeated"] = len(repeated)
    return report


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
            plans[dump][part] = ShardTask(shard, site, options)
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
