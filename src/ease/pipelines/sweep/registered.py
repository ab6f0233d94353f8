"""The registered sweeps: the setting of each, and whether it reads entities.

Pipelines are built before parameters are read, so this cannot be in the sweeps' parameters.
"""

from __future__ import annotations

from pydantic import Field

from ease.io.data_files import read_data_file
from ease.io.models import StrictModel


class Registered(StrictModel):
    """What the pipeline of a sweep consists of."""

    setting: str = Field(description="provides the recipes, the folders and the data")
    entities: bool = Field(
        description="whether the pipeline makes the setting's pairs of sentences and entities"
    )
    methods: tuple[str, ...] | None = Field(
        None, description="methods with a recipe in the setting; null: all"
    )


def registered_sweeps() -> dict[str, Registered]:
    """Return the registered sweeps by name."""
    read = read_data_file("ease.pipelines.sweep", "sweeps.yml")
    return {name: Registered.model_validate(given) for name, given in read.items()}
