"""A recipe: a method with its parameters, as configured for one setting."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ease.methods import method_options
from ease.training import TrainingOptions


class Recipe(BaseModel):
    """What `parameters/methods/<method>.yml` holds for a setting."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: str = Field(description="the name of a file in ease/methods")
    options: dict[str, Any] = Field(description="the method's own parameters")
    training: TrainingOptions = Field(description="the loop's parameters")

    @model_validator(mode="after")
    def _known_options(self) -> Recipe:
        method_options(self.method, self.options)
        return self
