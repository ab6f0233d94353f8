"""Wiring of `analysis`."""

from collections.abc import Sequence

from kedro.pipeline import Node, Pipeline, node, pipeline

from ease.pipelines.analysis.nodes import (
    find_differing_pairs,
    measure_alignment_uniformity,
    measure_isotropy,
    measure_language_identity,
    plot_cosines,
    project_language_pair,
)
from ease.pipelines.train import UNTRAINED

SHARED = {
    "evaluation_data": "evaluation_data",
    "tasks": "params:tasks",
    "encoding": "params:encoding",
}


def create_pipeline(setting: str, methods: Sequence[str], across_languages: bool = True) -> Pipeline:
    """Create `analysis` over the methods of one setting and the encoder that they start from.

    Args:
        setting: Whose encoders are analysed.
        methods: That have trained them.
        across_languages: Whether to compare languages, too.
    """
    compared = (UNTRAINED, *methods)
    encoders = {method: f"{method}_encoder" for method in compared}
    given = {**SHARED, **encoders}
    nodes: list[Node] = [
        node(
            measure_alignment_uniformity,
            {**given, "options": "params:alignment_uniformity"},
            ["alignment_uniformity", "alignment_uniformity_plot"],
            name="measure_alignment_uniformity",
        ),
        node(
            find_differing_pairs,
            {**given, "options": "params:differing_pairs"},
            "differing_pairs",
            name="find_differing_pairs",
        ),
        node(measure_isotropy, {**given, "options": "params:isotropy"}, "isotropy", name="measure_isotropy"),
        node(
            plot_cosines,
            {**given, "options": "params:cosine_distributions"},
            ["cosine_distributions", "cosine_distributions_plot"],
            name="plot_cosines",
        ),
    ]
    names = ["alignment_uniformity", "differing_pairs", "isotropy", "cosine_distributions"]
    if across_languages:
        names += ["language_pair", "language_identity"]
        nodes += [
            node(
                project_language_pair,
                {**given, "options": "params:language_pair"},
                ["language_pair", "language_pair_plot"],
                name="project_language_pair",
            ),
            node(
                measure_language_identity,
                {**given, "options": "params:language_identity"},
                "language_identity",
                name="measure_language_identity",
            ),
        ]
    return pipeline(
        nodes,
        namespace=setting,
        inputs={
            "evaluation_data": f"{setting}.evaluation_data",
            **{f"{method}_encoder": f"{setting}.{method}.encoder" for method in compared},
        },
        parameters={
            "params:tasks": "params:tasks",
            "params:encoding": "params:encoding",
            **{f"params:{name}": f"params:{setting}.analysis.{name}" for name in names},
        },
        tags="analysis",
    )
