"""Train and score the variants of a sweep."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.methods import method_names
from ease.pipelines.setting import MULTILINGUAL
from ease.pipelines.sweep.nodes import locate_sweep_sets, report_sweep, run_sweep
from ease.pipelines.sweep.variants import Registered
from ease.pipelines.tracking import TRAINING_TAG


def create_pipeline(name: str = "seeds", registered: Registered | None = None) -> Pipeline:
    """Create the sweep that `parameters/sweeps/<name>.yml` describes, over the data of its setting."""
    registered = registered or Registered(MULTILINGUAL, entities=True)
    setting = registered.setting
    inputs = {
        "sweep": f"params:{name}",
        "evaluation_data": f"{setting}.{name}_evaluation_data",
        "setting": f"params:{setting}.setting",
        "tasks": "params:tasks",
        "work": "params:work",
        "acquire": "params:acquire",
        "texts": "params:texts",
        "encoders": "params:encoders",
        **{method: f"params:{setting}.{method}" for method in registered.methods or method_names()},
    }
    if registered.entities:
        inputs |= {
            "sentences": f"{setting}.sentences",
            "training_pairs": f"{setting}.training_pairs",
            "dumps": f"{setting}.dumps",
            "vocabulary": f"{setting}.entity_vocabulary",
            "entity_embeddings": f"{setting}.entity_embeddings",
        }
    else:
        # No variant trains on entities: the tables are those of an earlier run.
        inputs |= {
            "sentences": f"{setting}.kept_sentences",
            "training_pairs": f"{setting}.kept_training_pairs",
            "dumps": f"{setting}.kept_dumps",
        }
    nodes = [
        node(
            locate_sweep_sets,
            inputs=[
                "params:acquire",
                "params:acquire_evaluation",
                "params:tasks",
                f"params:{setting}.setting",
                f"params:{name}",
            ],
            outputs=f"{setting}.{name}_evaluation_data",
            name=f"locate_{name}_sets",
        ),
        node(
            run_sweep,
            inputs=inputs,
            outputs=f"{setting}.{name}_trainings",
            name=f"run_{name}",
            tags=TRAINING_TAG,
        ),
        node(
            report_sweep,
            inputs=[f"{setting}.{name}_trainings", f"params:{name}", f"params:{setting}.setting"],
            outputs=[
                f"{setting}.{name}_sweep",
                f"{setting}.{name}_sweep_plot",
                f"{setting}.{name}_sweep_times",
            ],
            name=f"report_{name}",
        ),
    ]
    return pipeline(nodes, namespace=name, prefix_datasets_with_namespace=False, tags="sweep")
