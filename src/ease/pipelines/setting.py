"""A setting: the choices that all methods of a comparison share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator

from ease.encoders.options import EncoderOptions
from ease.errors import EaseError
from ease.evaluation.scoring import task_name
from ease.evaluation.tasks import task_names
from ease.io.models import StrictModel, Words, format_validation_error, overlaid
from ease.io.names import check_name
from ease.wikimedia.languages import check_codes

EASE_PLUS = "ease_plus"
"""The method whose encoder teaches students, mines parallel sentences, and is taught a language, by default"""

MLM = "mlm"
"""Masked-language modelling, the method whose encoder other methods may start from."""

Overlay = dict[str, Any]
"""Some fields of a setting, which override those of a complete one."""


class Setting(StrictModel):
    """Languages, encoder and evaluation tasks that all methods of a setting share."""

    name: str = Field(pattern=r"^[\w-]+$", description="the setting's name, as in paths and namespaces")
    languages: Words = Field(description="Wikipedia language codes")
    encoder: EncoderOptions = Field(description="what every method starts from")
    start: Literal["untrained", "mlm"] = Field(
        "untrained",
        description="untrained: methods start from the encoder as it is; mlm: from the one that `mlm` trained",
    )
    dev_tasks: Words = Field(
        description="tasks, or single splits of them (`stsb:dev`), whose averaged scores choose the best checkpoint"
    )
    test_tasks: Words = Field(description="tasks that score the trained encoder")

    @field_validator("dev_tasks", "test_tasks")
    @classmethod
    def _tasks(cls, references: Sequence[str]) -> Sequence[str]:
        for reference in references:
            check_name(task_name(reference), task_names(), "evaluation task")
        return references

    @field_validator("languages")
    @classmethod
    def _codes(cls, languages: Sequence[str]) -> Sequence[str]:
        check_codes(list(languages))
        return languages

    def overlaid(self, *overlays: Overlay) -> Setting:
        """Return the setting with the fields of overlays; later ones take precedence, groups are merged."""
        values = self.model_dump()
        for overlay in overlays:
            if "name" in overlay:
                raise EaseError(
                    f"`setting.name` cannot be {overlay['name']!r}: the name of a setting is that of its folders. "
                    "Remove it."
                )
            values = overlaid(values, {name: _group(name, value) for name, value in overlay.items()})
        try:
            return Setting.model_validate(values)
        except ValidationError as error:
            raise EaseError(f"`setting`: {format_validation_error(error, Setting)}") from error


def _group(field: str, value: Any) -> Any:
    """Return an encoder's name as a group of options."""
    return {"name": value} if field == "encoder" and isinstance(value, str) else value
