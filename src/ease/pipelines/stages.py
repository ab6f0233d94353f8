"""Namespaces of nodes by stage, which Kedro-Viz draws as boxes.

Kedro has no public way to change a node's namespace without renaming its datasets, hence `node._copy`.
"""

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


class StagesOutermost(Pipeline):
    """A pipeline of one setting without the setting's namespace; nodes can be selected with and without it.

    Kedro-Viz shows outermost namespaces first: the setting's namespace would hide all stages in one box. A sum with
    another pipeline restores the complete names, so that nodes of both pipelines are the same.
    """

    def __init__(self, complete: Pipeline, setting: str) -> None:
        """Remove the setting from the namespaces.

        Args:
            complete: A pipeline whose namespaces all begin with the setting.
            setting: The namespace to remove.
        """
        self.complete = complete
        self._setting = setting
        super().__init__(
            [node._copy(namespace=self._shortened(node.namespace or "")) for node in complete.nodes]
        )

    def _shortened(self, name: str) -> str:
        return name.removeprefix(f"{self._setting}.")

    def only_nodes_with_namespaces(self, node_namespaces: list[str]) -> Pipeline:
        """Select namespaces that are given with the setting or without it; the setting alone selects all nodes."""
        if self._setting in node_namespaces:
            return self
        return super().only_nodes_with_namespaces([self._shortened(name) for name in node_namespaces])

    def only_nodes(self, *node_names: str) -> Pipeline:
        """Select nodes whose names are given with the setting or without it."""
        return super().only_nodes(*map(self._shortened, node_names))

    def from_nodes(self, *node_names: str) -> Pipeline:
        """Select nodes, with or without the setting in their names, and all nodes that depend on them."""
        return super().from_nodes(*map(self._shortened, node_names))

    def to_nodes(self, *node_names: str) -> Pipeline:
        """Select nodes, with or without the setting in their names, and all nodes that they depend on."""
        return super().to_nodes(*map(self._shortened, node_names))

    def __add__(self, other: object) -> Pipeline:
        """Sum with the complete names."""
        return self.complete + other

    def __radd__(self, other: object) -> Pipeline:
        """Sum with the complete names; Kedro first adds each pipeline to an empty one, which changes nothing."""
        if isinstance(other, Pipeline) and other.nodes:
            return Pipeline([*other.nodes]) + self.complete
        return self


def spellings(pipeline: Pipeline) -> list[Pipeline]:
    """Return a pipeline in each of the ways in which its nodes and namespaces may be named."""
    return [pipeline, pipeline.complete] if isinstance(pipeline, StagesOutermost) else [pipeline]
