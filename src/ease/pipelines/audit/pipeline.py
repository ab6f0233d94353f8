"""Wiring of `audit`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.audit.nodes import select_audit, write_audit

TABLES = ("sentences", "links", "sitelinks", "entity_types")


def create_pipeline(setting: str) -> Pipeline:
    """Create `audit` for one setting."""
    return pipeline(
        [
            node(
                select_audit,
                [*TABLES, "dumps", "params:audit", "params:setting"],
                "audit",
                name="select_audit",
            ),
            node(
                write_audit,
                ["audit", "params:audit", "params:setting", "params:acquire_evaluation"],
                ["audit_pages", "audit_summary"],
                name="write_audit",
            ),
        ],
        namespace=setting,
        parameters={"params:audit", "params:acquire_evaluation"},
        tags="audit",
    )
