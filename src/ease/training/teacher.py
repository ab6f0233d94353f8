"""Options of a teacher: an encoder whose embeddings or similarities the trained encoder reproduces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from ease.encoders.check import check_encoder
from ease.encoders.poolings import PoolingName
from ease.errors import EaseError
from ease.io.models import StrictModel

START = "start"
"""Name of the teacher that is the encoder before the training."""


def _words(value: Any) -> Any:
    """Split a string into words: a list on the command line."""
    return value.split() if isinstance(value, str) else value


class TeacherOptions(StrictModel):
    """Distillation of a teacher's embeddings of the training sentences, in addition to the method's own loss."""

    encoder: str | None = Field(
        None,
        min_length=1,
        description=f"a hub name, a folder, or `{START}`: the encoder before the training; null: no teacher",
    )
    pooling: PoolingName | None = Field(None, description="the teacher's pooling; null: as it was saved")
    form: Literal["similarity", "cosine"] = Field(
        "similarity",
        description="similarity: the similarities within a batch are matched, in any dimension; cosine: each embedding "
        "is pulled towards the teacher's, which has the same dimension",
    )
    languages: Annotated[tuple[str, ...] | None, BeforeValidator(_words)] = Field(
        None,
        min_length=1,
        description="languages whose sentences are taught, for a teacher that does not know the others; null: all",
    )
    weight: float = Field(1.0, gt=0, description="weight of the teacher's loss; the method's own loss has 1")
    temperature: float = Field(
        0.05, gt=0, description="τ of the form `similarity`, dividing the cosines of teacher and student"
    )
    batch_size: int | None = Field(
        None, ge=1, description="sentences that the teacher encodes at once; null: 32 on a CPU, 256 on a GPU"
    )
    cache: Path | None = Field(
        None,
        description="folder of the cache of embeddings, shared by trainings; null: the training's work folder",
    )

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, value: Any) -> Any:
        """Accept a name instead of a group of options, or null for no teacher."""
        if isinstance(value, Path):
            return {"encoder": str(value)}
        return {"encoder": value} if value is None or isinstance(value, str) else value

    def located(self, start: str) -> str:
        """Return the teacher's hub name or folder.

        Args:
            start: The encoder that the training starts from.
        """
        assert self.encoder is not None
        return start if self.encoder == START else self.encoder


def check_teacher(options: TeacherOptions) -> None:
    """Refuse a teacher that cannot be loaded; its weights are not read.

    Raises:
        EaseError: With the teacher's name and the remedy.
    """
    if options.encoder in (None, START):
        return
    try:
        check_encoder(str(options.encoder))
    except EaseError as error:
        raise EaseError(f"The teacher cannot be loaded (`teacher.encoder`). {error}") from error
