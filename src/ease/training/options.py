"""What a training is told: its parameters, its job, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, ValidationError, model_validator

from ease.encoders.model_card import ModelCardData
from ease.encoders.poolings import PoolingName
from ease.errors import EaseError
from ease.io.registry import format_validation_error
from ease.methods import method_options


def check_share(batch_size: int, processes: int) -> None:
    """Refuse a batch that the processes cannot share equally."""
    if batch_size % processes:
        raise EaseError(
            f"`batch_size` {batch_size} cannot be shared by {processes} `processes`: make it a multiple."
        )


class TrainingOptions(BaseModel):
    """Parameters of the training loop, the same for every method."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    batch_size: int = Field(128, ge=2, description="pairs a step, over all processes together")
    learning_rate: float = Field(3e-5, gt=0, description="of AdamW at its peak")
    entity_learning_rate: float | None = Field(
        None, gt=0, description="of the entity table; null: `learning_rate`"
    )
    epochs: int = Field(1, ge=1, description="passes over the pairs")
    max_steps: int | None = Field(None, ge=1, description="steps in all; null: as `epochs` says")
    max_tokens: int = Field(
        32, ge=3, description="tokens of a sentence, special ones included; longer is cut"
    )
    warmup: float = Field(0.0, ge=0, lt=1, description="share of the steps in which the rate rises linearly")
    weight_decay: float = Field(0.0, ge=0, description="of AdamW, for weight matrices alone")
    max_grad_norm: float | None = Field(1.0, gt=0, description="gradients are scaled down to it; null: never")
    evaluate_every: int = Field(250, ge=1, description="steps between evaluations on the development tasks")
    checkpoint_every: int = Field(250, ge=1, description="steps between checkpoints")
    report_every: int = Field(10, ge=1, description="steps that a reported loss averages")
    precision: Literal["auto", "bf16", "fp32"] = Field(
        "auto", description="auto: bf16 on GPUs that have it, else fp32"
    )
    device: Literal["auto", "cpu"] = Field("auto", description="auto: the GPU if there is one")
    processes: int = Field(
        1, ge=1, description="processes to start, one a GPU; under torchrun its own number counts"
    )
    threads: int | None = Field(None, ge=1, description="CPU threads a process; null: as torch is set")
    length_chunks: int | None = Field(
        None,
        ge=1,
        description="parts that a batch is encoded in, by length; 1: whole; null: 4 if padded on a CPU, else 1",
    )
    packed: bool = Field(
        False,
        description="encode the tokens of a batch in one row, without padding, and draw dropout faster: for speed on "
        "a CPU; other dropout masks than with padding",
    )
    mini_batch_size: int | None = Field(
        None,
        ge=1,
        description="pairs of a process whose activations and similarities are held at a time, the others' being "
        "computed again for the gradient: large batches in little memory, at a third more work; null: all pairs",
    )
    seed: int = Field(0, ge=0, description="of the order of the pairs, dropout and new weights")

    @model_validator(mode="after")
    def _divide_batch(self) -> TrainingOptions:
        check_share(self.batch_size, self.processes)
        return self


def training_options(values: Mapping[str, Any]) -> TrainingOptions:
    """Parse the loop's parameters.

    Raises:
        EaseError: Naming each parameter that is unknown or wrong.
    """
    try:
        return TrainingOptions.model_validate(values)
    except ValidationError as error:
        raise EaseError(
            f"Parameters of `training`: {format_validation_error(error, TrainingOptions)}"
        ) from error


class TrainingJob(BaseModel):
    """All that a training needs, as a file that several processes can read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: Path = Field(
        description="where the training works: checkpoints, metrics and at its end the model"
    )
    pairs: Path = Field(description="training pairs: a Parquet file or a folder of them")
    encoder: str = Field(description="the encoder to start from: a folder or a hub name")
    pooling: PoolingName | None = Field(None, description="null: as the encoder was saved")
    method: str = Field(description="a training method: the name of its file")
    method_options: SerializeAsAny[BaseModel] = Field(
        default_factory=BaseModel,
        description="the method's `Options`, or their values; validated in either case",
    )
    training: TrainingOptions = Field(TrainingOptions(), description="the loop's parameters")
    vocabulary: Path | None = Field(
        None, description="entity vocabulary (Parquet), for methods with entities"
    )
    table: Path | None = Field(
        None, description="entity embeddings in the vocabulary's rows: safetensors, one tensor"
    )
    development: dict[str, dict[str, Any]] = Field(
        {},
        description="evaluation tasks that select the best model, with their options; none: the last is kept",
    )
    card: ModelCardData | None = Field(None, description="what the model card says beside the training")

    @model_validator(mode="before")
    @classmethod
    def _parse_method_options(cls, values: dict[str, Any]) -> dict[str, Any]:
        options = values.get("method_options", {})
        if isinstance(options, BaseModel) or "method" not in values:
            return values
        return {**values, "method_options": method_options(values["method"], options)}


class TrainingResult(BaseModel):
    """What came of a training."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Path = Field(description="folder of the model kept, in sentence-transformers form")
    steps: int = Field(description="steps trained")
    best_step: int = Field(description="the step after which the model was kept")
    best_score: float | None = Field(
        description="its development score in points; null without development tasks"
    )
    start_score: float | None = Field(
        None, description="the development score of the encoder that the training started from"
    )
    seconds: float = Field(description="spent on training steps, over all sittings")
    pairs_per_second: float = Field(
        description="of training steps alone, without evaluations and checkpoints"
    )
    history: list[dict[str, float]] = Field(description="reported values, each with its `step`")

    @property
    def below_start(self) -> bool:
        """Whether training made the encoder worse on the development tasks."""
        return (
            self.best_score is not None
            and self.start_score is not None
            and self.best_score < self.start_score
        )
