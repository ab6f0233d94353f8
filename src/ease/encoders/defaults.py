"""Defaults of training parameters by encoder and method, for `kedro run` and `ease.train` alike.

A parameter that the user leaves out is looked up, from the most to the least specific: the user's row of the encoder
(parameter `encoders`), the file of the encoder in `ease/encoders/known`, the row of the encoder's kind. In each, the
values for the method take precedence over those for all methods. Otherwise the class's default applies.
Kedro's nodes pass the project's rows; without them, the package's own are read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, RootModel

from ease.configuration import default_parameters
from ease.encoders.known import KnownEncoder, MethodDefaults, last_part, names_of, recognise
from ease.encoders.options import RANDOM
from ease.options import StrictModel, dotted, validate

logger = logging.getLogger(__name__)

RANDOM_KIND = "random"
PRETRAINED_KIND = "pretrained"

DURATION = ("max_steps", "epochs")
"""Alternative lengths of a training run: if one has a value, the other has no default."""

TEMPERATURES = ("temperature", "self_temperature")
"""The methods' options that divide the cosines of a contrastive loss"""
FAR_ABOVE = 2
"""Ratio of two temperatures that is worth a warning"""


class EncoderRow(StrictModel):
    """The defaults for one encoder, or for one kind of encoder."""

    training: dict[str, Any] = Field({}, description="parameters of the loop for all methods")
    methods: dict[str, MethodDefaults] = Field({}, description="overrides for single methods, by name")


class EncoderDefaults(RootModel[dict[str, EncoderRow]]):
    """The parameter `encoders`: a row for each kind of encoder, and rows of single ones by the last part of a name."""

    model_config = ConfigDict(frozen=True)

    def row_name(self, encoder: str) -> str | None:
        """Return the name of an encoder's own row; None if it has only that of its kind."""
        rows = self.root.keys() - {RANDOM_KIND, PRETRAINED_KIND}
        return next((name for name in names_of(encoder) if name in rows), None)


class Level(NamedTuple):
    """The defaults of one place, and its name for users."""

    place: str
    options: Mapping[str, Any]
    training: Mapping[str, Any]


class Completed(NamedTuple):
    """A user's parameters with the defaults of the encoder; what is still missing has the default of its class."""

    options: dict[str, Any]
    training: dict[str, Any]
    defaults: dict[str, Any]
    """The defaults that took effect, by dotted names such as `training.learning_rate`"""
    places: dict[str, str]
    """Where each of them comes from"""

    def log(self, method: str, encoder: str) -> None:
        """Log the defaults that took effect, and their places."""
        if self.defaults:
            values = ", ".join(f"{name} {value}" for name, value in sorted(self.defaults.items()))
            places = ", ".join(dict.fromkeys(self.places.values()))
            logger.info("%s on %s, defaults from %s: %s", method, last_part(encoder), places, values)


def complete_parameters(
    options: Mapping[str, Any],
    training: Mapping[str, Any],
    *,
    encoder: str,
    method: str,
    encoder_rows: EncoderDefaults | None = None,
) -> Completed:
    """Replace what is missing or null by the defaults of an encoder.

    Args:
        options: The user's parameters of the method.
        training: The user's parameters of the loop.
        encoder: A hub name, a folder, or `random:`.
        method: The name of the method.
        encoder_rows: The parameter `encoders` of a project. Default: the package's own.
    """
    completed = Completed(dict(options), dict(training), {}, {})
    for level in defaults(encoder, method, encoder_rows):
        filled = {
            "options": _fill(completed.options, level.options),
            "training": _fill(completed.training, level.training),
        }
        completed.defaults.update(dotted(filled))
        completed.places.update(dict.fromkeys(dotted(filled), level.place))
    published = recognise(encoder)
    lora = completed.training.get("lora")
    # Not a default like the others: the layers to adapt alone do not switch LoRA on.
    if published is not None and isinstance(lora, Mapping) and not lora.get("targets"):
        completed.training["lora"] = {**lora, "targets": published.lora_targets}
        completed.places["training.lora.targets"] = published.file
    return completed


def defaults(encoder: str, method: str, encoder_rows: EncoderDefaults | None = None) -> Iterator[Level]:
    """Yield the defaults of a method on an encoder; earlier ones take precedence."""
    encoder_rows = encoder_rows or package_defaults()
    own_row = encoder_rows.row_name(encoder)
    if own_row is not None:
        yield from _levels(f"encoders.{own_row}", encoder_rows.root[own_row], method)
    published = recognise(encoder)
    if published is not None:
        yield from _levels(published.file, published, method)
    kind = PRETRAINED_KIND
    if encoder.startswith(RANDOM):
        kind = RANDOM_KIND
    yield from _levels(f"encoders.{kind}", encoder_rows.root[kind], method)


def warn_of_temperatures(encoder: str, method: str, options: BaseModel) -> None:
    """Log a warning where the temperature of a method's losses is far above that of the encoder's own training.

    The papers' methods keep their values. A higher temperature spreads embeddings whose cosines lie in a narrow band,
    at the price of what the encoder knows (docs/experiments.md).
    """
    published = recognise(encoder)
    if published is None or published.temperature is None:
        return
    temperatures = {name: value for name, value in options.model_dump().items() if name in TEMPERATURES}
    higher = {name: value for name, value in temperatures.items() if value > FAR_ABOVE * published.temperature}
    if higher:
        logger.warning(
            "%s was trained with a temperature of %g, %s has %s: the encoder may lose more than it learns",
            last_part(published.name),
            published.temperature,
            method,
            ", ".join(f"{name} {value:g}" for name, value in higher.items()),
        )


def _levels(place: str, row: EncoderRow | KnownEncoder, method: str) -> Iterator[Level]:
    of_method = row.methods.get(method)
    if of_method is not None:
        yield Level(f"{place}, methods.{method}", of_method.options, of_method.training)
    yield Level(place, {}, row.training)


def _fill(values: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Replace nulls in `values` and in its mappings, in place, by defaults; return the defaults that took effect."""
    # A number of steps overrides epochs: a default of one would win over the user's value of the other.
    has_duration = any(values.get(name) is not None for name in DURATION)
    filled = {}
    for name, default in defaults.items():
        value = values.get(name)
        if isinstance(default, Mapping) and isinstance(value, Mapping):
            inner = dict(value)
            inner_filled = _fill(inner, default)
            if inner_filled:
                values[name] = inner
                filled[name] = inner_filled
        elif value is None and default is not None and not (has_duration and name in DURATION):
            values[name] = default
            filled[name] = default
    return filled


@cache
def package_defaults() -> EncoderDefaults:
    """Return the rows of the package's own configuration."""
    return validate(EncoderDefaults, default_parameters()["encoders"], "conf/base/parameters/encoders.yml")
