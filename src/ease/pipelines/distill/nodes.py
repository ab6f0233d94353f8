"""Nodes of `distill`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from ease.encoders.model_card import STATIC_USAGE, USAGE, model_card
from ease.encoders.options import EncoderOptions, EncodingOptions
from ease.errors import EaseError
from ease.io.lazy import ibis
from ease.pipelines.mlflow_runs import (
    RunReport,
    TrackingOptions,
    flatten_options,
    log_model,
    remember_run,
    training_run,
)
from ease.pipelines.setting import Setting
from ease.pipelines.starts import missing_teacher
from ease.pipelines.train.nodes import required_pairs
from ease.pipelines.training_jobs import describe_data
from ease.pipelines.work import lock_for_run
from ease.training.students import ShallowOptions, StaticOptions

Rows = list[dict[str, Any]]


def distill_static(
    teacher: Path | None,
    training_pairs: ibis.Table | None,
    dumps: dict[str, Any],
    options: StaticOptions,
    setting: Setting,
    encoding: EncodingOptions,
    work: str,
    tracking: TrackingOptions,
) -> tuple[Path, Rows]:
    """Make a static student, one vector a token, in a nested MLflow run; resume a broken run from its checkpoint.

    Returns:
        The folder of the student, in the work folder; rows of step, name and value.

    Raises:
        EaseError: If there is no teacher or no pair, or the options do not fit the teacher.
    """
    summary = (
        "It has one vector a token and no transformer: the mean of a sentence's vectors is its embedding. The vectors "
        "learned the teacher's embeddings of the training sentences."
    )
    data = (teacher, training_pairs, dumps)
    return _distill("static_student", data, options, setting, encoding, work, tracking, summary, STATIC_USAGE)


def distill_shallow(
    teacher: Path | None,
    training_pairs: ibis.Table | None,
    dumps: dict[str, Any],
    options: ShallowOptions,
    setting: Setting,
    encoding: EncodingOptions,
    work: str,
    tracking: TrackingOptions,
) -> tuple[Path, Rows]:
    """Make a student of the teacher's first layers, likewise."""
    summary = (
        f"It has the first {options.layers} layer(s) of its teacher, and learned the teacher's embeddings of the "
        "training sentences."
    )
    data = (teacher, training_pairs, dumps)
    return _distill("shallow_student", data, options, setting, encoding, work, tracking, summary, USAGE)


def _distill(
    student: str,
    data: tuple[Path | None, ibis.Table | None, dict[str, Any]],
    options: StaticOptions | ShallowOptions,
    setting: Setting,
    encoding: EncodingOptions,
    work: str,
    tracking: TrackingOptions,
    summary: str,
    usage: str,
) -> tuple[Path, Rows]:
    """Make a student and save what is known of it beside it."""
    from ease.encoders.whitening import distinct_sentences
    from ease.training.students.distilling import distill_student

    saved, training_pairs, dumps = data
    teacher = chosen_teacher(options.teacher, saved, setting)
    pairs = required_pairs(training_pairs, setting)
    start = EncoderOptions(name=options.teacher) if options.teacher else setting.encoder
    name = f"{setting.name}.{student}"
    parameters = {**flatten_options(options), **flatten_options(setting, "setting"), "method": student}
    described = describe_data(student, None, dumps, setting)
    card = partial(_card, described, student, summary, options.model_dump(exclude={"teacher"}), usage)
    with training_run(name, parameters) as run_id:
        report = RunReport(run_id)
        made = distill_student(
            str(teacher),
            distinct_sentences(pairs, options.rows, options.seed),
            options,
            lock_for_run(Path(work) / name).folder,
            encoding=encoding,
            card=card,
            report=report,
        )
        report.complete(made.history)
        log_model(made.model, name, tracking)
    remember_run(made.model, run_id, start, options.matryoshka)
    return made.model, [
        {"step": int(values["step"]), "name": "loss", "value": values["loss"]} for values in made.history
    ]


def _card(
    data: Any,
    student: str,
    summary: str,
    parameters: dict[str, Any],
    usage: str,
    dimension: int,
    sentences: int,
) -> str:
    """Return a student's card."""
    return model_card(
        data,
        method=student,
        summary=summary,
        parameters=parameters,
        embedding=f"{dimension} dimensions, learned from {sentences} sentences.",
        usage=usage,
    )


def chosen_teacher(given: str | None, saved: Path | None, setting: Setting) -> str | Path:
    """Return the encoder to learn from: the one that the options name, else the setting's own.

    Raises:
        EaseError: If there is none, with the commands that make it.
    """
    if given is not None:
        return given
    if saved is None:
        raise EaseError(missing_teacher(setting.name))
    return saved
