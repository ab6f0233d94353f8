"""Train and score the variants of a sweep."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.methods import method_names
from ease.pipelines.sweep.nodes import locate_sweep_sets, report_sweep, run_sweep
from ease.pipelines.sweep.variants import Registered
from ease.pipelines.tracking import TRAINING_TAG
from ease.pipelines.wiring import namespaced, step


def create_pipeline(name: str, registered: Registered) -> Pipeline:
    """Create the sweep that `parameters/sweeps/<name>.yml` describes, over the data of its setting."""
    sweep, sets = f"params:{name}", f"{name}_evaluation_data"
    # If no variant trains on entities, the tables are those of an earlier run.
    tables = ("sentences", "training_pairs", "dumps")
    given = {table: table if registered.entities else f"kept_{table}" for table in tables}
    if registered.entities:
        given |= {"vocabulary": "entity_vocabulary", "entity_embeddings": "entity_embeddings"}
    given |= {method: f"params:{method}" for method in registered.methods or method_names()}
    given |= {"sweep": sweep, "evaluation_data": sets}
    made = [f"{name}_sweep", f"{name}_sweep_plot", f"{name}_sweep_times"]
    located, trainings = {"sets": "params:acquire_evaluation", "sweep": sweep}, f"{name}_trainings"
    nodes = [
        step(locate_sweep_sets, sets, f"locate_{name}_sets", **located),
        step(run_sweep, trainings, f"run_{name}", TRAINING_TAG, **given),
        step(report_sweep, made, f"report_{name}", trainings=trainings, sweep=sweep),
    ]
    return namespaced(nodes, registered.setting, "sweep", project=[name])
