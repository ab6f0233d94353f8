"""Make MewsC-16 from Wikinews dumps: first sentences of articles with exactly one topic (appendix E of the paper)."""

from __future__ import annotations

import logging
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from ease.errors import EaseError
from ease.io.atomic import atomic_folder
from ease.wikimedia.dumps.files import DumpFile, Shard, read_siteinfo, split_into_shards
from ease.wikimedia.dumps.pages import ARTICLES, Page, PageTally, iterate_pages, reason_to_skip
from ease.wikimedia.dumps.parts import Counts, TableWriter, joblib_map, log_faults, report_file
from ease.wikimedia.wikinews.categories import category_redirect, follow_redirects, read_categories
from ease.wikimedia.wikinews.editions import (
    READ,
    NewsOptions,
    NewsSource,
    finish_folder,
    finish_language,
    read_parts,
)
from ease.wikimedia.wikinews.first_sentences import ArticleDates, FirstSentences
from ease.wikimedia.wikitext.titles import CATEGORY, SiteInfo, normalize_title

logger = logging.getLogger(__name__)

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
    """Write the data set into a folder, atomically.

    Args:
        dumps: From `find_dumps`.
        options: Topics, and how dumps are read.
        folder: Gets `{language}.parquet`, `{language}_sentences.txt`, `{language}_categories.txt` and README.md.
        source: Source and licence of the dumps, for the card.

    Returns:
        For each language what `finish_language` returns, `pages`, `skipped` (pages by reason, including removed ones),
        `faults` (messages about skipped pages) and `dumps` (file, date, truncated, used). The numbers of sentences and
        of skipped pages add up to the number of pages.

    Raises:
        EaseError: A file is broken, a language has no topic, no page is left, or the folder cannot be written.
    """
    with atomic_folder(folder) as aside:
        parts = aside / "parts"
        parts.mkdir()
        tasks = _plan(dumps, options, parts)
        total = 2 * sum(task.shard.end - task.shard.start for task in tasks)
        with tqdm(total=total, unit="B", unit_scale=True, desc="reading Wikinews", disable=None) as bar:
            tasks = _with_redirects(tasks, _run(_find_redirects, tasks, bar))
            tallies = _run(_read_shard, tasks, bar)
        counts = {
            language: _gather(language, tasks, tallies, options, aside, source)
            for language in dict.fromkeys(task.shard.dump.language for task in tasks)
        }
        shutil.rmtree(parts)
        finish_folder(aside, counts, options, source)
    return counts


def _plan(dumps: Sequence[DumpFile], options: NewsOptions, parts: Path) -> list[_Task]:
    tasks: list[_Task] = []
    for dump in dumps:
        site = read_siteinfo(dump.path, dump.language)
        topics = _topic_categories(site, options)
        for shard in split_into_shards(dump, options.bytes_per_shard):
            tasks.append(_Task(shard, site, options, parts / f"{len(tasks):06d}.parquet", topics))
    return tasks


def _topic_categories(site: SiteInfo, options: NewsOptions) -> dict[str, str]:
    """Return topics by the normalised titles of a wiki's categories.

    Raises:
        EaseError: The language has no topic, or two topics have the same category.
    """
    found: dict[str, str] = {}
    for topic, names in options.topics.items():
        if site.language in names:
            title = normalize_title(names[site.language], site)
            if found.setdefault(title, topic) != topic:
                raise EaseError(
                    f"`topics` gives {found[title]} and {topic} the same category {title!r} in {site.language}."
                )
    if not found:
        raise EaseError(
            f"`topics` names no category in {site.language}: add its names, give `langlinks`, or remove the language "
            "from `languages`."
        )
    return found


def _run(
    function: Callable[[_Task], tuple[Path, Result]], tasks: Sequence[_Task], bar: tqdm
) -> dict[Path, Result]:
    """Return the results of all shards by their parts."""
    results = {}
    sizes = {task.part: task.shard.end - task.shard.start for task in tasks}
    for part, result in joblib_map(tasks[0].options.workers)(function, tasks):
        results[part] = result
        bar.update(sizes[part])
    return results


def _find_redirects(task: _Task) -> tuple[Path, dict[str, str]]:
    """Return the category redirects of a shard."""
    templates = frozenset(normalize_title(name, task.site) for name in task.options.category_redirects)
    tally, options = PageTally(), task.options
    pages = iterate_pages(task.shard, options.max_page_bytes, tally, {CATEGORY})

    def read(page: Page) -> tuple[str, str] | None:
        return category_redirect(page, task.site, templates)

    found = (tally.attempt(page, read, options.max_page_seconds) for page in pages)
    return task.part, dict(filter(None, found))


def _with_redirects(tasks: Sequence[_Task], redirects: Mapping[Path, Mapping[str, str]]) -> list[_Task]:
    """Add the categories that redirect to topics. They fit into memory: a wiki has few category redirects."""
    by_language: dict[str, dict[str, str]] = {}
    for task in reversed(tasks):  # the first file takes precedence
        by_language.setdefault(task.site.language, {}).update(redirects[task.part])
    return [
        replace(task, topics=follow_redirects(by_language[task.site.language], task.topics)) for task in tasks
    ]


def _read_shard(task: _Task) -> tuple[Path, PageTally]:
    """Write a shard's rows, and count its pages."""
    tally, skipped = PageTally(), Counter[str]()
    options = task.options
    sentences = FirstSentences(
        task.site, options.splitter, options.shown_templates, join_abbreviations=options.edition == "clean"
    )
    dates = ArticleDates(task.site.language)
    with TableWriter(task.part, READ) as table:
        for page in iterate_pages(task.shard, options.max_page_bytes, tally, ARTICLES):
            found = tally.attempt(
                page, lambda page: _read_page(page, task, sentences, dates), options.max_page_seconds
            )
            if found and found[1]:
                table.append(found[1])
            elif found:
                skipped[found[0]] += 1
    tally.skipped += skipped
    return task.part, tally


def _read_page(
    page: Page, task: _Task, sentences: FirstSentences, dates: ArticleDates
) -> tuple[str, tuple[Any, ...]]:
    """Return the reason why a page is skipped, or its row."""
    if reason := reason_to_skip(page, task.site):
        return reason, ()
    categories = read_categories(page.text, task.site)
    topics = {task.topics[category] for category in categories if category in task.topics}
    if len(topics) != 1:
        return "several_topics" if topics else "no_topic", ()
    sentence = sentences.find(page.text)
    if sentence is None:
        return "no_sentence", ()
    return "", (
        sentence,
        topics.pop(),
        page.page_id,
        normalize_title(page.title, task.site),
        page.revision_id,
        _day(page.timestamp),
        dates.find(page.text),
        task.shard.dump.dump_date,
    )


def _day(timestamp: str) -> date | None:
    """Return the day of a revision's time (2024-05-01T12:00:00Z); None if the dump has none."""
    try:
        return date.fromisoformat(timestamp[:10])
    except ValueError:
        return None


def _gather(
    language: str,
    tasks: Sequence[_Task],
    tallies: Mapping[Path, PageTally],
    options: NewsOptions,
    folder: Path,
    source: NewsSource,
) -> Counts:
    """Write a language's files from its parts, and return its counts."""
    files: dict[DumpFile, list[_Task]] = {}
    for task in tasks:
        if task.shard.dump.language == language:
            files.setdefault(task.shard.dump, []).append(task)
    dumps, parts, faults = list[Counts](), list[Path](), list[str]()
    pages, skipped = 0, Counter[str]()
    for dump, own in files.items():
        found = [tallies[task.part] for task in own]
        dumps.append(report_file(dump, any(tally.truncated for tally in found), options.truncated))
        if dumps[-1]["used"]:
            parts += [task.part for task in own]
            pages += sum(tally.seen for tally in found)
            skipped += sum((tally.skipped for tally in found), Counter[str]())
            faults += [f"{dump.path.name}: {fault}" for tally in found for fault in tally.faults]
    log_faults(faults)
    table, repeated = read_parts(parts)
    finished = finish_language(folder, language, table, options, source)
    skipped += Counter({"repeated": repeated, **finished["removed"]})
    if not finished["classes"]:
        logger.warning("Nothing is left of %s: %s", language, dict(skipped))
    return {
        **finished,
        "pages": pages,
        "skipped": dict(sorted(skipped.items())),
        "faults": faults,
        "dumps": dumps,
    }
