"""A recipe, which is a method with its parameters for one setting, and the defaults that depend on the encoder."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, Field, RootModel, SerializeAsAny, model_validator

from ease.encoders.check import base_model_of, configuration_of, is_sentence_encoder
from ease.encoders.known import MethodDefaults, complete_lora, known_encoder, language_model_like, last_part
from ease.encoders.options import RANDOM
from ease.errors import EaseError
from ease.methods import method_options, method_record
from ease.options import StrictModel
from ease.pipelines.options import SAMPLE
from ease.texts import source_options
from ease.training.options import TrainingOptions, check_frozen, training_options

logger = logging.getLogger(__name__)

KINDS = ("random", "pretrained")
"""Required rows: encoders with random weights (`random:`), and all others."""

DURATION = ("max_steps", "epochs")
"""Alternative lengths of a training: if one is given, the other has no default."""


class Row(StrictModel):
    """The defaults for one encoder, or for one kind of encoder."""

    training: dict[str, Any] = Field({}, description="parameters of the loop for all methods")
    methods: dict[str, MethodDefaults] = Field({}, description="overrides for single methods, by name")


class EncoderDefaults(RootModel[dict[str, Row]]):
    """`parameters/encoders.yml`: one row for each kind of encoder, and rows of single encoders.

    An encoder uses the row with the last part of its name, else the row of the encoder that it was made from. The file
    of the encoder in `ease/encoders/known`, found in the same way or by the architecture, has lower precedence, and the
    row of the encoder's kind the lowest.
    """

    model_config = ConfigDict(frozen=True)

    def rows(self, encoder: str, method: str) -> Iterator[MethodDefaults]:
        """Yield the defaults for a method on an encoder; earlier ones take precedence."""
        name, file = self._row_name(encoder), _file_name(encoder)
        known = None if file is None else known_encoder(file)
        for row in (self.root.get(name or ""), known, self.root[_kind(encoder)]):
            if row is not None:
                yield row.methods.get(method, MethodDefaults())
                yield MethodDefaults(training=row.training)

    def describe(self, encoder: str) -> str:
        """Return a description of the encoder and the row of its defaults."""
        row, file = self._row_name(encoder), _file_name(encoder)
        rows = [row or _kind(encoder), *([f"the file {file}.yml"] if file else [])]
        return f"{last_part(encoder)} (`encoders`: {', '.join(rows)})"

    def _row_name(self, encoder: str) -> str | None:
        if _kind(encoder) == KINDS[0]:
            return None
        return next((name for name in _names(encoder) if name in self.root and name not in KINDS), None)


def _file_name(encoder: str) -> str | None:
    """Return the name of an encoder's file; for a language model without one, the file with its architecture."""
    if _kind(encoder) == KINDS[0]:
        return None
    own = next((name for name in _names(encoder) if known_encoder(name)), None)
    if own is not None or is_sentence_encoder(encoder):
        return own
    return language_model_like(configuration_of(encoder))


def _names(encoder: str) -> list[str]:
    """Return the last parts of an encoder's name and of that of the encoder that it was made from."""
    return [last_part(name) for name in (encoder, base_model_of(encoder)) if name is not None]


def _kind(encoder: str) -> str:
    return KINDS[0] if encoder.startswith(RANDOM) else KINDS[1]


def _fill(values: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Replace nulls in `values` and in its mappings, in place, by defaults; return the defaults that were used."""
    timed = any(values.get(name) is not None for name in DURATION)
    taken = {}
    for name, default in defaults.items():
        own = values.get(name)
        if own is None and default is not None and not (timed and name in DURATION):
            values[name] = taken[name] = default
        elif isinstance(default, Mapping) and isinstance(own, Mapping):
            within = dict(own)
            if used := _fill(within, default):
                values[name], taken[name] = within, used
    return taken


class CompleteRecipe(StrictModel):
    """A recipe without null parameters that have a default for the encoder."""

    method: str = Field(description="the name of a file in ease/methods")
    options: SerializeAsAny[BaseModel] = Field(description="the method's `Options`")
    data: tuple[dict[str, Any], ...] | None = Field(None, description="the sources of the training texts")
    rows: int | None = Field(None, description="total number of training texts")
    training: TrainingOptions = Field(description="the loop's parameters")


class Recipe(StrictModel):
    """The parameters of a method for one setting, as in `parameters/methods/<method>.yml`."""

    method: str = Field(description="the name of a file in ease/methods")
    options: dict[str, Any] = Field(
        description="the method's own parameters; null: the default in `encoders` for the encoder"
    )
    data: tuple[dict[str, Any], ...] | None = Field(
        None,
        description="the sources of the training texts, each with its `kind`, the name of a file in ease/texts; null "
        "for methods that read the setting's pairs of sentences and entities",
    )
    rows: int | None = Field(
        None, ge=1, description="total number of training texts; null: as many as the sources' weights allow"
    )
    training: dict[str, Any] = Field(
        description="the loop's parameters (`TrainingOptions`); null: the default in `encoders`"
    )

    @model_validator(mode="after")
    def _fits_method(self) -> Recipe:
        loop = _training(self.training)
        for source in self.data or ():
            source_options(source)
        if method_record(self.method).reads_entities:
            if self.data is not None or self.rows is not None:
                raise EaseError(
                    f"Method {self.method!r} is trained on the setting's pairs of sentences and entities: set `data` "
                    "and `rows` to null."
                )
            return self
        if not self.data:
            raise EaseError(
                f"Method {self.method!r} has no `data` to train on: list its sources, such as {{kind: pairs}} for the "
                "sentences of the setting's training pairs."
            )
        # Gathered texts lack the columns that these parameters read.
        batches = loop.batches
        fields = {name: field.default for name, field in type(batches).model_fields.items()}
        wrong = {f"batches.{name}": own for name, own in fields.items() if getattr(batches, name) != own}
        wrong |= {"language_ranks": []} if loop.language_ranks else {}
        if wrong:
            remedy = " and ".join(f"`training.{name}` to {own}" for name, own in wrong.items())
            raise EaseError(
                f"Method {self.method!r} trains on texts, which name neither their language nor an entity: set "
                f"{remedy}."
            )
        return self

    @property
    def seed(self) -> int:
        """The training's seed."""
        return int(self.training.get("seed") or 0)

    def check_options(self) -> None:
        """Refuse unknown and wrong parameters of the method, which is imported; nulls have defaults later."""
        given = {name: value for name, value in self.options.items() if value is not None}
        method_options(self.method, given)

    def check_texts(self) -> None:
        """Refuse training texts that do not exist."""
        for source in self.data or ():
            if str(source.get("path", "")).startswith(SAMPLE):
                continue
            for place in source_options(source).required:
                if not place.exists():
                    raise EaseError(
                        f"{place}, which `data` of the method {self.method!r} names, does not exist: put the texts "
                        "there (docs/papers.md has the addresses of the papers' texts), or name other sources "
                        "(docs/training_texts.md)."
                    )

    def check_frozen(self) -> None:
        """Refuse a teacher or guide that cannot be loaded."""
        loop = _training(self.training)
        check_frozen(loop.teacher, "teacher")
        check_frozen(loop.guide, "guide")

    def complete(self, encoder: str, defaults: EncoderDefaults) -> CompleteRecipe:
        """Replace every null that has a default for the encoder, and log these defaults."""
        options, training, taken = dict(self.options), dict(self.training), dict[str, Any]()
        for row in defaults.rows(encoder, self.method):
            taken |= _fill(options, row.options) | _fill(training, row.training)
        training["lora"] = complete_lora(training.get("lora"), _file_name(encoder))
        if taken:
            values = ", ".join(f"{name} {value}" for name, value in sorted(taken.items()))
            logger.info("%s, defaults for %s: %s", self.method, defaults.describe(encoder), values)
        return CompleteRecipe(
            method=self.method,
            options=method_options(self.method, options),
            data=self.data,
            rows=self.rows,
            training=_training(training),
        )


def _training(values: dict[str, Any]) -> TrainingOptions:
    """Build the loop's parameters; null means the class's default if the field does not accept null."""
    fields = TrainingOptions.model_fields
    given = {
        name: value
        for name, value in values.items()
        if value is not None or name not in fields or type(None) in get_args(fields[name].annotation)
    }
    if isinstance(batches := given.get("batches"), Mapping):
        given["batches"] = {name: value for name, value in batches.items() if value is not None}
    return training_options(given)
