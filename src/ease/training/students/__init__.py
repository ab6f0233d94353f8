"""Students: small encoders that learn a large one's embeddings. Importing this package does not import torch."""

from __future__ import annotations

from pydantic import Field

from ease.io.models import Dimensions, StrictModel


class LearningOptions(StrictModel):
    """Training of a student on its teacher's embeddings."""

    epochs: int = Field(4, ge=0, description="passes over the sentences; 0: the student is not trained")
    batch_size: int = Field(256, ge=1, description="sentences per step")
    learning_rate: float = Field(1e-2, gt=0, description="peak learning rate of AdamW, which decays to 0")


class StudentOptions(StrictModel):
    """Options of every student."""

    teacher: str | None = Field(
        None, min_length=1, description="a folder or hub name; null: the setting's encoder of `ease_plus`"
    )
    rows: int | None = Field(
        None, ge=1, description="maximum number of distinct training sentences, drawn by the seed; null: all"
    )
    matryoshka: Dimensions = Field(
        (), description="numbers of first dimensions at which the loss is computed, too"
    )
    learning: LearningOptions = Field(LearningOptions(), description="how it learns from its teacher")
    seed: int = Field(0, ge=0, description="of the sentences and their order")


class StaticOptions(StudentOptions):
    """A student with one vector per token; a sentence's embedding is the mean of its tokens' vectors."""

    dimension: int | None = Field(None, ge=1, description="dimension of the vectors; null: the teacher's")
    int8: bool = Field(True, description="save the vectors as 8-bit integers with one scale per token")


class ShallowOptions(StudentOptions):
    """A student that has the first layers of its teacher."""

    layers: int = Field(1, ge=1, description="number of first layers to keep")
    learning: LearningOptions = Field(
        LearningOptions(epochs=2, batch_size=128, learning_rate=1e-3), description="how it learns"
    )
