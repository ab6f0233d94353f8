"""Wiring of `evaluate`."""

from collections.abc import Sequence

from kedro.pipeline import Pipeline, node, pipeline

from ease.io.names import BASELINES
from ease.pipelines.evaluate.nodes import score_baselines, score_encoder

SHARED = ("tasks", "evaluate", "encoding")


def create_pipeline(setting: str, method: str) -> Pipeline:
    """Create `evaluate` for the encoder of one method, or for the `untrained` one."""
    options = [f"params:{name}" for name in ("tasks", "setting", "evaluate", "encoding")]
    given = ["encoder", "evaluation_data", *options]
    return pipeline(
        [node(score_encoder, given, "scores", name="score_encoder")],
        namespace=f"{setting}.{method}",
        inputs={"evaluation_data": f"{setting}.evaluation_data"},
        parameters={**{name: name for name in SHARED}, "setting": f"{setting}.setting"},
        tags="evaluate",
    )


def create_baselines_pipeline(settings: Sequence[str]) -> Pipeline:
    """Create `evaluate` for the baselines, on the tasks of all settings.

    Args:
        settings: Names of the settings; the first one's training sentences fit the language subspace.
    """
    # In the order of the function's arguments: Kedro finds the types of parameters by their places.
    given = {"evaluation_data": "evaluation_data"} | {name: f"params:{name}" for name in SHARED}
    given |= {"training_pairs": "training_pairs"} | {name: f"params:{name}" for name in settings}
    return pipeline(
        [node(score_baselines, given, "scores", name="score_baselines")],
        namespace=BASELINES,
        inputs={"training_pairs": f"{settings[0]}.training_pairs"},
        parameters={name: name for name in SHARED} | {name: f"{name}.setting" for name in settings},
        tags="evaluate",
    )
