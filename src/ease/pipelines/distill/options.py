"""Options of `distill`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ease.io.models import StrictModel
from ease.training.students import ShallowOptions, StaticOptions


class RefiningOptions(StrictModel):
    """Further training of a student with the loss of `ease_plus`."""

    max_steps: int = Field(ge=1, description="steps")
    learning_rate: float = Field(gt=0, description="peak learning rate")
    evaluate_every: int = Field(50, ge=1, description="steps between evaluations on the development tasks")


Refining = Annotated[
    RefiningOptions | None, Field(description="steps by the loss of `ease_plus`; null: none")
]


class StaticStudentOptions(StaticOptions):
    """The static student, and its training after distillation."""

    refining: Refining = None


class ShallowStudentOptions(ShallowOptions):
    """The shallow student, and its training after distillation."""

    refining: Refining = None
