"""Make the audit of a setting."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.entities.audit import add_distractors, match_candidates
from ease.pipelines.audit.nodes import find_audit_candidates, write_audit
from ease.pipelines.setting import MULTILINGUAL


def create_pipeline(setting: str = MULTILINGUAL) -> Pipeline:
    """Create `audit` for one setting."""
    # Each table is saved: Spark would compute it again wherever a later one reads it.
    stage = pipeline(
        [
            node(
                find_audit_candidates,
                inputs=[
                    "sentences",
                    "links",
                    "sitelinks",
                    # For distractors of the same type.
                    "entity_types",
                    # They say whether articles can be joined by their items.
                    "dumps",
                    "params:audit",
                    "params:setting",
                ],
                outputs="audit_candidates",
                name="find_audit_candidates",
            ),
            node(
                match_candidates,
                inputs=["audit_candidates", "params:audit"],
                outputs="audit_answers",
                name="match_candidates",
            ),
            node(
                add_distractors,
                inputs=["audit_answers", "audit_candidates", "entity_types", "params:audit"],
                outputs="audit",
                name="add_distractors",
            ),
            node(
                write_audit,
                inputs=["audit", "params:audit", "params:setting", "params:work"],
                outputs=["audit_pages", "audit_set", "audit_summary"],
                name="write_audit",
            ),
        ],
        namespace="audit",
        prefix_datasets_with_namespace=False,
        tags="audit",
    )
    return pipeline(stage, namespace=setting, parameters={"params:audit", "params:work"})
