"""Locate or download the dumps of a setting."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.pipelines.acquire.nodes import locate_dumps
from ease.pipelines.wiring import namespaced, step


def create_pipeline(setting: str) -> Pipeline:
    """Create `acquire` for one setting."""
    located = step(locate_dumps, "dumps", options="params:acquire", pairs="params:pairs")
    return namespaced([located], setting, "acquire")
