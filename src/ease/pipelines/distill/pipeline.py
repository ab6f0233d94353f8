"""Wiring of `distill`."""

from collections.abc import Callable
from typing import Any

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.distill.nodes import distill_shallow, distill_static
from ease.pipelines.mlflow_runs import TRAINING_TAG
from ease.pipelines.setting import EASE_PLUS

TEACHER = EASE_PLUS
"""The method whose encoder is the teacher, unless the parameters name another one."""

STUDENTS: dict[str, Callable[..., Any]] = {
    "static_student": distill_static,
    "shallow_student": distill_shallow,
}
"""Nodes that train the students, by the students' names in folders, MLflow and the report"""

TABLES = {
    **{"rows": "training_pairs", "dumps": "dumps", "evaluation_data": "evaluation_data"},
    **{"vocabulary": "entity_vocabulary", "entity_embeddings": "entity_embeddings"},
}


def create_pipeline(setting: str) -> Pipeline:
    """Create `distill` for all students of one setting."""
    return sum((_create(setting, student) for student in STUDENTS), Pipeline([]))


def _create(setting: str, student: str) -> Pipeline:
    """Create the node that trains one student."""
    # In the order of the function's arguments: Kedro finds the types of parameters by their places.
    params = ("options", "recipe", "setting", "encoding", "encoders", "tracking", "work")
    given = {name: f"params:{name}" for name in params} | {"teacher": "teacher"} | TABLES
    given["tasks"] = "params:tasks"
    made = node(STUDENTS[student], given, ["encoder", "history"], name="distill_encoder", tags=TRAINING_TAG)
    return pipeline(
        [made],
        namespace=f"{setting}.{student}",
        inputs={"teacher": f"{setting}.{TEACHER}.encoder"}
        | {table: f"{setting}.{table}" for table in TABLES.values()},
        parameters={
            "params:options": f"params:{setting}.{student}",
            "params:recipe": f"params:{setting}.{TEACHER}",
            "params:setting": f"params:{setting}.setting",
            **{f"params:{name}": f"params:{name}" for name in (*params[3:], "tasks")},
        },
        tags="distill",
    )
