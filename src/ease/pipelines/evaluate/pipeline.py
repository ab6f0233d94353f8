"""Score the encoders of a setting, and baselines."""

from __future__ import annotations

from collections.abc import Sequence

from kedro.pipeline import Pipeline

from ease.evaluation.scoring import BASELINES
from ease.pipelines.evaluate.nodes import score_baselines, score_encoder
from ease.pipelines.wiring import namespaced, step


def create_pipeline(setting: str, method: str) -> Pipeline:
    """Create `evaluate` for the encoder of one method, or for the `untrained` one."""
    return namespaced([step(score_encoder, "scores", encoder="encoder")], f"{setting}.{method}", "evaluate")


def create_baselines_pipeline(settings: Sequence[str]) -> Pipeline:
    """Create `evaluate` for the baselines on the tasks of all settings; the first has the training sentences."""
    given = {name: f"params:{name}.setting" for name in settings}
    scored = step(score_baselines, "scores", training_pairs=f"{settings[0]}.training_pairs", **given)
    return namespaced([scored], BASELINES, "evaluate")
