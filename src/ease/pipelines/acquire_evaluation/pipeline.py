"""Locate or download the evaluation sets of the settings and of the baselines."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.evaluation.scoring import BASELINES
from ease.pipelines.acquire_evaluation.nodes import locate_baseline_sets, locate_evaluation_sets
from ease.pipelines.setting import MONOLINGUAL, MULTILINGUAL, SETTINGS


def create_pipeline() -> Pipeline:
    """Create `acquire_evaluation` for all settings and the baselines."""
    return pipeline([*(create_set_location(setting) for setting in SETTINGS), _baseline_set_location()])


def create_set_location(setting: str) -> Pipeline:
    """Create `acquire_evaluation` for one setting."""
    stage = pipeline(
        [
            node(
                locate_evaluation_sets,
                inputs=[
                    "params:acquire",
                    "params:acquire_evaluation",
                    "params:tasks",
                    # `evaluate.tasks` may name further tasks.
                    "params:evaluate",
                    "params:setting",
                ],
                outputs="evaluation_data",
                name="locate_evaluation_sets",
            ),
        ],
        namespace="acquire_evaluation",
        prefix_datasets_with_namespace=False,
        tags="acquire_evaluation",
    )
    shared = {"params:acquire", "params:acquire_evaluation", "params:tasks", "params:evaluate"}
    return pipeline(stage, namespace=setting, parameters=shared)


def _baseline_set_location() -> Pipeline:
    location = node(
        locate_baseline_sets,
        inputs=[
            "params:acquire",
            "params:acquire_evaluation",
            "params:tasks",
            "params:evaluate",
            f"params:{MULTILINGUAL}.setting",
            f"params:{MONOLINGUAL}.setting",
        ],
        outputs=f"{BASELINES}.evaluation_data",
        name="locate_baseline_sets",
        namespace=BASELINES,
    )
    return pipeline([location], tags="acquire_evaluation")
