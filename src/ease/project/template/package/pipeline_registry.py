"""The pipelines that `kedro run --pipelines=NAME` knows: those in the folder `pipelines`, and the library's."""

from ease.pipeline_registry import register_pipelines as register_pipelines
