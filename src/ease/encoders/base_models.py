"""Names of start encoders for model cards, without paths of this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ease.encoders.check import CONFIG, MODULES, cached_folder
from ease.encoders.options import RANDOM
from ease.io.files import read_json

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?")
_CACHED = re.compile(r"models--([\w.-]+?)--([\w.-]+)")
"""Folder of a model of an organisation in the hub's cache"""


def base_model_of(name: str) -> str | None:
    """Return the hub name of an encoder; None if the encoder has no hub name.

    Args:
        name: A hub name, a folder, a file of word vectors, or `random:`. A folder is named by its place in the hub's
            cache, its configuration, or the `base_model` of its card.
    """
    if name.startswith(RANDOM):
        return None
    place = Path(name)
    if not place.exists():
        return name if _HUB_NAME.fullmatch(name) else None
    if not place.is_dir():
        return None
    cached = next((found for part in place.parts if (found := _CACHED.fullmatch(part))), None)
    if cached:
        return f"{cached[1]}/{cached[2]}"
    # transformers may have written the path that the encoder was saved from, which is not its name.
    for named in (_read_configuration(place).get("_name_or_path"), _name_in_card(place)):
        if isinstance(named, str) and _HUB_NAME.fullmatch(named) and not Path(named).exists():
            return named
    return None


def start_of(name: str) -> str:
    """Return a description of a training's start encoder.

    A folder appears without its path, by the title of its card and by its base: its own name is often `model`.
    """
    place = Path(name)
    if name.startswith(RANDOM):
        return "random weights"
    folder, base = place.resolve().name, base_model_of(name)
    if not place.exists() or any(map(_CACHED.fullmatch, place.parts)):
        return f"`{base or name}`"
    card = place / "README.md"
    title = re.search(r"(?m)^# (.+)$", card.read_text("utf-8", "replace")) if card.is_file() else None
    known = f"`{title[1].strip()}` (folder `{folder}`)" if title else f"`{folder}`"
    return f"{known}, based on `{base}`" if base else known


def configuration_of(name: str) -> dict[str, Any]:
    """Return the transformer's configuration; empty if it is neither in a folder nor in the hub's cache.

    Args:
        name: A hub name, a folder, a file of word vectors, or `random:`.
    """
    folder = _folder(name)
    return {} if folder is None else _read_configuration(folder)


def is_sentence_encoder(name: str) -> bool:
    """Return whether a folder, or a model in the hub's cache, was saved by sentence-transformers."""
    folder = _folder(name)
    return folder is not None and (folder / MODULES).is_file()


def _folder(name: str) -> Path | None:
    if name.startswith(RANDOM) or not (Path(name).exists() or _HUB_NAME.fullmatch(name)):
        return None
    return Path(name) if Path(name).exists() else cached_folder(name)


def _read_configuration(folder: Path) -> dict[str, Any]:
    config = read_json(folder / CONFIG)
    return config if isinstance(config, dict) else {}


def _name_in_card(folder: Path) -> object:
    from huggingface_hub import ModelCard

    card = folder / "README.md"
    try:
        named = ModelCard.load(card).data.base_model if card.is_file() else None
    except (OSError, ValueError):
        return None
    return named[0] if isinstance(named, list) and named else named
