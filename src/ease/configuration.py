"""The package's own default parameters, for callers without Kedro (`ease.train`, `ease.evaluate`)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ease.io.files import read_yaml
from ease.options import overlaid

_PACKAGE = Path(__file__).parent


def configuration_folder() -> Path:
    """Return the folder `conf` that belongs to the code: the checkout's, or the one packed into the wheel."""
    packed = _PACKAGE / "project" / "conf"
    if packed.is_dir():
        return packed
    return _PACKAGE.parents[1] / "conf"


@cache
def default_parameters() -> dict[str, Any]:
    """Return the parameters of the package's `conf/base` with references resolved, as Kedro would load them.

    A project's `conf` and `--params` have no effect here: nodes read Kedro's parameters instead. The result is shared
    by all callers: copy it before changing it.
    """
    from omegaconf import OmegaConf

    base = configuration_folder() / "base"
    parameters: dict[str, Any] = {"globals": read_yaml((base / "globals.yml").read_bytes())}
    for file in sorted((base / "parameters").rglob("*.yml")):
        # Resolvers are global in OmegaConf: registering `globals` would replace the one of a running Kedro session.
        # The built-in `oc.select` accepts the same arguments, a name and a default.
        text = file.read_bytes().replace(b"${globals:", b"${oc.select:globals.")
        parameters = overlaid(parameters, read_yaml(text) or {})
    resolved: Any = OmegaConf.to_container(OmegaConf.create(parameters), resolve=True)
    del resolved["globals"]
    return resolved
