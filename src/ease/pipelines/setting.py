"""A setting: the choices that all methods of a comparison share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError

from ease.encoders.options import EncoderOptions
from ease.errors import EaseError
from ease.methods import method_names
from ease.options import StrictModel, Words, format_validation_error, overlaid
from ease.texts.pairs import PREPARATION
from ease.wikimedia.languages import Language, check_codes

MULTILINGUAL = "multilingual"
MONOLINGUAL = "monolingual"
SETTINGS = (MULTILINGUAL, MONOLINGUAL)
"""The settings that compare methods: `train_multilingual` and `train_monolingual` train and score them."""

LOW_RESOURCE = "low_resource"
"""The setting that adds languages to a multilingual encoder, one model for each."""

EASE_PLUS = "ease_plus"
"""The method whose encoder mines parallel sentences, and is taught a language, by default"""

TEACH = "teach"
"""The setting of an encoder that is taught a language, the first of its languages"""

MLM = "mlm"
"""Masked-language modelling, the method whose encoder other methods may start from."""

WHITENING = "whitening"
"""Name, among the methods, of the encoder that is fitted without gradient steps."""

Overlay = dict[str, Any]
"""Some fields of a setting, which override those of a complete one."""


def trained_encoders() -> tuple[str, ...]:
    """Return the names of the encoders that `train` makes for a setting: the methods, and the whitening."""
    return (*method_names(), WHITENING)


def preparation_of(setting: str) -> str:
    """Return the command that makes what the training runs of a setting read."""
    return f"`kedro run --pipelines=train_{setting} --tags={PREPARATION}`"


def _check_languages(languages: Sequence[str]) -> Sequence[str]:
    check_codes(list(languages))
    return languages


Languages = Annotated[Words, AfterValidator(_check_languages)]
"""Codes of Wikipedias"""
TaskReferences = Words
"""Evaluation tasks, or single subsets of them (`stsb:test`); the checks before a run know the tasks' names."""


class Setting(StrictModel):
    """Languages, encoder and evaluation tasks that all methods of a setting share."""

    name: str = Field(pattern=r"^[\w-]+$", description="the setting's name, as in paths and namespaces")
    languages: Languages = Field(description="Wikipedia language codes")
    encoder: EncoderOptions = Field(description="what every method starts from")
    start: Literal["untrained", "mlm"] = Field(
        "untrained",
        description="untrained: methods start from the encoder as it is; mlm: from the one that `mlm` trained",
    )
    dev_tasks: TaskReferences = Field(
        description="tasks, or single splits of them (`stsb:dev`), whose averaged scores choose the best checkpoint"
    )
    test_tasks: TaskReferences = Field(description="tasks that score the trained encoder")

    def task_references(self) -> dict[str, tuple[str, ...]]:
        """Return the tasks that each field names; the checks before a run compare them with the parameters `tasks`."""
        return {"dev_tasks": self.dev_tasks, "test_tasks": self.test_tasks}

    @property
    def title(self) -> str:
        """The name; of `teach`, whose languages vary, with the taught one."""
        if self.name != TEACH:
            return self.name
        return f"{self.name}: {Language(self.languages[0]).english_name}"

    def overlaid(self, changing: str, *overlays: Overlay) -> Setting:
        """Return the setting with the fields of overlays; later ones take precedence, groups are merged.

        `changing` names the owner of the overlays in error messages.
        """
        values = self.model_dump()
        for overlay in overlays:
            # An encoder's name alone is short for the group of its options.
            if isinstance(overlay.get("encoder"), str):
                overlay = {**overlay, "encoder": {"name": overlay["encoder"]}}
            values = overlaid(values, overlay)
        try:
            return Setting.model_validate(values)
        except ValidationError as error:
            raise EaseError(f"{changing}: `setting`: {format_validation_error(error, Setting)}") from error
