"""Wiring of `validate_evaluation`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.validate_evaluation.nodes import locate_printed_sets, name_differences, score_printed

NAMESPACE = "validation"
SHARED = (
    "acquire",
    "acquire_evaluation",
    "tasks",
    "evaluate",
    "published",
    "encoding",
    "validate_evaluation",
)


def create_pipeline() -> Pipeline:
    """Create the comparison of the baselines' scores with the papers' printed ones."""
    sets = [
        "params:acquire",
        "params:acquire_evaluation",
        "params:tasks",
        "params:evaluate",
        "params:published",
    ]
    given = ["evaluation_data", "params:tasks", "params:evaluate", "params:published", "params:encoding"]
    compared = ["scores", "params:published", "params:validate_evaluation"]
    return pipeline(
        [
            node(
                locate_printed_sets,
                sets,
                "evaluation_data",
                name="locate_printed_sets",
                tags="acquire_evaluation",
            ),
            node(score_printed, given, "scores", name="score_printed", tags="evaluate"),
            node(name_differences, compared, "differences", name="name_differences", tags="report"),
        ],
        namespace=NAMESPACE,
        parameters={f"params:{name}" for name in SHARED},
    )
