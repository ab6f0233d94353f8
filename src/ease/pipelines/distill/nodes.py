"""Nodes of `distill`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from ease.encoders.base_models import base_model_of, start_of
from ease.encoders.model_card import STATIC_USAGE, USAGE, ModelCardData, model_card
from ease.encoders.options import EncoderOptions, EncodingOptions
from ease.errors import EaseError
from ease.io.lazy import ibis
from ease.pipelines.distill.options import ShallowStudentOptions, StaticStudentOptions
from ease.pipelines.distill.refining import refine
from ease.pipelines.encoder_defaults import EncoderDefaults
from ease.pipelines.mlflow_runs import RunReport, TrackingOptions, flatten_options, log_model, training_run
from ease.pipelines.origins import write_origin
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import EASE_PLUS, Setting
from ease.pipelines.starts import missing_teacher
from ease.pipelines.training_inputs import required_pairs
from ease.pipelines.training_jobs import TrainingData, describe_data
from ease.pipelines.work import lock_for_run

Rows = list[dict[str, Any]]

STATIC = (
    "It has one vector per token and no transformer: the mean of a sentence's vectors is its embedding. The vectors "
    "learned the teacher's embeddings of the training sentences."
)
SHALLOW = (
    "It has the first layers of its teacher, and learned the teacher's embeddings of the training sentences."
)


def distill_static(
    teacher: Path | None,
    training_pairs: ibis.Table | None,
    dumps: dict[str, Any],
    evaluation_data: dict[str, Any],
    vocabulary: ibis.Table,
    entity_embeddings: Path,
    options: StaticStudentOptions,
    recipe: Recipe,
    setting: Setting,
    encoding: EncodingOptions,
    encoders: EncoderDefaults,
    tasks: dict[str, dict[str, Any]],
    work: str,
    tracking: TrackingOptions,
) -> tuple[Path, Rows]:
    """Train a static student, one vector per token, in a nested MLflow run; resume an interrupted run.

    Returns:
        The folder of the student, in the work folder; rows of step, name and value.

    Raises:
        EaseError: If there is no teacher or no pair, or the options do not fit the teacher.
    """
    source, pairs = chosen_teacher(options.teacher, teacher, setting), required_pairs(training_pairs, setting)
    data = TrainingData(source, pairs, vocabulary, entity_embeddings, evaluation_data, dumps, tasks, setting)
    return _distill(
        "static_student", STATIC, STATIC_USAGE, data, options, recipe, encoding, encoders, work, tracking
    )


def distill_shallow(
    teacher: Path | None,
    training_pairs: ibis.Table | None,
    dumps: dict[str, Any],
    evaluation_data: dict[str, Any],
    vocabulary: ibis.Table,
    entity_embeddings: Path,
    options: ShallowStudentOptions,
    recipe: Recipe,
    setting: Setting,
    encoding: EncodingOptions,
    encoders: EncoderDefaults,
    tasks: dict[str, dict[str, Any]],
    work: str,
    tracking: TrackingOptions,
) -> tuple[Path, Rows]:
    """Train a student of the teacher's first layers, as `distill_static` does."""
    source, pairs = chosen_teacher(options.teacher, teacher, setting), required_pairs(training_pairs, setting)
    data = TrainingData(source, pairs, vocabulary, entity_embeddings, evaluation_data, dumps, tasks, setting)
    return _distill(
        "shallow_student", SHALLOW, USAGE, data, options, recipe, encoding, encoders, work, tracking
    )


def _distill(
    student: str,
    summary: str,
    usage: str,
    data: TrainingData,
    options: StaticStudentOptions | ShallowStudentOptions,
    recipe: Recipe,
    encoding: EncodingOptions,
    encoders: EncoderDefaults,
    work: str,
    tracking: TrackingOptions,
) -> tuple[Path, Rows]:
    """Train a student, refine it if its options say so, and save its metadata beside it."""
    from ease.entities.links import distinct_sentences
    from ease.training.students.distilling import distill_student

    setting = data.setting
    start = EncoderOptions(name=options.teacher) if options.teacher else setting.encoder
    name = f"{setting.name}.{student}"
    parameters = {**flatten_options(options), **flatten_options(setting, "setting"), "method": student}
    card = partial(
        _card,
        described_student(student, data, options.teacher),
        student,
        summary,
        options.model_dump(exclude={"teacher"}),
        usage,
    )
    with training_run(name, parameters) as run_id:
        report = RunReport(run_id)
        made = distill_student(
            str(data.encoder),
            distinct_sentences(data.rows, options.rows, options.seed),
            options,
            lock_for_run(Path(work) / name).folder,
            encoding=encoding,
            card=card,
            report=report,
        )
        report.complete(made.history)
        model = made.model
        history = [
            {"step": int(line["step"]), "name": "loss", "value": line["loss"]} for line in made.history
        ]
        if options.refining is not None:
            data = data._replace(encoder=made.model)
            model, history = refine(f"{name}.refined", data, recipe, encoders, options, Path(work))
        log_model(model, name, tracking)
    write_origin(model, run_id, start, options.matryoshka)
    return model, history


def described_student(student: str, data: TrainingData, teacher: str | None) -> ModelCardData:
    """Return the card's description of a student's data and of its teacher, given by the options or the setting's."""
    described = describe_data(student, None, data.dumps, data.setting)
    if teacher is None:
        return described.model_copy(update={"start": f"the encoder `{data.setting.name}.{EASE_PLUS}`"})
    named = {"base_model": base_model_of(teacher), "start": start_of(teacher)}
    return described.model_copy(update=named)


def _card(
    data: ModelCardData,
    student: str,
    summary: str,
    parameters: dict[str, Any],
    usage: str,
    dimension: int,
    sentences: int,
) -> str:
    """Return a student's model card."""
    return model_card(
        data,
        method=student,
        summary=summary,
        parameters=parameters,
        embedding=f"{dimension} dimensions, learned from {sentences} sentences.",
        usage=usage,
    )


def chosen_teacher(given: str | None, saved: Path | None, setting: Setting) -> str | Path:
    """Return the teacher: the encoder that the options name, else the setting's own.

    Raises:
        EaseError: If there is none, with the commands that make it.
    """
    if given is not None:
        return given
    if saved is None:
        raise EaseError(missing_teacher(setting.name))
    return saved
