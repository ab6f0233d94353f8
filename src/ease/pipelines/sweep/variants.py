"""Options of a sweep: its variants, seeds and tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Literal

from pydantic import Field, model_validator

from ease.encoders.poolings import PoolingName
from ease.errors import EaseError
from ease.io.models import StrictModel
from ease.io.registry import check_name
from ease.methods import method_names
from ease.pipelines.encoder_defaults import EncoderDefaults
from ease.pipelines.recipe import CompleteRecipe, Recipe
from ease.pipelines.setting import Setting, Words

PIVOT = "en"
START = "start"
"""The method of a variant that scores the start encoder without training."""


class Variant(StrictModel):
    """A recipe with changes, trained from several seeds."""

    method: str = Field(description=f"the varied method, or `{START}`: the start encoder without training")
    seeds: tuple[int, ...] = Field(
        min_length=1, description="seeds of the encoder's weights and of the training"
    )
    name: str | None = Field(None, description="the name in tables and plots; null: the changes")
    options: dict[str, Any] = Field({}, description="changed parameters of the method")
    training: dict[str, Any] = Field({}, description="changed parameters of the loop")
    data: tuple[dict[str, Any], ...] | None = Field(
        None, description="other sources of training texts; null: the recipe's"
    )
    rows: int | None = Field(
        None, ge=1, description="training texts, or pairs of each language; null: the recipe's"
    )
    pooling: PoolingName | None = Field(None, description="null: the setting's")
    languages: Words | None = Field(None, description="languages of the pairs to train on; null: all")
    entity_table: Literal["given", "random"] = Field("given", description="initial entity embeddings")
    permute_entities: bool = Field(
        False, description="give each language its own permutation of the entities"
    )

    @property
    def label(self) -> str:
        """The variant's name, or its changes to the recipe."""
        if self.name:
            return self.name
        differing = {**self.options, **self.training, "pooling": self.pooling, "rows": self.rows}
        words = [f"{name}={value}" for name, value in differing.items() if value is not None]
        if self.permute_entities:
            words.append("permuted")
        if self.entity_table == "random":
            words.append("random table")
        return " ".join([self.method, *words, *(self.languages or ())])

    def run_name(self, seed: int) -> str:
        """Name the MLflow run of a training from a seed."""
        return f"{self.label} seed={seed}"

    def of_language(self, language: str) -> Variant:
        """Return the variant trained on English and one more language."""
        return self.model_copy(update={"name": f"{self.label} {language}", "languages": (PIVOT, language)})

    def recipe(
        self, recipes: dict[str, Any], seed: int, encoder: str, defaults: EncoderDefaults
    ) -> CompleteRecipe:
        """Return the changed recipe with the seed and the defaults for the encoder."""
        return self.varied(recipes, seed).complete(encoder, defaults)

    def varied(self, recipes: dict[str, Any], seed: int) -> Recipe:
        """Return the changed recipe with the seed.

        Raises:
            EaseError: If the method is unknown, or the setting has no recipe for it.
        """
        check_name(self.method, method_names(), "training method")
        if self.method not in recipes:
            raise EaseError(
                f"A sweep varies {self.method!r}: this setting's recipes are {', '.join(recipes)}."
            )
        own = Recipe.model_validate(recipes[self.method]).model_dump()
        changed: dict[str, Any] = {
            "options": {**own["options"], **self.options},
            "training": {**own["training"], **self.training, "seed": seed},
        }
        if self.data is not None:
            changed["data"] = self.data
        if own["data"] is not None and self.rows is not None:
            changed["rows"] = self.rows
        return Recipe.model_validate({**own, **changed})


class Grid(StrictModel):
    """All combinations of several values of parameters, each trained from every seed."""

    method: str = Field(description="the method whose recipe is varied")
    seeds: tuple[int, ...] = Field(min_length=1, description="seeds of each combination")
    options: dict[str, tuple[Any, ...]] = Field({}, description="the values of method parameters")
    training: dict[str, tuple[Any, ...]] = Field({}, description="the values of parameters of the loop")

    def variants(self) -> Iterator[Variant]:
        """Yield a variant for each combination."""
        for values in product(*self.options.values(), *self.training.values()):
            options = dict(zip(self.options, values, strict=False))
            training = dict(zip(self.training, values[len(self.options) :], strict=True))
            yield Variant(method=self.method, seeds=self.seeds, options=options, training=training)


class Sweep(StrictModel):
    """Variants to train, and the tasks that score them."""

    name: str = Field(pattern=r"^[\w-]+$", description="the sweep's name, as in paths")
    variants: tuple[Variant, ...] = Field((), description="single variants")
    grids: tuple[Grid, ...] = Field((), description="combinations of values")
    start: Literal["untrained", "mlm"] | None = Field(None, description="null: the setting's")
    tasks: Words | None = Field(
        None, description="tasks that score the variants; null: the setting's test tasks"
    )
    shown: str | None = Field(
        None, description="the task, or subset of one, that the plot shows; null: the first"
    )
    only: str | None = Field(
        None, description="a single training to run, by its label and seed: `ease seed=3`; null: all"
    )
    each_language: bool = Field(
        False,
        description="train a model for every language of the setting but English, on its pairs and English ones",
    )

    @model_validator(mode="after")
    def _some(self) -> Sweep:
        labels = [variant.label for variant in self.all_variants()]
        if not labels:
            raise EaseError(f"The sweep {self.name!r} varies nothing: give `variants` or `grids`.")
        twice = {label for label in labels if labels.count(label) > 1}
        if twice:
            raise EaseError(f"The sweep {self.name!r} names {', '.join(sorted(twice))} twice: set `name`.")
        return self

    def all_variants(self, languages: Sequence[str] = ()) -> tuple[Variant, ...]:
        """Return the variants and those of the grids; with `each_language`, one for each language.

        Args:
            languages: Languages of the setting.
        """
        given = (*self.variants, *(variant for grid in self.grids for variant in grid.variants()))
        others = [language for language in languages if language != PIVOT]
        if not self.each_language or not others:
            return given
        starts = tuple(variant for variant in given if variant.method == START)
        trained = (variant for variant in given if variant.method != START)
        return (*starts, *(variant.of_language(code) for variant in trained for code in others))

    def trainings(self, languages: Sequence[str]) -> dict[str, tuple[Variant, int]]:
        """Return every variant with each of its seeds, by the names of their MLflow runs.

        Args:
            languages: Languages of the setting.
        """
        variants = self.all_variants(languages)
        return {variant.run_name(seed): (variant, seed) for variant in variants for seed in variant.seeds}

    def chosen_trainings(self, languages: Sequence[str]) -> dict[str, tuple[Variant, int]]:
        """Return the trainings to run: all, or the one that `only` names.

        Raises:
            EaseError: If the sweep has no training of this name.
        """
        trainings = self.trainings(languages)
        if self.only is None:
            return trainings
        check_name(self.only, list(trainings), f"training of `{self.name}.only`")
        return {self.only: trainings[self.only]}

    def setting(self, setting: Setting, variant: Variant, seed: int) -> Setting:
        """Return the setting with the start, pooling and seed of a variant."""
        encoder: dict[str, Any] = {"seed": seed}
        if variant.pooling is not None:
            encoder["pooling"] = variant.pooling
        changed: dict[str, Any] = {"encoder": setting.encoder.model_copy(update=encoder)}
        if self.start is not None:
            changed["start"] = self.start
        if self.tasks is not None:
            changed["test_tasks"] = self.tasks
        return setting.model_copy(update=changed)
