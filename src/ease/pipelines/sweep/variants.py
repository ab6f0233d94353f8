"""Sweeps: their variants, seeds and settings, and which of them a run trains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

from pydantic import ConfigDict, Field, RootModel, field_validator, model_validator

from ease.errors import EaseError
from ease.methods import method_names
from ease.names import check_name
from ease.options import Numbers, StrictModel, Words, dotted, split_words, validate
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import LOW_RESOURCE, MONOLINGUAL, MULTILINGUAL, Overlay, Setting

PIVOT = "en"
"""The language that `each_language` combines with every other one"""
SWEPT_SETTINGS = (MULTILINGUAL, MONOLINGUAL, LOW_RESOURCE)
"""The settings that a sweep may vary; a sweep that names none varies the first"""
START = "start"
"""The method of a variant that scores the starting encoder without training."""


class _Changes(StrictModel):
    method: str = Field(description=f"the varied method, or `{START}`: the starting encoder without training")
    seeds: Numbers = Field((), description="seeds of the encoder's weights and of the training run; empty: the sweep's")
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
    entity_table: Literal["given", "random", "uniform"] = Field(
        "given",
        description="initial entity embeddings; random: normal, with the deviation of the given ones; uniform: from "
        "-0.05 to 0.05",
    )
    permute_entities: bool = Field(False, description="give each language its own permutation of the entities")

    @property
    def title(self) -> str:
        """The variant's name, or its changes to recipe and setting; the same under each of the sweep's settings."""
        if self.name:
            return self.name
        setting = {name.rpartition(".")[2]: value for name, value in dotted(self.setting).items()}
        # Codes name themselves, without `languages=`.
        languages = setting.pop("languages", ())
        changes = {**self.options, **self.training, **setting, "rows": self.rows}
        words = [f"{name}={value}" for name, value in changes.items() if value is not None]
        if self.permute_entities:
            words.append("permuted")
        if self.entity_table != "given":
            words.append(f"{self.entity_table} table")
        return " ".join([self.method, *words, *split_words(languages)])

    @property
    def label(self) -> str:
        """The title with the name of the setting to train under, if the sweep has several."""
        if self.under:
            return f"{self.title} ({self.under})"
        return self.title

    def run_name(self, seed: int) -> str:
        """Name the MLflow run of a training run from a seed."""
        return f"{self.label} seed={seed}"

    def vary(self, recipes: Mapping[str, Any], seed: int) -> Recipe:
        """Return the method's recipe with the variant's changes and a seed.

        Args:
            recipes: The recipes of the sweep's setting, by method.
            seed: The training run's seed.

        Raises:
            EaseError: If the setting has no recipe for the method, or the method has no such parameter.
        """
        check_name(self.method, method_names(), "training method")
        if self.method not in recipes:
            raise EaseError(f"A sweep varies {self.method!r}: this setting's recipes are {', '.join(recipes)}.")
        values = Recipe.model_validate(recipes[self.method]).model_dump()
        values["options"] |= self.options
        values["training"] |= {**self.training, "seed": seed}
        if self.rows is not None and values["data"] is not None:
            # A method without texts reads pairs, which are drawn from the table: `variant_data`.
            values["rows"] = self.rows
        if self.data is not None:
            values["data"] = self.data
        recipe = Recipe.model_validate(values)
        # A misspelt parameter of one variant should not end a sweep of many hours.
        recipe.check_options()
        return recipe


class Grid(_Changes):
    """All combinations of several values of parameters, each trained from every seed."""

    options: dict[str, tuple[Any, ...]] = Field({}, description="the values of method parameters")
    training: dict[str, tuple[Any, ...]] = Field({}, description="the values of parameters of the loop")
    rows: tuple[int, ...] = Field((), description="numbers of training texts, or of pairs of each language")

    def variants(self) -> Iterator[Variant]:
        """Yield a variant for each combination; the last parameter's values change first."""
        common = {"method": self.method, "seeds": self.seeds, "data": self.data, "under": self.under}
        for options in _combinations(self.options):
            for training in _combinations(self.training):
                for rows in self.rows or (None,):
                    yield Variant(**common, options=options, training=training, rows=rows)


def _combinations(values: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield each combination of one value per parameter."""
    for combination in product(*values.values()):
        yield dict(zip(values, combination, strict=True))


class TrainingRun(NamedTuple):
    """A variant to train from a seed."""

    variant: Variant
    seed: int


class Joined(StrictModel):
    """Variants whose encoders are scored together, one for each language."""

    encoders: dict[str, str] = Field(
        min_length=2, description="the label of the variant that encodes a language, by the language's code"
    )
    base: str = Field("", description="what the report calls the encoders that the variants start from")
    tasks: Words = Field(("bli",), description="`bli`, or single subsets of it (`bli:en-fr`)")


class Sweep(StrictModel):
    """Variants to train, and the settings to train and score them in."""

    name: str = Field(pattern=r"^[\w-]+$", description="the sweep's name, as in paths: its key in `sweeps`")
    variants: tuple[Variant, ...] = Field((), description="single variants")
    grids: tuple[Grid, ...] = Field((), description="combinations of values")
    seeds: Numbers = Field((), description="seeds of the variants that list none")
    setting: Overlay = Field(
        {}, description=f"`name`, the setting that the sweep varies (default: {MULTILINGUAL}), and changed fields of it"
    )
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
    def _check(self) -> Sweep:
        # Without the setting's languages, which are not known here: `each_language` only repeats variants.
        variants = self.all_variants()
        if not variants:
            raise EaseError(f"The sweep {self.name!r} varies nothing: give `variants` or `grids`.")
        # Runs, rows and curves are found by the label.
        labels = [variant.label for variant in variants]
        repeated = {label for label in labels if labels.count(label) > 1}
        if repeated:
            raise EaseError(f"The sweep {self.name!r} names {', '.join(sorted(repeated))} twice: set `name`.")
        seedless = [variant.label for variant in variants if not variant.seeds]
        if seedless:
            raise EaseError(f"The sweep {self.name!r} has no seeds for {', '.join(seedless)}: set `seeds`.")
        for joined in self.joined.values():
            for label in joined.encoders.values():
                check_name(label, labels, f"variant in `{self.name}.joined`")
        return self

    @property
    def setting_name(self) -> str:
        """The name of the setting whose tables and recipes the sweep reads."""
        return str(self.setting.get("name", MULTILINGUAL))

    def all_variants(self, languages: Sequence[str] = ()) -> tuple[Variant, ...]:
        """Return every variant under every setting that it is trained under.

        Args:
            languages: The setting's languages, for which `each_language` repeats the variants.

        Raises:
            EaseError: If a variant names a setting that is not in `settings`.
        """
        variants = list(self.variants)
        for grid in self.grids:
            variants.extend(grid.variants())
        for variant in variants:
            if variant.under:
                check_name(variant.under, list(self.settings), f"entry of `{self.name}.settings`")
        variants = [_with(variant, seeds=variant.seeds or self.seeds) for variant in variants]
        if self.settings:
            # A variant without `under` is trained under each setting.
            variants = [
                _with(variant, under=name)
                for name in self.settings
                for variant in variants
                if variant.under in (None, name)
            ]
        if self.each_language:
            variants = _for_each_language(variants, languages)
        return tuple(variants)

    def training_runs(self, languages: Sequence[str], only: Sequence[str] = ()) -> dict[str, TrainingRun]:
        """Return the variants to train with their seeds, by the names of their MLflow runs.

        Args:
            languages: The setting's languages.
            only: Labels of variants, or names of single training runs; none: all.

        Raises:
            EaseError: If `only` has a name that the sweep lacks.
        """
        variants = self.all_variants(languages)
        runs = {variant.run_name(seed): TrainingRun(variant, seed) for variant in variants for seed in variant.seeds}
        if not only:
            return runs
        for name in only:
            names = [*(variant.label for variant in variants), *runs]
            check_name(name, names, f"variant of {self.name!r} in `sweep.only`")
        return {name: run for name, run in runs.items() if name in only or run.variant.label in only}

    def joined_runs(self) -> dict[str, tuple[str, int]]:
        """Return the title and the seed of all joined encoders, by the names of their MLflow runs."""
        seeds_by_label = {variant.label: set(variant.seeds) for variant in self.all_variants()}
        runs: dict[str, tuple[str, int]] = {}
        for title, joined in self.joined.items():
            # A joined encoder needs all of its languages' encoders from the same seed.
            common = set.intersection(*(seeds_by_label[label] for label in joined.encoders.values()))
            for seed in sorted(common):
                runs[f"{title} seed={seed}"] = (title, seed)
        return runs

    def varied_setting(self, setting: Setting, variant: Variant, seed: int | None = None) -> Setting:
        """Return the sweep's own setting as a variant changes it, with the seed of the training run."""
        overlays = [self.settings.get(variant.under or "", {}), variant.setting]
        if seed is not None:
            # One seed for all randomness of a training run: also that of random weights, from which it may start.
            overlays.append({"encoder": {"seed": seed}})
        return setting.overlaid(f"The variant {variant.label!r} of {self.name!r}", *overlays)


def _with(variant: Variant, **changes: Any) -> Variant:
    return variant.model_copy(update=changes)


def _for_each_language(variants: Sequence[Variant], languages: Sequence[str]) -> list[Variant]:
    """Return `start` once, then each other variant for every language but English; without any, all variants."""
    added = [language for language in languages if language != PIVOT]
    if not added:
        return list(variants)
    # The starting encoder is the same for all languages.
    repeated = [variant for variant in variants if variant.method == START]
    for variant in variants:
        if variant.method == START:
            continue
        for language in added:
            setting = {**variant.setting, "languages": (PIVOT, language)}
            repeated.append(_with(variant, name=f"{variant.title} {language}", setting=setting))
    return repeated


class Sweeps(RootModel[dict[str, Sweep]]):
    """All sweeps of a project (`parameters/sweeps/<name>.yml`), by name."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _name_each(cls, values: Any) -> Any:
        # Values of another type are left to the validation, which reports them.
        if not isinstance(values, Mapping):
            return values
        named_sweeps = dict(values)
        for name, sweep in values.items():
            if isinstance(sweep, Mapping):
                named_sweeps[name] = {**sweep, "name": name}
        return named_sweeps

    def choose(self, choice: SweepChoice) -> Sweep:
        """Return the sweep that a run trains.

        Raises:
            EaseError: If there is no such sweep.
        """
        check_name(choice.name, list(self.root), "sweep")
        return self.root[choice.name]


class SweepChoice(StrictModel):
    """What a run trains: `--params sweep=NAME` for a complete sweep, `sweep.name` and `sweep.only` for a part of it."""

    name: str = Field(description="the sweep to train, an entry of `sweeps`")
    only: tuple[str, ...] = Field(
        (), description="variants to train, by their labels, or single training runs (`ease seed=3`); empty: all"
    )

    @model_validator(mode="before")
    @classmethod
    def from_name(cls, value: Any) -> Any:
        """Return the fields of a choice that may be given as the sweep's name alone."""
        if isinstance(value, str):
            return {"name": value}
        return value

    @field_validator("only", mode="before")
    @classmethod
    def _one_label(cls, value: Any) -> Any:
        # A label has spaces: unlike other lists in one text, it is not split into words.
        if isinstance(value, str):
            return (value,)
        return value


class SweepRun(NamedTuple):
    """A sweep with the setting that it varies, and the part of it to train."""

    sweep: Sweep
    setting: Setting
    """The setting as the sweep changes it"""
    recipes: dict[str, Any]
    """The setting's recipes, by method"""
    only: tuple[str, ...] = ()

    @property
    def training_runs(self) -> dict[str, TrainingRun]:
        """What to train, by the names of the MLflow runs."""
        return self.sweep.training_runs(self.setting.languages, self.only)

    @property
    def variants(self) -> list[Variant]:
        """The variants to train, each once."""
        return list({run.variant.label: run.variant for run in self.training_runs.values()}.values())

    @property
    def joined(self) -> list[Joined]:
        """The encoders to score together; none of a part of a sweep, which may lack some of them."""
        if self.only:
            return []
        return list(self.sweep.joined.values())

    @property
    def settings(self) -> list[Setting]:
        """The settings of the variants to train, each once."""
        # Without the seeds, which change neither tasks nor the encoder's name.
        settings: list[Setting] = []
        for variant in self.variants:
            setting = self.sweep.varied_setting(self.setting, variant)
            if setting not in settings:
                settings.append(setting)
        return settings


def name_sweep(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return the `name` of the chosen sweep and of its `setting`, for paths in the catalog.

    Raises:
        EaseError: If there is no such sweep.
    """
    # The other sweeps are not validated here: every command that reads the catalog asks for these names.
    choice = parameters["sweep"]
    if isinstance(choice, str):
        name = choice
    else:
        name = validate(SweepChoice, choice, "Parameter `sweep`").name
    check_name(name, list(parameters["sweeps"]), "sweep")
    setting = parameters["sweeps"][name].get("setting", {})
    return {"name": name, "setting": setting.get("name", MULTILINGUAL)}


def open_sweep(choice: SweepChoice, sweeps: Sweeps, settings: Mapping[str, Mapping[str, Any]]) -> SweepRun:
    """Return the chosen sweep with its setting.

    Args:
        choice: The sweep's name, and the part of it to train.
        sweeps: The project's sweeps.
        settings: The parameters of each setting: `setting`, and the recipes by method.

    Raises:
        EaseError: If there is no such sweep or setting.
    """
    sweep = sweeps.choose(choice)
    check_name(sweep.setting_name, list(settings), f"setting of the sweep {sweep.name!r}")
    parameters = settings[sweep.setting_name]
    setting = Setting.model_validate(parameters["setting"]).overlaid(f"The sweep {sweep.name!r}", sweep.setting)
    # `low_resource` has recipes of two methods only.
    recipes = {method: parameters[method] for method in method_names() if method in parameters}
    return SweepRun(sweep, setting, recipes, choice.only)
