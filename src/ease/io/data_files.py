"""Tables in YAML files beside the code."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_data_file(package: str, name: str) -> Any:
    """Return the content of a YAML file in a package, such as `ease.wikimedia` and `languages.yml`."""
    return yaml.load(files(package).joinpath(name).read_bytes(), Loader=_LOADER)
