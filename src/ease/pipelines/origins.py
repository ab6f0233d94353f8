"""The file beside a kept encoder that says what it was trained from, and by which run of MLflow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ease.encoders.options import EncoderOptions
from ease.io.atomic import write_text_atomically
from ease.io.files import read_json
from ease.io.names import RUN_FILE


def write_origin(
    encoder: Path, run_id: str | None, start: EncoderOptions, dimensions: Sequence[int] = ()
) -> None:
    """Write the file of a model: the id of the run that trained it, if any, its start and its dimensions.

    Args:
        encoder: Folder of the model.
        run_id: The id of its run.
        start: What its training started from.
        dimensions: Numbers of first dimensions to which its embeddings may be truncated.
    """
    about = {"base": start.name, "pooling": start.pooling, "seed": start.seed, "dimensions": list(dimensions)}
    write_text_atomically(encoder / RUN_FILE, json.dumps({"run_id": run_id, **about}))


def withhold(encoder: Path) -> None:
    """Note in the file of a model that `latest` is not to link to it."""
    write_text_atomically(encoder / RUN_FILE, json.dumps({**_remembered(encoder), "withheld": True}))


def run_of(encoder: Path) -> str | None:
    """Return the id of the run that trained an encoder, or None if no run did."""
    run_id: str | None = _remembered(encoder).get("run_id")
    return run_id


def origin_of(encoder: Path) -> dict[str, Any]:
    """Return `base`, `pooling` and `seed` of an encoder's start, as far as they are known."""
    return {
        name: value for name, value in _remembered(encoder).items() if name in ("base", "pooling", "seed")
    }


def dimensions_of(encoder: Path) -> tuple[int, ...]:
    """Return the numbers of first dimensions to which an encoder's embeddings may be truncated."""
    return tuple(_remembered(encoder).get("dimensions", ()))


def _remembered(encoder: Path) -> dict[str, Any]:
    return read_json(encoder / RUN_FILE) or {}
