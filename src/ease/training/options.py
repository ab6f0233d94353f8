"""Parameters, job description and result of a training run; free of torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, SerializeAsAny, model_validator

from ease.encoders.check import check_encoder
from ease.encoders.model_card import ModelCardData
from ease.encoders.poolings import PoolingName
from ease.errors import EaseError
from ease.methods import MethodRecord, method_options, method_record, register
from ease.methods.records import RECORDS
from ease.options import Numbers, StrictModel, Words, validate, without_nulls


def check_share(options: TrainingOptions, processes: int) -> None:
    """Refuse a batch that does not divide into sub-batches and processes, or is too small for its entities."""
    size = options.contrasted
    name = "batch_size"
    if options.sub_batch_size is not None:
        name = "sub_batch_size"
    several = options.batches.sentences_per_entity
    if options.batch_size % size:
        raise EaseError(
            f"`batch_size` {options.batch_size} is not a multiple of `sub_batch_size` {size}: change one of them."
        )
    if size % processes:
        raise EaseError(f"`{name}` {size} is not a multiple of {processes} `processes`: change one of them.")
    if several > 1 and 2 * several > size:
        raise EaseError(
            f"`{name}` {size} does not hold two entities of {several} sentences (`batches.sentences_per_entity`): "
            f"raise it to at least {2 * several}, or lower the other."
        )


class BatchOptions(StrictModel):
    """How the pairs of a batch are chosen; the default is a random order of all pairs in every epoch."""

    sentences_per_entity: int = Field(
        1,
        ge=1,
        description="sentences of an entity in a batch; above 1, they have different languages, and sentences whose "
        "entity has no other language are skipped if the rest fills a batch",
    )
    language_exponent: float = Field(
        1.0, ge=0, le=1, description="α: a language with n pairs is drawn in proportion to n^α; 1: every pair once"
    )
    languages: Literal["mixed", "single"] = Field(
        "mixed", description="mixed: batches of any languages; single: each batch is of one language"
    )

    @property
    def reads_languages(self) -> bool:
        """Whether the order depends on the pairs' languages."""
        return self.sentences_per_entity > 1 or self.language_exponent != 1 or self.languages == "single"


START_ENCODER = "start"
"""Name of the encoder before training, as a teacher or guide."""


class FrozenEncoder(StrictModel):
    """An encoder that is not trained, whose embeddings of the training sentences are computed once."""

    encoder: str | None = Field(
        None,
        min_length=1,
        description=f"a hub name, a folder, or `{START_ENCODER}`: the encoder before training; null: none",
    )
    pooling: PoolingName | None = Field(None, description="its pooling; null: as it was saved")
    batch_size: int | None = Field(
        None,
        ge=1,
        description="sentences that it encodes at once; null: as many as have 1,024 tokens on a CPU, 16,384 on a GPU",
    )
    cache: Path | None = Field(
        None,
        description="folder of the cache of embeddings, shared by training runs; null: `encoding.cache`, or in Python "
        "the run's work folder",
    )

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, value: Any) -> Any:
        """Accept a name instead of a group of options, or null for no encoder."""
        if isinstance(value, str | Path | None):
            return {"encoder": value and str(value)}
        return value

    def located(self, start: str) -> str:
        """Return the encoder's hub name or folder, given the encoder that training starts from."""
        assert self.encoder is not None
        if self.encoder == START_ENCODER:
            return start
        return self.encoder


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


def check_frozen(options: FrozenEncoder, role: str, check: Callable[[str], object] = check_encoder) -> None:
    """Refuse a teacher or guide that cannot be loaded, by a check of its name; its weights are not read."""
    if options.encoder not in (None, START_ENCODER):
        try:
            check(str(options.encoder))
        except EaseError as error:
            raise EaseError(f"The {role} cannot be loaded (`{role}.encoder`). {error}") from error


class LoraOptions(StrictModel):
    """Low-rank adapters of linear layers (Hu et al. 2021)."""

    rank: int = Field(16, ge=0, description="rank of an adapter; 0: no LoRA, all weights are trained")
    alpha: int = Field(32, ge=1, description="adapters are scaled by alpha / rank")
    dropout: float = Field(0.05, ge=0, lt=1, description="dropout of an adapter's input")
    targets: Words | None = Field(
        None, description="names of the linear layers to adapt; null: those of the encoder's file, or else all"
    )


_KIND_HAS_DEFAULT = "both kinds of encoder have other defaults (conf/base/parameters/encoders.yml)"


class TrainingOptions(StrictModel):
    """Parameters of the training loop, the same for every method."""

    batch_size: int = Field(128, ge=2, description=f"pairs per step, over all processes; {_KIND_HAS_DEFAULT}")
    learning_rate: float = Field(3e-5, gt=0, description=f"peak learning rate of AdamW; {_KIND_HAS_DEFAULT}")
    entity_learning_rate: float | None = Field(
        None, gt=0, description="peak learning rate of the entity table; null: `learning_rate`"
    )
    entity_optimizer: Literal["lazy", "dense"] = Field(
        "lazy",
        description="of the entity table; lazy: Adam that moves a row only in steps whose batch has its entity; dense: "
        "the result of AdamW on all rows, whose momentum also moves a row in later steps, computed when it is read",
    )
    entity_moments: Literal["fp32", "bf16"] = Field(
        "fp32",
        description="precision of Adam's moments of the entity table; bf16 (rounded at random): two thirds of the "
        "memory, 61 instead of 92 GB for 10 million entities of 768 dimensions",
    )
    batches: BatchOptions = Field(BatchOptions(), description="how the pairs of a batch are chosen")
    epochs: int = Field(1, ge=1, description="passes over the pairs")
    max_steps: int | None = Field(None, ge=1, description="number of steps; null: those of `epochs`")
    max_tokens: int = Field(
        32, ge=3, description="tokens per text, special tokens included; longer texts are truncated"
    )
    warmup: float = Field(0.0, ge=0, le=1, description="fraction of the steps for linear warm-up")
    schedule: Literal["linear", "constant"] = Field(
        "linear", description="learning rate after the warm-up: decays linearly towards 0, or stays constant"
    )
    weight_decay: float = Field(
        0.0, ge=0, description="of AdamW, for weight matrices only; for the entity table if its optimizer is dense"
    )
    max_grad_norm: float | None = Field(1.0, gt=0, description="gradients are clipped to this norm; null: no clipping")
    evaluate_every: int = Field(250, ge=1, description="steps between evaluations on the development tasks")
    max_below_start: int | None = Field(
        None,
        ge=1,
        description="stop after this number of evaluations in a row below the starting encoder, and keep that encoder "
        "if none was better; null: never stop, and keep it only by `min_kept`",
    )
    min_kept: float | None = Field(
        None,
        ge=0,
        description="of an encoder that knows languages already: the least that a checkpoint must keep of its score "
        "on each of the job's `retention` tasks, in percent, or the starting encoder is kept; null: a checkpoint may "
        "lose anything",
    )
    checkpoint_seconds: float = Field(
        120, ge=0, description="seconds between checkpoints, or nine times as long as one takes; 0: every step"
    )
    report_every: int = Field(10, ge=1, description="steps over which reported losses are averaged")
    precision: Literal["auto", "bf16", "fp32"] = Field(
        "auto",
        description="auto: bf16 on GPUs that support it, and on CPUs that multiply faster in it for encoders with 10 "
        "million weights in linear layers; else fp32",
    )
    device: Literal["auto", "cpu"] = Field("auto", description="auto: a GPU if there is one")
    deterministic: bool = Field(
        True,
        description="only algorithms that give the same weights in every run on one device, except for the attention "
        "of texts over 64 tokens on a GPU; false: faster algorithms on a GPU, which may round differently in every run",
    )
    processes: int = Field(1, ge=1, description="processes to start, one per GPU; torchrun overrides it")
    threads: int | None = Field(None, ge=1, description="CPU threads per process; null: torch's default")
    length_chunks: int | None = Field(
        None,
        ge=1,
        description="chunks by length in which a batch is encoded; null: 4 for padded texts on a CPU, else 1",
    )
    packed: bool | Literal["auto"] = Field(
        "auto",
        description="encode a batch as rows of 64 tokens with several texts, with little padding; dropout masks differ "
        "from those with padding; auto: for `graphs`, and in bf16 on a CPU if 64 is a multiple of the longest texts' "
        "tokens (prompt included), not with several `processes`, `compiled`, `mini_batch_size` or "
        "`length_chunks`",
    )
    graphs: bool | Literal["auto"] = Field(
        "auto",
        description="on a GPU: pack texts in rows of 64 tokens, as `packed` does, and replay the transformer's passes "
        "as CUDA graphs, which keeps the GPU busy; not with several `processes`, `mini_batch_size` or "
        "`length_chunks`, nor for methods that encode several columns of texts; auto: where it is possible",
    )
    compiled: bool = Field(
        False,
        description="compile the encoder's layers with torch.compile, for speed on a GPU; the first steps take longer, "
        "and it needs a C++ compiler; not with `lora`, on a CPU not with `packed`, and without oneDNN; dropout masks "
        "differ",
    )
    onednn: bool = Field(
        True,
        description="compute the encoder's linear layers by oneDNN in single precision on a CPU, if torch has it; "
        "faster than torch's default on AMD processors with AVX-512; the weights differ by rounding",
    )
    mini_batch_size: int | None = Field(
        None,
        ge=1,
        description="pairs whose activations and logits are in memory at a time, per process; recomputed for the "
        "gradient, at a third more computation; null: all pairs",
    )
    sub_batch_size: int | None = Field(
        None,
        ge=2,
        description="gradient accumulation: pairs that contrast with each other, over all processes; the gradients of "
        "a batch's sub-batches are averaged before the step; null: the whole batch",
    )
    matryoshka: Numbers = Field(
        (),
        description="numbers of first dimensions to which embeddings can be truncated: the loss is also computed at "
        "each, and averaged with the loss of all dimensions (Kusupati et al. 2022)",
    )
    teacher: TeacherOptions = Field(
        TeacherOptions(),
        description="an encoder whose embeddings or similarities the training run also learns (docs/teacher.md)",
    )
    guide: FrozenEncoder = Field(
        FrozenEncoder(),
        description="an encoder that finds false negatives among the entities of a batch, for `ease_plus`",
    )
    language_ranks: Numbers = Field(
        (),
        description="ranks of the language subspace that is removed from the trained encoder; several: the best one on "
        "the development tasks; 0: nothing is removed; []: not tried",
    )
    lora: LoraOptions | None = Field(
        None,
        description="train low-rank adapters of the transformer instead of its weights, and merge them into the saved "
        "encoder; null: train all weights",
    )
    encoder_dropout: float | None = Field(
        None, ge=0, lt=1, description="dropout of all layers of the encoder while it is trained; null: as configured"
    )
    seed: int = Field(0, ge=0, description=f"of the order of the pairs, dropout and new weights; {_KIND_HAS_DEFAULT}")

    @model_validator(mode="after")
    def _fit_together(self) -> TrainingOptions:
        check_share(self, self.processes)
        if self.compiled and self.lora is not None and self.lora.rank:
            # torch compiles the adapters of each layer anew, and gives up after eight times.
            raise EaseError("`compiled` trains all weights: set `lora.rank: 0`, or `compiled: false`.")
        return self

    @property
    def contrasted(self) -> int:
        """Pairs that contrast with each other, over all processes."""
        return self.sub_batch_size or self.batch_size

    @property
    def frozen(self) -> dict[str, FrozenEncoder]:
        """The teacher and the guide, without those that are off."""
        by_role = {"teacher": self.teacher, "guide": self.guide}
        return {role: options for role, options in by_role.items() if options.encoder is not None}


def training_options(values: Mapping[str, Any]) -> TrainingOptions:
    """Parse the loop's parameters; null means the default if the parameter has no null."""
    return validate(TrainingOptions, without_nulls(TrainingOptions, values), "Parameters of `training`")


class TrainingJob(StrictModel):
    """The description of a training run, which its processes read from job.json."""

    folder: Path = Field(description="work folder for checkpoints, metrics and the final model")
    pairs: Path = Field(description="training pairs, a Parquet file or a folder of them")
    encoder: str = Field(description="the encoder to train, a folder or a hub name")
    pooling: PoolingName | None = Field(None, description="null: the saved encoder's")
    method: str = Field(description="training method")
    record: MethodRecord | None = Field(
        None,
        description="the record of a method from another package, by which the training run's processes find its class",
    )
    method_options: SerializeAsAny[BaseModel] = Field(
        default_factory=BaseModel, description="the method's `Options`, or their values; validated in either case"
    )
    training: TrainingOptions = Field(TrainingOptions(), description="the loop's parameters")
    vocabulary: Path | None = Field(None, description="entity vocabulary (Parquet), for methods with entities")
    table: Path | None = Field(
        None, description="initial entity embeddings in the order of the vocabulary (safetensors with one tensor)"
    )
    development: dict[str, dict[str, Any]] = Field(
        {}, description="evaluation tasks that select the best model, with their options; empty: keep the last model"
    )
    retention: dict[str, dict[str, Any]] = Field(
        {}, description="evaluation tasks of what the encoder knows before, for `min_kept`, with their options"
    )
    card: ModelCardData | None = Field(None, description="what the model card says beside the run's parameters")

    @model_validator(mode="before")
    @classmethod
    def _parse_method_options(cls, values: dict[str, Any]) -> dict[str, Any]:
        if values.get("record") is not None:
            register(validate(MethodRecord, values["record"], "The job's `record`"))
        elif "method" in values and (record := method_record(values["method"])) not in RECORDS:
            values = {**values, "record": record}
        options = values.get("method_options", {})
        if isinstance(options, BaseModel) or "method" not in values:
            return values
        return {**values, "method_options": method_options(values["method"], options)}


class TrainingResult(StrictModel):
    """Result of a training run."""

    model: Path = Field(description="folder of the kept model, in the format of sentence-transformers")
    steps: int = Field(description="steps trained")
    best_step: int = Field(description="the step of the kept model")
    best_score: float | None = Field(
        description="development score of the kept model in points; null without development tasks"
    )
    start_score: float | None = Field(None, description="development score before training")
    seconds: float = Field(description="time of the training steps, over all runs")
    pairs_per_second: float = Field(description="throughput of the training steps, without evaluations and checkpoints")
    history: list[dict[str, float]] = Field(description="reported metrics, each with its `step`")

    @property
    def below_start(self) -> bool:
        """Whether the kept model scores below the starting encoder on the development tasks."""
        if self.best_score is None or self.start_score is None:
            return False
        return self.best_score < self.start_score
