"""Default parameters of a training that depend on its start encoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ConfigDict, Field, RootModel, model_validator

from ease.encoders.base_models import base_model_of, configuration_of
from ease.encoders.options import RANDOM
from ease.errors import EaseError
from ease.io.models import StrictModel

KINDS = ("random", "pretrained")
"""Required rows: encoders with random weights (`random:`), and all others."""

DURATION = ("max_steps", "epochs")
"""Alternative lengths of a training: if one is given, the other has no default."""


class Defaults(StrictModel):
    """Defaults for nulls in a recipe's `options` and `training`."""

    options: dict[str, Any] = Field({}, description="parameters of the method")
    training: dict[str, Any] = Field({}, description="parameters of the loop")


class Row(StrictModel):
    """The defaults for one encoder, or for one kind of encoder."""

    training: dict[str, Any] = Field({}, description="parameters of the loop for all methods")
    methods: dict[str, Defaults] = Field({}, description="overrides for single methods, by name")
    architecture: dict[str, Any] = Field(
        {}, description="values of `config.json` by which encoders of other names belong to this row"
    )


class EncoderDefaults(RootModel[dict[str, Row]]):
    """`parameters/encoders.yml`: one row for each kind of encoder, and rows of single encoders.

    An encoder belongs to the row of its name's last part; else, to the row of the encoder that it was made from; else,
    to the row with its architecture; else, to the row of its kind.
    """

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
            encoder: Name of the encoder, as in `setting.encoder.name`.
            method: Name of the training method.
        """
        for row in self._rows(encoder):
            yield row.methods.get(method, Defaults())
            yield Defaults(training=row.training)

    def describe(self, encoder: str) -> str:
        """Return a description of the encoder and the row of its defaults."""
        own, row = _last_part(encoder), self._row_name(encoder)
        if row == KINDS[0]:
            return "an encoder with random weights"
        if row == KINDS[1]:
            return f"a pretrained encoder ({own} has no row of its own in `encoders`)"
        return f"the encoder {own}" if own == row else f"the encoder {own} (row {row} of `encoders`)"

    def _rows(self, encoder: str) -> Iterator[Row]:
        row = self._row_name(encoder)
        if row not in KINDS:
            yield self.root[row]
        yield self.root[_kind(encoder)]

    def _row_name(self, encoder: str) -> str:
        """Return the row of an encoder, or its kind."""
        if _kind(encoder) == KINDS[0]:
            return KINDS[0]
        rows = {name: row for name, row in self.root.items() if name not in KINDS}
        for name in (encoder, base_model_of(encoder)):
            if name is not None and _last_part(name) in rows:
                return _last_part(name)
        config = configuration_of(encoder)
        alike = (
            name
            for name, row in rows.items()
            if row.architecture and row.architecture.items() <= config.items()
        )
        return next(alike, KINDS[1])


def _last_part(encoder: str) -> str:
    """Return an encoder's name without its organisation or folder."""
    return encoder.rstrip("/").rpartition("/")[2]


def _kind(encoder: str) -> str:
    return KINDS[0] if encoder.startswith(RANDOM) else KINDS[1]


def fill(values: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Replace nulls in `values`, in place, by defaults; return the defaults that were used."""
    timed = any(values.get(name) is not None for name in DURATION)
    taken = {
        name: default
        for name, default in defaults.items()
        if default is not None and values.get(name) is None and not (timed and name in DURATION)
    }
    values.update(taken)
    return taken
