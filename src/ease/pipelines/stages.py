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


class StagesOutermost(Pipeline):
    """A pipeline of one setting whose nodes are shown without the setting's namespace, and found with and without it.

    Kedro-Viz shows outermost namespaces first: below the setting's namespace the stages would be hidden in one box. A
    sum with another pipeline has the nodes with their complete names, so that nodes of both are the same.
    """

    def __init__(self, complete: Pipeline, setting: str) -> None:
        """Remove the setting from the namespaces.

        Args:
            complete: The pipeline, all of whose namespaces begin with the setting.
            setting: To remove.
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
        """Select nodes, named likewise, and all that depend on them."""
        return super().from_nodes(*map(self._shortened, node_names))

    def to_nodes(self, *node_names: str) -> Pipeline:
        """Select nodes, named likewise, and all that they depend on."""
        return super().to_nodes(*map(self._shortened, node_names))

    def __add__(self, other: object) -> Pipeline:
        """Sum with the complete names."""
        return self.complete + other

    def __radd__(self, other: object) -> Pipeline:
        """Sum likewise; Kedro adds each pipeline of a run to an empty one first, which changes nothing."""
        if isinstance(other, Pipeline) and other.nodes:
            return Pipeline([*other.nodes]) + self.complete
        return self


def spellings(pipeline: Pipeline) -> list[Pipeline]:
    """Return a pipeline once for each way in which its nodes and namespaces may be named."""
    return [pipeline, pipeline.complete] if isinstance(pipeline, StagesOutermost) else [pipeline]
