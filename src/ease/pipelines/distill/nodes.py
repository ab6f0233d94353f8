"""Nodes of `distill`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from ease.encoders.base_models import base_model_of, start_of
from ease.encoders.model_card import STATIC_USAGE, USAGE, ModelCardData, model_card
from ease.encoders.options import EncoderOptions, EncodingOptions
from ease.errors import EaseError
from ease.io.atomic import atomic_folder
from ease.io.lazy import ibis
from ease.io.models import StrictModel
from ease.pipelines.mlflow_runs import (
    RunReport,
    TrackingOptions,
    flatten_options,
    log_model,
    training_run,
    write_origin,
)
from ease.pipelines.recipe import EncoderDefaults, Recipe
from ease.pipelines.setting import EASE_PLUS, Setting
from ease.pipelines.training import (
    Rows,
    TrainingData,
    describe_data,
    history_rows,
    missing_encoder,
    required_pairs,
    train_tracked,
)
from ease.pipelines.work import lock_for_run
from ease.training.students import ShallowOptions, StaticOptions

STATIC = (
    "It has one vector per token and no transformer: the mean of a sentence's vectors is its embedding. The vectors "
    "learned the teacher's embeddings of the training sentences."
)
SHALLOW = (
    "It has the first layers of its teacher, and learned the teacher's embeddings of the training sentences."
)


class RefiningOptions(StrictModel):
    """Further training of a student with the loss of `ease_plus`."""

    max_steps: int = Field(ge=1, description="steps")
    learning_rate: float = Field(gt=0, description="peak learning rate")
    evaluate_every: int = Field(50, ge=1, description="steps between evaluations on the development tasks")


Refining = Annotated[
    RefiningOptions | None, Field(description="steps by the loss of `ease_plus`; null: none")
]


class StaticStudentOptions(StaticOptions):
    """The static student, and its training after distillation."""

    refining: Refining = None


class ShallowStudentOptions(ShallowOptions):
    """The shallow student, and its training after distillation."""

    refining: Refining = None


def distill_static(
    options: StaticStudentOptions,
    recipe: Recipe,
    setting: Setting,
    encoding: EncodingOptions,
    encoders: EncoderDefaults,
    tracking: TrackingOptions,
    work: str,
    teacher: Path | None,
    rows: ibis.Table | None,
    **data: Any,
) -> tuple[Path, Rows]:
    """Train a static student, one vector per token, in a nested MLflow run; resume an interrupted run.

    Args:
        options: The student, and its teacher if that is not the setting's own.
        recipe: The setting's recipe of `ease_plus`, for refining.
        setting: The setting.
        encoding: How the teacher encodes.
        encoders: Defaults by encoder.
        tracking: What MLflow keeps.
        work: Folder of work folders.
        teacher: The setting's encoder of `ease_plus`.
        rows: The setting's training pairs.
        data: The other fields of `TrainingData`.

    Returns:
        The folder of the student, in the work folder; rows of step, name and value.

    Raises:
        EaseError: If there is no teacher or no pair, or the options do not fit the teacher.
    """
    source = chosen_teacher(options.teacher, teacher, setting)
    given = TrainingData(encoder=source, rows=required_pairs(rows, setting), setting=setting, **data)
    card = ("static_student", STATIC, STATIC_USAGE)
    return _distill(card, given, options, recipe, encoding, encoders, Path(work), tracking)


def distill_shallow(
    options: ShallowStudentOptions,
    recipe: Recipe,
    setting: Setting,
    encoding: EncodingOptions,
    encoders: EncoderDefaults,
    tracking: TrackingOptions,
    work: str,
    teacher: Path | None,
    rows: ibis.Table | None,
    **data: Any,
) -> tuple[Path, Rows]:
    """Train a student of the teacher's first layers, as `distill_static` does."""
    source = chosen_teacher(options.teacher, teacher, setting)
    given = TrainingData(encoder=source, rows=required_pairs(rows, setting), setting=setting, **data)
    card = ("shallow_student", SHALLOW, USAGE)
    return _distill(card, given, options, recipe, encoding, encoders, Path(work), tracking)


def _distill(
    about: tuple[str, str, str],
    data: TrainingData,
    options: StaticStudentOptions | ShallowStudentOptions,
    recipe: Recipe,
    encoding: EncodingOptions,
    encoders: EncoderDefaults,
    work: Path,
    tracking: TrackingOptions,
) -> tuple[Path, Rows]:
    """Train a student, refine it if its options say so, and save its metadata beside it."""
    from ease.entities.sentences import distinct_sentences
    from ease.training.students.distilling import distill_student

    (student, summary, usage), setting = about, data.setting
    start = EncoderOptions(name=options.teacher) if options.teacher else setting.encoder
    name = f"{setting.name}.{student}"
    parameters = {**flatten_options(options), **flatten_options(setting, "setting"), "method": student}

    def card(dimension: int, sentences: int) -> str:
        return model_card(
            described_student(student, data, options.teacher),
            method=student,
            summary=summary,
            parameters=options.model_dump(exclude={"teacher"}),
            embedding=f"{dimension} dimensions, learned from {sentences} sentences.",
            usage=usage,
        )

    with training_run(name, parameters) as run_id:
        report = RunReport(run_id)
        made = distill_student(
            str(data.encoder),
            distinct_sentences(data.rows, options.rows, options.seed),
            options,
            lock_for_run(work / name).folder,
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
            model, history = refine(f"{name}.refined", data, recipe, encoders, options, work)
        log_model(model, name, tracking)
    write_origin(model, run_id, start, options.matryoshka)
    return model, history


def refine(
    name: str,
    data: TrainingData,
    recipe: Recipe,
    encoders: EncoderDefaults,
    options: StaticStudentOptions | ShallowStudentOptions,
    work: Path,
) -> tuple[Path, Rows]:
    """Train a student further by the loss of `ease_plus`, and save it in the same format as before.

    Args:
        name: Name of the MLflow run and of the work folder.
        data: The student's folder as the encoder, pairs, entities and evaluation sets.
        recipe: The setting's recipe of `ease_plus`.
        encoders: Defaults by encoder.
        options: The student's options.
        work: The folder of all work folders.

    Returns:
        The folder of the refined student; rows of step, name and value.
    """
    from ease.encoders.encoder import load_encoder, save_encoder
    from ease.training.students.static import save_static

    assert options.refining is not None
    complete = recipe.complete(data.setting.encoder.name, encoders)
    changes = options.refining.model_dump()
    changes |= {"matryoshka": options.matryoshka, "language_ranks": (), "packed": False}
    changed = complete.model_copy(update={"training": complete.training.model_copy(update=changes)})
    # The student is saved with its pooling.
    encoder_options = data.setting.encoder.model_copy(update={"pooling": None})
    data = data._replace(setting=data.setting.model_copy(update={"encoder": encoder_options}))
    result = train_tracked(name, data, changed, lock_for_run(work / name))
    refined = work / name / "student"
    with atomic_folder(refined) as folder:
        encoder = load_encoder(str(result.model))
        card = (Path(data.encoder) / "README.md").read_text(encoding="utf-8")
        is_static = isinstance(options, StaticStudentOptions)
        save = partial(save_static, int8=options.int8) if is_static else save_encoder  # type: ignore[union-attr]
        save(encoder, folder, card)
    return refined, history_rows(result)


def described_student(student: str, data: TrainingData, teacher: str | None) -> ModelCardData:
    """Return the card's description of a student's data and of its teacher, given by the options or the setting's."""
    described = describe_data(student, None, data.dumps, data.setting)
    if teacher is None:
        return described.model_copy(update={"start": f"the encoder `{data.setting.name}.{EASE_PLUS}`"})
    named = {"base_model": base_model_of(teacher), "start": start_of(teacher)}
    return described.model_copy(update=named)


def chosen_teacher(given: str | None, saved: Path | None, setting: Setting) -> str | Path:
    """Return the teacher: the encoder that the options name, else the setting's own.

    Raises:
        EaseError: If there is none, with the commands that make it.
    """
    if given is None and saved is None:
        raise EaseError(missing_encoder(setting.name, "for the students to learn from", "teacher"))
    return given or saved or ""
