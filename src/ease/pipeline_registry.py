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
METHODS = tuple(method_names())


def register_pipelines() -> dict[str, Pipeline]:
    """Name every pipeline that `kedro run --pipeline=NAME` knows.

    A piece runs for the multilingual setting; `--pipeline=train_monolingual --tags=<piece>` runs it for the other.
    """
    pieces = {setting: _pieces(setting) for setting in SETTINGS}
    sums = {f"train_{setting}": sum(pieces[setting].values(), Pipeline([])) for setting in SETTINGS}
    sweeps = {
        name: _data(pieces["multilingual"]) + sweep.create_pipeline("multilingual", name) for name in SWEEPS
    }
    return {**pieces["multilingual"], **sums, **sweeps, "__default__": sums["train_multilingual"]}
