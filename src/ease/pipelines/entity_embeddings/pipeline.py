"""Wiring of `entity_embeddings`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.io.names import UNTRAINED
from ease.pipelines.entity_embeddings.nodes import make_entity_embeddings

TABLES = ("entity_vocabulary", "sitelinks", "redirects", "dumps", "untrained_encoder")


def create_pipeline(setting: str, *, own_options: bool = False) -> Pipeline:
    """Create `entity_embeddings` for one setting, by its own options or those of all settings."""
    options = "params:entity_embeddings"
    given = [*TABLES, options, "params:setting", "params:work"]
    made = ["entity_embeddings", "embedding_coverage"]
    return pipeline(
        [node(make_entity_embeddings, given, made, name="make_entity_embeddings")],
        namespace=setting,
        inputs={"untrained_encoder": f"{setting}.{UNTRAINED}.encoder"},
        parameters={"params:work"} if own_options else {options, "params:work"},
        tags="entity_embeddings",
    )
