"""Make the audit of a setting."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.entities.audit import add_distractors, match_candidates
from ease.pipelines.audit.nodes import find_audit_candidates, match_audit_titles, write_audit, write_audit_task
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
                match_audit_titles,
                inputs=[
                    # Their links say which titles are written in lower case.
                    "sentences",
                    "sitelinks",
                    "entity_types",
                    "params:audit",
                    "params:setting",
                ],
                outputs="audit_titles",
                name="match_audit_titles",
            ),
            node(
                add_distractors,
                inputs=[
                    "audit_answers",
                    "audit_titles",
                    "audit_candidates",
                    # For distractors that link to the pair's item.
                    "sentences",
                    "links",
                    "entity_types",
                    "params:audit",
                ],
                outputs="audit",
                name="add_distractors",
            ),
            node(
                write_audit,
                inputs=["audit", "params:audit", "params:setting", "params:work"],
                outputs=["audit_pages", "audit_set", "audit_summary"],
                name="write_audit",
            ),
            node(
                write_audit_task,
                inputs=[
                    "audit",
                    # The card names their files and dates.
                    "dumps",
                    "params:audit",
                    "params:setting",
                    "params:work",
                ],
                outputs="audit_task",
                name="write_audit_task",
            ),
        ],
        namespace="audit",
        prefix_datasets_with_namespace=False,
        tags="audit",
    )
    return pipeline(stage, namespace=setting, parameters={"params:audit", "params:work"})
