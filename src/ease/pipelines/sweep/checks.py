"""Checks before `sweep`: every variant's setting, recipe, encoder and sets, and the data that the variants read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from kedro.pipeline.node import Node
from pydantic import ValidationError

from ease.encoders.check import check_encoder_contents, check_encoder_files
from ease.encoders.options import RANDOM
from ease.errors import EaseError
from ease.evaluation.scoring import check_references
from ease.evaluation.sets import check_scorable
from ease.evaluation.tasks.base import error_prefix
from ease.methods import method_record
from ease.options import format_validation_error
from ease.pipelines.acquire_evaluation.checks import check_development_sets, check_sets
from ease.pipelines.acquire_evaluation.nodes import check_tasks
from ease.pipelines.checks import PlannedRun
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import MLM, Setting, preparation_of
from ease.pipelines.sweep.nodes import run_sweep
from ease.pipelines.sweep.variants import (
    START,
    SWEPT_SETTINGS,
    SweepChoice,
    SweepRun,
    Sweeps,
    Variant,
    open_sweep,
)
from ease.texts import source_options

ENTITY_TABLES = ("training_pairs", "entity_vocabulary", "entity_embeddings")
"""What methods that read entities are trained on"""


def _check_sweep(node: Node, run: PlannedRun) -> None:
    parameters = {setting: run.parameter(setting) for setting in SWEPT_SETTINGS}
    swept = open_sweep(run.options(node, SweepChoice), run.options(node, Sweeps), parameters)
    _check_swept_setting(node, swept)
    tasks = run.parameter("tasks")
    with error_prefix(f"The sweep {swept.sweep.name!r}"):
        check_references((*swept.setting.dev_tasks, *swept.setting.test_tasks), tasks)
    available = {name.rpartition(".")[2] for name in node.inputs if run.has(name)}
    settings: list[Setting] = []
    trained: dict[str, bool] = {}
    for variant in swept.variants:
        try:
            setting = swept.sweep.varied_setting(swept.setting, variant)
            with error_prefix(f"The variant {variant.label!r} of {swept.sweep.name!r}"):
                check_references((*setting.dev_tasks, *setting.test_tasks), tasks)
        except EaseError as error:
            run.faults.append(str(error))
            continue
        settings.append(setting)
        encoder = setting.encoder.name
        trained[encoder] = trained.get(encoder, False) or variant.method != START
        run.check(_check_variant, run, swept, variant, setting, available)
    for encoder, is_trained in trained.items():
        # Word vectors can be scored, but not trained.
        run.check_encoder(encoder, transformer=is_trained)
    for joined in swept.joined:
        run.check(check_tasks, joined.tasks, tasks)
    for dev_tasks, test_tasks in dict.fromkeys((setting.dev_tasks, setting.test_tasks) for setting in settings):
        if any(trained.values()):
            check_development_sets(node, run, dev_tasks)
        run.check(check_tasks, (*dev_tasks, *test_tasks), tasks)
        check_sets(partial(check_scorable, test_tasks), node, run, test_tasks)


def _check_swept_setting(node: Node, swept: SweepRun) -> None:
    """Refuse a sweep of another setting than the one whose data the same run makes."""
    pairs = next(dataset for dataset in node.inputs if dataset.endswith(".training_pairs"))
    setting = pairs.partition(".")[0]
    if setting not in ("sweep", swept.setting.name):
        raise EaseError(
            f"`train_{setting}` trains sweeps of the setting {setting!r}, and {swept.sweep.name!r} is one of "
            f"{swept.setting.name!r}: run `kedro run --pipelines=sweep --params sweep={swept.sweep.name}`."
        )


def _check_variant(
    run: PlannedRun, swept: SweepRun, variant: Variant, setting: Setting, available: Iterable[str]
) -> None:
    """Refuse a variant whose texts, teacher or guide do not exist, or that reads data which no run has made."""
    required: dict[str, None] = {}
    if setting.encoder.name == RANDOM:
        # Its tokenizer is trained on them.
        required["sentences"] = None
    to_train: list[Variant] = []
    if setting.start == MLM:
        to_train.append(Variant(method=MLM, seeds=variant.seeds))
    if variant.method != START:
        to_train.append(variant)
    for trained_variant in to_train:
        try:
            # The recipes of the other seeds differ in the seed alone.
            recipe = trained_variant.vary(swept.recipes, variant.seeds[0])
        except ValidationError as error:
            raise EaseError(format_validation_error(error, Recipe)) from error
        run.check(recipe.check_texts)
        run.check(recipe.check_frozen, check_encoder_files)
        run.check_last(recipe.check_frozen, check_encoder_contents)
        if method_record(recipe.method).reads_entities:
            required |= dict.fromkeys(ENTITY_TABLES)
        elif any(source_options(text).reads_pairs for text in recipe.data or ()):
            required["training_pairs"] = None
    lacking = ", ".join(name.replace("_", " ") for name in required if name not in available)
    if lacking:
        raise EaseError(
            f"The sweep {swept.sweep.name!r} reads the {lacking} of {setting.name!r}, and there are none yet: make "
            f"them by {preparation_of(setting.name)}."
        )


CHECKS = {run_sweep: [_check_sweep]}
