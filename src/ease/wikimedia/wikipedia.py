"""Read Wikipedia dumps into tables: sentences with links, redirects and pages."""

from __future__ import annotations

import gc
import hashlib
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ease.arguments import Count, Seconds, checked
from ease.errors import EaseError
from ease.io.addresses import located
from ease.lazy import pc
from ease.wikimedia.dumps.files import DumpFile, Shard, read_site, read_siteinfo, recognise_dump, split_into_shards
from ease.wikimedia.dumps.kept_pages import read_kept_pages
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
    choose_parts,
    joblib_map,
    make_part,
    make_parts,
    open_table,
    part_name,
    read_counts,
)
from ease.wikimedia.dumps.streams import content_digest
from ease.wikimedia.template_pages import (
    ItemFiles,
    learn_templates,
    load_templates,
    remove_kept_pages,
    template_part,
)
from ease.wikimedia.wikitext import passes
from ease.wikimedia.wikitext.parser import Article, SentenceColumns, make_table, parse_wikitext, read_prose, split_prose
from ease.wikimedia.wikitext.sentences import SentenceSplitter, splitter_version
from ease.wikimedia.wikitext.templates import LearntTemplates
from ease.wikimedia.wikitext.titles import SiteInfo, normalize_title, resolve_target

logger = logging.getLogger(__name__)

WIKIPEDIA_PARTS_VERSION = 17
"""Raise it if a dump now gives other sentences, redirects or pages: parts of another version are parsed again."""

_LATEST = "cc-by-sa-4.0"
# The licence from a day on, newest first (https://foundation.wikimedia.org/wiki/Policy:Terms_of_Use).
_LICENCES = (("20230607", _LATEST), ("20090615", "cc-by-sa-3.0"), ("", "gfdl"))


def wikipedia_licence(dump_date: str | None) -> str:
    """Return the licence of a dump's text, as the hub names it; a dump with an unknown date (None) counts as new."""
    if dump_date is None:
        return _LATEST
    return next(licence for since, licence in _LICENCES if dump_date >= since)


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


@checked
def read_dump(
    path: str | Path,
    max_page_bytes: Count = DEFAULT_MAX_PAGE_BYTES,
    max_page_seconds: Seconds = DEFAULT_MAX_PAGE_SECONDS,
    templates: LearntTemplates | Mapping[str, str] | None = None,
) -> Iterator[DumpArticle]:
    """Yield the articles of a Wikipedia dump one by one; memory holds a single page and a block of the file.

    Redirects, pages of other namespaces, pages in other formats than wikitext and pages without prose are skipped.
    Pages that cannot be read and a truncated end are logged as warnings. A page that the file has twice is yielded
    twice, since the numbers of all pages would fill the memory; `ingest` keeps the newest.

    Args:
        path: A dump (.xml, .xml.bz2, .xml.gz, .xml.xz or .xml.zst), local or at an address that fsspec supports.
        max_page_bytes: Pages with more bytes of XML are skipped.
        max_page_seconds: Pages that take more CPU time are skipped, if this runs in the main thread.
        templates: What `read_templates` learnt from the dump, or the caller's own templates, as for `parse_wikitext`.

    Raises:
        EaseError: The file is missing, corrupt or not a MediaWiki export, a tenth of the pages (at least 10) cannot be
            read, or no page is an article.

    Example:
        for article in read_dump("enwiki-latest-pages-articles.xml.bz2"):
            for sentence in article.sentences():
                print(article.title, sentence.text, sentence.links)
    """
    _, dump = recognise_dump(located(path))
    site = read_site(dump)
    table = make_table(site, templates)

    skipped: Counter[str] = Counter()

    def parse(page: Page) -> DumpArticle | None:
        if reason := reason_to_skip(page, site):
            skipped[reason] += 1
            return None
        title = normalize_title(page.title, site)
        article = parse_wikitext(page.text, site, templates=table, title=title)
        if not article.text:
            skipped["no_sentences"] += 1
            return None
        return DumpArticle(**vars(article), title=title, page_id=page.page_id, revision_id=page.revision_id)

    def articles() -> Iterator[DumpArticle]:
        tally = PageTally()
        shard = Shard(dump, 0, dump.path.stat().st_size)
        is_empty = True
        for page in iterate_pages(shard, max_page_bytes, tally, ARTICLES):
            if article := tally.attempt(page, parse, max_page_seconds):
                is_empty = False
                yield article
        if is_empty:
            raise _no_article(str(dump.path), tally.seen, tally.skipped + skipped, tally.faults, tally.truncated)
        for fault in tally.faults:
            logger.warning("%s: %s", dump.path, fault)
        if tally.truncated:
            logger.warning("%s is truncated: articles after its end are missing", dump.path)

    # The header is read at once, so that errors of the path come before the first article is asked for.
    return articles()


def _no_article(
    source: str, pages: int, skipped: Mapping[str, int], faults: Sequence[str], truncated: bool
) -> EaseError:
    if truncated and not pages:
        return EaseError(f"{source} is truncated before the end of its first page: download it again.")
    reasons = ", ".join(f"{number:,} {reason}" for reason, number in sorted(skipped.items()) if number)
    message = f"{source}: none of {pages:,} pages is an article"
    if reasons:
        message += f" ({reasons})"
    for fault in faults[:1]:
        message += f"; {fault}"
    return EaseError(f"{message}. Choose a dump named pages-articles, as MediaWiki exports it.")


SENTENCES_FILE = "sentences.parquet"
REDIRECTS_FILE = "redirects.parquet"
PAGES_FILE = "pages.parquet"
_LINK = pa.struct([("start", pa.int32()), ("end", pa.int32()), ("target", pa.string())])
SENTENCES = pa.schema(
    [
        ("language", pa.string()),
        ("page_id", pa.int64()),
        ("page_title", pa.string()),
        ("revision_id", pa.int64()),
        ("sentence_index", pa.int32()),
        ("text", pa.string()),
        ("links", pa.list_(_LINK)),
        ("holes", pa.int32()),
    ]
)
"""Offsets of `links` are characters from the start of `text`.

`holes` counts the places in a sentence where a word of an unknown template may be missing.
"""
REDIRECTS = pa.schema([("language", pa.string()), ("source_title", pa.string()), ("target_title", pa.string())])
PAGES = pa.schema([("language", pa.string()), ("page_id", pa.int64()), ("title", pa.string())])
"""All pages, including redirects, empty pages and other namespaces, since Wikidata may link to them."""
_TABLES = {SENTENCES_FILE: SENTENCES, REDIRECTS_FILE: REDIRECTS, PAGES_FILE: PAGES}
_REVISIONS_FILE = "revisions.parquet"
_REVISIONS = pa.schema(
    [("page_id", pa.int64()), ("page_title", pa.string()), ("revision_id", pa.int64()), ("is_article", pa.bool_())]
)
"""The pages in order, by which repeated pages are found; those of other namespaces have no revision."""
# Bounds the memory of a worker: 16 million characters are at most 64 MB of text.
_CHARACTERS_PER_GROUP = 16_000_000
# With Python's default of 700, garbage collection takes a tenth of the time.
_GC_THRESHOLD = 50_000
# Reasons to skip a page that another form of file has for each page.
_UNREADABLE = ("malformed", "bad_title", "failed")
_TOTALS = "pages articles redirects sentences links holes boundaries_in_links links_across_lines".split()


class _SentenceTable:
    """Sentences of one language in columns, without a Python object for each row or link; `flush` writes them."""

    def __init__(self, writer: TableWriter, language: str) -> None:
        self._writer = writer
        self._language = language
        # Id, title, revision, and numbers of sentences and links of each page.
        self._pages: list[tuple[int, str, int, int, int]] = []
        self._columns = SentenceColumns([], [], [], [], [], [], [])
        self._characters = 0

    def append(self, page: Page, title: str, columns: SentenceColumns) -> None:
        """Add the sentences of a page."""
        sizes = len(columns.texts), len(columns.link_targets)
        self._pages.append((page.page_id, title, page.revision_id, *sizes))
        pairs: Iterable[tuple[list[Any], list[Any]]] = zip(self._columns, columns, strict=True)
        for column, page_values in pairs:
            column += page_values
        self._characters += sum(map(len, columns.texts))
        if len(self._columns.texts) >= ROWS_PER_GROUP or self._characters >= _CHARACTERS_PER_GROUP:
            self.flush()

    def flush(self) -> None:
        """Write the collected sentences, and forget them."""
        if not self._pages:
            return
        columns = self._columns
        ids, titles, revisions, sizes, link_sizes = zip(*self._pages, strict=True)
        # The row of each page's first sentence, and the page of each row.
        first_rows = np.cumsum(sizes) - sizes
        pages = np.repeat(np.arange(len(ids)), sizes)
        # The row of each link, and the place of each row's first link: the offsets of an Arrow list.
        link_rows = np.array(columns.link_sentences, np.int64) + np.repeat(first_rows, link_sizes)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(link_rows, minlength=len(pages)))])
        values = (columns.link_starts, columns.link_ends, columns.link_targets)
        links = [pa.array(value, field.type) for value, field in zip(values, _LINK, strict=True)]
        arrays = [
            pa.repeat(pa.scalar(self._language, pa.string()), len(pages)),
            pa.array(np.array(ids, np.int64)[pages]),
            pa.array(titles, pa.string()).take(pa.array(pages)),
            pa.array(np.array(revisions, np.int64)[pages]),
            pa.array((np.arange(len(pages)) - first_rows[pages]).astype(np.int32)),
            pa.array(columns.texts, pa.string()),
            pa.ListArray.from_arrays(
                pa.array(offsets.astype(np.int32)),
                pa.StructArray.from_arrays(links, fields=list(_LINK)),
                type=pa.list_(_LINK),
            ),
            pa.array(columns.holes, pa.int32()),
        ]
        self._writer.write(pa.RecordBatch.from_arrays(arrays, schema=SENTENCES))
        self._pages.clear()
        for column in columns:
            column.clear()
        self._characters = 0


ShardTask = tuple[Shard, SiteInfo, IngestOptions, Path | None, Path]
"""A shard, its wiki, the options, the file of the wiki's learnt templates, and the part that may keep the pages."""


def write_shard(task: ShardTask, folder: Path) -> Counts:
    """Parse a shard, write its tables into a folder and return the counts; raises EaseError if the file is broken."""
    shard, site, options, templates, template_pages = task
    language = shard.dump.language
    splitter = SentenceSplitter(language, options.splitter)
    learnt = None
    if templates is not None:
        learnt = load_templates(templates)
    table = make_table(site, learnt)
    tally = PageTally()
    skipped: Counter[str] = Counter()
    counts: Counter[str] = Counter()

    def parse(page: Page) -> tuple[str | None, str, Any]:
        """Return why a page is no article, its title, and the target of a redirect or the sentences of an article."""
        reason = reason_to_skip(page, site)
        title = normalize_title(page.title, site)
        if reason == "redirect":
            return reason, title, resolve_target(redirect_of(page, site) or "", site)
        if reason is not None:
            return reason, title, None
        # XML parsers keep carriage returns that are written as entities.
        sentences = split_prose(read_prose(page.text.replace("\r", ""), site, table, title), splitter)
        if not sentences[0].texts:
            reason = "no_sentences"
        return reason, title, sentences

    with ExitStack() as stack:
        # Buffered rows contain no reference cycles.
        stack.callback(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(_GC_THRESHOLD, *gc.get_threshold()[1:])
        writers = {name: stack.enter_context(TableWriter(folder / name, _TABLES[name])) for name in _TABLES}
        revisions = stack.enter_context(TableWriter(folder / _REVISIONS_FILE, _REVISIONS))
        sentence_table = _SentenceTable(writers[SENTENCES_FILE], language)
        contents = read_kept_pages(template_pages, tally)
        for page in iterate_pages(shard, options.max_page_bytes, tally, ARTICLES, contents=contents):
            # Pages that fail below stay in the table of pages, since Wikidata may link to them.
            writers[PAGES_FILE].append((language, page.page_id, page.title))
            result = tally.attempt(page, parse, options.max_page_seconds)
            if result is None:
                continue
            reason, title, content = result
            revisions.append((page.page_id, title, page.revision_id, reason is None))
            if reason is None:
                columns, link_counts = content
                sentence_table.append(page, title, columns)
                counts.update(link_counts)
                counts.update(articles=1, links=len(columns.link_targets), sentences=len(columns.texts))
                counts.update(holes=sum(map(bool, columns.holes)))
                continue
            skipped[reason] += 1
            if reason == "redirect" and content is not None:
                writers[REDIRECTS_FILE].append((language, title, content))
                counts["redirects"] += 1
        sentence_table.flush()
    return {
        "counts": {"pages": tally.seen, "skipped": dict(tally.skipped + skipped), **counts},
        "faults": tally.faults,
        "truncated": tally.truncated,
    }


class WikipediaParts(NamedTuple):
    """The part files of the tables in the order of the dumps, and the counts of each language.

    The counts are `pages`, `articles`, `skipped` (by reason), `redirects`, `sentences`, `links`,
    `boundaries_in_links`, `links_across_lines`, `faults` (messages about skipped pages), and `dumps` (file, date,
    truncated, used). If a dump has a page twice, pages may repeat, but not articles.
    """

    sentences: list[Path]
    redirects: list[Path]
    pages: list[Path]
    counts: dict[str, dict[str, Any]]


def ingest_wikipedia(
    dumps: Sequence[DumpFile],
    options: IngestOptions,
    folder: Path,
    map_shards: MapShards | None = None,
    items: ItemFiles | None = None,
) -> WikipediaParts:
    """Parse the shards that are not parsed yet, and return all parts; the rows do not depend on the process count.

    Of a page that a language's files have twice, by its number or title, the newest revision stays. `folder` keeps the
    parts from run to run; without `map_shards`, shards are parsed in `options.workers` local processes. `items` has
    Wikidata's items, by which templates of one wiki are known from another wiki's.

    Raises EaseError if a file is broken or not a dump, a language has no article, all files of a language are dropped,
    or the folder cannot be written.
    """
    form = "compiled"
    if passes.__file__.endswith(".py"):
        form = "uncompiled (slower)"
    logger.info("Wikitext is read by %s functions", form)
    map_shards = map_shards or joblib_map(options.workers)
    digests = _digests(dumps, options)
    templates = learn_templates(digests, options, folder, map_shards, items or ItemFiles())
    plans = _plan(digests, templates, options, folder)
    tasks = {part: task for parts in plans.values() for part, task in parts.items()}
    reports = make_parts(tasks, write_shard, lambda task: task[0].end - task[0].start, map_shards, "Parsing dumps")
    remove_kept_pages(folder)
    all_parts: list[Path] = []
    counts: dict[str, dict[str, Any]] = {}
    for language in dict.fromkeys(dump.language for dump in plans):
        files = {dump: list(parts) for dump, parts in plans.items() if dump.language == language}
        parts, counts[language] = _gather(language, files, reports, options)
        counts[language]["templates"] = templates[language][1]
        all_parts += parts
    sentences, redirects, pages = ([part / name for part in all_parts] for name in _TABLES)
    return WikipediaParts(sentences, redirects, pages, counts)


def _digests(dumps: Sequence[DumpFile], options: IngestOptions) -> dict[DumpFile, str]:
    """Return the hash of each file's content; identical files are used once."""
    from joblib import Parallel, delayed  # slow to import

    digests = Parallel(n_jobs=options.workers or -1, prefer="threads")(
        delayed(content_digest)(dump.path) for dump in dumps
    )
    originals: dict[tuple[str, str], DumpFile] = {}
    for dump, digest in zip(dumps, digests, strict=True):
        first = originals.setdefault((dump.language, digest), dump)
        if first is not dump:
            logger.warning("%s is the same as %s: used once", dump.path, first.path)
    return {dump: digest for (_, digest), dump in originals.items()}


def _plan(
    digests: Mapping[DumpFile, str],
    templates: Mapping[str, tuple[Path, Counts]],
    options: IngestOptions,
    folder: Path,
) -> dict[DumpFile, dict[Path, ShardTask]]:
    """Return the shards of each file by the folders of their parts."""
    # The name of a part is a hash of this tuple: its order and its types must stay.
    depends_on = (
        options.splitter,
        splitter_version(options.splitter),
        options.max_page_bytes,
        options.max_page_seconds,
    )
    plans: dict[DumpFile, dict[Path, ShardTask]] = {}
    for dump, digest in digests.items():
        site = read_siteinfo(dump.path, dump.language)
        table, table_counts = templates[dump.language]
        plans[dump] = {}
        for shard in split_into_shards(dump, options.bytes_per_shard):
            # A shard reads past its end, so its rows depend on the complete file; and on the templates of all files.
            name = part_name(
                WIKIPEDIA_PARTS_VERSION, digest, shard.start, shard.end, *depends_on, table_counts["digest"]
            )
            template_pages = template_part(shard, digest, options, folder)
            plans[dump][folder / dump.language / name] = (shard, site, options, table, template_pages)
    return plans


def _gather(
    language: str, files: dict[DumpFile, list[Path]], reports: dict[Path, Counts], options: IngestOptions
) -> tuple[list[Path], dict[str, Any]]:
    """Return the parts of a language without repeated articles, and their counts."""
    parts_by_file, report = choose_parts(files, reports, options.truncated)
    if not parts_by_file:
        raise EaseError(
            f"All dump files of language {language} are truncated and dropped: set `truncated` to keep their pages."
        )
    file_names = [file["file"] for file in report["dumps"] if file["used"]]
    for name, file_parts in zip(file_names, parts_by_file, strict=True):
        _check_articles(name, [reports[part] for part in file_parts], may_lack=True)
    parts = [part for file_parts in parts_by_file for part in file_parts]
    _check_articles(f"Language {language} ({', '.join(file_names)})", [reports[part] for part in parts])
    parts = _without_repeats(parts)
    totals = Counter(dict.fromkeys(_TOTALS, 0))
    skipped: Counter[str] = Counter()
    for part in parts:
        counts = read_counts(part)["counts"]
        skipped.update(counts.pop("skipped"))
        totals.update(counts)
    return parts, {**totals, "skipped": dict(sorted(skipped.items())), **report}


def _check_articles(source: str, reports: Sequence[Counts], may_lack: bool = False) -> None:
    """Raise EaseError if the parts of a file or language have no article; if they `may_lack` them, and pages failed.

    One file of several may consist of redirects or of other namespaces.
    """
    if any(report["counts"].get("articles") for report in reports):
        return
    skipped = sum((Counter(report["counts"]["skipped"]) for report in reports), Counter[str]())
    if may_lack and not any(skipped[reason] for reason in _UNREADABLE):
        return
    faults = [fault for report in reports for fault in report["faults"]]
    pages = sum(report["counts"]["pages"] for report in reports)
    raise _no_article(source, pages, skipped, faults, any(report["truncated"] for report in reports))


class _Copies(NamedTuple):
    """Pages in order: their numbers, their revisions, and hashes of their titles that hold in this process."""

    page_ids: np.ndarray
    revisions: np.ndarray
    titles: np.ndarray

    def at(self, places: np.ndarray) -> _Copies:
        """Return the pages at some places, or of a mask."""
        return _Copies(*(column[places] for column in self))


def _without_repeats(parts: Sequence[Path]) -> list[Path]:
    """Return the parts with one copy of each article: the newest revision, of equal ones the first.

    Copies have the same number or the same title. If the newest copy is a redirect or blank, the article is dropped; if
    it is the article, the redirect is.
    """
    # Three numbers of 8 bytes an article: 168 MB for the largest Wikipedia.
    copies = [_read_copies(part, are_articles=True) for part in parts]
    articles = _concatenate(copies)
    others = [_copies_of(articles, _read_copies(part, are_articles=False)) for part in parts]
    is_repeated = np.zeros(len(articles.page_ids), bool)
    # By number first: a page that was moved has left its old title.
    for key in ("page_ids", "titles"):
        kept = np.flatnonzero(~is_repeated)
        is_newest = _are_newest(articles.at(kept), _concatenate(others), key)
        is_repeated[kept[~is_newest]] = True
    remaining = articles.titles[~is_repeated]
    ends = np.cumsum([len(part_copies.page_ids) for part_copies in copies])
    masks = np.split(is_repeated, ends[:-1])
    return [
        _without_copies(part, mask, np.intersect1d(others_of_part.titles, remaining))
        for part, mask, others_of_part in zip(parts, masks, others, strict=True)
    ]


def _concatenate(copies: Sequence[_Copies]) -> _Copies:
    columns = zip(*copies, strict=True)
    return _Copies(*(np.concatenate([np.empty(0, np.int64), *column]) for column in columns))


def _copies_of(articles: _Copies, others: _Copies) -> _Copies:
    """Return the other pages that have the number or the title of an article: few of very many."""
    return others.at(np.isin(others.page_ids, articles.page_ids) | np.isin(others.titles, articles.titles))


def _are_newest(articles: _Copies, others: _Copies, key: str) -> np.ndarray:
    """Return whether each article is the newest of the pages with its key, a column; of equal ones, the first."""
    keys = np.concatenate([getattr(articles, key), getattr(others, key)])
    revisions = np.concatenate([articles.revisions, others.revisions])
    newest_first = np.lexsort((-revisions, keys))
    _, first = np.unique(keys[newest_first], return_index=True)
    is_newest = np.zeros(len(keys), bool)
    is_newest[newest_first[first]] = True
    return is_newest[: len(articles.page_ids)]


def _read_copies(part: Path, are_articles: bool) -> _Copies:
    """Return a part's articles in order, or its other pages; an article that is there twice has two."""
    copies = [_Copies(*[np.empty(0, np.int64)] * 3)]
    with open_table(part / _REVISIONS_FILE) as table:
        for batch in table.iter_batches():
            batch = batch.filter(pc.equal(batch["is_article"], are_articles))
            titles = _hash_titles(batch["page_title"])
            page_ids = batch["page_id"].to_numpy()
            # Pages without a number, as some programs write them, are told apart by their titles.
            page_ids = np.where(page_ids > 0, page_ids, -np.abs(titles))
            copies.append(_Copies(page_ids, batch["revision_id"].to_numpy(), titles))
    return _concatenate(copies)


def _hash_titles(titles: pa.StringArray) -> np.ndarray:
    return np.fromiter(map(hash, titles.to_pylist()), np.int64, len(titles))


def _without_copies(part: Path, is_repeated: np.ndarray, hashes: np.ndarray) -> Path:
    """Return a copy of the part, beside it, without some articles and redirects; the part itself if all of them stay.

    The redirects are given by the hashes of their titles.
    """
    old_titles: list[str] = []
    if len(hashes):
        with open_table(part / REDIRECTS_FILE) as table:
            for batch in table.iter_batches(columns=["source_title"]):
                titles = batch["source_title"]
                old_titles += titles.filter(pa.array(np.isin(_hash_titles(titles), hashes))).to_pylist()
    if not is_repeated.any() and not old_titles:
        return part

    def write(folder: Path) -> Counts:
        dropped: Counter[str] = Counter(articles=int(is_repeated.sum()))
        article = -1
        with open_table(part / SENTENCES_FILE) as table, TableWriter(folder / SENTENCES_FILE, SENTENCES) as writer:
            for batch in table.iter_batches():
                articles = article + np.cumsum(batch["sentence_index"].to_numpy() == 0)
                article = int(articles[-1])
                repeated_rows = batch.filter(pa.array(is_repeated[articles]))
                dropped["sentences"] += repeated_rows.num_rows
                dropped["links"] += pc.sum(pc.list_value_length(repeated_rows["links"])).as_py() or 0
                dropped["holes"] += pc.sum(pc.greater(repeated_rows["holes"], 0)).as_py() or 0
                writer.write(batch.filter(pa.array(~is_repeated[articles])))
        old = pa.array(old_titles, pa.string())
        with open_table(part / REDIRECTS_FILE) as table, TableWriter(folder / REDIRECTS_FILE, REDIRECTS) as writer:
            for batch in table.iter_batches():
                writer.write(batch.filter(pc.invert(pc.is_in(batch["source_title"], old))))
        (folder / PAGES_FILE).write_bytes((part / PAGES_FILE).read_bytes())
        report = read_counts(part)
        counts = report["counts"]
        for name, number in dropped.items():
            counts[name] = counts.get(name, 0) - number
        skipped = counts["skipped"]
        if old_titles:
            counts["redirects"] -= len(old_titles)
            skipped["redirect"] -= len(old_titles)
        skipped["repeated"] = dropped["articles"] + len(old_titles)
        return report

    # Another set of files repeats other articles: its copy has another name.
    repeated = np.flatnonzero(is_repeated).tobytes() + "\n".join(old_titles).encode()
    digest = hashlib.blake2b(repeated, digest_size=8).hexdigest()
    filtered = part.with_name(f"{part.name}-{digest}")
    make_part(filtered, write)
    return filtered
