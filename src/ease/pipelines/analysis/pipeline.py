"""Compare a setting's encoders."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.methods import UNTRAINED
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
from ease.pipelines.setting import MULTILINGUAL, trained_encoders


def create_pipeline(setting: str = MULTILINGUAL, across_languages: bool = True) -> Pipeline:
    """Create `analysis` over the methods of one setting and the encoder that they start from.

    `across_languages` adds the analyses that need sentences of several languages.
    """
    encoders = {method: f"{setting}.{method}.encoder" for method in (UNTRAINED, *trained_encoders())}
    encoding = {"encoding": "params:encoding"}
    sets = {"evaluation_data": f"{setting}.evaluation_data", "tasks": "params:tasks"}
    nodes = [
        node(
            measure_alignment_uniformity,
            inputs={"options": f"params:{setting}.analysis.alignment_uniformity", **encoding, **sets, **encoders},
            outputs=[f"{setting}.alignment_uniformity", f"{setting}.alignment_uniformity_plot"],
            name="measure_alignment_uniformity",
        ),
        node(
            find_differing_pairs,
            inputs={"options": f"params:{setting}.analysis.differing_pairs", **encoding, **sets, **encoders},
            outputs=f"{setting}.differing_pairs",
            name="find_differing_pairs",
        ),
        node(
            measure_isotropy,
            inputs={"options": f"params:{setting}.analysis.isotropy", **encoding, **sets, **encoders},
            outputs=f"{setting}.isotropy",
            name="measure_isotropy",
        ),
        node(
            plot_cosines,
            inputs={"options": f"params:{setting}.analysis.cosine_distributions", **encoding, **sets, **encoders},
            outputs=[f"{setting}.cosine_distributions", f"{setting}.cosine_distributions_plot"],
            name="plot_cosines",
        ),
        node(
            draw_roc_curves,
            inputs={"options": f"params:{setting}.analysis.roc_curves", **encoding, **sets, **encoders},
            outputs=[f"{setting}.roc_curves", f"{setting}.roc_curves_plot"],
            name="draw_roc_curves",
        ),
    ]
    if across_languages:
        nodes += [
            node(
                project_language_pair,
                inputs={"options": f"params:{setting}.analysis.language_pair", **encoding, **sets, **encoders},
                outputs=[f"{setting}.language_pair", f"{setting}.language_pair_plot"],
                name="project_language_pair",
            ),
            node(
                measure_language_identity,
                inputs={"options": f"params:{setting}.analysis.language_identity", **encoding, **sets, **encoders},
                outputs=f"{setting}.language_identity",
                name="measure_language_identity",
            ),
            node(
                compare_pairs,
                inputs={"options": f"params:{setting}.analysis.given_pairs", **encoding, **encoders},
                outputs=f"{setting}.given_pairs",
                name="compare_pairs",
            ),
        ]
    return pipeline(nodes, namespace=f"{setting}.analysis", prefix_datasets_with_namespace=False, tags="analysis")
