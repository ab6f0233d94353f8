"""The default parameters that the library reads are those that Kedro loads from the package's `conf/base`."""

from __future__ import annotations

from kedro.config import OmegaConfigLoader

from ease.configuration import configuration_folder, default_parameters
from ease.settings import CONFIG_LOADER_ARGS


def test_default_parameters_are_those_that_kedro_loads() -> None:
    arguments = {**CONFIG_LOADER_ARGS, "default_run_env": "base"}
    loader = OmegaConfigLoader(str(configuration_folder()), **arguments)
    expected = loader["parameters"]
    assert default_parameters() == expected
    assert loader["parameters"] == expected, "the library's defaults changed a resolver of the running session"


def test_default_parameters_have_no_unresolved_reference() -> None:
    assert "${" not in str(default_parameters())
