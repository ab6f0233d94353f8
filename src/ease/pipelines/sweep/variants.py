"""Options of a sweep: its variants, seeds and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.io.files import read_data_file
from ease.methods import method_names
from ease.names import check_name
from ease.options import Numbers, StrictModel, Words, dotted, split_words
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import Overlay, Setting

PIVOT = "en"
START = "start"
"""The method of a variant that scores the start encoder without training."""


class _Changes(StrictModel):
    method: str = Field(description=f"the varied method, or `{START}`: the start encoder without training")
    seeds: Numbers = Field((), description="seeds of the encoder's weights and of the training; empty: the sweep's")
    data: tuple[dict[str, Any], ...] | None = Field(
        None, description="other sources of training texts; null: the recipe's"
    )
    under: str | None = Field(None, description="the one of the sweep's `settings` to train under; null: each of them")


class Variant(_Changes):
    """A recipe with changes, trained from several seeds."""

    name: str | None = Field(None, description="the name in tables and plots; null: the changes")
    options: dict[str, Any] = Field({}, description="changed parameters of the method")
    training: dict[str, Any] = Field({}, description="changed parameters of the loop")
    rows: int | None = Field(None, ge=1, description="training texts, or pairs of each language; null: the recipe's")
    setting: Overlay = Field(
        {}, description="changed fields of the sweep's setting; `languages` are those of the pairs to train on"
    )
    entity_table: Literal["given", "random"] = Field("given", description="initial entity embeddings")
    permute_entities: bool = Field(False, description="give each language its own permutation of the entities")

    @property
    def title(self) -> str:
        """The variant's name, or its changes to recipe and setting; the same under each of the sweep's settings."""
        if self.name:
            return self.name
        setting = {name.rpartition(".")[2]: value for name, value in dotted(self.setting).items()}
        languages = setting.pop("languages", ())
        differing = {**self.options, **self.training, **setting, "rows": self.rows}
        words = [f"{name}={value}" for name, value in differing.items() if value is not None]
        if self.permute_entities:
            words.append("permuted")
        if self.entity_table == "random":
            words.append("random table")
        return " ".join([self.method, *words, *split_words(languages)])

    @property
    def label(self) -> str:
        """The title with the name of the setting to train under, if the sweep has several."""
        return f"{self.title} ({self.under})" if self.under else self.title

    def run_name(self, seed: int) -> str:
        """Name the MLflow run of a training from a seed."""
        return f"{self.label} seed={seed}"

    def varied(self, recipes: Mapping[str, Any], seed: int) -> Recipe:
        """Return the changed recipe with the seed."""
        check_name(self.method, method_names(), "training method")
        if self.method not in recipes:
            raise EaseError(f"A sweep varies {self.method!r}: this setting's recipes are {', '.join(recipes)}.")
        own = Recipe.model_validate(recipes[self.method]).model_dump()
        changed: dict[str, Any] = {
            "options": {**own["options"], **self.options},
            "training": {**own["training"], **self.training, "seed": seed},
        }
        if self.data is not None:
            changed["data"] = self.data
        if own["data"] is not None and self.rows is not None:
            changed["rows"] = self.rows
        recipe = Recipe.model_validate({**own, **changed})
        recipe.check_options()
        return recipe


class Grid(_Changes):
    """All combinations of several values of parameters, each trained from every seed."""

    options: dict[str, tuple[Any, ...]] = Field({}, description="the values of method parameters")
    training: dict[str, tuple[Any, ...]] = Field({}, description="the values of parameters of the loop")
    rows: tuple[int, ...] = Field((), description="numbers of training texts, or of pairs of each language")

    def variants(self) -> Iterator[Variant]:
        """Yield a variant for each combination."""
        given = {"method": self.method, "seeds": self.seeds, "data": self.data, "under": self.under}
        for *values, rows in product(*self.options.values(), *self.training.values(), self.rows or (None,)):
            options = dict(zip(self.options, values, strict=False))
            training = dict(zip(self.training, values[len(self.options) :], strict=True))
            yield Variant(**given, options=options, training=training, rows=rows)


class Joined(StrictModel):
    """Variants whose encoders are scored together, one for each language."""

    encoders: dict[str, str] = Field(
        min_length=2, description="the label of the variant that encodes a language, by the language's code"
    )
    base: str = Field("", description="what the report calls the encoders that the variants start from")
    tasks: Words = Field(("bli",), description="`bli`, or single subsets of it (`bli:en-fr`)")


class Sweep(StrictModel):
    """Variants to train, and the settings to train and score them in."""

    name: str = Field(pattern=r"^[\w-]+$", description="the sweep's name, as in paths")
    variants: tuple[Variant, ...] = Field((), description="single variants")
    grids: tuple[Grid, ...] = Field((), description="combinations of values")
    seeds: Numbers = Field((), description="seeds of the variants that give none")
    setting: Overlay = Field({}, description="changed fields of the setting, for all variants")
    settings: dict[str, Overlay] = Field(
        {}, description="further changed fields by a name, such as encoders: variants are trained under each"
    )
    shown: str | None = Field(None, description="the task, or subset of one, that the plot shows; null: the first")
    each_language: bool = Field(
        False, description="train a model for every language of the setting but English, on its pairs and English ones"
    )
    joined: dict[str, Joined] = Field(
        {}, description="encoders of several variants, one for each language, to score together, by their title"
    )

    @model_validator(mode="after")
    def _complete(self) -> Sweep:
        variants = self.all_variants()
        labels = [variant.label for variant in variants]
        if not labels:
            raise EaseError(f"The sweep {self.name!r} varies nothing: give `variants` or `grids`.")
        twice = {label for label in labels if labels.count(label) > 1}
        if twice:
            raise EaseError(f"The sweep {self.name!r} names {', '.join(sorted(twice))} twice: set `name`.")
        if seedless := [variant.label for variant in variants if not variant.seeds]:
            raise EaseError(f"The sweep {self.name!r} has no seeds for {', '.join(seedless)}: set `seeds`.")
        for variant in variants:
            if variant.under:
                check_name(variant.under, list(self.settings), f"entry of `{self.name}.settings`")
        for joined in self.joined.values():
            for label in joined.encoders.values():
                check_name(label, labels, f"variant in `{self.name}.joined`")
        return self

    def all_variants(self, languages: Sequence[str] = ()) -> tuple[Variant, ...]:
        """Return the variants and grids under each setting; with `each_language`, one for each of the languages."""
        given = (*self.variants, *(variant for grid in self.grids for variant in grid.variants()))
        seeded = [one if one.seeds else one.model_copy(update={"seeds": self.seeds}) for one in given]
        placed = [
            variant if name is None else variant.model_copy(update={"under": name})
            for name in self.settings or (None,)
            for variant in seeded
            if variant.under in (None, name)
        ]
        placed += [variant for variant in seeded if variant.under and variant.under not in self.settings]
        others = [language for language in languages if language != PIVOT]
        if not self.each_language or not others:
            return tuple(placed)
        starts = [variant for variant in placed if variant.method == START]
        for variant in placed:
            for code in others if variant.method != START else ():
                setting = {**variant.setting, "languages": (PIVOT, code)}
                changed = {"name": f"{variant.title} {code}", "setting": setting}
                starts.append(variant.model_copy(update=changed))
        return tuple(starts)

    def trainings(self, languages: Sequence[str]) -> dict[str, tuple[Variant, int]]:
        """Return every variant with each of its seeds, by the names of their MLflow runs."""
        variants = self.all_variants(languages)
        return {variant.run_name(seed): (variant, seed) for variant in variants for seed in variant.seeds}

    def joined_trainings(self) -> dict[str, tuple[str, int]]:
        """Return the title and the seed of all joined encoders, by the names of their MLflow runs."""
        seeds = {variant.label: variant.seeds for variant in self.all_variants()}
        found: dict[str, tuple[str, int]] = {}
        for title, joined in self.joined.items():
            common = set.intersection(*(set(seeds[label]) for label in joined.encoders.values()))
            found |= {f"{title} seed={seed}": (title, seed) for seed in sorted(common)}
        return found

    def own_setting(self, setting: Setting) -> Setting:
        """Return the setting as the sweep changes it for all variants."""
        return setting.overlaid(f"The sweep {self.name!r}", self.setting)

    def varied_setting(self, setting: Setting, variant: Variant, seed: int | None = None) -> Setting:
        """Return the sweep's own setting as a variant changes it, with the seed of the training."""
        seeded: Overlay = {} if seed is None else {"encoder": {"seed": seed}}
        changes = (self.settings.get(variant.under or "", {}), variant.setting, seeded)
        return setting.overlaid(f"The variant {variant.label!r} of {self.name!r}", *changes)

    def varied_settings(self, setting: Setting) -> list[Setting]:
        """Return the settings of all variants, each once."""
        varied = [self.varied_setting(setting, variant) for variant in self.all_variants(setting.languages)]
        return [one for number, one in enumerate(varied) if one not in varied[:number]]


class Registered(NamedTuple):
    """What the pipeline of a sweep consists of: pipelines are built before parameters are read."""

    setting: str
    """Provides the recipes, the folders and the data"""
    entities: bool
    """Whether the pipeline makes the setting's pairs of sentences and entities"""
    methods: Sequence[str] | None = None
    """Methods with a recipe in the setting; None: all"""


def registered_sweeps() -> dict[str, Registered]:
    """Return the registered sweeps by name."""
    read = read_data_file("ease.pipelines.sweep", "sweeps.yml")
    return {name: Registered(**given) for name, given in read.items()}
