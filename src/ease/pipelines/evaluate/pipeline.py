"""Wiring of `evaluate`."""

from collections.abc import Sequence

from kedro.pipeline import Pipeline, node, pipeline

from ease.io.names import BASELINES
from ease.pipelines.evaluate.nodes import score_baselines, score_encoder

SHARED = {"params:tasks", "params:evaluate", "params:encoding"}


def create_pipeline(setting: str, method: str) -> Pipeline:
    """Create `evaluate` for the encoder of one method, or for the `untrained` one."""
    given = [
        "encoder",
        "evaluation_data",
        "params:tasks",
        "params:setting",
        "params:evaluate",
        "params:encoding",
    ]
    return pipeline(
        [node(score_encoder, given, "scores", name="score_encoder")],
        namespace=f"{setting}.{method}",
        inputs={"evaluation_data": f"{setting}.evaluation_data"},
        parameters={**{name: name for name in SHARED}, "params:setting": f"params:{setting}.setting"},
        tags="evaluate",
    )


def create_baselines_pipeline(settings: Sequence[str]) -> Pipeline:
    """Create `evaluate` for the baselines, on the tasks of all settings.

    Args:
        settings: Names of the settings; the first one's training sentences fit the language subspace.
    """
    given = {
        "evaluation_data": "evaluation_data",
        **{name: f"params:{name}" for name in ("tasks", "evaluate", "encoding")},
        "training_pairs": "training_pairs",
        **{setting: f"params:{setting}" for setting in settings},
    }
    return pipeline(
        [node(score_baselines, given, "scores", name="score_baselines")],
        namespace=BASELINES,
        inputs={"training_pairs": f"{settings[0]}.training_pairs"},
        parameters={
            **{name: name for name in SHARED},
            **{f"params:{setting}": f"params:{setting}.setting" for setting in settings},
        },
        tags="evaluate",
    )
