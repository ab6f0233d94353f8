"""Checks before `teach`: languages and their dumps, the encoder to teach, tasks and the training run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kedro.pipeline.node import Node

from ease.errors import EaseError
from ease.options import split_words
from ease.pipelines.acquire.checks import refuse_idle_sources
from ease.pipelines.acquire_evaluation.checks import check_setting_tasks
from ease.pipelines.acquire_evaluation.nodes import check_tasks
from ease.pipelines.checks import PlannedRun
from ease.pipelines.entity_embeddings.checks import check_start_encoder
from ease.pipelines.options import COUNTRY_NAMES, SAMPLE, AcquireOptions
from ease.pipelines.setting import Setting
from ease.pipelines.teach.nodes import (
    build_start,
    learn_letters,
    locate_taught_dumps,
    locate_taught_sets,
    taught_sources,
    teach_encoder,
)
from ease.pipelines.teach.setting import AUTO, check_taught_languages
from ease.pipelines.train.checks import check_recipe, check_training, check_work
from ease.wikimedia.dumps.files import find_dumps, table_folders
from ease.wikimedia.dumps.mirrors import is_mirror
from ease.wikimedia.titles_file import check_titles_file
from ease.wikimedia.wikidata import find_page_props


def check_taught_dumps(node: Node, run: PlannedRun) -> None:
    """Refuse languages that cannot be taught, and a folder without their dumps or page_props tables."""
    acquire = run.options(node, AcquireOptions)
    taught = taught_sources(acquire)
    if acquire.wikidata_titles != taught.wikidata_titles:
        run.refuse_idle(["acquire.wikidata_titles"], f"`teach` reads {taught.wikidata_titles}")
    refuse_idle_sources(taught, run)
    check_taught_sources(
        run.parameter("teach.language"),
        run.parameter("teach.companions"),
        acquire,
        run.options(node, Setting).languages,
    )


def check_taught_sources(language: str, companions: Any, acquire: AcquireOptions, languages: Sequence[str]) -> None:
    """Refuse languages as `check_taught_languages` does, and a folder without their dumps or page_props tables.

    A table of titles replaces the page_props tables.
    """
    check_taught_languages(language, companions, acquire)
    if acquire.titles is not None:
        check_titles_file(acquire.titles, languages)
    if acquire.wikipedia == SAMPLE or is_mirror(acquire.wikipedia):
        return
    try:
        dumps = find_dumps(acquire.wikipedia, languages)
    except EaseError as error:
        origin = "here"
        if companions is None:
            origin = "by default"
        raise EaseError(
            f"{error} `teach` reads the dumps of {', '.join(languages)}: `teach.companions` chooses the languages "
            f"beside {language}, {origin} {', '.join(languages[1:])}."
        ) from error
    if acquire.titles is not None:
        return
    dates = {dump.language: dump.dump_date for dump in dumps}
    try:
        find_page_props(table_folders(acquire.wikipedia, dumps), dates)
    except EaseError as error:
        raise EaseError(
            f"{str(error).partition(': ')[0]}: `teach` reads from it which item each page has. Download it to the "
            "dump's folder from https://dumps.wikimedia.org, set `acquire.wikipedia` to that address, or give a table "
            "of titles in both languages (`acquire.titles`)."
        ) from error


def check_kept_tasks(_: Node, run: PlannedRun) -> None:
    """Refuse unknown tasks, and a list without the names of countries, by which a run tells what an encoder knows."""
    kept_tasks = split_words(run.parameter("teach.kept_tasks")) or ()
    check_tasks(kept_tasks, run.parameter("tasks"))
    if COUNTRY_NAMES not in kept_tasks:
        raise EaseError(
            f"`teach.kept_tasks` lacks {COUNTRY_NAMES}, which says which languages the starting encoder knows: add it."
        )


def check_taught_start(node: Node, run: PlannedRun) -> None:
    """Refuse an encoder that cannot be loaded or trained; of `auto`, such candidates are passed over later."""
    if run.options(node, Setting).encoder.name != AUTO:
        check_start_encoder(node, run)


CHECKS = {
    locate_taught_dumps: [check_taught_dumps],
    locate_taught_sets: [check_setting_tasks],
    build_start: [check_work, check_taught_start, check_recipe],
    learn_letters: [check_kept_tasks],
    teach_encoder: [check_work, check_recipe, check_training],
}
