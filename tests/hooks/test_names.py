"""Names of a run."""

from __future__ import annotations

import pytest
from kedro.framework.project import configure_project

from ease.hooks.names import pipelines_of_run


@pytest.mark.parametrize("given", [["evaluate", "train"], ["train", "evaluate"]])
def test_the_pipelines_of_a_run_are_in_the_registrys_order(given: list[str]) -> None:
    configure_project("ease")
    assert pipelines_of_run({"pipeline_names": given}) == ["train", "evaluate"]
    assert pipelines_of_run({"pipeline_names": None}) == ["__default__"]
