"""Locate or download the dumps of a setting."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.acquire.nodes import locate_dumps
from ease.pipelines.setting import MULTILINGUAL


def create_pipeline(setting: str = MULTILINGUAL) -> Pipeline:
    """Create `acquire` for one setting."""
    stage = pipeline(
        [
            node(
                locate_dumps,
                inputs=["params:acquire", "params:setting"],
                outputs="dumps",
                name="locate_dumps",
            ),
        ],
        # The namespace of a stage groups its nodes (`multilingual.acquire`); the tables are the setting's.
        namespace="acquire",
        prefix_datasets_with_namespace=False,
        tags="acquire",
    )
    # The parameters listed here are the project's; all others belong to the setting.
    return pipeline(stage, namespace=setting, parameters={"params:acquire"})
