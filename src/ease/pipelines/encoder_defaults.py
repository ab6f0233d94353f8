"""Default parameters of a training that depend on its start encoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ConfigDict, Field, RootModel, model_validator

from ease.encoders.check import base_model_of, configuration_of, is_sentence_encoder
from ease.encoders.known import KnownEncoder, MethodDefaults, known_encoder, language_model_like, last_part
from ease.encoders.options import RANDOM
from ease.errors import EaseError
from ease.io.models import StrictModel

KINDS = ("random", "pretrained")
"""Required rows: encoders with random weights (`random:`), and all others."""

DURATION = ("max_steps", "epochs")
"""Alternative lengths of a training: if one is given, the other has no default."""


class Row(StrictModel):
    """The defaults for one encoder, or for one kind of encoder."""

    training: dict[str, Any] = Field({}, description="parameters of the loop for all methods")
    methods: dict[str, MethodDefaults] = Field({}, description="overrides for single methods, by name")
    architecture: dict[str, Any] = Field(
        {}, description="values of `config.json` by which encoders of other names belong to this row"
    )


class EncoderDefaults(RootModel[dict[str, Row]]):
    """`parameters/encoders.yml`: one row for each kind of encoder, and rows of single encoders.

    An encoder uses the row with the last part of its name, else the row of the encoder that it was made from, else the
    row with its architecture. The file of the encoder in `ease/encoders/known`, found in the same way, has lower
    precedence, and the row of the encoder's kind the lowest.
    """

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="after")
    def _both_kinds(self) -> EncoderDefaults:
        missing = [kind for kind in KINDS if kind not in self.root]
        if missing:
            raise EaseError(f"`encoders` has no row {' and no row '.join(missing)}: add it.")
        return self

    def rows(self, encoder: str, method: str) -> Iterator[MethodDefaults]:
        """Yield the defaults for a method on an encoder; earlier ones take precedence.

        Args:
            encoder: Name of the encoder, as in `setting.encoder.name`.
            method: Name of the training method.
        """
        for row in self._rows(encoder):
            yield row.methods.get(method, MethodDefaults())
            yield MethodDefaults(training=row.training)

    def describe(self, encoder: str) -> str:
        """Return a description of the encoder and the row of its defaults."""
        own, row, file = last_part(encoder), self._row_name(encoder), file_name(encoder)
        if _kind(encoder) == KINDS[0]:
            return "an encoder with random weights"
        if row is None and file is None:
            return f"a pretrained encoder ({own} has no row of its own in `encoders`, and no file)"
        found = [f"row {row} of `encoders`"] if row else []
        found += [f"file {file}.yml"] if file else []
        return f"the encoder {own} ({', '.join(found)})"

    def _rows(self, encoder: str) -> Iterator[Row | KnownEncoder]:
        name, file = self._row_name(encoder), file_name(encoder)
        if name is not None:
            yield self.root[name]
        known = None if file is None else known_encoder(file)
        if known is not None:
            yield known
        yield self.root[_kind(encoder)]

    def _row_name(self, encoder: str) -> str | None:
        """Return the row of a single encoder; None if only the row of its kind applies."""
        if _kind(encoder) == KINDS[0]:
            return None
        rows = {name: row for name, row in self.root.items() if name not in KINDS}
        if own := next((name for name in _names(encoder) if name in rows), None):
            return own
        config = configuration_of(encoder)
        alike = (
            name
            for name, row in rows.items()
            if row.architecture and row.architecture.items() <= config.items()
        )
        return next(alike, None)


def file_name(encoder: str) -> str | None:
    """Return the name of an encoder's file; for a language model without one, the file with its architecture."""
    if _kind(encoder) == KINDS[0]:
        return None
    own = next((name for name in _names(encoder) if known_encoder(name)), None)
    if own is not None or is_sentence_encoder(encoder):
        return own
    return language_model_like(configuration_of(encoder))


def _names(encoder: str) -> list[str]:
    """Return the last parts of the names of an encoder and of the encoder that it was made from."""
    return [last_part(name) for name in (encoder, base_model_of(encoder)) if name is not None]


def _kind(encoder: str) -> str:
    return KINDS[0] if encoder.startswith(RANDOM) else KINDS[1]


def fill(values: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Replace nulls in `values` and in its mappings, in place, by defaults; return the defaults that were used."""
    timed = any(values.get(name) is not None for name in DURATION)
    taken = {
        name: default
        for name, default in defaults.items()
        if default is not None and values.get(name) is None and not (timed and name in DURATION)
    }
    values.update(taken)
    for name, default in defaults.items():
        if name not in taken and isinstance(default, Mapping) and isinstance(values.get(name), Mapping):
            within = dict(values[name])
            if used := fill(within, default):
                values[name], taken[name] = within, used
    return taken
