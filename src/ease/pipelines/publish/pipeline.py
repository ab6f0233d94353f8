"""Publish an encoder or MewsC-16."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.pipelines.publish.nodes import announce, write_folder
from ease.pipelines.wiring import step


def create_pipeline() -> Pipeline:
    """Create `publish`, whose encoder the parameters choose."""
    read = ("encoder", "scores", "vocabulary", "training_pairs", "mewsc16")
    given = {name: f"published.{name}" for name in read}
    given["options"], summary = "params:publish", "published.summary"
    announced = {"options": given["options"], "summary": summary, "encoder": given["encoder"]}
    nodes = [step(write_folder, summary, **given), step(announce, "published.addresses", **announced)]
    return Pipeline(nodes, tags="publish")
