"""All pipelines of the project: pieces first, then sums of pieces."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.methods import method_names
from ease.pipelines import (
    acquire,
    acquire_evaluation,
    analysis,
    entity_embeddings,
    entity_pairs,
    evaluate,
    hard_negatives,
    ingest,
    mewsc16,
    report,
    sweep,
    train,
)

SETTINGS = ("multilingual", "monolingual")
SWEEPS = ("seeds", "grid", "control")


def register_pipelines() -> dict[str, Pipeline]:
    """Name every pipeline that `kedro run --pipeline=NAME` knows.

    A piece by its own name is that of the multilingual setting; `--pipeline=train_monolingual --tags=<piece>` runs it
    for the other.
    """
    pieces = {setting: setting_pieces(setting) for setting in SETTINGS}
    sums = {f"train_{setting}": sum(pieces[setting].values(), Pipeline([])) for setting in SETTINGS}
    sweeps = {
        name: training_data(pieces["multilingual"]) + sweep.create_pipeline("multilingual", name)
        for name in SWEEPS
    }
    return {
        **pieces["multilingual"],
        "acquire_evaluation": evaluation_data(pieces),
        "evaluate": evaluation_data(pieces) + evaluations(pieces),
        "report": reports(pieces),
        **sums,
        **sweeps,
        "analysis": analysis.create_pipeline("multilingual", method_names()),
        "analysis_monolingual": analysis.create_pipeline(
            "monolingual", method_names(), across_languages=False
        ),
        "mewsc16": mewsc16.create_pipeline(),
        "__default__": sums["train_multilingual"],
    }


def setting_pieces(setting: str) -> dict[str, Pipeline]:
    """Create the pieces of one setting, in the order in which data flows."""
    methods = method_names()
    start = train.create_encoder_pipeline(setting)
    trainings = [train.create_pipeline(setting, method) for method in methods]
    evaluations = [evaluate.create_pipeline(setting, name) for name in (train.UNTRAINED, *methods)]
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


def evaluation_data(pieces: dict[str, dict[str, Pipeline]]) -> Pipeline:
    """Sum what lays out the evaluation sets of all settings and of the baselines."""
    located = (pieces[setting]["acquire_evaluation"] for setting in SETTINGS)
    return sum(located, acquire_evaluation.create_baselines_pipeline(SETTINGS))


def evaluations(pieces: dict[str, dict[str, Pipeline]]) -> Pipeline:
    """Sum what scores the newest encoder of every setting and method, and the baselines."""
    return sum(
        (pieces[setting]["evaluate"] for setting in SETTINGS), evaluate.create_baselines_pipeline(SETTINGS)
    )


def reports(pieces: dict[str, dict[str, Pipeline]]) -> Pipeline:
    """Sum what compares the methods of each setting, and all scores with the published ones."""
    compared = (pieces[setting]["report"] for setting in SETTINGS)
    return sum(compared, report.create_report_pipeline(SETTINGS, method_names()))


def training_data(pieces: dict[str, Pipeline]) -> Pipeline:
    """Sum the pieces that make what trainings are given."""
    return sum(
        (piece for name, piece in pieces.items() if name not in ("train", "evaluate", "report")), Pipeline([])
    )
