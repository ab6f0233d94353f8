"""Wiring of `audit`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.entities.audit import add_distractors, match_candidates
from ease.pipelines.audit.nodes import find_audit_candidates, write_audit

TABLES = ("sentences", "links", "sitelinks", "entity_types")


def create_pipeline(setting: str) -> Pipeline:
    """Create `audit` for one setting."""
    found = [*TABLES, "dumps", "params:audit", "params:setting"]
    matched = ["audit_candidates", "params:audit"]
    extended = ["audit_answers", "audit_candidates", "entity_types", "params:audit"]
    written = ["audit", "params:audit", "params:setting", "params:work"]
    made = ["audit_pages", "audit_set", "audit_summary"]
    # Each table is saved: Spark would compute it again wherever a later one reads it.
    return pipeline(
        [
            node(find_audit_candidates, found, "audit_candidates", name="find_audit_candidates"),
            node(match_candidates, matched, "audit_answers", name="match_candidates"),
            node(add_distractors, extended, "audit", name="add_distractors"),
            node(write_audit, written, made, name="write_audit"),
        ],
        namespace=setting,
        parameters={"params:audit", "params:work"},
        tags="audit",
    )
