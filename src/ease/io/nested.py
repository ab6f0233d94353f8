"""Nested mappings, such as options, by dotted names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def dotted(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Name every value that is no mapping: `{"a": {"b": 1}}` is `{"a.b": 1}`.

    Args:
        values: Nested or not.
        prefix: Put before every name, with a dot.
    """
    flat: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}.{key}" if prefix else key
        flat.update(dotted(value, name) if isinstance(value, Mapping) else {name: value})
    return flat
