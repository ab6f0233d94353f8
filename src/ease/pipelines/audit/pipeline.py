"""Make the audit of a setting."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.entities.audit import add_distractors, match_candidates
from ease.pipelines.audit.nodes import find_audit_candidates, write_audit
from ease.pipelines.wiring import namespaced, step


def create_pipeline(setting: str) -> Pipeline:
    """Create `audit` for one setting."""
    # Each table is saved: Spark would compute it again wherever a later one reads it.
    options, candidates = "params:audit", {"candidates": "audit_candidates"}
    nodes = [
        step(find_audit_candidates, "audit_candidates", options=options),
        step(match_candidates, "audit_answers", **candidates, options=options),
        step(add_distractors, "audit", answers="audit_answers", **candidates, options=options),
        step(write_audit, ["audit_pages", "audit_set", "audit_summary"], audit="audit", options=options),
    ]
    return namespaced(nodes, setting, "audit")
