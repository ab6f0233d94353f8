"""Compare a setting's encoders."""

from __future__ import annotations

from collections.abc import Sequence

from kedro.pipeline import Pipeline

from ease.methods import UNTRAINED
from ease.pipelines.analysis.nodes import (
    ANALYSES,
    ANALYSES_OF_LANGUAGES,
    PLOTTED,
)
from ease.pipelines.wiring import namespaced, step


def create_pipeline(setting: str, methods: Sequence[str], across_languages: bool = True) -> Pipeline:
    """Create `analysis` over the methods of one setting and the encoder that they start from."""
    nodes = []
    encoders = {method: f"{setting}.{method}.encoder" for method in (UNTRAINED, *methods)}
    data = {"evaluation_data": "evaluation_data", "tasks": "params:tasks"}
    for name, analyse in {**ANALYSES, **(ANALYSES_OF_LANGUAGES if across_languages else {})}.items():
        read = encoders if name == "given_pairs" else data | encoders
        made = [name, f"{name}_plot"] if name in PLOTTED else name
        nodes.append(step(analyse, made, options=f"params:{setting}.analysis.{name}", **read))
    return namespaced(nodes, setting, "analysis")
