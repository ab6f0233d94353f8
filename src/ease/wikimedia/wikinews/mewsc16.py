"""Make MewsC-16 from Wikinews dumps: first sentences of articles with exactly one topic (appendix E of the paper)."""

from __future__ import annotations

import logging
import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from ease.errors import EaseError
from ease.io.atomic import atomic_folder
from ease.io.progress import ProgressBar
from ease.wikimedia.dumps.files import DumpFile, Shard, read_siteinfo, split_into_shards
from ease.wikimedia.dumps.pages import ARTICLES, Page, PageTally, iterate_pages, reason_to_skip
from ease.wikimedia.dumps.parts import Counts, TableWriter, choose_parts, joblib_map
from ease.wikimedia.wikinews.editions import (
    NEWS_COLUMNS,
    NewsOptions,
    NewsSource,
    finish_folder,
    finish_language,
    read_parts,
)
from ease.wikimedia.wikinews.first_sentences import FirstSentences
from ease.wikimedia.wikitext.markup import hide_extensions
from ease.wikimedia.wikitext.titles import CATEGORY, SiteInfo, TargetKind, normalize_title, read_target, redirect_target

logger = logging.getLogger(__name__)

_LINK = re.compile(r"\[\[([^\[\]|\n{}<>]++)(?:\|[^\[\]]*+)?\]\]")
_TEMPLATE = re.compile(r"\{\{([^{}|]++)\|(?:\s*+1\s*+=)?([^{}|]++)")

_TaskResult = TypeVar("_TaskResult")


@dataclass(frozen=True)
class _Task:
    """A shard whose rows are written to the file `part`; `topics` maps the wiki's categories to topics."""

    shard: Shard
    site: SiteInfo
    options: NewsOptions
    part: Path
    topics: Mapping[str, str]


def build_mewsc16(
    dumps: Sequence[DumpFile], options: NewsOptions, folder: Path, source: NewsSource
) -> dict[str, Counts]:
    """Write `{language}.parquet`, `{language}_sentences.txt`, `{language}_categories.txt` and README.md, atomically.

    Returns for each language the counts of `finish_language`, `pages`, `skipped` (pages by reason, including removed
    sentences), `faults` (messages about skipped pages) and `dumps` (file, date, truncated, used). The numbers of
    sentences and of skipped pages add up to the number of pages.

    Raises EaseError if a file is broken, a language has no topic, no page is left, or the folder cannot be written.
    """
    with atomic_folder(folder) as scratch:
        parts = scratch / "parts"
        parts.mkdir()
        tasks: list[_Task] = []
        for dump in dumps:
            site = read_siteinfo(dump.path, dump.language)
            topics = _topic_categories(site, options)
            for shard in split_into_shards(dump, options.bytes_per_shard):
                tasks.append(_Task(shard, site, options, parts / f"{len(tasks):06d}.parquet", topics))
        # The dumps are read twice, since a category's redirect may follow the articles in the category.
        total = 2 * sum(task.shard.end - task.shard.start for task in tasks)
        with ProgressBar(total=total, unit="B", unit_scale=True, desc="reading Wikinews", leave=True) as bar:
            redirects_by_part = _run(_find_redirects, tasks, bar)
            # They fit into memory: a wiki has few category redirects.
            redirects: dict[str, dict[str, str]] = {}
            # Reversed, so that the first file takes precedence.
            for task in reversed(tasks):
                redirects.setdefault(task.site.language, {}).update(redirects_by_part[task.part])
            tasks = [
                replace(task, topics=follow_category_redirects(redirects[task.site.language], task.topics))
                for task in tasks
            ]
            reports = _run(_read_shard, tasks, bar)
        counts = {
            language: _gather(language, tasks, reports, options, scratch, source)
            for language in dict.fromkeys(task.shard.dump.language for task in tasks)
        }
        shutil.rmtree(parts)
        finish_folder(scratch, counts, options, source)
    return counts


def _topic_categories(site: SiteInfo, options: NewsOptions) -> dict[str, str]:
    """Return topics by the normalised titles of a wiki's categories.

    Raises EaseError if no topic has a category in the wiki's language, or two topics have the same one.
    """
    topics: dict[str, str] = {}
    for topic, names in options.topics.items():
        if site.language in names:
            title = normalize_title(names[site.language], site)
            if topics.setdefault(title, topic) != topic:
                raise EaseError(
                    f"`topics` gives {topics[title]} and {topic} the same category {title!r} in {site.language}."
                )
    if not topics:
        raise EaseError(f"`topics` names no category in {site.language}: add its names, or remove the language.")
    return topics


def _run(
    function: Callable[[_Task], tuple[Path, _TaskResult]], tasks: Sequence[_Task], bar: ProgressBar
) -> dict[Path, _TaskResult]:
    """Return a function's results by the tasks' parts, in the order in which the tasks finish."""
    results = {}
    sizes = {task.part: task.shard.end - task.shard.start for task in tasks}
    for part, result in joblib_map(tasks[0].options.workers)(function, tasks):
        results[part] = result
        bar.update(sizes[part])
    return results


def _find_redirects(task: _Task) -> tuple[Path, dict[str, str]]:
    """Return a task's part and the category redirects of its shard: targets by title."""
    options = task.options
    templates = frozenset(normalize_title(name, task.site) for name in options.category_redirects)
    tally = PageTally()

    def read(page: Page) -> tuple[str, str] | None:
        return category_redirect(page, task.site, templates)

    pages = iterate_pages(task.shard, options.max_page_bytes, tally, {CATEGORY})
    redirects = (tally.attempt(page, read, options.max_page_seconds) for page in pages)
    return task.part, dict(filter(None, redirects))


def _read_shard(task: _Task) -> tuple[Path, Counts]:
    """Write a task's part with the rows of its shard, and return the part and the counts."""
    options = task.options
    site = task.site
    tally = PageTally()
    skipped: Counter[str] = Counter()
    join_abbreviations = options.edition == "clean"
    sentences = FirstSentences(site, options.splitter, options.shown_templates, join_abbreviations)

    def read(page: Page) -> str | tuple[Any, ...]:
        """Return the reason why a page is skipped, or its row."""
        if reason := reason_to_skip(page, site):
            return reason
        categories = read_categories(page.text, site)
        topics = {task.topics[category] for category in categories if category in task.topics}
        if not topics:
            return "no_topic"
        if len(topics) > 1:
            return "several_topics"
        sentence = sentences.find(page.text)
        if sentence is None:
            return "no_sentence"
        revised = None
        # Some dumps have no times.
        with suppress(ValueError):
            revised = date.fromisoformat(page.timestamp[:10])
        title = normalize_title(page.title, site)
        published = sentences.dates.find(page.text)
        page_values = (page.page_id, title, page.revision_id, revised, published)
        return sentence, topics.pop(), *page_values, task.shard.dump.dump_date

    with TableWriter(task.part, NEWS_COLUMNS) as table:
        for page in iterate_pages(task.shard, options.max_page_bytes, tally, ARTICLES):
            row = tally.attempt(page, read, options.max_page_seconds)
            if isinstance(row, str):
                skipped[row] += 1
            elif row:
                table.append(row)
    counts = {"pages": tally.seen, "skipped": tally.skipped + skipped}
    return task.part, {**counts, "faults": tally.faults, "truncated": tally.truncated}


def _gather(
    language: str,
    tasks: Sequence[_Task],
    reports: Mapping[Path, Counts],
    options: NewsOptions,
    folder: Path,
    source: NewsSource,
) -> Counts:
    """Write a language's files from its parts, and return its counts."""
    files: dict[DumpFile, list[Path]] = {}
    for task in tasks:
        if task.shard.dump.language == language:
            files.setdefault(task.shard.dump, []).append(task.part)
    parts_by_file, report = choose_parts(files, reports, options.truncated)
    parts = [part for file_parts in parts_by_file for part in file_parts]
    table, repeated = read_parts(parts)
    edition_counts = finish_language(folder, language, table, options, source)
    skipped = sum((reports[part]["skipped"] for part in parts), Counter[str]())
    skipped += Counter({"repeated": repeated, **edition_counts["removed"]})
    if not edition_counts["classes"]:
        logger.warning("Nothing is left of %s: %s", language, dict(skipped))
    pages = sum(reports[part]["pages"] for part in parts)
    return {**edition_counts, "pages": pages, "skipped": dict(sorted(skipped.items())), **report}


def read_categories(source: str, site: SiteInfo) -> list[str]:
    """Return the distinct categories of a page in order.

    Links in the page's text and in arguments of templates count, with any name of the namespace. Links in comments and
    `<nowiki>` do not count, nor do links with a leading colon, which only refer to a category.
    """
    text, _ = hide_extensions(source)
    names = (category_title(link[1], site) for link in _LINK.finditer(text))
    return list(dict.fromkeys(name for name in names if name))


def category_title(link: str, site: SiteInfo) -> str:
    """Return the normalised title of a category link without its namespace; empty for other links."""
    if read_target(link, site).kind is not TargetKind.CATEGORY:
        return ""
    # Prefixes of the wiki's own language may precede the namespace.
    prefixes = normalize_title(link, site).split(":")
    for index, prefix in enumerate(prefixes):
        if site.namespaces.get(prefix.strip().lower()) == CATEGORY:
            return normalize_title(":".join(prefixes[index + 1 :]), site)
    return ""


def category_redirect(page: Page, site: SiteInfo, templates: frozenset[str]) -> tuple[str, str] | None:
    """Return (title, target) of a category that is a redirect; None for other pages.

    `templates` are the normalised titles of templates that redirect a category, such as `{{Category redirect|Sports}}`.
    """
    if page.namespace != CATEGORY:
        return None
    target = page.redirect or redirect_target(page.text, site)
    if target:
        # A redirect to a page that is no category leads to no topic.
        title = category_title(target.strip().removeprefix(":"), site)
        if not title:
            return None
        return category_title(page.title, site), title
    for template in _TEMPLATE.finditer(hide_extensions(page.text)[0]):
        if normalize_title(template[1], site) not in templates:
            continue
        # The argument may lack the namespace.
        name = template[2].strip().removeprefix(":")
        title = category_title(name, site) or normalize_title(name, site)
        if title:
            return category_title(page.title, site), title
    return None


def follow_category_redirects(redirects: Mapping[str, str], topics: Mapping[str, str]) -> dict[str, str]:
    """Extend topics by category to the categories that redirect to a topic's category or to which it redirects.

    Redirects map categories to their targets; loops are allowed.
    """
    extended = dict(topics)
    # A topic's category may have been renamed.
    for category, topic in topics.items():
        while category in redirects and redirects[category] not in extended:
            category = redirects[category]
            extended[category] = topic
    for start in redirects:
        name = start
        path: list[str] = []
        while name not in extended and name in redirects and name not in path:
            path.append(name)
            name = redirects[name]
        if name in extended:
            extended.update(dict.fromkeys(path, extended[name]))
    return extended
