"""Locate or download the evaluation sets of a setting's tasks."""

from __future__ import annotations

from collections.abc import Sequence

from kedro.pipeline import Pipeline

from ease.evaluation.scoring import BASELINES
from ease.pipelines.acquire_evaluation.nodes import locate_baseline_sets, locate_evaluation_sets
from ease.pipelines.wiring import namespaced, step


def create_pipeline(setting: str) -> Pipeline:
    """Create `acquire_evaluation` for one setting."""
    located = step(locate_evaluation_sets, "evaluation_data", sets="params:acquire_evaluation")
    return namespaced([located], setting, "acquire_evaluation")


def create_baselines_pipeline(settings: Sequence[str]) -> Pipeline:
    """Create `acquire_evaluation` for the baselines, which are scored on the tasks of all settings."""
    given = {name: f"params:{name}.setting" for name in settings}
    sets = "params:acquire_evaluation"
    located = step(locate_baseline_sets, "evaluation_data", sets=sets, **given)
    return namespaced([located], BASELINES, "acquire_evaluation")
