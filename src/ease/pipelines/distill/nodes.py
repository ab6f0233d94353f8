"""Train small encoders to reproduce a large one, and score them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ease.encoders.check import base_model_of, start_of
from ease.encoders.model_card import STATIC_USAGE, USAGE, model_card
from ease.encoders.options import EncoderOptions, EncodingOptions
from ease.lazy import ibis
from ease.options import Rows
from ease.pipelines.setting import EASE_PLUS, Setting
from ease.pipelines.tracking import (
    RunReport,
    TrackingOptions,
    flatten_options,
    log_model,
    training_run,
    write_origin,
)
from ease.pipelines.train.nodes import describe_data, required_pairs
from ease.pipelines.work import lock_for_run
from ease.training.options import ShallowOptions, StaticOptions

ABOUT = {
    "static_student": (
        "It has one vector per token and no transformer: the mean of a sentence's vectors is its embedding. The "
        "vectors learned the teacher's embeddings of the training sentences."
    ),
    "shallow_student": (
        "It has the first layers of its teacher, and learned the teacher's embeddings of the training sentences."
    ),
}


def distill_static(
    options: StaticOptions,
    setting: Setting,
    encoding: EncodingOptions,
    tracking: TrackingOptions,
    work: str,
    **data: Any,
) -> tuple[Path, Rows]:
    """Train a static student, one vector per token, in a nested MLflow run; resume an interrupted run.

    Returns:
        The folder of the student, in the work folder; rows of step, name and value.
    """
    return _distill("static_student", options, setting, encoding, tracking, work, **data)


def distill_shallow(
    options: ShallowOptions,
    setting: Setting,
    encoding: EncodingOptions,
    tracking: TrackingOptions,
    work: str,
    **data: Any,
) -> tuple[Path, Rows]:
    """Train a student of the teacher's first layers, as `distill_static` does."""
    return _distill("shallow_student", options, setting, encoding, tracking, work, **data)


def _distill(
    student: str,
    options: StaticOptions | ShallowOptions,
    setting: Setting,
    encoding: EncodingOptions,
    tracking: TrackingOptions,
    work: str,
    teacher: Path | None,
    training_pairs: ibis.Table | None,
    dumps: dict[str, Any],
) -> tuple[Path, Rows]:
    from ease.entities.links import distinct_sentences
    from ease.training.students import distill_student

    pairs = required_pairs(training_pairs, setting)
    described: dict[str, Any] = {"start": f"the encoder `{setting.name}.{EASE_PLUS}`"}
    if options.teacher:
        described = {"base_model": base_model_of(options.teacher), "start": start_of(options.teacher)}
    about = describe_data(student, None, dumps, setting).model_copy(update=described)

    def card(dimension: int, sentences: int) -> str:
        return model_card(
            about,
            method=student,
            summary=ABOUT[student],
            parameters=options.model_dump(exclude={"teacher"}),
            embedding=f"{dimension} dimensions, learned from {sentences} sentences.",
            usage=STATIC_USAGE if isinstance(options, StaticOptions) else USAGE,
        )

    name = f"{setting.name}.{student}"
    parameters = {**flatten_options(options), **flatten_options(setting, "setting"), "method": student}
    with training_run(name, parameters) as run_id:
        report = RunReport(run_id)
        made = distill_student(
            str(options.teacher or teacher),
            distinct_sentences(pairs, options.rows, options.seed),
            options,
            lock_for_run(Path(work) / name).folder,
            encoding=encoding,
            card=card,
            report=report,
        )
        report.complete(made.history)
        log_model(made.model, name, tracking)
    start = EncoderOptions(name=options.teacher) if options.teacher else setting.encoder
    write_origin(made.model, run_id, start, options.matryoshka)
    losses = [{"step": line["step"], "name": "loss", "value": line["loss"]} for line in made.history]
    return made.model, losses


STUDENTS: dict[str, Callable[..., Any]] = {"static_student": distill_static, "shallow_student": distill_shallow}
"""Nodes that train the students, by the students' names in folders, MLflow and the report"""
