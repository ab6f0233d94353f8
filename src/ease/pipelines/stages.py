"""Namespaces of nodes by stage, which Kedro-Viz draws as boxes that open."""

from __future__ import annotations

from kedro.pipeline import Pipeline


def in_stage(pipeline: Pipeline, setting: str, stage: str) -> Pipeline:
    """Put the nodes of a setting that belong to no method into the namespace `{setting}.{stage}`.

    Datasets and parameters keep their names, and `--namespaces={setting}` still selects the nodes.
    """
    return Pipeline(
        [
            node._copy(namespace=f"{setting}.{stage}") if node.namespace == setting else node
            for node in pipeline.nodes
        ]
    )


def stages_outermost(pipeline: Pipeline, setting: str) -> Pipeline:
    """Remove the setting from the namespaces of its nodes, so that its stages and methods are outermost.

    Kedro-Viz shows outermost namespaces first: below the setting's namespace the stages would be hidden in one box.
    """
    return Pipeline(
        [node._copy(namespace=(node.namespace or "").removeprefix(f"{setting}.")) for node in pipeline.nodes]
    )
