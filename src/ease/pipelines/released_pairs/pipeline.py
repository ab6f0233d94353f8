"""Make the training pairs and the vocabulary of a setting from pairs that others have released."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.entities.vocabulary import number_titles
from ease.pipelines.released_pairs.nodes import (
    link_released_pairs,
    locate_released_pairs,
    make_released_pairs,
    read_released_pairs,
)
from ease.pipelines.setting import SETTINGS


def create_pipeline() -> Pipeline:
    """Create `released_pairs` for the settings that compare methods."""
    return pipeline([_released_pairs(setting) for setting in SETTINGS])


def _released_pairs(setting: str) -> Pipeline:
    # Its tables take the place of those of `acquire`, `ingest`, `entity_pairs` and `hard_negatives`.
    stage = pipeline(
        [
            node(
                locate_released_pairs,
                inputs=["params:acquire", "params:pairs", "params:setting"],
                outputs="dumps",
                name="locate_released_pairs",
            ),
            node(
                read_released_pairs,
                # The folder of parts keeps the tables from run to run.
                inputs=["dumps", "params:ingest", "params:setting"],
                outputs=["sentences", "redirects", "sitelinks", "entity_types"],
                name="read_released_pairs",
            ),
            node(
                link_released_pairs,
                inputs=["sentences", "redirects", "params:setting"],
                outputs="links",
                name="link_released_pairs",
            ),
            node(
                number_titles,
                inputs=["links", "sitelinks"],
                outputs="entity_vocabulary",
                name="number_titles",
            ),
            node(
                make_released_pairs,
                inputs=[
                    "sentences",
                    "links",
                    "sitelinks",
                    "entity_types",
                    "entity_vocabulary",
                    "params:pairs",
                    # Only its seed has an effect.
                    "params:hard_negatives",
                    "params:setting",
                ],
                outputs="training_pairs",
                name="make_released_pairs",
            ),
        ],
        namespace="released_pairs",
        prefix_datasets_with_namespace=False,
        tags="released_pairs",
    )
    project_parameters = {"params:acquire", "params:ingest", "params:hard_negatives"}
    return pipeline(stage, namespace=setting, parameters=project_parameters)
