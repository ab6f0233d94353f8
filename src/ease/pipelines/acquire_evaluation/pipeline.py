"""Wiring of `acquire_evaluation`."""

from collections.abc import Sequence

from kedro.pipeline import Pipeline, node, pipeline

from ease.io.names import BASELINES
from ease.pipelines.acquire_evaluation.nodes import locate_baseline_sets, locate_evaluation_sets

SHARED = ("acquire", "acquire_evaluation", "tasks", "evaluate")


def create_pipeline(setting: str) -> Pipeline:
    """Create `acquire_evaluation` for one setting."""
    given = [f"params:{name}" for name in (*SHARED, "setting")]
    return pipeline(
        [node(locate_evaluation_sets, given, "evaluation_data", name="locate_evaluation_sets")],
        namespace=setting,
        parameters=set(SHARED),
        tags="acquire_evaluation",
    )


def create_baselines_pipeline(settings: Sequence[str]) -> Pipeline:
    """Create `acquire_evaluation` for the baselines, which are scored on the tasks of all settings."""
    given = {"sets" if name == "acquire_evaluation" else name: f"params:{name}" for name in SHARED}
    given |= {setting: f"params:{setting}" for setting in settings}
    return pipeline(
        [node(locate_baseline_sets, given, "evaluation_data", name="locate_baseline_sets")],
        namespace=BASELINES,
        parameters={name: name for name in SHARED} | {name: f"{name}.setting" for name in settings},
        tags="acquire_evaluation",
    )
