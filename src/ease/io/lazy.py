"""Libraries that take long to import and that most commands do not need: imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands in for a module until one of its attributes is asked for."""

    def __init__(self, name: str) -> None:
        """Remember the module's full name."""
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Import the module and return its attribute."""
        return getattr(import_module(self._name), attribute)


ibis: Any = LazyModule("ibis")
