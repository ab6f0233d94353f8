"""Flat views of nested mappings, such as options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def dotted(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the innermost values by dotted names: `{"a": {"b": 1}}` becomes `{"a.b": 1}`.

    Args:
        values: The mapping.
        prefix: Prepended to every name, with a dot.
    """
    flat: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}.{key}" if prefix else key
        flat.update(dotted(value, name) if isinstance(value, Mapping) else {name: value})
    return flat
