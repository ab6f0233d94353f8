"""Checks before `sweep`: every variant's setting, recipe, encoder and sets, and the data that the variants read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from kedro.pipeline.node import Node
from pydantic import ValidationError

from ease.encoders.check import check_encoder
from ease.encoders.options import RANDOM
from ease.errors import EaseError
from ease.evaluation.scoring import check_references
from ease.evaluation.sets import check_scorable
from ease.evaluation.tasks.base import error_prefix
from ease.methods import method_names, method_record
from ease.options import format_validation_error
from ease.pipelines.acquire_evaluation.checks import check_development_sets, check_sets
from ease.pipelines.acquire_evaluation.nodes import check_tasks
from ease.pipelines.checks import PlannedRun
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import MLM, Setting, preparation_of
from ease.pipelines.sweep.nodes import run_sweep
from ease.pipelines.sweep.variants import START, Sweep, Variant
from ease.texts import source_options


def _check_sweep(node: Node, run: PlannedRun) -> None:
    sweep, tasks = run.options(node, Sweep), run.parameter("tasks")
    setting = sweep.own_setting(run.options(node, Setting))
    with error_prefix(f"The sweep {sweep.name!r}"):
        check_references((*setting.dev_tasks, *setting.test_tasks), tasks)
    named = {name: f"params:{setting.name}.{name}" for name in method_names()}
    recipes = {name: run.catalog.load(given) for name, given in named.items() if given in node.inputs}
    available = {name.rpartition(".")[2].removeprefix("kept_") for name in node.inputs if run.has(name)}
    settings, encoders = list[Setting](), dict[str, bool]()
    for variant in sweep.all_variants(setting.languages):
        try:
            varied = sweep.varied_setting(setting, variant)
            with error_prefix(f"The variant {variant.label!r} of {sweep.name!r}"):
                check_references((*varied.dev_tasks, *varied.test_tasks), tasks)
        except EaseError as error:
            run.faults.append(str(error))
            continue
        settings.append(varied)
        encoders[varied.encoder.name] = encoders.get(varied.encoder.name, False) or variant.method != START
        run.check(_check_variant, run, sweep, variant, varied, recipes, available)
    for name, trained in encoders.items():
        run.check(check_encoder, name, transformer=trained)
    for joined in sweep.joined.values():
        run.check(check_tasks, joined.tasks, tasks)
    for dev_tasks, test_tasks in dict.fromkeys((one.dev_tasks, one.test_tasks) for one in settings):
        if any(encoders.values()):
            check_development_sets(node, run, dev_tasks)
        run.check(check_tasks, (*dev_tasks, *test_tasks), tasks)
        check_sets(partial(check_scorable, test_tasks), node, run, test_tasks)


def _check_variant(
    run: PlannedRun,
    sweep: Sweep,
    variant: Variant,
    varied: Setting,
    recipes: Mapping[str, Any],
    available: Iterable[str],
) -> None:
    """Refuse a variant whose texts, teacher or guide do not exist, or that reads data which no run has made."""
    needs = {"sentences": "sentences"} if varied.encoder.name == RANDOM else {}
    start = [Variant(method=MLM, seeds=variant.seeds)] if varied.start == MLM else []
    for one in start + [variant] * (variant.method != START):
        try:
            recipe = one.varied(recipes, variant.seeds[0])
        except ValidationError as error:
            raise EaseError(format_validation_error(error, Recipe)) from error
        run.check(recipe.check_texts)
        run.check(recipe.check_frozen)
        entities = method_record(recipe.method).reads_entities
        if entities or any(source_options(text).reads_pairs for text in recipe.data or ()):
            needs["training_pairs"] = "training pairs"
        if entities and "entity_vocabulary" not in available:
            raise EaseError(
                f"The variant {variant.label!r} of {sweep.name!r} trains on entities, and the pipeline makes none: "
                "set `entities: true` for the sweep in src/ease/pipelines/sweep/sweeps.yml."
            )
    if lacking := " and ".join(what for name, what in needs.items() if name not in available):
        raise EaseError(
            f"The sweep {sweep.name!r} reads the {lacking} of {varied.name!r}, and there are none yet: make them by "
            f"{preparation_of(varied.name)}."
        )


CHECKS = {run_sweep: [_check_sweep]}
