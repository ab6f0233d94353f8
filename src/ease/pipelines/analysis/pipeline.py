"""Wiring of `analysis`."""

from collections.abc import Callable, Sequence
from typing import Any

from kedro.pipeline import Node, Pipeline, node, pipeline

from ease.io.names import UNTRAINED
from ease.pipelines.analysis.nodes import (
    compare_pairs,
    draw_roc_curves,
    find_differing_pairs,
    measure_alignment_uniformity,
    measure_isotropy,
    measure_language_identity,
    plot_cosines,
    project_language_pair,
)

ANALYSIS_TAG = "analysis"
"""Nodes with this tag exclude encoders that do not exist yet."""

ANALYSES: dict[str, Callable[..., Any]] = {
    "alignment_uniformity": measure_alignment_uniformity,
    "differing_pairs": find_differing_pairs,
    "isotropy": measure_isotropy,
    "cosine_distributions": plot_cosines,
    "roc_curves": draw_roc_curves,
}
"""By the name of the table that each makes, and of its parameters."""
ANALYSES_OF_LANGUAGES: dict[str, Callable[..., Any]] = {
    "language_pair": project_language_pair,
    "language_identity": measure_language_identity,
    "given_pairs": compare_pairs,
}
WITHOUT_DATA = ("given_pairs",)
"""Analyses that read no evaluation data."""
PLOTTED = ("alignment_uniformity", "cosine_distributions", "language_pair", "roc_curves")


def create_pipeline(setting: str, methods: Sequence[str], across_languages: bool = True) -> Pipeline:
    """Create `analysis` over the methods of one setting and the encoder that they start from."""
    compared = (UNTRAINED, *methods)
    analyses = ANALYSES | (ANALYSES_OF_LANGUAGES if across_languages else {})
    return pipeline(
        [_analysis(name, analyse, compared) for name, analyse in analyses.items()],
        namespace=setting,
        inputs={f"{method}_encoder": f"{setting}.{method}.encoder" for method in compared},
        parameters={name: name for name in ("tasks", "encoding")}
        | {name: f"{setting}.analysis.{name}" for name in analyses},
        tags=ANALYSIS_TAG,
    )


def _analysis(name: str, analyse: Callable[..., Any], encoders: Sequence[str]) -> Node:
    data = {} if name in WITHOUT_DATA else {"evaluation_data": "evaluation_data", "tasks": "params:tasks"}
    given = {
        **data,
        "encoding": "params:encoding",
        **{encoder: f"{encoder}_encoder" for encoder in encoders},
        "options": f"params:{name}",
    }
    outputs = [name, f"{name}_plot"] if name in PLOTTED else name
    return node(analyse, given, outputs, name=analyse.__name__)
