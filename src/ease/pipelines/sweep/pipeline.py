"""Wiring of `sweep`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.methods import method_names
from ease.pipelines.mlflow_runs import TRAINING_TAG
from ease.pipelines.sweep.nodes import locate_sweep_sets, report_sweep, run_sweep
from ease.pipelines.sweep.variants import Registered

SHARED = ("tasks", "work", "acquire", "acquire_evaluation", "texts", "encoders")
TABLES = ("sentences", "training_pairs", "dumps")
"""Inputs that a sweep's pipeline makes first if the sweep has `entities: true`; else, those of an earlier run."""


def create_pipeline(name: str, registered: Registered) -> Pipeline:
    """Create the sweep that `parameters/sweeps/<name>.yml` describes, over the data of its setting."""
    located = [f"params:{one}" for one in ("acquire", "acquire_evaluation", "tasks", "setting", name)]
    # In the order of the function's arguments: Kedro finds the types of parameters by their places.
    given = {"sweep": f"params:{name}", "evaluation_data": f"{name}_evaluation_data"}
    given |= {one: f"params:{one}" for one in ("setting", "tasks", "work", "acquire", "texts", "encoders")}
    given |= {table: table if registered.entities else f"kept_{table}" for table in TABLES}
    if registered.entities:
        given |= {"vocabulary": "entity_vocabulary", "entity_embeddings": "entity_embeddings"}
    given |= {method: f"params:{method}" for method in registered.methods or method_names()}
    reported = [f"{name}_trainings", f"params:{name}", "params:setting"]
    made = [f"{name}_sweep", f"{name}_sweep_plot", f"{name}_sweep_times"]
    return pipeline(
        [
            node(locate_sweep_sets, located, f"{name}_evaluation_data", name=f"locate_{name}_sets"),
            node(run_sweep, given, f"{name}_trainings", name=f"run_{name}", tags=TRAINING_TAG),
            node(report_sweep, reported, made, name=f"report_{name}"),
        ],
        namespace=registered.setting,
        parameters={f"params:{shared}" for shared in (name, *SHARED)},
        tags="sweep",
    )
