"""All pipelines of the project: pieces first, then sums of pieces."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.methods import method_names
from ease.pipelines import (
    acquire,
    acquire_evaluation,
    entity_embeddings,
    entity_pairs,
    evaluate,
    hard_negatives,
    ingest,
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
    return {**pieces["multilingual"], **sums, **sweeps, "__default__": sums["train_multilingual"]}


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


def training_data(pieces: dict[str, Pipeline]) -> Pipeline:
    """Sum the pieces that make what trainings are given."""
    return sum(
        (piece for name, piece in pieces.items() if name not in ("train", "evaluate", "report")), Pipeline([])
    )
