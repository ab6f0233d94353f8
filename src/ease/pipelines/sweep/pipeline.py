"""Train and score the variants of a sweep."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.sweep.nodes import locate_sweep_sets, report_sweep, run_sweep
from ease.pipelines.tracking import TRAINING_TAG


def create_pipeline(data: str = "sweep") -> Pipeline:
    """Create the pipeline that trains and scores the sweep that the parameter `sweep` names.

    Kedro creates pipelines before it reads parameters, so this one does not know the sweep's setting. It reads the
    datasets `sweep.training_pairs` etc., whose paths the catalog completes with the setting (`${sweep:setting}`).

    Args:
        data: Where the tables come from: `sweep` for those of an earlier run, or the setting whose tables the same run
            makes.
    """
    # Each node finds the sweep, and the setting that it varies, by these parameters.
    sweep = ["params:sweep", "params:sweeps", "params:multilingual", "params:monolingual", "params:low_resource"]
    nodes = [
        node(
            locate_sweep_sets,
            inputs=[
                *sweep,
                "params:acquire",
                "params:acquire_evaluation",
                "params:tasks",
            ],
            outputs="sweep.evaluation_data",
            name="locate_sweep_sets",
        ),
        node(
            run_sweep,
            inputs=[
                *sweep,
                "sweep.evaluation_data",
                "params:tasks",
                "params:work",
                "params:acquire",
                "params:texts",
                "params:encoders",
                # The cache of embeddings, for teachers and guides.
                "params:encoding",
                f"{data}.sentences",
                f"{data}.training_pairs",
                f"{data}.dumps",
                f"{data}.entity_vocabulary",
                f"{data}.entity_embeddings",
            ],
            outputs="sweep.scores",
            name="run_sweep",
            tags=TRAINING_TAG,
        ),
        node(
            report_sweep,
            inputs=["sweep.scores", *sweep],
            outputs=["sweep.variant_scores", "sweep.variants_plot", "sweep.training_times_plot"],
            name="report_sweep",
        ),
    ]
    return pipeline(nodes, namespace="sweep", prefix_datasets_with_namespace=False, tags="sweep")
