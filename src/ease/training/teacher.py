"""Options of further encoders of a training: a teacher, and a guide that finds false negatives."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from ease.encoders.check import check_encoder
from ease.encoders.poolings import PoolingName
from ease.errors import EaseError
from ease.io.models import StrictModel, Words

START_ENCODER = "start"
"""Name of the encoder before the training, as a teacher or guide."""


class FrozenEncoder(StrictModel):
    """An encoder that is not trained, whose embeddings of the training sentences are computed once."""

    encoder: str | None = Field(
        None,
        min_length=1,
        description=f"a hub name, a folder, or `{START_ENCODER}`: the encoder before the training; null: none",
    )
    pooling: PoolingName | None = Field(None, description="its pooling; null: as it was saved")
    batch_size: int | None = Field(
        None,
        ge=1,
        description="sentences that it encodes at once; null: as many as have 512 tokens on a CPU, 16,384 on a GPU",
    )
    cache: Path | None = Field(
        None,
        description="folder of the cache of embeddings, shared by trainings; null: the training's work folder",
    )

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, value: Any) -> Any:
        """Accept a name instead of a group of options, or null for no encoder."""
        if isinstance(value, Path):
            return {"encoder": str(value)}
        return {"encoder": value} if value is None or isinstance(value, str) else value

    def located(self, start: str) -> str:
        """Return the encoder's hub name or folder.

        Args:
            start: The encoder that the training starts from.
        """
        assert self.encoder is not None
        return start if self.encoder == START_ENCODER else self.encoder


class TeacherOptions(FrozenEncoder):
    """Distillation of a teacher's embeddings of the training sentences, beside the method's own loss."""

    form: Literal["similarity", "cosine"] = Field(
        "similarity",
        description="similarity: the similarities within a batch are matched, in any dimension; cosine: each embedding "
        "is pulled towards the teacher's, which has the same dimension",
    )
    languages: Words | None = Field(
        None,
        min_length=1,
        description="languages whose sentences are taught, for a teacher that does not know the others; null: all",
    )
    weight: float = Field(1.0, gt=0, description="weight of the teacher's loss; the method's own loss has 1")
    temperature: float = Field(
        0.05, gt=0, description="τ of the form `similarity`, dividing the cosines of teacher and student"
    )


class GuideOptions(FrozenEncoder):
    """An encoder that finds false negatives among the entities of a batch (Solatorio 2024, GISTEmbed)."""


def check_frozen(options: FrozenEncoder, role: str) -> None:
    """Refuse a teacher or guide that cannot be loaded; its weights are not read.

    Raises:
        EaseError: With its name and the remedy.
    """
    if options.encoder in (None, START_ENCODER):
        return
    try:
        check_encoder(str(options.encoder))
    except EaseError as error:
        raise EaseError(f"The {role} cannot be loaded (`{role}.encoder`). {error}") from error
