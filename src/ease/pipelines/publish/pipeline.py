"""Wiring of `publish`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.publish.nodes import announce, write_folder

GIVEN = ("encoder", "student", "scores", "vocabulary", "training_pairs", "mewsc16")


def create_pipeline() -> Pipeline:
    """Create `publish`, whose encoder the parameters choose."""
    # In the order of the function's arguments: Kedro finds the types of parameters by their places.
    given = ["params:publish", *(f"published.{name}" for name in GIVEN)]
    return pipeline(
        [
            node(write_folder, given, "published.summary", name="write_folder"),
            node(
                announce,
                ["params:publish", "published.summary", "published.encoder"],
                "published.addresses",
                name="announce",
            ),
        ],
        tags="publish",
    )
