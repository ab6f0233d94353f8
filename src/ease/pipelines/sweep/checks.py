"""Checks of a sweep before the first node: its variants with their settings, starts, texts and evaluation sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ease.encoders.check import check_encoder
from ease.errors import EaseError
from ease.evaluation.sets import check_scorable, read_located
from ease.methods import method_names
from ease.pipelines.acquire_evaluation.checks import check_some_set, check_tasks
from ease.pipelines.acquire_evaluation.nodes import EvaluationSetOptions
from ease.pipelines.node_checks import Catalog, Check, Step, development_checks, text_checks
from ease.pipelines.setting import Setting
from ease.pipelines.sweep.needs import check_needs, trained_recipes
from ease.pipelines.sweep.pipeline import KEPT
from ease.pipelines.sweep.variants import START, Sweep, Variant


def sweep_checks(step: Step, locating: Mapping[str | None, Step], catalog: Catalog) -> Iterator[Check]:
    """Yield the checks of a sweep; none for other nodes."""
    if not step.has(Sweep) or not step.name.startswith("run_"):  # its sets are located by a node of their own
        return
    sweep, given = step.get(Sweep), step.get(Setting)
    try:
        setting = sweep.own_setting(given)
    except EaseError:
        yield partial(sweep.own_setting, given)
        return
    yield partial(sweep.chosen_trainings, setting.languages)
    settings, encoders = [], dict[str, bool]()
    for variant in sweep.all_variants(setting.languages):
        yield partial(sweep.varied_setting, setting, variant)
        with suppress(EaseError):
            settings.append(sweep.varied_setting(setting, variant))
            name = settings[-1].encoder.name
            encoders[name] = encoders.get(name, False) or variant.method != START
            yield from _variant_checks(variant, step, sweep, setting, catalog)
    for name, trained in encoders.items():
        yield partial(check_encoder, name, transformer=trained)
    yield from _setting_checks(settings, step, sweep, locating, catalog)


def _setting_checks(
    settings: Sequence[Setting],
    step: Step,
    sweep: Sweep,
    locating: Mapping[str | None, Step],
    catalog: Catalog,
) -> Iterator[Check]:
    """Yield checks of the evaluation sets of the variants' settings."""
    trained = any(variant.method != START for variant in sweep.all_variants())
    for joined in sweep.joined.values():
        yield partial(check_tasks, joined.tasks, step.tasks)
    for one in settings:
        if trained:
            yield from development_checks(step, one.dev_tasks, locating, catalog)
        yield partial(check_tasks, one.test_tasks, step.tasks)
        if step.evaluation_data in locating:
            sets = locating[step.evaluation_data].get(EvaluationSetOptions)
            yield partial(check_some_set, one.test_tasks, sets, step.tasks)
        elif step.evaluation_data is not None and catalog.exists(step.evaluation_data):
            located = read_located(catalog.load(step.evaluation_data))
            yield partial(check_scorable, one.test_tasks, located)


def _variant_checks(
    variant: Variant, step: Step, sweep: Sweep, setting: Setting, catalog: Catalog
) -> Iterator[Check]:
    """Yield checks of a variant's recipes, of the texts that they name, and of the data that they read."""
    named = {name.rpartition(".")[2]: value for name, value in step.parameters.items()}
    recipes = {name: named[name] for name in method_names() if name in named}
    datasets = {dataset: name for name, dataset in KEPT.items()}
    bare = {name: name.rpartition(".")[2] for name in step.inputs}
    absent = {name for name in step.inputs if bare[name] in datasets and not catalog.exists(name)}
    available = {datasets.get(bare[name], bare[name]) for name in step.inputs if name not in absent}
    yield partial(check_needs, sweep, variant, setting, recipes, available)
    yield partial(_check_recipes, variant, sweep.varied_setting(setting, variant), recipes)


def _check_recipes(variant: Variant, setting: Setting, recipes: dict[str, Any]) -> None:
    """Refuse a variant whose training texts do not exist, or whose teacher or guide cannot be loaded."""
    for recipe in trained_recipes(variant, setting, recipes):
        for check in text_checks(recipe):
            check()
        recipe.check_frozen()
