"""Train small encoders to reproduce a large one, and score them."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.pipelines.distill.nodes import STUDENTS
from ease.pipelines.setting import EASE_PLUS
from ease.pipelines.tracking import (
    TRAINING_TAG,
)
from ease.pipelines.wiring import namespaced, step


def create_pipeline(setting: str) -> Pipeline:
    """Create `distill` for all students of one setting; the teacher is the setting's `ease_plus` or a given encoder."""
    given = {"options": "params:recipe", "teacher": f"{setting}.{EASE_PLUS}.encoder"}
    given |= {table: table for table in ("training_pairs", "dumps")}
    made = Pipeline([])
    for student, distill in STUDENTS.items():
        node = step(distill, ["encoder", "history"], "distill_encoder", TRAINING_TAG, **given)
        made += namespaced([node], f"{setting}.{student}", "distill")
    return made
