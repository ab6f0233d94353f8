"""Wiring of `distill`."""

from collections.abc import Callable
from typing import Any

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.distill.nodes import distill_shallow, distill_static
from ease.pipelines.mlflow_runs import TRAINING_TAG
from ease.pipelines.setting import EASE_PLUS

STUDENTS: dict[str, Callable[..., Any]] = {
    "static_student": distill_static,
    "shallow_student": distill_shallow,
}
"""Nodes that train the students, by the students' names in folders, MLflow and the report"""


def create_pipeline(setting: str) -> Pipeline:
    """Create `distill` for all students of one setting; the teacher is the setting's `ease_plus` or a given encoder."""
    return sum((_create(setting, student) for student in STUDENTS), Pipeline([]))


def _create(setting: str, student: str) -> Pipeline:
    tables, shared = ("training_pairs", "dumps"), ("encoding", "work", "tracking")
    # In the order of the functions' arguments: Kedro finds the types of parameters by their places.
    given = ["teacher", *tables, *(f"params:{name}" for name in ("options", "setting", *shared))]
    made = node(STUDENTS[student], given, ["encoder", "history"], name="distill_encoder", tags=TRAINING_TAG)
    return pipeline(
        [made],
        namespace=f"{setting}.{student}",
        inputs={
            "teacher": f"{setting}.{EASE_PLUS}.encoder",
            **{table: f"{setting}.{table}" for table in tables},
        },
        parameters={
            "params:options": f"params:{setting}.{student}",
            "params:setting": f"params:{setting}.setting",
            **{f"params:{name}": f"params:{name}" for name in shared},
        },
        tags="distill",
    )
