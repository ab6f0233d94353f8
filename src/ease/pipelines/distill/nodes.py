"""Nodes of `distill`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ease.encoders.model_card import STATIC_USAGE, USAGE, model_card
from ease.encoders.options import EncoderOptions, EncodingOptions
from ease.errors import EaseError
from ease.io.lazy import ibis
from ease.pipelines.distill.options import ShallowStudentOptions, StaticStudentOptions
from ease.pipelines.distill.refining import refine
from ease.pipelines.encoder_defaults import EncoderDefaults
from ease.pipelines.mlflow_runs import RunReport, TrackingOptions, flatten_options, log_model, training_run
from ease.pipelines.origins import write_origin
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import Setting
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


class Inputs(NamedTuple):
    """The inputs of both students."""

    teacher: Path | None
    training_pairs: ibis.Table | None
    dumps: dict[str, Any]
    evaluation_data: dict[str, Any]
    vocabulary: ibis.Table
    entity_embeddings: Path
    recipe: Recipe
    setting: Setting
    encoding: EncodingOptions
    encoders: EncoderDefaults
    tasks: dict[str, dict[str, Any]]
    work: str
    tracking: TrackingOptions


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
    tables = (teacher, training_pairs, dumps, evaluation_data, vocabulary, entity_embeddings)
    given = Inputs(*tables, recipe, setting, encoding, encoders, tasks, work, tracking)
    return _distill("static_student", given, options, STATIC, STATIC_USAGE)


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
    tables = (teacher, training_pairs, dumps, evaluation_data, vocabulary, entity_embeddings)
    given = Inputs(*tables, recipe, setting, encoding, encoders, tasks, work, tracking)
    return _distill("shallow_student", given, options, SHALLOW, USAGE)


def _distill(
    student: str,
    given: Inputs,
    options: StaticStudentOptions | ShallowStudentOptions,
    summary: str,
    usage: str,
) -> tuple[Path, Rows]:
    """Train a student, refine it if its options say so, and save its metadata beside it."""
    from ease.encoders.whitening import distinct_sentences
    from ease.training.students.distilling import distill_student

    setting = given.setting
    teacher = chosen_teacher(options.teacher, given.teacher, setting)
    pairs = required_pairs(given.training_pairs, setting)
    start = EncoderOptions(name=options.teacher) if options.teacher else setting.encoder
    name = f"{setting.name}.{student}"
    parameters = {**flatten_options(options), **flatten_options(setting, "setting"), "method": student}
    described = describe_data(student, None, given.dumps, setting)
    card = partial(_card, described, student, summary, options.model_dump(exclude={"teacher"}), usage)
    with training_run(name, parameters) as run_id:
        report = RunReport(run_id)
        made = distill_student(
            str(teacher),
            distinct_sentences(pairs, options.rows, options.seed),
            options,
            lock_for_run(Path(given.work) / name).folder,
            encoding=given.encoding,
            card=card,
            report=report,
        )
        report.complete(made.history)
        model, history = (
            made.model,
            [{"step": int(line["step"]), "name": "loss", "value": line["loss"]} for line in made.history],
        )
        if options.refining is not None:
            model, history = _refined(f"{name}.refined", made.model, pairs, given, options)
        log_model(model, name, given.tracking)
    write_origin(model, run_id, start, options.matryoshka)
    return model, history


def _refined(
    name: str,
    student: Path,
    pairs: ibis.Table,
    given: Inputs,
    options: StaticStudentOptions | ShallowStudentOptions,
) -> tuple[Path, Rows]:
    """Train a student further with the loss of `ease_plus`."""
    entities = (given.vocabulary, given.entity_embeddings)
    data = TrainingData(
        student, pairs, *entities, given.evaluation_data, given.dumps, given.tasks, given.setting
    )
    return refine(name, data, given.recipe, given.encoders, options, Path(given.work))


def _card(
    data: Any,
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
