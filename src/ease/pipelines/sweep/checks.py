"""Checks of a sweep before the first node: its variants with their settings, starts, texts and evaluation sets."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ease.encoders.check import check_encoder
from ease.encoders.options import RANDOM
from ease.errors import EaseError
from ease.evaluation.sets import check_scorable
from ease.io.names import PREPARATION
from ease.methods import method_names, reads_entities
from ease.pipelines.acquire_evaluation.checks import check_some_set, check_tasks
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import MLM, Setting
from ease.pipelines.steps import Faults, Run, Step
from ease.pipelines.sweep.variants import START, Sweep, Variant
from ease.texts import source_options


def check_sweep(step: Step, run: Run) -> None:
    """Check the variants of a sweep, the encoders that they start from, and the sets that score them.

    Raises:
        EaseError: With each fault in a line.
    """
    sweep, faults = step["sweep"], Faults()
    setting = sweep.own_setting(step["setting"])
    faults.add(sweep.chosen_trainings, setting.languages)
    recipes = {name: step[name] for name in method_names() if step.name_of(name)}
    available = [name for name in ("sentences", "training_pairs", "vocabulary") if step.has(name)]
    settings, encoders = [], dict[str, bool]()
    for variant in sweep.all_variants(setting.languages):
        try:
            settings.append(sweep.varied_setting(setting, variant))
        except EaseError as error:
            faults.append(str(error))
            continue
        name = settings[-1].encoder.name
        encoders[name] = encoders.get(name, False) or variant.method != START
        faults.add(check_needs, sweep, variant, setting, recipes, available)
        faults.add(_check_recipes, variant, settings[-1], recipes)
    for name, trained in encoders.items():
        faults.add(check_encoder, name, transformer=trained)
    for joined in sweep.joined.values():
        faults.add(check_tasks, joined.tasks, step["tasks"])
    for one in settings:
        if any(variant.method != START for variant in sweep.all_variants()):
            faults.add(run.check_development, step, one.dev_tasks)
        faults.add(check_tasks, one.test_tasks, step["tasks"])
        if (sets := run.locating(step)) is not None:
            faults.add(check_some_set, one.test_tasks, sets, step["tasks"])
        elif (located := run.located(step)) is not None:
            faults.add(check_scorable, one.test_tasks, located)
    faults.report()


def _check_recipes(variant: Variant, setting: Setting, recipes: dict[str, Any]) -> None:
    """Refuse a variant whose training texts do not exist, or whose teacher or guide cannot be loaded."""
    for recipe in trained_recipes(variant, setting, recipes):
        recipe.check_texts()
        recipe.check_frozen()


def trained_recipes(variant: Variant, setting: Setting, recipes: dict[str, Any]) -> Iterator[Recipe]:
    """Yield the recipes of a variant: that of its start, and its own.

    Raises:
        EaseError: If the variant changes a recipe wrongly, or there is none.
    """
    seed = variant.seeds[0]
    if setting.start == MLM:
        yield Variant(method=MLM, seeds=(seed,)).varied(recipes, seed)
    if variant.method != START:
        yield variant.varied(recipes, seed)


def check_needs(
    sweep: Sweep, variant: Variant, setting: Setting, recipes: dict[str, Any], available: Collection[str]
) -> None:
    """Refuse a variant that reads data of its setting which neither this run nor an earlier one makes.

    Args:
        sweep: The sweep of the variant.
        variant: The variant.
        setting: The sweep's own setting.
        recipes: The setting's recipes by their methods' names.
        available: Those of `sentences`, `training_pairs` and `vocabulary` that the sweep's node finds.

    Raises:
        EaseError: With the commands that make the data.
    """
    own = sweep.varied_setting(setting, variant)
    needs = {"sentences": "sentences"} if own.encoder.name == RANDOM else {}
    languages: tuple[str, ...] = ()
    for recipe in trained_recipes(variant, own, recipes):
        entities = reads_entities(recipe.method)
        if entities or any(source_options(text).reads_pairs for text in recipe.data or ()):
            needs["training_pairs"] = "training pairs"
            languages = own.languages if recipe.method == variant.method else languages
        if entities and "vocabulary" not in available:
            raise EaseError(
                f"The variant {variant.label!r} of {sweep.name!r} trains on entities, and the pipeline makes none: "
                "set `entities: true` for the sweep in src/ease/pipelines/sweep/sweeps.yml."
            )
    if lacking := " and ".join(what for name, what in needs.items() if name not in available):
        raise EaseError(
            f"The sweep {sweep.name!r} reads the {lacking} of {setting.name!r}, and there are none yet: make them by "
            f"`kedro run --pipelines=train_{setting.name} --tags={PREPARATION}`."
        )
    if unknown := [language for language in languages if language not in setting.languages]:
        raise EaseError(
            f"The variant {variant.label!r} of {sweep.name!r} trains on pairs of {', '.join(unknown)}: add these "
            f"languages to `{setting.name}.setting.languages`."
        )
