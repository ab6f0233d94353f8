"""Checks before `acquire`: languages, and the dumps of a folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kedro.pipeline.node import Node

from ease.pipelines.acquire.nodes import locate_dumps
from ease.pipelines.checks import PlannedRun
from ease.pipelines.options import SAMPLE, AcquireOptions
from ease.pipelines.setting import Setting
from ease.wikimedia.dumps.files import Project, find_dumps, find_wikidata
from ease.wikimedia.dumps.mirrors import is_mirror
from ease.wikimedia.languages import WIKIPEDIA_LANGUAGES, check_languages
from ease.wikimedia.titles_file import check_titles_file

DOWNLOADING = ("acquire.connections", "acquire.contact", "acquire.download_folder")
"""Parameters of downloads"""


def check_dumps(node: Node, run: PlannedRun) -> None:
    """Refuse languages without a Wikipedia, and folders or tables without their dumps, Wikidata or titles."""
    acquire = run.options(node, AcquireOptions)
    languages = run.options(node, Setting).languages
    refuse_idle_sources(acquire, run)
    run.check(check_source_languages, acquire.wikipedia, languages, "wiki")
    wikidata = acquire.wikidata
    if acquire.titles is not None:
        # Wikidata is not read then.
        run.check(check_titles_file, acquire.titles, languages)
    elif wikidata and wikidata != SAMPLE and not is_mirror(wikidata):
        find_wikidata(wikidata, acquire.wikidata_types)


def refuse_idle_sources(acquire: AcquireOptions, run: PlannedRun) -> None:
    """Refuse parameters in `--params` of dumps that are not read."""
    if acquire.titles is not None:
        names = ["acquire.wikidata_date", "acquire.wikidata_titles", "acquire.wikidata_types"]
        if acquire.wikidata is not None:
            names.append("acquire.wikidata")
        run.refuse_idle(names, "`acquire.titles` takes the place of Wikidata")
    elif not is_mirror(acquire.wikidata or ""):
        reason = f"it chooses among a mirror's dumps, and `acquire.wikidata` is {acquire.wikidata or 'null'}"
        run.refuse_idle(["acquire.wikidata_date"], reason)
    if not is_mirror(acquire.wikipedia):
        reason = f"it chooses among a mirror's dumps, and `acquire.wikipedia` is {acquire.wikipedia}"
        run.refuse_idle(["acquire.dump_date"], reason)
    refuse_idle_downloads(acquire, run)


def refuse_idle_downloads(acquire: AcquireOptions, run: PlannedRun) -> None:
    """Refuse parameters in `--params` of downloads from mirrors, where neither this run nor `mewsc16` has a mirror."""
    # Commands for several runs may have the same parameters.
    wikinews = _configured("mewsc16.wikinews", run)
    if is_mirror(acquire.wikipedia) or is_mirror(wikinews or ""):
        return
    run.refuse_idle(["acquire.layout"], f"`acquire.wikipedia` is {acquire.wikipedia}, not a mirror")
    if not is_mirror(acquire.wikidata or "") and not _configured("acquire_evaluation.fetch", run):
        run.refuse_idle(DOWNLOADING, "nothing is downloaded")


def _configured(name: str, run: PlannedRun) -> Any:
    """Return a parameter that the run need not read; None if the configuration lacks it."""
    if f"params:{name}" in run.catalog:
        return run.parameter(name)
    return None


def check_source_languages(source: str, languages: Sequence[str], project: Project) -> None:
    """Refuse unknown languages; a folder may have dumps of others, and a mirror's list is checked later."""
    if is_mirror(source) or WIKIPEDIA_LANGUAGES.issuperset(languages):
        return
    if source == SAMPLE:
        check_languages(languages)
    else:
        find_dumps(source, languages, project)


CHECKS = {locate_dumps: [check_dumps]}
