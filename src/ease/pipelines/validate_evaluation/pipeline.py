"""Compare scores of published checkpoints with the papers'."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.validate_evaluation.nodes import locate_printed_sets, name_differences, score_printed


def create_pipeline() -> Pipeline:
    """Create the comparison of the baselines' scores with the papers' printed ones."""
    return pipeline(
        [
            node(
                locate_printed_sets,
                inputs=[
                    "params:acquire",
                    "params:acquire_evaluation",
                    "params:tasks",
                    "params:evaluate",
                    # They say which baselines and tasks have printed scores.
                    "papers_tables",
                ],
                outputs="evaluation_data",
                name="locate_printed_sets",
                tags="acquire_evaluation",
            ),
            node(
                score_printed,
                inputs=["evaluation_data", "params:tasks", "params:evaluate", "papers_tables", "params:encoding"],
                outputs="scores",
                name="score_printed",
                tags="evaluate",
            ),
            node(
                name_differences,
                inputs=["scores", "papers_tables", "params:validate_evaluation"],
                outputs="differences",
                name="name_differences",
                tags="report",
            ),
        ],
        namespace="validation",
        inputs={"papers_tables": "papers.tables"},
        parameters={
            "params:acquire",
            "params:acquire_evaluation",
            "params:encoding",
            "params:evaluate",
            "params:tasks",
            "params:validate_evaluation",
        },
    )
