"""Checks before `entity_embeddings`: the encoder to start from, and the file of vectors."""

from __future__ import annotations

from kedro.pipeline.node import Node

from ease.entities.embeddings import EmbeddingOptions
from ease.errors import EaseError
from ease.pipelines.checks import PlannedRun
from ease.pipelines.entity_embeddings.nodes import make_entity_embeddings, make_start_encoder
from ease.pipelines.setting import Setting


def check_start_encoder(node: Node, run: PlannedRun) -> None:
    """Refuse a setting's encoder that cannot be loaded or trained."""
    run.check_encoder(run.options(node, Setting).encoder.name, transformer=True)


def check_vectors(node: Node, run: PlannedRun) -> None:
    """Refuse a missing file of vectors."""
    file = run.options(node, EmbeddingOptions).file
    if file is not None and not file.is_file():
        raise EaseError(f"{file} does not exist: set `entity_embeddings.file` to the file of vectors.")


CHECKS = {make_start_encoder: [check_start_encoder], make_entity_embeddings: [check_vectors]}
