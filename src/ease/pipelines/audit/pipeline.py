"""Wiring of `audit`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.entities.audit import add_distractors, match_candidates
from ease.pipelines.audit.nodes import find_audit_candidates, write_audit

TABLES = ("sentences", "links", "sitelinks", "entity_types")


def create_pipeline(setting: str) -> Pipeline:
    """Create `audit` for one setting."""
    return pipeline(
        [
            # Saved one by one: Spark would compute a table again wherever a later one reads it.
            node(
                find_audit_candidates,
                [*TABLES, "dumps", "params:audit", "params:setting"],
                "audit_candidates",
                name="find_audit_candidates",
            ),
            node(
                match_candidates,
                ["audit_candidates", "params:audit"],
                "audit_answers",
                name="match_audit_candidates",
            ),
            node(
                add_distractors,
                ["audit_answers", "audit_candidates", "entity_types", "params:audit"],
                "audit",
                name="add_distractors",
            ),
            node(
                write_audit,
                ["audit", "params:audit", "params:setting", "params:work"],
                ["audit_pages", "audit_set", "audit_summary"],
                name="write_audit",
            ),
        ],
        namespace=setting,
        parameters={"params:audit", "params:work"},
        tags="audit",
    )
