"""Nested mappings, such as options: flat views, and overrides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def dotted(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the innermost values by dotted names: `{"a": {"b": 1}}` becomes `{"a.b": 1}`, or `{"prefix.a.b": 1}`."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}.{key}" if prefix else key
        flat.update(dotted(value, name) if isinstance(value, Mapping) else {name: value})
    return flat


def overlaid(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with changes; mappings are merged, all other values replaced."""
    merged = dict(values)
    for name, change in changes.items():
        old = merged.get(name)
        both = isinstance(change, Mapping) and isinstance(old, Mapping)
        merged[name] = overlaid(old, change) if both else change  # type: ignore[arg-type]
    return merged
