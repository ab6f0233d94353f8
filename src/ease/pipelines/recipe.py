"""A recipe: a method with its parameters, as configured for one setting."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ease.errors import EaseError
from ease.methods import get_method, method_options
from ease.texts import source_options
from ease.training import TrainingOptions


class Recipe(BaseModel):
    """What `parameters/methods/<method>.yml` holds for a setting."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: str = Field(description="the name of a file in ease/methods")
    options: dict[str, Any] = Field(description="the method's own parameters")
    data: tuple[dict[str, Any], ...] | None = Field(
        None,
        description="the sources of its training texts, each with its `kind`, the name of a file in ease/texts; null "
        "for methods that read the setting's pairs of sentences and entities",
    )
    rows: int | None = Field(
        None, ge=1, description="training texts in all; null: as many as the sources' weights allow"
    )
    training: TrainingOptions = Field(description="the loop's parameters")

    @model_validator(mode="after")
    def _known_options(self) -> Recipe:
        method_options(self.method, self.options)
        for source in self.data or ():
            source_options(source)
        reads_entities = get_method(self.method).reads_entities
        if reads_entities and (self.data is not None or self.rows is not None):
            raise EaseError(
                f"Method {self.method!r} is trained on the setting's pairs of sentences and entities: set `data` and "
                "`rows` to null."
            )
        if not reads_entities and not self.data:
            raise EaseError(
                f"Method {self.method!r} has no `data` to train on: list its sources, such as {{kind: pairs}} for the "
                "sentences of the setting's training pairs."
            )
        return self
