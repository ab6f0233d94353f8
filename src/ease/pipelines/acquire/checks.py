"""Checks before `acquire`: languages, and the dumps of a folder."""

from __future__ import annotations

from collections.abc import Sequence

from kedro.pipeline.node import Node

from ease.pipelines.acquire.nodes import locate_dumps
from ease.pipelines.checks import PlannedRun
from ease.pipelines.options import SAMPLE, AcquireOptions
from ease.pipelines.setting import Setting
from ease.wikimedia.dumps.files import Project, find_dumps, find_wikidata
from ease.wikimedia.dumps.mirrors import is_mirror
from ease.wikimedia.languages import WIKIPEDIA_LANGUAGES, check_languages
from ease.wikimedia.titles_file import check_titles_file


def check_dumps(node: Node, run: PlannedRun) -> None:
    """Refuse languages without a Wikipedia, and folders or tables without their dumps, Wikidata or titles."""
    acquire = run.options(node, AcquireOptions)
    languages = run.options(node, Setting).languages
    run.check(check_source_languages, acquire.wikipedia, languages, "wiki")
    wikidata = acquire.wikidata
    if acquire.titles is not None:
        # Wikidata is not read then.
        run.check(check_titles_file, acquire.titles, languages)
    elif wikidata and wikidata != SAMPLE and not is_mirror(wikidata):
        find_wikidata(wikidata, acquire.wikidata_types)


def check_source_languages(source: str, languages: Sequence[str], project: Project) -> None:
    """Refuse unknown languages; a folder may have dumps of others, and a mirror's list is checked later."""
    if is_mirror(source) or WIKIPEDIA_LANGUAGES.issuperset(languages):
        return
    if source == SAMPLE:
        check_languages(languages)
    else:
        find_dumps(source, languages, project)


CHECKS = {locate_dumps: [check_dumps]}
