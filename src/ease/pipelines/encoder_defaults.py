"""Defaults of a training that depend on the encoder it starts from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator

from ease.encoders.options import RANDOM
from ease.errors import EaseError

KINDS = ("random", "pretrained")
"""Rows that every table has: encoders with random weights (`random:`), and all others."""

DURATION = ("max_steps", "epochs")
"""Two ways to say how long a training is: where one is given, the other has no default."""


class Defaults(BaseModel):
    """What null stands for in a recipe's `options` and `training`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    options: dict[str, Any] = Field({}, description="parameters of the method")
    training: dict[str, Any] = Field({}, description="parameters of the loop")


class Row(BaseModel):
    """The defaults of one encoder, or of one kind of encoders."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    training: dict[str, Any] = Field({}, description="parameters of the loop, whatever the method")
    methods: dict[str, Defaults] = Field({}, description="what differs for single methods, by their names")


class EncoderDefaults(RootModel[dict[str, Row]]):
    """`parameters/encoders.yml`: a row for each kind of encoder, and for encoders by the last part of their names."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="after")
    def _both_kinds(self) -> EncoderDefaults:
        missing = [kind for kind in KINDS if kind not in self.root]
        if missing:
            raise EaseError(f"`encoders` has no row {' and no row '.join(missing)}: add it.")
        return self

    def rows(self, encoder: str, method: str) -> Iterator[Defaults]:
        """Yield the defaults for a method on an encoder; earlier ones take precedence.

        Args:
            encoder: Its name, as in `setting.encoder.name`.
            method: A training method.
        """
        for row in self._rows(encoder):
            yield row.methods.get(method, Defaults())
            yield Defaults(training=row.training)

    def describe(self, encoder: str) -> str:
        """Name the encoder and the row that its defaults come from."""
        own, kind = _last_part(encoder), _kind(encoder)
        if own in self.root and own not in KINDS:
            return f"the encoder {own}"
        if kind == KINDS[0]:
            return "an encoder with random weights"
        return f"a pretrained encoder ({own} has no row of its own in `encoders`)"

    def _rows(self, encoder: str) -> Iterator[Row]:
        own = _last_part(encoder)
        if own in self.root and own not in KINDS:
            yield self.root[own]
        yield self.root[_kind(encoder)]


def _last_part(encoder: str) -> str:
    """Return what an encoder is called without its organisation or folder."""
    return encoder.rstrip("/").rpartition("/")[2]


def _kind(encoder: str) -> str:
    return KINDS[0] if encoder.startswith(RANDOM) else KINDS[1]


def fill(values: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Put defaults in place of nulls, in `values` itself; return those that were put there."""
    timed = any(values.get(name) is not None for name in DURATION)
    taken = {
        name: default
        for name, default in defaults.items()
        if default is not None and values.get(name) is None and not (timed and name in DURATION)
    }
    values.update(taken)
    return taken
