"""Slow imports, delayed until first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any


class LazyModule:
    """A proxy that imports its module when an attribute is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


ibis: Any = LazyModule("ibis")

if TYPE_CHECKING:
    import ibis.expr.types as ir
else:
    ir = LazyModule("ibis.expr.types")

__all__ = ["LazyModule", "ibis", "ir"]
