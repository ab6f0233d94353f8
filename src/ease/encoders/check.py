"""Check whether an encoder can be loaded, without reading its weights and without importing torch."""

from __future__ import annotations

import json
import re
from pathlib import Path

from huggingface_hub import constants, model_info, try_to_load_from_cache
from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]
from safetensors import SafetensorError, safe_open

from ease.encoders.options import RANDOM
from ease.errors import EaseError

HUB_TIMEOUT = 20.0
"""Timeout of requests to the hub, in seconds."""

WHERE_FROM = (
    f"give a folder that holds one, a name on the Hugging Face hub, a file of word vectors or `{RANDOM}`. "
    "Offline, run `hf download NAME --local-dir FOLDER` on a machine with network access and give that folder; cached "
    "models load with HF_HUB_OFFLINE=1."
)
"""Ways to name an encoder, for error messages."""

HUB_NAME = r"[\w.-]+(/[\w.-]+)?"
"""Form of names on the Hugging Face hub"""

MODULES, CONFIG = "modules.json", "config.json"
INDEX = ".index.json"
WEIGHTS = tuple(
    name + ending for name in ("model.safetensors", "pytorch_model.bin") for ending in ("", INDEX)
)


_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")
"""Names of the weights of BERT's and RoBERTa's layers"""


def check_encoder(name: str) -> None:
    """Check the files of an encoder in a folder, in the hub's cache or on the hub.

    Args:
        name: A hub name, a folder, a file of word vectors, or `random:`.
    """
    if name == RANDOM:
        return
    if name.startswith(RANDOM):
        raise EaseError(f"Unknown encoder {name!r}: write `{RANDOM}` alone and its architecture in `random`.")
    try:
        _check_files(name)
    except (OSError, ValueError, HTTPError, SafetensorError) as error:
        raise EaseError(cannot_load(name, error)) from error


def cannot_load(name: str, error: Exception) -> str:
    """Return the error message for an encoder that does not load."""
    cause = (str(error).splitlines() or [""])[0]
    return f"Encoder {name!r} does not load: {WHERE_FROM} The cause: {cause}"


def check_reachable(name: str, revision: str | None = None) -> None:
    """Ask the hub once whether it has a model that is not on this machine; loading would retry for over a minute.

    Args:
        name: A hub name or a folder.
        revision: A commit, branch or tag; None: `main`.

    Raises:
        ValueError: If a folder is given with a revision.
    """
    if Path(name).exists():
        if revision is not None:
            raise ValueError(f"{name} is a folder, which has no revision: remove `revision`")
    elif cached_folder(name, revision) is None:
        model_info(name, revision=revision, timeout=HUB_TIMEOUT)


def commit_of(name: str, revision: str | None = None) -> str | None:
    """Return the commit of a model in the hub's cache; None for a folder, or if the model is not there.

    Args:
        name: A hub name, a folder or a file.
        revision: A commit, branch or tag; None: `main`.
    """
    folder = None if Path(name).exists() else cached_folder(name, revision)
    return None if folder is None else folder.name


def check_layers(name: str, revision: str | None = None) -> None:
    """Check that an encoder on this machine has all layers of its configuration; missing ones would get random weights.

    Args:
        name: A folder or a hub name.
        revision: A commit on the hub; None: `main`.

    Raises:
        ValueError: If the layers differ.
    """
    folder = Path(name) if Path(name).exists() else cached_folder(name, revision)
    transformer = None if folder is None else _transformer_folder(folder)
    weights = None if transformer is None else _weights(transformer)
    if transformer is not None and weights is not None:
        _compare_layers(transformer, _shards(weights))


def _check_files(name: str) -> None:
    from ease.encoders.word_vectors import is_vector_file

    if is_vector_file(name):
        if not Path(name).is_file():
            raise ValueError(f"there is no file {name}")
        return
    folder = Path(name) if Path(name).exists() else cached_folder(name)
    if folder is None and not re.fullmatch(HUB_NAME, name):
        raise ValueError(f"there is no folder {name}")
    if folder is None or (folder != Path(name) and not constants.HF_HUB_OFFLINE and not _weights(folder)):
        _check_listed(name)
    else:
        _check_folder(folder)


def cached_folder(name: str, revision: str | None = None) -> Path | None:
    """Return the folder of a model in the hub's cache, which is named by the commit."""
    if Path(name).is_absolute() or name.count("/") > 1:
        return None
    # A model of word vectors has no config.json, one of transformers no modules.json.
    found = (try_to_load_from_cache(name, file, revision=revision) for file in (CONFIG, MODULES))
    return next((Path(path).parent for path in found if isinstance(path, str)), None)


def _check_listed(name: str) -> None:
    """Check the hub's list of files of a model that is not cached."""
    listed = {file.rfilename for file in model_info(name, timeout=HUB_TIMEOUT).siblings or ()}
    if not listed & {MODULES, CONFIG}:
        raise ValueError(f"the hub's {name} has neither {MODULES} nor {CONFIG}")
    if MODULES not in listed and not listed & set(WEIGHTS):
        raise ValueError(f"the hub's {name} has no weights: none of {', '.join(WEIGHTS)}")


def _check_folder(folder: Path) -> None:
    """Check that the architecture is known and the weights are complete."""
    from transformers import AutoConfig

    transformer = _transformer_folder(folder)
    if transformer is None:
        return
    if not (transformer / CONFIG).is_file():
        raise ValueError(f"{folder} holds no model: there is no {CONFIG} in it")
    try:
        AutoConfig.from_pretrained(transformer, local_files_only=True)
    except KeyError as error:
        raise ValueError(f"{transformer / CONFIG}: {error} is missing or unknown") from error
    weights = _weights(transformer)
    if weights is None:
        raise ValueError(f"{transformer} has no weights: none of {', '.join(WEIGHTS)}")
    for file in _shards(weights):
        if not file.is_file():
            raise ValueError(f"{file} is missing")
        if file.suffix == ".safetensors":
            try:
                with safe_open(file, framework="np"):  # compares the size of the file with its header
                    pass
            except SafetensorError as error:
                raise ValueError(f"{file} is not a complete file of weights ({error})") from error
    _compare_layers(transformer, _shards(weights))


def _compare_layers(transformer: Path, files: list[Path]) -> None:
    """Compare the number of layers in safetensors files with the configuration."""
    config = json.loads((transformer / CONFIG).read_text(encoding="utf-8"))
    configured = config.get("num_hidden_layers")
    if configured is None or any(file.suffix != ".safetensors" for file in files):
        return
    stored: set[int] = set()
    for file in files:
        with safe_open(file, framework="np") as tensors:
            stored.update(int(found[1]) for name in tensors.keys() if (found := _LAYER.search(name)))
    if stored and len(stored) != configured:
        raise ValueError(
            f"the weights in {transformer} have {len(stored)} layers, but its {CONFIG} says `num_hidden_layers` "
            f"{configured}: get both files from one place"
        )


def _transformer_folder(folder: Path) -> Path | None:
    """Return the folder of a model's transformer, if the model begins with one."""
    if not (folder / MODULES).is_file():
        return folder
    modules = json.loads((folder / MODULES).read_text(encoding="utf-8"))
    first = modules[0]
    return folder / first["path"] if first["type"].endswith("Transformer") else None


def _weights(folder: Path) -> Path | None:
    return next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)


def _shards(weights: Path) -> list[Path]:
    """Return the files of weights: those of an index, or the single file."""
    if not weights.name.endswith(INDEX):
        return [weights]
    index = json.loads(weights.read_text(encoding="utf-8"))
    return [weights.with_name(name) for name in sorted(set(index["weight_map"].values()))]
