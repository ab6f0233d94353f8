"""All pipelines of the project: stages of a setting, and sums of stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kedro.pipeline import Pipeline

from ease.io.names import UNTRAINED
from ease.methods import method_names
from ease.pipelines import (
    acquire,
    acquire_evaluation,
    analysis,
    audit,
    contamination,
    distill,
    entity_embeddings,
    entity_pairs,
    evaluate,
    hard_negatives,
    ingest,
    mewsc16,
    mine_bitext,
    publish,
    report,
    sweep,
    teach,
    train,
    validate_evaluation,
)
from ease.pipelines.setting import EASE_PLUS, MLM

SETTINGS = ("multilingual", "monolingual")
EASE = "ease"
COMPARED = ("simcse", EASE, EASE_PLUS)
"""The methods that `train_<setting>` trains; `train` trains all methods."""
LOW_RESOURCE = "low_resource"
"""The setting that adds languages to a multilingual encoder, one model for each."""
LANGUAGES_SWEEP = "low_resource_languages"
SWEEPS = sweep.registered_sweeps()
"""Settings of the sweeps, by the sweeps' names; each is a pipeline of its own."""


def register_pipelines() -> dict[str, Pipeline]:
    """Return every pipeline that `kedro run --pipelines=NAME` knows.

    A piece by its own name belongs to the multilingual setting; `--pipelines=train_monolingual --tags=<piece>` runs
    the piece of the other setting. `train`, `evaluate` and `report` comprise all settings and methods, with whitening:
    select by `--namespaces`.
    """
    compared = {setting: setting_pieces(setting, COMPARED) for setting in SETTINGS}
    methods = (*method_names(), train.WHITENING)
    every = {setting: setting_pieces(setting, methods) for setting in SETTINGS}
    students = {setting: create_distillation(setting, every[setting]) for setting in SETTINGS}
    compared_students = [
        report.create_pipeline(setting, (*methods, *distill.STUDENTS)) for setting in SETTINGS
    ]
    sums = {f"train_{setting}": sum(pieces.values(), Pipeline([])) for setting, pieces in compared.items()}
    every_data = {setting: training_data(pieces) for setting, pieces in every.items()}
    every_data[LOW_RESOURCE] = training_data(setting_pieces(LOW_RESOURCE, (EASE, MLM)))
    sweeps = {name: create_sweep(name, registered, every_data) for name, registered in SWEEPS.items()}
    sums[f"train_{LOW_RESOURCE}"] = sweeps[LANGUAGES_SWEEP]
    located = of_all_settings(every, "acquire_evaluation") + acquire_evaluation.create_baselines_pipeline(
        SETTINGS
    )
    scored = of_all_settings(every, "evaluate") + evaluate.create_baselines_pipeline(SETTINGS)
    scored = sum(map(score_students, SETTINGS), scored)
    return {
        "__default__": sums["train_multilingual"],
        **every["multilingual"],
        "acquire_evaluation": located,
        "train": of_all_settings(every, "train"),
        "evaluate": located + scored,
        "report": sum(compared_students, create_report((*methods, *distill.STUDENTS))),
        "distill": students["multilingual"],
        "distill_monolingual": students["monolingual"],
        **sums,
        **sweeps,
        "analysis": analysis.create_pipeline("multilingual", methods),
        "analysis_monolingual": analysis.create_pipeline("monolingual", methods, across_languages=False),
        "audit": create_audit("multilingual", every["multilingual"]),
        "contamination": contamination.create_pipeline("multilingual", methods),
        "contamination_monolingual": contamination.create_pipeline("monolingual", methods),
        "mewsc16": mewsc16.create_pipeline(),
        "mine_bitext": mine_bitext.create_pipeline("multilingual"),
        "publish": publish.create_pipeline(),
        "teach": teach.create_pipeline(),
        "validate_evaluation": validate_evaluation.create_pipeline(),
    }


def setting_pieces(setting: str, methods: Sequence[str]) -> dict[str, Pipeline]:
    """Create the pieces of one setting, in the order in which data flows."""
    start = train.create_encoder_pipeline(setting)
    # If MLM is not trained, no stage would make its encoder.
    trainings = [train.create_pipeline(setting, method, mlm_start=MLM in methods) for method in methods]
    evaluations = [evaluate.create_pipeline(setting, name) for name in (UNTRAINED, *methods)]
    return {
        "acquire": acquire.create_pipeline(setting),
        "acquire_evaluation": acquire_evaluation.create_pipeline(setting),
        "ingest": ingest.create_pipeline(setting),
        "entity_pairs": entity_pairs.create_pipeline(setting),
        "hard_negatives": hard_negatives.create_pipeline(setting),
        "entity_embeddings": start + entity_embeddings.create_pipeline(setting),
        "train": sum(trainings, Pipeline([])),
        "evaluate": sum(evaluations, Pipeline([])),
        "report": report.create_pipeline(setting, methods),
    }


def create_audit(setting: str, pieces: Mapping[str, Pipeline]) -> Pipeline:
    """Create the audit of one setting, after the stages that parse its dumps."""
    return pieces["acquire"] + pieces["ingest"] + audit.create_pipeline(setting)


def create_distillation(setting: str, pieces: Mapping[str, Pipeline]) -> Pipeline:
    """Create the students of one setting and their scores."""
    return pieces["acquire_evaluation"] + distill.create_pipeline(setting) + score_students(setting)


def score_students(setting: str) -> Pipeline:
    """Create `evaluate` for the students of one setting."""
    return sum((evaluate.create_pipeline(setting, student) for student in distill.STUDENTS), Pipeline([]))


def create_sweep(name: str, registered: sweep.Registered, data: Mapping[str, Pipeline]) -> Pipeline:
    """Create a sweep, after the stages that make its setting's data if the sweep reads entities."""
    own = sweep.create_pipeline(name, registered)
    return data[registered.setting] + own if registered.entities else own


def create_report(methods: Sequence[str]) -> Pipeline:
    """Create the report over the methods of all settings, and the sweeps of these and of further settings."""
    swept = {
        setting: [name for name, registered in SWEEPS.items() if registered.setting == setting]
        for setting in (*SETTINGS, LOW_RESOURCE)
    }
    trained = {setting: methods if setting in SETTINGS else () for setting in swept}
    return report.create_report_pipeline(trained, swept)


def of_all_settings(pieces: dict[str, dict[str, Pipeline]], name: str) -> Pipeline:
    """Sum one piece over all settings."""
    return sum((pieces[setting][name] for setting in SETTINGS), Pipeline([]))


def training_data(pieces: dict[str, Pipeline]) -> Pipeline:
    """Sum the pieces that make the inputs of a sweep's trainings; a sweep locates its own evaluation sets."""
    others = ("acquire_evaluation", "train", "evaluate", "report")
    return sum((piece for name, piece in pieces.items() if name not in others), Pipeline([]))
