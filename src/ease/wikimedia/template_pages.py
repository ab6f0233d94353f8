"""Learn how a wiki's templates are shown from the pages of namespace 10 in its dump."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ease.arguments import Count, checked
from ease.io.addresses import is_remote, located, report_store_errors
from ease.lazy import pc
from ease.wikimedia.dumps.files import DumpFile, Shard, read_site, read_siteinfo, recognise_dump, split_into_shards
from ease.wikimedia.dumps.kept_pages import KEPT_PAGES_FILE, choose_kept, keep_pages
from ease.wikimedia.dumps.pages import (
    ARTICLES,
    DEFAULT_MAX_PAGE_BYTES,
    Page,
    PageTally,
    iterate_pages,
    redirect_of,
    scan_pages,
)
from ease.wikimedia.dumps.parts import (
    Counts,
    IngestOptions,
    MapShards,
    TableWriter,
    make_part,
    make_parts,
    open_table,
    part_name,
)
from ease.wikimedia.wikitext.template_bodies import PROBE_TITLE, classify_body, included_text, is_box
from ease.wikimedia.wikitext.templates import (
    BOX,
    HIDDEN,
    TEMPLATE,
    LearntTemplates,
    TemplateTable,
    listed_numbers,
    listed_specification,
    lists_digest,
)
from ease.wikimedia.wikitext.titles import SiteInfo, normalize_title

logger = logging.getLogger(__name__)

TEMPLATE_PARTS_VERSION = 7
"""Raise it if a dump's template pages are now read otherwise: parts of another version are read again."""
TEMPLATE_PAGES_FILE = "template_pages.parquet"
TEMPLATES_FILE = "templates.json"
TEMPLATE_PAGES = pa.schema(
    [("page_id", pa.int64()), ("title", pa.string()), ("kind", pa.string()), ("value", pa.string())]
)
"""Template pages by title without the namespace.

`kind` is `redirect`, with the target's title as `value`; `body`, with the text that the template includes; or `other`.
"""
# Redirects that are followed, as for articles.
_MOST_REDIRECTS = 10
# Characters of a name in the list for all wikis that another name of the same template may stand for: short names, such
# as `m` or `c.`, are other templates on other wikis.
_SHORTEST_ALIAS = 3


# Text that begins with a call over several lines, as navigation boxes do, or with a table.
_BOX = re.compile(r"\{\{[^#{}|\n]*\n|\{\||<table")
# Rounds in which templates that call others are learnt after these.
_ROUNDS = 4


class TemplatePage(NamedTuple):
    """A page of namespace 10; the columns are those of `TEMPLATE_PAGES`."""

    page_id: int
    title: str
    kind: str
    value: str


_Task = tuple[Shard, SiteInfo, int, bool]
"""A shard, its wiki, the largest size of a page, and whether the shard's pages are kept for the articles."""


@checked
def read_templates(path: str | Path, max_page_bytes: Count = DEFAULT_MAX_PAGE_BYTES) -> LearntTemplates:
    """Return how a wiki's templates are shown, learnt from the template pages of its dump.

    The dump is read once; pages of other namespaces are skipped unread.

    Args:
        path: A dump (.xml, .xml.bz2, .xml.gz, .xml.xz or .xml.zst), local or at an address that fsspec supports.
        max_page_bytes: Pages with more bytes of XML are skipped.

    Returns:
        Specifications by title, which `parse_wikitext` and `read_dump` accept as `templates`.

    Raises:
        EaseError: The file is missing, corrupt or not a MediaWiki export.

    Example:
        >>> templates = read_templates("itwiki-latest-pages-articles.xml.bz2")  # doctest: +SKIP
        >>> for article in read_dump("itwiki-latest-pages-articles.xml.bz2", templates=templates):  # doctest: +SKIP
        ...     print(article.text)
    """
    _, dump = recognise_dump(located(path))
    site = read_site(dump)
    shard = Shard(dump, 0, dump.path.stat().st_size)
    tally = PageTally()
    pages = iterate_pages(shard, max_page_bytes, tally, {TEMPLATE}, skip_others=True)
    templates, counts = resolve_templates(_read_pages(pages, site), site)
    for fault in tally.faults:
        logger.warning("%s: %s", dump.path, fault)
    _report({dump.language: counts})
    return templates


class ItemFiles(NamedTuple):
    """Tables of Wikidata items: of pages by number (`PAGE_ITEMS`), and of titles (`SITELINKS`)."""

    page_items: Sequence[Path] = ()
    sitelinks: Sequence[Path] = ()


def learn_templates(
    dumps: Mapping[DumpFile, str],
    options: IngestOptions,
    folder: Path,
    map_shards: MapShards,
    item_files: ItemFiles,
) -> dict[str, tuple[Path, Counts]]:
    """Return the file of each language's templates, which the folder keeps from run to run, and its counts.

    Args:
        dumps: The files of all languages, with the digests of their contents.
        options: Size of shards and of pages.
        folder: Folder of the parts.
        map_shards: Where shards are read.
        item_files: Wikidata items, by which a template of one wiki is known from another wiki's.

    Raises EaseError if a file is broken or the folder cannot be written.
    """
    tasks: dict[Path, _Task] = {}
    parts_by_language: dict[str, list[Path]] = defaultdict(list)
    sites: dict[str, SiteInfo] = {}
    kept_dumps = choose_kept(dumps, folder)
    for dump, digest in dumps.items():
        site = sites.setdefault(dump.language, read_siteinfo(dump.path, dump.language))
        for shard in split_into_shards(dump, options.bytes_per_shard):
            part = template_part(shard, digest, options, folder)
            tasks[part] = (shard, site, options.max_page_bytes, dump in kept_dumps)
            parts_by_language[dump.language].append(part)
    make_parts(tasks, _write_shard, lambda task: task[0].end - task[0].start, map_shards, "Reading templates")
    items = _read_items(item_files, parts_by_language, sites)
    tables = {
        language: _write_table(folder / "templates" / language, parts, sites[language], items[language])
        for language, parts in parts_by_language.items()
    }
    _report({language: counts for language, (_, counts) in tables.items()})
    return tables


def template_part(shard: Shard, digest: str, options: IngestOptions, folder: Path) -> Path:
    """Return the part of a shard's template pages, which may keep its other pages for the articles."""
    name = part_name(TEMPLATE_PARTS_VERSION, digest, shard.start, shard.end, options.max_page_bytes)
    return folder / "templates" / shard.dump.language / name


def remove_kept_pages(folder: Path) -> None:
    """Remove the pages that the parts of this and of interrupted runs keep; a remote folder has none."""
    if is_remote(folder):
        return
    # Names with a dot are of parts that another process writes.
    for file in folder.glob(f"templates/*/[!.]*/{KEPT_PAGES_FILE}"):
        file.unlink(missing_ok=True)


_Member = tuple[str, str]
"""Language and title of a template"""


def _read_items(
    item_files: ItemFiles, parts: Mapping[str, Sequence[Path]], sites: Mapping[str, SiteInfo]
) -> dict[str, dict[str, str]]:
    """Return the specifications of each language's templates whose item has a listed template or number."""
    members_by_item: dict[int, set[_Member]] = defaultdict(set)
    for qid, member in chain(_members_by_title(item_files, sites), _members_by_number(item_files, parts)):
        members_by_item[qid].add(member)
    items: dict[str, dict[str, str]] = {language: {} for language in parts}
    for qid, members in members_by_item.items():
        if specification := specification_of_item(members) or listed_numbers().get(qid):
            for language, title in members:
                items[language][title] = specification
    return items


def _members_by_title(item_files: ItemFiles, sites: Mapping[str, SiteInfo]) -> Iterator[tuple[int, _Member]]:
    """Yield item and template of each sitelink to a template."""
    for row in _rows(item_files.sitelinks, lambda batch: pc.match_substring(batch["title"], ":")):
        language = row["language"]
        if language in sites and (title := title_of(row["title"], sites[language])):
            yield row["qid"], (language, title)


def _members_by_number(item_files: ItemFiles, parts: Mapping[str, Sequence[Path]]) -> Iterator[tuple[int, _Member]]:
    """Yield item and template of each template page that has an item."""
    if not item_files.page_items:
        return
    titles = {(language, page.page_id): page.title for language, files in parts.items() for page in _read_parts(files)}
    numbers = pa.array(sorted({number for _, number in titles}), pa.int64())
    for row in _rows(item_files.page_items, lambda batch: pc.is_in(batch["page_id"], numbers)):
        if title := titles.get((row["language"], row["page_id"])):
            yield row["qid"], (row["language"], title)


def _rows(files: Iterable[Path], keep: Callable[[pa.RecordBatch], pa.Array]) -> Iterator[dict[str, Any]]:
    """Yield the rows of tables that fulfil a condition, of which there are few."""
    for file in files:
        with open_table(file) as table:
            for batch in table.iter_batches():
                yield from batch.filter(keep(batch)).to_pylist()


def specification_of_item(members: Iterable[_Member]) -> str | None:
    """Return what the templates of an item show: as the lists say for English, else for the first language."""
    for language, title in sorted(members, key=lambda member: (member[0] != "en", member)):
        if specification := listed_specification(title, language):
            return specification
    return None


def _write_table(folder: Path, parts: Sequence[Path], site: SiteInfo, items: Mapping[str, str]) -> tuple[Path, Counts]:
    """Write a language's templates to a part of its own, and return the file and the counts."""

    def write(scratch: Path) -> Counts:
        templates, counts = resolve_templates(_read_parts(parts), site, items)
        content = json.dumps(templates, ensure_ascii=False, sort_keys=True).encode()
        (scratch / TEMPLATES_FILE).write_bytes(content)
        return {**counts, "digest": hashlib.blake2b(content, digest_size=16).hexdigest()}

    depends_on = (lists_digest(), [part.name for part in parts], sorted(items.items()))
    part = folder / f"table-{part_name(TEMPLATE_PARTS_VERSION, *depends_on)}"
    return part / TEMPLATES_FILE, make_part(part, write)


def _report(counts_by_language: Mapping[str, Counts]) -> None:
    """Log the languages with template pages in a line, and the others in another."""
    learnt = [
        f"{language} {counts['learnt']} of {counts['templates']}"
        for language, counts in counts_by_language.items()
        if counts["templates"]
    ]
    missing = [language for language, counts in counts_by_language.items() if not counts["templates"]]
    if learnt:
        logger.info("Templates that are known from the dumps' pages: %s", ", ".join(learnt))
    if missing:
        logger.warning("No template pages (namespace 10), so only listed templates are shown: %s", " ".join(missing))


def load_templates(file: Path) -> LearntTemplates:
    """Return the templates in a file that `learn_templates` wrote."""
    with report_store_errors(file):
        return LearntTemplates(json.loads(file.read_bytes()))


def _read_parts(parts: Iterable[Path]) -> Iterator[TemplatePage]:
    for part in parts:
        with open_table(part / TEMPLATE_PAGES_FILE) as table:
            for batch in table.iter_batches():
                yield from map(TemplatePage._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _write_shard(task: _Task, folder: Path) -> Counts:
    shard, site, max_page_bytes, keep = task
    tally = PageTally()
    contents = None
    if keep:
        scanned = scan_pages(shard, max_page_bytes, ARTICLES | {TEMPLATE}, tally)
        contents = keep_pages(scanned, folder, ARTICLES)
    pages = iterate_pages(shard, max_page_bytes, tally, {TEMPLATE}, skip_others=True, contents=contents)
    with TableWriter(folder / TEMPLATE_PAGES_FILE, TEMPLATE_PAGES) as writer:
        for page in _read_pages(pages, site):
            writer.append(page)
    return {"faults": tally.faults, "truncated": tally.truncated, "pages": tally.seen}


def _read_pages(pages: Iterable[Page], site: SiteInfo) -> Iterator[TemplatePage]:
    """Yield the template pages among some pages."""
    return filter(None, (_read_page(page, site) for page in pages))


def _read_page(page: Page, site: SiteInfo) -> TemplatePage | None:
    # A dump's header may lack the name of the namespace, whose number the page has.
    prefix, colon, rest = page.title.partition(":")
    title = normalize_title(rest, site)
    if page.namespace != TEMPLATE or not colon or not title:
        return None
    target = redirect_of(page, site)
    if target is not None:
        name = title_of(target, site)
        if not name and target.startswith(f"{prefix}:"):
            name = normalize_title(target.partition(":")[2], site)
        return TemplatePage(page.page_id, title, "redirect", name)
    text = None
    if page.model == "wikitext":
        text = included_text(page.text)
    if text is None or _BOX.match(text):
        return TemplatePage(page.page_id, title, "other", "")
    return TemplatePage(page.page_id, title, "body", text)


def title_of(page_title: str, site: SiteInfo) -> str:
    """Return a template's title without its namespace; empty for another namespace."""
    prefix, colon, rest = normalize_title(page_title, site).partition(":")
    if not colon or site.namespaces.get(prefix.strip().lower()) != TEMPLATE:
        return ""
    return normalize_title(rest, site)


def resolve_templates(
    pages: Iterable[TemplatePage], site: SiteInfo, items: Mapping[str, str] | None = None
) -> tuple[LearntTemplates, Counts]:
    """Return the specifications of a wiki's templates, and counts.

    `items` has specifications by title, known from templates of other wikis with the same Wikidata item.

    The counts are `templates` (pages), `redirects`, `loops` (redirects without an end, or too long), `passed_on`
    (templates shown from their own text), `hidden` (templates whose own text prints nothing), `by_item` (templates
    known from another wiki) and `learnt` (specifications).
    """
    counts: Counter[str] = Counter(templates=0, redirects=0, loops=0)
    redirects: dict[str, str] = {}
    bodies: dict[str, str] = {}
    learnt = LearntTemplates()
    for page in pages:
        counts["templates"] += 1
        if page.kind == "redirect":
            counts["redirects"] += 1
            redirects[page.title] = page.value
        elif page.kind == "body":
            bodies[page.title] = page.value
    table = TemplateTable(site, learnt)
    aliases: dict[str, list[str]] = defaultdict(list)
    for title in sorted(redirects):
        target = _follow(title, redirects)
        if target is None:
            counts["loops"] += 1
        elif target:
            aliases[target].append(title)
    boxes = [title for title, text in bodies.items() if "{{{" not in text and is_box(text)]
    learnt.update((name, BOX) for title in boxes for name in (title, *aliases.get(title, ())))
    _learn_names(aliases, table, learnt)
    _learn_bodies(bodies, aliases, table, learnt)
    by_item = {title: text for title, text in (items or {}).items() if table.find_template(title) is None}
    learnt.update(by_item)
    counts["by_item"] = len(by_item)
    # A template's own text says what its other names show.
    _learn_names(aliases, table, learnt)
    counts["passed_on"] = sum(specification.startswith("body:") for specification in learnt.values())
    counts["hidden"] = sum(specification == HIDDEN for specification in learnt.values())
    known_count = sum(specification != BOX for specification in learnt.values())
    return learnt, {**counts, "learnt": known_count}


def _learn_names(aliases: Mapping[str, Sequence[str]], table: TemplateTable, learnt: LearntTemplates) -> None:
    """Add what templates with several names show, if one of the names is known."""
    for target, titles in aliases.items():
        if learnt.get(target) == BOX:
            continue
        if table.find_template(target) is None:
            # The template has a foreign name, and one of its other names is listed.
            alias = next((title for title in titles if table.is_listed(title, _SHORTEST_ALIAS)), None)
            if alias is None:
                continue
            learnt[target] = f"redirect: {alias}"
        learnt.update((title, f"redirect: {target}") for title in titles if learnt.get(target) != f"redirect: {title}")


def _learn_bodies(
    bodies: Mapping[str, str], aliases: Mapping[str, Sequence[str]], table: TemplateTable, learnt: LearntTemplates
) -> None:
    """Add the templates that can be shown from their own text."""
    missing = {title: text for title, text in bodies.items() if title not in learnt}
    expand = partial(table.expand, title=PROBE_TITLE)
    for _ in range(_ROUNDS):
        table.forget()
        specifications = {title: classify_body(text, expand, table.site) for title, text in missing.items()}
        new = {title: specification for title, specification in specifications.items() if specification}
        learnt.update(new)
        for title in new:
            learnt.update((alias, f"redirect: {title}") for alias in aliases.get(title, ()))
        missing = {title: text for title, text in missing.items() if title not in new}
        if not new:
            break
    table.forget()


def _follow(title: str, redirects: Mapping[str, str]) -> str | None:
    """Return the title at the end of a chain of redirects; None for a loop, or too long a chain."""
    for _ in range(_MOST_REDIRECTS):
        if title not in redirects:
            return title
        title = redirects[title]
    return None
