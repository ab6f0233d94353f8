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

from tqdm import tqdm

from ease.errors import EaseError
from ease.io.atomic import atomic_folder
from ease.wikimedia.dumps.files import DumpFile, Shard, read_siteinfo, split_into_shards
from ease.wikimedia.dumps.pages import ARTICLES, Page, PageTally, iterate_pages, reason_to_skip
from ease.wikimedia.dumps.parts import Counts, TableWriter, choose_parts, joblib_map
from ease.wikimedia.wikinews.editions import READ, NewsOptions, NewsSource, finish_folder, finish_language, read_parts
from ease.wikimedia.wikinews.first_sentences import FirstSentences
from ease.wikimedia.wikitext.markup import hide_extensions
from ease.wikimedia.wikitext.titles import CATEGORY, SiteInfo, TargetKind, normalize_title, read_target, redirect_target

logger = logging.getLogger(__name__)

_LINK = re.compile(r"\[\[([^\[\]|\n{}<>]++)(?:\|[^\[\]]*+)?\]\]")
_TEMPLATE = re.compile(r"\{\{([^{}|]++)\|(?:\s*+1\s*+=)?([^{}|]++)")

Result = TypeVar("Result")


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

    Returns for each language what `finish_language` returns, `pages`, `skipped` (pages by reason, including removed
    ones), `faults` (messages about skipped pages) and `dumps` (file, date, truncated, used). The numbers of sentences
    and of skipped pages add up to the number of pages.

    Raises EaseError if a file is broken, a language has no topic, no page is left, or the folder cannot be written.
    """
    with atomic_folder(folder) as aside:
        parts = aside / "parts"
        parts.mkdir()
        tasks: list[_Task] = []
        for dump in dumps:
            site = read_siteinfo(dump.path, dump.language)
            topics = _topic_categories(site, options)
            for shard in split_into_shards(dump, options.bytes_per_shard):
                tasks.append(_Task(shard, site, options, parts / f"{len(tasks):06d}.parquet", topics))
        total = 2 * sum(task.shard.end - task.shard.start for task in tasks)
        with tqdm(total=total, unit="B", unit_scale=True, desc="reading Wikinews", disable=None) as bar:
            found = _run(_find_redirects, tasks, bar)
            # They fit into memory: a wiki has few category redirects.
            redirects: dict[str, dict[str, str]] = {}
            for task in reversed(tasks):  # the first file takes precedence
                redirects.setdefault(task.site.language, {}).update(found[task.part])
            tasks = [
                replace(task, topics=follow_redirects(redirects[task.site.language], task.topics)) for task in tasks
            ]
            reports = _run(_read_shard, tasks, bar)
        counts = {
            language: _gather(language, tasks, reports, options, aside, source)
            for language in dict.fromkeys(task.shard.dump.language for task in tasks)
        }
        shutil.rmtree(parts)
        finish_folder(aside, counts, options, source)
    return counts


def _topic_categories(site: SiteInfo, options: NewsOptions) -> dict[str, str]:
    """Return topics by the normalised titles of a wiki's categories; raises EaseError for none, or two of one."""
    found: dict[str, str] = {}
    for topic, names in options.topics.items():
        if site.language in names:
            title = normalize_title(names[site.language], site)
            if found.setdefault(title, topic) != topic:
                raise EaseError(
                    f"`topics` gives {found[title]} and {topic} the same category {title!r} in {site.language}."
                )
    if not found:
        raise EaseError(f"`topics` names no category in {site.language}: add its names, or remove the language.")
    return found


def _run(function: Callable[[_Task], tuple[Path, Result]], tasks: Sequence[_Task], bar: tqdm) -> dict[Path, Result]:
    results = {}
    sizes = {task.part: task.shard.end - task.shard.start for task in tasks}
    for part, result in joblib_map(tasks[0].options.workers)(function, tasks):
        results[part] = result
        bar.update(sizes[part])
    return results


def _find_redirects(task: _Task) -> tuple[Path, dict[str, str]]:
    templates = frozenset(normalize_title(name, task.site) for name in task.options.category_redirects)
    tally, options = PageTally(), task.options

    def read(page: Page) -> tuple[str, str] | None:
        return category_redirect(page, task.site, templates)

    pages = iterate_pages(task.shard, options.max_page_bytes, tally, {CATEGORY})
    found = (tally.attempt(page, read, options.max_page_seconds) for page in pages)
    return task.part, dict(filter(None, found))


def _read_shard(task: _Task) -> tuple[Path, Counts]:
    options, site = task.options, task.site
    tally, skipped = PageTally(), Counter[str]()
    join_abbreviations = options.edition == "clean"
    sentences = FirstSentences(site, options.splitter, options.shown_templates, join_abbreviations)

    def read(page: Page) -> str | tuple[Any, ...]:
        """Return the reason why a page is skipped, or its row."""
        if reason := reason_to_skip(page, site):
            return reason
        categories = read_categories(page.text, site)
        topics = {task.topics[category] for category in categories if category in task.topics}
        if len(topics) != 1:
            return "several_topics" if topics else "no_topic"
        if (sentence := sentences.find(page.text)) is None:
            return "no_sentence"
        revised = None
        with suppress(ValueError):  # a dump without times
            revised = date.fromisoformat(page.timestamp[:10])
        title, published = normalize_title(page.title, site), sentences.dates.find(page.text)
        of_page = page.page_id, title, page.revision_id, revised, published
        return sentence, topics.pop(), *of_page, task.shard.dump.dump_date

    with TableWriter(task.part, READ) as table:
        for page in iterate_pages(task.shard, options.max_page_bytes, tally, ARTICLES):
            found = tally.attempt(page, read, options.max_page_seconds)
            if isinstance(found, str):
                skipped[found] += 1
            elif found:
                table.append(found)
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
    used_files, report = choose_parts(files, reports, options.truncated)
    used = [part for parts in used_files for part in parts]
    table, repeated = read_parts(used)
    finished = finish_language(folder, language, table, options, source)
    skipped = sum((reports[part]["skipped"] for part in used), Counter[str]())
    skipped += Counter({"repeated": repeated, **finished["removed"]})
    if not finished["classes"]:
        logger.warning("Nothing is left of %s: %s", language, dict(skipped))
    pages = sum(reports[part]["pages"] for part in used)
    return {**finished, "pages": pages, "skipped": dict(sorted(skipped.items())), **report}


def read_categories(source: str, site: SiteInfo) -> list[str]:
    """Return the distinct categories of a page in order.

    Links in the page's text and in arguments of templates count, with any name of the namespace. Links in comments and
    `<nowiki>` do not count, nor links with a leading colon, which only refer to a category.
    """
    text, _ = hide_extensions(source)
    names = (category_title(link[1], site) for link in _LINK.finditer(text))
    return list(dict.fromkeys(name for name in names if name))


def category_title(link: str, site: SiteInfo) -> str:
    """Return the normalised title of a category link without its namespace; empty for other links."""
    if read_target(link, site).kind is not TargetKind.CATEGORY:
        return ""
    prefixes = normalize_title(link, site).split(":")
    for index, prefix in enumerate(prefixes):
        if site.namespaces.get(prefix.strip().lower()) == CATEGORY:
            return normalize_title(":".join(prefixes[index + 1 :]), site)
    return ""


def category_redirect(page: Page, site: SiteInfo, templates: frozenset[str]) -> tuple[str, str] | None:
    """Return (title, target) of a category that is a redirect; None for other pages.

    `templates` are the normalised titles of those that redirect a category, such as `{{Category redirect|Sports}}`.
    """
    if page.namespace != CATEGORY:
        return None
    target = page.redirect or redirect_target(page.text, site)
    found = [] if target else _TEMPLATE.finditer(hide_extensions(page.text)[0])
    redirecting = (template[2] for template in found if normalize_title(template[1], site) in templates)
    for text in [target] if target else redirecting:
        name = text.strip().removeprefix(":")
        title = category_title(name, site) or ("" if target else normalize_title(name, site))
        if title:
            return category_title(page.title, site), title
    return None


def follow_redirects(redirects: Mapping[str, str], topics: Mapping[str, str]) -> dict[str, str]:
    """Extend topics by category to the categories that redirect to a topic's category or to which it redirects.

    Redirects map categories to their targets; loops are allowed.
    """
    found = dict(topics)
    for category, topic in topics.items():  # a topic's category may have been renamed
        while category in redirects and redirects[category] not in found:
            category = redirects[category]
            found[category] = topic
    for start in redirects:
        name, path = start, list[str]()
        while name not in found and name in redirects and name not in path:
            path.append(name)
            name = redirects[name]
        if name in found:
            found.update(dict.fromkeys(path, found[name]))
    return found
