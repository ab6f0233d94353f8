"""The pipelines that `kedro run --pipelines=NAME` knows."""

from kedro.framework.project import find_pipelines, pipelines
from kedro.pipeline import Pipeline

from ease.pipeline_registry import register_pipelines as register_library_pipelines


def register_pipelines() -> dict[str, Pipeline]:
    """Return the library's pipelines and those of the folder `pipelines`, which take precedence."""
    # By default Kedro finds only the pipelines that a command names; a run also checks the others' parameters.
    pipelines.set_requested(None)
    own_pipelines = find_pipelines(raise_errors=True)
    del own_pipelines["__default__"]
    return {**register_library_pipelines(), **own_pipelines}
