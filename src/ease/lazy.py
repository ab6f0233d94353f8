"""Slow imports, delayed until first use.

Kedro imports the modules of all nodes at each command, most of which run none of them.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any


def import_or_advise(name: str) -> ModuleType:
    """Import a module; where one of its libraries is missing, say what adds it.

    Raises:
        ModuleNotFoundError: If the library is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "ease":
            raise
        raise ModuleNotFoundError(
            f"{error.name} is not installed: the extra `project` of ease-embeddings adds it (docs/install.md).",
            name=error.name,
        ) from error


class LazyModule:
    """A proxy that imports its module when an attribute is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_or_advise(self._name), attribute)

    def __reduce__(self) -> tuple[type[LazyModule], tuple[str]]:
        """Pickle the name alone: Spark sends functions that use a lazy module to its workers."""
        return LazyModule, (self._name,)


ibis: Any = LazyModule("ibis")
# Its import takes two seconds, which commands that run nothing would also pay.
mlflow: Any = LazyModule("mlflow")

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pandas as pd
    import plotly.graph_objects as go
    import pyarrow.compute as pc
    import torch
    from ibis.expr.types import Table
    from pandas import DataFrame
    from plotly import subplots
    from plotly.graph_objects import Figure
else:
    ir = LazyModule("ibis.expr.types")
    pc = LazyModule("pyarrow.compute")
    pd = LazyModule("pandas")
    go = LazyModule("plotly.graph_objects")
    subplots = LazyModule("plotly.subplots")
    torch = LazyModule("torch")
    # Kedro resolves the annotations of nodes before every run, for the classes of parameters: the names of other
    # classes would import these libraries even for a run that is refused.
    DataFrame = Figure = Table = Any

__all__ = [
    "DataFrame",
    "Figure",
    "LazyModule",
    "Table",
    "go",
    "ibis",
    "import_or_advise",
    "ir",
    "mlflow",
    "pc",
    "pd",
    "subplots",
    "torch",
]
