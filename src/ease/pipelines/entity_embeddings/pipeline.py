"""Make the initial entity embeddings of a setting."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.methods import UNTRAINED
from ease.pipelines.entity_embeddings.nodes import make_entity_embeddings
from ease.pipelines.wiring import namespaced, step


def create_pipeline(setting: str, own: str = "") -> Pipeline:
    """Create `entity_embeddings` for one setting; `own` is a parameter of the project that the setting overrides."""
    read = {"encoder": f"{setting}.{UNTRAINED}.encoder", "options": "params:entity_embeddings"}
    made = step(make_entity_embeddings, ["entity_embeddings", "embedding_coverage"], **read)
    return namespaced([made], setting, "entity_embeddings", own=own)
