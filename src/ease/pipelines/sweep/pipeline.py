"""Wiring of `sweep`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.methods import method_names
from ease.pipelines.mlflow_runs import TRAINING_TAG
from ease.pipelines.sweep.nodes import locate_sweep_sets, report_sweep, run_sweep
from ease.pipelines.sweep.variants import Registered

SHARED = ("tasks", "work", "acquire", "acquire_evaluation", "texts", "encoders")
MADE = {name: name for name in ("sentences", "training_pairs", "dumps")}
"""Inputs that a sweep's pipeline makes first if the sweep has `entities: true`."""
ENTITIES = {"vocabulary": "entity_vocabulary", "entity_embeddings": "entity_embeddings"}
KEPT = {"sentences": "kept_sentences", "training_pairs": "kept_training_pairs", "dumps": "kept_dumps"}
"""The same inputs for other sweeps, from an earlier run of the setting, if there was one."""


def create_pipeline(name: str, registered: Registered) -> Pipeline:
    """Create the sweep that `parameters/sweeps/<name>.yml` describes, over the data of its setting."""
    recipes = {method: f"params:{method}" for method in registered.methods or method_names()}
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
        **(MADE if registered.entities else KEPT),
        "evaluation_data": evaluation_data,
        "sweep": f"params:{name}",
        "setting": "params:setting",
        "tasks": "params:tasks",
        "work": "params:work",
        "acquire": "params:acquire",
        "texts": "params:texts",
        "encoders": "params:encoders",
        **(ENTITIES if registered.entities else {}),
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
                [f"{name}_sweep", f"{name}_sweep_plot", f"{name}_sweep_times"],
                name=f"report_{name}",
            ),
        ],
        namespace=registered.setting,
        parameters={f"params:{shared}" for shared in (name, *SHARED)},
        tags="sweep",
    )
