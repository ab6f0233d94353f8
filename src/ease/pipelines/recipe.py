"""A recipe: a method with its parameters, as configured for one setting."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, Field, SerializeAsAny, model_validator

from ease.encoders.known import complete_lora
from ease.errors import EaseError
from ease.io.models import StrictModel
from ease.methods import method_options, reads_entities
from ease.pipelines.encoder_defaults import EncoderDefaults, file_name, fill
from ease.texts import source_options
from ease.training.options import TrainingOptions, check_frozen, training_options

logger = logging.getLogger(__name__)


class CompleteRecipe(StrictModel):
    """A recipe without null parameters that have a default for the encoder."""

    method: str = Field(description="the name of a file in ease/methods")
    options: SerializeAsAny[BaseModel] = Field(description="the method's `Options`")
    data: tuple[dict[str, Any], ...] | None = Field(None, description="the sources of the training texts")
    rows: int | None = Field(None, description="total number of training texts")
    training: TrainingOptions = Field(description="the loop's parameters")

    @property
    def seed(self) -> int:
        """The training's seed."""
        return self.training.seed


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
        on_entities = reads_entities(self.method)
        if on_entities and (self.data is not None or self.rows is not None):
            raise EaseError(
                f"Method {self.method!r} is trained on the setting's pairs of sentences and entities: set `data` and "
                "`rows` to null."
            )
        if not on_entities and not self.data:
            raise EaseError(
                f"Method {self.method!r} has no `data` to train on: list its sources, such as {{kind: pairs}} for the "
                "sentences of the setting's training pairs."
            )
        if not on_entities:
            _check_columns(self.method, loop)
        return self

    @property
    def seed(self) -> int:
        """The training's seed."""
        return int(self.training.get("seed") or 0)

    def check_options(self) -> None:
        """Refuse unknown and wrong parameters of the method; nulls are checked once defaults replace them.

        It imports the method, and with it torch, which takes seconds: a run does this for the recipes that it reads.

        Raises:
            EaseError: With the method and each wrong parameter.
        """
        method_options(
            self.method, {name: value for name, value in self.options.items() if value is not None}
        )

    def check_frozen(self) -> None:
        """Refuse a teacher or guide that cannot be loaded."""
        loop = _training(self.training)
        check_frozen(loop.teacher, "teacher")
        check_frozen(loop.guide, "guide")

    def complete(self, encoder: str, defaults: EncoderDefaults) -> CompleteRecipe:
        """Replace every null that has a default for the encoder, and log these defaults.

        Args:
            encoder: Name of the start encoder.
            defaults: Defaults by encoder, or by kind of encoder.

        Raises:
            EaseError: If a required value is neither given nor has a default.
        """
        options, training = dict(self.options), dict(self.training)
        taken: dict[str, Any] = {}
        for row in defaults.rows(encoder, self.method):
            taken |= fill(options, row.options) | fill(training, row.training)
        training["lora"] = complete_lora(training.get("lora"), file_name(encoder))
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


def _check_columns(method: str, training: TrainingOptions) -> None:
    """Refuse parameters of the loop that read a column which gathered texts do not have."""
    batches = training.batches
    fields = {name: field.default for name, field in type(batches).model_fields.items()}
    wrong = {f"batches.{name}": own for name, own in fields.items() if getattr(batches, name) != own}
    if training.language_ranks:
        wrong["language_ranks"] = []
    if wrong:
        remedy = " and ".join(f"`training.{name}` to {own}" for name, own in wrong.items())
        raise EaseError(
            f"Method {method!r} trains on texts, which name neither their language nor an entity: set {remedy}."
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
