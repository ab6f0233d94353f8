"""Wiring of `sweep`."""

from collections.abc import Sequence

from kedro.pipeline import Pipeline, node, pipeline

from ease.methods import method_names
from ease.pipelines.mlflow_runs import TRAINING_TAG
from ease.pipelines.sweep.nodes import locate_sweep_sets, report_sweep, run_sweep

SHARED = ("tasks", "work", "acquire", "acquire_evaluation", "texts", "encoders")


def create_pipeline(setting: str, name: str, methods: Sequence[str] | None = None) -> Pipeline:
    """Create the sweep that `parameters/sweeps/<name>.yml` describes, over one setting's data.

    Args:
        setting: Provides the data.
        name: Name of the sweep.
        methods: Methods whose recipes the sweep may vary; all by default.
    """
    recipes = {method: f"params:{method}" for method in methods or method_names()}
    evaluation_data = f"{name}_evaluation_data"
    located = [
        "params:acquire",
        "params:acquire_evaluation",
        "params:tasks",
        "params:setting",
        f"params:{name}",
    ]
    # In the order of the function's arguments: Kedro finds the types of parameters by their places.
    arguments = {
        "sentences": "sentences",
        "training_pairs": "training_pairs",
        "vocabulary": "entity_vocabulary",
        "entity_embeddings": "entity_embeddings",
        "evaluation_data": evaluation_data,
        "dumps": "dumps",
        "sweep": f"params:{name}",
        "setting": "params:setting",
        "tasks": "params:tasks",
        "work": "params:work",
        "acquire": "params:acquire",
        "texts": "params:texts",
        "encoders": "params:encoders",
        **recipes,
    }
    return pipeline(
        [
            node(locate_sweep_sets, located, evaluation_data, name=f"locate_{name}_sets"),
            node(
                run_sweep,
                arguments,
                f"{name}_trainings",
                name=f"run_{name}",
                tags=TRAINING_TAG,
            ),
            node(
                report_sweep,
                [f"{name}_trainings", f"params:{name}", "params:setting"],
                [f"{name}_sweep", f"{name}_sweep_plot"],
                name=f"report_{name}",
            ),
        ],
        namespace=setting,
        parameters={f"params:{shared}" for shared in (name, *SHARED)},
        tags="sweep",
    )
