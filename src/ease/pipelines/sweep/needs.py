"""Checks, before the first node, of the data that the variants of a sweep read."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ease.encoders.options import RANDOM
from ease.errors import EaseError
from ease.io.names import PREPARATION
from ease.methods import reads_entities
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import MLM, Setting
from ease.pipelines.sweep.variants import START, Sweep, Variant
from ease.texts import source_options

SENTENCES, PAIRS, ENTITIES = "sentences", "training_pairs", "entity_vocabulary"


def trained_recipes(variant: Variant, setting: Setting, recipes: dict[str, Any]) -> Iterator[Recipe]:
    """Yield the recipes of a variant: that of its start, and its own.

    Args:
        variant: The variant.
        setting: Its own setting.
        recipes: The setting's recipes by their methods' names.

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
        available: Those of `SENTENCES`, `PAIRS` and `ENTITIES` that the sweep's node finds.

    Raises:
        EaseError: With the commands that make the data.
    """
    own = sweep.varied_setting(setting, variant)
    needs = {SENTENCES: "sentences"} if own.encoder.name == RANDOM else {}
    languages: tuple[str, ...] = ()
    for recipe in trained_recipes(variant, own, recipes):
        if reads_entities(recipe.method) or any(
            source_options(text).reads_pairs for text in recipe.data or ()
        ):
            needs[PAIRS] = "training pairs"
            languages = own.languages if recipe.method == variant.method else languages
        if reads_entities(recipe.method) and ENTITIES not in available:
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
