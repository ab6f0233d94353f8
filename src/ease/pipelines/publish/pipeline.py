"""Publish an encoder or MewsC-16."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.publish.nodes import announce, write_folder


def create_pipeline() -> Pipeline:
    """Create `publish`; the catalog reads as `published.encoder` the encoder that the parameters choose."""
    return pipeline(
        [
            node(
                write_folder,
                inputs=[
                    "params:publish",
                    "published.encoder",
                    "published.scores",
                    # The labels of the trained entities.
                    "published.vocabulary",
                    # Every form of the encoder is compared with torch on some of their sentences.
                    "published.training_pairs",
                    "published.mewsc16",
                ],
                outputs="published.summary",
                name="write_folder",
            ),
            node(
                announce,
                inputs=["params:publish", "published.summary", "published.encoder"],
                outputs="published.addresses",
                name="announce",
            ),
        ],
        tags="publish",
    )
